/* Renders what operators see: Prometheus text and JSON, from the metrics table and a few facts that are no
 * counters.
 *
 * What it is: pure functions from a source to text. No clock, socket or lock of its own.
 * What it refuses: map or client names as Prometheus labels (JSON lists the maps).
 * Who calls it: the HTTP thread; tests.
 */
#ifndef TP_DAEMON_STATS_H
#define TP_DAEMON_STATS_H

#include "base/pool.h"
#include "daemon/metrics.h"
#include "daemon/store.h"
#include "map/held.h"

struct tp_stats_map {
    const char *name; /* borrowed until the callback returns */
    uint32_t width, height;
    uint32_t graph_edges;
    bool is_graph; /* its width is the number of its nodes */
    uint64_t epoch, version, passable_cells;
    uint64_t bytes;
    uint32_t sessions;
};

typedef void (*tp_stats_map_cb)(const struct tp_stats_map *map, void *context);

/* What is rendered. All functions may be called from the HTTP thread at any time between start and stop, and
 * never wait for a loop or for the store. */
struct tp_stats_source {
    const struct tp_metrics *const *metrics; /* one per writing thread */
    size_t metrics_count;
    const struct tp_pool_cap *pool_cap; /* search memory: bytes now, bytes_max */
    const struct tp_map_held *held;     /* by all versions of maps and layers */
    const char *store_name;             /* "memory", "folder", "redis" */
    bool store_volatile;
    int64_t started_unix_ms; /* wall clock at start */
    unsigned threads;        /* event loops */
    void *context;           /* first parameter of all below */
    uint64_t (*uptime_ms)(void *context);
    void (*store_status)(void *context, struct tp_store_status *out);
    /* Whether requests are served: false while maps are loaded at start and while draining; *why is static
     * words. */
    bool (*ready)(void *context, const char **why);
    void (*each_map)(void *context, tp_stats_map_cb each, void *each_context);
};

/* Gives the text (zero-ended, malloc'd, freed by the caller) and its length in *size; NULL when out of
 * memory. Prometheus exposition format 0.0.4: tickpath_<name>, HELP and TYPE lines from the table, histograms
 * cumulative; besides the table: tickpath_build_info{version}, tickpath_uptime_seconds, tickpath_ready,
 * tickpath_store_degraded, tickpath_store_volatile, tickpath_node_bytes, tickpath_node_bytes_max,
 * tickpath_map_bytes, tickpath_map_versions, tickpath_threads. JSON: one object with the same facts, the maps, and the
 * metrics summed and per thread. */
char *tp_stats_render_prometheus(const struct tp_stats_source *source, size_t *size);
char *tp_stats_render_json(const struct tp_stats_source *source, size_t *size);

#endif
