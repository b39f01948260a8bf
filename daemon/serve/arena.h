/* Memory for one request: taken piece by piece, given back all at once. A loop has one, so that decoding a
 * frame costs no malloc in the steady state; its cap bounds what a small frame can blow up to. */
#ifndef TP_DAEMON_ARENA_H
#define TP_DAEMON_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct tp_arena_chunk;

struct tp_arena {
    struct tp_arena_chunk *chunks; /* newest first */
    size_t used;                   /* of the newest */
    size_t taken_bytes, bytes_max; /* of all chunks */
    size_t wanted;                 /* of the next first chunk: what a frame took last that one chunk was not enough for */
    size_t used_most;              /* by one frame, since the last trim */
    bool is_exhausted;             /* the cap refused something since the last reset */
};

void tp_arena_init(struct tp_arena *arena, size_t bytes_max);
void tp_arena_fini(struct tp_arena *arena);

/* Gives `bytes`, 16-byte aligned, undefined contents, until the next reset; NULL at the cap or out of memory.
 */
void *tp_arena_take(struct tp_arena *arena, size_t bytes);

/* Takes everything back; keeps one chunk, of up to a quarter of bytes_max, that will do for frames like those that came. */
void tp_arena_reset(struct tp_arena *arena);

/* Gives a chunk back that is larger than what frames needed since the last call. Between frames, now and then. */
void tp_arena_trim(struct tp_arena *arena);

#endif
