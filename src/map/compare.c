/* Which cells differ by class between two versions. */
#include "map/map.h"

#include <string.h>

bool tp_map_compare_classes(const struct tp_map *before, const struct tp_map *now,
                            tp_map_class_changed_cb changed, void *context)
{
    size_t tiles = (size_t)now->tiles_x * now->tiles_y;
    for (size_t tile = 0; tile < tiles; tile++) {
        const struct tp_map_tile *old_tile = before->tiles[tile], *new_tile = now->tiles[tile];
        if (new_tile == old_tile)
            continue;
        uint32_t x0 = (uint32_t)(tile % now->tiles_x) * TP_MAP_TILE,
                 y0 = (uint32_t)(tile / now->tiles_x) * TP_MAP_TILE;
        const uint8_t *was = tp_map_tile_classes(old_tile), *is = tp_map_tile_classes(new_tile);
        for (uint32_t row = 0; row < new_tile->rows;
             row++, was += new_tile->columns, is += new_tile->columns) {
            if (memcmp(was, is, new_tile->columns) == 0)
                continue;
            for (uint32_t column = 0; column < new_tile->columns; column++)
                if (was[column] != is[column] &&
                    !changed(context, (y0 + row) * now->width + x0 + column, is[column]))
                    return false;
        }
    }
    return true;
}
