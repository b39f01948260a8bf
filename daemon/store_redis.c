/* Happy path: callers append calls to a queue; the store's thread takes all that is queued, keeps of each map
 * only the newest version ("dirty"), writes each as one value in one round trip, and completes every call
 * that it covers. Loads and lists come after the writes queued before them.
 *
 *     P map:NAME   the snapshot of NAME (tp_snapshot_encode)       P is the prefix, "tickpath:" unless the
 * URL says P maps       the set of all NAMEs                            ?prefix=...
 *
 * Failure modes:
 * - Redis away, refusing or silent for COMMAND_MS: the link is dropped, the calls under way complete with
 *   TP_ERR_UNAVAILABLE, the status says degraded with the cause. The thread tries again after a pause that
 * doubles up to PAUSE_MAX_MS, jittered so that a fleet does not come back in step. Dirty maps stay and are
 * written then; only when all are, the status is well again. A load meanwhile is answered from the dirty map
 * if there is one.
 * - An idle link is probed each PING_MS, so that the status does not claim more than it knows.
 * - A map that Redis refuses again and again goes to the end of the line and does not hold up the others.
 * - Closing writes what is dirty if the link stands or comes back at once; what is left is lost, and said so.
 * - A host name whose look-up hangs holds this thread, and so the acknowledgements, as long as the resolver
 * does.
 *
 *     link:  AWAY --connect, AUTH, SELECT, PING--> UP        UP --any error--> AWAY (pause)
 *     status: OK only while UP and nothing dirty was refused; DEGRADED else
 */
#include "daemon/store_redis.h"

#include "daemon/log.h"
#include "daemon/redis_url.h"
#include "daemon/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    CONNECT_MS = 1000,
    COMMAND_MS = 1000,
    PING_MS = 1000,
    PAUSE_MIN_MS = 100,
    PAUSE_MAX_MS = 5000,
    KEY_MAX = TP_REDIS_PREFIX_MAX + TP_MAP_NAME_MAX + 8,
};

/* ---- The store ---- */

enum call_kind { CALL_WRITE, CALL_LOAD, CALL_LIST };

struct call {
    struct call *next;
    enum call_kind kind;
    char name[TP_MAP_NAME_MAX + 1];
    const struct tp_map *map; /* CALL_WRITE: a reference */
    tp_store_done_cb done;
    tp_store_loaded_cb loaded;
    tp_store_listed_cb listed;
    void *context;
};

/* A map whose newest version is not in Redis yet. The thread's own. */
struct dirty {
    struct dirty *next;
    char name[TP_MAP_NAME_MAX + 1];
    const struct tp_map *map; /* a reference */
    struct call *waiting;     /* writes that this one covers, in their order */
    struct call **waiting_last;
};

struct store {
    struct tp_store head;
    struct tp_redis_url url;
    struct tp_metrics *metrics;
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows up to the blank line */
    pthread_cond_t wake;  /* on the monotonic clock */
    struct call *first, **last;
    bool closing;
    struct tp_store_status status;

    /* the thread's own */
    redisContext *link; /* NULL: AWAY */
    struct dirty *dirty, **dirty_last;
    size_t dirty_count;
    char cause[128];      /* why the link was lost or a write refused; empty: all is well */
    char told[128];       /* the cause last logged */
    uint64_t retry_at_ms; /* AWAY: when to try again */
    uint64_t ping_at_ms;  /* UP: when to probe */
    uint64_t pause_ms;
    uint64_t random;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void call_done(struct call *call, int error)
{
    switch (call->kind) {
    case CALL_WRITE:
        call->done(error, call->context);
        break;
    case CALL_LOAD:
        call->loaded(error, NULL, NULL, call->context);
        break;
    case CALL_LIST:
        call->listed(error, NULL, 0, call->context);
        break;
    }
    tp_map_unref(call->map);
    free(call);
}

static void calls_done(struct call **calls, int error)
{
    for (struct call *call; (call = *calls) != NULL;) {
        *calls = call->next;
        call_done(call, error);
    }
}

/* ---- The link ---- */

/* Makes the status what the link and the dirty maps say, and logs each new cause once. */
static void status_renew(struct store *store)
{
    struct tp_store_status status = {.state = TP_STORE_OK};
    if (store->cause[0]) {
        status.state = TP_STORE_DEGRADED;
        int n = snprintf(status.reason, sizeof status.reason, "redis: %.100s", store->cause);
        if (store->dirty_count && n > 0 && (size_t)n < sizeof status.reason)
            snprintf(status.reason + n, sizeof status.reason - (size_t)n, "; %zu map%s not written yet",
                     store->dirty_count, store->dirty_count == 1 ? "" : "s");
    }
    pthread_mutex_lock(&store->lock);
    store->status = status;
    pthread_mutex_unlock(&store->lock);
    if (strcmp(store->told, store->cause) == 0)
        return;
    strcpy(store->told, store->cause);
    if (status.state == TP_STORE_DEGRADED) {
        char quoted[200];
        tp_log(TP_LOG_WARN, "store degraded", "reason=%s",
               tp_log_quote(quoted, sizeof quoted, status.reason));
    } else {
        char quoted[300];
        tp_log(TP_LOG_INFO, "store well", "redis_host=%s redis_port=%d",
               tp_log_quote(quoted, sizeof quoted, store->url.host), store->url.port);
    }
}

/* Loses the link for the cause given; the next try comes after a pause. */
static void link_lost(struct store *store, const char *what, const char *words)
{
    int length = (int)strcspn(words, "\r\n");
    snprintf(store->cause, sizeof store->cause, "%.60s: %.*s", what, length, words);
    if (store->link)
        redisFree(store->link);
    store->link = NULL;
    store->pause_ms = store->pause_ms == 0 ? PAUSE_MIN_MS : store->pause_ms * 2;
    if (store->pause_ms > PAUSE_MAX_MS)
        store->pause_ms = PAUSE_MAX_MS;
    store->random = store->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    store->retry_at_ms = now_ms() + store->pause_ms / 2 + (store->random >> 33) % (store->pause_ms / 2 + 1);
    tp_metric_add(&store->metrics->store_errors, 1);
    status_renew(store);
}

static const char *link_error(const struct store *store)
{
    if (store->link->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK))
        return "no answer in time";
    return store->link->errstr[0] ? store->link->errstr : strerror(errno);
}

/* The next reply of the link; NULL, and the link lost, if none came or it is an error (which may be any
 * inside an array). An error whose words begin with `tolerated` is handed on. */
static redisReply *link_reply(struct store *store, const char *what, const char *tolerated)
{
    void *got = NULL;
    errno = 0;
    if (redisGetReply(store->link, &got) != REDIS_OK) {
        link_lost(store, what, link_error(store));
        return NULL;
    }
    redisReply *reply = got;
    char *refused = reply->type == REDIS_REPLY_ERROR ? reply->str : NULL;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements && !refused; i++)
        if (reply->element[i]->type == REDIS_REPLY_ERROR)
            refused = reply->element[i]->str;
    if (refused && strcmp(what, "AUTH") == 0) /* its words may repeat the password: only their code is told */
        refused[strcspn(refused, " ")] = 0;
    if (refused && !(tolerated && strncmp(refused, tolerated, strlen(tolerated)) == 0)) {
        link_lost(store, what, refused);
        freeReplyObject(reply);
        return NULL;
    }
    return reply;
}

/* Sends one command of strings and waits for its reply, as link_reply. */
static redisReply *link_ask(struct store *store, const char *tolerated, int argc, const char **argv)
{
    if (redisAppendCommandArgv(store->link, argc, argv, NULL) != REDIS_OK) {
        link_lost(store, argv[0], link_error(store));
        return NULL;
    }
    return link_reply(store, argv[0], tolerated);
}

/* Likewise, for commands whose reply says no more than yes. */
static bool link_do(struct store *store, int argc, const char **argv)
{
    redisReply *reply = link_ask(store, NULL, argc, argv);
    if (reply)
        freeReplyObject(reply);
    return reply != NULL;
}

static struct timeval timeval_ms(long ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

/* One try: connects, says who we are, chooses the database. The link stands after it, or link_lost was
 * called. */
static void link_open(struct store *store)
{
    char what[300];
    snprintf(what, sizeof what, "%.60s:%d", store->url.host, store->url.port);
    errno = 0;
    store->link = redisConnectWithTimeout(store->url.host, store->url.port, timeval_ms(CONNECT_MS));
    if (!store->link || store->link->err) {
        link_lost(store, what, store->link ? link_error(store) : "out of memory");
        return;
    }
    fcntl(store->link->fd, F_SETFD, FD_CLOEXEC);
    redisSetTimeout(store->link, timeval_ms(COMMAND_MS));
    if (store->url.has_password) {
        const char *words[3] = {"AUTH"};
        int n = 1;
        if (store->url.user[0])
            words[n++] = store->url.user;
        words[n++] = store->url.password;
        if (!link_do(store, n, words))
            return;
    }
    if (store->url.db != 0) {
        char db[16];
        snprintf(db, sizeof db, "%d", store->url.db);
        if (!link_do(store, 2, (const char *[]){"SELECT", db}))
            return;
    }
    if (!link_do(store, 1, (const char *[]){"PING"}))
        return;
    store->ping_at_ms = now_ms() + PING_MS;
}

/* ---- Writing ---- */

static void key_of(const struct store *store, const char *name, char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "%s%s%s", store->url.prefix, name ? "map:" : "maps", name ? name : "");
}

/* Makes the call's version the newest to write of its map, and the call one that waits for it. */
static void dirty_add(struct store *store, struct call *call)
{
    struct dirty *entry = store->dirty;
    while (entry && strcmp(entry->name, call->name) != 0)
        entry = entry->next;
    if (!entry) {
        entry = calloc(1, sizeof *entry);
        if (!entry) {
            call_done(call, TP_ERR_NO_MEMORY);
            return;
        }
        strcpy(entry->name, call->name);
        entry->waiting_last = &entry->waiting;
        *store->dirty_last = entry;
        store->dirty_last = &entry->next;
        store->dirty_count++;
    }
    tp_map_unref(entry->map);
    entry->map = call->map;
    call->map = NULL;
    *entry->waiting_last = call;
    entry->waiting_last = &call->next;
}

/* Writes one map: both keys or neither, in one round trip. 0, or why not; the link may be gone then. */
static int write_map(struct store *store, const struct dirty *entry)
{
    uint8_t *bytes;
    size_t size;
    int error = tp_snapshot_encode(entry->map, &bytes, &size);
    if (error)
        return error;
    char key[KEY_MAX], index[KEY_MAX];
    key_of(store, entry->name, key);
    key_of(store, NULL, index);
    uint64_t from_us = now_us();
    const char *set[] = {"SET", key, (const char *)bytes};
    const size_t set_sizes[] = {3, strlen(key), size};
    bool sent = redisAppendCommandArgv(store->link, 1, (const char *[]){"MULTI"}, NULL) == REDIS_OK &&
                redisAppendCommandArgv(store->link, 3, set, set_sizes) == REDIS_OK &&
                redisAppendCommandArgv(store->link, 3, (const char *[]){"SADD", index, entry->name}, NULL) ==
                    REDIS_OK &&
                redisAppendCommandArgv(store->link, 1, (const char *[]){"EXEC"}, NULL) == REDIS_OK;
    free(bytes);
    if (!sent) {
        link_lost(store, "SET", link_error(store));
        return TP_ERR_UNAVAILABLE;
    }
    for (int i = 0; i < 4; i++) {
        redisReply *reply = link_reply(store, "SET", NULL);
        if (!reply)
            return TP_ERR_UNAVAILABLE;
        freeReplyObject(reply);
    }
    tp_metric_add(&store->metrics->store_writes, 1);
    tp_metric_add(&store->metrics->store_snapshots, 1);
    tp_metric_add(&store->metrics->store_syncs, 1);
    tp_metric_add(&store->metrics->store_written_bytes, size);
    tp_metric_observe(&store->metrics->store_sync_us, now_us() - from_us);
    store->ping_at_ms = now_ms() + PING_MS;
    return TP_OK;
}

/* Tries each dirty map once while the link stands; what waits for one is answered either way. */
static void write_dirty(struct store *store)
{
    for (size_t left = store->dirty_count; left > 0; left--) {
        struct dirty *entry = store->dirty;
        int error = store->link ? write_map(store, entry) : TP_ERR_UNAVAILABLE;
        store->dirty = entry->next;
        if (!store->dirty)
            store->dirty_last = &store->dirty;
        if (error) {
            entry->next = NULL;
            *store->dirty_last = entry;
            store->dirty_last = &entry->next;
            calls_done(&entry->waiting, error);
            entry->waiting_last = &entry->waiting;
            if (error == TP_ERR_NO_MEMORY && store->link)
                link_lost(store, entry->name, "out of memory for its snapshot");
            continue;
        }
        store->dirty_count--;
        calls_done(&entry->waiting, TP_OK);
        tp_map_unref(entry->map);
        free(entry);
    }
    if (store->link) {
        store->cause[0] = 0;
        store->pause_ms = 0;
    }
    status_renew(store);
}

/* ---- Reading ---- */

static void load(struct store *store, struct call *call)
{
    for (struct dirty *entry = store->dirty; entry; entry = entry->next)
        if (strcmp(entry->name, call->name) == 0) {
            call->loaded(TP_OK, (struct tp_map *)(uintptr_t)tp_map_ref(entry->map), NULL, call->context);
            free(call);
            return;
        }
    char key[KEY_MAX];
    key_of(store, call->name, key);
    redisReply *reply = store->link ? link_ask(store, "WRONGTYPE", 2, (const char *[]){"GET", key}) : NULL;
    if (!reply) {
        call_done(call, TP_ERR_UNAVAILABLE);
        return;
    }
    struct tp_map *map = NULL;
    const char *reason = "its key in Redis is no string";
    int error = TP_ERR_CORRUPT;
    if (reply->type == REDIS_REPLY_NIL)
        error = TP_ERR_NOT_FOUND;
    else if (reply->type == REDIS_REPLY_STRING)
        error = tp_snapshot_decode(&map, reply->str, reply->len, &reason);
    freeReplyObject(reply);
    call->loaded(error, map, error == TP_ERR_CORRUPT ? reason : NULL, call->context);
    free(call);
}

static void list(struct store *store, struct call *call)
{
    char key[KEY_MAX];
    key_of(store, NULL, key);
    redisReply *reply = store->link ? link_ask(store, NULL, 2, (const char *[]){"SMEMBERS", key}) : NULL;
    if (!reply || reply->type != REDIS_REPLY_ARRAY) {
        if (reply)
            freeReplyObject(reply);
        call_done(call, TP_ERR_UNAVAILABLE);
        return;
    }
    const char **names = calloc(reply->elements + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; names && i < reply->elements; i++) {
        const redisReply *name = reply->element[i];
        if (name->type == REDIS_REPLY_STRING && (size_t)name->len <= TP_MAP_NAME_MAX)
            names[count++] = name->str;
    }
    call->listed(names ? TP_OK : TP_ERR_NO_MEMORY, names, count, call->context);
    free(names);
    freeReplyObject(reply);
    free(call);
}

/* ---- The thread ---- */

/* Serves all calls of a list in their order; writes that stand together are one write a map. */
static void serve(struct store *store, struct call *calls)
{
    while (calls) {
        struct call *call = calls;
        calls = call->next;
        call->next = NULL;
        if (call->kind == CALL_WRITE) {
            dirty_add(store, call);
            if (calls && calls->kind == CALL_WRITE)
                continue;
            write_dirty(store);
        } else if (call->kind == CALL_LOAD) {
            load(store, call);
        } else {
            list(store, call);
        }
    }
}

/* Keeps the link: tries again, or probes it, when it is time. */
static void tend(struct store *store)
{
    uint64_t now = now_ms();
    if (!store->link && now >= store->retry_at_ms) {
        link_open(store);
        if (store->link)
            write_dirty(store);
    } else if (store->link && now >= store->ping_at_ms) {
        store->ping_at_ms = now + PING_MS;
        link_do(store, 1, (const char *[]){"PING"});
    }
}

/* Waits for calls, for closing, or for the time to tend the link; gives the calls. */
static struct call *wait_for_calls(struct store *store, bool *closing)
{
    uint64_t at_ms = store->link ? store->ping_at_ms : store->retry_at_ms;
    struct timespec until = {.tv_sec = (time_t)(at_ms / 1000), .tv_nsec = (long)(at_ms % 1000) * 1000000};
    pthread_mutex_lock(&store->lock);
    while (!store->first && !store->closing)
        if (pthread_cond_timedwait(&store->wake, &store->lock, &until) == ETIMEDOUT)
            break;
    struct call *calls = store->first;
    store->first = NULL;
    store->last = &store->first;
    *closing = store->closing;
    pthread_mutex_unlock(&store->lock);
    return calls;
}

/* What closing leaves: one more try for what is dirty. */
static void finish(struct store *store)
{
    if (store->dirty && !store->link)
        link_open(store);
    if (store->dirty && store->link)
        write_dirty(store);
    for (struct dirty *entry; (entry = store->dirty) != NULL;) {
        store->dirty = entry->next;
        tp_log(TP_LOG_ERROR, "map not written to redis", "map=%s version=%llu", entry->name,
               (unsigned long long)entry->map->version);
        calls_done(&entry->waiting, TP_ERR_UNAVAILABLE);
        tp_map_unref(entry->map);
        free(entry);
    }
    if (store->link)
        redisFree(store->link);
    store->link = NULL;
}

static void *thread_main(void *context)
{
    struct store *store = context;
    tp_log_thread_name("store");
    bool closing = false;
    while (!closing) {
        tend(store);
        serve(store, wait_for_calls(store, &closing));
    }
    finish(store);
    return NULL;
}

/* ---- The interface ---- */

static struct call *call_new(enum call_kind kind, const char *name, void *context)
{
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->kind = kind;
    if (name)
        snprintf(call->name, sizeof call->name, "%s", name);
    call->context = context;
    return call;
}

static void submit(struct store *store, struct call *call)
{
    pthread_mutex_lock(&store->lock);
    *store->last = call;
    store->last = &call->next;
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->lock);
}

/* Without memory for the call there is nothing to queue: it completes here, on the caller's thread. */
static void redis_put(struct tp_store *store, const char *name, const struct tp_map *map,
                      tp_store_done_cb done, void *context)
{
    struct call *call = call_new(CALL_WRITE, name, context);
    if (!call) {
        done(TP_ERR_NO_MEMORY, context);
        return;
    }
    call->map = tp_map_ref(map);
    call->done = done;
    submit((struct store *)store, call);
}

static void redis_append(struct tp_store *store, const char *name, const struct tp_map *after,
                         const void *batch, size_t batch_bytes, tp_store_done_cb done, void *context)
{
    (void)batch, (void)batch_bytes;
    redis_put(store, name, after, done, context);
}

static void redis_load(struct tp_store *store, const char *name, tp_store_loaded_cb loaded, void *context)
{
    struct call *call = call_new(CALL_LOAD, name, context);
    if (!call) {
        loaded(TP_ERR_NO_MEMORY, NULL, NULL, context);
        return;
    }
    call->loaded = loaded;
    submit((struct store *)store, call);
}

static void redis_list(struct tp_store *store, tp_store_listed_cb listed, void *context)
{
    struct call *call = call_new(CALL_LIST, NULL, context);
    if (!call) {
        listed(TP_ERR_NO_MEMORY, NULL, 0, context);
        return;
    }
    call->listed = listed;
    submit((struct store *)store, call);
}

static void redis_status(struct tp_store *head, struct tp_store_status *out)
{
    struct store *store = (struct store *)head;
    pthread_mutex_lock(&store->lock);
    *out = store->status;
    pthread_mutex_unlock(&store->lock);
}

static void store_free(struct store *store)
{
    pthread_cond_destroy(&store->wake);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static void redis_close(struct tp_store *head)
{
    struct store *store = (struct store *)head;
    pthread_mutex_lock(&store->lock);
    store->closing = true;
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->thread, NULL);
    store_free(store);
}

static const struct tp_store_ops redis_ops = {
    .name = "redis",
    .put = redis_put,
    .append = redis_append,
    .load = redis_load,
    .list = redis_list,
    .status = redis_status,
    .close = redis_close,
};

int tp_store_redis_open(struct tp_store **out, const char *url, struct tp_metrics *metrics, char reason[160])
{
    *out = NULL;
    reason[0] = 0;
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return TP_ERR_NO_MEMORY;
    const char *wrong = tp__redis_url_read(&store->url, url);
    if (wrong) {
        snprintf(reason, 160, "%s", wrong);
        free(store);
        return TP_ERR_INVALID_ARGUMENT;
    }
    store->head = (struct tp_store){.ops = &redis_ops, .serves_degraded = true};
    store->metrics = metrics;
    store->last = &store->first;
    store->dirty_last = &store->dirty;
    store->status.state = TP_STORE_DEGRADED;
    strcpy(store->cause, "not reached yet");
    strcpy(store->told, store->cause);
    strcpy(store->status.reason, "redis: not reached yet");
    if (getrandom(&store->random, sizeof store->random, GRND_NONBLOCK) < 0)
        store->random = now_us();

    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&store->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&store->lock, NULL);

    /* The thread takes no signals: they are the main loop's, and a broken pipe is an error code here. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&store->thread, NULL, thread_main, store);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        snprintf(reason, 160, "the store's thread could not be started: %s", strerror(error));
        store_free(store);
        return TP_ERR_IO;
    }
    *out = &store->head;
    return TP_OK;
}
