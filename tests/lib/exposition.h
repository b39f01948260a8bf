/* Reading the Prometheus text of the stats endpoint in a test. Both fail the test if the sample does not
 * stand in the text exactly once. */
#ifndef TESTS_LIB_EXPOSITION_H
#define TESTS_LIB_EXPOSITION_H

#include <stdint.h>

/* The value of a sample, named as exported: "tickpath_ready", "tickpath_tick_us_bucket{le=\"1\"}". */
double tp_test_sample(const char *text, const char *name);

/* The value of a line of the metrics table, named as the table's field; of a histogram its count. */
uint64_t tp_test_metric(const char *text, const char *field);

#endif
