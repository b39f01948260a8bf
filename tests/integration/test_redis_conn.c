/* The connection to Redis against real servers and replicas: how it comes up, what it says and does while they are away, frozen, or not what they
 * should be, and that it leaves nothing behind wherever it is stopped. test_redis_sentinels.c has those that Sentinels tell of. */
#include "tests/lib/harness.h"
#include "tests/lib/redis_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* ---- A resolver that can be told what to say ----
 *
 * The name "two.test" has the loopback addresses, IPv6's first; "slow.test" is not looked up before `release_name`. */

static struct {
    uv_getaddrinfo_t *request;
    uv_getaddrinfo_cb callback;
    char port[12];
} held;

int __real_uv_getaddrinfo(uv_loop_t *of, uv_getaddrinfo_t *request, uv_getaddrinfo_cb callback,
                          const char *node, const char *service, const struct addrinfo *hints);
int __wrap_uv_getaddrinfo(uv_loop_t *of, uv_getaddrinfo_t *request, uv_getaddrinfo_cb callback,
                          const char *node, const char *service, const struct addrinfo *hints);

int __wrap_uv_getaddrinfo(uv_loop_t *of, uv_getaddrinfo_t *request, uv_getaddrinfo_cb callback,
                          const char *node, const char *service, const struct addrinfo *hints)
{
    if (strcmp(node, "two.test") == 0)
        return __real_uv_getaddrinfo(of, request, callback, NULL, service, hints);
    if (strcmp(node, "slow.test") != 0)
        return __real_uv_getaddrinfo(of, request, callback, node, service, hints);
    ck_assert_ptr_null(held.request);
    held.request = request;
    held.callback = callback;
    snprintf(held.port, sizeof held.port, "%s", service);
    return 0;
}

static void release_name(void)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    ck_assert_ptr_nonnull(held.request);
    ck_assert_int_eq(
        __real_uv_getaddrinfo(&watch_loop, held.request, held.callback, "127.0.0.1", held.port, &hints), 0);
    held.request = NULL;
}

/* ---- Memory that is short ---- */

static int fails_at; /* the allocation that is refused: 1 is the next; 0: none */

static bool is_refused(void)
{
    return fails_at > 0 && --fails_at == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __real_calloc(count, size);
}

/* ---- It is there ---- */

START_TEST(test_commands_in_order)
{
    static struct watch watch;
    test_redis_start(&watch_redis);
    watch_start(&watch, watch_redis.url);
    ck_assert_str_ne(watch.conn.cause, "");
    ck_assert(!watch_send(&watch, "PING", NULL, NULL));
    WATCH_UNTIL(&watch, watch.ups == 1);
    ck_assert_uint_eq(strlen(watch.conn.run_id), 40);
    ck_assert_uint_gt(watch.conn.client_id, 0);
    for (int i = 0; i < 3000; i++)
        if (!watch_send(&watch, "INCR", "n", NULL))
            ck_abort_msg("refused after %d", i);
    WATCH_UNTIL(&watch, watch.replies == 3000);
    ck_assert_int_eq(watch.integer, 3000);
    ck_assert(!watch.is_disordered);

    const char *set[] = {"SET", "k", "a\0b"}, *get[] = {"STRLEN", "k"};
    ck_assert(tp_redis_conn_send(&watch.conn, 3, set, (size_t[]){3, 1, 3}, 0, watch_reply_cb, &watch));
    ck_assert(tp_redis_conn_send(&watch.conn, 2, get, NULL, 0, watch_reply_cb, &watch));
    WATCH_UNTIL(&watch, watch.replies == 3002);
    ck_assert_int_eq(watch.integer, 3);

    /* an error is a reply */
    ck_assert(watch_send(&watch, "INCR", "k", NULL));
    WATCH_UNTIL(&watch, watch.replies == 3003);
    ck_assert_int_eq(watch.type, REDIS_REPLY_ERROR);
    ck_assert(watch.conn.is_up && watch.losts == 0);
    watch_stop_and_wait(&watch);
}
END_TEST

/* A value larger than what a socket takes at once goes and comes back whole, between small ones. */
START_TEST(test_large_values)
{
    static struct watch watch;
    enum { SIZE = 24 << 20 };
    char *value = malloc(SIZE);
    ck_assert_ptr_nonnull(value);
    memset(value, 'v', SIZE);
    test_redis_start(&watch_redis);
    watch_start_bounded(&watch, watch_redis.url, 1, 10, SIZE + 1000);
    WATCH_UNTIL(&watch, watch.ups == 1);
    ck_assert(watch_send_within(&watch, 20000, "INCR", "n", NULL));
    const char *set[] = {"SET", "k", value};
    ck_assert(tp_redis_conn_send(&watch.conn, 3, set, (size_t[]){3, 1, SIZE}, 20000, watch_reply_cb, &watch));
    free(value);
    ck_assert(watch_send_within(&watch, 20000, "INCR", "n", NULL));
    WATCH_UNTIL(&watch, watch.replies == 3);
    ck_assert_int_eq(watch.integer, 2);
    ck_assert(watch_send_within(&watch, 20000, "GET", "k", NULL));
    WATCH_UNTIL(&watch, watch.replies == 4);
    ck_assert_int_eq(watch.type, REDIS_REPLY_STRING);
    ck_assert(watch_send(&watch, "STRLEN", "k", NULL));
    WATCH_UNTIL(&watch, watch.replies == 5);
    ck_assert_int_eq(watch.integer, SIZE);
    ck_assert_uint_eq(watch.losts, 0);
    watch_stop_and_wait(&watch);
}
END_TEST

START_TEST(test_bounds)
{
    static struct watch watch;
    static char many[2000];
    memset(many, 'm', sizeof many - 1);
    test_redis_start(&watch_redis);
    watch_start_bounded(&watch, watch_redis.url, 1, 4, 2000);
    WATCH_UNTIL(&watch, watch.ups == 1);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4; i++)
            ck_assert(watch_send(&watch, "INCR", "n", NULL));
        ck_assert(!watch_send(&watch, "INCR", "n", NULL));
        WATCH_UNTIL(&watch, watch.replies == (unsigned)(round + 1) * 4);
    }
    ck_assert(!watch_send(&watch, "SET", "k", many));
    many[1000] = 0;
    ck_assert(watch_send(&watch, "SET", "k", many));
    ck_assert(!watch_send(&watch, "SET", "k", many));
    WATCH_UNTIL(&watch, watch.replies == 9);
    ck_assert(watch_send(&watch, "SET", "k", many));
    WATCH_UNTIL(&watch, watch.replies == 10);
    ck_assert_uint_eq(watch.nulls, 0);
    ck_assert_int_eq(watch.integer, 8);
    watch_stop_and_wait(&watch);
}
END_TEST

START_TEST(test_password)
{
    static const struct {
        const char *login, *words;
    } rows[] = {
        {"", ": CLIENT: NOAUTH Authentication required."},
        {":wrongsecret@", ": AUTH: WRONGPASS"},
        {"nobody:pass@", ": AUTH: WRONGPASS"},
    };
    strcpy(watch_redis.password, "pass");
    test_redis_start(&watch_redis);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct watch watch = {0};
        char url[96];
        snprintf(url, sizeof url, "redis://%s127.0.0.1:%u", rows[i].login, watch_redis.port);
        watch_start(&watch, url);
        WATCH_UNTIL(&watch, watch.losts == 2);
        ck_assert_uint_eq(watch.ups, 0);
        watch_expect_cause(&watch, &watch_redis, rows[i].words);
        watch_stop_and_wait(&watch);
    }
    static struct watch watch;
    char url[96];
    snprintf(url, sizeof url, "redis://default:pass@127.0.0.1:%u", watch_redis.port);
    watch_start(&watch, url);
    WATCH_UNTIL(&watch, watch.ups == 1);
    watch_stop_and_wait(&watch);
}
END_TEST

START_TEST(test_database)
{
    static struct watch watch;
    static struct watch wrong;
    char url[96];
    test_redis_start(&watch_redis);
    snprintf(url, sizeof url, "%s/3", watch_redis.url);
    watch_start(&watch, url);
    WATCH_UNTIL(&watch, watch.ups == 1);
    ck_assert(watch_send(&watch, "SET", "k", "v"));
    WATCH_UNTIL(&watch, watch.replies == 1);
    ck_assert_str_eq(test_redis_ask(&watch_redis, 2, (const char *[]){"GET", "k"}), "(nil)");
    ck_assert_str_eq(test_redis_ask(&watch_redis, 3, (const char *[]){"MOVE", "k", "1"}), "0");
    watch_stop_and_wait(&watch);

    snprintf(url, sizeof url, "%s/999", watch_redis.url);
    watch_start(&wrong, url);
    WATCH_UNTIL(&wrong, wrong.losts == 1);
    watch_expect_cause(&wrong, &watch_redis, ": SELECT: ERR DB index is out of range");
    watch_stop_and_wait(&wrong);
}
END_TEST

/* ---- It is away ---- */

START_TEST(test_away_and_then_there)
{
    static struct watch watch;
    watch_start(&watch, watch_redis.url);
    WATCH_UNTIL(&watch, watch.losts == 2);
    watch_expect_cause(&watch, &watch_redis, ": connection refused");
    ck_assert(!watch_send(&watch, "PING", NULL, NULL));
    test_redis_start(&watch_redis);
    WATCH_UNTIL(&watch, watch.ups == 1);
    ck_assert(watch_send(&watch, "PING", NULL, NULL));
    WATCH_UNTIL(&watch, watch.replies == 1);
    ck_assert_str_eq(watch.text, "PONG");
    watch_stop_and_wait(&watch);
}
END_TEST

START_TEST(test_killed_and_back)
{
    static struct watch watch, other;
    test_redis_start(&watch_redis);
    watch_start_bounded(&watch, watch_redis.url, 1, 10, 1000);
    watch_start_bounded(&other, watch_redis.url, 2, 10, 1000);
    WATCH_UNTIL(&watch, watch.ups == 1 && other.ups == 1);
    char run_id[41];
    strcpy(run_id, watch.conn.run_id);
    test_redis_freeze(&watch_redis); /* so that no answer comes */
    for (int i = 0; i < 3; i++)
        ck_assert(watch_send(&watch, "INCR", "n", NULL));
    watch_run_for(20);
    test_redis_kill(&watch_redis);
    uint64_t killed_at_ms = watch_now_ms();
    WATCH_UNTIL(&watch, watch.losts == 1);
    ck_assert_uint_lt(watch_now_ms() - killed_at_ms,
                      900); /* told by the end of the connection, not by a time limit */
    ck_assert_uint_eq(watch.nulls, 3);
    ck_assert_uint_eq(watch.losts_seen[0], 3);
    ck_assert_uint_eq(watch.replies, 0);
    ck_assert_msg(strstr(watch.conn.cause, "closed by the server") ||
                      strstr(watch.conn.cause, "connection reset"),
                  "%s", watch.conn.cause);

    /* the pauses double up to two seconds, and two connections' are not alike */
    WATCH_UNTIL(&watch, watch.losts >= 7 && other.losts >= 7);
    static const uint64_t pauses_ms[] = {100, 200, 400, 800, 1600, 2000};
    bool differ = false;
    for (int i = 0; i < 6; i++) {
        uint64_t took_ms = watch.lost_at_ms[i + 1] - watch.lost_at_ms[i];
        uint64_t other_ms = other.lost_at_ms[i + 1] - other.lost_at_ms[i];
        ck_assert_msg(took_ms + 1 >= pauses_ms[i] / 2 && took_ms < pauses_ms[i] + 3000,
                      "pause %d took %llu ms", i, (unsigned long long)took_ms);
        differ |= took_ms > other_ms + 20 || other_ms > took_ms + 20;
    }
    ck_assert(differ);

    test_redis_start(&watch_redis);
    uint64_t back_at_ms = watch_now_ms();
    WATCH_UNTIL(&watch, watch.ups == 2);
    ck_assert_uint_lt(watch_now_ms() - back_at_ms, 4000);
    ck_assert_str_ne(watch.conn.run_id, run_id);
    ck_assert(watch_send(&watch, "INCR", "n", NULL));
    WATCH_UNTIL(&watch, watch.replies == 1);

    /* once it was up for long the pauses begin small again */
    watch_run_for(TP_REDIS_PAUSE_MAX_MS + 50);
    unsigned losts = watch.losts;
    test_redis_kill(&watch_redis);
    WATCH_UNTIL(&watch, watch.losts == losts + 2);
    ck_assert_uint_lt(watch.lost_at_ms[losts + 1] - watch.lost_at_ms[losts], 950);
    watch_stop_and_wait(&watch);
    watch_stop_and_wait(&other);
}
END_TEST

START_TEST(test_frozen)
{
    static struct watch watch;
    test_redis_start(&watch_redis);
    watch_start(&watch, watch_redis.url);
    WATCH_UNTIL(&watch, watch.ups == 1);
    test_redis_freeze(&watch_redis);
    uint64_t sent_at_ms = watch_now_ms();
    ck_assert(watch_send_within(&watch, 5000, "INCR", "n", NULL));
    ck_assert(watch_send_within(&watch, 300, "INCRBY", "n", "1"));
    WATCH_UNTIL(&watch, watch.losts == 1);
    uint64_t took_ms = watch_now_ms() - sent_at_ms;
    ck_assert_msg(took_ms >= 300 && took_ms < 4000, "%llu ms", (unsigned long long)took_ms);
    watch_expect_cause(&watch, &watch_redis, ": INCRBY: no answer in time");
    ck_assert_uint_eq(watch.nulls, 2);

    /* the kernel takes connections for it, and nobody answers the greeting */
    WATCH_UNTIL(&watch, watch.losts == 2);
    ck_assert_msg(strstr(watch.conn.cause, "no answer in time"), "%s", watch.conn.cause);
    test_redis_thaw(&watch_redis);
    WATCH_UNTIL(&watch, watch.ups == 2);

    /* nothing is asked, and yet it is noticed */
    test_redis_freeze(&watch_redis);
    WATCH_UNTIL(&watch, watch.losts >= 3 && !watch.conn.is_up);
    ck_assert_msg(strstr(watch.conn.cause, "PING: no answer in time"), "%s", watch.conn.cause);
    test_redis_thaw(&watch_redis);
    WATCH_UNTIL(&watch, watch.ups == 3);

    /* an answer that takes long is no fault where it may */
    ck_assert(tp_redis_conn_send(&watch.conn, 6,
                                 (const char *[]){"XREAD", "BLOCK", "1500", "STREAMS", "none", "$"}, NULL,
                                 3000, watch_reply_cb, &watch));
    WATCH_UNTIL(&watch, watch.replies == 1);
    ck_assert_int_eq(watch.type, REDIS_REPLY_NIL);
    ck_assert_uint_eq(watch.losts, watch.conn.failures);
    ck_assert(watch.conn.is_up);
    watch_stop_and_wait(&watch);
}
END_TEST

/* This process itself stands still for longer than the time limit: the answer is there and must be looked at first. */
START_TEST(test_own_standstill)
{
    static struct watch watch;
    test_redis_start(&watch_redis);
    watch_start(&watch, watch_redis.url);
    WATCH_UNTIL(&watch, watch.ups == 1);
    for (int i = 0; i < 3; i++) {
        ck_assert(watch_send_within(&watch, 100, "INCR", "n", NULL));
        uv_run(&watch_loop, UV_RUN_NOWAIT);
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
        WATCH_UNTIL(&watch, watch.replies + watch.nulls == (unsigned)i + 1);
    }
    ck_assert_uint_eq(watch.replies, 3);
    ck_assert_uint_eq(watch.losts, 0);
    watch_stop_and_wait(&watch);
}
END_TEST

START_TEST(test_no_such_name)
{
    static struct watch watch;
    watch_start(&watch, "redis://no-such-name.invalid:7");
    WATCH_UNTIL(&watch, watch.losts == 2);
    ck_assert_msg(strncmp(watch.conn.cause, "no-such-name.invalid:7: the name was not found", 46) == 0 ||
                      strcmp(watch.conn.cause, "no-such-name.invalid:7: the resolver does not answer") == 0,
                  "%s", watch.conn.cause);
    watch_stop_and_wait(&watch);
}
END_TEST

START_TEST(test_slow_resolver)
{
    static struct watch watch;
    char url[64];
    test_redis_start(&watch_redis);
    snprintf(url, sizeof url, "redis://slow.test:%u", watch_redis.port);
    watch_start(&watch, url);
    WATCH_UNTIL(&watch, watch.losts == 1);
    ck_assert_msg(strstr(watch.conn.cause, ": the resolver does not answer"), "%s", watch.conn.cause);
    watch_run_for(50);
    release_name();
    WATCH_UNTIL(&watch, watch.ups == 1);
    ck_assert_uint_eq(watch.losts, 1);
    watch_stop_and_wait(&watch);
}
END_TEST

START_TEST(test_local_name)
{
    static struct watch watch;
    char url[64];
    test_redis_start(&watch_redis);
    snprintf(url, sizeof url, "redis://localhost:%u", watch_redis.port);
    watch_start(&watch, url);
    WATCH_UNTIL(&watch, watch.ups == 1);
    ck_assert_uint_eq(watch.losts, 0);
    watch_stop_and_wait(&watch);
}
END_TEST

/* Wherever memory is short for a moment it comes up in the end, and a command that finds none is not sent. */
START_TEST(test_no_memory)
{
    test_redis_start(&watch_redis);
    unsigned lost = 0;
    for (int nth = 1; nth <= 8; nth++) {
        struct watch watch = {0};
        watch_start(&watch, watch_redis.url);
        fails_at = nth;
        WATCH_UNTIL(&watch, watch.ups == 1);
        lost += watch.losts;
        fails_at = 1;
        ck_assert(!watch_send(&watch, "INCR", "n", NULL));
        ck_assert(watch_send(&watch, "PING", NULL, NULL));
        WATCH_UNTIL(&watch, watch.replies == 1);
        ck_assert_str_eq(watch.text, "PONG");
        watch_stop_and_wait(&watch);
    }
    fails_at = 0;
    ck_assert_uint_ge(lost, 5); /* the pipe, and each command of the greeting */
}
END_TEST

/* At random: commands, a server that is killed, frozen and back, a connection that its owner loses. Each command gets one callback, a reply
 * is that of its own command, and they come in order. */
struct echo {
    struct watch *watch;
    unsigned number;
    unsigned calls;
};

static unsigned last_answered;

static void echo_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct echo *echo = context;
    echo->calls++;
    watch_reply_cb(conn, reply, echo->watch);
    if (!reply)
        return;
    if (reply->type != REDIS_REPLY_STRING || strtoul(reply->str, NULL, 10) != echo->number ||
        echo->number <= last_answered)
        ck_abort_msg("command %u got '%s' after %u", echo->number, reply->str ? reply->str : "?",
                     last_answered);
    last_answered = echo->number;
}

START_TEST(test_at_random)
{
    enum { ECHOES_MAX = 20000 };
    static struct watch watch;
    static struct echo echoes[ECHOES_MAX];
    unsigned sent = 0;
    uint64_t steps = tp_test_steps(400, 2000);
    bool is_frozen = false;
    struct tp_test_rng rng = tp_test_rng("redis_conn");
    test_redis_start(&watch_redis);
    watch_start_bounded(&watch, watch_redis.url, tp_test_next(&rng), 500, 1 << 16);
    for (uint64_t step = 0; step < steps; step++) {
        uint32_t what = tp_test_below(&rng, 100);
        if (watch_redis.pid == 0) {
            test_redis_start(&watch_redis);
        } else if (is_frozen && what < 20) {
            test_redis_thaw(&watch_redis);
            is_frozen = false;
        } else if (watch.conn.is_up && what < 2) {
            test_redis_kill(&watch_redis);
            is_frozen = false;
        } else if (watch.conn.is_up && what < 6 && !is_frozen) {
            test_redis_freeze(&watch_redis);
            is_frozen = true;
        } else if (what < 8) {
            tp_redis_conn_lose(&watch.conn, "test", "at random");
        }
        for (uint32_t count = tp_test_below(&rng, 40); count > 0 && sent < ECHOES_MAX; count--) {
            struct echo *echo = &echoes[sent];
            *echo = (struct echo){.watch = &watch, .number = sent + 1};
            char words[16];
            snprintf(words, sizeof words, "%u", echo->number);
            if (!tp_redis_conn_send(&watch.conn, 2, (const char *[]){"ECHO", words}, NULL,
                                    tp_test_between(&rng, 50, 500), echo_cb, echo))
                break;
            sent++;
        }
        watch_run_for(tp_test_below(&rng, 16));
    }
    if (is_frozen)
        test_redis_thaw(&watch_redis);
    if (watch_redis.pid == 0)
        test_redis_start(&watch_redis);
    WATCH_UNTIL(&watch, watch.conn.is_up && watch.conn.pipe->in_flight == 0);
    watch_stop_and_wait(&watch);
    ck_assert_uint_eq(watch.replies + watch.nulls, sent);
    for (unsigned i = 0; i < sent; i++)
        if (echoes[i].calls != 1)
            ck_abort_msg("command %u had %u callbacks", i + 1, echoes[i].calls);
    printf("at random: %u commands sent, %u without an answer, %u times up, %u lost\n", sent, watch.nulls,
           watch.ups, watch.losts);
}
END_TEST

/* ---- What listens there is no Redis ---- */

struct imposter {
    uv_tcp_t tcp;
    const char *says; /* to each that comes */
    bool closes, is_deaf;
    unsigned guests;
    uv_tcp_t *guest; /* the last one */
};

static void guest_gone_cb(uv_handle_t *handle)
{
    free(handle);
}

static void guest_alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[1000];
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void guest_read_cb(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    (void)buffer;
    if (count < 0)
        uv_close((uv_handle_t *)stream, guest_gone_cb);
}

static void guest_cb(uv_stream_t *server, int status)
{
    struct imposter *imposter = server->data;
    uv_tcp_t *guest = malloc(sizeof *guest);
    ck_assert(status == 0 && guest);
    uv_tcp_init(&watch_loop, guest);
    ck_assert_int_eq(uv_accept(server, (uv_stream_t *)guest), 0);
    imposter->guests++;
    imposter->guest = guest;
    uv_buf_t says = uv_buf_init((char *)(uintptr_t)imposter->says, (unsigned)strlen(imposter->says));
    if (says.len > 0)
        ck_assert_int_eq(uv_try_write((uv_stream_t *)guest, &says, 1), (int)says.len);
    if (imposter->closes)
        uv_close((uv_handle_t *)guest, guest_gone_cb);
    else if (!imposter->is_deaf)
        uv_read_start((uv_stream_t *)guest, guest_alloc_cb, guest_read_cb);
}

/* At ::1 if `is_v6`; false where the machine has none. */
static bool imposter_start(struct imposter *imposter, bool is_v6)
{
    struct sockaddr_storage address;
    uv_tcp_init(&watch_loop, &imposter->tcp);
    imposter->tcp.data = imposter;
    if (is_v6)
        uv_ip6_addr("::1", watch_redis.port, (struct sockaddr_in6 *)&address);
    else
        uv_ip4_addr("127.0.0.1", watch_redis.port, (struct sockaddr_in *)&address);
    return uv_tcp_bind(&imposter->tcp, (struct sockaddr *)&address, is_v6 ? UV_TCP_IPV6ONLY : 0) == 0 &&
           uv_listen((uv_stream_t *)&imposter->tcp, 8, guest_cb) == 0;
}

static void imposter_stop(struct imposter *imposter)
{
    uv_close((uv_handle_t *)&imposter->tcp, NULL);
    watch_run_for(50); /* its guests see the end of theirs */
}

START_TEST(test_no_redis_at_all)
{
    static const struct {
        const char *says, *cause;
        bool closes;
    } rows[] = {
        {"HTTP/1.1 400 Bad Request\r\n\r\n", "Protocol error", false},
        {"", "closed by the server", true},
        {":1\r\n$5\r\nhel", "closed by the server", true},
        {":1\r\n+x\r\n*0\r\n+PONG\r\n", "INFO: an answer of another type", false},
        {":1\r\n$0\r\n\r\n*0\r\n+PONG\r\n", "is no master", false},
        {":1\r\n$9\r\n\nrun_id:x\r\n*1\r\n$6\r\nmaster\r\n+PONG\r\n:5\r\n", "an answer to nothing", false},
        {"-ERR max number of clients reached\r\n", "ERR max number of clients reached", true},
        {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", "nested", false},
        {"$-7\r\n", "out of range", false},
        {"", "no answer in time", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct imposter imposter = {.says = rows[i].says, .closes = rows[i].closes};
        struct watch watch = {0};
        ck_assert(imposter_start(&imposter, false));
        watch_start(&watch, watch_redis.url);
        WATCH_UNTIL(&watch, watch.losts == 2);
        ck_assert_msg(strstr(watch.conn.cause, rows[i].cause) || strstr(watch.conn.cause, "reset by peer"),
                      "%zu: %s", i, watch.conn.cause);
        ck_assert_uint_ge(imposter.guests, 2);
        watch_stop_and_wait(&watch);
        imposter_stop(&imposter);
    }
}
END_TEST

/* An answer to a command that waits behind a write which the peer does not take. */
START_TEST(test_answer_before_command)
{
    static struct imposter imposter;
    static struct watch watch;
    enum { SIZE = 16 << 20 };
    char *value = malloc(SIZE);
    ck_assert_ptr_nonnull(value);
    memset(value, 'v', SIZE);
    imposter = (struct imposter){.says = ":1\r\n$0\r\n\r\n*1\r\n$6\r\nmaster\r\n+PONG\r\n", .is_deaf = true};
    ck_assert(imposter_start(&imposter, false));
    watch_start_bounded(&watch, watch_redis.url, 1, 10, SIZE + 1000);
    WATCH_UNTIL(&watch, watch.ups == 1);
    ck_assert_str_eq(watch.conn.run_id, "");
    const char *set[] = {"SET", "k", value};
    ck_assert(tp_redis_conn_send(&watch.conn, 3, set, (size_t[]){3, 1, SIZE}, 10000, watch_reply_cb, &watch));
    watch_run_for(20);
    ck_assert(watch_send_within(&watch, 10000, "PING", NULL, NULL));
    watch_run_for(20);
    uv_buf_t two = uv_buf_init((char[]){"+OK\r\n+PONG\r\n"}, 12);
    ck_assert_int_eq(uv_try_write((uv_stream_t *)imposter.guest, &two, 1), 12);
    WATCH_UNTIL(&watch, watch.losts == 1);
    watch_expect_cause(&watch, &watch_redis, ": an answer to nothing");
    ck_assert_uint_eq(watch.replies, 1);
    ck_assert_uint_eq(watch.nulls, 1);
    watch_stop_and_wait(&watch);
    uv_close((uv_handle_t *)imposter.guest, guest_gone_cb);
    imposter_stop(&imposter);
    free(value);
}
END_TEST

/* Every address of a name is tried: where nothing listens at the first, and where something else does. */
START_TEST(test_several_addresses)
{
    test_redis_start(&watch_redis);
    char url[64], cause[160];
    snprintf(url, sizeof url, "redis://two.test:%u", watch_redis.port);
    for (int listens = 0; listens < 2; listens++) {
        static struct imposter imposter;
        struct watch watch = {0};
        imposter = (struct imposter){.says = "-ERR not here\r\n"};
        if (listens && !imposter_start(&imposter, true)) {
            printf("skipped: there is no ::1 here\n");
            imposter_stop(&imposter);
            continue;
        }
        watch_start(&watch, url);
        WATCH_UNTIL(&watch, watch.ups == 1);
        ck_assert_uint_eq(watch.losts, 0);
        if (!listens) {
            watch_stop_and_wait(&watch);
            continue;
        }
        ck_assert_uint_eq(imposter.guests, 1);

        /* none works: the cause is that of the one that said something */
        test_redis_kill(&watch_redis);
        WATCH_UNTIL(&watch, watch.losts == 2);
        snprintf(cause, sizeof cause, "two.test:%u: CLIENT: ERR not here", watch_redis.port);
        ck_assert_str_eq(watch.conn.cause, cause);
        watch_stop_and_wait(&watch);
        imposter_stop(&imposter);
    }
}
END_TEST

/* ---- Roles ---- */

START_TEST(test_replica_is_refused)
{
    static struct watch watch;
    struct test_redis replica;
    test_redis_start(&watch_redis);
    test_redis_init(&replica);
    replica.master = &watch_redis;
    test_redis_start(&replica);
    watch_start(&watch, replica.url);
    WATCH_UNTIL(&watch, watch.losts == 2);
    watch_expect_cause(&watch, &replica, " is no master");
    ck_assert_str_eq(test_redis_ask(&replica, 3, (const char *[]){"REPLICAOF", "NO", "ONE"}), "OK");
    WATCH_UNTIL(&watch, watch.ups == 1);
    watch_stop_and_wait(&watch);
    test_redis_fini(&replica);
}
END_TEST

static void lose_readonly_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    watch_reply_cb(conn, reply, context);
    if (reply && reply->type == REDIS_REPLY_ERROR)
        tp_redis_conn_lose(conn, "SET", reply->str);
}

/* A master that becomes a replica says so at the next write; lost for that, it is not taken again. */
START_TEST(test_master_becomes_replica)
{
    static struct watch watch;
    struct test_redis other;
    test_redis_start(&watch_redis);
    test_redis_init(&other);
    test_redis_start(&other);
    watch_start(&watch, watch_redis.url);
    WATCH_UNTIL(&watch, watch.ups == 1);
    watch.at_lost = watch_keep_first_cause;
    char port[8];
    snprintf(port, sizeof port, "%u", other.port);
    ck_assert_str_eq(test_redis_ask(&watch_redis, 3, (const char *[]){"REPLICAOF", "127.0.0.1", port}), "OK");
    ck_assert(tp_redis_conn_send(&watch.conn, 3, (const char *[]){"SET", "k", "v"}, NULL, 0, lose_readonly_cb,
                                 &watch));
    WATCH_UNTIL(&watch, watch.losts == 2);
    ck_assert_msg(strncmp(watch.text, "SET: READONLY ", 14) == 0, "%s", watch.text);
    watch_expect_cause(&watch, &watch_redis, " is no master");
    watch_stop_and_wait(&watch);
    test_redis_fini(&other);
}
END_TEST

/* ---- Lost by the caller ---- */

static void lose_in_reply_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct watch *watch = context;
    watch_reply_cb(conn, reply, context);
    ck_assert_ptr_nonnull(reply);
    tp_redis_conn_lose(conn, "test", "wants\r\nno more");
    tp_redis_conn_lose(conn, "test", "not again");
    ck_assert(!conn->is_up);
    ck_assert(!watch_send(watch, "PING", NULL, NULL));
    ck_assert_uint_eq(watch->losts, 0);
    ck_assert_uint_eq(watch->nulls, 0);
}

static void again_in_null_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    struct watch *watch = context;
    watch_reply_cb(conn, reply, context);
    ck_assert_ptr_null(reply);
    ck_assert_uint_eq(watch->losts, 0); /* the commands' callbacks come first */
    tp_redis_conn_lose(conn, "test", "away already");
    ck_assert(!watch_send(watch, "PING", NULL, NULL));
}

START_TEST(test_lose_in_reply)
{
    static struct watch watch;
    test_redis_start(&watch_redis);
    watch_start(&watch, watch_redis.url);
    WATCH_UNTIL(&watch, watch.ups == 1);
    const char *ping[] = {"PING"};
    ck_assert(watch_send(&watch, "INCR", "n", NULL));
    ck_assert(tp_redis_conn_send(&watch.conn, 1, ping, NULL, 0, lose_in_reply_cb, &watch));
    for (int i = 0; i < 5; i++)
        ck_assert(tp_redis_conn_send(&watch.conn, 1, ping, NULL, 0, again_in_null_cb, &watch));
    WATCH_UNTIL(&watch, watch.losts == 1);
    ck_assert_str_eq(watch.conn.cause, "test: wants");
    ck_assert_uint_eq(watch.nulls, 5);
    ck_assert_uint_eq(watch.replies, 2);
    WATCH_UNTIL(&watch, watch.ups == 2);

    /* not in a callback: all of it inside the call */
    ck_assert(watch_send(&watch, "PING", NULL, NULL));
    tp_redis_conn_lose(&watch.conn, "test", "outside");
    ck_assert_uint_eq(watch.losts, 2);
    ck_assert_uint_eq(watch.nulls, 6);
    ck_assert_str_eq(watch.conn.cause, "test: outside");
    WATCH_UNTIL(&watch, watch.ups == 3);
    watch_stop_and_wait(&watch);
}
END_TEST

static void lose_at_up(struct watch *watch)
{
    ck_assert(watch_send(watch, "PING", NULL, NULL));
    if (watch->ups < 4)
        tp_redis_conn_lose(&watch->conn, "test", "not yet");
}

/* One that is lost as soon as it is UP does not come back at once each time. */
START_TEST(test_lose_at_up)
{
    static struct watch watch;
    test_redis_start(&watch_redis);
    watch.at_up = lose_at_up;
    watch_start(&watch, watch_redis.url);
    WATCH_UNTIL(&watch, watch.ups == 4 && watch.replies == 1);
    ck_assert_uint_eq(watch.losts, 3);
    ck_assert_uint_eq(watch.nulls, 3);
    ck_assert_uint_ge(watch_now_ms() - watch.lost_at_ms[0], 50 + 100 + 200 - 1);
    watch_stop_and_wait(&watch);
}
END_TEST

/* ---- Stopped, in each state ---- */

static void stop_in_reply_cb(struct tp_redis_conn *conn, const redisReply *reply, void *context)
{
    watch_reply_cb(conn, reply, context);
    watch_stop(context);
}

static void send_three(struct watch *watch)
{
    for (int i = 0; i < 3; i++)
        ck_assert(watch_send(watch, "PING", NULL, NULL));
}

START_TEST(test_stop_before_anything)
{
    static struct watch watch;
    watch_start(&watch, watch_redis.url);
    watch_stop_and_wait(&watch);
    ck_assert_uint_eq(watch.losts, 0);
}
END_TEST

START_TEST(test_stop_paused)
{
    static struct watch watch;
    watch_start(&watch, watch_redis.url);
    WATCH_UNTIL(&watch, watch.losts == 3);
    watch_stop_and_wait(&watch);
}
END_TEST

START_TEST(test_stop_resolving)
{
    static struct watch watch, slow;
    watch_start(&watch, "redis://localhost:1");
    uv_run(&watch_loop, UV_RUN_NOWAIT);
    watch_stop_and_wait(&watch);

    watch_start(&slow, "redis://slow.test:1");
    WATCH_UNTIL(&slow, held.request != NULL);
    watch_stop(&slow);
    watch_run_for(30);
    ck_assert_uint_eq(slow.stops, 0); /* the resolver still holds the request */
    release_name();
    WATCH_UNTIL(&slow, slow.stops == 1);
    ck_assert_uint_eq(slow.losts, 0);
}
END_TEST

START_TEST(test_stop_connecting)
{
    static struct watch watch;
    struct imposter imposter = {.says = ""};
    ck_assert(imposter_start(&imposter, false));
    watch_start(&watch, watch_redis.url);
    for (int turns = 0; turns < 20; turns++) /* the first ones are before the connect's end */
    {
        static struct watch each;
        each = (struct watch){.ups = 0};
        watch_start(&each, watch_redis.url);
        for (int i = 0; i < turns; i++)
            uv_run(&watch_loop, UV_RUN_NOWAIT);
        watch_stop_and_wait(&each);
        ck_assert_uint_eq(each.losts, 0);
    }
    WATCH_UNTIL(&watch, imposter.guests > 0);
    watch_stop_and_wait(&watch);
    imposter_stop(&imposter);
}
END_TEST

START_TEST(test_stop_up)
{
    static struct watch idle, busy;
    test_redis_start(&watch_redis);
    watch_start(&idle, watch_redis.url);
    watch_start(&busy, watch_redis.url);
    WATCH_UNTIL(&idle, idle.ups == 1 && busy.ups == 1);
    send_three(&busy); /* in no write yet */
    watch_stop(&busy);
    ck_assert_uint_eq(busy.nulls, 3);
    watch_stop_and_wait(&idle);
    WATCH_UNTIL(&busy, busy.stops == 1);

    /* in the midst of a write that the server does not take */
    static struct watch full;
    enum { SIZE = 16 << 20 };
    char *value = malloc(SIZE);
    ck_assert_ptr_nonnull(value);
    memset(value, 'v', SIZE);
    watch_start_bounded(&full, watch_redis.url, 1, 10, SIZE + 1000);
    WATCH_UNTIL(&full, full.ups == 1);
    test_redis_freeze(&watch_redis);
    const char *set[] = {"SET", "k", value};
    ck_assert(tp_redis_conn_send(&full.conn, 3, set, (size_t[]){3, 1, SIZE}, 10000, watch_reply_cb, &full));
    free(value);
    watch_run_for(50);
    ck_assert(watch_send(&full, "PING", NULL, NULL));
    watch_stop_and_wait(&full);
    ck_assert_uint_eq(full.nulls, 2);
}
END_TEST

START_TEST(test_stop_in_callbacks)
{
    static struct watch in_up, in_reply, in_lost, in_null, in_first_lost;
    in_first_lost.at_lost = watch_stop;
    watch_start(&in_first_lost, watch_redis.url);
    WATCH_UNTIL(&in_first_lost, in_first_lost.stops == 1);

    test_redis_start(&watch_redis);
    in_up.at_up = watch_stop;
    watch_start(&in_up, watch_redis.url);
    WATCH_UNTIL(&in_up, in_up.stops == 1);

    const char *ping[] = {"PING"};
    watch_start(&in_reply, watch_redis.url);
    watch_start(&in_lost, watch_redis.url);
    watch_start(&in_null, watch_redis.url);
    WATCH_UNTIL(&in_reply, in_reply.ups + in_lost.ups + in_null.ups == 3);
    ck_assert(tp_redis_conn_send(&in_reply.conn, 1, ping, NULL, 0, stop_in_reply_cb, &in_reply));
    send_three(&in_reply);
    WATCH_UNTIL(&in_reply, in_reply.stops == 1);
    ck_assert_uint_eq(in_reply.nulls, 3);
    ck_assert_uint_eq(in_reply.replies, 1);

    send_three(&in_lost);
    in_lost.at_lost = watch_stop;
    tp_redis_conn_lose(&in_lost.conn, "test", "stops");
    ck_assert_uint_eq(in_lost.nulls, 3);
    WATCH_UNTIL(&in_lost, in_lost.stops == 1);

    send_three(&in_null);
    ck_assert(tp_redis_conn_send(&in_null.conn, 1, ping, NULL, 0, stop_in_reply_cb, &in_null));
    send_three(&in_null);
    tp_redis_conn_lose(&in_null.conn, "test", "stops in a NULL");
    WATCH_UNTIL(&in_null, in_null.stops == 1);
    ck_assert_uint_eq(in_null.nulls, 7);
    ck_assert_uint_eq(in_null.losts, 0); /* no callback after the stop */
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *const *tests, size_t count)
{
    TCase *tests_case = tcase_create(name);
    tcase_add_checked_fixture(tests_case, watch_begin, watch_end);
    tcase_set_timeout(tests_case, 60);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tests_case, tests[i]);
    suite_add_tcase(suite, tests_case);
}

static Suite *redis_conn_suite(void)
{
    Suite *suite = suite_create("redis_conn");
    const TTest *const there[] = {test_commands_in_order, test_large_values, test_bounds, test_password,
                                  test_database};
    const TTest *const away[] = {test_away_and_then_there, test_killed_and_back, test_frozen,
                                 test_own_standstill,      test_no_such_name,    test_slow_resolver,
                                 test_local_name,          test_no_redis_at_all, test_several_addresses,
                                 test_no_memory,           test_at_random,       test_answer_before_command};
    const TTest *const roles[] = {test_replica_is_refused, test_master_becomes_replica, test_lose_in_reply,
                                  test_lose_at_up};
    const TTest *const stops[] = {test_stop_before_anything, test_stop_paused, test_stop_resolving,
                                  test_stop_connecting,      test_stop_up,     test_stop_in_callbacks};
    add(suite, "there", there, sizeof there / sizeof *there);
    add(suite, "away", away, sizeof away / sizeof *away);
    add(suite, "roles", roles, sizeof roles / sizeof *roles);
    add(suite, "stops", stops, sizeof stops / sizeof *stops);
    return suite;
}

int main(void)
{
    return tp_test_main("test_redis_conn", redis_conn_suite);
}
