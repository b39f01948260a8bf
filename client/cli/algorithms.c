/* `tickpath algorithms`: the registry's rows. */
#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "search/algorithm.h"

#include <stdio.h>

static const struct tp_cli_usage usage = {
    .command = "algorithms",
    .summary = "Lists the named algorithms: the name to type, the papers' title, the engine, the source.",
};

int tp_cli_algorithms(int argc, char **argv)
{
    const struct tp_cli_group groups[] = {{NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result != TP_CLI_GO_ON)
        return result;
    for (size_t i = 0; tp_algorithm_at(i) != NULL; i++) {
        const struct tp_algorithm *row = tp_algorithm_at(i);
        printf("%-8s %-10s %-14s %s\n%-8s %s\n", row->name, row->title, tp_engine_name(row->engine),
               row->citation, "", row->summary);
    }
    return TP_CLI_OK;
}
