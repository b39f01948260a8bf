/* Sessions that share one pool and its cap: one that gets no memory says NODE_CAP and answers on; when
 * another has closed it goes on to its goal. A session that walks to and fro for long holds no more than
 * at first. One that walks a whole path gives back its search, some blocks a tick, and then all else but the path. */
#include "tests/lib/mind.h"
#include "tests/lib/random_sessions.h"

#include <malloc.h>

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

/* ---- At rest ---- */

static const char *const resting_rows[] = {"guided", "tba", "tbwa", "rtbwa", "astar", "wastar"};
enum { ROWS = sizeof resting_rows / sizeof resting_rows[0], SIDE = 300, TICK_BYTES_MAX = 34 * 2048 }; /* a tick puts back 32 blocks, and at last the index over them */

/* A play on a map with rooms, from corner to corner. */
static void open_walk(struct play *play, struct tp_map **map, struct tp_pool *pool)
{
    struct tp_session_params params = params_of(0, SIDE * SIDE - 1, 400);
    *map = tp_test_map_free(SIDE, SIDE);
    for (uint32_t x = 30; x < SIDE; x += 60)
        tp_test_set_rect(map, x, x % 120 == 30 ? 0 : 20, 1, SIDE - 20, '@');
    play_open_in(play, &params, *map, pool);
}

static bool never(void *context)
{
    (void)context;
    return false;
}

START_TEST(a_whole_path_is_all_that_is_held)
{
    struct tp_budget by_clock = tp_budget_k(400); /* as the daemon's are */
    by_clock.expired = never;
    struct tp_map *map;
    struct tp_pool pool;
    struct play play;
    row = tp_algorithm_find(resting_rows[_i / 2]);
    tp_pool_init(&pool, NULL);
    open_walk(&play, &map, &pool);
    const struct tp_session *session = play.session;
    ck_assert_uint_eq(malloc_usable_size(play.session) / 512, 0);
    uint64_t most = 0, rested = 0;
    struct tp_tick_reply reply;
    do {
        bool packed = session->mind && tp__is_packed(session->mind);
        uint64_t before = play.stats.bytes;
        reply = play_tick(&play, _i % 2 ? &by_clock : NULL);
        uint64_t after = play.stats.bytes;
        most = after > most ? after : most;
        PLAY_SAY(&play, !packed || !session->mind || before <= after + TICK_BYTES_MAX, "%llu bytes went back at once",
                 (unsigned long long)(before - after));
        if (session->mind)
            continue;
        rested++;
        PLAY_SAY(&play, after == tp_steps_bytes(&session->steps), "%llu bytes at rest", (unsigned long long)after);
        if (!play.fields) /* which lie in the same pool */
            PLAY_SAY(&play, pool.used_bytes == after, "%llu bytes of the pool", (unsigned long long)pool.used_bytes);
        uint64_t beside = malloc_usable_size(play.session) + sizeof(size_t) + after;
        PLAY_SAY(&play, beside < 512 + (uint64_t)session->steps.count, "%llu bytes for %u steps", (unsigned long long)beside, session->steps.count);
    } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 20000);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    ck_assert_uint_gt(most, 20000);
    ck_assert_uint_gt(rested, 50);
    ck_assert_uint_eq(play.stats.bytes, 0);
    play_close(&play);
    tp_pool_fini(&pool);
    tp_map_unref(map);
}
END_TEST

START_TEST(at_rest_it_does_without_memory)
{
    struct tp_map *map;
    struct tp_pool_cap cap = {.bytes = 0, .bytes_max = UINT64_MAX};
    struct tp_pool pool;
    struct play play;
    row = tp_algorithm_find("tbwa");
    tp_pool_init(&pool, &cap);
    open_walk(&play, &map, &pool);
    while (play.session->mind || !play.session->steps.count) {
        play_tick(&play, NULL);
        ck_assert_uint_lt(play.ticks, 5000);
    }
    /* all of the pool is taken */
    enum { BLOCKS_MAX = 2000 };
    static void *blocks[BLOCKS_MAX];
    atomic_store(&cap.bytes_max, atomic_load(&cap.bytes));
    size_t count = 0;
    while (count < BLOCKS_MAX && (blocks[count] = tp_pool_get(&pool, sizeof(struct tp_mind))))
        count++;
    ck_assert_uint_lt(count, BLOCKS_MAX);
    /* another version: it can't look what changed, and walks on */
    play_set(&play, SIDE - 1, 0, '@');
    struct tp_tick_reply reply = play_tick(&play, NULL);
    ck_assert_int_eq(reply.status, TP_STATUS_MOVING);
    ck_assert(reply.flags & TP_FLAG_NODE_CAP);
    ck_assert_uint_eq(reply.version, play.map->version);
    /* another goal, and put elsewhere: it waits */
    play_retarget(&play, SIDE - 2);
    reply = play_tick(&play, NULL);
    ck_assert_int_eq(reply.status, TP_STATUS_SEARCHING);
    ck_assert(reply.flags & TP_FLAG_NODE_CAP);
    play_at(&play, 5);
    reply = play_tick(&play, NULL);
    ck_assert_int_eq(reply.status, TP_STATUS_SEARCHING);
    while (count)
        tp_pool_put(&pool, blocks[--count], sizeof(struct tp_mind));
    atomic_store(&cap.bytes_max, UINT64_MAX);
    reply = play_tick(&play, NULL);
    ck_assert(reply.flags & TP_FLAG_RESTARTED);
    ck_assert_int_eq(play_until_settled(&play, NULL, 20000).status, TP_STATUS_ARRIVED);
    play_close(&play);
    tp_pool_fini(&pool);
    tp_map_unref(map);
}
END_TEST

/* A goal that moves a little, time and again: the first time that finds a path without a tree costs a new search, and no other does. */
START_TEST(who_is_after_somebody_keeps_its_tree)
{
    struct tp_map *map;
    struct tp_pool pool;
    struct play play;
    row = tp_algorithm_find("tbwa");
    tp_pool_init(&pool, NULL);
    open_walk(&play, &map, &pool);
    do
        play_tick(&play, NULL);
    while (!tp__is_packed(mind_of(play.session)));
    for (uint32_t i = 1; i < 60; i++) {
        if (i % 4 == 0)
            play_retarget(&play, SIDE * SIDE - 1 - i / 4);
        play_tick(&play, NULL);
    }
    ck_assert_uint_eq(play.stats.restarts, 1);
    ck_assert_int_eq(play_until_settled(&play, NULL, 20000).status, TP_STATUS_ARRIVED);
    play_close(&play);
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
    TCase *rest = tcase_create("at rest");
    tcase_add_loop_test(rest, a_whole_path_is_all_that_is_held, 0, 2 * ROWS);
    tcase_add_test(rest, at_rest_it_does_without_memory);
    tcase_add_test(rest, who_is_after_somebody_keeps_its_tree);
    suite_add_tcase(suite, rest);
    return suite;
}

int main(void)
{
    return tp_test_main("test_session_memory", memory_suite);
}
