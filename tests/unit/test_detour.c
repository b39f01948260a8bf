/* What a guided agent does about changes of its map near ahead and far away (search/watch.c, detour.c, rest.c): it goes round what closed on its path
 * without a new search, waits before it as long as that takes, and searches anew where there is no way round; it looks at so many steps a tick,
 * however long its path is; it rests on through versions that do not touch its path; and it arrives once changes stop. Every
 * tick is watched (tests/lib/play.h), its budget among it.
 *
 * TICKPATH_SEED repeats a run. */
#include "tests/lib/mind.h"
#include "tests/lib/play.h"

#include <stdlib.h>

enum { LONG = 1300, LOW = 24, SIDE = 96 };

static struct tp_session_params guided(const struct tp_map *map, uint32_t start, uint32_t goal, uint64_t k)
{
    struct tp_session_params params;
    (void)map;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("guided");
    params.w_milli = TP_W_UNSET;
    params.start = start;
    params.goal = goal;
    params.budget = tp_budget_k(k);
    return params;
}

/* Ticks until the path followed is whole. */
static void until_whole(struct play *play)
{
    for (int i = 0; i < 5000; i++)
        if (play_tick(play, NULL).flags & TP_FLAG_PATH_COMPLETE)
            return;
    ck_abort_msg("%s: no path", play->label);
}

/* The cell so many steps ahead. */
static uint32_t ahead(const struct play *play, uint32_t steps)
{
    static uint32_t cells[LONG * LOW];
    uint32_t count = tp_session_path(play->session, cells, LONG * LOW);
    ck_assert_uint_gt(count, steps);
    return cells[steps];
}

static void close_cell(struct play *play, uint32_t cell)
{
    play_set(play, cell % play->map->width, cell / play->map->width, '@');
}

/* ---- Detours ---- */

struct outcome {
    uint64_t repaired, restarted, blocked;
};

static struct outcome walk_on(struct play *play)
{
    struct outcome outcome = {0};
    for (int i = 0; i < 20000; i++) {
        struct tp_tick_reply reply = play_tick(play, NULL);
        outcome.repaired += (reply.flags & TP_FLAG_REPAIRED) != 0;
        outcome.restarted += (reply.flags & TP_FLAG_RESTARTED) != 0;
        outcome.blocked += reply.status == TP_STATUS_BLOCKED;
        if (reply.status == TP_STATUS_ARRIVED)
            return outcome;
    }
    ck_abort_msg("%s: never arrived", play->label);
}

START_TEST(goes_round_what_closed_near_ahead)
{
    static const uint32_t steps_ahead[] = {1, 2, 5, 12, 20};
    bool rests = _i % 2;
    struct tp_map *map = tp_test_map_free(SIDE, SIDE);
    struct tp_session_params params = guided(map, 10 * SIDE + 4, 70 * SIDE + 90, 4);
    struct play play;
    play_open(&play, &params, map);
    snprintf(play.label, sizeof play.label, "%u steps ahead, %s", steps_ahead[_i / 2], rests ? "at rest" : "with its tree");
    if (!rests)
        mind_kept(play.session);
    until_whole(&play);
    for (int i = 0; i < 40; i++)
        play_tick(&play, NULL);
    ck_assert_int_eq(play.session->mind == NULL, rests);
    close_cell(&play, ahead(&play, steps_ahead[_i / 2]));
    struct outcome outcome = walk_on(&play);
    PLAY_SAY(&play, outcome.repaired == 1 && outcome.restarted == 0, "%llu repairs, %llu restarts", (unsigned long long)outcome.repaired,
             (unsigned long long)outcome.restarted);
    PLAY_SAY(&play, steps_ahead[_i / 2] < 12 || outcome.blocked == 0, "%llu ticks blocked", (unsigned long long)outcome.blocked);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* A wall with a gap, and another so many cells farther down. */
static struct tp_map *gaps(uint32_t apart)
{
    struct tp_map *map = tp_test_map_free(SIDE, SIDE);
    tp_test_set_rect(&map, SIDE / 2, 0, 1, SIDE, '@');
    tp_test_set_rect(&map, SIDE / 2, 4, 1, 1, '.');
    tp_test_set_rect(&map, SIDE / 2, 4 + apart, 1, 1, '.');
    return map;
}

START_TEST(waits_before_what_closed_and_searches_anew_where_no_way_leads_round)
{
    uint32_t apart = _i ? 80 : 6;
    struct tp_map *map = gaps(apart);
    struct tp_session_params params = guided(map, 4 * SIDE + 4, 4 * SIDE + 90, 4);
    params.guide_units = 10000;
    struct play play;
    play_open(&play, &params, map);
    snprintf(play.label, sizeof play.label, "another gap %u cells off", apart);
    mind_kept(play.session);
    until_whole(&play);
    while (play.cell % SIDE < SIDE / 2 - 4)
        play_tick(&play, NULL);
    struct tp_budget budget = play.params.budget;
    budget.caps_guide = true; /* nobody tells it of the other gap before it has tried */
    close_cell(&play, 4 * SIDE + SIDE / 2);
    uint64_t blocked = 0;
    struct tp_tick_reply reply;
    do {
        reply = play_tick(&play, &budget);
        blocked += reply.status == TP_STATUS_BLOCKED;
    } while (!(reply.flags & (TP_FLAG_REPAIRED | TP_FLAG_RESTARTED)));
    PLAY_SAY(&play, blocked > 0, "it did not wait");
    PLAY_SAY(&play, ((reply.flags & TP_FLAG_RESTARTED) != 0) == (apart == 80), "flags %x", reply.flags);
    walk_on(&play);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* A hall whose far end, with the goal in it, no way leads to: once the search knows, the agent walks to the nearest state, whatever closed
 * on its path just before. */
START_TEST(goes_to_the_nearest_state_though_a_detour_was_under_way)
{
    enum { LENGTH = 220, ROWS = 2, AHEAD = 30 };
    struct tp_map *map = tp_test_map_free(LENGTH, ROWS);
    tp_test_set_rect(&map, LENGTH - 3, 0, 1, ROWS, '@');
    struct tp_session_params params = guided(map, LENGTH, LENGTH + LENGTH - 1, 5);
    params.goal_policy = TP_GOAL_NEAREST;
    uint64_t repaired = 0;
    for (int before = 40; before < 90; before++) {
        static uint32_t cells[LENGTH * ROWS];
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "closed after %d ticks", before);
        for (int i = 0; i < before; i++)
            play_tick(&play, NULL);
        uint32_t count = tp_session_path(play.session, cells, LENGTH * ROWS);
        if (count > AHEAD + 4)
            close_cell(&play, cells[AHEAD]);
        struct outcome outcome = walk_on(&play);
        repaired += outcome.repaired;
        play_close(&play);
    }
    ck_assert_uint_gt(repaired, 0);
    tp_map_unref(map);
}
END_TEST

/* ---- What a tick looks at, and rest ---- */

/* A long hall over another that no way joins to it. */
static struct tp_map *halls(void)
{
    struct tp_map *map = tp_test_map_free(LONG, LOW);
    tp_test_set_rect(&map, 0, LOW / 2, LONG, 1, '@');
    return map;
}

/* Closes and opens cells of the lower hall: so many, or one of the upper hall's far end as well. */
static void change_far_away(struct play *play, struct tp_test_rng *rng, bool above)
{
    enum { CELLS = 20 };
    struct tp_change changes[CELLS + 1];
    for (int i = 0; i <= CELLS; i++) {
        bool is_above = i == CELLS;
        uint32_t x = is_above ? LONG - 20 : tp_test_below(rng, LONG), y = is_above ? tp_test_below(rng, 5) : LOW / 2 + 1 + tp_test_below(rng, LOW / 2 - 1);
        changes[i] = (struct tp_change){.x = x, .y = y, .class_to = (uint8_t)(tp_test_percent(rng, 50) ? '@' : '.')};
    }
    play_apply(play, changes, above ? CELLS + 1 : CELLS);
}

START_TEST(looks_at_so_many_steps_a_tick_however_long_the_path_is)
{
    enum { LOOKS = 400 }; /* near ahead, or far; the path packed, its search put back; a detour laid out */
    struct tp_test_rng rng = tp_test_rng("looks");
    struct tp_map *map = halls();
    struct tp_session_params params = guided(map, 6 * LONG + 2, 6 * LONG + LONG - 3, 500);
    struct play play;
    play_open(&play, &params, map);
    snprintf(play.label, sizeof play.label, "TICKPATH_SEED=%llu", (unsigned long long)tp_test_seed());
    until_whole(&play);
    ck_assert_uint_ge(ahead(&play, LONG * 3 / 4), 1);
    for (int i = 0; i < 60; i++) { /* it is still smoothed, and packed */
        change_far_away(&play, &rng, true);
        play_tick(&play, NULL);
    }
    for (int i = 0; i < 500; i++) {
        change_far_away(&play, &rng, true);
        struct tp_tick_reply reply = play_tick(&play, NULL);
        PLAY_SAY(&play, reply.work.traced <= LOOKS, "%llu steps", (unsigned long long)reply.work.traced);
    }
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

START_TEST(rests_through_a_thousand_versions_that_leave_its_path_alone)
{
    bool scarce = _i == 0;
    struct tp_test_rng rng = tp_test_rng("rests");
    struct tp_map *map = halls();
    struct tp_session_params params = guided(map, 6 * LONG + 2, 6 * LONG + LONG - 3, 500);
    struct play play;
    play_open(&play, &params, map);
    snprintf(play.label, sizeof play.label, "units scarce %d (TICKPATH_SEED=%llu)", scarce, (unsigned long long)tp_test_seed());
    struct tp_budget budget = play.params.budget;
    budget.caps_guide = scarce;
    until_whole(&play);
    for (int i = 0; i < 200 && play.session->mind; i++)
        play_tick(&play, NULL);
    ck_assert_ptr_null(play.session->mind);
    uint64_t wakes = 0, awake = 0, ticks = 0;
    for (bool was_awake = false; ticks < 1000; ticks++) {
        change_far_away(&play, &rng, false);
        struct tp_tick_reply reply = play_tick(&play, &budget);
        PLAY_SAY(&play, reply.status == TP_STATUS_MOVING && reply.flags & TP_FLAG_PATH_COMPLETE, "status %d", (int)reply.status);
        bool is_awake = play.session->mind != NULL;
        wakes += is_awake && !was_awake;
        awake += is_awake;
        was_awake = is_awake;
        PLAY_SAY(&play, !scarce || play.stats.bytes <= LONG, "%llu bytes", (unsigned long long)play.stats.bytes);
    }
    printf("units scarce %d: woken %llu times in %llu ticks, awake for %llu\n", scarce, (unsigned long long)wakes, (unsigned long long)ticks,
           (unsigned long long)awake);
    ck_assert_uint_le(wakes, scarce ? 0 : 1000 / 48 + 1);
    ck_assert_uint_le(awake, scarce ? 0 : 500);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* ---- Arriving ---- */

START_TEST(arrives_once_changes_stop)
{
    struct tp_test_rng rng = tp_test_rng("arrives");
    for (int i = 0; i < (int)tp_test_steps(6, 200); i++) {
        struct tp_map *map = tp_test_map_random(&rng, SIDE, SIDE, 20);
        struct tp_session_params params = guided(map, tp_test_below(&rng, SIDE * SIDE), tp_test_below(&rng, SIDE * SIDE), tp_test_between(&rng, 1, 16));
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "map %d (TICKPATH_SEED=%llu)", i, (unsigned long long)tp_test_seed());
        for (int tick = 0; tick < 120; tick++) {
            for (int cells = 0; cells < 10; cells++)
                play_set(&play, tp_test_below(&rng, SIDE), tp_test_below(&rng, SIDE), tp_test_percent(&rng, 30) ? '@' : '.');
            play_tick(&play, NULL);
        }
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 20000); /* UNREACHABLE is checked by a flood */
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE, "status %d", (int)reply.status);
        play_close(&play);
        tp_map_unref(map);
    }
}
END_TEST

static bool over(void *context)
{
    (void)context;
    return true;
}

/* A tick for a move alone looks at nothing (search/budget.h), at rest too: the look is made up for. */
START_TEST(a_move_alone_at_rest_is_no_look)
{
    struct tp_map *map = tp_test_map_free(LONG, LOW);
    struct tp_session_params params = guided(map, LONG, 2 * LONG - 1, 40);
    struct play play;
    play_open(&play, &params, map);
    snprintf(play.label, sizeof play.label, "a move alone");
    until_whole(&play);
    for (int i = 0; i < 200 && play.session->mind; i++)
        play_tick(&play, NULL);
    ck_assert_ptr_null(play.session->mind);
    close_cell(&play, ahead(&play, 400));
    struct tp_budget budget = play.params.budget;
    budget.moves_only = budget.is_shared = budget.caps_guide = true;
    budget.expansions_max = 0;
    budget.expired = over;
    for (int i = 0; i < 40; i++) {
        struct tp_tick_reply reply = play_tick(&play, &budget);
        PLAY_SAY(&play, reply.status == TP_STATUS_MOVING && reply.work.traced == 0, "status %d, %u looks", (int)reply.status, (unsigned)reply.work.traced);
    }
    ck_assert_ptr_null(play.session->mind);
    uint64_t looks = 0;
    for (int i = 0; i < 16; i++)
        looks += play_tick(&play, NULL).work.traced;
    ck_assert_uint_gt(looks, 0);
    walk_on(&play);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

static Suite *detour_suite(void)
{
    Suite *suite = suite_create("detour");
    TCase *tests = tcase_create("detour");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, goes_round_what_closed_near_ahead, 0, 10);
    tcase_add_test(tests, a_move_alone_at_rest_is_no_look);
    tcase_add_test(tests, goes_to_the_nearest_state_though_a_detour_was_under_way);
    tcase_add_loop_test(tests, waits_before_what_closed_and_searches_anew_where_no_way_leads_round, 0, 2);
    tcase_add_test(tests, looks_at_so_many_steps_a_tick_however_long_the_path_is);
    tcase_add_loop_test(tests, rests_through_a_thousand_versions_that_leave_its_path_alone, 0, 2);
    tcase_add_test(tests, arrives_once_changes_stop);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_detour", detour_suite);
}
