/* Sessions that share one pool and its cap: one that gets no memory says NODE_CAP and answers on; when
 * another has closed it goes on to its goal. And a session that walks to and fro for long holds no more than
 * at first. */
#include "tests/lib/random_sessions.h"

static const struct tp_algorithm *row;

static struct tp_session_params params_of(uint32_t start, uint32_t goal, uint64_t k)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.start = start;
    params.goal = goal;
    params.budget = tp_budget_k(k);
    return params;
}

START_TEST(a_starved_session_goes_on_when_there_is_memory_again)
{
    row = tp_algorithm_at((size_t)_i);
    struct tp_map *map = tp_test_map_free(400, 400);
    tp_test_set_rect(&map, 200, 1, 1, 399, '@');
    uint32_t last = 400 * 400 - 1;
    struct tp_pool_cap cap = {.bytes = 0, .bytes_max = UINT64_MAX};
    struct tp_pool pool;
    tp_pool_init(&pool, &cap);
    struct tp_session_params params = params_of(0, last, 20000);
    struct play hog, starved;
    play_open_in(&hog, &params, map, &pool);
    /* a search that lasts grows until it has its path; one that is begun anew for each move holds what it will ever hold
     * after its first ticks */
    bool lasts = !row_walks_to_learn(row);
    while (!(play_tick(&hog, NULL).flags & TP_FLAG_PATH_COMPLETE) && (lasts || hog.ticks < 4))
        ck_assert_uint_lt(hog.ticks, 1000);
    atomic_store(&cap.bytes_max, atomic_load(&cap.bytes)); /* all is taken */
    params.budget = tp_budget_k(500);
    play_open_in(&starved, &params, map, &pool);
    bool told = false;
    struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
    for (int i = 0; i < 600; i++) {
        reply = play_tick(&starved, NULL);
        told |= (reply.flags & TP_FLAG_NODE_CAP) != 0;
        ck_assert_int_ne(reply.status, TP_STATUS_UNREACHABLE);
    }
    ck_assert_int_ne(reply.status, TP_STATUS_ARRIVED);
    ck_assert_msg(told, "%s: NODE_CAP was not said", row->name);
    play_close(&hog);
    atomic_store(&cap.bytes_max, UINT64_MAX);
    /* an agent-centred row would have to fill the whole of the hollow before the wall, move by move: it goes round it */
    if (!lasts)
        play_retarget(&starved, 399);
    reply = play_until_settled(&starved, &params.budget, 20000);
    ck_assert_msg(reply.status == TP_STATUS_ARRIVED, "%s: on %u, status %d, flags %x", row->name,
                  starved.cell, (int)reply.status, reply.flags);
    ck_assert(!(reply.flags & TP_FLAG_NODE_CAP));
    play_close(&starved);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    ck_assert_uint_eq(atomic_load(&cap.bytes), 0);
    tp_map_unref(map);
}
END_TEST

START_TEST(walking_to_and_fro_takes_no_more_memory)
{
    row = tp_algorithm_at((size_t)_i);
    struct tp_map *map = tp_test_map_free(100, 100);
    struct tp_pool_cap cap = {.bytes = 0, .bytes_max = UINT64_MAX};
    struct tp_pool pool;
    tp_pool_init(&pool, &cap);
    struct tp_session_params params = params_of(0, 9999, 50);
    struct play play;
    play_open_in(&play, &params, map, &pool);
    uint64_t peak = 0, taken = 0;
    for (int trip = 0; trip < 24; trip++) {
        play_retarget(&play, trip % 2 ? 0 : 9999);
        ck_assert_int_eq(play_until_settled(&play, NULL, 20000).status, TP_STATUS_ARRIVED);
        if (trip == 3) {
            peak = play.stats.bytes_peak;
            taken = atomic_load(&cap.bytes);
        }
    }
    ck_assert_uint_eq(play.stats.bytes_peak, peak);
    ck_assert_uint_eq(atomic_load(&cap.bytes), taken);
    play_close(&play);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    tp_map_unref(map);
}
END_TEST

static Suite *memory_suite(void)
{
    Suite *suite = suite_create("session memory");
    TCase *tcase = tcase_create("every row");
    int rows = row_count();
    tcase_add_loop_test(tcase, a_starved_session_goes_on_when_there_is_memory_again, 0, rows);
    tcase_add_loop_test(tcase, walking_to_and_fro_takes_no_more_memory, 0, rows);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_session_memory", memory_suite);
}
