/* Two daemons on one Redis: what one does to a map reaches the sessions that stand on it at the other. A map that is put anew or
 * dropped there ends them here: each is told so until it is closed, and nothing else on its connection is disturbed. */
#include "tests/lib/harness.h"
#include "tests/lib/redis.h"
#include "tests/lib/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 20, GOAL = SIDE * SIDE - 1 };

static struct test_redis redis;
static struct wire_daemon here_, there_;
static struct wire here, there;

static void begin(void)
{
    test_redis_init(&redis);
    test_redis_start(&redis);
    wire_daemon_init(&here_);
    wire_daemon_init(&there_);
    wire_daemon_start(&here_, "--redis", redis.url, "--threads", "2", "--stats", "127.0.0.1:0", NULL);
    wire_daemon_start(&there_, "--redis", redis.url, "--threads", "2", NULL);
    wire_open_greeted(&here, here_.port);
    wire_open_greeted(&there, there_.port);
}

static void end(void)
{
    wire_close(&here);
    wire_close(&there);
    wire_daemon_stop(&here_);
    wire_daemon_stop(&there_);
    wire_daemon_fini(&here_);
    wire_daemon_fini(&there_);
    test_redis_fini(&redis);
}

static void map_info(struct wire *wire, const char *name, uint64_t *epoch, uint64_t *version)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)(uintptr_t)name;
    Tickpath__Reply *reply = wire_ask(wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    *epoch = reply->map_info->epoch;
    *version = reply->map_info->version;
    wire_reply_free(reply);
}

/* Puts a free map of another size in place of one. */
static uint64_t put_anew(struct wire *wire, const char *name, uint32_t side)
{
    uint8_t *cells = malloc(side * side);
    ck_assert_ptr_nonnull(cells);
    memset(cells, '.', side * side);
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = (char *)(uintptr_t)name;
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = put.replace = 1;
    put.width = put.height = side;
    put.cells.data = cells;
    put.cells.len = side * side;
    Tickpath__Reply *reply = wire_ask(wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO);
    uint64_t epoch = reply->map_info->epoch;
    wire_reply_free(reply);
    free(cells);
    return epoch;
}

static void drop(struct wire *wire, const char *name)
{
    Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
    drop.map = (char *)(uintptr_t)name;
    wire_reply_free(wire_ask(wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__REPLY__BODY_MAP_DROPPED));
}

/* Ticks all sessions of the connection here; the reply. */
static Tickpath__Reply *tick_all(void)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    return wire_ask(&here, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
}

/* What a session is refused with in a reply; 0: it is served. */
static int refused_with(const Tickpath__Reply *reply, uint64_t session)
{
    int code = -1;
    for (size_t i = 0; i < reply->ticked->n_session; i++)
        if (reply->ticked->session[i] == session)
            code = 0;
    for (size_t i = 0; i < reply->ticked->n_refused; i++)
        if (reply->ticked->refused[i]->session == session) {
            ck_assert_int_eq(code, -1); /* once in a reply */
            code = (int)reply->ticked->refused[i]->code;
        }
    return code;
}

/* Ticks all until a session is refused with that code; meanwhile it is served. */
static void await_refused(uint64_t session, int code)
{
    uint64_t until = wire_now_ms() + 10000;
    for (;;) {
        Tickpath__Reply *reply = tick_all();
        int now = refused_with(reply, session);
        wire_reply_free(reply);
        if (now == code)
            return;
        ck_assert_int_eq(now, 0);
        ck_assert_msg(wire_now_ms() < until, "the session was never refused");
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static void expect_refused(uint64_t session, int code)
{
    for (int all = 0; all < 2; all++) {
        Tickpath__Tick tick = TICKPATH__TICK__INIT;
        tick.n_session = 1;
        tick.session = &session;
        Tickpath__Reply *reply = all ? tick_all() : wire_ask(&here, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
        ck_assert_int_eq(refused_with(reply, session), code);
        wire_reply_free(reply);
    }
    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    set.has_session = set.has_goal = 1;
    set.session = session;
    set.goal = 0;
    wire_ask_error(&here, TICKPATH__REQUEST__BODY_SET_GOAL, &set, (Tickpath__ErrorCode)code, "session");
}

static void close_session(uint64_t session)
{
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.n_session = 1;
    close.session = &session;
    Tickpath__Reply *reply =
        wire_ask(&here, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close, TICKPATH__REPLY__BODY_SESSIONS_CLOSED);
    ck_assert_uint_eq(reply->sessions_closed->count, 1);
    wire_reply_free(reply);
}

static void await_map(struct wire *wire, const char *name, uint64_t epoch, uint64_t version)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)(uintptr_t)name;
    open.has_epoch = open.has_min_version = 1;
    open.epoch = epoch;
    open.min_version = version;
    uint64_t until = wire_now_ms() + 10000;
    for (bool is_there = false; !is_there;) {
        wire_send(wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
        Tickpath__Reply *reply;
        ck_assert_int_eq(wire_poll(wire, &reply, WIRE_TIMEOUT_MS), WIRE_GOT_FRAME);
        is_there = reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO;
        wire_reply_free(reply);
        ck_assert(is_there || wire_now_ms() < until);
    }
}

/* What is changed there is seen here, by the sessions that stand on the map, as any other version. */
START_TEST(test_changes_reach_sessions)
{
    wire_put_free_map(&here, "m", SIDE, SIDE);
    uint64_t session = wire_open_session(&here, "m", 0, GOAL, NULL, 100), epoch, version;
    map_info(&there, "m", &epoch, &version);
    ck_assert_uint_eq(version, 1);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(wire_set_cell(i % 2 ? &here : &there, "m", 40 + i, '@'), 2 + i);
        await_map(&here, "m", epoch, 2 + i);
        Tickpath__Reply *reply = tick_all();
        ck_assert_int_eq(refused_with(reply, session), 0);
        ck_assert_uint_eq(reply->ticked->version[0], 2 + i);
        wire_reply_free(reply);
    }
}
END_TEST

/* Put anew there, in another size: the sessions on it end, others don't, and new ones stand on the new map at once. */
START_TEST(test_put_anew_elsewhere)
{
    wire_put_free_map(&here, "m", SIDE, SIDE);
    wire_put_free_map(&here, "other", SIDE, SIDE);
    uint64_t ended = wire_open_session(&here, "m", 0, GOAL, NULL, 100);
    uint64_t exact = wire_open_session(&here, "m", 1, GOAL, "astar", 100); /* on the map itself; the first has a layer */
    uint64_t stays = wire_open_session(&here, "other", 0, GOAL, NULL, 1);
    uint64_t before, after, version;
    map_info(&here, "m", &before, &version);
    map_info(&there, "m", &after, &version);
    ck_assert_uint_eq(after, before);
    after = put_anew(&there, "m", 7);
    ck_assert_uint_gt(after, before);
    await_refused(ended, TICKPATH__ERROR_CODE__VERSION_MISMATCH);
    expect_refused(ended, TICKPATH__ERROR_CODE__VERSION_MISMATCH);
    expect_refused(exact, TICKPATH__ERROR_CODE__VERSION_MISMATCH);
    Tickpath__Reply *reply = tick_all();
    ck_assert_int_eq(refused_with(reply, stays), 0);
    wire_reply_free(reply);
    ck_assert_uint_eq((uint64_t)wire_sample(&here_, "tickpath_sessions_ended_total"), 2);

    await_map(&here, "m", after, 1);
    uint64_t again = wire_open_session(&here, "m", 0, 48, NULL, 100);
    reply = tick_all();
    ck_assert_int_eq(refused_with(reply, again), 0);
    ck_assert_int_eq(refused_with(reply, ended), TICKPATH__ERROR_CODE__VERSION_MISMATCH);
    wire_reply_free(reply);
    close_session(ended);
    close_session(exact);
    reply = tick_all();
    ck_assert_uint_eq(reply->ticked->n_refused, 0);
    ck_assert_uint_eq(reply->ticked->n_session, 2);
    wire_reply_free(reply);
    ck_assert_uint_eq(wire_set_cell(&here, "m", 3, '@'), 2);
    await_map(&there, "m", after, 2);
}
END_TEST

/* Dropped there: likewise, and the name is free again for both. */
START_TEST(test_dropped_elsewhere)
{
    wire_put_free_map(&here, "m", SIDE, SIDE);
    uint64_t ended = wire_open_session(&here, "m", 0, GOAL, NULL, 100), epoch, again, version;
    map_info(&there, "m", &epoch, &version);
    drop(&there, "m");
    await_refused(ended, TICKPATH__ERROR_CODE__NOT_FOUND);
    expect_refused(ended, TICKPATH__ERROR_CODE__NOT_FOUND);
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    wire_ask_error(&here, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__NOT_FOUND, "map");
    wire_put_free_map(&there, "m", SIDE, SIDE);
    map_info(&here, "m", &again, &version);
    ck_assert_uint_gt(again, epoch);
    ck_assert_uint_eq(wire_set_cell(&here, "m", 3, '@'), 2);
}
END_TEST

/* Connections that come and go, open and tick while the map is put anew and dropped at the other daemon, over and over: each request is
 * answered, and at the end both stand at the same. */
START_TEST(test_many_ends)
{
    struct tp_test_rng rng = tp_test_rng("ends");
    wire_put_free_map(&here, "m", SIDE, SIDE);
    uint64_t rounds = tp_test_steps(60, 1000), opened = 0, ended = 0;
    bool is_there = true;
    for (uint64_t round = 0; round < rounds; round++) {
        Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
        open.map = "m";
        open.has_start = open.has_goal = 1;
        open.start = 0;
        open.goal = tp_test_below(&rng, 48);
        open.algorithm = tp_test_percent(&rng, 50) ? "tbwa" : NULL;
        for (uint32_t i = tp_test_below(&rng, 6); i > 0; i--) {
            wire_send(&here, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open);
            Tickpath__Reply *reply;
            ck_assert_int_eq(wire_poll(&here, &reply, WIRE_TIMEOUT_MS), WIRE_GOT_FRAME);
            opened += reply->body_case == TICKPATH__REPLY__BODY_SESSION_OPENED;
            wire_reply_free(reply);
        }
        bool puts = !is_there || tp_test_percent(&rng, 70);
        if (puts)
            put_anew(&there, "m", tp_test_between(&rng, 7, SIDE));
        else
            drop(&there, "m");
        is_there = puts;
        Tickpath__Reply *reply = tick_all();
        ended += reply->ticked->n_refused;
        wire_reply_free(reply);
        if (tp_test_percent(&rng, 30)) {
            Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
            close.has_all = close.all = 1;
            wire_reply_free(wire_ask(&here, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close, TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
        }
        if (tp_test_percent(&rng, 10)) {
            wire_close(&here);
            wire_open_greeted(&here, here_.port);
        }
    }
    ck_assert_uint_gt(opened, rounds);
    ck_assert_uint_gt(ended, 0);
    uint64_t epoch = put_anew(&there, "m", SIDE);
    await_map(&here, "m", epoch, 1);
    wire_close(&here);
    wire_open_greeted(&here, here_.port);
    ck_assert_uint_gt(put_anew(&here, "m", SIDE), epoch); /* no session is taken to stand on it */
}
END_TEST

static Suite *ended_sessions_suite(void)
{
    Suite *suite = suite_create("ended_sessions");
    TCase *fleet = tcase_create("two daemons");
    tcase_set_timeout(fleet, 120);
    tcase_add_checked_fixture(fleet, begin, end);
    tcase_add_test(fleet, test_changes_reach_sessions);
    tcase_add_test(fleet, test_put_anew_elsewhere);
    tcase_add_test(fleet, test_dropped_elsewhere);
    tcase_add_test(fleet, test_many_ends);
    suite_add_tcase(suite, fleet);
    return suite;
}

int main(void)
{
    return tp_test_main("test_ended_sessions", ended_sessions_suite);
}
