/* See options.h. One function per kind of value; each gives false when the text is no such value. */
#include "client/cli/options.h"

#include "base/limits.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const struct tp_cli_usage *usage, const char *before, const char *format, va_list arguments)
{
    fprintf(stderr, "tickpath %s: %s", usage->command, before);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int tp_cli_fail(const struct tp_cli_usage *usage, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(usage, "", format, arguments);
    va_end(arguments);
    return TP_CLI_FAILED;
}

void tp_cli_warn(const struct tp_cli_usage *usage, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(usage, "warning: ", format, arguments);
    va_end(arguments);
}

int tp_cli_refuse(const struct tp_cli_usage *usage, const char *option, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "tickpath %s: --%s: ", usage->command, option);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (see tickpath %s --help)\n", usage->command);
    va_end(arguments);
    return TP_CLI_USAGE;
}

/* Digits only: no sign, no blank, nothing behind. Moves *text past them. */
static bool scan_uint(const char **text, uint64_t *value)
{
    const char *c = *text;
    uint64_t v = 0;
    if (!isdigit((unsigned char)*c))
        return false;
    for (; isdigit((unsigned char)*c); c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *text = c;
    *value = v;
    return true;
}

static bool parse_uint(const struct tp_cli_option *option, const char *text, void *value)
{
    uint64_t v = 0;
    if (option->kind == TP_CLI_BUDGET && strcmp(text, "unlimited") == 0)
        v = option->max;
    else if (!scan_uint(&text, &v) || *text != '\0' || v < option->min || v > option->max)
        return false;
    *(uint64_t *)value = v;
    return true;
}

static bool parse_milli(const struct tp_cli_option *option, const char *text, void *value)
{
    uint64_t whole = 0, thousandths = 0;
    if (!scan_uint(&text, &whole) || whole > UINT32_MAX)
        return false;
    if (*text == '.') {
        uint64_t unit = 100;
        for (text++; isdigit((unsigned char)*text); text++, unit /= 10) {
            if (unit == 0 && *text != '0')
                return false;
            thousandths += (uint64_t)(*text - '0') * unit;
        }
    }
    uint64_t v = whole * 1000 + thousandths;
    if (*text != '\0' || v < option->min || v > option->max || v > UINT32_MAX)
        return false;
    *(uint32_t *)value = (uint32_t)v;
    return true;
}

static bool parse_real(const struct tp_cli_option *option, const char *text, void *value)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(v) || v < (double)option->min || v > (double)option->max)
        return false;
    *(double *)value = v;
    return true;
}

static bool parse_choice(const struct tp_cli_option *option, const char *text, void *value)
{
    for (const struct tp_cli_choice *c = option->choices; c->word != NULL; c++) {
        if (strcmp(c->word, text) == 0) {
            *(int *)value = c->value;
            return true;
        }
    }
    return false;
}

static bool parse_size(const struct tp_cli_option *option, const char *text, void *value)
{
    uint64_t side[2];
    if (!scan_uint(&text, &side[0]) || (*text != 'x' && *text != 'X'))
        return false;
    text++;
    if (!scan_uint(&text, &side[1]) || *text != '\0')
        return false;
    for (int i = 0; i < 2; i++) {
        if (side[i] < option->min || side[i] > option->max || side[i] > UINT32_MAX)
            return false;
        ((uint32_t *)value)[i] = (uint32_t)side[i];
    }
    return true;
}

bool tp_cli_read_host_port(const char *text, struct tp_cli_host_port *place)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text)
        return false;
    const char *host = text;
    size_t length = (size_t)(colon - text);
    if (host[0] == '[') {
        if (length < 3 || host[length - 1] != ']')
            return false;
        host++;
        length -= 2;
    }
    const char *digits = colon + 1;
    uint64_t port = 0;
    if (length > TP_CLI_HOST_MAX || !scan_uint(&digits, &port) || *digits != '\0' || port < 1 || port > 65535)
        return false;
    memcpy(place->host, host, length);
    place->host[length] = '\0';
    place->port = (uint16_t)port;
    return true;
}

/* Reads a file of such lists, a line each, into one of them. False: it can't be read, or is too long. */
static bool read_terrain_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    size_t used = fread(text, 1, size - 1, file);
    bool is_whole = feof(file) != 0 && ferror(file) == 0;
    fclose(file);
    while (used > 0 && (text[used - 1] == '\n' || text[used - 1] == '\r'))
        used--;
    text[used] = '\0';
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\n')
            *at = ',';
    return is_whole;
}

static bool parse_terrain(const char *text, void *value)
{
    struct tp_cli_terrain *terrain = value;
    char list[4096];
    tp_profile_init_movingai(&terrain->profile);
    terrain->given = true;
    if (text[0] == '@' && text[1] != '=') {
        if (!read_terrain_file(text + 1, list, sizeof list))
            return false;
        text = list;
    }
    for (const char *at = text;; at++) {
        uint64_t weight = 0;
        unsigned char class = (unsigned char)*at;
        if (class == '\0' || at[1] != '=')
            return false;
        at += 2;
        if (!scan_uint(&at, &weight) || weight > TP_WEIGHT_MAX)
            return false;
        terrain->profile.weight[class] = (uint16_t)weight;
        if (*at == '\0')
            return !tp_profile_closes_all(&terrain->profile);
        if (*at != ',')
            return false;
    }
}

static bool parse_addresses(const char *text, struct tp_cli_addresses *addresses)
{
    char word[TP_CLI_HOST_MAX + 16];
    *addresses = (struct tp_cli_addresses){.list = text};
    for (const char *at = text;; at++) {
        struct tp_cli_host_port place;
        size_t size = strcspn(at, ",");
        if (size >= sizeof word)
            return false;
        memcpy(word, at, size);
        word[size] = '\0';
        if (!tp_cli_read_host_port(word, &place))
            return false;
        if (addresses->count++ == 0)
            addresses->first = place;
        at += size;
        if (*at == '\0')
            return true;
    }
}

static bool parse_value(const struct tp_cli_option *option, const char *text, void *value)
{
    switch (option->kind) {
    case TP_CLI_FLAG:
        *(bool *)value = true;
        return true;
    case TP_CLI_SET:
        *(int *)value = (int)option->min;
        return true;
    case TP_CLI_STRING:
        *(const char **)value = text;
        return *text != '\0';
    case TP_CLI_UINT:
    case TP_CLI_BUDGET:
        return parse_uint(option, text, value);
    case TP_CLI_MILLI:
        return parse_milli(option, text, value);
    case TP_CLI_REAL:
        return parse_real(option, text, value);
    case TP_CLI_CHOICE:
        return parse_choice(option, text, value);
    case TP_CLI_SIZE:
        return parse_size(option, text, value);
    case TP_CLI_HOST_PORT:
        return tp_cli_read_host_port(text, value);
    case TP_CLI_ADDRESSES:
        return parse_addresses(text, value);
    case TP_CLI_TERRAIN:
        return parse_terrain(text, value);
    }
    return false;
}

/* What a value of the option has to be, in words, into `words`. */
static void describe(const struct tp_cli_option *option, char *words, size_t size)
{
    unsigned long long min = option->min, max = option->max;
    switch (option->kind) {
    case TP_CLI_FLAG:
    case TP_CLI_SET:
        snprintf(words, size, "nothing");
        return;
    case TP_CLI_STRING:
        snprintf(words, size, "a word that is not empty");
        return;
    case TP_CLI_UINT:
        snprintf(words, size, "a whole number from %llu to %llu", min, max);
        return;
    case TP_CLI_BUDGET:
        snprintf(words, size, "a whole number from %llu to %llu, or \"unlimited\"", min, max);
        return;
    case TP_CLI_MILLI:
        snprintf(words, size, "a number from %g to %.10g with at most 3 decimals", (double)min / 1000,
                 (double)max / 1000);
        return;
    case TP_CLI_REAL:
        snprintf(words, size, "a number from %llu to %llu", min, max);
        return;
    case TP_CLI_SIZE:
        snprintf(words, size, "a size such as 512x512, each side from %llu to %llu", min, max);
        return;
    case TP_CLI_HOST_PORT:
        snprintf(words, size, "an address such as 127.0.0.1:7878");
        return;
    case TP_CLI_ADDRESSES:
        snprintf(words, size, "an address such as 127.0.0.1:7878, or several parted by commas");
        return;
    case TP_CLI_TERRAIN:
        snprintf(words, size,
                 "a list such as .=1,T=5,W=0: a map's character and its weight, 0 to %u, some above 0; or @FILE, a "
                 "file of them",
                 TP_WEIGHT_MAX);
        return;
    case TP_CLI_CHOICE:
        break;
    }
    size_t used = (size_t)snprintf(words, size, "one of");
    for (const struct tp_cli_choice *c = option->choices; c->word != NULL && used < size; c++)
        used +=
            (size_t)snprintf(words + used, size - used, "%s %s", c == option->choices ? "" : ",", c->word);
}

static void print_help(const struct tp_cli_usage *usage, const struct tp_cli_group *groups)
{
    printf("usage: tickpath %s [options]\n%s\n\noptions:\n", usage->command, usage->summary);
    for (const struct tp_cli_group *group = groups; group->options != NULL; group++) {
        for (const struct tp_cli_option *option = group->options; option->name != NULL; option++) {
            char left[64];
            snprintf(left, sizeof left, "--%s%s%s", option->name, option->argument != NULL ? " " : "",
                     option->argument != NULL ? option->argument : "");
            printf("  %-28s %s%s\n", left, option->help, option->required ? " (needed)" : "");
            if (option->kind == TP_CLI_CHOICE) {
                char words[256];
                describe(option, words, sizeof words);
                printf("  %-28s %s\n", "", words);
            }
        }
    }
    printf("  %-28s %s\n", "--help", "print this");
    if (usage->notes != NULL)
        printf("\n%s\n", usage->notes);
}

/* The option of that name (length bytes of it), and the struct its value goes to; NULL if no table holds it.
 * *index counts through all groups. */
static const struct tp_cli_option *find(const struct tp_cli_group *groups, const char *name, size_t length,
                                        void **values, size_t *index)
{
    *index = 0;
    for (const struct tp_cli_group *group = groups; group->options != NULL; group++) {
        for (const struct tp_cli_option *option = group->options; option->name != NULL; option++, ++*index) {
            if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) {
                *values = group->values;
                return option;
            }
        }
    }
    return NULL;
}

enum { OPTIONS_MAX = 64 }; /* of one command, all groups together */

static int check_required(const struct tp_cli_usage *usage, const struct tp_cli_group *groups,
                          const bool *given)
{
    size_t index = 0;
    for (const struct tp_cli_group *group = groups; group->options != NULL; group++) {
        for (const struct tp_cli_option *option = group->options; option->name != NULL; option++, index++) {
            if (option->required && !given[index])
                return tp_cli_refuse(usage, option->name, "is needed: --%s %s", option->name,
                                     option->argument);
        }
    }
    return TP_CLI_GO_ON;
}

int tp_cli_parse(const struct tp_cli_usage *usage, const struct tp_cli_group *groups, int argc, char **argv)
{
    bool given[OPTIONS_MAX] = {false};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            print_help(usage, groups);
            return TP_CLI_OK;
        }
        if (strncmp(word, "--", 2) != 0 || word[2] == '\0') {
            fprintf(stderr, "tickpath %s: \"%s\" is not an option (see tickpath %s --help)\n", usage->command,
                    word, usage->command);
            return TP_CLI_USAGE;
        }
        const char *name = word + 2;
        size_t length = strcspn(name, "="), index = 0;
        void *values = NULL;
        const struct tp_cli_option *option = find(groups, name, length, &values, &index);
        if (option == NULL || index >= OPTIONS_MAX) {
            fprintf(stderr, "tickpath %s: unknown option --%.*s (see tickpath %s --help)\n", usage->command,
                    (int)length, name, usage->command);
            return TP_CLI_USAGE;
        }
        const char *text = name[length] == '=' ? name + length + 1 : NULL;
        bool takes_value = option->kind != TP_CLI_FLAG && option->kind != TP_CLI_SET;
        if (!takes_value && text != NULL)
            return tp_cli_refuse(usage, option->name, "takes no value");
        if (takes_value && text == NULL) {
            if (i + 1 >= argc)
                return tp_cli_refuse(usage, option->name, "a value is missing: %s", option->argument);
            text = argv[++i];
        }
        if (!parse_value(option, text, (char *)values + option->offset)) {
            char words[256];
            describe(option, words, sizeof words);
            return tp_cli_refuse(usage, option->name, "\"%s\" is not %s", text, words);
        }
        given[index] = true;
    }
    return check_required(usage, groups, given);
}
