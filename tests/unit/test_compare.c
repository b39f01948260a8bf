/* Which cells differ by class between two versions, against both versions' cells. */
#include "map/map.h"
#include "tests/lib/harness.h"

#include <stdlib.h>
#include <string.h>

struct seen {
    const struct tp_map *now;
    uint8_t *times;
    size_t count, most;
};

static bool seen_cb(void *context, uint32_t cell, uint8_t class_now)
{
    struct seen *seen = context;
    if (seen->count == seen->most)
        return false;
    ck_assert_int_eq(class_now, tp_map_class(seen->now, cell % seen->now->width, cell / seen->now->width));
    seen->times[cell]++;
    seen->count++;
    return true;
}

START_TEST(test_compare_classes)
{
    static const uint8_t classes[] = {'.', 'G', '@', 'T', 'S'}; /* some weigh the same */
    struct tp_test_rng rng = tp_test_rng("compare");
    for (uint64_t round = 0; round < tp_test_steps(60, 2000); round++) {
        uint32_t width = 1 + tp_test_below(&rng, 200), height = 1 + tp_test_below(&rng, 200);
        size_t cells = (size_t)width * height;
        uint8_t *before_cells = malloc(cells), *now_cells = malloc(cells);
        for (size_t i = 0; i < cells; i++)
            before_cells[i] = classes[tp_test_below(&rng, sizeof classes)];
        struct tp_profile profile;
        tp_profile_init_movingai(&profile);
        struct tp_map *before, *now;
        ck_assert_int_eq(tp_map_build(&before, width, height, before_cells, &profile, 1), 0);
        now = (struct tp_map *)tp_map_ref(before);
        for (uint32_t batch = tp_test_below(&rng, 5); batch > 0; batch--) {
            struct tp_change changes[20];
            size_t bad;
            uint32_t x, y, count = tp_test_below(&rng, 20);
            for (uint32_t i = 0; i < count; i++)
                changes[i] = (struct tp_change){.kind = TP_CHANGE_CELL,
                                                .class_to = classes[tp_test_below(&rng, sizeof classes)],
                                                .x = tp_test_below(&rng, width),
                                                .y = tp_test_below(&rng, height)};
            struct tp_map *next;
            ck_assert_int_eq(tp_map_apply(&next, now, changes, count, &bad, &x, &y), 0);
            tp_map_unref(now);
            now = next;
        }
        tp_map_copy_cells(now, now_cells);
        size_t differ = 0;
        for (size_t i = 0; i < cells; i++)
            differ += before_cells[i] != now_cells[i];
        struct seen seen = {.now = now, .times = calloc(cells, 1), .most = SIZE_MAX};
        ck_assert(tp_map_compare_classes(before, now, seen_cb, &seen));
        ck_assert_uint_eq(seen.count, differ);
        for (size_t i = 0; i < cells; i++)
            if (seen.times[i] != (before_cells[i] != now_cells[i]))
                ck_abort_msg("cell %zu", i);
        if (differ > 0) { /* stopped where it is told to */
            seen.count = 0;
            seen.most = tp_test_below(&rng, (uint32_t)differ);
            ck_assert(!tp_map_compare_classes(before, now, seen_cb, &seen));
            ck_assert_uint_eq(seen.count, seen.most);
        }
        free(seen.times);
        free(before_cells);
        free(now_cells);
        tp_map_unref(before);
        tp_map_unref(now);
    }
}
END_TEST

static Suite *compare_suite(void)
{
    Suite *suite = suite_create("compare");
    TCase *cases = tcase_create("compare");
    tcase_add_test(cases, test_compare_classes);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_compare", compare_suite);
}
