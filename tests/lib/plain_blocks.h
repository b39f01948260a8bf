/* What tests of the guide stand on: a map's block graph with a cache of fields, and the shortest ways over it by a plain Dijkstra, which
 * looks all nodes through for the next.
 *
 * What it refuses: nothing; what it can't do fails the running test. Who calls it: tests of one thread.
 */
#ifndef TESTS_LIB_PLAIN_BLOCKS_H
#define TESTS_LIB_PLAIN_BLOCKS_H

#include "base/pool.h"
#include "guide/field.h"
#include "tests/lib/harness.h"

struct block_bench {
    struct tp_pool pool;
    struct tp_field_cache *cache;
    struct tp_map *map;
    struct tp_blocks *blocks;
};

/* Takes the map. */
void block_bench_open(struct block_bench *bench, struct tp_map *map, enum tp_blocks_links links,
                      uint64_t bytes_max);

/* All fields must have been left: every byte is back in the pool. */
void block_bench_close(struct block_bench *bench);

enum plain_level { PLAIN_NODES, PLAIN_AREAS };

/* The ways from some nodes, or areas, to all others. */
struct plain_ways {
    uint32_t count, settled;
    uint32_t *distance; /* points; TP_FIELD_UNSEEN: no way leads there */
    uint32_t *order;    /* by (distance, number), `settled` of them */
};
void plain_ways_init(struct plain_ways *ways, const struct block_bench *bench, enum plain_level level,
                     enum tp_field_metric metric, const uint32_t *roots, uint32_t count);
void plain_ways_fini(struct plain_ways *ways);

#endif
