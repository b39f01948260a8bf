/* Happy path: a render walks the metrics table once, sums each number over the threads' structs, and appends
 * its lines to one growing text.
 *
 * Failure modes: out of memory marks the text as failed, every later append does nothing, and the render
 * gives NULL. The numbers are read one after the other while others write them: each is right at its own
 * moment, a sum of two may be off by what happened in between.
 */
#include "daemon/stats.h"

#include "base/version.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- A growing text ---- */

struct text {
    char *bytes; /* zero-ended once anything was appended */
    size_t size, room;
    bool failed;
};

static bool text_reserve(struct text *text, size_t more)
{
    if (text->failed)
        return false;
    if (text->room - text->size > more)
        return true;
    size_t room = text->room ? text->room : 16384;
    while (room - text->size <= more)
        room *= 2;
    char *bytes = realloc(text->bytes, room);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

__attribute__((format(printf, 2, 3))) static void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    for (size_t more = 256;;) {
        if (!text_reserve(text, more))
            return;
        va_start(arguments, format);
        int length = vsnprintf(text->bytes + text->size, text->room - text->size, format, arguments);
        va_end(arguments);
        if (length < 0) {
            text->failed = true;
            return;
        }
        if ((size_t)length < text->room - text->size) {
            text->size += (size_t)length;
            return;
        }
        more = (size_t)length;
    }
}

/* A string as JSON has it, quotes included. What is no ASCII is passed as it stands (UTF-8). */
static void text_add_quoted(struct text *text, const char *string)
{
    text_add(text, "\"");
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\')
            text_add(text, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            text_add(text, "\\u%04x", c);
        else
            text_add(text, "%c", c);
    }
    text_add(text, "\"");
}

/* Gives the text, or NULL if it failed. */
static char *text_give(struct text *text, size_t *size)
{
    if (text->failed) {
        free(text->bytes);
        text->bytes = NULL;
        text->size = 0;
    }
    *size = text->size;
    return text->bytes;
}

/* ---- Facts that are no counters ---- */

struct facts {
    uint64_t uptime_ms;
    bool ready;
    const char *why;
    struct tp_store_status store;
    uint64_t node_bytes, node_bytes_max;
    uint64_t map_bytes, map_versions;
};

static struct facts facts_read(const struct tp_stats_source *source)
{
    struct facts facts = {0};
    facts.uptime_ms = source->uptime_ms(source->context);
    facts.why = "";
    facts.ready = source->ready(source->context, &facts.why);
    source->store_status(source->context, &facts.store);
    facts.node_bytes = atomic_load_explicit(&source->pool_cap->bytes, memory_order_relaxed);
    facts.node_bytes_max = atomic_load_explicit(&source->pool_cap->bytes_max, memory_order_relaxed);
    facts.map_bytes = atomic_load_explicit(&source->held->bytes, memory_order_relaxed);
    facts.map_versions = atomic_load_explicit(&source->held->versions, memory_order_relaxed);
    return facts;
}

/* ---- Prometheus ---- */

static const char *const type_words[] = {
    [TP_METRIC_COUNTER] = "counter", [TP_METRIC_GAUGE] = "gauge", [TP_METRIC_HISTOGRAM] = "histogram"};

static void prometheus_head(struct text *text, const char *name, const char *suffix, const char *help,
                            const char *type)
{
    text_add(text, "# HELP tickpath_%s%s %s\n# TYPE tickpath_%s%s %s\n", name, suffix, help, name, suffix,
             type);
}

static void prometheus_histogram(struct text *text, const char *name, const struct tp_histogram_view *view)
{
    uint64_t below = 0;
    for (size_t i = 0; i + 1 < TP_HISTOGRAM_BUCKETS; i++) {
        below += view->bucket[i];
        text_add(text, "tickpath_%s_bucket{le=\"%" PRIu64 "\"} %" PRIu64 "\n", name, tp_histogram_bound(i),
                 below);
    }
    text_add(text, "tickpath_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, view->count);
    text_add(text, "tickpath_%s_sum %" PRIu64 "\ntickpath_%s_count %" PRIu64 "\n", name, view->sum, name,
             view->count);
}

static void prometheus_metric(struct text *text, const struct tp_stats_source *source,
                              const struct tp_metric_info *info)
{
    const char *suffix = info->type == TP_METRIC_COUNTER ? "_total" : "";
    prometheus_head(text, info->name, suffix, info->help, type_words[info->type]);
    switch (info->type) {
    case TP_METRIC_COUNTER:
        text_add(text, "tickpath_%s_total %" PRIu64 "\n", info->name,
                 tp_metrics_read_counter(source->metrics, source->metrics_count, info));
        break;
    case TP_METRIC_GAUGE:
        text_add(text, "tickpath_%s %" PRId64 "\n", info->name,
                 tp_metrics_read_gauge(source->metrics, source->metrics_count, info));
        break;
    case TP_METRIC_HISTOGRAM: {
        struct tp_histogram_view view;
        tp_metrics_read_histogram(source->metrics, source->metrics_count, info, &view);
        prometheus_histogram(text, info->name, &view);
        break;
    }
    }
}

char *tp_stats_render_prometheus(const struct tp_stats_source *source, size_t *size)
{
    struct text text = {0};
    struct facts facts = facts_read(source);

    prometheus_head(&text, "build_info", "", "The version in a label; always 1.", "gauge");
    text_add(&text, "tickpath_build_info{version=\"%s\"} 1\n", TP_VERSION);
    prometheus_head(&text, "uptime_seconds", "", "Time since the daemon started.", "gauge");
    text_add(&text, "tickpath_uptime_seconds %" PRIu64 ".%03u\n", facts.uptime_ms / 1000,
             (unsigned)(facts.uptime_ms % 1000));
    prometheus_head(&text, "ready", "", "1 while requests are served, 0 while starting or draining.",
                    "gauge");
    text_add(&text, "tickpath_ready %d\n", facts.ready);
    prometheus_head(&text, "store_degraded", "", "1 while the store cannot keep what it promises.", "gauge");
    text_add(&text, "tickpath_store_degraded %d\n", facts.store.state == TP_STORE_DEGRADED);
    prometheus_head(&text, "store_volatile", "", "1 if maps do not survive a restart of the daemon.",
                    "gauge");
    text_add(&text, "tickpath_store_volatile %d\n", source->store_volatile);
    prometheus_head(&text, "node_bytes", "", "Search memory taken from the system now.", "gauge");
    text_add(&text, "tickpath_node_bytes %" PRIu64 "\n", facts.node_bytes);
    prometheus_head(&text, "node_bytes_max", "", "Cap on search memory; +Inf for none.", "gauge");
    if (facts.node_bytes_max == UINT64_MAX)
        text_add(&text, "tickpath_node_bytes_max +Inf\n");
    else
        text_add(&text, "tickpath_node_bytes_max %" PRIu64 "\n", facts.node_bytes_max);
    prometheus_head(&text, "map_bytes", "",
                    "Memory of all versions of maps and layers that somebody holds; what they share once.",
                    "gauge");
    text_add(&text, "tickpath_map_bytes %" PRIu64 "\n", facts.map_bytes);
    prometheus_head(
        &text, "map_versions", "",
        "Versions of maps and layers that somebody holds: the newest of each, and older ones not left yet.",
        "gauge");
    text_add(&text, "tickpath_map_versions %" PRIu64 "\n", facts.map_versions);
    prometheus_head(&text, "threads", "", "Event loops.", "gauge");
    text_add(&text, "tickpath_threads %u\n", source->threads);

    for (size_t i = 0; i < tp_metric_count; i++)
        prometheus_metric(&text, source, &tp_metric_table[i]);
    return text_give(&text, size);
}

/* ---- JSON ---- */

/* The bound of the first bucket at or above which `share_percent` of the values lie below; the histogram
 * knows no better. 0 when nothing was counted, UINT64_MAX when it lies in the last bucket. */
static uint64_t histogram_quantile(const struct tp_histogram_view *view, unsigned share_percent)
{
    uint64_t below = 0;
    if (view->count == 0)
        return 0;
    for (size_t i = 0; i < TP_HISTOGRAM_BUCKETS; i++) {
        below += view->bucket[i];
        if (below * 100 >= view->count * share_percent)
            return tp_histogram_bound(i);
    }
    return UINT64_MAX;
}

static void json_quantile(struct text *text, const struct tp_histogram_view *view, unsigned share_percent)
{
    uint64_t bound = histogram_quantile(view, share_percent);
    if (bound == UINT64_MAX)
        text_add(text, ",\"p%u_max\":null", share_percent);
    else
        text_add(text, ",\"p%u_max\":%" PRIu64, share_percent, bound);
}

/* Buckets as pairs [bound, count], those that are empty left out; a null bound is the last. */
static void json_histogram(struct text *text, const struct tp_histogram_view *view)
{
    text_add(text, "{\"count\":%" PRIu64 ",\"sum\":%" PRIu64, view->count, view->sum);
    json_quantile(text, view, 50);
    json_quantile(text, view, 99);
    text_add(text, ",\"buckets\":[");
    const char *comma = "";
    for (size_t i = 0; i < TP_HISTOGRAM_BUCKETS; i++) {
        if (view->bucket[i] == 0)
            continue;
        if (i + 1 < TP_HISTOGRAM_BUCKETS)
            text_add(text, "%s[%" PRIu64 ",%" PRIu64 "]", comma, tp_histogram_bound(i), view->bucket[i]);
        else
            text_add(text, "%s[null,%" PRIu64 "]", comma, view->bucket[i]);
        comma = ",";
    }
    text_add(text, "]}");
}

/* One object with every metric of the table, summed over the structs given. */
static void json_metrics(struct text *text, const struct tp_metrics *const *all, size_t count)
{
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric_info *info = &tp_metric_table[i];
        text_add(text, "%s\"%s\":", i ? "," : "{", info->name);
        switch (info->type) {
        case TP_METRIC_COUNTER:
            text_add(text, "%" PRIu64, tp_metrics_read_counter(all, count, info));
            break;
        case TP_METRIC_GAUGE:
            text_add(text, "%" PRId64, tp_metrics_read_gauge(all, count, info));
            break;
        case TP_METRIC_HISTOGRAM: {
            struct tp_histogram_view view;
            tp_metrics_read_histogram(all, count, info, &view);
            json_histogram(text, &view);
            break;
        }
        }
    }
    text_add(text, "}");
}

struct map_list {
    struct text *text;
    const char *comma;
};

static void json_map(const struct tp_stats_map *map, void *context)
{
    struct map_list *list = context;
    text_add(list->text, "%s{\"name\":", list->comma);
    text_add_quoted(list->text, map->name);
    text_add(list->text,
             ",\"width\":%" PRIu32 ",\"height\":%" PRIu32 ",\"epoch\":%" PRIu64 ",\"version\":%" PRIu64
             ",\"passable_cells\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"sessions\":%" PRIu32 ",\"kind\":\"%s\"",
             map->width, map->height, map->epoch, map->version, map->passable_cells, map->bytes,
             map->sessions, map->is_graph ? "graph" : "grid");
    if (map->is_graph)
        text_add(list->text, ",\"edges\":%" PRIu32, map->graph_edges);
    text_add(list->text, "}");
    list->comma = ",";
}

/* Milliseconds of Unix time as RFC 3339 has them. */
static void json_time(struct text *text, int64_t unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm parts;
    char words[32];
    if (!gmtime_r(&seconds, &parts) || strftime(words, sizeof words, "%Y-%m-%dT%H:%M:%S", &parts) == 0) {
        text_add(text, "null");
        return;
    }
    text_add(text, "\"%s.%03uZ\"", words, (unsigned)(unix_ms % 1000));
}

char *tp_stats_render_json(const struct tp_stats_source *source, size_t *size)
{
    struct text text = {0};
    struct facts facts = facts_read(source);

    text_add(&text, "{\"version\":\"%s\",\"started\":", TP_VERSION);
    json_time(&text, source->started_unix_ms);
    text_add(&text, ",\"uptime_seconds\":%" PRIu64 ".%03u", facts.uptime_ms / 1000,
             (unsigned)(facts.uptime_ms % 1000));
    text_add(&text, ",\"threads\":%u,\"ready\":%s,\"not_ready_because\":", source->threads,
             facts.ready ? "true" : "false");
    if (facts.ready || !facts.why)
        text_add(&text, "null");
    else
        text_add_quoted(&text, facts.why);
    text_add(&text, ",\"store\":{\"name\":");
    text_add_quoted(&text, source->store_name);
    text_add(&text, ",\"volatile\":%s,\"degraded\":", source->store_volatile ? "true" : "false");
    if (facts.store.state == TP_STORE_DEGRADED)
        text_add_quoted(&text, facts.store.reason);
    else
        text_add(&text, "null");
    text_add(&text, "},\"node_bytes\":%" PRIu64 ",\"node_bytes_max\":", facts.node_bytes);
    if (facts.node_bytes_max == UINT64_MAX)
        text_add(&text, "null");
    else
        text_add(&text, "%" PRIu64, facts.node_bytes_max);

    text_add(&text, ",\"map_bytes\":%" PRIu64 ",\"map_versions\":%" PRIu64, facts.map_bytes,
             facts.map_versions);

    text_add(&text, ",\"maps\":[");
    struct map_list list = {.text = &text, .comma = ""};
    source->each_map(source->context, json_map, &list);
    text_add(&text, "],\"metrics\":");
    json_metrics(&text, source->metrics, source->metrics_count);
    text_add(&text, ",\"by_thread\":{");
    for (size_t i = 0; i < source->metrics_count; i++) {
        text_add(&text, "%s", i ? "," : "");
        text_add_quoted(&text, source->metrics[i]->thread);
        text_add(&text, ":");
        json_metrics(&text, &source->metrics[i], 1);
    }
    text_add(&text, "}}\n");
    return text_give(&text, size);
}
