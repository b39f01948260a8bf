/* A histogram of times, from 1 ns to centuries, each told to within 1 %.
 *
 * What it is: log-linear buckets, as HdrHistogram has them: values below 256 each have a bucket, above that every
 * power of two is cut into 128 alike, so that a bucket is at most 1/128 of its values wide. Noting a value is O(1) and
 * allocates nothing. What it refuses: nothing, any uint64_t has its bucket. Who calls it: `tickpath load`.
 */
#ifndef TP_CLI_HISTOGRAM_H
#define TP_CLI_HISTOGRAM_H

#include <stdint.h>

enum {
    TP_CLI_HISTOGRAM_HALF = 128, /* buckets of a power of two */
    TP_CLI_HISTOGRAM_BUCKETS = (64 - 7 + 1) * TP_CLI_HISTOGRAM_HALF,
};

/* All 0: empty. About 58 KiB. */
struct tp_cli_histogram {
    uint64_t count, sum, max; /* of the values noted; the sum wraps after centuries of nanoseconds */
    uint64_t bucket[TP_CLI_HISTOGRAM_BUCKETS];
};

void tp_cli_histogram_note(struct tp_cli_histogram *histogram, uint64_t value);

/* The value of rank ceil(count * per_100k / 100,000), per_100k in 0..100,000: at least that value, and less than 1 % more.
 * 0 of an empty histogram. Cost: O(buckets). */
uint64_t tp_cli_histogram_quantile(const struct tp_cli_histogram *histogram, uint32_t per_100k);

/* The mean, exact; 0 of an empty histogram. */
double tp_cli_histogram_mean(const struct tp_cli_histogram *histogram);

#endif
