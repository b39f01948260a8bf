/* Renders what operators see: Prometheus text, OpenMetrics and JSON, from the metrics table.
 *
 * What it is: pure functions from a source to text. No clock, socket or lock of its own.
 * What it refuses: map or client names as Prometheus labels (JSON lists the maps).
 * Who calls it: the HTTP thread; tests.
 */
#ifndef TP_DAEMON_STATS_H
#define TP_DAEMON_STATS_H

#include "base/pool.h"
#include "daemon/stats/metrics.h"
#include "daemon/stats/text.h"
#include "daemon/store/store.h"
#include "daemon/serve/upload.h"
#include "map/held.h"

enum { TP_STATS_REASONS_MAX = 8 };

struct tp_config;

#ifdef __clang__
#define TP_STATS_COMPILER "clang " __clang_version__
#else
#define TP_STATS_COMPILER "gcc " __VERSION__
#endif

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
    const struct tp_upload_quota *uploads;
    const char *store_name;             /* "memory", "folder", "redis" */
    bool store_volatile;
    int64_t started_unix_ms; /* wall clock at start, */
    uint64_t started_us;     /* and the loops' clock then */
    unsigned threads;        /* event loops */
    const struct tp_config *config; /* its options are told; NULL: none are */
    void *context;           /* first parameter of all below */
    uint64_t (*uptime_ms)(void *context);
    void (*store_status)(void *context, struct tp_store_status *out);
    /* Why requests are not served now: every reason that applies, as static words, at most TP_STATS_REASONS_MAX. Gives how many: 0, it is ready. */
    size_t (*not_ready)(void *context, const char **reasons);
    void (*each_map)(void *context, tp_stats_map_cb each, void *each_context);
};

enum tp_stats_format {
    TP_STATS_TEXT,        /* Prometheus' text format, 0.0.4 */
    TP_STATS_OPENMETRICS, /* OpenMetrics 1.0, without _created */
};

/* Both give the text (zero-ended, malloc'd, freed by the caller) and its length in *size; NULL when out of memory. Of the metrics: every line of the
 * table, histograms cumulative; METRICS.md lists them. JSON: one object with the same numbers, the options, the maps, and the metrics by thread;
 * stats.schema.json says how it looks. */
char *tp_stats_render_metrics(const struct tp_stats_source *source, enum tp_stats_format format, size_t *size);
char *tp_stats_render_json(const struct tp_stats_source *source, size_t *size);

/* Adds the maps as that JSON has them, an array alone; the live view gives its page the same. */
void tp_stats_add_maps(struct tp_text *text, const struct tp_stats_source *source);

#endif
