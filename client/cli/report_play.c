/* One cell of the report: an algorithm with its parameters, on problems of one map. Runs in a process of its own.
 *
 * A deadline is in microseconds of a processor, so that the game time model does not depend on what else the machine does.
 *
 * Changing maps (2014): after every 10 moves a share of the cells is drawn anew from the map as it was at the start,
 * half the change rate of the free cells to be blocked and of the blocked ones to be free; all other cells are as they
 * were. What is drawn depends on the problem and the number of the change alone.
 */
#include "client/cli/report_play.h"

#include "client/cli/random.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHANGE_MOVES = 10, WORDS_MAX = 64 };

#define AT(field) offsetof(struct tp_report_options, field)

static const struct tp_cli_option cell_options[] = {
    {"partial", TP_CLI_FLAG, AT(partial), NULL, "the agent knows the map without its unseen blocks", 0, 0,
     NULL, false},
    {"vehicle", TP_CLI_FLAG, AT(vehicle), NULL, "the agent moves with inertia", 0, 0, NULL, false},
    {"change-rate", TP_CLI_MILLI, AT(change_rate), "PERCENT", "cells that change after every 10 moves", 0,
     100000, NULL, false},
    {"ticks-max", TP_CLI_UINT, AT(ticks_max), "N", "ticks after which a problem is given up", 1, UINT64_MAX,
     NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

/* Seconds of this process on a processor: neither other cells' processes nor other programs count. */
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool deadline_expired(void *context)
{
    return processor_seconds() >= *(const double *)context;
}

/* ---- changing maps ---- */

/* Draws a change; gives a new version in *out. */
static int change_map(const struct tp_report_player *player, const struct tp_map *original,
                      const struct tp_map *base, uint64_t seed, uint32_t agent, uint32_t goal,
                      struct tp_map **out)
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
        {.kind = TP_CHANGE_BITMAP,
         .class_to = '.',
         .width = width,
         .height = height,
         .bits = free_bits,
         .bits_size = bytes},
        {.kind = TP_CHANGE_BITMAP,
         .class_to = '@',
         .width = width,
         .height = height,
         .bits = blocked_bits,
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
static int play_problem(struct tp_report_player *player, const struct tp_report_problem *problem,
                        size_t number, struct tp_session_stats *stats, double *seconds, bool *arrived)
{
    struct tp_session *session;
    struct tp_refusal refusal = {NULL, NULL};
    player->params.start = problem->start;
    player->params.goal = problem->goal;
    const struct tp_map *original = problem->map != NULL ? problem->map : player->map.map;
    int error = tp_session_open(&session, &player->params, original, &player->pool, &refusal);
    if (error != 0)
        return tp_cli_fail(player->usage, "the session is refused: %s: %s",
                           refusal.field ? refusal.field : "",
                           refusal.reason ? refusal.reason : tp_error_text(error));
    const struct tp_map *map = tp_map_ref(original), *former = NULL;
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
            deadline = processor_seconds() + (double)player->search.deadline_us / 1e6;
        tp_session_tick(session, map, &budget, &reply);
        moves += reply.to != reply.from;
        if (!has_changes || moves / CHANGE_MOVES == changes)
            continue;
        *seconds += processor_seconds() - begin;
        struct tp_map *next;
        changes = moves / CHANGE_MOVES;
        error = change_map(player, original, map, (number + 1) * 1000003 + changes, tp_session_cell(session),
                           problem->goal, &next);
        if (error != 0)
            break;
        tp_map_unref(former);
        former = map; /* until the session has left it: freeing a version is no part of the search's time */
        map = next;
        begin = processor_seconds();
    }
    *seconds += processor_seconds() - begin;
    *arrived = reply.status == TP_STATUS_ARRIVED;
    tp_session_stats(session, stats);
    tp_session_close(session);
    tp_map_unref(former);
    tp_map_unref(map);
    return error == 0 ? TP_CLI_OK : tp_cli_fail(player->usage, "%s", tp_error_text(error));
}

bool tp_report_solve(struct tp_report_player *player, struct tp_report_problem *problem)
{
    struct tp_session_params kept = player->params;
    struct tp_report_options options = player->options;
    struct tp_session_stats stats;
    double seconds;
    bool arrived = false;
    struct tp_session_params *params = &player->params;
    tp_session_params_init(params);
    params->algorithm = tp_algorithm_find("astar");
    params->neighbours = kept.neighbours;
    params->corners = kept.corners;
    params->budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    player->options = (struct tp_report_options){.ticks_max = UINT64_MAX};
    int result = play_problem(player, problem, 0, &stats, &seconds, &arrived);
    player->params = kept;
    player->options = options;
    problem->optimal = (double)stats.cost / TP_COST_UNIT;
    problem->optimal_moves = stats.moves;
    return result == TP_CLI_OK && arrived;
}

/* ---- the cell ---- */

/* Reads the cell's options as the command line's. */
static int read_options(struct tp_report_player *player, char *text)
{
    char *words[WORDS_MAX] = {(char *)"report"};
    int count = 1;
    for (char *word = strtok(text, " \t"); word != NULL && count < WORDS_MAX; word = strtok(NULL, " \t"))
        words[count++] = word;
    tp_cli_search_init(&player->search);
    player->options = (struct tp_report_options){.ticks_max = 2000000};
    const struct tp_cli_group groups[] = {
        {tp_cli_search_options, &player->search}, {cell_options, &player->options}, {NULL, NULL}};
    int result = tp_cli_parse(player->usage, groups, count, words);
    if (result == TP_CLI_GO_ON)
        result = tp_cli_search_check(player->usage, &player->search);
    if (result != TP_CLI_GO_ON)
        return TP_CLI_FAILED;
    tp_cli_search_params(&player->search, &player->params);
    if (player->options.vehicle)
        player->params.motion = TP_MOTION_INERTIA;
    if (player->params.budget.kind == TP_BUDGET_DEADLINE)
        player->params.budget.expired = deadline_expired;
    return TP_CLI_OK;
}

static void add(double *sums, const struct tp_report_problem *problem, const struct tp_session_stats *stats,
                double seconds)
{
    double cost = (double)stats->cost / TP_COST_UNIT;
    sums[TP_REPORT_solved]++;
    sums[TP_REPORT_cost] += cost;
    sums[TP_REPORT_moves] += (double)stats->moves;
    sums[TP_REPORT_ticks] += (double)stats->ticks;
    sums[TP_REPORT_back] += (double)stats->back_moves;
    sums[TP_REPORT_expansions] += (double)stats->expansions;
    sums[TP_REPORT_restarts] += (double)stats->restarts;
    sums[TP_REPORT_flips] += (double)stats->flips;
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
    struct tp_report_player player = {.usage = report->usage};
    char *text = strdup(cell->options);
    if (text == NULL)
        return tp_cli_fail(report->usage, "out of memory");
    tp_pool_init(&player.pool, NULL);
    int result = read_options(&player, text);
    if (result == TP_CLI_OK)
        result = tp_report_problems_load(&player, report, cell);
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
    tp_report_problems_free(&player);
    tp_pool_fini(&player.pool);
    if (player.known.map != NULL)
        tp_cli_map_fini(&player.known);
    if (player.map.map != NULL)
        tp_cli_map_fini(&player.map);
    free(text);
    return result;
}
