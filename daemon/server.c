#include "daemon/server.h"

#include "base/check.h"
#include "base/version.h"
#include "daemon/net/acceptor.h"
#include "daemon/clock.h"
#include "daemon/stats/http.h"
#include "daemon/stats/stats_daemon.h"
#include "daemon/life.h"
#include "daemon/net/listener.h"
#include "daemon/log.h"
#include "daemon/net/loop.h"
#include "daemon/store/store_embedded.h"
#include "daemon/store/store_redis.h"
#include "daemon/supervisor.h"
#include "daemon/view/view_http.h"
#include "daemon/world/world_thread.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    DESCRIPTORS_KEPT = 288, /* the stats port's connections, those being refused, files */
    DESCRIPTORS_OF_LOOP = 8,
    STOP_SECONDS_MAX = 30, /* from the last connection to the end; then the process gives up */
};

struct server {
    struct tp_config *config; /* borrowed; the life's thread alone changes it */
    struct tp_store *store;
    struct tp_world *world;
    struct tp_world_thread world_thread;
    bool has_world_thread;
    struct tp_loop *loops;
    unsigned threads, loops_made;
    struct tp_metrics **metrics; /* one per loop, then the world's, the store's, the life's */
    unsigned metrics_made;
    /* what all loops count in, each on a cache line of its own */
    _Alignas(TP_LINE_BYTES) struct tp_pool_cap cap;
    _Alignas(TP_LINE_BYTES) struct tp_map_held held; /* by all versions of maps */
    _Alignas(TP_LINE_BYTES) struct tp_upload_quota upload_quota;
    _Alignas(TP_LINE_BYTES) _Atomic int64_t connections;
    _Alignas(TP_LINE_BYTES) struct tp_acceptor acceptor;
    struct tp_address at; /* of the listening socket, its port among it */
    uint16_t stats_port;
    int stats_fd; /* handed over; -1: none */
    struct tp_life life;
    struct tp_view *view;
    struct tp_http *http;
    struct tp_stats_daemon stats_daemon; /* what the source below is read from */
    struct tp_stats_source stats;
};
TP_ASSERT_LINE(struct server, cap);
TP_ASSERT_LINE(struct server, held);
TP_ASSERT_LINE(struct server, upload_quota);
TP_ASSERT_LINE(struct server, connections);
TP_ASSERT_LINE(struct server, acceptor);

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

/* ---- What each state of the life cycle does ---- */

static void give_up(int signal_number)
{
    (void)signal_number;
    tp_log_last_words("the end takes too long: giving up");
    _exit(TP_EXIT_STUCK);
}

/* Once nothing more is owed or it was dropped the rest has STOP_SECONDS_MAX, whoever hangs: a disk, say, that a request waits for. */
static void bound_the_end(void)
{
    signal(SIGALRM, give_up);
    unsigned left_seconds = alarm(STOP_SECONDS_MAX);
    if (left_seconds > 0) /* it runs since the dropping */
        alarm(left_seconds);
}

static void stop_world(struct server *server)
{
    if (server->has_world_thread)
        tp_world_thread_stop(&server->world_thread);
    server->has_world_thread = false;
    tp_view_quiet(server->view);
}

static int64_t left_cb(void *context)
{
    struct server *server = context;
    bool is_accepting = tp_life_state(&server->life) >= TP_LIFE_DRAINING && !tp_acceptor_has_ended(&server->acceptor);
    int64_t connections = atomic_load(&server->connections); /* asked second: it may have handed out one more */
    return is_accepting ? connections + 1 : connections;
}

/* Whether every loop has looked at its connections in the last milliseconds. */
static bool answers_cb(void *context, uint64_t within_ms)
{
    struct server *server = context;
    uint64_t now_ms = tp_clock_now_ms();
    for (unsigned i = 0; i < server->threads; i++) {
        uint64_t looked_ms = atomic_load_explicit(&server->loops[i].looked_ms, memory_order_relaxed);
        if (looked_ms < now_ms && now_ms - looked_ms > within_ms)
            return false;
    }
    return true;
}

/* The life's thread. */
static void enter_cb(void *context, enum tp_life_state state)
{
    struct server *server = context;
    if (state == TP_LIFE_LEAVING)
        tp_supervisor_tell("STOPPING=1\nSTATUS=draining");
    if (state == TP_LIFE_DRAINING)
        tp_acceptor_end(&server->acceptor);
    if (state == TP_LIFE_DROPPING || state == TP_LIFE_STOPPING)
        bound_the_end();
    if (state == TP_LIFE_STOPPING)
        stop_world(server);
    for (unsigned i = 0; i < server->threads; i++) {
        struct tp_loop *loop = &server->loops[i];
        struct tp_mail *mail = state == TP_LIFE_DRAINING    ? &loop->drain
                               : state == TP_LIFE_LAST_CALL ? &loop->last_call
                               : state == TP_LIFE_DROPPING  ? &loop->drop
                               : state == TP_LIFE_STOPPING  ? &loop->stop
                                                            : NULL;
        if (mail != NULL)
            tp_loop_post(loop, mail);
    }
}

/* ---- The configuration, at the start and anew ---- */

static struct tp_metrics *life_metrics(const struct server *server)
{
    return server->metrics[server->threads + 2];
}

/* Hands on what is live and not read from the configuration at each use. A start goes this way too, before its first line. */
static void apply_live(struct server *server)
{
    const struct tp_config *config = server->config;
    atomic_store(&tp_log_level_max, config->log_level);
    atomic_store(&tp_log_format, config->log_format);
    atomic_store(&tp_log_lines_max, (uint32_t)config->log_lines_max);
    atomic_store(&server->upload_quota.bytes_max, config->upload_bytes_max);
    atomic_store(&server->cap.bytes_max, config->node_bytes_max);
    tp_http_set_token(server->http, config->stats_token);
    for (unsigned i = 0; i < server->metrics_made; i++)
        tp_slow_limit(&server->metrics[i]->slow, config->slow_tick_us);
}

/* Reads it anew, and says what came of it. */
static bool renew(struct server *server)
{
    const char *path = server->config->config;
    struct tp_config_changes changes;
    char reason[TP_CONFIG_REASON_BYTES];
    if (tp_config_renew(server->config, &changes, reason) != 0) {
        tp_log(TP_LOG_ERROR, "the configuration is refused: all stays as it was", "reason=\"%s\"", reason);
        return false;
    }
    int level_before = atomic_load(&tp_log_level_max), level = server->config->log_level;
    apply_live(server);
    atomic_store(&tp_log_level_max, level > level_before ? level : level_before); /* either hears of it */
    tp_log(changes.waiting > 0 ? TP_LOG_WARN : TP_LOG_INFO, "the configuration was read anew",
           "file=\"%.200s\" changed=\"%s\" needs_a_restart=\"%s\"", path, changes.changed_names, changes.waiting_names);
    atomic_store(&tp_log_level_max, level);
    return true;
}

/* The life's thread. */
static void hung_up_cb(void *context)
{
    struct server *server = context;
    bool is_serving = tp_life_state(&server->life) == TP_LIFE_SERVING; /* a manager has been told of the end otherwise */
    struct tp_metrics *metrics = life_metrics(server);
    if (server->config->config[0] == '\0') {
        tp_log_words(TP_LOG_INFO, "SIGHUP: there is no --config to read anew, and no log file to open");
        return;
    }
    if (is_serving)
        tp_supervisor_tell("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, tp_clock_now_us());
    bool is_good = renew(server);
    tp_metric_add(&metrics->config_reloads[is_good ? TP_METRIC_OUTCOME_OK : TP_METRIC_OUTCOME_REFUSED], 1);
    tp_metric_gauge_set(&metrics->config_last_reload_successful, is_good);
    if (is_serving)
        tp_supervisor_tell("READY=1\nSTATUS=serving on port %u%s", server->at.port, is_good ? "" : "; the last configuration was refused");
}

/* ---- Starting ---- */

/* Says why, and gives the code back. */
static enum tp_exit fail(enum tp_exit code, const char *words)
{
    tp_log(TP_LOG_ERROR, "cannot start", "reason=\"%s\" exit=%d", words, code);
    return code;
}

/* Of all threads; logs nothing. TP_ERR_NO_MEMORY: some are made. */
static int make_metrics(struct server *server)
{
    static const char *const others[] = {"world", "store", "life"};
    unsigned count = server->threads + sizeof others / sizeof others[0];
    server->metrics = calloc(count, sizeof(struct tp_metrics *));
    if (server->metrics == NULL)
        return TP_ERR_NO_MEMORY;
    for (; server->metrics_made < count; server->metrics_made++) {
        unsigned i = server->metrics_made;
        char name[16];
        snprintf(name, sizeof name, "loop%u", i);
        server->metrics[i] = tp_metrics_new(i < server->threads ? name : others[i - server->threads]);
        if (server->metrics[i] == NULL)
            return TP_ERR_NO_MEMORY;
    }
    tp_metric_gauge_set(&life_metrics(server)->config_last_reload_successful, 1);
    return 0;
}

static enum tp_exit open_store(struct server *server)
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
    if (error == 0)
        return TP_EXIT_CLEAN;
    return fail(error == TP_ERR_NO_MEMORY             ? TP_EXIT_FAILED
                : error == TP_ERR_FAILED_PRECONDITION ? TP_EXIT_LOCKED
                                                      : TP_EXIT_STORE,
                words);
}

static enum tp_exit open_world(struct server *server)
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
    return tp_world_open(&server->world, &config) == 0 ? TP_EXIT_CLEAN : fail(TP_EXIT_FAILED, "out of memory");
}

static enum tp_exit make_loops(struct server *server)
{
    server->loops = tp_lines_alloc(server->threads * sizeof server->loops[0]);
    if (server->loops == NULL)
        return fail(TP_EXIT_FAILED, "out of memory");
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
        shard->is_over = &server->life.is_over;
        shard->submit = submit_cb;
        if (getrandom(&shard->seed, sizeof shard->seed, 0) != sizeof shard->seed)
            return fail(TP_EXIT_FAILED, "no randomness");
        if (tp_loop_init(&server->loops[server->loops_made], &server->cap, &server->connections) != 0)
            return fail(TP_EXIT_FAILED, "cannot make an event loop");
    }
    return TP_EXIT_CLEAN;
}

static enum tp_exit start_http(struct server *server)
{
    const struct tp_config *config = server->config;
    struct tp_address at = config->stats;
    if (server->stats_fd >= 0 && tp_listener_bound(server->stats_fd, &at) != 0)
        return fail(TP_EXIT_PORT, "the stats socket has no address");
    if (at.host[0] == '\0')
        return TP_EXIT_CLEAN;
    server->stats = (struct tp_stats_source){
        .metrics = (const struct tp_metrics *const *)server->metrics,
        .metrics_count = server->metrics_made,
        .pool_cap = &server->cap,
        .held = &server->held,
        .uploads = &server->upload_quota,
        .threads = server->threads,
        .config = config,
    };
    server->stats_daemon.store = server->store;
    server->stats_daemon.world = server->world;
    tp_stats_daemon_fill(&server->stats_daemon, &server->stats);
    struct tp_view_config view = {.world = server->world,
                                  .source = &server->stats,
                                  .loops = server->threads,
                                  .context = server,
                                  .post = post_view_cb,
                                  .suspend = tp_view_http_suspend,
                                  .resume = tp_view_http_resume};
    if (tp_view_start(&server->view, &view) != 0)
        return fail(TP_EXIT_FAILED, "cannot start the view");
    struct tp_http_config http = {.host = at.host,
                                  .port = at.port,
                                  .is_inherited = server->stats_fd >= 0,
                                  .fd = server->stats_fd,
                                  .source = &server->stats,
                                  .view = server->view,
                                  .token = config->stats_token};
    char words[160] = "out of memory";
    int error = tp_http_start(&server->http, &http, &server->stats_port, words);
    if (error != 0)
        return fail(error == TP_ERR_NO_MEMORY ? TP_EXIT_FAILED : TP_EXIT_PORT, words);
    return TP_EXIT_CLEAN;
}

/* Written under another name and renamed, so that whoever waits for the file never reads half of it. */
static enum tp_exit write_port_file(const struct server *server)
{
    const char *name = server->config->port_file;
    if (name[0] == '\0')
        return TP_EXIT_CLEAN;
    char draft[TP_CONFIG_TEXT_MAX + 8];
    snprintf(draft, sizeof draft, "%s~", name);
    FILE *file = fopen(draft, "w");
    if (file == NULL)
        return fail(TP_EXIT_FAILED, "cannot write the port file");
    fprintf(file, "%u\n", server->at.port);
    if (server->http != NULL)
        fprintf(file, "%u\n", server->stats_port);
    if (fclose(file) != 0 || rename(draft, name) != 0)
        return fail(TP_EXIT_FAILED, "cannot write the port file");
    return TP_EXIT_CLEAN;
}

/* As many descriptors as we may have: one is needed for each connection, and clients must leave some for the stats port, the store and the
 * loops. Gives how many connections that makes. */
static int64_t take_descriptors(const struct server *server)
{
    const struct tp_config *config = server->config;
    const int64_t wanted = (int64_t)config->connections_max, logs = config->data[0] != '\0' ? (int64_t)config->maps_max : 0;
    const int64_t others = DESCRIPTORS_KEPT + (int64_t)DESCRIPTORS_OF_LOOP * server->threads + logs;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return INT64_MAX;
    if (limit.rlim_cur < limit.rlim_max) {
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            limit.rlim_cur = before;
    }
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT32_MAX)
        return INT64_MAX;
    int64_t all = (int64_t)limit.rlim_cur, connections = all > 2 * others ? all - others : all / 2;
    if (connections < wanted)
        tp_log(TP_LOG_WARN, "fewer descriptors than connections_max", "descriptors=%" PRId64 " connections=%" PRId64 " connections_max=%" PRId64, all,
               connections, wanted);
    return connections;
}

/* What a loop or the world's thread needs, in the order in which one needs the other; no thread runs yet. */
static enum tp_exit make(struct server *server)
{
    enum tp_exit code = open_store(server);
    if (code == TP_EXIT_CLEAN)
        code = open_world(server);
    if (code == TP_EXIT_CLEAN)
        code = make_loops(server);
    return code;
}

/* Those that a service manager hands over, else one of our own. */
static int open_sockets(struct server *server, char words[256])
{
    struct tp_supervisor_sockets sockets;
    if (tp_supervisor_take(&sockets, words) != 0)
        return TP_ERR_IO;
    server->stats_fd = sockets.stats;
    server->acceptor.fd = sockets.clients;
    server->acceptor.is_inherited = sockets.clients >= 0;
    if (sockets.clients < 0 && tp_listener_open(&server->config->listen, &server->acceptor.fd, words) != 0)
        return TP_ERR_IO;
    if (tp_listener_bound(server->acceptor.fd, &server->at) != 0) {
        snprintf(words, 256, "the listening socket has no address");
        return TP_ERR_IO;
    }
    return 0;
}

static enum tp_exit start(struct server *server)
{
    char words[256];
    server->acceptor.descriptors = take_descriptors(server);
    if (open_sockets(server, words) != 0)
        return fail(TP_EXIT_PORT, words);
    enum tp_exit code = make(server);
    if (code != TP_EXIT_CLEAN)
        return code;
    server->acceptor.loops = server->loops;
    server->acceptor.loops_count = server->threads;
    if (tp_acceptor_start(&server->acceptor) != 0)
        return fail(TP_EXIT_FAILED, "cannot watch the listening socket");
    if (tp_life_start(&server->life) != 0)
        return fail(TP_EXIT_FAILED, "cannot watch for signals");
    if (tp_world_thread_start(&server->world_thread, server->world) != 0)
        return fail(TP_EXIT_FAILED, "cannot start a thread");
    server->has_world_thread = true;
    for (unsigned i = 1; i < server->threads; i++)
        if (tp_loop_start(&server->loops[i]) != 0)
            return fail(TP_EXIT_FAILED, "cannot start a thread");
    code = start_http(server);
    if (code == TP_EXIT_CLEAN)
        code = write_port_file(server);
    if (code != TP_EXIT_CLEAN)
        return code;
    tp_life_serving(&server->life);
    tp_supervisor_tell("READY=1\nSTATUS=serving on port %u", server->at.port);
    tp_log(TP_LOG_INFO, "listening", "host=%s port=%u stats_port=%u threads=%u store=%s version=%s",
           server->at.host, server->at.port, server->stats_port, server->threads, server->store->ops->name,
           TP_VERSION);
    return TP_EXIT_CLEAN;
}

/* Ends what a start that failed midway has begun, so that the rest is as after a drain. */
static void unwind(struct server *server)
{
    stop_world(server);
    tp_acceptor_close(&server->acceptor);
    for (unsigned i = 0; i < server->loops_made; i++)
        tp_loop_post(&server->loops[i], &server->loops[i].stop);
}

/* The first loop has ended, or there is none: ends and frees all the rest. Gives the code for a start that was good. */
static enum tp_exit end(struct server *server)
{
    bool has_dropped = false;
    tp_view_stop(server->view);
    tp_http_stop(server->http);
    tp_life_stop(&server->life);
    for (unsigned i = 0; i < server->loops_made; i++) {
        if (i > 0 && !server->loops[i].has_thread)
            tp_loop_run(&server->loops[i]); /* never started: only its handles are to be closed */
        tp_loop_join(&server->loops[i]);
        has_dropped = has_dropped || server->loops[i].has_dropped;
        tp_loop_fini(&server->loops[i]);
    }
    tp_view_close(server->view);
    if (server->store != NULL) /* before the world, which its events go to */
        server->store->ops->close(server->store);
    tp_world_thread_discard(&server->world_thread);
    tp_world_close(server->world);
    tp_map_held_end_gone(&server->held);
    tp_world_thread_fini(&server->world_thread);
    for (unsigned i = 0; i < server->metrics_made; i++)
        free(server->metrics[i]);
    free(server->metrics);
    free(server->loops);
    return has_dropped ? TP_EXIT_DROPPED : TP_EXIT_CLEAN;
}

enum tp_exit tp_server_run(struct tp_config *config)
{
    struct server *server = tp_lines_alloc(sizeof *server);
    if (server == NULL)
        return TP_EXIT_FAILED;
    server->config = config;
    server->acceptor.config = server->life.config = config;
    server->acceptor.fd = server->stats_fd = -1;
    server->acceptor.connections = &server->connections;
    server->life.context = server;
    server->life.enter = enter_cb;
    server->life.left = left_cb;
    server->life.hung_up = hung_up_cb;
    server->life.answers = answers_cb;
    server->life.trim = (struct tp_trim){.cap = &server->cap, .held = &server->held};
    server->stats_daemon = (struct tp_stats_daemon){
        .life = &server->life, .started_us = tp_clock_now_us(), .started_unix_ms = (int64_t)(tp_clock_unix_us() / 1000)};
    server->threads = config->threads != 0 ? (unsigned)config->threads : uv_available_parallelism();
    int error = make_metrics(server); /* first, for the limit of slow ticks that each loop's have */
    apply_live(server);
    tp_config_log_strangers(config->environment);
    server->held.keeps_gone = true; /* no loop that ticks frees a version */
    tp_world_thread_init(&server->world_thread);
    tp_log_thread_name("loop0");

    enum tp_exit code = error == 0 ? start(server) : fail(TP_EXIT_FAILED, "out of memory");
    if (code != TP_EXIT_CLEAN)
        unwind(server);
    if (server->loops_made > 0)
        tp_loop_run(&server->loops[0]);
    enum tp_exit end_code = end(server);
    if (code == TP_EXIT_CLEAN) {
        code = end_code;
        tp_log(TP_LOG_INFO, "ended", "exit=%d", code);
    }
    tp_log_tell_suppressed(true);
    free(server);
    return code;
}
