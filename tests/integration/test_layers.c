/* Profiles and agent sizes through a real daemon: what a profile may be, ways that only some agents can go, maps that change under
 * agents of many kinds, and what is left in memory once they are gone. */
#include "client/tickpath_client.h"
#include "tests/lib/exposition.h"
#include "tests/lib/harness.h"
#include "tests/lib/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Requests ---- */

enum { WEIGHTS_MAX = 8 };
static Tickpath__ClassWeight rows_[WEIGHTS_MAX];
static Tickpath__ClassWeight *row_of_[WEIGHTS_MAX];
static Tickpath__PutProfile put_;

/* Fills put_ from text such as ".1W2": a class and its weight, a digit each. */
static void put_init(const char *map, const char *name, const char *weights)
{
    tickpath__put_profile__init(&put_);
    put_.map = (char *)map;
    put_.name = (char *)name;
    put_.weights = row_of_;
    for (; *weights != '\0'; weights += 2) {
        Tickpath__ClassWeight *row = &rows_[put_.n_weights];
        tickpath__class_weight__init(row);
        row->has_terrain = row->has_weight = 1;
        row->terrain = (uint8_t)weights[0];
        row->weight = (uint32_t)(weights[1] - '0');
        row_of_[put_.n_weights++] = row;
    }
}

static void put_profile(struct wire *wire, const char *map, const char *name, const char *weights)
{
    put_init(map, name, weights);
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_PUT_PROFILE, &put_, TICKPATH__REPLY__BODY_PROFILE_PUT);
    ck_assert_str_eq(reply->profile_put->map, map);
    ck_assert_str_eq(reply->profile_put->name, name);
    wire_reply_free(reply);
}

static void put_refused(Tickpath__ErrorCode code, const char *field)
{
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_PUT_PROFILE, &put_, code, field);
}

static Tickpath__OpenSession open_;
static Tickpath__Budget budget_;

/* Fills open_; `profile` NULL and size 0: not given. */
static void open_init(const char *map, uint32_t start, uint32_t goal, const char *profile, uint32_t size)
{
    tickpath__open_session__init(&open_);
    tickpath__budget__init(&budget_);
    open_.map = (char *)map;
    open_.has_start = open_.has_goal = 1;
    open_.start = start;
    open_.goal = goal;
    open_.profile = (char *)profile;
    open_.has_agent_size = size != 0;
    open_.agent_size = size;
    open_.budget = &budget_;
    budget_.has_k = 1;
    budget_.k = 1000;
}

static uint64_t open_session(struct wire *wire)
{
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_, TICKPATH__REPLY__BODY_SESSION_OPENED);
    uint64_t session = reply->session_opened->session;
    wire_reply_free(reply);
    return session;
}

static void open_refused(Tickpath__ErrorCode code, const char *field)
{
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_, code, field);
}

static void close_all(struct wire *wire)
{
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.has_all = close.all = 1;
    wire_reply_free(
        wire_ask(wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close, TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
}

/* Waits until the daemon holds that many layers. */
static void wait_for_layers(uint64_t layers)
{
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS, got;
    do {
        int status = 0;
        char *text = wire_http_get(&served.daemon, "/metrics", &status);
        ck_assert_ptr_nonnull(text);
        got = tp_test_metric(text, "layers");
        free(text);
        if (got == layers)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    } while (wire_now_ms() < until);
    ck_abort_msg("%lu layers are in memory, not %lu", (unsigned long)got, (unsigned long)layers);
}

/* ---- Profiles ---- */

START_TEST(test_put_profile)
{
    wire_put_free_map(&served.wire, "m", 10, 6);
    put_profile(&served.wire, "m", "boat", ".1W2");
    put_profile(&served.wire, "m", "boat", "W2.1"); /* the same again */
    put_init("m", "boat", ".1W3");
    put_refused(TICKPATH__ERROR_CODE__ALREADY_EXISTS, "name");
    put_init("m", "../boat", ".1");
    put_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "name");
    put_init("m", NULL, ".1");
    put_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "name");
    put_init(NULL, "boat", ".1");
    put_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "map");
    put_init("none", "boat", ".1");
    put_refused(TICKPATH__ERROR_CODE__NOT_FOUND, "map");
    put_init("m", "nowhere", "");
    put_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "weights");
    put_init("m", "nowhere", ".0");
    put_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "weights");
    put_init("m", "odd", ".1W2");
    rows_[1].terrain = 256;
    put_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "weights.terrain");
    put_init("m", "odd", ".1W2");
    rows_[1].weight = 65536;
    put_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "weights.weight");
    put_init("m", "odd", ".1W2");
    rows_[0].has_weight = 0;
    put_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "weights.weight");
    put_init("m", "odd", ".1W2.1"); /* named twice, if alike */
    put_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "weights.terrain");

    char name[32];
    for (int i = 1; i < 64; i++) { /* with "boat" 64 */
        snprintf(name, sizeof name, "p%d", i);
        put_profile(&served.wire, "m", name, ".1");
    }
    put_init("m", "one-more", ".1");
    put_refused(TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED, "name");
    put_profile(&served.wire, "m", "p63", ".1");
}
END_TEST

/* A map put anew, or dropped, takes its profiles with it. */
START_TEST(test_profiles_go_with_the_map)
{
    uint8_t cells[4] = "....";
    wire_put_free_map(&served.wire, "m", 2, 2);
    put_profile(&served.wire, "m", "boat", ".1W2");
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = (char *)"m";
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = put.replace =
        1;
    put.width = put.height = 2;
    put.cells = (ProtobufCBinaryData){4, cells};
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    open_init("m", 0, 3, "boat", 0);
    open_refused(TICKPATH__ERROR_CODE__NOT_FOUND, "profile");
    put_profile(&served.wire, "m", "boat", ".1W3");
    Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
    drop.map = (char *)"m";
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__REPLY__BODY_MAP_DROPPED));
    wire_put_free_map(&served.wire, "m", 2, 2);
    open_refused(TICKPATH__ERROR_CODE__NOT_FOUND, "profile");
}
END_TEST

/* The same through the client library. */
START_TEST(test_client_library)
{
    struct tp_client *client;
    struct tp_client_session session;
    struct tp_client_ticked ticked;
    wire_put_free_map(&served.wire, "m", 10, 6);
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", served.daemon.port, NULL, WIRE_TIMEOUT_MS, NULL), 0);
    const struct tp_client_weight weights[] = {{'.', 2}, {'W', 1}}, others[] = {{'.', 3}};
    ck_assert_int_eq(tp_client_put_profile(client, "m", "boat", weights, 2, WIRE_TIMEOUT_MS), 0);
    ck_assert_int_eq(tp_client_put_profile(client, "m", "boat", weights, 2, WIRE_TIMEOUT_MS), 0);
    ck_assert_int_eq(tp_client_put_profile(client, "m", "boat", others, 1, WIRE_TIMEOUT_MS),
                     TP_CLIENT_ALREADY_EXISTS);
    ck_assert_str_eq(tp_client_error(client)->field, "name");
    ck_assert(tp_client_error(client)->from_server);
    ck_assert_int_eq(tp_client_put_profile(client, NULL, "boat", weights, 2, WIRE_TIMEOUT_MS),
                     TP_CLIENT_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_client_put_profile(client, "m", "boat", NULL, 2, WIRE_TIMEOUT_MS),
                     TP_CLIENT_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_client_put_profile(client, "m", "boat", weights, 257, WIRE_TIMEOUT_MS),
                     TP_CLIENT_INVALID_ARGUMENT);
    ck_assert(!tp_client_error(client)->from_server);
    struct tp_client_session_params params = {
        .map = "m", .start = 0, .goal = 8, .profile = "boat", .agent_size = 2};
    ck_assert_int_eq(tp_client_open_session(client, &params, &session, WIRE_TIMEOUT_MS), 0);
    const struct tp_client_tick tick = {.all = true};
    int ticks = 0;
    do
        ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    while (ticked.statuses[0] != TP_CLIENT_ARRIVED && ++ticks < 50);
    ck_assert_uint_eq(ticked.costs[0], 8 * 2 * TP_CLIENT_COST_UNIT);
    params.goal = 9; /* where its right half would be beyond the edge */
    ck_assert_int_eq(tp_client_open_session(client, &params, &session, WIRE_TIMEOUT_MS), 0);
    const struct tp_client_tick second = {.sessions = &session.id, .session_count = 1};
    do
        ck_assert_int_eq(tp_client_tick(client, &second, &ticked, WIRE_TIMEOUT_MS), 0);
    while (ticked.statuses[0] != TP_CLIENT_UNREACHABLE && ++ticks < 100);
    ck_assert_int_lt(ticks, 100);
    tp_client_close(client);
    wait_for_layers(0);
}
END_TEST

/* ---- Refused ---- */

static void put_small_graph(const char *name)
{
    static uint32_t from[] = {0, 1}, to[] = {1, 0}, cost[] = {1, 1};
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    put.map = (char *)name;
    put.has_nodes = put.has_edges = put.has_last = put.last = 1;
    put.nodes = put.edges = 2;
    put.edge_from = from;
    put.edge_to = to;
    put.edge_cost = cost;
    put.n_edge_from = put.n_edge_to = put.n_edge_cost = 2;
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put, TICKPATH__REPLY__BODY_MAP_INFO));
}

START_TEST(test_open_refused)
{
    wire_put_free_map(&served.wire, "m", 10, 6);
    put_small_graph("g");
    open_init("m", 0, 9, NULL, 9);
    open_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "agent_size");
    open_.agent_size = 0;
    open_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "agent_size");
    open_init("m", 0, 9, "boat", 0);
    open_refused(TICKPATH__ERROR_CODE__NOT_FOUND, "profile");
    open_init("m", 0, 9, "", 0);
    open_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "profile");
    open_init("none", 0, 9, NULL, 2);
    open_refused(TICKPATH__ERROR_CODE__NOT_FOUND, "map");
    open_init("m", 0, 60, NULL, 2); /* after the layer is made: it must go again */
    open_refused(TICKPATH__ERROR_CODE__OUT_OF_RANGE, "goal");
    wait_for_layers(0);

    put_init("g", "boat", ".1");
    put_refused(TICKPATH__ERROR_CODE__UNSUPPORTED, "map");
    open_init("g", 0, 1, "boat", 0);
    open_refused(TICKPATH__ERROR_CODE__UNSUPPORTED, "profile");
    open_init("g", 0, 1, NULL, 2);
    open_refused(TICKPATH__ERROR_CODE__UNSUPPORTED, "agent_size");
    open_init("g", 0, 1, NULL, 1); /* what every agent is */
    open_session(&served.wire);

    wire_put_free_map(&served.wire, "known", 10, 6);
    open_init("m", 0, 9, NULL, 2);
    open_.has_knowledge = 1;
    open_.knowledge = TICKPATH__KNOWLEDGE__KNOWN_MAP;
    open_.known_map = (char *)"known";
    open_refused(TICKPATH__ERROR_CODE__UNSUPPORTED, "agent_size");
    open_init("m", 0, 9, NULL, 1);
    open_.algorithm = (char *)"tbwa"; /* which is not led */
    open_session(&served.wire);
    wait_for_layers(0);
}
END_TEST

/* A map with agents on its layers stays; once they are gone, so are the layers. */
START_TEST(test_map_stays_under_layers)
{
    wire_put_free_map(&served.wire, "m", 10, 6);
    put_profile(&served.wire, "m", "boat", ".1W2");
    open_init("m", 0, 9, "boat", 2);
    open_session(&served.wire);
    wait_for_layers(1);
    Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
    drop.map = (char *)"m";
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__ERROR_CODE__FAILED_PRECONDITION,
                   "map");
    uint8_t cells[4] = "....";
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = (char *)"m";
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = put.replace =
        1;
    put.width = put.height = 2;
    put.cells = (ProtobufCBinaryData){4, cells};
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__ERROR_CODE__FAILED_PRECONDITION,
                   "replace");
    close_all(&served.wire);
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    wait_for_layers(0);
    open_init("m", 0, 0, NULL, 2);
    open_session(&served.wire);
    close_all(&served.wire);
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__REPLY__BODY_MAP_DROPPED));
    wait_for_layers(0);
}
END_TEST

/* 16 layers of a map at a time; sessions of one kind share theirs; a dropped connection gives its own back. */
START_TEST(test_layers_at_a_time)
{
    struct wire other;
    wire_put_free_map(&served.wire, "m", 10, 6);
    wire_open_greeted(&other, served.daemon.port);
    char name[16];
    for (int i = 0; i < 9; i++) {
        char weights[] = {'.', (char)('1' + i), '\0'};
        snprintf(name, sizeof name, "p%d", i);
        put_profile(&served.wire, "m", name, weights);
        open_init("m", 0, 9, name, 0);
        open_session(&served.wire);
        open_session(&other);
    }
    for (uint32_t size = 2; size <= 8; size++) {
        open_init("m", 0, 9, NULL, size);
        open_session(&other);
    }
    wait_for_layers(16);
    open_init("m", 0, 9, "p0", 2); /* by another profile, as large: another */
    open_refused(TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED, "profile");
    open_init("m", 0, 9, NULL, 3);
    open_session(&served.wire);
    wire_close(&other);
    wait_for_layers(10);
    open_init("m", 0, 9, "p0", 2);
    open_session(&served.wire);
    wait_for_layers(11);
    close_all(&served.wire);
    wait_for_layers(0);
}
END_TEST

/* ---- Ways ---- */

/* Walks an agent until its status is no more MOVING or SEARCHING; gives its last reply, to be freed. */
static Tickpath__Reply *walk(uint64_t session, const char *drawing, uint32_t size, const char *passable)
{
    size_t width = strcspn(drawing, "\n") + 1;
    for (int tick = 0; tick < 200; tick++) {
        Tickpath__Reply *reply = wire_tick(&served.wire, session);
        uint32_t status = reply->ticked->status[0], x = reply->ticked->cell[0] % (uint32_t)(width - 1);
        uint32_t y = reply->ticked->cell[0] / (uint32_t)(width - 1);
        for (uint32_t j = 0; j < size; j++)
            for (uint32_t i = 0; i < size; i++)
                ck_assert_msg(strchr(passable, drawing[(y + j) * width + x + i]), "stands on %c at (%u, %u)",
                              drawing[(y + j) * width + x + i], x + i, y + j);
        if (status != TICKPATH__STATUS__MOVING && status != TICKPATH__STATUS__SEARCHING)
            return reply;
        wire_reply_free(reply);
    }
    ck_abort_msg("no end of the walk");
}

/* A strait with a bridge one cell wide far away, a ford in the middle and a gap two cells wide at the foot. */
static const char strait[] = "............WW...........\n"
                             ".........................\n"
                             "............WW...........\n"
                             "............WW...........\n"
                             "............WW...........\n"
                             "............GG...........\n"
                             "............WW...........\n"
                             "............WW...........\n"
                             ".........................\n"
                             ".........................";
enum { STRAIT_WIDTH = 25, STRAIT_HEIGHT = 10 };
#define AT(x, y) ((y)*STRAIT_WIDTH + (x))

static void put_strait(void)
{
    uint8_t cells[STRAIT_WIDTH * STRAIT_HEIGHT];
    for (int y = 0; y < STRAIT_HEIGHT; y++)
        memcpy(cells + y * STRAIT_WIDTH, strait + y * (STRAIT_WIDTH + 1), STRAIT_WIDTH);
    wire_put_map(&served.wire, "strait", STRAIT_WIDTH, STRAIT_HEIGHT, cells);
}

static void expect_arrival(const char *profile, uint32_t size, const char *passable, uint64_t cost)
{
    open_init("strait", AT(8, 3), AT(16, 3), profile, size);
    open_.algorithm = (char *)"astar";
    uint64_t session = open_session(&served.wire);
    Tickpath__Reply *reply = walk(session, strait, size == 0 ? 1 : size, passable);
    ck_assert_uint_eq(reply->ticked->status[0], TICKPATH__STATUS__ARRIVED);
    ck_assert_uint_eq(reply->ticked->cost[0], cost);
    wire_reply_free(reply);
}

/* Each kind goes its own way over the one map, at its own cost. */
START_TEST(test_ways_of_their_own)
{
    enum { STEP = 3194, DIAGONAL = 4517 };
    put_strait();
    put_profile(&served.wire, "strait", "boat", ".1G1W1");
    put_profile(&served.wire, "strait", "cart", ".1G9");
    put_profile(&served.wire, "strait", "walker", ".1");
    expect_arrival("boat", 0, ".GW", 8 * STEP);
    /* across the ford: two cells down and up, each a diagonal; or over the bridge two cells up: the same */
    expect_arrival(NULL, 0, ".G", 4 * DIAGONAL + 4 * STEP);
    expect_arrival("walker", 0, ".", 4 * DIAGONAL + 4 * STEP); /* the bridge */
    expect_arrival("cart", 0, ".G", 4 * DIAGONAL + 4 * STEP);
    /* of two cells: by the gap, its upper left 5 cells down, past both shores without cutting a corner */
    expect_arrival(NULL, 2, ".G", 4 * DIAGONAL + 10 * STEP);
    wait_for_layers(4);
}
END_TEST

/* A large agent where it does not fit: caught at the start, or bound for where it can't be. */
START_TEST(test_where_it_does_not_fit)
{
    put_strait();
    open_init("strait", AT(10, 3), AT(2, 3), NULL, 3); /* its right column in the water */
    uint64_t session = open_session(&served.wire);
    Tickpath__Reply *reply = wire_tick(&served.wire, session);
    ck_assert(reply->ticked->flags[0] & TICKPATH__FLAG__START_BLOCKED);
    wire_reply_free(reply);
    for (uint32_t cell = 0, tick = 0; cell != AT(2, 3); tick++) {
        ck_assert_uint_lt(tick, 30);
        reply = wire_tick(&served.wire, session);
        cell = reply->ticked->cell[0];
        wire_reply_free(reply);
    }
    open_init("strait", AT(2, 3), AT(11, 4), NULL, 3);
    session = open_session(&served.wire);
    reply = walk(session, strait, 3, ".");
    ck_assert_uint_eq(reply->ticked->status[0], TICKPATH__STATUS__UNREACHABLE);
    wire_reply_free(reply);
    open_init("strait", AT(2, 3), AT(24, 4), NULL, 2); /* beyond the edge */
    session = open_session(&served.wire);
    reply = walk(session, strait, 2, ".");
    ck_assert_uint_eq(reply->ticked->status[0], TICKPATH__STATUS__UNREACHABLE);
    wire_reply_free(reply);
}
END_TEST

/* ---- Under change ---- */

enum { SIDE = 100, CELLS = SIDE * SIDE, VERSIONS = 400, AGENTS = 12 };

/* The cells of each version, as the one who changes them knows them. */
static uint8_t (*history_)[CELLS];

static bool fits(uint64_t version, const char *passable, uint32_t size, uint32_t x, uint32_t y)
{
    for (uint32_t j = 0; j < size; j++)
        for (uint32_t i = 0; i < size; i++)
            if (x + i >= SIDE || y + j >= SIDE ||
                !strchr(passable, history_[version][(y + j) * SIDE + x + i]))
                return false;
    return true;
}

/* A few rectangles at random, and what they make of the newest version. Does not wait for the answer. */
static void send_changes(struct tp_test_rng *rng, struct wire *wire, uint64_t newest)
{
    static const char classes[] = "....GW@";
    Tickpath__Rectangle rectangles[6], *rows[6];
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    memcpy(history_[newest + 1], history_[newest], CELLS);
    change.map = (char *)"m";
    change.rectangle = rows;
    change.n_rectangle = tp_test_between(rng, 1, 6);
    for (size_t i = 0; i < change.n_rectangle; i++) {
        Tickpath__Rectangle *r = rows[i] = &rectangles[i];
        tickpath__rectangle__init(r);
        r->has_x = r->has_y = r->has_width = r->has_height = r->has_terrain = 1;
        r->x = tp_test_below(rng, SIDE - 8);
        r->y = tp_test_below(rng, SIDE - 8);
        r->width = tp_test_between(rng, 1, 8);
        r->height = tp_test_between(rng, 1, 8);
        r->terrain = (uint8_t)classes[tp_test_below(rng, sizeof classes - 1)];
        for (uint32_t y = 0; y < r->height; y++)
            memset(history_[newest + 1] + (r->y + y) * SIDE + r->x, (int)r->terrain, r->width);
    }
    wire_send(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

/* Agents of several kinds on a map that another connection changes: every move is legal for its kind in the version that its reply
 * names, never one behind the last change known to be applied. */
START_TEST(test_under_change)
{
    static const struct {
        const char *profile, *passable;
        uint32_t size;
    } kinds[] = {{NULL, ".G", 0},    {"boat", ".GW", 1}, {NULL, ".G", 2}, {"boat", ".GW", 3},
                 {"walker", ".", 1}, {"walker", ".", 5}, {NULL, ".G", 8}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    struct tp_test_rng rng = tp_test_rng("under change");
    struct wire changer;
    history_ = malloc(VERSIONS * sizeof *history_);
    ck_assert_ptr_nonnull(history_);
    memset(history_[1], '.', CELLS);
    wire_open_greeted(&changer, served.daemon.port);
    wire_put_map(&changer, "m", SIDE, SIDE, history_[1]);
    put_profile(&changer, "m", "boat", ".2G1W1");
    put_profile(&changer, "m", "walker", ".3");
    uint64_t session[AGENTS];
    uint32_t cell[AGENTS], moves[AGENTS] = {0};
    unsigned kind[AGENTS];
    uint64_t newest = 1, known = 1;
    for (unsigned i = 0; i < AGENTS; i++)
        session[i] = 0;
    for (int step = 0; newest < VERSIONS - 2; step++) {
        bool is_changing = tp_test_percent(&rng, 70);
        if (is_changing)
            send_changes(&rng, &changer, newest);
        for (int n = 0; n < 3;
             n++) { /* agents come and go too, and their layers with them, while batches are on their way */
            unsigned i = tp_test_below(&rng, AGENTS);
            if (session[i] == 0) {
                kind[i] = tp_test_below(&rng, KINDS);
                cell[i] = tp_test_below(&rng, CELLS);
                open_init("m", cell[i], tp_test_below(&rng, CELLS), kinds[kind[i]].profile,
                          kinds[kind[i]].size);
                budget_.k = tp_test_between(&rng, 1, 200);
                session[i] = open_session(&served.wire);
            } else if (tp_test_percent(&rng, 4)) {
                Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
                close.session = &session[i];
                close.n_session = 1;
                wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                                         TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
                session[i] = 0;
            }
        }
        for (unsigned i = 0; i < AGENTS; i++) {
            if (session[i] == 0)
                continue;
            Tickpath__Reply *reply = wire_tick(&served.wire, session[i]);
            const Tickpath__Ticked *ticked = reply->ticked;
            uint64_t version = ticked->version[0];
            uint32_t x = cell[i] % SIDE, y = cell[i] / SIDE, to_x = ticked->cell[0] % SIDE,
                     to_y = ticked->cell[0] / SIDE;
            uint32_t size = kinds[kind[i]].size == 0 ? 1 : kinds[kind[i]].size;
            ck_assert_uint_ge(version, known);
            ck_assert_uint_le(version, newest + is_changing);
            if (ticked->cell[0] != cell[i]) {
                moves[i]++;
                ck_assert(abs((int)x - (int)to_x) <= 1 && abs((int)y - (int)to_y) <= 1);
                bool is_diagonal =
                    x != to_x && y != to_y; /* it may stand where it does not fit, once something came */
                ck_assert_msg(fits(version, kinds[kind[i]].passable, size, to_x, to_y) &&
                                  (!is_diagonal || (fits(version, kinds[kind[i]].passable, size, x, to_y) &&
                                                    fits(version, kinds[kind[i]].passable, size, to_x, y))),
                              "size %u, profile %s: (%u, %u) to (%u, %u) is not legal in version %lu", size,
                              kinds[kind[i]].profile, x, y, to_x, to_y, (unsigned long)version);
            }
            cell[i] = ticked->cell[0];
            if (ticked->status[0] == TICKPATH__STATUS__ARRIVED) {
                Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
                set.has_session = set.has_goal = 1;
                set.session = session[i];
                set.goal = tp_test_below(&rng, CELLS);
                wire_reply_free(
                    wire_ask(&served.wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__REPLY__BODY_GOAL_SET));
            }
            wire_reply_free(reply);
        }
        if (is_changing) {
            Tickpath__Reply *reply = wire_recv(&changer);
            ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_CHANGED);
            ck_assert_uint_eq(reply->changed->version, ++newest);
            wire_reply_free(reply);
        }
        if (tp_test_percent(&rng, 20)) { /* read your own writes, made on the other connection */
            Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
            open.map = (char *)"m";
            open.has_min_version = 1;
            open.min_version = newest;
            wire_reply_free(
                wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO));
            known = newest;
        }
    }
    uint32_t all = 0;
    for (unsigned i = 0; i < AGENTS; i++)
        all += moves[i];
    ck_assert_uint_gt(all, 100);
    close_all(&served.wire);
    wait_for_layers(0);
    wire_close(&changer);
    free(history_);
}
END_TEST

static Suite *layers_suite(void)
{
    Suite *suite = suite_create("layers");
    TCase *cases = tcase_create("layers");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, served_begin_plain, served_end_plain);
    tcase_add_test(cases, test_put_profile);
    tcase_add_test(cases, test_profiles_go_with_the_map);
    tcase_add_test(cases, test_client_library);
    tcase_add_test(cases, test_open_refused);
    tcase_add_test(cases, test_map_stays_under_layers);
    tcase_add_test(cases, test_layers_at_a_time);
    tcase_add_test(cases, test_ways_of_their_own);
    tcase_add_test(cases, test_where_it_does_not_fit);
    tcase_add_test(cases, test_under_change);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_layers", layers_suite);
}
