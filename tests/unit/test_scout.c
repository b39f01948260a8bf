/* Scouts against a plain Dijkstra over the same neighbours: the way found can be walked, is about the shortest without a field, is as long as
 * its pieces, and is the same in whatever portions it is paid for. */
#include "guide/scout.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/plain_blocks.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_BYTES = 64 << 20, PAGE_BYTES = 2048 };

/* The middle of some cell of a node. */
static struct tp_blocks_place random_place(const struct block_bench *bench, struct tp_test_rng *rng, uint32_t number)
{
    struct tp_blocks_node node = tp_blocks_node(bench->blocks, number);
    uint32_t bit;
    do
        bit = tp_test_below(rng, TP_BLOCK_CELLS);
    while (!(node.cells >> bit & 1));
    return tp_scout_place(bench->blocks, &node, bit);
}

/* Points straight across a node, from where the way enters it to a place in the next. */
static uint32_t piece(const struct block_bench *bench, enum tp_field_metric metric, const struct tp_blocks_node *node, uint32_t entry,
                      const struct tp_blocks_node *next, uint32_t entry_next)
{
    uint32_t points = tp_field_distance(metric, tp_scout_place(bench->blocks, node, entry), tp_scout_place(bench->blocks, next, entry_next));
    points = tp_field_weigh(points, node->weight + next->weight);
    return points ? points : 1;
}

/* Goes along the way from its first node, each time to the neighbour on it that just a piece less is left from: its entry must be a cell of
 * it, beside the node gone through, and the end a goal, as far as the straight line from the entry. */
static void check_way(const struct block_bench *bench, const struct tp_scout *scout, const struct tp_scout_order *order)
{
    struct tp_blocks_node out[TP_BLOCKS_NEIGHBOURS_MAX], node = tp_blocks_node(bench->blocks, order->from);
    uint32_t entry, left = tp_scout_at(scout, order->from, &entry);
    ck_assert_uint_eq(left, tp_scout_length(scout));
    struct tp_blocks_place at = tp_scout_place(bench->blocks, &node, entry);
    ck_assert(at.x == order->at.x && at.y == order->at.y);
    for (uint32_t steps = 0;; steps++) {
        uint32_t straight = UINT32_MAX, count = tp_blocks_neighbours(bench->blocks, node.number, out), next = count;
        ck_assert_uint_le(steps, bench->blocks->nodes);
        bool is_goal = false;
        at = tp_scout_place(bench->blocks, &node, entry);
        for (uint32_t i = 0; i < order->goal_count; i++) {
            uint32_t points = tp_field_distance(order->metric, at, order->goals_at[i]);
            is_goal |= order->goals[i] == node.number;
            straight = points < straight ? points : straight;
        }
        if (is_goal) {
            ck_assert_uint_eq(left, straight);
            return;
        }
        for (uint32_t i = 0; i < count && next == count; i++) {
            uint32_t entry_there, beyond = tp_scout_at(scout, out[i].number, &entry_there);
            if (beyond != TP_FIELD_UNSEEN &&
                (uint64_t)beyond + piece(bench, order->metric, &node, entry, &out[i], entry_there) == left)
                next = i;
        }
        ck_assert_uint_ne(next, count);
        left = tp_scout_at(scout, out[next].number, &entry);
        node = out[next];
        ck_assert(node.cells >> entry & 1);
        struct tp_blocks_place there = tp_scout_place(bench->blocks, &node, entry);
        struct tp_blocks_node before = tp_blocks_node(bench->blocks, tp_blocks_node_at(bench->blocks, at.x / TP_BLOCK_POINT, at.y / TP_BLOCK_POINT));
        bool beside = false; /* of some cell of the node before */
        for (uint32_t bit = 0; bit < TP_BLOCK_CELLS; bit++) {
            struct tp_blocks_place cell = tp_scout_place(bench->blocks, &before, bit);
            uint32_t dx = cell.x > there.x ? cell.x - there.x : there.x - cell.x, dy = cell.y > there.y ? cell.y - there.y : there.y - cell.y;
            beside |= before.cells >> bit & 1 && dx <= TP_BLOCK_POINT && dy <= TP_BLOCK_POINT;
        }
        ck_assert(beside);
    }
}

static enum tp_scout_state run_whole(struct tp_scout *scout, struct tp_test_rng *rng, uint64_t *spent)
{
    enum tp_scout_state state = TP_SCOUT_SEARCHING;
    *spent = 0;
    while (state == TP_SCOUT_SEARCHING) {
        uint64_t portion = rng ? tp_test_between(rng, 1, 40) : UINT32_MAX, units = portion;
        state = tp_scout_run(scout, &units);
        *spent += portion - units;
        ck_assert(state != TP_SCOUT_SEARCHING || units == 0);
    }
    return state;
}

static struct tp_map *random_map(struct tp_test_rng *rng)
{
    uint32_t width = tp_test_between(rng, 1, 260), height = tp_test_between(rng, 1, 260);
    uint32_t percent = tp_test_below(rng, 60);
    return tp_test_percent(rng, 25) ? tp_test_map_random_weighted(rng, width, height, percent, 20)
                                    : tp_test_map_random(rng, width, height, percent);
}

static uint32_t least_of(const uint32_t *distance, const uint32_t *goals, uint32_t count)
{
    uint32_t least = TP_FIELD_UNSEEN;
    for (uint32_t i = 0; i < count; i++)
        least = distance[goals[i]] < least ? distance[goals[i]] : least;
    return least;
}

/* A field of the goals' areas, run as far as drawn. */
static struct tp_field *random_field(struct block_bench *bench, struct tp_test_rng *rng, struct tp_scout_order *order)
{
    uint32_t areas[TP_GOALS_MAX];
    for (uint32_t i = 0; i < order->goal_count; i++)
        areas[i] = tp_blocks_node(bench->blocks, order->goals[i]).area;
    struct tp_field *field = tp_field_take(bench->cache, bench->blocks, order->metric, areas, order->goal_count);
    ck_assert_ptr_nonnull(field);
    order->areas = field;
    order->view = tp_field_see(field, tp_test_percent(rng, 50) ? UINT32_MAX : tp_test_below(rng, 60));
    return field;
}

START_TEST(a_scout_finds_a_way_that_can_be_walked)
{
    struct tp_test_rng rng = tp_test_rng("a_scout_finds_a_way");
    int found = 0, shut = 0;
    for (int round = 0; round < (tp_test_long() ? 1500 : 120); round++) {
        struct block_bench bench;
        block_bench_open(&bench, random_map(&rng), tp_test_percent(&rng, 50) ? TP_BLOCKS_STRAIGHT : TP_BLOCKS_DIAGONAL, CACHE_BYTES);
        if (bench.blocks->nodes == 0) {
            block_bench_close(&bench);
            continue;
        }
        uint32_t goals[TP_GOALS_MAX], count = tp_test_percent(&rng, 70) ? 1 : tp_test_between(&rng, 1, TP_GOALS_MAX);
        for (uint32_t i = 0; i < count; i++)
            goals[i] = tp_test_below(&rng, bench.blocks->nodes);
        struct tp_blocks_place goals_at[TP_GOALS_MAX];
        for (uint32_t i = 0; i < count; i++)
            goals_at[i] = random_place(&bench, &rng, goals[i]);
        struct tp_scout_order order = {.blocks = bench.blocks,
                                       .metric = (enum tp_field_metric)tp_test_below(&rng, 3),
                                       .from = tp_test_below(&rng, bench.blocks->nodes),
                                       .goals = goals,
                                       .goals_at = goals_at,
                                       .goal_count = count,
                                       .below = TP_FIELD_UNSEEN};
        order.at = random_place(&bench, &rng, order.from);
        struct plain_ways ways;
        plain_ways_init(&ways, &bench, PLAIN_NODES, order.metric, &order.from, 1);
        uint32_t least = least_of(ways.distance, goals, count);
        bool led = tp_test_percent(&rng, 50);
        struct tp_field *field = led ? random_field(&bench, &rng, &order) : NULL;
        struct tp_scout *scout = tp_scout_begin(bench.cache, &order);
        ck_assert_ptr_nonnull(scout);
        uint64_t spent, spent_again;
        enum tp_scout_state state = run_whole(scout, &rng, &spent);
        ck_assert_int_eq(state, least != TP_FIELD_UNSEEN ? TP_SCOUT_FOUND : TP_SCOUT_NO_WAY);
        found += state == TP_SCOUT_FOUND;
        shut += state == TP_SCOUT_NO_WAY;
        if (state == TP_SCOUT_FOUND) {
            check_way(&bench, scout, &order);
            /* the plain one goes from middle to middle: at each end, and across its ground, it may be off by a block or so */
            if (!led && !bench.map->weighted)
                ck_assert_uint_le(tp_scout_length(scout), least + least / 2 + 2 * 2 * TP_BLOCK_SIDE * TP_BLOCK_POINT);
            struct tp_scout *again = tp_scout_begin(bench.cache, &order);
            ck_assert_int_eq(run_whole(again, NULL, &spent_again), TP_SCOUT_FOUND);
            ck_assert_uint_eq(spent_again, spent);
            ck_assert_uint_eq(tp_scout_length(again), tp_scout_length(scout));
            for (uint32_t node = 0; node < bench.blocks->nodes; node++)
                if (tp_scout_at(again, node, NULL) != tp_scout_at(scout, node, NULL))
                    ck_abort_msg("node %u", node);
            tp_scout_end(again);
        }
        tp_scout_end(scout);
        tp_field_leave(field);
        plain_ways_fini(&ways);
        block_bench_close(&bench);
    }
    ck_assert_int_gt(found, 0);
    ck_assert_int_gt(shut, 0);
}
END_TEST

START_TEST(only_a_shorter_way_is_looked_for)
{
    struct tp_test_rng rng = tp_test_rng("only_a_shorter_way");
    for (int round = 0; round < (tp_test_long() ? 400 : 40); round++) {
        struct block_bench bench;
        block_bench_open(&bench, tp_test_map_random(&rng, 150, 150, 25), TP_BLOCKS_STRAIGHT, CACHE_BYTES);
        uint32_t goal = tp_test_below(&rng, bench.blocks->nodes);
        struct tp_scout_order order = {.blocks = bench.blocks,
                                       .metric = TP_FIELD_OCTILE,
                                       .from = tp_test_below(&rng, bench.blocks->nodes),
                                       .goals = &goal,
                                       .goal_count = 1,
                                       .below = TP_FIELD_UNSEEN};
        struct tp_blocks_place goal_at = random_place(&bench, &rng, goal);
        order.goals_at = &goal_at;
        order.at = random_place(&bench, &rng, order.from);
        uint64_t spent, spent_below;
        struct tp_scout *scout = tp_scout_begin(bench.cache, &order);
        if (run_whole(scout, &rng, &spent) == TP_SCOUT_FOUND && order.from != goal) {
            uint32_t length = tp_scout_length(scout);
            order.below = length;
            struct tp_scout *shorter = tp_scout_begin(bench.cache, &order);
            if (shorter) { /* NULL: not even the straight line is so short */
                enum tp_scout_state state = run_whole(shorter, &rng, &spent_below);
                ck_assert(state == TP_SCOUT_NO_WAY || (state == TP_SCOUT_FOUND && tp_scout_length(shorter) < length));
            }
            tp_scout_end(shorter);
            order.below = length + length / 50 + 2; /* a straight line may be a few points longer than pieces that are rounded down */
            shorter = tp_scout_begin(bench.cache, &order);
            ck_assert_int_eq(run_whole(shorter, &rng, &spent_below), TP_SCOUT_FOUND);
            ck_assert_uint_lt(tp_scout_length(shorter), order.below);
            ck_assert_uint_le(spent_below, spent + spent / 4 + 8); /* nodes may be entered by other cells */
            tp_scout_end(shorter);
        }
        tp_scout_end(scout);
        block_bench_close(&bench);
    }
}
END_TEST

/* Without room a scout is over, says so, and holds nothing. */
START_TEST(a_scout_without_memory_is_over)
{
    struct tp_test_rng rng = tp_test_rng("a_scout_without_memory");
    int refused = 0;
    for (int pages = 0; pages < 80; pages++) {
        struct block_bench bench;
        block_bench_open(&bench, tp_test_map_random(&rng, 500, 500, 30), TP_BLOCKS_STRAIGHT, (uint64_t)pages * PAGE_BYTES);
        uint32_t goal = bench.blocks->nodes - 1;
        struct tp_scout_order order = {.blocks = bench.blocks, .metric = TP_FIELD_OCTILE, .from = 0, .goals = &goal, .goal_count = 1, .below = TP_FIELD_UNSEEN};
        struct tp_blocks_place goal_at = random_place(&bench, &rng, goal);
        order.goals_at = &goal_at;
        order.at = random_place(&bench, &rng, order.from);
        struct tp_scout *scout = tp_scout_begin(bench.cache, &order);
        uint64_t spent;
        enum tp_scout_state state = scout ? run_whole(scout, &rng, &spent) : TP_SCOUT_NO_MEMORY;
        struct tp_field_cache_stats stats;
        tp_field_cache_stats(bench.cache, &stats);
        if (state == TP_SCOUT_NO_MEMORY)
            ck_assert_uint_lt(stats.bytes, PAGE_BYTES); /* itself */
        ck_assert_uint_le(stats.bytes, (uint64_t)pages * PAGE_BYTES);
        refused += state == TP_SCOUT_NO_MEMORY;
        tp_scout_end(scout);
        tp_field_cache_stats(bench.cache, &stats);
        ck_assert_uint_eq(stats.bytes, 0);
        block_bench_close(&bench);
    }
    ck_assert_int_gt(refused, 0);
    ck_assert_int_lt(refused, 80);
}
END_TEST

static Suite *scout_suite(void)
{
    Suite *suite = suite_create("scout");
    TCase *tests = tcase_create("scout");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_scout_finds_a_way_that_can_be_walked);
    tcase_add_test(tests, only_a_shorter_way_is_looked_for);
    tcase_add_test(tests, a_scout_without_memory_is_over);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_scout", scout_suite);
}
