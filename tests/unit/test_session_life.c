/* A session between open and close: arriving, blocked starts and goals, true places, moving goals, changes on
 * the path, empty budgets, the path and the measures. Each tick is watched (tests/lib/play.h). */
#include "tests/lib/random_sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tp_algorithm *row;

static struct tp_session_params params_of(uint32_t start, uint32_t goal, uint64_t k)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.start = start;
    params.goal = goal;
    params.budget = tp_budget_k(k);
    return params;
}

#define ROW_TEST(name)                                                                                       \
    static void name##_body(void);                                                                           \
    START_TEST(name)                                                                                         \
    {                                                                                                        \
        row = tp_algorithm_at((size_t)_i);                                                                   \
        name##_body();                                                                                       \
    }                                                                                                        \
    END_TEST                                                                                                 \
    static void name##_body(void)

ROW_TEST(a_start_on_the_goal_arrives_at_once)
{
    struct tp_map *map = tp_test_map("...\n.@.\n...");
    for (uint32_t cell = 0; cell < 9; cell += 4) { /* the middle one is blocked: arrived is arrived */
        struct tp_session_params params = params_of(cell, cell, 3);
        struct play play;
        play_open(&play, &params, map);
        for (int i = 0; i < 3; i++) {
            struct tp_tick_reply reply = play_tick(&play, NULL);
            ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
            ck_assert_uint_eq(reply.work.expansions, 0);
        }
        ck_assert_uint_eq(play.stats.moves, 0);
        play_close(&play);
    }
    tp_map_unref(map);
}

ROW_TEST(a_session_that_never_ticks_holds_no_search_memory)
{
    struct tp_map *map = tp_test_map_free(200, 200);
    struct tp_session_params params = params_of(0, 39999, 3);
    struct play play;
    play_open(&play, &params, map);
    struct tp_session_stats stats;
    tp_session_stats(play.session, &stats);
    ck_assert_uint_eq(stats.bytes, 0);
    ck_assert_uint_eq(stats.ticks, 0);
    ck_assert_uint_eq(stats.moves, 0);
    play_close(&play);
    tp_map_unref(map);
}

ROW_TEST(an_agent_in_a_blocked_cell_may_leave_it)
{
    struct tp_map *map = tp_test_map("@....\n.....\n.....");
    struct tp_session_params params = params_of(0, 14, 4);
    struct play play;
    play_open(&play, &params, map);
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 60);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    play_close(&play);

    /* caught on its way */
    params.start = 4;
    play_open(&play, &params, map);
    play_tick(&play, NULL);
    play_tick(&play, NULL);
    play_set(&play, play.cell % 5, play.cell / 5, '@');
    reply = play_until_settled(&play, NULL, 60);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    play_close(&play);

    /* and nowhere to leave to */
    tp_map_unref(map);
    map = tp_test_map("@@...\n@@...\n.....");
    params.start = 0;
    play_open(&play, &params, map);
    reply = play_until_settled(&play, NULL, 60);
    if (row->capabilities & TP_CAN_DETECT_UNREACHABLE)
        ck_assert_int_eq(reply.status, TP_STATUS_UNREACHABLE);
    ck_assert(reply.flags & TP_FLAG_START_BLOCKED);
    play_close(&play);
    tp_map_unref(map);
}

/* The way back into the blocked cell is closed; a search that began there must cope. */
ROW_TEST(an_agent_that_left_a_blocked_cell_does_not_step_back_into_it)
{
    /* the blocked start stands between two rooms; the nearer opening leads to a dead end */
    struct tp_map *map = tp_test_map("......@......\n"
                                     "......@......\n"
                                     "......@......\n"
                                     "......@......\n"
                                     "......@......");
    for (uint64_t k = 1; k < 40; k += 3) {
        struct tp_session_params params = params_of(2 * 13 + 6, 12, k);
        struct play play;
        play_open(&play, &params, map);
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 400);
        /* it may have stepped into the wrong room; then no way is left, and that is told */
        ck_assert(reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE ||
                  !(row->capabilities & TP_CAN_DETECT_UNREACHABLE));
        play_close(&play);
    }
    tp_map_unref(map);
}

ROW_TEST(a_block_on_the_path_is_walked_around)
{
    for (uint64_t k = 1; k <= 1000; k *= 10) {
        struct tp_map *map = tp_test_map_free(15, 15);
        struct tp_session_params params = params_of(7 * 15, 7 * 15 + 14, k);
        struct play play;
        play_open(&play, &params, map);
        struct tp_tick_reply reply;
        uint64_t ticks = 0;
        do {
            reply = play_tick(&play, NULL);
            uint32_t x = play.cell % 15, y = play.cell / 15;
            if (ticks % 3 == 2 && x < 13 && y > 0 && play.map->passable_cells > 200) /* a door closes in front of it; one row stays open */
                play_set(&play, x + 1, y, '@');
        } while (reply.status != TP_STATUS_ARRIVED && ++ticks < 2000);
        ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
        play_close(&play);
        tp_map_unref(map);
    }
}

/* The search began on one side of a wall; a block that falls and one that rises turn the answer. */
ROW_TEST(unreachable_is_taken_back_when_a_way_opens)
{
    struct tp_map *map = tp_test_map("..@..\n..@..\n..@..");
    struct tp_session_params params = params_of(0, 14, 2);
    struct play play;
    play_open(&play, &params, map);
    for (int round = 0; round < 4; round++) {
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 100);
        if (row->capabilities & TP_CAN_DETECT_UNREACHABLE)
            ck_assert_int_eq(reply.status, TP_STATUS_UNREACHABLE);
        play_set(&play, 2, 1, '.');
        play_tick(&play, NULL);
        play_set(&play, 2, 1, '@');
        if (play.cell % 5 > 1)
            break;
    }
    play_set(&play, 2, 0, '.');
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 200);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    play_close(&play);
    tp_map_unref(map);
}

ROW_TEST(an_empty_budget_expands_nothing_and_is_no_verdict)
{
    struct tp_map *map = tp_test_map_free(12, 12);
    struct tp_session_params params = params_of(0, 143, 5);
    struct play play;
    play_open(&play, &params, map);
    struct tp_budget nothing = tp_budget_k(5);
    nothing.expansions_max = 0;
    for (int i = 0; i < 6; i++) {
        struct tp_tick_reply reply = play_tick(&play, &nothing);
        ck_assert_uint_eq(reply.work.expansions, 0);
        ck_assert_int_eq(reply.status, TP_STATUS_SEARCHING);
    }
    struct tp_tick_reply reply = play_tick(&play, NULL);
    ck_assert_uint_gt(reply.work.expansions, 0);
    for (int i = 0; i < 30; i++) { /* the plan of before may be walked; it ends somewhere */
        reply = play_tick(&play, &nothing);
        ck_assert_uint_eq(reply.work.expansions, 0);
        ck_assert_int_ne(reply.status, TP_STATUS_UNREACHABLE);
    }
    reply = play_until_settled(&play, NULL, 400);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    play_close(&play);
    tp_map_unref(map);
}

/* Expansions that k allows on free ground with 4 neighbours. */
static uint64_t expansions_of(const struct play *play, uint64_t k)
{
    int width = (int)play->map->width, x0 = (int)play->cell % width, y0 = (int)play->cell / width;
    uint64_t layers = 0, size;
    switch (row->learning) {
    case TP_LEARNING_MINI_MIN: /* those of whole layers */
        for (int depth = 0;; depth++, layers += size) {
            size = 0;
            for (int x = 0; x < width; x++) {
                int dy = depth - abs(x - x0);
                size += (dy >= 0 && y0 + dy < (int)play->map->height) + (dy > 0 && y0 - dy >= 0);
            }
            if (layers + size > k)
                return layers;
        }
    case TP_LEARNING_PRIORITIZED: /* nothing is learned there, and nothing spread */
        return 1;
    default:
        return k;
    }
}

ROW_TEST(a_budget_of_the_tick_replaces_the_sessions_own)
{
    struct tp_map *map = tp_test_map_free(60, 60);
    struct tp_session_params params = params_of(0, 3599, 7);
    params.neighbours = TP_NEIGHBOURS_4;
    struct play play;
    play_open(&play, &params, map);
    uint64_t expected = expansions_of(&play, 7);
    ck_assert_uint_eq(play_tick(&play, NULL).work.expansions, expected);
    struct tp_budget budget = tp_budget_k(19);
    expected = expansions_of(&play, 19);
    ck_assert_uint_eq(play_tick(&play, &budget).work.expansions, expected);
    expected = expansions_of(&play, 7);
    ck_assert_uint_eq(play_tick(&play, NULL).work.expansions, expected);
    budget.expansions_max = 3;
    expected = expansions_of(&play, 19) < 3 ? 1 : 3; /* a cap ends a layer anywhere */
    ck_assert_uint_eq(play_tick(&play, &budget).work.expansions, expected);
    struct play_clock clock = {2};
    budget = play_deadline(&clock);
    ck_assert_uint_gt(play_tick(&play, &budget).work.expansions, 0);
    ck_assert_uint_eq(clock.looks, 0);
    play_close(&play);
    tp_map_unref(map);
}

ROW_TEST(places_and_goals_outside_are_refused_and_change_nothing)
{
    struct tp_map *map = tp_test_map_free(9, 4);
    struct tp_session_params params = params_of(0, 35, 3);
    struct play play;
    play_open(&play, &params, map);
    play_tick(&play, NULL);
    uint32_t cell = play.cell;
    ck_assert_int_eq(tp_session_at(play.session, 36), TP_ERR_OUT_OF_RANGE);
    ck_assert_int_eq(tp_session_at(play.session, UINT32_MAX), TP_ERR_OUT_OF_RANGE);
    ck_assert_int_eq(tp_session_retarget(play.session, 36), TP_ERR_OUT_OF_RANGE);
    ck_assert_int_eq(tp_session_retarget(play.session, UINT32_MAX), TP_ERR_OUT_OF_RANGE);
    ck_assert_uint_eq(tp_session_cell(play.session), cell);
    ck_assert_uint_eq(tp_session_goal(play.session), 35);
    ck_assert_int_eq(play_until_settled(&play, NULL, 100).status, TP_STATUS_ARRIVED);
    ck_assert_uint_eq(play.stats.restarts, 0);
    play_close(&play);
    tp_map_unref(map);
}

/* The agent did not make its move, again and again, and at last was put elsewhere. */
ROW_TEST(true_places_are_planned_from)
{
    struct tp_map *map = tp_test_map_free(30, 30);
    for (uint64_t k = 1; k <= 10000; k *= 10) {
        struct tp_session_params params = params_of(0, 899, k);
        struct play play;
        play_open(&play, &params, map);
        for (int i = 0; i < 40; i++) {
            uint32_t before = play.cell;
            play_tick(&play, NULL);
            if (i % 2)
                play_at(&play, before);
            if (i == 25)
                play_at(&play, 29 * 30);
        }
        ck_assert_int_eq(play_until_settled(&play, NULL, 4000).status, TP_STATUS_ARRIVED);
        play_at(&play, 13);
        ck_assert_int_ne(play_tick(&play, NULL).status, TP_STATUS_ARRIVED);
        ck_assert_int_eq(play_until_settled(&play, NULL, 4000).status, TP_STATUS_ARRIVED);
        play_at(&play, 899); /* where it is already */
        ck_assert_int_eq(play_tick(&play, NULL).status, TP_STATUS_ARRIVED);
        play_close(&play);
    }
    tp_map_unref(map);
}

ROW_TEST(the_path_leads_to_the_goal_once_complete)
{
    if (row->learning == TP_LEARNING_PRIORITIZED)
        return; /* its lookahead has depth 1, whatever the budget */
    struct tp_map *map = tp_test_map("..........\n"
                                     ".@@@@@@@@.\n"
                                     ".........."
                                     "\n@@@@@@@@@.\n"
                                     "..........");
    struct tp_session_params params = params_of(0, 40, TP_BUDGET_UNLIMITED);
    struct play play;
    play_open(&play, &params, map);
    struct tp_tick_reply reply = play_tick(&play, NULL);
    ck_assert_int_eq(reply.status, TP_STATUS_MOVING);
    ck_assert(reply.flags & TP_FLAG_PATH_COMPLETE);
    uint32_t path[64];
    while (reply.status != TP_STATUS_ARRIVED) {
        uint32_t count = tp_session_path(play.session, path, 64);
        ck_assert_uint_ge(count, 2);
        ck_assert_uint_eq(path[0], play.cell);
        ck_assert_uint_eq(path[count - 1], 40);
        ck_assert_uint_eq(tp_session_path(play.session, path, 1), 1);
        ck_assert_uint_eq(path[0], play.cell);
        ck_assert_uint_eq(tp_session_path(play.session, path, 0), 0);
        uint32_t next = tp_session_path(play.session, path, 2) == 2 ? path[1] : UINT32_MAX;
        reply = play_tick(&play, NULL);
        ck_assert_uint_eq(reply.to, next);
    }
    play_close(&play);
    tp_map_unref(map);
}

/* A map of another life under the same session: the daemon replaced it. */
ROW_TEST(a_new_epoch_is_planned_on_afresh)
{
    struct tp_map *map = tp_test_map_free(10, 10);
    struct tp_session_params params = params_of(0, 99, 10);
    struct play play;
    play_open(&play, &params, map);
    for (int i = 0; i < 3; i++)
        play_tick(&play, NULL);
    uint8_t cells[100];
    memset(cells, '.', sizeof cells);
    for (int i = 0; i < 10; i++) { /* every second column has one gap */
        for (int x = 1; x < 10; x += 2)
            cells[10 * i + x] = i == (x % 4 == 1 ? 9 : 0) ? '.' : '@';
    }
    struct tp_map *other;
    ck_assert_int_eq(tp_map_build(&other, 10, 10, cells, &map->profile, 2), 0);
    play_use_map(&play, other);
    ck_assert_int_eq(play_until_settled(&play, NULL, 400).status, TP_STATUS_ARRIVED);
    play_close(&play);
    tp_map_unref(other);
    tp_map_unref(map);
}

/* What was proved on a map says nothing of the next map, though its versions are numbered alike. */
ROW_TEST(unreachable_does_not_outlive_its_epoch)
{
    struct tp_map *map = tp_test_map("..@..\n..@..\n..@..");
    struct tp_session_params params = params_of(0, 14, 50);
    struct play play;
    play_open(&play, &params, map);
    for (int i = 0; i < 10; i++)
        play_tick(&play, NULL);
    uint8_t cells[15];
    memset(cells, '.', sizeof cells);
    struct tp_map *other;
    ck_assert_int_eq(tp_map_build(&other, 5, 3, cells, &map->profile, 2), 0);
    ck_assert_uint_eq(other->version, map->version);
    play_use_map(&play, other);
    ck_assert_int_eq(play_until_settled(&play, NULL, 60).status, TP_STATUS_ARRIVED);
    play_close(&play);
    tp_map_unref(other);
    tp_map_unref(map);
}

/* A goal that leaps away begins a new search from the agent; the flag says so. */
ROW_TEST(a_goal_far_from_the_old_one_begins_anew)
{
    struct tp_map *map = tp_test_map_free(150, 150);
    struct tp_session_params params = params_of(75 * 150 + 75, 75 * 150 + 149, 20);
    struct play play;
    play_open(&play, &params, map);
    for (int i = 0; i < 10; i++)
        play_tick(&play, NULL);
    ck_assert_uint_eq(play.stats.restarts, 0);
    play_retarget(&play, 75 * 150);
    ck_assert(play_tick(&play, NULL).flags & TP_FLAG_RESTARTED);
    ck_assert_int_eq(play_until_settled(&play, NULL, 20000).status, TP_STATUS_ARRIVED);
    ck_assert_uint_eq(play.stats.restarts, 1);
    play_close(&play);
    tp_map_unref(map);
}

/* However small R is, or its parts are, tracing and expansions both go on. */
ROW_TEST(a_small_purse_arrives)
{
    struct tp_map *map = tp_test_map("....................\n"
                                     ".@@@@@@@@@@@@@@@@@@.\n"
                                     ".@................@.\n"
                                     ".@.@@@@@@@@@@@@@@.@.\n"
                                     ".@.@............@.@.\n"
                                     "...@..............@.");
    static const uint32_t shares[] = {0, 1, 300, 500, 900, 999, 1000};
    for (uint64_t R = 1; R <= 5; R++) {
        for (size_t share = 0; share < sizeof shares / sizeof *shares; share++) {
            for (uint32_t c = 1; c <= 8; c += 7) {
                struct tp_session_params params = params_of(0, 5 * 20 + 10, 1);
                params.budget = tp_budget_r(R, shares[share], c);
                struct tp_session *probe;
                struct tp_refusal refusal;
                struct tp_pool pool;
                tp_pool_init(&pool, NULL);
                int error = tp_session_open(&probe, &params, map, &pool, &refusal);
                tp_session_close(probe);
                tp_pool_fini(&pool);
                ck_assert(error == 0 || (row->capabilities & TP_CAN_SPLIT_R));
                if (error)
                    continue;
                struct play play;
                play_open(&play, &params, map);
                snprintf(play.label, sizeof play.label, "%s, R %llu, r %u/1000, c %u", row->name,
                         (unsigned long long)R, shares[share], c);
                struct tp_tick_reply reply = play_until_settled(&play, NULL, 4000);
                ck_assert_msg(reply.status == TP_STATUS_ARRIVED, "%s: on %u, status %d", play.label,
                              play.cell, (int)reply.status);
                ck_assert_uint_eq(play.stats.restarts, 0);
                play_close(&play);
            }
        }
    }
    tp_map_unref(map);
}

/* Memory follows what was searched, and a steady walk takes no more. */
ROW_TEST(bytes_follow_the_search)
{
    struct tp_map *map = tp_test_map_free(1000, 1000);
    struct tp_session_params params = params_of(500 * 1000 + 500, 500 * 1000 + 520, 5);
    struct play play;
    play_open(&play, &params, map);
    ck_assert_int_eq(play_until_settled(&play, NULL, 100).status, TP_STATUS_ARRIVED);
    ck_assert_uint_gt(play.stats.bytes_peak, 0);
    ck_assert_uint_lt(play.stats.bytes_peak, 256 * 1024); /* of a map of a million cells */
    play_close(&play);
    tp_map_unref(map);
}

static Suite *life_suite(void)
{
    Suite *suite = suite_create("session life");
    TCase *tcase = tcase_create("every row");
    int rows = row_count();
    tcase_add_loop_test(tcase, a_start_on_the_goal_arrives_at_once, 0, rows);
    tcase_add_loop_test(tcase, a_session_that_never_ticks_holds_no_search_memory, 0, rows);
    tcase_add_loop_test(tcase, an_agent_in_a_blocked_cell_may_leave_it, 0, rows);
    tcase_add_loop_test(tcase, an_agent_that_left_a_blocked_cell_does_not_step_back_into_it, 0, rows);
    tcase_add_loop_test(tcase, a_block_on_the_path_is_walked_around, 0, rows);
    tcase_add_loop_test(tcase, unreachable_is_taken_back_when_a_way_opens, 0, rows);
    tcase_add_loop_test(tcase, an_empty_budget_expands_nothing_and_is_no_verdict, 0, rows);
    tcase_add_loop_test(tcase, a_budget_of_the_tick_replaces_the_sessions_own, 0, rows);
    tcase_add_loop_test(tcase, places_and_goals_outside_are_refused_and_change_nothing, 0, rows);
    tcase_add_loop_test(tcase, true_places_are_planned_from, 0, rows);
    tcase_add_loop_test(tcase, the_path_leads_to_the_goal_once_complete, 0, rows);
    tcase_add_loop_test(tcase, a_new_epoch_is_planned_on_afresh, 0, rows);
    tcase_add_loop_test(tcase, unreachable_does_not_outlive_its_epoch, 0, rows);
    tcase_add_loop_test(tcase, a_goal_far_from_the_old_one_begins_anew, 0, rows);
    tcase_add_loop_test(tcase, a_small_purse_arrives, 0, rows);
    tcase_add_loop_test(tcase, bytes_follow_the_search, 0, rows);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_session_life", life_suite);
}
