/* `tickpath watch` against a daemon whose map changes. */
#include "tests/lib/harness.h"
#include "tests/lib/served.h"
#include "tests/lib/tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void begin(void)
{
    served_begin_plain();
    wire_put_free_map(&served.wire, "m", 8, 8);
}

/* Waits until somebody is subscribed, then changes the map. */
static void *change_it(void *nothing)
{
    (void)nothing;
    bool is_watched = false;
    for (uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS; !is_watched && wire_now_ms() < until;) {
        int status;
        char *text = wire_http_get(&served.daemon, "/metrics", &status);
        is_watched = text != NULL && strstr(text, "\ntickpath_subscriptions_open 1") != NULL;
        free(text);
    }
    wire_set_cell(&served.wire, "m", 9, '@');
    return NULL;
}

START_TEST(test_changes)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, change_it, NULL), 0);
    char *out = tool_ok("watch --map m --via 127.0.0.1:%u --cells --count 1", served.daemon.port);
    pthread_join(thread, NULL);
    ck_assert_msg(strstr(out, "\"version\": 1}\n") != NULL, "%s", out);
    ck_assert_msg(strstr(out, "\"from_version\": 1, \"version\": 2, \"cells\": [[1, 1, 64]]}\n") != NULL, "%s",
                  out);
    free(out);
    out = tool_ok("watch --map m --via 127.0.0.1:%u --seconds 1", served.daemon.port);
    ck_assert_msg(strstr(out, "\"version\": 2}\n") != NULL && strstr(out, "from_version") == NULL, "%s", out);
    free(out);
}
END_TEST

/* The map comes while it waits; or does not. */
static void *put_it(void *nothing)
{
    (void)nothing;
    struct wire wire;
    wire_open_greeted(&wire, served.daemon.port);
    struct timespec pause = {.tv_nsec = 300000000L};
    nanosleep(&pause, NULL);
    wire_put_free_map(&wire, "late", 10, 10);
    wire_close(&wire);
    return NULL;
}

START_TEST(test_waits)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, put_it, NULL), 0);
    char *out = tool_ok("watch --map late --via 127.0.0.1:%u --wait --seconds 3", served.daemon.port);
    pthread_join(thread, NULL);
    ck_assert_msg(strstr(out, "\"version\": 1}\n") != NULL, "%s", out);
    free(out);
    out = tool_ok("watch --map never --via 127.0.0.1:%u --wait --seconds 1", served.daemon.port);
    ck_assert_str_eq(out, "");
    free(out);
}
END_TEST

START_TEST(test_refusals)
{
    struct tool_run run;
    tool_run(&run, "watch --map no/such --via 127.0.0.1:%u", served.daemon.port);
    ck_assert_int_eq(run.exit_code, 1);
    ck_assert_msg(strstr(run.err, "NOT_FOUND") != NULL, "%s", run.err);
    tool_run_fini(&run);
    tool_run(&run, "watch --via 127.0.0.1:%u", served.daemon.port);
    ck_assert_int_eq(run.exit_code, 2);
    ck_assert_msg(strstr(run.err, "--map") != NULL, "%s", run.err);
    tool_run_fini(&run);
}
END_TEST

static Suite *watch_suite(void)
{
    Suite *suite = suite_create("tool_watch");
    TCase *cases = tcase_create("watch");
    tcase_add_checked_fixture(cases, begin, served_end_plain);
    tcase_add_test(cases, test_changes);
    tcase_add_test(cases, test_waits);
    tcase_add_test(cases, test_refusals);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_watch", watch_suite);
}
