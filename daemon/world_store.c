/* The happy path of a change: tp__world_submit() gives an op to the store; stored_cb (store thread) posts it
 * back; tp__world_stored() publishes and answers. What may go wrong on the way:
 *
 *     the name is unknown      tp__world_look_up() parks the request and asks the store; tp__world_loaded()
 *                              handles it again, or refuses it when the store could not be asked
 *     the store takes nothing  give_up(): the tip never moved
 *     the store fails          fall_back(): the tip returns to what is published, later ops are doomed
 *     a drop fails             refuse_drop(): the map stands as it was
 *     out of memory            what an op needs later is allocated before it is submitted
 */
#include "base/check.h"
#include "daemon/log.h"
#include "daemon/world_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct listed {
    struct tp_mail mail;
    int error;
    size_t count;
    char names[][TP_WORLD_NAME_MAX + 1];
};

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
    tp_keys_fini(&op->keys);
    for (unsigned i = 0; i < op->world->config.shards; i++)
        free(op->publication[i]);
    tp_map_unref(op->map);
    tp_world_layers_unref(op->layers);
    free(op);
}

static void tell_shards(struct tp__world_op *op)
{
    struct tp_world *world = op->world;
    for (unsigned i = 0; i < world->config.shards; i++) {
        struct tp_world_publication *publication = op->publication[i];
        op->publication[i] = NULL;
        publication->mail.kind = TP_SHARD_MAIL_MAP;
        publication->of = &op->entry->shared;
        publication->map = op->map == NULL ? NULL : tp_map_ref(op->map);
        publication->layers = tp_world_layers_ref(op->layers);
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
    tell_shards(op);
}

static void set_tip(struct tp__world_entry *entry, const struct tp_map *map)
{
    const struct tp_map *before = entry->tip;
    entry->tip = map == NULL ? NULL : tp_map_ref(map);
    tp_map_unref(before);
}

/* ---- The store ---- */

/* Store thread. */
static void stored_cb(int error, void *context)
{
    struct tp__world_op *op = context;
    op->error = error;
    op->world->config.post_self(op->world->config.context, &op->mail);
}

/* Whether the op is a batch with a key. */
static bool is_keyed(const struct tp__world_op *op)
{
    return op->request != NULL && op->request->op == TP_WORLD_CHANGE && tp_key_is_set(&op->request->key);
}

/* A batch with a key has come back from the store: it is not on its way any more. Gives the requests that wait for it. */
static struct tp_world_request *unlink_keyed(struct tp__world_op *op)
{
    struct tp__world_op **link = &op->entry->keyed;
    while (*link != NULL && *link != op)
        link = &(*link)->keyed_next;
    if (*link != NULL)
        *link = op->keyed_next;
    struct tp_world_request *waiting = op->same_key;
    op->same_key = NULL;
    return waiting;
}

bool tp__world_answer_by_key(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry)
{
    if (!tp_key_is_set(&request->key))
        return false;
    for (struct tp__world_op *op = entry->keyed; op != NULL; op = op->keyed_next) {
        if (op->map->epoch != entry->tip->epoch || !tp_key_equals(&op->request->key, &request->key))
            continue;
        struct tp_world_request **link = &op->same_key;
        while (*link != NULL)
            link = &(*link)->parked_next;
        request->parked_next = NULL;
        *link = request;
        return true;
    }
    if (entry->published == NULL || entry->published->epoch != entry->tip->epoch)
        return false; /* the map is being replaced: its keys go with it */
    uint64_t version = tp_keys_find(&entry->keys, &request->key);
    if (version == 0)
        return false;
    tp__world_grant_again(world, request, entry, entry->published->epoch, version);
    return true;
}

/* Refuses the request of an op that came to nothing, and forgets the op. */
static void give_up(struct tp__world_op *op, int error)
{
    struct tp_world *world = op->world;
    struct tp__world_entry *entry = op->entry;
    if (op->is_put)
        atomic_store(&entry->shared.sessions, 0);
    struct tp_world_request *waiting = unlink_keyed(op);
    for (struct tp_world_request *request = op->request, *next = waiting; request != NULL; request = next) {
        if (request != op->request)
            next = request->parked_next;
        request->refusal.retry_after_ms = 1000;
        tp__world_refuse(world, request, error == TP_ERR_NO_MEMORY ? TP_ERR_NO_MEMORY : TP_ERR_UNAVAILABLE, NULL,
                         "the store cannot take it now; nothing was applied");
    }
    tp__world_op_free(op);
    tp__world_drop_unseen(world, entry);
}

void tp__world_submit(struct tp__world_op *op, const uint8_t *batch, size_t batch_bytes)
{
    struct tp_world *world = op->world;
    struct tp__world_entry *entry = op->entry;
    struct tp_store *store = world->config.store;
    op->mail.kind = TP_WORLD_MAIL_STORED;
    op->seq = entry->seq + 1;
    int error = is_keyed(op) ? tp_keys_reserve(&entry->keys) : 0;
    if (error == 0 && !op->is_put)
        error = tp__world_follow_layers(op);
    if (error != 0) {
        give_up(op, error);
        return;
    }
    if (op->is_put)
        error = store->ops->put(store, entry->shared.name, op->map, stored_cb, op);
    else
        error = store->ops->append(store, entry->shared.name, op->map, batch, batch_bytes, stored_cb, op);
    if (error != 0) { /* nothing was taken and nothing built on it: as if it had not been asked for */
        give_up(op, error);
        return;
    }
    entry->seq = op->seq;
    if (op->is_put)
        entry->seq_put = op->seq;
    else
        tp__world_op_sent(op);
    if (is_keyed(op)) {
        op->keyed_next = entry->keyed;
        entry->keyed = op;
    }
    entry->ops++;
    world->busy++;
    set_tip(entry, op->map);
    tp__world_set_layer_tips(entry, op->layers);
}

/* The op failed: what was built on it is doomed, the tip falls back to what is published (unless a put in
 * flight begins anew behind it). */
static void fall_back(struct tp__world_op *op)
{
    struct tp__world_entry *entry = op->entry;
    if (!op->is_put && entry->seq_put > op->seq) {
        entry->seq_doomed = entry->seq_put - 1;
        return;
    }
    entry->seq_doomed = entry->seq;
    set_tip(entry, entry->published);
    tp__world_set_layer_tips(entry, entry->layers_published);
}

void tp__world_stored(struct tp_world *world, struct tp_mail *mail)
{
    struct tp__world_op *op = (struct tp__world_op *)mail;
    struct tp__world_entry *entry = op->entry;
    world->busy--;
    entry->ops--;
    if (op->is_put)
        entry->seq_put = 0;
    else
        tp__world_op_back(op);
    bool is_doomed = op->seq <= entry->seq_doomed;
    bool is_put_off = op->error == TP_ERR_UNAVAILABLE && world->config.store->serves_degraded;
    if (is_doomed || (op->error != 0 && !is_put_off)) {
        if (!is_doomed) {
            fall_back(op);
            char quoted[TP_WORLD_NAME_MAX + 8];
            tp_log(TP_LOG_WARN, "the store refused a write", "map=%s version=%" PRIu64 " error=%s",
                   tp_log_quote(quoted, sizeof quoted, entry->shared.name), op->map->version,
                   tp_error_name(op->error));
        }
        give_up(op, op->error);
        return;
    }
    tp__world_publish(op);
    struct tp_world_request *again = unlink_keyed(op);
    if (is_keyed(op))
        tp_keys_add(&entry->keys, &op->request->key, op->map->version);
    if (op->is_put) { /* after the publication: whoever enters now finds the new epoch */
        entry->keys.count = 0; /* but the memory stays: batches behind this one may count on it */
        entry->load_error = 0;
        tp__world_forget_profiles(entry);
        atomic_store(&entry->shared.sessions, 0);
        tp_metric_add(&world->config.metrics->maps_put, 1);
    }
    tp__world_grant(world, op->request, entry, op->map);
    while (again != NULL) {
        struct tp_world_request *request = again;
        again = again->parked_next;
        tp__world_grant_again(world, request, entry, op->map->epoch, op->map->version);
    }
    tp__world_op_free(op);
}

/* ---- Dropping ---- */

static struct tp_world_request *take_parked(struct tp__world_entry *entry)
{
    struct tp_world_request *parked = entry->parked_first;
    entry->parked_first = NULL;
    entry->parked_end = &entry->parked_first;
    return parked;
}

static void refuse_drop(struct tp__world_op *op, int error)
{
    atomic_store(&op->entry->shared.sessions, 0);
    op->request->refusal.retry_after_ms = 1000;
    tp__world_refuse(op->world, op->request,
                     error == TP_ERR_NO_MEMORY ? TP_ERR_NO_MEMORY : TP_ERR_UNAVAILABLE, NULL,
                     "the store cannot drop it now; the map stands as it was");
    tp__world_op_free(op);
}

/* The completion comes behind those of every write of this map: the store keeps the order. */
void tp__world_submit_drop(struct tp__world_op *op)
{
    struct tp_world *world = op->world;
    struct tp__world_entry *entry = op->entry;
    struct tp_store *store = world->config.store;
    op->mail.kind = TP_WORLD_MAIL_DROPPED;
    entry->dropping = true;
    world->busy++;
    int error = store->ops->drop(store, entry->shared.name, entry->tip, stored_cb, op);
    if (error != 0) {
        entry->dropping = false;
        world->busy--;
        refuse_drop(op, error);
    }
}

void tp__world_dropped(struct tp_world *world, struct tp_mail *mail)
{
    struct tp__world_op *op = (struct tp__world_op *)mail;
    struct tp__world_entry *entry = op->entry;
    world->busy--;
    entry->dropping = false;
    struct tp_world_request *parked = take_parked(entry);
    if (op->error != 0) {
        refuse_drop(op, op->error);
    } else {
        const struct tp_map *was = entry->published;
        char quoted[TP_WORLD_NAME_MAX + 8];
        tp_log(TP_LOG_INFO, "map dropped", "map=%s", tp_log_quote(quoted, sizeof quoted, entry->shared.name));
        if (was != NULL) {
            tp_metric_gauge_add(&world->config.metrics->maps, -1);
            tp_metric_gauge_add(&world->config.metrics->map_cells, -(int64_t)was->width * was->height);
        }
        tp__world_retire(world, entry); /* before the shards hear of it: each counts itself out */
        tell_shards(op);
        tp__world_grant_dropped(world, op->request);
        tp__world_op_free(op);
    }
    while (parked != NULL) { /* of a map that is gone the store is asked again */
        struct tp_world_request *request = parked;
        parked = parked->parked_next;
        tp__world_handle_request(world, request);
    }
}

/* ---- Loading ---- */

/* Store thread. */
static void loaded_cb(int error, struct tp_map *map, struct tp_keys *keys, const char *reason, void *context)
{
    struct tp__world_op *op = context;
    op->error = error;
    op->map = map;
    if (keys != NULL) {
        op->keys = *keys;
        *keys = (struct tp_keys){0};
    }
    op->reason = reason;
    op->world->config.post_self(op->world->config.context, &op->mail);
}

/* Asks the store for an entry; 0 when the answer is on its way. */
static int load(struct tp_world *world, struct tp__world_entry *entry, bool is_initial)
{
    struct tp__world_op *op = tp__world_op_new(world, entry, NULL);
    if (op == NULL)
        return TP_ERR_NO_MEMORY;
    op->mail.kind = TP_WORLD_MAIL_LOADED;
    op->is_initial = is_initial;
    entry->loading = true;
    world->busy++;
    world->config.store->ops->load(world->config.store, entry->shared.name, loaded_cb, op);
    return 0;
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

/* One of the calls that tp_world_load_all waits for came back. */
static void initial_load_done(struct tp_world *world)
{
    if (--world->initial_loads == 0)
        atomic_store(&world->ready, true);
}

/* A store that may have missed acknowledged batches gives a map that is not known to be the one clients were told of:
 * its versions must not be taken for theirs. The map is fresh from the store and nobody else's yet. */
static void begin_epoch(struct tp_world *world, struct tp__world_entry *entry, const struct tp_map *map)
{
    uint64_t epoch = world->config.unix_now_us(world->config.context);
    entry->epoch_last = epoch > entry->epoch_last ? epoch : entry->epoch_last + 1;
    ((struct tp_map *)map)->epoch = entry->epoch_last;
}

void tp__world_loaded(struct tp_world *world, struct tp_mail *mail)
{
    struct tp__world_op *op = (struct tp__world_op *)mail;
    struct tp__world_entry *entry = op->entry;
    char quoted[TP_WORLD_NAME_MAX + 8];
    tp_log_quote(quoted, sizeof quoted, entry->shared.name);
    world->busy--;
    entry->loading = false;
    if (op->error == 0) {
        entry->epoch_last = op->map->epoch;
        if (world->config.store->serves_degraded)
            begin_epoch(world, entry, op->map);
        if (world->config.held != NULL)
            tp_map_count_in((struct tp_map *)op->map, world->config.held);
        set_tip(entry, op->map);
        tp__world_publish(op);
        entry->keys = op->keys;
        op->keys = (struct tp_keys){0};
        tp_metric_add(&world->config.metrics->maps_loaded, 1);
        tp_log(TP_LOG_INFO, "map loaded", "map=%s width=%u height=%u version=%" PRIu64, quoted,
               op->map->width, op->map->height, op->map->version);
    } else if (op->error == TP_ERR_CORRUPT) {
        entry->load_error = TP_ERR_CORRUPT;
        entry->load_reason = op->reason != NULL ? op->reason : "what the store holds fails its checks";
        tp_log(TP_LOG_ERROR, "a stored map is corrupt", "map=%s reason=\"%s\"", quoted, entry->load_reason);
    } else if (op->error != TP_ERR_NOT_FOUND) {
        tp_log(TP_LOG_WARN, "the store could not be asked for a map", "map=%s error=%s", quoted,
               tp_error_name(op->error));
    }
    int error = op->error;
    if (op->is_initial)
        initial_load_done(world);
    tp__world_op_free(op);
    struct tp_world_request *parked = take_parked(entry);
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

/* Store thread. */
static void listed_cb(int error, const char *const *names, size_t count, void *context)
{
    struct tp_world *world = context;
    struct listed *listed = calloc(1, sizeof *listed + count * sizeof listed->names[0]);
    if (listed == NULL) {
        tp_log_words(TP_LOG_ERROR, "out of memory while listing the stored maps");
        listed = calloc(1, sizeof *listed);
        TP_CHECK(listed != NULL);
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
    world->busy++;
    world->initial_loads = 1;
    world->config.store->ops->list(world->config.store, listed_cb, world);
}

void tp__world_listed(struct tp_world *world, struct tp_mail *mail)
{
    struct listed *listed = (struct listed *)mail;
    world->busy--;
    if (listed->error != 0)
        tp_log(TP_LOG_WARN, "the stored maps cannot be listed; they are loaded when asked for", "error=%s",
               tp_error_name(listed->error));
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
