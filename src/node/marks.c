#include "node/marks.h"

#include <string.h>

/* The tile over a cell, set up for the present path; NULL at the cap. */
static struct tp_marks_tile *touch(struct tp_tiles *marks, uint32_t x, uint32_t y)
{
    bool fresh;
    uint32_t stamp;
    struct tp_marks_tile *tile = (struct tp_marks_tile *)tp_tiles_touch(marks, x, y, &fresh, &stamp);
    if (tile && fresh)
        memset(tile->mark, TP_MARK_NONE, marks->tile_bytes - offsetof(struct tp_marks_tile, mark));
    return tile;
}

bool tp_marks_reserve(struct tp_tiles *marks, uint32_t x, uint32_t y)
{
    return tp_tiles_find(marks, x, y) || touch(marks, x, y);
}

bool tp_marks_set(struct tp_tiles *marks, uint32_t x, uint32_t y, uint8_t mark)
{
    struct tp_marks_tile *tile = touch(marks, x, y);
    if (!tile)
        return false;
    uint32_t slot = tp_tile_slot(x, y), shift = slot % 2 * 4;
    if (marks->tile_bytes == TP_MARKS_WIDE_BYTES)
        tile->mark[slot] = mark;
    else
        tile->mark[slot / 2] = (uint8_t)((tile->mark[slot / 2] & ~(15u << shift)) | (uint32_t)mark << shift);
    return true;
}
