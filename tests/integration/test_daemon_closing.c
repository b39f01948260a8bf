/* Many sessions with large searches end at once, by request or with their connection: the memory goes back bit by
 * bit, and the other connections of that loop do not wait for all of it. */
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SIDE = 360,           /* 45 x 45 tiles of nodes for each search that sees all of it */
    KEPT_BYTES = 4 << 20, /* what a pool may keep for the next search, generously */
};

static struct wire_daemon daemon_;

static void begin(void)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "1", "--stats", "127.0.0.1:0", NULL);
}

static void end(void)
{
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Opens `count` sessions whose goal is walled off, and lets each search the whole map. */
static void fill(struct wire *wire, uint32_t count)
{
    uint8_t *cells = malloc(SIDE * SIDE);
    memset(cells, '.', SIDE * SIDE);
    for (uint32_t i = 0; i < 2; i++)
        cells[(SIDE - 2 + i) * SIDE + SIDE - 2] = cells[(SIDE - 2) * SIDE + SIDE - 2 + i] = '@';
    wire_put_map(wire, "walled", SIDE, SIDE, cells);
    free(cells);
    for (uint32_t i = 0; i < count; i++)
        wire_open_session(wire, "walled", i, SIDE * SIDE - 1, "tbwa", 1000000);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    wire_send(wire, TICKPATH__REQUEST__BODY_TICK, &tick);
    Tickpath__Reply *reply;
    while (wire_poll(wire, &reply, WIRE_TIMEOUT_MS) == WIRE_GOT_NOTHING)
        ck_assert(wire_daemon_alive(&daemon_));
    ck_assert_uint_eq(reply->ticked->n_session, count);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_uint_eq(reply->ticked->status[i], TICKPATH__STATUS__UNREACHABLE);
    wire_reply_free(reply);
}

/* Pings until nothing is left to put back; gives the longest wait and the time of all of it. */
static void ping_until_done(struct wire *wire, double *longest_ms, double *all_ms)
{
    double began = now_ms();
    *longest_ms = 0;
    for (bool is_done = false; !is_done;) {
        double all = now_ms();
        for (int i = 0; i < 20; i++) {
            double before = now_ms();
            wire_expect_alive(wire);
            double took = now_ms() - before;
            *longest_ms = took > *longest_ms ? took : *longest_ms;
        }
        is_done = wire_sample(&daemon_, "tickpath_sessions_closing") == 0;
        *all_ms = all - began;
    }
}

START_TEST(test_nobody_waits_for_all)
{
    uint32_t count = (uint32_t)tp_test_steps(40, 1000);
    bool by_request = _i == 1;
    struct wire large, other;
    wire_open_greeted(&large, daemon_.port);
    wire_open_greeted(&other, daemon_.port);
    fill(&large, count);
    ck_assert_uint_eq((uint32_t)wire_metric(&daemon_, "sessions_open"), count);
    double before = wire_sample(&daemon_, "tickpath_node_bytes"), longest_ms, all_ms;
    if (by_request) {
        Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
        close.has_all = close.all = 1;
        wire_send(&large, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close);
    } else {
        wire_close(&large);
    }
    ping_until_done(&other, &longest_ms, &all_ms);
    ck_assert_uint_eq((uint32_t)wire_metric(&daemon_, "sessions_open"), 0);
    ck_assert_uint_eq((uint32_t)wire_sample(&daemon_, "tickpath_sessions_closed_total"), count);
    uint64_t end_ms = wire_now_ms() + WIRE_TIMEOUT_MS; /* it is kept for some seconds */
    while (wire_sample(&daemon_, "tickpath_node_bytes") > KEPT_BYTES && wire_now_ms() < end_ms)
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
    ck_assert_msg(wire_sample(&daemon_, "tickpath_node_bytes") <= KEPT_BYTES, "the memory is not given back");
    if (tp_test_long()) /* all at once would take several times that */
        ck_assert_msg(longest_ms < 100, "another connection waited %.1f ms", longest_ms);
    printf("%u sessions, %.0f MB, closed %s: all in %.1f ms, the longest wait %.2f ms\n", count, before / 1e6,
           by_request ? "by request" : "with their connection", all_ms, longest_ms);
    if (by_request) {
        wire_reply_free(wire_recv(&large));
        wire_close(&large);
    }
    wire_close(&other);
}
END_TEST

static Suite *closing_suite(void)
{
    Suite *suite = suite_create("daemon_closing");
    TCase *cases = tcase_create("closing");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_set_timeout(cases, tp_test_long() ? 600 : 60);
    tcase_add_loop_test(cases, test_nobody_waits_for_all, 0, 2);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_closing", closing_suite);
}
