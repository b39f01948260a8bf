/* Which scenario rows a command solves, and how long it tries: shared by bench and trace. */
#ifndef TP_CLI_ROWS_H
#define TP_CLI_ROWS_H

#include "client/cli/files.h"

/* Rows first, first + stride, first + 2 stride, ... of the file (row 0 is the first after the version line),
 * of those the rows whose optimal length lies in [min_optimal, max_optimal], of those the first `count`. */
struct tp_cli_rows {
    const char *map_path, *scen_path;
    uint64_t first, stride, count;
    double min_optimal, max_optimal; /* unit steps */
    uint64_t ticks_max;              /* after which a row is given up */
};

extern const struct tp_cli_option tp_cli_rows_options[];

void tp_cli_rows_init(struct tp_cli_rows *rows);

/* Loads the scenario, and gives the numbers of the rows chosen in *chosen (to be freed) and how many in *count,
 * at least one. Rows that are not for this map, and options that leave no row, are TP_CLI_FAILED after saying so;
 * nothing is then to be freed. */
int tp_cli_rows_load(const struct tp_cli_usage *usage, const struct tp_cli_rows *rows,
                     const struct tp_cli_map *map, struct tp_cli_scen *scen, size_t **chosen, size_t *count);

#endif
