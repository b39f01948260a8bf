/* `tickpath run`: many agents through a daemon while doors open and close.
 *
 * The loop: when a round of doors is due, the change goes out and the tick right behind it, unwaited; the
 * daemon applies them in that order. Every answer is checked (fleet.c). It ends when every agent has arrived,
 * or says UNREACHABLE with no door left to open.
 */
#include "client/cli/agents.h"
#include "client/cli/commands.h"
#include "client/cli/play.h"
#include "client/cli/random.h"
#include "client/cli/run_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WAYS_FOR_DOORS = 64, /* agents whose ways are looked at to place the doors */
    DOORS = 24,          /* unless the options say otherwise */
};

#define AT(field) offsetof(struct tp_cli_run_options, field)

static const struct tp_cli_option run_options[] = {
    {"via", TP_CLI_ADDRESSES, AT(via), "HOST:PORT,...", "the daemon, or several: when one is lost the next takes over", 0, 0, NULL,
     true},
    {"agents", TP_CLI_UINT, AT(agents), "N", "how many agents (200)", 1, 100000, NULL, false},
    {"scen", TP_CLI_STRING, AT(scen_path), "FILE",
     "with --map: starts and goals from these rows (drawn at random)", 0, 0, NULL, false},
    {"first", TP_CLI_UINT, AT(first), "N", "with scen: the first row (0)", 0, UINT32_MAX, NULL, false},
    {"stride", TP_CLI_UINT, AT(stride), "N", "with scen: every Nth row (1)", 1, UINT32_MAX, NULL, false},
    {"doors", TP_CLI_UINT, AT(doors), "N", "doors that close and open (24; on a graph none, its edges stay)",
     0, 10000, NULL, false},
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

const struct tp_cli_usage tp_cli__run_usage = {
    .command = "run",
    .summary =
        "Walks many agents on a map through a daemon while doors close and open, and checks every answer.",
    .notes =
        "Exit code 0: every agent arrived, or was told UNREACHABLE and that is so. The seed decides starts,\n"
        "goals and doors: the same options give the same run (but with --deadline-us). The daemon's own "
        "time\n"
        "for a tick is tickpath_tick_seconds of its stats endpoint; the table has what the client sees.\n"
        "With several daemons the run goes on when one of them dies: another gets the map as it is by then, and the\n"
        "agents where they stand.\n"
        "On a track agents go from its start cells to its finish cells. Where moves can't be taken back (a\n"
        "graph's ledge, a vehicle) an agent of a row that learns as it walks may get to where no way leads on,\n"
        "and wait there for ever.",
};

/* ---- doors ---- */

/* Puts doors where the agents' ways are narrow; fewer than asked where there are not so many such places. */
static int place_doors(struct tp_cli_run *run)
{
    uint32_t all = run->space.map.grid.width * run->space.map.grid.height;
    uint32_t *way = calloc(all, sizeof *way);
    if (way == NULL ||
        tp_cli_doors_init(&run->doors, run->space.map.map, run->options.doors, run->search.seed) != 0) {
        free(way);
        return tp_cli_fail(&tp_cli__run_usage, "out of memory");
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
            const struct tp_cli_agent *agent = &run->fleet.agents[i];
            uint32_t cells = tp_cli_doors_way(run->mirror.versions[0], &run->search, agent->start, agent->goal,
                                              &pool, way, all);
            size_t left = run->options.doors - run->doors.count;
            tp_cli_doors_add_along(&run->doors, run->space.map.map, way, cells, per_way < left ? per_way : left,
                                   &random);
        }
    }
    tp_pool_fini(&pool);
    free(way);
    return TP_CLI_OK;
}

static int send_doors(struct tp_cli_run *run, uint64_t *ticket)
{
    const struct tp_client_changes changes = {
        .map = run->remote.name,
        .has_base_version = run->options.via.count < 2, /* another daemon counts from 1 */
        .base_version = run->mirror.newest,
        .cells = run->doors.cells,
        .cell_terrains = run->doors.cell_terrains,
        .cell_count = run->doors.cell_count,
        .cell_terrain_count = run->doors.cell_count,
        .rectangles = run->doors.rectangles,
        .rectangle_count = run->doors.rectangle_count,
    };
    if (tp_client_send_change(run->client, &changes, ticket, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(&tp_cli__run_usage, "cannot change the map",
                                    tp_client_error(run->client));
    return TP_CLI_OK;
}

static int collect_doors(struct tp_cli_run *run, uint64_t ticket)
{
    struct tp_client_reply reply;
    if (tp_client_collect(run->client, ticket, &reply, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(&tp_cli__run_usage, "cannot change the map",
                                    tp_client_error(run->client));
    int error =
        tp_cli_mirror_apply(&run->mirror, run->doors.changes, run->doors.change_count, reply.changed.version);
    if (error == TP_ERR_VERSION_MISMATCH)
        return tp_cli_fail(&tp_cli__run_usage, "a change made version %llu of a map at %llu",
                           (unsigned long long)reply.changed.version, (unsigned long long)run->mirror.newest);
    return error == 0 ? TP_CLI_OK
                      : tp_cli_fail(&tp_cli__run_usage, "cannot follow a change: %s", tp_error_text(error));
}

/* ---- the loop ---- */

static void print_progress(const struct tp_cli_run *run, bool end)
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

static bool doors_are_over(const struct tp_cli_run *run)
{
    return run->doors.count == 0 || run->rounds > run->options.door_rounds;
}

/* Decides the doors' next round; whether there is something to send. */
static bool next_round(struct tp_cli_run *run, bool last)
{
    run->rounds = last ? run->options.door_rounds + 1 : run->rounds + 1;
    tp_cli_doors_round(&run->doors, run->rounds, run->rounds > run->options.door_rounds, run->fleet.cells,
                       run->fleet.count);
    return run->doors.change_count > 0;
}

static int walk(struct tp_cli_run *run)
{
    bool terminal = isatty(STDERR_FILENO);
    double begin = tp_cli_now(), shown = 0;
    int result = TP_CLI_OK;
    while (result == TP_CLI_OK) {
        result = tp_cli_remote_interrupted(&tp_cli__run_usage);
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
        unsigned failovers = run->failovers.count;
        double round_at = tp_cli_now();
        if (change)
            result = send_doors(run, &change_ticket);
        double sent_at = tp_cli_now();
        if (result == TP_CLI_OK)
            result = tp_cli_fleet_send(&run->fleet, &tick_ticket);
        if (result == TP_CLI_OK && change)
            result = collect_doors(run, change_ticket);
        if (result == TP_CLI_OK)
            result = tp_cli_fleet_collect(&run->fleet, tick_ticket, sent_at);
        if (failovers != run->failovers.count && tp_cli_now() - round_at > run->pause)
            run->pause = tp_cli_now() - round_at;
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

/* ---- another daemon takes over ---- */

/* It has no such map, or one that it had before: it gets this one. Nobody else has a map of this name. */
static int put_there(struct tp_client *daemon, const char *map, const struct tp_client_map *there, void *context)
{
    const struct tp_cli_run *run = context;
    (void)there;
    const struct tp_map *now = run->mirror.versions[0] != NULL ? tp_cli_mirror_base(&run->mirror) : run->space.map.map;
    return strcmp(map, run->remote.name) != 0 ? -1 : tp_cli_remote_put_again(daemon, map, &run->space.map, now);
}

static void follow_epoch(const struct tp_client_event *event, void *context)
{
    struct tp_cli_run *run = context;
    run->remote.epoch = event->epoch;
    if (run->mirror.versions[0] != NULL)
        tp_cli_mirror_move(&run->mirror, event->version);
    else
        run->remote.version = event->version; /* before anybody walked */
}

static void follow_sessions(void *context)
{
    struct tp_cli_run *run = context;
    tp_cli_fleet_moved(&run->fleet);
}

/* ---- the command ---- */

static int prepare(struct tp_cli_run *run)
{
    run->failovers.map_cb = put_there;
    run->failovers.epoch_cb = follow_epoch;
    run->failovers.back_cb = follow_sessions;
    run->failovers.context = run;
    int result = tp_cli_remote_open_any(&tp_cli__run_usage, &run->options.via, &run->failovers, &run->client);
    if (result == TP_CLI_OK)
        result = tp_cli_remote_put_map(&tp_cli__run_usage, run->client, &run->space.map, run->space.path,
                                       &run->remote);
    if (result != TP_CLI_OK)
        return result;
    result = tp_cli_remote_put_profile(&tp_cli__run_usage, run->client, &run->search, &run->remote);
    if (result != TP_CLI_OK)
        return result;
    struct tp_layer_kind kind;
    bool is_layered = tp_cli_search_layer(&run->search, run->space.map.map, &kind);
    int error = tp_cli_mirror_init(&run->mirror, run->space.map.map, is_layered ? &kind : NULL, run->remote.version,
                                   &run->search);
    if (error != 0)
        return tp_cli_fail(&tp_cli__run_usage, "%s", tp_error_text(error));
    const struct tp_cli_agents from = {
        .usage = &tp_cli__run_usage,
        .space = &run->space,
        .track = &run->track,
        .mirror = &run->mirror,
        .scen_path = run->options.scen_path,
        .first = run->options.first,
        .stride = run->options.stride,
        .count = run->options.agents,
        .seed = run->search.seed,
    };
    result = tp_cli_agents_make(&from, &run->fleet);
    if (result == TP_CLI_OK && run->options.doors > 0)
        result = place_doors(run);
    if (result != TP_CLI_OK)
        return result;
    run->fleet.usage = &tp_cli__run_usage;
    run->fleet.client = run->client;
    run->fleet.mirror = &run->mirror;
    run->fleet.keep_trails = run->options.png_path != NULL;
    return tp_cli_fleet_open(&run->fleet, &run->search, run->remote.name);
}

static int finish(struct tp_cli_run *run)
{
    int result = tp_cli__run_table(run);
    if (result == TP_CLI_OK && run->options.png_path != NULL)
        result = tp_cli__run_draw(run);
    if (run->gave_up && result == TP_CLI_OK)
        result = tp_cli_fail(&tp_cli__run_usage,
                             "gave up after %llu ticks (--ticks-max) with agents still under way",
                             (unsigned long long)run->options.ticks_max);
    return result;
}

/* What goes with which map; how many doors there are. */
static int check_map(struct tp_cli_run *run)
{
    struct tp_cli_run_options *options = &run->options;
    bool is_graph = run->maps.graph_path != NULL, has_doors = options->doors != UINT64_MAX;
    int result = tp_cli_map_check(&tp_cli__run_usage, &run->maps);
    if (result != TP_CLI_GO_ON)
        return result;
    if (options->scen_path != NULL && run->maps.map_path == NULL)
        return tp_cli_refuse(&tp_cli__run_usage, "scen", "goes with --map only");
    if (is_graph && has_doors && options->doors > 0)
        return tp_cli_refuse(&tp_cli__run_usage, "doors", "a graph has none: its edges stay");
    if (is_graph && options->png_path != NULL)
        return tp_cli_refuse(&tp_cli__run_usage, "png", "draws grids and tracks");
    if (!has_doors)
        options->doors = is_graph ? 0 : DOORS;
    return TP_CLI_GO_ON;
}

int tp_cli_run(int argc, char **argv)
{
    struct tp_cli_run run = {
        .options = {.agents = 200,
                    .stride = 1,
                    .doors = UINT64_MAX,
                    .door_ticks = 20,
                    .door_rounds = 30,
                    .ticks_max = 100000},
    };
    tp_cli_search_init(&run.search);
    tp_cli_rows_init(&run.maps);
    const struct tp_cli_group groups[] = {{tp_cli_map_options, &run.maps},
                                          {run_options, &run.options},
                                          {tp_cli_search_options, &run.search},
                                          {NULL, NULL}};
    int result = tp_cli_parse(&tp_cli__run_usage, groups, argc, argv);
    if (result == TP_CLI_GO_ON)
        result = tp_cli_search_check(&tp_cli__run_usage, &run.search);
    if (result == TP_CLI_GO_ON && run.search.known != NULL)
        result = tp_cli_refuse(&tp_cli__run_usage, "known", "is an option of bench and trace");
    if (result == TP_CLI_GO_ON)
        result = check_map(&run);
    if (result != TP_CLI_GO_ON)
        return result;
    result = tp_cli_space_load_map(&tp_cli__run_usage, &run.maps, &run.search, &run.space, &run.track);
    if (result != TP_CLI_OK)
        return result;
    result = prepare(&run);
    if (result == TP_CLI_OK)
        result = walk(&run);
    if (result == TP_CLI_OK)
        result = finish(&run);
    if (run.client != NULL)
        tp_cli_remote_drop_maps(&tp_cli__run_usage, run.client, &run.remote, 1);
    tp_client_close(run.client);
    tp_cli_fleet_fini(&run.fleet);
    tp_cli_doors_fini(&run.doors);
    tp_cli_mirror_fini(&run.mirror);
    tp_cli_space_fini(&run.space);
    if (run.maps.track_path != NULL)
        tp_track_fini(&run.track);
    return result;
}
