#include "daemon/world/world.h"

#include "base/check.h"
#include "daemon/stats/probes.h"
#include "daemon/world/world_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

static uint32_t name_hash(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash ^ hash >> 15;
}

struct tp__world_entry *tp__world_find(const struct tp_world *world, const char *name)
{
    struct tp__world_entry *entry = world->buckets[name_hash(name) & world->bucket_mask];
    while (entry != NULL && strcmp(entry->shared.name, name) != 0)
        entry = entry->next;
    return entry;
}

/* Frees the dropped entries that every shard has heard of. */
static void sweep_dropped(struct tp_world *world)
{
    struct tp__world_entry **link = &world->dropped;
    while (*link != NULL) {
        struct tp__world_entry *entry = *link;
        if (atomic_load(&entry->shared.holders) > 0) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        pthread_mutex_lock(&world->lock);
        world->slots[entry->shared.slot] = NULL;
        world->entries--;
        pthread_mutex_unlock(&world->lock);
        free(entry);
    }
}

struct tp__world_entry *tp__world_add(struct tp_world *world, const char *name, int *error)
{
    sweep_dropped(world);
    if (world->entries >= world->config.maps_max) {
        *error = TP_ERR_RESOURCE_EXHAUSTED;
        return NULL;
    }
    struct tp__world_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL) {
        *error = TP_ERR_NO_MEMORY;
        return NULL;
    }
    tp_world_name_copy(entry->shared.name, name);
    entry->parked_end = &entry->parked_first;
    entry->deferred_end = &entry->deferred;
    uint32_t slot = 0;
    while (world->slots[slot] != NULL)
        slot++;
    entry->shared.slot = slot;
    struct tp__world_entry **bucket = &world->buckets[name_hash(name) & world->bucket_mask];
    pthread_mutex_lock(&world->lock);
    world->slots[slot] = entry;
    entry->next = *bucket;
    *bucket = entry;
    world->entries++;
    pthread_mutex_unlock(&world->lock);
    return entry;
}

/* With the lock held. */
static void unlink_entry(struct tp_world *world, const struct tp__world_entry *entry)
{
    struct tp__world_entry **link = &world->buckets[name_hash(entry->shared.name) & world->bucket_mask];
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
}

void tp__world_retire(struct tp_world *world, struct tp__world_entry *entry)
{
    TP_CHECK(entry->parked_first == NULL && entry->ops == 0);
    if (entry->epoch_last > world->epoch_dropped)
        world->epoch_dropped = entry->epoch_last;
    atomic_store(&entry->shared.holders, world->config.shards);
    pthread_mutex_lock(&world->lock);
    unlink_entry(world, entry);
    const struct tp_map *published = entry->published;
    const struct tp_world_layers *layers = entry->layers_published;
    entry->published = NULL;
    entry->layers_published = NULL;
    pthread_mutex_unlock(&world->lock);
    tp_map_unref(published);
    tp_world_layers_unref(layers);
    tp__world_layers_fini(entry);
    entry->next = world->dropped;
    world->dropped = entry;
}

void tp__world_drop_unseen(struct tp_world *world, struct tp__world_entry *entry)
{
    if (entry->published != NULL || entry->ops > 0 || tp__world_is_closed(entry) || entry->load_error != 0)
        return;
    TP_CHECK(entry->parked_first == NULL);
    pthread_mutex_lock(&world->lock);
    unlink_entry(world, entry);
    world->slots[entry->shared.slot] = NULL;
    world->entries--;
    pthread_mutex_unlock(&world->lock);
    free(entry);
}

/* ---- Answers ---- */

struct tp_world_request *tp_world_request_new(enum tp_world_op op)
{
    struct tp_world_request *request = calloc(1, sizeof *request);
    if (request != NULL) {
        request->mail.kind = TP_WORLD_MAIL_REQUEST;
        request->op = op;
    }
    return request;
}

void tp_world_request_free(struct tp_world_request *request)
{
    if (request == NULL)
        return;
    free(request->cells);
    tp_upload_graph_fini(&request->graph);
    free(request->batch.changes);
    free(request->change_bits);
    if (request->layer != NULL)
        tp_world_layer_leave(request->layer);
    free(request);
}

static void answer(struct tp_world *world, struct tp_world_request *request)
{
    if (request->op == TP_WORLD_CHANGE) {
        if (request->refusal.error != 0) {
            tp_metric_add(&world->config.metrics->batches_refused, 1);
        } else {
            if (!request->applied_before)
                TP_PROBE4(change__applied, request->name, request->epoch, request->version, request->batch.count);
            tp_metric_add(&world->config.metrics->batches_applied, !request->applied_before);
            tp_metric_add(&world->config.metrics->batches_repeated, request->applied_before);
            tp_metric_add(&world->config.metrics->changes_applied, request->applied_before ? 0 : request->batch.count);
            tp_metric_observe(&world->config.metrics->change_seconds,
                              world->config.now_us(world->config.context) - request->arrived_us);
        }
    }
    request->mail.kind = TP_SHARD_MAIL_ANSWER;
    world->config.post_shard(world->config.context, request->shard, &request->mail);
}

__attribute__((format(printf, 5, 6))) void tp__world_refuse(struct tp_world *world,
                                                            struct tp_world_request *request, int error,
                                                            const char *field, const char *format, ...)
{
    request->refusal.error = error;
    request->refusal.field = field;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(request->refusal.words, sizeof request->refusal.words, format, arguments);
    va_end(arguments);
    answer(world, request);
}

void tp__world_grant(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry,
                     const struct tp_map *map)
{
    request->map = &entry->shared;
    request->epoch = map->epoch;
    request->version = map->version;
    answer(world, request);
}

void tp__world_grant_again(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry,
                           uint64_t epoch, uint64_t version)
{
    request->map = &entry->shared;
    request->epoch = epoch;
    request->version = version;
    request->applied_before = true;
    answer(world, request);
}

void tp__world_grant_dropped(struct tp_world *world, struct tp_world_request *request)
{
    answer(world, request);
}

/* ---- Life cycle and what other threads see ---- */

void tp_world_handle(struct tp_world *world, struct tp_mail *mail)
{
    switch (mail->kind) {
    case TP_WORLD_MAIL_REQUEST: {
        struct tp_world_request *request = (struct tp_world_request *)mail;
        request->arrived_us = world->config.now_us(world->config.context);
        tp__world_handle_request(world, request);
        break;
    }
    case TP_WORLD_MAIL_EVENT:
        tp__world_event(world, mail);
        break;
    case TP_WORLD_MAIL_LISTED:
        tp__world_listed(world, mail);
        break;
    case TP_WORLD_MAIL_UNUSED:
        tp__world_layer_unused(world, mail);
        break;
    case TP_WORLD_MAIL_ENDED:
        tp__world_shard_ended(world, mail);
        break;
    default:
        TP_CHECK(!"a mail of unknown kind");
    }
}

void tp_world_discard(struct tp_world *world, struct tp_mail *mail)
{
    (void)world;
    if (mail->kind == TP_WORLD_MAIL_EVENT)
        tp__world_op_free((struct tp__world_op *)mail);
    else if (mail->kind == TP_WORLD_MAIL_ENDED)
        free(mail);
    else
        TP_CHECK(mail->kind == TP_WORLD_MAIL_UNUSED); /* a part of its layer */
}

int tp_world_open(struct tp_world **out, const struct tp_world_config *config)
{
    *out = NULL;
    struct tp_world *world = calloc(1, sizeof *world);
    if (world == NULL)
        return TP_ERR_NO_MEMORY;
    world->config = *config;
    uint32_t buckets = 16;
    while (buckets < config->maps_max)
        buckets *= 2;
    world->bucket_mask = buckets - 1;
    world->buckets = calloc(buckets, sizeof(struct tp__world_entry *));
    world->slots = calloc(config->maps_max, sizeof(struct tp__world_entry *));
    if (world->buckets == NULL || world->slots == NULL) {
        free(world->buckets);
        free(world->slots);
        free(world);
        return TP_ERR_NO_MEMORY;
    }
    pthread_mutex_init(&world->lock, NULL);
    tp__world_attach(world);
    *out = world;
    return 0;
}

void tp_world_look(struct tp_world *world)
{
    if (world->config.held != NULL)
        tp_map_held_end_gone(world->config.held);
    if (world->list_at_us != 0 && world->config.now_us(world->config.context) >= world->list_at_us)
        tp_world_load_all(world);
}

void tp_world_close(struct tp_world *world)
{
    if (world == NULL)
        return;
    TP_CHECK(world->busy == 0);
    for (uint32_t i = 0; i < world->config.maps_max; i++) {
        struct tp__world_entry *entry = world->slots[i];
        if (entry == NULL)
            continue;
        tp__world_layers_fini(entry);
        tp_map_unref(entry->published);
        free(entry);
    }
    pthread_mutex_destroy(&world->lock);
    free(world->listed_nothing);
    free(world->buckets);
    free(world->slots);
    free(world);
}

size_t tp_world_busy(const struct tp_world *world)
{
    return world->busy;
}

bool tp_world_ready(const struct tp_world *world)
{
    return atomic_load(&world->ready);
}

struct tp_world_map *tp_world_find(struct tp_world *world, const char *name)
{
    pthread_mutex_lock(&world->lock);
    struct tp__world_entry *entry = tp__world_find(world, name);
    bool is_published = entry != NULL && entry->published != NULL;
    pthread_mutex_unlock(&world->lock);
    return is_published ? &entry->shared : NULL;
}

const struct tp_map *tp_world_peek(struct tp_world *world, const char *name, const struct tp_world_map **of)
{
    pthread_mutex_lock(&world->lock);
    struct tp__world_entry *entry = tp__world_find(world, name);
    const struct tp_map *map = entry != NULL && entry->published != NULL ? tp_map_ref(entry->published) : NULL;
    pthread_mutex_unlock(&world->lock);
    *of = map != NULL ? &entry->shared : NULL;
    return map;
}

const struct tp_map *tp_world_current(struct tp_world *world, const struct tp_world_map *map,
                                      const struct tp_world_layers **layers, uint64_t *seq)
{
    const struct tp__world_entry *entry = (const struct tp__world_entry *)map;
    pthread_mutex_lock(&world->lock);
    const struct tp_map *current = entry->published != NULL ? tp_map_ref(entry->published) : NULL; /* dropped just now */
    *layers = tp_world_layers_ref(entry->layers_published);
    *seq = entry->seq_published;
    pthread_mutex_unlock(&world->lock);
    return current;
}

int tp_world_each(struct tp_world *world, tp_world_each_cb each, void *context)
{
    pthread_mutex_lock(&world->lock);
    size_t count = 0;
    struct held {
        struct tp_world_map *of;
        const struct tp_map *map;
    } *held = malloc((world->entries + 1) * sizeof *held);
    for (uint32_t i = 0; held != NULL && i < world->config.maps_max && count < world->entries; i++) {
        struct tp__world_entry *entry = world->slots[i];
        if (entry != NULL && entry->published != NULL)
            held[count++] = (struct held){&entry->shared, tp_map_ref(entry->published)};
    }
    pthread_mutex_unlock(&world->lock);
    if (held == NULL)
        return TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        each(held[i].of, held[i].map, context);
        tp_map_unref(held[i].map);
    }
    free(held);
    return 0;
}

bool tp_world_enter(struct tp_world_map *map)
{
    int64_t sessions = atomic_load(&map->sessions);
    while (sessions >= 0)
        if (atomic_compare_exchange_weak(&map->sessions, &sessions, sessions + 1))
            return true;
    return false;
}

void tp_world_leave(struct tp_world_map *map)
{
    atomic_fetch_sub(&map->sessions, 1);
}
