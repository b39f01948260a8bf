/* Goal sets and goal policies: the small cases that users of comparable tools have stumbled over, and random maps against a
 * plain flood and Dijkstra's algorithm. Every tick is watched (tests/lib/play.h). x and y count from the top left. */
#include "tests/lib/distances.h"
#include "tests/lib/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t lookaheads[] = {1, 2, 7, TP_BUDGET_UNLIMITED};
enum { LOOKAHEADS = sizeof lookaheads / sizeof *lookaheads };

typedef void case_fn(const struct tp_session_params *params);

/* Plays the case for every row that chooses, by k and by R. */
static void for_all(case_fn *play_case)
{
    for (size_t row = 0; tp_algorithm_at(row); row++)
        for (int k = 0; k <= LOOKAHEADS; k++) {
            struct tp_session_params params;
            tp_session_params_init(&params);
            params.algorithm = tp_algorithm_at(row);
            params.budget = k < LOOKAHEADS ? tp_budget_k(lookaheads[k]) : tp_budget_r(3, 700, 2);
            if (params.algorithm->capabilities & TP_CAN_CHOOSE_GOAL)
                play_case(&params);
        }
}

static void open_case(struct play *play, const struct tp_session_params *params, const struct tp_map *map, const char *name)
{
    play_open(play, params, map);
    snprintf(play->label, sizeof play->label, "case %s: %s, policy %d, budget %d of %llu", name, params->algorithm->name,
             (int)params->goal_policy, (int)params->budget.kind, (unsigned long long)params->budget.expansions);
}

static uint32_t at(const struct tp_map *map, uint32_t x, uint32_t y)
{
    return y * map->width + x;
}

#define EXPECT(play, condition) ck_assert_msg(condition, "%s: tick %llu, cell %u: %s", (play)->label, \
                                              (unsigned long long)(play)->ticks, (play)->cell, #condition)

/* Ends with this status on this cell (UINT32_MAX: any), and stays. */
static void expect_end(struct play *play, enum tp_status status, bool partial, uint32_t cell)
{
    struct tp_tick_reply reply = play_until_settled(play, NULL, 5000);
    for (int i = 0; i < 6; i++) {
        EXPECT(play, reply.status == status);
        EXPECT(play, cell == UINT32_MAX || reply.to == cell);
        EXPECT(play, partial == ((reply.flags & TP_FLAG_PARTIAL) != 0));
        EXPECT(play, i == 0 || reply.to == reply.from);
        EXPECT(play, i == 0 || reply.work.expansions == 0);
        reply = play_tick(play, NULL);
    }
}

static bool paces(const struct play *play)
{
    return play->params.algorithm->capabilities & TP_PACES;
}

static bool by_g(const struct play *play)
{
    return play->params.algorithm->priority == TP_PRIORITY_ASTAR;
}

/* B. A one-way ledge: nodes at x = 13, 15, 11, 10, 12, 14, the last two up a wall or on the line. Blocked is node 12: no edge
 * leads there. */
static void ledge(const struct tp_session_params *given, const double *x, const double *y, bool blocked,
                  enum tp_goal_policy policy, enum tp_status status, uint32_t cell)
{
    static const struct tp_graph_edge edges[] = {{0, 1, 3}, {1, 0, 3}, {0, 2, 3}, {2, 0, 3}, {2, 3, 2}, {3, 4, 3}, {4, 5, 3}};
    size_t count = blocked ? 5 : 7, bad;
    const struct tp_graph *graph;
    ck_assert_int_eq(tp_graph_build(&graph, 6, edges, count, x, y, &bad), 0);
    struct tp_map *map = NULL;
    ck_assert_int_eq(tp_map_build_graph(&map, graph, 1, 1), 0);
    struct plain_graph plain;
    plain_graph_init(&plain, 6, edges, count);
    struct tp_session_params params = *given;
    params.start = 0;
    params.goal = 4;
    params.goal_policy = policy;
    struct play play;
    play_open_graph(&play, &params, map, &plain, NULL);
    snprintf(play.label, sizeof play.label, "case B: %s, policy %d, budget %d of %llu", params.algorithm->name,
             (int)params.goal_policy, (int)params.budget.kind, (unsigned long long)params.budget.expansions);
    expect_end(&play, status, blocked && policy == TP_GOAL_NEAREST, cell);
    play_close(&play);
    plain_graph_fini(&plain);
    tp_map_unref(map);
    tp_graph_unref(graph);
}

static void ledges(const struct tp_session_params *given)
{
    static const double x[] = {13, 15, 11, 10, 12, 14}, level[6] = {0};
    static const double bent_x[] = {13, 15, 11, 10, 10, 10}, bent_y[] = {0, 0, 0, 0, 2, 4};
    ledge(given, x, level, false, TP_GOAL_EXACT, TP_STATUS_ARRIVED, 4);
    ledge(given, x, level, false, TP_GOAL_NEAREST, TP_STATUS_ARRIVED, 4);
    ledge(given, x, level, true, TP_GOAL_EXACT, TP_STATUS_UNREACHABLE, UINT32_MAX);
    ledge(given, bent_x, bent_y, true, TP_GOAL_NEAREST, TP_STATUS_ARRIVED, 3);
    /* 13 and 11 are as near as each other, and 13 is where it stands; who searched too little has jumped down before */
    bool knows = given->budget.expansions == TP_BUDGET_UNLIMITED;
    ledge(given, x, level, true, TP_GOAL_NEAREST, TP_STATUS_ARRIVED, knows ? 0 : UINT32_MAX);
}

START_TEST(case_b_a_ledge)
{
    for_all(ledges);
}
END_TEST

/* C. The goal itself is blocked: to the nearest cell beside it, by the shortest way of four. */
static void blocked_goal(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map(".....\n.....\n..@..\n.....\n.....");
    params.neighbours = TP_NEIGHBOURS_4;
    params.start = at(map, 0, 2);
    params.goal = at(map, 2, 2);
    params.goal_policy = TP_GOAL_NEAREST;
    struct play play;
    open_case(&play, &params, map, "C");
    expect_end(&play, TP_STATUS_ARRIVED, true, at(map, 1, 2));
    if (params.budget.expansions == TP_BUDGET_UNLIMITED)
        EXPECT(&play, play.cost == TP_COST_UNIT);
    play_close(&play);
    params.goal_policy = TP_GOAL_WITHIN;
    params.goal_radius = TP_COST_UNIT;
    open_case(&play, &params, map, "C, within a step");
    expect_end(&play, TP_STATUS_ARRIVED, false, UINT32_MAX);
    play_close(&play);
    tp_map_unref(map);
}

START_TEST(case_c_the_goal_is_blocked)
{
    for_all(blocked_goal);
}
END_TEST

/* Walks to its end without coming to a cell twice once it says PARTIAL. */
static void walk_straight(struct play *play)
{
    uint8_t *seen = calloc(play->map->width * play->map->height, 1);
    ck_assert_ptr_nonnull(seen);
    for (struct tp_tick_reply reply = {0}; reply.status != TP_STATUS_ARRIVED && play->ticks < 5000;) {
        reply = play_tick(play, NULL);
        EXPECT(play, reply.to == reply.from || !(reply.flags & TP_FLAG_PARTIAL) || !seen[reply.to]);
        if (reply.flags & TP_FLAG_PARTIAL)
            seen[reply.to] = 1;
    }
    free(seen);
}

static const struct tp_change border[] = {
    {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 1, .width = 6, .height = 1},
    {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 6, .width = 6, .height = 1},
    {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 2, .width = 1, .height = 4},
    {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 6, .y = 2, .width = 1, .height = 4},
};

/* D. A ring closes round the agent, and opens. Meanwhile cells come and go elsewhere, which is nothing to it. */
static void ring(const struct tp_session_params *given)
{
    for (int nearest = 0; nearest < 2; nearest++) {
        struct tp_session_params params = *given;
        struct tp_map *map = tp_test_map_free(20, 20);
        params.start = at(map, 3, 3);
        params.goal = at(map, 19, 19);
        params.goal_policy = nearest ? TP_GOAL_NEAREST : TP_GOAL_EXACT;
        struct play play;
        open_case(&play, &params, map, "D");
        play_tick(&play, NULL);
        play_apply(&play, border, 4);
        if (nearest) {
            walk_straight(&play);
            expect_end(&play, TP_STATUS_ARRIVED, true, at(map, 5, 5));
            for (int i = 0; i < 40; i++) {
                play_set(&play, 12, 12, i % 2 ? '.' : '@');
                struct tp_tick_reply reply = play_tick(&play, NULL);
                EXPECT(&play, reply.to == at(map, 5, 5));
                EXPECT(&play, reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_SEARCHING);
            }
            expect_end(&play, TP_STATUS_ARRIVED, true, at(map, 5, 5));
        } else {
            expect_end(&play, TP_STATUS_UNREACHABLE, false, UINT32_MAX);
        }
        play_set(&play, 6, 5, '.');
        expect_end(&play, TP_STATUS_ARRIVED, false, params.goal);
        play_close(&play);
        tp_map_unref(map);
    }
}

START_TEST(case_d_a_ring_closes_and_opens)
{
    for_all(ring);
}
END_TEST

/* A way to the nearest cell that is blocked under way, and costs that fall while it is walked. */
static void way_blocked(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map("........@.\n"
                                     "........@.\n"
                                     "........@.\n"
                                     "........@.\n");
    params.neighbours = TP_NEIGHBOURS_4;
    params.start = at(map, 0, 0);
    params.goal = at(map, 9, 0);
    params.goal_policy = TP_GOAL_NEAREST;
    if (params.algorithm->restart == TP_RESTART_LAZY)
        params.restart = TP_RESTART_ON_RISE; /* lazy begins anew at each fall that may shorten the way: no k is enough then */
    struct play play;
    open_case(&play, &params, map, "way blocked");
    while (play.ticks < 200 && !(play_tick(&play, NULL).flags & TP_FLAG_PARTIAL))
        ;
    if (play.cell != at(map, 7, 0)) {
        play_set(&play, 7, 0, '@');
        expect_end(&play, TP_STATUS_ARRIVED, true, UINT32_MAX); /* its h is looked at in play.c */
        play_set(&play, 7, 0, '.');
    }
    expect_end(&play, TP_STATUS_ARRIVED, true, at(map, 7, 0));
    play_retarget(&play, at(map, 0, 3));
    struct tp_tick_reply reply = play_tick(&play, NULL);
    EXPECT(&play, !(reply.flags & TP_FLAG_PARTIAL));
    for (int i = 0; i < 10; i++) { /* something falls every tick */
        play_set(&play, 9, 3, i % 2 ? '.' : '@');
        play_retarget(&play, at(map, 9, 0));
        play_tick(&play, NULL);
    }
    for (int i = 0; i < 400 && play.cell != at(map, 7, 0); i++) {
        play_set(&play, 9, 3, i % 2 ? '.' : '@');
        play_tick(&play, NULL);
    }
    EXPECT(&play, play.cell == at(map, 7, 0)); /* all the same it gets there */
    play_close(&play);
    tp_map_unref(map);
}

START_TEST(a_way_to_the_nearest_that_changes)
{
    for_all(way_blocked);
}
END_TEST

/* E. Nowhere to go. */
static void walled_in(const struct tp_session_params *given)
{
    for (int nearest = 0; nearest < 2; nearest++) {
        struct tp_session_params params = *given;
        struct tp_map *map = tp_test_map("@@@\n@.@\n@@.");
        params.start = at(map, 1, 1);
        params.goal = at(map, 2, 2);
        params.goal_policy = nearest ? TP_GOAL_NEAREST : TP_GOAL_EXACT;
        struct play play;
        open_case(&play, &params, map, "E");
        struct tp_tick_reply reply = play_tick(&play, NULL);
        if (reply.status == TP_STATUS_SEARCHING)
            reply = play_tick(&play, NULL);
        EXPECT(&play, reply.status == (nearest ? TP_STATUS_ARRIVED : TP_STATUS_UNREACHABLE));
        EXPECT(&play, reply.flags & TP_FLAG_DEAD_END);
        expect_end(&play, reply.status, nearest, params.start);
        play_close(&play);
        tp_map_unref(map);
    }
}

START_TEST(case_e_walled_in)
{
    for_all(walled_in);
}
END_TEST

/* F. The goals set again each tick; a goal to come near to that wobbles. */
static uint64_t ticks_to_the_end(const struct tp_session_params *given, bool set_again)
{
    static const uint32_t goals[] = {19, 3 * 20 - 1};
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(20, 3);
    params.start = 0;
    params.goal = goals[0];
    params.more_goals = goals + 1;
    params.more_goal_count = 1;
    struct play play;
    open_case(&play, &params, map, set_again ? "F, goals set again" : "F");
    struct tp_tick_reply reply;
    do {
        if (set_again)
            play_retarget_set(&play, goals, 2);
        reply = play_tick(&play, NULL);
    } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 400);
    EXPECT(&play, reply.status == TP_STATUS_ARRIVED && play.stats.restarts == 0);
    play_close(&play);
    tp_map_unref(map);
    return play.ticks;
}

static void same_goals_again(const struct tp_session_params *params)
{
    ck_assert_uint_eq(ticks_to_the_end(params, false), ticks_to_the_end(params, true));
}

static void wobbling_goal(const struct tp_session_params *given)
{
    static const enum tp_goal_policy policies[] = {TP_GOAL_WITHIN, TP_GOAL_NEAREST};
    if (given->algorithm->capabilities & TP_PACES && given->budget.kind == TP_BUDGET_R)
        return; /* its path is traced anew for each goal, over more ticks than the goal stays */
    for (int i = 0; i < 2; i++) {
        struct tp_session_params params = *given;
        struct tp_map *map = tp_test_map_free(20, 1);
        params.start = 0;
        params.goal = 19;
        params.goal_policy = policies[i];
        params.goal_radius = i ? 0 : 2 * TP_COST_UNIT;
        struct play play;
        open_case(&play, &params, map, "F, goal moving back and forth");
        struct tp_tick_reply reply;
        do {
            play_retarget(&play, play.ticks % 2 ? 18 : 19);
            reply = play_tick(&play, NULL);
        } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 100);
        EXPECT(&play, reply.status == TP_STATUS_ARRIVED);
        play_close(&play);
        tp_map_unref(map);
    }
}

START_TEST(case_f_goals_set_again)
{
    for_all(same_goals_again);
}
END_TEST

START_TEST(case_f_a_goal_that_wobbles)
{
    for_all(wobbling_goal);
}
END_TEST

/* H. A corner cut off, known or not: to the nearest of lower number, and on when the door opens. */
static void cut_off_corner(const struct tp_session_params *given)
{
    for (int unknown = 0; unknown < 2; unknown++) {
        struct tp_session_params params = *given;
        if (unknown && !(params.algorithm->capabilities & TP_CAN_DISCOVER))
            return;
        struct tp_map *map = tp_test_map_free(10, 10);
        tp_test_set(&map, 8, 9, '@');
        tp_test_set(&map, 9, 8, '@');
        tp_test_set(&map, 8, 8, '@');
        params.start = at(map, 0, 0);
        params.goal = at(map, 9, 9);
        params.goal_policy = TP_GOAL_NEAREST;
        params.knowledge = unknown ? TP_KNOWLEDGE_FREESPACE : TP_KNOWLEDGE_FULL;
        struct play play;
        open_case(&play, &params, map, unknown ? "H, unknown" : "H");
        bool alike = by_g(&play) && !unknown; /* else g depends on the way the search took */
        expect_end(&play, TP_STATUS_ARRIVED, true, alike ? at(map, 9, 7) : UINT32_MAX);
        EXPECT(&play, play.cell == at(map, 9, 7) || play.cell == at(map, 7, 9));
        if (params.budget.expansions == TP_BUDGET_UNLIMITED && !paces(&play))
            EXPECT(&play, unknown || play.cost == 7 * TP_COST_DIAGONAL + 2 * TP_COST_UNIT);
        uint64_t restarts = play.stats.restarts;
        play_retarget(&play, params.goal); /* the same: free */
        expect_end(&play, TP_STATUS_ARRIVED, true, play.cell);
        EXPECT(&play, play.stats.restarts == restarts);
        play_set(&play, 9, 8, '.');
        expect_end(&play, TP_STATUS_ARRIVED, false, params.goal);
        play_close(&play);
        tp_map_unref(map);
    }
}

START_TEST(case_h_a_corner_cut_off)
{
    for_all(cut_off_corner);
}
END_TEST

/* The search has closed cells near enough to a goal that moved: they are found, though never opened again. */
static void passed_by(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map("......@.");
    params.start = at(map, 5, 0);
    params.goal = at(map, 7, 0);
    params.goal_policy = TP_GOAL_WITHIN;
    params.goal_radius = TP_COST_UNIT;
    struct play play;
    open_case(&play, &params, map, "passed by");
    expect_end(&play, TP_STATUS_UNREACHABLE, false, UINT32_MAX);
    play_retarget(&play, at(map, 6, 0)); /* blocked: it is not found itself */
    expect_end(&play, TP_STATUS_ARRIVED, false, at(map, 5, 0));
    play_close(&play);
    tp_map_unref(map);
}

START_TEST(a_goal_that_moves_beside_what_was_closed)
{
    for_all(passed_by);
}
END_TEST

/* A vehicle stops at whichever goal it passes, and near one within. */
static void vehicle(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    bool may_wait = strcmp(tp_engine_name(params.algorithm->engine), "time-bounded") == 0 &&
                    params.algorithm->learning == TP_LEARNING_NONE && params.budget.expansions != TP_BUDGET_UNLIMITED;
    if (may_wait)
        return; /* it can't get back to its path */
    struct tp_map *map = tp_test_map("....................\n..................@@\n..................@.");
    uint32_t more = at(map, 12, 0);
    params.motion = TP_MOTION_INERTIA;
    params.start = at(map, 0, 0);
    params.goal = at(map, 19, 0);
    params.more_goals = &more;
    params.more_goal_count = 1;
    struct play play;
    open_case(&play, &params, map, "vehicle, two goals");
    expect_end(&play, TP_STATUS_ARRIVED, false, UINT32_MAX);
    play_close(&play);
    params.more_goal_count = 0;
    params.goal_policy = TP_GOAL_WITHIN;
    params.goal_radius = 4 * TP_COST_UNIT / 3;
    open_case(&play, &params, map, "vehicle, within 4 cells");
    expect_end(&play, TP_STATUS_ARRIVED, false, UINT32_MAX);
    EXPECT(&play, play.cell % map->width >= 15);
    play_close(&play);
    params.goal = at(map, 19, 2);
    params.goal_policy = TP_GOAL_NEAREST;
    params.goal_radius = 0;
    if (params.algorithm->learning == TP_LEARNING_NONE) { /* the others take long to find out */
        open_case(&play, &params, map, "vehicle, nearest");
        expect_end(&play, TP_STATUS_ARRIVED, true, UINT32_MAX);
        play_close(&play);
    }
    tp_map_unref(map);
}

START_TEST(vehicles_choose_too)
{
    for_all(vehicle);
}
END_TEST

/* ---- random maps ---- */

static uint32_t random_cell(struct tp_test_rng *rng, const struct tp_map *map, bool passable)
{
    uint32_t cell;
    do
        cell = tp_test_below(rng, map->width * map->height);
    while (passable && !tp_map_passable(map, cell % map->width, cell / map->width));
    return cell;
}

/* The least (h, g, cell) of what can be reached, and the least cost to where the policy is met. */
static void brute_force(const struct play *play, uint32_t *nearest, uint64_t *cost)
{
    uint32_t cells = play->map->width * play->map->height;
    uint64_t *g = malloc(cells * sizeof *g);
    ck_assert_ptr_nonnull(g);
    ref_costs_to(&play->plain, play->params.start, g); /* the same from there: moves go both ways */
    *nearest = UINT32_MAX;
    *cost = UINT64_MAX;
    for (uint32_t cell = 0; cell < cells; cell++) {
        if (g[cell] == UINT64_MAX || !play->plain.weight[cell])
            continue;
        if (play->ends[cell] && g[cell] < *cost)
            *cost = g[cell];
        uint64_t h = play_h(play, cell), h_nearest = *nearest == UINT32_MAX ? UINT64_MAX : play_h(play, *nearest);
        if (h < h_nearest || (h == h_nearest && g[cell] < g[*nearest]))
            *nearest = cell;
    }
    free(g);
}

START_TEST(random_maps_against_brute_force)
{
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    struct tp_test_rng rng = tp_test_rng("goals");
    uint64_t cases = tp_test_steps(400, 8000), partial = 0, met = 0;
    for (uint64_t i = 0; i < cases; i++) {
        uint32_t width = tp_test_between(&rng, 2, 30), height = tp_test_between(&rng, 2, 30), percent = tp_test_between(&rng, 10, 55);
        struct tp_map *map = tp_test_percent(&rng, 50) ? tp_test_map_random(&rng, width, height, percent)
                                                       : tp_test_map_random_weighted(&rng, width, height, percent, 9);
        if (!map->passable_cells) {
            tp_map_unref(map);
            continue;
        }
        struct tp_session_params params;
        tp_session_params_init(&params);
        uint32_t more[TP_GOALS_MAX];
        params.neighbours = neighbours[tp_test_below(&rng, 3)];
        params.corners = (enum tp_corners)tp_test_below(&rng, 3);
        params.start = random_cell(&rng, map, true);
        params.goal = random_cell(&rng, map, false);
        params.more_goals = more;
        params.more_goal_count = tp_test_percent(&rng, 40) ? 0 : tp_test_below(&rng, TP_GOALS_MAX);
        for (uint32_t j = 0; j < params.more_goal_count; j++)
            more[j] = random_cell(&rng, map, false);
        params.goal_policy = (enum tp_goal_policy)tp_test_below(&rng, 3);
        if (params.goal_policy == TP_GOAL_WITHIN)
            params.goal_radius = tp_test_below(&rng, 6 * TP_COST_UNIT);
        for (size_t row = 0; tp_algorithm_at(row); row++) {
            params.algorithm = tp_algorithm_at(row);
            if (!(params.algorithm->capabilities & TP_CAN_CHOOSE_GOAL))
                continue;
            bool best = strcmp(params.algorithm->name, "astar") == 0;
            params.budget = best ? tp_budget_k(TP_BUDGET_UNLIMITED) : tp_budget_k(tp_test_between(&rng, 1, 200));
            struct play play;
            play_open(&play, &params, map);
            snprintf(play.label, sizeof play.label,
                     "case %llu: %s on %ux%u, n %d, corners %d, policy %d of %u, radius %llu, start %u, goal %u, k %llu; TICKPATH_SEED=%llu",
                     (unsigned long long)i, params.algorithm->name, width, height, (int)params.neighbours, (int)params.corners,
                     (int)params.goal_policy, play.goal_count, (unsigned long long)params.goal_radius, params.start, params.goal,
                     (unsigned long long)params.budget.expansions, (unsigned long long)tp_test_seed());
            uint32_t nearest;
            uint64_t cost;
            brute_force(&play, &nearest, &cost);
            struct tp_tick_reply reply = play_until_settled(&play, NULL, 12ull * width * height + 100);
            if (cost != UINT64_MAX) {
                EXPECT(&play, reply.status == TP_STATUS_ARRIVED && !(reply.flags & TP_FLAG_PARTIAL));
                EXPECT(&play, !best || play.cost == cost);
                met++;
            } else if (params.goal_policy == TP_GOAL_NEAREST) {
                EXPECT(&play, reply.status == TP_STATUS_ARRIVED && reply.flags & TP_FLAG_PARTIAL);
                EXPECT(&play, play_h(&play, play.cell) == play_h(&play, nearest));
                EXPECT(&play, !best || play.cell == nearest);
                partial++;
            } else {
                EXPECT(&play, reply.status == TP_STATUS_UNREACHABLE);
            }
            play_close(&play);
        }
        tp_map_unref(map);
    }
    ck_assert_uint_gt(partial, 0);
    ck_assert_uint_gt(met, 0);
}
END_TEST

/* The set as a call takes it. */
START_TEST(goal_sets_are_checked)
{
    struct tp_map *map = tp_test_map_free(6, 6);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.goal = 35;
    uint32_t goals[TP_GOALS_MAX + 1] = {1, 2, 36};
    struct play play;
    play_open(&play, &params, map);
    ck_assert_int_eq(tp_session_retarget_set(play.session, goals, 0), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_retarget_set(play.session, goals, TP_GOALS_MAX + 1), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_retarget_set(play.session, goals, 3), TP_ERR_OUT_OF_RANGE);
    ck_assert_uint_eq(tp_session_goal(play.session), 35);
    play_tick(&play, NULL);
    play_retarget_set(&play, goals, 2); /* from one goal, in a search of narrow nodes, to two */
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 100);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    play_retarget_set(&play, goals, 1); /* and back to one */
    reply = play_until_settled(&play, NULL, 100);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    ck_assert_uint_eq(play.cell, 1);
    play_close(&play);
    params.algorithm = tp_algorithm_find("lrta");
    play_open(&play, &params, map);
    ck_assert_int_eq(tp_session_retarget_set(play.session, goals, 2), TP_ERR_UNSUPPORTED);
    play_retarget_set(&play, goals, 1);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

static Suite *goals_suite(void)
{
    Suite *suite = suite_create("goals");
    TCase *tcase = tcase_create("small cases");
    tcase_add_test(tcase, case_b_a_ledge);
    tcase_add_test(tcase, case_c_the_goal_is_blocked);
    tcase_add_test(tcase, case_d_a_ring_closes_and_opens);
    tcase_add_test(tcase, case_e_walled_in);
    tcase_add_test(tcase, case_f_goals_set_again);
    tcase_add_test(tcase, case_f_a_goal_that_wobbles);
    tcase_add_test(tcase, case_h_a_corner_cut_off);
    tcase_add_test(tcase, a_way_to_the_nearest_that_changes);
    tcase_add_test(tcase, a_goal_that_moves_beside_what_was_closed);
    tcase_add_test(tcase, vehicles_choose_too);
    tcase_add_test(tcase, goal_sets_are_checked);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("random");
    tcase_add_test(tcase, random_maps_against_brute_force);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_goals", goals_suite);
}
