/* One mishap after the other, drawn at random, each of which takes the log or a part of it away while a daemon lives that has applied
 * it: whatever the order, all that was acknowledged is on both daemons after each, and both are equal. The epoch may be another one where
 * the log went on without a daemon; without that it stays. */
#include "tests/lib/harness.h"
#include "tests/lib/shared.h"

#include <stdio.h>
#include <string.h>

static struct tp_test_rng rng;
static bool may_begin_anew; /* the log went on without changes that were acknowledged */

static void flush(void)
{
    const char *got = test_redis_ask(&shared.redis, 1, (const char *[]){"FLUSHALL"});
    ck_assert_str_eq(got, "OK");
}

static void empty(void)
{
    test_redis_kill(&shared.redis);
    shared_empty(&shared.redis);
    test_redis_start(&shared.redis);
}

static void lose_all(void)
{
    if (tp_test_percent(&rng, 50))
        flush();
    else
        empty();
}

static void change_some(int i)
{
    uint32_t count = 1 + tp_test_below(&rng, 6);
    for (uint32_t n = 0; n < count; n++)
        shared_change(i);
}

/* The log goes, under changes. */
static void lost(int i)
{
    change_some(i);
    change_some(!i);
    shared_resend(i);
    lose_all();
    change_some(i);
    change_some(!i);
}

/* The one that lives alone puts it back; the other comes to it. */
static void lost_with_one_dead(int i)
{
    shared_kill(i);
    change_some(!i);
    lose_all();
    change_some(!i);
    shared_start(i);
}

/* One of them is silent for a while, and finds the log put back by the other. */
static void lost_with_one_silent(int i)
{
    shared_freeze(i);
    change_some(!i);
    lose_all();
    shared_change_until_well(!i);
    change_some(!i);
    shared_thaw(i);
}

/* What one of them acknowledged the other never saw; the log goes, and goes on with the other's alone. */
static void gone_on_without(int i)
{
    proxy_hold(&shared.proxy[!i], true);
    change_some(i);
    shared_freeze(i);
    flush(); /* its connections stay, so that the other one has no reason to wait */
    proxy_hold(&shared.proxy[!i], false);
    shared_change_until_well(!i);
    change_some(!i);
    may_begin_anew = true;
    shared_thaw(i);
}

/* The log is trimmed beyond where one of them stands. */
static void trimmed_away(int i)
{
    shared_freeze(i);
    for (int n = 0; n < 25; n++)
        shared_change(!i);
    shared_thaw(i);
}

static void cut(int i)
{
    proxy_cut_after(&shared.proxy[i], tp_test_percent(&rng, 50) ? PROXY_THERE : PROXY_BACK,
                    1 + tp_test_below(&rng, 600));
    change_some(i);
    lose_all();
    change_some(!i);
}

static void (*const mishap[])(int i) = {
    lost, lost_with_one_dead, lost_with_one_silent, gone_on_without, trimmed_away, cut};
static const char *const mishap_name[] = {
    "lost", "lost with one dead", "lost with one silent", "gone on without", "trimmed away", "cut and lost"};

/* Both have everything; gives whether they are in another epoch than before. */
static bool expect_all(void)
{
    for (int i = 0; i < SHARED_DAEMONS; i++)
        shared_wait_well(i);
    for (int i = 0; i < SHARED_DAEMONS; i++)
        shared_change_until_well(i);
    for (int i = 0; i < SHARED_DAEMONS; i++)
        shared_resend(i);
    shared_expect_equal();
    uint64_t epoch, version;
    shared_place(0, &epoch, &version);
    bool is_anew = epoch != shared.epoch;
    ck_assert_msg(!is_anew || may_begin_anew, "a new epoch, and nothing acknowledged was missing in the log");
    shared.epoch = epoch;
    shared.is_anew |= is_anew;
    shared.version_most = version;
    may_begin_anew = false;
    return is_anew;
}

START_TEST(test_one_after_the_other)
{
    rng = tp_test_rng("mishaps");
    strcpy(shared.fold_batches, "8");
    shared_start_all();
    for (int i = 0; i < SHARED_DAEMONS; i++)
        ticker_stop(&shared.ticker[i]);
    uint64_t rounds = tp_test_steps(8, 30);
    for (uint64_t round = 0; round < rounds; round++) {
        uint32_t which = tp_test_below(&rng, sizeof mishap / sizeof *mishap);
        int i = (int)tp_test_below(&rng, SHARED_DAEMONS);
        printf("round %llu: %s, daemon %d\n", (unsigned long long)round, mishap_name[which], i);
        mishap[which](i);
        if (expect_all())
            printf("a new epoch\n");
    }
    for (int i = 0; i < SHARED_DAEMONS; i++)
        shared_stop(i);
}
END_TEST

static Suite *fleet_mishaps_suite(void)
{
    Suite *suite = suite_create("fleet_mishaps");
    TCase *cases = tcase_create("fleet_mishaps");
    tcase_add_checked_fixture(cases, shared_begin, shared_end);
    tcase_set_timeout(cases, tp_test_long() ? 600 : 140);
    tcase_add_test(cases, test_one_after_the_other);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_fleet_mishaps", fleet_mishaps_suite);
}
