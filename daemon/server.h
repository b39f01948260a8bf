/* Puts the daemon together: opens what the options ask for, runs the loops, does what each state of the life cycle
 * (daemon/life.h) asks of them, closes in order.
 *
 * Threads: loop 0 (the caller's; also accepts), the other loops, the life's, the world's, the store's, the stats endpoint's.
 * Who calls it: main, once.
 */
#ifndef TP_DAEMON_SERVER_H
#define TP_DAEMON_SERVER_H

#include "daemon/config.h"
#include "daemon/exit.h"

/* Runs the daemon until it is told to stop. Returns the process's exit code; the log says why where that is not 0. */
enum tp_exit tp_server_run(struct tp_config *config);

#endif
