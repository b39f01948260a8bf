/* `tickpath run`: many agents through a daemon while doors open and close.
 *
 * The loop: when a round of doors is due, the change goes out and the tick right behind it, unwaited; the
 * daemon applies them in that order. Every answer is checked (fleet.c). It ends when every agent has arrived,
 * or says UNREACHABLE with no door left to open.
 */
#include "client/cli/commands.h"
#include "client/cli/doors.h"
#include "client/cli/draw.h"
#include "client/cli/fleet.h"
#include "client/cli/play.h"
#include "client/cli/png.h"
#include "client/cli/remote.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WAYS_FOR_DOORS = 64,       /* agents whose ways are looked at to place the doors */
    OPTIMUM_AGENTS_MAX = 2000, /* agents up to which the ways walked are compared with the shortest, */
    OPTIMUM_EXPANSIONS_MAX = 20000000, /* and the work for that: a few seconds */
};

struct run_options {
    const char *map_path, *scen_path, *png_path;
    struct tp_cli_host_port via;
    uint64_t agents, first, stride;
    uint64_t doors, door_ticks, door_rounds;
    uint64_t ticks_max;
};

#define AT(field) offsetof(struct run_options, field)

static const struct tp_cli_option run_options[] = {
    {"map", TP_CLI_STRING, AT(map_path), "FILE", "map, MovingAI .map", 0, 0, NULL, true},
    {"via", TP_CLI_HOST_PORT, AT(via), "HOST:PORT", "the daemon", 0, 0, NULL, true},
    {"agents", TP_CLI_UINT, AT(agents), "N", "how many agents (200)", 1, 100000, NULL, false},
    {"scen", TP_CLI_STRING, AT(scen_path), "FILE", "starts and goals from these rows (drawn at random)", 0, 0,
     NULL, false},
    {"first", TP_CLI_UINT, AT(first), "N", "with scen: the first row (0)", 0, UINT32_MAX, NULL, false},
    {"stride", TP_CLI_UINT, AT(stride), "N", "with scen: every Nth row (1)", 1, UINT32_MAX, NULL, false},
    {"doors", TP_CLI_UINT, AT(doors), "N", "doors that close and open (24)", 0, 10000, NULL, false},
    {"door-ticks", TP_CLI_UINT, AT(door_ticks), "N", "ticks between two rounds of the doors (20)", 1, 1000000,
     NULL, false},
    {"door-rounds", TP_CLI_UINT, AT(door_rounds), "N", "rounds after which all doors stay open (30)", 0,
     1000000, NULL, false},
    {"ticks-max", TP_CLI_UINT, AT(ticks_max), "N", "give up after so many ticks (100000)", 1, 100000000, NULL,
     false},
    {"png", TP_CLI_STRING, AT(png_path), "FILE", "draw the map, the ways walked and the doors", 0, 0, NULL,
     false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "run",
    .summary =
        "Walks many agents on a map through a daemon while doors close and open, and checks every answer.",
    .notes =
        "Exit code 0: every agent arrived, or was told UNREACHABLE and that is so. The seed decides starts,\n"
        "goals and doors: the same options give the same run (but with --deadline-us). The daemon's own "
        "time\n"
        "for a tick is tickpath_tick_us of its stats endpoint; the table has what the client sees.",
};

struct run {
    struct run_options options;
    struct tp_cli_search search;
    struct tp_cli_map map;
    struct tp_client *client;
    struct tp_cli_remote_map remote; /* the map on the daemon */
    struct tp_cli_mirror mirror;
    struct tp_cli_doors doors;
    struct tp_cli_fleet fleet;
    uint64_t rounds; /* of the doors, done */
    double seconds;
    uint64_t restarts;
    bool gave_up;
};

/* ---- starts and goals ---- */

static int draw_agents(struct run *run)
{
    uint32_t cells, label = tp_cli_mirror_largest(&run->mirror, &cells);
    if (cells < 2)
        return tp_cli_fail(&usage, "%s: no two cells can reach each other", run->options.map_path);
    uint32_t all = run->map.grid.width * run->map.grid.height, n = 0;
    uint32_t *members = calloc(cells, sizeof *members);
    if (members == NULL || tp_cli_fleet_init(&run->fleet, run->options.agents) != 0) {
        free(members);
        return tp_cli_fail(&usage, "out of memory");
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

static int read_agents(struct run *run)
{
    struct tp_cli_scen scen;
    int result = tp_cli_scen_load(&usage, run->options.scen_path, &scen);
    if (result != TP_CLI_OK)
        return result;
    size_t *chosen = calloc(scen.count + 1, sizeof *chosen);
    if (chosen == NULL)
        result = tp_cli_fail(&usage, "out of memory");
    if (result == TP_CLI_OK && tp_cli_fleet_init(&run->fleet, run->options.agents) != 0)
        result = tp_cli_fail(&usage, "out of memory");
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
        run->fleet.agents[n].start = row->start_y * run->map.grid.width + row->start_x;
        run->fleet.agents[n++].goal = row->goal_y * run->map.grid.width + row->goal_x;
    }
    run->fleet.count = result == TP_CLI_OK ? n : run->fleet.count;
    if (result == TP_CLI_OK)
        result = tp_cli_scen_check(&usage, &scen, chosen, taken, &run->map, run->options.map_path);
    if (result == TP_CLI_OK && left_out > 0)
        tp_cli_warn(&usage, "%s: %zu rows are left out: their start or goal is blocked",
                    run->options.scen_path, left_out);
    if (result == TP_CLI_OK && n == 0)
        result = tp_cli_fail(&usage, "no row of %s is left by the options; it has %zu",
                             run->options.scen_path, scen.count);
    free(chosen);
    tp_cli_scen_fini(&scen);
    return result;
}

/* ---- doors ---- */

/* The way an agent would take now, found in-process; gives how many of its cells were copied. */
static uint32_t find_way(const struct run *run, const struct tp_cli_agent *agent, struct tp_pool *pool,
                         uint32_t *cells, uint32_t max)
{
    struct tp_session *session;
    struct tp_refusal refusal;
    struct tp_tick_reply reply;
    struct tp_session_params astar;
    tp_session_params_init(&astar);
    astar.algorithm = tp_algorithm_find("astar");
    astar.neighbours = (enum tp_neighbours)run->search.neighbours;
    astar.corners = (enum tp_corners)run->search.corners;
    astar.budget = tp_budget_k(1000000000);
    astar.start = agent->start;
    astar.goal = agent->goal;
    if (tp_session_open(&session, &astar, run->mirror.versions[0], pool, &refusal) != 0)
        return 0;
    tp_session_tick(session, run->mirror.versions[0], NULL, &reply);
    uint32_t count = tp_session_path(session, cells, max);
    tp_session_close(session);
    return count;
}

/* Puts doors where the agents' ways are narrow; fewer than asked where there are not so many such places. */
static int place_doors(struct run *run)
{
    uint32_t all = run->map.grid.width * run->map.grid.height;
    uint32_t *way = calloc(all, sizeof *way);
    if (way == NULL ||
        tp_cli_doors_init(&run->doors, run->map.map, run->options.doors, run->search.seed) != 0) {
        free(way);
        return tp_cli_fail(&usage, "out of memory");
    }
    for (size_t i = 0; i < run->fleet.count; i++) {
        tp_cli_doors_spare(&run->doors, run->fleet.agents[i].start);
        tp_cli_doors_spare(&run->doors, run->fleet.agents[i].goal);
    }
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_cli_random random = {.state = ~run->search.seed};
    size_t ways = run->fleet.count < WAYS_FOR_DOORS ? run->fleet.count : WAYS_FOR_DOORS;
    size_t per_way = ways > 0 ? (run->options.doors + ways - 1) / ways : 0;
    for (int pass = 0; pass < 2; pass++) { /* the second makes up for ways without a narrow place */
        for (size_t i = 0; i < ways && run->doors.count < run->options.doors; i++) {
            uint32_t cells = find_way(run, &run->fleet.agents[i], &pool, way, all);
            size_t wanted = run->doors.count + per_way;
            for (int tries = 0; cells > 0 && tries < 64 && run->doors.count < wanted &&
                                run->doors.count < run->options.doors;
                 tries++)
                tp_cli_doors_add(&run->doors, run->map.map, way[tp_cli_random_below(&random, cells)]);
        }
    }
    tp_pool_fini(&pool);
    free(way);
    return TP_CLI_OK;
}

static int send_doors(struct run *run, uint64_t *ticket)
{
    const struct tp_client_changes changes = {
        .map = run->remote.name,
        .has_base_version = true,
        .base_version = run->mirror.newest,
        .cells = run->doors.cells,
        .cell_terrains = run->doors.cell_terrains,
        .cell_count = run->doors.cell_count,
        .cell_terrain_count = run->doors.cell_count,
        .rectangles = run->doors.rectangles,
        .rectangle_count = run->doors.rectangle_count,
    };
    if (tp_client_send_change(run->client, &changes, ticket, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(&usage, "cannot change the map", tp_client_error(run->client));
    return TP_CLI_OK;
}

static int collect_doors(struct run *run, uint64_t ticket)
{
    struct tp_client_reply reply;
    if (tp_client_collect(run->client, ticket, &reply, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(&usage, "cannot change the map", tp_client_error(run->client));
    int error =
        tp_cli_mirror_apply(&run->mirror, run->doors.changes, run->doors.change_count, reply.changed.version);
    if (error == TP_ERR_VERSION_MISMATCH)
        return tp_cli_fail(&usage, "a change made version %llu of a map at %llu",
                           (unsigned long long)reply.changed.version, (unsigned long long)run->mirror.newest);
    return error == 0 ? TP_CLI_OK : tp_cli_fail(&usage, "cannot follow a change: %s", tp_error_text(error));
}

/* ---- the loop ---- */

static void print_progress(const struct run *run, bool end)
{
    if (end)
        fprintf(stderr, "\r\033[K");
    else
        fprintf(stderr,
                "\r\033[Ktick %llu  arrived %zu of %zu  unreachable %zu  map version %llu  doors closed %zu "
                "of %zu",
                (unsigned long long)run->fleet.ticks, run->fleet.arrived, run->fleet.count,
                run->fleet.unreachable, (unsigned long long)run->mirror.newest, run->doors.closed,
                run->doors.count);
    fflush(stderr);
}

static bool doors_are_over(const struct run *run)
{
    return run->doors.count == 0 || run->rounds > run->options.door_rounds;
}

/* Decides the doors' next round; whether there is something to send. */
static bool next_round(struct run *run, bool last)
{
    run->rounds = last ? run->options.door_rounds + 1 : run->rounds + 1;
    tp_cli_doors_round(&run->doors, run->rounds, run->rounds > run->options.door_rounds, run->fleet.cells,
                       run->fleet.count);
    return run->doors.change_count > 0;
}

static int walk(struct run *run)
{
    bool terminal = isatty(STDERR_FILENO);
    double begin = tp_cli_now(), shown = 0;
    int result = TP_CLI_OK;
    while (result == TP_CLI_OK) {
        result = tp_cli_remote_interrupted(&usage);
        bool over = doors_are_over(run);
        if (run->fleet.arrived + (over ? run->fleet.unreachable : 0) == run->fleet.count)
            break;
        if (run->fleet.ticks >= run->options.ticks_max) {
            run->gave_up = true;
            break;
        }
        bool change = result == TP_CLI_OK && !over && run->fleet.ticks > 0 &&
                      run->fleet.ticks % run->options.door_ticks == 0 && next_round(run, false);
        uint64_t change_ticket = 0, tick_ticket = 0;
        if (change)
            result = send_doors(run, &change_ticket);
        double sent_at = tp_cli_now();
        if (result == TP_CLI_OK)
            result = tp_cli_fleet_send(&run->fleet, &tick_ticket);
        if (result == TP_CLI_OK && change)
            result = collect_doors(run, change_ticket);
        if (result == TP_CLI_OK)
            result = tp_cli_fleet_collect(&run->fleet, tick_ticket, sent_at);
        if (terminal && tp_cli_now() - shown > 0.1) {
            shown = tp_cli_now();
            print_progress(run, false);
        }
    }
    run->seconds = tp_cli_now() - begin;
    if (terminal)
        print_progress(run, true);
    /* The map is left as it was found. */
    uint64_t ticket;
    if (result == TP_CLI_OK && run->doors.closed > 0 && next_round(run, true)) {
        result = send_doors(run, &ticket);
        if (result == TP_CLI_OK)
            result = collect_doors(run, ticket);
    }
    return result == TP_CLI_OK ? tp_cli_fleet_compare(&run->fleet, &run->restarts) : result;
}

/* ---- the closing table and the picture ---- */

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
static int find_optimum_on(const struct run *run, const struct tp_cli_map *map, struct optimum *optimum)
{
    struct tp_cli_search search;
    uint64_t expansions = 0;
    tp_cli_search_init(&search);
    search.algorithm = "astar";
    search.k = 1000000000;
    search.neighbours = run->search.neighbours;
    search.corners = run->search.corners;
    struct tp_cli_play play = {.usage = &usage, .search = &search, .map = map};
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
        optimum->walked += (double)agent->cost / TP_COST_UNIT;
        optimum->shortest += (double)problem.cost / TP_COST_UNIT;
    }
    return TP_CLI_OK;
}

/* Likewise, on the map as the agents meet it. */
static int find_optimum(const struct run *run, struct optimum *optimum)
{
    struct tp_layer_kind kind;
    if (!tp_cli_search_layer(&run->search, run->map.map, &kind))
        return find_optimum_on(run, &run->map, optimum);
    struct tp_cli_map layered = {.grid = run->map.grid};
    int error = tp_layer_build(&layered.map, run->map.map, &kind);
    if (error != 0)
        return tp_cli_fail(&usage, "%s", tp_error_text(error));
    int result = find_optimum_on(run, &layered, optimum);
    tp_map_unref(layered.map);
    return result;
}

static int print_optimum(const struct run *run)
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

static void print_times(struct run *run, uint64_t moves)
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

static int print_table(struct run *run)
{
    const struct tp_cli_fleet *fleet = &run->fleet;
    uint64_t moves = 0, back_moves = 0;
    double cost = 0, distance = 0;
    for (size_t i = 0; i < fleet->count; i++) {
        const struct tp_cli_agent *agent = &fleet->agents[i];
        moves += agent->moves;
        back_moves += agent->back_moves;
        if (agent->status == TP_STATUS_ARRIVED) {
            cost += (double)agent->cost / TP_COST_UNIT;
            distance += octile(agent->start, agent->goal, run->map.grid.width);
        }
    }
    double arrived = fleet->arrived > 0 ? (double)fleet->arrived : 1;
    const struct tp_client_server *server = tp_client_server(run->client);
    printf("%-18s tickpathd %s at %s:%u%s%s\n", "daemon", server->version, run->options.via.host,
           run->options.via.port, server->degraded[0] != '\0' ? ", degraded: " : "", server->degraded);
    printf("%-18s %s, %ux%u, %llu passable cells\n", "map", run->options.map_path, run->map.grid.width,
           run->map.grid.height, (unsigned long long)run->map.map->passable_cells);
    printf("%-18s %s\n", "algorithm", run->search.algorithm);
    printf("%-18s %zu: %zu arrived, %zu unreachable, %zu under way\n", "agents", fleet->count, fleet->arrived,
           fleet->unreachable, fleet->count - fleet->arrived - fleet->unreachable);
    printf("%-18s %llu, of them %llu back-moves (%.2f %%)\n", "moves", (unsigned long long)moves,
           (unsigned long long)back_moves, moves > 0 ? 100.0 * (double)back_moves / (double)moves : 0.0);
    printf("%-18s %.1f a walk; %.1f from start to goal as the crow flies (octile)\n", "cost", cost / arrived,
           distance / arrived);
    int result = print_optimum(run);
    printf("%-18s %llu, at most %llu in a tick of all agents\n", "expansions",
           (unsigned long long)fleet->expansions, (unsigned long long)fleet->expansions_max);
    printf("%-18s %llu\n", "restarts", (unsigned long long)run->restarts);
    printf("%-18s %llu to %llu, made by %zu doors that closed and opened\n", "map versions",
           (unsigned long long)run->remote.version, (unsigned long long)run->mirror.newest, run->doors.count);
    print_times(run, moves);
    printf("%-18s every move checked: one step, legal in the version named, at the cost named\n", "verdict");
    return result;
}

static int draw(const struct run *run)
{
    size_t door_cells = 0, n = 0;
    for (size_t i = 0; i < run->doors.count; i++)
        door_cells += (size_t)run->doors.doors[i].width * run->doors.doors[i].height;
    struct tp_draw_agent *agents = calloc(run->fleet.count + 1, sizeof *agents);
    struct tp_draw_door *doors = calloc(door_cells + 1, sizeof *doors);
    struct tp_image image = {.rgb = NULL};
    struct tp_draw picture = {
        .width = run->map.grid.width,
        .height = run->map.grid.height,
        .cells = run->map.grid.cells,
        .profile = &run->map.map->profile,
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
                .cell = (door->y + j / door->width) * run->map.grid.width + door->x + j % door->width,
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
        return tp_cli_fail(&usage, "%s: %s", run->options.png_path, reason);
    printf("%-18s %s\n", "picture", run->options.png_path);
    return TP_CLI_OK;
}

/* ---- the command ---- */

static int prepare(struct run *run)
{
    int result = tp_cli_remote_open(&usage, &run->options.via, &run->client);
    if (result == TP_CLI_OK)
        result = tp_cli_remote_put_map(&usage, run->client, &run->map, run->options.map_path, &run->remote);
    if (result != TP_CLI_OK)
        return result;
    result = tp_cli_remote_put_profile(&usage, run->client, &run->search, &run->remote);
    if (result != TP_CLI_OK)
        return result;
    struct tp_layer_kind kind;
    bool is_layered = tp_cli_search_layer(&run->search, run->map.map, &kind);
    int error = tp_cli_mirror_init(&run->mirror, run->map.map, is_layered ? &kind : NULL, run->remote.version,
                                   (enum tp_neighbours)run->search.neighbours,
                                   (enum tp_corners)run->search.corners);
    if (error != 0)
        return tp_cli_fail(&usage, "%s", tp_error_text(error));
    result = run->options.scen_path != NULL ? read_agents(run) : draw_agents(run);
    if (result == TP_CLI_OK && run->options.doors > 0)
        result = place_doors(run);
    if (result != TP_CLI_OK)
        return result;
    run->fleet.usage = &usage;
    run->fleet.client = run->client;
    run->fleet.mirror = &run->mirror;
    run->fleet.keep_trails = run->options.png_path != NULL;
    return tp_cli_fleet_open(&run->fleet, &run->search, run->remote.name);
}

static int finish(struct run *run)
{
    int result = print_table(run);
    if (result == TP_CLI_OK && run->options.png_path != NULL)
        result = draw(run);
    if (run->gave_up && result == TP_CLI_OK)
        result = tp_cli_fail(&usage, "gave up after %llu ticks (--ticks-max) with agents still under way",
                             (unsigned long long)run->options.ticks_max);
    return result;
}

int tp_cli_run(int argc, char **argv)
{
    struct run run = {
        .options = {.agents = 200,
                    .stride = 1,
                    .doors = 24,
                    .door_ticks = 20,
                    .door_rounds = 30,
                    .ticks_max = 100000},
    };
    tp_cli_search_init(&run.search);
    const struct tp_cli_group groups[] = {
        {run_options, &run.options}, {tp_cli_search_options, &run.search}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result == TP_CLI_GO_ON)
        result = tp_cli_search_check(&usage, &run.search);
    if (result == TP_CLI_GO_ON && run.search.known != NULL)
        result = tp_cli_refuse(&usage, "known", "is an option of bench and trace");
    if (result != TP_CLI_GO_ON)
        return result;
    result = tp_cli_map_load(&usage, run.options.map_path, tp_cli_search_profile(&run.search), &run.map);
    if (result != TP_CLI_OK)
        return result;
    result = prepare(&run);
    if (result == TP_CLI_OK)
        result = walk(&run);
    if (result == TP_CLI_OK)
        result = finish(&run);
    if (run.client != NULL)
        tp_cli_remote_drop_maps(&usage, run.client, &run.remote, 1);
    tp_client_close(run.client);
    tp_cli_fleet_fini(&run.fleet);
    tp_cli_doors_fini(&run.doors);
    tp_cli_mirror_fini(&run.mirror);
    tp_cli_map_fini(&run.map);
    return result;
}
