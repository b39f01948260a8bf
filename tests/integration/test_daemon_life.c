/* The daemon's life: options, addresses, timeouts; its end is in test_drain. A real process each time. */
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct wire_daemon daemon_;

static void begin(void)
{
    wire_daemon_init(&daemon_);
}

static void end(void)
{
    wire_daemon_fini(&daemon_);
}

#define RUN(said, ...) wire_daemon_run(said, sizeof said, __VA_ARGS__, NULL)

START_TEST(test_bad_options_are_refused_with_words)
{
    const struct {
        const char *option, *value, *words;
    } bad[] = {
        {"--listen", "nowhere", "HOST:PORT"},
        {"--listen", "127.0.0.1:65536", "port"},
        {"--listen", "127.0.0.1:", "port"},
        {"--listen", "example.org:1", "numeric"},
        {"--listen", "[127.0.0.1]:1", "IPv6"},
        {"--listen", "::1:1", "bracket"},
        {"--listen", "", "listen"},
        {"--threads", "many", "whole number"},
        {"--threads", "257", "0..256"},
        {"--threads", "-1", "whole number"},
        {"--frame-bytes-max", "1", "4096.."},
        {"--frame-bytes-max", "99999999999999999999999", "4096.."},
        {"--log-level", "loud", "debug"},
        {"--no-such", "1", "no option"},
        {"stray", "1", "not an option"},
    };
    char said[4096];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int code = RUN(said, bad[i].option, bad[i].value);
        ck_assert_msg(code == 2, "%s %s: exit code %d, said: %s", bad[i].option, bad[i].value, code, said);
        ck_assert_msg(strstr(said, bad[i].words) != NULL, "%s %s: no '%s' in: %s", bad[i].option,
                      bad[i].value, bad[i].words, said);
    }
    ck_assert_int_eq(RUN(said, "--threads"), 2);
    ck_assert(strstr(said, "wants a value") != NULL);
    setenv("TICKPATHD_DRAIN_MS", "soon", 1);
    ck_assert_int_eq(RUN(said, "--listen=127.0.0.1:0"), 2);
    unsetenv("TICKPATHD_DRAIN_MS");
    ck_assert_msg(strstr(said, "TICKPATHD_DRAIN_MS") != NULL, "%s", said);
    ck_assert_int_eq(RUN(said, "--data", "x", "--redis", "redis://127.0.0.1"), 2);
}
END_TEST

START_TEST(test_help_and_version)
{
    char said[16384];
    ck_assert_int_eq(RUN(said, "--help"), 0);
    ck_assert(strstr(said, "--output-bytes-max") != NULL);
    ck_assert(strstr(said, "TICKPATHD_LISTEN") != NULL);
    ck_assert_int_eq(RUN(said, "--version"), 0);
    ck_assert_msg(strncmp(said, "tickpathd ", 10) == 0, "%s", said);
}
END_TEST

/* The log names each variable that is no option, and not what is in it. */
static void expect_strangers_named(void)
{
    char path[128], line[2048];
    int named = 0;
    snprintf(path, sizeof path, "%s/log", daemon_.folder);
    FILE *log = fopen(path, "r");
    ck_assert_ptr_nonnull(log);
    while (fgets(line, sizeof line, log) != NULL) {
        named += strstr(line, "variable=\"TICKPATHD_PORT\"") != NULL || strstr(line, "variable=\"TICKPATHD_STATS_TOKN\"") != NULL;
        ck_assert_msg(strstr(line, "secret") == NULL, "%s", line);
    }
    fclose(log);
    ck_assert_int_eq(named, 2);
}

/* The command line wins over the variable; a variable that a cluster might set is no error. */
START_TEST(test_variables)
{
    setenv("TICKPATHD_SESSIONS_MAX", "1", 1);
    setenv("TICKPATHD_PORT", "tcp://10.0.0.1:7878", 1);
    setenv("TICKPATHD_STATS_TOKN", "a-secret-0123456789", 1);
    wire_daemon_start(&daemon_, NULL);
    expect_strangers_named();
    unsetenv("TICKPATHD_STATS_TOKN");
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_put_free_map(&wire, "m", 4, 4);
    wire_open_session(&wire, "m", 0, 5, NULL, 1);
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = "m";
    open.has_start = open.has_goal = 1;
    wire_ask_error(&wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open,
                   TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED, NULL);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);

    wire_daemon_start(&daemon_, "--sessions-max", "2", NULL);
    wire_open_greeted(&wire, daemon_.port);
    wire_put_free_map(&wire, "m", 4, 4);
    wire_open_session(&wire, "m", 0, 5, NULL, 1);
    wire_open_session(&wire, "m", 0, 5, NULL, 1);
    Tickpath__Reply *reply = wire_ask(&wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED);
    ck_assert_str_eq(reply->error->message, "sessions_max of this connection, 2, is reached");
    wire_reply_free(reply);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
}
END_TEST

START_TEST(test_taken_port)
{
    wire_daemon_start(&daemon_, NULL);
    char address[32], said[4096];
    snprintf(address, sizeof address, "127.0.0.1:%u", daemon_.port);
    ck_assert_int_eq(RUN(said, "--listen", address), 10);
    ck_assert_msg(strstr(said, "cannot listen") != NULL && strstr(said, "in use") != NULL, "%s", said);
    ck_assert_int_eq(RUN(said, "--listen", "127.0.0.1:0", "--stats", address), 10);
    ck_assert_msg(strstr(said, "cannot start") != NULL && strstr(said, "the stats port cannot listen") != NULL, "%s", said);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* The codes that a start may end with; those of a drain are in test_drain, 11 in test_daemon_store, 14 in test_daemon_disk. */
START_TEST(test_exit_codes_of_a_start)
{
    char said[4096], path[160];
    snprintf(path, sizeof path, "%s/no-folder/port", daemon_.folder);
    ck_assert_int_eq(RUN(said, "--listen", "127.0.0.1:0", "--port-file", path), 1);
    ck_assert_msg(strstr(said, "port file") != NULL, "%s", said);
    snprintf(path, sizeof path, "%s/file", daemon_.folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    ck_assert_int_eq(RUN(said, "--listen", "127.0.0.1:0", "--data", path), 12);
    ck_assert_msg(strstr(said, "data folder") != NULL, "%s", said);
    ck_assert_int_eq(RUN(said, "--listen", "127.0.0.1:0", "--redis", "http://127.0.0.1"), 12);
    ck_assert_msg(strstr(said, "exit=12") != NULL, "%s", said);
}
END_TEST

static int connect_to(const struct sockaddr *address, socklen_t size)
{
    int fd = socket(address->sa_family, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    if (connect(fd, address, size) == 0)
        return fd;
    close(fd);
    return -1;
}

START_TEST(test_ipv6)
{
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool has_ipv6 = probe >= 0 && bind(probe, (struct sockaddr *)&address, sizeof address) == 0;
    if (probe >= 0)
        close(probe);
    if (!has_ipv6) {
        printf("no IPv6 loopback here: skipped\n");
        return;
    }
    wire_daemon_start(&daemon_, "--listen", "[::1]:0", "--stats", "[::1]:0", NULL);
    address.sin6_port = htons(daemon_.port);
    int fd = connect_to((struct sockaddr *)&address, sizeof address);
    ck_assert_int_ge(fd, 0);
    close(fd);
    wire_daemon_stop(&daemon_);
}
END_TEST

START_TEST(test_hello_timeout)
{
    wire_daemon_start(&daemon_, "--hello-timeout-ms", "150", NULL);
    struct wire wire;
    wire_open(&wire, daemon_.port);
    uint64_t began_ms = wire_now_ms();
    wire_expect_last_error(&wire, TICKPATH__ERROR_CODE__TIMEOUT);
    ck_assert_uint_ge(wire_now_ms() - began_ms, 100);
    wire_close(&wire);
    /* bytes alone do not help: a hello must come */
    wire_open(&wire, daemon_.port);
    ck_assert(wire_send_bytes(&wire, "\x05", 1));
    wire_expect_last_error(&wire, TICKPATH__ERROR_CODE__TIMEOUT);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
}
END_TEST

START_TEST(test_idle_timeout)
{
    wire_daemon_start(&daemon_, "--idle-timeout-ms", "300", NULL);
    struct wire silent, busy;
    wire_open_greeted(&silent, daemon_.port);
    wire_open_greeted(&busy, daemon_.port);
    for (int i = 0; i < 10; i++) {
        wire_expect_alive(&busy);
        wire_sleep_ms(60);
    }
    wire_expect_last_error(&silent, TICKPATH__ERROR_CODE__TIMEOUT);
    wire_expect_alive(&busy);
    wire_close(&silent);
    wire_close(&busy);
    wire_daemon_stop(&daemon_);
}
END_TEST

START_TEST(test_connections_max)
{
    wire_daemon_start(&daemon_, "--connections-max", "2", NULL);
    struct wire first, second, third;
    wire_open_greeted(&first, daemon_.port);
    wire_open_greeted(&second, daemon_.port);
    wire_open(&third, daemon_.port);
    wire_expect_last_error(&third, TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED);
    wire_close(&third);
    wire_close(&second);
    wire_expect_alive(&first);
    for (int i = 0;; i++) { /* the place is free again once the daemon has seen the close */
        wire_open(&third, daemon_.port);
        Tickpath__Hello hello = TICKPATH__HELLO__INIT;
        wire_send(&third, TICKPATH__REQUEST__BODY_HELLO, &hello);
        Tickpath__Reply *reply = wire_recv(&third);
        bool is_in = reply->body_case == TICKPATH__REPLY__BODY_WELCOME;
        wire_reply_free(reply);
        wire_close(&third);
        if (is_in)
            break;
        ck_assert_int_lt(i, 200);
        wire_sleep_ms(10);
    }
    wire_close(&first);
    wire_daemon_stop(&daemon_);
}
END_TEST

static Suite *life_suite(void)
{
    Suite *suite = suite_create("daemon_life");
    TCase *cases = tcase_create("life");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_bad_options_are_refused_with_words);
    tcase_add_test(cases, test_help_and_version);
    tcase_add_test(cases, test_variables);
    tcase_add_test(cases, test_taken_port);
    tcase_add_test(cases, test_exit_codes_of_a_start);
    tcase_add_test(cases, test_ipv6);
    tcase_add_test(cases, test_hello_timeout);
    tcase_add_test(cases, test_idle_timeout);
    tcase_add_test(cases, test_connections_max);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_life", life_suite);
}
