/* A connection with a list of daemons (tp_client_open_any) whose daemon goes away: killed, stopped, shut down, started again; real ones, but
 * where a peer has to go away in the middle of something.
 */
#include "client/tickpath_client.h"
#include "tests/lib/harness.h"
#include "tests/lib/peer.h"
#include "tests/lib/walkers.h"
#include "tests/lib/wire.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALL_MS = WIRE_TIMEOUT_MS, SIDE = 64, AGENTS = 12, TICKS_MAX = 2000 };

static struct wire_daemon one_, two_;
static struct tp_client *client_;
static struct told told_;

#define ok(call) ok_on(client_, call)

static void begin(void)
{
    memset(&told_, 0, sizeof told_);
    client_ = NULL;
    wire_daemon_init(&one_);
    wire_daemon_init(&two_);
    wire_daemon_start(&one_, NULL);
    wire_daemon_start(&two_, NULL);
}

static void end(void)
{
    tp_client_close(client_);
    if (one_.pid != 0)
        wire_daemon_stop(&one_);
    if (two_.pid != 0)
        wire_daemon_stop(&two_);
    wire_daemon_fini(&one_);
    wire_daemon_fini(&two_);
}

/* Opens client_ with failover; port 0: no second address. */
static void open_any(uint16_t first, uint16_t second, struct tp_client_options options)
{
    client_ = walkers_connect(first, second, options, &told_);
}

static size_t tick_all(struct walker *walkers, size_t count, uint32_t side, uint64_t *number)
{
    const struct tp_client_tick tick = {.all = true};
    struct tp_client_ticked ticked;
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.tick, ++*number);
    return walkers_take(walkers, count, &ticked, side);
}

/* How a daemon goes away. */
enum way { KILLED, STOPPED, SHUT_DOWN, WAYS };

static void go_away(struct wire_daemon *daemon, int way)
{
    if (way == KILLED)
        wire_daemon_kill(daemon);
    else
        kill(daemon->pid, way == STOPPED ? SIGSTOP : SIGTERM);
}

START_TEST(agents_walk_on)
{
    struct walker walkers[AGENTS];
    walkers_put_map(one_.port, "m", SIDE);
    walkers_put_map(two_.port, "m", SIDE);
    open_any(one_.port, two_.port, (struct tp_client_options){.stall_ms = 1500});
    walkers_open(client_, walkers, AGENTS, SIDE);
    uint64_t number = 0;
    for (int i = 0; i < 20; i++)
        ck_assert_uint_eq(tick_all(walkers, AGENTS, SIDE, &number), 0);
    go_away(&one_, _i);
    size_t arrived = 0;
    for (int i = 0; i < TICKS_MAX && arrived < AGENTS; i++)
        arrived = tick_all(walkers, AGENTS, SIDE, &number);
    ck_assert_uint_eq(arrived, AGENTS);
    if (_i == SHUT_DOWN && told_.lost == 0) { /* it answers as long as it is asked, and ends when it is left alone */
        wire_daemon_expect_exit(&one_, 0);
        tick_all(walkers, AGENTS, SIDE, &number);
    }
    ck_assert_uint_eq(told_.lost, 1);
    ck_assert_uint_eq(told_.back, 1);
    ck_assert_uint_eq(told_.epochs, 1); /* each daemon has a map of its own */
    ck_assert_uint_eq(told_.gone, 0);
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", two_.port);
    ck_assert_str_eq(tp_client_address(client_), address);
    struct tp_client_listing listing;
    ok(tp_client_list(client_, TP_CLIENT_LIST_SESSIONS, &listing, CALL_MS));
    ck_assert_uint_eq(listing.session_count, AGENTS);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_eq(listing.sessions[i].id, walkers[i].session);
    struct tp_client_dump dump;
    ok(tp_client_dump_session(client_, walkers[2].session, NULL, &dump, CALL_MS));
    ck_assert_uint_eq(dump.session, walkers[2].session);
    uint32_t closed;
    ok(tp_client_close_sessions(client_, &walkers[3].session, 1, &closed, CALL_MS));
    ck_assert_uint_eq(closed, 1);
    const struct tp_client_tick tick = {.sessions = &walkers[3].session, .session_count = 1};
    struct tp_client_ticked ticked;
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.refused_count, 1);
    ck_assert_uint_eq(ticked.refused[0].session, walkers[3].session);
    ck_assert_int_eq(ticked.refused[0].code, TP_CLIENT_NOT_FOUND);
    if (_i == STOPPED)
        wire_daemon_kill(&one_);
    printf("way %d: the pause was %u ms\n", _i, told_.pause_ms);
}
END_TEST

/* Batches and ticks are on their way when the daemon is killed; it comes back with its data. Each batch is applied once. */
START_TEST(on_their_way)
{
    enum { BATCHES = 24 };
    struct walker walkers[AGENTS];
    char data[128], listen[32];
    snprintf(data, sizeof data, "%s/data", one_.folder);
    wire_daemon_stop(&one_);
    wire_daemon_start(&one_, "--data", data, NULL);
    snprintf(listen, sizeof listen, "127.0.0.1:%u", one_.port);
    open_any(one_.port, 0, (struct tp_client_options){.patience_ms = 60000});
    walkers_put_map_on(client_, "m", SIDE);
    walkers_open(client_, walkers, AGENTS, SIDE);
    for (int round = 0; round < 4; round++) {
        uint64_t changes_sent[BATCHES], ticks_sent[BATCHES];
        bool seen[BATCHES] = {false};
        for (uint32_t i = 0; i < BATCHES; i++) {
            const uint32_t cell = SIDE * 20 + i, terrain = (i + (uint32_t)round) % 2 ? 'T' : '.';
            const struct tp_client_changes changes = {
                .map = "m", .cells = &cell, .cell_count = 1, .cell_terrains = &terrain, .cell_terrain_count = 1};
            const struct tp_client_tick tick = {.all = true};
            ok(tp_client_send_change(client_, &changes, &changes_sent[i], CALL_MS));
            ok(tp_client_send_tick(client_, &tick, &ticks_sent[i], CALL_MS));
        }
        struct tp_client_reply reply;
        for (int i = 0; i < 5 * round; i++) { /* some have been answered */
            ok(tp_client_collect(client_, changes_sent[i], &reply, CALL_MS));
            seen[reply.changed.version - 2 - (uint64_t)(round * BATCHES)] = true;
        }
        wire_daemon_kill(&one_);
        wire_daemon_start(&one_, "--data", data, "--listen", listen, NULL);
        for (uint32_t i = 0; i < BATCHES; i++) {
            if (i >= (uint32_t)(5 * round)) {
                ok(tp_client_collect(client_, changes_sent[i], &reply, CALL_MS));
                uint64_t at = reply.changed.version - 2 - (uint64_t)(round * BATCHES);
                ck_assert_uint_lt(at, BATCHES);
                ck_assert(!seen[at]);
                seen[at] = true;
            }
            ok(tp_client_collect(client_, ticks_sent[i], &reply, CALL_MS));
            walkers_take(walkers, AGENTS, &reply.ticked, SIDE);
        }
        struct tp_client_map map;
        ok(tp_client_open_map(client_, "m", 0, &map, CALL_MS));
        ck_assert_uint_eq(map.version, 1 + (uint64_t)(round + 1) * BATCHES);
    }
    ck_assert_uint_ge(told_.back, 4);
    ck_assert_uint_eq(told_.epochs, 0);
}
END_TEST

/* More is on its way than the output holds, so that answers come while the rest is still being sent again. */
START_TEST(more_than_fits)
{
    enum { CELLS = 60000, BATCHES_MAX = 1000 };
    static uint32_t cells[CELLS];
    static uint64_t tickets[BATCHES_MAX];
    const uint32_t terrain = 'T';
    walkers_put_map(one_.port, "m", SIDE);
    walkers_put_map(two_.port, "m", SIDE);
    open_any(one_.port, two_.port, (struct tp_client_options){.patience_ms = 60000, .stall_ms = 60000});
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = 128 + i % (SIDE * SIDE - 128);
    const struct tp_client_changes changes = {
        .map = "m", .cells = cells, .cell_count = CELLS, .cell_terrains = &terrain, .cell_terrain_count = 1};
    ok(tp_client_open_map(client_, "m", 0, NULL, CALL_MS));
    kill(one_.pid, SIGSTOP);
    size_t sent = 0;
    while (sent < BATCHES_MAX && tp_client_send_change(client_, &changes, &tickets[sent], 0) == 0)
        sent++;
    ck_assert_int_eq(tp_client_error(client_)->code, TP_CLIENT_TIMEOUT);
    ck_assert_uint_gt(sent, 50);
    printf("%zu batches on their way\n", sent);
    wire_daemon_kill(&one_);
    struct tp_client_reply reply;
    for (size_t i = 0; i < sent; i++) {
        ok(tp_client_collect(client_, tickets[i], &reply, CALL_MS));
        ck_assert_uint_eq(reply.changed.version, 2 + i);
        ck_assert_uint_eq(reply.changed.epoch, told_.epoch);
    }
    ck_assert_uint_eq(tp_client_outstanding(client_), 0);
}
END_TEST

/* The time that a failover takes is not the call's, wherever in the call it falls. */
START_TEST(calls_have_their_time)
{
    open_any(one_.port, two_.port, (struct tp_client_options){.patience_ms = 20000});
    ok(tp_client_ping(client_, NULL, 0, CALL_MS));
    kill(two_.pid, SIGSTOP);
    wire_daemon_kill(&one_);
    pid_t waker = tp_test_fork();
    if (waker == 0) {
        usleep(1000000);
        kill(two_.pid, SIGCONT);
        _exit(0);
    }
    uint64_t tickets[2]; /* the second, or the first, finds the connection lost */
    ok(tp_client_send_ping(client_, NULL, 0, &tickets[0], 300));
    ok(tp_client_send_ping(client_, NULL, 0, &tickets[1], 300));
    ok(tp_client_ping(client_, "x", 1, 300));
    ok(tp_client_collect(client_, tickets[0], NULL, 300));
    ok(tp_client_collect(client_, tickets[1], NULL, 300));
    ck_assert_uint_ge(told_.pause_ms, 600);
    ck_assert_int_eq(waitpid(waker, NULL, 0), waker);
}
END_TEST

START_TEST(patience_is_over)
{
    open_any(one_.port, two_.port, (struct tp_client_options){.patience_ms = 700});
    walkers_put_map_on(client_, "m", 8);
    uint64_t ticket, answered;
    ok(tp_client_send_ping(client_, NULL, 0, &answered, CALL_MS));
    ok(tp_client_ping(client_, NULL, 0, CALL_MS)); /* the one before is answered then */
    ok(tp_client_send_ping(client_, NULL, 0, &ticket, CALL_MS));
    wire_daemon_kill(&one_);
    wire_daemon_kill(&two_);
    uint64_t began = wire_now_ms();
    int result = tp_client_ping(client_, NULL, 0, CALL_MS);
    ck_assert_int_eq(result, TP_CLIENT_UNAVAILABLE);
    ck_assert_uint_ge(wire_now_ms() - began, 600);
    ck_assert_uint_lt(wire_now_ms() - began, 5000);
    const struct tp_client_error *error = tp_client_error(client_);
    ck_assert(!error->from_server);
    ck_assert_ptr_nonnull(strstr(error->message, "no daemon of 127.0.0.1:"));
    ck_assert_ptr_nonnull(strstr(error->message, "refused"));
    ck_assert_uint_gt(told_.failed, 1);
    began = wire_now_ms();
    ck_assert_int_eq(tp_client_ping(client_, NULL, 0, CALL_MS), TP_CLIENT_UNAVAILABLE);
    ck_assert_uint_lt(wire_now_ms() - began, 500);
    ok(tp_client_collect(client_, answered, NULL, CALL_MS));
    ck_assert_int_ne(tp_client_collect(client_, ticket, NULL, CALL_MS), TP_CLIENT_TIMEOUT);
}
END_TEST

/* ---- maps that the other daemon has not, or has otherwise ---- */

static int put_it_there(struct tp_client *daemon, const char *map, const struct tp_client_map *there, void *context)
{
    struct told *told = context;
    told->asked++;
    ck_assert_str_eq(map, "m");
    ck_assert_ptr_null(there);
    walkers_put_map_on(daemon, map, SIDE);
    return 0;
}

START_TEST(map_is_put_there)
{
    struct walker walkers[AGENTS];
    static const struct tp_client_weight weights[] = {{'.', 2}};
    open_any(one_.port, two_.port, (struct tp_client_options){.map_cb = put_it_there});
    walkers_put_map_on(client_, "m", SIDE);
    ok(tp_client_put_profile(client_, "m", "slow", weights, 1, CALL_MS));
    const struct tp_client_session_params params = {.map = "m", .goal = 40, .profile = "slow"};
    struct tp_client_session session;
    ok(tp_client_open_session(client_, &params, &session, CALL_MS));
    ok(tp_client_close_sessions(client_, &session.id, 1, NULL, CALL_MS));
    walkers_open(client_, walkers, AGENTS, SIDE);
    ok(tp_client_open_session(client_, &params, &session, CALL_MS));
    uint64_t slow = session.id;
    wire_daemon_kill(&one_);
    const struct tp_client_tick tick = {.sessions = &slow, .session_count = 1};
    struct tp_client_ticked ticked;
    uint32_t before = 0;
    for (int i = 0; i < 10; i++) {
        ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
        ck_assert_uint_eq(ticked.count, 1);
        ck_assert_uint_eq(ticked.sessions[0], slow);
        before += ticked.statuses[0] == TP_CLIENT_MOVING;
        ck_assert_uint_eq(ticked.costs[0], before * 2 * TP_CLIENT_COST_UNIT); /* weight 2: the profile is there */
    }
    ck_assert_uint_gt(before, 0);
    ck_assert_uint_eq(told_.asked, 1);
    ck_assert_uint_eq(told_.epochs, 1);
}
END_TEST

/* Nobody has the map any more: the sessions on it are gone, those of another are not. */
START_TEST(map_is_nowhere)
{
    struct walker walkers[2];
    open_any(one_.port, two_.port, (struct tp_client_options){.patience_ms = 20000});
    walkers_put_map_on(client_, "m", SIDE);
    walkers_put_map_on(client_, "other", SIDE);
    walkers_put_map(two_.port, "other", SIDE);
    walkers_open(client_, walkers, 2, SIDE);
    const struct tp_client_session_params params = {.map = "other", .start = 3, .goal = 40};
    struct tp_client_session session;
    ok(tp_client_open_session(client_, &params, &session, CALL_MS));
    struct tp_client_subscribed subscribed;
    ok(tp_client_subscribe(client_, "m", false, &subscribed, CALL_MS));
    wire_daemon_kill(&one_);
    const uint64_t sessions[] = {walkers[0].session, session.id, walkers[1].session};
    const struct tp_client_tick tick = {.sessions = sessions, .session_count = 3};
    struct tp_client_ticked ticked;
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.count, 1);
    ck_assert_uint_eq(ticked.sessions[0], session.id);
    ck_assert_uint_eq(ticked.refused_count, 2);
    ck_assert_uint_eq(ticked.refused[1].session, walkers[1].session);
    ck_assert_int_eq(ticked.refused[1].code, TP_CLIENT_NOT_FOUND);
    ck_assert_uint_eq(told_.gone, 2);
    ck_assert_uint_eq(told_.session_gone, walkers[1].session);
    struct tp_client_push push;
    ok(tp_client_next_push(client_, &push, CALL_MS));
    ck_assert_str_eq(push.map, "m");
    ck_assert(push.dropped);
}
END_TEST

/* The other daemon's map of that name is smaller: who stands outside of it is gone, the others walk on. */
START_TEST(map_is_smaller)
{
    struct walker walkers[2];
    walkers_put_map(one_.port, "m", SIDE);
    walkers_put_map(two_.port, "m", 8);
    open_any(one_.port, two_.port, (struct tp_client_options){.patience_ms = 20000});
    walkers_open(client_, walkers, 2, 8);
    const struct tp_client_session_params params = {.map = "m", .start = SIDE * SIDE - 1, .goal = 5};
    struct tp_client_session far;
    ok(tp_client_open_session(client_, &params, &far, CALL_MS));
    wire_daemon_kill(&one_);
    const struct tp_client_tick tick = {.all = true};
    struct tp_client_ticked ticked;
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.count, 2);
    ck_assert_uint_eq(told_.gone, 1);
    ck_assert_uint_eq(told_.session_gone, far.id);
}
END_TEST

START_TEST(subscriber_is_told)
{
    walkers_put_map(one_.port, "m", SIDE);
    walkers_put_map(two_.port, "m", SIDE);
    open_any(one_.port, two_.port, (struct tp_client_options){.patience_ms = 20000});
    struct tp_client_subscribed subscribed;
    ok(tp_client_subscribe(client_, "m", true, &subscribed, CALL_MS));
    wire_daemon_kill(&one_);
    struct tp_client_push push;
    ok(tp_client_next_push(client_, &push, CALL_MS));
    ck_assert_str_eq(push.map, "m");
    ck_assert(push.resync);
    ck_assert_uint_ne(push.epoch, subscribed.epoch);
    ck_assert_uint_eq(push.epoch, told_.epoch);
    ck_assert_uint_eq(told_.old_epoch, subscribed.epoch);
    const uint32_t cell = 77, terrain = '@';
    const struct tp_client_changes changes = {
        .map = "m", .cells = &cell, .cell_count = 1, .cell_terrains = &terrain, .cell_terrain_count = 1};
    struct tp_client *other = walkers_connect_plain(two_.port);
    ok_on(other, tp_client_change(other, &changes, NULL, CALL_MS));
    tp_client_close(other);
    ok(tp_client_next_push(client_, &push, CALL_MS));
    ck_assert(!push.resync);
    ck_assert_uint_eq(push.version, 2);
    ck_assert_uint_eq(push.cell_count, 1);
    ck_assert_uint_eq(push.cells[0], 77);
}
END_TEST

/* A map begins anew on the daemon that the connection stays on: who subscribed is told once. */
START_TEST(subscriber_is_told_of_a_new_epoch)
{
    uint8_t cells[SIDE * SIDE];
    struct tp_client_subscribed subscribed;
    struct tp_client_push push;
    memset(cells, '.', sizeof cells);
    walkers_put_map(one_.port, "m", SIDE);
    open_any(one_.port, 0, (struct tp_client_options){.patience_ms = 20000});
    ok(tp_client_subscribe(client_, "m", false, &subscribed, CALL_MS));
    struct tp_client *other = walkers_connect_plain(one_.port);
    ok_on(other, tp_client_put_map(other, "m", SIDE, SIDE, cells, NULL, 0, true, NULL, CALL_MS));
    tp_client_close(other);
    ok(tp_client_next_push(client_, &push, CALL_MS));
    ck_assert_uint_ne(push.epoch, subscribed.epoch);
    ck_assert_uint_eq(told_.epochs, 1);
    ck_assert_uint_eq(told_.old_epoch, subscribed.epoch);
    ck_assert_uint_eq(told_.epoch, push.epoch);
    ok(tp_client_open_map(client_, "m", 0, NULL, CALL_MS));
    ck_assert_uint_eq(told_.epochs, 1);
}
END_TEST

/* ---- peers that go away in the middle ---- */

/* A daemon that ends whenever a map is put; the next one listens at once. */
struct fragile {
    int listener;
    uint16_t port;
    unsigned connections;
};

static void *serve_until_a_map_is_put(void *argument)
{
    struct fragile *fragile = argument;
    for (int fd; (fd = accept(fragile->listener, NULL, NULL)) >= 0; close(fd)) {
        fragile->connections++;
        peer_greet(fd);
        bool is_put = false;
        for (Tickpath__Request *request; !is_put && (request = peer_request(fd)) != NULL;) {
            Tickpath__Pong pong = TICKPATH__PONG__INIT;
            is_put = request->body_case == TICKPATH__REQUEST__BODY_PUT_MAP;
            if (!is_put)
                peer_reply(fd, request->id, TICKPATH__REPLY__BODY_PONG, &pong);
            tickpath__request__free_unpacked(request, NULL);
        }
    }
    return NULL;
}

/* An upload that no daemon lives through is given up, and the connection is good for other things. */
START_TEST(upload_that_ends_every_daemon)
{
    enum { UPLOADS = 8 };
    struct fragile fragile = {.connections = 0};
    uint8_t cells[SIDE * SIDE];
    pthread_t thread;
    memset(cells, '.', sizeof cells);
    fragile.listener = peer_listen(&fragile.port);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve_until_a_map_is_put, &fragile), 0);
    open_any(fragile.port, fragile.port, (struct tp_client_options){.patience_ms = 20000});
    int result = tp_client_put_map(client_, "m", SIDE, SIDE, cells, NULL, 0, false, NULL, CALL_MS);
    ck_assert_int_eq(result, TP_CLIENT_UNAVAILABLE);
    ck_assert_msg(strstr(tp_client_error(client_)->message, "upload of m was cut 8 times") != NULL, "%s", tp_client_error(client_)->message);
    ok(tp_client_ping(client_, NULL, 0, CALL_MS));
    tp_client_close(client_);
    client_ = NULL;
    shutdown(fragile.listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(fragile.listener);
    ck_assert_uint_eq(fragile.connections, UPLOADS + 1);
}
END_TEST

/* Takes a part of a map, and leaves; with `argument` 1 it puts the map on the second daemon before, as a daemon does whose last word
 * is lost, or 2 another one. */
static void script_cut_upload(int fd, uint64_t argument)
{
    peer_greet(fd);
    Tickpath__Request *request = peer_request(fd);
    ck_assert_ptr_nonnull(request);
    tickpath__request__free_unpacked(request, NULL);
    if (argument != 0)
        walkers_put_map(two_.port, "m", argument == 1 ? SIDE : SIDE + 1);
}

START_TEST(upload_begins_anew)
{
    struct peer peer;
    struct tp_client_map map;
    uint8_t cells[SIDE * SIDE];
    memset(cells, '.', sizeof cells);
    peer_start(&peer, script_cut_upload, (uint64_t)_i);
    open_any(peer.port, two_.port, (struct tp_client_options){.patience_ms = 20000});
    int result = tp_client_put_map(client_, "m", SIDE, SIDE, cells, NULL, 0, false, &map, CALL_MS);
    peer_join(&peer);
    ck_assert_int_eq(result, _i == 2 ? TP_CLIENT_ALREADY_EXISTS : 0);
    ck_assert_uint_eq(told_.back, 1);
    ok(tp_client_open_map(client_, "m", 0, &map, CALL_MS));
    ck_assert_uint_eq(map.width, _i == 2 ? SIDE + 1 : SIDE);
}
END_TEST

/* Shuts down: opens nothing new, and says so. */
static void script_shut_down(int fd, uint64_t argument)
{
    (void)argument;
    peer_greet(fd);
    Tickpath__Error error = TICKPATH__ERROR__INIT;
    error.has_code = 1;
    error.code = TICKPATH__ERROR_CODE__SHUTTING_DOWN;
    error.message = (char *)"it drains";
    peer_reply(fd, peer_id(fd), TICKPATH__REPLY__BODY_ERROR, &error);
    peer_wait_for_end(fd);
}

START_TEST(nothing_new_is_opened)
{
    struct peer peer;
    struct walker walker;
    uint64_t number = 0;
    walkers_put_map(two_.port, "m", SIDE);
    peer_start(&peer, script_shut_down, 0);
    open_any(peer.port, two_.port, (struct tp_client_options){.patience_ms = 20000});
    walkers_open(client_, &walker, 1, SIDE);
    tick_all(&walker, 1, SIDE, &number);
    peer_join(&peer);
    ck_assert_int_eq(told_.lost_code, TP_CLIENT_SHUTTING_DOWN);
    ck_assert_uint_eq(told_.lost, 1);
}
END_TEST

/* Takes a request and answers that it can't be done now. */
static void refuse_for_now(int fd)
{
    Tickpath__Error error = TICKPATH__ERROR__INIT;
    error.has_code = 1;
    error.code = TICKPATH__ERROR_CODE__UNAVAILABLE;
    Tickpath__Request *open = peer_request(fd);
    ck_assert_int_eq(open->body_case, TICKPATH__REQUEST__BODY_OPEN_SESSION);
    peer_reply(fd, open->id, TICKPATH__REPLY__BODY_ERROR, &error);
    tickpath__request__free_unpacked(open, NULL);
}

/* Takes a tick of a session that is not open. */
static void refuse_tick(int fd)
{
    Tickpath__Request *tick = peer_request(fd);
    ck_assert_int_eq(tick->body_case, TICKPATH__REQUEST__BODY_TICK);
    Tickpath__Refused refused = TICKPATH__REFUSED__INIT, *refuseds = &refused;
    refused.has_session = refused.has_code = 1;
    refused.session = tick->tick->session[0];
    ck_assert_uint_ne(refused.session, 105);
    refused.code = TICKPATH__ERROR_CODE__NOT_FOUND;
    Tickpath__Ticked ticked = TICKPATH__TICKED__INIT;
    ticked.refused = &refuseds;
    ticked.n_refused = 1;
    peer_reply(fd, tick->id, TICKPATH__REPLY__BODY_TICKED, &ticked);
    tickpath__request__free_unpacked(tick, NULL);
}

/* A session's map begins a new epoch while the connection lives: the tick says so, and the next one finds the session opened again. */
static void script_new_epoch(int fd, uint64_t argument)
{
    peer_greet(fd);
    Tickpath__SessionOpened opened = TICKPATH__SESSION_OPENED__INIT;
    opened.has_session = opened.has_epoch = opened.has_version = 1;
    for (uint64_t epoch = 5; epoch <= 6; epoch++) {
        if (epoch == 6) {
            Tickpath__SessionsClosed closed = TICKPATH__SESSIONS_CLOSED__INIT;
            Tickpath__Request *close = peer_request(fd);
            ck_assert_int_eq(close->body_case, TICKPATH__REQUEST__BODY_CLOSE_SESSION);
            ck_assert_uint_eq(close->close_session->session[0], 105);
            peer_reply(fd, close->id, TICKPATH__REPLY__BODY_SESSIONS_CLOSED, &closed);
            tickpath__request__free_unpacked(close, NULL);
            if (argument == 1) { /* it can't be opened at once */
                refuse_for_now(fd);
                refuse_tick(fd);
            }
        }
        Tickpath__Request *open = peer_request(fd);
        ck_assert_int_eq(open->body_case, TICKPATH__REQUEST__BODY_OPEN_SESSION);
        ck_assert_uint_eq(open->open_session->start, epoch == 5 ? 10 : 11);
        ck_assert_uint_eq(open->open_session->priority, 77);
        ck_assert_int_eq(open->open_session->has_epoch, epoch == 5);
        opened.session = 100 + epoch;
        opened.epoch = epoch;
        opened.version = 1;
        peer_reply(fd, open->id, TICKPATH__REPLY__BODY_SESSION_OPENED, &opened);
        tickpath__request__free_unpacked(open, NULL);
        for (int i = 0; i < (epoch == 5 ? 2 : 1); i++) {
            Tickpath__Request *tick = peer_request(fd);
            ck_assert_int_eq(tick->body_case, TICKPATH__REQUEST__BODY_TICK);
            uint64_t session = 100 + epoch, version = 1, cost = 3194;
            uint32_t cell = epoch == 5 ? 11 : 12, status = TICKPATH__STATUS__MOVING, flags = 0;
            ck_assert_uint_eq(tick->tick->session[0], session);
            Tickpath__Refused refused = TICKPATH__REFUSED__INIT, *refuseds = &refused;
            refused.has_session = refused.has_code = refused.has_epoch = refused.has_version = 1;
            refused.session = session;
            refused.code = TICKPATH__ERROR_CODE__VERSION_MISMATCH;
            refused.epoch = 6;
            refused.version = 1;
            Tickpath__Ticked ticked = TICKPATH__TICKED__INIT;
            ticked.has_tick = 1;
            ticked.tick = (uint64_t)i + 1;
            if (i == 1) {
                ticked.refused = &refuseds;
                ticked.n_refused = 1;
            } else {
                ticked.n_session = ticked.n_cell = ticked.n_status = ticked.n_flags = ticked.n_version = ticked.n_cost = 1;
                ticked.session = &session;
                ticked.cell = &cell;
                ticked.status = &status;
                ticked.flags = &flags;
                ticked.version = &version;
                ticked.cost = &cost;
            }
            peer_reply(fd, tick->id, TICKPATH__REPLY__BODY_TICKED, &ticked);
            tickpath__request__free_unpacked(tick, NULL);
        }
    }
    peer_wait_for_end(fd);
}

START_TEST(map_begins_a_new_epoch)
{
    struct peer peer;
    peer_start(&peer, script_new_epoch, (uint64_t)_i);
    open_any(peer.port, 0, (struct tp_client_options){.patience_ms = 1000});
    const struct tp_client_session_params params = {.map = "m", .start = 10, .goal = 20, .priority = 77, .epoch = 5};
    struct tp_client_session session;
    struct tp_client_ticked ticked;
    ok(tp_client_open_session(client_, &params, &session, CALL_MS));
    const struct tp_client_tick tick = {.sessions = &session.id, .session_count = 1};
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.cells[0], 11);
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    ck_assert_uint_eq(ticked.refused_count, 1);
    ck_assert_uint_eq(ticked.refused[0].session, session.id);
    ck_assert_int_eq(ticked.refused[0].code, TP_CLIENT_VERSION_MISMATCH);
    ck_assert_uint_eq(ticked.refused[0].epoch, 6);
    ck_assert_uint_eq(told_.epochs, 1);
    ck_assert_uint_eq(told_.old_epoch, 5);
    ck_assert_uint_eq(told_.epoch, 6);
    ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    if (_i == 1) {
        ck_assert_uint_eq(ticked.refused_count, 1);
        ck_assert_uint_eq(ticked.refused[0].session, session.id);
        ck_assert_int_eq(ticked.refused[0].code, TP_CLIENT_NOT_FOUND);
        ok(tp_client_tick(client_, &tick, &ticked, CALL_MS));
    }
    ck_assert_uint_eq(told_.gone, 0);
    ck_assert_uint_eq(ticked.count, 1);
    ck_assert_uint_eq(ticked.sessions[0], session.id);
    ck_assert_uint_eq(ticked.cells[0], 12);
    ck_assert_uint_eq(ticked.costs[0], 2 * 3194);
    ck_assert_uint_eq(told_.lost, 0);
    tp_client_close(client_);
    client_ = NULL;
    peer_join(&peer);
}
END_TEST

/* ---- opening ---- */

START_TEST(opening)
{
    static const char *const wrong[] = {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", ":7878", "127.0.0.1:7878,", "a:1,,b:2", "a:70000", "a:1x", "[]:5"};
    struct tp_client_error error;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct tp_client_options options = {.addresses = wrong[i]};
        ck_assert_int_eq(tp_client_open_any(&client_, &options, CALL_MS, &error), TP_CLIENT_INVALID_ARGUMENT);
        ck_assert_ptr_null(client_);
    }
    ck_assert_int_eq(tp_client_open_any(&client_, NULL, CALL_MS, &error), TP_CLIENT_INVALID_ARGUMENT);
    uint16_t port;
    close(peer_listen(&port));
    char list[64];
    snprintf(list, sizeof list, "127.0.0.1:%u", port);
    const struct tp_client_options nobody = {.addresses = list};
    ck_assert_int_eq(tp_client_open_any(&client_, &nobody, CALL_MS, &error), TP_CLIENT_UNAVAILABLE);
    ck_assert_ptr_null(client_);
    open_any(port, two_.port, (struct tp_client_options){.patience_ms = 1000}); /* the first is not there */
    snprintf(list, sizeof list, "127.0.0.1:%u", two_.port);
    ck_assert_str_eq(tp_client_address(client_), list);
    ok(tp_client_ping(client_, "x", 1, CALL_MS));
}
END_TEST

static Suite *failover_suite(void)
{
    Suite *suite = suite_create("client_failover");
    TCase *cases = tcase_create("failover");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_loop_test(cases, agents_walk_on, KILLED, WAYS);
    tcase_add_test(cases, on_their_way);
    tcase_add_test(cases, more_than_fits);
    tcase_add_test(cases, calls_have_their_time);
    tcase_add_test(cases, patience_is_over);
    tcase_add_test(cases, map_is_put_there);
    tcase_add_test(cases, map_is_nowhere);
    tcase_add_test(cases, map_is_smaller);
    tcase_add_test(cases, subscriber_is_told);
    tcase_add_test(cases, subscriber_is_told_of_a_new_epoch);
    tcase_add_loop_test(cases, upload_begins_anew, 0, 3);
    tcase_add_test(cases, upload_that_ends_every_daemon);
    tcase_add_test(cases, nothing_new_is_opened);
    tcase_add_loop_test(cases, map_begins_a_new_epoch, 0, 2);
    tcase_add_test(cases, opening);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_client_failover", failover_suite);
}
