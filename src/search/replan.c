/* The replan engine: search to the end, then follow the path found.
 *
 * The agent waits (SEARCHING) until the goal is the best open state and the path to it is traced whole; both may
 * take many ticks. While it follows, a step that is not legal in this tick's version begins a new search from where
 * it stands. Under R one purse pays for both: what expansions, and updates of h, leave goes to tracing.
 *
 * Late acting (2009, Table 1, row L) waits in motion: from the search's root to a neighbour and back (pace), and back once more
 * before it follows a path that does not lead over where it stands.
 */
#include "search/adaptive.h"
#include "search/internal.h"

static bool paces(const struct tp_mind *session)
{
    return session->params.algorithm->capabilities & TP_PACES;
}

/* The move back to where the agent stepped from while it paced, to take the path that leads from there if one is found;
 * TP_MOVE_NONE when there is no such move, or no longer. */
static uint8_t step_back(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    tp_state before = session->at_before;
    if (!paces(session) || before == TP_STATE_NONE)
        return TP_MOVE_NONE;
    if (session->path_complete && tp__trace_move(session, before) == TP_MOVE_NONE)
        return TP_MOVE_NONE;
    uint8_t move = search->domain->move_between(search, session->at, session->at_before);
    return move != TP_MOVE_NONE && tp__session_move_legal(session, move) ? move : TP_MOVE_NONE;
}

static bool is_goal(const struct tp_mind *session, tp_state state)
{
    const struct tp_search *search = &session->search;
    return search->goals ? tp__goals_met(search, state) : state == session->goal;
}

/* The move from the root to the lowest neighbour but a goal that the agent can come back from; TP_MOVE_NONE if there is none. */
static uint8_t step_out(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    struct tp_successor successors[TP_MOVES_MAX], back;
    uint32_t count = search->domain->successors(search, session->at, successors);
    tp_state lowest = TP_STATE_NONE;
    uint8_t out = TP_MOVE_NONE;
    for (uint32_t i = 0; i < count; i++) {
        tp_state to = successors[i].state;
        if (to >= lowest || to == session->at || is_goal(session, to) ||
            !tp__session_move_legal(session, successors[i].move))
            continue;
        uint8_t move = search->domain->move_between(search, to, session->at);
        if (move == TP_MOVE_NONE || !search->domain->step(search, session->map, to, move, &back))
            continue;
        lowest = to;
        out = successors[i].move;
    }
    return out;
}

/* One step to and fro while there is no path yet, in a tick that did some work for it. */
static void pace(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    const struct tp_tick_work *work = &tick->reply->work;
    if (!paces(session) || session->waits_for_nearer || search->partial || !(work->expansions || work->traced))
        return;
    uint8_t unused;
    bool at_root = tp_search_knows(search, session->at) && tp_search_parent(search, session->at, &unused) == TP_STATE_NONE;
    uint8_t move = at_root ? step_out(session) : step_back(session);
    if (move != TP_MOVE_NONE)
        tp__session_move(tick, move, !at_root);
}

static bool restart_due(struct tp_tick *tick)
{
    const struct tp_mind *session = tick->session;
    bool asked = tp__react(tick);
    if (asked || !session->search.active || session->restart_wanted || tp__session_caught(session))
        return true;
    uint8_t step = tp__trace_next(session);
    if (step == TP_MOVE_NONE)
        step = step_back(session);
    return session->path_complete && (step == TP_MOVE_NONE || !tp__session_move_legal(session, step));
}

static void replan_tick(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_search *search = &session->search;
    if (tp__session_proved_unreachable(session)) {
        tick->reply->status = TP_STATUS_UNREACHABLE;
        return;
    }
    const struct tp_budget *budget = tick->budget;
    uint64_t expansions = budget->kind == TP_BUDGET_DEADLINE ? UINT64_MAX : budget->expansions;
    if (restart_due(tick))
        tp__adaptive_begin_search(tick);
    if (!search->active)
        return;
    if (budget->kind == TP_BUDGET_R)
        expansions = tick->steps_left / budget->c;

    if (!search->found) {
        tp__adaptive_allow(tick, tick->steps_left);
        tp__session_expand(tick, expansions);
        bool unreachable = tp__adaptive_exhausted(tick, expansions);
        tp__adaptive_book(tick);
        if (unreachable)
            return;
    }
    if (search->found && !session->path_complete) {
        tick->steps_left = tp__purse_left(tick);
        if (!session->trace.running || session->trace.fresh_end != search->end)
            tp__trace_begin(session, search->end);
        if (tp__trace_run(tick)) {
            if (tp__trace_rose(session)) {
                tp__adaptive_begin_search(tick);
                return;
            }
            tp__trace_follow(session);
            session->path_complete = true;
        }
    }
    if (!session->path_complete) {
        pace(tick);
        return;
    }
    uint8_t step = tp__trace_next(session);
    bool back = step == TP_MOVE_NONE;
    if (back)
        step = step_back(session);
    if (step == TP_MOVE_NONE)
        return;
    if (back && tp__steady_begins_anew(session)) {
        tp__adaptive_begin_search(tick);
        return;
    }
    if (tp__session_move_legal(session, step)) {
        tp__session_move(tick, step, back);
        if (tick->reply->status != TP_STATUS_ARRIVED && tp__react_after_move(tick))
            tp__adaptive_begin_search(tick);
    } else {
        tp__session_block(tick, step);
        tp__adaptive_begin_search(tick);
    }
}

const struct tp_engine tp__engine_replan = {.name = "replan", .tick = replan_tick};
