/* Connect, send, read to the end or the event, cut off the head: HTTP/1.0, so that the server closes when it has said all. */
#include "client/cli/http_get.h"

#include "client/cli/clock.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES_MAX = 64 << 20, STATS_PORT = 7879 };

static char complaint[160];

static bool complain(const char **words, const char *what)
{
    snprintf(complaint, sizeof complaint, "%s", what);
    *words = complaint;
    return false;
}

/* Waits until the socket can be read or written. */
static bool await(int fd, short events, int64_t deadline_ms)
{
    for (;;) {
        int64_t left = deadline_ms - tp_cli_now_ms();
        if (left <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
        struct pollfd one = {.fd = fd, .events = events};
        int ready = poll(&one, 1, (int)left);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

static int connect_one(const struct addrinfo *address, int64_t deadline_ms)
{
    int fd = socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);
    if (fd < 0)
        return -1;
    int error = 0;
    socklen_t size = sizeof error;
    bool begun = connect(fd, address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS;
    if (begun && await(fd, POLLOUT, deadline_ms) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
        return fd;
    int why = error ? error : errno;
    close(fd);
    errno = why;
    return -1;
}

static int connect_any(const struct tp_cli_host_port *server, int64_t deadline_ms, const char **words)
{
    char port[8];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC};
    struct addrinfo *found = NULL;
    snprintf(port, sizeof port, "%u", server->port);
    int result = getaddrinfo(server->host, port, &hints, &found), fd = -1;
    if (result != 0) {
        complain(words, gai_strerror(result));
        return -1;
    }
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
        fd = connect_one(at, deadline_ms);
    if (fd < 0)
        complain(words, strerror(errno));
    freeaddrinfo(found);
    return fd;
}

static bool send_all(int fd, const char *bytes, size_t size, int64_t deadline_ms)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (sent < 0 && !await(fd, POLLOUT, deadline_ms))
            return false;
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

/* The data of the first event of that name, its end cut off; NULL: it is not there yet, or not whole. */
static char *find_event(char *bytes, const char *event)
{
    char head[64];
    int size = snprintf(head, sizeof head, "\nevent: %s\ndata: ", event);
    char *data = strstr(bytes, head), *end = data != NULL ? strstr(data + size, "\n\n") : NULL;
    if (end == NULL)
        return NULL;
    *end = '\0';
    return data + size;
}

/* All that comes, zero-ended; of a stream (event not NULL) what comes until one of its events has been, and the rest of what came then. NULL with words. */
static char *read_all(int fd, const char *event, int64_t deadline_ms, size_t *size, const char **words)
{
    size_t room = 0;
    char mark[64] = "";
    if (event != NULL)
        snprintf(mark, sizeof mark, "\nevent: %s\n", event);
    char *bytes = NULL;
    for (*size = 0;;) {
        if (*size + 1 >= room) {
            bool is_large = room >= ANSWER_BYTES_MAX;
            char *more = is_large ? NULL : realloc(bytes, room = room ? 2 * room : 65536);
            if (more == NULL) {
                complain(words, is_large ? "the answer is too large" : "out of memory");
                break;
            }
            bytes = more;
        }
        ssize_t got = recv(fd, bytes + *size, room - *size - 1, 0);
        if (got == 0) {
            bytes[*size] = 0;
            return bytes;
        }
        if (got > 0) {
            *size += (size_t)got;
            bytes[*size] = 0;
            const char *at = event != NULL ? strstr(bytes, mark) : NULL;
            if (at != NULL && strstr(at + 1, "\n\n") != NULL)
                return bytes;
        } else if ((errno != EAGAIN && errno != EINTR) || !await(fd, POLLIN, deadline_ms)) {
            complain(words, strerror(errno));
            break;
        }
    }
    free(bytes);
    return NULL;
}

/* Cuts the head off an answer; false: it is none, or not whole. */
static bool cut_head(char *answer, size_t size, int *status)
{
    char *body = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "\r\ncontent-length:");
    if (sscanf(answer, "HTTP/1.%*d %d", status) != 1 || body == NULL)
        return false;
    body += 4;
    size_t left = size - (size_t)(body - answer);
    if (length != NULL && length < body && strtoull(length + 17, NULL, 10) != left)
        return false;
    memmove(answer, body, left + 1);
    return true;
}

/* `event` NULL: all that comes is wanted. */
static bool get(const struct tp_cli_host_port *server, const char *path, const char *token, const char *event, int timeout_ms, int *status, char **body,
                const char **words)
{
    int64_t deadline_ms = tp_cli_now_ms() + timeout_ms;
    char *request = NULL;
    size_t size;
    int fd = connect_any(server, deadline_ms, words);
    if (fd < 0)
        return false;
    bool is_ipv6 = strchr(server->host, ':') != NULL;
    int length = asprintf(&request, "GET %s HTTP/1.0\r\nHost: %s%s%s:%u\r\n%s%s%sConnection: close\r\n\r\n", path, is_ipv6 ? "[" : "",
                          server->host, is_ipv6 ? "]" : "", server->port, token != NULL ? "Authorization: Bearer " : "", token != NULL ? token : "", token != NULL ? "\r\n" : "");
    bool sent = length > 0 && send_all(fd, request, (size_t)length, deadline_ms);
    if (!sent)
        complain(words, length > 0 ? strerror(errno) : "out of memory");
    if (length > 0)
        free(request);
    char *answer = sent ? read_all(fd, event, deadline_ms, &size, words) : NULL;
    close(fd);
    if (answer == NULL)
        return false;
    if (!cut_head(answer, size, status)) {
        free(answer);
        return complain(words, "that is no whole answer over HTTP");
    }
    *body = answer;
    return true;
}

bool tp_cli_http_get(const struct tp_cli_host_port *server, const char *path, const char *token, int timeout_ms, int *status, char **body,
                     const char **words)
{
    return get(server, path, token, NULL, timeout_ms, status, body, words);
}

bool tp_cli_http_get_event(const struct tp_cli_host_port *server, const char *path, const char *token, const char *event, int timeout_ms, int *status,
                           char **body, const char **words)
{
    if (!get(server, path, token, event, timeout_ms, status, body, words))
        return false;
    char *data = *status == 200 ? find_event(*body, event) : *body;
    if (data == NULL) {
        free(*body);
        *body = NULL;
        return complain(words, "the stream ends too early");
    }
    memmove(*body, data, strlen(data) + 1);
    return true;
}

bool tp_cli_stats_place(struct tp_cli_host_port *place)
{
    const char *text = getenv("TICKPATHD_STATS");
    if (text == NULL || text[0] == '\0') {
        *place = (struct tp_cli_host_port){.host = "127.0.0.1", .port = STATS_PORT};
        return true;
    }
    if (!tp_cli_read_host_port(text, place))
        return false;
    if (strcmp(place->host, "0.0.0.0") == 0)
        strcpy(place->host, "127.0.0.1");
    else if (strcmp(place->host, "::") == 0)
        strcpy(place->host, "::1");
    return true;
}
