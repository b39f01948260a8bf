#include "node/tiles.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = TP_PAGE_TILES * sizeof(struct tp_tile *) };

void tp_tiles_init(struct tp_tiles *tiles, struct tp_pool *pool, uint32_t width, uint32_t height,
                   uint32_t tile_bytes, uint32_t stamp_max, uint64_t *bytes, uint64_t bytes_max)
{
    uint32_t page_cells = TP_TILE_SIDE * TP_PAGE_SIDE;
    *tiles = (struct tp_tiles){
        .pool = pool,
        .pages_x = (width + page_cells - 1) / page_cells,
        .pages_y = (height + page_cells - 1) / page_cells,
        .tile_bytes = tile_bytes,
        .stamp_max = stamp_max,
        .bytes = bytes,
        .bytes_max = bytes_max,
    };
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

void tp_tiles_fini(struct tp_tiles *tiles)
{
    each_tile(tiles, true);
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

struct tp_tile *tp_tiles_touch(struct tp_tiles *tiles, uint32_t x, uint32_t y, bool *fresh)
{
    uint32_t tx = x >> TP_TILE_BITS, ty = y >> TP_TILE_BITS;
    *fresh = false;
    if (!tiles->top) {
        tiles->top = calloc((size_t)tiles->pages_x * tiles->pages_y, sizeof tiles->top[0]);
        if (!tiles->top)
            return NULL;
    }
    struct tp_tile ***page = &tiles->top[(ty >> TP_PAGE_BITS) * tiles->pages_x + (tx >> TP_PAGE_BITS)];
    if (!*page) {
        struct tp_tile **block = block_get(tiles, PAGE_BYTES);
        if (!block)
            return NULL;
        memset(block, 0, PAGE_BYTES);
        *page = block;
    }
    struct tp_tile **slot = &(*page)[(ty & (TP_PAGE_SIDE - 1)) << TP_PAGE_BITS | (tx & (TP_PAGE_SIDE - 1))];
    if (!*slot) {
        *slot = block_get(tiles, tiles->tile_bytes);
        if (!*slot)
            return NULL;
        (*slot)->stamp = 0;
    }
    if ((*slot)->stamp != tiles->stamp) {
        (*slot)->stamp = tiles->stamp;
        *fresh = true;
    }
    return *slot;
}
