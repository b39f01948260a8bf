/* Who may look on: the read-only token of the stats port.
 *
 * What it is: one decision for a request. With a token, it must come as "Authorization: Bearer TOKEN", in the cookie
 * that the page keeps, or once as ?token=, which sets that cookie and leads to the address without it. Without a token
 * only a port of loopback answers, and only under a name of loopback (or a page of elsewhere could have a browser read
 * it under a name of its own). Tokens are compared in a time that does not tell how much of them was right. /livez,
 * /readyz and /metrics are not asked about: probes and scrapes have no token. What it refuses: 401, with a form for
 * browsers; 403 where there is none. Who calls it: http.c, on the HTTP thread.
 */
#ifndef TP_DAEMON_HTTP_GATE_H
#define TP_DAEMON_HTTP_GATE_H

#include <microhttpd.h>
#include <stdbool.h>

enum { TP_HTTP_TOKEN_MAX = 256 }; /* bytes */

/* Whether a token may be one: 16 to 256 of A-Z a-z 0-9 . _ ~ - */
bool tp_http_gate_is_token(const char *text);

/* Whether the host, a numeric address, is this machine's own. */
bool tp_http_gate_is_loopback(const char *host);

/* Whether the request may be answered. Else it has been, and *result is what to return. `token` "": there is none. */
bool tp_http_gate_opens(struct MHD_Connection *connection, const char *path, const char *token, bool is_loopback,
                        enum MHD_Result *result);

#endif
