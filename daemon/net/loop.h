/* One event loop: a thread, a libuv loop, a shard, the connections it owns.
 *
 * What it is: takes mails (accepted sockets, publications, answers, orders) and gives them to its
 * connections; looks at their timeouts every TP_LOOP_LOOK_MS. Everything of a loop happens on its own thread
 * but tp_loop_post. Who calls it: the server.
 */
#ifndef TP_DAEMON_LOOP_H
#define TP_DAEMON_LOOP_H

#include "daemon/net/frame.h"
#include "daemon/net/mailbox.h"
#include "daemon/serve/shard.h"
#include "daemon/view/view_copy.h"

#include <uv.h>

enum { TP_LOOP_LOOK_MS = 20, TP_LOOP_TRIM_LOOKS = 50, TP_LOOP_READ_BYTES = 65536 };

struct tp_connection;

enum tp_loop_mail_kind {
    TP_LOOP_MAIL_ACCEPTED = TP_SHARD_MAIL_OWN, /* struct tp_loop_accepted */
    TP_LOOP_MAIL_DRAIN,                        /* refuse new opens, close what is quiet */
    TP_LOOP_MAIL_LAST_CALL,                    /* answer what is there, then close */
    TP_LOOP_MAIL_DROP,                         /* close everything now */
    TP_LOOP_MAIL_VIEW,                        /* struct tp_view_copy, from who looks on; one at a time */
    TP_LOOP_MAIL_STOP,                         /* no connection is left: end */
};

struct tp_loop_accepted {
    struct tp_mail mail;
    int fd;
    bool is_refused; /* connections_max is reached: only to be told so */
};

/* Aligned to cache lines, so that two loops share none; other threads write to `box` and `wake` alone. */
struct tp_loop {
    _Alignas(TP_LINE_BYTES) struct tp_shard shard;
    struct tp_mailbox box;
    _Atomic int64_t *connections; /* borrowed; of all loops */
    uv_loop_t uv;
    _Alignas(TP_LINE_BYTES) uv_async_t wake;
    _Alignas(TP_LINE_BYTES) uv_timer_t look;
    _Atomic uint64_t looked_ms; /* tp_clock_now_ms when the loop looked last: whether it still answers; any thread reads */
    uv_work_t touching; /* of `ahead`, memory that will be needed, on a thread of libuv's */
    void *ahead;
    uv_idle_t again; /* active while `runnable` is not empty, closed sessions wait to be freed or `view` is to be filled */
    pthread_t thread;
    bool has_thread, is_last_call, is_dropping;
    bool has_dropped; /* while dropping: a connection that was owed something, or might have asked */
    unsigned looks; /* since memory was given back last */
    struct tp_connection *first; /* all connections, in no order */
    struct tp_connection
        *runnable; /* those that stopped in the midst of their frames, so that others get a turn */
    struct tp_connection **runnable_end;
    struct tp_view_copy *view;           /* being filled, a slice a round; NULL: nobody asks */
    struct tp_connection *view_at;       /* where the next slice goes on */
    struct tp_mail drain, last_call, drop, stop;
    char read_bytes[TP_LOOP_READ_BYTES]; /* where every read goes first */
};

TP_ASSERT_LINE(struct tp_loop, shard);
TP_ASSERT_LINE(struct tp_loop, box);
TP_ASSERT_LINE(struct tp_loop, connections);
TP_ASSERT_LINE(struct tp_loop, wake);
TP_ASSERT_LINE(struct tp_loop, look);

/* Sets up a loop whose shard's given fields are set. TP_ERR_NO_MEMORY, TP_ERR_IO. */
int tp_loop_init(struct tp_loop *loop, struct tp_pool_cap *cap, _Atomic int64_t *connections) TP_MUST_CHECK;

/* The loop must have stopped. */
void tp_loop_fini(struct tp_loop *loop);

/* Runs the loop on a thread of its own. TP_ERR_IO. */
int tp_loop_start(struct tp_loop *loop) TP_MUST_CHECK;

/* Runs the loop on the calling thread until it is stopped. */
void tp_loop_run(struct tp_loop *loop);

/* Waits for the end of tp_loop_start's thread. */
void tp_loop_join(struct tp_loop *loop);

/* Gives a mail to the loop. Any thread. */
void tp_loop_post(struct tp_loop *loop, struct tp_mail *mail);

/* Handles what is in the box. Own thread. */
void tp_loop_take_mail(struct tp_loop *loop);

/* Asks for one more round at once: for the runnable connections, and to free closed sessions. Own thread. */
void tp_loop_again(struct tp_loop *loop);

#endif
