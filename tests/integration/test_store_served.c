/* A real daemon on a real Redis: maps survive a restart of the daemon, and Redis away at start or later stops
 * no tick, refuses changes, and is told. */
#include "tests/lib/exposition.h"
#include "tests/lib/harness.h"
#include "tests/lib/redis.h"
#include "tests/lib/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct test_redis redis;
static struct wire_daemon daemon_;
static struct wire wire;

static void begin(void)
{
    test_redis_init(&redis);
    wire_daemon_init(&daemon_);
}

static void end(void)
{
    wire_daemon_fini(&daemon_);
    test_redis_fini(&redis);
}

static void daemon_start(void)
{
    wire_daemon_start(&daemon_, "--redis", redis.url, "--stats", "127.0.0.1:0", NULL);
}

/* Waits until the stats say degraded, or not. */
static void wait_for_degraded(bool degraded)
{
    uint64_t until = wire_now_ms() + 20000;
    for (;;) {
        int status;
        char *text = wire_http_get(&daemon_, "/metrics", &status);
        ck_assert_ptr_nonnull(text);
        bool now = tp_test_sample(text, "tickpath_store_degraded") != 0;
        free(text);
        if (now == degraded)
            return;
        ck_assert_msg(wire_now_ms() < until, "the store never became %s", degraded ? "degraded" : "well");
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

static int ready_status(void)
{
    int status;
    char *text = wire_http_get(&daemon_, "/readyz", &status);
    ck_assert_ptr_nonnull(text);
    free(text);
    return status;
}

/* Connects and greets; asserts what the welcome says of the store. */
static void greet(bool degraded)
{
    wire_open(&wire, daemon_.port);
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = hello.protocol_max = 1;
    Tickpath__Reply *reply =
        wire_ask(&wire, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__REPLY__BODY_WELCOME);
    ck_assert_msg(!reply->welcome->volatile_store, "the welcome says volatile");
    if (degraded) {
        ck_assert_msg(reply->welcome->degraded && strstr(reply->welcome->degraded, "redis"),
                      "the welcome does not say degraded");
    } else {
        ck_assert_msg(!reply->welcome->degraded || !reply->welcome->degraded[0],
                      "the welcome says degraded: %s", reply->welcome->degraded);
    }
    wire_reply_free(reply);
}

/* Opens a map; returns its version and, unless NULL, its epoch and passable cells. */
static uint64_t map_version(const char *name, uint64_t *epoch, uint64_t *passable)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)(uintptr_t)name;
    Tickpath__Reply *reply =
        wire_ask(&wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    uint64_t version = reply->map_info->version;
    if (epoch)
        *epoch = reply->map_info->epoch;
    if (passable)
        *passable = reply->map_info->passable_cells;
    wire_reply_free(reply);
    return version;
}

/* Walks an agent over the map from corner to corner of a free `side` x `side` map. */
static void walk(const char *map, uint32_t side)
{
    uint64_t session = wire_open_session(&wire, map, 0, side * side - 1, NULL, 1000);
    for (uint32_t i = 0;; i++) {
        ck_assert_uint_lt(i, 4 * side);
        Tickpath__Reply *reply = wire_tick(&wire, session);
        uint32_t status = reply->ticked->status[0];
        wire_reply_free(reply);
        if (status == TICKPATH__STATUS__ARRIVED)
            return;
    }
}

/* One edge 0 -> 1 and one 1 -> 2, with coordinates; no way back. */
static void put_graph(const char *name)
{
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    put.map = (char *)(uintptr_t)name;
    put.has_nodes = put.has_edges = put.has_last = put.last = 1;
    put.nodes = put.n_node_x = put.n_node_y = 3;
    put.edges = put.n_edge_from = put.n_edge_to = put.n_edge_cost = 2;
    put.edge_from = (uint32_t[]){0, 1};
    put.edge_to = (uint32_t[]){1, 2};
    put.edge_cost = (uint32_t[]){40, 50};
    put.node_x = (double[]){0, 3, 6};
    put.node_y = (double[]){0, 4, 8};
    wire_reply_free(wire_ask(&wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put, TICKPATH__REPLY__BODY_MAP_INFO));
}

static void walk_graph(const char *name)
{
    uint64_t session = wire_open_session(&wire, name, 0, 2, "astar", 1000);
    for (uint32_t node = 1; node <= 2; node++) {
        Tickpath__Reply *reply = wire_tick(&wire, session);
        ck_assert_uint_eq(reply->ticked->cell[0], node);
        ck_assert_uint_eq(reply->ticked->cost[0], node == 1 ? 40 : 90);
        wire_reply_free(reply);
    }
}

START_TEST(test_restart_of_the_daemon)
{
    test_redis_start(&redis);
    daemon_start();
    greet(false);
    wire_put_free_map(&wire, "games/one", 30, 30);
    wire_put_free_map(&wire, "two", 12, 9);
    put_graph("roads");
    walk_graph("roads");
    for (uint32_t i = 0; i < 7; i++)
        wire_set_cell(&wire, "games/one", 100 + i, '@');
    uint64_t epoch, epoch_after, passable;
    ck_assert_uint_eq(map_version("games/one", &epoch, NULL), 8);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);

    for (int kill = 0; kill < 2; kill++) {
        daemon_start();
        greet(false);
        ck_assert_uint_eq(map_version("games/one", &epoch_after, &passable), 8);
        ck_assert_uint_eq(epoch_after, epoch);
        ck_assert_uint_eq(passable, 30 * 30 - 7);
        ck_assert_uint_eq(map_version("two", NULL, &passable), 1);
        ck_assert_uint_eq(passable, 12 * 9);
        walk("games/one", 30);
        ck_assert_uint_eq(map_version("roads", NULL, NULL), 1);
        walk_graph("roads");
        wire_close(&wire);
        if (kill == 0)
            wire_daemon_kill(&daemon_); /* what was acknowledged is in Redis already */
        else
            wire_daemon_stop(&daemon_);
    }
}
END_TEST

/* Asserts that a put of a map of one cell is refused for now, with a hint when to ask again. */
static void expect_put_unavailable(const char *name, bool replace)
{
    uint8_t cell = '.';
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = (char *)(uintptr_t)name;
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = 1;
    put.width = put.height = 1;
    put.cells.data = &cell;
    put.cells.len = 1;
    put.has_replace = put.replace = replace;
    Tickpath__Reply *reply =
        wire_ask(&wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__UNAVAILABLE);
    ck_assert_str_eq(reply->error->field, "map");
    ck_assert(reply->error->has_retry_after_ms);
    wire_reply_free(reply);
}

/* Whether Redis holds a map cannot be known while it is away: no upload may take the name of one that it holds. */
START_TEST(test_redis_away_at_start)
{
    test_redis_start(&redis);
    daemon_start();
    greet(false);
    wire_put_free_map(&wire, "kept", 20, 20);
    ck_assert_uint_eq(wire_set_cell(&wire, "kept", 5, '@'), 2);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
    test_redis_kill(&redis);

    daemon_start();
    wait_for_degraded(true);
    greet(true);
    for (int replace = 0; replace < 2; replace++) {
        expect_put_unavailable("kept", replace);
        expect_put_unavailable("new", replace);
    }
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "kept";
    wire_ask_error(&wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__UNAVAILABLE, "map");
    ck_assert_int_eq(ready_status(), 503); /* it has no maps, which others of its fleet may have */

    test_redis_start(&redis);
    wait_for_degraded(false);
    for (uint64_t until = wire_now_ms() + 10000; ready_status() != 200;) {
        ck_assert_msg(wire_now_ms() < until, "never ready");
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    ck_assert_uint_eq((uint64_t)wire_sample(&daemon_, "tickpath_maps"), 1); /* nobody asked for it */
    uint64_t passable;
    ck_assert_uint_eq(map_version("kept", NULL, &passable), 2);
    ck_assert_uint_eq(passable, 399);
    wire_put_free_map(&wire, "new", 20, 20);
    walk("new", 20);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
}
END_TEST

static void expect_change_unavailable(const char *map, uint32_t cell)
{
    uint32_t terrain = '@';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)(uintptr_t)map;
    change.n_cell = change.n_cell_terrain = 1;
    change.cell = &cell;
    change.cell_terrain = &terrain;
    Tickpath__Reply *reply =
        wire_ask(&wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__UNAVAILABLE);
    ck_assert(reply->error->has_retry_after_ms);
    wire_reply_free(reply);
}

/* What the daemon holds it serves while Redis is away, as it stood; nothing is put, changed or dropped meanwhile. */
START_TEST(test_redis_away_later)
{
    test_redis_start(&redis);
    daemon_start();
    greet(false);
    wire_put_free_map(&wire, "m", 20, 20);
    ck_assert_uint_eq(wire_set_cell(&wire, "m", 5, '@'), 2);
    test_redis_kill(&redis);
    wait_for_degraded(true);
    expect_change_unavailable("m", 6);
    walk("m", 20);
    expect_put_unavailable("other", false);
    wire_close(&wire); /* its session stands on the map */
    greet(true);
    uint8_t cell = '.';
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = "m";
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = put.replace =
        1;
    put.width = put.height = 1;
    put.cells.data = &cell;
    put.cells.len = 1;
    wire_ask_error(&wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__ERROR_CODE__UNAVAILABLE, NULL);
    Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
    drop.map = "m";
    wire_ask_error(&wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__ERROR_CODE__UNAVAILABLE, NULL);

    test_redis_start(&redis);
    wait_for_degraded(false);
    ck_assert_uint_eq(map_version("m", NULL, NULL), 2);
    ck_assert_uint_eq(wire_set_cell(&wire, "m", 7, '@'), 3);
    wire_close(&wire);
    wire_daemon_kill(&daemon_);
    daemon_start();
    greet(false);
    uint64_t passable;
    ck_assert_uint_eq(map_version("m", NULL, &passable), 3);
    ck_assert_uint_eq(passable, 398);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
}
END_TEST

START_TEST(test_redis_killed_and_back)
{
    test_redis_start(&redis);
    daemon_start();
    greet(false);
    wire_put_free_map(&wire, "m", 20, 20);
    uint64_t session = wire_open_session(&wire, "m", 0, 399, NULL, 3), epoch, again;
    uint64_t version = map_version("m", &epoch, NULL);
    for (uint32_t round = 0; round < 2; round++) {
        test_redis_kill(&redis);
        wait_for_degraded(true);
        for (uint32_t i = 0; i < 4; i++) { /* the same connection and session go on, at the last version */
            expect_change_unavailable("m", 40 + 8 * round + i);
            Tickpath__Reply *reply = wire_tick(&wire, session);
            ck_assert_uint_eq(reply->ticked->version[0], version);
            wire_reply_free(reply);
        }
        test_redis_start(&redis);
        wait_for_degraded(false);
        ck_assert_uint_eq(wire_set_cell(&wire, "m", 40 + 8 * round, '@'), ++version);
        Tickpath__Reply *reply = wire_tick(&wire, session);
        ck_assert_uint_eq(reply->ticked->version[0], version);
        wire_reply_free(reply);
    }
    wire_close(&wire);
    wire_daemon_kill(&daemon_);
    daemon_start();
    greet(false);
    ck_assert_uint_eq(map_version("m", &again, NULL), version);
    ck_assert_uint_eq(again, epoch);
    walk("m", 20);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* The daemon ends in time while Redis is away, and a URL that is none stops the start, without its password.
 */
START_TEST(test_end_and_bad_url)
{
    daemon_start();
    wait_for_degraded(true);
    wire_daemon_stop(&daemon_);
    test_redis_start(&redis);
    daemon_start();
    greet(false);
    wire_put_free_map(&wire, "m", 20, 20);
    test_redis_kill(&redis);
    expect_change_unavailable("m", 5);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);

    char said[4096];
    int code = wire_daemon_run(said, sizeof said, "--listen", "127.0.0.1:0", "--redis", "redis://u:secret@127.0.0.1:99999", NULL);
    ck_assert_msg(code != 0 && strstr(said, "port") != NULL, "it ended with %d, and no word of what is wrong with the URL: %s", code, said);
    ck_assert_msg(strstr(said, "secret") == NULL, "%s", said);
}
END_TEST

static Suite *store_served_suite(void)
{
    Suite *suite = suite_create("store_served");
    TCase *served = tcase_create("daemon on redis");
    tcase_add_checked_fixture(served, begin, end);
    tcase_add_test(served, test_restart_of_the_daemon);
    tcase_add_test(served, test_redis_away_at_start);
    tcase_add_test(served, test_redis_away_later);
    tcase_add_test(served, test_redis_killed_and_back);
    tcase_add_test(served, test_end_and_bad_url);
    suite_add_tcase(suite, served);
    return suite;
}

int main(void)
{
    return tp_test_main("test_store_served", store_served_suite);
}
