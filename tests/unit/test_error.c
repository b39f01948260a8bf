/* The list of errors: the enum, the texts and the names come from it, and the protocol's ErrorCode holds the
 * same names and numbers, no more and no fewer. */
#include "base/error.h"

#include "proto/tickpath.pb-c.h"
#include "tests/lib/harness.h"

#include <limits.h>
#include <string.h>

static const struct {
    const char *name;
    int number;
    const char *text;
} list[] = {
#define ROW(name, number, text) {#name, number, text},
    TP_ERROR_LIST(ROW)
#undef ROW
};
enum { LIST_COUNT = sizeof list / sizeof *list };

START_TEST(test_protocol)
{
    const ProtobufCEnumDescriptor *wire = &tickpath__error_code__descriptor;
    ck_assert_uint_eq(wire->n_values, LIST_COUNT);
    for (int i = 0; i < LIST_COUNT; i++) {
        const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value_by_name(wire, list[i].name);
        ck_assert_msg(value, "%s is not in the protocol", list[i].name);
        ck_assert_int_eq(value->value, list[i].number);
    }
}
END_TEST

START_TEST(test_list)
{
    ck_assert_int_eq(TP_OK, 0);
    ck_assert_int_eq(TP_ERR_INVALID_ARGUMENT, -1);
    ck_assert_int_eq(TP_ERR_PARSE, -18);
    ck_assert_int_eq(TP_ERR_INTERNAL, -23);
    for (int i = 0; i < LIST_COUNT; i++) {
        ck_assert_int_gt(list[i].number, 0);
        ck_assert_str_eq(tp_error_name(-list[i].number), list[i].name);
        ck_assert_str_eq(tp_error_text(-list[i].number), list[i].text);
        ck_assert_uint_gt(strlen(list[i].text), 8);
        for (int other = 0; other < i; other++) {
            ck_assert_int_ne(list[i].number, list[other].number);
            ck_assert_str_ne(list[i].text, list[other].text);
        }
    }
}
END_TEST

START_TEST(test_unknown)
{
    ck_assert_str_eq(tp_error_text(0), "ok");
    ck_assert_str_eq(tp_error_name(0), "OK");
    static const int none[] = {1, 18, -24, -1000, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_str_eq(tp_error_text(none[i]), "unknown error");
        ck_assert_ptr_nonnull(tp_error_name(none[i]));
        for (int known = 0; known < LIST_COUNT; known++)
            ck_assert_str_ne(tp_error_name(none[i]), list[known].name);
    }
}
END_TEST

static Suite *error_suite(void)
{
    Suite *suite = suite_create("error");
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, test_protocol);
    tcase_add_test(errors, test_list);
    tcase_add_test(errors, test_unknown);
    suite_add_tcase(suite, errors);
    return suite;
}

int main(void)
{
    return tp_test_main("test_error", error_suite);
}
