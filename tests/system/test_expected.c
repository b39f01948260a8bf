/* The published figures: means over scenario rows of benchmark maps, from a table made by another
 * implementation.
 *
 * In-process through the session contract, and through a daemon with `tickpath bench --via`. One tolerance:
 * 0.1 %, or 0.5 where the mean is below 10; counts of rows and the largest expansions in a tick are to be the
 * same. Where the agent does not know the map, 1 % for each. That is with the exact open list, which the table was made with; rows of
 * time-bounded algorithms that know the map are played in-process with the list in buckets too, and come within 3 %. By default a sample that
 * does not change from run to run; TICKPATH_LONG=1 compares every row. And every optimal length of the scenario files of whole maps, to
 * 1e-4 relative; on some by both open lists.
 *
 * Needs TICKPATH_MAPS and TICKPATH_EXPECTED; skips without. */
#include "base/limits.h"
#include "search/session.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Under the sanitizers every row would take an hour. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

enum { TRACE_WORK = 60 }; /* what a tick's trace costs, in expansions, about */

/* Work (in expansions, about) of the default sample. */
static const double sample_work = 70e6, sample_work_row = 4e6, via_work = 12e6, via_work_row = 1.5e6;

/* ---- the table ---- */

enum figure { COST, MOVES, TICKS, EXPANSIONS, BACK, NONOPT, RESTARTS, MAX_EXP, FIGURES };
static const char *const figure_names[FIGURES] = {"cost", "moves",  "ticks",    "expansions",
                                                  "back", "nonopt", "restarts", "max_exp"};

struct row {
    unsigned line;
    char map[64], algorithm[16], params[80];
    char known[64]; /* the map the agent knows, whose scenario is played; empty: the map itself */
    bool unknown;   /* the agent assumes unseen cells free */
    uint64_t k, R;
    uint32_t w_milli;
    int neighbours;
    double low, high; /* window of optimal lengths */
    size_t first, stride, count, n, solved;
    double figure[FIGURES]; /* NAN: none */
    double work;            /* in expansions, about */
};

struct table {
    struct row *rows;
    size_t count;
};

static void parse_params(struct row *row)
{
    char text[sizeof row->params];
    memcpy(text, row->params, sizeof text);
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(word, '=');
        ck_assert_msg(equals, "line %u: %s", row->line, word);
        *equals = 0;
        double value = strtod(equals + 1, NULL);
        if (!strcmp(word, "k"))
            row->k = (uint64_t)value;
        else if (!strcmp(word, "R"))
            row->R = (uint64_t)value;
        else if (!strcmp(word, "w"))
            row->w_milli = (uint32_t)lround(1000 * value);
        else if (!strcmp(word, "n"))
            row->neighbours = (int)value;
        else if (!strcmp(word, "unknown"))
            row->unknown = value != 0;
        else if (!strcmp(word, "lo"))
            row->low = value;
        else if (!strcmp(word, "hi"))
            row->high = value;
        else
            ck_abort_msg("line %u: unknown parameter %s", row->line, word);
    }
}

/* The registry's name for the table's. */
static const char *registry_name(const char *name, const char *params)
{
    if (!strcmp(name, "ra"))
        return "rastar";
    if (!strcmp(name, "aa"))
        return "aastar";
    return !strcmp(name, "lss") && strstr(params, "w=") ? "lsswa" : name;
}

/* Parses a line of an algorithm in the registry; false for one of another. */
static bool parse_line(struct row *row, char *line, unsigned number)
{
    char *field[18] = {0}, *rest = line;
    for (int i = 0; i < 18; i++)
        field[i] = strsep(&rest, "\t\r");
    ck_assert_msg(field[17], "line %u: too few columns", number);
    const char *algorithm = registry_name(field[2], field[3]);
    if (!tp_algorithm_find(algorithm))
        return false;
    *row = (struct row){.line = number, .w_milli = 1000, .neighbours = 8, .high = INFINITY};
    snprintf(row->map, sizeof row->map, "%s", field[0]);
    if (strcmp(field[1], "-") != 0)
        snprintf(row->known, sizeof row->known, "%s", field[1]);
    snprintf(row->algorithm, sizeof row->algorithm, "%s", algorithm);
    snprintf(row->params, sizeof row->params, "%s", field[3]);
    parse_params(row);
    size_t *counts[] = {&row->first, &row->stride, &row->count, &row->n, &row->solved};
    for (int i = 0; i < 5; i++)
        *counts[i] = strtoul(field[4 + i], NULL, 10);
    for (int i = 0; i < FIGURES; i++)
        row->figure[i] = strcmp(field[9 + i], "-") ? strtod(field[9 + i], NULL) : NAN;
    if (!(tp_algorithm_find(algorithm)->capabilities & TP_CAN_TAKE_W))
        row->w_milli = 1000; /* rows of the table say w=1 at times */
    /* under k each tick traces its path whole */
    row->work = (double)row->solved * (row->figure[EXPANSIONS] + TRACE_WORK * row->figure[TICKS]);
    if (!isnan(row->figure[NONOPT])) /* an A* besides */
        row->work += (double)row->solved * row->figure[EXPANSIONS];
    return true;
}

static struct table read_table(const char *path)
{
    size_t size;
    char *text = tp_test_read_file(path, &size), *rest = text;
    struct table table = {calloc(size / 40 + 1, sizeof *table.rows), 0};
    ck_assert_ptr_nonnull(table.rows);
    unsigned number = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        number++;
        if (number > 1 && *line && parse_line(&table.rows[table.count], line, number))
            table.count++;
    }
    free(text);
    ck_assert_msg(table.count > 0, "%s holds no row of ours", path);
    return table;
}

/* In buckets, back-moves and moves beyond the shortest way are compared as parts of the moves: both are small differences of large numbers. */
static bool in_moves(int figure, enum tp_open_list list)
{
    return list == TP_OPEN_LIST_BUCKET && (figure == BACK || figure == NONOPT);
}

/* Whether the figures are the table's; tells all that are not. */
static bool within(const struct row *row, size_t n, size_t solved, const double *figure, enum tp_open_list list, const char *how)
{
    bool good = true, discovers = row->unknown || row->known[0], same_max = !discovers && list == TP_OPEN_LIST_EXACT;
    double tolerance = list == TP_OPEN_LIST_BUCKET ? 0.03 : discovers ? 0.01 : 0.001;
    if (n != row->n || solved != row->solved) {
        printf("line %u %s %s %s %s: %zu of %zu solved; the table: %zu of %zu\n", row->line, row->map,
               row->algorithm, row->params, how, solved, n, row->solved, row->n);
        good = false;
    }
    for (int i = 0; i < FIGURES; i++) {
        double want = row->figure[i], got = figure[i];
        if (isnan(want))
            continue;
        bool same = i == MAX_EXP && same_max
                        ? got == want
                        : fabs(got - want) <= tolerance * (in_moves(i, list) ? row->figure[MOVES] : want) || (want < 10 && fabs(got - want) <= 0.5);
        if (!same) {
            printf("line %u %s %s %s %s: %s %.4f; the table: %.4f\n", row->line, row->map, row->algorithm,
                   row->params, how, figure_names[i], got, want);
            good = false;
        }
    }
    return good;
}

/* Takes the row if the work allows; whether it did. */
static bool take(const struct row *row, bool *chosen, double *work, double work_max, double work_row_max)
{
    if (*chosen || row->work > work_row_max || *work + row->work > work_max)
        return false;
    *chosen = true;
    *work += row->work;
    return true;
}

/* Marks the rows to compare: all in the long form, else a fixed sample that holds every map with every
 * algorithm and neighbourhood as far as the work allows, the parameters in turn, and then what is cheap. */
static size_t choose(const struct table *table, bool *chosen, double work_max, double work_row_max)
{
    size_t count = 0, turn = 0;
    double work = 0;
    memset(chosen, 0, table->count * sizeof *chosen);
    if (tp_test_long() && !SANITIZED)
        work_max = work_row_max = INFINITY;
    else if (tp_test_long())
        work_max *= 6, work_row_max *= 2;
    for (size_t begin = 0, end; begin < table->count;
         begin = end) { /* rows of one map, algorithm, neighbourhood */
        const struct row *first = &table->rows[begin];
        for (end = begin; end < table->count; end++) {
            const struct row *row = &table->rows[end];
            if (strcmp(row->map, first->map) || strcmp(row->algorithm, first->algorithm) ||
                row->neighbours != first->neighbours || row->unknown != first->unknown)
                break;
        }
        size_t size = end - begin, offset = turn++ * 7;
        for (size_t i = 0; i < size; i++) {
            size_t pick = begin + (offset + i) % size;
            if (take(&table->rows[pick], &chosen[pick], &work, work_max, work_row_max)) {
                count++;
                break;
            }
        }
    }
    for (size_t i = 0; i < table->count; i++)
        count += take(&table->rows[i], &chosen[i], &work, work_max, work_row_max / 2);
    return count;
}

/* ---- in-process ---- */

struct benchmark {
    char name[64], known_name[64];
    struct tp_map *map;
    struct tp_map *known; /* what the agent knows instead; NULL: none */
    struct tp_movingai_scen scen;
};

static void benchmark_fini(struct benchmark *last)
{
    if (!last->map)
        return;
    tp_map_unref(last->map);
    if (last->known)
        tp_map_unref(last->known);
    tp_movingai_scen_fini(&last->scen);
    *last = (struct benchmark){.map = NULL};
}

/* Loads a map, with the one the agent knows if that is another, and its scenario; keeps the last one loaded. */
static const struct benchmark *benchmark_load(struct benchmark *last, const char *folder, const char *name,
                                              const char *known)
{
    if (last->map && !strcmp(last->name, name) && !strcmp(last->known_name, known))
        return last;
    benchmark_fini(last);
    snprintf(last->name, sizeof last->name, "%s", name);
    snprintf(last->known_name, sizeof last->known_name, "%s", known);
    last->map = tp_test_map_load(folder, name);
    last->known = known[0] ? tp_test_map_load(folder, known) : NULL;
    last->scen = tp_test_scen_load(folder, known[0] ? known : name);
    return last;
}

static bool passable(const struct tp_map *map, uint32_t x, uint32_t y)
{
    return tp_map_passable(map, x, y);
}

/* Plays one scenario row to its end; whether the agent arrived. */
static bool solve(const struct tp_map *map, const struct tp_session_params *params, struct tp_pool *pool,
                  struct tp_session_stats *stats)
{
    struct tp_session *session;
    struct tp_refusal refusal;
    ck_assert_int_eq(tp_session_open(&session, params, map, pool, &refusal), 0);
    struct tp_tick_reply reply;
    do
        tp_session_tick(session, map, NULL, &reply);
    while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE);
    tp_session_stats(session, stats);
    tp_session_close(session);
    return reply.status == TP_STATUS_ARRIVED;
}

static struct tp_session_params row_params(const struct row *row, enum tp_open_list list)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(row->algorithm);
    ck_assert_ptr_nonnull(params.algorithm);
    params.open_list = list;
    params.neighbours = (enum tp_neighbours)row->neighbours;
    params.w_milli = row->w_milli;
    params.budget = row->k ? tp_budget_k(row->k) : tp_budget_r(row->R, 900, 10);
    return params;
}

/* With 8 neighbours the number of moves of an optimal path is unique: any A* tells it. */
static uint64_t optimal_moves(const struct tp_map *map, const struct tp_session_params *given,
                              struct tp_pool *pool)
{
    struct tp_session_params params = *given;
    params.algorithm = tp_algorithm_find("astar");
    params.knowledge = TP_KNOWLEDGE_FULL;
    params.known = NULL;
    params.w_milli = 1000;
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    struct tp_session_stats stats;
    ck_assert(solve(map, &params, pool, &stats));
    return stats.moves;
}

static bool compare_in_process(const struct row *row, enum tp_open_list list, const struct benchmark *benchmark, struct tp_pool *pool)
{
    struct tp_session_params params = row_params(row, list);
    const struct tp_map *map = benchmark->map;
    params.known = benchmark->known;
    params.knowledge = row->unknown       ? TP_KNOWLEDGE_FREESPACE
                       : benchmark->known ? TP_KNOWLEDGE_MAP
                                          : TP_KNOWLEDGE_FULL;
    size_t n = 0, solved = 0;
    double figure[FIGURES] = {0};
    for (size_t i = row->first; i < benchmark->scen.count && n < row->count; i += row->stride) {
        const struct tp_movingai_row *problem = &benchmark->scen.rows[i];
        if (problem->optimal < row->low || problem->optimal > row->high)
            continue;
        n++;
        if (!passable(map, problem->start_x, problem->start_y) ||
            !passable(map, problem->goal_x, problem->goal_y))
            continue;
        params.start = problem->start_y * map->width + problem->start_x;
        params.goal = problem->goal_y * map->width + problem->goal_x;
        struct tp_session_stats stats;
        if (!solve(map, &params, pool, &stats))
            continue;
        solved++;
        figure[COST] += (double)stats.cost / TP_COST_UNIT;
        figure[MOVES] += (double)stats.moves;
        figure[TICKS] += (double)stats.ticks;
        figure[EXPANSIONS] += (double)stats.expansions;
        figure[BACK] += (double)stats.back_moves;
        figure[RESTARTS] += (double)stats.restarts;
        if (!isnan(row->figure[NONOPT]))
            figure[NONOPT] += (double)stats.moves - (double)optimal_moves(map, &params, pool);
        if ((double)stats.expansions_max > figure[MAX_EXP])
            figure[MAX_EXP] = (double)stats.expansions_max;
    }
    for (int i = 0; i < FIGURES && solved; i++)
        figure[i] /= i == MAX_EXP ? 1 : (double)solved;
    return within(row, n, solved, figure, list, list == TP_OPEN_LIST_BUCKET ? "in-process, in buckets" : "in-process");
}

static bool compares_in_buckets(const struct row *row)
{
    const struct tp_algorithm *algorithm = tp_algorithm_find(row->algorithm);
    return algorithm->capabilities & TP_CAN_BUCKET && strcmp(tp_engine_name(algorithm->engine), "time-bounded") == 0 && !row->unknown && !row->known[0];
}

START_TEST(figures_in_process)
{
    const char *maps = tp_test_maps_or_skip(), *expected = maps ? tp_test_expected_or_skip() : NULL;
    if (!expected)
        return;
    struct table table = read_table(expected);
    bool *chosen = calloc(table.count, sizeof *chosen);
    ck_assert_ptr_nonnull(chosen);
    size_t count = choose(&table, chosen, sample_work, sample_work_row), in_buckets = 0, bad = 0;
    struct benchmark last = {.map = NULL};
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    for (size_t i = 0; i < table.count; i++) {
        if (!chosen[i])
            continue;
        const struct row *row = &table.rows[i];
        const struct benchmark *benchmark = benchmark_load(&last, maps, row->map, row->known);
        bad += !compare_in_process(row, TP_OPEN_LIST_EXACT, benchmark, &pool);
        if (compares_in_buckets(row)) {
            in_buckets++;
            bad += !compare_in_process(row, TP_OPEN_LIST_BUCKET, benchmark, &pool);
        }
    }
    printf("%zu of %zu rows of the table compared in-process, %zu of them in buckets too, %zu differ\n", count, table.count, in_buckets, bad);
    ck_assert_uint_gt(in_buckets, 0);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    benchmark_fini(&last);
    free(chosen);
    free(table.rows);
    ck_assert_msg(bad == 0, "%zu of %zu rows differ from the table", bad, count);
}
END_TEST

/* ---- via a daemon ---- */

/* The number after "key": in a JSON object, NAN for null or none. */
static double json_number(const char *json, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(json, quoted);
    if (!at)
        return NAN;
    at += strlen(quoted);
    at += strspn(at, " ");
    char *end;
    double value = strtod(at, &end);
    return end == at ? NAN : value;
}

static bool compare_via(const struct row *row, const char *maps, uint16_t port)
{
    char command[2048], budget[64], window[96] = "";
    if (row->k)
        snprintf(budget, sizeof budget, "--k %llu", (unsigned long long)row->k);
    else
        snprintf(budget, sizeof budget, "--R %llu --r 0.9 --c 10", (unsigned long long)row->R);
    if (row->high < INFINITY)
        snprintf(window, sizeof window, "--min-optimal %g --max-optimal %g", row->low, row->high);
    char weight[32] = "", knowledge[512] = "";
    const char *scen = row->known[0] ? row->known : row->map;
    if (row->unknown)
        snprintf(knowledge, sizeof knowledge, "--unknown");
    else if (row->known[0])
        snprintf(knowledge, sizeof knowledge, "--known '%s/%s.map'", maps, row->known);
    if (row->w_milli != 1000)
        snprintf(weight, sizeof weight, "--w %g", row->w_milli / 1000.0);
    int length = snprintf(
        command, sizeof command,
        "'%s' bench --map '%s/%s.map' --scen '%s/%s.scen' --alg %s %s %s --neighbours %d --first %zu "
        "--stride %zu --count %zu %s %s --open-list exact --via 127.0.0.1:%u --json",
        tp_test_program("tickpath"), maps, row->map, maps, scen, row->algorithm, budget, weight,
        row->neighbours, row->first, row->stride, row->count, window, knowledge, port);
    ck_assert(length > 0 && (size_t)length < sizeof command);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    char json[4096];
    size_t size = fread(json, 1, sizeof json - 1, pipe);
    json[size] = 0;
    int status = pclose(pipe);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "line %u: status %d of: %s\n%s", row->line,
                  status, command, json);
    double figure[FIGURES];
    for (int i = 0; i < FIGURES; i++)
        figure[i] = json_number(json, figure_names[i]);
    double n = json_number(json, "n"), solved = json_number(json, "solved");
    ck_assert_msg(n >= 0 && solved >= 0, "line %u: %s", row->line, json);
    return within(row, (size_t)n, (size_t)solved, figure, TP_OPEN_LIST_EXACT, "via a daemon");
}

START_TEST(figures_via_a_daemon)
{
    const char *maps = tp_test_maps_or_skip(), *expected = maps ? tp_test_expected_or_skip() : NULL;
    if (!expected)
        return;
    struct table table = read_table(expected);
    bool *chosen = calloc(table.count, sizeof *chosen);
    ck_assert_ptr_nonnull(chosen);
    size_t count = choose(&table, chosen, via_work, via_work_row), bad = 0;
    struct wire_daemon daemon;
    wire_daemon_init(&daemon);
    wire_daemon_start(&daemon, NULL);
    for (size_t i = 0; i < table.count; i++) {
        if (chosen[i])
            bad += !compare_via(&table.rows[i], maps, daemon.port);
    }
    printf("%zu of %zu rows of the table compared via a daemon, %zu differ\n", count, table.count, bad);
    wire_daemon_stop(&daemon);
    wire_daemon_fini(&daemon);
    free(chosen);
    free(table.rows);
    ck_assert_msg(bad == 0, "%zu of %zu rows differ from the table", bad, count);
}
END_TEST

/* ---- optimal lengths ---- */

/* A* meets the lengths of a scenario's rows, of each `stride`th. */
static void lengths(const char *maps, const char *name, enum tp_open_list open_list, size_t stride)
{
    struct benchmark benchmark = {.map = NULL};
    benchmark_load(&benchmark, maps, name, "");
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("astar");
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    params.open_list = open_list;
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    size_t solved = 0;
    for (size_t i = stride / 2; i < benchmark.scen.count; i += stride, solved++) {
        const struct tp_movingai_row *row = &benchmark.scen.rows[i];
        params.start = row->start_y * benchmark.map->width + row->start_x;
        params.goal = row->goal_y * benchmark.map->width + row->goal_x;
        struct tp_session_stats stats;
        ck_assert_msg(solve(benchmark.map, &params, &pool, &stats), "%s row %zu: not solved", name, i);
        double length = (double)stats.cost / TP_COST_UNIT;
        ck_assert_msg(fabs(length - row->optimal) <= 1e-4 * row->optimal,
                      "%s row %zu: %.8f, the file says %.8f", name, i, length, row->optimal);
    }
    printf("%s, open list %s: %zu of %zu optimal lengths met\n", name, open_list == TP_OPEN_LIST_BUCKET ? "bucket" : "exact", solved,
           benchmark.scen.count);
    tp_pool_fini(&pool);
    benchmark_fini(&benchmark);
}

START_TEST(optimal_lengths_are_met)
{
    const char *maps = tp_test_maps_or_skip();
    if (!maps)
        return;
    static const char *const names[] = {"dao/arena",      "dao/ost003d",      "da2/ht_chantry",
                                        "bg512/AR0011SR", "wc3/battleground", "sc1/Enigma"};
    for (int i = 0; i < (tp_test_long() ? 6 : 3); i++)
        lengths(maps, names[i], TP_OPEN_LIST_EXACT, 1);
}
END_TEST

/* Whatever the order of the open list: on the maps that the speed of both is measured on. */
START_TEST(optimal_lengths_are_met_with_both_lists)
{
    const char *maps = tp_test_maps_or_skip();
    if (!maps)
        return;
    static const char *const names[] = {"bg512/AR0700SR", "bg512/AR0011SR", "random/random1000-10"};
    for (int i = 0; i < 3; i++) {
        lengths(maps, names[i], TP_OPEN_LIST_EXACT, tp_test_long() ? 1 : 20);
        lengths(maps, names[i], TP_OPEN_LIST_BUCKET, tp_test_long() ? 1 : 20);
    }
}
END_TEST

static Suite *expected_suite(void)
{
    Suite *suite = suite_create("expected");
    const struct {
        const char *name;
        const TTest *test;
    } cases[] = {{"in-process", figures_in_process},
                 {"via a daemon", figures_via_a_daemon},
                 {"optimal lengths", optimal_lengths_are_met},
                 {"optimal lengths, both lists", optimal_lengths_are_met_with_both_lists}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TCase *tcase = tcase_create(cases[i].name);
        tcase_set_timeout(tcase, tp_test_long() ? 7200 : 140);
        tcase_add_test(tcase, cases[i].test);
        suite_add_tcase(suite, tcase);
    }
    return suite;
}

int main(void)
{
    return tp_test_main("test_expected", expected_suite);
}
