/* The tool leaves no map of its own on a daemon, however it ends, and takes none away that is not its own. */
#include "client/tickpath_client.h"
#include "tests/lib/harness.h"
#include "tests/lib/tool.h"
#include "tests/lib/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CALL_MS = 10000 };

static struct wire_daemon daemon_;
static struct tp_client *client_;
static char folder[256], *map, *scen, *rows_map;

static void begin(void)
{
    strcpy(folder, tp_test_folder_make());
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", NULL);
    ck_assert_int_eq(tp_client_open(&client_, "127.0.0.1", daemon_.port, "test", CALL_MS, NULL), 0);
    char path[300];
    snprintf(path, sizeof path, "%s/maze.map", folder);
    map = strdup(path);
    free(tool_ok("map generate --kind maze --size 63x63 --seed 3 --out %s", map));
    rows_map =
        tool_write_file(folder, "hall.map", "type octile\nheight 2\nwidth 8\nmap\n........\n........\n");
    scen = tool_write_file(folder, "hall.scen", "version 1\n0\thall.map\t8\t2\t0\t0\t7\t1\t7.41421356\n");
}

static void end(void)
{
    tp_client_close(client_);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
    free(map);
    free(rows_map);
    free(scen);
    tp_test_folder_remove(folder);
}

static size_t count_maps(const char *name)
{
    struct tp_client_listing listing;
    size_t count = 0;
    ck_assert_int_eq(tp_client_list(client_, TP_CLIENT_LIST_MAPS, &listing, CALL_MS), 0);
    for (size_t i = 0; i < listing.map_count; i++)
        count += strncmp(listing.maps[i].name, name, strlen(name)) == 0;
    return count;
}

static void put(const char *name, struct tp_client_map *out)
{
    uint8_t cells[16];
    memset(cells, '.', sizeof cells);
    ck_assert_int_eq(tp_client_put_map(client_, name, 4, 4, cells, NULL, 0, true, out, CALL_MS), 0);
}

START_TEST(leaves_nothing)
{
    struct tp_client_map other;
    put("tool/other", &other); /* of somebody else */
    const char *const lines[] = {
        "bench --map %s --scen %s --via 127.0.0.1:%u",
        "trace --map %s --scen %s --via 127.0.0.1:%u",
        "bench --map %s --scen %s --via 127.0.0.1:%u --alg tbwa --unknown", /* is refused a session */
        "bench --map %s --scen %s --via 127.0.0.1:%u --ticks-max 2",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct tool_run run;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        tool_run(&run, lines[i], rows_map, scen, daemon_.port);
#pragma GCC diagnostic pop
        ck_assert_msg(run.exit_code == (i == 2 ? 2 : 0), "%s: %s", lines[i], run.err);
        ck_assert_msg(strstr(run.err, "stays on the daemon") == NULL, "%s", run.err);
        tool_run_fini(&run);
        ck_assert_uint_eq(count_maps("tool/hall"), 0);
    }
    free(tool_ok("run --via 127.0.0.1:%u --map %s --agents 5", daemon_.port, map));
    ck_assert_uint_eq(count_maps("tool/maze"), 0);
    struct tool_run run;
    tool_run(&run, "run --via 127.0.0.1:%u --map %s --agents 20 --k 1 --ticks-max 10", daemon_.port, map);
    ck_assert_int_eq(run.exit_code, 1);
    tool_run_fini(&run);
    tool_run(&run, "run --via 127.0.0.1:%u --map %s --agents 2 --alg tbwa --unknown", daemon_.port, map);
    ck_assert_int_eq(run.exit_code, 2);
    tool_run_fini(&run);
    ck_assert_uint_eq(count_maps("tool/maze"), 0);
    ck_assert_uint_eq(count_maps("tool/other"), 1);
}
END_TEST

/* A map of the same name that is in use stays: the tool takes another name, and drops that. */
START_TEST(leaves_what_is_in_use)
{
    struct tp_client_map own, now;
    put("tool/hall", &own);
    uint64_t epoch = own.epoch;
    struct tp_client_session session;
    const struct tp_client_session_params params = {.map = "tool/hall", .goal = 15};
    ck_assert_int_eq(tp_client_open_session(client_, &params, &session, CALL_MS), 0);
    free(tool_ok("bench --map %s --scen %s --via 127.0.0.1:%u", rows_map, scen, daemon_.port));
    ck_assert_uint_eq(count_maps("tool/hall"), 1);
    ck_assert_int_eq(tp_client_open_map(client_, "tool/hall", 0, &now, CALL_MS), 0);
    ck_assert_uint_eq(now.epoch, epoch);
}
END_TEST

enum { LONG_WORDS = 10 };

/* Commands of 50 agents that take long, without daemon and map. */
static const char *const long_commands[][LONG_WORDS] = {
    {"run", "--agents", "50", "--k", "1", "--ticks-max", "100000000", "--door-rounds", "1000000"},
    {"load", "--agents", "50", "--hz", "50", "--seconds", "60"},
    {"load", "--agents", "50", "--workload", "single", "--connections", "3", "--seconds", "60"},
};

/* Starts one of them; gives its pid. */
static pid_t start_long(const char *const words[LONG_WORDS])
{
    char via[32];
    snprintf(via, sizeof via, "127.0.0.1:%u", daemon_.port);
    char *argv[LONG_WORDS + 6] = {(char *)tp_test_program("tickpath")};
    int count = 1;
    for (int i = 0; i < LONG_WORDS && words[i] != NULL; i++)
        argv[count++] = (char *)words[i];
    argv[count++] = (char *)"--via";
    argv[count++] = via;
    argv[count++] = (char *)"--map";
    argv[count++] = map;
    pid_t pid = tp_test_fork();
    if (pid == 0) {
        alarm(60);
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

/* Interrupted in the midst of it: the map goes, and the tool ends by that signal. */
START_TEST(interrupted)
{
    const int signals[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        pid_t pid = start_long(long_commands[_i]);
        uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS, sessions = 0;
        while (sessions < 50) {
            struct tp_client_map info;
            ck_assert_uint_lt(wire_now_ms(), until);
            int error = tp_client_open_map(client_, "tool/maze", 0, &info, CALL_MS);
            ck_assert(error == 0 || error == TP_CLIENT_NOT_FOUND || error == TP_CLIENT_MAP_NOT_READY);
            sessions = error == 0 ? info.sessions : 0;
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        ck_assert_int_eq(kill(pid, signals[i]), 0);
        int status;
        while (waitpid(pid, &status, 0) < 0)
            ck_assert_int_eq(errno, EINTR);
        ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == signals[i], "ended with %#x",
                      (unsigned)status);
        ck_assert_uint_eq(count_maps("tool/"), 0);
    }
}
END_TEST

static Suite *tool_drop_suite(void)
{
    Suite *suite = suite_create("tool_drop");
    TCase *cases = tcase_create("tool_drop");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, leaves_nothing);
    tcase_add_test(cases, leaves_what_is_in_use);
    tcase_add_loop_test(cases, interrupted, 0, (int)(sizeof long_commands / sizeof long_commands[0]));
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_drop", tool_drop_suite);
}
