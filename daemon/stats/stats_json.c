/* Happy path: as stats_metrics.c, into one object; its form is documented by stats.schema.json. Failure modes: as there. */
#include "daemon/stats/stats_internal.h"

#include "base/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

static void json_bound(struct tp_text *text, const struct tp_metric_info *info, uint64_t bound)
{
    if (bound == UINT64_MAX)
        tp_text_add(text, "null");
    else
        tp_text_add_float(text, (double)bound * info->scale);
}

/* Of so many percent; 0 when nothing was counted. */
static void json_quantile(struct tp_text *text, const struct tp_metric_info *info, const struct tp_histogram_view *view, unsigned percent)
{
    struct tp_histogram_quantile found;
    (void)tp_histogram_quantile(view, percent, &found);
    tp_text_add(text, ",\"p%u_max\":", percent);
    json_bound(text, info, found.most);
}

/* Buckets as pairs [bound, count], those that are empty left out; a null bound is the last. */
static void json_histogram(struct tp_text *text, const struct tp_metric_info *info, const struct tp_histogram_view *view)
{
    tp_text_add(text, "{\"count\":%" PRIu64 ",\"sum\":", view->count);
    tp__stats_add_scaled(text, info, view->sum);
    json_quantile(text, info, view, 50);
    json_quantile(text, info, view, 99);
    tp_text_add(text, ",\"buckets\":[");
    const char *comma = "";
    for (size_t i = 0; i < TP_HISTOGRAM_BUCKETS; i++) {
        if (view->bucket[i] == 0)
            continue;
        tp_text_add(text, "%s[", comma);
        json_bound(text, info, tp_histogram_bound(i));
        tp_text_add(text, ",%" PRIu64 "]", view->bucket[i]);
        comma = ",";
    }
    tp_text_add(text, "]}");
}

/* The values of a line with a label, as an object. */
static void json_values(struct tp_text *text, const struct tp_metrics *const *all, size_t count,
                        const struct tp__stats_facts *facts, const struct tp_metric_info *info)
{
    for (size_t value = 0; value < tp_metric_label_values(info->label); value++) {
        tp_text_add(text, "%s\"%s\":", value ? "," : "{", tp_metric_label_value(info->label, value));
        tp__stats_add_value(text, all, count, facts, info, value);
    }
    tp_text_add(text, "}");
}

/* One object with every metric of the table, summed over the structs given; the facts only with all of them. */
static void json_metrics(struct tp_text *text, const struct tp_metrics *const *all, size_t count,
                         const struct tp__stats_facts *facts)
{
    const char *comma = "{";
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric_info *info = &tp_metric_table[i];
        if (info->type == TP_METRIC_FACT && facts == NULL)
            continue;
        tp_text_add(text, "%s\"%s\":", comma, info->name);
        comma = ",";
        if (info->type == TP_METRIC_HISTOGRAM) {
            struct tp_histogram_view view;
            tp_metrics_read_histogram(all, count, info, &view);
            json_histogram(text, info, &view);
        } else if (info->label != TP_METRIC_LABEL_NONE) {
            json_values(text, all, count, facts, info);
        } else if (tp__stats_is_boundless(facts, info)) {
            tp_text_add(text, "null");
        } else {
            tp__stats_add_value(text, all, count, facts, info, 0);
        }
    }
    tp_text_add(text, "}");
}

struct map_list {
    struct tp_text *text;
    const char *comma;
};

static void json_map(const struct tp_stats_map *map, void *context)
{
    struct map_list *list = context;
    tp_text_add(list->text, "%s{\"name\":", list->comma);
    tp_text_add_quoted(list->text, map->name);
    tp_text_add(list->text,
             ",\"width\":%" PRIu32 ",\"height\":%" PRIu32 ",\"epoch\":%" PRIu64 ",\"version\":%" PRIu64
             ",\"passable_cells\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"sessions\":%" PRIu32 ",\"kind\":\"%s\"",
             map->width, map->height, map->epoch, map->version, map->passable_cells, map->bytes,
             map->sessions, map->is_graph ? "graph" : "grid");
    if (map->is_graph)
        tp_text_add(list->text, ",\"edges\":%" PRIu32, map->graph_edges);
    tp_text_add(list->text, "}");
    list->comma = ",";
}

void tp_stats_add_maps(struct tp_text *text, const struct tp_stats_source *source)
{
    struct map_list list = {.text = text, .comma = ""};
    tp_text_add(text, "[");
    source->each_map(source->context, json_map, &list);
    tp_text_add(text, "]");
}

/* Milliseconds of Unix time as RFC 3339 has them. */
static void json_time(struct tp_text *text, int64_t unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm parts;
    char words[32];
    if (!gmtime_r(&seconds, &parts) || strftime(words, sizeof words, "%Y-%m-%dT%H:%M:%S", &parts) == 0) {
        tp_text_add(text, "null");
        return;
    }
    tp_text_add(text, "\"%s.%03uZ\"", words, (unsigned)(unix_ms % 1000));
}

struct slow {
    struct tp_slow_tick tick;
    const char *thread;
};

static int slowest_first(const void *a, const void *b)
{
    uint64_t left = tp_slow_waited_us(&((const struct slow *)a)->tick), right = tp_slow_waited_us(&((const struct slow *)b)->tick);
    return (left < right) - (left > right);
}

static void json_slow_tick(struct tp_text *text, const struct tp_stats_source *source, const struct slow *slow)
{
    const struct tp_slow_tick *tick = &slow->tick;
    const struct tp_metric_info seconds = {.scale = 1e-6};
    const struct {
        const char *name;
        uint64_t us;
    } times[] = {{"seconds", tp_slow_waited_us(tick)}, {"queued_seconds", tick->queued_us}, {"world_seconds", tick->world_us},
                 {"served_seconds", tick->took_us}};
    const struct {
        const char *name;
        uint64_t number;
    } numbers[] = {{"sessions", tick->sessions},   {"refused", tick->refused},   {"expansions", tick->expansions},
                   {"traced", tick->traced},       {"restarts", tick->restarts}, {"guide_expansions", tick->guide_expansions},
                   {"versions", tick->versions},   {"starved", tick->starved},   {"memory_bytes", tick->memory_bytes}};
    tp_text_add(text, "{\"at\":");
    json_time(text, source->started_unix_ms + ((int64_t)tick->at_us - (int64_t)source->started_us) / 1000);
    tp_text_add(text, ",\"thread\":\"%s\"", slow->thread);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        tp_text_add(text, ",\"%s\":", times[i].name);
        tp__stats_add_scaled(text, &seconds, times[i].us);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tp_text_add(text, ",\"%s\":%" PRIu64, numbers[i].name, numbers[i].number);
    tp_text_add(text, ",\"deadline_missed\":%s,\"why\":[", tick->total_us != 0 && tick->took_us > tick->total_us ? "true" : "false");
    enum tp_slow_cause causes[TP_SLOW_CAUSES];
    size_t count = tp_slow_why(tick, causes);
    for (size_t i = 0; i < count; i++)
        tp_text_add(text, "%s\"%s\"", i ? "," : "", tp_slow_cause_name(causes[i]));
    tp_text_add(text, "]}");
}

/* The slowest of all loops, the slowest first. */
static void json_slow_ticks(struct tp_text *text, const struct tp_stats_source *source)
{
    struct slow *all = calloc(source->metrics_count * TP_SLOW_TICKS, sizeof *all);
    uint64_t now_us = source->started_us + source->uptime_ms(source->context) * 1000;
    size_t count = 0;
    if (all == NULL) {
        text->failed = true;
        return;
    }
    for (size_t i = 0; i < source->metrics_count; i++) {
        struct tp_slow_tick ticks[TP_SLOW_TICKS];
        size_t kept = tp_slow_read(&source->metrics[i]->slow, now_us, ticks);
        for (size_t j = 0; j < kept; j++)
            all[count++] = (struct slow){ticks[j], source->metrics[i]->thread};
    }
    qsort(all, count, sizeof *all, slowest_first);
    tp_text_add(text, "[");
    for (size_t i = 0; i < count && i < TP_SLOW_TICKS; i++) {
        tp_text_add(text, "%s", i ? "," : "");
        json_slow_tick(text, source, &all[i]);
    }
    tp_text_add(text, "]");
    free(all);
}

char *tp_stats_render_json(const struct tp_stats_source *source, size_t *size)
{
    struct tp_text text = {0};
    struct tp__stats_facts facts;
    tp__stats_find_out(source, &facts);

    tp_text_add(&text, "{\"version\":\"%s\",\"started\":", TP_VERSION);
    json_time(&text, source->started_unix_ms);
    tp_text_add(&text, ",\"ready\":%s,\"not_ready_because\":[", facts.reason_count == 0 ? "true" : "false");
    for (size_t i = 0; i < facts.reason_count; i++) {
        tp_text_add(&text, "%s", i ? "," : "");
        tp_text_add_quoted(&text, facts.reasons[i]);
    }
    tp_text_add(&text, "],\"store\":{\"name\":");
    tp_text_add_quoted(&text, source->store_name);
    tp_text_add(&text, ",\"volatile\":%s,\"degraded\":", source->store_volatile ? "true" : "false");
    if (facts.store.state == TP_STORE_DEGRADED)
        tp_text_add_quoted(&text, facts.store.reason);
    else
        tp_text_add(&text, "null");

    tp_text_add(&text, "},\"options\":");
    tp__stats_add_options(&text, source);
    tp_text_add(&text, ",\"maps\":");
    tp_stats_add_maps(&text, source);
    tp_text_add(&text, ",\"slow_ticks\":");
    json_slow_ticks(&text, source);
    tp_text_add(&text, ",\"metrics\":");
    json_metrics(&text, source->metrics, source->metrics_count, &facts);
    tp_text_add(&text, ",\"by_thread\":{");
    for (size_t i = 0; i < source->metrics_count; i++) {
        tp_text_add(&text, "%s", i ? "," : "");
        tp_text_add_quoted(&text, source->metrics[i]->thread);
        tp_text_add(&text, ":");
        json_metrics(&text, &source->metrics[i], 1, NULL);
    }
    tp_text_add(&text, "}}\n");
    return tp_text_give(&text, size);
}
