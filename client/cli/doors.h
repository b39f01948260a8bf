/* A door schedule: small groups of passable cells that close and open while agents walk.
 *
 * What it is: doors are put across the narrow places of ways that agents want to take; every `every` ticks a
 * round decides, from the seed alone, which doors stand closed; after the last round all stand open for good,
 * so that no goal stays cut off. A door does not close on an agent that stands in it. Who calls it: `tickpath
 * run`, which sends the changes to the daemon and applies them to its mirror; `tickpath report`, in-process.
 */
#ifndef TP_CLI_DOORS_H
#define TP_CLI_DOORS_H

#include "client/cli/random.h"
#include "client/cli/search_options.h"
#include "map/map.h"

enum {
    TP_CLI_DOOR_CELLS_MAX = 12, /* cells of one door */
    TP_CLI_DOOR_CLOSED_CLASS = '@',
};

struct tp_cli_door {
    uint32_t x, y, width, height;
    uint8_t class_open[TP_CLI_DOOR_CELLS_MAX]; /* what its cells are when open, row-major */
    bool closed;
};

struct tp_cli_doors {
    struct tp_cli_door *doors;
    size_t count;
    uint32_t map_width;
    uint8_t *door_of;   /* by cell: 1 where a door is, 2 where none may be (starts and goals) */
    uint8_t *agents_at; /* by door: an agent stands in it */
    uint64_t seed;
    size_t closed; /* doors closed now */

    /* The batch of the last round, in both shapes. */
    struct tp_client_rectangle *rectangles; /* closing */
    uint32_t *cells, *cell_terrains;        /* opening */
    size_t rectangle_count, cell_count;
    struct tp_change *changes;
    size_t change_count;
};

/* No doors yet; room for `count_max`. TP_ERR_NO_MEMORY. */
int tp_cli_doors_init(struct tp_cli_doors *doors, const struct tp_map *map, size_t count_max,
                      uint64_t seed) TP_MUST_CHECK;
void tp_cli_doors_fini(struct tp_cli_doors *doors);

/* No door may cover this cell. */
void tp_cli_doors_spare(struct tp_cli_doors *doors, uint32_t cell);

/* Puts a door across the way at this cell, if the way is narrow there and no other door, start or goal is
 * touched. Gives whether it did. The map is the one all doors stand open in. */
bool tp_cli_doors_add(struct tp_cli_doors *doors, const struct tp_map *map, uint32_t cell);

/* The best way of an agent that moves by these options: up to `max` of its cells, the first one included, into `cells`; returns how
 * many, 0 where there is none. Cost: an A* search. */
uint32_t tp_cli_doors_way(const struct tp_map *map, const struct tp_cli_search *search, uint32_t start,
                          uint32_t goal, struct tp_pool *pool, uint32_t *cells, uint32_t max);

/* Puts up to `count` doors across a way, at cells of it drawn at random; fewer where it is not so often narrow. */
void tp_cli_doors_add_along(struct tp_cli_doors *doors, const struct tp_map *map, const uint32_t *way,
                            uint32_t cells, size_t count, struct tp_cli_random *random);

/* Decides a round, with the cells where agents stand now: fills the batch (change_count 0: nothing to do) and
 * sets which doors are closed. `last` opens all. */
void tp_cli_doors_round(struct tp_cli_doors *doors, uint64_t round, bool last, const uint32_t *agents,
                        size_t agent_count);

#endif
