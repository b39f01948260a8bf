/* The map of a problem while its agent walks.
 *
 * Changing maps (2014): after every 10 moves a share of the cells is drawn anew from the map as it was at the start,
 * half the change rate of the free cells to be blocked and of the blocked ones to be free; all other cells are as they
 * were. What is drawn depends on the problem and the number of the change alone. An agent that is told that its goal is out of reach
 * makes no moves: the next change comes at once.
 *
 * Doors: where the best way is narrow doors stand across it, and every so many ticks each is closed or opened by the toss of a
 * coin (doors.h), by the problem and the number of the round; after the last round all stay open.
 */
#include "client/cli/report_play.h"

#include "client/cli/random.h"
#include "guide/field.h"

#include <stdlib.h>

enum { CHANGE_MOVES = 10 };

/* Draws cells anew; gives the next version in *out. */
static int draw_cells(const struct tp_report_world *world, uint32_t agent, struct tp_map **out)
{
    const struct tp_map *original = world->original, *base = world->base;
    uint32_t width = original->width, height = original->height;
    size_t cells = (size_t)width * height, bytes = (cells + 7) / 8;
    uint8_t *free_bits = calloc(2 * bytes, 1), *blocked_bits = free_bits + bytes;
    if (free_bits == NULL)
        return TP_ERR_NO_MEMORY;
    struct tp_cli_random random = {.state = world->seed + world->changes};
    uint32_t threshold = world->player->options.change_rate / 2; /* of 100000 */
    for (uint32_t cell = 0; cell < cells; cell++) {
        bool passable = tp_map_passable(original, cell % width, cell / width);
        if (tp_cli_random_below(&random, 100000) < threshold && cell != agent && cell != world->goal)
            passable = !passable;
        if (passable != tp_map_passable(base, cell % width, cell / width))
            (passable ? free_bits : blocked_bits)[cell / 8] |= (uint8_t)(1u << cell % 8);
    }
    const struct tp_change changes[2] = {
        {.kind = TP_CHANGE_BITMAP,
         .class_to = '.',
         .width = width,
         .height = height,
         .bits = free_bits,
         .bits_size = bytes},
        {.kind = TP_CHANGE_BITMAP,
         .class_to = '@',
         .width = width,
         .height = height,
         .bits = blocked_bits,
         .bits_size = bytes},
    };
    size_t bad;
    uint32_t x, y;
    int error = tp_map_apply(out, base, changes, 2, &bad, &x, &y);
    free(free_bits);
    return error;
}

static int put_doors(struct tp_report_world *world, struct tp_report_player *player, uint32_t start)
{
    const struct tp_map *map = world->base;
    uint32_t all = map->width * map->height;
    uint32_t *way = calloc(all, sizeof *way);
    struct tp_cli_random random = {.state = ~world->seed};
    int error = way == NULL ? TP_ERR_NO_MEMORY
                            : tp_cli_doors_init(&world->doors, map, player->options.doors, world->seed);
    if (error == 0) {
        tp_cli_doors_spare(&world->doors, start);
        tp_cli_doors_spare(&world->doors, world->goal);
        uint32_t cells = tp_cli_doors_way(map, &player->search, start, world->goal, &player->pool, way, all);
        tp_cli_doors_add_along(&world->doors, map, way, cells, player->options.doors, &random);
    }
    free(way);
    return error;
}

/* Lets go of a version that no agent meets any more, but one whose block graph another has too. */
static void leave(const struct tp_report_world *world, const struct tp_map *map, const struct tp_map *other)
{
    if (map != NULL && map->blocks != NULL && map->blocks != other->blocks)
        tp_field_cache_retire(world->player->params.fields, map->blocks);
    tp_map_unref(map);
}

void tp_report_world_close(struct tp_report_world *world)
{
    if (world->player->options.doors > 0)
        tp_cli_doors_fini(&world->doors);
    leave(world, world->former, world->met);
    leave(world, world->met, world->player->met);
    tp_map_unref(world->base);
}

int tp_report_world_open(struct tp_report_world *world, struct tp_report_player *player,
                         const struct tp_report_problem *problem, size_t number)
{
    const struct tp_map *map = problem->map != NULL ? problem->map : player->map.map;
    *world = (struct tp_report_world){
        .player = player,
        .original = map,
        .base = tp_map_ref(map),
        .met = tp_map_ref(problem->map != NULL ? problem->map : player->met),
        .seed = (number + 1) * 1000003,
        .goal = problem->goal,
    };
    int error = player->options.doors > 0 ? put_doors(world, player, problem->start) : 0;
    if (error != 0)
        tp_report_world_close(world);
    return error;
}

bool tp_report_world_changes(const struct tp_report_world *world)
{
    return world->player->options.change_rate > 0 || world->doors.count > 0;
}

bool tp_report_world_is_due(const struct tp_report_world *world, uint64_t ticks, uint64_t moves, bool unreachable)
{
    const struct tp_report_options *options = &world->player->options;
    if (options->doors > 0)
        return world->changes <= options->door_rounds && ticks % options->door_ticks == 0;
    return options->change_rate > 0 && (unreachable || moves - world->moves >= CHANGE_MOVES);
}

/* Goes on to a version, whose reference it takes. */
static int go_on(struct tp_report_world *world, struct tp_map *next)
{
    struct tp_map *layer = NULL;
    int error = 0;
    if (world->player->has_layer)
        error = tp_layer_follow(&layer, world->met, world->base, next, &world->player->kind);
    if (error != 0) {
        tp_map_unref(next);
        return error;
    }
    leave(world, world->former, world->met);
    world->former = world->met; /* until the session has left it: freeing a version is no part of the search's time */
    world->met = layer != NULL ? layer : tp_map_ref(next);
    tp_map_unref(world->base);
    world->base = next;
    return 0;
}

int tp_report_world_change(struct tp_report_world *world, uint32_t agent, uint64_t moves)
{
    const struct tp_report_options *options = &world->player->options;
    struct tp_map *next;
    size_t bad;
    uint32_t x, y;
    int error;
    world->changes++;
    world->moves = moves;
    if (options->doors > 0) {
        tp_cli_doors_round(&world->doors, world->changes, world->changes > options->door_rounds, &agent, 1);
        if (world->doors.change_count == 0)
            return 0;
        error = tp_map_apply(&next, world->base, world->doors.changes, world->doors.change_count, &bad, &x, &y);
    } else {
        error = draw_cells(world, agent, &next);
    }
    return error != 0 ? error : go_on(world, next);
}
