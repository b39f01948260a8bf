/* The small cases that must come out right (tests/lib/cases.h), in process: every row of the registry, every budget. */
#include "tests/lib/cases.h"

#define TEST(name)                                                                                           \
    START_TEST(case_of_##name)                                                                               \
    {                                                                                                        \
        case_play_all(case_##name, NULL);                                                                    \
    }                                                                                                        \
    END_TEST
CASES(TEST)

static Suite *cases_suite(void)
{
    Suite *suite = suite_create("cases");
    TCase *tcase = tcase_create("small cases");
#define ADD(name) tcase_add_test(tcase, case_of_##name);
    CASES(ADD)
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_cases", cases_suite);
}
