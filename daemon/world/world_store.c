/* The happy path of a change: tp__world_submit() gives an op to the store; event_cb (store thread) posts it
 * back; tp__world_apply_event() publishes and answers. What may go wrong on the way:
 *
 *     the name is unknown      tp__world_look_up() parks the request and asks the store; loaded() handles it
 *                              again, or refuses it when the store could not be asked
 *     the store takes nothing  give_up()
 *     the store refuses        refuse_op(): the map stands as it was
 *     nobody here asked        the event gets an op of its own (strange_op_new()); out of memory the store tells it again
 *     an epoch ends            tp__world_defer(): the event waits until the sessions in it are ended (world_ending.c)
 *     out of memory            what an op needs later is allocated before it is submitted; but for layers, which can't be followed
 *                              before the version is known: hold_back()
 */
#include "base/check.h"
#include "daemon/log.h"
#include "daemon/world/world_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_AGAIN_US = 500000 };

/* ---- Publishing ---- */

struct tp__world_op *tp__world_op_new(struct tp_world *world, struct tp__world_entry *entry,
                                      struct tp_world_request *request)
{
    unsigned shards = world->config.shards;
    struct tp__world_op *op = calloc(1, sizeof *op + shards * sizeof(struct tp_world_publication *));
    if (op == NULL)
        return NULL;
    for (unsigned i = 0; i < shards; i++) {
        op->publication[i] = calloc(1, sizeof *op->publication[i]);
        if (op->publication[i] == NULL) {
            while (i > 0)
                free(op->publication[--i]);
            free(op);
            return NULL;
        }
    }
    op->mail.kind = TP_WORLD_MAIL_EVENT;
    op->world = world;
    op->entry = entry;
    op->request = request;
    op->layers = tp__world_layers_new();
    if (op->layers == NULL) {
        tp__world_op_free(op);
        return NULL;
    }
    return op;
}

void tp__world_op_free(struct tp__world_op *op)
{
    for (unsigned i = 0; i < op->world->config.shards; i++)
        free(op->publication[i]);
    tp_map_unref(op->map);
    tp_world_layers_unref(op->layers);
    free(op);
}

void tp__world_tell_shards(struct tp__world_op *op, bool ends, int ended_error)
{
    struct tp_world *world = op->world;
    for (unsigned i = 0; i < world->config.shards; i++) {
        struct tp_world_publication *publication = op->publication[i];
        op->publication[i] = NULL;
        publication->mail.kind = TP_SHARD_MAIL_MAP;
        publication->of = &op->entry->shared;
        publication->ends = ends;
        publication->ended_error = ended_error;
        publication->map = op->map == NULL || ends ? NULL : tp_map_ref(op->map);
        publication->layers = ends ? NULL : tp_world_layers_ref(op->layers);
        publication->seq = world->seq_published;
        world->config.post_shard(world->config.context, i, &publication->mail);
    }
}

void tp__world_publish(struct tp__world_op *op)
{
    struct tp_world *world = op->world;
    struct tp__world_entry *entry = op->entry;
    struct tp_metrics *metrics = world->config.metrics;
    pthread_mutex_lock(&world->lock);
    const struct tp_map *before = entry->published;
    const struct tp_world_layers *layers_before = entry->layers_published;
    entry->published = tp_map_ref(op->map);
    entry->layers_published = tp_world_layers_ref(op->layers);
    entry->seq_published = ++world->seq_published;
    pthread_mutex_unlock(&world->lock);
    tp_metric_gauge_add(&metrics->maps, before == NULL);
    if (before != NULL)
        tp_metric_gauge_add(&metrics->map_cells, -(int64_t)before->width * before->height);
    tp_metric_gauge_add(&metrics->map_cells, (int64_t)op->map->width * op->map->height);
    tp_map_unref(before);
    tp_world_layers_unref(layers_before);
    tp__world_tell_shards(op, false, 0);
}

/* ---- Calls of the store ---- */

/* Store thread. An op for what nobody here asked; NULL when out of memory. */
static struct tp__world_op *strange_op_new(struct tp_world *world, const struct tp_store_event *event)
{
    struct tp__world_op *op = tp__world_op_new(world, NULL, NULL);
    if (op != NULL)
        tp_world_name_copy(op->name, event->name);
    return op;
}

/* Store thread. */
static int event_cb(void *context, const struct tp_store_event *event)
{
    struct tp_world *world = context;
    struct tp__world_op *op = event->context != NULL ? event->context : strange_op_new(world, event);
    if (op == NULL)
        return TP_ERR_NO_MEMORY;
    op->event = *event;
    op->event.name = NULL;
    op->map = event->map;
    world->config.post_self(world->config.context, &op->mail);
    return 0;
}

void tp__world_attach(struct tp_world *world)
{
    tp_store_attach(world->config.store, event_cb, world, world->config.held);
}

/* Refuses the request of an op that came to nothing, and forgets the op. */
static void refuse_op(struct tp__world_op *op, const struct tp_store_event *event)
{
    struct tp_world *world = op->world;
    struct tp__world_entry *entry = op->entry;
    if (op->request->op != TP_WORLD_CHANGE && entry->gone == NULL)
        atomic_store(&entry->shared.sessions, 0);
    struct tp_world_request *parked = op->request->op == TP_WORLD_DROP ? tp__world_take_parked(entry) : NULL;
    tp__world_refuse_event(world, op->request, event, op->map);
    tp__world_op_free(op);
    tp__world_drop_unseen(world, entry);
    tp__world_resume(world, parked);
}

static void give_up(struct tp__world_op *op, int error)
{
    refuse_op(op, &(struct tp_store_event){.kind = TP_STORE_REFUSED, .error = error});
}

void tp__world_put(struct tp__world_op *op, const struct tp_map *map)
{
    struct tp_store *store = op->world->config.store;
    struct tp__world_entry *entry = op->entry;
    entry->ops++;
    entry->puts++;
    op->world->busy++;
    int error = store->ops->put(store, entry->shared.name, map, op->request->replace, op);
    if (error == 0)
        return;
    entry->ops--;
    entry->puts--;
    op->world->busy--;
    give_up(op, error);
}

void tp__world_submit(struct tp__world_op *op)
{
    struct tp_store *store = op->world->config.store;
    struct tp__world_entry *entry = op->entry;
    entry->ops++;
    op->world->busy++;
    int error = store->ops->submit(store, entry->shared.name, &op->request->batch, op);
    if (error == 0)
        return;
    entry->ops--;
    op->world->busy--;
    give_up(op, error);
}

void tp__world_drop(struct tp__world_op *op)
{
    struct tp_store *store = op->world->config.store;
    struct tp__world_entry *entry = op->entry;
    entry->dropping = true;
    entry->ops++;
    op->world->busy++;
    int error = store->ops->drop(store, entry->shared.name, op->request->has_epoch, op->request->epoch, op);
    if (error == 0)
        return;
    entry->dropping = false;
    entry->ops--;
    op->world->busy--;
    give_up(op, error);
}

/* ---- Events ---- */

struct tp_world_request *tp__world_take_parked(struct tp__world_entry *entry)
{
    struct tp_world_request *parked = entry->parked_first;
    entry->parked_first = NULL;
    entry->parked_end = &entry->parked_first;
    return parked;
}

void tp__world_resume(struct tp_world *world, struct tp_world_request *parked)
{
    while (parked != NULL) {
        struct tp_world_request *request = parked;
        parked = parked->parked_next;
        tp__world_handle_request(world, request);
    }
}

/* Out of memory for the layers of a version that the store has: the version before stays the published one, and the next one
 * is made from it. */
static void hold_back(struct tp__world_op *op)
{
    tp_log(TP_LOG_ERROR, "out of memory: a version is not published", "map=\"%s\" version=%" PRIu64,
           op->entry->shared.name, op->map->version);
    if (op->request != NULL)
        tp__world_refuse(op->world, op->request, TP_ERR_NO_MEMORY, NULL,
                         "out of memory; the batch is kept, and is seen with the next one");
    tp__world_op_free(op);
}

/* The next version of the epoch published. */
static void advance(struct tp_world *world, struct tp__world_op *op)
{
    struct tp__world_entry *entry = op->entry;
    if (tp__world_follow_layers(op) != 0) {
        hold_back(op);
        return;
    }
    tp__world_publish(op);
    if (op->request != NULL)
        tp__world_grant(world, op->request, entry, op->map);
    tp__world_op_free(op);
}

/* An epoch begins: no session stands on the map, nor is a layer in use. */
static void begin(struct tp_world *world, struct tp__world_op *op)
{
    struct tp__world_entry *entry = op->entry;
    if (op->map->epoch > entry->epoch_last)
        entry->epoch_last = op->map->epoch;
    if (op->request == NULL) {
        tp_log(TP_LOG_WARN, "a map began anew", "map=\"%s\" epoch=%" PRIu64 " version=%" PRIu64 " reason=\"%s\"",
               entry->shared.name, op->map->epoch, op->map->version,
               op->event.reason != NULL ? op->event.reason : "another server put it");
    }
    tp__world_publish(op);
    entry->load_error = 0;
    tp__world_forget_profiles(entry);
    /* after the publication: whoever enters now finds the new epoch */
    atomic_store(&entry->shared.sessions, entry->puts > 0 || entry->dropping ? TP_WORLD_MAP_REPLACING : 0);
    if (op->request != NULL) {
        tp_metric_add(&world->config.metrics->maps_put, 1);
        tp__world_grant(world, op->request, entry, op->map);
    }
    tp__world_op_free(op);
}

/* The map is kept no more: no session stands on it. Where calls of ours are on their way it stays, closed to all, until they are
 * back: one of them may be a put. */
static void forget(struct tp_world *world, struct tp__world_op *op)
{
    struct tp__world_entry *entry = op->entry;
    if (entry->gone != NULL) /* it was dropped elsewhere, and here as well */
        tp__world_op_free(entry->gone);
    entry->gone = NULL;
    if (entry->ops > 0) {
        atomic_store(&entry->shared.sessions, TP_WORLD_MAP_REPLACING);
        if (op->request != NULL)
            tp__world_grant_dropped(world, op->request);
        op->request = NULL;
        entry->gone = op;
        return;
    }
    const struct tp_map *was = entry->published;
    struct tp_world_request *parked = tp__world_take_parked(entry);
    tp_log(TP_LOG_INFO, "map dropped", "map=\"%s\"", entry->shared.name);
    if (was != NULL) {
        tp_metric_gauge_add(&world->config.metrics->maps, -1);
        tp_metric_gauge_add(&world->config.metrics->map_cells, -(int64_t)was->width * was->height);
    }
    tp__world_retire(world, entry); /* before the shards hear of it: each counts itself out */
    tp__world_tell_shards(op, false, 0);
    if (op->request != NULL)
        tp__world_grant_dropped(world, op->request);
    tp__world_op_free(op);
    tp__world_resume(world, parked); /* the store is asked again */
}

/* The last call of ours on a map that is gone came back. */
static void finish_gone(struct tp_world *world, struct tp__world_entry *entry)
{
    struct tp__world_op *gone = entry->gone;
    entry->gone = NULL;
    if (gone != NULL)
        forget(world, gone);
}

/* A map that is gone was put anew before it was forgotten. */
static void revive(struct tp_world *world, struct tp__world_entry *entry)
{
    struct tp__world_op *gone = entry->gone;
    entry->gone = NULL;
    if (gone == NULL)
        return;
    tp__world_op_free(gone);
    tp__world_resume(world, tp__world_take_parked(entry));
}

/* The store could not be asked for all its maps. */
static void list_again(struct tp_world *world)
{
    world->list_at_us = world->config.now_us(world->config.context) + LIST_AGAIN_US;
}

/* One of the calls that tp_world_load_all waits for came back. */
static void initial_load_done(struct tp_world *world)
{
    if (--world->initial_loads == 0 && world->list_at_us == 0)
        atomic_store(&world->ready, true);
}

static void loaded(struct tp_world *world, struct tp__world_op *op)
{
    struct tp__world_entry *entry = op->entry;
    const int error = op->event.kind == TP_STORE_LOADED ? 0 : op->event.error;
    const char *name = entry->shared.name;
    entry->loading = false;
    if (error == 0) {
        entry->epoch_last = op->map->epoch;
        tp__world_publish(op);
        tp_metric_add(&world->config.metrics->maps_loaded, 1);
        tp_log(TP_LOG_INFO, "map loaded", "map=\"%s\" width=%u height=%u version=%" PRIu64, name,
               op->map->width, op->map->height, op->map->version);
    } else if (error == TP_ERR_CORRUPT) {
        entry->load_error = TP_ERR_CORRUPT;
        entry->load_reason = op->event.reason != NULL ? op->event.reason : "what the store holds fails its checks";
        tp_log(TP_LOG_ERROR, "a stored map is corrupt", "map=\"%s\" reason=\"%s\"", name, entry->load_reason);
    } else if (error != TP_ERR_NOT_FOUND) {
        tp_log(TP_LOG_WARN, "the store could not be asked for a map", "map=\"%s\" error=%s", name,
               tp_error_name(error));
    }
    if (op->is_initial && (error == TP_ERR_UNAVAILABLE || error == TP_ERR_NO_MEMORY))
        list_again(world);
    if (op->is_initial)
        initial_load_done(world);
    tp__world_op_free(op);
    struct tp_world_request *parked = tp__world_take_parked(entry);
    tp__world_drop_unseen(world, entry);
    while (parked != NULL) {
        struct tp_world_request *request = parked;
        parked = parked->parked_next;
        request->looked_up = true;
        if (error == 0 || error == TP_ERR_NOT_FOUND || error == TP_ERR_CORRUPT) {
            tp__world_handle_request(world, request);
        } else { /* a put too: the store may hold a map of that name, and would get this one in its place */
            request->refusal.retry_after_ms = 1000;
            tp__world_refuse(world, request,
                             error == TP_ERR_NO_MEMORY ? TP_ERR_NO_MEMORY : TP_ERR_UNAVAILABLE, "map",
                             "the store cannot be asked for this map now");
        }
    }
}

/* A call of ours has come back: counts it out. */
static void count_back(struct tp_world *world, const struct tp__world_op *op)
{
    struct tp__world_entry *entry = op->entry;
    world->busy--;
    if (op->request == NULL)
        return; /* a load */
    entry->ops--;
    if (op->request->op == TP_WORLD_PUT)
        entry->puts--;
    if (op->request->op == TP_WORLD_DROP)
        entry->dropping = false;
}

void tp__world_apply_event(struct tp_world *world, struct tp__world_op *op)
{
    struct tp__world_entry *entry = op->entry;
    if (!tp__world_op_is_strange(op))
        count_back(world, op);
    bool is_gone = entry->gone != NULL; /* then it stays until finish_gone() */
    switch (op->event.kind) {
    case TP_STORE_LOADED:
        loaded(world, op);
        break;
    case TP_STORE_VERSION:
        advance(world, op);
        break;
    case TP_STORE_BEGUN:
        begin(world, op);
        revive(world, entry);
        return;
    case TP_STORE_REPEATED:
        tp__world_grant_again(world, op->request, entry, op->map->epoch, op->event.version);
        tp__world_op_free(op);
        break;
    case TP_STORE_REFUSED:
        if (op->request == NULL)
            loaded(world, op);
        else
            refuse_op(op, &op->event);
        break;
    case TP_STORE_DROPPED:
        forget(world, op);
        return;
    }
    if (is_gone && entry->ops == 0)
        finish_gone(world, entry);
}

void tp__world_event(struct tp_world *world, struct tp_mail *mail)
{
    struct tp__world_op *op = (struct tp__world_op *)mail;
    if (tp__world_op_is_strange(op)) {
        op->entry = tp__world_find(world, op->name);
        if (op->entry == NULL || op->entry->published == NULL) { /* no map that was told of here */
            tp__world_op_free(op);
            return;
        }
    }
    if (!tp__world_defer(world, op))
        tp__world_apply_event(world, op);
}

/* ---- Loading ---- */

/* Asks the store for an entry; 0 when the answer is on its way. */
static int load(struct tp_world *world, struct tp__world_entry *entry, bool is_initial)
{
    struct tp__world_op *op = tp__world_op_new(world, entry, NULL);
    if (op == NULL)
        return TP_ERR_NO_MEMORY;
    op->is_initial = is_initial;
    entry->loading = true;
    world->busy++;
    int error = world->config.store->ops->load(world->config.store, entry->shared.name, op);
    if (error != 0) {
        entry->loading = false;
        world->busy--;
        tp__world_op_free(op);
    }
    return error;
}

void tp__world_park(struct tp__world_entry *entry, struct tp_world_request *request)
{
    request->parked_next = NULL;
    *entry->parked_end = request;
    entry->parked_end = &request->parked_next;
}

bool tp__world_look_up(struct tp_world *world, struct tp_world_request *request)
{
    if (world->config.store->is_volatile || request->looked_up)
        return false;
    int error = 0;
    struct tp__world_entry *entry = tp__world_add(world, request->name, &error);
    if (entry != NULL) {
        error = load(world, entry, false);
        if (error == 0) {
            tp__world_park(entry, request);
            return true;
        }
        tp__world_drop_unseen(world, entry);
    }
    tp__world_refuse(world, request, error, "map", "%s",
                     error == TP_ERR_NO_MEMORY ? "out of memory" : "as many maps are in memory as maps-max allows");
    return true;
}

/* Store thread. */
static void listed_cb(int error, const char *const *names, size_t count, void *context)
{
    struct tp_world *world = context;
    struct tp__world_listed *listed = calloc(1, sizeof *listed + count * sizeof listed->names[0]);
    if (listed == NULL) { /* what says so was allocated beforehand */
        listed = world->listed_nothing;
        world->listed_nothing = NULL;
        count = 0;
        error = TP_ERR_NO_MEMORY;
    }
    listed->mail.kind = TP_WORLD_MAIL_LISTED;
    listed->error = error;
    for (size_t i = 0; i < count; i++)
        if (tp_world_name_allowed(names[i]))
            tp_world_name_copy(listed->names[listed->count++], names[i]);
    world->config.post_self(world->config.context, &listed->mail);
}

void tp_world_load_all(struct tp_world *world)
{
    world->list_at_us = 0;
    if (world->listed_nothing == NULL)
        world->listed_nothing = calloc(1, sizeof *world->listed_nothing);
    if (world->listed_nothing == NULL) {
        list_again(world);
        return;
    }
    world->busy++;
    world->initial_loads = 1;
    if (world->config.store->ops->list(world->config.store, listed_cb, world) != 0)
        listed_cb(TP_ERR_NO_MEMORY, NULL, 0, world);
}

void tp__world_listed(struct tp_world *world, struct tp_mail *mail)
{
    struct tp__world_listed *listed = (struct tp__world_listed *)mail;
    world->busy--;
    if (listed->error != 0 && !world->is_list_told)
        tp_log(TP_LOG_WARN, "the stored maps cannot be listed yet; until then they are loaded when asked for", "error=%s",
               tp_error_name(listed->error));
    world->is_list_told = listed->error != 0;
    if (listed->error != 0)
        list_again(world);
    size_t left_out = 0;
    for (size_t i = 0; i < listed->count; i++) {
        if (tp__world_find(world, listed->names[i]) != NULL)
            continue; /* asked for already */
        int error = 0;
        struct tp__world_entry *entry = tp__world_add(world, listed->names[i], &error);
        if (entry == NULL) {
            left_out++;
        } else if (load(world, entry, true) != 0) {
            tp__world_drop_unseen(world, entry);
            left_out++;
        } else {
            world->initial_loads++;
        }
    }
    if (left_out > 0)
        tp_log(TP_LOG_WARN, "stored maps left out: maps-max is reached", "left_out=%zu", left_out);
    free(listed);
    initial_load_done(world);
}
