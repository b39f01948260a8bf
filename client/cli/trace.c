/* `tickpath trace`: plays one scenario row and prints one JSON line a tick, for checkers and for `tickpath
 * draw`. */
#include "client/cli/commands.h"
#include "client/cli/play.h"
#include "client/cli/rows.h"

#include <stdio.h>
#include <stdlib.h>

static const struct tp_cli_option trace_options[] = {
    {"via", TP_CLI_HOST_PORT, 0, "HOST:PORT", "through this daemon (in-process)", 0, 0, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "trace",
    .summary = "Plays one row of a scenario and prints one JSON line a tick; line 0 is the start.",
    .notes = "The row is the first that --first, --stride, --min-optimal and --max-optimal leave.\n"
             "A row that has not arrived after --ticks-max ticks ends there.\n"
             "Keys: tick, x, y, move (forward, back, wait), status, expansions, traced, version.",
};

static void print_step(const struct tp_cli_step *step, void *context)
{
    const uint32_t *width = context;
    const char *move = !step->moved ? "wait" : step->flags & TP_FLAG_BACK_MOVE ? "back" : "forward";
    printf(
        "{\"tick\": %llu, \"x\": %u, \"y\": %u, \"move\": \"%s\", \"status\": \"%s\", \"expansions\": %llu, "
        "\"traced\": %llu, \"version\": %llu}\n",
        (unsigned long long)step->tick, step->cell % *width, step->cell / *width, move,
        tp_cli_status_name(step->status), (unsigned long long)step->expansions,
        (unsigned long long)step->traced, (unsigned long long)step->version);
}

static int trace_row(const struct tp_cli_search *search, const struct tp_cli_rows *rows,
                     const struct tp_cli_host_port *via, const struct tp_cli_map *map,
                     const struct tp_cli_map *known, const struct tp_movingai_row *row)
{
    uint32_t width = map->grid.width;
    struct tp_cli_problem problem = {
        .start = row->start_y * width + row->start_x,
        .goal = row->goal_y * width + row->goal_x,
    };
    struct tp_cli_play play = {
        .usage = &usage,
        .search = search,
        .map = map,
        .known = known,
        .map_path = rows->map_path,
        .via = via,
        .ticks_max = rows->ticks_max,
        .step_cb = print_step,
        .context = &width,
    };
    int result = tp_cli_play(&play, &problem, 1);
    if (result == TP_CLI_OK && (fflush(stdout) != 0 || ferror(stdout)))
        result = tp_cli_fail(&usage, "cannot write the trace");
    return result;
}

int tp_cli_trace(int argc, char **argv)
{
    struct tp_cli_search search;
    struct tp_cli_rows rows;
    struct tp_cli_host_port via = {.port = 0};
    tp_cli_search_init(&search);
    tp_cli_rows_init(&rows);
    const struct tp_cli_group groups[] = {
        {tp_cli_rows_options, &rows}, {tp_cli_search_options, &search}, {trace_options, &via}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result == TP_CLI_GO_ON)
        result = tp_cli_search_check(&usage, &search);
    if (result != TP_CLI_GO_ON)
        return result;
    struct tp_cli_map map, known = {.map = NULL};
    struct tp_cli_scen scen;
    size_t *chosen, count;
    result = tp_cli_map_load(&usage, rows.map_path, tp_cli_search_profile(&search), &map);
    if (result != TP_CLI_OK)
        return result;
    if (search.known != NULL)
        result = tp_cli_map_load(&usage, search.known, tp_cli_search_profile(&search), &known);
    rows.count = 1;
    if (result == TP_CLI_OK)
        result = tp_cli_rows_load(&usage, &rows, &map, &scen, &chosen, &count);
    if (result == TP_CLI_OK) {
        result = trace_row(&search, &rows, &via, &map, search.known != NULL ? &known : NULL,
                           &scen.rows[chosen[0]]);
        free(chosen);
        tp_cli_scen_fini(&scen);
    }
    if (known.map != NULL)
        tp_cli_map_fini(&known);
    tp_cli_map_fini(&map);
    return result;
}
