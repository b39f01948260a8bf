/* Graphs through a real daemon: put in one chunk or many, replaced and dropped like grids, kept over a restart; agents that walk
 * them, ways that lead one way only. */
#include "tests/lib/harness.h"
#include "tests/lib/served.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static Tickpath__Reply *walk(struct wire *wire, uint64_t session, uint32_t at, const uint32_t (*edges)[3], size_t count)
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
        if (ticked->status[0] == TICKPATH__STATUS__ARRIVED || ticked->status[0] == TICKPATH__STATUS__UNREACHABLE ||
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

static Suite *graphs_suite(void)
{
    Suite *suite = suite_create("graphs");
    TCase *served_cases = tcase_create("served");
    tcase_add_checked_fixture(served_cases, served_begin, served_end);
    tcase_add_test(served_cases, test_walk);
    suite_add_tcase(suite, served_cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_graphs", graphs_suite);
}
