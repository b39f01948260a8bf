/* Seeded edits of snapshots and batches against the promises of stored_property.h. */
#include "tests/fuzz/stored_property.h"
#include "tests/lib/harness.h"

enum { EDITS_MAX = 6, ROOM = 2048 };

/* Each bit in turn, each place cut off at, and each grown by a byte: alone, and with checksums that fit. */
START_TEST(test_each)
{
    for (int sealed = 0; sealed < 2; sealed++) {
        uint8_t input[1 + STORED_EDIT_BYTES] = {(uint8_t)(_i | (sealed ? 0 : STORED_CHECKSUM_AS_IS))};
        size_t size = stored_check(input, 1);
        ck_assert_uint_gt(size, 60);
        ck_assert_uint_le(size, ROOM);
        for (uint16_t at = 0; at <= size; at++) {
            tp_put_u16(input + 1, at);
            input[3] = 2;
            stored_check(input, sizeof input);
            input[3] = 3;
            stored_check(input, sizeof input);
            input[3] = 1;
            for (int bit = 0; bit < 8; bit++) {
                input[4] = (uint8_t)(1u << bit);
                stored_check(input, sizeof input);
            }
        }
    }
}
END_TEST

START_TEST(test_edits)
{
    struct tp_test_rng rng = tp_test_rng("edits");
    uint64_t steps = tp_test_steps(20000, 3000000);
    size_t sizes[STORED_KINDS];
    for (uint8_t kind = 0; kind < STORED_KINDS; kind++)
        sizes[kind] = stored_check(&kind, 1);
    for (uint64_t i = 0; i < steps; i++) {
        uint8_t input[1 + EDITS_MAX * STORED_EDIT_BYTES];
        input[0] = (uint8_t)tp_test_below(&rng, STORED_KINDS);
        uint32_t edits = tp_test_between(&rng, 1, EDITS_MAX), size = (uint32_t)sizes[input[0]];
        for (uint32_t e = 0; e < edits; e++) {
            uint8_t *edit = input + 1 + e * STORED_EDIT_BYTES;
            /* the beginning and the end of it have what steers the reader */
            uint32_t at = tp_test_percent(&rng, 40) ? tp_test_below(&rng, 48) : tp_test_below(&rng, size + 1);
            if (tp_test_percent(&rng, 20))
                at = size - tp_test_below(&rng, 60);
            tp_put_u16(edit, (uint16_t)at);
            edit[2] = (uint8_t)(tp_test_percent(&rng, 85) ? tp_test_below(&rng, 2) : tp_test_below(&rng, 4));
            edit[3] = tp_test_percent(&rng, 50) ? (uint8_t)tp_test_next(&rng) : (uint8_t)(1u << tp_test_below(&rng, 8));
        }
        if (tp_test_percent(&rng, 10))
            input[0] |= STORED_CHECKSUM_AS_IS;
        stored_check(input, 1 + edits * STORED_EDIT_BYTES);
    }
}
END_TEST

static Suite *stored_suite(void)
{
    Suite *suite = suite_create("fuzz_stored");
    TCase *cases = tcase_create("stored");
    tcase_add_loop_test(cases, test_each, 0, STORED_KINDS);
    tcase_add_test(cases, test_edits);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_fuzz_stored", stored_suite);
}
