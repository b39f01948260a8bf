/* One connection to a Redis server on a uv loop: found, kept, lost and found again.
 *
 * What it is: hiredis's asynchronous client on libuv with what it lacks (Debian's 0.14): the name is resolved by uv_getaddrinfo
 * (hiredis would block), every command has a time limit (uv timers), and the commands in flight are bounded. With Sentinels it asks
 * them for the master's address first (SENTINEL get-master-addr-by-name) and makes sure by ROLE that it reached one. After any
 * failure: the cause in words, and the next try after a pause that doubles up to 2 s, jittered so that a fleet does not come back in step.
 * What it refuses: TLS; more commands at a time than in_flight_max or bytes than in_flight_bytes_max; telling a password. Who calls it: the loop's thread alone.
 *
 *     AWAY --resolve, connect, AUTH, SELECT, ROLE, INFO--> UP        UP --any failure, or no answer in time--> AWAY until the next try
 */
#ifndef TP_DAEMON_REDIS_CONN_H
#define TP_DAEMON_REDIS_CONN_H

#include "daemon/redis_url.h"

#include <hiredis/async.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct tp_redis_conn;

/* `reply` is borrowed until the callback returns; an error of the server's is a reply of type REDIS_REPLY_ERROR. NULL: the connection was lost
 * before it came; whether the server did it is not known. */
typedef void (*tp_redis_reply_cb)(struct tp_redis_conn *conn, const redisReply *reply, void *context);

struct tp_redis_conn_config {
    uv_loop_t *loop;                /* borrowed */
    const struct tp_redis_url *url; /* borrowed */
    uint64_t seed;                  /* of the jitter */
    uint32_t in_flight_max;         /* commands */
    size_t in_flight_bytes_max;
    void *context;
    void (*up_cb)(struct tp_redis_conn *conn, void *context); /* it came UP: commands may be sent; conn->run_id and client_id are set */
    void (*lost_cb)(struct tp_redis_conn *conn, void *context); /* it is AWAY (again), also after a try that failed; conn->cause is set;
                                                                  * callbacks of all commands in flight came before, with NULL */
};

struct tp_redis_conn {
    char cause[128];    /* of the last failure; empty once it is UP */
    char run_id[41];    /* UP: of the server's process (INFO server) */
    uint64_t client_id; /* UP: of this connection (CLIENT ID); 0: the server would not tell */
    bool is_up;
    uint64_t failures; /* so far */
    /* ... the rest is the module's own ... */
};

/* Begins to try. TP_ERR_NO_MEMORY. */
int tp_redis_conn_start(struct tp_redis_conn *conn, const struct tp_redis_conn_config *config);

/* Sends a command of `argc` strings (`sizes` NULL: each ends with a 0), copied. Its reply comes within timeout_ms (0: a default of 1000), or the connection is lost
 * with the cause "no answer in time". False: AWAY, as much as allowed is in flight, or out of memory; nothing was sent and no callback comes. */
bool tp_redis_conn_send(struct tp_redis_conn *conn, int argc, const char **argv, const size_t *sizes, uint64_t timeout_ms,
                        tp_redis_reply_cb reply, void *context);

/* Drops the connection for a cause of the caller's ("<what>: <words>"); the next try comes after a pause. Allowed in a reply callback. */
void tp_redis_conn_lose(struct tp_redis_conn *conn, const char *what, const char *words);

/* Closes everything; stopped_cb comes on the loop when the memory of *conn is free to go. No other callback comes after the call but NULL replies. */
void tp_redis_conn_stop(struct tp_redis_conn *conn, void (*stopped_cb)(void *context), void *context);

#endif
