/* `tickpath bench` and `tickpath trace`: figures that can be known beforehand, the rows they choose, and the
 * same figures through a daemon as in-process. The scenario comes from the plain reference of tests/lib. */
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/reference.h"
#include "tests/lib/tool.h"
#include "tests/lib/wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 48, ROWS = 24 };

static char folder[256];
static char *map_path, *scen_path;
static uint8_t cells[SIDE * SIDE];
static uint16_t weights[SIDE * SIDE];
static uint64_t costs[ROWS], moves[ROWS]; /* of the optimal paths; UINT64_MAX where there is none */
static struct wire_daemon daemon_;

static void write_map(struct tp_test_rng *rng)
{
    static char text[SIDE * (SIDE + 1) + 128];
    int at = sprintf(text, "type octile\nheight %d\nwidth %d\nmap\n", SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++) {
        cells[i] = tp_test_percent(rng, 28) ? '@' : '.';
        weights[i] = cells[i] == '.';
        text[at++] = (char)cells[i];
        if (i % SIDE == SIDE - 1)
            text[at++] = '\n';
    }
    text[at] = '\0';
    map_path = tool_write_file(folder, "noise.map", text);
}

/* Rows at random: most are solvable, some have a blocked end, some no way, row 5 starts at its goal. Returns how many
 * are solvable. */
static int write_scen(struct tp_test_rng *rng)
{
    int solved = 0;
    static char text[ROWS * 128];
    int at = sprintf(text, "version 1\n");
    for (int i = 0; i < ROWS; i++) {
        uint32_t start = tp_test_below(rng, SIDE * SIDE), goal = tp_test_below(rng, SIDE * SIDE);
        for (int tries = 0; tries < 100 && i % 8 != 3 && (!weights[start] || !weights[goal]); tries++) {
            start = tp_test_below(rng, SIDE * SIDE);
            goal = tp_test_below(rng, SIDE * SIDE);
        }
        if (i == 5)
            goal = start;
        costs[i] = moves[i] = UINT64_MAX;
        if (weights[start] && weights[goal]) {
            const struct ref_problem problem = {.width = SIDE,
                                                .height = SIDE,
                                                .weight = weights,
                                                .least_weight = 1,
                                                .neighbours = 8,
                                                .start = start,
                                                .goal = goal,
                                                .algorithm = REF_ASTAR,
                                                .k = UINT64_MAX};
            struct ref_run run;
            ref_run_play(&run, &problem);
            if (run.outcome == REF_ARRIVED) {
                costs[i] = run.cost;
                moves[i] = run.moves;
                solved++;
            }
            ref_run_fini(&run);
        }
        at += sprintf(text + at, "%d\tnoise.map\t%d\t%d\t%u\t%u\t%u\t%u\t%.8f\n", i, SIDE, SIDE, start % SIDE,
                      start / SIDE, goal % SIDE, goal / SIDE,
                      costs[i] == UINT64_MAX ? 1000.0 : (double)costs[i] / 3194);
    }
    scen_path = tool_write_file(folder, "noise.scen", text);
    return solved;
}

static void begin(void)
{
    struct tp_test_rng rng = tp_test_rng("tool bench");
    strcpy(folder, tp_test_folder_make());
    write_map(&rng);
    for (int solved = 0; solved <= 5 || solved == ROWS;) { /* rows of both kinds */
        free(scen_path);
        solved = write_scen(&rng);
    }
}

static void end(void)
{
    free(map_path);
    free(scen_path);
    scen_path = NULL;
    tp_test_folder_remove(folder);
}

static void begin_served(void)
{
    begin();
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
}

static void end_served(void)
{
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
    end();
}

static char *bench(const char *options)
{
    return tool_ok("bench --json --map %s --scen %s %s", map_path, scen_path, options);
}

static void check_near(const char *json, const char *key, double expected)
{
    double value = tool_json_number(json, key);
    ck_assert_msg(fabs(value - expected) <= 1e-6 * (1 + fabs(expected)), "%s is %.7f, not %.7f: %s", key,
                  value, expected, json);
}

/* Sums over chosen rows, as bench must have them. */
struct expected {
    double n, solved, cost, moves;
};

static void add_row(struct expected *e, int row)
{
    e->n++;
    if (costs[row] == UINT64_MAX)
        return;
    e->solved++;
    e->cost += (double)costs[row] / 3194;
    e->moves += (double)moves[row];
}

static void check_astar(const char *options, const struct expected *e)
{
    char line[256];
    snprintf(line, sizeof line, "--alg astar --k unlimited %s", options);
    if (e->n == 0) { /* no row left is an error in words, not a table of nothing */
        struct tool_run run;
        tool_run(&run, "bench --json --map %s --scen %s %s", map_path, scen_path, line);
        ck_assert_msg(run.exit_code != 0 && *run.out == '\0' && strstr(run.err, "no row of") != NULL,
                      "%s: code %d\n%s%s", line, run.exit_code, run.out, run.err);
        tool_run_fini(&run);
        return;
    }
    char *json = bench(line);
    check_near(json, "n", e->n);
    check_near(json, "solved", e->solved);
    if (e->solved > 0) {
        check_near(json, "cost", e->cost / e->solved);
        check_near(json, "optimal", e->cost / e->solved);
        check_near(json, "moves", e->moves / e->solved);
        check_near(json, "ticks", e->moves / e->solved);
        check_near(json, "subopt", 1);
        check_near(json, "nonopt", 0);
        check_near(json, "back", 0);
        check_near(json, "restarts", 0);
    } else {
        ck_assert(isnan(tool_json_number(json, "cost")));
    }
    free(json);
}

START_TEST(astar_is_optimal)
{
    struct expected e = {0};
    for (int i = 0; i < ROWS; i++)
        add_row(&e, i);
    ck_assert(e.solved > 5 && e.solved < ROWS);
    check_astar("", &e);
    check_astar("--restart default --goal-policy exact --seed 99 --neighbours 8 --corners both",
                &e);
}
END_TEST

/* first and stride choose rows of the file; the window is applied to the rows chosen; count caps what is
 * left. */
START_TEST(rows_are_chosen_in_that_order)
{
    static const struct {
        unsigned first, stride, count;
        double low, high;
    } cases[] = {{0, 1, 1, 0, 1e9}, {3, 1, 100, 0, 1e9},  {1, 2, 5, 0, 1e9},   {2, 3, 4, 10, 40},
                 {0, 1, 6, 15, 30}, {23, 1, 9, 0, 1e9},   {5, 100, 9, 0, 1e9}, {5, 1, 1, 0, 0},
                 {0, 2, 7, 0, 25},  {0, 1, 100, 999, 1e9}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct expected e = {0};
        for (unsigned i = cases[c].first; i < ROWS && e.n < cases[c].count; i += cases[c].stride) {
            double optimal = costs[i] == UINT64_MAX ? 1000 : (double)costs[i] / 3194;
            if (optimal >= cases[c].low && optimal <= cases[c].high)
                add_row(&e, (int)i);
        }
        char options[160];
        snprintf(options, sizeof options,
                 "--first %u --stride %u --count %u --min-optimal %g --max-optimal %.0f", cases[c].first,
                 cases[c].stride, cases[c].count, cases[c].low, cases[c].high);
        check_astar(options, &e);
    }
}
END_TEST

/* A row that has not arrived by then counts as unsolved; one that arrives with that very tick is solved. */
START_TEST(rows_are_given_up)
{
    uint64_t lengths[ROWS], n = 0;
    for (int i = 0; i < ROWS; i++)
        if (costs[i] != UINT64_MAX && moves[i] > 1)
            lengths[n++] = moves[i];
    ck_assert_uint_gt(n, 0);
    for (uint64_t i = 0; i < n; i++) {
        struct expected e = {0};
        size_t given_up = 0;
        for (int row = 0; row < ROWS; row++) {
            bool is_given_up = costs[row] != UINT64_MAX && moves[row] > lengths[i];
            given_up += is_given_up;
            e.n += is_given_up;
            if (!is_given_up)
                add_row(&e, row);
        }
        char options[80];
        snprintf(options, sizeof options, "--ticks-max %llu", (unsigned long long)lengths[i]);
        check_astar(options, &e);
        struct tool_run run;
        tool_run(&run, "bench --map %s --scen %s --alg astar --k unlimited %s", map_path, scen_path, options);
        ck_assert_int_eq(run.exit_code, 0);
        char words[80];
        snprintf(words, sizeof words, "%zu of %d rows were given up", given_up, ROWS);
        ck_assert_msg((strstr(run.err, words) != NULL) == (given_up > 0), "%s: %s", options, run.err);
        tool_run_fini(&run);
    }
}
END_TEST

static const char *const ways[] = {
    "--alg tbwa --k 1",
    "--alg tbwa --k 7 --w 2.5",
    "--alg tbwa --k 64 --neighbours 4",
    "--alg tbwa --k 5 --w 1.4 --neighbours 16 --corners always",
    "--alg tbwa --k 5 --corners one",
    "--alg tbwa --R 20",
    "--alg tbgbfs --k 3",
    "--alg tba",
    "--alg tba --R 25 --r 0.5 --c 4",
    "--alg tba --R 25 --path-switch --shortcut --longest-path-rule",
    "--alg tba --k 2 --switch-margin 0.125 --pause-on-backtrack",
    "--alg tbwa --R 8 --switch-margin 10",
    "--alg rtbwa --k 3 --pause-on-backtrack",
    "--alg tbgbfs --k 20 --bounded --neighbours 4",
    "--alg guided --k 50 --bounded --neighbours 4",
    "--alg astar --k unlimited",
    "--alg astar --k 9",
    "--alg rtbwa --k 5 --w 1.4 --restart eager",
    "--alg tbaa --k 8 --unknown",
    "--alg rtba --R 20 --unknown --restart lazy",
    "--alg rastar --k unlimited --unknown --restart on-rise",
    "--k 3",
    "--R 12 --w 1.5 --guide-units 7 --no-pause-on-backtrack",
    "--alg guided --k 5 --guide-units 0",
    "--alg guided --k 8 --w 1.2 --neighbours 16 --corners always --guide-units 30",
};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* What has to be so between the measures of any run. */
START_TEST(measures_hold_together)
{
    for (int i = 0; i < WAYS; i++) {
        char *json = bench(ways[i]);
        double cost = tool_json_number(json, "cost"), optimal = tool_json_number(json, "optimal");
        ck_assert_msg(tool_json_number(json, "solved") > 5, "%s: %s", ways[i], json);
        ck_assert_msg(tool_json_number(json, "ticks") >= tool_json_number(json, "moves"), "%s: %s", ways[i],
                      json);
        ck_assert_msg(tool_json_number(json, "ns_per_expansion") > 0, "%s: %s", ways[i], json);
        ck_assert_msg(tool_json_number(json, "bytes_per_session") > 0, "%s: %s", ways[i], json);
        double nonopt = tool_json_number(json, "nonopt"), back = tool_json_number(json, "back");
        if (strstr(ways[i], "neighbours") != NULL)
            ck_assert_msg(isnan(nonopt), "%s: %s", ways[i], json);
        else if (strstr(ways[i], "corners") == NULL)
            ck_assert_msg(nonopt >= back && cost >= optimal - 1e-6 &&
                              tool_json_number(json, "subopt") > 1 - 1e-6,
                          "%s: %s", ways[i], json);
        free(json);
    }
    /* the table says when the scenario's length is for other moves than those made */
    static const char *const others[] = {"", "--neighbours 4", "--neighbours 16", "--corners one",
                                         "--terrain @=9"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char *text = tool_ok("bench --map %s --scen %s --alg tbwa %s", map_path, scen_path, others[i]);
        ck_assert_ptr_nonnull(strstr(text, "suboptimality"));
        bool marked = strstr(text, "optimal is the scenario's, for 8 neighbours") != NULL;
        ck_assert_msg(marked == (i > 0), "%s: %s", others[i], text);
        free(text);
    }
}
END_TEST

/* Every figure but the times is the same through a daemon. */
START_TEST(same_through_a_daemon)
{
    static const char *const keys[] = {
        "n",      "solved",   "cost",    "moves",   "ticks",  "expansions",       "back",
        "nonopt", "restarts", "max_exp", "optimal", "subopt", "bytes_per_session", "flips", "guide_expansions",
        "bound", "proven"};
    for (int i = 0; i < WAYS; i++) {
        char with[256];
        snprintf(with, sizeof with, "%s --via 127.0.0.1:%u", ways[i], daemon_.port);
        char *here = bench(ways[i]), *there = bench(with);
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            double a = tool_json_number(here, keys[k]), b = tool_json_number(there, keys[k]);
            ck_assert_msg(a == b || (isnan(a) && isnan(b)), "%s: %s differs\n%s%s", ways[i], keys[k], here,
                          there);
        }
        free(here);
        free(there);
    }
    /* what the daemon refuses is refused in the same words */
    struct tool_run here, there;
    tool_run(&here, "bench --map %s --scen %s --alg tbwa --unknown", map_path, scen_path);
    tool_run(&there, "bench --map %s --scen %s --alg tbwa --unknown --via 127.0.0.1:%u", map_path, scen_path,
             daemon_.port);
    ck_assert_int_eq(there.exit_code, 2);
    ck_assert_str_eq(here.err, there.err);
    tool_run_fini(&here);
    tool_run_fini(&there);
}
END_TEST

/* An agent that knows a map without an obstacle is one that assumes unseen cells free. */
START_TEST(a_known_map_is_used)
{
    static const char *const keys[] = {"solved", "cost", "moves", "ticks", "expansions", "restarts"};
    static char text[SIDE * (SIDE + 1) + 128];
    int at = sprintf(text, "type octile\nheight %d\nwidth %d\nmap\n", SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        at += sprintf(text + at, i % SIDE == SIDE - 1 ? ".\n" : ".");
    char *known_path = tool_write_file(folder, "noise-free.map", text);
    char *unknown = bench("--alg tbaa --k 8 --unknown"), *full = bench("--alg tbaa --k 8");
    for (int kind = 0; kind < 4;
         kind++) { /* the free map, then the true one; in-process, then via the daemon */
        char options[1024], via[64] = "";
        if (kind % 2)
            snprintf(via, sizeof via, "--via 127.0.0.1:%u", daemon_.port);
        snprintf(options, sizeof options, "--alg tbaa --k 8 --known %s %s", kind < 2 ? known_path : map_path,
                 via);
        char *json = bench(options);
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            check_near(json, keys[k], tool_json_number(kind < 2 ? unknown : full, keys[k]));
        free(json);
    }
    ck_assert(tool_json_number(unknown, "restarts") > 0);
    ck_assert(tool_json_number(full, "restarts") == 0);
    free(unknown);
    free(full);
    free(known_path);
    char *small = tool_write_file(folder, "small.map", "type octile\nheight 1\nwidth 2\nmap\n..\n");
    for (int via = 0; via < 2; via++) { /* of another size */
        struct tool_run run;
        char place[64] = "";
        if (via)
            snprintf(place, sizeof place, "--via 127.0.0.1:%u", daemon_.port);
        tool_run(&run, "bench --map %s --scen %s --alg tbaa --known %s %s", map_path, scen_path, small,
                 place);
        ck_assert_int_eq(run.exit_code, 2);
        ck_assert_ptr_nonnull(strstr(run.err, "--known"));
        tool_run_fini(&run);
    }
    free(small);
}
END_TEST

/* Likewise where rows are given up, and a trace of such a row ends with that tick. */
START_TEST(given_up_through_a_daemon)
{
    for (int i = 0; i < WAYS; i++) {
        char with[256], via[300];
        snprintf(with, sizeof with, "%s --ticks-max 20", ways[i]);
        snprintf(via, sizeof via, "%s --via 127.0.0.1:%u", with, daemon_.port);
        char *here = bench(with), *there = bench(via);
        ck_assert_double_gt(tool_json_number(here, "solved"), 0);
        ck_assert_double_le(tool_json_number(here, "ticks"), 20);
        ck_assert_double_eq(tool_json_number(here, "solved"), tool_json_number(there, "solved"));
        ck_assert_double_eq(tool_json_number(here, "moves"), tool_json_number(there, "moves"));
        ck_assert_double_eq(tool_json_number(here, "ticks"), tool_json_number(there, "ticks"));
        free(here);
        free(there);
    }
    int row = 0;
    while (row < ROWS && (costs[row] == UINT64_MAX || moves[row] <= 3))
        row++;
    ck_assert_int_lt(row, ROWS);
    for (int via = 0; via < 2; via++) {
        char words[64] = "";
        if (via)
            snprintf(words, sizeof words, "--via 127.0.0.1:%u", daemon_.port);
        char *text = tool_ok("trace --map %s --scen %s --first %d --alg astar --k unlimited --ticks-max 3 %s",
                             map_path, scen_path, row, words);
        size_t lines = 0;
        for (const char *c = text; *c != '\0'; c++)
            lines += *c == '\n';
        ck_assert_uint_eq(lines, 4); /* the start and three ticks */
        free(text);
    }
}
END_TEST

/* ---- trace ---- */

/* Reads a trace line by line against the map; gives its sums. */
struct sums {
    double ticks, moves, back, expansions;
    bool arrived;
};

static struct sums check_trace(const char *text, int neighbours)
{
    struct sums sums = {0};
    const struct ref_problem problem = {
        .width = SIDE, .height = SIDE, .weight = weights, .least_weight = 1, .neighbours = neighbours};
    uint32_t at = 0;
    char *copy = strdup(text), *save = NULL;
    int line_number = 0;
    for (char *line = strtok_r(copy, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save), line_number++) {
        uint32_t x = (uint32_t)tool_json_number(line, "x"), y = (uint32_t)tool_json_number(line, "y");
        uint32_t cell = y * SIDE + x;
        uint64_t cost;
        const char *move = tool_json_word(line, "move");
        bool stays = strcmp(move, "wait") == 0, back = strcmp(move, "back") == 0;
        ck_assert_msg(stays || back || strcmp(move, "forward") == 0, "%s", line);
        ck_assert_double_eq(tool_json_number(line, "tick"), line_number);
        ck_assert_double_eq(tool_json_number(line, "version"), 1);
        ck_assert_double_ge(tool_json_number(line, "traced"), 0);
        ck_assert_double_ge(tool_json_number(line, "guide_expansions"), 0);
        if (line_number == 0)
            ck_assert(stays && tool_json_number(line, "expansions") == 0);
        else if (stays)
            ck_assert_uint_eq(cell, at);
        else
            ck_assert_msg(ref_step(&problem, at, cell, &cost), "no legal step: %s", line);
        ck_assert_msg(!sums.arrived, "a line after ARRIVED: %s", line);
        sums.arrived = strcmp(tool_json_word(line, "status"), "ARRIVED") == 0;
        sums.ticks = line_number;
        sums.moves += !stays;
        sums.back += back;
        sums.expansions += tool_json_number(line, "expansions");
        at = cell;
    }
    free(copy);
    return sums;
}

/* The trace of a row adds up to the bench of that row, and is the same through a daemon. */
START_TEST(trace_adds_up)
{
    for (int i = 0; i < WAYS; i++) {
        if (strstr(ways[i], "corners") != NULL)
            continue; /* check_trace knows one corner rule */
        int neighbours = strstr(ways[i], "neighbours 4") != NULL ? 4 : 8;
        for (int row = 0; row < 7; row++) {
            if (costs[row] == UINT64_MAX)
                continue;
            char *here = tool_ok("trace --map %s --scen %s --first %d %s", map_path, scen_path, row, ways[i]);
            char *there = tool_ok("trace --map %s --scen %s --first %d %s --via 127.0.0.1:%u", map_path,
                                  scen_path, row, ways[i], daemon_.port);
            char options[256];
            snprintf(options, sizeof options, "--first %d --count 1 %s", row, ways[i]);
            char *json = bench(options);
            struct sums sums = check_trace(here, neighbours);
            ck_assert_str_eq(here, there);
            if (tool_json_number(json, "solved") == 1) {
                ck_assert(sums.arrived);
                check_near(json, "ticks", sums.ticks);
                check_near(json, "moves", sums.moves);
                check_near(json, "back", sums.back);
                check_near(json, "expansions", sums.expansions);
            } else {
                ck_assert(neighbours == 4 && !sums.arrived);
            }
            free(json);
            free(here);
            free(there);
        }
    }
}
END_TEST

/* A goal out of reach is told, not searched for ever. */
START_TEST(unreachable_is_traced)
{
    char *map = tool_write_file(folder, "wall.map", "type octile\nheight 1\nwidth 5\nmap\n..@..\n");
    char *scen = tool_write_file(folder, "wall.scen", "version 1\n0\twall.map\t5\t1\t0\t0\t4\t0\t9\n");
    for (int via = 0; via < 2; via++) {
        char place[40] = "";
        if (via)
            snprintf(place, sizeof place, "--via 127.0.0.1:%u", daemon_.port);
        char *out = tool_ok("trace --map %s --scen %s --k 1 %s", map, scen, place);
        ck_assert_msg(strstr(out, "UNREACHABLE") != NULL && strstr(out, "ARRIVED") == NULL, "%s", out);
        free(out);
        out = tool_ok("bench --json --map %s --scen %s --k 1 %s", map, scen, place);
        ck_assert_double_eq(tool_json_number(out, "n"), 1);
        ck_assert_double_eq(tool_json_number(out, "solved"), 0);
        free(out);
    }
    free(map);
    free(scen);
}
END_TEST

/* Weights given by hand: the way round where the short one costs more, and the same through a daemon. */
START_TEST(terrain)
{
    static const struct {
        const char *terrain;
        double solved, cost, moves;
    } cases[] = {
        {"", 0, 0, 0},
        {"--terrain T=1", 1, 4, 4},
        {"--terrain T=2", 1, 7, 4},      /* (1+2)/2 + 2 + 2 + (2+1)/2 */
        {"--terrain T=30,W=1", 1, 8, 8}, /* the way round */
        {"--terrain T=30,W=1,.=3,T=2", 1, 9, 4},
        {"--terrain .=0,T=1", 0, 0, 0},
        {"--terrain .=0,G=1,S=0", 0, 0, 0},
        {"--terrain T=65535", 1, 4 * 65535 - 65534, 4},
    };
    char *map =
        tool_write_file(folder, "weighed.map", "type octile\nheight 3\nwidth 5\nmap\n.TTT.\n.@@@.\nWWWWW\n");
    char *scen = tool_write_file(folder, "weighed.scen", "version 1\n0\tweighed.map\t5\t3\t0\t0\t4\t0\t9\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int corner = 0; corner < 2; corner++) {
            char *here =
                tool_ok("bench --json --map %s --scen %s --alg astar --k unlimited --neighbours %d %s", map,
                        scen, corner ? 4 : 8, cases[i].terrain);
            char *there =
                tool_ok("bench --json --map %s --scen %s --alg astar --k unlimited --neighbours %d %s "
                        "--via 127.0.0.1:%u",
                        map, scen, corner ? 4 : 8, cases[i].terrain, daemon_.port);
            ck_assert_double_eq(tool_json_number(here, "solved"), cases[i].solved);
            ck_assert_double_eq(tool_json_number(there, "solved"), cases[i].solved);
            if (cases[i].solved > 0) {
                check_near(here, "cost", cases[i].cost);
                check_near(here, "moves", cases[i].moves);
            }
            static const char *const keys[] = {"cost", "moves", "expansions", "subopt", "nonopt"};
            for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
                double a = tool_json_number(here, keys[k]), b = tool_json_number(there, keys[k]);
                ck_assert_msg(a == b || (isnan(a) && isnan(b)), "%s: %s\n%s%s", cases[i].terrain, keys[k],
                              here, there);
            }
            free(here);
            free(there);
        }
    }
    char *here = tool_ok("trace --map %s --scen %s --k 2 --terrain T=3,W=1", map, scen);
    char *there = tool_ok("trace --map %s --scen %s --k 2 --terrain T=3,W=1 --via 127.0.0.1:%u", map, scen,
                          daemon_.port);
    ck_assert_str_eq(here, there);
    ck_assert_ptr_nonnull(strstr(here, "ARRIVED"));
    free(here);
    free(there);
    free(map);
    free(scen);
}
END_TEST

START_TEST(deadlines)
{
    for (int via = 0; via < 2; via++) {
        char options[80] = "--deadline-us 50 --count 6";
        if (via)
            snprintf(options, sizeof options, "--deadline-us 50 --count 6 --via 127.0.0.1:%u", daemon_.port);
        char *json = bench(options);
        ck_assert_msg(tool_json_number(json, "solved") > 0, "%s", json);
        free(json);
    }
}
END_TEST

static Suite *tool_bench_suite(void)
{
    Suite *suite = suite_create("tool_bench");
    TCase *here = tcase_create("in-process"), *served = tcase_create("through a daemon");
    tcase_add_checked_fixture(here, begin, end);
    tcase_add_test(here, astar_is_optimal);
    tcase_add_test(here, rows_are_chosen_in_that_order);
    tcase_add_test(here, rows_are_given_up);
    tcase_add_test(here, measures_hold_together);
    suite_add_tcase(suite, here);
    tcase_add_checked_fixture(served, begin_served, end_served);
    tcase_add_test(served, same_through_a_daemon);
    tcase_add_test(served, a_known_map_is_used);
    tcase_add_test(served, given_up_through_a_daemon);
    tcase_add_test(served, trace_adds_up);
    tcase_add_test(served, unreachable_is_traced);
    tcase_add_test(served, terrain);
    tcase_add_test(served, deadlines);
    suite_add_tcase(suite, served);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_bench", tool_bench_suite);
}
