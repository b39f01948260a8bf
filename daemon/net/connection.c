#include "daemon/net/connection.h"

#include "base/check.h"
#include "daemon/serve/idle.h"
#include "daemon/log.h"
#include "daemon/serve/peer.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    TURN_FRAMES = 64, /* frames of one connection before others get a turn */
    LINGER_MS = 1000, /* how long what still comes in is discarded after the last reply */
    QUIET_MS = 100,   /* while draining: a connection that said nothing for so long is done */
    KEEPALIVE_S = 60, /* TCP probes of a silent peer */
    CALL_OPEN = -1,
};

struct tp_connection {
    struct tp_peer peer;
    struct tp_loop *loop;
    uv_tcp_t tcp;
    uv_shutdown_t shutdown;
    struct tp_connection *previous, *next;
    struct tp_connection *runnable_next;
    bool is_runnable; /* in loop->runnable */
    bool is_reading;
    bool is_shut;    /* the write side; lingering */
    bool has_ended;  /* the client's side */
    bool is_closing; /* uv_close was called */
    bool is_closed;  /* and is done: only the world's answer is still awaited */
    uint64_t opened_ms, heard_ms;
    uint64_t full_since_ms; /* output above the bound, or the last output not out; 0: it is not so */
    uint64_t shut_ms;
    int64_t queued_counted; /* what the gauge has of this connection */
    int due_bytes; /* after the last call: what it had sent by then and we have not read; before: CALL_OPEN */
};

/* A write that libuv is to finish; lies in a spare buffer itself. */
struct output {
    uv_write_t write;
    struct tp_connection *connection;
    size_t capacity;                /* of its own buffer */
    struct tp_frame_buffer replies; /* what is written */
};

static size_t queued_bytes(const struct tp_connection *connection)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&connection->tcp);
}

/* What has come and waits in the kernel: a loop that was busy has not read what came meanwhile. */
static int unread_bytes(const struct tp_connection *connection)
{
    uv_os_fd_t fd;
    int bytes = 0;
    if (uv_fileno((const uv_handle_t *)&connection->tcp, &fd) != 0 || ioctl(fd, FIONREAD, &bytes) != 0)
        return 0;
    return bytes;
}

static void count_queued(struct tp_connection *connection, int64_t queued)
{
    if (queued == connection->queued_counted)
        return;
    tp_metric_gauge_add(&connection->loop->shard.metrics->output_queued_bytes,
                        queued - connection->queued_counted);
    connection->queued_counted = queued;
}

/* ---- End ---- */

static void free_connection(struct tp_connection *connection)
{
    atomic_fetch_sub(connection->loop->connections, 1);
    free(connection);
}

static void connection_close_cb(uv_handle_t *handle)
{
    struct tp_connection *connection = handle->data;
    connection->is_closed = true;
    if (connection->peer.waiting_for == NULL)
        free_connection(connection);
}

static void close_connection(struct tp_connection *connection)
{
    struct tp_loop *loop = connection->loop;
    if (connection->is_closing)
        return;
    connection->is_closing = true;
    tp_peer_drop(&connection->peer);
    if (tp_shard_has_closed(&loop->shard))
        tp_loop_again(loop);
    count_queued(connection, 0);
    tp_metric_gauge_add(&loop->shard.metrics->connections_open, -1);
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        loop->first = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    if (loop->view != NULL && loop->view_at == connection) {
        loop->view_at = connection->next;
        tp_view_copy_next(loop->view);
    }
    if (connection->is_runnable) {
        struct tp_connection **link = &loop->runnable;
        while (*link != connection)
            link = &(*link)->runnable_next;
        *link = connection->runnable_next;
        if (loop->runnable_end == &connection->runnable_next)
            loop->runnable_end = link;
    }
    uv_close((uv_handle_t *)&connection->tcp, connection_close_cb);
}

static void drop(struct tp_connection *connection, enum tp_drop_reason why, const char *reason)
{
    if (connection->is_closing)
        return;
    tp_metric_add(&connection->loop->shard.metrics->connections_dropped[why], 1);
    tp_log(TP_LOG_INFO, "connection dropped", "reason=\"%s\" sessions=%u", reason,
           connection->peer.sessions.count);
    close_connection(connection);
}

static void connection_shutdown_cb(uv_shutdown_t *shutdown, int status)
{
    struct tp_connection *connection = shutdown->data;
    if (status != UV_ECANCELED && (status < 0 || connection->has_ended))
        close_connection(connection);
}

/* ---- In and out ---- */

static void turn(struct tp_connection *connection);
static void tell_and_close(struct tp_connection *connection, enum tp_drop_reason why, int error, const char *words,
                           const char *reason);

static void connection_alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct tp_connection *connection = handle->data;
    *buffer = uv_buf_init(connection->loop->read_bytes, TP_LOOP_READ_BYTES);
}

static void connection_read_cb(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct tp_connection *connection = stream->data;
    if (size == 0)
        return;
    if (size > 0) {
        tp_metric_add(&connection->loop->shard.metrics->received_bytes, (uint64_t)size);
        connection->heard_ms = uv_now(&connection->loop->uv);
        if (connection->due_bytes > 0)
            connection->due_bytes = size < connection->due_bytes ? connection->due_bytes - (int)size : 0;
        if (tp_peer_receive(&connection->peer, buffer->base, (size_t)size) != 0) {
            drop(connection, TP_DROP_SYSTEM, "out of memory");
            return;
        }
    } else if (size == UV_EOF) {
        connection->has_ended = true;
        tp_peer_end(&connection->peer);
        if (connection->is_shut) {
            close_connection(connection);
            return;
        }
    } else {
        tp_log(TP_LOG_DEBUG, "connection lost", "error=%s", uv_err_name((int)size));
        close_connection(connection);
        return;
    }
    /* a version whose acknowledgement another connection already has must be seen by what this one asks */
    tp_loop_take_mail(connection->loop);
    if (!connection->is_closing)
        turn(connection);
    if (tp_peer_keep(&connection->peer) != 0)
        drop(connection, TP_DROP_SYSTEM, "out of memory");
}

static void free_output(struct output *output)
{
    tp_frame_buffer_fini(&output->replies);
    tp_spares_put(output->replies.spares, output, output->capacity);
}

static void connection_write_cb(uv_write_t *write, int status)
{
    struct output *output = (struct output *)write;
    struct tp_connection *connection = output->connection;
    free_output(output);
    if (connection->is_closing)
        return;
    if (status < 0) {
        tp_log(TP_LOG_DEBUG, "connection lost", "error=%s", uv_err_name(status));
        close_connection(connection);
        return;
    }
    turn(connection);
}

/* Gives what the socket did not take at once, from `sent` on, to libuv together with its buffer. */
static void write_later(struct tp_connection *connection, struct tp_frame_buffer *replies, size_t sent)
{
    size_t capacity;
    struct output *output = (struct output *)tp_spares_take(replies->spares, sizeof *output, &capacity);
    if (output == NULL) {
        drop(connection, TP_DROP_SYSTEM, "out of memory");
        return;
    }
    output->connection = connection;
    output->capacity = capacity;
    output->replies = *replies;
    uv_buf_t buffer = uv_buf_init((char *)replies->bytes + sent, (unsigned)(replies->size - sent));
    *replies = (struct tp_frame_buffer){.spares = replies->spares};
    if (uv_write(&output->write, (uv_stream_t *)&connection->tcp, &buffer, 1, connection_write_cb) != 0) {
        free_output(output);
        drop(connection, TP_DROP_SYSTEM, "the socket takes no more");
    }
}

/* Gives the peer's replies to the socket, all in one write. */
static void flush(struct tp_connection *connection)
{
    struct tp_frame_buffer *replies = &connection->peer.output;
    if (replies->size == 0) {
        tp_frame_buffer_fini(replies); /* a reply was reserved, and refused */
        return;
    }
    tp_metric_add(&connection->loop->shard.metrics->sent_bytes, replies->size);
    uv_buf_t buffer = uv_buf_init((char *)replies->bytes, (unsigned)replies->size);
    int sent = uv_try_write((uv_stream_t *)&connection->tcp, &buffer, 1);
    if (sent < 0 || (size_t)sent < replies->size)
        write_later(connection, replies, sent > 0 ? (size_t)sent : 0);
    else
        tp_frame_buffer_fini(replies); /* idle connections hold no buffer */
}

static void set_reading(struct tp_connection *connection, bool reads)
{
    if (reads == connection->is_reading || connection->has_ended)
        return;
    connection->is_reading = reads;
    if (reads)
        uv_read_start((uv_stream_t *)&connection->tcp, connection_alloc_cb, connection_read_cb);
    else
        uv_read_stop((uv_stream_t *)&connection->tcp);
}

static void run_later(struct tp_connection *connection)
{
    struct tp_loop *loop = connection->loop;
    if (connection->is_runnable)
        return;
    connection->is_runnable = true;
    connection->runnable_next = NULL;
    *loop->runnable_end = connection;
    loop->runnable_end = &connection->runnable_next;
    tp_loop_again(loop);
}

/* The last reply is on its way: says so to the client, discards what still comes. */
static void shut(struct tp_connection *connection)
{
    connection->is_shut = true;
    connection->shut_ms = uv_now(&connection->loop->uv);
    connection->shutdown.data = connection;
    if (uv_shutdown(&connection->shutdown, (uv_stream_t *)&connection->tcp, connection_shutdown_cb) != 0)
        close_connection(connection);
}

/* One turn: handles frames, writes the replies, then decides what the connection waits for. */
static void turn(struct tp_connection *connection)
{
    struct tp_peer *peer = &connection->peer;
    uint64_t bound = connection->loop->shard.config->output_bytes_max;
    bool has_more = tp_peer_run(peer, queued_bytes(connection), TURN_FRAMES);
    flush(connection);
    if (connection->is_closing)
        return;
    size_t queued = queued_bytes(connection);
    count_queued(connection, (int64_t)queued);
    if (tp_shard_has_closed(&connection->loop->shard))
        tp_loop_again(connection->loop);

    bool is_full = queued >= bound;
    bool is_stuck = is_full || (peer->state == TP_PEER_FLUSHING && queued > 0);
    if (is_full && connection->full_since_ms == 0)
        tp_metric_add(&connection->loop->shard.metrics->reading_paused, 1);
    if (!is_stuck)
        connection->full_since_ms = 0;
    else if (connection->full_since_ms == 0)
        connection->full_since_ms = uv_now(&connection->loop->uv);

    if (peer->state == TP_PEER_FLUSHING) {
        if (queued == 0 && !connection->is_shut)
            shut(connection);
        if (!connection->is_closing)
            set_reading(connection, true); /* what still comes is discarded */
        return;
    }
    if (connection->due_bytes == 0 && !has_more && tp_peer_is_listening(peer)) {
        tell_and_close(connection, TP_DROP_DRAIN, TP_ERR_SHUTTING_DOWN, NULL, "last call");
        return;
    }
    if (has_more && !is_full) /* while it is full, a write that completes (or look) brings the next turn */
        run_later(connection);
    set_reading(connection, tp_peer_is_listening(peer) && !is_full && !has_more);
}

void tp_connection_run_again(struct tp_loop *loop)
{
    struct tp_connection *connection = loop->runnable;
    loop->runnable = NULL;
    loop->runnable_end = &loop->runnable;
    for (struct tp_connection *c = connection; c != NULL; c = c->runnable_next)
        c->is_runnable = false;
    while (connection != NULL) {
        struct tp_connection *next = connection->runnable_next;
        turn(connection);
        connection = next;
    }
}

void tp_connection_answer(struct tp_world_request *request)
{
    struct tp_peer *peer = request->owner;
    struct tp_connection *connection = peer->transport;
    tp_peer_answer(peer, request);
    if (connection->is_closed)
        free_connection(connection);
    else if (!connection->is_closing)
        turn(connection);
}

void tp_connection_published(struct tp_loop *loop, const struct tp_world_publication *publication)
{
    for (struct tp_peer *peer = loop->shard.subscribers; peer != NULL; peer = peer->subscriber_next)
        if (tp_subscriptions_published(&peer->subscriptions, publication->of, publication->map == NULL))
            run_later(peer->transport);
}

void tp_connection_end_sessions(struct tp_loop *loop, const struct tp_world_publication *publication)
{
    for (struct tp_connection *connection = loop->first; connection != NULL; connection = connection->next)
        tp_peer_end_sessions(&connection->peer, publication->of, publication->ended_error);
}

/* ---- Begin ---- */

/* Mixes the shard's seed with a counter: each connection's ids have a start of their own. */
static uint64_t next_seed(struct tp_shard *shard)
{
    uint64_t z = shard->seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void tp_connection_open(struct tp_loop *loop, int fd, bool is_refused)
{
    struct tp_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        close(fd);
        atomic_fetch_sub(loop->connections, 1);
        return;
    }
    connection->loop = loop;
    connection->opened_ms = connection->heard_ms = uv_now(&loop->uv);
    connection->due_bytes = CALL_OPEN;
    tp_peer_init(&connection->peer, &loop->shard, connection, next_seed(&loop->shard));
    tp_metric_gauge_add(&loop->shard.metrics->connections_open, 1);
    connection->next = loop->first;
    if (loop->first != NULL)
        loop->first->previous = connection;
    loop->first = connection;
    uv_tcp_init(&loop->uv, &connection->tcp);
    connection->tcp.data = connection;
    if (uv_tcp_open(&connection->tcp, fd) != 0) {
        close(fd);
        drop(connection, TP_DROP_SYSTEM, "the socket cannot be watched");
        return;
    }
    uv_tcp_nodelay(&connection->tcp, 1);
    uv_tcp_keepalive(&connection->tcp, 1, KEEPALIVE_S);
    if (loop->is_dropping) {
        tp_connection_drop_all(loop, "shutdown");
        return;
    }
    if (is_refused) {
        tp_metric_add(&loop->shard.metrics->connections_refused, 1);
        tp_peer_refuse(&connection->peer, TP_ERR_RESOURCE_EXHAUSTED,
                       "connections-max of this server is reached");
    } else {
        tp_metric_add(&loop->shard.metrics->connections_accepted, 1);
    }
    turn(connection);
}

/* ---- Timeouts ---- */

/* Ends a connection with words. */
static void tell_and_close(struct tp_connection *connection, enum tp_drop_reason why, int error, const char *words,
                           const char *reason)
{
    tp_metric_add(&connection->loop->shard.metrics->connections_dropped[why], 1);
    tp_log(TP_LOG_INFO, "connection ended", "reason=\"%s\" sessions=%u", reason,
           connection->peer.sessions.count);
    tp_peer_refuse(&connection->peer, error, words);
    turn(connection);
}

static void look(struct tp_connection *connection, uint64_t now_ms)
{
    const struct tp_shard *shard = &connection->loop->shard;
    const struct tp_config *config = shard->config;
    const struct tp_peer *peer = &connection->peer;
    uint64_t silent_ms = now_ms - connection->heard_ms, idle_ms = config->idle_timeout_ms;
    if (connection->loop->is_last_call && connection->due_bytes == CALL_OPEN) {
        connection->due_bytes = unread_bytes(connection);
        run_later(connection); /* that turn, or a later one, ends it */
    }
    if (connection->full_since_ms != 0 && now_ms - connection->full_since_ms >= config->slow_reader_ms) {
        drop(connection, TP_DROP_SLOW_READER, "it does not read its replies");
    } else if (connection->full_since_ms != 0 && peer->state != TP_PEER_FLUSHING &&
               queued_bytes(connection) < config->output_bytes_max) {
        turn(connection); /* part of a long write is out */
    } else if (connection->is_shut && now_ms - connection->shut_ms >= LINGER_MS) {
        close_connection(connection);
    } else if (peer->state == TP_PEER_GREETING &&
               now_ms - connection->opened_ms >= config->hello_timeout_ms) {
        tell_and_close(connection, TP_DROP_HELLO_TIMEOUT, TP_ERR_TIMEOUT, "no hello came in time", "no hello");
    } else if (!connection->is_reading || !tp_peer_is_listening(peer)) {
        return; /* busy, or being told off */
    } else if (idle_ms != 0 && silent_ms >= idle_ms &&
               queued_bytes(connection) == 0) {
        tell_and_close(connection, TP_DROP_IDLE_TIMEOUT, TP_ERR_TIMEOUT, "nothing came in time; a ping keeps a connection", "idle");
    } else if (shard->is_draining && silent_ms >= QUIET_MS && queued_bytes(connection) == 0 &&
               unread_bytes(connection) == 0) {
        tell_and_close(connection, TP_DROP_DRAIN, TP_ERR_SHUTTING_DOWN, NULL, "drained");
    }
}

void tp_connection_look_all(struct tp_loop *loop)
{
    uint64_t now_ms = uv_now(&loop->uv);
    const struct tp_clock *clock = &loop->shard.clock;
    uint64_t end_us = clock->now_us(clock->context) + TP_SHARD_FREE_US;
    struct tp_connection *connection = loop->first;
    while (connection != NULL) {
        struct tp_connection *next = connection->next;
        tp_idle_look(&loop->shard, &connection->peer.sessions, now_ms, end_us);
        look(connection, now_ms);
        connection = next;
    }
}

/* ---- Who looks on ---- */

bool tp_connection_view(struct tp_loop *loop)
{
    uint32_t looks = TP_VIEW_SLICE;
    while (loop->view_at != NULL && looks > 0)
        if (tp_view_copy_some(loop->view, &loop->view_at->peer.sessions, &looks))
            loop->view_at = loop->view_at->next;
    return loop->view_at == NULL;
}

void tp_connection_drop_all(struct tp_loop *loop, const char *reason)
{
    while (loop->first != NULL) {
        if (loop->first->is_shut) {
            close_connection(loop->first);
            continue;
        }
        loop->has_dropped = true;
        drop(loop->first, TP_DROP_DRAIN, reason);
    }
}
