#include "daemon/stats/metrics.h"

#include <stdlib.h>
#include <string.h>

#define DESCRIBE(type_name, field, unit_text, label_word, help_text)                                         \
    {TP_METRIC_##type_name,         #field,    unit_text,                                                    \
     unit_text[0] == 's' ? 1e-6 : 1, TP_METRIC_LABEL_##label_word, help_text, offsetof(struct tp_metrics, field)},
const struct tp_metric_info tp_metric_table[] = {TP_METRIC_LIST(DESCRIBE)};
#undef DESCRIBE
const size_t tp_metric_count = sizeof tp_metric_table / sizeof tp_metric_table[0];

/* ---- Labels ---- */

static const char *code_value(size_t i)
{
    return tp_error_name(-(int)i - 1);
}

static const char *state_value(size_t i)
{
    return i == 0 ? "FRESH" : tp_status_name((uint32_t)i);
}

static const char *status_value(size_t i)
{
    return tp_status_name((uint32_t)i + 1);
}

static const char *algorithm_value(size_t i)
{
    return tp_algorithm_at(i)->name;
}

static const char *reason_value(size_t i)
{
#define WORD(name, word) [TP_DROP_##name] = word,
    static const char *const words[] = {TP_DROP_REASON_LIST(WORD)};
#undef WORD
    return words[i];
}

static const char *pool_value(size_t i)
{
#define WORD(name, word) [TP_METRIC_POOL_##name] = word,
    static const char *const words[] = {TP_METRIC_POOL_LIST(WORD)};
#undef WORD
    return words[i];
}

static const char *outcome_value(size_t i)
{
#define WORD(name, word) [TP_METRIC_OUTCOME_##name] = word,
    static const char *const words[] = {TP_METRIC_OUTCOME_LIST(WORD)};
#undef WORD
    return words[i];
}

static const char *cause_value(size_t i)
{
    return tp_slow_cause_name((enum tp_slow_cause)i);
}

static const struct {
    const char *name;
    size_t values; /* 0: as many rows as the registry has */
    const char *(*value)(size_t i);
} labels[] = {
    [TP_METRIC_LABEL_NONE] = {NULL, 1, NULL},
    [TP_METRIC_LABEL_CODE] = {"code", TP_ERROR_COUNT, code_value},
    [TP_METRIC_LABEL_STATUS] = {"status", TP_STATUS_UNREACHABLE, status_value},
    [TP_METRIC_LABEL_STATE] = {"state", TP_STATUS_UNREACHABLE + 1, state_value},
    [TP_METRIC_LABEL_ALGORITHM] = {"algorithm", 0, algorithm_value},
    [TP_METRIC_LABEL_REASON] = {"reason", TP_DROP_REASON_COUNT, reason_value},
    [TP_METRIC_LABEL_POOL] = {"pool", TP_METRIC_POOL_COUNT, pool_value},
    [TP_METRIC_LABEL_OUTCOME] = {"outcome", TP_METRIC_OUTCOME_COUNT, outcome_value},
    [TP_METRIC_LABEL_CAUSE] = {"cause", TP_SLOW_CAUSES, cause_value},
};

const char *tp_metric_label_name(enum tp_metric_label label)
{
    return labels[label].name;
}

size_t tp_metric_label_values(enum tp_metric_label label)
{
    size_t values = labels[label].values;
    while (labels[label].values == 0 && tp_algorithm_at(values) != NULL)
        values++;
    return values;
}

const char *tp_metric_label_value(enum tp_metric_label label, size_t i)
{
    return labels[label].value(i);
}

/* ---- Reading ---- */

static uint64_t observations_of(const struct tp_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t b = 0; b < sizeof histogram->bucket / sizeof *histogram->bucket; b++)
        count += atomic_load_explicit(&histogram->bucket[b], memory_order_relaxed);
    return count;
}

static const void *field_of(const struct tp_metrics *metrics, const struct tp_metric_info *info)
{
    return (const char *)metrics + info->offset;
}

uint64_t tp_metrics_read_counter(const struct tp_metrics *const *all, size_t count,
                                 const struct tp_metric_info *info, size_t value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const _Atomic uint64_t *field = field_of(all[i], info);
        sum += atomic_load_explicit(&field[value], memory_order_relaxed);
        if (info->offset == offsetof(struct tp_metrics, requests))
            sum += observations_of(&all[i]->tick_seconds);
    }
    return sum;
}

int64_t tp_metrics_read_gauge(const struct tp_metrics *const *all, size_t count,
                              const struct tp_metric_info *info, size_t value)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const _Atomic int64_t *field = field_of(all[i], info);
        sum += atomic_load_explicit(&field[value], memory_order_relaxed);
    }
    return sum;
}

/* Whether plain ticks are in it: with 1 in that of sessions, with 0 in the others. */
static bool is_tick_histogram(const struct tp_metric_info *info)
{
    return info->offset == offsetof(struct tp_metrics, tick_wait_seconds) || info->offset == offsetof(struct tp_metrics, tick_expansions) ||
           info->offset == offsetof(struct tp_metrics, tick_sessions);
}

void tp_metrics_read_histogram(const struct tp_metrics *const *all, size_t count,
                               const struct tp_metric_info *info, struct tp_histogram_view *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        const struct tp_histogram *field = field_of(all[i], info);
        for (size_t b = 0; b < sizeof field->bucket / sizeof *field->bucket; b++) {
            uint64_t n = atomic_load_explicit(&field->bucket[b], memory_order_relaxed);
            out->bucket[b < TP_HISTOGRAM_BUCKETS ? b : TP_HISTOGRAM_BUCKETS - 1] += n;
            out->count += n;
        }
        out->sum += atomic_load_explicit(&field->sum, memory_order_relaxed);
        if (is_tick_histogram(info)) {
            uint64_t plain = atomic_load_explicit(&all[i]->ticks_plain, memory_order_relaxed);
            out->bucket[0] += plain;
            out->count += plain;
            out->sum += info->offset == offsetof(struct tp_metrics, tick_sessions) ? plain : 0;
        }
    }
}

uint64_t tp_histogram_bound(size_t i)
{
    return i + 1 >= TP_HISTOGRAM_BUCKETS ? UINT64_MAX : UINT64_C(1) << i;
}

bool tp_histogram_quantile(const struct tp_histogram_view *view, unsigned percent, struct tp_histogram_quantile *out)
{
    uint64_t wanted = view->count * percent, below = 0; /* in hundredths of a value */
    size_t i = 0;
    *out = (struct tp_histogram_quantile){0};
    if (view->count == 0)
        return false;
    for (; i + 1 < TP_HISTOGRAM_BUCKETS && below + view->bucket[i] * 100 < wanted; i++)
        below += view->bucket[i] * 100;
    double least = i > 0 ? (double)tp_histogram_bound(i - 1) : 0;
    out->most = tp_histogram_bound(i);
    out->about = least;
    if (out->most != UINT64_MAX)
        out->about += ((double)out->most - least) * (double)(wanted - below) / (double)(view->bucket[i] * 100);
    return true;
}

struct tp_metrics *tp_metrics_new(const char *thread)
{
    size_t align = _Alignof(struct tp_metrics);
    struct tp_metrics *metrics = aligned_alloc(align, (sizeof *metrics + align - 1) / align * align);
    if (metrics == NULL)
        return NULL;
    memset((void *)metrics, 0, sizeof *metrics);
    strncpy(metrics->thread, thread, sizeof metrics->thread - 1);
    return metrics;
}
