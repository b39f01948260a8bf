/* A tick of an agent that only has to walk: its path is whole, the map's version is that of its last tick, and nothing else is due.
 *
 * At the end of each tick that goes through the engine it is asked whether the next one, on the same version, could do anything but take the
 * next step: a guide that is looking for a way, changes not looked at, a bound to prove, a rule that asks for a new search, a
 * goal set with a radius all say no. Then `follows` is set, and such a tick does but three things: it looks the step up, checks it
 * against the version, and takes it. The replies are those of the engine (tests/contract/test_follow.c plays every tick both ways). Whatever comes
 * between ticks and moves the agent, the goal or the version clears it. A path that is still being smoothed is left to the engine, which
 * then does that and nothing else.
 * The same holds of an agent whose path is not whole, where many share a time that is too short for all and its tick is for a move alone
 * (budget.h): it walks to the end of what it has, and back towards where the search is now, or waits there (strolls).
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

/* Whether a grid that is known is searched, or was, and nothing comes with it that a tick without a search would have to do. */
static bool is_plain(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    const struct tp_domain *domain = search->domain;
    const struct tp_algorithm *row = session->params.algorithm;
    bool is_grid = domain->cells_can_block && domain->reversible && !domain->listed && !domain->map_in_moves && !domain->at_velocity;
    bool is_searched = search->active && !search->partial && !session->restart_wanted;
    return row->engine == &tp__engine_time_bounded && row->learning == TP_LEARNING_NONE && is_grid && is_searched &&
           session->belief.full && !search->goals && !session->bound && !session->shortcut && !session->waits_for_nearer;
}

/* Whether the search is over, and the path to its end is walked. */
static bool is_under_way(const struct tp_mind *session)
{
    return is_plain(session) && session->path_complete && session->search.found;
}

/* Makes ready for ticks for a move alone: whether these would but walk on this version. */
static void settle_stroll(const struct tp_tick *tick)
{
    enum { NOT = TP_FLAG_START_BLOCKED | TP_FLAG_DEAD_END | TP_FLAG_NODE_CAP };
    struct tp_mind *session = tick->session;
    const struct tp_tick_reply *reply = tick->reply;
    bool is_led = session->guide.cache && tp__overlay_blocks(session);
    bool searches = reply->status != TP_STATUS_ARRIVED && reply->status != TP_STATUS_UNREACHABLE && !session->path_complete;
    bool strolls = tick->budget->is_shared && searches && !(reply->flags & NOT) && is_plain(session) && !session->search.exhausted &&
                       !session->waits_for_path && !session->sweep.left && !is_led && !is_eager(session) && watch_rests(session) &&
                       tp_search_best(&session->search, &session->waits_on);
    session->strolls = strolls ? TP_STROLLS : TP_STROLLS_NOT;
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
    settle_stroll(tick);
}

/* Takes a step that is legal. */
static void walk(struct tp_mind *session, uint32_t x, uint32_t y, uint8_t move, struct tp_tick_reply *reply)
{
    const struct tp_map *map = session->map;
    struct tp_session_stats *stats = &session->stats;
    uint32_t to_x = x + (uint32_t)tp_direction_dx[move], to_y = y + (uint32_t)tp_direction_dy[move];
    uint32_t to = to_y * map->width + to_x;
    session->at_before = session->at;
    session->at = tp_state_at(&session->search, to_x, to_y);
    stats->moves++;
    stats->cost += map->weighted ? tp_walk_cost(map, x, y, to_x, to_y, move) : tp_direction_length[move];
    stats->move_hash = tp__session_hash(stats->move_hash, to);
    reply->to = to;
    reply->cost = stats->cost;
    reply->status = session->at == session->goal ? TP_STATUS_ARRIVED : TP_STATUS_MOVING;
}

/* The reply of one that stays. */
static struct tp_tick_reply reply_of(struct tp_mind *session, uint32_t x, uint32_t y)
{
    const struct tp_map *map = session->map;
    uint32_t cell = y * map->width + x;
    session->stats.ticks++;
    return (struct tp_tick_reply){
        .from = cell, .to = cell, .status = TP_STATUS_SEARCHING, .version = map->version, .epoch = map->epoch, .cost = session->stats.cost};
}

bool tp__follow_tick(struct tp_mind *session, struct tp_tick_reply *reply)
{
    const struct tp_search *search = &session->search;
    uint32_t x = tp_state_x(search, session->at), y = tp_state_y(search, session->at);
    uint8_t mark = tp_marks_at(&session->trace.follow, x, y), move = (uint8_t)(mark - TP_MARK_NEXT);
    if (mark < TP_MARK_NEXT || !tp_walk_open(session->map, x, y, move, session->params.corners))
        return false;
    *reply = reply_of(session, x, y);
    reply->flags = TP_FLAG_PATH_COMPLETE; /* no dead end: where the step came from is free */
    walk(session, x, y, move, reply);
    if (reply->status == TP_STATUS_ARRIVED)
        tp__steady_begin(session);
    else if (tp__steady_moved(&session->steady, session->at))
        reply->flags |= TP_FLAG_LOOPING;
    return true;
}

/* Where no path leads on from: it waits where the search is, or else goes back, or waits for not going back. */
static bool stroll_back(struct tp_mind *session, uint32_t x, uint32_t y, struct tp_tick_reply *reply)
{
    bool waits = session->at == session->waits_on;
    if (session->map->version != session->search.begun_version)
        return false; /* what leads back is to be looked at, too, where it waits */
    uint8_t move = waits ? TP_MOVE_NONE : tp__session_move_to_parent(session);
    if (!waits && (move == TP_MOVE_NONE || !tp_walk_open(session->map, x, y, move, session->params.corners)))
        return false;
    *reply = reply_of(session, x, y);
    if (waits) {
        session->strolls = TP_STROLLS_WAITS;
        return true;
    }
    reply->flags = TP_FLAG_BACK_MOVE;
    if (session->params.pause_on_backtrack == TP_PAUSE_ON_BACKTRACK) {
        reply->status = TP_STATUS_BLOCKED;
        return true;
    }
    walk(session, x, y, move, reply);
    session->stats.back_moves++;
    return true;
}

bool tp__follow_stroll(struct tp_mind *session, const struct tp_map *map, struct tp_tick_reply *reply)
{
    const struct tp_search *search = &session->search;
    if (session->strolls == TP_STROLLS_NOT || map != session->map)
        return false;
    tp_state before = session->at;
    uint32_t x = tp_state_x(search, before), y = tp_state_y(search, before);
    uint8_t mark = session->strolls == TP_STROLLS_WAITS ? TP_MARK_END : tp_marks_at(&session->trace.follow, x, y);
    if (mark >= TP_MARK_NEXT) {
        uint8_t move = (uint8_t)(mark - TP_MARK_NEXT);
        if (!tp_walk_open(session->map, x, y, move, session->params.corners))
            return false;
        *reply = reply_of(session, x, y);
        walk(session, x, y, move, reply);
    } else if (!stroll_back(session, x, y, reply)) {
        return false;
    }
    bool moved = session->at != before;
    session->path_fresh &= !moved;
    if (reply->status == TP_STATUS_ARRIVED) {
        tp__steady_begin(session);
        session->strolls = TP_STROLLS_NOT;
    } else if (moved ? tp__steady_moved(&session->steady, session->at) : session->steady.looping) {
        reply->flags |= TP_FLAG_LOOPING;
    }
    return true;
}
