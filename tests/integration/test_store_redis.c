/* The Redis store against a real redis-server: what it keeps, and what it says and does while Redis is away,
 * refuses, or is silent. */
#include "daemon/metrics.h"
#include "daemon/store_redis.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/redis.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAIT_MS = 20000 }; /* longest wait for anything */

static struct test_redis redis;
static struct tp_metrics *metrics;

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

/* ---- Calls, waited for ---- */

struct answer {
    pthread_mutex_t lock;
    pthread_cond_t came;
    int calls; /* completions so far */
    int error;
    struct tp_map *map;
    char reason[160];
    size_t names;
    char name[8][TP_WORLD_NAME_MAX + 1];
};

static void answer_init(struct answer *answer)
{
    memset(answer, 0, sizeof *answer);
    pthread_mutex_init(&answer->lock, NULL);
    pthread_cond_init(&answer->came, NULL);
}

static void answer_came(struct answer *answer, int error)
{
    answer->error = error;
    answer->calls++;
    pthread_cond_signal(&answer->came);
    pthread_mutex_unlock(&answer->lock);
}

static void answer_wait(struct answer *answer, int calls)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    pthread_mutex_lock(&answer->lock);
    while (answer->calls < calls)
        ck_assert_msg(pthread_cond_timedwait(&answer->came, &answer->lock, &until) == 0,
                      "no completion came");
    pthread_mutex_unlock(&answer->lock);
}

static void done_cb(int error, void *context)
{
    struct answer *answer = context;
    pthread_mutex_lock(&answer->lock);
    answer_came(answer, error);
}

static void loaded_cb(int error, struct tp_map *map, struct tp_keys *keys, const char *reason, void *context)
{
    (void)keys;
    struct answer *answer = context;
    pthread_mutex_lock(&answer->lock);
    answer->map = map;
    snprintf(answer->reason, sizeof answer->reason, "%s", reason ? reason : "");
    answer_came(answer, error);
}

static void listed_cb(int error, const char *const *names, size_t count, void *context)
{
    struct answer *answer = context;
    pthread_mutex_lock(&answer->lock);
    answer->names = count;
    for (size_t i = 0; i < count && i < 8; i++)
        snprintf(answer->name[i], sizeof answer->name[i], "%s", names[i]);
    answer_came(answer, error);
}

static int put(struct tp_store *store, const char *name, const struct tp_map *map)
{
    struct answer answer;
    answer_init(&answer);
    store->ops->put(store, name, map, done_cb, &answer);
    answer_wait(&answer, 1);
    return answer.error;
}

/* Gives the map in *out; the words of a refusal in reason[160] unless NULL. */
static int load(struct tp_store *store, const char *name, struct tp_map **out, char *reason)
{
    struct answer answer;
    answer_init(&answer);
    store->ops->load(store, name, loaded_cb, &answer);
    answer_wait(&answer, 1);
    *out = answer.map;
    if (reason)
        strcpy(reason, answer.reason);
    return answer.error;
}

static struct tp_store *open_url(const char *url)
{
    struct tp_store *store;
    char reason[160];
    ck_assert_msg(tp_store_redis_open(&store, url, metrics, reason) == 0, "%s", reason);
    ck_assert_str_eq(store->ops->name, "redis");
    ck_assert(!store->is_volatile);
    ck_assert(store->serves_degraded);
    return store;
}

static struct tp_store_status status_of(struct tp_store *store)
{
    struct tp_store_status status;
    store->ops->status(store, &status);
    return status;
}

static void wait_for_state(struct tp_store *store, enum tp_store_state state)
{
    uint64_t until = now_ms() + WAIT_MS;
    while (status_of(store).state != state) {
        ck_assert_msg(now_ms() < until, "the store's state never became %d: %s", (int)state,
                      status_of(store).reason);
        pause_ms(5);
    }
}

/* Waits until the store says degraded with these words in its reason. */
static void wait_for_reason(struct tp_store *store, const char *words)
{
    uint64_t until = now_ms() + WAIT_MS;
    for (;;) {
        struct tp_store_status status = status_of(store);
        if (status.state == TP_STORE_DEGRADED && strstr(status.reason, words))
            return;
        ck_assert_msg(now_ms() < until, "the store says '%s', and never '%s'", status.reason, words);
        pause_ms(5);
    }
}

static void assert_same(const struct tp_map *a, const struct tp_map *b)
{
    ck_assert_uint_eq(a->width, b->width);
    ck_assert_uint_eq(a->height, b->height);
    ck_assert_uint_eq(a->epoch, b->epoch);
    ck_assert_uint_eq(a->version, b->version);
    ck_assert_uint_eq(a->passable_cells, b->passable_cells);
    ck_assert(memcmp(&a->profile, &b->profile, sizeof a->profile) == 0);
    size_t cells = (size_t)a->width * a->height;
    uint8_t *cells_a = malloc(cells), *cells_b = malloc(cells);
    tp_map_copy_cells(a, cells_a);
    tp_map_copy_cells(b, cells_b);
    ck_assert(memcmp(cells_a, cells_b, cells) == 0);
    free(cells_a);
    free(cells_b);
}

/* Asserts that another store, opened now, finds the same map in Redis. */
static void assert_kept(const char *url, const char *name, const struct tp_map *map)
{
    struct tp_store *other = open_url(url);
    struct tp_map *kept;
    ck_assert_int_eq(load(other, name, &kept, NULL), 0);
    assert_same(kept, map);
    tp_map_unref(kept);
    other->ops->close(other);
}

static void setup(void)
{
    test_redis_init(&redis);
    metrics = tp_metrics_new("store");
    ck_assert_ptr_nonnull(metrics);
}

static void teardown(void)
{
    test_redis_fini(&redis);
    free(metrics);
}

/* ---- Redis is there ---- */

START_TEST(test_round_trip)
{
    test_redis_start(&redis);
    struct tp_test_rng rng = tp_test_rng("round trip");
    struct tp_map *a = tp_test_map_random(&rng, 150, 70, 30), *b = tp_test_map("..@\n.G.\n"), *got;
    struct tp_store *store = open_url(redis.url);

    ck_assert_int_eq(load(store, "games/a", &got, NULL), TP_ERR_NOT_FOUND);
    ck_assert_int_eq(put(store, "games/a", a), 0);
    ck_assert_int_eq(put(store, "b", b), 0);
    ck_assert_int_eq(status_of(store).state, TP_STORE_OK);
    ck_assert_str_eq(status_of(store).reason, "");
    ck_assert_int_eq(load(store, "games/a", &got, NULL), 0);
    assert_same(got, a);
    tp_map_unref(got);

    struct answer answer;
    answer_init(&answer);
    store->ops->list(store, listed_cb, &answer);
    answer_wait(&answer, 1);
    ck_assert_int_eq(answer.error, 0);
    ck_assert_uint_eq(answer.names, 2);
    bool a_first = strcmp(answer.name[0], "games/a") == 0;
    ck_assert_str_eq(answer.name[a_first ? 0 : 1], "games/a");
    ck_assert_str_eq(answer.name[a_first ? 1 : 0], "b");
    store->ops->close(store);

    /* by another store, and after a restart of Redis */
    assert_kept(redis.url, "games/a", a);
    test_redis_kill(&redis);
    test_redis_start(&redis);
    assert_kept(redis.url, "b", b);
    ck_assert_uint_eq(metrics->store_writes, 2);
    ck_assert_uint_eq(metrics->store_snapshots, 2);
    ck_assert_uint_gt(metrics->store_written_bytes, 1000);
    ck_assert_uint_eq(metrics->store_errors, 0);
    tp_map_unref(a);
    tp_map_unref(b);
}
END_TEST

START_TEST(test_appends_keep_the_newest)
{
    test_redis_start(&redis);
    enum { VERSIONS = 200 };
    struct tp_test_rng rng = tp_test_rng("appends");
    struct tp_map *map = tp_test_map_free(64, 64);
    struct tp_store *store = open_url(redis.url);
    struct answer answer;
    answer_init(&answer);
    store->ops->put(store, "m", map, done_cb, &answer);
    for (int i = 0; i < VERSIONS; i++) {
        tp_test_set(&map, tp_test_below(&rng, 64), tp_test_below(&rng, 64),
                    tp_test_percent(&rng, 50) ? '@' : '.');
        store->ops->append(store, "m", map, "", 0, done_cb, &answer);
    }
    answer_wait(&answer, VERSIONS + 1);
    ck_assert_int_eq(answer.error, 0);
    ck_assert_uint_eq(map->version, VERSIONS + 1);
    assert_kept(redis.url, "m", map);
    /* what was queued together was written together */
    ck_assert_uint_le(metrics->store_writes, VERSIONS + 1);
    ck_assert_uint_eq(metrics->store_writes, metrics->store_syncs);
    store->ops->close(store);
    tp_map_unref(map);
}
END_TEST

/* A load queued behind a write sees it, whatever is queued behind it. */
START_TEST(test_order_of_calls)
{
    test_redis_start(&redis);
    struct tp_store *store = open_url(redis.url);
    struct tp_map *map = tp_test_map_free(9, 9);
    struct answer first, loaded, second;
    answer_init(&first);
    answer_init(&loaded);
    answer_init(&second);
    const struct tp_map *one = tp_map_ref(map);
    store->ops->put(store, "m", one, done_cb, &first);
    store->ops->load(store, "m", loaded_cb, &loaded);
    tp_test_set(&map, 3, 3, '@');
    store->ops->append(store, "m", map, "", 0, done_cb, &second);
    answer_wait(&second, 1);
    ck_assert_int_eq(first.calls, 1);
    ck_assert_int_eq(loaded.calls, 1);
    ck_assert_int_eq(loaded.error, 0);
    assert_same(loaded.map, one);
    tp_map_unref(loaded.map);
    tp_map_unref(one);
    assert_kept(redis.url, "m", map);
    store->ops->close(store);
    tp_map_unref(map);
}
END_TEST

/* Two stores with prefixes of their own, in databases of their own, don't see each other. */
START_TEST(test_prefix_and_database)
{
    test_redis_start(&redis);
    struct tp_map *map = tp_test_map_free(5, 5), *got;
    char url[128];
    snprintf(url, sizeof url, "%s?prefix=one%%3A", redis.url);
    struct tp_store *one = open_url(url);
    snprintf(url, sizeof url, "%s/3", redis.url);
    struct tp_store *three = open_url(url);
    struct tp_store *plain = open_url(redis.url);
    ck_assert_int_eq(put(one, "m", map), 0);
    ck_assert_int_eq(load(three, "m", &got, NULL), TP_ERR_NOT_FOUND);
    ck_assert_int_eq(load(plain, "m", &got, NULL), TP_ERR_NOT_FOUND);
    ck_assert_int_eq(put(three, "m", map), 0);
    ck_assert_int_eq(load(plain, "m", &got, NULL), TP_ERR_NOT_FOUND);
    ck_assert_str_eq(test_redis_ask(&redis, 2, (const char *[]){"EXISTS", "one:map:m"}), "1");
    ck_assert_str_eq(test_redis_ask(&redis, 2, (const char *[]){"TYPE", "one:maps"}), "set");
    one->ops->close(one);
    three->ops->close(three);
    plain->ops->close(plain);
    tp_map_unref(map);
}
END_TEST

START_TEST(test_bad_values)
{
    test_redis_start(&redis);
    struct tp_store *store = open_url(redis.url);
    struct tp_map *got;
    char reason[160];
    test_redis_ask(&redis, 3, (const char *[]){"SET", "tickpath:map:garbage", "no snapshot at all"});
    ck_assert_int_eq(load(store, "garbage", &got, reason), TP_ERR_CORRUPT);
    ck_assert_str_ne(reason, "");
    test_redis_ask(&redis, 3, (const char *[]){"SET", "tickpath:map:empty", ""});
    ck_assert_int_eq(load(store, "empty", &got, reason), TP_ERR_CORRUPT);
    ck_assert_str_ne(reason, "");
    test_redis_ask(&redis, 3, (const char *[]){"SADD", "tickpath:map:set", "x"});
    ck_assert_int_eq(load(store, "set", &got, reason), TP_ERR_CORRUPT);
    ck_assert_str_ne(reason, "");
    ck_assert_int_eq(status_of(store).state, TP_STORE_OK); /* the value is bad, not the store */
    store->ops->close(store);
}
END_TEST

START_TEST(test_password)
{
    strcpy(redis.password, "open%sesame");
    test_redis_start(&redis);
    char url[128];
    struct tp_map *map = tp_test_map_free(5, 5);

    struct tp_store *store = open_url(redis.url); /* none given */
    wait_for_reason(store, "NOAUTH");
    ck_assert_int_eq(put(store, "m", map), TP_ERR_UNAVAILABLE);
    store->ops->close(store);

    snprintf(url, sizeof url, "redis://:close-sesame@127.0.0.1:%u", redis.port);
    store = open_url(url);
    wait_for_reason(store, "AUTH");
    ck_assert_int_eq(put(store, "m", map), TP_ERR_UNAVAILABLE);
    ck_assert_ptr_null(strstr(status_of(store).reason, "sesame"));
    store->ops->close(store);

    snprintf(url, sizeof url, "redis://:open%%25sesame@127.0.0.1:%u", redis.port);
    store = open_url(url);
    ck_assert_int_eq(put(store, "m", map), 0);
    store->ops->close(store);
    snprintf(url, sizeof url, "redis://default:open%%25sesame@127.0.0.1:%u", redis.port);
    assert_kept(url, "m", map);
    tp_map_unref(map);
}
END_TEST

/* ---- Redis is not ---- */

START_TEST(test_away_at_start)
{
    struct tp_map *a = tp_test_map_free(20, 20), *b = tp_test_map_free(3, 7), *got;
    struct tp_store *store = open_url(redis.url);
    uint64_t from = now_ms();
    ck_assert_int_eq(put(store, "a", a), TP_ERR_UNAVAILABLE);
    ck_assert_int_eq(put(store, "b", b), TP_ERR_UNAVAILABLE);
    ck_assert_int_eq(load(store, "c", &got, NULL), TP_ERR_UNAVAILABLE);
    struct answer answer;
    answer_init(&answer);
    store->ops->list(store, listed_cb, &answer);
    answer_wait(&answer, 1);
    ck_assert_int_eq(answer.error, TP_ERR_UNAVAILABLE);
    ck_assert_uint_lt(now_ms() - from, 3000);
    wait_for_reason(store, "2 maps not written yet");
    ck_assert_ptr_nonnull(strstr(status_of(store).reason, "refused"));
    /* what is not written is still what this store holds */
    ck_assert_int_eq(load(store, "a", &got, NULL), 0);
    assert_same(got, a);
    tp_map_unref(got);

    test_redis_start(&redis);
    wait_for_state(store, TP_STORE_OK);
    assert_kept(redis.url, "a", a);
    assert_kept(redis.url, "b", b);
    store->ops->close(store);
    tp_map_unref(a);
    tp_map_unref(b);
}
END_TEST

START_TEST(test_killed_and_back)
{
    test_redis_start(&redis);
    struct tp_map *map = tp_test_map_free(40, 40), *got;
    struct tp_store *store = open_url(redis.url);
    ck_assert_int_eq(put(store, "m", map), 0);
    for (int round = 0; round < 2; round++) {
        test_redis_kill(&redis);
        /* said without a call that finds out: an idle link is probed */
        wait_for_state(store, TP_STORE_DEGRADED);
        for (uint32_t i = 0; i < 5; i++) {
            tp_test_set(&map, i, (uint32_t)round, '@');
            struct answer answer;
            answer_init(&answer);
            store->ops->append(store, "m", map, "", 0, done_cb, &answer);
            answer_wait(&answer, 1);
            ck_assert_int_eq(answer.error, TP_ERR_UNAVAILABLE);
        }
        test_redis_start(&redis);
        wait_for_state(store, TP_STORE_OK);
        assert_kept(redis.url, "m", map);
        ck_assert_int_eq(load(store, "m", &got, NULL), 0);
        assert_same(got, map);
        tp_map_unref(got);
    }
    ck_assert_uint_ge(metrics->store_errors, 2);
    store->ops->close(store);
    tp_map_unref(map);
}
END_TEST

/* A Redis that takes the connection and says nothing is away like any other, and nobody waits long for it. */
START_TEST(test_silent)
{
    test_redis_start(&redis);
    struct tp_map *map = tp_test_map_free(40, 40);
    struct tp_store *store = open_url(redis.url);
    ck_assert_int_eq(put(store, "m", map), 0);
    test_redis_freeze(&redis);
    tp_test_set(&map, 1, 1, '@');
    uint64_t from = now_ms();
    ck_assert_int_eq(put(store, "m", map), TP_ERR_UNAVAILABLE);
    ck_assert_uint_lt(now_ms() - from, 4000);
    wait_for_reason(store, "no answer in time");
    test_redis_thaw(&redis);
    wait_for_state(store, TP_STORE_OK);
    assert_kept(redis.url, "m", map);
    store->ops->close(store);
    tp_map_unref(map);
}
END_TEST

/* A Redis that answers and refuses to write: degraded with its words, and not well again until it writes. */
START_TEST(test_refuses_writes)
{
    test_redis_start(&redis);
    struct tp_map *map = tp_test_map_free(40, 40);
    struct tp_store *store = open_url(redis.url);
    wait_for_state(store, TP_STORE_OK);
    test_redis_ask(&redis, 4, (const char *[]){"CONFIG", "SET", "maxmemory", "1"});
    ck_assert_int_eq(put(store, "m", map), TP_ERR_UNAVAILABLE);
    wait_for_reason(store, "OOM");
    for (int i = 0; i < 100; i++) { /* several tries long */
        ck_assert_int_eq(status_of(store).state, TP_STORE_DEGRADED);
        pause_ms(10);
    }
    test_redis_ask(&redis, 4, (const char *[]){"CONFIG", "SET", "maxmemory", "0"});
    wait_for_state(store, TP_STORE_OK);
    assert_kept(redis.url, "m", map);
    store->ops->close(store);
    tp_map_unref(map);
}
END_TEST

/* Closing does not wait for a Redis that is away, answers what waits, and writes what it can. */
START_TEST(test_close)
{
    struct tp_map *map = tp_test_map_free(40, 40);
    struct answer answer;
    answer_init(&answer);
    struct tp_store *store = open_url(redis.url);
    wait_for_reason(store, "refused");
    for (int i = 0; i < 10; i++)
        store->ops->put(store, i % 2 ? "a" : "b", map, done_cb, &answer);
    uint64_t from = now_ms();
    store->ops->close(store);
    ck_assert_uint_lt(now_ms() - from, 4000);
    ck_assert_int_eq(answer.calls, 10);
    ck_assert_int_eq(answer.error, TP_ERR_UNAVAILABLE);

    test_redis_start(&redis);
    store = open_url(redis.url);
    for (int i = 0; i < 10; i++)
        store->ops->put(store, i % 2 ? "a" : "b", map, done_cb, &answer);
    store->ops->close(store);
    ck_assert_int_eq(answer.calls, 20);
    ck_assert_int_eq(answer.error, 0);
    assert_kept(redis.url, "a", map);
    assert_kept(redis.url, "b", map);
    tp_map_unref(map);
}
END_TEST

static int drop(struct tp_store *store, const char *name, const struct tp_map *map)
{
    struct answer answer;
    answer_init(&answer);
    ck_assert_int_eq(store->ops->drop(store, name, map, done_cb, &answer), 0);
    answer_wait(&answer, 1);
    return answer.error;
}

/* A dropped map has no key left and is in no list; another one stands. While Redis is away nothing is dropped, and
 * the map is there afterwards. */
START_TEST(test_dropped)
{
    test_redis_start(&redis);
    struct tp_store *store = open_url(redis.url);
    wait_for_state(store, TP_STORE_OK);
    struct tp_map *map = tp_test_map_free(5, 4), *found;
    ck_assert_int_eq(put(store, "a", map), 0);
    ck_assert_int_eq(put(store, "b", map), 0);
    ck_assert_int_eq(drop(store, "a", map), 0);
    ck_assert_int_eq(load(store, "a", &found, NULL), TP_ERR_NOT_FOUND);
    struct answer answer;
    answer_init(&answer);
    store->ops->list(store, listed_cb, &answer);
    answer_wait(&answer, 1);
    ck_assert_uint_eq(answer.names, 1);
    ck_assert_str_eq(answer.name[0], "b");
    ck_assert_int_eq(drop(store, "a", NULL), 0); /* what is not there is dropped at once */
    assert_kept(redis.url, "b", map);

    test_redis_kill(&redis);
    wait_for_state(store, TP_STORE_DEGRADED);
    ck_assert_int_eq(drop(store, "b", map), TP_ERR_UNAVAILABLE);
    ck_assert_int_eq(put(store, "c", map), TP_ERR_UNAVAILABLE); /* dirty: it is written later */
    test_redis_start(&redis);
    wait_for_state(store, TP_STORE_OK);
    assert_kept(redis.url, "b", map);
    assert_kept(redis.url, "c", map);
    ck_assert_int_eq(drop(store, "c", map), 0);
    ck_assert_int_eq(load(store, "c", &found, NULL), TP_ERR_NOT_FOUND);

    /* no answer: Redis may have done it, and does it once it goes on; the map is refused to be dropped and stays */
    test_redis_freeze(&redis);
    ck_assert_int_eq(drop(store, "b", map), TP_ERR_UNAVAILABLE);
    ck_assert_int_eq(load(store, "b", &found, NULL), 0);
    assert_same(found, map);
    tp_map_unref(found);
    test_redis_thaw(&redis);
    wait_for_state(store, TP_STORE_OK);
    assert_kept(redis.url, "b", map);
    store->ops->close(store);
    tp_map_unref(map);
}
END_TEST

static Suite *store_redis_suite(void)
{
    Suite *suite = suite_create("store_redis");
    TCase *there = tcase_create("there");
    tcase_add_checked_fixture(there, setup, teardown);
    tcase_add_test(there, test_round_trip);
    tcase_add_test(there, test_appends_keep_the_newest);
    tcase_add_test(there, test_order_of_calls);
    tcase_add_test(there, test_prefix_and_database);
    tcase_add_test(there, test_bad_values);
    tcase_add_test(there, test_password);
    suite_add_tcase(suite, there);
    TCase *away = tcase_create("away");
    tcase_add_checked_fixture(away, setup, teardown);
    tcase_add_test(away, test_away_at_start);
    tcase_add_test(away, test_killed_and_back);
    tcase_add_test(away, test_silent);
    tcase_add_test(away, test_refuses_writes);
    tcase_add_test(away, test_close);
    tcase_add_test(away, test_dropped);
    suite_add_tcase(suite, away);
    return suite;
}

int main(void)
{
    return tp_test_main("test_store_redis", store_redis_suite);
}
