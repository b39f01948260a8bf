/* The moves of a path that is walked and no more changed, 4 bits each, in pieces of one small block of the pool: half a byte a step, and
 * an eighth for what joins the pieces.
 *
 * Moves are entered at the path's end and taken off its front, a piece being put back when all of its moves are; a reader goes
 * over those between. Directions alone fit (below 16): on grids walked by steps every move is one.
 * What it refuses: a move past the byte cap of its owner. Not thread-safe. Who calls it: search/packed.c.
 */
#ifndef TP_NODE_STEPS_H
#define TP_NODE_STEPS_H

#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TP_STEPS_PIECE_BYTES = 40,
    TP_STEPS_A_PIECE = 2 * (TP_STEPS_PIECE_BYTES - sizeof(void *)),
};

struct tp_steps_piece {
    struct tp_steps_piece *next;
    uint8_t moves[TP_STEPS_A_PIECE / 2];
};

struct tp_steps {
    struct tp_steps_piece *first, *last; /* NULL: none */
    uint32_t begin; /* moves of the first piece that were taken off */
    uint32_t count; /* moves held */
};

/* Reads on from a move; good until that is taken off. */
struct tp_steps_reader {
    const struct tp_steps_piece *piece;
    uint32_t at;   /* in the piece */
    uint32_t left; /* moves not read yet */
};

/* Enters a move at the end. False at the cap, `*bytes` being what the owner holds. Cost: O(1). */
bool tp_steps_push(struct tp_steps *steps, uint8_t move, struct tp_pool *pool, uint64_t *bytes, uint64_t bytes_max);

/* Takes off the first move; there must be one. Cost: O(1). */
void tp_steps_pop(struct tp_steps *steps, struct tp_pool *pool, uint64_t *bytes);

/* Takes off all of them. Cost: O(pieces). */
void tp_steps_empty(struct tp_steps *steps, struct tp_pool *pool, uint64_t *bytes);

/* Bytes of the pool that its pieces are. */
static inline uint32_t tp_steps_bytes(const struct tp_steps *steps)
{
    return (steps->begin + steps->count + TP_STEPS_A_PIECE - 1) / TP_STEPS_A_PIECE * TP_STEPS_PIECE_BYTES;
}

static inline uint8_t tp__steps_at(const struct tp_steps_piece *piece, uint32_t at)
{
    return piece->moves[at / 2] >> at % 2 * 4 & 15;
}

/* The first move; there must be one. */
static inline uint8_t tp_steps_first(const struct tp_steps *steps)
{
    return tp__steps_at(steps->first, steps->begin);
}

static inline struct tp_steps_reader tp_steps_read(const struct tp_steps *steps)
{
    return (struct tp_steps_reader){steps->first, steps->begin, steps->count};
}

/* The move that the reader stands at, some being left. */
static inline uint8_t tp_steps_peek(const struct tp_steps_reader *reader)
{
    return tp__steps_at(reader->piece, reader->at);
}

static inline void tp_steps_next(struct tp_steps_reader *reader)
{
    reader->left--;
    if (++reader->at == TP_STEPS_A_PIECE) {
        reader->piece = reader->piece->next;
        reader->at = 0;
    }
}

#endif
