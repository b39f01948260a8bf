/* Happy path: the place's name is resolved -> its addresses are tried in turn -> connected, the greeting goes out in one write (AUTH,
 * SELECT, CLIENT ID, INFO, ROLE, PING) and its replies are looked at as they come -> PING's makes it UP -> commands. With Sentinels the
 * place is one of them at first, whose answer is the place that comes next.
 *
 * Failure modes. Before it is UP: what is tried does not work, so the next address is tried, then the next Sentinel, and when all were
 * tried there is a pause and lost_cb. The try's cause is that of what came farthest: a server that refuses the password says more than
 * another address where nothing listens. UP: the pipe is lost (closed, no answer in time, no Redis protocol ...) or the caller loses it:
 * pause and lost_cb. A Sentinel's word changes from the master that is UP to another: it is lost for that. Only a change counts, for a
 * Sentinel may be behind the others. A resolver that hangs is told, and waited for. Every path into a pause goes through pause_now, and every pipe that
 * is dropped through drop_pipe, whose NULL replies may stop the connection: what runs on after it looks at the stage. */
#include "daemon/store/redis_conn.h"

#include "base/check.h"

#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESOLVE_MS = 5000, COMMAND_EXTRA_BYTES = 64, STRING_EXTRA_BYTES = 16 };

/* How far a try came; a Sentinel's answer is nearer than a server's. */
enum { RANK_SENTINEL = 1, RANK_SENTINEL_REACHED, RANK_SERVER, RANK_SERVER_REACHED };

static void timer_cb(uv_timer_t *timer);
static void seek(struct tp_redis_conn *conn, const struct tp_redis_place *place, bool is_sentinel);

/* ---- Causes and pauses ---- */

__attribute__((format(printf, 3, 4))) static void note_cause(struct tp_redis_conn *conn, int rank,
                                                             const char *format, ...)
{
    if (rank < conn->cause_rank)
        return;
    conn->cause_rank = rank;
    va_list list;
    va_start(list, format);
    vsnprintf(conn->cause, sizeof conn->cause, format, list);
    va_end(list);
    conn->cause[strcspn(conn->cause, "\r\n")] = 0;
}

/* "HOST:PORT" of the place, and whether it is a Sentinel. */
static const char *place_words(const struct tp_redis_conn *conn, char words[88])
{
    const char *host = conn->place.host;
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(words, 88, "%s%s%.64s%s:%d", conn->is_sentinel ? "Sentinel " : "", is_v6 ? "[" : "", host,
             is_v6 ? "]" : "", conn->place.port);
    return words;
}

static bool is_same(const struct tp_redis_place *a, const struct tp_redis_place *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

static int rank_of(const struct tp_redis_conn *conn, bool is_reached)
{
    if (conn->is_sentinel)
        return is_reached ? RANK_SENTINEL_REACHED : RANK_SENTINEL;
    return is_reached ? RANK_SERVER_REACHED : RANK_SERVER;
}

static void tell_lost(struct tp_redis_conn *conn)
{
    conn->failures++;
    if (!conn->watched)
        conn->config.lost_cb(conn, conn->config.context);
}

/* The end of a try, or of being UP: the next try comes after a pause. */
static void pause_now(struct tp_redis_conn *conn)
{
    conn->stage = TP_REDIS_PAUSED;
    conn->pause_ms = conn->pause_ms == 0 ? TP_REDIS_PAUSE_MIN_MS : conn->pause_ms * 2;
    if (conn->pause_ms > TP_REDIS_PAUSE_MAX_MS)
        conn->pause_ms = TP_REDIS_PAUSE_MAX_MS;
    conn->random = conn->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uv_timer_start(&conn->timer, timer_cb,
                   conn->pause_ms / 2 + (conn->random >> 33) % (conn->pause_ms / 2 + 1), 0);
    tell_lost(conn);
}

/* Closes the pipe, which gives NULL to the commands in flight. False: one of them stopped the connection. */
static bool drop_pipe(struct tp_redis_conn *conn)
{
    struct tp_redis_pipe *pipe = conn->pipe;
    conn->pipe = NULL;
    if (pipe)
        tp__redis_pipe_close(pipe);
    return conn->stage != TP_REDIS_STOPPED;
}

/* UP is over; the cause is set. */
static void down(struct tp_redis_conn *conn)
{
    conn->is_up = false;
    if (uv_now(conn->config.loop) - conn->up_at_ms >= TP_REDIS_PAUSE_MAX_MS)
        conn->pause_ms = 0;
    if (drop_pipe(conn))
        pause_now(conn);
}

/* ---- What is tried, one after the other ---- */

/* The place is done with, or did not work at any address; the cause is set. */
static void next_place(struct tp_redis_conn *conn)
{
    const struct tp_redis_url *url = conn->config.url;
    if (!conn->is_sentinel)
        conn->tried = conn->place;
    if (conn->asked < url->sentinels_count)
        seek(conn, &url->sentinels[(conn->sentinel + conn->asked++) % url->sentinels_count], true);
    else
        pause_now(conn);
}

static const struct tp_redis_pipe_events pipe_events;

/* Connects to the place's next address, if there is one. */
static void next_address(struct tp_redis_conn *conn)
{
    char words[88];
    conn->stage = TP_REDIS_CONNECTING;
    while (conn->address < conn->addresses_count) {
        const struct sockaddr *address = (const struct sockaddr *)&conn->addresses[conn->address++];
        conn->pipe = tp__redis_pipe_new(conn->config.loop, conn, &pipe_events);
        if (!conn->pipe) {
            note_cause(conn, rank_of(conn, false), "%s: out of memory", place_words(conn, words));
            continue;
        }
        conn->pipes++;
        int error = tp__redis_pipe_connect(conn->pipe, address, TP_REDIS_CONNECT_MS);
        if (!error)
            return;
        note_cause(conn, rank_of(conn, false), "%s: %s", place_words(conn, words), uv_strerror(error));
        drop_pipe(conn); /* nothing was sent over it */
    }
    next_place(conn);
}

/* What answers at this address is not what is looked for; the cause is set. */
static void refuse_address(struct tp_redis_conn *conn)
{
    if (conn->stage == TP_REDIS_UP) {
        down(conn);
        return;
    }
    drop_pipe(conn); /* the greeting's own replies alone are in flight */
    next_address(conn);
}

static void maybe_stopped(struct tp_redis_conn *conn)
{
    if (conn->stage == TP_REDIS_STOPPED && conn->is_timer_closed && !conn->is_resolving && conn->pipes == 0 &&
        !conn->watcher)
        conn->stopped_cb(conn->stopped_context);
}

static void resolved_cb(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct tp_redis_conn *conn = request->data;
    char words[88];
    conn->is_resolving = false;
    if (conn->stage == TP_REDIS_STOPPED) {
        uv_freeaddrinfo(found);
        maybe_stopped(conn);
        return;
    }
    uv_timer_stop(&conn->timer);
    if (status < 0)
        note_cause(conn, rank_of(conn, false), "%s: the name was not found: %s", place_words(conn, words),
                   uv_strerror(status));
    for (struct addrinfo *each = found; status == 0 && each; each = each->ai_next)
        if (conn->addresses_count < TP_REDIS_ADDRESSES_MAX && each->ai_addrlen <= sizeof *conn->addresses)
            memcpy(&conn->addresses[conn->addresses_count++], each->ai_addr, each->ai_addrlen);
    uv_freeaddrinfo(found);
    next_address(conn);
}

/* Looks for a server, or a Sentinel, at this place. */
static void seek(struct tp_redis_conn *conn, const struct tp_redis_place *place, bool is_sentinel)
{
    conn->place = *place;
    conn->is_sentinel = is_sentinel;
    conn->address = conn->addresses_count = 0;
    if (uv_ip4_addr(place->host, place->port, (struct sockaddr_in *)conn->addresses) == 0 ||
        uv_ip6_addr(place->host, place->port, (struct sockaddr_in6 *)conn->addresses) == 0) {
        conn->addresses_count = 1;
        next_address(conn);
        return;
    }
    char port[12], words[88];
    snprintf(port, sizeof port, "%d", place->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    conn->stage = TP_REDIS_RESOLVING;
    conn->resolve.data = conn;
    int error = uv_getaddrinfo(conn->config.loop, &conn->resolve, resolved_cb, place->host, port, &hints);
    conn->is_resolving = error == 0;
    if (conn->is_resolving) {
        uv_timer_start(&conn->timer, timer_cb, RESOLVE_MS, 0);
        return;
    }
    note_cause(conn, rank_of(conn, false), "%s: %s", place_words(conn, words), uv_strerror(error));
    next_address(conn); /* there is none */
}

static void try_now(struct tp_redis_conn *conn)
{
    const struct tp_redis_url *url = conn->config.url;
    struct tp_redis_place place = {.port = url->port};
    strcpy(place.host, url->host);
    conn->cause_rank = 0;
    conn->asked = 0;
    conn->tried.host[0] = 0;
    if (url->sentinels_count > 0)
        seek(conn, &url->sentinels[(conn->sentinel + conn->asked++) % url->sentinels_count], true);
    else
        seek(conn, &place, false);
}

/* ---- The greeting ---- */

/* Whether the reply is of this type. If not, the cause is set and the next address is tried, but with NULL (it is dropped). */
static bool is_well(struct tp_redis_conn *conn, const redisReply *reply, int type, const char *command)
{
    char words[88];
    if (!reply || reply->type == type)
        return reply != NULL;
    const char *why = reply->type == REDIS_REPLY_ERROR ? reply->str : "an answer of another type";
    int length = (int)strlen(why);
    if (strcmp(command, "AUTH") == 0) /* its words may repeat the password: their code alone is told */
        length = (int)strcspn(why, " ");
    note_cause(conn, rank_of(conn, true), "%s: %s: %.*s", place_words(conn, words), command, length, why);
    refuse_address(conn);
    return false;
}

static void auth_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)context;
    (void)is_well(conn, reply, REDIS_REPLY_STATUS, "AUTH");
}

static void select_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)context;
    (void)is_well(conn, reply, REDIS_REPLY_STATUS, "SELECT");
}

static void id_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)context;
    conn->client_id = 0;
    if (reply && reply->type == REDIS_REPLY_ERROR && /* one that may not tell, or is too old to, will do */
        (strncmp(reply->str, "NOPERM", 6) == 0 || strncmp(reply->str, "ERR unknown", 11) == 0))
        return;
    if (is_well(conn, reply, REDIS_REPLY_INTEGER, "CLIENT"))
        conn->client_id = (uint64_t)reply->integer;
}

static void info_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)context;
    if (!is_well(conn, reply, REDIS_REPLY_STRING, "INFO"))
        return;
    const char *id = strstr(reply->str, "\nrun_id:");
    size_t size = id ? strcspn(id + 8, "\r\n") : 0;
    if (size >= sizeof conn->run_id)
        size = 0;
    if (id)
        memcpy(conn->run_id, id + 8, size);
    conn->run_id[size] = 0;
}

static void role_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)context;
    char words[88];
    if (!is_well(conn, reply, REDIS_REPLY_ARRAY, "ROLE"))
        return;
    if (reply->elements > 0 && reply->element[0]->type == REDIS_REPLY_STRING &&
        strcmp(reply->element[0]->str, "master") == 0)
        return;
    note_cause(conn, rank_of(conn, true), "%s is no master", place_words(conn, words));
    refuse_address(conn);
}

/* What is tried works; the timer looks at it every look_ms. */
static void up(struct tp_redis_conn *conn, uint64_t look_ms)
{
    unsigned sentinels = conn->config.url->sentinels_count;
    if (sentinels > 0)
        conn->sentinel = (conn->sentinel + conn->asked - 1) % sentinels;
    conn->asked = 1;
    conn->stage = TP_REDIS_UP;
    conn->is_up = true;
    conn->cause[0] = 0;
    conn->up_at_ms = uv_now(conn->config.loop);
    conn->answers = conn->pipe->answers;
    uv_timer_start(&conn->timer, timer_cb, look_ms, look_ms);
}

static void start_watcher(struct tp_redis_conn *conn)
{
    struct tp_redis_conn *watcher = malloc(sizeof *watcher);
    if (!watcher || tp_redis_conn_start(watcher, &conn->config) != 0) {
        free(watcher); /* it goes without, until it is UP the next time */
        return;
    }
    watcher->watched = conn;
    watcher->sentinel = conn->sentinel;
    conn->watcher = watcher;
}

/* A watcher's Sentinel says where the master is. */
static void watch(struct tp_redis_conn *watcher, const struct tp_redis_place *master)
{
    struct tp_redis_conn *conn = watcher->watched;
    struct tp_redis_place before = watcher->master;
    char words[88];
    watcher->master = *master;
    if (watcher->stage != TP_REDIS_UP)
        up(watcher, TP_REDIS_WATCH_MS);
    else if (conn->is_up && is_same(&before, &conn->place) && !is_same(&before, master))
        tp_redis_conn_lose(conn, place_words(watcher, words), "the master is another now");
}

/* The greeting's last: a server that still loads its data, or is busy with a script, has answered all the others. */
static void ready_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)context;
    if (!is_well(conn, reply, REDIS_REPLY_STATUS, "PING"))
        return;
    up(conn, TP_REDIS_PROBE_MS);
    if (conn->config.url->sentinels_count > 0 && !conn->watcher)
        start_watcher(conn);
    conn->config.up_cb(conn, conn->config.context);
}

/* A Sentinel says where the master is, or that it knows none of that name. */
static void master_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)context;
    char words[88];
    if (reply && reply->type == REDIS_REPLY_NIL) {
        note_cause(conn, rank_of(conn, true), "%s knows no master %.32s", place_words(conn, words),
                   conn->config.url->master);
        refuse_address(conn);
        return;
    }
    if (!is_well(conn, reply, REDIS_REPLY_ARRAY, "SENTINEL"))
        return;
    struct tp_redis_place place = {.port = 0};
    if (reply->elements == 2 && reply->element[0]->type == REDIS_REPLY_STRING &&
        reply->element[1]->type == REDIS_REPLY_STRING && reply->element[0]->len < (int)sizeof place.host) {
        strcpy(place.host, reply->element[0]->str);
        place.port = atoi(reply->element[1]->str);
    }
    if (!place.host[0] || place.port < 1 || place.port > 65535) {
        note_cause(conn, rank_of(conn, true), "%s: SENTINEL: no address", place_words(conn, words));
        refuse_address(conn);
        return;
    }
    if (conn->watched) {
        watch(conn, &place);
        return;
    }
    drop_pipe(conn); /* it has served; nothing else is in flight */
    if (is_same(&place, &conn->tried))
        next_place(conn); /* another Sentinel said the same */
    else
        seek(conn, &place, false);
}

static bool greet(struct tp_redis_conn *conn, int argc, const char **argv, tp_redis_reply_cb reply)
{
    return tp__redis_pipe_send(conn->pipe, argc, argv, NULL, TP_REDIS_COMMAND_MS, reply, NULL);
}

static bool greet_auth(struct tp_redis_conn *conn, const char *user, const char *password)
{
    const char *words[] = {"AUTH", user, password}, *short_words[] = {"AUTH", password};
    return user[0] ? greet(conn, 3, words, auth_cb) : greet(conn, 2, short_words, auth_cb);
}

static bool ask_sentinel(struct tp_redis_conn *conn)
{
    return greet(conn, 3, (const char *[]){"SENTINEL", "get-master-addr-by-name", conn->config.url->master},
                 master_cb);
}

static void opened_cb(struct tp_redis_conn *conn)
{
    const struct tp_redis_url *url = conn->config.url;
    char db[12], words[88];
    bool ok = true;
    if (conn->is_sentinel) {
        if (url->has_sentinel_password)
            ok = greet_auth(conn, url->sentinel_user, url->sentinel_password);
        ok = ok && ask_sentinel(conn);
    } else {
        if (url->has_password)
            ok = greet_auth(conn, url->user, url->password);
        snprintf(db, sizeof db, "%d", url->db);
        if (url->db != 0)
            ok = ok && greet(conn, 2, (const char *[]){"SELECT", db}, select_cb);
        ok = ok && greet(conn, 2, (const char *[]){"CLIENT", "ID"}, id_cb) &&
             greet(conn, 2, (const char *[]){"INFO", "server"}, info_cb) &&
             greet(conn, 1, (const char *[]){"ROLE"}, role_cb) &&
             greet(conn, 1, (const char *[]){"PING"}, ready_cb);
    }
    if (!ok) {
        note_cause(conn, rank_of(conn, true), "%s: out of memory", place_words(conn, words));
        refuse_address(conn);
    }
}

/* ---- What comes by itself ---- */

static void pipe_lost_cb(struct tp_redis_conn *conn, const char *command, const char *words)
{
    char place[88];
    bool is_reached = conn->pipe->is_open;
    if (words && conn->stage == TP_REDIS_UP)
        conn->cause_rank = 0;
    if (words)
        note_cause(conn, rank_of(conn, is_reached), "%s: %s%s%s", place_words(conn, place),
                   command ? command : "", command ? ": " : "", words);
    refuse_address(conn);
}

static void pipe_closed_cb(struct tp_redis_conn *conn)
{
    conn->pipes--;
    maybe_stopped(conn);
}

static const struct tp_redis_pipe_events pipe_events = {
    .opened_cb = opened_cb,
    .lost_cb = pipe_lost_cb,
    .closed_cb = pipe_closed_cb,
};

static void probed_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)context;
    if (reply && reply->type == REDIS_REPLY_ERROR) /* such as LOADING, once its data were thrown away */
        tp_redis_conn_lose(conn, "PING", reply->str);
}

static void timer_cb(uv_timer_t *timer)
{
    struct tp_redis_conn *conn = timer->data;
    char words[88];
    if (conn->stage == TP_REDIS_PAUSED) {
        try_now(conn);
    } else if (conn->stage == TP_REDIS_RESOLVING) {
        note_cause(conn, rank_of(conn, false), "%s: the resolver does not answer", place_words(conn, words));
        tell_lost(conn);
    } else if (conn->stage == TP_REDIS_UP && conn->watched) {
        if (conn->pipe->in_flight == 0)
            (void)ask_sentinel(conn); /* no memory: the next time */
    } else if (conn->stage == TP_REDIS_UP) {
        if (conn->pipe->answers == conn->answers && conn->pipe->in_flight == 0)
            (void)greet(conn, 1, (const char *[]){"PING"}, probed_cb); /* as above */
        conn->answers = conn->pipe->answers;
    }
}

/* ---- Calls ---- */

int tp_redis_conn_start(struct tp_redis_conn *conn, const struct tp_redis_conn_config *config)
{
    *conn = (struct tp_redis_conn){.config = *config, .random = config->seed};
    if (uv_timer_init(config->loop, &conn->timer) != 0)
        return TP_ERR_NO_MEMORY;
    strcpy(conn->cause, "not reached yet");
    conn->timer.data = conn;
    uv_timer_start(&conn->timer, timer_cb, 0, 0);
    return 0;
}

bool tp_redis_conn_send(struct tp_redis_conn *conn, int argc, const char **argv, const size_t *sizes,
                        uint64_t timeout_ms, tp_redis_reply_cb reply, void *context)
{
    if (!conn->is_up || conn->pipe->in_flight >= conn->config.in_flight_max)
        return false;
    size_t bytes = conn->pipe->in_flight_bytes + COMMAND_EXTRA_BYTES;
    for (int i = 0; i < argc; i++) {
        size_t size = (sizes ? sizes[i] : strlen(argv[i])) + STRING_EXTRA_BYTES;
        if (bytes > conn->config.in_flight_bytes_max || size > conn->config.in_flight_bytes_max - bytes)
            return false;
        bytes += size;
    }
    return tp__redis_pipe_send(conn->pipe, argc, argv, sizes, timeout_ms ? timeout_ms : TP_REDIS_COMMAND_MS,
                               reply, context);
}

void tp_redis_conn_lose(struct tp_redis_conn *conn, const char *what, const char *words)
{
    if (!conn->is_up)
        return;
    conn->cause_rank = 0;
    note_cause(conn, RANK_SERVER_REACHED, "%.60s: %s", what, words);
    conn->is_up = false;
    if (conn->pipe->is_calling)
        tp__redis_pipe_doom(conn->pipe);
    else
        down(conn);
}

static void timer_closed_cb(uv_handle_t *handle)
{
    struct tp_redis_conn *conn = handle->data;
    conn->is_timer_closed = true;
    maybe_stopped(conn);
}

static void watcher_stopped_cb(void *context)
{
    struct tp_redis_conn *conn = context;
    free(conn->watcher);
    conn->watcher = NULL;
    maybe_stopped(conn);
}

void tp_redis_conn_stop(struct tp_redis_conn *conn, void (*stopped_cb)(void *context), void *context)
{
    TP_CHECK(conn->stage != TP_REDIS_STOPPED);
    conn->stage = TP_REDIS_STOPPED;
    conn->is_up = false;
    conn->stopped_cb = stopped_cb;
    conn->stopped_context = context;
    if (conn->is_resolving)
        uv_cancel((uv_req_t *)&conn->resolve); /* where it runs already it is waited for */
    if (conn->watcher)
        tp_redis_conn_stop(conn->watcher, watcher_stopped_cb, conn);
    drop_pipe(conn);
    uv_close((uv_handle_t *)&conn->timer, timer_closed_cb);
}
