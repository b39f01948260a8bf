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

/* 2012, Algorithm 3, lines 5 to 7, for a tile last used by search `stamp`. */
static void adapt(struct tp_nodes *nodes, const struct tp_node_tile *tile, uint32_t stamp, uint32_t x, uint32_t y)
{
    struct tp_nodes_adaptive *adaptive = nodes->adaptive;
    if (stamp >= adaptive->room || !adaptive->pathcost[stamp])
        return;
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
        adaptive->updates += tp_learned_set(adaptive->learned, cx, cy, pathcost - g - h);
    }
}

/* Before the stamp wraps and former searches can no longer be told apart. */
static void adapt_all(struct tp_nodes *nodes)
{
    const struct tp_tiles *tiles = &nodes->tiles;
    for (uint32_t page_y = 0; tiles->top && page_y < tiles->pages_y; page_y++)
        for (uint32_t page_x = 0; page_x < tiles->pages_x; page_x++) {
            struct tp_tile **page = tiles->top[(size_t)page_y * tiles->pages_x + page_x];
            for (uint32_t i = 0; page && i < TP_PAGE_TILES; i++) {
                uint32_t tx = (page_x << tiles->page_bits_x) + (i & ((1u << tiles->page_bits_x) - 1));
                uint32_t ty = (page_y << tiles->page_bits_y) + (i >> tiles->page_bits_x);
                if (page[i] && page[i]->stamp)
                    adapt(nodes, (const struct tp_node_tile *)page[i], page[i]->stamp, tx << TP_TILE_BITS,
                          ty << TP_TILE_BITS);
            }
        }
    memset(nodes->adaptive->pathcost, 0, nodes->adaptive->room * sizeof nodes->adaptive->pathcost[0]);
}

void tp_nodes_begin(struct tp_nodes *nodes)
{
    if (nodes->adaptive && nodes->adaptive->pathcost && nodes->tiles.stamp == nodes->tiles.stamp_max)
        adapt_all(nodes);
    tp_tiles_begin(&nodes->tiles);
}

struct tp_node_tile *tp_nodes_touch_slow(struct tp_nodes *nodes, uint32_t x, uint32_t y)
{
    bool fresh;
    uint32_t stamp;
    struct tp_node_tile *tile = (struct tp_node_tile *)tp_tiles_touch(&nodes->tiles, x, y, &fresh, &stamp);
    if (tile && fresh) {
        if (nodes->adaptive && stamp)
            adapt(nodes, tile, stamp, x, y);
        memset(tile->meta, 0, sizeof tile->meta);
        memset(&tile->g, 0xff, nodes->wide ? sizeof tile->g.wide : sizeof tile->g.narrow);
        if (!nodes->listed)
            tp__nodes_read_belief(nodes, tile, x, y);
    }
    return tile;
}
