/* What a daemon says to a peer that gets frames and the hello wrong. (Sessions and ticks:
 * test_badinput_sessions.c; maps and changes: test_badinput_maps.c.) The fixture checks at each test's end
 * that nothing was lost; see tests/lib/served.h. */
#include "tests/lib/served.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { FRAME_BYTES_MAX = 4 << 20 };

/* ---- Frames ---- */

static void send_raw(const void *bytes, size_t size)
{
    ck_assert(wire_send_bytes(&served.wire, bytes, size));
}

/* These bytes end the connection with one error of that code, after the reply to a ping sent before them. */
static void expect_lost(const char *bytes, size_t size, Tickpath__ErrorCode code)
{
    wire_expect_alive(&served.wire);
    send_raw(bytes, size);
    wire_expect_last_error(&served.wire, code);
    wire_close(&served.wire);
    wire_open_greeted(&served.wire, served.daemon.port);
}

START_TEST(test_length_beyond_cap)
{
    expect_lost("\x81\x80\x80\x02", 4, TICKPATH__ERROR_CODE__FRAME_TOO_LARGE);     /* 4 MiB + 1 */
    expect_lost("\xff\xff\xff\xff\x0f", 5, TICKPATH__ERROR_CODE__FRAME_TOO_LARGE); /* 4 GiB - 1 */
    expect_lost("\x80\x80\x80\x80\x10", 5, TICKPATH__ERROR_CODE__FRAME_TOO_LARGE); /* 4 GiB */
}
END_TEST

START_TEST(test_length_too_long)
{
    expect_lost("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10,
                TICKPATH__ERROR_CODE__MALFORMED_FRAME); /* 2^63 */
    expect_lost("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10, TICKPATH__ERROR_CODE__MALFORMED_FRAME);
    expect_lost("\x80\x80\x80\x80\x80\x00", 6, TICKPATH__ERROR_CODE__MALFORMED_FRAME);
}
END_TEST

/* The cap is looked at before anything is allocated: a hundred claims of 4 MiB, none of them kept, cost
 * little. */
START_TEST(test_claims_cost_nothing)
{
    enum { CLAIMS = 100 };
    struct wire claim[CLAIMS];
    uint64_t before = wire_resident_bytes(served.daemon.pid);
    for (int i = 0; i < CLAIMS; i++) {
        wire_open_greeted(&claim[i], served.daemon.port);
        ck_assert(wire_send_bytes(&claim[i], "\x80\x80\x80\x02\x0a", 5));
    }
    wire_expect_alive(&served.wire);
    uint64_t after = wire_resident_bytes(served.daemon.pid);
    ck_assert_msg(after < before + (64u << 20), "%d claims of 4 MiB cost %llu bytes", CLAIMS,
                  (unsigned long long)(after - before));
    for (int i = 0; i < CLAIMS; i++)
        wire_close(&claim[i]);
}
END_TEST

START_TEST(test_body_is_no_request)
{
    expect_lost("\x03\xff\xff\xff", 4, TICKPATH__ERROR_CODE__MALFORMED_FRAME); /* a tag that never ends */
    expect_lost("\x02\x12\x7f", 3, TICKPATH__ERROR_CODE__MALFORMED_FRAME); /* a hello longer than its frame */
    expect_lost("\x02\x0a\x00", 3, TICKPATH__ERROR_CODE__MALFORMED_FRAME); /* id with the wrong wire type */
}
END_TEST

/* What was asked before the bad bytes is answered first, in one go with them. */
START_TEST(test_replies_before_the_last_error)
{
    uint64_t session = wire_open_session(&served.wire, "m", 0, 9, NULL, 10);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 1;
    tick.session = &session;
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.id = 4711;
    request.body_case = TICKPATH__REQUEST__BODY_TICK;
    request.tick = &tick;
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    uint8_t both[256];
    memcpy(both, frame, size);
    memcpy(both + size, "\xff\xff\xff\xff\x0f", 5);
    free(frame);
    send_raw(both, size + 5);
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_uint_eq(reply->id, 4711);
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_TICKED);
    wire_reply_free(reply);
    wire_expect_last_error(&served.wire, TICKPATH__ERROR_CODE__FRAME_TOO_LARGE);
    served.wire_ended = true;
}
END_TEST

static void expect_unknown_message(const void *frame, size_t size)
{
    send_raw(frame, size);
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__UNKNOWN_MESSAGE);
    wire_reply_free(reply);
    wire_expect_alive(&served.wire);
}

START_TEST(test_unknown_messages)
{
    expect_unknown_message("\x00", 1);                      /* an empty frame */
    expect_unknown_message("\x02\x08\x05", 3);              /* only an id */
    expect_unknown_message("\x06\x08\x05\xfa\x06\x01.", 7); /* field 111, of a protocol to come */
    expect_unknown_message("\x80\x80\x00", 3);              /* an empty frame, its length written long */
}
END_TEST

/* Fields to come inside a known message are passed over: a ping with a field 15. */
START_TEST(test_unknown_fields)
{
    send_raw("\x08\x08\x07\x1a\x04\x0a\x00\x78\x01", 9);
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_PONG);
    ck_assert_uint_eq(reply->id, 7);
    wire_reply_free(reply);
}
END_TEST

START_TEST(test_byte_at_a_time)
{
    struct wire slow;
    wire_open(&slow, served.daemon.port); /* the hello too */
    for (int round = 0; round < 3; round++) {
        Tickpath__Hello hello = TICKPATH__HELLO__INIT;
        hello.has_protocol_min = hello.has_protocol_max = 1;
        hello.protocol_min = hello.protocol_max = 1;
        uint8_t payload[300];
        memset(payload, round, sizeof payload);
        Tickpath__Ping ping = TICKPATH__PING__INIT;
        ping.has_payload = 1;
        ping.payload = (ProtobufCBinaryData){.len = sizeof payload, .data = payload};
        Tickpath__Request request = TICKPATH__REQUEST__INIT;
        request.has_id = 1;
        request.id = (uint64_t)round + 1;
        request.body_case = round ? TICKPATH__REQUEST__BODY_PING : TICKPATH__REQUEST__BODY_HELLO;
        if (round)
            request.ping = &ping;
        else
            request.hello = &hello;
        size_t size;
        uint8_t *frame = wire_frame(&request, &size);
        for (size_t i = 0; i < size; i++) {
            ck_assert(wire_send_bytes(&slow, frame + i, 1));
            if (i % 64 == 0)
                wire_expect_alive(&served.wire); /* nobody else waits, and the byte has left */
        }
        free(frame);
        Tickpath__Reply *reply = wire_recv(&slow);
        ck_assert_uint_eq(reply->id, (uint64_t)round + 1);
        ck_assert_int_eq(reply->body_case,
                         round ? TICKPATH__REPLY__BODY_PONG : TICKPATH__REPLY__BODY_WELCOME);
        if (round)
            ck_assert_mem_eq(reply->pong->payload.data, payload, sizeof payload);
        wire_reply_free(reply);
    }
    wire_close(&slow);
}
END_TEST

/* An unfinished frame at the end of a connection has no effect and harms nobody, wherever it is cut; a peer that
 * only shut its sending side is told. */
START_TEST(test_truncated_then_gone)
{
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    uint32_t cells[] = {1, 2, 3}, terrain = '@';
    change.map = "m";
    change.n_cell = 3;
    change.cell = cells;
    change.n_cell_terrain = 1;
    change.cell_terrain = &terrain;
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.body_case = TICKPATH__REQUEST__BODY_CHANGE_COSTS;
    request.change_costs = &change;
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    for (size_t cut = 1; cut < size; cut++) {
        struct wire gone;
        wire_open_greeted(&gone, served.daemon.port);
        ck_assert(wire_send_bytes(&gone, frame, cut));
        if (cut % 4 == 0) {
            ck_assert_int_eq(shutdown(gone.fd, SHUT_WR), 0);
            wire_expect_last_error(&gone, TICKPATH__ERROR_CODE__MALFORMED_FRAME);
        }
        wire_close(&gone);
    }
    free(frame);
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_uint_eq(reply->map_info->version, 1);
    wire_reply_free(reply);
}
END_TEST

START_TEST(test_frame_at_the_cap)
{
    /* the longest frame there is: a chunk of a map, padded to the byte by its cells */
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = "wide";
    put.has_width = put.has_height = put.has_cells = 1;
    put.width = 4096;
    put.height = 2048;
    uint8_t *cells = malloc(FRAME_BYTES_MAX);
    memset(cells, '.', FRAME_BYTES_MAX);
    put.cells = (ProtobufCBinaryData){.len = FRAME_BYTES_MAX - 64, .data = cells};
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.body_case = TICKPATH__REQUEST__BODY_PUT_MAP;
    request.put_map = &put;
    put.cells.len += FRAME_BYTES_MAX - tickpath__request__get_packed_size(&request);
    ck_assert_uint_eq(tickpath__request__get_packed_size(&request), FRAME_BYTES_MAX);
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    send_raw(frame, size);
    free(frame);
    free(cells);
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_MAP_CHUNK);
    ck_assert_uint_eq(reply->map_chunk->cells_received, put.cells.len);
    wire_reply_free(reply);
}
END_TEST

/* ---- Hello ---- */

static void ask_hello(struct wire *on, uint32_t least, uint32_t most, Tickpath__ErrorCode code,
                      const char *field)
{
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = least;
    hello.protocol_max = most;
    wire_ask_error(on, TICKPATH__REQUEST__BODY_HELLO, &hello, code, field);
}

START_TEST(test_hello)
{
    struct wire fresh;
    wire_open(&fresh, served.daemon.port);
    Tickpath__Ping ping = TICKPATH__PING__INIT;
    wire_ask_error(&fresh, TICKPATH__REQUEST__BODY_PING, &ping, TICKPATH__ERROR_CODE__HELLO_REQUIRED, NULL);
    ask_hello(&fresh, 2, 9, TICKPATH__ERROR_CODE__PROTOCOL_VERSION, "protocol_min");
    ask_hello(&fresh, 4000000000u, 4000000001u, TICKPATH__ERROR_CODE__PROTOCOL_VERSION, "protocol_min");
    ask_hello(&fresh, 2, 1, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "protocol_min");
    ask_hello(&fresh, 0, 1, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "protocol_min");
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    char name[130];
    memset(name, 'x', 129);
    name[129] = 0;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = 1;
    hello.protocol_max = 9; /* newer than the server, and able to speak as it does */
    hello.client = name;
    wire_ask_error(&fresh, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__ERROR_CODE__INVALID_ARGUMENT,
                   "client");
    name[128] = 0;
    Tickpath__Reply *reply =
        wire_ask(&fresh, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__REPLY__BODY_WELCOME);
    ck_assert_uint_eq(reply->welcome->protocol, 1);
    ck_assert_uint_eq(reply->welcome->frame_bytes_max, FRAME_BYTES_MAX);
    ck_assert_uint_eq(reply->welcome->map_cells_max, 64u << 20);
    ck_assert_uint_gt(reply->welcome->sessions_max, 0);
    ck_assert_uint_gt(reply->welcome->batch_changes_max, 0);
    ck_assert_uint_gt(reply->welcome->path_cells_max, 0);
    ck_assert(reply->welcome->volatile_store);
    ck_assert_ptr_nonnull(reply->welcome->server_version);
    wire_reply_free(reply);
    wire_ask_error(&fresh, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__ERROR_CODE__HELLO_REQUIRED, NULL);
    wire_expect_alive(&fresh);
    wire_close(&fresh);
}
END_TEST

START_TEST(test_ping_too_long)
{
    uint8_t payload[1025] = {0};
    Tickpath__Ping ping = TICKPATH__PING__INIT;
    ping.has_payload = 1;
    ping.payload = (ProtobufCBinaryData){.len = sizeof payload, .data = payload};
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_PING, &ping, TICKPATH__ERROR_CODE__INVALID_ARGUMENT,
                   "payload");
    ping.payload.len = 1024;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PING, &ping, TICKPATH__REPLY__BODY_PONG));
}
END_TEST

static Suite *badinput_suite(void)
{
    Suite *suite = suite_create("badinput");
    TCase *cases = tcase_create("badinput");
    tcase_add_checked_fixture(cases, served_begin, served_end);
    tcase_add_test(cases, test_length_beyond_cap);
    tcase_add_test(cases, test_length_too_long);
    tcase_add_test(cases, test_claims_cost_nothing);
    tcase_add_test(cases, test_body_is_no_request);
    tcase_add_test(cases, test_replies_before_the_last_error);
    tcase_add_test(cases, test_unknown_messages);
    tcase_add_test(cases, test_unknown_fields);
    tcase_add_test(cases, test_byte_at_a_time);
    tcase_add_test(cases, test_truncated_then_gone);
    tcase_add_test(cases, test_frame_at_the_cap);
    tcase_add_test(cases, test_hello);
    tcase_add_test(cases, test_ping_too_long);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_badinput", badinput_suite);
}
