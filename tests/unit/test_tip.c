/* The rule by which a map's log is read (daemon/store/tip.h): what a batch does to the tip, in which order it is decided, and that nothing
 * is left of one that is refused. */
#include "daemon/store/tip.h"
#include "tests/lib/maps.h"
#include "tests/lib/stores.h"

#include <stdlib.h>
#include <string.h>

static struct tp_tip begin_grid(uint32_t width, uint32_t height)
{
    struct tp_tip tip = {0};
    struct tp_map *map = stores_grid(width, height, 5);
    tp_tip_begin(&tip, map);
    tp_map_unref(map);
    return tip;
}

static struct tp_tip_refused refused_;

/* Gives the error; the version that it repeats in *repeated. */
static int apply(struct tp_tip *tip, struct tp_batch batch, uint64_t *repeated)
{
    memset(&refused_, 0xff, sizeof refused_); /* whatever was there is overwritten */
    *repeated = 77;
    return tp_tip_apply(tip, &batch, repeated, &refused_);
}

static void expect_applied(struct tp_tip *tip, struct tp_batch batch)
{
    uint64_t version = tip->map->version, repeated;
    ck_assert_int_eq(apply(tip, batch, &repeated), 0);
    ck_assert_uint_eq(repeated, 0);
    ck_assert_uint_eq(tip->map->version, version + 1);
    ck_assert_int_eq((int)refused_.why, 0);
}

static void expect_repeated(struct tp_tip *tip, struct tp_batch batch, uint64_t made)
{
    const struct tp_map *map = tip->map;
    uint64_t repeated;
    ck_assert_int_eq(apply(tip, batch, &repeated), 0);
    ck_assert_uint_eq(repeated, made);
    ck_assert_ptr_eq(tip->map, map);
}

static void expect_refused(struct tp_tip *tip, struct tp_batch batch, int error, enum tp_tip_why why)
{
    const struct tp_map *map = tip->map;
    uint32_t keys = tip->keys.count;
    uint64_t repeated, content = stores_content(map);
    ck_assert_int_eq(apply(tip, batch, &repeated), error);
    ck_assert_uint_eq(repeated, 0);
    ck_assert_int_eq(refused_.why, why);
    ck_assert_ptr_eq(tip->map, map);
    ck_assert_uint_eq(stores_content(map), content);
    ck_assert_uint_eq(tip->keys.count, keys);
}

/* Cells and the beginnings of the last runs come as numbers; other rectangles never. Once. */
START_TEST(test_place)
{
    struct tp_change changes[] = {
        {.kind = TP_CHANGE_CELL, .x = 23},
        {.kind = TP_CHANGE_RECT, .x = 13, .y = 1, .width = 2, .height = 2},
        {.kind = TP_CHANGE_CELL, .x = 9},
        {.kind = TP_CHANGE_RECT, .x = 31, .width = 4, .height = 1},
    };
    struct tp_batch batch = {.changes = changes, .count = 4, .unplaced_count = 1};
    static const uint32_t expected[][2] = {{3, 2}, {13, 1}, {9, 0}, {1, 3}};
    for (int round = 0; round < 2; round++) {
        tp_batch_place(&batch, round == 0 ? 10 : 3);
        ck_assert(batch.is_placed);
        for (int i = 0; i < 4; i++)
            ck_assert(changes[i].x == expected[i][0] && changes[i].y == expected[i][1]);
    }
}
END_TEST

START_TEST(test_apply)
{
    struct tp_tip tip = begin_grid(20, 10);
    expect_applied(&tip, stores_cell(3, 2, '@', 0));
    ck_assert_uint_eq(tip.keys.count, 0);
    ck_assert(!tp_map_passable(tip.map, 3, 2));
    struct tp_batch batch = stores_cell(47, 0, '@', 1); /* a number: (7, 2) */
    batch.is_placed = false;
    expect_applied(&tip, batch);
    ck_assert(!tp_map_passable(tip.map, 7, 2));
    ck_assert_uint_eq(tip.map->passable_cells, 198);
    batch.count = 0; /* nothing to change is a version too */
    batch.key = stores_key(2);
    expect_applied(&tip, batch);
    ck_assert_uint_eq(tip.keys.count, 2);
    expect_repeated(&tip, stores_cell(0, 0, '@', 1), 3);
    expect_repeated(&tip, stores_cell(0, 0, '@', 2), 4);
    tp_tip_fini(&tip);
    ck_assert_ptr_null(tip.map);
    ck_assert_uint_eq(tip.keys.count, 0);
}
END_TEST

/* The epoch before the key, the key before the base, the base before the changes. */
START_TEST(test_order)
{
    struct tp_tip tip = begin_grid(20, 10);
    expect_applied(&tip, stores_cell(1, 1, '@', 1));
    for (int i = 0; i < 16; i++) {
        bool is_epoch_bad = i & 1, is_key_known = i & 2, is_base_bad = i & 4, is_change_bad = i & 8;
        struct tp_batch batch = stores_cell(is_change_bad ? 20 : 2, 1, '@', is_key_known ? 1 : 100 + (uint64_t)i);
        batch.has_epoch = batch.has_base_version = true;
        batch.epoch = is_epoch_bad ? 6 : 5;
        batch.base_version = is_base_bad ? tip.map->version + 1 : tip.map->version;
        if (is_epoch_bad)
            expect_refused(&tip, batch, TP_ERR_VERSION_MISMATCH, TP_TIP_EPOCH);
        else if (is_key_known)
            expect_repeated(&tip, batch, 2);
        else if (is_base_bad)
            expect_refused(&tip, batch, TP_ERR_VERSION_MISMATCH, TP_TIP_BASE);
        else if (is_change_bad)
            expect_refused(&tip, batch, TP_ERR_OUT_OF_RANGE, TP_TIP_CHANGE);
        else
            expect_applied(&tip, batch);
    }
    ck_assert_uint_eq(tip.map->version, 3);
    tp_tip_fini(&tip);
}
END_TEST

START_TEST(test_refused)
{
    struct tp_tip tip = begin_grid(20, 10);
    struct tp_change changes[] = {
        {.kind = TP_CHANGE_CELL, .class_to = '@', .x = 1, .y = 1},
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 18, .y = 4, .width = 3, .height = 2},
    };
    struct tp_batch batch = {.changes = changes, .count = 2, .is_placed = true, .key = stores_key(9)};
    expect_refused(&tip, batch, TP_ERR_OUT_OF_RANGE, TP_TIP_CHANGE);
    ck_assert_uint_eq(refused_.bad, 1);
    ck_assert(refused_.bad_x == 20 && refused_.bad_y == 4);
    changes[1].width = 0;
    expect_refused(&tip, batch, TP_ERR_INVALID_ARGUMENT, TP_TIP_CHANGE);
    changes[1] = (struct tp_change){.kind = TP_CHANGE_EDGE, .x = 0, .y = 1};
    expect_refused(&tip, batch, TP_ERR_UNSUPPORTED, TP_TIP_CHANGE);
    expect_applied(&tip, stores_cell(1, 1, '@', 9)); /* its key was not used up */
    tp_tip_fini(&tip);
}
END_TEST

/* A key is known as long as TP_KEYS_MAX that came later leave it its place; a map that begins anew knows none. */
START_TEST(test_keys)
{
    struct tp_tip tip = begin_grid(20, 10);
    for (uint64_t key = 1; key <= TP_KEYS_MAX; key++)
        expect_applied(&tip, stores_cell(1, 1, key % 2 == 0 ? '.' : '@', key));
    expect_repeated(&tip, stores_cell(1, 1, '@', 1), 2);
    expect_applied(&tip, stores_cell(1, 1, '@', TP_KEYS_MAX + 1));
    expect_repeated(&tip, stores_cell(1, 1, '@', 2), 3);
    expect_repeated(&tip, stores_cell(1, 1, '@', TP_KEYS_MAX + 1), TP_KEYS_MAX + 2);
    expect_applied(&tip, stores_cell(1, 1, '@', 1));
    struct tp_map *map = stores_grid(3, 3, 6);
    tp_tip_begin(&tip, map);
    tp_map_unref(map);
    expect_applied(&tip, stores_cell(1, 1, '@', 2));
    ck_assert_uint_eq(tip.keys.count, 1);
    tp_tip_fini(&tip);
}
END_TEST

/* The same batches in the same order make the same tips, refusals and keys, whatever else goes on: what a fleet stands on. */
START_TEST(test_alike)
{
    struct tp_test_rng rng = tp_test_rng("alike");
    struct tp_tip one = begin_grid(70, 66), other = begin_grid(70, 66);
    uint64_t refusals = 0, repeats = 0;
    for (int i = 0; i < 500; i++) {
        struct tp_change changes[TP_TEST_BATCH_MAX];
        uint8_t bits[TP_TEST_BATCH_MAX * TP_TEST_BITS_MAX];
        size_t count = tp_test_random_batch(&rng, changes, bits, 70, 66, tp_test_percent(&rng, 30));
        struct tp_batch batch = {.changes = changes, .count = count, .is_placed = true};
        if (tp_test_percent(&rng, 50))
            batch.key = stores_key(1 + tp_test_below(&rng, 100));
        batch.has_base_version = tp_test_percent(&rng, 20);
        batch.base_version = one.map->version + tp_test_below(&rng, 2);
        uint64_t again[2];
        int first = apply(&one, batch, &again[0]);
        struct tp_tip_refused why = refused_;
        int second = apply(&other, batch, &again[1]);
        if (first != second || again[0] != again[1] || why.why != refused_.why || why.bad != refused_.bad ||
            why.bad_x != refused_.bad_x || why.bad_y != refused_.bad_y)
            ck_abort_msg("batch %d is decided in two ways", i);
        refusals += first != 0;
        repeats += again[0] != 0;
    }
    stores_expect_same(one.map, other.map);
    ck_assert_uint_gt(one.map->version, 100);
    ck_assert(refusals > 10 && repeats > 10);
    tp_tip_fini(&one);
    tp_tip_fini(&other);
}
END_TEST

static Suite *tip_suite(void)
{
    Suite *suite = suite_create("tip");
    TCase *tcase = tcase_create("tip");
    tcase_add_test(tcase, test_place);
    tcase_add_test(tcase, test_apply);
    tcase_add_test(tcase, test_order);
    tcase_add_test(tcase, test_refused);
    tcase_add_test(tcase, test_keys);
    tcase_add_test(tcase, test_alike);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tip", tip_suite);
}
