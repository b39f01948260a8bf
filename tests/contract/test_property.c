/* What holds for every row of the registry on every kind of state space whatever happens: random maps, graphs and
 * tracks, random changes between ticks, random budgets, goals that move, agents that stand elsewhere than thought.
 * Every tick is watched (tests/lib/play.h).
 *
 * A life is played from one number: TICKPATH_SEED repeats a run, TICKPATH_STEPS or TICKPATH_LONG=1 lengthen
 * it. */
#include "tests/lib/play.h"
#include "tests/lib/random_spaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const enum tp_neighbours neighbour_counts[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
static const enum tp_corners corner_rules[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE, TP_CORNERS_ALWAYS};

static bool can(const struct tp_algorithm *row, enum tp_capability capability)
{
    return row->capabilities & capability;
}

static int row_count(void)
{
    int count = 0;
    while (tp_algorithm_at((size_t)count))
        count++;
    return count;
}

/* ---- random things ---- */

/* Rows that learn as they walk need as many moves as h is to be raised. */
static bool walks_to_learn(const struct tp_algorithm *row)
{
    return strcmp(tp_engine_name(row->engine), "agent-centred") == 0;
}

static struct space_size size_for(const struct tp_algorithm *row)
{
    return (struct space_size){.grid_side = 40,
                               .track_side = walks_to_learn(row) ? 8 : 12,
                               .nodes = walks_to_learn(row) ? 40 : 80,
                               .cost_max = walks_to_learn(row) ? 10 : UINT32_MAX};
}

/* A budget the session takes; `clock` serves a deadline. `least` is the least work a tick must be able to do.
 */
static struct tp_budget random_budget(struct tp_test_rng *rng, const struct tp_session *session,
                                      struct play_clock *clock, uint32_t least)
{
    struct tp_budget budget;
    for (;;) {
        switch (tp_test_below(rng, 5)) {
        case 0:
            clock->looks = least + tp_test_below(rng, 6);
            budget = play_deadline(clock);
            break;
        case 1:
        case 2:
            budget = tp_budget_r(tp_test_between(rng, 1, 60), tp_test_below(rng, 1001),
                                 tp_test_between(rng, 1, 20));
            break;
        default: {
            static const uint64_t lookaheads[] = {1, 2, 5, 20, 100, TP_BUDGET_UNLIMITED};
            budget = tp_budget_k(lookaheads[tp_test_below(rng, 6)]);
        }
        }
        if (!least && tp_test_percent(rng, 15))
            budget.expansions_max = tp_test_below(rng, 12);
        struct tp_refusal refusal;
        int error = tp_session_check_budget(session, &budget, &refusal);
        if (error == 0)
            return budget;
        /* an R too small to hold both an expansion and a trace step */
        ck_assert_int_eq(error, TP_ERR_INVALID_ARGUMENT);
        ck_assert_ptr_nonnull(refusal.field);
        ck_assert_int_eq(budget.kind, TP_BUDGET_R);
    }
}

/* Graphs do not change yet: the same one is handed in as a new version. */
static void random_version(struct tp_test_rng *rng, struct play *play, const struct space *space)
{
    struct tp_map *map = space_graph_version(space, tp_test_percent(rng, 50), play->map->version + 1);
    play_use_map(play, map);
    tp_map_unref(map);
}

static void random_change(struct tp_test_rng *rng, struct play *play)
{
    struct tp_change changes[6];
    uint8_t bits[6][8];
    uint32_t count = tp_test_between(rng, 1, 6);
    const struct tp_map *map = play->map;
    for (uint32_t i = 0; i < count; i++) {
        struct tp_change *change = &changes[i];
        memset(change, 0, sizeof *change);
        change->class_to = tp_test_percent(rng, 50) ? '@' : (uint8_t) ".GS"[tp_test_below(rng, 3)];
        uint32_t cell =
            tp_test_percent(rng, 40) ? space_cell_near(rng, map, play->cell) : space_cell(rng, map, false);
        change->x = cell % map->width;
        change->y = cell / map->width;
        change->kind = (enum tp_change_kind)tp_test_below(rng, 3);
        change->width = tp_test_between(rng, 1, map->width - change->x < 8 ? map->width - change->x : 8);
        change->height = tp_test_between(rng, 1, map->height - change->y < 8 ? map->height - change->y : 8);
        for (int byte = 0; byte < 8; byte++)
            bits[i][byte] = (uint8_t)tp_test_next(rng);
        change->bits = bits[i];
        change->bits_size = 8;
    }
    play_apply(play, changes, count);
}

static int random_velocity(struct tp_test_rng *rng)
{
    return (int)tp_test_below(rng, 2 * TP_VELOCITY_MAX + 1) - TP_VELOCITY_MAX;
}

static void random_motion(struct tp_test_rng *rng, struct tp_session_params *params, const struct space *space)
{
    static const enum tp_heuristic of_graph[] = {TP_HEURISTIC_DEFAULT, TP_HEURISTIC_ZERO, TP_HEURISTIC_EUCLID};
    static const enum tp_heuristic of_vehicle[] = {TP_HEURISTIC_DEFAULT, TP_HEURISTIC_ZERO, TP_HEURISTIC_MAXIMUM};
    if (space->kind == SPACE_GRAPH)
        params->heuristic = of_graph[tp_test_below(rng, space->x ? 3 : 2)];
    if (space->kind != SPACE_VEHICLE)
        return;
    params->heuristic = of_vehicle[tp_test_below(rng, 3)];
    params->motion = TP_MOTION_INERTIA;
    if (tp_test_percent(rng, 50)) {
        params->start_vx = (int8_t)random_velocity(rng);
        params->start_vy = (int8_t)random_velocity(rng);
    }
}

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
    if (params->goal_policy == TP_GOAL_WITHIN && blind)
        params->goal_policy = TP_GOAL_NEAREST;
    if (params->goal_policy == TP_GOAL_WITHIN)
        params->goal_radius = tp_test_below(rng, 5 * TP_COST_UNIT);
}

static bool time_bounded(const struct tp_algorithm *row)
{
    return strcmp(tp_engine_name(row->engine), "time-bounded") == 0;
}

static struct tp_session_params random_params(struct tp_test_rng *rng, const struct tp_algorithm *row,
                                              const struct space *space)
{
    const struct tp_map *map = space->map;
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.start = space_cell(rng, map, tp_test_percent(rng, 85));
    params.goal = space_cell(rng, map, tp_test_percent(rng, 85));
    params.neighbours = neighbour_counts[tp_test_below(rng, 3)];
    params.corners = corner_rules[tp_test_below(rng, 3)];
    static const uint32_t weights[] = {1000, 1400, 3000, 50000, 1000000000};
    if (can(row, TP_CAN_TAKE_W))
        params.w_milli = weights[tp_test_below(rng, 5)];
    if (can(row, TP_CAN_ENHANCE_2009)) {
        params.longest_path_rule = tp_test_percent(rng, 25);
        params.shortcut = space->kind == SPACE_GRID && tp_test_percent(rng, 25);
        params.path_switch = tp_test_percent(rng, 25);
    }
    if (time_bounded(row)) {
        params.switch_margin_milli = tp_test_percent(rng, 70) ? 0 : tp_test_between(rng, 1, 1000);
        params.pause_on_backtrack = tp_test_percent(rng, 25);
    }
    if (tp_test_percent(rng, 20))
        params.restart = can(row, TP_CAN_RESTART_BY_RULE)
                             ? (enum tp_restart)tp_test_between(rng, TP_RESTART_NEVER, TP_RESTART_ON_RISE)
                             : TP_RESTART_EAGER;
    if (tp_test_percent(rng, 50))
        params.budget = tp_budget_k(tp_test_between(rng, 1, 30));
    random_motion(rng, &params, space);
    return params;
}

/* Half of the lives of a row that discovers: the map is unknown, or another is taken for it. Gives a reference to the
 * known map, or NULL. */
static struct tp_map *random_knowledge(struct tp_test_rng *rng, struct tp_session_params *params,
                                       const struct space *space)
{
    const struct tp_map *map = space->map;
    if (space->kind != SPACE_GRID || !can(params->algorithm, TP_CAN_DISCOVER) || tp_test_percent(rng, 50))
        return NULL;
    uint32_t least = params->neighbours == TP_NEIGHBOURS_16 ? 2 : 1;
    params->sensor_radius = tp_test_percent(rng, 50) ? 0 : tp_test_between(rng, least, 4);
    if (tp_test_percent(rng, 50)) {
        params->knowledge = TP_KNOWLEDGE_FREESPACE;
        return NULL;
    }
    params->knowledge = TP_KNOWLEDGE_MAP;
    struct tp_map *known;
    switch (tp_test_below(rng, 3)) {
    case 0:
        known = (struct tp_map *)tp_map_ref(map);
        break;
    case 1:
        known = tp_test_map_free(map->width, map->height);
        break;
    default:
        known = tp_test_map_random(rng, map->width, map->height, 20);
    }
    params->known = known;
    return known;
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
    if (!play_knows_enough(play))
        return debt; /* the end depends on what it believes */
    debt.arrives = reachable && !was_blocked;
    debt.settles = debt.arrives || can(play->params.algorithm, TP_CAN_DETECT_UNREACHABLE);
    return debt;
}

/* Elsewhere an agent that walks before its search is done may get to where no way leads on. Then TBR(WA*) tells it, and the
 * other time-bounded rows wait for ever, as published; they need not even get back to their path. Rows that walk a whole
 * path owe the same as on grids; those that learn as they walk arrive where no move can lead astray.
 * A vehicle can always brake, and at rest go on to any cell beside its own; only one caught in a wall may choose wrongly. */
static struct debt debt_elsewhere(struct play *play)
{
    const struct tp_algorithm *row = play->params.algorithm;
    bool reachable = play_reachable(play), fresh = play->ticks == 0;
    bool detects = can(row, TP_CAN_DETECT_UNREACHABLE), reverses = play->graph && plain_graph_reversible(play->graph);
    bool safe = reachable && (play->graph ? plain_graph_safe(play->graph, play->cell, play->goal)
                                          : play->plain.weight[play->cell] != 0);
    uint64_t states = play->graph ? play->graph->nodes : 49ull * play->map->width * play->map->height;
    bool may_wait = time_bounded(row) && row->learning != TP_LEARNING_DIJKSTRA;
    struct debt debt = {.ticks_max = 12 * states + 400};
    if (may_wait) {
        debt.arrives = reachable && reverses;
        debt.settles = reverses || (fresh && !reachable);
    } else if (walks_to_learn(row)) {
        debt.arrives = debt.settles = safe;
        debt.ticks_max = safe ? 400 * states + 4000 : 300;
    } else {
        debt.arrives = time_bounded(row) ? safe : reachable;
        debt.settles = detects;
        if (time_bounded(row))
            debt.ticks_max = 100 * states + 100000;
    }
    if (!debt.settles)
        debt.ticks_max = 300;
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
                      "%s: a way is there, but the agent got to %u, status %d, by tick %llu", play->label, play->cell,
                      (int)reply.status, (unsigned long long)play->ticks);
    else if (debt.settles)
        ck_assert_msg(settled, "%s: no way is there, and it is not told; on %u, status %d, by tick %llu", play->label,
                      play->cell, (int)reply.status, (unsigned long long)play->ticks);
    struct tp_tick_reply again = play_tick(play, NULL);
    ck_assert_msg(!settled || again.status == reply.status, "%s: status %d, then %d", play->label,
                  (int)reply.status, (int)again.status);
}

static void open_in(struct play *play, const struct tp_session_params *params, const struct space *space,
                    struct tp_pool *pool)
{
    play_open_graph(play, params, space->map, space->kind == SPACE_GRAPH ? &space->graph : NULL, pool);
}

/* The reply came late, the agent was pushed, the agent was put elsewhere. */
static void random_place(struct tp_test_rng *rng, struct play *play, struct plain_vehicle before)
{
    uint32_t cell = before.cell;
    if (tp_test_percent(rng, 50)) {
        if (play->drives)
            play_at_velocity(play, cell, before.vx, before.vy);
        else
            play_at(play, cell);
        return;
    }
    if (tp_test_percent(rng, 50))
        cell = space_cell_near(rng, play->map, play->cell);
    else
        cell = space_cell(rng, play->map, tp_test_percent(rng, 80));
    if (play->drives && tp_test_percent(rng, 60)) {
        int vx = random_velocity(rng);
        play_at_velocity(play, cell, vx, random_velocity(rng));
    } else {
        play_at(play, cell);
    }
}

/* One life from one number. Returns the hash of all replies. */
static uint64_t life(uint64_t number, const struct tp_algorithm *row, enum space_kind kind, struct variant variant)
{
    struct tp_test_rng rng = {number};
    struct space space;
    space_random(&space, &rng, kind, size_for(row));
    struct tp_map *map = space.map;
    struct tp_session_params params = random_params(&rng, row, &space);
    if (can(row, TP_CAN_CHOOSE_GOAL) && tp_test_percent(&rng, 50))
        random_goals(&rng, &params, &space);
    params.stamp_max = variant.stamp_max;
    struct tp_map *known = random_knowledge(&rng, &params, &space);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    if (variant.used_pool)
        dirty(&pool);
    struct play play;
    open_in(&play, &params, &space, &pool);
    snprintf(play.label, sizeof play.label,
             "life %llu of %s on a %s (%ux%u, n %d, corners %d, h %d, w %u/1000, start %u, goal %u, velocity (%d, %d), "
             "knowledge %d, sight %u, restart %d, policy %d of %u, radius %llu, margin %u, pause %d, stamps to %u%s; TICKPATH_SEED=%llu)",
             (unsigned long long)number, row->name, space_names[kind], map->width, map->height, (int)params.neighbours,
             (int)params.corners, (int)params.heuristic, params.w_milli, params.start, params.goal, params.start_vx,
             params.start_vy, (int)params.knowledge, params.sensor_radius, (int)params.restart,
             (int)params.goal_policy, 1 + params.more_goal_count, (unsigned long long)params.goal_radius,
             params.switch_margin_milli, params.pause_on_backtrack, variant.stamp_max,
             variant.used_pool ? ", used pool" : "", (unsigned long long)tp_test_seed());
    uint32_t ticks = tp_test_between(&rng, 10, 90);
    struct plain_vehicle before = play_vehicle(&play);
    if (kind != SPACE_GRID && tp_test_percent(&rng, 30))
        ticks = 0;
    uint32_t change_percent = tp_test_percent(&rng, 20) ? 0 : tp_test_between(&rng, 3, 40);
    for (uint32_t i = 0; i < ticks; i++) {
        if (tp_test_percent(&rng, change_percent))
            kind == SPACE_GRAPH ? random_version(&rng, &play, &space) : random_change(&rng, &play);
        if (tp_test_percent(&rng, 3))
            play_retarget(&play, space_cell(&rng, play.map, tp_test_percent(&rng, 80)));
        if (tp_test_percent(&rng, 6))
            play_retarget(&play, space_cell_near(&rng, play.map, play.goal));
        if (can(row, TP_CAN_CHOOSE_GOAL) && tp_test_percent(&rng, 3)) {
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

/* Each test is run for every row on every kind of space. */
static const struct tp_algorithm *row_of(int i)
{
    return tp_algorithm_at((size_t)i / SPACE_KINDS);
}

static enum space_kind kind_of(int i)
{
    return (enum space_kind)(i % SPACE_KINDS);
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
                      (unsigned long long)number, row->name, space_names[kind], (unsigned long long)tp_test_seed());
        ck_assert_msg(hash == wrapped, "life %llu of %s on a %s differs with 4-bit stamps (TICKPATH_SEED=%llu)",
                      (unsigned long long)number, row->name, space_names[kind], (unsigned long long)tp_test_seed());
    }
}
END_TEST

/* ---- the search stamp wraps ---- */

START_TEST(a_small_search_stamp_wraps_without_harm)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    struct tp_test_rng rng = tp_test_rng("stamps");
    uint64_t cases = tp_test_steps(6, 100);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_map *map = tp_test_map_random(&rng, 64, 64, 15);
        struct tp_session_params params = random_params(&rng, row, &(struct space){.map = map});
        params.budget = tp_budget_k(tp_test_between(&rng, 5, 60));
        struct play usual, small;
        play_open(&usual, &params, map);
        params.stamp_max = tp_test_percent(&rng, 50) ? 15 : tp_test_between(&rng, 2, 15);
        play_open(&small, &params, map);
        snprintf(usual.label, sizeof usual.label, "case %llu of %s, stamps (TICKPATH_SEED=%llu)",
                 (unsigned long long)i, row->name, (unsigned long long)tp_test_seed());
        memcpy(small.label, usual.label, sizeof small.label);
        for (int round = 0; round < 150; round++) {
            uint32_t cell = space_cell(&rng, map, true), goal = space_cell(&rng, map, true);
            play_at(&usual, cell);
            play_at(&small, cell);
            play_retarget(&usual, goal);
            play_retarget(&small, goal);
            for (uint32_t tick = tp_test_between(&rng, 1, 4); tick > 0; tick--) {
                struct tp_tick_reply a = play_tick(&usual, NULL), b = play_tick(&small, NULL);
                ck_assert_msg(a.to == b.to && a.status == b.status && a.flags == b.flags &&
                                  a.work.expansions == b.work.expansions &&
                                  usual.stats.search_hash == small.stats.search_hash,
                              "%s: round %d: to %u, status %d; with stamps to %u: to %u, status %d",
                              usual.label, round, a.to, (int)a.status, params.stamp_max, b.to, (int)b.status);
            }
        }
        ck_assert_msg(usual.stats.restarts > 16, "%s: %llu restarts", usual.label,
                      (unsigned long long)usual.stats.restarts);
        ck_assert_uint_eq(usual.stats.restarts, small.stats.restarts);
        play_close(&usual);
        play_close(&small);
        tp_map_unref(map);
    }
}
END_TEST

/* ---- a static map: split budgets, optimal costs, Theorem 2 ---- */

/* A random map with a passable start and goal that differ and are joined. */
static struct tp_map *joined_map(struct tp_test_rng *rng, const struct tp_algorithm *row,
                                 struct tp_session_params *params)
{
    for (;;) {
        struct space space;
        space_random(&space, rng, SPACE_GRID, size_for(row));
        struct tp_map *map = space.map;
        *params = random_params(rng, row, &space);
        params->longest_path_rule = params->shortcut = params->path_switch = false;
        params->start = space_cell(rng, map, true);
        params->goal = space_cell(rng, map, true);
        struct ref_problem problem = play_problem(map, params);
        uint8_t *reached = calloc((size_t)map->width * map->height, 1);
        ck_assert_ptr_nonnull(reached);
        ref_flood(&problem, params->start, reached);
        bool good = params->start != params->goal && problem.weight[params->start] && reached[params->goal];
        free(reached);
        free((void *)problem.weight);
        if (good)
            return map;
        tp_map_unref(map);
    }
}

/* The run with the budget unlimited; its expansions are N(w). */
static struct tp_session_stats run_unlimited(const struct tp_session_params *given, const struct tp_map *map)
{
    struct tp_session_params params = *given;
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    struct play play;
    play_open(&play, &params, map);
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 4ull * map->width * map->height + 10);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    struct tp_session_stats stats = play.stats;
    play_close(&play);
    return stats;
}

/* Whether a search goes on from one tick to the next: agent-centred rows look ahead anew for each move. */
static bool search_goes_on(const struct tp_algorithm *row)
{
    return strcmp(tp_engine_name(row->engine), "agent-centred") != 0;
}

START_TEST(a_split_budget_gives_the_same_search)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (!search_goes_on(row))
        return;
    struct tp_test_rng rng = tp_test_rng("split");
    uint64_t cases = tp_test_steps(60, 1500);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_session_params params;
        struct tp_map *map = joined_map(&rng, row, &params);
        uint64_t all = run_unlimited(&params, map).expansions;
        uint64_t some = tp_test_between(&rng, 1, (uint32_t)(all > 1 ? all - 1 : 1));
        if (all > 1) {
            struct play whole, split;
            params.budget = tp_budget_k(some);
            play_open(&whole, &params, map);
            play_tick(&whole, NULL);
            play_open(&split, &params, map);
            bool ones = tp_test_percent(&rng, 50);
            for (uint64_t left = some; left > 0;) {
                uint64_t k = ones ? 1 : tp_test_between(&rng, 1, left < 20 ? (uint32_t)left : 20);
                struct tp_budget budget = tp_budget_k(k);
                struct tp_tick_reply reply = play_tick(&split, &budget);
                ck_assert_uint_eq(reply.work.expansions, k);
                left -= k;
            }
            ck_assert_msg(whole.stats.expansions == some && split.stats.expansions == some &&
                              whole.stats.search_hash == split.stats.search_hash &&
                              whole.stats.generated == split.stats.generated,
                          "case %llu of %s: %llu expansions at once and in parts differ (TICKPATH_SEED=%llu)",
                          (unsigned long long)i, row->name, (unsigned long long)some,
                          (unsigned long long)tp_test_seed());
            play_close(&whole);
            play_close(&split);
        }
        tp_map_unref(map);
    }
}
END_TEST

START_TEST(optimal_rows_are_optimal)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (!can(row, TP_CAN_BE_OPTIMAL))
        return;
    struct tp_test_rng rng = tp_test_rng("optimal");
    uint64_t cases = tp_test_steps(100, 2000);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_session_params params;
        struct tp_map *map = joined_map(&rng, row, &params);
        if (can(row, TP_CAN_TAKE_W))
            params.w_milli = 1000;
        struct ref_problem problem = play_problem(map, &params);
        problem.algorithm = REF_ASTAR;
        problem.k = UINT64_MAX;
        struct ref_run run;
        ref_run_play(&run, &problem);
        uint64_t cost = run_unlimited(&params, map).cost;
        ck_assert_msg(cost == run.cost, "case %llu of %s: cost %llu, optimal is %llu (TICKPATH_SEED=%llu)",
                      (unsigned long long)i, row->name, (unsigned long long)cost,
                      (unsigned long long)run.cost, (unsigned long long)tp_test_seed());
        ref_run_fini(&run);
        free((void *)problem.weight);
        tp_map_unref(map);
    }
}
END_TEST

/* The dearest move of the map. */
static uint64_t dearest_move(const struct ref_problem *problem)
{
    uint64_t dearest = 0;
    int64_t width = problem->width, height = problem->height;
    for (int64_t cell = 0; cell < width * height; cell++) {
        for (int64_t dy = -2; dy <= 2; dy++) {
            for (int64_t dx = -2; dx <= 2; dx++) {
                int64_t x = cell % width + dx, y = cell / width + dy;
                uint64_t cost;
                if (problem->weight[cell] && x >= 0 && y >= 0 && x < width && y < height &&
                    ref_step(problem, (uint32_t)cell, (uint32_t)(y * width + x), &cost) && cost > dearest)
                    dearest = cost;
            }
        }
    }
    return dearest;
}

/* 2014, Theorem 2: the cost is at most floor((N(w) - 1) / k) c+ + 2 w c*. */
START_TEST(theorem_2_bounds_the_cost)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (!can(row, TP_CAN_BOUND_COST))
        return;
    struct tp_test_rng rng = tp_test_rng("theorem 2");
    uint64_t cases = tp_test_steps(100, 2000);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_session_params params;
        struct tp_map *map = joined_map(&rng, row, &params);
        uint64_t w = 1000;
        if (can(row, TP_CAN_TAKE_W))
            w = params.w_milli = 1000 + tp_test_below(&rng, 4000);
        uint64_t N = run_unlimited(&params, map).expansions;
        uint64_t k = tp_test_between(&rng, 1, (uint32_t)(tp_test_percent(&rng, 60) && N > 12 ? 12 : N));
        struct ref_problem problem = play_problem(map, &params);
        problem.algorithm = REF_ASTAR;
        problem.k = UINT64_MAX;
        struct ref_run best;
        ref_run_play(&best, &problem);
        params.budget = tp_budget_k(k);
        struct play play;
        play_open(&play, &params, map);
        play_until_settled(&play, NULL, N + 4ull * map->width * map->height);
        uint64_t bound = (N - 1) / k * dearest_move(&problem) * 1000 + 2 * w * best.cost;
        ck_assert_msg(play.cell == play.goal && play.cost * 1000 <= bound,
                      "case %llu of %s: w %llu/1000, k %llu, N %llu: cost %llu, the bound is %llu/1000 "
                      "(TICKPATH_SEED=%llu)",
                      (unsigned long long)i, row->name, (unsigned long long)w, (unsigned long long)k,
                      (unsigned long long)N, (unsigned long long)play.cost, (unsigned long long)bound,
                      (unsigned long long)tp_test_seed());
        play_close(&play);
        ref_run_fini(&best);
        free((void *)problem.weight);
        tp_map_unref(map);
    }
}
END_TEST

/* ---- memory runs out ---- */

START_TEST(a_session_out_of_memory_still_answers)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    struct tp_test_rng rng = tp_test_rng("memory");
    static const uint64_t caps[] = {1, 500, 5000, 20000, 60000, 150000};
    uint64_t cases = tp_test_steps(18, 180);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_map *map = tp_test_map_random(&rng, 300, 300, 25);
        struct tp_session_params params = random_params(&rng, row, &(struct space){.map = map});
        params.budget = tp_budget_k(200);
        params.start = 0;
        params.goal = 300 * 300 - 1;
        uint64_t cap = caps[i % 6];
        bool by_pool = tp_test_percent(&rng, 40);
        struct tp_pool_cap pool_cap = {.bytes = 0, .bytes_max = by_pool ? cap : UINT64_MAX};
        if (!by_pool)
            params.node_bytes_max = cap;
        struct tp_pool pool;
        tp_pool_init(&pool, &pool_cap);
        struct play play;
        play_open_in(&play, &params, map, &pool);
        snprintf(play.label, sizeof play.label, "case %llu of %s, %llu bytes of %s (TICKPATH_SEED=%llu)",
                 (unsigned long long)i, row->name, (unsigned long long)cap, by_pool ? "the pool" : "its own",
                 (unsigned long long)tp_test_seed());
        bool told = false;
        struct tp_tick_reply reply;
        do {
            reply = play_tick(&play, NULL);
            told |= (reply.flags & TP_FLAG_NODE_CAP) != 0;
            ck_assert_msg(atomic_load(&pool_cap.bytes) <= atomic_load(&pool_cap.bytes_max),
                          "%s: %llu bytes taken", play.label,
                          (unsigned long long)atomic_load(&pool_cap.bytes));
            if (play.ticks % 40 == 0) /* a restart gets no memory either */
                play_retarget(&play, space_cell(&rng, map, true));
        } while (play.ticks < 300 && reply.status != TP_STATUS_ARRIVED &&
                 reply.status != TP_STATUS_UNREACHABLE);
        ck_assert_msg(told || reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE ||
                          play.stats.bytes_peak < cap,
                      "%s: NODE_CAP was not said", play.label);
        play_close(&play);
        ck_assert_uint_eq(pool.used_bytes, 0);
        tp_pool_fini(&pool);
        ck_assert_uint_eq(atomic_load(&pool_cap.bytes), 0);
        tp_map_unref(map);
    }
}
END_TEST

static Suite *property_suite(void)
{
    Suite *suite = suite_create("property");
    TCase *tcase = tcase_create("every row");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
    int rows = row_count();
    int pairs = rows * SPACE_KINDS;
    tcase_add_loop_test(tcase, every_life_keeps_the_contract, 0, pairs);
    tcase_add_loop_test(tcase, the_same_inputs_give_the_same_moves, 0, pairs);
    tcase_add_loop_test(tcase, a_small_search_stamp_wraps_without_harm, 0, rows);
    tcase_add_loop_test(tcase, a_split_budget_gives_the_same_search, 0, rows);
    tcase_add_loop_test(tcase, optimal_rows_are_optimal, 0, rows);
    tcase_add_loop_test(tcase, theorem_2_bounds_the_cost, 0, rows);
    tcase_add_loop_test(tcase, a_session_out_of_memory_still_answers, 0, rows);
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
