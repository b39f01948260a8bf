/* One GET request over plain HTTP, for what a daemon's stats port tells.
 *
 * What it refuses: anything but a whole answer within the time and the bound on bytes; TLS, redirections. Who calls it: `tickpath inspect`, `tickpath list` and `tickpath health`.
 */
#ifndef TP_CLI_HTTP_GET_H
#define TP_CLI_HTTP_GET_H

#include "client/cli/options.h"

/* Asks for `path` (with its query) of a server. `token` goes along as a bearer's; NULL: none. Gives the status in *status and what came, zero-ended and
 * malloc'd, in *body. False, *words (static, or valid until the next call) saying why: no answer that is one, within timeout_ms in all. */
bool tp_cli_http_get(const struct tp_cli_host_port *server, const char *path, const char *token, int timeout_ms, int *status, char **body,
                     const char **words);

/* The same of a stream of events, which does not end: *body is the data of its first event of that name, and an answer without one is none. Of a status other
 * than 200 *body is what came. */
bool tp_cli_http_get_event(const struct tp_cli_host_port *server, const char *path, const char *token, const char *event, int timeout_ms, int *status,
                           char **body, const char **words);

/* Where the daemon of this environment answers: TICKPATHD_STATS, a wildcard address being reached by loopback, else 127.0.0.1:7879. False: the variable is no
 * address. */
bool tp_cli_stats_place(struct tp_cli_host_port *place);

#endif
