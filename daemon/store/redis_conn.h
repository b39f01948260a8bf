/* One connection to a Redis server on a uv loop: found, kept, lost and found again.
 *
 * What it is: the name is resolved by uv_getaddrinfo and all its addresses are tried; every command has a time limit; the commands in
 * flight are bounded; an idle connection is probed. With Sentinels they are asked for the master first, one after the other, and ROLE
 * makes sure that a master was reached; while it is UP a Sentinel is asked on, for a master that is replaced by order says so itself
 * only after ten seconds, in which it takes changes that will be lost. After any failure: the cause in words, and the next try after a pause that doubles up to 2 s,
 * jittered so that a fleet does not come back in step; the pauses begin small again once it was UP for as long. What it refuses: TLS;
 * more commands at a time than in_flight_max or bytes than in_flight_bytes_max; telling a password (a refused AUTH is told by the
 * error's code alone). Who calls it: the loop's thread alone.
 *
 *     AWAY --resolve, connect, AUTH, SELECT, CLIENT ID, INFO, ROLE, PING--> UP        UP --any failure, or no answer in time--> AWAY until the next try
 */
#ifndef TP_DAEMON_REDIS_CONN_H
#define TP_DAEMON_REDIS_CONN_H

#include "daemon/store/redis_pipe.h"
#include "daemon/store/redis_url.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
    TP_REDIS_CONNECT_MS = 1000, /* of one address */
    TP_REDIS_COMMAND_MS = 1000, /* a command's time limit where none is given */
    TP_REDIS_PROBE_MS = 2000,   /* idle for so long it is probed */
    TP_REDIS_WATCH_MS = 500,    /* so often a Sentinel is asked whether the master is another now */
    TP_REDIS_PAUSE_MIN_MS = 100,
    TP_REDIS_PAUSE_MAX_MS = 2000,
    TP_REDIS_ADDRESSES_MAX = 16, /* of one name that are tried */
};

struct tp_redis_conn_config {
    uv_loop_t *loop;                /* borrowed */
    const struct tp_redis_url *url; /* borrowed */
    uint64_t seed;                  /* of the jitter */
    uint32_t in_flight_max;         /* commands */
    size_t in_flight_bytes_max;     /* below 2^31; what the commands' strings hold and a little for each */
    void *context;
    /* It came UP: commands may be sent; conn->run_id and client_id are set. */
    void (*up_cb)(struct tp_redis_conn *conn, void *context);
    /* It is AWAY (again): a try failed, UP was lost, or the resolver hangs. conn->cause is set; callbacks of all commands in flight came
     * before, with NULL. */
    void (*lost_cb)(struct tp_redis_conn *conn, void *context);
};

enum tp_redis_stage {
    TP_REDIS_PAUSED,
    TP_REDIS_RESOLVING,
    TP_REDIS_CONNECTING, /* and greeting */
    TP_REDIS_UP,
    TP_REDIS_STOPPED,
};

struct tp_redis_conn {
    char cause[128];    /* of the last failure; empty once it is UP */
    char run_id[41];    /* UP: of the server's process (INFO server); empty: it does not say */
    uint64_t client_id; /* UP: of this connection (CLIENT ID); 0: the server would not tell */
    bool is_up;
    uint64_t failures; /* so far */

    /* The rest is the module's own. */
    struct tp_redis_conn_config config;
    enum tp_redis_stage stage;
    uv_timer_t timer; /* PAUSED: the pause; RESOLVING: it takes long; UP: the probe */
    bool is_timer_closed;
    void (*stopped_cb)(void *context);
    void *stopped_context;

    struct tp_redis_place place; /* that is tried, or UP */
    bool is_sentinel;            /* that place */
    unsigned sentinel;           /* that gave a master that worked, and is asked first */
    unsigned asked;              /* Sentinels in this try */
    struct tp_redis_place tried; /* the master that did not work in this try; no host: none */
    int cause_rank;              /* of this try's cause: the farther it came, the more it says */

    uv_getaddrinfo_t resolve;
    bool is_resolving;
    struct sockaddr_storage addresses[TP_REDIS_ADDRESSES_MAX]; /* of the place */
    unsigned addresses_count, address;

    struct tp_redis_pipe *pipe; /* CONNECTING and UP */
    unsigned pipes;             /* whose memory is not gone yet */
    uint64_t answers;           /* of the pipe, when it was looked at last */
    uint64_t up_at_ms;
    uint64_t pause_ms;
    uint64_t random;

    /* With Sentinels, from the first time UP on: another one, owned, that ends at a Sentinel and asks it again and again. */
    struct tp_redis_conn *watcher;
    struct tp_redis_conn *watched; /* in such a one: whose it is */
    struct tp_redis_place master;  /* in such a one: what this Sentinel said last; no host: nothing yet */
};

/* Begins to try; the first callback comes on the loop. *conn must not move until it is stopped. TP_ERR_NO_MEMORY (nothing to stop then). */
int tp_redis_conn_start(struct tp_redis_conn *conn, const struct tp_redis_conn_config *config) TP_MUST_CHECK;

/* Sends a command of `argc` strings (`sizes` NULL: each ends with a 0), copied. Its reply comes within timeout_ms (0: TP_REDIS_COMMAND_MS), or the
 * connection is lost with the cause "<place>: <command>: no answer in time". Replies come in the order of sending. False: AWAY, as much as allowed
 * is in flight, or out of memory; nothing was sent and no callback comes. Cost: a copy; what one turn of the loop sends goes out in one write. */
bool tp_redis_conn_send(struct tp_redis_conn *conn, int argc, const char **argv, const size_t *sizes,
                        uint64_t timeout_ms, tp_redis_reply_cb reply, void *context);

/* UP: drops the connection for a cause of the caller's ("<what>: <words>"); the next try comes after a pause. It is AWAY at once; the NULL replies and
 * lost_cb come inside the call, but where a reply callback runs (up_cb is inside of one) right after that returned. AWAY: does nothing. */
void tp_redis_conn_lose(struct tp_redis_conn *conn, const char *what, const char *words);

/* Closes everything, once; the commands in flight get their NULL inside the call, and no other callback comes but stopped_cb, on the loop, when the
 * memory of *conn is free to go. That may take as long as the resolver does. */
void tp_redis_conn_stop(struct tp_redis_conn *conn, void (*stopped_cb)(void *context), void *context);

#endif
