/* What PROTOCOL.md promises about order, versions and budgets, seen from clients of a running daemon. */
#include "tests/lib/served.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Sends a tick of all sessions of a connection without waiting. */
static void send_tick_all(struct wire *wire, bool want_work)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    tick.has_want_work = tick.want_work = want_work;
    wire_send(wire, TICKPATH__REQUEST__BODY_TICK, &tick);
}

static void send_cell(struct wire *wire, uint32_t cell, uint32_t terrain)
{
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "m";
    change.n_cell = change.n_cell_terrain = 1;
    change.cell = &cell;
    change.cell_terrain = &terrain;
    wire_send(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

/* A pipeline of changes and ticks: replies in the order of the requests, and each tick sees exactly the
 * changes sent before it. */
START_TEST(test_ticks_see_what_was_sent_before)
{
    enum { ROUNDS = 200 };
    wire_open_session(&served.wire, "m", 0, 9, NULL, 10);
    uint64_t first = served.wire.next_id;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        send_cell(&served.wire, 30 + i % 20, i % 40 < 20 ? '@' : '.');
        send_tick_all(&served.wire, false);
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        Tickpath__Reply *reply = wire_recv(&served.wire);
        ck_assert_uint_eq(reply->id, first + 2 * i);
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_CHANGED);
        ck_assert_uint_eq(reply->changed->version, i + 2);
        wire_reply_free(reply);
        reply = wire_recv(&served.wire);
        ck_assert_uint_eq(reply->id, first + 2 * i + 1);
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_TICKED);
        ck_assert_uint_eq(reply->ticked->tick, i + 1);
        ck_assert_uint_eq(reply->ticked->version[0], i + 2);
        wire_reply_free(reply);
    }
}
END_TEST

/* A batch that is refused holds nothing up and changes nothing, in the middle of a pipeline as well. */
START_TEST(test_refusals_in_a_pipeline)
{
    wire_open_session(&served.wire, "m", 0, 9, NULL, 10);
    send_cell(&served.wire, SERVED_CELLS, '@');
    send_tick_all(&served.wire, false);
    send_cell(&served.wire, 1, '@'); /* on the agent's way */
    send_tick_all(&served.wire, false);
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__OUT_OF_RANGE);
    wire_reply_free(reply);
    reply = wire_recv(&served.wire);
    ck_assert_uint_eq(reply->ticked->version[0], 1);
    ck_assert_uint_eq(reply->ticked->cell[0], 1);
    wire_reply_free(reply);
    wire_reply_free(wire_recv(&served.wire));
    reply = wire_recv(&served.wire);
    ck_assert_uint_eq(reply->ticked->version[0], 2);
    ck_assert(reply->ticked->flags[0] &
              TICKPATH__FLAG__START_BLOCKED); /* shut in where it stands; it may leave */
    wire_reply_free(reply);
}
END_TEST

/* A version that one client was told of is there for another that asks for it; and one to come is not. */
START_TEST(test_min_version)
{
    struct wire other;
    wire_open_greeted(&other, served.daemon.port);
    uint64_t session = wire_open_session(&other, "m", 0, 9, NULL, 10);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 1;
    tick.session = &session;
    tick.has_min_version = 1;
    for (uint32_t i = 0; i < 50; i++) {
        uint64_t version = wire_set_cell(&served.wire, "m", 50, i % 2 ? '.' : '@');
        tick.min_version = version + 1;
        Tickpath__Reply *late = wire_ask(&other, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
        ck_assert(late->ticked->n_session == 0 && late->ticked->n_refused == 1);
        const Tickpath__Refused *refused = late->ticked->refused[0];
        ck_assert_int_eq(refused->code, TICKPATH__ERROR_CODE__MAP_NOT_READY);
        ck_assert(refused->session == session && refused->has_epoch && refused->version == version);
        wire_reply_free(late);
        tick.min_version = version;
        Tickpath__Reply *reply =
            wire_ask(&other, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
        ck_assert_uint_eq(reply->ticked->version[0], version);
        wire_reply_free(reply);
    }
    wire_close(&other);
}
END_TEST

/* Two writers on one map: every version is made once, and each writer's own follow each other. */
START_TEST(test_two_writers)
{
    enum { EACH = 100 };
    struct wire other;
    wire_open_greeted(&other, served.daemon.port);
    for (uint32_t i = 0; i < EACH; i++) {
        send_cell(&served.wire, 1, i % 2 ? '.' : '@');
        send_cell(&other, 2, i % 2 ? '.' : '@');
    }
    bool made[2 * EACH + 2] = {0};
    struct wire *const wires[] = {&served.wire, &other};
    for (int w = 0; w < 2; w++) {
        uint64_t last = 1;
        for (uint32_t i = 0; i < EACH; i++) {
            Tickpath__Reply *reply = wire_recv(wires[w]);
            ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_CHANGED);
            uint64_t version = reply->changed->version;
            wire_reply_free(reply);
            ck_assert_uint_gt(version, last);
            ck_assert_uint_le(version, 2 * EACH + 1);
            ck_assert(!made[version]);
            made[version] = true;
            last = version;
        }
    }
    wire_close(&other);
}
END_TEST

/* ---- Budgets ---- */

/* A session whose search is far from done: a wall with a gap far away, on a map of its own. */
static uint64_t open_hard(struct wire *wire, uint64_t k)
{
    return wire_open_session(wire, "hard", 50 * 100 + 10, 50 * 100 + 90, "tbwa", k);
}

static void put_hard(struct wire *wire)
{
    uint8_t *cells = malloc(10000);
    memset(cells, '.', 10000);
    for (uint32_t y = 0; y < 99; y++)
        cells[y * 100 + 50] = '@';
    wire_put_map(wire, "hard", 100, 100, cells);
    free(cells);
}

static Tickpath__Reply *tick_with(uint64_t *sessions, size_t count, uint64_t each_k, uint64_t total)
{
    Tickpath__Budget each = TICKPATH__BUDGET__INIT;
    each.has_k = 1;
    each.k = each_k;
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = count;
    tick.session = sessions;
    tick.each = each_k ? &each : NULL;
    tick.has_total_expansions = total > 0;
    tick.total_expansions = total;
    tick.has_want_work = tick.want_work = 1;
    return wire_ask(&served.wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
}

/* A tick's budget holds for that tick; the session's own is back with the next. */
START_TEST(test_each_overrides_for_one_tick)
{
    put_hard(&served.wire);
    uint64_t session = open_hard(&served.wire, 5);
    const uint64_t each[] = {0, 17, 0, 2, 0};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        Tickpath__Reply *reply = tick_with(&session, 1, each[i], 0);
        ck_assert_uint_eq(reply->ticked->expansions[0], each[i] ? each[i] : 5);
        wire_reply_free(reply);
    }
}
END_TEST

/* A shared total is shared by priority, whatever the list's order, and spent; who gets nothing still answers, and is counted. */
START_TEST(test_total_is_shared)
{
    put_hard(&served.wire);
    uint64_t sessions[5];
    for (int i = 0; i < 5; i++)
        sessions[i] = open_hard(&served.wire, 10);
    Tickpath__Reply *reply;
    uint64_t got[5] = {0};
    const uint64_t totals[] = {25, 3, 2}, want[] = {5, 0, 0}, most[] = {5, 1, 1};
    for (int b = 0; b < 3; b++) { /* the second and third together: one for each */
        reply = tick_with(sessions, 5, 0, totals[b]);
        ck_assert_uint_eq(reply->ticked->n_session, 5);
        uint64_t sum = 0;
        for (int i = 0; i < 5; i++) {
            ck_assert_uint_eq(reply->ticked->session[i], sessions[i]);
            ck_assert(reply->ticked->expansions[i] >= want[b] && reply->ticked->expansions[i] <= most[b]);
            ck_assert_uint_ne(reply->ticked->status[i], TICKPATH__STATUS__UNREACHABLE);
            ck_assert_uint_ne(reply->ticked->status[i], TICKPATH__STATUS__ARRIVED);
            got[i] += reply->ticked->expansions[i];
            sum += reply->ticked->expansions[i];
        }
        ck_assert_uint_eq(sum, totals[b]);
        ck_assert_uint_eq(reply->ticked->starved, b == 0 ? 0 : 5 - totals[b]);
        wire_reply_free(reply);
    }
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(got[i], 6);
    reply = tick_with(sessions, 5, 0, 0); /* the total was for that tick */
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(reply->ticked->expansions[i], 10);
    ck_assert_uint_eq(reply->ticked->starved, 0);
    wire_reply_free(reply);
}
END_TEST

/* Deadlines end a tick soon, however large the budget of each. */
START_TEST(test_total_us_ends)
{
    put_hard(&served.wire);
    uint64_t sessions[20];
    for (int i = 0; i < 20; i++)
        sessions[i] = open_hard(&served.wire, 1000000000);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 20;
    tick.session = sessions;
    tick.has_total_us = 1;
    tick.total_us = 1;
    uint64_t before = wire_now_ms();
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_lt(wire_now_ms() - before, 1000);
    ck_assert_uint_eq(reply->ticked->n_session, 20);
    ck_assert_uint_gt(reply->ticked->starved, 0);
    wire_reply_free(reply);
}
END_TEST

/* A true position: planned from there in the same tick. */
START_TEST(test_true_position)
{
    uint64_t session = wire_open_session(&served.wire, "m", 0, 9, NULL, 100);
    uint32_t cell = 25;
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = tick.n_at_session = tick.n_at_cell = 1;
    tick.session = tick.at_session = &session;
    tick.at_cell = &cell;
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    uint32_t to = reply->ticked->cell[0];
    int dx = (int)(to % 10) - 5, dy = (int)(to / 10) - 2;
    ck_assert_msg(abs(dx) <= 1 && abs(dy) <= 1 && (dx || dy), "moved from 25 to %u", to);
    wire_reply_free(reply);
}
END_TEST

/* A path begins at the agent's cell after its move and takes legal steps to the goal. */
START_TEST(test_want_path)
{
    uint64_t session = wire_open_session(&served.wire, "m", 0, 57, "astar", 1000000);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 1;
    tick.session = &session;
    tick.has_want_path = tick.want_path = 1;
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_eq(reply->ticked->n_path, 1);
    const Tickpath__Path *path = reply->ticked->path[0];
    ck_assert_uint_eq(path->n_cell, 7); /* 7 steps in all, one of them taken */
    ck_assert_uint_eq(path->cell[0], reply->ticked->cell[0]);
    ck_assert_uint_eq(path->cell[path->n_cell - 1], 57);
    for (size_t i = 1; i < path->n_cell; i++) {
        int dx = (int)(path->cell[i] % 10) - (int)(path->cell[i - 1] % 10);
        int dy = (int)(path->cell[i] / 10) - (int)(path->cell[i - 1] / 10);
        ck_assert(abs(dx) <= 1 && abs(dy) <= 1 && (dx || dy));
    }
    ck_assert(reply->ticked->flags[0] & TICKPATH__FLAG__PATH_COMPLETE);
    ck_assert_uint_eq(reply->ticked->n_expansions, 0);
    wire_reply_free(reply);
}
END_TEST

/* The same requests give the same answers, on another connection and another loop. */
START_TEST(test_same_again)
{
    put_hard(&served.wire);
    struct wire other;
    wire_open_greeted(&other, served.daemon.port);
    struct wire *const wires[] = {&served.wire, &other};
    uint64_t sessions[2];
    for (int w = 0; w < 2; w++)
        sessions[w] = open_hard(wires[w], 7);
    for (int i = 0; i < 300; i++) {
        Tickpath__Reply *reply[2];
        for (int w = 0; w < 2; w++)
            reply[w] = wire_tick(wires[w], sessions[w]);
        ck_assert_uint_eq(reply[0]->ticked->cell[0], reply[1]->ticked->cell[0]);
        ck_assert_uint_eq(reply[0]->ticked->status[0], reply[1]->ticked->status[0]);
        ck_assert_uint_eq(reply[0]->ticked->cost[0], reply[1]->ticked->cost[0]);
        for (int w = 0; w < 2; w++)
            wire_reply_free(reply[w]);
    }
    wire_close(&other);
}
END_TEST

/* SIGTERM: what was sent before is answered, then the connection ends and so does the daemon, with 0. */
START_TEST(test_drain)
{
    enum { TICKS = 20 };
    wire_open_session(&served.wire, "m", 0, 9, NULL, 10);
    for (int i = 0; i < TICKS; i++)
        send_tick_all(&served.wire, false);
    kill(served.daemon.pid, SIGTERM);
    Tickpath__Reply *reply;
    for (int i = 0; i < TICKS; i++) {
        reply = wire_recv(&served.wire);
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_TICKED);
        wire_reply_free(reply);
    }
    wire_expect_last_error(&served.wire, TICKPATH__ERROR_CODE__SHUTTING_DOWN);
    wire_close(&served.wire);
    wire_daemon_expect_exit(&served.daemon, 0);
    wire_daemon_fini(&served.daemon);
    served_begin(); /* for the fixture's end */
}
END_TEST

static Suite *promises_suite(void)
{
    Suite *suite = suite_create("promises");
    TCase *cases = tcase_create("promises");
    tcase_add_checked_fixture(cases, served_begin, served_end);
    tcase_add_test(cases, test_ticks_see_what_was_sent_before);
    tcase_add_test(cases, test_refusals_in_a_pipeline);
    tcase_add_test(cases, test_min_version);
    tcase_add_test(cases, test_two_writers);
    tcase_add_test(cases, test_each_overrides_for_one_tick);
    tcase_add_test(cases, test_total_is_shared);
    tcase_add_test(cases, test_total_us_ends);
    tcase_add_test(cases, test_true_position);
    tcase_add_test(cases, test_want_path);
    tcase_add_test(cases, test_same_again);
    tcase_add_test(cases, test_drain);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_promises", promises_suite);
}
