/* A session of a row that can be guided, where it is not led, is one of the row it names (`unled`) in all but the name: on graphs, for
 * vehicles, on a puzzle, with 0 units a tick and without a cache of fields the same life gives the same replies, the same work and the
 * same hashes, whatever happens to it. Where it is led it has a w, a pause and a restart rule of its own.
 *
 * TICKPATH_SEED repeats a run. */
#include "tests/lib/mind.h"
#include "tests/lib/random_sessions.h"

static const struct tp_algorithm *guided(void)
{
    const struct tp_algorithm *row = tp_algorithm_find("guided");
    ck_assert(row && row->unled == tp_algorithm_find("tbwa"));
    return row;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

/* Everything that a reply says. */
static uint64_t mix_reply(uint64_t hash, const struct tp_tick_reply *reply)
{
    const uint64_t said[] = {
        reply->from,
        reply->to,
        (uint64_t)reply->vx,
        (uint64_t)reply->vy,
        (uint64_t)reply->status,
        reply->flags,
        reply->version,
        reply->epoch,
        reply->cost,
        reply->work.expansions,
        reply->work.generated,
        reply->work.traced,
        reply->work.learned,
        reply->work.rekeyed,
        reply->work.guide,
        reply->flips,
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        hash = mix(hash, said[i]);
    return hash;
}

static uint64_t mix_stats(uint64_t hash, const struct tp_session_stats *stats)
{
    return mix(mix(mix(mix(hash, stats->move_hash), stats->search_hash), stats->restarts), stats->bytes_peak);
}

/* ---- Random lives ---- */

enum { TICKS = 80 };

struct life {
    uint64_t hash[TICKS + 1];
    uint64_t moves, restarts;
};

/* Options that both rows take; the same for the same rng. */
static struct tp_session_params life_params(struct tp_test_rng *rng, const struct space *space)
{
    struct tp_session_params params = random_params(rng, tp_algorithm_find("tbwa"), space);
    params.w_milli = TP_W_UNSET;
    params.pause_on_backtrack = tp_test_percent(rng, 50) ? TP_PAUSE_DEFAULT : params.pause_on_backtrack;
    params.restart = tp_test_percent(rng, 50) ? TP_RESTART_DEFAULT : params.restart;
    return params;
}

static struct life live(struct tp_test_rng rng, enum space_kind kind, const struct tp_algorithm *row)
{
    static const struct space_size size = {24, 14, 60, 1000};
    struct space space;
    struct life life = {.hash = {UINT64_C(0xcbf29ce484222325)}};
    space_random(&space, &rng, kind, size);
    struct tp_session_params params = life_params(&rng, &space);
    params.algorithm = row;
    if (kind == SPACE_GRID && row->unled)
        params.guide_units = 0;
    struct play play;
    space_open(&play, &params, &space, NULL);
    for (int i = 0; i < TICKS; i++) {
        if (tp_test_percent(&rng, 25))
            random_change(&rng, &play, &space);
        if (tp_test_percent(&rng, 5))
            play_retarget(&play, space_cell(&rng, play.map, true));
        struct plain_vehicle before = play_vehicle(&play);
        struct tp_tick_reply reply = play_tick(&play, NULL);
        life.hash[i + 1] = mix_stats(mix_reply(life.hash[i], &reply), &play.stats);
        if (tp_test_percent(&rng, 5))
            random_place(&rng, &play, before);
    }
    life.moves = play.stats.moves;
    life.restarts = play.stats.restarts;
    play_close(&play);
    space_fini(&space);
    return life;
}

START_TEST(not_led_it_lives_as_the_row_it_names)
{
    enum space_kind kind = (enum space_kind)_i;
    struct tp_test_rng rng = tp_test_rng(space_names[kind]);
    uint64_t cases = tp_test_steps(60, 3000), moves = 0, restarts = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_test_rng life_rng = rng;
        tp_test_next(&rng);
        struct life a = live(life_rng, kind, guided()), b = live(life_rng, kind, guided()->unled);
        for (int tick = 0; tick <= TICKS; tick++)
            if (a.hash[tick] != b.hash[tick])
                ck_abort_msg("life %llu on a %s: apart since tick %d (TICKPATH_SEED=%llu)",
                             (unsigned long long)i, space_names[kind], tick,
                             (unsigned long long)tp_test_seed());
        moves += a.moves;
        restarts += a.restarts;
    }
    printf("%s: %llu moves, %llu restarts\n", space_names[kind], (unsigned long long)moves,
           (unsigned long long)restarts);
    ck_assert(moves > cases && restarts > 0);
}
END_TEST

/* ---- A puzzle, and a grid without a cache of fields ---- */

/* Plays with what a session has that does not say, to the end or so many ticks. */
static uint64_t replies(const struct tp_map *map, const struct tp_algorithm *row, uint32_t goal, uint64_t k,
                        int ticks)
{
    struct tp_session_params params;
    struct tp_pool pool;
    struct tp_session *session;
    struct tp_refusal refusal;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.goal = goal;
    params.budget = tp_budget_k(k);
    tp_pool_init(&pool, NULL);
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
    for (int i = 0; i < ticks && reply.status != TP_STATUS_ARRIVED; i++) {
        tp_session_tick(session, map, NULL, &reply);
        hash = mix_reply(hash, &reply);
    }
    struct tp_session_stats stats;
    tp_session_stats(session, &stats);
    ck_assert_uint_gt(stats.moves, 0);
    tp_session_close(session);
    tp_pool_fini(&pool);
    return mix_stats(hash, &stats);
}

static void plays_alike(const struct tp_map *map, uint32_t goal, uint64_t k, int ticks)
{
    uint64_t hash = replies(map, guided(), goal, k, ticks);
    ck_assert_uint_eq(replies(map, guided()->unled, goal, k, ticks), hash);
}

/* The blank goes where it can from the goal, 30 times. */
static void shuffle(struct tp_test_rng *rng, uint8_t tiles[16])
{
    int blank = 0;
    for (uint8_t i = 0; i < 16; i++)
        tiles[i] = i;
    for (int steps = 0; steps < 30;) {
        static const int dx[] = {1, -1, 0, 0}, dy[] = {0, 0, 1, -1};
        uint32_t way = tp_test_below(rng, 4);
        int x = blank % 4 + dx[way], y = blank / 4 + dy[way];
        if (x < 0 || x > 3 || y < 0 || y > 3)
            continue;
        tiles[blank] = tiles[y * 4 + x];
        tiles[blank = y * 4 + x] = 0;
        steps++;
    }
}

START_TEST(on_a_puzzle_it_plays_as_the_row_it_names)
{
    struct tp_test_rng rng = tp_test_rng("puzzle");
    for (int i = 0; i < 10; i++) {
        uint8_t tiles[16];
        struct tp_map *map;
        shuffle(&rng, tiles);
        if (tp_map_build_puzzle(&map, tiles) != 0)
            continue; /* back at the goal */
        plays_alike(map, 1, tp_test_between(&rng, 1, 20), 3000);
        tp_map_unref(map);
    }
}
END_TEST

START_TEST(without_a_cache_of_fields_it_walks_as_the_row_it_names)
{
    struct tp_test_rng rng = tp_test_rng("no fields");
    for (int i = 0; i < 10; i++) {
        struct tp_map *map = tp_test_map_random(&rng, 60, 60, 15);
        tp_test_set_rect(&map, 0, 0, 60, 1, '.');
        tp_test_set_rect(&map, 59, 0, 1, 60, '.');
        plays_alike(map, 60 * 60 - 1, tp_test_between(&rng, 1, 20), 300);
        tp_map_unref(map);
    }
}
END_TEST

/* ---- What is in effect ---- */

static void in_effect(struct tp_session_params *params, const struct tp_map *map, struct tp_pool *pool,
                      uint32_t w_milli, enum tp_pause pause, enum tp_restart restart)
{
    struct tp_session *session;
    struct tp_refusal refusal;
    int error = tp_session_open(&session, params, map, pool, &refusal);
    ck_assert_msg(error == 0, "%s: %s", refusal.field, refusal.reason);
    const struct tp_session_params *has = &mind_of(session)->params;
    ck_assert_uint_eq(has->w_milli, w_milli);
    ck_assert_int_eq(has->pause_on_backtrack, pause);
    ck_assert_int_eq(has->restart, restart);
    tp_session_close(session);
}

START_TEST(what_a_session_has_that_does_not_say)
{
    struct tp_map *plain = tp_test_map_free(20, 20), *led;
    const struct tp_layer_kind kind = {plain->profile, 1, true, TP_BLOCKS_STRAIGHT};
    ck_assert_int_eq(tp_layer_build(&led, plain, &kind), 0);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_field_cache *fields = tp_field_cache_open(&pool, 1 << 20);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.goal = 399;
    in_effect(&params, led, &pool, 1000, TP_PAUSE_NEVER, TP_RESTART_NEVER); /* nobody gave it fields */
    params.fields = fields;
    in_effect(&params, led, &pool, 2000, TP_PAUSE_ON_BACKTRACK, TP_RESTART_ON_RISE);
    in_effect(&params, plain, &pool, 2000, TP_PAUSE_ON_BACKTRACK,
              TP_RESTART_ON_RISE); /* later versions may have blocks */
    params.guide_units = 0;
    in_effect(&params, led, &pool, 1000, TP_PAUSE_NEVER, TP_RESTART_NEVER);
    params.guide_units = 1;
    in_effect(&params, led, &pool, 2000, TP_PAUSE_ON_BACKTRACK, TP_RESTART_ON_RISE);
    params.w_milli = 1300; /* what is said holds, led or not */
    params.pause_on_backtrack = TP_PAUSE_NEVER;
    params.restart = TP_RESTART_LAZY;
    in_effect(&params, led, &pool, 1300, TP_PAUSE_NEVER, TP_RESTART_LAZY);
    params.guide_units = 0;
    params.pause_on_backtrack = TP_PAUSE_ON_BACKTRACK;
    in_effect(&params, led, &pool, 1300, TP_PAUSE_ON_BACKTRACK, TP_RESTART_LAZY);
    params.w_milli = 1000;
    params.guide_units = TP_GUIDE_UNITS_UNSET;
    in_effect(&params, led, &pool, 1000, TP_PAUSE_ON_BACKTRACK, TP_RESTART_LAZY);
    params.motion = TP_MOTION_INERTIA;
    params.w_milli = TP_W_UNSET;
    params.pause_on_backtrack = TP_PAUSE_DEFAULT;
    params.restart = TP_RESTART_DEFAULT;
    in_effect(&params, led, &pool, 1000, TP_PAUSE_NEVER, TP_RESTART_NEVER);
    tp_field_cache_close(fields);
    tp_pool_fini(&pool);
    tp_map_unref(led);
    tp_map_unref(plain);
}
END_TEST

/* Of the rows guided alone pauses, and is another's where it is not led. */
START_TEST(the_other_rows_are_their_own)
{
    struct tp_map *map = tp_test_map_free(20, 20);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    for (int i = 0; i < row_count(); i++) {
        const struct tp_algorithm *row = tp_algorithm_at((size_t)i);
        bool can = row_can(row, TP_CAN_BE_GUIDED);
        ck_assert(can == (row->unled != NULL) && can == row->pause_on_backtrack);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        if (!can)
            in_effect(&params, map, &pool, row->w_milli ? row->w_milli : 1000, TP_PAUSE_NEVER,
                      (enum tp_restart)row->restart);
    }
    tp_pool_fini(&pool);
    tp_map_unref(map);
}
END_TEST

static Suite *unled_suite(void)
{
    Suite *suite = suite_create("unled");
    TCase *tcase = tcase_create("alike");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
    tcase_add_loop_test(tcase, not_led_it_lives_as_the_row_it_names, 0, SPACE_KINDS);
    tcase_add_test(tcase, on_a_puzzle_it_plays_as_the_row_it_names);
    tcase_add_test(tcase, without_a_cache_of_fields_it_walks_as_the_row_it_names);
    suite_add_tcase(suite, tcase);
    TCase *effect = tcase_create("in effect");
    tcase_add_test(effect, what_a_session_has_that_does_not_say);
    tcase_add_test(effect, the_other_rows_are_their_own);
    suite_add_tcase(suite, effect);
    return suite;
}

int main(void)
{
    return tp_test_main("test_unled", unled_suite);
}
