#include "map/walk.h"

#include "base/check.h"

const int8_t tp_direction_dx[TP_DIRECTIONS] = {1, 0, -1, 0, 1, -1, -1, 1, 2, 1, -1, -2, -2, -1, 1, 2};
const int8_t tp_direction_dy[TP_DIRECTIONS] = {0, 1, 0, -1, 1, 1, -1, -1, 1, 2, 2, 1, -1, -2, -2, -1};
const uint8_t tp_direction_opposite[TP_DIRECTIONS] = {2, 3, 0, 1, 6, 7, 4, 5, 12, 13, 14, 15, 8, 9, 10, 11};
const uint16_t tp_direction_length[TP_DIRECTIONS] = {
    TP_COST_UNIT,     TP_COST_UNIT,     TP_COST_UNIT,     TP_COST_UNIT,   TP_COST_DIAGONAL, TP_COST_DIAGONAL,
    TP_COST_DIAGONAL, TP_COST_DIAGONAL, TP_COST_KNIGHT,   TP_COST_KNIGHT, TP_COST_KNIGHT,   TP_COST_KNIGHT,
    TP_COST_KNIGHT,   TP_COST_KNIGHT,   TP_COST_KNIGHT,   TP_COST_KNIGHT,
};

struct tp_window tp_walk_window(const struct tp_map *map, uint32_t x, uint32_t y)
{
    struct tp_window window;
    tp_map_passable_block(map, (int64_t)x - 2, (int64_t)y - 2, 5, window.row);
    return window;
}

uint8_t tp_walk_direction(int64_t dx, int64_t dy, enum tp_neighbours neighbours)
{
    for (uint8_t d = 0; d < neighbours; d++)
        if (tp_direction_dx[d] == dx && tp_direction_dy[d] == dy)
            return d;
    return TP_DIRECTION_NONE;
}

bool tp_walk_legal(const struct tp_map *map, uint32_t from_x, uint32_t from_y, uint32_t to_x, uint32_t to_y,
                   enum tp_neighbours neighbours, enum tp_corners corners)
{
    uint8_t direction = tp_walk_direction((int64_t)to_x - from_x, (int64_t)to_y - from_y, neighbours);
    if (direction == TP_DIRECTION_NONE)
        return false;
    struct tp_window window = tp_walk_window(map, from_x, from_y);
    return tp_walk_moves(&window, neighbours, corners) >> direction & 1;
}

tp_cost tp_walk_cost(const struct tp_map *map, uint32_t from_x, uint32_t from_y, uint32_t to_x, uint32_t to_y,
                     uint8_t direction)
{
    TP_CHECK(direction < TP_DIRECTIONS);
    uint64_t from = tp_map_weight(map, from_x, from_y), to = tp_map_weight(map, to_x, to_y);
    return tp_direction_length[direction] * ((from ? from : 1) + (to ? to : 1)) / 2;
}
