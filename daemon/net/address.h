/* Where to listen: HOST:PORT as text, as a struct, and as the socket calls want it.
 * What it refuses: a name that would have to be looked up (but "localhost"), a port that is none. Who calls it: config.c for the
 * options, the listener and the stats server to bind. */
#ifndef TP_DAEMON_ADDRESS_H
#define TP_DAEMON_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct tp_address {
    char host[256]; /* numeric, without brackets */
    uint16_t port;
};

/* Reads HOST:PORT: a numeric IPv4 or [IPv6] address, or "localhost". TP_ERR_INVALID_ARGUMENT with static
 * words. */
int tp_address_read(struct tp_address *address, const char *text, const char **reason) TP_MUST_CHECK;

/* Fills a socket address and gives its size; 0 if `host` is no numeric address. */
socklen_t tp_address_socket(struct sockaddr_storage *out, const char *host, uint16_t port);

#endif
