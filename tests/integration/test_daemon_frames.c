/* The daemon's frames, cut and joined without a socket. */
#include "daemon/bytes.h"
#include "daemon/net/frame.h"
#include "tests/lib/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the buffer writes the decoder reads, cut in any way, with and without keeping. */
START_TEST(test_frames_round_trip)
{
    struct tp_test_rng rng = tp_test_rng("frames");
    for (uint64_t round = 0; round < tp_test_steps(300, 20000); round++) {
        struct tp_frame_buffer out = {0};
        uint32_t count = tp_test_below(&rng, 20);
        uint32_t sizes[20];
        for (uint32_t i = 0; i < count; i++) {
            sizes[i] = tp_test_percent(&rng, 70) ? tp_test_below(&rng, 200) : tp_test_below(&rng, 40000);
            uint8_t *payload = tp_frame_buffer_add(&out, sizes[i]);
            ck_assert_ptr_nonnull(payload);
            memset(payload, (int)i, sizes[i]);
        }
        struct tp_frame_decoder in;
        tp_frame_decoder_init(&in, 40000, NULL);
        uint32_t got = 0;
        for (size_t at = 0; at < out.size;) {
            size_t piece = 1 + tp_test_below(&rng, tp_test_percent(&rng, 50) ? 10 : 30000);
            piece = piece < out.size - at ? piece : out.size - at;
            uint8_t *lent = malloc(piece); /* exactly as long as the piece: a read beyond it is seen */
            memcpy(lent, out.bytes + at, piece);
            ck_assert_int_eq(tp_frame_decoder_push(&in, lent, piece), 0);
            at += piece;
            const uint8_t *payload;
            size_t size;
            while (tp_frame_decoder_next(&in, &payload, &size) == 1) {
                if (size != sizes[got] || (size > 0 && (payload[0] != got || payload[size - 1] != got)))
                    ck_abort_msg("frame %u of %u came out wrong", got, count);
                got++;
                tp_frame_decoder_skip(&in);
                if (tp_test_percent(&rng, 10))
                    break; /* the rest waits for the next round */
            }
            ck_assert_int_eq(tp_frame_decoder_keep(&in), 0);
            free(lent);
        }
        const uint8_t *payload;
        size_t size;
        while (tp_frame_decoder_next(&in, &payload, &size) == 1) {
            ck_assert_uint_eq(size, sizes[got]);
            got++;
            tp_frame_decoder_skip(&in);
        }
        ck_assert_uint_eq(got, count);
        ck_assert_uint_eq(tp_frame_decoder_held(&in), 0);
        tp_frame_decoder_fini(&in);
        tp_frame_buffer_fini(&out);
    }
}
END_TEST

START_TEST(test_frame_limits)
{
    const struct {
        const char *bytes;
        size_t size;
        int result;
    } cases[] = {
        {"\xe7\x07", 2, 0},                      /* 999: allowed, more is needed */
        {"\xe9\x07", 2, TP_ERR_FRAME_TOO_LARGE}, /* 1001 */
        {"\xff\xff\xff\xff\x0f", 5, TP_ERR_FRAME_TOO_LARGE},
        {"\xff\xff\xff\xff\xff", 5, TP_ERR_MALFORMED_FRAME},
        {"\xff\xff\xff\xff", 4, 0},
        {"\x80\x80\x80\x80\x00", 5, 1}, /* 0, said at length */
        {"\x00", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tp_frame_decoder in;
        tp_frame_decoder_init(&in, 1000, NULL);
        ck_assert_int_eq(tp_frame_decoder_push(&in, cases[i].bytes, cases[i].size), 0);
        const uint8_t *payload;
        size_t size;
        ck_assert_int_eq(tp_frame_decoder_next(&in, &payload, &size), cases[i].result);
        ck_assert_int_eq(tp_frame_decoder_next(&in, &payload, &size), cases[i].result);
        ck_assert_int_eq(tp_frame_decoder_keep(&in), 0);
        ck_assert_uint_le(in.capacity, 4096); /* nothing was allocated for what was only claimed */
        tp_frame_decoder_fini(&in);
    }
}
END_TEST
static Suite *frames_suite(void)
{
    Suite *suite = suite_create("daemon_frames");
    TCase *cases = tcase_create("frames");
    tcase_add_test(cases, test_frames_round_trip);
    tcase_add_test(cases, test_frame_limits);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_frames", frames_suite);
}
