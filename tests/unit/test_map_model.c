/* Map versions against a plain array: random batches, older versions held beside the newest; and blocks of
 * bits against cell-by-cell reading. */
#include "map/map.h"

#include "base/limits.h"
#include "tests/lib/maps.h"

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

/* ---- Against a plain array ---- */

enum { MODEL_CLASSES = 6, BATCH_MAX = 12, HELD = 4 };

/* A map as a plain array, with what should be true of its newest version. */
struct model {
    uint32_t width, height;
    uint8_t *cells;
    uint64_t version, rose, fell;
};

static void model_set(struct model *model, const struct tp_profile *profile, uint32_t x, uint32_t y,
                      uint8_t class_to)
{
    uint8_t *cell = &model->cells[(size_t)y * model->width + x];
    uint32_t from = profile->weight[*cell] ? profile->weight[*cell] : UINT32_MAX;
    uint32_t to = profile->weight[class_to] ? profile->weight[class_to] : UINT32_MAX;
    if (to > from)
        model->rose = model->version + 1;
    if (to < from)
        model->fell = model->version + 1;
    *cell = class_to;
}

static void model_apply(struct model *model, const struct tp_profile *profile, const struct tp_change *change)
{
    uint32_t width = change->kind == TP_CHANGE_CELL ? 1 : change->width;
    uint32_t height = change->kind == TP_CHANGE_CELL ? 1 : change->height;
    for (uint32_t j = 0; j < height; j++)
        for (uint32_t i = 0; i < width; i++) {
            uint32_t n = j * width + i;
            if (change->kind != TP_CHANGE_BITMAP || (change->bits[n / 8] & 1u << n % 8))
                model_set(model, profile, change->x + i, change->y + j, change->class_to);
        }
}

static void expect_model(const struct tp_map *map, const uint8_t *cells, const struct tp_profile *profile)
{
    uint64_t passable = 0;
    uint8_t *copy = malloc((size_t)map->width * map->height);
    ck_assert_ptr_nonnull(copy);
    tp_map_copy_cells(map, copy);
    ck_assert_mem_eq(copy, cells, (size_t)map->width * map->height);
    free(copy);
    for (uint32_t y = 0; y < map->height; y++)
        for (uint32_t x = 0; x < map->width; x++) {
            uint16_t weight = profile->weight[cells[(size_t)y * map->width + x]];
            passable += weight != 0;
            if (tp_map_weight(map, x, y) != weight || tp_map_passable(map, x, y) != (weight != 0))
                ck_abort_msg("cell (%u, %u) has weight %u, not %u, or its bit differs", x, y,
                             tp_map_weight(map, x, y), weight);
        }
    ck_assert_uint_eq(map->passable_cells, passable);
    /* no bit beyond the edge may be set: windows read them */
    for (uint32_t tile_y = 0; tile_y < map->tiles_y; tile_y++)
        for (uint32_t tile_x = 0; tile_x < map->tiles_x; tile_x++)
            for (uint32_t row = 0; row < map->tiles[tile_y * map->tiles_x + tile_x]->rows; row++) {
                uint64_t bits = map->tiles[tile_y * map->tiles_x + tile_x]->passable[row];
                uint32_t columns = map->width - tile_x * TP_MAP_TILE;
                ck_assert(tile_y * TP_MAP_TILE + row < map->height);
                ck_assert(columns >= 64 || bits >> columns == 0);
            }
}

static struct tp_change random_change(struct tp_test_rng *rng, const struct model *model, uint8_t *bits,
                                      size_t bits_size)
{
    struct tp_change change = {.kind = (enum tp_change_kind)tp_test_below(rng, 3),
                               .class_to = (uint8_t)('a' + tp_test_below(rng, MODEL_CLASSES)),
                               .x = tp_test_below(rng, model->width),
                               .y = tp_test_below(rng, model->height)};
    uint32_t room_x = model->width - change.x, room_y = model->height - change.y;
    change.width = tp_test_between(rng, 1, room_x < 80 ? room_x : 80);
    change.height = tp_test_between(rng, 1, room_y < 80 ? room_y : 80);
    for (size_t i = 0; i < bits_size; i++)
        bits[i] = (uint8_t)(tp_test_next(rng) & tp_test_next(rng));
    change.bits = bits;
    change.bits_size = (size_t)(change.width * change.height + 7) / 8;
    return change;
}

/* Random batches, a few older versions held: each held version keeps its own cells. */
START_TEST(test_against_array)
{
    struct tp_test_rng rng = tp_test_rng("against array");
    struct tp_profile profile = {{0}};
    static const uint16_t weights[MODEL_CLASSES] = {0, 0, 1, 1, 7, TP_WEIGHT_MAX};
    for (int i = 0; i < MODEL_CLASSES; i++)
        profile.weight['a' + i] = weights[i];
    uint64_t steps = tp_test_steps(60, 3000);
    for (uint64_t step = 0; step < steps; step++) {
        struct model model = {.width = tp_test_between(&rng, 1, 150),
                              .height = tp_test_between(&rng, 1, 150)};
        size_t count = (size_t)model.width * model.height;
        model.cells = malloc(count);
        ck_assert_ptr_nonnull(model.cells);
        for (size_t i = 0; i < count; i++)
            model.cells[i] = (uint8_t)('a' + tp_test_below(&rng, MODEL_CLASSES));
        struct tp_map *map;
        ck_assert_int_eq(tp_map_build(&map, model.width, model.height, model.cells, &profile, 9), 0);
        model.version = model.rose = model.fell = 1;
        struct tp_map *held[HELD] = {NULL};
        uint8_t *held_cells[HELD] = {NULL};
        for (int batch = 0; batch < 8; batch++) {
            static uint8_t bits[BATCH_MAX][800];
            struct tp_change changes[BATCH_MAX];
            size_t size = tp_test_below(&rng, BATCH_MAX + 1);
            for (size_t i = 0; i < size; i++) {
                changes[i] = random_change(&rng, &model, bits[i], sizeof bits[i]);
                model_apply(&model, &profile, &changes[i]);
            }
            struct tp_map *next = apply(map, changes, size);
            model.version++;
            ck_assert_uint_eq(next->version, model.version);
            ck_assert_uint_eq(next->rose_version, model.rose);
            ck_assert_uint_eq(next->fell_version, model.fell);
            expect_model(next, model.cells, &profile);
            uint32_t slot = tp_test_below(&rng, HELD + 1);
            if (slot < HELD) { /* hold the version that is left behind */
                tp_map_unref(held[slot]);
                free(held_cells[slot]);
                held_cells[slot] = malloc(count);
                ck_assert_ptr_nonnull(held_cells[slot]);
                tp_map_copy_cells(map, held_cells[slot]);
                held[slot] = map;
            } else {
                tp_map_unref(map);
            }
            map = next;
        }
        for (int i = 0; i < HELD; i++) {
            if (held[i])
                expect_model(held[i], held_cells[i], &profile);
            tp_map_unref(held[i]);
            free(held_cells[i]);
        }
        tp_map_unref(map);
        free(model.cells);
    }
}
END_TEST

/* ---- Blocks of bits ---- */

/* tp_map_passable_block against cell-by-cell reading, around and beyond every edge. */
START_TEST(test_passable_block)
{
    struct tp_test_rng rng = tp_test_rng("block");
    static const uint32_t sizes[][2] = {{1, 1}, {5, 3}, {63, 64}, {64, 64}, {65, 66}, {130, 129}};
    static const uint32_t sides[] = {1, 3, 5, 16};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        struct tp_map *map = tp_test_map_random(&rng, sizes[n][0], sizes[n][1], 40);
        for (int64_t y = -9; y < (int64_t)map->height + 4; y++)
            for (int64_t x = -9; x < (int64_t)map->width + 4; x++)
                for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
                    uint32_t side = sides[s], rows[16];
                    tp_map_passable_block(map, x, y, side, rows);
                    for (uint32_t j = 0; j < side; j++) {
                        uint32_t want = 0;
                        for (uint32_t i = 0; i < side; i++)
                            want |= (uint32_t)tp_map_passable(map, x + i, y + j) << i;
                        if (rows[j] != want)
                            ck_abort_msg("%ux%u, block of %u at (%ld, %ld), row %u: %x, not %x", map->width,
                                         map->height, side, (long)x, (long)y, j, rows[j], want);
                    }
                }
        tp_map_unref(map);
    }
}
END_TEST

static Suite *map_model_suite(void)
{
    Suite *suite = suite_create("map_model");
    TCase *random = tcase_create("random");
    tcase_add_test(random, test_against_array);
    tcase_add_test(random, test_passable_block);
    suite_add_tcase(suite, random);
    return suite;
}

int main(void)
{
    return tp_test_main("test_map_model", map_model_suite);
}
