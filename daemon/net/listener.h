/* A listening socket of our own, and where a socket is bound. Plain descriptors, no libuv.
 * What it refuses: an address that can't be bound. Who calls it: the server, before any loop runs; sockets that a service manager hands over come
 * from daemon/supervisor.h. */
#ifndef TP_DAEMON_LISTENER_H
#define TP_DAEMON_LISTENER_H

#include "daemon/config.h"

/* Gives a listening, non-blocking descriptor. TP_ERR_IO with words in reason[]. */
int tp_listener_open(const struct tp_address *address, int *fd, char reason[256]) TP_MUST_CHECK;

/* The address that a socket is bound to. TP_ERR_IO. */
int tp_listener_bound(int fd, struct tp_address *bound) TP_MUST_CHECK;

#endif
