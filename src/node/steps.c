#include "node/steps.h"

_Static_assert(sizeof(struct tp_steps_piece) == TP_STEPS_PIECE_BYTES, "a piece fills its block");

bool tp_steps_push(struct tp_steps *steps, uint8_t move, struct tp_pool *pool, uint64_t *bytes, uint64_t bytes_max)
{
    uint32_t at = (steps->begin + steps->count) % TP_STEPS_A_PIECE;
    if (at == 0 || !steps->first) {
        struct tp_steps_piece *piece = *bytes + sizeof *piece <= bytes_max ? tp_pool_get(pool, sizeof *piece) : NULL;
        if (!piece)
            return false;
        *bytes += sizeof *piece;
        piece->next = NULL;
        if (steps->last)
            steps->last->next = piece;
        else
            steps->first = piece;
        steps->last = piece;
    }
    uint8_t *two = &steps->last->moves[at / 2];
    *two = (uint8_t)(at % 2 ? *two | move << 4 : move);
    steps->count++;
    return true;
}

static void put_first(struct tp_steps *steps, struct tp_pool *pool, uint64_t *bytes)
{
    struct tp_steps_piece *piece = steps->first;
    steps->first = piece->next;
    if (!steps->first)
        steps->last = NULL;
    steps->begin = 0;
    tp_pool_put(pool, piece, sizeof *piece);
    *bytes -= sizeof *piece;
}

void tp_steps_pop(struct tp_steps *steps, struct tp_pool *pool, uint64_t *bytes)
{
    steps->begin++;
    if (!--steps->count || steps->begin == TP_STEPS_A_PIECE)
        put_first(steps, pool, bytes);
}

void tp_steps_empty(struct tp_steps *steps, struct tp_pool *pool, uint64_t *bytes)
{
    while (steps->first)
        put_first(steps, pool, bytes);
    steps->count = 0;
}
