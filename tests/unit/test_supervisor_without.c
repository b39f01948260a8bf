/* The supervisor as it is built without libsystemd: it takes nothing, says so where sockets were meant for this process, and tells nobody. */
#undef TP_HAS_SYSTEMD
#include "daemon/supervisor.c" /* the library's own, with libsystemd, is not linked then */

#include "tests/lib/harness.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static void set_own_pid(long more)
{
    char pid[32];
    snprintf(pid, sizeof pid, "%ld", (long)getpid() + more);
    ck_assert_int_eq(setenv("LISTEN_PID", pid, 1), 0);
    ck_assert_int_eq(setenv("LISTEN_FDS", "1", 1), 0);
}

START_TEST(test_sockets)
{
    struct tp_supervisor_sockets sockets = {5, 5};
    char reason[256] = "";
    ck_assert_int_eq(tp_supervisor_take(&sockets, reason), 0);
    ck_assert(sockets.clients == -1 && sockets.stats == -1);
    set_own_pid(1); /* they are another process's */
    ck_assert_int_eq(tp_supervisor_take(&sockets, reason), 0);
    ck_assert_str_eq(reason, "");
    set_own_pid(0); /* whoever connects to them would wait for ever: it must not start as if nothing were */
    ck_assert_int_eq(tp_supervisor_take(&sockets, reason), TP_ERR_IO);
    ck_assert_msg(strstr(reason, "without libsystemd") != NULL, "%s", reason);
    ck_assert(sockets.clients == -1 && sockets.stats == -1);
}
END_TEST

START_TEST(test_telling)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *folder = getenv("TMPDIR");
    snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", folder != NULL ? folder : "/tmp");
    unlink(address.sun_path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
    ck_assert_int_eq(setenv("WATCHDOG_USEC", "400000", 1), 0);
    struct tp_supervisor_sockets sockets;
    char reason[256];
    ck_assert_int_eq(tp_supervisor_take(&sockets, reason), 0); /* that it will hear nothing is in the log, not fatal */
    tp_supervisor_tell("READY=1\nSTATUS=%s", "serving");
    ck_assert_uint_eq(tp_supervisor_watchdog_ms(), 0); /* a watchdog that is never told must not be promised */
    char heard[64];
    ck_assert_int_eq(recv(fd, heard, sizeof heard, MSG_DONTWAIT), -1);
    ck_assert(errno == EAGAIN || errno == EWOULDBLOCK);
    close(fd);
    unlink(address.sun_path);
}
END_TEST

static Suite *supervisor_suite(void)
{
    Suite *suite = suite_create("supervisor_without");
    TCase *cases = tcase_create("supervisor");
    tcase_add_test(cases, test_sockets);
    tcase_add_test(cases, test_telling);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_supervisor_without", supervisor_suite);
}
