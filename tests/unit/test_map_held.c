/* What all versions of maps hold together: random versions and layers that come and go, in any order, against a walk over
 * everything that is reachable from those that are left; a graph's likewise; and threads that leave at the same time. */
#include "map/layer.h"
#include "map/map.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE_MAX = 12, WIDTH = 200, HEIGHT = 130 };

static struct tp_map_held held;

static uint64_t bytes_held(void)
{
    return atomic_load(&held.bytes);
}

static uint64_t versions_held(void)
{
    return atomic_load(&held.versions);
}

static void begin(void)
{
    memset((void *)&held, 0, sizeof held);
}

static struct tp_map *apply(const struct tp_map *base, const struct tp_change *changes, size_t count)
{
    struct tp_map *next;
    size_t bad;
    uint32_t bad_x, bad_y;
    ck_assert_int_eq(tp_map_apply(&next, base, changes, count, &bad, &bad_x, &bad_y), 0);
    return next;
}

/* ---- A walk over what is left ---- */

struct seen {
    const void *block[4096];
    size_t count;
};

static uint64_t once(struct seen *seen, const void *block, uint64_t bytes)
{
    for (size_t i = 0; i < seen->count; i++)
        if (seen->block[i] == block)
            return 0;
    ck_assert_uint_lt(seen->count, sizeof seen->block / sizeof seen->block[0]);
    seen->block[seen->count++] = block;
    return bytes;
}

static uint64_t walk_graph(struct seen *seen, const struct tp_graph *graph)
{
    uint64_t bytes = once(seen, graph, sizeof *graph + tp_graph_pages(graph) * sizeof(void *));
    uint64_t shape = 8 + graph->edges * (sizeof(struct tp_graph_in) + 4) + 2 * (graph->nodes + 1) * 4;
    bytes += once(seen, graph->shape, shape + (graph->x ? 2 * graph->nodes * sizeof(double) : 0));
    for (uint32_t i = 0; i < tp_graph_pages(graph); i++) {
        const struct tp_graph_page *page = graph->pages[i];
        bytes += once(seen, page,
                      sizeof *page + page->edges * (sizeof(struct tp_graph_out) + (page->hides ? 4 : 0)));
    }
    return bytes;
}

static uint64_t walk_blocks(struct seen *seen, const struct tp_blocks *blocks)
{
    size_t tiles = blocks->tiles_x * blocks->tiles_y, squares = blocks->squares_x * blocks->squares_y;
    uint64_t bytes = once(seen, blocks, sizeof *blocks + tiles * sizeof(void *) + (2 * (tiles + 1) + squares + 1) * 4 + squares);
    if (blocks->label) {
        bytes += once(seen, blocks->region, blocks->areas * 4);
        bytes += once(seen, blocks->joined, blocks->first_region[squares] * 4);
        bytes += once(seen, blocks->label, blocks->first_region[squares] * 4);
    }
    for (size_t i = 0; i < tiles; i++) {
        const struct tp_blocks_tile *tile = blocks->tiles[i];
        size_t a_node = 8 + 2 + 2 + (tile->weight ? 2 : 0);
        size_t an_area = sizeof *tile->areas_at + (tile->speed ? 8 : 0);
        bytes += once(seen, tile, sizeof *tile + tile->nodes * a_node + tile->areas * an_area + tile->first_run[4] * 2);
    }
    return bytes;
}

static uint64_t walk(struct tp_map *const *live, size_t count)
{
    struct seen seen = {.count = 0};
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tp_map *map = live[i];
        bytes += once(&seen, map, sizeof *map + map->tiles_x * map->tiles_y * sizeof(void *));
        for (uint32_t t = 0; t < map->tiles_x * map->tiles_y; t++) {
            const struct tp_map_tile *tile = map->tiles[t];
            bytes += once(&seen, tile, sizeof *tile + tile->rows * (8 + tile->columns));
        }
        if (map->graph)
            bytes += walk_graph(&seen, map->graph);
        if (map->blocks)
            bytes += walk_blocks(&seen, map->blocks) + walk_blocks(&seen, map->free_blocks);
    }
    return bytes;
}

/* ---- Grids and layers ---- */

static struct tp_map *counted_map(void)
{
    struct tp_map *map = tp_test_map_free(WIDTH, HEIGHT);
    ck_assert_uint_eq(bytes_held(), 0);
    tp_map_count_in(map, &held);
    ck_assert_uint_eq(versions_held(), 1);
    tp_map_count_in(map, &held); /* a second time is once */
    ck_assert_uint_eq(versions_held(), 1);
    return map;
}

START_TEST(test_by_hand)
{
    struct tp_map *first = counted_map();
    uint64_t base = bytes_held();
    ck_assert_uint_eq(base, tp_map_bytes(first));
    struct tp_change cells[2] = {{.kind = TP_CHANGE_CELL, .class_to = '@', .x = 1, .y = 1},
                                 {.kind = TP_CHANGE_CELL, .class_to = '@', .x = 199, .y = 129}};
    struct tp_map *second = apply(first, cells, 2);
    /* a version with its table of 4 x 3 tiles, a whole tile, and that of the corner: 8 columns, 2 rows */
    uint64_t more =
        sizeof *first + 12 * sizeof(void *) + 2 * sizeof(struct tp_map_tile) + 64 * (8 + 64) + 2 * (8 + 8);
    ck_assert_uint_eq(bytes_held(), base + more);
    ck_assert_uint_eq(versions_held(), 2);
    /* the old one is held by one more reader: nothing goes until that one leaves, then its two tiles */
    tp_map_ref(first);
    tp_map_unref(first);
    ck_assert_uint_eq(bytes_held(), base + more);
    tp_map_unref(first);
    ck_assert_uint_eq(bytes_held(), base);
    ck_assert_uint_eq(versions_held(), 1);
    tp_map_unref(second);
    ck_assert_uint_eq(bytes_held(), 0);
    ck_assert_uint_eq(versions_held(), 0);
}
END_TEST

/* A refused batch leaves nothing behind. */
START_TEST(test_refused)
{
    struct tp_map *first = counted_map(), *next;
    uint64_t base = bytes_held();
    struct tp_change cells[2] = {{.kind = TP_CHANGE_CELL, .class_to = '@', .x = 1, .y = 1},
                                 {.kind = TP_CHANGE_CELL, .class_to = '@', .x = WIDTH, .y = 1}};
    size_t bad;
    uint32_t x, y;
    ck_assert_int_eq(tp_map_apply(&next, first, cells, 2, &bad, &x, &y), TP_ERR_OUT_OF_RANGE);
    ck_assert_uint_eq(bytes_held(), base);
    ck_assert_uint_eq(versions_held(), 1);
    tp_map_unref(first);
    ck_assert_uint_eq(bytes_held(), 0);
}
END_TEST

static struct tp_layer_kind kind_of(struct tp_test_rng *rng)
{
    struct tp_layer_kind kind = {.size = tp_test_between(rng, 1, 4)};
    tp_profile_init_movingai(&kind.profile);
    if (kind.size == 1 && tp_test_percent(rng, 50))
        kind.profile.weight['S'] = tp_test_percent(rng, 50) ? 0 : 3;
    kind.has_blocks = tp_test_percent(rng, 60);
    kind.links = tp_test_percent(rng, 50) ? TP_BLOCKS_STRAIGHT : TP_BLOCKS_DIAGONAL;
    return kind;
}

/* What is counted is what can be found. */
static void check_held(struct tp_map *const *live, size_t count, int step)
{
    ck_assert_msg(bytes_held() == walk(live, count), "step %d: %llu bytes counted, %llu found", step,
                  (unsigned long long)bytes_held(), (unsigned long long)walk(live, count));
    ck_assert_uint_eq(versions_held(), count);
}

static void drop_all(struct tp_map **live, size_t count)
{
    while (count)
        tp_map_unref(live[--count]);
    tp_map_held_end_gone(&held);
    ck_assert_uint_eq(bytes_held(), 0);
    ck_assert_uint_eq(versions_held(), 0);
}

static void random_changes(struct tp_test_rng *rng, struct tp_change *changes, size_t count)
{
    static const char classes[] = ".@ST";
    for (size_t i = 0; i < count; i++) {
        changes[i] = (struct tp_change){.kind = TP_CHANGE_RECT,
                                        .class_to = (uint8_t)classes[tp_test_below(rng, 4)],
                                        .x = tp_test_below(rng, WIDTH - 20),
                                        .y = tp_test_below(rng, HEIGHT - 20),
                                        .width = tp_test_between(rng, 1, 20),
                                        .height = tp_test_between(rng, 1, 20)};
    }
}

/* Chains of versions, each with one layer that follows; both are dropped in any order: freed at once, or put aside. */
START_TEST(test_random)
{
    held.keeps_gone = _i;
    struct tp_test_rng rng = tp_test_rng("layers");
    struct tp_layer_kind kind = kind_of(&rng);
    struct tp_map *live[2 * LIVE_MAX + 2], *tip = counted_map(), *layer;
    ck_assert_int_eq(tp_layer_build(&layer, tip, &kind), 0);
    size_t count = 0;
    int steps = tp_test_long() ? 2000 : 300;
    live[count++] = tip;
    live[count++] = layer;
    for (int step = 0; step < steps; step++) {
        if (count < 2 * LIVE_MAX && tp_test_percent(&rng, 55)) {
            struct tp_change changes[3];
            size_t named = tp_test_below(&rng, 4);
            random_changes(&rng, changes, named);
            struct tp_map *next = apply(tip, changes, named), *next_layer;
            ck_assert_int_eq(tp_layer_follow(&next_layer, layer, tip, next, &kind), 0);
            live[count++] = tip = next;
            live[count++] = layer = next_layer;
        } else if (count > 2) { /* one that is not the newest */
            size_t i = tp_test_below(&rng, (uint32_t)count);
            if (live[i] == tip || live[i] == layer)
                continue;
            uint64_t before = bytes_held();
            tp_map_unref(live[i]);
            live[i] = live[--count];
            if (held.keeps_gone)
                ck_assert_uint_eq(bytes_held(), before); /* who lets go frees nothing */
            tp_map_held_end_gone(&held);
        }
        check_held(live, count, step);
    }
    drop_all(live, count);
}
END_TEST

/* ---- Graphs ---- */

START_TEST(test_graph)
{
    enum { NODES = 1000, EDGES = 3000 };
    struct tp_test_rng rng = tp_test_rng("graph");
    static struct tp_graph_edge edges[EDGES];
    static double x[NODES], y[NODES];
    for (int i = 0; i < NODES; i++) {
        x[i] = tp_test_below(&rng, 1000);
        y[i] = tp_test_below(&rng, 1000);
    }
    for (int i = 0; i < EDGES; i++)
        edges[i] = (struct tp_graph_edge){tp_test_below(&rng, NODES), tp_test_below(&rng, NODES),
                                          tp_test_between(&rng, 1, 9)};
    bool placed = tp_test_percent(&rng, 50);
    struct tp_map *live[LIVE_MAX + 1], *tip = tp_test_map_graph(NODES, edges, EDGES, placed ? x : NULL, placed ? y : NULL);
    size_t count = 0;
    tp_map_count_in(tip, &held);
    live[count++] = tip;
    for (int step = 0; step < 500; step++) {
        if (count < LIVE_MAX && tp_test_percent(&rng, 55)) {
            struct tp_change change[2] = {
                {.kind = TP_CHANGE_EDGE, .x = tp_test_below(&rng, EDGES), .y = tp_test_below(&rng, 3)},
                {.kind = TP_CHANGE_NODE, .x = tp_test_below(&rng, NODES), .y = tp_test_below(&rng, 2)}};
            live[count++] = tip = apply(tip, change, 2);
        } else if (count > 1) {
            size_t i = tp_test_below(&rng, (uint32_t)count);
            if (live[i] == tip)
                continue;
            tp_map_unref(live[i]);
            live[i] = live[--count];
        }
        check_held(live, count, step);
    }
    drop_all(live, count);
}
END_TEST

/* ---- Threads ---- */

enum { THREADS = 4, CHAIN = 200 };

static void *leave(void *chain)
{
    struct tp_map **map = chain;
    for (int i = 0; i < CHAIN; i++)
        tp_map_unref(map[i]);
    return NULL;
}

/* Each version has a reader on every thread, and all leave at once: whoever is last gives back the same. */
START_TEST(test_threads)
{
    static struct tp_map *chain[CHAIN];
    struct tp_test_rng rng = tp_test_rng("threads");
    struct tp_map *tip = chain[0] = counted_map();
    for (int i = 1; i < CHAIN; i++) {
        struct tp_change change;
        random_changes(&rng, &change, 1);
        tip = chain[i] = apply(tip, &change, 1);
    }
    uint64_t newest = walk(&tip, 1);
    tp_map_ref(tip);
    for (int i = 0; i < CHAIN; i++)
        for (int j = 1; j < THREADS; j++)
            tp_map_ref(chain[i]);
    ck_assert_uint_gt(bytes_held(), newest);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, leave, chain), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    ck_assert_uint_eq(bytes_held(), newest);
    ck_assert_uint_eq(versions_held(), 1);
    tp_map_unref(tip);
    ck_assert_uint_eq(bytes_held(), 0);
}
END_TEST

static Suite *map_held_suite(void)
{
    Suite *suite = suite_create("map_held");
    TCase *all = tcase_create("held");
    tcase_add_checked_fixture(all, begin, NULL);
    tcase_add_test(all, test_by_hand);
    tcase_add_test(all, test_refused);
    tcase_add_loop_test(all, test_random, 0, 2);
    tcase_add_test(all, test_graph);
    tcase_add_test(all, test_threads);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return tp_test_main("test_map_held", map_held_suite);
}
