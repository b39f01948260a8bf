#include "node/tiles.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = TP_PAGE_TILES * sizeof(struct tp_tile *) };

void tp_tiles_init(struct tp_tiles *tiles, struct tp_pool *pool, uint32_t width, uint32_t height,
                   uint32_t tile_bytes, uint32_t stamp_max, uint64_t *bytes, uint64_t bytes_max)
{
    uint32_t tiles_x = (width + TP_TILE_SIDE - 1) / TP_TILE_SIDE, tiles_y = (height + TP_TILE_SIDE - 1) / TP_TILE_SIDE;
    /* square pages, but no wider or higher than the map asks for */
    uint32_t bits_x = TP_PAGE_BITS / 2;
    while (bits_x > 0 && tiles_x <= 1u << (bits_x - 1))
        bits_x--;
    while (bits_x < TP_PAGE_BITS && tiles_y <= 1u << (TP_PAGE_BITS - bits_x - 1))
        bits_x++;
    uint32_t bits_y = TP_PAGE_BITS - bits_x;
    *tiles = (struct tp_tiles){
        .pool = pool,
        .page_bits_x = bits_x,
        .page_bits_y = bits_y,
        .pages_x = (tiles_x + (1u << bits_x) - 1) >> bits_x,
        .pages_y = (tiles_y + (1u << bits_y) - 1) >> bits_y,
        .tile_bytes = tile_bytes,
        .stamp_max = stamp_max,
        .bytes = bytes,
        .bytes_max = bytes_max,
    };
}

static uint64_t top_bytes(const struct tp_tiles *tiles)
{
    return (uint64_t)tiles->pages_x * tiles->pages_y * sizeof tiles->top[0];
}

/* Puts every tile and page back, or else sets the stamp of every tile held to 0. */
static void each_tile(struct tp_tiles *tiles, bool put_back)
{
    size_t pages = tiles->top ? (size_t)tiles->pages_x * tiles->pages_y : 0;
    for (size_t i = 0; i < pages; i++) {
        struct tp_tile **page = tiles->top[i];
        if (!page)
            continue;
        for (uint32_t j = 0; j < TP_PAGE_TILES; j++) {
            if (page[j] && put_back) {
                tp_pool_put(tiles->pool, page[j], tiles->tile_bytes);
                *tiles->bytes -= tiles->tile_bytes;
            } else if (page[j]) {
                page[j]->stamp = 0;
            }
        }
        if (put_back) {
            tp_pool_put(tiles->pool, page, PAGE_BYTES);
            *tiles->bytes -= PAGE_BYTES;
        }
    }
}

void tp_tiles_empty(struct tp_tiles *tiles)
{
    each_tile(tiles, true);
    if (tiles->top)
        memset(tiles->top, 0, top_bytes(tiles));
}

void tp_tiles_fini(struct tp_tiles *tiles)
{
    each_tile(tiles, true);
    if (tiles->top)
        *tiles->bytes -= top_bytes(tiles);
    free(tiles->top);
    tiles->top = NULL;
}

void tp_tiles_begin(struct tp_tiles *tiles)
{
    if (tiles->stamp == tiles->stamp_max) {
        each_tile(tiles, false);
        tiles->stamp = 0;
    }
    tiles->stamp++;
}

static void *block_get(struct tp_tiles *tiles, uint32_t bytes)
{
    if (*tiles->bytes + bytes > tiles->bytes_max)
        return NULL;
    void *block = tp_pool_get(tiles->pool, bytes);
    if (block)
        *tiles->bytes += bytes;
    return block;
}

struct tp_tile *tp_tiles_touch(struct tp_tiles *tiles, uint32_t x, uint32_t y, bool *fresh, uint32_t *stamp)
{
    uint32_t tx = x >> TP_TILE_BITS, ty = y >> TP_TILE_BITS;
    *fresh = false;
    *stamp = 0;
    if (!tiles->top) {
        if (*tiles->bytes + top_bytes(tiles) > tiles->bytes_max)
            return NULL;
        tiles->top = calloc((size_t)tiles->pages_x * tiles->pages_y, sizeof tiles->top[0]);
        if (!tiles->top)
            return NULL;
        *tiles->bytes += top_bytes(tiles);
    }
    struct tp_tile ***page = &tiles->top[tp__tiles_page(tiles, tx, ty)];
    if (!*page) {
        struct tp_tile **block = block_get(tiles, PAGE_BYTES);
        if (!block)
            return NULL;
        memset(block, 0, PAGE_BYTES);
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
