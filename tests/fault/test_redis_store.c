/* The Redis store while its server is away, killed, frozen, flushed, restarted empty, refuses to write, or has lost what was acknowledged: a real
 * redis-server each time. Whatever happens, a call has one answer, what was acknowledged is not lost while a store that read it lives, or the map
 * begins a new epoch with it in it, and nothing is applied twice. */
#include "daemon/store/store_redis.h"
#include "tests/lib/maps.h"
#include "tests/lib/proxy.h"
#include "tests/lib/redis.h"
#include "tests/lib/stores.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 70, WAIT_MS = 20000 };

static struct stores a_, b_;

static struct test_redis *server(void)
{
    return a_.place.server;
}

static void setup(void)
{
    int row = 0;
    while (row < stores_row_count - 1 && strcmp(stores_rows[row].name, "redis") != 0)
        row++;
    ck_assert_str_eq(stores_rows[row].name, "redis");
    stores_begin(&a_, row);
    stores_begin_beside(&b_, &a_);
    struct tp_map *map = stores_grid(SIDE, SIDE, 5);
    stores_expect_at(&a_, stores_put(&a_, "m", map, false), TP_STORE_BEGUN, 5, 1);
    tp_map_unref(map);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
}

static void teardown(void)
{
    stores_end(&b_);
    stores_end(&a_);
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

/* Waits until the store is well, or (`words`) degraded with them in its reason. */
static void await_status(struct stores *stores, const char *words)
{
    struct tp_store_status status;
    for (uint64_t until = now_ms() + WAIT_MS;; pause_ms(5)) {
        stores->store->ops->status(stores->store, &status);
        if (words == NULL ? status.state == TP_STORE_OK : status.state == TP_STORE_DEGRADED && strstr(status.reason, words) != NULL)
            return;
        ck_assert_msg(now_ms() < until, "the store says '%s', and never '%s'", status.reason, words != NULL ? words : "that it is well");
    }
}

static struct stores_call *submit(struct stores *stores, uint32_t x, uint32_t y, uint64_t key)
{
    struct tp_batch batch = stores_cell(x, y, '@', key);
    return stores_submit(stores, "m", &batch);
}

/* Submits until the store takes it again; each refusal says that nothing was done. Gives the one that was taken. */
static struct stores_call *submit_until_taken(struct stores *stores, uint32_t x, uint32_t y)
{
    for (uint64_t until = now_ms() + WAIT_MS;; pause_ms(20)) {
        struct stores_call *call = submit(stores, x, y, 0);
        stores_settle(stores);
        if (call->event.kind == TP_STORE_VERSION)
            return call;
        ck_assert_int_eq(call->event.error, TP_ERR_UNAVAILABLE);
        ck_assert_msg(now_ms() < until, "no change is taken again: %s", call->event.reason);
    }
}

static void expect_refused(struct stores *stores)
{
    uint64_t from = now_ms();
    struct stores_call *call = submit(stores, 9, 9, 0);
    stores_expect(stores, call, TP_STORE_REFUSED, TP_ERR_UNAVAILABLE);
    ck_assert(!call->event.is_unknown);
    ck_assert_uint_lt(now_ms() - from, 3000);
}

/* Both stores, and one that is opened now, hold the same; gives it, a reference. */
static const struct tp_map *expect_all_alike(void)
{
    const struct tp_map *map = stores_stands(&a_, "m");
    stores_await(&b_, "m", map->epoch, map->version);
    stores_expect_same(map, stores_stands(&b_, "m"));
    map = tp_map_ref(map);
    stores_close(&b_);
    stores_open(&b_);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, map->epoch, map->version);
    stores_expect_same(map, stores_stands(&b_, "m"));
    return map;
}

static void ask(int argc, const char **argv)
{
    const char *answer = test_redis_ask(server(), argc, argv);
    ck_assert_msg(answer[0] != '-', "%s: %s", argv[0], answer);
}

/* Opens the second store anew, there. */
static void open_b(const char *url)
{
    char reason[160];
    stores_close(&b_);
    uint64_t from = now_ms();
    ck_assert_int_eq(tp_store_redis_open(&b_.store, url, NULL, b_.place.metrics, reason), 0);
    ck_assert_uint_lt(now_ms() - from, 1500);
    tp_store_attach(b_.store, a_.store->event, &b_, &b_.held);
}

/* ---- The server ---- */

START_TEST(test_away_at_start)
{
    test_redis_kill(server());
    open_b(server()->url);
    await_status(&b_, "redis: ");
    struct tp_map *map = stores_grid(SIDE, SIDE, 6);
    stores_expect(&b_, stores_put(&b_, "n", map, false), TP_STORE_REFUSED, TP_ERR_UNAVAILABLE);
    stores_expect(&b_, stores_load(&b_, "m"), TP_STORE_REFUSED, TP_ERR_UNAVAILABLE);
    stores_expect(&b_, stores_drop(&b_, "m"), TP_STORE_REFUSED, TP_ERR_UNAVAILABLE);
    test_redis_start(server());
    await_status(&b_, NULL);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    stores_expect_at(&b_, stores_put(&b_, "n", map, false), TP_STORE_BEGUN, 6, 1);
    tp_map_unref(map);
}
END_TEST

/* A batch is read back, and then another daemon's drop of its map, all before Redis' answer to the batch has come: that finds the map yet. */
START_TEST(test_answer_comes_last)
{
    enum { MAPS = 12, ROUNDS = 5 }; /* of many maps each is looked at seldom, which would keep it */
    struct proxy proxy;
    char url[64], name[16];
    struct tp_map *map = stores_grid(SIDE, SIDE, 5);
    proxy_start(&proxy, server()->port);
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", proxy.port);
    open_b(url);
    await_status(&b_, NULL);
    for (int i = 0; i < MAPS; i++) {
        snprintf(name, sizeof name, "n%d", i);
        stores_expect_at(&a_, stores_put(&a_, name, map, false), TP_STORE_BEGUN, 5, 1);
        stores_expect_at(&b_, stores_load(&b_, name), TP_STORE_LOADED, 5, 1);
    }
    tp_map_unref(map);
    for (int i = 0; i < ROUNDS; i++) {
        struct tp_batch batch = stores_cell(1, 1, '@', 0);
        snprintf(name, sizeof name, "n%d", i);
        proxy_mute(&proxy, 0, true); /* the connection that writes */
        stores_expect_at(&b_, stores_submit(&b_, name, &batch), TP_STORE_VERSION, 5, 2);
        stores_expect(&a_, stores_drop(&a_, name), TP_STORE_DROPPED, 0);
        for (uint64_t until = now_ms() + WAIT_MS; stores_stands(&b_, name) != NULL; pause_ms(5))
            ck_assert_msg(now_ms() < until, "the drop is not read");
        pause_ms(120); /* the store forgets what it does not need in a turn of 50 ms */
        proxy_mute(&proxy, 0, false);
        await_status(&b_, NULL); /* on a machine that stood still meanwhile it gave the mute connection up */
    }
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    stores_expect_at(&b_, submit(&b_, 2, 2, 0), TP_STORE_VERSION, 5, 2);
    stores_close(&b_);
    proxy_end(&proxy);
    stores_open(&b_);
}
END_TEST

START_TEST(test_killed_and_back)
{
    for (uint32_t round = 0; round < 3; round++) {
        struct stores_call *flying[20];
        for (uint32_t i = 0; i < 20; i++)
            flying[i] = submit(&a_, i, 10 + round, 100 * (round + 1) + i);
        if (round == 2)
            pause_ms(3);
        test_redis_kill(server());
        await_status(&a_, "redis: ");
        await_status(&b_, "redis: ");
        expect_refused(&b_);
        const struct tp_map *held = stores_stands(&b_, "m"); /* it is held on */
        ck_assert_ptr_nonnull(held);
        test_redis_start(server());
        await_status(&a_, NULL);
        await_status(&b_, NULL);
        submit_until_taken(&a_, 30, 10 + round);
        /* what nobody knew is sent again under its key, by the other store: each is applied once */
        struct stores_call *again[20];
        for (uint32_t i = 0; i < 20; i++)
            again[i] = submit(&b_, i, 10 + round, 100 * (round + 1) + i);
        stores_settle(&b_);
        for (uint32_t i = 0; i < 20; i++) {
            const struct tp_store_event *first = &flying[i]->event, *second = &again[i]->event;
            if (first->kind == TP_STORE_VERSION && (second->kind != TP_STORE_REPEATED || second->version != first->map->version))
                ck_abort_msg("round %u: change %u was acknowledged as version %llu and is not known", round, i,
                             (unsigned long long)first->map->version);
            if (second->kind != TP_STORE_REPEATED && second->kind != TP_STORE_VERSION)
                ck_abort_msg("round %u: change %u is refused: %s", round, i, second->reason);
        }
        const struct tp_map *last = tp_map_ref(again[19]->event.map);
        ck_assert_uint_eq(last->epoch, 5);
        ck_assert_uint_eq(last->version, 1 + 21 * (round + 1));
        stores_await(&a_, "m", last->epoch, last->version);
        tp_map_unref(last);
        tp_map_unref(expect_all_alike());
    }
}
END_TEST

/* A batch of one random cell, and the version that it made; 0: that is not known yet. */
struct asked {
    struct tp_change change;
    uint64_t key, version;
    struct stores_call *call;
};

static redisContext *connect_to(void)
{
    redisContext *link = redisConnect("127.0.0.1", server()->port);
    ck_assert(link != NULL && link->err == 0);
    if (server()->password[0])
        freeReplyObject(redisCommand(link, "AUTH %s", server()->password));
    return link;
}

/* Ends one of the stores' connections, whichever. */
static void end_a_connection(struct tp_test_rng *rng)
{
    redisContext *link = connect_to();
    redisReply *list = redisCommand(link, "CLIENT LIST TYPE normal");
    ck_assert(list != NULL && list->type == REDIS_REPLY_STRING);
    unsigned long long ids[16], own = 0;
    size_t count = 0;
    for (const char *at = list->str; (at = strstr(at, "id=")) != NULL && count < 16; at = strchr(at, '\n') != NULL ? strchr(at, '\n') : "") {
        ids[count++] = strtoull(at + 3, NULL, 10);
        own = ids[count - 1] > own ? ids[count - 1] : own; /* the last to come is this one */
    }
    unsigned long long id = ids[tp_test_below(rng, (uint32_t)count)];
    if (id != own)
        freeReplyObject(redisCommand(link, "CLIENT KILL ID %llu", id));
    freeReplyObject(list);
    redisFree(link);
}

/* Sends what is not settled to one of the two at random; then takes the answers. Gives how many are not settled. */
static size_t send_unsettled(struct tp_test_rng *rng, struct asked *asked, size_t count, uint32_t kill_ms)
{
    struct stores *both[2] = {&a_, &b_};
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        struct tp_batch batch = {.changes = &asked[i].change, .count = 1, .is_placed = true, .key = stores_key(asked[i].key)};
        asked[i].call = asked[i].version != 0 ? NULL : stores_submit(both[tp_test_below(rng, 2)], "m", &batch);
    }
    if (kill_ms > 0) {
        pause_ms(kill_ms);
        if (kill_ms % 2 == 0) {
            end_a_connection(rng);
        } else {
            test_redis_kill(server());
            test_redis_start(server());
        }
    }
    stores_settle(&a_);
    stores_settle(&b_);
    for (size_t i = 0; i < count; i++) {
        if (asked[i].version != 0)
            continue;
        const struct tp_store_event *event = &asked[i].call->event;
        asked[i].version = event->kind == TP_STORE_VERSION ? event->map->version : event->kind == TP_STORE_REPEATED ? event->version : 0;
        if (asked[i].version == 0 && event->error != TP_ERR_UNAVAILABLE)
            ck_abort_msg("a batch is refused with %s", tp_error_name(event->error));
        left += asked[i].version == 0;
    }
    return left;
}

/* Two stores submit at random while the server is killed and restarted again and again, or one of the connections ends: each batch makes one version, and the map is what the batches
 * make in the order of theirs. */
START_TEST(test_killed_at_random)
{
    enum { BATCHES = 300 };
    struct tp_test_rng rng = tp_test_rng("killed at random");
    size_t rounds = tp_test_steps(6, 60);
    struct asked *asked = calloc(rounds * BATCHES, sizeof *asked);
    const struct asked **by_version = calloc(rounds * BATCHES + 2, sizeof *by_version);
    for (size_t round = 0; round < rounds; round++) {
        struct asked *of = &asked[round * BATCHES];
        for (uint32_t i = 0; i < BATCHES; i++)
            of[i] = (struct asked){.key = 1 + round * BATCHES + i,
                                   .change = {.kind = TP_CHANGE_CELL,
                                              .class_to = tp_test_percent(&rng, 50) ? '@' : '.',
                                              .x = tp_test_below(&rng, SIDE),
                                              .y = tp_test_below(&rng, SIDE)}};
        uint32_t kill_ms = 1 + tp_test_below(&rng, 30);
        for (uint64_t until = now_ms() + WAIT_MS; send_unsettled(&rng, of, BATCHES, kill_ms) > 0; pause_ms(20), kill_ms = 0)
            ck_assert_msg(now_ms() < until, "round %zu does not end", round);
    }
    uint64_t last = 1 + rounds * BATCHES;
    for (size_t i = 0; i < rounds * BATCHES; i++) {
        if (asked[i].version > last || by_version[asked[i].version] != NULL)
            ck_abort_msg("batch %zu made version %llu, which another one made or nobody", i, (unsigned long long)asked[i].version);
        by_version[asked[i].version] = &asked[i];
    }
    const struct tp_map *model = stores_grid(SIDE, SIDE, 5);
    for (uint64_t v = 2; v <= last; v++) {
        struct tp_map *next;
        size_t bad;
        uint32_t x, y;
        ck_assert_ptr_nonnull(by_version[v]);
        ck_assert_int_eq(tp_map_apply(&next, model, &by_version[v]->change, 1, &bad, &x, &y), 0);
        tp_map_unref(model);
        model = next;
    }
    stores_await(&a_, "m", 5, last);
    stores_expect_same(model, stores_stands(&a_, "m"));
    tp_map_unref(expect_all_alike());
    tp_map_unref(model);
    free(asked);
    free(by_version);
}
END_TEST

START_TEST(test_frozen)
{
    /* Once a change was taken the store has looked at the log, and sends the next one. Before that it keeps it: then Redis never gets it. */
    stores_expect_at(&a_, submit(&a_, 2, 2, 0), TP_STORE_VERSION, 5, 2);
    test_redis_freeze(server());
    uint64_t from = now_ms();
    struct stores_call *flying = submit(&a_, 1, 1, 7);
    stores_expect(&a_, flying, TP_STORE_REFUSED, TP_ERR_UNAVAILABLE);
    ck_assert(flying->event.is_unknown); /* Redis may do it yet */
    ck_assert_uint_lt(now_ms() - from, 15000);
    await_status(&a_, "no answer in time");
    expect_refused(&a_);
    test_redis_thaw(server());
    await_status(&a_, NULL);
    struct stores_call *again = submit(&a_, 1, 1, 7);
    stores_settle(&a_);
    while (again->event.kind == TP_STORE_REFUSED) { /* while the log is looked at */
        ck_assert_int_eq(again->event.error, TP_ERR_UNAVAILABLE);
        again = submit(&a_, 1, 1, 7);
        stores_settle(&a_);
    }
    ck_assert_uint_eq(stores_stands(&a_, "m")->version, 3);
    tp_map_unref(expect_all_alike());
}
END_TEST

START_TEST(test_refuses_writes)
{
    ask(4, (const char *[]){"CONFIG", "SET", "maxmemory", "1"});
    expect_refused(&a_);
    await_status(&a_, "OOM");
    for (int i = 0; i < 60; i++) { /* several tries long */
        struct tp_store_status status;
        a_.store->ops->status(a_.store, &status);
        ck_assert_int_eq(status.state, TP_STORE_DEGRADED);
        pause_ms(10);
    }
    ask(4, (const char *[]){"CONFIG", "SET", "maxmemory", "0"});
    await_status(&a_, NULL);
    stores_expect_at(&a_, submit(&a_, 1, 1, 0), TP_STORE_VERSION, 5, 2);
    tp_map_unref(expect_all_alike());
}
END_TEST

START_TEST(test_read_only)
{
    ask(3, (const char *[]){"REPLICAOF", "127.0.0.1", "1"});
    struct stores_call *call = submit(&a_, 1, 1, 0);
    stores_expect(&a_, call, TP_STORE_REFUSED, TP_ERR_UNAVAILABLE);
    await_status(&a_, "redis: ");
    ask(3, (const char *[]){"REPLICAOF", "NO", "ONE"});
    await_status(&a_, NULL);
    ck_assert_uint_eq(submit_until_taken(&a_, 1, 1)->event.map->epoch, 5);
    tp_map_unref(expect_all_alike());
}
END_TEST

/* ---- Replicas ---- */

/* With ?wait=1 a change is acknowledged when a replica has it; where none has it in time nobody knows, and the change is seen none the less. */
START_TEST(test_waits_for_replicas)
{
    struct test_redis replica;
    char url[128];
    test_redis_init(&replica);
    replica.master = server();
    test_redis_start(&replica);
    test_redis_await(&replica, 2, (const char *[]){"EXISTS", "tickpath:{m}:log"}, "1");
    snprintf(url, sizeof url, "%s?wait=1", server()->url);
    open_b(url);
    await_status(&b_, NULL);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 1);
    for (uint32_t i = 0; i < 50; i++)
        submit(&b_, i, 1, 1 + i);
    stores_settle(&b_);
    stores_expect_at(&b_, submit(&b_, 50, 1, 51), TP_STORE_VERSION, 5, 52);
    test_redis_freeze(&replica);
    struct stores_call *calls[3] = {submit(&b_, 1, 2, 101), submit(&b_, 2, 2, 102), submit(&b_, 1, 2, 101)};
    for (int i = 0; i < 3; i++) {
        stores_expect(&b_, calls[i], TP_STORE_REFUSED, TP_ERR_UNAVAILABLE);
        ck_assert(calls[i]->event.is_unknown);
    }
    await_status(&b_, "replicas");
    stores_await(&b_, "m", 5, 54);
    stores_await(&a_, "m", 5, 54);
    stores_expect_at(&a_, submit(&a_, 3, 2, 103), TP_STORE_VERSION, 5, 55); /* which waits for none */
    test_redis_thaw(&replica);
    await_status(&b_, NULL);
    struct stores_call *repeated = submit(&b_, 1, 2, 101);
    stores_expect(&b_, repeated, TP_STORE_REPEATED, 0);
    ck_assert_uint_eq(repeated->event.version, 53);
    stores_expect_at(&b_, submit(&b_, 4, 2, 104), TP_STORE_VERSION, 5, 56);
    struct tp_map *map = stores_grid(SIDE, SIDE, 7);
    stores_expect_at(&b_, stores_put(&b_, "m", map, true), TP_STORE_BEGUN, 7, 1);
    tp_map_unref(map);
    stores_expect(&b_, stores_drop(&b_, "m"), TP_STORE_DROPPED, 0);
    test_redis_fini(&replica);
}
END_TEST

/* ---- What it lost ---- */

static void make_versions(uint32_t count, uint32_t row)
{
    for (uint32_t i = 0; i < count; i++)
        submit(&a_, i, row, 1000 * row + i + 1);
    stores_settle(&a_);
    const struct tp_map *map = stores_stands(&a_, "m");
    stores_await(&b_, "m", map->epoch, map->version);
}

/* Flushed: nobody asked, and it is there again, the same epoch; nothing is lost. */
START_TEST(test_flushed)
{
    make_versions(20, 1);
    ask(1, (const char *[]){"FLUSHALL"});
    struct stores_call *call = submit_until_taken(&a_, 1, 2);
    ck_assert_uint_eq(call->event.map->epoch, 5);
    ck_assert_uint_eq(call->event.map->version, 22);
    await_status(&a_, NULL);
    tp_map_unref(expect_all_alike());
    ck_assert_uint_eq(stores_list(&a_)->count, 1);
    /* also where nobody submits */
    ask(1, (const char *[]){"FLUSHALL"});
    for (uint64_t until = now_ms() + WAIT_MS; strcmp(test_redis_ask(server(), 2, (const char *[]){"EXISTS", "tickpath:{m}:log"}), "1") != 0;
         pause_ms(10))
        ck_assert_uint_lt(now_ms(), until);
    struct stores_call *known = submit_until_taken(&b_, 3, 3);
    ck_assert_uint_eq(known->event.map->epoch, 5);
    ck_assert_uint_eq(known->event.map->version, 23);
    stores_await(&a_, "m", 5, 23);
    struct stores_call *repeated = submit(&b_, 4, 1, 1005); /* keys, too */
    stores_expect(&b_, repeated, TP_STORE_REPEATED, 0);
    ck_assert_uint_eq(repeated->event.version, 6);
    tp_map_unref(expect_all_alike());
}
END_TEST

/* The log is emptied, and remembers how far it was: nothing can be put back, so what was acknowledged goes on in a new epoch. */
START_TEST(test_log_emptied)
{
    make_versions(20, 1);
    ask(4, (const char *[]){"XTRIM", "tickpath:{m}:log", "MAXLEN", "0"});
    for (uint64_t until = now_ms() + WAIT_MS;; pause_ms(20)) { /* batches sent before that is seen may make versions of the old epoch */
        struct stores_call *call = submit(&a_, 1, 2, 0);
        stores_settle(&a_);
        if (call->event.kind == TP_STORE_VERSION && call->event.map->epoch > 5)
            break;
        ck_assert_uint_lt(now_ms(), until);
    }
    const struct tp_map *map = expect_all_alike();
    for (uint32_t i = 0; i < 20; i++)
        ck_assert_int_eq(tp_map_class(map, i, 1), '@');
    tp_map_unref(map);
}
END_TEST

/* The server comes back without any of its files. */
START_TEST(test_restarted_empty)
{
    make_versions(10, 1);
    test_redis_kill(server());
    char command[256];
    snprintf(command, sizeof command, "%s/appendonlydir", server()->folder);
    tp_test_folder_remove(command);
    test_redis_start(server());
    struct stores_call *call = submit_until_taken(&b_, 1, 2);
    ck_assert_uint_eq(call->event.map->epoch, 5);
    ck_assert_uint_eq(call->event.map->version, 12);
    stores_await(&a_, "m", 5, 12);
    await_status(&a_, NULL);
    await_status(&b_, NULL);
    tp_map_unref(expect_all_alike());
}
END_TEST

/* Removes the last entries of the log as a failover does that lost them: the whole keys as they were before. */
struct saved {
    redisReply *log, *snaps;
};

static struct saved save(void)
{
    redisContext *link = connect_to();
    struct saved saved = {redisCommand(link, "DUMP tickpath:{m}:log"), redisCommand(link, "DUMP tickpath:{m}:snaps")};
    ck_assert(saved.log != NULL && saved.log->type == REDIS_REPLY_STRING);
    ck_assert(saved.snaps != NULL && saved.snaps->type == REDIS_REPLY_STRING);
    redisFree(link);
    return saved;
}

/* Puts the keys back as they were, and makes the server look like another run: the mark of its run is taken away, the connections end. */
static void set_back(struct saved *saved)
{
    redisContext *link = connect_to();
    freeReplyObject(redisCommand(link, "MULTI"));
    freeReplyObject(redisCommand(link, "RESTORE tickpath:{m}:log 0 %b REPLACE", saved->log->str, (size_t)saved->log->len));
    freeReplyObject(redisCommand(link, "RESTORE tickpath:{m}:snaps 0 %b REPLACE", saved->snaps->str, (size_t)saved->snaps->len));
    freeReplyObject(redisCommand(link, "HDEL tickpath:{m}:snaps run"));
    redisReply *reply = redisCommand(link, "EXEC");
    ck_assert(reply != NULL && reply->type == REDIS_REPLY_ARRAY);
    freeReplyObject(reply);
    freeReplyObject(redisCommand(link, "CLIENT KILL TYPE normal SKIPME yes"));
    freeReplyObject(saved->log);
    freeReplyObject(saved->snaps);
    redisFree(link);
}

/* The end of the log is lost; stores that read it put it back as it was. */
START_TEST(test_lost_tail)
{
    make_versions(10, 1);
    struct saved saved = save();
    make_versions(5, 2);
    const struct tp_map *before = tp_map_ref(stores_stands(&a_, "m"));
    ck_assert_uint_eq(before->version, 16);
    set_back(&saved);
    struct stores_call *call = submit_until_taken(&b_, 1, 3);
    ck_assert_uint_eq(call->event.map->epoch, 5);
    ck_assert_uint_eq(call->event.map->version, 17);
    stores_await(&a_, "m", 5, 17);
    await_status(&a_, NULL);
    await_status(&b_, NULL);
    tp_map_unref(before);
    tp_map_unref(expect_all_alike());
}
END_TEST

/* The end of the log is lost while one store is away, and the log goes on without it: what that one had read is in the new epoch. */
START_TEST(test_diverged)
{
    make_versions(10, 1);
    struct saved saved = save();
    for (uint32_t i = 0; i < 5; i++)
        submit(&a_, i, 2, 2001 + i);
    stores_settle(&a_);
    ck_assert_uint_eq(stores_stands(&a_, "m")->version, 16);
    /* the one that read them is kept out while the log goes on: it has not the password */
    redisContext *link = connect_to();
    freeReplyObject(redisCommand(link, "CONFIG SET requirepass sesame"));
    freeReplyObject(redisCommand(link, "CLIENT KILL TYPE normal SKIPME yes"));
    redisFree(link);
    await_status(&a_, "NOAUTH");
    strcpy(server()->password, "sesame");
    set_back(&saved);
    char url[128];
    snprintf(url, sizeof url, "redis://:sesame@127.0.0.1:%u", server()->port);
    open_b(url);
    await_status(&b_, NULL);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 5, 11);
    struct stores_call *call = submit_until_taken(&b_, 1, 3);
    ck_assert_uint_eq(call->event.map->epoch, 5);
    ck_assert_uint_eq(call->event.map->version, 12);
    ask(4, (const char *[]){"CONFIG", "SET", "requirepass", ""});
    server()->password[0] = 0;
    await_status(&a_, NULL);
    call = submit_until_taken(&a_, 1, 4);
    ck_assert_uint_gt(call->event.map->epoch, 5);
    stores_await(&b_, "m", call->event.map->epoch, call->event.map->version);
    const struct tp_map *map = expect_all_alike();
    for (uint32_t i = 0; i < 5; i++)
        ck_assert_int_eq(tp_map_class(map, i, 2), '@'); /* acknowledged by the one */
    ck_assert_int_eq(tp_map_class(map, 1, 3), '@'); /* and by the other */
    ck_assert_int_eq(tp_map_class(map, 5, 2), '.');
    struct stores_call *repeated = submit(&b_, 0, 2, 2001);
    stores_expect(&b_, repeated, TP_STORE_REPEATED, 0);
    tp_map_unref(map);
}
END_TEST

static Suite *redis_store_suite(void)
{
    Suite *suite = suite_create("redis_store");
    TCase *there = tcase_create("server"), *replicas = tcase_create("replicas"), *lost = tcase_create("lost");
    TCase *const all[] = {there, replicas, lost};
    tcase_add_test(there, test_away_at_start);
    tcase_add_test(there, test_answer_comes_last);
    tcase_add_test(there, test_killed_and_back);
    tcase_add_test(there, test_killed_at_random);
    tcase_add_test(there, test_frozen);
    tcase_add_test(there, test_refuses_writes);
    tcase_add_test(there, test_read_only);
    tcase_add_test(replicas, test_waits_for_replicas);
    tcase_add_test(lost, test_flushed);
    tcase_add_test(lost, test_log_emptied);
    tcase_add_test(lost, test_restarted_empty);
    tcase_add_test(lost, test_lost_tail);
    tcase_add_test(lost, test_diverged);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tcase_add_checked_fixture(all[i], setup, teardown);
        suite_add_tcase(suite, all[i]);
    }
    return suite;
}

int main(void)
{
    return tp_test_main("test_redis_store", redis_store_suite);
}
