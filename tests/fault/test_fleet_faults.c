/* Two daemons on one map, and what can go wrong with their Redis and the way to it, one test each.
 *
 * In each: ticks are served throughout; both daemons say that they are degraded, and for which cause; changes are refused
 * with UNAVAILABLE while the log is away; both are well again by themselves; what was acknowledged is there, nothing was applied twice,
 * and both are equal cell for cell. What Redis itself loses is in test_fleet_losses.c. */
#include "tests/lib/harness.h"
#include "tests/lib/shared.h"

#include <stdio.h>
#include <string.h>

enum { LEAST_TICKS = 50 };

static void ask_redis(const char *want, int argc, const char **argv)
{
    const char *got = test_redis_ask(&shared.redis, argc, argv);
    ck_assert_msg(strcmp(got, want) == 0, "%s: %s", argv[0], got);
}

static void both(void (*what)(int i))
{
    for (int i = 0; i < SHARED_DAEMONS; i++)
        what(i);
}

static void both_degraded(const char *words)
{
    for (int i = 0; i < SHARED_DAEMONS; i++)
        shared_wait_degraded(i, words);
}

/* What every fault ends with: changes go through both again, those refused before too, and nothing is amiss. */
static void expect_all_well(void)
{
    both(shared_wait_well);
    both(shared_change_until_well);
    both(shared_resend);
    shared_expect_equal();
    shared_expect_ticks(LEAST_TICKS);
    both(shared_stop);
}

START_TEST(test_down_at_start)
{
    test_redis_kill(&shared.redis);
    for (int i = 0; i < SHARED_DAEMONS; i++) {
        shared_start(i);
        shared_wait_degraded(i, "refused|reset|closed|ended");
        wire_expect_alive(&shared.wire[i]);
        Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
        open.map = "m";
        wire_ask_error(&shared.wire[i], TICKPATH__REQUEST__BODY_OPEN_MAP, &open,
                       TICKPATH__ERROR_CODE__UNAVAILABLE, "map");
        shared_change_refused(i);
    }
    test_redis_start(&shared.redis);
    both(shared_wait_well);
    both(shared_stop);
    memset(shared.fate, SHARED_FREE, sizeof shared.fate); /* there was no map to change */
    shared_start_all();
    shared_change_well(0, 5);
    shared_change_well(1, 5);
    expect_all_well();
}
END_TEST

/* Of a map that both hold. In the longer form a minute long. */
START_TEST(test_lost_for_a_while)
{
    shared_start_all();
    shared_change_well(0, 10);
    shared_change_well(1, 10);
    test_redis_kill(&shared.redis);
    both_degraded("refused|reset|closed|ended|server");
    both(shared_change_refused);
    shared_pause_ms(tp_test_long() ? 60000 : 2000);
    both(shared_change_refused);
    test_redis_start(&shared.redis);
    expect_all_well();
    ck_assert_uint_eq(proxy_count(&shared.proxy[0]).cuts, 0);
}
END_TEST

/* Changes wait for the log, ticks don't; nothing is degraded by that. */
START_TEST(test_slow)
{
    enum { DELAY_MS = 100 };
    shared_start_all();
    for (int i = 0; i < SHARED_DAEMONS; i++) {
        proxy_delay(&shared.proxy[i], PROXY_THERE, DELAY_MS);
        proxy_delay(&shared.proxy[i], PROXY_BACK, DELAY_MS);
    }
    for (int n = 0; n < 5; n++) {
        uint64_t from = wire_now_ms();
        shared_change_well(n % 2, 1);
        ck_assert_uint_ge(wire_now_ms() - from + 1, 2 * DELAY_MS);
    }
    both(shared_wait_well);
    for (int i = 0; i < SHARED_DAEMONS; i++) {
        proxy_delay(&shared.proxy[i], PROXY_THERE, 0);
        proxy_delay(&shared.proxy[i], PROXY_BACK, 0);
    }
    expect_all_well();
}
END_TEST

/* The connection stands and nothing comes: the bytes on their way are held, and come later. */
START_TEST(test_silent_way)
{
    shared_start_all();
    shared_change_well(0, 3);
    for (int i = 0; i < SHARED_DAEMONS; i++)
        proxy_hold(&shared.proxy[i], true);
    both(shared_change_refused); /* it may come to the log yet */
    both_degraded("no answer|time|silent");
    shared_pause_ms(1500);
    for (int i = 0; i < SHARED_DAEMONS; i++)
        proxy_hold(&shared.proxy[i], false);
    expect_all_well();
}
END_TEST

/* Redis itself stands still, with what it was sent last in its buffers. */
START_TEST(test_silent_redis)
{
    shared_start_all();
    shared_change_well(1, 3);
    test_redis_freeze(&shared.redis);
    both(shared_change_refused);
    both_degraded("no answer|time|silent");
    shared_pause_ms(1500);
    test_redis_thaw(&shared.redis);
    expect_all_well();
}
END_TEST

/* One of them alone has lost it: the other goes on, and the first comes after. */
START_TEST(test_one_way_cut)
{
    shared_start_all();
    shared_change_well(0, 3);
    proxy_refuse(&shared.proxy[1], true);
    ck_assert_uint_ge(proxy_cut(&shared.proxy[1]), 1);
    shared_wait_degraded(1, "reset|closed|refused|ended|server");
    shared_change_refused(1);
    shared_change_well(0, 20);
    shared_wait_well(0);
    proxy_refuse(&shared.proxy[1], false);
    expect_all_well();
}
END_TEST

/* A master that was made a replica. Its own master is not there, so that it keeps what it has. */
START_TEST(test_read_only)
{
    shared_start_all();
    shared_change_well(0, 5);
    ask_redis("OK", 3, (const char *[]){"REPLICAOF", "127.0.0.1", "1"});
    both(shared_change_refused);
    both_degraded("READONLY|read-only|replica|master");
    both(shared_change_refused);
    ask_redis("OK", 3, (const char *[]){"REPLICAOF", "NO", "ONE"});
    expect_all_well();
}
END_TEST

START_TEST(test_out_of_memory)
{
    shared_start_all();
    shared_change_well(0, 5);
    ask_redis("OK", 4, (const char *[]){"CONFIG", "SET", "maxmemory", "1"});
    both(shared_change_refused);
    both_degraded("OOM|memory");
    both(shared_change_refused);
    ask_redis("OK", 4, (const char *[]){"CONFIG", "SET", "maxmemory", "0"});
    expect_all_well();
}
END_TEST

/* Frames cut in their midst, at random places, both ways, while changes are on their way: what was acknowledged is there, and what was
 * sent again was applied once. */
START_TEST(test_half_written)
{
    shared_start_all();
    struct tp_test_rng rng = tp_test_rng("half written");
    uint64_t rounds = tp_test_steps(12, 60);
    for (uint64_t round = 0; round < rounds; round++) {
        int i = (int)tp_test_below(&rng, SHARED_DAEMONS);
        enum proxy_way way = tp_test_percent(&rng, 60) ? PROXY_THERE : PROXY_BACK;
        uint64_t cuts = proxy_count(&shared.proxy[i]).cuts;
        proxy_cut_after(&shared.proxy[i], way, 1 + tp_test_below(&rng, 700));
        uint64_t until = wire_now_ms() + SHARED_WAIT_MS;
        do {
            shared_change(i);
            shared_pause_ms(10); /* it is refused at once while the connection is away: a cell is taken for each */
            ck_assert_uint_lt(wire_now_ms(), until);
        } while (proxy_count(&shared.proxy[i]).cuts == cuts); /* a poll of the log may be what was cut */
        shared_change(!i);
        shared_resend(i);
    }
    ck_assert_uint_ge(proxy_count(&shared.proxy[0]).cuts + proxy_count(&shared.proxy[1]).cuts, rounds);
    expect_all_well();
}
END_TEST

/* A daemon dies with changes on their way, and its clients go to the other, with the same keys. */
START_TEST(test_daemon_killed)
{
    shared_start_all();
    struct tp_test_rng rng = tp_test_rng("killed");
    uint64_t rounds = tp_test_steps(3, 20);
    for (uint64_t round = 0; round < rounds; round++) {
        int i = (int)(round % SHARED_DAEMONS);
        shared_change_well(i, 1 + tp_test_below(&rng, 8));
        uint32_t count = 1 + tp_test_below(&rng, 8);
        for (uint32_t n = 0; n < count; n++)
            shared_send(i);
        shared_pause_ms(tp_test_below(&rng, 4));
        ticker_stop(&shared.ticker[i]);
        ck_assert_str_eq(shared.ticker[i].failure, "");
        shared_kill(i);
        shared_resend(!i);
        shared_change_well(!i, 2);
        shared_start(i);
        shared_wait_well(i);
        uint64_t epoch, version;
        shared_place(i, &epoch, &version); /* which loads it */
        ck_assert_uint_eq(epoch, shared.epoch);
        ticker_start(&shared.ticker[i], shared.daemon[i].port, "m", 0, SHARED_WIDTH - 1);
    }
    expect_all_well();
}
END_TEST

/* Stopped and let go on; meanwhile the other one goes on, and so does the log. Its connection to Redis may have been given up by
 * Redis, and its place in the log is still there. */
START_TEST(test_daemon_stopped)
{
    shared_start_all();
    shared_change_well(1, 4);
    shared_freeze(1);
    shared_change_well(0, 30);
    shared_pause_ms(500);
    shared_thaw(1);
    both(shared_wait_well);
    shared_expect_equal();
    /* it hung for long: that is the fault, and no failure of its own */
    ticker_stop(&shared.ticker[1]);
    ck_assert_str_eq(shared.ticker[1].failure, "");
    shared.ticker[1].longest_ms = 0;
    expect_all_well();
}
END_TEST

static Suite *fleet_faults_suite(void)
{
    Suite *suite = suite_create("fleet_faults");
    TCase *cases = tcase_create("fleet_faults");
    tcase_add_checked_fixture(cases, shared_begin, shared_end);
    tcase_set_timeout(cases, tp_test_long() ? 600 : 90);
    tcase_add_test(cases, test_down_at_start);
    tcase_add_test(cases, test_lost_for_a_while);
    tcase_add_test(cases, test_slow);
    tcase_add_test(cases, test_silent_way);
    tcase_add_test(cases, test_silent_redis);
    tcase_add_test(cases, test_one_way_cut);
    tcase_add_test(cases, test_read_only);
    tcase_add_test(cases, test_out_of_memory);
    tcase_add_test(cases, test_half_written);
    tcase_add_test(cases, test_daemon_killed);
    tcase_add_test(cases, test_daemon_stopped);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_fleet_faults", fleet_faults_suite);
}
