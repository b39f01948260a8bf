/* Profiles and layers of a map. A layer's life:
 *
 *     first session of its kind -> built of the version published -> published beside the map, version by version
 *            -> last session leaves (any thread): a mail -> the world takes it out, publishes the map without it
 *
 * When the store has a new version its layers are made from those published (tp__world_follow_layers), so that a version is
 * published with all its layers, or not at all. What may go wrong: out of memory while a layer is built refuses the open and leaves
 * everything as it was; what taking a layer out needs is allocated when it is made. An epoch begins without layers: a put needs a
 * map without sessions, and the mails of layers on their way out come before its event; an epoch that ends otherwise waits for
 * them (world_ending.c). */
#include "base/check.h"
#include "daemon/world/world_internal.h"

#include <stdlib.h>
#include <string.h>

/* Of tp_world_layer.sessions: the mail is on its way, the rest counts. */
#define MAIL_SENT (1ull << 63)

struct tp__world_layer {
    struct tp_world_layer shared; /* first: the shards' pointer is this one */
    struct tp_layer_kind kind;
    struct tp__world_op *farewell; /* publishes the map without the layer */
};

/* ---- Layers published together ---- */

struct tp_world_layers *tp__world_layers_new(void)
{
    struct tp_world_layers *layers = calloc(1, sizeof *layers);
    if (layers != NULL)
        atomic_init(&layers->refs, 1);
    return layers;
}

const struct tp_world_layers *tp_world_layers_ref(const struct tp_world_layers *layers)
{
    if (layers != NULL)
        atomic_fetch_add(&((struct tp_world_layers *)layers)->refs, 1);
    return layers;
}

void tp_world_layers_unref(const struct tp_world_layers *layers)
{
    struct tp_world_layers *own = (struct tp_world_layers *)layers;
    if (own == NULL || atomic_fetch_sub(&own->refs, 1) != 1)
        return;
    for (size_t i = 0; i < TP_WORLD_LAYERS_MAX; i++)
        tp_map_unref(own->layer[i]);
    free(own);
}

/* ---- Profiles ---- */

static struct tp__world_profile *find_profile(struct tp__world_entry *entry, const char *name)
{
    for (size_t i = 0; i < entry->profile_count; i++)
        if (strcmp(entry->profiles[i].name, name) == 0)
            return &entry->profiles[i];
    return NULL;
}

/* The field that makes a session one of a kind of its own. */
static const char *kind_field(const struct tp_world_request *request)
{
    if (request->profile_name[0] != '\0')
        return "profile";
    return request->agent_size > 1 ? "agent_size" : "guide_units";
}

/* Whether the map is there, is a grid and stays; else the request was refused. */
static bool check_grid(struct tp_world *world, struct tp_world_request *request,
                       const struct tp__world_entry *entry)
{
    if (entry->published == NULL) {
        request->refusal.retry_after_ms = 10;
        tp__world_refuse(world, request, TP_ERR_MAP_NOT_READY, "map",
                         "the map was uploaded, and is on its way to the store");
    } else if (entry->published->graph != NULL && request->has_blocks) { /* it was a grid when the session asked */
        request->refusal.retry_after_ms = 100;
        tp__world_refuse(world, request, TP_ERR_UNAVAILABLE, "map", "the map was replaced just now");
    } else if (entry->published->graph != NULL) {
        tp__world_refuse(world, request, TP_ERR_UNSUPPORTED, request->op == TP_WORLD_PROFILE ? "map" : kind_field(request),
                         "the map is a graph: profiles and agent sizes are for grids");
    } else if (atomic_load(&entry->shared.sessions) < 0) {
        request->refusal.retry_after_ms = 100;
        tp__world_refuse(world, request, TP_ERR_UNAVAILABLE, "map", "the map is being replaced or dropped");
    } else {
        return true;
    }
    return false;
}

void tp__world_put_profile(struct tp_world *world, struct tp_world_request *request,
                           struct tp__world_entry *entry)
{
    if (!check_grid(world, request, entry))
        return;
    const struct tp__world_profile *same = find_profile(entry, request->profile_name);
    if (same != NULL) {
        if (memcmp(&same->profile, &request->profile, sizeof same->profile) == 0)
            tp__world_grant(world, request, entry, entry->published);
        else
            tp__world_refuse(world, request, TP_ERR_ALREADY_EXISTS, "name",
                             "the map has another profile of that name: give this one a name of its own");
        return;
    }
    if (entry->profile_count == TP_WORLD_PROFILES_MAX) {
        tp__world_refuse(world, request, TP_ERR_RESOURCE_EXHAUSTED, "name",
                         "a map has at most %d profiles besides its own", TP_WORLD_PROFILES_MAX);
        return;
    }
    struct tp__world_profile *larger = realloc(entry->profiles, (entry->profile_count + 1) * sizeof *larger);
    if (larger == NULL) {
        tp__world_refuse(world, request, TP_ERR_NO_MEMORY, NULL, "out of memory");
        return;
    }
    entry->profiles = larger;
    larger += entry->profile_count++;
    larger->profile = request->profile;
    tp_world_name_copy(larger->name, request->profile_name);
    tp__world_grant(world, request, entry, entry->published);
}

void tp__world_forget_profiles(struct tp__world_entry *entry)
{
    free(entry->profiles);
    entry->profiles = NULL;
    entry->profile_count = 0;
}

/* ---- Making a layer ---- */

static void set_layer(struct tp__world_op *op, uint32_t index, const struct tp_map *layer)
{
    tp_map_unref(op->layers->layer[index]);
    op->layers->layer[index] = layer;
}

static void free_layer(struct tp__world_layer *layer)
{
    if (layer == NULL)
        return;
    if (layer->farewell != NULL)
        tp__world_op_free(layer->farewell);
    free(layer);
}

/* An op that publishes the version published now once more, with the layers it has, to be changed; NULL: out of memory. */
static struct tp__world_op *again_op_new(struct tp_world *world, struct tp__world_entry *entry)
{
    return tp__world_op_new(world, entry, NULL);
}

static void again_op_fill(struct tp__world_op *op)
{
    struct tp__world_entry *entry = op->entry;
    op->map = tp_map_ref(entry->published);
    for (uint32_t i = 0; i < TP_WORLD_LAYERS_MAX; i++) {
        const struct tp_map *layer = entry->layers_published->layer[i];
        op->layers->layer[i] = layer == NULL ? NULL : tp_map_ref(layer);
    }
}

/* Gives a new layer, published; NULL with *error. */
static struct tp__world_layer *make_layer(struct tp_world *world, struct tp__world_entry *entry,
                                          const struct tp_layer_kind *kind, uint32_t index, int *error)
{
    struct tp__world_layer *layer = calloc(1, sizeof *layer);
    struct tp__world_op *op = again_op_new(world, entry);
    struct tp_map *now = NULL;
    *error = TP_ERR_NO_MEMORY;
    if (layer != NULL) {
        layer->shared.unused.kind = TP_WORLD_MAIL_UNUSED;
        layer->shared.world = world;
        layer->shared.of = &entry->shared;
        layer->shared.index = index;
        layer->kind = *kind;
        layer->farewell = again_op_new(world, entry);
    }
    if (layer != NULL && op != NULL && layer->farewell != NULL)
        *error = tp_layer_build(&now, entry->published, kind);
    if (*error != 0) {
        free_layer(layer);
        if (op != NULL)
            tp__world_op_free(op);
        return NULL;
    }
    entry->layer[index] = layer;
    again_op_fill(op);
    set_layer(op, index, now);
    tp__world_publish(op);
    tp__world_op_free(op);
    tp_metric_gauge_add(&world->config.metrics->layers, 1);
    return layer;
}

/* The layer of that kind, or where a new one goes in *free (TP_WORLD_LAYERS_MAX: nowhere). */
static struct tp__world_layer *find_layer(struct tp__world_entry *entry, const struct tp_layer_kind *kind,
                                          uint32_t *free_index)
{
    *free_index = TP_WORLD_LAYERS_MAX;
    for (uint32_t i = TP_WORLD_LAYERS_MAX; i-- > 0;) {
        struct tp__world_layer *layer = entry->layer[i];
        if (layer == NULL)
            *free_index = i;
        else if (layer->kind.size == kind->size && layer->kind.has_blocks == kind->has_blocks &&
                 layer->kind.links == kind->links &&
                 memcmp(&layer->kind.profile, &kind->profile, sizeof kind->profile) == 0)
            return layer;
    }
    return NULL;
}

void tp__world_take_layer(struct tp_world *world, struct tp_world_request *request,
                          struct tp__world_entry *entry)
{
    if (!check_grid(world, request, entry))
        return;
    struct tp_layer_kind kind = {entry->published->profile, request->agent_size, request->has_blocks,
                                 request->links};
    if (request->profile_name[0] != '\0') {
        const struct tp__world_profile *profile = find_profile(entry, request->profile_name);
        if (profile == NULL) {
            tp__world_refuse(world, request, TP_ERR_NOT_FOUND, "profile",
                             "the map has no profile of that name");
            return;
        }
        kind.profile = profile->profile;
    }
    uint32_t index;
    struct tp__world_layer *layer = find_layer(entry, &kind, &index);
    int error = 0;
    if (layer == NULL && index == TP_WORLD_LAYERS_MAX) {
        request->refusal.retry_after_ms = 1000;
        tp__world_refuse(world, request, TP_ERR_RESOURCE_EXHAUSTED, kind_field(request),
                         "sessions of a map use at most %d different profiles and agent sizes at a time, guided "
                         "ones counted apart",
                         TP_WORLD_LAYERS_MAX);
        return;
    }
    if (layer == NULL)
        layer = make_layer(world, entry, &kind, index, &error);
    if (error == TP_ERR_INVALID_ARGUMENT) {
        tp__world_refuse(world, request, error, "agent_size",
                         "above 1 a profile must close a class, or give two the same weight");
        return;
    }
    if (error != 0) {
        tp__world_refuse(world, request, error, NULL, "out of memory");
        return;
    }
    /* only this thread counts from 0 up; a put or a drop of the map can't have begun since check_grid: it is begun here as well */
    TP_CHECK(tp_world_enter(&entry->shared));
    atomic_fetch_add(&layer->shared.sessions, 1);
    request->layer = &layer->shared;
    tp__world_grant(world, request, entry, entry->published);
}

/* ---- Keeping it in step ---- */

int tp__world_follow_layers(struct tp__world_op *op)
{
    const struct tp__world_entry *entry = op->entry;
    for (uint32_t i = 0; i < TP_WORLD_LAYERS_MAX; i++) {
        const struct tp__world_layer *layer = entry->layer[i];
        struct tp_map *next = NULL;
        if (layer == NULL)
            continue;
        int error = tp_layer_follow(&next, entry->layers_published->layer[i], entry->published, op->map, &layer->kind);
        if (error != 0)
            return error;
        set_layer(op, i, next);
    }
    return 0;
}

/* ---- Taking it out ---- */

void tp_world_layer_leave(struct tp_world_layer *layer)
{
    struct tp_world *world = layer->world;
    struct tp_world_map *of = layer->of;
    uint64_t sessions = atomic_load(&layer->sessions), left;
    do
        left = (sessions & ~MAIL_SENT) == 1 ? MAIL_SENT : sessions - 1;
    while (!atomic_compare_exchange_weak(&layer->sessions, &sessions, left));
    /* from here on the layer is the world's alone if this was the last session, but for the mail that this thread has to send */
    if (left == MAIL_SENT && (sessions & MAIL_SENT) == 0)
        world->config.post_self(world->config.context, &layer->unused);
    tp_world_leave(of); /* after the mail: whoever then puts or drops the map hears of the layer first */
}

void tp__world_layer_unused(struct tp_world *world, struct tp_mail *mail)
{
    struct tp__world_layer *layer = (struct tp__world_layer *)mail;
    struct tp__world_entry *entry = (struct tp__world_entry *)layer->shared.of;
    uint64_t sessions = atomic_load(&layer->shared.sessions);
    while (sessions != MAIL_SENT) /* used again since: the next to leave it last sends the next mail */
        if (atomic_compare_exchange_weak(&layer->shared.sessions, &sessions, sessions & ~MAIL_SENT))
            return;
    uint32_t index = layer->shared.index;
    TP_CHECK(entry->layer[index] == layer);
    entry->layer[index] = NULL;
    struct tp__world_op *op = layer->farewell;
    again_op_fill(op);
    set_layer(op, index, NULL);
    tp__world_publish(op);
    free_layer(layer); /* with the op */
    tp_metric_gauge_add(&world->config.metrics->layers, -1);
}

void tp__world_layers_fini(struct tp__world_entry *entry)
{
    for (uint32_t i = 0; i < TP_WORLD_LAYERS_MAX; i++) {
        free_layer(entry->layer[i]);
        entry->layer[i] = NULL;
    }
    tp_world_layers_unref(entry->layers_published);
    entry->layers_published = NULL;
    tp__world_forget_profiles(entry);
}
