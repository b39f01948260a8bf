/* Graphs that change: versions against a plain model, the small case of users, sessions of every row under watch. */
#include "map/map.h"
#include "search/algorithm.h"
#include "search/session.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/plain_spaces.h"
#include "tests/lib/play.h"
#include "tests/lib/random_spaces.h"

#include <stdlib.h>
#include <string.h>

static struct tp_change edge_change(uint32_t edge, uint32_t cost)
{
    return (struct tp_change){.kind = TP_CHANGE_EDGE, .x = edge, .y = cost};
}

static struct tp_change node_change(uint32_t node, bool open)
{
    return (struct tp_change){.kind = TP_CHANGE_NODE, .x = node, .y = open};
}

/* ---- Versions ---- */

static void check_version(const struct tp_graph *graph, const struct plain_graph *plain)
{
    uint32_t closed = 0;
    for (uint32_t node = 0; node < plain->nodes; node++) {
        ck_assert_int_eq(tp_graph_closed(graph, node), plain->closed[node]);
        closed += plain->closed[node];
        const struct tp_graph_out *out = tp_graph_out(graph, node);
        for (uint32_t i = plain->first[node]; i < plain->first[node + 1]; i++, out++) {
            ck_assert_uint_eq(out->to, plain->edges[i].to);
            ck_assert_uint_eq(out->cost, plain->edges[i].cost);
            ck_assert_uint_eq(tp_graph_source(graph, i), node);
            ck_assert_uint_le(out->cost, graph->cost_max);
        }
    }
    ck_assert_uint_eq(closed, graph->closed_nodes);
    for (uint32_t e = 0; e < plain->count; e++) {
        struct tp_graph_edge edge = tp_graph_edge_set(graph, e);
        uint32_t place = plain->place[e];
        ck_assert(edge.from == plain->edges[place].from && edge.to == plain->edges[place].to && edge.cost == plain->own[place]);
    }
}

/* h of a version is consistent over all edges that are open, or would be. */
static void check_h(const struct tp_graph *graph, const struct plain_graph *plain, uint32_t goal)
{
    ck_assert_uint_eq(tp_graph_h(graph, goal, goal), 0);
    for (size_t i = 0; i < plain->count; i++)
        if (plain->own[i])
            ck_assert_uint_le(tp_graph_h(graph, plain->edges[i].from, goal), plain->own[i] + tp_graph_h(graph, plain->edges[i].to, goal));
}

START_TEST(versions_follow_the_model)
{
    struct tp_test_rng rng = tp_test_rng("versions");
    for (int round = 0; round < 15; round++) {
        struct space space;
        uint32_t cost_max = tp_test_percent(&rng, 30) ? UINT32_MAX : 2000;
        space_random(&space, &rng, SPACE_GRAPH, (struct space_size){8, 8, 1 + tp_test_below(&rng, 500), cost_max});
        struct plain_graph *plain = &space.graph;
        uint32_t *costs = malloc((plain->count + 1) * sizeof *costs), *before = malloc((plain->count + 1) * sizeof *before);
        const struct tp_map *map = tp_map_ref(space.map);
        for (int batch = 0; batch < 25; batch++) {
            struct tp_change changes[SPACE_BATCH_MAX];
            for (size_t i = 0; i < plain->count; i++)
                before[i] = plain->edges[i].cost;
            size_t count = space_graph_batch(&rng, plain, cost_max, changes);
            struct tp_map *next;
            size_t bad;
            uint32_t x, y;
            ck_assert_int_eq(tp_map_apply(&next, map, changes, count, &bad, &x, &y), 0);
            bool rose = false, fell = false;
            for (size_t i = 0; i < plain->count; i++) {
                costs[i] = plain->edges[i].cost;
                rose |= costs[i] - 1 > before[i] - 1;
                fell |= costs[i] - 1 < before[i] - 1;
            }
            ck_assert_uint_eq(next->version, map->version + 1);
            ck_assert_uint_eq(next->epoch, map->epoch);
            ck_assert_uint_eq(next->passable_cells, plain->nodes - next->graph->closed_nodes);
            ck_assert(!rose || next->rose_version == next->version); /* what rose and fell again in one batch counts too */
            ck_assert(!fell || next->fell_version == next->version);
            ck_assert(count || (next->rose_version == map->rose_version && next->fell_version == map->fell_version));
            ck_assert(next->graph->h_factor <= map->graph->h_factor && next->graph->cost_max >= map->graph->cost_max);
            ck_assert(next->graph->h_factor == map->graph->h_factor || next->fell_version == next->version);
            check_version(next->graph, plain);
            check_h(next->graph, plain, tp_test_below(&rng, plain->nodes));
            /* the version before is as it was */
            for (uint32_t node = 0; node < plain->nodes; node++)
                for (uint32_t i = plain->first[node]; i < plain->first[node + 1]; i++)
                    ck_assert_uint_eq(tp_graph_out(map->graph, node)[i - plain->first[node]].cost, before[i]);
            ck_assert_ptr_eq(next->graph->shape, map->graph->shape);
            tp_map_unref(map);
            map = next;
        }
        tp_map_unref(map);
        free(costs);
        free(before);
        space_fini(&space);
    }
}
END_TEST

START_TEST(untouched_pages_are_shared)
{
    enum { NODES = 10 * TP_GRAPH_PAGE };
    struct tp_graph_edge edges[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        edges[i] = (struct tp_graph_edge){i, (i + 1) % NODES, 5};
    struct tp_map *map = tp_test_map_graph(NODES, edges, NODES, NULL, NULL), *next;
    struct tp_change changes[] = {edge_change(3, 9), edge_change(4, 9), edge_change(5 * TP_GRAPH_PAGE, 0)};
    size_t bad;
    uint32_t x, y;
    ck_assert_int_eq(tp_map_apply(&next, map, changes, 3, &bad, &x, &y), 0);
    for (uint32_t i = 0; i < tp_graph_pages(map->graph); i++)
        ck_assert_int_eq(next->graph->pages[i] == map->graph->pages[i], i != 0 && i != 5);
    size_t both = tp_graph_bytes(map->graph) + tp_graph_bytes(next->graph);
    tp_map_unref(next);
    ck_assert_uint_lt(both, tp_graph_bytes(map->graph) * 3 / 2);
    tp_map_unref(map);
}
END_TEST

START_TEST(bad_batches_change_nothing)
{
    static const struct tp_graph_edge edges[] = {{0, 1, 3}, {1, 2, 4}};
    struct tp_map *map = tp_test_map_graph(3, edges, 2, NULL, NULL), *next;
    const struct {
        struct tp_change change;
        int error;
        uint32_t bad_x;
    } cases[] = {
        {edge_change(2, 1), TP_ERR_OUT_OF_RANGE, 2},
        {edge_change(UINT32_MAX, 1), TP_ERR_OUT_OF_RANGE, UINT32_MAX},
        {node_change(3, true), TP_ERR_OUT_OF_RANGE, 3},
        {{.kind = TP_CHANGE_NODE, .x = 1, .y = 2}, TP_ERR_INVALID_ARGUMENT, 1},
        {{.kind = TP_CHANGE_CELL, .x = 1}, TP_ERR_UNSUPPORTED, 1},
        {{.kind = TP_CHANGE_RECT, .x = 0, .width = 1, .height = 1}, TP_ERR_UNSUPPORTED, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tp_change changes[] = {edge_change(0, 7), cases[i].change};
        size_t bad;
        uint32_t x, y;
        ck_assert_int_eq(tp_map_apply(&next, map, changes, 2, &bad, &x, &y), cases[i].error);
        ck_assert_ptr_null(next);
        ck_assert_uint_eq(bad, 1);
        ck_assert_uint_eq(x, cases[i].bad_x);
        ck_assert_uint_eq(tp_graph_edge_set(map->graph, 0).cost, 3);
    }
    tp_map_unref(map);
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    ck_assert_int_eq(tp_map_build(&map, 2, 1, (const uint8_t *)"..", &profile, 1), 0);
    struct tp_change on_grid[] = {edge_change(0, 7), node_change(0, false)};
    for (size_t i = 0; i < 2; i++) {
        size_t bad;
        uint32_t x, y;
        ck_assert_int_eq(tp_map_apply(&next, map, &on_grid[i], 1, &bad, &x, &y), TP_ERR_UNSUPPORTED);
        ck_assert_uint_eq(bad, 0);
    }
    tp_map_unref(map);
}
END_TEST

/* ---- Case B of users: nodes 10 to 15 by their numbers, at the places given ---- */

static const struct tp_graph_edge case_b[] = {{13, 15, 1}, {15, 13, 1}, {13, 11, 2}, {11, 13, 2}, {11, 10, 1},
                                              {10, 12, 1}, {12, 10, 1}, {12, 14, 1}, {14, 12, 1}};
static const double case_b_x[16] = {[13] = 1, [15] = 2, [11] = 3, [10] = 4, [12] = 5, [14] = 6}, case_b_y[16];

static void walk_case_b(enum tp_goal_policy policy, bool blocked, const uint32_t *wanted, size_t count, uint64_t k)
{
    struct plain_graph plain;
    plain_graph_init(&plain, 16, case_b, 9);
    struct tp_map *map = tp_test_map_graph(16, case_b, 9, case_b_x, case_b_y);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.start = 13;
    params.goal = 12;
    params.goal_policy = policy;
    params.budget = (struct tp_budget){.kind = TP_BUDGET_K, .expansions = k, .expansions_max = UINT64_MAX};
    struct play play;
    play_open_graph(&play, &params, map, &plain, NULL);
    if (blocked) {
        struct tp_change close = node_change(12, false);
        plain_graph_set_node(&plain, 12, false);
        play_apply(&play, &close, 1);
    }
    uint32_t walked[32], steps = 0;
    walked[steps++] = 13;
    struct tp_tick_reply reply;
    for (int tick = 0; tick < 40; tick++) {
        reply = play_tick(&play, NULL);
        if (reply.to != reply.from && steps < 32)
            walked[steps++] = reply.to;
    }
    ck_assert_uint_eq(walked[steps - 1], wanted[count - 1]);
    if (k >= 10) { /* with less it may step to and fro before it knows */
        ck_assert_uint_eq(steps, count);
        ck_assert_mem_eq(walked, wanted, count * sizeof *wanted);
    }
    if (!blocked)
        ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    else if (policy == TP_GOAL_EXACT)
        ck_assert_int_eq(reply.status, TP_STATUS_UNREACHABLE);
    else
        ck_assert(reply.status == TP_STATUS_ARRIVED && reply.flags & TP_FLAG_PARTIAL);
    if (blocked && policy == TP_GOAL_NEAREST) { /* opened again, its edges cost what they did */
        struct tp_change open = node_change(12, true);
        plain_graph_set_node(&plain, 12, true);
        play_apply(&play, &open, 1);
        reply = play_until_settled(&play, NULL, 20);
        ck_assert(reply.status == TP_STATUS_ARRIVED && reply.to == 12 && !(reply.flags & TP_FLAG_PARTIAL));
    }
    play_close(&play);
    tp_map_unref(map);
    plain_graph_fini(&plain);
}

START_TEST(case_b_through_the_library)
{
    static const uint64_t ks[] = {1, 2, 10, 1000};
    for (size_t i = 0; i < 4; i++) {
        walk_case_b(TP_GOAL_EXACT, false, (const uint32_t[]){13, 11, 10, 12}, 4, ks[i]);
        walk_case_b(TP_GOAL_EXACT, true, (const uint32_t[]){13}, 1, ks[i]);
        walk_case_b(TP_GOAL_NEAREST, true, (const uint32_t[]){13, 11, 10}, 3, ks[i]);
    }
}
END_TEST

/* ---- Sessions ---- */

/* A road of 6 nodes there (edges 0 to 4), a way round of 3 dearer edges (5 to 7), and a far pair (8). */
static const struct tp_graph_edge roads[] = {{0, 1, 10}, {1, 2, 10}, {2, 3, 10}, {3, 4, 10}, {4, 5, 10},
                                             {1, 6, 40}, {6, 7, 40}, {7, 5, 40}, {8, 9, 10}};

/* Walks two steps, changes one edge, and says what the next reply's flags are; the agent arrives in any case. */
static uint32_t flags_after(const char *algorithm, enum tp_restart rule, struct tp_change change, uint64_t *cost)
{
    struct plain_graph plain;
    plain_graph_init(&plain, 10, roads, 9);
    struct tp_map *map = tp_test_map_graph(10, roads, 9, NULL, NULL);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(algorithm);
    params.restart = rule;
    params.start = 0;
    params.goal = 5;
    params.budget = (struct tp_budget){.kind = TP_BUDGET_K, .expansions = 100, .expansions_max = UINT64_MAX};
    struct play play;
    play_open_graph(&play, &params, map, &plain, NULL);
    play_tick(&play, NULL);
    ck_assert_uint_eq(play.cell, 1);
    if (change.kind == TP_CHANGE_EDGE)
        plain_graph_set_edge(&plain, change.x, change.y);
    else
        plain_graph_set_node(&plain, change.x, change.y);
    play_apply(&play, &change, 1);
    uint32_t flags = play_tick(&play, NULL).flags;
    ck_assert_int_eq(play_until_settled(&play, NULL, 30).status, TP_STATUS_ARRIVED);
    *cost = play.cost;
    play_close(&play);
    tp_map_unref(map);
    plain_graph_fini(&plain);
    return flags;
}

START_TEST(rules_ask_what_changed)
{
    const struct {
        struct tp_change change;
        enum tp_restart rule;
        bool restarts;
        uint64_t cost;
    } cases[] = {
        {edge_change(8, 99), TP_RESTART_LAZY, false, 50},     /* off the way */
        {edge_change(8, 99), TP_RESTART_ON_RISE, false, 50},
        {edge_change(8, 99), TP_RESTART_EAGER, true, 50},
        {edge_change(3, 200), TP_RESTART_LAZY, true, 130},    /* on the path */
        {edge_change(3, 200), TP_RESTART_ON_RISE, true, 130},
        {edge_change(3, 0), TP_RESTART_LAZY, true, 130},
        {node_change(4, false), TP_RESTART_ON_RISE, true, 130},
        {edge_change(0, 99), TP_RESTART_LAZY, false, 50},     /* behind the agent */
        {edge_change(6, 1), TP_RESTART_LAZY, true, 50},       /* without coordinates any cheap edge may shorten */
        {edge_change(6, 1), TP_RESTART_ON_RISE, false, 50},
        {edge_change(6, 39), TP_RESTART_LAZY, true, 50},      /* 39 < 40 that are left */
        {edge_change(3, 200), TP_RESTART_NEVER, false, 240},
        {edge_change(8, 5), TP_RESTART_NEVER, false, 50},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t cost;
        uint32_t flags = flags_after("rtbwa", cases[i].rule, cases[i].change, &cost);
        ck_assert_msg(!(flags & TP_FLAG_RESTARTED) == !cases[i].restarts && !(flags & TP_FLAG_CONTINUED) == cases[i].restarts,
                      "case %zu: flags %x", i, flags);
        ck_assert_msg(cost == cases[i].cost, "case %zu: cost %llu", i, (unsigned long long)cost);
    }
}
END_TEST

static void live(struct tp_test_rng *rng, const struct tp_algorithm *row, unsigned long long seed, int round)
{
    struct space space;
    uint32_t cost_max = tp_test_percent(rng, 20) ? UINT32_MAX : tp_test_percent(rng, 50) ? 10 : 2000;
    if (row->learning != TP_LEARNING_NONE)
        cost_max = 10;
    space_random(&space, rng, SPACE_GRAPH, (struct space_size){8, 8, 60, cost_max});
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.start = tp_test_below(rng, space.graph.nodes);
    params.goal = tp_test_below(rng, space.graph.nodes);
    if (row->capabilities & TP_CAN_TAKE_W && tp_test_percent(rng, 50))
        params.w_milli = 1000 + 500 * tp_test_below(rng, 5);
    params.restart = tp_test_below(rng, row->capabilities & TP_CAN_RESTART_BY_RULE ? 5 : 3);
    if (row->capabilities & TP_CAN_CHOOSE_GOAL && space.x && tp_test_percent(rng, 40))
        params.goal_policy = TP_GOAL_NEAREST;
    params.budget = (struct tp_budget){.kind = TP_BUDGET_K, .expansions = 1 + tp_test_below(rng, 30), .expansions_max = UINT64_MAX};
    if (row->capabilities & TP_CAN_SPLIT_R || tp_test_percent(rng, 40))
        params.budget = (struct tp_budget){.kind = TP_BUDGET_R, .expansions = 2 + tp_test_below(rng, 40), .r_milli = 500, .c = 10,
                                           .expansions_max = UINT64_MAX};
    struct play play;
    play_open_graph(&play, &params, space.map, &space.graph, NULL);
    snprintf(play.label, sizeof play.label, "TICKPATH_SEED=%llu round %d %s policy %d rule %d", seed, round, row->name,
             (int)params.goal_policy, (int)params.restart);
    uint32_t rate = 1 + tp_test_below(rng, 100);
    for (int tick = 0; tick < 150; tick++) {
        if (tp_test_percent(rng, rate)) {
            struct tp_change changes[SPACE_BATCH_MAX];
            size_t count = space_graph_batch(rng, &space.graph, cost_max, changes);
            play_apply(&play, changes, count);
        }
        if (tp_test_percent(rng, 4))
            play_retarget(&play, tp_test_below(rng, space.graph.nodes));
        if (tp_test_percent(rng, 4))
            play_at(&play, tp_test_below(rng, space.graph.nodes));
        struct tp_budget least = params.budget; /* a tick may be given next to nothing */
        least.expansions_max = tp_test_below(rng, 3);
        play_tick(&play, tp_test_percent(rng, 20) ? &least : NULL);
    }
    /* it keeps still: who can get there from wherever it may go, does; who can't, and can know it, is told */
    bool proves = row->capabilities & TP_CAN_DETECT_UNREACHABLE, exact = params.goal_policy == TP_GOAL_EXACT;
    bool arrives = exact && plain_graph_safe(&space.graph, play.cell, play.goal), settles = arrives || proves;
    struct tp_tick_reply reply = play_until_settled(&play, NULL, settles ? 30000 : 100);
    if (arrives)
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d on a graph that is safe", (int)reply.status);
    else if (settles)
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE,
                 "status %d, and no end is told", (int)reply.status);
    play_close(&play);
    space_fini(&space);
}

START_TEST(sessions_of_every_row_live_on_changing_graphs)
{
    struct tp_test_rng rng = tp_test_rng("sessions");
    unsigned long long seed = tp_test_seed();
    int rounds = tp_test_long() ? 400 : 15;
    for (size_t i = 0; tp_algorithm_at(i); i++)
        for (int round = 0; round < rounds; round++)
            live(&rng, tp_algorithm_at(i), seed, round);
}
END_TEST

static Suite *graph_changes_suite(void)
{
    Suite *suite = suite_create("graph_changes");
    TCase *tests = tcase_create("graph_changes");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, versions_follow_the_model);
    tcase_add_test(tests, untouched_pages_are_shared);
    tcase_add_test(tests, bad_batches_change_nothing);
    tcase_add_test(tests, case_b_through_the_library);
    tcase_add_test(tests, rules_ask_what_changed);
    tcase_add_test(tests, sessions_of_every_row_live_on_changing_graphs);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_graph_changes", graph_changes_suite);
}
