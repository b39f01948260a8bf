/* libtickpath-client on a real daemon, beyond grids walked by steps: graphs of many chunks, vehicles on a track, heuristics. */
#include "client/tickpath_client.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <stdlib.h>
#include <string.h>

enum { CALL_MS = WIRE_TIMEOUT_MS };

static struct wire_daemon daemon_;
static struct tp_client *client_;

static void begin(void)
{
    struct tp_client_error error;
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    int result = tp_client_open(&client_, "127.0.0.1", daemon_.port, "test_client_spaces", CALL_MS, &error);
    ck_assert_msg(result == 0, "open: %s", error.message);
}

static void end(void)
{
    tp_client_close(client_);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

#define ok(call)                                                                                             \
    ck_assert_msg((call) == 0, #call ": %s: %s", tp_client_code_name(tp_client_error(client_)->code),        \
                  tp_client_error(client_)->message)

static void refused(int result, bool by_server, int code, const char *field)
{
    const struct tp_client_error *error = tp_client_error(client_);
    ck_assert_msg(result == code, "%s instead of %s: %s", tp_client_code_name(result),
                  tp_client_code_name(code), error->message);
    ck_assert_int_eq(error->from_server, by_server);
    ck_assert_str_eq(error->field, field);
}

static uint64_t open_session(const struct tp_client_session_params *params)
{
    struct tp_client_session session;
    ok(tp_client_open_session(client_, params, &session, CALL_MS));
    return session.id;
}

/* ---- Graphs ---- */

/* A ring road of many nodes, one way round, with a short cut from node 0 to the one behind the middle: more than any chunk. */
enum { RING = 120000, SHORT_CUT = RING / 2 };

static struct tp_client_edge *ring_edges(void)
{
    struct tp_client_edge *edges = malloc((RING + 1) * sizeof *edges);
    for (uint32_t i = 0; i < RING; i++)
        edges[i] = (struct tp_client_edge){
            .from = i, .to = (i + 1) % RING, .cost = UINT32_MAX - i}; /* long numbers */
    edges[RING] = (struct tp_client_edge){.from = 0, .to = SHORT_CUT, .cost = 5};
    return edges;
}

START_TEST(large_graph)
{
    struct tp_client_edge *edges = ring_edges();
    double *x = malloc(RING * sizeof *x), *y = malloc(RING * sizeof *y);
    for (uint32_t i = 0; i < RING; i++) {
        x[i] = i % 500;
        y[i] = i / 500;
    }
    ck_assert_uint_ge(tp_client_server(client_)->graph_nodes_max, RING);
    ck_assert_uint_ge(tp_client_server(client_)->graph_edges_max, RING);
    struct tp_client_graph graph = {.nodes = RING, .edges = edges, .edge_count = RING + 1};
    for (int placed = 0; placed < 2; placed++) {
        graph.x = placed ? x : NULL;
        graph.y = placed ? y : NULL;
        struct tp_client_map map;
        ok(tp_client_put_graph(client_, "ring", &graph, placed, &map, CALL_MS));
        ck_assert_str_eq(map.name, "ring");
        ck_assert_int_eq(map.kind, TP_CLIENT_GRAPH);
        ck_assert_uint_eq(map.width, RING);
        ck_assert_uint_eq(map.edges, RING + 1);
        struct tp_client_session_params params = {.map = "ring",
                                                  .start = RING - 1,
                                                  .goal = SHORT_CUT + 2,
                                                  .algorithm = "astar",
                                                  .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = 1000000}};
        uint64_t session = open_session(&params);
        static const uint32_t way[] = {0, SHORT_CUT, SHORT_CUT + 1, SHORT_CUT + 2};
        struct tp_client_tick tick = {.sessions = &session, .session_count = 1};
        struct tp_client_ticked ticked;
        for (size_t i = 0; i < 4; i++) {
            ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
            ck_assert_uint_eq(ticked.cells[0], way[i]);
            ck_assert_ptr_null(ticked.vx);
            ck_assert_ptr_null(ticked.vy);
        }
        ck_assert_uint_eq(ticked.statuses[0], TP_CLIENT_ARRIVED);
        ck_assert_uint_eq(ticked.costs[0], (uint64_t)edges[RING - 1].cost + 5 + edges[SHORT_CUT].cost +
                                               edges[SHORT_CUT + 1].cost);
        ok(tp_client_close_all_sessions(client_, NULL, CALL_MS));
    }
    refused(tp_client_put_graph(client_, "ring", &graph, false, NULL, CALL_MS), true,
            TP_CLIENT_ALREADY_EXISTS, "map");
    edges[RING - 7].to = RING; /* in the last chunk, and named all the same */
    refused(tp_client_put_graph(client_, "ring", &graph, true, NULL, CALL_MS), true, TP_CLIENT_OUT_OF_RANGE,
            "edge_to");
    ck_assert(tp_client_error(client_)->has_edge);
    ck_assert_uint_eq(tp_client_error(client_)->edge_index, RING - 7);
    edges[RING - 7].to = 0;
    y[RING - 9] = 1e16;
    refused(tp_client_put_graph(client_, "ring", &graph, true, NULL, CALL_MS), true,
            TP_CLIENT_INVALID_ARGUMENT, "node_y");
    ck_assert(tp_client_error(client_)->has_node);
    ck_assert_uint_eq(tp_client_error(client_)->node_index, RING - 9);
    struct tp_client_map map; /* the refused ones left it as it was */
    ok(tp_client_open_map(client_, "ring", 0, &map, CALL_MS));
    ck_assert_uint_eq(map.edges, RING + 1);
    struct tp_client_listing listing;
    ok(tp_client_list(client_, TP_CLIENT_LIST_MAPS, &listing, CALL_MS));
    ck_assert_uint_eq(listing.map_count, 1);
    ck_assert_int_eq(listing.maps[0].kind, TP_CLIENT_GRAPH);
    ok(tp_client_drop_map(client_, "ring", map.epoch, CALL_MS));
    free(edges);
    free(x);
    free(y);
}
END_TEST

START_TEST(found_by_the_library)
{
    struct tp_client_edge edge = {.from = 0, .to = 1, .cost = 1};
    double x[2] = {0, 1};
    struct tp_client_graph graph = {.nodes = 2, .edges = &edge, .edge_count = 1};
    refused(tp_client_put_graph(client_, NULL, &graph, false, NULL, CALL_MS), false,
            TP_CLIENT_INVALID_ARGUMENT, "map");
    refused(tp_client_put_graph(client_, "g", NULL, false, NULL, CALL_MS), false, TP_CLIENT_INVALID_ARGUMENT,
            "nodes");
    graph.x = x;
    refused(tp_client_put_graph(client_, "g", &graph, false, NULL, CALL_MS), false,
            TP_CLIENT_INVALID_ARGUMENT, "node_y");
    graph.x = NULL;
    graph.edges = NULL;
    refused(tp_client_put_graph(client_, "g", &graph, false, NULL, CALL_MS), false,
            TP_CLIENT_INVALID_ARGUMENT, "edges");
    graph.edge_count = 0; /* nodes and no edges: a graph all the same */
    ok(tp_client_put_graph(client_, "g", &graph, false, NULL, CALL_MS));
    uint64_t session = open_session(&(struct tp_client_session_params){.map = "g", .start = 0, .goal = 1});
    uint32_t cell = 0;
    int32_t v = 0;
    struct tp_client_tick tick = {
        .all = true, .at_sessions = &session, .at_cells = &cell, .at_vx = &v, .at_count = 1};
    refused(tp_client_tick(client_, &tick, NULL, CALL_MS), false, TP_CLIENT_INVALID_ARGUMENT, "at_vy");
    tick.at_vy = &v;
    struct tp_client_ticked ticked;
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.statuses[0], TP_CLIENT_UNREACHABLE);
}
END_TEST

/* ---- Vehicles ---- */

/* A bend; the start is at the upper left, the goal at the lower right. */
static const char track[] = ".........@@@"
                            "..........@@"
                            "...........@"
                            "@@@@@@@....."
                            "@@@@@@@@...."
                            "@@@@@@@@@..."
                            "@@@@@@@@@..."
                            "@@@@@@@@@..."
                            "@@@@@@@@@...";
enum { TRACK_WIDTH = 12, TRACK_HEIGHT = 9, TRACK_GOAL = 8 * TRACK_WIDTH + 10 };

static void put_track(void)
{
    ck_assert_uint_eq(sizeof track, TRACK_WIDTH * TRACK_HEIGHT + 1);
    ok(tp_client_put_map(client_, "track", TRACK_WIDTH, TRACK_HEIGHT, (const uint8_t *)track, NULL, 0, false,
                         NULL, CALL_MS));
}

/* Drives from (0, 1) at a velocity, every reply checked: each axis changes by at most 1, the vehicle goes where its velocity
 * says, or has stopped at a wall or at the goal on that line. Gives the ticks. */
static uint32_t drive(const char *algorithm, enum tp_client_heuristic heuristic, int vx, int vy)
{
    const struct tp_client_session_params params = {
        .map = "track",
        .start = TRACK_WIDTH,
        .goal = TRACK_GOAL,
        .algorithm = algorithm,
        .motion = TP_CLIENT_INERTIA,
        .heuristic = heuristic,
        .start_vx = vx,
        .start_vy = vy,
        .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = strcmp(algorithm, "astar") ? 20 : 1000000}};
    uint64_t session = open_session(&params);
    struct tp_client_tick tick = {.sessions = &session, .session_count = 1};
    int x = 0, y = 1;
    for (uint32_t ticks = 1; ticks < 1000; ticks++) {
        struct tp_client_ticked ticked;
        ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
        ck_assert_ptr_nonnull(ticked.vx);
        ck_assert_ptr_nonnull(ticked.vy);
        int to_vx = ticked.vx[0], to_vy = ticked.vy[0];
        int to_x = (int)(ticked.cells[0] % TRACK_WIDTH), to_y = (int)(ticked.cells[0] / TRACK_WIDTH);
        ck_assert_int_eq(track[ticked.cells[0]], '.');
        if (ticked.statuses[0] == TP_CLIENT_SEARCHING) { /* time stands still for it */
            ck_assert(to_x == x && to_y == y && to_vx == vx && to_vy == vy);
        } else if (to_vx != 0 || to_vy != 0) {
            ck_assert_int_le(abs(to_vx - vx), 1);
            ck_assert_int_le(abs(to_vy - vy), 1);
            ck_assert_int_le(abs(to_vx), 3);
            ck_assert_int_le(abs(to_vy), 3);
            ck_assert_int_eq(to_x - x, to_vx);
            ck_assert_int_eq(to_y - y, to_vy);
        } else { /* stopped: no further than it could have driven */
            ck_assert_int_le(abs(to_x - x), abs(vx) + 1);
            ck_assert_int_le(abs(to_y - y), abs(vy) + 1);
        }
        x = to_x;
        y = to_y;
        vx = to_vx;
        vy = to_vy;
        if (ticked.statuses[0] == TP_CLIENT_ARRIVED) {
            ck_assert_uint_eq(ticked.cells[0], TRACK_GOAL);
            ck_assert_uint_eq(ticked.costs[0] % TP_CLIENT_COST_UNIT, 0);
            ok(tp_client_close_sessions(client_, &session, 1, NULL, CALL_MS));
            return ticks;
        }
    }
    ck_abort_msg("%s never arrived; it is at (%d, %d), velocity (%d, %d)", algorithm, x, y, vx, vy);
}

START_TEST(vehicles)
{
    put_track();
    uint32_t best = drive("astar", 0, 0, 0);
    ck_assert_uint_lt(best, 15);                      /* of 17 steps it would be by foot */
    ck_assert_uint_le(drive("astar", 0, 3, 0), best); /* driving already, it is no later */
    ck_assert_uint_eq(drive("astar", TP_CLIENT_HEURISTIC_ZERO, 0, 0), best);
    ck_assert_uint_eq(drive("astar", TP_CLIENT_HEURISTIC_MAXIMUM, 0, 0), best);
    static const char *const algorithms[] = {"tbrwa", "lss", "lsswa"};
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        ck_assert_uint_ge(drive(algorithms[i], 0, 0, 0), best);
        ck_assert_uint_ge(drive(algorithms[i], TP_CLIENT_HEURISTIC_EUCLID, -3, -3), 1);
    }
}
END_TEST

/* True positions with a velocity: the next move begins with it. Agents that walk stand beside with velocities of 0. */
START_TEST(pushed_vehicle)
{
    put_track();
    struct tp_client_session_params params = {.map = "track",
                                              .start = TRACK_WIDTH,
                                              .goal = TRACK_GOAL,
                                              .motion = TP_CLIENT_INERTIA,
                                              .algorithm = "astar"};
    uint64_t sessions[2] = {open_session(&params)};
    params.motion = TP_CLIENT_STEPS;
    sessions[1] = open_session(&params);
    const uint32_t cells[2] = {TRACK_WIDTH + 1, TRACK_WIDTH};
    for (int speed = -3; speed <= 3; speed++) {
        const int32_t vx[2] = {speed, 0}, vy[2] = {0, 0};
        struct tp_client_tick tick = {
            .all = true, .at_sessions = sessions, .at_cells = cells, .at_vx = vx, .at_vy = vy, .at_count = 2};
        struct tp_client_ticked ticked;
        ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
        ck_assert_uint_eq(ticked.count, 2);
        bool stopped = ticked.vx[0] == 0 && ticked.vy[0] == 0;
        ck_assert(stopped || abs(ticked.vx[0] - speed) <= 1);
        if (speed > 1)
            ck_assert_int_ge(ticked.vx[0], speed - 1);
        ck_assert_int_eq(ticked.vx[1], 0);
        ck_assert_int_eq(ticked.vy[1], 0);
    }
    int32_t vx = 3, vy = 0;
    struct tp_client_tick tick = {.all = true,
                                  .at_sessions = &sessions[1],
                                  .at_cells = cells,
                                  .at_vx = &vx,
                                  .at_vy = &vy,
                                  .at_count = 1};
    struct tp_client_ticked ticked;
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.refused_count, 1);
    ck_assert_int_eq(ticked.refused[0].code, TP_CLIENT_INVALID_ARGUMENT);
    ck_assert_uint_eq(ticked.refused[0].session, sessions[1]);
    ck_assert_uint_eq(ticked.count, 1);
}
END_TEST

static Suite *spaces_suite(void)
{
    Suite *suite = suite_create("client_spaces");
    TCase *cases = tcase_create("spaces");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, large_graph);
    tcase_add_test(cases, found_by_the_library);
    tcase_add_test(cases, vehicles);
    tcase_add_test(cases, pushed_vehicle);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_client_spaces", spaces_suite);
}
