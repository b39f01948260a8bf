/* The block pool: what it hands out, what it gives back, and how it keeps to a cap that several pools share. */
#include "base/pool.h"

#include "tests/lib/harness.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(blocks_are_apart_aligned_and_counted)
{
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    enum { COUNT = 2000 };
    unsigned char *blocks[COUNT];
    struct tp_test_rng rng = tp_test_rng("pool");
    uint32_t bytes[COUNT];
    uint64_t used = 0;
    for (int i = 0; i < COUNT; i++) {
        uint32_t class_bytes = tp_pool_class_bytes[tp_test_below(&rng, TP_POOL_CLASSES)];
        bytes[i] = class_bytes - tp_test_below(&rng, 36);
        blocks[i] = tp_pool_get(&pool, bytes[i]);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % (bytes[i] > tp_pool_class_bytes[1] ? 64 : 8), 0);
        memset(blocks[i], i & 255, bytes[i]);
    }
    for (int i = 0; i < COUNT; i++)
        for (uint32_t j = 0; j < bytes[i]; j++)
            if (blocks[i][j] != (i & 255))
                ck_abort_msg("block %d is written by another", i);
    for (int class = 0; class < TP_POOL_CLASSES; class++)
        for (int i = 0; i < COUNT; i++)
            if (bytes[i] <= tp_pool_class_bytes[class] && (!class || bytes[i] > tp_pool_class_bytes[class - 1]))
                used += tp_pool_class_bytes[class];
    ck_assert_uint_eq(pool.used_bytes, used);
    for (int i = 0; i < COUNT; i++)
        tp_pool_put(&pool, blocks[i], bytes[i]);
    ck_assert_uint_eq(pool.used_bytes, 0);
    ck_assert_uint_le(pool.slab_bytes, (uint64_t)TP_POOL_SPARE_MAX * TP_POOL_SLAB_BYTES);
    tp_pool_fini(&pool);
}
END_TEST

/* Takes blocks until the cap says no; returns how many. */
static size_t fill(struct tp_pool *pool, uint32_t bytes, void **blocks, size_t most)
{
    size_t count = 0;
    while (count < most && (blocks[count] = tp_pool_get(pool, bytes)) != NULL)
        count++;
    return count;
}

static void empty(struct tp_pool *pool, uint32_t bytes, void **blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tp_pool_put(pool, blocks[i], bytes);
}

START_TEST(what_one_pool_gives_back_another_may_take)
{
    enum { SLABS = 100, MOST = 60000 };
    struct tp_pool_cap cap;
    atomic_init(&cap.bytes, 0);
    atomic_init(&cap.bytes_max, (uint64_t)SLABS * TP_POOL_SLAB_BYTES);
    struct tp_pool one, two;
    tp_pool_init(&one, &cap);
    tp_pool_init(&two, &cap);
    void **blocks = calloc(MOST, sizeof *blocks);
    ck_assert_ptr_nonnull(blocks);
    size_t count = fill(&one, 2048, blocks, MOST);
    ck_assert_uint_eq(atomic_load(&cap.bytes), (uint64_t)SLABS * TP_POOL_SLAB_BYTES);
    ck_assert_ptr_null(tp_pool_get(&two, 128));
    ck_assert_ptr_null(tp_pool_get(&one, 128));
    empty(&one, 2048, blocks, count);
    /* the other class of the same pool, then the other pool */
    count = fill(&one, 128, blocks, MOST);
    ck_assert_uint_eq(atomic_load(&cap.bytes), (uint64_t)SLABS * TP_POOL_SLAB_BYTES);
    empty(&one, 128, blocks, count);
    ck_assert_uint_le(atomic_load(&cap.bytes), (uint64_t)TP_POOL_SPARE_MAX * TP_POOL_SLAB_BYTES);
    count = fill(&two, 384, blocks, MOST);
    ck_assert_uint_ge(two.slab_bytes, (uint64_t)(SLABS - TP_POOL_SPARE_MAX) * TP_POOL_SLAB_BYTES);
    empty(&two, 384, blocks, count);
    free(blocks);
    tp_pool_fini(&one);
    tp_pool_fini(&two);
    ck_assert_uint_eq(atomic_load(&cap.bytes), 0);
}
END_TEST

/* Pieces of packed paths stay when the tiles of the paths go that they were copied from, and hold no slabs of those. */
START_TEST(what_stays_holds_no_slabs_of_what_goes)
{
    enum { TILES = 40000, TILE_BYTES = 36, PIECE_BYTES = 40, TILES_A_PIECE = 50 };
    struct tp_pool pool;
    void **tiles = calloc(TILES, sizeof *tiles), *pieces[TILES / TILES_A_PIECE];
    ck_assert_ptr_nonnull(tiles);
    tp_pool_init(&pool, NULL);
    for (size_t i = 0; i < TILES; i++) {
        tiles[i] = tp_pool_get(&pool, TILE_BYTES);
        if (i % TILES_A_PIECE == 0)
            pieces[i / TILES_A_PIECE] = tp_pool_get(&pool, PIECE_BYTES);
    }
    empty(&pool, TILE_BYTES, tiles, TILES);
    ck_assert_uint_le(pool.slab_bytes, (uint64_t)(TP_POOL_SPARE_MAX + 1) * TP_POOL_SLAB_BYTES);
    empty(&pool, PIECE_BYTES, pieces, TILES / TILES_A_PIECE);
    tp_pool_fini(&pool);
    free(tiles);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("pool");
    TCase *tcase = tcase_create("pool");
    tcase_add_test(tcase, blocks_are_apart_aligned_and_counted);
    tcase_add_test(tcase, what_one_pool_gives_back_another_may_take);
    tcase_add_test(tcase, what_stays_holds_no_slabs_of_what_goes);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_pool", suite);
}
