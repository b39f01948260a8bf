#include "node/nodes.h"

#include <string.h>

void tp_nodes_init(struct tp_nodes *nodes, const struct tp_map *map, bool wide, struct tp_pool *pool,
                   uint32_t stamp_max, uint64_t *bytes, uint64_t bytes_max)
{
    nodes->map = map;
    nodes->wide = wide;
    tp_tiles_init(&nodes->tiles, pool, map->width, map->height,
                  wide ? TP_NODE_TILE_WIDE_BYTES : TP_NODE_TILE_NARROW_BYTES, stamp_max, bytes, bytes_max);
}

void tp__nodes_read_map(const struct tp_nodes *nodes, struct tp_node_tile *tile, uint32_t x, uint32_t y)
{
    uint32_t rows[TP_NODE_ROWS];
    int64_t x0 = (int64_t)(x & ~(uint32_t)(TP_TILE_SIDE - 1)), y0 = (int64_t)(y & ~(uint32_t)(TP_TILE_SIDE - 1));
    tp_map_passable_block(nodes->map, x0 - TP_NODE_MARGIN, y0 - TP_NODE_MARGIN, TP_NODE_ROWS, rows);
    for (int i = 0; i < TP_NODE_ROWS; i++)
        tile->passable[i] = (uint16_t)rows[i];
    tile->seen = (uint32_t)nodes->map->version;
}

struct tp_node_tile *tp_nodes_touch_slow(struct tp_nodes *nodes, uint32_t x, uint32_t y)
{
    bool fresh;
    struct tp_node_tile *tile = (struct tp_node_tile *)tp_tiles_touch(&nodes->tiles, x, y, &fresh);
    if (tile && fresh) {
        memset(tile->meta, 0, sizeof tile->meta);
        memset(&tile->g, 0xff, nodes->wide ? sizeof tile->g.wide : sizeof tile->g.narrow);
        tp__nodes_read_map(nodes, tile, x, y);
    }
    return tile;
}
