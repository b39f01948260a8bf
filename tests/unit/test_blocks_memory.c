/* The block graph without memory: each allocation in turn fails, and what was made is given up. The files under test are compiled here, with
 * an allocator of the test's. */
#include <stdlib.h>

static void *test_malloc(size_t size);
static void *test_calloc(size_t count, size_t size);

static void *test_realloc(void *old, size_t size);

#define malloc test_malloc
#define calloc test_calloc
#define realloc test_realloc
#include "map/blocks.c"
#include "map/blocks_at.c"
#include "map/blocks_repair.c"
#include "map/blocks_tile.c"
#include "map/labels.c"
#undef malloc
#undef calloc
#undef realloc

#include "tests/lib/maps.h"

static uint64_t left_; /* allocations that succeed yet */

static void *test_malloc(size_t size)
{
    return left_ ? left_--, malloc(size) : NULL;
}

static void *test_calloc(size_t count, size_t size)
{
    return left_ ? left_--, calloc(count, size) : NULL;
}

static void *test_realloc(void *old, size_t size)
{
    return left_ ? left_--, realloc(old, size) : NULL;
}

/* Ends when the call got all it wanted; the leak checker sees whether it gave all back before. */
START_TEST(gives_up)
{
    struct tp_test_rng rng = tp_test_rng("memory");
    struct tp_map *map =
        _i % 2 ? tp_test_map_random_weighted(&rng, 150, 140, 30, 9) : tp_test_map_random(&rng, 150, 140, 30);
    enum tp_blocks_links links = _i / 2 ? TP_BLOCKS_DIAGONAL : TP_BLOCKS_STRAIGHT;
    struct tp_blocks *blocks = NULL, *next = NULL;
    uint64_t room = 0;
    for (int error = TP_ERR_NO_MEMORY; error; room++) {
        left_ = room;
        error = tp_blocks_build(&blocks, map, links);
        ck_assert(error == 0 || (error == TP_ERR_NO_MEMORY && !blocks));
    }
    ck_assert_uint_ge(room, 9 + 4);                      /* tiles, and what holds them */
    for (uint32_t width = 1; width < 100; width += 98) { /* one tile, or most */
        struct tp_map *now = (struct tp_map *)tp_map_ref(map);
        tp_test_set_rect(&now, 10, 10, width, width, '@');
        tp_test_set_rect(&now, 11, 10, width, 1, tp_map_class(map, 0, 0));
        const struct tp_map *late = tp_map_ref(now);
        room = 0;
        for (int error = TP_ERR_NO_MEMORY; error; room++) {
            left_ = room;
            error = tp_blocks_follow(&next, blocks, map, late);
            ck_assert(error == 0 || (error == TP_ERR_NO_MEMORY && !next));
        }
        ck_assert_uint_ge(room, 5);
        for (uint32_t i = 0; i < 9; i++) /* of what was given up, nothing holds a tile */
            ck_assert_uint_eq(atomic_load(&blocks->tiles[i]->refs),
                              blocks->tiles[i] == next->tiles[i] ? 2 : 1);
        tp_blocks_unref(next);
        tp_map_unref(late);
        tp_map_unref(now);
    }
    tp_blocks_unref(blocks);
    tp_map_unref(map);
}
END_TEST

static Suite *memory_suite(void)
{
    Suite *suite = suite_create("blocks memory");
    TCase *tcase = tcase_create("memory");
    tcase_add_loop_test(tcase, gives_up, 0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_blocks_memory", memory_suite);
}
