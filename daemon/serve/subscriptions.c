#include "daemon/serve/subscriptions.h"

#include "daemon/serve/peer.h"

#include <stdlib.h>
#include <string.h>

void tp_subscriptions_fini(struct tp_subscriptions *subscriptions)
{
    for (uint32_t i = 0; i < subscriptions->count; i++)
        tp_map_unref(subscriptions->list[i].told);
    free(subscriptions->list);
    *subscriptions = (struct tp_subscriptions){0};
}

static void remove_at(struct tp_subscriptions *subscriptions, uint32_t index)
{
    tp_map_unref(subscriptions->list[index].told);
    subscriptions->list[index] = subscriptions->list[--subscriptions->count];
}

static struct tp_subscription *find(struct tp_subscriptions *subscriptions, const char *name)
{
    for (uint32_t i = 0; i < subscriptions->count; i++)
        if (strcmp(subscriptions->list[i].name, name) == 0)
            return &subscriptions->list[i];
    return NULL;
}

/* The client is told of `map`. */
static void set_told(struct tp_subscription *subscription, const struct tp_map *map)
{
    bool keeps = subscription->want_cells && map->graph == NULL;
    const struct tp_map *before = subscription->told;
    subscription->told = keeps ? tp_map_ref(map) : NULL;
    subscription->epoch = map->epoch;
    subscription->version = map->version;
    tp_map_unref(before);
}

int tp_subscriptions_add(struct tp_subscriptions *subscriptions, struct tp_world_map *of,
                         const struct tp_map *map, bool want_cells)
{
    struct tp_subscription *subscription = find(subscriptions, of->name);
    if (subscription == NULL) {
        if (subscriptions->count == TP_SUBSCRIPTIONS_MAX)
            return TP_ERR_RESOURCE_EXHAUSTED;
        if (subscriptions->count == subscriptions->capacity) {
            uint32_t capacity = subscriptions->capacity == 0 ? 4 : subscriptions->capacity * 2;
            struct tp_subscription *list = realloc(subscriptions->list, capacity * sizeof *list);
            if (list == NULL)
                return TP_ERR_NO_MEMORY;
            subscriptions->list = list;
            subscriptions->capacity = capacity;
        }
        subscription = &subscriptions->list[subscriptions->count++];
        *subscription = (struct tp_subscription){0};
        tp_world_name_copy(subscription->name, of->name);
    }
    subscription->of = of;
    subscription->want_cells = want_cells;
    set_told(subscription, map);
    return 0;
}

void tp_subscriptions_remove(struct tp_subscriptions *subscriptions, const char *name)
{
    const struct tp_subscription *subscription = find(subscriptions, name);
    if (subscription != NULL)
        remove_at(subscriptions, (uint32_t)(subscription - subscriptions->list));
}

bool tp_subscriptions_published(struct tp_subscriptions *subscriptions, const struct tp_world_map *of,
                                bool is_dropped)
{
    for (uint32_t i = 0; i < subscriptions->count; i++) {
        struct tp_subscription *subscription = &subscriptions->list[i];
        if (subscription->of != of)
            continue;
        if (is_dropped)
            subscription->of = NULL;
        return true;
    }
    return false;
}

void tp_subscriptions_refresh(struct tp_peer *peer)
{
    for (uint32_t i = 0; i < peer->subscriptions.count; i++)
        if (peer->subscriptions.list[i].of != NULL)
            (void)tp_shard_refresh(peer->shard, peer->subscriptions.list[i].of);
}

/* ---- Pushes ---- */

void tp_push_cells_fini(struct tp_push_cells *cells)
{
    free(cells->cell);
    free(cells->terrain);
    *cells = (struct tp_push_cells){0};
}

static bool cells_grow(struct tp_push_cells *cells)
{
    size_t capacity = cells->capacity == 0 ? 256 : cells->capacity * 2;
    uint32_t *cell = realloc(cells->cell, capacity * sizeof *cell);
    if (cell == NULL)
        return false;
    cells->cell = cell;
    uint32_t *terrain = realloc(cells->terrain, capacity * sizeof *terrain);
    if (terrain == NULL)
        return false;
    cells->terrain = terrain;
    cells->capacity = capacity;
    return true;
}

static bool class_changed_cb(void *context, uint32_t cell, uint8_t class_now)
{
    struct tp_push_cells *cells = context;
    cells->is_cut = cells->count == TP_PUSH_CELLS_MAX;
    if (!cells->is_cut && cells->count == cells->capacity && !cells_grow(cells)) {
        cells->is_cut = true;
        cells->name[0] = 0; /* another time there may be memory */
    }
    if (cells->is_cut)
        return false;
    cells->cell[cells->count] = cell;
    cells->terrain[cells->count++] = class_now;
    return true;
}

/* What differs between the version that the client was told last, of the same epoch, and `map`. Borrowed until the next call. */
static const struct tp_push_cells *cells_between(struct tp_push_cells *cells, const struct tp_subscription *subscription,
                                                 const struct tp_map *map)
{
    if (strcmp(cells->name, subscription->name) == 0 && cells->epoch == map->epoch &&
        cells->from_version == subscription->version && cells->version == map->version)
        return cells;
    tp_world_name_copy(cells->name, subscription->name);
    cells->epoch = map->epoch;
    cells->from_version = subscription->version;
    cells->version = map->version;
    cells->count = 0;
    cells->is_cut = false;
    (void)tp_map_compare_classes(subscription->told, map, class_changed_cb, cells);
    return cells;
}

static bool is_full(const struct tp_peer *peer)
{
    return peer->output.size + peer->queued_bytes >= peer->shard->config->output_bytes_max;
}

/* Appends one push. False: no memory. */
static bool push(struct tp_peer *peer, const struct tp_subscription *subscription, const struct tp_map *map)
{
    Tickpath__MapChanged message = TICKPATH__MAP_CHANGED__INIT;
    const struct tp_push_cells *cells = NULL;
    message.map = (char *)subscription->name;
    message.has_epoch = message.has_from_version = message.has_version = 1;
    message.from_version = subscription->version;
    message.epoch = map != NULL ? map->epoch : subscription->epoch;
    message.version = map != NULL ? map->version : subscription->version;
    bool is_resync = false;
    if (map == NULL) {
        message.has_dropped = message.dropped = 1;
    } else if (map->epoch != subscription->epoch) {
        is_resync = true;
    } else if (subscription->want_cells) {
        is_resync = subscription->told == NULL || is_full(peer);
        if (!is_resync) {
            cells = cells_between(&peer->shard->push_cells, subscription, map);
            is_resync = cells->is_cut;
        }
    }
    if (!is_resync && cells != NULL) {
        message.cell = cells->cell;
        message.terrain = cells->terrain;
        message.n_cell = message.n_terrain = cells->count;
        size_t room = peer->shard->config->frame_bytes_max - 64; /* the reply around it */
        if (cells->count > 0 && tickpath__map_changed__get_packed_size(&message) > room) {
            message.n_cell = message.n_terrain = 0;
            is_resync = true;
        }
    }
    message.has_resync = message.resync = is_resync;
    bool is_told = tp_peer_push(peer, TICKPATH__REPLY__BODY_MAP_CHANGED, &message);
    if (is_told)
        tp_metric_add(&peer->shard->metrics->pushes, 1);
    return is_told;
}

bool tp_subscriptions_tell(struct tp_peer *peer, bool must)
{
    struct tp_subscriptions *subscriptions = &peer->subscriptions;
    for (uint32_t i = 0; i < subscriptions->count;) {
        struct tp_subscription *subscription = &subscriptions->list[i];
        const struct tp_map *map =
            subscription->of != NULL ? tp_shard_map(peer->shard, subscription->of) : NULL;
        bool is_due =
            subscription->of == NULL ||
            (map != NULL && (map->epoch != subscription->epoch || map->version != subscription->version));
        if (!is_due) {
            i++;
            continue;
        }
        if ((!must && is_full(peer)) || !push(peer, subscription, map))
            return false;
        if (map == NULL) {
            remove_at(subscriptions, i);
            tp_peer_count_subscriptions(peer);
        } else {
            set_told(subscription, map);
            i++;
        }
    }
    return true;
}
