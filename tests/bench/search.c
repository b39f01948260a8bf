/* A*, measured: searches to their end, each timed by itself.
 *
 *     search exact|bucket MAP.map ROWS.scen
 *
 * Solves every row of the scenario by a session of its own, the whole search in one tick, all from one pool: what is timed is that tick, from
 * the root's entry to the path traced and the first move made. Prints one JSON object: for each row its expansions, its CPU time in
 * nanoseconds, and the cost of its path in unit steps (that of the whole walk, which is not timed). Exit code 2: it could not be run. */
#include "search/session.h"
#include "tests/bench/bench.h"

#include <string.h>
#include <time.h>

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

struct row {
    uint64_t expansions;
    double ns, cost;
};

static struct row solve(const struct tp_session_params *params, const struct tp_map *map, struct tp_pool *pool)
{
    struct tp_session *session;
    struct tp_refusal refusal;
    struct tp_tick_reply reply;
    must(tp_session_open(&session, params, map, pool, &refusal), "can't open a session");
    double began = now_ns();
    tp_session_tick(session, map, NULL, &reply);
    struct row row = {.expansions = reply.work.expansions, .ns = now_ns() - began};
    while (reply.status == TP_STATUS_MOVING)
        tp_session_tick(session, map, NULL, &reply);
    if (reply.status != TP_STATUS_ARRIVED)
        give_up("a row has no path");
    row.cost = (double)reply.cost / TP_COST_UNIT;
    tp_session_close(session);
    return row;
}

static void print(const char *name, const char *end, const double *values, size_t count)
{
    printf("\"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%.6f", i ? ", " : "", values[i]);
    printf("]%s", end);
}

int main(int argc, char **argv)
{
    bool is_bucket = argc > 1 && strcmp(argv[1], "bucket") == 0;
    if (argc != 4 || (!is_bucket && strcmp(argv[1], "exact") != 0))
        give_up("search exact|bucket MAP.map ROWS.scen");
    const struct tp_cli_usage usage = {.command = "search"};
    struct tp_cli_scen scen;
    struct tp_map *map = load("search", argv[2], 0);
    if (tp_cli_scen_load(&usage, argv[3], &scen))
        exit(2);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("astar");
    params.open_list = is_bucket ? TP_OPEN_LIST_BUCKET : TP_OPEN_LIST_EXACT;
    params.budget = tp_budget_k(1000000000);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    double *expansions = take(scen.count, sizeof *expansions), *ns = take(scen.count, sizeof *ns), *cost = take(scen.count, sizeof *cost);
    for (size_t i = 0; i < scen.count; i++) {
        const struct tp_movingai_row *row = &scen.rows[i];
        params.start = row->start_y * map->width + row->start_x;
        params.goal = row->goal_y * map->width + row->goal_x;
        struct row solved = solve(&params, map, &pool);
        expansions[i] = (double)solved.expansions;
        ns[i] = solved.ns;
        cost[i] = solved.cost;
    }
    printf("{");
    print("expansions", ", ", expansions, scen.count);
    print("ns", ", ", ns, scen.count);
    print("cost", "}\n", cost, scen.count);
    free(expansions);
    free(ns);
    free(cost);
    tp_pool_fini(&pool);
    tp_cli_scen_fini(&scen);
    tp_map_unref(map);
    return 0;
}
