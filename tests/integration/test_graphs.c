/* Graphs through a real daemon: put in one chunk or many, replaced and dropped like grids, kept over a restart; agents that walk
 * them, ways that lead one way only. */
#include "tests/lib/harness.h"
#include "tests/lib/served.h"
#include "tests/lib/wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Tickpath__PutGraph put_;

/* Edges as (from, to, cost) threes. */
static uint32_t from_[64], to_[64], cost_[64];

static void put_init(const char *name, uint32_t nodes, const uint32_t (*edges)[3], size_t count)
{
    tickpath__put_graph__init(&put_);
    put_.map = (char *)name;
    put_.has_nodes = put_.has_edges = put_.has_last = put_.last = 1;
    put_.nodes = nodes;
    put_.edges = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        from_[i] = edges[i][0];
        to_[i] = edges[i][1];
        cost_[i] = edges[i][2];
    }
    put_.edge_from = from_;
    put_.edge_to = to_;
    put_.edge_cost = cost_;
    put_.n_edge_from = put_.n_edge_to = put_.n_edge_cost = count;
}

/* Sends put_; gives the epoch. */
static uint64_t put(struct wire *wire)
{
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put_, TICKPATH__REPLY__BODY_MAP_INFO);
    const Tickpath__MapInfo *info = reply->map_info;
    ck_assert_str_eq(info->map, put_.map);
    ck_assert_int_eq(info->kind, TICKPATH__MAP_KIND__GRAPH);
    ck_assert_uint_eq(info->version, 1);
    uint64_t epoch = info->epoch;
    wire_reply_free(reply);
    return epoch;
}

/* A ledge: 0 and 1 are joined both ways, from 1 one jumps down to 2, from there on it goes 2 -> 3 -> 4 and never back; 5 is on
 * its own. The short way 0 -> 3 costs more than the long one. */
static const uint32_t ledge[][3] = {{0, 1, 10}, {1, 0, 10}, {1, 2, 5}, {2, 3, 7}, {3, 4, 1}, {0, 3, 1000}};
enum { LEDGE_NODES = 6, LEDGE_EDGES = sizeof ledge / sizeof ledge[0] };

static void expect_ledge(struct wire *wire, const char *name)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)name;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_int_eq(reply->map_info->kind, TICKPATH__MAP_KIND__GRAPH);
    ck_assert_uint_eq(reply->map_info->width, LEDGE_NODES);
    ck_assert_uint_eq(reply->map_info->height, 1);
    ck_assert_uint_eq(reply->map_info->passable_cells, LEDGE_NODES);
    ck_assert_uint_eq(reply->map_info->edges, LEDGE_EDGES);
    wire_reply_free(reply);
}

/* Walks an agent until it arrives or stays for good; gives its last reply, to be freed, and asserts each step's cost. */
static Tickpath__Reply *walk(struct wire *wire, uint64_t session, uint32_t at, const uint32_t (*edges)[3],
                             size_t count)
{
    uint64_t cost = 0;
    for (int tick = 0; tick < 100; tick++) {
        Tickpath__Reply *reply = wire_tick(wire, session);
        const Tickpath__Ticked *ticked = reply->ticked;
        ck_assert_uint_eq(ticked->n_vx, 0); /* no vehicle */
        uint32_t to = ticked->cell[0];
        if (to != at) {
            uint64_t least = UINT64_MAX;
            for (size_t i = 0; i < count; i++)
                if (edges[i][0] == at && edges[i][1] == to && edges[i][2] < least)
                    least = edges[i][2];
            ck_assert_msg(least != UINT64_MAX, "no edge leads from %u to %u", at, to);
            cost += least;
            at = to;
        }
        ck_assert_uint_eq(ticked->cost[0], cost);
        if (ticked->status[0] == TICKPATH__STATUS__ARRIVED ||
            ticked->status[0] == TICKPATH__STATUS__UNREACHABLE ||
            (ticked->flags[0] & TICKPATH__FLAG__DEAD_END))
            return reply;
        wire_reply_free(reply);
    }
    ck_abort_msg("no end of the walk");
}

static void expect_walk(struct wire *wire, const char *name)
{
    uint64_t session = wire_open_session(wire, name, 0, 4, "astar", 100);
    Tickpath__Reply *reply = walk(wire, session, 0, ledge, LEDGE_EDGES);
    ck_assert_uint_eq(reply->ticked->status[0], TICKPATH__STATUS__ARRIVED);
    ck_assert_uint_eq(reply->ticked->cell[0], 4);
    ck_assert_uint_eq(reply->ticked->cost[0], 10 + 5 + 7 + 1);
    wire_reply_free(reply);
}

START_TEST(test_walk)
{
    put_init("ledge", LEDGE_NODES, ledge, LEDGE_EDGES);
    put(&served.wire);
    expect_ledge(&served.wire, "ledge");
    expect_walk(&served.wire, "ledge");
    /* no way back up, and none to the lonely node */
    static const uint32_t none[][2] = {{2, 0}, {4, 1}, {0, 5}, {3, 2}};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        uint64_t session = wire_open_session(&served.wire, "ledge", none[i][0], none[i][1], "astar", 100);
        Tickpath__Reply *reply = walk(&served.wire, session, none[i][0], ledge, LEDGE_EDGES);
        ck_assert_uint_eq(reply->ticked->status[0], TICKPATH__STATUS__UNREACHABLE);
        wire_reply_free(reply);
    }
}
END_TEST

/* A session whose agent cannot leave its node is told so; one that could go on, but not to the goal, is not in a dead end. */
START_TEST(test_dead_end)
{
    put_init("ledge", LEDGE_NODES, ledge, LEDGE_EDGES);
    put(&served.wire);
    static const struct {
        uint32_t start, goal;
        bool dead_end;
    } cases[] = {{4, 0, true}, {5, 0, true}, {0, 5, false}, {1, 5, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t session =
            wire_open_session(&served.wire, "ledge", cases[i].start, cases[i].goal, "tbrwa", 100);
        Tickpath__Reply *reply = wire_tick(&served.wire, session);
        ck_assert_uint_eq(reply->ticked->status[0], TICKPATH__STATUS__UNREACHABLE);
        ck_assert_int_eq((reply->ticked->flags[0] & TICKPATH__FLAG__DEAD_END) != 0, cases[i].dead_end);
        ck_assert_uint_eq(reply->ticked->cell[0], cases[i].start);
        wire_reply_free(reply);
    }
}
END_TEST

#define PUT_REFUSED(CODE, FIELD, SPOIL)                                                                      \
    do {                                                                                                     \
        put_init("g", LEDGE_NODES, ledge, LEDGE_EDGES);                                                      \
        SPOIL;                                                                                               \
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put_, TICKPATH__ERROR_CODE__##CODE, \
                       FIELD);                                                                               \
    } while (0)

/* Sends put_, which is refused because of an edge or a node. */
static void expect_at(Tickpath__ErrorCode code, const char *field, int64_t edge, int64_t node)
{
    wire_send(&served.wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put_);
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(reply->error->code, code);
    ck_assert_str_eq(reply->error->field, field);
    ck_assert_int_eq(reply->error->has_edge_index, edge >= 0);
    ck_assert_int_eq(reply->error->has_node_index, node >= 0);
    if (edge >= 0)
        ck_assert_uint_eq(reply->error->edge_index, (uint32_t)edge);
    if (node >= 0)
        ck_assert_uint_eq(reply->error->node_index, (uint32_t)node);
    wire_reply_free(reply);
}

START_TEST(test_put_refused)
{
    double x[LEDGE_NODES] = {0, 1, 2, 3, 4, 5}, y[LEDGE_NODES] = {0};
    PUT_REFUSED(INVALID_ARGUMENT, "map", put_.map = NULL);
    PUT_REFUSED(INVALID_ARGUMENT, "map", put_.map = "../g");
    PUT_REFUSED(ALREADY_EXISTS, "map", put_.map = "m"); /* a grid of that name */
    PUT_REFUSED(INVALID_ARGUMENT, "nodes", put_.has_nodes = 0);
    PUT_REFUSED(INVALID_ARGUMENT, "nodes", put_.nodes = 0);
    PUT_REFUSED(INVALID_ARGUMENT, "nodes", put_.nodes = (64u << 20) + 1);
    PUT_REFUSED(INVALID_ARGUMENT, "edges", put_.has_edges = 0);
    PUT_REFUSED(INVALID_ARGUMENT, "edges", put_.edges = (128u << 20) + 1);
    PUT_REFUSED(RESOURCE_EXHAUSTED, "edges", put_.edges = 100u << 20); /* beyond upload-bytes-max */
    PUT_REFUSED(INVALID_ARGUMENT, "edge_offset", (put_.has_edge_offset = 1, put_.edge_offset = 1));
    PUT_REFUSED(INVALID_ARGUMENT, "node_offset", (put_.has_node_offset = 1, put_.node_offset = 1));
    PUT_REFUSED(INVALID_ARGUMENT, "edge_to", put_.n_edge_to--);
    PUT_REFUSED(INVALID_ARGUMENT, "edge_cost", put_.n_edge_cost--);
    PUT_REFUSED(OUT_OF_RANGE, "edge_from", put_.edges--);
    PUT_REFUSED(INVALID_ARGUMENT, "last", put_.edges++);
    PUT_REFUSED(INVALID_ARGUMENT, "node_y", (put_.n_node_x = 6, put_.node_x = x));
#define PLACE(N) (put_.n_node_x = put_.n_node_y = (N), put_.node_x = x, put_.node_y = y)
    PUT_REFUSED(INVALID_ARGUMENT, "last", PLACE(LEDGE_NODES - 1));
    PUT_REFUSED(OUT_OF_RANGE, "node_x", (PLACE(LEDGE_NODES), put_.nodes--));

    static const struct {
        size_t edge, column;
        uint32_t value;
        Tickpath__ErrorCode code;
        const char *field;
    } bad[] = {{0, 0, LEDGE_NODES, TICKPATH__ERROR_CODE__OUT_OF_RANGE, "edge_from"},
               {3, 0, UINT32_MAX, TICKPATH__ERROR_CODE__OUT_OF_RANGE, "edge_from"},
               {5, 1, LEDGE_NODES, TICKPATH__ERROR_CODE__OUT_OF_RANGE, "edge_to"},
               {4, 2, 0, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "edge_cost"},
               {0, 2, 0, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "edge_cost"}};
    for (int placed = 0; placed < 2; placed++)
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            put_init("g", LEDGE_NODES, ledge, LEDGE_EDGES);
            if (placed)
                PLACE(LEDGE_NODES);
            (bad[i].column == 0 ? from_ : bad[i].column == 1 ? to_ : cost_)[bad[i].edge] = bad[i].value;
            expect_at(bad[i].code, bad[i].field, (int64_t)bad[i].edge, -1);
        }
    static const double no_place[] = {1.1e15, -1.1e15, NAN, INFINITY};
    for (size_t i = 0; i < sizeof no_place / sizeof no_place[0]; i++)
        for (int axis = 0; axis < 2; axis++) {
            double *column = axis ? y : x, before = column[i];
            put_init("g", LEDGE_NODES, ledge, LEDGE_EDGES);
            PLACE(LEDGE_NODES);
            column[i] = no_place[i];
            expect_at(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, axis ? "node_y" : "node_x", -1, (int64_t)i);
            column[i] = before;
        }
#undef PLACE
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT; /* none of them left anything behind */
    open.map = "g";
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__NOT_FOUND,
                   "map");
    put_init("g", LEDGE_NODES, ledge, LEDGE_EDGES);
    put(&served.wire);
    expect_walk(&served.wire, "g");
}
END_TEST

/* 240 edges out of one node are taken, the 241st is named. */
START_TEST(test_degree)
{
    enum { MOST = 240 };
    static uint32_t from[MOST + 3], to[MOST + 3], cost[MOST + 3];
    for (uint32_t i = 0; i < MOST + 3; i++) {
        from[i] = i == 0; /* the first is out of another node */
        to[i] = 2;
        cost[i] = i + 1;
    }
    for (uint32_t count = MOST + 1; count <= MOST + 3; count++) {
        tickpath__put_graph__init(&put_);
        put_.map = "star";
        put_.has_nodes = put_.has_edges = put_.has_last = put_.last = put_.has_replace = put_.replace = 1;
        put_.nodes = 3;
        put_.edges = count;
        put_.edge_from = from;
        put_.edge_to = to;
        put_.edge_cost = cost;
        put_.n_edge_from = put_.n_edge_to = put_.n_edge_cost = count;
        if (count == MOST + 1)
            put(&served.wire);
        else
            expect_at(TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED, "edge_from", MOST + 1, -1);
    }
}
END_TEST

/* Chunks: edges and coordinates in pieces; a chunk that does not follow gives the upload up. */
START_TEST(test_chunks)
{
    double x[LEDGE_NODES] = {0, 1, 2, 3, 4, 5}, y[LEDGE_NODES] = {0};
    for (int spoilt = 0; spoilt < 6; spoilt++) {
        uint32_t nodes_sent = 0;
        bool refused = false;
        for (uint32_t i = 0; i < LEDGE_EDGES && !refused; i++) {
            put_init("g", LEDGE_NODES, ledge, LEDGE_EDGES);
            put_.edge_from += i;
            put_.edge_to += i;
            put_.edge_cost += i;
            put_.n_edge_from = put_.n_edge_to = put_.n_edge_cost = 1;
            put_.has_edge_offset = 1;
            put_.edge_offset = i;
            put_.has_node_offset = 1;
            put_.node_offset = nodes_sent;
            put_.n_node_x = put_.n_node_y = i % 2 == 1 ? 2 : 0;
            put_.node_x = x + nodes_sent;
            put_.node_y = y + nodes_sent;
            nodes_sent += (uint32_t)put_.n_node_x;
            put_.last = i + 1 == LEDGE_EDGES;
            if (i > 0)
                put_.has_nodes = put_.has_edges = 0;
            const char *field = NULL;
            if (i == 3) {
                const char *fields[] = {NULL, "edge_offset", "node_offset", "map", "nodes", "edges"};
                field = fields[spoilt];
                put_.edge_offset += spoilt == 1;
                put_.node_offset -= spoilt == 2;
                put_.map = spoilt == 3 ? "other" : NULL;
                put_.has_nodes = spoilt == 4;
                put_.has_edges = spoilt == 5;
                put_.nodes = put_.edges = 7;
            }
            if (field != NULL) {
                wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put_,
                               spoilt <= 2 ? TICKPATH__ERROR_CODE__INVALID_ARGUMENT
                                           : TICKPATH__ERROR_CODE__FAILED_PRECONDITION,
                               field);
                refused = true;
            } else if (!put_.last) {
                Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put_,
                                                  TICKPATH__REPLY__BODY_MAP_CHUNK);
                ck_assert_uint_eq(reply->map_chunk->edges_received, i + 1);
                ck_assert_uint_eq(reply->map_chunk->nodes_received, nodes_sent);
                wire_reply_free(reply);
            } else {
                put(&served.wire);
                expect_walk(&served.wire, "g");
                Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
                close.has_all = close.all = 1;
                wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                                         TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
                Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
                drop.map = "g";
                wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop,
                                         TICKPATH__REPLY__BODY_MAP_DROPPED));
            }
        }
    }
    /* one upload at a time, of whatever kind */
    put_init("g", LEDGE_NODES, ledge, LEDGE_EDGES);
    put_.last = 0;
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put_, TICKPATH__REPLY__BODY_MAP_CHUNK));
    Tickpath__PutMap grid = TICKPATH__PUT_MAP__INIT;
    grid.map = "g";
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &grid,
                   TICKPATH__ERROR_CODE__FAILED_PRECONDITION, "map");
    grid.has_width = grid.has_height = 1;
    grid.width = grid.height = 3;
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &grid, TICKPATH__REPLY__BODY_MAP_CHUNK));
    PUT_REFUSED(FAILED_PRECONDITION, "map", (void)0);
}
END_TEST

/* A graph takes a grid's place and a grid a graph's, by the rules of any put. */
START_TEST(test_replace)
{
    put_init("m", LEDGE_NODES, ledge, LEDGE_EDGES);
    put_.has_replace = put_.replace = 1;
    uint64_t session = wire_open_session(&served.wire, "m", 0, 1, NULL, 10);
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put_,
                   TICKPATH__ERROR_CODE__FAILED_PRECONDITION, "replace");
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.session = &session;
    close.n_session = 1;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                             TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    uint64_t epoch = put(&served.wire);
    expect_walk(&served.wire, "m");
    uint32_t cell = 0, terrain = '@';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "m";
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.n_cell = change.n_cell_terrain = 1;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,
                   TICKPATH__ERROR_CODE__UNSUPPORTED, "cell");
    close.n_session = 0;
    close.has_all = close.all = 1;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                             TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    uint8_t cells[] = "....";
    Tickpath__PutMap grid = TICKPATH__PUT_MAP__INIT;
    grid.map = "m";
    grid.has_width = grid.has_height = grid.has_cells = grid.has_last = grid.last = grid.has_replace =
        grid.replace = 1;
    grid.width = grid.height = 2;
    grid.cells = (ProtobufCBinaryData){.len = 4, .data = cells};
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &grid, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_uint_gt(reply->map_info->epoch, epoch);
    ck_assert_int_eq(reply->map_info->kind, TICKPATH__MAP_KIND__GRID);
    wire_reply_free(reply);
}
END_TEST

static Tickpath__OpenSession open_;

static void open_init(const char *map, uint32_t goal)
{
    tickpath__open_session__init(&open_);
    open_.map = (char *)map;
    open_.has_start = open_.has_goal = 1;
    open_.goal = goal;
}

#define OPEN_REFUSED(CODE, FIELD, SPOIL)                                                                     \
    do {                                                                                                     \
        open_init("ledge", 1);                                                                               \
        SPOIL;                                                                                               \
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_,                           \
                       TICKPATH__ERROR_CODE__##CODE, FIELD);                                                 \
    } while (0)
#define SET(FIELD, VALUE) (open_.has_##FIELD = 1, open_.FIELD = (VALUE))

/* What a session on a graph can't have. (Of grids and vehicles: test_badinput_sessions.c) */
START_TEST(test_open_refused)
{
    put_init("ledge", LEDGE_NODES, ledge, LEDGE_EDGES);
    put(&served.wire);
    wire_put_free_map(&served.wire, "line", LEDGE_NODES, 1); /* a grid as large as the graph */
    OPEN_REFUSED(OUT_OF_RANGE, "start", open_.start = LEDGE_NODES);
    OPEN_REFUSED(OUT_OF_RANGE, "goal", open_.goal = LEDGE_NODES);
    OPEN_REFUSED(UNSUPPORTED, "motion", SET(motion, TICKPATH__MOTION__INERTIA));
    OPEN_REFUSED(INVALID_ARGUMENT, "start_vx", SET(start_vx, 1));
    OPEN_REFUSED(UNSUPPORTED, "heuristic",
                 SET(heuristic, TICKPATH__HEURISTIC__HEURISTIC_EUCLID)); /* no coordinates */
    OPEN_REFUSED(UNSUPPORTED, "heuristic", SET(heuristic, TICKPATH__HEURISTIC__HEURISTIC_OCTILE));
    OPEN_REFUSED(UNSUPPORTED, "knowledge",
                 (open_.algorithm = "rtbwa", SET(knowledge, TICKPATH__KNOWLEDGE__FREESPACE)));
    OPEN_REFUSED(UNSUPPORTED, "knowledge",
                 (open_.algorithm = "rtbwa", open_.known_map = "line",
                  SET(knowledge, TICKPATH__KNOWLEDGE__KNOWN_MAP)));
    OPEN_REFUSED(INVALID_ARGUMENT, "known_map",
                 (open_.map = "line", open_.algorithm = "rtbwa", open_.known_map = "ledge",
                  SET(knowledge, TICKPATH__KNOWLEDGE__KNOWN_MAP)));
    OPEN_REFUSED(UNSUPPORTED, "shortcut", (open_.algorithm = "tba", SET(shortcut, 1)));
    open_init("ledge", 4);
    SET(heuristic, TICKPATH__HEURISTIC__HEURISTIC_ZERO);
    SET(motion, TICKPATH__MOTION__STEPS);
    Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_,
                                      TICKPATH__REPLY__BODY_SESSION_OPENED);
    ck_assert_uint_eq(reply->session_opened->width, LEDGE_NODES);
    wire_reply_free(walk(&served.wire, reply->session_opened->session, 0, ledge, LEDGE_EDGES));
    wire_reply_free(reply);
}
END_TEST

/* ---- In the data folder ---- */

static struct wire_daemon daemon_;

static void begin(void)
{
    wire_daemon_init(&daemon_);
}

static void end(void)
{
    wire_daemon_fini(&daemon_);
}

/* What was put is there after a restart and after a death, in the same epoch; what was dropped is not; the stats name it. */
START_TEST(test_restart)
{
    char data[128];
    struct wire wire;
    snprintf(data, sizeof data, "%s/data", daemon_.folder);
    uint64_t epoch = 0;
    for (int life = 0; life < 4; life++) {
        wire_daemon_start(&daemon_, "--threads", "2", "--data", data, "--stats", "127.0.0.1:0", NULL);
        wire_open_greeted(&wire, daemon_.port);
        if (life == 0) {
            double x[LEDGE_NODES] = {0, 1, 2, 3, 4, 5}, y[LEDGE_NODES] = {0};
            put_init("town/ledge", LEDGE_NODES, ledge, LEDGE_EDGES);
            put_.n_node_x = put_.n_node_y = LEDGE_NODES;
            put_.node_x = x;
            put_.node_y = y;
            epoch = put(&wire);
            put_init("gone", LEDGE_NODES, ledge, LEDGE_EDGES);
            put(&wire);
            Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
            drop.map = "gone";
            wire_reply_free(
                wire_ask(&wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__REPLY__BODY_MAP_DROPPED));
        }
        expect_ledge(&wire, "town/ledge");
        expect_walk(&wire, "town/ledge");
        open_init("town/ledge", 4); /* with its coordinates: EUCLID is there */
        SET(heuristic, TICKPATH__HEURISTIC__HEURISTIC_EUCLID);
        Tickpath__Reply *reply = wire_ask(&wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_,
                                          TICKPATH__REPLY__BODY_SESSION_OPENED);
        ck_assert_uint_eq(reply->session_opened->epoch, epoch);
        ck_assert_uint_eq(reply->session_opened->version, 1);
        wire_reply_free(reply);
        Tickpath__OpenMap gone = TICKPATH__OPEN_MAP__INIT;
        gone.map = "gone";
        wire_ask_error(&wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &gone, TICKPATH__ERROR_CODE__NOT_FOUND,
                       "map");
        int status;
        char *stats = wire_http_get(&daemon_, "/stats", &status);
        ck_assert_ptr_nonnull(stats);
        ck_assert_ptr_nonnull(strstr(stats, "\"kind\":\"graph\",\"edges\":6}"));
        free(stats);
        wire_close(&wire);
        if (life % 2 == 0)
            wire_daemon_kill(&daemon_);
        else
            wire_daemon_stop(&daemon_);
    }
}
END_TEST

static Suite *graphs_suite(void)
{
    Suite *suite = suite_create("graphs");
    TCase *served_cases = tcase_create("served");
    tcase_add_checked_fixture(served_cases, served_begin, served_end);
    tcase_add_test(served_cases, test_walk);
    tcase_add_test(served_cases, test_dead_end);
    tcase_add_test(served_cases, test_put_refused);
    tcase_add_test(served_cases, test_degree);
    tcase_add_test(served_cases, test_chunks);
    tcase_add_test(served_cases, test_replace);
    tcase_add_test(served_cases, test_open_refused);
    suite_add_tcase(suite, served_cases);
    TCase *folder = tcase_create("folder");
    tcase_add_checked_fixture(folder, begin, end);
    tcase_add_test(folder, test_restart);
    suite_add_tcase(suite, folder);
    return suite;
}

int main(void)
{
    return tp_test_main("test_graphs", graphs_suite);
}
