/* RTBA* and TBAA* sent from the start again and again, each time with what they have seen and learned, come to walk a cheapest
 * path of the true map (2012, Theorem 2 and Algorithm 4).
 *
 * The bound on trials: a search is given up on the way only for a cell that was seen blocked since it began, so that at most
 * as many trials as the map has blocked cells give one up. The first trial that gives none up ends with a finished search
 * whose root is the start; that search is kept for the next trial, which walks its path: a cheapest one. So trial number
 * (blocked cells + 2) is the last one that need be other than the optimum's. */
#include "tests/lib/play.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {"rtba", "tbaa"};

/* A random map, its params and optimal cost: start and goal differ and are joined. */
static struct tp_map *trial_map(struct tp_test_rng *rng, struct tp_session_params *params, uint64_t *optimum)
{
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    static const enum tp_corners corners[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE, TP_CORNERS_ALWAYS};
    for (;;) {
        struct tp_map *map = tp_test_map_random(rng, tp_test_between(rng, 3, 24), tp_test_between(rng, 3, 24),
                                                tp_test_between(rng, 5, 45));
        tp_session_params_init(params);
        params->neighbours = neighbours[tp_test_below(rng, 3)];
        params->corners = corners[tp_test_below(rng, 3)];
        params->start = tp_test_below(rng, map->width * map->height);
        params->goal = tp_test_below(rng, map->width * map->height);
        params->knowledge = TP_KNOWLEDGE_FREESPACE;
        params->budget = tp_test_percent(rng, 70) ? tp_budget_k(tp_test_between(rng, 1, 40))
                                                  : tp_budget_r(tp_test_between(rng, 5, 60), 900, 10);
        struct ref_problem problem = play_problem(map, params);
        struct ref_run run = {.outcome = REF_UNREACHABLE};
        if (problem.weight[params->start] && params->start != params->goal) {
            problem.algorithm = REF_ASTAR;
            problem.k = UINT64_MAX;
            ref_run_play(&run, &problem);
            *optimum = run.cost;
            ref_run_fini(&run);
        }
        free((void *)problem.weight);
        if (run.outcome == REF_ARRIVED)
            return map;
        tp_map_unref(map);
    }
}

/* The same map with half of its blocked cells taken for free. */
static struct tp_map *map_half_known(struct tp_test_rng *rng, const struct tp_map *map)
{
    struct tp_map *known = (struct tp_map *)tp_map_ref(map);
    for (uint32_t y = 0; y < map->height; y++)
        for (uint32_t x = 0; x < map->width; x++)
            if (!tp_map_passable(map, x, y) && tp_test_percent(rng, 50))
                tp_test_set(&known, x, y, '.');
    return known;
}

START_TEST(repeated_trials_converge)
{
    struct tp_test_rng rng = tp_test_rng(names[_i]);
    uint64_t rounds = tp_test_steps(60, 3000), most = 0, several = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        struct tp_session_params params;
        uint64_t optimum;
        struct tp_map *map = trial_map(&rng, &params, &optimum), *known = NULL;
        params.algorithm = tp_algorithm_find(names[_i]);
        if (tp_test_percent(&rng, 40)) {
            known = map_half_known(&rng, map);
            params.knowledge = TP_KNOWLEDGE_MAP;
            params.known = known;
        }
        uint64_t blocked = (uint64_t)map->width * map->height - map->passable_cells;
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label,
                 "round %llu of %s, %ux%u, n %d, start %u, goal %u, TICKPATH_SEED=%llu",
                 (unsigned long long)i, names[_i], map->width, map->height, (int)params.neighbours,
                 params.start, params.goal, (unsigned long long)tp_test_seed());
        uint64_t trials = 0, cost = 0, restarts;
        do { /* until a trial began no search at all: it walked the path of the one kept */
            uint64_t before = play.cost;
            if (trials)
                play_at(&play, params.start);
            restarts = trials ? play.stats.restarts : UINT64_MAX;
            struct tp_tick_reply reply = play_until_settled(&play, NULL, 200000);
            if (reply.status != TP_STATUS_ARRIVED)
                ck_abort_msg("%s: status %d in trial %llu", play.label, (int)reply.status,
                             (unsigned long long)trials + 1);
            cost = play.cost - before;
            trials++;
            if (cost < optimum || trials > blocked + 2)
                ck_abort_msg("%s: trial %llu of at most %llu cost %llu, the optimum is %llu", play.label,
                             (unsigned long long)trials, (unsigned long long)blocked + 2,
                             (unsigned long long)cost, (unsigned long long)optimum);
        } while (play.stats.restarts != restarts);
        for (int again = 0; again < 2; again++) {
            if (cost != optimum)
                ck_abort_msg("%s: converged to %llu after %llu trials, the optimum is %llu", play.label,
                             (unsigned long long)cost, (unsigned long long)trials,
                             (unsigned long long)optimum);
            uint64_t before = play.cost, expansions = play.expansions;
            play_at(&play, params.start);
            play_until_settled(&play, NULL, 200000);
            cost = play.cost - before;
            ck_assert_uint_eq(play.expansions, expansions);
        }
        most = trials > most ? trials : most;
        several += trials > 2;
        play_close(&play);
        tp_map_unref(map);
        if (known)
            tp_map_unref(known);
    }
    printf("%s: at most %llu trials, %llu of %llu maps took more than two\n", names[_i],
           (unsigned long long)most, (unsigned long long)several, (unsigned long long)rounds);
    ck_assert_uint_gt(several, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("convergence");
    TCase *tcase = tcase_create("convergence");
    tcase_add_loop_test(tcase, repeated_trials_converge, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_convergence", suite);
}
