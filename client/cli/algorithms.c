/* `tickpath algorithms`: the registry's rows. */
#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "search/algorithm.h"
#include "search/session.h"

#include <stdio.h>
#include <string.h>

static const struct tp_cli_usage usage = {
    .command = "algorithms",
    .summary = "Lists the named algorithms: the name to type, the papers' title, the engine, the source; what it\n"
               "does, and when a changed map begins a new search of its (--restart takes other rules).",
};

static int longer(int width, const char *word)
{
    return (int)strlen(word) > width ? (int)strlen(word) : width;
}

/* When a changed map begins a new search: as --restart spells it. */
static const char *const rule_words[] = {
    [TP_RESTART_NEVER] = "never", [TP_RESTART_EAGER] = "eager", [TP_RESTART_LAZY] = "lazy", [TP_RESTART_ON_RISE] = "on-rise"};

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
        printf("%-*s  %s; restart: %s%s", name, "", row->summary, rule_words[row->restart],
               row->capabilities & TP_CAN_RESTART_BY_RULE ? ", or any rule" : ", or eager");
        if (row->unled)
            printf("; w: %g%s; where it is not led: as %s", row->w_milli / 1000.0,
                   row->pause_on_backtrack ? "; pauses on backtrack" : "", row->unled->name);
        printf("%s\n", strcmp(row->name, TP_ALGORITHM_DEFAULT) == 0 ? " (the default)" : "");
    }
    return TP_CLI_OK;
}
