/* `tickpath report`: see report.h. */
#include "client/cli/report.h"

#include "client/cli/commands.h"
#include "client/cli/files.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct report_options {
    const char *maps, *tables, *results, *out, *only, *values;
    bool quick, any_build;
    uint64_t jobs;
};

#define AT(field) offsetof(struct report_options, field)

static const struct tp_cli_option options_table[] = {
    {"maps", TP_CLI_STRING, AT(maps), "DIR", "folder of MovingAI maps by kind (generated maps)", 0, 0, NULL,
     false},
    {"tables", TP_CLI_STRING, AT(tables), "DIR",
     "experiments, figures, claims, exceptions (client/papers, else those installed with the tool)", 0, 0, NULL, false},
    {"results", TP_CLI_STRING, AT(results), "DIR", "where each cell's result is kept (build/papers)", 0, 0,
     NULL, false},
    {"out", TP_CLI_STRING, AT(out), "FILE", "the page (report.html in the folder of results)", 0, 0, NULL,
     false},
    {"quick", TP_CLI_FLAG, AT(quick), NULL, "few problems, small maps: seconds, and fewer claims judged", 0,
     0, NULL, false},
    {"jobs", TP_CLI_UINT, AT(jobs), "N", "processes at a time (the cores)", 1, 1024, NULL, false},
    {"only", TP_CLI_STRING, AT(only), "WORD", "run only the experiments whose name holds it", 0, 0, NULL,
     false},
    {"values", TP_CLI_STRING, AT(values), "FILE", "also write what was measured, a line for each series at each x", 0, 0,
     NULL, false},
    {"any-build", TP_CLI_FLAG, AT(any_build), NULL, "take results of other builds too", 0, 0, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "report",
    .summary = "Runs the papers' experiments and writes one page of plots, tables and claims.",
    .notes =
        "A run that is stopped is taken up where it was: results are kept, one file each, under the build "
        "and\n"
        "parameters that made them. Exit status 1: a claim does not hold and is no reviewed exception, an\n"
        "exception holds again, or an experiment failed.",
};

/* Makes a folder and those above it. */
static int make_folder(const char *path)
{
    char part[512];
    for (size_t i = 1; i <= strlen(path) && i < sizeof part; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return tp_cli_fail(&usage, "%s: %s", part, strerror(errno));
    }
    return TP_CLI_OK;
}

/* FNV-1a over this program's file: results of another program are not taken for its own. */
static int hash_program(uint64_t *hash)
{
    char *text;
    size_t size;
    int result = tp_cli_file_read(&usage, "/proc/self/exe", &text, &size);
    if (result != TP_CLI_OK)
        return result;
    *hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    free(text);
    return TP_CLI_OK;
}

static bool has_tables(const char *folder)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/experiments.txt", folder);
    return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
}

/* Where the tables are when nobody says: below the working folder, as in the project's own, else where `make install` put
 * them, PREFIX/share beside this program's PREFIX/bin. Names the folder, or fails. */
static int find_tables(struct tp_report *report, char installed[PATH_MAX])
{
    static const char own[] = "client/papers", share[] = "share/tickpath/papers";
    report->tables = own;
    if (has_tables(own))
        return TP_CLI_OK;
    ssize_t length = readlink("/proc/self/exe", installed, PATH_MAX - sizeof share);
    for (int parts = 0; parts < 2 && length > 0; parts++) /* the program's name, and bin */
        while (length > 0 && installed[--length] != '/')
            ;
    if (length >= 0) {
        installed[length] = '/';
        memcpy(installed + length + 1, share, sizeof share);
        report->tables = installed;
        if (has_tables(installed))
            return TP_CLI_OK;
    }
    return tp_cli_fail(&usage, "no tables of experiments in %s or %s: say where they are with --tables DIR", own,
                       length >= 0 ? installed : share);
}

static int load_tables(struct tp_report *report)
{
    const struct {
        struct tp_report_table *table;
        const char *name;
    } tables[] = {
        {&report->experiments_table, "experiments.txt"},
        {&report->figures, "figures.txt"},
        {&report->claims, "claims.txt"},
        {&report->exceptions, "exceptions.txt"},
    };
    int result = TP_CLI_OK;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && result == TP_CLI_OK; i++)
        result = tp_report_table_load(tables[i].table, &usage, report->tables, tables[i].name);
    return result != TP_CLI_OK ? result : tp_report_experiments_read(report);
}

/* Says on stdout which claims don't hold, and how many do. */
static int conclude(const struct tp_report *report, const struct tp_report_claim *claims)
{
    static const char *const words[] = {"holds",         "exception",    "not judged",
                                        "DOES NOT HOLD", "NOT MEASURED", "EXCEPTION HOLDS AGAIN"};
    size_t bad = 0, counts[6] = {0}, failed = 0;
    for (size_t i = 0; i < report->claims.blocks_count; i++) {
        counts[claims[i].verdict]++;
        bad += claims[i].verdict >= TP_REPORT_BROKEN;
        if (claims[i].verdict != TP_REPORT_HOLDS)
            printf("%-22s %s: %s (%zu of %zu)\n", words[claims[i].verdict], claims[i].block->name,
                   claims[i].ours, claims[i].held_count, claims[i].tried);
    }
    for (size_t i = 0; i < report->cells_count; i++)
        failed += report->cells[i].state == TP_REPORT_FAILED_CELL;
    printf("%zu claims: %zu hold, %zu exceptions, %zu not judged, %zu that should not be so; %zu cells "
           "failed; see %s\n",
           report->claims.blocks_count, counts[TP_REPORT_HOLDS], counts[TP_REPORT_EXCEPTION],
           counts[TP_REPORT_SHOWN], bad, failed, report->out);
    return bad + failed > 0 ? TP_CLI_FAILED : TP_CLI_OK;
}

/* Writes a line of names, then one for each series of an experiment at each x that was measured; fields are parted by tabs. */
static int write_values(const struct tp_report *report, const char *path)
{
    static const char measures[] = "n solved cost_optimal subopt back ticks_optimal waits expansions guide guide_tick "
                                   "max_expansions max_guide max_work illegal over";
    char name[32], why[160];
    double value;
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return tp_cli_fail(&usage, "%s: %s", path, strerror(errno));
    fputs("experiment\tseries\tx", file);
    for (const char *at = measures; tp_report_word(&at, name, sizeof name);)
        fprintf(file, "\t%s", name);
    fputc('\n', file);
    for (size_t e = 0; e < report->experiments_count; e++) {
        const struct tp_report_experiment *experiment = &report->experiments[e];
        for (size_t s = 0; s < experiment->series_count; s++) {
            const struct tp_report_series *series = &experiment->series[s];
            const char *text = series->x != NULL ? series->x : experiment->x;
            char x[24];
            tp_report_word(&text, x, sizeof x); /* the option's name */
            while (tp_report_word(&text, x, sizeof x)) {
                if (!tp_report_value(report, "n", experiment->name, series->name, x, &value, why))
                    continue;
                fprintf(file, "%s\t%s\t%s", experiment->name, series->name, x);
                for (const char *at = measures; tp_report_word(&at, name, sizeof name);)
                    fprintf(file, "\t%.6g", tp_report_value(report, name, experiment->name, series->name, x, &value, why) ? value : NAN);
                fputc('\n', file);
            }
        }
    }
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        return tp_cli_fail(&usage, "%s: %s", path, strerror(errno));
    return TP_CLI_OK;
}

static int run(struct tp_report *report, const struct report_options *options)
{
    char maps[1024], out[1024], installed[PATH_MAX];
    int result = report->tables == NULL ? find_tables(report, installed) : TP_CLI_OK;
    if (result == TP_CLI_OK)
        result = load_tables(report);
    if (result == TP_CLI_OK)
        result = hash_program(&report->build);
    snprintf(report->results, sizeof report->results, "%s/%s", options->results,
             report->quick ? "quick" : "full");
    if (result == TP_CLI_OK)
        result = make_folder(report->results);
    snprintf(out, sizeof out, "%s/report.html", options->results);
    if (report->out == NULL)
        report->out = out;
    if (result == TP_CLI_OK && report->generated) {
        snprintf(maps, sizeof maps, "%s/maps-%s", options->results, report->quick ? "quick" : "full");
        report->maps = maps;
        result = tp_report_maps_make(report, maps);
    }
    if (result == TP_CLI_OK)
        result = tp_report_cells_make(report);
    if (result == TP_CLI_OK)
        result = tp_report_cells_run(report);
    if (result == TP_CLI_OK && options->values != NULL)
        result = write_values(report, options->values);
    struct tp_report_claim *claims = NULL;
    if (result == TP_CLI_OK)
        result = tp_report_claims_judge(report, &claims);
    if (result == TP_CLI_OK)
        result = tp_report_html_write(report, claims);
    if (result == TP_CLI_OK)
        result = conclude(report, claims);
    free(claims);
    return result;
}

int tp_cli_report(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct report_options options = {.results = "build/papers", .jobs = cores > 0 ? (uint64_t)cores : 1};
    const struct tp_cli_group groups[] = {{options_table, &options}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result != TP_CLI_GO_ON)
        return result;
    struct tp_report report = {
        .usage = &usage,
        .maps = options.maps,
        .tables = options.tables,
        .out = options.out,
        .quick = options.quick,
        .any_build = options.any_build,
        .generated = options.maps == NULL,
        .jobs = options.jobs,
        .only = options.only,
    };
    result = run(&report, &options);
    tp_report_cells_fini(&report);
    tp_report_experiments_fini(&report);
    tp_report_table_fini(&report.experiments_table);
    tp_report_table_fini(&report.figures);
    tp_report_table_fini(&report.claims);
    tp_report_table_fini(&report.exceptions);
    return result;
}
