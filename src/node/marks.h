/* The states of one path, marked in tiles: for each state of the path, the move that the path takes out of it.
 *
 * Membership and the next step are one look-up; forgetting a path is O(1); memory follows the path. A path is
 * marked from its end towards its beginning, as tracing back meets its states. A mark is 4 bits where moves are few, else a byte.
 * What it refuses: a mark past the byte cap of the tiles (the path's owner then goes on without that path). Who calls it:
 * the traces and shortcuts of a session.
 */
#ifndef TP_NODE_MARKS_H
#define TP_NODE_MARKS_H

#include "node/tiles.h"

enum {
    TP_MARK_NONE = 0, /* not on the path */
    TP_MARK_END = 1,  /* the path's last state */
    TP_MARK_NEXT = 2, /* plus the next move: a direction, or a listed space's move */
};

struct tp_marks_tile {
    struct tp_tile tile;
    uint8_t mark[TP_TILE_CELLS]; /* or half as many, of two marks each */
};

enum {
    TP_MARKS_WIDE_BYTES = sizeof(struct tp_marks_tile),
    TP_MARKS_NARROW_BYTES = TP_MARKS_WIDE_BYTES - TP_TILE_CELLS / 2,
};

/* Marks of 4 bits, by slot. */
static inline uint8_t tp_marks_narrow(const uint8_t *marks, uint32_t slot)
{
    return marks[slot / 2] >> slot % 2 * 4 & 15;
}

static inline void tp_marks_set_narrow(uint8_t *marks, uint32_t slot, uint8_t mark)
{
    uint32_t shift = slot % 2 * 4;
    marks[slot / 2] = (uint8_t)((marks[slot / 2] & ~(15u << shift)) | (uint32_t)mark << shift);
}

/* Whether marks for moves below `moves` are narrow. */
static inline bool tp_marks_are_narrow(uint32_t moves)
{
    return TP_MARK_NEXT + moves <= 16;
}

/* For moves below `moves`. */
static inline void tp_marks_init(struct tp_tiles *marks, struct tp_pool *pool, uint32_t width, uint32_t height, uint32_t moves,
                                 uint64_t *bytes, uint64_t bytes_max)
{
    tp_tiles_init(marks, pool, width, height, tp_marks_are_narrow(moves) ? TP_MARKS_NARROW_BYTES : TP_MARKS_WIDE_BYTES, UINT32_MAX, bytes,
                  bytes_max);
}

/* The mark of a slot of a tile. */
static inline uint8_t tp_marks_in(const struct tp_tiles *marks, const struct tp_marks_tile *tile, uint32_t slot)
{
    return marks->tile_bytes == TP_MARKS_WIDE_BYTES ? tile->mark[slot] : tp_marks_narrow(tile->mark, slot);
}

/* The mark of a cell of the present path. */
static inline uint8_t tp_marks_at(const struct tp_tiles *marks, uint32_t x, uint32_t y)
{
    const struct tp_marks_tile *tile = (const struct tp_marks_tile *)tp_tiles_find(marks, x, y);
    return tile ? tp_marks_in(marks, tile, tp_tile_slot(x, y)) : TP_MARK_NONE;
}

/* Marks a cell; false at the cap. Cost: O(1). */
bool tp_marks_set(struct tp_tiles *marks, uint32_t x, uint32_t y, uint8_t mark);

#endif
