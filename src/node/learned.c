#include "node/learned.h"

#include <string.h>

bool tp_learned_set(struct tp_tiles *learned, uint32_t x, uint32_t y, uint64_t increase)
{
    bool fresh;
    uint32_t stamp;
    struct tp_learned_tile *tile = (struct tp_learned_tile *)tp_tiles_touch(learned, x, y, &fresh, &stamp);
    if (!tile)
        return false;
    if (fresh)
        memset(tile->increase, 0, sizeof tile->increase);
    tile->increase[tp_tile_slot(x, y)] = increase;
    return true;
}
