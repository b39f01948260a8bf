#include "client/cli/rows.h"

#include "client/cli/play.h"

#include <float.h>
#include <stdlib.h>

#define AT(field) offsetof(struct tp_cli_rows, field)

const struct tp_cli_option tp_cli_rows_options[] = {
    {"map", TP_CLI_STRING, AT(map_path), "FILE", "map, MovingAI .map", 0, 0, NULL, true},
    {"scen", TP_CLI_STRING, AT(scen_path), "FILE", "scenario, MovingAI .scen", 0, 0, NULL, true},
    {"first", TP_CLI_UINT, AT(first), "N", "first row of the file to take (0)", 0, UINT64_MAX, NULL, false},
    {"stride", TP_CLI_UINT, AT(stride), "N", "take every Nth row (1)", 1, UINT64_MAX, NULL, false},
    {"count", TP_CLI_UINT, AT(count), "N", "take at most N of the rows left (all)", 1, UINT64_MAX, NULL,
     false},
    {"min-optimal", TP_CLI_REAL, AT(min_optimal), "X", "leave out rows with a shorter optimal length", 0,
     1000000000, NULL, false},
    {"max-optimal", TP_CLI_REAL, AT(max_optimal), "X", "leave out rows with a longer optimal length", 0,
     1000000000, NULL, false},
    {"ticks-max", TP_CLI_UINT, AT(ticks_max), "N", "give a row up after so many ticks (100000000)", 1,
     TP_CLI_TICKS_MAX, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

void tp_cli_rows_init(struct tp_cli_rows *rows)
{
    *rows = (struct tp_cli_rows){
        .stride = 1, .count = UINT64_MAX, .max_optimal = DBL_MAX, .ticks_max = TP_CLI_TICKS_MAX};
}

static int choose(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                  const struct tp_cli_scen *scen, size_t **chosen, size_t *count)
{
    *count = 0;
    *chosen = calloc(scen->count + 1, sizeof **chosen);
    if (*chosen == NULL)
        return tp_cli_fail(usage, "out of memory");
    for (uint64_t i = rows->first; i < scen->count && *count < rows->count; i += rows->stride) {
        double optimal = scen->rows[i].optimal;
        if (optimal >= rows->min_optimal && optimal <= rows->max_optimal)
            (*chosen)[(*count)++] = (size_t)i;
        if (rows->stride > scen->count)
            break; /* and no sum can wrap */
    }
    if (*count == 0)
        return tp_cli_fail(usage, "no row of %s is left by the options; it has %zu", rows->scen_path,
                           scen->count);
    return TP_CLI_OK;
}

int tp_cli_rows_load(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                     const struct tp_cli_map *map, struct tp_cli_scen *scen, size_t **chosen, size_t *count)
{
    int result = tp_cli_scen_load(usage, rows->scen_path, scen);
    if (result != TP_CLI_OK)
        return result;
    result = choose(usage, rows, scen, chosen, count);
    if (result == TP_CLI_OK)
        result = tp_cli_scen_check(usage, scen, *chosen, *count, map, rows->map_path);
    if (result != TP_CLI_OK) {
        free(*chosen);
        *chosen = NULL;
        tp_cli_scen_fini(scen);
    }
    return result;
}
