/* Graphs that change, through a real daemon: case B of users, what is refused and by which words, changed costs and closed nodes
 * after a restart and after kill -9, from the log and from a snapshot. */
#include "base/error.h"
#include "client/tickpath_client.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <string.h>

static struct wire_daemon daemon_;
static char data[128];
static struct tp_client *client;

static void start(const char *fold_batches)
{
    wire_daemon_start(&daemon_, "--threads", "2", "--data", data, "--fold-batches", fold_batches, NULL);
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", daemon_.port, "test", WIRE_TIMEOUT_MS, NULL), 0);
}

static void begin(void)
{
    wire_daemon_init(&daemon_);
    snprintf(data, sizeof data, "%s/data", daemon_.folder);
    start("1000");
}

static void end(void)
{
    tp_client_close(client);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

/* Nodes 10 to 15 of case B by their numbers; the others stand apart. */
static const struct tp_client_edge case_b[] = {{13, 15, 1}, {15, 13, 1}, {13, 11, 2}, {11, 13, 2}, {11, 10, 1},
                                               {10, 12, 1}, {12, 10, 1}, {12, 14, 1}, {14, 12, 1}};
static const double case_b_x[16] = {[13] = 1, [15] = 2, [11] = 3, [10] = 4, [12] = 5, [14] = 6}, case_b_y[16];

static void put_case_b(const char *name)
{
    const struct tp_client_graph graph = {.nodes = 16, .edges = case_b, .edge_count = 9, .x = case_b_x, .y = case_b_y};
    struct tp_client_map map;
    ck_assert_int_eq(tp_client_put_graph(client, name, &graph, true, &map, WIRE_TIMEOUT_MS), 0);
}

static int change(const char *name, const struct tp_client_changes *changes, uint64_t *version)
{
    struct tp_client_changes named = *changes;
    struct tp_client_changed changed = {0};
    named.map = name;
    int error = tp_client_change(client, &named, &changed, WIRE_TIMEOUT_MS);
    *version = changed.version;
    return error;
}

static void set_edge(const char *name, uint32_t edge, uint32_t cost)
{
    uint64_t version;
    const struct tp_client_changes changes = {.edges = &edge, .edge_costs = &cost, .edge_count = 1, .edge_cost_count = 1};
    ck_assert_int_eq(change(name, &changes, &version), 0);
}

static void set_node(const char *name, uint32_t node, uint32_t open)
{
    uint64_t version;
    const struct tp_client_changes changes = {.nodes = &node, .node_opens = &open, .node_count = 1, .node_open_count = 1};
    ck_assert_int_eq(change(name, &changes, &version), 0);
}

/* Walks from 13 to 12 and looks for the nodes walked, such as "13 11 10 12", for the last status and for a flag. */
static void expect_walk(const char *name, enum tp_client_goal_policy policy, const char *wanted, uint32_t status, uint32_t flag)
{
    const struct tp_client_session_params params = {.map = name,
                                                    .start = 13,
                                                    .goal = 12,
                                                    .algorithm = "tbwa",
                                                    .goal_policy = policy,
                                                    .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = 100}};
    struct tp_client_session session;
    ck_assert_int_eq(tp_client_open_session(client, &params, &session, WIRE_TIMEOUT_MS), 0);
    const struct tp_client_tick tick = {.sessions = &session.id, .session_count = 1};
    struct tp_client_ticked ticked;
    char walked[100];
    size_t length = (size_t)snprintf(walked, sizeof walked, "13");
    uint32_t at = 13, last_status = 0, last_flags = 0;
    for (int i = 0; i < 12; i++) {
        ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
        ck_assert_uint_eq(ticked.count, 1);
        if (ticked.cells[0] != at)
            length += (size_t)snprintf(walked + length, sizeof walked - length, " %u", ticked.cells[0]);
        at = ticked.cells[0];
        last_status = ticked.statuses[0];
        last_flags = ticked.flags[0];
    }
    ck_assert_str_eq(walked, wanted);
    ck_assert_uint_eq(last_status, status);
    ck_assert_uint_eq(last_flags & flag, flag);
    ck_assert_int_eq(tp_client_close_sessions(client, &session.id, 1, NULL, WIRE_TIMEOUT_MS), 0);
}

START_TEST(test_case_b)
{
    begin();
    put_case_b("b");
    expect_walk("b", TP_CLIENT_EXACT, "13 11 10 12", TP_CLIENT_ARRIVED, 0);
    set_node("b", 12, 0);
    expect_walk("b", TP_CLIENT_EXACT, "13", TP_CLIENT_UNREACHABLE, 0);
    expect_walk("b", TP_CLIENT_NEAREST, "13 11 10", TP_CLIENT_ARRIVED, TP_CLIENT_PARTIAL);
    set_node("b", 12, 1);
    expect_walk("b", TP_CLIENT_EXACT, "13 11 10 12", TP_CLIENT_ARRIVED, 0);
    set_node("b", 13, 0); /* under the agent */
    expect_walk("b", TP_CLIENT_EXACT, "13", TP_CLIENT_UNREACHABLE, TP_CLIENT_START_BLOCKED | TP_CLIENT_DEAD_END);
    end();
}
END_TEST

static void expect_refused(const char *name, const struct tp_client_changes *changes, int code, const char *field, uint32_t index,
                           const char *words)
{
    uint64_t version;
    ck_assert_int_eq(change(name, changes, &version), code);
    const struct tp_client_error *error = tp_client_error(client);
    ck_assert_str_eq(error->field, field);
    ck_assert_msg(error->has_change && error->change_index == index, "change %u: %s", error->change_index, error->message);
    ck_assert_msg(strstr(error->message, words) != NULL, "%s", error->message);
}

START_TEST(test_refusals)
{
    begin();
    put_case_b("b");
    uint32_t edges[] = {0, 8, 9}, costs[] = {4, 5, 6}, nodes[] = {15, 16}, opens[] = {0, 2}, cell = 1, terrain = '@';
    struct tp_client_changes changes = {.edges = edges, .edge_costs = costs, .edge_count = 3, .edge_cost_count = 3};
    expect_refused("b", &changes, TP_ERR_OUT_OF_RANGE, "edge", 2, "no edge 9");
    changes.edge_count = 2;
    changes.edge_cost_count = 0;
    expect_refused("b", &changes, TP_ERR_INVALID_ARGUMENT, "edge_cost", 0, "one for each");
    changes = (struct tp_client_changes){.edges = edges, .edge_costs = costs, .edge_count = 1, .edge_cost_count = 1,
                                         .nodes = nodes, .node_opens = opens, .node_count = 2, .node_open_count = 1};
    expect_refused("b", &changes, TP_ERR_OUT_OF_RANGE, "node", 2, "no node 16");
    changes.node_open_count = 2;
    expect_refused("b", &changes, TP_ERR_INVALID_ARGUMENT, "node_open", 2, "0 closes");
    changes = (struct tp_client_changes){.edges = edges, .edge_costs = costs, .edge_count = 1, .edge_cost_count = 1, .cells = &cell,
                                         .cell_terrains = &terrain, .cell_count = 1, .cell_terrain_count = 1};
    expect_refused("b", &changes, TP_ERR_UNSUPPORTED, "cell", 0, "graph");
    uint64_t version; /* nothing of all that was applied */
    changes = (struct tp_client_changes){0};
    ck_assert_int_eq(change("b", &changes, &version), 0);
    ck_assert_uint_eq(version, 2);
    expect_walk("b", TP_CLIENT_EXACT, "13 11 10 12", TP_CLIENT_ARRIVED, 0);
    end();
}
END_TEST

static void again(bool kill, const char *fold_batches)
{
    if (kill)
        wire_daemon_kill(&daemon_);
    tp_client_close(client);
    if (!kill)
        wire_daemon_stop(&daemon_);
    start(fold_batches);
}

/* _i: whether the daemon is killed. Three batches a snapshot: what stands comes from a snapshot, or from the log behind it. */
START_TEST(test_kept)
{
    begin();
    again(_i == 1, "3");
    put_case_b("b");
    uint32_t open_nodes = 16;
    for (int round = 0; round < 4; round++) {
        set_edge("b", 5, 0); /* 10 to 12 */
        expect_walk("b", TP_CLIENT_NEAREST, "13 11 10", TP_CLIENT_ARRIVED, TP_CLIENT_PARTIAL);
        set_node("b", (uint32_t)round, 0);
        open_nodes--;
        again(_i == 1, "3");
        expect_walk("b", TP_CLIENT_NEAREST, "13 11 10", TP_CLIENT_ARRIVED, TP_CLIENT_PARTIAL);
        set_node("b", 11, 0);
        again(_i == 1, "3");
        expect_walk("b", TP_CLIENT_EXACT, "13", TP_CLIENT_UNREACHABLE, 0);
        set_edge("b", 5, 3); /* one that a closed node does not hide, and one that it does */
        set_edge("b", 4, 9);
        again(_i == 1, "3");
        set_node("b", 11, 1);
        again(_i == 1, "3");
        expect_walk("b", TP_CLIENT_EXACT, "13 11 10 12", TP_CLIENT_ARRIVED, 0);
        struct tp_client_map map;
        ck_assert_int_eq(tp_client_open_map(client, "b", 0, &map, WIRE_TIMEOUT_MS), 0);
        ck_assert_uint_eq(map.passable_cells, open_nodes);
        ck_assert_uint_eq(map.version, 7 + 6 * (uint64_t)round);
    }
    end();
}
END_TEST

static Suite *graph_changes_suite(void)
{
    Suite *suite = suite_create("graph_changes_wire");
    TCase *tcase = tcase_create("served");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_case_b);
    tcase_add_test(tcase, test_refusals);
    tcase_add_loop_test(tcase, test_kept, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_graph_changes_wire", graph_changes_suite);
}
