/* Ticks of guided sessions take nothing from the system but their pool's slabs, whatever they are about: leads begun and taken, goals renewed,
 * a map that changes, arrivals, paths that are packed. Every call of malloc and its like is counted here (the linker's --wrap, tests.mk). */
#include "client/cli/generate.h"
#include "guide/field.h"
#include "map/layer.h"
#include "search/session.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"

#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

static uint64_t calls_;

void *__wrap_malloc(size_t bytes)
{
    calls_++;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    calls_++;
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    calls_++;
    return __real_realloc(memory, bytes);
}

enum { SIDE = 320, AGENTS = 12, FIELD_BYTES = 4 << 20 };

struct town {
    struct tp_map *map, *layer;
    struct tp_layer_kind kind;
    struct tp_pool pool;
    struct tp_field_cache *cache;
    struct tp_test_rng rng;
};

static void town_init(struct town *town)
{
    uint8_t *cells = malloc(SIDE * SIDE);
    struct tp_profile profile;
    town->rng = tp_test_rng("ticks_take_nothing");
    tp_profile_init_movingai(&profile);
    ck_assert_int_eq(tp_generate_map(TP_GENERATE_CITY, SIDE, SIDE, tp_test_below(&town->rng, 1000), NULL, cells), 0);
    ck_assert_int_eq(tp_map_build(&town->map, SIDE, SIDE, cells, &profile, 1), 0);
    free(cells);
    town->kind = (struct tp_layer_kind){profile, 1, true, TP_BLOCKS_STRAIGHT};
    ck_assert_int_eq(tp_layer_build(&town->layer, town->map, &town->kind), 0);
    tp_pool_init(&town->pool, NULL);
    town->cache = tp_field_cache_open(&town->pool, FIELD_BYTES);
}

static void town_fini(struct town *town)
{
    tp_field_cache_close(town->cache);
    ck_assert_uint_eq(town->pool.used_bytes, 0);
    tp_pool_fini(&town->pool);
    tp_map_unref(town->layer);
    tp_map_unref(town->map);
}

/* Closes or opens a few cells in a row. */
static void change(struct town *town)
{
    struct tp_map *before = (struct tp_map *)tp_map_ref(town->map), *layer;
    tp_test_set_rect(&town->map, tp_test_below(&town->rng, SIDE - 6), tp_test_below(&town->rng, SIDE), 6, 1,
                     tp_test_percent(&town->rng, 50) ? '.' : '@');
    ck_assert_int_eq(tp_layer_follow(&layer, town->layer, before, town->map, &town->kind), 0);
    tp_field_cache_retire(town->cache, town->layer->blocks);
    tp_map_unref(before);
    tp_map_unref(town->layer);
    town->layer = layer;
}

START_TEST(ticks_take_nothing_from_the_system)
{
    enum { TICKS = 4000 };
    static struct town town;
    struct tp_session *sessions[AGENTS];
    uint64_t calls[AGENTS] = {0}, arrived = 0;
    town_init(&town);
    uint64_t opened = calls_;
    for (int i = 0; i < AGENTS; i++) {
        static const uint32_t a_tick[] = {5, 30, 100, 1000};
        struct tp_session_params params;
        struct tp_refusal refusal;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("guided");
        params.w_milli = TP_W_UNSET;
        params.budget = i % 2 ? tp_budget_k(16) : tp_budget_r(60, 900, 10);
        params.fields = town.cache;
        params.guide_units = a_tick[i % 4];
        params.start = tp_test_free_cell(&town.rng, town.layer);
        params.goal = tp_test_free_cell(&town.rng, town.layer);
        ck_assert_int_eq(tp_session_open(&sessions[i], &params, town.layer, &town.pool, &refusal), 0);
    }
    ck_assert_uint_gt(calls_, opened); /* they are counted */
    for (int tick = 0; tick < TICKS; tick++) {
        if (tick % 7 == 0)
            change(&town);
        for (int i = 0; i < AGENTS; i++) {
            struct tp_tick_reply reply;
            uint64_t before = calls_;
            tp_session_tick(sessions[i], town.layer, NULL, &reply);
            calls[i] += calls_ - before;
            bool over = reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE;
            if (over || tp_test_below(&town.rng, 200) == 0)
                ck_assert_int_eq(tp_session_retarget(sessions[i], tp_test_free_cell(&town.rng, town.layer)), 0);
            arrived += reply.status == TP_STATUS_ARRIVED;
        }
    }
    struct tp_field_cache_stats stats;
    tp_field_cache_stats(town.cache, &stats);
    ck_assert_uint_gt(arrived, AGENTS);
    ck_assert_uint_gt(stats.made, TICKS / 10);
    for (int i = 0; i < AGENTS; i++) {
        if (calls[i])
            ck_abort_msg("session %d took memory %llu times", i, (unsigned long long)calls[i]);
        tp_session_close(sessions[i]);
    }
    town_fini(&town);
}
END_TEST

static Suite *tick_memory_suite(void)
{
    Suite *suite = suite_create("tick memory");
    TCase *tests = tcase_create("tick memory");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, ticks_take_nothing_from_the_system);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tick_memory", tick_memory_suite);
}
