/* One thread polls the listener, a pipe that wakes it when it is told something, and both sockets of every pair.
 *
 * Bytes read wait in pieces, each with the time at which it is due, and are written when that has come and the other side has
 * room. A side that ends is told to the other when all before it is handed on; a side that fails takes its pair with it. A side is not
 * read while too much waits, so that a slow reader is felt by the sender as on a real network.
 */
#include "tests/lib/proxy.h"

#include "tests/lib/peer.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PIECE_BYTES = 65536, WAITING_BYTES_MAX = 64 << 20, NEVER_MS = 1000 };

struct piece {
    struct piece *next;
    uint64_t due_us;
    size_t start, end;
    uint8_t bytes[];
};

/* What is on its way from one side to the other. */
struct lane {
    struct piece *first, *last;
    size_t waiting_bytes;
    bool is_read_out, is_told; /* the sender ended; the reader was told so */
};

struct proxy_pair {
    int fd[2];           /* [PROXY_THERE]: read for what goes there, [PROXY_BACK]: read for what comes back */
    struct lane lane[2]; /* by way */
    bool is_mute;        /* what comes back is held */
};

/* Whether nothing is handed on in that way. */
static bool is_held(const struct proxy *proxy, const struct proxy_pair *pair, int way)
{
    return proxy->is_held || (way == PROXY_BACK && pair->is_mute);
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- Pairs ---- */

static void reset_fd(int fd)
{
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
}

static void ready_fd(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static void pair_free(struct proxy_pair *pair)
{
    for (int way = 0; way < 2; way++) {
        for (struct piece *piece = pair->lane[way].first; piece;) {
            struct piece *next = piece->next;
            free(piece);
            piece = next;
        }
        reset_fd(pair->fd[way]);
    }
    free(pair);
}

static void pair_cut(struct proxy *proxy, size_t i)
{
    pair_free(proxy->pair[i]);
    proxy->pair[i] = NULL;
}

/* Loopback connects or refuses within the call. */
static int connect_behind(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void take(struct proxy *proxy)
{
    int fd = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    size_t at = 0;
    while (at < PROXY_PAIRS_MAX && proxy->pair[at])
        at++;
    int behind = proxy->is_refusing || at == PROXY_PAIRS_MAX ? -1 : connect_behind(proxy->to_port);
    struct proxy_pair *pair = behind < 0 ? NULL : calloc(1, sizeof *pair);
    if (!pair) {
        reset_fd(fd);
        if (behind >= 0)
            close(behind);
        return;
    }
    ready_fd(fd);
    ready_fd(behind);
    pair->fd[PROXY_THERE] = fd;
    pair->fd[PROXY_BACK] = behind;
    proxy->pair[at] = pair;
    proxy->taken++;
}

/* ---- Bytes ---- */

/* Reads what has come; false when the connection failed. */
static bool lane_read(struct proxy *proxy, struct proxy_pair *pair, int way)
{
    struct lane *lane = &pair->lane[way];
    struct piece *piece = malloc(sizeof *piece + PIECE_BYTES);
    if (!piece)
        return false;
    ssize_t got = recv(pair->fd[way], piece->bytes, PIECE_BYTES, MSG_DONTWAIT);
    if (got <= 0) {
        free(piece);
        lane->is_read_out |= got == 0;
        return got == 0 || errno == EAGAIN || errno == EINTR;
    }
    piece->next = NULL;
    piece->start = 0;
    piece->end = (size_t)got;
    piece->due_us = now_us() + proxy->delay_ms[way] * UINT64_C(1000);
    if (lane->last)
        lane->last->next = piece;
    else
        lane->first = piece;
    lane->last = piece;
    lane->waiting_bytes += piece->end;
    return true;
}

static void lane_drop_first(struct lane *lane)
{
    struct piece *piece = lane->first;
    lane->first = piece->next;
    if (!lane->first)
        lane->last = NULL;
    free(piece);
}

/* Hands on what is due; false when the pair is to be cut. */
static bool lane_write(struct proxy *proxy, struct proxy_pair *pair, int way)
{
    struct lane *lane = &pair->lane[way];
    int to = pair->fd[!way];
    while (lane->first && !is_held(proxy, pair, way) && lane->first->due_us <= now_us()) {
        struct piece *piece = lane->first;
        size_t size = piece->end - piece->start;
        if (proxy->has_cut[way] && proxy->cut_left[way] < size)
            size = (size_t)proxy->cut_left[way];
        ssize_t sent =
            size == 0 ? 0 : send(to, piece->bytes + piece->start, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        piece->start += (size_t)sent;
        lane->waiting_bytes -= (size_t)sent;
        proxy->bytes[way] += (uint64_t)sent;
        if (proxy->has_cut[way]) {
            proxy->cut_left[way] -= (uint64_t)sent;
            if (proxy->cut_left[way] == 0) {
                proxy->has_cut[way] = false;
                proxy->cuts++;
                /* a reset would take what the other side has not read yet with it: it is told the end first */
                shutdown(to, SHUT_WR);
                nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
                return false;
            }
        }
        if (piece->start == piece->end)
            lane_drop_first(lane);
    }
    if (!lane->first && lane->is_read_out && !lane->is_told && !is_held(proxy, pair, way)) {
        shutdown(to, SHUT_WR);
        lane->is_told = true;
    }
    return true;
}

/* ---- The thread ---- */

/* What to wait for on the socket that `way` is read from. */
static short lane_events(const struct proxy *proxy, const struct proxy_pair *pair, int way, uint64_t now,
                         uint64_t *wake_us)
{
    short events = 0;
    const struct lane *in = &pair->lane[way], *out = &pair->lane[!way];
    if (!in->is_read_out && in->waiting_bytes < WAITING_BYTES_MAX)
        events |= POLLIN;
    if (out->first && !is_held(proxy, pair, !way)) {
        if (out->first->due_us <= now)
            events |= POLLOUT;
        else if (out->first->due_us < *wake_us)
            *wake_us = out->first->due_us;
    }
    return events;
}

/* One turn: waits, then reads and hands on. The lock is held but for the waiting. */
static void turn(struct proxy *proxy)
{
    struct pollfd ready[2 + 2 * PROXY_PAIRS_MAX] = {{.fd = proxy->listener, .events = POLLIN},
                                                    {.fd = proxy->wake[0], .events = POLLIN}};
    uint64_t now = now_us(), wake_us = now + NEVER_MS * UINT64_C(1000);
    for (size_t i = 0; i < PROXY_PAIRS_MAX; i++)
        for (int way = 0; way < 2; way++) {
            struct pollfd *slot = &ready[2 + 2 * i + (size_t)way];
            slot->fd = proxy->pair[i] ? proxy->pair[i]->fd[way] : -1;
            slot->events = proxy->pair[i] ? lane_events(proxy, proxy->pair[i], way, now, &wake_us) : 0;
            if (slot->events == 0)
                slot->fd = -1; /* else its end would be told again and again */
        }
    int timeout_ms = (int)((wake_us - now + 999) / 1000);
    pthread_mutex_unlock(&proxy->lock);
    poll(ready, sizeof ready / sizeof *ready, timeout_ms);
    pthread_mutex_lock(&proxy->lock);

    if (ready[1].revents) {
        uint8_t bytes[64];
        while (read(proxy->wake[0], bytes, sizeof bytes) == (ssize_t)sizeof bytes)
            ;
    }
    for (size_t i = 0; i < PROXY_PAIRS_MAX; i++)
        for (int way = 0; way < 2 && proxy->pair[i]; way++) {
            struct proxy_pair *pair = proxy->pair[i];
            const struct pollfd *slot = &ready[2 + 2 * i + (size_t)way];
            bool is_well = slot->fd != pair->fd[way] || !(slot->revents & (POLLIN | POLLHUP | POLLERR)) ||
                           lane_read(proxy, pair, way);
            if (!is_well || !lane_write(proxy, pair, way))
                pair_cut(proxy, i);
            else if (pair->lane[0].is_told && pair->lane[1].is_told)
                pair_cut(proxy, i);
        }
    if (ready[0].revents)
        take(proxy);
}

static void *proxy_main(void *context)
{
    struct proxy *proxy = context;
    pthread_mutex_lock(&proxy->lock);
    while (!proxy->is_ending)
        turn(proxy);
    pthread_mutex_unlock(&proxy->lock);
    return NULL;
}

/* ---- From outside ---- */

void proxy_start(struct proxy *proxy, uint16_t to_port)
{
    *proxy = (struct proxy){.to_port = to_port};
    proxy->listener = peer_listen(&proxy->port);
    ck_assert_int_eq(pipe2(proxy->wake, O_CLOEXEC | O_NONBLOCK), 0);
    pthread_mutex_init(&proxy->lock, NULL);
    ck_assert_int_eq(pthread_create(&proxy->thread, NULL, proxy_main, proxy), 0);
}

static void tell(struct proxy *proxy)
{
    ssize_t written = write(proxy->wake[1], "", 1);
    (void)written; /* a full pipe wakes it, too */
    pthread_mutex_unlock(&proxy->lock);
}

void proxy_end(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->is_ending = true;
    tell(proxy);
    pthread_join(proxy->thread, NULL);
    proxy_cut(proxy);
    close(proxy->listener);
    close(proxy->wake[0]);
    close(proxy->wake[1]);
    pthread_mutex_destroy(&proxy->lock);
}

void proxy_turn(struct proxy *proxy, uint16_t to_port)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->to_port = to_port;
    tell(proxy);
}

void proxy_delay(struct proxy *proxy, enum proxy_way way, unsigned delay_ms)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->delay_ms[way] = delay_ms;
    tell(proxy);
}

void proxy_hold(struct proxy *proxy, bool held)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->is_held = held;
    tell(proxy);
}

void proxy_mute(struct proxy *proxy, size_t which, bool muted)
{
    pthread_mutex_lock(&proxy->lock);
    ck_assert(which < PROXY_PAIRS_MAX && proxy->pair[which]);
    proxy->pair[which]->is_mute = muted;
    tell(proxy);
}

void proxy_refuse(struct proxy *proxy, bool refused)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->is_refusing = refused;
    tell(proxy);
}

size_t proxy_cut(struct proxy *proxy)
{
    size_t count = 0;
    pthread_mutex_lock(&proxy->lock);
    for (size_t i = 0; i < PROXY_PAIRS_MAX; i++)
        if (proxy->pair[i]) {
            pair_cut(proxy, i);
            count++;
        }
    tell(proxy);
    return count;
}

void proxy_cut_after(struct proxy *proxy, enum proxy_way way, uint64_t bytes)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->has_cut[way] = true;
    proxy->cut_left[way] = bytes;
    tell(proxy);
}

struct proxy_counts proxy_count(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    struct proxy_counts counts = {.taken = proxy->taken, .cuts = proxy->cuts};
    memcpy(counts.bytes, proxy->bytes, sizeof counts.bytes);
    for (size_t i = 0; i < PROXY_PAIRS_MAX; i++)
        counts.now += proxy->pair[i] != NULL;
    pthread_mutex_unlock(&proxy->lock);
    return counts;
}
