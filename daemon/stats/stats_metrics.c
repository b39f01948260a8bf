/* Happy path: a render walks the metrics table once, sums each number over the threads' structs, and adds its lines to one growing text. The
 * two formats differ in a few words: OpenMetrics names a counter's family without _total, tells units, and ends with a mark.
 *
 * Failure modes: out of memory gives NULL. The numbers are read one after the other while others write them: each is right at its own
 * moment, a sum of two may be off by what happened in between.
 */
#include "daemon/stats/stats_internal.h"

#include "base/version.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What TYPE says, of a row that is no info. */
static const char *const type_words[] = {[TP_METRIC_COUNTER] = "counter",
                                         [TP_METRIC_GAUGE] = "gauge",
                                         [TP_METRIC_HISTOGRAM] = "histogram",
                                         [TP_METRIC_FACT] = "gauge"};

struct render {
    struct tp_text text;
    const struct tp_stats_source *source;
    struct tp__stats_facts facts;
    bool is_open; /* OpenMetrics */
};

static void add_head(struct render *render, const struct tp_metric_info *info)
{
    bool is_counter = info->type == TP_METRIC_COUNTER, is_info = strcmp(info->name, "build_info") == 0;
    const char *suffix = is_counter && !render->is_open ? "_total" : "", *type = type_words[info->type];
    int length = (int)strlen(info->name);
    if (is_info && render->is_open) {
        length -= (int)strlen("_info");
        type = "info";
    }
    tp_text_add(&render->text, "# HELP tickpath_%.*s%s %s\n", length, info->name, suffix, info->help);
    tp_text_add(&render->text, "# TYPE tickpath_%.*s%s %s\n", length, info->name, suffix, type);
    if (render->is_open && info->unit[0] != '\0')
        tp_text_add(&render->text, "# UNIT tickpath_%s %s\n", info->name, info->unit);
}

static void add_histogram(struct render *render, const struct tp_metric_info *info)
{
    struct tp_text *text = &render->text;
    struct tp_histogram_view view;
    tp_metrics_read_histogram(render->source->metrics, render->source->metrics_count, info, &view);
    uint64_t below = 0;
    for (size_t i = 0; i < TP_HISTOGRAM_BUCKETS; i++) {
        below += view.bucket[i];
        tp_text_add(text, "tickpath_%s_bucket{le=\"", info->name);
        tp_text_add_float(text, i + 1 < TP_HISTOGRAM_BUCKETS ? (double)tp_histogram_bound(i) * info->scale : INFINITY);
        tp_text_add(text, "\"} %" PRIu64 "\n", below);
    }
    tp_text_add(text, "tickpath_%s_sum ", info->name);
    tp__stats_add_scaled(text, info, view.sum);
    tp_text_add(text, "\ntickpath_%s_count %" PRIu64 "\n", info->name, view.count);
}

static void add_sample(struct render *render, const struct tp_metric_info *info, size_t value)
{
    struct tp_text *text = &render->text;
    tp_text_add(text, "tickpath_%s%s", info->name, info->type == TP_METRIC_COUNTER ? "_total" : "");
    if (info->label != TP_METRIC_LABEL_NONE)
        tp_text_add(text, "{%s=\"%s\"}", tp_metric_label_name(info->label), tp_metric_label_value(info->label, value));
    else if (strcmp(info->name, "build_info") == 0)
        tp_text_add(text, "{version=\"%s\",compiler=\"%s\"}", TP_VERSION, TP_STATS_COMPILER);
    tp_text_add(text, " ");
    if (tp__stats_is_boundless(&render->facts, info))
        tp_text_add(text, "+Inf");
    else
        tp__stats_add_value(text, render->source->metrics, render->source->metrics_count, &render->facts, info, value);
    tp_text_add(text, "\n");
}

char *tp_stats_render_metrics(const struct tp_stats_source *source, enum tp_stats_format format, size_t *size)
{
    struct render render = {.source = source, .is_open = format == TP_STATS_OPENMETRICS};
    tp__stats_find_out(source, &render.facts);
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric_info *info = &tp_metric_table[i];
        add_head(&render, info);
        for (size_t value = 0; info->type != TP_METRIC_HISTOGRAM && value < tp_metric_label_values(info->label); value++)
            add_sample(&render, info, value);
        if (info->type == TP_METRIC_HISTOGRAM)
            add_histogram(&render, info);
    }
    if (render.is_open)
        tp_text_add(&render.text, "# EOF\n");
    return tp_text_give(&render.text, size);
}
