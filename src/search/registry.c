#include "search/internal.h"

#include <string.h>

/* One line per named algorithm; its row stands in algorithms/NAME.c. */
extern const struct tp_algorithm tp__algorithm_tba, tp__algorithm_tbwa, tp__algorithm_tbgbfs, tp__algorithm_astar;

static const struct tp_algorithm *const rows[] = {
    &tp__algorithm_tba,
    &tp__algorithm_tbwa,
    &tp__algorithm_tbgbfs,
    &tp__algorithm_astar,
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const struct tp_algorithm *tp_algorithm_find(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

const struct tp_algorithm *tp_algorithm_at(size_t i)
{
    return i < ROWS ? rows[i] : NULL;
}

const char *tp_engine_name(const struct tp_engine *engine)
{
    return engine->name;
}
