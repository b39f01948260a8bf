#include "client/cli/doors.h"

#include <stdlib.h>
#include <string.h>

enum { FREE, DOOR, SPARED };
enum { TRIES = 64 }; /* cells of a way looked at for doors */

int tp_cli_doors_init(struct tp_cli_doors *doors, const struct tp_map *map, size_t count_max, uint64_t seed)
{
    size_t cells = count_max * TP_CLI_DOOR_CELLS_MAX + 1;
    *doors = (struct tp_cli_doors){.map_width = map->width, .seed = seed};
    doors->doors = calloc(count_max + 1, sizeof *doors->doors);
    doors->door_of = calloc((size_t)map->width * map->height, 1);
    doors->agents_at = calloc(count_max + 1, 1);
    doors->rectangles = calloc(count_max + 1, sizeof *doors->rectangles);
    doors->cells = calloc(cells, sizeof *doors->cells);
    doors->cell_terrains = calloc(cells, sizeof *doors->cell_terrains);
    doors->changes = calloc(cells + count_max, sizeof *doors->changes);
    if (doors->doors != NULL && doors->door_of != NULL && doors->agents_at != NULL &&
        doors->rectangles != NULL && doors->cells != NULL && doors->cell_terrains != NULL &&
        doors->changes != NULL)
        return 0;
    tp_cli_doors_fini(doors);
    return TP_ERR_NO_MEMORY;
}

void tp_cli_doors_fini(struct tp_cli_doors *doors)
{
    free(doors->doors);
    free(doors->door_of);
    free(doors->agents_at);
    free(doors->rectangles);
    free(doors->cells);
    free(doors->cell_terrains);
    free(doors->changes);
    memset(doors, 0, sizeof *doors);
}

void tp_cli_doors_spare(struct tp_cli_doors *doors, uint32_t cell)
{
    doors->door_of[cell] = SPARED;
}

/* The passable cells in a straight line through (x, y): how many, and how many of them before it. More than a
 * door may have: TP_CLI_DOOR_CELLS_MAX + 1. */
static uint32_t line_length(const struct tp_map *map, uint32_t x, uint32_t y, int64_t dx, int64_t dy,
                            uint32_t *before)
{
    uint32_t length = 1;
    *before = 0;
    for (int64_t sign = -1; sign <= 1; sign += 2) {
        int64_t at_x = (int64_t)x + sign * dx, at_y = (int64_t)y + sign * dy;
        for (; length <= TP_CLI_DOOR_CELLS_MAX && tp_map_passable(map, at_x, at_y);
             at_x += sign * dx, at_y += sign * dy) {
            length++;
            *before += sign < 0;
        }
    }
    return length;
}

bool tp_cli_doors_add(struct tp_cli_doors *doors, const struct tp_map *map, uint32_t cell)
{
    uint32_t x = cell % map->width, y = cell / map->width, left, above;
    uint32_t across = line_length(map, x, y, 1, 0, &left), down = line_length(map, x, y, 0, 1, &above);
    struct tp_cli_door door = {.x = x, .y = y, .width = 1, .height = 1};
    if (across > TP_CLI_DOOR_CELLS_MAX && down > TP_CLI_DOOR_CELLS_MAX)
        return false;
    if (across <= down) {
        door.x = x - left;
        door.width = across;
    } else {
        door.y = y - above;
        door.height = down;
    }
    uint32_t cells = door.width * door.height;
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t at_x = door.x + i % door.width, at_y = door.y + i / door.width;
        if (doors->door_of[at_y * map->width + at_x] != FREE)
            return false;
        door.class_open[i] = tp_map_class(map, at_x, at_y);
    }
    for (uint32_t i = 0; i < cells; i++)
        doors->door_of[(door.y + i / door.width) * map->width + door.x + i % door.width] = DOOR;
    doors->doors[doors->count++] = door;
    return true;
}

uint32_t tp_cli_doors_way(const struct tp_map *map, const struct tp_cli_search *search, uint32_t start,
                          uint32_t goal, struct tp_pool *pool, uint32_t *cells, uint32_t max)
{
    struct tp_session *session;
    struct tp_refusal refusal;
    struct tp_tick_reply reply;
    struct tp_session_params astar;
    tp_session_params_init(&astar);
    astar.algorithm = tp_algorithm_find("astar");
    astar.neighbours = (enum tp_neighbours)search->neighbours;
    astar.corners = (enum tp_corners)search->corners;
    astar.motion = (enum tp_motion)search->motion;
    astar.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    astar.start = start;
    astar.goal = goal;
    if (tp_session_open(&session, &astar, map, pool, &refusal) != 0)
        return 0;
    tp_session_tick(session, map, NULL, &reply);
    uint32_t count = tp_session_path(session, cells, max);
    tp_session_close(session);
    return count;
}

void tp_cli_doors_add_along(struct tp_cli_doors *doors, const struct tp_map *map, const uint32_t *way,
                            uint32_t cells, size_t count, struct tp_cli_random *random)
{
    size_t wanted = doors->count + count;
    for (int tries = 0; cells > 0 && tries < TRIES && doors->count < wanted; tries++)
        tp_cli_doors_add(doors, map, way[tp_cli_random_below(random, cells)]);
}

static void mark_agents(struct tp_cli_doors *doors, const uint32_t *agents, size_t agent_count)
{
    memset(doors->agents_at, 0, doors->count);
    for (size_t a = 0; a < agent_count; a++) {
        if (doors->door_of[agents[a]] != DOOR)
            continue;
        uint32_t x = agents[a] % doors->map_width, y = agents[a] / doors->map_width;
        for (size_t i = 0; i < doors->count; i++) {
            const struct tp_cli_door *door = &doors->doors[i];
            if (x - door->x < door->width && y - door->y < door->height)
                doors->agents_at[i] = 1;
        }
    }
}

/* Closing goes by rectangle; opening by cell, for each cell has its own class. */
static void add_closing(struct tp_cli_doors *doors, const struct tp_cli_door *door)
{
    doors->rectangles[doors->rectangle_count++] = (struct tp_client_rectangle){
        .x = door->x,
        .y = door->y,
        .width = door->width,
        .height = door->height,
        .terrain = TP_CLI_DOOR_CLOSED_CLASS,
    };
    doors->changes[doors->change_count++] = (struct tp_change){
        .kind = TP_CHANGE_RECT,
        .class_to = TP_CLI_DOOR_CLOSED_CLASS,
        .x = door->x,
        .y = door->y,
        .width = door->width,
        .height = door->height,
    };
}

static void add_opening(struct tp_cli_doors *doors, const struct tp_cli_door *door)
{
    for (uint32_t i = 0; i < door->width * door->height; i++) {
        uint32_t x = door->x + i % door->width, y = door->y + i / door->width;
        doors->cells[doors->cell_count] = y * doors->map_width + x;
        doors->cell_terrains[doors->cell_count++] = door->class_open[i];
        doors->changes[doors->change_count++] =
            (struct tp_change){.kind = TP_CHANGE_CELL, .class_to = door->class_open[i], .x = x, .y = y};
    }
}

void tp_cli_doors_round(struct tp_cli_doors *doors, uint64_t round, bool last, const uint32_t *agents,
                        size_t agent_count)
{
    mark_agents(doors, agents, agent_count);
    doors->rectangle_count = doors->cell_count = doors->change_count = doors->closed = 0;
    for (size_t i = 0; i < doors->count; i++) {
        struct tp_cli_door *door = &doors->doors[i];
        struct tp_cli_random draw = {.state = doors->seed ^ round << 32 ^ i};
        bool close =
            !last && (tp_cli_random_next(&draw) & 1) != 0 && (door->closed || doors->agents_at[i] == 0);
        if (close && !door->closed)
            add_closing(doors, door);
        else if (!close && door->closed)
            add_opening(doors, door);
        door->closed = close;
        doors->closed += close;
    }
}
