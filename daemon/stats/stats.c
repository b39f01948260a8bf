#include "daemon/stats/stats_internal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    int64_t pages = 0;
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d %" SCNd64, &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static int64_t descriptors_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= INT64_MAX) /* RLIM_INFINITY is beyond */
        return INT64_MAX;
    return (int64_t)limit.rlim_cur;
}

/* Newer systems have the number as the folder's size; of others the names are counted, at some microseconds a thousand. */
static int64_t descriptors_open(int64_t most)
{
    static const char path[] = "/proc/self/fd";
    struct stat status;
    if (stat(path, &status) == 0 && status.st_size > 0)
        return status.st_size;
    int64_t count = 0;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return errno == EMFILE ? most : 0; /* there is none left to count with */
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count > 3 ? count - 3 : 0; /* less . and .. and its own */
}

void tp__stats_find_out(const struct tp_stats_source *source, struct tp__stats_facts *facts)
{
    memset((void *)facts, 0, sizeof *facts);
    struct tp_metrics *numbers = &facts->numbers;
    facts->reason_count = source->not_ready(source->context, facts->reasons);
    source->store_status(source->context, &facts->store);

    static const struct tp_metric_info pool_info = {
        .type = TP_METRIC_GAUGE, .label = TP_METRIC_LABEL_POOL, .offset = offsetof(struct tp_metrics, pool_bytes)};
    int64_t used = 0, cap_bytes = (int64_t)atomic_load_explicit(&source->pool_cap->bytes, memory_order_relaxed);
    for (size_t pool = TP_METRIC_POOL_SESSIONS; pool <= TP_METRIC_POOL_GUIDE; pool++)
        used += tp_metrics_read_gauge(source->metrics, source->metrics_count, &pool_info, pool);
    uint64_t bytes_max = atomic_load_explicit(&source->pool_cap->bytes_max, memory_order_relaxed);

    atomic_init(&numbers->build_info, 1);
    atomic_init(&numbers->uptime_seconds, (int64_t)(source->uptime_ms(source->context) * 1000));
    atomic_init(&numbers->threads, source->threads);
    atomic_init(&numbers->ready, facts->reason_count == 0);
    atomic_init(&numbers->store_degraded, facts->store.state == TP_STORE_DEGRADED);
    atomic_init(&numbers->store_volatile, source->store_volatile);
    atomic_init(&numbers->resident_bytes, resident_bytes());
    atomic_init(&numbers->descriptors_max, descriptors_max());
    atomic_init(&numbers->descriptors_open, descriptors_open(descriptors_max()));
    atomic_init(&numbers->node_bytes, cap_bytes);
    atomic_init(&numbers->node_bytes_max, bytes_max > INT64_MAX ? INT64_MAX : (int64_t)bytes_max);
    atomic_init(&numbers->map_versions, (int64_t)atomic_load_explicit(&source->held->versions, memory_order_relaxed));
    atomic_init(&numbers->pool_bytes[TP_METRIC_POOL_SPARE], cap_bytes > used ? cap_bytes - used : 0);
    atomic_init(&numbers->pool_bytes[TP_METRIC_POOL_MAPS],
                (int64_t)atomic_load_explicit(&source->held->bytes, memory_order_relaxed));
    atomic_init(&numbers->pool_bytes[TP_METRIC_POOL_UPLOADS],
                (int64_t)atomic_load_explicit(&source->uploads->bytes, memory_order_relaxed));
}

bool tp__stats_is_boundless(const struct tp__stats_facts *facts, const struct tp_metric_info *info)
{
    return facts != NULL && info->type == TP_METRIC_FACT && info->label == TP_METRIC_LABEL_NONE &&
           tp_metrics_read_gauge(&(const struct tp_metrics *){&facts->numbers}, 1, info, 0) == INT64_MAX;
}

void tp__stats_add_scaled(struct tp_text *text, const struct tp_metric_info *info, uint64_t counted)
{
    if (info->scale != 1)
        tp_text_add(text, "%" PRIu64 ".%06" PRIu64, counted / 1000000, counted % 1000000);
    else
        tp_text_add(text, "%" PRIu64, counted);
}

void tp__stats_add_value(struct tp_text *text, const struct tp_metrics *const *all, size_t count,
                         const struct tp__stats_facts *facts, const struct tp_metric_info *info, size_t value)
{
    if (info->type == TP_METRIC_COUNTER) {
        tp__stats_add_scaled(text, info, tp_metrics_read_counter(all, count, info, value));
        return;
    }
    int64_t sum = tp_metrics_read_gauge(all, count, info, value);
    if (facts != NULL)
        sum += tp_metrics_read_gauge(&(const struct tp_metrics *){&facts->numbers}, 1, info, value);
    if (sum < 0)
        tp_text_add(text, "%" PRId64, sum);
    else
        tp__stats_add_scaled(text, info, (uint64_t)sum);
}
