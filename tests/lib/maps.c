#include "tests/lib/maps.h"

#include <stdlib.h>
#include <string.h>

/* The size of a drawing; fails on ragged rows. */
static void measure(const char *art, uint32_t *width, uint32_t *height)
{
    *width = (uint32_t)strcspn(art, "\n");
    *height = 0;
    while (*art) {
        size_t length = strcspn(art, "\n");
        ck_assert_msg(length == *width, "row %u of the drawing has another length", *height);
        art += length;
        art += *art == '\n';
        ++*height;
    }
}

static struct tp_map *build(uint32_t width, uint32_t height, const uint8_t *cells,
                            const struct tp_profile *profile)
{
    struct tp_profile benchmark;
    tp_profile_init_movingai(&benchmark);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, profile ? profile : &benchmark, 1), 0);
    return map;
}

struct tp_map *tp_test_map_weighted(const char *art, const struct tp_profile *profile)
{
    uint32_t width, height;
    measure(art, &width, &height);
    uint8_t *cells = malloc((size_t)width * height);
    ck_assert_ptr_nonnull(cells);
    for (uint32_t y = 0; y < height; y++)
        memcpy(cells + (size_t)y * width, art + (size_t)y * (width + 1), width);
    struct tp_map *map = build(width, height, cells, profile);
    free(cells);
    return map;
}

struct tp_map *tp_test_map(const char *art)
{
    return tp_test_map_weighted(art, NULL);
}

struct tp_map *tp_test_map_free(uint32_t width, uint32_t height)
{
    uint8_t *cells = malloc((size_t)width * height);
    ck_assert_ptr_nonnull(cells);
    memset(cells, '.', (size_t)width * height);
    struct tp_map *map = build(width, height, cells, NULL);
    free(cells);
    return map;
}

struct tp_map *tp_test_map_random(struct tp_test_rng *rng, uint32_t width, uint32_t height, uint32_t percent)
{
    size_t count = (size_t)width * height;
    uint8_t *cells = malloc(count);
    ck_assert_ptr_nonnull(cells);
    for (size_t i = 0; i < count; i++)
        cells[i] = tp_test_percent(rng, percent) ? '@' : '.';
    struct tp_map *map = build(width, height, cells, NULL);
    free(cells);
    return map;
}

struct tp_map *tp_test_map_random_weighted(struct tp_test_rng *rng, uint32_t width, uint32_t height,
                                           uint32_t percent, uint32_t top)
{
    struct tp_profile profile;
    memset(&profile, 0, sizeof profile);
    for (char class = 'A'; class <= 'D'; class ++)
        profile.weight[(int)class] = (uint16_t)tp_test_between(rng, 1, top);
    size_t count = (size_t)width * height;
    uint8_t *cells = malloc(count);
    ck_assert_ptr_nonnull(cells);
    for (size_t i = 0; i < count; i++)
        cells[i] = tp_test_percent(rng, percent) ? '@' : (uint8_t)('A' + tp_test_below(rng, 4));
    struct tp_map *map = build(width, height, cells, &profile);
    free(cells);
    return map;
}

uint32_t tp_test_find(const char *art, char symbol)
{
    uint32_t cell = 0;
    for (; *art; art++) {
        if (*art == symbol)
            return cell;
        cell += *art != '\n';
    }
    return UINT32_MAX;
}

void tp_test_set_rect(struct tp_map **map, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                      char class_to)
{
    struct tp_change change = {.kind = TP_CHANGE_RECT,
                               .class_to = (uint8_t)class_to,
                               .x = x,
                               .y = y,
                               .width = width,
                               .height = height};
    struct tp_map *next;
    size_t bad;
    uint32_t bad_x, bad_y;
    ck_assert_int_eq(tp_map_apply(&next, *map, &change, 1, &bad, &bad_x, &bad_y), 0);
    tp_map_unref(*map);
    *map = next;
}

uint32_t tp_test_free_cell(struct tp_test_rng *rng, const struct tp_map *map)
{
    for (;;) {
        uint32_t cell = tp_test_below(rng, map->width * map->height);
        if (tp_map_passable(map, cell % map->width, cell / map->width))
            return cell;
    }
}

void tp_test_set(struct tp_map **map, uint32_t x, uint32_t y, char class_to)
{
    tp_test_set_rect(map, x, y, 1, 1, class_to);
}

struct tp_map *tp_test_map_load(const char *folder, const char *name)
{
    size_t size;
    char *text = tp_test_read_file(tp_test_path(folder, name, ".map"), &size);
    struct tp_movingai_map parsed;
    struct tp_place place;
    const char *reason;
    int rc = tp_movingai_map_parse(&parsed, text, size, &place, &reason);
    ck_assert_msg(rc == 0, "%s.map:%u:%u: %s", name, place.line, place.column, reason);
    free(text);
    struct tp_map *map = build(parsed.width, parsed.height, parsed.cells, NULL);
    tp_movingai_map_fini(&parsed);
    return map;
}

struct tp_movingai_scen tp_test_scen_load(const char *folder, const char *name)
{
    size_t size;
    char *text = tp_test_read_file(tp_test_path(folder, name, ".scen"), &size);
    struct tp_movingai_scen scen;
    struct tp_place place;
    const char *reason;
    int rc = tp_movingai_scen_parse(&scen, text, size, &place, &reason);
    ck_assert_msg(rc == 0, "%s.scen:%u:%u: %s", name, place.line, place.column, reason);
    free(text);
    return scen;
}

size_t tp_test_random_batch(struct tp_test_rng *rng, struct tp_change *changes, uint8_t *bits, uint32_t width,
                           uint32_t height, bool bad)
{
    size_t count = tp_test_below(rng, TP_TEST_BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        struct tp_change *change = &changes[i];
        uint32_t x = tp_test_below(rng, width), y = tp_test_below(rng, height);
        *change =
            (struct tp_change){.kind = (enum tp_change_kind)tp_test_below(rng, 3),
                               .class_to = tp_test_percent(rng, 50) ? '.' : (uint8_t)tp_test_below(rng, 256),
                               .x = x,
                               .y = y};
        if (change->kind != TP_CHANGE_CELL) {
            change->width = 1 + tp_test_below(rng, width - x < 8 ? width - x : 8);
            change->height = 1 + tp_test_below(rng, height - y < 8 ? height - y : 8);
        }
        if (change->kind == TP_CHANGE_BITMAP) {
            change->bits_size = (change->width * change->height + 7) / 8;
            change->bits = bits + i * TP_TEST_BITS_MAX;
            for (size_t b = 0; b < change->bits_size; b++)
                bits[i * TP_TEST_BITS_MAX + b] = (uint8_t)tp_test_next(rng);
        }
        if (bad && tp_test_percent(rng, 20))
            change->x += width;
    }
    return count;
}

struct tp_map *tp_test_map_graph(uint32_t nodes, const struct tp_graph_edge *edges, size_t count, const double *x,
                                 const double *y)
{
    const struct tp_graph *graph;
    struct tp_map *map;
    size_t bad;
    ck_assert_int_eq(tp_graph_build(&graph, nodes, edges, count, x, y, &bad), 0);
    ck_assert_int_eq(tp_map_build_graph(&map, graph, 1, 1), 0);
    tp_graph_unref(graph);
    return map;
}
