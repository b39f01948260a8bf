/* The daemon's scheduler on a virtual clock. */
#include "daemon/serve/scheduler.h"
#include "tests/lib/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t virtual_us_, tick_us_;

/* Every look at the clock costs a little. */
static uint64_t virtual_now(void *context)
{
    (void)context;
    return virtual_us_ += tick_us_;
}

/* On a clock of our own the shared time ends where it must, and what it holds is shared; then a version that is asked for and not
 * there, and closing. (More of shared totals: tests/unit/test_shared_budget.c.) */
START_TEST(test_scheduler_time)
{
    enum { SIDE = 100, AGENTS = 10 };
    struct tp_map *map = tp_test_map_free(SIDE, SIDE);
    const struct tp_map *current[1] = {map};
    struct tp_world_map of = {.name = "m", .slot = 0};
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    static struct tp_metrics counted;
    struct tp_closing closing;
    struct tp_sessions sessions;
    tp_closing_init(&closing);
    tp_sessions_init(&sessions, &closing, &counted, AGENTS, 42);
    uint64_t ids[AGENTS];
    for (uint32_t i = 0; i < AGENTS; i++) {
        struct tp_session_params params;
        struct tp_session *session;
        struct tp_refusal refusal;
        tp_session_params_init(&params);
        params.start = i;
        params.goal = SIDE * SIDE - 1;
        ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
        ck_assert(tp_world_enter(&of));
        uint32_t slot;
        struct tp_agent_budget budget = {.kind = TP_BUDGET_K, .expansions = 64, .c = 10};
        ck_assert_int_eq(tp_sessions_add(&sessions, session, &of, &budget, &slot), 0);
        ids[i] = tp_sessions_id(&sessions, slot);
    }
    ck_assert_int_eq(atomic_load(&of.sessions), AGENTS);
    uint32_t slots[AGENTS];
    struct tp_tick_reply replies[AGENTS];
    struct tp_schedule_refused refused[AGENTS];
    uint32_t order[2 * AGENTS];
    struct tp_claim claims[2 * AGENTS];
    struct tp_schedule schedule = {.sessions = &sessions,
                                   .current = current,
                                   .ids = ids,
                                   .id_count = AGENTS,
                                   .total_us = 30,
                                   .tick = 1,
                                   .clock = {virtual_now, NULL},
                                   .capacity = AGENTS,
                                   .slots = slots,
                                   .order = order,
                                   .claims = claims,
                                   .replies = replies,
                                   .refused = refused};
    struct tp_refusal refusal = {0};
    tick_us_ = 5; /* a look takes so long, and nothing else does */
    ck_assert_int_eq(tp_schedule_serve(&schedule, &refusal), 0);
    ck_assert_uint_eq(schedule.served, AGENTS);
    uint64_t sum = 0;
    for (size_t i = 0; i < AGENTS; i++) {
        ck_assert_uint_le(replies[i].work.expansions, 64);
        sum += replies[i].work.expansions;
    }
    ck_assert_uint_le(sum, 30 / 5 * TP_DEADLINE_STRIDE);
    ck_assert_uint_ge(sum, 1);
    uint32_t without = 0;
    for (size_t i = 0; i < AGENTS; i++)
        without += replies[i].work.expansions == 0;
    ck_assert_uint_ge(schedule.starved, 3);
    ck_assert_uint_eq(schedule.starved, without);
    ck_assert_uint_eq(schedule.expansions, sum);

    schedule.min_version = 2; /* refused: nothing moves */
    schedule.tick = 2;
    uint32_t before[AGENTS];
    for (size_t i = 0; i < AGENTS; i++)
        before[i] = tp_session_cell(sessions.agents[slots[i]].session);
    ck_assert_int_eq(tp_schedule_serve(&schedule, &refusal), 0);
    ck_assert_uint_eq(schedule.served, 0);
    ck_assert_uint_eq(schedule.refused_count, AGENTS);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert(refused[i].error == TP_ERR_MAP_NOT_READY && refused[i].map == map);
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_eq(before[i], tp_session_cell(sessions.agents[slots[i]].session));
    tp_sessions_close(&sessions, tp_sessions_find(&sessions, ids[3])); /* gone at once; its memory later */
    ck_assert_uint_eq(tp_sessions_find(&sessions, ids[3]), TP_AGENT_NONE);
    ck_assert_uint_eq(tp_sessions_fini(&sessions), AGENTS - 1);
    ck_assert_int_eq(atomic_load(&of.sessions), 0);
    ck_assert_uint_eq(closing.count, AGENTS);
    ck_assert_uint_gt(pool.used_bytes, 0);
    struct tp_clock clock = {virtual_now, NULL};
    ck_assert_uint_eq(tp_closing_free(&closing, &clock, 0), 1); /* one at the least */
    ck_assert_uint_eq(tp_closing_free(&closing, &clock, 3 * tick_us_), 3);
    tp_closing_fini(&closing);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    tp_map_unref(map);
}
END_TEST
static Suite *scheduler_suite(void)
{
    Suite *suite = suite_create("daemon_scheduler");
    TCase *cases = tcase_create("scheduler");
    tcase_add_test(cases, test_scheduler_time);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_scheduler", scheduler_suite);
}
