/* The daemon's life cycle: opens what the options ask for, runs the loops, drains on a signal, closes in
 * order.
 *
 *     STARTING -> SERVING --SIGTERM, SIGINT--> DRAINING --no connection left--> STOPPING -> (end)
 *                                                 |--deadline, second signal--^ (connections are dropped)
 *
 * Threads: loop 0 (the caller's; also accepts and hears signals), the other loops, the world, the store's,
 * the stats endpoint's.
 */
#ifndef TP_DAEMON_SERVER_H
#define TP_DAEMON_SERVER_H

#include "daemon/config.h"

/* Runs the daemon until it is told to stop. Returns the process's exit code: 0 after a drain, 1 when it could
 * not start (said in the log). */
int tp_server_run(const struct tp_config *config);

#endif
