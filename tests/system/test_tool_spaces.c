/* `tickpath bench`, `tickpath trace` and `tickpath run` on graphs and on tracks: figures that can be known beforehand, the same
 * through a daemon as in-process, and what the options refuse. */
#include "tests/lib/harness.h"
#include "tests/lib/tool.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct wire_daemon daemon_;

/* The ledge of test_graphs.c in both formats; DIMACS counts nodes from 1. */
static const char csv[] = "from,to,cost\n0,1,10,both\n1,2,5\n2,3,7\n3,4,1\n0,3,1000\n";
static const char csv_nodes[] = "id,x,y\n0,0,0\n1,1,0\n2,2,0\n3,3,0\n4,4,0\n";
static const char gr[] = "c a ledge\np sp 5 6\na 1 2 10\na 2 1 10\na 2 3 5\na 3 4 7\na 4 5 1\na 1 4 1000\n";
static const char co[] = "p aux sp co 5\nv 1 0 0\nv 2 1 0\nv 3 2 0\nv 4 3 0\nv 5 4 0\n";
static const char track[] = "12\n9\n"
                            "@________###\n"
                            "__________##\n"
                            "___________#\n"
                            "#######_____\n"
                            "########____\n"
                            "#########___\n"
                            "#########___\n"
                            "#########___\n"
                            "#########_*_\n";
static char *csv_path, *nodes_path, *gr_path, *co_path, *track_path;

static void begin(void)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    csv_path = tool_write_file(daemon_.folder, "ledge.csv", csv);
    nodes_path = tool_write_file(daemon_.folder, "places.csv", csv_nodes);
    gr_path = tool_write_file(daemon_.folder, "ledge.gr", gr);
    co_path = tool_write_file(daemon_.folder, "ledge.co", co);
    track_path = tool_write_file(daemon_.folder, "bend.track", track);
}

static void end(void)
{
    free(csv_path);
    free(nodes_path);
    free(gr_path);
    free(co_path);
    free(track_path);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

/* The graph's own costs, undivided; the formats and a daemon alike. */
START_TEST(graph_figures)
{
    char maps[4][512];
    snprintf(maps[0], sizeof maps[0], "--graph %s", csv_path);
    snprintf(maps[1], sizeof maps[1], "--graph %s --coordinates %s", csv_path, nodes_path);
    snprintf(maps[2], sizeof maps[2], "--graph %s", gr_path);
    snprintf(maps[3], sizeof maps[3], "--graph %s --coordinates %s", gr_path, co_path);
    for (int i = 0; i < 4; i++) {
        char *json = tool_ok("bench %s --from 0 --to 4 --alg astar --k unlimited --json", maps[i]);
        ck_assert_double_eq(tool_json_number(json, "solved"), 1);
        ck_assert_double_eq(tool_json_number(json, "cost"), 23);
        ck_assert_double_eq(tool_json_number(json, "optimal"), 23);
        ck_assert_double_eq(tool_json_number(json, "moves"), 4);
        free(json);
        json = tool_ok("bench %s --from 4 --to 0 --alg tbrwa --json", maps[i]); /* no way back up */
        ck_assert_double_eq(tool_json_number(json, "n"), 1);
        ck_assert_double_eq(tool_json_number(json, "solved"), 0);
        free(json);
    }
    char *table = tool_ok("bench %s --from 0 --to 4 --alg tbrwa --k 5", maps[0]);
    ck_assert_ptr_nonnull(strstr(table, "cost (of edges)    23.000 (optimal 23.000, suboptimality 1.0000)"));
    free(table);
    char *words = tool_ok("trace %s --from 0 --to 4 --alg astar --k unlimited", maps[0]);
    ck_assert_ptr_nonnull(
        strstr(words, "{\"tick\": 1, \"node\": 1, \"move\": \"forward\", \"status\": \"MOVING\""));
    ck_assert_ptr_nonnull(
        strstr(words, "{\"tick\": 4, \"node\": 4, \"move\": \"forward\", \"status\": \"ARRIVED\""));
    free(words);
}
END_TEST

/* All figures but the times. */
static void expect_same_figures(const char *options)
{
    static const char *const keys[] = {"n",       "solved",     "cost",   "moves",
                                       "ticks",   "expansions", "back",   "restarts",
                                       "max_exp", "optimal",    "subopt", "bytes_per_session"};
    char *here = tool_ok("bench %s --json", options);
    char *there = tool_ok("bench %s --json --via 127.0.0.1:%u", options, daemon_.port);
    ck_assert_double_gt(tool_json_number(here, "solved"), 0);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        ck_assert_msg(tool_json_number(here, keys[i]) == tool_json_number(there, keys[i]),
                      "%s: %s here, %s there: %s", options, here, there, keys[i]);
    free(here);
    free(there);
    here = tool_ok("trace %s", options);
    there = tool_ok("trace %s --via 127.0.0.1:%u", options, daemon_.port);
    ck_assert_str_eq(here, there);
    free(here);
    free(there);
}

START_TEST(same_through_a_daemon)
{
    char options[1024];
    static const char *const algorithms[] = {"tbrwa", "tbwa", "astar"}, *const drivers[] = {"tbrwa", "lss",
                                                                                            "astar"};
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        snprintf(options, sizeof options, "--graph %s --random 30 --seed 7 --alg %s --k 3", csv_path,
                 algorithms[i]);
        expect_same_figures(options);
        snprintf(options, sizeof options,
                 "--graph %s --coordinates %s --random 30 --alg %s --k 3 --heuristic zero", gr_path, co_path,
                 algorithms[i]);
        expect_same_figures(options);
        snprintf(options, sizeof options, "--track %s --motion inertia --alg %s --k 25", track_path,
                 drivers[i]);
        expect_same_figures(options);
        snprintf(options, sizeof options,
                 "--track %s --motion inertia --start-velocity 2,-1 --random 5 --alg %s --k 25 --heuristic "
                 "maximum",
                 track_path, drivers[i]);
        expect_same_figures(options);
    }
    snprintf(options, sizeof options,
             "--track %s --random 20 --alg tbwa --R 20 --neighbours 4 --heuristic octile", track_path);
    expect_same_figures(options);
    snprintf(options, sizeof options,
             "--track %s --from 0 --to 106 --alg tba --R 20 --neighbours 16 --heuristic freespace",
             track_path);
    expect_same_figures(options);
}
END_TEST

/* A vehicle's trace has its velocity: the start's in line 0, then each line's is the way from the line before. */
START_TEST(vehicle_trace)
{
    char *words = tool_ok("trace --track %s --motion inertia --start-velocity 2,0 --alg astar --k unlimited",
                          track_path);
    int lines = 0, x = 0, y = 0;
    for (char *line = strtok(words, "\n"); line != NULL; line = strtok(NULL, "\n"), lines++) {
        int tick, to_x, to_y, vx, vy;
        ck_assert_int_eq(sscanf(line, "{\"tick\": %d, \"x\": %d, \"y\": %d, \"vx\": %d, \"vy\": %d,", &tick,
                                &to_x, &to_y, &vx, &vy),
                         5);
        ck_assert_int_eq(tick, lines);
        if (lines == 0) {
            ck_assert(vx == 2 && vy == 0);
        } else if (strstr(line, "ARRIVED") == NULL) {
            ck_assert(to_x - x == vx && to_y - y == vy);
        } else {
            ck_assert(to_x == 10 && to_y == 8);
        }
        x = to_x;
        y = to_y;
    }
    ck_assert_int_ge(lines, 5);
    free(words);
}
END_TEST

/* 15-puzzles one and two moves from their goal. */
START_TEST(puzzles)
{
    char *path = tool_write_file(
        daemon_.folder, "near.txt",
        "# two\n1 1 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 1 1\n\n2\t1 2 0 3 4 5 6 7 8 9 10 11 12 13 14 15\t2");
    static const char *const algorithms[] = {"astar", "tbwa", "tbrwa", "lss"};
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        char *json = tool_ok("bench --puzzle %s --alg %s --k 100 --json", path, algorithms[i]);
        ck_assert_double_eq(tool_json_number(json, "n"), 2);
        ck_assert_double_eq(tool_json_number(json, "solved"), 2);
        ck_assert_double_eq(tool_json_number(json, "cost"), 1.5);
        ck_assert_double_eq(tool_json_number(json, "optimal"), 1.5);
        ck_assert_double_eq(tool_json_number(json, "nonopt"), 0);
        free(json);
        json = tool_ok("bench --puzzle %s --alg %s --k 100 --json --first 1", path, algorithms[i]);
        ck_assert_double_eq(tool_json_number(json, "n"), 1);
        ck_assert_double_eq(tool_json_number(json, "moves"), 2);
        free(json);
    }
    free(path);
}
END_TEST

/* Walks the fleet and looks for words of the table. */
static void run_has(const char *options, const char *words, const char *more_words)
{
    char *table = tool_ok("run --via 127.0.0.1:%u %s", daemon_.port, options);
    ck_assert_msg(strstr(table, words) != NULL && strstr(table, more_words) != NULL,
                  "%s: '%s' and '%s' in:\n%s", options, words, more_words, table);
    free(table);
}

/* Fleets on a graph, on a track by steps and as vehicles; every move of theirs is checked by the tool. */
START_TEST(fleets)
{
    char options[1024];
    static const char *const walkers[] = {"tbrwa", "lss", "dstarlite", "astar"};
    for (size_t i = 0; i < sizeof walkers / sizeof walkers[0]; i++) {
        snprintf(options, sizeof options, "--graph %s --alg %s --agents 25 --k 2 --seed 3", csv_path,
                 walkers[i]);
        run_has(options, "25: 25 arrived, 0 unreachable", "5 nodes, 6 edges");
        snprintf(options, sizeof options, "--graph %s --coordinates %s --alg %s --agents 5 --k 9", gr_path,
                 co_path, walkers[i]);
        run_has(options, "5: 5 arrived, 0 unreachable", "every move checked: one edge, legal");
        snprintf(options, sizeof options,
                 "--track %s --motion inertia --alg %s --agents 10 --k 40 --doors 6 --door-ticks 2 "
                 "--door-rounds 9",
                 track_path, walkers[i]);
        run_has(options, "10: 10 arrived, 0 unreachable", "every move checked: one tick of a vehicle, legal");
        snprintf(options, sizeof options, "--track %s --alg %s --agents 10 --k 9 --doors 3 --door-ticks 2",
                 track_path, walkers[i]);
        run_has(options, "10: 10 arrived, 0 unreachable", "every move checked: one step, legal");
    }
    /* the best drive from (0, 0) is known to bench as well */
    char *json = tool_ok("bench --track %s --motion inertia --alg astar --k unlimited --json", track_path);
    char *table = tool_ok(
        "run --via 127.0.0.1:%u --track %s --motion inertia --alg astar --k unlimited --doors 0 --agents 1",
        daemon_.port, track_path);
    double cost, shortest;
    const char *line = strstr(table, "\ncost ");
    ck_assert(line != NULL && sscanf(line, " cost %lf a walk, in ticks of driving", &cost) == 1);
    line = strstr(table, "\nshortest ways ");
    ck_assert(line != NULL && sscanf(line, " shortest ways %lf a walk", &shortest) == 1);
    ck_assert_double_eq(cost, tool_json_number(json, "cost"));
    ck_assert_double_eq(shortest, cost);
    free(table);
    free(json);
    snprintf(
        options, sizeof options,
        "--track %s --motion inertia --start-velocity 1,1 --alg tbrwa --k 40 --agents 6 --png %s/bend.png",
        track_path, daemon_.folder);
    run_has(options, "6: 6 arrived", "bend.png");
    char *plain = tool_write_file(daemon_.folder, "plain.track", "6\n2\n______\n______\n");
    snprintf(options, sizeof options, "--track %s --motion inertia --alg lss --k 40 --agents 8 --doors 0",
             plain);
    run_has(options, "8: 8 arrived", "6x2, 12 passable cells"); /* no start cells: drawn */
    free(plain);
}
END_TEST

START_TEST(fleets_refusals)
{
    const struct {
        int code;
        const char *words, *map, *path, *options;
    } cases[] = {
        {2, "--map: must be given, or --track or --graph", "", "", ""},
        {2, "--graph: the map is one of --map, --track and --graph", "--track x --graph", csv_path, ""},
        {2, "--coordinates: goes with --graph only", "--track", track_path, "--coordinates x"},
        {2, "--scen: goes with --map only", "--track", track_path, "--scen x"},
        {2, "--doors: a graph has none", "--graph", csv_path, "--doors 2"},
        {2, "--png: draws grids and tracks", "--graph", csv_path, "--png x"},
        {2, "--motion: vehicles with inertia drive on grids", "--graph", csv_path, "--motion inertia"},
        {2, "--puzzle", "--puzzle", csv_path, ""},
        {2, "--random", "--graph", csv_path, "--random 3"},
    };
    struct tool_run run;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tool_run(&run, "run --via 127.0.0.1:%u %s %s %s", daemon_.port, cases[i].map, cases[i].path,
                 cases[i].options);
        ck_assert_msg(run.exit_code == cases[i].code && strstr(run.err, cases[i].words) != NULL,
                      "case %zu: exit code %d: %s", i, run.exit_code, run.err);
        tool_run_fini(&run);
    }
    char *alone = tool_write_file(daemon_.folder, "alone.csv", "0,0,1\n1,1,1\n");
    tool_run(&run, "run --via 127.0.0.1:%u --graph %s", daemon_.port, alone);
    ck_assert_int_eq(run.exit_code, 1);
    ck_assert_msg(strstr(run.err, "another can be reached") != NULL, "%s", run.err);
    tool_run_fini(&run);
    free(alone);
}
END_TEST

static void refused(int code, const char *words, const char *options)
{
    static const char *const commands[] = {"bench", "trace"};
    for (int i = 0; i < 2; i++) {
        struct tool_run run;
        tool_run(&run, "%s %s", commands[i], options);
        ck_assert_msg(run.exit_code == code, "%s: exit code %d: %s", options, run.exit_code, run.err);
        ck_assert_msg(strstr(run.err, words) != NULL, "%s: '%s' not in: %s", options, words, run.err);
        tool_run_fini(&run);
    }
}

START_TEST(refusals)
{
    char options[1024];
#define REFUSED(CODE, WORDS, ...)                                                                            \
    do {                                                                                                     \
        snprintf(options, sizeof options, __VA_ARGS__);                                                      \
        refused(CODE, WORDS, options);                                                                       \
    } while (0)
    REFUSED(2, "--map: must be given", "--alg astar");
    REFUSED(2, "--graph: the map is one of", "--graph %s --track %s", csv_path, track_path);
    REFUSED(2, "--coordinates: goes with --graph", "--track %s --coordinates %s", track_path, nodes_path);
    REFUSED(2, "--scen: goes with --map", "--graph %s --scen x", csv_path);
    REFUSED(2, "--to: must be given", "--graph %s --from 1", csv_path);
    REFUSED(2, "--from: must be given", "--graph %s --to 1", csv_path);
    REFUSED(2, "--from: must be given", "--graph %s", csv_path);
    REFUSED(2, "--random: the problems are one of", "--graph %s --from 1 --to 2 --random 3", csv_path);
    REFUSED(2, "--motion: vehicles with inertia drive on grids",
            "--graph %s --from 1 --to 2 --motion inertia", csv_path);
    REFUSED(2, "--heuristic: is not one of this map", "--graph %s --from 1 --to 2 --heuristic euclid",
            csv_path);
    REFUSED(2, "--heuristic", "--graph %s --from 1 --to 2 --heuristic nonsense", csv_path);
    REFUSED(2, "--start-velocity: goes with --motion inertia", "--track %s --start-velocity 1,1", track_path);
    static const char *const velocities[] = {"4,0", "0,-4", "1", "1,", "1,2x", "a,b"};
    for (size_t i = 0; i < sizeof velocities / sizeof velocities[0]; i++)
        REFUSED(2, "--start-velocity", "--track %s --motion inertia --start-velocity %s", track_path,
                velocities[i]);
    REFUSED(2, "--puzzle: the map is one of", "--puzzle x --track %s", track_path);
    REFUSED(2, "--puzzle: a daemon has no 15-puzzles", "--puzzle x --via 127.0.0.1:%u", daemon_.port);
    REFUSED(2, "--random: does not go with --puzzle", "--puzzle x --random 3");
    static const char *const broken[] = {"1 1 0 2 3\n", "1 1 0 2 3 4 5 6 7 8 9 10 11 12 13 14 x 1\n",
                                         "1 1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 1\n",
                                         "1 0 2 1 3 4 5 6 7 8 9 10 11 12 13 14 15 1\n",
                                         "1 16 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 1\n"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        char *path = tool_write_file(daemon_.folder, "bad.txt", broken[i]);
        REFUSED(1, "bad.txt:1: ", "--puzzle %s", path);
        free(path);
    }
    REFUSED(1, "ledge.csv, which has 5 nodes, here numbered from 0\n", "--graph %s --from 0 --to 5",
            csv_path);
    REFUSED(1, "ledge.gr, which has 5 nodes, here numbered from 0 (its file counts them from 1)\n",
            "--graph %s --from 0 --to 5", gr_path);
    REFUSED(1, "bend.track, which has 108 cells, here numbered from 0\n", "--track %s --from 108 --to 5",
            track_path);
    REFUSED(1, "no row", "--graph %s --random 3 --first 3", csv_path);
    char *bad = tool_write_file(daemon_.folder, "bad.gr", "p sp 2 1\na 1 3 7\n");
    REFUSED(1, "bad.gr:2:", "--graph %s --random 3", bad);
    free(bad);
    bad = tool_write_file(daemon_.folder, "bad.track", "2\n1\n_?\n");
    REFUSED(1, "bad.track:3:2:", "--track %s", bad);
    free(bad);
    bad = tool_write_file(daemon_.folder, "plain.track", "2\n1\n__\n");
    REFUSED(1, "the track has no start cell", "--track %s", bad);
    free(bad);
    REFUSED(1, "ledge.co:1:1: ", "--graph %s --coordinates %s --random 2", csv_path, co_path);
    REFUSED(1, "CSV of id,x,y; of a .gr DIMACS .co)", "--graph %s --coordinates %s --random 2", csv_path,
            co_path);
    REFUSED(1, "CSV of id,x,y; of a .gr DIMACS .co)", "--graph %s --coordinates %s --random 2", csv_path,
            csv_path);
    REFUSED(1, "are DIMACS .co; of other graphs CSV of id,x,y)", "--graph %s --coordinates %s --random 2",
            gr_path, nodes_path);
#undef REFUSED
}
END_TEST

static Suite *spaces_suite(void)
{
    Suite *suite = suite_create("tool_spaces");
    TCase *cases = tcase_create("spaces");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, graph_figures);
    tcase_add_test(cases, same_through_a_daemon);
    tcase_add_test(cases, vehicle_trace);
    tcase_add_test(cases, puzzles);
    tcase_add_test(cases, fleets);
    tcase_add_test(cases, fleets_refusals);
    tcase_add_test(cases, refusals);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_spaces", spaces_suite);
}
