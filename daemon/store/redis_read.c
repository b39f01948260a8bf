/* Happy path: one XREAD at a time waits for the logs of all maps that are followed. What it brings of a map is copied; together with the next
 * XREAD goes the question whether the log still has the entry that was applied last: if so, nothing is missing before what was read, and it
 * is applied, in order.
 *
 * Failure modes: the entry applied last is gone (trimmed, lost): what was read is forgotten, and the map is checked. No memory: the rest is
 * read, or applied, later. A log that is no Stream: XREAD fails for all maps; each is looked at, and the broken one left out.
 */
#include "daemon/store/redis_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/store/redis_scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MS = 200, READ_MS = 3000, COUNT_MIN = 16, COUNT_MAX = 1000, READ_BYTES = 8 << 20 };

void tp__redis_unread_forget(struct tp__redis_map *map)
{
    while (map->unread != NULL) {
        struct tp_redis_entry *entry = map->unread;
        map->unread = entry->next;
        free(entry);
    }
    map->unread_last = &map->unread;
    map->read = map->history.place;
    map->is_stalled = false;
}

/* ---- Applying ---- */

/* A batch of our own was decided. */
static void tell_own(struct tp__redis_map *map, struct tp__redis_call *own, const struct tp_redis_decided *decided)
{
    const struct tp_map *now = map->history.tip.map;
    struct tp__redis_store *store = map->store;
    tp_metric_observe(&store->metrics->store_log_seconds, tp_clock_now_us() - own->sent_us);
    tp__redis_pending_end(own);
    if (decided->error != 0) {
        own->event.refused = decided->refused;
        tp__redis_refuse(own, decided->error, NULL);
    } else if (decided->repeated != 0) {
        own->event.version = decided->repeated;
        tp__redis_answer(own, TP_STORE_REPEATED, now);
    } else {
        tp__redis_answer(own, TP_STORE_VERSION, now);
    }
}

/* The map begins anew with what we put. False: no memory, and nothing was done. */
static bool apply_own_put(struct tp__redis_map *map, struct tp_redis_entry *entry, struct tp__redis_call *own)
{
    struct tp_log_place read = map->read;
    if (tp__redis_history_begin(&map->history, own->put, own->put_keys, own->put_lineage, entry) != 0)
        return false;
    map->read = read;
    tp__redis_pending_end(own);
    map->snapshot_epoch = own->put->epoch;
    map->snapshot_version = own->put->version;
    map->changed_ms = 0;
    map->trouble = NULL;
    if (own->history != NULL) { /* the store's own */
        map->told_reason = own->reason;
        tp__redis_call_end(own);
        tp__redis_tell_state(map);
    } else {
        tp__redis_answer(own, TP_STORE_BEGUN, map->history.tip.map);
    }
    if (map->state == TP__REDIS_BUSY)
        tp__redis_map_resume(map);
    return true;
}

/* A call of ours that stands in the log and was passed: a load met it if it is a put, and then the map began with it; of another nobody knows. */
static void pass_over(struct tp__redis_map *map, struct tp__redis_call *own)
{
    bool is_busy = own->kind != TP__REDIS_SUBMIT;
    tp__redis_pending_end(own);
    if (own->kind != TP__REDIS_PUT) {
        tp__redis_refuse_unknown(own, "the map began anew before it was read");
    } else if (own->history == NULL) {
        tp__redis_answer(own, TP_STORE_BEGUN, own->put);
    } else { /* the store's own */
        map->told_reason = own->reason;
        tp__redis_call_end(own);
    }
    if (is_busy && map->state == TP__REDIS_BUSY)
        tp__redis_map_resume(map);
}

void tp__redis_passed_over(struct tp__redis_map *map, bool only_puts)
{
    for (struct tp__redis_call *call = map->pending.first, *next; call != NULL; call = next) {
        next = call->next;
        if (!tp_log_place_is_start(call->place) && tp_log_place_compare(call->place, map->history.place) <= 0 &&
            (call->kind == TP__REDIS_PUT || !only_puts))
            pass_over(map, call);
    }
}

/* Own calls before an entry that is read: whoever trimmed them had put the map anew. */
static void pass_over_before(struct tp__redis_map *map, struct tp_log_place place)
{
    struct tp__redis_call *call;
    while ((call = map->pending.first) != NULL && !tp_log_place_is_start(call->place) && tp_log_place_compare(call->place, place) < 0)
        pass_over(map, call);
}

/* Applies one entry, which it takes; false: those behind it are not to be applied now, nor is it itself if the map is stalled: then it stays the
 * caller's. */
static bool apply(struct tp__redis_map *map, struct tp_redis_entry *entry)
{
    struct tp__redis_call *own = tp__redis_pending_find(map, entry);
    struct tp_redis_decided decided;
    struct tp_log_place place = entry->place;
    pass_over_before(map, place);
    if (own != NULL && own->kind == TP__REDIS_DROP && own->asking == TP__REDIS_ASKED) { /* the map is in the list until that came */
        map->is_stalled = true;
        return false;
    }
    if (own != NULL && own->kind == TP__REDIS_PUT && entry->kind == TP_REDIS_PUT) {
        map->is_stalled = !apply_own_put(map, entry, own);
        return !map->is_stalled;
    }
    if (!tp__redis_map_is_held(map)) { /* our put was trimmed, and another's is there */
        free(entry);
        tp__redis_load_begin(map, TP__REDIS_LOAD_BEGUN);
        return false;
    }
    bool is_own_batch = own != NULL && own->kind == TP__REDIS_SUBMIT;
    if (is_own_batch)
        tp__redis_tell_state(map);
    uint64_t before = map->history.tip.map->version;
    switch (tp__redis_history_read(&map->history, entry, is_own_batch ? own->batch : NULL, &decided, map->name)) {
    case TP_REDIS_STEP_DECIDED:
        tp_metric_add(&map->store->metrics->store_entries_read, 1);
        if (map->history.tip.map->version != before)
            tp__redis_snapshot_changed(map);
        if (is_own_batch)
            tell_own(map, own, &decided);
        return true;
    case TP_REDIS_STEP_ELSEWHERE:
        if (is_own_batch)
            tp__redis_submit_again(own);
        return true;
    case TP_REDIS_STEP_NOTHING:
        return true;
    case TP_REDIS_STEP_PUT:
        free(entry);
        tp__redis_load_begin(map, TP__REDIS_LOAD_BEGUN);
        return false;
    case TP_REDIS_STEP_DROP:
        free(entry);
        map->history.place = place;
        if (own != NULL)
            tp__redis_pending_end(own);
        tp__redis_map_dropped(map, own);
        return map->is_followed;
    case TP_REDIS_STEP_NO_MEMORY:
        map->is_stalled = true;
        return false;
    }
    return false;
}

void tp__redis_unread_apply(struct tp__redis_map *map)
{
    while (map->unread != NULL && !map->is_stalled) {
        struct tp_redis_entry *entry = map->unread, *next = entry->next;
        map->unread = next;
        if (next == NULL)
            map->unread_last = &map->unread;
        if (apply(map, entry))
            continue;
        if (map->is_stalled) {
            entry->next = map->unread;
            map->unread = entry;
            if (entry->next == NULL)
                map->unread_last = &entry->next;
        } else {
            tp__redis_unread_forget(map);
        }
        break;
    }
    tp__redis_tell_state(map);
    tp__redis_map_serve(map);
}

/* ---- Reading ---- */

static void has_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_map *map = context;
    (void)conn;
    map->asked--;
    if (reply == NULL || map->unread == NULL)
        return;
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1) {
        tp__redis_unread_apply(map);
        return;
    }
    tp__redis_unread_forget(map);
    if (map->state == TP__REDIS_OPEN || map->state == TP__REDIS_CHECKING)
        tp__redis_check(map, 0);
    else if (map->state == TP__REDIS_BUSY && map->load == NULL && tp__redis_map_is_held(map))
        tp__redis_load_begin(map, TP__REDIS_LOAD_LOST); /* a put or drop of ours is under way: it meets that */
}

/* Nothing before an own put is needed. */
static bool is_proof_needed(const struct tp__redis_map *map)
{
    if (!tp__redis_map_is_held(map))
        return false;
    for (const struct tp__redis_call *call = map->pending.first; call != NULL; call = call->next)
        if (call->kind == TP__REDIS_PUT && tp_log_place_compare(call->place, map->unread->place) == 0)
            return false;
    return true;
}

/* Asks whether the entry applied last is still there. */
static void prove(struct tp__redis_map *map)
{
    char place[TP_LOG_PLACE_TEXT_BYTES];
    if (!is_proof_needed(map)) {
        tp__redis_unread_apply(map);
        return;
    }
    tp_log_place_print(place, map->history.place);
    if (tp__redis_script_send(&map->store->reader, tp__redis_script_has, 1, 2, (const char *[]){map->log, place}, NULL, has_cb, map))
        map->asked++;
    else
        tp__redis_unread_forget(map);
}

void tp__redis_read_count_renew(struct tp__redis_store *store, size_t entries, size_t bytes)
{
    if (entries == 0)
        return;
    size_t count = READ_BYTES / (bytes / entries + 1);
    store->read_count = count < COUNT_MIN ? COUNT_MIN : count > COUNT_MAX ? COUNT_MAX : count;
}

/* Copies a map's entries. */
static void take_entries(struct tp__redis_map *map, const redisReply *entries)
{
    size_t bytes = 0, count = 0;
    for (; count < entries->elements; count++) {
        struct tp_redis_entry *entry;
        if (tp__redis_entry_read(&entry, entries->element[count]) != 0) {
            map->is_stalled = count == 0; /* or that is read again at once, and on and on */
            break;                        /* the rest is read again */
        }
        bytes += entry->bytes;
        entry->next = NULL;
        *map->unread_last = entry;
        map->unread_last = &entry->next;
        map->read = entry->place;
    }
    tp__redis_read_count_renew(map->store, count, bytes);
    tp_metric_add(&map->store->metrics->store_reads, 1);
    if (count > 0)
        prove(map);
}

/* The XREAD asked for what comes next: the map was not loaded, nor what was read of it forgotten, while it was under way. */
static bool is_what_comes_next(const struct tp__redis_map *map)
{
    return map->is_followed && map->state != TP__REDIS_AWAY && tp_log_place_compare(map->read_from, map->read) == 0;
}

static void take_reply(struct tp__redis_store *store, const redisReply *reply)
{
    size_t at = 0; /* the logs come in the order in which they were named */
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *of = reply->element[i];
        if (of->type != REDIS_REPLY_ARRAY || of->elements != 2 || of->element[1]->type != REDIS_REPLY_ARRAY)
            continue;
        while (at < store->reading_count &&
               (store->reading[at] == NULL || !tp__redis_reply_is(of->element[0], store->reading[at]->log)))
            at++;
        if (at == store->reading_count)
            return;
        struct tp__redis_map *map = store->reading[at++];
        if (is_what_comes_next(map))
            take_entries(map, of->element[1]);
    }
}

/* The logs end where they were read to: what an earlier connection took and is not in them by now... nobody knows. */
static void at_the_end(struct tp__redis_store *store)
{
    for (size_t i = 0; i < store->reading_count; i++) {
        struct tp__redis_map *map = store->reading[i];
        if (map != NULL && map->pending.first != NULL && map->unread == NULL && store->reading_run == store->run && is_what_comes_next(map) &&
            (map->state == TP__REDIS_OPEN || map->state == TP__REDIS_BUSY))
            tp__redis_pending_give_up(map, false);
    }
}

static void read_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_store *store = context;
    (void)conn;
    store->is_reading = store->is_woken = false;
    if (reply == NULL)
        return;
    if (reply->type == REDIS_REPLY_ERROR) { /* one of them is no Stream, or the server can't do it: the looks say which */
        for (size_t i = 0; i < store->reading_count; i++)
            if (store->reading[i] != NULL && (store->reading[i]->state == TP__REDIS_OPEN || store->reading[i]->state == TP__REDIS_CHECKING))
                tp__redis_check(store->reading[i], 0);
        return; /* the tick reads again */
    }
    if (reply->type == REDIS_REPLY_ARRAY)
        take_reply(store, reply);
    else
        at_the_end(store);
    tp__redis_read(store);
}

/* How many maps are followed now; their names in reading[]. */
static size_t followed(struct tp__redis_store *store)
{
    size_t count = 0;
    if (store->reading_room < store->map_count) {
        size_t room = 2 * store->map_count;
        struct tp__redis_map **reading = realloc(store->reading, room * sizeof *reading);
        if (reading != NULL) {
            store->reading = reading;
            store->reading_room = room;
        }
    }
    for (struct tp__redis_map *map = store->maps; map != NULL && count < store->reading_room; map = map->next)
        if (map->is_followed && !map->is_broken && !map->is_stalled && map->state != TP__REDIS_AWAY)
            store->reading[count++] = map;
    return count;
}

void tp__redis_read(struct tp__redis_store *store)
{
    enum { HEAD = 6 };
    if (store->is_reading || !store->is_up)
        return;
    size_t count = store->reading_count = followed(store);
    if (count == 0)
        return;
    const char **argv = malloc((HEAD + 2 * count) * sizeof *argv);
    char(*places)[TP_LOG_PLACE_TEXT_BYTES] = malloc(count * sizeof *places);
    if (argv != NULL && places != NULL) {
        char entries[24], block[24];
        snprintf(entries, sizeof entries, "%zu", store->read_count);
        snprintf(block, sizeof block, "%d", BLOCK_MS);
        const char *head[HEAD] = {"XREAD", "COUNT", entries, "BLOCK", block, "STREAMS"};
        memcpy(argv, head, sizeof head);
        for (size_t i = 0; i < count; i++) {
            store->reading[i]->read_from = store->reading[i]->read;
            tp_log_place_print(places[i], store->reading[i]->read);
            argv[HEAD + i] = store->reading[i]->log;
            argv[HEAD + count + i] = places[i];
        }
        store->reading_run = store->run;
        store->is_reading =
            tp_redis_conn_send(&store->reader, (int)(HEAD + 2 * count), argv, NULL, BLOCK_MS + READ_MS, read_cb, store);
    }
    free(argv);
    free(places);
}

static void unblock_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)conn, (void)reply, (void)context; /* where it is not allowed the XREAD ends by itself soon */
}

void tp__redis_read_again(struct tp__redis_store *store)
{
    char id[24];
    if (!store->is_reading) {
        tp__redis_read(store);
        return;
    }
    if (store->is_woken || store->reader.client_id == 0)
        return;
    snprintf(id, sizeof id, "%llu", (unsigned long long)store->reader.client_id);
    store->is_woken = tp_redis_conn_send(&store->writer, 3, (const char *[]){"CLIENT", "UNBLOCK", id}, NULL, TP__REDIS_WRITE_MS, unblock_cb, NULL);
}

void tp__redis_read_lost(struct tp__redis_store *store)
{
    store->is_reading = store->is_woken = false;
    store->reading_count = 0;
}
