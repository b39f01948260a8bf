/* The report's cells: their list, their results folder, and the processes that fill it.
 *
 * A cell's result is a file of one line: the key, a tab, then the measures. The key holds the version, the hash of the
 * program that ran it, and all that the result depends on; a file whose key is another is run again. Each cell is run by
 * a process of its own, which writes the file under another name and then renames it: a file that is there is whole.
 */
#include "client/cli/report.h"

#include "base/version.h"
#include "client/cli/clock.h"
#include "search/algorithm.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEY_MAX = 1024 };

/* ---- the list ---- */

static int add_cell(struct tp_report *report, const struct tp_report_experiment *experiment,
                    const struct tp_report_series *series, const char *option, const char *x, const char *map,
                    uint32_t rows)
{
    if ((report->cells_count & (report->cells_count - 1)) == 0) {
        size_t room = report->cells_count ? 2 * report->cells_count : 1;
        struct tp_report_cell *more = realloc(report->cells, room * sizeof *more);
        if (more == NULL)
            return tp_cli_fail(report->usage, "out of memory");
        report->cells = more;
    }
    struct tp_report_cell *cell = &report->cells[report->cells_count];
    *cell = (struct tp_report_cell){.experiment = experiment, .series = series, .map = strdup(map)};
    snprintf(cell->x, sizeof cell->x, "%s", x);
    size_t size = strlen(experiment->options) + strlen(series->options) + strlen(option) + strlen(x) + 8;
    cell->options = malloc(size);
    if (cell->map == NULL || cell->options == NULL) {
        free(cell->map);
        free(cell->options);
        return tp_cli_fail(report->usage, "out of memory");
    }
    snprintf(cell->options, size, "%s %s --%s %s", experiment->options, series->options, option, x);
    cell->rows = rows;
    char algorithm[32] = "";
    const char *at = strstr(cell->options, "--alg ");
    if (at != NULL)
        sscanf(at, "--alg %31s", algorithm);
    if (tp_algorithm_find(algorithm) == NULL)
        cell->state = TP_REPORT_NOT_BUILT;
    report->cells_count++;
    return TP_CLI_OK;
}

static int add_map(struct tp_report *report, const struct tp_report_experiment *experiment, const char *map,
                   uint32_t rows)
{
    int result = TP_CLI_OK;
    for (size_t s = 0; s < experiment->series_count && result == TP_CLI_OK; s++) {
        const struct tp_report_series *series = &experiment->series[s];
        const char *text = series->x != NULL ? series->x : experiment->x;
        char option[24], x[16];
        tp_report_word(&text, option, sizeof option);
        while (result == TP_CLI_OK && tp_report_word(&text, x, sizeof x))
            result = add_cell(report, experiment, series, option, x, map, rows);
    }
    return result;
}

static int add_experiment(struct tp_report *report, const struct tp_report_experiment *experiment)
{
    const char *patterns = experiment->maps;
    char pattern[256], path[1024];
    uint32_t rows = report->quick ? experiment->rows_quick : experiment->rows;
    glob_t found = {.gl_pathc = 0};
    int result = TP_CLI_OK, flags = 0;
    while (tp_report_word(&patterns, pattern, sizeof pattern)) {
        snprintf(path, sizeof path, "%s/%s", report->maps, pattern);
        glob(path, flags, NULL, &found);
        flags = GLOB_APPEND;
    }
    for (size_t i = 0; i < found.gl_pathc && result == TP_CLI_OK; i++) {
        uint32_t maps = (uint32_t)found.gl_pathc, of_map = experiment->rows_in_all ? rows / maps + (i < rows % maps) : rows;
        if (of_map > 0)
            result = add_map(report, experiment, found.gl_pathv[i] + strlen(report->maps) + 1, of_map);
    }
    globfree(&found);
    return result;
}

int tp_report_cells_make(struct tp_report *report)
{
    int result = TP_CLI_OK;
    for (size_t i = 0; i < report->experiments_count && result == TP_CLI_OK; i++)
        result = add_experiment(report, &report->experiments[i]);
    return result;
}

void tp_report_cells_fini(struct tp_report *report)
{
    for (size_t i = 0; i < report->cells_count; i++) {
        free(report->cells[i].map);
        free(report->cells[i].options);
    }
    free(report->cells);
    report->cells = NULL;
    report->cells_count = 0;
}

/* ---- results ---- */

static void make_key(const struct tp_report *report, const struct tp_report_cell *cell, char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "%s %016llx %s n=%u window=%g..%g %s/%s", TP_VERSION,
             (unsigned long long)report->build, cell->options, cell->rows, cell->experiment->window[0],
             cell->experiment->window[1], report->maps, cell->map);
}

/* The file's name, from experiment, series, x and map; `suffix` behind it. */
static void make_path(const struct tp_report *report, const struct tp_report_cell *cell, const char *suffix,
                      char path[KEY_MAX])
{
    int used = snprintf(path, KEY_MAX, "%s/", report->results);
    int from = used;
    snprintf(path + used, (size_t)(KEY_MAX - used), "%s.%s.%s.%s%s", cell->experiment->name,
             cell->series->name, cell->x, cell->map, suffix);
    for (char *c = path + from; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-')
            *c = '_';
}

/* Where the part of a key begins that says what was run, not by which build. */
static const char *behind_build(const char *key)
{
    const char *blank = strchr(key, ' ');
    blank = blank != NULL ? strchr(blank + 1, ' ') : NULL;
    return blank != NULL ? blank : key;
}

static bool read_result(const struct tp_report *report, struct tp_report_cell *cell)
{
    char key[KEY_MAX], path[KEY_MAX], line[2 * KEY_MAX];
    make_key(report, cell, key);
    make_path(report, cell, ".tsv", path);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    bool is_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    char *tab = is_read ? strchr(line, '\t') : NULL;
    if (tab == NULL)
        return false;
    *tab++ = '\0';
    bool same =
        report->any_build ? strcmp(behind_build(line), behind_build(key)) == 0 : strcmp(line, key) == 0;
    for (int i = 0; i < TP_REPORT_COUNT && same; i++) {
        char *end;
        cell->sums[i] = strtod(tab, &end);
        same = end != tab;
        tab = end;
    }
    if (same)
        cell->state = TP_REPORT_DONE;
    return same;
}

static int write_result(const struct tp_report *report, const struct tp_report_cell *cell)
{
    char key[KEY_MAX], path[KEY_MAX], part[KEY_MAX];
    make_key(report, cell, key);
    make_path(report, cell, ".tsv", path);
    make_path(report, cell, ".part", part);
    FILE *file = fopen(part, "w");
    if (file == NULL)
        return tp_cli_fail(report->usage, "%s: %s", part, strerror(errno));
    fprintf(file, "%s", key);
    for (int i = 0; i < TP_REPORT_COUNT; i++)
        fprintf(file, "\t%.17g", cell->sums[i]);
    fprintf(file, "\n");
    bool written = !ferror(file);
    if (fclose(file) != 0 || !written || rename(part, path) != 0)
        return tp_cli_fail(report->usage, "%s: %s", path, strerror(errno));
    return TP_CLI_OK;
}

/* ---- processes ---- */

struct worker {
    pid_t pid; /* 0: idle */
    struct tp_report_cell *cell;
};

static void print_progress(const struct tp_report *report, size_t done, size_t all, double begin,
                           const struct tp_report_cell *cell, bool last)
{
    static double shown; /* when a line was written last */
    bool terminal = isatty(STDERR_FILENO);
    if (!last && tp_cli_now() - shown < (terminal ? 0.1 : 5))
        return;
    shown = tp_cli_now();
    fprintf(stderr, "%stickpath %s: %zu of %zu cells, %.0f s%s%s%s%s", terminal ? "\r\033[K" : "",
            report->usage->command, done, all, shown - begin, cell != NULL ? ", " : "",
            cell != NULL ? cell->experiment->name : "", cell != NULL ? " on " : "",
            cell != NULL ? cell->map : "");
    if (!terminal || last)
        fputc('\n', stderr);
}

static int start(const struct tp_report *report, struct worker *worker, struct tp_report_cell *cell)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return tp_cli_fail(report->usage, "fork: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a report that is killed leaves none behind */
        int result = tp_report_play(report, cell);
        if (result == TP_CLI_OK)
            result = write_result(report, cell);
        fflush(NULL);
        _exit(result);
    }
    *worker = (struct worker){pid, cell};
    return TP_CLI_OK;
}

/* Waits for a process to end; its cell gets its result. */
static void reap(const struct tp_report *report, struct worker *workers)
{
    int status = 0;
    pid_t pid;
    do
        pid = wait(&status);
    while (pid < 0 && errno == EINTR);
    for (size_t i = 0; i < report->jobs; i++) {
        if (workers[i].pid != pid)
            continue;
        struct tp_report_cell *cell = workers[i].cell;
        workers[i].pid = 0;
        if (status != 0 || !read_result(report, cell)) {
            cell->state = TP_REPORT_FAILED_CELL;
            tp_cli_fail(report->usage, "failed (status %d): %s on %s", status, cell->options, cell->map);
        }
        return;
    }
}

/* Reads what is there; what is left to be run is WAITING, what --only leaves out LEFT_OUT. Returns how many wait. */
static size_t read_results(struct tp_report *report)
{
    size_t waiting = 0;
    for (size_t i = 0; i < report->cells_count; i++) {
        struct tp_report_cell *cell = &report->cells[i];
        if (cell->state != TP_REPORT_WAITING || read_result(report, cell))
            continue;
        if (report->only != NULL && strstr(cell->experiment->name, report->only) == NULL)
            cell->state = TP_REPORT_LEFT_OUT;
        else
            waiting++;
    }
    return waiting;
}

int tp_report_cells_run(struct tp_report *report)
{
    struct worker *workers = calloc(report->jobs, sizeof *workers);
    if (workers == NULL)
        return tp_cli_fail(report->usage, "out of memory");
    size_t waiting = read_results(report), done = 0, running = 0;
    if (waiting < report->cells_count)
        fprintf(stderr, "tickpath %s: %zu cells, %zu to run\n", report->usage->command, report->cells_count,
                waiting);
    double begin = tp_cli_now();
    int result = TP_CLI_OK;
    for (size_t next = 0; result == TP_CLI_OK && (next < report->cells_count || running > 0);) {
        if (next < report->cells_count && report->cells[next].state != TP_REPORT_WAITING) {
            next++;
        } else if (next < report->cells_count && running < report->jobs) {
            struct worker *worker = workers;
            while (worker->pid != 0)
                worker++;
            print_progress(report, done, waiting, begin, &report->cells[next], false);
            result = start(report, worker, &report->cells[next++]);
            running += result == TP_CLI_OK;
        } else {
            reap(report, workers);
            running--;
            done++;
        }
    }
    for (; running > 0; running--)
        reap(report, workers);
    if (waiting > 0)
        print_progress(report, done, waiting, begin, NULL, true);
    free(workers);
    return result;
}

/* ---- values ---- */

static const char *const measure_names[] = {
#define X(name) #name,
    TP_REPORT_MEASURES(X)
#undef X
};

static double sum(const double *sums, const char *measure, bool *known)
{
    *known = true;
    for (int i = 0; i < TP_REPORT_COUNT; i++)
        if (strcmp(measure_names[i], measure) == 0)
            return sums[i];
    *known = false;
    return 0;
}

static bool is_most(const char *measure)
{
    return strncmp(measure, "max_", 4) == 0;
}

/* Whether a measure is of all problems, no mean over those solved. */
static bool is_total(const char *measure)
{
    return is_most(measure) || strcmp(measure, "n") == 0 || strcmp(measure, "illegal") == 0 ||
           strcmp(measure, "over") == 0;
}

static bool evaluate(const double *sums, const char *measure, double *value)
{
    static const struct {
        const char *name;
        enum tp_report_measure above, less; /* above - less; less n: nothing */
        enum tp_report_measure below, below_less;
        double factor;
    } ratios[] = {
        {"us_tick", TP_REPORT_us, TP_REPORT_n, TP_REPORT_ticks, TP_REPORT_n, 1},
        {"expansions_tick", TP_REPORT_expansions, TP_REPORT_n, TP_REPORT_ticks, TP_REPORT_n, 1},
        {"expansions_move", TP_REPORT_expansions, TP_REPORT_n, TP_REPORT_moves, TP_REPORT_n, 1},
        {"nonopt", TP_REPORT_moves, TP_REPORT_optimal_moves, TP_REPORT_solved, TP_REPORT_n, 1},
        {"scrub", TP_REPORT_back, TP_REPORT_n, TP_REPORT_moves, TP_REPORT_optimal_moves, 100},
        {"cost_optimal", TP_REPORT_cost, TP_REPORT_n, TP_REPORT_optimal, TP_REPORT_n, 1},
        {"ticks_optimal", TP_REPORT_ticks, TP_REPORT_n, TP_REPORT_optimal_moves, TP_REPORT_n, 1},
        {"waits", TP_REPORT_ticks, TP_REPORT_moves, TP_REPORT_solved, TP_REPORT_n, 1},
        {"guide_tick", TP_REPORT_guide, TP_REPORT_n, TP_REPORT_ticks, TP_REPORT_n, 1},
    };
    bool known = false;
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        if (strcmp(ratios[i].name, measure) != 0)
            continue;
        double above = sums[ratios[i].above] - (ratios[i].less != TP_REPORT_n ? sums[ratios[i].less] : 0);
        double below =
            sums[ratios[i].below] - (ratios[i].below_less != TP_REPORT_n ? sums[ratios[i].below_less] : 0);
        *value = below > 0 ? ratios[i].factor * above / below : 0;
        return true;
    }
    if (is_total(measure)) {
        *value = sum(sums, measure, &known);
        return known;
    }
    if (strcmp(measure, "solved") == 0)
        *value = 100 * sums[TP_REPORT_solved] / sums[TP_REPORT_n];
    else if (strcmp(measure, "intervals") == 0)
        *value = sums[TP_REPORT_ticks] / sums[TP_REPORT_solved] + 1;
    else
        *value = sum(sums, measure, &known) / sums[TP_REPORT_solved];
    return strcmp(measure, "solved") == 0 || strcmp(measure, "intervals") == 0 || known;
}

static bool refuse(char why[160], const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(char why[160], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, 160, format, arguments);
    va_end(arguments);
    return false;
}

bool tp_report_value(const struct tp_report *report, const char *measure, const char *experiment,
                     const char *series, const char *x, double *value, char why[160])
{
    double sums[TP_REPORT_COUNT] = {0};
    size_t found = 0;
    for (size_t i = 0; i < report->cells_count; i++) {
        const struct tp_report_cell *cell = &report->cells[i];
        if (strcmp(cell->experiment->name, experiment) != 0 || strcmp(cell->series->name, series) != 0 ||
            (strcmp(cell->x, x) != 0 && strcmp(x, "*") != 0))
            continue;
        if (cell->state == TP_REPORT_NOT_BUILT)
            return refuse(why, "%s is not built", cell->series->title);
        if (cell->state != TP_REPORT_DONE)
            return refuse(why, "%s of %s at %s %s", series, experiment, x,
                          cell->state == TP_REPORT_FAILED_CELL ? "failed" : "was not run");
        found++;
        for (int m = 0; m < TP_REPORT_COUNT; m++)
            sums[m] = is_most(measure_names[m]) ? fmax(sums[m], cell->sums[m]) : sums[m] + cell->sums[m];
    }
    if (found == 0)
        return refuse(why, "no map for %s (or no %s at %s)", experiment, series, x);
    if (sums[TP_REPORT_n] == 0)
        return refuse(why, "no problem for %s", experiment);
    if (sums[TP_REPORT_solved] == 0 && strcmp(measure, "solved") != 0 && !is_total(measure))
        return refuse(why, "%s of %s at %s solved none of %.0f problems", series, experiment, x,
                      sums[TP_REPORT_n]);
    return evaluate(sums, measure, value) || refuse(why, "no measure is called %s", measure);
}
