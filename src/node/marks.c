#include "node/marks.h"

#include <string.h>

bool tp_marks_set(struct tp_tiles *marks, uint32_t x, uint32_t y, uint8_t mark)
{
    bool fresh;
    uint32_t stamp, slot = tp_tile_slot(x, y);
    struct tp_marks_tile *tile = (struct tp_marks_tile *)tp_tiles_touch(marks, x, y, &fresh, &stamp);
    if (!tile)
        return false;
    if (fresh)
        memset(tile->mark, TP_MARK_NONE, marks->tile_bytes - offsetof(struct tp_marks_tile, mark));
    if (marks->tile_bytes == TP_MARKS_WIDE_BYTES)
        tile->mark[slot] = mark;
    else
        tp_marks_set_narrow(tile->mark, slot, mark);
    return true;
}
