/* The learned heuristic of a session: for each state, by how much its h was raised above the domain's own.
 *
 * Kept as increases in tiles of 8x8, sparse: memory follows what was learned. Forgetting all is O(1): h belongs to one
 * goal, and to a map whose costs did not fall.
 * What it refuses: an increase past the byte cap of its tiles; the state keeps the h it had. Who calls it: the engines that
 * learn (learn.c, lookahead.c, node/nodes.c) write; every h that a search asks for reads.
 */
#ifndef TP_NODE_LEARNED_H
#define TP_NODE_LEARNED_H

#include "node/tiles.h"

struct tp_learned_tile {
    struct tp_tile tile;
    uint64_t increase[TP_TILE_CELLS]; /* cost units */
};

static inline void tp_learned_init(struct tp_tiles *learned, struct tp_pool *pool, uint32_t width, uint32_t height,
                                   uint64_t *bytes, uint64_t bytes_max)
{
    tp_tiles_init(learned, pool, width, height, sizeof(struct tp_learned_tile), UINT32_MAX, bytes, bytes_max);
    tp_tiles_begin(learned);
}

/* The increase of a state's h; 0 where nothing was learned. */
static inline uint64_t tp_learned_at(const struct tp_tiles *learned, uint32_t x, uint32_t y)
{
    const struct tp_learned_tile *tile = (const struct tp_learned_tile *)tp_tiles_find(learned, x, y);
    return tile ? tile->increase[tp_tile_slot(x, y)] : 0;
}

/* Sets the increase; false at the cap (the state keeps the h it had, which is a valid one). Cost: O(1). */
bool tp_learned_set(struct tp_tiles *learned, uint32_t x, uint32_t y, uint64_t increase);

#endif
