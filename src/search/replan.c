/* The replan engine: search to the end, then follow the path found.
 *
 * The agent waits (SEARCHING) until the goal is the best open state and the path to it is traced whole; both may
 * take many ticks. While it follows, a step that is not legal in this tick's version begins a new search from where
 * it stands. Under R one purse pays for both: what expansions leave goes to tracing.
 */
#include "search/internal.h"

static bool restart_due(struct tp_tick *tick)
{
    const struct tp_session *session = tick->session;
    bool asked = tp__react(tick);
    if (asked || !session->search.active || session->restart_wanted || tp__session_caught(session))
        return true;
    uint8_t step = tp__trace_next(session);
    return session->path_complete && (step == TP_MOVE_NONE || !tp__session_move_legal(session, step));
}

static void replan_tick(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct tp_search *search = &session->search;
    if (tp__session_proved_unreachable(session)) {
        tick->reply->status = TP_STATUS_UNREACHABLE;
        return;
    }
    const struct tp_budget *budget = tick->budget;
    uint64_t expansions = budget->kind == TP_BUDGET_DEADLINE ? UINT64_MAX : budget->expansions;
    tick->steps_left = budget->kind == TP_BUDGET_R ? budget->expansions * budget->c : UINT64_MAX;
    if (restart_due(tick))
        tp__session_begin_search(tick);
    tick->looked = tick->reply->work.traced;
    if (!search->active)
        return;
    if (budget->kind == TP_BUDGET_R)
        expansions -= (tick->looked + budget->c - 1) / budget->c;

    if (!search->found) {
        tp__session_expand(tick, expansions);
        if (tp__session_exhausted(tick, expansions))
            return;
    }
    if (search->found && !session->path_complete) {
        uint64_t rekeyed = tick->reply->work.rekeyed;
        tick->steps_left = UINT64_MAX;
        if (budget->kind == TP_BUDGET_R) {
            tick->steps_left = (expansions - tick->reply->work.expansions) * budget->c;
            tick->steps_left -= rekeyed < tick->steps_left ? rekeyed : tick->steps_left;
        }
        if (!session->trace.running || session->trace.fresh_end != session->goal)
            tp__trace_begin(session, session->goal);
        if (tp__trace_run(tick)) {
            tp__trace_follow(session);
            session->path_complete = true;
        }
    }
    uint8_t step = tp__trace_next(session);
    if (!session->path_complete || step == TP_MOVE_NONE)
        return;
    if (tp__session_move_legal(session, step)) {
        tp__session_move(tick, step, false);
        if (tick->reply->status != TP_STATUS_ARRIVED && tp__react_after_move(tick))
            tp__session_begin_search(tick);
    } else {
        tp__session_begin_search(tick);
        tick->reply->status = TP_STATUS_BLOCKED;
    }
}

const struct tp_engine tp__engine_replan = {"replan", replan_tick};
