/* What a changed map, or a new sight, asks of a session.
 *
 * Each tick the agent looks around (where it does not know the map), or goes on watching what changed (watch.c). The session's
 * rule says when a search under way is given up:
 *   on rise (2012, Algorithm 2, lines 8 to 12)  a step still to be followed became dearer or illegal
 *   lazy (2014, Algorithm 3)                    the same, or a step that became cheaper may open a path w times shorter
 *   eager (2014, Algorithm 2)                   any change
 *   never                                       none of this (a blocked next step is found at the move)
 */
#include "search/internal.h"

/* ---- Learning ---- */

void tp__learning_forget(struct tp_mind *session)
{
    tp_tiles_begin(&session->learned);
    tp_nodes_unteach(&session->adaptive);
    session->unteachable = true; /* the present search's f are of the old goal or the old costs */
    session->learn.running = false; /* what a learning step under way still has in hand is of the old ones too */
    tp__prioritized_forget(session);
    /* LSS-LRTA* goes on to its move without learning, or else an agent whose goal moves in every tick would never move */
    if (session->cycle == TP_CYCLE_LEARN && session->params.algorithm->learning != TP_LEARNING_DIJKSTRA)
        session->cycle = TP_CYCLE_LOOK;
}

void tp__learning_check(struct tp_mind *session)
{
    if (!session->search.learned)
        return;
    const struct tp_map *map = session->map;
    uint64_t fell = session->belief.full ? map->fell_version : 0;
    if (session->search.domain->map_in_moves && map->rose_version > fell)
        fell = map->rose_version; /* a new wall stops vehicles where they could not stop before */
    if (session->belief.falls > session->learned_falls || fell > session->learned_fell_version)
        tp__learning_forget(session);
    tp__learn_abandon(session);
    session->learned_falls = session->belief.falls;
    session->learned_fell_version = fell;
}

void tp__learning_remember(struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    if (!search->nodes.adaptive || !search->active || session->unteachable)
        return;
    tp_cost least = tp_search_least_f(search);
    tp_nodes_teach(&session->search.nodes, least == TP_COST_INFINITE ? 0 : least);
}

/* ---- Rules ---- */

static bool by_rule(const struct tp_mind *session)
{
    return session->params.restart == TP_RESTART_LAZY || session->params.restart == TP_RESTART_ON_RISE;
}

static bool follows(const struct tp_mind *session)
{
    return session->search.active && session->trace.follow_end != TP_STATE_NONE;
}

/* Whether the path's step out of a marked state is still to be followed: behind an agent on the path it is not. Off the
 * path, where the agent goes back to it, every step is. */
static bool to_be_followed(const struct tp_mind *session, tp_state state)
{
    const struct tp_search *search = &session->search;
    return tp__trace_next(session) == TP_MOVE_NONE || !tp_search_knows(search, session->at) ||
           tp_search_g(search, state) >= tp_search_g(search, session->at);
}

/* Whether a step of the path still to be followed, near a cell that rose, is dearer or illegal now: the steps out of all
 * marked cells that the cell may stand beside, or out of the cell itself. */
static bool path_rose_near(const struct tp_mind *session, uint32_t x, uint32_t y)
{
    const struct tp_search *search = &session->search;
    const struct tp_belief *belief = &session->belief;
    const struct tp_map *map = session->map;
    for (uint32_t cy = y > 2 ? y - 2 : 0; cy <= y + 2 && cy < map->height; cy++)
        for (uint32_t cx = x > 2 ? x - 2 : 0; cx <= x + 2 && cx < map->width; cx++) {
            tp_state from = tp_state_at(search, cx, cy);
            uint8_t direction = tp__trace_move(session, from);
            if (direction == TP_MOVE_NONE || !to_be_followed(session, from))
                continue;
            if (cx == x && cy == y && from != session->at && !tp_belief_passable(belief, x, y))
                return true;
            if (!tp_belief_legal(belief, cx, cy, direction, session->params.neighbours, session->params.corners))
                return true;
            bool at_end = (cx == x && cy == y) || (cx + (uint32_t)tp_direction_dx[direction] == x &&
                                                   cy + (uint32_t)tp_direction_dy[direction] == y);
            if (search->weighted && at_end)
                return true;
        }
    return false;
}

/* What the agent sees from where it stands, and whether the rule asks for a new search. */
static bool look_around(struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    struct tp_belief_change changes[TP_BELIEF_CHANGES_MAX];
    uint32_t count = tp_belief_observe(&session->belief, tp_state_x(search, session->at), tp_state_y(search, session->at),
                                       session->params.sensor_radius, changes);
    tp__guide_see(session, changes, count);
    bool restart = count && session->params.restart == TP_RESTART_EAGER;
    for (uint32_t i = 0; i < count && by_rule(session) && follows(session); i++)
        restart |= changes[i].rose && path_rose_near(session, changes[i].x, changes[i].y);
    return restart;
}

bool tp__react_after_move(struct tp_tick *tick)
{
    return !tick->session->belief.full && look_around(tick->session);
}

bool tp__react(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    if (!session->belief.full)
        return look_around(session);
    if (session->params.restart == TP_RESTART_EAGER)
        return search->active && tp_map_changed_version(session->map) > search->begun_version;
    if (!by_rule(session))
        return false;
    if (search->domain->listed && !session->map->graph) /* which of its moves a change touches is not looked up */
        return search->active && session->map_before && session->map_before->version != session->map->version;
    return search->active && tp__watch_run(tick);
}
