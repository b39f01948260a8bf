#include "client/cli/run_moves.h"

#include "map/graph.h"

#include <stdlib.h>

bool tp_cli_stand_moved(struct tp_cli_stand from, struct tp_cli_stand to, uint32_t goal)
{
    if (from.cell == goal)
        return to.cell != goal;
    return to.cell != from.cell || to.vx != from.vx || to.vy != from.vy;
}

static const char *wrong_step(const struct tp_cli_mirror *mirror, const struct tp_map *map, uint32_t from,
                              uint32_t to, uint64_t cost)
{
    uint32_t width = map->width, x = from % width, y = from / width, to_x = to % width, to_y = to / width;
    uint8_t direction = tp_walk_direction((int64_t)to_x - x, (int64_t)to_y - y, mirror->neighbours);
    if (direction == TP_DIRECTION_NONE)
        return "the move is no single step";
    if (!tp_walk_legal(map, x, y, to_x, to_y, mirror->neighbours, mirror->corners))
        return "the move is not legal in the version named";
    if (tp_walk_cost(map, x, y, to_x, to_y, direction) != cost)
        return "the move's cost is not what its step costs";
    return NULL;
}

static const char *wrong_edge(const struct tp_graph *graph, uint32_t from, uint32_t to, uint64_t cost)
{
    const char *wrong = "no edge leads there";
    const struct tp_graph_out *out = tp_graph_out(graph, from);
    for (uint32_t i = 0; i < graph->out_first[from + 1] - graph->out_first[from]; i++) {
        if (out[i].to != to || out[i].cost == 0)
            continue;
        if (out[i].cost == cost)
            return NULL;
        wrong = "the move's cost is not what an edge there costs";
    }
    return wrong;
}

/* Where a vehicle comes that drives for a tick. The straight line to the middle of the cell that is (vx, vy) away crosses
 * |vx| borders of columns, at the odd multiples of 1 / (2 |vx|) of its length, and |vy| of rows, at those of 1 / (2 |vy|);
 * where it crosses both at once it goes through a corner. It stops at rest before the first wall, and on the goal. */
static struct tp_cli_stand drive(const struct tp_map *map, uint32_t cell, int vx, int vy, uint32_t goal)
{
    int64_t x = cell % map->width, y = cell / map->width;
    int columns = abs(vx), rows = abs(vy);
    for (int column = 0, row = 0; column < columns || row < rows;) {
        int column_at = column < columns ? (2 * column + 1) * (rows > 0 ? rows : 1) : INT32_MAX;
        int row_at = row < rows ? (2 * row + 1) * (columns > 0 ? columns : 1) : INT32_MAX;
        int64_t next_x = x, next_y = y;
        if (column_at <= row_at) {
            next_x += vx > 0 ? 1 : -1;
            column++;
        }
        if (row_at <= column_at) {
            next_y += vy > 0 ? 1 : -1;
            row++;
        }
        bool inside = next_x >= 0 && next_y >= 0 && next_x < map->width && next_y < map->height;
        if (!inside || !tp_map_passable(map, (uint32_t)next_x, (uint32_t)next_y))
            return (struct tp_cli_stand){(uint32_t)(y * map->width + x), 0, 0};
        x = next_x;
        y = next_y;
        if ((uint32_t)(y * map->width + x) == goal)
            return (struct tp_cli_stand){goal, 0, 0};
    }
    return (struct tp_cli_stand){(uint32_t)(y * map->width + x), vx, vy};
}

static const char *wrong_drive(const struct tp_map *map, struct tp_cli_stand from, struct tp_cli_stand to,
                               uint32_t goal, uint64_t cost)
{
    if (cost != TP_COST_UNIT)
        return "a vehicle's move costs one step";
    for (int vy = from.vy - 1; vy <= from.vy + 1; vy++) {
        for (int vx = from.vx - 1; vx <= from.vx + 1; vx++) {
            if (abs(vx) > TP_VELOCITY_MAX || abs(vy) > TP_VELOCITY_MAX)
                continue;
            struct tp_cli_stand end = drive(map, from.cell, vx, vy, goal);
            if (end.cell == to.cell && end.vx == to.vx && end.vy == to.vy)
                return NULL;
        }
    }
    return "no acceleration leads there in the version named";
}

const char *tp_cli_wrong_move(const struct tp_cli_mirror *mirror, const struct tp_map *map,
                              struct tp_cli_stand from, struct tp_cli_stand to, uint32_t goal, uint64_t cost)
{
    if (!tp_cli_stand_moved(from, to, goal))
        return cost == 0 ? NULL : "the agent stayed and its cost rose";
    if (to.cell >= (uint64_t)map->width * map->height)
        return "the move leads outside the map";
    if (map->graph != NULL)
        return wrong_edge(map->graph, from.cell, to.cell, cost);
    return mirror->drives ? wrong_drive(map, from, to, goal, cost)
                          : wrong_step(mirror, map, from.cell, to.cell, cost);
}
