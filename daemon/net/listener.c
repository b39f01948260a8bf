#include "daemon/net/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static int fail(char reason[256], const char *what, const struct tp_address *address)
{
    snprintf(reason, 256, "%s: %.64s port %u: %s", what, address->host, address->port, strerror(errno));
    return TP_ERR_IO;
}

int tp_listener_open(const struct tp_address *address, int *out, char reason[256])
{
    *out = -1;
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

int tp_listener_bound(int fd, struct tp_address *bound)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name = {.v6 = {0}};
    socklen_t size = sizeof name;
    if (getsockname(fd, &name.any, &size) != 0 ||
        getnameinfo(&name.any, size, bound->host, sizeof bound->host, NULL, 0, NI_NUMERICHOST) != 0)
        return TP_ERR_IO;
    bound->port = ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
    return 0;
}
