#include "node/marks.h"

#include <string.h>

struct tp_marks_tile *tp_marks_touch(struct tp_tiles *marks, uint32_t x, uint32_t y)
{
    bool fresh;
    uint32_t stamp;
    struct tp_marks_tile *tile = (struct tp_marks_tile *)tp_tiles_touch(marks, x, y, &fresh, &stamp);
    if (tile && fresh)
        memset(tile->mark, TP_MARK_NONE, marks->tile_bytes - offsetof(struct tp_marks_tile, mark));
    return tile;
}

bool tp_marks_set(struct tp_tiles *marks, uint32_t x, uint32_t y, uint8_t mark)
{
    struct tp_marks_tile *tile = tp_marks_touch(marks, x, y);
    if (tile)
        tp_marks_put(marks, tile, tp_tile_slot(x, y), mark);
    return tile != NULL;
}
