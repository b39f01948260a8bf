/* Happy path: a put's snapshot is encoded in the background, a batch's bytes at once; it goes to Redis, one script or XADD each, and is pending
 * until the reader brings it back (redis_read.c, redis_load.c), which decides it. Redis' own answer says only that the log has it; it may come
 * before that or behind it, and the call, and its map, stay until it came. A drop of a map that is followed is told once both are there.
 *
 * Failure modes: Redis refuses it, or there is no log: refused, nothing was done. The connection is lost before the answer: it stays pending, and
 * is given up as unknown if it is not read in time (store_redis.c). A batch met another epoch than it was meant for, and its client named
 * none: it is sent again, in its place. Too few replicas have it in time: its event is held until that is known, then told as unknown. No
 * room in flight: it waits. No memory: refused.
 */
#include "daemon/store/redis_internal.h"

#include "daemon/clock.h"
#include "daemon/store/redis_scripts.h"
#include "daemon/store/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_AGAIN_MS = 1000 };

/* ---- Calls that were sent and are not decided ---- */

static void pending_begin(struct tp__redis_call *call, size_t bytes)
{
    struct tp__redis_store *store = call->map->store;
    call->run = store->run;
    call->sent_us = tp_clock_now_us();
    call->bytes = bytes;
    call->asking = TP__REDIS_ASKED;
    call->place = (struct tp_log_place){0};
    store->in_flight++;
    store->in_flight_bytes += bytes;
    call->map->asked++; /* the answer finds the map, though the call may be told, and the map be gone for all others, before it comes */
    tp__redis_calls_add(&call->map->pending, call);
    if (store->url.wait > 0) {
        call->hold = TP__REDIS_HELD;
        call->waits = store->waits;
        store->waits_held = store->waits + 1;
        uv_prepare_start(&store->ask_replicas, tp__redis_replicas_cb);
    }
}

void tp__redis_pending_end(struct tp__redis_call *call)
{
    struct tp__redis_store *store = call->map->store;
    tp__redis_calls_remove(&call->map->pending, call);
    store->in_flight--;
    store->in_flight_bytes -= call->bytes;
}

struct tp__redis_call *tp__redis_pending_find(struct tp__redis_map *map, const struct tp_redis_entry *entry)
{
    if (entry->instance != map->store->instance)
        return NULL;
    struct tp__redis_call *call = map->pending.first;
    while (call != NULL && call->number != entry->number)
        call = call->next;
    return call;
}

void tp__redis_pending_give_up(struct tp__redis_map *map, bool all)
{
    for (struct tp__redis_call *call = map->pending.first, *next; call != NULL; call = next) {
        next = call->next;
        if (!all && call->run == map->store->run)
            continue;
        bool is_busy = call->kind != TP__REDIS_SUBMIT;
        tp__redis_pending_end(call);
        tp__redis_refuse_unknown(call, "Redis was lost before it was known whether the log has it");
        if (is_busy && map->state == TP__REDIS_BUSY)
            tp__redis_map_resume(map);
    }
}

/* ---- Replicas ---- */

/* A WAIT that was answered, or lost. */
struct asked {
    struct tp__redis_store *store;
    uint64_t number;
};

void tp__redis_release(struct tp__redis_calls *calls, uint64_t number, bool is_enough)
{
    for (struct tp__redis_call *call = calls->first; call != NULL; call = call->next)
        if (call->hold == TP__REDIS_HELD && call->waits <= number)
            call->hold = is_enough ? TP__REDIS_FREE : TP__REDIS_ALONE;
}

static void replicas_release(struct tp__redis_store *store, uint64_t number, bool is_enough)
{
    for (struct tp__redis_map *map = store->maps; map != NULL; map = map->next) {
        tp__redis_release(&map->pending, number, is_enough);
        tp__redis_release(&map->waiting, number, is_enough);
        tp__redis_release(&map->telling, number, is_enough);
        tp__redis_load_release(map, number, is_enough);
        tp__redis_tell_all(map);
    }
}

static void wait_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct asked *asked = context;
    bool is_enough = reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer >= asked->store->url.wait;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
        tp__redis_write_refused(asked->store, reply->str);
    if (reply != NULL)
        asked->store->has_few_replicas = !is_enough;
    tp__redis_status_renew(asked->store);
    asked->store->is_waiting = false;
    if (asked->store->wants_wait && conn->is_up)
        uv_prepare_start(&asked->store->ask_replicas, tp__redis_replicas_cb);
    replicas_release(asked->store, asked->number, is_enough);
    free(asked);
}

void tp__redis_replicas_cb(uv_prepare_t *prepare)
{
    struct tp__redis_store *store = prepare->data;
    char replicas[16], ms[16];
    uv_prepare_stop(prepare);
    store->wants_wait = store->is_waiting; /* Redis holds the connection up as long as one lasts: the next comes when it has ended */
    if (store->is_waiting)
        return;
    snprintf(replicas, sizeof replicas, "%d", store->url.wait);
    struct asked *asked = malloc(sizeof *asked);
    uint64_t number = store->waits++;
    snprintf(ms, sizeof ms, "%d", number < store->waits_held ? TP__REDIS_REPLICAS_MS : TP__REDIS_PROBE_MS);
    if (asked != NULL) {
        *asked = (struct asked){store, number};
        if (tp_redis_conn_send(&store->writer, 3, (const char *[]){"WAIT", replicas, ms}, NULL, TP__REDIS_REPLICAS_MS + TP__REDIS_WRITE_MS, wait_cb,
                               asked)) {
            store->is_waiting = true;
            return;
        }
    }
    free(asked);
    replicas_release(store, number, false);
}

/* ---- Answers ---- */

/* What Redis answers to a call is its last word about it, if it was decided before. */
static bool replied(struct tp__redis_call *call)
{
    call->map->asked--;
    if (call->asking == TP__REDIS_TOLD) {
        tp__redis_call_free(call);
        return false;
    }
    if (call->asking == TP__REDIS_ASKED)
        call->asking = TP__REDIS_REPLIED;
    return true;
}

/* A put or drop came to nothing. */
static void failed(struct tp__redis_call *call, int error, const char *reason)
{
    struct tp__redis_map *map = call->map;
    bool is_own = call->history != NULL; /* a new epoch that is needed: not at once again */
    tp__redis_refuse(call, error, reason);
    tp__redis_map_resume(map);
    if (is_own && tp__redis_map_is_held(map))
        tp__redis_check(map, OWN_AGAIN_MS);
    else if (is_own)
        tp__redis_refuse_loads(map, error, reason);
    tp__redis_map_serve(map);
}

/* Likewise, after it was sent. */
static void refused(struct tp__redis_call *call, int error, const char *reason)
{
    tp__redis_pending_end(call);
    failed(call, error, reason);
}

static void number_print(char text[24], uint64_t number)
{
    snprintf(text, 24, "%" PRIu64, number);
}

/* ---- Puts ---- */

/* The map is, or was, in an epoch that is not below the one of what is put: another daemon's clock is ahead, or it took the same one. Gives true if the
 * reply says so: then it is put again, in a later one. */
static bool put_is_raised(struct tp__redis_call *call, const redisReply *reply)
{
    static const char words[] = "epoch ";
    const size_t size = sizeof words - 1;
    uint64_t last;
    if (reply->type != REDIS_REPLY_STRING || (size_t)reply->len <= size || memcmp(reply->str, words, size) != 0 ||
        !tp__redis_number_read(&last, reply->str + size, (size_t)reply->len - size) || last == UINT64_MAX)
        return false;
    tp__redis_pending_end(call);
    ((struct tp_map *)(uintptr_t)call->put)->epoch = last + 1; /* nobody else uses it yet */
    free(call->snapshot);
    call->snapshot = NULL;
    call->asking = TP__REDIS_UNASKED;
    call->hold = TP__REDIS_FREE;
    tp__redis_put_begin(call);
    return true;
}

static void put_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_call *call = context;
    struct tp__redis_map *map = call->map;
    struct tp__redis_store *store = map->store;
    (void)conn;
    if (!replied(call))
        return;
    if (reply == NULL) {
        if (!map->is_followed) {
            tp__redis_pending_end(call);
            tp__redis_refuse_unknown(call, "Redis was lost before it was known whether it has the map");
            tp__redis_map_resume(map);
        }
        return;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        tp__redis_write_refused(store, reply->str);
        refused(call, TP_ERR_UNAVAILABLE, "Redis refused it");
    } else if (tp__redis_reply_is(reply, "exists")) {
        refused(call, TP_ERR_ALREADY_EXISTS, NULL);
    } else if (tp__redis_reply_is(reply, "moved")) { /* another was first: what it made is looked at */
        tp__redis_pending_end(call);
        tp__redis_refuse(call, TP_ERR_UNAVAILABLE, NULL);
        tp__redis_map_resume(map);
        tp__redis_map_serve(map);
    } else if (put_is_raised(call, reply)) {
        return;
    } else if (!tp__redis_place_read(&call->place, reply)) {
        refused(call, TP_ERR_UNAVAILABLE, "Redis gave an answer that was not expected");
    } else {
        tp__redis_write_taken(store);
        tp_metric_add(&store->metrics->store_snapshots, 1);
        tp_metric_add(&store->metrics->store_written_bytes, call->snapshot_size);
        free(call->snapshot);
        call->snapshot = NULL;
        if (!map->is_followed && map->load == NULL) { /* from just before it on; else the load meets it, or what is read behind it does */
            map->is_followed = true;
            map->history.place = tp__redis_place_before(call->place);
            map->read = map->history.place;
        }
        tp__redis_read_again(store);
    }
}

static void sadd_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)conn, (void)reply, (void)context; /* an error comes to the put, too */
}

static bool put_send(struct tp__redis_call *call)
{
    struct tp__redis_map *map = call->map;
    struct tp__redis_store *store = map->store;
    char epoch[24], field[TP__REDIS_FIELD_MAX], origin[TP_REDIS_ORIGIN_BYTES], tag[TP_REDIS_TAG_TEXT_BYTES], names[TP__REDIS_KEY_MAX];
    uint8_t tag_bytes[TP_LOG_TAG_BYTES];
    number_print(epoch, call->put->epoch);
    tp__redis_snapshot_field_print(field, &(struct tp__redis_snapshot_field){call->put->epoch, call->put->version, {0, 0}});
    call->number = ++store->number;
    tp__redis_origin_print(origin, store->instance, call->number);
    tp__redis_tag_new(store, tag_bytes);
    tp__redis_tag_print(tag, tag_bytes);
    snprintf(names, sizeof names, "%smaps", store->url.prefix);
    const char *mode = call->history != NULL ? "at" : call->is_replacing ? "replace" : "new";
    const char *argv[] = {map->log, map->snaps, map->ended, mode, call->at, epoch, field, (const char *)call->snapshot, origin, tag, store->writer.run_id};
    size_t sizes[11];
    for (size_t i = 0; i < 11; i++)
        sizes[i] = i == 7 ? call->snapshot_size : strlen(argv[i]);
    const char *sadd[] = {"SADD", names, map->name};
    /* the name first: a map that is kept is listed, one that is listed may be gone; and again behind it, for a drop in between */
    if (!tp_redis_conn_send(&store->writer, 3, sadd, NULL, TP__REDIS_WRITE_MS, sadd_cb, NULL) ||
        !tp__redis_script_send(&store->writer, tp__redis_script_put, 3, 11, argv, sizes, put_cb, call))
        return false;
    (void)tp_redis_conn_send(&store->writer, 3, sadd, NULL, TP__REDIS_WRITE_MS, sadd_cb, NULL);
    pending_begin(call, 0);
    return true;
}

static void encode_work(uv_work_t *work)
{
    struct tp__redis_call *call = work->data;
    struct tp_snapshot_extra extra = {.name = call->name, .keys = call->put_keys, .lineage = call->put_lineage};
    if (tp_snapshot_encode_placed(call->put, &extra, &call->snapshot, &call->snapshot_size) != 0)
        call->snapshot = NULL;
}

static void encoded_cb(uv_work_t *work, int status)
{
    struct tp__redis_call *call = work->data;
    struct tp__redis_map *map = call->map;
    map->asked--;
    bool is_made = status == 0 && call->snapshot != NULL;
    if (is_made && map->store->is_up && put_send(call))
        return;
    failed(call, is_made ? TP_ERR_UNAVAILABLE : TP_ERR_NO_MEMORY, is_made ? "Redis is away" : NULL);
}

void tp__redis_put_begin(struct tp__redis_call *call)
{
    struct tp__redis_map *map = call->map;
    map->state = TP__REDIS_BUSY;
    call->work.data = call;
    if (uv_queue_work(&map->store->loop, &call->work, encode_work, encoded_cb) == 0) {
        map->asked++;
        return;
    }
    tp__redis_refuse(call, TP_ERR_NO_MEMORY, NULL);
    tp__redis_map_resume(map);
}

/* ---- Drops ---- */

void tp__redis_name_list(struct tp__redis_map *map)
{
    char names[TP__REDIS_KEY_MAX];
    snprintf(names, sizeof names, "%smaps", map->store->url.prefix);
    (void)tp_redis_conn_send(&map->store->writer, 3, (const char *[]){"SADD", names, map->name}, NULL, TP__REDIS_WRITE_MS, sadd_cb, NULL);
}

static void exists_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_map *map = context;
    (void)conn;
    map->asked--;
    if (reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer != 0)
        tp__redis_name_list(map);
}

/* The name was taken out of the list before the drop: puts it back if the map is there again. */
static void list_again(struct tp__redis_map *map)
{
    if (tp_redis_conn_send(&map->store->writer, 2, (const char *[]){"EXISTS", map->snaps}, NULL, TP__REDIS_WRITE_MS, exists_cb, map))
        map->asked++;
}

static void drop_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_call *call = context;
    struct tp__redis_map *map = call->map;
    (void)conn;
    if (reply == NULL) {
        if (!replied(call))
            return;
        tp__redis_pending_end(call);
        tp__redis_refuse_unknown(call, "Redis was lost before it was known whether it dropped the map");
        tp__redis_map_resume(map);
        return;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        tp__redis_name_list(map);
        tp__redis_write_refused(map->store, reply->str);
        if (replied(call))
            refused(call, TP_ERR_UNAVAILABLE, "Redis refused it");
        return;
    }
    if (tp__redis_reply_is(reply, "epoch")) {
        tp__redis_name_list(map);
        if (replied(call))
            refused(call, TP_ERR_FAILED_PRECONDITION, "the map is in another epoch");
        return;
    }
    tp__redis_write_taken(map->store);
    list_again(map);
    struct tp_log_place place;
    bool is_logged = tp__redis_place_read(&place, reply);
    if (!replied(call))
        return;
    call->place = place;
    if (is_logged && map->is_followed) { /* it is read yet, or waits for this */
        map->is_stalled = false;
        tp__redis_unread_apply(map);
        return;
    }
    tp__redis_pending_end(call);
    tp__redis_map_dropped(map, call);
    tp__redis_map_serve(map);
}

void tp__redis_drop_begin(struct tp__redis_call *call)
{
    struct tp__redis_map *map = call->map;
    struct tp__redis_store *store = map->store;
    char epoch[24], origin[TP_REDIS_ORIGIN_BYTES];
    map->state = TP__REDIS_BUSY;
    number_print(epoch, call->epoch);
    call->number = ++store->number;
    tp__redis_origin_print(origin, store->instance, call->number);
    const char *argv[] = {map->log, map->snaps, map->ended, call->has_epoch ? "1" : "0", epoch, origin};
    char names[TP__REDIS_KEY_MAX];
    snprintf(names, sizeof names, "%smaps", store->url.prefix);
    /* out of the list first: whoever hears of the drop finds it done */
    if (tp_redis_conn_send(&store->writer, 3, (const char *[]){"SREM", names, map->name}, NULL, TP__REDIS_WRITE_MS, sadd_cb, NULL) &&
        tp__redis_script_send(&store->writer, tp__redis_script_drop, 3, 6, argv, NULL, drop_cb, call)) {
        pending_begin(call, 0);
        return;
    }
    tp__redis_refuse(call, TP_ERR_UNAVAILABLE, "Redis is away");
    tp__redis_map_resume(map);
}

/* ---- Batches ---- */

/* Into those that wait, in the order in which they were sent. */
static void wait_again(struct tp__redis_call *call)
{
    struct tp__redis_calls *waiting = &call->map->waiting;
    struct tp__redis_call **at = &waiting->first;
    while (*at != NULL && (*at)->number != 0 && (*at)->number < call->number)
        at = &(*at)->next;
    call->next = *at;
    *at = call;
    if (call->next == NULL)
        waiting->last = &call->next;
    (void)tp__redis_wait_begin(call->map->store, call, true);
}

static void xadd_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_call *call = context;
    struct tp__redis_map *map = call->map;
    struct tp__redis_store *store = map->store;
    (void)conn;
    if (!replied(call) || (reply == NULL && call->asking != TP__REDIS_AGAIN))
        return;
    if (call->asking == TP__REDIS_AGAIN) {
        call->asking = TP__REDIS_REPLIED;
        wait_again(call);
        tp__redis_map_serve(map);
        return;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        tp__redis_write_refused(store, reply->str);
        tp__redis_pending_end(call);
        tp__redis_refuse(call, TP_ERR_UNAVAILABLE, "Redis refused it");
    } else if (!tp__redis_place_read(&call->place, reply)) { /* there is no log */
        tp__redis_pending_end(call);
        tp__redis_refuse(call, TP_ERR_UNAVAILABLE, "the map's log in Redis is gone");
        if (map->state == TP__REDIS_OPEN)
            tp__redis_check(map, 0);
    } else {
        tp__redis_write_taken(store);
        tp_metric_add(&store->metrics->store_batches, 1);
        tp_metric_add(&store->metrics->store_written_bytes, call->bytes);
        tp_metric_observe(&store->metrics->store_sync_seconds, tp_clock_now_us() - call->sent_us);
        if (tp__redis_map_is_held(map) && map->load == NULL)
            tp__redis_passed_over(map, false);
    }
}

bool tp__redis_submit_begin(struct tp__redis_call *call)
{
    struct tp__redis_map *map = call->map;
    struct tp__redis_store *store = map->store;
    const struct tp_batch *batch = call->batch;
    if (store->in_flight >= TP__REDIS_IN_FLIGHT_MAX || store->in_flight_bytes >= TP__REDIS_IN_FLIGHT_BYTES_MAX)
        return false;
    uint8_t *bytes;
    size_t size;
    if (tp_batch_encode(batch->changes, batch->count, &batch->key, &bytes, &size) != 0) {
        tp__redis_refuse(tp__redis_wait_end(map), TP_ERR_NO_MEMORY, NULL);
        return true;
    }
    char epoch[24], base[24], unplaced[24], origin[TP_REDIS_ORIGIN_BYTES];
    number_print(epoch, batch->has_epoch ? batch->epoch : map->history.tip.map->epoch);
    uint64_t number = store->number + 1;
    tp__redis_origin_print(origin, store->instance, number);
    const char *argv[16] = {"XADD", map->log, "NOMKSTREAM", "*", "t", "batch", "e", epoch, "o", origin, "d", (const char *)bytes};
    size_t sizes[16];
    int argc = 12;
    if (batch->has_base_version) {
        number_print(base, batch->base_version);
        argv[argc++] = "v";
        argv[argc++] = base;
    }
    if (!batch->is_placed) {
        number_print(unplaced, batch->unplaced_count);
        argv[argc++] = "u";
        argv[argc++] = unplaced;
    }
    for (int i = 0; i < argc; i++)
        sizes[i] = i == 11 ? size : strlen(argv[i]);
    bool is_sent = tp_redis_conn_send(&store->writer, argc, argv, sizes, TP__REDIS_WRITE_MS, xadd_cb, call);
    free(bytes);
    if (!is_sent)
        return false;
    (void)tp__redis_wait_end(map);
    store->number = call->number = number;
    pending_begin(call, size);
    return true;
}

void tp__redis_submit_again(struct tp__redis_call *call)
{
    tp__redis_pending_end(call);
    if (call->asking == TP__REDIS_REPLIED)
        wait_again(call);
    else
        call->asking = TP__REDIS_AGAIN;
}
