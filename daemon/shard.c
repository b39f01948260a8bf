#include "daemon/shard.h"

#include <stdlib.h>

/* What decoding may blow a frame up to: a repeated message of two bytes becomes a struct of some seventy. */
enum { ARENA_PER_FRAME_BYTE = 16 };

int tp_shard_init(struct tp_shard *shard, struct tp_pool_cap *cap)
{
    shard->current = calloc(shard->config->maps_max, sizeof(struct tp_map *));
    if (shard->current == NULL)
        return TP_ERR_NO_MEMORY;
    tp_pool_init(&shard->pool, cap);
    tp_closing_init(&shard->closing);
    tp_arena_init(&shard->arena, shard->config->frame_bytes_max * ARENA_PER_FRAME_BYTE + 65536);
    return 0;
}

void tp_shard_fini(struct tp_shard *shard)
{
    for (uint64_t i = 0; i < shard->config->maps_max; i++)
        tp_map_unref(shard->current[i]);
    free(shard->current);
    tp_arena_fini(&shard->arena);
    tp_closing_fini(&shard->closing);
    tp_pool_fini(&shard->pool);
}

void tp_shard_count_closed(struct tp_shard *shard, uint32_t count)
{
    tp_metric_add(&shard->metrics->sessions_closed, count);
    tp_metric_gauge_add(&shard->metrics->sessions_open, -(int64_t)count);
    tp_metric_gauge_add(&shard->metrics->sessions_closing, (int64_t)count);
}

bool tp_shard_has_closed(const struct tp_shard *shard)
{
    return shard->closing.count > 0;
}

void tp_shard_free_closed(struct tp_shard *shard)
{
    size_t freed = tp_closing_free(&shard->closing, &shard->clock, TP_SHARD_FREE_US);
    tp_metric_gauge_add(&shard->metrics->sessions_closing, -(int64_t)freed);
}

static bool is_newer(const struct tp_map *map, const struct tp_map *than)
{
    return than == NULL || map->epoch > than->epoch ||
           (map->epoch == than->epoch && map->version > than->version);
}

/* Takes the reference to `map`. */
static void offer(struct tp_shard *shard, const struct tp_world_map *of, const struct tp_map *map)
{
    const struct tp_map *before = shard->current[of->slot];
    if (is_newer(map, before)) {
        shard->current[of->slot] = map;
        map = before;
    }
    tp_map_unref(map);
}

/* Nobody here holds the map any more: its sessions are closed, its answers came before this. */
static void forget(struct tp_shard *shard, struct tp_world_map *map)
{
    tp_map_unref(shard->current[map->slot]);
    shard->current[map->slot] = NULL;
    atomic_fetch_sub(&map->holders, 1); /* the world may free it from here on */
}

void tp_shard_publish(struct tp_shard *shard, struct tp_world_publication *publication)
{
    if (publication->map == NULL)
        forget(shard, publication->of);
    else
        offer(shard, publication->of, publication->map);
    free(publication);
}

const struct tp_map *tp_shard_map(const struct tp_shard *shard, const struct tp_world_map *map)
{
    return shard->current[map->slot];
}

const struct tp_map *tp_shard_refresh(struct tp_shard *shard, struct tp_world_map *map)
{
    offer(shard, map, tp_world_current(shard->world, map));
    return shard->current[map->slot];
}
