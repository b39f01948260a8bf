/* The report's page: one HTML file without anything outside it. */
#include "client/cli/report.h"

#include "base/version.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_MAX = 200 };

static const char style[] =
    ":root{color-scheme:light dark;--line:#8884;--soft:#8881;--dim:#777}"
    "@media(prefers-color-scheme:dark){:root{--dim:#aaa}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem;border-top:1px solid "
    "var(--line);padding-top:1rem}"
    "h3{font-size:1rem;margin:1.2rem 0 .3rem}"
    "table{border-collapse:collapse;font-size:13px;margin:.5rem 0;font-variant-numeric:tabular-nums}"
    "th,td{padding:.2rem .55rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}"
    "th:first-child,td:first-child,.claims td,.claims th{text-align:left}"
    ".claims{width:100%}.claims td:nth-child(2){min-width:7rem}.claims td:nth-child(5){min-width:5rem}"
    ".claims td:last-child{min-width:12rem}"
    "tr.printed td{color:var(--dim);font-style:italic}"
    ".v{font-weight:600;white-space:nowrap}.holds{color:#2a9d62}.broken{color:#d64545}.exception{color:#"
    "c98a1c}"
    ".shown{color:var(--dim)}.dim{color:var(--dim)}"
    ".wide{overflow-x:auto}.plots{display:flex;flex-wrap:wrap;gap:1rem}.plot{flex:1 1 30rem;min-width:0}"
    "svg{width:100%;height:auto;max-width:46rem}";

static const struct {
    const char *word, *class;
} verdicts[] = {
    [TP_REPORT_HOLDS] = {"holds", "holds"},
    [TP_REPORT_EXCEPTION] = {"exception", "exception"},
    [TP_REPORT_SHOWN] = {"not judged here", "shown"},
    [TP_REPORT_BROKEN] = {"does not hold", "broken"},
    [TP_REPORT_NOT_MEASURED] = {"not measured", "broken"},
    [TP_REPORT_HOLDS_AGAIN] = {"holds, though an exception", "broken"},
};

static void put(FILE *out, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            putc(*text, out);
    }
}

/* Copies the next field, ended by '|' and trimmed, off *text. */
static void next_field(const char **text, char out[FIELD_MAX])
{
    while (isspace((unsigned char)**text))
        ++*text;
    size_t length = strcspn(*text, "|"), kept = length < FIELD_MAX ? length : FIELD_MAX - 1;
    memcpy(out, *text, kept);
    while (kept > 0 && isspace((unsigned char)out[kept - 1]))
        kept--;
    out[kept] = '\0';
    *text += length + ((*text)[length] == '|');
}

static void put_number(FILE *out, double value)
{
    double size = fabs(value);
    int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 || size == 0 ? 2 : 4;
    fprintf(out, "%.*f", decimals, value);
}

static void write_claims(FILE *out, const struct tp_report *report, const struct tp_report_claim *claims)
{
    fputs("<div class=wide><table class=claims><tr><th>verdict<th>paper<th>claim<th>printed "
          "there<th>comparisons"
          "<th>here, where it holds least</tr>\n",
          out);
    for (size_t i = 0; i < report->claims.blocks_count; i++) {
        const struct tp_report_claim *claim = &claims[i];
        const struct tp_report_table *table = &report->claims;
        fprintf(out, "<tr id=\"%s\"><td class=\"v %s\">%s<td>", claim->block->name,
                verdicts[claim->verdict].class, verdicts[claim->verdict].word);
        put(out, tp_report_get(table, claim->block, "paper", 0));
        fputs("<td>", out);
        put(out, tp_report_get(table, claim->block, "says", 0));
        if (claim->exception != NULL) {
            fputs("<br><span class=dim>Exception: ", out);
            put(out, tp_report_get(&report->exceptions, claim->exception, "reason", 0));
            fputs("</span>", out);
        }
        fputs("<td>", out);
        put(out, tp_report_get(table, claim->block, "printed", 0));
        const char *share = tp_report_get(table, claim->block, "share", 0);
        fprintf(out, "<td>%zu of %zu%s%s", claim->held_count, claim->tried,
                share != NULL ? "; share needed " : "", share != NULL ? share : "");
        fputs("<td>", out);
        put(out, claim->ours);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

/* A row of the table: one series. */
static void write_row(FILE *out, const struct tp_report *report,
                      const struct tp_report_experiment *experiment, const struct tp_report_series *series,
                      const char *measure)
{
    const char *text = series->x != NULL ? series->x : experiment->x;
    char x[24], why[160] = "";
    fputs("<tr><td>", out);
    put(out, series->title);
    tp_report_word(&text, x, sizeof x);
    if (series->x != NULL)
        fprintf(out, " <span class=dim>by %s</span>", x);
    double n = 0, solved = 100, value;
    while (tp_report_word(&text, x, sizeof x)) {
        fputs("<td>", out);
        if (series->x != NULL)
            fprintf(out, "<span class=dim>%s:</span> ", x);
        if (tp_report_value(report, measure, experiment->name, series->name, x, &value, why))
            put_number(out, value);
        else
            fputs("&ndash;", out);
        if (tp_report_value(report, "n", experiment->name, series->name, x, &value, why) && value > n)
            n = value;
        if (tp_report_value(report, "solved", experiment->name, series->name, x, &value, why) &&
            value < solved)
            solved = value;
    }
    if (n == 0) {
        fputs("<td class=dim>", out);
        put(out, why);
    } else {
        fprintf(out, "<td class=dim>n = %.0f", n);
        if (solved < 100)
            fprintf(out, ", %.0f %% solved", solved);
    }
    fputs("</tr>\n", out);
}

static void write_table(FILE *out, const struct tp_report *report,
                        const struct tp_report_experiment *experiment, const char *measure,
                        const struct tp_report_line *printed, size_t lines)
{
    const char *text = experiment->x;
    char x[24], field[FIELD_MAX];
    tp_report_word(&text, x, sizeof x);
    fprintf(out, "<div class=wide><table><tr><th>%s", x);
    while (tp_report_word(&text, x, sizeof x))
        fprintf(out, "<th>%s", x);
    fputs("<th></tr>\n", out);
    for (size_t s = 0; s < experiment->series_count; s++)
        write_row(out, report, experiment, &experiment->series[s], measure);
    for (size_t i = 0; i < lines && strcmp(printed[i].key, "printed") == 0; i++) {
        const char *rest = printed[i].rest;
        next_field(&rest, field);
        fputs("<tr class=printed><td>", out);
        put(out, field);
        while (tp_report_word(&rest, x, sizeof x))
            fprintf(out, "<td>%s", x);
        fputs("<td>the paper</tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

/* Words whose underscores are blanks. */
static void put_words(FILE *out, const char *words)
{
    for (; *words != '\0'; words++)
        putc(*words == '_' ? ' ' : *words, out);
}

/* A table of measures: a row an experiment, one series at one x. */
static void write_measures(FILE *out, const struct tp_report *report, const char *rest)
{
    char experiments[FIELD_MAX], series[FIELD_MAX], x[FIELD_MAX], title[FIELD_MAX], word[64], name[64], why[160];
    next_field(&rest, experiments);
    next_field(&rest, series);
    next_field(&rest, x);
    next_field(&rest, title);
    fputs("<div><h3>", out);
    put(out, title);
    fputs("</h3><div class=wide><table><tr><th>", out);
    const char *measures = rest;
    while (tp_report_word(&measures, word, sizeof word)) {
        const char *words = strchr(word, '=');
        fputs("<th>", out);
        put_words(out, words != NULL ? words + 1 : word);
    }
    fputs("<th>problems</tr>\n", out);
    for (const char *at = experiments; tp_report_word(&at, name, sizeof name);) {
        double value;
        fprintf(out, "<tr><td>%s", name);
        for (measures = rest; tp_report_word(&measures, word, sizeof word);) {
            word[strcspn(word, "=")] = '\0';
            fputs("<td>", out);
            if (tp_report_value(report, word, name, series, x, &value, why))
                put_number(out, value);
            else
                fputs("&ndash;", out);
        }
        if (tp_report_value(report, "n", name, series, x, &value, why))
            fprintf(out, "<td class=dim>%.0f</tr>\n", value);
        else
            fprintf(out, "<td class=dim>%s</tr>\n", why);
    }
    fputs("</table></div></div>\n", out);
}

static int write_plot(FILE *out, const struct tp_report *report, const struct tp_report_block *figure,
                      size_t line)
{
    const struct tp_report_line *at = &report->figures.lines[figure->first + line];
    char name[FIELD_MAX], measure[FIELD_MAX], title[FIELD_MAX], flags[FIELD_MAX], svg_name[FIELD_MAX];
    const char *rest = at->rest;
    next_field(&rest, name);
    next_field(&rest, measure);
    next_field(&rest, title);
    next_field(&rest, flags);
    const struct tp_report_experiment *experiment = tp_report_experiment_find(report, name);
    if (experiment == NULL)
        return tp_cli_fail(report->usage, "%s:%u: no experiment is called %s", report->figures.path,
                           at->number, name);
    snprintf(svg_name, sizeof svg_name, "%.100s_%zu", figure->name, line);
    for (char *c = svg_name; *c != '\0'; c++)
        if (*c == '-')
            *c = '_'; /* gnuplot takes no other */
    fputs("<div class=plot><h3>", out);
    put(out, title);
    fputs("</h3>", out);
    if (strstr(flags, "noplot") == NULL) {
        char *svg = tp_report_plot(report, experiment, measure, flags, svg_name);
        if (svg == NULL)
            return TP_CLI_FAILED;
        fputs(svg, out);
        free(svg);
    }
    write_table(out, report, experiment, measure, at + 1, figure->count - line - 1);
    fputs("</div>\n", out);
    return TP_CLI_OK;
}

/* The claims that name a figure, as links. */
static void write_links(FILE *out, const struct tp_report *report, const struct tp_report_block *figure,
                        const struct tp_report_claim *claims)
{
    bool any = false;
    for (size_t i = 0; i < report->claims.blocks_count; i++) {
        const char *of = tp_report_get(&report->claims, claims[i].block, "figure", 0);
        char word[64];
        while (of != NULL && tp_report_word(&of, word, sizeof word)) {
            if (strcmp(word, figure->name) != 0)
                continue;
            fprintf(out, "%s<a href=\"#%s\">%s</a> <span class=\"v %s\">%s</span>",
                    any ? "; " : "<p>Claims: ", claims[i].block->name, claims[i].block->name,
                    verdicts[claims[i].verdict].class, verdicts[claims[i].verdict].word);
            any = true;
        }
    }
    if (any)
        fputs("</p>\n", out);
}

static int write_figure(FILE *out, const struct tp_report *report, const struct tp_report_block *figure,
                        const struct tp_report_claim *claims)
{
    fprintf(out, "<h2 id=\"%s\">", figure->name);
    put(out, tp_report_get(&report->figures, figure, "title", 0));
    fputs("</h2>\n<p>", out);
    put(out, tp_report_get(&report->figures, figure, "says", 0));
    fputs("</p>\n", out);
    write_links(out, report, figure, claims);
    fputs("<div class=plots>\n", out);
    int result = TP_CLI_OK;
    for (size_t i = 0; i < figure->count && result == TP_CLI_OK; i++)
        if (strcmp(report->figures.lines[figure->first + i].key, "plot") == 0)
            result = write_plot(out, report, figure, i);
    fputs("</div>\n", out);
    const char *table;
    for (size_t i = 0; (table = tp_report_get(&report->figures, figure, "table", i)) != NULL; i++)
        write_measures(out, report, table);
    return result;
}

static void write_head(FILE *out, const struct tp_report *report, const struct tp_report_claim *claims)
{
    size_t counts[6] = {0};
    for (size_t i = 0; i < report->claims.blocks_count; i++)
        counts[claims[i].verdict]++;
    fprintf(out,
            "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
            "content=\"width=device-width\">"
            "<title>tickpath: the papers' experiments</title><style>%s</style>\n",
            style);
    fputs("<h1>The papers' experiments, run again</h1>\n", out);
    fprintf(out, "<p>tickpath %s, build %016llx, %s form, on the maps %s. ", TP_VERSION,
            (unsigned long long)report->build, report->quick ? "quick" : "full",
            report->generated ? "that it generates itself"
                              : "given in a folder (kinds that are not there are not measured)");
    fputs("Costs are in unit steps. A figure is a mean over the same problems for each row of a table; n "
          "says over how many. "
          "The papers had the complete sets, other maps of these kinds, the Counter-Strike maps, other "
          "random problems and "
          "other machines: what is compared is the shape.</p>\n",
          out);
    fprintf(out,
            "<p>%zu claims: %zu hold, %zu are reviewed exceptions, %zu are not judged in this form, %zu do "
            "not hold, %zu "
            "are not measured, %zu hold though listed as exceptions.</p>\n",
            report->claims.blocks_count, counts[TP_REPORT_HOLDS], counts[TP_REPORT_EXCEPTION],
            counts[TP_REPORT_SHOWN], counts[TP_REPORT_BROKEN], counts[TP_REPORT_NOT_MEASURED],
            counts[TP_REPORT_HOLDS_AGAIN]);
}

int tp_report_html_write(const struct tp_report *report, const struct tp_report_claim *claims)
{
    FILE *out = fopen(report->out, "w");
    if (out == NULL)
        return tp_cli_fail(report->usage, "%s: %s", report->out, strerror(errno));
    write_head(out, report, claims);
    write_claims(out, report, claims);
    int result = TP_CLI_OK;
    for (size_t i = 0; i < report->figures.blocks_count && result == TP_CLI_OK; i++)
        result = write_figure(out, report, &report->figures.blocks[i], claims);
    fputs("</html>\n", out);
    bool failed = ferror(out) != 0;
    if ((fclose(out) != 0 || failed) && result == TP_CLI_OK)
        result = tp_cli_fail(report->usage, "%s: %s", report->out, strerror(errno));
    return result;
}
