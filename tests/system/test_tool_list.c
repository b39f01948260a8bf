/* `tickpath list` against a daemon with grids, a graph and sessions of several states: what it lists is what was opened, as a table and as JSON; more
 * than the limit is counted; what it can't do is refused. */
#include "client/cli/list_sessions.h"
#include "tests/lib/harness.h"
#include "tests/lib/served.h"
#include "tests/lib/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, CROWD = 12 };

static char stats[32];

static void begin(void)
{
    served_begin_plain();
    snprintf(stats, sizeof stats, "127.0.0.1:%u", served.daemon.stats_port);
}

static void expect(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "no \"%s\" in: %s", words, text);
}

static int count_of(const char *text, const char *words)
{
    int count = 0;
    for (; (text = strstr(text, words)) != NULL; text++)
        count++;
    return count;
}

/* A shape of a JSON answer that Python's own reader judges. */
static void expect_json(const char *text, const char *expression)
{
    char folder[256], command[1024];
    strcpy(folder, tp_test_folder_make());
    char *path = tool_write_file(folder, "j", text);
    const char *python = getenv("TICKPATH_PYTHON");
    snprintf(command, sizeof command, "%s -c 'import json, sys\nj = json.load(open(sys.argv[1]))\nsys.exit(0 if (%s) else 1)' %s",
             python != NULL ? python : "python3", expression, path);
    ck_assert_msg(system(command) == 0, "not true: %s of %s", expression, text);
    free(path);
    tp_test_folder_remove(folder);
}

static void tick(struct wire *wire, uint64_t session)
{
    Tickpath__Tick request = TICKPATH__TICK__INIT;
    request.n_session = 1;
    request.session = &session;
    wire_reply_free(wire_ask(wire, TICKPATH__REQUEST__BODY_TICK, &request, TICKPATH__REPLY__BODY_TICKED));
}

START_TEST(test_maps)
{
    char *out = tool_ok("list --stats %s", stats);
    ck_assert_int_eq(count_of(out, "\n"), 1); /* its head alone */
    free(out);
    wire_put_free_map(&served.wire, "town/west", 300, 20);
    wire_put_free_map(&served.wire, "m", SIDE, SIDE);
    wire_set_cell(&served.wire, "m", 9, '@');
    wire_open_session(&served.wire, "m", 0, SIDE, NULL, 4);
    out = tool_ok("list --stats %s", stats);
    ck_assert_int_eq(count_of(out, "\n"), 3);
    char name[32], kind[32], size[32];
    uint64_t version, epoch, sessions;
    ck_assert_int_eq(sscanf(strstr(out, "\nm ") + 1, "%31s %31s %31s %" SCNu64 " %" SCNu64 " %" SCNu64, name, kind, size, &version, &epoch, &sessions), 6);
    ck_assert_str_eq(kind, "grid");
    ck_assert_str_eq(size, "8x8");
    ck_assert_uint_eq(version, 2);
    ck_assert_uint_ne(epoch, 0);
    ck_assert_uint_eq(sessions, 1);
    expect(out, "\ntown/west ");
    expect(out, " 300x20 ");
    free(out);
    char due[200];
    out = tool_ok("list --stats %s --map m --json", stats);
    snprintf(due, sizeof due,
             "j == {\"maps\": [{\"name\": \"m\", \"kind\": \"grid\", \"width\": 8, \"height\": 8, \"version\": 2, \"epoch\": %" PRIu64 ", \"sessions\": 1}]}", epoch);
    expect_json(out, due);
    free(out);
    out = tool_ok("list --stats %s --json", stats);
    expect_json(out, "sorted(m[\"name\"] for m in j[\"maps\"]) == [\"m\", \"town/west\"]");
    free(out);
}
END_TEST

/* Of a graph the nodes are counted, and named by their numbers. */
START_TEST(test_graph)
{
    uint32_t from[] = {0, 1, 2}, to[] = {1, 2, 0}, cost[] = {10, 10, 10};
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    put.map = "roads";
    put.has_nodes = put.has_edges = put.has_last = put.last = 1;
    put.nodes = put.edges = 3;
    put.edge_from = from;
    put.edge_to = to;
    put.edge_cost = cost;
    put.n_edge_from = put.n_edge_to = put.n_edge_cost = 3;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    uint64_t session = wire_open_session(&served.wire, "roads", 1, 0, NULL, 4);
    char *out = tool_ok("list --stats %s", stats);
    expect(out, "\nroads ");
    expect(out, " graph ");
    expect(out, " 3 nodes ");
    free(out);
    out = tool_ok("list --stats %s --status FRESH", stats);
    char due[200];
    snprintf(due, sizeof due, "\n%20" PRIu64 "  FRESH        1             0             roads\n", session);
    expect(out, due);
    free(out);
}
END_TEST

/* Sessions on two maps, of two connections, which two loops have. */
START_TEST(test_sessions)
{
    struct wire other;
    char due[200];
    wire_open_greeted(&other, served.daemon.port);
    wire_put_free_map(&served.wire, "m", SIDE, SIDE);
    wire_put_free_map(&served.wire, "n", SIDE, SIDE);
    uint64_t arrived = wire_open_session(&served.wire, "m", 0, 1, NULL, 4), moving = wire_open_session(&other, "m", 0, SIDE * SIDE - 1, NULL, 1000);
    tick(&served.wire, arrived);
    tick(&other, moving);
    for (uint32_t i = 0; i < CROWD; i++)
        wire_open_session(i % 2 ? &other : &served.wire, i < CROWD / 2 ? "m" : "n", 17, 10, NULL, 4);

    char *out = tool_ok("list --stats %s --status ARRIVED", stats);
    ck_assert_int_eq(count_of(out, "\n"), 2);
    snprintf(due, sizeof due, "\n%20" PRIu64 "  ARRIVED      1,0           1,0           m\n", arrived);
    expect(out, due);
    free(out);
    out = tool_ok("list --stats %s --status MOVING --json", stats);
    snprintf(due, sizeof due,
             "j == {\"sessions\": [{\"session\": %" PRIu64 ", \"map\": \"m\", \"status\": \"MOVING\", \"cell\": 9, \"goal\": 63}], \"matching\": 1, "
             "\"cut\": False, \"untold\": 0}",
             moving);
    expect_json(out, due);
    free(out);
    out = tool_ok("list --stats %s --status FRESH", stats);
    ck_assert_int_eq(count_of(out, "  FRESH        1,2           2,1 "), CROWD);
    ck_assert_int_eq(count_of(out, "listed"), 0);
    free(out);
    out = tool_ok("list --stats %s --status FRESH --map n --json", stats);
    expect_json(out, "len(j[\"sessions\"]) == 6 and {s[\"map\"] for s in j[\"sessions\"]} == {\"n\"}");
    free(out);
    out = tool_ok("list --stats %s --status ANY --limit 5", stats);
    ck_assert_int_eq(count_of(out, "\n"), 1 + 5 + 1);
    expect(out, "\n5 of 14 listed: --limit N lists more\n");
    free(out);
    out = tool_ok("list --stats %s --status ANY --limit 5 --json", stats);
    expect_json(out, "len(j[\"sessions\"]) == 5 and j[\"matching\"] == 14 and j[\"cut\"]");
    free(out);
    out = tool_ok("list --stats %s --status BLOCKED --json", stats);
    expect_json(out, "j[\"sessions\"] == [] and j[\"matching\"] == 0 and not j[\"cut\"]");
    free(out);
    wire_close(&other);
}
END_TEST

/* More maps with sessions than the view has streams, and more sessions of one loop than the view has room for at first. */
START_TEST(test_many)
{
    enum { MAPS = 24, ON_EACH = 2, ON_LAST = 1100 };
    for (int i = 0; i < MAPS; i++) {
        char name[16];
        snprintf(name, sizeof name, "map-%d", i);
        wire_put_free_map(&served.wire, name, SIDE, SIDE);
        for (uint32_t k = 0; k < (i < MAPS - 1 ? ON_EACH : ON_LAST); k++)
            wire_open_session(&served.wire, name, k % 50, 60, NULL, 4);
    }
    char *out = tool_ok("list --stats %s --status ANY --limit 100000 --json", stats);
    expect_json(out, "len({s[\"session\"] for s in j[\"sessions\"]}) == 1146 and j[\"matching\"] == 1146 and j[\"untold\"] == 0");
    free(out);
}
END_TEST

START_TEST(test_refusals)
{
    static const struct {
        const char *more;
        int exit_code;
        const char *words;
    } rows[] = {
        {"--map no/such", 1, "has no map no/such"}, {"--status LOST", 2, "--status"}, {"--status", 2, "--status"}, {"--limit 0", 2, "--limit"}, {"m", 2, "m"},
    };
    struct tool_run run;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tool_run(&run, "list --stats %s %s", stats, rows[i].more);
        ck_assert_msg(run.exit_code == rows[i].exit_code && strstr(run.err, rows[i].words) != NULL, "%s ends with %d: %s", rows[i].more, run.exit_code, run.err);
        tool_run_fini(&run);
    }
    tool_run(&run, "list --stats 127.0.0.1:1"); /* where nobody answers */
    ck_assert_int_eq(run.exit_code, 1);
    tool_run_fini(&run);
    /* a port that everybody may reach wants its token, of the command line or the environment */
    wire_daemon_stop(&served.daemon);
    wire_close(&served.wire);
    wire_daemon_start(&served.daemon, "--threads", "2", "--stats", "127.0.0.1:0", "--stats-token", "0123456789abcdef", NULL);
    wire_open_greeted(&served.wire, served.daemon.port);
    wire_put_free_map(&served.wire, "m", SIDE, SIDE);
    wire_open_session(&served.wire, "m", 0, SIDE, NULL, 4);
    snprintf(stats, sizeof stats, "127.0.0.1:%u", served.daemon.stats_port);
    tool_run(&run, "list --stats %s", stats);
    ck_assert_msg(run.exit_code == 2 && strstr(run.err, "--token") != NULL, "it ends with %d: %s", run.exit_code, run.err);
    tool_run_fini(&run);
    free(tool_ok("list --stats %s --token 0123456789abcdef", stats));
    setenv("TICKPATHD_STATS_TOKEN", "0123456789abcdef", 1);
    char *out = tool_ok("list --stats %s --status FRESH", stats);
    unsetenv("TICKPATHD_STATS_TOKEN");
    ck_assert_int_eq(count_of(out, "\n"), 2);
    free(out);
}
END_TEST

static void ignore_cb(const struct tp_listed *session, void *context)
{
    (void)session;
    ++*(int *)context;
}

/* What is no such event is refused, wherever it ends. */
START_TEST(test_broken_events)
{
    /* number 1, time 0, 1 there, 3 left out, none gone, 1: gap 0, id 2, cell 5, goal 6, status 1, flags 0; none changed */
    static const char good[] = "AQABAwABAAIAAAAAAAAABQYBAAA=";
    uint64_t left_out;
    int count = 0;
    ck_assert(tp_listed_read(good, &left_out, ignore_cb, &count));
    ck_assert_uint_eq(left_out, 3);
    ck_assert_int_eq(count, 1);
    for (size_t size = 0; size + 2 < sizeof good - 1; size++) {
        char cut[sizeof good] = "";
        memcpy(cut, good, size);
        ck_assert_msg(!tp_listed_read(cut, &left_out, ignore_cb, &count), "%s", cut);
    }
    static const char *const bad[] = {"AQABAwEBAAIAAAAAAAAABQYBAAA=", "AQABAwABAAIAAAAAAAAABQYBAAE=", "A!ABAwAA", "//////////////////////////"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!tp_listed_read(bad[i], &left_out, ignore_cb, &count), "%s", bad[i]);
}
END_TEST

static Suite *list_suite(void)
{
    Suite *suite = suite_create("tool_list");
    TCase *cases = tcase_create("list");
    tcase_add_checked_fixture(cases, begin, served_end_plain);
    tcase_add_test(cases, test_maps);
    tcase_add_test(cases, test_graph);
    tcase_add_test(cases, test_sessions);
    tcase_add_test(cases, test_many);
    tcase_add_test(cases, test_refusals);
    suite_add_tcase(suite, cases);
    TCase *events = tcase_create("events");
    tcase_add_test(events, test_broken_events);
    suite_add_tcase(suite, events);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_list", list_suite);
}
