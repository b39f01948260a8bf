/* The report's plots: a script for gnuplot and its SVG, which stands in the page. Text and lines that should follow the
 * page's colour are drawn in INK, which becomes `currentColor`. */
#include "client/cli/files.h"
#include "client/cli/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INK "#010203"

enum { PATH_BYTES = 1024 };

/* Seven colours told apart by most eyes, on dark and on light. */
static const char *const colours[] = {"#3b82d6", "#d9722e", "#2a9d62", "#b5509c", "#c9a227",
                                      "#5aa9c9", "#d64545", "#8a7ad6", "#7a8a3a", "#8c8c8c"};

static bool has_flag(const char *flags, const char *flag)
{
    char word[64];
    while (tp_report_word(&flags, word, sizeof word))
        if (strcmp(word, flag) == 0)
            return true;
    return false;
}

/* The value of a NAME=VALUE among the flags; "" if none. */
static void flag_value(const char *flags, const char *name, char *value, size_t size)
{
    char word[64];
    size_t length = strlen(name);
    value[0] = '\0';
    while (tp_report_word(&flags, word, sizeof word))
        if (strncmp(word, name, length) == 0 && word[length] == '=')
            snprintf(value, size, "%s", word + length + 1);
    for (char *c = value; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
}

/* The same of a measure, whose name keeps its underscores. */
static void measure_flag(const char *flags, const char *name, char *value, size_t size)
{
    flag_value(flags, name, value, size);
    for (char *c = value; *c != '\0'; c++)
        if (*c == ' ')
            *c = '_';
}

/* One series' points; returns how many. */
static int write_points(FILE *script, const struct tp_report *report,
                        const struct tp_report_experiment *experiment, const struct tp_report_series *series,
                        size_t number, const char *measure, const char *x_measure, const char *x_more)
{
    const char *text = series->x != NULL ? series->x : experiment->x;
    char x[24], why[160];
    int points = 0;
    fprintf(script, "$s%zu << EOD\n", number);
    tp_report_word(&text, x, sizeof x);
    while (tp_report_word(&text, x, sizeof x)) {
        double value, at = strtod(x, NULL);
        if (!tp_report_value(report, measure, experiment->name, series->name, x, &value, why) ||
            !isfinite(value))
            continue;
        if (*x_measure != '\0' &&
            !tp_report_value(report, x_measure, experiment->name, series->name, x, &at, why))
            continue;
        double more = 0;
        if (*x_more != '\0' && !tp_report_value(report, x_more, experiment->name, series->name, x, &more, why))
            continue;
        at += more;
        fprintf(script, "%.10g %.10g\n", at, value);
        points++;
    }
    fprintf(script, "EOD\n");
    return points;
}

/* False when there is nothing to draw. */
static bool write_script(FILE *script, const struct tp_report *report,
                         const struct tp_report_experiment *experiment, const char *measure,
                         const char *flags, const char *name, const char *svg)
{
    char x_measure[32], x_more[32], x_label[64], y_label[64], option[24];
    const char *x = experiment->x;
    tp_report_word(&x, option, sizeof option);
    measure_flag(flags, "x", x_measure, sizeof x_measure);
    measure_flag(flags, "x+", x_more, sizeof x_more);
    flag_value(flags, "xlabel", x_label, sizeof x_label);
    flag_value(flags, "ylabel", y_label, sizeof y_label);
    fprintf(script, "set terminal svg size 620,360 dynamic noenhanced font 'sans-serif,12' name '%s'\n",
            name);
    fprintf(script, "set output '%s'\n", svg);
    fprintf(script, "set border 3 lc rgb '" INK "'\nset tics nomirror textcolor rgb '" INK "'\n");
    fprintf(script,
            "set grid lc rgb '#999999' lw 0.4 dt 3\nset key outside right top textcolor rgb '" INK "'\n");
    fprintf(script, "set xlabel '%s' textcolor rgb '" INK "'\n", *x_label ? x_label : option);
    fprintf(script, "set ylabel '%s' textcolor rgb '" INK "'\n", *y_label ? y_label : measure);
    if (has_flag(flags, "logx"))
        fprintf(script, "set logscale x\n");
    if (has_flag(flags, "logy"))
        fprintf(script, "set logscale y\n");
    else
        fprintf(script, "set yrange [0:*]\n");
    bool *drawn = calloc(experiment->series_count, sizeof *drawn);
    for (size_t s = 0; drawn != NULL && s < experiment->series_count; s++)
        drawn[s] =
            write_points(script, report, experiment, &experiment->series[s], s, measure, x_measure, x_more) > 0;
    fprintf(script, "plot ");
    bool any = false;
    for (size_t s = 0; drawn != NULL && s < experiment->series_count; s++) {
        if (!drawn[s])
            continue;
        fprintf(script, "%s$s%zu using 1:2 with linespoints lw 1.6 ps 0.6 pt %zu lc rgb '%s' title '%s'",
                any ? ", " : "", s, 4 + s % 10, colours[s % (sizeof colours / sizeof colours[0])],
                experiment->series[s].title);
        any = true;
    }
    fputc('\n', script);
    free(drawn);
    return any;
}

static int run_gnuplot(const struct tp_report *report, const char *script)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("gnuplot", "gnuplot", script, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (status == 0)
        return TP_CLI_OK;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return tp_cli_fail(report->usage, "gnuplot is not to be found; Debian's package is gnuplot-nox");
    return tp_cli_fail(report->usage, "gnuplot %s failed", script);
}

/* Makes INK the page's colour, which a colour of the drawing's own would hide; cuts what stands before <svg. */
static char *take_ink_out(char *text)
{
    static const char *const changes[][2] = {
        {"'rgb(  1,   2,   3)'", "'currentColor'"},
        {"\"rgb(  1,   2,   3)\"", "\"currentColor\""},
        {"\"rgb(1,2,3)\"", "\"currentColor\""},
        {"'rgb(1,2,3)'", "'currentColor'"},
        {" color=\"black\"", " "},
        {" color=\"gray\"", " "},
    };
    char *from = strstr(text, "<svg"), *out = malloc(2 * strlen(text) + 1);
    if (from == NULL || out == NULL) {
        free(out);
        free(text);
        return NULL;
    }
    size_t used = 0;
    while (*from != '\0') {
        size_t i = 0, count = sizeof changes / sizeof changes[0];
        while (i < count && strncmp(from, changes[i][0], strlen(changes[i][0])) != 0)
            i++;
        if (i == count) {
            out[used++] = *from++;
            continue;
        }
        used += (size_t)sprintf(out + used, "%s", changes[i][1]);
        from += strlen(changes[i][0]);
    }
    out[used] = '\0';
    free(text);
    return out;
}

char *tp_report_plot(const struct tp_report *report, const struct tp_report_experiment *experiment,
                     const char *measure, const char *flags, const char *name)
{
    char script_path[PATH_BYTES], svg_path[PATH_BYTES];
    snprintf(script_path, sizeof script_path, "%s/%s.gp", report->results, name);
    snprintf(svg_path, sizeof svg_path, "%s/%s.svg", report->results, name);
    FILE *script = fopen(script_path, "w");
    if (script == NULL) {
        tp_cli_fail(report->usage, "%s: %s", script_path, strerror(errno));
        return NULL;
    }
    bool any = write_script(script, report, experiment, measure, flags, name, svg_path);
    char *text = NULL;
    size_t size;
    if (!any && fclose(script) == 0)
        return strdup("<p>Nothing was measured.</p>");
    if (!any || fclose(script) != 0 || run_gnuplot(report, script_path) != TP_CLI_OK ||
        tp_cli_file_read(report->usage, svg_path, &text, &size) != TP_CLI_OK)
        return NULL;
    return take_ink_out(text);
}
