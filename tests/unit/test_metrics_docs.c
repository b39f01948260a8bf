/* daemon/stats/METRICS.md against the metrics table: the page is written from the table (`make docs-metrics` runs this program with --write), and the test
 * compares every byte. Runs from the project's root. */
#include "daemon/stats/metrics.h"
#include "daemon/stats/text.h"
#include "tests/lib/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "daemon/stats/METRICS.md"

static const char head[] =
    "# Metrics\n"
    "\n"
    "Written by `make docs-metrics` from the table in `daemon/stats/metrics.h`; edit that. `/metrics` of the stats port has them in Prometheus' text format\n"
    "0.0.4, and in OpenMetrics 1.0 for whoever asks for it (`Accept: application/openmetrics-text`). `/stats` has the same numbers as JSON, named without\n"
    "`tickpath_` and `_total`, of all threads and by thread; `daemon/stats/stats.schema.json` is its schema. Times are in seconds, sizes in bytes.\n"
    "\n"
    "A histogram `x` is exported as `x_bucket{le}`, `x_sum` and `x_count`; the bounds are powers of two (of a microsecond, or of one). Labels have the\n"
    "values listed and no other: nothing that a client says becomes one.\n"
    "\n"
    "| name | type | unit | meaning |\n"
    "|---|---|---|---|\n";

static void add_row(struct tp_text *text, const struct tp_metric_info *info)
{
    static const char *const types[] = {
        [TP_METRIC_COUNTER] = "counter", [TP_METRIC_GAUGE] = "gauge", [TP_METRIC_HISTOGRAM] = "histogram", [TP_METRIC_FACT] = "gauge"};
    tp_text_add(text, "| `tickpath_%s%s", info->name, info->type == TP_METRIC_COUNTER ? "_total" : "");
    if (info->label != TP_METRIC_LABEL_NONE)
        tp_text_add(text, "{%s}", tp_metric_label_name(info->label));
    tp_text_add(text, "` | %s | %s | %s |\n", types[info->type], info->unit, info->help);
}

static void add_labels(struct tp_text *text)
{
    tp_text_add(text, "\n## Labels\n\n| label | values |\n|---|---|\n");
    for (enum tp_metric_label label = TP_METRIC_LABEL_NONE + 1; label < TP_METRIC_LABEL_COUNT; label++) {
        tp_text_add(text, "| `%s`, of", tp_metric_label_name(label));
        const char *comma = " ";
        for (size_t i = 0; i < tp_metric_count; i++)
            if (tp_metric_table[i].label == label) {
                tp_text_add(text, "%s`%s`", comma, tp_metric_table[i].name);
                comma = ", ";
            }
        tp_text_add(text, " | ");
        for (size_t i = 0; i < tp_metric_label_values(label); i++)
            tp_text_add(text, "%s`%s`", i ? ", " : "", tp_metric_label_value(label, i));
        tp_text_add(text, " |\n");
    }
    tp_text_add(text, "\n`tickpath_build_info` has the labels `version` and `compiler`.\n");
}

/* The page as it should be, to be freed. */
static char *page(void)
{
    struct tp_text text = {0};
    tp_text_add(&text, "%s", head);
    for (size_t i = 0; i < tp_metric_count; i++)
        add_row(&text, &tp_metric_table[i]);
    add_labels(&text);
    size_t size;
    return tp_text_give(&text, &size);
}

START_TEST(page_is_in_step)
{
    char *due = page();
    size_t size;
    char *is = tp_test_read_file(PAGE, &size);
    ck_assert_msg(strcmp(is, due) == 0, PAGE " is not what the table says: run `make docs-metrics`");
    free(is);
    free(due);
}
END_TEST

/* What a linter of Prometheus' names would say, and what keeps the table readable: names end in their unit, no name is there twice, each has a sentence. */
START_TEST(names_are_in_order)
{
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric_info *info = &tp_metric_table[i];
        const char *last = strrchr(info->name, '_');
        last = last != NULL ? last + 1 : info->name;
        if (info->unit[0] != '\0')
            ck_assert_msg(strcmp(last, info->unit) == 0, "%s does not end in %s", info->name, info->unit);
        for (const char *c = info->name; *c != '\0'; c++)
            ck_assert_msg((*c >= 'a' && *c <= 'z') || *c == '_', "%s", info->name);
        static const char *const kept[] = {"total", "count", "sum", "bucket", "us", "ms"};
        for (size_t j = 0; j < sizeof kept / sizeof *kept; j++)
            ck_assert_msg(strcmp(last, kept[j]) != 0, "%s ends in a word that means something else", info->name);
        ck_assert_msg(strlen(info->help) > 10 && strpbrk(info->help, "\n\\|") == NULL, "%s: %s", info->name, info->help);
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(strcmp(info->name, tp_metric_table[j].name) != 0, "%s is there twice", info->name);
    }
}
END_TEST

/* Every label's values are names, each once, and as many as there is room for at most. */
START_TEST(values_are_names)
{
    for (enum tp_metric_label label = TP_METRIC_LABEL_NONE + 1; label < TP_METRIC_LABEL_COUNT; label++) {
        size_t values = tp_metric_label_values(label);
        ck_assert_msg(values > 1 && values <= TP_ALGORITHMS_MAX, "%s has %zu values", tp_metric_label_name(label), values);
        for (size_t i = 0; i < values; i++) {
            const char *value = tp_metric_label_value(label, i);
            ck_assert_msg(value[0] != '\0' && strpbrk(value, "\"\\\n") == NULL && strcmp(value, "UNKNOWN") != 0, "%s", value);
            for (size_t j = 0; j < i; j++)
                ck_assert_msg(strcmp(value, tp_metric_label_value(label, j)) != 0, "%s is there twice", value);
        }
    }
}
END_TEST

static Suite *docs_suite(void)
{
    Suite *suite = suite_create("metrics_docs");
    TCase *core = tcase_create("core");
    tcase_add_test(core, page_is_in_step);
    tcase_add_test(core, names_are_in_order);
    tcase_add_test(core, values_are_names);
    suite_add_tcase(suite, core);
    return suite;
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--write") != 0)
        return tp_test_main("test_metrics_docs", docs_suite);
    char *text = page();
    FILE *file = text != NULL ? fopen(PAGE, "w") : NULL;
    bool is_written = file != NULL && fputs(text, file) >= 0;
    if (file != NULL)
        is_written &= fclose(file) == 0;
    free(text);
    return is_written ? 0 : 1;
}
