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

/* ---- Moves by the nine cells (see tp_walk_nine) ---- */

enum { NW, N, NE, W, HERE, E, SW, S, SE };

#define CELL(nine, cell) ((nine) >> (cell) & 1)
#define STRAIGHT(nine) (CELL(nine, E) | CELL(nine, S) << 1 | CELL(nine, W) << 2 | CELL(nine, N) << 3)
#define DIAGONALS(nine, se, sw, nw, ne)                                                                       \
    ((CELL(nine, SE) & (se)) << 4 | (CELL(nine, SW) & (sw)) << 5 | (CELL(nine, NW) & (nw)) << 6 | (CELL(nine, NE) & (ne)) << 7)
#define CORNERS(nine, op)                                                                                     \
    (STRAIGHT(nine) | DIAGONALS(nine, CELL(nine, E) op CELL(nine, S), CELL(nine, W) op CELL(nine, S),         \
                                CELL(nine, W) op CELL(nine, N), CELL(nine, E) op CELL(nine, N)))
#define BOTH_FREE(nine) CORNERS(nine, &)
#define ONE_FREE(nine) CORNERS(nine, |)
#define ALWAYS(nine) (STRAIGHT(nine) | DIAGONALS(nine, 1, 1, 1, 1))
#define EIGHT(of, nine)                                                                                       \
    of(nine), of(nine + 1), of(nine + 2), of(nine + 3), of(nine + 4), of(nine + 5), of(nine + 6), of(nine + 7)
#define SIXTY_FOUR(of, nine)                                                                                  \
    EIGHT(of, nine), EIGHT(of, nine + 8), EIGHT(of, nine + 16), EIGHT(of, nine + 24), EIGHT(of, nine + 32),   \
        EIGHT(of, nine + 40), EIGHT(of, nine + 48), EIGHT(of, nine + 56)
#define ALL(of)                                                                                               \
    SIXTY_FOUR(of, 0), SIXTY_FOUR(of, 64), SIXTY_FOUR(of, 128), SIXTY_FOUR(of, 192), SIXTY_FOUR(of, 256),     \
        SIXTY_FOUR(of, 320), SIXTY_FOUR(of, 384), SIXTY_FOUR(of, 448)

const uint8_t tp_walk_moves_of[2][3][512] = {
    {{ALL(STRAIGHT)}, {ALL(STRAIGHT)}, {ALL(STRAIGHT)}},
    {{ALL(BOTH_FREE)}, {ALL(ONE_FREE)}, {ALL(ALWAYS)}},
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
