/* Takes connections from the listening socket and hands them to the loops in turn.
 *
 * What it is: a poll handle on the first loop. What it refuses: connections beyond connections_max, or beyond what there are descriptors
 * for, which are told so, and, far beyond it, closed without words. Who calls it: the server; the handles belong to the first loop's thread.
 */
#ifndef TP_DAEMON_ACCEPTOR_H
#define TP_DAEMON_ACCEPTOR_H

#include "daemon/config.h"
#include "daemon/net/loop.h"

struct tp_acceptor {
    /* given */
    const struct tp_config *config; /* borrowed: connections_max */
    struct tp_loop *loops;          /* borrowed */
    unsigned loops_count;
    _Atomic int64_t *connections; /* borrowed; of all loops */
    int64_t descriptors;          /* connections that there are descriptors for: more are refused like those beyond connections_max */
    int fd;                       /* keeps: listening, non-blocking */
    bool is_inherited;            /* others hold the socket too, and take what waits there after us */

    /* its own */
    unsigned next;
    uv_poll_t poll;
    uv_timer_t pause;
    uv_async_t ending;
    bool has_handles;
    atomic_bool has_ended;
};

/* Makes the handles on the first loop, and accepts as soon as that runs. TP_ERR_IO; the socket stays the caller's then. */
int tp_acceptor_start(struct tp_acceptor *acceptor) TP_MUST_CHECK;

/* Makes it end on its own thread: what waits in our own socket is still taken, what waits in an inherited one is left to
 * who else holds it; then the socket is closed. Any thread, once. */
void tp_acceptor_end(struct tp_acceptor *acceptor);

/* Whether that is done: it will hand out nothing more. Any thread. */
bool tp_acceptor_has_ended(const struct tp_acceptor *acceptor);

/* Closes handles and socket where the first loop does not run yet. */
void tp_acceptor_close(struct tp_acceptor *acceptor);

#endif
