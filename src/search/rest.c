#include "search/rest.h"

#include "base/check.h"

#include <stdlib.h>

_Static_assert(sizeof(struct tp_session) + 16 + 2 * TP_STEPS_PIECE_BYTES <= 512, "a session that rests fits, with what is rounded up");
_Static_assert(sizeof(struct tp_mind) <= TP_POOL_MIND_MAX, "a mind is a block of the pool");
_Static_assert(sizeof(struct tp_session_params) == 200, "tp_rest_params has all that a session which rests needs of them");

static const struct tp_map *map_of(const struct tp_session *session)
{
    return session->mind ? session->mind->map : session->map;
}

/* ---- Parameters ---- */

/* Whether a session with these may rest. */
static bool may_rest(const struct tp_session_params *params, const struct tp_map *map)
{
    const struct tp_budget *budget = &params->budget;
    bool plain = !budget->expired && budget->expansions_max == UINT64_MAX && !budget->caps_guide;
    return tp__packed_may(params, map) && params->goal_policy != TP_GOAL_WITHIN && plain;
}

static struct tp_rest_params keep_params(const struct tp_session_params *params)
{
    return (struct tp_rest_params){
        .algorithm = params->algorithm,
        .fields = params->fields,
        .node_bytes_max = params->node_bytes_max,
        .budget_expansions = params->budget.expansions,
        .budget_r_milli = params->budget.r_milli,
        .budget_c = params->budget.c,
        .budget_kind = (uint8_t)params->budget.kind,
        .w_milli = params->w_milli,
        .guide_units = params->guide_units,
        .switch_margin_milli = params->switch_margin_milli,
        .stamp_max = params->stamp_max,
        .heuristic = (uint8_t)params->heuristic,
        .goal_policy = (uint8_t)params->goal_policy,
        .restart = (uint8_t)params->restart,
        .open_list = (uint8_t)params->open_list,
        .pause_on_backtrack = (uint8_t)params->pause_on_backtrack,
        .longest_path_rule = params->longest_path_rule,
        .path_switch = params->path_switch,
    };
}

/* The same parameters again; start and goal are where they are now. */
static struct tp_session_params params_of(const struct tp_session *session)
{
    const struct tp_rest_params *kept = &session->params;
    return (struct tp_session_params){
        .algorithm = kept->algorithm,
        .start = tp__rest_cell(session, session->at),
        .goal = tp__rest_cell(session, session->goal),
        .w_milli = kept->w_milli,
        .neighbours = (enum tp_neighbours)session->neighbours,
        .corners = (enum tp_corners)session->corners,
        .heuristic = (enum tp_heuristic)kept->heuristic,
        .goal_policy = (enum tp_goal_policy)kept->goal_policy,
        .knowledge = TP_KNOWLEDGE_FULL,
        .restart = (enum tp_restart)kept->restart,
        .open_list = (enum tp_open_list)kept->open_list,
        .budget = {.kind = (enum tp_budget_kind)kept->budget_kind,
                   .expansions = kept->budget_expansions,
                   .r_milli = kept->budget_r_milli,
                   .c = kept->budget_c,
                   .expansions_max = UINT64_MAX},
        .longest_path_rule = kept->longest_path_rule,
        .path_switch = kept->path_switch,
        .switch_margin_milli = kept->switch_margin_milli,
        .pause_on_backtrack = (enum tp_pause)kept->pause_on_backtrack,
        .node_bytes_max = kept->node_bytes_max,
        .fields = kept->fields,
        .guide_units = kept->guide_units,
        .stamp_max = kept->stamp_max,
    };
}

/* ---- Opening ---- */

static bool set_more_goals(struct tp_session *session, const tp_state *states, uint32_t count)
{
    enum { BYTES = (TP_GOALS_MAX - 1) * sizeof(tp_state) };
    if (count && !session->more_goals && !(session->more_goals = tp_pool_get(session->pool, BYTES)))
        return false;
    if (!count && session->more_goals) {
        tp_pool_put(session->pool, session->more_goals, BYTES);
        session->more_goals = NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        session->more_goals[i] = states[i];
    session->more_goal_count = (uint8_t)count;
    return true;
}

static int open_mind(struct tp_session *session, const struct tp_session_params *params, const struct tp_map *map)
{
    session->mind = calloc(1, sizeof *session->mind);
    return session->mind ? tp__mind_init(session->mind, params, map, session->pool) : TP_ERR_NO_MEMORY;
}

static int open_at_rest(struct tp_session *session, const struct tp_session_params *params, const struct tp_map *map)
{
    session->map = tp_map_ref(map);
    while (1u << session->shift < map->width)
        session->shift++;
    session->params = keep_params(params);
    session->neighbours = (uint8_t)params->neighbours;
    session->corners = (uint8_t)params->corners;
    session->at = tp__rest_state(session, params->start);
    session->goal = tp__rest_state(session, params->goal);
    session->at_before = session->rest.end = TP_STATE_NONE;
    session->rest.packs = true;
    session->rest.guide_left_bar = UINT64_MAX;
    session->rest.stalled_at = TP_COST_INFINITE;
    session->stats.move_hash = 0xcbf29ce484222325u;
    tp_state more[TP_GOALS_MAX];
    for (uint32_t i = 0; i < params->more_goal_count; i++)
        more[i] = tp__rest_state(session, params->more_goals[i]);
    return set_more_goals(session, more, params->more_goal_count) ? TP_OK : TP_ERR_NO_MEMORY;
}

int tp_session_open(struct tp_session **out, const struct tp_session_params *params, const struct tp_map *map,
                    struct tp_pool *pool, struct tp_refusal *refusal)
{
    *out = NULL;
    *refusal = (struct tp_refusal){0};
    int error = tp__session_check_params(params, map, refusal);
    if (error)
        return error;
    struct tp_session *session = calloc(1, sizeof *session);
    if (!session)
        return TP_ERR_NO_MEMORY;
    struct tp_session_params settled = *params;
    tp__session_settle(&settled, map);
    session->pool = pool;
    session->may_rest = may_rest(&settled, map);
    session->params.algorithm = params->algorithm;
    error = session->may_rest ? open_at_rest(session, &settled, map) : open_mind(session, &settled, map);
    if (error) {
        tp_session_close(session);
        return error;
    }
    *out = session;
    return TP_OK;
}

static void mind_close(struct tp_session *session)
{
    struct tp_mind *mind = session->mind;
    bool pooled = mind->pooled;
    tp__mind_fini(mind);
    if (pooled)
        tp_pool_put(session->pool, mind, sizeof *mind);
    else
        free(mind);
    session->mind = NULL;
}

static void forget_steps(struct tp_session *session)
{
    uint64_t bytes = tp_steps_bytes(&session->steps);
    tp_steps_empty(&session->steps, session->pool, &bytes);
    session->path_complete = false;
}

void tp_session_close(struct tp_session *session)
{
    if (!session)
        return;
    if (session->mind) {
        mind_close(session);
    } else {
        forget_steps(session);
        set_more_goals(session, NULL, 0);
        tp_map_unref(session->map);
    }
    free(session);
}

/* ---- Rest ---- */

/* The path is forgotten, and what there was of a search: of one that rests. */
static void begin_anew(struct tp_session *session)
{
    forget_steps(session);
    session->at_before = TP_STATE_NONE;
    session->rest.active = session->rest.guide_rests = session->rest.watch_walks = session->blind = false;
    session->rest.restart_wanted = session->rest.begun;
}

static void recall_guide(struct tp_guide *guide, const struct tp_rest *rest)
{
    guide->left_bar = rest->guide_left_bar;
    guide->looked = rest->looked;
    guide->patience = rest->patience;
    guide->stalled_at = rest->stalled_at;
    guide->stalls = rest->stalls;
    guide->waited = rest->waited;
    guide->other = rest->other;
    guide->rest.is = rest->guide_rests;
    guide->rest.was_led = rest->guide_was_led;
    guide->rest.epoch = rest->rest_epoch;
    guide->rest.version = rest->rest_version;
    guide->rest.points = rest->rest_points;
    guide->rest.left = rest->rest_left;
}

/* The path, as a search that was done left it: without a tree. */
static void recall_path(struct tp_session *session, struct tp_mind *mind)
{
    const struct tp_rest *rest = &session->rest;
    mind->search.active = mind->search.found = true;
    mind->search.end = mind->trace.follow_end = rest->end;
    mind->search.begun_version = rest->begun_version;
    mind->search.begun_stamp = (uint32_t)rest->begun_version;
    mind->search.touched = session->stats.touched;
    mind->search.hash = session->stats.search_hash;
    mind->packed.phase = TP_PACKED_FOLLOWED;
    mind->packed.steps = session->steps;
    mind->trace.is_counted = true;
    mind->trace.left = session->cost_there - session->stats.cost;
    mind->bytes = tp_steps_bytes(&session->steps);
    session->steps = (struct tp_steps){0};
}

static void recall(struct tp_session *session, struct tp_mind *mind)
{
    const struct tp_rest *rest = &session->rest;
    tp_state goals[TP_GOALS_MAX] = {session->goal};
    for (uint32_t i = 0; i < session->more_goal_count; i++)
        goals[1 + i] = session->more_goals[i];
    tp__goals_set(mind, goals, 1 + session->more_goal_count);
    mind->at_before = session->at_before;
    mind->stats = session->stats;
    mind->begun = rest->begun;
    mind->path_complete = session->path_complete;
    mind->restart_wanted = rest->restart_wanted;
    mind->displaced = rest->displaced;
    mind->goal_moved = rest->goal_moved;
    mind->waits_for_path = rest->waits_for_path;
    mind->turned_left = rest->turned_left;
    mind->after_somebody = rest->after_somebody;
    mind->packs = rest->packs;
    mind->watch.h_bar = rest->h_bar;
    mind->watch.left_bar = rest->left_bar;
    mind->watch.begun = rest->watch_begun;
    mind->watch.at_once = rest->at_once;
    mind->watch.walks = rest->watch_walks;
    mind->watch.step = TP_STATE_NONE;
    recall_guide(&mind->guide, rest);
    if (rest->active)
        recall_path(session, mind);
}

struct tp_mind *tp__session_wake(struct tp_session *session)
{
    if (session->mind)
        return session->mind;
    struct tp_mind *mind = session->mind = tp_pool_get(session->pool, sizeof *mind);
    if (!mind)
        return NULL;
    *mind = (struct tp_mind){.pooled = true};
    if (session->blind)
        begin_anew(session);
    struct tp_session_params params = params_of(session);
    if (tp__mind_init(mind, &params, session->map, session->pool)) {
        mind_close(session);
        return NULL;
    }
    recall(session, mind);
    set_more_goals(session, NULL, 0);
    tp_map_unref(session->map);
    session->map = NULL;
    return mind;
}

static void keep(struct tp_rest *rest, const struct tp_mind *mind)
{
    const struct tp_guide *guide = &mind->guide;
    *rest = (struct tp_rest){
        .begun_version = mind->search.begun_version,
        .h_bar = mind->watch.h_bar,
        .left_bar = mind->watch.left_bar,
        .watch_begun = mind->watch.begun,
        .turned_left = mind->turned_left,
        .guide_left_bar = guide->left_bar,
        .looked = guide->looked,
        .patience = guide->patience & 3,
        .stalled_at = guide->stalled_at,
        .rest_epoch = guide->rest.epoch,
        .rest_version = guide->rest.version,
        .rest_points = guide->rest.points,
        .rest_left = guide->rest.left,
        .end = mind->trace.follow_end,
        .stalls = guide->stalls,
        .waited = guide->waited,
        .at_once = mind->watch.at_once,
        .begun = mind->begun,
        .active = mind->search.active,
        .after_somebody = mind->after_somebody,
        .guide_rests = guide->rest.is,
        .guide_was_led = guide->rest.was_led,
        .other = guide->other,
        .goal_moved = mind->goal_moved,
        .displaced = mind->displaced,
        .waits_for_path = mind->waits_for_path,
        .packs = mind->packs,
        .restart_wanted = mind->restart_wanted,
        .looks_near = tp__watch_is_near(mind),
        .watch_walks = mind->watch.walks,
    };
}

void tp__session_rest(struct tp_session *session)
{
    struct tp_mind *mind = session->mind;
    if (!set_more_goals(session, mind->goals.states + 1, mind->goals.count - 1))
        return;
    session->map = tp_map_ref(mind->map);
    session->at = mind->at;
    session->at_before = mind->at_before;
    session->goal = mind->goal;
    session->steps = mind->packed.steps;
    tp__mind_stats(mind, &session->stats);
    session->cost_there = session->stats.cost + mind->trace.left;
    session->path_complete = mind->path_complete;
    session->goal_closed = tp__rest_goal_closed(session);
    keep(&session->rest, mind);
    mind->packed.steps = (struct tp_steps){0};
    mind->bytes = 0;
    mind_close(session);
}

/* ---- Between ticks ---- */

int tp_session_check_budget(const struct tp_session *session, const struct tp_budget *budget, struct tp_refusal *refusal)
{
    return tp__session_check_budget(session->params.algorithm, budget, refusal);
}

int tp_session_at(struct tp_session *session, uint32_t cell)
{
    return tp_session_at_velocity(session, cell, 0, 0);
}

int tp_session_at_velocity(struct tp_session *session, uint32_t cell, int vx, int vy)
{
    bool stays = !session->mind && cell == tp__rest_cell(session, session->at) && !vx && !vy;
    if (!stays && tp__session_wake(session))
        return tp__mind_at_velocity(session->mind, cell, vx, vy);
    if (cell >= (uint64_t)session->map->width * session->map->height)
        return TP_ERR_OUT_OF_RANGE;
    if (vx || vy)
        return TP_ERR_INVALID_ARGUMENT;
    if (tp__rest_state(session, cell) != session->at)
        begin_anew(session);
    session->at = tp__rest_state(session, cell);
    return TP_OK;
}

int tp_session_retarget(struct tp_session *session, uint32_t goal)
{
    return tp_session_retarget_set(session, &goal, 1);
}

int tp_session_retarget_set(struct tp_session *session, const uint32_t *goals, uint32_t count)
{
    bool stays = !session->mind && count == 1 && !session->more_goals && goals[0] == tp__rest_cell(session, session->goal);
    if (stays)
        return TP_OK;
    if (tp__session_wake(session))
        return count == 1 ? tp__mind_retarget(session->mind, goals[0]) : tp__mind_retarget_set(session->mind, goals, count);
    tp_state states[TP_GOALS_MAX];
    if (count < 1 || count > TP_GOALS_MAX)
        return TP_ERR_INVALID_ARGUMENT;
    if (count > 1 && !(session->params.algorithm->capabilities & TP_CAN_CHOOSE_GOAL))
        return TP_ERR_UNSUPPORTED;
    for (uint32_t i = 0; i < count; i++) {
        if (goals[i] >= (uint64_t)session->map->width * session->map->height)
            return TP_ERR_OUT_OF_RANGE;
        states[i] = tp__rest_state(session, goals[i]);
    }
    if (!set_more_goals(session, states + 1, count - 1))
        return TP_ERR_NO_MEMORY;
    session->goal = states[0];
    begin_anew(session);
    return TP_OK;
}

void tp_session_let_go(struct tp_session *session, const struct tp_map *map)
{
    const struct tp_map *before = session->map;
    if (session->mind) {
        tp__mind_let_go(session->mind, map);
    } else if (map != before) {
        begin_anew(session);
        session->map = tp_map_ref(map);
        tp_map_unref(before);
    }
}

/* ---- What is known of it ---- */

static uint32_t rest_path(const struct tp_session *session, uint32_t *cells, uint32_t max)
{
    struct tp_steps_reader reader = tp_steps_read(&session->steps);
    uint32_t x = tp__rest_x(session, session->at), y = tp__rest_y(session, session->at), count = 0;
    for (; count < max; count++) {
        cells[count] = y * session->map->width + x;
        if (!reader.left)
            return count + 1;
        x += (uint32_t)tp_direction_dx[tp_steps_peek(&reader)];
        y += (uint32_t)tp_direction_dy[tp_steps_peek(&reader)];
        tp_steps_next(&reader);
    }
    return count;
}

uint32_t tp_session_path(const struct tp_session *session, uint32_t *cells, uint32_t max)
{
    return session->mind ? tp__mind_path(session->mind, cells, max) : rest_path(session, cells, max);
}

void tp_session_stats(const struct tp_session *session, struct tp_session_stats *stats)
{
    if (session->mind) {
        tp__mind_stats(session->mind, stats);
        return;
    }
    *stats = session->stats;
    stats->bytes = tp_steps_bytes(&session->steps);
}

uint64_t tp_session_ticks(const struct tp_session *session)
{
    return session->mind ? session->mind->stats.ticks : session->stats.ticks;
}

const struct tp_map *tp_session_map(const struct tp_session *session)
{
    return map_of(session);
}

uint32_t tp_session_cell(const struct tp_session *session)
{
    return session->mind ? tp__mind_cell(session->mind) : tp__rest_cell(session, session->at);
}

uint32_t tp_session_goal(const struct tp_session *session)
{
    return session->mind ? tp__mind_goal(session->mind) : tp__rest_cell(session, session->goal);
}

const struct tp_algorithm *tp_session_algorithm(const struct tp_session *session)
{
    return session->params.algorithm;
}

bool tp_session_arrived(const struct tp_session *session)
{
    return session->mind ? tp__mind_arrived(session->mind) : tp__rest_at_goal(session);
}
