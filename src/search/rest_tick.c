/* The ticks of a session that rests (rest.h): it stands on its goal, or walks on along its packed path, without a mind.
 *
 *     the same version     the next step is legal: it is taken. Else it wakes
 *     another version      of one that looks near ahead (watch.c): the next steps are looked at now and then, the guide's turn is waited for;
 *                          of any other: it wakes, unless it has arrived
 *
 * What is to be found out in a version is what the tick of a mind finds out first; a mind is waked as soon as there is something.
 */
#include "search/rest.h"

#include "base/prefetch.h"

_Static_assert(offsetof(struct tp_session, stats) + offsetof(struct tp_session_stats, back_moves) <= 3 * TP_LINE_BYTES / 2, "what a step touches lies together");

/* One step of the path, which must be legal. */
static void step(struct tp_session *session)
{
    uint8_t move = tp_steps_first(&session->steps);
    uint64_t bytes = tp_steps_bytes(&session->steps);
    tp_steps_pop(&session->steps, session->pool, &bytes);
    session->at_before = session->at;
    session->at = (tp__rest_y(session, session->at) + (uint32_t)tp_direction_dy[move]) << session->shift |
                  (tp__rest_x(session, session->at) + (uint32_t)tp_direction_dx[move]);
    session->stats.cost += tp_direction_length[move];
    session->stats.moves++;
    session->stats.move_hash = tp__session_hash(session->stats.move_hash, tp__rest_cell(session, session->at));
}

/* Whether the path leads on from where the agent stands by a move that is legal in this version. */
static bool leads_on(const struct tp_session *session, const struct tp_map *map)
{
    if (!session->steps.count)
        return false;
    return tp_walk_open(map, tp__rest_x(session, session->at), tp__rest_y(session, session->at), tp_steps_first(&session->steps),
                        (enum tp_corners)session->corners);
}

static bool in_dead_end(const struct tp_session *session, const struct tp_map *map)
{
    struct tp_window window = tp_walk_window(map, tp__rest_x(session, session->at), tp__rest_y(session, session->at));
    return !tp_walk_moves(&window, (enum tp_neighbours)session->neighbours, (enum tp_corners)session->corners);
}

/* The tick of one that rests: it takes the next step, which is legal, or stands where it is. `changed`: in another version than that before. */
static void rest_tick(struct tp_session *session, const struct tp_map *map, bool steps, bool changed, struct tp_tick_reply *reply)
{
    *reply = (struct tp_tick_reply){.from = tp__rest_cell(session, session->at), .is_idle = true, .status = TP_STATUS_SEARCHING, .version = map->version, .epoch = map->epoch};
    if (!tp__rest_passable(session, map, session->at))
        reply->flags |= TP_FLAG_START_BLOCKED;
    if (changed && session->rest.begun && !tp__rest_at_goal(session))
        reply->flags |= TP_FLAG_CONTINUED;
    if (steps) {
        step(session);
        reply->status = TP_STATUS_MOVING;
    }
    if (tp__rest_at_goal(session))
        reply->status = TP_STATUS_ARRIVED;
    bool came_in = steps && !(reply->flags & TP_FLAG_START_BLOCKED); /* the way that it came is one out */
    if (!came_in && in_dead_end(session, map))
        reply->flags |= TP_FLAG_DEAD_END;
    if (session->path_complete && !session->goal_closed)
        reply->flags |= TP_FLAG_PATH_COMPLETE;
    session->stats.ticks++;
    reply->to = tp__rest_cell(session, session->at);
    reply->cost = session->stats.cost;
}

/* The same for want of memory for a mind: another version is taken up, and not looked at. */
static void starved_tick(struct tp_session *session, const struct tp_map *map, struct tp_tick_reply *reply)
{
    const struct tp_map *before = session->map;
    if (map != before) {
        session->map = tp_map_ref(map);
        session->blind = session->rest.active;
        session->goal_closed = tp__rest_goal_closed(session);
        tp_map_unref(before);
    }
    rest_tick(session, map, !tp__rest_at_goal(session) && leads_on(session, map), false, reply);
    reply->flags |= TP_FLAG_NODE_CAP;
    reply->is_idle = false;
}

/* ---- Other versions ---- */

/* Whether a goal may be reached in this version, as a mind's tick finds it out before all else. */
static bool is_in_reach(const struct tp_session *session, const struct tp_map *map)
{
    if (session->params.goal_policy != TP_GOAL_EXACT)
        return true;
    uint32_t mask = (1u << session->shift) - 1, x = session->at & mask, y = tp__rest_y(session, session->at);
    bool knows = map->blocks && tp_map_passable(map, x, y);
    for (uint32_t i = 0; i <= session->more_goal_count; i++) {
        tp_state goal = i ? session->more_goals[i - 1] : session->goal;
        if (tp__rest_passable(session, map, goal) && !(knows && tp_blocks_apart(map->blocks, x, y, tp__rest_x(session, goal), tp__rest_y(session, goal))))
            return true;
    }
    return false;
}

/* Whether the guide would look for another way. */
static bool guide_is_due(const struct tp_session *session, const struct tp_map *map, const struct tp_budget *budget)
{
    const struct tp_rest *rest = &session->rest;
    if (!map->blocks || (rest->rest_epoch == map->blocks->epoch && rest->rest_version == map->blocks->changed_version))
        return false;
    uint64_t own = session->params.guide_units, units = budget && budget->caps_guide && budget->guide_max < own ? budget->guide_max : own;
    return !rest->guide_rests || tp__guide_is_time(units, own, rest->looked, session->stats.ticks, rest->patience);
}

/* Looks at the next steps of the path, as the watch of a mind would, counted in *looks; false where one is closed, or its budget may not pay for that. */
static bool near_is_open(struct tp_session *session, const struct tp_map *map, const struct tp_budget *budget, uint32_t *looks)
{
    struct tp_tick_reply none = {0};
    const struct tp_rest_params *params = &session->params;
    struct tp_budget own = {.kind = (enum tp_budget_kind)params->budget_kind, .expansions = params->budget_expansions, .c = params->budget_c};
    const struct tp_tick tick = {.budget = budget ? budget : &own, .reply = &none};
    if (tp__purse_left(&tick) / 2 < TP_NEAR_STEPS)
        return false;
    struct tp_steps_reader reader = tp_steps_read(&session->steps);
    uint32_t x = tp__rest_x(session, session->at), y = tp__rest_y(session, session->at);
    for (uint32_t i = 0; i < TP_NEAR_STEPS && reader.left; i++) {
        uint8_t move = tp_steps_peek(&reader);
        if (!tp_walk_open(map, x, y, move, (enum tp_corners)session->corners))
            return false;
        x += (uint32_t)tp_direction_dx[move];
        y += (uint32_t)tp_direction_dy[move];
        tp_steps_next(&reader);
        ++*looks;
    }
    session->rest.watch_walks = reader.left > 0;
    return true;
}

/* Takes up another version, unless there is something to find out in it. */
static bool adopts(struct tp_session *session, const struct tp_map *map)
{
    const struct tp_map *before = session->map;
    if (map->epoch != before->epoch)
        return false;
    if (!tp__rest_at_goal(session) && (!session->rest.looks_near || !is_in_reach(session, map)))
        return false;
    session->map = tp_map_ref(map);
    session->goal_closed = tp__rest_goal_closed(session);
    tp_map_unref(before);
    return true;
}

/* Whether nothing near ahead on the path, nor the guide, asks for a mind. So many steps were looked at for that. */
static bool near_stays(struct tp_session *session, const struct tp_map *map, const struct tp_budget *budget, uint32_t *looks)
{
    if (guide_is_due(session, map, budget))
        return false;
    session->rest.watch_walks |= map->rose_version > session->map->version;
    if (!session->rest.watch_walks || !tp__watch_looks_now(session->stats.ticks))
        return true;
    bool is_over = budget && (budget->moves_only || (budget->expired && budget->expired(budget->context)));
    return is_over || near_is_open(session, map, budget, looks);
}

/* The tick of one that has nothing to find out: it stands on its goal, or its path leads on. False: it has. */
static bool rests_on(struct tp_session *session, const struct tp_map *map, const struct tp_budget *budget, struct tp_tick_reply *reply)
{
    bool is_there = tp__rest_at_goal(session), changed = map->version != session->map->version;
    uint32_t looks = 0;
    if (session->blind || !(is_there || leads_on(session, map)))
        return false;
    if (session->rest.looks_near && !is_there && !near_stays(session, map, budget, &looks))
        return false;
    if (map != session->map && !adopts(session, map))
        return false;
    rest_tick(session, map, !is_there, changed, reply);
    if (looks > 0) {
        reply->is_idle = false;
        reply->work.traced = looks;
        session->stats.traced += looks;
    }
    return true;
}

/* The tick for a move alone of one that has no path: it stands, and goes on resting. */
static bool stands(struct tp_session *session, const struct tp_map *map, struct tp_tick_reply *reply)
{
    if (session->blind || session->steps.count || map != session->map)
        return false;
    rest_tick(session, map, false, false, reply);
    return true;
}

static void tick(struct tp_session *session, const struct tp_map *map, const struct tp_budget *budget, struct tp_tick_reply *reply)
{
    if (!session->mind && rests_on(session, map, budget, reply))
        return;
    if (budget && budget->moves_only && (session->mind ? tp__stroll(session->mind, map, reply) : stands(session, map, reply)))
        return;
    if (!tp__session_wake(session)) {
        starved_tick(session, map, reply);
        return;
    }
    tp__mind_tick(session->mind, map, budget, reply);
    if (session->may_rest && tp__packed_is_still(session->mind))
        tp__session_rest(session);
}

void tp_session_tick(struct tp_session *session, const struct tp_map *map, const struct tp_budget *budget,
                     struct tp_tick_reply *reply)
{
    tick(session, map, budget, reply);
    session->told_status = (uint8_t)reply->status;
    session->told_flags = (uint16_t)reply->flags;
}

/* ---- Fetching ahead ---- */

const uint8_t tp_prefetch_ahead[TP_PREFETCH_STEPS] = {1, 2, 3, 4, 8, 14};
const uint8_t tp_prefetch_walk_ahead[TP_PREFETCH_STEPS] = {1, 5, 10, 15, 22, 28};

/* What the next tick of one that rests reads beside the session: the step, and the ground under it. */
static void prefetch_step(const struct tp_session *session)
{
    uint32_t x = tp__rest_x(session, session->at), y = tp__rest_y(session, session->at);
    tp_prefetch((const char *)session->steps.first + offsetof(struct tp_steps_piece, moves) + session->steps.begin / 2); /* a piece lies in two lines */
    tp_prefetch_to_read(&tp_map_tile_at(session->map, x, y)->passable[y % TP_MAP_TILE]);
}

void tp_session_prefetch(const struct tp_session *session, unsigned step)
{
    enum { WALKS = offsetof(struct tp_session, stats) + offsetof(struct tp_session_stats, back_moves) };
    if (step == TP_PREFETCH_STEPS)
        tp_prefetch_bytes(session, WALKS);
    else if (session->mind && step == TP_PREFETCH_STEPS - 1)
        tp__mind_prefetch(session->mind);
    else if (session->mind)
        tp__mind_prefetch_search(session->mind, step);
    else if (step == TP_PREFETCH_STEPS - 1)
        prefetch_step(session);
}

void tp_session_prefetch_walk(const struct tp_session *session, unsigned step)
{
    if (step < TP_PREFETCH_STEPS && session->mind)
        tp__mind_prefetch_walk(session->mind, step);
    else
        tp_session_prefetch(session, step);
}
