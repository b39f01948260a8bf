/* What holds for every row of the registry on every kind of state space whatever happens: random maps, graphs and
 * tracks, random changes between ticks, random budgets, goals that move, agents that stand elsewhere than thought, search
 * stamps that wrap, memory that runs out. Every tick is watched (tests/lib/play.h).
 *
 * A life is played from one number: TICKPATH_SEED repeats a run, TICKPATH_STEPS or TICKPATH_LONG=1 lengthen
 * it. */
#include "tests/lib/random_sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- goals ---- */

static uint32_t more_goals[3];

/* Several goals, or another policy than EXACT. */
static void random_goals(struct tp_test_rng *rng, struct tp_session_params *params, const struct space *space)
{
    const struct tp_map *map = space->map;
    params->more_goals = more_goals;
    params->more_goal_count = tp_test_below(rng, 4);
    for (uint32_t i = 0; i < params->more_goal_count; i++)
        more_goals[i] = space_cell(rng, map, tp_test_percent(rng, 70));
    bool blind = params->heuristic == TP_HEURISTIC_ZERO || (map->graph && !map->graph->x);
    params->goal_policy = (enum tp_goal_policy)tp_test_below(rng, 3);
    if (blind)
        params->goal_policy = TP_GOAL_EXACT;
    if (params->goal_policy == TP_GOAL_WITHIN)
        params->goal_radius = tp_test_below(rng, 5 * TP_COST_UNIT);
    params->bounded &= params->goal_policy != TP_GOAL_WITHIN;
}

static bool time_bounded(const struct tp_algorithm *row)
{
    return strcmp(tp_engine_name(row->engine), "time-bounded") == 0;
}

/* ---- a life ---- */

/* What is varied between two lives that must be the same move by move. */
struct variant {
    uint32_t stamp_max;
    bool used_pool; /* the pool served another session before */
};

static void dirty(struct tp_pool *pool)
{
    struct tp_map *map = tp_test_map_free(70, 70);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.start = 17;
    params.goal = 70 * 70 - 1;
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    struct play play;
    play_open_in(&play, &params, map, pool);
    for (int i = 0; i < 5; i++)
        play_tick(&play, NULL);
    play_close(&play);
    tp_map_unref(map);
}

/* An agent that owes nothing may go on for ever: it is watched for so long. */
enum { OWING_NOTHING_TICKS = 300 };

/* What a row owes on a map that stands still. */
struct debt {
    bool arrives; /* it must get to the goal */
    bool settles; /* it must get there or tell that no way is there */
    uint64_t ticks_max;
};

/* Where every move can be taken back, every row arrives if a way is there, and those that can prove that there is none tell it. */
static struct debt debt_on_grid(struct play *play)
{
    bool was_blocked = !play->plain.weight[play->cell], reachable = play_reachable(play);
    struct debt debt = {.ticks_max = 12ull * play->map->width * play->map->height + 400};
    if (play_knows_enough(play)) { /* else the end depends on what it believes */
        debt.arrives = reachable && !was_blocked;
        debt.settles = debt.arrives || row_can(play->params.algorithm, TP_CAN_DETECT_UNREACHABLE);
    }
    if (row_walks_to_learn(play->params.algorithm)) /* it walks as often as h is to be raised */
        debt.ticks_max = 400ull * play->map->width * play->map->height + 4000;
    if (!debt.settles)
        debt.ticks_max = OWING_NOTHING_TICKS;
    return debt;
}

/* Elsewhere an agent that walks before its search is done may get to where no way leads on. The time-bounded rows tell it then, and
 * arrive where no move can lead astray. Rows that walk a whole path owe the same as on grids; those that learn as they walk
 * arrive where no move can lead astray.
 * A vehicle can always brake, and at rest go on to any cell beside its own; only one caught in a wall may choose wrongly. */
static struct debt debt_elsewhere(struct play *play)
{
    const struct tp_algorithm *row = play->params.algorithm;
    bool reachable = play_reachable(play);
    bool detects = row_can(row, TP_CAN_DETECT_UNREACHABLE);
    bool safe = reachable && (play->graph ? plain_graph_safe(play->graph, play->cell, play->goal)
                                          : play->plain.weight[play->cell] != 0);
    uint64_t states = play->graph ? play->graph->nodes : 49ull * play->map->width * play->map->height;
    struct debt debt = {.ticks_max = 12 * states + 400};
    if (row_walks_to_learn(row)) {
        debt.arrives = debt.settles = safe;
        debt.ticks_max = 400 * states + 4000;
    } else {
        debt.arrives = time_bounded(row) ? safe : reachable;
        debt.settles = detects;
        if (time_bounded(row))
            debt.ticks_max = 100 * states + 100000;
    }
    if (!debt.settles)
        debt.ticks_max = OWING_NOTHING_TICKS;
    return debt;
}

/* The map stands still: the session must come to the true end within a bounded number of ticks. */
static void settle(struct tp_test_rng *rng, struct play *play)
{
    struct debt debt = play->graph || play->drives ? debt_elsewhere(play) : debt_on_grid(play);
    uint64_t ticks_left = debt.ticks_max;
    struct play_clock clock;
    struct tp_tick_reply reply;
    do {
        struct tp_budget budget = random_budget(rng, play->session, &clock, 1);
        reply = play_tick(play, &budget);
    } while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE && --ticks_left > 0);
    bool settled = ticks_left > 0;
    if (debt.arrives) /* UNREACHABLE is checked where it is said */
        ck_assert_msg(reply.status == TP_STATUS_ARRIVED,
                      "%s: a way is there, but the agent got to %u, status %d, by tick %llu", play->label,
                      play->cell, (int)reply.status, (unsigned long long)play->ticks);
    else if (debt.settles)
        ck_assert_msg(settled, "%s: no way is there, and it is not told; on %u, status %d, by tick %llu",
                      play->label, play->cell, (int)reply.status, (unsigned long long)play->ticks);
    struct tp_tick_reply again = play_tick(play, NULL);
    ck_assert_msg(!settled || again.status == reply.status, "%s: status %d, then %d", play->label,
                  (int)reply.status, (int)again.status);
}

/* One life from one number. Returns the hash of all replies. */
static uint64_t life(uint64_t number, const struct tp_algorithm *row, enum space_kind kind,
                     struct variant variant)
{
    struct tp_test_rng rng = {number};
    struct space space;
    space_random(&space, &rng, kind, row_space_size(row));
    struct tp_map *map = space.map;
    struct tp_session_params params = random_params(&rng, row, &space);
    if (row->capabilities & TP_CAN_CHOOSE_GOAL && tp_test_percent(&rng, 50))
        random_goals(&rng, &params, &space);
    params.stamp_max = variant.stamp_max;
    struct tp_map *known = random_knowledge(&rng, &params, &space);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    if (variant.used_pool)
        dirty(&pool);
    struct play play;
    space_open(&play, &params, &space, &pool);
    snprintf(play.label, sizeof play.label,
             "life %llu of %s on a %s (%ux%u, n %d, corners %d, h %d, w %u/1000, start %u, goal %u, velocity (%d, %d), "
             "knowledge %d, sight %u, restart %d, policy %d of %u, radius %llu, margin %u, pause %d, bounded %d, open list %d, stamps to %u%s; TICKPATH_SEED=%llu)",
             (unsigned long long)number, row->name, space_names[kind], map->width, map->height, (int)params.neighbours,
             (int)params.corners, (int)params.heuristic, params.w_milli, params.start, params.goal, params.start_vx,
             params.start_vy, (int)params.knowledge, params.sensor_radius, (int)params.restart,
             (int)params.goal_policy, 1 + params.more_goal_count, (unsigned long long)params.goal_radius,
             params.switch_margin_milli, (int)params.pause_on_backtrack, params.bounded, (int)params.open_list, variant.stamp_max,
             variant.used_pool ? ", used pool" : "", (unsigned long long)tp_test_seed());
    uint32_t ticks = tp_test_between(&rng, 10, 90);
    struct plain_vehicle before = play_vehicle(&play);
    if (kind != SPACE_GRID && tp_test_percent(&rng, 30))
        ticks = 0;
    uint32_t change_percent = tp_test_percent(&rng, 20) ? 0 : tp_test_between(&rng, 3, 40);
    for (uint32_t i = 0; i < ticks; i++) {
        if (tp_test_percent(&rng, change_percent))
            random_change(&rng, &play, &space);
        if (tp_test_percent(&rng, 3))
            play_retarget(&play, space_cell(&rng, play.map, tp_test_percent(&rng, 80)));
        if (tp_test_percent(&rng, 6))
            play_retarget(&play, space_cell_near(&rng, play.map, play.goal));
        if (row->capabilities & TP_CAN_CHOOSE_GOAL && tp_test_percent(&rng, 3)) {
            uint32_t goals[] = {space_cell(&rng, play.map, true), space_cell(&rng, play.map, false)};
            play_retarget_set(&play, goals, tp_test_between(&rng, 1, 2));
        }
        if (tp_test_percent(&rng, 5))
            random_place(&rng, &play, before);
        before = play_vehicle(&play);
        struct play_clock clock;
        struct tp_budget budget = random_budget(&rng, play.session, &clock, 0);
        play_tick(&play, tp_test_percent(&rng, 30) ? NULL : &budget);
    }
    settle(&rng, &play);
    uint64_t hash = play.hash ^ play.stats.move_hash;
    play_close(&play);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    if (known)
        tp_map_unref(known);
    space_fini(&space);
    return hash;
}

START_TEST(every_life_keeps_the_contract)
{
    const struct tp_algorithm *row = row_of(_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t lives = tp_test_steps(100, 600);
    for (uint64_t i = 0; i < lives; i++)
        life(tp_test_next(&rng), row, kind_of(_i), (struct variant){0});
}
END_TEST

START_TEST(one_life)
{
    const char *number = getenv("TICKPATH_LIFE");
    if (number)
        life(strtoull(number, NULL, 10), row_of(_i), kind_of(_i), (struct variant){0});
}
END_TEST

START_TEST(the_same_inputs_give_the_same_moves)
{
    const struct tp_algorithm *row = row_of(_i);
    enum space_kind kind = kind_of(_i);
    struct tp_test_rng rng = tp_test_rng("twice");
    uint64_t lives = tp_test_steps(20, 120);
    for (uint64_t i = 0; i < lives; i++) {
        uint64_t number = tp_test_next(&rng);
        uint64_t hash = life(number, row, kind, (struct variant){0});
        uint64_t used = life(number, row, kind, (struct variant){.used_pool = true});
        uint64_t wrapped = life(number, row, kind, (struct variant){.stamp_max = 15});
        ck_assert_msg(hash == used, "life %llu of %s on a %s differs in a used pool (TICKPATH_SEED=%llu)",
                      (unsigned long long)number, row->name, space_names[kind],
                      (unsigned long long)tp_test_seed());
        ck_assert_msg(
            hash == wrapped, "life %llu of %s on a %s differs with 4-bit stamps (TICKPATH_SEED=%llu)",
            (unsigned long long)number, row->name, space_names[kind], (unsigned long long)tp_test_seed());
    }
}
END_TEST

/* ---- the search stamp wraps ---- */

/* The same session twice, the second time with few search stamps: agents put elsewhere and goals far away begin a search
 * each, so that the stamps come round many times. Returns how many searches were begun anew. */
static uint64_t wrap_stamps(struct tp_test_rng *rng, const struct tp_algorithm *row, enum space_kind kind,
                            uint64_t number)
{
    struct space space;
    struct space_size size = row_space_size(row);
    size.grid_side = 64;
    space_random(&space, rng, kind, size);
    struct tp_session_params params = random_params(rng, row, &space);
    params.budget = tp_budget_k(tp_test_between(rng, 5, 60));
    struct play usual, small;
    space_open(&usual, &params, &space, NULL);
    params.stamp_max = tp_test_percent(rng, 50) ? 15 : tp_test_between(rng, 2, 15);
    space_open(&small, &params, &space, NULL);
    snprintf(usual.label, sizeof usual.label, "case %llu of %s on a %s, stamps (TICKPATH_SEED=%llu)",
             (unsigned long long)number, row->name, space_names[kind], (unsigned long long)tp_test_seed());
    memcpy(small.label, usual.label, sizeof small.label);
    for (int round = 0; round < 150; round++) {
        uint32_t goal = space_cell(rng, space.map, true);
        random_stand(rng, &usual, space_cell(rng, space.map, true));
        if (usual.drives)
            play_at_velocity(&small, usual.cell, usual.vx, usual.vy);
        else
            play_at(&small, usual.cell);
        play_retarget(&usual, goal);
        play_retarget(&small, goal);
        for (uint32_t tick = tp_test_between(rng, 1, 4); tick > 0; tick--) {
            struct tp_tick_reply a = play_tick(&usual, NULL), b = play_tick(&small, NULL);
            PLAY_SAY(&usual,
                     a.to == b.to && a.vx == b.vx && a.vy == b.vy && a.status == b.status &&
                         a.flags == b.flags && a.work.expansions == b.work.expansions &&
                         usual.stats.search_hash == small.stats.search_hash,
                     "round %d: to %u, status %d; with stamps to %u: to %u, status %d", round, a.to,
                     (int)a.status, params.stamp_max, b.to, (int)b.status);
        }
    }
    uint64_t restarts = usual.stats.restarts;
    ck_assert_uint_eq(restarts, small.stats.restarts);
    play_close(&usual);
    play_close(&small);
    space_fini(&space);
    return restarts;
}

START_TEST(a_small_search_stamp_wraps_without_harm)
{
    const struct tp_algorithm *row = row_of(_i);
    struct tp_test_rng rng = tp_test_rng("stamps");
    uint64_t cases = tp_test_steps(3, 40), restarts = 0;
    /* some spaces have goals that nothing is searched for: enough of them */
    for (uint64_t i = 0; i < cases || (cases >= 3 && restarts <= 16 && i < 10 * cases); i++)
        restarts += wrap_stamps(&rng, row, kind_of(_i), i);
    /* D* Lite's search is repaired, not begun anew, when the goal of a graph without coordinates moves */
    bool repairs = row == tp_algorithm_find("dstarlite") && kind_of(_i) == SPACE_GRAPH;
    ck_assert_msg(cases < 3 || restarts > 16 || repairs, "%s on a %s: %llu restarts in %llu cases", row->name,
                  space_names[kind_of(_i)], (unsigned long long)restarts, (unsigned long long)cases);
}
END_TEST

/* ---- memory runs out ---- */

/* A space that has more states than the caps below hold, in most cases; its first and last cell are passable. */
static void large_space(struct space *space, struct tp_test_rng *rng, enum space_kind kind)
{
    *space = (struct space){.kind = kind};
    switch (kind) {
    case SPACE_GRAPH:
        space_random(space, rng, kind, (struct space_size){.nodes = 20000, .cost_max = 1000});
        break;
    case SPACE_VEHICLE:
        space->map = tp_test_map_random(rng, 60, 60, 10);
        break;
    default:
        space->map = tp_test_map_random(rng, 300, 300, 25);
    }
}

/* Plays until the end is told or 300 ticks are over; every answer is watched, UNREACHABLE above all. */
static void play_in_little_memory(struct tp_test_rng *rng, const struct tp_algorithm *row,
                                  enum space_kind kind, uint64_t number, uint64_t cap)
{
    struct space space;
    large_space(&space, rng, kind);
    struct tp_session_params params = random_params(rng, row, &space);
    if (space.kind == SPACE_GRAPH && params.w_milli != TP_W_UNSET && params.w_milli > 50000)
        params.w_milli = 50000; /* a larger w is refused on so many nodes, whose edges may become as dear as can be */
    params.budget = tp_budget_k(200);
    params.start = 0;
    params.goal = space.map->width * space.map->height - 1;
    bool by_pool = tp_test_percent(rng, 40);
    struct tp_pool_cap pool_cap = {.bytes = 0, .bytes_max = by_pool ? cap : UINT64_MAX};
    if (!by_pool)
        params.node_bytes_max = cap;
    struct tp_pool pool;
    tp_pool_init(&pool, &pool_cap);
    struct play play;
    space_open(&play, &params, &space, &pool);
    snprintf(play.label, sizeof play.label, "case %llu of %s on a %s, %llu bytes of %s (TICKPATH_SEED=%llu)",
             (unsigned long long)number, row->name, space_names[kind], (unsigned long long)cap,
             by_pool ? "the pool" : "its own", (unsigned long long)tp_test_seed());
    bool told = false;
    struct tp_tick_reply reply;
    do {
        reply = play_tick(&play, NULL);
        told |= (reply.flags & TP_FLAG_NODE_CAP) != 0;
        PLAY_SAY(&play, atomic_load(&pool_cap.bytes) <= atomic_load(&pool_cap.bytes_max), "%llu bytes taken",
                 (unsigned long long)atomic_load(&pool_cap.bytes));
        if (play.ticks % 40 == 0) /* a restart gets no memory either */
            play_retarget(&play, space_cell(rng, space.map, true));
    } while (play.ticks < 300 && reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE);
    PLAY_SAY(&play,
             told || reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE ||
                 play.stats.bytes_peak < cap,
             "NODE_CAP was not said");
    play_close(&play);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    ck_assert_uint_eq(atomic_load(&pool_cap.bytes), 0);
    space_fini(&space);
}

START_TEST(a_session_out_of_memory_still_answers)
{
    static const uint64_t caps[] = {1, 500, 5000, 20000, 60000, 150000};
    struct tp_test_rng rng = tp_test_rng("memory");
    uint64_t cases = tp_test_steps(6, 90);
    for (uint64_t i = 0; i < cases; i++)
        play_in_little_memory(&rng, row_of(_i), kind_of(_i), i, caps[i % 6]);
}
END_TEST

static Suite *property_suite(void)
{
    Suite *suite = suite_create("property");
    TCase *tcase = tcase_create("every row");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
    int pairs = rows_times_kinds();
    tcase_add_loop_test(tcase, every_life_keeps_the_contract, 0, pairs);
    tcase_add_loop_test(tcase, the_same_inputs_give_the_same_moves, 0, pairs);
    tcase_add_loop_test(tcase, a_small_search_stamp_wraps_without_harm, 0, pairs);
    tcase_add_loop_test(tcase, a_session_out_of_memory_still_answers, 0, pairs);
    suite_add_tcase(suite, tcase);
    TCase *one = tcase_create("one life");
    tcase_add_loop_test(one, one_life, 0, pairs);
    suite_add_tcase(suite, one);
    return suite;
}

int main(void)
{
    return tp_test_main("test_property", property_suite);
}
