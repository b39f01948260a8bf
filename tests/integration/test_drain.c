/* SIGTERM under load: what was asked for in time is answered, who waits to be let in is told, what was acknowledged is kept, and the end comes in
 * its time. A real process each time. */
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SIDE = 512,
    CONNECTIONS = 8,
    SESSIONS = 125, /* of each connection */
    MUCH = 100, /* expansions: 1,000 such sessions keep a loop busy for a tenth of a second */
    LITTLE = 10,
    EXIT_CLEAN = 0,
    EXIT_DROPPED = 13,
};

static struct wire_daemon daemon_;
static struct wire wires[CONNECTIONS];
static int opened; /* of wires */

static void begin(void)
{
    wire_daemon_init(&daemon_);
    opened = 0;
}

static void end(void)
{
    while (opened > 0)
        wire_close(&wires[--opened]);
    wire_daemon_fini(&daemon_);
}

static void terminate(void)
{
    ck_assert_int_eq(kill(daemon_.pid, SIGTERM), 0);
}

/* A map with a goal that can't be had, so that each tick of a session there is so many expansions of work; and a thousand of them. */
static void open_load(uint64_t expansions)
{
    for (; opened < CONNECTIONS; opened++)
        wire_open_greeted(&wires[opened], daemon_.port);
    wire_put_free_map(&wires[0], "m", SIDE, SIDE);
    wire_wall_off(&wires[0], "m", SIDE);
    for (int c = 0; c < CONNECTIONS; c++)
        for (int i = 0; i < SESSIONS; i++)
            wire_open_session(&wires[c], "m", (uint32_t)(i * SIDE + c), SIDE * SIDE - 1, "tbwa", expansions);
}

static void send_tick_all(struct wire *wire)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    wire_send(wire, TICKPATH__REQUEST__BODY_TICK, &tick);
}

/* The next reply is the answer to request `id`, of all the connection's sessions. */
static void expect_ticked(struct wire *wire, uint64_t id)
{
    Tickpath__Reply *reply = wire_recv(wire);
    ck_assert_msg(reply->body_case == TICKPATH__REPLY__BODY_TICKED && reply->id == id,
                  "a reply of kind %d to %llu, where the one to tick %llu was owed", (int)reply->body_case,
                  (unsigned long long)reply->id, (unsigned long long)id);
    ck_assert_uint_eq(reply->ticked->n_cell, SESSIONS);
    wire_reply_free(reply);
}

/* Sends and takes one reply; false: it is that the daemon ends, since this process was so slow that the connection seemed quiet. */
static bool ask(struct wire *wire, Tickpath__Request__BodyCase kind, void *message, Tickpath__Reply **reply)
{
    wire_send(wire, kind, message);
    *reply = wire_recv(wire);
    if ((*reply)->id == wire->sent_id)
        return true;
    wire_reply_free(*reply);
    return false;
}

/* All connections talk, so that none is quiet. False: one was, on a machine that stalls. */
static bool talk(void)
{
    Tickpath__Ping ping = TICKPATH__PING__INIT;
    for (int c = 0; c < opened; c++) {
        Tickpath__Reply *reply;
        if (!ask(&wires[c], TICKPATH__REQUEST__BODY_PING, &ping, &reply))
            return false;
        wire_reply_free(reply);
    }
    return true;
}

/* Tries to open a session, on a map that is not there, until that is refused for the drain, and all talk meanwhile. False: as talk. */
static bool talk_until_refused(void)
{
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = "nowhere";
    open.has_start = open.has_goal = 1;
    for (bool is_refused = false; !is_refused; wire_sleep_ms(5)) { /* the signal travels on its own way */
        Tickpath__Reply *reply;
        if (!talk())
            return false;
        if (!ask(&wires[0], TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, &reply))
            return false;
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_ERROR);
        is_refused = reply->error->code == TICKPATH__ERROR_CODE__SHUTTING_DOWN;
        if (is_refused)
            ck_assert_str_eq(reply->error->message, "the server is draining");
        else
            ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__NOT_FOUND);
        wire_reply_free(reply);
    }
    return true;
}

/* Runs what needs a machine that does not stall for a tenth of a second; when it says that this one did, it is tried again. */
static void try(bool (*run)(void))
{
    for (int tries = 0; !run(); tries++) {
        ck_assert_int_lt(tries, 5);
        end();
        begin();
    }
}

static void expect_all_told(void)
{
    for (int c = 0; c < opened; c++) {
        wire_expect_last_error(&wires[c], TICKPATH__ERROR_CODE__SHUTTING_DOWN);
        wire_close(&wires[c]);
    }
    opened = 0;
    wire_daemon_expect_exit(&daemon_, EXIT_CLEAN);
}

/* What was sent before the signal is answered, on one loop that takes its time. */
START_TEST(test_what_was_sent_is_answered)
{
    enum { PIPELINED = 6 };
    wire_daemon_start(&daemon_, "--drain-ms", "30000", "--threads", "1", NULL);
    open_load(MUCH);
    uint64_t first[CONNECTIONS];
    for (int c = 0; c < CONNECTIONS; c++) {
        first[c] = wires[c].next_id;
        for (int i = 0; i < PIPELINED; i++)
            send_tick_all(&wires[c]);
    }
    terminate();
    for (int c = 0; c < CONNECTIONS; c++)
        for (uint64_t i = 0; i < PIPELINED; i++)
            expect_ticked(&wires[c], first[c] + i);
    expect_all_told();
}
END_TEST

/* While it drains one connection keeps the only loop busy for longer than another may be silent: what the others say meanwhile waits
 * in their sockets, and is owed an answer all the same. */
static bool busy_run(void)
{
    enum { BUSY = 60, LATE_MS = 20, QUIET_MS = 100 };
    wire_daemon_start(&daemon_, "--drain-ms", "30000", "--threads", "1", NULL);
    open_load(MUCH);
    terminate();
    if (!talk_until_refused())
        return false;
    uint64_t first[CONNECTIONS];
    uint64_t began_ms = wire_now_ms();
    first[0] = wires[0].next_id;
    for (int i = 0; i < BUSY; i++)
        send_tick_all(&wires[0]);
    wire_sleep_ms(LATE_MS);
    for (int c = 1; c < CONNECTIONS; c++) {
        first[c] = wires[c].next_id;
        send_tick_all(&wires[c]);
    }
    if (wire_now_ms() - began_ms >= QUIET_MS)
        return false;
    for (uint64_t i = 0; i < BUSY; i++)
        expect_ticked(&wires[0], first[0] + i);
    ck_assert_msg(wire_now_ms() - began_ms > QUIET_MS + LATE_MS, "too fast a machine: the loop was not busy");
    for (int c = 1; c < CONNECTIONS; c++)
        expect_ticked(&wires[c], first[c]);
    expect_all_told();
    return true;
}

START_TEST(test_what_waits_in_sockets_is_answered)
{
    try(busy_run);
}
END_TEST

/* A thousand sessions that are ticked on and on, whoever drains: each connection gets all that it asked for before the signal, and what more
 * it gets is in order and without a gap; the last is that the daemon ends, and it does so in its time, with nobody dropped. */
START_TEST(test_load_without_end)
{
    enum { DRAIN_MS = 4000, IN_FLIGHT = 2 };
    wire_daemon_start(&daemon_, "--drain-ms", "4000", "--threads", "2", NULL);
    open_load(LITTLE); /* what is owed at the last call is done in what is left of the time, on a slow machine too */
    uint64_t due[CONNECTIONS], owed[CONNECTIONS]; /* the id of the next reply; of the last request before the signal */
    for (int c = 0; c < CONNECTIONS; c++) {
        due[c] = wires[c].next_id;
        for (int i = 0; i < IN_FLIGHT; i++)
            send_tick_all(&wires[c]);
        owed[c] = wires[c].sent_id;
    }
    terminate();
    uint64_t began_ms = wire_now_ms();
    int left = CONNECTIONS;
    bool is_told[CONNECTIONS] = {false};
    while (left > 0) {
        for (int c = 0; c < CONNECTIONS; c++) {
            if (is_told[c])
                continue;
            Tickpath__Reply *reply = wire_recv(&wires[c]);
            is_told[c] = reply->body_case == TICKPATH__REPLY__BODY_ERROR;
            if (is_told[c]) {
                ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__SHUTTING_DOWN);
                ck_assert_uint_eq(reply->id, 0);
                ck_assert_msg(due[c] > owed[c], "connection %d was told with the reply to %llu owed", c, (unsigned long long)due[c]);
                ck_assert_int_eq(wire_poll(&wires[c], &(Tickpath__Reply *){NULL}, WIRE_TIMEOUT_MS), WIRE_GOT_CLOSE);
                left--;
            } else {
                ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_TICKED);
                ck_assert_uint_eq(reply->id, due[c]++);
            }
            wire_reply_free(reply);
            Tickpath__Request request = TICKPATH__REQUEST__INIT;
            Tickpath__Tick tick = TICKPATH__TICK__INIT;
            tick.has_all = tick.all = request.has_id = 1;
            request.body_case = TICKPATH__REQUEST__BODY_TICK;
            request.tick = &tick;
            request.id = wires[c].next_id++;
            size_t size;
            uint8_t *frame = wire_frame(&request, &size);
            wire_send_bytes(&wires[c], frame, size); /* it may be closed already */
            free(frame);
        }
    }
    wire_daemon_expect_exit(&daemon_, EXIT_CLEAN);
    uint64_t took_ms = wire_now_ms() - began_ms, more = 0;
    for (int c = 0; c < CONNECTIONS; c++)
        more += due[c] - owed[c] - 1;
    printf("%d sessions drained in %llu ms of %d; %d frames were owed and came, and %llu more\n", CONNECTIONS * SESSIONS,
           (unsigned long long)took_ms, DRAIN_MS, CONNECTIONS * IN_FLIGHT, (unsigned long long)more);
    ck_assert_msg(took_ms >= DRAIN_MS / 2 && took_ms < DRAIN_MS + 1500, "the drain took %llu ms", (unsigned long long)took_ms);
}
END_TEST

static bool can_connect(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_in = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (!is_in)
        ck_assert_int_eq(errno, ECONNREFUSED);
    close(fd);
    return is_in;
}

/* Phase one: not ready, and everything goes on, new connections too. Phase two: opens and connections are refused, ticks served. */
static bool phases_run(void)
{
    wire_daemon_start(&daemon_, "--drain-delay-ms", "1500", "--drain-ms", "8000", "--stats", "127.0.0.1:0", NULL);
    int status;
    char *text = wire_http_get(&daemon_, "/readyz", &status);
    ck_assert_int_eq(status, 200);
    free(text);
    wire_open_greeted(&wires[opened++], daemon_.port);
    struct wire *old = &wires[0];
    wire_put_free_map(old, "m", 8, 8);
    uint64_t session = wire_open_session(old, "m", 0, 63, NULL, 10);
    uint64_t began_ms = wire_now_ms();
    terminate();
    do {
        text = wire_http_get(&daemon_, "/readyz", &status);
        ck_assert_ptr_nonnull(text);
        if (status == 503)
            ck_assert_msg(strstr(text, "draining") != NULL, "%s", text);
        free(text);
    } while (status != 503 && wire_now_ms() < began_ms + 1000);
    ck_assert_int_eq(status, 503);
    text = wire_http_get(&daemon_, "/livez", &status);
    ck_assert_int_eq(status, 200);
    free(text);
    wire_sleep_ms(200); /* longer than a connection may be silent in phase two */
    wire_open_greeted(&wires[opened++], daemon_.port);
    struct wire *new = &wires[1];
    wire_put_free_map(new, "n", 8, 8);
    wire_open_session(new, "n", 0, 63, NULL, 10);
    wire_reply_free(wire_tick(old, session));
    if (wire_now_ms() >= began_ms + 1500 || !talk_until_refused())
        return false;
    ck_assert_uint_ge(wire_now_ms() - began_ms, 1400);
    for (int tries = 0; can_connect(daemon_.port); tries++) {
        ck_assert_int_lt(tries, 1000);
        if (!talk())
            return false;
    }
    wire_reply_free(wire_tick(old, session));
    expect_all_told();
    return true;
}

START_TEST(test_two_phases)
{
    try(phases_run);
}
END_TEST

/* Sends the frame over and over, until the socket has taken no byte for STUCK_MS: the daemon's replies fill both ways' buffers then and it reads no
 * more. A socket that is full for less is only ahead of the daemon. */
static void send_until_stuck(const struct wire *wire, const uint8_t *frame, size_t size)
{
    enum { STUCK_MS = 500 };
    size_t at = 0;
    for (;;) {
        struct pollfd writable = {.fd = wire->fd, .events = POLLOUT};
        if (poll(&writable, 1, STUCK_MS) == 0)
            return;
        ssize_t sent = send(wire->fd, frame + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        ck_assert_msg(sent > 0 || errno == EAGAIN || errno == EINTR, "%s", strerror(errno));
        if (sent > 0)
            at = (at + (size_t)sent) % size;
    }
}

/* One that asks and does not read is owed replies that it will not take: at the deadline it is dropped, and the exit code says so. */
START_TEST(test_deadline_is_forced)
{
    enum { SIDE_SMALL = 256, DRAIN_MS = 800 };
    wire_daemon_start(&daemon_, "--drain-ms", "800", "--output-bytes-max", "65536", "--slow-reader-ms", "60000", NULL);
    wire_open_greeted(&wires[opened++], daemon_.port);
    wire_put_free_map(&wires[0], "m", SIDE_SMALL, SIDE_SMALL);
    uint8_t payload[512] = {0};
    Tickpath__Ping ping = TICKPATH__PING__INIT;
    ping.has_payload = 1;
    ping.payload = (ProtobufCBinaryData){.data = payload, .len = sizeof payload};
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.body_case = TICKPATH__REQUEST__BODY_PING;
    request.ping = &ping;
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    send_until_stuck(&wires[0], frame, size);
    free(frame);
    terminate();
    uint64_t began_ms = wire_now_ms();
    wire_daemon_expect_exit(&daemon_, EXIT_DROPPED);
    uint64_t took_ms = wire_now_ms() - began_ms;
    ck_assert_msg(took_ms >= DRAIN_MS - 100 && took_ms < DRAIN_MS + 1500, "the drain took %llu ms", (unsigned long long)took_ms);
}
END_TEST

/* A second signal in phase one: the end, at once. */
START_TEST(test_second_signal_in_phase_one)
{
    wire_daemon_start(&daemon_, "--drain-delay-ms", "60000", "--drain-ms", "60000", NULL);
    wire_open_greeted(&wires[opened++], daemon_.port);
    terminate();
    for (int i = 0; i < 20; i++) {
        wire_expect_alive(&wires[0]);
        wire_sleep_ms(10);
    }
    uint64_t began_ms = wire_now_ms();
    terminate();
    wire_daemon_expect_exit(&daemon_, EXIT_DROPPED);
    ck_assert_uint_lt(wire_now_ms() - began_ms, 5000);
}
END_TEST

/* Pings without a pause until the daemon hangs up; gives the milliseconds that took. */
static uint64_t ping_until_closed(struct wire *wire)
{
    uint64_t began_ms = wire_now_ms();
    for (;;) {
        Tickpath__Request request = TICKPATH__REQUEST__INIT;
        Tickpath__Ping ping = TICKPATH__PING__INIT;
        request.body_case = TICKPATH__REQUEST__BODY_PING;
        request.ping = &ping;
        size_t size;
        uint8_t *frame = wire_frame(&request, &size);
        bool is_sent = wire_send_bytes(wire, frame, size);
        free(frame);
        Tickpath__Reply *reply = NULL;
        if (!is_sent || wire_poll(wire, &reply, WIRE_TIMEOUT_MS) != WIRE_GOT_FRAME)
            return wire_now_ms() - began_ms;
        wire_reply_free(reply);
    }
}

/* A search without end on the only loop, which hears no signal meanwhile: it is cut at the deadline. */
START_TEST(test_long_tick_is_cut)
{
    enum { WIDE = 2000, SESSIONS_CUT = 12 };
    wire_daemon_start(&daemon_, "--drain-ms", "300", "--threads", "1", NULL);
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_put_free_map(&wire, "m", WIDE, WIDE);
    wire_wall_off(&wire, "m", WIDE);
    for (int i = 0; i < SESSIONS_CUT; i++)
        wire_open_session(&wire, "m", 0, WIDE * WIDE - 1, "tbwa", 1000000000);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    wire_send(&wire, TICKPATH__REQUEST__BODY_TICK, &tick);
    wire_sleep_ms(100);
    uint64_t began_ms = wire_now_ms();
    ck_assert_int_eq(kill(daemon_.pid, SIGTERM), 0);
    wire_daemon_expect_exit(&daemon_, EXIT_DROPPED);
    uint64_t took_ms = wire_now_ms() - began_ms;
    ck_assert_msg(took_ms >= 200 && took_ms < 1500, "the end took %llu ms", (unsigned long long)took_ms);
    Tickpath__Reply *reply = NULL;
    if (wire_poll(&wire, &reply, WIRE_TIMEOUT_MS) == WIRE_GOT_FRAME) {
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_ERROR);
        wire_reply_free(reply);
    }
    wire_close(&wire);
}
END_TEST

/* A second signal, whichever of the two, in phase two: whoever goes on asking is dropped. */
START_TEST(test_second_signal_in_phase_two)
{
    wire_daemon_start(&daemon_, "--drain-ms", "60000", NULL);
    struct wire busy;
    wire_open_greeted(&busy, daemon_.port);
    ck_assert_int_eq(kill(daemon_.pid, SIGINT), 0);
    for (int i = 0; i < 20; i++) {
        wire_expect_alive(&busy);
        wire_sleep_ms(20);
    }
    ck_assert_int_eq(kill(daemon_.pid, SIGTERM), 0);
    uint64_t took_ms = ping_until_closed(&busy);
    ck_assert_msg(took_ms < 5000, "the second signal took %llu ms", (unsigned long long)took_ms);
    wire_close(&busy);
    wire_daemon_expect_exit(&daemon_, EXIT_DROPPED);
}
END_TEST

/* Changes that were taken are acknowledged, and what was acknowledged is in the folder. */
START_TEST(test_changes_are_kept)
{
    enum { CHANGES = 200 };
    char folder[128];
    snprintf(folder, sizeof folder, "%s/data", daemon_.folder);
    wire_daemon_start(&daemon_, "--data", folder, NULL);
    wire_open_greeted(&wires[opened++], daemon_.port);
    wire_put_free_map(&wires[0], "m", 32, 32);
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "m";
    uint32_t terrain = '@';
    for (uint32_t i = 0; i < CHANGES; i++) {
        change.n_cell = change.n_cell_terrain = 1;
        change.cell = &i;
        change.cell_terrain = &terrain;
        wire_send(&wires[0], TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
    }
    terminate();
    uint64_t version = 0;
    for (int i = 0; i < CHANGES; i++) {
        Tickpath__Reply *reply = wire_recv(&wires[0]);
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_CHANGED);
        version = reply->changed->version;
        wire_reply_free(reply);
    }
    wire_expect_last_error(&wires[0], TICKPATH__ERROR_CODE__SHUTTING_DOWN);
    wire_daemon_expect_exit(&daemon_, EXIT_CLEAN);
    wire_close(&wires[0]);

    wire_daemon_start(&daemon_, "--data", folder, NULL);
    wire_open_greeted(&wires[0], daemon_.port);
    ck_assert_uint_eq(wire_set_cell(&wires[0], "m", CHANGES, '@'), version + 1);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* The only loop is busy; meanwhile some connect and say hello, and the signal comes. They are not reset: each is welcomed, and told. */
START_TEST(test_who_waits_to_be_taken)
{
    enum { WAITING = 5 };
    wire_daemon_start(&daemon_, "--drain-ms", "20000", "--threads", "1", NULL);
    open_load(MUCH);
    for (int i = 0; i < 6; i++)
        for (int c = 0; c < CONNECTIONS; c++)
            send_tick_all(&wires[c]);
    struct wire waiting[WAITING];
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    for (int i = 0; i < WAITING; i++) {
        wire_open(&waiting[i], daemon_.port);
        wire_send(&waiting[i], TICKPATH__REQUEST__BODY_HELLO, &hello);
    }
    terminate();
    for (int i = 0; i < WAITING; i++) {
        Tickpath__Reply *reply = wire_recv(&waiting[i]);
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_WELCOME);
        wire_reply_free(reply);
        wire_expect_last_error(&waiting[i], TICKPATH__ERROR_CODE__SHUTTING_DOWN);
        wire_close(&waiting[i]);
    }
    wire_daemon_expect_exit(&daemon_, EXIT_CLEAN);
}
END_TEST

static Suite *drain_suite(void)
{
    Suite *suite = suite_create("drain");
    TCase *cases = tcase_create("drain");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_what_was_sent_is_answered);
    tcase_add_test(cases, test_what_waits_in_sockets_is_answered);
    tcase_add_test(cases, test_load_without_end);
    tcase_add_test(cases, test_two_phases);
    tcase_add_test(cases, test_deadline_is_forced);
    tcase_add_test(cases, test_second_signal_in_phase_one);
    tcase_add_test(cases, test_second_signal_in_phase_two);
    tcase_add_test(cases, test_long_tick_is_cut);
    tcase_add_test(cases, test_changes_are_kept);
    tcase_add_test(cases, test_who_waits_to_be_taken);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_drain", drain_suite);
}
