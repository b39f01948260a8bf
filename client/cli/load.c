/* `tickpath load`: an open-loop load generator for a daemon.
 *
 * Puts a map and agents, and sends one tick of all of them a frame at a fixed rate, whatever is still unanswered (load_frames.c); or
 * ticks sessions one by one on many connections (load_single.c). It ends in time: after --seconds, and at most some seconds more
 * for answers. When the daemon goes away it says so, tells what it measured until then, and fails.
 */
#include "client/cli/commands.h"
#include "client/cli/generate.h"
#include "client/cli/load_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOSE_MS = 3000 };

const char *const tp_cli__load_names[TP_CLI_LOAD_WORKLOADS] = {"searching", "guided", "finished", "single"};

static const struct tp_cli_choice workloads[] = {
    {"searching", TP_CLI_LOAD_SEARCHING},
    {"guided", TP_CLI_LOAD_GUIDED},
    {"finished", TP_CLI_LOAD_FINISHED},
    {"single", TP_CLI_LOAD_SINGLE},
    {NULL, 0},
};

#define AT(field) offsetof(struct tp_cli_load_options, field)

static const struct tp_cli_option load_options[] = {
    {"via", TP_CLI_HOST_PORT, AT(via), "HOST:PORT", "the daemon", 0, 0, NULL, true},
    {"workload", TP_CLI_CHOICE, AT(workload), "NAME", "what the agents do (guided)", 0, 0, workloads, false},
    {"agents", TP_CLI_UINT, AT(agents), "N", "how many (1000)", 1, 1000000, NULL, false},
    {"hz", TP_CLI_REAL, AT(hz), "X", "frames a second (60)", 1, 100000, NULL, false},
    {"seconds", TP_CLI_REAL, AT(seconds), "X", "how long to measure (10)", 0, 86400, NULL, false},
    {"warm-frames", TP_CLI_UINT, AT(warm_frames), "N",
     "frames before, one after the other, that are not measured (100)", 0, 1000000, NULL, false},
    {"in-flight", TP_CLI_UINT, AT(in_flight), "N",
     "frames that may be unanswered; what is due beyond them is late (4)", 1, 1024, NULL, false},
    {"changes", TP_CLI_UINT, AT(changes), "N", "cells of a grid changed in each frame (0)", 0, 100000, NULL,
     false},
    {"total-expansions", TP_CLI_UINT, AT(total_expansions), "N",
     "expansions of a measured frame, shared by all agents (no total)", 1, UINT64_MAX, NULL, false},
    {"total-us", TP_CLI_UINT, AT(total_us), "N", "likewise microseconds", 1, UINT32_MAX, NULL, false},
    {"total-guide-units", TP_CLI_UINT, AT(total_guide_units), "N", "likewise units of what guides the agents",
     1, UINT64_MAX, NULL, false},
    {"goals", TP_CLI_UINT, AT(goals), "N", "places that new goals are drawn from (everywhere)", 2, UINT32_MAX,
     NULL, false},
    {"connections", TP_CLI_UINT, AT(connections), "N", "of the workload single (16)", 1, 1024, NULL, false},
    {"generate", TP_CLI_CHOICE, AT(kind), "KIND", "without --map: the kind of map that is made (city)", 0, 0,
     tp_cli_generate_kinds, false},
    {"size", TP_CLI_SIZE, AT(size), "WxH", "and its size, 8..8192 (512x512)", 8, 8192, NULL, false},
    {"scen", TP_CLI_STRING, AT(scen_path), "FILE",
     "with --map: starts and goals from these rows (drawn at random)", 0, 0, NULL, false},
    {"first", TP_CLI_UINT, AT(first), "N", "with scen: the first row (0)", 0, UINT32_MAX, NULL, false},
    {"stride", TP_CLI_UINT, AT(stride), "N", "with scen: every Nth row (1)", 1, UINT32_MAX, NULL, false},
    {"daemon-pid", TP_CLI_UINT, AT(daemon_pid), "PID",
     "the daemon's process, on this machine: tells the CPU time of its event loops a frame", 1, INT32_MAX,
     NULL, false},
    {"json", TP_CLI_FLAG, AT(json), NULL, "print one JSON object", 0, 0, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

const struct tp_cli_usage tp_cli__load_usage = {
    .command = "load",
    .summary = "Puts a load on a daemon: one tick of all agents a frame, at a fixed rate, and measures.",
    .notes = "Open loop: a frame is sent when it is due, whatever is still unanswered, and its latency "
             "counts from then, so\n"
             "that a daemon that stalls is not measured the less for it. Frames that find --in-flight others "
             "unanswered\n"
             "wait, and are counted as late; those that are not sent or answered by the end count with the "
             "time they waited.\n"
             "searching: agents get another goal as soon as their path is complete, so that all search all "
             "the time.\n"
             "guided: agents get another goal when they arrive. New goals and changes go out in front of the "
             "frame's tick.\n"
             "finished: agents walk on complete paths; new goals' paths are completed between frames, and "
             "the daemon's CPU\n"
             "time for that is not counted. single: each connection ticks one session, waits for the answer, "
             "ticks the next\n"
             "(a closed loop: --hz does not matter); who arrives waits for the next pause, whose time is not "
             "counted.\n"
             "Exit code 0: all that was due was sent and answered, late or not; 1: the daemon was gone, or "
             "frames were not\n"
             "sent or answered by the end; what was measured is told all the same.",
};

int tp_cli__load_broken(struct tp_cli_load *load, struct tp_client *client, const char *what)
{
    const struct tp_client_error *error = tp_client_error(client);
    bool is_gone = error->from_server ? error->code == TP_CLIENT_SHUTTING_DOWN
                                      : error->code == TP_CLIENT_CLOSED || error->code == TP_CLIENT_IO ||
                                            error->code == TP_CLIENT_TIMEOUT;
    load->figures.end = is_gone ? TP_CLI_LOAD_DAEMON_GONE : TP_CLI_LOAD_FAILED;
    return tp_cli_client_failed(&tp_cli__load_usage, is_gone ? "the daemon is gone" : what, error);
}

/* ---- The command ---- */

static int check_options(struct tp_cli_load *load)
{
    struct tp_cli_load_options *options = &load->options;
    struct tp_cli_rows *maps = &load->maps;
    bool has_map = maps->map_path != NULL || maps->track_path != NULL || maps->graph_path != NULL;
    int result = tp_cli_search_check(&tp_cli__load_usage, &load->search);
    if (result == TP_CLI_GO_ON && has_map)
        result = tp_cli_map_check(&tp_cli__load_usage, maps);
    if (result != TP_CLI_GO_ON)
        return result;
    if (load->search.known != NULL)
        return tp_cli_refuse(&tp_cli__load_usage, "known", "is an option of bench and trace");
    if (options->scen_path != NULL && maps->map_path == NULL)
        return tp_cli_refuse(&tp_cli__load_usage, "scen", "goes with --map only");
    if (options->changes > 0 && maps->graph_path != NULL)
        return tp_cli_refuse(&tp_cli__load_usage, "changes", "are of a grid's cells");
    if (options->changes > 0 && options->workload >= TP_CLI_LOAD_FINISHED)
        return tp_cli_refuse(&tp_cli__load_usage, "changes", "go with the workloads searching and guided");
    if (options->seconds * options->hz < 1 && options->workload != TP_CLI_LOAD_SINGLE)
        return tp_cli_refuse(&tp_cli__load_usage, "seconds", "is shorter than a frame");
    if (options->workload == TP_CLI_LOAD_SINGLE && options->connections > options->agents)
        return tp_cli_refuse(&tp_cli__load_usage, "connections", "are more than agents");
    return TP_CLI_GO_ON;
}

static int load_map(struct tp_cli_load *load)
{
    const struct tp_cli_load_options *options = &load->options;
    if (load->maps.map_path != NULL || load->maps.track_path != NULL || load->maps.graph_path != NULL)
        return tp_cli_space_load_map(&tp_cli__load_usage, &load->maps, &load->search, &load->space,
                                     &load->track);
    load->space = (struct tp_cli_space){.path = tp_generate_kind_name((enum tp_generate_kind)options->kind),
                                        .cost_unit = TP_COST_UNIT};
    return tp_cli_map_make(&tp_cli__load_usage, (enum tp_generate_kind)options->kind, options->size,
                           load->search.seed, tp_cli_search_profile(&load->search), &load->space.map);
}

/* Opens the connections. */
static int connect_all(struct tp_cli_load *load)
{
    size_t count = load->options.workload == TP_CLI_LOAD_SINGLE ? load->options.connections : 1;
    load->clients = calloc(count, sizeof(struct tp_client *));
    if (load->clients == NULL)
        return tp_cli_fail(&tp_cli__load_usage, "out of memory");
    int result = TP_CLI_OK;
    for (; result == TP_CLI_OK && load->client_count < count; load->client_count++)
        result =
            tp_cli_remote_open(&tp_cli__load_usage, &load->options.via, &load->clients[load->client_count]);
    return result;
}

static int put_map(struct tp_cli_load *load)
{
    int result = tp_cli_remote_put_map(&tp_cli__load_usage, load->clients[0], &load->space.map,
                                       load->space.path, &load->remote);
    if (result == TP_CLI_OK)
        result =
            tp_cli_remote_put_profile(&tp_cli__load_usage, load->clients[0], &load->search, &load->remote);
    return result;
}

/* A session for each agent, each on its connection. */
static int open_sessions(struct tp_cli_load *load)
{
    int result = TP_CLI_OK;
    load->fleet.usage = &tp_cli__load_usage;
    for (size_t first = 0, end; result == TP_CLI_OK && first < load->fleet.count; first = end) {
        size_t client = tp_cli__load_client_of(load, first);
        for (end = first; end < load->fleet.count && tp_cli__load_client_of(load, end) == client;)
            end++;
        struct tp_cli_fleet part = load->fleet;
        part.client = load->clients[client];
        part.agents += first;
        part.cells += first;
        part.count = end - first;
        result = tp_cli_fleet_open(&part, &load->search, load->remote.name);
    }
    return result;
}

/* Every daemon has a thread that is called "world", and its first thread is a loop, whatever its name. */
static int find_loops(struct tp_cli_load *load)
{
    uint64_t pid = load->options.daemon_pid;
    int error = tp_cli_threads_open(&load->loops, pid, "world");
    bool is_daemon = load->loops.count > 1;
    tp_cli_threads_close(&load->loops);
    if (error == 0 && !is_daemon)
        return tp_cli_refuse(&tp_cli__load_usage, "daemon-pid", "process %llu is no tickpathd: it has no thread called \"world\"",
                             (unsigned long long)pid);
    if (error == 0)
        error = tp_cli_threads_open(&load->loops, pid, "loop");
    return error == 0 ? TP_CLI_OK
                      : tp_cli_fail(&tp_cli__load_usage, "/proc/%llu/task: %s", (unsigned long long)pid,
                                    strerror(error));
}

static int prepare(struct tp_cli_load *load)
{
    struct tp_layer_kind kind;
    int result = connect_all(load);
    if (result == TP_CLI_OK)
        result = put_map(load);
    if (result == TP_CLI_OK && load->options.daemon_pid != 0)
        result = find_loops(load);
    if (result != TP_CLI_OK)
        return result;
    bool is_layered = tp_cli_search_layer(&load->search, load->space.map.map, &kind);
    int error = tp_cli_mirror_init(&load->mirror, load->space.map.map, is_layered ? &kind : NULL,
                                   load->remote.version, &load->search);
    if (error != 0)
        return tp_cli_fail(&tp_cli__load_usage, "%s", tp_error_text(error));
    result = tp_cli__load_agents(load);
    return result == TP_CLI_OK ? open_sessions(load) : result;
}

/* Tells what was measured, if anything was. */
static int finish(struct tp_cli_load *load, int result)
{
    const struct tp_cli_load_figures *f = &load->figures;
    if (f->sent == 0)
        return result;
    if (load->options.json)
        tp_cli__load_json(load);
    else
        tp_cli__load_table(load);
    fflush(stdout);
    if (result == TP_CLI_OK && f->answered < f->intended)
        return tp_cli_fail(&tp_cli__load_usage, "of %llu frames %llu were sent and %llu answered in time",
                           (unsigned long long)f->intended, (unsigned long long)f->sent,
                           (unsigned long long)f->answered);
    return result;
}

/* The other connections' sessions go before the map does. */
static void close_others(struct tp_cli_load *load)
{
    bool answers = load->figures.end != TP_CLI_LOAD_DAEMON_GONE;
    for (size_t i = 1; i < load->client_count; i++) {
        answers = answers && load->clients[i] != NULL &&
                  tp_client_close_all_sessions(load->clients[i], NULL, CLOSE_MS) == 0;
        tp_client_close(load->clients[i]);
    }
}

static void tidy_up(struct tp_cli_load *load)
{
    close_others(load);
    if (load->client_count > 0 && load->clients[0] != NULL && load->figures.end != TP_CLI_LOAD_DAEMON_GONE)
        tp_cli_remote_drop_maps(&tp_cli__load_usage, load->clients[0], &load->remote, 1);
    if (load->client_count > 0)
        tp_client_close(load->clients[0]);
    free(load->clients);
    tp_cli_threads_close(&load->loops);
    tp_cli_fleet_fini(&load->fleet);
    tp_cli_mirror_fini(&load->mirror);
    tp_cli_space_fini(&load->space);
    if (load->maps.track_path != NULL)
        tp_track_fini(&load->track);
    free(load->agents);
    free(load->waiting);
    free(load->ground);
    free(load->closed);
    free(load->change_cells);
    free(load->change_terrains);
}

static int run_load(struct tp_cli_load *load)
{
    int result = load_map(load);
    if (result != TP_CLI_OK)
        return result;
    result = prepare(load);
    if (result == TP_CLI_OK)
        result = load->options.workload == TP_CLI_LOAD_SINGLE ? tp_cli__load_single(load)
                                                              : tp_cli__load_frames(load);
    result = finish(load, result);
    tidy_up(load);
    return result;
}

int tp_cli_load(int argc, char **argv)
{
    struct tp_cli_load *load = calloc(1, sizeof *load);
    if (load == NULL)
        return tp_cli_fail(&tp_cli__load_usage, "out of memory");
    load->options = (struct tp_cli_load_options){
        .workload = TP_CLI_LOAD_GUIDED,
        .kind = TP_GENERATE_CITY,
        .size = {512, 512},
        .stride = 1,
        .agents = 1000,
        .connections = 16,
        .hz = 60,
        .seconds = 10,
        .warm_frames = 100,
        .in_flight = 4,
    };
    tp_cli_search_init(&load->search);
    tp_cli_rows_init(&load->maps);
    const struct tp_cli_group groups[] = {{tp_cli_map_options, &load->maps},
                                          {load_options, &load->options},
                                          {tp_cli_search_options, &load->search},
                                          {NULL, NULL}};
    int result = tp_cli_parse(&tp_cli__load_usage, groups, argc, argv);
    if (result == TP_CLI_GO_ON)
        result = check_options(load);
    if (result == TP_CLI_GO_ON)
        result = run_load(load);
    free(load);
    return result;
}
