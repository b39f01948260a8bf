/* Two daemons on one map whose log is lost, in part or whole, while they live, or goes on without one of them: nothing acknowledged is
 * lost as long as Redis has it or a daemon that applied it lives; where the log went on without it, the map begins a new epoch that has it
 * all, and everybody is told. */
#include "tests/lib/harness.h"
#include "tests/lib/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_TICKS = 20 };

static struct test_redis replica;
static struct proxy replication; /* the replica's way to its master */
static struct test_redis sentinel;
static bool has_replica, has_sentinel;

static void ask(const struct test_redis *redis, const char *want, int argc, const char **argv)
{
    const char *got = test_redis_ask(redis, argc, argv);
    ck_assert_msg(strcmp(got, want) == 0, "%s: %s", argv[0], got);
}

static void both(void (*what)(int i))
{
    for (int i = 0; i < SHARED_DAEMONS; i++)
        what(i);
}

static void begin(void)
{
    shared_begin();
    has_replica = has_sentinel = false;
}

static void end(void)
{
    if (has_sentinel)
        test_redis_fini(&sentinel);
    if (has_replica) {
        proxy_end(&replication);
        test_redis_fini(&replica);
    }
    shared_end();
}

static void ticker_go(int i)
{
    ticker_start(&shared.ticker[i], shared.daemon[i].port, "m", 0, SHARED_WIDTH - 1);
}

/* Ends a ticker whose daemon is about to be stopped or killed. */
static void ticker_rest(int i)
{
    ticker_stop(&shared.ticker[i]);
    ck_assert_msg(!shared.ticker[i].failure[0], "a tick of daemon %d failed: %s", i,
                  shared.ticker[i].failure);
}

/* What each ends with: both take changes, and are equal. */
static void expect_all_well(void)
{
    both(shared_wait_well);
    both(shared_change_until_well);
    both(shared_resend);
    shared_expect_equal();
    shared_expect_ticks(LEAST_TICKS);
}

/* Who comes now has nothing but what Redis has. */
static void expect_kept(void)
{
    both(shared_kill);
    shared_start(0);
    shared_wait_well(0);
    shared_expect_model(0);
    shared_stop(0);
}

static void expect_same_epoch(void)
{
    uint64_t epoch, version;
    for (int i = 0; i < SHARED_DAEMONS; i++) {
        shared_place(i, &epoch, &version);
        ck_assert_msg(epoch == shared.epoch, "daemon %d began a new epoch where nothing was lost", i);
    }
}

/* ---- A log that is gone ---- */

/* With snapshots of long ago, and of a moment ago: the log that is put back reaches back to one of them. */
static void flush(const char *fold_batches)
{
    strcpy(shared.fold_batches, fold_batches);
    shared_start_all();
    for (int n = 0; n < 25; n++)
        shared_change_well(n % 2, 2);
    ask(&shared.redis, "OK", 1, (const char *[]){"FLUSHALL"});
    expect_all_well();
    expect_same_epoch();
    expect_kept();
}

START_TEST(test_flushed)
{
    flush("1000");
}
END_TEST

START_TEST(test_flushed_with_snapshots)
{
    flush("8");
}
END_TEST

/* No change comes that would find out that the log is gone: one that is made anew must not be the first to. */
START_TEST(test_flushed_under_load)
{
    strcpy(shared.fold_batches, "16");
    shared_start_all();
    struct tp_test_rng rng = tp_test_rng("flushed");
    uint64_t rounds = tp_test_steps(3, 12);
    for (uint64_t round = 0; round < rounds; round++) {
        uint32_t count = 4 + tp_test_below(&rng, 20);
        for (uint32_t n = 0; n < count; n++)
            shared_change((int)tp_test_below(&rng, SHARED_DAEMONS));
        ask(&shared.redis, "OK", 1, (const char *[]){"FLUSHALL"});
        for (uint32_t n = 0; n < 6; n++)
            shared_change((int)tp_test_below(&rng, SHARED_DAEMONS));
        both(shared_resend);
    }
    expect_all_well();
    expect_kept();
}
END_TEST

START_TEST(test_restarted_empty)
{
    strcpy(shared.fold_batches, "8");
    shared_start_all();
    for (int n = 0; n < 15; n++)
        shared_change_well(n % 2, 2);
    test_redis_kill(&shared.redis);
    for (int i = 0; i < SHARED_DAEMONS; i++)
        shared_wait_degraded(i, "refused|reset|closed|ended|server");
    shared_empty(&shared.redis);
    test_redis_start(&shared.redis);
    expect_all_well();
    expect_same_epoch();
    expect_kept();
}
END_TEST

/* ---- Another Redis in its place ---- */

/* A master waits 5 s for more replicas before it sends the first what it has: not here. */
static void sync_soon(void)
{
    const struct test_redis *of[] = {&shared.redis, &replica};
    for (int i = 0; i < 2; i++)
        ask(of[i], "OK", 4, (const char *[]){"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
}

static void replica_begin(void)
{
    test_redis_init(&replica);
    test_redis_start(&replica);
    proxy_start(&replication, shared.redis.port);
    has_replica = true;
    sync_soon();
    char port[8];
    snprintf(port, sizeof port, "%u", replication.port);
    ask(&replica, "OK", 3, (const char *[]){"REPLICAOF", "127.0.0.1", port});
}

/* A number of what a Redis says of its replication. */
static uint64_t replication_number(const struct test_redis *redis, const char *name)
{
    const char *words = test_redis_ask(redis, 2, (const char *[]){"INFO", "replication"}), *at = strstr(words, name);
    ck_assert_msg(at, "INFO replication says no %s but: %s", name, words);
    return strtoull(at + strlen(name), NULL, 10);
}

/* Waits until the replica has what its master has now. (WAIT counts the writes of its own connection alone.) */
static void replica_catch_up(void)
{
    uint64_t offset = replication_number(&shared.redis, "master_repl_offset:"), until = wire_now_ms() + SHARED_WAIT_MS;
    test_redis_await(&replica, 2, (const char *[]){"INFO", "replication"}, "master_link_status:up");
    while (replication_number(&replica, "slave_repl_offset:") < offset) {
        ck_assert_msg(wire_now_ms() < until, "the replica does not follow");
        shared_pause_ms(10);
    }
}

/* The master dies, and the replica takes its place. */
static void fail_over(void)
{
    test_redis_kill(&shared.redis);
    ask(&replica, "OK", 3, (const char *[]){"REPLICAOF", "NO", "ONE"});
    for (int i = 0; i < SHARED_DAEMONS; i++)
        proxy_turn(&shared.proxy[i], replica.port);
}

/* Each change was acknowledged when a replica had it: nobody needs to live for it. */
START_TEST(test_failed_over_after_wait)
{
    strcpy(shared.url_options, "?wait=1");
    replica_begin();
    replica_catch_up();
    shared_start_all();
    for (int n = 0; n < 10; n++)
        shared_change_well(n % 2, 2);
    ticker_rest(0);
    ticker_rest(1);
    both(shared_kill);
    fail_over();
    both(shared_start);
    both(shared_wait_well);
    uint64_t version = shared_expect_equal();
    ck_assert_uint_eq(version, 21);
    expect_same_epoch();

    /* no replica now: what can't be made safe is not acknowledged, and it is said that it may be there */
    both(ticker_go);
    shared_change_refused(0);
    ck_assert_uint_eq(shared.fate[shared.next_cell - 1], SHARED_UNKNOWN);
    test_redis_start(&shared.redis);
    char port[8];
    snprintf(port, sizeof port, "%u", replica.port);
    ask(&shared.redis, "OK", 3, (const char *[]){"REPLICAOF", "127.0.0.1", port});
    expect_all_well();
    expect_same_epoch();
}
END_TEST

/* The daemons live: the replica has not got the last changes, and gets them from those who applied them. */
START_TEST(test_failed_over_behind)
{
    replica_begin();
    shared_start_all();
    shared_change_well(0, 6);
    shared_change_well(1, 6);
    replica_catch_up();
    proxy_hold(&replication, true);
    shared_change_well(0, 4);
    shared_change_well(1, 4);
    uint64_t before = shared_expect_equal(); /* both have applied all of it */
    fail_over();
    both(shared_wait_well);
    expect_all_well();
    expect_same_epoch();
    uint64_t epoch, version;
    shared_place(0, &epoch, &version);
    ck_assert_uint_gt(version, before);
    expect_kept();
}
END_TEST

/* By a Sentinel, which the daemons ask where the master is: nobody has to tell them. The former master comes back as a replica. */
START_TEST(test_failed_over_by_sentinel)
{
    test_redis_init(&replica);
    replica.master = &shared.redis;
    test_redis_start(&replica);
    has_replica = true;
    sync_soon();
    proxy_start(&replication, replica.port); /* stands idle */
    replica_catch_up();
    test_redis_init(&sentinel);
    sentinel.watched = &shared.redis;
    sentinel.watched_name = "fleet";
    test_redis_start(&sentinel);
    has_sentinel = true;
    test_redis_await(&sentinel, 2, (const char *[]){"INFO", "sentinel"}, "slaves=1");
    snprintf(shared.url, sizeof shared.url, "redis-sentinel://127.0.0.1:%u/fleet", sentinel.port);
    strcpy(shared.url_options, "?wait=1");
    shared_start_all();
    for (int n = 0; n < 10; n++)
        shared_change_well(n % 2, 2);
    test_redis_kill(&shared.redis);
    for (int i = 0; i < SHARED_DAEMONS; i++)
        shared_wait_degraded(i, "redis");
    shared_change_refused(0);
    both(shared_wait_well);
    test_redis_start(&shared.redis);
    test_redis_await(&replica, 2, (const char *[]){"INFO", "replication"}, "connected_slaves:1"); /* the Sentinel has told it so */
    expect_all_well();
    expect_same_epoch();
    expect_kept();
}
END_TEST

/* A push that says so and nothing else; others before it are passed over. */
static void expect_told(struct wire *wire, uint64_t epoch_before)
{
    for (uint64_t until = wire_now_ms() + SHARED_WAIT_MS;;) {
        Tickpath__Reply *reply = NULL;
        ck_assert_msg(wire_now_ms() < until && wire_poll(wire, &reply, SHARED_WAIT_MS) == WIRE_GOT_FRAME,
                      "the subscriber is not told");
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_MAP_CHANGED);
        bool is_anew = reply->map_changed->epoch != epoch_before;
        if (is_anew)
            ck_assert(reply->map_changed->resync);
        wire_reply_free(reply);
        if (is_anew)
            return;
    }
}

static void subscribe(struct wire *wire, int i)
{
    wire_open_greeted(wire, shared.daemon[i].port);
    Tickpath__Subscribe subscribe = TICKPATH__SUBSCRIBE__INIT;
    subscribe.map = "m";
    wire_reply_free(
        wire_ask(wire, TICKPATH__REQUEST__BODY_SUBSCRIBE, &subscribe, TICKPATH__REPLY__BODY_SUBSCRIBED));
}

/* The log went on without changes that one daemon had acknowledged, and another had acknowledged other changes under the same versions:
 * a new epoch has the changes of both, and sessions and subscribers of both are told. */
START_TEST(test_failed_over_and_gone_on)
{
    replica_begin();
    shared_start_all();
    shared_change_well(0, 6);
    replica_catch_up();
    proxy_hold(&replication, true);
    shared_change_well(0, 5); /* which the replica never gets */
    ticker_rest(1);
    shared_kill(1);
    struct wire told[SHARED_DAEMONS];
    subscribe(&told[0], 0);
    ticker_rest(0);
    shared_freeze(0);
    fail_over();
    shared_start(1);
    shared_wait_well(1);
    uint64_t epoch, version, was = shared.epoch;
    shared_place(1, &epoch, &version);
    ck_assert_uint_eq(version, 7);
    subscribe(&told[1], 1);
    ticker_go(1);
    shared_change_well(1, 3);
    shared_thaw(0);
    ticker_go(0);
    for (int i = 0; i < SHARED_DAEMONS; i++)
        expect_told(&told[i], was);
    shared_wait_told(1);
    shared_expect_equal_anew();
    shared_expect_in_log(0, "began anew");
    shared_expect_in_log(1, "began anew");
    expect_all_well();
    for (int i = 0; i < SHARED_DAEMONS; i++)
        wire_close(&told[i]);
    expect_kept();
}
END_TEST

/* ---- A log that went on ---- */

/* A daemon is stopped for so long that its place in the log is trimmed away: it takes the snapshot, goes on from there in the same epoch, and
 * what it serves is told to go there, too. */
START_TEST(test_place_trimmed)
{
    strcpy(shared.fold_batches, "10");
    shared_start_all();
    shared_change_well(1, 4);
    struct wire told;
    subscribe(&told, 1);
    ticker_rest(1);
    shared_freeze(1);
    shared_change_well(0, 200);
    shared_wait_trimmed(100);
    shared_thaw(1);
    ticker_go(1);
    shared_expect_equal();
    expect_same_epoch();
    uint64_t version_told = 0;
    while (version_told < shared.version_most) {
        Tickpath__Reply *reply = wire_recv(&told);
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_MAP_CHANGED);
        ck_assert_uint_eq(reply->map_changed->epoch, shared.epoch);
        ck_assert_uint_gt(reply->map_changed->version, version_told);
        version_told = reply->map_changed->version;
        wire_reply_free(reply);
    }
    wire_close(&told);
    expect_all_well();
    expect_kept();
}
END_TEST

/* Put anew through the other daemon while this one is stopped: its session and its subscriber are told. */
START_TEST(test_put_anew_meanwhile)
{
    shared_start_all();
    shared_change_well(0, 5);
    shared_change_well(1, 5);
    struct wire told;
    subscribe(&told, 1);
    ticker_rest(0); /* a map on which sessions stand can't be replaced through their daemon */
    shared_freeze(1);
    uint64_t was = shared.epoch;
    shared_put_anew(0);
    shared_change_well(0, 3);
    shared_thaw(1);
    expect_told(&told, was);
    wire_close(&told);
    ticker_go(0);
    shared_wait_told(1);
    ticker_rest(1); /* it hung while its daemon was stopped: the fault is ours */
    ticker_go(1);
    shared_expect_equal();
    expect_all_well();
    expect_kept();
}
END_TEST

static Suite *fleet_losses_suite(void)
{
    Suite *suite = suite_create("fleet_losses");
    TCase *cases = tcase_create("fleet_losses");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_set_timeout(cases, tp_test_long() ? 600 : 90);
    tcase_add_test(cases, test_flushed);
    tcase_add_test(cases, test_flushed_with_snapshots);
    tcase_add_test(cases, test_flushed_under_load);
    tcase_add_test(cases, test_restarted_empty);
    tcase_add_test(cases, test_failed_over_after_wait);
    tcase_add_test(cases, test_failed_over_behind);
    tcase_add_test(cases, test_failed_over_by_sentinel);
    tcase_add_test(cases, test_failed_over_and_gone_on);
    tcase_add_test(cases, test_place_trimmed);
    tcase_add_test(cases, test_put_anew_meanwhile);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_fleet_losses", fleet_losses_suite);
}
