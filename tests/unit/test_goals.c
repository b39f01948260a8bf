/* Goal sets and goal policies: the small cases of tests/lib/cases.h, in process, and random maps against a plain flood and
 * Dijkstra's algorithm. Every tick is watched (tests/lib/play.h). */
#include "tests/lib/cases.h"
#include "tests/lib/distances.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(play, condition) ck_assert_msg(condition, "%s: tick %llu, cell %u: %s", (play)->label, \
                                              (unsigned long long)(play)->ticks, (play)->cell, #condition)

#define TEST(name)                                                                                            \
    START_TEST(goals_##name)                                                                                  \
    {                                                                                                         \
        case_play_choosing(case_##name, NULL);                                                                \
    }                                                                                                         \
    END_TEST
GOAL_CASES(TEST)

/* ---- random maps ---- */

static uint32_t random_cell(struct tp_test_rng *rng, const struct tp_map *map, bool passable)
{
    return passable ? tp_test_free_cell(rng, map) : tp_test_below(rng, map->width * map->height);
}

/* The least (h, g, cell) of what can be reached, and the least cost to where the policy is met. */
static void brute_force(const struct play *play, uint32_t *nearest, uint64_t *cost)
{
    uint32_t cells = play->map->width * play->map->height;
    uint64_t *g = malloc(cells * sizeof *g);
    ck_assert_ptr_nonnull(g);
    ref_costs_to(&play->plain, play->params.start, g); /* the same from there: moves go both ways */
    *nearest = UINT32_MAX;
    *cost = UINT64_MAX;
    for (uint32_t cell = 0; cell < cells; cell++) {
        if (g[cell] == UINT64_MAX || !play->plain.weight[cell])
            continue;
        if (play->ends[cell] && g[cell] < *cost)
            *cost = g[cell];
        uint64_t h = play_h(play, cell), h_nearest = *nearest == UINT32_MAX ? UINT64_MAX : play_h(play, *nearest);
        if (h < h_nearest || (h == h_nearest && g[cell] < g[*nearest]))
            *nearest = cell;
    }
    free(g);
}

START_TEST(random_maps_against_brute_force)
{
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    struct tp_test_rng rng = tp_test_rng("goals");
    uint64_t cases = tp_test_steps(400, 8000), partial = 0, met = 0;
    for (uint64_t i = 0; i < cases; i++) {
        uint32_t width = tp_test_between(&rng, 2, 30), height = tp_test_between(&rng, 2, 30), percent = tp_test_between(&rng, 10, 55);
        struct tp_map *map = tp_test_percent(&rng, 50) ? tp_test_map_random(&rng, width, height, percent)
                                                       : tp_test_map_random_weighted(&rng, width, height, percent, 9);
        if (!map->passable_cells) {
            tp_map_unref(map);
            continue;
        }
        struct tp_session_params params;
        tp_session_params_init(&params);
        uint32_t more[TP_GOALS_MAX];
        params.neighbours = neighbours[tp_test_below(&rng, 3)];
        params.corners = (enum tp_corners)tp_test_below(&rng, 3);
        params.start = random_cell(&rng, map, true);
        params.goal = random_cell(&rng, map, false);
        params.more_goals = more;
        params.more_goal_count = tp_test_percent(&rng, 40) ? 0 : tp_test_below(&rng, TP_GOALS_MAX);
        for (uint32_t j = 0; j < params.more_goal_count; j++)
            more[j] = random_cell(&rng, map, false);
        params.goal_policy = (enum tp_goal_policy)tp_test_below(&rng, 3);
        if (params.goal_policy == TP_GOAL_WITHIN)
            params.goal_radius = tp_test_below(&rng, 6 * TP_COST_UNIT);
        for (size_t row = 0; tp_algorithm_at(row); row++) {
            params.algorithm = tp_algorithm_at(row);
            if (!(params.algorithm->capabilities & TP_CAN_CHOOSE_GOAL))
                continue;
            bool best = strcmp(params.algorithm->name, "astar") == 0;
            params.budget = best ? tp_budget_k(TP_BUDGET_UNLIMITED) : tp_budget_k(tp_test_between(&rng, 1, 200));
            struct play play;
            play_open(&play, &params, map);
            snprintf(play.label, sizeof play.label,
                     "case %llu: %s on %ux%u, n %d, corners %d, policy %d of %u, radius %llu, start %u, goal %u, k %llu; TICKPATH_SEED=%llu",
                     (unsigned long long)i, params.algorithm->name, width, height, (int)params.neighbours, (int)params.corners,
                     (int)params.goal_policy, play.goal_count, (unsigned long long)params.goal_radius, params.start, params.goal,
                     (unsigned long long)params.budget.expansions, (unsigned long long)tp_test_seed());
            uint32_t nearest;
            uint64_t cost;
            brute_force(&play, &nearest, &cost);
            struct tp_tick_reply reply = play_until_settled(&play, NULL, 12ull * width * height + 100);
            if (cost != UINT64_MAX) {
                EXPECT(&play, reply.status == TP_STATUS_ARRIVED && !(reply.flags & TP_FLAG_PARTIAL));
                EXPECT(&play, !best || play.cost == cost);
                met++;
            } else if (params.goal_policy == TP_GOAL_NEAREST) {
                EXPECT(&play, reply.status == TP_STATUS_ARRIVED && reply.flags & TP_FLAG_PARTIAL);
                EXPECT(&play, play_h(&play, play.cell) == play_h(&play, nearest));
                EXPECT(&play, !best || play.cell == nearest);
                partial++;
            } else {
                EXPECT(&play, reply.status == TP_STATUS_UNREACHABLE);
            }
            play_close(&play);
        }
        tp_map_unref(map);
    }
    ck_assert_uint_gt(partial, 0);
    ck_assert_uint_gt(met, 0);
}
END_TEST

/* The set as a call takes it. */
START_TEST(goal_sets_are_checked)
{
    struct tp_map *map = tp_test_map_free(6, 6);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.goal = 35;
    uint32_t goals[TP_GOALS_MAX + 1] = {1, 2, 36};
    struct play play;
    play_open(&play, &params, map);
    ck_assert_int_eq(tp_session_retarget_set(play.session, goals, 0), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_retarget_set(play.session, goals, TP_GOALS_MAX + 1), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_retarget_set(play.session, goals, 3), TP_ERR_OUT_OF_RANGE);
    ck_assert_uint_eq(tp_session_goal(play.session), 35);
    play_tick(&play, NULL);
    play_retarget_set(&play, goals, 2); /* from one goal, in a search of narrow nodes, to two */
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 100);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    play_retarget_set(&play, goals, 1); /* and back to one */
    reply = play_until_settled(&play, NULL, 100);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    ck_assert_uint_eq(play.cell, 1);
    play_close(&play);
    params.algorithm = tp_algorithm_find("lrta");
    play_open(&play, &params, map);
    ck_assert_int_eq(tp_session_retarget_set(play.session, goals, 2), TP_ERR_UNSUPPORTED);
    play_retarget_set(&play, goals, 1);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

static Suite *goals_suite(void)
{
    Suite *suite = suite_create("goals");
    TCase *tcase = tcase_create("small cases");
#define ADD(name) tcase_add_test(tcase, goals_##name);
    GOAL_CASES(ADD)
    tcase_add_test(tcase, goal_sets_are_checked);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("random");
    tcase_add_test(tcase, random_maps_against_brute_force);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_goals", goals_suite);
}
