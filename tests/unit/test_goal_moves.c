/* A goal that moves or is blocked for a while: the search under a deadline goes on all the same, and no reply speaks of a path
 * into a blocked goal. */
#include "tests/lib/mind.h"
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
    params.open_list = TP_OPEN_LIST_EXACT; /* whose entries are counted */
    params.start = 150 * SIDE + 20;
    params.goal = 150 * SIDE + 280;
    params.budget = tp_budget_k(10000);
    struct play play = {.label = "a goal moves under a deadline"};
    play_open(&play, &params, map);
    tp_map_unref(map);
    play_tick(&play, NULL);
    ck_assert_uint_gt(mind_of(play.session)->search.open.count, OPEN_AT_LEAST);
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

/* A corridor is closed under the tree and proved so; then the agent is put on the wall itself, which it may leave. */
START_TEST(an_agent_put_on_a_wall_leaves_it)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    for (uint32_t ticks = 1; ticks <= 4; ticks++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.start = 7;
        params.goal = 0;
        params.budget = row->capabilities & TP_CAN_SPLIT_R ? tp_budget_r(4, 500, 2) : tp_budget_k(1);
        struct tp_map *map = tp_test_map_free(11, 1);
        struct play play = {.label = ""};
        snprintf(play.label, sizeof play.label, "%s, closed after %u ticks", row->name, ticks);
        play_open(&play, &params, map);
        tp_map_unref(map);
        for (uint32_t i = 0; i < ticks; i++)
            play_tick(&play, NULL);
        play_set(&play, 3, 0, '@');
        for (uint32_t i = 0; i < 60 && play.cell > 3; i++)
            if (play_tick(&play, NULL).status == TP_STATUS_UNREACHABLE)
                break;
        play_at(&play, 3);
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 400);
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
        play_close(&play);
    }
}
END_TEST

/* With an h of 0 nothing says how far a goal moved: it is taken up at once. */
START_TEST(a_goal_that_moves_far_turns_an_agent_without_h)
{
    enum { SIDE = 40 };
    static const char *const rows[] = {"dstarlite", "astar", "tbwa"};
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(rows[_i]);
    params.heuristic = TP_HEURISTIC_ZERO;
    params.start = 10 * SIDE + 10;
    params.goal = 10 * SIDE + SIDE - 1;
    params.budget = tp_budget_k(4000);
    struct tp_map *map = tp_test_map_free(SIDE, SIDE);
    struct play play = {.label = "a goal moves far, h is 0"};
    play_open(&play, &params, map);
    tp_map_unref(map);
    for (int i = 0; i < 5; i++)
        play_tick(&play, NULL);
    uint32_t x = play.cell % SIDE;
    play_retarget(&play, 10 * SIDE);
    ck_assert_int_eq(play_until_settled(&play, NULL, 200).status, TP_STATUS_ARRIVED);
    PLAY_SAY(&play, play.stats.moves <= 5 + x + 2, "%llu moves", (unsigned long long)play.stats.moves);
    play_close(&play);
}
END_TEST

static Suite *goal_moves_suite(void)
{
    Suite *suite = suite_create("goal moves");
    TCase *tcase = tcase_create("goals");
    tcase_add_test(tcase, a_moved_goal_leaves_a_deadline_its_expansions);
    tcase_add_loop_test(tcase, a_blocked_goal_has_no_path, 0, 4);
    int rows = 0;
    while (tp_algorithm_at((size_t)rows))
        rows++;
    tcase_add_loop_test(tcase, an_agent_put_on_a_wall_leaves_it, 0, rows);
    tcase_add_loop_test(tcase, a_goal_that_moves_far_turns_an_agent_without_h, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_goal_moves", goal_moves_suite);
}
