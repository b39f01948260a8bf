#include "tests/lib/exposition.h"

#include "daemon/stats/metrics.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double tp_test_sample(const char *text, const char *name)
{
    size_t length = strlen(name);
    double value = 0;
    int found = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, name, length) == 0 && line[length] == ' ') {
            value = strtod(line + length + 1, NULL);
            found++;
        }
    ck_assert_msg(found == 1, "%s stands %d times in the metrics", name, found);
    return value;
}

uint64_t tp_test_metric(const char *text, const char *field)
{
    static const char *const suffix[] = {
        [TP_METRIC_COUNTER] = "_total", [TP_METRIC_GAUGE] = "", [TP_METRIC_HISTOGRAM] = "_count", [TP_METRIC_FACT] = ""};
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric_info *info = &tp_metric_table[i];
        if (strcmp(info->name, field) != 0)
            continue;
        uint64_t sum = 0;
        for (size_t value = 0; value < tp_metric_label_values(info->label); value++) {
            char exported[128];
            int size = snprintf(exported, sizeof exported, "tickpath_%s%s", field, suffix[info->type]);
            if (info->label != TP_METRIC_LABEL_NONE)
                snprintf(exported + size, sizeof exported - (size_t)size, "{%s=\"%s\"}", tp_metric_label_name(info->label),
                         tp_metric_label_value(info->label, value));
            sum += (uint64_t)tp_test_sample(text, exported);
        }
        return sum;
    }
    ck_abort_msg("no field %s in the metrics table", field);
}
