/* The block graph against the plain definition, cell by cell through tp_walk_legal; followed through random batches, against one
 * built anew, with what is shared. */
#include "map/blocks.h"

#include "tests/lib/maps.h"

#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 8 };

/* ---- The plain definition ---- */

/* The components of the map's cells within squares of `side` cells (0: the whole map), by moves of one neighbourhood: of[cell], numbered in
 * the order of their first cells; UINT32_MAX where impassable. Returns how many. */
static uint32_t plain_components(const struct tp_map *map, uint32_t side, enum tp_neighbours neighbours,
                                 enum tp_corners corners, uint32_t *of)
{
    uint32_t cells = map->width * map->height, count = 0;
    uint32_t *stack = malloc(cells * sizeof *stack);
    ck_assert_ptr_nonnull(stack);
    memset(of, 255, cells * sizeof *of);
    for (uint32_t first = 0; first < cells; first++) {
        if (of[first] != UINT32_MAX || !tp_map_passable(map, first % map->width, first / map->width))
            continue;
        uint32_t depth = 1;
        stack[0] = first;
        of[first] = count;
        while (depth) {
            uint32_t x = stack[--depth] % map->width, y = stack[depth] / map->width;
            struct tp_window window = tp_walk_window(map, x, y);
            uint32_t moves = tp_walk_moves(&window, neighbours, corners);
            for (uint32_t d = 0; d < (uint32_t)neighbours; d++) {
                uint32_t to_x = x + (uint32_t)tp_direction_dx[d], to_y = y + (uint32_t)tp_direction_dy[d];
                if (!(moves >> d & 1) || (side && (to_x / side != x / side || to_y / side != y / side)))
                    continue;
                uint32_t to = to_y * map->width + to_x;
                if (of[to] == UINT32_MAX) {
                    of[to] = count;
                    stack[depth++] = to;
                }
            }
        }
        count++;
    }
    free(stack);
    return count;
}

static enum tp_neighbours within(enum tp_blocks_links links)
{
    return links == TP_BLOCKS_DIAGONAL ? TP_NEIGHBOURS_8 : TP_NEIGHBOURS_4;
}

static enum tp_corners corners_of(enum tp_blocks_links links)
{
    return links == TP_BLOCKS_DIAGONAL ? TP_CORNERS_ALWAYS : TP_CORNERS_BOTH_FREE;
}

struct sum {
    uint64_t cells, x, y;
    double speed;
};

static uint32_t mean(uint64_t sum, uint64_t count)
{
    return (uint32_t)((sum + count / 2) / count);
}

/* Level by level: `of` holds a node's (area's) number for each cell. */
static void expect_level(const struct tp_blocks *blocks, const struct tp_map *map, unsigned level,
                         const uint32_t *of, uint32_t *plain)
{
    uint32_t cells = map->width * map->height, side = level == 1 ? TP_BLOCK_SIDE : TP_MAP_TILE;
    uint32_t count = plain_components(map, side, within(blocks->links), corners_of(blocks->links), plain);
    uint32_t *number = malloc((count + 1) * sizeof *number); /* ours of theirs */
    struct sum *sums = calloc(count + 1, sizeof *sums);
    ck_assert(number && sums);
    memset(number, 255, count * sizeof *number);
    ck_assert_uint_eq(count, level == 1 ? blocks->nodes : blocks->areas);
    for (uint32_t cell = 0; cell < cells; cell++) {
        uint32_t x = cell % map->width, y = cell / map->width, want = plain[cell];
        if (want == UINT32_MAX) {
            if (of[cell] != TP_BLOCKS_NONE)
                ck_abort_msg("level %u: impassable cell (%u, %u) has %u", level, x, y, of[cell]);
            continue;
        }
        if (number[want] == UINT32_MAX)
            number[want] = of[cell];
        if (of[cell] >= count || number[want] != of[cell])
            ck_abort_msg("level %u: cell (%u, %u) is in %u, one of its component in %u", level, x, y,
                         of[cell], number[want]);
        sums[of[cell]].cells++;
        sums[of[cell]].x += x * TP_BLOCK_POINT + TP_BLOCK_POINT / 2;
        sums[of[cell]].y += y * TP_BLOCK_POINT + TP_BLOCK_POINT / 2;
        /* an area's is made of its nodes' rounded weights */
        sums[of[cell]].speed += 1.0 / (!map->weighted ? 1
                                       : level == 1   ? tp_map_weight(map, x, y)
                                                      : tp_blocks_node(blocks, tp_blocks_node_at(blocks, x, y)).weight);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tp_blocks_node node = level == 1 ? tp_blocks_node(blocks, i) : tp_blocks_area(blocks, i);
        const struct sum *sum = &sums[i];
        uint32_t x = mean(sum->x, sum->cells), y = mean(sum->y, sum->cells),
                 weight = (uint32_t)((double)sum->cells / sum->speed + 0.5);
        /* an area's means are those of its nodes' rounded means */
        uint32_t off = level == 1 ? 0 : 1;
        if (node.number != i)
            ck_abort_msg("level %u: %u says that it is %u", level, i, node.number);
        if (node.at.x + off < x || node.at.x > x + off || node.at.y + off < y || node.at.y > y + off ||
            node.weight + 1 < weight || node.weight > weight + 1)
            ck_abort_msg("level %u: %u is at (%u, %u) and weighs %u, not at (%u, %u), %u", level, i,
                         node.at.x, node.at.y, node.weight, x, y, weight);
        if (level == 1 && (uint64_t)__builtin_popcountll(node.cells) != sum->cells)
            ck_abort_msg("node %u has not all of its cells", i);
    }
    free(number);
    free(sums);
}

/* Which of the eight directions leads from one square to the next; 8: none does. */
static uint32_t direction_of(int64_t dx, int64_t dy)
{
    uint32_t d = 0;
    while (d < DIRECTIONS && (tp_direction_dx[d] != dx || tp_direction_dy[d] != dy))
        d++;
    return d;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;
    return *one < *other ? -1 : *one > *other;
}

/* The neighbours of each node (area) are those to which a legal move leads, in order, each once. */
static void expect_neighbours(const struct tp_blocks *blocks, const struct tp_map *map, unsigned level,
                              const uint32_t *of)
{
    uint32_t cells = map->width * map->height, side = level == 1 ? TP_BLOCK_SIDE : TP_MAP_TILE;
    uint32_t count = level == 1 ? blocks->nodes : blocks->areas;
    /* crossings as (from, direction, to) in one number */
    uint64_t *crossings = malloc(cells * DIRECTIONS * sizeof *crossings);
    size_t found = 0, next = 0;
    ck_assert(crossings && count < 1u << 30);
    for (uint32_t cell = 0; cell < cells; cell++) {
        uint32_t x = cell % map->width, y = cell / map->width;
        if (of[cell] == TP_BLOCKS_NONE)
            continue;
        struct tp_window window = tp_walk_window(map, x, y);
        uint32_t moves = tp_walk_moves(&window, TP_NEIGHBOURS_8, corners_of(blocks->links));
        for (uint32_t d = 0; d < DIRECTIONS; d++) {
            uint32_t to_x = x + (uint32_t)tp_direction_dx[d], to_y = y + (uint32_t)tp_direction_dy[d];
            if (!(moves >> d & 1) || (to_x / side == x / side && to_y / side == y / side))
                continue;
            uint32_t way = direction_of((int64_t)(to_x / side) - x / side, (int64_t)(to_y / side) - y / side);
            crossings[found++] =
                (uint64_t)of[cell] << 34 | (uint64_t)way << 31 | of[to_y * map->width + to_x];
        }
    }
    qsort(crossings, found, sizeof crossings[0], by_value);
    for (uint32_t i = 0; i < count; i++) {
        struct tp_blocks_node out[TP_BLOCKS_NEIGHBOURS_MAX];
        uint32_t given =
            level == 1 ? tp_blocks_neighbours(blocks, i, out) : tp_blocks_area_neighbours(blocks, i, out);
        uint32_t at = 0;
        for (; next < found && crossings[next] >> 34 == i; next++) {
            if (next && crossings[next] == crossings[next - 1])
                continue;
            uint32_t to = (uint32_t)(crossings[next] & 0x7fffffff);
            if (at >= given || out[at].number != to)
                ck_abort_msg("level %u: neighbour %u of %u (of %u) is not %u", level, at, i, given, to);
            struct tp_blocks_node node = level == 1 ? tp_blocks_node(blocks, to) : tp_blocks_area(blocks, to);
            if (node.number != to || node.tile != out[at].tile || node.block != out[at].block ||
                node.cells != out[at].cells || node.at.x != out[at].at.x || node.at.y != out[at].at.y ||
                node.weight != out[at].weight || node.area != out[at].area)
                ck_abort_msg("level %u: %u as a neighbour of %u is not what it is itself", level, to, i);
            at++;
        }
        if (at != given)
            ck_abort_msg("level %u: %u has %u neighbours, not %u", level, i, given, at);
    }
    free(crossings);
}

/* Everything, by the plain definition. */
static void expect_plain(const struct tp_blocks *blocks, const struct tp_map *map)
{
    uint32_t cells = map->width * map->height;
    uint32_t *of = calloc(cells, sizeof *of), *plain = calloc(cells, sizeof *plain);
    ck_assert(of && plain);
    ck_assert_uint_eq(blocks->epoch, map->epoch);
    ck_assert_uint_eq(blocks->version, map->version);
    for (uint32_t cell = 0; cell < cells; cell++)
        of[cell] = tp_blocks_node_at(blocks, cell % map->width, cell / map->width);
    expect_level(blocks, map, 1, of, plain);
    expect_neighbours(blocks, map, 1, of);
    for (uint32_t cell = 0; cell < cells; cell++) {
        if (of[cell] == TP_BLOCKS_NONE)
            continue;
        struct tp_blocks_node node = tp_blocks_node(blocks, of[cell]);
        uint32_t x = cell % map->width, y = cell / map->width;
        uint32_t bit = y % TP_BLOCK_SIDE * TP_BLOCK_SIDE + x % TP_BLOCK_SIDE;
        uint32_t block = y % TP_MAP_TILE / TP_BLOCK_SIDE * TP_BLOCKS_A_SIDE + x % TP_MAP_TILE / TP_BLOCK_SIDE;
        if (!(node.cells >> bit & 1) || node.block != block ||
            node.tile != y / TP_MAP_TILE * map->tiles_x + x / TP_MAP_TILE)
            ck_abort_msg("node %u does not hold cell (%u, %u)", of[cell], x, y);
        of[cell] = node.area;
    }
    expect_level(blocks, map, 2, of, plain);
    expect_neighbours(blocks, map, 2, of);
    free(of);
    free(plain);
}

/* ---- Maps ---- */

static struct tp_map *random_map(struct tp_test_rng *rng)
{
    static const uint32_t percents[] = {0, 3, 20, 40, 50, 70, 100};
    uint32_t width = tp_test_between(rng, 1, 150), height = tp_test_between(rng, 1, 150);
    uint32_t percent = percents[tp_test_below(rng, 7)];
    if (tp_test_percent(rng, 40))
        return tp_test_map_random_weighted(rng, width, height, percent, tp_test_percent(rng, 50) ? 5 : 65535);
    return tp_test_map_random(rng, width, height, percent);
}

static struct tp_blocks *build(const struct tp_map *map, enum tp_blocks_links links)
{
    struct tp_blocks *blocks;
    ck_assert_int_eq(tp_blocks_build(&blocks, map, links), 0);
    ck_assert_uint_eq(blocks->changed_version, map->version);
    return blocks;
}

START_TEST(a_drawing)
{
    struct tp_map *map = tp_test_map("....@.......\n"
                                     "....@.......\n"
                                     "....@.......\n"
                                     "@@@@@@@@@@@.\n"
                                     "............\n"
                                     "............\n"
                                     "............\n"
                                     "............\n"
                                     "@@@@@@@@@@@.\n"
                                     "............\n");
    struct tp_blocks *blocks = build(map, TP_BLOCKS_STRAIGHT);
    struct tp_blocks_node out[TP_BLOCKS_NEIGHBOURS_MAX];
    ck_assert_uint_eq(blocks->nodes, 6);
    ck_assert_uint_eq(blocks->areas, 2);
    ck_assert_uint_eq(tp_blocks_node_at(blocks, 0, 0), 0);
    ck_assert_uint_eq(tp_blocks_node_at(blocks, 7, 2), 1);
    ck_assert_uint_eq(tp_blocks_node_at(blocks, 7, 4), 2);
    ck_assert_uint_eq(tp_blocks_node_at(blocks, 8, 0), 3);
    ck_assert_uint_eq(tp_blocks_node_at(blocks, 11, 7), 3);
    ck_assert_uint_eq(tp_blocks_node_at(blocks, 0, 9), 4);
    ck_assert_uint_eq(tp_blocks_node_at(blocks, 11, 8), 5);
    ck_assert_uint_eq(tp_blocks_node_at(blocks, 4, 0), TP_BLOCKS_NONE);
    ck_assert_uint_eq(tp_blocks_node(blocks, 0).at.x, 32); /* columns 0..3, rows 0..2 */
    ck_assert_uint_eq(tp_blocks_node(blocks, 0).at.y, 24);
    ck_assert_uint_eq(tp_blocks_neighbours(blocks, 0, out), 0);
    ck_assert_uint_eq(tp_blocks_neighbours(blocks, 3, out), 3);
    ck_assert_uint_eq(out[0].number, 5); /* S, then W */
    ck_assert_uint_eq(out[1].number, 1);
    ck_assert_uint_eq(out[2].number, 2);
    ck_assert(tp_blocks_apart(blocks, 0, 0, 5, 0));
    ck_assert(!tp_blocks_apart(blocks, 5, 0, 0, 9));
    ck_assert(!tp_blocks_apart(blocks, 5, 0, 4, 0)); /* an impassable cell is in no part */
    tp_blocks_unref(blocks);
    tp_map_unref(map);
}
END_TEST

START_TEST(built_as_defined)
{
    struct tp_test_rng rng = tp_test_rng("built");
    for (uint64_t i = 0; i < tp_test_steps(60, 3000); i++) {
        struct tp_map *map = random_map(&rng);
        for (int links = 0; links < 2; links++) {
            struct tp_blocks *blocks = build(map, (enum tp_blocks_links)links);
            expect_plain(blocks, map);
            tp_blocks_unref(blocks);
        }
        tp_map_unref(map);
    }
}
END_TEST

/* ---- Following ---- */

static bool same_tile(const struct tp_blocks_tile *a, const struct tp_blocks_tile *b)
{
    return a->nodes == b->nodes && a->areas == b->areas && memcmp(a->first, b->first, sizeof a->first) == 0 &&
           memcmp(a->cells, b->cells, a->nodes * sizeof a->cells[0]) == 0 &&
           memcmp(a->place, b->place, a->nodes * sizeof a->place[0]) == 0 &&
           memcmp(a->area, b->area, a->nodes * sizeof a->area[0]) == 0 && !a->weight == !b->weight &&
           (!a->weight || memcmp(a->weight, b->weight, a->nodes * sizeof a->weight[0]) == 0) &&
           !a->speed == !b->speed && (!a->speed || memcmp(a->speed, b->speed, a->areas * sizeof a->speed[0]) == 0) &&
           memcmp(a->areas_at, b->areas_at, a->areas * sizeof a->areas_at[0]) == 0 &&
           memcmp(a->side, b->side, sizeof a->side) == 0 && memcmp(a->first_run, b->first_run, sizeof a->first_run) == 0 &&
           memcmp(a->runs, b->runs, a->first_run[4] * sizeof a->runs[0]) == 0;
}

/* What was followed to is what is built, but for labels and marks; a tile is shared exactly where it is the same. */
static void expect_followed(const struct tp_blocks *blocks, const struct tp_blocks *before,
                            const struct tp_map *map)
{
    struct tp_blocks *anew = build(map, blocks->links);
    size_t tiles = (size_t)map->tiles_x * map->tiles_y;
    bool is_other = false;
    ck_assert_uint_eq(blocks->nodes, anew->nodes);
    ck_assert_uint_eq(blocks->areas, anew->areas);
    ck_assert_uint_eq(blocks->version, map->version);
    ck_assert_mem_eq(blocks->first_node, anew->first_node, (tiles + 1) * sizeof anew->first_node[0]);
    ck_assert_mem_eq(blocks->first_area, anew->first_area, (tiles + 1) * sizeof anew->first_area[0]);
    for (size_t i = 0; i < tiles; i++) {
        bool is_same = same_tile(before->tiles[i], blocks->tiles[i]);
        if (!same_tile(blocks->tiles[i], anew->tiles[i]))
            ck_abort_msg("version %u: tile %zu is not as built", (unsigned)map->version, i);
        if (is_same != (before->tiles[i] == blocks->tiles[i]))
            ck_abort_msg("version %u: tile %zu is %s", (unsigned)map->version, i,
                         is_same ? "the same, but not shared" : "shared");
        if (is_same)
            ck_assert_uint_ge(atomic_load(&blocks->tiles[i]->refs), 2);
        else
            ck_assert_uint_eq(atomic_load(&blocks->tiles[i]->refs), 1);
        is_other |= !is_same;
    }
    ck_assert_uint_eq(blocks->changed_version, is_other ? map->version : before->changed_version);
    tp_blocks_unref(anew);
}

/* Follows a map to its next version, in the place of both. */
static void follow(struct tp_blocks **blocks, struct tp_map **map, struct tp_map *next)
{
    struct tp_blocks *followed;
    ck_assert_int_eq(tp_blocks_follow(&followed, *blocks, *map, next), 0);
    expect_followed(followed, *blocks, next);
    tp_map_unref(*map);
    tp_blocks_unref(*blocks);
    *map = next;
    *blocks = followed;
}

/* A batch of cells and rectangles, small or as large as tiles, of the classes that the map has; sometimes of what stands already. */
static struct tp_map *apply_random(struct tp_test_rng *rng, const struct tp_map *map)
{
    enum { BATCH_MAX = 8 };
    struct tp_change changes[BATCH_MAX];
    uint32_t count = tp_test_below(rng, BATCH_MAX + 1), side = tp_test_percent(rng, 20) ? 100 : 4;
    for (uint32_t i = 0; i < count; i++) {
        struct tp_change *change = &changes[i];
        uint32_t x = tp_test_below(rng, map->width), y = tp_test_below(rng, map->height);
        uint32_t like = tp_test_below(rng, map->width * map->height);
        *change = (struct tp_change){
            .kind = tp_test_percent(rng, 60) ? TP_CHANGE_CELL : TP_CHANGE_RECT, .x = x, .y = y};
        change->class_to = tp_map_class(map, like % map->width, like / map->width);
        if (tp_test_percent(rng, 30))
            change->class_to = '@';
        if (tp_test_percent(rng, 5))
            change->class_to = tp_map_class(map, x, y);
        change->width = tp_test_between(rng, 1, map->width - x < side ? map->width - x : side);
        change->height = tp_test_between(rng, 1, map->height - y < side ? map->height - y : side);
    }
    struct tp_map *next;
    size_t bad;
    uint32_t bad_x, bad_y;
    ck_assert_int_eq(tp_map_apply(&next, map, changes, count, &bad, &bad_x, &bad_y), 0);
    return next;
}

START_TEST(followed_as_built)
{
    struct tp_test_rng rng = tp_test_rng("followed");
    for (uint64_t i = 0; i < tp_test_steps(40, 2000); i++) {
        struct tp_map *map = random_map(&rng);
        struct tp_blocks *blocks =
            build(map, tp_test_percent(&rng, 50) ? TP_BLOCKS_STRAIGHT : TP_BLOCKS_DIAGONAL);
        for (int step = 0; step < 25; step++) {
            struct tp_map *next = apply_random(&rng, map);
            if (tp_test_percent(&rng, 10)) { /* two versions at once */
                struct tp_map *between = next;
                next = apply_random(&rng, between);
                tp_map_unref(between);
            }
            follow(&blocks, &map, next);
        }
        expect_plain(blocks, map);
        tp_blocks_unref(blocks);
        tp_map_unref(map);
    }
}
END_TEST

/* A chequered map, where blocks have more neighbours than can be told apart one by one; and cells of it changed, few in a batch. */
START_TEST(followed_where_all_is_parted)
{
    enum { WIDTH = 130, HEIGHT = 70 };
    static struct tp_change changes[WIDTH * HEIGHT];
    struct tp_test_rng rng = tp_test_rng("parted");
    struct tp_map *map = tp_test_map_free(WIDTH, HEIGHT), *next;
    size_t count = 0, bad;
    uint32_t bad_x, bad_y;
    for (uint32_t cell = 0; cell < WIDTH * HEIGHT; cell++)
        if ((cell % WIDTH + cell / WIDTH) % 2)
            changes[count++] = (struct tp_change){.kind = TP_CHANGE_CELL, .class_to = '@', .x = cell % WIDTH, .y = cell / WIDTH};
    ck_assert_int_eq(tp_map_apply(&next, map, changes, count, &bad, &bad_x, &bad_y), 0);
    tp_map_unref(map);
    map = next;
    struct tp_blocks *blocks = build(map, _i ? TP_BLOCKS_DIAGONAL : TP_BLOCKS_STRAIGHT);
    ck_assert_uint_eq(blocks->areas, _i ? 6 : WIDTH * HEIGHT / 2);
    for (uint64_t step = 0; step < tp_test_steps(80, 2000); step++) {
        count = tp_test_between(&rng, 1, 3);
        for (size_t i = 0; i < count; i++) {
            uint32_t x = tp_test_below(&rng, WIDTH), y = tp_test_below(&rng, HEIGHT);
            changes[i] = (struct tp_change){.kind = TP_CHANGE_CELL, .class_to = tp_map_passable(map, x, y) ? '@' : '.', .x = x, .y = y};
        }
        ck_assert_int_eq(tp_map_apply(&next, map, changes, count, &bad, &bad_x, &bad_y), 0);
        follow(&blocks, &map, next);
    }
    expect_plain(blocks, map);
    tp_blocks_unref(blocks);
    tp_map_unref(map);
}
END_TEST

/* A version outlives the one it came from, and a reference keeps it. */
START_TEST(shared_and_kept)
{
    struct tp_map *map = tp_test_map_free(200, 130), *next = NULL;
    struct tp_blocks *blocks = build(map, TP_BLOCKS_STRAIGHT), *followed;
    size_t alone = tp_blocks_bytes(blocks), bad;
    struct tp_change change = {.kind = TP_CHANGE_CELL, .class_to = '@', .x = 70, .y = 1};
    uint32_t bad_x, bad_y;
    ck_assert_int_eq(tp_map_apply(&next, map, &change, 1, &bad, &bad_x, &bad_y), 0);
    ck_assert_int_eq(tp_blocks_follow(&followed, blocks, map, next), 0);
    for (uint32_t i = 0; i < 12; i++)
        ck_assert((followed->tiles[i] == blocks->tiles[i]) == (i != 1));
    ck_assert_uint_lt(tp_blocks_bytes(blocks), alone);
    ck_assert_ptr_eq(tp_blocks_ref(followed), followed);
    tp_blocks_unref(blocks);
    ck_assert_uint_eq(tp_blocks_bytes(followed), alone);
    tp_blocks_unref(followed);
    ck_assert_uint_eq(tp_blocks_node_at(followed, 70, 1), TP_BLOCKS_NONE);
    ck_assert_uint_eq(tp_blocks_node(followed, tp_blocks_node_at(followed, 199, 129)).at.x, 196 * 16);
    tp_blocks_unref(followed);
    tp_blocks_unref(NULL);
    tp_map_unref(map);
    tp_map_unref(next);
}
END_TEST

START_TEST(grids_alone)
{
    static const uint8_t puzzle[16] = {1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct tp_map *map;
    struct tp_blocks *blocks;
    ck_assert_int_eq(tp_map_build_puzzle(&map, puzzle), 0);
    ck_assert_int_eq(tp_blocks_build(&blocks, map, TP_BLOCKS_STRAIGHT), TP_ERR_UNSUPPORTED);
    ck_assert_ptr_null(blocks);
    tp_map_unref(map);
}
END_TEST

START_TEST(links_of_moves)
{
    for (int corners = TP_CORNERS_BOTH_FREE; corners <= TP_CORNERS_ALWAYS; corners++) {
        bool is_always = corners == TP_CORNERS_ALWAYS;
        ck_assert_int_eq(tp_blocks_links_of(TP_NEIGHBOURS_4, (enum tp_corners)corners), TP_BLOCKS_STRAIGHT);
        ck_assert_int_eq(tp_blocks_links_of(TP_NEIGHBOURS_8, (enum tp_corners)corners),
                         is_always ? TP_BLOCKS_DIAGONAL : TP_BLOCKS_STRAIGHT);
        ck_assert_int_eq(tp_blocks_links_of(TP_NEIGHBOURS_16, (enum tp_corners)corners),
                         is_always ? TP_BLOCKS_DIAGONAL : TP_BLOCKS_STRAIGHT);
    }
}
END_TEST

static Suite *blocks_suite(void)
{
    Suite *suite = suite_create("blocks");
    TCase *tcase = tcase_create("build");
    tcase_add_test(tcase, a_drawing);
    tcase_add_test(tcase, built_as_defined);
    tcase_add_test(tcase, grids_alone);
    tcase_add_test(tcase, links_of_moves);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("follow");
    tcase_add_test(tcase, followed_as_built);
    tcase_add_loop_test(tcase, followed_where_all_is_parted, 0, 2);
    tcase_add_test(tcase, shared_and_kept);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_blocks", blocks_suite);
}
