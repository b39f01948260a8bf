/* Reachability: a label for each area, so that areas with different labels are in parts of the map that no way joins.
 *
 * The map is cut into squares of TP_BLOCKS_SQUARE tiles a side. Within a square, areas that hang together are a *region*; regions that hang
 * together across the squares' borders have one *label*. Labels of regions are made anew in every version, which costs the squares' borders.
 *
 * What holds after every step: two areas that a legal move joins have one label. So a way, which is a chain of such moves, never leads from
 * one label to another. A square's regions made anew are exact: areas are in one region only if a way within the square joins them. Where
 * all squares are exact the labels are.
 *
 * Following a version: an area has the region of the area that its nodes were in before, one whose nodes are all new has a region of its
 * own, and regions are joined that came together, one going on as the other: within a tile, or across the borders between tiles, at blocks
 * that changed. Where cells only opened that is exact if it was exact; where some closed, parts that were cut in two may go on as one
 * region, and the square is *blurred*. In each version the next blurred square in turn is made anew, so that a map of one square has exact
 * labels always, and a batch that touches one square of a map with exact labels leaves them so.
 *
 * Labels depend on the sequence of versions, and on nothing else. Failure: out of memory leaves the version without labels, and its
 * maker gives it up. */
#include "map/blocks_internal.h"

#include <stdlib.h>
#include <string.h>

/* Regions of one square, or all, while they are joined. */
struct sets {
    uint32_t *parent; /* a member of the same set, never a later one */
    uint32_t count;
    const uint32_t *here, *there;    /* the regions of two tiles whose border is gone through, */
    uint32_t base_here, base_there; /* counted from these on */
};

static uint32_t set_root(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Joins two regions. */
static void join(struct sets *sets, uint32_t one, uint32_t other)
{
    if (one == other)
        return;
    one = set_root(sets->parent, one);
    other = set_root(sets->parent, other);
    sets->parent[one > other ? one : other] = one < other ? one : other;
}

/* Joins the regions of two areas that a move joins. */
static void join_across(void *context, uint32_t area, uint32_t area_there)
{
    struct sets *sets = context;
    join(sets, sets->base_here + sets->here[area], sets->base_there + sets->there[area_there]);
}

static void sets_grow(struct sets *sets, uint32_t count)
{
    for (; sets->count < count; sets->count++)
        sets->parent[sets->count] = sets->count;
}

/* Numbers the sets from 0 in the order of their first members: parent[i] becomes the number of i's. Returns how many there are. */
static uint32_t sets_number(struct sets *sets)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sets->count; i++) /* the set of an earlier one is numbered already */
        sets->parent[i] = sets->parent[i] == i ? count++ : sets->parent[sets->parent[i]];
    return count;
}

/* ---- Squares ---- */

static uint32_t square_of(const struct tp_blocks *blocks, uint32_t tile)
{
    return tile / blocks->tiles_x / TP_BLOCKS_SQUARE * blocks->squares_x + tile % blocks->tiles_x / TP_BLOCKS_SQUARE;
}

/* The tiles of a square: columns and rows, up to the ends. */
struct extent {
    uint32_t x0, y0, x1, y1;
};

static struct extent extent_of(const struct tp_blocks *blocks, uint32_t square)
{
    uint32_t x = square % blocks->squares_x * TP_BLOCKS_SQUARE, y = square / blocks->squares_x * TP_BLOCKS_SQUARE;
    uint32_t x1 = x + TP_BLOCKS_SQUARE, y1 = y + TP_BLOCKS_SQUARE;
    return (struct extent){x, y, x1 < blocks->tiles_x ? x1 : blocks->tiles_x, y1 < blocks->tiles_y ? y1 : blocks->tiles_y};
}

/* Joins what meets across the border to the next tile in a direction, from some cells along it, if that lies in the same square, or
 * if it doesn't. */
static void join_towards(struct sets *sets, const struct tp_blocks *blocks, uint32_t tile, uint32_t direction, uint64_t along,
                         bool is_inside)
{
    uint32_t there = tp__tile_step(blocks, tile, direction);
    if (there == TP_BLOCKS_NONE)
        return;
    uint32_t square = square_of(blocks, tile), square_there = square_of(blocks, there);
    if ((square == square_there) != is_inside)
        return;
    sets->here = blocks->region + blocks->first_area[tile];
    sets->there = blocks->region + blocks->first_area[there];
    sets->base_here = is_inside ? 0 : blocks->first_region[square];
    sets->base_there = is_inside ? 0 : blocks->first_region[square_there];
    tp__tile_crossings(blocks->tiles[tile], blocks->tiles[there], direction, blocks->links, along, join_across, sets);
}

/* The same for all later tiles around. Moves across a corner matter under DIAGONAL links alone: under STRAIGHT links the corners' cells,
 * which are in tiles between, join the same. */
static void join_later(struct sets *sets, const struct tp_blocks *blocks, uint32_t tile, bool is_inside)
{
    static const uint8_t later[] = {0, 1, 4, 5};
    for (uint32_t i = 0; i < (blocks->links == TP_BLOCKS_DIAGONAL ? 4 : 2); i++)
        join_towards(sets, blocks, tile, later[i], UINT64_MAX, is_inside);
}

/* Joins what meets across a tile's borders within its square, at those of its blocks that changed. */
static void join_changed(struct sets *sets, const struct tp_blocks *blocks, uint32_t tile, uint64_t changed)
{
    static const uint8_t corner[] = {63, 56, 0, 7}; /* blocks, by diagonal direction */
    const uint64_t sides[TP__BLOCK_STRAIGHT] = {tp__bytes_first(changed >> 7), changed >> 56, tp__bytes_first(changed), changed & TP__BLOCK_TOP};
    for (uint32_t side = 0; side < TP__BLOCK_STRAIGHT; side++) {
        uint64_t along = 0; /* each block's bit made a byte of cells */
        for (uint64_t left = sides[side]; left; left &= left - 1)
            along |= TP__BLOCK_TOP << TP_BLOCK_SIDE * __builtin_ctzll(left);
        if (along)
            join_towards(sets, blocks, tile, side, along, true);
    }
    for (uint32_t i = 0; i < 4 && blocks->links == TP_BLOCKS_DIAGONAL; i++)
        if (changed >> corner[i] & 1)
            join_towards(sets, blocks, tile, TP__BLOCK_STRAIGHT + i, UINT64_MAX, true);
}

/* Makes a square's regions from nothing. */
static void square_remake(struct tp_blocks *blocks, uint32_t square, struct sets *sets)
{
    struct extent extent = extent_of(blocks, square);
    const uint32_t *first_area = blocks->first_area;
    for (uint32_t y = extent.y0; y < extent.y1; y++) {
        uint32_t first = first_area[y * blocks->tiles_x + extent.x0], end = first_area[y * blocks->tiles_x + extent.x1];
        for (uint32_t i = first; i < end; i++)
            blocks->region[i] = sets->count + i - first;
        sets_grow(sets, sets->count + end - first);
    }
    for (uint32_t y = extent.y0; y < extent.y1; y++)
        for (uint32_t x = extent.x0; x < extent.x1; x++)
            join_later(sets, blocks, y * blocks->tiles_x + x, true);
    uint32_t count = sets_number(sets);
    for (uint32_t y = extent.y0; y < extent.y1; y++)
        for (uint32_t i = first_area[y * blocks->tiles_x + extent.x0]; i < first_area[y * blocks->tiles_x + extent.x1]; i++)
            blocks->region[i] = sets->parent[blocks->region[i]];
    sets->count = 0;
    sets_grow(sets, count);
}

/* What became of a tile; NULL: its areas are those of the same numbers before. */
static const struct tp__tile_step *step_of(const struct tp_blocks *blocks, const struct tp_blocks *before, uint32_t tile,
                                           const struct tp__steps *steps)
{
    const struct tp__tile_step *step = blocks->tiles[tile] == before->tiles[tile] ? NULL : &steps->of[steps->at[tile]];
    bool is_emptied = step && !blocks->tiles[tile]->areas && before->tiles[tile]->areas; /* and has no origins either */
    return step && (step->origins || is_emptied) ? step : NULL;
}

/* Gives a tile's areas the regions that they had, or new ones, and joins those that came together within it. */
static void tile_follow(struct tp_blocks *blocks, const struct tp_blocks *before, const struct tp__tile_step *step, const uint16_t *list,
                        struct sets *sets)
{
    uint32_t *region = blocks->region + blocks->first_area[step->tile];
    const uint32_t *was = before->region + before->first_area[step->tile];
    for (uint32_t i = 0; i < step->origins; i++) {
        uint16_t origin = *list++;
        region[i] = origin == UINT16_MAX ? sets->count : was[origin];
        sets_grow(sets, sets->count + (origin == UINT16_MAX));
    }
    for (uint32_t i = 0; i < step->joined; i++, list += 2)
        join(sets, was[list[0]], was[list[1]]);
}

/* Makes a square's regions from those of the version before. */
static void square_follow(struct tp_blocks *blocks, const struct tp_blocks *before, uint32_t square, const struct tp__steps *steps,
                          struct sets *sets)
{
    struct extent extent = extent_of(blocks, square);
    sets->count = before->first_region[square + 1] - before->first_region[square];
    memcpy(sets->parent, before->joined + before->first_region[square], sets->count * sizeof sets->parent[0]);
    for (uint32_t y = extent.y0; y < extent.y1; y++)
        for (uint32_t tile = y * blocks->tiles_x + extent.x0, end = y * blocks->tiles_x + extent.x1; tile < end;) {
            const struct tp__tile_step *step = step_of(blocks, before, tile, steps);
            uint32_t first = tile++;
            if (step) {
                tile_follow(blocks, before, step, steps->list + step->list, sets);
                continue;
            }
            while (tile < end && !step_of(blocks, before, tile, steps))
                tile++;
            uint32_t count = blocks->first_area[tile] - blocks->first_area[first];
            memcpy(blocks->region + blocks->first_area[first], before->region + before->first_area[first], count * sizeof(uint32_t));
        }
    for (uint32_t y = extent.y0; y < extent.y1; y++)
        for (uint32_t tile = y * blocks->tiles_x + extent.x0; tile < y * blocks->tiles_x + extent.x1; tile++)
            if (blocks->tiles[tile] != before->tiles[tile])
                join_changed(sets, blocks, tile, steps->of[steps->at[tile]].blocks);
    for (uint32_t i = 0; i < sets->count; i++)
        sets->parent[i] = sets->parent[sets->parent[i]]; /* that of an earlier one is a root already */
}

/* ---- Labels ---- */

/* Joins regions across the squares' borders, and numbers their labels. */
static int label_regions(struct tp_blocks *blocks)
{
    uint32_t squares = blocks->squares_x * blocks->squares_y, regions = blocks->first_region[squares];
    struct sets sets = {.parent = malloc(((size_t)regions + 1) * sizeof *sets.parent), .count = regions};
    if (!sets.parent)
        return TP_ERR_NO_MEMORY;
    for (uint32_t square = 0; square < squares; square++)
        for (uint32_t i = blocks->first_region[square]; i < blocks->first_region[square + 1]; i++)
            sets.parent[i] = blocks->first_region[square] + blocks->joined[i];
    for (uint32_t square = 0; square < squares; square++) {
        struct extent extent = extent_of(blocks, square);
        for (uint32_t y = extent.y0; y < extent.y1; y++)
            for (uint32_t x = extent.x0; x < extent.x1; x++)
                if (x == extent.x0 || x + 1 == extent.x1 || y + 1 == extent.y1)
                    join_later(&sets, blocks, y * blocks->tiles_x + x, false);
    }
    blocks->label_count = sets_number(&sets);
    blocks->label = sets.parent;
    return TP_OK;
}

/* Marks the squares in which something was cut, then takes back the mark of the one whose turn it is: it is made anew. */
static void blur(struct tp_blocks *blocks, const struct tp_blocks *before, const struct tp__steps *steps, uint8_t *is_remade)
{
    uint32_t squares = blocks->squares_x * blocks->squares_y;
    bool is_done = false;
    memcpy(blocks->is_blurred, before->is_blurred, squares);
    for (uint32_t i = 0; i < steps->count; i++)
        blocks->is_blurred[square_of(blocks, steps->of[i].tile)] |= steps->of[i].is_cut;
    blocks->turn = before->turn;
    for (uint32_t i = 0; i < squares; i++) {
        uint32_t square = (before->turn + i) % squares;
        is_remade[square] = !is_done && blocks->is_blurred[square];
        if (is_remade[square]) {
            blocks->is_blurred[square] = 0;
            blocks->turn = (square + 1) % squares;
            is_done = true;
        }
        blocks->blurred += blocks->is_blurred[square];
    }
}

/* Makes the labels: from those of the version before, or (NULL) from nothing. */
static int label(struct tp_blocks *blocks, const struct tp_blocks *before, const struct tp__steps *steps)
{
    uint32_t squares = blocks->squares_x * blocks->squares_y, regions_before = before ? before->first_region[squares] : 0;
    uint8_t *is_remade = malloc(squares);
    blocks->region = malloc(((size_t)blocks->areas + 1) * sizeof *blocks->region);
    blocks->joined = malloc(((size_t)blocks->areas + regions_before + 1) * sizeof *blocks->joined);
    int error = is_remade && blocks->joined && blocks->region ? TP_OK : TP_ERR_NO_MEMORY;
    if (!error) {
        memset(is_remade, 1, squares);
        if (before)
            blur(blocks, before, steps, is_remade);
        for (uint32_t square = 0; square < squares; square++) {
            struct sets sets = {.parent = blocks->joined + blocks->first_region[square]};
            if (is_remade[square])
                square_remake(blocks, square, &sets);
            else
                square_follow(blocks, before, square, steps, &sets);
            blocks->first_region[square + 1] = blocks->first_region[square] + sets.count;
        }
        uint32_t *joined = realloc(blocks->joined, ((size_t)blocks->first_region[squares] + 1) * sizeof *joined);
        blocks->joined = joined ? joined : blocks->joined;
        error = label_regions(blocks);
    }
    free(is_remade);
    return error; /* what was made goes with the version */
}

int tp__blocks_label(struct tp_blocks *blocks)
{
    return label(blocks, NULL, NULL);
}

int tp__blocks_label_follow(struct tp_blocks *blocks, const struct tp_blocks *before, const struct tp__steps *steps)
{
    return label(blocks, before, steps);
}
