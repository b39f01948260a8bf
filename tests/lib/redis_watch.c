#include "tests/lib/redis_watch.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct test_redis watch_redis;
uv_loop_t watch_loop;
static uv_timer_t waker; /* the loop turns at least every few milliseconds */

uint64_t watch_now_ms(void)
{
    return uv_hrtime() / 1000000;
}

static void up_cb(struct tp_redis_conn *conn, void *context)
{
    struct watch *watch = context;
    if (conn != &watch->conn || !conn->is_up || watch->stops > 0 || conn->cause[0])
        ck_abort_msg("up, and: %s", conn->cause);
    watch->ups++;
    if (watch->at_up)
        watch->at_up(watch);
}

static void lost_cb(struct tp_redis_conn *conn, void *context)
{
    struct watch *watch = context;
    if (conn != &watch->conn || conn->is_up || watch->stops > 0 || !conn->cause[0])
        ck_abort_msg("lost, and: %s", conn->cause);
    if (watch->losts < WATCH_LOSTS_MAX) {
        watch->losts_seen[watch->losts] = watch->nulls;
        watch->lost_at_ms[watch->losts] = watch_now_ms();
    }
    if (conn->failures != ++watch->losts)
        ck_abort_msg("lost for the %uth time", watch->losts);
    if (watch->at_lost)
        watch->at_lost(watch);
}

void watch_reply_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct watch *watch = context;
    if (conn != &watch->conn)
        ck_abort_msg("a reply of another connection");
    if (!reply) {
        watch->nulls++;
        return;
    }
    watch->replies++;
    watch->type = reply->type;
    if (reply->type == REDIS_REPLY_INTEGER) {
        watch->is_disordered |= reply->integer != watch->integer + 1;
        watch->integer = reply->integer;
    } else if (reply->str) {
        snprintf(watch->text, sizeof watch->text, "%s", reply->str);
    }
}

void watch_start_bounded(struct watch *watch, const char *url, uint64_t seed, uint32_t commands, size_t bytes)
{
    const char *wrong = tp__redis_url_read(&watch->url, url);
    ck_assert_msg(!wrong, "%s: %s", url, wrong);
    struct tp_redis_conn_config config = {
        .loop = &watch_loop,
        .url = &watch->url,
        .seed = seed,
        .in_flight_max = commands,
        .in_flight_bytes_max = bytes,
        .context = watch,
        .up_cb = up_cb,
        .lost_cb = lost_cb,
    };
    ck_assert_int_eq(tp_redis_conn_start(&watch->conn, &config), 0);
}

void watch_start(struct watch *watch, const char *url)
{
    watch_start_bounded(watch, url, 1, 4096, 1 << 20);
}

bool watch_send_within(struct watch *watch, uint64_t timeout_ms, const char *a, const char *b, const char *c)
{
    const char *words[] = {a, b, c};
    return tp_redis_conn_send(&watch->conn, c ? 3 : b ? 2 : 1, words, NULL, timeout_ms, watch_reply_cb, watch);
}

bool watch_send(struct watch *watch, const char *a, const char *b, const char *c)
{
    return watch_send_within(watch, 0, a, b, c);
}

static void stopped_cb(void *context)
{
    struct watch *watch = context;
    watch->stops++;
    memset(&watch->conn, 0xee, sizeof watch->conn); /* its memory is free to go */
}

void watch_stop(struct watch *watch)
{
    tp_redis_conn_stop(&watch->conn, stopped_cb, watch);
}

void watch_run_for(uint64_t ms)
{
    for (uint64_t until = watch_now_ms() + ms; watch_now_ms() < until;)
        uv_run(&watch_loop, UV_RUN_ONCE);
}

void watch_stop_and_wait(struct watch *watch)
{
    unsigned ups = watch->ups, losts = watch->losts;
    watch_stop(watch);
    WATCH_UNTIL(watch, watch->stops == 1);
    ck_assert_uint_eq(watch->ups, ups);
    ck_assert_uint_eq(watch->losts, losts);
}

void watch_expect_cause(const struct watch *watch, const struct test_redis *of, const char *words)
{
    char cause[160];
    snprintf(cause, sizeof cause, "127.0.0.1:%u%s", of->port, words);
    ck_assert_str_eq(watch->conn.cause, cause);
}

void watch_keep_first_cause(struct watch *watch)
{
    if (watch->losts == 1)
        snprintf(watch->text, sizeof watch->text, "%s", watch->conn.cause);
}

/* ---- Fixture ---- */

static void wake_cb(uv_timer_t *timer)
{
    (void)timer;
}

void watch_begin(void)
{
    signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    test_redis_init(&watch_redis);
    ck_assert_int_eq(uv_loop_init(&watch_loop), 0);
    uv_timer_init(&watch_loop, &waker);
    uv_timer_start(&waker, wake_cb, 2, 2);
}

void watch_end(void)
{
    uv_close((uv_handle_t *)&waker, NULL);
    uv_run(&watch_loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(uv_loop_close(&watch_loop), 0);
    test_redis_fini(&watch_redis);
}
