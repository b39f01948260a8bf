#include "daemon/view/view_numbers.h"

#include <inttypes.h>

/* The table's row of that field; there always is one. */
#define ROW(field) row_at(offsetof(struct tp_metrics, field))

static const struct tp_metric_info *row_at(size_t offset)
{
    size_t i = 0;
    while (i + 1 < tp_metric_count && tp_metric_table[i].offset != offset)
        i++;
    return &tp_metric_table[i];
}

static uint64_t counted(const struct tp_stats_source *source, const struct tp_metric_info *row)
{
    return tp_metrics_read_counter(source->metrics, source->metrics_count, row, 0);
}

/* Over all values of its label. */
static int64_t held(const struct tp_stats_source *source, const struct tp_metric_info *row)
{
    int64_t sum = 0;
    for (size_t i = 0; i < tp_metric_label_values(row->label); i++)
        sum += tp_metrics_read_gauge(source->metrics, source->metrics_count, row, i);
    return sum;
}

static struct tp_view_numbers read_numbers(const struct tp_stats_source *source, uint64_t now_ms)
{
    struct tp_view_numbers now = {.at_ms = now_ms,
                                  .moves = counted(source, ROW(moves)),
                                  .expansions = counted(source, ROW(expansions)),
                                  .guide_expansions = counted(source, ROW(guide_expansions)),
                                  .starved = counted(source, ROW(agent_ticks_starved)),
                                  .back_moves = counted(source, ROW(back_moves)),
                                  .restarts = counted(source, ROW(restarts))};
    tp_metrics_read_histogram(source->metrics, source->metrics_count, ROW(tick_seconds), &now.tick_seconds);
    struct tp_histogram_view sessions;
    tp_metrics_read_histogram(source->metrics, source->metrics_count, ROW(tick_sessions), &sessions);
    now.ticks = now.tick_seconds.count;
    now.agent_ticks = sessions.sum;
    return now;
}

/* What was observed between two readings. */
static struct tp_histogram_view between(const struct tp_histogram_view *last, const struct tp_histogram_view *now)
{
    struct tp_histogram_view view = {.count = now->count - last->count, .sum = now->sum - last->sum};
    for (size_t i = 0; i < TP_HISTOGRAM_BUCKETS; i++)
        view.bucket[i] = now->bucket[i] - last->bucket[i];
    return view;
}

void tp_view_numbers_put(struct tp_view_numbers *last, const struct tp_stats_source *source, uint64_t now_ms,
                         struct tp_text *out)
{
    struct tp_view_numbers now = read_numbers(source, now_ms);
    if (last->at_ms == 0) {
        *last = now;
        last->at_ms = now_ms > 0 ? now_ms - 1 : 0;
    }
    double seconds = now_ms > last->at_ms ? (double)(now_ms - last->at_ms) / 1000 : 0.001;
    const char *reasons[TP_STATS_REASONS_MAX];
    size_t why = source->not_ready(source->context, reasons);
    tp_text_add(out, "{\"seconds\":%.3f,\"ready\":%s,\"why\":", seconds, why == 0 ? "true" : "false");
    tp_text_add_quoted(out, why == 0 ? "" : reasons[0]);
    tp_text_add(out, ",\"sessions\":%" PRId64 ",\"connections\":%" PRId64,
                  held(source, ROW(sessions_open)), held(source, ROW(connections_open)));
    const struct {
        const char *name;
        uint64_t count;
    } rates[] = {{"ticks", now.ticks - last->ticks},
                 {"agent_ticks", now.agent_ticks - last->agent_ticks},
                 {"moves", now.moves - last->moves},
                 {"expansions", now.expansions - last->expansions},
                 {"guide", now.guide_expansions - last->guide_expansions},
                 {"starved", now.starved - last->starved},
                 {"back_moves", now.back_moves - last->back_moves},
                 {"restarts", now.restarts - last->restarts}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        tp_text_add(out, ",\"%s\":%.1f", rates[i].name, (double)rates[i].count / seconds);
    static const unsigned percents[] = {50, 90, 99, 100};
    const struct tp_histogram_view ticks = between(&last->tick_seconds, &now.tick_seconds);
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        struct tp_histogram_quantile us;
        if (tp_histogram_quantile(&ticks, percents[i], &us))
            tp_text_add(out, ",\"tick_p%u_us\":%.1f", percents[i], us.about);
        else
            tp_text_add(out, ",\"tick_p%u_us\":null", percents[i]);
    }
    tp_text_add(out, "}");
    *last = now;
}
