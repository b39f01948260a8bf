/* Stores that meet on one map of one Redis: what each does is asked of the others at the worst moment. */
#include "daemon/stats/metrics.h"
#include "daemon/store/store_redis.h"
#include "tests/lib/maps.h"
#include "tests/lib/proxy.h"
#include "tests/lib/redis.h"
#include "tests/lib/stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 40, WAIT_MS = 20000 };

static struct stores a_, b_;
static struct proxy way_; /* of the second store's */

static struct test_redis *server(void)
{
    return a_.place.server;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void await_well(struct stores *stores)
{
    struct tp_store_status status;
    for (uint64_t until = now_ms() + WAIT_MS; stores->store->ops->status(stores->store, &status), status.state != TP_STORE_OK; pause_ms(5))
        ck_assert_msg(now_ms() < until, "the store says '%s'", status.reason);
}

/* Opens the second store anew, over the proxy. */
static void open_b(const char *options)
{
    char reason[160], url[64];
    snprintf(url, sizeof url, "redis://127.0.0.1:%u%s", way_.port, options);
    __typeof__(b_.store->event) event = b_.store->event;
    stores_close(&b_);
    ck_assert_int_eq(tp_store_redis_open(&b_.store, url, NULL, b_.place.metrics, reason), 0);
    tp_store_attach(b_.store, event, &b_, &b_.held);
}

static void setup(void)
{
    int row = 0;
    while (row < stores_row_count - 1 && strcmp(stores_rows[row].name, "redis") != 0)
        row++;
    stores_begin(&a_, row);
    stores_begin_beside(&b_, &a_);
    proxy_start(&way_, server()->port);
    open_b("");
    await_well(&b_);
    struct tp_map *map = stores_grid(SIDE, SIDE, 5);
    stores_expect_at(&a_, stores_put(&a_, "m", map, false), TP_STORE_BEGUN, 5, 1);
    tp_map_unref(map);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
}

static void teardown(void)
{
    stores_end(&b_);
    proxy_end(&way_);
    stores_end(&a_);
}

static struct stores_call *submit(struct stores *stores, uint32_t x, uint32_t y)
{
    struct tp_batch batch = stores_cell(x, y, '@', 0);
    return stores_submit(stores, "m", &batch);
}

static void expect_alike(void)
{
    struct stores_call *last = submit(&a_, 0, 0);
    stores_settle(&a_);
    ck_assert_int_eq(last->event.kind, TP_STORE_VERSION);
    stores_await(&b_, "m", last->event.map->epoch, last->event.map->version);
    stores_expect_same(stores_stands(&a_, "m"), stores_stands(&b_, "m"));
}

/* Likewise, but perhaps in a new epoch that one of them begins yet: one's batches came into the log before the other had put back what it knew. */
static void await_alike(void)
{
    for (uint64_t until = now_ms() + WAIT_MS;; pause_ms(20)) {
        stores_settle(&a_);
        stores_settle(&b_);
        const struct tp_map *one = stores_stands(&a_, "m"), *other = stores_stands(&b_, "m");
        if (one != NULL && other != NULL && one->epoch == other->epoch && one->version == other->version)
            break;
        ck_assert_msg(now_ms() < until, "never alike");
    }
    stores_expect_same(stores_stands(&a_, "m"), stores_stands(&b_, "m"));
}

/* Two whose clocks are behind take the same epoch for what they put in place of a map: one of them is raised. */
START_TEST(test_same_epoch)
{
    for (uint32_t round = 1; round < 6; round++) {
        struct tp_map *one = stores_grid(SIDE + round, SIDE, 5 + round), *other = stores_grid(SIDE, SIDE + round, 5 + round);
        struct stores_call *puts[2] = {stores_put(&a_, "m", one, true), stores_put(&b_, "m", other, true)};
        uint64_t from = now_ms();
        stores_settle(&a_);
        stores_settle(&b_);
        for (int i = 0; i < 2; i++)
            if (puts[i]->event.kind != TP_STORE_BEGUN)
                ck_abort_msg("round %u: put %d is refused with %s: %s after %llu ms", round, i, tp_error_name(puts[i]->event.error),
                             puts[i]->event.reason, (unsigned long long)(now_ms() - from));
        ck_assert_uint_ne(puts[0]->event.map->epoch, puts[1]->event.map->epoch);
        ck_assert_uint_lt(now_ms() - from, 5000);
        expect_alike();
        tp_map_unref(one);
        tp_map_unref(other);
    }
}
END_TEST

/* Batches that are in the log are trimmed before their store has read them, since the map was put twice meanwhile. */
START_TEST(test_trimmed_in_flight)
{
    proxy_delay(&way_, PROXY_BACK, 400);
    enum { BATCHES = 20 };
    struct stores_call *calls[BATCHES];
    for (uint32_t i = 0; i < BATCHES; i++)
        calls[i] = submit(&b_, i, 1);
    pause_ms(100);
    for (uint64_t epoch = 6; epoch < 8; epoch++) {
        struct tp_map *map = stores_grid(SIDE, SIDE, epoch);
        stores_expect_at(&a_, stores_put(&a_, "m", map, true), TP_STORE_BEGUN, epoch, 1);
        tp_map_unref(map);
    }
    uint64_t from = now_ms();
    stores_settle(&b_);
    uint64_t took = now_ms() - from;
    ck_assert_msg(took < 5000, "the batches had no answer for %llu ms", (unsigned long long)took);
    for (uint32_t i = 0; i < BATCHES; i++)
        if (calls[i]->event.kind != TP_STORE_VERSION)
            ck_assert_int_eq(calls[i]->event.error, TP_ERR_UNAVAILABLE);
    proxy_delay(&way_, PROXY_BACK, 0);
    expect_alike();
}
END_TEST

/* Another's snapshots trim the log past a store that reads it late: nothing is lost, and nobody is told that something was. */
START_TEST(test_trimmed_behind)
{
    uint64_t loads = b_.place.metrics->store_loads;
    proxy_delay(&way_, PROXY_BACK, 300);
    struct stores_call *last = NULL;
    for (uint32_t i = 0; i < 100; i++) {
        last = submit(&a_, i % SIDE, 1 + i / SIDE);
        if (i % 10 == 9) {
            stores_settle(&a_);
            pause_ms(100); /* a snapshot takes seven changes, and is looked for every 50 ms */
        }
    }
    const struct tp_map *stands;
    for (uint64_t until = now_ms() + WAIT_MS; stands = stores_stands(&b_, "m"), stands->version < last->event.map->version; pause_ms(5)) {
        struct tp_store_status status;
        b_.store->ops->status(b_.store, &status);
        ck_assert_msg(status.state == TP_STORE_OK, "the store says '%s'", status.reason);
        ck_assert_msg(now_ms() < until, "never there");
    }
    ck_assert_msg(!TP_METRICS || b_.place.metrics->store_loads > loads, "the log was not trimmed past it");
    ck_assert_uint_eq(b_.place.metrics->store_restores, 0);
    proxy_delay(&way_, PROXY_BACK, 0);
    expect_alike();
}
END_TEST

/* A store is slow to load a map whose log has several pages; meanwhile another's snapshots trim the log past the page that was read last. What is
 * behind the gap is not read on as if nothing were missing. */
START_TEST(test_trimmed_between_pages)
{
    enum { BATCHES = 3500, DELAY_MS = 400 }; /* a page has a thousand */
    stores_close(&a_);
    for (uint32_t i = 0; i < BATCHES; i++) {
        submit(&b_, i % SIDE, i / SIDE % SIDE);
        if (i % 500 == 499)
            stores_settle(&b_);
    }
    open_b("");
    await_well(&b_);
    uint64_t read = b_.place.metrics->store_entries_read;
    proxy_delay(&way_, PROXY_BACK, DELAY_MS);
    struct stores_call *load = stores_load(&b_, "m");
    for (uint64_t until = now_ms() + WAIT_MS; TP_METRICS && b_.place.metrics->store_entries_read == read; pause_ms(1))
        ck_assert_msg(now_ms() < until, "no page was read");
    stores_open(&a_);
    stores_expect_at(&a_, stores_load(&a_, "m"), TP_STORE_LOADED, 5, BATCHES + 1);
    for (uint32_t i = 0; i < 40; i++) {
        submit(&a_, i, i);
        if (i % 8 == 7) {
            stores_settle(&a_);
            pause_ms(60); /* a snapshot takes seven changes, and is looked for every 50 ms */
        }
    }
    stores_settle(&b_);
    ck_assert_int_eq(load->event.kind, TP_STORE_LOADED);
    ck_assert_uint_gt(load->event.map->version, BATCHES + 1); /* else nothing was trimmed meanwhile */
    proxy_delay(&way_, PROXY_BACK, 0);
    expect_alike();
}
END_TEST

/* How many WAITs the server was given. */
static unsigned long wait_count(void)
{
    static const char script[] = "return tonumber(string.match(redis.call('INFO','commandstats'),'cmdstat_wait:calls=(%d+)') or '0')";
    const char *answer = test_redis_ask(server(), 3, (const char *[]){"EVAL", script, "0"});
    ck_assert_msg(answer[0] >= '0' && answer[0] <= '9', "INFO: %s", answer);
    return strtoul(answer, NULL, 10);
}

/* No replica is there: every change is told so in time, and the connection is not given up for it. The first store is closed meanwhile: its snapshots
 * would trim the log past the other where that is slow to read, and to load the map again takes longer. */
START_TEST(test_no_replica)
{
    open_b("?wait=1");
    pause_ms(300);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    stores_close(&a_);
    uint64_t taken = proxy_count(&way_).taken;
    enum { BATCHES = 400 };
    struct stores_call *calls[BATCHES];
    for (uint32_t i = 0; i < BATCHES; i++) {
        calls[i] = submit(&b_, i % SIDE, i / SIDE);
        pause_ms(10);
    }
    unsigned long before = wait_count();
    stores_settle(&b_);
    unsigned long waits = wait_count();
    for (uint32_t i = 0; i < BATCHES; i++) {
        ck_assert_int_eq(calls[i]->event.error, TP_ERR_UNAVAILABLE);
        ck_assert(calls[i]->event.is_unknown);
    }
    /* one was under way, the next was the last change's; one more may have begun since: each takes a second at most */
    ck_assert_msg(waits > 0 && waits - before <= 3, "%lu WAITs, %lu of them until the last change was told", waits, waits - before);
    ck_assert_uint_eq(proxy_count(&way_).taken, taken);
    uint64_t from = now_ms();
    stores_close(&b_);
    ck_assert_uint_lt(now_ms() - from, 4000);
    struct stores *all[] = {&a_, &b_};
    for (int i = 0; i < 2; i++) {
        stores_open(all[i]);
        stores_load(all[i], "m");
        stores_settle(all[i]);
    }
    expect_alike();
}
END_TEST

/* Where replicas are too few and nothing is written, they are asked for all the same; maps are read between that. */
START_TEST(test_loads_without_replica)
{
    enum { MAPS = 5 };
    char names[MAPS][16];
    struct tp_map *map = stores_grid(SIDE, SIDE, 5);
    for (int i = 0; i < MAPS; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        stores_expect_at(&a_, stores_put(&a_, names[i], map, false), TP_STORE_BEGUN, 5, 1);
    }
    tp_map_unref(map);
    open_b("?wait=1");
    await_well(&b_);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    stores_expect(&b_, submit(&b_, 1, 1), TP_STORE_REFUSED, TP_ERR_UNAVAILABLE);
    uint64_t quickest = UINT64_MAX; /* of some: the machine may be busy */
    for (int i = 0; i < MAPS; i++) {
        pause_ms(300);
        uint64_t from = now_ms();
        stores_expect_at(&b_, stores_load(&b_, names[i]), TP_STORE_LOADED, 5, 1);
        if (now_ms() - from < quickest)
            quickest = now_ms() - from;
    }
    struct tp_store_status status;
    b_.store->ops->status(b_.store, &status);
    ck_assert_int_eq(status.state, TP_STORE_DEGRADED);
    ck_assert_msg(quickest < 600, "the quickest of %d maps was loaded after %llu ms", MAPS, (unsigned long long)quickest);
}
END_TEST

static void ask(int argc, const char **argv)
{
    const char *answer = test_redis_ask(server(), argc, argv);
    ck_assert_msg(answer[0] != '-', "%s: %s", argv[0], answer);
}

/* One of the map's keys, or the list, is deleted by hand while the stores submit. */
START_TEST(test_key_deleted)
{
    static const char *const keys[] = {"tickpath:{m}:log", "tickpath:{m}:snaps", "tickpath:maps"};
    for (uint32_t i = 0; i < 30; i++) {
        submit(&a_, i, 3);
        submit(&b_, i, 4);
    }
    ask(2, (const char *[]){"DEL", keys[_i]});
    for (uint32_t i = 0; i < 30; i++) {
        submit(&a_, i, 5);
        submit(&b_, i, 6);
    }
    uint64_t from = now_ms();
    stores_settle(&a_);
    stores_settle(&b_);
    ck_assert_uint_lt(now_ms() - from, 5000);
    struct stores_call *last;
    for (uint64_t until = now_ms() + WAIT_MS;; pause_ms(20)) {
        last = submit(&a_, 9, 9);
        stores_settle(&a_);
        if (last->event.kind == TP_STORE_VERSION)
            break;
        ck_assert_msg(now_ms() < until, "not taken again: %s", last->event.reason);
    }
    await_alike();
    /* who comes now finds it, once it was put back */
    stores_close(&b_);
    stores_open(&b_);
    for (uint64_t until = now_ms() + WAIT_MS;; pause_ms(50)) {
        struct stores_call *load = stores_load(&b_, "m");
        stores_settle(&b_);
        if (load->event.kind == TP_STORE_LOADED)
            break;
        ck_assert_msg(now_ms() < until, "it is not put back");
    }
    expect_alike();
}
END_TEST

/* Redis stands still just after it took what was sent, until the store gave up; then it goes on. */
START_TEST(test_lands_late)
{
    stores_expect_at(&b_, submit(&b_, 9, 9), TP_STORE_VERSION, 5, 2); /* it has looked at the log, and sends what comes at once */
    proxy_delay(&way_, PROXY_BACK, 300);
    struct stores_call *calls[10];
    for (uint32_t i = 0; i < 10; i++)
        calls[i] = submit(&b_, i, 2);
    pause_ms(50);
    test_redis_freeze(server());
    for (uint32_t i = 0; i < 5; i++)
        submit(&b_, i, 7);
    stores_settle(&b_);
    test_redis_thaw(server());
    proxy_delay(&way_, PROXY_BACK, 0);
    await_well(&a_);
    await_well(&b_);
    for (int i = 0; i < 10; i++)
        ck_assert(calls[i]->event.kind == TP_STORE_VERSION || (calls[i]->event.error == TP_ERR_UNAVAILABLE && calls[i]->event.is_unknown));
    pause_ms(1500);
    expect_alike();
}
END_TEST

/* Three stores do anything to a few maps at random, while one of the ways is cut now and then. */
START_TEST(test_anything)
{
    struct tp_test_rng rng = tp_test_rng("anything");
    struct stores c;
    stores_begin_beside(&c, &a_);
    struct stores *all[3] = {&a_, &b_, &c};
    char name[16];
    uint64_t epoch = 10, steps = tp_test_steps(3000, 100000);
    for (uint64_t i = 0; i < steps; i++) {
        struct stores *to = all[tp_test_below(&rng, 3)];
        uint32_t what = tp_test_below(&rng, 1000);
        snprintf(name, sizeof name, "n%u", tp_test_below(&rng, 3));
        if (what < 30) {
            epoch += tp_test_below(&rng, 2);
            struct tp_map *map = stores_grid(SIDE, SIDE, epoch);
            stores_put(to, name, map, tp_test_percent(&rng, 70));
            tp_map_unref(map);
        } else if (what < 50) {
            stores_drop(to, name);
        } else if (what < 55) {
            stores_drop_epoch(to, name, epoch);
        } else if (what < 80) {
            stores_load(to, name);
        } else if (what < 83) {
            proxy_cut(&way_);
        } else if (what < 85) {
            proxy_cut_after(&way_, tp_test_percent(&rng, 50) ? PROXY_THERE : PROXY_BACK, tp_test_below(&rng, 3000));
        } else if (what < 88) {
            proxy_delay(&way_, tp_test_percent(&rng, 50) ? PROXY_THERE : PROXY_BACK, tp_test_below(&rng, 40));
        } else if (what < 120) {
            stores_settle(to);
        } else if (what < 150) {
            pause_ms((long)tp_test_below(&rng, 20));
        } else {
            struct tp_batch batch = stores_cell(tp_test_below(&rng, SIDE), tp_test_below(&rng, SIDE), tp_test_percent(&rng, 50) ? '@' : '.',
                                                tp_test_percent(&rng, 30) ? 1 + tp_test_below(&rng, 500) : 0);
            batch.has_epoch = tp_test_percent(&rng, 10);
            batch.epoch = epoch;
            stores_submit(to, name, &batch);
        }
    }
    proxy_delay(&way_, PROXY_THERE, 0);
    proxy_delay(&way_, PROXY_BACK, 0);
    uint64_t from = now_ms();
    for (int s = 0; s < 3; s++)
        stores_settle(all[s]);
    uint64_t took = now_ms() - from;
    ck_assert_msg(took < 8000, "the last answer took %llu ms", (unsigned long long)took);
    await_well(&b_);
    for (int n = 0; n < 3; n++) {
        snprintf(name, sizeof name, "n%d", n);
        struct stores_call *loads[3];
        bool are_alike = false;
        for (uint64_t until = now_ms() + WAIT_MS; !are_alike; pause_ms(20)) { /* what another did may not be read yet */
            for (int s = 0; s < 3; s++)
                loads[s] = stores_load(all[s], name);
            for (int s = 0; s < 3; s++)
                stores_settle(all[s]);
            are_alike = loads[1]->event.kind == loads[0]->event.kind && loads[2]->event.kind == loads[0]->event.kind &&
                        (loads[0]->event.kind == TP_STORE_LOADED || loads[0]->event.error == TP_ERR_NOT_FOUND);
            if (!are_alike && now_ms() > until)
                ck_abort_msg("%s: they are told %s, %s and %s", name, tp_error_name(loads[0]->event.error), tp_error_name(loads[1]->event.error),
                             tp_error_name(loads[2]->event.error));
        }
        if (loads[0]->event.kind != TP_STORE_LOADED)
            continue;
        struct tp_batch batch = stores_cell(0, 0, '@', 0);
        struct stores_call *last = stores_submit(&a_, name, &batch);
        stores_settle(&a_);
        ck_assert_int_eq(last->event.kind, TP_STORE_VERSION);
        for (int s = 1; s < 3; s++) {
            stores_await(all[s], name, last->event.map->epoch, last->event.map->version);
            stores_expect_same(stores_stands(&a_, name), stores_stands(all[s], name));
        }
        /* and one that is opened now */
        stores_close(&c);
        stores_open(&c);
        stores_load(&c, name);
        stores_settle(&c);
        stores_expect_same(stores_stands(&a_, name), stores_stands(&c, name));
    }
    stores_end(&c);
}
END_TEST

/* A store does not hear for a while; meanwhile the map is put anew twice, so that the log is trimmed, and dropped. */
START_TEST(test_dropped_meanwhile)
{
    proxy_refuse(&way_, true);
    proxy_cut(&way_);
    for (uint64_t epoch = 6; epoch < 9; epoch++) {
        struct tp_map *map = stores_grid(SIDE, SIDE, epoch);
        stores_expect_at(&a_, stores_put(&a_, "m", map, true), TP_STORE_BEGUN, epoch, 1);
        tp_map_unref(map);
    }
    stores_expect(&a_, stores_drop(&a_, "m"), TP_STORE_DROPPED, 0);
    proxy_refuse(&way_, false);
    uint64_t from = now_ms();
    stores_await(&b_, "m", 0, 0);
    ck_assert_uint_lt(now_ms() - from, 10000);
    stores_expect(&a_, stores_load(&a_, "m"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
}
END_TEST

static Suite *redis_meetings_suite(void)
{
    Suite *suite = suite_create("redis_meetings");
    TCase *puts = tcase_create("puts"), *lost = tcase_create("lost"), *random = tcase_create("random"), *all[] = {puts, lost, random};
    tcase_add_test(puts, test_same_epoch);
    tcase_add_test(puts, test_trimmed_in_flight);
    tcase_add_test(puts, test_trimmed_behind);
    tcase_add_test(puts, test_dropped_meanwhile);
    tcase_add_test(lost, test_no_replica);
    tcase_add_test(lost, test_loads_without_replica);
    tcase_add_loop_test(lost, test_key_deleted, 0, 3);
    tcase_add_test(lost, test_trimmed_between_pages);
    tcase_add_test(lost, test_lands_late);
    tcase_add_test(random, test_anything);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tcase_add_checked_fixture(all[i], setup, teardown);
        suite_add_tcase(suite, all[i]);
    }
    return suite;
}

int main(void)
{
    return tp_test_main("test_redis_meetings", redis_meetings_suite);
}
