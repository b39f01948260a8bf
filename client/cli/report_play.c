/* One cell of the report: an algorithm with its parameters, on problems of one map. Runs in a process of its own.
 *
 * A deadline is in microseconds of a processor, so that the game time model does not depend on what else the machine does.
 * Moves are looked at by the rules of the tool's own (run_moves.h), in the version that their reply names, some thousands at a time
 * with the clock stopped.
 */
#include "client/cli/report_play.h"

#include "client/cli/run_moves.h"
#include "guide/field.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS_MAX = 64, TRAIL_MAX = 4096, FIELD_BYTES_MAX = 256 << 20 };

#define AT(field) offsetof(struct tp_report_options, field)

static const struct tp_cli_option cell_options[] = {
    {"partial", TP_CLI_FLAG, AT(partial), NULL, "the agent knows the map without its unseen blocks", 0, 0,
     NULL, false},
    {"vehicle", TP_CLI_FLAG, AT(vehicle), NULL, "the agent moves with inertia", 0, 0, NULL, false},
    {"change-rate", TP_CLI_MILLI, AT(change_rate), "PERCENT", "cells that change after every 10 moves", 0,
     100000, NULL, false},
    {"doors", TP_CLI_UINT, AT(doors), "N", "doors that close and open on the best way, where it is narrow", 1, 1000,
     NULL, false},
    {"door-ticks", TP_CLI_UINT, AT(door_ticks), "N", "ticks between two rounds of the doors (20)", 1, 1000000, NULL,
     false},
    {"door-rounds", TP_CLI_UINT, AT(door_rounds), "N", "rounds after which all doors stay open (40)", 0, 1000000000, NULL,
     false},
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

/* ---- what is looked at besides ---- */

/* The agent's last moves, all in one version of the map. */
struct trail {
    struct tp_cli_stand from, stands[TRAIL_MAX];
    tp_cost cost, costs[TRAIL_MAX]; /* of the walk so far */
    size_t count;
};

/* What is summed over a cell's problems whether they are solved or not, and the largest of any tick. */
struct watch {
    struct trail trail;
    double illegal, over;
    uint64_t max_expansions, max_guide, max_work;
};

/* Looks at the moves that were made in a version, which the trail then has no more. */
static void check_trail(const struct tp_report_player *player, const struct tp_map *map, uint32_t goal,
                        struct watch *watch)
{
    const struct tp_cli_mirror moves = {.neighbours = player->params.neighbours,
                                        .corners = player->params.corners,
                                        .drives = player->params.motion == TP_MOTION_INERTIA};
    struct trail *trail = &watch->trail;
    for (size_t i = 0; i < trail->count; i++) {
        uint64_t cost = trail->costs[i] - trail->cost;
        watch->illegal +=
            map->puzzle == 0 && tp_cli_wrong_move(&moves, map, trail->from, trail->stands[i], goal, cost) != NULL;
        trail->from = trail->stands[i];
        trail->cost = trail->costs[i];
    }
    trail->count = 0;
}

static void greater(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

static void watch_tick(struct watch *watch, const struct tp_budget *budget, uint64_t guide_units, uint64_t version,
                       const struct tp_tick_reply *reply)
{
    struct trail *trail = &watch->trail;
    trail->stands[trail->count] = (struct tp_cli_stand){reply->to, reply->vx, reply->vy};
    trail->costs[trail->count++] = reply->cost;
    watch->illegal += reply->version != version;
    watch->over += (budget->kind != TP_BUDGET_DEADLINE && reply->work.expansions > budget->expansions) ||
                   reply->work.guide > guide_units;
    greater(&watch->max_expansions, reply->work.expansions);
    greater(&watch->max_guide, reply->work.guide);
    greater(&watch->max_work, reply->work.expansions + reply->work.guide);
}

/* ---- playing ---- */

/* One problem played. */
struct game {
    struct tp_session_stats stats;
    double seconds;
    bool arrived;
};

/* Ticks the session until it is there, or gives up. An error of the library. */
static int tick_all(struct tp_report_player *player, struct tp_session *session, struct tp_report_world *world,
                    struct watch *watch, struct game *game)
{
    struct tp_budget budget = player->params.budget;
    double deadline = 0, begin = processor_seconds();
    budget.context = &deadline;
    struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
    uint64_t moves = 0, units = player->params.guide_units;
    bool is_deadline = budget.kind == TP_BUDGET_DEADLINE, changes = tp_report_world_changes(world);
    bool is_over = false;
    int error = 0;
    units = units == TP_GUIDE_UNITS_UNSET ? TP_GUIDE_UNITS_DEFAULT : units;
    watch->trail.from = (struct tp_cli_stand){player->params.start, player->params.start_vx, player->params.start_vy};
    watch->trail.cost = watch->trail.count = 0;
    for (uint64_t tick = 1; tick <= player->options.ticks_max && error == 0 && !is_over; tick++) {
        if (is_deadline)
            deadline = processor_seconds() + (double)player->search.deadline_us / 1e6;
        tp_session_tick(session, world->met, &budget, &reply);
        moves += reply.to != reply.from;
        watch_tick(watch, &budget, units, world->met->version, &reply);
        bool unreachable = reply.status == TP_STATUS_UNREACHABLE;
        is_over = reply.status == TP_STATUS_ARRIVED || (unreachable && !changes);
        bool is_due = changes && !is_over && tp_report_world_is_due(world, tick, moves, unreachable);
        if (!is_due && watch->trail.count < TRAIL_MAX)
            continue;
        game->seconds += processor_seconds() - begin;
        check_trail(player, world->met, world->goal, watch);
        error = is_due ? tp_report_world_change(world, tp_session_cell(session), moves) : 0;
        begin = processor_seconds();
    }
    game->seconds += processor_seconds() - begin;
    check_trail(player, world->met, world->goal, watch);
    game->arrived = reply.status == TP_STATUS_ARRIVED;
    tp_session_stats(session, &game->stats);
    return error;
}

/* Plays one problem. TP_CLI_FAILED after saying why. */
static int play_problem(struct tp_report_player *player, const struct tp_report_problem *problem,
                        size_t number, struct watch *watch, struct game *game)
{
    struct tp_session *session;
    struct tp_report_world world;
    struct tp_refusal refusal = {NULL, NULL};
    player->params.start = problem->start;
    player->params.goal = problem->goal;
    *game = (struct game){.seconds = 0};
    int error = tp_report_world_open(&world, player, problem, number);
    if (error != 0)
        return tp_cli_fail(player->usage, "%s", tp_error_text(error));
    error = tp_session_open(&session, &player->params, world.met, &player->pool, &refusal);
    if (error != 0) {
        tp_report_world_close(&world);
        return tp_cli_fail(player->usage, "the session is refused: %s: %s", refusal.field ? refusal.field : "",
                           refusal.reason ? refusal.reason : tp_error_text(error));
    }
    error = tick_all(player, session, &world, watch, game);
    tp_session_close(session);
    tp_report_world_close(&world);
    return error == 0 ? TP_CLI_OK : tp_cli_fail(player->usage, "%s", tp_error_text(error));
}

bool tp_report_solve(struct tp_report_player *player, struct tp_report_problem *problem)
{
    struct tp_session_params kept = player->params;
    struct tp_report_options options = player->options;
    struct watch watch = {.illegal = 0};
    struct game game;
    struct tp_session_params *params = &player->params;
    tp_session_params_init(params);
    params->algorithm = tp_algorithm_find("astar");
    params->neighbours = kept.neighbours;
    params->corners = kept.corners;
    params->budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    player->options = (struct tp_report_options){.ticks_max = UINT64_MAX};
    int result = play_problem(player, problem, 0, &watch, &game);
    player->params = kept;
    player->options = options;
    problem->optimal = (double)game.stats.cost / TP_COST_UNIT;
    problem->optimal_moves = game.stats.moves;
    return result == TP_CLI_OK && game.arrived;
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
    player->search.open_list = TP_OPEN_LIST_EXACT; /* as the papers have it, unless the series says otherwise */
    player->options = (struct tp_report_options){.ticks_max = 2000000, .door_ticks = 20, .door_rounds = 40};
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

/* Adds a problem that was solved. */
static void add(double *sums, const struct tp_report_problem *problem, const struct game *game)
{
    const struct tp_session_stats *stats = &game->stats;
    double cost = (double)stats->cost / TP_COST_UNIT;
    sums[TP_REPORT_solved]++;
    sums[TP_REPORT_cost] += cost;
    sums[TP_REPORT_moves] += (double)stats->moves;
    sums[TP_REPORT_ticks] += (double)stats->ticks;
    sums[TP_REPORT_back] += (double)stats->back_moves;
    sums[TP_REPORT_expansions] += (double)stats->expansions;
    sums[TP_REPORT_guide] += (double)stats->guide;
    sums[TP_REPORT_restarts] += (double)stats->restarts;
    sums[TP_REPORT_flips] += (double)stats->flips;
    sums[TP_REPORT_learned] += (double)stats->learned;
    sums[TP_REPORT_traced] += (double)stats->traced;
    sums[TP_REPORT_optimal] += problem->optimal;
    sums[TP_REPORT_optimal_moves] += (double)problem->optimal_moves;
    sums[TP_REPORT_subopt] += problem->optimal > 0 ? cost / problem->optimal : 1;
    sums[TP_REPORT_us] += game->seconds * 1e6;
}

static int play_all(struct tp_report_player *player, double *sums)
{
    struct watch watch = {.illegal = 0};
    int result = TP_CLI_OK;
    for (size_t i = 0; result == TP_CLI_OK && i < player->count; i++) {
        struct game game;
        result = play_problem(player, &player->problems[i], i, &watch, &game);
        sums[TP_REPORT_n]++;
        if (result == TP_CLI_OK && game.arrived)
            add(sums, &player->problems[i], &game);
    }
    sums[TP_REPORT_illegal] = watch.illegal;
    sums[TP_REPORT_over] = watch.over;
    sums[TP_REPORT_max_expansions] = (double)watch.max_expansions;
    sums[TP_REPORT_max_guide] = (double)watch.max_guide;
    sums[TP_REPORT_max_work] = (double)watch.max_work;
    return result;
}

int tp_report_play(const struct tp_report *report, struct tp_report_cell *cell)
{
    struct tp_report_player player = {.usage = report->usage};
    char *text = strdup(cell->options);
    if (text == NULL)
        return tp_cli_fail(report->usage, "out of memory");
    tp_pool_init(&player.pool, NULL);
    int result = read_options(&player, text);
    player.params.fields = tp_field_cache_open(&player.pool, FIELD_BYTES_MAX);
    if (result == TP_CLI_OK)
        result = tp_report_problems_load(&player, report, cell);
    memset(cell->sums, 0, sizeof cell->sums);
    if (result == TP_CLI_OK)
        result = play_all(&player, cell->sums);
    tp_report_problems_free(&player);
    tp_map_unref(player.met);
    tp_field_cache_close(player.params.fields);
    tp_pool_fini(&player.pool);
    if (player.known.map != NULL)
        tp_cli_map_fini(&player.known);
    if (player.map.map != NULL)
        tp_cli_map_fini(&player.map);
    free(text);
    return result;
}
