/* `tickpath trace`: plays one scenario row and prints one JSON line a tick, for checkers and for `tickpath
 * draw`. */
#include "client/cli/commands.h"
#include "client/cli/play.h"
#include "client/cli/rows.h"

#include <stdio.h>

static const struct tp_cli_option trace_options[] = {
    {"via", TP_CLI_HOST_PORT, 0, "HOST:PORT", "through this daemon (in-process)", 0, 0, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "trace",
    .summary = "Plays one problem and prints one JSON line a tick; line 0 is the start.",
    .notes = "The row is the first that --first, --stride, --min-optimal and --max-optimal leave.\n"
             "A row that has not arrived after --ticks-max ticks ends there.\n"
             "Keys: tick, x, y (on a graph: node; of a puzzle: node, the state by number), move (forward, "
             "back, wait), status, expansions, traced, "
             "guide_expansions,\nversion; with --bounded bound_milli (0: nothing is proved);\n"
             "of a vehicle vx and vy as well.\n"
             "Exit status 0: the row was played, to its goal or not; 1: a file can't be read, no row is left, or the\n"
             "daemon can't be reached or refuses; 2: the command line is wrong, or its options do not go together.",
};

/* How a step is printed. */
struct printer {
    uint32_t width; /* of the grid; 0: a graph */
    bool is_vehicle;
    bool is_bounded;
};

static void print_step(const struct tp_cli_step *step, void *context)
{
    const struct printer *printer = context;
    const char *move = !step->moved ? "wait" : step->flags & TP_FLAG_BACK_MOVE ? "back" : "forward";
    printf("{\"tick\": %llu, ", (unsigned long long)step->tick);
    if (printer->width > 0)
        printf("\"x\": %u, \"y\": %u", step->cell % printer->width, step->cell / printer->width);
    else
        printf("\"node\": %u", step->cell);
    if (printer->is_vehicle)
        printf(", \"vx\": %d, \"vy\": %d", step->vx, step->vy);
    printf(", \"move\": \"%s\", \"status\": \"%s\", \"expansions\": %llu, \"traced\": %llu, "
           "\"guide_expansions\": %llu, \"version\": %llu",
           move, tp_status_name(step->status), (unsigned long long)step->expansions,
           (unsigned long long)step->traced, (unsigned long long)step->guide, (unsigned long long)step->version);
    if (printer->is_bounded)
        printf(", \"bound_milli\": %u", step->bound_milli);
    printf("}\n");
}

static int trace_pair(const struct tp_cli_search *search, const struct tp_cli_rows *rows,
                      const struct tp_cli_host_port *via, const struct tp_cli_space *space,
                      const struct tp_cli_map *known)
{
    struct printer printer = {.width = space->map.grid.width,
                              .is_vehicle = search->motion == TP_MOTION_INERTIA,
                              .is_bounded = search->bounded};
    struct tp_cli_problem problem = {.start = space->pairs[0].start, .goal = space->pairs[0].goal};
    struct tp_cli_map puzzle = {.map = space->pairs[0].map};
    struct tp_cli_play play = {
        .usage = &usage,
        .search = search,
        .map = puzzle.map != NULL ? &puzzle : &space->map,
        .known = known,
        .map_path = space->path,
        .via = via,
        .ticks_max = rows->ticks_max,
        .step_cb = print_step,
        .context = &printer,
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
        {tp_cli_map_options, &rows}, {tp_cli_rows_options, &rows}, {tp_cli_search_options, &search}, {trace_options, &via}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result == TP_CLI_GO_ON)
        result = tp_cli_search_check(&usage, &search);
    if (result == TP_CLI_GO_ON)
        result = tp_cli_rows_check(&usage, &rows, &via);
    if (result != TP_CLI_GO_ON)
        return result;
    struct tp_cli_space space;
    struct tp_cli_map known = {.map = NULL};
    rows.count = 1;
    result = tp_cli_space_load(&usage, &rows, &search, &space);
    if (result != TP_CLI_OK)
        return result;
    if (search.known != NULL)
        result = tp_cli_map_load(&usage, search.known, tp_cli_search_profile(&search), &known);
    if (result == TP_CLI_OK)
        result = trace_pair(&search, &rows, &via, &space, search.known != NULL ? &known : NULL);
    if (known.map != NULL)
        tp_cli_map_fini(&known);
    tp_cli_space_fini(&space);
    return result;
}
