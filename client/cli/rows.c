#include "client/cli/rows.h"

#include "client/cli/play.h"
#include "client/cli/random.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct tp_cli_rows, field)

const struct tp_cli_option tp_cli_map_options[] = {
    {"map", TP_CLI_STRING, AT(map_path), "FILE", "map, MovingAI .map", 0, 0, NULL, false},
    {"track", TP_CLI_STRING, AT(track_path), "FILE", "instead of --map: racetrack, .track", 0, 0, NULL,
     false},
    {"graph", TP_CLI_STRING, AT(graph_path), "FILE",
     "instead of --map: directed graph, DIMACS .gr or CSV of from,to,cost; its costs are printed as they are",
     0, 0, NULL, false},
    {"coordinates", TP_CLI_STRING, AT(coordinates_path), "FILE",
     "with --graph: where its nodes are, DIMACS .co or CSV of id,x,y", 0, 0, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

const struct tp_cli_option tp_cli_rows_options[] = {
    {"scen", TP_CLI_STRING, AT(scen_path), "FILE", "with --map: scenario, MovingAI .scen", 0, 0, NULL, false},
    {"puzzle", TP_CLI_STRING, AT(puzzle_path), "FILE",
     "instead of --map: 15-puzzles, in-process; a line each: number, 16 tiles by place, optimal length", 0, 0,
     NULL, false},
    {"from", TP_CLI_UINT, AT(from), "N", "one problem: from this cell (y * width + x) or node, both from 0",
     0, UINT32_MAX, NULL, false},
    {"to", TP_CLI_UINT, AT(to), "N", "and to this one", 0, UINT32_MAX, NULL, false},
    {"random", TP_CLI_UINT, AT(random), "N", "N problems between free cells, or nodes, drawn by --seed", 1,
     10000000, NULL, false},
    {"first", TP_CLI_UINT, AT(first), "N", "first row of the file to take (0)", 0, UINT64_MAX, NULL, false},
    {"stride", TP_CLI_UINT, AT(stride), "N", "take every Nth row (1)", 1, UINT64_MAX, NULL, false},
    {"count", TP_CLI_UINT, AT(count), "N", "take at most N of the rows left (all)", 1, UINT64_MAX, NULL,
     false},
    {"min-optimal", TP_CLI_REAL, AT(min_optimal), "X", "leave out rows with a shorter optimal length", 0,
     1000000000, NULL, false},
    {"max-optimal", TP_CLI_REAL, AT(max_optimal), "X", "leave out rows with a longer optimal length", 0,
     1000000000, NULL, false},
    {"ticks-max", TP_CLI_UINT, AT(ticks_max), "N", "give a row up after so many ticks (100000000)", 1,
     TP_CLI_TICKS_MAX, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

void tp_cli_rows_init(struct tp_cli_rows *rows)
{
    *rows = (struct tp_cli_rows){.from = UINT64_MAX,
                                 .to = UINT64_MAX,
                                 .stride = 1,
                                 .count = UINT64_MAX,
                                 .max_optimal = DBL_MAX,
                                 .ticks_max = TP_CLI_TICKS_MAX};
}

static int check_maps(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows, bool puzzles)
{
    bool has_track = rows->track_path != NULL, has_graph = rows->graph_path != NULL,
         has_puzzle = rows->puzzle_path != NULL;
    int named = (rows->map_path != NULL) + has_track + has_graph + has_puzzle;
    if (named == 0)
        return tp_cli_refuse(usage, "map", "must be given, or %s",
                             puzzles ? "--track, --graph or --puzzle" : "--track or --graph");
    if (named > 1)
        return tp_cli_refuse(usage,
                             has_puzzle  ? "puzzle"
                             : has_graph ? "graph"
                                         : "track",
                             "the map is one of %s",
                             puzzles ? "--map, --track, --graph and --puzzle" : "--map, --track and --graph");
    if (rows->coordinates_path != NULL && !has_graph)
        return tp_cli_refuse(usage, "coordinates", "goes with --graph only");
    return TP_CLI_GO_ON;
}

int tp_cli_map_check(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows)
{
    return check_maps(usage, rows, false);
}

int tp_cli_rows_check(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                      const struct tp_cli_host_port *via)
{
    bool has_map = rows->map_path != NULL, has_track = rows->track_path != NULL;
    bool has_from = rows->from != UINT64_MAX, has_to = rows->to != UINT64_MAX;
    bool has_puzzle = rows->puzzle_path != NULL;
    int result = check_maps(usage, rows, true);
    if (result != TP_CLI_GO_ON)
        return result;
    if (has_puzzle && via->host[0] != '\0')
        return tp_cli_refuse(usage, "puzzle", "a daemon has no 15-puzzles: leave out --via");
    if (has_puzzle && (has_from || has_to || rows->random != 0))
        return tp_cli_refuse(usage,
                             rows->random != 0 ? "random"
                             : has_from        ? "from"
                                               : "to",
                             "does not go with --puzzle");
    if (rows->scen_path != NULL && !has_map)
        return tp_cli_refuse(usage, "scen",
                             "goes with --map only; problems are --from and --to, or --random");
    if (has_from != has_to)
        return tp_cli_refuse(usage, has_from ? "to" : "from", "must be given: --from and --to go together");
    if ((rows->scen_path != NULL) + has_from + (rows->random != 0) > 1)
        return tp_cli_refuse(usage, rows->random != 0 ? "random" : "from",
                             "the problems are one of --scen, --from with --to, and --random");
    if (!has_track && !has_puzzle && rows->scen_path == NULL && !has_from && rows->random == 0) {
        /* a map that is not there is the nearer mistake */
        if (tp_cli_file_check(usage, has_map ? rows->map_path : rows->graph_path) != TP_CLI_OK)
            return TP_CLI_FAILED;
        return tp_cli_refuse(usage, has_map ? "scen" : "from", "must be given, or %s",
                             has_map ? "--from and --to, or --random" : "--random");
    }
    return TP_CLI_GO_ON;
}

/* ---- Problems ---- */

static int take_pairs(const struct tp_cli_usage *usage, struct tp_cli_space *space, size_t count)
{
    space->pairs = calloc(count + 1, sizeof *space->pairs);
    space->count = count;
    return space->pairs != NULL ? TP_CLI_OK : tp_cli_fail(usage, "out of memory");
}

/* Keeps the pairs that the options leave; `count` of them there were. */
static int choose(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                  struct tp_cli_space *space, size_t *chosen)
{
    size_t count = space->count, kept = 0;
    for (uint64_t i = rows->first; i < count && kept < rows->count; i += rows->stride) {
        double optimal = space->pairs[i].optimal;
        if (isnan(optimal) || (optimal >= rows->min_optimal && optimal <= rows->max_optimal)) {
            struct tp_cli_pair left_out = space->pairs[kept]; /* may own a map */
            space->pairs[kept] = space->pairs[i];
            space->pairs[i] = left_out;
            chosen[kept++] = (size_t)i;
        }
        if (rows->stride > count)
            break; /* and no sum can wrap */
    }
    for (size_t i = kept; i < count; i++)
        tp_map_unref(space->pairs[i].map);
    space->count = kept;
    if (kept == 0)
        return tp_cli_fail(usage, "no row of %s is left by the options; it has %zu",
                           space->has_scen ? rows->scen_path : space->path, count);
    return TP_CLI_OK;
}

static int load_scen(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                     struct tp_cli_space *space)
{
    struct tp_cli_scen scen;
    space->has_scen = true;
    int result = tp_cli_scen_load(usage, rows->scen_path, &scen);
    if (result != TP_CLI_OK)
        return result;
    size_t *chosen = calloc(scen.count + 1, sizeof *chosen);
    result = chosen != NULL ? take_pairs(usage, space, scen.count) : tp_cli_fail(usage, "out of memory");
    uint32_t width = space->map.grid.width;
    for (size_t i = 0; result == TP_CLI_OK && i < scen.count; i++) {
        const struct tp_movingai_row *row = &scen.rows[i];
        space->pairs[i] = (struct tp_cli_pair){.start = row->start_y * width + row->start_x,
                                               .goal = row->goal_y * width + row->goal_x,
                                               .optimal = row->optimal};
    }
    if (result == TP_CLI_OK)
        result = choose(usage, rows, space, chosen);
    if (result == TP_CLI_OK)
        result = tp_cli_scen_check(usage, &scen, chosen, space->count, &space->map, rows->map_path);
    free(chosen);
    tp_cli_scen_fini(&scen);
    return result;
}

static bool is_free(const struct tp_map *map, uint32_t cell)
{
    return map->graph != NULL || tp_map_passable(map, cell % map->width, cell / map->width);
}

static uint32_t draw_cell(const struct tp_map *map, struct tp_cli_random *random)
{
    uint32_t cell;
    do
        cell = tp_cli_random_below(random, map->width * map->height);
    while (!is_free(map, cell));
    return cell;
}

static int draw_pairs(const struct tp_cli_usage *usage, uint64_t count, uint64_t seed,
                      struct tp_cli_space *space)
{
    const struct tp_map *map = space->map.map;
    struct tp_cli_random random = {seed};
    if (map->passable_cells == 0)
        return tp_cli_fail(usage, "%s: no cell is free", space->path);
    int result = take_pairs(usage, space, (size_t)count);
    for (size_t i = 0; result == TP_CLI_OK && i < space->count; i++) {
        uint32_t start = draw_cell(map, &random), goal = draw_cell(map, &random);
        space->pairs[i] = (struct tp_cli_pair){start, goal, NAN, NULL};
    }
    return result;
}

/* Every start cell with a finish cell, in their order, the finish cells again and again. */
static int pair_track(const struct tp_cli_usage *usage, const struct tp_track *track,
                      struct tp_cli_space *space)
{
    if (track->start_count == 0 || track->finish_count == 0)
        return tp_cli_fail(usage, "%s: the track has no %s cell: give --from and --to, or --random",
                           space->path, track->start_count == 0 ? "start" : "finish");
    int result = take_pairs(usage, space, track->start_count);
    for (size_t i = 0; result == TP_CLI_OK && i < space->count; i++)
        space->pairs[i] =
            (struct tp_cli_pair){track->starts[i], track->finishes[i % track->finish_count], NAN, NULL};
    return result;
}

static int name_pair(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                     struct tp_cli_space *space)
{
    const struct tp_map *map = space->map.map;
    uint64_t cells = (uint64_t)map->width * map->height;
    const char *what = map->graph != NULL ? "nodes" : "cells";
    bool dimacs = map->graph != NULL && tp_cli_is_dimacs(space->path);
    if (rows->from >= cells || rows->to >= cells)
        return tp_cli_fail(usage, "--%s %llu lies outside %s, which has %llu %s, here numbered from 0%s",
                           rows->from >= cells ? "from" : "to",
                           (unsigned long long)(rows->from >= cells ? rows->from : rows->to), space->path,
                           (unsigned long long)cells, what, dimacs ? " (its file counts them from 1)" : "");
    int result = take_pairs(usage, space, 1);
    if (result == TP_CLI_OK)
        space->pairs[0] = (struct tp_cli_pair){(uint32_t)rows->from, (uint32_t)rows->to, NAN, NULL};
    return result;
}

/* Reads the numbers of one line, up to `max`; -1 where something else stands there. */
static int read_numbers(const char *line, unsigned long *numbers, int max)
{
    int count = 0;
    for (;;) {
        line += strspn(line, " \t\r");
        if (*line == '\0' || count == max)
            return count;
        char *end;
        if (*line < '0' || *line > '9')
            return -1;
        numbers[count++] = strtoul(line, &end, 10);
        line = end;
    }
}

/* One problem of a line: number, tiles, optimal length; what stands behind is not looked at. Gives why it is none, or NULL. */
static const char *read_puzzle(const char *line, struct tp_cli_pair *pair)
{
    unsigned long numbers[18];
    uint8_t tiles[16];
    if (read_numbers(line, numbers, 18) != 18)
        return "18 numbers are expected: the problem's, 16 tiles, the optimal length";
    for (int i = 0; i < 16; i++)
        tiles[i] = numbers[i + 1] < 16 ? (uint8_t)numbers[i + 1] : 16;
    int error = tp_map_build_puzzle(&pair->map, tiles);
    if (error != 0)
        return error == TP_ERR_NO_MEMORY ? "out of memory" : "the tiles are no 15-puzzle that can be solved";
    pair->start = 0; /* a puzzle names two cells: its start and the goal */
    pair->goal = 1;
    pair->optimal = (double)numbers[17];
    return NULL;
}

static int load_puzzles(const struct tp_cli_usage *usage, const char *path, struct tp_cli_space *space)
{
    char *text;
    size_t size, lines = 1;
    int result = tp_cli_file_read(usage, path, &text, &size);
    if (result != TP_CLI_OK)
        return result;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    result = take_pairs(usage, space, lines);
    space->count = 0;
    char *next = text;
    for (unsigned number = 1; result == TP_CLI_OK && next != NULL; number++) {
        char *line = next, *end = strchr(line, '\n');
        next = end != NULL ? end + 1 : NULL;
        if (end != NULL)
            *end = '\0';
        if (line[strspn(line, " \t\r")] == '\0' || *line == '#')
            continue;
        const char *reason = read_puzzle(line, &space->pairs[space->count]);
        if (reason != NULL)
            result = tp_cli_fail(usage, "%s:%u: %s", path, number, reason);
        else
            space->count++;
    }
    free(text);
    return result;
}

/* ---- Map and problems ---- */

static int load_problems(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows, uint64_t seed,
                         const struct tp_track *track, struct tp_cli_space *space)
{
    if (rows->scen_path != NULL)
        return load_scen(usage, rows, space);
    int result = rows->from != UINT64_MAX    ? name_pair(usage, rows, space)
                 : rows->puzzle_path != NULL ? load_puzzles(usage, rows->puzzle_path, space)
                 : rows->random != 0         ? draw_pairs(usage, rows->random, seed, space)
                                             : pair_track(usage, track, space);
    if (result != TP_CLI_OK)
        return result;
    size_t *chosen = calloc(space->count + 1, sizeof *chosen);
    result = chosen != NULL ? choose(usage, rows, space, chosen) : tp_cli_fail(usage, "out of memory");
    free(chosen);
    return result;
}

int tp_cli_space_load_map(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                          const struct tp_cli_search *search, struct tp_cli_space *space,
                          struct tp_track *track)
{
    const struct tp_profile *profile = tp_cli_search_profile(search);
    *track = (struct tp_track){.width = 0};
    *space = (struct tp_cli_space){.cost_unit = rows->graph_path != NULL ? 1 : TP_COST_UNIT};
    if (rows->graph_path != NULL)
        return tp_cli_graph_load(usage, space->path = rows->graph_path, rows->coordinates_path, &space->map);
    if (rows->track_path != NULL)
        return tp_cli_track_load(usage, space->path = rows->track_path, profile, &space->map, track);
    return tp_cli_map_load(usage, space->path = rows->map_path, profile, &space->map);
}

int tp_cli_space_load(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                      const struct tp_cli_search *search, struct tp_cli_space *space)
{
    struct tp_track track = {.width = 0};
    int result = TP_CLI_OK;
    if (rows->puzzle_path != NULL)
        *space = (struct tp_cli_space){.path = rows->puzzle_path, .cost_unit = TP_COST_UNIT};
    else
        result = tp_cli_space_load_map(usage, rows, search, space, &track);
    if (result != TP_CLI_OK)
        return result;
    result = load_problems(usage, rows, search->seed, &track, space);
    if (rows->track_path != NULL)
        tp_track_fini(&track);
    if (result != TP_CLI_OK)
        tp_cli_space_fini(space);
    return result;
}

void tp_cli_space_fini(struct tp_cli_space *space)
{
    for (size_t i = 0; i < space->count; i++)
        tp_map_unref(space->pairs[i].map);
    free(space->pairs);
    tp_cli_map_fini(&space->map);
    memset(space, 0, sizeof *space);
}
