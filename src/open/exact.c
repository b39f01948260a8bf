#include "open/exact.h"

#include <stdlib.h>

void tp_open_init(struct tp_open *open, bool wide, struct tp_pool *pool, uint64_t *bytes, uint64_t bytes_max)
{
    *open = (struct tp_open){.pool = pool, .wide = wide, .bytes = bytes, .bytes_max = bytes_max};
}

void tp_open_empty(struct tp_open *open)
{
    for (uint32_t i = 0; i < open->chunks_count; i++)
        tp_pool_put(open->pool, open->chunks[i], TP_OPEN_CHUNK_BYTES);
    *open->bytes -= (uint64_t)open->chunks_count * TP_OPEN_CHUNK_BYTES;
    open->chunks_count = open->count = open->capacity = 0;
}

void tp_open_fini(struct tp_open *open)
{
    tp_open_empty(open);
    free(open->chunks);
    open->chunks = NULL;
    open->chunks_room = 0;
}

bool tp_open_grow(struct tp_open *open)
{
    uint32_t entries = TP_OPEN_CHUNK_BYTES / (open->wide ? sizeof(struct tp_open_wide) : sizeof(struct tp_open_narrow));
    if (*open->bytes + TP_OPEN_CHUNK_BYTES > open->bytes_max || open->capacity > UINT32_MAX - 2 * entries)
        return false;
    if (open->chunks_count == open->chunks_room) {
        uint32_t room = open->chunks_room ? 2 * open->chunks_room : 8;
        void **chunks = realloc(open->chunks, room * sizeof *chunks);
        if (!chunks)
            return false;
        open->chunks = chunks;
        open->chunks_room = room;
    }
    void *chunk = tp_pool_get(open->pool, TP_OPEN_CHUNK_BYTES);
    if (!chunk)
        return false;
    open->chunks[open->chunks_count++] = chunk;
    *open->bytes += TP_OPEN_CHUNK_BYTES;
    /* the entries before the root's index are never used */
    open->capacity = open->chunks_count * entries - TP_OPEN_ROOT;
    return true;
}
