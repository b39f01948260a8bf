#include "tests/lib/cases.h"

#include <string.h>

/* ---- What plays them ---- */

enum { BUDGETS = 8 };

static struct tp_budget budget_at(int i)
{
    static const uint64_t lookaheads[] = {1, 2, 5, 7, 64, TP_BUDGET_UNLIMITED};
    return i < 6 ? tp_budget_k(lookaheads[i]) : i == 6 ? tp_budget_r(3, 700, 2) : tp_budget_r(100, 900, 10);
}

static void play_rows(case_fn *play_case, struct wire *wire, uint32_t capabilities)
{
    for (size_t row = 0; tp_algorithm_at(row); row++)
        for (int i = 0; i < BUDGETS; i++) {
            struct tp_session_params params;
            tp_session_params_init(&params);
            params.algorithm = tp_algorithm_at(row);
            params.budget = budget_at(i);
            bool plays = wire == NULL || tp_test_long() || i % 2 == 0 || case_unlimited(&params);
            if (plays && (params.algorithm->capabilities & capabilities) == capabilities)
                play_case(wire, &params);
        }
}

void case_play_all(case_fn *play_case, struct wire *wire)
{
    play_rows(play_case, wire, 0);
}

void case_play_choosing(case_fn *play_case, struct wire *wire)
{
    play_rows(play_case, wire, TP_CAN_CHOOSE_GOAL);
}

bool case_detects(const struct tp_session_params *params)
{
    return params->algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE;
}

bool case_chooses(const struct tp_session_params *params)
{
    return params->algorithm->capabilities & TP_CAN_CHOOSE_GOAL;
}

bool case_paces(const struct tp_session_params *params)
{
    return params->algorithm->capabilities & TP_PACES;
}

bool case_by_g(const struct tp_session_params *params)
{
    return params->algorithm->priority == TP_PRIORITY_ASTAR;
}

bool case_unlimited(const struct tp_session_params *params)
{
    return params->budget.kind == TP_BUDGET_K && params->budget.expansions == TP_BUDGET_UNLIMITED;
}

uint32_t case_at(const struct tp_map *map, uint32_t x, uint32_t y)
{
    return y * map->width + x;
}

void case_expect_unreachable(struct stage *stage, uint64_t ticks_max)
{
    if (!case_detects(&stage->play.params)) {
        enum {
            SOME = 100
        }; /* through the wire each takes its time, and it never says it whatever the tick */
        for (uint64_t i = 0; i < ticks_max && (stage->wire == NULL || i < SOME); i++)
            stage_tick(stage);
        return;
    }
    struct tp_tick_reply reply = stage_until_settled(stage, ticks_max);
    STAGE_SAY(stage, reply.status == TP_STATUS_UNREACHABLE);
    uint32_t cell = stage->play.cell;
    for (int i = 0; i < 5; i++) {
        reply = stage_tick(stage);
        STAGE_SAY(stage, reply.status == TP_STATUS_UNREACHABLE);
        STAGE_SAY(stage, reply.to == cell);
    }
}

void case_expect_end(struct stage *stage, enum tp_status status, bool partial, uint32_t cell)
{
    struct tp_tick_reply reply = stage_until_settled(stage, 5000);
    for (int i = 0; i < 6; i++) {
        STAGE_SAY(stage, reply.status == status);
        STAGE_SAY(stage, cell == UINT32_MAX || reply.to == cell);
        STAGE_SAY(stage, partial == ((reply.flags & TP_FLAG_PARTIAL) != 0));
        STAGE_SAY(stage, i == 0 || reply.to == reply.from);
        STAGE_SAY(stage, i == 0 || reply.work.expansions == 0);
        reply = stage_tick(stage);
    }
}

/* ---- A. On free ground ---- */

void case_a_straight(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(10, 10);
    params.start = case_at(map, 0, 0);
    params.goal = case_at(map, 7, 0);
    struct stage stage;
    stage_open(&stage, wire, &params, map, "case A, straight");
    struct tp_tick_reply reply;
    uint64_t ticks = 0;
    do {
        reply = stage_tick(&stage);
        STAGE_SAY(&stage, case_paces(&params) || reply.to / map->width == 0);
    } while (reply.status != TP_STATUS_ARRIVED && ++ticks < 200);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    if (case_paces(&params)) {
        STAGE_SAY(&stage, stage.play.moves >= 7 && stage.play.ticks == stage.play.moves);
    } else {
        STAGE_SAY(&stage, stage.play.moves == 7);
        STAGE_SAY(&stage, stage.play.cost == 7 * TP_COST_UNIT);
    }
    reply = stage_tick(&stage); /* it waits there */
    STAGE_SAY(&stage,
              reply.status == TP_STATUS_ARRIVED && reply.to == params.goal && reply.work.expansions == 0);
    stage_close(&stage);
    tp_map_unref(map);
}

void case_a_diagonal_and_back(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(20, 20);
    params.start = case_at(map, 4, 4);
    params.goal = case_at(map, 2, 2);
    struct stage stage;
    stage_open(&stage, wire, &params, map, "case A, diagonal");
    struct tp_tick_reply reply = stage_until_settled(&stage, 200);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    STAGE_SAY(&stage,
              case_paces(&params) || (stage.play.moves == 2 && stage.play.cost == 2 * TP_COST_DIAGONAL));
    stage_retarget(&stage, params.start);
    reply = stage_until_settled(&stage, 200);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    STAGE_SAY(&stage,
              case_paces(&params) || (stage.play.moves == 4 && stage.play.cost == 4 * TP_COST_DIAGONAL));
    stage_close(&stage);
    tp_map_unref(map);
}

/* ---- B. A ledge that leads one way; nodes 10 to 15 of the graph by their numbers ---- */

static const struct tp_graph_edge ledge_edges[] = {{13, 15, 1}, {15, 13, 1}, {13, 11, 2},
                                                   {11, 13, 2}, {11, 10, 1}, {10, 12, 1},
                                                   {12, 10, 1}, {12, 14, 1}, {14, 12, 1}};
static const double ledge_x[16] = {[13] = 1, [15] = 2, [11] = 3, [10] = 4, [12] = 5, [14] = 6}, ledge_y[16];
static const struct stage_graph ledge = {16, ledge_edges, 9, ledge_x, ledge_y};

/* The nodes it came to, in order. */
struct walk {
    uint32_t nodes[64];
    size_t count;
};

static void walk_on(struct stage *stage, struct walk *walk, uint64_t ticks_max)
{
    struct tp_tick_reply reply;
    do {
        reply = stage_tick(stage);
        if (reply.to != reply.from && walk->count < 64)
            walk->nodes[walk->count++] = reply.to;
    } while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE && --ticks_max);
}

static bool walked(const struct walk *walk, const uint32_t *nodes, size_t count)
{
    return walk->count == count && memcmp(walk->nodes, nodes, count * sizeof *nodes) == 0;
}

void case_b_a_one_way_ledge(struct wire *wire, const struct tp_session_params *given)
{
    static const uint32_t whole[] = {11, 10, 12};
    struct tp_session_params params = *given;
    params.start = 13;
    params.goal = 12;
    struct stage stage;
    struct walk walk = {.count = 0};
    stage_open_graph(&stage, wire, &params, &ledge, "case B");
    walk_on(&stage, &walk, 200);
    STAGE_SAY(&stage, stage.play.cell == 12);
    STAGE_SAY(&stage, case_paces(&params) || walked(&walk, whole, 3));
    stage_close(&stage);

    walk.count = 0;
    stage_open_graph(&stage, wire, &params, &ledge, "case B, blocked");
    stage_set_node(&stage, 12, false);
    case_expect_unreachable(&stage, 200);
    stage_set_node(&stage, 12, true); /* from wherever it has gone: 10 leads on */
    struct tp_tick_reply reply = stage_until_settled(&stage, 400);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    stage_close(&stage);
    if (!case_chooses(&params))
        return;

    walk.count = 0;
    params.goal_policy = TP_GOAL_NEAREST;
    stage_open_graph(&stage, wire, &params, &ledge, "case B, blocked");
    stage_set_node(&stage, 12, false);
    walk_on(&stage, &walk, 200);
    case_expect_end(&stage, TP_STATUS_ARRIVED, true, 10);
    STAGE_SAY(&stage, case_paces(&params) || walked(&walk, whole, 2));
    stage_set_node(&stage, 12, true);
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, 12);
    stage_close(&stage);
}

/* ---- C. The goal itself is blocked: to the nearest cell beside it, by the shortest way of four ---- */

void case_c_the_goal_is_blocked(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map(".....\n.....\n..@..\n.....\n.....");
    params.neighbours = TP_NEIGHBOURS_4;
    params.start = case_at(map, 0, 2);
    params.goal = case_at(map, 2, 2);
    struct stage stage;
    stage_open(&stage, wire, &params, map, "case C");
    case_expect_unreachable(&stage, 40);
    STAGE_SAY(&stage, stage.play.cell != params.goal);
    stage_close(&stage);
    if (case_chooses(&params)) {
        params.goal_policy = TP_GOAL_NEAREST;
        stage_open(&stage, wire, &params, map, "case C");
        case_expect_end(&stage, TP_STATUS_ARRIVED, true, case_at(map, 1, 2));
        if (case_unlimited(&params))
            STAGE_SAY(&stage, stage.play.cost == TP_COST_UNIT);
        stage_close(&stage);
        params.goal_policy = TP_GOAL_WITHIN;
        params.goal_radius = TP_COST_UNIT;
        stage_open(&stage, wire, &params, map, "case C, within a step");
        case_expect_end(&stage, TP_STATUS_ARRIVED, false, UINT32_MAX);
        stage_close(&stage);
    }
    tp_map_unref(map);
}

/* ---- D. A ring closes round the agent, and opens ---- */

static const struct tp_change border[] = {
    {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 1, .width = 6, .height = 1},
    {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 6, .width = 6, .height = 1},
    {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 2, .width = 1, .height = 4},
    {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 6, .y = 2, .width = 1, .height = 4},
};

static void ring_closes(struct stage *stage, struct wire *wire, const struct tp_session_params *params,
                        const struct tp_map *map)
{
    stage_open(stage, wire, params, map, "case D");
    stage_tick(stage);
    uint64_t version = stage->play.map->version;
    stage_apply(stage, border, 4);
    STAGE_SAY(stage, stage->play.map->version == version + 1); /* one batch, one version */
    STAGE_SAY(stage, stage->play.map->passable_cells == 400 - 20);
}

static void ring_opens(struct stage *stage)
{
    stage_set(stage, 6, 5, '.');
    struct tp_tick_reply reply = stage_until_settled(stage, 2000);
    STAGE_SAY(stage, reply.status == TP_STATUS_ARRIVED && !(reply.flags & TP_FLAG_PARTIAL));
    stage_close(stage);
}

/* Walks to its end without coming to a cell twice once it says PARTIAL. */
static void walk_straight(struct stage *stage)
{
    uint8_t seen[400] = {0};
    for (struct tp_tick_reply reply = {0}; reply.status != TP_STATUS_ARRIVED && stage->play.ticks < 5000;) {
        reply = stage_tick(stage);
        STAGE_SAY(stage, reply.to == reply.from || !(reply.flags & TP_FLAG_PARTIAL) || !seen[reply.to]);
        if (reply.flags & TP_FLAG_PARTIAL)
            seen[reply.to] = 1;
    }
}

void case_d_a_ring_closes_and_opens(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(20, 20);
    params.start = case_at(map, 3, 3);
    params.goal = case_at(map, 19, 19);
    struct stage stage;
    ring_closes(&stage, wire, &params, map);
    case_expect_unreachable(&stage, 2000);
    uint32_t x = stage.play.cell % 20, y = stage.play.cell / 20;
    STAGE_SAY(&stage, x >= 2 && x <= 5 && y >= 2 && y <= 5);
    ring_opens(&stage);
    if (case_chooses(&params)) {
        params.goal_policy = TP_GOAL_NEAREST;
        ring_closes(&stage, wire, &params, map);
        walk_straight(&stage);
        case_expect_end(&stage, TP_STATUS_ARRIVED, true, case_at(map, 5, 5));
        for (int i = 0; i < 40; i++) { /* what comes and goes elsewhere is nothing to it */
            stage_set(&stage, 12, 12, i % 2 ? '.' : '@');
            struct tp_tick_reply reply = stage_tick(&stage);
            STAGE_SAY(&stage, reply.to == case_at(map, 5, 5));
            STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_SEARCHING);
        }
        case_expect_end(&stage, TP_STATUS_ARRIVED, true, case_at(map, 5, 5));
        ring_opens(&stage);
    }
    tp_map_unref(map);
}

/* ---- E. Nowhere to go: told by the second tick, and one reply each tick ---- */

void case_e_walled_in(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map("@@@\n@.@\n@@.");
    params.start = case_at(map, 1, 1);
    params.goal = case_at(map, 2, 2);
    struct stage stage;
    stage_open(&stage, wire, &params, map, "case E");
    case_expect_unreachable(&stage, 2);
    STAGE_SAY(&stage, stage.play.moves == 0);
    stage_close(&stage);
    for (int nearest = 0; nearest < 2 && case_chooses(&params); nearest++) {
        params.goal_policy = nearest ? TP_GOAL_NEAREST : TP_GOAL_EXACT;
        stage_open(&stage, wire, &params, map, "case E");
        struct tp_tick_reply reply = stage_tick(&stage);
        if (reply.status == TP_STATUS_SEARCHING)
            reply = stage_tick(&stage);
        STAGE_SAY(&stage, reply.status == (nearest ? TP_STATUS_ARRIVED : TP_STATUS_UNREACHABLE));
        STAGE_SAY(&stage, reply.flags & TP_FLAG_DEAD_END);
        case_expect_end(&stage, reply.status, nearest, params.start);
        stage_close(&stage);
    }
    tp_map_unref(map);
}

/* ---- F. The goal is set again each tick, or wobbles ---- */

static uint64_t ticks_to_the_end(struct wire *wire, const struct tp_session_params *given,
                                 uint32_t goal_count, bool set_again)
{
    static const uint32_t goals[] = {19, 3 * 20 - 1};
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_free(20, goal_count == 1 ? 1 : 3);
    params.start = 0;
    params.goal = goals[0];
    params.more_goals = goals + 1;
    params.more_goal_count = goal_count - 1;
    struct stage stage;
    stage_open(&stage, wire, &params, map, set_again ? "case F, goal set again" : "case F");
    struct tp_tick_reply reply;
    do {
        if (set_again)
            stage_retarget_set(&stage, goals, goal_count);
        reply = stage_tick(&stage);
    } while (reply.status != TP_STATUS_ARRIVED && stage.play.ticks < 400);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    STAGE_SAY(&stage, stage.play.stats.restarts == 0);
    stage_close(&stage);
    tp_map_unref(map);
    return stage.play.ticks;
}

void case_f_the_same_goal_again(struct wire *wire, const struct tp_session_params *params)
{
    for (uint32_t goals = 1; goals <= (case_chooses(params) ? 2u : 1u); goals++) {
        uint64_t without = ticks_to_the_end(wire, params, goals, false),
                 with = ticks_to_the_end(wire, params, goals, true);
        ck_assert_msg(without == with, "case F: %s, budget %llu: %llu ticks, %llu with the goal set again",
                      params->algorithm->name, (unsigned long long)params->budget.expansions,
                      (unsigned long long)without, (unsigned long long)with);
    }
}

void case_f_a_goal_that_wobbles(struct wire *wire, const struct tp_session_params *given)
{
    static const enum tp_goal_policy policies[] = {TP_GOAL_EXACT, TP_GOAL_WITHIN, TP_GOAL_NEAREST};
    bool anew = case_paces(given) || strcmp(tp_engine_name(given->algorithm->engine), "agent-centred") == 0;
    if (anew && given->budget.kind == TP_BUDGET_R && given->budget.expansions < 100)
        return; /* it traces or learns anew for each goal, over more ticks than the goal stays */
    for (int i = 0; i < (case_chooses(given) ? 3 : 1); i++) {
        struct tp_session_params params = *given;
        struct tp_map *map = tp_test_map_free(20, 1);
        params.start = 0;
        params.goal = 19;
        params.goal_policy = policies[i];
        params.goal_radius = params.goal_policy == TP_GOAL_WITHIN ? 2 * TP_COST_UNIT : 0;
        struct stage stage;
        stage_open(&stage, wire, &params, map, "case F, goal moving to and fro");
        struct tp_tick_reply reply;
        do {
            stage_retarget(&stage, stage.play.ticks % 2 ? 18 : 19);
            reply = stage_tick(&stage);
        } while (reply.status != TP_STATUS_ARRIVED && stage.play.ticks < 100);
        STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
        stage_close(&stage);
        tp_map_unref(map);
    }
}

/* ---- G. Heavy ground between the agent and its goal: the way round it is cheaper, and every search that counts g takes it ---- */

static void way_round(struct wire *wire, const struct tp_session_params *given, uint32_t w_milli)
{
    static const char ground[] = ".........\n.........\n.HHHHHHH.\n.........\n.........";
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    profile.weight['H'] = 1000;
    struct tp_session_params params = *given;
    struct tp_map *map = tp_test_map_weighted(ground, &profile);
    params.neighbours = TP_NEIGHBOURS_4;
    params.start = case_at(map, 0, 2);
    params.goal = case_at(map, 8, 2);
    params.w_milli = w_milli;
    struct stage stage;
    stage_open(&stage, wire, &params, map, "case G");
    struct tp_tick_reply reply;
    do {
        reply = stage_tick(&stage);
        STAGE_SAY(&stage, ground[reply.to / 9 * 10 + reply.to % 9] != 'H');
    } while (reply.status != TP_STATUS_ARRIVED && stage.play.ticks < 500);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    if (case_unlimited(&params)) /* it knew before its first step */
        STAGE_SAY(&stage, stage.play.cost == 10 * TP_COST_UNIT || case_paces(&params));
    stage_close(&stage);
    tp_map_unref(map);
}

void case_g_the_way_round(struct wire *wire, const struct tp_session_params *params)
{
    if (params->algorithm->priority == TP_PRIORITY_GBFS)
        return; /* it counts no g */
    way_round(wire, params, 1000);
    if (params->algorithm->capabilities & TP_CAN_TAKE_W) {
        way_round(wire, params, 2000);
        way_round(wire, params, 100000);
    }
}

/* ---- H. A corner cut off: a spent budget is never "no path"; when the door opens the path is found ---- */

static struct tp_map *cut_off(void)
{
    struct tp_map *map = tp_test_map_free(10, 10);
    tp_test_set(&map, 8, 9, '@');
    tp_test_set(&map, 9, 8, '@');
    tp_test_set(&map, 8, 8, '@');
    return map;
}

static void cut_off_exact(struct wire *wire, const struct tp_session_params *params, const struct tp_map *map)
{
    struct stage stage;
    stage_open(&stage, wire, params, map, "case H");
    uint64_t open_cells = 100 - 3 - 1; /* all but the blocked ones and the goal */
    struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
    for (uint64_t i = 0; i < 2 * open_cells && reply.status != TP_STATUS_UNREACHABLE; i++)
        reply = stage_tick(&stage);
    if (case_detects(params)) {
        STAGE_SAY(&stage, reply.status == TP_STATUS_UNREACHABLE);
        /* proved by an empty open list, unless the map's components told it at once */
        STAGE_SAY(&stage, stage.play.expansions == open_cells || stage.play.ticks == 1);
        if (params->budget.kind == TP_BUDGET_K)
            STAGE_SAY(&stage, stage.play.ticks <= open_cells / params->budget.expansions + 1);
    }
    stage_set(&stage, 9, 8, '.');
    reply = stage_until_settled(&stage, 2000);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    stage_close(&stage);
}

static void cut_off_nearest(struct wire *wire, const struct tp_session_params *params,
                            const struct tp_map *map)
{
    bool unknown = params->knowledge != TP_KNOWLEDGE_FULL;
    struct stage stage;
    stage_open(&stage, wire, params, map, unknown ? "case H, unknown" : "case H");
    bool alike = case_by_g(params) && !unknown; /* else g depends on the way the search took */
    case_expect_end(&stage, TP_STATUS_ARRIVED, true, alike ? case_at(map, 9, 7) : UINT32_MAX);
    STAGE_SAY(&stage, stage.play.cell == case_at(map, 9, 7) || stage.play.cell == case_at(map, 7, 9));
    if (case_unlimited(params) && !case_paces(params))
        STAGE_SAY(&stage, unknown || stage.play.cost == 7 * TP_COST_DIAGONAL + 2 * TP_COST_UNIT);
    uint64_t restarts = stage.play.stats.restarts;
    stage_retarget(&stage, params->goal); /* the same: free */
    case_expect_end(&stage, TP_STATUS_ARRIVED, true, stage.play.cell);
    STAGE_SAY(&stage, stage.play.stats.restarts == restarts);
    stage_set(&stage, 9, 8, '.');
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, params->goal);
    stage_close(&stage);
}

void case_h_a_corner_cut_off(struct wire *wire, const struct tp_session_params *given)
{
    struct tp_session_params params = *given;
    struct tp_map *map = cut_off();
    params.start = case_at(map, 0, 0);
    params.goal = case_at(map, 9, 9);
    cut_off_exact(wire, &params, map);
    params.goal_policy = TP_GOAL_NEAREST;
    if (case_chooses(&params))
        cut_off_nearest(wire, &params, map);
    params.knowledge = TP_KNOWLEDGE_FREESPACE;
    if (case_chooses(&params) && params.algorithm->capabilities & TP_CAN_DISCOVER)
        cut_off_nearest(wire, &params, map);
    tp_map_unref(map);
}

/* ---- I. The corner rule holds for blocks that came by event ---- */

static void corner_rule(struct wire *wire, const struct tp_session_params *params, const struct tp_map *map)
{
    static const struct tp_change blocks[] = {{.kind = TP_CHANGE_CELL, .class_to = '@', .x = 1, .y = 0},
                                              {.kind = TP_CHANGE_CELL, .class_to = '@', .x = 0, .y = 1}};
    struct stage stage;
    stage_open(&stage, wire, params, map, "case I, free");
    struct tp_tick_reply reply = stage_until_settled(&stage, 20);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED && stage.play.moves == 1 &&
                          stage.play.cost == TP_COST_DIAGONAL);
    stage_close(&stage);

    stage_open(&stage, wire, params, map, "case I, one blocked by event");
    stage_apply(&stage, blocks, 1);
    reply = stage_until_settled(&stage, 20);
    bool cuts = params->corners != TP_CORNERS_BOTH_FREE;
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    STAGE_SAY(&stage, stage.play.cost == (cuts ? TP_COST_DIAGONAL : 2 * TP_COST_UNIT) || case_paces(params));
    stage_close(&stage);

    stage_open(&stage, wire, params, map, "case I, both blocked by event");
    stage_apply(&stage, blocks, 2);
    if (params->corners == TP_CORNERS_ALWAYS) {
        reply = stage_until_settled(&stage, 20);
        STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED && stage.play.cost == TP_COST_DIAGONAL);
    } else {
        case_expect_unreachable(&stage, 3);
        STAGE_SAY(&stage, stage.play.moves == 0);
        stage_set(&stage, 1, 0, '.');
        reply = stage_until_settled(&stage, 40);
        STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
    }
    stage_close(&stage);
}

void case_i_corner_rules_by_event(struct wire *wire, const struct tp_session_params *given)
{
    static const enum tp_corners rules[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE, TP_CORNERS_ALWAYS};
    struct tp_map *map = tp_test_map_free(2, 2);
    struct tp_session_params params = *given;
    params.start = case_at(map, 0, 0);
    params.goal = case_at(map, 1, 1);
    for (int i = 0; i < 3; i++) {
        params.corners = rules[i];
        corner_rule(wire, &params, map);
    }
    tp_map_unref(map);
}
