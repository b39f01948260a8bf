/* The source of a loop's slabs, under a pool and by itself: what it keeps, what it lets go of, and that steady ticks wait for no memory. */
#define _DEFAULT_SOURCE
#include "daemon/serve/slabs.h"
#include "search/session.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LOOKS_MOST = 2000 }; /* 40 seconds' worth */

/* Looks, and touches what is to be, as another thread would. */
static void look(struct tp_slabs *slabs)
{
    void *ahead = tp_slabs_look(slabs);
    if (ahead == NULL)
        return;
    tp_slabs_touch(ahead);
    tp_slabs_touched(slabs, ahead);
}

/* Looks until nothing is kept; gives how many looks it took. */
static int look_until_nothing_is_kept(struct tp_slabs *slabs)
{
    int looks = 0;
    for (; slabs->kept > 0 && looks < LOOKS_MOST; looks++)
        look(slabs);
    ck_assert_uint_eq(slabs->kept, 0);
    return looks;
}

static void cap_init(struct tp_pool_cap *cap, uint64_t bytes_max)
{
    *cap = (struct tp_pool_cap){.bytes_max = bytes_max};
}

/* Slabs are aligned, apart from each other and writable; those put back are given again; what is in use and what is kept counts under the cap. */
START_TEST(test_slabs_given_and_put_back)
{
    enum { SLABS = 3 * TP_SLABS_OF_REGION + 5, ROUNDS = 20000 };
    static char *held[SLABS];
    uint64_t seed = tp_test_seed();
    struct tp_test_rng rng = {seed};
    struct tp_slabs slabs;
    struct tp_pool_cap cap;
    cap_init(&cap, UINT64_MAX);
    tp_slabs_init(&slabs, &cap);
    const struct tp_pool_source *source = &slabs.source;
    size_t count = 0;
    memset(held, 0, sizeof held);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t i = tp_test_below(&rng, SLABS);
        /* it grows and shrinks: now most calls get, now most put */
        bool gets = tp_test_percent(&rng, round / 2000 % 2 ? 20 : 80);
        if (gets && held[i] == NULL) {
            held[i] = source->get(source->context);
            if (held[i] == NULL || (uintptr_t)held[i] % TP_POOL_SLAB_BYTES != 0)
                ck_abort_msg("no slab, or one that is not aligned");
            memset(held[i], (int)i, 64);
            held[i][TP_POOL_SLAB_BYTES - 1] = (char)i;
            count++;
        } else if (!gets && held[i] != NULL) {
            for (int at = 0; at < 64; at++)
                if (held[i][at] != (char)i || held[i][TP_POOL_SLAB_BYTES - 1] != (char)i)
                    ck_abort_msg("slab %u was written by another", i);
            source->put(source->context, held[i]);
            held[i] = NULL;
            count--;
        }
        if (round % 100 == 0)
            look(&slabs);
        if (slabs.used != count || slabs.count * TP_SLABS_OF_REGION < count + slabs.kept || cap.bytes != (count + slabs.kept) * TP_POOL_SLAB_BYTES)
            ck_abort_msg("round %d: %zu slabs are out, %u counted, %u kept", round, count, slabs.used, slabs.kept);
    }
    for (size_t i = 0; i < SLABS; i++)
        if (held[i] != NULL)
            source->put(source->context, held[i]);
    look_until_nothing_is_kept(&slabs);
    ck_assert_uint_eq(slabs.count, 0);
    ck_assert_uint_eq(cap.bytes, 0);
    tp_slabs_fini(&slabs);
}
END_TEST

/* A pool over it gives what it always gives, and puts all back at its end. */
START_TEST(test_slabs_under_a_pool)
{
    enum { BLOCKS = 4000 };
    static void *block[BLOCKS];
    struct tp_slabs slabs;
    struct tp_pool pool;
    tp_slabs_init(&slabs, NULL);
    tp_pool_init(&pool, NULL);
    pool.source = &slabs.source;
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = tp_pool_get(&pool, 2048);
        ck_assert_ptr_nonnull(block[i]);
        memset(block[i], 1, 2048);
    }
    ck_assert_uint_ge(slabs.count, BLOCKS * 2048 / TP_SLABS_REGION_BYTES);
    for (size_t i = 0; i < BLOCKS; i++)
        tp_pool_put(&pool, block[i], 2048);
    ck_assert_uint_eq(pool.slab_bytes, TP_POOL_SPARE_MAX * TP_POOL_SLAB_BYTES);
    tp_pool_fini(&pool);
    ck_assert_uint_eq(slabs.used, 0);
    tp_slabs_fini(&slabs);
}
END_TEST

/* Pages of a region that are resident. */
static size_t resident_pages(const char *slab)
{
    enum { PAGES = TP_SLABS_REGION_BYTES / 4096 };
    unsigned char is[PAGES];
    char *region = (char *)slab - ((uintptr_t)slab & (TP_SLABS_REGION_BYTES - 1));
    size_t count = 0;
    if (mincore(region, TP_SLABS_REGION_BYTES, is) != 0)
        ck_abort_msg("mincore");
    for (size_t i = 0; i < PAGES; i++)
        count += is[i] & 1;
    return count;
}

/* After a peak what was in use is kept for a while, for the next search, and then goes back, though a slab of each region stays in use; whoever is at
 * work between takes no memory from the system. */
START_TEST(test_footprint_falls_after_a_peak)
{
    enum { REGIONS = 20, SLABS = REGIONS * TP_SLABS_OF_REGION, PAGES_OF_SLAB = TP_POOL_SLAB_BYTES / 4096 };
    static char *slab[SLABS];
    struct tp_slabs slabs;
    struct tp_pool_cap cap;
    cap_init(&cap, UINT64_MAX);
    tp_slabs_init(&slabs, &cap);
    const struct tp_pool_source *source = &slabs.source;
    for (size_t i = 0; i < SLABS; i++) {
        if ((slab[i] = source->get(source->context)) == NULL)
            ck_abort_msg("no slab");
        memset(slab[i], 1, TP_POOL_SLAB_BYTES);
    }
    uint64_t most = cap.bytes;
    ck_assert_uint_ge(most, (uint64_t)SLABS * TP_POOL_SLAB_BYTES);
    for (int round = 0; round < TP_SLABS_SECOND_LOOKS; round++) {
        for (size_t i = 0; i < SLABS; i++)
            if (i % TP_SLABS_OF_REGION > 0)
                source->put(source->context, slab[i]);
        ck_assert_uint_eq(cap.bytes, most);
        for (size_t i = 0; i < SLABS; i++)
            if (i % TP_SLABS_OF_REGION > 0)
                slab[i] = source->get(source->context);
        ck_assert_uint_eq(cap.bytes, most);
        look(&slabs);
        ck_assert_uint_ge(cap.bytes, (uint64_t)SLABS * TP_POOL_SLAB_BYTES);
        most = cap.bytes; /* that which was kept for growth goes */
    }
    for (size_t i = 0; i < SLABS; i++)
        if (i % TP_SLABS_OF_REGION > 0)
            source->put(source->context, slab[i]);
    look(&slabs);
    ck_assert_uint_ge(cap.bytes, most * 9 / 10); /* a bounded amount a look */
    int looks = look_until_nothing_is_kept(&slabs);
    printf("%d MiB were let go of in %.1f seconds\n", REGIONS * 2, looks / (double)TP_SLABS_SECOND_LOOKS);
    ck_assert_int_ge(looks, TP_SLABS_SECOND_LOOKS);
    ck_assert_int_le(looks, 10 * TP_SLABS_SECOND_LOOKS);
    ck_assert_uint_eq(cap.bytes, (uint64_t)REGIONS * TP_POOL_SLAB_BYTES);
    size_t pages = 0;
    for (size_t i = 0; i < SLABS; i += TP_SLABS_OF_REGION) {
        pages += resident_pages(slab[i]);
        ck_assert_int_eq(slab[i][TP_POOL_SLAB_BYTES - 1], 1);
    }
    ck_assert_uint_le(pages, REGIONS * PAGES_OF_SLAB);
    for (size_t i = 0; i < SLABS; i += TP_SLABS_OF_REGION)
        source->put(source->context, slab[i]);
    look_until_nothing_is_kept(&slabs);
    ck_assert_uint_eq(slabs.count, 0);
    tp_slabs_fini(&slabs);
}
END_TEST

/* Two under a cap never hold more than it together, though one keeps all that it had; the other gets it when it asks. */
START_TEST(test_kept_memory_is_for_whoever_asks)
{
    enum { SLABS = 3 * TP_SLABS_OF_REGION + 5, LOOKS = 20 };
    static void *slab[SLABS + 1];
    struct tp_slabs one, two;
    struct tp_pool_cap cap;
    cap_init(&cap, (uint64_t)SLABS * TP_POOL_SLAB_BYTES);
    tp_slabs_init(&one, &cap);
    tp_slabs_init(&two, &cap);
    size_t count = 0;
    while (count <= SLABS && (slab[count] = one.source.get(&one)) != NULL)
        count++;
    ck_assert_uint_le(cap.bytes, cap.bytes_max);
    ck_assert_uint_eq(count, SLABS); /* all of it is to be had, though no region fits in the last bit */
    for (size_t i = 0; i < SLABS; i++)
        one.source.put(&one, slab[i]);
    look(&one); /* it saw its own refusals */
    for (size_t i = 0; i < TP_SLABS_OF_REGION; i++)
        slab[i] = one.source.get(&one);
    count = TP_SLABS_OF_REGION;
    for (int i = 0; i < LOOKS; i++) {
        while (count < SLABS && (slab[count] = two.source.get(&two)) != NULL)
            count++;
        ck_assert_uint_le(cap.bytes, cap.bytes_max);
        look(&one);
        look(&two);
    }
    ck_assert_uint_eq(count, SLABS);
    for (size_t i = 0; i < SLABS; i++)
        i < TP_SLABS_OF_REGION ? one.source.put(&one, slab[i]) : two.source.put(&two, slab[i]);
    tp_slabs_fini(&one);
    tp_slabs_fini(&two);
    ck_assert_uint_eq(cap.bytes, 0);
}
END_TEST

/* Once more and more is in use, the next region is there before it is asked for, and touched. */
START_TEST(test_growth_is_foreseen)
{
    enum { SLABS = 10 * TP_SLABS_OF_REGION, A_LOOK = 3 };
    static char *slab[SLABS];
    struct tp_slabs slabs;
    size_t foreseen = 0;
    tp_slabs_init(&slabs, NULL);
    for (size_t i = 0; i < SLABS; i++) {
        uint32_t kept = slabs.kept;
        if ((slab[i] = slabs.source.get(&slabs)) == NULL)
            ck_abort_msg("no slab");
        foreseen += kept > 0 && resident_pages(slab[i]) == TP_SLABS_REGION_BYTES / 4096;
        memset(slab[i], 1, TP_POOL_SLAB_BYTES);
        if (i % A_LOOK == 0)
            look(&slabs);
    }
    ck_assert_uint_ge(foreseen, 8 * TP_SLABS_OF_REGION);
    for (size_t i = 0; i < SLABS; i++)
        slabs.source.put(&slabs, slab[i]);
    look_until_nothing_is_kept(&slabs);
    tp_slabs_fini(&slabs);
}
END_TEST

/* While a region is being touched there is no other, it counts under the cap, and what is asked for meanwhile is found elsewhere. */
START_TEST(test_one_region_is_touched_at_a_time)
{
    enum { SLABS = 4 * TP_SLABS_OF_REGION };
    static char *slab[SLABS];
    struct tp_slabs slabs;
    struct tp_pool_cap cap;
    void *ahead = NULL;
    size_t times = 0;
    cap_init(&cap, UINT64_MAX);
    tp_slabs_init(&slabs, &cap);
    for (size_t i = 0; i < SLABS; i++) {
        if ((slab[i] = slabs.source.get(&slabs)) == NULL)
            ck_abort_msg("no slab");
        void *more = tp_slabs_look(&slabs);
        ck_assert(more == NULL || ahead == NULL);
        times += more != NULL;
        ahead = more != NULL ? more : ahead;
        ck_assert(ahead == NULL || slab[i] < (char *)ahead || slab[i] >= (char *)ahead + TP_SLABS_REGION_BYTES);
        uint64_t held = (uint64_t)(slabs.used + slabs.kept) * TP_POOL_SLAB_BYTES;
        ck_assert_uint_eq(cap.bytes, held + (ahead != NULL ? TP_SLABS_REGION_BYTES : 0));
    }
    ck_assert_uint_eq(times, 1);
    tp_slabs_touch(ahead);
    tp_slabs_touched(&slabs, ahead);
    ck_assert_uint_eq(cap.bytes, (uint64_t)(slabs.used + slabs.kept) * TP_POOL_SLAB_BYTES);
    for (size_t i = 0; i < SLABS; i++)
        slabs.source.put(&slabs, slab[i]);
    look_until_nothing_is_kept(&slabs);
    tp_slabs_fini(&slabs);
    ck_assert_uint_eq(cap.bytes, 0);
}
END_TEST

#ifndef TP_TEST_SANITIZED
/* ---- Ticks ---- */

/* A source over another that counts the slabs whose memory the system has still to find, for the tick that writes to them waits for that: where more are
 * in use than ever, and where as many were before. */
struct counting {
    struct tp_pool_source source;
    struct tp_slabs slabs;
    uint32_t most;
    uint64_t grown, again;
};

static void *counting_get(void *context)
{
    struct counting *counting = context;
    unsigned char in[TP_POOL_SLAB_BYTES / 4096];
    void *slab = counting->slabs.source.get(&counting->slabs);
    bool is_cold = slab != NULL && mincore(slab, TP_POOL_SLAB_BYTES, in) == 0 && !(in[0] & 1); /* its head is written to whenever it is in use */
    bool is_more = counting->slabs.used > counting->most;
    counting->most += is_more;
    counting->grown += is_cold && is_more;
    counting->again += is_cold && !is_more;
    return slab;
}

static void counting_put(void *context, void *slab)
{
    struct counting *counting = context;
    counting->slabs.source.put(&counting->slabs, slab);
}

/* Agents that go to and fro: their trees are put back while they walk, and grow anew. */
START_TEST(test_steady_ticks_wait_for_no_memory)
{
    enum { SIDE = 128, AGENTS = 30, TRIPS = 12, TICKS = SIDE + 60, TICKS_A_LOOK = 5 };
    static uint8_t cells[SIDE * SIDE];
    static struct tp_session *sessions[AGENTS];
    struct tp_map *map;
    struct counting counting = {.source = {.get = counting_get, .put = counting_put, .context = &counting}};
    struct tp_pool pool;
    struct tp_profile profile;
    struct tp_test_rng rng = tp_test_rng("cold");
    for (size_t i = 0; i < sizeof cells; i++)
        cells[i] = i % SIDE == 0 || i % SIDE == SIDE - 1 || !tp_test_percent(&rng, 10) ? '.' : '@';
    tp_profile_init_movingai(&profile);
    ck_assert_int_eq(tp_map_build(&map, SIDE, SIDE, cells, &profile, 1), 0);
    tp_slabs_init(&counting.slabs, NULL);
    tp_pool_init(&pool, NULL);
    pool.source = &counting.source;
    for (uint32_t i = 0; i < AGENTS; i++) {
        struct tp_session_params params;
        struct tp_refusal refusal;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("tbwa");
        params.budget = tp_budget_k(1000);
        params.start = i * 4 * SIDE;
        params.goal = i * 4 * SIDE + SIDE - 1;
        ck_assert_int_eq(tp_session_open(&sessions[i], &params, map, &pool, &refusal), 0);
    }
    uint64_t grown[TRIPS] = {0};
    for (uint32_t trip = 0; trip < TRIPS; trip++) {
        for (uint32_t i = 0; trip > 0 && i < AGENTS; i++)
            ck_assert_int_eq(tp_session_retarget(sessions[i], i * 4 * SIDE + (trip % 2 ? 0 : SIDE - 1)), 0);
        for (int tick = 0; tick < TICKS; tick++) {
            uint64_t before = counting.grown;
            for (size_t i = 0; i < AGENTS; i++) {
                struct tp_tick_reply reply;
                tp_session_tick(sessions[i], map, NULL, &reply);
            }
            grown[trip] += counting.grown - before;
            if (tick % TICKS_A_LOOK == 0) /* what none asks for in seconds goes: not so between these trips */
                look(&counting.slabs);
        }
    }
    for (int trip = 0; trip < TRIPS; trip++)
        printf("trip %d: %" PRIu64 " slabs more\n", trip, grown[trip]);
    ck_assert_uint_gt(grown[0], 0);
    ck_assert_uint_eq(counting.again, 0);
    for (size_t i = 0; i < AGENTS; i++)
        tp_session_close(sessions[i]);
    tp_pool_fini(&pool);
    tp_slabs_fini(&counting.slabs);
    tp_map_unref(map);
}
END_TEST
#endif

/* A loop that grows where the cap has no room for another region takes slab by slab, or nothing ahead, and is refused nothing: what another
 * keeps stays, and so does what it has itself. */
START_TEST(a_region_without_room_takes_from_nobody)
{
    enum { OTHERS = 60, BACK = 40, GROWN = 36 };
    struct tp_pool_cap small = {.bytes_max = 150 * (uint64_t)TP_POOL_SLAB_BYTES};
    struct tp_slabs grows, keeps;
    void *others[OTHERS], *grown[GROWN];
    tp_slabs_init(&grows, &small);
    tp_slabs_init(&keeps, &small);
    for (int i = 0; i < OTHERS; i++)
        ck_assert_ptr_nonnull(others[i] = keeps.source.get(&keeps));
    for (int i = 0; i < BACK; i++)
        keeps.source.put(&keeps, others[OTHERS - 1 - i]);
    uint32_t kept = keeps.kept;
    for (int i = 0; i < GROWN; i++) {
        ck_assert_ptr_nonnull(grown[i] = grows.source.get(&grows));
        void *ahead = tp_slabs_look(&grows);
        if (ahead != NULL)
            tp_slabs_touched(&grows, ahead);
        ck_assert_ptr_null(tp_slabs_look(&keeps));
        ck_assert_uint_eq(atomic_load(&small.refused), 0);
        ck_assert_uint_eq(keeps.kept, kept);
    }
    ck_assert_uint_eq(grows.kept, 2 * TP_SLABS_OF_REGION - GROWN);
    for (int i = 0; i < GROWN; i++)
        grows.source.put(&grows, grown[i]);
    for (int i = 0; i < OTHERS - BACK; i++)
        keeps.source.put(&keeps, others[i]);
    tp_slabs_fini(&grows);
    tp_slabs_fini(&keeps);
    ck_assert_uint_eq(atomic_load(&small.bytes), 0);
}
END_TEST

static Suite *slabs_suite(void)
{
    Suite *suite = suite_create("slabs");
    TCase *cases = tcase_create("slabs");
    tcase_add_test(cases, a_region_without_room_takes_from_nobody);
    tcase_add_test(cases, test_slabs_given_and_put_back);
    tcase_add_test(cases, test_slabs_under_a_pool);
    tcase_add_test(cases, test_footprint_falls_after_a_peak);
    tcase_add_test(cases, test_kept_memory_is_for_whoever_asks);
    tcase_add_test(cases, test_growth_is_foreseen);
    tcase_add_test(cases, test_one_region_is_touched_at_a_time);
#ifndef TP_TEST_SANITIZED
    tcase_add_test(cases, test_steady_ticks_wait_for_no_memory);
#endif
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_slabs", slabs_suite);
}
