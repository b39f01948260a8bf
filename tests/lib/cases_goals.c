/* Goal sets and goal policies on grids and graphs, while the goals and the map change. */
#include "tests/lib/cases.h"

#include <string.h>

/* ---- Sets ---- */

/* The goal that is nearest to walk to wins; the one that lies nearest behind a wall does not. */
void case_nearest_of_a_set(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(21, 21);
    uint32_t more[] = {case_at(map, 14, 10), case_at(map, 10, 0), 0};
    params.start = case_at(map, 10, 10);
    params.goal = case_at(map, 2, 10);
    params.more_goals = more;
    params.more_goal_count = 3;
    struct stage stage;
    stage_open(&stage, wire, &params, map, "nearest of a set");
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, more[0]);
    STAGE_SAY(&stage, case_paces(&params) || stage.play.cost == 4 * TP_COST_UNIT);
    stage_close(&stage);
    for (uint32_t y = 0; y < 20; y++)
        tp_test_set(&map, 12, y, '@'); /* the way there goes round the wall's foot: 2 + 20 */
    params.more_goal_count = 2;
    params.neighbours = TP_NEIGHBOURS_4;
    stage_open(&stage, wire, &params, map, "nearest of a set, a wall");
    struct tp_tick_reply reply = stage_until_settled(&stage, 20000);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    bool best = case_unlimited(&params) && params.algorithm->capabilities & TP_CAN_BE_OPTIMAL;
    STAGE_SAY(&stage, !best || (stage.play.cell == params.goal &&
                                (case_paces(&params) || stage.play.cost == 8 * TP_COST_UNIT)));
    stage_close(&stage);
    tp_map_unref(map);
}

/* Another set in mid-walk, back to one goal, and the same set again, which is free. */
void case_set_again_in_mid_walk(struct wire *wire, const struct tp_session_params *given)
{
    static const enum tp_goal_policy policies[] = {TP_GOAL_EXACT, TP_GOAL_NEAREST};
    struct tp_map *map = tp_test_map_free(20, 20);
    for (int i = 0; i < 2; i++) {
        struct tp_session_params params = *given;
        params.start = case_at(map, 0, 10);
        params.goal = case_at(map, 19, 10);
        params.goal_policy = policies[i];
        struct stage stage;
        stage_open(&stage, wire, &params, map, "another set");
        for (int tick = 0; tick < 4; tick++)
            stage_tick(&stage);
        const uint32_t set[] = {case_at(map, 19, 0), case_at(map, 19, 19), case_at(map, 0, 19)};
        stage_retarget_set(&stage, set, 3);
        for (int tick = 0; tick < 4; tick++)
            stage_tick(&stage);
        uint64_t restarts = stage.play.stats.restarts;
        stage_retarget_set(&stage, set, 3);
        stage_tick(&stage);
        STAGE_SAY(&stage, stage.play.stats.restarts == restarts);
        struct tp_tick_reply reply = stage_until_settled(&stage, 3000);
        STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
        STAGE_SAY(&stage, reply.to == set[0] || reply.to == set[1] || reply.to == set[2]);
        uint32_t far = case_at(map, 10, 10);
        stage_retarget(&stage, far);
        case_expect_end(&stage, TP_STATUS_ARRIVED, false, far);
        stage_retarget_set(&stage, set, 2); /* it stands between: either */
        reply = stage_until_settled(&stage, 3000);
        STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED && (reply.to == set[0] || reply.to == set[1]));
        stage_close(&stage);
    }
    tp_map_unref(map);
}

/* The near goal of a set is blocked by event while the agent walks there: to the far one. Both: by the policy. One opens. */
void case_goal_of_a_set_is_blocked(struct wire *wire, const struct tp_session_params *given)
{
    static const enum tp_goal_policy policies[] = {TP_GOAL_EXACT, TP_GOAL_NEAREST};
    struct tp_map *map = tp_test_map_free(20, 5);
    for (int i = 0; i < 2; i++) {
        struct tp_session_params params = *given;
        uint32_t far = case_at(map, 1, 2), near = case_at(map, 14, 2);
        params.start = case_at(map, 9, 2);
        params.goal = far;
        params.more_goals = &near;
        params.more_goal_count = 1;
        params.goal_policy = policies[i];
        struct stage stage;
        stage_open(&stage, wire, &params, map, "goal of a set is blocked");
        stage_tick(&stage);
        stage_tick(&stage);
        stage_set(&stage, 14, 2, '@');
        case_expect_end(&stage, TP_STATUS_ARRIVED, false, far);
        /* on its way back to the near one both are blocked */
        stage_set(&stage, 14, 2, '.');
        stage_at(&stage, case_at(map, 8, 2));
        stage_tick(&stage);
        static const struct tp_change both[] = {{.kind = TP_CHANGE_CELL, .class_to = '@', .x = 14, .y = 2},
                                                {.kind = TP_CHANGE_CELL, .class_to = '@', .x = 1, .y = 2}};
        stage_apply(&stage, both, 2);
        if (params.goal_policy == TP_GOAL_NEAREST) {
            case_expect_end(&stage, TP_STATUS_ARRIVED, true, UINT32_MAX);
            STAGE_SAY(&stage, play_h(&stage.play, stage.play.cell) == TP_COST_UNIT);
        } else {
            case_expect_end(&stage, TP_STATUS_UNREACHABLE, false, UINT32_MAX);
        }
        stage_set(&stage, 1, 2, '.');
        case_expect_end(&stage, TP_STATUS_ARRIVED, false, far);
        stage_close(&stage);
    }
    tp_map_unref(map);
}

/* ---- Policies ---- */

/* Near enough is near enough: by h, which sees through walls. Where nothing so near can be reached, no way. */
void case_within_a_radius(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(20, 3);
    params.start = case_at(map, 0, 1);
    params.goal = case_at(map, 19, 1);
    params.goal_policy = TP_GOAL_WITHIN;
    for (uint32_t steps = 0; steps <= 6; steps += 3) {
        params.goal_radius = steps * TP_COST_UNIT;
        struct stage stage;
        stage_open(&stage, wire, &params, map, "within");
        case_expect_end(&stage, TP_STATUS_ARRIVED, false, UINT32_MAX);
        STAGE_SAY(&stage, play_h(&stage.play, stage.play.cell) <= params.goal_radius);
        STAGE_SAY(&stage, case_paces(&params) || stage.play.cost == (19 - steps) * TP_COST_UNIT);
        stage_set(&stage, 19, 1, '@'); /* the goal itself need not be free */
        if (steps > 0)
            case_expect_end(&stage, TP_STATUS_ARRIVED, false, UINT32_MAX);
        uint32_t goals[] = {case_at(map, 0, 0), case_at(map, 10, 2)};
        stage_retarget_set(&stage, goals, 2); /* the policy stays */
        case_expect_end(&stage, TP_STATUS_ARRIVED, false, UINT32_MAX);
        STAGE_SAY(&stage, play_h(&stage.play, stage.play.cell) <= params.goal_radius);
        stage_close(&stage);
    }
    struct stage stage;
    stage_open(&stage, wire, &params, map, "within, a wall");
    static const struct tp_change wall[] = {
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 8, .y = 0, .width = 1, .height = 3}};
    stage_apply(&stage, wall, 1);
    case_expect_end(&stage, TP_STATUS_UNREACHABLE, false, UINT32_MAX);
    stage_retarget(&stage, case_at(map, 12, 1));
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, UINT32_MAX);
    stage_close(&stage);
    tp_map_unref(map);
}

/* While it goes to the nearest cell it says so, and the path that it follows ends where it will stop. */
void case_partial_names_its_end(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map("............@.\n"
                                     "............@.\n"
                                     ".@@@@@@@@@..@.\n"
                                     "............@.\n");
    params.start = case_at(map, 2, 3);
    params.goal = case_at(map, 13, 0);
    params.goal_policy = TP_GOAL_NEAREST;
    struct stage stage;
    stage_open(&stage, wire, &params, map, "partial names its end");
    uint32_t end = UINT32_MAX;
    struct tp_tick_reply reply;
    do {
        reply = stage_tick(&stage);
        uint32_t cells[64], count = tp_session_path(stage.play.session, cells, 64);
        bool whole =
            reply.flags & TP_FLAG_PARTIAL && reply.flags & TP_FLAG_PATH_COMPLETE && count > 0 && count < 64;
        if (whole && end == UINT32_MAX)
            end = cells[count - 1];
        STAGE_SAY(&stage, !whole || end == cells[count - 1]);
    } while (reply.status != TP_STATUS_ARRIVED && stage.play.ticks < 2000);
    STAGE_SAY(&stage, reply.flags & TP_FLAG_PARTIAL && reply.to == case_at(map, 11, 0));
    bool waits = stage.play.params.algorithm->pause_on_backtrack; /* which it may do where it stops */
    STAGE_SAY(&stage, end == reply.to || (waits && end == UINT32_MAX && reply.from == reply.to));
    stage_close(&stage);
    tp_map_unref(map);
}

/* ---- Graphs ---- */

/* Where h ties, g counts, and then the id: the way down a ledge is taken where it leads nearer, and else not. */
static void ledge(struct wire *wire, const struct tp_session_params *given, const double *x, const double *y,
                  bool blocked, enum tp_goal_policy policy, enum tp_status status, uint32_t cell)
{
    static const struct tp_graph_edge edges[] = {{0, 1, 3}, {1, 0, 3}, {0, 2, 3}, {2, 0, 3},
                                                 {2, 3, 2}, {3, 4, 3}, {4, 5, 3}};
    struct stage_graph graph = {6, edges, blocked ? 5 : 7, x, y};
    struct tp_session_params params = *given;
    params.start = 0;
    params.goal = 4;
    params.goal_policy = policy;
    struct stage stage;
    stage_open_graph(&stage, wire, &params, &graph, "ledge");
    case_expect_end(&stage, status, blocked && policy == TP_GOAL_NEAREST, cell);
    stage_close(&stage);
}

void case_ledges_and_ties(struct wire *wire, const struct tp_session_params *given)
{
    static const double x[] = {13, 15, 11, 10, 12, 14}, level[6] = {0};
    static const double bent_x[] = {13, 15, 11, 10, 10, 10}, bent_y[] = {0, 0, 0, 0, 2, 4};
    ledge(wire, given, x, level, false, TP_GOAL_EXACT, TP_STATUS_ARRIVED, 4);
    ledge(wire, given, x, level, false, TP_GOAL_NEAREST, TP_STATUS_ARRIVED, 4);
    ledge(wire, given, x, level, true, TP_GOAL_EXACT, TP_STATUS_UNREACHABLE, UINT32_MAX);
    ledge(wire, given, bent_x, bent_y, true, TP_GOAL_NEAREST, TP_STATUS_ARRIVED, 3);
    /* 0 and 2 are as near as each other, and 0 is where it stands; who searched too little has jumped down before */
    ledge(wire, given, x, level, true, TP_GOAL_NEAREST, TP_STATUS_ARRIVED,
          case_unlimited(given) ? 0 : UINT32_MAX);
}

/* A line of ten nodes, ways to and fro of a hundred units each. */
void case_set_on_a_graph(struct wire *wire, const struct tp_session_params *given)
{
    enum { NODES = 10 };
    static const double x[NODES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, y[NODES];
    struct tp_graph_edge edges[2 * (NODES - 1)];
    for (uint32_t i = 0; i + 1 < NODES; i++) {
        edges[2 * i] = (struct tp_graph_edge){i, i + 1, 100};
        edges[2 * i + 1] = (struct tp_graph_edge){i + 1, i, 100};
    }
    struct stage_graph graph = {NODES, edges, 2 * (NODES - 1), x, y};
    struct tp_session_params params = *given;
    uint32_t near = 6;
    params.start = 4;
    params.goal = 0;
    params.more_goals = &near;
    params.more_goal_count = 1;
    for (int i = 0; i < 2; i++) {
        params.goal_policy = i ? TP_GOAL_NEAREST : TP_GOAL_EXACT;
        struct stage stage;
        stage_open_graph(&stage, wire, &params, &graph, "set on a graph");
        case_expect_end(&stage, TP_STATUS_ARRIVED, false, near);
        stage_at(&stage, 4);
        stage_set_node(&stage, near, false);
        case_expect_end(&stage, TP_STATUS_ARRIVED, false, 0);
        const uint32_t beyond[] = {9, 8};
        stage_retarget_set(&stage, beyond, 2); /* behind the closed node */
        if (i)
            case_expect_end(&stage, TP_STATUS_ARRIVED, true, 5);
        else
            case_expect_end(&stage, TP_STATUS_UNREACHABLE, false, UINT32_MAX);
        stage_set_node(&stage, near, true);
        case_expect_end(&stage, TP_STATUS_ARRIVED, false, 8);
        stage_close(&stage);
    }
    params.goal_policy = TP_GOAL_WITHIN;
    params.goal_radius = 250;
    params.goal = 9;
    params.more_goal_count = 0;
    struct stage stage;
    stage_open_graph(&stage, wire, &params, &graph, "within, on a graph");
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, 7);
    stage_close(&stage);
}

/* ---- Maps and goals that change ---- */

/* A way to the nearest cell that is blocked under way, and costs that fall while it is walked. */
void case_way_to_the_nearest_changes(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map("........@.\n"
                                     "........@.\n"
                                     "........@.\n"
                                     "........@.\n");
    params.neighbours = TP_NEIGHBOURS_4;
    params.start = case_at(map, 0, 0);
    params.goal = case_at(map, 9, 0);
    params.goal_policy = TP_GOAL_NEAREST;
    struct stage stage;
    stage_open(&stage, wire, &params, map, "way to the nearest changes");
    while (stage.play.ticks < 200 && !(stage_tick(&stage).flags & TP_FLAG_PARTIAL))
        ;
    if (stage.play.cell != case_at(map, 7, 0)) {
        stage_set(&stage, 7, 0, '@');
        case_expect_end(&stage, TP_STATUS_ARRIVED, true, UINT32_MAX); /* its h is looked at in play.c */
        stage_set(&stage, 7, 0, '.');
    }
    case_expect_end(&stage, TP_STATUS_ARRIVED, true, case_at(map, 7, 0));
    stage_retarget(&stage, case_at(map, 0, 3));
    struct tp_tick_reply reply = stage_tick(&stage);
    STAGE_SAY(&stage, !(reply.flags & TP_FLAG_PARTIAL));
    for (int i = 0; i < 10; i++) { /* something falls every tick */
        stage_set(&stage, 9, 3, i % 2 ? '.' : '@');
        stage_retarget(&stage, case_at(map, 9, 0));
        stage_tick(&stage);
    }
    for (int i = 0; i < 400 && stage.play.cell != case_at(map, 7, 0); i++) {
        stage_set(&stage, 9, 3, i % 2 ? '.' : '@');
        stage_tick(&stage);
    }
    STAGE_SAY(&stage, stage.play.cell == case_at(map, 7, 0)); /* all the same it gets there */
    stage_close(&stage);
    tp_map_unref(map);
}

/* The search has closed cells near enough to a goal that moved: they are found, though never opened again. */
void case_goal_moves_beside_what_was_closed(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map("......@.");
    params.start = case_at(map, 5, 0);
    params.goal = case_at(map, 7, 0);
    params.goal_policy = TP_GOAL_WITHIN;
    params.goal_radius = TP_COST_UNIT;
    struct stage stage;
    stage_open(&stage, wire, &params, map, "passed by");
    case_expect_end(&stage, TP_STATUS_UNREACHABLE, false, UINT32_MAX);
    stage_retarget(&stage, case_at(map, 6, 0)); /* blocked: it is not found itself */
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, case_at(map, 5, 0));
    stage_close(&stage);
    tp_map_unref(map);
}

/* A vehicle stops at whichever goal it passes, and near one within. */
void case_vehicles_choose_too(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    bool may_wait = strcmp(tp_engine_name(params.algorithm->engine), "time-bounded") == 0 &&
                    params.algorithm->learning == TP_LEARNING_NONE && !case_unlimited(&params);
    if (may_wait)
        return; /* it can't get back to its path */
    struct tp_map *map = tp_test_map("....................\n..................@@\n..................@.");
    uint32_t more = case_at(map, 12, 0);
    params.motion = TP_MOTION_INERTIA;
    params.start = case_at(map, 0, 0);
    params.goal = case_at(map, 19, 0);
    params.more_goals = &more;
    params.more_goal_count = 1;
    struct stage stage;
    stage_open(&stage, wire, &params, map, "vehicle, two goals");
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, UINT32_MAX);
    stage_close(&stage);
    params.more_goal_count = 0;
    params.goal_policy = TP_GOAL_WITHIN;
    params.goal_radius = 1333 * TP_COST_UNIT / 1000; /* h is a third */
    stage_open(&stage, wire, &params, map, "vehicle, within 4 cells");
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, UINT32_MAX);
    STAGE_SAY(&stage, stage.play.cell % map->width >= 15);
    stage_close(&stage);
    params.goal = case_at(map, 19, 2);
    params.goal_policy = TP_GOAL_NEAREST;
    params.goal_radius = 0;
    if (params.algorithm->learning == TP_LEARNING_NONE) { /* the others take long to find out */
        stage_open(&stage, wire, &params, map, "vehicle, nearest");
        case_expect_end(&stage, TP_STATUS_ARRIVED, true, UINT32_MAX);
        stage_close(&stage);
    }
    tp_map_unref(map);
}
