/* Every heuristic that a space has: 0 at the goal, consistent along every move, and for FREESPACE exact where nothing is in
 * the way. Asked of the search itself, through the space's table. */
#include "search/search.h"
#include "search/session.h"
#include "tests/lib/maps.h"

#include <stdio.h>

static const enum tp_neighbours neighbour_counts[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};

struct probe {
    struct tp_pool pool;
    struct tp_belief belief;
    uint64_t bytes;
    struct tp_search search;
};

static void probe_init(struct probe *probe, const struct tp_domain *domain, const struct tp_map *map,
                       enum tp_heuristic heuristic, enum tp_corners corners)
{
    *probe = (struct probe){0};
    tp_pool_init(&probe->pool, NULL);
    tp_belief_init(&probe->belief, map, true, NULL, &probe->pool, &probe->bytes, UINT64_MAX);
    tp_search_init(&probe->search, domain, &probe->belief, NULL, heuristic, corners, 1, 1, false,
                   &probe->pool, UINT32_MAX, &probe->bytes, UINT64_MAX);
}

static void probe_fini(struct probe *probe)
{
    tp_search_fini(&probe->search);
    tp_belief_fini(&probe->belief);
    ck_assert_uint_eq(probe->bytes, 0);
    tp_pool_fini(&probe->pool);
}

/* Consistency of h to a goal along all moves out of a state. */
static void check_state(const struct probe *probe, tp_state state, tp_state goal, const char *what)
{
    const struct tp_domain *domain = probe->search.domain;
    struct tp_successor out[TP_MOVES_MAX];
    uint32_t count = domain->successors(&probe->search, state, out);
    tp_cost h = domain->h(&probe->search, state, goal);
    ck_assert_uint_eq(domain->h(&probe->search, goal, goal), 0);
    for (uint32_t i = 0; i < count; i++) {
        tp_cost next = domain->h(&probe->search, out[i].state, goal);
        ck_assert_msg(h <= out[i].cost + next,
                      "%s: h %llu at %u, %llu at %u, a move of %llu (TICKPATH_SEED=%llu)", what,
                      (unsigned long long)h, state, (unsigned long long)next, out[i].state,
                      (unsigned long long)out[i].cost, (unsigned long long)tp_test_seed());
    }
}

START_TEST(consistent_on_grids)
{
    struct tp_test_rng rng = tp_test_rng("heuristics on grids");
    uint64_t cases = tp_test_steps(40, 1000);
    for (uint64_t i = 0; i < cases; i++) {
        uint32_t width = tp_test_between(&rng, 1, 300), height = tp_test_between(&rng, 1, 300);
        struct tp_map *map = tp_test_map_random(&rng, width, height, tp_test_between(&rng, 0, 30));
        for (size_t n = 0; n < 3; n++)
            for (int heuristic = TP_HEURISTIC_DEFAULT; heuristic <= TP_HEURISTIC_ZERO; heuristic++) {
                const struct tp_domain *domain = tp_domain_grid(neighbour_counts[n]);
                if (heuristic != TP_HEURISTIC_DEFAULT && !domain->has(map, (enum tp_heuristic)heuristic))
                    continue;
                struct probe probe;
                probe_init(&probe, domain, map, (enum tp_heuristic)heuristic,
                           (enum tp_corners)tp_test_below(&rng, 3));
                char what[64];
                snprintf(what, sizeof what, "%s, heuristic %d", domain->name, heuristic);
                for (int pair = 0; pair < 40; pair++)
                    check_state(&probe, domain->at_cell(&probe.search, tp_test_below(&rng, width * height)),
                                domain->at_cell(&probe.search, tp_test_below(&rng, width * height)), what);
                probe_fini(&probe);
            }
        tp_map_unref(map);
    }
}
END_TEST

/* Which heuristics a neighbourhood has, and that the rest is refused at open with the field named. */
START_TEST(each_neighbourhood_has_its_own)
{
    static const bool has[3][TP_HEURISTIC_ZERO + 1] = {
        /* default octile manhattan euclid freespace maximum zero */
        {true, true, true, true, true, false, true},
        {true, true, false, true, true, false, true},
        {true, false, false, true, true, false, true},
    };
    struct tp_map *map = tp_test_map_free(5, 5);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    for (size_t n = 0; n < 3; n++)
        for (int heuristic = 0; heuristic <= TP_HEURISTIC_ZERO + 1; heuristic++) {
            struct tp_session_params params;
            tp_session_params_init(&params);
            params.goal = 24;
            params.neighbours = neighbour_counts[n];
            params.heuristic = (enum tp_heuristic)heuristic;
            struct tp_session *session;
            struct tp_refusal refusal;
            int error = tp_session_open(&session, &params, map, &pool, &refusal);
            bool served = heuristic <= TP_HEURISTIC_ZERO && has[n][heuristic];
            ck_assert_int_eq(error, served                          ? TP_OK
                                    : heuristic > TP_HEURISTIC_ZERO ? TP_ERR_INVALID_ARGUMENT
                                                                    : TP_ERR_UNSUPPORTED);
            if (!served)
                ck_assert_str_eq(refusal.field, "heuristic");
            tp_session_close(session);
        }
    tp_pool_fini(&pool);
    tp_map_unref(map);
}
END_TEST

/* A walk's cost by A*, to its end. */
static tp_cost walk(const struct tp_session_params *params, const struct tp_map *map)
{
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_session *session;
    struct tp_refusal refusal;
    ck_assert_int_eq(tp_session_open(&session, params, map, &pool, &refusal), TP_OK);
    struct tp_tick_reply reply;
    do
        tp_session_tick(session, map, NULL, &reply);
    while (reply.status == TP_STATUS_MOVING);
    tp_cost cost = reply.status == TP_STATUS_ARRIVED ? reply.cost : TP_COST_INFINITE;
    tp_session_close(session);
    tp_pool_fini(&pool);
    return cost;
}

/* On a map without obstacles FREESPACE is the cost of the optimal walk; on others every heuristic finds the same optimum. */
START_TEST(exact_where_free_and_optimal_elsewhere)
{
    struct tp_test_rng rng = tp_test_rng("heuristics and optima");
    uint64_t cases = tp_test_steps(30, 600);
    for (uint64_t i = 0; i < cases; i++) {
        uint32_t width = tp_test_between(&rng, 1, 40), height = tp_test_between(&rng, 1, 40);
        struct tp_map *free_map = tp_test_map_free(width, height);
        struct tp_map *map = tp_test_map_random(&rng, width, height, tp_test_between(&rng, 5, 35));
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("astar");
        params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
        params.start = tp_test_below(&rng, width * height);
        params.goal = tp_test_below(&rng, width * height);
        for (size_t n = 0; n < 3; n++) {
            const struct tp_domain *domain = tp_domain_grid(neighbour_counts[n]);
            params.neighbours = neighbour_counts[n];
            params.heuristic = TP_HEURISTIC_ZERO;
            tp_cost optimal_free = walk(&params, free_map), optimal = walk(&params, map);
            struct probe probe;
            probe_init(&probe, domain, free_map, TP_HEURISTIC_FREESPACE, TP_CORNERS_BOTH_FREE);
            tp_cost h = domain->h(&probe.search, domain->at_cell(&probe.search, params.start),
                                  domain->at_cell(&probe.search, params.goal));
            probe_fini(&probe);
            ck_assert_msg(h == optimal_free, "%s: FREESPACE %llu, the walk %llu (TICKPATH_SEED=%llu)",
                          domain->name, (unsigned long long)h, (unsigned long long)optimal_free,
                          (unsigned long long)tp_test_seed());
            for (int heuristic = TP_HEURISTIC_DEFAULT; heuristic < TP_HEURISTIC_ZERO; heuristic++) {
                if (heuristic != TP_HEURISTIC_DEFAULT && !domain->has(map, (enum tp_heuristic)heuristic))
                    continue;
                params.heuristic = (enum tp_heuristic)heuristic;
                tp_cost cost = walk(&params, map);
                ck_assert_msg(cost == optimal, "%s, heuristic %d: %llu, not %llu (TICKPATH_SEED=%llu)",
                              domain->name, heuristic, (unsigned long long)cost, (unsigned long long)optimal,
                              (unsigned long long)tp_test_seed());
            }
        }
        tp_map_unref(map);
        tp_map_unref(free_map);
    }
}
END_TEST

static Suite *heuristics_suite(void)
{
    Suite *suite = suite_create("heuristics");
    TCase *tcase = tcase_create("heuristics");
    tcase_add_test(tcase, consistent_on_grids);
    tcase_add_test(tcase, each_neighbourhood_has_its_own);
    tcase_add_test(tcase, exact_where_free_and_optimal_elsewhere);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_heuristics", heuristics_suite);
}
