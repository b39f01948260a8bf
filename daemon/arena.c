#include "daemon/arena.h"

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
        size_t capacity = arena->taken_bytes > CHUNK_BYTES ? arena->taken_bytes : CHUNK_BYTES;
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
    while (arena->chunks != NULL && (arena->chunks->older != NULL || arena->chunks->capacity > CHUNK_BYTES))
        drop_newest(arena);
    arena->used = 0;
    arena->is_exhausted = false;
}
