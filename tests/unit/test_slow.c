/* The slowest ticks: against a plain list of all that were offered; read by a thread while they are written; the causes. */
#include "daemon/stats/slow.h"
#include "tests/lib/harness.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND_US = 1000000, OFFERS_MAX = 4000 };

static int slowest_first(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

static size_t waits_of(const struct tp_slow *slow, uint64_t now_us, uint64_t waits[TP_SLOW_TICKS])
{
    struct tp_slow_tick ticks[TP_SLOW_TICKS];
    size_t count = tp_slow_read(slow, now_us, ticks);
    for (size_t i = 0; i < count; i++)
        waits[i] = tp_slow_waited_us(&ticks[i]);
    qsort(waits, count, sizeof waits[0], slowest_first);
    return count;
}

/* While nothing is over what is kept is the slowest of all, to the last one. */
START_TEST(slowest_are_kept)
{
    struct tp_test_rng rng = tp_test_rng("slowest_are_kept");
    static struct tp_slow slow;
    static uint64_t all[OFFERS_MAX];
    for (size_t i = 0; i < OFFERS_MAX; i++) {
        struct tp_slow_tick tick = {.at_us = 1 + i, .queued_us = tp_test_below(&rng, 1000), .took_us = 1 + tp_test_below(&rng, 100000)};
        all[i] = tp_slow_waited_us(&tick);
        if (tp_slow_wants(&slow, all[i]))
            tp_slow_offer(&slow, &tick);
        if (i % 97 != 0 && i + 1 != OFFERS_MAX)
            continue;
        uint64_t kept[TP_SLOW_TICKS];
        static uint64_t sorted[OFFERS_MAX];
        size_t count = waits_of(&slow, tick.at_us, kept), due = i + 1 < TP_SLOW_TICKS ? i + 1 : TP_SLOW_TICKS;
        memcpy(sorted, all, (i + 1) * sizeof all[0]);
        qsort(sorted, i + 1, sizeof sorted[0], slowest_first);
        if (count != due || memcmp(kept, sorted, due * sizeof kept[0]) != 0)
            ck_abort_msg("after %zu ticks %zu are kept, not the slowest %zu", i + 1, count, due);
    }
}
END_TEST

/* What is ten minutes old makes room for what is faster, and is not told any more. */
START_TEST(old_ones_go)
{
    static struct tp_slow slow;
    uint64_t kept[TP_SLOW_TICKS];
    for (uint64_t i = 0; i < TP_SLOW_TICKS; i++)
        tp_slow_offer(&slow, &(struct tp_slow_tick){.at_us = (1 + i) * SECOND_US, .took_us = 1000 + i});
    uint64_t late_us = (uint64_t)(TP_SLOW_KEPT_SECONDS + 1) * SECOND_US;
    tp_slow_look(&slow, late_us - 1);
    ck_assert(!tp_slow_wants(&slow, 5));
    tp_slow_look(&slow, late_us);
    ck_assert(tp_slow_wants(&slow, 5));
    ck_assert_uint_eq(waits_of(&slow, late_us - 1, kept), TP_SLOW_TICKS);
    ck_assert_uint_eq(waits_of(&slow, late_us, kept), TP_SLOW_TICKS - 1);
    tp_slow_offer(&slow, &(struct tp_slow_tick){.at_us = late_us, .took_us = 5});
    ck_assert_uint_eq(waits_of(&slow, late_us, kept), TP_SLOW_TICKS);
    ck_assert_uint_eq(kept[TP_SLOW_TICKS - 1], 5);
    tp_slow_look(&slow, late_us);
    ck_assert(!tp_slow_wants(&slow, 5));
    ck_assert_uint_eq(waits_of(&slow, 10 * late_us, kept), 0);
}
END_TEST

/* What waited longer than the limit is offered though it is not among the slowest: it is to be told of. A new limit holds from the next tick on. */
START_TEST(limit_is_offered)
{
    static struct tp_slow slow;
    tp_slow_limit(&slow, 500);
    for (uint64_t i = 0; i < TP_SLOW_TICKS; i++)
        tp_slow_offer(&slow, &(struct tp_slow_tick){.at_us = 1 + i, .took_us = 1000 + i});
    ck_assert(!tp_slow_wants(&slow, 500));
    ck_assert(tp_slow_wants(&slow, 501));
    ck_assert(tp_slow_is_over(&slow, 501));
    ck_assert(!tp_slow_is_over(&slow, 500));
    tp_slow_offer(&slow, &(struct tp_slow_tick){.at_us = 100, .took_us = 501});
    uint64_t kept[TP_SLOW_TICKS];
    ck_assert_uint_eq(waits_of(&slow, 100, kept), TP_SLOW_TICKS);
    for (size_t i = 0; i < TP_SLOW_TICKS; i++)
        ck_assert_uint_ge(kept[i], 1000);
    ck_assert(tp_slow_wants(&slow, 501));

    tp_slow_limit(&slow, 5000);
    ck_assert(tp_slow_wants(&slow, 1)); /* to take it over */
    tp_slow_offer(&slow, &(struct tp_slow_tick){.at_us = 102, .took_us = 2000});
    ck_assert(!tp_slow_wants(&slow, 1001));
    ck_assert(tp_slow_wants(&slow, 1002));
    tp_slow_limit(&slow, 0);
    tp_slow_offer(&slow, &(struct tp_slow_tick){.at_us = 104, .took_us = 1});
    ck_assert(!tp_slow_is_over(&slow, UINT64_MAX));
}
END_TEST

static struct tp_slow shared;
static atomic_bool is_over;

/* All numbers of a tick are one number: a reader that sees two has read half of one. */
static void *write_all(void *context)
{
    (void)context;
    for (uint64_t n = 1; !atomic_load(&is_over); n++) {
        struct tp_slow_tick tick;
        uint64_t *words = (uint64_t *)&tick;
        for (size_t i = 0; i < sizeof tick / sizeof *words; i++)
            words[i] = n;
        tp_slow_offer(&shared, &tick);
    }
    return NULL;
}

START_TEST(readers_see_whole_ticks)
{
    pthread_t writer;
    enum { READS = 20000 };
    size_t seen = 0;
    uint64_t last = 0, newest = 0;
    ck_assert_int_eq(pthread_create(&writer, NULL, write_all, NULL), 0);
    for (int read = 0; read < READS || newest == 0; read++) {
        struct tp_slow_tick ticks[TP_SLOW_TICKS];
        size_t count = tp_slow_read(&shared, 0, ticks);
        seen += count;
        newest = 0;
        for (size_t t = 0; t < count; t++) {
            const uint64_t *words = (const uint64_t *)&ticks[t];
            for (size_t i = 1; i < sizeof ticks[t] / sizeof *words; i++)
                if (words[i] != words[0])
                    ck_abort_msg("a tick of %llu has %llu", (unsigned long long)words[0], (unsigned long long)words[i]);
            newest = words[0] > newest ? words[0] : newest;
        }
        last = newest > last ? newest : last;
    }
    atomic_store(&is_over, true);
    pthread_join(writer, NULL);
    ck_assert_uint_gt(seen, 0);
    ck_assert_uint_gt(last, TP_SLOW_TICKS);
}
END_TEST

/* Each cause alone, and all that apply with the heaviest first. */
START_TEST(causes_are_named)
{
    static const struct {
        struct tp_slow_tick tick;
        const char *why[3];
    } cases[] = {
        {{.took_us = 100, .sessions = 10}, {"processor"}},
        {{.queued_us = 90, .world_us = 90, .took_us = 10, .sessions = 10}, {"store"}},
        {{.queued_us = 90, .took_us = 10, .sessions = 10}, {"queue"}},
        {{.queued_us = 90, .world_us = 45, .took_us = 10, .sessions = 10}, {"store", "queue"}},
        {{.took_us = 100, .sessions = 10, .memory_bytes = 65536}, {"memory"}},
        {{.took_us = 100, .sessions = 10, .restarts = 5, .versions = 1}, {"versions"}},
        {{.took_us = 100, .sessions = 10, .restarts = 5}, {"restarts"}},
        {{.took_us = 100, .sessions = 10, .expansions = 1000}, {"search"}},
        {{.took_us = 100, .sessions = 10, .guide_expansions = 1000}, {"search"}},
        {{.took_us = 100, .sessions = 1000}, {"batch"}},
        {{.took_us = 100, .total_us = 99, .sessions = 10}, {"deadline"}},
        {{.took_us = 100, .total_us = 100, .sessions = 10}, {"processor"}},
        {{.queued_us = 50, .took_us = 50, .sessions = 1000, .expansions = 100000}, {"queue", "search", "batch"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum tp_slow_cause why[TP_SLOW_CAUSES];
        size_t count = tp_slow_why(&cases[i].tick, why), due = 0;
        while (due < 3 && cases[i].why[due] != NULL)
            due++;
        ck_assert_msg(count == due, "case %zu has %zu causes", i, count);
        for (size_t j = 0; j < due; j++)
            ck_assert_msg(strcmp(tp_slow_cause_name(why[j]), cases[i].why[j]) == 0, "case %zu: %s", i, tp_slow_cause_name(why[j]));
    }
}
END_TEST

static Suite *slow_suite(void)
{
    Suite *suite = suite_create("slow");
    TCase *core = tcase_create("core");
    tcase_add_test(core, slowest_are_kept);
    tcase_add_test(core, limit_is_offered);
    tcase_add_test(core, old_ones_go);
    tcase_add_test(core, readers_see_whole_ticks);
    tcase_add_test(core, causes_are_named);
    suite_add_tcase(suite, core);
    return suite;
}

int main(void)
{
    return tp_test_main("test_slow", slow_suite);
}
