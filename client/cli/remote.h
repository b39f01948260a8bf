/* What the commands share that talk to a daemon. */
#ifndef TP_CLI_REMOTE_H
#define TP_CLI_REMOTE_H

#include "client/cli/files.h"
#include "client/tickpath_client.h"

enum { TP_CLI_CALL_MS = 120000 }; /* how long the tool waits for any answer */

/* Says what a call of the client library failed with; gives TP_CLI_FAILED. */
int tp_cli_client_failed(const struct tp_cli_usage *usage, const char *what,
                         const struct tp_client_error *error);

/* Connects. TP_CLI_OK with the connection in *client, or TP_CLI_FAILED after saying why. */
int tp_cli_remote_open(const struct tp_cli_usage *usage, const struct tp_cli_host_port *via,
                       struct tp_client **client);

/* Puts the map with its profile, replacing an older one of the same name; where that one is in use, under a name of this
 * process's own. Gives the name and the version the map is at. */
int tp_cli_remote_put_map(const struct tp_cli_usage *usage, struct tp_client *client,
                          const struct tp_cli_map *map, const char *path, char name[96], uint64_t *epoch,
                          uint64_t *version);

#endif
