/* A map as a sequence of immutable versions: a grid, or an explicit graph.
 *
 * What it is: a version is a table of reference-counted 64x64 tiles; a changed version shares every untouched tile
 * with the one before (copy on write). A version never changes after it is made, so any number of threads may read
 * it without locks; the counts are atomic.
 * What it refuses: changing a version in place; applying half a batch.
 * Who calls it: building and applying from one thread at a time per map (the daemon's world thread); reading,
 * ref and unref from anywhere.
 *
 * Cells are numbered y * width + x, x and y from the top left. On a graph they are its nodes: width is their number,
 * height 1, and there are no tiles, classes or weights.
 */
#ifndef TP_MAP_MAP_H
#define TP_MAP_MAP_H

#include "base/line.h"
#include "base/error.h"
#include "map/cost.h"
#include "map/graph.h"
#include "map/held.h"
#include "map/profile.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_blocks;

enum { TP_MAP_TILE = 64 }; /* cells on a tile's side; tiles at the right and lower edge hold what is left */

struct tp_map_tile {
    _Atomic uint32_t refs;
    uint8_t columns, rows; /* 1..TP_MAP_TILE */
    uint64_t passable[];   /* a word a row, bit x: that cell's class is passable; behind them the classes */
};

/* The tile's terrain classes: rows * columns bytes, row-major. */
static inline uint8_t *tp_map_tile_classes(const struct tp_map_tile *tile)
{
    return (uint8_t *)(tile->passable + tile->rows);
}

struct tp_map {
    struct tp_gone gone;
    _Atomic uint32_t refs; /* counted by the sessions of all threads, in every new version: a line apart from what all of them read */
    uint8_t apart[TP_LINE_BYTES];
    uint32_t width, height;    /* cells */
    uint32_t tiles_x, tiles_y; /* tiles */
    uint64_t epoch;            /* which life of the map: versions of different epochs don't compare */
    uint64_t version;          /* 1 for the first, plus one per accepted batch */
    uint64_t
        rose_version; /* newest version up to this one in which some cell's weight, or edge's cost, rose or it closed */
    uint64_t
        fell_version; /* newest version up to this one in which some cell's weight, or edge's cost, fell or it opened */
    uint64_t passable_cells; /* how many cells are passable; of a graph, how many nodes are open */
    struct tp_profile profile;
    struct tp_map_held *held;     /* borrowed, outlives the version: counts it; NULL: nobody does */
    const struct tp_graph *graph; /* referenced; NULL for a grid */
    uint64_t puzzle; /* a 15-puzzle's arrangement at the start, packed (domain/puzzle.c); 0 for none */
    const struct tp_blocks *blocks; /* its block graph (map/blocks.h), referenced; NULL: none was asked for */
    const struct tp_blocks *free_blocks; /* and that of a map of its size of which nothing is known: every cell free, one for all versions
                                          * of a layer; referenced, NULL likewise */
    bool weighted;   /* some passable class of the profile weighs other than 1 */
    struct tp_map_tile *tiles[];
};
TP_ASSERT_APART(struct tp_map, refs, width);

/* One element of a change batch. Sets the class of a cell, of each cell of a rectangle, or of the cells of a
 * rectangle whose bit is set (bits row-major over the rectangle, bit 0 the least of byte 0, no padding between
 * rows). Of a graph: sets the cost of edge number x to y, 0 closing it; or closes node x (y = 0: no edge leads in or out), or
 * opens it (y = 1: its edges have the costs that they were given last). */
enum tp_change_kind { TP_CHANGE_CELL, TP_CHANGE_RECT, TP_CHANGE_BITMAP, TP_CHANGE_EDGE, TP_CHANGE_NODE };

struct tp_change {
    enum tp_change_kind kind;
    uint8_t class_to;       /* terrain class set */
    uint32_t x, y;          /* the cell, or the rectangle's top left; edge and cost, or node and 0 or 1 */
    uint32_t width, height; /* the rectangle's size in cells, >= 1; ignored for a cell */
    const uint8_t *bits;    /* bitmap: ceil(width * height / 8) bytes, borrowed */
    size_t bits_size;       /* bytes */
};

/* Makes the first version (number 1, epoch as given) of a map from width * height class bytes, row-major; copies
 * cells and profile. Gives a reference in *out.
 * TP_ERR_INVALID_ARGUMENT: a side is 0 or width * height > TP_MAP_CELLS_MAX; TP_ERR_NO_MEMORY. On error *out is
 * NULL. Cost: O(cells). */
int tp_map_build(struct tp_map **out, uint32_t width, uint32_t height, const uint8_t *cells,
                 const struct tp_profile *profile, uint64_t epoch) TP_MUST_CHECK;

/* Like tp_map_build, for a snapshot: sets the version and its rose and fell marks (both to `version`). */
int tp_map_restore(struct tp_map **out, uint32_t width, uint32_t height, const uint8_t *cells,
                   const struct tp_profile *profile, uint64_t epoch, uint64_t version) TP_MUST_CHECK;

/* Makes a version of a graph map; takes a reference of its own to the graph. TP_ERR_NO_MEMORY. */
int tp_map_build_graph(struct tp_map **out, const struct tp_graph *graph, uint64_t epoch,
                       uint64_t version) TP_MUST_CHECK;

/* Makes the only version of a 15-puzzle, for measuring: tiles[i] is the tile at place i, 0 the blank; the goal is 0 1 2 .. 15. It has two
 * cells to name: 0 is the start and 1 the goal (the states that a session meets get further numbers).
 * TP_ERR_INVALID_ARGUMENT: not a permutation of 0..15, the goal itself, or one that no moves lead to the goal;
 * TP_ERR_NO_MEMORY. */
int tp_map_build_puzzle(struct tp_map **out, const uint8_t tiles[16]) TP_MUST_CHECK;

/* Applies a batch whole: gives in *out a reference to a new version, base's number plus one, or changes nothing.
 * A batch that sets what already stands still makes a version. The batch is validated before anything is applied.
 * TP_ERR_OUT_OF_RANGE: a cell of change *bad lies outside, first such cell at (*bad_x, *bad_y), or its edge or node *bad_x is none;
 * TP_ERR_INVALID_ARGUMENT: change *bad has a zero size or too few bits, or neither closes nor opens; TP_ERR_RESOURCE_EXHAUSTED:
 * more than TP_BATCH_CHANGES_MAX changes, or change *bad takes the cells (of a graph: the edges named, and at nodes named) past
 * TP_BATCH_CELLS_MAX; TP_ERR_UNSUPPORTED: change *bad is a graph's and the map a grid, or the other way round, or a puzzle;
 * TP_ERR_NO_MEMORY. On error *out is NULL.
 * Cost: O(cells named + tiles of the map / 512); of a graph O(edges named, and at nodes named, + nodes / 128). */
int tp_map_apply(struct tp_map **out, const struct tp_map *base, const struct tp_change *changes,
                 size_t count, size_t *bad, uint32_t *bad_x, uint32_t *bad_y) TP_MUST_CHECK;

/* Counts a map's version in `held`, which is borrowed until the last version made from it is gone; each of those, by tp_map_apply or as a
 * layer, is counted too, as it is made and freed. The map comes from a build or a restore and shares nothing yet with a version
 * that is not counted. One that is counted already stays as it is. Cost: O(tiles), or pages of the graph. */
void tp_map_count_in(struct tp_map *map, struct tp_map_held *held);

/* The newest version up to this one in which some cost changed. */
static inline uint64_t tp_map_changed_version(const struct tp_map *map)
{
    return map->rose_version > map->fell_version ? map->rose_version : map->fell_version;
}

/* Takes one more reference; returns `map`. Any thread. */
const struct tp_map *tp_map_ref(const struct tp_map *map);

/* Drops a reference; the last one frees the version and the tiles no other version shares. Any thread. NULL is
 * allowed. */
void tp_map_unref(const struct tp_map *map);

static inline const struct tp_map_tile *tp_map_tile_at(const struct tp_map *map, uint32_t x, uint32_t y)
{
    return map->tiles[(y / TP_MAP_TILE) * map->tiles_x + x / TP_MAP_TILE];
}

/* The cell's terrain class; (x, y) must lie inside. */
static inline uint8_t tp_map_class(const struct tp_map *map, uint32_t x, uint32_t y)
{
    const struct tp_map_tile *tile = tp_map_tile_at(map, x, y);
    return tp_map_tile_classes(tile)[(y % TP_MAP_TILE) * tile->columns + x % TP_MAP_TILE];
}

/* The cell's weight, 0 where impassable; (x, y) must lie inside. */
static inline uint16_t tp_map_weight(const struct tp_map *map, uint32_t x, uint32_t y)
{
    return map->profile.weight[tp_map_class(map, x, y)];
}

/* Whether an agent may stand there; false outside the map. */
static inline bool tp_map_passable(const struct tp_map *map, int64_t x, int64_t y)
{
    if (x < 0 || y < 0 || x >= map->width || y >= map->height)
        return false;
    return tp_map_tile_at(map, (uint32_t)x, (uint32_t)y)->passable[y % TP_MAP_TILE] >> (x % TP_MAP_TILE) & 1;
}

/* Reads a square of `side` (<= 16) cells whose top left is (x, y), anywhere in or outside the map: bit j of rows[i] is set
 * where cell (x + j, y + i) is inside and passable. Cost: O(side). */
void tp_map_passable_block(const struct tp_map *map, int64_t x, int64_t y, uint32_t side, uint32_t *rows);

/* Copies all classes, row-major, into width * height bytes. */
void tp_map_copy_cells(const struct tp_map *map, uint8_t *cells);

/* A cell whose weight differs between two versions; false to stop. */
typedef bool (*tp_map_cell_changed_cb)(void *context, uint32_t x, uint32_t y, uint16_t before,
                                       uint16_t after);

/* Calls for each cell whose weight differs between two versions of a grid, from *cursor (0: the first cell) on, tile by tile,
 * up to the end of the next tile that differs at all, or until `changed` stops it (at that cell). *cursor is where to go on,
 * TP_MAP_COMPARED when there is nothing left. Cost: a pointer a tile, and at most one tile's cells. False when stopped. */
#define TP_MAP_COMPARED UINT64_MAX
bool tp_map_compare(const struct tp_map *before, const struct tp_map *now, uint64_t *cursor,
                    tp_map_cell_changed_cb changed, void *context);

/* A node of a graph, some edge out of which costs something else, or is closed or open now; false to stop. */
typedef bool (*tp_map_node_changed_cb)(void *context, uint32_t node);

/* Calls for each such node between two versions of a graph that have their shape in common, from *cursor on, as above: passes by
 * at most `pages_max` pages that are alike, then looks at the next TP_MAP_COMPARED_NODES at most, of one page. Cost: a pointer a
 * page, and those nodes' edges. False when stopped. */
enum { TP_MAP_COMPARED_NODES = 16 };
bool tp_map_compare_nodes(const struct tp_map *before, const struct tp_map *now, uint64_t *cursor, uint32_t pages_max,
                          tp_map_node_changed_cb changed, void *context);

/* A cell whose class differs between two versions, and its class now; false to stop. */
typedef bool (*tp_map_class_changed_cb)(void *context, uint32_t cell, uint8_t class_now);

/* Calls for each cell whose class differs between two versions of one epoch of a grid (weighing the same or not), tile by tile.
 * False when stopped. Cost: a pointer a tile, the classes of changed tiles. */
bool tp_map_compare_classes(const struct tp_map *before, const struct tp_map *now,
                            tp_map_class_changed_cb changed, void *context);

/* Bytes that this version alone would free plus its share of tiles (tile bytes divided by holders). */
size_t tp_map_bytes(const struct tp_map *map);

#endif
