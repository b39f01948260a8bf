#include "daemon/config.h"

#include "daemon/exit.h"
#include "daemon/log.h"
#include "daemon/http_gate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_type { OPTION_ADDRESS, OPTION_TEXT, OPTION_NUMBER, OPTION_LEVEL, OPTION_FORMAT };

struct option_row {
    enum option_type type;
    const char *name;
    const char *initial; /* the default, as it would be typed */
    uint64_t min, max;   /* numbers */
    const char *unit;
    const char *help;
    size_t offset; /* of the field in struct tp_config */
};

#define INITIAL_ADDRESS(value) value
#define INITIAL_TEXT(value) value
#define INITIAL_NUMBER(value) #value
#define INITIAL_LEVEL(value) value
#define INITIAL_FORMAT(value) value
#define ROW(type_name, field, option, value, min_value, max_value, unit_text, help_text)                     \
    {OPTION_##type_name, option,    INITIAL_##type_name(value),       min_value, max_value,                  \
     unit_text,          help_text, offsetof(struct tp_config, field)},
static const struct option_row rows[] = {TP_OPTION_LIST(ROW)};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Sets one option from its text; `origin` says for the words where it came from. */
static int set_option(struct tp_config *config, const struct option_row *row, const char *text,
                      const char *origin, char reason[512])
{
    void *field = (char *)config + row->offset;
    const char *words = NULL;
    switch (row->type) {
    case OPTION_ADDRESS:
        if (text[0] == '\0')
            memset(field, 0, sizeof(struct tp_address));
        else if (tp_address_read(field, text, &words) != 0)
            break;
        return 0;
    case OPTION_TEXT:
        if (strlen(text) >= TP_CONFIG_TEXT_MAX) {
            words = "too long";
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
            snprintf(reason, 512, "%s: %.64s is not in %llu..%llu", origin, text,
                     (unsigned long long)row->min, (unsigned long long)row->max);
            return TP_ERR_INVALID_ARGUMENT;
        }
        *(uint64_t *)field = value;
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
    snprintf(reason, 512, "%s: '%.64s': %s", origin, text, words);
    return TP_ERR_INVALID_ARGUMENT;
}

static const struct option_row *find_row(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

static void variable_name(const struct option_row *row, char out[64])
{
    size_t n = (size_t)snprintf(out, 64, "TICKPATHD_%s", row->name);
    for (size_t i = 0; i < n && i < 63; i++)
        out[i] = out[i] == '-' ? '_' : out[i] >= 'a' && out[i] <= 'z' ? (char)(out[i] - 'a' + 'A') : out[i];
}

static int read_environment(struct tp_config *config, char *const *environment, char reason[512])
{
    static const char prefix[] = "TICKPATHD_";
    for (size_t e = 0; environment != NULL && environment[e] != NULL; e++) {
        const char *entry = environment[e];
        if (strncmp(entry, prefix, sizeof prefix - 1) != 0)
            continue;
        const char *equals = strchr(entry, '=');
        const struct option_row *row = NULL;
        for (size_t i = 0; i < ROWS && row == NULL && equals != NULL; i++) {
            char name[64];
            variable_name(&rows[i], name);
            if (strlen(name) == (size_t)(equals - entry) && strncmp(name, entry, strlen(name)) == 0)
                row = &rows[i];
        }
        if (row ==
            NULL) { /* perhaps not meant for us: clusters set such names for a service called tickpathd */
            tp_log(TP_LOG_WARN, "a variable that is no option", "variable=\"%.90s\"", entry);
            continue;
        }
        char origin[64];
        variable_name(row, origin);
        int error = set_option(config, row, equals + 1, origin, reason);
        if (error != 0)
            return error;
    }
    return 0;
}

int tp_config_read(struct tp_config *config, int argc, char *const *argv, char *const *environment,
                   char reason[512])
{
    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < ROWS; i++) {
        int error = set_option(config, &rows[i], rows[i].initial, rows[i].name, reason);
        if (error != 0)
            return error;
    }
    int error = read_environment(config, environment, reason);
    if (error != 0)
        return error;
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            config->run = TP_RUN_HELP;
            return 0;
        }
        if (strcmp(argument, "--version") == 0) {
            config->run = TP_RUN_VERSION;
            return 0;
        }
        if (strncmp(argument, "--", 2) != 0) {
            snprintf(reason, 512, "'%.64s' is not an option", argument);
            return TP_ERR_INVALID_ARGUMENT;
        }
        const char *equals = strchr(argument, '=');
        size_t length = equals != NULL ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
        const struct option_row *row = find_row(argument + 2, length);
        if (row == NULL) {
            snprintf(reason, 512, "there is no option %.64s", argument);
            return TP_ERR_INVALID_ARGUMENT;
        }
        if (equals == NULL && i + 1 >= argc) {
            snprintf(reason, 512, "--%s wants a value", row->name);
            return TP_ERR_INVALID_ARGUMENT;
        }
        char origin[64];
        snprintf(origin, sizeof origin, "--%s", row->name);
        error = set_option(config, row, equals != NULL ? equals + 1 : argv[++i], origin, reason);
        if (error != 0)
            return error;
    }
    if (config->listen.host[0] == '\0') {
        snprintf(reason, 512, "--listen must not be empty");
        return TP_ERR_INVALID_ARGUMENT;
    }
    if (config->stats_token[0] != '\0' && !tp_http_gate_is_token(config->stats_token)) {
        snprintf(reason, 512, "--stats-token: 16 to 256 of A-Z a-z 0-9 . _ ~ -");
        return TP_ERR_INVALID_ARGUMENT;
    }
    if (config->data[0] != '\0' && config->redis[0] != '\0') {
        snprintf(reason, 512, "--data and --redis: give one of them");
        return TP_ERR_INVALID_ARGUMENT;
    }
    return 0;
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
                 "Each option may also be given as a variable, TICKPATHD_LISTEN for --listen and so on;\n"
                 "the command line wins.\n\n");
    for (size_t i = 0; i < ROWS; i++) {
        const struct option_row *row = &rows[i];
        char head[64];
        snprintf(head, sizeof head, "--%s %s", row->name,
                 row->type == OPTION_NUMBER ? "N" : row->unit);
        fprintf(out, "  %-26s %s", head, row->help);
        if (row->type == OPTION_NUMBER)
            fprintf(out, " (%s%s%llu..%llu, default %s)", row->unit, row->unit[0] != '\0' ? ", " : "",
                    (unsigned long long)row->min, (unsigned long long)row->max, row->initial);
        else if (row->initial[0] != '\0')
            fprintf(out, " (default %s)", row->initial);
        fputc('\n', out);
    }
    fprintf(out, "  %-26s %s\n  %-26s %s\n", "--version", "say the version and end", "--help",
            "say this and end");
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
