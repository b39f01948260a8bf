/* Guided sessions through a real daemon, one by one: goals that can't be reached, a map that others were told, units asked for and paid
 * through the client library, and what needs no layer. */
#include "client/tickpath_client.h"
#include "tests/lib/exposition.h"
#include "tests/lib/harness.h"
#include "tests/lib/served.h"
#include "tests/lib/stage.h"

#include <stdlib.h>
#include <string.h>

/* How many the daemon has. */
static uint64_t layers(void)
{
    int status;
    char *text = wire_http_get(&served.daemon, "/metrics", &status);
    ck_assert_ptr_nonnull(text);
    uint64_t count = tp_test_metric(text, "layers");
    free(text);
    return count;
}

/* A yard without a gate: told at once, without a state expanded or a unit paid; with a gate the agent goes there. */
START_TEST(test_unreachable_at_once)
{
    enum { WIDTH = 200, HEIGHT = 150, GOAL = 75 * WIDTH + 150 };
    uint8_t *cells = malloc(WIDTH * HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        int x = i % WIDTH, y = i / WIDTH;
        bool inside = x > 120 && x < 180 && y > 40 && y < 110, yard = x >= 120 && x <= 180 && y >= 40 && y <= 110;
        cells[i] = yard && !inside ? '@' : '.';
    }
    wire_put_map(&served.wire, "yard", WIDTH, HEIGHT, cells);
    free(cells);
    uint64_t session = wire_open_session(&served.wire, "yard", 0, GOAL, "guided", 5);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 1;
    tick.session = &session;
    tick.has_want_work = tick.want_work = 1;
    for (int i = 0; i < 3; i++) {
        Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
        ck_assert_int_eq((int)reply->ticked->status[0], TICKPATH__STATUS__UNREACHABLE);
        ck_assert_uint_eq(reply->ticked->expansions[0] + reply->ticked->guide_expansions[0], 0);
        ck_assert_uint_eq(reply->ticked->cell[0], 0);
        wire_reply_free(reply);
    }
    wire_set_cell(&served.wire, "yard", 60 * WIDTH + 180, '.');
    uint32_t status = 0;
    for (int i = 0; i < 3000 && status != TICKPATH__STATUS__ARRIVED; i++) {
        Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
        status = reply->ticked->status[0];
        ck_assert_int_ne((int)status, TICKPATH__STATUS__UNREACHABLE);
        wire_reply_free(reply);
    }
    ck_assert_int_eq((int)status, TICKPATH__STATUS__ARRIVED);
}
END_TEST

/* A map that leads sessions that were told it has sessions: it is dropped when they are closed, and not before. */
START_TEST(test_a_map_told_has_sessions)
{
    enum { SIDE_TOLD = 100 };
    wire_put_free_map(&served.wire, "m", SIDE_TOLD, SIDE_TOLD);
    wire_put_free_map(&served.wire, "told", SIDE_TOLD, SIDE_TOLD);
    Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
    drop.map = (char *)"told";
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = (char *)"m";
    open.known_map = (char *)"told";
    open.algorithm = (char *)"guided";
    open.has_start = open.has_goal = open.has_knowledge = 1;
    open.goal = SIDE_TOLD * SIDE_TOLD - 1;
    open.knowledge = TICKPATH__KNOWLEDGE__KNOWN_MAP;
    uint64_t sessions[2];
    for (int i = 0; i < 2; i++) {
        Tickpath__Reply *reply =
            wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED);
        sessions[i] = reply->session_opened->session;
        wire_reply_free(reply);
    }
    open.has_epoch = open.epoch = 1; /* refused: the map told is left again */
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__ERROR_CODE__VERSION_MISMATCH, "epoch");
    for (int i = 0; i < 2; i++) {
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__ERROR_CODE__FAILED_PRECONDITION, "map");
        wire_reply_free(wire_tick(&served.wire, sessions[i]));
        Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
        close.n_session = 1;
        close.session = &sessions[i];
        wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close, TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    }
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__REPLY__BODY_MAP_DROPPED));
}
END_TEST

/* The same through the client library: units asked for, none, a total, and what was paid. */
START_TEST(test_client_library)
{
    struct tp_client *client;
    struct tp_client_session guided, unguided;
    struct tp_client_ticked ticked;
    struct tp_client_listing listing;
    wire_put_free_map(&served.wire, "m", 300, 300);
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", served.daemon.port, NULL, WIRE_TIMEOUT_MS, NULL), 0);
    struct tp_client_session_params params = {
        .map = "m", .goal = 300 * 300 - 1, .algorithm = "guided", .guide_units = 9,
        .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = 4}};
    ck_assert_int_eq(tp_client_open_session(client, &params, &guided, WIRE_TIMEOUT_MS), 0);
    params.unguided = true; /* before guide_units */
    ck_assert_int_eq(tp_client_open_session(client, &params, &unguided, WIRE_TIMEOUT_MS), 0);
    params.unguided = false;
    params.bounded = true;
    params.algorithm = "astar";
    params.guide_units = 0;
    ck_assert_int_eq(tp_client_open_session(client, &params, &unguided, WIRE_TIMEOUT_MS), TP_CLIENT_UNSUPPORTED);
    ck_assert_str_eq(tp_client_error(client)->field, "bounded");
    params.bounded = false;
    params.guide_units = 9;
    params.algorithm = "tbwa";
    ck_assert_int_eq(tp_client_open_session(client, &params, &unguided, WIRE_TIMEOUT_MS), TP_CLIENT_UNSUPPORTED);
    ck_assert_str_eq(tp_client_error(client)->field, "guide_units");
    struct tp_client_tick tick = {.all = true};
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    ck_assert_ptr_null(ticked.guide_expansions);
    ck_assert_ptr_null(ticked.bounds_milli);
    tick.want_work = true;
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(ticked.guide_expansions[0], 9);
    ck_assert_uint_eq(ticked.guide_expansions[1], 0);
    tick.total_guide_units = 2;
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(ticked.guide_expansions[0], 2);
    ck_assert_int_eq(tp_client_list(client, TP_CLIENT_LIST_SESSIONS | TP_CLIENT_LIST_ALGORITHMS, &listing, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(listing.sessions[0].guide_expansions, 9 + 9 + 2);
    ck_assert_uint_eq(listing.sessions[1].guide_expansions, 0);
    uint32_t capabilities = 0;
    for (size_t i = 0; i < listing.algorithm_count; i++)
        if (strcmp(listing.algorithms[i].name, "guided") == 0)
            capabilities = listing.algorithms[i].capabilities;
    ck_assert_uint_eq(capabilities & (2048 + 4096), 2048 + 4096);
    params.bounded = true;
    params.guide_units = 0;
    params.budget.amount = 2000; /* open ground: the first path is a cheapest, and h says so */
    ck_assert_int_eq(tp_client_open_session(client, &params, &unguided, WIRE_TIMEOUT_MS), 0);
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    ck_assert_ptr_nonnull(ticked.bounds_milli);
    ck_assert_uint_eq(ticked.bounds_milli[0], 0); /* not asked for */
    ck_assert_uint_eq(ticked.bounds_milli[2], 1000);
    tp_client_close(client);
}
END_TEST

/* Guide units of 0 need no layer, a graph and a vehicle none either; what a map can't hold more of is refused by that name. */
START_TEST(test_without_a_layer)
{
    wire_put_free_map(&served.wire, "m", 100, 100);
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = (char *)"m";
    open.has_start = open.has_goal = 1;
    open.goal = 9999;
    open.algorithm = (char *)"guided";
    open.has_guide_units = 1;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    open.guide_units = 100;
    open.has_motion = 1;
    open.motion = TICKPATH__MOTION__INERTIA;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    uint32_t edge[2] = {0, 1}, cost[2] = {1, 1}, to[2] = {1, 0};
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    put.map = (char *)"g";
    put.has_nodes = put.has_edges = put.has_last = put.last = 1;
    put.nodes = put.edges = 2;
    put.edge_from = edge;
    put.edge_to = to;
    put.edge_cost = cost;
    put.n_edge_from = put.n_edge_to = put.n_edge_cost = 2;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    open.map = (char *)"g";
    open.goal = 1;
    open.has_motion = 0;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    ck_assert_uint_eq(layers(), 0);
    open.map = (char *)"m";
    open.has_agent_size = 1;
    for (open.agent_size = 1; open.agent_size <= 8; open.agent_size++)
        for (int always = 0; always < 2; always++) {
            open.has_corners = 1;
            open.corners = always ? TICKPATH__CORNERS__ALWAYS : TICKPATH__CORNERS__ONE_FREE;
            wire_reply_free(
                wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
        }
    ck_assert_uint_eq(layers(), 16);
    open.agent_size = 1;
    open.corners = TICKPATH__CORNERS__BOTH_FREE; /* as ONE_FREE */
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    open.map = (char *)"n";
    wire_put_free_map(&served.wire, "n", 100, 100);
    open.algorithm = (char *)"tbwa";
    open.has_guide_units = 0;
    Tickpath__ClassWeight row = TICKPATH__CLASS_WEIGHT__INIT, *rows[1] = {&row};
    row.has_terrain = row.has_weight = 1;
    row.terrain = '.';
    for (row.weight = 1; row.weight <= 16; row.weight++) {
        char name[] = {(char)('a' + row.weight), '\0'};
        Tickpath__PutProfile profile = TICKPATH__PUT_PROFILE__INIT;
        profile.map = (char *)"n";
        profile.name = name;
        profile.weights = rows;
        profile.n_weights = 1;
        wire_reply_free(
            wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_PROFILE, &profile, TICKPATH__REPLY__BODY_PROFILE_PUT));
        open.profile = name;
        wire_reply_free(
            wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    }
    open.profile = NULL;
    open.algorithm = (char *)"guided";
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED,
                   "guide_units");
}
END_TEST

static Suite *guided_sessions_suite(void)
{
    Suite *suite = suite_create("guided_sessions");
    TCase *all = tcase_create("sessions");
    tcase_add_checked_fixture(all, served_begin_plain, served_end_plain);
    tcase_add_test(all, test_unreachable_at_once);
    tcase_add_test(all, test_a_map_told_has_sessions);
    tcase_add_test(all, test_client_library);
    tcase_add_test(all, test_without_a_layer);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return tp_test_main("test_guided_sessions", guided_sessions_suite);
}
