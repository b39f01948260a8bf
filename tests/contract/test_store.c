/* What every store promises (daemon/store/store.h), asked of each row of tests/lib/stores.c. That each call is answered once, by an event
 * that fits, and that the events of a map follow each other, is looked at in all of them. CK_RUN_CASE=<row> runs one store's. */
#include "tests/lib/maps.h"
#include "tests/lib/stores.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 70 }; /* more than a tile */

static struct stores stores_;

/* Puts a free grid, which is kept then, in this epoch. */
static void put_grid(const char *name, uint64_t epoch)
{
    struct tp_map *map = stores_grid(SIDE, SIDE, epoch);
    stores_expect_at(&stores_, stores_put(&stores_, name, map, false), TP_STORE_BEGUN, epoch, 1);
    tp_map_unref(map);
}

static struct stores_call *submit_cell(const char *name, uint32_t x, uint64_t key)
{
    struct tp_batch batch = stores_cell(x, 1, '@', key);
    return stores_submit(&stores_, name, &batch);
}

static void reopen(void)
{
    stores_close(&stores_);
    stores_open(&stores_);
}

/* ---- Putting ---- */

START_TEST(test_put)
{
    stores_begin(&stores_, _i);
    struct tp_map *map = stores_grid(SIDE, 9, 5);
    struct stores_call *call = stores_put(&stores_, "a", map, false);
    stores_expect_at(&stores_, call, TP_STORE_BEGUN, 5, 1);
    stores_expect_same(call->event.map, map);
    tp_map_unref(map);
    map = stores_grid(11, 12, 6);
    call = stores_put(&stores_, "a", map, false);
    stores_expect(&stores_, call, TP_STORE_REFUSED, TP_ERR_ALREADY_EXISTS);
    stores_expect_at(&stores_, submit_cell("a", 3, 0), TP_STORE_VERSION, 5, 2); /* it is what it was */
    call = stores_put(&stores_, "a", map, true);
    stores_expect_at(&stores_, call, TP_STORE_BEGUN, 6, 1);
    stores_expect_same(call->event.map, map);
    stores_expect_at(&stores_, submit_cell("a", 3, 0), TP_STORE_VERSION, 6, 2);
    stores_expect_at(&stores_, stores_put(&stores_, "b", map, true), TP_STORE_BEGUN, 6, 1); /* in place of nothing */
    tp_map_unref(map);
    stores_end(&stores_);
}
END_TEST

/* What was kept before the store was opened exists, loaded or not. */
START_TEST(test_put_over_kept)
{
    stores_begin(&stores_, _i);
    if (stores_keeps_or_skip(&stores_)) {
        put_grid("a", 5);
        put_grid("b", 5);
        stores_expect_at(&stores_, submit_cell("a", 3, 7), TP_STORE_VERSION, 5, 2);
        reopen();
        struct tp_map *map = stores_grid(11, 12, 6);
        stores_expect(&stores_, stores_put(&stores_, "a", map, false), TP_STORE_REFUSED, TP_ERR_ALREADY_EXISTS);
        stores_expect_at(&stores_, stores_load(&stores_, "a"), TP_STORE_LOADED, 5, 2);
        stores_expect(&stores_, stores_put(&stores_, "a", map, false), TP_STORE_REFUSED, TP_ERR_ALREADY_EXISTS);
        stores_expect_at(&stores_, stores_put(&stores_, "b", map, true), TP_STORE_BEGUN, 6, 1);
        stores_expect_at(&stores_, submit_cell("b", 3, 0), TP_STORE_VERSION, 6, 2);
        reopen();
        stores_expect_at(&stores_, stores_load(&stores_, "b"), TP_STORE_LOADED, 6, 2);
        tp_map_unref(map);
    }
    stores_end(&stores_);
}
END_TEST

/* Batches need not wait for the put, nor a put for a drop. */
START_TEST(test_before_the_answer)
{
    stores_begin(&stores_, _i);
    struct tp_map *map = stores_grid(SIDE, SIDE, 5), *next = stores_grid(8, 8, 6);
    struct stores_call *put = stores_put(&stores_, "a", map, false);
    struct stores_call *first = submit_cell("a", 1, 0), *second = submit_cell("a", 2, 0);
    struct stores_call *drop = stores_drop(&stores_, "a");
    struct stores_call *again = stores_put(&stores_, "a", next, false), *third = submit_cell("a", 3, 0);
    stores_expect_at(&stores_, put, TP_STORE_BEGUN, 5, 1);
    stores_expect_at(&stores_, first, TP_STORE_VERSION, 5, 2);
    stores_expect_at(&stores_, second, TP_STORE_VERSION, 5, 3);
    stores_expect(&stores_, drop, TP_STORE_DROPPED, 0);
    stores_expect_at(&stores_, again, TP_STORE_BEGUN, 6, 1);
    stores_expect_at(&stores_, third, TP_STORE_VERSION, 6, 2);
    ck_assert(put->at < first->at && first->at < second->at && second->at < drop->at && drop->at < again->at &&
              again->at < third->at);
    tp_map_unref(map);
    tp_map_unref(next);
    stores_end(&stores_);
}
END_TEST

/* ---- Batches ---- */

/* Many at once are one version each, in the order submitted, and each is the one before with its cell. */
START_TEST(test_versions_follow)
{
    enum { COUNT = 300 };
    stores_begin(&stores_, _i);
    put_grid("a", 5);
    static struct stores_call *calls[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        struct tp_batch batch = stores_cell(i % SIDE, i / SIDE, '@', 0);
        if (i % 2 == 1) { /* by its number */
            batch.is_placed = false;
            batch.changes[0].x = i;
            batch.changes[0].y = 0;
        }
        calls[i] = stores_submit(&stores_, "a", &batch);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        stores_expect_at(&stores_, calls[i], TP_STORE_VERSION, 5, 2 + i);
        const struct tp_map *map = calls[i]->event.map;
        ck_assert_uint_eq(map->passable_cells, SIDE * SIDE - 1 - i);
        ck_assert(!tp_map_passable(map, i % SIDE, i / SIDE));
        ck_assert_ptr_eq(map->held, &stores_.held);
    }
    stores_end(&stores_);
}
END_TEST

/* A row of what can be wrong with one change, on a grid and on a graph. */
struct bad_change {
    const char *name; /* of the map */
    struct tp_change change;
    int error;
};
static const uint8_t bits_[1] = {0xff};
static const struct bad_change bad_changes[] = {
    {"grid", {.kind = TP_CHANGE_CELL, .x = SIDE}, TP_ERR_OUT_OF_RANGE},
    {"grid", {.kind = TP_CHANGE_CELL, .y = SIDE}, TP_ERR_OUT_OF_RANGE},
    {"grid", {.kind = TP_CHANGE_RECT, .x = SIDE - 1, .width = 2, .height = 1}, TP_ERR_OUT_OF_RANGE},
    {"grid", {.kind = TP_CHANGE_RECT, .height = 1}, TP_ERR_INVALID_ARGUMENT},
    {"grid", {.kind = TP_CHANGE_BITMAP, .width = 3, .height = 3, .bits = bits_, .bits_size = 1}, TP_ERR_INVALID_ARGUMENT},
    {"grid", {.kind = TP_CHANGE_EDGE, .x = 1, .y = 7}, TP_ERR_UNSUPPORTED},
    {"grid", {.kind = TP_CHANGE_NODE, .x = 1, .y = 0}, TP_ERR_UNSUPPORTED},
    {"graph", {.kind = TP_CHANGE_EDGE, .x = 400, .y = 7}, TP_ERR_OUT_OF_RANGE},
    {"graph", {.kind = TP_CHANGE_NODE, .x = 200, .y = 0}, TP_ERR_OUT_OF_RANGE},
    {"graph", {.kind = TP_CHANGE_NODE, .x = 1, .y = 2}, TP_ERR_INVALID_ARGUMENT},
    {"graph", {.kind = TP_CHANGE_CELL, .x = 1}, TP_ERR_UNSUPPORTED},
};

static void put_graph(const char *name, uint64_t epoch)
{
    struct tp_map *map = stores_graph(200, epoch);
    stores_expect_at(&stores_, stores_put(&stores_, name, map, false), TP_STORE_BEGUN, epoch, 1);
    tp_map_unref(map);
}

/* Refused with what is wrong and where; nothing of the batch is left, and its key isn't known. */
START_TEST(test_refused)
{
    enum { ROWS = sizeof bad_changes / sizeof *bad_changes };
    stores_begin(&stores_, _i);
    put_grid("grid", 5);
    put_graph("graph", 6);
    uint64_t kept[2] = {stores_content(stores_.told[0].map), stores_content(stores_.told[1].map)};
    for (size_t i = 0; i < ROWS; i++) {
        const struct bad_change *row = &bad_changes[i];
        struct tp_change changes[2] = {{.kind = TP_CHANGE_CELL, .class_to = '@', .x = 2, .y = 2}, row->change};
        if (strcmp(row->name, "graph") == 0)
            changes[0] = (struct tp_change){.kind = TP_CHANGE_EDGE, .x = 3, .y = 9};
        struct tp_batch batch = {.changes = changes, .count = 2, .is_placed = true, .key = stores_key(1)};
        struct stores_call *call = stores_submit(&stores_, row->name, &batch);
        stores_expect(&stores_, call, TP_STORE_REFUSED, row->error);
        ck_assert_int_eq(call->event.refused.why, TP_TIP_CHANGE);
        ck_assert_uint_eq(call->event.refused.bad, 1);
        ck_assert(!call->event.is_unknown);
        if (row->error == TP_ERR_OUT_OF_RANGE && row->change.kind == TP_CHANGE_RECT)
            ck_assert(call->event.refused.bad_x == SIDE && call->event.refused.bad_y == 0);
        else if (row->error == TP_ERR_OUT_OF_RANGE)
            ck_assert_uint_eq(call->event.refused.bad_x, row->change.x);
        stores_expect_at(&stores_, stores_load(&stores_, row->name), TP_STORE_LOADED, row->name[2] == 'i' ? 5 : 6, 1);
    }
    ck_assert_uint_eq(stores_content(stores_.told[0].map), kept[0]);
    ck_assert_uint_eq(stores_content(stores_.told[1].map), kept[1]);
    stores_expect_at(&stores_, submit_cell("grid", 3, 1), TP_STORE_VERSION, 5, 2); /* the key was left to be used */
    stores_end(&stores_);
}
END_TEST

START_TEST(test_base_and_epoch)
{
    stores_begin(&stores_, _i);
    put_grid("a", 5);
    stores_expect_at(&stores_, submit_cell("a", 1, 0), TP_STORE_VERSION, 5, 2);
    struct tp_batch batch = stores_cell(9, 9, '@', 0);
    batch.has_base_version = true;
    for (batch.base_version = 0; batch.base_version < 5; batch.base_version++) {
        if (batch.base_version == 2)
            continue;
        struct stores_call *call = stores_submit(&stores_, "a", &batch);
        stores_expect(&stores_, call, TP_STORE_REFUSED, TP_ERR_VERSION_MISMATCH);
        ck_assert_int_eq(call->event.refused.why, TP_TIP_BASE);
    }
    batch.base_version = 2;
    stores_expect_at(&stores_, stores_submit(&stores_, "a", &batch), TP_STORE_VERSION, 5, 3);
    /* of those that are submitted together the first is the one that finds its base */
    batch.base_version = 3;
    struct stores_call *one = stores_submit(&stores_, "a", &batch), *other = stores_submit(&stores_, "a", &batch);
    stores_expect_at(&stores_, one, TP_STORE_VERSION, 5, 4);
    stores_expect(&stores_, other, TP_STORE_REFUSED, TP_ERR_VERSION_MISMATCH);
    ck_assert(one->at < other->at);
    batch.has_base_version = false;
    batch.has_epoch = true;
    for (batch.epoch = 4; batch.epoch < 7; batch.epoch += 2) {
        struct stores_call *call = stores_submit(&stores_, "a", &batch);
        stores_expect(&stores_, call, TP_STORE_REFUSED, TP_ERR_VERSION_MISMATCH);
        ck_assert_int_eq(call->event.refused.why, TP_TIP_EPOCH);
    }
    batch.epoch = 5;
    stores_expect_at(&stores_, stores_submit(&stores_, "a", &batch), TP_STORE_VERSION, 5, 5);
    stores_end(&stores_);
}
END_TEST

START_TEST(test_not_kept)
{
    stores_begin(&stores_, _i);
    stores_expect(&stores_, submit_cell("a", 1, 3), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    stores_expect(&stores_, stores_load(&stores_, "a"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    put_grid("a", 5);
    struct stores_call *drop = stores_drop(&stores_, "a"), *late = submit_cell("a", 1, 3);
    stores_expect(&stores_, drop, TP_STORE_DROPPED, 0);
    stores_expect(&stores_, late, TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    stores_expect(&stores_, stores_load(&stores_, "a"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    ck_assert_uint_eq(stores_list(&stores_)->count, 0);
    stores_end(&stores_);
}
END_TEST

/* ---- Keys ---- */

static void expect_repeated(struct stores_call *call, uint64_t version)
{
    stores_expect(&stores_, call, TP_STORE_REPEATED, 0);
    ck_assert_uint_eq(call->event.version, version);
}

START_TEST(test_keys)
{
    stores_begin(&stores_, _i);
    put_grid("a", 5);
    put_grid("b", 5);
    stores_expect_at(&stores_, submit_cell("a", 1, 10), TP_STORE_VERSION, 5, 2);
    expect_repeated(submit_cell("a", 1, 10), 2);
    expect_repeated(submit_cell("a", 2, 10), 2); /* whatever it asks for */
    stores_expect_at(&stores_, submit_cell("a", 3, 0), TP_STORE_VERSION, 5, 3);
    struct tp_batch batch = stores_cell(4, 4, '@', 10);
    batch.has_base_version = true; /* which a batch that comes again cannot meet */
    batch.base_version = 1;
    expect_repeated(stores_submit(&stores_, "a", &batch), 2);
    batch.has_epoch = true;
    batch.epoch = 4;
    stores_expect(&stores_, stores_submit(&stores_, "a", &batch), TP_STORE_REFUSED, TP_ERR_VERSION_MISMATCH);
    stores_expect_at(&stores_, submit_cell("b", 1, 10), TP_STORE_VERSION, 5, 2); /* another map's */
    /* two of one key submitted together: the first makes the version, nothing is applied twice */
    struct stores_call *one = submit_cell("a", 5, 11), *other = submit_cell("a", 6, 11), *third = submit_cell("a", 7, 12);
    stores_expect_at(&stores_, one, TP_STORE_VERSION, 5, 4);
    expect_repeated(other, 4);
    stores_expect_at(&stores_, third, TP_STORE_VERSION, 5, 5);
    ck_assert(one->at < other->at && other->at < third->at);
    ck_assert_uint_eq(third->event.map->passable_cells, SIDE * SIDE - 4);
    /* a refused batch leaves its key to the next */
    struct tp_batch bad = stores_cell(SIDE, 0, '@', 13);
    struct stores_call *refused = stores_submit(&stores_, "a", &bad), *good = submit_cell("a", 8, 13);
    stores_expect(&stores_, refused, TP_STORE_REFUSED, TP_ERR_OUT_OF_RANGE);
    stores_expect_at(&stores_, good, TP_STORE_VERSION, 5, 6);
    /* and a map that begins anew knows none */
    struct tp_map *map = stores_grid(SIDE, SIDE, 6);
    stores_expect_at(&stores_, stores_put(&stores_, "a", map, true), TP_STORE_BEGUN, 6, 1);
    tp_map_unref(map);
    stores_expect_at(&stores_, submit_cell("a", 1, 10), TP_STORE_VERSION, 6, 2);
    stores_end(&stores_);
}
END_TEST

/* Known over a reopen, whether they are in the log or in a snapshot; those of a map that began anew, or was refused, are not. */
START_TEST(test_keys_kept)
{
    enum { COUNT = 20 };
    stores_begin(&stores_, _i);
    if (stores_keeps_or_skip(&stores_)) {
        put_grid("a", 5);
        stores_expect_at(&stores_, submit_cell("a", 1, 99), TP_STORE_VERSION, 5, 2);
        struct tp_map *map = stores_grid(SIDE, SIDE, 6);
        stores_expect_at(&stores_, stores_put(&stores_, "a", map, true), TP_STORE_BEGUN, 6, 1);
        tp_map_unref(map);
        for (uint32_t i = 0; i < COUNT; i++) {
            struct tp_batch bad = stores_cell(SIDE, 0, '@', 98);
            stores_expect_at(&stores_, submit_cell("a", i, i + 1), TP_STORE_VERSION, 6, i + 2);
            stores_expect(&stores_, stores_submit(&stores_, "a", &bad), TP_STORE_REFUSED, TP_ERR_OUT_OF_RANGE);
            if (i % 6 != 5)
                continue;
            reopen();
            stores_expect_at(&stores_, stores_load(&stores_, "a"), TP_STORE_LOADED, 6, i + 2);
            for (uint32_t k = 0; k <= i; k++)
                expect_repeated(submit_cell("a", 0, k + 1), k + 2);
        }
        stores_expect_at(&stores_, submit_cell("a", 60, 98), TP_STORE_VERSION, 6, COUNT + 2);
        stores_expect_at(&stores_, submit_cell("a", 61, 99), TP_STORE_VERSION, 6, COUNT + 3);
    }
    stores_end(&stores_);
}
END_TEST

/* ---- Dropping, loading, listing ---- */

START_TEST(test_drop)
{
    stores_begin(&stores_, _i);
    stores_expect(&stores_, stores_drop(&stores_, "a"), TP_STORE_DROPPED, 0); /* of nothing */
    put_grid("a", 5);
    put_grid("b", 5);
    stores_expect_at(&stores_, submit_cell("a", 1, 10), TP_STORE_VERSION, 5, 2);
    struct stores_call *call = stores_drop_epoch(&stores_, "a", 4);
    stores_expect(&stores_, call, TP_STORE_REFUSED, TP_ERR_FAILED_PRECONDITION);
    stores_expect_at(&stores_, submit_cell("a", 2, 0), TP_STORE_VERSION, 5, 3);
    stores_expect(&stores_, stores_drop_epoch(&stores_, "a", 5), TP_STORE_DROPPED, 0);
    stores_expect(&stores_, stores_drop(&stores_, "b"), TP_STORE_DROPPED, 0);
    ck_assert_uint_eq(stores_list(&stores_)->count, 0);
    put_grid("a", 7);
    stores_expect_at(&stores_, submit_cell("a", 1, 10), TP_STORE_VERSION, 7, 2); /* it knows no key of the one before */
    if (stores_.row->keeps) {
        reopen();
        stores_expect(&stores_, stores_load(&stores_, "b"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
        stores_expect(&stores_, stores_drop_epoch(&stores_, "a", 5), TP_STORE_REFUSED, TP_ERR_FAILED_PRECONDITION); /* not loaded */
        stores_expect_at(&stores_, stores_load(&stores_, "a"), TP_STORE_LOADED, 7, 2);
        reopen();
        stores_expect(&stores_, stores_drop_epoch(&stores_, "a", 7), TP_STORE_DROPPED, 0);
        reopen();
        stores_expect(&stores_, stores_load(&stores_, "a"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    }
    stores_end(&stores_);
}
END_TEST

/* What is loaded is what was told last, of a grid and of a graph, while it is held and after a reopen, with a log and without. */
START_TEST(test_load)
{
    stores_begin(&stores_, _i);
    put_grid("grid", 5);
    put_graph("graph", 6);
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < 3 * round; i++) {
            struct tp_change edge = {.kind = TP_CHANGE_EDGE, .x = 31 * i + round, .y = i % 2 == 0 ? 0 : 1000 + i};
            struct tp_change node = {.kind = TP_CHANGE_NODE, .x = i, .y = round % 2};
            struct tp_batch batch = {.changes = i % 3 == 2 ? &node : &edge, .count = 1, .is_placed = true};
            stores_submit(&stores_, "graph", &batch);
            submit_cell("grid", 9 * round + i, 0);
        }
        stores_settle(&stores_);
        for (int held = 0; held < 2; held++) {
            const struct tp_map *grid = tp_map_ref(stores_stands(&stores_, "grid")), *graph = tp_map_ref(stores_stands(&stores_, "graph"));
            if (held == 0 && stores_.row->keeps)
                reopen();
            struct stores_call *one = stores_load(&stores_, "grid"), *other = stores_load(&stores_, "graph");
            stores_expect(&stores_, one, TP_STORE_LOADED, 0);
            stores_expect(&stores_, other, TP_STORE_LOADED, 0);
            stores_expect_same(one->event.map, grid);
            stores_expect_same(other->event.map, graph);
            ck_assert_ptr_eq(one->event.map->held, &stores_.held);
            tp_map_unref(grid);
            tp_map_unref(graph);
        }
    }
    stores_end(&stores_);
}
END_TEST

START_TEST(test_list)
{
    static const char *const names[] = {"a", "a/b", "city-1.x", "deep/er/one"};
    stores_begin(&stores_, _i);
    ck_assert_uint_eq(stores_list(&stores_)->count, 0);
    for (int i = 3; i >= 0; i--)
        put_grid(names[i], 5);
    for (int round = 0; round < 2; round++) {
        const struct stores_names *list = stores_list(&stores_);
        ck_assert_uint_eq(list->count, 4);
        for (int i = 0; i < 4; i++)
            ck_assert_str_eq(list->name[i], names[i]);
        if (stores_.row->keeps)
            reopen(); /* listed though none is loaded */
    }
    stores_end(&stores_);
}
END_TEST

/* ---- Several maps, and the end ---- */

/* Each map's versions are its own, however the calls are mixed. */
START_TEST(test_several_maps)
{
    enum { MAPS = 8, COUNT = 60 };
    stores_begin(&stores_, _i);
    char name[MAPS][16];
    struct stores_call *last[MAPS];
    for (int m = 0; m < MAPS; m++) {
        snprintf(name[m], sizeof name[m], "m%d", m);
        put_grid(name[m], 5 + (uint64_t)m);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        for (int m = 0; m < MAPS; m++) {
            struct tp_batch bad = stores_cell(SIDE, 0, '@', 0);
            last[m] = submit_cell(name[m], i, 0);
            if ((i + (uint32_t)m) % 5 == 0)
                stores_submit(&stores_, name[m], &bad);
        }
    for (int m = 0; m < MAPS; m++)
        stores_expect_at(&stores_, last[m], TP_STORE_VERSION, 5 + (uint64_t)m, COUNT + 1);
    stores_end(&stores_);
}
END_TEST

/* A close with calls in flight: each has its answer when it returns (stores_close asks), and what was acknowledged is there. */
START_TEST(test_close_in_flight)
{
    enum { ROUNDS = 10, COUNT = 100 };
    stores_begin(&stores_, _i);
    struct tp_map *map = stores_grid(SIDE, SIDE, 5);
    stores_put(&stores_, "a", map, false);
    uint64_t version = 1;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct stores_call *calls[COUNT];
        for (uint32_t i = 0; i < COUNT; i++)
            calls[i] = submit_cell("a", i % SIDE, 0);
        stores_close(&stores_);
        for (uint32_t i = 0; i < COUNT; i++) {
            if (calls[i]->event.kind == TP_STORE_VERSION)
                version = calls[i]->event.map->version;
            else
                ck_assert_int_eq(calls[i]->event.error, TP_ERR_UNAVAILABLE);
        }
        stores_open(&stores_);
        if (!stores_.row->keeps)
            break;
        struct stores_call *load = stores_load(&stores_, "a");
        stores_expect(&stores_, load, TP_STORE_LOADED, 0);
        ck_assert_uint_ge(load->event.map->version, version);
        version = load->event.map->version;
    }
    tp_map_unref(map);
    stores_end(&stores_);
}
END_TEST

/* The process that has the store open, until it is killed: says each version that it is told of. */
static _Noreturn void be_killed(int say)
{
    stores_open(&stores_);
    struct stores_call *load = stores_load(&stores_, "a");
    stores_settle(&stores_);
    uint64_t version = load->event.map->version;
    for (;;) {
        struct stores_call *calls[5];
        for (uint64_t i = 0; i < 5; i++)
            calls[i] = submit_cell("a", (uint32_t)((version + i) % SIDE), version + i + 1); /* its key is its version */
        stores_settle(&stores_);
        for (int i = 0; i < 5; i++, version++)
            if (calls[i]->event.kind != TP_STORE_VERSION || calls[i]->event.map->version != version + 1 ||
                write(say, &(uint64_t){version + 1}, sizeof version) != sizeof version)
                _exit(1);
    }
}

/* SIGKILL at any time: what was told is there, each batch once, with its key. */
START_TEST(test_killed)
{
    stores_begin(&stores_, _i);
    if (stores_keeps_or_skip(&stores_)) {
        struct tp_test_rng rng = tp_test_rng("killed");
        put_grid("a", 5);
        stores_close(&stores_);
        for (uint64_t round = tp_test_steps(10, 100); round > 0; round--) {
            int say[2];
            ck_assert_int_eq(pipe(say), 0);
            fflush(stdout);
            pid_t child = tp_test_fork();
            if (child == 0)
                be_killed(say[1]);
            close(say[1]);
            uint64_t version = 0, heard = 1 + tp_test_below(&rng, 60);
            for (; heard > 0; heard--)
                ck_assert_int_eq(read(say[0], &version, sizeof version), sizeof version);
            kill(child, SIGKILL);
            while (read(say[0], &version, sizeof version) == sizeof version)
                ;
            int status;
            ck_assert_int_eq(waitpid(child, &status, 0), child);
            ck_assert(WIFSIGNALED(status));
            close(say[0]);
            stores_open(&stores_);
            struct stores_call *load = stores_load(&stores_, "a");
            stores_expect(&stores_, load, TP_STORE_LOADED, 0);
            ck_assert_uint_eq(load->event.map->epoch, 5);
            ck_assert_uint_ge(load->event.map->version, version);
            uint64_t blocked = load->event.map->version - 1 < SIDE ? load->event.map->version - 1 : SIDE;
            ck_assert_uint_eq(load->event.map->passable_cells, SIDE * SIDE - blocked);
            expect_repeated(submit_cell("a", 0, version), version);
            stores_close(&stores_);
        }
    }
    stores_end(&stores_);
}
END_TEST

static Suite *store_suite(void)
{
    Suite *suite = suite_create("store");
    for (int row = 0; row < stores_row_count; row++) {
        TCase *tcase = tcase_create(stores_rows[row].name);
        tcase_add_loop_test(tcase, test_put, row, row + 1);
        tcase_add_loop_test(tcase, test_put_over_kept, row, row + 1);
        tcase_add_loop_test(tcase, test_before_the_answer, row, row + 1);
        tcase_add_loop_test(tcase, test_versions_follow, row, row + 1);
        tcase_add_loop_test(tcase, test_refused, row, row + 1);
        tcase_add_loop_test(tcase, test_base_and_epoch, row, row + 1);
        tcase_add_loop_test(tcase, test_not_kept, row, row + 1);
        tcase_add_loop_test(tcase, test_keys, row, row + 1);
        tcase_add_loop_test(tcase, test_keys_kept, row, row + 1);
        tcase_add_loop_test(tcase, test_drop, row, row + 1);
        tcase_add_loop_test(tcase, test_load, row, row + 1);
        tcase_add_loop_test(tcase, test_list, row, row + 1);
        tcase_add_loop_test(tcase, test_several_maps, row, row + 1);
        tcase_add_loop_test(tcase, test_close_in_flight, row, row + 1);
        tcase_add_loop_test(tcase, test_killed, row, row + 1);
        suite_add_tcase(suite, tcase);
    }
    return suite;
}

int main(void)
{
    return tp_test_main("test_store", store_suite);
}
