#include "open/exact.h"

#include <stdlib.h>

void tp_open_init(struct tp_open *open, bool wide, struct tp_pool *pool, uint64_t *bytes, uint64_t bytes_max)
{
    *open = (struct tp_open){.pool = pool, .wide = wide, .bytes = bytes, .bytes_max = bytes_max};
}

/* Chunks hold so many entries in all; those before the root's index are never used. */
static uint32_t capacity_of(const struct tp_open *open)
{
    uint32_t entries = TP_OPEN_CHUNK_BYTES / (open->wide ? sizeof(struct tp_open_wide) : sizeof(struct tp_open_narrow));
    return open->chunks_count ? open->chunks_count * entries - TP_OPEN_ROOT : 0;
}

/* ---- The table of chunks: a block of the pool as long as one is large enough ---- */

static uint32_t table_bytes(uint32_t room)
{
    return room * (uint32_t)sizeof(void *);
}

static void table_put(struct tp_open *open, void **table, uint32_t room)
{
    if (table_bytes(room) > TP_POOL_BLOCK_MAX) {
        free(table);
    } else if (room) {
        tp_pool_put(open->pool, table, table_bytes(room));
        *open->bytes -= table_bytes(room);
    }
}

static bool table_grow(struct tp_open *open)
{
    enum { ROOM_FIRST = 16 };
    uint32_t room = open->chunks_room ? 2 * open->chunks_room : ROOM_FIRST, bytes = table_bytes(room);
    bool is_block = bytes <= TP_POOL_BLOCK_MAX;
    if (is_block && *open->bytes + bytes > open->bytes_max)
        return false;
    void **table = is_block ? tp_pool_get(open->pool, bytes) : malloc(bytes);
    if (!table)
        return false;
    *open->bytes += is_block ? bytes : 0;
    if (open->chunks_count)
        memcpy(table, open->chunks, table_bytes(open->chunks_count));
    table_put(open, open->chunks, open->chunks_room);
    open->chunks = table;
    open->chunks_room = room;
    return true;
}

/* ---- Chunks ---- */

bool tp_open_put_some(struct tp_open *open, uint32_t *blocks)
{
    open->count = 0;
    for (; open->chunks_count && *blocks; --*blocks) {
        tp_pool_put(open->pool, open->chunks[--open->chunks_count], TP_OPEN_CHUNK_BYTES);
        *open->bytes -= TP_OPEN_CHUNK_BYTES;
    }
    open->capacity = capacity_of(open);
    if (open->chunks_count)
        return false;
    table_put(open, open->chunks, open->chunks_room);
    open->chunks = NULL;
    open->chunks_room = 0;
    return true;
}

void tp_open_empty(struct tp_open *open)
{
    uint32_t all = UINT32_MAX;
    tp_open_put_some(open, &all);
}

bool tp_open_grow(struct tp_open *open)
{
    if (open->capacity > UINT32_MAX - TP_OPEN_CHUNK_BYTES)
        return false;
    if (open->chunks_count == open->chunks_room && !table_grow(open))
        return false;
    bool fits = *open->bytes + TP_OPEN_CHUNK_BYTES <= open->bytes_max;
    void *chunk = fits ? tp_pool_get(open->pool, TP_OPEN_CHUNK_BYTES) : NULL;
    if (!chunk)
        return false;
    open->chunks[open->chunks_count++] = chunk;
    *open->bytes += TP_OPEN_CHUNK_BYTES;
    open->capacity = capacity_of(open);
    return true;
}
