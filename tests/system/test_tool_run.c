/* `tickpath run`: agents through a real daemon while doors open and close; and a daemon that lies, for the
 * tool has to catch every lie. */
#include "tests/lib/harness.h"
#include "tests/lib/peer.h"
#include "tests/lib/tool.h"
#include "tests/lib/wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[256];
static struct wire_daemon daemon_;

static void folder_begin(void)
{
    strcpy(folder, tp_test_folder_make());
}

static void folder_end(void)
{
    tp_test_folder_remove(folder);
}

static void served_begin_here(void)
{
    folder_begin();
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
}

static void served_end_here(void)
{
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
    folder_end();
}

static char *generate(const char *kind, const char *size)
{
    char *path;
    ck_assert_int_ge(asprintf(&path, "%s/%s.map", folder, kind), 0);
    free(tool_ok("map generate --kind %s --size %s --seed 5 --out %s", kind, size, path));
    return path;
}

static void check_has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "\"%s\" is not in:\n%s", words, text);
}

/* The table without what depends on time. */
static char *timeless(const char *table)
{
    char *copy = strdup(table);
    const char *const lines[] = {"\na second ", "\nround trip "};
    for (size_t i = 0; i < 2; i++) {
        char *from = strstr(copy, lines[i]);
        ck_assert_msg(from != NULL, "%s", table);
        char *to = strchr(from + 1, '\n');
        memmove(from, to, strlen(to) + 1);
    }
    return copy;
}

/* The numbers of the table that must fit each other. */
static void check_figures(const char *table)
{
    unsigned long long moves, requests, under_way, waiting;
    unsigned agents;
    double walked, crow, shortest, walked_again, ratio, half, most, nearly_all, longest;
    const char *line = strstr(table, "\nagents ");
    ck_assert(line != NULL && sscanf(line, " agents %u", &agents) == 1);
    line = strstr(table, "\nmoves ");
    ck_assert(line != NULL && sscanf(line, " moves %llu", &moves) == 1);
    line = strstr(table, "\ncost ");
    ck_assert(line != NULL && sscanf(line, " cost %lf a walk; %lf", &walked, &crow) == 2);
    line = strstr(table, "\nshortest ways ");
    ck_assert_msg(line != NULL &&
                      sscanf(line,
                             " shortest ways %lf a walk on the map as it was at the start, all doors "
                             "open: walked were %lf, %lf",
                             &shortest, &walked_again, &ratio) == 3,
                  "%s", table);
    double rounded = 0.05 + 0.05 * ratio + 0.0005 * shortest; /* what the digits left out may come to */
    ck_assert_msg(walked_again == walked && shortest <= walked && ratio >= 1 && fabs(walked - shortest * ratio) <= rounded + 1e-9,
                  "%s", table);
    line = strstr(table, "\nticks ");
    ck_assert_msg(line != NULL &&
                      sscanf(line, " ticks %llu requests for all agents; %llu agent ticks under way, %llu of",
                             &requests, &under_way, &waiting) == 3,
                  "%s", table);
    ck_assert_msg(under_way + waiting == requests * agents && moves <= under_way && requests <= under_way,
                  "%s", table);
    line = strstr(table, "\nround trip ");
    ck_assert_msg(line != NULL &&
                      sscanf(line,
                             " round trip client side, a request until its answer: half within %lf us, "
                             "95 %% within %lf us, 99 %% within %lf us, longest %lf",
                             &half, &most, &nearly_all, &longest) == 4,
                  "%s", table);
    ck_assert_msg(half > 0 && half <= most && most <= nearly_all && nearly_all <= longest, "%s", table);
}

START_TEST(agents_walk_while_doors_close)
{
    static const struct {
        const char *kind, *size, *options;
    } cases[] = {
        {"rooms", "96x96", "--agents 60 --doors 30 --door-ticks 5 --k 20"},
        {"maze", "63x63", "--agents 40 --doors 30 --door-ticks 7 --door-rounds 12 --k 50 --neighbours 4"},
        {"caves", "96x64", "--agents 50 --alg tbgbfs --k 8 --neighbours 16 --corners always --doors 12"},
        {"city", "96x96", "--agents 50 --alg tba --R 50 --doors 20 --door-ticks 3 --restart eager"},
        {"random", "64x64", "--agents 50 --alg astar --k unlimited --doors 5 --door-ticks 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *map = generate(cases[i].kind, cases[i].size);
        char *first =
            tool_ok("run --via 127.0.0.1:%u --map %s --seed 7 %s", daemon_.port, map, cases[i].options);
        char *second =
            tool_ok("run --via 127.0.0.1:%u --map %s --seed 7 %s", daemon_.port, map, cases[i].options);
        check_has(first, " arrived, 0 unreachable, 0 under way");
        check_has(first, "every move checked");
        check_has(first, "doors that closed and opened");
        check_figures(first);
        char *a = timeless(first), *b = timeless(second);
        ck_assert_str_eq(a, b); /* the same seed, the same run */
        free(a);
        free(b);
        free(first);
        free(second);
        free(map);
    }
}
END_TEST

/* Doors shut the only way for a while: agents are told UNREACHABLE, wait, and go on when it opens. */
START_TEST(picture_and_single_way)
{
    char *map = tool_write_file(folder, "way.map",
                                "type octile\nheight 3\nwidth 9\nmap\n...@@@...\n.........\n...@@@...\n");
    char *scen =
        tool_write_file(folder, "way.scen",
                        "version 1\n0\tway.map\t9\t3\t0\t0\t8\t2\t10\n0\tway.map\t9\t3\t8\t0\t0\t1\t10\n");
    char *out =
        tool_ok("run --via 127.0.0.1:%u --map %s --scen %s --doors 1 --door-ticks 1 --door-rounds 40 --k 1 "
                "--png %s/way.png",
                daemon_.port, map, scen, folder);
    check_has(out, "2: 2 arrived, 0 unreachable, 0 under way");
    check_has(out, "made by 1 doors");
    free(out);
    out = tool_ok("run --via 127.0.0.1:%u --map %s --scen %s --doors 1 --door-ticks 1000", daemon_.port, map, scen);
    check_has(out, "map versions       1 alone: none of the 1 doors closed"); /* all have arrived before */
    free(out);
    size_t size;
    char *png = tp_test_read_file(tp_test_path(folder, "way", ".png"), &size);
    ck_assert(size > 100 && memcmp(png, "\x89PNG\r\n\x1a\n", 8) == 0);
    free(png);
    free(map);
    free(scen);
}
END_TEST

START_TEST(truly_unreachable_is_no_failure)
{
    char *map = tool_write_file(folder, "wall.map", "type octile\nheight 2\nwidth 5\nmap\n..@..\n..@..\n");
    char *scen = tool_write_file(folder, "wall.scen",
                                 "version "
                                 "1\n0\twall.map\t5\t2\t0\t0\t4\t0\t9\n0\twall.map\t5\t2\t0\t0\t1\t1\t1."
                                 "4\n0\twall.map\t5\t2\t2\t0\t1\t1\t1\n");
    char *out = tool_ok("run --via 127.0.0.1:%u --map %s --scen %s", daemon_.port, map, scen);
    check_has(out,
              "2: 1 arrived, 1 unreachable, 0 under way"); /* the third row's start is blocked: left out */
    free(out);
    free(map);
    free(scen);
}
END_TEST

/* A scenario of another map is refused, its line named; rows left out are counted. */
START_TEST(scenario_of_another_map)
{
    char *map = tool_write_file(folder, "a.map", "type octile\nheight 2\nwidth 5\nmap\n.....\n..@..\n");
    char *scen = tool_write_file(folder, "a.scen",
                                 "version 1\n0\ta.map\t5\t2\t0\t0\t4\t0\t4\n0\ta.map\t5\t2\t2\t1\t4\t0\t3\n\n"
                                 "0\ta.map\t9\t2\t8\t0\t4\t0\t4\n");
    struct tool_run run;
    tool_run(&run, "run --via 127.0.0.1:%u --map %s --scen %s", daemon_.port, map, scen);
    ck_assert_int_eq(run.exit_code, 1);
    check_has(run.err, "a.scen:5: the row is for a map of 9x2 cells, and ");
    tool_run_fini(&run);
    tool_run(&run, "run --via 127.0.0.1:%u --map %s --scen %s --stride 9 --doors 0", daemon_.port, map, scen);
    ck_assert_int_eq(run.exit_code, 0); /* the row of the other map is not among those taken */
    ck_assert_str_eq(run.err, "");
    tool_run_fini(&run);
    tool_run(&run, "run --via 127.0.0.1:%u --map %s --scen %s --first 1 --stride 9", daemon_.port, map, scen);
    ck_assert_int_eq(run.exit_code, 1);
    check_has(run.err, "1 rows are left out");
    check_has(run.err, "no row");
    tool_run_fini(&run);
    free(map);
    free(scen);
}
END_TEST

/* Weights go to the daemon with the map: every cost of every move is checked against them. */
START_TEST(terrain)
{
    char *map = generate("city", "96x96");
    char *out = tool_ok("run --via 127.0.0.1:%u --map %s --agents 30 --k 30 --doors 6 --terrain T=3,W=9,G=2",
                        daemon_.port, map);
    check_has(out, "30: 30 arrived");
    free(out);
    free(map);
}
END_TEST

/* The shortest ways of very many agents are not looked for, and that is said. */
START_TEST(very_many_agents)
{
    char *map =
        tool_write_file(folder, "hall.map", "type octile\nheight 3\nwidth 4\nmap\n....\n....\n....\n");
    char *out = tool_ok("run --via 127.0.0.1:%u --map %s --agents 2001 --doors 0", daemon_.port, map);
    check_has(out, "2001: 2001 arrived");
    check_has(out, "map versions       1 alone: there are no doors");
    check_has(out, "shortest ways      not looked for: more than 2000 agents");
    free(out);
    free(map);
}
END_TEST

START_TEST(gives_up)
{
    char *map = generate("maze", "63x63");
    struct tool_run run;
    tool_run(&run, "run --via 127.0.0.1:%u --map %s --agents 20 --k 1 --ticks-max 10", daemon_.port, map);
    ck_assert_int_eq(run.exit_code, 1);
    check_has(run.err, "--ticks-max");
    check_has(run.out, "under way");
    tool_run_fini(&run);
    tool_run(&run, "run --via 127.0.0.1:%u --map %s --agents 2 --png %s/none/x.png", daemon_.port, map,
             folder);
    ck_assert_int_eq(run.exit_code, 1);
    check_has(run.err, "x.png");
    tool_run_fini(&run);
    tool_run(&run, "run --via 127.0.0.1:%u --map %s --agents 2 --alg tbwa --unknown", daemon_.port, map);
    ck_assert_int_eq(run.exit_code, 2);
    check_has(run.err, "--unknown");
    tool_run_fini(&run);
    free(map);
}
END_TEST

/* ---- a daemon that lies: one agent on each of the maps below ---- */

/* From (0, 0) to (3, 0); from node 0 to node 1, the only one it can get to; a vehicle from one end to the other. */
enum { GRID, GRAPH, TRACK };
static const struct {
    const char *name, *text, *options;
} liar_maps[] = {
    {"liar.map", "type octile\nheight 2\nwidth 4\nmap\n.@..\n....\n", "--doors 0 --map"},
    {"liar.csv", "0,1,10\n2,2,5\n", "--agents 1 --graph"},
    {"liar.track", "7\n1\n@_____*\n", "--agents 1 --doors 0 --motion inertia --track"},
};
static const char liar_scen[] = "version 1\n0\tliar.map\t4\t2\t0\t0\t3\t0\t3.8\n";

enum { STEP = 3194, DIAGONAL = 4517, SESSION = 77, VERSION = 1 };
enum { SILENT_LIE = 3 }; /* after which the daemon says nothing more: the tool does not wait long for it */

static const struct lie {
    uint32_t cell, status; /* of the first tick's answer */
    uint64_t cost, version, session;
    const char *words;
    int map, vx;
} lies[] = {
    {5, TICKPATH__STATUS__MOVING, DIAGONAL, VERSION, SESSION, "not legal", GRID,
     0}, /* cuts the corner of (1, 0) */
    {1, TICKPATH__STATUS__MOVING, STEP, VERSION, SESSION, "not legal", GRID, 0}, /* into the wall */
    {6, TICKPATH__STATUS__MOVING, STEP, VERSION, SESSION, "no single step", GRID, 0},
    {800, TICKPATH__STATUS__MOVING, STEP, VERSION, SESSION, "outside the map", GRID, 0},
    {4, TICKPATH__STATUS__MOVING, DIAGONAL, VERSION, SESSION, "cost", GRID, 0},
    {0, TICKPATH__STATUS__SEARCHING, 1, VERSION, SESSION, "cost", GRID, 0},
    {0, TICKPATH__STATUS__MOVING, 0, VERSION, SESSION, "MOVING", GRID, 0},
    {4, TICKPATH__STATUS__SEARCHING, STEP, VERSION, SESSION, "moved", GRID, 0},
    {4, TICKPATH__STATUS__BLOCKED, STEP, VERSION, SESSION, "moved", GRID, 0},
    {4, TICKPATH__STATUS__UNREACHABLE, STEP, VERSION, SESSION, "moved", GRID, 0},
    {0, TICKPATH__STATUS__UNREACHABLE, 0, VERSION, SESSION, "there is a way", GRID, 0},
    {4, TICKPATH__STATUS__ARRIVED, STEP, VERSION, SESSION, "not at its goal", GRID, 0},
    {0, 6, 0, VERSION, SESSION, "none of the protocol", GRID, 0},
    {4, TICKPATH__STATUS__MOVING, STEP, VERSION + 1, SESSION, "version", GRID, 0},
    {4, TICKPATH__STATUS__MOVING, STEP, VERSION, SESSION + 1, "order", GRID, 0},
    {2, TICKPATH__STATUS__MOVING, 10, VERSION, SESSION, "node 0 to node 2, version 1: no edge", GRAPH, 0},
    {1, TICKPATH__STATUS__ARRIVED, 11, VERSION, SESSION, "cost", GRAPH, 0},
    {3, TICKPATH__STATUS__MOVING, 10, VERSION, SESSION, "outside the map", GRAPH, 0},
    {0, TICKPATH__STATUS__UNREACHABLE, 0, VERSION, SESSION, "there is a way", GRAPH, 0},
    {2, TICKPATH__STATUS__MOVING, STEP, VERSION, SESSION, "no acceleration", TRACK, 2}, /* too fast */
    {1, TICKPATH__STATUS__MOVING, STEP, VERSION, SESSION, "no acceleration", TRACK,
     0}, /* stands where no wall is */
    {1, TICKPATH__STATUS__MOVING, 2 * STEP, VERSION, SESSION, "costs one step", TRACK, 1},
    {0, TICKPATH__STATUS__SEARCHING, STEP, VERSION, SESSION, "no acceleration", TRACK,
     1}, /* another speed, unmoved */
    {0, TICKPATH__STATUS__UNREACHABLE, 0, VERSION, SESSION, "there is a way", TRACK, 0},
};

static void answer_tick(int fd, uint64_t id, const struct lie *lie)
{
    uint64_t session = lie->session, version = lie->version, cost = lie->cost, work = 1;
    uint32_t cell = lie->cell, status = lie->status, flags = 0;
    int32_t vx = lie->vx, vy = 0;
    Tickpath__Ticked ticked = TICKPATH__TICKED__INIT;
    ticked.n_session = ticked.n_version = ticked.n_cost = ticked.n_cell = ticked.n_status = ticked.n_flags =
        ticked.n_expansions = 1;
    ticked.n_vx = ticked.n_vy = lie->map == TRACK;
    ticked.session = &session;
    ticked.version = &version;
    ticked.cost = &cost;
    ticked.cell = &cell;
    ticked.status = &status;
    ticked.flags = &flags;
    ticked.expansions = &work;
    ticked.vx = &vx;
    ticked.vy = &vy;
    peer_reply(fd, id, TICKPATH__REPLY__BODY_TICKED, &ticked);
}

static void script_liar(int fd, uint64_t argument)
{
    peer_greet(fd);
    Tickpath__MapInfo info = TICKPATH__MAP_INFO__INIT;
    info.has_version = 1;
    info.version = VERSION;
    peer_reply(fd, peer_id(fd), TICKPATH__REPLY__BODY_MAP_INFO, &info);
    Tickpath__SessionOpened opened = TICKPATH__SESSION_OPENED__INIT;
    opened.has_session = 1;
    opened.session = SESSION;
    peer_reply(fd, peer_id(fd), TICKPATH__REPLY__BODY_SESSION_OPENED, &opened);
    answer_tick(fd, peer_id(fd), &lies[argument]);
    if (argument != SILENT_LIE) { /* lets the tool tidy up */
        Tickpath__SessionsClosed closed = TICKPATH__SESSIONS_CLOSED__INIT;
        peer_reply(fd, peer_id(fd), TICKPATH__REPLY__BODY_SESSIONS_CLOSED, &closed);
        Tickpath__MapDropped dropped = TICKPATH__MAP_DROPPED__INIT;
        peer_reply(fd, peer_id(fd), TICKPATH__REPLY__BODY_MAP_DROPPED, &dropped);
    }
    peer_wait_for_end(fd);
}

START_TEST(a_lie_is_caught)
{
    struct peer peer;
    struct tool_run run;
    int on = lies[_i].map;
    char *map = tool_write_file(folder, liar_maps[on].name, liar_maps[on].text),
         *scen = tool_write_file(folder, "liar.scen", liar_scen), options[1024];
    snprintf(options, sizeof options, "%s %s %s %s", liar_maps[on].options, map, on == GRID ? "--scen" : "",
             on == GRID ? scen : "");
    peer_start(&peer, script_liar, (uint64_t)_i);
    tool_run(&run, "run --via 127.0.0.1:%u %s", peer.port, options);
    peer_join(&peer);
    ck_assert_msg(run.exit_code == 1, "lie %d: exit code %d\n%s%s", _i, run.exit_code, run.out, run.err);
    check_has(run.err, lies[_i].words);
    check_has(run.err, "agent 0");
    bool is_left = strstr(run.err, "stays on the daemon") != NULL;
    ck_assert_msg(is_left == (_i == SILENT_LIE), "lie %d: %s", _i, run.err);
    tool_run_fini(&run);
    free(map);
    free(scen);
}
END_TEST

static Suite *tool_run_suite(void)
{
    Suite *suite = suite_create("tool_run");
    TCase *served = tcase_create("a daemon"), *liar = tcase_create("a daemon that lies");
    tcase_add_checked_fixture(served, served_begin_here, served_end_here);
    tcase_add_test(served, agents_walk_while_doors_close);
    tcase_add_test(served, picture_and_single_way);
    tcase_add_test(served, truly_unreachable_is_no_failure);
    tcase_add_test(served, scenario_of_another_map);
    tcase_add_test(served, terrain);
    tcase_add_test(served, very_many_agents);
    tcase_add_test(served, gives_up);
    suite_add_tcase(suite, served);
    tcase_add_checked_fixture(liar, folder_begin, folder_end);
    tcase_add_loop_test(liar, a_lie_is_caught, 0, (int)(sizeof lies / sizeof lies[0]));
    suite_add_tcase(suite, liar);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_run", tool_run_suite);
}
