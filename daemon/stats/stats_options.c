/* The options as they hold now, of the one table in daemon/config.h, into the object of /stats. What may be shown of each the table's module decides: a
 * secret does not come here. */
#include "daemon/stats/stats_internal.h"

#include "daemon/config.h"

#include <inttypes.h>

struct option_list {
    struct tp_text *text;
    const char *comma;
};

static void add_option(const struct tp_config_option *option, void *context)
{
    struct option_list *list = context;
    tp_text_add(list->text, "%s\"%s\":{\"live\":%s,", list->comma, option->name, option->is_live ? "true" : "false");
    switch (option->kind) {
    case TP_OPTION_IS_NUMBER:
        tp_text_add(list->text, "\"value\":%" PRIu64, option->number);
        break;
    case TP_OPTION_IS_TEXT:
        tp_text_add(list->text, "\"value\":");
        tp_text_add_quoted(list->text, option->text);
        break;
    case TP_OPTION_IS_SECRET:
        tp_text_add(list->text, "\"set\":%s", option->is_set ? "true" : "false");
        break;
    }
    tp_text_add(list->text, "}");
    list->comma = ",";
}

void tp__stats_add_options(struct tp_text *text, const struct tp_stats_source *source)
{
    struct option_list list = {.text = text, .comma = ""};
    tp_text_add(text, "{");
    if (source->config != NULL)
        tp_config_each(source->config, add_option, &list);
    tp_text_add(text, "}");
}
