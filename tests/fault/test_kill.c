/* The daemon killed with SIGKILL under load, with a data folder, and started again: every acknowledged batch
 * is there, in order, and nothing that was never sent; the C client says clearly what happened.
 *
 * The model: batch n of a map sets cells drawn from (seed, map, n) to blocked or free. Whatever version comes
 * back, the map must look exactly as the model after version - 1 batches; sessions opened on every cell tell,
 * by START_BLOCKED. */
#include "client/tickpath_client.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAPS = 2, SIDE = 24, CELLS = SIDE * SIDE, BATCH_MAX = 12, WINDOW = 32 };

static struct wire_daemon daemon_;
static char data[128];
static const char *const map_name[MAPS] = {"doors", "walls/north"};

static void start(void)
{
    /* the log is folded into a snapshot often, so that the daemon is killed in the midst of that too */
    wire_daemon_start(&daemon_, "--threads", "2", "--data", data, "--fold-batches", "20", NULL);
}

/* Batch n of map m, n from 1: gives version n + 1. */
static size_t draw_batch(int m, uint64_t n, uint32_t cells[BATCH_MAX], uint32_t terrains[BATCH_MAX])
{
    struct tp_test_rng rng = {tp_test_seed() ^ (uint64_t)m << 56 ^ n * 0x9e3779b97f4a7c15u};
    size_t count = 1 + tp_test_below(&rng, BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        cells[i] = tp_test_below(&rng, CELLS);
        terrains[i] = tp_test_percent(&rng, 50) ? '@' : '.';
    }
    return count;
}

static void model(int m, uint64_t version, uint8_t blocked[CELLS])
{
    memset(blocked, 0, CELLS);
    for (uint64_t n = 1; n < version; n++) {
        uint32_t cells[BATCH_MAX], terrains[BATCH_MAX];
        size_t count = draw_batch(m, n, cells, terrains);
        for (size_t i = 0; i < count; i++)
            blocked[cells[i]] = terrains[i] == '@';
    }
}

static void send_batch(struct wire *wire, int m, uint64_t n)
{
    uint32_t cells[BATCH_MAX], terrains[BATCH_MAX];
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)map_name[m];
    change.n_cell = change.n_cell_terrain = draw_batch(m, n, cells, terrains);
    change.cell = cells;
    change.cell_terrain = terrains;
    wire_send(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

static void map_info(struct wire *wire, int m, uint64_t *epoch, uint64_t *version, uint64_t *passable)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)map_name[m];
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_uint_eq(reply->map_info->width, SIDE);
    *epoch = reply->map_info->epoch;
    *version = reply->map_info->version;
    *passable = reply->map_info->passable_cells;
    wire_reply_free(reply);
}

/* The map is the model's, cell by cell. */
static void expect_model(struct wire *wire, int m, uint64_t version, uint64_t passable)
{
    uint8_t blocked[CELLS];
    model(m, version, blocked);
    uint64_t free_cells = 0;
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        free_cells += !blocked[cell];
        wire_open_session(wire, map_name[m], cell, cell == 0, NULL, 1);
    }
    ck_assert_uint_eq(passable, free_cells);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_eq(reply->ticked->n_flags, CELLS);
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        bool says_blocked = reply->ticked->flags[cell] & TICKPATH__FLAG__START_BLOCKED;
        ck_assert_msg(says_blocked == blocked[cell], "map %s at version %llu: cell %u is %s", map_name[m],
                      (unsigned long long)version, cell, says_blocked ? "blocked" : "free");
        ck_assert_uint_eq(reply->ticked->version[cell], version);
    }
    wire_reply_free(reply);
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.has_all = close.all = 1;
    wire_reply_free(
        wire_ask(wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close, TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
}

struct writer {
    struct wire wire;
    uint64_t sent, acknowledged; /* versions */
};

/* Sends what the window allows and takes what has come; false once the daemon is gone. */
static bool writer_step(struct writer *writer, int m)
{
    while (writer->sent - writer->acknowledged < WINDOW)
        send_batch(&writer->wire, m, writer->sent++);
    Tickpath__Reply *reply;
    enum wire_got got;
    while ((got = wire_poll(&writer->wire, &reply, 0)) == WIRE_GOT_FRAME) {
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_CHANGED);
        ck_assert_uint_eq(reply->changed->version, ++writer->acknowledged);
        wire_reply_free(reply);
    }
    return got != WIRE_GOT_CLOSE;
}

START_TEST(test_killed_under_load)
{
    wire_daemon_init(&daemon_);
    snprintf(data, sizeof data, "%s/data", daemon_.folder);
    start();
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    uint64_t epoch[MAPS], version[MAPS], passable;
    for (int m = 0; m < MAPS; m++) {
        wire_put_free_map(&wire, map_name[m], SIDE, SIDE);
        map_info(&wire, m, &epoch[m], &version[m], &passable);
        ck_assert_uint_eq(version[m], 1);
    }
    wire_close(&wire);
    struct tp_test_rng rng = tp_test_rng("kill");
    uint64_t rounds = tp_test_steps(4, 40);
    for (uint64_t round = 0; round < rounds; round++) {
        struct writer writer[MAPS];
        for (int m = 0; m < MAPS; m++) {
            wire_open_greeted(&writer[m].wire, daemon_.port);
            writer[m].sent = writer[m].acknowledged = version[m];
        }
        uint64_t until = wire_now_ms() + 20 + tp_test_below(&rng, 500);
        while (wire_now_ms() < until)
            for (int m = 0; m < MAPS; m++)
                ck_assert(writer_step(&writer[m], m));
        wire_daemon_kill(&daemon_);
        for (int m = 0; m < MAPS; m++) {
            Tickpath__Reply *reply; /* acknowledgements that were still on their way count */
            while (wire_poll(&writer[m].wire, &reply, WIRE_TIMEOUT_MS) == WIRE_GOT_FRAME) {
                ck_assert_uint_eq(reply->changed->version, ++writer[m].acknowledged);
                wire_reply_free(reply);
            }
            wire_close(&writer[m].wire);
        }
        start();
        wire_open_greeted(&wire, daemon_.port);
        for (int m = 0; m < MAPS; m++) {
            uint64_t epoch_now;
            map_info(&wire, m, &epoch_now, &version[m], &passable);
            printf("round %llu, map %s: sent %llu, acknowledged %llu, kept %llu\n", (unsigned long long)round,
                   map_name[m], (unsigned long long)writer[m].sent,
                   (unsigned long long)writer[m].acknowledged, (unsigned long long)version[m]);
            ck_assert_msg(version[m] >= writer[m].acknowledged, "an acknowledged change was lost");
            ck_assert_msg(version[m] <= writer[m].sent, "a change that was never sent came back");
            ck_assert_uint_eq(epoch_now, epoch[m]);
            expect_model(&wire, m, version[m], passable);
        }
        wire_close(&wire);
    }
    /* and after an orderly end everything is there */
    wire_daemon_stop(&daemon_);
    start();
    wire_open_greeted(&wire, daemon_.port);
    for (int m = 0; m < MAPS; m++) {
        uint64_t epoch_now, version_now;
        map_info(&wire, m, &epoch_now, &version_now, &passable);
        ck_assert_uint_eq(epoch_now, epoch[m]);
        ck_assert_uint_eq(version_now, version[m]);
        expect_model(&wire, m, version_now, passable);
    }
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}
END_TEST

/* The C client of a daemon that dies: every call says so in words, and a new connection works once it is
 * back. */
START_TEST(test_client_of_a_killed_daemon)
{
    wire_daemon_init(&daemon_);
    snprintf(data, sizeof data, "%s/data", daemon_.folder);
    start();
    struct tp_client *client;
    struct tp_client_error error;
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", daemon_.port, "test_kill", WIRE_TIMEOUT_MS, &error),
                     0);
    ck_assert(!tp_client_server(client)->volatile_store);
    uint8_t cells[CELLS];
    memset(cells, '.', sizeof cells);
    ck_assert_int_eq(tp_client_put_map(client, "m", SIDE, SIDE, cells, NULL, 0, false, NULL, WIRE_TIMEOUT_MS),
                     0);
    struct tp_client_session_params params = {.map = "m", .start = 0, .goal = CELLS - 1};
    struct tp_client_session session;
    ck_assert_int_eq(tp_client_open_session(client, &params, &session, WIRE_TIMEOUT_MS), 0);
    struct tp_client_tick tick = {.all = true};
    struct tp_client_ticked ticked;
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    uint32_t stands = ticked.cells[0];

    uint16_t old_port = daemon_.port;
    wire_daemon_kill(&daemon_);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), TP_CLIENT_CLOSED);
        ck_assert_int_eq(tp_client_error(client)->code, TP_CLIENT_CLOSED);
        ck_assert(!tp_client_error(client)->from_server);
        ck_assert_uint_gt(strlen(tp_client_error(client)->message), 0);
    }
    tp_client_close(client);
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", old_port, "test_kill", WIRE_TIMEOUT_MS, &error),
                     TP_CLIENT_UNAVAILABLE);
    ck_assert_uint_gt(strlen(error.message), 0);
    ck_assert_ptr_null(client);

    /* the agent's session is gone with the daemon; it is opened again where the agent stands */
    start();
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", daemon_.port, "test_kill", WIRE_TIMEOUT_MS, &error),
                     0);
    uint64_t old_session = session.id;
    params.start = stands;
    ck_assert_int_eq(tp_client_open_session(client, &params, &session, WIRE_TIMEOUT_MS), 0);
    ck_assert_int_eq(tp_client_set_goal(client, old_session, 5, WIRE_TIMEOUT_MS), TP_CLIENT_NOT_FOUND);
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(ticked.count, 1);
    ck_assert_uint_ne(ticked.cells[0], stands);
    tp_client_close(client);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}
END_TEST

static Suite *kill_suite(void)
{
    Suite *suite = suite_create("kill");
    TCase *cases = tcase_create("kill");
    tcase_add_test(cases, test_killed_under_load);
    tcase_add_test(cases, test_client_of_a_killed_daemon);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_kill", kill_suite);
}
