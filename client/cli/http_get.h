/* One GET request over plain HTTP, for what a daemon's stats port tells.
 *
 * What it refuses: anything but a whole answer within the time and the bound on bytes; TLS, redirections. Who calls it: `tickpath inspect` and `tickpath health`.
 */
#ifndef TP_CLI_HTTP_GET_H
#define TP_CLI_HTTP_GET_H

#include "client/cli/options.h"

/* Asks for `path` (with its query) of a server. `token` goes along as a bearer's; NULL: none. Gives the status in *status and what came, zero-ended and
 * malloc'd, in *body. False, *words (static, or valid until the next call) saying why: no answer that is one, within timeout_ms in all. */
bool tp_cli_http_get(const struct tp_cli_host_port *server, const char *path, const char *token, int timeout_ms, int *status, char **body,
                     const char **words);

#endif
