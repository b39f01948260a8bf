/* A goal that moves or is blocked for a while: the search under a deadline goes on all the same, and no reply speaks of a path
 * into a blocked goal. */
#include "search/internal.h"
#include "tests/lib/play.h"

/* A deadline counts time alone: renewing the open list after the goal moved leaves the rest of the tick to expansions. */
START_TEST(a_moved_goal_leaves_a_deadline_its_expansions)
{
    enum { SIDE = 300, OPEN_AT_LEAST = 300 };
    struct tp_map *map = tp_test_map_free(SIDE, SIDE);
    tp_test_set_rect(&map, 200, 1, 1, SIDE - 1, '@');
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("tbwa");
    params.start = 150 * SIDE + 20;
    params.goal = 150 * SIDE + 280;
    params.budget = tp_budget_k(10000);
    struct play play = {.label = "a goal moves under a deadline"};
    play_open(&play, &params, map);
    tp_map_unref(map);
    play_tick(&play, NULL);
    ck_assert_uint_gt(play.session->search.open.count, OPEN_AT_LEAST);
    play_retarget(&play, 150 * SIDE + 285);
    struct play_clock clock = {.looks = 1000000};
    struct tp_budget forever = play_deadline(&clock);
    struct tp_tick_reply reply = play_tick(&play, &forever);
    PLAY_SAY(&play, reply.flags & TP_FLAG_PATH_COMPLETE, "%llu expansions after %llu renewed entries",
             (unsigned long long)reply.work.expansions, (unsigned long long)reply.work.rekeyed);
    ck_assert_uint_ge(1000000 - clock.looks, reply.work.rekeyed / TP_DEADLINE_STRIDE);
    play_close(&play);
}
END_TEST

START_TEST(a_blocked_goal_has_no_path)
{
    enum { SIDE = 12 };
    static const char *const rows[] = {"tba", "rtbwa", "astar", "tbrwa"};
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(rows[_i]);
    params.start = 0;
    params.goal = SIDE * SIDE - 1;
    params.budget = tp_budget_k(10000);
    struct tp_map *map = tp_test_map_free(SIDE, SIDE);
    struct play play = {.label = "a goal is blocked for a while"};
    play_open(&play, &params, map);
    tp_map_unref(map);
    struct tp_tick_reply reply = play_tick(&play, NULL);
    ck_assert(reply.flags & TP_FLAG_PATH_COMPLETE);
    play_set(&play, SIDE - 1, SIDE - 1, '@');
    reply = play_tick(&play, NULL);
    ck_assert_int_eq(reply.status, TP_STATUS_UNREACHABLE);
    ck_assert(!(reply.flags & TP_FLAG_PATH_COMPLETE));
    uint32_t cells[SIDE * SIDE];
    ck_assert_uint_eq(tp_session_path(play.session, cells, SIDE * SIDE), 1);
    ck_assert_uint_eq(cells[0], play.cell);
    play_set(&play, SIDE - 1, SIDE - 1, '.');
    ck_assert_int_eq(play_until_settled(&play, NULL, 100).status, TP_STATUS_ARRIVED);
    play_close(&play);
}
END_TEST

static Suite *goal_moves_suite(void)
{
    Suite *suite = suite_create("goal moves");
    TCase *tcase = tcase_create("goals");
    tcase_add_test(tcase, a_moved_goal_leaves_a_deadline_its_expansions);
    tcase_add_loop_test(tcase, a_blocked_goal_has_no_path, 0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_goal_moves", goal_moves_suite);
}
