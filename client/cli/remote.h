/* What the commands share that talk to a daemon. */
#ifndef TP_CLI_REMOTE_H
#define TP_CLI_REMOTE_H

#include "client/cli/files.h"
#include "client/cli/search_options.h"
#include "client/tickpath_client.h"

enum { TP_CLI_CALL_MS = 120000 }; /* how long the tool waits for any answer */

/* Says what a call of the client library failed with; gives TP_CLI_FAILED. */
int tp_cli_client_failed(const struct tp_cli_usage *usage, const char *what,
                         const struct tp_client_error *error);

/* Connects. TP_CLI_OK with the connection in *client, or TP_CLI_FAILED after saying why. */
int tp_cli_remote_open(const struct tp_cli_usage *usage, const struct tp_cli_host_port *via,
                       struct tp_client **client);

/* What a run with a list of daemons tells of its failovers. */
struct tp_cli_failovers {
    const struct tp_cli_usage *usage;
    unsigned count;      /* times that another daemon took over */
    uint32_t pause_ms;   /* the longest time that one took */
    /* Called when the connection stands again; NULL for nobody. */
    void (*back_cb)(void *context);
    /* Called when a map is in another epoch than before; NULL for nobody. */
    void (*epoch_cb)(const struct tp_client_event *event, void *context);
    /* As of struct tp_client_options. */
    int (*map_cb)(struct tp_client *daemon, const char *map, const struct tp_client_map *there, void *context);
    void *context;
};

/* Connects to one of several daemons; where there are more than one, with failover: says on stderr when another takes over, and counts. *failovers
 * must live as long as the connection. */
int tp_cli_remote_open_any(const struct tp_cli_usage *usage, const struct tp_cli_addresses *via, struct tp_cli_failovers *failovers,
                           struct tp_client **client);

/* A map of this process's own on the daemon; empty name: none. */
struct tp_cli_remote_map {
    char name[96];
    uint64_t epoch, version; /* as it was put */
};

/* Puts the map with its profile, replacing an older one of the same name; where that one is in use, under a name of this
 * process's own, and at once where others may take over from this daemon: nobody else has that one there. From then on SIGINT and SIGTERM only make tp_cli_remote_interrupted true, once: the second one ends the
 * process. */
int tp_cli_remote_put_map(const struct tp_cli_usage *usage, struct tp_client *client,
                          const struct tp_cli_map *map, const char *path, struct tp_cli_remote_map *out);

/* Puts a map as it is by now on a daemon that takes over, under the name that it had: TP_CLIENT_OK, or why not. */
int tp_cli_remote_put_again(struct tp_client *daemon, const char *name, const struct tp_cli_map *map, const struct tp_map *now);

/* Gives the map the agents' profile, where --profile says that they have one. */
int tp_cli_remote_put_profile(const struct tp_cli_usage *usage, struct tp_client *client,
                              const struct tp_cli_search *search, const struct tp_cli_remote_map *map);

/* Whether to end early: TP_CLI_FAILED, after saying so, once a signal has come; else TP_CLI_OK. To be asked every tick. */
int tp_cli_remote_interrupted(const struct tp_cli_usage *usage);

/* Closes all sessions of the connection and drops the maps that were put (those with a name), unless another process has
 * put its own in that place or has sessions on it. Waits some seconds at most, and warns when the daemon does not do it.
 * If a signal has come, ends the process by it. */
void tp_cli_remote_drop_maps(const struct tp_cli_usage *usage, struct tp_client *client,
                             const struct tp_cli_remote_map *maps, size_t count);

#endif
