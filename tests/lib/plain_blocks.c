#include "tests/lib/plain_blocks.h"

#include <stdlib.h>
#include <string.h>

void block_bench_open(struct block_bench *bench, struct tp_map *map, enum tp_blocks_links links,
                      uint64_t bytes_max)
{
    bench->map = map;
    tp_pool_init(&bench->pool, NULL);
    bench->cache = tp_field_cache_open(&bench->pool, bytes_max);
    ck_assert_ptr_nonnull(bench->cache);
    ck_assert_int_eq(tp_blocks_build(&bench->blocks, bench->map, links), 0);
}

void block_bench_close(struct block_bench *bench)
{
    tp_field_cache_close(bench->cache);
    ck_assert_uint_eq(bench->pool.used_bytes, 0);
    tp_pool_fini(&bench->pool);
    tp_blocks_unref(bench->blocks);
    tp_map_unref(bench->map);
}

static uint32_t edge(enum tp_field_metric metric, const struct tp_blocks_node *a,
                     const struct tp_blocks_node *b)
{
    uint32_t points = tp_field_weigh(tp_field_distance(metric, a->at, b->at), a->weight + b->weight);
    return points ? points : 1;
}

void plain_ways_init(struct plain_ways *ways, const struct block_bench *bench, enum plain_level level,
                     enum tp_field_metric metric, const uint32_t *roots, uint32_t count)
{
    const struct tp_blocks *blocks = bench->blocks;
    struct tp_blocks_node out[TP_BLOCKS_NEIGHBOURS_MAX];
    ways->count = level == PLAIN_AREAS ? blocks->areas : blocks->nodes;
    ways->settled = 0;
    ways->distance = malloc(ways->count * sizeof *ways->distance);
    ways->order = malloc(ways->count * sizeof *ways->order);
    bool *done = calloc(ways->count, sizeof *done);
    ck_assert(ways->distance && ways->order && done);
    memset(ways->distance, 0xff, ways->count * sizeof *ways->distance);
    for (uint32_t i = 0; i < count; i++)
        ways->distance[roots[i]] = 0;
    for (;;) {
        uint32_t best = TP_BLOCKS_NONE;
        for (uint32_t i = 0; i < ways->count; i++)
            if (!done[i] && ways->distance[i] != TP_FIELD_UNSEEN &&
                (best == TP_BLOCKS_NONE || ways->distance[i] < ways->distance[best]))
                best = i;
        if (best == TP_BLOCKS_NONE)
            break;
        done[best] = true;
        ways->order[ways->settled++] = best;
        struct tp_blocks_node from =
            level == PLAIN_AREAS ? tp_blocks_area(blocks, best) : tp_blocks_node(blocks, best);
        uint32_t neighbours = level == PLAIN_AREAS ? tp_blocks_area_neighbours(blocks, best, out)
                                                   : tp_blocks_neighbours(blocks, best, out);
        for (uint32_t i = 0; i < neighbours; i++) {
            uint32_t to = ways->distance[best] + edge(metric, &from, &out[i]);
            if (to < ways->distance[out[i].number])
                ways->distance[out[i].number] = to;
        }
    }
    free(done);
}

void plain_ways_fini(struct plain_ways *ways)
{
    free(ways->distance);
    free(ways->order);
}
