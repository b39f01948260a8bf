/* `tickpath report`: runs the papers' experiments on a folder of maps and writes one page of plots, tables and claims.
 *
 * The happy path:
 *     tables   experiments.txt, figures.txt, claims.txt and exceptions.txt are read (report_tables.c)
 *     maps     the folder given, or one that is generated (report_maps.c)
 *     cells    experiment x series x value of x x map is a cell; a cell not in the results folder is run by a process of
 *              its own (report_jobs.c, report_play.c), which leaves one file of one line there
 *     claims   are computed from the cells and compared with the reviewed exceptions (report_claims.c)
 *     page     one HTML file (report_html.c) with the plots that gnuplot made (report_plot.c)
 * Failure modes: a process that fails or is killed leaves no file, and its cell counts as failed; a run that is
 * interrupted is taken up where it was; a claim that is not measured does not hold.
 */
#ifndef TP_CLI_REPORT_H
#define TP_CLI_REPORT_H

#include "client/cli/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One `key rest` line of a block; lines that begin with blanks continue the line before. */
struct tp_report_line {
    char *key, *rest;
    uint32_t number; /* of the file, from 1 */
};

struct tp_report_block {
    const char *name;    /* [name] */
    uint32_t number;     /* its line in the file */
    size_t first, count; /* lines, in the table's array */
};

/* A file of blocks. */
struct tp_report_table {
    char *path, *text;
    struct tp_report_block *blocks;
    struct tp_report_line *lines;
    size_t blocks_count, lines_count;
};

struct tp_report_series {
    const char *name, *title;
    const char *options; /* of the search, as the command line spells them */
    const char *x;       /* an x of its own, NULL for the experiment's */
};

struct tp_report_experiment {
    const char *name;
    const char *maps;          /* patterns below the folder of maps, separated by blanks */
    const char *options;       /* of every cell; "" for none */
    const char *x;             /* the option that x sets and its values, separated by blanks */
    uint32_t rows, rows_quick; /* problems of each map, or (rows_in_all) of all maps together; 0: not run in that form */
    bool rows_in_all;
    double window[2]; /* least and largest optimal length as shares of the map's larger side; 0, 0: any */
    struct tp_report_series *series;
    size_t series_count;
};

/* Where everything is. */
struct tp_report {
    const struct tp_cli_usage *usage;
    const char *maps, *tables, *out;
    char results[512]; /* folder of cells' files */
    bool quick, any_build;
    bool generated; /* the maps are the tool's own */
    uint64_t jobs;
    const char *only; /* runs only the experiments whose name holds this; NULL: all */
    uint64_t build;   /* hash of this program's file */
    struct tp_report_table experiments_table, figures, claims, exceptions;
    struct tp_report_experiment *experiments;
    size_t experiments_count;
    struct tp_report_cell *cells;
    size_t cells_count;
};

/* What a cell measures: sums over the problems solved; N and SOLVED count; of all problems: max_ the largest in one tick (work: expansions
 * and guide units together), illegal moves by the version that their reply names, and ticks over budget. */
#define TP_REPORT_MEASURES(X)                                                                                \
    X(n)                                                                                                     \
    X(solved)                                                                                                \
    X(cost) X(moves) X(ticks) X(back) X(expansions) X(restarts) X(learned) X(traced) X(optimal)              \
        X(optimal_moves) X(subopt) X(us) X(max_expansions) X(flips) X(guide) X(max_guide) X(max_work)        \
            X(illegal) X(over)

enum tp_report_measure {
#define X(name) TP_REPORT_##name,
    TP_REPORT_MEASURES(X)
#undef X
        TP_REPORT_COUNT
};

enum tp_report_state {
    TP_REPORT_WAITING,
    TP_REPORT_DONE,
    TP_REPORT_LEFT_OUT,
    TP_REPORT_NOT_BUILT, /* the registry has no such algorithm */
    TP_REPORT_FAILED_CELL,
};

/* One experiment, series, value of x and map. */
struct tp_report_cell {
    const struct tp_report_experiment *experiment;
    const struct tp_report_series *series;
    char x[16];
    char *map;     /* path below the folder of maps */
    char *options; /* all of the search's */
    uint32_t rows;
    enum tp_report_state state;
    double sums[TP_REPORT_COUNT];
};

/* report_tables.c. Each TP_CLI_OK, or TP_CLI_FAILED after naming file and line. */
int tp_report_table_load(struct tp_report_table *table, const struct tp_cli_usage *usage, const char *folder,
                         const char *name);
void tp_report_table_fini(struct tp_report_table *table);
/* The rest of the block's line of that key, NULL for none; the nth of several. */
const char *tp_report_get(const struct tp_report_table *table, const struct tp_report_block *block,
                          const char *key, size_t nth);
const struct tp_report_block *tp_report_find(const struct tp_report_table *table, const char *name);
int tp_report_experiments_read(struct tp_report *report);
void tp_report_experiments_fini(struct tp_report *report);
const struct tp_report_experiment *tp_report_experiment_find(const struct tp_report *report,
                                                             const char *name);
/* Copies the next word off *text, which moves past it; false at the end. A word is cut at `size` - 1 bytes. */
bool tp_report_word(const char **text, char *word, size_t size);

/* report_maps.c: makes the maps and scenarios of the generated form in `folder`, unless they are there. */
int tp_report_maps_make(const struct tp_report *report, const char *folder);
/* The path of the map that a partially known one was made from, to be freed; NULL if there is none. */
char *tp_report_maps_known(const char *maps, const char *truth);

/* report_jobs.c: makes the list of cells, and runs those that have no result. */
int tp_report_cells_make(struct tp_report *report);
int tp_report_cells_run(struct tp_report *report);
void tp_report_cells_fini(struct tp_report *report);

/* report_play.c: plays a cell's problems and gives its sums; called in a process of its own. */
int tp_report_play(const struct tp_report *report, struct tp_report_cell *cell);

/* A measure's mean over the problems that an experiment's series solved at x ("*": at every x), all maps together. Besides the names of
 * TP_REPORT_MEASURES: intervals (ticks + 1), nonopt (moves less an optimal path's), scrub (back-moves in hundred of the
 * non-optimal moves), cost_optimal (cost by the optimal, both summed), ticks_optimal (ticks by an optimal path's moves), waits (ticks without
 * a move), us_tick, expansions_tick, guide_tick, solved (share of n, in hundred). No means: n (problems), max_, illegal and over.
 * False with the reason in `why`. */
bool tp_report_value(const struct tp_report *report, const char *measure, const char *experiment,
                     const char *series, const char *x, double *value, char why[160]);

/* report_claims.c */
enum tp_report_verdict {
    TP_REPORT_HOLDS,
    TP_REPORT_EXCEPTION,    /* does not hold, and the exceptions say so */
    TP_REPORT_SHOWN,        /* not judged in this form */
    TP_REPORT_BROKEN,       /* does not hold */
    TP_REPORT_NOT_MEASURED, /* some value is missing */
    TP_REPORT_HOLDS_AGAIN,  /* holds, and the exceptions say that it doesn't */
};

struct tp_report_claim {
    const struct tp_report_block *block, *exception; /* exception NULL for none */
    enum tp_report_verdict verdict;
    bool held; /* whether it holds, whatever the verdict */
    size_t tried, held_count;
    char ours[400]; /* what was compared, in the case that holds least */
};

/* Judges every claim. *claims is to be freed. TP_CLI_FAILED after saying which line of the tables is wrong. */
int tp_report_claims_judge(const struct tp_report *report, struct tp_report_claim **claims);

/* report_plot.c: one plot as SVG text to be freed; NULL after saying why. */
char *tp_report_plot(const struct tp_report *report, const struct tp_report_experiment *experiment,
                     const char *measure, const char *flags, const char *name);

/* report_html.c: writes the page to report->out. */
int tp_report_html_write(const struct tp_report *report, const struct tp_report_claim *claims);

#endif
