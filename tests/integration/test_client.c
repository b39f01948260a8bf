/* libtickpath-client against a real daemon: every call, its results and the server's refusals, pipelining, a
 * daemon that goes away. test_client_peers.c has what a daemon never does. Under ASan a leak fails the test.
 */
#include "client/tickpath_client.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <stdlib.h>
#include <string.h>

enum { CALL_MS = WIRE_TIMEOUT_MS };

static struct wire_daemon daemon_;
static struct tp_client *client_;

static struct tp_client *connect_daemon(void)
{
    struct tp_client *client;
    struct tp_client_error error;
    int result = tp_client_open(&client, "127.0.0.1", daemon_.port, "test_client", CALL_MS, &error);
    ck_assert_msg(result == 0, "open: %s", error.message);
    return client;
}

static void daemon_begin(void)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    client_ = connect_daemon();
}

static void daemon_end(void)
{
    tp_client_close(client_);
    if (daemon_.pid != 0)
        wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

#define ok(call)                                                                                             \
    ck_assert_msg((call) == 0, #call ": %s: %s", tp_client_code_name(tp_client_error(client_)->code),        \
                  tp_client_error(client_)->message)

static void check_refused(int result, int code, const char *field)
{
    const struct tp_client_error *error = tp_client_error(client_);
    ck_assert_msg(result == code, "%s instead of %s: %s", tp_client_code_name(result),
                  tp_client_code_name(code), error->message);
    ck_assert_int_eq(error->code, code);
    ck_assert(error->from_server);
    ck_assert(error->message[0] != '\0');
    if (field != NULL)
        ck_assert_str_eq(error->field, field);
}

static void put_free_map(const char *name, uint32_t width, uint32_t height)
{
    uint8_t *cells = malloc((size_t)width * height);
    struct tp_client_map map;
    memset(cells, '.', (size_t)width * height);
    ok(tp_client_put_map(client_, name, width, height, cells, NULL, 0, false, &map, CALL_MS));
    ck_assert_str_eq(map.name, name);
    ck_assert_uint_eq(map.version, 1);
    ck_assert_uint_eq(map.passable_cells, (uint64_t)width * height);
    free(cells);
}

/* The shortest frames that a daemon can be told to take: maps go in chunks that fit, with the longest name and all weights. */
START_TEST(shortest_frames)
{
    enum { SIDE = 120 };
    tp_client_close(client_);
    wire_daemon_stop(&daemon_);
    wire_daemon_start(&daemon_, "--frame-bytes-max", "4096", NULL);
    client_ = connect_daemon();
    ck_assert_uint_eq(tp_client_server(client_)->frame_bytes_max, 4096);
    static uint8_t cells[SIDE * SIDE];
    struct tp_client_weight weights[256];
    for (int i = 0; i < 256; i++)
        weights[i] = (struct tp_client_weight){(uint8_t)i, 65535};
    char name[129];
    memset(name, 'm', 128);
    name[128] = '\0';
    ok(tp_client_put_map(client_, name, SIDE, SIDE, cells, weights, 256, false, NULL, CALL_MS));
}
END_TEST

START_TEST(welcome_and_ping)
{
    const struct tp_client_server *server = tp_client_server(client_);
    ck_assert_uint_eq(server->protocol, 1);
    ck_assert(server->version[0] != '\0');
    ck_assert_uint_eq(server->frame_bytes_max, 4194304);
    ck_assert(server->volatile_store);
    ck_assert_str_eq(server->degraded, "");
    ck_assert_uint_gt(server->sessions_max, 0);
    ck_assert_int_ge(tp_client_socket(client_), 0);
    char payload[1024];
    memset(payload, 7, sizeof payload);
    ok(tp_client_ping(client_, NULL, 0, CALL_MS));
    ok(tp_client_ping(client_, payload, sizeof payload, CALL_MS));
}
END_TEST

START_TEST(maps)
{
    enum { WIDTH = 3001, HEIGHT = 1999 }; /* six chunks */
    uint8_t *cells = malloc((size_t)WIDTH * HEIGHT);
    struct tp_client_map map;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++)
        cells[i] = i % 7 == 0 ? 'a' : i % 5 == 0 ? 'b' : '@';
    uint64_t passable = 0;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++)
        passable += cells[i] != '@';
    static const struct tp_client_weight weights[] = {{'a', 1}, {'b', 3}};
    ok(tp_client_put_map(client_, "big", WIDTH, HEIGHT, cells, weights, 2, false, &map, CALL_MS));
    ck_assert_uint_eq(map.width, WIDTH);
    ck_assert_uint_eq(map.height, HEIGHT);
    ck_assert_uint_eq(map.passable_cells, passable);
    check_refused(tp_client_put_map(client_, "big", WIDTH, HEIGHT, cells, weights, 2, false, &map, CALL_MS),
                  TP_CLIENT_ALREADY_EXISTS, "map");
    uint64_t epoch = map.epoch;
    ok(tp_client_put_map(client_, "big", WIDTH, HEIGHT, cells, weights, 2, true, &map, CALL_MS));
    ck_assert_uint_ne(map.epoch, epoch);
    ok(tp_client_open_map(client_, "big", 1, &map, CALL_MS));
    ck_assert_uint_eq(map.version, 1);
    check_refused(tp_client_open_map(client_, "big", 2, &map, CALL_MS), TP_CLIENT_MAP_NOT_READY, NULL);
    check_refused(tp_client_open_map(client_, "none", 0, &map, CALL_MS), TP_CLIENT_NOT_FOUND, NULL);
    check_refused(tp_client_put_map(client_, "../x", 1, 1, cells, NULL, 0, false, NULL, CALL_MS),
                  TP_CLIENT_INVALID_ARGUMENT, "map");
    ck_assert_int_lt(tp_client_put_map(client_, "zero", 0, 0, cells, NULL, 0, false, NULL, CALL_MS), 0);
    put_free_map("gone", 20, 10);
    ok(tp_client_open_map(client_, "gone", 0, &map, CALL_MS));
    epoch = map.epoch;
    check_refused(tp_client_drop_map(client_, "gone", epoch + 1, CALL_MS), TP_CLIENT_FAILED_PRECONDITION,
                  "epoch");
    check_refused(tp_client_drop_map(client_, "none", 0, CALL_MS), TP_CLIENT_NOT_FOUND, "map");
    ok(tp_client_drop_map(client_, "gone", epoch, CALL_MS));
    check_refused(tp_client_drop_map(client_, "gone", 0, CALL_MS), TP_CLIENT_NOT_FOUND, "map");
    put_free_map("gone", 20, 10);
    uint64_t ticket;
    struct tp_client_reply reply;
    ok(tp_client_send_drop_map(client_, "gone", 0, &ticket, CALL_MS));
    ok(tp_client_collect(client_, ticket, &reply, CALL_MS));
    ck_assert_int_eq(reply.kind, TP_CLIENT_REPLY_MAP_DROPPED);
    ok(tp_client_ping(client_, NULL, 0, CALL_MS)); /* nothing was lost */
    struct tp_client_listing listing;
    ok(tp_client_list(client_, TP_CLIENT_LIST_MAPS | TP_CLIENT_LIST_ALGORITHMS, &listing, CALL_MS));
    ck_assert_uint_eq(listing.map_count, 1);
    ck_assert_str_eq(listing.maps[0].name, "big");
    ck_assert_uint_ge(listing.algorithm_count, 4);
    bool found = false;
    for (size_t i = 0; i < listing.algorithm_count; i++)
        found = found || strcmp(listing.algorithms[i].name, "tbwa") == 0;
    ck_assert(found);
    free(cells);
}
END_TEST

START_TEST(change_batches)
{
    put_free_map("m", 20, 10);
    static const uint32_t cells[] = {0, 1, 25}, terrains[] = {'@', '.', 'G'};
    static const struct tp_client_rectangle rectangles[] = {
        {.x = 4, .y = 4, .width = 3, .height = 2, .terrain = '@'}};
    static const uint8_t bits[] = {0x81, 0x01};
    static const struct tp_client_bitmap bitmaps[] = {
        {.x = 10, .y = 2, .width = 3, .height = 3, .bits = bits, .terrain = '@'}};
    struct tp_client_changes changes = {
        .map = "m",
        .has_base_version = true,
        .base_version = 1,
        .cells = cells,
        .cell_count = 3,
        .cell_terrains = terrains,
        .cell_terrain_count = 3,
        .rectangles = rectangles,
        .rectangle_count = 1,
        .bitmaps = bitmaps,
        .bitmap_count = 1,
    };
    struct tp_client_changed changed;
    struct tp_client_map map;
    ok(tp_client_change(client_, &changes, &changed, CALL_MS));
    ck_assert_uint_eq(changed.version, 2);
    ok(tp_client_open_map(client_, "m", 2, &map, CALL_MS));
    ck_assert_uint_eq(map.passable_cells, 200 - 1 - 6 - 3);
    check_refused(tp_client_change(client_, &changes, &changed, CALL_MS), TP_CLIENT_VERSION_MISMATCH,
                  "base_version");
    static const struct tp_client_rectangle outside[] = {
        {.x = 0, .y = 0, .width = 1, .height = 1, .terrain = '@'},
        {.x = 18, .y = 9, .width = 3, .height = 1, .terrain = '@'}};
    changes = (struct tp_client_changes){.map = "m", .rectangles = outside, .rectangle_count = 2};
    check_refused(tp_client_change(client_, &changes, &changed, CALL_MS), TP_CLIENT_OUT_OF_RANGE, NULL);
    const struct tp_client_error *error = tp_client_error(client_);
    ck_assert(error->has_change);
    ck_assert_uint_eq(error->change_index, 1);
    ck_assert_uint_eq(error->bad_x, 20);
    ck_assert_uint_eq(error->bad_y, 9);
    ok(tp_client_open_map(client_, "m", 0, &map, CALL_MS));
    ck_assert_uint_eq(map.version, 2);
}
END_TEST

START_TEST(sessions)
{
    put_free_map("m", 30, 30);
    const struct tp_client_session_params params = {
        .map = "m",
        .start = 0,
        .goal = 29 * 30 + 29,
        .algorithm = "tbwa",
        .w_milli = 1500,
        .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = 5},
        .neighbours = 8,
        .corners = TP_CLIENT_BOTH_FREE,
        .goal_policy = TP_CLIENT_EXACT,
    };
    struct tp_client_session session;
    ok(tp_client_open_session(client_, &params, &session, CALL_MS));
    ck_assert_uint_eq(session.width, 30);
    ck_assert_uint_eq(session.version, 1);
    struct tp_client_tick tick = {
        .sessions = &session.id, .session_count = 1, .want_work = true, .want_path = true};
    struct tp_client_ticked ticked;
    uint32_t cell = 0, ticks = 0;
    uint64_t cost = 0, expansions = 0;
    do {
        ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
        ck_assert_uint_eq(ticked.count, 1);
        ck_assert_uint_eq(ticked.tick, ++ticks);
        ck_assert_uint_eq(ticked.sessions[0], session.id);
        ck_assert_uint_eq(ticked.versions[0], 1);
        ck_assert_uint_le(ticked.expansions[0], 5);
        ck_assert_uint_ge(ticked.paths[0].count, 1);
        ck_assert_uint_eq(ticked.paths[0].cells[0], ticked.cells[0]);
        expansions += ticked.expansions[0];
        cell = ticked.cells[0];
        cost = ticked.costs[0];
    } while (ticked.statuses[0] == TP_CLIENT_MOVING && ticks < 1000);
    ck_assert_uint_eq(ticked.statuses[0], TP_CLIENT_ARRIVED);
    ck_assert_uint_eq(cell, params.goal);
    ck_assert_uint_ge(cost, 29ull * 4517);
    struct tp_client_listing listing;
    ok(tp_client_list(client_, TP_CLIENT_LIST_SESSIONS, &listing, CALL_MS));
    ck_assert_uint_eq(listing.session_count, 1);
    ck_assert_uint_eq(listing.sessions[0].id, session.id);
    ck_assert_uint_eq(listing.sessions[0].cost, cost);
    ck_assert_uint_eq(listing.sessions[0].expansions, expansions);
    ck_assert_uint_eq(listing.sessions[0].ticks, ticks);
    ck_assert_str_eq(listing.sessions[0].map, "m");
    ck_assert_str_eq(listing.sessions[0].algorithm, "tbwa");
    /* a new goal, the budget of one tick, a true position */
    ok(tp_client_set_goal(client_, session.id, 0, CALL_MS));
    uint32_t at = 2 * 30 + 2;
    tick =
        (struct tp_client_tick){.all = true,
                                .each = {.kind = TP_CLIENT_BUDGET_R, .amount = 1000, .r_milli = 500, .c = 10},
                                .at_sessions = &session.id,
                                .at_cells = &at,
                                .at_count = 1};
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.statuses[0], TP_CLIENT_MOVING);
    ck_assert_uint_eq(ticked.cells[0], 1 * 30 + 1);
    ck_assert_ptr_null(ticked.expansions);
    ck_assert_ptr_null(ticked.paths);
    /* a stale id is an answer */
    uint64_t ids[] = {session.id, session.id ^ 1};
    tick = (struct tp_client_tick){.sessions = ids, .session_count = 2};
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.count, 1);
    ck_assert_uint_eq(ticked.refused_count, 1);
    ck_assert_uint_eq(ticked.refused[0].session, ids[1]);
    ck_assert_int_eq(ticked.refused[0].code, TP_CLIENT_NOT_FOUND);
    uint32_t closed;
    uint64_t ticket;
    ok(tp_client_close_sessions(client_, ids, 1, &closed, CALL_MS));
    ck_assert_uint_eq(closed, 1);
    ok(tp_client_open_session(client_, &params, &session, CALL_MS));
    closed = 7;
    ok(tp_client_close_sessions(client_, NULL, 0, &closed, CALL_MS)); /* an empty set */
    ck_assert_uint_eq(closed, 0);
    ok(tp_client_close_sessions(client_, ids, 0, NULL, CALL_MS));
    ck_assert_int_eq(tp_client_send_close_sessions(client_, NULL, 0, &ticket, CALL_MS), TP_CLIENT_INVALID_ARGUMENT);
    ok(tp_client_close_all_sessions(client_, &closed, CALL_MS));
    ck_assert_uint_eq(closed, 1);
}
END_TEST

START_TEST(refused_sessions)
{
    put_free_map("m", 8, 8);
    struct tp_client_session session;
    struct tp_client_session_params good = {.map = "m", .goal = 9}, bad = good;
    ok(tp_client_open_session(client_, &good, &session, CALL_MS));
    bad.algorithm = "foo";
    check_refused(tp_client_open_session(client_, &bad, &session, CALL_MS), TP_CLIENT_INVALID_ARGUMENT,
                  "algorithm");
    bad = good;
    bad.start = 64;
    check_refused(tp_client_open_session(client_, &bad, &session, CALL_MS), TP_CLIENT_OUT_OF_RANGE, "start");
    bad = good;
    bad.w_milli = 500;
    check_refused(tp_client_open_session(client_, &bad, &session, CALL_MS), TP_CLIENT_INVALID_ARGUMENT, "w");
    bad = good;
    bad.map = "n";
    check_refused(tp_client_open_session(client_, &bad, &session, CALL_MS), TP_CLIENT_NOT_FOUND, NULL);
    bad = good;
    bad.algorithm = "tbwa";
    bad.knowledge = TP_CLIENT_FREESPACE;
    check_refused(tp_client_open_session(client_, &bad, &session, CALL_MS), TP_CLIENT_UNSUPPORTED,
                  "knowledge");
    check_refused(tp_client_set_goal(client_, 12345, 0, CALL_MS), TP_CLIENT_NOT_FOUND, NULL);
    ok(tp_client_set_goal(client_, session.id, 3, CALL_MS));
}
END_TEST

/* Opens a session, walks it to its goal with `each` for every tick; gives the hash of its moves. */
static uint64_t walk(const struct tp_client_session_params *params, struct tp_client_budget each)
{
    struct tp_client_session session;
    struct tp_client_ticked ticked;
    struct tp_client_listing listing;
    struct tp_client_tick tick = {.all = true, .each = each};
    ok(tp_client_open_session(client_, params, &session, CALL_MS));
    do
        ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    while (ticked.statuses[0] != TP_CLIENT_ARRIVED);
    ok(tp_client_list(client_, TP_CLIENT_LIST_SESSIONS, &listing, CALL_MS));
    ck_assert_uint_eq(listing.session_count, 1);
    uint64_t hash = listing.sessions[0].move_hash + listing.sessions[0].expansions;
    ok(tp_client_close_all_sessions(client_, NULL, CALL_MS));
    return hash;
}

/* r and c that are 0 are left out: 0.9 and 10 hold, for sessions and for ticks. */
START_TEST(budget_defaults)
{
    put_free_map("m", 50, 50);
    static const struct tp_client_rectangle wall = {
        .x = 25, .y = 0, .width = 1, .height = 45, .terrain = '@'};
    const struct tp_client_changes changes = {.map = "m", .rectangles = &wall, .rectangle_count = 1};
    ok(tp_client_change(client_, &changes, NULL, CALL_MS));
    static const struct tp_client_budget same[] = {
        {.kind = TP_CLIENT_BUDGET_R, .amount = 20},
        {.kind = TP_CLIENT_BUDGET_R, .amount = 20, .c = 10},
        {.kind = TP_CLIENT_BUDGET_R, .amount = 20, .r_milli = 900},
        {.kind = TP_CLIENT_BUDGET_R, .amount = 20, .r_milli = 900, .c = 10},
    };
    static const struct tp_client_budget other = {
        .kind = TP_CLIENT_BUDGET_R, .amount = 20, .r_milli = 300, .c = 1};
    const struct tp_client_budget none = {.kind = TP_CLIENT_BUDGET_DEFAULT};
    struct tp_client_session_params params = {.map = "m", .goal = 49, .algorithm = "tba"};
    params.budget = same[3];
    uint64_t expected = walk(&params, none);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        params.budget = same[i];
        ck_assert_uint_eq(walk(&params, none), expected);
        ck_assert_uint_ne(walk(&params, other), expected); /* else nothing would be seen */
        params.budget = other;
        ck_assert_uint_eq(walk(&params, same[i]), expected);
    }
}
END_TEST

/* What is NULL though something should be there is refused here, and nothing is sent. */
START_TEST(null_is_refused)
{
    static const uint32_t cell = 3;
    static const uint64_t session = 1;
    static const struct tp_client_bitmap bitmap = {.width = 2, .height = 2, .terrain = '@'};
    static const struct tp_client_changes changes[] = {
        {.map = NULL, .cells = &cell, .cell_count = 1, .cell_terrains = &cell, .cell_terrain_count = 1},
        {.map = "m", .cell_count = 1, .cell_terrains = &cell, .cell_terrain_count = 1},
        {.map = "m", .cells = &cell, .cell_count = 1, .cell_terrain_count = 1},
        {.map = "m", .rectangle_count = 1},
        {.map = "m", .bitmap_count = 1},
        {.map = "m", .bitmaps = &bitmap, .bitmap_count = 1},
    };
    static const char *const change_fields[] = {"map", "cell", "cell_terrain", "rectangle", "bitmap", "bits"};
    static const struct tp_client_session_params no_map = {.goal = 3};
    static const struct tp_client_tick no_sessions = {.session_count = 1},
                                       no_at = {.all = true, .at_cells = &cell, .at_count = 1},
                                       no_cells = {.all = true, .at_sessions = &session, .at_count = 1};
    static const uint8_t cells[4] = "....";
    put_free_map("m", 8, 8);
#define refused(call, name)                                                                                  \
    do {                                                                                                     \
        ck_assert_int_eq(call, TP_CLIENT_INVALID_ARGUMENT);                                                  \
        ck_assert_int_eq(tp_client_error(client_)->code, TP_CLIENT_INVALID_ARGUMENT);                        \
        ck_assert(!tp_client_error(client_)->from_server);                                                   \
        ck_assert(tp_client_error(client_)->message[0] != '\0');                                             \
        ck_assert_str_eq(tp_client_error(client_)->field, name);                                             \
    } while (0)
    refused(tp_client_ping(client_, NULL, 5, CALL_MS), "payload");
    refused(tp_client_put_map(client_, NULL, 2, 2, cells, NULL, 0, false, NULL, CALL_MS), "map");
    refused(tp_client_put_map(client_, "n", 2, 2, NULL, NULL, 0, false, NULL, CALL_MS), "cells");
    refused(tp_client_put_map(client_, "n", 2, 2, cells, NULL, 2, false, NULL, CALL_MS), "profile");
    refused(tp_client_open_map(client_, NULL, 0, NULL, CALL_MS), "map");
    refused(tp_client_drop_map(client_, NULL, 0, CALL_MS), "map");
    refused(tp_client_change(client_, NULL, NULL, CALL_MS), "map");
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        refused(tp_client_change(client_, &changes[i], NULL, CALL_MS), change_fields[i]);
    refused(tp_client_open_session(client_, NULL, NULL, CALL_MS), "map");
    refused(tp_client_open_session(client_, &no_map, NULL, CALL_MS), "map");
    refused(tp_client_tick(client_, NULL, NULL, CALL_MS), "session");
    refused(tp_client_tick(client_, &no_sessions, NULL, CALL_MS), "session");
    refused(tp_client_tick(client_, &no_at, NULL, CALL_MS), "at_session");
    refused(tp_client_tick(client_, &no_cells, NULL, CALL_MS), "at_cell");
    refused(tp_client_send_ping(client_, NULL, 0, NULL, CALL_MS), "");
    refused(tp_client_send_change(client_, &(struct tp_client_changes){.map = "m"}, NULL, CALL_MS), "");
#undef refused
    ck_assert_uint_eq(tp_client_outstanding(client_), 0);
    struct tp_client_map map;
    ok(tp_client_open_map(client_, "m", 0, &map, CALL_MS));
    ck_assert_uint_eq(map.version, 1);
    /* no cells at all is the server's to refuse; what is said of what was found may go unheard */
    check_refused(tp_client_put_map(client_, "n", 0, 0, NULL, NULL, 0, false, NULL, CALL_MS),
                  TP_CLIENT_INVALID_ARGUMENT, NULL);
    ck_assert_int_eq(tp_client_open(NULL, "127.0.0.1", daemon_.port, NULL, CALL_MS, NULL),
                     TP_CLIENT_INVALID_ARGUMENT);
    struct tp_client *other = NULL;
    ck_assert_int_eq(tp_client_open(&other, NULL, daemon_.port, NULL, CALL_MS, NULL),
                     TP_CLIENT_INVALID_ARGUMENT);
    ck_assert_ptr_null(other);
}
END_TEST

/* Changes and ticks sent without waiting take effect in the order sent: each tick's version is that of the
 * change before it. */
START_TEST(pipelined)
{
    enum { ROUNDS = 200 };
    put_free_map("m", 40, 40);
    const struct tp_client_session_params params = {.map = "m", .start = 0, .goal = 39 * 40 + 39};
    struct tp_client_session session;
    ok(tp_client_open_session(client_, &params, &session, CALL_MS));
    uint64_t changes_tickets[ROUNDS], tick_tickets[ROUNDS];
    static const uint32_t terrains[2] = {'@', '.'};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t cell = 20 * 40 + i / 2 % 40;
        const struct tp_client_changes changes = {.map = "m",
                                                  .cells = &cell,
                                                  .cell_count = 1,
                                                  .cell_terrains = &terrains[i % 2],
                                                  .cell_terrain_count = 1};
        const struct tp_client_tick tick = {.all = true};
        ok(tp_client_send_change(client_, &changes, &changes_tickets[i], CALL_MS));
        ok(tp_client_send_tick(client_, &tick, &tick_tickets[i], CALL_MS));
    }
    ck_assert_uint_eq(tp_client_outstanding(client_), 2 * ROUNDS);
    for (uint32_t i = ROUNDS; i-- > 0;) { /* collected backwards: the order of collecting is the caller's */
        struct tp_client_reply reply;
        ok(tp_client_collect(client_, tick_tickets[i], &reply, CALL_MS));
        ck_assert_int_eq(reply.kind, TP_CLIENT_REPLY_TICKED);
        ck_assert_uint_eq(reply.ticked.tick, i + 1);
        ck_assert_uint_eq(reply.ticked.versions[0], i + 2);
        ok(tp_client_collect(client_, changes_tickets[i], &reply, CALL_MS));
        ck_assert_int_eq(reply.kind, TP_CLIENT_REPLY_CHANGED);
        ck_assert_uint_eq(reply.changed.version, i + 2);
    }
    ck_assert_uint_eq(tp_client_outstanding(client_), 0);
}
END_TEST

START_TEST(daemon_is_killed)
{
    put_free_map("m", 8, 8);
    uint64_t ticket;
    ok(tp_client_send_list(client_, TP_CLIENT_LIST_MAPS, &ticket, CALL_MS));
    ok(tp_client_collect(client_, ticket, NULL, CALL_MS));
    wire_daemon_kill(&daemon_);
    ck_assert_int_eq(tp_client_ping(client_, NULL, 0, CALL_MS), TP_CLIENT_CLOSED);
    ck_assert_int_eq(tp_client_ping(client_, NULL, 0, CALL_MS), TP_CLIENT_CLOSED);
}
END_TEST

START_TEST(daemon_goes_away)
{
    put_free_map("m", 8, 8);
    wire_daemon_stop(&daemon_);
    int result = tp_client_ping(client_, NULL, 0, CALL_MS);
    ck_assert_msg(result == TP_CLIENT_CLOSED || result == TP_CLIENT_SHUTTING_DOWN, "%s",
                  tp_client_error(client_)->message);
}
END_TEST

static Suite *client_suite(void)
{
    Suite *suite = suite_create("client");
    TCase *served = tcase_create("a daemon");
    tcase_add_checked_fixture(served, daemon_begin, daemon_end);
    tcase_add_test(served, welcome_and_ping);
    tcase_add_test(served, maps);
    tcase_add_test(served, change_batches);
    tcase_add_test(served, sessions);
    tcase_add_test(served, refused_sessions);
    tcase_add_test(served, budget_defaults);
    tcase_add_test(served, null_is_refused);
    tcase_add_test(served, shortest_frames);
    tcase_add_test(served, pipelined);
    tcase_add_test(served, daemon_is_killed);
    tcase_add_test(served, daemon_goes_away);
    suite_add_tcase(suite, served);
    return suite;
}

int main(void)
{
    return tp_test_main("test_client", client_suite);
}
