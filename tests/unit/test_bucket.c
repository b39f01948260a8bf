/* The bucket list against a plain array: the same order, whatever the range of f, and memory that follows its entries. */
#include "open/bucket.h"

#include "tests/lib/harness.h"

#include <check.h>
#include <stdlib.h>

/* An entry of the plain list: the newest of the least bucket is the best. */
struct plain {
    uint64_t bucket, g, order;
    uint32_t state;
};

struct both {
    struct tp_bucket list;
    struct tp_pool pool;
    uint64_t bytes;
    bool wide;
    struct plain *plain;
    uint32_t count, room;
    uint64_t pushed, next; /* of those, said to come out next */
};

static void both_open(struct both *both, uint64_t h_factor, bool wide, uint64_t bytes_max)
{
    *both = (struct both){.wide = wide, .room = 4096};
    tp_pool_init(&both->pool, NULL);
    tp_bucket_init(&both->list, h_factor, wide, &both->pool, &both->bytes, bytes_max);
    both->plain = malloc(both->room * sizeof *both->plain);
}

static void both_close(struct both *both)
{
    tp_bucket_empty(&both->list);
    ck_assert_uint_eq(both->bytes, 0);
    ck_assert_uint_eq(both->pool.used_bytes, 0);
    tp_pool_fini(&both->pool);
    free(both->plain);
}

static bool both_push(struct both *both, uint64_t f, uint64_t g, uint32_t state)
{
    uint64_t bucket = tp_bucket_number(&both->list, f);
    if (!tp_bucket_reserve(&both->list, 1))
        return false;
    bool has_page = tp_bucket_prepare(&both->list, bucket), is_next = has_page && tp_bucket_is_next(&both->list, bucket);
    for (uint32_t i = 0; i < both->count && is_next; i++)
        if (both->plain[i].bucket < bucket)
            ck_abort_msg("bucket %llu is not next (TICKPATH_SEED=%llu)", (unsigned long long)bucket, (unsigned long long)tp_test_seed());
    both->next += is_next;
    if (has_page != (both->wide ? tp_bucket_push(&both->list, bucket, g, state, true)
                                    : tp_bucket_push(&both->list, bucket, g, state, false)))
        ck_abort_msg("a page that was there is not, or the other way round (TICKPATH_SEED=%llu)", (unsigned long long)tp_test_seed());
    if (!has_page)
        return false;
    if (both->count == both->room) {
        both->room *= 2;
        both->plain = realloc(both->plain, both->room * sizeof *both->plain);
    }
    both->plain[both->count++] = (struct plain){bucket, g, both->pushed++, state};
    return true;
}

/* Takes the best of both. */
static void both_pop(struct both *both)
{
    uint32_t best = 0, state;
    for (uint32_t i = 1; i < both->count; i++) {
        const struct plain *a = &both->plain[i], *b = &both->plain[best];
        if (a->bucket < b->bucket || (a->bucket == b->bucket && a->order > b->order))
            best = i;
    }
    struct plain expected = both->plain[best];
    both->plain[best] = both->plain[--both->count];
    uint64_t g, again;
    uint64_t bucket = both->wide ? tp_bucket_least(&both->list, &g, &state, true) : tp_bucket_least(&both->list, &g, &state, false);
    if (bucket != expected.bucket || g != expected.g || state != expected.state)
        ck_abort_msg("bucket %llu, g %llu, state %u, expected %llu, %llu, %u (TICKPATH_SEED=%llu)", (unsigned long long)bucket,
                     (unsigned long long)g, state, (unsigned long long)expected.bucket, (unsigned long long)expected.g,
                     expected.state, (unsigned long long)tp_test_seed());
    bool top = both->wide ? tp_bucket_top(&both->list, &again, &state, true) : tp_bucket_top(&both->list, &again, &state, false);
    ck_assert(top && again == g && state == expected.state);
    if (both->wide)
        tp_bucket_pop(&both->list, true);
    else
        tp_bucket_pop(&both->list, false);
    ck_assert_uint_eq(both->list.count, both->count);
}

/* f near a level that moves, now and then anywhere below the greatest. */
static uint64_t random_f(struct tp_test_rng *rng, uint64_t level, uint64_t spread, uint64_t greatest)
{
    uint64_t f = level + tp_test_next(rng) % spread; /* may wrap */
    return tp_test_percent(rng, 3) || f > greatest ? tp_test_next(rng) % greatest : f;
}

START_TEST(orders_as_a_plain_list_does)
{
    static const uint64_t greatest[] = {1000, 100000, 4000000, 1ull << 40, UINT64_MAX};
    struct tp_test_rng rng = tp_test_rng("order");
    uint64_t cases = tp_test_steps(40, 1000);
    for (uint64_t i = 0; i < cases; i++) {
        uint64_t most = greatest[i % 5], spread = 1 + (most - 1) / (1u << tp_test_below(&rng, 16)), level = 0;
        struct both both;
        both_open(&both, 1 + tp_test_below(&rng, 3000), i % 2, UINT64_MAX);
        for (uint32_t step = 0; step < 1500; step++) {
            if (tp_test_percent(&rng, 1)) {
                tp_bucket_clear(&both.list);
                both.count = 0;
            }
            if (tp_test_percent(&rng, 5))
                level = tp_test_next(&rng) % most;
            uint32_t pushes = tp_test_below(&rng, 4);
            for (uint32_t j = 0; j < pushes; j++)
                ck_assert(both_push(&both, random_f(&rng, level, spread, most), tp_test_next(&rng) >> 33, (uint32_t)tp_test_next(&rng)));
            for (uint32_t j = tp_test_below(&rng, 4); j && both.count; j--)
                both_pop(&both);
        }
        while (both.count)
            both_pop(&both);
        ck_assert(both_push(&both, 7, 7, 7)); /* an emptied list goes on */
        both_pop(&both);
        ck_assert(both.next > 0);
        both_close(&both);
    }
}
END_TEST

/* f only grows, over any range, while few entries are open: what is held stays small. */
START_TEST(memory_follows_the_entries)
{
    struct tp_test_rng rng = tp_test_rng("memory");
    struct both both;
    both_open(&both, 1, true, UINT64_MAX);
    uint64_t f = 0;
    for (uint32_t i = 0; i < 20000; i++, f += 1 + tp_test_next(&rng) % (1ull << 44)) {
        ck_assert(both_push(&both, f, i, i));
        if (both.count > 60)
            both_pop(&both);
    }
    ck_assert_uint_le(both.bytes, 60 * 10 * sizeof(struct tp_bucket_page) + 16384); /* as deep as 2^60 is, none shared */
    both_close(&both);
}
END_TEST

/* At its cap it says so, and all that it took is there still. */
START_TEST(at_the_cap_nothing_is_lost)
{
    struct tp_test_rng rng = tp_test_rng("cap");
    uint64_t cases = tp_test_steps(60, 2000), refused = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct both both;
        both_open(&both, 1, i % 2, 2048 * (1 + i % 12));
        for (uint32_t step = 0; step < 800; step++) {
            refused += !both_push(&both, tp_test_next(&rng) % (i % 3 ? 100000 : UINT64_MAX), tp_test_below(&rng, 1u << 30), step);
            if (both.count && tp_test_percent(&rng, 30))
                both_pop(&both);
            ck_assert_uint_le(both.bytes, 2048 * (1 + i % 12));
        }
        while (both.count)
            both_pop(&both);
        both_close(&both);
    }
    ck_assert(refused > 0);
}
END_TEST

/* What is said to come next comes next: peeked at, and listed; with nothing entered meanwhile. */
START_TEST(tells_what_comes_next)
{
    enum { LISTED = 12, BELOW_MAX = 3 };
    struct tp_test_rng rng = tp_test_rng("next");
    uint64_t cases = tp_test_steps(200, 5000), peeked = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct both both;
        both_open(&both, 1, i % 2, UINT64_MAX);
        uint32_t pushes = 1 + tp_test_below(&rng, 80), spread = 1 + tp_test_below(&rng, 100000);
        for (uint32_t j = 0; j < pushes; j++)
            ck_assert(both_push(&both, tp_test_below(&rng, spread), j, (uint32_t)tp_test_next(&rng)));
        while (both.count) {
            uint32_t listed[LISTED], next[LISTED], below = 1 + tp_test_below(&rng, BELOW_MAX), peek;
            uint64_t buckets[LISTED], g;
            bool wide = both.wide;
            (void)(wide ? tp_bucket_least(&both.list, &g, next, true) : tp_bucket_least(&both.list, &g, next, false));
            uint32_t count = tp_bucket_best(&both.list, listed, LISTED);
            bool is_there = wide ? tp_bucket_peek(&both.list, below, &peek, true) : tp_bucket_peek(&both.list, below, &peek, false);
            ck_assert_uint_ge(count, 1);
            tp_bucket_prefetch_pages(&both.list); /* which change nothing */
            tp_bucket_prefetch_chunks(&both.list);
            for (uint32_t j = 0; j < count; j++) {
                buckets[j] = wide ? tp_bucket_least(&both.list, &g, &next[j], true) : tp_bucket_least(&both.list, &g, &next[j], false);
                ck_assert_uint_eq(next[j], listed[j]);
                both_pop(&both);
            }
            uint32_t at = 1;
            while (at < count && at < below && buckets[at] == buckets[0])
                at++;
            if (at < count) {
                ck_assert(is_there);
                ck_assert_uint_eq(peek, next[at]);
                peeked++;
            }
        }
        both_close(&both);
    }
    ck_assert(peeked > 0);
}
END_TEST

static Suite *bucket_suite(void)
{
    Suite *suite = suite_create("bucket");
    TCase *tcase = tcase_create("list");
    tcase_set_timeout(tcase, tp_test_long() ? 600 : 60);
    tcase_add_test(tcase, orders_as_a_plain_list_does);
    tcase_add_test(tcase, memory_follows_the_entries);
    tcase_add_test(tcase, at_the_cap_nothing_is_lost);
    tcase_add_test(tcase, tells_what_comes_next);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_bucket", bucket_suite);
}
