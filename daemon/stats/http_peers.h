/* Who is connected to the stats port, and who makes room for others: a crowd that asks for nothing, or reads nothing, must not keep a probe out.
 *
 * What it is: a list of connections, the one that has been longest at its present request first. Where more than TP_HTTP_WAITING_MAX are
 * there, that one is shut: a request that is served at once never is. What it refuses: to shut streams of the view, which last by their nature; the
 * view bounds them itself. Who calls it: http.c, on the HTTP thread.
 */
#ifndef TP_DAEMON_HTTP_PEERS_H
#define TP_DAEMON_HTTP_PEERS_H

#include <stdbool.h>
#include <stddef.h>

enum { TP_HTTP_WAITING_MAX = 80 }; /* 16 browsers have some six each */

/* A connection; the module's own. */
struct tp_http_peer;

/* Zeroed is empty. */
struct tp_http_peers {
    struct tp_http_peer *first, *last;
    size_t waiting; /* neither streams nor shut */
};

/* A connection came: gives what to call the others with, or NULL: out of memory, and it is shut. `fd` stays libmicrohttpd's. Cost: O(1),
 * but for streams passed over. */
struct tp_http_peer *tp_http_peer_came(struct tp_http_peers *peers, int fd);

/* It is at a stream now. NULL is allowed here and below. */
void tp_http_peer_streams(struct tp_http_peers *peers, struct tp_http_peer *peer);

/* Its request is over, and it may begin another. */
void tp_http_peer_answered(struct tp_http_peers *peers, struct tp_http_peer *peer);

/* It is gone, and freed. */
void tp_http_peer_went(struct tp_http_peers *peers, struct tp_http_peer *peer);

#endif
