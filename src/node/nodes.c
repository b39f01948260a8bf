#include "node/nodes.h"

#include <string.h>

void tp_nodes_init(struct tp_nodes *nodes, const struct tp_belief *belief, uint32_t width, uint32_t height, bool wide,
                   bool listed, struct tp_pool *pool, uint32_t stamp_max, uint64_t *bytes, uint64_t bytes_max)
{
    *nodes = (struct tp_nodes){.belief = belief, .wide = wide, .listed = listed};
    tp_tiles_init(&nodes->tiles, pool, width, height,
                  listed ? TP_NODE_TILE_LISTED_BYTES : wide ? TP_NODE_TILE_WIDE_BYTES : TP_NODE_TILE_NARROW_BYTES,
                  stamp_max, bytes, bytes_max);
}

void tp__nodes_read_belief(const struct tp_nodes *nodes, struct tp_node_tile *tile, uint32_t x, uint32_t y)
{
    uint32_t rows[TP_NODE_ROWS];
    int64_t x0 = (int64_t)(x & ~(uint32_t)(TP_TILE_SIDE - 1)), y0 = (int64_t)(y & ~(uint32_t)(TP_TILE_SIDE - 1));
    tp_belief_passable_block(nodes->belief, x0 - TP_NODE_MARGIN, y0 - TP_NODE_MARGIN, TP_NODE_ROWS, rows);
    for (int i = 0; i < TP_NODE_ROWS; i++)
        tile->passable[i] = (uint16_t)rows[i];
    tile->seen = nodes->belief->stamp;
}

/* 2012, Algorithm 3, lines 5 to 7, for a tile last used by search `stamp`. False when the purse ran dry over it: more of its
 * states may want an update. */
static bool adapt(struct tp_nodes *nodes, const struct tp_node_tile *tile, uint32_t stamp, uint32_t x,
                  uint32_t y)
{
    struct tp_nodes_adaptive *adaptive = nodes->adaptive;
    if (stamp >= adaptive->room || !adaptive->pathcost[stamp])
        return true;
    uint64_t pathcost = adaptive->pathcost[stamp];
    uint32_t x0 = x & ~(uint32_t)(TP_TILE_SIDE - 1), y0 = y & ~(uint32_t)(TP_TILE_SIDE - 1);
    for (uint32_t slot = 0; slot < TP_TILE_CELLS; slot++) {
        uint64_t g = tp_nodes_g(nodes, tile, slot);
        if (g >= pathcost)
            continue; /* not generated, or nothing to raise */
        uint32_t cx = x0 + slot % TP_TILE_SIDE, cy = y0 + slot / TP_TILE_SIDE;
        uint64_t h = adaptive->h(adaptive->context, cx, cy);
        if (pathcost - g <= h + tp_learned_at(adaptive->learned, cx, cy))
            continue;
        if (!adaptive->purse)
            return false;
        if (!tp_learned_set(adaptive->learned, cx, cy, pathcost - g - h))
            continue;
        adaptive->updates++;
        if (!--adaptive->purse)
            return false;
    }
    return true;
}

/* Rewrites a tile's g for a search of another pathcost, so that it teaches what it taught before. */
static void restate(const struct tp_nodes *nodes, struct tp_node_tile *tile, uint64_t pathcost,
                    uint64_t restated)
{
    for (uint32_t slot = 0; slot < TP_TILE_CELLS; slot++) {
        uint64_t g = tp_nodes_g(nodes, tile, slot);
        uint64_t other = g < pathcost ? g + (restated - pathcost) : UINT64_MAX;
        tp_nodes_set_g(nodes, tile, slot, nodes->wide || other < UINT32_MAX ? other : UINT64_MAX);
    }
}

/* Before the stamp wraps and former searches can no longer be told apart: all tiles become those of one search, the first,
 * whose pathcost is the largest of theirs. Nothing is learned here, so that the rule takes from each tile what it would
 * have taken without, and when. (Lost is only what a narrow store can't hold beside a pathcost beyond 32 bits.) */
static void restate_all(struct tp_nodes *nodes)
{
    struct tp_tiles *tiles = &nodes->tiles;
    struct tp_nodes_adaptive *adaptive = nodes->adaptive;
    uint64_t largest = 0;
    for (uint32_t stamp = 0; stamp < adaptive->room; stamp++)
        largest = adaptive->pathcost[stamp] > largest ? adaptive->pathcost[stamp] : largest;
    for (size_t page = 0; tiles->top && page < (size_t)tiles->pages_x * tiles->pages_y; page++)
        for (uint32_t i = 0; tiles->top[page] && i < TP_PAGE_TILES; i++) {
            struct tp_tile *tile = tiles->top[page][i];
            if (!tile || !tile->stamp)
                continue;
            uint64_t pathcost = tile->stamp < adaptive->room ? adaptive->pathcost[tile->stamp] : 0;
            restate(nodes, (struct tp_node_tile *)tile, pathcost, largest);
            tile->stamp = 1;
        }
    memset(adaptive->pathcost, 0, adaptive->room * sizeof adaptive->pathcost[0]);
    adaptive->pathcost[1] = largest;
    tiles->stamp = 1;
}

void tp_nodes_begin(struct tp_nodes *nodes)
{
    if (nodes->adaptive && nodes->adaptive->pathcost && nodes->tiles.stamp == nodes->tiles.stamp_max)
        restate_all(nodes);
    tp_tiles_begin(&nodes->tiles);
}

struct tp_node_tile *tp_nodes_touch_slow(struct tp_nodes *nodes, uint32_t x, uint32_t y)
{
    bool fresh;
    uint32_t stamp;
    struct tp_node_tile *tile = (struct tp_node_tile *)tp_tiles_touch(&nodes->tiles, x, y, &fresh, &stamp);
    if (nodes->adaptive)
        nodes->adaptive->unpaid = false;
    if (tile && fresh) {
        if (nodes->adaptive && stamp && !adapt(nodes, tile, stamp, x, y)) {
            tile->tile.stamp = stamp; /* it stays of that search */
            nodes->adaptive->unpaid = true;
            return NULL;
        }
        memset(tile->meta, 0, sizeof tile->meta);
        memset(&tile->g, 0xff, nodes->wide ? sizeof tile->g.wide : sizeof tile->g.narrow);
        if (!nodes->listed)
            tp__nodes_read_belief(nodes, tile, x, y);
    }
    return tile;
}
