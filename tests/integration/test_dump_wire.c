/* DumpSession through the client library, against a daemon: what it says of a search is what the same session says in this process; a daemon with the
 * shortest frames says it in pieces that fit; other connections' sessions are not to be looked into; and an agent that was looked into at every tick moves as one that was not. */
#include "client/tickpath_client.h"
#include "search/inspect.h"
#include "tests/lib/harness.h"
#include "tests/lib/mind.h"
#include "tests/lib/play.h"
#include "tests/lib/wire.h"

#include <stdlib.h>
#include <string.h>

enum { CALL_MS = WIRE_TIMEOUT_MS, SIDE = 40, CELLS = SIDE * SIDE, K = 120 };

static struct wire_daemon daemon_;
static struct tp_client *client_;

#define ok(call)                                                                                             \
    ck_assert_msg((call) == 0, #call ": %s: %s", tp_client_code_name(tp_client_error(client_)->code),        \
                  tp_client_error(client_)->message)

static struct tp_client *connect_daemon(void)
{
    struct tp_client *client;
    struct tp_client_error error;
    int result = tp_client_open(&client, "127.0.0.1", daemon_.port, "test_dump_wire", CALL_MS, &error);
    ck_assert_msg(result == 0, "open: %s", error.message);
    return client;
}

static void begin(const char *frame_bytes_max)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--frame-bytes-max", frame_bytes_max, NULL);
    client_ = connect_daemon();
}

static void end(void)
{
    tp_client_close(client_);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

/* A room with a wall; the same for the daemon, in chunks that fit, and here. */
static struct tp_map *put_map(void)
{
    struct tp_map *map = tp_test_map_free(SIDE, SIDE);
    tp_test_set_rect(&map, 20, 0, 1, 36, '@');
    uint8_t cells[CELLS];
    memset(cells, '.', sizeof cells);
    for (uint32_t y = 0; y < 36; y++)
        cells[y * SIDE + 20] = '@';
    ok(tp_client_put_map(client_, "m", SIDE, SIDE, cells, NULL, 0, false, NULL, CALL_MS));
    return map;
}

static uint64_t open_session(struct tp_client *client, const char *algorithm)
{
    const struct tp_client_session_params params = {
        .map = "m", .goal = CELLS - 1 - SIDE * 10, .algorithm = algorithm, .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = K}};
    struct tp_client_session session;
    ok(tp_client_open_session(client, &params, &session, CALL_MS));
    return session.id;
}

static uint32_t tick(uint64_t session)
{
    const struct tp_client_tick tick = {.sessions = &session, .session_count = 1};
    struct tp_client_ticked ticked;
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.count, 1);
    return ticked.cells[0];
}

/* What the session's pieces say of each cell, put together. */
struct told {
    uint32_t what[CELLS], pieces, path_count, path[CELLS];
    uint64_t g[CELLS], raised[CELLS], touched;
    uint32_t root, best, hold;
};

static void ask_all(uint64_t session, uint32_t limit, struct told *told)
{
    struct tp_client_dump_rectangle rectangle = {.limit = limit};
    struct tp_client_dump dump;
    memset(told, 0, sizeof *told);
    do {
        ok(tp_client_dump_session(client_, session, &rectangle, &dump, CALL_MS));
        ck_assert_uint_eq(dump.session, session);
        for (size_t i = 0; i < dump.state_count; i++) {
            uint32_t cell = dump.state_cells[i];
            if (cell >= CELLS || told->what[cell])
                ck_abort_msg("cell %u comes twice, or lies outside", cell);
            told->what[cell] = dump.state_whats[i];
            told->g[cell] = dump.state_gs[i];
            told->raised[cell] = dump.state_raised ? dump.state_raised[i] : 0;
        }
        if (told->pieces == 0) {
            told->path_count = (uint32_t)dump.path_count;
            memcpy(told->path, dump.path, dump.path_count * sizeof dump.path[0]);
        }
        told->touched = dump.touched;
        told->root = dump.root;
        told->best = dump.best;
        told->hold = dump.hold;
        rectangle.cursor = dump.next_cursor;
        ck_assert_uint_lt(++told->pieces, 1000);
    } while (dump.has_next);
}

static void check_same(const struct play *play, const struct told *told)
{
    static struct tp_inspect_state states[CELLS];
    struct tp_inspect_scan scan = {.width = SIDE, .height = SIDE, .looks = UINT64_MAX};
    struct tp_inspection whole;
    uint32_t path[CELLS], count = tp_session_inspect_states(play->session, &scan, states, CELLS), seen = 0;
    tp_session_inspect(play->session, &whole);
    for (uint32_t i = 0; i < count; i++) {
        const struct tp_inspect_state *state = &states[i];
        uint64_t g = state->g == TP_COST_INFINITE ? 0 : state->g;
        if (told->what[state->cell] != state->what || told->g[state->cell] != g || told->raised[state->cell] != state->raised)
            ck_abort_msg("tick %llu: cell %u is %u there and %u here", (unsigned long long)play->ticks, state->cell, told->what[state->cell], state->what);
    }
    for (uint32_t cell = 0; cell < CELLS; cell++)
        seen += told->what[cell] != 0;
    ck_assert_uint_eq(seen, count);
    ck_assert_uint_eq(told->touched, whole.stats.touched);
    ck_assert_uint_eq(told->root, whole.root);
    ck_assert_uint_eq(told->best, whole.best);
    ck_assert_uint_eq(told->hold, (uint32_t)whole.hold);
    uint32_t steps = tp_session_path(play->session, path, CELLS);
    ck_assert_uint_le(told->path_count, steps);
    ck_assert(told->path_count == steps || told->pieces > 1);
    ck_assert_int_eq(memcmp(path, told->path, told->path_count * sizeof path[0]), 0);
}

static const char *const rows[] = {"tbwa", "guided", "astar", "lss", "dartaa", "lrta", "dstarlite"};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* The same session, here and there; one more is ticked beside without being looked into. */
static void compare(const char *frame_bytes_max, uint32_t limit, bool in_pieces)
{
    begin(frame_bytes_max);
    struct tp_map *map = put_map();
    for (size_t i = 0; i < ROWS; i++) {
        static struct told told;
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find(rows[i]);
        params.goal = CELLS - 1 - SIDE * 10;
        params.budget = tp_budget_k(K);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "%s", rows[i]);
        uint64_t session = open_session(client_, rows[i]), beside = open_session(client_, rows[i]);
        uint32_t pieces = 0;
        for (int t = 0; t < 12; t++) {
            struct tp_tick_reply reply = play_tick(&play, NULL);
            ck_assert_uint_eq(tick(session), reply.to);
            ask_all(session, limit, &told);
            check_same(&play, &told);
            ck_assert_uint_eq(tick(beside), reply.to);
            pieces += told.pieces > 1;
        }
        ck_assert_msg(!in_pieces || pieces > 0 || !strcmp(rows[i], "guided"), "%s: all was told at once", rows[i]);
        play_close(&play);
    }
    tp_map_unref(map);
    end();
}

START_TEST(the_daemon_tells_what_the_session_holds)
{
    compare("4194304", 0, false);
}
END_TEST

START_TEST(pieces_fit_the_shortest_frames)
{
    compare("4096", 0, true);
}
END_TEST

START_TEST(others_may_not_look)
{
    begin("4194304");
    struct tp_map *map = put_map();
    struct tp_client *other = connect_daemon();
    uint64_t session = open_session(other, "tbwa");
    struct tp_client_dump dump;
    ck_assert_int_eq(tp_client_dump_session(client_, session, NULL, &dump, CALL_MS), TP_CLIENT_NOT_FOUND);
    ck_assert_str_eq(tp_client_error(client_)->field, "session");
    ck_assert_int_eq(tp_client_dump_session(other, session, NULL, &dump, CALL_MS), 0);
    ck_assert_str_eq(dump.hold_name, "NOT_HELD");
    ck_assert_uint_eq(dump.status, 0);
    tp_client_close(other);
    tp_map_unref(map);
    end();
}
END_TEST

/* Sends as many requests for a dump as one turn of a connection takes frames, in one write. */
static void send_dumps(struct wire *wire, uint64_t session, int count)
{
    Tickpath__DumpSession dump = TICKPATH__DUMP_SESSION__INIT;
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    dump.has_session = request.has_id = 1;
    dump.session = session;
    request.body_case = TICKPATH__REQUEST__BODY_DUMP_SESSION;
    request.dump_session = &dump;
    uint8_t bytes[64 * 64];
    size_t all = 0;
    for (int i = 0; i < count; i++) {
        size_t size;
        request.id = wire->next_id++;
        uint8_t *frame = wire_frame(&request, &size);
        ck_assert_uint_le(all + size, sizeof bytes);
        memcpy(bytes + all, frame, size);
        all += size;
        free(frame);
    }
    ck_assert(wire_send_bytes(wire, bytes, all));
}

/* How many dumps have come by now, or come until `most` have. */
static int take_dumps(struct wire *wire, int most, int timeout_ms)
{
    Tickpath__Reply *reply = NULL;
    int count = 0;
    while (count < most && wire_poll(wire, &reply, timeout_ms) == WIRE_GOT_FRAME) {
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_SESSION_DUMP);
        wire_reply_free(reply);
        count++;
    }
    return count;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Who asks for many dumps at once leaves others of its loop their turns in between: when the reply to a tick sent after them comes, few
 * of them are answered. */
START_TEST(dumps_hold_nobody_up)
{
    enum { BURST = 64, ROUNDS = 15, FEW = 16, LARGE = 256 };
    int before[ROUNDS];
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "1", NULL);
    struct wire looker, ticker;
    wire_open_greeted(&looker, daemon_.port);
    wire_open_greeted(&ticker, daemon_.port);
    wire_put_free_map(&looker, "m", LARGE, LARGE);
    for (uint32_t y = 0; y < LARGE - 1; y++) /* its search sees half of the map */
        wire_set_cell(&looker, "m", y * LARGE + LARGE / 2, '@');
    uint64_t looked = wire_open_session(&looker, "m", 0, LARGE - 1, "astar", 1000000), ticked = wire_open_session(&ticker, "m", 0, 9, "tbwa", 1);
    wire_reply_free(wire_tick(&looker, looked));
    for (int i = 0; i < ROUNDS; i++) {
        send_dumps(&looker, looked, BURST);
        wire_reply_free(wire_tick(&ticker, ticked));
        before[i] = take_dumps(&looker, BURST, 0);
        ck_assert_int_eq(before[i] + take_dumps(&looker, BURST - before[i], CALL_MS), BURST);
    }
    qsort(before, ROUNDS, sizeof before[0], compare_ints);
    ck_assert_msg(before[ROUNDS / 2] <= FEW, "%d of %d dumps are answered before a tick sent after them", before[ROUNDS / 2], (int)BURST);
    wire_close(&looker);
    wire_close(&ticker);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}
END_TEST

static Suite *dump_suite(void)
{
    Suite *suite = suite_create("dump_wire");
    TCase *tests = tcase_create("dump");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_daemon_tells_what_the_session_holds);
    tcase_add_test(tests, pieces_fit_the_shortest_frames);
    tcase_add_test(tests, others_may_not_look);
    tcase_add_test(tests, dumps_hold_nobody_up);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_dump_wire", dump_suite);
}
