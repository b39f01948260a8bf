/* The terrain of a map as the page draws it: a part of it, perhaps shrunk, as runs of classes; and what changed between
 * two versions.
 *
 * What it is: pure functions from immutable versions to bytes; a part in slices, so that nobody waits for the whole of
 * a large one. What it refuses: parts outside the map, and to look at more than TP_VIEW_TERRAIN_CELLS_MAX cells for one
 * answer. Who calls it: the HTTP thread and the view's own, each with a reference.
 *
 * A part: "TPT2"; then varints: width and height of the map, x, y, width and height of the part in cells, shrink,
 * epoch, version; then runs, until all places of the part have come: length, class (a byte), row by row, going on from
 * one row to the next, where two on end may be of one class; then the count of classes; of each class that came: its
 * byte, its weight. With shrink S a place of the answer stands for S x S cells (fewer at the map's edge): where half of
 * them or more are closed for the class most seen of those, else for the class most seen of the open ones.
 *
 * Changes: varints: epoch, version before, version now, 1 if there are too many to be listed; then to the end: cell
 * (zigzag, less the one before), class (a byte).
 */
#ifndef TP_DAEMON_VIEW_TERRAIN_H
#define TP_DAEMON_VIEW_TERRAIN_H

#include "base/error.h"
#include "daemon/view/view_wire.h"
#include "map/map.h"

enum { TP_VIEW_TERRAIN_CELLS_MAX = 4 * 1024 * 1024, TP_VIEW_TERRAIN_SLICE = 32 * 1024, TP_VIEW_SHRINK_MAX = 64, TP_VIEW_CHANGES_MAX = 4096 };

struct tp_view_part {
    uint32_t x, y, width, height; /* cells; width or height 0: all there is from x or y on */
    uint32_t shrink;              /* 1..TP_VIEW_SHRINK_MAX */
};

/* A part on its way out. */
struct tp_view_terrain {
    const struct tp_map *map; /* borrowed */
    struct tp_view_part part;
    uint32_t x, y; /* the next place's first cell */
    bool classes[256]; /* that have come */
};

/* Begins with the part, and appends what comes before its runs. TP_ERR_OUT_OF_RANGE: it is not in the map; TP_ERR_RESOURCE_EXHAUSTED: it has too
 * many cells; TP_ERR_UNSUPPORTED: the map is no grid. `out` can have failed. Cost: O(1). */
int tp_view_terrain_begin(struct tp_view_terrain *terrain, const struct tp_map *map, const struct tp_view_part *part,
                          struct tp_text *out) TP_MUST_CHECK;

/* Appends the next slice, some bytes always; whether more is to come. `out` can have failed. Cost: TP_VIEW_TERRAIN_SLICE cells, and a place. */
bool tp_view_terrain_more(struct tp_view_terrain *terrain, struct tp_text *out);

/* Appends what changed between two versions of a grid, of one epoch. Cost: a pointer a tile, the cells of tiles that differ. */
void tp_view_terrain_put_changes(struct tp_text *out, const struct tp_map *before, const struct tp_map *now);

#endif
