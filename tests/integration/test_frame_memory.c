/* From socket to socket a frame takes nothing from the system once its like has come before, and what a batch of requests is answered
 * leaves in one write. A whole daemon runs in a thread of the test, on real sockets; every call of malloc and its like that the
 * thread of its loop makes is counted (the linker's --wrap, tests.mk; libuv's by its own hook), and every write. */
#include "daemon/config.h"
#include "daemon/server.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
int __real_uv_try_write(uv_stream_t *stream, const uv_buf_t buffers[], unsigned count);
int __real_uv_write(uv_write_t *write, uv_stream_t *stream, const uv_buf_t buffers[], unsigned count, uv_write_cb done);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
int __wrap_uv_try_write(uv_stream_t *stream, const uv_buf_t buffers[], unsigned count);
int __wrap_uv_write(uv_write_t *write, uv_stream_t *stream, const uv_buf_t buffers[], unsigned count, uv_write_cb done);

static _Thread_local bool is_loop_;
static atomic_ulong taken_, writes_;

void *__wrap_malloc(size_t bytes)
{
    taken_ += is_loop_;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    taken_ += is_loop_;
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    taken_ += is_loop_;
    return __real_realloc(memory, bytes);
}

int __wrap_uv_try_write(uv_stream_t *stream, const uv_buf_t buffers[], unsigned count)
{
    writes_++;
    return __real_uv_try_write(stream, buffers, count);
}

int __wrap_uv_write(uv_write_t *write, uv_stream_t *stream, const uv_buf_t buffers[], unsigned count, uv_write_cb done)
{
    writes_++;
    return __real_uv_write(write, stream, buffers, count, done);
}

/* ---- The daemon ---- */

static struct tp_config config_;
static pthread_t thread_;
static struct wire wire_;
static char port_file_[4096];

static void *serve(void *unused)
{
    (void)unused;
    is_loop_ = true; /* its first loop runs here, and it has no other */
    ck_assert_int_eq(tp_server_run(&config_), 0);
    return NULL;
}

static uint16_t await_port(void)
{
    for (uint64_t end_ms = wire_now_ms() + WIRE_TIMEOUT_MS; wire_now_ms() < end_ms;) {
        FILE *file = fopen(port_file_, "r");
        unsigned port = 0;
        if (file != NULL && fscanf(file, "%u", &port) != 1)
            port = 0;
        if (file != NULL)
            fclose(file);
        if (port != 0)
            return (uint16_t)port;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    ck_abort_msg("the daemon does not serve");
    return 0;
}

static void begin(void)
{
    char reason[TP_CONFIG_REASON_BYTES];
    snprintf(port_file_, sizeof port_file_, "%s/port", tp_test_folder_make());
    char *argv[] = {(char *)"tickpathd", (char *)"--listen", (char *)"127.0.0.1:0", (char *)"--port-file", port_file_,
                    (char *)"--threads", (char *)"1", (char *)"--log-level", (char *)"warn"};
    char *environment[] = {NULL};
    ck_assert_int_eq(tp_config_read(&config_, sizeof argv / sizeof argv[0], argv, environment, reason), 0);
    ck_assert_int_eq(uv_replace_allocator(__wrap_malloc, __wrap_realloc, __wrap_calloc, free), 0);
    ck_assert_int_eq(pthread_create(&thread_, NULL, serve, NULL), 0);
    wire_open_greeted(&wire_, await_port());
}

static void end(void)
{
    wire_close(&wire_);
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
    ck_assert_int_eq(pthread_join(thread_, NULL), 0);
    *strrchr(port_file_, '/') = 0;
    tp_test_folder_remove(port_file_);
}

/* ---- Frames ---- */

enum { SIDE = 100, AGENTS = 600, AT_ONCE = 48 };

static uint64_t ids_[AGENTS];

/* Agents on paths that are whole. */
static void open_all(void)
{
    struct tp_test_rng rng = tp_test_rng("frame_memory");
    wire_put_free_map(&wire_, "m", SIDE, SIDE);
    for (int i = 0; i < AGENTS; i++)
        ids_[i] = wire_open_session(&wire_, "m", tp_test_below(&rng, SIDE * SIDE), tp_test_below(&rng, SIDE * SIDE),
                                    i % 2 ? "tbwa" : NULL, SIDE * SIDE);
}

struct bytes {
    uint8_t *at;
    size_t size;
};

static struct bytes frame_of(Tickpath__Tick *tick)
{
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    struct bytes frame;
    request.has_id = 1;
    request.id = 7;
    request.body_case = TICKPATH__REQUEST__BODY_TICK;
    request.tick = tick;
    frame.at = wire_frame(&request, &frame.size);
    return frame;
}

/* One of each kind: all at once, all by name with everything told, one, one with a budget of its own. */
enum { KINDS = 4 };
static void make_frames(struct bytes frames[KINDS])
{
    Tickpath__Tick all = TICKPATH__TICK__INIT, named = TICKPATH__TICK__INIT, one = TICKPATH__TICK__INIT,
                   other = TICKPATH__TICK__INIT;
    Tickpath__Budget each = TICKPATH__BUDGET__INIT;
    all.has_all = all.all = 1;
    named.n_session = AGENTS;
    named.session = ids_;
    named.has_want_path = named.want_path = named.has_want_work = named.want_work = 1;
    one.n_session = other.n_session = 1;
    one.session = &ids_[1];
    other.session = &ids_[AGENTS / 2];
    other.each = &each;
    each.has_k = 1;
    each.k = 50;
    frames[0] = frame_of(&all);
    frames[1] = frame_of(&named);
    frames[2] = frame_of(&one);
    frames[3] = frame_of(&other);
}

static void receive(size_t sessions)
{
    Tickpath__Reply *reply = wire_recv(&wire_);
    ck_assert(reply->body_case == TICKPATH__REPLY__BODY_TICKED && reply->ticked->n_session == sessions);
    wire_reply_free(reply);
}

/* Sends each kind, at one go and in pieces that come one by one, and hears the answers. */
static void round_of(const struct bytes frames[KINDS])
{
    for (int kind = 0; kind < KINDS; kind++) {
        size_t sessions = kind < 2 ? AGENTS : 1, half = frames[kind].size / 2;
        ck_assert(wire_send_bytes(&wire_, frames[kind].at, frames[kind].size));
        receive(sessions);
        ck_assert(wire_send_bytes(&wire_, frames[kind].at, half));
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
        ck_assert(wire_send_bytes(&wire_, frames[kind].at + half, frames[kind].size - half));
        receive(sessions);
    }
}

/* The loop may have given back what it had no use for while this process was held up: so a few attempts. */
START_TEST(frames_take_nothing_from_the_system)
{
    enum { ROUNDS = 20, ATTEMPTS = 10 };
    struct bytes frames[KINDS];
    unsigned long taken = 1;
    begin();
    open_all();
    make_frames(frames);
    for (int i = 0; i < 10; i++)
        round_of(frames);
    ck_assert_uint_gt(taken_, 0); /* they are counted */
    for (int attempt = 0; attempt < ATTEMPTS && taken > 0; attempt++) {
        unsigned long before = taken_;
        for (int i = 0; i < ROUNDS; i++)
            round_of(frames);
        taken = taken_ - before;
    }
    ck_assert_msg(taken == 0, "%lu calls in %d rounds", taken, ROUNDS);
    for (int kind = 0; kind < KINDS; kind++)
        free(frames[kind].at);
    end();
}
END_TEST

/* What is read at one go is answered at one go, however many requests it holds. */
START_TEST(a_batch_is_answered_in_one_write)
{
    struct bytes frames[KINDS];
    begin();
    open_all();
    make_frames(frames);
    round_of(frames);
    unsigned long before = writes_;
    ck_assert(wire_send_bytes(&wire_, frames[0].at, frames[0].size));
    receive(AGENTS);
    ck_assert_uint_eq(writes_ - before, 1);
    uint8_t *many = malloc(AT_ONCE * frames[2].size);
    ck_assert_ptr_nonnull(many);
    for (int i = 0; i < AT_ONCE; i++)
        memcpy(many + (size_t)i * frames[2].size, frames[2].at, frames[2].size);
    before = writes_;
    ck_assert(wire_send_bytes(&wire_, many, AT_ONCE * frames[2].size));
    for (int i = 0; i < AT_ONCE; i++)
        receive(1);
    ck_assert_uint_eq(writes_ - before, 1);
    free(many);
    for (int kind = 0; kind < KINDS; kind++)
        free(frames[kind].at);
    end();
}
END_TEST

static Suite *frame_memory_suite(void)
{
    Suite *suite = suite_create("frame memory");
    TCase *tests = tcase_create("frame memory");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, frames_take_nothing_from_the_system);
    tcase_add_test(tests, a_batch_is_answered_in_one_write);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_frame_memory", frame_memory_suite);
}
