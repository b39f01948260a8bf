/* Happy path: the log has the entry that was read last, and was marked since this run of the server began: the map is open.
 *
 * Else:
 * 1. It was not marked: the server may have come back with less than it had. Who read more puts that back; after a pause for that, whoever
 *    is first marks the log, and it goes on under another tag. Batches wait.
 * 2. It ends before that entry, with one that is kept here, or is empty: what it lost is put back as it was, with a snapshot where the log is
 *    empty. The epoch stays.
 * 3. It does not have the entry and goes on behind it: its state is loaded. Where its lineage says that who wrote it had read as far under the
 *    same tag, it was trimmed while we were away, or slow to read, and that is where the map stands: nothing was lost, and nobody is told so.
 * 4. Otherwise changes that were acknowledged here are not in it: they are applied to its state again, and the map begins a new epoch.
 */
#include "daemon/store/redis_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/store/redis_scripts.h"
#include "daemon/store/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGAIN_MS = 100, TROUBLE_MS = 3000, RESTORE_MS = 10000, SNAPLESS_MAX = 20 };

void tp__redis_check(struct tp__redis_map *map, uint64_t pause_ms)
{
    if (!tp__redis_map_is_held(map))
        return;
    map->state = map->store->is_up ? TP__REDIS_CHECKING : TP__REDIS_AWAY;
    map->look_at_ms = tp_clock_now_ms() + pause_ms;
    if (pause_ms == 0 && map->store->is_up)
        tp__redis_look(map);
}

void tp__redis_trouble(struct tp__redis_map *map, const char *words)
{
    if (map->trouble == NULL || strcmp(map->trouble, words) != 0)
        tp_log(TP_LOG_ERROR, "map's log in trouble", "map=\"%s\" reason=\"%s\"", map->name, words);
    map->trouble = words;
    map->state = TP__REDIS_AWAY;
    map->look_at_ms = tp_clock_now_ms() + TROUBLE_MS;
    tp__redis_map_serve(map);
}

static void not_what_it_was(struct tp__redis_map *map)
{
    static const char words[] = "its log in Redis is not what it was";
    if (map->trouble == NULL)
        tp_log(TP_LOG_WARN, "log lost entries", "map=\"%s\"", map->name);
    map->trouble = words;
    tp__redis_status_renew(map->store);
}

/* ---- What the log lost is put back ---- */

struct restore {
    struct tp__redis_map *map;
    uv_work_t work;
    struct tp_log_place last, place; /* the log's last entry (0-0: it is empty); that of the tip */
    const struct tp_map *tip;        /* a reference; NULL: no snapshot is needed */
    struct tp_keys keys;
    struct tp_lineage lineage;
    uint8_t *snapshot;
    size_t size;
};

static void restore_free(struct restore *restore)
{
    tp_map_unref(restore->tip);
    tp_keys_fini(&restore->keys);
    free(restore->snapshot);
    free(restore);
}

static void restored_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_map *map = context;
    (void)conn;
    map->asked--;
    map->is_looking = false;
    if (reply == NULL || map->state == TP__REDIS_BUSY)
        return;
    if (reply->type == REDIS_REPLY_ERROR) {
        bool is_refused = strncmp(reply->str, "OOM", 3) == 0 || strncmp(reply->str, "READONLY", 8) == 0 ||
                          strncmp(reply->str, "MISCONF", 7) == 0 || strncmp(reply->str, "NO", 2) == 0;
        if (is_refused) {
            tp__redis_write_refused(map->store, reply->str);
            tp__redis_check(map, TROUBLE_MS);
        } else { /* the Stream has been past those places */
            tp_log(TP_LOG_WARN, "what the log lost can't be put back", "map=\"%s\" reason=\"%.160s\"", map->name,
                   reply->str);
            tp__redis_load_begin(map, TP__REDIS_LOAD_LOST);
        }
        return;
    }
    if (tp__redis_reply_is(reply, "ok")) {
        tp_log(TP_LOG_WARN, "what the log lost was put back", "map=\"%s\" version=%" PRIu64, map->name, map->history.tip.map->version);
        tp_metric_add(&map->store->metrics->store_restores, 1);
    }
    tp__redis_check(map, 0);
}

static void sadd_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    (void)conn, (void)reply, (void)context;
}

/* The entries behind `last`, up to the tip's; where the log is empty, that alone. */
static bool restore_send(const struct restore *restore)
{
    struct tp__redis_map *map = restore->map;
    struct tp__redis_store *store = map->store;
    const struct tp_redis_entry *from = tp__redis_history_kept(&map->history, restore->place);
    if (!tp_log_place_is_start(restore->last)) {
        from = tp__redis_history_kept(&map->history, restore->last);
        from = from != NULL ? from->next : NULL;
    }
    size_t entries = 0, texts = 0;
    for (const struct tp_redis_entry *entry = from; entry != NULL; entry = entry->next) {
        entries++;
        texts += entry->text_count;
    }
    size_t count = 9 + 2 * entries + texts, n = 0;
    const char **argv = malloc(count * sizeof *argv);
    size_t *sizes = malloc(count * sizeof *sizes);
    char(*numbers)[TP_LOG_PLACE_TEXT_BYTES + 24] = malloc((entries + 1) * sizeof *numbers);
    char last[TP_LOG_PLACE_TEXT_BYTES] = "", field[TP__REDIS_FIELD_MAX] = "", epoch[24], names[TP__REDIS_KEY_MAX];
    bool is_sent = argv != NULL && sizes != NULL && numbers != NULL;
    if (is_sent) {
        if (!tp_log_place_is_start(restore->last))
            tp_log_place_print(last, restore->last);
        snprintf(epoch, sizeof epoch, "%" PRIu64, map->history.tip.map->epoch);
        if (restore->tip != NULL)
            tp__redis_snapshot_field_print(
                field, &(struct tp__redis_snapshot_field){restore->tip->epoch, restore->tip->version, restore->place});
        const char *head[] = {"EVAL", tp__redis_script_restore, "2", map->log, map->snaps, last, field,
                              restore->snapshot != NULL ? (const char *)restore->snapshot : "", epoch};
        for (; n < 9; n++) {
            argv[n] = head[n];
            sizes[n] = n == 7 ? restore->size : strlen(head[n]);
        }
        size_t i = 0;
        for (const struct tp_redis_entry *entry = from; entry != NULL; entry = entry->next, i++) {
            char *place = numbers[i], *texts_count = numbers[i] + TP_LOG_PLACE_TEXT_BYTES;
            tp_log_place_print(place, entry->place);
            snprintf(texts_count, 24, "%zu", entry->text_count);
            argv[n] = place;
            sizes[n++] = strlen(place);
            argv[n] = texts_count;
            sizes[n++] = strlen(texts_count);
            for (size_t j = 0; j < entry->text_count; j++) {
                argv[n] = entry->texts[j].bytes;
                sizes[n++] = entry->texts[j].size;
            }
        }
        snprintf(names, sizeof names, "%smaps", store->url.prefix);
        is_sent = tp_redis_conn_send(&store->writer, 3, (const char *[]){"SADD", names, map->name}, NULL, TP__REDIS_WRITE_MS, sadd_cb, NULL) &&
                  tp_redis_conn_send(&store->writer, (int)n, argv, sizes, RESTORE_MS, restored_cb, map);
    }
    free(argv);
    free(sizes);
    free(numbers);
    return is_sent;
}

static void restore_work(uv_work_t *work)
{
    struct restore *restore = work->data;
    struct tp_snapshot_extra extra = {
        .name = restore->map->name, .keys = &restore->keys, .place = restore->place, .lineage = &restore->lineage};
    if (tp_snapshot_encode_placed(restore->tip, &extra, &restore->snapshot, &restore->size) != 0)
        restore->snapshot = NULL;
}

/* The map's asked and is_looking stand for the answer that is to come. */
static void restore_go(struct restore *restore)
{
    struct tp__redis_map *map = restore->map;
    bool is_same = tp__redis_map_is_held(map) && map->state == TP__REDIS_CHECKING &&
                   tp_log_place_compare(map->history.place, restore->place) == 0 && map->store->is_up;
    if (!is_same || (restore->tip != NULL && restore->snapshot == NULL) || !restore_send(restore)) {
        map->asked--;
        map->is_looking = false;
        if (map->state == TP__REDIS_CHECKING)
            tp__redis_check(map, AGAIN_MS);
    }
    restore_free(restore);
}

static void restore_encoded_cb(uv_work_t *work, int status)
{
    (void)status; /* then there is no snapshot */
    restore_go(work->data);
}

/* `last`: the log's last entry, 0-0 if it is empty. */
static void restore_begin(struct tp__redis_map *map, struct tp_log_place last, bool with_snapshot)
{
    struct restore *restore = calloc(1, sizeof *restore);
    if (restore == NULL) {
        tp__redis_check(map, AGAIN_MS);
        return;
    }
    restore->map = map;
    restore->work.data = restore;
    restore->last = last;
    restore->place = map->history.place;
    restore->lineage = map->history.lineage;
    map->asked++;
    map->is_looking = true;
    if (!with_snapshot) {
        restore_go(restore);
        return;
    }
    restore->tip = tp_map_ref(map->history.tip.map);
    if (tp_keys_copy(&restore->keys, &map->history.tip.keys) != 0 ||
        uv_queue_work(&map->store->loop, &restore->work, restore_work, restore_encoded_cb) != 0)
        restore_go(restore); /* without a snapshot: later */
}

/* ---- Looking ---- */

/* The log ends before what was read. */
static void put_back(struct tp__redis_map *map, struct tp_log_place last)
{
    bool is_empty = tp_log_place_is_start(last);
    const struct tp_redis_entry *common = is_empty ? map->history.first : tp__redis_history_kept(&map->history, last);
    if (common == NULL || tp__redis_history_kept(&map->history, map->history.place) == NULL) {
        tp__redis_load_begin(map, TP__REDIS_LOAD_LOST);
        return;
    }
    bool has_put = is_empty;
    for (const struct tp_redis_entry *entry = common->next; entry != NULL; entry = entry->next)
        has_put = has_put || entry->kind == TP_REDIS_PUT;
    restore_begin(map, last, has_put);
}

static void look_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_map *map = context;
    (void)conn;
    map->asked--;
    map->is_looking = false;
    if (reply == NULL || !tp__redis_map_is_held(map) || map->state == TP__REDIS_BUSY || !map->store->is_up)
        return;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4) {
        map->is_broken = reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "WRONGTYPE") != NULL;
        if (!map->is_broken && reply->type == REDIS_REPLY_ERROR)
            tp__redis_write_refused(map->store, reply->str);
        tp__redis_trouble(map, map->is_broken ? "its key in Redis is of another type" : "Redis can't look at its log");
        return;
    }
    map->is_broken = false;
    bool has = reply->element[0]->integer == 1, is_marked = reply->element[2]->integer == 1, has_snapshots = reply->element[3]->integer == 1;
    struct tp_log_place last;
    bool is_empty = !tp__redis_place_read(&last, reply->element[1]);
    uint64_t now_ms = tp_clock_now_ms();
    if (!has && tp_log_place_compare(map->looked, map->history.place) != 0) { /* the log was read on meanwhile: what is asked now is another place */
        if (map->state != TP__REDIS_OPEN)
            tp__redis_check(map, 0);
        return;
    }
    if (has && is_marked && has_snapshots) {
        map->state = TP__REDIS_OPEN;
        map->grace_until_ms = 0;
        map->look_at_ms = 0;
        map->snapless = 0;
        map->trouble = NULL;
        tp__redis_name_list(map);
        tp__redis_read_again(map->store);
        tp__redis_map_serve(map);
        return;
    }
    if (map->grace_until_ms == 0)
        map->grace_until_ms = now_ms + TP__REDIS_GRACE_MS;
    if (has && !has_snapshots) { /* dropped, which is read yet; or lost */
        if (++map->snapless < SNAPLESS_MAX) {
            tp__redis_check(map, AGAIN_MS);
        } else if (tp_log_place_compare(last, map->history.place) == 0) {
            map->snapless = 0;
            not_what_it_was(map);
            map->state = TP__REDIS_CHECKING;
            restore_begin(map, last, true);
        } else {
            map->snapless = 0;
            tp__redis_load_begin(map, TP__REDIS_LOAD_LOST);
        }
        return;
    }
    if (has) {
        tp__redis_check(map, map->grace_until_ms > now_ms ? map->grace_until_ms - now_ms : 0);
        return;
    }
    if (!is_empty && tp_log_place_compare(last, map->looked) >= 0) {
        tp__redis_load_begin(map, TP__REDIS_LOAD_LOST); /* trimmed, most likely; what it has says whether changes were lost */
        return;
    }
    not_what_it_was(map);
    map->state = TP__REDIS_CHECKING;
    put_back(map, is_empty ? (struct tp_log_place){0} : last);
}

void tp__redis_look(struct tp__redis_map *map)
{
    struct tp__redis_store *store = map->store;
    char place[TP_LOG_PLACE_TEXT_BYTES], tag[TP_REDIS_TAG_TEXT_BYTES] = "";
    if (map->is_looking)
        return;
    map->look_at_ms = tp_clock_now_ms() + AGAIN_MS; /* if it comes to nothing */
    if (map->state != TP__REDIS_OPEN && map->grace_until_ms != 0 && tp_clock_now_ms() >= map->grace_until_ms) {
        uint8_t bytes[TP_LOG_TAG_BYTES];
        tp__redis_tag_new(store, bytes);
        tp__redis_tag_print(tag, bytes);
    }
    map->looked = map->history.place;
    tp_log_place_print(place, map->looked);
    const char *argv[] = {map->log, map->snaps, place, store->writer.run_id, tag};
    map->is_looking = tp__redis_script_send(&store->writer, tp__redis_script_look, 2, 5, argv, NULL, look_cb, map);
    if (map->is_looking)
        map->asked++;
}

/* ---- Two histories ---- */

/* A new epoch for a tip that nobody else has. */
static void renew_epoch(struct tp__redis_map *map, struct tp_tip *tip)
{
    uint64_t epoch = tp_clock_unix_us();
    if (epoch <= tip->map->epoch)
        epoch = tip->map->epoch + 1;
    if (tp__redis_map_is_held(map) && epoch <= map->history.tip.map->epoch)
        epoch = map->history.tip.map->epoch + 1;
    ((struct tp_map *)(uintptr_t)tip->map)->epoch = epoch;
}

/* Applies what made a version here and stands behind `common` to the other history. Gives how many there are. */
static size_t apply_lost(struct tp__redis_map *map, struct tp_redis_history *loaded, struct tp_log_place common)
{
    size_t lost = 0, failed = 0;
    for (const struct tp_redis_entry *entry = map->history.first; entry != NULL; entry = entry->next) {
        if (entry->made == 0 || tp_log_place_compare(entry->place, common) <= 0)
            continue;
        lost++;
        struct tp_batch batch;
        struct tp_tip_refused refused;
        uint64_t repeated;
        int error = tp__redis_entry_batch(&batch, entry);
        batch.has_epoch = batch.has_base_version = false; /* it was accepted as it was */
        if (error == 0)
            error = tp_tip_apply(&loaded->tip, &batch, &repeated, &refused);
        free(batch.changes);
        failed += error != 0;
    }
    if (lost > 0)
        tp_log(TP_LOG_ERROR, "changes that were acknowledged are not in the log", "map=\"%s\" changes=%zu failed=%zu", map->name, lost, failed);
    return lost;
}

/* The last entry that both have; 0-0: none. */
static struct tp_log_place last_common(const struct tp_redis_history *a, const struct tp_redis_history *b)
{
    struct tp_log_place common = {0};
    const struct tp_redis_entry *of_a = a->first, *of_b = b->first;
    while (of_a != NULL && of_b != NULL) {
        int order = tp_log_place_compare(of_a->place, of_b->place);
        if (order == 0 && of_a->instance == of_b->instance && of_a->number == of_b->number)
            common = of_a->place;
        if (order <= 0)
            of_a = of_a->next;
        if (order >= 0)
            of_b = of_b->next;
    }
    return common;
}

/* Whether the other history has all that was read here; *common: up to where it has. Where it was read from a place before ours on, its entries say
 * so themselves; else the lineage does, of its snapshot and what was read since. */
static bool is_contained(const struct tp_redis_history *ours, const struct tp_redis_history *loaded, struct tp_log_place *common)
{
    const struct tp_map *tip = ours->tip.map, *other = loaded->tip.map;
    *common = last_common(ours, loaded);
    if (loaded->first != NULL && tp_log_place_compare(loaded->first->place, ours->place) < 0 && !tp_log_place_is_start(*common))
        return tp_log_place_compare(*common, ours->place) == 0;
    const struct tp_log_tag *newest = ours->lineage.count > 0 ? &ours->lineage.tags[ours->lineage.count - 1] : NULL;
    const struct tp_log_tag *found = newest != NULL ? tp_lineage_find(&loaded->lineage, newest->bytes) : NULL;
    *common = found != NULL ? found->last : loaded->place;
    return found != NULL ? tp_log_place_compare(found->last, ours->place) >= 0
                         : other->epoch != tip->epoch || other->version >= tip->version;
}

bool tp__redis_reconcile(struct tp__redis_map *map, struct tp_redis_history *loaded)
{
    const struct tp_redis_history *ours = &map->history;
    struct tp_log_place common;
    if (is_contained(ours, loaded, &common) || apply_lost(map, loaded, common) == 0)
        return true;
    /* whoever read as much as we did need not do it again */
    if (ours->lineage.count > 0) {
        const uint8_t *tag = ours->lineage.tags[ours->lineage.count - 1].bytes;
        struct tp_log_tag *found = (struct tp_log_tag *)(uintptr_t)tp_lineage_find(&loaded->lineage, tag);
        if (found == NULL)
            tp_lineage_note(&loaded->lineage, tag, ours->place);
        else if (tp_log_place_compare(found->last, ours->place) < 0)
            found->last = ours->place;
    }
    return false;
}

void tp__redis_begin_epoch(struct tp__redis_map *map, struct tp_redis_history *history, struct tp_log_place last, const char *reason)
{
    struct tp__redis_call *call = calloc(1, sizeof *call);
    struct tp_redis_history *own = malloc(sizeof *own);
    if (call == NULL || own == NULL) {
        free(call);
        free(own);
        tp__redis_history_fini(history);
        tp__redis_map_resume(map);
        return;
    }
    tp__redis_history_init(own);
    tp__redis_history_move(own, history);
    renew_epoch(map, &own->tip);
    tp_log(TP_LOG_WARN, "map begins a new epoch", "map=\"%s\" epoch=%" PRIu64 " reason=\"%s\"", map->name, own->tip.map->epoch, reason);
    call->kind = TP__REDIS_PUT;
    call->map = map;
    tp_world_name_copy(call->name, map->name);
    call->history = own;
    call->put = tp_map_ref(own->tip.map);
    call->put_keys = &own->tip.keys;
    call->put_lineage = &own->lineage;
    call->reason = reason;
    if (!tp_log_place_is_start(last))
        tp_log_place_print(call->at, last);
    tp__redis_put_begin(call);
}
