/* The tool with several daemons, one of which is killed in the middle: `tickpath run` walks on, every move checked, and `tickpath watch`
 * goes on telling.
 */
#include "tests/lib/harness.h"
#include "tests/lib/redis.h"
#include "tests/lib/tool.h"
#include "tests/lib/wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DAEMONS = 3, KILLER_MS_MAX = 50000 };
#ifdef TP_TEST_SANITIZED
enum { PAUSE_MS_MAX = 10000 }; /* that it goes on; how fast is for a build that is not slowed down */
#else
enum { PAUSE_MS_MAX = 1000 };
#endif

static struct wire_daemon daemons_[DAEMONS];
static struct test_redis redis_; /* pid 0: each daemon has a store of its own */
static char via_[128];

static void begin(void)
{
    size_t used = 0;
    for (int i = 0; i < DAEMONS; i++) {
        wire_daemon_init(&daemons_[i]);
        if (redis_.pid != 0)
            wire_daemon_start(&daemons_[i], "--stats", "127.0.0.1:0", "--redis", redis_.url, NULL);
        else
            wire_daemon_start(&daemons_[i], "--stats", "127.0.0.1:0", NULL);
        used += (size_t)snprintf(via_ + used, sizeof via_ - used, "%s127.0.0.1:%u", i > 0 ? "," : "", daemons_[i].port);
    }
}

static void end(void)
{
    for (int i = 0; i < DAEMONS; i++)
        wire_daemon_fini(&daemons_[i]);
}

/* Likewise, the daemons sharing their maps. */
static void begin_shared(void)
{
    test_redis_init(&redis_);
    test_redis_start(&redis_);
    begin();
}

static void end_shared(void)
{
    end();
    test_redis_fini(&redis_);
}

/* Starts a process that kills the first `count` daemons, one after the other, each when its sample has come to a value. */
static pid_t start_killer(int count, const char *sample, double value)
{
    pid_t pid = tp_test_fork();
    if (pid != 0)
        return pid;
    uint64_t until = wire_now_ms() + KILLER_MS_MAX;
    for (int i = 0; i < count; i++) {
        while (wire_sample(&daemons_[i], sample) < value) {
            if (wire_now_ms() >= until)
                _exit(1);
            usleep(3000);
        }
        kill(daemons_[i].pid, SIGKILL);
    }
    _exit(0);
}

static void await_killer(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the daemons were not killed: 0x%x", (unsigned)status);
}

/* The number behind some words of a table. */
static double number_behind(const char *table, const char *words)
{
    const char *at = strstr(table, words);
    ck_assert_msg(at != NULL, "\"%s\" is not in:\n%s", words, table);
    return strtod(at + strlen(words), NULL);
}

static const struct {
    const char *options;
    int kills;
} runs[] = {
    {"--door-ticks 2 --door-rounds 60", 1},
    {"--door-ticks 3 --door-rounds 60", 2},
    {"--agent-size 2 --terrain .=1,T=3 --profile .=2,T=1 --door-ticks 4", 1},
    {"--doors 0 --alg tbwa --k 30 --goal-policy nearest", 1},
};

START_TEST(run_goes_on)
{
    char *map, path[192];
    snprintf(path, sizeof path, "%s/city.map", daemons_[0].folder);
    free(tool_ok("map generate --kind city --size 128x128 --seed 5 --out %s", path));
    map = path;
    pid_t killer = start_killer(runs[_i].kills, "tickpath_tick_sessions_sum", 200 * 25);
    struct tool_run run;
    tool_run(&run, "run --map %s --agents 200 --seed 9 --via %s %s", map, via_, runs[_i].options);
    ck_assert_msg(run.exit_code == 0, "exit code %d\n%s%s", run.exit_code, run.out, run.err);
    await_killer(killer);
    ck_assert_msg(number_behind(run.out, "\nfailovers ") == runs[_i].kills, "%s%s", run.out, run.err);
    ck_assert_msg(strstr(run.out, "200: 200 arrived") != NULL, "%s", run.out);
    ck_assert_ptr_nonnull(strstr(run.out, "every move checked"));
    double pause_ms = number_behind(run.out, "the longest pause of the agents was ");
    ck_assert_msg(pause_ms > 0 && pause_ms < PAUSE_MS_MAX, "%s", run.out);
    for (int i = 0; i < runs[_i].kills; i++) {
        char words[64];
        snprintf(words, sizeof words, "127.0.0.1:%u is lost: ", daemons_[i].port);
        ck_assert_msg(strstr(run.err, words) != NULL, "%s", run.err);
        snprintf(words, sizeof words, "127.0.0.1:%u takes over after ", daemons_[i + 1].port);
        ck_assert_msg(strstr(run.err, words) != NULL, "%s", run.err);
    }
    char *maps = wire_http_get(&daemons_[runs[_i].kills], "/metrics", &(int){0});
    ck_assert_ptr_nonnull(maps);
    ck_assert_ptr_nonnull(strstr(maps, "\ntickpath_maps 0\n")); /* the map that was put there is dropped at the end, too */
    free(maps);
    printf("200 agents%s, \"%s\", %d killed: everything stood again within %.0f ms, the longest pause was %.0f ms\n",
           redis_.pid != 0 ? " through Redis" : "", runs[_i].options, runs[_i].kills, number_behind(run.out, "everything stood again within "), pause_ms);
    tool_run_fini(&run);
}
END_TEST

START_TEST(run_gives_up)
{
    char path[192];
    snprintf(path, sizeof path, "%s/city.map", daemons_[0].folder);
    free(tool_ok("map generate --kind city --size 64x64 --seed 5 --out %s", path));
    wire_daemon_kill(&daemons_[2]);
    pid_t killer = start_killer(1, "tickpath_tick_sessions_sum", 50 * 20);
    struct tool_run run;
    kill(daemons_[1].pid, SIGSTOP); /* it takes connections, and says nothing */
    tool_run(&run, "run --map %s --agents 50 --door-rounds 100000 --ticks-max 100000000 --via %s", path, via_);
    await_killer(killer);
    ck_assert_int_eq(run.exit_code, 1);
    ck_assert_msg(strstr(run.err, "no daemon of 127.0.0.1:") != NULL && strstr(run.err, "took over within 10000 ms") != NULL, "%s",
                  run.err);
    ck_assert_ptr_nonnull(strstr(run.err, "without a welcome"));
    tool_run_fini(&run);
}
END_TEST

START_TEST(watch_goes_on)
{
    for (int i = 0; i < DAEMONS; i++) {
        struct wire wire;
        wire_open_greeted(&wire, daemons_[i].port);
        wire_put_free_map(&wire, "m", 20, 20);
        wire_close(&wire);
    }
    pid_t killer = start_killer(1, "tickpath_subscriptions_open", 1);
    char *lines = tool_ok("watch --map m --cells --count 1 --via %s", via_);
    await_killer(killer);
    const char *second = strchr(lines, '\n');
    ck_assert_msg(second != NULL && strstr(second, "\"resync\": true") != NULL, "%s", lines);
    free(lines);
}
END_TEST

START_TEST(list_is_refused)
{
    static const char *const lists[] = {"127.0.0.1:1,", ",127.0.0.1:1", "127.0.0.1:1,,127.0.0.1:2", "127.0.0.1:1,x", "127.0.0.1:1,x:0"};
    struct tool_run run;
    tool_run(&run, "watch --map m --via %s", lists[_i]);
    ck_assert_int_eq(run.exit_code, 2);
    ck_assert_msg(strstr(run.err, "--via") != NULL && strstr(run.err, "parted by commas") != NULL, "%s", run.err);
    tool_run_fini(&run);
}
END_TEST

static Suite *failover_suite(void)
{
    Suite *suite = suite_create("tool_failover");
    TCase *cases = tcase_create("failover"), *refused = tcase_create("refused");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_loop_test(cases, run_goes_on, 0, sizeof runs / sizeof runs[0]);
    tcase_add_test(cases, run_gives_up);
    tcase_add_test(cases, watch_goes_on);
    suite_add_tcase(suite, cases);
    TCase *shared = tcase_create("shared");
    tcase_add_checked_fixture(shared, begin_shared, end_shared);
    tcase_add_loop_test(shared, run_goes_on, 0, sizeof runs / sizeof runs[0]);
    suite_add_tcase(suite, shared);
    tcase_add_loop_test(refused, list_is_refused, 0, 5);
    suite_add_tcase(suite, refused);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_failover", failover_suite);
}
