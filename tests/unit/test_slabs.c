/* The source of a loop's slabs, under a pool and by itself. */
#include "daemon/slabs.h"
#include "tests/lib/harness.h"
#include "tests/lib/rng.h"

#include <stdlib.h>
#include <string.h>

/* Slabs are aligned, apart from each other and writable; those put back are given again; a region that is whole again is gone. */
START_TEST(test_slabs_given_and_put_back)
{
    enum { SLABS = 3 * TP_SLABS_OF_REGION + 5, ROUNDS = 20000 };
    static char *held[SLABS];
    uint64_t seed = tp_test_seed();
    struct tp_test_rng rng = {seed};
    struct tp_slabs slabs;
    tp_slabs_init(&slabs);
    const struct tp_pool_source *source = &slabs.source;
    size_t count = 0;
    memset(held, 0, sizeof held);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t i = tp_test_below(&rng, SLABS);
        /* it grows and shrinks: now most calls get, now most put */
        bool gets = tp_test_percent(&rng, round / 2000 % 2 ? 20 : 80);
        if (gets && held[i] == NULL) {
            held[i] = source->get(source->context);
            ck_assert_ptr_nonnull(held[i]);
            ck_assert_uint_eq((uintptr_t)held[i] % TP_POOL_SLAB_BYTES, 0);
            memset(held[i], (int)i, 64);
            held[i][TP_POOL_SLAB_BYTES - 1] = (char)i;
            count++;
        } else if (!gets && held[i] != NULL) {
            for (int at = 0; at < 64; at++)
                ck_assert_int_eq(held[i][at], (char)i);
            ck_assert_int_eq(held[i][TP_POOL_SLAB_BYTES - 1], (char)i);
            source->put(source->context, held[i]);
            held[i] = NULL;
            count--;
        }
        ck_assert_uint_le(slabs.kept, TP_SLABS_KEPT_MAX);
        ck_assert_uint_le(slabs.count, count);
        ck_assert_uint_ge(slabs.count * TP_SLABS_OF_REGION, count);
    }
    for (size_t i = 0; i < SLABS; i++)
        if (held[i] != NULL)
            source->put(source->context, held[i]);
    ck_assert_uint_eq(slabs.count, 0);
    ck_assert_uint_eq(slabs.kept, 0);
    tp_slabs_fini(&slabs);
}
END_TEST

/* A pool over it gives what it always gives, and puts all back at its end. */
START_TEST(test_slabs_under_a_pool)
{
    enum { BLOCKS = 4000 };
    static void *block[BLOCKS];
    struct tp_slabs slabs;
    struct tp_pool pool;
    tp_slabs_init(&slabs);
    tp_pool_init(&pool, NULL);
    pool.source = &slabs.source;
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = tp_pool_get(&pool, 2048);
        ck_assert_ptr_nonnull(block[i]);
        memset(block[i], 1, 2048);
    }
    ck_assert_uint_ge(slabs.count, BLOCKS * 2048 / TP_SLABS_REGION_BYTES);
    for (size_t i = 0; i < BLOCKS; i++)
        tp_pool_put(&pool, block[i], 2048);
    ck_assert_uint_eq(pool.slab_bytes, TP_POOL_SPARE_MAX * TP_POOL_SLAB_BYTES);
    tp_pool_fini(&pool);
    ck_assert_uint_eq(slabs.count, 0);
    tp_slabs_fini(&slabs);
}
END_TEST

static Suite *slabs_suite(void)
{
    Suite *suite = suite_create("slabs");
    TCase *cases = tcase_create("slabs");
    tcase_add_test(cases, test_slabs_given_and_put_back);
    tcase_add_test(cases, test_slabs_under_a_pool);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_slabs", slabs_suite);
}
