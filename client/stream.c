/* The socket of a connection: bytes out, bytes in, frames cut.
 *
 * Happy path: a request's frame goes into `out`, as much as the socket takes is sent at once; whoever waits
 * for a reply pumps: poll, send what is left, read what is there, hand each whole frame on. What can go
 * wrong:
 *   - the peer is slow or dead: the pump ends at its deadline, all buffers stand, the next call goes on;
 *   - the peer has closed, or the write fails: what it still said is read first (it may say why), then the
 *     connection is broken;
 *   - a length is no varint or beyond the cap: broken, before anything is allocated for it.
 */
#include "client/internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, VARINT_BYTES_MAX = 10 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t tp__deadline(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;
}

bool tp__expired(int64_t deadline_ms)
{
    return deadline_ms != INT64_MAX && now_ms() >= deadline_ms;
}

/* The milliseconds left, as poll wants them: -1 without end. */
static int left_ms(int64_t deadline_ms)
{
    if (deadline_ms == INT64_MAX)
        return -1;
    int64_t left = deadline_ms - now_ms();
    return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

/* ---- bytes ---- */

/* Makes room for `more` bytes behind the queue's end. false: out of memory. */
static bool bytes_reserve(struct tp__bytes *bytes, size_t more)
{
    if (bytes->start + bytes->size + more <= bytes->room)
        return true;
    if (bytes->start > 0) {
        memmove(bytes->data, bytes->data + bytes->start, bytes->size);
        bytes->start = 0;
    }
    if (bytes->size + more <= bytes->room)
        return true;
    size_t room = bytes->room == 0 ? 4096 : bytes->room;
    while (room < bytes->size + more)
        room *= 2;
    uint8_t *data = realloc(bytes->data, room);
    if (data == NULL)
        return false;
    bytes->data = data;
    bytes->room = room;
    return true;
}

static void bytes_consume(struct tp__bytes *bytes, size_t count)
{
    bytes->start += count;
    bytes->size -= count;
    if (bytes->size == 0)
        bytes->start = 0;
}

/* ---- connecting ---- */

/* Tries one address; gives 0, TIMEOUT, or UNAVAILABLE with errno set. The socket is in client->fd on success.
 */
static int connect_address(struct tp_client *client, const struct addrinfo *address, int64_t deadline_ms)
{
    int fd =
        socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);
    if (fd < 0)
        return TP_CLIENT_UNAVAILABLE;
    int result = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (result == EINPROGRESS || result == EINTR) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
        int ready;
        do
            ready = poll(&poll_fd, 1, left_ms(deadline_ms));
        while (ready < 0 && errno == EINTR);
        socklen_t size = sizeof result;
        if (ready == 0) {
            close(fd);
            return TP_CLIENT_TIMEOUT;
        }
        if (ready < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &size) != 0)
            result = errno;
    }
    if (result != 0) {
        close(fd);
        errno = result;
        return TP_CLIENT_UNAVAILABLE;
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* a tick must not wait for the one before */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on,
               sizeof on); /* a peer that vanished is found out in the end */
    client->fd = fd;
    return 0;
}

int tp__stream_connect(struct tp_client *client, const char *host, uint16_t port, int64_t deadline_ms)
{
    char digits[8];
    snprintf(digits, sizeof digits, "%u", port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *addresses = NULL;
    int looked_up = getaddrinfo(host, digits, &hints, &addresses);
    if (looked_up == EAI_MEMORY)
        return tp__break_with(client, TP_CLIENT_NO_MEMORY, "out of memory");
    if (looked_up == EAI_AGAIN)
        return tp__break_with(client, TP_CLIENT_UNAVAILABLE, "cannot look up %s: %s", host,
                              gai_strerror(looked_up));
    if (looked_up != 0)
        return tp__break_with(client, TP_CLIENT_INVALID_ARGUMENT, "cannot look up %s: %s", host,
                              gai_strerror(looked_up));
    int result = TP_CLIENT_UNAVAILABLE, why = EADDRNOTAVAIL;
    for (const struct addrinfo *a = addresses; a != NULL && result == TP_CLIENT_UNAVAILABLE; a = a->ai_next) {
        result = connect_address(client, a, deadline_ms);
        why = errno;
    }
    freeaddrinfo(addresses);
    if (result == TP_CLIENT_TIMEOUT)
        return tp__break_with(client, result, "no connection to %s port %u in time", host, port);
    if (result != 0)
        return tp__break_with(client, result, "cannot connect to %s port %u: %s", host, port, strerror(why));
    return 0;
}

void tp__stream_close(struct tp_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    free(client->out.data);
    free(client->in.data);
    memset(&client->out, 0, sizeof client->out);
    memset(&client->in, 0, sizeof client->in);
}

/* ---- frames in ---- */

/* Reads the length at the queue's front: bytes it takes, 0 if it is not whole yet, -1 if it is no length. */
static int read_length(const uint8_t *data, size_t size, uint64_t *length)
{
    *length = 0;
    for (int i = 0; i < VARINT_BYTES_MAX; i++) {
        if ((size_t)i >= size)
            return 0;
        if (i == VARINT_BYTES_MAX - 1 && data[i] > 1)
            return -1;
        *length |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        if ((data[i] & 0x80) == 0)
            return i + 1;
    }
    return -1;
}

/* Whether what came instead of a welcome is HTTP: no frame begins so ('T' is no tag of a message). */
static bool is_http(const struct tp_client *client)
{
    const struct tp__bytes *in = &client->in;
    return !tp__greeted(client) && in->size >= 5 && memcmp(in->data + in->start, "HTTP/", 5) == 0;
}

static int cut_frames(struct tp_client *client)
{
    struct tp__bytes *in = &client->in;
    if (is_http(client))
        return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME,
                              "not a tickpath daemon's port for clients: it answered with HTTP");
    for (;;) {
        uint64_t length;
        int prefix = read_length(in->data + in->start, in->size, &length);
        if (prefix < 0)
            return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME, "the server sent no frame: bad length");
        if (prefix > 0 && length > client->frame_in_max)
            return tp__break_with(client, TP_CLIENT_FRAME_TOO_LARGE,
                                  "the server sent a frame of %llu bytes, the cap is %zu",
                                  (unsigned long long)length, client->frame_in_max);
        if (prefix == 0 || in->size - (size_t)prefix < length)
            return 0;
        int result = tp__tickets_take(client, in->data + in->start + prefix, (size_t)length);
        bytes_consume(in, (size_t)prefix + (size_t)length);
        if (result != 0)
            return result;
    }
}

static int break_closed(struct tp_client *client, const char *how)
{
    return tp__break_with(client, TP_CLIENT_CLOSED, "the server closed the connection%s%s", how,
                          tp__greeted(client) ? "" : WITHOUT_WELCOME);
}

/* Reads all that is there. */
static int read_some(struct tp_client *client)
{
    struct tp__bytes *in = &client->in;
    for (;;) {
        if (!bytes_reserve(in, READ_BYTES))
            return tp__break_with(client, TP_CLIENT_NO_MEMORY, "out of memory for a reply");
        ssize_t got = recv(client->fd, in->data + in->start + in->size, READ_BYTES, 0);
        if (got > 0) {
            client->heard_ms = now_ms();
            in->size += (size_t)got;
            int result = cut_frames(client);
            if (result != 0)
                return result;
            if (got < READ_BYTES)
                return 0;
        } else if (got == 0) {
            return break_closed(client, in->size > 0 ? " in the middle of a reply" : "");
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return 0;
        } else if (errno == ECONNRESET) {
            return break_closed(client, " (reset)");
        } else if (errno != EINTR) {
            return tp__break_with(client, TP_CLIENT_IO, "cannot read: %s", strerror(errno));
        }
    }
}

/* ---- frames out ---- */

/* Sends what the socket takes. */
static int write_some(struct tp_client *client)
{
    struct tp__bytes *out = &client->out;
    while (out->size > 0) {
        ssize_t sent = send(client->fd, out->data + out->start, out->size, MSG_NOSIGNAL);
        if (sent >= 0) {
            bytes_consume(out, (size_t)sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return 0;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            /* Closed at the other end: the last thing it said may tell why. */
            int result = read_some(client);
            if (result != 0)
                return result;
            return break_closed(client, "");
        } else if (errno != EINTR) {
            return tp__break_with(client, TP_CLIENT_IO, "cannot write: %s", strerror(errno));
        }
    }
    return 0;
}

int tp__stream_pump(struct tp_client *client, int64_t deadline_ms)
{
    struct pollfd poll_fd = {.fd = client->fd, .events = POLLIN};
    if (client->out.size > 0)
        poll_fd.events |= POLLOUT;
    int ready = poll(&poll_fd, 1, left_ms(deadline_ms));
    if (ready < 0 && errno != EINTR)
        return tp__break_with(client, TP_CLIENT_IO, "cannot poll: %s", strerror(errno));
    if (ready == 0)
        return tp__fail(client, TP_CLIENT_TIMEOUT, "no answer in time");
    if (ready < 0)
        return 0;
    if (poll_fd.revents & ~POLLOUT) {
        int result = read_some(client);
        if (result != 0)
            return result;
    }
    return poll_fd.revents & POLLOUT ? write_some(client) : 0;
}

int tp__stream_append(struct tp_client *client, const Tickpath__Request *request, int64_t deadline_ms)
{
    size_t size = tickpath__request__get_packed_size(request);
    if (size > client->frame_out_max)
        return tp__fail(client, TP_CLIENT_FRAME_TOO_LARGE, "a request of %zu bytes; the server takes %zu",
                        size, client->frame_out_max);
    while (client->out.size > OUTPUT_BYTES_MAX) {
        int64_t stalled_ms = tp__stalled_at(client);
        int result = tp__stream_pump(client, stalled_ms < deadline_ms ? stalled_ms : deadline_ms);
        if (client->broken.code == 0 && tp__expired(tp__stalled_at(client)))
            return tp__break_stalled(client);
        if (result == 0 && client->out.size > OUTPUT_BYTES_MAX && tp__expired(deadline_ms))
            result = tp__fail(client, TP_CLIENT_TIMEOUT, "the server takes no more requests");
        if (result != 0)
            return result;
    }
    struct tp__bytes *out = &client->out;
    if (!bytes_reserve(out, size + VARINT_BYTES_MAX))
        return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a request of %zu bytes", size);
    uint8_t *end = out->data + out->start + out->size;
    size_t length = size;
    for (; length >= 0x80; length >>= 7, out->size++)
        *end++ = (uint8_t)(length | 0x80);
    *end++ = (uint8_t)length;
    out->size += 1 + tickpath__request__pack(request, end);
    return 0;
}

void tp__stream_flush(struct tp_client *client)
{
    if (client->broken.code == 0)
        write_some(client);
}
