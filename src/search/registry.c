#include "search/internal.h"

#include <string.h>

/* One line per named algorithm, in the order of listings; its row stands in algorithms/NAME.c. */
#define ALGORITHMS(X)                                                                                         \
    X(tba)                                                                                                    \
    X(tbwa)                                                                                                   \
    X(tbrwa)                                                                                                  \
    X(tbgbfs)                                                                                                 \
    X(rtbwa)                                                                                                  \
    X(guided)                                                                                                 \
    X(rtba)                                                                                                   \
    X(tbaa)                                                                                                   \
    X(astar)                                                                                                  \
    X(wastar)                                                                                                 \
    X(rastar)                                                                                                 \
    X(aastar)                                                                                                 \
    X(lrta)                                                                                                   \
    X(plrta)                                                                                                  \
    X(lss)                                                                                                    \
    X(lsswa)                                                                                                  \
    X(rtaa)                                                                                                   \
    X(dartaa)                                                                                                 \
    X(dstarlite)                                                                                              \
    X(late)

#define DECLARE(name) extern const struct tp_algorithm tp__algorithm_##name;
#define ROW(name) &tp__algorithm_##name,
ALGORITHMS(DECLARE)

static const struct tp_algorithm *const rows[] = {ALGORITHMS(ROW)};

enum { ROWS = sizeof rows / sizeof rows[0] };
_Static_assert((int)ROWS <= (int)TP_ALGORITHMS_MAX, "more rows than room where they are counted");

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

size_t tp_algorithm_index(const struct tp_algorithm *algorithm)
{
    size_t i = 0;
    while (rows[i] != algorithm)
        i++;
    return i;
}

const char *tp_engine_name(const struct tp_engine *engine)
{
    return engine->name;
}

const char *tp_status_name(uint32_t status)
{
    static const char *const names[] = {
        "NONE",
        [TP_STATUS_MOVING] = "MOVING",
        [TP_STATUS_SEARCHING] = "SEARCHING",
        [TP_STATUS_BLOCKED] = "BLOCKED",
        [TP_STATUS_ARRIVED] = "ARRIVED",
        [TP_STATUS_UNREACHABLE] = "UNREACHABLE",
    };
    return status < sizeof names / sizeof names[0] ? names[status] : "UNKNOWN";
}
