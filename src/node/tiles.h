/* A sparse table of 8x8-cell tiles over a map: the two-level index under node stores and path marks.
 *
 * What it is: pages of 64 tile pointers (8x8, or longer where the map is narrow; 256 where the map is larger than 1 Mi cells), allocated when first touched, under
 * one top table; a look-up is two indexings, without a hash. Tiles are blocks of the pool; what they hold is their owner's affair, but each begins
 * with a stamp (struct tp_tile), so that starting anew is a new stamp and nothing is cleared.
 * What it refuses: growing beyond its byte cap (touch gives NULL and the owner goes on with what it has).
 */
#ifndef TP_NODE_TILES_H
#define TP_NODE_TILES_H

#include "base/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TP_TILE_BITS = 3,                    /* 8 cells on a tile's side */
    TP_TILE_SIDE = 1 << TP_TILE_BITS,
    TP_TILE_CELLS = TP_TILE_SIDE * TP_TILE_SIDE,
    TP_PAGE_BITS_MIN = 6,                /* 64 tiles of one page, */
    TP_PAGE_BITS_MAX = 8,                /* or 256 */
};

struct tp_tile {
    uint32_t stamp; /* the use (search, path) the tile's content belongs to; 0 is never in use */
};

struct tp_tiles {
    struct tp_pool *pool;    /* borrowed */
    struct tp_tile ***top;   /* pages_x * pages_y pages, a block of the pool like all below it, on larger maps of its own; NULL until the
                              * first touch */
    uint32_t pages_x, pages_y;
    uint32_t page_bits_x, page_bits_y; /* a page's sides in tiles, as powers of 2 */
    uint32_t tile_bytes;     /* of one tile, header included */
    uint32_t stamp;          /* of the present use */
    uint32_t stamp_max;      /* the largest before it wraps */
    uint64_t *bytes;         /* the owner's count of bytes held, top table included; shared by its tables */
    uint64_t bytes_max;      /* its cap; UINT64_MAX for none */
};

/* Prepares a table over width x height cells; allocates nothing. */
void tp_tiles_init(struct tp_tiles *tiles, struct tp_pool *pool, uint32_t width, uint32_t height,
                   uint32_t tile_bytes, uint32_t stamp_max, uint64_t *bytes, uint64_t bytes_max);

/* Puts every block back; the table may be used again, or not. Cost: O(pages + tiles held). */
void tp_tiles_empty(struct tp_tiles *tiles);

/* How far a table that is being put back was gone through. */
struct tp_tiles_sweep {
    uint32_t page, tile;
};

/* Puts back as many blocks as *blocks says, which it takes from, in the order of the map; true when all are, the top table too (*sweep is 0 again
 * then). The table must not be used before. Cost: O(blocks), and O(top table and 256 a page) over all its calls. */
bool tp_tiles_put_some(struct tp_tiles *tiles, struct tp_tiles_sweep *sweep, uint32_t *blocks);

/* Begins a new use: all tiles become stale at once. Cost: O(1), but O(tiles held) once every stamp_max uses, when
 * the stamp wraps and every tile's stamp is set to 0. */
void tp_tiles_begin(struct tp_tiles *tiles);

/* Tiles of one page. */
static inline uint32_t tp_tiles_page_tiles(const struct tp_tiles *tiles)
{
    return 1u << (tiles->page_bits_x + tiles->page_bits_y);
}

/* The cell's place within its tile, row-major. */
static inline uint32_t tp_tile_slot(uint32_t x, uint32_t y)
{
    return (y & (TP_TILE_SIDE - 1)) << TP_TILE_BITS | (x & (TP_TILE_SIDE - 1));
}

/* The index of a tile's page in the top table, and of the tile in its page. */
static inline size_t tp__tiles_page(const struct tp_tiles *tiles, uint32_t tx, uint32_t ty)
{
    return (size_t)(ty >> tiles->page_bits_y) * tiles->pages_x + (tx >> tiles->page_bits_x);
}

static inline uint32_t tp__tiles_in_page(const struct tp_tiles *tiles, uint32_t tx, uint32_t ty)
{
    return (ty & ((1u << tiles->page_bits_y) - 1)) << tiles->page_bits_x | (tx & ((1u << tiles->page_bits_x) - 1));
}

/* The tile over cell (x, y) if it belongs to the present use, else NULL. */
static inline struct tp_tile *tp_tiles_find(const struct tp_tiles *tiles, uint32_t x, uint32_t y)
{
    uint32_t tx = x >> TP_TILE_BITS, ty = y >> TP_TILE_BITS;
    if (!tiles->top)
        return NULL;
    struct tp_tile **page = tiles->top[tp__tiles_page(tiles, tx, ty)];
    if (!page)
        return NULL;
    struct tp_tile *tile = page[tp__tiles_in_page(tiles, tx, ty)];
    return tile && tile->stamp == tiles->stamp ? tile : NULL;
}

/* Where the address of the page over a cell stands; where that of its tile does, NULL if nowhere; and that address, whatever use the tile is of.
 * The table was touched before. For fetching them ahead: no tile is read. */
static inline struct tp_tile **const *tp_tiles_peek_top(const struct tp_tiles *tiles, uint32_t x, uint32_t y)
{
    return &tiles->top[tp__tiles_page(tiles, x >> TP_TILE_BITS, y >> TP_TILE_BITS)];
}

static inline struct tp_tile *const *tp_tiles_peek_at(const struct tp_tiles *tiles, uint32_t x, uint32_t y)
{
    uint32_t tx = x >> TP_TILE_BITS, ty = y >> TP_TILE_BITS;
    struct tp_tile **page = tiles->top[tp__tiles_page(tiles, tx, ty)];
    return page ? &page[tp__tiles_in_page(tiles, tx, ty)] : NULL;
}

static inline const struct tp_tile *tp_tiles_peek(const struct tp_tiles *tiles, uint32_t x, uint32_t y)
{
    struct tp_tile *const *place = tp_tiles_peek_at(tiles, x, y);
    return place ? *place : NULL;
}

/* The tile over cell (x, y), allocated if need be; *fresh tells that its content is of an earlier use (*stamp) or
 * undefined (*stamp 0) and that the owner must set it up (its stamp is current already). NULL at the cap. Cost: O(1). */
struct tp_tile *tp_tiles_touch(struct tp_tiles *tiles, uint32_t x, uint32_t y, bool *fresh, uint32_t *stamp);

#endif
