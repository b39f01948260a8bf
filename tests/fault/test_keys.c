/* Batches with keys whose replies are lost with the daemon: sent again after kill -9 and a restart each is applied once, whether
 * its key comes back from the log, from a snapshot, or was never written because the batch was not.
 *
 * The model: batch n sets cell n - 1 of a free map to '@', under the key "n"; so a map at version v has v - 1 blocked cells, or
 * a batch was applied twice. */
#include "daemon/store/keys.h"
#include "tests/lib/harness.h"
#include "tests/lib/redis.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 48, CELLS = SIDE * SIDE };

static struct wire_daemon daemon_;
static char data[128];

static void begin(void)
{
    wire_daemon_init(&daemon_);
    snprintf(data, sizeof data, "%s/data", daemon_.folder);
}

static void start(const char *fold_batches)
{
    wire_daemon_start(&daemon_, "--threads", "2", "--data", data, "--fold-batches", fold_batches, NULL);
}

static void send_batch(struct wire *wire, uint32_t n)
{
    char key[16];
    uint32_t cell = n - 1, terrain = '@';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    snprintf(key, sizeof key, "%u", n);
    change.map = "m";
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.n_cell = change.n_cell_terrain = 1;
    change.has_key = 1;
    change.key = (ProtobufCBinaryData){.len = strlen(key), .data = (uint8_t *)key};
    wire_send(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

/* Takes the reply to a batch; gives whether it was applied before. */
static bool expect_batch(struct wire *wire, uint64_t *version)
{
    Tickpath__Reply *reply = wire_recv(wire);
    ck_assert_msg(reply->body_case == TICKPATH__REPLY__BODY_CHANGED, "reply %d", reply->body_case);
    *version = reply->changed->version;
    bool applied_before = reply->changed->applied_before;
    wire_reply_free(reply);
    return applied_before;
}

static void map_info(struct wire *wire, uint64_t *epoch, uint64_t *version, uint64_t *passable)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    *epoch = reply->map_info->epoch;
    *version = reply->map_info->version;
    *passable = reply->map_info->passable_cells;
    wire_reply_free(reply);
}

/* Sends batches in a row, kills the daemon at a random moment without reading a reply, sends them all again. */
START_TEST(test_reply_lost)
{
    struct tp_test_rng rng = tp_test_rng("keys");
    begin();
    start("7"); /* some keys are in the log, the older ones in the snapshot */
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_put_free_map(&wire, "m", SIDE, SIDE);
    uint32_t sent = 0;
    uint64_t again = 0, lost = 0;
    for (uint64_t round = 0; round < tp_test_steps(5, 40) && sent + 60 < CELLS; round++) {
        uint32_t first = sent + 1;
        for (uint32_t i = 0; i < 40; i++)
            send_batch(&wire, ++sent);
        uint64_t until = wire_now_ms() + tp_test_below(&rng, 40);
        while (wire_now_ms() < until)
            ;
        wire_daemon_kill(&daemon_); /* nobody read a reply */
        wire_close(&wire);
        start("7");
        wire_open_greeted(&wire, daemon_.port);
        for (uint32_t n = first; n <= sent; n++) {
            uint64_t version;
            send_batch(&wire, n);
            if (expect_batch(&wire, &version))
                again++;
            else
                lost++;
            ck_assert_uint_eq(version, n + 1); /* in the order sent: none twice, none left out */
        }
        uint64_t epoch, version, passable;
        map_info(&wire, &epoch, &version, &passable);
        ck_assert_uint_eq(version, sent + 1);
        ck_assert_uint_eq(passable, CELLS - sent);
    }
    printf("%u batches: %llu had been applied when their replies were lost, %llu had not\n", sent,
           (unsigned long long)again, (unsigned long long)lost);
    /* all that are known once more, after an orderly end too */
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
    start("7");
    wire_open_greeted(&wire, daemon_.port);
    for (uint32_t n = sent > TP_KEYS_MAX ? sent - TP_KEYS_MAX + 1 : 1; n <= sent; n++) {
        uint64_t version;
        send_batch(&wire, n);
        ck_assert(expect_batch(&wire, &version));
        ck_assert_uint_eq(version, n + 1);
    }
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}
END_TEST

/* Waits, on a connection of its own, until the map is at a version. */
static void await_version(uint64_t wanted)
{
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS, epoch, version = 0, passable;
    while (version < wanted) {
        ck_assert_uint_lt(wire_now_ms(), until);
        map_info(&wire, &epoch, &version, &passable);
    }
    wire_close(&wire);
}

/* One batch that is known to be applied: from the log (fold-batches 1000) and from a snapshot (1). */
START_TEST(test_one_reply_lost)
{
    const char *fold_batches = _i == 0 ? "1000" : "1";
    begin();
    start(fold_batches);
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_put_free_map(&wire, "m", SIDE, SIDE);
    for (uint32_t n = 1; n <= 3; n++) {
        uint64_t epoch, version, passable, epoch_before;
        map_info(&wire, &epoch_before, &version, &passable);
        send_batch(&wire, n);
        await_version(n + 1);
        wire_daemon_kill(&daemon_);
        wire_close(&wire);
        start(fold_batches);
        wire_open_greeted(&wire, daemon_.port);
        send_batch(&wire, n);
        ck_assert(expect_batch(&wire, &version));
        ck_assert_uint_eq(version, n + 1);
        map_info(&wire, &epoch, &version, &passable);
        ck_assert_uint_eq(epoch, epoch_before);
        ck_assert_uint_eq(version, n + 1);
        ck_assert_uint_eq(passable, CELLS - n);
    }
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}
END_TEST

/* Likewise with Redis, which has the keys in its snapshots. The map comes back in a new epoch; its keys are still known. */
START_TEST(test_redis)
{
    struct test_redis redis;
    test_redis_init(&redis);
    test_redis_start(&redis);
    begin();
    wire_daemon_start(&daemon_, "--redis", redis.url, NULL);
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_put_free_map(&wire, "m", SIDE, SIDE);
    for (uint32_t n = 1; n <= 3; n++) {
        uint64_t epoch, version, passable;
        send_batch(&wire, n);
        await_version(n + 1);
        wire_daemon_kill(&daemon_);
        wire_close(&wire);
        wire_daemon_start(&daemon_, "--redis", redis.url, NULL);
        wire_open_greeted(&wire, daemon_.port);
        for (uint32_t old = 1; old <= n; old++) {
            send_batch(&wire, old);
            ck_assert(expect_batch(&wire, &version));
            ck_assert_uint_eq(version, old + 1);
        }
        map_info(&wire, &epoch, &version, &passable);
        ck_assert_uint_eq(version, n + 1);
        ck_assert_uint_eq(passable, CELLS - n);
    }
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
    test_redis_fini(&redis);
}
END_TEST

static Suite *keys_suite(void)
{
    Suite *suite = suite_create("keys");
    TCase *cases = tcase_create("keys");
    tcase_add_test(cases, test_reply_lost);
    tcase_add_loop_test(cases, test_one_reply_lost, 0, 2);
    tcase_add_test(cases, test_redis);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_keys", keys_suite);
}
