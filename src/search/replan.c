/* The replan engine: search to the end, then follow the path found.
 *
 * The agent waits (SEARCHING) until the goal is the best open state and the path to it is traced whole; both may
 * take many ticks. While it follows, a step that is not legal in this tick's version begins a new search from where
 * it stands. Under R one purse pays for both: what expansions leave goes to tracing.
 */
#include "search/internal.h"

static bool restart_due(const struct tp_tick *tick)
{
    const struct tp_session *session = tick->session;
    if (!session->search.active || session->restart_wanted)
        return true;
    if (session->params.restart == TP_RESTART_EAGER && session->map->version != session->search.begun_version)
        return true;
    uint8_t step = tp__trace_next(session);
    return session->path_complete && (step == TP_DIRECTION_NONE || !tp__session_step_legal(session, step));
}

static void replan_tick(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct tp_search *search = &session->search;
    if (tp__session_proved_unreachable(session)) {
        tick->reply->status = TP_STATUS_UNREACHABLE;
        return;
    }
    if (restart_due(tick))
        tp__session_begin_search(tick);
    if (!search->active)
        return;

    uint64_t expansions = tick->budget->kind == TP_BUDGET_DEADLINE ? UINT64_MAX : tick->budget->expansions;
    if (!search->found) {
        tp__session_expand(tick, expansions);
        if (tp__session_exhausted(tick, expansions))
            return;
    }
    if (search->found && !session->path_complete) {
        uint64_t rekeyed = tick->reply->work.rekeyed;
        tick->steps_left = UINT64_MAX;
        if (tick->budget->kind == TP_BUDGET_R) {
            tick->steps_left = (expansions - tick->reply->work.expansions) * tick->budget->c;
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
    if (!session->path_complete || step == TP_DIRECTION_NONE)
        return;
    if (tp__session_step_legal(session, step)) {
        tp__session_move(tick, step, false);
    } else {
        tp__session_begin_search(tick);
        tick->reply->status = TP_STATUS_BLOCKED;
    }
}

const struct tp_engine tp__engine_replan = {"replan", replan_tick};
