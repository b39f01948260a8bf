/* The tool's histogram against sorted values: every quantile is the value of its rank, to within 1 % and never below. */
#include "client/cli/histogram.h"
#include "tests/lib/harness.h"

#include <stdlib.h>

static struct tp_cli_histogram histogram;

static void begin(void)
{
    histogram = (struct tp_cli_histogram){.count = 0};
}

START_TEST(empty_is_zero)
{
    ck_assert_uint_eq(tp_cli_histogram_quantile(&histogram, 0), 0);
    ck_assert_uint_eq(tp_cli_histogram_quantile(&histogram, 99000), 0);
    ck_assert_uint_eq(tp_cli_histogram_quantile(&histogram, 100000), 0);
    ck_assert(tp_cli_histogram_mean(&histogram) == 0);
}
END_TEST

/* A value alone comes back as it is, whatever its size: the borders of the buckets among them. */
START_TEST(one_value_is_exact)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int off = -1; off <= 1; off++) {
            uint64_t value = (UINT64_C(1) << bit) + (uint64_t)off;
            begin();
            tp_cli_histogram_note(&histogram, value);
            for (uint32_t q = 0; q <= 100000; q += 50000)
                ck_assert_uint_eq(tp_cli_histogram_quantile(&histogram, q), value);
        }
    }
    begin();
    tp_cli_histogram_note(&histogram, UINT64_MAX);
    ck_assert_uint_eq(tp_cli_histogram_quantile(&histogram, 50000), UINT64_MAX);
}
END_TEST

/* Below 256 nothing is lost. */
START_TEST(small_values_are_exact)
{
    for (uint64_t value = 0; value < 256; value++)
        tp_cli_histogram_note(&histogram, value);
    for (uint64_t rank = 1; rank <= 256; rank++) {
        uint32_t q = (uint32_t)(rank * 100000 / 256); /* of this rank at most */
        uint64_t expected = (256 * (uint64_t)q + 99999) / 100000 - 1;
        ck_assert_uint_eq(tp_cli_histogram_quantile(&histogram, q), expected);
    }
    ck_assert(tp_cli_histogram_mean(&histogram) == 127.5);
}
END_TEST

static int by_value(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;
    return *one < *other ? -1 : *one > *other;
}

START_TEST(quantiles_are_those_of_the_sorted_values)
{
    struct tp_test_rng rng = tp_test_rng("quantiles");
    static uint64_t values[20000];
    static const uint32_t quantiles[] = {0, 1, 1000, 25000, 50000, 90000, 99000, 99900, 99990, 99999, 100000};
    for (uint64_t round = 0; round < tp_test_steps(20, 200); round++) {
        size_t count = 1 + tp_test_below(&rng, sizeof values / sizeof values[0]);
        begin();
        for (size_t i = 0; i < count; i++) { /* of every size, evenly in the logarithm */
            values[i] = tp_test_next(&rng) >> tp_test_below(&rng, 64);
            tp_cli_histogram_note(&histogram, values[i]);
        }
        qsort(values, count, sizeof values[0], by_value);
        ck_assert_uint_eq(histogram.count, count);
        ck_assert_uint_eq(histogram.max, values[count - 1]);
        for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
            size_t rank = (count * quantiles[i] + 99999) / 100000;
            uint64_t truth = values[rank > 0 ? rank - 1 : 0];
            uint64_t told = tp_cli_histogram_quantile(&histogram, quantiles[i]);
            if (told < truth || told - truth > truth / 100)
                ck_abort_msg("quantile %u of %zu: %llu, told %llu", quantiles[i], count,
                             (unsigned long long)truth, (unsigned long long)told);
        }
    }
}
END_TEST

static Suite *histogram_suite(void)
{
    Suite *suite = suite_create("histogram");
    TCase *cases = tcase_create("histogram");
    tcase_add_checked_fixture(cases, begin, NULL);
    tcase_add_test(cases, empty_is_zero);
    tcase_add_test(cases, one_value_is_exact);
    tcase_add_test(cases, small_values_are_exact);
    tcase_add_test(cases, quantiles_are_those_of_the_sorted_values);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_histogram", histogram_suite);
}
