/* The work and the memory of one tick are bounded by its budget whatever the map and the history: the cases that
 * random lives seldom meet. */
#include "tests/lib/play.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tp_algorithm *row;

static size_t row_count(void)
{
    size_t count = 0;
    while (tp_algorithm_at(count))
        count++;
    return count;
}

/* A serpent: one long lane, folded, so that the path is nearly as long as the map has cells. */
static struct tp_map *serpent(uint32_t side)
{
    char *cells = malloc((size_t)side * side);
    ck_assert_ptr_nonnull(cells);
    memset(cells, '.', (size_t)side * side);
    for (uint32_t y = 1; y < side; y += 2) {
        memset(cells + (size_t)y * side, '@', side);
        cells[(size_t)y * side + (y / 2 % 2 ? 0 : side - 1)] = '.';
    }
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, side, side, (const uint8_t *)cells, &profile, 1), 0);
    free(cells);
    return map;
}

/* With the goal found and no expansion left to make, a deadline must still stop the tracing. */
START_TEST(a_deadline_bounds_tracing)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row = tp_algorithm_at((size_t)_i);
    struct tp_map *map = serpent(101);
    params.start = 0;
    params.goal = 101 * 101 - 1;
    struct play play;
    play_open(&play, &params, map);
    struct play_clock clock;
    uint64_t ticks = 0;
    struct tp_tick_reply reply;
    do {
        clock.looks = 1 + ticks % 3;
        struct tp_budget budget = play_deadline(&clock);
        reply = play_tick(&play, &budget);
        ck_assert_uint_le(reply.work.expansions, 4 * TP_DEADLINE_STRIDE);
        ck_assert_uint_le(reply.work.traced, 4 * TP_DEADLINE_STEPS);
    } while (reply.status != TP_STATUS_ARRIVED && ++ticks < 2000000);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* Under R nothing comes on top of the purse: where the map changes and the goal moves all the time a tick looks at what changed,
 * renews entries of the open list, traces, and expands; the play sums it all up. */
START_TEST(a_purse_holds_whatever_moves)
{
    enum { SIDE = 120, MARGIN = 20, CHANGES = 40, TICKS = 180 };
    row = tp_algorithm_at((size_t)_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t lives = tp_test_steps(5, 60);
    for (uint64_t i = 0; i < lives; i++) {
        struct tp_map *map = tp_test_map_random(&rng, SIDE, SIDE, 15);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.start = 5 * SIDE + 5;
        params.goal = (SIDE - 10) * SIDE + SIDE - 10;
        params.budget = tp_budget_r(tp_test_between(&rng, 10, 70), tp_test_between(&rng, 100, 950),
                                    tp_test_between(&rng, 1, 20));
        params.shortcut = row->capabilities & TP_CAN_ENHANCE_2009 && i % 2;
        if (row->capabilities & TP_CAN_CHOOSE_GOAL && i % 3 == 2)
            params.goal_policy = TP_GOAL_NEAREST;
        if (row->capabilities & TP_CAN_RESTART_BY_RULE)
            params.restart = (enum tp_restart)(TP_RESTART_DEFAULT + i % (TP_RESTART_ON_RISE + 1));
        struct play play = {.label = ""};
        play_open(&play, &params, map);
        tp_map_unref(map);
        snprintf(play.label, sizeof play.label, "life %llu of %s, r %u, restart %d (TICKPATH_SEED=%llu)",
                 (unsigned long long)i, row->name, params.budget.r_milli, (int)params.restart,
                 (unsigned long long)tp_test_seed());
        for (int tick = 0; tick < TICKS; tick++) {
            struct tp_change changes[CHANGES] = {{0}};
            for (int change = 0; change < CHANGES; change++)
                changes[change] = (struct tp_change){.kind = TP_CHANGE_CELL,
                                                     .x = tp_test_below(&rng, SIDE),
                                                     .y = tp_test_below(&rng, SIDE),
                                                     .class_to = tp_test_percent(&rng, 50) ? '@' : '.'};
            if (tick % 2 == 0)
                play_apply(&play, changes, CHANGES);
            if (tick % 3 == 0)
                play_retarget(&play, tp_test_between(&rng, SIDE - MARGIN, SIDE - 1) * SIDE +
                                         tp_test_between(&rng, SIDE - MARGIN, SIDE - 1));
            play_tick(&play, NULL);
        }
        play_close(&play);
    }
}
END_TEST

/* ---- batches that touch half of the map ---- */

/* A free grid, or a lattice of roads like it, beside which half of the map changes. */
struct half {
    struct tp_map *map;
    struct plain_graph graph; /* of a graph */
    uint32_t side;
    size_t edges; /* likewise */
};

static void half_open(struct half *half, bool is_graph)
{
    enum { SIDE = 128, NODE_SIDE = 64 };
    *half = (struct half){.side = is_graph ? NODE_SIDE : SIDE};
    if (!is_graph) {
        half->map = tp_test_map_free(SIDE, SIDE);
        return;
    }
    static struct tp_graph_edge edges[4 * NODE_SIDE * NODE_SIDE];
    for (uint32_t node = 0; node < NODE_SIDE * NODE_SIDE; node++) {
        uint32_t besides[] = {node % NODE_SIDE ? node - 1 : UINT32_MAX,
                              node % NODE_SIDE < NODE_SIDE - 1 ? node + 1 : UINT32_MAX, node - NODE_SIDE,
                              node + NODE_SIDE};
        for (int i = 0; i < 4; i++)
            if (besides[i] < NODE_SIDE * NODE_SIDE)
                edges[half->edges++] = (struct tp_graph_edge){node, besides[i], 10};
    }
    half->map = tp_test_map_graph(NODE_SIDE * NODE_SIDE, edges, half->edges, NULL, NULL);
    plain_graph_init(&half->graph, NODE_SIDE * NODE_SIDE, edges, half->edges);
}

static void half_close(struct half *half)
{
    if (half->edges)
        plain_graph_fini(&half->graph);
    tp_map_unref(half->map);
}

/* The lower half is closed and opened, or gets dearer and cheaper. */
static void half_change(struct half *half, struct play *play, bool there)
{
    if (!half->edges) {
        struct tp_change half_map = {.kind = TP_CHANGE_RECT,
                                     .class_to = there ? '@' : '.',
                                     .y = half->side / 2,
                                     .width = half->side,
                                     .height = half->side / 2};
        play_apply(play, &half_map, 1);
        return;
    }
    size_t first = half->edges / 2, count = half->edges - first;
    struct tp_change *changes = calloc(count, sizeof *changes);
    ck_assert_ptr_nonnull(changes);
    for (size_t i = 0; i < count; i++) {
        changes[i] =
            (struct tp_change){.kind = TP_CHANGE_EDGE, .x = (uint32_t)(first + i), .y = there ? 12 : 10};
        plain_graph_set_edge(&half->graph, changes[i].x, changes[i].y);
    }
    play_apply(play, changes, count);
    free(changes);
}

/* Whatever kind of budget, a tick after such a batch does as much as one without: what it looks at stays within what its
 * expansions allow. Beside them stand, under k, the steps along the path and those that trace it. */
START_TEST(half_the_map_costs_no_more_than_the_budget)
{
    enum { KINDS = 3, TICKS = 12, AT_LEAST = 64 };
    row = tp_algorithm_at((size_t)_i / 2);
    struct half half;
    half_open(&half, _i % 2);
    for (int kind = 0; kind < KINDS; kind++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.goal = half.side - 1;
        struct play play;
        play_open_graph(&play, &params, half.map, half.edges ? &half.graph : NULL, NULL);
        struct tp_budget enough = tp_budget_k(2000);
        play_tick(&play, &enough);
        uint64_t worst = 0;
        for (int tick = 0; tick < TICKS; tick++) {
            if (tick % 3 ==
                0) /* again while the last is being looked at, and when there was time for some of it */
                half_change(&half, &play, tick % 2 == 0);
            struct play_clock clock = {3};
            struct tp_budget budget = kind == 0   ? tp_budget_k(1)
                                      : kind == 1 ? tp_budget_r(5, 500, 4)
                                                  : play_deadline(&clock);
            struct tp_tick_work work = play_tick(&play, &budget).work;
            bool shortens = row->capabilities & TP_CAN_BE_GUIDED; /* such a path is gone along, and traced anew */
            uint64_t paths = (shortens ? 4ull : 2ull) * half.side, steps = work.traced;
            uint64_t most = kind == 0   ? paths + AT_LEAST + 8
                            : kind == 1 ? 5 * 4 - (work.expansions + work.learned) * 4
                                        : 4 * TP_DEADLINE_STEPS;
            ck_assert_msg(steps <= most, "%s on a %s, budget %d: %llu steps, at most %llu", row->name,
                          half.edges ? "graph" : "grid", kind, (unsigned long long)steps,
                          (unsigned long long)most);
            worst = steps > worst ? steps : worst;
        }
        if (kind == 0 && row == tp_algorithm_find("dstarlite"))
            ck_assert_uint_le(worst, 8); /* it traces nothing */
        half_change(&half, &play, false);
        play_close(&play);
    }
    half_close(&half);
}
END_TEST

/* A cap on expansions must end the first tick's longest-path rule, however large N_E. */
START_TEST(the_longest_path_rule_stops_at_a_cap)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("tba");
    params.longest_path_rule = true;
    struct tp_map *map = tp_test_map_free(300, 300);
    params.goal = 300 * 300 - 1;
    struct play play;
    play_open(&play, &params, map);
    struct tp_budget budget = tp_budget_r(TP_BUDGET_MAX, 900, 10);
    budget.expansions_max = 1;
    ck_assert_uint_eq(play_tick(&play, &budget).work.expansions, 1);
    play_close(&play);
    params.node_bytes_max = 16 * 1024;
    play_open(&play, &params, map);
    budget.expansions_max = UINT64_MAX;
    ck_assert(play_tick(&play, &budget).flags & TP_FLAG_NODE_CAP);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* A session that cannot even have its root did not restart anything. */
START_TEST(no_memory_is_no_restart)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row = tp_algorithm_at((size_t)_i);
    params.node_bytes_max = 64;
    struct tp_map *map = tp_test_map_free(20, 20);
    params.goal = 399;
    struct play play;
    play_open(&play, &params, map);
    for (int i = 0; i < 5; i++) {
        struct tp_tick_reply reply = play_tick(&play, NULL);
        ck_assert_int_eq(reply.status, TP_STATUS_SEARCHING);
        ck_assert(reply.flags & TP_FLAG_NODE_CAP);
        ck_assert(!(reply.flags & TP_FLAG_RESTARTED));
    }
    ck_assert_uint_eq(play.stats.restarts, 0);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* An eager session that stood at its goal while the map changed begins anew when it is sent on. */
START_TEST(eager_remembers_a_change_met_at_the_goal)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row = tp_algorithm_at((size_t)_i);
    params.restart = TP_RESTART_EAGER;
    params.budget = tp_budget_k(50);
    struct tp_map *map = tp_test_map_free(20, 20);
    params.goal = 3;
    struct play play;
    play_open(&play, &params, map);
    ck_assert_int_eq(play_until_settled(&play, NULL, 100).status, TP_STATUS_ARRIVED);
    play_set(&play, 10, 10, '@');
    ck_assert_int_eq(play_tick(&play, NULL).status, TP_STATUS_ARRIVED);
    play_retarget(&play, 6);
    ck_assert(play_tick(&play, NULL).flags & TP_FLAG_RESTARTED);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* A map one cell wide or high costs memory like its cells, not like 64 times as many. */
START_TEST(narrow_maps_are_small)
{
    enum { LENGTH = 1 << 20 };
    uint8_t *cells = malloc(LENGTH);
    ck_assert_ptr_nonnull(cells);
    memset(cells, '.', LENGTH);
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    for (int upright = 0; upright < 2; upright++) {
        struct tp_map *map;
        ck_assert_int_eq(tp_map_build(&map, upright ? 1 : LENGTH, upright ? LENGTH : 1, cells, &profile, 1),
                         0);
        ck_assert_uint_le(tp_map_bytes(map), 12ull * LENGTH);
        ck_assert(tp_map_passable(map, upright ? 0 : LENGTH - 1, upright ? LENGTH - 1 : 0));
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.goal = LENGTH - 1;
        params.budget = tp_budget_k(1);
        struct play play;
        play_open(&play, &params, map);
        for (int i = 0; i < 10; i++)
            play_tick(&play, NULL);
        ck_assert_uint_le(play.stats.bytes, LENGTH / 32);
        play_close(&play);
        tp_map_unref(map);
    }
    free(cells);
}
END_TEST

/* The cells that a batch names are counted, not its changes. */
START_TEST(a_batch_of_large_rectangles_is_refused)
{
    struct tp_map *map = tp_test_map_free(1000, 1000), *changed;
    enum { COUNT = TP_BATCH_CELLS_MAX / 1000000 + 1 };
    struct tp_change *changes = calloc(COUNT, sizeof *changes);
    ck_assert_ptr_nonnull(changes);
    for (int i = 0; i < COUNT; i++)
        changes[i] =
            (struct tp_change){.kind = TP_CHANGE_RECT, .class_to = '@', .width = 1000, .height = 1000};
    size_t bad;
    uint32_t bad_x, bad_y;
    ck_assert_int_eq(tp_map_apply(&changed, map, changes, COUNT, &bad, &bad_x, &bad_y),
                     TP_ERR_RESOURCE_EXHAUSTED);
    ck_assert_ptr_null(changed);
    ck_assert_uint_eq(bad, COUNT - 1);
    free(changes);
    tp_map_unref(map);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("bounds");
    TCase *tcase = tcase_create("bounds");
    tcase_set_timeout(tcase, 60);
    int rows = (int)row_count();
    tcase_add_loop_test(tcase, a_deadline_bounds_tracing, 0, rows);
    tcase_add_loop_test(tcase, a_purse_holds_whatever_moves, 0, rows);
    tcase_add_loop_test(tcase, half_the_map_costs_no_more_than_the_budget, 0, 2 * rows);
    tcase_add_test(tcase, the_longest_path_rule_stops_at_a_cap);
    tcase_add_loop_test(tcase, no_memory_is_no_restart, 0, rows);
    tcase_add_loop_test(tcase, eager_remembers_a_change_met_at_the_goal, 0, rows);
    tcase_add_test(tcase, narrow_maps_are_small);
    tcase_add_test(tcase, a_batch_of_large_rectangles_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_bounds", suite);
}
