/* What the renderers of the stats share: stats.c (what is found out when it is asked for), stats_metrics.c (Prometheus, OpenMetrics),
 * stats_json.c and stats_options.c. Nobody else includes it. */
#ifndef TP_DAEMON_STATS_INTERNAL_H
#define TP_DAEMON_STATS_INTERNAL_H

#include "daemon/stats/stats.h"

/* What is no thread's. */
struct tp__stats_facts {
    struct tp_metrics numbers; /* the table's facts, and what a gauge has besides the threads' */
    struct tp_store_status store;
    const char *reasons[TP_STATS_REASONS_MAX]; /* why it is not ready */
    size_t reason_count;
};

void tp__stats_find_out(const struct tp_stats_source *source, struct tp__stats_facts *facts);

/* Whether the line is a limit, and there is none. */
bool tp__stats_is_boundless(const struct tp__stats_facts *facts, const struct tp_metric_info *info);

/* A line of the table, of the label's i-th value: all threads' numbers and the facts', or one thread's (facts: NULL). */
void tp__stats_add_value(struct tp_text *text, const struct tp_metrics *const *all, size_t count,
                         const struct tp__stats_facts *facts, const struct tp_metric_info *info, size_t value);

/* What is counted, in the line's unit: times as seconds to the microsecond. */
void tp__stats_add_scaled(struct tp_text *text, const struct tp_metric_info *info, uint64_t counted);

/* Every option and its value in effect, as an object. */
void tp__stats_add_options(struct tp_text *text, const struct tp_stats_source *source);

#endif
