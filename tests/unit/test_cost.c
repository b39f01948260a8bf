/* Products of costs are compared exactly, however large the costs: w times a way against what is left of a path. */
#include "map/cost.h"
#include "tests/lib/harness.h"
#include "tests/lib/rng.h"

START_TEST(products_are_compared_exactly)
{
    struct tp_test_rng rng = tp_test_rng("products");
    for (uint64_t i = 0; i < tp_test_steps(200000, 5000000); i++) {
        uint64_t a = tp_test_next(&rng) >> tp_test_below(&rng, 64), x = tp_test_below(&rng, 1u << tp_test_between(&rng, 1, 31)),
                 y = tp_test_below(&rng, 1u << tp_test_between(&rng, 1, 31)), b = tp_test_next(&rng) >> tp_test_below(&rng, 64);
        __extension__ typedef unsigned __int128 wide;
        if (y && i % 2) { /* near to each other */
            wide near = (wide)a * x / y + i % 3;
            b = near > UINT64_MAX ? UINT64_MAX : (uint64_t)near;
        }
        ck_assert_msg(tp_product_less(a, x, b, y) == ((wide)a * x < (wide)b * y), "%llu x %llu, %llu x %llu",
                      (unsigned long long)a, (unsigned long long)x, (unsigned long long)b, (unsigned long long)y);
    }
}
END_TEST

static Suite *cost_suite(void)
{
    Suite *suite = suite_create("cost");
    TCase *tcase = tcase_create("products");
    tcase_add_test(tcase, products_are_compared_exactly);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_cost", cost_suite);
}
