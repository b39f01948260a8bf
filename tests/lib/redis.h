/* A real redis-server of a test's own: on a free loopback port, in a temporary folder, gone with the test.
 *
 * What it is: start, kill, stop and go on, by process id; the data survive a kill (append-only file, synced
 * at every write). It may be a replica of another one, or a Sentinel that watches one. What it refuses: a Redis
 * that was there before. Everything asserts. Who calls it: tests.
 */
#ifndef TESTS_LIB_REDIS_H
#define TESTS_LIB_REDIS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TEST_REDIS_OPTIONS_MAX = 16, TEST_REDIS_SENTINEL_DOWN_MS = 500 };

/* All but pid, port, folder and url are the test's to set, before a start. */
struct test_redis {
    pid_t pid;     /* 0: not running */
    uint16_t port; /* the same over all starts */
    char folder[96];
    char url[64];                                /* redis://127.0.0.1:PORT */
    char password[32];                           /* asked for when not empty */
    const char *options[TEST_REDIS_OPTIONS_MAX]; /* more arguments, NULL behind the last; later ones win */
    const struct test_redis *master; /* it is a replica of this one (of the same password); NULL: none */
    const struct test_redis
        *watched;             /* it is a Sentinel for this one, alone in its say, that takes it for down
                                         after TEST_REDIS_SENTINEL_DOWN_MS; NULL: none */
    const char *watched_name; /* the name of that master */
};

/* Chooses a port and makes the folder; starts nothing. */
void test_redis_init(struct test_redis *redis);

/* Starts redis-server and waits until it answers. */
void test_redis_start(struct test_redis *redis);

/* SIGKILL, then waits. */
void test_redis_kill(struct test_redis *redis);

/* Holds the process still (it keeps its port and says nothing), and lets it go on. */
void test_redis_freeze(struct test_redis *redis);
void test_redis_thaw(struct test_redis *redis);

/* Sends one command; gives its reply as text, in static memory: the string or status, a number, "(nil)", or
 * an error's words after a '-'. */
const char *test_redis_ask(const struct test_redis *redis, int argc, const char **argv);

/* Asks this until the reply holds these words. */
void test_redis_await(const struct test_redis *redis, int argc, const char **argv, const char *words);

/* Kills what still runs and removes the folder. */
void test_redis_fini(struct test_redis *redis);

#endif
