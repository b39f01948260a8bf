/* Command-line options as tables, read by one parser that all commands of the tool share.
 *
 * What it is: a command describes its options in static tables (name, kind, place in a struct, bounds, help)
 * and hands them in as groups, so that several commands share a group (cli/search_options.h). The same tables
 * print
 * `--help`.
 * What it refuses: an option that no table holds, a value outside the bounds, a value missing, a required
 * option not given, a word that is not an option. Each refusal names the option on stderr. Who calls it: the
 * commands, once, at their start.
 *
 * `--name value` and `--name=value` mean the same; a later one wins over an earlier one; `--help` prints the
 * help.
 */
#ifndef TP_CLI_OPTIONS_H
#define TP_CLI_OPTIONS_H

#include "map/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of the tool. */
enum tp_cli_exit {
    TP_CLI_OK = 0,
    TP_CLI_FAILED = 1, /* the work could not be done, or a check failed */
    TP_CLI_USAGE = 2,  /* the command line is wrong */
};

enum tp_cli_option_kind {
    TP_CLI_FLAG,   /* bool; takes no value */
    TP_CLI_SET,    /* int, becomes min; takes no value */
    TP_CLI_STRING, /* const char *, borrowed from argv */
    TP_CLI_UINT,   /* uint64_t in min..max */
    TP_CLI_BUDGET, /* like UINT, and the word "unlimited" means max */
    TP_CLI_MILLI,  /* uint32_t, thousandths: a decimal with at most 3 decimals; min and max in thousandths */
    TP_CLI_REAL,   /* double, finite, min..max */
    TP_CLI_CHOICE, /* int, one of `choices` */
    TP_CLI_SIZE,   /* uint32_t[2]: WIDTHxHEIGHT, each side in min..max */
    TP_CLI_HOST_PORT, /* struct tp_cli_host_port: HOST:PORT or [IPV6]:PORT */
    TP_CLI_ADDRESSES, /* struct tp_cli_addresses: one HOST:PORT or more, parted by commas */
    TP_CLI_TERRAIN,   /* struct tp_cli_terrain: CHAR=WEIGHT,... on top of the benchmarks' profile; @FILE: lines of that */
};

struct tp_cli_choice {
    const char *word; /* NULL ends the list */
    int value;
};

enum { TP_CLI_HOST_MAX = 255 }; /* bytes of a host's name */

struct tp_cli_host_port {
    char host[TP_CLI_HOST_MAX + 1]; /* empty: not given */
    uint16_t port;
};

struct tp_cli_addresses {
    const char *list; /* as given, borrowed from argv; NULL: not given */
    size_t count;
    struct tp_cli_host_port first;
};

/* The fields stand in the order in which a table's row reads best. */
struct tp_cli_option { /* NOLINT(clang-analyzer-optin.performance.Padding) */
    const char *name;  /* without dashes; NULL ends a table */
    enum tp_cli_option_kind kind;
    size_t offset;        /* where the value goes, in the group's struct */
    const char *argument; /* the value's word in usage lines, such as FILE; NULL for a flag */
    const char *help;     /* one line; says the default */
    uint64_t min, max;    /* bounds of the numbers, in their unit; REAL has them as whole numbers */
    const struct tp_cli_choice *choices; /* of a CHOICE */
    bool required;
};

/* A table and the struct its values go to. The struct holds the defaults before parsing. */
struct tp_cli_group {
    const struct tp_cli_option *options;
    void *values;
};

enum { TP_CLI_GROUPS_MAX = 4, TP_CLI_GO_ON = -1 };

struct tp_cli_usage {
    const char *command; /* as typed after `tickpath`, such as "map generate" */
    const char *summary; /* one line */
    const char *notes;   /* more lines for --help, NULL for none */
};

/* Parses argv[1..]; argv[0] is the command's own word. Gives TP_CLI_GO_ON when the command should run, else
 * the exit code to return at once: TP_CLI_OK after `--help`, TP_CLI_USAGE after a refusal. Writes the values;
 * strings are borrowed from argv. `groups` ends with an entry whose options are NULL. */
int tp_cli_parse(const struct tp_cli_usage *usage, const struct tp_cli_group *groups, int argc, char **argv);

/* Reads HOST:PORT or [IPV6]:PORT. False: it is neither; *place may be half written. */
bool tp_cli_read_host_port(const char *text, struct tp_cli_host_port *place);

/* Says on stderr what is wrong with an option, as the parser does, and gives TP_CLI_USAGE. */
int tp_cli_refuse(const struct tp_cli_usage *usage, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says on stderr why the command failed, and gives TP_CLI_FAILED. */
int tp_cli_fail(const struct tp_cli_usage *usage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Says on stderr what looks wrong; the command goes on. */
void tp_cli_warn(const struct tp_cli_usage *usage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A profile that an option gave. */
struct tp_cli_terrain {
    bool given;
    struct tp_profile profile;
};

#endif
