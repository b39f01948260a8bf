/* Happy path: callers append calls to a queue; the store's thread takes all that is queued, keeps of each map
 * only the newest version ("dirty"), writes each as one value in one round trip, and completes every call
 * that it covers. Loads and lists come after the writes queued before them.
 *
 *     P map:NAME   the snapshot of NAME (tp_snapshot_encode)
 *     P maps       the set of all NAMEs
 *                  (P is the prefix, "tickpath:" unless the URL says ?prefix=...)
 *
 * Failure modes:
 * - Redis away, refusing or silent: the link is lost, the calls under way complete with TP_ERR_UNAVAILABLE,
 *   the status says degraded with the cause. The thread tries again after growing pauses (redis_link.h). Dirty
 *   maps stay and are written then; only when all are, the status is well again. A load meanwhile is answered
 *   from the dirty map if there is one.
 * - Out of memory: a write finds its place among the dirty maps before it is taken, or is not taken at all; one
 *   whose snapshot cannot be made stays dirty, like one that Redis refuses.
 * - A drop that Redis may have done or not leaves the map dirty: it stands, and is written again.
 * - An idle link is probed, so that the status does not claim more than it knows.
 * - A map that Redis refuses goes to the end of the line and does not hold up the others for good.
 * - Closing writes what is dirty if the link stands or comes back at once; what is left is lost, and said so.
 * - A host name whose look-up hangs holds this thread, and so the acknowledgements, as long as the resolver
 *   does.
 */
#include "daemon/store_redis.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/redis_link.h"
#include "daemon/snapshot.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_TRY_MS = 300 }; /* how long opening waits to know how Redis stands */
enum { KEY_MAX = TP_REDIS_PREFIX_MAX + TP_WORLD_NAME_MAX + 8 };

/* ---- The store ---- */

enum call_kind { CALL_WRITE, CALL_LOAD, CALL_LIST, CALL_DROP };

struct call {
    struct call *next;
    enum call_kind kind;
    char name[TP_WORLD_NAME_MAX + 1];
    const struct tp_map *map; /* CALL_WRITE, CALL_DROP: a reference, NULL for none */
    struct dirty *room; /* likewise: where the map becomes dirty, so that a write once taken is never lost */
    struct tp_keyed *keyed; /* CALL_WRITE of a batch with a key: where the keys of its map go if there are none yet */
    struct tp_key key;
    bool is_put; /* CALL_WRITE: the map begins anew, without keys */
    tp_store_done_cb done;
    tp_store_loaded_cb loaded;
    tp_store_listed_cb listed;
    void *context;
};

/* A map whose newest version is not in Redis yet. The thread's own. */
struct dirty {
    struct dirty *next;
    char name[TP_WORLD_NAME_MAX + 1];
    const struct tp_map *map; /* a reference */
    struct call *waiting;     /* writes that this one covers, in their order */
    struct call **waiting_last;
};

struct store {
    struct tp_store head;
    struct tp_metrics *metrics;
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows up to the blank line */
    pthread_cond_t wake;  /* this and the next on the monotonic clock */
    pthread_cond_t tried_once;
    struct call *first, **last;
    bool closing, tried;
    struct tp_store_status status;

    /* the thread's own */
    struct tp_redis_link link;
    uint64_t failures_counted; /* of the link's, in the metrics */
    char told[128];            /* the cause last logged */
    struct dirty *dirty, **dirty_last;
    size_t dirty_count;
    struct tp_keyed *keyed; /* the keys of the batches applied last to each map: they go into its every snapshot */
};

/* ---- Keys ---- */

/* What a write says about the keys of its map. */
static void keyed_write(struct store *store, struct call *call)
{
    if (call->is_put)
        tp_keyed_forget(&store->keyed, call->name);
    if (!tp_key_is_set(&call->key))
        return;
    struct tp_keyed *keyed = tp_keyed_find(store->keyed, call->name);
    if (!keyed) {
        keyed = call->keyed;
        call->keyed = NULL;
        tp_keyed_put(&store->keyed, keyed);
    }
    tp_keys_add(&keyed->keys, &call->key, call->map->version);
}

/* ---- Calls ---- */

static void call_done(struct call *call, int error)
{
    switch (call->kind) {
    case CALL_WRITE:
    case CALL_DROP:
        call->done(error, call->context);
        break;
    case CALL_LOAD:
        call->loaded(error, NULL, NULL, NULL, call->context);
        break;
    case CALL_LIST:
        call->listed(error, NULL, 0, call->context);
        break;
    }
    tp_map_unref(call->map);
    free(call->room);
    tp_keyed_free(call->keyed);
    free(call);
}

static void calls_done(struct call **calls, int error)
{
    for (struct call *call; (call = *calls) != NULL;) {
        *calls = call->next;
        call_done(call, error);
    }
}

/* ---- The status ---- */

/* Makes the status what the link and the dirty maps say, and logs each new cause once. */
static void status_renew(struct store *store)
{
    struct tp_store_status status = {.state = TP_STORE_OK};
    if (store->link.cause[0]) {
        status.state = TP_STORE_DEGRADED;
        int n = snprintf(status.reason, sizeof status.reason, "redis: %.100s", store->link.cause);
        if (store->dirty_count && n > 0 && (size_t)n < sizeof status.reason)
            snprintf(status.reason + n, sizeof status.reason - (size_t)n, "; %zu map%s not written yet",
                     store->dirty_count, store->dirty_count == 1 ? "" : "s");
    }
    tp_metric_add(&store->metrics->store_errors, store->link.failures - store->failures_counted);
    store->failures_counted = store->link.failures;
    pthread_mutex_lock(&store->lock);
    store->status = status;
    pthread_mutex_unlock(&store->lock);
    if (strcmp(store->told, store->link.cause) == 0)
        return;
    strcpy(store->told, store->link.cause);
    if (status.state == TP_STORE_DEGRADED) {
        char quoted[200];
        tp_log(TP_LOG_WARN, "store degraded", "reason=%s",
               tp_log_quote(quoted, sizeof quoted, status.reason));
    } else {
        char quoted[300];
        tp_log(TP_LOG_INFO, "store well", "redis_host=%s redis_port=%d",
               tp_log_quote(quoted, sizeof quoted, store->link.url.host), store->link.url.port);
    }
}

/* ---- Writing ---- */

static void key_of(const struct store *store, const char *name, char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "%s%s%s", store->link.url.prefix, name ? "map:" : "maps", name ? name : "");
}

/* Makes the call's version the newest to write of its map, and the call one that waits for it. */
static void dirty_add(struct store *store, struct call *call)
{
    struct dirty *entry = store->dirty;
    while (entry && strcmp(entry->name, call->name) != 0)
        entry = entry->next;
    if (!entry) {
        entry = call->room;
        call->room = NULL;
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
    const struct tp_keyed *keyed = tp_keyed_find(store->keyed, entry->name);
    int error = tp_snapshot_encode(entry->map, keyed ? &keyed->keys : NULL, &bytes, &size);
    if (error)
        return error;
    char key[KEY_MAX], index[KEY_MAX];
    key_of(store, entry->name, key);
    key_of(store, NULL, index);
    uint64_t from_us = tp_clock_now_us();
    const char *set[] = {"SET", key, (const char *)bytes};
    const size_t set_sizes[] = {3, strlen(key), size};
    struct tp_redis_link *link = &store->link;
    bool sent = tp__redis_link_queue(link, 1, (const char *[]){"MULTI"}, NULL) &&
                tp__redis_link_queue(link, 3, set, set_sizes) &&
                tp__redis_link_queue(link, 3, (const char *[]){"SADD", index, entry->name}, NULL) &&
                tp__redis_link_queue(link, 1, (const char *[]){"EXEC"}, NULL);
    free(bytes);
    if (!sent)
        return TP_ERR_UNAVAILABLE;
    for (int i = 0; i < 4; i++) {
        redisReply *reply = tp__redis_link_read(link, "SET", NULL);
        if (!reply)
            return TP_ERR_UNAVAILABLE;
        freeReplyObject(reply);
    }
    tp_metric_add(&store->metrics->store_writes, 1);
    tp_metric_add(&store->metrics->store_snapshots, 1);
    tp_metric_add(&store->metrics->store_syncs, 1);
    tp_metric_add(&store->metrics->store_written_bytes, size);
    tp_metric_observe(&store->metrics->store_sync_us, tp_clock_now_us() - from_us);
    return TP_OK;
}

/* Tries each dirty map once while the link stands; what waits for one is answered either way. */
static void write_dirty(struct store *store)
{
    for (size_t left = store->dirty_count; left > 0; left--) {
        struct dirty *entry = store->dirty;
        int error = store->link.context ? write_map(store, entry) : TP_ERR_UNAVAILABLE;
        store->dirty = entry->next;
        if (!store->dirty)
            store->dirty_last = &store->dirty;
        if (error) {
            entry->next = NULL;
            *store->dirty_last = entry;
            store->dirty_last = &entry->next;
            if (error != TP_ERR_UNAVAILABLE && store->link.context)
                tp__redis_link_lose(&store->link, entry->name, "out of memory for its snapshot");
            status_renew(store); /* whoever hears of the failure finds the status told */
            calls_done(&entry->waiting,
                       TP_ERR_UNAVAILABLE); /* whatever failed: it stays dirty, and is written yet */
            entry->waiting_last = &entry->waiting;
            continue;
        }
        store->dirty_count--;
        calls_done(&entry->waiting, TP_OK);
        tp_map_unref(entry->map);
        free(entry);
    }
    if (store->link.context)
        tp__redis_link_well(&store->link);
    status_renew(store);
}

/* ---- Dropping ---- */

/* Removes both keys of a map or neither, in one round trip. *is_sent: Redis may have done it, whatever came back. */
static int remove_map(struct store *store, const char *name, bool *is_sent)
{
    char key[KEY_MAX], index[KEY_MAX];
    key_of(store, name, key);
    key_of(store, NULL, index);
    struct tp_redis_link *link = &store->link;
    *is_sent = link->context != NULL;
    if (link->context == NULL || !tp__redis_link_queue(link, 1, (const char *[]){"MULTI"}, NULL) ||
        !tp__redis_link_queue(link, 2, (const char *[]){"DEL", key}, NULL) ||
        !tp__redis_link_queue(link, 3, (const char *[]){"SREM", index, name}, NULL) ||
        !tp__redis_link_queue(link, 1, (const char *[]){"EXEC"}, NULL))
        return TP_ERR_UNAVAILABLE;
    for (int i = 0; i < 4; i++) {
        redisReply *reply = tp__redis_link_read(link, "DEL", NULL);
        if (!reply)
            return TP_ERR_UNAVAILABLE;
        freeReplyObject(reply);
    }
    return TP_OK;
}

/* A map that is gone has nothing to be written any more. Nobody waits for it: writes are answered with their try. */
static void dirty_forget(struct store *store, const char *name)
{
    for (struct dirty **link = &store->dirty, *entry; (entry = *link) != NULL; link = &entry->next) {
        if (strcmp(entry->name, name) != 0)
            continue;
        *link = entry->next;
        if (!*link)
            store->dirty_last = link;
        store->dirty_count--;
        tp_map_unref(entry->map);
        free(entry);
        return;
    }
}

static void drop(struct store *store, struct call *call)
{
    bool is_sent;
    int error = remove_map(store, call->name, &is_sent);
    if (!error) {
        dirty_forget(store, call->name);
        tp_keyed_forget(&store->keyed, call->name);
    } else if (is_sent && call->map) { /* written again once Redis is back, so that it holds what stands */
        dirty_add(store, call);
        status_renew(store);
        for (struct dirty *entry = store->dirty; entry; entry = entry->next)
            if (strcmp(entry->name, call->name) == 0) {
                calls_done(&entry->waiting, error);
                entry->waiting_last = &entry->waiting;
                return;
            }
    }
    status_renew(store);
    call_done(call, error);
}

/* ---- Reading ---- */

/* Answers a load from what is not written yet. */
static void load_dirty(struct store *store, const struct dirty *entry, struct call *call)
{
    const struct tp_keyed *keyed = tp_keyed_find(store->keyed, entry->name);
    struct tp_keys keys = {0}; /* a copy: the callback may take them out */
    if (keyed && tp_keys_copy(&keys, &keyed->keys) != 0)
        call->loaded(TP_ERR_NO_MEMORY, NULL, NULL, NULL, call->context);
    else
        call->loaded(TP_OK, (struct tp_map *)(uintptr_t)tp_map_ref(entry->map), &keys, NULL, call->context);
    tp_keys_fini(&keys);
    free(call);
}

static void load(struct store *store, struct call *call)
{
    for (struct dirty *entry = store->dirty; entry; entry = entry->next)
        if (strcmp(entry->name, call->name) == 0) {
            load_dirty(store, entry, call);
            return;
        }
    char key[KEY_MAX];
    key_of(store, call->name, key);
    redisReply *reply = store->link.context
                            ? tp__redis_link_ask(&store->link, "WRONGTYPE", 2, (const char *[]){"GET", key})
                            : NULL;
    if (!reply) {
        status_renew(store);
        call_done(call, TP_ERR_UNAVAILABLE);
        return;
    }
    struct tp_map *map = NULL;
    struct tp_keys keys = {0};
    const char *reason = "its key in Redis is no string";
    int error = TP_ERR_CORRUPT;
    if (reply->type == REDIS_REPLY_NIL)
        error = TP_ERR_NOT_FOUND;
    else if (reply->type == REDIS_REPLY_STRING)
        error = tp_snapshot_decode(&map, &keys, reply->str, reply->len, &reason);
    freeReplyObject(reply);
    if (!error && tp_keyed_set(&store->keyed, call->name, &keys) != 0) {
        tp_map_unref(map);
        map = NULL;
        error = TP_ERR_NO_MEMORY;
    }
    call->loaded(error, map, &keys, error == TP_ERR_CORRUPT ? reason : NULL, call->context);
    tp_keys_fini(&keys);
    free(call);
}

static void list(struct store *store, struct call *call)
{
    char key[KEY_MAX];
    key_of(store, NULL, key);
    redisReply *reply = store->link.context
                            ? tp__redis_link_ask(&store->link, NULL, 2, (const char *[]){"SMEMBERS", key})
                            : NULL;
    if (!reply || reply->type != REDIS_REPLY_ARRAY) {
        if (reply)
            freeReplyObject(reply);
        status_renew(store);
        call_done(call, TP_ERR_UNAVAILABLE);
        return;
    }
    const char **names = calloc(reply->elements + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; names && i < reply->elements; i++) {
        const redisReply *name = reply->element[i];
        if (name->type == REDIS_REPLY_STRING && (size_t)name->len <= TP_WORLD_NAME_MAX)
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
            keyed_write(store, call);
            dirty_add(store, call);
            if (calls && calls->kind == CALL_WRITE)
                continue;
            write_dirty(store);
        } else if (call->kind == CALL_DROP) {
            drop(store, call);
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
    uint64_t now = tp_clock_now_ms();
    if (!store->link.context && now >= store->link.retry_at_ms) {
        tp__redis_link_open(&store->link);
        if (store->link.context)
            write_dirty(store);
    } else if (store->link.context && now >= store->link.ping_at_ms) {
        tp__redis_link_ping(&store->link);
    }
    status_renew(store);
    pthread_mutex_lock(&store->lock);
    store->tried = true;
    pthread_cond_signal(&store->tried_once);
    pthread_mutex_unlock(&store->lock);
}

static struct timespec timespec_ms(uint64_t ms)
{
    return (struct timespec){.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
}

/* Waits for calls, for closing, or for the time to tend the link; gives the calls. */
static struct call *wait_for_calls(struct store *store, bool *closing)
{
    struct timespec until =
        timespec_ms(store->link.context ? store->link.ping_at_ms : store->link.retry_at_ms);
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
    if (store->dirty && !store->link.context)
        tp__redis_link_open(&store->link);
    if (store->dirty && store->link.context)
        write_dirty(store);
    for (struct dirty *entry; (entry = store->dirty) != NULL;) {
        store->dirty = entry->next;
        tp_log(TP_LOG_ERROR, "map not written to redis", "map=%s version=%llu", entry->name,
               (unsigned long long)entry->map->version);
        calls_done(&entry->waiting, TP_ERR_UNAVAILABLE);
        tp_map_unref(entry->map);
        free(entry);
    }
    while (store->keyed)
        tp_keyed_forget(&store->keyed, store->keyed->name);
    tp__redis_link_fini(&store->link);
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

/* `key`: of the batch, perhaps not set; NULL: it is no batch. */
static int submit_map(enum call_kind kind, struct tp_store *store, const char *name, const struct tp_map *map,
                      const struct tp_key *key, tp_store_done_cb done, void *context)
{
    struct call *call = call_new(kind, name, context);
    struct dirty *room = calloc(1, sizeof *room);
    bool has_key = key && tp_key_is_set(key);
    struct tp_keyed *keyed = has_key ? tp_keyed_new(name) : NULL;
    if (!call || !room || (has_key && !keyed)) {
        free(call);
        free(room);
        tp_keyed_free(keyed);
        return TP_ERR_NO_MEMORY;
    }
    call->is_put = kind == CALL_WRITE && !key;
    if (has_key)
        call->key = *key;
    call->keyed = keyed;
    call->room = room;
    call->map = map ? tp_map_ref(map) : NULL;
    call->done = done;
    submit((struct store *)store, call);
    return 0;
}

static int redis_put(struct tp_store *store, const char *name, const struct tp_map *map,
                     tp_store_done_cb done, void *context)
{
    return submit_map(CALL_WRITE, store, name, map, NULL, done, context);
}

static int redis_drop(struct tp_store *store, const char *name, const struct tp_map *map,
                      tp_store_done_cb done, void *context)
{
    return submit_map(CALL_DROP, store, name, map, NULL, done, context);
}

static int redis_append(struct tp_store *store, const char *name, const struct tp_map *after,
                        const void *batch, size_t batch_bytes, tp_store_done_cb done, void *context)
{
    struct tp_key key;
    tp_batch_key(batch, batch_bytes, &key);
    return submit_map(CALL_WRITE, store, name, after, &key, done, context);
}

/* Without memory for the call there is nothing to queue: it completes here, on the caller's thread. */
static void redis_load(struct tp_store *store, const char *name, tp_store_loaded_cb loaded, void *context)
{
    struct call *call = call_new(CALL_LOAD, name, context);
    if (!call) {
        loaded(TP_ERR_NO_MEMORY, NULL, NULL, NULL, context);
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
    pthread_cond_destroy(&store->tried_once);
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
    .drop = redis_drop,
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
    struct tp_redis_url parts;
    const char *wrong = tp__redis_url_read(&parts, url);
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
    tp__redis_link_init(&store->link, &parts);
    strcpy(store->told, store->link.cause);
    snprintf(store->status.reason, sizeof store->status.reason, "redis: %.100s", store->link.cause);

    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&store->wake, &monotonic);
    pthread_cond_init(&store->tried_once, &monotonic);
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
    struct timespec until = timespec_ms(tp_clock_now_ms() + FIRST_TRY_MS);
    pthread_mutex_lock(&store->lock);
    while (!store->tried)
        if (pthread_cond_timedwait(&store->tried_once, &store->lock, &until) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&store->lock);
    *out = &store->head;
    return TP_OK;
}
