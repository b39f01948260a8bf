/* The tables of `tickpath report`: files of blocks, and the experiments that one of them holds. */
#include "client/cli/report.h"

#include "client/cli/files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more element of `size` bytes behind `count`; NULL when there is no memory, and the old is freed. */
static void *grow(void *array, size_t count, size_t size)
{
    if (count & (count - 1))
        return array;
    void *more = realloc(array, (count ? 2 * count : 1) * size);
    if (more == NULL)
        free(array);
    return more;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t size = strlen(text);
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    text[size] = '\0';
    return text;
}

bool tp_report_word(const char **text, char *word, size_t size)
{
    const char *from = *text;
    while (isspace((unsigned char)*from))
        from++;
    size_t length = strcspn(from, " \t\n");
    *text = from + length;
    if (length >= size)
        length = size - 1;
    memcpy(word, from, length);
    word[length] = '\0';
    return length > 0;
}

static int fail_at(const struct tp_report_table *table, const struct tp_cli_usage *usage, uint32_t number,
                   const char *words)
{
    return tp_cli_fail(usage, "%s:%u: %s", table->path, number, words);
}

/* Joins a line that begins with blanks to the one before, by moving it in the text. */
static void join(struct tp_report_line *line, const char *more)
{
    char *end = line->rest + strlen(line->rest);
    *end++ = ' ';
    memmove(end, more, strlen(more) + 1);
}

static int parse(struct tp_report_table *table, const struct tp_cli_usage *usage)
{
    uint32_t number = 0;
    for (char *at = table->text, *next; at != NULL; at = next) {
        number++;
        next = strchr(at, '\n');
        if (next != NULL)
            *next++ = '\0';
        bool continues = isspace((unsigned char)*at);
        char *text = trim(at);
        if (*text == '\0' || *text == '#')
            continue;
        if (*text == '[') {
            char *end = strchr(text, ']');
            if (end == NULL || end[1] != '\0')
                return fail_at(table, usage, number, "a block's name ends with ']'");
            *end = '\0';
            if (tp_report_find(table, text + 1) != NULL)
                return fail_at(table, usage, number, "a second block of that name");
            table->blocks = grow(table->blocks, table->blocks_count, sizeof *table->blocks);
            if (table->blocks == NULL)
                return tp_cli_fail(usage, "out of memory");
            table->blocks[table->blocks_count++] =
                (struct tp_report_block){text + 1, number, table->lines_count, 0};
            continue;
        }
        if (table->blocks_count == 0)
            return fail_at(table, usage, number, "a line before the first block");
        struct tp_report_block *block = &table->blocks[table->blocks_count - 1];
        if (continues && block->count > 0 && *table->lines[table->lines_count - 1].rest != '\0') {
            join(&table->lines[table->lines_count - 1], text);
            continue;
        }
        char *rest = text + strcspn(text, " \t");
        if (*rest != '\0')
            *rest++ = '\0';
        table->lines = grow(table->lines, table->lines_count, sizeof *table->lines);
        if (table->lines == NULL)
            return tp_cli_fail(usage, "out of memory");
        table->lines[table->lines_count++] = (struct tp_report_line){text, trim(rest), number};
        block->count++;
    }
    return TP_CLI_OK;
}

int tp_report_table_load(struct tp_report_table *table, const struct tp_cli_usage *usage, const char *folder,
                         const char *name)
{
    *table = (struct tp_report_table){.path = malloc(strlen(folder) + strlen(name) + 2)};
    if (table->path == NULL)
        return tp_cli_fail(usage, "out of memory");
    sprintf(table->path, "%s/%s", folder, name);
    size_t size = 0;
    int result = tp_cli_file_read(usage, table->path, &table->text, &size);
    return result != TP_CLI_OK ? result : parse(table, usage);
}

void tp_report_table_fini(struct tp_report_table *table)
{
    free(table->path);
    free(table->text);
    free(table->blocks);
    free(table->lines);
    *table = (struct tp_report_table){.path = NULL};
}

const char *tp_report_get(const struct tp_report_table *table, const struct tp_report_block *block,
                          const char *key, size_t nth)
{
    for (size_t i = 0; i < block->count; i++) {
        const struct tp_report_line *line = &table->lines[block->first + i];
        if (strcmp(line->key, key) == 0 && nth-- == 0)
            return line->rest;
    }
    return NULL;
}

const struct tp_report_block *tp_report_find(const struct tp_report_table *table, const char *name)
{
    for (size_t i = 0; i < table->blocks_count; i++)
        if (strcmp(table->blocks[i].name, name) == 0)
            return &table->blocks[i];
    return NULL;
}

const struct tp_report_experiment *tp_report_experiment_find(const struct tp_report *report, const char *name)
{
    for (size_t i = 0; i < report->experiments_count; i++)
        if (strcmp(report->experiments[i].name, name) == 0)
            return &report->experiments[i];
    return NULL;
}

/* Cuts the next field, ended by '|', off *text. "" at the end. */
static char *cut_field(char **text)
{
    char *field = *text, *bar = strchr(field, '|');
    if (bar != NULL)
        *bar = '\0';
    *text = bar != NULL ? bar + 1 : field + strlen(field);
    return trim(field);
}

static bool add_series(struct tp_report_experiment *experiment, char *rest)
{
    experiment->series = grow(experiment->series, experiment->series_count, sizeof *experiment->series);
    if (experiment->series == NULL)
        return false;
    struct tp_report_series *series = &experiment->series[experiment->series_count++];
    series->name = cut_field(&rest);
    series->title = cut_field(&rest);
    series->options = cut_field(&rest);
    char *x = cut_field(&rest);
    series->x = *x != '\0' ? x : NULL;
    return true;
}

/* Takes over what another experiment says. */
static bool copy(struct tp_report_experiment *experiment, const struct tp_report_experiment *other)
{
    const char *name = experiment->name;
    *experiment = *other;
    experiment->name = name;
    experiment->series = NULL;
    experiment->series_count = 0;
    for (size_t i = 0; i < other->series_count; i++) {
        experiment->series = grow(experiment->series, i, sizeof *experiment->series);
        if (experiment->series == NULL)
            return false;
        experiment->series[experiment->series_count++] = other->series[i];
    }
    return true;
}

/* What one line sets; NULL or what is wrong with it. */
static const char *set(struct tp_report *report, struct tp_report_experiment *experiment,
                       const struct tp_report_line *line, bool *has_series)
{
    if (strcmp(line->key, "like") == 0) {
        const struct tp_report_experiment *other = tp_report_experiment_find(report, line->rest);
        return other == NULL             ? "no experiment above has that name"
               : copy(experiment, other) ? NULL
                                         : "out of memory";
    }
    if (strcmp(line->key, "maps") == 0)
        experiment->maps = line->rest;
    else if (strcmp(line->key, "options") == 0)
        experiment->options = line->rest;
    else if (strcmp(line->key, "x") == 0)
        experiment->x = line->rest;
    else if (strcmp(line->key, "rows") == 0) {
        int used = 0;
        if (sscanf(line->rest, "%u quick %u%n", &experiment->rows, &experiment->rows_quick, &used) != 2)
            return "expected: rows N quick N, and `in all` where it is so";
        experiment->rows_in_all = strcmp(line->rest + used, " in all") == 0;
    } else if (strcmp(line->key, "window") == 0) {
        if (sscanf(line->rest, "%lf %lf", &experiment->window[0], &experiment->window[1]) != 2)
            return "expected: window LEAST LARGEST";
    } else if (strcmp(line->key, "series") == 0) {
        if (!*has_series)
            experiment->series_count = 0, free(experiment->series), experiment->series = NULL;
        *has_series = true;
        return add_series(experiment, line->rest) ? NULL : "out of memory";
    } else if (strcmp(line->key, "about") != 0) {
        return "an unknown key";
    }
    return NULL;
}

int tp_report_experiments_read(struct tp_report *report)
{
    const struct tp_report_table *table = &report->experiments_table;
    report->experiments = calloc(table->blocks_count + 1, sizeof *report->experiments);
    if (report->experiments == NULL)
        return tp_cli_fail(report->usage, "out of memory");
    for (size_t b = 0; b < table->blocks_count; b++) {
        const struct tp_report_block *block = &table->blocks[b];
        struct tp_report_experiment *experiment = &report->experiments[b];
        experiment->name = block->name;
        experiment->options = "";
        bool has_series = false;
        for (size_t i = 0; i < block->count; i++) {
            const struct tp_report_line *line = &table->lines[block->first + i];
            const char *wrong = set(report, experiment, line, &has_series);
            if (wrong != NULL)
                return fail_at(table, report->usage, line->number, wrong);
        }
        if (experiment->maps == NULL || experiment->x == NULL || experiment->rows == 0 ||
            experiment->series_count == 0)
            return fail_at(table, report->usage, block->number,
                           "an experiment needs maps, rows, x and a series");
        report->experiments_count++;
    }
    return TP_CLI_OK;
}

void tp_report_experiments_fini(struct tp_report *report)
{
    for (size_t i = 0; report->experiments != NULL && i < report->experiments_table.blocks_count; i++)
        free(report->experiments[i].series);
    free(report->experiments);
    report->experiments = NULL;
    report->experiments_count = 0;
}
