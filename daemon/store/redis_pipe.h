/* One TCP connection to one address, over which commands go out and their replies come back in order.
 *
 * What it is: libuv's stream below, hiredis's formatter and reader above, and between them a list of the commands that wait for their
 * reply, each with a time limit. hiredis's own asynchronous client is not used: the one of Debian 12 resolves names with the loop
 * standing still, knows no time limits, and once memory was short waits for replies to commands that it never sent. Commands of one
 * turn of the loop go out in one write. What it refuses: to connect again; to bound what is in flight (its counts are for that). Who
 * calls it: daemon/store/redis_conn.c, on the loop's thread.
 *
 *     new --connect--> CONNECTING --opened_cb--> OPEN --lost_cb (close it)        any --close--> CLOSED --closed_cb--> gone
 */
#ifndef TP_DAEMON_REDIS_PIPE_H
#define TP_DAEMON_REDIS_PIPE_H

#include "base/error.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct tp_redis_conn;

/* `reply` is borrowed until the callback returns; an error of the server's is a reply of type REDIS_REPLY_ERROR. NULL: the connection was
 * lost before it came; whether the server did it is not known. All calls of daemon/store/redis_conn.h are allowed in it. */
typedef void (*tp_redis_reply_cb)(struct tp_redis_conn *conn, const redisReply *reply, void *context);

enum {
    TP_REDIS_PIPE_WRITE_MAX = 128, /* commands in one write */
    TP_REDIS_PIPE_READ_BYTES = 65536,
};

/* What the owner is told. None of them comes inside a call of the owner's. */
struct tp_redis_pipe_events {
    void (*opened_cb)(struct tp_redis_conn *conn);
    /* It failed and must be closed. `command` is the one that had no answer, or NULL; `words` say why, NULL if the owner doomed it. Both
     * borrowed until it is closed. */
    void (*lost_cb)(struct tp_redis_conn *conn, const char *command, const char *words);
    void (*closed_cb)(struct tp_redis_conn *conn); /* its memory is gone */
};

struct tp_redis_command;

struct tp_redis_pipe {
    struct tp_redis_conn *conn; /* borrowed; given to every callback */
    const struct tp_redis_pipe_events *events;
    uv_tcp_t tcp;
    uv_timer_t timer; /* for the connect, then for the earliest time limit */
    uv_idle_t flush;  /* active while commands wait for this turn's write */
    uv_connect_t connect;
    unsigned handles;  /* not closed yet */
    uint64_t alarm_ms; /* when the timer fires; 0: it is off */
    redisReader *reader;

    struct tp_redis_command *first, **end; /* that wait for their reply, oldest first */
    struct tp_redis_command *unwritten;    /* the first of them that is in no write yet, NULL if none */
    size_t in_flight, in_flight_bytes;     /* of that list */
    uint64_t answers;                      /* so far */

    uv_write_t write;
    unsigned writing; /* buffers in the write that is under way */
    uv_buf_t buffers[TP_REDIS_PIPE_WRITE_MAX];

    bool is_open, is_closed;
    bool is_calling; /* a reply callback runs */
    bool is_doomed;  /* is lost once that returns */
    char bytes[TP_REDIS_PIPE_READ_BYTES];
};

/* Gives a pipe that is not connected; NULL: out of memory. Close it in any case. */
struct tp_redis_pipe *tp__redis_pipe_new(uv_loop_t *loop, struct tp_redis_conn *conn,
                                         const struct tp_redis_pipe_events *events);

/* Begins to connect; 0, or an error of libuv's. It is lost if that takes longer than timeout_ms. */
int tp__redis_pipe_connect(struct tp_redis_pipe *pipe, const struct sockaddr *address,
                           uint64_t timeout_ms) TP_MUST_CHECK;

/* Sends a command, copied (`sizes` NULL: each string ends with a 0). It is lost if no reply came after timeout_ms. False: out of memory; nothing
 * was sent. */
bool tp__redis_pipe_send(struct tp_redis_pipe *pipe, int argc, const char **argv, const size_t *sizes,
                         uint64_t timeout_ms, tp_redis_reply_cb reply, void *context);

/* It is to be lost: lost_cb comes when the reply callback that runs has returned. One must run (is_calling). */
void tp__redis_pipe_doom(struct tp_redis_pipe *pipe);

/* Closes the connection. Every command in flight gets its NULL before this returns; then nothing comes but closed_cb. Allowed in any callback. */
void tp__redis_pipe_close(struct tp_redis_pipe *pipe);

#endif
