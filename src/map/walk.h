/* Which moves are legal: the one walkability function, for static and changed cells, for the search and for the
 * check of the move that is returned.
 *
 * Directions are numbered so that search order never depends on the compass: 0..3 straight (E, S, W, N), 4..7
 * diagonal (SE, SW, NW, NE), 8..15 knight's moves. 4, 8 or 16 neighbours use the first 4, 8 or 16.
 *
 * What it refuses: a move off the map or into an impassable cell, and a diagonal or knight's move past corners that the rule
 * wants free. Who calls it: the grid's kernels, the beliefs, and whoever checks a move (sessions, the tool, the tests).
 */
#ifndef TP_MAP_WALK_H
#define TP_MAP_WALK_H

#include "map/map.h"

enum tp_neighbours { TP_NEIGHBOURS_4 = 4, TP_NEIGHBOURS_8 = 8, TP_NEIGHBOURS_16 = 16 };

/* When a diagonal step may be taken to a passable cell: */
enum tp_corners {
    TP_CORNERS_BOTH_FREE, /* both orthogonal cells passable (the default) */
    TP_CORNERS_ONE_FREE,  /* at least one of them */
    TP_CORNERS_ALWAYS,    /* whatever they are */
};

enum { TP_DIRECTIONS = 16, TP_DIRECTION_NONE = 255 };

extern const int8_t tp_direction_dx[TP_DIRECTIONS];
extern const int8_t tp_direction_dy[TP_DIRECTIONS];
extern const uint8_t tp_direction_opposite[TP_DIRECTIONS];
extern const uint16_t tp_direction_length[TP_DIRECTIONS]; /* 3194, 4517 or 7142 */

/* A cell's surroundings: row i (0..4, from 2 above to 2 below), bit j (0..4, from 2 left to 2 right) set where
 * passable. With 4 or 8 neighbours only rows 1..3, bits 1..3 are read. */
struct tp_window {
    uint32_t row[5];
};

/* The legal moves out of the cell in the middle of the window, as a set of direction bits. The middle cell itself
 * need not be passable: an agent caught in a block may leave it. A straight step needs its target; a diagonal its
 * target and what the corner rule asks; a knight's move its target and the straight and the diagonal cell it
 * passes, always. */
static inline uint32_t tp_walk_moves(const struct tp_window *w, enum tp_neighbours neighbours,
                                     enum tp_corners corners)
{
    uint32_t up = w->row[1] >> 1, mid = w->row[2] >> 1, down = w->row[3] >> 1;
    uint32_t e = mid >> 2 & 1, s = down >> 1 & 1, west = mid & 1, n = up >> 1 & 1;
    uint32_t moves = e | s << 1 | west << 2 | n << 3;
    if (neighbours == TP_NEIGHBOURS_4)
        return moves;
    uint32_t se = down >> 2 & 1, sw = down & 1, nw = up & 1, ne = up >> 2 & 1;
    uint32_t target = se | sw << 1 | nw << 2 | ne << 3;
    uint32_t first = e | west << 1 | west << 2 | e << 3, second = s | s << 1 | n << 2 | n << 3;
    uint32_t free = corners == TP_CORNERS_BOTH_FREE  ? first & second
                    : corners == TP_CORNERS_ONE_FREE ? first | second
                                                     : 15u;
    moves |= (target & free) << 4;
    if (neighbours == TP_NEIGHBOURS_8)
        return moves;
    /* knight's moves in the order of tp_direction_dx: two along the named straight, one aside */
    moves |= (e & se & w->row[3] >> 4 & 1) << 8 | (s & se & w->row[4] >> 3 & 1) << 9 | (s & sw & w->row[4] >> 1 & 1) << 10 |
             (west & sw & w->row[3] & 1) << 11 | (west & nw & w->row[1] & 1) << 12 | (n & nw & w->row[0] >> 1 & 1) << 13 |
             (n & ne & w->row[0] >> 3) << 14 | (e & ne & w->row[1] >> 4) << 15;
    return moves;
}

/* The same with 4 or 8 neighbours by looking it up: [4 or 8 neighbours][corner rule][the nine cells: bit 3 (dy + 1) + dx + 1]. */
extern const uint8_t tp_walk_moves_of[2][3][512];

static inline uint32_t tp_walk_nine(uint32_t up, uint32_t mid, uint32_t down)
{
    return (up & 7) | (mid & 7) << 3 | (down & 7) << 6;
}

/* Whether one of those moves, by its direction, is legal: what tp_walk_moves says of the cell's window, looked up cell by cell
 * for whoever asks about a single move. (x, y) must lie inside. Cost: O(1), one cell for a straight step and three for the
 * others. */
static inline bool tp_walk_open(const struct tp_map *map, uint32_t x, uint32_t y, uint8_t direction,
                                enum tp_corners corners)
{
    int64_t dx = tp_direction_dx[direction], dy = tp_direction_dy[direction];
    if (!tp_map_passable(map, x + dx, y + dy))
        return false;
    if (direction < 4)
        return true;
    if (direction >= 8) /* past the straight cell, half of its two along, and the diagonal one */
        return tp_map_passable(map, x + dx / 2, y + dy / 2) &&
               tp_map_passable(map, x + (dx > 0) - (dx < 0), y + (dy > 0) - (dy < 0));
    bool first = corners == TP_CORNERS_ALWAYS || tp_map_passable(map, x + dx, y);
    if (first != (corners == TP_CORNERS_BOTH_FREE))
        return first;
    return tp_map_passable(map, x, y + dy);
}

/* The window of a cell of the map; cells outside are impassable. (x, y) must lie inside. Cost: O(1). */
struct tp_window tp_walk_window(const struct tp_map *map, uint32_t x, uint32_t y);

/* The direction of a single move, or TP_DIRECTION_NONE if (dx, dy) is no move of that neighbourhood. */
uint8_t tp_walk_direction(int64_t dx, int64_t dy, enum tp_neighbours neighbours);

/* Whether the move between two cells of the map is legal in this version. Cost: O(1). */
bool tp_walk_legal(const struct tp_map *map, uint32_t from_x, uint32_t from_y, uint32_t to_x, uint32_t to_y,
                   enum tp_neighbours neighbours, enum tp_corners corners);

/* The cost of a legal move: floor(length * (weight of from + weight of to) / 2), symmetric; an impassable end
 * counts as weight 1 (only the cell an agent was caught in can be one). */
tp_cost tp_walk_cost(const struct tp_map *map, uint32_t from_x, uint32_t from_y, uint32_t to_x, uint32_t to_y,
                     uint8_t direction);

#endif
