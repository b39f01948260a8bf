/* One tile's part of the block graph. Happy path: it is made in a scratch table, block by block: the block's passable cells are gathered
 * from the rows of the map's tile, and split by flood filling whole words; then the nodes are joined to areas across the borders
 * of the tile's blocks. What came out is copied into an allocation of just its size. A part that follows another is that one with the blocks
 * that differ exchanged (blocks_repair.c), or where they are many with its nodes joined anew. What comes out is the same. Failure: out
 * of memory gives up the part. */
#include "map/blocks_scratch.h"

#include <stdlib.h>
#include <string.h>

/* ---- Cells of a block ---- */

/* The passable cells of a block of the map's tile. */
static uint64_t gather(const struct tp_map_tile *tile, uint32_t block)
{
    uint32_t shift = block % TP_BLOCKS_A_SIDE * TP_BLOCK_SIDE, row = block / TP_BLOCKS_A_SIDE * TP_BLOCK_SIDE;
    uint32_t rows = tile->rows <= row                  ? 0
                    : tile->rows - row < TP_BLOCK_SIDE ? tile->rows - row
                                                       : TP_BLOCK_SIDE;
    uint64_t cells = 0;
    for (uint32_t i = 0; i < rows; i++)
        cells |= (tile->passable[row + i] >> shift & TP__BLOCK_TOP) << (i * TP_BLOCK_SIDE);
    return cells;
}

/* Those of `cells` that hang together with `seed`, which is among them. */
static inline uint64_t flood(uint64_t seed, uint64_t cells, enum tp_blocks_links links)
{
    const uint64_t right = ~TP__BLOCK_LEFT, left = ~(TP__BLOCK_LEFT << 7);
    for (;;) {
        uint64_t wide = seed | (seed << 1 & right) | (seed >> 1 & left);
        uint64_t next =
            links == TP_BLOCKS_DIAGONAL ? wide | wide << 8 | wide >> 8 : wide | seed << 8 | seed >> 8;
        next &= cells;
        if (next == seed)
            return seed;
        seed = next;
    }
}

/* The rounded mean of the cells' columns in TP_BLOCK_POINT; the middle of a cell is half a cell in. */
static uint8_t mean_column(uint64_t cells, uint32_t count)
{
    uint32_t sum = tp__count_bits(cells & UINT64_C(0xaaaaaaaaaaaaaaaa)) +
                   2 * tp__count_bits(cells & UINT64_C(0xcccccccccccccccc)) +
                   4 * tp__count_bits(cells & UINT64_C(0xf0f0f0f0f0f0f0f0));
    return (uint8_t)((TP_BLOCK_POINT * sum + count / 2) / count + TP_BLOCK_POINT / 2);
}

static uint8_t mean_row(uint64_t cells, uint32_t count)
{
    uint32_t sum = tp__count_bits(cells & UINT64_C(0xff00ff00ff00ff00)) +
                   2 * tp__count_bits(cells & UINT64_C(0xffff0000ffff0000)) +
                   4 * tp__count_bits(cells & UINT64_C(0xffffffff00000000));
    return (uint8_t)((TP_BLOCK_POINT * sum + count / 2) / count + TP_BLOCK_POINT / 2);
}

/* The weight that `count` cells of so much speed in all have between them, rounded: who walks from place to place goes where it is
 * fast, and a few heavy cells that can be gone round say little. */
static uint16_t weight_of(uint32_t count, uint64_t speed)
{
    return (uint16_t)(((uint64_t)count * TP__SPEED + speed / 2) / speed);
}

/* The rounded harmonic mean of the weights of cells of a block. */
static uint16_t mean_weight(const struct tp__scratch *scratch, const struct tp_map_tile *tile, uint32_t block,
                            uint64_t cells, uint32_t count)
{
    const uint8_t *classes = tp_map_tile_classes(tile) +
                             block / TP_BLOCKS_A_SIDE * TP_BLOCK_SIDE * tile->columns +
                             block % TP_BLOCKS_A_SIDE * TP_BLOCK_SIDE;
    uint64_t speed = 0;
    for (; cells; cells &= cells - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(cells);
        speed += scratch->speed[classes[bit / TP_BLOCK_SIDE * tile->columns + bit % TP_BLOCK_SIDE]];
    }
    return weight_of(count, speed);
}

void tp__block_split(struct tp__scratch *scratch, const struct tp_map_tile *tile, uint32_t block, uint64_t cells)
{
    while (cells) {
        uint32_t node = scratch->nodes++;
        uint64_t part = ~cells ? flood(cells & -cells, cells, scratch->links) : cells;
        uint32_t count = tp__count_bits(part);
        cells &= ~part;
        scratch->cells[node] = part;
        scratch->place[node][0] = mean_column(part, count);
        scratch->place[node][1] = mean_row(part, count);
        if (scratch->map->weighted)
            scratch->weight[node] = mean_weight(scratch, tile, block, part, count);
    }
}

/* ---- Areas of a tile ---- */

static inline uint16_t area_root(struct tp__scratch *scratch, uint16_t node)
{
    while (scratch->parent[node] != node)
        node = scratch->parent[node] = scratch->parent[scratch->parent[node]];
    return node;
}

/* Lists the nodes of two blocks of the tile that touch across their border. The list grows without a branch on what touches, which
 * would be guessed wrong half the time. */
TP_ALWAYS_INLINE uint32_t list_touching(struct tp__scratch *scratch, uint32_t count, uint32_t a, uint32_t b,
                                        uint32_t direction, enum tp_blocks_links links)
{
    for (uint32_t i = scratch->first[a]; i < scratch->first[a + 1]; i++) {
        uint64_t reach = tp__block_across(scratch->cells[i], direction, links);
        for (uint32_t j = scratch->first[b]; j < scratch->first[b + 1]; j++) {
            scratch->touching[count] = (struct tp__pair){(uint16_t)i, (uint16_t)j};
            count += (scratch->cells[j] & reach) != 0;
        }
    }
    return count;
}

/* Joins the nodes that touch. */
TP_ALWAYS_INLINE void join_nodes(struct tp__scratch *scratch, enum tp_blocks_links links)
{
    enum { LAST = TP_BLOCKS_A_SIDE - 1 };
    uint32_t count = 0;
    for (uint32_t i = 0; i < scratch->nodes; i++)
        scratch->parent[i] = (uint16_t)i;
    for (uint32_t block = 0; block < TP_BLOCKS_A_TILE; block++) {
        uint32_t x = block % TP_BLOCKS_A_SIDE, y = block / TP_BLOCKS_A_SIDE;
        if (x < LAST)
            count = list_touching(scratch, count, block, block + 1, 0, links);
        if (y < LAST)
            count = list_touching(scratch, count, block, block + TP_BLOCKS_A_SIDE, 1, links);
        if (links == TP_BLOCKS_DIAGONAL && x < LAST && y < LAST)
            count = list_touching(scratch, count, block, block + TP_BLOCKS_A_SIDE + 1, 4, links);
        if (links == TP_BLOCKS_DIAGONAL && x > 0 && y < LAST)
            count = list_touching(scratch, count, block, block + TP_BLOCKS_A_SIDE - 1, 5, links);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint16_t one = area_root(scratch, scratch->touching[i].one),
                 other = area_root(scratch, scratch->touching[i].other);
        uint16_t first = one < other ? one : other;
        scratch->parent[one] = scratch->parent[other] = first;
    }
}

/* Joins the nodes to areas, numbered in the order of their first nodes, and sums up the areas' places and weights. */
static void join_areas(struct tp__scratch *scratch)
{
    if (scratch->links == TP_BLOCKS_DIAGONAL)
        join_nodes(scratch, TP_BLOCKS_DIAGONAL);
    else
        join_nodes(scratch, TP_BLOCKS_STRAIGHT);
    scratch->areas = 0;
    for (uint32_t i = 0; i < scratch->nodes; i++) { /* a root comes before the others of its set */
        uint16_t root = area_root(scratch, (uint16_t)i);
        if (root == i) {
            scratch->sums[scratch->areas] = (struct tp__sum){0};
            scratch->area[i] = (uint16_t)scratch->areas++;
        } else {
            scratch->area[i] = scratch->area[root];
        }
    }
    for (uint32_t block = 0; block < TP_BLOCKS_A_TILE; block++)
        for (uint32_t i = scratch->first[block]; i < scratch->first[block + 1]; i++)
            tp__sum_add(&scratch->sums[scratch->area[i]], tp__node_sum(scratch, block, i));
    for (uint32_t i = 0; i < scratch->areas; i++)
        scratch->order[i] = (uint16_t)i;
}

/* ---- Sides of a tile ---- */

/* The blocks along each side. */
static const uint64_t side_blocks[TP__BLOCK_STRAIGHT] = {TP__BLOCK_LEFT << 7, TP__BLOCK_TOP << 56, TP__BLOCK_LEFT, TP__BLOCK_TOP};

/* The cells of a block along a side. */
static uint64_t cells_along(uint64_t cells, uint32_t side)
{
    switch (side) {
    case 0:
        return tp__bytes_first(cells >> 7);
    case 1:
        return cells >> 56;
    case 2:
        return tp__bytes_first(cells);
    default:
        return cells & TP__BLOCK_TOP;
    }
}

/* Finds the runs along a side. */
static void make_side(struct tp__scratch *scratch, uint32_t side)
{
    uint64_t cells = 0, at = side_blocks[side];
    for (uint32_t i = 0; at; i++, at &= at - 1) {
        uint32_t block = (uint32_t)__builtin_ctzll(at);
        uint64_t passable = 0;
        for (uint32_t node = scratch->first[block]; node < scratch->first[block + 1]; node++)
            passable |= scratch->cells[node];
        cells |= cells_along(passable, side) << i * TP_BLOCK_SIDE;
    }
    uint32_t count = 0;
    for (uint64_t left = tp__run_starts(cells); left; left &= left - 1) {
        static const struct {
            uint8_t block, stride; /* blocks; the cell in it, and from one to the next */
            uint8_t cell, step;
        } along[TP__BLOCK_STRAIGHT] = {{7, 8, 7, 8}, {56, 1, 56, 1}, {0, 8, 0, 8}, {0, 1, 0, 1}};
        uint32_t cell = (uint32_t)__builtin_ctzll(left);
        uint32_t node = scratch->first[along[side].block + cell / TP_BLOCK_SIDE * along[side].stride];
        while (!(scratch->cells[node] >> (along[side].cell + cell % TP_BLOCK_SIDE * along[side].step) & 1))
            node++;
        scratch->runs[side][count++] = (uint16_t)node;
    }
    scratch->side[side] = cells;
    scratch->run_count[side] = (uint8_t)count;
}

/* Finds them anew along the sides of blocks that changed. */
static void remake_sides(struct tp__scratch *scratch, uint64_t changed)
{
    for (uint32_t side = 0; side < TP__BLOCK_STRAIGHT; side++)
        if (changed & side_blocks[side])
            make_side(scratch, side);
}

/* Whether a tile's areas, which have the numbers that they had, lost a cell of its sides: it is closed, or another area's now. */
static bool is_side_cut(const struct tp__scratch *scratch, const struct tp_blocks_tile *from)
{
    for (uint32_t side = 0; side < TP__BLOCK_STRAIGHT; side++) {
        uint64_t was = from->side[side], is = scratch->side[side];
        if (was & ~is)
            return true;
        const uint16_t *run_was = from->runs + from->first_run[side];
        for (uint64_t left = tp__run_starts(was); left; left &= left - 1) { /* what was one run is within one */
            uint64_t up_to = left ^ (left - 1);
            uint16_t run_is = scratch->runs[side][tp__count_bits(tp__run_starts(is) & up_to) - 1];
            if (from->area[*run_was++] != scratch->area[run_is])
                return true;
        }
    }
    return false;
}

/* ---- A tile's part ---- */

static size_t part_bytes(uint32_t nodes, uint32_t areas, uint32_t runs, bool weighted)
{
    size_t a_node =
        sizeof(uint64_t) + 2 * sizeof(uint8_t) + sizeof(uint16_t) + (weighted ? sizeof(uint16_t) : 0);
    size_t an_area = sizeof(struct tp_blocks_area) + (weighted ? sizeof(uint64_t) : 0);
    return sizeof(struct tp_blocks_tile) + nodes * a_node + areas * an_area + runs * sizeof(uint16_t);
}

size_t tp__tile_bytes(const struct tp_blocks_tile *tile)
{
    return part_bytes(tile->nodes, tile->areas, tile->first_run[TP__BLOCK_STRAIGHT], tile->weight);
}

static struct tp_blocks_tile *tile_new(uint32_t nodes, uint32_t areas, uint32_t runs, bool weighted)
{
    struct tp_blocks_tile *tile = malloc(part_bytes(nodes, areas, runs, weighted));
    if (!tile)
        return NULL;
    atomic_init(&tile->refs, 1);
    tile->nodes = (uint16_t)nodes;
    tile->areas = (uint16_t)areas;
    tile->cells = (uint64_t *)(tile + 1); /* the widest first, so that all are aligned */
    tile->speed = weighted ? tile->cells + nodes : NULL;
    tile->areas_at = (struct tp_blocks_area *)(tile->cells + nodes + (weighted ? areas : 0));
    tile->area = (uint16_t *)(tile->areas_at + areas);
    tile->weight = weighted ? tile->area + nodes : NULL;
    tile->runs = tile->area + (weighted ? 2 : 1) * nodes;
    tile->place = (uint8_t(*)[2])(tile->runs + runs);
    return tile;
}

/* The part that stands in the scratch table; NULL when out of memory. */
static struct tp_blocks_tile *tile_of(const struct tp__scratch *scratch)
{
    uint32_t nodes = scratch->nodes, runs = 0;
    for (uint32_t side = 0; side < TP__BLOCK_STRAIGHT; side++)
        runs += scratch->run_count[side];
    struct tp_blocks_tile *tile = tile_new(nodes, scratch->areas, runs, scratch->map->weighted);
    if (!tile)
        return NULL;
    memcpy(tile->first, scratch->first, sizeof tile->first);
    memcpy(tile->cells, scratch->cells, nodes * sizeof tile->cells[0]);
    memcpy(tile->place, scratch->place, nodes * sizeof tile->place[0]);
    memcpy(tile->area, scratch->area, nodes * sizeof tile->area[0]);
    memcpy(tile->side, scratch->side, sizeof tile->side);
    tile->first_run[0] = 0;
    for (uint32_t side = 0; side < TP__BLOCK_STRAIGHT; side++) {
        memcpy(tile->runs + tile->first_run[side], scratch->runs[side], scratch->run_count[side] * sizeof tile->runs[0]);
        tile->first_run[side + 1] = (uint8_t)(tile->first_run[side] + scratch->run_count[side]);
    }
    if (tile->weight)
        memcpy(tile->weight, scratch->weight, nodes * sizeof tile->weight[0]);
    for (uint32_t i = 0; i < scratch->areas; i++) {
        const struct tp__sum *sum = &scratch->sums[scratch->order[i]];
        tile->areas_at[i] = (struct tp_blocks_area){
            .x = sum->x,
            .y = sum->y,
            .cells = (uint16_t)sum->cells,
            .weight = tile->weight ? weight_of(sum->cells, sum->speed) : 1,
        };
        if (tile->speed)
            tile->speed[i] = sum->speed;
    }
    return tile;
}

struct tp_blocks_tile *tp__tile_build(struct tp__scratch *scratch, const struct tp_map_tile *tile)
{
    scratch->nodes = 0;
    for (uint32_t block = 0; block < TP_BLOCKS_A_TILE; block++) {
        scratch->first[block] = (uint16_t)scratch->nodes;
        tp__block_split(scratch, tile, block, gather(tile, block));
    }
    scratch->first[TP_BLOCKS_A_TILE] = (uint16_t)scratch->nodes;
    join_areas(scratch);
    for (uint32_t side = 0; side < TP__BLOCK_STRAIGHT; side++)
        make_side(scratch, side);
    return tile_of(scratch);
}

/* ---- Following ---- */

/* The bytes of a word that are not 0, as a set. */
static uint64_t bytes_set(uint64_t word)
{
    word |= word >> 4;
    word |= word >> 2;
    word |= word >> 1;
    return tp__bytes_first(word);
}

/* The blocks of a tile whose cells differ, as a set: in being passable, and where the map is weighted in their classes. */
static uint64_t compare(const struct tp_map_tile *before, const struct tp_map_tile *now, bool is_weighted, bool *is_closed)
{
    uint64_t differs = 0, closed = 0;
    for (uint32_t row = 0; row < now->rows; row += TP_BLOCK_SIDE) {
        uint32_t end = row + TP_BLOCK_SIDE < now->rows ? row + TP_BLOCK_SIDE : now->rows;
        const uint8_t *was = tp_map_tile_classes(before) + (size_t)row * now->columns;
        const uint8_t *is = tp_map_tile_classes(now) + (size_t)row * now->columns;
        uint64_t other = 0;
        for (uint32_t i = row; i < end; i++) {
            other |= before->passable[i] ^ now->passable[i];
            closed |= before->passable[i] & ~now->passable[i];
        }
        if (is_weighted && memcmp(was, is, (size_t)(end - row) * now->columns) != 0)
            for (uint32_t i = row; i < end; i++, was += now->columns, is += now->columns)
                for (uint32_t x = 0; x < now->columns; x++)
                    other |= (uint64_t)(was[x] != is[x]) << x;
        differs |= bytes_set(other) << row / TP_BLOCK_SIDE * TP_BLOCKS_A_SIDE;
    }
    *is_closed = closed != 0;
    return differs;
}

/* Appends the nodes of blocks that are as they were, from one up to another. */
static void copy_blocks(struct tp__scratch *scratch, const struct tp_blocks_tile *from, uint32_t block, uint32_t end)
{
    uint32_t at = from->first[block], count = from->first[end] - at, to = scratch->nodes;
    for (uint32_t i = block; i < end; i++)
        scratch->first[i] = (uint16_t)(from->first[i] - at + to);
    memcpy(scratch->cells + to, from->cells + at, count * sizeof scratch->cells[0]);
    memcpy(scratch->place + to, from->place + at, count * sizeof scratch->place[0]);
    if (from->weight)
        memcpy(scratch->weight + to, from->weight + at, count * sizeof scratch->weight[0]);
    scratch->nodes += count;
}

/* Takes a part into the scratch table. */
static void load(struct tp__scratch *scratch, const struct tp_blocks_tile *from)
{
    scratch->nodes = 0;
    copy_blocks(scratch, from, 0, TP_BLOCKS_A_TILE);
    scratch->first[TP_BLOCKS_A_TILE] = from->nodes;
    memcpy(scratch->area, from->area, from->nodes * sizeof from->area[0]);
    memcpy(scratch->side, from->side, sizeof from->side);
    for (uint32_t side = 0; side < TP__BLOCK_STRAIGHT; side++) {
        scratch->run_count[side] = (uint8_t)(from->first_run[side + 1] - from->first_run[side]);
        memcpy(scratch->runs[side], from->runs + from->first_run[side], scratch->run_count[side] * sizeof from->runs[0]);
    }
    scratch->areas = from->areas;
    for (uint32_t i = 0; i < from->areas; i++) {
        const struct tp_blocks_area *area = &from->areas_at[i];
        scratch->sums[i] = (struct tp__sum){area->cells, area->x, area->y, from->speed ? from->speed[i] : 0};
        scratch->origin[i] = scratch->order[i] = (uint16_t)i;
    }
    scratch->joined_count = 0;
    scratch->is_regrouped = false;
    scratch->regrouped_from = TP__TILE_NODES_MAX;
}

/* Exchanges a few blocks one by one. False where that can't be done. */
static bool repair(struct tp__scratch *scratch, const struct tp_blocks_tile *from, const struct tp_map_tile *now, uint64_t differs,
                   struct tp__step *step)
{
    load(scratch, from);
    for (uint64_t left = differs; left; left &= left - 1) {
        uint32_t block = (uint32_t)__builtin_ctzll(left);
        enum tp__exchange done = tp__block_exchange(scratch, now, block, gather(now, block));
        if (done == TP__TOO_WIDE)
            return false;
        step->is_other = step->is_other || done == TP__EXCHANGED;
    }
    if (scratch->is_regrouped)
        tp__areas_number(scratch);
    remake_sides(scratch, differs);
    step->is_cut = step->is_cut && (scratch->is_regrouped || is_side_cut(scratch, from));
    return true;
}

/* Finds out which areas before the areas have their nodes of, by the nodes of blocks that are as they were. */
static void trace(struct tp__scratch *scratch, const struct tp_blocks_tile *from, uint64_t differs)
{
    scratch->is_regrouped = true;
    scratch->joined_count = 0;
    for (uint32_t i = 0; i < scratch->areas; i++)
        scratch->origin[i] = TP__NO_AREA;
    for (uint64_t same = ~differs; same; same &= same - 1) {
        uint32_t block = (uint32_t)__builtin_ctzll(same), was = from->first[block];
        for (uint32_t i = scratch->first[block]; i < scratch->first[block + 1]; i++, was++) {
            uint16_t *origin = &scratch->origin[scratch->area[i]], area = from->area[was];
            if (*origin == TP__NO_AREA)
                *origin = area;
            else if (*origin != area)
                scratch->joined[scratch->joined_count++] = (struct tp__pair){*origin, area};
        }
    }
}

/* Splits the blocks that differ, and joins all nodes to areas anew. */
static void remake(struct tp__scratch *scratch, const struct tp_blocks_tile *from, const struct tp_map_tile *now, uint64_t differs,
                   struct tp__step *step)
{
    uint32_t block = 0;
    step->is_other = false;
    scratch->nodes = 0;
    for (uint64_t left = differs; left; left &= left - 1) {
        uint32_t other = (uint32_t)__builtin_ctzll(left), was = from->first[other];
        copy_blocks(scratch, from, block, other);
        uint32_t is = scratch->nodes;
        scratch->first[other] = (uint16_t)is;
        tp__block_split(scratch, now, other, gather(now, other));
        uint32_t count = scratch->nodes - is;
        step->is_other = step->is_other || count != (uint32_t)(from->first[other + 1] - was) ||
                         memcmp(scratch->cells + is, from->cells + was, count * sizeof from->cells[0]) != 0 ||
                         (from->weight && memcmp(scratch->weight + is, from->weight + was, count * sizeof from->weight[0]) != 0);
        block = other + 1;
    }
    copy_blocks(scratch, from, block, TP_BLOCKS_A_TILE);
    scratch->first[TP_BLOCKS_A_TILE] = (uint16_t)scratch->nodes;
    if (step->is_other) {
        join_areas(scratch);
        for (uint32_t side = 0; side < TP__BLOCK_STRAIGHT; side++)
            make_side(scratch, side);
        trace(scratch, from, differs);
    }
}

struct tp_blocks_tile *tp__tile_follow(struct tp__scratch *scratch, struct tp_blocks_tile *from, const struct tp_map_tile *before,
                                       const struct tp_map_tile *now, struct tp__step *step)
{
    step->blocks = compare(before, now, scratch->map->weighted, &step->is_cut);
    step->is_other = false;
    if (step->blocks && (tp__count_bits(step->blocks) > TP__EXCHANGES_MAX || !repair(scratch, from, now, step->blocks, step)))
        remake(scratch, from, now, step->blocks, step);
    return step->is_other ? tile_of(scratch) : tp__tile_ref(from);
}
