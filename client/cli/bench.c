/* `tickpath bench`: solves scenario rows and prints means over those solved. */
#include "client/cli/commands.h"
#include "client/cli/play.h"
#include "client/cli/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_options {
    struct tp_cli_host_port via;
    bool json;
};

#define AT(field) offsetof(struct bench_options, field)

static const struct tp_cli_option bench_options[] = {
    {"via", TP_CLI_HOST_PORT, AT(via), "HOST:PORT", "through this daemon, a session a row (in-process)", 0, 0,
     NULL, false},
    {"json", TP_CLI_FLAG, AT(json), NULL, "print one JSON object", 0, 0, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "bench",
    .summary = "Solves rows of a scenario, or other problems, and prints means over the rows solved.",
    .notes =
        "A row that has not arrived after --ticks-max ticks is given up: it counts in n and not in solved.\n"
        "Budget: one of --k, --R (with --r, --c) and --deadline-us; default R = 100, r = 0.9, c = 10.\n"
        "A row whose start or goal is blocked, or whose goal is out of reach, counts in n and not in\n"
        "solved. cost and optimal are in unit steps; optimal is the scenario's, which is for 8 neighbours,\n"
        "both corner cells free and weights of 1, whatever the options say; subopt is the mean of cost /\n"
        "optimal; nonopt is moves less the moves of an optimal path (8 neighbours, weights of 1 only);\n"
        "max_exp is the largest number of expansions in one tick; guide_expansions are the units that guided\n"
        "pays beside them (--guide-units), nodes of the block graph expanded; restarts leave out the first search;\n"
        "flips are the times the path followed was left for one that does not go on from it. With --bounded: bound is\n"
        "the mean of the bounds on the cost that were proved on arrival, proven the share of rows solved whose bound was\n"
        "1.000: their walk was a cheapest. With\n"
        "--via every figure but the times is the same. Where no scenario tells the optimal length (a graph, "
        "a\n"
        "vehicle, --from, --random) it is that of A* without a limit, which is run for it in-process. On a "
        "graph\n"
        "costs are in the unit of its edges.\n"
        "Exit status 0: the figures are printed, be all rows solved or none; 1: a file can't be read, no row is\n"
        "left, or the daemon can't be reached or refuses; 2: the command line is wrong, or its options do not\n"
        "go together.",
};

/* What is printed. Means over the rows solved. */
struct figures {
    const char *algorithm;
    size_t n, solved;
    double cost, moves, ticks, expansions, guide, back, nonopt, restarts, flips, optimal, subopt;
    uint64_t expansions_max;
    double ns_per_expansion, bytes_per_session;
    double bytes_per_state; /* peak memory over states in the tree at the end; in-process only */
    bool has_nonopt;
    bool has_own_optimal; /* A* told it, for these moves */
    bool is_graph;        /* costs are not in unit steps */
    bool is_like;         /* the scenario's optimal length is for moves and weights such as these */
    size_t start_blocked, goal_blocked, unreachable, gave_up; /* why rows were not solved */
    bool is_bounded;
    double bound;  /* proved on arrival: mean over the rows where one was, */
    size_t bounds; /* so many */
    double proven; /* the share of the rows solved whose bound is 1.000 */
    size_t too_good; /* rows solved below the scenario's optimal length */
};

/* A* to its end, in-process: the optimal cost; and with 8 neighbours, the moves of an optimal path, as the optimal cost has
 * one pair of counts of straight and diagonal steps alone, so that any optimal path will do. */
static int play_optimal(const struct tp_cli_play *play, struct tp_cli_problem *problems, size_t count)
{
    struct tp_cli_search search;
    tp_cli_search_init(&search);
    search.algorithm = "astar";
    search.k = 1000000000;
    search.neighbours = play->search->neighbours;
    search.corners = play->search->corners;
    search.motion = play->search->motion;
    search.start_velocity = play->search->start_velocity;
    search.profile = play->search->profile;
    search.agent_size = play->search->agent_size;
    struct tp_cli_play astar = {.usage = play->usage, .search = &search, .map = play->map};
    return tp_cli_play(&astar, problems, count);
}

static struct figures sum_up(const struct tp_cli_problem *problems, const struct tp_cli_problem *optimal,
                             const double *lengths, size_t count, uint32_t cost_unit)
{
    struct figures f = {.has_nonopt = optimal != NULL};
    double expansions_all = 0, touched_all = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tp_cli_problem *p = &problems[i];
        expansions_all += (double)p->expansions;
        f.unreachable += p->outcome == TP_CLI_UNREACHABLE;
        f.gave_up += p->outcome == TP_CLI_GAVE_UP;
        if (p->outcome != TP_CLI_ARRIVED)
            continue;
        double cost = (double)p->cost / cost_unit;
        f.solved++;
        f.cost += cost;
        f.moves += (double)p->moves;
        f.ticks += (double)p->ticks;
        f.expansions += (double)p->expansions;
        f.guide += (double)p->guide;
        f.bound += p->bound_milli / 1000.0;
        f.bounds += p->bound_milli > 0;
        f.proven += p->bound_milli == 1000;
        f.back += (double)p->back_moves;
        f.restarts += (double)p->restarts;
        f.flips += (double)p->flips;
        f.optimal += lengths[i];
        f.subopt += lengths[i] > 0 ? cost / lengths[i] : 1;
        f.too_good += cost < lengths[i] * (1 - 1e-4);
        f.bytes_per_session += (double)p->bytes_peak;
        touched_all += (double)p->touched;
        f.bytes_per_state += (double)p->bytes_peak;
        if (optimal != NULL)
            f.nonopt += (double)p->moves - (double)optimal[i].moves;
        if (p->expansions_max > f.expansions_max)
            f.expansions_max = p->expansions_max;
    }
    double *means[] = {&f.cost,     &f.moves,   &f.ticks,  &f.expansions, &f.guide,        &f.back,
                       &f.restarts, &f.optimal, &f.subopt, &f.bytes_per_session, &f.nonopt, &f.flips, &f.proven};
    for (size_t i = 0; i < sizeof means / sizeof means[0] && f.solved > 0; i++)
        *means[i] /= (double)f.solved;
    f.bound /= f.bounds > 0 ? (double)f.bounds : 1;
    f.bytes_per_state = touched_all > 0 ? f.bytes_per_state / touched_all : 0;
    f.ns_per_expansion = expansions_all > 0 ? 1e9 / expansions_all : 0; /* times the seconds, by the caller */
    return f;
}

static void print_json(const struct figures *f)
{
    printf("{\"alg\": \"%s\", \"n\": %zu, \"solved\": %zu", f->algorithm, f->n, f->solved);
    const struct {
        const char *key;
        double value;
        bool known;
    } numbers[] = {
        {"cost", f->cost, true},
        {"moves", f->moves, true},
        {"ticks", f->ticks, true},
        {"expansions", f->expansions, true},
        {"guide_expansions", f->guide, true},
        {"back", f->back, true},
        {"nonopt", f->nonopt, f->has_nonopt},
        {"restarts", f->restarts, true},
        {"flips", f->flips, true},
        {"optimal", f->optimal, true},
        {"subopt", f->subopt, true},
        {"ns_per_expansion", f->ns_per_expansion, f->ns_per_expansion > 0},
        {"bytes_per_session", f->bytes_per_session, true},
        {"bytes_per_state", f->bytes_per_state, f->bytes_per_state > 0},
        {"bound", f->bound, f->bounds > 0},
        {"proven", f->proven, f->is_bounded},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(numbers[i].key, "optimal") == 0)
            printf(", \"max_exp\": %llu", (unsigned long long)f->expansions_max);
        if (numbers[i].known && f->solved > 0)
            printf(", \"%s\": %.6f", numbers[i].key, numbers[i].value);
        else
            printf(", \"%s\": null", numbers[i].key);
    }
    printf("}\n");
}

static void print_table(const struct figures *f)
{
    printf("%-18s %s\n", "algorithm", f->algorithm);
    printf("%-18s %zu of %zu\n", "solved", f->solved, f->n);
    if (f->solved == 0)
        return;
    printf("%-18s %.3f (optimal %.3f, suboptimality %.4f%s)\n", f->is_graph ? "cost (of edges)" : "cost",
           f->cost, f->optimal, f->subopt,
           f->is_like || f->has_own_optimal
               ? ""
               : "; optimal is the scenario's, for 8 neighbours, both corners free, weights of 1");
    if (f->is_bounded)
        printf("%-18s %.4f on arrival; %.0f of %zu walks proved to be the cheapest\n", "bound", f->bound, f->proven * (double)f->solved, f->solved);
    printf("%-18s %.2f in %.2f ticks\n", "moves", f->moves, f->ticks);
    printf("%-18s %.2f\n", "back-moves", f->back);
    if (f->has_nonopt)
        printf("%-18s %.2f\n", "non-optimal moves", f->nonopt);
    printf("%-18s %.1f, at most %llu in a tick\n", "expansions", f->expansions,
           (unsigned long long)f->expansions_max);
    if (f->guide > 0)
        printf("%-18s %.1f units beside them\n", "guide", f->guide);
    printf("%-18s %.2f\n", "restarts", f->restarts);
    printf("%-18s %.2f\n", "flips", f->flips);
    printf("%-18s %.1f ns per expansion\n", "time", f->ns_per_expansion);
    printf("%-18s %.0f bytes per session\n", "memory", f->bytes_per_session);
    if (f->bytes_per_state > 0)
        printf("%-18s %.2f bytes per state touched\n", "", f->bytes_per_state);
}

/* Says on stderr what the figures alone do not tell. */
static void print_doubts(const struct figures *f, const char *scen_path, uint64_t ticks_max)
{
    if (f->solved > 0 && f->gave_up > 0)
        tp_cli_warn(&usage, "%zu of %zu rows were given up after %llu ticks (--ticks-max)", f->gave_up, f->n,
                    (unsigned long long)ticks_max);
    if (f->solved == 0)
        tp_cli_warn(&usage,
                    "no row was solved: of %zu rows %zu have a blocked start, %zu a blocked goal, %zu are "
                    "unreachable, %zu were given up",
                    f->n, f->start_blocked, f->goal_blocked, f->unreachable, f->gave_up);
    if (f->is_like && !f->has_own_optimal && f->too_good > 0)
        tp_cli_warn(&usage,
                    "%s does not fit the map: %zu of %zu rows were solved at less than their optimal length",
                    scen_path, f->too_good, f->solved);
}

/* Whether the options describe A* without a limit: then the run itself tells the optimal moves. */
static bool is_unlimited_astar(const struct tp_cli_search *search)
{
    return strcmp(search->algorithm, "astar") == 0 && search->k >= 1000000000 &&
           search->heuristic == TP_HEURISTIC_DEFAULT; /* EUCLID is not consistent for vehicles */
}

/* What a bench works on. */
struct bench {
    struct tp_cli_problem *problems, *optimal; /* rows with both ends free; and as A* plays them */
    double *lengths;
    size_t played, start_blocked, goal_blocked;
};

static bool is_blocked(const struct tp_map *map, uint32_t cell)
{
    return map != NULL && map->graph == NULL && !tp_map_passable(map, cell % map->width, cell / map->width);
}

/* Rows with both ends free are played; the others only count. */
static int take_rows(const struct tp_cli_space *space, struct bench *bench)
{
    bench->problems = calloc(2 * space->count + 1, sizeof *bench->problems);
    bench->lengths = calloc(space->count + 1, sizeof *bench->lengths);
    if (bench->problems == NULL || bench->lengths == NULL)
        return tp_cli_fail(&usage, "out of memory");
    bench->optimal = bench->problems + space->count;
    for (size_t i = 0; i < space->count; i++) {
        const struct tp_cli_pair *pair = &space->pairs[i];
        if (is_blocked(space->map.map, pair->start)) {
            bench->start_blocked++;
            continue;
        }
        if (is_blocked(space->map.map, pair->goal)) {
            bench->goal_blocked++;
            continue;
        }
        bench->problems[bench->played].start = bench->optimal[bench->played].start = pair->start;
        bench->problems[bench->played].goal = bench->optimal[bench->played].goal = pair->goal;
        bench->lengths[bench->played++] = pair->optimal;
    }
    return TP_CLI_OK;
}

static void print(const struct figures *f, const struct bench_options *options)
{
    if (options->json)
        print_json(f);
    else
        print_table(f);
    fflush(stdout);
}

/* 15-puzzles: each a map of its own, every move of cost 1, the optimal lengths told. */
static int bench_puzzles(struct tp_cli_play *play, const struct bench_options *options,
                         const struct tp_cli_space *space, struct bench *bench)
{
    double seconds = 0;
    int result = TP_CLI_OK;
    for (size_t i = 0; i < bench->played && result == TP_CLI_OK; i++) {
        const struct tp_cli_map puzzle = {.map = space->pairs[i].map};
        play->map = &puzzle;
        result = tp_cli_play(play, &bench->problems[i], 1);
        seconds += play->seconds;
        bench->optimal[i].moves = (uint64_t)bench->lengths[i];
    }
    if (result != TP_CLI_OK)
        return result;
    struct figures f =
        sum_up(bench->problems, bench->optimal, bench->lengths, bench->played, space->cost_unit);
    f.n = space->count;
    f.is_like = true;
    f.algorithm = play->search->algorithm;
    f.ns_per_expansion *= seconds;
    print(&f, options);
    print_doubts(&f, space->path, play->ticks_max);
    return TP_CLI_OK;
}

/* Plays the rows chosen and prints the figures. */
static int bench_rows(const struct tp_cli_search *search, const struct bench_options *options,
                      const struct tp_cli_rows *rows, const struct tp_cli_space *space,
                      const struct tp_cli_map *known, struct bench *bench)
{
    struct tp_cli_play play = {
        .usage = &usage,
        .search = search,
        .map = &space->map,
        .known = known,
        .map_path = space->path,
        .via = &options->via,
        .ticks_max = rows->ticks_max,
    };
    const struct tp_map *map = space->map.map; /* NULL: puzzles */
    if (map == NULL)
        return bench_puzzles(&play, options, space, bench);
    bool is_graph = map->graph != NULL, by_steps = !is_graph && search->motion == TP_MOTION_STEPS;
    struct tp_layer_kind kind;
    bool is_layered = tp_cli_search_layer(search, map, &kind);
    bool is_weighted = is_layered ? tp_profile_largest_weight(&kind.profile) > 1 : map->weighted;
    bool has_nonopt = by_steps && search->neighbours == TP_NEIGHBOURS_8 && !is_weighted;
    bool own = is_unlimited_astar(search);
    int result = tp_cli_play(&play, bench->problems, bench->played);
    /* a vehicle's optimal cost is counted in ticks, which no scenario tells; nor does one speak of agents of other kinds */
    bool told = space->has_scen && by_steps && !search->profile.given && search->agent_size == 1;
    if (result == TP_CLI_OK && (has_nonopt || !told) && !own)
        result = play_optimal(&play, bench->optimal, bench->played);
    if (result != TP_CLI_OK)
        return result;
    const struct tp_cli_problem *optimal = own ? bench->problems : bench->optimal;
    for (size_t i = 0; i < bench->played && !told; i++)
        bench->lengths[i] = (double)optimal[i].cost / space->cost_unit;
    struct figures f =
        sum_up(bench->problems, has_nonopt ? optimal : NULL, bench->lengths, bench->played, space->cost_unit);
    f.n = space->count;
    f.start_blocked = bench->start_blocked;
    f.goal_blocked = bench->goal_blocked;
    f.has_own_optimal = !told;
    f.is_graph = is_graph;
    f.is_bounded = search->bounded;
    f.is_like = by_steps && search->neighbours == TP_NEIGHBOURS_8 &&
                search->corners == TP_CORNERS_BOTH_FREE && search->goal_policy == TP_GOAL_EXACT &&
                !search->terrain.given && !search->profile.given && search->agent_size == 1;
    f.algorithm = search->algorithm;
    f.ns_per_expansion *= play.seconds;
    print(&f, options);
    print_doubts(&f, rows->scen_path, rows->ticks_max);
    return TP_CLI_OK;
}

int tp_cli_bench(int argc, char **argv)
{
    struct tp_cli_search search;
    struct tp_cli_rows rows;
    struct bench_options options = {.json = false};
    tp_cli_search_init(&search);
    tp_cli_rows_init(&rows);
    const struct tp_cli_group groups[] = {{tp_cli_map_options, &rows}, {tp_cli_rows_options, &rows},
                                          {tp_cli_search_options, &search},
                                          {bench_options, &options},
                                          {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result == TP_CLI_GO_ON)
        result = tp_cli_search_check(&usage, &search);
    if (result == TP_CLI_GO_ON)
        result = tp_cli_rows_check(&usage, &rows, &options.via);
    if (result != TP_CLI_GO_ON)
        return result;
    struct tp_cli_space space;
    struct tp_cli_map known = {.map = NULL};
    struct bench bench = {.played = 0};
    result = tp_cli_space_load(&usage, &rows, &search, &space);
    if (result != TP_CLI_OK)
        return result;
    if (search.known != NULL)
        result = tp_cli_map_load(&usage, search.known, tp_cli_search_profile(&search), &known);
    if (result == TP_CLI_OK)
        result = take_rows(&space, &bench);
    if (result == TP_CLI_OK)
        result = bench_rows(&search, &options, &rows, &space, search.known != NULL ? &known : NULL, &bench);
    free(bench.problems);
    free(bench.lengths);
    if (known.map != NULL)
        tp_cli_map_fini(&known);
    tp_cli_space_fini(&space);
    return result;
}
