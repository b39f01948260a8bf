/* The connection to Redis by way of Sentinels: which master they name, what they may and may not decide, and a master that is another one by now. Real
 * servers each time. */
#include "tests/lib/harness.h"
#include "tests/lib/redis_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct test_redis replica, sentinels[2];

static void sentinel_start(struct test_redis *sentinel, const char *name)
{
    test_redis_init(sentinel);
    sentinel->watched = &watch_redis;
    sentinel->watched_name = name;
    test_redis_start(sentinel);
}

static const char *sentinel_url(const char *more)
{
    static char url[256];
    snprintf(url, sizeof url, "redis-sentinel://127.0.0.1:%u,127.0.0.1:%u/%s", sentinels[0].port,
             sentinels[1].port, more);
    return url;
}

static void sentinels_fini(void)
{
    test_redis_fini(&sentinels[0]);
    test_redis_fini(&sentinels[1]);
}

/* A master, its replica in step, and one Sentinel that knows of both. */
static void start_fleet(void)
{
    test_redis_start(&watch_redis);
    test_redis_init(&replica);
    replica.master = &watch_redis;
    test_redis_start(&replica);
    test_redis_await(&replica, 2, (const char *[]){"INFO", "replication"}, "master_link_status:up");
    sentinel_start(&sentinels[0], "world");
    test_redis_await(&sentinels[0], 2, (const char *[]){"INFO", "sentinel"}, "slaves=1");
    test_redis_init(&sentinels[1]); /* never there */
}

START_TEST(test_sentinel_finds_master)
{
    static struct watch watch, other;
    test_redis_start(&watch_redis);
    test_redis_init(&sentinels[0]); /* away */
    sentinel_start(&sentinels[1], "world");
    watch_start(&watch, sentinel_url("world/2"));
    WATCH_UNTIL(&watch, watch.ups == 1);
    ck_assert_uint_eq(watch.losts, 0);
    ck_assert(watch_send(&watch, "SET", "k", "v"));
    WATCH_UNTIL(&watch, watch.replies == 1);
    ck_assert_str_eq(test_redis_ask(&watch_redis, 2, (const char *[]){"GET", "k"}), "(nil)"); /* database 2 */
    ck_assert(watch_send(&watch, "ROLE", NULL, NULL));
    WATCH_UNTIL(&watch, watch.replies == 2);
    ck_assert_int_eq(watch.type, REDIS_REPLY_ARRAY);

    watch_start(&other, sentinel_url("moon"));
    WATCH_UNTIL(&other, other.losts == 2);
    char cause[128];
    snprintf(cause, sizeof cause, "Sentinel 127.0.0.1:%u knows no master moon", sentinels[1].port);
    ck_assert_str_eq(other.conn.cause, cause);
    watch_stop_and_wait(&other);

    /* the way to the master is not needed once it is found */
    test_redis_kill(&sentinels[1]);
    watch_run_for(100);
    ck_assert(watch_send(&watch, "PING", NULL, NULL));
    WATCH_UNTIL(&watch, watch.replies == 3);
    ck_assert_uint_eq(watch.losts, 0);
    watch_stop_and_wait(&watch);
    sentinels_fini();
}
END_TEST

START_TEST(test_sentinel_passwords)
{
    static struct watch watch, wrong, none;
    char more[80];
    strcpy(watch_redis.password, "pass");
    test_redis_start(&watch_redis);
    test_redis_init(&sentinels[0]);
    strcpy(sentinels[0].password, "spass");
    sentinels[0].watched = &watch_redis;
    sentinels[0].watched_name = "world";
    test_redis_start(&sentinels[0]);

    char url[256];
    snprintf(url, sizeof url, "redis-sentinel://:pass@127.0.0.1:%u/world?sentinel_password=spass",
             sentinels[0].port);
    watch_start(&watch, url);
    WATCH_UNTIL(&watch, watch.ups == 1);
    watch_stop_and_wait(&watch);

    snprintf(url, sizeof url, "redis-sentinel://:pass@127.0.0.1:%u/world?sentinel_password=secret",
             sentinels[0].port);
    watch_start(&wrong, url);
    WATCH_UNTIL(&wrong, wrong.losts == 1);
    snprintf(more, sizeof more, "Sentinel 127.0.0.1:%u: AUTH: WRONGPASS", sentinels[0].port);
    ck_assert_str_eq(wrong.conn.cause, more);
    watch_stop_and_wait(&wrong);

    /* the master's own is missing */
    snprintf(url, sizeof url, "redis-sentinel://127.0.0.1:%u/world?sentinel_password=spass",
             sentinels[0].port);
    watch_start(&none, url);
    WATCH_UNTIL(&none, none.losts == 1);
    watch_expect_cause(&none, &watch_redis, ": CLIENT: NOAUTH Authentication required.");
    watch_stop_and_wait(&none);
    test_redis_fini(&sentinels[0]);
}
END_TEST

START_TEST(test_sentinels_away)
{
    static struct watch watch;
    test_redis_start(&watch_redis);
    test_redis_init(&sentinels[0]);
    test_redis_init(&sentinels[1]);
    watch_start(&watch, sentinel_url("world"));
    WATCH_UNTIL(&watch, watch.losts == 2);
    char cause[128];
    snprintf(cause, sizeof cause, "Sentinel 127.0.0.1:%u: connection refused", sentinels[1].port);
    ck_assert_str_eq(watch.conn.cause, cause);
    sentinels[0].watched = &watch_redis;
    sentinels[0].watched_name = "world";
    test_redis_start(&sentinels[0]);
    WATCH_UNTIL(&watch, watch.ups == 1);

    /* a frozen one costs its time limit, and the other is asked; the one that served is asked first the next time */
    test_redis_freeze(&sentinels[0]);
    sentinels[1].watched = &watch_redis;
    sentinels[1].watched_name = "world";
    test_redis_start(&sentinels[1]);
    tp_redis_conn_lose(&watch.conn, "test", "to find it again");
    WATCH_UNTIL(&watch, watch.ups == 2);
    ck_assert_uint_eq(watch.conn.sentinel, 1);
    uint64_t least_ms = UINT64_MAX; /* of a few, for the machine may be busy */
    for (unsigned ups = 3; ups < 6; ups++) {
        uint64_t lost_at_ms = watch_now_ms();
        tp_redis_conn_lose(&watch.conn, "test", "once more");
        WATCH_UNTIL(&watch, watch.ups == ups);
        if (watch_now_ms() - lost_at_ms < least_ms)
            least_ms = watch_now_ms() - lost_at_ms;
    }
    ck_assert_uint_lt(least_ms, TP_REDIS_COMMAND_MS);
    watch_stop_and_wait(&watch);
    sentinels_fini();
}
END_TEST

/* A Sentinel that has not noticed yet names a master that is away, and another one says the same: it is tried once. */
START_TEST(test_sentinel_names_one_that_is_away)
{
    static struct watch watch;
    test_redis_start(&watch_redis);
    sentinel_start(&sentinels[0], "world");
    sentinel_start(&sentinels[1], "world");
    test_redis_freeze(&watch_redis);
    uint64_t began_at_ms = watch_now_ms();
    watch_start(&watch, sentinel_url("world"));
    WATCH_UNTIL(&watch, watch.losts == 1);
    ck_assert_uint_lt(watch_now_ms() - began_at_ms, 2 * TP_REDIS_COMMAND_MS);
    ck_assert_msg(strstr(watch.conn.cause, "no answer in time"), "%s", watch.conn.cause);
    test_redis_kill(&watch_redis);
    unsigned losts = watch.losts;
    WATCH_UNTIL(&watch, watch.losts >= losts + 2);
    watch_expect_cause(&watch, &watch_redis, ": connection refused");
    test_redis_start(&watch_redis);
    WATCH_UNTIL(&watch, watch.ups == 1);
    watch_stop_and_wait(&watch);
    sentinels_fini();
}
END_TEST

static long long n_of(const struct test_redis *of)
{
    return atoll(test_redis_ask(of, 2, (const char *[]){"GET", "n"}));
}

/* The master and its replica change roles by order: the old master goes on taking commands for a while, and is left all the same. */
START_TEST(test_ordered_failover)
{
    static struct watch watch;
    start_fleet();
    watch_start(&watch, sentinel_url("world"));
    WATCH_UNTIL(&watch, watch.ups == 1);
    char run_id[41];
    strcpy(run_id, watch.conn.run_id);
    ck_assert(watch_send(&watch, "INCR", "n", NULL));
    WATCH_UNTIL(&watch, watch.replies == 1);
    test_redis_await(&replica, 2, (const char *[]){"GET", "n"}, "1");
    test_redis_await(&sentinels[0], 3, (const char *[]){"SENTINEL", "FAILOVER", "world"}, "OK");
    watch.at_lost = watch_keep_first_cause;
    WATCH_UNTIL(&watch, watch.ups >= 2);
    ck_assert_str_ne(watch.conn.run_id, run_id);
    char words[128];
    snprintf(words, sizeof words, "Sentinel 127.0.0.1:%u: the master is another now", sentinels[0].port);
    ck_assert_str_eq(watch.text, words);
    ck_assert_uint_eq(watch.losts, 1);
    ck_assert(watch_send(&watch, "INCR", "n", NULL));
    WATCH_UNTIL(&watch, watch.replies == 2);
    ck_assert_int_eq(watch.integer, 2);
    ck_assert_int_eq(n_of(&replica), 2);
    watch_stop_and_wait(&watch);
    sentinels_fini();
    test_redis_fini(&replica);
}
END_TEST

/* A Sentinel that names another master all along is behind the others, or ahead: what was found stays. */
START_TEST(test_sentinels_disagree)
{
    static struct watch watch;
    static struct test_redis other;
    test_redis_start(&watch_redis);
    test_redis_init(&other);
    test_redis_start(&other);
    sentinel_start(&sentinels[0], "world");
    test_redis_init(&sentinels[1]);
    sentinels[1].watched = &other;
    sentinels[1].watched_name = "world";
    test_redis_start(&sentinels[1]);
    watch_start(&watch, sentinel_url("world"));
    WATCH_UNTIL(&watch, watch.ups == 1 && watch.conn.watcher->is_up);
    test_redis_kill(&sentinels[0]);
    WATCH_UNTIL(&watch, watch.conn.watcher->is_up && watch.conn.watcher->master.port == other.port);
    watch_run_for(2 * TP_REDIS_WATCH_MS + 100);
    ck_assert_uint_eq(watch.losts, 0);
    ck_assert(watch.conn.watcher->is_up);

    /* and without any it goes on too */
    test_redis_kill(&sentinels[1]);
    WATCH_UNTIL(&watch, watch.conn.watcher->failures >= 3);
    ck_assert_uint_eq(watch.losts, 0);
    ck_assert(watch_send(&watch, "PING", NULL, NULL));
    WATCH_UNTIL(&watch, watch.replies == 1);
    watch_stop_and_wait(&watch);
    sentinels_fini();
    test_redis_fini(&other);
}
END_TEST

/* The master dies, then comes back as it was: a replica is the master by then. */
START_TEST(test_failover)
{
    static struct watch watch;
    start_fleet();
    watch_start(&watch, sentinel_url("world"));
    WATCH_UNTIL(&watch, watch.ups == 1);
    char run_id[41];
    strcpy(run_id, watch.conn.run_id);
    test_redis_kill(&watch_redis);
    WATCH_UNTIL(&watch, watch.ups == 2);
    ck_assert_str_ne(watch.conn.run_id, run_id);
    ck_assert(watch_send(&watch, "SET", "n", "5"));
    WATCH_UNTIL(&watch, watch.replies == 1);
    ck_assert_int_eq(n_of(&replica), 5);
    ck_assert_uint_ge(watch.losts, 2); /* once it was lost, and while there was no master */
    watch_stop_and_wait(&watch);
    sentinels_fini();
    test_redis_fini(&replica);
}
END_TEST

static Suite *redis_sentinels_suite(void)
{
    Suite *suite = suite_create("redis_sentinels");
    TCase *cases = tcase_create("sentinels");
    tcase_add_checked_fixture(cases, watch_begin, watch_end);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, test_sentinel_finds_master);
    tcase_add_test(cases, test_sentinel_passwords);
    tcase_add_test(cases, test_sentinels_away);
    tcase_add_test(cases, test_sentinel_names_one_that_is_away);
    tcase_add_test(cases, test_sentinels_disagree);
    tcase_add_test(cases, test_ordered_failover);
    tcase_add_test(cases, test_failover);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_redis_sentinels", redis_sentinels_suite);
}
