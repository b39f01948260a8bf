/* Map versions: building, every kind of change, all or nothing, sharing of tiles, counts, rose and fell
 * marks. The property test holds a map beside a plain array through random batches. */
#include "map/map.h"

#include "base/limits.h"
#include "tests/lib/maps.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Applies a batch that must be taken. */
static struct tp_map *apply(const struct tp_map *base, const struct tp_change *changes, size_t count)
{
    struct tp_map *next;
    size_t bad;
    uint32_t bad_x, bad_y;
    int rc = tp_map_apply(&next, base, changes, count, &bad, &bad_x, &bad_y);
    ck_assert_msg(rc == 0, "%s at change %zu, cell (%u, %u)", tp_error_name(rc), bad, bad_x, bad_y);
    ck_assert_uint_eq(next->version, base->version + 1);
    ck_assert_uint_eq(next->epoch, base->epoch);
    return next;
}

/* ---- Building ---- */

START_TEST(test_build)
{
    struct tp_map *map = tp_test_map(".@G\n"
                                     "SWT");
    ck_assert_uint_eq(map->width, 3);
    ck_assert_uint_eq(map->height, 2);
    ck_assert_uint_eq(map->version, 1);
    ck_assert_uint_eq(map->epoch, 1);
    ck_assert_uint_eq(map->rose_version, 1);
    ck_assert_uint_eq(map->fell_version, 1);
    ck_assert_uint_eq(map->passable_cells, 3);
    ck_assert(!map->weighted);
    ck_assert_uint_eq(tp_map_class(map, 1, 0), '@');
    ck_assert_uint_eq(tp_map_class(map, 2, 1), 'T');
    ck_assert_uint_eq(tp_map_weight(map, 0, 1), 1);
    ck_assert_uint_eq(tp_map_weight(map, 1, 1), 0);
    ck_assert(tp_map_passable(map, 0, 0) && !tp_map_passable(map, 1, 0) && tp_map_passable(map, 2, 0));
    ck_assert(tp_map_passable(map, 0, 1) && !tp_map_passable(map, 1, 1) && !tp_map_passable(map, 2, 1));
    static const int64_t outside[][2] = {{-1, 0}, {0, -1}, {3, 0}, {0, 2}, {INT64_MIN, 0}, {0, INT64_MAX}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        ck_assert(!tp_map_passable(map, outside[i][0], outside[i][1]));
    tp_map_unref(map);
}
END_TEST

START_TEST(test_build_refusals)
{
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    uint8_t cell = '.';
    static const uint32_t sizes[][2] = {{0, 1},       {1, 0},        {0, 0}, {TP_MAP_CELLS_MAX + 1, 1},
                                        {8193, 8192}, {65536, 65536}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct tp_map *map = (struct tp_map *)1;
        ck_assert_int_eq(tp_map_build(&map, sizes[i][0], sizes[i][1], &cell, &profile, 1),
                         TP_ERR_INVALID_ARGUMENT);
        ck_assert_ptr_null(map);
    }
}
END_TEST

START_TEST(test_restore)
{
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_restore(&map, 2, 1, (const uint8_t *)".@", &profile, 77, 1000), 0);
    ck_assert_uint_eq(map->epoch, 77);
    ck_assert_uint_eq(map->version, 1000);
    ck_assert_uint_eq(map->rose_version, 1000);
    ck_assert_uint_eq(map->fell_version, 1000);
    ck_assert_uint_eq(map->passable_cells, 1);
    tp_test_set(&map, 1, 0, '.');
    ck_assert_uint_eq(map->version, 1001);
    ck_assert_uint_eq(map->epoch, 77);
    ck_assert_uint_eq(map->rose_version, 1000);
    ck_assert_uint_eq(map->fell_version, 1001);
    tp_map_unref(map);
}
END_TEST

START_TEST(test_profile)
{
    struct tp_profile profile;
    memset(&profile, 0xff, sizeof profile);
    tp_profile_init_movingai(&profile);
    for (int class = 0; class < 256; class ++)
        ck_assert_uint_eq(profile.weight[class], class == '.' || class == 'G' || class == 'S');
    ck_assert_uint_eq(tp_profile_least_weight(&profile), 1);
    ck_assert_uint_eq(tp_profile_largest_weight(&profile), 1);
    memset(&profile, 0, sizeof profile);
    ck_assert_uint_eq(tp_profile_least_weight(&profile), 1);
    ck_assert_uint_eq(tp_profile_largest_weight(&profile), 1);
    profile.weight[0] = 300;
    profile.weight[255] = TP_WEIGHT_MAX;
    ck_assert_uint_eq(tp_profile_least_weight(&profile), 300);
    ck_assert_uint_eq(tp_profile_largest_weight(&profile), TP_WEIGHT_MAX);
    struct tp_map *map = tp_test_map_weighted("..", &profile);
    ck_assert(map->weighted);
    ck_assert_uint_eq(map->passable_cells, 0);
    tp_map_unref(map);
}
END_TEST

/* ---- Changes ---- */

static void expect_art(const struct tp_map *map, const char *art)
{
    for (uint32_t y = 0; y < map->height; y++)
        for (uint32_t x = 0; x < map->width; x++) {
            char want = art[y * (map->width + 1) + x];
            ck_assert_msg(tp_map_class(map, x, y) == want, "cell (%u, %u) is %c, not %c", x, y,
                          tp_map_class(map, x, y), want);
        }
}

START_TEST(test_change_kinds)
{
    struct tp_map *first = tp_test_map(".....\n"
                                       ".....\n"
                                       ".....");
    static const uint8_t bits[] = {0x25, 0x01}; /* 101 001 001, from the least bit of byte 0 */
    static const struct tp_change changes[] = {
        {.kind = TP_CHANGE_CELL, .class_to = 'T', .x = 4, .y = 2, .width = 9, .height = 9},
        {.kind = TP_CHANGE_RECT, .class_to = 'W', .x = 0, .y = 1, .width = 2, .height = 2},
        {.kind = TP_CHANGE_BITMAP,
         .class_to = '@',
         .x = 1,
         .y = 0,
         .width = 3,
         .height = 3,
         .bits = bits,
         .bits_size = 2},
    };
    struct tp_map *second = apply(first, changes, 3);
    expect_art(second, ".@.@.\n"
                       "WW.@.\n"
                       "WW.@T");
    ck_assert_uint_eq(second->passable_cells, 6);
    expect_art(first, ".....\n"
                      ".....\n"
                      ".....");
    ck_assert_uint_eq(first->passable_cells, 15);
    uint8_t cells[15];
    tp_map_copy_cells(second, cells);
    ck_assert_mem_eq(cells, ".@.@.WW.@.WW.@T", 15);
    /* later changes of a batch win */
    static const struct tp_change both[] = {
        {.kind = TP_CHANGE_CELL, .class_to = 'S', .x = 2, .y = 1},
        {.kind = TP_CHANGE_CELL, .class_to = 'G', .x = 2, .y = 1},
    };
    struct tp_map *third = apply(second, both, 2);
    ck_assert_uint_eq(tp_map_class(third, 2, 1), 'G');
    tp_map_unref(first);
    tp_map_unref(third);
    tp_map_unref(second);
}
END_TEST

START_TEST(test_change_nothing)
{
    struct tp_map *first = tp_test_map("..@");
    struct tp_map *second = apply(first, NULL, 0);
    struct tp_change same = {.kind = TP_CHANGE_CELL, .class_to = '@', .x = 2};
    struct tp_map *third = apply(second, &same, 1);
    ck_assert_uint_eq(third->version, 3);
    ck_assert_uint_eq(third->rose_version, 1);
    ck_assert_uint_eq(third->fell_version, 1);
    ck_assert_uint_eq(third->passable_cells, 2);
    tp_map_unref(first);
    tp_map_unref(second);
    tp_map_unref(third);
}
END_TEST

/* rose: a weight went up or a cell closed; fell: a weight went down or a cell opened. */
START_TEST(test_marks)
{
    struct tp_profile profile = {{0}};
    profile.weight['1'] = 1;
    profile.weight['i'] = 1; /* another class of the same weight */
    profile.weight['5'] = 5;
    struct tp_map *map = tp_test_map_weighted("15@1", &profile);
    static const struct {
        uint32_t x;
        char class_to;
        bool rose, fell;
    } steps[] = {
        {0, '5', true, false},  /* up */
        {0, '1', false, true},  /* down */
        {0, 'i', false, false}, /* same weight, other class */
        {0, '@', true, false},  /* closed */
        {0, '5', false, true},  /* opened, to any weight */
        {2, 'T', false, false}, /* impassable stays impassable */
        {2, '1', false, true},  {2, '1', false, false}, {1, '@', true, false},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint64_t rose = map->rose_version, fell = map->fell_version;
        tp_test_set(&map, steps[i].x, 0, steps[i].class_to);
        ck_assert_msg(map->rose_version == (steps[i].rose ? map->version : rose), "rose, step %zu", i);
        ck_assert_msg(map->fell_version == (steps[i].fell ? map->version : fell), "fell, step %zu", i);
    }
    tp_map_unref(map);
}
END_TEST

/* ---- Refusals ---- */

static const uint8_t some_bits[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* On a 100 x 70 map. */
static const struct {
    struct tp_change change;
    int error;
    uint32_t bad_x, bad_y;
} refusals[] = {
    {{.kind = TP_CHANGE_CELL, .x = 100, .y = 0}, TP_ERR_OUT_OF_RANGE, 100, 0},
    {{.kind = TP_CHANGE_CELL, .x = 0, .y = 70}, TP_ERR_OUT_OF_RANGE, 0, 70},
    {{.kind = TP_CHANGE_CELL, .x = UINT32_MAX, .y = UINT32_MAX}, TP_ERR_OUT_OF_RANGE, UINT32_MAX, UINT32_MAX},
    {{.kind = TP_CHANGE_RECT, .x = 98, .y = 3, .width = 3, .height = 2}, TP_ERR_OUT_OF_RANGE, 100, 3},
    {{.kind = TP_CHANGE_RECT, .x = 98, .y = 68, .width = 2, .height = 3}, TP_ERR_OUT_OF_RANGE, 98, 70},
    {{.kind = TP_CHANGE_RECT, .x = 98, .y = 68, .width = 3, .height = 3}, TP_ERR_OUT_OF_RANGE, 100, 68},
    {{.kind = TP_CHANGE_RECT, .x = 150, .y = 3, .width = 1, .height = 1}, TP_ERR_OUT_OF_RANGE, 150, 3},
    {{.kind = TP_CHANGE_RECT, .x = 3, .y = 75, .width = 1, .height = 1}, TP_ERR_OUT_OF_RANGE, 3, 75},
    {{.kind = TP_CHANGE_RECT, .x = 1, .y = 1, .width = UINT32_MAX, .height = 1}, TP_ERR_OUT_OF_RANGE, 100, 1},
    {{.kind = TP_CHANGE_RECT, .x = 1, .y = 1, .width = UINT32_MAX, .height = UINT32_MAX},
     TP_ERR_OUT_OF_RANGE,
     100,
     1},
    {{.kind = TP_CHANGE_RECT, .x = 1, .y = 1, .width = 0, .height = 1}, TP_ERR_INVALID_ARGUMENT, 0, 0},
    {{.kind = TP_CHANGE_RECT, .x = 1, .y = 1, .width = 1, .height = 0}, TP_ERR_INVALID_ARGUMENT, 0, 0},
    {{.kind = TP_CHANGE_BITMAP, .x = 1, .y = 1, .width = 0, .height = 0, .bits = some_bits, .bits_size = 8},
     TP_ERR_INVALID_ARGUMENT,
     0,
     0},
    {{.kind = TP_CHANGE_BITMAP, .x = 1, .y = 1, .width = 13, .height = 5, .bits = some_bits, .bits_size = 8},
     TP_ERR_INVALID_ARGUMENT,
     0,
     0}, /* 65 bits */
    {{.kind = TP_CHANGE_BITMAP, .x = 1, .y = 1, .width = 1, .height = 1, .bits = NULL, .bits_size = 0},
     TP_ERR_INVALID_ARGUMENT,
     0,
     0},
    {{.kind = TP_CHANGE_BITMAP, .x = 99, .y = 1, .width = 2, .height = 1, .bits = some_bits, .bits_size = 8},
     TP_ERR_OUT_OF_RANGE,
     100,
     1},
};

/* A bad change anywhere in a batch refuses all of it, and is named. */
START_TEST(test_refusals)
{
    struct tp_map *map = tp_test_map_free(100, 70);
    for (size_t place = 0; place < 3; place++) {
        struct tp_change batch[3];
        for (size_t i = 0; i < 3; i++)
            batch[i] = (struct tp_change){.kind = TP_CHANGE_CELL, .class_to = '@', .x = (uint32_t)i, .y = 1};
        batch[place] = refusals[_i].change;
        struct tp_map *next = (struct tp_map *)1;
        size_t bad = 99;
        uint32_t bad_x = 99, bad_y = 99;
        ck_assert_int_eq(tp_map_apply(&next, map, batch, 3, &bad, &bad_x, &bad_y), refusals[_i].error);
        ck_assert_ptr_null(next);
        ck_assert_uint_eq(bad, place);
        if (refusals[_i].error == TP_ERR_OUT_OF_RANGE) {
            ck_assert_uint_eq(bad_x, refusals[_i].bad_x);
            ck_assert_uint_eq(bad_y, refusals[_i].bad_y);
        }
        ck_assert_uint_eq(map->passable_cells, 7000);
        ck_assert_uint_eq(map->version, 1);
        for (size_t i = 0; i < (size_t)map->tiles_x * map->tiles_y; i++)
            ck_assert_uint_eq(map->tiles[i]->refs, 1);
    }
    tp_map_unref(map);
}
END_TEST

START_TEST(test_batch_limit)
{
    struct tp_map *map = tp_test_map_free(4, 4);
    struct tp_change *batch = calloc(TP_BATCH_CHANGES_MAX + 1, sizeof *batch); /* cells (0, 0) to class 0 */
    ck_assert_ptr_nonnull(batch);
    struct tp_map *next;
    size_t bad;
    uint32_t bad_x, bad_y;
    ck_assert_int_eq(tp_map_apply(&next, map, batch, TP_BATCH_CHANGES_MAX + 1, &bad, &bad_x, &bad_y),
                     TP_ERR_RESOURCE_EXHAUSTED);
    ck_assert_ptr_null(next);
    next = apply(map, batch, TP_BATCH_CHANGES_MAX);
    ck_assert_uint_eq(next->passable_cells, 15);
    free(batch);
    tp_map_unref(map);
    tp_map_unref(next);
}
END_TEST

/* A bitmap of exactly enough bits is taken, and nothing past them is read. */
START_TEST(test_bitmap_exact)
{
    struct tp_map *map = tp_test_map_free(70, 70);
    for (uint32_t width = 1; width <= 17; width++)
        for (uint32_t height = 1; height <= 5; height++) {
            size_t size = (width * height + 7) / 8;
            uint8_t *bits = malloc(size);
            ck_assert_ptr_nonnull(bits);
            memset(bits, 0xff, size);
            struct tp_change change = {.kind = TP_CHANGE_BITMAP,
                                       .class_to = '@',
                                       .x = 55,
                                       .y = 62,
                                       .width = width,
                                       .height = height,
                                       .bits = bits,
                                       .bits_size = size};
            if (change.x + width <= 70) {
                struct tp_map *next = apply(map, &change, 1);
                ck_assert_uint_eq(next->passable_cells, 4900 - width * height);
                tp_map_unref(next);
            }
            free(bits);
        }
    tp_map_unref(map);
}
END_TEST

/* ---- Sharing ---- */

START_TEST(test_sharing)
{
    struct tp_map *first = tp_test_map_free(200, 130); /* 4 x 3 tiles */
    ck_assert_uint_eq(first->tiles_x, 4);
    ck_assert_uint_eq(first->tiles_y, 3);
    size_t whole = tp_map_bytes(first);
    /* touches tiles 0 and 1 of the top row, and tile (3, 2) */
    static const struct tp_change changes[] = {
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 63, .y = 0, .width = 2, .height = 64},
        {.kind = TP_CHANGE_CELL, .class_to = '@', .x = 199, .y = 129},
    };
    struct tp_map *second = apply(first, changes, 2);
    for (uint32_t i = 0; i < 12; i++) {
        bool own = i == 0 || i == 1 || i == 11;
        ck_assert_msg((first->tiles[i] != second->tiles[i]) == own, "tile %u", i);
        ck_assert_uint_eq(first->tiles[i]->refs, own ? 1 : 2);
        ck_assert_uint_eq(second->tiles[i]->refs, own ? 1 : 2);
    }
    ck_assert_uint_lt(tp_map_bytes(second), whole);
    ck_assert_uint_gt(tp_map_bytes(second), whole / 2);
    /* a bitmap without a set bit in a tile leaves that tile shared */
    uint8_t bits[2] = {0x01, 0x00};
    struct tp_change bitmap = {.kind = TP_CHANGE_BITMAP,
                               .class_to = '@',
                               .x = 60,
                               .y = 70,
                               .width = 10,
                               .height = 1,
                               .bits = bits,
                               .bits_size = 2};
    struct tp_map *third = apply(second, &bitmap, 1);
    ck_assert_ptr_ne(third->tiles[4], second->tiles[4]);
    ck_assert_ptr_eq(third->tiles[5], second->tiles[5]);
    ck_assert_uint_eq(third->tiles[5]->refs, 3);
    /* versions go in any order; what is left stays whole */
    tp_map_unref(second);
    ck_assert_uint_eq(third->tiles[5]->refs, 2);
    ck_assert_uint_eq(third->tiles[0]->refs, 1);
    tp_map_unref(first);
    ck_assert_uint_eq(third->tiles[5]->refs, 1);
    ck_assert_uint_eq(third->passable_cells, 200 * 130 - 128 - 2);
    ck_assert(!tp_map_passable(third, 64, 63) && tp_map_passable(third, 65, 63));
    tp_map_unref(third);
}
END_TEST

START_TEST(test_refs)
{
    struct tp_map *map = tp_test_map_free(10, 10);
    ck_assert_ptr_eq(tp_map_ref(map), map);
    tp_map_ref(map);
    ck_assert_uint_eq(map->refs, 3);
    tp_map_unref(map);
    tp_map_unref(map);
    ck_assert_uint_eq(map->refs, 1);
    tp_map_unref(NULL);
    tp_map_unref(map);
}
END_TEST

/* Readers on two threads keep and drop versions while a third makes new ones. */
struct shared {
    pthread_mutex_t lock;
    const struct tp_map *latest;
    _Atomic bool stop;
};

static void *reader(void *argument)
{
    struct shared *shared = argument;
    uint64_t seen = 0;
    while (!shared->stop) {
        pthread_mutex_lock(&shared->lock);
        const struct tp_map *map = tp_map_ref(shared->latest);
        pthread_mutex_unlock(&shared->lock);
        uint64_t passable = 0;
        for (uint32_t y = 0; y < map->height; y++)
            for (uint32_t x = 0; x < map->width; x++)
                passable += tp_map_passable(map, x, y);
        if (passable != map->passable_cells || map->version < seen)
            return (void *)"a reader saw a map change under it";
        seen = map->version;
        tp_map_unref(map);
    }
    return NULL;
}

START_TEST(test_threads)
{
    struct tp_test_rng rng = tp_test_rng("threads");
    struct shared shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .latest = tp_test_map_free(130, 70)};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, reader, &shared), 0);
    for (int i = 0; i < 2000; i++) {
        struct tp_change change = {.kind = TP_CHANGE_CELL,
                                   .class_to = tp_test_percent(&rng, 50) ? '@' : '.',
                                   .x = tp_test_below(&rng, 130),
                                   .y = tp_test_below(&rng, 70)};
        struct tp_map *next = apply(shared.latest, &change, 1);
        pthread_mutex_lock(&shared.lock);
        const struct tp_map *old = shared.latest;
        shared.latest = next;
        pthread_mutex_unlock(&shared.lock);
        tp_map_unref(old);
    }
    shared.stop = true;
    for (int i = 0; i < 2; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        ck_assert_msg(!complaint, "%s", (const char *)complaint);
    }
    tp_map_unref(shared.latest);
}
END_TEST

static Suite *map_suite(void)
{
    Suite *suite = suite_create("map");
    TCase *build = tcase_create("build");
    tcase_add_test(build, test_build);
    tcase_add_test(build, test_build_refusals);
    tcase_add_test(build, test_restore);
    tcase_add_test(build, test_profile);
    suite_add_tcase(suite, build);
    TCase *change = tcase_create("change");
    tcase_add_test(change, test_change_kinds);
    tcase_add_test(change, test_change_nothing);
    tcase_add_test(change, test_marks);
    tcase_add_loop_test(change, test_refusals, 0, sizeof refusals / sizeof *refusals);
    tcase_add_test(change, test_batch_limit);
    tcase_add_test(change, test_bitmap_exact);
    suite_add_tcase(suite, change);
    TCase *versions = tcase_create("versions");
    tcase_add_test(versions, test_sharing);
    tcase_add_test(versions, test_refs);
    tcase_add_test(versions, test_threads);
    suite_add_tcase(suite, versions);
    return suite;
}

int main(void)
{
    return tp_test_main("test_map", map_suite);
}
