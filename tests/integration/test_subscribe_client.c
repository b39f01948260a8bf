/* Subscriptions through the client library: pushes are collected whenever the program asks, a bounded number is kept for one that
 * does not, and a server that pushes nonsense is left. What is told at all: test_subscribe.c. */
#include "client/tickpath_client.h"
#include "tests/lib/peer.h"
#include "tests/lib/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void client_set(struct tp_client *client, const char *map, uint32_t at, uint32_t terrain)
{
    struct tp_client_changes changes = {
        .map = map, .cells = &at, .cell_count = 1, .cell_terrains = &terrain, .cell_terrain_count = 1};
    ck_assert_int_eq(tp_client_change(client, &changes, NULL, WIRE_TIMEOUT_MS), 0);
}

START_TEST(test_client)
{
    struct tp_client *client;
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", served.daemon.port, "test", WIRE_TIMEOUT_MS, NULL),
                     0);
    struct tp_client_push push;
    ck_assert_int_eq(tp_client_next_push(client, &push, 0), TP_CLIENT_TIMEOUT);
    struct tp_client_subscribed subscribed;
    ck_assert_int_eq(tp_client_subscribe(client, "no/such", true, &subscribed, WIRE_TIMEOUT_MS),
                     TP_CLIENT_NOT_FOUND);
    ck_assert_int_eq(tp_client_subscribe(client, NULL, true, &subscribed, WIRE_TIMEOUT_MS),
                     TP_CLIENT_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_client_subscribe(client, "m", true, &subscribed, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(subscribed.version, 1);
    /* what comes during blocking calls is kept */
    client_set(client, "m", 5, '@');
    client_set(client, "m", 6, '@');
    ck_assert_int_eq(tp_client_ping(client, "x", 1, WIRE_TIMEOUT_MS), 0);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_int_eq(tp_client_next_push(client, &push, 0), 0);
        ck_assert_str_eq(push.map, "m");
        ck_assert_uint_eq(push.epoch, subscribed.epoch);
        ck_assert_uint_eq(push.from_version, i + 1);
        ck_assert_uint_eq(push.version, i + 2);
        ck_assert_uint_eq(push.cell_count, 1);
        ck_assert_uint_eq(push.cells[0], 5 + i);
        ck_assert_uint_eq(push.terrains[0], '@');
    }
    ck_assert_int_eq(tp_client_next_push(client, &push, 50), TP_CLIENT_TIMEOUT);
    /* and between tickets */
    uint64_t ticket[2];
    uint32_t at = 9, terrain = '@';
    struct tp_client_changes changes = {
        .map = "m", .cells = &at, .cell_count = 1, .cell_terrains = &terrain, .cell_terrain_count = 1};
    ck_assert_int_eq(tp_client_send_change(client, &changes, &ticket[0], WIRE_TIMEOUT_MS), 0);
    ck_assert_int_eq(tp_client_send_ping(client, NULL, 0, &ticket[1], WIRE_TIMEOUT_MS), 0);
    ck_assert_int_eq(tp_client_next_push(client, &push, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(push.version, 4);
    struct tp_client_reply reply;
    ck_assert_int_eq(tp_client_collect(client, ticket[1], &reply, WIRE_TIMEOUT_MS), 0);
    ck_assert_int_eq(tp_client_collect(client, ticket[0], &reply, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(reply.changed.version, 4);
    /* a wait ends when another changes the map */
    wire_set_cell(&served.wire, "m", 1, '@');
    ck_assert_int_eq(tp_client_next_push(client, &push, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(push.version, 5);
    ck_assert_int_eq(tp_client_unsubscribe(client, "m", WIRE_TIMEOUT_MS), 0);
    wire_set_cell(&served.wire, "m", 1, '.');
    ck_assert_int_eq(tp_client_next_push(client, &push, 100), TP_CLIENT_TIMEOUT);
    ck_assert_int_eq(tp_client_ping(client, NULL, 0, WIRE_TIMEOUT_MS), 0);
    tp_client_close(client);
}
END_TEST

/* A program that never collects keeps a bounded number, and loses nothing but the list of cells. */
START_TEST(test_client_that_does_not_collect)
{
    enum { CHANGES = TP_CLIENT_PUSHES_MAX + 40 };
    struct tp_client *client;
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", served.daemon.port, "test", WIRE_TIMEOUT_MS, NULL),
                     0);
    wire_put_free_map(&served.wire, "n", 3, 3);
    struct tp_client_subscribed subscribed;
    ck_assert_int_eq(tp_client_subscribe(client, "m", true, &subscribed, WIRE_TIMEOUT_MS), 0);
    ck_assert_int_eq(tp_client_subscribe(client, "n", false, &subscribed, WIRE_TIMEOUT_MS), 0);
    for (uint32_t i = 0; i < CHANGES; i++)
        client_set(client, "m", i % SERVED_CELLS, i / SERVED_CELLS % 2 == 0 ? '@' : '.');
    client_set(client, "n", 1, '@'); /* has none in the queue yet */
    ck_assert_int_eq(tp_client_drop_map(client, "m", 0, WIRE_TIMEOUT_MS), 0);
    struct tp_client_push push;
    uint64_t version = 1, pushes = 0;
    bool is_dropped = false, n_came = false;
    while (tp_client_next_push(client, &push, 0) == 0) {
        pushes++;
        if (strcmp(push.map, "n") == 0) {
            ck_assert_uint_eq(push.version, 2);
            ck_assert(!push.resync);
            n_came = true;
            continue;
        }
        ck_assert_uint_eq(push.from_version, version);
        ck_assert(!is_dropped);
        ck_assert(push.cell_count == 1 || push.resync || push.dropped);
        version = push.version;
        is_dropped = push.dropped;
    }
    ck_assert(is_dropped && n_came);
    ck_assert_uint_eq(version, CHANGES + 1);
    ck_assert_uint_eq(pushes, TP_CLIENT_PUSHES_MAX + 1);
    tp_client_close(client);
    wire_put_free_map(&served.wire, "m", SERVED_WIDTH, SERVED_HEIGHT); /* as the fixture wants it */
}
END_TEST

/* A server that pushes before it answers; with `argument` what makes no sense. */
static void script_push(int fd, uint64_t argument)
{
    peer_greet(fd);
    uint64_t id = peer_id(fd);
    uint32_t cell = 4, terrain = '@';
    Tickpath__MapChanged push = TICKPATH__MAP_CHANGED__INIT;
    push.map = argument == 1 ? NULL : "m";
    push.has_from_version = push.has_version = 1;
    push.from_version = 6;
    push.version = 8;
    push.cell = &cell;
    push.terrain = &terrain;
    push.n_cell = 1;
    push.n_terrain = argument != 2;
    peer_reply(fd, 0, TICKPATH__REPLY__BODY_MAP_CHANGED, &push);
    Tickpath__Pong pong = TICKPATH__PONG__INIT;
    peer_reply(fd, id, TICKPATH__REPLY__BODY_PONG, &pong);
    if (argument == 0)
        peer_reply(fd, 0, TICKPATH__REPLY__BODY_MAP_CHANGED, &push); /* and another, then the end */
}

START_TEST(test_client_of_a_scripted_server)
{
    struct peer peer;
    struct tp_client *client;
    struct tp_client_push push;
    peer_start(&peer, script_push, (uint64_t)_i);
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", peer.port, "test", WIRE_TIMEOUT_MS, NULL), 0);
    if (_i == 0) {
        ck_assert_int_eq(tp_client_ping(client, NULL, 0, WIRE_TIMEOUT_MS), 0);
        for (int i = 0; i < 2; i++) { /* what came before the end is there */
            ck_assert_int_eq(tp_client_next_push(client, &push, WIRE_TIMEOUT_MS), 0);
            ck_assert_uint_eq(push.from_version, 6);
            ck_assert_uint_eq(push.version, 8);
            ck_assert_uint_eq(push.cells[0], 4);
        }
        ck_assert_int_eq(tp_client_next_push(client, &push, WIRE_TIMEOUT_MS), TP_CLIENT_CLOSED);
    } else {
        ck_assert_int_eq(tp_client_ping(client, NULL, 0, WIRE_TIMEOUT_MS), TP_CLIENT_MALFORMED_FRAME);
        ck_assert_int_eq(tp_client_next_push(client, &push, WIRE_TIMEOUT_MS), TP_CLIENT_MALFORMED_FRAME);
    }
    tp_client_close(client);
    peer_join(&peer);
}
END_TEST

static Suite *subscribe_client_suite(void)
{
    Suite *suite = suite_create("subscribe client");
    TCase *cases = tcase_create("client");
    tcase_add_checked_fixture(cases, served_begin, served_end);
    tcase_add_test(cases, test_client);
    tcase_add_test(cases, test_client_that_does_not_collect);
    suite_add_tcase(suite, cases);
    TCase *scripted = tcase_create("scripted server");
    tcase_add_loop_test(scripted, test_client_of_a_scripted_server, 0, 3);
    suite_add_tcase(suite, scripted);
    return suite;
}

int main(void)
{
    return tp_test_main("test_subscribe_client", subscribe_client_suite);
}
