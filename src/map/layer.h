/* Layers: a grid as agents of one kind meet it, with a profile of their own, larger than a cell, or led by a block graph.
 *
 * What it is: a map version made from another: the same cells, but each with the heaviest class (by the layer's profile,
 * impassable above all) under the square of `size` x `size` cells whose top left it is; beyond the map's edge all is
 * impassable. Of classes of one weight the first stands for all; where the profile closes none, the second of such a pair is
 * closed in the layer's own. With size 1 the classes are the base's own, and only the profile differs. A layer has its base's
 * epoch and version, shares what it can from version to version, and is searched like any map: clearance is thus kept
 * incrementally. What it refuses: graphs and puzzles. Who calls it: the thread that makes versions.
 */
#ifndef TP_MAP_LAYER_H
#define TP_MAP_LAYER_H

#include "map/blocks.h"
#include "map/map.h"

enum { TP_AGENT_SIZE_MAX = 8 };

/* What a layer is of: a profile (copied) and the agents' size, 1..TP_AGENT_SIZE_MAX. */
struct tp_layer_kind {
    struct tp_profile profile;
    uint32_t size;
    bool has_blocks;            /* whether the layer carries its block graph (map/blocks.h), and a free one for agents that don't know
                                 * the map */
    enum tp_blocks_links links; /* and how cells hang together in it */
};

/* Makes the layer of a version; gives a reference in *out. TP_ERR_INVALID_ARGUMENT: the size, or one above 1 with a profile of
 * 256 different weights, none of them 0; TP_ERR_UNSUPPORTED: no grid; TP_ERR_NO_MEMORY. On error *out is NULL.
 * Cost: O(cells); memory 9 bits a cell, or a pointer a tile where the size is 1 and the profile closes what the base's does. */
int tp_layer_build(struct tp_map **out, const struct tp_map *base, const struct tp_layer_kind *kind) TP_MUST_CHECK;

/* Makes the next version of a layer: `layer` is the layer of `before`, and *out becomes that of `now`, a later version of the
 * same epoch. Tiles that no changed cell reaches are shared with `layer`. rose_version and fell_version follow the layer's
 * own weights. TP_ERR_NO_MEMORY. Cost: O(tiles of the map + cells of the rows, within a tile, that a change touches). */
int tp_layer_follow(struct tp_map **out, const struct tp_map *layer, const struct tp_map *before, const struct tp_map *now,
                    const struct tp_layer_kind *kind) TP_MUST_CHECK;

#endif
