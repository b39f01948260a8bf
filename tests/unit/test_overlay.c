/* What leads an agent that does not know the map (search/overlay.c): a block graph of what it believes, paid for in units and small
 * where little was seen; and what it does by that: arrives wherever an agent without a guide does. */
#include "base/limits.h"
#include "map/layer.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/mind.h"
#include "tests/lib/play.h"

#include <stdlib.h>
#include <string.h>

static struct tp_blocks *built(const struct tp_map *map, enum tp_blocks_links links)
{
    struct tp_blocks *blocks;
    ck_assert_int_eq(tp_blocks_build(&blocks, map, links), 0);
    return blocks;
}

static bool same_node(const struct tp_blocks_node *a, const struct tp_blocks_node *b)
{
    return a->number == b->number && a->tile == b->tile && a->block == b->block && a->cells == b->cells &&
           a->at.x == b->at.x && a->at.y == b->at.y && a->weight == b->weight && a->area == b->area;
}

/* Two block graphs say the same of every node and area, and of the neighbours of some. */
static void expect_same(const struct tp_blocks *is, const struct tp_blocks *want)
{
    ck_assert_uint_eq(is->nodes, want->nodes);
    ck_assert_uint_eq(is->areas, want->areas);
    for (uint32_t i = 0; i < is->nodes; i++) {
        struct tp_blocks_node a = tp_blocks_node(is, i), b = tp_blocks_node(want, i);
        ck_assert_msg(same_node(&a, &b), "node %u of tile %u, cells %llx, is not as built: %llx", i, a.tile,
                      (unsigned long long)a.cells, (unsigned long long)b.cells);
        if (i % 7)
            continue;
        struct tp_blocks_node around[TP_BLOCKS_NEIGHBOURS_MAX], wanted[TP_BLOCKS_NEIGHBOURS_MAX];
        uint32_t count = tp_blocks_neighbours(is, i, around);
        ck_assert_uint_eq(count, tp_blocks_neighbours(want, i, wanted));
        for (uint32_t j = 0; j < count; j++)
            ck_assert_uint_eq(around[j].number, wanted[j].number);
    }
    for (uint32_t i = 0; i < is->areas; i++) {
        struct tp_blocks_node a = tp_blocks_area(is, i), b = tp_blocks_area(want, i);
        ck_assert_msg(same_node(&a, &b), "area %u is not as built", i);
    }
}

/* ---- Free ground ---- */

START_TEST(free_is_as_built_and_shares_its_tiles)
{
    static const uint32_t sizes[][2] = {{1, 1}, {64, 64}, {65, 64}, {63, 130}, {200, 300}, {640, 128}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int weighted = 0; weighted < 2; weighted++) {
            struct tp_profile profile;
            tp_profile_init_movingai(&profile);
            if (weighted) { /* the least weight is not that of '.' */
                memset(&profile, 0, sizeof profile);
                profile.weight['.'] = 7;
                profile.weight['T'] = 3;
            }
            size_t cells = (size_t)sizes[i][0] * sizes[i][1];
            uint8_t *classes = malloc(cells);
            ck_assert_ptr_nonnull(classes);
            memset(classes, weighted ? 'T' : '.', cells);
            struct tp_map *map, *walled;
            ck_assert_int_eq(tp_map_build(&map, sizes[i][0], sizes[i][1], classes, &profile, 1), 0);
            memset(classes, '@', cells);
            ck_assert_int_eq(tp_map_build(&walled, sizes[i][0], sizes[i][1], classes, &profile, 1), 0);
            struct tp_blocks *want = built(map, TP_BLOCKS_STRAIGHT), *is;
            ck_assert_int_eq(tp_blocks_build_free(&is, walled, TP_BLOCKS_STRAIGHT), 0);
            expect_same(is, want);
            ck_assert(!tp_blocks_apart(is, 0, 0, sizes[i][0] - 1, sizes[i][1] - 1));
            ck_assert_uint_le(tp_blocks_bytes(is), tp_blocks_bytes(want));
            tp_blocks_unref(is);
            tp_blocks_unref(want);
            tp_map_unref(map);
            tp_map_unref(walled);
            free(classes);
        }
}
END_TEST

/* ---- What is believed ---- */

/* The map as the session believes it. */
static struct tp_map *believed_map(const struct tp_mind *session)
{
    const struct tp_map *map = session->map;
    uint8_t *classes = malloc((size_t)map->width * map->height), class_of[TP_WEIGHT_MAX + 1] = {0};
    ck_assert_ptr_nonnull(classes);
    for (int i = 255; i >= 0; i--)
        class_of[map->profile.weight[i]] = (uint8_t)i;
    for (uint32_t y = 0; y < map->height; y++)
        for (uint32_t x = 0; x < map->width; x++)
            classes[(size_t)y * map->width + x] = class_of[tp_belief_weight(&session->belief, x, y)];
    struct tp_map *believed;
    ck_assert_int_eq(tp_map_build(&believed, map->width, map->height, classes, &map->profile, 1), 0);
    free(classes);
    return believed;
}

/* Once all is laid over, the session is led by what it believes. */
static void expect_believed(struct tp_mind *session)
{
    uint64_t all = UINT64_C(1) << 40, units = all, tiles = session->guide.overlay.news.count;
    uint64_t price = tiles * 16 + (tiles + 7) / 8 * ((uint64_t)session->map->tiles_x * session->map->tiles_y / 64);
    ck_assert(tp__overlay_catch_up(session, &session->params.budget, &units));
    ck_assert(!tp__overlay_is_behind(session));
    if (all - units > price)
        ck_abort_msg("%llu units were taken for %llu tiles (TICKPATH_SEED=%llu)", (unsigned long long)(all - units),
                     (unsigned long long)tiles, (unsigned long long)tp_test_seed());
    struct tp_map *map = believed_map(session);
    struct tp_blocks *want =
        built(map, tp_blocks_links_of(session->params.neighbours, session->params.corners));
    expect_same(tp__overlay_blocks(session), want);
    tp_blocks_unref(want);
    tp_map_unref(map);
}

static struct tp_session_params discoverer(struct tp_test_rng *rng, const struct tp_map *map,
                                           const struct tp_map *known)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("guided");
    params.w_milli = 2000;
    params.knowledge = known ? TP_KNOWLEDGE_MAP : TP_KNOWLEDGE_FREESPACE;
    params.known = known;
    params.neighbours = tp_test_percent(rng, 70) ? TP_NEIGHBOURS_8 : TP_NEIGHBOURS_4;
    params.corners = (enum tp_corners)tp_test_below(rng, 3);
    params.sensor_radius = tp_test_between(rng, 1, TP_BELIEF_RADIUS_MAX);
    params.budget = tp_budget_k(tp_test_between(rng, 1, 60));
    params.guide_units = tp_test_between(rng, 1, 300);
    params.start = tp_test_free_cell(rng, map);
    params.goal = tp_test_free_cell(rng, map);
    return params;
}

/* A map of the same profile that is told for another: some cells are otherwise. */
static struct tp_map *told_for(struct tp_test_rng *rng, const struct tp_map *map)
{
    struct tp_map *told = (struct tp_map *)tp_map_ref(map);
    for (uint32_t i = tp_test_below(rng, 60); i > 0; i--) {
        uint32_t x = tp_test_below(rng, map->width), y = tp_test_below(rng, map->height),
                 side = tp_test_between(rng, 1, 9);
        uint32_t width = map->width - x < side ? map->width - x : side,
                 height = map->height - y < side ? map->height - y : side;
        uint8_t class_to = tp_test_percent(rng, 50) ? (uint8_t)'@' : tp_map_class(map, x / 2, y / 2);
        tp_test_set_rect(&told, x, y, width, height, (char)class_to);
    }
    return told;
}

/* Agents walk about in a map of which some cells change; are put elsewhere, forget what they saw. */
START_TEST(is_what_is_believed)
{
    struct tp_test_rng rng = tp_test_rng("believed");
    for (int life = 0; life < (tp_test_long() ? 60 : 8); life++) {
        uint32_t width = tp_test_between(&rng, 20, 200), height = tp_test_between(&rng, 20, 200),
                 percent = tp_test_between(&rng, 5, 40);
        struct tp_map *map = tp_test_percent(&rng, 50)
                                 ? tp_test_map_random(&rng, width, height, percent)
                                 : tp_test_map_random_weighted(&rng, width, height, percent, 9);
        struct tp_map *known = tp_test_percent(&rng, 50) ? told_for(&rng, map) : NULL;
        struct tp_session_params params = discoverer(&rng, map, known);
        struct play play;
        play_open(&play, &params, map);
        for (int n = 0; n < 120; n++) {
            uint32_t x = tp_test_below(&rng, width), y = tp_test_below(&rng, height);
            play_tick(&play, NULL);
            if (tp_test_percent(&rng, 20))
                play_set(&play, x, y, tp_test_percent(&rng, 50) ? '@' : (char)tp_map_class(map, 0, 0));
            if (tp_test_percent(&rng, 5) && tp_map_passable(play.map, x, y))
                play_at(&play, y * width + x);
            if (tp_test_percent(&rng, 2))
                tp_belief_forget(&mind_of(play.session)->belief);
            if (n % 10 == 0)
                expect_believed(mind_of(play.session));
        }
        play_close(&play);
        tp_map_unref(known);
        tp_map_unref(map);
    }
}
END_TEST

/* ---- Work and memory ---- */

/* On a large map, an agent that sees far walks for thousands of ticks among walls that it did not know of: no tick does more than it paid
 * for, and what it keeps is small. */
START_TEST(a_tick_on_a_large_map_is_bounded)
{
    enum {
        SIDE = 2048,
        UNITS = 100,
        TABLES = SIDE / TP_MAP_TILE * (SIDE / TP_MAP_TILE) / 64,
        TICKS_MAX = 100000
    };
    struct tp_test_rng rng = tp_test_rng("large");
    struct tp_map *map = tp_test_map_free(SIDE, SIDE), *layer;
    for (int i = 0; i < 3000; i++)
        tp_test_set_rect(&map, tp_test_below(&rng, SIDE - 64), tp_test_below(&rng, SIDE - 64), i % 2 ? 60 : 1,
                         i % 2 ? 1 : 60, '@');
    tp_test_set_rect(&map, 0, 0, 20, 20, '.');
    tp_test_set_rect(&map, SIDE - 20, SIDE - 20, 20, 20, '.');
    const struct tp_layer_kind kind = {map->profile, 1, true, TP_BLOCKS_STRAIGHT};
    ck_assert_int_eq(tp_layer_build(&layer, map, &kind), 0);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_session_params params;
    struct tp_session *session;
    struct tp_refusal refusal;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("guided");
    params.knowledge = TP_KNOWLEDGE_FREESPACE;
    params.sensor_radius = TP_BELIEF_RADIUS_MAX;
    params.w_milli = 2000;
    params.start = 5 * SIDE + 5;
    params.goal = (SIDE - 5) * SIDE + SIDE - 5;
    params.guide_units = UNITS;
    params.budget = tp_budget_k(16);
    params.fields = tp_field_cache_open(&pool, 64 << 20);
    ck_assert_int_eq(tp_session_open(&session, &params, layer, &pool, &refusal), 0);
    struct tp_mind *mind = mind_of(session);
    struct tp_tick_reply reply;
    uint64_t ticks = 0, versions = 0, paid = 0, news_max = 0;
    do {
        uint64_t before = tp__overlay_blocks(mind)->version;
        tp_session_tick(session, layer, NULL, &reply);
        uint64_t made = tp__overlay_blocks(mind)->version - before;
        ck_assert_uint_le(reply.work.guide, UNITS);
        ck_assert_uint_le(made, 1 + UNITS / TABLES);
        paid += reply.work.guide;
        versions += made;
        ck_assert_uint_le(versions * TABLES, paid);
        uint32_t news = mind->guide.overlay.news.count;
        news_max = news > news_max ? news : news_max;
    } while (reply.status != TP_STATUS_ARRIVED && ++ticks < TICKS_MAX);
    struct tp_session_stats stats;
    tp_session_stats(session, &stats);
    printf("%llu ticks, %llu block graphs, %llu units, %llu tiles not laid over at most, %llu bytes of them "
           "at the end\n",
           (unsigned long long)ticks, (unsigned long long)versions, (unsigned long long)paid,
           (unsigned long long)news_max, (unsigned long long)mind->guide.overlay.counted);
    ck_assert_int_eq((int)reply.status, TP_STATUS_ARRIVED);
    ck_assert_uint_gt(versions, 20);
    ck_assert_uint_le(mind->guide.overlay.counted, 256 << 10);
    ck_assert_uint_ge(stats.bytes, mind->guide.overlay.counted);
    tp_session_close(session);
    tp_field_cache_close(params.fields);
    tp_pool_fini(&pool);
    tp_map_unref(layer);
    tp_map_unref(map);
}
END_TEST

/* ---- What it is good for ---- */

START_TEST(arrives_wherever_one_without_a_guide_does)
{
    struct tp_test_rng rng = tp_test_rng("arrives");
    int arrived = 0, cases = tp_test_long() ? 400 : 40;
    double led = 0, unled = 0;
    for (int n = 0; n < cases; n++) {
        struct tp_map *map = tp_test_map_random(&rng, tp_test_between(&rng, 8, 120),
                                                tp_test_between(&rng, 8, 120), tp_test_between(&rng, 5, 40));
        struct tp_map *known = tp_test_percent(&rng, 50) ? told_for(&rng, map) : NULL;
        struct tp_session_params params = discoverer(&rng, map, known);
        struct play play;
        enum tp_status status[2];
        double cost[2];
        for (int with = 0; with < 2; with++) {
            params.algorithm = tp_algorithm_find(with ? "guided" : "rtbwa");
            params.guide_units = with ? 100 : TP_GUIDE_UNITS_UNSET;
            play_open(&play, &params, map);
            status[with] = play_until_settled(&play, NULL, 1000000).status;
            cost[with] = (double)play.stats.cost / TP_COST_UNIT;
            bool knows = play_knows_enough(&play);
            play_close(&play);
            if (!knows)
                status[1] = status[0]; /* what it finds depends on where it looks */
        }
        ck_assert_msg(status[0] == status[1], "map %d: status %d with a guide, %d without", n, (int)status[1],
                      (int)status[0]);
        if (status[0] != TP_STATUS_ARRIVED)
            cost[0] = cost[1] = 0;
        arrived += status[0] == TP_STATUS_ARRIVED;
        led += cost[1];
        unled += cost[0];
        tp_map_unref(known);
        tp_map_unref(map);
    }
    printf("%d of %d arrived, for %.0f; without a guide for %.0f\n", arrived, cases, led, unled);
    ck_assert_int_gt(arrived, cases / 4);
    ck_assert_double_lt(led, 1.5 * unled); /* on maps so small there is little to lead by */
}
END_TEST

static Suite *overlay_suite(void)
{
    Suite *suite = suite_create("overlay");
    TCase *tcase = tcase_create("overlay");
    tcase_set_timeout(tcase, 600);
    tcase_add_test(tcase, free_is_as_built_and_shares_its_tiles);
    tcase_add_test(tcase, is_what_is_believed);
    tcase_add_test(tcase, a_tick_on_a_large_map_is_bounded);
    tcase_add_test(tcase, arrives_wherever_one_without_a_guide_does);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_overlay", overlay_suite);
}
