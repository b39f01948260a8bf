/* Happy path: the names of the snapshots; the newest of them, decoded in the background; the log from its place on, page by page, to the end.
 *
 * Failure modes: the log is trimmed between two pages: all is read anew. A snapshot that can't be read is told, and the older one is tried. The
 * log lacks the place that a snapshot names: it is never read on over a gap; where no snapshot can do with the log, the map begins a new epoch
 * from the newest that is good. No good snapshot: the map is corrupt, and nothing is written. There are no snapshots at all, or the log ends
 * with a drop: there is no such map, and one that is held is told as dropped where the log says so. The map is put anew meanwhile: from the
 * beginning. Redis is lost: it ends as if away.
 */
#include "daemon/store/redis_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/store/redis_scripts.h"
#include "daemon/store/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 16, TRIES_MAX = 8, LOAD_MS = 10000 };

struct tp__redis_load {
    struct tp__redis_map *map;
    enum tp__redis_load_why why;
    unsigned tries;
    bool is_dropped; /* the log says so */

    struct tp_log_place last;                           /* of the log, before the snapshots were read; 0-0: it was empty */
    struct tp__redis_snapshot_field fields[FIELDS_MAX]; /* the newest first */
    size_t field_count, field;                          /* that is tried */

    uint32_t asked; /* answers of Redis, and the work, that are still to come: until then it is not freed ... */
    bool is_over;   /* ... though nobody waits for it any more */
    uv_work_t work;
    uint8_t *bytes;
    size_t size;
    int error;
    const char *reason;
    struct tp_snapshot_info info;
    struct tp_map *decoded;
    struct tp_keys keys;

    struct tp_redis_history history; /* that is read */
    bool is_standing;                /* the entry was met that the snapshot stands at */
    size_t asked_count;
    struct tp_log_place page_from;
    bool is_behind; /* the page asked for begins with the last entry of the one before it, which proves that nothing is missing between them */

    struct tp_redis_history good; /* of the newest snapshot that is good, if the log can't go on from it */
    const char *bad;              /* why the last one that is none could not be read */

    struct tp__redis_calls answers; /* own batches met on the way, decided; the map each made in `put` */
    const struct tp_map *begun;     /* a reference: where the first of them stood */
};

static void keys_begin(struct tp__redis_load *load);
static void next_field(struct tp__redis_load *load);

static void load_free(struct tp__redis_load *load)
{
    load->is_over = true;
    if (load->asked > 0)
        return;
    tp__redis_history_fini(&load->history);
    tp__redis_history_fini(&load->good);
    tp_map_unref(load->decoded);
    tp_map_unref(load->begun);
    tp_keys_fini(&load->keys);
    free(load->bytes);
    free(load);
}

/* An answer came, or the work is done. False: it was for nothing, and the load may be gone. */
static bool answered(struct tp__redis_load *load)
{
    load->asked--;
    load->map->asked--;
    if (!load->is_over)
        return true;
    load_free(load);
    return false;
}

static void is_asked(struct tp__redis_load *load)
{
    load->asked++;
    load->map->asked++;
}

/* ---- How it ends ---- */

/* What was met of ours is not told: nobody knows. */
static void answers_unknown(struct tp__redis_load *load)
{
    for (struct tp__redis_call *call; (call = tp__redis_calls_take(&load->answers)) != NULL;)
        tp__redis_refuse_unknown(call, "the map's log was lost while it was read");
}

/* Comes to nothing, and is freed. */
static void fail(struct tp__redis_load *load, int error, const char *reason)
{
    struct tp__redis_map *map = load->map;
    map->load = NULL;
    answers_unknown(load);
    if (load->why == TP__REDIS_LOAD_FIRST) {
        tp__redis_refuse_loads(map, error, reason);
        tp__redis_map_resume(map);
    } else if (error == TP_ERR_NOT_FOUND && (load->why == TP__REDIS_LOAD_BEGUN || load->is_dropped)) {
        tp__redis_map_dropped(map, NULL);
    } else if (!tp__redis_map_is_held(map)) {
        tp__redis_map_resume(map);
    } else {
        map->is_followed = true;
        if (error == TP_ERR_CORRUPT)
            tp__redis_trouble(map, "its snapshots in Redis can't be read");
        else if (map->store->is_up)
            tp__redis_check(map, 200);
        else
            map->state = TP__REDIS_AWAY;
    }
    load_free(load);
    tp__redis_map_serve(map);
}

/* The history is the map's from here on. */
static void take(struct tp__redis_load *load)
{
    struct tp__redis_map *map = load->map;
    const struct tp__redis_snapshot_field *field = &load->fields[load->field];
    map->load = NULL;
    if (load->why != TP__REDIS_LOAD_BEGUN && map->told_epoch != 0 && map->told_epoch != load->history.tip.map->epoch)
        map->told_reason = "it began anew while this daemon was away";
    tp__redis_history_move(&map->history, &load->history);
    map->snapshot_epoch = field->epoch;
    map->snapshot_version = field->version;
    map->changed_ms = map->history.tip.map->version > field->version ? tp_clock_now_ms() : 0;
    map->trouble = NULL;
    tp__redis_passed_over(map, true);
    if (load->begun != NULL)
        tp__redis_tell_map(map, load->begun);
    for (struct tp__redis_call *call; (call = tp__redis_calls_take(&load->answers)) != NULL;) {
        if (call->event.kind != TP_STORE_VERSION) /* it says where the map stood when it was decided */
            tp__redis_tell_map(map, call->put);
        tp__redis_answer(call, call->event.kind, call->put);
    }
    tp__redis_passed_over(map, false);
    load_free(load);
    tp_metric_add(&map->store->metrics->store_loads, 1);
    tp__redis_tell_state(map);
    tp__redis_map_held(map);
    tp__redis_map_serve(map);
}

static void done(struct tp__redis_load *load)
{
    struct tp__redis_map *map = load->map;
    bool is_held = tp__redis_map_is_held(map); /* or an own drop was done meanwhile, and another put it again */
    if (load->why != TP__REDIS_LOAD_LOST || !is_held || tp__redis_reconcile(map, &load->history)) {
        take(load);
        return;
    }
    answers_unknown(load);
    map->load = NULL;
    tp__redis_begin_epoch(map, &load->history, load->history.place, "changes that were acknowledged had been lost from its log in Redis");
    load_free(load);
}

/* Asks Redis, or fails the load. */
static void ask(struct tp__redis_load *load, int argc, const char **argv, tp_redis_reply_cb reply)
{
    if (tp_redis_conn_send(&load->map->store->writer, argc, argv, NULL, LOAD_MS, reply, load))
        is_asked(load);
    else
        fail(load, TP_ERR_UNAVAILABLE, "Redis is away");
}

/* ---- The log ---- */

/* Another try from the start. */
static void again(struct tp__redis_load *load)
{
    answers_unknown(load);
    tp__redis_history_fini(&load->history);
    tp__redis_history_fini(&load->good);
    load->bad = NULL;
    if (++load->tries >= TRIES_MAX)
        fail(load, TP_ERR_UNAVAILABLE, "the map begins anew again and again");
    else
        keys_begin(load);
}

/* The log can't go on from this snapshot. */
static void gap(struct tp__redis_load *load)
{
    char field[TP__REDIS_FIELD_MAX];
    tp__redis_snapshot_field_print(field, &load->fields[load->field]);
    tp_log(TP_LOG_WARN, "gap in the log behind a snapshot", "map=\"%s\" snapshot=%s", load->map->name, field);
    answers_unknown(load);
    if (load->good.tip.map == NULL)
        tp__redis_history_move(&load->good, &load->history);
    else
        tp__redis_history_fini(&load->history);
    load->field++;
    next_field(load);
}

/* An own batch is met: it is decided, and told when the load is done. */
static void decide_own(struct tp__redis_load *load, struct tp__redis_call *own, const struct tp_redis_decided *decided)
{
    tp__redis_pending_end(own);
    own->event.kind = decided->error != 0 ? TP_STORE_REFUSED : decided->repeated != 0 ? TP_STORE_REPEATED : TP_STORE_VERSION;
    own->event.error = decided->error;
    own->event.version = decided->repeated;
    own->event.refused = decided->refused;
    own->put = tp_map_ref(load->history.tip.map);
    tp__redis_calls_add(&load->answers, own);
}

enum met { MET_ON, MET_AGAIN, MET_DROP, MET_GAP, MET_NO_MEMORY };

/* Before the entry that the snapshot stands at. Takes the entry. */
static enum met meet_first(struct tp__redis_load *load, struct tp_redis_entry *entry)
{
    const struct tp__redis_snapshot_field *field = &load->fields[load->field];
    if (!tp_log_place_is_start(field->place)) {
        load->is_standing = tp_log_place_compare(entry->place, field->place) == 0;
        if (!load->is_standing) {
            free(entry);
            return MET_GAP;
        }
        tp__redis_history_stand(&load->history, entry);
        return MET_ON;
    }
    if (entry->kind != TP_REDIS_PUT || entry->epoch != field->epoch) {
        free(entry);
        return MET_ON;
    }
    const struct tp_map *map = tp_map_ref(load->history.tip.map);
    struct tp_lineage lineage = load->history.lineage;
    int error = tp__redis_history_begin(&load->history, map, &load->history.tip.keys, &lineage, entry);
    tp_map_unref(map);
    if (error != 0) {
        free(entry);
        return MET_NO_MEMORY;
    }
    load->is_standing = true;
    return MET_ON;
}

/* Takes the entry. */
static enum met meet(struct tp__redis_load *load, struct tp_redis_entry *entry)
{
    struct tp__redis_map *map = load->map;
    struct tp_redis_decided decided;
    if (!load->is_standing)
        return meet_first(load, entry);
    struct tp__redis_call *own = tp__redis_pending_find(map, entry);
    if (own != NULL && own->kind != TP__REDIS_SUBMIT)
        own = NULL;
    if (own != NULL && load->begun == NULL)
        load->begun = tp_map_ref(load->history.tip.map);
    switch (tp__redis_history_read(&load->history, entry, own != NULL ? own->batch : NULL, &decided, map->name)) {
    case TP_REDIS_STEP_DECIDED:
        if (own != NULL)
            decide_own(load, own, &decided);
        return MET_ON;
    case TP_REDIS_STEP_ELSEWHERE:
        if (own != NULL)
            tp__redis_submit_again(own);
        return MET_ON;
    case TP_REDIS_STEP_NOTHING:
        return MET_ON;
    case TP_REDIS_STEP_PUT:
        free(entry);
        return MET_AGAIN;
    case TP_REDIS_STEP_DROP:
        free(entry);
        return MET_DROP;
    case TP_REDIS_STEP_NO_MEMORY:
        free(entry);
        return MET_NO_MEMORY;
    }
    return MET_NO_MEMORY;
}

static void page_begin(struct tp__redis_load *load, struct tp_log_place from, bool is_behind);

/* Whether a page's first entry has that place. */
static bool begins_at(const redisReply *page, struct tp_log_place place)
{
    struct tp_log_place first;
    const redisReply *entry = page->elements > 0 ? page->element[0] : NULL;
    return entry != NULL && entry->type == REDIS_REPLY_ARRAY && entry->elements == 2 && tp__redis_place_read(&first, entry->element[0]) &&
           tp_log_place_compare(first, place) == 0;
}

static void page_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_load *load = context;
    size_t bytes = 0;
    (void)conn;
    if (!answered(load) || reply == NULL)
        return; /* the connection is lost, and says so next */
    if (reply->type != REDIS_REPLY_ARRAY) {
        bool is_foreign = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "WRONGTYPE", 9) == 0;
        fail(load, is_foreign ? TP_ERR_CORRUPT : TP_ERR_UNAVAILABLE, is_foreign ? "its log in Redis is no Stream" : "Redis can't read its log");
        return;
    }
    struct tp_log_place last = load->history.place;
    size_t known = load->is_behind ? 1 : 0;
    if (load->is_behind && !begins_at(reply, load->page_from)) {
        again(load); /* the log was trimmed while it was read */
        return;
    }
    for (size_t i = known; i < reply->elements; i++) {
        struct tp_redis_entry *entry;
        int error = tp__redis_entry_read(&entry, reply->element[i]);
        if (error != 0) {
            fail(load, error == TP_ERR_NO_MEMORY ? error : TP_ERR_UNAVAILABLE, "Redis gave an answer that was not expected");
            return;
        }
        bytes += entry->bytes;
        last = entry->place;
        switch (meet(load, entry)) {
        case MET_ON:
            break;
        case MET_AGAIN:
            again(load);
            return;
        case MET_DROP:
            load->is_dropped = true;
            fail(load, TP_ERR_NOT_FOUND, NULL);
            return;
        case MET_GAP:
            gap(load);
            return;
        case MET_NO_MEMORY:
            fail(load, TP_ERR_NO_MEMORY, NULL);
            return;
        }
    }
    tp_metric_add(&load->map->store->metrics->store_entries_read, reply->elements - known);
    tp__redis_read_count_renew(load->map->store, reply->elements - known, bytes);
    if (reply->elements == load->asked_count)
        page_begin(load, last, true);
    else if (!load->is_standing)
        gap(load);
    else
        done(load);
}

static void page_begin(struct tp__redis_load *load, struct tp_log_place from, bool is_behind)
{
    char text[TP_LOG_PLACE_TEXT_BYTES], count[24];
    tp_log_place_print(text, from);
    load->page_from = from;
    load->is_behind = is_behind;
    load->asked_count = load->map->store->read_count + (is_behind ? 1 : 0);
    snprintf(count, sizeof count, "%zu", load->asked_count);
    const char *argv[] = {"XRANGE", load->map->log, text, "+", "COUNT", count};
    ask(load, 6, argv, page_cb);
}

/* ---- Snapshots ---- */

static void decode_work(uv_work_t *work)
{
    struct tp__redis_load *load = work->data;
    const struct tp__redis_snapshot_field *field = &load->fields[load->field];
    load->error = tp_snapshot_peek(&load->info, load->bytes, load->size, &load->reason);
    if (load->error != 0)
        return;
    load->error = TP_ERR_CORRUPT;
    if (load->info.is_newer)
        load->reason = "a later program wrote it";
    else if (strcmp(load->info.name, load->map->name) != 0)
        load->reason = "it is of another map";
    else if (load->info.epoch != field->epoch || load->info.version != field->version ||
             tp_log_place_compare(load->info.place, field->place) != 0)
        load->reason = "it is not what its field says";
    else
        load->error = tp_snapshot_decode(&load->decoded, &load->keys, load->bytes, load->size, &load->reason);
}

static void decoded_cb(uv_work_t *work, int status)
{
    struct tp__redis_load *load = work->data;
    free(load->bytes);
    load->bytes = NULL;
    if (!answered(load))
        return;
    if (status != 0 || load->error == TP_ERR_NO_MEMORY) {
        fail(load, TP_ERR_NO_MEMORY, NULL);
        return;
    }
    if (load->error != 0) {
        char field[TP__REDIS_FIELD_MAX];
        tp__redis_snapshot_field_print(field, &load->fields[load->field]);
        tp_log(TP_LOG_ERROR, "snapshot can't be read", "map=\"%s\" snapshot=%s reason=\"%s\"", load->map->name, field, load->reason);
        load->bad = load->reason;
        load->field++;
        next_field(load);
        return;
    }
    if (load->map->store->head.held != NULL)
        tp_map_count_in(load->decoded, load->map->store->head.held);
    tp__redis_history_fini(&load->history);
    load->history.tip = (struct tp_tip){.map = load->decoded, .keys = load->keys};
    load->history.lineage = load->info.lineage;
    load->history.place = load->info.place;
    load->decoded = NULL;
    load->keys = (struct tp_keys){0};
    load->is_standing = false;
    page_begin(load, load->info.place, false);
}

static void get_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_load *load = context;
    (void)conn;
    if (!answered(load) || reply == NULL)
        return;
    if (reply->type == REDIS_REPLY_NIL) { /* a newer one took its place */
        again(load);
        return;
    }
    if (reply->type != REDIS_REPLY_STRING) {
        fail(load, TP_ERR_UNAVAILABLE, "Redis can't read its snapshot");
        return;
    }
    load->size = (size_t)reply->len;
    load->bytes = malloc(load->size + 1);
    load->work.data = load;
    if (load->bytes == NULL) {
        fail(load, TP_ERR_NO_MEMORY, NULL);
        return;
    }
    memcpy(load->bytes, reply->str, load->size);
    if (uv_queue_work(&load->map->store->loop, &load->work, decode_work, decoded_cb) != 0) {
        fail(load, TP_ERR_NO_MEMORY, NULL);
        return;
    }
    is_asked(load);
}

/* No snapshot can do with the log: a new epoch from the best of them, if the log still ends where it did before they were read. */
static void begin_from_good(struct tp__redis_load *load)
{
    struct tp__redis_map *map = load->map;
    map->load = NULL;
    answers_unknown(load);
    if (load->why == TP__REDIS_LOAD_LOST && tp__redis_map_is_held(map)) /* with what we know besides */
        (void)tp__redis_reconcile(map, &load->good);
    tp__redis_begin_epoch(map, &load->good, load->last, "its log in Redis had a gap: changes were lost");
    load_free(load);
}

/* Tries the next snapshot. */
static void next_field(struct tp__redis_load *load)
{
    if (load->field < load->field_count) {
        char field[TP__REDIS_FIELD_MAX];
        tp__redis_snapshot_field_print(field, &load->fields[load->field]);
        const char *argv[] = {"HGET", load->map->snaps, field};
        ask(load, 3, argv, get_cb);
    } else if (load->good.tip.map != NULL) {
        begin_from_good(load);
    } else {
        fail(load, TP_ERR_CORRUPT, load->bad != NULL ? load->bad : "there is no snapshot of it");
    }
}

/* Newest first. */
static void field_insert(struct tp__redis_load *load, const struct tp__redis_snapshot_field *field)
{
    size_t at = load->field_count < FIELDS_MAX ? load->field_count++ : FIELDS_MAX - 1;
    while (at > 0 && (load->fields[at - 1].epoch < field->epoch ||
                      (load->fields[at - 1].epoch == field->epoch && load->fields[at - 1].version < field->version))) {
        load->fields[at] = load->fields[at - 1];
        at--;
    }
    load->fields[at] = *field;
}

/* There are no snapshots: whether the log is one that a drop left behind, which alone has an end. */
static void left_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_load *load = context;
    (void)conn;
    if (!answered(load) || reply == NULL)
        return;
    load->is_dropped = reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0;
    fail(load, TP_ERR_NOT_FOUND, NULL);
}

static void keys_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_load *load = context;
    (void)conn;
    if (!answered(load) || reply == NULL)
        return;
    if (reply->type != REDIS_REPLY_ARRAY) {
        bool is_foreign = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "WRONGTYPE", 9) == 0;
        fail(load, is_foreign ? TP_ERR_CORRUPT : TP_ERR_UNAVAILABLE,
             is_foreign ? "its key in Redis is no hash" : "Redis can't read its snapshots");
        return;
    }
    load->field_count = load->field = 0;
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *name = reply->element[i];
        struct tp__redis_snapshot_field field;
        if (name->type == REDIS_REPLY_STRING && tp__redis_snapshot_field_read(&field, name->str, (size_t)name->len))
            field_insert(load, &field);
    }
    if (reply->elements > 0)
        next_field(load);
    else if (load->why == TP__REDIS_LOAD_LOST) /* a map is held, whose drop may have been trimmed away, or have batches behind it */
        ask(load, 2, (const char *[]){"PTTL", load->map->log}, left_cb);
    else
        fail(load, TP_ERR_NOT_FOUND, NULL);
}

/* Where the log ends, before anything else is read. */
static void last_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_load *load = context;
    (void)conn;
    if (!answered(load))
        return;
    load->last = (struct tp_log_place){0}; /* it is empty, or no Stream, which is found yet */
    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 && reply->element[0]->type == REDIS_REPLY_ARRAY &&
        reply->element[0]->elements == 2)
        (void)tp__redis_place_read(&load->last, reply->element[0]->element[0]);
}

static void keys_begin(struct tp__redis_load *load)
{
    struct tp_redis_conn *writer = &load->map->store->writer;
    const char *last[] = {"XREVRANGE", load->map->log, "+", "-", "COUNT", "1"}, *keys[] = {"HKEYS", load->map->snaps};
    if (!tp_redis_conn_send(writer, 6, last, NULL, LOAD_MS, last_cb, load)) {
        fail(load, TP_ERR_UNAVAILABLE, "Redis is away");
        return;
    }
    is_asked(load);
    ask(load, 2, keys, keys_cb);
}

void tp__redis_load_begin(struct tp__redis_map *map, enum tp__redis_load_why why)
{
    struct tp__redis_load *load = calloc(1, sizeof *load);
    tp__redis_unread_forget(map);
    if (load == NULL) {
        if (why == TP__REDIS_LOAD_FIRST)
            tp__redis_refuse_loads(map, TP_ERR_NO_MEMORY, NULL);
        else
            tp__redis_check(map, 200);
        return;
    }
    load->map = map;
    load->why = why;
    tp__redis_history_init(&load->history);
    tp__redis_history_init(&load->good);
    tp__redis_calls_init(&load->answers);
    map->state = TP__REDIS_BUSY;
    map->is_followed = false;
    map->load = load;
    keys_begin(load);
}

void tp__redis_load_release(struct tp__redis_map *map, uint64_t number, bool is_enough)
{
    if (map->load != NULL)
        tp__redis_release(&map->load->answers, number, is_enough);
}

void tp__redis_load_lost(struct tp__redis_map *map)
{
    if (map->load != NULL)
        fail(map->load, TP_ERR_UNAVAILABLE, "Redis was lost");
}
