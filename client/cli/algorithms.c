/* `tickpath algorithms`: the registry's rows. */
#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "search/algorithm.h"

#include <stdio.h>
#include <string.h>

static const struct tp_cli_usage usage = {
    .command = "algorithms",
    .summary = "Lists the named algorithms: the name to type, the papers' title, the engine, the source.",
};

static int longer(int width, const char *word)
{
    return (int)strlen(word) > width ? (int)strlen(word) : width;
}

int tp_cli_algorithms(int argc, char **argv)
{
    const struct tp_cli_group groups[] = {{NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result != TP_CLI_GO_ON)
        return result;
    const struct tp_algorithm *row;
    int name = 0, title = 0, engine = 0; /* widths; all words are ASCII */
    for (size_t i = 0; (row = tp_algorithm_at(i)) != NULL; i++) {
        name = longer(name, row->name);
        title = longer(title, row->title);
        engine = longer(engine, tp_engine_name(row->engine));
    }
    for (size_t i = 0; (row = tp_algorithm_at(i)) != NULL; i++) {
        printf("%-*s  %-*s  %-*s  %s\n", name, row->name, title, row->title, engine, tp_engine_name(row->engine),
               row->citation);
        printf("%-*s  %s\n", name, "", row->summary);
    }
    return TP_CLI_OK;
}
