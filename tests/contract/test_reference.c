/* The library plays every problem move by move as the plain reference does (tests/lib/reference.h): random
 * small maps, plain and weighted, every neighbourhood and corner rule, random w, k and R. */
#include "tests/lib/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum ref_algorithm algorithm;
} known[] = {{"astar", REF_ASTAR}, {"tba", REF_TBA}, {"tbwa", REF_TBWA}, {"tbgbfs", REF_TBGBFS}};

enum { KNOWN = sizeof known / sizeof *known };

static const enum tp_neighbours neighbour_counts[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
static const enum tp_corners corner_rules[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE, TP_CORNERS_ALWAYS};

/* A random map; `weighted` ones use four terrain kinds of random weights. */
static struct tp_map *random_map(struct tp_test_rng *rng, bool weighted)
{
    uint32_t width = tp_test_between(rng, 1, 28), height = tp_test_between(rng, 1, 28);
    if (tp_test_percent(rng, 4)) { /* several tiles */
        width = tp_test_between(rng, 1, 200);
        height = tp_test_between(rng, 1, 140);
    }
    static const uint32_t percents[] = {0, 8, 20, 33, 42};
    uint32_t percent = percents[tp_test_below(rng, 5)];
    if (!weighted)
        return tp_test_map_random(rng, width, height, percent);
    static const uint32_t tops[] = {3, 12, 300, 65535};
    return tp_test_map_random_weighted(rng, width, height, percent, tops[tp_test_below(rng, 4)]);
}

static uint32_t random_free_cell(struct tp_test_rng *rng, const struct ref_problem *problem)
{
    uint32_t cells = problem->width * problem->height, cell = tp_test_below(rng, cells);
    for (uint32_t i = 0; i < cells && !problem->weight[cell]; i++)
        cell = (cell + 1) % cells;
    return cell;
}

/* Ticks the session as the run went; what they do must be the same. */
static void compare(struct play *play, const struct ref_run *run)
{
    if (run->tick_count == 0) { /* the start is the goal */
        struct tp_tick_reply reply = play_tick(play, NULL);
        ck_assert_msg(reply.status == TP_STATUS_ARRIVED, "%s: status %d on the goal", play->label,
                      (int)reply.status);
        return;
    }
    for (size_t i = 0; i < run->tick_count; i++) {
        const struct ref_tick *want = &run->ticks[i];
        struct tp_tick_reply reply = play_tick(play, NULL);
        ck_assert_msg(reply.to == want->cell && reply.work.expansions == want->expansions,
                      "%s\n  tick %zu: on %u after %llu expansions; the reference: %u after %llu",
                      play->label, i + 1, reply.to, (unsigned long long)reply.work.expansions, want->cell,
                      (unsigned long long)want->expansions);
        ck_assert_msg(!(reply.flags & TP_FLAG_BACK_MOVE) == !want->back, "%s\n  tick %zu: BACK_MOVE is wrong",
                      play->label, i + 1);
        bool last = i + 1 == run->tick_count;
        ck_assert_msg((reply.status == TP_STATUS_ARRIVED) == (last && run->outcome == REF_ARRIVED),
                      "%s\n  tick %zu: status %d", play->label, i + 1, (int)reply.status);
        ck_assert_msg((reply.status == TP_STATUS_UNREACHABLE) == (last && run->outcome == REF_UNREACHABLE),
                      "%s\n  tick %zu: status %d", play->label, i + 1, (int)reply.status);
    }
    const struct tp_session_stats *s = &play->stats;
    ck_assert_msg(s->moves == run->moves && s->back_moves == run->back_moves && s->cost == run->cost &&
                      s->expansions == run->expansions && s->expansions_max == run->expansions_max,
                  "%s: the measures differ", play->label);
    ck_assert_msg(s->restarts == 0, "%s: %llu restarts on a map that stands still", play->label,
                  (unsigned long long)s->restarts);
}

static void one_case(struct tp_test_rng *rng, uint64_t number, int row, bool by_R)
{
    struct tp_map *map = random_map(rng, tp_test_percent(rng, 30));
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(known[row].name);
    params.open_list = TP_OPEN_LIST_EXACT; /* the papers' order */
    ck_assert_ptr_nonnull(params.algorithm);
    params.neighbours = neighbour_counts[tp_test_below(rng, 3)];
    params.corners = corner_rules[tp_test_below(rng, 3)];
    static const uint32_t weights[] = {1000, 1001, 1400, 1800, 2600, 3000, 5000, 100000, 1000000, 1000000000};
    params.w_milli = params.algorithm->capabilities & TP_CAN_TAKE_W ? weights[tp_test_below(rng, 10)] : 1000;

    struct ref_problem problem = play_problem(map, &params);
    problem.algorithm = known[row].algorithm;
    problem.start = params.start = random_free_cell(rng, &problem);
    problem.goal = params.goal = random_free_cell(rng, &problem);
    problem.ticks_max = 4000;
    if (!problem.weight[params.start]) { /* nothing is free */
        free((void *)problem.weight);
        tp_map_unref(map);
        return;
    }
    if (by_R) {
        static const uint32_t shares[] = {100, 500, 600, 900, 950};
        do {
            problem.R = tp_test_between(rng, 2, tp_test_percent(rng, 70) ? 30 : 400);
            problem.r_milli = shares[tp_test_below(rng, 5)];
            problem.c = tp_test_between(rng, 1, 12);
        } while (problem.R * problem.r_milli < 1000);
        params.path_switch = problem.path_switch = tp_test_percent(rng, 25);
        params.longest_path_rule = problem.longest_path_rule = tp_test_percent(rng, 25);
        params.budget = tp_budget_r(problem.R, problem.r_milli, problem.c);
    } else {
        static const uint64_t lookaheads[] = {1, 2, 3, 7, 16, 64, 300, TP_BUDGET_UNLIMITED};
        problem.k = lookaheads[tp_test_below(rng, 8)];
        params.budget = tp_budget_k(problem.k);
    }

    struct play play;
    play_open(&play, &params, map);
    snprintf(play.label, sizeof play.label,
             "case %llu: %s %ux%u, %u to %u, n %d, corners %d, w %u/1000, k %llu, R %llu, r %u/1000, c %u, "
             "switch %d, "
             "longest %d (TICKPATH_SEED=%llu)",
             (unsigned long long)number, known[row].name, map->width, map->height, params.start, params.goal,
             (int)params.neighbours, (int)params.corners, params.w_milli, (unsigned long long)problem.k,
             (unsigned long long)problem.R, problem.r_milli, problem.c, problem.path_switch,
             problem.longest_path_rule, (unsigned long long)tp_test_seed());
    struct ref_run run;
    ref_run_play(&run, &problem);
    compare(&play, &run);
    ref_run_fini(&run);
    play_close(&play);
    free((void *)problem.weight);
    tp_map_unref(map);
}

START_TEST(moves_as_the_reference_under_k)
{
    struct tp_test_rng rng = tp_test_rng(known[_i].name);
    uint64_t cases = tp_test_steps(300, 6000);
    for (uint64_t i = 0; i < cases; i++)
        one_case(&rng, i, _i, false);
}
END_TEST

START_TEST(tba_moves_as_the_reference_under_R)
{
    struct tp_test_rng rng = tp_test_rng("tba under R");
    uint64_t cases = tp_test_steps(500, 10000);
    for (uint64_t i = 0; i < cases; i++)
        one_case(&rng, i, 1, true);
}
END_TEST

/* A corridor that winds: paths of hundreds of moves, so that traces span many ticks. */
START_TEST(tba_traces_over_several_ticks)
{
    struct tp_test_rng rng = tp_test_rng("winding");
    uint64_t cases = tp_test_steps(12, 200);
    for (uint64_t i = 0; i < cases; i++) {
        uint32_t width = tp_test_between(&rng, 10, 40), height = 2 * tp_test_between(&rng, 3, 12) + 1;
        struct tp_map *map = tp_test_map_free(width, height);
        for (uint32_t y = 1; y < height;
             y += 2) { /* walls with one gap, left and right in turn, some broken */
            tp_test_set_rect(&map, y % 4 == 1 ? 0 : 1, y, width - 1, 1, '@');
            if (tp_test_percent(&rng, 20))
                tp_test_set(&map, tp_test_below(&rng, width), y, '.');
        }
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("tba");
        params.open_list = TP_OPEN_LIST_EXACT; /* the papers' order */
        params.start = 0;
        params.goal = width * height - 1 - tp_test_below(&rng, width);
        struct ref_problem problem = play_problem(map, &params);
        problem.algorithm = REF_TBA;
        problem.R = tp_test_between(&rng, 2, 20);
        problem.r_milli = 500;
        problem.c = tp_test_between(&rng, 1, 4);
        problem.ticks_max = 200000;
        params.budget = tp_budget_r(problem.R, problem.r_milli, problem.c);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "case %llu: winding %ux%u, R %llu, c %u (TICKPATH_SEED=%llu)",
                 (unsigned long long)i, width, height, (unsigned long long)problem.R, problem.c,
                 (unsigned long long)tp_test_seed());
        struct ref_run run;
        ref_run_play(&run, &problem);
        ck_assert_int_eq(run.outcome, REF_ARRIVED);
        compare(&play, &run);
        ref_run_fini(&run);
        play_close(&play);
        free((void *)problem.weight);
        tp_map_unref(map);
    }
}
END_TEST

/* The reference itself, held to what can be counted by hand. */
START_TEST(the_reference_walks_a_straight_line)
{
    struct tp_map *map = tp_test_map_free(10, 10);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.goal = 7;
    struct ref_problem problem = play_problem(map, &params);
    problem.algorithm = REF_TBWA;
    problem.w_milli = 1000;
    problem.k = 1;
    struct ref_run run;
    ref_run_play(&run, &problem);
    ck_assert_int_eq(run.outcome, REF_ARRIVED);
    ck_assert_uint_eq(run.tick_count, 7);
    ck_assert_uint_eq(run.cost, 7 * TP_COST_UNIT);
    ck_assert_uint_eq(ref_distance(&problem, 0, 99), 9 * TP_COST_DIAGONAL);
    ref_run_fini(&run);
    free((void *)problem.weight);
    tp_map_unref(map);
}
END_TEST

static Suite *reference_suite(void)
{
    Suite *suite = suite_create("reference");
    TCase *tcase = tcase_create("move by move");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
    tcase_add_test(tcase, the_reference_walks_a_straight_line);
    tcase_add_loop_test(tcase, moves_as_the_reference_under_k, 0, KNOWN);
    tcase_add_test(tcase, tba_moves_as_the_reference_under_R);
    tcase_add_test(tcase, tba_traces_over_several_ticks);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_reference", reference_suite);
}
