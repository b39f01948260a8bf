/* What the files of the block graph share: steps between blocks and the crossings of their borders. */
#ifndef TP_MAP_BLOCKS_INTERNAL_H
#define TP_MAP_BLOCKS_INTERNAL_H

#include "base/inline.h"
#include "map/blocks.h"

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

/* Called for two areas that a legal move joins across a border, by their numbers in their tiles. */
typedef void (*tp__crossing_cb)(void *context, uint32_t area, uint32_t area_there);

static inline uint32_t tp__count_bits(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* The first bits of a word's bytes, as a byte. */
static inline uint64_t tp__bytes_first(uint64_t word)
{
    return (word & TP__BLOCK_LEFT) * UINT64_C(0x0102040810204080) >> 56;
}

/* The first cells of runs. */
static inline uint64_t tp__run_starts(uint64_t side)
{
    return side & ~(side << 1);
}

/* The area of a passable cell on a tile's side. */
static inline uint32_t tp__side_area(const struct tp_blocks_tile *tile, uint32_t side, uint32_t cell)
{
    uint64_t up_to = UINT64_MAX >> (63 - cell);
    return tile->area[tile->runs[tile->first_run[side] + tp__count_bits(tp__run_starts(tile->side[side]) & up_to) - 1]];
}

/* Calls for the crossings from a tile to the next in a direction, once or more for each pair of areas: from those of the side's cells that
 * are in `along`, bit by bit. A diagonal direction is for DIAGONAL links, or where the corners are known to be free. Cost: O(runs among them). */
TP_ALWAYS_INLINE void tp__tile_crossings(const struct tp_blocks_tile *tile, const struct tp_blocks_tile *there, uint32_t direction,
                                         enum tp_blocks_links links, uint64_t along, tp__crossing_cb crossing, void *context)
{
    enum { LAST = TP_MAP_TILE - 1 };
    /* a corner's cell, as one of a side E or W here and of the other there */
    static const struct {
        uint8_t side, cell, opposite;
    } corners[4] = {{0, LAST, 2}, {2, LAST, 0}, {2, 0, 0}, {0, 0, 2}};
    if (direction >= TP__BLOCK_STRAIGHT) {
        uint32_t side = corners[direction - TP__BLOCK_STRAIGHT].side, cell = corners[direction - TP__BLOCK_STRAIGHT].cell;
        uint32_t opposite = corners[direction - TP__BLOCK_STRAIGHT].opposite;
        if (tile->side[side] >> cell & 1 && there->side[opposite] >> (LAST - cell) & 1)
            crossing(context, tp__side_area(tile, side, cell), tp__side_area(there, opposite, LAST - cell));
        return;
    }
    uint32_t opposite = direction ^ 2;
    uint64_t here = tile->side[direction] & along, beyond = there->side[opposite];
    for (int aside = links == TP_BLOCKS_DIAGONAL ? -1 : 0; aside <= (links == TP_BLOCKS_DIAGONAL ? 1 : 0); aside++) {
        uint64_t facing = here & (aside < 0 ? beyond << 1 : beyond >> aside);
        for (uint64_t left = tp__run_starts(facing); left; left &= left - 1) {
            uint32_t cell = (uint32_t)__builtin_ctzll(left);
            crossing(context, tp__side_area(tile, direction, cell), tp__side_area(there, opposite, cell + (uint32_t)aside));
        }
    }
}

/* What became of the tiles that two versions do not share, in order. */
struct tp__steps {
    uint32_t count;
    struct tp__tile_step {
        uint32_t tile;
        bool is_cut;      /* what hung together before may not any more, within it or across a side */
        uint32_t origins; /* how many areas it has; 0: each is that of the same number before, or it has none */
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

/* Makes the labels of a version from those of the one before. TP_ERR_NO_MEMORY. Cost: O(areas), to copy a few bytes of each;
 * O(runs along the squares' borders); and O(runs along the tiles' borders) of the square that is made anew. */
int tp__blocks_label_follow(struct tp_blocks *blocks, const struct tp_blocks *before, const struct tp__steps *steps) TP_MUST_CHECK;

#endif
