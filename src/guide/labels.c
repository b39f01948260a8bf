/* Reachability: a label for each area, so that areas with different labels are in parts of the map that no way joins.
 *
 * What holds after every step: two areas that a legal move joins have one label. So a way, which is a chain of such moves, never leads from
 * one label to another. Made anew, the labels are exact: areas have one label only if a way joins them.
 *
 * Following a version: the areas of tiles that are shared keep their labels; those of other tiles get labels of their own; and labels that meet
 * across the borders of those other tiles are joined. That keeps what must hold: moves within a tile lead to the same area, and moves across a
 * border where both tiles are shared joined one label before. Where cells only opened it is exact if it was exact; where some closed, two
 * parts that it cut in two may go on with one label. `blurred` counts the tiles in which cells closed; once there are as many as the map
 * has tiles, the labels are made anew, which costs a tile touched no more than its own border over again.
 *
 * Labels depend on the sequence of versions since they were last made anew, and on nothing else. Failure: out of memory leaves the version
 * without labels, and its maker gives it up. */
#include "guide/blocks_internal.h"

#include <stdlib.h>
#include <string.h>

/* Sets of labels: parent[i] is a member of i's set, never a later one. */
struct sets {
    uint32_t *parent;
    const uint32_t *here, *there; /* the labels of two tiles whose border is gone through */
};

static uint32_t set_root(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Joins the labels of two areas that a move joins. */
static void join(void *context, uint32_t area, uint32_t area_there)
{
    struct sets *sets = context;
    uint32_t one = set_root(sets->parent, sets->here[area]),
             other = set_root(sets->parent, sets->there[area_there]);
    if (one < other)
        sets->parent[other] = one;
    else
        sets->parent[one] = other;
}

/* Joins what meets across the borders of a tile: of those towards later tiles, or of all. Moves across a corner matter under DIAGONAL links
 * alone: under STRAIGHT links the corners' cells, which are in tiles between, join the same. */
static void join_tile(struct sets *sets, const struct tp_blocks *blocks, uint32_t tile, bool later_only)
{
    static const bool is_later[TP__BLOCK_DIRECTIONS] = {true, true, false, false, true, true, false, false};
    uint32_t directions = blocks->links == TP_BLOCKS_DIAGONAL ? TP__BLOCK_DIRECTIONS : TP__BLOCK_STRAIGHT;
    sets->here = blocks->label + blocks->first_area[tile];
    for (uint32_t direction = 0; direction < directions; direction++) {
        uint32_t there =
            later_only && !is_later[direction] ? TP_BLOCKS_NONE : tp__tile_step(blocks, tile, direction);
        if (there == TP_BLOCKS_NONE)
            continue;
        sets->there = blocks->label + blocks->first_area[there];
        tp__tile_crossings(blocks->tiles[tile], blocks->tiles[there], direction, blocks->links,
                           TP_BLOCKS_NONE, join, sets);
    }
}

/* Room for the labels of the areas and for sets of `labels` labels, each alone in its set. */
static int sets_init(struct sets *sets, struct tp_blocks *blocks, uint32_t labels)
{
    size_t areas = blocks->areas ? blocks->areas : 1;
    blocks->label = malloc(areas * sizeof blocks->label[0]);
    sets->parent = malloc(((size_t)labels + 1) * sizeof sets->parent[0]);
    if (!blocks->label || !sets->parent) {
        free(sets->parent);
        return TP_ERR_NO_MEMORY; /* the labels go with the version */
    }
    for (uint32_t i = 0; i < labels; i++)
        sets->parent[i] = i;
    return TP_OK;
}

/* Replaces each area's label by its set's number: sets are numbered in the order of their first areas. Ends the sets. */
static void settle(struct sets *sets, struct tp_blocks *blocks)
{
    const uint32_t NUMBERED = UINT32_C(1) << 31; /* areas are fewer, at half as many as cells */
    uint32_t *parent = sets->parent;
    for (uint32_t i = 0; i < blocks->areas; i++)
        blocks->label[i] = set_root(parent, blocks->label[i]);
    for (uint32_t i = 0; i < blocks->areas; i++) {
        uint32_t root = blocks->label[i];
        if (!(parent[root] & NUMBERED))
            parent[root] = NUMBERED | blocks->label_count++;
        blocks->label[i] = parent[root] & ~NUMBERED;
    }
    free(parent);
}

int tp__blocks_label(struct tp_blocks *blocks)
{
    struct sets sets;
    uint32_t tiles = blocks->tiles_x * blocks->tiles_y;
    int error = sets_init(&sets, blocks, blocks->areas);
    if (error)
        return error;
    for (uint32_t i = 0; i < blocks->areas; i++)
        blocks->label[i] = i;
    for (uint32_t tile = 0; tile < tiles; tile++)
        join_tile(&sets, blocks, tile, true);
    settle(&sets, blocks);
    blocks->blurred = 0;
    return TP_OK;
}

int tp__blocks_label_follow(struct tp_blocks *blocks, const struct tp_blocks *before, uint32_t closed)
{
    struct sets sets;
    uint32_t tiles = blocks->tiles_x * blocks->tiles_y, other_tiles = 0, labels = before->label_count;
    for (uint32_t tile = 0; tile < tiles; tile++)
        if (blocks->tiles[tile] != before->tiles[tile]) {
            other_tiles++;
            labels += blocks->tiles[tile]->areas;
        }
    /* all borders at once are half as many as those of all tiles one by one */
    if (before->blurred + closed >= tiles || other_tiles >= (tiles + 1) / 2)
        return tp__blocks_label(blocks);
    int error = sets_init(&sets, blocks, labels);
    if (error)
        return error;
    uint32_t fresh = before->label_count;
    for (uint32_t tile = 0; tile < tiles; tile++) {
        uint32_t *label = blocks->label + blocks->first_area[tile];
        if (blocks->tiles[tile] == before->tiles[tile])
            memcpy(label, before->label + before->first_area[tile],
                   blocks->tiles[tile]->areas * sizeof label[0]);
        else
            for (uint32_t i = 0; i < blocks->tiles[tile]->areas; i++)
                label[i] = fresh++;
    }
    for (uint32_t tile = 0; tile < tiles; tile++)
        if (blocks->tiles[tile] != before->tiles[tile])
            join_tile(&sets, blocks, tile, false);
    settle(&sets, blocks);
    blocks->blurred = before->blurred + closed;
    return TP_OK;
}
