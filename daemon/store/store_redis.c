/* Happy path: a call is queued and wakes the store's thread; there each map begins its calls in order (redis_map.c). Puts, batches and drops
 * go into the map's log over one connection, the writer; the other, the reader, waits for what comes out of all logs that are followed, and
 * what is read back is decided, and told.
 *
 * Failure modes:
 * - a connection is lost: every map is AWAY, what waits is refused, what was sent stays pending: it is decided if it is read after all, and
 *   given up as unknown if the log is read to its end without it, or after some seconds. When both are back every map is looked at
 *   (redis_reconcile.c) before it takes batches again.
 * - Redis refuses a write: the call is refused with its words; the status says so until a write is taken (one of no meaning is tried).
 * - a server that is a replica now: the connections are lost on purpose, and the master is looked for anew.
 * - the two connections end at different servers: both are lost.
 * - out of memory: a call is not taken, or an entry is read again later; never half an answer.
 */
#include "daemon/store/redis_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    FIRST_TRY_MS = 300, /* how long opening waits to know how Redis stands */
    END_MS = 2000,      /* how long closing waits for what was submitted */
    LOOK_MS = 100,      /* between looks at one map after the other */
    PROBE_MS = 500,
    DEFAULT_BATCHES = 4096,
    DEFAULT_SECONDS = 60,
    COMMANDS_MAX = 2 * TP__REDIS_IN_FLIGHT_MAX,
};

/* ---- Small things ---- */

uint64_t tp__redis_random(struct tp__redis_store *store)
{
    store->random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = store->random;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

void tp__redis_tag_new(struct tp__redis_store *store, uint8_t tag[TP_LOG_TAG_BYTES])
{
    uint64_t words[2] = {tp__redis_random(store), tp__redis_random(store)};
    _Static_assert(sizeof words == TP_LOG_TAG_BYTES, "a tag is two words");
    memcpy(tag, words, sizeof words);
}

struct tp__redis_call *tp__redis_calls_take(struct tp__redis_calls *calls)
{
    struct tp__redis_call *call = calls->first;
    if (call == NULL)
        return NULL;
    calls->first = call->next;
    if (calls->first == NULL)
        calls->last = &calls->first;
    call->next = NULL;
    return call;
}

void tp__redis_calls_remove(struct tp__redis_calls *calls, struct tp__redis_call *call)
{
    struct tp__redis_call **at = &calls->first;
    while (*at != NULL && *at != call)
        at = &(*at)->next;
    if (*at == NULL)
        return;
    *at = call->next;
    if (*at == NULL)
        calls->last = at;
    call->next = NULL;
}

void tp__redis_call_free(struct tp__redis_call *call)
{
    tp_map_unref(call->put);
    if (call->history != NULL)
        tp__redis_history_fini(call->history);
    free(call->history);
    free(call->snapshot);
    free(call);
}

bool tp__redis_script_send(struct tp_redis_conn *conn, const char *script, int keys, int argc, const char **argv, const size_t *sizes,
                           tp_redis_reply_cb reply, void *context)
{
    const char *all[3 + TP__REDIS_SCRIPT_ARGS_MAX] = {"EVAL", script};
    size_t all_sizes[3 + TP__REDIS_SCRIPT_ARGS_MAX] = {4, strlen(script)};
    char count[8];
    snprintf(count, sizeof count, "%d", keys);
    all[2] = count;
    all_sizes[2] = strlen(count);
    for (int i = 0; i < argc; i++) {
        all[3 + i] = argv[i];
        all_sizes[3 + i] = sizes != NULL ? sizes[i] : strlen(argv[i]);
    }
    return tp_redis_conn_send(conn, 3 + argc, all, all_sizes, TP__REDIS_WRITE_MS, reply, context);
}

bool tp__redis_reply_is(const redisReply *reply, const char *words)
{
    return (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS) && (size_t)reply->len == strlen(words) &&
           memcmp(reply->str, words, strlen(words)) == 0;
}

/* ---- The status ---- */

static const struct tp__redis_map *first_in_trouble(const struct tp__redis_store *store)
{
    const struct tp__redis_map *map = store->maps;
    while (map != NULL && map->trouble == NULL)
        map = map->next;
    return map;
}

/* Makes the status what the connections and the maps say, and logs each new cause once. */
void tp__redis_status_renew(struct tp__redis_store *store)
{
    struct tp_store_status status = {.state = TP_STORE_DEGRADED};
    char cause[128];
    const struct tp__redis_map *map;
    if (!store->writer.is_up)
        snprintf(cause, sizeof cause, "%s", store->writer.cause[0] ? store->writer.cause : "not reached yet");
    else if (!store->reader.is_up)
        snprintf(cause, sizeof cause, "%s", store->reader.cause[0] ? store->reader.cause : "not reached yet");
    else if (store->refused[0])
        snprintf(cause, sizeof cause, "%s", store->refused);
    else if (store->has_few_replicas)
        snprintf(cause, sizeof cause, "fewer than %d replicas have what was written", store->url.wait);
    else if ((map = first_in_trouble(store)) != NULL)
        snprintf(cause, sizeof cause, "map %.60s: %.60s", map->name, map->trouble);
    else
        cause[0] = 0;
    if (cause[0])
        snprintf(status.reason, sizeof status.reason, "redis: %.120s", cause);
    else
        status.state = TP_STORE_OK;
    uint64_t failures = store->writer.failures + store->reader.failures;
    tp_metric_add(&store->metrics->store_errors, failures - store->failures_counted);
    store->failures_counted = failures;
    pthread_mutex_lock(&store->lock);
    store->status = status;
    pthread_mutex_unlock(&store->lock);
    if (strcmp(store->told, cause) == 0)
        return;
    strcpy(store->told, cause);
    if (status.state == TP_STORE_DEGRADED)
        tp_log(TP_LOG_WARN, "store degraded", "reason=\"%s\"", status.reason);
    else
        tp_log(TP_LOG_INFO, "store well", "redis_run=\"%s\"", store->writer.run_id);
}

void tp__redis_write_refused(struct tp__redis_store *store, const char *words)
{
    snprintf(store->refused, sizeof store->refused, "%.*s", (int)strcspn(words, "\r\n"), words);
    tp_metric_add(&store->metrics->store_errors, 1);
    if (strncmp(words, "READONLY", 8) == 0 || strncmp(words, "MASTERDOWN", 10) == 0) {
        tp_redis_conn_lose(&store->writer, "write", words);
        tp_redis_conn_lose(&store->reader, "write", words);
    }
    tp__redis_status_renew(store);
}

void tp__redis_write_taken(struct tp__redis_store *store)
{
    if (store->refused[0] == 0)
        return;
    store->refused[0] = 0;
    tp__redis_status_renew(store);
}

static void probe_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_store *store = context;
    (void)conn;
    if (reply == NULL)
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        tp__redis_write_refused(store, reply->str);
    else
        tp__redis_write_taken(store);
}

/* After a write that Redis refused: whether it takes one again. */
static void probe(struct tp__redis_store *store, uint64_t now_ms)
{
    if ((store->refused[0] == 0 && !store->has_few_replicas) || !store->writer.is_up || now_ms < store->probe_at_ms)
        return;
    store->probe_at_ms = now_ms + PROBE_MS;
    if (store->has_few_replicas)
        uv_prepare_start(&store->ask_replicas, tp__redis_replicas_cb);
    if (store->refused[0] == 0)
        return;
    char key[TP__REDIS_KEY_MAX];
    snprintf(key, sizeof key, "%sprobe", store->url.prefix);
    (void)tp_redis_conn_send(&store->writer, 5, (const char *[]){"SET", key, "1", "PX", "1000"}, NULL, TP__REDIS_WRITE_MS, probe_cb, store);
}

/* ---- Lists ---- */

static void list_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_call *call = context;
    (void)conn;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY) {
        call->listed(TP_ERR_UNAVAILABLE, NULL, 0, call->context);
        tp__redis_call_free(call);
        return;
    }
    /* a name may hold a zero byte, or be none of ours */
    const char **names = calloc(reply->elements + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; names != NULL && i < reply->elements; i++) {
        const redisReply *name = reply->element[i];
        if (name->type == REDIS_REPLY_STRING && strlen(name->str) == (size_t)name->len && tp_world_name_allowed(name->str))
            names[count++] = name->str;
    }
    call->listed(names != NULL ? 0 : TP_ERR_NO_MEMORY, names, count, call->context);
    free(names);
    tp__redis_call_free(call);
}

void tp__redis_list(struct tp__redis_store *store, struct tp__redis_call *call)
{
    char key[TP__REDIS_KEY_MAX];
    snprintf(key, sizeof key, "%smaps", store->url.prefix);
    if (!tp_redis_conn_send(&store->writer, 2, (const char *[]){"SMEMBERS", key}, NULL, TP__REDIS_WRITE_MS, list_cb, call)) {
        call->listed(TP_ERR_UNAVAILABLE, NULL, 0, call->context);
        tp__redis_call_free(call);
    }
}

/* ---- The connections ---- */

static void tried(struct tp__redis_store *store)
{
    tp__redis_status_renew(store);
    pthread_mutex_lock(&store->lock);
    store->tried = true;
    pthread_cond_signal(&store->tried_once);
    pthread_mutex_unlock(&store->lock);
}

static void up_cb(struct tp_redis_conn *conn, void *context)
{
    struct tp__redis_store *store = context;
    if (conn == &store->writer)
        store->run++;
    if (!store->writer.is_up || !store->reader.is_up)
        return;
    if (strcmp(store->writer.run_id, store->reader.run_id) != 0) {
        tp_redis_conn_lose(&store->writer, "redis", "two connections reached two servers");
        tp_redis_conn_lose(&store->reader, "redis", "two connections reached two servers");
        return;
    }
    store->is_up = true;
    store->up_ms = tp_clock_now_ms();
    for (struct tp__redis_map *map = store->maps; map != NULL; map = map->next)
        if (map->state == TP__REDIS_AWAY)
            tp__redis_check(map, 0);
    tp__redis_read(store);
    tried(store);
}

static void lost_cb(struct tp_redis_conn *conn, void *context)
{
    struct tp__redis_store *store = context;
    if (conn == &store->reader)
        tp__redis_read_lost(store);
    if (store->is_up)
        tp_metric_add(&store->metrics->store_reconnects, 1);
    store->is_up = false;
    store->refused[0] = 0;
    for (struct tp__redis_map *map = store->maps, *next; map != NULL; map = next) {
        next = map->next;
        if (map->state == TP__REDIS_CHECKING || map->state == TP__REDIS_OPEN)
            map->state = TP__REDIS_AWAY;
        tp__redis_load_lost(map);
        tp__redis_unread_forget(map);
        tp__redis_map_serve(map);
    }
    tried(store);
}

static int conn_start(struct tp__redis_store *store, struct tp_redis_conn *conn)
{
    struct tp_redis_conn_config config = {
        .loop = &store->loop,
        .url = &store->url,
        .seed = tp__redis_random(store),
        .in_flight_max = COMMANDS_MAX,
        .in_flight_bytes_max = (size_t)1 << 30,
        .context = store,
        .up_cb = up_cb,
        .lost_cb = lost_cb,
    };
    return tp_redis_conn_start(conn, &config);
}

/* ---- The thread ---- */

/* Takes a call from the queue. */
static void begin(struct tp__redis_store *store, struct tp__redis_call *call)
{
    if (call->kind == TP__REDIS_LIST) {
        tp__redis_list(store, call);
        return;
    }
    call->map = tp__redis_map_get(store, call->name);
    if (call->map == NULL) { /* told without a map: there is none before it to keep an order with */
        call->event = (struct tp_store_event){
            .kind = TP_STORE_REFUSED, .name = call->name, .context = call->context, .error = TP_ERR_NO_MEMORY};
        (void)store->head.event(store->head.event_context, &call->event);
        tp__redis_call_free(call);
        return;
    }
    if (!tp__redis_wait_begin(store, call, false)) {
        tp__redis_refuse(call, TP_ERR_UNAVAILABLE, "too many changes wait for Redis");
        return;
    }
    tp__redis_calls_add(&call->map->waiting, call);
}

static void wake_cb(uv_async_t *wake)
{
    struct tp__redis_store *store = wake->data;
    pthread_mutex_lock(&store->lock);
    struct tp__redis_calls queue = store->queue;
    if (queue.first == NULL)
        queue.last = &queue.first;
    tp__redis_calls_init(&store->queue);
    bool closing = store->closing;
    pthread_mutex_unlock(&store->lock);
    for (struct tp__redis_call *call; (call = tp__redis_calls_take(&queue)) != NULL;)
        begin(store, call);
    for (struct tp__redis_map *map = store->maps, *next; map != NULL; map = next) {
        next = map->next;
        tp__redis_map_serve(map);
    }
    if (closing && !store->is_ending) {
        store->is_ending = true;
        store->end_at_ms = tp_clock_now_ms() + END_MS;
    }
}

static bool is_done(const struct tp__redis_store *store)
{
    for (const struct tp__redis_map *map = store->maps; map != NULL; map = map->next)
        if (map->waiting.first != NULL || map->pending.first != NULL)
            return false;
    return true;
}

static void writer_stopped_cb(void *context)
{
    ((struct tp__redis_store *)context)->writer_stopped = true;
}

static void reader_stopped_cb(void *context)
{
    ((struct tp__redis_store *)context)->reader_stopped = true;
}

/* Fails what is left, and lets the loop run out. */
static void end(struct tp__redis_store *store)
{
    uv_close((uv_handle_t *)&store->wake, NULL);
    uv_close((uv_handle_t *)&store->tick, NULL);
    uv_close((uv_handle_t *)&store->ask_replicas, NULL);
    store->is_up = false;
    tp_redis_conn_stop(&store->writer, writer_stopped_cb, store);
    tp_redis_conn_stop(&store->reader, reader_stopped_cb, store);
    tp__redis_read_lost(store);
    for (struct tp__redis_map *map = store->maps, *next; map != NULL; map = next) {
        next = map->next;
        tp__redis_load_lost(map);
        if (map->is_followed)
            map->state = TP__REDIS_AWAY;
        tp__redis_map_fail_all(map);
    }
}

/* What was sent long ago and is not read back: nobody knows. */
static void give_up(struct tp__redis_map *map, uint64_t now_ms)
{
    const struct tp__redis_store *store = map->store;
    const struct tp__redis_call *oldest = map->pending.first;
    uint64_t age_ms = oldest != NULL ? now_ms - oldest->sent_us / 1000 : 0;
    bool is_lost = oldest != NULL && (oldest->run != store->run || !store->is_up);
    if (is_lost && age_ms > TP__REDIS_UNKNOWN_MS)
        tp__redis_pending_give_up(map, !store->is_up);
    else if (age_ms > TP__REDIS_STUCK_MS)
        tp__redis_pending_give_up(map, true);
}

static void tick_cb(uv_timer_t *tick)
{
    struct tp__redis_store *store = tick->data;
    uint64_t now_ms = tp_clock_now_ms();
    if (store->is_ending && (is_done(store) || !store->is_up || now_ms >= store->end_at_ms)) {
        end(store);
        return;
    }
    probe(store, now_ms);
    bool is_look_time = store->is_up && now_ms >= store->look_ms;
    size_t index = 0;
    for (struct tp__redis_map *map = store->maps, *next; map != NULL; map = next, index++) {
        next = map->next;
        if (map->is_stalled) {
            map->is_stalled = false;
            tp__redis_unread_apply(map);
        }
        tp__redis_tell_state(map);
        give_up(map, now_ms);
        if (store->is_up && (map->state == TP__REDIS_CHECKING || map->state == TP__REDIS_AWAY) && map->look_at_ms != 0 && now_ms >= map->look_at_ms)
            tp__redis_look(map);
        else if (is_look_time && index == store->look_next && map->state == TP__REDIS_OPEN)
            tp__redis_look(map);
        if (map->state == TP__REDIS_OPEN)
            tp__redis_snapshot_look(map, now_ms);
        tp__redis_map_serve(map);
        tp__redis_map_rest(map);
    }
    if (is_look_time) {
        store->look_next = index == 0 ? 0 : (store->look_next + 1) % index;
        store->look_ms = now_ms + LOOK_MS;
    }
    tp__redis_read(store);
    tp__redis_status_renew(store);
}

static void *thread_main(void *context)
{
    struct tp__redis_store *store = context;
    tp_log_thread_name("store");
    uv_run(&store->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- The interface ---- */

static struct tp__redis_call *call_new(enum tp__redis_call_kind kind, const char *name, void *context)
{
    struct tp__redis_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->kind = kind;
    if (name != NULL)
        tp_world_name_copy(call->name, name);
    call->context = context;
    return call;
}

static int queue(struct tp_store *head, struct tp__redis_call *call)
{
    struct tp__redis_store *store = (struct tp__redis_store *)head;
    pthread_mutex_lock(&store->lock);
    bool was_empty = store->queue.first == NULL;
    tp__redis_calls_add(&store->queue, call);
    pthread_mutex_unlock(&store->lock);
    if (was_empty)
        uv_async_send(&store->wake);
    return 0;
}

static int redis_put(struct tp_store *store, const char *name, const struct tp_map *map, bool replace, void *context)
{
    struct tp__redis_call *call = call_new(TP__REDIS_PUT, name, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->put = tp_map_ref(map);
    call->is_replacing = replace;
    return queue(store, call);
}

static int redis_submit(struct tp_store *store, const char *name, struct tp_batch *batch, void *context)
{
    struct tp__redis_call *call = call_new(TP__REDIS_SUBMIT, name, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->batch = batch;
    return queue(store, call);
}

static int redis_load(struct tp_store *store, const char *name, void *context)
{
    struct tp__redis_call *call = call_new(TP__REDIS_LOAD, name, context);
    return call == NULL ? TP_ERR_NO_MEMORY : queue(store, call);
}

static int redis_drop(struct tp_store *store, const char *name, bool has_epoch, uint64_t epoch, void *context)
{
    struct tp__redis_call *call = call_new(TP__REDIS_DROP, name, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->has_epoch = has_epoch;
    call->epoch = epoch;
    return queue(store, call);
}

static int redis_list(struct tp_store *store, tp_store_listed_cb listed, void *context)
{
    struct tp__redis_call *call = call_new(TP__REDIS_LIST, NULL, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->listed = listed;
    return queue(store, call);
}

static void redis_status(struct tp_store *head, struct tp_store_status *out)
{
    struct tp__redis_store *store = (struct tp__redis_store *)head;
    pthread_mutex_lock(&store->lock);
    *out = store->status;
    pthread_mutex_unlock(&store->lock);
}

static void store_free(struct tp__redis_store *store)
{
    free(store->reading);
    pthread_cond_destroy(&store->tried_once);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static void redis_close(struct tp_store *head)
{
    struct tp__redis_store *store = (struct tp__redis_store *)head;
    pthread_mutex_lock(&store->lock);
    store->closing = true;
    pthread_mutex_unlock(&store->lock);
    uv_async_send(&store->wake);
    pthread_join(store->thread, NULL);
    while (store->maps != NULL) {
        struct tp__redis_map *map = store->maps;
        tp__redis_history_fini(&map->history);
        map->state = TP__REDIS_IDLE;
        map->is_followed = false;
        tp__redis_map_rest(map);
    }
    int error = uv_loop_close(&store->loop);
    if (error != 0)
        tp_log(TP_LOG_ERROR, "the store's loop is not closed", "error=%s", uv_strerror(error));
    store_free(store);
}

static const struct tp_store_ops redis_ops = {
    .name = "redis",
    .put = redis_put,
    .submit = redis_submit,
    .load = redis_load,
    .drop = redis_drop,
    .list = redis_list,
    .status = redis_status,
    .close = redis_close,
};

/* The loop, its handles and both connections; on an error none of them is left. */
static int loop_begin(struct tp__redis_store *store)
{
    if (uv_loop_init(&store->loop) != 0)
        return TP_ERR_NO_MEMORY;
    if (uv_async_init(&store->loop, &store->wake, wake_cb) != 0) {
        (void)uv_loop_close(&store->loop);
        return TP_ERR_NO_MEMORY;
    }
    uv_timer_init(&store->loop, &store->tick);
    uv_prepare_init(&store->loop, &store->ask_replicas);
    store->wake.data = store->tick.data = store->ask_replicas.data = store;
    uv_timer_start(&store->tick, tick_cb, TP__REDIS_TICK_MS, TP__REDIS_TICK_MS);
    int error = conn_start(store, &store->writer);
    if (error == 0) {
        error = conn_start(store, &store->reader);
        if (error == 0)
            return 0;
        tp_redis_conn_stop(&store->writer, writer_stopped_cb, store);
    }
    uv_close((uv_handle_t *)&store->wake, NULL);
    uv_close((uv_handle_t *)&store->tick, NULL);
    uv_close((uv_handle_t *)&store->ask_replicas, NULL);
    uv_run(&store->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&store->loop);
    return error;
}

static struct timespec timespec_ms(uint64_t ms)
{
    return (struct timespec){.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
}

static void wait_for_first_try(struct tp__redis_store *store)
{
    struct timespec until = timespec_ms(tp_clock_now_ms() + FIRST_TRY_MS);
    pthread_mutex_lock(&store->lock);
    while (!store->tried)
        if (pthread_cond_timedwait(&store->tried_once, &store->lock, &until) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&store->lock);
}

int tp_store_redis_open(struct tp_store **out, const char *url, const struct tp_store_redis_options *options, struct tp_metrics *metrics,
                        char reason[160])
{
    *out = NULL;
    reason[0] = 0;
    struct tp__redis_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return TP_ERR_NO_MEMORY;
    const char *wrong = tp__redis_url_read(&store->url, url);
    if (wrong != NULL) {
        snprintf(reason, 160, "%s", wrong);
        free(store);
        return TP_ERR_INVALID_ARGUMENT;
    }
    store->head = (struct tp_store){.ops = &redis_ops, .is_shared = true};
    store->metrics = metrics;
    if (options != NULL)
        store->options = *options;
    if (store->options.snapshot_batches == 0)
        store->options.snapshot_batches = DEFAULT_BATCHES;
    if (store->options.snapshot_seconds == 0)
        store->options.snapshot_seconds = DEFAULT_SECONDS;
    tp__redis_calls_init(&store->queue);
    store->read_count = 64;
    store->status = (struct tp_store_status){.state = TP_STORE_DEGRADED, .reason = "redis: not reached yet"};
    strcpy(store->told, "not reached yet");
    if (getrandom(&store->random, sizeof store->random, GRND_NONBLOCK) < 0)
        store->random = tp_clock_now_us() ^ (uint64_t)(uintptr_t)store;
    store->instance = tp__redis_random(store);

    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&store->tried_once, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&store->lock, NULL);

    int error = loop_begin(store);
    if (error != 0) {
        store_free(store);
        return error;
    }
    /* The thread takes no signals: they are the main loop's, and a broken pipe is an error code here. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&store->thread, NULL, thread_main, store);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        snprintf(reason, 160, "the store's thread could not be started: %s", strerror(error));
        end(store);
        uv_run(&store->loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&store->loop);
        store_free(store);
        return TP_ERR_IO;
    }
    wait_for_first_try(store);
    *out = &store->head;
    return 0;
}
