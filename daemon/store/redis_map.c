/* One map: a list of calls that wait, one of those that are pending in the log, one of events that are to be told, each in order.
 *
 * Happy path: tp__redis_map_serve() begins what waits, batches while those before them are pending, all else when nothing is; what is decided
 * goes through tp__redis_answer() or tp__redis_refuse() to the end of the events, which are told up to the first that waits for replicas.
 *
 * Failure modes: an event without a context is not taken, for want of memory: it stays, and those behind it, and the tick tells it again; where
 * there was none for a drop's event the map owes it, and what is told behind it may come first. Redis is away: what waits is refused. The map is dropped: so are the batches for it; an own put behind the drop goes on.
 */
#include "daemon/store/redis_internal.h"

#include "daemon/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tp__redis_map *tp__redis_map_find(struct tp__redis_store *store, const char *name)
{
    struct tp__redis_map *map = store->maps;
    while (map != NULL && strcmp(map->name, name) != 0)
        map = map->next;
    return map;
}

struct tp__redis_map *tp__redis_map_get(struct tp__redis_store *store, const char *name)
{
    struct tp__redis_map *map = tp__redis_map_find(store, name);
    if (map != NULL)
        return map;
    map = calloc(1, sizeof *map);
    if (map == NULL)
        return NULL;
    map->store = store;
    tp_world_name_copy(map->name, name);
    snprintf(map->log, sizeof map->log, "%s{%s}:log", store->url.prefix, name);
    snprintf(map->snaps, sizeof map->snaps, "%s{%s}:snaps", store->url.prefix, name);
    snprintf(map->lease, sizeof map->lease, "%s{%s}:lease", store->url.prefix, name);
    snprintf(map->ended, sizeof map->ended, "%s{%s}:ended", store->url.prefix, name);
    tp__redis_history_init(&map->history);
    map->unread_last = &map->unread;
    tp__redis_calls_init(&map->waiting);
    tp__redis_calls_init(&map->pending);
    tp__redis_calls_init(&map->telling);
    map->next = store->maps;
    store->maps = map;
    store->map_count++;
    return map;
}

void tp__redis_map_rest(struct tp__redis_map *map)
{
    struct tp__redis_store *store = map->store;
    if (map->state != TP__REDIS_IDLE || map->is_followed || map->waiting.first || map->pending.first || map->telling.first ||
        map->load || map->asked > 0 || map->is_looking || map->is_snapshotting || map->owes_drop)
        return;
    for (size_t i = 0; i < store->reading_count; i++)
        if (store->reading[i] == map)
            store->reading[i] = NULL;
    struct tp__redis_map **at = &store->maps;
    while (*at != map)
        at = &(*at)->next;
    *at = map->next;
    store->map_count--;
    tp__redis_unread_forget(map);
    tp__redis_history_fini(&map->history);
    free(map);
}

void tp__redis_map_resume(struct tp__redis_map *map)
{
    if (map->load != NULL)
        return; /* it says where the map stands when it ends */
    if (!tp__redis_map_is_held(map)) {
        map->state = TP__REDIS_IDLE;
        map->is_followed = false;
    } else if (!map->store->is_up) {
        map->state = TP__REDIS_AWAY;
    } else {
        tp__redis_check(map, 0);
    }
}

void tp__redis_map_held(struct tp__redis_map *map)
{
    map->is_followed = true;
    map->read = map->history.place;
    map->is_stalled = false;
    tp__redis_map_resume(map);
    tp__redis_read_again(map->store);
}

/* ---- Events ---- */

void tp__redis_call_end(struct tp__redis_call *call)
{
    if (call->asking == TP__REDIS_ASKED)
        call->asking = TP__REDIS_TOLD;
    else
        tp__redis_call_free(call);
}

/* Gives an event away; false: it was not taken. */
static bool tell(struct tp__redis_map *map, struct tp_store_event *event)
{
    event->name = map->name;
    return map->store->head.event(map->store->head.event_context, event) == 0;
}

/* What too few replicas have is so here, but nobody knows whether it stays: the map is told without a context, then the call is refused. False: the
 * former was not taken. */
static bool split(struct tp__redis_map *map, struct tp__redis_call *call)
{
    struct tp_store_event *event = &call->event, only = *event;
    call->hold = TP__REDIS_FREE;
    if (event->kind == TP_STORE_REFUSED && event->error == TP_ERR_UNAVAILABLE)
        return true;
    if (event->kind == TP_STORE_VERSION || event->kind == TP_STORE_BEGUN || event->kind == TP_STORE_DROPPED) {
        only.context = NULL;
        if (only.map != NULL)
            tp_map_ref(only.map);
        if (!tell(map, &only)) {
            tp_map_unref(only.map);
            call->hold = TP__REDIS_ALONE;
            return false;
        }
    }
    event->kind = TP_STORE_REFUSED;
    event->error = TP_ERR_UNAVAILABLE;
    event->reason = "too few replicas of Redis had it in time";
    event->is_unknown = true;
    event->version = 0;
    event->refused = (struct tp_tip_refused){0};
    return true;
}

void tp__redis_tell_all(struct tp__redis_map *map)
{
    while (map->telling.first != NULL && map->telling.first->hold != TP__REDIS_HELD) {
        struct tp__redis_call *call = map->telling.first;
        if (call->hold == TP__REDIS_ALONE && !split(map, call))
            return; /* the tick tries again */
        if (!tell(map, &call->event) && call->event.context == NULL)
            return;
        (void)tp__redis_calls_take(&map->telling);
        tp__redis_call_end(call);
    }
    if (map->owes_drop && map->telling.first == NULL)
        map->owes_drop = !tell(map, &(struct tp_store_event){.kind = TP_STORE_DROPPED});
}

/* The map is there by this event: that it was dropped before needs not be told any more. */
static void note_told(struct tp__redis_map *map, const struct tp_map *of)
{
    map->told_epoch = of->epoch;
    map->told_version = of->version;
    map->told_reason = NULL;
    map->owes_drop = false;
}

void tp__redis_tell_state(struct tp__redis_map *map)
{
    tp__redis_tell_map(map, map->history.tip.map);
}

void tp__redis_tell_map(struct tp__redis_map *map, const struct tp_map *now)
{
    tp__redis_tell_all(map);
    if (now == NULL || map->told_epoch == 0 || (now->epoch == map->told_epoch && now->version == map->told_version))
        return;
    struct tp_store_event event = {.kind = now->epoch == map->told_epoch ? TP_STORE_VERSION : TP_STORE_BEGUN};
    if (event.kind == TP_STORE_BEGUN)
        event.reason = map->told_reason != NULL ? map->told_reason : "another daemon put it";
    event.map = tp_map_ref(now);
    if (map->telling.first == NULL) {
        if (!tell(map, &event)) {
            tp_map_unref(now);
            return;
        }
    } else {
        struct tp__redis_call *call = calloc(1, sizeof *call);
        if (call == NULL) {
            tp_map_unref(now);
            return;
        }
        call->map = map;
        call->event = event;
        tp__redis_calls_add(&map->telling, call);
    }
    note_told(map, now);
}

void tp__redis_answer(struct tp__redis_call *call, enum tp_store_event_kind kind, const struct tp_map *of)
{
    struct tp__redis_map *map = call->map;
    call->event.kind = kind;
    call->event.context = call->context;
    call->event.map = of != NULL ? tp_map_ref(of) : NULL;
    if (kind == TP_STORE_DROPPED)
        map->owes_drop = false;
    if (of != NULL && (kind == TP_STORE_LOADED || kind == TP_STORE_BEGUN || kind == TP_STORE_VERSION))
        note_told(map, of);
    tp__redis_calls_add(&map->telling, call);
    tp__redis_tell_all(map);
}

void tp__redis_refuse(struct tp__redis_call *call, int error, const char *reason)
{
    call->event.error = error;
    call->event.reason = reason;
    tp__redis_tell_state(call->map);
    if (call->context == NULL && call->history != NULL) /* a put of the store's own: nobody waits for it */
        tp__redis_call_end(call);
    else
        tp__redis_answer(call, TP_STORE_REFUSED, call->map->told_epoch != 0 ? call->map->history.tip.map : NULL);
}

void tp__redis_refuse_unknown(struct tp__redis_call *call, const char *reason)
{
    call->event.is_unknown = true;
    tp__redis_refuse(call, TP_ERR_UNAVAILABLE, reason);
}

void tp__redis_refuse_loads(struct tp__redis_map *map, int error, const char *reason)
{
    while (map->waiting.first != NULL && map->waiting.first->kind == TP__REDIS_LOAD)
        tp__redis_refuse(tp__redis_calls_take(&map->waiting), error, reason);
}

/* ---- Calls in their order ---- */

static size_t weight_of(const struct tp_batch *batch)
{
    size_t weight = batch->count * sizeof batch->changes[0];
    for (size_t i = 0; i < batch->count; i++)
        weight += batch->changes[i].bits != NULL ? batch->changes[i].bits_size : 0;
    return weight;
}

bool tp__redis_wait_begin(struct tp__redis_store *store, struct tp__redis_call *call, bool must)
{
    if (call->kind != TP__REDIS_SUBMIT)
        return true;
    if (call->weight == 0)
        call->weight = weight_of(call->batch);
    bool has_room = store->waiting == 0 || (store->waiting < TP__REDIS_WAITING_MAX && store->waiting_bytes + call->weight <= TP__REDIS_WAITING_BYTES_MAX);
    if (!has_room && !must)
        return false;
    store->waiting++;
    store->waiting_bytes += call->weight;
    return true;
}

struct tp__redis_call *tp__redis_wait_end(struct tp__redis_map *map)
{
    struct tp__redis_call *call = tp__redis_calls_take(&map->waiting);
    if (call->kind == TP__REDIS_SUBMIT) {
        map->store->waiting--;
        map->store->waiting_bytes -= call->weight;
    }
    return call;
}

/* Begins the first call that waits; false: it waits on. */
static bool serve_one(struct tp__redis_map *map)
{
    struct tp__redis_call *call = map->waiting.first;
    bool is_up = map->store->is_up;
    if (map->state == TP__REDIS_BUSY || (call->kind != TP__REDIS_SUBMIT && map->pending.first != NULL))
        return false; /* what came before is decided before */
    switch (call->kind) {
    case TP__REDIS_LOAD:
        if (tp__redis_map_is_held(map)) {
            tp__redis_tell_state(map);
            tp__redis_answer(tp__redis_wait_end(map), TP_STORE_LOADED, map->history.tip.map);
            return true;
        }
        if (is_up) {
            tp__redis_load_begin(map, TP__REDIS_LOAD_FIRST); /* which answers it, and those like it behind it */
            return false;
        }
        break;
    case TP__REDIS_PUT:
        if (is_up) {
            tp__redis_put_begin(tp__redis_wait_end(map));
            return false;
        }
        break;
    case TP__REDIS_DROP:
        if (is_up) {
            tp__redis_drop_begin(tp__redis_wait_end(map));
            return false;
        }
        break;
    case TP__REDIS_SUBMIT:
        if (!tp__redis_map_is_held(map) || map->told_epoch == 0) { /* or told as dropped, and another's since */
            tp__redis_refuse(tp__redis_wait_end(map), TP_ERR_NOT_FOUND, "the map is kept no more");
            return true;
        }
        if (map->state == TP__REDIS_CHECKING)
            return false;
        if (map->state == TP__REDIS_OPEN) {
            if (!tp__redis_submit_begin(call))
                return false;
            return true;
        }
        break;
    case TP__REDIS_LIST:
        break;
    }
    tp__redis_refuse(tp__redis_wait_end(map), TP_ERR_UNAVAILABLE, "Redis is away");
    return true;
}

void tp__redis_map_serve(struct tp__redis_map *map)
{
    while (map->waiting.first != NULL && serve_one(map))
        continue;
}

void tp__redis_map_fail_all(struct tp__redis_map *map)
{
    tp__redis_pending_give_up(map, true);
    while (map->waiting.first != NULL)
        tp__redis_refuse(tp__redis_wait_end(map), TP_ERR_UNAVAILABLE, "the store is closed");
    tp__redis_release(&map->telling, UINT64_MAX, false);
    tp__redis_tell_all(map);
    for (struct tp__redis_call *call; (call = tp__redis_calls_take(&map->telling)) != NULL;) {
        tp_map_unref(call->event.map);
        tp__redis_call_end(call);
    }
}

void tp__redis_map_dropped(struct tp__redis_map *map, struct tp__redis_call *own)
{
    struct tp_log_place place = map->history.place;
    bool was_told = map->told_epoch != 0;
    tp__redis_tell_state(map);
    tp__redis_history_fini(&map->history);
    tp__redis_unread_forget(map);
    if (own != NULL) {
        tp__redis_answer(own, TP_STORE_DROPPED, NULL);
    } else if (was_told) {
        struct tp__redis_call *call = calloc(1, sizeof *call);
        map->owes_drop = call == NULL; /* the tick tells it */
        if (call != NULL) {
            call->map = map;
            tp__redis_answer(call, TP_STORE_DROPPED, NULL);
        }
    }
    map->told_epoch = map->told_version = 0;
    map->trouble = NULL;
    map->snapshot_epoch = map->changed_ms = 0;
    bool is_put_pending = false;
    for (struct tp__redis_call *call = map->pending.first, *next; call != NULL; call = next) {
        next = call->next;
        if (call->kind == TP__REDIS_PUT) {
            is_put_pending = true;
        } else {
            bool is_drop = call->kind == TP__REDIS_DROP;
            tp__redis_pending_end(call);
            if (is_drop)
                tp__redis_answer(call, TP_STORE_DROPPED, NULL);
            else
                tp__redis_refuse(call, TP_ERR_NOT_FOUND, "the map is kept no more");
        }
    }
    if (is_put_pending) { /* an own one behind the drop: it is read yet */
        map->history.place = map->read = place;
        map->is_followed = true;
        return;
    }
    tp__redis_map_resume(map);
    tp__redis_read_again(map->store);
}
