/* Agents of other kinds and sizes in the tool: the same figures in-process and through a daemon, whose answers `run` checks while
 * doors close and open; lists of weights from a file; the benchmark folder's weighted map, against plain Dijkstra where it is cut
 * small. */
#include "base/limits.h"
#include "map/layer.h"
#include "search/session.h"
#include "tests/lib/distances.h"
#include "tests/lib/maps.h"
#include "tests/lib/tool.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct wire_daemon daemon_;
static char *map_path_;

static void begin(void)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    map_path_ = tool_write_file(daemon_.folder, "city.map", "");
    free(tool_ok("map generate --kind city --size 96x96 --seed 5 --out %s", map_path_));
}

static void end(void)
{
    free(map_path_);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

/* What both ways of playing must agree on. */
static void expect_alike(const char *a, const char *b)
{
    static const char *const keys[] = {"n", "solved", "cost", "moves", "back", "expansions"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_assert_double_eq(tool_json_number(a, keys[i]), tool_json_number(b, keys[i]));
}

START_TEST(same_through_a_daemon)
{
    static const char *const kinds[] = {"--agent-size 2", "--profile W=3", "--profile W=1,T=2 --agent-size 3",
                                        "--alg guided --profile W=1,T=2 --agent-size 3 --w 1.5"};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    double cost[KINDS];
    for (int i = 0; i < KINDS; i++) {
        char *here = tool_ok("bench --map %s --random 12 --seed 3 %s --json", map_path_, kinds[i]);
        char *there = tool_ok("bench --map %s --random 12 --seed 3 %s --json --via 127.0.0.1:%u", map_path_,
                              kinds[i], daemon_.port);
        ck_assert_double_gt(tool_json_number(here, "solved"), 0);
        expect_alike(here, there);
        cost[i] = tool_json_number(here, "cost");
        free(here);
        free(there);
    }
    ck_assert_double_ne(cost[0], cost[1]);
    ck_assert_double_ne(cost[1], cost[2]);
}
END_TEST

/* `run` holds every answer to the layer of the version it names. */
START_TEST(run_with_doors)
{
    static const char *const kinds[] = {"--alg tbwa --agent-size 2", "--profile W=2,T=1",
                                        "--alg astar --k unlimited --agent-size 3 --profile T=3", "--alg guided --w 1.5 --k 8",
                                        "--alg guided --agent-size 2 --corners always --guide-units 20"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char *words = tool_ok("run --map %s --via 127.0.0.1:%u --agents 20 --doors 8 --door-ticks 5 %s",
                              map_path_, daemon_.port, kinds[i]);
        ck_assert_msg(strstr(words, "every move checked"), "%s", words);
        bool guided = strstr(kinds[i], "guided") != NULL || strstr(kinds[i], "--alg") == NULL;
        ck_assert_msg((strstr(words, "\nguide ") != NULL) == guided, "%s", words);
        free(words);
    }
}
END_TEST

START_TEST(refused)
{
    static const struct {
        const char *options, *words;
    } cases[] = {
        {"--map %s --random 3 --agent-size 9", "--agent-size"},
        {"--map %s --random 3 --agent-size 0", "--agent-size"},
        {"--map %s --random 3 --profile W", "--profile"},
        {"--map %s --random 3 --terrain @nowhere", "--terrain"},
        {"--map %s --random 3 --agent-size 2 --alg tbaa --known x.map", "--known"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tool_run run;
        char line[512], *at = line;
        at += sprintf(at, "bench ");
        snprintf(at, sizeof line - 6, cases[i].options, map_path_);
        tool_run(&run, "%s", line);
        ck_assert_msg(run.exit_code == 2 && strstr(run.err, cases[i].words), "%s: %d %s", line, run.exit_code,
                      run.err);
        tool_run_fini(&run);
    }
    char *graph = tool_write_file(daemon_.folder, "two.csv", "from,to,cost\n0,1,1,both\n");
    struct tool_run run;
    tool_run(&run, "bench --graph %s --from 0 --to 1 --agent-size 2", graph);
    ck_assert_msg(run.exit_code == 2 && strstr(run.err, "--agent-size"), "%d %s", run.exit_code, run.err);
    tool_run_fini(&run);
    tool_run(&run, "bench --graph %s --from 0 --to 1 --agent-size 2 --via 127.0.0.1:%u", graph, daemon_.port);
    ck_assert_msg(run.exit_code == 2 && strstr(run.err, "--agent-size"), "%d %s", run.exit_code, run.err);
    tool_run_fini(&run);
    free(graph);
}
END_TEST

START_TEST(weights_from_a_file)
{
    char *list = tool_write_file(daemon_.folder, "list", ".=2\nW=3,T=4\nG=1\n");
    char *a = tool_ok("bench --map %s --random 10 --terrain .=2,W=3,T=4,G=1 --json", map_path_);
    char *b = tool_ok("bench --map %s --random 10 --terrain @%s --json", map_path_, list);
    char *plain = tool_ok("bench --map %s --random 10 --json", map_path_);
    expect_alike(a, b);
    ck_assert_double_ne(tool_json_number(a, "cost"), tool_json_number(plain, "cost"));
    free(a);
    free(b);
    free(plain);
    free(list);
}
END_TEST

/* ---- The weighted map ---- */

enum { CUT = 200 };

/* Classes A to P weigh 1 to 16, and O nothing at all: it is closed. */
static struct tp_profile letters(void)
{
    struct tp_profile profile = {{0}};
    for (int i = 'A'; i <= 'P'; i++)
        profile.weight[i] = (uint16_t)(i == 'O' ? 0 : i - 'A' + 1);
    return profile;
}

/* A piece of the map around a point, under the letters' profile. */
static struct tp_map *cut(const struct tp_map *whole, uint32_t x0, uint32_t y0)
{
    static uint8_t cells[CUT * CUT];
    for (uint32_t y = 0; y < CUT; y++)
        for (uint32_t x = 0; x < CUT; x++)
            cells[y * CUT + x] = tp_map_class(whole, x0 + x, y0 + y);
    struct tp_profile profile = letters();
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, CUT, CUT, cells, &profile, 1), 0);
    return map;
}

/* What A* walks to its goal; UINT64_MAX: unreachable. */
static uint64_t walked(const struct tp_map *map, uint32_t start, uint32_t goal)
{
    struct tp_session_params params;
    struct tp_session *session;
    struct tp_refusal refusal;
    struct tp_pool pool;
    struct tp_tick_reply reply;
    tp_pool_init(&pool, NULL);
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("astar");
    params.budget = tp_budget_k(TP_BUDGET_MAX);
    params.start = start;
    params.goal = goal;
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
    do
        tp_session_tick(session, map, NULL, &reply);
    while (reply.status == TP_STATUS_MOVING);
    ck_assert(reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE);
    tp_session_close(session);
    tp_pool_fini(&pool);
    return reply.status == TP_STATUS_ARRIVED ? reply.cost : UINT64_MAX;
}

/* The whole map loads; a piece of it is walked by agents of several sizes at the least cost. */
START_TEST(weighted_map)
{
    const char *folder = tp_test_maps_or_skip();
    if (folder == NULL)
        return;
    struct tp_test_rng rng = tp_test_rng("weighted");
    struct tp_map *whole = tp_test_map_load(folder, "weighted/Map1");
    struct tp_movingai_scen scen = tp_test_scen_load(folder, "weighted/Map1");
    ck_assert_uint_eq(whole->width, 2048);
    ck_assert_uint_gt(scen.count, 0);
    static uint16_t weights[CUT * CUT];
    static uint64_t costs[CUT * CUT];
    size_t arrivals = 0;
    for (int n = 0; n < 6; n++) {
        const struct tp_movingai_row *row = &scen.rows[tp_test_below(&rng, (uint32_t)scen.count)];
        uint32_t x0 = row->start_x < 2048 - CUT ? row->start_x : 2048 - CUT;
        uint32_t y0 = row->start_y < 2048 - CUT ? row->start_y : 2048 - CUT;
        struct tp_map *piece = cut(whole, x0, y0), *layer;
        struct tp_layer_kind kind = {.profile = piece->profile, .size = n % 3 == 0 ? 1 : tp_test_between(&rng, 2, 8)};
        ck_assert_int_eq(tp_layer_build(&layer, piece, &kind), 0);
        for (uint32_t cell = 0; cell < CUT * CUT; cell++) { /* the plain definition */
            uint32_t x = cell % CUT, y = cell / CUT;
            weights[cell] = 0;
            for (uint32_t i = 0; i < kind.size * kind.size; i++) {
                uint32_t at_x = x + i % kind.size, at_y = y + i / kind.size;
                uint16_t weight = at_x < CUT && at_y < CUT ? tp_map_weight(piece, at_x, at_y) : 0;
                if (weight == 0) {
                    weights[cell] = 0;
                    break;
                }
                weights[cell] = weight > weights[cell] ? weight : weights[cell];
            }
        }
        uint32_t goal;
        do
            goal = tp_test_below(&rng, CUT * CUT);
        while (weights[goal] == 0);
        struct ref_problem problem = {
            .width = CUT, .height = CUT, .weight = weights, .least_weight = 1, .neighbours = 8};
        ref_costs_to(&problem, goal, costs);
        for (int i = 0; i < 5; i++) {
            uint32_t start = tp_test_below(&rng, CUT * CUT);
            if (weights[start] == 0)
                continue;
            ck_assert_uint_eq(walked(layer, start, goal), costs[start]);
            arrivals += costs[start] != UINT64_MAX;
        }
        tp_map_unref(layer);
        tp_map_unref(piece);
    }
    ck_assert_uint_gt(arrivals, 0);
    tp_movingai_scen_fini(&scen);
    tp_map_unref(whole);
}
END_TEST

/* The tool plays its scenario, in-process and through a daemon. */
START_TEST(weighted_scenario)
{
    const char *folder = tp_test_maps_or_skip();
    if (folder == NULL)
        return;
    char *list =
        tool_write_file(daemon_.folder, "letters",
                        "A=1,B=2,C=3,D=4\nE=5,F=6,G=7,H=8\nI=9,J=10,K=11,L=12\nM=13,N=14,O=15,P=16\n");
    char *json[2];
    for (int i = 0; i < 2; i++) {
        char via[64] = "";
        if (i == 1)
            snprintf(via, sizeof via, " --via 127.0.0.1:%u", daemon_.port);
        json[i] = tool_ok(
            "bench --map %s/weighted/Map1.map --scen %s/weighted/Map1.scen --max-optimal 190 --terrain @%s "
            "--alg astar --k unlimited --json%s",
            folder, folder, list, via);
        ck_assert_double_eq(tool_json_number(json[i], "solved"), 4);
    }
    expect_alike(json[0], json[1]);
    free(json[0]);
    free(json[1]);
    free(list);
}
END_TEST

static Suite *layers_suite(void)
{
    Suite *suite = suite_create("tool_layers");
    TCase *cases = tcase_create("tool");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, same_through_a_daemon);
    tcase_add_test(cases, run_with_doors);
    tcase_add_test(cases, refused);
    tcase_add_test(cases, weights_from_a_file);
    tcase_add_test(cases, weighted_scenario);
    suite_add_tcase(suite, cases);
    TCase *library = tcase_create("library");
    tcase_set_timeout(library, 120);
    tcase_add_test(library, weighted_map);
    suite_add_tcase(suite, library);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_layers", layers_suite);
}
