/* The file of --config: which settings a daemon takes from it and which files it refuses, with the line; and what SIGHUP makes of a new one, under
 * load, many times over, while the daemon starts and while it ends. A real process each time. */
#include "tests/lib/harness.h"
#include "tests/lib/ticker.h"
#include "tests/lib/wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TICKERS = 3, SIDE = 64, CROWD = 100, EXIT_USAGE = 2 };

static struct wire_daemon daemon_;
static struct ticker tickers[TICKERS];
static char file[160], log_path[160];
static long log_at; /* what was looked for in the log lies behind it */

static void begin(void)
{
    wire_daemon_init(&daemon_);
    snprintf(file, sizeof file, "%s/tickpathd.conf", daemon_.folder);
    snprintf(log_path, sizeof log_path, "%s/log", daemon_.folder);
    log_at = 0;
    memset(tickers, 0, sizeof tickers);
}

static void end(void)
{
    for (int i = 0; i < TICKERS; i++)
        ticker_stop(&tickers[i]);
    wire_daemon_fini(&daemon_);
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

__attribute__((format(printf, 1, 2))) static void write_file(const char *format, ...)
{
    FILE *out = fopen(file, "w");
    va_list arguments;
    ck_assert_ptr_nonnull(out);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    ck_assert_int_eq(fclose(out), 0);
}

/* Waits for a line of the log, behind those found before, that holds these words; gives it, in static memory. */
static const char *await_line(const char *words)
{
    static char line[2048];
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    for (;;) {
        FILE *log = fopen(log_path, "r");
        ck_assert_ptr_nonnull(log);
        fseek(log, log_at, SEEK_SET);
        while (fgets(line, sizeof line, log) != NULL) {
            if (strstr(line, words) == NULL || strchr(line, '\n') == NULL)
                continue;
            log_at = ftell(log);
            fclose(log);
            return line;
        }
        fclose(log);
        ck_assert_msg(wire_now_ms() < until, "the daemon did not log: %s", words);
        sleep_ms(5);
    }
}

static void hang_up(void)
{
    ck_assert_int_eq(kill(daemon_.pid, SIGHUP), 0);
}

static void expect_in(const char *line, const char *words)
{
    ck_assert_msg(strstr(line, words) != NULL, "no %s in: %s", words, line);
}

/* SIGHUP, and the line that tells what came of it: these options changed, those wait. */
static void reload(const char *changed, const char *waiting)
{
    char words[512];
    hang_up();
    const char *line = await_line("the configuration was read anew");
    bool is_json = line[0] == '{';
    snprintf(words, sizeof words, is_json ? "\"changed\":\"%s\",\"needs_a_restart\":\"%s\"" : "changed=\"%s\" needs_a_restart=\"%s\"", changed, waiting);
    expect_in(line, words);
}

static void reload_refused(const char *words)
{
    hang_up();
    expect_in(await_line("the configuration is refused"), words);
}

static void expect_reloads(double ok, double refused, double last)
{
    ck_assert_double_eq(wire_sample(&daemon_, "tickpath_config_reloads_total{outcome=\"ok\"}"), ok);
    ck_assert_double_eq(wire_sample(&daemon_, "tickpath_config_reloads_total{outcome=\"refused\"}"), refused);
    ck_assert_double_eq(wire_sample(&daemon_, "tickpath_config_last_reload_successful"), last);
}

/* Runs tickpathd --config FILE, and one argument more, to its end; gives its exit code and what it said. */
static int run(const char *more, char *said, size_t said_bytes)
{
    return wire_daemon_run(said, said_bytes, "--config", file, more, NULL);
}

/* ---- The file at the start ---- */

START_TEST(test_refused_files)
{
    static const struct {
        const char *text;
        int line;
        const char *words;
    } bad[] = {
        {"threads = 2\n# good so far\nthread = 2\n", 3, "there is no option \"thread\""},
        {"--threads = 2\n", 1, "there is no option"},
        {"threads 2\n", 1, "there is no ="},
        {"= 2\n", 1, "no name"},
        {"\n\n  threads = many", 3, "threads: 'many': not a whole number"},
        {"threads =\n", 1, "not a whole number"},
        {"threads = 257\n", 1, "257 is not in 0..256"},
        {"threads = 2\n\nthreads = 2\n", 3, "threads is set twice, first in line 1"},
        {"threads = 2 # two\n", 1, "a comment stands on a line of its own"},
        {"log-level = loud\n", 1, "debug"},
        {"log-format = xml\n", 1, "json"},
        {"listen = nowhere\n", 1, "HOST:PORT"},
        {"stats-token = short\n", 1, "stats-token: 16 to 256"},
        {"config = other\n", 1, "no file may set \"config\""},
        {"help = 1\n", 1, "there is no option"},
        {"data = a\tb\x01\n", 1, "control character"},
        {"\x7f", 1, "control character"},
        {"listen =\n", 1, "must not be empty"},
        {"data = x\nredis = redis://127.0.0.1\n", 1, "give one of them"},
    };
    char said[4096], where[256];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file("%s", bad[i].text);
        snprintf(where, sizeof where, "tickpathd: %s:%d: ", file, bad[i].line);
        for (int is_check = 0; is_check < 2; is_check++) {
            int code = run(is_check ? "--check-config" : NULL, said, sizeof said);
            ck_assert_msg(code == EXIT_USAGE && strstr(said, where) != NULL && strstr(said, bad[i].words) != NULL, "%s ended with %d: %s",
                          bad[i].text, code, said);
        }
    }
    char longest[2000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    write_file("# %s\n", longest);
    ck_assert_int_eq(run("--check-config", said, sizeof said), EXIT_USAGE);
    expect_in(said, ":1: the line is too long");
    write_file("data = %.1100s\n", longest);
    ck_assert_int_eq(run("--check-config", said, sizeof said), EXIT_USAGE);
    expect_in(said, ":1: data: ");
    FILE *large = fopen(file, "w");
    for (int i = 0; i < 70000; i++)
        fputc('\n', large);
    fclose(large);
    ck_assert_int_eq(run("--check-config", said, sizeof said), EXIT_USAGE);
    expect_in(said, "it is too long");
    unlink(file);
    ck_assert_int_eq(run("--check-config", said, sizeof said), EXIT_USAGE);
    expect_in(said, "No such file");
    ck_assert_int_eq(mkfifo(file, 0600), 0);
    ck_assert_int_eq(run(NULL, said, sizeof said), EXIT_USAGE);
    expect_in(said, "no regular file");
    unlink(file);
    write_file("# nothing but\r\n\r\n   \t\n  # comments");
    ck_assert_int_eq(run("--check-config", said, sizeof said), 0);
    expect_in(said, "the configuration is good");
    ck_assert_int_eq(run("--threads=many", said, sizeof said), EXIT_USAGE);
}
END_TEST

/* The file knows every option that --help lists, by the name there: each is taken with a right value and refused, with its line, with a wrong one. */
START_TEST(test_every_option)
{
    static const char *const right[][2] = {{"HOST:PORT", "127.0.0.1:0"}, {"TOKEN", "0123456789abcdef"}, {"FILE", "x"}, {"DIR", "x"}, {"URL", ""},
                                           {"LEVEL", "warn"},            {"FORMAT", "json"}};
    static char help[32768], said[4096];
    char all[8192] = "", name[64], kind[80];
    int options = 0, numbers = 0, used = 0;
    write_file("%s", "");
    ck_assert_int_eq(run("--help", help, sizeof help), 0);
    for (char *at = help; (at = strstr(at, "\n  --")) != NULL; at++) {
        if (sscanf(at, "\n  --%63s %63s", name, kind) != 2 || strcmp(name, "config") == 0 || strcmp(name, "check-config") == 0 ||
            strcmp(name, "help") == 0 || strcmp(name, "version") == 0)
            continue;
        unsigned long long low = 0;
        const char *value = NULL, *bounds = strstr(at, "..");
        options++;
        if (strcmp(kind, "N") == 0) {
            while (bounds[-1] >= '0' && bounds[-1] <= '9')
                bounds--;
            low = strtoull(bounds, NULL, 10);
            numbers++;
        }
        for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
            if (strcmp(kind, right[i][0]) == 0)
                value = right[i][1];
        ck_assert_msg(value != NULL || strcmp(kind, "N") == 0, "what is a %s?", kind);
        used += value != NULL ? snprintf(all + used, sizeof all - (size_t)used, "%s = %s\n", name, value)
                              : snprintf(all + used, sizeof all - (size_t)used, "%s = %llu\n", name, low);
        if (value == NULL) {
            write_file("\n%s = x\n", name);
            ck_assert_int_eq(run("--check-config", said, sizeof said), EXIT_USAGE);
            snprintf(kind, sizeof kind, ":2: %s", name);
            expect_in(said, kind);
        }
    }
    ck_assert_msg(options > 25 && numbers > 15, "%d options, %d numbers", options, numbers);
    write_file("%s", all);
    ck_assert_msg(run("--check-config", said, sizeof said) == 0, "%s\n%s", said, all);
}
END_TEST

static uint32_t sessions_max(void)
{
    struct wire wire;
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = hello.protocol_max = 1;
    wire_open(&wire, daemon_.port);
    Tickpath__Reply *reply = wire_ask(&wire, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__REPLY__BODY_WELCOME);
    uint32_t most = reply->welcome->sessions_max;
    wire_reply_free(reply);
    wire_close(&wire);
    return most;
}

START_TEST(test_who_wins)
{
    write_file("# the file is the weakest\n threads = 3 \r\n\tsessions-max=7\nconnections-max = 9\nlog-level = error\n");
    setenv("TICKPATHD_SESSIONS_MAX", "8", 1);
    setenv("TICKPATHD_LOG_LEVEL", "warn", 1);
    setenv("TICKPATHD_CONFIG", file, 1); /* as any option */
    wire_daemon_start(&daemon_, "--log-level=info", "--stats", "127.0.0.1:0", NULL);
    unsetenv("TICKPATHD_CONFIG");
    unsetenv("TICKPATHD_SESSIONS_MAX");
    unsetenv("TICKPATHD_LOG_LEVEL");
    expect_in(await_line("msg=\"listening\""), "threads=3");
    ck_assert_uint_eq(sessions_max(), 8);
    write_file("threads = 3\nsessions-max = 7\nconnections-max = 10\nlog-level = debug\n");
    reload("connections-max", ""); /* what the file says of the others is as little heard as before */
    ck_assert_uint_eq(sessions_max(), 8);
    write_file("threads = 3\n");
    reload("connections-max", ""); /* the default again */
    wire_daemon_stop(&daemon_);
}
END_TEST

/* ---- SIGHUP ---- */

/* A tick of all of a connection's crowd: it takes some microseconds at least, however fast the daemon is. */
static void tick_all(struct wire *wire)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    Tickpath__Reply *reply = wire_ask(wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_eq(reply->ticked->n_session, CROWD);
    wire_reply_free(reply);
}

static void open_sessions(struct wire *wire, uint32_t sessions)
{
    for (uint32_t i = 0; i < sessions; i++)
        wire_open_session(wire, "m", i, SIDE * SIDE - 1, NULL, 4);
}

/* Each of the settings by what it does to a daemon that runs. */
START_TEST(test_what_changes)
{
    int status;
    write_file("stats-token = first-token-0123456789\nnode-bytes-max = 104857600\n");
    wire_daemon_start(&daemon_, "--config", file, "--stats", "127.0.0.1:0", "--threads", "2", NULL);
    struct wire old, idle;
    wire_open_greeted(&old, daemon_.port);
    wire_put_free_map(&old, "m", SIDE, SIDE);
    open_sessions(&old, CROWD - 1);
    ck_assert_double_eq(wire_sample(&daemon_, "tickpath_node_bytes_max"), 104857600);
    free(wire_http_get(&daemon_, "/stats?token=first-token-0123456789", &status));
    ck_assert_int_eq(status, 303);
    expect_reloads(0, 0, 1);

    write_file("stats-token = second-token-0123456789\nnode-bytes-max = 209715200\nsessions-max = 1\nslow-tick-us = 1\nlog-format = json\n"
               "threads = 1\nmaps-max = 5\n");
    reload("stats-token sessions-max node-bytes-max slow-tick-us log-format", "maps-max"); /* --threads hides the file's */
    expect_reloads(1, 0, 1);
    ck_assert_double_eq(wire_sample(&daemon_, "tickpath_node_bytes_max"), 209715200);
    free(wire_http_get(&daemon_, "/stats?token=first-token-0123456789", &status));
    ck_assert_int_eq(status, 401);
    free(wire_http_get(&daemon_, "/stats?token=second-token-0123456789", &status));
    ck_assert_int_eq(status, 303);

    /* a connection keeps what its Welcome said; a new one has the new limit */
    open_sessions(&old, 1);
    tick_all(&old);
    ck_assert_uint_eq(sessions_max(), 1);
    const char *line = await_line("\"msg\":\"slow tick\"");
    ck_assert_msg(line[0] == '{' && strstr(line, "\"sessions\":100,") != NULL, "%s", line);
    enum { TICKS = 400 }; /* far more than are kept: one over the limit counts, whether or not it is among the slowest */
    for (int i = 0; i < TICKS; i++)
        tick_all(&old);
    ck_assert_double_gt(wire_sample(&daemon_, "tickpath_ticks_slow_total"), TICKS / 2);

    write_file("idle-timeout-ms = 300\nconnections-max = 2\nlog-level = error\n");
    wire_open_greeted(&idle, daemon_.port);
    reload("stats-token connections-max sessions-max node-bytes-max idle-timeout-ms slow-tick-us log-level log-format", "") ;
    wire_expect_last_error(&idle, TICKPATH__ERROR_CODE__TIMEOUT);
    wire_close(&idle);
    wire_close(&old);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* So many ticks of a crowd; how many of them were over the limit. */
static double slow_of(struct wire *wire, int ticks)
{
    double before = wire_sample(&daemon_, "tickpath_ticks_slow_total");
    for (int i = 0; i < ticks; i++)
        tick_all(wire);
    return wire_sample(&daemon_, "tickpath_ticks_slow_total") - before;
}

/* The limit holds on every loop from the start on, and a new one from the line on that tells of it. */
START_TEST(test_slow_limit)
{
    enum { LOOPS = 2, TICKS = 10 }; /* none arrives meanwhile */
    struct wire wires[LOOPS]; /* one on each loop */
    write_file("slow-tick-us = 1\n");
    wire_daemon_start(&daemon_, "--config", file, "--stats", "127.0.0.1:0", "--threads", "2", NULL);
    for (int i = 0; i < LOOPS; i++) {
        wire_open_greeted(&wires[i], daemon_.port);
        if (i == 0)
            wire_put_free_map(&wires[i], "m", SIDE, SIDE);
        open_sessions(&wires[i], CROWD);
        ck_assert_double_eq(slow_of(&wires[i], TICKS), TICKS);
    }
    write_file("slow-tick-us = 0\n");
    reload("slow-tick-us", "");
    for (int i = 0; i < LOOPS; i++)
        ck_assert_double_eq(slow_of(&wires[i], TICKS), 0);
    write_file("slow-tick-us = 1\n");
    reload("slow-tick-us", "");
    for (int i = 0; i < LOOPS; i++) {
        ck_assert_double_eq(slow_of(&wires[i], TICKS), TICKS);
        wire_close(&wires[i]);
    }
    wire_daemon_stop(&daemon_);
}
END_TEST

START_TEST(test_bad_file_changes_nothing)
{
    write_file("node-bytes-max = 104857600\nsessions-max = 5\n");
    wire_daemon_start(&daemon_, "--config", file, "--stats", "127.0.0.1:0", NULL);
    write_file("node-bytes-max = 209715200\nsessions-max = 6\nno-such = 1\n");
    reload_refused(":3: there is no option \\\"no-such\\\"");
    write_file("sessions-max = 6\nnode-bytes-max = 1\n");
    reload_refused(":2: node-bytes-max: 1 is not in");
    unlink(file);
    reload_refused("No such file");
    ck_assert_int_eq(mkdir(file, 0700), 0);
    reload_refused("no regular file");
    rmdir(file);
    expect_reloads(0, 4, 0);
    ck_assert_double_eq(wire_sample(&daemon_, "tickpath_node_bytes_max"), 104857600);
    ck_assert_uint_eq(sessions_max(), 5);
    write_file("node-bytes-max = 209715200\nsessions-max = 6\n");
    reload("sessions-max node-bytes-max", "");
    reload("", "");
    expect_reloads(2, 4, 1);
    ck_assert_uint_eq(sessions_max(), 6);
    wire_daemon_stop(&daemon_);
}
END_TEST

START_TEST(test_without_file)
{
    wire_daemon_start(&daemon_, "--stats", "127.0.0.1:0", NULL);
    hang_up();
    await_line("SIGHUP: there is no --config to read anew");
    expect_reloads(0, 0, 1);
    ck_assert_uint_eq(sessions_max(), 16384);
    wire_daemon_stop(&daemon_);
}
END_TEST

static void start_tickers(void)
{
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_put_free_map(&wire, "m", SIDE, SIDE);
    wire_close(&wire);
    for (int i = 0; i < TICKERS; i++)
        ticker_start(&tickers[i], daemon_.port, "m", (uint32_t)i, SIDE * SIDE - 1 - (uint32_t)i);
}

static void expect_ticks(uint64_t more)
{
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    for (int i = 0; i < TICKERS; i++)
        for (uint64_t wanted = tickers[i].ticks + more; tickers[i].ticks < wanted; sleep_ms(1))
            ck_assert_msg(wire_now_ms() < until, "agent %d is not ticked: %s", i, tickers[i].failure);
}

static void stop_tickers(void)
{
    for (int i = 0; i < TICKERS; i++) {
        ticker_stop(&tickers[i]);
        ck_assert_msg(tickers[i].failure[0] == '\0', "agent %d: %s", i, tickers[i].failure);
        ck_assert_uint_eq(tickers[i].told, 0);
    }
}

/* Agents are ticked without a pause; meanwhile the file changes and is read, good and bad in turn. */
START_TEST(test_under_load)
{
    enum { TIMES = 30 };
    write_file("log-level = info\n");
    wire_daemon_start(&daemon_, "--config", file, "--stats", "127.0.0.1:0", "--threads", "2", NULL);
    start_tickers();
    for (int i = 0; i < TIMES; i++) {
        expect_ticks(5);
        if (i % 3 == 2) {
            write_file("log-level = debug\nlog-level = info\n");
            reload_refused(":2: log-level is set twice");
            continue;
        }
        write_file("log-level = info\noutput-bytes-max = %d\npath-cells-max = %d\nmap-versions-max = %d\nslow-tick-us = %d\nsessions-max = %d\nidle-timeout-ms = %d\n",
                   i % 2 ? 4096 : 100000, 10 + i, 1 + i, i % 2 ? 0 : 100000 + i, 1 + i, i % 2 ? 0 : 60000);
        hang_up();
        await_line("needs_a_restart=\"path-cells-max\"");
    }
    expect_ticks(5);
    stop_tickers();
    expect_reloads(TIMES - TIMES / 3, TIMES / 3, 0);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* A hundred at once: none ends the daemon, none holds a tick up, and the last file is what holds. */
START_TEST(test_storm)
{
    write_file("sessions-max = 100\n");
    wire_daemon_start(&daemon_, "--config", file, "--stats", "127.0.0.1:0", "--threads", "2", "--log-lines-max", "1000", NULL);
    start_tickers();
    expect_ticks(5);
    for (int i = 0; i < 100; i++) {
        if (i % 10 == 0)
            write_file("sessions-max = %d\n", 101 + i);
        hang_up();
    }
    write_file("sessions-max = 500\n");
    hang_up();
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    while (sessions_max() != 500)
        ck_assert_msg(wire_now_ms() < until, "the last file does not hold");
    expect_ticks(5);
    stop_tickers();
    double ok = wire_sample(&daemon_, "tickpath_config_reloads_total{outcome=\"ok\"}");
    ck_assert_msg(ok >= 1 && ok <= 101, "read %g times", ok); /* a file that was half written is refused or good, as it comes */
    wire_daemon_stop(&daemon_);
}
END_TEST

/* What came before the daemon served is heard when it does. */
START_TEST(test_while_starting)
{
    sigset_t hangup, before;
    write_file("sessions-max = 100\n");
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    sigprocmask(SIG_BLOCK, &hangup, &before);
    wire_daemon_start(&daemon_, "--config", file, "--stats", "127.0.0.1:0", NULL); /* it inherits that */
    sigprocmask(SIG_SETMASK, &before, NULL);
    reload("", "");
    ck_assert_uint_eq(sessions_max(), 100);
    wire_daemon_stop(&daemon_);
}
END_TEST

/* A drain goes on as it would have; what is live is taken over all the same. */
START_TEST(test_while_draining)
{
    write_file("drain-delay-ms = 1500\ndrain-ms = 3000\n");
    wire_daemon_start(&daemon_, "--config", file, "--stats", "127.0.0.1:0", "--threads", "2", NULL);
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    ck_assert_int_eq(kill(daemon_.pid, SIGTERM), 0);
    uint64_t began_ms = wire_now_ms();
    await_line("msg=\"draining\"");
    write_file("drain-delay-ms = 0\ndrain-ms = 0\nsessions-max = 3\n");
    reload("sessions-max drain-delay-ms drain-ms", "");
    ck_assert_uint_eq(sessions_max(), 3); /* it serves on for its 1.5 s */
    write_file("nonsense\n");
    reload_refused(":1: there is no =");
    wire_expect_last_error(&wire, TICKPATH__ERROR_CODE__SHUTTING_DOWN);
    for (int i = 0; i < 20; i++) {
        kill(daemon_.pid, SIGHUP); /* to its very end */
        sleep_ms(5);
    }
    wire_daemon_expect_exit(&daemon_, 0);
    ck_assert_uint_ge(wire_now_ms() - began_ms, 1500);
    wire_close(&wire);
}
END_TEST

static Suite *reload_suite(void)
{
    Suite *suite = suite_create("reload");
    TCase *cases = tcase_create("reload");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_refused_files);
    tcase_add_test(cases, test_every_option);
    tcase_add_test(cases, test_who_wins);
    tcase_add_test(cases, test_what_changes);
    tcase_add_test(cases, test_slow_limit);
    tcase_add_test(cases, test_bad_file_changes_nothing);
    tcase_add_test(cases, test_without_file);
    tcase_add_test(cases, test_under_load);
    tcase_add_test(cases, test_storm);
    tcase_add_test(cases, test_while_starting);
    tcase_add_test(cases, test_while_draining);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_reload", reload_suite);
}
