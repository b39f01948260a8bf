/* The keys of batches as bytes: in a batch, in the log; what has none looks as it did before there were keys. */
#include "daemon/store/keys.h"
#include "daemon/store/maplog.h"
#include "daemon/store/snapshot.h"
#include "tests/lib/harness.h"

#include <stdlib.h>
#include <string.h>

static struct tp_key random_key(struct tp_test_rng *rng, uint32_t different)
{
    struct tp_test_rng own = {tp_test_below(rng, different) * 0x9e3779b97f4a7c15u + 1};
    struct tp_key key = {.size = (uint8_t)(1 + tp_test_below(&own, TP_KEY_BYTES_MAX))};
    for (uint8_t i = 0; i < key.size; i++)
        key.bytes[i] = (uint8_t)tp_test_below(&own, 256);
    return key;
}

static struct tp_map *free_map(uint32_t width, uint32_t height)
{
    uint8_t *cells = malloc((size_t)width * height);
    memset(cells, '.', (size_t)width * height);
    struct tp_profile profile;
    struct tp_map *map;
    tp_profile_init_movingai(&profile);
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile, 9), 0);
    free(cells);
    return map;
}

static void expect_same(const struct tp_keys *a, const struct tp_keys *b)
{
    ck_assert_uint_eq(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        const struct tp_key_made *one = &a->ring[(a->first + i) % TP_KEYS_MAX];
        const struct tp_key_made *other = &b->ring[(b->first + i) % TP_KEYS_MAX];
        ck_assert_uint_eq(one->version, other->version);
        ck_assert(tp_key_equals(&one->key, &other->key));
    }
}

/* Against a plain list of all that was added; and as bytes. */
START_TEST(test_ring)
{
    struct tp_test_rng rng = tp_test_rng("ring");
    struct tp_keys keys = {0};
    ck_assert_int_eq(tp_keys_reserve(&keys), 0);
    enum { MOST = 3000 };
    static struct tp_key all[MOST];
    for (uint64_t n = 0; n < MOST; n++) {
        do /* the world asks first, and adds none twice */
            all[n] = random_key(&rng, 100000);
        while (tp_keys_find(&keys, &all[n]) != 0);
        tp_keys_add(&keys, &all[n], n + 2);
        uint64_t asked = tp_test_below(&rng, (uint32_t)n + 1), last = 0;
        for (uint64_t i = n + 1 > TP_KEYS_MAX ? n + 1 - TP_KEYS_MAX : 0; i <= n; i++)
            if (tp_key_equals(&all[i], &all[asked]))
                last = i + 2;
        ck_assert_uint_eq(tp_keys_find(&keys, &all[asked]), last);
    }
    ck_assert_uint_eq(keys.count, TP_KEYS_MAX);
    size_t size = tp_keys_encoded_bytes(&keys), used;
    uint8_t *bytes = malloc(size);
    tp_keys_encode(&keys, bytes);
    struct tp_keys back, copy;
    ck_assert_int_eq(tp_keys_decode(&back, bytes, size, &used), 0);
    ck_assert_uint_eq(used, size);
    expect_same(&keys, &back);
    ck_assert_int_eq(tp_keys_copy(&copy, &keys), 0);
    expect_same(&keys, &copy);
    tp_keys_fini(&back);
    tp_keys_fini(&copy);
    for (int i = 0; i < 200; i++) {
        size_t cut = tp_test_below(&rng, (uint32_t)size);
        uint8_t *part = malloc(cut + 1); /* of its own, so that a read behind it is found */
        memcpy(part, bytes, cut);
        ck_assert_int_eq(tp_keys_decode(&back, part, cut, &used), TP_ERR_CORRUPT);
        ck_assert_ptr_null(back.ring);
        free(part);
    }
    free(bytes);
    tp_keys_fini(&keys);
}
END_TEST

START_TEST(test_batch)
{
    /* a cell, as every version of the program has written it: count, kind, class, x, y */
    static const uint8_t plain[] = {1, 0, 0, 0, 0, '@', 3, 0, 0, 0, 1, 0, 0, 0};
    const struct tp_change change = {.kind = TP_CHANGE_CELL, .class_to = '@', .x = 3, .y = 1};
    uint8_t *bytes;
    size_t size;
    struct tp_key key;
    ck_assert_int_eq(tp_batch_encode(&change, 1, NULL, &bytes, &size), 0);
    ck_assert_uint_eq(size, sizeof plain);
    ck_assert_mem_eq(bytes, plain, size);
    tp_batch_key(bytes, size, &key);
    ck_assert(!tp_key_is_set(&key));
    free(bytes);

    struct tp_test_rng rng = tp_test_rng("batch");
    for (int round = 0; round < 100; round++) {
        struct tp_key own = random_key(&rng, 100000);
        ck_assert_int_eq(tp_batch_encode(&change, 1, &own, &bytes, &size), 0);
        tp_batch_key(bytes, size, &key);
        ck_assert(tp_key_equals(&key, &own));
        struct tp_change *changes;
        size_t count;
        ck_assert_int_eq(tp_batch_decode(bytes, size, &changes, &count), 0);
        ck_assert_uint_eq(count, 1);
        ck_assert(changes[0].kind == TP_CHANGE_CELL && changes[0].class_to == '@' && changes[0].x == 3 &&
                  changes[0].y == 1);
        free(changes);
        size_t cut = tp_test_below(&rng, (uint32_t)size);
        uint8_t *part = malloc(cut + 1);
        memcpy(part, bytes, cut);
        ck_assert_int_eq(tp_batch_decode(part, cut, &changes, &count), TP_ERR_CORRUPT);
        tp_batch_key(part, cut, &key);
        ck_assert(!tp_key_is_set(&key) || tp_key_equals(&key, &own));
        free(part);
        free(bytes);
    }
}
END_TEST

/* A log of batches with keys and without. */
START_TEST(test_log)
{
    struct tp_test_rng rng = tp_test_rng("log");
    struct tp_map *map = free_map(8, 8);
    uint8_t *log = malloc(1 << 20);
    size_t log_size = TP_MAPLOG_HEADER_BYTES;
    tp_maplog_header(log, map->epoch, map->version);
    struct tp_keys expected = {0}, keys = {0};
    ck_assert_int_eq(tp_keys_reserve(&expected), 0);
    for (uint64_t version = 2; version < 200; version++) {
        const struct tp_change change = {
            .kind = TP_CHANGE_CELL, .class_to = '@', .x = tp_test_below(&rng, 8)};
        struct tp_key key = {0};
        if (tp_test_percent(&rng, 50))
            key = random_key(&rng, UINT32_MAX);
        uint8_t *bytes, *record;
        size_t size;
        struct tp_maplog_batch batch;
        ck_assert_int_eq(tp_batch_encode(&change, 1, &key, &bytes, &batch.size), 0);
        batch.bytes = bytes;
        ck_assert_int_eq(tp_maplog_record(&record, &size, &batch, 1, version), 0);
        memcpy(log + log_size, record, size);
        log_size += size;
        free(record);
        free(bytes);
        tp_keys_add(&expected, &key, version);
    }
    struct tp_maplog_replay replay;
    const char *reason;
    ck_assert_int_eq(tp_maplog_apply(&map, &keys, log, log_size, &replay, &reason), 0);
    ck_assert_uint_eq(replay.batches, 198);
    expect_same(&keys, &expected);
    tp_keys_fini(&keys);
    tp_keys_fini(&expected);
    tp_map_unref(map);
    free(log);
}
END_TEST

static Suite *batch_keys_suite(void)
{
    Suite *suite = suite_create("batch_keys");
    TCase *cases = tcase_create("batch_keys");
    tcase_add_test(cases, test_ring);
    tcase_add_test(cases, test_batch);
    tcase_add_test(cases, test_log);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_batch_keys", batch_keys_suite);
}
