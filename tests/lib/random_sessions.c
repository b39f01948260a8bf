#include "tests/lib/random_sessions.h"

#include <string.h>

static const enum tp_neighbours neighbour_counts[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
static const enum tp_corners corner_rules[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE, TP_CORNERS_ALWAYS};

/* ---- Rows ---- */

int row_count(void)
{
    int count = 0;
    while (tp_algorithm_at((size_t)count))
        count++;
    return count;
}

int rows_times_kinds(void)
{
    return row_count() * SPACE_KINDS;
}

const struct tp_algorithm *row_of(int i)
{
    return tp_algorithm_at((size_t)i / SPACE_KINDS);
}

enum space_kind kind_of(int i)
{
    return (enum space_kind)(i % SPACE_KINDS);
}

bool row_can(const struct tp_algorithm *row, enum tp_capability capability)
{
    return row->capabilities & capability;
}

bool row_walks_to_learn(const struct tp_algorithm *row)
{
    return strcmp(tp_engine_name(row->engine), "agent-centred") == 0;
}

struct space_size row_space_size(const struct tp_algorithm *row)
{
    bool learns = row_walks_to_learn(row);
    return (struct space_size){.grid_side = 40,
                               .track_side = learns ? 8 : 12,
                               .nodes = learns ? 40 : 80,
                               .cost_max = learns ? 10 : UINT32_MAX};
}

/* ---- Opening ---- */

static int random_velocity(struct tp_test_rng *rng)
{
    return (int)tp_test_below(rng, 2 * TP_VELOCITY_MAX + 1) - TP_VELOCITY_MAX;
}

static void random_motion(struct tp_test_rng *rng, struct tp_session_params *params,
                          const struct space *space)
{
    static const enum tp_heuristic of_graph[] = {TP_HEURISTIC_DEFAULT, TP_HEURISTIC_ZERO,
                                                 TP_HEURISTIC_EUCLID};
    static const enum tp_heuristic of_vehicle[] = {TP_HEURISTIC_DEFAULT, TP_HEURISTIC_ZERO,
                                                   TP_HEURISTIC_MAXIMUM};
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

struct tp_session_params random_params(struct tp_test_rng *rng, const struct tp_algorithm *row,
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
    static const uint32_t weights[] = {1000, 1400, 3000, 50000, 1000000000, TP_W_UNSET};
    params.w_milli = row_can(row, TP_CAN_TAKE_W) ? weights[tp_test_below(rng, 6)] : 1000;
    if (row_can(row, TP_CAN_ENHANCE_2009)) {
        params.longest_path_rule = tp_test_percent(rng, 25);
        params.shortcut = space->kind == SPACE_GRID && tp_test_percent(rng, 25);
        params.path_switch = tp_test_percent(rng, 25);
    }
    if (strcmp(tp_engine_name(row->engine), "time-bounded") == 0) {
        params.switch_margin_milli = tp_test_percent(rng, 70) ? 0 : tp_test_between(rng, 1, 1000);
        params.pause_on_backtrack = (enum tp_pause)tp_test_between(rng, TP_PAUSE_DEFAULT, TP_PAUSE_NEVER);
    }
    if (row_can(row, TP_CAN_BE_GUIDED))
        params.guide_units = tp_test_percent(rng, 10) ? 0 : tp_test_between(rng, 1, 200);
    if (tp_test_percent(rng, 20))
        params.restart = row_can(row, TP_CAN_RESTART_BY_RULE)
                             ? (enum tp_restart)tp_test_between(rng, TP_RESTART_NEVER, TP_RESTART_ON_RISE)
                             : TP_RESTART_EAGER;
    bool takes_buckets = row_can(row, TP_CAN_BUCKET) && space->kind != SPACE_GRAPH;
    params.open_list = takes_buckets && tp_test_percent(rng, 50) ? TP_OPEN_LIST_BUCKET : TP_OPEN_LIST_EXACT;
    if (tp_test_percent(rng, 50))
        params.budget = tp_budget_k(tp_test_between(rng, 1, 30));
    params.bounded = space->kind == SPACE_GRID && row_can(row, TP_CAN_PROVE_COST) && tp_test_percent(rng, 30);
    random_motion(rng, &params, space);
    return params;
}

struct tp_map *random_knowledge(struct tp_test_rng *rng, struct tp_session_params *params,
                                const struct space *space)
{
    const struct tp_map *map = space->map;
    if (space->kind != SPACE_GRID || !row_can(params->algorithm, TP_CAN_DISCOVER) || tp_test_percent(rng, 50))
        return NULL;
    uint32_t least = params->neighbours == TP_NEIGHBOURS_16 ? 2 : 1;
    params->bounded = false;
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

void space_open(struct play *play, const struct tp_session_params *params, const struct space *space,
                struct tp_pool *pool)
{
    play_open_graph(play, params, space->map, space->kind == SPACE_GRAPH ? &space->graph : NULL, pool);
}

struct tp_session_params random_joined(struct tp_test_rng *rng, const struct tp_algorithm *row,
                                       struct space *space, enum space_kind kind, struct space_size size)
{
    for (;;) {
        space_random(space, rng, kind, size);
        struct tp_session_params params = random_params(rng, row, space);
        params.longest_path_rule = params.shortcut = params.path_switch = params.bounded = false;
        params.start = space_cell(rng, space->map, true);
        params.goal = space_cell(rng, space->map, true);
        bool passable = space->map->graph || space->map->passable_cells > 0;
        if (passable && params.start != params.goal) {
            struct play play;
            space_open(&play, &params, space, NULL);
            bool joined = play_reachable(&play);
            play_close(&play);
            if (joined)
                return params;
        }
        space_fini(space);
    }
}

/* ---- Between ticks ---- */

struct tp_budget random_budget(struct tp_test_rng *rng, const struct tp_session *session,
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

static void change_graph(struct tp_test_rng *rng, struct play *play, struct space *space)
{
    if (tp_test_percent(rng, 80)) {
        struct tp_change changes[SPACE_BATCH_MAX];
        uint32_t cost_max = row_space_size(play->params.algorithm).cost_max;
        play_apply(play, changes, space_graph_batch(rng, &space->graph, cost_max, changes));
        return;
    }
    struct tp_map *map = space_graph_version(space, play->map, tp_test_percent(rng, 50));
    play_use_map(play, map);
    tp_map_unref(map);
}

static void change_grid(struct tp_test_rng *rng, struct play *play)
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

void random_change(struct tp_test_rng *rng, struct play *play, struct space *space)
{
    space->kind == SPACE_GRAPH ? change_graph(rng, play, space) : change_grid(rng, play);
}

void random_stand(struct tp_test_rng *rng, struct play *play, uint32_t cell)
{
    if (play->drives && tp_test_percent(rng, 60)) {
        int vx = random_velocity(rng);
        play_at_velocity(play, cell, vx, random_velocity(rng));
    } else {
        play_at(play, cell);
    }
}

void random_place(struct tp_test_rng *rng, struct play *play, struct plain_vehicle before)
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
    random_stand(rng, play, cell);
}
