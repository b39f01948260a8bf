/* The listening socket: opened by us, or inherited from a supervisor (LISTEN_FDS). Plain descriptors, no libuv.
 * What it refuses: an address that can't be bound, an inherited descriptor that is no listening socket. Who calls it: the
 * server, once, before any loop runs. */
#ifndef TP_DAEMON_LISTENER_H
#define TP_DAEMON_LISTENER_H

#include "daemon/config.h"

/* Gives a listening, non-blocking descriptor and the port it is bound to. With LISTEN_PID and LISTEN_FDS
 * naming this process the inherited descriptor is taken and `address` is not looked at. TP_ERR_IO with words
 * in reason[]. */
int tp_listener_open(const struct tp_address *address, int *fd, uint16_t *port,
                     char reason[256]) TP_MUST_CHECK;

#endif
