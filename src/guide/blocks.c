/* The block graph. Happy path: each tile's part is made in a scratch table, block by block: the block's passable cells are gathered
 * from the rows of the map's tile, and split by flood filling whole words; then the nodes are joined to areas across the borders
 * of the tile's blocks. What came out is copied into an allocation of just its size. A version that follows shares the parts of
 * the tiles that did not change, and copies the nodes of blocks that did not. Failure: out of memory gives up what was made; the version
 * before stays as it was. */
#include "guide/blocks.h"

#include "base/check.h"
#include "guide/blocks_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_NODES_MAX = TP_BLOCK_CELLS / 2, /* a chequered block */
    TILE_NODES_MAX = BLOCK_NODES_MAX * TP_BLOCKS_A_TILE,
    TOUCHING_MAX = TP_BLOCKS_A_TILE *
                   (2 * 3 * TP_BLOCK_SIDE + 2), /* a cell on a border has three opposite; and two corners */
};

#define SPEED (UINT64_C(1) << 32) /* over weight 1 */

/* One tile's part while it is made. */
struct scratch {
    const struct tp_map *map;
    enum tp_blocks_links links;
    uint32_t nodes, areas;
    uint16_t first[TP_BLOCKS_A_TILE + 1];
    uint64_t cells[TILE_NODES_MAX];
    uint8_t place[TILE_NODES_MAX][2];
    uint16_t area[TILE_NODES_MAX];
    uint16_t weight[TILE_NODES_MAX];
    uint16_t parent[TILE_NODES_MAX]; /* nodes joined so far: a node of the same set, never a later one */
    struct pair {
        uint16_t one, other;
    } touching[TOUCHING_MAX + 1]; /* one is written before it counts */
    struct sum {                  /* per area: over its cells */
        uint32_t cells, x, y;
        uint64_t speed;
    } sums[TILE_NODES_MAX];
    uint64_t speed[256]; /* by class of cell, passable ones */
};

/* ---- Cells of a block ---- */

static inline uint32_t count_bits(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

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

/* The rounded mean of the cells' columns, or with `shift` 3 of their rows, in TP_BLOCK_POINT; the middle of a cell is half a cell in. */
static uint8_t mean_column(uint64_t cells, uint32_t count)
{
    uint32_t sum = count_bits(cells & UINT64_C(0xaaaaaaaaaaaaaaaa)) +
                   2 * count_bits(cells & UINT64_C(0xcccccccccccccccc)) +
                   4 * count_bits(cells & UINT64_C(0xf0f0f0f0f0f0f0f0));
    return (uint8_t)((TP_BLOCK_POINT * sum + count / 2) / count + TP_BLOCK_POINT / 2);
}

static uint8_t mean_row(uint64_t cells, uint32_t count)
{
    uint32_t sum = count_bits(cells & UINT64_C(0xff00ff00ff00ff00)) +
                   2 * count_bits(cells & UINT64_C(0xffff0000ffff0000)) +
                   4 * count_bits(cells & UINT64_C(0xffffffff00000000));
    return (uint8_t)((TP_BLOCK_POINT * sum + count / 2) / count + TP_BLOCK_POINT / 2);
}

/* The weight that `count` cells of so much speed in all have between them, rounded: who walks from place to place goes where it is
 * fast, and a few heavy cells that can be gone round say little. */
static uint16_t weight_of(uint32_t count, uint64_t speed)
{
    return (uint16_t)(((uint64_t)count * SPEED + speed / 2) / speed);
}

/* The rounded harmonic mean of the weights of cells of a block. */
static uint16_t mean_weight(const struct scratch *scratch, const struct tp_map_tile *tile, uint32_t block,
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

/* Appends the components of a block. */
static void split(struct scratch *scratch, const struct tp_map_tile *tile, uint32_t block, uint64_t cells)
{
    while (cells) {
        uint32_t node = scratch->nodes++;
        uint64_t part = ~cells ? flood(cells & -cells, cells, scratch->links) : cells;
        uint32_t count = count_bits(part);
        cells &= ~part;
        scratch->cells[node] = part;
        scratch->place[node][0] = mean_column(part, count);
        scratch->place[node][1] = mean_row(part, count);
        if (scratch->map->weighted)
            scratch->weight[node] = mean_weight(scratch, tile, block, part, count);
    }
}

/* ---- Areas of a tile ---- */

static inline uint16_t area_root(struct scratch *scratch, uint16_t node)
{
    while (scratch->parent[node] != node)
        node = scratch->parent[node] = scratch->parent[scratch->parent[node]];
    return node;
}

/* Lists the nodes of two blocks of the tile that touch across their border. The list grows without a branch on what touches, which
 * would be guessed wrong half the time. */
TP_ALWAYS_INLINE uint32_t list_touching(struct scratch *scratch, uint32_t count, uint32_t a, uint32_t b,
                                        uint32_t direction, enum tp_blocks_links links)
{
    for (uint32_t i = scratch->first[a]; i < scratch->first[a + 1]; i++) {
        uint64_t reach = tp__block_across(scratch->cells[i], direction, links);
        for (uint32_t j = scratch->first[b]; j < scratch->first[b + 1]; j++) {
            scratch->touching[count] = (struct pair){(uint16_t)i, (uint16_t)j};
            count += (scratch->cells[j] & reach) != 0;
        }
    }
    return count;
}

/* Joins the nodes that touch. */
TP_ALWAYS_INLINE void join_nodes(struct scratch *scratch, enum tp_blocks_links links)
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
static void join_areas(struct scratch *scratch)
{
    if (scratch->links == TP_BLOCKS_DIAGONAL)
        join_nodes(scratch, TP_BLOCKS_DIAGONAL);
    else
        join_nodes(scratch, TP_BLOCKS_STRAIGHT);
    scratch->areas = 0;
    for (uint32_t i = 0; i < scratch->nodes; i++) { /* a root comes before the others of its set */
        uint16_t root = area_root(scratch, (uint16_t)i);
        if (root == i) {
            scratch->sums[scratch->areas] = (struct sum){0};
            scratch->area[i] = (uint16_t)scratch->areas++;
        } else {
            scratch->area[i] = scratch->area[root];
        }
    }
    for (uint32_t block = 0; block < TP_BLOCKS_A_TILE; block++) {
        uint32_t x = block % TP_BLOCKS_A_SIDE * TP_BLOCK_SIDE * TP_BLOCK_POINT;
        uint32_t y = block / TP_BLOCKS_A_SIDE * TP_BLOCK_SIDE * TP_BLOCK_POINT;
        for (uint32_t i = scratch->first[block]; i < scratch->first[block + 1]; i++) {
            struct sum *sum = &scratch->sums[scratch->area[i]];
            uint32_t count = count_bits(scratch->cells[i]);
            sum->cells += count;
            sum->x += count * (x + scratch->place[i][0]);
            sum->y += count * (y + scratch->place[i][1]);
            if (scratch->map->weighted)
                sum->speed += count * (SPEED / scratch->weight[i]);
        }
    }
}

/* ---- A tile's part ---- */

static size_t tile_bytes(uint32_t nodes, uint32_t areas, bool weighted)
{
    size_t a_node =
        sizeof(uint64_t) + 2 * sizeof(uint8_t) + sizeof(uint16_t) + (weighted ? sizeof(uint16_t) : 0);
    return sizeof(struct tp_blocks_tile) + nodes * a_node + areas * sizeof(struct tp_blocks_area);
}

static struct tp_blocks_tile *tile_new(uint32_t nodes, uint32_t areas, bool weighted)
{
    struct tp_blocks_tile *tile = malloc(tile_bytes(nodes, areas, weighted));
    if (!tile)
        return NULL;
    atomic_init(&tile->refs, 1);
    tile->nodes = (uint16_t)nodes;
    tile->areas = (uint16_t)areas;
    tile->cells = (uint64_t *)(tile + 1); /* the widest first, so that all are aligned */
    tile->areas_at = (struct tp_blocks_area *)(tile->cells + nodes);
    tile->area = (uint16_t *)(tile->areas_at + areas);
    tile->weight = weighted ? tile->area + nodes : NULL;
    tile->place = (uint8_t(*)[2])(tile->area + (weighted ? 2 : 1) * nodes);
    return tile;
}

static void tile_unref(struct tp_map_held *held, struct tp_blocks_tile *tile)
{
    if (!tile || atomic_fetch_sub_explicit(&tile->refs, 1, memory_order_acq_rel) != 1)
        return;
    tp__held_take(held, tile_bytes(tile->nodes, tile->areas, tile->weight));
    free(tile);
}

static struct tp_blocks_tile *tile_ref(struct tp_blocks_tile *tile)
{
    atomic_fetch_add_explicit(&tile->refs, 1, memory_order_relaxed);
    return tile;
}

/* The part that stands in the scratch table; NULL when out of memory. */
static struct tp_blocks_tile *tile_of(const struct scratch *scratch)
{
    uint32_t nodes = scratch->nodes;
    struct tp_blocks_tile *tile = tile_new(nodes, scratch->areas, scratch->map->weighted);
    if (!tile)
        return NULL;
    memcpy(tile->first, scratch->first, sizeof tile->first);
    memcpy(tile->cells, scratch->cells, nodes * sizeof tile->cells[0]);
    memcpy(tile->place, scratch->place, nodes * sizeof tile->place[0]);
    memcpy(tile->area, scratch->area, nodes * sizeof tile->area[0]);
    if (tile->weight)
        memcpy(tile->weight, scratch->weight, nodes * sizeof tile->weight[0]);
    for (uint32_t i = 0; i < scratch->areas; i++) {
        const struct sum *sum = &scratch->sums[i];
        uint32_t half = sum->cells / 2;
        tile->areas_at[i] = (struct tp_blocks_area){
            .x = (uint16_t)((sum->x + half) / sum->cells),
            .y = (uint16_t)((sum->y + half) / sum->cells),
            .cells = (uint16_t)sum->cells,
            .weight = tile->weight ? weight_of(sum->cells, sum->speed) : 1,
        };
    }
    return tile;
}

/* The part of a tile of the map, from nothing; NULL when out of memory. */
static struct tp_blocks_tile *tile_build(struct scratch *scratch, const struct tp_map_tile *tile)
{
    scratch->nodes = 0;
    for (uint32_t block = 0; block < TP_BLOCKS_A_TILE; block++) {
        scratch->first[block] = (uint16_t)scratch->nodes;
        split(scratch, tile, block, gather(tile, block));
    }
    scratch->first[TP_BLOCKS_A_TILE] = (uint16_t)scratch->nodes;
    join_areas(scratch);
    return tile_of(scratch);
}

/* ---- Following ---- */

/* What became of a tile. */
struct step {
    bool is_other;  /* its part is not the one before */
    bool is_closed; /* some cell of it closed */
};

/* The blocks of a tile whose cells differ, as a set: in being passable, and where the map is weighted in their classes. */
static uint64_t compare(const struct tp_map_tile *before, const struct tp_map_tile *now, bool is_weighted,
                        struct step *step)
{
    uint64_t differs = 0, closed = 0;
    for (uint32_t row = 0; row < now->rows; row++) {
        uint64_t was = before->passable[row], is = now->passable[row], other = was ^ is;
        const uint8_t *was_class = tp_map_tile_classes(before) + (size_t)row * now->columns;
        const uint8_t *is_class = tp_map_tile_classes(now) + (size_t)row * now->columns;
        closed |= was & ~is;
        if (is_weighted && memcmp(was_class, is_class, now->columns) != 0)
            for (uint32_t x = 0; x < now->columns; x++)
                other |= (uint64_t)(was_class[x] != is_class[x]) << x;
        if (!other)
            continue;
        for (uint32_t x = 0; x < TP_BLOCKS_A_SIDE; x++)
            differs |= (uint64_t)((other >> x * TP_BLOCK_SIDE & TP__BLOCK_TOP) != 0)
                       << (row / TP_BLOCK_SIDE * TP_BLOCKS_A_SIDE + x);
    }
    step->is_closed = closed != 0;
    return differs;
}

/* Appends the nodes of blocks that are as they were, from one up to another. */
static void copy_blocks(struct scratch *scratch, const struct tp_blocks_tile *from, uint32_t block,
                        uint32_t end)
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

/* Whether the block made last has nodes as in another part. */
static bool is_block_same(const struct scratch *scratch, const struct tp_blocks_tile *from, uint32_t block)
{
    uint32_t is = scratch->first[block], was = from->first[block], count = scratch->nodes - is;
    return count == from->first[block + 1] - was &&
           memcmp(scratch->cells + is, from->cells + was, count * sizeof from->cells[0]) == 0 &&
           (!from->weight ||
            memcmp(scratch->weight + is, from->weight + was, count * sizeof from->weight[0]) == 0);
}

/* The part of a tile that was `before` and had the part `from`: that part itself where it is the same. NULL when out of memory. */
static struct tp_blocks_tile *tile_follow(struct scratch *scratch, struct tp_blocks_tile *from,
                                          const struct tp_map_tile *before, const struct tp_map_tile *now,
                                          struct step *step)
{
    uint64_t differs = compare(before, now, scratch->map->weighted, step);
    uint32_t block = 0;
    step->is_other = false;
    scratch->nodes = 0;
    for (uint64_t left = differs; left; left &= left - 1) {
        uint32_t other = (uint32_t)__builtin_ctzll(left);
        copy_blocks(scratch, from, block, other);
        scratch->first[other] = (uint16_t)scratch->nodes;
        split(scratch, now, other, gather(now, other));
        step->is_other = step->is_other || !is_block_same(scratch, from, other);
        block = other + 1;
    }
    if (!step->is_other)
        return tile_ref(from);
    copy_blocks(scratch, from, block, TP_BLOCKS_A_TILE);
    scratch->first[TP_BLOCKS_A_TILE] = (uint16_t)scratch->nodes;
    join_areas(scratch);
    return tile_of(scratch);
}

/* ---- Versions ---- */

/* A version without tiles, marks and labels; NULL when out of memory. */
static struct tp_blocks *blocks_new(const struct tp_map *map, enum tp_blocks_links links)
{
    size_t tiles = (size_t)map->tiles_x * map->tiles_y;
    struct tp_blocks *blocks =
        calloc(1, sizeof *blocks + tiles * sizeof blocks->tiles[0] + 2 * (tiles + 1) * sizeof(uint32_t));
    if (!blocks)
        return NULL;
    atomic_init(&blocks->refs, 1);
    blocks->links = links;
    blocks->tiles_x = map->tiles_x;
    blocks->tiles_y = map->tiles_y;
    blocks->epoch = map->epoch;
    blocks->version = map->version;
    blocks->tiles = (struct tp_blocks_tile **)(blocks + 1);
    blocks->first_node = (uint32_t *)(blocks->tiles + tiles);
    blocks->first_area = blocks->first_node + tiles + 1;
    return blocks;
}

static size_t tiles_of(const struct tp_blocks *blocks)
{
    return (size_t)blocks->tiles_x * blocks->tiles_y;
}

/* A version with its tables and labels, but for its tiles. */
static size_t own_bytes(const struct tp_blocks *blocks)
{
    size_t tiles = tiles_of(blocks);
    return sizeof *blocks + tiles * sizeof blocks->tiles[0] + 2 * (tiles + 1) * sizeof(uint32_t) +
           (blocks->label ? blocks->areas * sizeof blocks->label[0] : 0);
}

/* Counts a version that is whole, and those of its tiles that it shares with no other: the one before is held meanwhile. */
static void count_in(struct tp_blocks *blocks, struct tp_map_held *held)
{
    blocks->held = held;
    tp__held_add(held, own_bytes(blocks));
    for (size_t i = 0; held && i < tiles_of(blocks); i++) {
        const struct tp_blocks_tile *tile = blocks->tiles[i];
        if (atomic_load_explicit(&tile->refs, memory_order_relaxed) == 1)
            tp__held_add(held, tile_bytes(tile->nodes, tile->areas, tile->weight));
    }
}

/* Numbers nodes and areas tile by tile. */
static void number(struct tp_blocks *blocks)
{
    size_t tiles = tiles_of(blocks);
    for (size_t i = 0; i < tiles; i++) {
        blocks->first_node[i] = blocks->nodes;
        blocks->first_area[i] = blocks->areas;
        blocks->nodes += blocks->tiles[i]->nodes;
        blocks->areas += blocks->tiles[i]->areas;
    }
    blocks->first_node[tiles] = blocks->nodes;
    blocks->first_area[tiles] = blocks->areas;
}

static struct scratch *scratch_new(const struct tp_map *map, enum tp_blocks_links links)
{
    struct scratch *scratch = malloc(sizeof *scratch);
    if (scratch) {
        scratch->map = map;
        scratch->links = links;
        for (uint32_t class = 0; class < 256; class++)
            scratch->speed[class] = map->profile.weight[class] ? SPEED / map->profile.weight[class] : 0;
    }
    return scratch;
}

/* Makes all tiles. */
static int fill(struct tp_blocks *blocks, const struct tp_map *map)
{
    struct scratch *scratch = scratch_new(map, blocks->links);
    int error = scratch ? TP_OK : TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < tiles_of(blocks) && !error; i++) {
        blocks->tiles[i] = tile_build(scratch, map->tiles[i]);
        error = blocks->tiles[i] ? TP_OK : TP_ERR_NO_MEMORY;
    }
    free(scratch);
    return error;
}

int tp_blocks_build(struct tp_blocks **out, const struct tp_map *map, enum tp_blocks_links links)
{
    *out = NULL;
    if (map->graph || map->puzzle)
        return TP_ERR_UNSUPPORTED;
    struct tp_blocks *blocks = blocks_new(map, links);
    if (!blocks)
        return TP_ERR_NO_MEMORY;
    blocks->changed_version = map->version;
    int error = fill(blocks, map);
    if (!error) {
        number(blocks);
        error = tp__blocks_label(blocks);
    }
    if (error) {
        tp_blocks_unref(blocks);
        return error;
    }
    count_in(blocks, map->held);
    *out = blocks;
    return TP_OK;
}

/* Shares or makes all tiles. *closed gets how many of those that are not shared had a cell closed. */
static int fill_following(struct tp_blocks *blocks, const struct tp_blocks *from, const struct tp_map *before,
                          const struct tp_map *now, uint32_t *closed)
{
    struct scratch *scratch = NULL;
    int error = TP_OK;
    *closed = 0;
    for (size_t i = 0; i < tiles_of(blocks) && !error; i++) {
        if (before->tiles[i] == now->tiles[i]) {
            blocks->tiles[i] = tile_ref(from->tiles[i]);
            continue;
        }
        if (!scratch)
            scratch = scratch_new(now, blocks->links);
        struct step step = {false, false};
        if (scratch)
            blocks->tiles[i] = tile_follow(scratch, from->tiles[i], before->tiles[i], now->tiles[i], &step);
        error = blocks->tiles[i] ? TP_OK : TP_ERR_NO_MEMORY;
        *closed += step.is_closed;
        if (step.is_other)
            blocks->changed_version = now->version;
    }
    free(scratch);
    return error;
}

int tp_blocks_follow(struct tp_blocks **out, const struct tp_blocks *blocks, const struct tp_map *before,
                     const struct tp_map *now)
{
    *out = NULL;
    TP_CHECK(blocks->epoch == before->epoch && blocks->version == before->version &&
             blocks->epoch == now->epoch);
    TP_CHECK(blocks->tiles_x == now->tiles_x && blocks->tiles_y == now->tiles_y);
    struct tp_blocks *next = blocks_new(now, blocks->links);
    if (!next)
        return TP_ERR_NO_MEMORY;
    uint32_t closed;
    next->changed_version = blocks->changed_version;
    int error = fill_following(next, blocks, before, now, &closed);
    if (!error) {
        number(next);
        error = tp__blocks_label_follow(next, blocks, closed);
    }
    if (error) {
        tp_blocks_unref(next);
        return error;
    }
    count_in(next, blocks->held);
    *out = next;
    return TP_OK;
}

/* ---- What is believed ---- */

/* A tile that cells can be written to; freed with free. NULL when out of memory. */
static struct tp_map_tile *page_new(void)
{
    return malloc(sizeof(struct tp_map_tile) + TP_MAP_TILE * (sizeof(uint64_t) + TP_MAP_TILE));
}

/* Makes a tile's part of cells that are all free. */
static struct tp_blocks_tile *free_part(struct scratch *scratch, struct tp_map_tile *page, const struct tp_map_tile *of)
{
    page->columns = of->columns;
    page->rows = of->rows;
    for (uint32_t row = 0; row < page->rows; row++)
        page->passable[row] = ~UINT64_C(0) >> (TP_MAP_TILE - page->columns);
    memset(tp_map_tile_classes(page), tp_profile_least_class(&scratch->map->profile), (size_t)page->columns * page->rows);
    return tile_build(scratch, page);
}

/* Makes or shares all tiles. They are counted in `held`. */
static int fill_free(struct tp_blocks *blocks, const struct tp_map *map)
{
    enum { LAST_COLUMN = 1, LAST_ROW = 2 };
    struct tp_blocks_tile *parts[LAST_COLUMN + LAST_ROW + 1] = {NULL};
    struct scratch *scratch = scratch_new(map, blocks->links);
    struct tp_map_tile *page = page_new();
    int error = scratch && page ? TP_OK : TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < tiles_of(blocks) && !error; i++) {
        uint32_t place = (i % map->tiles_x == map->tiles_x - 1 ? LAST_COLUMN : 0) +
                         (i / map->tiles_x == map->tiles_y - 1 ? LAST_ROW : 0);
        struct tp_blocks_tile *part = parts[place];
        blocks->tiles[i] = part ? tile_ref(part) : free_part(scratch, page, map->tiles[i]);
        if (!blocks->tiles[i])
            error = TP_ERR_NO_MEMORY;
        else if (!part)
            tp__held_add(map->held, tile_bytes(blocks->tiles[i]->nodes, blocks->tiles[i]->areas, blocks->tiles[i]->weight));
        parts[place] = blocks->tiles[i];
    }
    free(scratch);
    free(page);
    return error;
}

int tp_blocks_build_free(struct tp_blocks **out, const struct tp_map *map, enum tp_blocks_links links)
{
    *out = NULL;
    if (map->graph || map->puzzle)
        return TP_ERR_UNSUPPORTED;
    struct tp_blocks *blocks = blocks_new(map, links);
    if (!blocks)
        return TP_ERR_NO_MEMORY;
    blocks->changed_version = map->version;
    blocks->held = map->held;
    tp__held_add(blocks->held, own_bytes(blocks));
    int error = fill_free(blocks, map);
    if (error) {
        tp_blocks_unref(blocks);
        return error;
    }
    number(blocks);
    *out = blocks;
    return TP_OK;
}

/* Whether two parts are the same. */
static bool is_part_same(const struct tp_blocks_tile *a, const struct tp_blocks_tile *b)
{
    return a->nodes == b->nodes && memcmp(a->first, b->first, sizeof a->first) == 0 &&
           memcmp(a->cells, b->cells, a->nodes * sizeof a->cells[0]) == 0 &&
           (!a->weight || memcmp(a->weight, b->weight, a->nodes * sizeof a->weight[0]) == 0);
}

/* Shares or makes all tiles. */
static int fill_believed(struct tp_blocks *blocks, const struct tp_blocks *from, const struct tp_map *map, const uint32_t *tiles,
                         uint32_t count, tp_blocks_read_cb read, const void *context)
{
    struct scratch *scratch = scratch_new(map, blocks->links);
    struct tp_map_tile *page = page_new();
    int error = scratch && page ? TP_OK : TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < tiles_of(blocks) && !error; i++)
        blocks->tiles[i] = tile_ref(from->tiles[i]);
    for (uint32_t i = 0; i < count && !error; i++) {
        page->columns = map->tiles[tiles[i]]->columns;
        page->rows = map->tiles[tiles[i]]->rows;
        read(context, tiles[i], page);
        struct tp_blocks_tile **at = &blocks->tiles[tiles[i]], *part = tile_build(scratch, page);
        if (part && !is_part_same(part, *at)) {
            struct tp_blocks_tile *before = *at;
            *at = part;
            part = before;
            blocks->changed_version = blocks->version;
        }
        error = part ? TP_OK : TP_ERR_NO_MEMORY;
        tile_unref(NULL, part); /* the part before is held by `from`, the one that is the same was never counted */
    }
    free(scratch);
    free(page);
    return error;
}

int tp_blocks_believe(struct tp_blocks **out, const struct tp_blocks *blocks, const struct tp_map *map, const uint32_t *tiles,
                      uint32_t count, tp_blocks_read_cb read, const void *context, struct tp_map_held *held)
{
    *out = NULL;
    TP_CHECK(blocks->tiles_x == map->tiles_x && blocks->tiles_y == map->tiles_y);
    struct tp_blocks *next = blocks_new(map, blocks->links);
    if (!next)
        return TP_ERR_NO_MEMORY;
    next->epoch = blocks->epoch;
    next->version = blocks->version + 1;
    next->changed_version = blocks->changed_version;
    int error = fill_believed(next, blocks, map, tiles, count, read, context);
    if (error) {
        tp_blocks_unref(next);
        return error;
    }
    number(next);
    count_in(next, held);
    *out = next;
    return TP_OK;
}

const struct tp_blocks *tp_blocks_ref(const struct tp_blocks *blocks)
{
    uint32_t before = atomic_fetch_add_explicit(&((struct tp_blocks *)blocks)->refs, 1, memory_order_relaxed);
    TP_CHECK(before != 0);
    return blocks;
}

void tp_blocks_unref(const struct tp_blocks *blocks)
{
    if (!blocks)
        return;
    struct tp_blocks *own = (struct tp_blocks *)blocks;
    if (atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < tiles_of(own); i++)
        tile_unref(own->held, own->tiles[i]);
    tp__held_take(own->held, own_bytes(own));
    free(own->label);
    free(own);
}

size_t tp_blocks_bytes(const struct tp_blocks *blocks)
{
    size_t tiles = tiles_of(blocks), bytes = own_bytes(blocks);
    for (size_t i = 0; i < tiles; i++) {
        const struct tp_blocks_tile *tile = blocks->tiles[i];
        bytes += tile_bytes(tile->nodes, tile->areas, tile->weight) /
                 atomic_load_explicit(&tile->refs, memory_order_relaxed);
    }
    return bytes;
}
