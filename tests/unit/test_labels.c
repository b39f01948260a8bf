/* What is told apart, against a flood fill over the cells: never two cells that a way joins, whatever the changes were, and all
 * others whenever the labels are exact (all squares made anew, or nothing closed since). The files under test are compiled here, with squares
 * so small that a map of few tiles has many. */
#define TP_BLOCKS_SQUARE 2
#include "map/blocks.c"
#include "map/blocks_at.c"
#include "map/blocks_repair.c"
#include "map/blocks_tile.c"
#include "map/labels.c"

#include "tests/lib/maps.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 270 };

/* Parts of the map by a flood fill of our own: of[cell]; UINT32_MAX where impassable. Straight moves, or diagonal ones as well. Returns
 * how many. */
static uint32_t flood_map(const struct tp_map *map, bool is_diagonal, uint32_t *of)
{
    static uint32_t stack[SIDE_MAX * SIDE_MAX];
    uint32_t cells = map->width * map->height, count = 0;
    for (uint32_t cell = 0; cell < cells; cell++)
        of[cell] = tp_map_passable(map, cell % map->width, cell / map->width) ? UINT32_MAX - 1 : UINT32_MAX;
    for (uint32_t first = 0; first < cells; first++) {
        uint32_t depth = 0;
        if (of[first] != UINT32_MAX - 1)
            continue;
        of[first] = count;
        stack[depth++] = first;
        while (depth) {
            uint32_t cell = stack[--depth], x = cell % map->width, y = cell / map->width;
            for (int d = 0; d < (is_diagonal ? 8 : 4); d++) {
                uint32_t to_x = x + (uint32_t)tp_direction_dx[d], to_y = y + (uint32_t)tp_direction_dy[d];
                if (to_x >= map->width || to_y >= map->height ||
                    of[to_y * map->width + to_x] != UINT32_MAX - 1)
                    continue;
                of[to_y * map->width + to_x] = count;
                stack[depth++] = to_y * map->width + to_x;
            }
        }
        count++;
    }
    return count;
}

/* Cells of one part have one label. Returns whether different parts have different ones. */
static bool expect_sound(const struct tp_blocks *blocks, const struct tp_map *map)
{
    static uint32_t of[SIDE_MAX * SIDE_MAX];
    uint32_t parts = flood_map(map, blocks->links == TP_BLOCKS_DIAGONAL, of);
    uint32_t *label = malloc((parts + 1) * sizeof *label),
             *part = malloc((blocks->label_count + 1) * sizeof *part);
    bool is_exact = true;
    ck_assert(label && part);
    memset(label, 255, parts * sizeof *label);
    memset(part, 255, blocks->label_count * sizeof *part);
    for (uint32_t i = 0; i < blocks->nodes;
         i++) { /* a node's cells hang together: the first stands for all */
        struct tp_blocks_node node = tp_blocks_node(blocks, i);
        uint32_t bit = (uint32_t)__builtin_ctzll(node.cells), is = tp_blocks_label(blocks, node.tile, node.area);
        uint32_t x = node.tile % blocks->tiles_x * TP_MAP_TILE + node.block % 8 * 8 + bit % 8;
        uint32_t y = node.tile / blocks->tiles_x * TP_MAP_TILE + node.block / 8 * 8 + bit / 8;
        uint32_t in = of[y * map->width + x];
        if (is >= blocks->label_count)
            ck_abort_msg("cell (%u, %u) has the label %u of %u", x, y, is, blocks->label_count);
        if (label[in] == UINT32_MAX)
            label[in] = is;
        if (label[in] != is)
            ck_abort_msg("version %u: (%u, %u) is told apart from a cell that a way leads to",
                         (unsigned)map->version, x, y);
        if (part[is] == UINT32_MAX)
            part[is] = in;
        is_exact = is_exact && part[is] == in;
    }
    for (uint32_t i = 0; i < parts; i++)
        if (label[i] == UINT32_MAX)
            ck_abort_msg("part %u is no node's", i);
    free(label);
    free(part);
    return is_exact;
}

/* The squares of a map in which some cell closed between two versions: a set. */
static uint64_t squares_closed(const struct tp_blocks *blocks, const struct tp_map *before, const struct tp_map *now)
{
    uint64_t closed = 0;
    for (uint32_t i = 0; i < now->tiles_x * now->tiles_y; i++)
        for (uint32_t row = 0; row < now->tiles[i]->rows; row++)
            if (before->tiles[i]->passable[row] & ~now->tiles[i]->passable[row])
                closed |= UINT64_C(1) << square_of(blocks, i);
    return closed;
}

/* The squares that are blurred: a set. */
static uint64_t squares_blurred(const struct tp_blocks *blocks)
{
    uint64_t blurred = 0;
    for (uint32_t i = 0; i < blocks->squares_x * blocks->squares_y; i++)
        blurred |= (uint64_t)blocks->is_blurred[i] << i;
    ck_assert_uint_eq((uint32_t)__builtin_popcountll(blurred), blocks->blurred);
    return blurred;
}

/* What the changes of a step do: open and close cells, or lay and take away long walls and whole tiles, or only open. */
enum kind { CELLS, WALLS, OPENING, KINDS };

static void draw(struct tp_test_rng *rng, const struct tp_map *map, enum kind kind, struct tp_change *changes,
                 uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t x = tp_test_below(rng, map->width), y = tp_test_below(rng, map->height);
        struct tp_change *change = &changes[i];
        *change = (struct tp_change){
            .kind = TP_CHANGE_CELL, .x = x, .y = y, .class_to = '.', .width = 1, .height = 1};
        if (kind == CELLS)
            change->class_to = tp_map_passable(map, x, y) ? '@' : '.';
        if (kind == WALLS) { /* laid a little more often than taken away */
            bool is_wide = tp_test_percent(rng, 50);
            change->kind = TP_CHANGE_RECT;
            change->class_to = tp_test_percent(rng, 55) ? '@' : '.';
            change->width = is_wide ? tp_test_between(rng, 1, map->width - x) : 1;
            change->height = is_wide ? 1 : tp_test_between(rng, 1, map->height - y);
            if (tp_test_percent(rng, 3)) {
                const struct tp_map_tile *tile = map->tiles[y / TP_MAP_TILE * map->tiles_x + x / TP_MAP_TILE];
                change->x = x / TP_MAP_TILE * TP_MAP_TILE;
                change->y = y / TP_MAP_TILE * TP_MAP_TILE;
                change->width = tile->columns;
                change->height = tile->rows;
            }
        }
    }
}

/* Follows random batches of that many changes together, checking each version. */
static void follow_random(struct tp_test_rng *rng, enum kind kind, enum tp_blocks_links links, uint64_t steps)
{
    enum { BATCH_MAX = 60 };
    struct tp_change changes[BATCH_MAX];
    uint32_t width = tp_test_between(rng, 65, SIDE_MAX), height = tp_test_between(rng, 65, 160);
    struct tp_map *map = tp_test_map_random(rng, width, height,
                                            kind == WALLS     ? 2
                                            : kind == OPENING ? 85
                                                              : 42);
    struct tp_blocks *blocks;
    uint32_t blurs = 0, exact = 0;
    ck_assert_int_eq(tp_blocks_build(&blocks, map, links), 0);
    ck_assert(expect_sound(blocks, map));
    for (uint64_t done = 0; done < steps;) {
        uint32_t count = tp_test_percent(rng, 60) ? 1 : tp_test_between(rng, 1, BATCH_MAX), bad_x, bad_y;
        struct tp_map *next;
        struct tp_blocks *followed;
        size_t bad;
        done += count;
        draw(rng, map, kind, changes, count);
        ck_assert_int_eq(tp_map_apply(&next, map, changes, count, &bad, &bad_x, &bad_y), 0);
        ck_assert_int_eq(tp_blocks_follow(&followed, blocks, map, next), 0);
        bool is_exact = expect_sound(followed, next);
        if (!followed->blurred && !is_exact)
            ck_abort_msg("version %u: the labels are not exact", (unsigned)next->version);
        /* only where cells closed, and at least one is made anew in each version */
        uint64_t may = squares_blurred(blocks) | squares_closed(blocks, map, next), blurred = squares_blurred(followed);
        ck_assert_uint_eq(blurred & ~may, 0);
        ck_assert(!may || blurred != may);
        blurs += !is_exact;
        exact += !followed->blurred;
        tp_map_unref(map);
        tp_blocks_unref(blocks);
        map = next;
        blocks = followed;
    }
    ck_assert_uint_gt(exact, 0);
    if (kind == OPENING)
        ck_assert_uint_eq(blurs, 0);
    tp_blocks_unref(blocks);
    tp_map_unref(map);
}

START_TEST(never_apart_wrongly)
{
    struct tp_test_rng rng = tp_test_rng("labels");
    uint64_t steps = tp_test_steps(100000, 3000000), rounds = 24;
    for (uint64_t i = 0; i < rounds; i++)
        follow_random(&rng, (enum kind)(i % KINDS), i / KINDS % 2 ? TP_BLOCKS_DIAGONAL : TP_BLOCKS_STRAIGHT,
               steps / rounds + 1);
}
END_TEST

/* The labels of a built graph say of two cells what the moves say, of every neighbourhood and corner rule. */
START_TEST(apart_as_the_moves_say)
{
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    static uint32_t of[SIDE_MAX * SIDE_MAX], stack[SIDE_MAX * SIDE_MAX];
    struct tp_test_rng rng = tp_test_rng("moves");
    for (uint64_t i = 0; i < tp_test_steps(18, 900); i++) {
        enum tp_neighbours by = neighbours[i % 3];
        enum tp_corners corners = (enum tp_corners)(i / 3 % 3);
        struct tp_map *map = tp_test_map_random(&rng, tp_test_between(&rng, 1, 140),
                                                tp_test_between(&rng, 1, 140), tp_test_between(&rng, 20, 60));
        struct tp_blocks *blocks;
        ck_assert_int_eq(tp_blocks_build(&blocks, map, tp_blocks_links_of(by, corners)), 0);
        uint32_t cells = map->width * map->height, parts = 0;
        memset(of, 255, sizeof of);
        for (uint32_t first = 0; first < cells; first++) {
            if (of[first] != UINT32_MAX || !tp_map_passable(map, first % map->width, first / map->width))
                continue;
            uint32_t depth = 0;
            of[first] = parts;
            stack[depth++] = first;
            while (depth) {
                uint32_t x = stack[--depth] % map->width, y = stack[depth] / map->width;
                struct tp_window window = tp_walk_window(map, x, y);
                for (uint32_t moves = tp_walk_moves(&window, by, corners); moves; moves &= moves - 1) {
                    int d = __builtin_ctz(moves);
                    uint32_t to =
                        (y + (uint32_t)tp_direction_dy[d]) * map->width + x + (uint32_t)tp_direction_dx[d];
                    if (of[to] == UINT32_MAX) {
                        of[to] = parts;
                        stack[depth++] = to;
                    }
                }
            }
            parts++;
        }
        ck_assert_uint_eq(parts, blocks->label_count);
        for (int pair = 0; pair < 3000; pair++) {
            uint32_t a = tp_test_below(&rng, cells), b = tp_test_below(&rng, cells);
            bool want = of[a] != UINT32_MAX && of[b] != UINT32_MAX && of[a] != of[b];
            if (tp_blocks_apart(blocks, a % map->width, a / map->width, b % map->width, b / map->width) !=
                want)
                ck_abort_msg("cells %u and %u are %sapart", a, b, want ? "" : "not ");
        }
        tp_blocks_unref(blocks);
        tp_map_unref(map);
    }
}
END_TEST

/* A door in a wall across tiles: closed it parts at once, opened it joins; the labels depend on the versions alone. */
START_TEST(a_door)
{
    struct tp_map *map = tp_test_map_free(200, 100);
    tp_test_set_rect(&map, 100, 0, 1, 100, '@');
    struct tp_blocks *blocks, *twin;
    ck_assert_int_eq(tp_blocks_build(&blocks, map, TP_BLOCKS_STRAIGHT), 0);
    ck_assert_int_eq(tp_blocks_build(&twin, map, TP_BLOCKS_STRAIGHT), 0);
    ck_assert(tp_blocks_apart(blocks, 0, 0, 199, 99));
    for (int i = 0; i < 40; i++) {
        const struct tp_map *before = tp_map_ref(map);
        tp_test_set(&map, 100, 50, i % 2 ? '@' : '.');
        struct tp_blocks *next, *twin_next;
        ck_assert_int_eq(tp_blocks_follow(&next, blocks, before, map), 0);
        ck_assert_int_eq(tp_blocks_follow(&twin_next, twin, before, map), 0);
        for (uint32_t area = 0; area < next->areas; area++)
            ck_assert_uint_eq(tp_blocks_label(next, tp_blocks_area(next, area).tile, area),
                              tp_blocks_label(twin_next, tp_blocks_area(twin_next, area).tile, area));
        ck_assert_uint_eq(next->blurred, 0);
        ck_assert(tp_blocks_apart(next, 0, 0, 199, 99) == (i % 2 != 0));
        tp_map_unref(before);
        tp_blocks_unref(blocks);
        tp_blocks_unref(twin);
        blocks = next;
        twin = twin_next;
    }
    tp_blocks_unref(blocks);
    tp_blocks_unref(twin);
    tp_map_unref(map);
}
END_TEST

/* Follows a map to what a batch makes of it. */
static void change_map(struct tp_map **map, struct tp_blocks **blocks, const struct tp_change *changes, size_t count)
{
    struct tp_map *next;
    struct tp_blocks *followed;
    size_t bad;
    uint32_t bad_x, bad_y;
    ck_assert_int_eq(tp_map_apply(&next, *map, changes, count, &bad, &bad_x, &bad_y), 0);
    ck_assert_int_eq(tp_blocks_follow(&followed, *blocks, *map, next), 0);
    tp_map_unref(*map);
    tp_blocks_unref(*blocks);
    *map = next;
    *blocks = followed;
}

static struct tp_change rect(uint32_t x, uint32_t y, uint32_t width, uint32_t height, uint8_t class_to)
{
    return (struct tp_change){.kind = TP_CHANGE_RECT, .x = x, .y = y, .width = width, .height = height, .class_to = class_to};
}

/* Two lanes go down a tile, the right one into the next tile. In one block the right one is shut and what was its end is joined to the left
 * one: the tile has the same areas in the same blocks, and the same cells on its side, but a cell there has changed hands. */
START_TEST(an_end_that_changes_hands)
{
    struct tp_map *map = tp_test_map_free(5, 70);
    tp_test_set_rect(&map, 1, 0, 3, 70, '@');
    tp_test_set_rect(&map, 0, 60, 1, 10, '@');
    struct tp_blocks *blocks;
    ck_assert_int_eq(tp_blocks_build(&blocks, map, TP_BLOCKS_STRAIGHT), 0);
    ck_assert(tp_blocks_apart(blocks, 0, 0, 4, 69));
    const struct tp_change changes[] = {rect(4, 60, 1, 1, '@'), rect(0, 60, 1, 3, '.'), rect(1, 62, 3, 1, '.')};
    change_map(&map, &blocks, changes, 3);
    ck_assert_uint_eq(blocks->blurred, 0);
    ck_assert(expect_sound(blocks, map));
    ck_assert(tp_blocks_apart(blocks, 0, 0, 4, 0));
    ck_assert(!tp_blocks_apart(blocks, 0, 0, 4, 69));
    tp_blocks_unref(blocks);
    tp_map_unref(map);
}
END_TEST

/* A tile of two areas is closed whole in a square that is not made anew, since the one before it was cut too: those after it keep theirs. */
START_TEST(a_tile_that_closes)
{
    struct tp_map *map = tp_test_map_free(4 * TP_MAP_TILE, 2 * TP_MAP_TILE);
    tp_test_set_rect(&map, 2 * TP_MAP_TILE, 0, TP_MAP_TILE, TP_MAP_TILE, '@');
    tp_test_set(&map, 2 * TP_MAP_TILE + 10, 10, '.');
    tp_test_set(&map, 2 * TP_MAP_TILE + 20, 20, '.');
    struct tp_blocks *blocks;
    ck_assert_int_eq(tp_blocks_build(&blocks, map, TP_BLOCKS_STRAIGHT), 0);
    const struct tp_change changes[] = {rect(2 * TP_MAP_TILE, 0, TP_MAP_TILE, TP_MAP_TILE, '@'),
                                        rect(0, TP_MAP_TILE - 1, TP_MAP_TILE, 1, '@')};
    change_map(&map, &blocks, changes, 2);
    ck_assert_uint_eq(blocks->is_blurred[1], 1); /* else this tests nothing */
    ck_assert(!tp_blocks_apart(blocks, 4 * TP_MAP_TILE - 1, 0, 4 * TP_MAP_TILE - 1, 2 * TP_MAP_TILE - 1));
    expect_sound(blocks, map);
    tp_blocks_unref(blocks);
    tp_map_unref(map);
}
END_TEST

/* Of two squares that were cut one is cut again in each version: the other has its turn all the same. */
START_TEST(each_square_has_its_turn)
{
    struct tp_map *map = tp_test_map_free(4 * TP_MAP_TILE, 2 * TP_MAP_TILE);
    struct tp_blocks *blocks;
    ck_assert_int_eq(tp_blocks_build(&blocks, map, TP_BLOCKS_STRAIGHT), 0);
    ck_assert_uint_eq(blocks->squares_x * blocks->squares_y, 2);
    const struct tp_change both[] = {rect(0, TP_MAP_TILE / 2, TP_MAP_TILE, 1, '@'), rect(3 * TP_MAP_TILE, TP_MAP_TILE / 2, TP_MAP_TILE, 1, '@')};
    change_map(&map, &blocks, both, 2);
    ck_assert(blocks->is_blurred[1] && !blocks->is_blurred[0]);
    for (uint32_t i = 1; i < 4; i++) {
        const struct tp_change again = rect(0, i * 4, TP_MAP_TILE, 1, '@');
        change_map(&map, &blocks, &again, 1);
        expect_sound(blocks, map);
        ck_assert_uint_eq(blocks->is_blurred[0], i == 1); /* the first had to wait once */
        ck_assert_uint_eq(blocks->is_blurred[1], 0);
    }
    tp_blocks_unref(blocks);
    tp_map_unref(map);
}
END_TEST

static Suite *labels_suite(void)
{
    Suite *suite = suite_create("labels");
    TCase *tcase = tcase_create("labels");
    tcase_add_test(tcase, apart_as_the_moves_say);
    tcase_add_test(tcase, a_door);
    tcase_add_test(tcase, an_end_that_changes_hands);
    tcase_add_test(tcase, a_tile_that_closes);
    tcase_add_test(tcase, each_square_has_its_turn);
    tcase_add_test(tcase, never_apart_wrongly);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_labels", labels_suite);
}
