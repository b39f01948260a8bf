/* Costs near the end of 32 bits: which maps' nodes are narrow, and that a path that outgrows them is refused, not wrapped. */
#include "search/search.h"

#include "tests/lib/harness.h"
#include "tests/lib/maps.h"

#include <check.h>
#include <stdlib.h>

struct probe {
    struct tp_map *map;
    struct tp_pool pool;
    struct tp_belief belief;
    struct tp_search search;
    uint64_t bytes;
};

static void probe_init(struct probe *probe, uint32_t width, uint32_t height, enum tp_neighbours neighbours, bool bucketed)
{
    *probe = (struct probe){.map = tp_test_map_free(width, height)};
    tp_pool_init(&probe->pool, NULL);
    tp_belief_init(&probe->belief, probe->map, true, NULL, &probe->pool, &probe->bytes, UINT64_MAX);
    tp_search_init(&probe->search, tp_domain_grid(neighbours), &probe->belief, NULL, TP_HEURISTIC_DEFAULT, TP_CORNERS_BOTH_FREE, 1, 1,
                   false, &probe->pool, UINT32_MAX, &probe->bytes, UINT64_MAX);
    if (bucketed)
        tp_search_use_buckets(&probe->search);
}

static void probe_fini(struct probe *probe)
{
    tp_search_fini(&probe->search);
    tp_belief_fini(&probe->belief);
    ck_assert_uint_eq(probe->bytes, 0);
    tp_pool_fini(&probe->pool);
    tp_map_unref(probe->map);
}

START_TEST(maps_of_a_million_cells_have_narrow_nodes)
{
    const struct {
        uint32_t width, height;
        enum tp_neighbours neighbours;
        bool wide;
    } cases[] = {
        {1024, 1024, TP_NEIGHBOURS_4, false}, {1024, 1024, TP_NEIGHBOURS_8, false}, {1124, 1124, TP_NEIGHBOURS_8, false},
        {1125, 1125, TP_NEIGHBOURS_8, true},  {1, 600000, TP_NEIGHBOURS_8, false},  {700, 700, TP_NEIGHBOURS_16, false},
        {800, 800, TP_NEIGHBOURS_16, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct probe probe;
        probe_init(&probe, cases[i].width, cases[i].height, cases[i].neighbours, false);
        ck_assert_msg(probe.search.nodes.wide == cases[i].wide, "%u x %u", cases[i].width, cases[i].height);
        probe_fini(&probe);
    }
}
END_TEST

/* From a root that is so far along that few steps are left below 2^32. */
START_TEST(g_stops_short_of_32_bits)
{
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    for (int i = 0; i < 6; i++) {
        struct probe probe;
        probe_init(&probe, 64, 64, neighbours[i % 3], i >= 3);
        ck_assert(!probe.search.nodes.wide);
        tp_cost far = UINT32_MAX - 8 * TP_COST_KNIGHT;
        tp_state root = tp_state_at(&probe.search, 20, 20), goal = tp_state_at(&probe.search, 60, 20);
        tp_search_begin_seeds(&probe.search, goal);
        ck_assert(tp_search_add_seed(&probe.search, root, far));
        struct tp_run run = {.expansions_max = 1000000, .rekeyed_max = 1};
        tp_search_run(&probe.search, &run);
        ck_assert(run.capped && !probe.search.found && !probe.search.exhausted);
        ck_assert_uint_ge(run.expansions, 8);
        for (uint32_t y = 0; y < 64; y++) {
            for (uint32_t x = 0; x < 64; x++) {
                tp_state state = tp_state_at(&probe.search, x, y);
                if (tp_search_knows(&probe.search, state) && tp_search_g(&probe.search, state) < far)
                    ck_abort_msg("g of (%u, %u) wrapped", x, y);
            }
        }
        probe_fini(&probe);
    }
}
END_TEST

static Suite *far_suite(void)
{
    Suite *suite = suite_create("far");
    TCase *tcase = tcase_create("narrow nodes");
    tcase_add_test(tcase, maps_of_a_million_cells_have_narrow_nodes);
    tcase_add_test(tcase, g_stops_short_of_32_bits);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_far", far_suite);
}
