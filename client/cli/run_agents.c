#include "client/cli/run_internal.h"

#include "client/cli/random.h"

#include <stdlib.h>

enum { STARTS_TRIED = 1000 }; /* for one agent, on a graph */

/* The largest part of a grid where all cells can reach each other gives starts and goals. */
static int draw_on_grid(struct tp_cli_run *run)
{
    uint32_t cells, label = tp_cli_mirror_largest(&run->mirror, &cells);
    if (cells < 2)
        return tp_cli_fail(&tp_cli__run_usage, "%s: no two cells can reach each other", run->space.path);
    uint32_t all = run->space.map.grid.width * run->space.map.grid.height, n = 0;
    uint32_t *members = calloc(cells, sizeof *members);
    if (members == NULL || tp_cli_fleet_init(&run->fleet, run->options.agents) != 0) {
        free(members);
        return tp_cli_fail(&tp_cli__run_usage, "out of memory");
    }
    for (uint32_t cell = 0; cell < all; cell++) {
        if (run->mirror.labels[cell] == label)
            members[n++] = cell;
    }
    struct tp_cli_random random = {.state = run->search.seed};
    for (size_t i = 0; i < run->fleet.count; i++) {
        struct tp_cli_agent *agent = &run->fleet.agents[i];
        agent->start = members[tp_cli_random_below(&random, n)];
        do
            agent->goal = members[tp_cli_random_below(&random, n)];
        while (agent->goal == agent->start);
    }
    free(members);
    return TP_CLI_OK;
}

static int read_agents(struct tp_cli_run *run)
{
    struct tp_cli_scen scen;
    int result = tp_cli_scen_load(&tp_cli__run_usage, run->options.scen_path, &scen);
    if (result != TP_CLI_OK)
        return result;
    size_t *chosen = calloc(scen.count + 1, sizeof *chosen);
    if (chosen == NULL)
        result = tp_cli_fail(&tp_cli__run_usage, "out of memory");
    if (result == TP_CLI_OK && tp_cli_fleet_init(&run->fleet, run->options.agents) != 0)
        result = tp_cli_fail(&tp_cli__run_usage, "out of memory");
    size_t n = 0, left_out = 0, taken = 0;
    for (uint64_t i = run->options.first; result == TP_CLI_OK && i < scen.count && n < run->fleet.count;
         i += run->options.stride) {
        const struct tp_movingai_row *row = &scen.rows[i];
        chosen[taken++] = i;
        if (!tp_map_passable(run->mirror.versions[0], row->start_x, row->start_y) ||
            !tp_map_passable(run->mirror.versions[0], row->goal_x, row->goal_y)) {
            left_out++;
            continue;
        }
        run->fleet.agents[n].start = row->start_y * run->space.map.grid.width + row->start_x;
        run->fleet.agents[n++].goal = row->goal_y * run->space.map.grid.width + row->goal_x;
    }
    run->fleet.count = result == TP_CLI_OK ? n : run->fleet.count;
    if (result == TP_CLI_OK)
        result =
            tp_cli_scen_check(&tp_cli__run_usage, &scen, chosen, taken, &run->space.map, run->space.path);
    if (result == TP_CLI_OK && left_out > 0)
        tp_cli_warn(&tp_cli__run_usage, "%s: %zu rows are left out: their start or goal is blocked",
                    run->options.scen_path, left_out);
    if (result == TP_CLI_OK && n == 0)
        result = tp_cli_fail(&tp_cli__run_usage, "no row of %s is left by the options; it has %zu",
                             run->options.scen_path, scen.count);
    free(chosen);
    tp_cli_scen_fini(&scen);
    return result;
}

/* A goal of each agent's is any node that can be reached from its start. */
static int draw_on_graph(struct tp_cli_run *run)
{
    uint32_t nodes = run->space.map.map->graph->nodes;
    if (tp_cli_fleet_init(&run->fleet, run->options.agents) != 0)
        return tp_cli_fail(&tp_cli__run_usage, "out of memory");
    struct tp_cli_random random = {.state = run->search.seed};
    for (size_t i = 0; i < run->fleet.count; i++) {
        struct tp_cli_agent *agent = &run->fleet.agents[i];
        const uint32_t *reached;
        uint32_t count = 0;
        for (int tries = 0; count < 2 && tries < STARTS_TRIED; tries++) {
            agent->start = tp_cli_random_below(&random, nodes);
            count = tp_cli_mirror_reach(&run->mirror, agent->start, &reached);
        }
        if (count < 2)
            return tp_cli_fail(&tp_cli__run_usage, "%s: from none of %d nodes drawn another can be reached",
                               run->space.path, STARTS_TRIED);
        agent->goal = reached[1 + tp_cli_random_below(&random, count - 1)];
    }
    return TP_CLI_OK;
}

/* From the start cells to the finish cells, both again and again. */
static int take_from_track(struct tp_cli_run *run)
{
    if (tp_cli_fleet_init(&run->fleet, run->options.agents) != 0)
        return tp_cli_fail(&tp_cli__run_usage, "out of memory");
    for (size_t i = 0; i < run->fleet.count; i++) {
        run->fleet.agents[i].start = run->track.starts[i % run->track.start_count];
        run->fleet.agents[i].goal = run->track.finishes[i % run->track.finish_count];
    }
    return TP_CLI_OK;
}

int tp_cli__run_agents(struct tp_cli_run *run)
{
    if (run->options.scen_path != NULL)
        return read_agents(run);
    if (run->space.map.map->graph != NULL)
        return draw_on_graph(run);
    return run->track.start_count > 0 && run->track.finish_count > 0 ? take_from_track(run)
                                                                     : draw_on_grid(run);
}
