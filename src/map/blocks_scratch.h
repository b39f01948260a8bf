/* One tile's part of the block graph while it is made: the tables that blocks_tile.c fills from the map or from the part before, and in which
 * blocks_repair.c exchanges one block's nodes for others. Big enough for any tile; one serves all tiles of a version in turn. */
#ifndef TP_MAP_BLOCKS_SCRATCH_H
#define TP_MAP_BLOCKS_SCRATCH_H

#include "map/blocks_internal.h"

enum {
    TP__BLOCK_NODES_MAX = TP_BLOCK_CELLS / 2, /* a chequered block */
    TP__TILE_NODES_MAX = TP__BLOCK_NODES_MAX * TP_BLOCKS_A_TILE,
    TP__TOUCHING_MAX = TP_BLOCKS_A_TILE * (2 * 3 * TP_BLOCK_SIDE + 2), /* a cell on a border has three opposite; and two corners */
    TP__EXCHANGES_MAX = 4, /* blocks exchanged one by one in a tile; where more changed, all nodes are joined anew */
    TP__RING_MAX = 64,     /* nodes around a block that is exchanged, at most */
    TP__AREAS_MAX = TP__TILE_NODES_MAX + TP__EXCHANGES_MAX * (TP__BLOCK_NODES_MAX + TP__RING_MAX),
};

#define TP__SPEED (UINT64_C(1) << 32) /* over weight 1 */
#define TP__NO_AREA UINT16_MAX

struct tp__pair {
    uint16_t one, other;
};

/* Of an area, over its cells. */
struct tp__sum {
    uint32_t cells, x, y;
    uint64_t speed;
};

struct tp__scratch {
    const struct tp_map *map;
    enum tp_blocks_links links;
    uint64_t speed[256]; /* by class of cell, passable ones */
    uint32_t nodes, areas;
    uint16_t first[TP_BLOCKS_A_TILE + 1];
    /* per node, as in a tile's part; with room for a block's more */
    uint64_t cells[TP__TILE_NODES_MAX + TP__BLOCK_NODES_MAX];
    uint8_t place[TP__TILE_NODES_MAX + TP__BLOCK_NODES_MAX][2];
    uint16_t area[TP__TILE_NODES_MAX + TP__BLOCK_NODES_MAX];
    uint16_t weight[TP__TILE_NODES_MAX + TP__BLOCK_NODES_MAX];
    /* per side, as in a tile's part */
    uint64_t side[TP__BLOCK_STRAIGHT];
    uint8_t run_count[TP__BLOCK_STRAIGHT];
    uint16_t runs[TP__BLOCK_STRAIGHT][TP_MAP_TILE / 2];
    struct tp__sum sums[TP__AREAS_MAX]; /* per area */
    uint16_t order[TP__AREAS_MAX];      /* areas by their numbers in the part to be */

    /* What became of the areas of the part before. */
    bool is_regrouped;              /* they are others now, or have other numbers: */
    uint32_t regrouped_from;        /* the nodes before this one are of the same ones */
    uint16_t origin[TP__AREAS_MAX]; /* per area: one of those before whose nodes it has; TP__NO_AREA: it has none */
    uint32_t joined_count;
    struct tp__pair joined[TP__AREAS_MAX + TP__TILE_NODES_MAX]; /* areas before, of which nodes came together */

    /* All nodes joined anew: a node of the same set, never a later one; and which touch. */
    uint16_t parent[TP__AREAS_MAX];
    struct tp__pair touching[TP__TOUCHING_MAX + 1]; /* one is written before it counts */

    /* An area searched for what is left of it: which search came to a node, its block, and the node below it on the search's stack. */
    uint8_t found[TP__TILE_NODES_MAX + TP__BLOCK_NODES_MAX];
    uint8_t block[TP__TILE_NODES_MAX + TP__BLOCK_NODES_MAX];
    uint16_t below[TP__TILE_NODES_MAX + TP__BLOCK_NODES_MAX];
};

/* What a node adds to the sums of its area. */
static inline struct tp__sum tp__node_sum(const struct tp__scratch *scratch, uint32_t block, uint32_t node)
{
    enum { SIDE = TP_BLOCK_SIDE * TP_BLOCK_POINT };
    uint32_t count = tp__count_bits(scratch->cells[node]);
    return (struct tp__sum){
        .cells = count,
        .x = count * (block % TP_BLOCKS_A_SIDE * SIDE + scratch->place[node][0]),
        .y = count * (block / TP_BLOCKS_A_SIDE * SIDE + scratch->place[node][1]),
        .speed = scratch->map->weighted ? count * (TP__SPEED / scratch->weight[node]) : 0,
    };
}

static inline void tp__sum_add(struct tp__sum *to, struct tp__sum what)
{
    to->cells += what.cells;
    to->x += what.x;
    to->y += what.y;
    to->speed += what.speed;
}

static inline void tp__sum_take(struct tp__sum *from, struct tp__sum what)
{
    from->cells -= what.cells;
    from->x -= what.x;
    from->y -= what.y;
    from->speed -= what.speed;
}

/* Appends the components of `cells`, the passable cells of a block of the map's tile, to the nodes. Cost: O(cells). */
void tp__block_split(struct tp__scratch *scratch, const struct tp_map_tile *tile, uint32_t block, uint64_t cells);

/* Puts the components of `cells` in the place of a block's nodes, and keeps areas and sums right, but for the areas' numbers (tp__areas_number)
 * and the runs along the block's own sides.
 * TP__TOO_WIDE: more nodes lie around it than it can tell apart, and the areas are not right any more. Cost: O(nodes of the tile), mostly
 * that of moving them; where a way through the block is lost, a search from both its ends, up to the smaller part that is left. */
enum tp__exchange { TP__SAME, TP__EXCHANGED, TP__TOO_WIDE };
enum tp__exchange tp__block_exchange(struct tp__scratch *scratch, const struct tp_map_tile *tile, uint32_t block, uint64_t cells);

/* Numbers the areas in the order of their first nodes, once all blocks are exchanged; those without cells go. Cost: O(nodes). */
void tp__areas_number(struct tp__scratch *scratch);

/* What became of a tile. */
struct tp__step {
    uint64_t blocks; /* whose cells differ */
    bool is_other;   /* its part is not the one before, and stands in the scratch table too */
    bool is_cut;     /* what hung together before may not any more, within it or across a side */
};

/* The part of a tile of the map, from nothing; NULL when out of memory. Cost: O(its nodes). */
struct tp_blocks_tile *tp__tile_build(struct tp__scratch *scratch, const struct tp_map_tile *tile);

/* The part of a tile that was `before` and had the part `from`: a reference to that part itself where it is the same. NULL when out of memory.
 * Cost: that of copying the part and of tp__block_exchange for each block that differs; where they are many, O(nodes). */
struct tp_blocks_tile *tp__tile_follow(struct tp__scratch *scratch, struct tp_blocks_tile *from, const struct tp_map_tile *before,
                                       const struct tp_map_tile *now, struct tp__step *step);

static inline struct tp_blocks_tile *tp__tile_ref(struct tp_blocks_tile *tile)
{
    atomic_fetch_add_explicit(&tile->refs, 1, memory_order_relaxed);
    return tile;
}

size_t tp__tile_bytes(const struct tp_blocks_tile *tile);

#endif
