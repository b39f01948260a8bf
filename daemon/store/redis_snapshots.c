/* Happy path: so many batches, or so long after a change that is in no snapshot: the lease is asked for, and whether another daemon has
 * written one since; the version (immutable) with a copy of its keys is encoded in the background; a script puts it beside the one before,
 * and trims the log to that.
 *
 * Failure modes: another daemon has the lease, Redis refuses or is lost, no memory: it is tried again in some seconds. The log no longer has the
 * place: the map is checked. */
#include "daemon/store/redis_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/store/redis_scripts.h"
#include "daemon/store/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUSY_MS = 500, FAILED_MS = 2000 };

/* ---- Fields ---- */

void tp__redis_snapshot_field_print(char text[TP__REDIS_FIELD_MAX], const struct tp__redis_snapshot_field *field)
{
    int n = snprintf(text, TP__REDIS_FIELD_MAX, "%" PRIu64 "-%" PRIu64 "-", field->epoch, field->version);
    tp_log_place_print(text + n, field->place);
}

bool tp__redis_snapshot_field_read(struct tp__redis_snapshot_field *field, const char *text, size_t size)
{
    const char *end = text + size, *version = memchr(text, '-', size);
    const char *place = version != NULL ? memchr(version + 1, '-', (size_t)(end - version) - 1) : NULL;
    return place != NULL && tp__redis_number_read(&field->epoch, text, (size_t)(version - text)) &&
           tp__redis_number_read(&field->version, version + 1, (size_t)(place - version) - 1) &&
           tp_log_place_parse(&field->place, place + 1, (size_t)(end - place) - 1);
}

/* ---- One ---- */

struct shot {
    struct tp__redis_map *map;
    uv_work_t work;
    const struct tp_map *version; /* a reference */
    struct tp_keys keys;
    struct tp_log_place place;
    struct tp_lineage lineage;
    uint8_t *bytes;
    size_t size;
};

static void again(struct tp__redis_map *map, uint64_t pause_ms)
{
    map->is_snapshotting = false;
    map->snapshot_at_ms = tp_clock_now_ms() + pause_ms;
}

static void shot_end(struct shot *shot, uint64_t pause_ms)
{
    again(shot->map, pause_ms);
    tp_map_unref(shot->version);
    tp_keys_fini(&shot->keys);
    free(shot->bytes);
    free(shot);
}

static bool is_of_epoch(const struct tp__redis_map *map, uint64_t epoch)
{
    return tp__redis_map_is_held(map) && map->history.tip.map->epoch == epoch;
}

/* Redis has one of this version. */
static void is_there(struct tp__redis_map *map, uint64_t version)
{
    map->snapshot_epoch = map->history.tip.map->epoch;
    map->snapshot_version = version;
    map->changed_ms = map->history.tip.map->version > version ? tp_clock_now_ms() : 0;
}

static void put_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct shot *shot = context;
    struct tp__redis_map *map = shot->map;
    struct tp__redis_store *store = map->store;
    (void)conn;
    uint64_t pause_ms = FAILED_MS;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        tp__redis_write_refused(store, reply->str);
    } else if (reply != NULL && tp__redis_reply_is(reply, "ok")) {
        tp_metric_add(&store->metrics->store_snapshots, 1);
        tp_metric_add(&store->metrics->store_written_bytes, shot->size);
        if (is_of_epoch(map, shot->version->epoch))
            is_there(map, shot->version->version);
        pause_ms = 0;
    } else if (reply != NULL && tp__redis_reply_is(reply, "newer")) {
        if (is_of_epoch(map, shot->version->epoch))
            is_there(map, shot->version->version);
    } else if (reply != NULL && tp__redis_reply_is(reply, "gap") && map->state == TP__REDIS_OPEN) {
        tp__redis_check(map, 0);
    }
    shot_end(shot, pause_ms);
}

static void encode_work(uv_work_t *work)
{
    struct shot *shot = work->data;
    struct tp_snapshot_extra extra = {.name = shot->map->name, .keys = &shot->keys, .place = shot->place, .lineage = &shot->lineage};
    if (tp_snapshot_encode_placed(shot->version, &extra, &shot->bytes, &shot->size) != 0)
        shot->bytes = NULL;
}

static void encoded_cb(uv_work_t *work, int status)
{
    struct shot *shot = work->data;
    struct tp__redis_map *map = shot->map;
    struct tp__redis_store *store = map->store;
    char epoch[24], version[24], field[TP__REDIS_FIELD_MAX], instance[24], place[TP_LOG_PLACE_TEXT_BYTES];
    if (status != 0 || shot->bytes == NULL || !store->is_up) {
        shot_end(shot, FAILED_MS);
        return;
    }
    snprintf(epoch, sizeof epoch, "%" PRIu64, shot->version->epoch);
    snprintf(version, sizeof version, "%" PRIu64, shot->version->version);
    snprintf(instance, sizeof instance, "%016" PRIx64, store->instance);
    tp_log_place_print(place, shot->place);
    tp__redis_snapshot_field_print(field, &(struct tp__redis_snapshot_field){shot->version->epoch, shot->version->version, shot->place});
    const char *argv[] = {map->log, map->snaps, map->lease, epoch, version, field, (const char *)shot->bytes, instance, place};
    size_t sizes[9];
    for (size_t i = 0; i < 9; i++)
        sizes[i] = i == 6 ? shot->size : strlen(argv[i]);
    if (!tp__redis_script_send(&store->writer, tp__redis_script_snapshot, 3, 9, argv, sizes, put_cb, shot))
        shot_end(shot, FAILED_MS);
}

/* The lease is ours: what stands now goes into it. */
static void shoot(struct tp__redis_map *map)
{
    struct shot *shot = calloc(1, sizeof *shot);
    if (shot == NULL || tp_keys_copy(&shot->keys, &map->history.tip.keys) != 0) {
        free(shot);
        again(map, FAILED_MS);
        return;
    }
    shot->map = map;
    shot->work.data = shot;
    shot->version = tp_map_ref(map->history.tip.map);
    shot->place = map->history.place;
    shot->lineage = map->history.lineage;
    if (uv_queue_work(&map->store->loop, &shot->work, encode_work, encoded_cb) != 0)
        shot_end(shot, FAILED_MS);
}

static void lease_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct tp__redis_map *map = context;
    uint64_t version;
    (void)conn;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
        tp__redis_write_refused(map->store, reply->str);
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR || !tp__redis_map_is_held(map) || map->state != TP__REDIS_OPEN) {
        again(map, FAILED_MS);
    } else if (tp__redis_reply_is(reply, "mine")) {
        shoot(map);
    } else {
        if (reply->type == REDIS_REPLY_STRING && tp__redis_number_read(&version, reply->str, (size_t)reply->len))
            is_there(map, version);
        again(map, BUSY_MS);
    }
}

/* ---- When ---- */

/* How many versions there are since the newest snapshot known; one of another daemon may be ahead of what was read here. */
static uint64_t versions_since(const struct tp__redis_map *map)
{
    const struct tp_map *tip = map->history.tip.map;
    if (tip->epoch != map->snapshot_epoch)
        return tip->version;
    return tip->version > map->snapshot_version ? tip->version - map->snapshot_version : 0;
}

void tp__redis_snapshot_changed(struct tp__redis_map *map)
{
    if (map->changed_ms == 0)
        map->changed_ms = tp_clock_now_ms();
}

void tp__redis_snapshot_look(struct tp__redis_map *map, uint64_t now_ms)
{
    const struct tp_store_redis_options *options = &map->store->options;
    if (map->is_snapshotting || map->changed_ms == 0 || now_ms < map->snapshot_at_ms)
        return;
    if (versions_since(map) == 0) { /* what was read meanwhile is in another daemon's */
        map->changed_ms = 0;
        return;
    }
    if (versions_since(map) < options->snapshot_batches && now_ms < map->changed_ms + (uint64_t)options->snapshot_seconds * 1000)
        return;
    char epoch[24], version[24], since[24], instance[24];
    snprintf(epoch, sizeof epoch, "%" PRIu64, map->history.tip.map->epoch);
    snprintf(version, sizeof version, "%" PRIu64, map->history.tip.map->version);
    snprintf(since, sizeof since, "%" PRIu64, versions_since(map));
    snprintf(instance, sizeof instance, "%016" PRIx64, map->store->instance);
    const char *argv[] = {map->snaps, map->lease, epoch, instance, version, since};
    map->is_snapshotting = tp__redis_script_send(&map->store->writer, tp__redis_script_lease, 2, 6, argv, NULL, lease_cb, map);
}
