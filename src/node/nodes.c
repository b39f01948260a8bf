#include "node/nodes.h"

#include "base/check.h"

#include <string.h>

#define EIGHT(value) value, value, value, value, value, value, value, value
const struct tp_node_tile tp__node_untouched = {
    .g.wide = {EIGHT(EIGHT(UINT64_MAX))},
};

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

/* ---- Searches that are remembered ---- */

static struct tp_nodes_former *former(const struct tp_nodes_adaptive *adaptive, uint32_t stamp)
{
    uint32_t x = stamp % TP_TILE_SIDE, y = stamp / TP_TILE_SIDE;
    struct tp_nodes_former_tile *tile = (struct tp_nodes_former_tile *)tp_tiles_find(&adaptive->former, x, y);
    return tile ? &tile->former[tp_tile_slot(x, y)] : NULL;
}

void tp_nodes_adapt(struct tp_nodes *nodes, struct tp_nodes_adaptive *adaptive)
{
    const struct tp_tiles *tiles = &nodes->tiles;
    uint64_t pages = (uint64_t)tiles->pages_x * tiles->pages_y;
    nodes->adaptive = adaptive;
    /* a stamp for each tile, one for a search without, and 0 */
    tp_tiles_init(&adaptive->former, tiles->pool, TP_TILE_SIDE, (uint32_t)((pages * tp_tiles_page_tiles(tiles) + 2) / TP_TILE_SIDE + 1),
                  sizeof(struct tp_nodes_former_tile), UINT32_MAX, tiles->bytes, tiles->bytes_max);
    tp_tiles_begin(&adaptive->former);
}

uint64_t tp_nodes_taught(const struct tp_nodes *nodes, uint32_t stamp)
{
    const struct tp_nodes_former *search = stamp ? former(nodes->adaptive, stamp) : NULL;
    return search && search->era == nodes->adaptive->era ? search->pathcost : 0;
}

void tp_nodes_teach(struct tp_nodes *nodes, uint64_t pathcost)
{
    struct tp_nodes_former *search = former(nodes->adaptive, nodes->tiles.stamp);
    TP_CHECK(nodes->tiles.stamp && search);
    search->pathcost = pathcost;
    search->era = nodes->adaptive->era;
}

void tp_nodes_unteach(struct tp_nodes_adaptive *adaptive)
{
    adaptive->era++;
}

/* Makes room for a stamp more than so many tiles. */
static bool make_room(struct tp_nodes_adaptive *adaptive, uint32_t tiles)
{
    bool fresh;
    uint32_t unused;
    if (adaptive->room > tiles + 1)
        return true;
    if (!tp_tiles_touch(&adaptive->former, 0, adaptive->room / TP_TILE_SIDE, &fresh, &unused))
        return false;
    adaptive->room += TP_TILE_CELLS;
    return true;
}

static void give_back(struct tp_nodes_adaptive *adaptive, uint32_t stamp)
{
    former(adaptive, stamp)->next = adaptive->unborne;
    adaptive->unborne = stamp;
}

/* A tile passes from one search to another; 0: from none. */
static void pass_on(struct tp_nodes_adaptive *adaptive, uint32_t from, uint32_t to)
{
    former(adaptive, to)->tiles++;
    if (!from)
        adaptive->tiles++;
    else if (!--former(adaptive, from)->tiles)
        give_back(adaptive, from);
}

bool tp_nodes_begin(struct tp_nodes *nodes)
{
    struct tp_nodes_adaptive *adaptive = nodes->adaptive;
    uint32_t *stamp = &nodes->tiles.stamp;
    if (!adaptive) {
        tp_tiles_begin(&nodes->tiles);
        return true;
    }
    if (*stamp && !former(adaptive, *stamp)->tiles)
        give_back(adaptive, *stamp);
    *stamp = 0;
    if (!make_room(adaptive, adaptive->tiles)) /* the first time: later there is room */
        return false;
    *stamp = adaptive->unborne;
    if (*stamp)
        adaptive->unborne = former(adaptive, *stamp)->next;
    else
        *stamp = ++adaptive->stamps;
    TP_CHECK(*stamp < adaptive->room);
    *former(adaptive, *stamp) = (struct tp_nodes_former){0};
    return true;
}

void tp_nodes_fini(struct tp_nodes *nodes)
{
    tp_tiles_empty(&nodes->tiles);
    if (nodes->adaptive)
        tp_tiles_empty(&nodes->adaptive->former);
}

/* ---- What they teach ---- */

/* 2012, Algorithm 3, lines 5 to 7, for a tile last used by search `stamp`. False when the purse ran dry over it: more of its
 * states may want an update. */
static bool adapt(struct tp_nodes *nodes, const struct tp_node_tile *tile, uint32_t stamp, uint32_t x,
                  uint32_t y)
{
    struct tp_nodes_adaptive *adaptive = nodes->adaptive;
    uint64_t pathcost = tp_nodes_taught(nodes, stamp);
    uint32_t x0 = x & ~(uint32_t)(TP_TILE_SIDE - 1), y0 = y & ~(uint32_t)(TP_TILE_SIDE - 1);
    for (uint32_t slot = 0; pathcost && slot < TP_TILE_CELLS; slot++) {
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

struct tp_node_tile *tp_nodes_touch_slow(struct tp_nodes *nodes, uint32_t x, uint32_t y)
{
    bool fresh;
    uint32_t stamp;
    struct tp_node_tile *tile = (struct tp_node_tile *)tp_tiles_touch(&nodes->tiles, x, y, &fresh, &stamp);
    if (nodes->adaptive)
        nodes->adaptive->unpaid = false;
    if (tile && fresh) {
        if (!stamp)
            for (int i = 0; i < 4; i++)
                tile->beside[i] = tp_node_untouched();
        if (nodes->adaptive && !stamp && !make_room(nodes->adaptive, nodes->adaptive->tiles + 1)) {
            tile->tile.stamp = 0;
            return NULL;
        }
        if (nodes->adaptive && !adapt(nodes, tile, stamp, x, y)) {
            tile->tile.stamp = stamp; /* it stays of that search */
            nodes->adaptive->unpaid = true;
            return NULL;
        }
        if (nodes->adaptive)
            pass_on(nodes->adaptive, stamp, nodes->tiles.stamp);
        memset(tile->meta, 0, sizeof tile->meta);
        memset(&tile->g, 0xff, nodes->wide ? sizeof tile->g.wide : sizeof tile->g.narrow);
        if (!nodes->wide)
            memset(tile->g.marks, 0, sizeof tile->g.marks);
        if (!nodes->listed)
            tp__nodes_read_belief(nodes, tile, x, y);
    }
    return tile;
}
