/* What is the Redis store's own, against a real redis-server: two stores that share maps, what is in Redis and how it is trimmed, and what is done
 * with keys, entries and snapshots that are damaged, foreign or gone. What every store promises is asked in tests/contract; faults of the
 * server are in tests/fault. */
#include "daemon/store/snapshot.h"
#include "daemon/store/store_redis.h"
#include "tests/lib/maps.h"
#include "tests/lib/redis.h"
#include "tests/lib/stores.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 70, WAIT_MS = 20000 };

static struct stores a_, b_;
static redisContext *link_;

static int redis_row(void)
{
    for (int i = 0; i < stores_row_count; i++)
        if (strcmp(stores_rows[i].name, "redis") == 0)
            return i;
    ck_abort_msg("no such row");
}

static void setup(void)
{
    stores_begin(&a_, redis_row());
    stores_begin_beside(&b_, &a_);
    link_ = redisConnect("127.0.0.1", ((struct test_redis *)a_.place.server)->port);
    ck_assert(link_ != NULL && link_->err == 0);
}

static void teardown(void)
{
    redisFree(link_);
    stores_end(&b_);
    stores_end(&a_);
}

/* A command of Redis; the reply is the caller's to free. */
static redisReply *ask(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(link_, format, arguments);
    va_end(arguments);
    ck_assert_msg(reply != NULL, "redis: %s", link_->errstr);
    ck_assert_msg(reply->type != REDIS_REPLY_ERROR, "%s: %s", format, reply->str);
    return reply;
}

#define DO(...) freeReplyObject(ask(__VA_ARGS__))

static long long ask_number(const char *command, const char *key)
{
    redisReply *reply = ask("%s %s", command, key);
    ck_assert_int_eq(reply->type, REDIS_REPLY_INTEGER);
    long long number = reply->integer;
    freeReplyObject(reply);
    return number;
}

/* The snapshots' fields, the one with the highest version first. Gives how many. */
static size_t snapshot_fields(const char *name, char fields[8][128])
{
    char key[200];
    size_t count = 0;
    unsigned long long versions[8];
    snprintf(key, sizeof key, "tickpath:{%s}:snaps", name);
    redisReply *reply = ask("HKEYS %s", key);
    for (size_t i = 0; i < reply->elements; i++) {
        unsigned long long epoch, version, ms, seq;
        if (sscanf(reply->element[i]->str, "%llu-%llu-%llu-%llu", &epoch, &version, &ms, &seq) != 4)
            continue;
        ck_assert_uint_lt(count, 8);
        size_t at = count++;
        for (; at > 0 && versions[at - 1] < version; at--) {
            versions[at] = versions[at - 1];
            strcpy(fields[at], fields[at - 1]);
        }
        versions[at] = version;
        snprintf(fields[at], 128, "%s", reply->element[i]->str);
    }
    freeReplyObject(reply);
    return count;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Waits until there are two snapshots and the newer is at this version or later. */
static void await_snapshots(const char *name, unsigned long long version)
{
    char fields[8][128];
    for (int tries = 0;; tries++) {
        unsigned long long epoch, newest = 0;
        size_t count = snapshot_fields(name, fields);
        if (count == 2 && sscanf(fields[0], "%llu-%llu", &epoch, &newest) == 2 && newest >= version)
            return;
        ck_assert_msg(tries < WAIT_MS / 20, "%zu snapshots, the newest of version %llu", count, newest);
        pause_ms(20);
    }
}

static void put_grid(const char *name, uint64_t epoch)
{
    struct tp_map *map = stores_grid(SIDE, SIDE, epoch);
    stores_expect_at(&a_, stores_put(&a_, name, map, true), TP_STORE_BEGUN, epoch, 1);
    tp_map_unref(map);
}

static struct stores_call *submit_cell(struct stores *stores, const char *name, uint32_t x, uint32_t y, uint8_t class_to)
{
    struct tp_batch batch = stores_cell(x, y, class_to, 0);
    return stores_submit(stores, name, &batch);
}

/* Changes enough for two snapshots and some entries behind them. Gives the version. */
static uint64_t change_much(const char *name, uint64_t epoch)
{
    uint64_t version = 1;
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < 8; i++, version++)
            submit_cell(&a_, name, i, round, '@');
        stores_settle(&a_);
        if (round > 0)
            await_snapshots(name, 8 * round);
    }
    struct stores_call *last = submit_cell(&a_, name, 60, 60, '@');
    stores_expect_at(&a_, last, TP_STORE_VERSION, epoch, ++version);
    return version;
}

/* ---- Two stores ---- */

START_TEST(test_each_sees_the_other)
{
    put_grid("m", 5);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    stores_expect_at(&a_, submit_cell(&a_, "m", 1, 1, '@'), TP_STORE_VERSION, 5, 2);
    stores_await(&b_, "m", 5, 2);
    stores_expect_at(&b_, submit_cell(&b_, "m", 2, 1, '@'), TP_STORE_VERSION, 5, 3);
    stores_await(&a_, "m", 5, 3);
    stores_expect_same(stores_stands(&a_, "m"), stores_stands(&b_, "m"));
    /* a key is known to both */
    struct tp_batch keyed = stores_cell(3, 1, '@', 77);
    stores_expect_at(&a_, stores_submit(&a_, "m", &keyed), TP_STORE_VERSION, 5, 4);
    struct stores_call *again = stores_submit(&b_, "m", &keyed);
    stores_expect(&b_, again, TP_STORE_REPEATED, 0);
    ck_assert_uint_eq(again->event.version, 4);
    /* a new life, and the end */
    put_grid("m", 9);
    stores_await(&b_, "m", 9, 1);
    stores_expect_at(&b_, submit_cell(&b_, "m", 2, 1, '@'), TP_STORE_VERSION, 9, 2);
    stores_await(&a_, "m", 9, 2);
    stores_expect(&b_, stores_drop(&b_, "m"), TP_STORE_DROPPED, 0);
    stores_await(&a_, "m", 0, 0);
    stores_expect(&a_, submit_cell(&a_, "m", 2, 1, '@'), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    ck_assert_uint_eq(stores_list(&a_)->count, 0);
    stores_expect(&b_, stores_load(&b_, "m"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    put_grid("m", 10);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 10, 1);
    ck_assert_uint_eq(stores_list(&b_)->count, 1);
}
END_TEST

/* A daemon whose clock is behind another's puts a map anew, and puts one that was dropped: the epoch is above the one before all the same. */
START_TEST(test_clocks_apart)
{
    put_grid("m", 1000);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 1000, 1);
    struct tp_map *behind = stores_grid(SIDE, SIDE, 5), *also = stores_grid(SIDE, SIDE, 1001);
    stores_expect_at(&b_, stores_put(&b_, "m", behind, true), TP_STORE_BEGUN, 1001, 1);
    stores_await(&a_, "m", 1001, 1);
    stores_expect_at(&a_, submit_cell(&a_, "m", 1, 1, '@'), TP_STORE_VERSION, 1001, 2);
    stores_expect(&b_, stores_drop(&b_, "m"), TP_STORE_DROPPED, 0);
    stores_await(&a_, "m", 0, 0);
    stores_expect_at(&a_, stores_put(&a_, "m", also, false), TP_STORE_BEGUN, 1002, 1);
    tp_map_unref(behind);
    tp_map_unref(also);
}
END_TEST

/* The list of names is lost: the maps that are held stand in it again, by themselves. */
START_TEST(test_names_lost)
{
    put_grid("m", 5);
    put_grid("n", 6);
    ck_assert_uint_eq(stores_list(&b_)->count, 2);
    freeReplyObject(ask("DEL tickpath:maps"));
    for (int tries = 0; stores_list(&b_)->count < 2; tries++) {
        ck_assert_int_lt(tries, WAIT_MS / 20);
        pause_ms(20);
    }
}
END_TEST

/* A batch that is on its way while another store puts the map anew is meant for the map that was, if its client said so, else for the new one. */
START_TEST(test_batches_meet_a_put)
{
    struct tp_test_rng rng = tp_test_rng("batches meet a put");
    put_grid("m", 5);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    for (uint64_t epoch = 6; epoch < 16; epoch++) {
        struct tp_map *map = stores_grid(SIDE + (uint32_t)epoch, SIDE, epoch);
        for (uint32_t i = 0; i < 20; i++) {
            struct tp_change change = {.kind = TP_CHANGE_CELL, .class_to = '@', .x = tp_test_below(&rng, SIDE * SIDE)};
            struct tp_batch batch = {.changes = &change, .count = 1}; /* a cell by its number */
            batch.has_epoch = i % 2 == 1;
            batch.epoch = epoch - 1;
            if (i == 10)
                stores_put(&a_, "m", map, true);
            stores_submit(&b_, "m", &batch);
        }
        stores_settle(&a_);
        stores_settle(&b_);
        struct stores_call *last = submit_cell(&b_, "m", 0, 0, '@');
        stores_settle(&b_);
        if (last->event.kind != TP_STORE_VERSION || last->event.map->epoch != epoch)
            ck_abort_msg("epoch %llu: event %d", (unsigned long long)epoch, last->event.kind);
        stores_await(&a_, "m", epoch, last->event.map->version);
        stores_expect_same(stores_stands(&a_, "m"), stores_stands(&b_, "m"));
        tp_map_unref(map);
    }
    for (const struct stores_call *call = b_.calls; call != NULL; call = call->next)
        if (call->kind == STORES_SUBMIT && call->event.kind == TP_STORE_REFUSED &&
            !(call->event.error == TP_ERR_VERSION_MISMATCH && call->batch.has_epoch))
            ck_abort_msg("a batch is refused with %s", tp_error_name(call->event.error));
}
END_TEST

/* Two stores submit at random; both end where the log, read by a model, ends. */
START_TEST(test_one_order)
{
    enum { WIDE = 40 };
    struct tp_test_rng rng = tp_test_rng("one order");
    struct stores *both[2] = {&a_, &b_};
    struct tp_map *map = stores_grid(WIDE, WIDE, 5);
    stores_expect_at(&a_, stores_put(&a_, "m", map, false), TP_STORE_BEGUN, 5, 1);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    uint64_t steps = tp_test_steps(1500, 20000);
    for (uint64_t i = 0; i < steps; i++) {
        struct tp_change changes[TP_TEST_BATCH_MAX];
        uint8_t bits[TP_TEST_BATCH_MAX * TP_TEST_BITS_MAX];
        struct tp_batch batch = {.changes = changes, .is_placed = true};
        batch.count = tp_test_random_batch(&rng, changes, bits, WIDE, WIDE, tp_test_percent(&rng, 10));
        if (tp_test_percent(&rng, 30))
            batch.key = stores_key(1 + tp_test_below(&rng, 500));
        struct stores *to = both[tp_test_below(&rng, 2)];
        stores_submit(to, "m", &batch);
        if (tp_test_percent(&rng, 2))
            stores_settle(to);
    }
    stores_settle(&a_);
    stores_settle(&b_);
    struct stores_call *last = submit_cell(&a_, "m", 0, 0, '.');
    stores_settle(&a_);
    ck_assert_int_eq(last->event.kind, TP_STORE_VERSION);
    uint64_t version = last->event.map->version;
    stores_await(&b_, "m", 5, version);
    stores_expect_same(last->event.map, stores_stands(&b_, "m"));
    /* each version was granted once, and every one of them to somebody */
    uint8_t *granted = calloc(version + 1, 1);
    const struct stores_call **by_version = calloc(version + 1, sizeof *by_version);
    for (int s = 0; s < 2; s++)
        for (const struct stores_call *call = both[s]->calls; call != NULL; call = call->next)
            if (call->kind == STORES_SUBMIT && call->event.kind == TP_STORE_VERSION) {
                by_version[call->event.map->version] = call;
                if (granted[call->event.map->version]++ > 0)
                    ck_abort_msg("version %llu was made twice", (unsigned long long)call->event.map->version);
            }
    /* the batches in the order of their versions, applied to a map of our own */
    const struct tp_map *model = tp_map_ref(map);
    for (uint64_t v = 2; v <= version; v++) {
        size_t bad;
        uint32_t x, y;
        struct tp_map *next;
        if (by_version[v] == NULL)
            ck_abort_msg("nobody made version %llu", (unsigned long long)v);
        if (tp_map_apply(&next, model, by_version[v]->batch.changes, by_version[v]->batch.count, &bad, &x, &y) != 0)
            ck_abort_msg("version %llu can't be made", (unsigned long long)v);
        tp_map_unref(model);
        model = next;
    }
    stores_expect_same(model, stores_stands(&b_, "m"));
    stores_close(&b_);
    stores_open(&b_);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, version);
    stores_expect_same(model, stores_stands(&b_, "m"));
    free(granted);
    free(by_version);
    tp_map_unref(model);
    tp_map_unref(map);
}
END_TEST

/* Two that open a map at once, and two that put it at once. */
START_TEST(test_at_once)
{
    for (int round = 0; round < 10; round++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", round);
        struct tp_map *one = stores_grid(SIDE, SIDE, 5), *other = stores_grid(SIDE, SIDE + 1, 6);
        struct stores_call *puts[2] = {stores_put(&a_, name, one, false), stores_put(&b_, name, other, false)};
        stores_settle(&a_);
        stores_settle(&b_);
        int begun = 0;
        for (int i = 0; i < 2; i++) {
            if (puts[i]->event.kind == TP_STORE_BEGUN)
                begun++;
            else
                ck_assert_int_eq(puts[i]->event.error, TP_ERR_ALREADY_EXISTS);
        }
        ck_assert_int_eq(begun, 1);
        stores_load(&a_, name);
        stores_load(&b_, name);
        stores_settle(&a_);
        stores_settle(&b_);
        stores_expect_same(stores_stands(&a_, name), stores_stands(&b_, name));
        tp_map_unref(one);
        tp_map_unref(other);
    }
}
END_TEST

/* ---- Snapshots and the log ---- */

START_TEST(test_trimmed)
{
    put_grid("m", 5);
    uint64_t version = change_much("m", 5);
    char fields[8][128], older[64] = "";
    ck_assert_uint_eq(snapshot_fields("m", fields), 2);
    unsigned long long epoch, at;
    ck_assert_int_eq(sscanf(fields[1], "%llu-%llu-%63s", &epoch, &at, older), 3);
    redisReply *reply = ask("XRANGE tickpath:{m}:log - + COUNT 1");
    ck_assert_str_eq(reply->element[0]->element[0]->str, older); /* it goes back to the older one, which proves that nothing is missing */
    freeReplyObject(reply);
    ck_assert_int_lt(ask_number("XLEN", "tickpath:{m}:log"), 33);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, version);
    stores_expect_same(stores_stands(&a_, "m"), stores_stands(&b_, "m"));
}
END_TEST

/* The log was trimmed behind what the snapshots need: there is no reading on over the gap; the map begins anew from the newest, once, for all. */
START_TEST(test_gap)
{
    put_grid("m", 5);
    uint64_t version = change_much("m", 5);
    stores_close(&a_);
    DO("XTRIM tickpath:{m}:log MAXLEN 1");
    struct stores_call *loaded = stores_load(&b_, "m");
    stores_settle(&b_);
    ck_assert_int_eq(loaded->event.kind, TP_STORE_LOADED);
    uint64_t epoch = loaded->event.map->epoch, at = loaded->event.map->version;
    ck_assert_uint_gt(epoch, 5);
    ck_assert_uint_lt(at, version);
    ck_assert_uint_ge(at, 24);
    stores_open(&a_);
    stores_expect_at(&a_, stores_load(&a_, "m"), TP_STORE_LOADED, epoch, at);
    stores_expect_same(stores_stands(&a_, "m"), stores_stands(&b_, "m"));
    stores_expect_at(&a_, submit_cell(&a_, "m", 60, 61, '@'), TP_STORE_VERSION, epoch, at + 1);
    stores_await(&b_, "m", epoch, at + 1);
}
END_TEST

/* The same, opened by two at once: one epoch comes of it, for both. */
START_TEST(test_gap_at_once)
{
    put_grid("m", 5);
    change_much("m", 5);
    for (int round = 0; round < 10; round++) {
        stores_close(&a_);
        stores_close(&b_);
        DO("XTRIM tickpath:{m}:log MAXLEN 0");
        DO("XADD tickpath:{m}:log * t mark g 00000000000000000000000000000000");
        stores_open(&a_);
        stores_open(&b_);
        struct stores_call *loads[2] = {stores_load(&a_, "m"), stores_load(&b_, "m")};
        stores_expect(&a_, loads[0], TP_STORE_LOADED, 0);
        stores_expect(&b_, loads[1], TP_STORE_LOADED, 0);
        stores_expect_same(loads[0]->event.map, loads[1]->event.map);
        ck_assert_uint_gt(loads[0]->event.map->epoch, 5);
    }
}
END_TEST

/* A lease that this daemon holds already, of a snapshot that came to nothing, is its own: it does not wait until that is over. */
START_TEST(test_own_lease)
{
    put_grid("m", 5);
    redisReply *first = ask("XRANGE tickpath:{m}:log - + COUNT 1");
    const redisReply *fields = first->element[0]->element[1];
    size_t origin = 0;
    while (origin < fields->elements && strcmp(fields->element[origin]->str, "o") != 0)
        origin += 2;
    ck_assert_uint_lt(origin, fields->elements);
    DO("SET tickpath:{m}:lease %b", fields->element[origin + 1]->str, (size_t)16); /* and for ever */
    freeReplyObject(first);
    change_much("m", 5);
}
END_TEST

/* The map was dropped, and its log trimmed up to that, before the store could read on: it finds no place of its own in the log and no
 * snapshot, and yet hears that the map was dropped. */
START_TEST(test_trimmed_up_to_a_drop)
{
    put_grid("m", 5);
    stores_expect_at(&a_, submit_cell(&a_, "m", 1, 1, '@'), TP_STORE_VERSION, 5, 2);
    DO("EVAL %s 2 tickpath:{m}:log tickpath:{m}:snaps",
       "redis.call('XADD',KEYS[1],'*','t','drop','o','00000000000000aa-1') redis.call('XTRIM',KEYS[1],'MAXLEN',1) redis.call('DEL',KEYS[2]) "
       "redis.call('EXPIRE',KEYS[1],3600)");
    struct stores_call *changed = submit_cell(&a_, "m", 2, 2, '@');
    stores_settle(&a_);
    for (int tries = 0; stores_stands(&a_, "m") != NULL; tries++) {
        ck_assert_msg(tries < WAIT_MS / 20, "the map stands");
        pause_ms(20);
    }
    stores_expect(&a_, changed, TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
}
END_TEST

/* ---- Damage ---- */

/* Asserts that the store refuses the map as corrupt, with words, and is well otherwise. */
static void expect_corrupt(struct stores *stores, const char *name)
{
    struct stores_call *call = stores_load(stores, name);
    stores_expect(stores, call, TP_STORE_REFUSED, TP_ERR_CORRUPT);
    ck_assert_ptr_nonnull(call->event.reason);
    struct tp_store_status status;
    stores->store->ops->status(stores->store, &status);
    ck_assert_msg(status.state == TP_STORE_OK, "%s", status.reason);
}

/* Each byte of the newest snapshot flipped in turn: the older one is used, with the log; where there is none, the map is corrupt, and all stays as
 * it is. */
START_TEST(test_flipped_bytes)
{
    struct tp_map *map = stores_grid(5, 4, 5);
    stores_expect_at(&a_, stores_put(&a_, "m", map, false), TP_STORE_BEGUN, 5, 1);
    tp_map_unref(map);
    for (uint32_t i = 0; i < 8; i++)
        submit_cell(&a_, "m", i % 5, i % 4, '@');
    stores_settle(&a_);
    await_snapshots("m", 8);
    stores_close(&a_);
    char fields[8][128];
    ck_assert_uint_eq(snapshot_fields("m", fields), 2);
    redisReply *good = ask("HGET tickpath:{m}:snaps %s", fields[0]), *older = ask("HGET tickpath:{m}:snaps %s", fields[1]);
    char *bad = malloc((size_t)good->len);
    for (size_t i = 0; i < (size_t)good->len; i++) {
        memcpy(bad, good->str, (size_t)good->len);
        bad[i] ^= 1 << (i % 8);
        DO("HSET tickpath:{m}:snaps %s %b", fields[0], bad, (size_t)good->len);
        DO("HDEL tickpath:{m}:snaps %s", fields[1]);
        expect_corrupt(&b_, "m");
        if (i % 8 == 0) {
            DO("HSET tickpath:{m}:snaps %s %b", fields[1], older->str, (size_t)older->len);
            stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 9);
            stores_close(&b_); /* what is held is not loaded again */
            stores_open(&b_);
        }
        redisReply *kept = ask("HGET tickpath:{m}:snaps %s", fields[0]);
        if ((size_t)kept->len != (size_t)good->len || memcmp(kept->str, bad, (size_t)good->len) != 0)
            ck_abort_msg("byte %zu: what could not be read was overwritten", i);
        freeReplyObject(kept);
    }
    free(bad);
    freeReplyObject(good);
    freeReplyObject(older);
    stores_open(&a_);
}
END_TEST

START_TEST(test_cut_snapshots)
{
    put_grid("m", 5);
    char fields[8][128];
    ck_assert_uint_eq(snapshot_fields("m", fields), 1);
    redisReply *good = ask("HGET tickpath:{m}:snaps %s", fields[0]);
    for (size_t size = 0; size < (size_t)good->len; size += 1 + size / 8) {
        DO("HSET tickpath:{m}:snaps %s %b", fields[0], good->str, size);
        expect_corrupt(&b_, "m");
    }
    /* another map's snapshot, and one that its field does not fit */
    struct tp_map *other = stores_grid(9, 9, 5);
    stores_expect_at(&a_, stores_put(&a_, "other", other, false), TP_STORE_BEGUN, 5, 1);
    tp_map_unref(other);
    redisReply *foreign = ask("HGET tickpath:{other}:snaps 5-1-0-0");
    DO("HSET tickpath:{m}:snaps %s %b", fields[0], foreign->str, (size_t)foreign->len);
    expect_corrupt(&b_, "m");
    DO("DEL tickpath:{m}:snaps");
    DO("HSET tickpath:{m}:snaps 5-2-0-0 %b", good->str, (size_t)good->len);
    expect_corrupt(&b_, "m");
    freeReplyObject(foreign);
    freeReplyObject(good);
}
END_TEST

START_TEST(test_foreign)
{
    put_grid("m", 5);
    DO("HSET tickpath:{m}:snaps junk x 7 y 5-9 z 5-9-0 w -5-9-0-0 v");
    DO("SADD tickpath:maps ../bad good/but/gone");
    DO("SET tickpath:{s}:snaps x");
    DO("SET tickpath:{t}:log x");
    DO("HSET tickpath:{t}:snaps junk x");
    DO("SET tickpath:whatever x");
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    expect_corrupt(&b_, "s");
    expect_corrupt(&b_, "t");
    ck_assert_uint_eq(stores_list(&b_)->count, 2); /* what is no name of ours is not listed */
    stores_expect(&b_, stores_load(&b_, "good/but/gone"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    /* entries that nobody knows, and malformed ones, make nothing, alike for both */
    DO("XADD tickpath:{m}:log * t dance e 5");
    DO("XADD tickpath:{m}:log * x y");
    DO("XADD tickpath:{m}:log * t batch e 5");
    DO("XADD tickpath:{m}:log * t batch e 5 d junk");
    DO("XADD tickpath:{m}:log * t batch e five d junk");
    DO("XADD tickpath:{m}:log * t batch e 4 d junk");
    DO("XADD tickpath:{m}:log * t put e 5");
    DO("XADD tickpath:{m}:log * t batch e 5 d junk o 0123456789abcdef-0 u 99999999999999999999");
    stores_expect_at(&a_, submit_cell(&a_, "m", 1, 1, '@'), TP_STORE_VERSION, 5, 2);
    stores_await(&b_, "m", 5, 2);
    stores_expect_same(stores_stands(&a_, "m"), stores_stands(&b_, "m"));
}
END_TEST

/* A put of ours over what is damaged takes its place; nothing else does. */
START_TEST(test_put_over_damage)
{
    DO("SET tickpath:{m}:snaps x");
    expect_corrupt(&a_, "m");
    struct tp_map *map = stores_grid(SIDE, SIDE, 5);
    stores_expect(&a_, stores_put(&a_, "m", map, false), TP_STORE_REFUSED, TP_ERR_ALREADY_EXISTS);
    stores_expect_at(&a_, stores_put(&a_, "m", map, true), TP_STORE_BEGUN, 5, 1);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    tp_map_unref(map);
}
END_TEST

/* ---- The URL ---- */

START_TEST(test_prefix_and_database)
{
    put_grid("m", 5);
    char url[128], reason[160];
    static const char *const others[] = {"?prefix=one%3A", "/3"};
    for (size_t i = 0; i < 2; i++) {
        struct tp_store *before = b_.store;
        snprintf(url, sizeof url, "%s%s", ((struct test_redis *)a_.place.server)->url, others[i]);
        ck_assert_int_eq(tp_store_redis_open(&b_.store, url, NULL, b_.place.metrics, reason), 0);
        before->ops->close(before);
        tp_store_attach(b_.store, a_.store->event, &b_, &b_.held);
        stores_expect(&b_, stores_load(&b_, "m"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
        struct tp_map *map = stores_grid(SIDE, SIDE, 7 + i);
        stores_expect_at(&b_, stores_put(&b_, i == 0 ? "n" : "o", map, false), TP_STORE_BEGUN, 7 + i, 1);
        tp_map_unref(map);
    }
    ck_assert_int_eq(ask_number("EXISTS", "one:{n}:log"), 1);
    ck_assert_int_eq(ask_number("EXISTS", "one:maps"), 1);
    ck_assert_uint_eq(stores_list(&a_)->count, 1);
}
END_TEST

static Suite *store_redis_suite(void)
{
    Suite *suite = suite_create("store_redis");
    TCase *shared = tcase_create("shared"), *log = tcase_create("log"), *damage = tcase_create("damage"), *url = tcase_create("url");
    TCase *const all[] = {shared, log, damage, url};
    tcase_add_test(shared, test_each_sees_the_other);
    tcase_add_test(shared, test_clocks_apart);
    tcase_add_test(shared, test_names_lost);
    tcase_add_test(shared, test_batches_meet_a_put);
    tcase_add_test(shared, test_one_order);
    tcase_add_test(shared, test_at_once);
    tcase_add_test(log, test_trimmed);
    tcase_add_test(log, test_gap);
    tcase_add_test(log, test_gap_at_once);
    tcase_add_test(log, test_own_lease);
    tcase_add_test(log, test_trimmed_up_to_a_drop);
    tcase_add_test(damage, test_flipped_bytes);
    tcase_add_test(damage, test_cut_snapshots);
    tcase_add_test(damage, test_foreign);
    tcase_add_test(damage, test_put_over_damage);
    tcase_add_test(url, test_prefix_and_database);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tcase_add_checked_fixture(all[i], setup, teardown);
        suite_add_tcase(suite, all[i]);
    }
    return suite;
}

int main(void)
{
    return tp_test_main("test_store_redis", store_redis_suite);
}
