/* Tracing a path back through the search tree, over as many ticks as the budget asks (2009, section 3.1).
 *
 * Happy path: begin at the best open state; run until the agent's state or the root is at the front; follow. While a
 * trace runs, the agent goes on along the path it follows. The check for the end comes before a step, so that a
 * trace whose front the agent has walked onto meanwhile is done at once. Marking the best state is free; each parent
 * costs one step.
 * Failure: no memory for marks stops the trace (`capped`); the old path stays.
 */
#include "search/internal.h"

_Static_assert((int)TP_MARK_NEXT + (int)TP_MOVES_MAX - 1 <= UINT8_MAX, "a mark holds any move");

/* Marks a state of the fresh path; false without memory. */
static bool mark(struct tp_mind *session, tp_state state, uint8_t mark)
{
    uint32_t x = tp_state_x(&session->search, state), y = tp_state_y(&session->search, state);
    struct tp_tiles *fresh = &session->trace.fresh;
    return tp_marks_set(fresh, x, y, mark) || (tp__bound_yield(session) && tp_marks_set(fresh, x, y, mark));
}

void tp__trace_begin(struct tp_mind *session, tp_state end)
{
    struct tp_trace *trace = &session->trace;
    tp_tiles_begin(&trace->fresh);
    trace->fresh_end = trace->front = end;
    trace->running = true;
    trace->version = session->map->version;
    trace->rose = false;
    trace->sum = 0;
    trace->last_end = end;
    trace->last_at = session->at;
    trace->last_moves = session->stats.moves;
    trace->capped = !mark(session, end, TP_MARK_END);
}

/* 2012, Algorithm 2, line 9: whether the fresh path's steps are to be compared with what is believed now: a path may
 * lead through states that were expanded before a rise was seen. */
static bool checks_rise(const struct tp_mind *session)
{
    if (session->search.domain->listed && !session->map->graph)
        return false; /* any change of their map restarts (react.c) */
    if (tp__watch_is_near(session))
        return false; /* the watch looks at it as the agent comes near */
    bool by_rule = session->params.restart == TP_RESTART_LAZY || session->params.restart == TP_RESTART_ON_RISE;
    const struct tp_search *search = &session->search;
    bool rose = session->belief.full ? session->map->rose_version > search->begun_version
                                     : session->belief.stamp != search->begun_stamp;
    return by_rule && rose;
}

tp_cost tp__trace_step_cost(const struct tp_search *search, tp_state from, tp_state to, uint8_t move)
{
    uint8_t found;
    if (tp_search_parent(search, to, &found) == from && found == move)
        return tp_search_g(search, to) - tp_search_g(search, from);
    if (tp_search_parent(search, from, &found) == to)
        return tp_search_g(search, from) - tp_search_g(search, to);
    return TP_COST_INFINITE;
}

/* Whether the agent believes a step that the search found to be illegal or dearer now. */
static bool step_rose(const struct tp_mind *session, tp_state from, tp_state to, uint8_t move)
{
    const struct tp_search *search = &session->search;
    const struct tp_belief *belief = &session->belief;
    if (session->map->graph) {
        struct tp_successor now;
        return !search->domain->step(search, session->map, from, move, &now) ||
               now.cost > tp__trace_step_cost(search, from, to, move);
    }
    uint32_t x = tp_state_x(search, from), y = tp_state_y(search, from);
    if (!tp_belief_legal(belief, x, y, move, session->params.neighbours, session->params.corners))
        return true;
    return search->weighted && tp_belief_cost(belief, x, y, tp_state_x(search, to), tp_state_y(search, to), move) >
                                   tp__trace_step_cost(search, from, to, move);
}

/* Adds a step of the fresh path, at what it costs in the present version, to its sum. */
static void add_step(struct tp_mind *session, tp_state from, uint8_t move)
{
    const struct tp_search *search = &session->search;
    struct tp_trace *trace = &session->trace;
    struct tp_successor step;
    bool legal = search->domain->step(search, session->map, from, move, &step);
    trace->sum = legal && trace->sum != TP_COST_INFINITE ? trace->sum + step.cost : TP_COST_INFINITE;
}

bool tp__trace_run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_trace *trace = &session->trace;
    const struct tp_search *search = &session->search;
    while (!trace->capped) {
        uint8_t move;
        tp_state parent = trace->front == session->at ? TP_STATE_NONE : tp_search_parent(search, trace->front, &move);
        if (parent == TP_STATE_NONE) {
            trace->running = false;
            return true;
        }
        if (!tp__tick_step(tick))
            return false;
        if (search->reopens && tp_marks_at(&trace->fresh, tp_state_x(search, parent), tp_state_y(search, parent)) != TP_MARK_NONE) {
            trace->running = false; /* states got cheaper since it began, and what was marked lies before what is left: trace anew */
            return false;
        }
        if (checks_rise(session))
            trace->rose |= step_rose(session, parent, trace->front, move);
        if (session->bound)
            add_step(session, parent, move);
        trace->front = parent;
        trace->capped = !mark(session, parent, (uint8_t)(TP_MARK_NEXT + move));
    }
    /* what memory there is may be had again once the old path's marks are stale: try anew at the next tick */
    trace->running = false;
    tick->node_cap = true;
    return false;
}

bool tp__trace_rose(struct tp_mind *session)
{
    struct tp_trace *trace = &session->trace;
    if (!trace->rose || trace->given_up == session->stats.moves + 1)
        return false;
    trace->given_up = session->stats.moves + 1;
    return true;
}

void tp__trace_follow(struct tp_mind *session)
{
    struct tp_trace *trace = &session->trace;
    struct tp_tiles old = trace->follow;
    trace->follow = trace->fresh;
    trace->fresh = old;
    trace->follow_end = trace->fresh_end;
    trace->fresh_end = TP_STATE_NONE;
    tp__packed_forget(session);
    tp__shortcut_forget(session);
    tp__detour_forget(session);
    tp__watch_path(session);
    tp__bound_follow(session);
}

void tp__trace_follow_rest(struct tp_mind *session)
{
    bool walks = session->watch.walks;
    tp__trace_follow(session);
    session->watch.walks |= walks;
}

void tp__trace_forget(struct tp_mind *session)
{
    struct tp_trace *trace = &session->trace;
    tp_tiles_begin(&trace->follow);
    trace->follow_end = trace->fresh_end = trace->last_end = TP_STATE_NONE;
    trace->running = false;
    tp__packed_forget(session);
    tp__detour_forget(session);
    tp__smooth_forget(session);
    tp__bound_forget(session);
    tp__watch_forget(session);
}

uint8_t tp__trace_move(const struct tp_mind *session, tp_state state)
{
    const struct tp_search *search = &session->search;
    const struct tp_steps *steps = &session->packed.steps;
    if (tp__is_packed(session))
        return state == session->at && steps->count ? tp_steps_first(steps) : TP_MOVE_NONE;
    uint8_t mark = tp_marks_at(&session->trace.follow, tp_state_x(search, state), tp_state_y(search, state));
    return mark >= TP_MARK_NEXT ? mark - TP_MARK_NEXT : TP_MOVE_NONE;
}

uint8_t tp__trace_next(const struct tp_mind *session)
{
    if (session->trace.follow_end == TP_STATE_NONE)
        return TP_MOVE_NONE;
    uint8_t aside = tp__shortcut_next(session);
    if (aside == TP_MOVE_NONE)
        aside = tp__detour_next(session);
    if (aside != TP_MOVE_NONE)
        return aside;
    return tp__trace_move(session, session->at);
}
