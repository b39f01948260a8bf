/* Order and versions: what one connection and what several connections see of each other's changes. */
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct wire_daemon daemon_;

static void begin(void)
{
    wire_daemon_init(&daemon_);
}

static void end(void)
{
    wire_daemon_fini(&daemon_);
}

static void send_change(struct wire *wire, const char *map, uint32_t cell, uint32_t terrain, uint64_t base)
{
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)map;
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.n_cell = change.n_cell_terrain = 1;
    change.has_base_version = base != 0;
    change.base_version = base;
    wire_send(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

static void send_tick(struct wire *wire, uint64_t session, uint64_t min_version)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.session = &session;
    tick.n_session = 1;
    tick.has_min_version = min_version != 0;
    tick.min_version = min_version;
    wire_send(wire, TICKPATH__REQUEST__BODY_TICK, &tick);
}

static Tickpath__Reply *expect(struct wire *wire, uint64_t id, Tickpath__Reply__BodyCase kind)
{
    Tickpath__Reply *reply = wire_recv(wire);
    ck_assert_uint_eq(reply->id, id);
    ck_assert_msg(reply->body_case == kind, "reply %d instead of %d: %s", reply->body_case, kind,
                  reply->body_case == TICKPATH__REPLY__BODY_ERROR ? reply->error->message : "");
    return reply;
}

/* Sent in one go without waiting: each tick names the version its change made. */
START_TEST(test_tick_after_change_sees_it)
{
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_put_free_map(&wire, "m", 32, 32);
    uint64_t session = wire_open_session(&wire, "m", 0, 1023, "tbwa", 5);
    enum { ROUNDS = 300 };
    uint64_t first_id = wire.next_id;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        send_change(&wire, "m", 500 + i % 7, i % 2 ? '.' : '@', 0);
        send_tick(&wire, session, 0);
    }
    for (uint64_t i = 0; i < ROUNDS; i++) {
        Tickpath__Reply *changed = expect(&wire, first_id + 2 * i, TICKPATH__REPLY__BODY_CHANGED);
        ck_assert_uint_eq(changed->changed->version, i + 2);
        Tickpath__Reply *ticked = expect(&wire, first_id + 2 * i + 1, TICKPATH__REPLY__BODY_TICKED);
        ck_assert_uint_eq(ticked->ticked->version[0], i + 2);
        ck_assert_uint_eq(ticked->ticked->tick, i + 1);
        wire_reply_free(changed);
        wire_reply_free(ticked);
    }
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* Whoever has an acknowledgement may tell others: their next tick sees the version, on whatever loop they
 * are. */
START_TEST(test_acknowledged_is_seen_by_all)
{
    wire_daemon_start(&daemon_, "--threads", "4", NULL);
    enum { OTHERS = 6, ROUNDS = 100 };
    struct wire writer, other[OTHERS];
    uint64_t session[OTHERS];
    wire_open_greeted(&writer, daemon_.port);
    wire_put_free_map(&writer, "m", 16, 16);
    for (int i = 0; i < OTHERS; i++) {
        wire_open_greeted(&other[i], daemon_.port);
        session[i] = wire_open_session(&other[i], "m", 0, 255, "tbwa", 1);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t version = wire_set_cell(&writer, "m", 100, round % 2 ? '.' : '@');
        ck_assert_uint_eq(version, round + 2);
        for (int i = 0; i < OTHERS; i++)
            send_tick(&other[i], session[i], version);
        for (int i = 0; i < OTHERS; i++) {
            Tickpath__Reply *reply = expect(&other[i], other[i].sent_id, TICKPATH__REPLY__BODY_TICKED);
            ck_assert_uint_eq(reply->ticked->version[0], version);
            wire_reply_free(reply);
        }
    }
    Tickpath__Tick tick = TICKPATH__TICK__INIT; /* from the future */
    tick.session = session;
    tick.n_session = 1;
    tick.has_min_version = 1;
    tick.min_version = ROUNDS + 2;
    Tickpath__Reply *late = wire_ask(&other[0], TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert(late->ticked->n_session == 0 && late->ticked->n_refused == 1);
    ck_assert_int_eq(late->ticked->refused[0]->code, TICKPATH__ERROR_CODE__MAP_NOT_READY);
    wire_reply_free(late);
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    open.has_min_version = 1;
    open.min_version = ROUNDS + 2;
    wire_ask_error(&writer, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__MAP_NOT_READY,
                   "min_version");
    for (int i = 0; i < OTHERS; i++)
        wire_close(&other[i]);
    wire_close(&writer);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* Two writers base their changes on the same version: in each round exactly one is applied. */
START_TEST(test_compare_and_set)
{
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    struct wire wire[2];
    wire_open_greeted(&wire[0], daemon_.port);
    wire_open_greeted(&wire[1], daemon_.port);
    wire_put_free_map(&wire[0], "m", 8, 8);
    uint64_t version = 1;
    for (uint32_t round = 0; round < 100; round++) {
        int applied = 0;
        for (int i = 0; i < 2; i++)
            send_change(&wire[i], "m", round % 64, '@', version);
        for (int i = 0; i < 2; i++) {
            Tickpath__Reply *reply = wire_recv(&wire[i]);
            ck_assert_uint_eq(reply->id, wire[i].sent_id);
            if (reply->body_case == TICKPATH__REPLY__BODY_CHANGED) {
                ck_assert_uint_eq(reply->changed->version, version + 1);
                applied++;
            } else {
                ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__VERSION_MISMATCH);
                ck_assert_str_eq(reply->error->field, "base_version");
            }
            wire_reply_free(reply);
        }
        ck_assert_int_eq(applied, 1);
        version++;
    }
    wire_close(&wire[0]);
    wire_close(&wire[1]);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* The world builds a large map for one connection: another one, on the same loop, is served meanwhile. */
START_TEST(test_waiting_holds_up_nobody)
{
    wire_daemon_start(&daemon_, "--threads", "1", NULL);
    struct wire putter, other;
    wire_open_greeted(&putter, daemon_.port);
    wire_open_greeted(&other, daemon_.port);
    enum { SIDE = 6000, CHUNK = 1 << 20 };
    uint8_t *cells = malloc(CHUNK);
    memset(cells, '.', CHUNK);
    uint64_t total = (uint64_t)SIDE * SIDE;
    for (uint64_t at = 0; at < total; at += CHUNK) {
        Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
        uint64_t n = total - at < CHUNK ? total - at : CHUNK;
        put.map = "large";
        put.has_width = put.has_height = at == 0;
        put.width = put.height = SIDE;
        put.has_offset = put.has_cells = put.has_last = 1;
        put.offset = at;
        put.cells.data = cells;
        put.cells.len = n;
        put.last = at + n == total;
        wire_send(&putter, TICKPATH__REQUEST__BODY_PUT_MAP, &put);
        if (put.last)
            break;
        Tickpath__Reply *reply = expect(&putter, putter.sent_id, TICKPATH__REPLY__BODY_MAP_CHUNK);
        ck_assert_uint_eq(reply->map_chunk->cells_received, at + n);
        wire_reply_free(reply);
    }
    unsigned served = 0;
    Tickpath__Reply *reply = NULL;
    while (wire_poll(&putter, &reply, 0) == WIRE_GOT_NOTHING) {
        wire_expect_alive(&other);
        served++;
    }
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_uint_eq(reply->map_info->passable_cells, total);
    ck_assert_msg(served >= 3, "only %u pings were answered while the map was built", served);
    wire_reply_free(reply);
    free(cells);
    wire_close(&putter);
    wire_close(&other);
    wire_daemon_stop(&daemon_);
}
END_TEST

static Tickpath__Reply *put(struct wire *wire, const char *map, uint32_t side, bool replace,
                            Tickpath__Reply__BodyCase want)
{
    uint8_t cells[64 * 64];
    memset(cells, '.', sizeof cells);
    Tickpath__PutMap message = TICKPATH__PUT_MAP__INIT;
    message.map = (char *)map;
    message.has_width = message.has_height = message.has_cells = message.has_last = message.last = 1;
    message.width = message.height = side;
    message.cells.data = cells;
    message.cells.len = (size_t)side * side;
    message.has_replace = 1;
    message.replace = replace;
    return wire_ask(wire, TICKPATH__REQUEST__BODY_PUT_MAP, &message, want);
}

START_TEST(test_replace)
{
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    struct wire wire, other;
    wire_open_greeted(&wire, daemon_.port);
    wire_open_greeted(&other, daemon_.port);
    Tickpath__Reply *first = put(&wire, "m", 8, false, TICKPATH__REPLY__BODY_MAP_INFO);
    wire_set_cell(&wire, "m", 3, '@');
    wire_open_session(&other, "m", 0, 63, NULL, 5);
    Tickpath__Reply *refused = put(&wire, "m", 16, true, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(refused->error->code, TICKPATH__ERROR_CODE__FAILED_PRECONDITION);
    wire_reply_free(refused);
    refused = put(&wire, "m", 16, false, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(refused->error->code, TICKPATH__ERROR_CODE__ALREADY_EXISTS);
    wire_reply_free(refused);

    wire_close(&other); /* a dropped connection frees its sessions, and so the map */
    Tickpath__Reply *second = NULL;
    for (uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS; second == NULL;) {
        ck_assert_uint_lt(wire_now_ms(), until);
        Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
        open.map = "m";
        Tickpath__Reply *info =
            wire_ask(&wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
        if (info->map_info->sessions == 0)
            second = put(&wire, "m", 16, true, TICKPATH__REPLY__BODY_MAP_INFO);
        wire_reply_free(info);
    }
    ck_assert_uint_gt(second->map_info->epoch, first->map_info->epoch);
    ck_assert_uint_eq(second->map_info->version, 1);
    ck_assert_uint_eq(second->map_info->width, 16);
    wire_reply_free(first);
    wire_reply_free(second);
    uint64_t session = wire_open_session(&wire, "m", 0, 255, NULL, 1000);
    Tickpath__Reply *ticked = wire_tick(&wire, session);
    ck_assert_uint_eq(ticked->ticked->cell[0], 17);
    wire_reply_free(ticked);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
}
END_TEST

static Tickpath__ErrorCode tick_refused(struct wire *wire, uint64_t session)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.session = &session;
    tick.n_session = 1;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_eq(reply->ticked->n_session, 0);
    ck_assert_uint_eq(reply->ticked->n_refused, 1);
    ck_assert_uint_eq(reply->ticked->refused[0]->session, session);
    Tickpath__ErrorCode code = reply->ticked->refused[0]->code;
    wire_reply_free(reply);
    return code;
}

/* An id names one session of one connection, as long as it lives, and nothing ever after. */
START_TEST(test_stale_ids)
{
    wire_daemon_start(&daemon_, NULL);
    struct wire wire, other;
    wire_open_greeted(&wire, daemon_.port);
    wire_open_greeted(&other, daemon_.port);
    wire_put_free_map(&wire, "m", 8, 8);
    enum { LIVES = 200 };
    uint64_t id[LIVES];
    for (int i = 0; i < LIVES; i++) { /* one slot, taken again and again */
        id[i] = wire_open_session(&wire, "m", 0, 63, NULL, 5);
        for (int j = 0; j < i; j++)
            ck_assert_uint_ne(id[i], id[j]);
        Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
        close.session = &id[i];
        close.n_session = 1;
        Tickpath__Reply *reply = wire_ask(&wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                                          TICKPATH__REPLY__BODY_SESSIONS_CLOSED);
        ck_assert_uint_eq(reply->sessions_closed->count, 1);
        wire_reply_free(reply);
    }
    uint64_t alive = wire_open_session(&wire, "m", 0, 63, NULL, 5);
    for (int i = 0; i < LIVES; i++)
        ck_assert_int_eq(tick_refused(&wire, id[i]), TICKPATH__ERROR_CODE__NOT_FOUND);
    ck_assert_int_eq(tick_refused(&other, alive), TICKPATH__ERROR_CODE__NOT_FOUND);
    ck_assert_int_eq(tick_refused(&wire, 0), TICKPATH__ERROR_CODE__NOT_FOUND);
    ck_assert_int_eq(tick_refused(&wire, UINT64_MAX), TICKPATH__ERROR_CODE__NOT_FOUND);
    Tickpath__SetGoal goal = TICKPATH__SET_GOAL__INIT;
    goal.has_session = goal.has_goal = 1;
    goal.session = alive;
    wire_ask_error(&other, TICKPATH__REQUEST__BODY_SET_GOAL, &goal, TICKPATH__ERROR_CODE__NOT_FOUND,
                   "session");
    wire_reply_free(wire_tick(&wire, alive));
    wire_close(&wire);
    wire_close(&other);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* Bytes in pieces of every size, many frames in one piece: the same replies. */
START_TEST(test_frames_in_any_pieces)
{
    wire_daemon_start(&daemon_, NULL);
    struct tp_test_rng rng = tp_test_rng("pieces");
    for (int round = 0; round < 30; round++) {
        struct wire wire;
        wire_open_greeted(&wire, daemon_.port);
        enum { PINGS = 40, BYTES = PINGS * 1100 };
        uint8_t *stream = malloc(BYTES);
        size_t size = 0, at = 0;
        for (uint64_t i = 0; i < PINGS; i++) {
            uint8_t payload[1024];
            Tickpath__Ping ping = TICKPATH__PING__INIT;
            ping.has_payload = 1;
            ping.payload.data = payload;
            ping.payload.len = tp_test_below(&rng, sizeof payload + 1);
            memset(payload, (int)i, sizeof payload);
            Tickpath__Request request = TICKPATH__REQUEST__INIT;
            request.has_id = 1;
            request.id = i;
            request.body_case = TICKPATH__REQUEST__BODY_PING;
            request.ping = &ping;
            size_t n;
            uint8_t *frame = wire_frame(&request, &n);
            memcpy(stream + size, frame, n);
            size += n;
            free(frame);
        }
        size_t piece_max = round % 3 == 0 ? 3 : round % 3 == 1 ? 200 : size;
        while (at < size) {
            size_t piece = 1 + tp_test_below(&rng, (uint32_t)piece_max);
            piece = piece < size - at ? piece : size - at;
            ck_assert(wire_send_bytes(&wire, stream + at, piece));
            at += piece;
        }
        free(stream);
        for (uint64_t i = 0; i < PINGS; i++) {
            Tickpath__Reply *reply = expect(&wire, i, TICKPATH__REPLY__BODY_PONG);
            for (size_t b = 0; b < reply->pong->payload.len; b++)
                ck_assert(reply->pong->payload.data[b] == (uint8_t)i);
            wire_reply_free(reply);
        }
        wire_close(&wire);
    }
    wire_daemon_stop(&daemon_);
}
END_TEST

/* More replies than fit below output_bytes_max, all to requests that came in one piece: the socket takes them at
 * once, so no write that completes later reminds the connection of the frames it still has. Answered all the
 * same, whether the client reads meanwhile, reads late, or has shut its sending side. */
START_TEST(test_output_bound_and_nothing_queued)
{
    enum { PINGS = 60, PAYLOAD = 1024 };
    wire_daemon_start(&daemon_, "--threads", "1", "--output-bytes-max", "4096", NULL);
    static uint8_t payload[PAYLOAD];
    Tickpath__Ping ping = TICKPATH__PING__INIT;
    ping.has_payload = 1;
    ping.payload.data = payload;
    ping.payload.len = PAYLOAD;
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.body_case = TICKPATH__REQUEST__BODY_PING;
    request.ping = &ping;
    for (int shuts = 0; shuts < 2; shuts++) {
        struct wire wire;
        wire_open_greeted(&wire, daemon_.port);
        uint8_t *all = malloc(PINGS * (PAYLOAD + 32));
        size_t bytes = 0;
        for (uint64_t i = 0; i < PINGS; i++) {
            size_t size;
            request.id = 1000 + i;
            uint8_t *frame = wire_frame(&request, &size);
            memcpy(all + bytes, frame, size);
            bytes += size;
            free(frame);
        }
        ck_assert(wire_send_bytes(&wire, all, bytes));
        free(all);
        if (shuts)
            ck_assert_int_eq(shutdown(wire.fd, SHUT_WR), 0);
        for (uint64_t i = 0; i < PINGS; i++) {
            Tickpath__Reply *reply = expect(&wire, 1000 + i, TICKPATH__REPLY__BODY_PONG);
            ck_assert_uint_eq(reply->pong->payload.len, PAYLOAD);
            wire_reply_free(reply);
        }
        if (shuts) {
            Tickpath__Reply *reply;
            ck_assert_int_eq(wire_poll(&wire, &reply, WIRE_TIMEOUT_MS), WIRE_GOT_CLOSE);
        } else {
            wire_expect_alive(&wire);
        }
        wire_close(&wire);
    }
    wire_daemon_stop(&daemon_);
}
END_TEST

static Suite *order_suite(void)
{
    Suite *suite = suite_create("daemon_order");
    TCase *cases = tcase_create("order");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_tick_after_change_sees_it);
    tcase_add_test(cases, test_acknowledged_is_seen_by_all);
    tcase_add_test(cases, test_compare_and_set);
    tcase_add_test(cases, test_waiting_holds_up_nobody);
    tcase_add_test(cases, test_replace);
    tcase_add_test(cases, test_stale_ids);
    tcase_add_test(cases, test_frames_in_any_pieces);
    tcase_add_test(cases, test_output_bound_and_nothing_queued);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_order", order_suite);
}
