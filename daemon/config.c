/* Happy path: defaults, then the file, then the variables, then the command line, each over the one before; one function sets an option from its
 * text, wherever that stands. The variables and the command line are read first too, to know which file. A renewal does the same into a second struct,
 * and takes over what is LIVE and differs, under a lock that who tells the options takes too: what is no number is no atomic.
 *
 * Failure modes: the first fault ends the reading, with words that say where; what a renewal had read is thrown away.
 */
#include "daemon/config.h"

#include "daemon/config_file.h"
#include "daemon/exit.h"
#include "daemon/stats/http_gate.h"
#include "daemon/log.h"
#include "daemon/store/redis_url.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_type { OPTION_ADDRESS, OPTION_TEXT, OPTION_SECRET, OPTION_URL, OPTION_NUMBER, OPTION_LEVEL, OPTION_FORMAT };
enum option_when { OPTION_START, OPTION_LIVE, OPTION_OUTSIDE };

struct option_row {
    enum option_type type;
    const char *name;
    const char *initial; /* the default, as it would be typed */
    uint64_t min, max;   /* numbers */
    enum option_when when;
    const char *unit;
    const char *help;
    size_t offset; /* of the field in struct tp_config */
};

#define INITIAL_ADDRESS(value) value
#define INITIAL_TEXT(value) value
#define INITIAL_SECRET(value) value
#define INITIAL_URL(value) value
#define INITIAL_NUMBER(value) #value
#define INITIAL_LEVEL(value) value
#define INITIAL_FORMAT(value) value
#define ROW(type_name, field, option, value, min_value, max_value, when_name, unit_text, help_text)                                                       \
    {OPTION_##type_name, option, INITIAL_##type_name(value), min_value, max_value, OPTION_##when_name, unit_text, help_text, offsetof(struct tp_config, field)},
static const struct option_row rows[] = {TP_OPTION_LIST(ROW)};
enum { ROWS = sizeof rows / sizeof rows[0] };

static pthread_mutex_t taking_over = PTHREAD_MUTEX_INITIALIZER;

/* Where a setting stands. */
struct origin {
    enum { FROM_DEFAULT, FROM_FILE, FROM_VARIABLE, FROM_OPTION } from;
    unsigned line; /* of the file */
};

struct reading {
    struct tp_config *config;
    struct origin origins[ROWS]; /* of what each option is now */
    char *reason;                /* TP_CONFIG_REASON_BYTES */
};

/* ---- Fields ---- */

static void number_set(struct tp_config *config, const struct option_row *row, uint64_t value)
{
    void *field = (char *)config + row->offset;
    if (row->when == OPTION_LIVE)
        atomic_store_explicit((_Atomic uint64_t *)field, value, memory_order_relaxed);
    else
        *(uint64_t *)field = value;
}

static uint64_t number_of(const struct tp_config *config, const struct option_row *row)
{
    const void *field = (const char *)config + row->offset;
    return row->when == OPTION_LIVE ? atomic_load_explicit((const _Atomic uint64_t *)field, memory_order_relaxed)
                                    : *(const uint64_t *)field;
}

static bool is_same(const struct tp_config *a, const struct tp_config *b, const struct option_row *row)
{
    const void *left = (const char *)a + row->offset, *right = (const char *)b + row->offset;
    switch (row->type) {
    case OPTION_ADDRESS: {
        const struct tp_address *one = left, *other = right;
        return strcmp(one->host, other->host) == 0 && one->port == other->port;
    }
    case OPTION_TEXT:
    case OPTION_SECRET:
    case OPTION_URL:
        return strcmp(left, right) == 0;
    case OPTION_NUMBER:
        return number_of(a, row) == number_of(b, row);
    case OPTION_LEVEL:
    case OPTION_FORMAT:
        return *(const int *)left == *(const int *)right;
    }
    return true;
}

static size_t field_bytes(const struct option_row *row)
{
    switch (row->type) {
    case OPTION_ADDRESS:
        return sizeof(struct tp_address);
    case OPTION_TEXT:
    case OPTION_SECRET:
    case OPTION_URL:
        return TP_CONFIG_TEXT_MAX;
    case OPTION_NUMBER:
        return sizeof(uint64_t);
    case OPTION_LEVEL:
    case OPTION_FORMAT:
        break;
    }
    return sizeof(int);
}

/* Of a LIVE row. */
static void take_over(struct tp_config *config, const struct tp_config *from, const struct option_row *row)
{
    void *to = (char *)config + row->offset;
    const void *field = (const char *)from + row->offset;
    if (row->type == OPTION_NUMBER)
        number_set(config, row, number_of(from, row));
    else
        memcpy(to, field, field_bytes(row));
}

/* ---- One setting ---- */

static void variable_name(const struct option_row *row, char out[64])
{
    size_t n = (size_t)snprintf(out, 64, "TICKPATHD_%s", row->name);
    for (size_t i = 0; i < n && i < 63; i++)
        out[i] = out[i] == '-' ? '_' : out[i] >= 'a' && out[i] <= 'z' ? (char)(out[i] - 'a' + 'A') : out[i];
}

/* How people find it. */
static const char *where(const struct reading *reading, const struct option_row *row, char out[512])
{
    const struct origin *origin = &reading->origins[row - rows];
    if (origin->from == FROM_FILE)
        snprintf(out, 512, "%.400s:%u: %s", reading->config->config, origin->line, row->name);
    else if (origin->from == FROM_VARIABLE)
        variable_name(row, out);
    else
        snprintf(out, 512, "--%s", row->name);
    return out;
}

/* Sets one option from its text. */
static int set_option(struct reading *reading, const struct option_row *row, const char *text, struct origin origin)
{
    void *field = (char *)reading->config + row->offset;
    const char *words = NULL;
    char place[512];
    reading->origins[row - rows] = origin;
    switch (row->type) {
    case OPTION_ADDRESS:
        if (text[0] == '\0')
            memset(field, 0, sizeof(struct tp_address));
        else if (tp_address_read(field, text, &words) != 0)
            break;
        return 0;
    case OPTION_TEXT:
    case OPTION_SECRET:
    case OPTION_URL:
        if (strlen(text) >= TP_CONFIG_TEXT_MAX) {
            words = "too long";
            text = row->type == OPTION_TEXT ? text : "...";
            break;
        }
        memcpy(field, text, strlen(text) + 1);
        return 0;
    case OPTION_NUMBER: {
        char *end;
        errno = 0;
        unsigned long long value = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0') {
            words = "not a whole number";
            break;
        }
        if (errno != 0 || value < row->min || value > row->max) {
            snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "%s: %.64s is not in %llu..%llu", where(reading, row, place), text,
                     (unsigned long long)row->min, (unsigned long long)row->max);
            return TP_ERR_INVALID_ARGUMENT;
        }
        number_set(reading->config, row, value);
        return 0;
    }
    case OPTION_LEVEL:
        *(int *)field = tp_log_level_find(text);
        if (*(int *)field >= 0)
            return 0;
        words = "not one of error, warn, info, debug";
        break;
    case OPTION_FORMAT:
        *(int *)field = tp_log_format_find(text);
        if (*(int *)field >= 0)
            return 0;
        words = "neither pairs nor json";
        break;
    }
    snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "%s: '%.64s': %s", where(reading, row, place), text, words);
    return TP_ERR_INVALID_ARGUMENT;
}

static const struct option_row *find_row(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

/* ---- The file ---- */

static int read_line_cb(const char *name, const char *value, unsigned line, void *context)
{
    struct reading *reading = context;
    const struct option_row *row = find_row(name, strlen(name));
    const struct origin *origin = row != NULL ? &reading->origins[row - rows] : NULL;
    char quoted[100];
    if (row == NULL || row->when == OPTION_OUTSIDE)
        snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "%.400s:%u: %s %.98s", reading->config->config, line,
                 row == NULL ? "there is no option" : "no file may set", tp_log_quote(quoted, sizeof quoted, name));
    else if (origin->from == FROM_FILE)
        snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "%.400s:%u: %s is set twice, first in line %u", reading->config->config, line,
                 row->name, origin->line);
    else
        return set_option(reading, row, value, (struct origin){FROM_FILE, line});
    return TP_ERR_INVALID_ARGUMENT;
}

static int read_file(struct reading *reading)
{
    const char *path = reading->config->config, *words = NULL;
    unsigned line = 0;
    char *bytes;
    size_t size;
    int error = tp_config_file_load(path, &bytes, &size, &words);
    if (error != 0) {
        snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "%.400s: %.200s", path, words);
        return error;
    }
    error = tp_config_lines_read(bytes, size, read_line_cb, reading, &line, &words);
    if (error != 0 && words != NULL)
        snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "%.400s:%u: %s", path, line, words);
    free(bytes);
    return error;
}

/* ---- The variables ---- */

static const char prefix[] = "TICKPATHD_";

/* The option that a variable of ours names, with its value; NULL: none. */
static const struct option_row *find_variable(const char *entry, const char **value)
{
    const char *equals = strchr(entry, '=');
    for (size_t i = 0; i < ROWS && equals != NULL; i++) {
        char name[64];
        variable_name(&rows[i], name);
        *value = equals + 1;
        if (strlen(name) == (size_t)(equals - entry) && strncmp(name, entry, strlen(name)) == 0)
            return &rows[i];
    }
    return NULL;
}

static int read_environment(struct reading *reading)
{
    char *const *environment = reading->config->environment;
    for (size_t e = 0; environment != NULL && environment[e] != NULL; e++) {
        const char *value;
        const struct option_row *row = NULL;
        if (strncmp(environment[e], prefix, sizeof prefix - 1) == 0)
            row = find_variable(environment[e], &value);
        int error = row != NULL ? set_option(reading, row, value, (struct origin){FROM_VARIABLE, 0}) : 0;
        if (error != 0)
            return error;
    }
    return 0;
}

void tp_config_log_strangers(char *const *environment)
{
    for (size_t e = 0; environment != NULL && environment[e] != NULL; e++) {
        const char *value;
        if (strncmp(environment[e], prefix, sizeof prefix - 1) != 0 || find_variable(environment[e], &value) != NULL)
            continue;
        char name[64]; /* alone: its value may be a secret */
        snprintf(name, sizeof name, "%.*s", (int)strcspn(environment[e], "="), environment[e]);
        tp_log(TP_LOG_WARN, "a variable that is no option", "variable=\"%s\"", name);
    }
}

/* ---- The command line ---- */

static int read_arguments(struct reading *reading)
{
    struct tp_config *config = reading->config;
    for (int i = 1; i < config->argc; i++) {
        const char *argument = config->argv[i];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            config->run = TP_RUN_HELP;
            return 0;
        }
        if (strcmp(argument, "--version") == 0) {
            config->run = TP_RUN_VERSION;
            return 0;
        }
        if (strcmp(argument, "--check-config") == 0) {
            config->run = TP_RUN_CHECK;
            continue;
        }
        if (strncmp(argument, "--", 2) != 0) {
            snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "'%.64s' is not an option", argument);
            return TP_ERR_INVALID_ARGUMENT;
        }
        const char *equals = strchr(argument, '=');
        size_t length = equals != NULL ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
        const struct option_row *row = find_row(argument + 2, length);
        if (row == NULL) {
            snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "there is no option %.64s", argument);
            return TP_ERR_INVALID_ARGUMENT;
        }
        if (equals == NULL && i + 1 >= config->argc) {
            snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "--%s wants a value", row->name);
            return TP_ERR_INVALID_ARGUMENT;
        }
        int error = set_option(reading, row, equals != NULL ? equals + 1 : config->argv[++i], (struct origin){FROM_OPTION, 0});
        if (error != 0)
            return error;
    }
    return 0;
}

/* ---- All of them ---- */

static int read_defaults(struct reading *reading)
{
    int error = 0;
    for (size_t i = 0; i < ROWS && error == 0; i++)
        if (rows[i].when != OPTION_OUTSIDE)
            error = set_option(reading, &rows[i], rows[i].initial, (struct origin){FROM_DEFAULT, 0});
    return error;
}

/* What an option by itself can't be judged by. */
static int check_all(const struct reading *reading)
{
    const struct tp_config *config = reading->config;
    char place[512], other[512];
    if (config->listen.host[0] == '\0')
        snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "%s must not be empty", where(reading, find_row("listen", 6), place));
    else if (config->stats_token[0] != '\0' && !tp_http_gate_is_token(config->stats_token))
        snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "%s: 16 to 256 of A-Z a-z 0-9 . _ ~ -", where(reading, find_row("stats-token", 11), place));
    else if (config->data[0] != '\0' && config->redis[0] != '\0')
        snprintf(reading->reason, TP_CONFIG_REASON_BYTES, "%s and %s: give one of them", where(reading, find_row("data", 4), place),
                 where(reading, find_row("redis", 5), other));
    else
        return 0;
    return TP_ERR_INVALID_ARGUMENT;
}

static int read_all(struct reading *reading)
{
    struct tp_config *config = reading->config;
    int error = read_defaults(reading);
    if (error == 0)
        error = read_environment(reading);
    if (error == 0)
        error = read_arguments(reading);
    if (error != 0 || config->run == TP_RUN_HELP || config->run == TP_RUN_VERSION)
        return error;
    if (config->config[0] != '\0') { /* known now: from the start, with the file below the others */
        error = read_defaults(reading);
        if (error == 0)
            error = read_file(reading);
        if (error == 0)
            error = read_environment(reading);
        if (error == 0)
            error = read_arguments(reading);
    }
    return error == 0 ? check_all(reading) : error;
}

int tp_config_read(struct tp_config *config, int argc, char *const *argv, char *const *environment,
                   char reason[TP_CONFIG_REASON_BYTES])
{
    memset((void *)config, 0, sizeof *config);
    config->argc = argc;
    config->argv = argv;
    config->environment = environment;
    return read_all(&(struct reading){.config = config, .reason = reason});
}

/* ---- Anew ---- */

static void add_name(char names[TP_CONFIG_NAMES_BYTES], const char *name)
{
    size_t used = strlen(names);
    if (used + strlen(name) + 2 <= TP_CONFIG_NAMES_BYTES)
        snprintf(names + used, TP_CONFIG_NAMES_BYTES - used, "%s%s", used > 0 ? " " : "", name);
}

int tp_config_renew(struct tp_config *config, struct tp_config_changes *changes, char reason[TP_CONFIG_REASON_BYTES])
{
    *changes = (struct tp_config_changes){0};
    struct tp_config *next = malloc(sizeof *next);
    if (next == NULL) {
        snprintf(reason, TP_CONFIG_REASON_BYTES, "out of memory");
        return TP_ERR_NO_MEMORY;
    }
    int error = tp_config_read(next, config->argc, config->argv, config->environment, reason);
    pthread_mutex_lock(&taking_over);
    for (size_t i = 0; i < ROWS && error == 0; i++) {
        if (is_same(config, next, &rows[i]))
            continue;
        bool is_live = rows[i].when == OPTION_LIVE;
        changes->changed += is_live;
        changes->waiting += !is_live;
        add_name(is_live ? changes->changed_names : changes->waiting_names, rows[i].name);
        if (is_live)
            take_over(config, next, &rows[i]);
    }
    pthread_mutex_unlock(&taking_over);
    free(next);
    return error;
}

/* ---- Told ---- */

enum { TOLD_BYTES = 4096 };

/* What people may see of a text, an address or a word; out[] may hold it. */
static const char *told_text(const struct tp_config *config, const struct option_row *row, char out[TOLD_BYTES])
{
    const void *field = (const char *)config + row->offset;
    struct tp_redis_url url;
    out[0] = '\0';
    switch (row->type) {
    case OPTION_ADDRESS: {
        const struct tp_address *at = field;
        if (at->host[0] != '\0')
            snprintf(out, TOLD_BYTES, strchr(at->host, ':') != NULL ? "[%s]:%u" : "%s:%u", at->host, at->port);
        return out;
    }
    case OPTION_TEXT:
        return field;
    case OPTION_URL:
        if (tp__redis_url_read(&url, field) == NULL)
            tp__redis_url_tell(&url, out, TOLD_BYTES);
        return out;
    case OPTION_LEVEL:
        return tp_log_level_name(*(const int *)field);
    case OPTION_FORMAT:
        return tp_log_format_name(*(const int *)field);
    case OPTION_NUMBER:
    case OPTION_SECRET:
        break;
    }
    return NULL;
}

void tp_config_each(const struct tp_config *config, void (*each)(const struct tp_config_option *option, void *context), void *context)
{
    pthread_mutex_lock(&taking_over);
    for (size_t i = 0; i < ROWS; i++) {
        const struct option_row *row = &rows[i];
        char out[TOLD_BYTES];
        bool is_number = row->type == OPTION_NUMBER, is_secret = row->type == OPTION_SECRET;
        struct tp_config_option option = {.name = row->name,
                                          .is_live = row->when == OPTION_LIVE,
                                          .is_set = is_secret && *((const char *)config + row->offset) != '\0',
                                          .kind = is_number   ? TP_OPTION_IS_NUMBER
                                                  : is_secret ? TP_OPTION_IS_SECRET
                                                              : TP_OPTION_IS_TEXT,
                                          .number = is_number ? number_of(config, row) : 0,
                                          .text = told_text(config, row, out)};
        each(&option, context);
    }
    pthread_mutex_unlock(&taking_over);
}

char *tp_config_help(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    fprintf(out, "tickpathd: serves path searches by the tick\n\n"
                 "usage: tickpathd [--option VALUE]...\n\n"
                 "Each option may also be given as a variable, TICKPATHD_LISTEN for --listen and so on, and in the\n"
                 "file of --config, `listen = HOST:PORT`; the command line wins over variables, those over the file.\n"
                 "SIGHUP reads the file anew: where (live) stands it holds at once, else a restart is needed.\n\n");
    for (size_t i = 0; i < ROWS; i++) {
        const struct option_row *row = &rows[i];
        char head[64];
        snprintf(head, sizeof head, "--%s %s", row->name,
                 row->type == OPTION_NUMBER ? "N" : row->unit);
        fprintf(out, "  %-26s %s%s", head, row->when == OPTION_LIVE ? "(live) " : "", row->help);
        if (row->type == OPTION_NUMBER)
            fprintf(out, " (%s%s%llu..%llu, default %s)", row->unit, row->unit[0] != '\0' ? ", " : "",
                    (unsigned long long)row->min, (unsigned long long)row->max, row->initial);
        else if (row->initial[0] != '\0')
            fprintf(out, " (default %s)", row->initial);
        fputc('\n', out);
    }
    fprintf(out, "  %-26s %s\n  %-26s %s\n  %-26s %s\n", "--check-config",
            "read all of it, say whether it is right, and end: with 0, or as where an option is wrong", "--version",
            "say the version and end", "--help", "say this and end");
#define EXIT_LINE(name, code, words) fprintf(out, "  %3d  %s\n", code, words);
    fputs("\nIt ends with\n", out);
    TP_EXIT_LIST(EXIT_LINE)
#undef EXIT_LINE
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
