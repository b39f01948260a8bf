/* Epochs asked for: what is meant for a map that was put anew since is refused, and told where the map stands. And what a tick
 * says of sessions whose map is not where it wants it, while the others walk. */
#include "client/tickpath_client.h"
#include "tests/lib/served.h"

#include <string.h>

enum { SIDE = 10 };

static struct tp_client *client;
static uint64_t before, now; /* the epochs of "e", which was put twice */

static uint64_t put(const char *name)
{
    uint8_t cells[SIDE * SIDE];
    struct tp_client_map map;
    memset(cells, '.', sizeof cells);
    ck_assert_int_eq(tp_client_put_map(client, name, SIDE, SIDE, cells, NULL, 0, true, &map, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(map.version, 1);
    return map.epoch;
}

static void begin(void)
{
    served_begin();
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", served.daemon.port, "test", WIRE_TIMEOUT_MS, NULL), 0);
    before = put("e");
    now = put("e");
    ck_assert_uint_ne(before, now);
}

static void end(void)
{
    tp_client_close(client);
    served_end();
}

static void expect_refused(int result, int code, const char *field, uint64_t epoch, uint64_t version)
{
    const struct tp_client_error *error = tp_client_error(client);
    ck_assert_msg(result == code, "%d: %s", result, error->message);
    ck_assert_str_eq(error->field, field);
    ck_assert_msg(error->has_place && error->epoch == epoch && error->version == version, "%s", error->message);
}

static int set_cell(const char *map, uint64_t epoch, const uint64_t *base, const char *key, struct tp_client_changed *changed)
{
    uint32_t cell = 7, terrain = '@';
    struct tp_client_changes changes = {.map = map,
                                        .epoch = epoch,
                                        .has_base_version = base != NULL,
                                        .base_version = base != NULL ? *base : 0,
                                        .cells = &cell,
                                        .cell_terrains = &terrain,
                                        .cell_count = 1,
                                        .cell_terrain_count = 1,
                                        .key = key,
                                        .key_size = key != NULL ? strlen(key) : 0};
    return tp_client_change(client, &changes, changed, WIRE_TIMEOUT_MS);
}

START_TEST(changes_of_another_epoch)
{
    struct tp_client_changed changed;
    uint64_t one = 1, two = 2;
    expect_refused(set_cell("e", before, &one, NULL, &changed), TP_CLIENT_VERSION_MISMATCH, "epoch", now, 1);
    expect_refused(set_cell("e", before, NULL, NULL, &changed), TP_CLIENT_VERSION_MISMATCH, "epoch", now, 1);
    expect_refused(set_cell("e", now, &two, NULL, &changed), TP_CLIENT_VERSION_MISMATCH, "base_version", now, 1);
    ck_assert_int_eq(set_cell("e", now, &one, "k", &changed), 0);
    ck_assert(changed.epoch == now && changed.version == 2 && !changed.applied_before);
    ck_assert_int_eq(set_cell("e", now, &one, "k", &changed), 0);
    ck_assert(changed.version == 2 && changed.applied_before);
    expect_refused(set_cell("e", before, &one, "k", &changed), TP_CLIENT_VERSION_MISMATCH, "epoch", now, 2);
}
END_TEST

START_TEST(maps_and_sessions_of_another_epoch)
{
    struct tp_client_map map;
    expect_refused(tp_client_open_map_of(client, "e", before, 9, &map, WIRE_TIMEOUT_MS), TP_CLIENT_VERSION_MISMATCH, "epoch", now,
                   1);
    expect_refused(tp_client_open_map_of(client, "e", now, 9, &map, WIRE_TIMEOUT_MS), TP_CLIENT_MAP_NOT_READY, "min_version", now,
                   1);
    ck_assert_int_eq(tp_client_open_map_of(client, "e", now, 1, &map, WIRE_TIMEOUT_MS), 0);
    expect_refused(tp_client_drop_map(client, "e", before, WIRE_TIMEOUT_MS), TP_CLIENT_FAILED_PRECONDITION, "epoch", now, 1);
    for (uint32_t size = 1; size <= 2; size++) { /* the map itself, and a layer of it */
        struct tp_client_session session;
        struct tp_client_session_params params = {.map = "e", .goal = SIDE * SIDE - SIDE / 2, .agent_size = size, .epoch = before};
        expect_refused(tp_client_open_session(client, &params, &session, WIRE_TIMEOUT_MS), TP_CLIENT_VERSION_MISMATCH, "epoch",
                       now, 1);
        params.epoch = now;
        ck_assert_int_eq(tp_client_open_session(client, &params, &session, WIRE_TIMEOUT_MS), 0);
        ck_assert_uint_eq(session.epoch, now);
        ck_assert_int_eq(tp_client_close_all_sessions(client, NULL, WIRE_TIMEOUT_MS), 0);
    }
    put("e"); /* nobody stands on it */
}
END_TEST

/* Two sessions on two maps: the one whose map is late, or in another epoch, does not hold up the other. */
START_TEST(ticks_of_late_maps)
{
    uint64_t other = put("f"), one = 1;
    struct tp_client_changed changed;
    ck_assert_int_eq(set_cell("e", now, &one, NULL, &changed), 0);
    struct tp_client_session e, f;
    struct tp_client_session_params params = {.map = "e", .goal = 9};
    ck_assert_int_eq(tp_client_open_session(client, &params, &e, WIRE_TIMEOUT_MS), 0);
    params.map = "f";
    ck_assert_int_eq(tp_client_open_session(client, &params, &f, WIRE_TIMEOUT_MS), 0);
    uint64_t ids[] = {f.id, e.id, f.id};
    uint32_t beyond = SIDE * SIDE;
    for (int all = 0; all < 2; all++) {
        struct tp_client_tick tick = {.sessions = all ? NULL : ids,
                                      .session_count = all ? 0 : 2,
                                      .all = all,
                                      .at_sessions = ids,
                                      .at_cells = &beyond, /* not looked at: it is not ticked */
                                      .at_count = 1,
                                      .min_version = 2};
        struct tp_client_ticked ticked;
        ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
        ck_assert(ticked.count == 1 && ticked.sessions[0] == e.id && ticked.versions[0] == 2);
        ck_assert(ticked.refused_count == 1 && ticked.refused[0].session == f.id);
        ck_assert_int_eq(ticked.refused[0].code, TP_CLIENT_MAP_NOT_READY);
        ck_assert(ticked.refused[0].epoch == other && ticked.refused[0].version == 1);
        tick.at_count = 0;
        tick.epoch = other;
        ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
        ck_assert(ticked.count == 0 && ticked.refused_count == 2);
        for (size_t i = 0; i < 2; i++) {
            bool of_e = ticked.refused[i].session == e.id;
            ck_assert_int_eq(ticked.refused[i].code, of_e ? TP_CLIENT_VERSION_MISMATCH : TP_CLIENT_MAP_NOT_READY);
            ck_assert_uint_eq(ticked.refused[i].epoch, of_e ? now : other);
        }
        tick.min_version = 1;
        ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
        ck_assert(ticked.count == 1 && ticked.sessions[0] == f.id && ticked.refused_count == 1);
    }
    ck_assert_int_eq(tp_client_close_all_sessions(client, NULL, WIRE_TIMEOUT_MS), 0);
}
END_TEST

/* An edge or a node that is not there is no cell. */
START_TEST(no_cell_of_a_graph)
{
    struct tp_client_edge edges[] = {{0, 1, 3}};
    struct tp_client_graph graph = {.nodes = 2, .edges = edges, .edge_count = 1};
    ck_assert_int_eq(tp_client_put_graph(client, "g", &graph, false, NULL, WIRE_TIMEOUT_MS), 0);
    uint32_t beyond = 5, value = 1;
    struct tp_client_changes changes = {
        .map = "g", .edges = &beyond, .edge_costs = &value, .edge_count = 1, .edge_cost_count = 1};
    ck_assert_int_eq(tp_client_change(client, &changes, NULL, WIRE_TIMEOUT_MS), TP_CLIENT_OUT_OF_RANGE);
    ck_assert(tp_client_error(client)->has_change && !tp_client_error(client)->has_cell);
    changes = (struct tp_client_changes){
        .map = "g", .nodes = &beyond, .node_opens = &value, .node_count = 1, .node_open_count = 1};
    ck_assert_int_eq(tp_client_change(client, &changes, NULL, WIRE_TIMEOUT_MS), TP_CLIENT_OUT_OF_RANGE);
    ck_assert(tp_client_error(client)->has_change && !tp_client_error(client)->has_cell);
    uint32_t cell = SIDE * SIDE, terrain = '@';
    changes = (struct tp_client_changes){
        .map = "e", .cells = &cell, .cell_terrains = &terrain, .cell_count = 1, .cell_terrain_count = 1};
    ck_assert_int_eq(tp_client_change(client, &changes, NULL, WIRE_TIMEOUT_MS), TP_CLIENT_OUT_OF_RANGE);
    ck_assert(tp_client_error(client)->has_cell && tp_client_error(client)->bad_y == SIDE);
}
END_TEST

static Suite *epochs_suite(void)
{
    Suite *suite = suite_create("epochs");
    TCase *cases = tcase_create("epochs");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, changes_of_another_epoch);
    tcase_add_test(cases, maps_and_sessions_of_another_epoch);
    tcase_add_test(cases, ticks_of_late_maps);
    tcase_add_test(cases, no_cell_of_a_graph);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_epochs", epochs_suite);
}
