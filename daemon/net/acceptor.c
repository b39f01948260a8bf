/* Happy path: the socket becomes readable -> accept until none waits -> a mail to the next loop.
 *
 * Failure modes: no descriptor or no memory left, or a socket that somebody else who holds it has shut down: that is said, accepting pauses for
 * PAUSE_MS, and what waits stays in the socket. A peer that was gone before it was taken is passed over.
 */
#include "daemon/net/acceptor.h"

#include "daemon/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPTS_PER_WAKE = 64,
    ACCEPTS_AT_END = 4096, /* more than the socket's backlog */
    PAUSE_MS = 100,        /* after an accept failed, and not for what befell a peer */
    REFUSED_AT_ONCE = 64,  /* connections beyond the bound that are told so; more are closed without words */
};

/* Gives a socket to the next loop. */
static void hand_out(struct tp_acceptor *acceptor, int fd)
{
    int64_t max = (int64_t)acceptor->config->connections_max;
    max = acceptor->descriptors < max ? acceptor->descriptors : max;
    int64_t before = atomic_fetch_add(acceptor->connections, 1);
    struct tp_loop_accepted *accepted = NULL;
    if (before < max + REFUSED_AT_ONCE)
        accepted = malloc(sizeof *accepted);
    if (accepted == NULL) {
        atomic_fetch_sub(acceptor->connections, 1);
        tp_log(TP_LOG_WARN, "connection closed at once", "connections=%" PRId64, before);
        close(fd);
        return;
    }
    accepted->mail.kind = TP_LOOP_MAIL_ACCEPTED;
    accepted->fd = fd;
    accepted->is_refused = before >= max;
    tp_loop_post(&acceptor->loops[acceptor->next], &accepted->mail);
    acceptor->next = (acceptor->next + 1) % acceptor->loops_count;
}

/* Whether an accept failed by what befell the one peer, so that the next may do (accept(2)). */
static bool is_of_one_peer(int error)
{
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
        return true;
    default:
        return false;
    }
}

/* Takes up to `most` connections. Returns 0, or why no more can be had though some may wait. */
static int take(struct tp_acceptor *acceptor, int most)
{
    for (int i = 0; i < most; i++) {
        int fd = accept4(acceptor->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            hand_out(acceptor, fd);
        else if (errno == EAGAIN)
            return 0; /* none is waiting */
        else if (!is_of_one_peer(errno))
            return errno;
    }
    return 0;
}

static void acceptor_poll_cb(uv_poll_t *poll, int status, int events);

static void acceptor_resume_cb(uv_timer_t *timer)
{
    struct tp_acceptor *acceptor = timer->data;
    uv_poll_start(&acceptor->poll, UV_READABLE, acceptor_poll_cb);
}

static void acceptor_poll_cb(uv_poll_t *poll, int status, int events)
{
    struct tp_acceptor *acceptor = poll->data;
    (void)events;
    int error = take(acceptor, ACCEPTS_PER_WAKE);
    if (error == 0 && status < 0) /* libuv looks no more */
        error = -status;
    if (error == 0)
        return;
    tp_log(TP_LOG_ERROR, "cannot accept", "error=\"%s\"", strerror(error));
    uv_poll_stop(poll);
    uv_timer_start(&acceptor->pause, acceptor_resume_cb, PAUSE_MS, 0);
}

static void acceptor_ending_cb(uv_async_t *async)
{
    struct tp_acceptor *acceptor = async->data;
    int error = acceptor->is_inherited ? 0 : take(acceptor, ACCEPTS_AT_END);
    if (error != 0)
        tp_log(TP_LOG_ERROR, "cannot accept those who wait: they are reset", "error=\"%s\"", strerror(error));
    tp_acceptor_close(acceptor);
    atomic_store(&acceptor->has_ended, true);
}

int tp_acceptor_start(struct tp_acceptor *acceptor)
{
    uv_loop_t *uv = &acceptor->loops[0].uv;
    if (uv_poll_init(uv, &acceptor->poll, acceptor->fd) != 0)
        return TP_ERR_IO;
    if (uv_async_init(uv, &acceptor->ending, acceptor_ending_cb) != 0) {
        uv_close((uv_handle_t *)&acceptor->poll, NULL);
        return TP_ERR_IO;
    }
    uv_timer_init(uv, &acceptor->pause);
    acceptor->poll.data = acceptor->pause.data = acceptor->ending.data = acceptor;
    acceptor->has_handles = true;
    uv_poll_start(&acceptor->poll, UV_READABLE, acceptor_poll_cb);
    return 0;
}

void tp_acceptor_end(struct tp_acceptor *acceptor)
{
    uv_async_send(&acceptor->ending);
}

bool tp_acceptor_has_ended(const struct tp_acceptor *acceptor)
{
    return atomic_load(&acceptor->has_ended);
}

void tp_acceptor_close(struct tp_acceptor *acceptor)
{
    if (acceptor->has_handles) {
        uv_close((uv_handle_t *)&acceptor->poll, NULL);
        uv_close((uv_handle_t *)&acceptor->pause, NULL);
        uv_close((uv_handle_t *)&acceptor->ending, NULL);
        acceptor->has_handles = false;
    }
    if (acceptor->fd >= 0)
        close(acceptor->fd);
    acceptor->fd = -1;
}
