/* `tickpath load` against a real daemon: what it counts fits together, a daemon that stalls is measured as such, and one that goes
 * away ends it at once. */
#include "tests/lib/harness.h"
#include "tests/lib/tool.h"
#include "tests/lib/wire.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct wire_daemon daemon_;

static void begin(void)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", "--stats", "127.0.0.1:0", NULL);
}

static void end(void)
{
    if (daemon_.pid != 0)
        wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* One object of the JSON, alone, in static memory. */
static const char *part(const char *json, const char *key)
{
    static char text[512];
    char quoted[80];
    snprintf(quoted, sizeof quoted, "\"%s\": {", key);
    const char *from = strstr(json, quoted), *to = from != NULL ? strchr(from, '}') : NULL;
    ck_assert_msg(to != NULL && (size_t)(to - from) < sizeof text - 1, "no object %s in %s", key, json);
    memcpy(text, from, (size_t)(to - from) + 1);
    text[to - from + 1] = '\0';
    return text;
}

static void check_times(const char *json, const char *key, double count)
{
    static const char *const quantiles[] = {"min", "p50", "p90", "p99", "p99_9", "max"};
    const char *times = part(json, key);
    double last = 0, mean = tool_json_number(times, "mean");
    ck_assert_msg(tool_json_number(times, "count") == count, "%s of %g: %s", key, count, times);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        double value = tool_json_number(times, quantiles[i]);
        ck_assert_msg(value >= last, "%s: %s", key, times);
        last = value;
    }
    ck_assert_msg(mean >= tool_json_number(times, "min") * 0.99 && mean <= last, "%s: %s", key, times);
}

/* What holds of every load that ended in time. */
static void check_figures(const char *json)
{
    static const char *const statuses[] = {"moving", "searching", "blocked", "arrived", "unreachable"};
    double ticks = 0, answered = tool_json_number(json, "answered"),
           agents = tool_json_number(json, "agents");
    bool is_single = strcmp(tool_json_word(json, "workload"), "single") == 0;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        ticks += tool_json_number(json, statuses[i]);
    ck_assert_str_eq(tool_json_word(json, "ended"), "time");
    ck_assert_msg(answered > 0 && answered == tool_json_number(json, "sent"), "%s", json);
    ck_assert_msg(answered == tool_json_number(json, "intended"), "%s", json);
    ck_assert_msg(tool_json_number(json, "agent_ticks") == answered * (is_single ? 1 : agents), "%s", json);
    ck_assert_msg(ticks == answered * (is_single ? 1 : agents), "%s", json);
    check_times(json, "latency_us", answered);
    if (!is_single)
        check_times(json, "sent_after_us", answered);
}

static const struct {
    const char *options;
    double intended; /* frames; 0: not known before */
} loads[] = {
    {"--workload searching --agents 20 --alg tbwa --k 8 --hz 40 --seconds 0.5", 20},
    {"--workload guided --agents 20 --changes 10 --hz 40 --seconds 1", 40},
    {"--workload guided --agents 20 --changes 1 --hz 100 --seconds 0.5 --in-flight 1", 50},
    {"--workload finished --agents 20 --goals 5 --hz 40 --seconds 0.5", 20},
    {"--workload finished --agents 20 --alg tbwa --w 2 --hz 30 --seconds 0.5 --warm-frames 100", 15},
    {"--workload single --agents 21 --connections 4 --seconds 0.5", 0},
    {"--workload searching --agents 20 --alg tbwa --total-expansions 10 --hz 40 --seconds 0.5", 20},
};

START_TEST(counts_fit_together)
{
    char *json = tool_ok("load --json --via 127.0.0.1:%u --daemon-pid %d --generate rooms --size 64x64 %s",
                         daemon_.port, (int)daemon_.pid, loads[_i].options);
    const char *workload = tool_json_word(json, "workload");
    bool is_single = strcmp(workload, "single") == 0;
    check_figures(json);
    if (!is_single) {
        ck_assert_msg(tool_json_number(json, "intended") == loads[_i].intended, "%s", json);
        check_times(json, "loop_cpu_us", loads[_i].intended);
        ck_assert_msg(tool_json_number(part(json, "loop_cpu_us"), "mean") > 0, "%s", json);
    } else {
        ck_assert_msg(tool_json_number(json, "loop_cpu_us_per_request") > 0, "%s", json);
        ck_assert_msg(tool_json_number(json, "connections") == 4, "%s", json);
    }
    double complete = tool_json_number(json, "path_complete") / tool_json_number(json, "agent_ticks");
    if (strcmp(workload, "searching") == 0) /* said with the last tick of a search alone */
        ck_assert_msg(complete < 0.5 && tool_json_number(json, "goals_renewed") > 0, "%s", json);
    if (strcmp(workload, "finished") == 0 || is_single)
        ck_assert_msg(complete > 0.8, "%s", json);
    if (strstr(loads[_i].options, "--changes 10") != NULL)
        ck_assert_msg(tool_json_number(json, "cells_changed") == 10 * loads[_i].intended, "%s", json);
    bool has_total = strstr(loads[_i].options, "total") != NULL; /* 20 agents, 10 expansions a frame: everyone waits, nobody long */
    double longest = tool_json_number(json, "starved_longest");
    ck_assert_msg((tool_json_number(json, "starved") > 0) == has_total && (has_total ? longest >= 1 && longest <= 8 : longest == 0), "%s", json);
    free(json);
}
END_TEST

/* Frames of the daemon: 100 before the measuring, unless the options say otherwise. */
static void await_ticks(double count)
{
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    while (wire_sample(&daemon_, "tickpath_tick_seconds_count") < count) {
        ck_assert_uint_lt(wire_now_ms(), until);
        sleep_ms(5);
    }
}

static void *stall(void *nothing)
{
    await_ticks(110);
    kill(daemon_.pid, SIGSTOP);
    sleep_ms(1000);
    kill(daemon_.pid, SIGCONT);
    return nothing;
}

static void *kill_it(void *ticks)
{
    await_ticks(*(const double *)ticks);
    wire_daemon_kill(&daemon_);
    return NULL;
}

static void *hang(void *nothing)
{
    await_ticks(110);
    kill(daemon_.pid, SIGSTOP);
    return nothing;
}

static void run_while(struct tool_run *run, void *(*meddle)(void *), void *argument, const char *options)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, meddle, argument), 0);
    tool_run(run, "load --json --via 127.0.0.1:%u --generate rooms --size 64x64 --agents 20 %s", daemon_.port,
             options);
    pthread_join(thread, NULL);
}

/* The daemon stands still for a second of three. A closed loop would measure one frame for it; here a third of the frames are due
 * meanwhile and wait half a second in the mean. */
START_TEST(a_stall_is_not_hidden)
{
    struct tool_run run;
    run_while(&run, stall, NULL, "--hz 40 --seconds 3 --in-flight 3");
    ck_assert_msg(run.exit_code == 0, "%d\n%s%s", run.exit_code, run.out, run.err);
    check_figures(run.out);
    const char *times = part(run.out, "latency_us");
    ck_assert_msg(tool_json_number(times, "max") > 900e3 && tool_json_number(times, "p90") > 500e3, "%s",
                  times);
    ck_assert_msg(tool_json_number(run.out, "late") >= 30, "%s", run.out);
    tool_run_fini(&run);
}
END_TEST

/* Killed in the midst: told at once, with what was measured. */
START_TEST(a_daemon_that_dies_ends_it)
{
    static struct {
        const char *options;
        double
            ticks; /* until it is killed: more than before the measuring, those that complete paths included */
    } lines[] = {
        {"--hz 50 --seconds 30", 120},
        {"--workload finished --warm-frames 5 --alg tbwa --w 2 --hz 50 --seconds 30", 120},
        {"--workload single --connections 5 --alg tbwa --w 2 --seconds 30", 2000},
    };
    struct tool_run run;
    uint64_t began = wire_now_ms();
    run_while(&run, kill_it, &lines[_i].ticks, lines[_i].options);
    ck_assert_uint_lt(wire_now_ms() - began, 20000);
    ck_assert_msg(run.exit_code == 1, "%d\n%s%s", run.exit_code, run.out, run.err);
    ck_assert_msg(strstr(run.err, "the daemon is gone") != NULL, "%s", run.err);
    ck_assert_str_eq(tool_json_word(run.out, "ended"), "daemon");
    ck_assert_msg(tool_json_number(run.out, "answered") > 0 && tool_json_number(run.out, "seconds") < 20,
                  "%s", run.out);
    tool_run_fini(&run);
}
END_TEST

/* It answers no more: the run ends all the same, and the frames that were never answered are not left out of the times. */
START_TEST(a_daemon_that_hangs_is_bounded)
{
    struct tool_run run;
    run_while(&run, hang, NULL, "--hz 40 --seconds 1 --in-flight 3");
    kill(daemon_.pid, SIGCONT);
    ck_assert_msg(run.exit_code == 1, "%d\n%s%s", run.exit_code, run.out, run.err);
    ck_assert_msg(strstr(run.err, "of 40 frames") != NULL, "%s", run.err);
    double answered = tool_json_number(run.out, "answered"), sent = tool_json_number(run.out, "sent");
    ck_assert_msg(sent == answered + 3 && sent < 40 && tool_json_number(run.out, "intended") == 40, "%s",
                  run.out);
    check_times(run.out, "latency_us", 40);
    ck_assert_msg(tool_json_number(part(run.out, "latency_us"), "max") > 5e6, "%s", run.out);
    tool_run_fini(&run);
}
END_TEST

START_TEST(refusals)
{
    static const struct {
        const char *options, *words;
    } lines[] = {
        {"--workload walking", "--workload"},
        {"--workload finished --changes 5", "--changes"},
        {"--workload single --agents 3 --connections 4", "--connections"},
        {"--hz 1 --seconds 0.5", "--seconds"},
        {"--hz 0", "--hz"},
        {"--scen none.scen", "--scen"},
        {"--known none.map", "--known"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct tool_run run;
        tool_run(&run, "load --via 127.0.0.1:%u %s", daemon_.port, lines[i].options);
        ck_assert_msg(run.exit_code == 2 && strstr(run.err, lines[i].words) != NULL, "%s: %d: %s",
                      lines[i].options, run.exit_code, run.err);
        tool_run_fini(&run);
    }
    struct tool_run run;
    tool_run(&run, "load --via 127.0.0.1:%u --daemon-pid %d", daemon_.port, INT32_MAX);
    ck_assert_msg(run.exit_code == 1 && strstr(run.err, "/proc/") != NULL, "%d: %s", run.exit_code, run.err);
    tool_run_fini(&run);
    tool_run(&run, "load --via 127.0.0.1:%u --daemon-pid %d", daemon_.port, (int)getpid());
    ck_assert_msg(run.exit_code == 2 && strstr(run.err, "--daemon-pid: process ") != NULL, "%d: %s", run.exit_code, run.err);
    tool_run_fini(&run);
    tool_run(&run, "load --via 127.0.0.1:1");
    ck_assert_msg(run.exit_code == 1, "%d: %s", run.exit_code, run.err);
    tool_run_fini(&run);
}
END_TEST

static Suite *tool_load_suite(void)
{
    Suite *suite = suite_create("tool_load");
    TCase *cases = tcase_create("tool_load");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_loop_test(cases, counts_fit_together, 0, (int)(sizeof loads / sizeof loads[0]));
    tcase_add_test(cases, a_stall_is_not_hidden);
    tcase_add_loop_test(cases, a_daemon_that_dies_ends_it, 0, 3);
    tcase_add_test(cases, a_daemon_that_hangs_is_bounded);
    tcase_add_test(cases, refusals);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_load", tool_load_suite);
}
