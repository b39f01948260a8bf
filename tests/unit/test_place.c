/* Places in a log, and lineages. */
#include "daemon/store/place.h"
#include "tests/lib/harness.h"

#include <stdio.h>
#include <string.h>

START_TEST(test_text)
{
    static const struct {
        struct tp_log_place place;
        const char *text;
    } same[] = {{{0, 0}, "0-0"},
                {{123, 4}, "123-4"},
                {{1700000000000, 10}, "1700000000000-10"},
                {{UINT64_MAX, UINT64_MAX}, "18446744073709551615-18446744073709551615"}};
    static const char *const none[] = {"",       "-",     "1",      "1-",  "-1",  "1-1-",
                                       "1-1 ",   " 1-1",  "1--1",   "+1-1", "01-1", "1-00",
                                       "0x1-1",  "1-1\n", "1.0-1",  "*",   "18446744073709551616-0",
                                       "0-18446744073709551616", "99999999999999999999999-1", "1-a"};
    struct tp_log_place place;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        char text[TP_LOG_PLACE_TEXT_BYTES];
        tp_log_place_print(text, same[i].place);
        ck_assert_str_eq(text, same[i].text);
        ck_assert(tp_log_place_parse(&place, text, strlen(text)));
        ck_assert_int_eq(tp_log_place_compare(place, same[i].place), 0);
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        place = (struct tp_log_place){1, 1};
        if (tp_log_place_parse(&place, none[i], strlen(none[i])))
            ck_abort_msg("\"%s\" is taken for a place", none[i]);
        ck_assert(tp_log_place_is_start(place));
    }
    ck_assert(!tp_log_place_parse(&place, "1-2\0", 4)); /* an end is no part of it */
    ck_assert(tp_log_place_parse(&place, "1-23", 3));
    ck_assert_int_eq(tp_log_place_compare(place, (struct tp_log_place){1, 2}), 0);
}
END_TEST

START_TEST(test_order)
{
    static const struct tp_log_place rising[] = {{0, 0}, {0, 1}, {0, UINT64_MAX}, {1, 0}, {1, 7}, {UINT64_MAX, 0}, {UINT64_MAX, UINT64_MAX}};
    int count = sizeof rising / sizeof rising[0];
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int order = tp_log_place_compare(rising[i], rising[j]);
            ck_assert_int_eq((order > 0) - (order < 0), (i > j) - (i < j));
        }
}
END_TEST

/* Against the list of all that was noted. */
START_TEST(test_lineage)
{
    struct tp_test_rng rng = tp_test_rng("lineage");
    enum { NOTES = 500, NAMES = 24 };
    struct tp_lineage lineage = {0};
    uint8_t names[NOTES];
    struct tp_log_place lasts[NOTES];
    uint32_t made = 0; /* distinct runs of one name */
    for (uint32_t n = 0; n < NOTES; n++) {
        uint8_t bytes[TP_LOG_TAG_BYTES] = {0};
        bytes[TP_LOG_TAG_BYTES - 1] = (uint8_t)tp_test_below(&rng, NAMES);
        struct tp_log_place last = {n, tp_test_below(&rng, 9)};
        tp_lineage_note(&lineage, bytes, last);
        if (made == 0 || names[made - 1] != bytes[TP_LOG_TAG_BYTES - 1])
            names[made++] = bytes[TP_LOG_TAG_BYTES - 1];
        lasts[made - 1] = last;
        uint32_t kept = made < TP_LINEAGE_MAX ? made : TP_LINEAGE_MAX;
        ck_assert_uint_eq(lineage.count, kept);
        for (uint8_t name = 0; name < NAMES; name++) {
            bytes[TP_LOG_TAG_BYTES - 1] = name;
            const struct tp_log_tag *tag = tp_lineage_find(&lineage, bytes);
            uint32_t at = made;
            while (at > made - kept && names[at - 1] != name)
                at--;
            bool is_kept = at > made - kept;
            if (is_kept != (tag != NULL) || (is_kept && tp_log_place_compare(tag->last, lasts[at - 1]) != 0))
                ck_abort_msg("note %u, name %u", n, name);
        }
    }
}
END_TEST

static Suite *place_suite(void)
{
    Suite *suite = suite_create("place");
    TCase *cases = tcase_create("place");
    tcase_add_test(cases, test_text);
    tcase_add_test(cases, test_order);
    tcase_add_test(cases, test_lineage);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_place", place_suite);
}
