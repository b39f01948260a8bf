/* A tick for a move alone (budget.h: moves_only), where many agents share a time that is too short for all of them to search.
 *
 * At the end of each tick that may be followed by such ones it is asked whether the engine would do anything in them but walk: along the path
 * followed as far as that goes, and then back towards where the search is now, or wait there. Changes not looked at, a detour, memory to put
 * back, a path that is whole, a search that ran empty all say no. If so the session strolls: its ticks for a move alone look the step up, check it
 * against the version, and take it, by no more memory than that asks for. The replies are those of the engine
 * (tests/contract/test_stroll.c plays every tick both ways). Whatever comes between ticks and puts the agent or the goal elsewhere, another version, and every
 * other tick end it.
 * Failure: a step that is not there, or not legal, is the engine's affair; nothing was changed then.
 */
#include "search/internal.h"

/* Whether a grid that is known is searched by an engine that walks as it goes, and nothing else comes with it. */
static bool is_plain(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    const struct tp_domain *domain = search->domain;
    const struct tp_algorithm *row = session->params.algorithm;
    bool is_grid = domain->cells_can_block && domain->reversible && !domain->listed && !domain->map_in_moves && !domain->at_velocity;
    return row->engine == &tp__engine_time_bounded && row->learning == TP_LEARNING_NONE && is_grid && session->belief.full &&
           !search->goals && !session->bound && !session->shortcut && !session->detour;
}

/* Whether nothing is left to do that a search has brought with it, or a change of the map. */
static bool is_settled(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    const struct tp_watch *watch = &session->watch;
    bool goes_on = search->active && !search->partial && !search->exhausted && !session->restart_wanted && !session->path_complete;
    bool waits = session->waits_for_path || session->waits_for_nearer;
    bool watches = watch->walks || watch->base || session->stats.ticks <= watch->begun + 1;
    bool is_eager = session->params.restart == TP_RESTART_EAGER && tp_map_changed_version(session->map) > search->begun_version;
    return goes_on && !waits && !watches && !is_eager && !session->sweep.left;
}

/* Whether it waits for a way by the guide, which a tick for a move alone does not look for. */
static bool stands(const struct tp_mind *session)
{
    const struct tp_watch *watch = &session->watch;
    bool is_led = session->guide.cache && tp__overlay_blocks(session);
    return is_led && !session->search.active && !watch->walks && !watch->base && !session->sweep.left;
}

void tp__stroll_settle(const struct tp_tick *tick)
{
    enum { NOT = TP_FLAG_START_BLOCKED | TP_FLAG_DEAD_END | TP_FLAG_NODE_CAP };
    struct tp_mind *session = tick->session;
    const struct tp_tick_reply *reply = tick->reply;
    bool goes_on = reply->status != TP_STATUS_ARRIVED && reply->status != TP_STATUS_UNREACHABLE && !(reply->flags & NOT);
    bool may = tick->budget->is_shared && goes_on && is_plain(session);
    session->strolls = TP_STROLLS_NOT;
    if (may && stands(session))
        session->strolls = TP_STROLLS_STANDS;
    else if (may && is_settled(session) && tp_search_best(&session->search, &session->waits_on))
        session->strolls = TP_STROLLS;
    session->back_from = TP_STATE_NONE;
}

/* The step that the engine would take, TP_MOVE_NONE for waiting; *back: off the path. False: it would do something else. */
static bool next_step(struct tp_mind *session, uint8_t *move, bool *back)
{
    *back = false;
    *move = TP_MOVE_NONE;
    if (session->strolls == TP_STROLLS_STANDS)
        return true;
    *move = session->strolls == TP_STROLLS_WAITS ? TP_MOVE_NONE : tp__trace_next(session);
    if (*move != TP_MOVE_NONE)
        return true;
    if (session->at == session->waits_on) {
        session->strolls = TP_STROLLS_WAITS;
        return session->map->version == session->search.begun_version; /* else it looks whether a step back is still legal */
    }
    *back = true;
    if (session->at != session->back_from) { /* it mostly steps to and fro at the end of its path */
        session->back_from = session->at;
        session->back_move = tp__session_move_to_parent(session);
    }
    *move = session->back_move;
    return *move != TP_MOVE_NONE;
}

static void walk(struct tp_mind *session, uint32_t x, uint32_t y, uint8_t move, struct tp_tick_reply *reply)
{
    const struct tp_map *map = session->map;
    struct tp_session_stats *stats = &session->stats;
    uint32_t to_x = x + (uint32_t)tp_direction_dx[move], to_y = y + (uint32_t)tp_direction_dy[move];
    reply->to = to_y * map->width + to_x;
    session->at_before = session->at;
    session->at = tp_state_at(&session->search, to_x, to_y);
    session->path_fresh = false;
    stats->moves++;
    stats->cost += map->weighted ? tp_walk_cost(map, x, y, to_x, to_y, move) : tp_direction_length[move];
    stats->move_hash = tp__session_hash(stats->move_hash, reply->to);
    reply->cost = stats->cost;
    reply->status = session->at == session->goal ? TP_STATUS_ARRIVED : TP_STATUS_MOVING;
}

bool tp__stroll(struct tp_mind *session, const struct tp_map *map, struct tp_tick_reply *reply)
{
    const struct tp_search *search = &session->search;
    if (session->strolls == TP_STROLLS_NOT || map != session->map)
        return false;
    tp_state before = session->at;
    uint32_t x = tp_state_x(search, before), y = tp_state_y(search, before), cell = y * map->width + x;
    uint8_t move;
    bool back;
    if (!next_step(session, &move, &back) || (move != TP_MOVE_NONE && !tp_walk_open(map, x, y, move, session->params.corners)))
        return false;
    *reply = (struct tp_tick_reply){.from = cell,
                                    .to = cell,
                                    .status = TP_STATUS_SEARCHING,
                                    .flags = back ? TP_FLAG_BACK_MOVE : 0,
                                    .version = map->version,
                                    .epoch = map->epoch,
                                    .cost = session->stats.cost};
    struct tp_tick tick = {.session = session, .reply = reply};
    if (back && session->params.pause_on_backtrack == TP_PAUSE_ON_BACKTRACK) {
        reply->status = TP_STATUS_BLOCKED;
    } else if (move != TP_MOVE_NONE) {
        walk(session, x, y, move, reply);
        session->stats.back_moves += back;
    }
    if (reply->status == TP_STATUS_ARRIVED)
        session->strolls = TP_STROLLS_NOT;
    session->stats.ticks++;
    tp__steady_watch(&tick, before, false);
    return true;
}
