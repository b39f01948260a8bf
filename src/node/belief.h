/* What an agent believes of the map: the truth (full knowledge), or what it has seen itself and, elsewhere, what it
 * assumes: every unseen cell free (freespace), or as on another map that it was told (known map).
 *
 * What it is: the one reading of the map for a search; private to a session and sparse: memory follows what was
 * seen. Beliefs only change by `observe` and, with full knowledge, by the map's versions.
 * What it refuses: nothing; out of memory, a sight is not remembered (observe says so).
 */
#ifndef TP_NODE_BELIEF_H
#define TP_NODE_BELIEF_H

#include "map/walk.h"
#include "node/tiles.h"

struct tp_belief_tile {
    struct tp_tile tile;
    uint64_t seen;                   /* bit per slot */
    uint64_t passable;               /* as seen */
    uint8_t class_of[TP_TILE_CELLS]; /* as seen */
};

/* Where beliefs changed, for somebody who takes note of it. */
struct tp_belief_news {
    uint64_t *tiles; /* a bit each tile of the map (map/map.h): some cell of it is believed otherwise */
    uint32_t count;  /* of bits set */
    bool forgot;     /* all that was seen was forgotten before that */
};

/* Words of `tiles` over a map. */
static inline size_t tp_belief_news_words(const struct tp_map *map)
{
    return ((size_t)map->tiles_x * map->tiles_y + 63) / 64;
}

struct tp_belief {
    const struct tp_map *truth;   /* this tick's version; borrowed */
    const struct tp_map *assumed; /* the map told; NULL for freespace. Borrowed from the session */
    bool full;                    /* the truth is known: nothing is remembered */
    uint32_t stamp;               /* changes whenever a belief does */
    uint64_t falls;               /* cells believed dearer or blocked than they were seen to be, and times that all was
                                   * forgotten: a believed cost may have fallen since a search when this grew */
    uint64_t since_version;       /* nothing seen is older than this version of the truth */
    struct tp_tiles sights;
    struct tp_belief_news *news;     /* borrowed, and written to; NULL: nobody takes note */
};

/* A cell whose believed weight an observation changed. */
struct tp_belief_change {
    uint32_t x, y;
    bool rose; /* it became impassable or dearer */
};

enum { TP_BELIEF_RADIUS_MAX = 8, TP_BELIEF_CHANGES_MAX = (2 * TP_BELIEF_RADIUS_MAX + 1) * (2 * TP_BELIEF_RADIUS_MAX + 1) };

/* Full knowledge where `full`, else an assumed map (of the same size, kept by the caller) or, if NULL, freespace. */
void tp_belief_init(struct tp_belief *belief, const struct tp_map *truth, bool full, const struct tp_map *assumed,
                    struct tp_pool *pool, uint64_t *bytes, uint64_t bytes_max);
void tp_belief_fini(struct tp_belief *belief);

/* Forgets what was seen. Cost: O(1). */
void tp_belief_forget(struct tp_belief *belief);

/* Takes up another version of the truth. */
void tp_belief_set_truth(struct tp_belief *belief, const struct tp_map *truth);

/* Sees the true cells within `radius` of (x, y); writes those whose believed weight changed into `changes` (room for
 * (2 radius + 1)^2) and returns how many. With full knowledge, none. Cost: O(radius^2). */
uint32_t tp_belief_observe(struct tp_belief *belief, uint32_t x, uint32_t y, uint32_t radius,
                           struct tp_belief_change *changes);

/* Like tp_map_passable_block, as believed. */
void tp_belief_passable_block(const struct tp_belief *belief, int64_t x, int64_t y, uint32_t side, uint32_t *rows);

/* The believed weight of a cell, 0 where impassable. */
uint16_t tp_belief_weight(const struct tp_belief *belief, uint32_t x, uint32_t y);

/* Writes what is believed of the cells of a tile of the map into `tile`, whose columns and rows are set. Not with full knowledge. Cost: O(cells of
 * the tile). */
void tp_belief_read_tile(const struct tp_belief *belief, uint32_t number, struct tp_map_tile *tile);

static inline bool tp_belief_passable(const struct tp_belief *belief, uint32_t x, uint32_t y)
{
    return tp_belief_weight(belief, x, y) != 0;
}

/* Whether a move out of (x, y) is legal as believed. */
bool tp_belief_legal(const struct tp_belief *belief, uint32_t x, uint32_t y, uint8_t direction,
                     enum tp_neighbours neighbours, enum tp_corners corners);

/* The believed cost of a move (tp_walk_cost). */
tp_cost tp_belief_cost(const struct tp_belief *belief, uint32_t from_x, uint32_t from_y, uint32_t to_x, uint32_t to_y,
                       uint8_t direction);

#endif
