#include "daemon/serve/shard.h"

#include "daemon/stats/probes.h"

#include <stdlib.h>

/* What decoding may blow a frame up to: a repeated message of two bytes becomes a struct of some seventy. */
enum { ARENA_PER_FRAME_BYTE = 16 };

int tp_shard_init(struct tp_shard *shard, struct tp_pool_cap *cap)
{
    /* read in every tick, and set up one shard after the other: not on lines with what is another's */
    shard->current = tp_lines_alloc(shard->config->maps_max * sizeof shard->current[0]);
    shard->layers = tp_lines_alloc(shard->config->maps_max * sizeof shard->layers[0]);
    shard->seq = tp_lines_alloc(shard->config->maps_max * sizeof shard->seq[0]);
    tp_slabs_init(&shard->slabs, cap);
    tp_pool_init(&shard->pool, NULL);
    shard->pool.source = &shard->slabs.source;
    shard->fields = tp_field_cache_open(&shard->pool, shard->config->guide_bytes_max);
    if (shard->current == NULL || shard->layers == NULL || shard->seq == NULL || shard->fields == NULL) {
        tp_field_cache_close(shard->fields);
        tp_pool_fini(&shard->pool);
        tp_slabs_fini(&shard->slabs);
        free(shard->current);
        free(shard->layers);
        free(shard->seq);
        return TP_ERR_NO_MEMORY;
    }
    tp_closing_init(&shard->closing);
    tp_arena_init(&shard->arena, shard->config->frame_bytes_max * ARENA_PER_FRAME_BYTE + 65536);
    return 0;
}

void tp_shard_fini(struct tp_shard *shard)
{
    for (uint64_t i = 0; i < shard->config->maps_max; i++) {
        tp_map_unref(shard->current[i]);
        tp_world_layers_unref(shard->layers[i]);
    }
    free(shard->current);
    free(shard->layers);
    free(shard->seq);
    tp_push_cells_fini(&shard->push_cells);
    tp_arena_fini(&shard->arena);
    tp_spares_fini(&shard->spares);
    tp_closing_fini(&shard->closing);
    tp_field_cache_close(shard->fields);
    tp_pool_fini(&shard->pool);
    tp_slabs_fini(&shard->slabs);
}

void tp_shard_count_closed(struct tp_shard *shard, uint32_t count)
{
    if (count > 0)
        TP_PROBE1(session__closed, count);
    tp_metric_add(&shard->metrics->sessions_closed, count);
    tp_metric_gauge_add(&shard->metrics->sessions_closing, (int64_t)count);
}

void tp_shard_count_memory(struct tp_shard *shard)
{
    if (!TP_METRICS)
        return;
    struct tp_field_cache_stats now, *counted = &shard->fields_counted;
    struct tp_metrics *metrics = shard->metrics;
    tp_field_cache_stats(shard->fields, &now);
    shard->used_counted = shard->pool.used_bytes;
    int64_t used = (int64_t)shard->pool.used_bytes, guide = (int64_t)now.bytes;
    tp_metric_gauge_set(&metrics->pool_bytes[TP_METRIC_POOL_GUIDE], guide);
    tp_metric_gauge_set(&metrics->pool_bytes[TP_METRIC_POOL_SESSIONS], used > guide ? used - guide : 0);
    tp_metric_gauge_add(&metrics->guide_fields, (int64_t)(now.fields - counted->fields));
    tp_metric_add(&metrics->guide_fields_made, now.made - counted->made);
    tp_metric_add(&metrics->guide_fields_shared, now.shared - counted->shared);
    tp_metric_add(&metrics->guide_fields_given_up, now.given_up - counted->given_up);
    tp_metric_add(&metrics->guide_refused, now.refused - counted->refused);
    tp_metric_add(&metrics->guide_settled, now.settled - counted->settled);
    *counted = now;
}

bool tp_shard_has_closed(const struct tp_shard *shard)
{
    return shard->closing.count > 0;
}

void tp_shard_free_closed(struct tp_shard *shard)
{
    size_t freed = tp_closing_free(&shard->closing, &shard->clock, TP_SHARD_FREE_US);
    tp_metric_gauge_add(&shard->metrics->sessions_closing, -(int64_t)freed);
    tp_shard_count_memory(shard);
}

void tp_shard_trim(struct tp_shard *shard)
{
    tp_arena_trim(&shard->arena);
    tp_spares_trim(&shard->spares);
}

/* Fields over the block graphs of layers that are no longer the shard's are not asked for again. */
static void retire_fields(struct tp_shard *shard, const struct tp_world_layers *before, const struct tp_world_layers *now)
{
    for (size_t i = 0; before != NULL && i < TP_WORLD_LAYERS_MAX; i++) {
        const struct tp_map *was = before->layer[i], *is = now != NULL ? now->layer[i] : NULL;
        if (was != NULL && was->blocks != NULL && (is == NULL || is->blocks != was->blocks))
            tp_field_cache_retire(shard->fields, was->blocks);
    }
    tp_shard_count_memory(shard);
}

/* Takes the references to `map` and `layers`. */
static void offer(struct tp_shard *shard, const struct tp_world_map *of, const struct tp_map *map,
                  const struct tp_world_layers *layers, uint64_t seq)
{
    const struct tp_map *map_before = shard->current[of->slot];
    const struct tp_world_layers *layers_before = shard->layers[of->slot];
    if (map_before == NULL || seq > shard->seq[of->slot]) {
        shard->current[of->slot] = map;
        shard->layers[of->slot] = layers;
        shard->seq[of->slot] = seq;
        shard->versions++;
        map = map_before;
        layers = layers_before;
        retire_fields(shard, layers, shard->layers[of->slot]);
    }
    tp_map_unref(map);
    tp_world_layers_unref(layers);
}

/* Nobody here holds the map any more: its sessions are closed, its answers came before this. */
static void forget(struct tp_shard *shard, struct tp_world_map *map)
{
    retire_fields(shard, shard->layers[map->slot], NULL);
    tp_map_unref(shard->current[map->slot]);
    tp_world_layers_unref(shard->layers[map->slot]);
    shard->current[map->slot] = NULL;
    shard->layers[map->slot] = NULL;
    atomic_fetch_sub(&map->holders, 1); /* the world may free it from here on */
}

void tp_shard_publish(struct tp_shard *shard, struct tp_world_publication *publication)
{
    if (publication->map == NULL)
        forget(shard, publication->of);
    else
        offer(shard, publication->of, publication->map, tp_world_layers_ref(publication->layers),
              publication->seq);
    tp_world_layers_unref(publication->layers);
    free(publication);
}

const struct tp_map *tp_shard_map(const struct tp_shard *shard, const struct tp_world_map *map)
{
    return shard->current[map->slot];
}

const struct tp_map *tp_shard_layer(const struct tp_shard *shard, const struct tp_world_layer *layer)
{
    return shard->layers[layer->of->slot]->layer[layer->index];
}

const struct tp_map *tp_shard_refresh(struct tp_shard *shard, struct tp_world_map *map)
{
    const struct tp_world_layers *layers;
    uint64_t seq;
    const struct tp_map *current = tp_world_current(shard->world, map, &layers, &seq);
    if (current != NULL)
        offer(shard, map, current, layers, seq);
    else /* dropped; the publication that says so is on its way */
        tp_world_layers_unref(layers);
    return shard->current[map->slot];
}
