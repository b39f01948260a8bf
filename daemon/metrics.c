#include "daemon/metrics.h"

#include <stdlib.h>
#include <string.h>

#define DESCRIBE(type_name, field, unit_text, help_text)                                                     \
    {TP_METRIC_##type_name, #field, unit_text, help_text, offsetof(struct tp_metrics, field)},
const struct tp_metric_info tp_metric_table[] = {TP_METRIC_LIST(DESCRIBE)};
#undef DESCRIBE
const size_t tp_metric_count = sizeof tp_metric_table / sizeof tp_metric_table[0];

void tp_metric_observe(struct tp_histogram *histogram, uint64_t value)
{
    /* the least i with value <= 2^i */
    size_t i = value <= 1 ? 0 : 64u - (size_t)__builtin_clzll(value - 1);
    if (i >= TP_HISTOGRAM_BUCKETS)
        i = TP_HISTOGRAM_BUCKETS - 1;
    tp_metric_add(&histogram->bucket[i], 1);
    tp_metric_add(&histogram->sum, value);
}

static const void *field_of(const struct tp_metrics *metrics, const struct tp_metric_info *info)
{
    return (const char *)metrics + info->offset;
}

uint64_t tp_metrics_read_counter(const struct tp_metrics *const *all, size_t count,
                                 const struct tp_metric_info *info)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const _Atomic uint64_t *field = field_of(all[i], info);
        sum += atomic_load_explicit(field, memory_order_relaxed);
    }
    return sum;
}

int64_t tp_metrics_read_gauge(const struct tp_metrics *const *all, size_t count,
                              const struct tp_metric_info *info)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const _Atomic int64_t *field = field_of(all[i], info);
        sum += atomic_load_explicit(field, memory_order_relaxed);
    }
    return sum;
}

void tp_metrics_read_histogram(const struct tp_metrics *const *all, size_t count,
                               const struct tp_metric_info *info, struct tp_histogram_view *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        const struct tp_histogram *field = field_of(all[i], info);
        for (size_t b = 0; b < TP_HISTOGRAM_BUCKETS; b++) {
            uint64_t n = atomic_load_explicit(&field->bucket[b], memory_order_relaxed);
            out->bucket[b] += n;
            out->count += n;
        }
        out->sum += atomic_load_explicit(&field->sum, memory_order_relaxed);
    }
}

uint64_t tp_histogram_bound(size_t i)
{
    return i + 1 >= TP_HISTOGRAM_BUCKETS ? UINT64_MAX : UINT64_C(1) << i;
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
