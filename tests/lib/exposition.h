/* Reading the Prometheus text of the stats endpoint in a test. Both fail the test if the sample does not
 * stand in the text exactly once. */
#ifndef TESTS_LIB_EXPOSITION_H
#define TESTS_LIB_EXPOSITION_H

#include <stdint.h>

/* The value of a sample, named as exported: "tickpath_ready", "tickpath_tick_seconds_bucket{le=\"1e-06\"}". */
double tp_test_sample(const char *text, const char *name);

/* The value of a line of the metrics table, named as the table's field; of a histogram its count, with a label the sum over its values. */
uint64_t tp_test_metric(const char *text, const char *field);

#endif
