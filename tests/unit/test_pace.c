/* How long things take, learnt (daemon/serve/pace.h): moves, searches and expansions are told apart, a stall does not mislead, a slower machine is
 * noticed, and portions find how many can have one. */
#include "daemon/serve/pace.h"
#include "tests/lib/harness.h"
#include "tests/lib/rng.h"

#include <math.h>

static const uint64_t turn_ns = 220, search_ns = 3500, expansion_ns = 140;

static uint64_t took(uint64_t turns, uint64_t searches, uint64_t expansions)
{
    return turns * turn_ns + searches * search_ns + expansions * expansion_ns;
}

/* Ticks of a thousand moves and a hundred searches, of `portion` expansions and half as many again in turn; `stalls`: one stretch in so many is
 * held up for as long as a page of memory takes, 0: none is. */
static void live(struct tp_pace *pace, struct tp_test_rng *rng, int ticks, uint64_t slower, uint32_t stalls)
{
    for (int tick = 0; tick < ticks; tick++) {
        uint64_t portion = tick % 2 ? 12 : 8;
        for (int i = 0; i < 12; i++) {
            bool stalled = stalls > 0 && tp_test_below(rng, stalls) == 0;
            tp_pace_learn(pace, 80, 0, 0, slower * took(80, 0, 0) + (stalled ? 4000000 : 0));
        }
        for (int i = 0; i < 100; i++) {
            bool stalled = stalls > 0 && tp_test_below(rng, stalls) == 0;
            tp_pace_learn(pace, 1, 1, portion, slower * took(1, 1, portion) + (stalled ? 4000000 : 0));
        }
    }
}

/* Within so many per cent of what it truly is. */
static bool is_near(double estimate, double truth, double percent)
{
    return fabs(estimate - truth) <= truth * percent / 100;
}

START_TEST(test_apart)
{
    struct tp_test_rng rng = tp_test_rng("apart");
    struct tp_pace pace = tp_pace_begin();
    live(&pace, &rng, 400, 1, 0);
    ck_assert(is_near(pace.turn_ns, (double)turn_ns, 10));
    ck_assert(is_near(tp_pace_ns(&pace, 1, 1, 8), (double)took(1, 1, 8), 5));
    ck_assert(is_near(tp_pace_ns(&pace, 1, 1, 12), (double)took(1, 1, 12), 5));
    ck_assert(pace.search_ns > 8 * pace.expansion_ns);
}
END_TEST

START_TEST(test_stalls_and_slower)
{
    struct tp_test_rng rng = tp_test_rng("stalls");
    struct tp_pace pace = tp_pace_begin();
    live(&pace, &rng, 200, 1, 50); /* two stretches in a hundred take a thousand times as long */
    ck_assert(is_near(pace.turn_ns, (double)turn_ns, 25));
    ck_assert(is_near(tp_pace_ns(&pace, 1, 1, 8), (double)took(1, 1, 8), 25));
    live(&pace, &rng, 1, 3, 0); /* one tick on a machine that is slower all of a sudden */
    ck_assert(tp_pace_ns(&pace, 1, 1, 8) > 2.5 * (double)took(1, 1, 8));
}
END_TEST

START_TEST(test_holds)
{
    struct tp_pace pace = {.turn_ns = 200, .search_ns = 4000, .expansion_ns = 100, .portion = 4, .answer_ns = 50};
    ck_assert_uint_eq(tp_pace_expansions(&pace, 0, 10, 10), 0);
    ck_assert_uint_eq(tp_pace_expansions(&pace, 5000, 10, 10), 10);    /* one search */
    ck_assert_uint_eq(tp_pace_expansions(&pace, 500000, 1000, 10), 1000); /* a hundred of them */
    ck_assert_uint_eq(tp_pace_expansions(&pace, 500000, 10, 10), 4600);  /* ten, and all that is left */
    ck_assert_uint_eq(tp_pace_expansions(&pace, 500000, 0, 1), 5000);
}
END_TEST

START_TEST(test_portions)
{
    struct tp_pace pace = {.turn_ns = 200, .search_ns = 4000, .expansion_ns = 100, .portion = 4, .answer_ns = 50};
    for (int i = 0; i < 50; i++)
        tp_pace_learn_portion(&pace, 600, 100);
    ck_assert(pace.portion == 16); /* all have some soon enough: as much as is looked at the clock for */
    for (int i = 0; i < 50; i++)
        tp_pace_learn_portion(&pace, 600, 99);
    ck_assert(pace.portion == 4); /* out of reach: a few */
    pace.search_ns = 10;
    tp_pace_learn_portion(&pace, 600, 100);
    ck_assert(pace.portion == 1); /* taking up a search costs nothing */
    tp_pace_learn_answer(&pace, 15, 1000000);
    ck_assert(pace.answer_ns == 50);
    tp_pace_learn_answer(&pace, 100, 100000000);
    ck_assert(pace.answer_ns > 50 && pace.answer_ns < 100);
}
END_TEST

static Suite *pace_suite(void)
{
    Suite *suite = suite_create("pace");
    TCase *cases = tcase_create("pace");
    tcase_add_test(cases, test_apart);
    tcase_add_test(cases, test_stalls_and_slower);
    tcase_add_test(cases, test_holds);
    tcase_add_test(cases, test_portions);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_pace", pace_suite);
}
