/* What a command walks on and which problems it solves there: shared by bench and trace; run takes the map alone.
 *
 * The map is a grid (--map), a racetrack (--track), a graph (--graph) or none (--puzzle: 15-puzzles, in-process alone); the
 * problems are a scenario's rows (--scen, on --map),
 * one that is named (--from, --to), some at random (--random, by --seed), or a track's own, every start cell with a finish cell.
 */
#ifndef TP_CLI_ROWS_H
#define TP_CLI_ROWS_H

#include "client/cli/files.h"
#include "client/cli/search_options.h"

/* Rows first, first + stride, first + 2 stride, ... of the file (row 0 is the first after the version line),
 * of those the rows whose optimal length lies in [min_optimal, max_optimal], of those the first `count`. The same of other
 * problems, whose lengths nobody tells. */
struct tp_cli_rows {
    const char *map_path, *track_path, *graph_path, *coordinates_path, *puzzle_path, *scen_path;
    uint64_t from, to; /* cells; UINT64_MAX: not given */
    uint64_t random;   /* problems drawn; 0: not given */
    uint64_t first, stride, count;
    double min_optimal, max_optimal; /* unit steps */
    uint64_t ticks_max;              /* after which a row is given up */
};

/* The options that name a map, and those that name problems on it: both of struct tp_cli_rows. */
extern const struct tp_cli_option tp_cli_map_options[];
extern const struct tp_cli_option tp_cli_rows_options[];

void tp_cli_rows_init(struct tp_cli_rows *rows);

struct tp_cli_pair {
    uint32_t start, goal; /* cells, or nodes */
    double optimal;       /* cost of an optimal path in unit steps; NAN: not told */
    struct tp_map *map;   /* of a 15-puzzle, each its own; else NULL: the space's */
};

struct tp_cli_space {
    const char *path; /* the map's file */
    struct tp_cli_map map;
    struct tp_cli_pair *pairs; /* at least one */
    size_t count;
    bool has_scen;      /* the pairs are a scenario's */
    uint32_t cost_unit; /* costs divided by it are what people read: unit steps, a graph's own costs */
};

/* Whether one map is named, for a command without problems: a grid, a track or a graph. TP_CLI_GO_ON, or TP_CLI_USAGE after
 * saying why. */
int tp_cli_map_check(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows);

/* Whether the options go together; `via` is where they are played. TP_CLI_GO_ON, or after saying why
 * TP_CLI_USAGE, or TP_CLI_FAILED where no problems are given for a map whose file is not there. */
int tp_cli_rows_check(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                      const struct tp_cli_host_port *via);

/* Loads the map alone, and of a racetrack its start and finish cells (tp_track_fini; else all 0). TP_CLI_OK, or TP_CLI_FAILED
 * after saying why; nothing is then to be freed. */
int tp_cli_space_load_map(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                          const struct tp_cli_search *search, struct tp_cli_space *space,
                          struct tp_track *track);

/* Loads the map and the problems. TP_CLI_OK, or TP_CLI_FAILED after saying why: a file that can't be read, a row that is not for
 * this map, a cell outside it, no row left; nothing is then to be freed. */
int tp_cli_space_load(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                      const struct tp_cli_search *search, struct tp_cli_space *space);
void tp_cli_space_fini(struct tp_cli_space *space);

#endif
