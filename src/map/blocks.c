/* The block graph's versions. Happy path: all tiles' parts are made (blocks_tile.c), nodes and areas numbered tile by tile, and labels made
 * (labels.c). A version that follows shares the parts of the tiles that did not change. Failure: out of memory gives up what was made; the
 * version before stays as it was. */
#include "map/blocks.h"

#include "base/check.h"
#include "base/prefetch.h"
#include "map/blocks_scratch.h"

#include <stdlib.h>
#include <string.h>

/* ---- Versions ---- */

/* A version with its tables. */
static size_t tables_bytes(size_t tiles, size_t squares)
{
    return sizeof(struct tp_blocks) + tiles * sizeof(struct tp_blocks_tile *) + (2 * (tiles + 1) + squares + 1) * sizeof(uint32_t) +
           squares;
}

/* A version without tiles, marks and labels; NULL when out of memory. */
static struct tp_blocks *blocks_new(const struct tp_map *map, enum tp_blocks_links links)
{
    uint32_t squares_x = (map->tiles_x + TP_BLOCKS_SQUARE - 1) / TP_BLOCKS_SQUARE;
    uint32_t squares_y = (map->tiles_y + TP_BLOCKS_SQUARE - 1) / TP_BLOCKS_SQUARE;
    size_t tiles = (size_t)map->tiles_x * map->tiles_y, squares = (size_t)squares_x * squares_y;
    struct tp_blocks *blocks = calloc(1, tables_bytes(tiles, squares));
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
    blocks->squares_x = squares_x;
    blocks->squares_y = squares_y;
    blocks->first_region = blocks->first_area + tiles + 1;
    blocks->is_blurred = (uint8_t *)(blocks->first_region + squares + 1);
    return blocks;
}

static size_t tiles_of(const struct tp_blocks *blocks)
{
    return (size_t)blocks->tiles_x * blocks->tiles_y;
}

/* A version with its tables and labels, but for its tiles. */
static size_t own_bytes(const struct tp_blocks *blocks)
{
    size_t squares = (size_t)blocks->squares_x * blocks->squares_y;
    size_t labels = blocks->label ? blocks->areas + 2 * (size_t)blocks->first_region[squares] : 0;
    return tables_bytes(tiles_of(blocks), squares) + labels * sizeof(uint32_t);
}

/* Counts a version that is whole, and those of its tiles that it shares with no other: the one before is held meanwhile. */
static void count_in(struct tp_blocks *blocks, struct tp_map_held *held)
{
    blocks->held = held;
    tp__held_add(held, own_bytes(blocks));
    for (size_t i = 0; held && i < tiles_of(blocks); i++)
        if (atomic_load_explicit(&blocks->tiles[i]->refs, memory_order_relaxed) == 1)
            tp__held_add(held, tp__tile_bytes(blocks->tiles[i]));
}

/* Gives a version its next tile, and nodes and areas their numbers; takes the reference. */
static void tile_take(struct tp_blocks *blocks, size_t i, struct tp_blocks_tile *tile)
{
    blocks->tiles[i] = tile;
    blocks->nodes += tile->nodes;
    blocks->areas += tile->areas;
    blocks->first_node[i + 1] = blocks->nodes;
    blocks->first_area[i + 1] = blocks->areas;
}

static void tile_unref(struct tp_map_held *held, struct tp_blocks_tile *tile)
{
    if (!tile || atomic_fetch_sub_explicit(&tile->refs, 1, memory_order_acq_rel) != 1)
        return;
    tp__held_take(held, tp__tile_bytes(tile));
    free(tile);
}

static struct tp__scratch *scratch_new(const struct tp_map *map, enum tp_blocks_links links)
{
    struct tp__scratch *scratch = malloc(sizeof *scratch);
    if (scratch) {
        scratch->map = map;
        scratch->links = links;
        for (uint32_t class = 0; class < 256; class++)
            scratch->speed[class] = map->profile.weight[class] ? TP__SPEED / map->profile.weight[class] : 0;
    }
    return scratch;
}

/* Makes all tiles. */
static int fill(struct tp_blocks *blocks, const struct tp_map *map)
{
    struct tp__scratch *scratch = scratch_new(map, blocks->links);
    int error = scratch ? TP_OK : TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < tiles_of(blocks) && !error; i++) {
        struct tp_blocks_tile *tile = tp__tile_build(scratch, map->tiles[i]);
        if (tile)
            tile_take(blocks, i, tile);
        error = tile ? TP_OK : TP_ERR_NO_MEMORY;
    }
    free(scratch);
    return error;
}

/* Begins the first version of a block graph; NULL in *blocks on error. */
static int begin(struct tp_blocks **blocks, const struct tp_map *map, enum tp_blocks_links links)
{
    *blocks = NULL;
    if (map->graph || map->puzzle)
        return TP_ERR_UNSUPPORTED;
    *blocks = blocks_new(map, links);
    if (!*blocks)
        return TP_ERR_NO_MEMORY;
    (*blocks)->changed_version = map->version;
    return TP_OK;
}

/* Ends the making of a version: it is given out, or freed on error. */
static int give(struct tp_blocks **out, struct tp_blocks *blocks, int error)
{
    *out = error ? NULL : blocks;
    if (error)
        tp_blocks_unref(blocks);
    return error;
}

int tp_blocks_build(struct tp_blocks **out, const struct tp_map *map, enum tp_blocks_links links)
{
    struct tp_blocks *blocks;
    int error = begin(&blocks, map, links);
    if (!error)
        error = fill(blocks, map);
    if (!error)
        error = tp__blocks_label(blocks);
    if (!error)
        count_in(blocks, map->held);
    return give(out, blocks, error);
}

/* Room for `more` numbers in the list of steps. */
static int steps_reserve(struct tp__steps *steps, size_t more)
{
    if (steps->list_count + more <= steps->list_room)
        return TP_OK;
    size_t room = 2 * (steps->list_count + more);
    uint16_t *list = realloc(steps->list, room * sizeof list[0]);
    if (!list)
        return TP_ERR_NO_MEMORY;
    steps->list = list;
    steps->list_room = room;
    return TP_OK;
}

/* Writes down what became of a tile that is not shared; its part stands in the scratch table. */
static int steps_add(struct tp__steps *steps, const struct tp__scratch *scratch, uint32_t tile, struct tp__step step)
{
    uint32_t origins = scratch->is_regrouped ? scratch->areas : 0, joined = scratch->joined_count;
    if (steps_reserve(steps, origins + 2 * (size_t)joined))
        return TP_ERR_NO_MEMORY;
    uint16_t *list = steps->list + steps->list_count;
    steps->at[tile] = steps->count;
    steps->of[steps->count++] = (struct tp__tile_step){tile, step.is_cut, origins, joined, step.blocks, steps->list_count};
    for (uint32_t i = 0; i < origins; i++)
        *list++ = scratch->origin[scratch->order[i]];
    for (uint32_t i = 0; i < joined; i++) {
        *list++ = scratch->joined[i].one;
        *list++ = scratch->joined[i].other;
    }
    steps->list_count += origins + 2 * (size_t)joined;
    return TP_OK;
}

static void steps_fini(struct tp__steps *steps)
{
    free(steps->of);
    free(steps->at);
    free(steps->list);
}

/* Room for the steps of the tiles in which two versions of a map differ. */
static int steps_init(struct tp__steps *steps, const struct tp_map *before, const struct tp_map *now)
{
    size_t tiles = (size_t)now->tiles_x * now->tiles_y, count = 1;
    for (size_t i = 0; i < tiles; i++)
        count += before->tiles[i] != now->tiles[i];
    *steps = (struct tp__steps){.of = malloc(count * sizeof *steps->of), .at = malloc(tiles * sizeof *steps->at)};
    return steps->of && steps->at ? TP_OK : TP_ERR_NO_MEMORY;
}

/* Tile i comes soon, and the one that comes before long. */
static void tile_expect(const struct tp_blocks *from, const struct tp_map *before, const struct tp_map *now, size_t i)
{
    enum { SOON = 2, LATER = 12 };
    size_t tiles = tiles_of(from);
    if (i + LATER < tiles)
        tp_prefetch(from->tiles[i + LATER]);
    if (i + SOON >= tiles || before->tiles[i + SOON] == now->tiles[i + SOON])
        return;
    tp_prefetch_bytes(before->tiles[i + SOON], sizeof(struct tp_map_tile) + TP_MAP_TILE * sizeof(uint64_t));
    tp_prefetch_bytes(now->tiles[i + SOON], sizeof(struct tp_map_tile) + TP_MAP_TILE * sizeof(uint64_t));
    tp_prefetch_bytes(from->tiles[i + SOON], tp__tile_bytes(from->tiles[i + SOON]));
}

/* Shares or makes all tiles. */
static int fill_following(struct tp_blocks *blocks, const struct tp_blocks *from, const struct tp_map *before,
                          const struct tp_map *now, struct tp__steps *steps)
{
    struct tp__scratch *scratch = scratch_new(now, blocks->links);
    int error = scratch ? steps_init(steps, before, now) : TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < tiles_of(blocks) && !error; i++) {
        tile_expect(from, before, now, i);
        if (before->tiles[i] == now->tiles[i]) {
            tile_take(blocks, i, tp__tile_ref(from->tiles[i]));
            continue;
        }
        struct tp__step step;
        struct tp_blocks_tile *tile = tp__tile_follow(scratch, from->tiles[i], before->tiles[i], now->tiles[i], &step);
        if (!tile) {
            error = TP_ERR_NO_MEMORY;
            continue;
        }
        tile_take(blocks, i, tile);
        if (!step.is_other)
            continue;
        blocks->changed_version = now->version;
        error = steps_add(steps, scratch, (uint32_t)i, step);
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
    struct tp__steps steps = {0};
    next->changed_version = blocks->changed_version;
    int error = fill_following(next, blocks, before, now, &steps);
    if (!error)
        error = tp__blocks_label_follow(next, blocks, &steps);
    steps_fini(&steps);
    if (!error)
        count_in(next, blocks->held);
    return give(out, next, error);
}

/* ---- What is believed ---- */

/* A tile that cells can be written to; freed with free. NULL when out of memory. */
static struct tp_map_tile *page_new(void)
{
    return malloc(sizeof(struct tp_map_tile) + TP_MAP_TILE * (sizeof(uint64_t) + TP_MAP_TILE));
}

/* Makes a tile's part of cells that are all free. */
static struct tp_blocks_tile *free_part(struct tp__scratch *scratch, struct tp_map_tile *page, const struct tp_map_tile *of)
{
    page->columns = of->columns;
    page->rows = of->rows;
    for (uint32_t row = 0; row < page->rows; row++)
        page->passable[row] = ~UINT64_C(0) >> (TP_MAP_TILE - page->columns);
    memset(tp_map_tile_classes(page), tp_profile_least_class(&scratch->map->profile), (size_t)page->columns * page->rows);
    return tp__tile_build(scratch, page);
}

/* Makes or shares all tiles. They are counted. */
static int fill_free(struct tp_blocks *blocks, const struct tp_map *map)
{
    enum { LAST_COLUMN = 1, LAST_ROW = 2 };
    struct tp_blocks_tile *parts[LAST_COLUMN + LAST_ROW + 1] = {NULL};
    struct tp__scratch *scratch = scratch_new(map, blocks->links);
    struct tp_map_tile *page = page_new();
    int error = scratch && page ? TP_OK : TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < tiles_of(blocks) && !error; i++) {
        uint32_t place = (i % map->tiles_x == map->tiles_x - 1 ? LAST_COLUMN : 0) +
                         (i / map->tiles_x == map->tiles_y - 1 ? LAST_ROW : 0);
        struct tp_blocks_tile *part = parts[place] ? tp__tile_ref(parts[place]) : free_part(scratch, page, map->tiles[i]);
        error = part ? TP_OK : TP_ERR_NO_MEMORY;
        if (part && !parts[place])
            tp__held_add(blocks->held, tp__tile_bytes(part));
        if (part)
            tile_take(blocks, i, part);
        parts[place] = part;
    }
    free(scratch);
    free(page);
    return error;
}

int tp_blocks_build_free(struct tp_blocks **out, const struct tp_map *map, enum tp_blocks_links links)
{
    struct tp_blocks *blocks;
    int error = begin(&blocks, map, links);
    if (!error) {
        blocks->held = map->held; /* counted as it is made: its tiles are shared from the first on */
        tp__held_add(blocks->held, own_bytes(blocks));
        error = fill_free(blocks, map);
    }
    return give(out, blocks, error);
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
    struct tp__scratch *scratch = scratch_new(map, blocks->links);
    struct tp_map_tile *page = page_new();
    int error = scratch && page ? TP_OK : TP_ERR_NO_MEMORY;
    for (uint32_t i = 0, next = 0; i < tiles_of(blocks) && !error; i++) {
        struct tp_blocks_tile *part = from->tiles[i], *made = NULL;
        if (next < count && tiles[next] == i) {
            next++;
            page->columns = map->tiles[i]->columns;
            page->rows = map->tiles[i]->rows;
            read(context, i, page);
            made = tp__tile_build(scratch, page);
            error = made ? TP_OK : TP_ERR_NO_MEMORY;
        }
        if (error)
            continue;
        bool is_other = made && !is_part_same(made, part);
        blocks->changed_version = is_other ? blocks->version : blocks->changed_version;
        tile_take(blocks, i, is_other ? made : tp__tile_ref(part));
        if (!is_other)
            free(made);
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
    if (!error)
        count_in(next, held);
    return give(out, next, error);
}

const struct tp_blocks *tp_blocks_ref(const struct tp_blocks *blocks)
{
    uint32_t before = atomic_fetch_add_explicit(&((struct tp_blocks *)blocks)->refs, 1, memory_order_relaxed);
    TP_CHECK(before != 0);
    return blocks;
}

/* `gone` comes first. */
static void blocks_end(struct tp_gone *gone)
{
    struct tp_blocks *own = (struct tp_blocks *)gone;
    for (size_t i = 0; i < tiles_of(own); i++)
        tile_unref(own->held, own->tiles[i]);
    tp__held_take(own->held, own_bytes(own));
    free(own->region);
    free(own->joined);
    free(own->label);
    free(own);
}

void tp_blocks_unref(const struct tp_blocks *blocks)
{
    if (!blocks)
        return;
    struct tp_blocks *own = (struct tp_blocks *)blocks;
    if (atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) == 1)
        tp__held_end(own->held, &own->gone, blocks_end);
}

size_t tp_blocks_bytes(const struct tp_blocks *blocks)
{
    size_t tiles = tiles_of(blocks), bytes = own_bytes(blocks);
    for (size_t i = 0; i < tiles; i++) {
        const struct tp_blocks_tile *tile = blocks->tiles[i];
        bytes += tp__tile_bytes(tile) / atomic_load_explicit(&tile->refs, memory_order_relaxed);
    }
    return bytes;
}
