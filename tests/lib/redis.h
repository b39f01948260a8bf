/* A real redis-server of a test's own: on a free loopback port, in a temporary folder, gone with the test.
 *
 * What it is: start, kill, stop and go on, by process id; the data survive a kill (append-only file, synced
 * at every write). What it refuses: a Redis that was there before. Everything asserts. Who calls it: tests.
 */
#ifndef TESTS_LIB_REDIS_H
#define TESTS_LIB_REDIS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct test_redis {
    pid_t pid;     /* 0: not running */
    uint16_t port; /* the same over all starts */
    char folder[96];
    char url[64];      /* redis://127.0.0.1:PORT */
    char password[32]; /* asked for when not empty; set before a start */
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

/* Kills what still runs and removes the folder. */
void test_redis_fini(struct test_redis *redis);

#endif
