/* The report's claims: lines such as
 *
 *     each k = 1 4 16
 *     holds cost[g8-room gbfs $k] < cost[g8-room w1.0 $k] * 0.98
 *
 * are comparisons of arithmetic over means, tried for every value of the names under `each`. A claim holds when each of
 * its comparisons does, or the share of them that `share` names (1).
 *
 *     comparison := sum ("<" | "<=" | ">" | ">=") sum
 *     sum        := product {("+" | "-") product};  product := value {("*" | "/") value}
 *     value      := number | "(" sum ")" | measure "[" experiment series x "]"
 */
#include "client/cli/report.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 600, EACH_MAX = 3 };

struct reader {
    const struct tp_report *report;
    const char *at;
    char why[160];     /* a value that is missing */
    const char *wrong; /* what is wrong with the text itself */
};

static void skip(struct reader *reader)
{
    while (isspace((unsigned char)*reader->at))
        reader->at++;
}

static double read_sum(struct reader *reader);

/* measure[experiment series x] */
static double read_measure(struct reader *reader)
{
    char measure[32] = "", experiment[48] = "", series[24] = "", x[16] = "";
    int used = 0;
    if (sscanf(reader->at, "%31[a-z_]", measure) == 1)
        reader->at += strlen(measure);
    skip(reader);
    double value = NAN;
    if (sscanf(reader->at, "[%47s %23s %15[^] ]]%n", experiment, series, x, &used) != 3 || used == 0) {
        reader->wrong = "expected measure[experiment series x]";
        return NAN;
    }
    reader->at += used;
    if (!tp_report_value(reader->report, measure, experiment, series, x, &value, reader->why))
        value = NAN;
    return value;
}

static double read_value(struct reader *reader)
{
    skip(reader);
    if (*reader->at == '(') {
        reader->at++;
        double value = read_sum(reader);
        skip(reader);
        if (*reader->at == ')')
            reader->at++;
        else
            reader->wrong = "expected )";
        return value;
    }
    if (isdigit((unsigned char)*reader->at)) {
        char *end;
        double value = strtod(reader->at, &end);
        reader->at = end;
        return value;
    }
    return read_measure(reader);
}

static double read_product(struct reader *reader)
{
    double value = read_value(reader);
    for (skip(reader); *reader->at == '*' || *reader->at == '/'; skip(reader))
        if (*reader->at++ == '*')
            value *= read_value(reader);
        else
            value /= read_value(reader);
    return value;
}

static double read_sum(struct reader *reader)
{
    double value = read_product(reader);
    for (skip(reader); *reader->at == '+' || *reader->at == '-'; skip(reader))
        if (*reader->at++ == '+')
            value += read_product(reader);
        else
            value -= read_product(reader);
    return value;
}

/* How a comparison came out. */
struct outcome {
    double left, right;
    bool holds, missing;
    double margin; /* how far it holds, as a share; negative when it doesn't */
};

static struct outcome compare(struct reader *reader)
{
    struct outcome outcome = {.left = read_sum(reader)};
    skip(reader);
    char sign = *reader->at;
    if (sign != '<' && sign != '>') {
        reader->wrong = "expected < or >";
        return outcome;
    }
    bool or_equal = *++reader->at == '=';
    reader->at += or_equal;
    outcome.right = read_sum(reader);
    skip(reader);
    if (*reader->at != '\0' && reader->wrong == NULL)
        reader->wrong = "text behind the comparison";
    outcome.missing = isnan(outcome.left) || isnan(outcome.right);
    double more = sign == '<' ? outcome.right - outcome.left : outcome.left - outcome.right;
    outcome.holds = or_equal ? more >= 0 : more > 0;
    double size = fmax(fabs(outcome.left), fabs(outcome.right));
    outcome.margin = size > 0 ? more / size : 0;
    return outcome;
}

/* `each` names and their values of one try. */
struct names {
    char name[EACH_MAX][16], value[EACH_MAX][16];
    int count;
};

/* Puts values in the place of $names and ${names}. */
static void substitute(const char *text, const struct names *names, char out[TEXT_MAX])
{
    size_t used = 0;
    while (*text != '\0' && used + 20 < TEXT_MAX) {
        int found = -1;
        size_t braces = *text == '$' && text[1] == '{';
        for (int i = 0; *text == '$' && i < names->count; i++) {
            size_t length = strlen(names->name[i]);
            if (strncmp(text + 1 + braces, names->name[i], length) == 0 &&
                !isalnum((unsigned char)text[1 + braces + length]))
                found = i;
        }
        if (found < 0) {
            out[used++] = *text++;
            continue;
        }
        used += (size_t)snprintf(out + used, TEXT_MAX - used, "%s", names->value[found]);
        text += 1 + 2 * braces + strlen(names->name[found]);
    }
    out[used] = '\0';
}

/* One claim under trial. */
struct trial {
    const struct tp_report *report;
    struct tp_report_claim *claim;
    double worst; /* the least margin so far */
    const char *wrong;
    char missing[160];
};

static void try_once(struct trial *trial, const struct names *names)
{
    const struct tp_report_table *table = &trial->report->claims;
    for (size_t nth = 0;; nth++) {
        const char *line = tp_report_get(table, trial->claim->block, "holds", nth);
        char text[TEXT_MAX], with[64] = "";
        if (line == NULL)
            return;
        substitute(line, names, text);
        struct reader reader = {.report = trial->report, .at = text};
        struct outcome outcome = compare(&reader);
        if (reader.wrong != NULL)
            trial->wrong = reader.wrong;
        if (outcome.missing && trial->missing[0] == '\0')
            snprintf(trial->missing, sizeof trial->missing, "%s", reader.why);
        trial->claim->tried++;
        trial->claim->held_count += outcome.holds && !outcome.missing;
        if (outcome.missing || (trial->claim->tried > 1 && outcome.margin >= trial->worst))
            continue;
        trial->worst = outcome.margin;
        for (int i = 0; i < names->count; i++) {
            size_t used = strlen(with);
            snprintf(with + used, sizeof with - used, "%s%s = %s", i ? ", " : "at ", names->name[i],
                     names->value[i]);
        }
        snprintf(trial->claim->ours, sizeof trial->claim->ours, "%.4g against %.4g%s%s", outcome.left,
                 outcome.right, *with ? " " : "", with);
    }
}

/* Tries every combination of the values under the `each` lines from the nth on. */
static void try_each(struct trial *trial, struct names *names, size_t nth)
{
    const char *line = tp_report_get(&trial->report->claims, trial->claim->block, "each", nth);
    if (line == NULL) {
        try_once(trial, names);
        return;
    }
    char equals[4], value[16];
    if (nth >= EACH_MAX || !tp_report_word(&line, names->name[nth], sizeof names->name[nth]) ||
        !tp_report_word(&line, equals, sizeof equals) || strcmp(equals, "=") != 0) {
        trial->wrong = "expected: each NAME = VALUES";
        return;
    }
    names->count = (int)nth + 1;
    while (tp_report_word(&line, value, sizeof value)) {
        memcpy(names->value[nth], value, sizeof value);
        names->count = (int)nth + 1;
        try_each(trial, names, nth + 1);
    }
}

/* Whether every word of a form (quick or full, maps or generated) is so of this run; NULL: any run. */
static bool is_for(const struct tp_report *report, const char *form)
{
    const char *size = report->quick ? "quick" : "full", *kind = report->generated ? "generated" : "maps";
    char word[16];
    while (form != NULL && tp_report_word(&form, word, sizeof word))
        if (strcmp(word, size) != 0 && strcmp(word, kind) != 0)
            return false;
    return true;
}

static int judge(const struct tp_report *report, struct tp_report_claim *claim)
{
    struct trial trial = {.report = report, .claim = claim};
    struct names names = {.count = 0};
    try_each(&trial, &names, 0);
    if (trial.wrong == NULL && claim->tried == 0)
        trial.wrong = "a claim needs a line: holds";
    if (trial.wrong != NULL)
        return tp_cli_fail(report->usage, "%s:%u: [%s] %s", report->claims.path, claim->block->number,
                           claim->block->name, trial.wrong);
    const char *share_text = tp_report_get(&report->claims, claim->block, "share", 0);
    double share = share_text != NULL ? strtod(share_text, NULL) : 1;
    bool missing = trial.missing[0] != '\0';
    claim->held = !missing && (double)claim->held_count >= share * (double)claim->tried - 1e-9;
    if (missing)
        snprintf(claim->ours, sizeof claim->ours, "%s", trial.missing);
    const struct tp_report_block *exception = tp_report_find(&report->exceptions, claim->block->name);
    if (exception != NULL && is_for(report, tp_report_get(&report->exceptions, exception, "form", 0)))
        claim->exception = exception;
    if (!is_for(report, tp_report_get(&report->claims, claim->block, "judged", 0)))
        claim->verdict = claim->held ? TP_REPORT_HOLDS : TP_REPORT_SHOWN;
    else if (claim->held)
        claim->verdict = claim->exception != NULL ? TP_REPORT_HOLDS_AGAIN : TP_REPORT_HOLDS;
    else
        claim->verdict = claim->exception != NULL ? TP_REPORT_EXCEPTION
                         : missing                ? TP_REPORT_NOT_MEASURED
                                                  : TP_REPORT_BROKEN;
    return TP_CLI_OK;
}

int tp_report_claims_judge(const struct tp_report *report, struct tp_report_claim **claims)
{
    const struct tp_report_table *table = &report->claims;
    *claims = calloc(table->blocks_count + 1, sizeof **claims);
    if (*claims == NULL)
        return tp_cli_fail(report->usage, "out of memory");
    int result = TP_CLI_OK;
    for (size_t i = 0; i < table->blocks_count && result == TP_CLI_OK; i++) {
        (*claims)[i].block = &table->blocks[i];
        result = judge(report, &(*claims)[i]);
    }
    for (size_t i = 0; i < report->exceptions.blocks_count && result == TP_CLI_OK; i++)
        if (tp_report_find(table, report->exceptions.blocks[i].name) == NULL)
            result = tp_cli_fail(report->usage, "%s:%u: no claim is called %s", report->exceptions.path,
                                 report->exceptions.blocks[i].number, report->exceptions.blocks[i].name);
    return result;
}
