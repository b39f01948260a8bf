/* What one tick request does with many sessions, through a real daemon. */
#include "tests/lib/harness.h"
#include "tests/lib/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 60, HEIGHT = 40, CELLS = WIDTH * HEIGHT, AGENTS = 20 };

static uint64_t session_[AGENTS];

static void begin(void)
{
    served_begin_plain();
    uint8_t cells[CELLS];
    memset(cells, '.', sizeof cells);
    for (int y = 2; y < HEIGHT; y++) /* a wall between the starts and the goals, open at the top */
        cells[y * WIDTH + 30] = '@';
    wire_put_map(&served.wire, "m", WIDTH, HEIGHT, cells);
    for (uint32_t i = 0; i < AGENTS; i++)
        session_[i] = wire_open_session(&served.wire, "m", (10 + i) * WIDTH + 5, (10 + i) * WIDTH + 55, "tbwa", 50);
}

static Tickpath__Tick all_of_them(void)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.session = session_;
    tick.n_session = AGENTS;
    tick.has_want_work = tick.want_work = 1;
    return tick;
}

static Tickpath__Reply *ask(Tickpath__Tick *tick)
{
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_TICK, tick, TICKPATH__REPLY__BODY_TICKED);
    Tickpath__Ticked *ticked = reply->ticked;
    ck_assert_uint_eq(ticked->n_cell, ticked->n_session);
    ck_assert_uint_eq(ticked->n_status, ticked->n_session);
    ck_assert_uint_eq(ticked->n_flags, ticked->n_session);
    ck_assert_uint_eq(ticked->n_version, ticked->n_session);
    ck_assert_uint_eq(ticked->n_cost, ticked->n_session);
    ck_assert_uint_eq(ticked->n_expansions, tick->want_work ? ticked->n_session : 0);
    ck_assert_uint_eq(ticked->n_traced, ticked->n_expansions);
    ck_assert_uint_eq(ticked->n_generated, ticked->n_expansions);
    ck_assert_uint_eq(ticked->n_learned, ticked->n_expansions);
    ck_assert_uint_eq(ticked->n_path, tick->want_path ? ticked->n_session : 0);
    return reply;
}

START_TEST(test_named_order_and_numbering)
{
    uint64_t order[3] = {session_[7], session_[2], session_[11]};
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.session = order;
    tick.n_session = 3;
    for (uint64_t number = 1; number <= 3; number++) {
        Tickpath__Reply *reply = ask(&tick);
        ck_assert_uint_eq(reply->ticked->tick, number);
        ck_assert_uint_eq(reply->ticked->n_session, 3);
        for (int i = 0; i < 3; i++)
            ck_assert_uint_eq(reply->ticked->session[i], order[i]);
        ck_assert_uint_eq(reply->ticked->n_refused, 0);
        wire_reply_free(reply);
    }
}
END_TEST

/* `all` serves in the order of opening, also after one in the middle was closed and another opened. */
START_TEST(test_all)
{
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.session = &session_[4];
    close.n_session = 1;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                             TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    uint64_t late = wire_open_session(&served.wire, "m", 0, 20, "tbwa", 5);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    Tickpath__Reply *reply = ask(&tick);
    ck_assert_uint_eq(reply->ticked->n_session, AGENTS);
    size_t at = 0;
    for (int i = 0; i < AGENTS; i++)
        if (i != 4)
            ck_assert_uint_eq(reply->ticked->session[at++], session_[i]);
    ck_assert_uint_eq(reply->ticked->session[at], late);
    wire_reply_free(reply);
    Tickpath__CloseSession every = TICKPATH__CLOSE_SESSION__INIT;
    every.has_all = every.all = 1;
    reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &every,
                     TICKPATH__REPLY__BODY_SESSIONS_CLOSED);
    ck_assert_uint_eq(reply->sessions_closed->count, AGENTS);
    wire_reply_free(reply);
    reply = ask(&tick); /* none is no error */
    ck_assert_uint_eq(reply->ticked->n_session, 0);
    wire_reply_free(reply);
}
END_TEST

/* A shared total is shared evenly, spent, and never exceeded; where it is less than the sessions are, each goes without in turn,
 * still answers, and is counted with the longest wait. */
START_TEST(test_total_expansions)
{
    Tickpath__Tick tick = all_of_them();
    tick.has_total_expansions = 1;
    uint64_t got[AGENTS] = {0};
    uint32_t waited[AGENTS] = {0};
    for (int b = 0; b < 8; b++) {
        tick.total_expansions = b == 0 ? 17 * AGENTS : AGENTS / 2;
        Tickpath__Reply *reply = ask(&tick);
        Tickpath__Ticked *ticked = reply->ticked;
        ck_assert_uint_eq(ticked->n_session, AGENTS);
        uint64_t sum = 0;
        uint32_t starved = 0, longest = 0;
        for (size_t i = 0; i < AGENTS; i++) {
            ck_assert_uint_eq(ticked->session[i], session_[i]);
            ck_assert(ticked->status[i] == TICKPATH__STATUS__SEARCHING || ticked->status[i] == TICKPATH__STATUS__MOVING);
            ck_assert(b > 0 || ticked->expansions[i] == 17);
            sum += ticked->expansions[i];
            got[i] += ticked->expansions[i];
            waited[i] = ticked->expansions[i] > 0 ? 0 : waited[i] + 1;
            starved += waited[i] > 0;
            longest = waited[i] > longest ? waited[i] : longest;
        }
        ck_assert_uint_eq(sum, tick.total_expansions);
        ck_assert_uint_eq(ticked->starved, starved);
        ck_assert_uint_eq(ticked->starved_longest, longest);
        ck_assert(ticked->has_starved_longest == (longest > 0));
        ck_assert_uint_le(longest, 2);
        wire_reply_free(reply);
    }
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert(got[i] >= 17 + 2 && got[i] <= 17 + 5);
    tick.total_expansions = 1000000;
    Tickpath__Reply *reply = ask(&tick);
    ck_assert_uint_eq(reply->ticked->starved, 0);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_eq(reply->ticked->expansions[i], 50);
    wire_reply_free(reply);
}
END_TEST

/* A session's priority: three times as much for 48 as for the default, 16. */
START_TEST(test_priority)
{
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    Tickpath__Budget budget = TICKPATH__BUDGET__INIT;
    budget.has_k = 1;
    budget.k = 1000;
    open.map = (char *)"m";
    open.has_start = open.has_goal = open.has_priority = 1;
    open.goal = CELLS - 1;
    open.algorithm = (char *)"astar";
    open.budget = &budget;
    open.priority = 48;
    Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED);
    uint64_t pair[2] = {session_[0], reply->session_opened->session};
    wire_reply_free(reply);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 2;
    tick.session = pair;
    tick.each = &budget;
    tick.has_want_work = tick.want_work = tick.has_total_expansions = 1;
    tick.total_expansions = 20;
    reply = ask(&tick);
    ck_assert_uint_eq(reply->ticked->expansions[0], 5);
    ck_assert_uint_eq(reply->ticked->expansions[1], 15);
    wire_reply_free(reply);
}
END_TEST

START_TEST(test_each_overrides_for_that_tick)
{
    Tickpath__Budget seven = TICKPATH__BUDGET__INIT;
    seven.has_k = 1;
    seven.k = 7;
    Tickpath__Tick tick = all_of_them();
    tick.each = &seven;
    Tickpath__Reply *reply = ask(&tick);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_eq(reply->ticked->expansions[i], 7);
    wire_reply_free(reply);
    tick.each = NULL;
    reply = ask(&tick);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_eq(reply->ticked->expansions[i], 50);
    wire_reply_free(reply);
    tick.each = &seven; /* both: the smaller one holds */
    tick.has_total_expansions = 1;
    tick.total_expansions = 7 * AGENTS;
    reply = ask(&tick);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_eq(reply->ticked->expansions[i], 7);
    wire_reply_free(reply);
    tick.total_expansions = 3 * AGENTS;
    reply = ask(&tick);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_eq(reply->ticked->expansions[i], 3);
    wire_reply_free(reply);
}
END_TEST

/* Time budgets: every session answers, and a large search ends with its time. */
START_TEST(test_time_budgets)
{
    enum { SIDE = 900 };
    wire_put_free_map(&served.wire, "wide", SIDE, SIDE);
    uint64_t far = wire_open_session(&served.wire, "wide", 0, SIDE * SIDE - 1, "astar", 1000000000);
    wire_wall_off(&served.wire, "wide", SIDE);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.session = &far;
    tick.n_session = 1;
    tick.has_want_work = tick.want_work = 1;
    tick.has_total_us = 1;
    tick.total_us = 3000;
    Tickpath__Reply *reply = ask(&tick);
    ck_assert_int_eq(reply->ticked->status[0], TICKPATH__STATUS__SEARCHING);
    ck_assert_uint_gt(reply->ticked->expansions[0], 0);
    ck_assert_uint_lt(reply->ticked->expansions[0],
                      SIDE * SIDE / 2); /* some 2 ns an expansion at the very best */
    wire_reply_free(reply);
    Tickpath__Budget deadline = TICKPATH__BUDGET__INIT;
    deadline.has_deadline_us = 1;
    deadline.deadline_us = 1;
    Tickpath__Tick every = all_of_them();
    every.each = &deadline;
    reply = ask(&every);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_lt(reply->ticked->expansions[i], 5000);
    wire_reply_free(reply);
}
END_TEST

/* True positions are taken before anything is searched; a bad one keeps its session out, the others go on. */
START_TEST(test_positions)
{
    uint64_t who[4] = {session_[0], session_[1], 12345, session_[2]};
    uint32_t where[4] = {3 * WIDTH + 3, CELLS, 0, 4 * WIDTH + 4};
    Tickpath__Tick tick = all_of_them();
    tick.at_session = who;
    tick.at_cell = where;
    tick.n_at_session = tick.n_at_cell = 4;
    Tickpath__Reply *reply = ask(&tick);
    Tickpath__Ticked *ticked = reply->ticked;
    ck_assert_uint_eq(ticked->n_session, AGENTS - 1);
    ck_assert_uint_eq(ticked->session[0], session_[0]);
    ck_assert_uint_eq(ticked->session[1], session_[2]);
    int dx = (int)(ticked->cell[0] % WIDTH) - 3, dy = (int)(ticked->cell[0] / WIDTH) - 3;
    ck_assert(abs(dx) <= 1 && abs(dy) <= 1);
    dx = (int)(ticked->cell[1] % WIDTH) - 4, dy = (int)(ticked->cell[1] / WIDTH) - 4;
    ck_assert(abs(dx) <= 1 && abs(dy) <= 1);
    ck_assert_uint_eq(ticked->n_refused, 2);
    ck_assert_uint_eq(ticked->refused[0]->session, session_[1]);
    ck_assert_int_eq(ticked->refused[0]->code, TICKPATH__ERROR_CODE__OUT_OF_RANGE);
    ck_assert_uint_eq(ticked->refused[1]->session, 12345);
    ck_assert_int_eq(ticked->refused[1]->code, TICKPATH__ERROR_CODE__NOT_FOUND);
    wire_reply_free(reply);
    tick.n_at_session = tick.n_at_cell = 0; /* the session that stayed out is in again */
    reply = ask(&tick);
    ck_assert_uint_eq(reply->ticked->n_session, AGENTS);
    wire_reply_free(reply);
}
END_TEST

/* A session that the tick does not serve is put where it is said to be, for its next tick; of two places the last counts. */
START_TEST(test_positions_of_others)
{
    uint64_t who[2] = {session_[1], session_[1]};
    uint32_t where[2] = {3 * WIDTH + 3, 5 * WIDTH + 5};
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.session = session_;
    tick.n_session = 1;
    tick.at_session = who;
    tick.at_cell = where;
    tick.n_at_session = tick.n_at_cell = 2;
    Tickpath__Reply *reply = ask(&tick);
    ck_assert_uint_eq(reply->ticked->n_session, 1);
    ck_assert_uint_eq(reply->ticked->session[0], session_[0]);
    ck_assert_uint_eq(reply->ticked->n_refused, 0);
    wire_reply_free(reply);
    tick.session = &session_[1];
    tick.n_at_session = tick.n_at_cell = 0;
    reply = ask(&tick);
    int dx = (int)(reply->ticked->cell[0] % WIDTH) - 5, dy = (int)(reply->ticked->cell[0] / WIDTH) - 5;
    ck_assert(abs(dx) <= 1 && abs(dy) <= 1);
    wire_reply_free(reply);
}
END_TEST

START_TEST(test_named_twice)
{
    uint64_t twice[3] = {session_[0], session_[1], session_[0]};
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.session = twice;
    tick.n_session = 3;
    for (int round = 0; round < 2; round++) {
        Tickpath__Reply *reply = ask(&tick);
        ck_assert_uint_eq(reply->ticked->n_session, 2);
        ck_assert_uint_eq(reply->ticked->n_refused, 1);
        ck_assert_uint_eq(reply->ticked->refused[0]->session, session_[0]);
        ck_assert_int_eq(reply->ticked->refused[0]->code, TICKPATH__ERROR_CODE__INVALID_ARGUMENT);
        wire_reply_free(reply);
    }
}
END_TEST

/* A path begins where the agent stands, is made of steps, ends at the goal once the search is done, and the
 * agent walks it. */
START_TEST(test_path)
{
    Tickpath__Budget plenty = TICKPATH__BUDGET__INIT;
    plenty.has_k = 1;
    plenty.k = 1000000;
    Tickpath__Tick tick = all_of_them();
    tick.each = &plenty;
    tick.has_want_path = tick.want_path = 1;
    Tickpath__Reply *reply = ask(&tick);
    uint32_t next[AGENTS];
    for (size_t i = 0; i < AGENTS; i++) {
        Tickpath__Path *path = reply->ticked->path[i];
        ck_assert_uint_gt(path->n_cell, 40);
        ck_assert_uint_eq(path->cell[0], reply->ticked->cell[i]);
        ck_assert_uint_eq(path->cell[path->n_cell - 1], (10 + i) * WIDTH + 55);
        for (size_t c = 1; c < path->n_cell; c++) {
            int dx = (int)(path->cell[c] % WIDTH) - (int)(path->cell[c - 1] % WIDTH);
            int dy = (int)(path->cell[c] / WIDTH) - (int)(path->cell[c - 1] / WIDTH);
            ck_assert(abs(dx) <= 1 && abs(dy) <= 1 && (dx != 0 || dy != 0));
        }
        next[i] = path->cell[1];
        ck_assert(reply->ticked->flags[i] & TICKPATH__FLAG__PATH_COMPLETE);
    }
    wire_reply_free(reply);
    reply = ask(&tick);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_eq(reply->ticked->cell[i], next[i]);
    wire_reply_free(reply);
}
END_TEST

/* The daemon's answers are those of its sessions: what the listing sums up is what the ticks said. */
START_TEST(test_listing_agrees)
{
    uint64_t expansions[AGENTS] = {0}, cost[AGENTS] = {0}, moves[AGENTS] = {0};
    uint32_t cell[AGENTS];
    for (uint32_t i = 0; i < AGENTS; i++)
        cell[i] = (10 + i) * WIDTH + 5;
    Tickpath__Tick tick = all_of_them();
    for (int round = 0; round < 200; round++) {
        Tickpath__Reply *reply = ask(&tick);
        for (size_t i = 0; i < AGENTS; i++) {
            expansions[i] += reply->ticked->expansions[i];
            moves[i] += reply->ticked->cell[i] != cell[i];
            cell[i] = reply->ticked->cell[i];
            cost[i] = reply->ticked->cost[i];
        }
        wire_reply_free(reply);
    }
    Tickpath__List list = TICKPATH__LIST__INIT;
    list.has_sessions = list.sessions = list.has_algorithms = list.algorithms = 1;
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_LIST, &list, TICKPATH__REPLY__BODY_LISTING);
    ck_assert_uint_eq(reply->listing->n_session, AGENTS);
    ck_assert_uint_ge(reply->listing->n_algorithm, 4);
    for (size_t i = 0; i < AGENTS; i++) {
        Tickpath__SessionInfo *info = reply->listing->session[i];
        ck_assert_uint_eq(info->session, session_[i]);
        ck_assert_uint_eq(info->ticks, 200);
        ck_assert_uint_eq(info->expansions, expansions[i]);
        ck_assert_uint_eq(info->moves, moves[i]);
        ck_assert_uint_eq(info->cost, cost[i]);
        ck_assert_uint_eq(info->cell, cell[i]);
        ck_assert_uint_eq(info->cell, info->goal); /* they have all arrived */
        ck_assert_str_eq(info->algorithm, "tbwa");
        ck_assert_str_eq(info->map, "m");
    }
    wire_reply_free(reply);
}
END_TEST

/* Paths share what a frame leaves: with a small frame the reply still fits, and so do the moves. */
START_TEST(test_paths_fit_the_frame)
{
    struct wire_daemon small;
    struct wire wire;
    wire_daemon_init(&small);
    wire_daemon_start(&small, "--frame-bytes-max", "4096", NULL);
    wire_open_greeted(&wire, small.port);
    wire_put_free_map(&wire, "m", 60, 60);
    uint64_t ids[40];
    for (int i = 0; i < 40; i++)
        ids[i] = wire_open_session(&wire, "m", 0, 3599, "tbwa", 1000000);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.session = ids;
    tick.n_session = 20;
    tick.has_want_path = tick.want_path = tick.has_want_work = tick.want_work = 1;
    Tickpath__Reply *reply =
        wire_ask(&wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_le(tickpath__reply__get_packed_size(reply), 4096);
    ck_assert_uint_eq(reply->ticked->n_path, 20);
    ck_assert_uint_gt(reply->ticked->path[19]->n_cell, 1);
    wire_reply_free(reply);
    tick.n_session = 40; /* cannot fit at its longest: refused before anyone moves */
    wire_ask_error(&wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED,
                   "session");
    tick.n_session = 20;
    reply = wire_ask(&wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_eq(reply->ticked->tick, 2);
    ck_assert_uint_eq(reply->ticked->cell[0], 2 * 61);
    wire_reply_free(reply);
    wire_close(&wire);
    wire_daemon_stop(&small);
    wire_daemon_fini(&small);
}
END_TEST

static Suite *ticks_suite(void)
{
    Suite *suite = suite_create("daemon_ticks");
    TCase *cases = tcase_create("ticks");
    tcase_add_checked_fixture(cases, begin, served_end_plain);
    tcase_add_test(cases, test_named_order_and_numbering);
    tcase_add_test(cases, test_all);
    tcase_add_test(cases, test_total_expansions);
    tcase_add_test(cases, test_priority);
    tcase_add_test(cases, test_each_overrides_for_that_tick);
    tcase_add_test(cases, test_time_budgets);
    tcase_add_test(cases, test_positions);
    tcase_add_test(cases, test_positions_of_others);
    tcase_add_test(cases, test_named_twice);
    tcase_add_test(cases, test_path);
    tcase_add_test(cases, test_listing_agrees);
    tcase_add_test(cases, test_paths_fit_the_frame);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_ticks", ticks_suite);
}
