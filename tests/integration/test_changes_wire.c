/* Changes over the wire: runs, and keys that make a batch safe to send again. */
#include "client/tickpath_client.h"
#include "tests/lib/served.h"

#include <stdio.h>
#include <string.h>

static Tickpath__ChangeCosts change;
static uint32_t cell, cell_terrain, run_cell[4], run_length[4], run_terrain[4];

/* One run of four cells in row 2. */
static void change_init(void)
{
    tickpath__change_costs__init(&change);
    change.map = "m";
    change.run_cell = run_cell;
    change.run_length = run_length;
    change.run_terrain = run_terrain;
    change.n_run_cell = change.n_run_length = change.n_run_terrain = 1;
    run_cell[0] = 2 * SERVED_WIDTH + 3;
    run_length[0] = 4;
    run_terrain[0] = '@';
}

static void set_key(const char *key)
{
    change.has_key = 1;
    change.key = (ProtobufCBinaryData){.len = strlen(key), .data = (uint8_t *)key};
}

/* Sends the batch and expects that it made, or had made, this version. */
static void expect_changed(struct wire *wire, uint64_t version, bool applied_before)
{
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED);
    ck_assert_uint_eq(reply->changed->version, version);
    ck_assert_int_eq(reply->changed->applied_before, applied_before);
    wire_reply_free(reply);
}

static Tickpath__MapInfo map_info(const char *name)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)name;
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    Tickpath__MapInfo info = *reply->map_info;
    info.map = NULL;
    wire_reply_free(reply);
    return info;
}

/* Expects a refusal that names a change and a cell, and that nothing was applied. */
static void expect_refused(Tickpath__ErrorCode code, const char *field, int index, int x, int y)
{
    Tickpath__MapInfo before = map_info("m");
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_msg((Tickpath__ErrorCode)reply->error->code == code, "%s", reply->error->message);
    ck_assert_str_eq(reply->error->field, field);
    ck_assert_int_eq(reply->error->has_change_index, index >= 0);
    ck_assert_int_eq(reply->error->has_bad_x, x >= 0);
    if (index >= 0)
        ck_assert_int_eq((int)reply->error->change_index, index);
    if (x >= 0) {
        ck_assert_int_eq((int)reply->error->bad_x, x);
        ck_assert_int_eq((int)reply->error->bad_y, y);
    }
    wire_reply_free(reply);
    Tickpath__MapInfo after = map_info("m");
    ck_assert_uint_eq(after.version, before.version);
    ck_assert_uint_eq(after.passable_cells, before.passable_cells);
}

/* ---- Runs ---- */

START_TEST(test_runs)
{
    change_init();
    run_cell[1] = 0;
    run_length[1] = SERVED_WIDTH; /* a whole row */
    change.n_run_cell = change.n_run_length = 2;
    expect_changed(&served.wire, 2, false); /* one class for both */
    ck_assert_uint_eq(map_info("m").passable_cells, SERVED_CELLS - 4 - SERVED_WIDTH);
    change.n_run_terrain = 2; /* one each; and the later one overwrites */
    run_cell[1] = run_cell[0] + 1;
    run_length[1] = 2;
    run_terrain[1] = '.';
    expect_changed(&served.wire, 3, false);
    ck_assert_uint_eq(map_info("m").passable_cells, SERVED_CELLS - 2 - SERVED_WIDTH);
}
END_TEST

/* Cells, rectangles, bitmaps, runs: a run overwrites all of them. */
START_TEST(test_runs_come_last)
{
    change_init();
    Tickpath__Rectangle rectangle = TICKPATH__RECTANGLE__INIT, *rectangles[] = {&rectangle};
    rectangle.has_x = rectangle.has_y = rectangle.has_width = rectangle.has_height = rectangle.has_terrain =
        1;
    rectangle.width = SERVED_WIDTH;
    rectangle.height = SERVED_HEIGHT;
    rectangle.terrain = '.';
    Tickpath__Bitmap bitmap = TICKPATH__BITMAP__INIT, *bitmaps[] = {&bitmap};
    bitmap.has_x = bitmap.has_y = bitmap.has_width = bitmap.has_height = bitmap.has_terrain =
        bitmap.has_bits = 1;
    bitmap.x = 3;
    bitmap.y = 2;
    bitmap.width = 8 - 4;
    bitmap.height = 1;
    bitmap.bits = (ProtobufCBinaryData){.len = 1, .data = (uint8_t *)"\17"};
    bitmap.terrain = '.';
    cell = run_cell[0];
    cell_terrain = '.';
    change.cell = &cell;
    change.cell_terrain = &cell_terrain;
    change.n_cell = change.n_cell_terrain = 1;
    change.rectangle = rectangles;
    change.bitmap = bitmaps;
    change.n_rectangle = change.n_bitmap = 1;
    expect_changed(&served.wire, 2, false);
    ck_assert_uint_eq(map_info("m").passable_cells, SERVED_CELLS - 4);
    run_length[0] = SERVED_WIDTH; /* its place in the batch is 3 */
    expect_refused(TICKPATH__ERROR_CODE__OUT_OF_RANGE, "run_length", 3, SERVED_WIDTH, 2);
}
END_TEST

START_TEST(test_runs_refused)
{
    change_init();
    run_length[0] = SERVED_WIDTH - 3 + 1; /* one past the row's end, though not past the map's */
    expect_refused(TICKPATH__ERROR_CODE__OUT_OF_RANGE, "run_length", 0, SERVED_WIDTH, 2);
    run_length[0] = UINT32_MAX;
    expect_refused(TICKPATH__ERROR_CODE__OUT_OF_RANGE, "run_length", 0, SERVED_WIDTH, 2);
    change_init();
    run_cell[0] = SERVED_CELLS + 4;
    expect_refused(TICKPATH__ERROR_CODE__OUT_OF_RANGE, "run_length", 0, 4, SERVED_HEIGHT);
    change_init();
    change.n_run_cell = change.n_run_length = 2; /* the first is right, and not applied */
    run_cell[1] = UINT32_MAX;
    run_length[1] = 1;
    expect_refused(TICKPATH__ERROR_CODE__OUT_OF_RANGE, "run_length", 1, UINT32_MAX % SERVED_WIDTH,
                   UINT32_MAX / SERVED_WIDTH);
    change_init();
    run_length[0] = 0;
    expect_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "run_length", 0, -1, -1);
    change_init();
    run_terrain[0] = 256;
    expect_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "run_terrain", 0, -1, -1);
    change_init();
    change.n_run_cell = 2; /* a length is missing */
    expect_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "run_length", 1, -1, -1);
    change_init();
    change.n_run_cell = change.n_run_length = 3; /* a class is missing */
    change.n_run_terrain = 2;
    run_length[1] = run_length[2] = 1;
    run_terrain[1] = '@';
    expect_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "run_terrain", 2, -1, -1);
    change_init();
    change.n_run_length = 2; /* one too many: no run is at fault */
    expect_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "run_length", -1, -1, -1);
    change_init();
    change.n_run_terrain = 2;
    expect_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "run_terrain", -1, -1, -1);
}
END_TEST

/* ---- Keys ---- */

START_TEST(test_key_is_applied_once)
{
    change_init();
    set_key("k1");
    expect_changed(&served.wire, 2, false);
    expect_changed(&served.wire, 2, true);
    /* neither base_version nor what the batch holds is looked at */
    change.has_base_version = 1;
    change.base_version = 1;
    run_terrain[0] = '.';
    expect_changed(&served.wire, 2, true);
    ck_assert_uint_eq(map_info("m").passable_cells, SERVED_CELLS - 4);
    /* from another connection too, and after other changes */
    change.has_base_version = 0;
    change.has_key = 0;
    expect_changed(&served.wire, 3, false);
    struct wire other;
    wire_open_greeted(&other, served.daemon.port);
    set_key("k1");
    expect_changed(&other, 2, true);
    wire_close(&other);
    set_key("k2");
    expect_changed(&served.wire, 4, false);
    ck_assert_uint_eq(map_info("m").version, 4);
}
END_TEST

START_TEST(test_keys_of_maps)
{
    change_init();
    set_key("k");
    expect_changed(&served.wire, 2, false);
    wire_put_free_map(&served.wire, "n", SERVED_WIDTH, SERVED_HEIGHT);
    change.map = "n"; /* each map has its own */
    expect_changed(&served.wire, 2, false);
    /* a map that is put anew has none */
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    uint8_t cells[4] = "....";
    put.map = "n";
    put.has_width = put.has_height = put.has_cells = put.has_last = put.has_replace = 1;
    put.width = put.height = 2;
    put.cells = (ProtobufCBinaryData){.len = 4, .data = cells};
    put.last = put.replace = 1;
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    run_cell[0] = 0;
    run_length[0] = 1;
    expect_changed(&served.wire, 2, false);
    expect_changed(&served.wire, 2, true);
}
END_TEST

START_TEST(test_refused_batch_leaves_no_key)
{
    change_init();
    set_key("k");
    run_length[0] = 100;
    expect_refused(TICKPATH__ERROR_CODE__OUT_OF_RANGE, "run_length", 0, SERVED_WIDTH, 2);
    run_length[0] = 4;
    change.has_base_version = 1;
    change.base_version = 7;
    expect_refused(TICKPATH__ERROR_CODE__VERSION_MISMATCH, "base_version", -1, -1, -1);
    change.base_version = 1;
    expect_changed(&served.wire, 2, false);
    expect_changed(&served.wire, 2, true);
}
END_TEST

START_TEST(test_keys_refused)
{
    static char longest[66];
    memset(longest, 'k', 65);
    change_init();
    set_key("");
    expect_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "key", -1, -1, -1);
    set_key(longest);
    expect_refused(TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "key", -1, -1, -1);
    longest[64] = 0;
    set_key(longest);
    expect_changed(&served.wire, 2, false);
    expect_changed(&served.wire, 2, true);
    change.key.len = 63; /* a part of a key is another key; and any byte may be in one */
    expect_changed(&served.wire, 3, false);
    change.key = (ProtobufCBinaryData){.len = 2, .data = (uint8_t *)"\0\0"};
    expect_changed(&served.wire, 4, false);
    change.key.len = 1;
    expect_changed(&served.wire, 5, false);
}
END_TEST

/* The last 1024 are known. */
START_TEST(test_old_keys_are_forgotten)
{
    enum { KNOWN = 1024 };
    change_init();
    char key[24];
    for (int i = 0; i <= KNOWN; i++) {
        snprintf(key, sizeof key, "key %d", i);
        set_key(key);
        wire_send(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
    }
    for (int i = 0; i <= KNOWN; i++) {
        Tickpath__Reply *reply = wire_recv(&served.wire);
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_CHANGED);
        ck_assert_uint_eq(reply->changed->version, 2 + (uint64_t)i);
        wire_reply_free(reply);
    }
    set_key("key 1");
    expect_changed(&served.wire, 3, true);
    set_key("key 0");
    expect_changed(&served.wire, KNOWN + 3, false);
    set_key("key 1"); /* which made room for it */
    expect_changed(&served.wire, KNOWN + 4, false);
}
END_TEST

/* Many connections send the same batches at once: each is one version, told to all. */
START_TEST(test_same_key_at_once)
{
    enum { CONNECTIONS = 6, ROUNDS = 60 };
    struct wire wire[CONNECTIONS];
    for (int c = 0; c < CONNECTIONS; c++)
        wire_open_greeted(&wire[c], served.daemon.port);
    change_init();
    char key[24];
    for (int round = 0; round < ROUNDS; round++) {
        snprintf(key, sizeof key, "round %d", round);
        set_key(key);
        for (int c = 0; c < CONNECTIONS; c++)
            wire_send(&wire[c], TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
        unsigned made = 0;
        for (int c = 0; c < CONNECTIONS; c++) {
            Tickpath__Reply *reply = wire_recv(&wire[c]);
            ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_CHANGED);
            ck_assert_uint_eq(reply->changed->version, 2 + (uint64_t)round);
            made += !reply->changed->applied_before;
            wire_reply_free(reply);
        }
        ck_assert_uint_eq(made, 1);
    }
    for (int c = 0; c < CONNECTIONS; c++)
        wire_close(&wire[c]);
}
END_TEST

/* A grid has none. */
START_TEST(test_edges_and_nodes)
{
    uint32_t one = 1;
    change_init();
    change.edge = change.edge_cost = &one;
    change.n_edge = change.n_edge_cost = 1;
    expect_refused(TICKPATH__ERROR_CODE__UNSUPPORTED, "edge", 0, -1, -1);
    change_init();
    change.node = change.node_open = &one;
    change.n_node = change.n_node_open = 1;
    expect_refused(TICKPATH__ERROR_CODE__UNSUPPORTED, "node", 0, -1, -1);
}
END_TEST

/* ---- The client library ---- */

START_TEST(test_client_runs_and_keys)
{
    struct tp_client *client;
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", served.daemon.port, "test", WIRE_TIMEOUT_MS, NULL),
                     0);
    const struct tp_client_run runs[] = {{.cell = 3, .length = 4, .terrain = '@'},
                                         {.cell = 4, .length = 2, .terrain = '.'}};
    struct tp_client_changes changes = {
        .map = "m", .runs = runs, .run_count = 2, .key = "a\0b", .key_size = 3};
    struct tp_client_changed changed;
    ck_assert_int_eq(tp_client_change(client, &changes, &changed, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(changed.version, 2);
    ck_assert(!changed.applied_before);
    ck_assert_int_eq(tp_client_change(client, &changes, &changed, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(changed.version, 2);
    ck_assert(changed.applied_before);
    struct tp_client_map info;
    ck_assert_int_eq(tp_client_open_map(client, "m", 0, &info, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(info.passable_cells, SERVED_CELLS - 2);
    const struct tp_client_run beyond = {.cell = SERVED_WIDTH - 1, .length = 2, .terrain = '@'};
    changes = (struct tp_client_changes){.map = "m", .runs = &beyond, .run_count = 1};
    ck_assert_int_eq(tp_client_change(client, &changes, &changed, WIRE_TIMEOUT_MS), TP_CLIENT_OUT_OF_RANGE);
    ck_assert_str_eq(tp_client_error(client)->field, "run_length");
    ck_assert_uint_eq(tp_client_error(client)->bad_x, SERVED_WIDTH);
    ck_assert_uint_eq(tp_client_error(client)->bad_y, 0);
    changes.runs = NULL;
    ck_assert_int_eq(tp_client_change(client, &changes, &changed, WIRE_TIMEOUT_MS),
                     TP_CLIENT_INVALID_ARGUMENT);
    ck_assert_str_eq(tp_client_error(client)->field, "run_cell");
    changes = (struct tp_client_changes){.map = "m", .key_size = 1};
    ck_assert_int_eq(tp_client_change(client, &changes, &changed, WIRE_TIMEOUT_MS),
                     TP_CLIENT_INVALID_ARGUMENT);
    ck_assert_str_eq(tp_client_error(client)->field, "key");
    ck_assert(!tp_client_error(client)->from_server);
    tp_client_close(client);
}
END_TEST

static Suite *changes_suite(void)
{
    Suite *suite = suite_create("changes_wire");
    TCase *cases = tcase_create("changes");
    tcase_add_checked_fixture(cases, served_begin, served_end);
    tcase_add_test(cases, test_runs);
    tcase_add_test(cases, test_runs_come_last);
    tcase_add_test(cases, test_runs_refused);
    tcase_add_test(cases, test_key_is_applied_once);
    tcase_add_test(cases, test_keys_of_maps);
    tcase_add_test(cases, test_refused_batch_leaves_no_key);
    tcase_add_test(cases, test_keys_refused);
    tcase_add_test(cases, test_old_keys_are_forgotten);
    tcase_add_test(cases, test_same_key_at_once);
    tcase_add_test(cases, test_edges_and_nodes);
    tcase_add_test(cases, test_client_runs_and_keys);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_changes_wire", changes_suite);
}
