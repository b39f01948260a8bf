/* Reading the block graph: who is where, and who is next to whom. */
#include "base/check.h"
#include "map/blocks_internal.h"

const struct tp__block_corner tp__block_corners[4] = {
    {0, 56, 1, 7}, /* SE: of the block E the cell (0, 7), of the block S (7, 0) */
    {2, 63, 1, 0}, /* SW: (7, 7) and (0, 0) */
    {2, 7, 3, 56}, /* NW: (7, 0) and (0, 7) */
    {0, 0, 3, 63}, /* NE: (0, 0) and (7, 7) */
};

/* The tile that holds a number, of the numbers that tiles begin with. Cost: O(log tiles). */
static uint32_t tile_holding(const struct tp_blocks *blocks, const uint32_t *first, uint32_t number)
{
    uint32_t at = 0, count = blocks->tiles_x * blocks->tiles_y;
    while (count > 1) { /* first[at] <= number < first[at + count] */
        uint32_t half = count / 2;
        at += first[at + half] <= number ? half : 0;
        count -= half;
    }
    return at;
}

/* The block of a tile that holds a node of the tile. */
static uint32_t block_holding(const struct tp_blocks_tile *tile, uint32_t node)
{
    uint32_t at = 0;
    for (uint32_t half = TP_BLOCKS_A_TILE / 2; half; half /= 2)
        at += tile->first[at + half] <= node ? half : 0;
    return at;
}

/* A node, by its place in its tile's table. */
static inline struct tp_blocks_node node_of(const struct tp_blocks *blocks, struct tp__block block,
                                            uint32_t index)
{
    enum { TILE_SIDE = TP_MAP_TILE * TP_BLOCK_POINT, BLOCK_SIDE = TP_BLOCK_SIDE * TP_BLOCK_POINT };
    const struct tp_blocks_tile *tile = block.tile;
    return (struct tp_blocks_node){
        .number = blocks->first_node[block.tile_number] + index,
        .tile = block.tile_number,
        .block = block.number,
        .cells = tile->cells[index],
        .at = {block.tile_number % blocks->tiles_x * TILE_SIDE +
                   block.number % TP_BLOCKS_A_SIDE * BLOCK_SIDE + tile->place[index][0],
               block.tile_number / blocks->tiles_x * TILE_SIDE +
                   block.number / TP_BLOCKS_A_SIDE * BLOCK_SIDE + tile->place[index][1]},
        .weight = tile->weight ? tile->weight[index] : 1,
        .area = blocks->first_area[block.tile_number] + tile->area[index],
    };
}

/* The block that holds a cell, and the cell's bit in it. */
static struct tp__block block_at(const struct tp_blocks *blocks, uint32_t x, uint32_t y, uint64_t *cell)
{
    uint32_t tile = y / TP_MAP_TILE * blocks->tiles_x + x / TP_MAP_TILE;
    *cell = UINT64_C(1) << (y % TP_BLOCK_SIDE * TP_BLOCK_SIDE + x % TP_BLOCK_SIDE);
    return (struct tp__block){blocks->tiles[tile], tile,
                              y % TP_MAP_TILE / TP_BLOCK_SIDE * TP_BLOCKS_A_SIDE +
                                  x % TP_MAP_TILE / TP_BLOCK_SIDE};
}

/* The node that holds a cell, as its place in its tile's table; TP_BLOCKS_NONE where it is impassable. */
static uint32_t index_at(struct tp__block block, uint64_t cell)
{
    for (uint32_t i = block.tile->first[block.number]; i < block.tile->first[block.number + 1]; i++)
        if (block.tile->cells[i] & cell)
            return i;
    return TP_BLOCKS_NONE;
}

uint32_t tp_blocks_node_at(const struct tp_blocks *blocks, uint32_t x, uint32_t y)
{
    uint64_t cell;
    struct tp__block block = block_at(blocks, x, y, &cell);
    uint32_t index = index_at(block, cell);
    return index == TP_BLOCKS_NONE ? TP_BLOCKS_NONE : blocks->first_node[block.tile_number] + index;
}

struct tp_blocks_node tp_blocks_node(const struct tp_blocks *blocks, uint32_t node)
{
    TP_CHECK(node < blocks->nodes);
    uint32_t tile = tile_holding(blocks, blocks->first_node, node), index = node - blocks->first_node[tile];
    const struct tp_blocks_tile *of = blocks->tiles[tile];
    return node_of(blocks, (struct tp__block){of, tile, block_holding(of, index)}, index);
}

uint32_t tp_blocks_neighbours(const struct tp_blocks *blocks, uint32_t node, struct tp_blocks_node *out)
{
    TP_CHECK(node < blocks->nodes);
    uint32_t tile = tile_holding(blocks, blocks->first_node, node), index = node - blocks->first_node[tile],
             count = 0;
    uint32_t block = block_holding(blocks->tiles[tile], index);
    uint64_t cells = blocks->tiles[tile]->cells[index];
    uint64_t free[TP__BLOCK_STRAIGHT] = {0}; /* the passable cells of the blocks in the straight directions */
    for (uint32_t direction = 0; direction < TP__BLOCK_DIRECTIONS; direction++) {
        uint64_t reach = tp__block_across(cells, direction, blocks->links);
        if (direction >= TP__BLOCK_STRAIGHT && blocks->links == TP_BLOCKS_STRAIGHT) {
            const struct tp__block_corner *corner = &tp__block_corners[direction - TP__BLOCK_STRAIGHT];
            if (!(free[corner->aside] >> corner->aside_bit & free[corner->upright] >> corner->upright_bit &
                  1))
                continue;
        }
        struct tp__block there = tp__block_step(blocks, tile, block, direction);
        if (!there.tile)
            continue;
        for (uint32_t i = there.tile->first[there.number]; i < there.tile->first[there.number + 1]; i++) {
            if (direction < TP__BLOCK_STRAIGHT)
                free[direction] |= there.tile->cells[i];
            if (there.tile->cells[i] & reach && count < TP_BLOCKS_NEIGHBOURS_MAX)
                out[count++] = node_of(blocks, there, i);
        }
    }
    return count;
}

/* ---- Areas ---- */

static struct tp_blocks_node area_of(const struct tp_blocks *blocks, uint32_t tile, uint32_t index)
{
    const struct tp_blocks_area *area = &blocks->tiles[tile]->areas_at[index];
    uint32_t number = blocks->first_area[tile] + index, half = area->cells / 2u;
    return (struct tp_blocks_node){
        .number = number,
        .tile = tile,
        .at = {tile % blocks->tiles_x * TP_MAP_TILE * TP_BLOCK_POINT + (area->x + half) / area->cells,
               tile / blocks->tiles_x * TP_MAP_TILE * TP_BLOCK_POINT + (area->y + half) / area->cells},
        .weight = area->weight,
        .area = number,
    };
}

struct tp_blocks_node tp_blocks_area(const struct tp_blocks *blocks, uint32_t area)
{
    TP_CHECK(area < blocks->areas);
    uint32_t tile = tile_holding(blocks, blocks->first_area, area);
    return area_of(blocks, tile, area - blocks->first_area[tile]);
}

/* Areas of a tile that one of another touches: a set. */
struct touched {
    uint32_t area;
    uint64_t set[TP_BLOCKS_A_TILE * TP_BLOCK_CELLS / 2 / 64];
};

/* Adds to it. */
static void note_touched(void *context, uint32_t area, uint32_t area_there)
{
    struct touched *touched = context;
    touched->set[area_there / 64] |= (uint64_t)(area == touched->area) << area_there % 64;
}

/* Whether the cells on both sides of a tile's corner are passable, for a move across it in a diagonal direction. */
static bool is_corner_free(const struct tp_blocks *blocks, uint32_t tile, uint32_t direction)
{
    static const uint8_t leaving[4] = {TP_BLOCKS_A_TILE - 1, TP_BLOCKS_A_TILE - TP_BLOCKS_A_SIDE, 0,
                                       TP_BLOCKS_A_SIDE - 1};
    const struct tp__block_corner *corner = &tp__block_corners[direction - TP__BLOCK_STRAIGHT];
    uint32_t block = leaving[direction - TP__BLOCK_STRAIGHT];
    struct tp__block aside = tp__block_step(blocks, tile, block, corner->aside);
    struct tp__block upright = tp__block_step(blocks, tile, block, corner->upright);
    return index_at(aside, UINT64_C(1) << corner->aside_bit) != TP_BLOCKS_NONE &&
           index_at(upright, UINT64_C(1) << corner->upright_bit) != TP_BLOCKS_NONE;
}

uint32_t tp_blocks_area_neighbours(const struct tp_blocks *blocks, uint32_t area, struct tp_blocks_node *out)
{
    TP_CHECK(area < blocks->areas);
    uint32_t tile = tile_holding(blocks, blocks->first_area, area), count = 0;
    for (uint32_t direction = 0; direction < TP__BLOCK_DIRECTIONS; direction++) {
        uint32_t there = tp__tile_step(blocks, tile, direction);
        if (there == TP_BLOCKS_NONE)
            continue;
        if (direction >= TP__BLOCK_STRAIGHT && blocks->links == TP_BLOCKS_STRAIGHT &&
            !is_corner_free(blocks, tile, direction))
            continue;
        struct touched touched;
        uint32_t words = (blocks->tiles[there]->areas + 63u) / 64;
        touched.area = area - blocks->first_area[tile];
        for (uint32_t i = 0; i < words; i++)
            touched.set[i] = 0;
        tp__tile_crossings(blocks->tiles[tile], blocks->tiles[there], direction, blocks->links, UINT64_MAX, note_touched, &touched);
        for (uint32_t i = 0; i < words; i++)
            for (uint64_t left = touched.set[i]; left && count < TP_BLOCKS_NEIGHBOURS_MAX; left &= left - 1)
                out[count++] = area_of(blocks, there, i * 64 + (uint32_t)__builtin_ctzll(left));
    }
    return count;
}

bool tp_blocks_apart(const struct tp_blocks *blocks, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1)
{
    uint64_t cell0, cell1;
    struct tp__block from = block_at(blocks, x0, y0, &cell0), to = block_at(blocks, x1, y1, &cell1);
    uint32_t index0 = index_at(from, cell0), index1 = index_at(to, cell1);
    if (!blocks->label || index0 == TP_BLOCKS_NONE || index1 == TP_BLOCKS_NONE)
        return false;
    return tp_blocks_label(blocks, from.tile_number, blocks->first_area[from.tile_number] + from.tile->area[index0]) !=
           tp_blocks_label(blocks, to.tile_number, blocks->first_area[to.tile_number] + to.tile->area[index1]);
}
