/* Small cases that must come out right, for every row of the registry and every lookahead. Each is a thing
 * that users of comparable tools have stumbled over. x and y count from the top left; a cell is y * width +
 * x. */
#include "tests/lib/play.h"

#include <stdio.h>
#include <string.h>

static const uint64_t lookaheads[] = {1, 2, 7, 64, TP_BUDGET_UNLIMITED};
enum { LOOKAHEADS = sizeof lookaheads / sizeof *lookaheads };

typedef void case_fn(const struct tp_session_params *params);

/* Plays the case for every row and lookahead. */
static void for_all(case_fn *play_case)
{
    for (size_t row = 0; tp_algorithm_at(row); row++) {
        for (int k = 0; k < LOOKAHEADS; k++) {
            struct tp_session_params params;
            tp_session_params_init(&params);
            params.algorithm = tp_algorithm_at(row);
            params.budget = tp_budget_k(lookaheads[k]);
            play_case(&params);
        }
    }
}

static void open_case(struct play *play, const struct tp_session_params *params, const struct tp_map *map,
                      const char *name)
{
    play_open(play, params, map);
    snprintf(play->label, sizeof play->label, "case %s: %s, k %llu", name, params->algorithm->name,
             (unsigned long long)params->budget.expansions);
}

static uint32_t at(const struct tp_map *map, uint32_t x, uint32_t y)
{
    return y * map->width + x;
}

#define EXPECT(play, condition) ck_assert_msg(condition, "%s: %s", (play)->label, #condition)

static bool detects(const struct tp_session_params *params)
{
    return params->algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE;
}

/* Whether it steps to and fro while it searches. */
static bool paces(const struct tp_session_params *params)
{
    return params->algorithm->capabilities & TP_PACES;
}

/* Says UNREACHABLE within so many ticks, and goes on saying it, standing still. */
static void expect_unreachable(struct play *play, uint64_t ticks_max)
{
    if (!detects(&play->params)) {
        for (uint64_t i = 0; i < ticks_max; i++)
            play_tick(play, NULL);
        return;
    }
    struct tp_tick_reply reply = play_until_settled(play, NULL, ticks_max);
    EXPECT(play, reply.status == TP_STATUS_UNREACHABLE);
    uint32_t cell = play->cell;
    for (int i = 0; i < 5; i++) {
        reply = play_tick(play, NULL);
        EXPECT(play, reply.status == TP_STATUS_UNREACHABLE);
        EXPECT(play, reply.to == cell);
    }
}

/* A. Straight ahead on free ground. */
static void straight(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(10, 10);
    params.start = at(map, 0, 0);
    params.goal = at(map, 7, 0);
    struct play play;
    open_case(&play, &params, map, "A, straight");
    struct tp_tick_reply reply;
    uint64_t ticks = 0;
    do {
        reply = play_tick(&play, NULL);
        EXPECT(&play, paces(&params) || reply.to / map->width == 0);
    } while (reply.status != TP_STATUS_ARRIVED && ++ticks < 200);
    EXPECT(&play, reply.status == TP_STATUS_ARRIVED);
    if (paces(&params)) {
        EXPECT(&play, play.moves >= 7 && play.ticks == play.moves);
    } else {
        EXPECT(&play, play.moves == 7);
        EXPECT(&play, play.cost == 7 * TP_COST_UNIT);
    }
    reply = play_tick(&play, NULL); /* it waits there */
    EXPECT(&play, reply.status == TP_STATUS_ARRIVED && reply.to == params.goal && reply.work.expansions == 0);
    play_close(&play);
    tp_map_unref(map);
}

static void diagonal_and_back(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(20, 20);
    params.start = at(map, 4, 4);
    params.goal = at(map, 2, 2);
    struct play play;
    open_case(&play, &params, map, "A, diagonal");
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 200);
    EXPECT(&play, reply.status == TP_STATUS_ARRIVED);
    EXPECT(&play, paces(&params) || (play.moves == 2 && play.cost == 2 * TP_COST_DIAGONAL));
    play_retarget(&play, params.start);
    reply = play_until_settled(&play, NULL, 200);
    EXPECT(&play, reply.status == TP_STATUS_ARRIVED);
    EXPECT(&play, paces(&params) || (play.moves == 4 && play.cost == 4 * TP_COST_DIAGONAL));
    play_close(&play);
    tp_map_unref(map);
}

START_TEST(case_a_straight)
{
    for_all(straight);
}
END_TEST

START_TEST(case_a_diagonal_and_back)
{
    for_all(diagonal_and_back);
}
END_TEST

/* C, its EXACT side: the goal itself is blocked. */
static void blocked_goal(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map(".....\n.....\n..@..\n.....\n.....");
    params.neighbours = TP_NEIGHBOURS_4;
    params.start = at(map, 0, 2);
    params.goal = at(map, 2, 2);
    struct play play;
    open_case(&play, &params, map, "C");
    expect_unreachable(&play, 40);
    EXPECT(&play, play.cell != params.goal);
    play_close(&play);
    tp_map_unref(map);
}

START_TEST(case_c_the_goal_is_blocked)
{
    for_all(blocked_goal);
}
END_TEST

/* D. A ring of blocks closes round the agent, and opens again. */
static void ring(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(20, 20);
    params.start = at(map, 3, 3);
    params.goal = at(map, 19, 19);
    struct play play;
    open_case(&play, &params, map, "D");
    play_tick(&play, NULL);
    struct tp_change border[] = {
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 1, .width = 6, .height = 1},
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 6, .width = 6, .height = 1},
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 2, .width = 1, .height = 4},
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 6, .y = 2, .width = 1, .height = 4},
    };
    uint64_t version = play.map->version;
    play_apply(&play, border, 4);
    EXPECT(&play, play.map->version == version + 1);
    EXPECT(&play, play.map->passable_cells == 400 - 20);
    expect_unreachable(&play, 2000);
    uint32_t x = play.cell % 20, y = play.cell / 20;
    EXPECT(&play, x >= 2 && x <= 5 && y >= 2 && y <= 5);
    play_set(&play, 6, 5, '.');
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 2000);
    EXPECT(&play, reply.status == TP_STATUS_ARRIVED);
    play_close(&play);
    tp_map_unref(map);
}

START_TEST(case_d_a_ring_closes_and_opens)
{
    for_all(ring);
}
END_TEST

/* E. Nowhere to go: told at once, and one reply each tick. */
static void walled_in(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map("@@@\n@.@\n@@.");
    params.start = at(map, 1, 1);
    params.goal = at(map, 2, 2);
    struct play play;
    open_case(&play, &params, map, "E");
    expect_unreachable(&play, 2);
    EXPECT(&play, play.moves == 0);
    play_close(&play);
    tp_map_unref(map);
}

START_TEST(case_e_walled_in)
{
    for_all(walled_in);
}
END_TEST

/* F. The goal is set again each tick, or wobbles. */
static uint64_t ticks_to_the_end(const struct tp_session_params *given, bool set_again)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(20, 1);
    params.start = 0;
    params.goal = 19;
    struct play play;
    open_case(&play, &params, map, set_again ? "F, goal set again" : "F");
    struct tp_tick_reply reply;
    do {
        if (set_again)
            play_retarget(&play, params.goal);
        reply = play_tick(&play, NULL);
    } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 400);
    EXPECT(&play, reply.status == TP_STATUS_ARRIVED);
    EXPECT(&play, play.stats.restarts == 0);
    play_close(&play);
    tp_map_unref(map);
    return play.ticks;
}

static void same_goal_again(const struct tp_session_params *params)
{
    uint64_t without = ticks_to_the_end(params, false), with = ticks_to_the_end(params, true);
    ck_assert_msg(without == with, "case F: %s, k %llu: %llu ticks, %llu with the goal set again",
                  params->algorithm->name, (unsigned long long)params->budget.expansions,
                  (unsigned long long)without, (unsigned long long)with);
}

static void wobbling_goal(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(20, 1);
    params.start = 0;
    params.goal = 19;
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

START_TEST(case_f_the_same_goal_again)
{
    for_all(same_goal_again);
}
END_TEST

START_TEST(case_f_a_goal_that_wobbles)
{
    for_all(wobbling_goal);
}
END_TEST

/* H. A goal behind a corner: a spent budget is never "no path"; when the door opens the path is found. */
static void cut_off_corner(const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(10, 10);
    tp_test_set(&map, 8, 9, '@');
    tp_test_set(&map, 9, 8, '@');
    tp_test_set(&map, 8, 8, '@');
    params.start = at(map, 0, 0);
    params.goal = at(map, 9, 9);
    struct play play;
    open_case(&play, &params, map, "H");
    uint64_t open_cells = 100 - 3 - 1; /* all but the blocked ones and the goal */
    struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
    for (uint64_t i = 0; i < 2 * open_cells && reply.status != TP_STATUS_UNREACHABLE; i++)
        reply = play_tick(&play, NULL);
    if (detects(&params)) {
        EXPECT(&play, reply.status == TP_STATUS_UNREACHABLE);
        /* proved by an empty open list, unless the map's components told it at once */
        EXPECT(&play, play.expansions == open_cells || play.ticks == 1);
        EXPECT(&play, play.ticks <= open_cells / params.budget.expansions + 1);
    }
    play_set(&play, 9, 8, '.');
    reply = play_until_settled(&play, NULL, 2000);
    EXPECT(&play, reply.status == TP_STATUS_ARRIVED);
    play_close(&play);
    tp_map_unref(map);
}

START_TEST(case_h_a_corner_cut_off)
{
    for_all(cut_off_corner);
}
END_TEST

/* I. The corner rule holds for blocks that came by event. */
static void two_by_two(const struct tp_session_params *given)
{
    static const enum tp_corners rules[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE, TP_CORNERS_ALWAYS};
    for (int i = 0; i < 3; i++) {
        struct tp_session_params params = *given;
        struct tp_map *map = tp_test_map_free(2, 2);
        params.corners = rules[i];
        params.start = at(map, 0, 0);
        params.goal = at(map, 1, 1);
        struct play play;
        open_case(&play, &params, map, "I, free");
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 20);
        EXPECT(&play, reply.status == TP_STATUS_ARRIVED && play.moves == 1 && play.cost == TP_COST_DIAGONAL);
        play_close(&play);

        open_case(&play, &params, map, "I, blocked by event");
        struct tp_change blocks[] = {{.kind = TP_CHANGE_CELL, .class_to = '@', .x = 1, .y = 0},
                                     {.kind = TP_CHANGE_CELL, .class_to = '@', .x = 0, .y = 1}};
        play_apply(&play, blocks, 2);
        if (params.corners == TP_CORNERS_ALWAYS) {
            reply = play_until_settled(&play, NULL, 20);
            EXPECT(&play, reply.status == TP_STATUS_ARRIVED && play.cost == TP_COST_DIAGONAL);
        } else {
            expect_unreachable(&play, 3);
        }
        play_close(&play);
        tp_map_unref(map);
    }
}

START_TEST(case_i_corner_rules)
{
    for_all(two_by_two);
}
END_TEST

static Suite *cases_suite(void)
{
    Suite *suite = suite_create("cases");
    TCase *tcase = tcase_create("small cases");
    tcase_add_test(tcase, case_a_straight);
    tcase_add_test(tcase, case_a_diagonal_and_back);
    tcase_add_test(tcase, case_c_the_goal_is_blocked);
    tcase_add_test(tcase, case_d_a_ring_closes_and_opens);
    tcase_add_test(tcase, case_e_walled_in);
    tcase_add_test(tcase, case_f_the_same_goal_again);
    tcase_add_test(tcase, case_f_a_goal_that_wobbles);
    tcase_add_test(tcase, case_h_a_corner_cut_off);
    tcase_add_test(tcase, case_i_corner_rules);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_cases", cases_suite);
}
