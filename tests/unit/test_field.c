/* Goal fields against a plain Dijkstra over the same neighbours; what a session sees depends on its own paying alone; the cap. */
#include "guide/field_internal.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/plain_blocks.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_BYTES = 64 << 20, PAGE_BYTES = 2048 };

/* Everything that a view promises. */
static void check_view(const struct tp_field *field, const struct plain_ways *plain, uint64_t paid, struct tp_field_view view)
{
    bool whole = paid >= plain->settled;
    uint64_t seen = whole ? plain->settled : paid / TP_FIELD_STEP * TP_FIELD_STEP;
    ck_assert_int_eq(view.whole, whole);
    ck_assert_uint_eq(view.areas, seen);
    ck_assert_int_eq(view.empty, seen == 0);
    for (uint64_t rank = 0; rank < plain->settled; rank++) {
        uint32_t node = plain->order[rank];
        if (tp_field_at(field, node, view) != (rank < seen ? plain->distance[node] : TP_FIELD_UNSEEN))
            ck_abort_msg("node %u of rank %llu: %u", node, (unsigned long long)rank, tp_field_at(field, node, view));
    }
    for (uint32_t node = 0; node < plain->count; node++)
        if (plain->distance[node] == TP_FIELD_UNSEEN && tp_field_at(field, node, view) != TP_FIELD_UNSEEN)
            ck_abort_msg("node %u is seen, but no way leads to it", node);
    ck_assert_uint_eq(tp_field_reach(view), seen ? plain->distance[plain->order[seen - 1]] : 0);
}

static struct tp_map *random_map(struct tp_test_rng *rng)
{
    uint32_t width = tp_test_between(rng, 1, 600), height = tp_test_between(rng, 1, 600);
    uint32_t percent = tp_test_below(rng, 60);
    return tp_test_percent(rng, 30) ? tp_test_map_random_weighted(rng, width, height, percent, 50)
                                    : tp_test_map_random(rng, width, height, percent);
}

static uint32_t random_goals(struct tp_test_rng *rng, uint32_t nodes, uint32_t *goals)
{
    uint32_t count = tp_test_percent(rng, 70) ? 1 : tp_test_between(rng, 1, TP_GOALS_MAX);
    for (uint32_t i = 0; i < count; i++)
        goals[i] = tp_test_below(rng, nodes);
    return count;
}

/* ---- Tests ---- */

START_TEST(distances_are_octile_manhattan_euclid)
{
    struct tp_blocks_place a = {100, 200}, b = {100 + 160, 200 - 64};
    ck_assert_uint_eq(tp_field_distance(TP_FIELD_MANHATTAN, a, b), 224);
    ck_assert_uint_eq(tp_field_distance(TP_FIELD_OCTILE, a, b), 160 + 26);
    ck_assert_uint_eq(tp_field_distance(TP_FIELD_OCTILE, b, a), 160 + 26);
    ck_assert_uint_eq(tp_field_distance(TP_FIELD_EUCLID, a, b), 172);
    ck_assert_uint_eq(tp_field_weigh(160, 2), 160);
    ck_assert_uint_eq(tp_field_weigh(160, 7), 560);
    ck_assert_uint_eq(tp_field_weigh(UINT32_MAX, 100), TP_FIELD_POINTS_MAX);
}
END_TEST

START_TEST(fields_are_dijkstras)
{
    struct tp_test_rng rng = tp_test_rng("fields_are_dijkstras");
    for (int round = 0; round < (tp_test_long() ? 600 : 60); round++) {
        struct block_bench bench;
        enum tp_blocks_links links = tp_test_percent(&rng, 50) ? TP_BLOCKS_STRAIGHT : TP_BLOCKS_DIAGONAL;
        enum tp_field_metric metric = (enum tp_field_metric)tp_test_below(&rng, 3);
        block_bench_open(&bench, random_map(&rng), links, CACHE_BYTES);
        uint32_t goals[TP_GOALS_MAX], nodes = bench.blocks->areas;
        if (nodes) {
            uint32_t count = random_goals(&rng, nodes, goals);
            struct plain_ways plain;
            plain_ways_init(&plain, &bench, PLAIN_AREAS, metric, goals, count);
            struct tp_field *field = tp_field_take(bench.cache, bench.blocks, metric, goals, count);
            ck_assert_ptr_nonnull(field);
            ck_assert_ptr_eq(tp_field_blocks(field), bench.blocks);
            for (uint32_t i = 0; i < count; i++)
                ck_assert(tp_field_is_goal(field, goals[i]));
            for (int look = 0; look < 6; look++) { /* forwards and back: a view of any length is found again */
                uint64_t paid = tp_test_below(&rng, plain.settled + 40);
                check_view(field, &plain, paid, tp_field_see(field, paid));
            }
            check_view(field, &plain, plain.settled, tp_field_see(field, plain.settled));
            tp_field_leave(field);
            plain_ways_fini(&plain);
        }
        block_bench_close(&bench);
    }
}
END_TEST

/* Several sessions pay for the same few goals in turns drawn at random, under a cap that makes fields go and come; each sees what it
 * would see alone. */
START_TEST(a_view_depends_on_its_own_paying_alone)
{
    enum { SESSIONS = 12, GOALS = 4, TURNS = 300 };
    struct tp_test_rng rng = tp_test_rng("a_view_depends_on_its_own_paying_alone");
    for (int round = 0; round < (tp_test_long() ? 40 : 4); round++) {
        struct block_bench bench;
        block_bench_open(&bench, tp_test_map_random(&rng, 900, 900, 45), TP_BLOCKS_STRAIGHT, CACHE_BYTES);
        uint32_t goals[GOALS];
        struct plain_ways plain[GOALS];
        for (int i = 0; i < GOALS; i++) {
            goals[i] = tp_test_below(&rng, bench.blocks->areas);
            plain_ways_init(&plain[i], &bench, PLAIN_AREAS, TP_FIELD_OCTILE, &goals[i], 1);
        }
        struct {
            struct tp_field *field;
            uint64_t paid;
            int goal;
        } session[SESSIONS] = {{0}};
        for (int turn = 0; turn < TURNS; turn++) {
            uint32_t i = tp_test_below(&rng, SESSIONS);
            if (!session[i].field || tp_test_percent(&rng, 5)) {
                tp_field_leave(session[i].field);
                session[i].goal = (int)tp_test_below(&rng, GOALS);
                session[i].paid = 0;
                session[i].field = tp_field_take(bench.cache, bench.blocks, TP_FIELD_OCTILE, &goals[session[i].goal], 1);
                ck_assert_ptr_nonnull(session[i].field);
            }
            session[i].paid += tp_test_below(&rng, 60);
            check_view(session[i].field, &plain[session[i].goal], session[i].paid, tp_field_see(session[i].field, session[i].paid));
        }
        struct tp_field_cache_stats stats;
        tp_field_cache_stats(bench.cache, &stats);
        ck_assert_uint_le(stats.fields, GOALS);
        ck_assert_uint_gt(stats.shared, 0);
        ck_assert_uint_le(stats.made, GOALS);
        for (int i = 0; i < SESSIONS; i++)
            tp_field_leave(session[i].field);
        for (int i = 0; i < GOALS; i++)
            plain_ways_fini(&plain[i]);
        block_bench_close(&bench);
    }
}
END_TEST

/* A search that was refused a page goes on where it stood once there is one. */
START_TEST(the_cap_holds_under_churn)
{
    enum { PAGES = 9, HELD = 5 };
    struct tp_test_rng rng = tp_test_rng("the_cap_holds_under_churn");
    struct block_bench bench;
    block_bench_open(&bench, tp_test_map_random(&rng, 1500, 1500, 45), TP_BLOCKS_STRAIGHT, PAGES * PAGE_BYTES);
    struct tp_field *held[HELD] = {NULL};
    struct tp_field_cache_stats stats;
    for (int turn = 0; turn < 500; turn++) {
        uint32_t i = tp_test_below(&rng, HELD), goal = tp_test_below(&rng, bench.blocks->areas);
        tp_field_leave(held[i]);
        held[i] = tp_field_take(bench.cache, bench.blocks, TP_FIELD_OCTILE, &goal, 1);
        if (held[i]) {
            struct tp_field_view view = tp_field_see(held[i], tp_test_below(&rng, 3000));
            ck_assert_uint_le(tp_field_at(held[i], goal, view), view.empty ? UINT32_MAX : 0);
        }
        tp_field_cache_stats(bench.cache, &stats);
        ck_assert_uint_le(stats.bytes, PAGES * PAGE_BYTES);
    }
    ck_assert_uint_gt(stats.given_up, 0);
    ck_assert_uint_gt(stats.refused, 0);
    for (int i = 1; i < HELD; i++) {
        tp_field_leave(held[i]);
        held[i] = NULL;
    }
    uint32_t goal = 0;
    struct plain_ways plain;
    tp_field_leave(held[0]);
    plain_ways_init(&plain, &bench, PLAIN_AREAS, TP_FIELD_OCTILE, &goal, 1);
    held[0] = tp_field_take(bench.cache, bench.blocks, TP_FIELD_OCTILE, &goal, 1);
    ck_assert_ptr_nonnull(held[0]);
    check_view(held[0], &plain, plain.settled, tp_field_see(held[0], plain.settled));
    tp_field_leave(held[0]);
    plain_ways_fini(&plain);
    block_bench_close(&bench);
}
END_TEST

/* Fields of blocks that are no longer anybody's go: those not in use at once, the others when they are left; the rest stay. */
START_TEST(retired_fields_go)
{
    struct block_bench bench;
    struct tp_blocks *other;
    block_bench_open(&bench, tp_test_map_free(300, 200), TP_BLOCKS_STRAIGHT, CACHE_BYTES);
    ck_assert_int_eq(tp_blocks_build(&other, bench.map, TP_BLOCKS_STRAIGHT), 0);
    struct tp_field *fields[6], *kept[2];
    struct tp_field_cache_stats stats;
    for (uint32_t i = 0; i < 6; i++) {
        fields[i] = tp_field_take(bench.cache, other, TP_FIELD_OCTILE, &i, 1);
        ck_assert(tp_field_see(fields[i], 3).areas <= 3);
    }
    for (uint32_t i = 0; i < 2; i++)
        kept[i] = tp_field_take(bench.cache, bench.blocks, TP_FIELD_OCTILE, &i, 1);
    tp_field_leave(fields[1]);
    tp_field_leave(fields[4]);
    tp_field_leave(kept[0]);
    tp_field_cache_retire(bench.cache, other);
    tp_field_cache_stats(bench.cache, &stats);
    ck_assert_uint_eq(stats.fields, 4 + 2);
    ck_assert(tp_field_see(fields[0], 20).whole); /* goes on while it is used */
    tp_field_leave(fields[0]);
    tp_field_leave(fields[2]);
    tp_field_leave(fields[3]);
    tp_field_leave(fields[5]);
    ck_assert_uint_eq(atomic_load(&other->refs), 1);
    uint32_t goal = 0;
    ck_assert_ptr_eq(tp_field_take(bench.cache, bench.blocks, TP_FIELD_OCTILE, &goal, 1), kept[0]);
    tp_field_cache_stats(bench.cache, &stats);
    ck_assert_uint_eq(stats.fields, 2);
    ck_assert_uint_eq(stats.given_up, 0);
    tp_field_cache_retire(bench.cache, bench.blocks);
    tp_field_leave(kept[0]);
    tp_field_leave(kept[1]);
    tp_field_cache_stats(bench.cache, &stats);
    ck_assert_uint_eq(stats.fields + stats.bytes, 0);
    tp_blocks_unref(other);
    block_bench_close(&bench);
}
END_TEST

START_TEST(units_of_a_large_empty_map)
{
    struct block_bench bench;
    block_bench_open(&bench, tp_test_map_free(1024, 1024), TP_BLOCKS_STRAIGHT, CACHE_BYTES);
    ck_assert_uint_eq(bench.blocks->areas, 16 * 16);
    uint32_t corner = 0, far_area = bench.blocks->areas - 1;
    struct tp_field *field = tp_field_take(bench.cache, bench.blocks, TP_FIELD_OCTILE, &corner, 1);
    struct tp_field_view view = tp_field_see(field, 500);
    ck_assert(view.whole);
    ck_assert_uint_eq(view.areas, 16 * 16);
    ck_assert_uint_eq(tp_field_at(field, far_area, view), (uint32_t)(15 * 64 * 16 + 15 * 424)); /* 64 * 16 * 0.4142 a diagonal */
    tp_field_leave(field);
    block_bench_close(&bench);
}
END_TEST

/* Bytes that a field of a corner holds once so many areas are settled, on a free map of that side. */
static uint64_t bytes_of_some(uint32_t side, uint64_t areas)
{
    struct block_bench bench;
    struct tp_field_cache_stats stats;
    block_bench_open(&bench, tp_test_map_free(side, side), TP_BLOCKS_STRAIGHT, CACHE_BYTES);
    uint32_t corner = bench.blocks->areas - 1;
    struct tp_field *field = tp_field_take(bench.cache, bench.blocks, TP_FIELD_OCTILE, &corner, 1);
    ck_assert_uint_eq(tp_field_see(field, areas).areas, areas);
    tp_field_cache_stats(bench.cache, &stats);
    tp_field_leave(field);
    block_bench_close(&bench);
    return stats.bytes;
}

START_TEST(what_a_field_holds_follows_what_was_settled)
{
    ck_assert_uint_le(bytes_of_some(4096, 64), bytes_of_some(1024, 64) + PAGE_BYTES);
}
END_TEST

/* Pages asked for in any order and however far apart are found again, hold what was written, cost few pages of pointers, and all
 * come back; one that is refused leaves the others. */
START_TEST(pages_are_found_again)
{
    enum { ASKED = 300 };
    struct tp_test_rng rng = tp_test_rng("pages_are_found_again");
    for (int round = 0; round < 40; round++) {
        uint64_t room = tp_test_percent(&rng, 50) ? CACHE_BYTES : tp_test_between(&rng, 1, 200) * PAGE_BYTES;
        uint32_t span = 1u << tp_test_below(&rng, 28), asked[ASKED];
        struct tp_pool pool;
        struct tp_field_cache_stats stats;
        tp_pool_init(&pool, NULL);
        struct tp_field_cache *cache = tp_field_cache_open(&pool, room);
        struct tp_pages pages = {0};
        bool held[ASKED];
        for (int i = 0; i < ASKED; i++) {
            asked[i] = tp_test_below(&rng, span);
            bool known = tp_pages_find(&pages, asked[i]) != NULL;
            uint32_t *page = tp__field_page_at(cache, &pages, asked[i]);
            held[i] = page != NULL;
            ck_assert_ptr_eq(page, tp_pages_find(&pages, asked[i]));
            if (page)
                ck_assert_uint_eq(page[0], known ? asked[i] : UINT32_MAX);
            if (page)
                page[0] = page[TP_PAGE_BYTES / 4 - 1] = asked[i];
        }
        for (int i = 0; i < ASKED; i++)
            if (held[i])
                ck_assert_uint_eq(*(uint32_t *)tp_pages_find(&pages, asked[i]), asked[i]);
        ck_assert_uint_le(pages.levels, 3);
        tp_field_cache_stats(cache, &stats);
        ck_assert_uint_le(stats.bytes, room);
        tp__field_pages_free(cache, &pages);
        tp_field_cache_close(cache); /* nothing is held */
        ck_assert_uint_eq(pool.used_bytes, 0);
        tp_pool_fini(&pool);
    }
}
END_TEST

static Suite *field_suite(void)
{
    Suite *suite = suite_create("field");
    TCase *tests = tcase_create("field");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, distances_are_octile_manhattan_euclid);
    tcase_add_test(tests, fields_are_dijkstras);
    tcase_add_test(tests, a_view_depends_on_its_own_paying_alone);
    tcase_add_test(tests, the_cap_holds_under_churn);
    tcase_add_test(tests, retired_fields_go);
    tcase_add_test(tests, units_of_a_large_empty_map);
    tcase_add_test(tests, what_a_field_holds_follows_what_was_settled);
    tcase_add_test(tests, pages_are_found_again);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_field", field_suite);
}
