/* A connection with failover on daemons that share their maps through a real redis-server: the map is there already, in the same epoch, at
 * the version told, and a batch whose answer was lost is known by its key.
 */
#include "client/tickpath_client.h"
#include "tests/lib/redis.h"
#include "tests/lib/walkers.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CALL_MS = 60000, SIDE = 64, AGENTS = 12, BATCHES = 24, ROUNDS = 6 };

static struct test_redis redis_;
static struct wire_daemon daemons_[2];
static struct tp_client *client_;
static struct told told_;

#define ok(call) ok_on(client_, call)

static void begin(void)
{
    memset(&told_, 0, sizeof told_);
    client_ = NULL;
    test_redis_init(&redis_);
    test_redis_start(&redis_);
    for (int i = 0; i < 2; i++) {
        wire_daemon_init(&daemons_[i]);
        wire_daemon_start(&daemons_[i], "--redis", redis_.url, NULL);
    }
}

static void end(void)
{
    tp_client_close(client_);
    for (int i = 0; i < 2; i++)
        wire_daemon_fini(&daemons_[i]);
    test_redis_fini(&redis_);
}

/* Batches and ticks are on their way when a daemon is killed, the one in turn; each batch is applied once, whichever daemon took it. */
START_TEST(on_their_way)
{
    struct walker walkers[AGENTS];
    client_ = walkers_connect(daemons_[0].port, daemons_[1].port, (struct tp_client_options){.patience_ms = 30000}, &told_);
    walkers_put_map_on(client_, "m", SIDE);
    walkers_open(client_, walkers, AGENTS, SIDE);
    struct tp_client_subscribed subscribed;
    ok(tp_client_subscribe(client_, "m", false, &subscribed, CALL_MS));
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t changes_sent[BATCHES], ticks_sent[BATCHES], first = 2 + (uint64_t)(round * BATCHES);
        bool seen[BATCHES] = {false};
        for (uint32_t i = 0; i < BATCHES; i++) {
            const uint32_t cell = SIDE * 20 + i, terrain = (i + (uint32_t)round) % 2 ? 'T' : '.';
            const struct tp_client_changes changes = {
                .map = "m", .cells = &cell, .cell_count = 1, .cell_terrains = &terrain, .cell_terrain_count = 1};
            const struct tp_client_tick tick = {.all = true};
            ok(tp_client_send_change(client_, &changes, &changes_sent[i], CALL_MS));
            ok(tp_client_send_tick(client_, &tick, &ticks_sent[i], CALL_MS));
        }
        struct wire_daemon *victim = &daemons_[round % 2];
        for (uint32_t i = 0; i < BATCHES; i++) {
            struct tp_client_reply reply;
            if (i == (uint32_t)(4 * round % BATCHES))
                wire_daemon_kill(victim);
            ok(tp_client_collect(client_, changes_sent[i], &reply, CALL_MS));
            uint64_t at = reply.changed.version - first;
            ck_assert_msg(at < BATCHES && !seen[at], "round %d, batch %u made version %llu of %llu to %llu", round, i,
                          (unsigned long long)reply.changed.version, (unsigned long long)first, (unsigned long long)first + BATCHES - 1);
            ck_assert_uint_eq(reply.changed.epoch, subscribed.epoch);
            seen[at] = true;
            ok(tp_client_collect(client_, ticks_sent[i], &reply, CALL_MS));
            walkers_take(walkers, AGENTS, &reply.ticked, SIDE);
        }
        struct tp_client_map map;
        ok(tp_client_open_map(client_, "m", 0, &map, CALL_MS));
        ck_assert_uint_eq(map.version, first + BATCHES - 1);
        ck_assert_uint_eq(map.epoch, subscribed.epoch);
        char listen[32];
        snprintf(listen, sizeof listen, "127.0.0.1:%u", victim->port);
        wire_daemon_start(victim, "--redis", redis_.url, "--listen", listen, NULL);
    }
    ck_assert_uint_ge(told_.back, ROUNDS - 1); /* a round may be answered whole before the kill */
    ck_assert_uint_eq(told_.epochs, 0);
    ck_assert_uint_eq(told_.gone, 0);
    uint64_t version = subscribed.version; /* the pushes tell all of it, without a gap */
    struct tp_client_push push;
    while (version < 1 + ROUNDS * BATCHES) {
        ok(tp_client_next_push(client_, &push, CALL_MS));
        ck_assert_uint_eq(push.from_version, version);
        ck_assert_uint_eq(push.epoch, subscribed.epoch);
        ck_assert(!push.resync);
        version = push.version;
    }
    ck_assert_uint_eq(version, 1 + ROUNDS * BATCHES);
    printf("%u failovers, the last took %u ms\n", told_.back, told_.pause_ms);
}
END_TEST

/* Another program puts the map anew on the other daemon, and then drops it: the ticks of this one say so, and its agent walks on on the
 * new one from where it stands, or is gone. */
START_TEST(map_is_put_anew)
{
    struct walker walker;
    struct tp_client_map map;
    client_ = walkers_connect(daemons_[0].port, daemons_[1].port, (struct tp_client_options){.patience_ms = 30000}, &told_);
    walkers_put_map_on(client_, "m", SIDE);
    walkers_open(client_, &walker, 1, SIDE);
    ok(tp_client_open_map(client_, "m", 0, &map, CALL_MS));
    uint64_t epoch = map.epoch;
    struct tp_client *other = walkers_connect_plain(daemons_[1].port);
    for (int way = 0; way < 2; way++) {
        uint8_t cells[SIDE * SIDE];
        struct tp_client_ticked ticked = {.refused_count = 0};
        const struct tp_client_tick tick = {.sessions = &walker.session, .session_count = 1};
        memset(cells, '.', sizeof cells);
        for (int i = 0; i < 5; i++) {
            ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
            walkers_take(&walker, 1, &ticked, SIDE);
        }
        if (way == 0)
            ok_on(other, tp_client_put_map(other, "m", SIDE, SIDE, cells, NULL, 0, true, &map, CALL_MS));
        else
            ok_on(other, tp_client_drop_map(other, "m", 0, CALL_MS));
        for (uint64_t until = wire_now_ms() + CALL_MS; ticked.refused_count == 0 && wire_now_ms() < until;) {
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* or it arrives before the news does */
            ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
            if (ticked.refused_count == 0)
                walkers_take(&walker, 1, &ticked, SIDE);
        }
        ck_assert_uint_eq(ticked.refused_count, 1);
        ck_assert_uint_eq(ticked.refused[0].session, walker.session);
        ck_assert_int_eq(ticked.refused[0].code, way == 0 ? TP_CLIENT_VERSION_MISMATCH : TP_CLIENT_NOT_FOUND);
        if (way == 0) { /* likewise a goal that is set when the session has ended */
            epoch = map.epoch;
            walker.goal = SIDE * SIDE - SIDE;
            struct tp_client *third = walkers_connect_plain(daemons_[1].port);
            ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
            walkers_take(&walker, 1, &ticked, SIDE);
            ok_on(third, tp_client_put_map(third, "m", SIDE, SIDE, cells, NULL, 0, true, &map, CALL_MS));
            tp_client_close(third);
            for (unsigned epochs = told_.epochs; told_.epochs == epochs;)
                ok(tp_client_set_goal(client_, walker.session, walker.goal, CALL_MS));
        }
        ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
        if (way == 0) {
            ck_assert_uint_ne(map.epoch, epoch);
            ck_assert_uint_eq(told_.epochs, 2);
            ck_assert_uint_eq(told_.old_epoch, epoch);
            ck_assert_uint_eq(told_.epoch, map.epoch);
        }
        ck_assert_uint_eq(ticked.count, way == 0 ? 1 : 0);
        ck_assert_uint_eq(told_.gone, way == 0 ? 0 : 1);
        for (int i = 0; way == 0 && i < 4 * SIDE && !walker.arrived; i++) {
            walkers_take(&walker, 1, &ticked, SIDE);
            ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
        }
        ck_assert(way == 1 || walker.arrived);
    }
    ck_assert_uint_eq(told_.lost, 0);

    /* who was told to be gone stays so, though the daemon that takes over has a map of that name */
    uint8_t free_cells[SIDE * SIDE];
    struct tp_client_ticked after;
    const struct tp_client_tick all = {.all = true};
    memset(free_cells, '.', sizeof free_cells);
    ok_on(other, tp_client_put_map(other, "m", SIDE, SIDE, free_cells, NULL, 0, true, &map, CALL_MS));
    wire_daemon_kill(&daemons_[0]);
    ok(tp_client_tick(client_, &all, &after, CALL_MS));
    ck_assert_uint_eq(told_.back, 1);
    ck_assert_uint_eq(after.count, 0);
    ck_assert_uint_eq(told_.gone, 1);
    tp_client_close(other);
}
END_TEST

static Suite *fleet_suite(void)
{
    Suite *suite = suite_create("client_fleet");
    TCase *cases = tcase_create("fleet");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, on_their_way);
    tcase_add_test(cases, map_is_put_anew);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_client_fleet", fleet_suite);
}
