/* The tool `tickpath`: one table of commands. To add one: a function in a file of its own, a line here. */
#include "base/check.h"
#include "base/version.h"
#include "client/cli/commands.h"
#include "client/cli/draw.h"
#include "client/cli/generate.h"
#include "client/cli/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct command {
    const char *word, *second; /* as typed; second NULL where one word is all */
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's last word */
};

static const struct command commands[] = {
    {"bench", NULL, "solve scenario rows and print means", tp_cli_bench},
    {"trace", NULL, "play one scenario row, one JSON line a tick", tp_cli_trace},
    {"run", NULL, "walk many agents through a daemon while doors open and close", tp_cli_run},
    {"load", NULL, "put a load on a daemon at a fixed rate, and measure", tp_cli_load},
    {"list", NULL, "list a daemon's maps, or its sessions by their status", tp_cli_list},
    {"watch", NULL, "print the changes of a daemon's map as they come", tp_cli_watch},
    {"inspect", NULL, "look into a session's search: JSON and a picture", tp_cli_inspect},
    {"health", NULL, "ask a daemon whether it serves", tp_cli_health},
    {"map", "generate", "make a map", tp_cli_generate},
    {"draw", NULL, "draw a map and a trace", tp_cli_draw},
    {"report", NULL, "run the papers' experiments and write a page", tp_cli_report},
    {"algorithms", NULL, "list the named algorithms", tp_cli_algorithms},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* The commands, or those of one first word; NULL for all. */
static void print_help(FILE *out, const char *first)
{
    fprintf(out, "usage: tickpath %s%sCOMMAND [options]\n\ncommands:\n", first != NULL ? first : "",
            first != NULL ? " " : "");
    for (size_t i = 0; i < COMMANDS; i++) {
        char words[32];
        if (first != NULL && strcmp(first, commands[i].word) != 0)
            continue;
        snprintf(words, sizeof words, "%s%s%s", commands[i].word, commands[i].second != NULL ? " " : "",
                 commands[i].second != NULL ? commands[i].second : "");
        fprintf(out, "  %-14s %s\n", words, commands[i].summary);
    }
    fprintf(
        out,
        "\n`tickpath COMMAND --help` lists a command's options; `tickpath --version` says the version.\n");
}

static void print_failed_check(const char *condition, const char *file, int line)
{
    fprintf(stderr, "tickpath: check failed: %s (%s:%d)\n", condition, file, line);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
    tp_check_failed_cb = print_failed_check;
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        printf("tickpath %s\n", TP_VERSION);
        return TP_CLI_OK;
    }
    if (is_help(word) && argc == 2) {
        print_help(stdout, NULL);
        return TP_CLI_OK;
    }
    if (is_help(word)) { /* `help COMMAND` is `COMMAND --help` */
        static char help[] = "--help";
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
        argv[argc - 1] = help;
        word = argv[1];
    }
    const char *first = NULL; /* a first word that needs a second */
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(word, commands[i].word) != 0)
            continue;
        int words = commands[i].second != NULL ? 2 : 1;
        if (words == 1 || (argc > 2 && strcmp(argv[2], commands[i].second) == 0))
            return commands[i].run(argc - words, argv + words);
        first = word;
    }
    if (first != NULL && argc > 2 && is_help(argv[2])) {
        print_help(stdout, first);
        return TP_CLI_OK;
    }
    if (first != NULL && argc > 2)
        fprintf(stderr, "tickpath: unknown command \"%s %s\"\n", first, argv[2]);
    else if (first == NULL && argc > 1)
        fprintf(stderr, "tickpath: unknown command \"%s\"\n", word);
    print_help(stderr, first);
    return TP_CLI_USAGE;
}
