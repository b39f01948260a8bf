#include "node/tiles.h"

#include <stdlib.h>
#include <string.h>

enum { TOP_PAGES_MAX = TP_POOL_BLOCK_MAX / sizeof(struct tp_tile **) };

static uint32_t page_bytes(const struct tp_tiles *tiles)
{
    return tp_tiles_page_tiles(tiles) * (uint32_t)sizeof(struct tp_tile *);
}

static uint32_t pages_for(uint32_t tiles, uint32_t bits)
{
    return (tiles + (1u << bits) - 1) >> bits;
}

/* Square pages, but no wider or higher than the map asks for. */
static uint32_t page_bits_x(uint32_t bits, uint32_t tiles_x, uint32_t tiles_y)
{
    uint32_t bits_x = bits / 2;
    while (bits_x > 0 && tiles_x <= 1u << (bits_x - 1))
        bits_x--;
    while (bits_x < bits && tiles_y <= 1u << (bits - bits_x - 1))
        bits_x++;
    return bits_x;
}

void tp_tiles_init(struct tp_tiles *tiles, struct tp_pool *pool, uint32_t width, uint32_t height,
                   uint32_t tile_bytes, uint32_t stamp_max, uint64_t *bytes, uint64_t bytes_max)
{
    uint32_t tiles_x = (width + TP_TILE_SIDE - 1) / TP_TILE_SIDE, tiles_y = (height + TP_TILE_SIDE - 1) / TP_TILE_SIDE;
    uint32_t bits = TP_PAGE_BITS_MIN, bits_x = page_bits_x(bits, tiles_x, tiles_y);
    while (bits < TP_PAGE_BITS_MAX && pages_for(tiles_x, bits_x) * pages_for(tiles_y, bits - bits_x) > TOP_PAGES_MAX) {
        bits += 2;
        bits_x = page_bits_x(bits, tiles_x, tiles_y);
    }
    uint32_t bits_y = bits - bits_x;
    *tiles = (struct tp_tiles){
        .pool = pool,
        .page_bits_x = bits_x,
        .page_bits_y = bits_y,
        .pages_x = pages_for(tiles_x, bits_x),
        .pages_y = pages_for(tiles_y, bits_y),
        .tile_bytes = tile_bytes,
        .stamp_max = stamp_max,
        .bytes = bytes,
        .bytes_max = bytes_max,
    };
}

static uint32_t pages_of(const struct tp_tiles *tiles)
{
    return tiles->top ? tiles->pages_x * tiles->pages_y : 0;
}

/* ---- Blocks ---- */

static void *block_get(struct tp_tiles *tiles, uint32_t bytes)
{
    if (*tiles->bytes + bytes > tiles->bytes_max)
        return NULL;
    void *block = tp_pool_get(tiles->pool, bytes);
    if (block)
        *tiles->bytes += bytes;
    return block;
}

static void block_put(struct tp_tiles *tiles, void *block, uint32_t bytes)
{
    tp_pool_put(tiles->pool, block, bytes);
    *tiles->bytes -= bytes;
}

/* The top table is a block of the pool where one is large enough, on maps of up to 4 Mi cells. */
static struct tp_tile ***top_get(struct tp_tiles *tiles)
{
    uint32_t bytes = tiles->pages_x * tiles->pages_y * (uint32_t)sizeof tiles->top[0];
    struct tp_tile ***top;
    if (bytes <= TP_POOL_BLOCK_MAX) {
        top = block_get(tiles, bytes);
    } else {
        top = *tiles->bytes + bytes <= tiles->bytes_max ? malloc(bytes) : NULL;
        *tiles->bytes += top ? bytes : 0;
    }
    if (top)
        memset(top, 0, bytes);
    return top;
}

static void top_put(struct tp_tiles *tiles)
{
    uint32_t bytes = pages_of(tiles) * (uint32_t)sizeof tiles->top[0];
    if (bytes > TP_POOL_BLOCK_MAX) {
        free(tiles->top);
        *tiles->bytes -= bytes;
    } else if (tiles->top) {
        block_put(tiles, tiles->top, bytes);
    }
    tiles->top = NULL;
}

/* ---- A use's end ---- */

bool tp_tiles_put_some(struct tp_tiles *tiles, struct tp_tiles_sweep *sweep, uint32_t *blocks)
{
    for (; sweep->page < pages_of(tiles); sweep->page++, sweep->tile = 0) {
        struct tp_tile **page = tiles->top[sweep->page];
        for (; page && sweep->tile < tp_tiles_page_tiles(tiles); sweep->tile++) {
            if (!page[sweep->tile])
                continue;
            if (!*blocks)
                return false;
            --*blocks;
            block_put(tiles, page[sweep->tile], tiles->tile_bytes);
            page[sweep->tile] = NULL;
        }
        if (!page)
            continue;
        if (!*blocks)
            return false;
        --*blocks;
        block_put(tiles, page, page_bytes(tiles));
        tiles->top[sweep->page] = NULL;
    }
    top_put(tiles);
    *sweep = (struct tp_tiles_sweep){0};
    return true;
}

void tp_tiles_empty(struct tp_tiles *tiles)
{
    struct tp_tiles_sweep sweep = {0};
    uint32_t all = UINT32_MAX;
    tp_tiles_put_some(tiles, &sweep, &all);
}

void tp_tiles_begin(struct tp_tiles *tiles)
{
    if (tiles->stamp == tiles->stamp_max) {
        for (uint32_t i = 0; i < pages_of(tiles); i++)
            for (uint32_t j = 0; tiles->top[i] && j < tp_tiles_page_tiles(tiles); j++)
                if (tiles->top[i][j])
                    tiles->top[i][j]->stamp = 0;
        tiles->stamp = 0;
    }
    tiles->stamp++;
}

struct tp_tile *tp_tiles_touch(struct tp_tiles *tiles, uint32_t x, uint32_t y, bool *fresh, uint32_t *stamp)
{
    uint32_t tx = x >> TP_TILE_BITS, ty = y >> TP_TILE_BITS;
    *fresh = false;
    *stamp = 0;
    if (!tiles->top && !(tiles->top = top_get(tiles)))
        return NULL;
    struct tp_tile ***page = &tiles->top[tp__tiles_page(tiles, tx, ty)];
    if (!*page) {
        struct tp_tile **block = block_get(tiles, page_bytes(tiles));
        if (!block)
            return NULL;
        memset(block, 0, page_bytes(tiles));
        *page = block;
    }
    struct tp_tile **slot = &(*page)[tp__tiles_in_page(tiles, tx, ty)];
    if (!*slot) {
        *slot = block_get(tiles, tiles->tile_bytes);
        if (!*slot)
            return NULL;
        (*slot)->stamp = 0;
    }
    if ((*slot)->stamp != tiles->stamp) {
        *stamp = (*slot)->stamp;
        (*slot)->stamp = tiles->stamp;
        *fresh = true;
    }
    return *slot;
}
