/* Smoothing (search/smooth.c): while a guided agent walks a path that reaches its goal, what is left of the path is a way that can be walked,
 * and on a map that stays it gets no dearer from tick to tick; with enough left over it becomes about the shortest. Every tick is
 * watched (tests/lib/play.h), its budget among it. */
#include "search/internal.h"
#include "tests/lib/distances.h"
#include "tests/lib/play.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 96 };

struct walk {
    struct play play;
    struct tp_map *map;
    struct tp_test_rng rng;
    uint32_t cells[SIDE * SIDE];
    uint64_t least; /* the shortest way's cost at the start */
};

/* A guided session on a map with a way. */
static void walk_open(struct walk *walk, const struct tp_budget *budget, uint32_t percent, bool weighted, uint64_t number)
{
    uint64_t *costs = malloc((size_t)SIDE * SIDE * sizeof *costs);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("guided");
    params.w_milli = TP_W_UNSET;
    params.budget = *budget;
    for (;;) {
        walk->map = weighted ? tp_test_map_random_weighted(&walk->rng, SIDE, SIDE, percent, 9) : tp_test_map_random(&walk->rng, SIDE, SIDE, percent);
        params.start = tp_test_below(&walk->rng, SIDE * SIDE);
        params.goal = tp_test_below(&walk->rng, SIDE * SIDE);
        play_open(&walk->play, &params, walk->map);
        const struct ref_problem *plain = &walk->play.plain;
        if (plain->weight[params.start] && plain->weight[params.goal]) {
            ref_costs_to(plain, params.goal, costs);
            walk->least = costs[params.start];
            if (walk->least != UINT64_MAX)
                break;
        }
        play_close(&walk->play);
        tp_map_unref(walk->map);
    }
    free(costs);
    snprintf(walk->play.label, sizeof walk->play.label, "case %llu, budget %d of %llu, weighted %d (TICKPATH_SEED=%llu)",
             (unsigned long long)number, (int)budget->kind, (unsigned long long)budget->expansions, weighted,
             (unsigned long long)tp_test_seed());
}

static void walk_close(struct walk *walk)
{
    play_close(&walk->play);
    tp_map_unref(walk->map);
}

/* What is left of a path that reaches the goal; UINT64_MAX where it can't be walked, or leads elsewhere. */
static uint64_t left(struct walk *walk)
{
    uint32_t count = tp_session_path(walk->play.session, walk->cells, SIDE * SIDE);
    if (walk->cells[count - 1] != walk->play.goal)
        return UINT64_MAX;
    return count > 1 ? ref_walk_cost(&walk->play.plain, walk->cells, count) : 0;
}

/* Walks to the goal on a map that stays; returns how often the path got shorter on the way. */
static uint64_t walk_all(struct walk *walk)
{
    struct play *play = &walk->play;
    uint64_t whole = UINT64_MAX, shortened = 0;
    for (;;) {
        struct tp_tick_reply reply = play_tick(play, NULL);
        if (reply.status == TP_STATUS_ARRIVED)
            return shortened;
        PLAY_SAY(play, play->ticks < 100000, "still under way");
        if (reply.flags & TP_FLAG_RESTARTED)
            whole = UINT64_MAX; /* by a better way */
        if (!(reply.flags & TP_FLAG_PATH_COMPLETE))
            continue;
        uint64_t rest = left(walk), now = play->cost + rest;
        PLAY_SAY(play, rest != UINT64_MAX, "the path can't be walked");
        PLAY_SAY(play, now <= whole, "the path got dearer: %llu after %llu", (unsigned long long)now, (unsigned long long)whole);
        shortened += whole != UINT64_MAX && now < whole;
        whole = now;
    }
}

static const struct tp_budget *budget_of(uint64_t number, struct tp_budget *budget)
{
    static const uint64_t amounts[] = {2, 8, 32, 128};
    uint64_t amount = amounts[number / 2 % 4];
    *budget = number % 2 ? tp_budget_r(amount, 900, 10) : tp_budget_k(amount);
    return budget;
}

START_TEST(a_path_only_gets_shorter)
{
    static struct walk walk;
    walk.rng = tp_test_rng("a_path_only_gets_shorter");
    uint64_t shortened = 0, cases = tp_test_steps(64, 2000);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_budget budget;
        walk_open(&walk, budget_of(i, &budget), tp_test_below(&walk.rng, 40), tp_test_percent(&walk.rng, 30), i);
        shortened += walk_all(&walk);
        walk_close(&walk);
    }
    ck_assert_uint_gt(shortened, cases / 2);
}
END_TEST

START_TEST(with_much_left_over_it_is_about_the_shortest)
{
    static struct walk walk;
    walk.rng = tp_test_rng("with_much_left_over");
    uint64_t walked = 0, least = 0, cases = tp_test_steps(32, 400);
    struct tp_budget budget = tp_budget_k(256);
    for (uint64_t i = 0; i < cases; i++) {
        walk_open(&walk, &budget, 30, false, i);
        walk_all(&walk);
        walked += walk.play.cost;
        least += walk.least;
        walk_close(&walk);
    }
    ck_assert_uint_ge(walked, least);
    ck_assert_msg(walked * 100 <= least * 104, "%llu walked, %llu at the least", (unsigned long long)walked, (unsigned long long)least);
}
END_TEST

/* Cells near the agent's path close and open again: its next step is legal all the same (the play sees to it), and it arrives once they stay. */
START_TEST(a_map_may_change_under_it)
{
    static struct walk walk;
    walk.rng = tp_test_rng("a_map_may_change_under_it");
    uint64_t cases = tp_test_steps(32, 1000);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_budget budget;
        walk_open(&walk, budget_of(i, &budget), 20, tp_test_percent(&walk.rng, 30), i);
        struct play *play = &walk.play;
        uint32_t shut = UINT32_MAX, every = tp_test_between(&walk.rng, 1, 9);
        struct tp_tick_reply reply = {0};
        while (reply.status != TP_STATUS_ARRIVED && play->ticks < 3000) {
            reply = play_tick(play, NULL);
            if (play->ticks % every || play->ticks > 300)
                continue;
            if (shut != UINT32_MAX)
                play_set(play, shut % SIDE, shut / SIDE, '.');
            shut = UINT32_MAX;
            uint32_t count = tp_session_path(play->session, walk.cells, SIDE * SIDE);
            uint32_t cell = walk.cells[tp_test_below(&walk.rng, count)];
            if (cell == play->cell || cell == play->goal || tp_test_percent(&walk.rng, 30))
                continue;
            shut = cell;
            play_set(play, cell % SIDE, cell / SIDE, '@');
        }
        PLAY_SAY(play, reply.status == TP_STATUS_ARRIVED || !play_reachable(play), "not there after %llu ticks",
                 (unsigned long long)play->ticks);
        walk_close(&walk);
    }
}
END_TEST

static Suite *smooth_suite(void)
{
    Suite *suite = suite_create("smooth");
    TCase *tests = tcase_create("smooth");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, a_path_only_gets_shorter);
    tcase_add_test(tests, with_much_left_over_it_is_about_the_shortest);
    tcase_add_test(tests, a_map_may_change_under_it);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_smooth", smooth_suite);
}
