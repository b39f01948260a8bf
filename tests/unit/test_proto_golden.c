/* The golden frames through protobuf-c: every .hex unpacks and packs to the same bytes, and messages built by
 * hand in C make the bytes that Python's protobuf made of their text. (tests/integration/check_golden.py is
 * the other side.) Runs from the project's root. */
#include "proto/tickpath.pb-c.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "proto/golden"

enum { FRAME_ROOM = 4096 };

struct golden {
    uint8_t frame[FRAME_ROOM];
    size_t size;
    const uint8_t *body; /* inside frame */
    size_t body_size;
};

static void golden_read(struct golden *golden, const char *name)
{
    size_t text_size;
    char *text = tp_test_read_file(tp_test_path(FOLDER, name, ".hex"), &text_size);
    golden->size = 0;
    for (size_t i = 0; i + 1 < text_size;) {
        unsigned byte;
        if (text[i] == '\n') {
            i++;
            continue;
        }
        ck_assert_int_eq(sscanf(text + i, "%2x", &byte), 1);
        ck_assert_uint_lt(golden->size, FRAME_ROOM);
        golden->frame[golden->size++] = (uint8_t)byte;
        i += 2;
    }
    free(text);
    uint64_t length = 0;
    size_t head = 0;
    do
        length |= (uint64_t)(golden->frame[head] & 0x7f) << (7 * head);
    while (golden->frame[head++] & 0x80);
    golden->body = golden->frame + head;
    golden->body_size = golden->size - head;
    ck_assert_uint_eq(length, golden->body_size);
}

static bool is_request(const char *name)
{
    return strncmp(name, "request", 7) == 0;
}

START_TEST(test_round_trip)
{
    DIR *folder = opendir(FOLDER);
    ck_assert_msg(folder != NULL, "cannot read %s; the test runs from the project's root", FOLDER);
    bool request_seen[32] = {0}, reply_seen[32] = {0};
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[256];
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".hex") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(length - 4), entry->d_name);
        struct golden golden;
        golden_read(&golden, name);
        uint8_t again[FRAME_ROOM];
        size_t again_size;
        if (is_request(name)) {
            Tickpath__Request *request = tickpath__request__unpack(NULL, golden.body_size, golden.body);
            ck_assert_msg(request != NULL, "%s is no Request", name);
            ck_assert_msg(request->base.n_unknown_fields == 0, "%s has unknown fields", name);
            request_seen[request->body_case] = true;
            again_size = tickpath__request__pack(request, again);
            tickpath__request__free_unpacked(request, NULL);
        } else {
            Tickpath__Reply *reply = tickpath__reply__unpack(NULL, golden.body_size, golden.body);
            ck_assert_msg(reply != NULL, "%s is no Reply", name);
            ck_assert_msg(reply->base.n_unknown_fields == 0, "%s has unknown fields", name);
            reply_seen[reply->body_case] = true;
            again_size = tickpath__reply__pack(reply, again);
            tickpath__reply__free_unpacked(reply, NULL);
        }
        ck_assert_msg(again_size == golden.body_size && memcmp(again, golden.body, again_size) == 0,
                      "%s packs to other bytes", name);
        count++;
    }
    closedir(folder);
    for (int kind = TICKPATH__REQUEST__BODY_HELLO; kind <= TICKPATH__REQUEST__BODY_SUBSCRIBE; kind++)
        ck_assert_msg(request_seen[kind], "no golden frame for request %d", kind);
    for (int kind = TICKPATH__REPLY__BODY_ERROR; kind <= TICKPATH__REPLY__BODY_MAP_CHANGED; kind++)
        ck_assert_msg(reply_seen[kind], "no golden frame for reply %d", kind);
    ck_assert_uint_ge(count, 21);
}
END_TEST

/* Every frame cut short anywhere is not the same message: a truncated body never unpacks to the whole. */
START_TEST(test_truncated_differs)
{
    const char *const names[] = {"request_tick", "request_change_costs", "request_open_session",
                                 "request_put_map"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct golden golden;
        golden_read(&golden, names[i]);
        for (size_t size = 0; size < golden.body_size; size++) {
            uint8_t *exact =
                malloc(size ? size : 1); /* exactly as long, so that the sanitizer sees an overread */
            memcpy(exact, golden.body, size);
            Tickpath__Request *request = tickpath__request__unpack(NULL, size, exact);
            if (request) {
                ck_assert_uint_lt(tickpath__request__get_packed_size(request), golden.body_size);
                tickpath__request__free_unpacked(request, NULL);
            }
            free(exact);
        }
    }
}
END_TEST

static void expect_request(const char *name, uint64_t id, Tickpath__Request__BodyCase kind, void *message)
{
    struct golden golden;
    golden_read(&golden, name);
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.id = id;
    request.body_case = kind;
    request.hello = message; /* the oneof is a union of pointers */
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    ck_assert_msg(size == golden.size && memcmp(frame, golden.frame, size) == 0, "%s: other bytes", name);
    free(frame);
}

static void expect_reply(const char *name, uint64_t id, Tickpath__Reply__BodyCase kind, void *message)
{
    struct golden golden;
    golden_read(&golden, name);
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    reply.has_id = 1;
    reply.id = id;
    reply.body_case = kind;
    reply.error = message;
    uint8_t body[FRAME_ROOM];
    size_t size = tickpath__reply__pack(&reply, body);
    ck_assert_msg(size == golden.body_size && memcmp(body, golden.body, size) == 0, "%s: other bytes", name);
}

/* A push has no id. */
static void expect_push(const char *name, Tickpath__MapChanged *message)
{
    struct golden golden;
    golden_read(&golden, name);
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    reply.body_case = TICKPATH__REPLY__BODY_MAP_CHANGED;
    reply.map_changed = message;
    uint8_t body[FRAME_ROOM];
    size_t size = tickpath__reply__pack(&reply, body);
    ck_assert_msg(size == golden.body_size && memcmp(body, golden.body, size) == 0, "%s: other bytes", name);
}

static ProtobufCBinaryData binary(void *data, size_t size)
{
    return (ProtobufCBinaryData){.len = size, .data = data};
}

START_TEST(test_connection_by_hand)
{
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = hello.protocol_max = 1;
    hello.client = "golden 0.1.0";
    expect_request("request_hello", 1, TICKPATH__REQUEST__BODY_HELLO, &hello);

    Tickpath__Ping ping = TICKPATH__PING__INIT;
    ping.has_payload = 1;
    ping.payload = binary("\000\001\177\200\377", 5);
    expect_request("request_ping", 2, TICKPATH__REQUEST__BODY_PING, &ping);
    expect_request("request_empty", 1, TICKPATH__REQUEST__BODY__NOT_SET, NULL);

    Tickpath__Welcome welcome = TICKPATH__WELCOME__INIT;
    welcome.has_protocol = welcome.has_frame_bytes_max = welcome.has_map_cells_max = 1;
    welcome.has_sessions_max = welcome.has_batch_changes_max = welcome.has_path_cells_max = 1;
    welcome.has_volatile_store = 1;
    welcome.protocol = 1;
    welcome.server_version = "0.1.0";
    welcome.frame_bytes_max = 4 << 20;
    welcome.map_cells_max = 64 << 20;
    welcome.sessions_max = 65536;
    welcome.batch_changes_max = 1000000;
    welcome.path_cells_max = 4096;
    welcome.volatile_store = 1;
    welcome.degraded = "redis: connection refused";
    expect_reply("reply_welcome", 1, TICKPATH__REPLY__BODY_WELCOME, &welcome);

    Tickpath__Error error = TICKPATH__ERROR__INIT;
    error.has_code = error.has_retry_after_ms = error.has_change_index = error.has_bad_x = error.has_bad_y =
        1;
    error.code = TICKPATH__ERROR_CODE__OUT_OF_RANGE;
    error.message = "the rectangle reaches outside the map";
    error.field = "rectangle";
    error.change_index = 2;
    error.bad_x = 4;
    error.bad_y = 2;
    expect_reply("reply_error", 6, TICKPATH__REPLY__BODY_ERROR, &error);

    Tickpath__Error last = TICKPATH__ERROR__INIT;
    last.has_code = 1;
    last.code = TICKPATH__ERROR_CODE__FRAME_TOO_LARGE;
    last.message = "a frame of more than 4194304 bytes";
    expect_reply("reply_error_last", 0, TICKPATH__REPLY__BODY_ERROR, &last);
}
END_TEST

START_TEST(test_maps_by_hand)
{
    Tickpath__ClassWeight weights[3] = {TICKPATH__CLASS_WEIGHT__INIT, TICKPATH__CLASS_WEIGHT__INIT,
                                        TICKPATH__CLASS_WEIGHT__INIT};
    const uint32_t values[3][2] = {{'.', 1}, {'S', 3}, {'T', 0}};
    Tickpath__ClassWeight *profile[3];
    for (int i = 0; i < 3; i++) {
        weights[i].has_terrain = weights[i].has_weight = 1;
        weights[i].terrain = values[i][0];
        weights[i].weight = values[i][1];
        profile[i] = &weights[i];
    }
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = "golden/4x2";
    put.has_width = put.has_height = put.has_offset = put.has_cells = put.has_last = put.has_replace = 1;
    put.width = 4;
    put.height = 2;
    put.cells = binary(".T..S...", 8);
    put.last = put.replace = 1;
    put.n_profile = 3;
    put.profile = profile;
    expect_request("request_put_map", 3, TICKPATH__REQUEST__BODY_PUT_MAP, &put);

    Tickpath__Rectangle rectangle = TICKPATH__RECTANGLE__INIT, *rectangles[] = {&rectangle};
    rectangle.has_x = rectangle.has_y = rectangle.has_width = rectangle.has_height = rectangle.has_terrain =
        1;
    rectangle.x = 1;
    rectangle.y = 2;
    rectangle.width = 3;
    rectangle.height = 4;
    rectangle.terrain = 'T';
    Tickpath__Bitmap bitmap = TICKPATH__BITMAP__INIT, *bitmaps[] = {&bitmap};
    bitmap.has_x = bitmap.has_y = bitmap.has_width = bitmap.has_height = bitmap.has_bits =
        bitmap.has_terrain = 1;
    bitmap.x = 5;
    bitmap.y = 6;
    bitmap.width = 5;
    bitmap.height = 2;
    bitmap.bits = binary("\377\003", 2);
    bitmap.terrain = '@';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "golden/4x2";
    change.has_base_version = 1;
    change.base_version = 41;
    change.n_cell = change.n_cell_terrain = 2;
    change.cell = (uint32_t[]){0, 200};
    change.cell_terrain = (uint32_t[]){'@', '.'};
    change.n_rectangle = change.n_bitmap = 1;
    change.rectangle = rectangles;
    change.bitmap = bitmaps;
    expect_request("request_change_costs", 6, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);

    Tickpath__Changed changed = TICKPATH__CHANGED__INIT;
    changed.map = "golden/4x2";
    changed.has_epoch = changed.has_version = 1;
    changed.epoch = 1764288000123456;
    changed.version = 42;
    expect_reply("reply_changed", 6, TICKPATH__REPLY__BODY_CHANGED, &changed);
}
END_TEST

START_TEST(test_changes_by_hand)
{
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "golden/4x2";
    change.n_run_cell = change.n_run_length = change.n_run_terrain = 2;
    change.run_cell = (uint32_t[]){0, 300};
    change.run_length = (uint32_t[]){4, 128};
    change.run_terrain = (uint32_t[]){'@', '.'};
    change.has_key = 1;
    change.key = binary("\001\377k\000", 4);
    expect_request("request_change_costs_runs", 60, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);

    Tickpath__ChangeCosts graph = TICKPATH__CHANGE_COSTS__INIT;
    graph.map = "roads";
    graph.n_edge = graph.n_edge_cost = 2;
    graph.edge = (uint32_t[]){0, 300};
    graph.edge_cost = (uint32_t[]){0, UINT32_MAX};
    graph.n_node = 2;
    graph.node = (uint32_t[]){7, 128};
    graph.n_node_open = 1;
    graph.node_open = (uint32_t[]){1};
    expect_request("request_change_costs_graph", 65, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &graph);

    Tickpath__ChangeCosts epoch = TICKPATH__CHANGE_COSTS__INIT;
    epoch.map = "golden/4x2";
    epoch.has_base_version = epoch.has_epoch = 1;
    epoch.base_version = 1;
    epoch.n_cell = epoch.n_cell_terrain = 1;
    epoch.cell = (uint32_t[]){7};
    epoch.cell_terrain = (uint32_t[]){'@'};
    epoch.epoch = 1764288000123456;
    expect_request("request_change_costs_epoch", 66, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &epoch);
    Tickpath__OpenMap open_map = TICKPATH__OPEN_MAP__INIT;
    open_map.map = "golden/4x2";
    open_map.has_min_version = open_map.has_epoch = 1;
    open_map.min_version = 300;
    open_map.epoch = 1764288000123456;
    expect_request("request_open_map_epoch", 82, TICKPATH__REQUEST__BODY_OPEN_MAP, &open_map);
    Tickpath__OpenSession open_session = TICKPATH__OPEN_SESSION__INIT;
    open_session.map = "golden/4x2";
    open_session.has_start = open_session.has_goal = open_session.has_epoch = 1;
    open_session.start = 1;
    open_session.goal = 6;
    open_session.epoch = 1764288000123456;
    expect_request("request_open_session_epoch", 83, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_session);
    Tickpath__Error error = TICKPATH__ERROR__INIT;
    error.has_code = error.has_epoch = error.has_version = 1;
    error.code = TICKPATH__ERROR_CODE__VERSION_MISMATCH;
    error.message = "the map is in epoch 1764288000123457, at version 1";
    error.field = "epoch";
    error.epoch = 1764288000123457;
    error.version = 1;
    expect_reply("reply_error_version", 66, TICKPATH__REPLY__BODY_ERROR, &error);

    Tickpath__Changed changed = TICKPATH__CHANGED__INIT;
    changed.map = "golden/4x2";
    changed.has_epoch = changed.has_version = changed.has_applied_before = changed.applied_before = 1;
    changed.epoch = 1764288000123456;
    changed.version = 42;
    expect_reply("reply_changed_again", 60, TICKPATH__REPLY__BODY_CHANGED, &changed);

    Tickpath__Subscribe subscribe = TICKPATH__SUBSCRIBE__INIT;
    subscribe.map = "golden/4x2";
    subscribe.has_want_cells = subscribe.want_cells = 1;
    expect_request("request_subscribe", 61, TICKPATH__REQUEST__BODY_SUBSCRIBE, &subscribe);
    subscribe.has_want_cells = 0;
    subscribe.has_off = subscribe.off = 1;
    expect_request("request_subscribe_off", 62, TICKPATH__REQUEST__BODY_SUBSCRIBE, &subscribe);

    Tickpath__Subscribed subscribed = TICKPATH__SUBSCRIBED__INIT;
    subscribed.map = "golden/4x2";
    subscribed.has_epoch = subscribed.has_version = 1;
    subscribed.epoch = 1764288000123456;
    subscribed.version = 42;
    expect_reply("reply_subscribed", 61, TICKPATH__REPLY__BODY_SUBSCRIBED, &subscribed);

    Tickpath__MapChanged pushed = TICKPATH__MAP_CHANGED__INIT;
    pushed.map = "golden/4x2";
    pushed.has_epoch = pushed.has_from_version = pushed.has_version = pushed.has_resync = 1;
    pushed.epoch = 1764288000123456;
    pushed.from_version = 42;
    pushed.version = 45;
    pushed.n_cell = pushed.n_terrain = 2;
    pushed.cell = (uint32_t[]){3, 300};
    pushed.terrain = (uint32_t[]){'@', '.'};
    expect_push("reply_map_changed", &pushed);
    pushed.from_version = 45;
    pushed.n_cell = pushed.n_terrain = 0;
    pushed.has_dropped = pushed.dropped = 1;
    expect_push("reply_map_changed_last", &pushed);
}
END_TEST

START_TEST(test_graphs_by_hand)
{
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    put.map = "roads/north";
    put.has_nodes = put.has_edges = put.has_edge_offset = put.has_node_offset = put.has_last = put.has_replace = 1;
    put.nodes = 3;
    put.edges = 4;
    put.n_edge_from = put.n_edge_to = put.n_edge_cost = 2;
    put.edge_from = (uint32_t[]){0, 1};
    put.edge_to = (uint32_t[]){1, 2};
    put.edge_cost = (uint32_t[]){100, UINT32_MAX};
    put.n_node_x = put.n_node_y = 3;
    put.node_x = (double[]){0, 1.5, -2};
    put.node_y = (double[]){0, 1e-3, 400};
    put.replace = 1;
    expect_request("request_put_graph", 21, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put);

    Tickpath__MapChunk chunk = TICKPATH__MAP_CHUNK__INIT;
    chunk.has_edges_received = chunk.has_nodes_received = 1;
    chunk.edges_received = 2;
    chunk.nodes_received = 3;
    expect_reply("reply_map_chunk_graph", 21, TICKPATH__REPLY__BODY_MAP_CHUNK, &chunk);

    Tickpath__Error error = TICKPATH__ERROR__INIT;
    error.has_code = error.has_edge_index = 1;
    error.code = TICKPATH__ERROR_CODE__OUT_OF_RANGE;
    error.message = "edge 3: node 7 is none of the 3 nodes";
    error.field = "edge_to";
    error.edge_index = 3;
    expect_reply("reply_error_edge", 22, TICKPATH__REPLY__BODY_ERROR, &error);
}
END_TEST

START_TEST(test_vehicles_by_hand)
{
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = "track";
    open.has_start = open.has_goal = open.has_motion = open.has_start_vx = open.has_start_vy = 1;
    open.has_heuristic = 1;
    open.start = 70;
    open.goal = 12;
    open.algorithm = "tbrwa";
    open.motion = TICKPATH__MOTION__INERTIA;
    open.start_vx = -2;
    open.start_vy = 3;
    open.heuristic = TICKPATH__HEURISTIC__HEURISTIC_EUCLID;
    expect_request("request_open_session_vehicle", 23, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open);

    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    tick.n_at_session = tick.n_at_cell = tick.n_at_vx = tick.n_at_vy = 2;
    tick.at_session = (uint64_t[]){72057594037927937, 5};
    tick.at_cell = (uint32_t[]){70, 12};
    tick.at_vx = (int32_t[]){-3, 0};
    tick.at_vy = (int32_t[]){1, 0};
    expect_request("request_tick_velocity", 24, TICKPATH__REQUEST__BODY_TICK, &tick);
}
END_TEST

START_TEST(test_sessions_by_hand)
{
    Tickpath__Budget budget = TICKPATH__BUDGET__INIT;
    budget.has_resource_limit = budget.has_expansion_share = budget.has_trace_steps = 1;
    budget.resource_limit = 100;
    budget.expansion_share = 0.9;
    budget.trace_steps = 10;
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = "golden/4x2";
    open.has_start = open.has_goal = open.has_w = open.has_neighbours = open.has_corners = 1;
    open.has_goal_policy = open.has_knowledge = open.has_restart = open.has_shortcut = 1;
    open.has_path_switch = open.has_longest_path_rule = open.has_node_bytes_max = 1;
    open.start = 0;
    open.goal = 7;
    open.algorithm = "tba";
    open.w = 1.5;
    open.budget = &budget;
    open.neighbours = 16;
    open.corners = TICKPATH__CORNERS__ONE_FREE;
    open.goal_policy = TICKPATH__GOAL_POLICY__EXACT;
    open.knowledge = TICKPATH__KNOWLEDGE__FREESPACE;
    open.restart = TICKPATH__RESTART__RESTART_LAZY;
    open.shortcut = open.longest_path_rule = 1;
    open.node_bytes_max = 1 << 20;
    open.has_switch_margin = open.has_pause_on_backtrack = open.pause_on_backtrack = 1;
    open.switch_margin = 0.125;
    expect_request("request_open_session", 7, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open);

    Tickpath__OpenSession list = TICKPATH__OPEN_SESSION__INIT;
    list.map = "golden/4x2";
    list.has_start = list.has_goal = list.has_open_list = 1;
    list.start = 0;
    list.goal = 7;
    list.algorithm = "astar";
    list.open_list = TICKPATH__OPEN_LIST__OPEN_LIST_EXACT;
    expect_request("request_open_session_list", 26, TICKPATH__REQUEST__BODY_OPEN_SESSION, &list);

    Tickpath__OpenSession known = TICKPATH__OPEN_SESSION__INIT;
    known.map = "golden/4x2";
    known.has_start = known.has_goal = known.has_knowledge = known.has_sensor_radius = 1;
    known.start = 0;
    known.goal = 7;
    known.algorithm = "tbaa";
    known.knowledge = TICKPATH__KNOWLEDGE__KNOWN_MAP;
    known.known_map = "golden/old-4x2";
    known.sensor_radius = 2;
    expect_request("request_open_session_known", 8, TICKPATH__REQUEST__BODY_OPEN_SESSION, &known);

    Tickpath__OpenSession layer = TICKPATH__OPEN_SESSION__INIT;
    layer.map = "golden/4x2";
    layer.has_start = layer.has_goal = layer.has_agent_size = 1;
    layer.start = 0;
    layer.goal = 2;
    layer.profile = "cart";
    layer.agent_size = 2;
    expect_request("request_open_session_layer", 19, TICKPATH__REQUEST__BODY_OPEN_SESSION, &layer);

    Tickpath__OpenSession first = TICKPATH__OPEN_SESSION__INIT;
    first.map = "golden/4x2";
    first.has_start = first.has_goal = first.has_priority = 1;
    first.goal = 7;
    first.priority = 64;
    expect_request("request_open_session_priority", 24, TICKPATH__REQUEST__BODY_OPEN_SESSION, &first);

    Tickpath__OpenSession goals = TICKPATH__OPEN_SESSION__INIT;
    goals.map = "golden/4x2";
    goals.has_start = goals.has_goal = goals.has_goal_policy = goals.has_goal_radius = 1;
    goals.start = 0;
    goals.goal = 7;
    goals.goal_policy = TICKPATH__GOAL_POLICY__WITHIN;
    goals.more_goals = (uint32_t[]){3, 300};
    goals.n_more_goals = 2;
    goals.goal_radius = 1.5;
    expect_request("request_open_session_goals", 23, TICKPATH__REQUEST__BODY_OPEN_SESSION, &goals);

    Tickpath__SetGoal set_goals = TICKPATH__SET_GOAL__INIT;
    set_goals.has_session = set_goals.has_goal = 1;
    set_goals.session = 4294967296;
    set_goals.goal = 7;
    set_goals.more_goals = (uint32_t[]){3};
    set_goals.n_more_goals = 1;
    expect_request("request_set_goals", 24, TICKPATH__REQUEST__BODY_SET_GOAL, &set_goals);

    Tickpath__DumpSession dump = TICKPATH__DUMP_SESSION__INIT;
    dump.has_session = dump.has_x = dump.has_y = dump.has_width = dump.has_height = dump.has_cursor = dump.has_limit = 1;
    dump.session = 4294967297;
    dump.y = 1;
    dump.width = 4;
    dump.height = 300;
    dump.cursor = 128;
    dump.limit = 64;
    expect_request("request_dump_session", 25, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump);

    Tickpath__ClassWeight free_ground = TICKPATH__CLASS_WEIGHT__INIT, swamp = TICKPATH__CLASS_WEIGHT__INIT;
    free_ground.has_terrain = free_ground.has_weight = swamp.has_terrain = swamp.has_weight = 1;
    free_ground.terrain = '.';
    free_ground.weight = 1;
    swamp.terrain = 'S';
    swamp.weight = 3;
    Tickpath__ClassWeight *weights[] = {&free_ground, &swamp};
    Tickpath__PutProfile put_profile = TICKPATH__PUT_PROFILE__INIT;
    put_profile.map = "golden/4x2";
    put_profile.name = "cart";
    put_profile.weights = weights;
    put_profile.n_weights = 2;
    expect_request("request_put_profile", 18, TICKPATH__REQUEST__BODY_PUT_PROFILE, &put_profile);

    Tickpath__ProfilePut profile_put = TICKPATH__PROFILE_PUT__INIT;
    profile_put.map = "golden/4x2";
    profile_put.name = "cart";
    expect_reply("reply_profile_put", 18, TICKPATH__REPLY__BODY_PROFILE_PUT, &profile_put);

    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    set.has_session = set.has_goal = 1;
    set.session = UINT64_MAX;
    set.goal = UINT32_MAX;
    expect_request("request_set_goal", 9, TICKPATH__REQUEST__BODY_SET_GOAL, &set);

    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.n_session = 2;
    close.session = (uint64_t[]){4294967297, 4294967298};
    expect_request("request_close_session", 12, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close);
}
END_TEST

START_TEST(test_ticks_by_hand)
{
    Tickpath__Budget each = TICKPATH__BUDGET__INIT;
    each.has_k = 1;
    each.k = 7;
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 3;
    tick.session = (uint64_t[]){4294967297, 4294967298, 3};
    tick.each = &each;
    tick.has_total_expansions = tick.has_min_version = tick.has_want_work = tick.has_want_path = 1;
    tick.total_expansions = 1000;
    tick.n_at_session = tick.n_at_cell = 1;
    tick.at_session = (uint64_t[]){4294967298};
    tick.at_cell = (uint32_t[]){300};
    tick.min_version = 42;
    tick.want_work = tick.want_path = 1;
    expect_request("request_tick", 10, TICKPATH__REQUEST__BODY_TICK, &tick);

    Tickpath__Refused refused = TICKPATH__REFUSED__INIT, *refusals[] = {&refused};
    refused.has_session = refused.has_code = 1;
    refused.session = 3;
    refused.code = TICKPATH__ERROR_CODE__NOT_FOUND;
    Tickpath__Path first = TICKPATH__PATH__INIT, second = TICKPATH__PATH__INIT, *paths[] = {&first, &second};
    first.n_cell = 3;
    first.cell = (uint32_t[]){5, 6, 7};
    second.n_cell = 1;
    second.cell = (uint32_t[]){300};
    Tickpath__Ticked ticked = TICKPATH__TICKED__INIT;
    ticked.has_tick = ticked.has_starved = 1;
    ticked.tick = 77;
    ticked.n_session = ticked.n_cell = ticked.n_status = ticked.n_flags = ticked.n_version = ticked.n_cost =
        2;
    ticked.session = (uint64_t[]){4294967297, 4294967298};
    ticked.cell = (uint32_t[]){5, 300};
    ticked.status = (uint32_t[]){TICKPATH__STATUS__MOVING, TICKPATH__STATUS__SEARCHING};
    ticked.flags =
        (uint32_t[]){TICKPATH__FLAG__PATH_COMPLETE, TICKPATH__FLAG__BACK_MOVE | TICKPATH__FLAG__RESTARTED};
    ticked.version = (uint64_t[]){42, 42};
    ticked.cost = (uint64_t[]){3194, 4517};
    ticked.n_refused = 1;
    ticked.refused = refusals;
    ticked.n_expansions = ticked.n_traced = ticked.n_generated = ticked.n_learned = 2;
    ticked.expansions = (uint64_t[]){7, 0};
    ticked.traced = (uint64_t[]){12, 0};
    ticked.generated = (uint64_t[]){31, 0};
    ticked.learned = (uint64_t[]){0, 0};
    ticked.n_path = 2;
    ticked.path = paths;
    ticked.starved = 1;
    expect_reply("reply_ticked", 10, TICKPATH__REPLY__BODY_TICKED, &ticked);

    Tickpath__Tick epoch = TICKPATH__TICK__INIT;
    epoch.has_all = epoch.all = epoch.has_min_version = epoch.has_epoch = 1;
    epoch.min_version = 42;
    epoch.epoch = 1764288000123456;
    expect_request("request_tick_epoch", 67, TICKPATH__REQUEST__BODY_TICK, &epoch);
    refused.has_epoch = refused.has_version = 1;
    refused.code = TICKPATH__ERROR_CODE__MAP_NOT_READY;
    refused.epoch = 1764288000123456;
    refused.version = 41;
    Tickpath__Ticked late = TICKPATH__TICKED__INIT;
    late.has_tick = late.has_starved = 1;
    late.tick = 78;
    late.n_refused = 1;
    late.refused = refusals;
    expect_reply("reply_ticked_late", 67, TICKPATH__REPLY__BODY_TICKED, &late);
    Tickpath__Ticked starved = TICKPATH__TICKED__INIT;
    uint64_t ids[] = {9223372036854775809u, 2}, versions[] = {41, 41}, costs[] = {0, 3194};
    uint32_t at[] = {6, 3}, statuses[] = {2, 2}, none[] = {0, 0};
    starved.has_tick = starved.has_starved = starved.has_starved_longest = 1;
    starved.tick = 80;
    starved.n_session = starved.n_cell = starved.n_status = starved.n_flags = starved.n_version = starved.n_cost = 2;
    starved.session = ids;
    starved.cell = at;
    starved.status = statuses;
    starved.flags = none;
    starved.version = versions;
    starved.cost = costs;
    starved.starved = 1;
    starved.starved_longest = 3;
    expect_reply("reply_ticked_starved", 69, TICKPATH__REPLY__BODY_TICKED, &starved);
}
END_TEST

static Suite *proto_golden_suite(void)
{
    Suite *suite = suite_create("proto_golden");
    TCase *cases = tcase_create("golden");
    tcase_add_test(cases, test_round_trip);
    tcase_add_test(cases, test_truncated_differs);
    tcase_add_test(cases, test_connection_by_hand);
    tcase_add_test(cases, test_maps_by_hand);
    tcase_add_test(cases, test_changes_by_hand);
    tcase_add_test(cases, test_graphs_by_hand);
    tcase_add_test(cases, test_vehicles_by_hand);
    tcase_add_test(cases, test_sessions_by_hand);
    tcase_add_test(cases, test_ticks_by_hand);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_proto_golden", proto_golden_suite);
}
