/* The dealing of a shared total (daemon/serve/share.h): against a model that credits instant by instant, and what it promises, over any
 * window of deals and whoever else asks. */
#include "daemon/serve/share.h"
#include "tests/lib/harness.h"

#include <stdlib.h>
#include <string.h>

enum { CLAIMS = 40 };

static uint64_t sum_of(const struct tp_claim *claims, size_t count, bool caps)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += caps ? claims[i].cap : claims[i].slice;
    return sum;
}

/* ---- The model: everybody's credit rises at once, by one instant after the other ---- */

static uint64_t model_due(const struct tp_claim *claim, uint64_t credit)
{
    uint64_t units = (claim->owed + claim->priority * credit) / TP_SHARE_UNIT;
    return units > claim->cap ? claim->cap : units;
}

static void model_deal(struct tp_claim *claims, size_t count, uint64_t total)
{
    uint64_t caps = sum_of(claims, count, true), credit = 0, left = total, slices[CLAIMS] = {0};
    if (caps <= total) {
        for (size_t i = 0; i < count; i++)
            slices[i] = claims[i].cap;
    } else {
        for (bool full = false; !full; credit++) /* the front of the round first, at each instant */
            for (size_t i = 0; i < count; i++)
                while (slices[i] < model_due(&claims[i], credit) && !(full = left == 0)) {
                    slices[i]++;
                    left--;
                }
        credit--;
    }
    for (size_t i = 0; i < count; i++) {
        struct tp_claim *claim = &claims[i];
        claim->slice = slices[i];
        if (claim->priority == 0)
            continue;
        uint64_t all = claim->owed + claim->priority * credit;
        claim->owed = claim->slice == claim->cap ? all % TP_SHARE_UNIT : all - claim->slice * TP_SHARE_UNIT;
    }
}

static void draw_claims(struct tp_test_rng *rng, struct tp_claim *claims, size_t count, uint32_t priority_max,
                        uint32_t cap_max)
{
    memset(claims, 0, count * sizeof claims[0]);
    for (size_t i = 0; i < count; i++) {
        claims[i].owed = tp_test_below(rng, tp_test_percent(rng, 20) ? 5 * TP_SHARE_UNIT : TP_SHARE_UNIT);
        if (tp_test_percent(rng, 10))
            continue; /* does not ask */
        claims[i].priority = tp_test_between(rng, 1, priority_max);
        claims[i].cap = tp_test_between(rng, 1, cap_max);
    }
}

START_TEST(test_as_the_model)
{
    struct tp_test_rng rng = tp_test_rng("model");
    for (uint64_t round = 0, rounds = tp_test_steps(1500, 100000); round < rounds; round++) {
        struct tp_claim claims[CLAIMS], model[CLAIMS];
        size_t count = tp_test_between(&rng, 1, CLAIMS);
        draw_claims(&rng, claims, count, tp_test_percent(&rng, 50) ? 255 : 3,
                    tp_test_percent(&rng, 50) ? 200 : 5);
        for (int deal = 0; deal < 5; deal++) {
            uint64_t total = tp_test_below(&rng, tp_test_percent(&rng, 50) ? 10 : 300);
            memcpy(model, claims, sizeof model);
            uint64_t caps = sum_of(claims, count, true);
            uint64_t dealt = tp_share_deal(claims, count, total);
            model_deal(model, count, total);
            ck_assert_uint_eq(dealt, total < caps ? total : caps);
            ck_assert_uint_eq(dealt, sum_of(claims, count, false));
            for (size_t i = 0; i < count; i++)
                if (claims[i].slice != model[i].slice)
                    ck_abort_msg("deal %d of %llu: claim %zu gets %llu, by the model %llu", deal,
                                 (unsigned long long)total, i, (unsigned long long)claims[i].slice,
                                 (unsigned long long)model[i].slice);
            for (size_t i = 0; i < count; i++)
                if (total > 0 && claims[i].owed != model[i].owed)
                    ck_abort_msg("deal %d of %llu: claim %zu is owed %llu, by the model %llu", deal,
                                 (unsigned long long)total, i, (unsigned long long)claims[i].owed,
                                 (unsigned long long)model[i].owed);
        }
    }
}
END_TEST

/* ---- The promises ---- */

struct line {
    uint64_t got, since;   /* units; deals in which it asked without a break, */
    uint64_t start_got[3]; /* what it had at the starts of the windows */
    uint64_t dry,
        others; /* deals without a unit; who else asked while it was dry, at most: priorities and heads */
    uint64_t heads;
};

/* Windows begin at deals of their own; who did not ask all through them, or was at its cap, is not in them. */
struct field {
    struct tp_claim claims[CLAIMS];
    struct line lines[CLAIMS];
    uint32_t priorities[CLAIMS];
    size_t count;
    uint64_t deals, starts[3];
};

static void open_windows(struct field *field, struct tp_test_rng *rng)
{
    for (int w = 0; w < 3; w++)
        if (tp_test_percent(rng, 2)) {
            field->starts[w] = field->deals;
            for (size_t i = 0; i < field->count; i++)
                field->lines[i].start_got[w] = field->lines[i].got;
        }
}

/* Within 17/16 units of the same credit: got_i / p_i and got_j / p_j. */
static void check_windows(const struct field *field)
{
    for (int w = 0; w < 3; w++)
        for (size_t i = 0; i < field->count; i++)
            for (size_t j = 0; j < i; j++) {
                const struct line *a = &field->lines[i], *b = &field->lines[j];
                uint64_t length = field->deals - field->starts[w];
                if (a->since < length || b->since < length)
                    continue;
                int64_t p = field->priorities[i], q = field->priorities[j];
                int64_t apart =
                    (int64_t)(a->got - a->start_got[w]) * q - (int64_t)(b->got - b->start_got[w]) * p;
                if (16 * llabs(apart) > 17 * (p + q))
                    ck_abort_msg("over %llu deals priorities %lld and %lld got %llu and %llu",
                                 (unsigned long long)length, (long long)p, (long long)q,
                                 (unsigned long long)(a->got - a->start_got[w]),
                                 (unsigned long long)(b->got - b->start_got[w]));
            }
}

/* Who asks on end gets a unit within 17/16 (P/p + n) / T deals, rounded up, and one: P and n of whoever asked meanwhile. */
static void check_dry(const struct field *field, const struct line *line, uint32_t priority, uint64_t total)
{
    (void)field;
    uint64_t most = 17 * (line->others + line->heads * priority) / (16 * priority * total) + 2;
    if (line->dry > most)
        ck_abort_msg("priority %u of %llu, %llu heads, total %llu: no unit in %llu deals", priority,
                     (unsigned long long)line->others, (unsigned long long)line->heads,
                     (unsigned long long)total, (unsigned long long)line->dry);
}

/* One deal among those who ask now, from a place in the round that changes. */
static void deal(struct field *field, const bool *asks, const uint64_t *caps, uint64_t total, size_t first)
{
    struct tp_claim round[CLAIMS];
    uint64_t priorities = 0, heads = 0;
    for (size_t i = 0; i < field->count; i++) {
        size_t at = (i + first) % field->count;
        round[i] = (struct tp_claim){.owed = field->claims[at].owed};
        if (!asks[at])
            continue;
        round[i].cap = caps[at];
        round[i].priority = field->priorities[at];
        priorities += field->priorities[at];
        heads++;
    }
    uint64_t dealt = tp_share_deal(round, field->count, total), all = sum_of(round, field->count, true);
    ck_assert_uint_eq(dealt, total < all ? total : all);
    field->deals++;
    for (size_t i = 0; i < field->count; i++) {
        size_t at = (i + first) % field->count;
        struct line *line = &field->lines[at];
        field->claims[at] = round[i];
        line->got += round[i].slice;
        if (round[i].slice > round[i].cap || round[i].owed * 16 > 17 * TP_SHARE_UNIT)
            ck_abort_msg("%llu of %llu dealt, %llu owed", (unsigned long long)round[i].slice,
                         (unsigned long long)round[i].cap, (unsigned long long)round[i].owed);
        line->since = asks[at] && round[i].slice < round[i].cap ? line->since + 1 : 0;
        bool is_dry = asks[at] && round[i].slice == 0;
        line->dry = is_dry ? line->dry + 1 : 0;
        line->others = !is_dry ? 0 : priorities > line->others ? priorities : line->others;
        line->heads = !is_dry ? 0 : heads > line->heads ? heads : line->heads;
        check_dry(field, line, field->priorities[at], total);
    }
    check_windows(field);
}

/* The total stays, the askers stay or come and go, caps hold some of them, the round begins anywhere. */
START_TEST(test_promises)
{
    struct tp_test_rng rng = tp_test_rng("promises");
    for (uint64_t run = 0, runs = tp_test_steps(60, 3000); run < runs; run++) {
        struct field field = {.count = tp_test_between(&rng, 2, CLAIMS)};
        bool asks[CLAIMS], comes_and_goes = tp_test_percent(&rng, 50), is_capped = tp_test_percent(&rng, 30);
        uint64_t caps[CLAIMS], total = tp_test_between(&rng, 1, tp_test_percent(&rng, 50) ? 4 : 200);
        uint32_t most = tp_test_percent(&rng, 30) ? 1 : 255;
        for (size_t i = 0; i < field.count; i++) {
            field.priorities[i] = tp_test_between(&rng, 1, most);
            asks[i] = true;
            caps[i] = is_capped ? tp_test_between(&rng, 1, 20) : TP_SHARE_MAX;
        }
        for (int step = 0; step < 300; step++) {
            open_windows(&field, &rng);
            for (size_t i = 0; comes_and_goes && i < field.count; i++)
                asks[i] ^= tp_test_percent(&rng, 2);
            deal(&field, asks, caps, total, tp_test_below(&rng, (uint32_t)field.count));
        }
    }
}
END_TEST

/* The largest numbers there are: nothing wraps. */
START_TEST(test_large)
{
    struct tp_claim claims[3] = {{.cap = TP_SHARE_MAX, .priority = 1, .owed = TP_SHARE_MAX * TP_SHARE_UNIT},
                                 {.cap = TP_SHARE_MAX, .priority = 255},
                                 {.cap = 1, .priority = 16}};
    ck_assert_uint_eq(tp_share_deal(claims, 3, 2 * TP_SHARE_MAX), 2 * TP_SHARE_MAX);
    ck_assert_uint_eq(claims[0].slice, TP_SHARE_MAX);
    ck_assert_uint_eq(claims[2].slice, 1);
    ck_assert_uint_eq(tp_share_deal(claims, 3, UINT64_MAX), 2 * TP_SHARE_MAX + 1);
    claims[0].owed = 0;
    ck_assert_uint_eq(tp_share_deal(claims, 3, 257), 257);
    ck_assert_uint_eq(claims[0].slice + claims[1].slice, 256);
    ck_assert_uint_le(claims[0].slice, 2);
    ck_assert_uint_eq(tp_share_deal(claims, 3, 0), 0);
    ck_assert_uint_eq(tp_share_deal(claims, 0, 5), 0);
}
END_TEST

static Suite *share_suite(void)
{
    Suite *suite = suite_create("share");
    TCase *cases = tcase_create("share");
    tcase_add_test(cases, test_as_the_model);
    tcase_add_test(cases, test_promises);
    tcase_add_test(cases, test_large);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_share", share_suite);
}
