/* One cell of the report: an algorithm with its parameters, on problems of one map. Runs in a process of its own.
 *
 * The problems of a map are the same for every cell of an experiment: rows of its scenario, evenly spaced over those in
 * the experiment's window whose ends are free and connected. The optimal cost and moves are an A* search's over the
 * true map at the start, with the cell's neighbours and corner rule.
 *
 * Changing maps (2014): after every 10 moves a share of the cells is drawn anew from the map as it was at the start,
 * half the change rate of the free cells to be blocked and of the blocked ones to be free; all other cells are as they
 * were. What is drawn depends on the problem and the number of the change alone.
 */
#include "client/cli/files.h"
#include "client/cli/random.h"
#include "client/cli/report.h"
#include "client/cli/search_options.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHANGE_MOVES = 10, WORDS_MAX = 64 };

struct cell_options {
    bool partial;
    uint32_t change_rate; /* in thousandths of a percent */
    uint64_t ticks_max;
};

#define AT(field) offsetof(struct cell_options, field)

static const struct tp_cli_option cell_options[] = {
    {"partial", TP_CLI_FLAG, AT(partial), NULL, "the agent knows the map without its unseen blocks", 0, 0, NULL, false},
    {"change-rate", TP_CLI_MILLI, AT(change_rate), "PERCENT", "cells that change after every 10 moves", 0, 100000, NULL,
     false},
    {"ticks-max", TP_CLI_UINT, AT(ticks_max), "N", "ticks after which a problem is given up", 1, UINT64_MAX, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

struct problem {
    uint32_t start, goal;
    double optimal;         /* unit steps */
    uint64_t optimal_moves;
};

struct player {
    const struct tp_cli_usage *usage;
    struct tp_cli_search search;
    struct cell_options options;
    struct tp_cli_map map, known; /* known.map NULL: not needed */
    struct tp_session_params params;
    struct tp_pool pool;
    struct problem *problems;
    size_t count;
};

/* Seconds of this process on a processor: other processes don't count. */
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool deadline_expired(void *context)
{
    return clock_seconds() >= *(const double *)context;
}

/* ---- changing maps ---- */

/* Draws a change; gives a new version in *out. */
static int change_map(const struct player *player, const struct tp_map *original, const struct tp_map *base,
                      uint64_t seed, uint32_t agent, uint32_t goal, struct tp_map **out)
{
    uint32_t width = original->width, height = original->height;
    size_t cells = (size_t)width * height, bytes = (cells + 7) / 8;
    uint8_t *free_bits = calloc(2 * bytes, 1), *blocked_bits = free_bits + bytes;
    if (free_bits == NULL)
        return TP_ERR_NO_MEMORY;
    struct tp_cli_random random = {.state = seed};
    uint32_t threshold = player->options.change_rate / 2; /* of 100000 */
    for (uint32_t cell = 0; cell < cells; cell++) {
        bool passable = tp_map_passable(original, cell % width, cell / width);
        if (tp_cli_random_below(&random, 100000) < threshold && cell != agent && cell != goal)
            passable = !passable;
        if (passable != tp_map_passable(base, cell % width, cell / width))
            (passable ? free_bits : blocked_bits)[cell / 8] |= (uint8_t)(1u << cell % 8);
    }
    const struct tp_change changes[2] = {
        {.kind = TP_CHANGE_BITMAP, .class_to = '.', .width = width, .height = height, .bits = free_bits, .bits_size = bytes},
        {.kind = TP_CHANGE_BITMAP, .class_to = '@', .width = width, .height = height, .bits = blocked_bits,
         .bits_size = bytes},
    };
    size_t bad;
    uint32_t x, y;
    int error = tp_map_apply(out, base, changes, 2, &bad, &x, &y);
    free(free_bits);
    return error;
}

/* ---- playing ---- */

/* Plays one problem. *arrived says whether the agent got there; 0 or an error of the library. */
static int play_problem(struct player *player, const struct problem *problem, size_t number,
                        struct tp_session_stats *stats, double *seconds, bool *arrived)
{
    struct tp_session *session;
    struct tp_refusal refusal = {NULL, NULL};
    player->params.start = problem->start;
    player->params.goal = problem->goal;
    int error = tp_session_open(&session, &player->params, player->map.map, &player->pool, &refusal);
    if (error != 0)
        return tp_cli_fail(player->usage, "the session is refused: %s: %s", refusal.field ? refusal.field : "",
                           refusal.reason ? refusal.reason : tp_error_text(error));
    const struct tp_map *map = tp_map_ref(player->map.map);
    struct tp_budget budget = player->params.budget;
    double deadline = 0;
    budget.context = &deadline;
    struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
    uint64_t moves = 0, changes = 0;
    bool is_deadline = budget.kind == TP_BUDGET_DEADLINE, has_changes = player->options.change_rate > 0;
    *seconds = 0;
    double begin = processor_seconds();
    for (uint64_t tick = 0; tick < player->options.ticks_max && reply.status != TP_STATUS_ARRIVED &&
                            reply.status != TP_STATUS_UNREACHABLE;
         tick++) {
        if (is_deadline)
            deadline = clock_seconds() + (double)player->search.deadline_us / 1e6;
        tp_session_tick(session, map, &budget, &reply);
        moves += reply.to != reply.from;
        if (!has_changes || moves / CHANGE_MOVES == changes)
            continue;
        *seconds += processor_seconds() - begin;
        struct tp_map *next;
        changes = moves / CHANGE_MOVES;
        error = change_map(player, player->map.map, map, (number + 1) * 1000003 + changes, tp_session_cell(session),
                           problem->goal, &next);
        if (error != 0)
            break;
        tp_map_unref(map);
        map = next;
        begin = processor_seconds();
    }
    *seconds += processor_seconds() - begin;
    *arrived = reply.status == TP_STATUS_ARRIVED;
    tp_session_stats(session, stats);
    tp_session_close(session);
    tp_map_unref(map);
    return error == 0 ? TP_CLI_OK : tp_cli_fail(player->usage, "%s", tp_error_text(error));
}

/* A* to its end over the true map: sets the problem's optimal cost and moves; false if the goal is out of reach. */
static bool solve(struct player *player, struct problem *problem)
{
    struct tp_session_params kept = player->params;
    struct cell_options options = player->options;
    struct tp_session_stats stats;
    double seconds;
    bool arrived = false;
    struct tp_session_params *params = &player->params;
    tp_session_params_init(params);
    params->algorithm = tp_algorithm_find("astar");
    params->neighbours = kept.neighbours;
    params->corners = kept.corners;
    params->motion = kept.motion;
    params->heuristic = kept.heuristic;
    params->budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    player->options = (struct cell_options){.ticks_max = UINT64_MAX};
    int result = play_problem(player, problem, 0, &stats, &seconds, &arrived);
    player->params = kept;
    player->options = options;
    problem->optimal = (double)stats.cost / TP_COST_UNIT;
    problem->optimal_moves = stats.moves;
    return result == TP_CLI_OK && arrived;
}

/* ---- problems ---- */

static char *with_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path);
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strchr(dot, '/') == NULL)
        length = (size_t)(dot - path);
    char *made = malloc(length + strlen(suffix) + 1);
    if (made != NULL) {
        memcpy(made, path, length);
        strcpy(made + length, suffix);
    }
    return made;
}

/* Chooses up to `rows` of the scenario's rows, evenly spaced over those that will do. */
static int choose_rows(struct player *player, const struct tp_report_cell *cell, const char *scen_path)
{
    struct tp_cli_scen scen;
    int result = tp_cli_scen_load(player->usage, scen_path, &scen);
    if (result != TP_CLI_OK)
        return result;
    const struct tp_map *map = player->map.map;
    const double *window = cell->experiment->window;
    double side = map->width > map->height ? map->width : map->height;
    struct problem *all = calloc(scen.count + 1, sizeof *all);
    size_t count = 0;
    for (size_t i = 0; all != NULL && i < scen.count; i++) {
        const struct tp_movingai_row *row = &scen.rows[i];
        if (row->map_width != map->width || row->map_height != map->height ||
            !tp_map_passable(map, row->start_x, row->start_y) || !tp_map_passable(map, row->goal_x, row->goal_y))
            continue;
        if (window[1] > 0 && (row->optimal < window[0] * side || row->optimal > window[1] * side))
            continue;
        all[count].start = row->start_y * map->width + row->start_x;
        all[count].goal = row->goal_y * map->width + row->goal_x;
        count += all[count].start != all[count].goal;
    }
    tp_cli_scen_fini(&scen);
    player->problems = calloc(cell->rows, sizeof *player->problems);
    if (all == NULL || player->problems == NULL) {
        free(all);
        return tp_cli_fail(player->usage, "out of memory");
    }
    size_t wanted = cell->rows < count ? cell->rows : count;
    for (size_t i = 0; i < wanted; i++) {
        struct problem *problem = &player->problems[player->count];
        *problem = all[(2 * i + 1) * count / (2 * wanted)];
        player->count += solve(player, problem);
    }
    free(all);
    return TP_CLI_OK;
}

/* ---- the cell ---- */

/* Reads the cell's options as the command line's. */
static int read_options(struct player *player, char *text)
{
    char *words[WORDS_MAX] = {(char *)"report"};
    int count = 1;
    for (char *word = strtok(text, " \t"); word != NULL && count < WORDS_MAX; word = strtok(NULL, " \t"))
        words[count++] = word;
    tp_cli_search_init(&player->search);
    player->options = (struct cell_options){.ticks_max = 2000000};
    const struct tp_cli_group groups[] = {
        {tp_cli_search_options, &player->search}, {cell_options, &player->options}, {NULL, NULL}};
    int result = tp_cli_parse(player->usage, groups, count, words);
    if (result == TP_CLI_GO_ON)
        result = tp_cli_search_check(player->usage, &player->search);
    if (result != TP_CLI_GO_ON)
        return TP_CLI_FAILED;
    tp_cli_search_params(&player->search, &player->params);
    if (player->params.budget.kind == TP_BUDGET_DEADLINE)
        player->params.budget.expired = deadline_expired;
    return TP_CLI_OK;
}

static int load(struct player *player, const struct tp_report *report, struct tp_report_cell *cell)
{
    char *path = malloc(strlen(report->maps) + strlen(cell->map) + 2), *known = NULL, *scen = NULL;
    if (path == NULL)
        return tp_cli_fail(player->usage, "out of memory");
    sprintf(path, "%s/%s", report->maps, cell->map);
    int result = tp_cli_map_load(player->usage, path, NULL, &player->map);
    if (result == TP_CLI_OK && player->options.partial) {
        known = tp_report_maps_known(report->maps, cell->map);
        result = known == NULL ? tp_cli_fail(player->usage, "%s: the map it was made from is not there", path)
                               : tp_cli_map_load(player->usage, known, NULL, &player->known);
        if (result == TP_CLI_OK) {
            player->params.knowledge = TP_KNOWLEDGE_MAP;
            player->params.known = player->known.map;
        }
    }
    if (result == TP_CLI_OK) {
        scen = with_suffix(known != NULL ? known : path, ".scen");
        result = scen == NULL ? TP_CLI_FAILED : choose_rows(player, cell, scen);
    }
    free(path);
    free(known);
    free(scen);
    return result;
}

static void add(double *sums, const struct problem *problem, const struct tp_session_stats *stats, double seconds)
{
    double cost = (double)stats->cost / TP_COST_UNIT;
    sums[TP_REPORT_solved]++;
    sums[TP_REPORT_cost] += cost;
    sums[TP_REPORT_moves] += (double)stats->moves;
    sums[TP_REPORT_ticks] += (double)stats->ticks;
    sums[TP_REPORT_back] += (double)stats->back_moves;
    sums[TP_REPORT_expansions] += (double)stats->expansions;
    sums[TP_REPORT_restarts] += (double)stats->restarts;
    sums[TP_REPORT_learned] += (double)stats->learned;
    sums[TP_REPORT_traced] += (double)stats->traced;
    sums[TP_REPORT_optimal] += problem->optimal;
    sums[TP_REPORT_optimal_moves] += (double)problem->optimal_moves;
    sums[TP_REPORT_subopt] += problem->optimal > 0 ? cost / problem->optimal : 1;
    sums[TP_REPORT_us] += seconds * 1e6;
    if ((double)stats->expansions_max > sums[TP_REPORT_max_expansions])
        sums[TP_REPORT_max_expansions] = (double)stats->expansions_max;
}

int tp_report_play(const struct tp_report *report, struct tp_report_cell *cell)
{
    struct player player = {.usage = report->usage};
    char *text = strdup(cell->options);
    if (text == NULL)
        return tp_cli_fail(report->usage, "out of memory");
    tp_pool_init(&player.pool, NULL);
    int result = read_options(&player, text);
    if (result == TP_CLI_OK)
        result = load(&player, report, cell);
    memset(cell->sums, 0, sizeof cell->sums);
    for (size_t i = 0; result == TP_CLI_OK && i < player.count; i++) {
        struct tp_session_stats stats;
        double seconds;
        bool arrived;
        result = play_problem(&player, &player.problems[i], i, &stats, &seconds, &arrived);
        cell->sums[TP_REPORT_n]++;
        if (result == TP_CLI_OK && arrived)
            add(cell->sums, &player.problems[i], &stats, seconds);
    }
    free(player.problems);
    tp_pool_fini(&player.pool);
    if (player.known.map != NULL)
        tp_cli_map_fini(&player.known);
    if (player.map.map != NULL)
        tp_cli_map_fini(&player.map);
    free(text);
    return result;
}
