#include "daemon/serve/arena.h"

#include <stdlib.h>

struct tp_arena_chunk {
    struct tp_arena_chunk *older;
    size_t capacity;
    _Alignas(16) unsigned char bytes[];
};

enum { CHUNK_BYTES = 64 * 1024 };

void tp_arena_init(struct tp_arena *arena, size_t bytes_max)
{
    *arena = (struct tp_arena){.bytes_max = bytes_max};
}

/* The largest chunk that is kept from frame to frame. */
static size_t kept_max(const struct tp_arena *arena)
{
    return arena->bytes_max / 4 > CHUNK_BYTES ? arena->bytes_max / 4 : CHUNK_BYTES;
}

static void drop_newest(struct tp_arena *arena)
{
    struct tp_arena_chunk *chunk = arena->chunks;
    arena->taken_bytes -= chunk->capacity;
    arena->chunks = chunk->older;
    free(chunk);
}

void tp_arena_fini(struct tp_arena *arena)
{
    while (arena->chunks != NULL)
        drop_newest(arena);
    arena->used = 0;
}

void *tp_arena_take(struct tp_arena *arena, size_t bytes)
{
    if (bytes > arena->bytes_max) {
        arena->is_exhausted = true;
        return NULL;
    }
    bytes = (bytes + 15) & ~(size_t)15;
    if (arena->chunks == NULL || arena->chunks->capacity - arena->used < bytes) {
        /* chunks grow with what is used, so that their number stays small */
        size_t least = arena->wanted > CHUNK_BYTES ? arena->wanted : CHUNK_BYTES;
        size_t capacity = arena->taken_bytes > least ? arena->taken_bytes : least;
        if (capacity > arena->bytes_max - arena->taken_bytes)
            capacity = arena->bytes_max - arena->taken_bytes;
        if (capacity < bytes)
            capacity = bytes;
        if (capacity > arena->bytes_max - arena->taken_bytes) {
            arena->is_exhausted = true;
            return NULL;
        }
        struct tp_arena_chunk *chunk = malloc(sizeof *chunk + capacity);
        if (chunk == NULL) {
            arena->is_exhausted = true;
            return NULL;
        }
        chunk->capacity = capacity;
        chunk->older = arena->chunks;
        arena->chunks = chunk;
        arena->taken_bytes += capacity;
        arena->used = 0;
    }
    void *taken = arena->chunks->bytes + arena->used;
    arena->used += bytes;
    return taken;
}

void tp_arena_reset(struct tp_arena *arena)
{
    size_t taken = arena->taken_bytes;
    bool was_pieced = arena->chunks != NULL && arena->chunks->older != NULL;
    if (arena->used_most < arena->used)
        arena->used_most = arena->used;
    while (arena->chunks != NULL && (was_pieced || arena->chunks->capacity > kept_max(arena)))
        drop_newest(arena);
    if (was_pieced) { /* the next frame is perhaps as large: it gets one chunk */
        arena->wanted = taken < kept_max(arena) ? taken : kept_max(arena);
        arena->used_most = arena->wanted;
    }
    arena->used = 0;
    arena->is_exhausted = false;
}

void tp_arena_trim(struct tp_arena *arena)
{
    tp_arena_reset(arena);
    if (arena->chunks != NULL && arena->chunks->capacity > CHUNK_BYTES && arena->used_most <= arena->chunks->capacity / 4) {
        drop_newest(arena);
        arena->wanted = arena->used_most;
    }
    arena->used_most = 0;
}
