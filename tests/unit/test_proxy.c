/* The misbehaving network of the fault tests does what it says: both ends of its connections are the test's own. */
#include "tests/lib/harness.h"
#include "tests/lib/peer.h"
#include "tests/lib/proxy.h"
#include "tests/lib/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONG_MS = 10000, QUIET_MS = 60, BIG_BYTES = 3 << 20 };

static struct proxy proxy;
static int listener;
static uint16_t port; /* behind the proxy */

static void begin(void)
{
    listener = peer_listen(&port);
    proxy_start(&proxy, port);
}

static void end(void)
{
    proxy_end(&proxy);
    close(listener);
}

static int connect_to(uint16_t to)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(to), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static int take_from(int from)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};
    ck_assert_msg(poll(&ready, 1, LONG_MS) == 1, "no connection came");
    return accept4(from, NULL, NULL, SOCK_CLOEXEC);
}

/* A connection through the proxy: the near end, and the far one. */
static void open_pair(int *near, int *far)
{
    *near = connect_to(proxy.port);
    *far = take_from(listener);
}

/* Reads until there are so many bytes, or the end (true), or nothing comes for so long. */
static size_t read_some(int fd, void *bytes, size_t size, int quiet_ms, bool *ended)
{
    size_t got = 0;
    *ended = false;
    while (got < size) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, quiet_ms) != 1)
            break;
        ssize_t more = recv(fd, (char *)bytes + got, size - got, 0);
        if (more <= 0) {
            *ended = true;
            break;
        }
        got += (size_t)more;
    }
    return got;
}

static void expect_bytes(int fd, const char *words)
{
    char bytes[64];
    bool ended;
    size_t got = read_some(fd, bytes, strlen(words), LONG_MS, &ended);
    ck_assert_uint_eq(got, strlen(words));
    ck_assert_mem_eq(bytes, words, got);
}

static void expect_quiet(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ck_assert_msg(poll(&ready, 1, QUIET_MS) == 0, "something came that was held");
}

static void expect_end(int fd)
{
    char byte;
    bool ended;
    ck_assert_uint_eq(read_some(fd, &byte, 1, LONG_MS, &ended), 0);
    ck_assert_msg(ended, "the connection did not end");
}

START_TEST(test_carries)
{
    int near, far;
    open_pair(&near, &far);
    ck_assert(peer_send(near, "there", 5));
    expect_bytes(far, "there");
    ck_assert(peer_send(far, "and back", 8));
    expect_bytes(near, "and back");
    struct proxy_counts counts = proxy_count(&proxy);
    ck_assert_uint_eq(counts.taken, 1);
    ck_assert_uint_eq(counts.now, 1);
    ck_assert_uint_eq(counts.bytes[PROXY_THERE], 5);
    ck_assert_uint_eq(counts.bytes[PROXY_BACK], 8);
    shutdown(near, SHUT_WR); /* the end goes through as well, one way at a time */
    expect_end(far);
    ck_assert(peer_send(far, "last", 4));
    expect_bytes(near, "last");
    close(far);
    expect_end(near);
    close(near);
}
END_TEST

/* More than sockets hold, while nobody reads at first: all of it arrives, in order. */
START_TEST(test_carries_much)
{
    int near, far;
    open_pair(&near, &far);
    uint8_t *sent = malloc(BIG_BYTES), *come = malloc(BIG_BYTES);
    struct tp_test_rng rng = tp_test_rng("much");
    for (size_t i = 0; i < BIG_BYTES; i++)
        sent[i] = (uint8_t)tp_test_next(&rng);
    ck_assert(peer_send(near, sent, BIG_BYTES));
    bool ended;
    ck_assert_uint_eq(read_some(far, come, BIG_BYTES, LONG_MS, &ended), BIG_BYTES);
    ck_assert(memcmp(sent, come, BIG_BYTES) == 0);
    free(sent);
    free(come);
    close(near);
    close(far);
}
END_TEST

START_TEST(test_delays_one_way)
{
    enum { DELAY_MS = 400 };
    int near, far;
    open_pair(&near, &far);
    proxy_delay(&proxy, PROXY_BACK, DELAY_MS);
    uint64_t from = wire_now_ms();
    ck_assert(peer_send(near, "x", 1));
    expect_bytes(far, "x");
    ck_assert_uint_lt(wire_now_ms() - from,
                      DELAY_MS); /* a busy machine may be late, but not by that much at once */
    from = wire_now_ms();
    ck_assert(peer_send(far, "y", 1));
    expect_bytes(near, "y");
    ck_assert_uint_ge(wire_now_ms() - from + 1, DELAY_MS);
    close(near);
    close(far);
}
END_TEST

START_TEST(test_holds_and_lets_go)
{
    int near, far;
    open_pair(&near, &far);
    proxy_hold(&proxy, true);
    ck_assert(peer_send(near, "one", 3));
    ck_assert(peer_send(far, "two", 3));
    expect_quiet(far);
    expect_quiet(near);
    int late = connect_to(proxy.port);
    int late_far = take_from(listener);
    ck_assert(peer_send(late, "three", 5));
    expect_quiet(late_far);
    proxy_hold(&proxy, false);
    expect_bytes(far, "one");
    expect_bytes(near, "two");
    expect_bytes(late_far, "three");
    close(near);
    close(far);
    close(late);
    close(late_far);
}
END_TEST

START_TEST(test_cuts_and_refuses)
{
    int near, far;
    open_pair(&near, &far);
    ck_assert(peer_send(near, "x", 1));
    expect_bytes(far, "x");
    proxy_refuse(&proxy, true);
    ck_assert_uint_eq(proxy_cut(&proxy), 1);
    expect_end(near);
    expect_end(far);
    int refused = connect_to(proxy.port);
    expect_end(refused);
    ck_assert_uint_eq(proxy_count(&proxy).taken, 1);
    proxy_refuse(&proxy, false);
    close(near);
    close(far);
    close(refused);
    open_pair(&near, &far);
    ck_assert(peer_send(far, "well", 4));
    expect_bytes(near, "well");
    close(near);
    close(far);
}
END_TEST

/* Half a frame: the first bytes arrive, no more, and the connection is gone for both; others are left alone. */
START_TEST(test_cuts_in_the_midst)
{
    int near, far, other_near, other_far;
    open_pair(&near, &far);
    open_pair(&other_near, &other_far);
    proxy_cut_after(&proxy, PROXY_THERE, 4);
    ck_assert(peer_send(near, "halfwritten", 11));
    char bytes[16];
    bool ended;
    ck_assert_uint_eq(read_some(far, bytes, sizeof bytes, LONG_MS, &ended), 4);
    ck_assert(ended);
    ck_assert_mem_eq(bytes, "half", 4);
    expect_end(near);
    ck_assert_uint_eq(proxy_count(&proxy).cuts, 1);
    ck_assert_uint_eq(proxy_count(&proxy).now, 1);
    ck_assert(peer_send(other_near, "whole", 5));
    expect_bytes(other_far, "whole");
    close(near);
    close(far);
    close(other_near);
    close(other_far);
}
END_TEST

START_TEST(test_turns_to_another)
{
    uint16_t other_port;
    int other = peer_listen(&other_port), near, far;
    open_pair(&near, &far);
    proxy_turn(&proxy, other_port);
    ck_assert(peer_send(near, "old", 3));
    expect_bytes(far, "old");
    int late = connect_to(proxy.port), late_far = take_from(other);
    ck_assert(peer_send(late, "new", 3));
    expect_bytes(late_far, "new");
    close(other);
    close(near);
    close(far);
    close(late);
    close(late_far);
}
END_TEST

static Suite *proxy_suite(void)
{
    Suite *suite = suite_create("proxy");
    TCase *cases = tcase_create("proxy");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_carries);
    tcase_add_test(cases, test_carries_much);
    tcase_add_test(cases, test_delays_one_way);
    tcase_add_test(cases, test_holds_and_lets_go);
    tcase_add_test(cases, test_cuts_and_refuses);
    tcase_add_test(cases, test_cuts_in_the_midst);
    tcase_add_test(cases, test_turns_to_another);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_proxy", proxy_suite);
}
