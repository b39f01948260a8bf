/* Peers that die or stop reading: the daemon's memory stays bounded, others are served, sessions are freed.
 */
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAYLOAD_BYTES = 1000, OUTPUT_BYTES_MAX = 65536, SLOW = 3 };

static struct wire_daemon daemon_;
static struct wire other; /* a second connection that must not notice anything */

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void finish(void)
{
    wire_expect_alive(&other);
    wire_close(&other);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

/* How many sessions stand on a map, as another connection sees it. */
static uint32_t sessions_on(const char *map)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)map;
    Tickpath__Reply *reply =
        wire_ask(&other, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    uint32_t sessions = reply->map_info->sessions;
    wire_reply_free(reply);
    return sessions;
}

static void expect_sessions_freed(const char *map)
{
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    while (sessions_on(map) > 0) {
        ck_assert_msg(wire_now_ms() < until, "a dead peer's sessions were kept");
        sleep_ms(10);
    }
}

/* A ping with its number in the payload. */
static uint8_t *numbered_ping(uint32_t number, size_t *size)
{
    uint8_t payload[PAYLOAD_BYTES] = {0};
    memcpy(payload, &number, sizeof number);
    Tickpath__Ping ping = TICKPATH__PING__INIT;
    ping.has_payload = 1;
    ping.payload = (ProtobufCBinaryData){.len = sizeof payload, .data = payload};
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.id = number;
    request.body_case = TICKPATH__REQUEST__BODY_PING;
    request.ping = &ping;
    return wire_frame(&request, size);
}

/* Sends numbered pings and reads nothing, until the peer takes no more for a while or has closed; gives the
 * number of pings sent whole and what is left of the next one. */
static uint32_t send_until_stuck(struct wire *wire, uint8_t **rest, size_t *rest_size, bool *has_closed)
{
    uint64_t limit = 256u << 20; /* a daemon that takes this much without being read from has no bound */
    *has_closed = false;
    fcntl(wire->fd, F_SETFL, O_NONBLOCK);
    for (uint32_t number = 0;; number++) {
        size_t size, sent = 0;
        uint8_t *frame = numbered_ping(number, &size);
        while (sent < size) {
            ssize_t now = send(wire->fd, frame + sent, size - sent, MSG_NOSIGNAL);
            if (now > 0) {
                sent += (size_t)now;
                continue;
            }
            *has_closed = now == 0 || errno != EAGAIN;
            struct pollfd ready = {.fd = wire->fd, .events = POLLOUT};
            if (*has_closed || poll(&ready, 1, 400) == 0) {
                *rest_size = size - sent;
                *rest = malloc(*rest_size);
                memcpy(*rest, frame + sent, *rest_size);
                free(frame);
                return number;
            }
        }
        free(frame);
        ck_assert_msg((uint64_t)number * size < limit,
                      "the daemon goes on reading from a peer that does not read");
    }
}

/* The reader that stops and comes back: bounded memory meanwhile, every reply afterwards, in order. */
START_TEST(test_slow_reader_is_bounded)
{
    wire_daemon_lean();
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "1", "--output-bytes-max", "65536", NULL);
    wire_open_greeted(&other, daemon_.port);
    struct wire slow[SLOW];
    uint8_t *rest[SLOW];
    size_t rest_size[SLOW];
    uint32_t sent[SLOW];
    uint64_t before = wire_resident_bytes(daemon_.pid);
    for (int i = 0; i < SLOW; i++) {
        wire_open_greeted(&slow[i], daemon_.port);
        bool has_closed;
        sent[i] = send_until_stuck(&slow[i], &rest[i], &rest_size[i], &has_closed);
        ck_assert_msg(!has_closed, "the daemon dropped a slow reader too early");
        wire_expect_alive(&other);
    }
    uint64_t after = wire_resident_bytes(daemon_.pid);
    /* a full output each, as much again while it is written, what was read and not yet served, and slack */
    ck_assert_msg(after < before + SLOW * 4 * OUTPUT_BYTES_MAX + WIRE_QUARANTINE_BYTES + (4u << 20),
                  "%d slow readers cost %llu bytes", SLOW, (unsigned long long)(after - before));
    for (int i = 0; i < SLOW; i++) {
        fcntl(slow[i].fd, F_SETFL, 0);
        for (uint32_t number = 0; number < sent[i]; number++) {
            Tickpath__Reply *reply = wire_recv(&slow[i]);
            ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_PONG);
            ck_assert_uint_eq(reply->id, number);
            ck_assert_mem_eq(reply->pong->payload.data, &number, sizeof number);
            wire_reply_free(reply);
        }
        ck_assert(wire_send_bytes(&slow[i], rest[i], rest_size[i]));
        Tickpath__Reply *reply = wire_recv(&slow[i]);
        ck_assert_uint_eq(reply->id, sent[i]);
        wire_reply_free(reply);
        wire_expect_alive(&slow[i]);
        free(rest[i]);
        wire_close(&slow[i]);
    }
    finish();
}
END_TEST

/* The reader that never comes back is dropped, and its sessions with it. */
START_TEST(test_slow_reader_is_dropped)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", "--output-bytes-max", "65536", "--slow-reader-ms", "1000",
                      NULL);
    wire_open_greeted(&other, daemon_.port);
    wire_put_free_map(&other, "m", 50, 50);
    struct wire slow;
    wire_open_greeted(&slow, daemon_.port);
    for (uint32_t i = 0; i < 20; i++)
        wire_open_session(&slow, "m", i, 2499, NULL, 10);
    ck_assert_uint_eq(sessions_on("m"), 20);
    uint8_t *rest;
    size_t rest_size;
    bool has_closed;
    send_until_stuck(&slow, &rest, &rest_size, &has_closed); /* it may be dropped while it still sends */
    free(rest);
    expect_sessions_freed("m");
    wire_close(&slow);
    finish();
}
END_TEST

/* A client killed in the middle of a frame, with sessions open and a tick under way. */
START_TEST(test_killed_in_a_frame)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    wire_open_greeted(&other, daemon_.port);
    wire_put_free_map(&other, "m", 50, 50);
    for (int round = 0; round < 10; round++) {
        int told[2];
        ck_assert_int_eq(pipe(told), 0);
        pid_t victim = tp_test_fork();
        if (victim == 0) {
            struct wire wire;
            wire_open_greeted(&wire, daemon_.port);
            for (uint32_t i = 0; i < 50; i++)
                wire_open_session(&wire, "m", i, 2499, NULL, 1000);
            Tickpath__Tick tick = TICKPATH__TICK__INIT;
            tick.has_all = tick.all = 1;
            for (int i = 0; i < round; i++)
                wire_send(&wire, TICKPATH__REQUEST__BODY_TICK, &tick);
            size_t size;
            uint8_t *frame = numbered_ping(1, &size);
            wire_send_bytes(&wire, frame, size - 1 - (size_t)round);
            if (write(told[1], "x", 1) == 1)
                pause();
            _exit(1);
        }
        char byte;
        ck_assert_int_eq(read(told[0], &byte, 1), 1);
        ck_assert_uint_eq(sessions_on("m"), 50);
        kill(victim, SIGKILL);
        ck_assert_int_eq(waitpid(victim, NULL, 0), victim);
        close(told[0]);
        close(told[1]);
        expect_sessions_freed("m");
    }
    finish();
}
END_TEST

/* A connection torn down by a reset, with replies unread. */
START_TEST(test_reset)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    wire_open_greeted(&other, daemon_.port);
    wire_put_free_map(&other, "m", 50, 50);
    for (int round = 0; round < 50; round++) {
        struct wire wire;
        wire_open_greeted(&wire, daemon_.port);
        wire_open_session(&wire, "m", 0, 2499, NULL, 100);
        Tickpath__Tick tick = TICKPATH__TICK__INIT;
        tick.has_all = tick.all = tick.has_want_path = tick.want_path = 1;
        for (int i = 0; i < round; i++)
            wire_send(&wire, TICKPATH__REQUEST__BODY_TICK, &tick);
        setsockopt(wire.fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
        wire_close(&wire);
    }
    expect_sessions_freed("m");
    finish();
}
END_TEST

/* A client that shuts its sending side gets the replies to all it sent, then the end. */
START_TEST(test_half_closed)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    wire_open_greeted(&other, daemon_.port);
    wire_put_free_map(&other, "m", 20, 1);
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_open_session(&wire, "m", 0, 19, NULL, 100);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    for (int i = 0; i < 5; i++)
        wire_send(&wire, TICKPATH__REQUEST__BODY_TICK, &tick);
    shutdown(wire.fd, SHUT_WR);
    Tickpath__Reply *reply = NULL;
    for (uint32_t cell = 1; cell <= 5; cell++) {
        reply = wire_recv(&wire);
        ck_assert_uint_eq(reply->ticked->cell[0], cell);
        wire_reply_free(reply);
    }
    ck_assert_int_eq(wire_poll(&wire, &reply, WIRE_TIMEOUT_MS), WIRE_GOT_CLOSE);
    wire_close(&wire);
    expect_sessions_freed("m");
    finish();
}
END_TEST

/* Peers that connect and fall silent, before the hello and after it. */
START_TEST(test_silent_peers)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", "--idle-timeout-ms", "1500", "--hello-timeout-ms", "500",
                      NULL);
    struct wire mute, half, idle;
    wire_open(&mute, daemon_.port);
    wire_open(&half, daemon_.port);
    ck_assert(wire_send_bytes(&half, "\x0e", 1)); /* a hello that never comes */
    wire_open_greeted(&idle, daemon_.port);
    wire_put_free_map(&idle, "m", 10, 10);
    wire_open_session(&idle, "m", 0, 5, NULL, 10);
    wire_open_greeted(&other, daemon_.port);
    struct wire *const ended[] = {&mute, &half, &idle};
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    for (int i = 0; i < 3; i++) {
        enum wire_got got;
        do {
            wire_expect_alive(&other); /* who speaks is kept */
            Tickpath__Reply *reply = NULL;
            got = wire_poll(ended[i], &reply, 100);
            if (got == WIRE_GOT_FRAME) { /* words of farewell are allowed */
                ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_ERROR);
                wire_reply_free(reply);
            }
            ck_assert_msg(wire_now_ms() < until, "silent peer %d was kept", i);
        } while (got != WIRE_GOT_CLOSE);
        wire_close(ended[i]);
    }
    expect_sessions_freed("m");
    finish();
}
END_TEST

static Suite *dead_peers_suite(void)
{
    Suite *suite = suite_create("dead_peers");
    TCase *cases = tcase_create("dead_peers");
    tcase_add_test(cases, test_slow_reader_is_bounded);
    tcase_add_test(cases, test_slow_reader_is_dropped);
    tcase_add_test(cases, test_killed_in_a_frame);
    tcase_add_test(cases, test_reset);
    tcase_add_test(cases, test_half_closed);
    tcase_add_test(cases, test_silent_peers);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_dead_peers", dead_peers_suite);
}
