/* Which moves are legal, against a plain statement of the rules that shares nothing with walk.c: all 2^9
 * windows of 4 and 8 neighbours, random 5x5 windows of 16, random maps with their borders, and the small
 * cases in words. */
#include "map/walk.h"

#include "tests/lib/maps.h"

#include <stdlib.h>

static const enum tp_neighbours all_neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
static const enum tp_corners all_corners[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE, TP_CORNERS_ALWAYS};

/* ---- The rules, said plainly ---- */

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

/* free_at(context, dx, dy): whether the cell that far from the agent is passable. */
static bool rule_allows(bool (*free_at)(const void *context, int dx, int dy), const void *context, int dx,
                        int dy, enum tp_neighbours neighbours, enum tp_corners corners)
{
    int length2 = dx * dx + dy * dy;
    if (!free_at(context, dx, dy))
        return false;
    if (length2 == 1) /* a straight step */
        return true;
    if (length2 == 2 && neighbours != TP_NEIGHBOURS_4) { /* a diagonal step */
        int orthogonal_free = free_at(context, dx, 0) + free_at(context, 0, dy);
        int needed = corners == TP_CORNERS_BOTH_FREE ? 2 : corners == TP_CORNERS_ONE_FREE ? 1 : 0;
        return orthogonal_free >= needed;
    }
    if (length2 == 5 && neighbours == TP_NEIGHBOURS_16) { /* a knight's move */
        bool along_x = abs(dx) == 2;
        return free_at(context, along_x ? sign(dx) : 0, along_x ? 0 : sign(dy)) &&
               free_at(context, sign(dx), sign(dy));
    }
    return false;
}

static bool free_in_window(const void *context, int dx, int dy)
{
    const struct tp_window *window = context;
    return window->row[dy + 2] >> (dx + 2) & 1;
}

struct standpoint {
    const struct tp_map *map;
    int x, y;
};

static bool free_in_map(const void *context, int dx, int dy)
{
    const struct standpoint *from = context;
    return tp_map_passable(from->map, (int64_t)from->x + dx, (int64_t)from->y + dy);
}

/* ---- Windows ---- */

static void compare_window(const struct tp_window *window, enum tp_neighbours neighbours,
                           enum tp_corners corners)
{
    uint32_t want = 0;
    for (int d = 0; d < (int)neighbours; d++)
        if (rule_allows(free_in_window, window, tp_direction_dx[d], tp_direction_dy[d], neighbours, corners))
            want |= 1u << d;
    uint32_t got = tp_walk_moves(window, neighbours, corners);
    if (got != want)
        ck_abort_msg("%d neighbours, corner rule %d, rows %x %x %x %x %x: moves %x, not %x", (int)neighbours,
                     (int)corners, window->row[0], window->row[1], window->row[2], window->row[3],
                     window->row[4], got, want);
}

/* The numbering: every direction once, its opposite, its length. */
START_TEST(test_directions)
{
    for (int d = 0; d < TP_DIRECTIONS; d++) {
        int dx = tp_direction_dx[d], dy = tp_direction_dy[d], length2 = dx * dx + dy * dy;
        ck_assert_int_eq(length2, d < 4 ? 1 : d < 8 ? 2 : 5);
        ck_assert_uint_eq(tp_direction_length[d], d < 4 ? 3194 : d < 8 ? 4517 : 7142);
        int opposite = tp_direction_opposite[d];
        ck_assert_int_eq(tp_direction_dx[opposite], -dx);
        ck_assert_int_eq(tp_direction_dy[opposite], -dy);
        for (int other = 0; other < d; other++)
            ck_assert(tp_direction_dx[other] != dx || tp_direction_dy[other] != dy);
        for (int n = 0; n < 3; n++)
            ck_assert_uint_eq(tp_walk_direction(dx, dy, all_neighbours[n]),
                              d < (int)all_neighbours[n] ? d : TP_DIRECTION_NONE);
    }
    static const int64_t none[][2] = {
        {0, 0}, {2, 0}, {0, -2}, {2, 2}, {3, 1}, {-3, -2}, {INT64_MAX, INT64_MIN}, {257, 256}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        for (int n = 0; n < 3; n++)
            ck_assert_uint_eq(tp_walk_direction(none[i][0], none[i][1], all_neighbours[n]),
                              TP_DIRECTION_NONE);
}
END_TEST

/* All 2^9 windows; what lies outside the inner 3x3 cells must not matter to 4 and 8 neighbours. */
START_TEST(test_all_windows)
{
    for (uint32_t inner = 0; inner < 512; inner++)
        for (int frame = 0; frame < 2; frame++) {
            struct tp_window window;
            for (int i = 0; i < 5; i++)
                window.row[i] = frame ? 31 : 0;
            for (int i = 0; i < 3; i++)
                window.row[i + 1] = (window.row[i + 1] & 17u) | (inner >> (3 * i) & 7u) << 1;
            for (int n = 0; n < 3; n++)
                for (int c = 0; c < 3; c++)
                    compare_window(&window, all_neighbours[n], all_corners[c]);
        }
}
END_TEST

/* The table that grids' kernels look moves up in. */
START_TEST(test_moves_looked_up)
{
    for (uint32_t nine = 0; nine < 512; nine++) {
        struct tp_window window = {{0}};
        for (int i = 0; i < 3; i++)
            window.row[i + 1] = (nine >> 3 * i & 7) << 1;
        ck_assert_uint_eq(tp_walk_nine(window.row[1] >> 1, window.row[2] >> 1, window.row[3] >> 1), nine);
        for (int n = 0; n < 2; n++)
            for (int c = 0; c < 3; c++)
                ck_assert_uint_eq(tp_walk_moves_of[n][all_corners[c]][nine], tp_walk_moves(&window, all_neighbours[n], all_corners[c]));
    }
}
END_TEST

START_TEST(test_random_windows)
{
    struct tp_test_rng rng = tp_test_rng("windows");
    uint64_t steps = tp_test_steps(200000, 20000000);
    for (uint64_t i = 0; i < steps; i++) {
        /* from sparse to dense: a knight's move needs three cells free at once */
        uint64_t bits = tp_test_next(&rng), more = tp_test_next(&rng);
        bits = i % 3 == 0 ? bits : i % 3 == 1 ? bits | more : bits & more;
        struct tp_window window;
        for (int row = 0; row < 5; row++)
            window.row[row] = bits >> (5 * row) & 31;
        for (int n = 0; n < 3; n++)
            for (int c = 0; c < 3; c++)
                compare_window(&window, all_neighbours[n], all_corners[c]);
    }
}
END_TEST

/* ---- Maps ---- */

/* Every pair of cells up to 3 apart: tp_walk_legal, tp_walk_moves and the plain rules agree, and a legal move
 * between passable cells is legal back, at the same cost. */
static void compare_map(const struct tp_map *map, enum tp_neighbours neighbours, enum tp_corners corners)
{
    for (int y = 0; y < (int)map->height; y++)
        for (int x = 0; x < (int)map->width; x++) {
            struct tp_window window = tp_walk_window(map, (uint32_t)x, (uint32_t)y);
            uint32_t moves = tp_walk_moves(&window, neighbours, corners);
            struct standpoint from = {map, x, y};
            for (uint8_t d = 0; d < neighbours; d++)
                if (tp_walk_open(map, (uint32_t)x, (uint32_t)y, d, corners) != (moves >> d & 1))
                    ck_abort_msg("(%d, %d), direction %d, corner rule %d: tp_walk_moves says %d", x, y, d,
                                 (int)corners, (int)(moves >> d & 1));
            for (int dy = -3; dy <= 3; dy++)
                for (int dx = -3; dx <= 3; dx++) {
                    bool want = rule_allows(free_in_map, &from, dx, dy, neighbours, corners);
                    uint8_t direction = tp_walk_direction(dx, dy, neighbours);
                    bool in_moves = direction != TP_DIRECTION_NONE && (moves >> direction & 1);
                    if (in_moves != want)
                        ck_abort_msg(
                            "(%d, %d) by (%d, %d), %d neighbours, corner rule %d: in tp_walk_moves %d", x, y,
                            dx, dy, (int)neighbours, (int)corners, in_moves);
                    int to_x = x + dx, to_y = y + dy;
                    if (to_x < 0 || to_y < 0 || to_x >= (int)map->width || to_y >= (int)map->height)
                        continue; /* no cell: tp_walk_legal takes cells */
                    bool legal = tp_walk_legal(map, (uint32_t)x, (uint32_t)y, (uint32_t)to_x, (uint32_t)to_y,
                                               neighbours, corners);
                    if (legal != want)
                        ck_abort_msg(
                            "(%d, %d) to (%d, %d), %d neighbours, corner rule %d: tp_walk_legal says %d", x,
                            y, to_x, to_y, (int)neighbours, (int)corners, legal);
                    if (!legal || !tp_map_passable(map, x, y))
                        continue;
                    bool legal_back = tp_walk_legal(map, (uint32_t)to_x, (uint32_t)to_y, (uint32_t)x,
                                                    (uint32_t)y, neighbours, corners);
                    tp_cost there = tp_walk_cost(map, (uint32_t)x, (uint32_t)y, (uint32_t)to_x,
                                                 (uint32_t)to_y, direction);
                    tp_cost back = tp_walk_cost(map, (uint32_t)to_x, (uint32_t)to_y, (uint32_t)x, (uint32_t)y,
                                                tp_direction_opposite[direction]);
                    if (!legal_back || there != back || there != tp_direction_length[direction])
                        ck_abort_msg(
                            "(%d, %d) to (%d, %d), %d neighbours, corner rule %d: back %d, costs %llu, %llu",
                            x, y, to_x, to_y, (int)neighbours, (int)corners, legal_back,
                            (unsigned long long)there, (unsigned long long)back);
                }
        }
}

START_TEST(test_random_maps)
{
    struct tp_test_rng rng = tp_test_rng("maps");
    uint64_t steps = tp_test_steps(40, 2000);
    for (uint64_t i = 0; i < steps; i++) {
        /* sizes on both sides of a tile's edge, and single rows and columns */
        uint32_t width = i % 4 == 0 ? tp_test_between(&rng, 62, 67) : tp_test_between(&rng, 1, 20);
        uint32_t height = i % 4 == 1 ? tp_test_between(&rng, 62, 67) : tp_test_between(&rng, 1, 20);
        struct tp_map *map = tp_test_map_random(&rng, width, height, tp_test_below(&rng, 70));
        for (int n = 0; n < 3; n++)
            for (int c = 0; c < 3; c++)
                compare_map(map, all_neighbours[n], all_corners[c]);
        tp_map_unref(map);
    }
}
END_TEST

/* A move that a change closes is closed in the new version and open in the old one. */
START_TEST(test_changed_cells)
{
    struct tp_map *first = tp_test_map("...\n"
                                       "...\n"
                                       "...");
    struct tp_map *second = (struct tp_map *)tp_map_ref(first);
    tp_test_set(&second, 1, 0, '@');
    ck_assert(tp_walk_legal(first, 0, 0, 1, 1, TP_NEIGHBOURS_8, TP_CORNERS_BOTH_FREE));
    ck_assert(!tp_walk_legal(second, 0, 0, 1, 1, TP_NEIGHBOURS_8, TP_CORNERS_BOTH_FREE));
    ck_assert(tp_walk_legal(second, 0, 0, 1, 1, TP_NEIGHBOURS_8, TP_CORNERS_ONE_FREE));
    tp_test_set(&second, 0, 1, '@');
    ck_assert(!tp_walk_legal(second, 0, 0, 1, 1, TP_NEIGHBOURS_8, TP_CORNERS_ONE_FREE));
    ck_assert(tp_walk_legal(second, 0, 0, 1, 1, TP_NEIGHBOURS_8, TP_CORNERS_ALWAYS));
    ck_assert(!tp_walk_legal(second, 0, 0, 1, 1, TP_NEIGHBOURS_4, TP_CORNERS_ALWAYS));
    tp_map_unref(first);
    tp_map_unref(second);
}
END_TEST

/* An agent caught in a block may leave it, and no other may enter. */
START_TEST(test_caught)
{
    struct tp_map *map = tp_test_map("@@@\n"
                                     ".@@\n"
                                     "..@");
    ck_assert(tp_walk_legal(map, 1, 1, 0, 1, TP_NEIGHBOURS_4, TP_CORNERS_BOTH_FREE));
    ck_assert(tp_walk_legal(map, 1, 1, 1, 2, TP_NEIGHBOURS_4, TP_CORNERS_BOTH_FREE));
    ck_assert(tp_walk_legal(map, 1, 1, 0, 2, TP_NEIGHBOURS_8, TP_CORNERS_BOTH_FREE));
    ck_assert(!tp_walk_legal(map, 0, 1, 1, 1, TP_NEIGHBOURS_8, TP_CORNERS_ALWAYS));
    ck_assert(!tp_walk_legal(map, 1, 1, 2, 2, TP_NEIGHBOURS_8, TP_CORNERS_ALWAYS));
    ck_assert_uint_eq(tp_walk_cost(map, 1, 1, 0, 1, 2), 3194);
    tp_map_unref(map);
}
END_TEST

/* A knight's move passes a straight and a diagonal cell; the corner rule has no say. */
START_TEST(test_knight)
{
    static const struct {
        const char *art;
        bool legal;
    } cases[] = {
        {"...\n...", true},  {"..@\n...", true},  {"...\n@..", true},
        {".@.\n...", false}, {"...\n.@.", false}, {"...\n..@", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_map *map = tp_test_map(cases[i].art);
        for (int c = 0; c < 3; c++) {
            ck_assert_msg(tp_walk_legal(map, 0, 0, 2, 1, TP_NEIGHBOURS_16, all_corners[c]) == cases[i].legal,
                          "%s", cases[i].art);
            ck_assert(!tp_walk_legal(map, 0, 0, 2, 1, TP_NEIGHBOURS_8, all_corners[c]));
        }
        tp_map_unref(map);
    }
}
END_TEST

/* floor(length * (wa + wb) / 2), the largest weights included. */
START_TEST(test_costs)
{
    struct tp_profile profile = {{0}};
    profile.weight['a'] = 1;
    profile.weight['b'] = 2;
    profile.weight['z'] = 65535;
    struct tp_map *map = tp_test_map_weighted("abz\n"
                                              "bza\n"
                                              "zaz",
                                              &profile);
    ck_assert_uint_eq(tp_walk_cost(map, 0, 0, 1, 0, 0), 3194 * 3 / 2);
    ck_assert_uint_eq(tp_walk_cost(map, 0, 1, 1, 0, 7), 4517 * 2);
    ck_assert_uint_eq(tp_walk_cost(map, 0, 0, 1, 1, 4), 4517ull * 65536 / 2);
    ck_assert_uint_eq(tp_walk_cost(map, 1, 0, 1, 1, 1), 3194ull * 65537 / 2);
    ck_assert_uint_eq(tp_walk_cost(map, 1, 1, 2, 0, 7), 4517ull * 65535);
    ck_assert_uint_eq(tp_walk_cost(map, 0, 0, 2, 1, 8), 7142);
    ck_assert_uint_eq(tp_walk_cost(map, 1, 2, 0, 0, 13), 7142);
    ck_assert_uint_eq(tp_walk_cost(map, 2, 2, 1, 0, 13), 7142ull * 65537 / 2);
    /* half a unit is dropped, the same way both ways */
    ck_assert_uint_eq(tp_walk_cost(map, 1, 0, 2, 1, 4), 4517 * 3 / 2);
    ck_assert_uint_eq(tp_walk_cost(map, 2, 1, 1, 0, 6), 4517 * 3 / 2);
    tp_map_unref(map);
}
END_TEST

static Suite *walk_suite(void)
{
    Suite *suite = suite_create("walk");
    TCase *windows = tcase_create("windows");
    tcase_add_test(windows, test_directions);
    tcase_add_test(windows, test_all_windows);
    tcase_add_test(windows, test_moves_looked_up);
    tcase_add_test(windows, test_random_windows);
    suite_add_tcase(suite, windows);
    TCase *maps = tcase_create("maps");
    tcase_add_test(maps, test_random_maps);
    tcase_add_test(maps, test_changed_cells);
    tcase_add_test(maps, test_caught);
    tcase_add_test(maps, test_knight);
    tcase_add_test(maps, test_costs);
    suite_add_tcase(suite, maps);
    return suite;
}

int main(void)
{
    return tp_test_main("test_walk", walk_suite);
}
