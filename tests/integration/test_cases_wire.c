/* The small cases that must come out right (tests/lib/cases.h) through a real daemon: every row of the registry, every budget,
 * each reply the same as the library's in process. */
#include "tests/lib/cases.h"

#define TEST(name)                                                                                           \
    START_TEST(case_of_##name)                                                                               \
    {                                                                                                        \
        case_play_all(case_##name, &stage_wire);                                                             \
    }                                                                                                        \
    END_TEST
CASES(TEST)
#undef TEST

#define TEST(name)                                                                                           \
    START_TEST(goals_##name)                                                                                 \
    {                                                                                                        \
        case_play_choosing(case_##name, &stage_wire);                                                        \
    }                                                                                                        \
    END_TEST
GOAL_CASES(TEST)

static Suite *cases_wire_suite(void)
{
    Suite *suite = suite_create("cases_wire");
    TCase *tcase = tcase_create("small cases");
    tcase_add_checked_fixture(tcase, stage_daemon_begin, stage_daemon_end);
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
#define ADD(name) tcase_add_test(tcase, case_of_##name);
    CASES(ADD)
#undef ADD
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("goals");
    tcase_add_checked_fixture(tcase, stage_daemon_begin, stage_daemon_end);
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
#define ADD(name) tcase_add_test(tcase, goals_##name);
    GOAL_CASES(ADD)
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_cases_wire", cases_wire_suite);
}
