/* The stats endpoint: /livez, /readyz, /metrics, /stats and the live view (daemon/view/view_http.h) over HTTP, on a
 * port and a thread of its own, so that a busy loop never holds up a probe.
 *
 * What it is: a small read-only HTTP server in front of daemon/stats/stats.h. What it refuses: any method but GET and
 * HEAD (405), any other path (404), more than a few connections at once (those that have been there longest make room
 * for who comes), a connection that says nothing for long, and whoever may not look on (daemon/stats/http_gate.h). Who
 * calls it: the server's start and stop, from loop 0.
 */
#ifndef TP_DAEMON_HTTP_H
#define TP_DAEMON_HTTP_H

#include "base/error.h"
#include "daemon/stats/stats.h"

struct tp_http;
struct tp_view;

struct tp_http_config {
    const char *host;                     /* numeric IPv4 or IPv6 address, without brackets */
    uint16_t port;                        /* 0: chosen by the kernel */
    bool is_inherited;                    /* `fd` is taken, a listening socket at that address that others hold too; closed by stop */
    int fd;
    const struct tp_stats_source *source; /* borrowed until stop */
    struct tp_view *view;                 /* borrowed until stop; NULL: there is none */
    const char *token;                    /* of the view and /stats (daemon/stats/http_gate.h); "": none */
};

/* Starts answering: gives the server in *out and the port bound in *port. /livez says 200 as long as the
 * thread runs; /readyz 200 or 503 with the words of source->not_ready. TP_ERR_IO with words in reason[] (port
 * taken, bad address), TP_ERR_NO_MEMORY; on error *out is NULL. */
int tp_http_start(struct tp_http **out, const struct tp_http_config *config, uint16_t *port,
                  char reason[160]) TP_MUST_CHECK;

/* From now on the view and /stats want this token ("": none); copies it. Who looks on already goes on. Any thread, until stop; `http` may be NULL. */
void tp_http_set_token(struct tp_http *http, const char *token);

/* Stops and frees; no function of the source is called after. NULL is allowed. */
void tp_http_stop(struct tp_http *http);

#endif
