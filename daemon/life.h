/* The daemon's life cycle: which state it is in, what moves it on, and the thread that hears the signals.
 *
 *     STARTING -> SERVING -> LEAVING -> DRAINING -> LAST_CALL -> DROPPING
 *                                           | \         |  \_________^ |
 *                                           |  \________|____________^ |
 *                                           +-----------+--------------+--> STOPPING
 *
 *     STARTING    a signal is remembered
 *     SERVING     until the first signal
 *     LEAVING     for drain_delay_ms: not ready any more (/readyz), and all is served as before: who sends clients here notices
 *     DRAINING    takes no connection, refuses what opens anything; ends the connections that are quiet
 *     LAST_CALL   three quarters of drain_ms are over: ends each connection once what it had sent by now is answered
 *     DROPPING    drain_ms is over: ticks under way are given up and connections closed, whatever is owed; from here on
 *                 the server's alarm runs, for a request that waits for a store which hangs keeps its connection
 *     STOPPING    no connection is left: the store gets what is on its way, then all threads end
 *
 * SIGHUP, one or many that come at once, reads the configuration anew from SERVING on, until STOPPING.
 *
 * What it is: the states as a table, one function that moves, a thread with a loop of its own, since a loop that
 * searches hears nothing. The same thread gives memory back (daemon/trim.h), and keeps a service manager's watchdog quiet as long as every loop
 * answers: one that is stuck ends that. What it refuses: to do the work of a state: the server does, when `enter` tells it. Who calls it: the server;
 * any thread may ask for the state (life_state.h).
 */
#ifndef TP_DAEMON_LIFE_H
#define TP_DAEMON_LIFE_H

#include "base/line.h"
#include "daemon/config.h"
#include "daemon/exit.h"
#include "daemon/life_state.h"
#include "daemon/trim.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

struct tp_life {
    /* given */
    const struct tp_config *config; /* borrowed: drain_delay_ms, drain_ms */
    struct tp_trim trim;
    void *context;                                           /* first parameter of those below */
    void (*enter)(void *context, enum tp_life_state state); /* a state was entered; on the life's thread */
    bool (*answers)(void *context, uint64_t within_ms); /* whether every loop was heard of since; likewise */
    void (*hung_up)(void *context); /* a SIGHUP came; likewise, after STARTING and before STOPPING */
    int64_t (*left)(void *context); /* connections, and what else must be gone before STOPPING; likewise */

    /* its own */
    _Alignas(TP_LINE_BYTES) atomic_bool is_over; /* ticks under way are given up; every loop looks at it in every tick */
    _Alignas(TP_LINE_BYTES) _Atomic int state;   /* enum tp_life_state */
    int signals;                                 /* heard and not yet acted on */
    bool is_hung_up;                             /* likewise */
    uint64_t drain_ms, until_ms, trim_ms;        /* of the drain under way; when the state ends; when trim looked last */
    uint64_t watchdog_ms, told_ms;               /* the manager's; 0: none; when it was told last */
    bool is_stuck;                               /* a loop does not answer; said */
    uv_loop_t uv;
    uv_signal_t sigterm, sigint, sighup;
    uv_timer_t look;
    uv_async_t wake, stop;
    uv_thread_t thread;
    bool has_thread;
};
TP_ASSERT_LINE(struct tp_life, is_over);
TP_ASSERT_LINE(struct tp_life, state);

/* Starts the thread in STARTING, with the given fields set and the rest 0: from here on a signal is remembered until SERVING. TP_ERR_IO. */
int tp_life_start(struct tp_life *life) TP_MUST_CHECK;

/* The server has started whole: SERVING. Once, from the thread that started it. */
void tp_life_serving(struct tp_life *life);

/* Ends and joins the thread, if it was started. In STARTING or, when all loops have ended, in STOPPING. */
void tp_life_stop(struct tp_life *life);

#endif
