#include "client/cli/run_internal.h"

#include "client/cli/draw.h"
#include "client/cli/play.h"
#include "client/cli/png.h"
#include "map/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    OPTIMUM_AGENTS_MAX = 2000, /* agents up to which the ways walked are compared with the shortest, */
    OPTIMUM_EXPANSIONS_MAX = 20000000, /* and the work for that: a few seconds */
};

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double octile(uint32_t a, uint32_t b, uint32_t width)
{
    int64_t step_x = (int64_t)(a % width) - b % width, step_y = (int64_t)(a / width) - b / width;
    double dx = fabs((double)step_x), dy = fabs((double)step_y);
    return fmax(dx, dy) + (sqrt(2) - 1) * fmin(dx, dy);
}

/* What the ways walked are compared with. */
struct optimum {
    size_t agents;           /* that arrived and whose shortest way is known */
    double walked, shortest; /* their sums, in unit steps */
    bool cut;                /* there were more agents, the work was not */
};

/* The shortest ways of the agents that arrived, as the map was when they set out: A* in-process, one after the
 * other, until OPTIMUM_EXPANSIONS_MAX. */
static int find_optimum_on(const struct tp_cli_run *run, const struct tp_cli_map *map, struct optimum *optimum)
{
    struct tp_cli_search search;
    uint64_t expansions = 0;
    tp_cli_search_init(&search);
    search.algorithm = "astar";
    search.k = 1000000000;
    search.neighbours = run->search.neighbours;
    search.corners = run->search.corners;
    search.motion = run->search.motion;
    search.start_velocity = run->search.start_velocity;
    struct tp_cli_play play = {.usage = &tp_cli__run_usage, .search = &search, .map = map};
    *optimum = (struct optimum){.agents = 0};
    for (size_t i = 0; i < run->fleet.count; i++) {
        const struct tp_cli_agent *agent = &run->fleet.agents[i];
        struct tp_cli_problem problem = {.start = agent->start, .goal = agent->goal};
        if (agent->status != TP_STATUS_ARRIVED)
            continue;
        if (expansions > OPTIMUM_EXPANSIONS_MAX) {
            optimum->cut = true;
            break;
        }
        int result = tp_cli_play(&play, &problem, 1);
        if (result != TP_CLI_OK)
            return result;
        expansions += problem.expansions;
        if (problem.outcome != TP_CLI_ARRIVED)
            continue;
        optimum->agents++;
        optimum->walked += (double)agent->cost / run->space.cost_unit;
        optimum->shortest += (double)problem.cost / run->space.cost_unit;
    }
    return TP_CLI_OK;
}

/* Likewise, on the map as the agents meet it. */
static int find_optimum(const struct tp_cli_run *run, struct optimum *optimum)
{
    struct tp_layer_kind kind;
    if (!tp_cli_search_layer(&run->search, run->space.map.map, &kind))
        return find_optimum_on(run, &run->space.map, optimum);
    struct tp_cli_map layered = {.grid = run->space.map.grid};
    int error = tp_layer_build(&layered.map, run->space.map.map, &kind);
    if (error != 0)
        return tp_cli_fail(&tp_cli__run_usage, "%s", tp_error_text(error));
    int result = find_optimum_on(run, &layered, optimum);
    tp_map_unref(layered.map);
    return result;
}

static int print_optimum(const struct tp_cli_run *run)
{
    struct optimum optimum;
    if (run->fleet.count > OPTIMUM_AGENTS_MAX) {
        printf("%-18s not looked for: more than %d agents\n", "shortest ways", OPTIMUM_AGENTS_MAX);
        return TP_CLI_OK;
    }
    int result = find_optimum(run, &optimum);
    if (result != TP_CLI_OK || optimum.agents == 0)
        return result;
    double agents = (double)optimum.agents;
    printf(
        "%-18s %.1f a walk on the map as it was at the start, all doors open: walked were %.1f, %.3f times "
        "that%s\n",
        "shortest ways", optimum.shortest / agents, optimum.walked / agents,
        optimum.shortest > 0 ? optimum.walked / optimum.shortest : 1,
        optimum.cut ? " (of the first agents only)" : "");
    return TP_CLI_OK;
}

/* The least of the sorted values that `percent` of them do not exceed. */
static double percentile(const float *sorted, uint64_t count, uint64_t percent)
{
    uint64_t rank = (count * percent + 99) / 100;
    return sorted[rank > 0 ? rank - 1 : 0];
}

static void print_times(struct tp_cli_run *run, uint64_t moves)
{
    struct tp_cli_fleet *fleet = &run->fleet;
    if (fleet->ticks == 0)
        return;
    double seconds = run->seconds > 0 ? run->seconds : 1e-9;
    qsort(fleet->round_trip_us, fleet->ticks, sizeof *fleet->round_trip_us, compare_floats);
    printf(
        "%-18s %llu requests for all agents; %llu agent ticks under way, %llu of agents that had arrived\n",
        "ticks", (unsigned long long)fleet->ticks, (unsigned long long)fleet->ticks_under_way,
        (unsigned long long)(fleet->ticks * fleet->count - fleet->ticks_under_way));
    printf("%-18s %.0f requests, %.0f agent ticks under way, %.0f moves; %.2f s, with the checks made here\n",
           "a second", (double)fleet->ticks / seconds, (double)fleet->ticks_under_way / seconds,
           (double)moves / seconds, run->seconds);
    printf("%-18s client side, a request until its answer: half within %.0f us, 95 %% within %.0f us, 99 %% "
           "within %.0f us, longest %.0f us\n",
           "round trip", percentile(fleet->round_trip_us, fleet->ticks, 50),
           percentile(fleet->round_trip_us, fleet->ticks, 95),
           percentile(fleet->round_trip_us, fleet->ticks, 99), fleet->round_trip_us[fleet->ticks - 1]);
}

static void print_versions(const struct tp_cli_run *run)
{
    unsigned long long first = run->remote.version, last = run->mirror.newest;
    if (run->failovers.count > 0) {
        printf("%-18s up to %llu on the last daemon\n", "map versions", last);
        return;
    }
    if (run->doors.count == 0)
        printf("%-18s %llu alone: there are no doors\n", "map versions", first);
    else if (first == last)
        printf("%-18s %llu alone: none of the %zu doors closed\n", "map versions", first, run->doors.count);
    else
        printf("%-18s %llu to %llu, made by %zu doors that closed and opened\n", "map versions", first, last, run->doors.count);
}

static void print_failovers(const struct tp_cli_run *run)
{
    if (run->failovers.count == 0)
        printf("%-18s 0\n", "failovers");
    else
        printf("%-18s %u: everything stood again within %u ms; the longest pause of the agents was %.0f ms, a tick until its answer\n",
               "failovers", run->failovers.count, run->failovers.pause_ms, run->pause * 1e3);
}

int tp_cli__run_table(struct tp_cli_run *run)
{
    const struct tp_cli_fleet *fleet = &run->fleet;
    uint64_t moves = 0, back_moves = 0;
    double cost = 0, distance = 0;
    const struct tp_graph *graph = run->space.map.map->graph;
    bool walks = graph == NULL && run->search.motion == TP_MOTION_STEPS;
    for (size_t i = 0; i < fleet->count; i++) {
        const struct tp_cli_agent *agent = &fleet->agents[i];
        moves += agent->moves;
        back_moves += agent->back_moves;
        if (agent->status == TP_STATUS_ARRIVED) {
            cost += (double)agent->cost / run->space.cost_unit;
            distance += walks ? octile(agent->start, agent->goal, run->space.map.grid.width) : 0;
        }
    }
    double arrived = fleet->arrived > 0 ? (double)fleet->arrived : 1;
    const struct tp_client_server *server = tp_client_server(run->client);
    char first[TP_CLI_HOST_MAX + 16];
    const char *address = tp_client_address(run->client);
    snprintf(first, sizeof first, "%s:%u", run->options.via.first.host, run->options.via.first.port);
    printf("%-18s tickpathd %s at %s%s%s\n", "daemon", server->version, address != NULL ? address : first, server->degraded[0] != '\0' ? ", degraded: " : "", server->degraded);
    if (graph != NULL)
        printf("%-18s %s, %u nodes, %u edges; on the daemon: %s\n", "map", run->space.path, graph->nodes, graph->edges,
               run->remote.name);
    else
        printf("%-18s %s, %ux%u, %llu passable cells; on the daemon: %s\n", "map", run->space.path,
               run->space.map.grid.width, run->space.map.grid.height,
               (unsigned long long)run->space.map.map->passable_cells, run->remote.name);
    printf("%-18s %s\n", "algorithm", run->search.algorithm);
    printf("%-18s %zu: %zu arrived, %zu unreachable, %zu under way\n", "agents", fleet->count, fleet->arrived,
           fleet->unreachable, fleet->count - fleet->arrived - fleet->unreachable);
    printf("%-18s %llu, of them %llu back-moves (%.2f %%)\n", "moves", (unsigned long long)moves,
           (unsigned long long)back_moves, moves > 0 ? 100.0 * (double)back_moves / (double)moves : 0.0);
    if (walks)
        printf("%-18s %.1f a walk; %.1f from start to goal as the crow flies (octile)\n", "cost",
               cost / arrived, distance / arrived);
    else
        printf("%-18s %.1f a walk, in %s\n", "cost", cost / arrived,
               graph != NULL ? "the unit of the edges" : "ticks of driving");
    int result = print_optimum(run);
    printf("%-18s %llu, at most %llu in a tick of all agents\n", "expansions",
           (unsigned long long)fleet->expansions, (unsigned long long)fleet->expansions_max);
    if (fleet->guide > 0)
        printf("%-18s %llu units, at most %llu in a tick of all agents\n", "guide", (unsigned long long)fleet->guide,
               (unsigned long long)fleet->guide_max);
    printf("%-18s %llu\n", "restarts", (unsigned long long)run->restarts);
    if (run->options.via.count > 1)
        print_failovers(run);
    print_versions(run);
    print_times(run, moves);
    printf("%-18s every move checked: one %s, legal in the version named, at the cost named\n", "verdict",
           graph != NULL ? "edge"
           : walks       ? "step"
                         : "tick of a vehicle");
    return result;
}

int tp_cli__run_draw(const struct tp_cli_run *run)
{
    size_t door_cells = 0, n = 0;
    for (size_t i = 0; i < run->doors.count; i++)
        door_cells += (size_t)run->doors.doors[i].width * run->doors.doors[i].height;
    struct tp_draw_agent *agents = calloc(run->fleet.count + 1, sizeof *agents);
    struct tp_draw_door *doors = calloc(door_cells + 1, sizeof *doors);
    struct tp_image image = {.rgb = NULL};
    struct tp_draw picture = {
        .width = run->space.map.grid.width,
        .height = run->space.map.grid.height,
        .cells = run->space.map.grid.cells,
        .profile = &run->space.map.map->profile,
        .agents = agents,
        .agent_count = run->fleet.count,
        .doors = doors,
        .door_count = door_cells,
    };
    const char *reason = "out of memory";
    int error = agents == NULL || doors == NULL ? TP_ERR_NO_MEMORY : 0;
    for (size_t i = 0; error == 0 && i < run->fleet.count; i++) {
        const struct tp_cli_agent *agent = &run->fleet.agents[i];
        agents[i] = (struct tp_draw_agent){
            .cells = agent->trail,
            .count = agent->trail_count,
            .start = agent->start,
            .goal = agent->goal,
            .arrived = agent->status == TP_STATUS_ARRIVED,
        };
    }
    for (size_t i = 0; error == 0 && i < run->doors.count; i++) {
        const struct tp_cli_door *door = &run->doors.doors[i];
        for (uint32_t j = 0; j < door->width * door->height; j++)
            doors[n++] = (struct tp_draw_door){
                .cell = (door->y + j / door->width) * run->space.map.grid.width + door->x + j % door->width,
                .closed = door->closed,
            };
    }
    if (error == 0)
        error = tp_draw_render(&image, &picture);
    if (error != 0)
        reason = tp_error_text(error);
    else
        error = tp_png_write(run->options.png_path, &image, &reason);
    tp_image_fini(&image);
    free(agents);
    free(doors);
    if (error != 0)
        return tp_cli_fail(&tp_cli__run_usage, "%s: %s", run->options.png_path, reason);
    printf("%-18s %s\n", "picture", run->options.png_path);
    return TP_CLI_OK;
}
