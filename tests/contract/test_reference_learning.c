/* The rows that discover, learn or restart play move by move as their plain reference does
 * (tests/lib/reference_learning.h): random small grids, plain and weighted, with 4, 8 and 16 neighbours, known,
 * discovered, or changed between ticks; and random directed graphs. Rows that are not there are named and skipped. */
#include "tests/lib/play.h"
#include "tests/lib/reference_learning.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum world {
    WORLD_KNOWN,    /* full knowledge, nothing changes */
    WORLD_UNSEEN,   /* freespace */
    WORLD_CHANGING, /* full knowledge, cells change between ticks */
    WORLD_GRAPH,    /* a directed graph, every node within reach of every other */
};

static const struct {
    const char *name;
    enum ref_rule rule;
    enum world world;
    enum ref_restart_rule restart; /* rtbwa alone */
    uint32_t cases, cases_long;
} plays[] = {
    {"rtaa", REF_RTAA, WORLD_KNOWN, REF_EAGER, 60, 1500},
    {"rtaa", REF_RTAA, WORLD_UNSEEN, REF_EAGER, 60, 1500},
    {"dartaa", REF_DARTAA, WORLD_KNOWN, REF_EAGER, 60, 1500},
    {"dartaa", REF_DARTAA, WORLD_UNSEEN, REF_EAGER, 60, 1500},
    {"lss", REF_LSS, WORLD_KNOWN, REF_EAGER, 60, 1500},
    {"lss", REF_LSS, WORLD_UNSEEN, REF_EAGER, 60, 1500},
    {"lss", REF_LSS, WORLD_GRAPH, REF_EAGER, 60, 1500},
    {"lsswa", REF_LSS, WORLD_KNOWN, REF_EAGER, 60, 1500},
    {"lsswa", REF_LSS, WORLD_UNSEEN, REF_EAGER, 60, 1500},
    {"lsswa", REF_LSS, WORLD_GRAPH, REF_EAGER, 60, 1500},
    {"lrta", REF_LRTA, WORLD_KNOWN, REF_EAGER, 60, 1500},
    {"lrta", REF_LRTA, WORLD_UNSEEN, REF_EAGER, 60, 1500},
    {"lrta", REF_LRTA, WORLD_GRAPH, REF_EAGER, 60, 1500},
    {"plrta", REF_PLRTA, WORLD_KNOWN, REF_EAGER, 60, 1500},
    {"plrta", REF_PLRTA, WORLD_UNSEEN, REF_EAGER, 60, 1500},
    {"plrta", REF_PLRTA, WORLD_GRAPH, REF_EAGER, 60, 1500},
    {"wastar", REF_WASTAR, WORLD_KNOWN, REF_EAGER, 60, 1500},
    {"wastar", REF_WASTAR, WORLD_UNSEEN, REF_EAGER, 60, 1500},
    {"wastar", REF_WASTAR, WORLD_CHANGING, REF_EAGER, 60, 1500},
    {"wastar", REF_WASTAR, WORLD_GRAPH, REF_EAGER, 60, 1500},
    {"rtbwa", REF_RTBWA, WORLD_KNOWN, REF_EAGER, 60, 1500},
    {"rtbwa", REF_RTBWA, WORLD_UNSEEN, REF_EAGER, 60, 1500},
    {"rtbwa", REF_RTBWA, WORLD_UNSEEN, REF_LAZY, 60, 1500},
    {"rtbwa", REF_RTBWA, WORLD_CHANGING, REF_EAGER, 60, 1500},
    {"rtbwa", REF_RTBWA, WORLD_CHANGING, REF_LAZY, 60, 1500},
    {"tbrwa", REF_TBRWA, WORLD_KNOWN, REF_EAGER, 60, 1500},
    {"tbrwa", REF_TBRWA, WORLD_GRAPH, REF_EAGER, 60, 1500},
};

enum { PLAYS = sizeof plays / sizeof *plays };

static const char *const world_names[] = {"known", "freespace", "changing", "graph"};
static const enum tp_neighbours neighbour_counts[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
static const enum tp_corners corner_rules[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE, TP_CORNERS_ALWAYS};

/* ---- spaces for the reference ---- */

/* A grid as the agent believes it to be. */
struct grid {
    struct ref_problem problem;
    uint16_t *weight; /* believed; problem.weight is the same */
};

static uint32_t grid_arcs(void *context, uint32_t cell, bool in, struct ref_arc *out)
{
    const struct ref_problem *p = &((struct grid *)context)->problem;
    uint32_t count = 0;
    if (!p->weight[cell])
        return 0;
    for (int64_t y = (int64_t)(cell / p->width) - 2; y <= (int64_t)(cell / p->width) + 2; y++) {
        for (int64_t x = (int64_t)(cell % p->width) - 2; x <= (int64_t)(cell % p->width) + 2; x++) {
            if (x < 0 || y < 0 || x >= p->width || y >= p->height)
                continue;
            uint32_t to = (uint32_t)(y * p->width + x);
            if (!p->weight[to])
                continue;
            uint64_t cost;
            if (in ? ref_step(p, to, cell, &cost) : ref_step(p, cell, to, &cost))
                out[count++] = (struct ref_arc){to, cost};
        }
    }
    return count;
}

static uint32_t grid_successors(void *context, uint32_t cell, struct ref_arc *out)
{
    return grid_arcs(context, cell, false, out);
}

static uint32_t grid_predecessors(void *context, uint32_t cell, struct ref_arc *out)
{
    return grid_arcs(context, cell, true, out);
}

static uint64_t grid_distance(void *context, uint32_t from, uint32_t to)
{
    return ref_distance(&((struct grid *)context)->problem, from, to);
}

static void grid_see(struct grid *grid, const uint16_t *truth, uint32_t cell, uint32_t radius)
{
    const struct ref_problem *p = &grid->problem;
    int64_t x = cell % p->width, y = cell / p->width, r = radius;
    for (int64_t j = y - r; j <= y + r; j++) {
        for (int64_t i = x - r; i <= x + r; i++) {
            if (i >= 0 && j >= 0 && i < p->width && j < p->height)
                grid->weight[j * p->width + i] = truth[j * p->width + i];
        }
    }
}

/* Each cell once, by the dearest move over the dearest ground. */
static uint64_t dearest_way(const struct tp_map *map, enum tp_neighbours neighbours)
{
    uint64_t largest = 1, move = neighbours == TP_NEIGHBOURS_4   ? TP_COST_UNIT
                                 : neighbours == TP_NEIGHBOURS_8 ? TP_COST_DIAGONAL
                                                                 : TP_COST_KNIGHT;
    for (int i = 0; i < 256; i++)
        largest = map->profile.weight[i] > largest ? map->profile.weight[i] : largest;
    return largest * move * map->width * map->height;
}

struct arcs {
    const struct tp_graph_edge *edges;
    size_t count;
    const struct tp_graph *graph; /* for its h alone */
};

static void arcs_put(struct ref_arc *out, uint32_t *count, uint32_t state, uint32_t cost)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (out[i].state == state) {
            out[i].cost = cost < out[i].cost ? cost : out[i].cost;
            return;
        }
    }
    out[(*count)++] = (struct ref_arc){state, cost};
}

static uint32_t arcs_successors(void *context, uint32_t state, struct ref_arc *out)
{
    const struct arcs *arcs = context;
    uint32_t count = 0;
    for (size_t i = 0; i < arcs->count; i++) {
        if (arcs->edges[i].from == state && arcs->edges[i].to != state)
            arcs_put(out, &count, arcs->edges[i].to, arcs->edges[i].cost);
    }
    return count;
}

static uint32_t arcs_each(void *context, uint32_t state, struct ref_arc *out)
{
    const struct arcs *arcs = context;
    uint32_t count = 0;
    for (size_t i = 0; i < arcs->count; i++) {
        if (arcs->edges[i].from == state && arcs->edges[i].to != state)
            out[count++] = (struct ref_arc){arcs->edges[i].to, arcs->edges[i].cost};
    }
    return count;
}

static uint32_t arcs_predecessors(void *context, uint32_t state, struct ref_arc *out)
{
    const struct arcs *arcs = context;
    uint32_t count = 0;
    for (size_t i = 0; i < arcs->count; i++) {
        if (arcs->edges[i].to == state && arcs->edges[i].from != state)
            arcs_put(out, &count, arcs->edges[i].from, arcs->edges[i].cost);
    }
    return count;
}

static uint64_t arcs_distance(void *context, uint32_t from, uint32_t to)
{
    return tp_graph_h(((struct arcs *)context)->graph, from, to);
}

/* ---- random problems ---- */

static struct tp_map *random_map(struct tp_test_rng *rng, bool weighted)
{
    uint32_t width = tp_test_between(rng, 1, 14), height = tp_test_between(rng, 1, 14);
    static const uint32_t percents[] = {0, 10, 22, 33, 42};
    uint32_t percent = percents[tp_test_below(rng, 5)];
    if (!weighted)
        return tp_test_map_random(rng, width, height, percent);
    static const uint32_t tops[] = {2, 3, 12, 300};
    return tp_test_map_random_weighted(rng, width, height, percent, tops[tp_test_below(rng, 4)]);
}

static const uint64_t lookaheads[] = {1, 2, 7, 64, TP_BUDGET_UNLIMITED};
static const uint32_t weights[] = {1000, 1001, 1400, 2600, 5000, 100000};

static void random_search(struct tp_test_rng *rng, struct tp_session_params *params)
{
    params->open_list = TP_OPEN_LIST_EXACT; /* the papers' order */
    params->budget = tp_budget_k(lookaheads[tp_test_below(rng, 5)]);
    uint32_t w = weights[tp_test_below(rng, 6)];
    params->w_milli = params->algorithm->capabilities & TP_CAN_TAKE_W ? w : 1000;
}

static uint64_t ticks_max(const struct tp_session_params *params, bool reachable)
{
    if (!reachable)
        return 60;
    return params->budget.expansions == TP_BUDGET_UNLIMITED ? 120 : 400;
}

#define FAIL(label, tick, ...)                                                                               \
    do {                                                                                                     \
        char fail_text[300];                                                                                 \
        snprintf(fail_text, sizeof fail_text, __VA_ARGS__);                                                  \
        ck_abort_msg("%s\n  tick %" PRIu64 ": %s", label, tick, fail_text);                                  \
    } while (0)

/* One tick of both; the moves, the work and the outcome must be the same. With `own_accord`, costs change and the
 * papers say only when a search must begin anew: after one that they don't call for, the case is over. */
static void compare_tick(const char *label, uint64_t tick, struct ref_agent *agent,
                         const struct tp_tick_reply *reply, bool own_accord, bool *over)
{
    uint64_t restarts = agent->restarts;
    if (own_accord) {
        bool restarted = reply->flags & TP_FLAG_RESTARTED;
        bool on_path = false;
        for (uint32_t i = 0; i < agent->path_count; i++)
            on_path |= agent->path[i] == agent->cell;
        if (agent->due && !restarted && !on_path) {
            *over = true; /* a rise on the way back to the path may be noticed only when it is met */
            return;
        }
        if (agent->due && !restarted)
            FAIL(label, tick, "no restart, though the rule calls for one (path %u, traced %llu of %llu)", agent->path_count, (unsigned long long)reply->work.traced, (unsigned long long)(8 * agent->k));
        if (!agent->due && (restarted || ref_agent_peek(agent).restarted)) {
            *over = true; /* of its own accord: from here on they may differ */
            return;
        }
    }
    struct ref_agent_tick want = ref_agent_tick(agent);
    if (reply->to != want.to || reply->work.expansions != want.expansions || reply->cost != agent->cost)
        FAIL(label, tick,
             "%u -> %u after %" PRIu64 " expansions, cost %" PRIu64
             ", status %d, flags %x; the reference: %u after "
             "%" PRIu64 ", cost %" PRIu64 "%s",
             reply->from, reply->to, reply->work.expansions, reply->cost, (int)reply->status, reply->flags,
             want.to, want.expansions, agent->cost, agent->restarts > restarts ? ", restarts" : "");
    if (!(reply->flags & TP_FLAG_BACK_MOVE) != !want.back)
        FAIL(label, tick, "BACK_MOVE is %s", want.back ? "missing" : "wrong");
    if ((reply->status == TP_STATUS_ARRIVED) != (want.end == REF_AT_GOAL) ||
        (reply->status == TP_STATUS_UNREACHABLE) != (want.end == REF_NO_WAY))
        FAIL(label, tick, "status %d, the reference ends with %d", (int)reply->status, (int)want.end);
    *over = want.end != REF_GOES_ON;
}

static bool can_run(const struct tp_algorithm *algorithm, const char *name, enum world world)
{
    if (!algorithm) {
        printf("test_reference_learning: %s is not there, skipped\n", name);
        return false;
    }
    if (world == WORLD_UNSEEN && !(algorithm->capabilities & TP_CAN_DISCOVER)) {
        printf("test_reference_learning: %s discovers nothing, skipped\n", name);
        return false;
    }
    return true;
}

/* ---- grids ---- */

/* Some cells change; never the agent's nor the goal's. */
static void random_changes(struct tp_test_rng *rng, struct play *play)
{
    struct tp_change changes[6];
    size_t count = tp_test_between(rng, 1, 6), used = 0;
    uint32_t cells = play->map->width * play->map->height;
    for (size_t i = 0; i < count; i++) {
        uint32_t cell = tp_test_below(rng, cells), from = tp_test_below(rng, cells);
        if (cell == play->cell || cell == play->goal)
            continue;
        changes[used++] = (struct tp_change){
            .kind = TP_CHANGE_CELL,
            .class_to = tp_map_class(play->map, from % play->map->width, from / play->map->width),
            .x = cell % play->map->width,
            .y = cell / play->map->width};
    }
    bool differ = false; /* a later change of the batch may undo an earlier one */
    for (size_t i = 0; i < used; i++) {
        bool last = true;
        for (size_t j = i + 1; j < used; j++)
            last &= changes[i].x != changes[j].x || changes[i].y != changes[j].y;
        uint16_t weight = play->map->profile.weight[changes[i].class_to];
        differ |= last && weight != tp_map_weight(play->map, changes[i].x, changes[i].y);
    }
    if (differ)
        play_apply(play, changes, used);
}

static void grid_case(struct tp_test_rng *rng, uint64_t number, int row, const struct tp_algorithm *algorithm)
{
    enum world world = plays[row].world;
    bool weighted = tp_test_percent(rng, 35);
    struct tp_map *map = random_map(rng, weighted);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = algorithm;
    params.neighbours = neighbour_counts[tp_test_below(rng, 3)];
    params.corners = corner_rules[tp_test_below(rng, 3)];
    random_search(rng, &params);
    if (world == WORLD_UNSEEN) {
        params.knowledge = TP_KNOWLEDGE_FREESPACE;
        params.sensor_radius = params.neighbours == TP_NEIGHBOURS_16 ? 2 : 1;
    }
    if (plays[row].rule == REF_RTBWA)
        params.restart = plays[row].restart == REF_LAZY ? TP_RESTART_LAZY : TP_RESTART_EAGER;

    struct grid grid = {.problem = play_problem(map, &params)};
    uint32_t cells = map->width * map->height;
    const uint16_t *truth = grid.problem.weight;
    uint32_t free_cells = 0;
    for (uint32_t i = 0; i < cells; i++)
        free_cells += truth[i] != 0;
    if (free_cells == 0) {
        free((void *)truth);
        tp_map_unref(map);
        return;
    }
    do
        params.start = tp_test_below(rng, cells);
    while (!truth[params.start]);
    do
        params.goal = tp_test_below(rng, cells);
    while (!truth[params.goal] && !tp_test_percent(rng, 5));
    uint8_t *reached = malloc(cells);
    ck_assert_ptr_nonnull(reached);
    ref_flood(&grid.problem, params.start, reached);
    bool reachable = reached[params.goal];
    free(reached);
    free((void *)truth);
    if (!reachable && plays[row].rule == REF_PLRTA) /* its queue would hardly ever run empty */
        params.budget = tp_budget_k(lookaheads[tp_test_below(rng, 3)]);

    struct play play;
    play_open(&play, &params, map);
    snprintf(play.label, sizeof play.label,
             "case %" PRIu64 ": %s, %s%s, %ux%u%s, %u to %u, n %d, corners %d, w %u/1000, k %" PRIu64 "\n"
             "(TICKPATH_SEED=%" PRIu64 " CK_RUN_CASE='%s %s')",
             number, algorithm->name, world_names[world],
             plays[row].rule != REF_RTBWA     ? ""
             : plays[row].restart == REF_LAZY ? ", lazy"
                                              : ", eager",
             map->width, map->height, weighted ? " weighted" : "", params.start, params.goal,
             (int)params.neighbours, (int)params.corners, params.w_milli, params.budget.expansions,
             tp_test_seed(), algorithm->name, world_names[world]);

    grid.weight = malloc(cells * sizeof *grid.weight);
    uint16_t *before = malloc(cells * sizeof *before);
    ck_assert(grid.weight && before);
    grid.problem.weight = grid.weight;
    for (uint32_t i = 0; i < cells; i++)
        grid.weight[i] = world == WORLD_UNSEEN ? grid.problem.least_weight : play.plain.weight[i];
    grid_see(&grid, play.plain.weight, params.start, params.sensor_radius);
    struct ref_space space = {cells,
                              &grid,
                              grid_successors,
                              grid_successors,
                              grid_predecessors,
                              grid_distance,
                              dearest_way(map, params.neighbours)};
    struct ref_agent agent;
    ref_agent_open(&agent, &space, plays[row].rule, params.start, params.goal, params.w_milli,
                   params.budget.expansions == TP_BUDGET_UNLIMITED ? UINT64_MAX : params.budget.expansions,
                   plays[row].restart);

    bool over = false;
    uint64_t limit = ticks_max(&params, reachable);
    bool own_accord =
        world == WORLD_CHANGING && (plays[row].rule != REF_RTBWA || plays[row].restart == REF_LAZY);
    uint32_t change_percent = tp_test_percent(rng, 50) ? 15 : 60;
    for (uint64_t tick = 1; tick <= limit && !over; tick++) {
        struct tp_tick_reply reply = play_tick(&play, NULL);
        if (!grid.weight[params.goal] &&
            (tick > 1 || world != WORLD_UNSEEN)) { /* believed to be no place at all: nothing is searched */
            if (reply.to != reply.from || reply.work.expansions)
                FAIL(play.label, tick, "%u -> %u after %" PRIu64 " expansions; the goal is blocked",
                     reply.from, reply.to, reply.work.expansions);
            break;
        }
        compare_tick(play.label, tick, &agent, &reply, own_accord, &over);
        if (world == WORLD_KNOWN || over)
            continue;
        memcpy(before, grid.weight, cells * sizeof *before);
        if (world == WORLD_CHANGING) {
            if (!tp_test_percent(rng, change_percent)) {
                ref_agent_see(&agent, false, false);
                continue;
            }
            random_changes(rng, &play);
            memcpy(grid.weight, play.plain.weight, cells * sizeof *grid.weight);
        } else {
            grid_see(&grid, play.plain.weight, agent.cell, params.sensor_radius);
        }
        bool rose = false, fell = false;
        for (uint32_t i = 0; i < cells; i++) {
            uint32_t then = before[i] ? before[i] : UINT32_MAX,
                     now = grid.weight[i] ? grid.weight[i] : UINT32_MAX;
            rose |= now > then;
            fell |= now < then;
        }
        ref_agent_see(&agent, rose, fell);
    }
    ref_agent_close(&agent);
    free(before);
    free(grid.weight);
    play_close(&play);
    tp_map_unref(map);
}

/* ---- directed graphs ---- */

static void graph_case(struct tp_test_rng *rng, uint64_t number, int row,
                       const struct tp_algorithm *algorithm)
{
    uint32_t nodes = tp_test_between(rng, 1, 60), extra = tp_test_below(rng, 3 * nodes + 1);
    static const uint32_t tops[] = {1, 3, 40, 100000};
    uint32_t top = tops[tp_test_below(rng, 4)];
    struct tp_graph_edge *edges = calloc(nodes + extra, sizeof *edges);
    uint32_t *order = calloc(nodes, sizeof *order);
    ck_assert(edges && order);
    for (uint32_t i = 0; i < nodes; i++) { /* a round trip through all nodes, then edges at random */
        uint32_t j = tp_test_below(rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (uint32_t i = 0; i < nodes; i++)
        edges[i] = (struct tp_graph_edge){order[i], order[(i + 1) % nodes], tp_test_between(rng, 1, top)};
    size_t count = nodes;
    for (uint32_t i = 0; i < extra; i++) {
        uint32_t from = tp_test_below(rng, nodes), to = tp_test_below(rng, nodes);
        edges[count++] = (struct tp_graph_edge){from, to, tp_test_between(rng, 1, top)};
        if (tp_test_percent(rng, 30) && i + 1 < extra) { /* there and back */
            edges[count++] = (struct tp_graph_edge){to, from, tp_test_between(rng, 1, top)};
            i++;
        }
    }
    double x[60], y[60];
    bool placed = tp_test_percent(rng, 60);
    for (uint32_t i = 0; i < nodes; i++) {
        x[i] = tp_test_below(rng, 1000) / 7.0;
        y[i] = tp_test_below(rng, 1000) / 7.0;
    }
    const struct tp_graph *graph;
    struct tp_map *map;
    size_t bad;
    ck_assert_int_eq(tp_graph_build(&graph, nodes, edges, count, placed ? x : NULL, placed ? y : NULL, &bad),
                     0);
    ck_assert_int_eq(tp_map_build_graph(&map, graph, 1, 1), 0);

    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = algorithm;
    params.start = tp_test_below(rng, nodes);
    params.goal = tp_test_below(rng, nodes);
    random_search(rng, &params);
    char label[320];
    snprintf(label, sizeof label,
             "case %" PRIu64 ": %s, graph of %u nodes, %zu edges%s, %u to %u, w %u/1000, k %" PRIu64
             "\n(TICKPATH_SEED=%" PRIu64 " CK_RUN_CASE='%s graph')",
             number, algorithm->name, nodes, count, placed ? ", placed" : "", params.start, params.goal,
             params.w_milli, params.budget.expansions, tp_test_seed(), algorithm->name);

    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_session *session;
    struct tp_refusal refusal = {NULL, NULL};
    int error = tp_session_open(&session, &params, map, &pool, &refusal);
    ck_assert_msg(error == 0, "%s: %s: %s", label, tp_error_name(error),
                  refusal.reason ? refusal.reason : "-");
    struct arcs arcs = {edges, count, graph};
    struct ref_space space = {nodes,
                              &arcs,
                              arcs_successors,
                              arcs_each,
                              arcs_predecessors,
                              arcs_distance,
                              (uint64_t)nodes * graph->cost_max};
    struct ref_agent agent;
    ref_agent_open(&agent, &space, plays[row].rule, params.start, params.goal, params.w_milli,
                   params.budget.expansions == TP_BUDGET_UNLIMITED ? UINT64_MAX : params.budget.expansions,
                   REF_EAGER);
    bool over = false;
    for (uint64_t tick = 1; tick <= ticks_max(&params, true) && !over; tick++) {
        struct tp_tick_reply reply;
        uint64_t restarts = agent.restarts;
        memset(&reply, 0xa5, sizeof reply);
        tp_session_tick(session, map, NULL, &reply);
        compare_tick(label, tick, &agent, &reply, false, &over);
        if (plays[row].rule == REF_TBRWA &&
            (agent.restarts > restarts) != !!(reply.flags & TP_FLAG_RESTARTED))
            FAIL(label, tick, "RESTARTED is %s", agent.restarts > restarts ? "missing" : "wrong");
    }
    ref_agent_close(&agent);
    tp_session_close(session);
    tp_pool_fini(&pool);
    tp_map_unref(map);
    tp_graph_unref(graph);
    free(edges);
    free(order);
}

static void play_row(int row, uint64_t seed, uint64_t cases)
{
    const struct tp_algorithm *algorithm = tp_algorithm_find(plays[row].name);
    if (!can_run(algorithm, plays[row].name, plays[row].world))
        return;
    char stream[64];
    snprintf(stream, sizeof stream, "%s %s %d", plays[row].name, world_names[plays[row].world],
             (int)plays[row].restart);
    struct tp_test_rng rng = tp_test_rng_of(seed, stream);
    for (uint64_t i = 0; i < cases; i++) {
        if (plays[row].world == WORLD_GRAPH)
            graph_case(&rng, i, row, algorithm);
        else
            grid_case(&rng, i, row, algorithm);
    }
}

START_TEST(plays_as_the_reference)
{
    play_row(_i, tp_test_seed(), tp_test_steps(plays[_i].cases, plays[_i].cases_long));
}
END_TEST

/* Seeds whose first cases once found a fault of the lazy rule: the moves of a fallen cell itself, and a path that was grown
 * before its costs rose. */
START_TEST(plays_as_the_reference_what_once_failed)
{
    static const uint64_t seeds[] = {1426352364, 1059901920};
    for (int row = 0; row < PLAYS; row++)
        if (plays[row].world == WORLD_CHANGING && plays[row].rule == REF_RTBWA && plays[row].restart == REF_LAZY)
            play_row(row, seeds[_i], 20);
}
END_TEST

static Suite *reference_suite(void)
{
    static char names[PLAYS][64];
    Suite *suite = suite_create("reference of learning");
    for (int i = 0; i < PLAYS; i++) {
        snprintf(names[i], sizeof names[i], "%s %s", plays[i].name, world_names[plays[i].world]);
        TCase *tcase = tcase_create(names[i]);
        tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
        tcase_add_loop_test(tcase, plays_as_the_reference, i, i + 1);
        suite_add_tcase(suite, tcase);
    }
    TCase *again = tcase_create("again");
    tcase_add_loop_test(again, plays_as_the_reference_what_once_failed, 0, 2);
    suite_add_tcase(suite, again);
    return suite;
}

int main(void)
{
    return tp_test_main("test_reference_learning", reference_suite);
}
