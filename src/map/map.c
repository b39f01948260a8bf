/* Map versions. Happy path: build (or restore) makes version 1 (or n) with tiles of its own; apply copies the table
 * of tiles, copies each touched tile once, and counts what rose and fell while it writes. Failure: a batch is
 * checked before anything is made; running out of memory frees what was made and leaves the base as it was. */
#include "map/map.h"

#include "base/check.h"
#include "base/limits.h"
#include "map/blocks.h"
#include "map/graph_internal.h"
#include "map/map_internal.h"

#include <stdlib.h>
#include <string.h>

static size_t tile_bytes(uint32_t columns, uint32_t rows)
{
    return sizeof(struct tp_map_tile) + rows * sizeof(uint64_t) + (size_t)rows * columns;
}

struct tp_map_tile *tp__map_tile_new(struct tp_map_held *held, uint32_t columns, uint32_t rows)
{
    struct tp_map_tile *tile = calloc(1, tile_bytes(columns, rows));
    if (tile) {
        atomic_init(&tile->refs, 1);
        tile->columns = (uint8_t)columns;
        tile->rows = (uint8_t)rows;
        tp__held_add(held, tile_bytes(columns, rows));
    }
    return tile;
}

struct tp_map_tile *tp__map_tile_copy(struct tp_map_held *held, const struct tp_map_tile *tile)
{
    size_t bytes = tile_bytes(tile->columns, tile->rows);
    struct tp_map_tile *copy = malloc(bytes);
    if (copy) { /* all but the count, which other threads may be changing */
        memcpy(&copy->columns, &tile->columns, bytes - offsetof(struct tp_map_tile, columns));
        atomic_init(&copy->refs, 1);
        tp__held_add(held, bytes);
    }
    return copy;
}

struct tp_map_tile *tp__map_tile_ref(struct tp_map_tile *tile)
{
    atomic_fetch_add_explicit(&tile->refs, 1, memory_order_relaxed);
    return tile;
}

void tp__map_tile_unref(struct tp_map_held *held, struct tp_map_tile *tile)
{
    if (!tile || atomic_fetch_sub_explicit(&tile->refs, 1, memory_order_acq_rel) != 1)
        return;
    tp__held_take(held, tile_bytes(tile->columns, tile->rows));
    free(tile);
}

/* The version itself and its table of tiles. */
static size_t version_bytes(const struct tp_map *map)
{
    return sizeof *map + (size_t)map->tiles_x * map->tiles_y * sizeof map->tiles[0];
}

/* A version that has its size is there, or is about to go. */
static void version_counted(struct tp_map_held *held, const struct tp_map *map)
{
    if (!held)
        return;
    tp__held_add(held, version_bytes(map));
    atomic_fetch_add_explicit(&held->versions, 1, memory_order_relaxed);
}

static void version_gone(struct tp_map_held *held, const struct tp_map *map)
{
    if (!held)
        return;
    tp__held_take(held, version_bytes(map));
    atomic_fetch_sub_explicit(&held->versions, 1, memory_order_relaxed);
}

struct tp_map *tp__map_new(struct tp_map_held *held, uint32_t width, uint32_t height)
{
    uint32_t tiles_x = (width + TP_MAP_TILE - 1) / TP_MAP_TILE;
    uint32_t tiles_y = (height + TP_MAP_TILE - 1) / TP_MAP_TILE;
    size_t count = (size_t)tiles_x * tiles_y;
    struct tp_map *map = calloc(1, sizeof *map + count * sizeof map->tiles[0]);
    if (!map)
        return NULL;
    atomic_init(&map->refs, 1);
    map->width = width;
    map->height = height;
    map->tiles_x = tiles_x;
    map->tiles_y = tiles_y;
    map->held = held;
    version_counted(held, map);
    return map;
}

void tp__map_profile_set(struct tp_map *map, const struct tp_profile *profile)
{
    map->profile = *profile;
    map->weighted = false;
    for (int i = 0; i < 256; i++)
        if (profile->weight[i] > 1)
            map->weighted = true;
}

/* Cells from `from` to the map's edge, at most a tile's side. */
static uint32_t extent(uint32_t from, uint32_t side)
{
    return side - from < TP_MAP_TILE ? side - from : TP_MAP_TILE;
}

/* Fills one tile from the row-major cells and returns how many of its cells are passable. */
static uint64_t tile_fill(struct tp_map_tile *tile, const struct tp_map *map, uint32_t x0, uint32_t y0,
                          const uint8_t *cells)
{
    uint64_t passable_cells = 0;
    for (uint32_t y = 0; y < tile->rows; y++) {
        const uint8_t *from = cells + (size_t)(y0 + y) * map->width + x0;
        memcpy(tp_map_tile_classes(tile) + (size_t)y * tile->columns, from, tile->columns);
        uint64_t bits = 0;
        for (uint32_t x = 0; x < tile->columns; x++)
            bits |= (uint64_t)(map->profile.weight[from[x]] != 0) << x;
        tile->passable[y] = bits;
        passable_cells += (uint64_t)__builtin_popcountll(bits);
    }
    return passable_cells;
}

int tp_map_restore(struct tp_map **out, uint32_t width, uint32_t height, const uint8_t *cells,
                   const struct tp_profile *profile, uint64_t epoch, uint64_t version)
{
    *out = NULL;
    if (width == 0 || height == 0 || (uint64_t)width * height > TP_MAP_CELLS_MAX)
        return TP_ERR_INVALID_ARGUMENT;
    struct tp_map *map = tp__map_new(NULL, width, height);
    if (!map)
        return TP_ERR_NO_MEMORY;
    map->epoch = epoch;
    map->version = map->rose_version = map->fell_version = version;
    tp__map_profile_set(map, profile);
    for (uint32_t ty = 0; ty < map->tiles_y; ty++)
        for (uint32_t tx = 0; tx < map->tiles_x; tx++) {
            uint32_t x0 = tx * TP_MAP_TILE, y0 = ty * TP_MAP_TILE;
            struct tp_map_tile *tile = tp__map_tile_new(NULL, extent(x0, width), extent(y0, height));
            if (!tile) {
                tp_map_unref(map);
                return TP_ERR_NO_MEMORY;
            }
            map->tiles[(size_t)ty * map->tiles_x + tx] = tile;
            map->passable_cells += tile_fill(tile, map, x0, y0, cells);
        }
    *out = map;
    return TP_OK;
}

int tp_map_build(struct tp_map **out, uint32_t width, uint32_t height, const uint8_t *cells,
                 const struct tp_profile *profile, uint64_t epoch)
{
    return tp_map_restore(out, width, height, cells, profile, epoch, 1);
}

/* The rectangle a change covers, a cell's being 1x1. */
static void change_extent(const struct tp_change *change, uint32_t *width, uint32_t *height)
{
    *width = change->kind == TP_CHANGE_CELL ? 1 : change->width;
    *height = change->kind == TP_CHANGE_CELL ? 1 : change->height;
}

static int change_check(const struct tp_map *map, const struct tp_change *change, uint32_t *bad_x, uint32_t *bad_y)
{
    uint32_t width, height;
    if (change->kind == TP_CHANGE_EDGE || change->kind == TP_CHANGE_NODE)
        return TP_ERR_UNSUPPORTED;
    change_extent(change, &width, &height);
    if (width == 0 || height == 0)
        return TP_ERR_INVALID_ARGUMENT;
    if ((uint64_t)change->x + width > map->width || (uint64_t)change->y + height > map->height) {
        /* the first cell of the change, in row-major order, that lies outside */
        bool row_fits = change->y < map->height;
        bool column_out = (uint64_t)change->x + width > map->width;
        *bad_x = row_fits && column_out && change->x < map->width ? map->width : change->x;
        *bad_y = row_fits && !column_out ? map->height : change->y;
        return TP_ERR_OUT_OF_RANGE;
    }
    if (change->kind == TP_CHANGE_BITMAP &&
        (!change->bits || change->bits_size < ((uint64_t)width * height + 7) / 8))
        return TP_ERR_INVALID_ARGUMENT;
    return TP_OK;
}

/* A tile of `map` that may be written: its own copy, made when first asked for. */
static struct tp_map_tile *tile_own(struct tp_map *map, const struct tp_map *base, uint32_t x, uint32_t y)
{
    size_t i = (size_t)(y / TP_MAP_TILE) * map->tiles_x + x / TP_MAP_TILE;
    if (map->tiles[i] != base->tiles[i])
        return map->tiles[i];
    struct tp_map_tile *copy = tp__map_tile_copy(map->held, base->tiles[i]);
    if (!copy)
        return NULL;
    tp__map_tile_unref(map->held, map->tiles[i]);
    map->tiles[i] = copy;
    return copy;
}

struct effect {
    bool rose, fell;
    int64_t opened; /* cells, less those that closed */
};

/* Without branches on what the classes are: in a batch of scattered cells they would be guessed wrong half the time. */
static inline void cell_set(struct tp_map *map, struct tp_map_tile *tile, uint32_t x, uint32_t y, uint8_t class_to,
                            struct effect *effect)
{
    uint32_t row = y % TP_MAP_TILE, column = x % TP_MAP_TILE;
    uint8_t *cell = &tp_map_tile_classes(tile)[row * tile->columns + column];
    uint16_t before = map->profile.weight[*cell], after = map->profile.weight[class_to];
    *cell = class_to;
    effect->rose |= tp__weight_rank(after) > tp__weight_rank(before);
    effect->fell |= tp__weight_rank(after) < tp__weight_rank(before);
    effect->opened += (after != 0) - (before != 0);
    tile->passable[row] = (tile->passable[row] & ~(1ull << column)) | (uint64_t)(after != 0) << column;
}

static int change_apply(struct tp_map *map, const struct tp_map *base, const struct tp_change *change,
                        struct effect *effect)
{
    if (change->kind == TP_CHANGE_CELL) {
        struct tp_map_tile *tile = tile_own(map, base, change->x, change->y);
        if (!tile)
            return TP_ERR_NO_MEMORY;
        cell_set(map, tile, change->x, change->y, change->class_to, effect);
        return TP_OK;
    }
    uint32_t width, height;
    change_extent(change, &width, &height);
    for (uint32_t j = 0; j < height; j++) {
        struct tp_map_tile *tile = NULL;
        for (uint32_t i = 0; i < width; i++) {
            uint32_t x = change->x + i, y = change->y + j;
            uint64_t bit = (uint64_t)j * width + i;
            if (x % TP_MAP_TILE == 0)
                tile = NULL;
            if (change->kind == TP_CHANGE_BITMAP && !(change->bits[bit / 8] >> (bit % 8) & 1))
                continue;
            if (!tile)
                tile = tile_own(map, base, x, y);
            if (!tile)
                return TP_ERR_NO_MEMORY;
            cell_set(map, tile, x, y, change->class_to, effect);
        }
    }
    return TP_OK;
}

/* A batch of a graph's edges and nodes. */
static int apply_to_graph(struct tp_map **out, const struct tp_map *base, const struct tp_change *changes, size_t count,
                          size_t *bad, uint32_t *bad_id)
{
    const struct tp_graph *graph;
    struct tp_graph_effect effect = {false, false};
    int error = tp__graph_apply(&graph, base->graph, changes, count, &effect, bad, bad_id);
    if (error)
        return error;
    error = tp_map_build_graph(out, graph, base->epoch, base->version + 1);
    tp_graph_unref(graph);
    if (error)
        return error;
    (*out)->rose_version = effect.rose ? (*out)->version : base->rose_version;
    (*out)->fell_version = effect.fell ? (*out)->version : base->fell_version;
    return TP_OK;
}

int tp_map_apply(struct tp_map **out, const struct tp_map *base, const struct tp_change *changes, size_t count,
                 size_t *bad, uint32_t *bad_x, uint32_t *bad_y)
{
    *out = NULL;
    *bad = 0;
    *bad_x = *bad_y = 0;
    if (count > TP_BATCH_CHANGES_MAX)
        return TP_ERR_RESOURCE_EXHAUSTED;
    if (base->puzzle)
        return TP_ERR_UNSUPPORTED;
    if (base->graph)
        return apply_to_graph(out, base, changes, count, bad, bad_x);
    uint64_t cells = 0;
    for (size_t i = 0; i < count; i++) {
        int error = change_check(base, &changes[i], bad_x, bad_y);
        uint32_t width, height;
        change_extent(&changes[i], &width, &height);
        cells += (uint64_t)width * height;
        if (!error && cells > TP_BATCH_CELLS_MAX)
            error = TP_ERR_RESOURCE_EXHAUSTED;
        if (error) {
            *bad = i;
            return error;
        }
    }
    struct tp_map *map = tp__map_new(base->held, base->width, base->height);
    if (!map)
        return TP_ERR_NO_MEMORY;
    map->epoch = base->epoch;
    map->version = base->version + 1;
    map->profile = base->profile;
    map->weighted = base->weighted;
    map->passable_cells = base->passable_cells;
    size_t tiles = (size_t)map->tiles_x * map->tiles_y;
    for (size_t i = 0; i < tiles; i++) {
        map->tiles[i] = tp__map_tile_ref(base->tiles[i]);
    }
    struct effect effect = {false, false, 0};
    for (size_t i = 0; i < count; i++) {
        int error = change_apply(map, base, &changes[i], &effect);
        if (error) {
            tp_map_unref(map);
            return error;
        }
    }
    map->passable_cells += (uint64_t)effect.opened;
    map->rose_version = effect.rose ? map->version : base->rose_version;
    map->fell_version = effect.fell ? map->version : base->fell_version;
    *out = map;
    return TP_OK;
}

int tp_map_build_graph(struct tp_map **out, const struct tp_graph *graph, uint64_t epoch, uint64_t version)
{
    struct tp_map *map = *out = calloc(1, sizeof *map);
    if (!map)
        return TP_ERR_NO_MEMORY;
    atomic_init(&map->refs, 1);
    map->width = graph->nodes;
    map->height = 1;
    map->epoch = epoch;
    map->version = map->rose_version = map->fell_version = version;
    map->passable_cells = graph->nodes - graph->closed_nodes;
    tp_profile_init_movingai(&map->profile);
    map->graph = tp_graph_ref(graph);
    map->held = graph->held;
    version_counted(map->held, map);
    return TP_OK;
}

int tp_map_build_puzzle(struct tp_map **out, const uint8_t tiles[16])
{
    uint32_t seen = 0, blank = 0, inversions = 0;
    uint64_t packed = 0;
    *out = NULL;
    for (uint32_t i = 0; i < 16; i++) {
        if (tiles[i] > 15 || seen >> tiles[i] & 1)
            return TP_ERR_INVALID_ARGUMENT;
        seen |= 1u << tiles[i];
        packed |= (uint64_t)tiles[i] << (4 * i);
        blank = tiles[i] ? blank : i;
        for (uint32_t j = 0; j < i; j++)
            inversions += tiles[j] > tiles[i];
    }
    /* a step of the blank is a transposition, and changes the parity of its way to place 0 too */
    if ((inversions + blank % 4 + blank / 4) % 2 || !inversions)
        return TP_ERR_INVALID_ARGUMENT;
    struct tp_map *map = *out = calloc(1, sizeof *map);
    if (!map)
        return TP_ERR_NO_MEMORY;
    atomic_init(&map->refs, 1);
    map->width = 2;
    map->height = 1;
    map->epoch = map->version = map->rose_version = map->fell_version = 1;
    map->passable_cells = 2;
    tp_profile_init_movingai(&map->profile);
    map->puzzle = packed;
    return TP_OK;
}

void tp_map_count_in(struct tp_map *map, struct tp_map_held *held)
{
    if (map->held) {
        TP_CHECK(map->held == held);
        return;
    }
    map->held = held;
    version_counted(held, map);
    size_t tiles = (size_t)map->tiles_x * map->tiles_y;
    for (size_t i = 0; i < tiles; i++) {
        TP_CHECK(atomic_load_explicit(&map->tiles[i]->refs, memory_order_relaxed) == 1);
        tp__held_add(held, tile_bytes(map->tiles[i]->columns, map->tiles[i]->rows));
    }
    if (map->graph)
        tp__graph_count_in((struct tp_graph *)(uintptr_t)map->graph, held);
}

const struct tp_map *tp_map_ref(const struct tp_map *map)
{
    uint32_t before = atomic_fetch_add_explicit(&((struct tp_map *)map)->refs, 1, memory_order_relaxed);
    TP_CHECK(before != 0);
    return map;
}

/* `gone` comes first. */
static void map_end(struct tp_gone *gone)
{
    struct tp_map *own = (struct tp_map *)gone;
    size_t tiles = (size_t)own->tiles_x * own->tiles_y;
    for (size_t i = 0; i < tiles; i++)
        tp__map_tile_unref(own->held, own->tiles[i]);
    tp_graph_unref(own->graph);
    tp_blocks_unref(own->blocks);
    tp_blocks_unref(own->free_blocks);
    version_gone(own->held, own);
    free(own);
}

void tp_map_unref(const struct tp_map *map)
{
    if (!map)
        return;
    struct tp_map *own = (struct tp_map *)map;
    if (atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) == 1)
        tp__held_end(own->held, &own->gone, map_end);
}

void tp_map_passable_block(const struct tp_map *map, int64_t x, int64_t y, uint32_t side, uint32_t *rows)
{
    uint32_t wanted = (1u << side) - 1;
    for (uint32_t i = 0; i < side; i++, y++) {
        rows[i] = 0;
        if (y < 0 || y >= map->height)
            continue;
        /* the row's bits come from the tile that holds x and, past its edge, from the next one; bits beyond
         * the map's own edge are clear */
        int64_t tile_x = x >> 6;
        uint32_t shift = (uint32_t)(x & 63);
        struct tp_map_tile *const *row = map->tiles + (size_t)(y / TP_MAP_TILE) * map->tiles_x;
        uint64_t bits = 0;
        if (tile_x >= 0 && tile_x < map->tiles_x)
            bits = row[tile_x]->passable[y % TP_MAP_TILE] >> shift;
        if (shift + side > TP_MAP_TILE && tile_x + 1 >= 0 && tile_x + 1 < map->tiles_x)
            bits |= row[tile_x + 1]->passable[y % TP_MAP_TILE] << (TP_MAP_TILE - shift);
        rows[i] = (uint32_t)bits & wanted;
    }
}

void tp_map_copy_cells(const struct tp_map *map, uint8_t *cells)
{
    for (uint32_t y = 0; y < map->height; y++)
        for (uint32_t x = 0; x < map->width; x += TP_MAP_TILE) {
            const struct tp_map_tile *tile = tp_map_tile_at(map, x, y);
            memcpy(cells + (size_t)y * map->width + x,
                   tp_map_tile_classes(tile) + (size_t)(y % TP_MAP_TILE) * tile->columns, tile->columns);
        }
}

size_t tp_map_bytes(const struct tp_map *map)
{
    size_t tiles = (size_t)map->tiles_x * map->tiles_y;
    size_t bytes = version_bytes(map);
    for (size_t i = 0; i < tiles; i++)
        bytes += tile_bytes(map->tiles[i]->columns, map->tiles[i]->rows) /
                 atomic_load_explicit(&map->tiles[i]->refs, memory_order_relaxed);
    return bytes + (map->graph ? tp_graph_bytes(map->graph) : 0);
}
