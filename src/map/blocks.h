/* The block graph: a grid seen from afar, as 8x8 blocks of cells split into the parts that hang together.
 *
 * What it is: two levels of one abstraction of one map version, for one way of connecting. Level 1: each block of 8x8 cells is
 * split into its connected components; each is a *node*, at the mean of its cells. Level 2: each tile of the map (64x64 cells) is
 * split into the components of its nodes; each is an *area*, at the mean of its cells. Two nodes (areas) are neighbours where a
 * legal move crosses from one to the other. Neighbours are worked out from the nodes' cells when asked for; nothing but the
 * components is stored. A tile's part depends on that tile's passable bits (and weights) alone, so that versions share the parts of
 * the tiles they share: copy on write, like the map (map/map.h), and a batch makes anew only the blocks that it touches.
 * Never changes once made; any number of threads may read it.
 * What it refuses: graphs, vehicles and puzzles (they have no blocks).
 * Who calls it: the thread that makes versions builds and follows; searches read.
 *
 * Memory: 12 bytes a node (8 its cells, 2 its place, 2 its area; 2 more of weight on weighted maps), 16 an area and 8 a region with its label (8 more
 * on weighted maps), 2 a run of cells along a tile's side, and 250 a tile with its share of the tables: 0.26 bytes a cell of open ground,
 * 0.95 in a maze of one cell's width.
 */
#ifndef TP_MAP_BLOCKS_H
#define TP_MAP_BLOCKS_H

#include "map/map.h"
#include "map/walk.h"

enum {
    TP_BLOCK_BITS = 3,
    TP_BLOCK_SIDE = 1 << TP_BLOCK_BITS,               /* cells on a block's side */
    TP_BLOCK_CELLS = TP_BLOCK_SIDE * TP_BLOCK_SIDE,   /* a block's cells: bit y * 8 + x of a mask */
    TP_BLOCKS_A_SIDE = TP_MAP_TILE / TP_BLOCK_SIDE,   /* of a tile */
    TP_BLOCKS_A_TILE = TP_BLOCKS_A_SIDE * TP_BLOCKS_A_SIDE,
    TP_BLOCK_POINT = 16,                              /* a place is given in sixteenths of a cell */
    TP_BLOCKS_NEIGHBOURS_MAX = 192,                   /* of one node or area, at most; further ones are left out */
};

/* Tiles on the side of a square, by which labels are made. A test makes them smaller. */
#ifndef TP_BLOCKS_SQUARE
#define TP_BLOCKS_SQUARE 16
#endif

/* A node, or an area: its number in its blocks, or none. */
#define TP_BLOCKS_NONE UINT32_MAX

/* How cells of a block hang together: by straight moves, which is what every corner rule but ALWAYS amounts to, or by diagonal
 * ones as well (8 and 16 neighbours with corners ALWAYS). */
enum tp_blocks_links { TP_BLOCKS_STRAIGHT, TP_BLOCKS_DIAGONAL };

static inline enum tp_blocks_links tp_blocks_links_of(enum tp_neighbours neighbours, enum tp_corners corners)
{
    return neighbours != TP_NEIGHBOURS_4 && corners == TP_CORNERS_ALWAYS ? TP_BLOCKS_DIAGONAL : TP_BLOCKS_STRAIGHT;
}

/* A place in sixteenths of a cell, from the map's top left; the middle of cell (x, y) is at 16 x + 8, 16 y + 8. */
struct tp_blocks_place {
    uint32_t x, y;
};

static inline struct tp_blocks_place tp_blocks_cell_place(uint32_t x, uint32_t y)
{
    return (struct tp_blocks_place){x * TP_BLOCK_POINT + TP_BLOCK_POINT / 2, y * TP_BLOCK_POINT + TP_BLOCK_POINT / 2};
}

/* Whether a node or an area is one of so many. Cost: O(count). */
static inline bool tp_blocks_among(const uint32_t *numbers, uint32_t count, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* A tile's share of both levels. Its arrays follow it in one allocation. */
struct tp_blocks_tile {
    _Atomic uint32_t refs; /* counted by agents that lay what they know over it, on all threads */
    uint8_t apart[TP_LINE_BYTES];
    uint16_t nodes, areas;
    uint16_t first[TP_BLOCKS_A_TILE + 1]; /* block b (row-major in the tile) has the nodes first[b] .. first[b + 1] - 1 */
    /* per node: its cells; its place in the block (TP_BLOCK_POINT), x then y; the area it belongs to; its weight.
     * per area: its cells, how many they are, and their speed in all where the map is weighted */
    uint64_t *cells;
    uint8_t (*place)[2];
    uint16_t *area;   /* of the tile */
    uint16_t *weight; /* rounded harmonic mean of its cells'; NULL where the map is not weighted */
    uint64_t *speed;  /* NULL where the map is not weighted */
    /* Along its sides E, S, W, N: the passable cells, bit i the i-th from the top or left; and the node in which each run of them begins, side
     * by side. A run's cells are of one area. */
    uint64_t side[4];
    uint8_t first_run[5];
    uint16_t *runs;
    struct tp_blocks_area {
        uint32_t x, y; /* sums over its cells, each at its node's place: TP_BLOCK_POINT, in the tile */
        uint16_t cells, weight;
    } *areas_at;
};
TP_ASSERT_APART(struct tp_blocks_tile, refs, nodes);

struct tp_blocks {
    struct tp_gone gone;
    _Atomic uint32_t refs; /* a line apart, as those of maps */
    uint8_t apart[TP_LINE_BYTES];
    enum tp_blocks_links links;
    uint32_t tiles_x, tiles_y;
    uint64_t epoch, version;      /* of the map it is of */
    uint64_t changed_version;     /* newest version up to that in which some node's cells or weight differed from the version before */
    uint32_t nodes, areas;        /* all of them; numbered tile by tile */
    uint32_t *first_node, *first_area; /* per tile: the number of its first; tiles + 1 entries */
    struct tp_blocks_tile **tiles;
    /* Reachability (labels.c): areas are in regions, each within a square of TP_BLOCKS_SQUARE tiles a side; regions have labels; areas with
     * different labels are in parts of the map that no way joins. NULL, all: nothing is known of that (of a map that is free, or believed) */
    uint32_t squares_x, squares_y;
    uint32_t *first_region;       /* per square: the number of its first; squares + 1 entries */
    uint8_t *is_blurred;          /* per square: something in it was cut since its regions were made anew */
    uint32_t *region;             /* per area: the number of its region, from that of its square's first on */
    uint32_t *joined;             /* per region: the one, counted likewise, that it goes on as; itself, or an earlier one */
    uint32_t *label;              /* per region */
    uint32_t label_count;         /* labels are below this; some may be no area's any more */
    uint32_t blurred;             /* squares that are; 0: the labels are exact */
    uint32_t turn;                /* the square at which the next version begins to look for one to make anew */
    struct tp_map_held *held;     /* borrowed: the map's count, in which these bytes are; NULL: nobody counts */
};
TP_ASSERT_APART(struct tp_blocks, refs, links);

/* Makes the block graph of a version of a grid; gives a reference in *out. TP_ERR_UNSUPPORTED: no grid; TP_ERR_NO_MEMORY. On
 * error *out is NULL. Cost: O(cells / 8). */
int tp_blocks_build(struct tp_blocks **out, const struct tp_map *map, enum tp_blocks_links links) TP_MUST_CHECK;

/* Makes the next: `blocks` is of `before`, *out becomes that of `now`, a later version of the same epoch. Tiles whose passable bits
 * (and weights) are the same are shared, and in the others the nodes of blocks that are the same are copied. TP_ERR_NO_MEMORY. Cost:
 * O(nodes of the tiles touched), at worst; copying a few bytes a tile and an area of the map; and the nodes along the borders of the tiles
 * of one square, and along those of all squares, for the labels. */
int tp_blocks_follow(struct tp_blocks **out, const struct tp_blocks *blocks, const struct tp_map *before,
                     const struct tp_map *now) TP_MUST_CHECK;

/* Makes the block graph of a map of that size, profile and version of which nothing is known: every cell is free, at the least weight.
 * Without labels. Tiles of one size share their part. TP_ERR_UNSUPPORTED: no grid; TP_ERR_NO_MEMORY. On error *out is NULL. Cost:
 * O(tiles). */
int tp_blocks_build_free(struct tp_blocks **out, const struct tp_map *map, enum tp_blocks_links links) TP_MUST_CHECK;

/* What somebody believes of the cells of a tile of the map, by its number: passable bits and classes go into `tile`, whose columns and rows
 * are set. */
typedef void (*tp_blocks_read_cb)(const void *context, uint32_t number, struct tp_map_tile *tile);

/* Makes what somebody believes: `blocks` but for some tiles, whose numbers rise, which are as `read` says. It has the next version number,
 * and its changed_version is that where some part differs; no labels. `map` gives size and profile. What it does not share is counted
 * in `held`, which outlives it; `blocks` does so too. TP_ERR_NO_MEMORY. Cost: O(nodes of those tiles), and copying a few bytes a tile. */
int tp_blocks_believe(struct tp_blocks **out, const struct tp_blocks *blocks, const struct tp_map *map, const uint32_t *tiles,
                      uint32_t count, tp_blocks_read_cb read, const void *context, struct tp_map_held *held) TP_MUST_CHECK;

const struct tp_blocks *tp_blocks_ref(const struct tp_blocks *blocks);
void tp_blocks_unref(const struct tp_blocks *blocks); /* NULL is allowed */

/* Bytes that this version alone would free, plus its share of tiles (as tp_map_bytes). */
size_t tp_blocks_bytes(const struct tp_blocks *blocks);

/* The node that holds a cell, TP_BLOCKS_NONE where it is impassable. (x, y) must lie inside. Cost: O(components of the block). */
uint32_t tp_blocks_node_at(const struct tp_blocks *blocks, uint32_t x, uint32_t y);

/* A node taken apart. */
struct tp_blocks_node {
    uint32_t number;           /* TP_BLOCKS_NONE: none */
    uint32_t tile, block;      /* the tile's number, and the block in it */
    uint64_t cells;
    struct tp_blocks_place at;
    uint32_t weight;           /* harmonic mean of its cells' (mean speed); 1 where the map is not weighted */
    uint32_t area;             /* number of its area */
};
struct tp_blocks_node tp_blocks_node(const struct tp_blocks *blocks, uint32_t node);

/* The nodes that a legal move leads to from a node of level 1, in a fixed order (blocks E, S, W, N, SE, SW, NW, NE; in each by number), each
 * once; at most TP_BLOCKS_NEIGHBOURS_MAX. Under STRAIGHT links a diagonal block counts where a diagonal move crosses with both its
 * corners free. Returns how many. Cost: O(components of the nine blocks). */
uint32_t tp_blocks_neighbours(const struct tp_blocks *blocks, uint32_t node, struct tp_blocks_node *out);

/* The same of level 2: areas of the tiles around, with their places and weights; `cells` is 0, `block` 0, `area` the number itself. Cost:
 * O(nodes along the tile's border). */
uint32_t tp_blocks_area_neighbours(const struct tp_blocks *blocks, uint32_t area, struct tp_blocks_node *out);
struct tp_blocks_node tp_blocks_area(const struct tp_blocks *blocks, uint32_t area);

/* The label of an area of a tile, by its number. Cost: O(1). */
static inline uint32_t tp_blocks_label(const struct tp_blocks *blocks, uint32_t tile, uint32_t area)
{
    uint32_t y = tile / blocks->tiles_x / TP_BLOCKS_SQUARE, x = tile % blocks->tiles_x / TP_BLOCKS_SQUARE;
    return blocks->label[blocks->first_region[y * blocks->squares_x + x] + blocks->region[area]];
}

/* Whether two cells are in parts of the map that no way joins, as far as the labels know; false says nothing. A cell that is
 * impassable is in no part: false; so it is without labels. Cost: O(1). */
bool tp_blocks_apart(const struct tp_blocks *blocks, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1);

#endif
