/* A tick of an agent that only has to walk: its path is whole, the map's version is that of its last tick, and nothing else is due.
 *
 * At the end of each tick that goes through the engine it is asked whether the next one, on the same version, could do anything but take the
 * next step: a guide that is looking for a way, changes not looked at, a bound to prove, a rule that asks for a new search, a
 * goal set with a radius all say no. Then `follows` is set, and such a tick does but three things: it looks the step up, checks it
 * against the version, and takes it. The replies are those of the engine (tests/contract/test_follow.c plays every tick both ways). Whatever comes
 * between ticks and moves the agent, the goal or the version clears it. A path that is still being smoothed is left to the engine, which
 * then does that and nothing else.
 * Failure: a step that is not there, or not legal, is the engine's affair; nothing was changed then.
 */
#include "search/internal.h"

/* Whether the guide would do nothing in a tick on this version, wherever on its path the agent stands. Where terrain has weights it
 * does: what it keeps of a node's ground is of the version in which the agent came by. */
static bool guide_rests(const struct tp_mind *session)
{
    const struct tp_guide *guide = &session->guide;
    return !guide->cache || !tp__overlay_blocks(session) || (!guide->ground && tp__guide_rests(session));
}

/* Whether nothing that a change of the map left to do is still to be done. A watch looks at the tick after its search began. */
static bool watch_rests(const struct tp_mind *session)
{
    const struct tp_watch *watch = &session->watch;
    return !watch->walks && !watch->base && session->stats.ticks > watch->begun + 1;
}

static bool is_eager(const struct tp_mind *session)
{
    return session->params.restart == TP_RESTART_EAGER && tp_map_changed_version(session->map) > session->search.begun_version;
}

/* Whether the search is over, and the path to its end is walked on a grid that is known. */
static bool is_under_way(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    const struct tp_domain *domain = search->domain;
    const struct tp_algorithm *row = session->params.algorithm;
    bool is_grid = domain->cells_can_block && domain->reversible && !domain->listed && !domain->map_in_moves && !domain->at_velocity;
    bool is_found = session->path_complete && search->active && search->found && !search->partial && !session->restart_wanted;
    return row->engine == &tp__engine_time_bounded && row->learning == TP_LEARNING_NONE && is_grid && is_found &&
           session->belief.full && !search->goals && !session->bound && !session->shortcut && !session->detour && !session->waits_for_nearer;
}

void tp__follow_settle(const struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    bool has_walked = tick->reply->status == TP_STATUS_MOVING && !(tick->reply->flags & (TP_FLAG_BACK_MOVE | TP_FLAG_START_BLOCKED));
    bool rests = session->follows || (is_under_way(session) && !is_eager(session) && guide_rests(session)); /* smoothing wakes nobody */
    session->follows = TP_FOLLOWS_NOT;
    if (has_walked && rests && watch_rests(session))
        session->follows = !tp__smooth_rests(session)            ? TP_FOLLOWS_AND_SMOOTHS
                           : session->may_pack && session->packs ? TP_FOLLOWS_NOT /* it packs its path, and rests (rest.c) */
                                                                 : TP_FOLLOWS_AND_WALKS;
}

bool tp__follow_tick(struct tp_mind *session, struct tp_tick_reply *reply)
{
    const struct tp_search *search = &session->search;
    const struct tp_map *map = session->map;
    struct tp_session_stats *stats = &session->stats;
    uint32_t x = tp_state_x(search, session->at), y = tp_state_y(search, session->at);
    uint8_t mark = tp_marks_at(&session->trace.follow, x, y), move = (uint8_t)(mark - TP_MARK_NEXT);
    if (mark < TP_MARK_NEXT || !tp_walk_open(map, x, y, move, session->params.corners))
        return false;
    uint32_t to_x = x + (uint32_t)tp_direction_dx[move], to_y = y + (uint32_t)tp_direction_dy[move];
    uint32_t to = to_y * map->width + to_x;
    session->at_before = session->at;
    session->at = tp_state_at(search, to_x, to_y);
    bool arrived = session->at == session->goal;
    stats->ticks++;
    stats->moves++;
    stats->cost += map->weighted ? tp_walk_cost(map, x, y, to_x, to_y, move) : tp_direction_length[move];
    stats->move_hash = tp__session_hash(stats->move_hash, to);
    *reply = (struct tp_tick_reply){
        .from = y * map->width + x,
        .to = to,
        .status = arrived ? TP_STATUS_ARRIVED : TP_STATUS_MOVING,
        .flags = TP_FLAG_PATH_COMPLETE, /* no dead end: where the step came from is free */
        .version = map->version,
        .epoch = map->epoch,
        .cost = stats->cost,
    };
    if (arrived)
        tp__steady_begin(session);
    else if (tp__steady_moved(&session->steady, session->at))
        reply->flags |= TP_FLAG_LOOPING;
    tp__packed_followed(session);
    return true;
}
