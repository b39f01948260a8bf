/* Who says nothing of an algorithm is led, in the library, through a daemon and by the tool alike: in a generated city an agent walks
 * near the shortest way at a few expansions a tick, without stepping back. Optimal costs are those of a plain Dijkstra (tests/lib).
 *
 * TICKPATH_SEED repeats a run. */
#include "client/cli/generate.h"
#include "guide/field.h"
#include "map/layer.h"
#include "search/session.h"
#include "tests/lib/distances.h"
#include "tests/lib/maps.h"
#include "tests/lib/play.h"
#include "tests/lib/served.h"
#include "tests/lib/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 256, CELLS = SIDE * SIDE, WALKS = 40, TICKS_MAX = 5000 };

static uint8_t cells[CELLS];
static struct tp_map *city, *layer;
static uint32_t starts[WALKS], goals[WALKS];
static uint64_t optimal[WALKS];

/* A city, on the daemon too, and walks of half its side at least. */
static void begin(void)
{
    struct tp_test_rng rng = tp_test_rng("city");
    ck_assert_int_eq(tp_generate_map(TP_GENERATE_CITY, SIDE, SIDE, tp_test_next(&rng),
                                     &(struct tp_generate_options){0}, cells),
                     0);
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    ck_assert_int_eq(tp_map_build(&city, SIDE, SIDE, cells, &profile, 1), 0);
    const struct tp_layer_kind kind = {profile, 1, true, TP_BLOCKS_STRAIGHT};
    ck_assert_int_eq(tp_layer_build(&layer, city, &kind), 0);
    struct tp_session_params params;
    tp_session_params_init(&params);
    struct ref_problem problem = play_problem(city, &params);
    uint64_t *costs = malloc(CELLS * sizeof *costs);
    for (int i = 0; i < WALKS;) {
        starts[i] = tp_test_below(&rng, CELLS);
        goals[i] = tp_test_below(&rng, CELLS);
        if (cells[starts[i]] != '.' || cells[goals[i]] != '.')
            continue;
        ref_costs_to(&problem, goals[i], costs);
        optimal[i] = costs[starts[i]];
        i += optimal[i] >= SIDE / 2 * TP_COST_UNIT;
    }
    free(costs);
    free((void *)problem.weight);
    served_begin_plain();
    wire_put_map(&served.wire, "city", SIDE, SIDE, cells);
}

static void end(void)
{
    served_end_plain();
    tp_map_unref(layer);
    tp_map_unref(city);
}

struct walked {
    uint64_t cost, moves, back_moves, expansions, guide, hash;
};

/* ---- Two ways to walk ---- */

static struct walked walk_here(const struct tp_session_params *with, int i)
{
    struct tp_session_params params = *with;
    struct tp_pool pool;
    struct tp_session *session;
    struct tp_refusal refusal;
    tp_pool_init(&pool, NULL);
    params.fields = tp_field_cache_open(&pool, 1 << 24);
    params.start = starts[i];
    params.goal = goals[i];
    ck_assert_int_eq(tp_session_open(&session, &params, layer, &pool, &refusal), 0);
    struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
    for (int tick = 0; reply.status != TP_STATUS_ARRIVED; tick++) {
        ck_assert_int_lt(tick, TICKS_MAX);
        tp_session_tick(session, layer, NULL, &reply);
    }
    struct tp_session_stats stats;
    tp_session_stats(session, &stats);
    tp_session_close(session);
    tp_field_cache_close(params.fields);
    tp_pool_fini(&pool);
    return (struct walked){stats.cost,       stats.moves, stats.back_moves,
                           stats.expansions, stats.guide, stats.move_hash};
}

static struct walked measures_of(uint64_t session)
{
    Tickpath__List list = TICKPATH__LIST__INIT;
    list.has_sessions = list.sessions = 1;
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_LIST, &list, TICKPATH__REPLY__BODY_LISTING);
    ck_assert_uint_eq(reply->listing->n_session, 1);
    const Tickpath__SessionInfo *info = reply->listing->session[0];
    ck_assert_uint_eq(info->session, session);
    ck_assert_str_eq(info->algorithm, "guided");
    struct walked walked = {
        info->cost, info->moves, info->back_moves, info->expansions, info->guide_expansions, info->move_hash};
    wire_reply_free(reply);
    return walked;
}

/* With nothing said but the map, the places and k. */
static struct walked walk_there(int i, uint64_t k)
{
    uint64_t session = wire_open_session(&served.wire, "city", starts[i], goals[i], NULL, k);
    uint32_t status = 0;
    for (int tick = 0; status != TICKPATH__STATUS__ARRIVED; tick++) {
        ck_assert_int_lt(tick, TICKS_MAX);
        Tickpath__Reply *reply = wire_tick(&served.wire, session);
        status = reply->ticked->status[0];
        wire_reply_free(reply);
    }
    struct walked walked = measures_of(session);
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.has_all = close.all = 1;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                             TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    return walked;
}

static void expect_same(const struct walked *a, const struct walked *b, const char *words, int i)
{
    ck_assert_msg(
        a->hash == b->hash && a->cost == b->cost && a->moves == b->moves && a->back_moves == b->back_moves &&
            a->expansions == b->expansions && a->guide == b->guide,
        "walk %d, %s: cost %llu and %llu (TICKPATH_SEED=%llu)", i, words, (unsigned long long)a->cost,
        (unsigned long long)b->cost, (unsigned long long)tp_test_seed());
}

/* ---- The tests ---- */

START_TEST(the_default_is_led_and_walks_near_the_optimum)
{
    static const uint64_t lookaheads[] = {4, 16};
    static const double worst[] = {1.06, 1.04}, back_most[] = {0.25, 0.1}; /* means */
    for (int n = 0; n < 2; n++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.budget = tp_budget_k(lookaheads[n]);
        double ratios = 0, back = 0;
        for (int i = 0; i < WALKS; i++) {
            struct walked here = walk_here(&params, i), there = walk_there(i, lookaheads[n]);
            expect_same(&here, &there, "in-process and through the daemon", i);
            ck_assert_uint_gt(here.guide, 0);
            ratios += (double)here.cost / (double)optimal[i];
            back += (double)here.back_moves;
        }
        printf("k = %d: cost %.4f of the optimum, %.3f back-moves a walk\n", (int)lookaheads[n],
               ratios / WALKS, back / WALKS);
        ck_assert_msg(ratios / WALKS < worst[n] && back / WALKS < back_most[n], "TICKPATH_SEED=%llu",
                      (unsigned long long)tp_test_seed());
    }
}
END_TEST

/* What the default stands for, said; and that to say otherwise makes a difference. */
START_TEST(the_default_waits_instead_of_moving_back)
{
    struct tp_session_params open, said;
    tp_session_params_init(&open);
    open.budget = tp_budget_k(1);
    open.guide_units = 3;
    said = open;
    said.algorithm = tp_algorithm_find("guided");
    said.w_milli = 2000;
    said.pause_on_backtrack = TP_PAUSE_ON_BACKTRACK;
    uint64_t back[2] = {0};
    for (int i = 0; i < WALKS; i++) {
        struct walked a = walk_here(&open, i), b = walk_here(&said, i);
        expect_same(&a, &b, "with and without words", i);
        said.pause_on_backtrack = TP_PAUSE_NEVER;
        back[0] += a.back_moves;
        back[1] += walk_here(&said, i).back_moves;
        said.pause_on_backtrack = TP_PAUSE_ON_BACKTRACK;
    }
    printf("%llu back-moves, without pauses %llu\n", (unsigned long long)back[0],
           (unsigned long long)back[1]);
    ck_assert_uint_lt(back[0], back[1]);
}
END_TEST

START_TEST(the_tool_has_the_same_default)
{
    char folder[128], address[40];
    snprintf(folder, sizeof folder, "%s", tp_test_folder_make());
    snprintf(address, sizeof address, "127.0.0.1:%u", served.daemon.port);
    struct tool_run run;
    tool_run(&run, "map generate --kind city --size 128x128 --seed 5 --out %s/city.map", folder);
    ck_assert_int_eq(run.exit_code, 0);
    tool_run_fini(&run);
    static const char *const words[] = {"", "--alg guided --w 2 --pause-on-backtrack",
                                        "--no-pause-on-backtrack --pause-on-backtrack"};
    char *text[4];
    for (int i = 0; i < 4; i++)
        text[i] = tool_ok("bench --map %s/city.map --random 40 --k 2 --json%s%s%s%s", folder,
                          i < 3 && *words[i] ? " " : "", i < 3 ? words[i] : "", i == 3 ? " --via " : "",
                          i == 3 ? address : "");
    static const char *const keys[] = {"cost",    "moves", "ticks", "back", "expansions", "guide_expansions",
                                       "restarts"};
    ck_assert_str_eq(tool_json_word(text[0], "alg"), "guided");
    for (int i = 1; i < 4; i++)
        for (size_t key = 0; key < sizeof keys / sizeof *keys; key++)
            ck_assert_msg(tool_json_number(text[0], keys[key]) == tool_json_number(text[i], keys[key]),
                          "%s of bench %d: %g, %g", keys[key], i, tool_json_number(text[0], keys[key]),
                          tool_json_number(text[i], keys[key]));
    for (int i = 0; i < 4; i++)
        free(text[i]);
    tp_test_folder_remove(folder);
}
END_TEST

/* Doors close and open in front of them for 60 ticks, then all stay open. Of this run one agent was left with a search in the order of a
 * way that it had lost, and waited for the whole map to be searched: 1179 ticks. */
START_TEST(doors_leave_nobody_waiting)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s", tp_test_folder_make());
    free(tool_ok("map generate --kind city --size 256x256 --seed 7 --out %s/city.map", folder));
    char *text = tool_ok(
        "run --map %s/city.map --via 127.0.0.1:%u --agents 100 --doors 60 --door-ticks 2 --seed 2 --k 16",
        folder, served.daemon.port);
    const char *ticks = strstr(text, "\nticks ");
    ck_assert_msg(strstr(text, "100 arrived") && ticks, "%s", text);
    ck_assert_msg(atoi(ticks + strcspn(ticks, "0123456789")) < 600, "%s", text);
    free(text);
    tp_test_folder_remove(folder);
}
END_TEST

START_TEST(the_listing_marks_the_default)
{
    char *text = tool_ok("algorithms");
    const char *mark = strstr(text, "(the default)");
    ck_assert(mark && !strstr(mark + 1, "(the default)"));
    const char *row = strstr(text, "\nguided ");
    ck_assert(row && row < mark);
    const char *next = strstr(text, "\nrtba ");
    ck_assert(next && mark < next);
    free(text);
}
END_TEST

static Suite *default_suite(void)
{
    Suite *suite = suite_create("default");
    TCase *tcase = tcase_create("default");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, the_default_is_led_and_walks_near_the_optimum);
    tcase_add_test(tcase, the_default_waits_instead_of_moving_back);
    tcase_add_test(tcase, the_tool_has_the_same_default);
    tcase_add_test(tcase, doors_leave_nobody_waiting);
    tcase_add_test(tcase, the_listing_marks_the_default);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_default", default_suite);
}
