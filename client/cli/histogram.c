#include "client/cli/histogram.h"

#include <stddef.h>

enum { HALF = TP_CLI_HISTOGRAM_HALF, HALF_BITS = 7 };

/* How far values of a bucket's size are shifted down to 128..255; 0 for those below 256. */
static unsigned shift_of(uint64_t value)
{
    return value < 2 * HALF ? 0 : 63 - (unsigned)__builtin_clzll(value) - HALF_BITS;
}

static size_t bucket_of(uint64_t value)
{
    unsigned shift = shift_of(value);
    return (size_t)shift * HALF + (size_t)(value >> shift);
}

/* The largest value of a bucket. */
static uint64_t last_of(size_t bucket)
{
    if (bucket < 2 * HALF)
        return bucket;
    unsigned shift = (unsigned)(bucket / HALF) - 1;
    uint64_t first = (uint64_t)(bucket - (size_t)shift * HALF) << shift;
    return first + ((UINT64_C(1) << shift) - 1);
}

void tp_cli_histogram_note(struct tp_cli_histogram *histogram, uint64_t value)
{
    histogram->bucket[bucket_of(value)]++;
    histogram->count++;
    histogram->sum += value;
    if (value > histogram->max)
        histogram->max = value;
}

uint64_t tp_cli_histogram_quantile(const struct tp_cli_histogram *histogram, uint32_t per_100k)
{
    /* ceil(count * per_100k / 100000) without a product that wraps */
    uint64_t whole = histogram->count / 100000, rest = histogram->count % 100000;
    uint64_t rank = whole * per_100k + (rest * per_100k + 99999) / 100000, seen = 0;
    rank = rank > 0 ? rank : 1;
    for (size_t i = 0; i < TP_CLI_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen >= rank)
            return last_of(i) < histogram->max ? last_of(i) : histogram->max;
    }
    return histogram->max;
}

double tp_cli_histogram_mean(const struct tp_cli_histogram *histogram)
{
    return histogram->count > 0 ? (double)histogram->sum / (double)histogram->count : 0;
}
