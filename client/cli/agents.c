#include "client/cli/agents.h"

#include "client/cli/random.h"

#include <stdlib.h>

enum { STARTS_TRIED = 1000 }; /* for one agent, on a graph */

int tp_cli_agents_ground(const struct tp_cli_agents *from, uint32_t **cells, uint32_t *count)
{
    uint32_t label = tp_cli_mirror_largest(from->mirror, count), n = 0;
    uint32_t all = from->space->map.grid.width * from->space->map.grid.height;
    if (*count < 2)
        return tp_cli_fail(from->usage, "%s: no two cells can reach each other", from->space->path);
    *cells = calloc(*count, sizeof **cells);
    if (*cells == NULL)
        return tp_cli_fail(from->usage, "out of memory");
    for (uint32_t cell = 0; cell < all; cell++) {
        if (from->mirror->labels[cell] == label)
            (*cells)[n++] = cell;
    }
    return TP_CLI_OK;
}

/* The largest part of a grid where all cells can reach each other gives starts and goals. */
static int draw_on_grid(const struct tp_cli_agents *from, struct tp_cli_fleet *fleet)
{
    uint32_t count, *ground;
    int result = tp_cli_agents_ground(from, &ground, &count);
    if (result != TP_CLI_OK)
        return result;
    if (tp_cli_fleet_init(fleet, from->count) != 0) {
        free(ground);
        return tp_cli_fail(from->usage, "out of memory");
    }
    struct tp_cli_random random = {.state = from->seed};
    for (size_t i = 0; i < fleet->count; i++) {
        struct tp_cli_agent *agent = &fleet->agents[i];
        agent->start = ground[tp_cli_random_below(&random, count)];
        do
            agent->goal = ground[tp_cli_random_below(&random, count)];
        while (agent->goal == agent->start);
    }
    free(ground);
    return TP_CLI_OK;
}

static int read_agents(const struct tp_cli_agents *from, struct tp_cli_fleet *fleet)
{
    struct tp_cli_scen scen;
    int result = tp_cli_scen_load(from->usage, from->scen_path, &scen);
    if (result != TP_CLI_OK)
        return result;
    size_t *chosen = calloc(scen.count + 1, sizeof *chosen);
    if (chosen == NULL)
        result = tp_cli_fail(from->usage, "out of memory");
    if (result == TP_CLI_OK && tp_cli_fleet_init(fleet, from->count) != 0)
        result = tp_cli_fail(from->usage, "out of memory");
    size_t n = 0, left_out = 0, taken = 0;
    for (uint64_t i = from->first; result == TP_CLI_OK && i < scen.count && n < fleet->count;
         i += from->stride) {
        const struct tp_movingai_row *row = &scen.rows[i];
        chosen[taken++] = i;
        if (!tp_map_passable(from->mirror->versions[0], row->start_x, row->start_y) ||
            !tp_map_passable(from->mirror->versions[0], row->goal_x, row->goal_y)) {
            left_out++;
            continue;
        }
        fleet->agents[n].start = row->start_y * from->space->map.grid.width + row->start_x;
        fleet->agents[n++].goal = row->goal_y * from->space->map.grid.width + row->goal_x;
    }
    fleet->count = result == TP_CLI_OK ? n : fleet->count;
    if (result == TP_CLI_OK)
        result = tp_cli_scen_check(from->usage, &scen, chosen, taken, &from->space->map, from->space->path);
    if (result == TP_CLI_OK && left_out > 0)
        tp_cli_warn(from->usage, "%s: %zu rows are left out: their start or goal is blocked", from->scen_path,
                    left_out);
    if (result == TP_CLI_OK && n == 0)
        result = tp_cli_fail(from->usage, "no row of %s is left by the options; it has %zu", from->scen_path,
                             scen.count);
    free(chosen);
    tp_cli_scen_fini(&scen);
    return result;
}

/* A goal of each agent's is any node that can be reached from its start. */
static int draw_on_graph(const struct tp_cli_agents *from, struct tp_cli_fleet *fleet)
{
    uint32_t nodes = from->space->map.map->graph->nodes;
    if (tp_cli_fleet_init(fleet, from->count) != 0)
        return tp_cli_fail(from->usage, "out of memory");
    struct tp_cli_random random = {.state = from->seed};
    for (size_t i = 0; i < fleet->count; i++) {
        struct tp_cli_agent *agent = &fleet->agents[i];
        const uint32_t *reached;
        uint32_t count = 0;
        for (int tries = 0; count < 2 && tries < STARTS_TRIED; tries++) {
            agent->start = tp_cli_random_below(&random, nodes);
            count = tp_cli_mirror_reach(from->mirror, agent->start, &reached);
        }
        if (count < 2)
            return tp_cli_fail(from->usage, "%s: from none of %d nodes drawn another can be reached",
                               from->space->path, STARTS_TRIED);
        agent->goal = reached[1 + tp_cli_random_below(&random, count - 1)];
    }
    return TP_CLI_OK;
}

/* From the start cells to the finish cells, both again and again. */
static int take_from_track(const struct tp_cli_agents *from, struct tp_cli_fleet *fleet)
{
    if (tp_cli_fleet_init(fleet, from->count) != 0)
        return tp_cli_fail(from->usage, "out of memory");
    for (size_t i = 0; i < fleet->count; i++) {
        fleet->agents[i].start = from->track->starts[i % from->track->start_count];
        fleet->agents[i].goal = from->track->finishes[i % from->track->finish_count];
    }
    return TP_CLI_OK;
}

int tp_cli_agents_make(const struct tp_cli_agents *from, struct tp_cli_fleet *fleet)
{
    if (from->scen_path != NULL)
        return read_agents(from, fleet);
    if (from->space->map.map->graph != NULL)
        return draw_on_graph(from, fleet);
    return from->track->start_count > 0 && from->track->finish_count > 0 ? take_from_track(from, fleet)
                                                                         : draw_on_grid(from, fleet);
}
