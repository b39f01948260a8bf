/* Memory that is short for a while on the thread of a Redis store: nothing that others did to a map is lost, and the store does not go round without a
 * pause meanwhile. And what may wait is bounded by its bytes. */
#include "daemon/store/redis_internal.h"
#include "tests/lib/stores.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 256, WAIT_MS = 20000, LARGE_BYTES = 100000 };

static struct stores a_, b_;

/* ---- Memory that is short ---- */

static pthread_t short_thread;         /* on it: */
static atomic_size_t refused_size;     /* a calloc of this size is refused; 0: none is */
static atomic_size_t refused_from;     /* a malloc of at least so much; 0: none is */
static atomic_uint refusals;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool is_refused(bool is_it)
{
    if (!is_it || !pthread_equal(pthread_self(), short_thread))
        return false;
    atomic_fetch_add(&refusals, 1);
    return true;
}

void *__wrap_malloc(size_t size)
{
    size_t from = atomic_load(&refused_from);
    return is_refused(from != 0 && size >= from) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused(count * size == atomic_load(&refused_size)) ? NULL : __real_calloc(count, size);
}

/* ---- Two stores ---- */

static int redis_row(void)
{
    for (int i = 0; i < stores_row_count; i++)
        if (strcmp(stores_rows[i].name, "redis") == 0)
            return i;
    ck_abort_msg("no such row");
}

/* Both hold the map "m". */
static void setup(void)
{
    stores_begin(&a_, redis_row());
    stores_begin_beside(&b_, &a_);
    struct tp_map *map = stores_grid(SIDE, SIDE, 7);
    stores_expect_at(&a_, stores_put(&a_, "m", map, false), TP_STORE_BEGUN, 7, 1);
    tp_map_unref(map);
    stores_expect_at(&b_, stores_load(&b_, "m"), TP_STORE_LOADED, 7, 1);
    short_thread = ((struct tp__redis_store *)b_.store)->thread;
    atomic_store(&refusals, 0);
}

static void teardown(void)
{
    atomic_store(&refused_size, 0);
    atomic_store(&refused_from, 0);
    stores_end(&b_);
    stores_end(&a_);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void await_refusal(void)
{
    for (int waited = 0; atomic_load(&refusals) == 0; waited += 5) {
        ck_assert_msg(waited < WAIT_MS, "the store asked for no such memory");
        pause_ms(5);
    }
}

/* Another daemon drops the map while there is no memory for the event: it is told all the same, once. */
START_TEST(test_drop_is_told)
{
    atomic_store(&refused_size, sizeof(struct tp__redis_call));
    stores_expect(&a_, stores_drop(&a_, "m"), TP_STORE_DROPPED, 0);
    await_refusal();
    for (int waited = 0; stores_stands(&b_, "m") != NULL; waited += 5) {
        ck_assert_msg(waited < WAIT_MS, "the drop is not told");
        pause_ms(5);
    }
    size_t events = b_.events;
    atomic_store(&refused_size, 0);
    pause_ms(200);
    ck_assert_uint_eq(b_.events, events);

    struct tp_map *map = stores_grid(SIDE, SIDE, 9); /* and the name is as good as new */
    stores_expect_at(&b_, stores_put(&b_, "m", map, false), TP_STORE_BEGUN, 9, 1);
    tp_map_unref(map);
}
END_TEST

/* There is no memory for an entry that is read: it is asked for again at the store's own pace. */
START_TEST(test_large_entry)
{
    enum { CELLS = SIDE * SIDE / 2, LOOK_MS = 600, ASKED_MAX = 60 };
    static struct tp_change changes[CELLS];
    for (uint32_t i = 0; i < CELLS; i++)
        changes[i] = (struct tp_change){.kind = TP_CHANGE_CELL, .class_to = i % 3 == 0 ? '@' : 'T', .x = i * 2 % SIDE, .y = i * 2 / SIDE};
    const struct tp_batch batch = {.changes = changes, .count = CELLS, .is_placed = true};
    atomic_store(&refused_from, LARGE_BYTES);
    stores_expect_at(&a_, stores_submit(&a_, "m", &batch), TP_STORE_VERSION, 7, 2);
    await_refusal();
    unsigned before = atomic_load(&refusals);
    pause_ms(LOOK_MS);
    unsigned asked = atomic_load(&refusals) - before;
    ck_assert_msg(asked >= 1 && asked <= ASKED_MAX, "in %d ms it was asked for %u times", LOOK_MS, asked);
    ck_assert_uint_eq(stores_stands(&b_, "m")->version, 1);
    atomic_store(&refused_from, 0);
    stores_await(&b_, "m", 7, 2);
}
END_TEST

/* Two batches of bitmaps fill what may wait: a third has no room until one of them is gone, but one that was counted before comes back. */
START_TEST(test_waiting_is_weighed)
{
    enum { BITS_BYTES = TP__REDIS_WAITING_BYTES_MAX / 2 - 4096 };
    static uint8_t bits[1]; /* not looked at */
    static struct tp__redis_store store;
    struct tp__redis_map map = {.store = &store};
    struct tp_change change = {.kind = TP_CHANGE_BITMAP, .bits = bits, .bits_size = BITS_BYTES};
    struct tp_batch batch = {.changes = &change, .count = 1};
    struct tp__redis_call calls[3], load = {.kind = TP__REDIS_LOAD};
    tp__redis_calls_init(&map.waiting);
    for (int i = 0; i < 3; i++)
        calls[i] = (struct tp__redis_call){.kind = TP__REDIS_SUBMIT, .batch = &batch};
    for (int i = 0; i < 2; i++) {
        ck_assert(tp__redis_wait_begin(&store, &calls[i], false));
        tp__redis_calls_add(&map.waiting, &calls[i]);
    }
    ck_assert(!tp__redis_wait_begin(&store, &calls[2], false));
    ck_assert(tp__redis_wait_begin(&store, &load, false));
    ck_assert_uint_eq(store.waiting, 2);
    ck_assert_uint_gt(store.waiting_bytes, 2 * (size_t)BITS_BYTES);
    ck_assert_ptr_eq(tp__redis_wait_end(&map), &calls[0]);
    ck_assert(tp__redis_wait_begin(&store, &calls[2], false));
    tp__redis_calls_add(&map.waiting, &calls[2]);
    ck_assert(tp__redis_wait_begin(&store, &calls[0], true));
    tp__redis_calls_add(&map.waiting, &calls[0]);
    for (int i = 0; i < 3; i++)
        (void)tp__redis_wait_end(&map);
    ck_assert_uint_eq(store.waiting, 0);
    ck_assert_uint_eq(store.waiting_bytes, 0);

    change.bits_size = 3 * (size_t)BITS_BYTES; /* one alone may be larger */
    calls[1].weight = 0;
    ck_assert(tp__redis_wait_begin(&store, &calls[1], false));
}
END_TEST

static Suite *redis_memory_suite(void)
{
    Suite *suite = suite_create("redis_memory");
    TCase *stores = tcase_create("stores");
    tcase_add_checked_fixture(stores, setup, teardown);
    tcase_add_test(stores, test_drop_is_told);
    tcase_add_test(stores, test_large_entry);
    suite_add_tcase(suite, stores);
    TCase *bounds = tcase_create("bounds");
    tcase_add_test(bounds, test_waiting_is_weighed);
    suite_add_tcase(suite, bounds);
    return suite;
}

int main(void)
{
    return tp_test_main("test_redis_memory", redis_memory_suite);
}
