#include "daemon/stats/stats_daemon.h"

#include "daemon/clock.h"
#include "daemon/life_state.h"
#include "daemon/log.h"

static uint64_t uptime_ms(void *context)
{
    const struct tp_stats_daemon *daemon = context;
    return (tp_clock_now_us() - daemon->started_us) / 1000;
}

static void store_status(void *context, struct tp_store_status *out)
{
    const struct tp_stats_daemon *daemon = context;
    daemon->store->ops->status(daemon->store, out);
}

static size_t not_ready(void *context, const char **reasons)
{
    const struct tp_stats_daemon *daemon = context;
    enum tp_life_state state = tp_life_state(daemon->life);
    size_t count = 0;
    if (state == TP_LIFE_STARTING || !tp_world_ready(daemon->world))
        reasons[count++] = "maps are being loaded";
    if (state > TP_LIFE_SERVING)
        reasons[count++] = "draining";
    return count;
}

struct each_map {
    tp_stats_map_cb each;
    void *context;
};

static void each_map_cb(struct tp_world_map *of, const struct tp_map *map, void *context)
{
    const struct each_map *to = context;
    int64_t sessions = atomic_load(&of->sessions);
    struct tp_stats_map row = {.name = of->name,
                               .width = map->width,
                               .height = map->height,
                               .graph_edges = map->graph != NULL ? map->graph->edges : 0,
                               .is_graph = map->graph != NULL,
                               .epoch = map->epoch,
                               .version = map->version,
                               .passable_cells = map->passable_cells,
                               .bytes = tp_map_bytes(map),
                               .sessions = sessions > 0 ? (uint32_t)sessions : 0};
    to->each(&row, to->context);
}

static void each_map(void *context, tp_stats_map_cb each, void *each_context)
{
    struct tp_stats_daemon *daemon = context;
    struct each_map to = {each, each_context};
    if (tp_world_each(daemon->world, each_map_cb, &to) != 0)
        tp_log_words(TP_LOG_WARN, "out of memory while listing the maps");
}

void tp_stats_daemon_fill(struct tp_stats_daemon *daemon, struct tp_stats_source *source)
{
    source->store_name = daemon->store->ops->name;
    source->store_volatile = daemon->store->is_volatile;
    source->started_unix_ms = daemon->started_unix_ms;
    source->started_us = daemon->started_us;
    source->context = daemon;
    source->uptime_ms = uptime_ms;
    source->store_status = store_status;
    source->not_ready = not_ready;
    source->each_map = each_map;
}
