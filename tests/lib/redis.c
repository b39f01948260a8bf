#include "tests/lib/redis.h"

#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 40000, TRY_PAUSE_MS = 10 };

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A port that was free a moment ago. The store must find the same one again after a restart, so Redis can't
 * be told to choose. */
static uint16_t free_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

void test_redis_init(struct test_redis *redis)
{
    *redis = (struct test_redis){.port = free_port()};
    const char *folder = tp_test_folder_make();
    ck_assert_msg(strlen(folder) < sizeof redis->folder, "too long a path of temporary folders: %s", folder);
    strcpy(redis->folder, folder);
    snprintf(redis->url, sizeof redis->url, "redis://127.0.0.1:%u", redis->port);
}

/* What a Sentinel is told stands in a file, for it writes there what it learns. */
static void write_sentinel_file(const struct test_redis *redis, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        _exit(126);
    const char *name = redis->watched_name;
    fprintf(file, "port %u\nbind 127.0.0.1\ndir %s\n", redis->port, redis->folder);
    fprintf(file, "sentinel monitor %s 127.0.0.1 %u 1\n", name, redis->watched->port);
    fprintf(file, "sentinel down-after-milliseconds %s %d\n", name, TEST_REDIS_SENTINEL_DOWN_MS);
    fprintf(file, "sentinel failover-timeout %s 3000\n", name);
    if (redis->watched->password[0])
        fprintf(file, "sentinel auth-pass %s %s\n", name, redis->watched->password);
    if (redis->password[0])
        fprintf(file, "requirepass %s\n", redis->password);
    fclose(file);
}

/* Becomes the server. Debian's redis-tools holds the server's program under the name redis-check-rdb: which
 * of them it is to be, it reads from its own name. */
static _Noreturn void become_server(const struct test_redis *redis)
{
    enum { ARGUMENTS_MAX = 24 + TEST_REDIS_OPTIONS_MAX };
    char port[8], master_port[8], file[128];
    const char *argv[ARGUMENTS_MAX + 1] = {redis->watched ? "redis-sentinel" : "redis-server"};
    int count = 1;
    snprintf(port, sizeof port, "%u", redis->port);
    if (redis->watched) {
        snprintf(file, sizeof file, "%s/sentinel.conf", redis->folder);
        write_sentinel_file(redis, file);
        argv[count++] = file;
    } else {
        const char *given[] = {
            "--port", port,           "--bind", "127.0.0.1",     "--dir",  redis->folder,  "--save",
            "",       "--appendonly", "yes",    "--appendfsync", "always", "--requirepass"};
        memcpy(argv + count, given, sizeof given);
        count += (int)(sizeof given / sizeof *given);
        argv[count++] = redis->password;
    }
    if (redis->master) {
        snprintf(master_port, sizeof master_port, "%u", redis->master->port);
        const char *given[] = {"--replicaof", "127.0.0.1", master_port, "--masterauth", redis->password};
        memcpy(argv + count, given, sizeof given);
        count += (int)(sizeof given / sizeof *given);
    }
    for (int i = 0; i < TEST_REDIS_OPTIONS_MAX && redis->options[i]; i++)
        argv[count++] = redis->options[i];

    char *const *arguments = (char *const *)(uintptr_t)argv;
    execvp(argv[0], arguments);
    const char *path = getenv("PATH");
    char folders[4096], program[4200];
    snprintf(folders, sizeof folders, "%s", path ? path : "/usr/bin:/bin");
    char *rest = folders;
    for (char *folder; (folder = strsep(&rest, ":")) != NULL;) {
        snprintf(program, sizeof program, "%s/redis-check-rdb", folder);
        execv(program, arguments);
    }
    dprintf(2, "no redis-server here: %s\n", strerror(errno));
    _exit(127);
}

static redisContext *connect_to(const struct test_redis *redis)
{
    redisContext *link = redisConnectWithTimeout("127.0.0.1", redis->port, (struct timeval){.tv_sec = 5});
    if (link && link->err) {
        redisFree(link);
        return NULL;
    }
    if (link && redis->password[0]) {
        redisReply *reply = redisCommand(link, "AUTH %s", redis->password);
        if (reply)
            freeReplyObject(reply);
    }
    return link;
}

void test_redis_start(struct test_redis *redis)
{
    ck_assert_int_eq(redis->pid, 0);
    char log_path[128];
    snprintf(log_path, sizeof log_path, "%s/log", redis->folder);
    pid_t pid = tp_test_fork();
    if (pid == 0) {
        int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
        int nothing = open("/dev/null", O_RDONLY);
        dup2(nothing, 0);
        dup2(log, 1);
        dup2(log, 2);
        become_server(redis);
    }
    redis->pid = pid;
    for (uint64_t until = wire_now_ms() + WAIT_MS; wire_now_ms() < until; pause_ms(TRY_PAUSE_MS)) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) {
            redis->pid = 0;
            size_t size;
            char *log = tp_test_read_file(log_path, &size);
            ck_abort_msg("redis-server ended with status 0x%x:\n%s", (unsigned)status, log);
        }
        redisContext *link = connect_to(redis);
        redisReply *reply = link ? redisCommand(link, "PING") : NULL;
        bool up = reply && reply->type == REDIS_REPLY_STATUS;
        if (reply)
            freeReplyObject(reply);
        if (link)
            redisFree(link);
        if (up) {
            if (redis->watched) /* it looks every 10 s otherwise, as one older than 7.0 does, and pauses for 30 s once it was held up */
                test_redis_ask(redis, 8, (const char *[]){"SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "200", "TILT-PERIOD", "1000"});
            return;
        }
    }
    size_t size;
    ck_abort_msg("redis-server did not answer:\n%s", tp_test_read_file(log_path, &size));
}

void test_redis_kill(struct test_redis *redis)
{
    if (redis->pid == 0)
        return;
    kill(redis->pid, SIGKILL);
    waitpid(redis->pid, NULL, 0);
    redis->pid = 0;
}

void test_redis_freeze(struct test_redis *redis)
{
    ck_assert_int_ne(redis->pid, 0);
    ck_assert_int_eq(kill(redis->pid, SIGSTOP), 0);
}

void test_redis_thaw(struct test_redis *redis)
{
    ck_assert_int_ne(redis->pid, 0);
    ck_assert_int_eq(kill(redis->pid, SIGCONT), 0);
}

const char *test_redis_ask(const struct test_redis *redis, int argc, const char **argv)
{
    static char words[512];
    redisContext *link = connect_to(redis);
    ck_assert_msg(link, "redis-server takes no connection");
    redisReply *reply = redisCommandArgv(link, argc, argv, NULL);
    ck_assert_msg(reply, "redis-server: %s", link->errstr);
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        snprintf(words, sizeof words, "%lld", reply->integer);
        break;
    case REDIS_REPLY_NIL:
        snprintf(words, sizeof words, "(nil)");
        break;
    case REDIS_REPLY_ERROR:
        snprintf(words, sizeof words, "-%s", reply->str);
        break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        snprintf(words, sizeof words, "%s", reply->str);
        break;
    default:
        ck_abort_msg("%s gave a reply of type %d", argv[0], reply->type);
    }
    freeReplyObject(reply);
    redisFree(link);
    return words;
}

void test_redis_await(const struct test_redis *redis, int argc, const char **argv, const char *words)
{
    const char *reply = "";
    for (uint64_t until = wire_now_ms() + WAIT_MS; wire_now_ms() < until; pause_ms(TRY_PAUSE_MS)) {
        reply = test_redis_ask(redis, argc, argv);
        if (strstr(reply, words))
            return;
    }
    ck_abort_msg("%s never says '%s' but: %s", argv[0], words, reply);
}

void test_redis_fini(struct test_redis *redis)
{
    test_redis_kill(redis);
    tp_test_folder_remove(redis->folder);
}
