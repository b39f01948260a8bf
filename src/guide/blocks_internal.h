/* What the files of the block graph share: steps between blocks and the crossings of their borders. */
#ifndef TP_GUIDE_BLOCKS_INTERNAL_H
#define TP_GUIDE_BLOCKS_INTERNAL_H

#include "base/inline.h"
#include "guide/blocks.h"

#define TP__BLOCK_LEFT UINT64_C(0x0101010101010101) /* a block's cells with x = 0 */
#define TP__BLOCK_TOP UINT64_C(0xff)                /* a block's cells with y = 0 */

/* Directions are those of map/walk.h: E, S, W, N, SE, SW, NW, NE. The first four are straight. */
enum { TP__BLOCK_STRAIGHT = 4, TP__BLOCK_DIRECTIONS = 8 };

/* A block, by its tile and its number there; tile NULL: outside the map. */
struct tp__block {
    const struct tp_blocks_tile *tile;
    uint32_t tile_number, number;
};

/* The block next to one, in a direction. Cost: O(1). */
static inline struct tp__block tp__block_step(const struct tp_blocks *blocks, uint32_t tile, uint32_t block,
                                              uint32_t direction)
{
    uint32_t x = tile % blocks->tiles_x * TP_BLOCKS_A_SIDE + block % TP_BLOCKS_A_SIDE +
                 (uint32_t)tp_direction_dx[direction];
    uint32_t y = tile / blocks->tiles_x * TP_BLOCKS_A_SIDE + block / TP_BLOCKS_A_SIDE +
                 (uint32_t)tp_direction_dy[direction];
    if (x >= blocks->tiles_x * TP_BLOCKS_A_SIDE ||
        y >= blocks->tiles_y * TP_BLOCKS_A_SIDE) /* below 0 is large */
        return (struct tp__block){NULL, 0, 0};
    uint32_t there = y / TP_BLOCKS_A_SIDE * blocks->tiles_x + x / TP_BLOCKS_A_SIDE;
    return (struct tp__block){blocks->tiles[there], there,
                              y % TP_BLOCKS_A_SIDE * TP_BLOCKS_A_SIDE + x % TP_BLOCKS_A_SIDE};
}

/* The cells of the block next to one, in a direction, that a move leads to from `cells`; of a diagonal direction without regard
 * to corners. Cost: O(1). */
static inline uint64_t tp__block_across(uint64_t cells, uint32_t direction, enum tp_blocks_links links)
{
    uint64_t line;
    switch (direction) {
    case 0:
    case 2:
        line = (direction ? cells : cells >> 7) & TP__BLOCK_LEFT;
        if (links == TP_BLOCKS_DIAGONAL)
            line |= line << 8 | line >> 8;
        return direction ? line << 7 : line;
    case 1:
    case 3:
        line = (direction == 1 ? cells >> 56 : cells) & TP__BLOCK_TOP;
        if (links == TP_BLOCKS_DIAGONAL)
            line |= (line << 1 | line >> 1) & TP__BLOCK_TOP;
        return direction == 1 ? line : line << 56;
    case 4:
        return cells >> 63;
    case 5:
        return (cells >> 56 & 1) << 7;
    case 6:
        return cells << 63;
    default:
        return (cells >> 7 & 1) << 56;
    }
}

/* Under STRAIGHT links a diagonal move wants both its corners free: the cell of the block in the diagonal's x direction (E or W) and
 * the one of the block in its y direction (S or N), as bits of those. Indexed by direction - 4. */
extern const struct tp__block_corner {
    uint8_t aside, aside_bit; /* direction of the block to the side, and the cell there */
    uint8_t upright, upright_bit;
} tp__block_corners[4];

/* The tile next to one, in a direction; TP_BLOCKS_NONE: outside the map. Cost: O(1). */
static inline uint32_t tp__tile_step(const struct tp_blocks *blocks, uint32_t tile, uint32_t direction)
{
    uint32_t x = tile % blocks->tiles_x + (uint32_t)tp_direction_dx[direction];
    uint32_t y = tile / blocks->tiles_x + (uint32_t)tp_direction_dy[direction];
    return x < blocks->tiles_x && y < blocks->tiles_y ? y * blocks->tiles_x + x : TP_BLOCKS_NONE;
}

/* Called for two nodes that a legal move joins across a border: their areas, as numbers in their tiles. */
typedef void (*tp__crossing_cb)(void *context, uint32_t area, uint32_t area_there);

/* Calls for the crossings between a block and another of the next tile, which lies in `direction`: a straight one, or any under DIAGONAL
 * links. Of the first block's nodes those of one area count, or of any (TP_BLOCKS_NONE). Cost: O(components of both). */
TP_ALWAYS_INLINE void tp__block_crossings(const struct tp_blocks_tile *tile, uint32_t block,
                                          const struct tp_blocks_tile *there, uint32_t block_there,
                                          uint32_t direction, enum tp_blocks_links links, uint32_t area,
                                          tp__crossing_cb crossing, void *context)
{
    for (uint32_t i = tile->first[block]; i < tile->first[block + 1]; i++) {
        if (area != TP_BLOCKS_NONE && tile->area[i] != area)
            continue;
        uint64_t reach = tp__block_across(tile->cells[i], direction, links);
        for (uint32_t j = there->first[block_there]; reach && j < there->first[block_there + 1]; j++)
            if (there->cells[j] & reach)
                crossing(context, tile->area[i], there->area[j]);
    }
}

/* Calls for the crossings from a tile to the next in a direction, once or more for each pair of areas: from one area, or any
 * (TP_BLOCKS_NONE). A diagonal direction is for DIAGONAL links, or where the corners are known to be free. Cost: O(nodes along the border). */
TP_ALWAYS_INLINE void tp__tile_crossings(const struct tp_blocks_tile *tile,
                                         const struct tp_blocks_tile *there, uint32_t direction,
                                         enum tp_blocks_links links, uint32_t area, tp__crossing_cb crossing,
                                         void *context)
{
    enum { LAST = TP_BLOCKS_A_SIDE - 1, BOTTOM = LAST * TP_BLOCKS_A_SIDE };
    /* along the border: the first block here and there, from each to the next, and the directions to the one before and after
     * that which is opposite */
    static const struct {
        uint8_t here, there, stride, before, after;
    } borders[TP__BLOCK_DIRECTIONS] = {
        {LAST, 0, TP_BLOCKS_A_SIDE, 7, 4}, {BOTTOM, 0, 1, 5, 4},
        {0, LAST, TP_BLOCKS_A_SIDE, 6, 5}, {0, BOTTOM, 1, 6, 7},
        {BOTTOM + LAST, 0, 0, 0, 0},       {BOTTOM, LAST, 0, 0, 0},
        {0, BOTTOM + LAST, 0, 0, 0},       {LAST, BOTTOM, 0, 0, 0},
    };
    uint32_t here = borders[direction].here, opposite = borders[direction].there,
             stride = borders[direction].stride;
    uint32_t count = direction < TP__BLOCK_STRAIGHT ? TP_BLOCKS_A_SIDE : 1;
    for (uint32_t i = 0; i < count; i++, here += stride, opposite += stride) {
        tp__block_crossings(tile, here, there, opposite, direction, links, area, crossing, context);
        if (links == TP_BLOCKS_STRAIGHT)
            continue;
        if (i > 0)
            tp__block_crossings(tile, here, there, opposite - stride, borders[direction].before, links, area,
                                crossing, context);
        if (i + 1 < count)
            tp__block_crossings(tile, here, there, opposite + stride, borders[direction].after, links, area,
                                crossing, context);
    }
}

/* What became of the tiles that two versions do not share, in order. */
struct tp__steps {
    uint32_t count;
    struct tp__tile_step {
        uint32_t tile;
        bool is_closed;   /* some cell of it closed */
        uint32_t origins; /* how many areas it has; 0: each is that of the same number before */
        uint32_t joined;
        uint64_t blocks;  /* whose cells differ: others' nodes are as they were */
        size_t list;      /* where its numbers begin: for each area one before, some of whose nodes it has, or UINT16_MAX where it has */
    } * of;               /* none's; then pairs of areas before, of which nodes came together */
    uint32_t *at;         /* per tile: its step; of those not shared */
    uint16_t *list;
    size_t list_count, list_room;
};

/* Labels of areas (labels.c). `blocks` has all but its labels. */

/* Makes the labels from nothing: exact. TP_ERR_NO_MEMORY. Cost: O(areas + nodes along the tiles' borders). */
int tp__blocks_label(struct tp_blocks *blocks) TP_MUST_CHECK;

/* Makes the labels of a version from those of the one before. TP_ERR_NO_MEMORY. Cost: O(areas), O(nodes along the squares' borders), and
 * O(nodes along the tiles' borders) of those squares that are made anew. */
int tp__blocks_label_follow(struct tp_blocks *blocks, const struct tp_blocks *before, const struct tp__steps *steps) TP_MUST_CHECK;

#endif
