#include "daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INHERITED_FIRST = 3, BACKLOG = 1024 };

static int fail(char reason[256], const char *what, const struct tp_address *address)
{
    snprintf(reason, 256, "%s: %.64s port %u: %s", what, address->host, address->port, strerror(errno));
    return TP_ERR_IO;
}

static bool is_inherited(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    return pid != NULL && fds != NULL && strtol(pid, NULL, 10) == (long)getpid() &&
           strtol(fds, NULL, 10) >= 1;
}

static int take_inherited(int *fd, char reason[256])
{
    int listening = 0;
    socklen_t size = sizeof listening;
    if (getsockopt(INHERITED_FIRST, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || !listening) {
        snprintf(reason, 256, "LISTEN_FDS: descriptor %d is not a listening socket", INHERITED_FIRST);
        return TP_ERR_IO;
    }
    int flags = fcntl(INHERITED_FIRST, F_GETFL);
    if (flags < 0 || fcntl(INHERITED_FIRST, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(INHERITED_FIRST, F_SETFD, FD_CLOEXEC) != 0) {
        snprintf(reason, 256, "LISTEN_FDS: descriptor %d: %s", INHERITED_FIRST, strerror(errno));
        return TP_ERR_IO;
    }
    *fd = INHERITED_FIRST;
    return 0;
}

static int open_own(const struct tp_address *address, int *out, char reason[256])
{
    struct sockaddr_storage storage;
    socklen_t size = tp_address_socket(&storage, address->host, address->port);
    if (size == 0) {
        errno = EINVAL;
        return fail(reason, "no numeric address", address);
    }
    int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(reason, "cannot make a socket", address);
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&storage, size) != 0 || listen(fd, BACKLOG) != 0) {
        int error = fail(reason, "cannot listen", address);
        close(fd);
        return error;
    }
    *out = fd;
    return 0;
}

int tp_listener_open(const struct tp_address *address, int *fd, uint16_t *port, char reason[256])
{
    *fd = -1;
    int error = is_inherited() ? take_inherited(fd, reason) : open_own(address, fd, reason);
    if (error != 0)
        return error;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {.v6 = {0}};
    socklen_t size = sizeof bound;
    *port = 0;
    if (getsockname(*fd, &bound.any, &size) == 0)
        *port = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    return 0;
}
