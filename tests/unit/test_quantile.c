/* The daemon's histograms: which bucket a quantile lies in, against the sorted values, and where in it. */
#include "daemon/stats/metrics.h"
#include "tests/lib/harness.h"

#include <stdlib.h>

enum { LAST = TP_HISTOGRAM_BUCKETS - 1 };

static const unsigned percents[] = {1, 50, 90, 99, 100};
enum { PERCENTS = sizeof percents / sizeof percents[0] };

static struct tp_metrics *metrics;

static void begin(void)
{
    metrics = tp_metrics_new("loop0");
    ck_assert_ptr_nonnull(metrics);
}

static void finish(void)
{
    free(metrics);
}

static struct tp_histogram_view view_now(void)
{
    const struct tp_metric_info row = {.type = TP_METRIC_HISTOGRAM, .offset = offsetof(struct tp_metrics, starved_ticks)};
    struct tp_histogram_view view;
    tp_metrics_read_histogram((const struct tp_metrics *const *)&metrics, 1, &row, &view);
    return view;
}

static void observe(uint64_t value)
{
    tp_metric_observe(&metrics->starved_ticks, value);
}

static struct tp_histogram_quantile quantile(unsigned percent)
{
    struct tp_histogram_view view = view_now();
    struct tp_histogram_quantile found;
    ck_assert(tp_histogram_quantile(&view, percent, &found));
    return found;
}

START_TEST(empty_has_none)
{
    struct tp_histogram_view view = view_now();
    for (size_t i = 0; i < PERCENTS; i++) {
        struct tp_histogram_quantile found = {.most = 7, .about = 7};
        ck_assert(!tp_histogram_quantile(&view, percents[i], &found));
        ck_assert(found.most == 0 && found.about == 0);
    }
}
END_TEST

/* A bound belongs to the bucket that it ends; one more is in the next. Alone in its bucket a value is anywhere from its beginning to its end. */
START_TEST(one_value_lies_in_its_bucket)
{
    for (unsigned bit = 0; bit < LAST; bit++) {
        uint64_t bound = UINT64_C(1) << bit;
        for (uint64_t off = 0; off <= 1; off++) {
            finish();
            begin();
            observe(bound + off);
            uint64_t most = off == 0 ? bound : bit + 1 < LAST ? 2 * bound : UINT64_MAX;
            double least = off == 1 ? (double)bound : bit == 0 ? 0 : (double)bound / 2;
            for (size_t i = 0; i < PERCENTS; i++) {
                struct tp_histogram_quantile found = quantile(percents[i]);
                ck_assert_uint_eq(found.most, most);
                double end = most == UINT64_MAX ? least : (double)most;
                ck_assert_double_eq(found.about, least + (end - least) * percents[i] / 100);
            }
        }
    }
}
END_TEST

/* The last bucket has no end: what lies there is at least where it begins. */
START_TEST(last_bucket_has_no_bound)
{
    const double begins = (double)(UINT64_C(1) << (LAST - 1));
    for (int i = 0; i < 5; i++)
        observe(UINT64_MAX >> i);
    for (size_t i = 0; i < PERCENTS; i++) {
        ck_assert_uint_eq(quantile(percents[i]).most, UINT64_MAX);
        ck_assert_double_eq(quantile(percents[i]).about, begins);
    }
    for (int i = 0; i < 5; i++) /* now half of them are zeros */
        observe(0);
    ck_assert_uint_eq(quantile(50).most, 1);
    ck_assert_double_eq(quantile(50).about, 1);
    ck_assert_uint_eq(quantile(51).most, UINT64_MAX);
}
END_TEST

/* A share that ends with a bucket is of that bucket, and empty ones are passed over. */
START_TEST(share_that_ends_with_a_bucket)
{
    for (int i = 0; i < 90; i++)
        observe(3);
    for (int i = 0; i < 10; i++)
        observe(1000);
    ck_assert_uint_eq(quantile(90).most, 4);
    ck_assert_double_eq(quantile(90).about, 4);
    ck_assert_double_eq(quantile(45).about, 3);
    ck_assert_uint_eq(quantile(91).most, 1024);
    ck_assert_double_eq(quantile(95).about, 768);
    ck_assert_uint_eq(quantile(100).most, 1024);
    ck_assert_double_eq(quantile(100).about, 1024);
}
END_TEST

static int by_value(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;
    return *one < *other ? -1 : *one > *other;
}

START_TEST(bucket_is_that_of_the_sorted_value)
{
    struct tp_test_rng rng = tp_test_rng("quantile");
    static uint64_t values[3000];
    for (uint64_t round = 0; round < tp_test_steps(40, 1000); round++) {
        size_t count = 1 + tp_test_below(&rng, tp_test_percent(&rng, 50) ? 12 : sizeof values / sizeof values[0]);
        finish();
        begin();
        for (size_t i = 0; i < count; i++) { /* of every size, evenly in the logarithm */
            values[i] = tp_test_next(&rng) >> tp_test_between(&rng, 30, 63);
            observe(values[i]);
        }
        qsort(values, count, sizeof values[0], by_value);
        double before = 0;
        for (unsigned percent = 1; percent <= 100; percent++) {
            uint64_t truth = values[(count * percent + 99) / 100 - 1];
            struct tp_histogram_quantile found = quantile(percent);
            bool is_last = found.most == UINT64_MAX;
            uint64_t least = is_last ? UINT64_C(1) << (LAST - 1) : found.most / 2;
            if (truth > found.most || (truth <= least && found.most > 1))
                ck_abort_msg("%u %% of %zu: %llu, told %llu", percent, count, (unsigned long long)truth, (unsigned long long)found.most);
            if (found.about < before || found.about < (double)least || (!is_last && found.about > (double)found.most))
                ck_abort_msg("%u %% of %zu: about %f, after %f", percent, count, found.about, before);
            before = found.about;
        }
    }
}
END_TEST

static Suite *quantile_suite(void)
{
    Suite *suite = suite_create("quantile");
    TCase *core = tcase_create("core");
    tcase_add_checked_fixture(core, begin, finish);
    tcase_add_test(core, empty_has_none);
    tcase_add_test(core, one_value_lies_in_its_bucket);
    tcase_add_test(core, last_bucket_has_no_bound);
    tcase_add_test(core, share_that_ends_with_a_bucket);
    tcase_add_test(core, bucket_is_that_of_the_sorted_value);
    suite_add_tcase(suite, core);
    return suite;
}

int main(void)
{
    return tp_test_main("test_quantile", quantile_suite);
}
