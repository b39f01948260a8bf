/* What keeps an agent from looking restless: which fresh path is worth leaving the old one for, waiting instead of moving back,
 * and telling when it goes round in circles.
 *
 * The switch margin and the pause are options of the time-bounded engine (time_bounded.c asks here); flips are counted for it,
 * and the loop detector watches every engine.
 *
 * The loop detector keeps one state, the anchor, and counts how often the agent comes back to it. Brent's way of finding any
 * period in O(1): the anchor moves to where the agent stands after 1, 2, 4, ... moves, so that it comes to lie on the
 * circle, and stays for long enough to be met twice more. Whatever may end the circle takes the agent's state for a new anchor:
 * an expansion, a raised h, a changed map, a goal or a place that was set, a path that has come to reach the goal.
 */
#include "search/internal.h"

/* ---- The switch margin ---- */

bool tp__steady_switches(const struct tp_mind *session, bool reaches_goal)
{
    const struct tp_search *search = &session->search;
    const struct tp_trace *trace = &session->trace;
    uint64_t margin = session->params.switch_margin_milli;
    if (!margin || reaches_goal || trace->follow_end == TP_STATE_NONE)
        return true;
    /* at the path's end, or stepping back and forth there */
    if (session->at == trace->follow_end || session->at_before == trace->follow_end)
        return true;
    if (tp__trace_mark(session, session->at) == TP_MARK_NONE && tp__trace_fresh_over_agent(session))
        return true;
    uint64_t fresh = tp_search_g(search, trace->fresh_end) + tp_search_h_now(search, trace->fresh_end);
    uint64_t followed = tp_search_g(search, trace->follow_end) + tp_search_h_now(search, trace->follow_end);
    return tp_product_less(fresh, 1000 + margin, followed, 1000);
}

/* ---- Waiting instead of moving back ---- */

bool tp__steady_pauses(struct tp_tick *tick)
{
    const struct tp_mind *session = tick->session;
    if (session->params.pause_on_backtrack != TP_PAUSE_ON_BACKTRACK || session->path_complete || tick->node_cap)
        return false;
    tick->reply->status = TP_STATUS_BLOCKED;
    tick->reply->flags |= TP_FLAG_BACK_MOVE;
    return true;
}

bool tp__steady_rests(const struct tp_mind *session, tp_state best)
{
    /* Where R is one purse a trace under way comes first. The path to where an agent stands that waits, or that no move takes back
     * to it, is always as long, so that one trace after another might leave less than an expansion in every tick, for ever. */
    const struct tp_trace *trace = &session->trace;
    return !session->search.found && !trace->capped && trace->last_end == best && trace->last_at == session->at &&
           trace->last_moves == session->stats.moves && session->closed == session->closed_traced;
}

/* ---- Flips ---- */

void tp__steady_follow(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    uint8_t before = tp__trace_next(session);
    tp__trace_follow(session);
    if (before == TP_MOVE_NONE || tp__trace_next(session) == before)
        return;
    session->stats.flips++;
    tick->reply->flips++;
}

/* ---- A goal that moves to and fro ---- */

/* Each time it turns, an agent whose goal moves to and fro walks away from where the goal is next: the search is worth no more
 * walks than two. Each new search of that kind begins nearer to the goal than the one before, so that they end. */
bool tp__steady_begins_anew(struct tp_mind *session)
{
    enum { TURNS = 2 };
    if (!session->goal_moved || !session->path_complete || session->search.partial)
        return false;
    session->goal_moved = false;
    tp_cost left = tp_search_h_goal(&session->search, session->at) + 1;
    if (++session->turns <= TURNS || (session->turned_left && left >= session->turned_left))
        return false;
    session->turned_left = left;
    return true;
}

/* ---- The loop detector ---- */

void tp__steady_begin(struct tp_mind *session)
{
    session->steady = (struct tp_steady){.anchor = session->at, .visits = 1, .stay = 1};
}

/* A move, after which nothing else happened: whether the agent goes round in circles. */
static bool moved(struct tp_steady *steady, tp_state at)
{
    enum { VISITS_OF_A_LOOP = 3 };
    steady->moves++;
    if (at == steady->anchor) {
        steady->visits++;
        steady->looping |= steady->visits >= VISITS_OF_A_LOOP;
    }
    if (steady->moves == steady->stay) {
        steady->anchor = at;
        steady->visits = 1;
        steady->moves = 0;
        steady->stay *= 2;
    }
    return steady->looping;
}

void tp__steady_watch(struct tp_tick *tick, tp_state before, bool was_complete)
{
    struct tp_mind *session = tick->session;
    struct tp_steady *steady = &session->steady;
    struct tp_tick_reply *reply = tick->reply;
    bool settled = reply->status == TP_STATUS_ARRIVED || reply->status == TP_STATUS_UNREACHABLE;
    bool completed = session->path_complete && !was_complete;
    if (settled || completed || tick->changed || reply->work.expansions || reply->work.learned) {
        tp__steady_begin(session);
        return;
    }
    bool looping = session->at != before ? moved(steady, session->at) : steady->looping;
    if (looping)
        reply->flags |= TP_FLAG_LOOPING;
}
