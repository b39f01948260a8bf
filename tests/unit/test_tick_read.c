/* A tick request as it is read straight from a frame's bytes, held against what protobuf-c reads: messages of any fields, then the same
 * bytes with some changed, cut off or added. Whatever is read here must be what protobuf-c reads; what clients write must be read here. */
#include "daemon/serve/tick_read.h"
#include "tests/lib/harness.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 40, BYTES_MAX = 4096 };

static uint64_t any(struct tp_test_rng *rng, uint32_t bits_max)
{
    uint32_t bits = tp_test_below(rng, bits_max + 1);
    return bits == 0 ? 0 : tp_test_next(rng) >> (64 - bits);
}

struct drawn {
    Tickpath__Request request;
    Tickpath__Tick tick;
    Tickpath__Budget each;
    uint64_t session[NUMBERS], at_session[NUMBERS];
    uint32_t at_cell[NUMBERS];
    int32_t at_vx[NUMBERS], at_vy[NUMBERS];
    bool is_usual; /* all of its fields are read here */
};

static void draw(struct tp_test_rng *rng, struct drawn *drawn)
{
    Tickpath__Tick *tick = &drawn->tick;
    tickpath__request__init(&drawn->request);
    tickpath__tick__init(tick);
    tickpath__budget__init(&drawn->each);
    drawn->request.has_id = tp_test_percent(rng, 80);
    drawn->request.id = any(rng, 64);
    drawn->request.body_case = TICKPATH__REQUEST__BODY_TICK;
    drawn->request.tick = tick;
    for (int i = 0; i < NUMBERS; i++) {
        drawn->session[i] = any(rng, 64);
        drawn->at_session[i] = any(rng, 64);
        drawn->at_cell[i] = (uint32_t)any(rng, 32);
        drawn->at_vx[i] = (int32_t)any(rng, 32);
        drawn->at_vy[i] = (int32_t)any(rng, 32);
    }
#define SOME(field, percent, value)                                                                          \
    if (tp_test_percent(rng, percent)) {                                                                     \
        tick->has_##field = 1;                                                                               \
        tick->field = (value);                                                                               \
    }
    SOME(all, 40, tp_test_percent(rng, 60))
    SOME(total_expansions, 30, any(rng, 64))
    SOME(total_us, 30, any(rng, 64))
    SOME(min_version, 30, any(rng, 64))
    SOME(want_work, 30, tp_test_percent(rng, 60))
    SOME(want_path, 30, tp_test_percent(rng, 60))
    SOME(epoch, 30, any(rng, 64))
    SOME(total_guide_units, 30, any(rng, 64))
#undef SOME
    tick->n_session = tp_test_percent(rng, 70) ? tp_test_below(rng, NUMBERS) : 0;
    tick->session = drawn->session;
    tick->n_at_session = tp_test_percent(rng, 40) ? tp_test_below(rng, NUMBERS) : 0;
    tick->at_session = drawn->at_session;
    tick->n_at_cell = tp_test_percent(rng, 40) ? tp_test_below(rng, NUMBERS) : 0;
    tick->at_cell = drawn->at_cell;
    tick->n_at_vx = tick->n_at_vy = tp_test_percent(rng, 10) ? tp_test_below(rng, NUMBERS) : 0;
    tick->at_vx = drawn->at_vx;
    tick->at_vy = drawn->at_vy;
    if (tp_test_percent(rng, 10)) {
        tick->each = &drawn->each;
        drawn->each.has_k = 1;
        drawn->each.k = any(rng, 64);
    }
    drawn->is_usual = tick->each == NULL && tick->n_at_vx == 0;
}

/* What a request packs to, as it was read; false where it was not. */
static bool packed(const Tickpath__Request *request, uint8_t *out, size_t *size)
{
    if (request == NULL)
        return false;
    *size = tickpath__request__get_packed_size(request);
    ck_assert(*size <= 2 * BYTES_MAX);
    tickpath__request__pack(request, out);
    return true;
}

static const char *compare(struct tp_arena *arena, const uint8_t *bytes, size_t size, bool must_read)
{
    static uint8_t here[2 * BYTES_MAX], there[2 * BYTES_MAX];
    size_t here_size = 0, there_size = 0;
    tp_arena_reset(arena);
    bool is_read = packed(tp_tick_read(arena, bytes, size), here, &here_size);
    if (!is_read)
        return must_read ? "it is not read" : NULL;
    Tickpath__Request *request = tickpath__request__unpack(NULL, size, bytes);
    bool is_message = packed(request, there, &there_size);
    tickpath__request__free_unpacked(request, NULL);
    if (!is_message)
        return "it is no message";
    return here_size == there_size && memcmp(here, there, here_size) == 0 ? NULL : "it is read as another";
}

static size_t spoil(struct tp_test_rng *rng, uint8_t *bytes, size_t size)
{
    for (uint32_t times = tp_test_between(rng, 1, 3); times > 0; times--) {
        uint32_t at = tp_test_below(rng, (uint32_t)size + 1);
        switch (tp_test_below(rng, 4)) {
        case 0:
            size = at; /* cut off */
            break;
        case 1:
            memmove(bytes + at + 1, bytes + at, size - at); /* one more */
            bytes[at] = (uint8_t)any(rng, 8);
            size++;
            break;
        default:
            if (at < size)
                bytes[at] = tp_test_percent(rng, 50) ? (uint8_t)any(rng, 8) : bytes[at] ^ (uint8_t)(1 << tp_test_below(rng, 8));
        }
    }
    return size;
}

START_TEST(test_reads_as_protobuf)
{
    static struct drawn drawn;
    static uint8_t whole[BYTES_MAX], spoilt[BYTES_MAX];
    struct tp_test_rng rng = tp_test_rng("reads_as_protobuf");
    struct tp_arena arena;
    uint64_t spoilt_read = 0;
    tp_arena_init(&arena, 1 << 20);
    for (uint64_t round = tp_test_steps(15000, 300000); round > 0; round--) {
        draw(&rng, &drawn);
        size_t size = tickpath__request__pack(&drawn.request, whole);
        const char *wrong = compare(&arena, whole, size, drawn.is_usual);
        if (wrong != NULL)
            ck_abort_msg("%s (%llu rounds left)", wrong, (unsigned long long)round);
        for (int i = 0; i < 20; i++) {
            memcpy(spoilt, whole, size);
            size_t spoilt_size = spoil(&rng, spoilt, size);
            wrong = compare(&arena, spoilt, spoilt_size, false);
            if (wrong != NULL)
                ck_abort_msg("spoilt: %s (%llu rounds left)", wrong, (unsigned long long)round);
            tp_arena_reset(&arena);
            spoilt_read += tp_tick_read(&arena, spoilt, spoilt_size) != NULL;
        }
    }
    ck_assert_uint_gt(spoilt_read, 100);
    tp_arena_fini(&arena);
}
END_TEST

/* Other messages are not its affair. */
START_TEST(test_leaves_the_rest)
{
    uint8_t bytes[64];
    struct tp_arena arena;
    Tickpath__Ping ping = TICKPATH__PING__INIT;
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    tp_arena_init(&arena, 1 << 20);
    ck_assert_ptr_null(tp_tick_read(&arena, bytes, tickpath__request__pack(&request, bytes)));
    request.has_id = 1;
    ck_assert_ptr_null(tp_tick_read(&arena, bytes, tickpath__request__pack(&request, bytes)));
    request.body_case = TICKPATH__REQUEST__BODY_PING;
    request.ping = &ping;
    ck_assert_ptr_null(tp_tick_read(&arena, bytes, tickpath__request__pack(&request, bytes)));
    tp_arena_fini(&arena);
}
END_TEST

static Suite *tick_read_suite(void)
{
    Suite *suite = suite_create("tick read");
    TCase *tests = tcase_create("tick read");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_reads_as_protobuf);
    tcase_add_test(tests, test_leaves_the_rest);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tick_read", tick_read_suite);
}
