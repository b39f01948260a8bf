/* Layers against the plain definition: the heaviest class under the square, cell by cell; followed through random batches, against
 * one built from scratch, with what is shared and what rose and fell. */
#include "map/layer.h"

#include "base/limits.h"
#include "tests/lib/maps.h"

#include <stdlib.h>
#include <string.h>

enum { CLASSES = 6, BATCH_MAX = 6 };

/* ---- The plain definition ---- */

/* The weight of the heaviest cell of the square, impassable (UINT32_MAX) above all. */
static uint32_t plain_weight(const struct tp_map *base, const struct tp_layer_kind *kind, uint32_t x,
                             uint32_t y)
{
    uint32_t heaviest = 0;
    for (uint32_t j = 0; j < kind->size; j++)
        for (uint32_t i = 0; i < kind->size; i++) {
            uint32_t weight = UINT32_MAX;
            if (x + i < base->width && y + j < base->height &&
                kind->profile.weight[tp_map_class(base, x + i, y + j)])
                weight = kind->profile.weight[tp_map_class(base, x + i, y + j)];
            heaviest = weight > heaviest ? weight : heaviest;
        }
    return heaviest;
}

static uint32_t layer_weight(const struct tp_map *layer, uint32_t x, uint32_t y)
{
    uint32_t weight = tp_map_weight(layer, x, y);
    return weight ? weight : UINT32_MAX;
}

static void expect_layer(const struct tp_map *layer, const struct tp_map *base,
                         const struct tp_layer_kind *kind)
{
    uint64_t passable = 0;
    ck_assert_uint_eq(layer->width, base->width);
    ck_assert_uint_eq(layer->height, base->height);
    ck_assert_uint_eq(layer->epoch, base->epoch);
    ck_assert_uint_eq(layer->version, base->version);
    for (uint32_t y = 0; y < base->height; y++)
        for (uint32_t x = 0; x < base->width; x++) {
            uint32_t want = plain_weight(base, kind, x, y), is = layer_weight(layer, x, y);
            passable += want != UINT32_MAX;
            if (is != want || tp_map_passable(layer, x, y) != (want != UINT32_MAX))
                ck_abort_msg("%ux%u, size %u: cell (%u, %u) weighs %u, not %u, or its bit differs",
                             base->width, base->height, kind->size, x, y, is, want);
        }
    ck_assert_uint_eq(layer->passable_cells, passable);
    for (uint32_t i = 0; i < layer->tiles_x * layer->tiles_y;
         i++) /* no bit beyond the edge: windows read them */
        for (uint32_t row = 0; row < layer->tiles[i]->rows; row++)
            ck_assert(layer->tiles[i]->columns == 64 ||
                      layer->tiles[i]->passable[row] >> layer->tiles[i]->columns == 0);
}

/* Two layers of one kind hold the same, whatever way they were made. */
static void expect_same(const struct tp_map *a, const struct tp_map *b)
{
    size_t cells = (size_t)a->width * a->height;
    uint8_t *of_a = malloc(cells), *of_b = malloc(cells);
    ck_assert(of_a && of_b);
    tp_map_copy_cells(a, of_a);
    tp_map_copy_cells(b, of_b);
    ck_assert_mem_eq(of_a, of_b, cells);
    ck_assert_mem_eq(&a->profile, &b->profile, sizeof a->profile);
    ck_assert_uint_eq(a->passable_cells, b->passable_cells);
    ck_assert(a->weighted == b->weighted);
    free(of_a);
    free(of_b);
}

/* ---- Following ---- */

/* A tile may only be new where a cell of the layer changed (or be the base's own); the marks follow the layer's own weights. */
static void expect_step(const struct tp_map *before, const struct tp_map *now, const struct tp_map *base)
{
    bool rose = false, fell = false;
    for (uint32_t i = 0; i < now->tiles_x * now->tiles_y; i++) {
        const struct tp_map_tile *a = before->tiles[i], *b = now->tiles[i];
        size_t cells = (size_t)a->columns * a->rows;
        bool is_same = memcmp(tp_map_tile_classes(a), tp_map_tile_classes(b), cells) == 0;
        if (is_same)
            ck_assert_msg(a == b || b == base->tiles[i], "tile %u did not change but is not shared", i);
        for (size_t cell = 0; cell < cells; cell++) {
            uint32_t was = now->profile.weight[tp_map_tile_classes(a)[cell]] - 1u;
            uint32_t is = now->profile.weight[tp_map_tile_classes(b)[cell]] - 1u;
            rose |= is > was;
            fell |= is < was;
        }
    }
    ck_assert_uint_eq(now->rose_version, rose ? now->version : before->rose_version);
    ck_assert_uint_eq(now->fell_version, fell ? now->version : before->fell_version);
}

static struct tp_map *apply_random(struct tp_test_rng *rng, const struct tp_map *base)
{
    struct tp_change changes[BATCH_MAX];
    uint32_t count = tp_test_below(rng, BATCH_MAX + 1), side = tp_test_percent(rng, 30) ? 70 : 3;
    for (uint32_t i = 0; i < count; i++) {
        struct tp_change *change = &changes[i];
        *change = (struct tp_change){.kind = tp_test_percent(rng, 50) ? TP_CHANGE_CELL : TP_CHANGE_RECT,
                                     .class_to = (uint8_t)('a' + tp_test_below(rng, CLASSES)),
                                     .x = tp_test_below(rng, base->width),
                                     .y = tp_test_below(rng, base->height)};
        uint32_t room_x = base->width - change->x, room_y = base->height - change->y;
        change->width = tp_test_between(rng, 1, room_x < side ? room_x : side);
        change->height = tp_test_between(rng, 1, room_y < side ? room_y : side);
    }
    struct tp_map *next;
    size_t bad;
    uint32_t bad_x, bad_y;
    ck_assert_int_eq(tp_map_apply(&next, base, changes, count, &bad, &bad_x, &bad_y), 0);
    return next;
}

/* Weights of the classes: of the base (the first), and of the agents. In the last no class at all is closed. */
static const uint16_t weights[][CLASSES] = {{0, 1, 1, 2, 7, 0},
                                            {0, 1, 1, 2, 7, 0},
                                            {0, 5, 2, 2, 1, 0},
                                            {1, 1, 1, 1, 1, 1},
                                            {1, 0, 0, 9, 3, TP_WEIGHT_MAX},
                                            {3, 4, 5, 6, 7, 8}};
enum { PROFILES = sizeof weights / sizeof *weights };

static struct tp_profile profile_of(int n)
{
    struct tp_profile profile = {{0}};
    for (int i = 0; i < 256 && n == PROFILES - 1; i++)
        profile.weight[i] = 9;
    for (int i = 0; i < CLASSES; i++)
        profile.weight['a' + i] = weights[n][i];
    return profile;
}

/* The other cells of a map that mostly one class fills: large agents find ways. */
static struct tp_map *random_base(struct tp_test_rng *rng)
{
    uint32_t width = tp_test_between(rng, 1, 150), height = tp_test_between(rng, 1, 150);
    uint32_t percent = tp_test_below(rng, 30);
    size_t count = (size_t)width * height;
    uint8_t *cells = malloc(count);
    ck_assert_ptr_nonnull(cells);
    for (size_t i = 0; i < count; i++)
        cells[i] = (uint8_t)(tp_test_percent(rng, percent) ? 'a' + tp_test_below(rng, CLASSES) : 'b');
    struct tp_profile profile = profile_of(0);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile, 9), 0);
    free(cells);
    return map;
}

START_TEST(test_follow)
{
    struct tp_test_rng rng = tp_test_rng("follow");
    uint64_t steps = tp_test_steps(40, 2000);
    for (uint64_t step = 0; step < steps; step++) {
        struct tp_layer_kind kind = {.profile = profile_of(1 + (int)tp_test_below(&rng, PROFILES - 1)),
                                     .size = tp_test_between(&rng, 1, TP_AGENT_SIZE_MAX)};
        struct tp_map *base = random_base(&rng), *layer, *anew;
        ck_assert_int_eq(tp_layer_build(&layer, base, &kind), 0);
        expect_layer(layer, base, &kind);
        ck_assert_uint_eq(layer->rose_version, base->version);
        ck_assert_uint_eq(layer->fell_version, base->version);
        for (int batch = 0; batch < 8; batch++) {
            struct tp_map *now = apply_random(&rng, base), *next;
            if (tp_test_percent(&rng, 20)) { /* a layer may follow several versions at once */
                struct tp_map *later = apply_random(&rng, now);
                tp_map_unref(now);
                now = later;
            }
            ck_assert_int_eq(tp_layer_follow(&next, layer, base, now, &kind), 0);
            expect_layer(next, now, &kind);
            expect_step(layer, next, now);
            expect_layer(layer, base, &kind); /* which stays as it was */
            ck_assert_int_eq(tp_layer_build(&anew, now, &kind), 0);
            expect_same(next, anew);
            tp_map_unref(anew);
            tp_map_unref(layer);
            tp_map_unref(base);
            layer = next;
            base = now;
        }
        tp_map_unref(layer);
        tp_map_unref(base);
    }
}
END_TEST

/* ---- What is shared ---- */

/* A change of one cell makes new only the tiles whose squares reach it: those to the left and above only where it stands within
 * size - 1 cells of their edge. */
START_TEST(test_tiles_made_anew)
{
    static const struct {
        uint32_t x, y, size;
        unsigned anew; /* bit i: tile i of 3 x 3 */
    } cases[] = {{64 + 7, 64 + 7, 8, 1 << 4},
                 {64 + 6, 64 + 7, 8, 1 << 4 | 1 << 3},
                 {64 + 7, 64 + 6, 8, 1 << 4 | 1 << 1},
                 {64 + 6, 64, 8, 1 << 4 | 1 << 3 | 1 << 1 | 1 << 0},
                 {64, 64, 2, 1 << 4 | 1 << 3 | 1 << 1 | 1 << 0},
                 {64, 64, 1, 1 << 4},
                 {0, 0, 8, 1 << 0}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        struct tp_map *base = tp_test_map_free(192, 192), *now, *layer, *next;
        struct tp_layer_kind kind = {.profile = base->profile, .size = cases[n].size};
        kind.profile.weight['W'] = 3; /* closes not what the base closes: the tiles are the layer's own */
        ck_assert_int_eq(tp_layer_build(&layer, base, &kind), 0);
        now = (struct tp_map *)tp_map_ref(base);
        tp_test_set(&now, cases[n].x, cases[n].y, '@');
        ck_assert_int_eq(tp_layer_follow(&next, layer, base, now, &kind), 0);
        for (unsigned i = 0; i < 9; i++)
            ck_assert_msg((layer->tiles[i] != next->tiles[i]) == (cases[n].anew >> i & 1),
                          "case %zu, tile %u", n, i);
        ck_assert_uint_eq(next->rose_version, 2);
        ck_assert_uint_eq(next->fell_version, 1);
        tp_map_unref(base);
        tp_map_unref(now);
        tp_map_unref(layer);
        tp_map_unref(next);
    }
}
END_TEST

/* A change that the layer's agents don't feel moves neither tiles nor marks: another class of the same weight. */
START_TEST(test_not_felt)
{
    struct tp_map *base = tp_test_map_free(100, 100), *now, *layer, *next;
    struct tp_layer_kind kind = {.profile = base->profile, .size = 3};
    now = (struct tp_map *)tp_map_ref(base);
    tp_test_set(&now, 50, 50, 'G');
    ck_assert_int_eq(tp_layer_build(&layer, base, &kind), 0);
    ck_assert_int_eq(tp_layer_follow(&next, layer, base, now, &kind), 0);
    ck_assert_uint_eq(next->version, 2);
    ck_assert_uint_eq(tp_map_changed_version(next), 1);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_ptr_eq(layer->tiles[i], next->tiles[i]);
    tp_map_unref(base);
    tp_map_unref(now);
    tp_map_unref(layer);
    tp_map_unref(next);
}
END_TEST

/* A profile that closes what the map's own closes is made of the map's tiles, version by version: it costs next to nothing. */
START_TEST(test_shares_base)
{
    struct tp_map *base = tp_test_map_free(100, 100), *now, *layer, *next;
    struct tp_layer_kind kind = {.profile = base->profile, .size = 1};
    kind.profile.weight['G'] = 5;
    now = (struct tp_map *)tp_map_ref(base);
    tp_test_set(&now, 50, 50, 'G');
    ck_assert_int_eq(tp_layer_build(&layer, base, &kind), 0);
    ck_assert_int_eq(tp_layer_follow(&next, layer, base, now, &kind), 0);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_ptr_eq(layer->tiles[i], base->tiles[i]);
        ck_assert_ptr_eq(next->tiles[i], now->tiles[i]);
    }
    ck_assert_uint_eq(now->rose_version, 1);
    ck_assert_uint_eq(next->rose_version, 2);
    ck_assert_uint_eq(tp_map_weight(next, 50, 50), 5);
    tp_map_unref(base);
    tp_map_unref(now);
    tp_map_unref(layer);
    tp_map_unref(next);
}
END_TEST

/* ---- What is refused ---- */

START_TEST(test_refused)
{
    struct tp_map *base = tp_test_map_free(10, 10), *out = base;
    struct tp_layer_kind kind = {.profile = base->profile, .size = 0};
    ck_assert_int_eq(tp_layer_build(&out, base, &kind), TP_ERR_INVALID_ARGUMENT);
    ck_assert_ptr_null(out);
    kind.size = TP_AGENT_SIZE_MAX + 1;
    ck_assert_int_eq(tp_layer_build(&out, base, &kind), TP_ERR_INVALID_ARGUMENT);
    for (int i = 0; i < 256; i++) /* every class another weight, and none for what lies beyond the edge */
        kind.profile.weight[i] = (uint16_t)(256 - i);
    kind.size = 2;
    ck_assert_int_eq(tp_layer_build(&out, base, &kind), TP_ERR_INVALID_ARGUMENT);
    kind.size = 1;
    ck_assert_int_eq(tp_layer_build(&out, base, &kind), 0);
    tp_map_unref(out);
    tp_map_unref(base);

    static const uint8_t tiles[16] = {1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct tp_map *puzzle;
    ck_assert_int_eq(tp_map_build_puzzle(&puzzle, tiles), 0);
    ck_assert_int_eq(tp_layer_build(&out, puzzle, &kind), TP_ERR_UNSUPPORTED);
    tp_map_unref(puzzle);
    struct tp_graph_edge edge = {0, 1, 1};
    base = tp_test_map_graph(2, &edge, 1, NULL, NULL);
    ck_assert_int_eq(tp_layer_build(&out, base, &kind), TP_ERR_UNSUPPORTED);
    ck_assert_ptr_null(out);
    tp_map_unref(base);
}
END_TEST

static Suite *layer_suite(void)
{
    Suite *suite = suite_create("layer");
    TCase *all = tcase_create("layer");
    tcase_set_timeout(all, 300);
    tcase_add_test(all, test_follow);
    tcase_add_test(all, test_tiles_made_anew);
    tcase_add_test(all, test_not_felt);
    tcase_add_test(all, test_shares_base);
    tcase_add_test(all, test_refused);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return tp_test_main("test_layer", layer_suite);
}
