/* What holds for every row of the registry on every kind of state space while the map and the goal stay: a budget in parts
 * searches as it does at once, the cost is the least where the row promises it, and no more than Theorem 2 allows. */
#include "tests/lib/random_sessions.h"

#include <stdlib.h>

/* The run with the budget unlimited; its expansions are N(w). */
static struct tp_session_stats run_unlimited(const struct tp_session_params *given, const struct space *space)
{
    struct tp_session_params params = *given;
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    struct play play;
    space_open(&play, &params, space, NULL);
    uint64_t states =
        (uint64_t)space->map->width * space->map->height * (space->kind == SPACE_VEHICLE ? 49 : 1);
    PLAY_SAY(&play, play_until_settled(&play, NULL, 4 * states + 10).status == TP_STATUS_ARRIVED,
             "does not arrive");
    struct tp_session_stats stats = play.stats;
    play_close(&play);
    return stats;
}

/* The least cost from start to goal, by another program. */
static uint64_t least_cost(const struct tp_session_params *params, const struct space *space)
{
    if (space->kind == SPACE_GRAPH)
        return plain_graph_cost(&space->graph, params->start, params->goal);
    struct ref_problem problem = play_problem(space->map, params);
    uint64_t cost;
    if (space->kind == SPACE_VEHICLE) {
        struct plain_track track = {problem.width, problem.height, problem.weight, params->goal, NULL};
        struct plain_vehicle from = {params->start, params->start_vx, params->start_vy};
        cost = plain_vehicle_distance(&track, from) * TP_COST_UNIT;
    } else {
        problem.algorithm = REF_ASTAR;
        problem.k = UINT64_MAX;
        struct ref_run run;
        ref_run_play(&run, &problem);
        cost = run.cost;
        ref_run_fini(&run);
    }
    free((void *)problem.weight);
    return cost;
}

/* Whether the agent can always go back the way it came: then nothing forces a search to begin anew. */
static bool leads_back(const struct space *space)
{
    return space->kind == SPACE_GRID || (space->kind == SPACE_GRAPH && plain_graph_reversible(&space->graph));
}

/* Expands `some` states in parts. False where the agent was led astray meanwhile, which only TBR(WA*) answers with a new
 * search. */
static bool expand_in_parts(struct tp_test_rng *rng, struct play *split, const struct space *space,
                            uint64_t some)
{
    bool ones = tp_test_percent(rng, 50);
    for (uint64_t left = some; left > 0;) {
        uint64_t k = ones ? 1 : tp_test_between(rng, 1, left < 20 ? (uint32_t)left : 20);
        struct tp_budget budget = tp_budget_k(k);
        struct tp_tick_reply reply = play_tick(split, &budget);
        if (split->params.open_list == TP_OPEN_LIST_BUCKET && reply.status == TP_STATUS_ARRIVED)
            return false; /* it came by a goal that the search looked beyond */
        if (split->stats.restarts > 0 && !leads_back(space) &&
            split->params.algorithm->learning == TP_LEARNING_DIJKSTRA)
            return false;
        PLAY_SAY(split, reply.work.expansions == k, "%llu expansions of %llu",
                 (unsigned long long)reply.work.expansions, (unsigned long long)k);
        left -= k;
    }
    return true;
}

START_TEST(a_split_budget_gives_the_same_search)
{
    const struct tp_algorithm *row = row_of(_i);
    if (row_walks_to_learn(row))
        return; /* it looks ahead anew for each move */
    if (row->capabilities & TP_CAN_BE_GUIDED)
        return; /* it waits for its guide, and spends what is left over on its path */
    struct tp_test_rng rng = tp_test_rng("split");
    uint64_t cases = tp_test_steps(60, 1500), compared = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct space space;
        struct tp_session_params params = random_joined(&rng, row, &space, kind_of(_i), row_space_size(row));
        uint64_t all = run_unlimited(&params, &space).expansions;
        uint64_t some = tp_test_between(&rng, 1, (uint32_t)(all > 1 ? all - 1 : 1));
        if (all > 1) {
            struct play whole, split;
            params.budget = tp_budget_k(some);
            space_open(&whole, &params, &space, NULL);
            play_tick(&whole, NULL);
            space_open(&split, &params, &space, NULL);
            snprintf(split.label, sizeof split.label,
                     "case %llu of %s on a %s, %llu expansions (TICKPATH_SEED=%llu)", (unsigned long long)i,
                     row->name, space_names[space.kind], (unsigned long long)some,
                     (unsigned long long)tp_test_seed());
            if (expand_in_parts(&rng, &split, &space, some)) {
                PLAY_SAY(&split,
                         whole.stats.expansions == some && split.stats.expansions == some &&
                             whole.stats.search_hash == split.stats.search_hash &&
                             whole.stats.generated == split.stats.generated,
                         "at once and in parts differ");
                compared++;
            }
            play_close(&whole);
            play_close(&split);
        }
        space_fini(&space);
    }
    ck_assert_msg(cases < 20 || compared * 4 > cases, "%llu of %llu cases compared",
                  (unsigned long long)compared, (unsigned long long)cases);
}
END_TEST

START_TEST(optimal_rows_are_optimal)
{
    const struct tp_algorithm *row = row_of(_i);
    if (!row_can(row, TP_CAN_BE_OPTIMAL))
        return;
    struct tp_test_rng rng = tp_test_rng("optimal");
    uint64_t cases = tp_test_steps(100, 2000);
    for (uint64_t i = 0; i < cases; i++) {
        struct space space;
        struct tp_session_params params = random_joined(&rng, row, &space, kind_of(_i), row_space_size(row));
        if (row_can(row, TP_CAN_TAKE_W))
            params.w_milli = 1000;
        uint64_t least = least_cost(&params, &space), cost = run_unlimited(&params, &space).cost;
        ck_assert_msg(cost == least,
                      "case %llu of %s on a %s: cost %llu, optimal is %llu (TICKPATH_SEED=%llu)",
                      (unsigned long long)i, row->name, space_names[space.kind], (unsigned long long)cost,
                      (unsigned long long)least, (unsigned long long)tp_test_seed());
        space_fini(&space);
    }
}
END_TEST

/* The dearest move of a grid. */
static uint64_t dearest_step(const struct ref_problem *problem)
{
    uint64_t dearest = 0;
    int64_t width = problem->width, height = problem->height;
    for (int64_t cell = 0; cell < width * height; cell++) {
        for (int64_t dy = -2; dy <= 2; dy++) {
            for (int64_t dx = -2; dx <= 2; dx++) {
                int64_t x = cell % width + dx, y = cell / width + dy;
                uint64_t cost;
                if (problem->weight[cell] && x >= 0 && y >= 0 && x < width && y < height &&
                    ref_step(problem, (uint32_t)cell, (uint32_t)(y * width + x), &cost) && cost > dearest)
                    dearest = cost;
            }
        }
    }
    return dearest;
}

/* The theorem is about spaces where a move back costs what the move cost: grids, and graphs such as these. */
static bool goes_both_ways(const struct space *space)
{
    if (space->kind != SPACE_GRAPH)
        return space->kind == SPACE_GRID;
    const struct plain_graph *graph = &space->graph;
    for (size_t i = 0; i < graph->count; i++)
        if (plain_graph_step_cost(graph, graph->edges[i].to, graph->edges[i].from) !=
            plain_graph_step_cost(graph, graph->edges[i].from, graph->edges[i].to))
            return false;
    return true;
}

static uint64_t dearest_move(const struct tp_session_params *params, const struct space *space)
{
    uint64_t dearest = 0;
    if (space->kind == SPACE_GRAPH) {
        for (size_t i = 0; i < space->graph.count; i++)
            dearest = space->graph.edges[i].cost > dearest ? space->graph.edges[i].cost : dearest;
        return dearest;
    }
    struct ref_problem problem = play_problem(space->map, params);
    dearest = dearest_step(&problem);
    free((void *)problem.weight);
    return dearest;
}

/* 2014, Theorem 2: the cost is at most floor((N(w) - 1) / k) c+ + 2 w c*. */
START_TEST(theorem_2_bounds_the_cost)
{
    const struct tp_algorithm *row = row_of(_i);
    enum space_kind kind = kind_of(_i);
    if (!row_can(row, TP_CAN_BOUND_COST) || kind == SPACE_VEHICLE)
        return;
    struct tp_test_rng rng = tp_test_rng("theorem 2");
    uint64_t cases = tp_test_steps(100, 2000);
    struct space_size size = row_space_size(row);
    size.cost_max = 1;
    for (uint64_t i = 0; i < cases; i++) {
        struct space space;
        struct tp_session_params params = random_joined(&rng, row, &space, kind, size);
        while (!goes_both_ways(&space)) {
            space_fini(&space);
            params = random_joined(&rng, row, &space, kind, size);
        }
        uint64_t w = 1000;
        if (row_can(row, TP_CAN_TAKE_W))
            w = params.w_milli = 1000 + tp_test_below(&rng, 4000);
        if (w > 1000)
            params.open_list = TP_OPEN_LIST_EXACT; /* the other's excess is measured, not promised */
        uint64_t N = run_unlimited(&params, &space).expansions;
        uint64_t k = tp_test_between(&rng, 1, (uint32_t)(tp_test_percent(&rng, 60) && N > 12 ? 12 : N));
        params.budget = tp_budget_k(k);
        struct play play;
        space_open(&play, &params, &space, NULL);
        play_until_settled(&play, NULL, N + 4ull * space.map->width * space.map->height);
        uint64_t bound =
            (N - 1) / k * dearest_move(&params, &space) * 1000 + 2 * w * least_cost(&params, &space);
        ck_assert_msg(
            play.cell == play.goal && play.cost * 1000 <= bound,
            "case %llu of %s on a %s: w %llu/1000, k %llu, N %llu: cost %llu, the bound is %llu/1000 "
            "(TICKPATH_SEED=%llu)",
            (unsigned long long)i, row->name, space_names[kind], (unsigned long long)w, (unsigned long long)k,
            (unsigned long long)N, (unsigned long long)play.cost, (unsigned long long)bound,
            (unsigned long long)tp_test_seed());
        play_close(&play);
        space_fini(&space);
    }
}
END_TEST

static Suite *static_suite(void)
{
    Suite *suite = suite_create("static");
    TCase *tcase = tcase_create("every row");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
    int pairs = rows_times_kinds();
    tcase_add_loop_test(tcase, a_split_budget_gives_the_same_search, 0, pairs);
    tcase_add_loop_test(tcase, optimal_rows_are_optimal, 0, pairs);
    tcase_add_loop_test(tcase, theorem_2_bounds_the_cost, 0, pairs);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_static", static_suite);
}
