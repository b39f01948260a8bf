/* Layers. A layer of size 1 is the base's own cells read by another profile: where the profile closes the same classes, it is
 * made of the base's own tiles. Of a larger size, each class is turned into its rank (0 the lightest, `shut` impassable and
 * beyond the edge), and a cell's rank is the largest of its square: of its row first, then of the columns of that.
 *
 * Following: a row of the base that differs touches the rows of the layer from size - 1 above it on, in its own tile and in the
 * tiles to the left and above. Only those rows are made anew, in a copy of the layer's tile, and a tile that comes out as it was
 * is shared. Failure: out of memory gives up what was made; the layer before stays as it was. */
#include "map/layer.h"

#include "map/map_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    REACH = TP_MAP_TILE + TP_AGENT_SIZE_MAX - 1, /* cells on a side of what one tile depends on */
    VECTOR = 16,                                 /* cells taken at a time: counts are rounded up to it */
    STRIDE = (REACH + VECTOR - 1) / VECTOR * VECTOR +
             VECTOR, /* bytes from row to row: what is beyond the last cell may be read */
};

/* How classes turn into the layer's classes. */
struct ranks {
    uint32_t size;
    bool shares_base;          /* size 1, and the base's own classes are closed */
    uint8_t shut;              /* the rank of what is impassable */
    uint8_t of_class[256];     /* the rank of each class */
    uint8_t class_of[256];     /* the class that stands for a rank */
    struct tp_profile profile; /* of the layer: the kind's, but for one class where no other closes */
};

/* Ranks the profile's weights. False: 256 classes with as many weights leave none for what is impassable. */
static bool rank_classes(struct ranks *ranks, const struct tp_profile *profile, uint32_t size)
{
    uint32_t count = 0;
    bool is_spare[256] = {false}; /* another class of the same weight stands for it */
    int shut_class = -1;
    ranks->size = size;
    ranks->profile = *profile;
    for (int i = 0; i < 256; i++) {
        uint16_t weight = profile->weight[i];
        if (!weight) {
            shut_class = shut_class < 0 ? i : shut_class;
            continue;
        }
        uint32_t at = count;
        while (at > 0 && profile->weight[ranks->class_of[at - 1]] > weight)
            at--;
        if (at > 0 && profile->weight[ranks->class_of[at - 1]] == weight) {
            is_spare[i] = true;
            continue;
        }
        memmove(ranks->class_of + at + 1, ranks->class_of + at, count - at);
        ranks->class_of[at] = (uint8_t)i;
        if (++count == 256)
            return false;
    }
    for (int i = 0; i < 256 && shut_class < 0; i++)
        if (is_spare[i]) { /* its cells become those of its twin */
            ranks->profile.weight[i] = 0;
            shut_class = i;
        }
    ranks->shut = (uint8_t)count;
    ranks->class_of[count] = (uint8_t)shut_class;
    for (int i = 0; i < 256; i++) {
        uint8_t rank = 0;
        while (rank < count && profile->weight[ranks->class_of[rank]] != profile->weight[i])
            rank++;
        ranks->of_class[i] = rank;
    }
    return true;
}

static bool closes_the_same(const struct tp_profile *a, const struct tp_profile *b)
{
    for (int i = 0; i < 256; i++)
        if (!a->weight[i] != !b->weight[i])
            return false;
    return true;
}

static int prepare(struct ranks *ranks, const struct tp_map *base, const struct tp_layer_kind *kind)
{
    if (kind->size < 1 || kind->size > TP_AGENT_SIZE_MAX)
        return TP_ERR_INVALID_ARGUMENT;
    if (base->graph || base->puzzle)
        return TP_ERR_UNSUPPORTED;
    if (kind->size > 1) {
        ranks->shares_base = false;
        return rank_classes(ranks, &kind->profile, kind->size) ? TP_OK : TP_ERR_INVALID_ARGUMENT;
    }
    ranks->size = 1;
    ranks->profile = kind->profile;
    ranks->shares_base = closes_the_same(&kind->profile, &base->profile);
    return TP_OK;
}

/* ---- Rows of a tile ---- */

/* The ranks of the base's cells from (x0, y0) on, `columns` x `rows` of them, beyond the edge `shut`. */
static void read_ranks(const struct ranks *ranks, const struct tp_map *base, uint32_t x0, uint32_t y0,
                       uint32_t columns, uint32_t rows, uint8_t out[REACH][STRIDE])
{
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t y = y0 + row;
        for (uint32_t column = 0; column < columns;) {
            uint32_t x = x0 + column, left = columns - column;
            if (y >= base->height || x >= base->width) {
                memset(out[row] + column, ranks->shut, left);
                break;
            }
            const struct tp_map_tile *tile = tp_map_tile_at(base, x, y);
            const uint8_t *from = tp_map_tile_classes(tile) + (size_t)(y % TP_MAP_TILE) * tile->columns;
            uint32_t here = tile->columns < left ? tile->columns : left; /* x is the tile's first column */
            for (uint32_t i = 0; i < here; i++)
                out[row][column + i] = ranks->of_class[from[i]];
            column += here;
        }
    }
}

/* at[i] = the larger of at[i] and of[i]; `of` is another row, or the same farther on. Up to VECTOR - 1 cells more are written, of
 * which nothing is known then. */
static void take_larger(uint8_t *at, const uint8_t *of, uint32_t count)
{
    for (uint32_t from = 0; from < count; from += VECTOR) {
        uint8_t a[VECTOR],
            b[VECTOR]; /* a loop of known length, without aliases: the compiler makes it one instruction */
        memcpy(a, at + from, VECTOR);
        memcpy(b, of + from, VECTOR);
        for (int i = 0; i < VECTOR; i++)
            a[i] = a[i] > b[i] ? a[i] : b[i];
        memcpy(at + from, a, VECTOR);
    }
}

/* Makes cell[0][0 .. columns) of each row, and of the first `rows` rows, the largest of its square: spans double while they fit,
 * and two that overlap make the last. */
static void widen(uint8_t cell[REACH][STRIDE], uint32_t columns, uint32_t rows, uint32_t size)
{
    for (uint32_t row = 0; row < rows + size - 1; row++) {
        uint32_t span = 1, count = columns + size - 1;
        for (; span * 2 <= size; span *= 2) {
            count -= span;
            take_larger(cell[row], cell[row] + span, count);
        }
        take_larger(cell[row], cell[row] + size - span, columns);
    }
    uint32_t span = 1, count = rows + size - 1;
    for (; span * 2 <= size; span *= 2) {
        count -= span;
        for (uint32_t row = 0; row < count; row++)
            take_larger(cell[row], cell[row + span], columns);
    }
    for (uint32_t row = 0; row < rows; row++)
        take_larger(cell[row], cell[row + size - span], columns);
}

/* Bit x of the word is byte x, each 0 or 1. */
static uint64_t bits_of(const uint8_t flags[TP_MAP_TILE])
{
    uint64_t bits = 0;
    for (uint32_t x = 0; x < TP_MAP_TILE; x += 8) {
        uint64_t eight = 0;
        for (uint32_t i = 0; i < 8; i++)
            eight |= (uint64_t)flags[x + i] << (8 * i);
        bits |= (eight * 0x0102040810204080u >> 56) << x; /* bit 8i goes to bit 56 + i */
    }
    return bits;
}

/* Writes rows [from, to) of the layer's tile whose top left is (x0, y0), after the base. */
static void make_rows(const struct ranks *ranks, const struct tp_map *base, struct tp_map_tile *tile,
                      uint32_t x0, uint32_t y0, uint32_t from, uint32_t to)
{
    uint32_t columns = tile->columns, rows = to - from;
    uint8_t *classes = tp_map_tile_classes(tile) + (size_t)from * columns;
    if (ranks->size == 1) {
        const struct tp_map_tile *base_tile = tp_map_tile_at(base, x0, y0);
        memcpy(classes, tp_map_tile_classes(base_tile) + (size_t)from * columns, (size_t)rows * columns);
        for (uint32_t row = 0; row < rows; row++, classes += columns) {
            uint8_t flags[TP_MAP_TILE] = {0};
            for (uint32_t x = 0; x < columns; x++)
                flags[x] = ranks->profile.weight[classes[x]] != 0;
            tile->passable[from + row] = bits_of(flags);
        }
        return;
    }
    uint8_t cell[REACH][STRIDE];
    read_ranks(ranks, base, x0, y0 + from, columns + ranks->size - 1, rows + ranks->size - 1, cell);
    widen(cell, columns, rows, ranks->size);
    for (uint32_t row = 0; row < rows; row++, classes += columns) {
        uint8_t flags[TP_MAP_TILE] = {0};
        for (uint32_t x = 0; x < columns; x++) {
            classes[x] = ranks->class_of[cell[row][x]];
            flags[x] = cell[row][x] != ranks->shut;
        }
        tile->passable[from + row] = bits_of(flags);
    }
}

static uint64_t passable_cells(const struct tp_map_tile *tile)
{
    uint64_t cells = 0;
    for (uint32_t row = 0; row < tile->rows; row++)
        cells += (uint64_t)__builtin_popcountll(tile->passable[row]);
    return cells;
}

/* ---- Building ---- */

static struct tp_map *layer_new(const struct ranks *ranks, const struct tp_map *base)
{
    struct tp_map *layer = tp__map_new(base->held, base->width, base->height);
    if (layer) {
        layer->epoch = base->epoch;
        layer->version = base->version;
        tp__map_profile_set(layer, &ranks->profile);
    }
    return layer;
}

/* Gives a layer its block graphs: those of `before`, followed, or the first. */
static int add_blocks(struct tp_map *layer, const struct tp_map *before, enum tp_blocks_links links)
{
    struct tp_blocks *blocks = NULL, *free_blocks = NULL;
    bool follows = before && before->blocks;
    int error = follows ? tp_blocks_follow(&blocks, before->blocks, before, layer) : tp_blocks_build(&blocks, layer, links);
    layer->blocks = blocks;
    if (error)
        return error;
    if (!follows)
        error = tp_blocks_build_free(&free_blocks, layer, links);
    layer->free_blocks = follows ? tp_blocks_ref(before->free_blocks) : free_blocks;
    return error;
}

/* Ends a layer whose cells are made. It is freed on error. */
static int layer_finish(struct tp_map **out, struct tp_map *layer, const struct tp_map *before, const struct tp_layer_kind *kind)
{
    int error = kind->has_blocks ? add_blocks(layer, before, kind->links) : TP_OK;
    if (error)
        tp_map_unref(layer);
    else
        *out = layer;
    return error;
}

int tp_layer_build(struct tp_map **out, const struct tp_map *base, const struct tp_layer_kind *kind)
{
    struct ranks ranks;
    *out = NULL;
    int error = prepare(&ranks, base, kind);
    if (error)
        return error;
    struct tp_map *layer = layer_new(&ranks, base);
    if (!layer)
        return TP_ERR_NO_MEMORY;
    layer->rose_version = layer->fell_version = base->version;
    size_t tiles = (size_t)base->tiles_x * base->tiles_y;
    for (size_t i = 0; i < tiles; i++) {
        struct tp_map_tile *of = base->tiles[i], *tile;
        tile =
            ranks.shares_base ? tp__map_tile_ref(of) : tp__map_tile_new(layer->held, of->columns, of->rows);
        layer->tiles[i] = tile;
        if (!tile) {
            tp_map_unref(layer);
            return TP_ERR_NO_MEMORY;
        }
        if (!ranks.shares_base)
            make_rows(&ranks, base, tile, (uint32_t)(i % base->tiles_x) * TP_MAP_TILE,
                      (uint32_t)(i / base->tiles_x) * TP_MAP_TILE, 0, tile->rows);
        layer->passable_cells += passable_cells(tile);
    }
    return layer_finish(out, layer, NULL, kind);
}

/* ---- Following ---- */

/* The rows of tile i in which two versions differ, bit y: row y. With `edge_rows` or `edge_columns` below TP_MAP_TILE only the
 * first so many are looked at. */
static uint64_t rows_changed(const struct tp_map *before, const struct tp_map *now, size_t i,
                             uint32_t edge_columns, uint32_t edge_rows)
{
    const struct tp_map_tile *a = before->tiles[i], *b = now->tiles[i];
    if (a == b)
        return 0;
    uint32_t columns = a->columns < edge_columns ? a->columns : edge_columns;
    uint32_t rows = a->rows < edge_rows ? a->rows : edge_rows;
    uint64_t changed = 0;
    for (uint32_t row = 0; row < rows; row++) {
        size_t at = (size_t)row * a->columns;
        if (memcmp(tp_map_tile_classes(a) + at, tp_map_tile_classes(b) + at, columns) != 0)
            changed |= 1ull << row;
    }
    return changed;
}

/* The rows of the layer's tile i that a change of the base touches: those of its own tile and of the one to the right, and of the
 * first size - 1 rows of the two below. */
static uint64_t rows_touched(const struct ranks *ranks, const struct tp_map *before, const struct tp_map *now,
                             size_t i)
{
    uint32_t reach = ranks->size - 1;
    bool has_right = (i + 1) % now->tiles_x != 0, has_below = i / now->tiles_x + 1 < now->tiles_y;
    uint64_t here = rows_changed(before, now, i, TP_MAP_TILE, TP_MAP_TILE), below = 0, touched;
    if (reach && has_right)
        here |= rows_changed(before, now, i + 1, reach, TP_MAP_TILE);
    if (reach && has_below)
        below |= rows_changed(before, now, i + now->tiles_x, TP_MAP_TILE, reach);
    if (reach && has_right && has_below)
        below |= rows_changed(before, now, i + now->tiles_x + 1, reach, reach);
    touched = here;
    for (uint32_t up = 1; up <= reach; up++)
        touched |= here >> up | below << (TP_MAP_TILE - up);
    uint32_t rows = now->tiles[i]->rows; /* fewer than a whole tile's have nothing below them */
    return rows < TP_MAP_TILE ? touched & ((1ull << rows) - 1) : touched;
}

/* Marks whether a cell of the rows given got heavier or lighter. Returns whether some class differs. */
static bool mark(struct tp_map *layer, const struct tp_map_tile *before, const struct tp_map_tile *now,
                 uint64_t rows)
{
    bool differs = false, rose = layer->rose_version == layer->version,
         fell = layer->fell_version == layer->version;
    for (; rows && !(differs && rose && fell);
         rows &= rows - 1) { /* what is left to say decides how far to look */
        size_t at = (size_t)__builtin_ctzll(rows) * now->columns;
        const uint8_t *a = tp_map_tile_classes(before) + at, *b = tp_map_tile_classes(now) + at;
        if (memcmp(a, b, now->columns) == 0)
            continue;
        differs = true;
        for (uint32_t x = 0; x < now->columns && !(rose && fell); x++) {
            uint16_t was = tp__weight_rank(layer->profile.weight[a[x]]),
                     is = tp__weight_rank(layer->profile.weight[b[x]]);
            rose |= is > was;
            fell |= is < was;
        }
    }
    layer->rose_version = rose ? layer->version : layer->rose_version;
    layer->fell_version = fell ? layer->version : layer->fell_version;
    return differs;
}

/* The layer's next tile i, a reference: the one before where no cell of it changed. NULL: out of memory. */
static struct tp_map_tile *follow_tile(const struct ranks *ranks, struct tp_map *next,
                                       const struct tp_map *layer, const struct tp_map *before,
                                       const struct tp_map *now, size_t i)
{
    struct tp_map_tile *old = layer->tiles[i];
    uint64_t rows = rows_touched(ranks, before, now, i);
    if (ranks
            ->shares_base) { /* the base's tile, also where it is new but the same, so that none is held twice */
        mark(next, before->tiles[i], now->tiles[i], rows);
        next->passable_cells += before->tiles[i] == now->tiles[i]
                                    ? 0
                                    : passable_cells(now->tiles[i]) - passable_cells(before->tiles[i]);
        return tp__map_tile_ref(now->tiles[i]);
    }
    if (!rows)
        return tp__map_tile_ref(old);
    struct tp_map_tile *tile = tp__map_tile_copy(next->held, old);
    if (!tile)
        return NULL;
    uint32_t x0 = (uint32_t)(i % now->tiles_x) * TP_MAP_TILE, y0 = (uint32_t)(i / now->tiles_x) * TP_MAP_TILE;
    for (uint64_t left = rows; left;) { /* each run of rows at once */
        uint32_t from = (uint32_t)__builtin_ctzll(left);
        uint64_t run = ~(left >> from);
        uint32_t length = run ? (uint32_t)__builtin_ctzll(run) : TP_MAP_TILE;
        length = length > TP_MAP_TILE - from ? TP_MAP_TILE - from : length;
        make_rows(ranks, now, tile, x0, y0, from, from + length);
        left &= from + length < TP_MAP_TILE ? ~0ull << (from + length) : 0;
    }
    if (!mark(next, old, tile, rows)) {
        tp__map_tile_unref(next->held, tile);
        return tp__map_tile_ref(old);
    }
    next->passable_cells += passable_cells(tile) - passable_cells(old);
    return tile;
}

int tp_layer_follow(struct tp_map **out, const struct tp_map *layer, const struct tp_map *before,
                    const struct tp_map *now, const struct tp_layer_kind *kind)
{
    struct ranks ranks;
    *out = NULL;
    int error = prepare(&ranks, now, kind);
    if (error)
        return error;
    struct tp_map *next = layer_new(&ranks, now);
    if (!next)
        return TP_ERR_NO_MEMORY;
    next->rose_version = layer->rose_version;
    next->fell_version = layer->fell_version;
    next->passable_cells = layer->passable_cells;
    size_t tiles = (size_t)now->tiles_x * now->tiles_y;
    for (size_t i = 0; i < tiles; i++) {
        next->tiles[i] = follow_tile(&ranks, next, layer, before, now, i);
        if (!next->tiles[i]) {
            tp_map_unref(next);
            return TP_ERR_NO_MEMORY;
        }
    }
    return layer_finish(out, next, layer, kind);
}
