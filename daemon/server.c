#include "daemon/server.h"

#include "base/check.h"
#include "base/version.h"
#include "daemon/clock.h"
#include "daemon/http.h"
#include "daemon/listener.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/store_embedded.h"
#include "daemon/store_redis.h"
#include "daemon/trim.h"
#include "daemon/view.h"
#include "daemon/world_thread.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPTS_PER_WAKE = 64,
    ACCEPT_PAUSE_MS = 100, /* after an accept failed for want of descriptors or memory */
    REFUSED_AT_ONCE = 64,  /* connections beyond the bound that are told so; more are closed without words */
    POLL_MS = 10,          /* while draining: looks whether all are gone */
    STOP_SECONDS_MAX = 30, /* from the last connection to the end; then the process gives up */
};

enum state { STARTING, SERVING, DRAINING, STOPPING };

/* Hears the signals on a thread of its own, since a loop hears nothing while it searches: drain_ms after the
 * first one, or at the second, is_over ends the ticks under way. Meanwhile it gives memory back (daemon/trim.h). */
struct watch {
    _Alignas(TP_LINE_BYTES) atomic_bool is_over; /* never false again; every loop looks at it in every tick */
    _Alignas(TP_LINE_BYTES) uint64_t drain_ms;
    bool is_told; /* the first signal has come */
    uv_loop_t uv;
    uv_signal_t sigterm, sigint;
    uv_timer_t deadline, look;
    struct tp_trim trim;
    uv_async_t stop;
    uv_thread_t thread;
    bool has_thread;
};

struct server {
    const struct tp_config *config;
    _Atomic int state;
    uint64_t started_us;
    struct tp_store *store;
    struct tp_world *world;
    struct tp_world_thread world_thread;
    bool has_world_thread;
    struct tp_loop *loops;
    unsigned threads, loops_made, next_loop;
    struct tp_metrics **metrics; /* one per loop, then the world's, then the store's */
    unsigned metrics_made;
    /* what all loops count in, each on a cache line of its own */
    _Alignas(TP_LINE_BYTES) struct tp_pool_cap cap;
    _Alignas(TP_LINE_BYTES) struct tp_map_held held; /* by all versions of maps */
    _Alignas(TP_LINE_BYTES) struct tp_upload_quota upload_quota;
    _Alignas(TP_LINE_BYTES) _Atomic int64_t connections;
    _Alignas(TP_LINE_BYTES) int listen_fd;
    uint16_t port, stats_port;
    uv_poll_t accept_poll;
    uv_timer_t accept_pause, drain_poll;
    uv_signal_t sigterm, sigint;
    bool has_handles;
    uint64_t drain_end_us;
    struct watch watch;
    struct tp_view *view;
    struct tp_http *http;
    struct tp_stats_source stats;
};
TP_ASSERT_LINE(struct watch, is_over);
TP_ASSERT_LINE(struct watch, drain_ms);
TP_ASSERT_LINE(struct server, cap);
TP_ASSERT_LINE(struct server, held);
TP_ASSERT_LINE(struct server, upload_quota);
TP_ASSERT_LINE(struct server, connections);
TP_ASSERT_LINE(struct server, listen_fd);

static uint64_t now_us(void *context)
{
    (void)context;
    return tp_clock_now_us();
}

static uint64_t unix_now_us(void *context)
{
    (void)context;
    return tp_clock_unix_us();
}

/* ---- Between the threads ---- */

static void post_world_cb(void *context, struct tp_mail *mail)
{
    struct server *server = context;
    tp_world_thread_post(&server->world_thread, mail);
}

static void post_shard_cb(void *context, unsigned shard, struct tp_mail *mail)
{
    struct server *server = context;
    tp_loop_post(&server->loops[shard], mail);
}

static void post_view_cb(void *context, unsigned loop, struct tp_mail *mail)
{
    struct server *server = context;
    mail->kind = TP_LOOP_MAIL_VIEW;
    tp_loop_post(&server->loops[loop], mail);
}

static void submit_cb(void *context, struct tp_world_request *request)
{
    struct server *server = context;
    tp_world_thread_post(&server->world_thread, &request->mail);
}

/* ---- What the stats endpoint asks ---- */

static uint64_t uptime_ms(void *context)
{
    const struct server *server = context;
    return (tp_clock_now_us() - server->started_us) / 1000;
}

static void store_status(void *context, struct tp_store_status *out)
{
    const struct server *server = context;
    server->store->ops->status(server->store, out);
}

static size_t not_ready(void *context, const char **reasons)
{
    const struct server *server = context;
    int state = atomic_load(&server->state);
    size_t count = 0;
    if (state == STARTING || !tp_world_ready(server->world))
        reasons[count++] = "maps are being loaded";
    if (state == DRAINING || state == STOPPING)
        reasons[count++] = "draining";
    return count;
}

struct each_map {
    tp_stats_map_cb each;
    void *context;
};

static void each_map_cb(struct tp_world_map *of, const struct tp_map *map, void *context)
{
    const struct each_map *to = context;
    int64_t sessions = atomic_load(&of->sessions);
    struct tp_stats_map row = {.name = of->name,
                               .width = map->width,
                               .height = map->height,
                               .graph_edges = map->graph != NULL ? map->graph->edges : 0,
                               .is_graph = map->graph != NULL,
                               .epoch = map->epoch,
                               .version = map->version,
                               .passable_cells = map->passable_cells,
                               .bytes = tp_map_bytes(map),
                               .sessions = sessions > 0 ? (uint32_t)sessions : 0};
    to->each(&row, to->context);
}

static void each_map(void *context, tp_stats_map_cb each, void *each_context)
{
    struct server *server = context;
    struct each_map to = {each, each_context};
    if (tp_world_each(server->world, each_map_cb, &to) != 0)
        tp_log_words(TP_LOG_WARN, "out of memory while listing the maps");
}

/* ---- Accepting ---- */

static void server_accept_cb(uv_poll_t *poll, int status, int events);

static void server_accept_resume_cb(uv_timer_t *timer)
{
    struct server *server = timer->data;
    if (atomic_load(&server->state) == SERVING)
        uv_poll_start(&server->accept_poll, UV_READABLE, server_accept_cb);
}

/* Gives a socket to the next loop. */
static void hand_out(struct server *server, int fd)
{
    int64_t before = atomic_fetch_add(&server->connections, 1);
    bool is_refused = before >= (int64_t)server->config->connections_max;
    struct tp_loop_accepted *accepted = NULL;
    if (before < (int64_t)server->config->connections_max + REFUSED_AT_ONCE)
        accepted = malloc(sizeof *accepted);
    if (accepted == NULL) {
        atomic_fetch_sub(&server->connections, 1);
        tp_log(TP_LOG_WARN, "connection closed at once", "connections=%" PRId64, before);
        close(fd);
        return;
    }
    accepted->mail.kind = TP_LOOP_MAIL_ACCEPTED;
    accepted->fd = fd;
    accepted->is_refused = is_refused;
    tp_loop_post(&server->loops[server->next_loop], &accepted->mail);
    server->next_loop = (server->next_loop + 1) % server->threads;
}

static void server_accept_cb(uv_poll_t *poll, int status, int events)
{
    struct server *server = poll->data;
    (void)status, (void)events;
    for (int i = 0; i < ACCEPTS_PER_WAKE; i++) {
        int fd = accept4(server->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            hand_out(server, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            tp_log(TP_LOG_ERROR, "cannot accept", "error=\"%s\"", strerror(errno));
            uv_poll_stop(poll);
            uv_timer_start(&server->accept_pause, server_accept_resume_cb, ACCEPT_PAUSE_MS, 0);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return; /* none is waiting */
        }
    }
}

/* ---- Draining ---- */

static void close_own_handles(struct server *server)
{
    uv_close((uv_handle_t *)&server->accept_pause, NULL);
    uv_close((uv_handle_t *)&server->drain_poll, NULL);
    uv_close((uv_handle_t *)&server->sigterm, NULL);
    uv_close((uv_handle_t *)&server->sigint, NULL);
    server->has_handles = false;
}

static void give_up(int signal_number)
{
    static const char words[] = "level=error msg=\"the end takes too long: giving up\"\n";
    (void)signal_number;
    ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
    (void)written;
    _exit(1);
}

/* The last connection is gone: ends world, store and loops. */
static void stop(struct server *server)
{
    atomic_store(&server->state, STOPPING);
    signal(SIGALRM, give_up);
    alarm(STOP_SECONDS_MAX);
    close_own_handles(server);
    tp_world_thread_stop(&server->world_thread);
    server->has_world_thread = false;
    tp_view_quiet(server->view);
    for (unsigned i = 0; i < server->threads; i++)
        tp_loop_post(&server->loops[i], &server->loops[i].stop);
}

static void drop_all(struct server *server)
{
    server->drain_end_us = UINT64_MAX;
    for (unsigned i = 0; i < server->threads; i++)
        tp_loop_post(&server->loops[i], &server->loops[i].drop);
}

static void server_drain_poll_cb(uv_timer_t *timer)
{
    struct server *server = timer->data;
    int64_t left = atomic_load(&server->connections);
    if (left == 0) {
        stop(server);
    } else if (server->drain_end_us != UINT64_MAX &&
               (atomic_load(&server->watch.is_over) || tp_clock_now_us() >= server->drain_end_us)) {
        tp_log(TP_LOG_WARN, "the drain's time is over: connections are dropped", "left=%" PRId64, left);
        drop_all(server);
    }
}

static void server_signal_cb(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    if (atomic_load(&server->state) == SERVING) {
        tp_log(TP_LOG_INFO, "draining", "signal=%d connections=%" PRId64 " drain_ms=%" PRIu64, number,
               atomic_load(&server->connections), server->config->drain_ms);
        atomic_store(&server->state, DRAINING);
        uv_close((uv_handle_t *)&server->accept_poll, NULL);
        close(server->listen_fd);
        server->listen_fd = -1;
        for (unsigned i = 0; i < server->threads; i++)
            tp_loop_post(&server->loops[i], &server->loops[i].drain);
        server->drain_end_us = tp_clock_now_us() + server->config->drain_ms * 1000;
        uv_timer_start(&server->drain_poll, server_drain_poll_cb, 0, POLL_MS);
    } else if (server->drain_end_us != UINT64_MAX) {
        tp_log(TP_LOG_WARN, "second signal: connections are dropped", "signal=%d", number);
        drop_all(server);
    }
}

/* ---- Ending long ticks ---- */

static void watch_deadline_cb(uv_timer_t *timer)
{
    struct watch *watch = timer->data;
    atomic_store(&watch->is_over, true);
}

static void watch_look_cb(uv_timer_t *timer)
{
    struct watch *watch = timer->data;
    tp_trim_look(&watch->trim);
}

static void watch_signal_cb(uv_signal_t *handle, int number)
{
    struct watch *watch = handle->data;
    (void)number;
    if (watch->is_told) {
        atomic_store(&watch->is_over, true);
        return;
    }
    watch->is_told = true;
    uv_timer_start(&watch->deadline, watch_deadline_cb, watch->drain_ms, 0);
}

static void watch_stop_cb(uv_async_t *async)
{
    struct watch *watch = async->data;
    uv_close((uv_handle_t *)&watch->sigterm, NULL);
    uv_close((uv_handle_t *)&watch->sigint, NULL);
    uv_close((uv_handle_t *)&watch->deadline, NULL);
    uv_close((uv_handle_t *)&watch->look, NULL);
    uv_close((uv_handle_t *)&watch->stop, NULL);
}

static void watch_run(void *argument)
{
    struct watch *watch = argument;
    tp_log_thread_name("watch");
    uv_run(&watch->uv, UV_RUN_DEFAULT);
}

static int watch_start(struct watch *watch, uint64_t drain_ms)
{
    watch->drain_ms = drain_ms;
    if (uv_loop_init(&watch->uv) != 0)
        return TP_ERR_IO;
    if (uv_async_init(&watch->uv, &watch->stop, watch_stop_cb) != 0) {
        uv_loop_close(&watch->uv);
        return TP_ERR_IO;
    }
    uv_signal_init(&watch->uv, &watch->sigterm);
    uv_signal_init(&watch->uv, &watch->sigint);
    uv_timer_init(&watch->uv, &watch->deadline);
    uv_timer_init(&watch->uv, &watch->look);
    uv_timer_start(&watch->look, watch_look_cb, TP_TRIM_MS, TP_TRIM_MS);
    watch->look.data = watch->sigterm.data = watch->sigint.data = watch->deadline.data = watch->stop.data =
        watch;
    if (uv_signal_start(&watch->sigterm, watch_signal_cb, SIGTERM) == 0 &&
        uv_signal_start(&watch->sigint, watch_signal_cb, SIGINT) == 0 &&
        uv_thread_create(&watch->thread, watch_run, watch) == 0) {
        watch->has_thread = true;
        return 0;
    }
    watch_stop_cb(&watch->stop);
    uv_run(&watch->uv, UV_RUN_DEFAULT);
    uv_loop_close(&watch->uv);
    return TP_ERR_IO;
}

static void watch_stop(struct watch *watch)
{
    if (!watch->has_thread)
        return;
    uv_async_send(&watch->stop);
    uv_thread_join(&watch->thread);
    uv_loop_close(&watch->uv);
    watch->has_thread = false;
}

/* ---- Starting ---- */

static int start_failed(const char *words)
{
    tp_log(TP_LOG_ERROR, "cannot start", "reason=\"%s\"", words);
    return TP_ERR_IO;
}

static int make_metrics(struct server *server)
{
    unsigned count = server->threads + 2;
    server->metrics = calloc(count, sizeof(struct tp_metrics *));
    if (server->metrics == NULL)
        return start_failed("out of memory");
    for (; server->metrics_made < count; server->metrics_made++) {
        unsigned i = server->metrics_made;
        char name[16];
        snprintf(name, sizeof name, "loop%u", i);
        server->metrics[i] = tp_metrics_new(i < server->threads    ? name
                                            : i == server->threads ? "world"
                                                                   : "store");
        if (server->metrics[i] == NULL)
            return start_failed("out of memory");
    }
    return 0;
}

static int open_store(struct server *server)
{
    char words[256] = "out of memory";
    struct tp_metrics *metrics = server->metrics[server->threads + 1];
    const struct tp_store_redis_options redis = {.snapshot_batches = (uint32_t)server->config->fold_batches,
                                                 .snapshot_seconds = (uint32_t)server->config->snapshot_seconds};
    int error;
    if (server->config->data[0] != '\0')
        error = tp_store_embedded_open(&server->store, server->config->data, server->config->fold_batches,
                                       metrics, words);
    else if (server->config->redis[0] != '\0')
        error = tp_store_redis_open(&server->store, server->config->redis, &redis, metrics, words);
    else
        error = tp_store_memory_open(&server->store);
    return error == 0 ? 0 : start_failed(words);
}

static int open_world(struct server *server)
{
    struct tp_world_config config = {
        .store = server->store,
        .metrics = server->metrics[server->threads],
        .held = &server->held,
        .maps_max = (uint32_t)server->config->maps_max,
        .shards = server->threads,
        .context = server,
        .post_self = post_world_cb,
        .post_shard = post_shard_cb,
        .now_us = now_us,
        .unix_now_us = unix_now_us,
    };
    return tp_world_open(&server->world, &config) == 0 ? 0 : start_failed("out of memory");
}

static int make_loops(struct server *server)
{
    server->loops = tp_lines_alloc(server->threads * sizeof server->loops[0]);
    if (server->loops == NULL)
        return start_failed("out of memory");
    for (; server->loops_made < server->threads; server->loops_made++) {
        struct tp_shard *shard = &server->loops[server->loops_made].shard;
        shard->index = server->loops_made;
        shard->config = server->config;
        shard->world = server->world;
        shard->store = server->store;
        shard->upload_quota = &server->upload_quota;
        shard->metrics = server->metrics[server->loops_made];
        shard->clock.now_us = now_us;
        shard->context = server;
        shard->is_over = &server->watch.is_over;
        shard->submit = submit_cb;
        if (getrandom(&shard->seed, sizeof shard->seed, 0) != sizeof shard->seed)
            return start_failed("no randomness");
        if (tp_loop_init(&server->loops[server->loops_made], &server->cap, &server->connections) != 0)
            return start_failed("cannot make an event loop");
    }
    return 0;
}

/* Watches the listening socket and the signals on loop 0. */
static int make_handles(struct server *server)
{
    uv_loop_t *uv = &server->loops[0].uv;
    if (uv_poll_init(uv, &server->accept_poll, server->listen_fd) != 0)
        return start_failed("cannot watch the listening socket");
    uv_timer_init(uv, &server->accept_pause);
    uv_timer_init(uv, &server->drain_poll);
    uv_signal_init(uv, &server->sigterm);
    uv_signal_init(uv, &server->sigint);
    server->accept_poll.data = server->accept_pause.data = server->drain_poll.data = server;
    server->sigterm.data = server->sigint.data = server;
    server->has_handles = true;
    uv_signal_start(&server->sigterm, server_signal_cb, SIGTERM);
    uv_signal_start(&server->sigint, server_signal_cb, SIGINT);
    return 0;
}

static int start_http(struct server *server)
{
    const struct tp_config *config = server->config;
    if (config->stats.host[0] == '\0')
        return 0;
    server->stats = (struct tp_stats_source){
        .metrics = (const struct tp_metrics *const *)server->metrics,
        .metrics_count = server->metrics_made,
        .pool_cap = &server->cap,
        .held = &server->held,
        .uploads = &server->upload_quota,
        .store_name = server->store->ops->name,
        .store_volatile = server->store->is_volatile,
        .started_unix_ms = (int64_t)(tp_clock_unix_us() / 1000),
        .threads = server->threads,
        .context = server,
        .uptime_ms = uptime_ms,
        .store_status = store_status,
        .not_ready = not_ready,
        .each_map = each_map,
    };
    struct tp_view_config view = {.world = server->world,
                                  .source = &server->stats,
                                  .loops = server->threads,
                                  .context = server,
                                  .post = post_view_cb};
    if (tp_view_start(&server->view, &view) != 0)
        return start_failed("cannot start the view");
    struct tp_http_config http = {.host = config->stats.host,
                                  .port = config->stats.port,
                                  .source = &server->stats,
                                  .view = server->view,
                                  .token = config->stats_token};
    char words[160] = "out of memory";
    if (tp_http_start(&server->http, &http, &server->stats_port, words) != 0)
        return start_failed(words);
    return 0;
}

/* Written under another name and renamed, so that whoever waits for the file never reads half of it. */
static int write_port_file(const struct server *server)
{
    const char *name = server->config->port_file;
    if (name[0] == '\0')
        return 0;
    char draft[TP_CONFIG_TEXT_MAX + 8];
    snprintf(draft, sizeof draft, "%s~", name);
    FILE *file = fopen(draft, "w");
    if (file == NULL)
        return start_failed("cannot write the port file");
    fprintf(file, "%u\n", server->port);
    if (server->http != NULL)
        fprintf(file, "%u\n", server->stats_port);
    if (fclose(file) != 0 || rename(draft, name) != 0)
        return start_failed("cannot write the port file");
    return 0;
}

/* As many descriptors as we may have: one is needed for each connection. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int start(struct server *server)
{
    const struct tp_config *config = server->config;
    char words[256];
    raise_descriptors();
    if (tp_listener_open(&config->listen, &server->listen_fd, &server->port, words) != 0)
        return start_failed(words);
    int error = make_metrics(server);
    if (error == 0)
        error = open_store(server);
    if (error == 0)
        error = open_world(server);
    if (error == 0)
        error = make_loops(server);
    if (error == 0)
        error = make_handles(server);
    if (error != 0)
        return error;
    server->watch.trim = (struct tp_trim){.cap = &server->cap, .held = &server->held};
    if (watch_start(&server->watch, config->drain_ms) != 0)
        return start_failed("cannot watch for signals");
    if (tp_world_thread_start(&server->world_thread, server->world) != 0)
        return start_failed("cannot start a thread");
    server->has_world_thread = true;
    for (unsigned i = 1; i < server->threads; i++)
        if (tp_loop_start(&server->loops[i]) != 0)
            return start_failed("cannot start a thread");
    error = start_http(server);
    if (error == 0)
        error = write_port_file(server);
    if (error != 0)
        return error;
    atomic_store(&server->state, SERVING);
    uv_poll_start(&server->accept_poll, UV_READABLE, server_accept_cb);
    tp_log(TP_LOG_INFO, "listening", "host=%s port=%u stats_port=%u threads=%u store=%s version=%s",
           config->listen.host, server->port, server->stats_port, server->threads, server->store->ops->name,
           TP_VERSION);
    return 0;
}

/* Ends what a start that failed midway has begun, so that the rest is as after a drain. */
static void unwind(struct server *server)
{
    if (server->has_world_thread)
        tp_world_thread_stop(&server->world_thread);
    server->has_world_thread = false;
    if (server->has_handles) {
        uv_close((uv_handle_t *)&server->accept_poll, NULL);
        close_own_handles(server);
    }
    tp_view_quiet(server->view);
    for (unsigned i = 0; i < server->loops_made; i++)
        tp_loop_post(&server->loops[i], &server->loops[i].stop);
}

int tp_server_run(const struct tp_config *config)
{
    struct server *server = tp_lines_alloc(sizeof *server);
    if (server == NULL)
        return 1;
    server->config = config;
    server->listen_fd = -1;
    server->started_us = tp_clock_now_us();
    server->threads = config->threads != 0 ? (unsigned)config->threads : uv_available_parallelism();
    server->upload_quota.bytes_max = config->upload_bytes_max;
    atomic_store(&server->cap.bytes_max, config->node_bytes_max);
    server->held.keeps_gone = true; /* no loop that ticks frees a version */
    tp_world_thread_init(&server->world_thread);
    tp_log_thread_name("loop0");

    int error = start(server);
    if (error != 0)
        unwind(server);
    if (server->loops_made > 0)
        tp_loop_run(&server->loops[0]);
    tp_view_stop(server->view);
    tp_http_stop(server->http);
    watch_stop(&server->watch);
    for (unsigned i = 0; i < server->loops_made; i++) {
        if (i > 0 && !server->loops[i].has_thread)
            tp_loop_run(&server->loops[i]); /* never started: only its handles are to be closed */
        tp_loop_join(&server->loops[i]);
        tp_loop_fini(&server->loops[i]);
    }
    tp_view_close(server->view);
    if (server->store != NULL) /* before the world, which its events go to */
        server->store->ops->close(server->store);
    tp_world_thread_discard(&server->world_thread);
    tp_world_close(server->world);
    tp_map_held_end_gone(&server->held);
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    tp_world_thread_fini(&server->world_thread);
    for (unsigned i = 0; i < server->metrics_made; i++)
        free(server->metrics[i]);
    free(server->metrics);
    free(server->loops);
    free(server);
    if (error == 0)
        tp_log_words(TP_LOG_INFO, "ended");
    return error == 0 ? 0 : 1;
}
