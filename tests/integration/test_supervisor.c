/* A service manager and the daemon: what it is told, when its watchdog is told nothing, sockets handed over and kept over a restart. A real
 * process each time; the manager is this test. */
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef TP_HAS_SYSTEMD
enum { HAS_SYSTEMD = 1 };
#else
enum { HAS_SYSTEMD = 0 };
#endif

static struct wire_daemon daemon_;
static int notify_fd;

static void begin(void)
{
    wire_daemon_init(&daemon_);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    ck_assert_int_lt(snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", daemon_.folder), (int)sizeof address.sun_path);
    notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(notify_fd, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
}

static void end(void)
{
    close(notify_fd);
    wire_daemon_fini(&daemon_);
}

/* The next datagram into `said`; false when none comes in time. */
static bool hear(char said[512], int timeout_ms)
{
    struct pollfd ready = {.fd = notify_fd, .events = POLLIN};
    if (poll(&ready, 1, timeout_ms) <= 0)
        return false;
    ssize_t got = recv(notify_fd, said, 511, 0);
    ck_assert_int_gt(got, 0);
    said[got] = '\0';
    return true;
}

static void await_words(const char *words)
{
    char said[512];
    do
        ck_assert_msg(hear(said, WIRE_TIMEOUT_MS), "the daemon did not say %s", words);
    while (strstr(said, words) == NULL);
}

START_TEST(test_ready_and_stopping)
{
    char said[512], words[64];
    wire_daemon_start(&daemon_, NULL);
    ck_assert(hear(said, WIRE_TIMEOUT_MS));
    snprintf(words, sizeof words, "READY=1\nSTATUS=serving on port %u", daemon_.port);
    ck_assert_str_eq(said, words);
    ck_assert_msg(!hear(said, 300), "it said %s, and nobody watches", said);
    wire_daemon_stop(&daemon_);
    ck_assert(hear(said, 0));
    ck_assert_str_eq(said, "STOPPING=1\nSTATUS=draining");
    ck_assert(!hear(said, 0));
}
END_TEST

/* A manager that hangs keeps the daemon neither from serving nor from ending. */
START_TEST(test_manager_that_does_not_read)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof address;
    ck_assert_int_eq(getsockname(notify_fd, (struct sockaddr *)&address, &size), 0);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), sent = 0;
    while (sendto(fd, "X=1", 3, 0, (struct sockaddr *)&address, size) == 3)
        ck_assert_int_lt(sent++, 100000);
    ck_assert_int_eq(errno, EAGAIN);
    setenv("WATCHDOG_USEC", "200000", 1);
    wire_daemon_start(&daemon_, NULL);
    unsetenv("WATCHDOG_USEC");
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
    close(fd);
}
END_TEST

/* What systemd wants to hear of a reload: that it begins, and when, and that it is over, good or bad. */
START_TEST(test_reloading)
{
    char said[512], path[160];
    snprintf(path, sizeof path, "%s/conf", daemon_.folder);
    for (int is_good = 1; is_good >= 0; is_good--) {
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(is_good ? "sessions-max = 9\n" : "nonsense\n", file);
        fclose(file);
        if (is_good) {
            wire_daemon_start(&daemon_, "--config", path, NULL);
            await_words("READY=1");
        }
        struct timespec before, after;
        unsigned long long at_us;
        clock_gettime(CLOCK_MONOTONIC, &before);
        ck_assert_int_eq(kill(daemon_.pid, SIGHUP), 0);
        ck_assert(hear(said, WIRE_TIMEOUT_MS));
        ck_assert_msg(sscanf(said, "RELOADING=1\nMONOTONIC_USEC=%llu", &at_us) == 1, "%s", said);
        clock_gettime(CLOCK_MONOTONIC, &after);
        ck_assert_uint_ge(at_us, (unsigned long long)before.tv_sec * 1000000 + (unsigned long long)before.tv_nsec / 1000);
        ck_assert_uint_le(at_us, (unsigned long long)after.tv_sec * 1000000 + (unsigned long long)after.tv_nsec / 1000);
        ck_assert(hear(said, WIRE_TIMEOUT_MS));
        ck_assert_msg(strncmp(said, "READY=1\nSTATUS=serving", 22) == 0 && (strstr(said, "refused") == NULL) == is_good, "%s", said);
    }
    ck_assert(!hear(said, 0));
    wire_daemon_stop(&daemon_);
}
END_TEST

/* As long as every loop answers the watchdog is told; a loop that is stuck ends that, and when it answers again it goes on. */
START_TEST(test_watchdog)
{
    enum { SIDE = 1200, SESSIONS = 3, WATCHDOG_MS = 400 };
    setenv("WATCHDOG_USEC", "400000", 1);
    wire_daemon_start(&daemon_, "--threads", "1", NULL);
    char said[512];
    for (int i = 0; i < 10; i++) {
        await_words("WATCHDOG=1");
    }
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_put_free_map(&wire, "m", SIDE, SIDE);
    wire_wall_off(&wire, "m", SIDE);
    for (int i = 0; i < SESSIONS; i++)
        wire_open_session(&wire, "m", (uint32_t)i, SIDE * SIDE - 1, "tbwa", 1000000000);
    while (hear(said, 0)) {
    }
    uint64_t began_ms = wire_now_ms(), last_ms = began_ms, longest_ms = 0;
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    wire_send(&wire, TICKPATH__REQUEST__BODY_TICK, &tick);
    struct pollfd answered = {.fd = wire.fd, .events = POLLIN};
    while (poll(&answered, 1, 0) == 0) { /* the loop is busy until it answers */
        ck_assert_uint_lt(wire_now_ms() - began_ms, WIRE_TIMEOUT_MS * 2);
        if (!hear(said, 20))
            continue;
        uint64_t now_ms = wire_now_ms();
        longest_ms = now_ms - last_ms > longest_ms ? now_ms - last_ms : longest_ms;
        last_ms = now_ms;
    }
    uint64_t busy_ms = wire_now_ms() - began_ms;
    longest_ms = wire_now_ms() - last_ms > longest_ms ? wire_now_ms() - last_ms : longest_ms;
    ck_assert_msg(busy_ms > WATCHDOG_MS * 2, "the tick took %llu ms only", (unsigned long long)busy_ms);
    ck_assert_msg(longest_ms > busy_ms - WATCHDOG_MS, "while the loop was stuck for %llu ms the longest silence was %llu ms",
                  (unsigned long long)busy_ms, (unsigned long long)longest_ms);
    await_words("WATCHDOG=1");
    wire_close(&wire);
    wire_daemon_stop(&daemon_);
    unsetenv("WATCHDOG_USEC");
}
END_TEST

/* ---- Sockets ---- */

static int listening_socket(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(fd, 1024), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

/* Starts a daemon that is handed these sockets, and waits for nothing. `count` is 1 or 2. */
static pid_t start_with(const int *fds, int count, const char *names)
{
    const char *program = tp_test_program("tickpathd"); /* it asserts: not where descriptor 3 is no longer Check's */
    pid_t pid = tp_test_fork();
    if (pid == 0) {
        char own[32], many[8];
        int kept[2];
        snprintf(own, sizeof own, "%ld", (long)getpid());
        snprintf(many, sizeof many, "%d", count);
        setenv("LISTEN_PID", own, 1);
        setenv("LISTEN_FDS", many, 1);
        if (names != NULL)
            setenv("LISTEN_FDNAMES", names, 1);
        for (int i = 0; i < count; i++)
            kept[i] = dup2(fds[i], 60 + i);
        for (int i = 0; i < count; i++)
            dup2(kept[i], 3 + i);
        for (int i = 0; i < count; i++)
            close(kept[i]);
        execl(program, program, "--listen", "127.0.0.1:1", NULL);
        _exit(127);
    }
    return pid;
}

static int end_of(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "the daemon ended with status %#x", (unsigned)status);
    return WEXITSTATUS(status);
}

/* Both sockets come from the manager, whatever --listen says and though --stats says nothing; the stats endpoint answers on its own. */
START_TEST(test_both_sockets)
{
    int fds[2];
    struct wire_daemon named = {0};
    fds[0] = listening_socket(&named.stats_port);
    fds[1] = listening_socket(&named.port);
    pid_t pid = start_with(fds, 2, "stats:tickpath");
    struct wire wire; /* the socket listens already: the connection waits until the daemon takes it */
    wire_open_greeted(&wire, named.port);
    int status;
    char *text = wire_http_get(&named, "/livez", &status);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(status, 200);
    free(text);
    wire_close(&wire);
    kill(pid, SIGTERM);
    ck_assert_int_eq(end_of(pid), 0);
    for (int i = 0; i < 2; i++) { /* and both listen on, for the next */
        int listening = 0;
        ck_assert_int_eq(getsockopt(fds[i], SOL_SOCKET, SO_ACCEPTCONN, &listening, &(socklen_t){sizeof listening}), 0);
        ck_assert_int_eq(listening, 1);
        close(fds[i]);
    }
}
END_TEST

START_TEST(test_sockets_refused)
{
    int fds[2], pair[2];
    uint16_t port;
    fds[0] = listening_socket(&port);
    fds[1] = listening_socket(&port);
    ck_assert_int_eq(end_of(start_with(fds, 2, "tickpath:tickpth")), 10);
    ck_assert_int_eq(end_of(start_with(fds, 2, "tickpath:tickpath")), 10);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(end_of(start_with(pair, 1, NULL)), 10);
    close(pair[0]), close(pair[1]), close(fds[0]), close(fds[1]);
}
END_TEST

/* Built without libsystemd it can't take them, and does not begin to listen elsewhere. */
START_TEST(test_sockets_refused_without)
{
    uint16_t port;
    int fd = listening_socket(&port);
    ck_assert_int_eq(end_of(start_with(&fd, 1, NULL)), 10);
    close(fd);
}
END_TEST

struct knocking {
    uint16_t port;
    atomic_bool is_ending;
    atomic_int welcomed;
    char failure[160]; /* empty: none */
};

/* Connects and says hello, over and over; each time it must be welcomed. */
static void *knock(void *argument)
{
    struct knocking *knocking = argument;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(knocking->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.body_case = TICKPATH__REQUEST__BODY_HELLO;
    request.hello = &hello;
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    while (!atomic_load(&knocking->is_ending) && knocking->failure[0] == '\0') {
        struct wire wire = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        Tickpath__Reply *reply = NULL;
        if (connect(wire.fd, (struct sockaddr *)&address, sizeof address) != 0)
            snprintf(knocking->failure, sizeof knocking->failure, "connect: %s", strerror(errno));
        else if (!wire_send_bytes(&wire, frame, size) || wire_poll(&wire, &reply, WIRE_TIMEOUT_MS) != WIRE_GOT_FRAME)
            snprintf(knocking->failure, sizeof knocking->failure, "no reply to a hello");
        else if (reply->body_case != TICKPATH__REPLY__BODY_WELCOME)
            snprintf(knocking->failure, sizeof knocking->failure, "a reply of kind %d to a hello", (int)reply->body_case);
        else
            atomic_fetch_add(&knocking->welcomed, 1);
        wire_reply_free(reply);
        wire_close(&wire);
    }
    free(frame);
    return NULL;
}

static void await_welcomed(struct knocking *knocking, int more)
{
    int until = atomic_load(&knocking->welcomed) + more;
    uint64_t end_ms = wire_now_ms() + WIRE_TIMEOUT_MS;
    while (atomic_load(&knocking->welcomed) < until) {
        ck_assert_msg(knocking->failure[0] == '\0', "%s", knocking->failure);
        ck_assert_msg(wire_now_ms() < end_ms, "nobody is welcomed");
        usleep(2000);
    }
}

/* Daemons come and go behind a socket that stays; of those who connect without a pause none is turned away. */
START_TEST(test_restarts_lose_nobody)
{
    enum { RESTARTS = 3, MORE = 50, KNOCKERS = 2 };
    struct knocking knocking = {0};
    int fd = listening_socket(&knocking.port);
    pid_t pid = start_with(&fd, 1, NULL);
    pthread_t threads[KNOCKERS];
    for (int i = 0; i < KNOCKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, knock, &knocking), 0);
    for (int i = 0; i < RESTARTS; i++) {
        await_welcomed(&knocking, MORE);
        kill(pid, SIGTERM);
        ck_assert_int_eq(end_of(pid), 0);
        pid = start_with(&fd, 1, NULL);
    }
    await_welcomed(&knocking, MORE);
    atomic_store(&knocking.is_ending, true);
    for (int i = 0; i < KNOCKERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_msg(knocking.failure[0] == '\0', "%s", knocking.failure);
    kill(pid, SIGTERM);
    ck_assert_int_eq(end_of(pid), 0);
    close(fd);
}
END_TEST

/* The processor's time that a process had so far. */
static uint64_t processor_ms(pid_t pid)
{
    char path[64];
    unsigned long long user, system;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system), 2);
    fclose(file);
    return (user + system) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static bool holds_words(const char *path, const char *words)
{
    char text[8192];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return strstr(text, words) != NULL;
}

/* Another who holds the socket shuts it down: the daemon says so, and does not look at it without a pause from then on; whom it serves it serves. */
START_TEST(test_socket_shut_down)
{
    enum { LOOK_MS = 600 };
    char log[160];
    uint16_t port;
    int fd = listening_socket(&port), own = dup(STDERR_FILENO);
    snprintf(log, sizeof log, "%s/log", daemon_.folder);
    int to = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert(own >= 0 && to >= 0 && dup2(to, STDERR_FILENO) >= 0);
    pid_t pid = start_with(&fd, 1, NULL);
    ck_assert_int_ge(dup2(own, STDERR_FILENO), 0);
    close(own), close(to);
    struct wire wire;
    wire_open_greeted(&wire, port);
    ck_assert_int_eq(shutdown(fd, SHUT_RDWR), 0);
    uint64_t until_ms = wire_now_ms() + WIRE_TIMEOUT_MS;
    while (!holds_words(log, "cannot accept")) {
        ck_assert_msg(wire_now_ms() < until_ms, "it does not say that it accepts nobody");
        usleep(5000);
    }
    uint64_t before_ms = processor_ms(pid);
    usleep(LOOK_MS * 1000);
    uint64_t took_ms = processor_ms(pid) - before_ms;
    ck_assert_msg(took_ms < LOOK_MS / 2, "an idle daemon took %llu ms of the processor in %d ms", (unsigned long long)took_ms, LOOK_MS);
    wire_expect_alive(&wire);
    wire_close(&wire);
    kill(pid, SIGTERM);
    ck_assert_int_eq(end_of(pid), 0);
    close(fd);
    unlink(log);
}
END_TEST

static Suite *supervisor_suite(void)
{
    Suite *suite = suite_create("supervisor");
    TCase *cases = tcase_create("supervisor");
    tcase_add_checked_fixture(cases, begin, end);
    if (!HAS_SYSTEMD)
        tcase_add_test(cases, test_sockets_refused_without); /* more in test_supervisor_without */
    if (HAS_SYSTEMD) {
        tcase_add_test(cases, test_ready_and_stopping);
        tcase_add_test(cases, test_manager_that_does_not_read);
        tcase_add_test(cases, test_reloading);
        tcase_add_test(cases, test_watchdog);
        tcase_add_test(cases, test_both_sockets);
        tcase_add_test(cases, test_sockets_refused);
        tcase_add_test(cases, test_restarts_lose_nobody);
        tcase_add_test(cases, test_socket_shut_down);
    }
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_supervisor", supervisor_suite);
}
