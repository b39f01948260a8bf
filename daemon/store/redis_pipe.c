/* Happy path: connect -> opened_cb; send puts a command at the list's end and its bytes beside it -> the idle handle writes the bytes of
 * all that came in this turn -> the reader makes a reply of what comes back -> the list's first command gets it.
 *
 * Failure modes, each told by lost_cb: the connect fails or takes too long; the peer closes; a write fails; what came is no Redis
 * protocol, or answers nothing; a command's time limit passes; memory is short for a reply. A command whose limit has passed gets one
 * short grace more: when this process itself stood still its answer lies in the socket, and libuv looks at timers first. */
#include "daemon/store/redis_pipe.h"

#include "base/check.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { GRACE_MS = 10, KEEPALIVE_S = 10, UNACKNOWLEDGED_MS = 10000 };

struct tp_redis_command {
    struct tp_redis_command *next;
    char *bytes; /* NULL once a write has taken them */
    size_t size;
    tp_redis_reply_cb reply;
    void *context;
    uint64_t deadline_ms;
    bool is_late;
    char name[16];
};

static void fail(struct tp_redis_pipe *pipe, const char *command, const char *words)
{
    pipe->events->lost_cb(pipe->conn, command, words);
}

/* ---- Time limits ---- */

static void alarm_cb(uv_timer_t *timer);

/* Lets the timer fire at `at_ms`, unless it fires before that. */
static void set_alarm(struct tp_redis_pipe *pipe, uint64_t at_ms)
{
    if (pipe->alarm_ms != 0 && pipe->alarm_ms <= at_ms)
        return;
    uint64_t now_ms = uv_now(pipe->timer.loop);
    pipe->alarm_ms = at_ms;
    uv_timer_start(&pipe->timer, alarm_cb, at_ms > now_ms ? at_ms - now_ms : 0, 0);
}

/* Replies do not move the alarm: it fires at times for a command that was answered, and is set anew here. */
static void alarm_cb(uv_timer_t *timer)
{
    struct tp_redis_pipe *pipe = timer->data;
    uint64_t now_ms = uv_now(timer->loop);
    pipe->alarm_ms = 0;
    if (!pipe->is_open) {
        fail(pipe, NULL, "no connection in time");
        return;
    }
    for (struct tp_redis_command *command = pipe->first; command; command = command->next) {
        if (command->deadline_ms <= now_ms && command->is_late) {
            fail(pipe, command->name, "no answer in time");
            return;
        }
        if (command->deadline_ms <= now_ms) {
            command->is_late = true;
            command->deadline_ms = now_ms + GRACE_MS;
        }
        set_alarm(pipe, command->deadline_ms);
    }
}

/* ---- Out ---- */

static void flush_cb(uv_idle_t *idle);

static void free_buffers(struct tp_redis_pipe *pipe)
{
    while (pipe->writing > 0)
        free(pipe->buffers[--pipe->writing].base); /* as redisFreeCommand does */
}

static void wrote_cb(uv_write_t *write, int status)
{
    struct tp_redis_pipe *pipe = write->data;
    free_buffers(pipe);
    if (pipe->is_closed)
        return;
    if (status < 0)
        fail(pipe, NULL, uv_strerror(status));
    else if (pipe->unwritten)
        flush_cb(&pipe->flush);
}

static void flush_cb(uv_idle_t *idle)
{
    struct tp_redis_pipe *pipe = idle->data;
    uv_idle_stop(idle);
    if (pipe->writing > 0)
        return; /* the end of that write looks again */
    while (pipe->unwritten && pipe->writing < TP_REDIS_PIPE_WRITE_MAX) {
        struct tp_redis_command *command = pipe->unwritten;
        pipe->buffers[pipe->writing++] = (uv_buf_t){.base = command->bytes, .len = command->size};
        command->bytes = NULL;
        pipe->unwritten = command->next;
    }
    if (pipe->writing == 0)
        return;
    int error = uv_write(&pipe->write, (uv_stream_t *)&pipe->tcp, pipe->buffers, pipe->writing, wrote_cb);
    if (error) {
        free_buffers(pipe);
        fail(pipe, NULL, uv_strerror(error));
    }
}

bool tp__redis_pipe_send(struct tp_redis_pipe *pipe, int argc, const char **argv, const size_t *sizes,
                         uint64_t timeout_ms, tp_redis_reply_cb reply, void *context)
{
    TP_CHECK(pipe->is_open && !pipe->is_closed && argc > 0);
    struct tp_redis_command *command = malloc(sizeof *command);
    if (!command)
        return false;
    *command = (struct tp_redis_command){.reply = reply, .context = context};
    int size = redisFormatCommandArgv(&command->bytes, argc, argv, sizes);
    if (size < 0) {
        free(command);
        return false;
    }
    command->size = (size_t)size;
    size_t name = sizes ? sizes[0] : strlen(argv[0]);
    memcpy(command->name, argv[0], name < sizeof command->name ? name : sizeof command->name - 1);

    *pipe->end = command;
    pipe->end = &command->next;
    if (!pipe->unwritten)
        pipe->unwritten = command;
    pipe->in_flight++;
    pipe->in_flight_bytes += command->size;
    uv_update_time(pipe->timer.loop); /* this turn of the loop may have been a long one */
    command->deadline_ms = uv_now(pipe->timer.loop) + timeout_ms;
    set_alarm(pipe, command->deadline_ms);
    uv_idle_start(&pipe->flush, flush_cb);
    return true;
}

/* ---- In ---- */

/* Takes the first command off the list. */
static struct tp_redis_command *pop(struct tp_redis_pipe *pipe)
{
    struct tp_redis_command *command = pipe->first;
    pipe->first = command->next;
    if (!pipe->first)
        pipe->end = &pipe->first;
    if (pipe->unwritten == command)
        pipe->unwritten = command->next;
    pipe->in_flight--;
    pipe->in_flight_bytes -= command->size;
    return command;
}

static void give(struct tp_redis_pipe *pipe, const redisReply *reply)
{
    if (!pipe->first || pipe->first == pipe->unwritten) { /* how Redis turns away one connection too many */
        fail(pipe, NULL, reply->type == REDIS_REPLY_ERROR ? reply->str : "an answer to nothing");
        return;
    }
    struct tp_redis_command *command = pop(pipe);
    pipe->answers++;
    pipe->is_calling = true;
    command->reply(pipe->conn, reply, command->context);
    pipe->is_calling = false;
    free(command);
    if (pipe->is_doomed && !pipe->is_closed)
        fail(pipe, NULL, NULL);
}

static void alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct tp_redis_pipe *pipe = handle->data;
    (void)suggested;
    *buffer = (uv_buf_t){.base = pipe->bytes, .len = sizeof pipe->bytes};
}

static void read_cb(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct tp_redis_pipe *pipe = stream->data;
    if (count < 0) {
        fail(pipe, NULL, count == UV_EOF ? "closed by the server" : uv_strerror((int)count));
        return;
    }
    if (redisReaderFeed(pipe->reader, buffer->base, (size_t)count) != REDIS_OK) {
        fail(pipe, NULL, pipe->reader->errstr);
        return;
    }
    while (!pipe->is_closed) {
        void *reply = NULL;
        if (redisReaderGetReply(pipe->reader, &reply) != REDIS_OK) {
            fail(pipe, NULL, pipe->reader->errstr);
            return;
        }
        if (!reply)
            return;
        give(pipe, reply);
        freeReplyObject(reply);
    }
}

/* ---- Life ---- */

static void handle_closed_cb(uv_handle_t *handle)
{
    struct tp_redis_pipe *pipe = handle->data;
    if (--pipe->handles > 0)
        return;
    struct tp_redis_conn *conn = pipe->conn;
    const struct tp_redis_pipe_events *events = pipe->events;
    redisReaderFree(pipe->reader);
    free(pipe);
    events->closed_cb(conn);
}

struct tp_redis_pipe *tp__redis_pipe_new(uv_loop_t *loop, struct tp_redis_conn *conn,
                                         const struct tp_redis_pipe_events *events)
{
    struct tp_redis_pipe *pipe = calloc(1, sizeof *pipe);
    if (!pipe)
        return NULL;
    pipe->reader = redisReaderCreate();
    if (!pipe->reader || uv_tcp_init(loop, &pipe->tcp) != 0) {
        if (pipe->reader)
            redisReaderFree(pipe->reader);
        free(pipe);
        return NULL;
    }
    uv_timer_init(loop, &pipe->timer);
    uv_idle_init(loop, &pipe->flush);
    pipe->handles = 3;
    pipe->conn = conn;
    pipe->events = events;
    pipe->end = &pipe->first;
    pipe->tcp.data = pipe->timer.data = pipe->flush.data = pipe->connect.data = pipe->write.data = pipe;
    return pipe;
}

static void connected_cb(uv_connect_t *connect, int status)
{
    struct tp_redis_pipe *pipe = connect->data;
    if (pipe->is_closed)
        return;
    int error = status < 0 ? status : uv_read_start((uv_stream_t *)&pipe->tcp, alloc_cb, read_cb);
    if (error) {
        fail(pipe, NULL, uv_strerror(error));
        return;
    }
    /* Helps, and no more: a peer that is gone is found by the commands' time limits too. */
    int fd, unacknowledged_ms = UNACKNOWLEDGED_MS;
    if (uv_fileno((uv_handle_t *)&pipe->tcp, &fd) == 0)
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
    uv_tcp_nodelay(&pipe->tcp, 1);
    uv_tcp_keepalive(&pipe->tcp, 1, KEEPALIVE_S);
    pipe->is_open = true;
    uv_timer_stop(&pipe->timer);
    pipe->alarm_ms = 0;
    pipe->events->opened_cb(pipe->conn);
}

int tp__redis_pipe_connect(struct tp_redis_pipe *pipe, const struct sockaddr *address, uint64_t timeout_ms)
{
    int error = uv_tcp_connect(&pipe->connect, &pipe->tcp, address, connected_cb); /* the socket is CLOEXEC */
    if (error)
        return error;
    uv_update_time(pipe->timer.loop);
    set_alarm(pipe, uv_now(pipe->timer.loop) + timeout_ms);
    return 0;
}

void tp__redis_pipe_doom(struct tp_redis_pipe *pipe)
{
    TP_CHECK(pipe->is_calling);
    pipe->is_doomed = true;
}

void tp__redis_pipe_close(struct tp_redis_pipe *pipe)
{
    TP_CHECK(!pipe->is_closed);
    pipe->is_closed = true;
    uv_close((uv_handle_t *)&pipe->tcp, handle_closed_cb); /* a connect or write under way ends before that */
    uv_close((uv_handle_t *)&pipe->timer, handle_closed_cb);
    uv_close((uv_handle_t *)&pipe->flush, handle_closed_cb);
    while (pipe->first) {
        struct tp_redis_command *command = pop(pipe);
        command->reply(pipe->conn, NULL, command->context);
        free(command->bytes);
        free(command);
    }
}
