/* What a service manager hands to the daemon and wants to hear from it: listening sockets, that it is ready, that it lives.
 *
 * What it is: systemd's protocol, by libsystemd. Built without that library it does nothing, and says so where the environment asks for it.
 * What it refuses: sockets that are not listening for TCP, or whose names say something else. Who calls it: the server and its life cycle.
 */
#ifndef TP_DAEMON_SUPERVISOR_H
#define TP_DAEMON_SUPERVISOR_H

#include "base/error.h"

#include <stdint.h>

struct tp_supervisor_sockets {
    int clients, stats; /* descriptors, the caller's to close; -1: none was handed over */
};

/* Takes the sockets of LISTEN_FDS (names in LISTEN_FDNAMES): `stats` is the stats endpoint's, `tickpath` the protocol's; where only
 * one comes it is the protocol's whatever else its name is. TP_ERR_IO with words in reason[]: none is taken then. Once. */
int tp_supervisor_take(struct tp_supervisor_sockets *sockets, char reason[256]) TP_MUST_CHECK;

/* Tells the manager in its own words, "READY=1" and so on; nothing where nobody listens. Cost: a datagram; half a second where the
 * manager does not read. Any thread. */
void tp_supervisor_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How often it wants a "WATCHDOG=1" at least, in milliseconds; 0: it does not. */
uint64_t tp_supervisor_watchdog_ms(void);

#endif
