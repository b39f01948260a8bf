#include "client/cli/remote.h"

#include "base/version.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DROP_MS = 3000 }; /* what is only tidying up does not wait long for a daemon that says nothing */

int tp_cli_client_failed(const struct tp_cli_usage *usage, const char *what,
                         const struct tp_client_error *error)
{
    return tp_cli_fail(usage, "%s: %s%s%s%s: %s", what, error->from_server ? "the server says " : "",
                       tp_client_code_name(error->code), error->field[0] != '\0' ? " for the field " : "",
                       error->field, error->message);
}

int tp_cli_remote_open(const struct tp_cli_usage *usage, const struct tp_cli_host_port *via,
                       struct tp_client **client)
{
    struct tp_client_error error;
    char words[TP_CLI_HOST_MAX + 16];
    snprintf(words, sizeof words, "%s:%u", via->host, via->port);
    if (tp_client_open(client, via->host, via->port, "tickpath/" TP_VERSION, 10000, &error) != 0)
        return tp_cli_client_failed(usage, words, &error);
    return TP_CLI_OK;
}

static void tell(const struct tp_client_event *event, void *context)
{
    struct tp_cli_failovers *failovers = context;
    const char *why = event->error != NULL ? event->error->message : "";
    switch (event->kind) {
    case TP_CLIENT_LOST:
        tp_cli_warn(failovers->usage, "%s is lost: %s", event->address, why);
        return;
    case TP_CLIENT_FAILED:
        tp_cli_warn(failovers->usage, "%s does not take over: %s", event->address, why);
        return;
    case TP_CLIENT_BACK:
        tp_cli_warn(failovers->usage, "%s takes over after %u ms", event->address, event->pause_ms);
        failovers->count++;
        if (event->pause_ms > failovers->pause_ms)
            failovers->pause_ms = event->pause_ms;
        if (failovers->back_cb != NULL)
            failovers->back_cb(failovers->context);
        return;
    case TP_CLIENT_NEW_EPOCH:
        if (failovers->epoch_cb != NULL)
            failovers->epoch_cb(event, failovers->context);
        return;
    case TP_CLIENT_SESSION_GONE:
        tp_cli_warn(failovers->usage, "session %llu on %s is gone: %s", (unsigned long long)event->session, event->map, why);
        return;
    }
}

/* The library's question, handed on. */
static int ask_for_map(struct tp_client *daemon, const char *map, const struct tp_client_map *there, void *context)
{
    const struct tp_cli_failovers *failovers = context;
    return failovers->map_cb(daemon, map, there, failovers->context);
}

int tp_cli_remote_open_any(const struct tp_cli_usage *usage, const struct tp_cli_addresses *via, struct tp_cli_failovers *failovers,
                           struct tp_client **client)
{
    failovers->usage = usage;
    if (via->count < 2)
        return tp_cli_remote_open(usage, &via->first, client);
    const struct tp_client_options options = {
        .addresses = via->list,
        .name = "tickpath/" TP_VERSION,
        .event_cb = tell,
        .map_cb = failovers->map_cb != NULL ? ask_for_map : NULL,
        .context = failovers,
    };
    struct tp_client_error error;
    if (tp_client_open_any(client, &options, 10000, &error) != 0)
        return tp_cli_client_failed(usage, via->list, &error);
    return TP_CLI_OK;
}

/* The profile as the protocol has it: classes not listed are impassable. */
static size_t list_weights(const struct tp_profile *profile, struct tp_client_weight weights[256])
{
    size_t n = 0;
    for (int class = 0; class < 256; class ++) {
        if (profile->weight[class] != 0)
            weights[n++] =
                (struct tp_client_weight){.terrain = (uint8_t) class, .weight = profile->weight[class]};
    }
    if (n == 0) /* nothing is passable; the list must not be empty for that */
        weights[n++] = (struct tp_client_weight){.terrain = '@', .weight = 0};
    return n;
}

static volatile sig_atomic_t signal_came;

static void hear_signal(int number)
{
    signal_came = number;
}

/* SA_RESETHAND: whoever cannot wait asks a second time. */
static void hear_signals(void)
{
    struct sigaction action = {.sa_handler = hear_signal, .sa_flags = SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int tp_cli_remote_interrupted(const struct tp_cli_usage *usage)
{
    return signal_came == 0 ? TP_CLI_OK : tp_cli_fail(usage, "interrupted");
}

static int put_grid(struct tp_client *client, const char *name, const struct tp_cli_map *map,
                    struct tp_client_map *info)
{
    struct tp_client_weight weights[256];
    struct tp_profile benchmarks;
    tp_profile_init_movingai(&benchmarks);
    bool is_default = memcmp(&benchmarks, &map->map->profile, sizeof benchmarks) == 0; /* an empty list says so */
    size_t weight_count = is_default ? 0 : list_weights(&map->map->profile, weights);
    return tp_client_put_map(client, name, map->grid.width, map->grid.height, map->grid.cells, weights,
                             weight_count, true, info, TP_CLI_CALL_MS);
}

int tp_cli_remote_put_profile(const struct tp_cli_usage *usage, struct tp_client *client,
                              const struct tp_cli_search *search, const struct tp_cli_remote_map *map)
{
    struct tp_client_weight weights[256];
    if (!search->profile.given)
        return TP_CLI_OK;
    size_t weight_count = list_weights(&search->profile.profile, weights);
    int error = tp_client_put_profile(client, map->name, TP_CLI_PROFILE_NAME, weights, weight_count, TP_CLI_CALL_MS);
    if (error == TP_ERR_UNSUPPORTED || error == TP_ERR_INVALID_ARGUMENT)
        return tp_cli_refuse(usage, "profile", "%s", tp_client_error(client)->message);
    return error == 0 ? TP_CLI_OK : tp_cli_client_failed(usage, "cannot put the profile", tp_client_error(client));
}

/* The edges of a graph in the order they were given; NULL: out of memory. */
static struct tp_client_edge *list_edges(const struct tp_graph *graph)
{
    struct tp_client_edge *edges = malloc(((size_t)graph->edges + 1) * sizeof *edges);
    for (uint32_t e = 0; edges != NULL && e < graph->edges; e++) {
        struct tp_graph_edge edge = tp_graph_edge_set(graph, e);
        edges[e] = (struct tp_client_edge){.from = edge.from, .to = edge.to, .cost = edge.cost};
    }
    return edges;
}

static int put_graph(struct tp_client *client, const char *name, const struct tp_graph *graph,
                     const struct tp_client_edge *edges, struct tp_client_map *info)
{
    const struct tp_client_graph put = {
        .nodes = graph->nodes, .edges = edges, .edge_count = graph->edges, .x = graph->x, .y = graph->y};
    return tp_client_put_graph(client, name, &put, true, info, TP_CLI_CALL_MS);
}

int tp_cli_remote_put_again(struct tp_client *daemon, const char *name, const struct tp_cli_map *map, const struct tp_map *now)
{
    struct tp_client_map info;
    int error = TP_CLIENT_NO_MEMORY;
    if (map->map->graph != NULL) {
        struct tp_client_edge *edges = list_edges(now->graph);
        if (edges != NULL)
            error = put_graph(daemon, name, now->graph, edges, &info);
        free(edges);
        return error;
    }
    struct tp_cli_map copy = *map; /* the profile is that of the map as it was read */
    copy.grid.cells = malloc((size_t)map->grid.width * map->grid.height);
    if (copy.grid.cells != NULL) {
        tp_map_copy_cells(now, copy.grid.cells);
        error = put_grid(daemon, name, &copy, &info);
    }
    free(copy.grid.cells);
    return error;
}

int tp_cli_remote_put_map(const struct tp_cli_usage *usage, struct tp_client *client,
                          const struct tp_cli_map *map, const char *path, struct tp_cli_remote_map *out)
{
    const struct tp_graph *graph = map->map->graph;
    struct tp_client_edge *edges = graph != NULL ? list_edges(graph) : NULL;
    if (graph != NULL && edges == NULL)
        return tp_cli_fail(usage, "out of memory");
    char stem[64];
    tp_cli_map_name(path, stem);
    struct tp_client_map info;
    *out = (struct tp_cli_remote_map){.name = ""};
    hear_signals();
    int error = TP_CLIENT_FAILED_PRECONDITION;
    bool may_move = tp_client_address(client) != NULL;
    for (int attempt = may_move; attempt < 2 && error == TP_CLIENT_FAILED_PRECONDITION; attempt++) {
        char name[sizeof out->name];
        if (attempt == 0)
            snprintf(name, sizeof name, "tool/%s", stem);
        else
            snprintf(name, sizeof name, "tool/%s-%ld", stem, (long)getpid());
        error =
            graph != NULL ? put_graph(client, name, graph, edges, &info) : put_grid(client, name, map, &info);
        if (error == 0) {
            strcpy(out->name, name);
            out->epoch = info.epoch;
            out->version = info.version;
        }
    }
    free(edges);
    if (error == 0)
        return TP_CLI_OK;
    return tp_cli_client_failed(usage, "cannot put the map", tp_client_error(client));
}

static void drop_map(const struct tp_cli_usage *usage, struct tp_client *client,
                     const struct tp_cli_remote_map *map)
{
    int error = tp_client_close_all_sessions(client, NULL, DROP_MS);
    if (error == 0)
        error = tp_client_drop_map(client, map->name, map->epoch, DROP_MS);
    /* Somebody else's by now, or a daemon that is older than the message. */
    if (error != 0 && error != TP_CLIENT_FAILED_PRECONDITION && error != TP_CLIENT_NOT_FOUND &&
        error != TP_CLIENT_UNKNOWN_MESSAGE)
        tp_cli_warn(usage, "the map %s stays on the daemon: %s", map->name, tp_client_error(client)->message);
}

void tp_cli_remote_drop_maps(const struct tp_cli_usage *usage, struct tp_client *client,
                             const struct tp_cli_remote_map *maps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (maps[i].name[0] != '\0')
            drop_map(usage, client, &maps[i]);
    if (signal_came != 0) {
        fflush(NULL);
        signal(signal_came, SIG_DFL);
        raise(signal_came);
    }
}
