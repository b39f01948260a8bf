/* A connection to Redis (daemon/store/redis_conn.h) that counts what happens to it, on a loop of the test's own that is turned by hand.
 *
 * What it is: the fixture of tests of that connection. What it refuses: a callback that comes when it must not; everything asserts. Who calls
 * it: tests, from one thread.
 *
 *     tcase_add_checked_fixture(cases, watch_begin, watch_end);
 */
#ifndef TESTS_LIB_REDIS_WATCH_H
#define TESTS_LIB_REDIS_WATCH_H

#include "daemon/store/redis_conn.h"
#include "tests/lib/redis.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

enum { WATCH_MS = 20000, WATCH_LOSTS_MAX = 64 };

struct watch {
    struct tp_redis_url url;
    struct tp_redis_conn conn;
    unsigned ups, losts, stops;
    unsigned replies, nulls;
    unsigned losts_seen[WATCH_LOSTS_MAX]; /* `nulls` at each loss */
    uint64_t lost_at_ms[WATCH_LOSTS_MAX];
    char text[160]; /* of the last reply that was a string, a status or an error */
    int type;       /* of the last reply */
    long long integer;
    bool is_disordered; /* an integer that is not the one before and one more */
    void (*at_up)(struct watch *watch);
    void (*at_lost)(struct watch *watch);
};

extern struct test_redis watch_redis; /* its port is chosen; it is not started */
extern uv_loop_t watch_loop;

/* Sets both up, and takes them down: nothing may be left on the loop then. */
void watch_begin(void);
void watch_end(void);

uint64_t watch_now_ms(void);

/* Starts the connection, with bounds of what is in flight. */
void watch_start_bounded(struct watch *watch, const char *url, uint64_t seed, uint32_t commands, size_t bytes);
void watch_start(struct watch *watch, const char *url);

/* Sends a command of up to three words (NULL: no more), whose reply is counted; gives what tp_redis_conn_send does. */
bool watch_send_within(struct watch *watch, uint64_t timeout_ms, const char *a, const char *b, const char *c);
bool watch_send(struct watch *watch, const char *a, const char *b, const char *c);

/* Counts a reply; its context is the watch. */
void watch_reply_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context);

/* Begins to stop; once `stops` is 1 its memory is free to go. */
void watch_stop(struct watch *watch);
void watch_stop_and_wait(struct watch *watch);

void watch_run_for(uint64_t ms);

/* The cause is "127.0.0.1:PORT" of that server and these words. */
void watch_expect_cause(const struct watch *watch, const struct test_redis *of, const char *words);

/* For at_lost: the first cause goes to `text`. */
void watch_keep_first_cause(struct watch *watch);

/* Turns the loop until `condition` holds. */
#define WATCH_UNTIL(watch, condition)                                                                                \
    do {                                                                                                             \
        uint64_t until_ms = watch_now_ms() + WATCH_MS;                                                               \
        while (!(condition)) {                                                                                       \
            if (watch_now_ms() >= until_ms)                                                                          \
                ck_abort_msg("never %s; cause '%s', %u times up, %u lost", #condition, (watch)->conn.cause,          \
                             (watch)->ups, (watch)->losts);                                                          \
            uv_run(&watch_loop, UV_RUN_ONCE);                                                                        \
        }                                                                                                            \
    } while (0)

#endif
