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

/* Called for two nodes that a legal move joins across a border: their areas, as numbers in their tiles. */
typedef void (*tp__crossing_cb)(void *context, uint32_t area, struct tp__block there, uint32_t area_there);

/* Calls for the crossings of one block's border with another block, once or more for each pair of areas. For a straight
 * direction, or any under DIAGONAL links. Cost: O(components of both). */
TP_ALWAYS_INLINE void tp__block_crossings(const struct tp_blocks *blocks, const struct tp_blocks_tile *tile,
                                          uint32_t block, struct tp__block there, uint32_t direction,
                                          tp__crossing_cb crossing, void *context)
{
    for (uint32_t i = tile->first[block]; i < tile->first[block + 1]; i++) {
        uint64_t reach = tp__block_across(tile->cells[i], direction, blocks->links);
        if (!reach)
            continue;
        for (uint32_t j = there.tile->first[there.number]; j < there.tile->first[there.number + 1]; j++)
            if (there.tile->cells[j] & reach)
                crossing(context, tile->area[i], there, there.tile->area[j]);
    }
}

/* Calls for the crossings of a tile's border in one direction (of tiles): of every block along it, and of those
 * diagonal to it. Cost: O(nodes along that border). */
TP_ALWAYS_INLINE void tp__tile_crossings(const struct tp_blocks *blocks, uint32_t tile, uint32_t direction,
                                         tp__crossing_cb crossing, void *context)
{
    const struct tp_blocks_tile *own = blocks->tiles[tile];
    enum { LAST = TP_BLOCKS_A_SIDE - 1 };
    /* the first block along the border, and from each to the next */
    static const uint8_t first[TP__BLOCK_DIRECTIONS] = {
        LAST, LAST * TP_BLOCKS_A_SIDE, 0, 0, TP_BLOCKS_A_TILE - 1, LAST * TP_BLOCKS_A_SIDE, 0, LAST};
    static const uint8_t aside[TP__BLOCK_STRAIGHT][2] = {
        {4, 7}, {4, 5}, {5, 6}, {6, 7}}; /* the diagonals that lean to a straight */
    uint32_t count = direction < TP__BLOCK_STRAIGHT ? TP_BLOCKS_A_SIDE : 1;
    uint32_t stride = direction % 2 ? 1 : TP_BLOCKS_A_SIDE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t block = first[direction] + i * stride;
        struct tp__block there = tp__block_step(blocks, tile, block, direction);
        if (!there.tile)
            return;
        tp__block_crossings(blocks, own, block, there, direction, crossing, context);
        if (blocks->links != TP_BLOCKS_DIAGONAL || count == 1)
            continue;
        for (uint32_t k = 0; k < 2; k++) {
            struct tp__block leaning = tp__block_step(blocks, tile, block, aside[direction][k]);
            if (leaning.tile && leaning.tile_number == there.tile_number)
                tp__block_crossings(blocks, own, block, leaning, aside[direction][k], crossing, context);
        }
    }
}

/* Labels of areas (labels.c). `blocks` has all but its labels. */

/* Makes the labels anew: exact. TP_ERR_NO_MEMORY. Cost: O(areas + nodes along the tiles' borders). */
int tp__blocks_label(struct tp_blocks *blocks) TP_MUST_CHECK;

/* Makes the labels of a version from those of the one before; `closed` is how many tiles had a cell closed. TP_ERR_NO_MEMORY. Cost: O(areas + nodes along
 * the borders of the tiles that are not shared); now and then that of tp__blocks_label. */
int tp__blocks_label_follow(struct tp_blocks *blocks, const struct tp_blocks *before,
                            uint32_t closed) TP_MUST_CHECK;

#endif
