/* The agent-centred engine: look ahead from where the agent stands, learn, move one step; then all anew.
 *
 * It carries LSS-LRTA* and its weighted form (2016, Algorithm 3; learning: learn.c), RTAA* and daRTAA* (2012; learning:
 * h := max(h, f(best) - g), done on first touch by node/nodes.c as for the adaptive rows), LRTA* and P-LRTA* (2009, section
 * 4.2; lookahead and learning: lookahead.c, prioritized.c).
 *
 *      LOOK ---- k expansions ----> LEARN ---- h final ----> TRACE ---- path whole ----> move, LOOK
 *
 * Under k and DEADLINE a tick goes round once. Under R one purse pays for all of it, in as many ticks as that takes, and
 * the agent waits meanwhile. A search is never continued from move to move, and its restarts are not counted as such.
 * These algorithms cannot prove that a goal is out of reach: an agent shut in stays SEARCHING.
 */
#include "search/internal.h"

/* daRTAA*: the open state whose h was raised least, ties by f, then in the list's order. One step for each entry. */
static tp_state least_raised(struct tp_tick *tick, tp_state best)
{
    struct tp_session *session = tick->session;
    const struct tp_search *search = &session->search;
    const struct tp_open *open = &search->open;
    struct tp_open_entry chosen = {UINT64_MAX, 0, best};
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < open->count && tp__tick_step(tick); i++) {
        struct tp_open_entry entry = tp_open_at_any(open, TP_OPEN_ROOT + i);
        if (tp_search_closed(search, entry.state) || tp_search_g(search, entry.state) != entry.g)
            continue;
        uint64_t raised =
            tp_learned_at(&session->learned, tp_state_x(search, entry.state), tp_state_y(search, entry.state));
        bool better = raised != least       ? raised < least
                      : entry.f != chosen.f ? entry.f < chosen.f
                      : entry.g != chosen.g ? entry.g > chosen.g
                                            : entry.state < chosen.state;
        if (better) {
            least = raised;
            chosen = entry;
        }
    }
    return chosen.state;
}

static bool begin(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    tp__trace_forget(session);
    session->path_complete = false;
    session->restart_wanted = false;
    tp__learning_remember(session);
    tp__learning_check(session);
    session->unteachable = false;
    session->looked_ahead = 0;
    tp__lookahead_begin(session);
    if (!tp_search_begin(&session->search, session->at, session->goal)) {
        tick->node_cap = true;
        return false;
    }
    session->begun = true;
    return true;
}

uint64_t tp__lookahead_max(const struct tp_budget *budget)
{
    uint64_t share = tp__budget_share(budget).expansions;
    return share ? share : 1;
}

/* Expands what is left of the lookahead; true when it is done. */
static bool look_ahead(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    const struct tp_budget *budget = tick->budget;
    struct tp_search *search = &session->search;
    uint64_t wanted = tp__lookahead_max(budget);
    if (tp__looks_breadth_first(session)) {
        bool one = session->params.algorithm->learning == TP_LEARNING_PRIORITIZED;
        session->looked_ahead += tp__lookahead_run(tick, one ? 1 : wanted);
        return session->looked_ahead > 0 || search->found || search->exhausted;
    }
    uint64_t before = tick->reply->work.expansions;
    if (session->looked_ahead < wanted)
        tp__session_expand(tick, wanted - session->looked_ahead);
    uint64_t done = tick->reply->work.expansions - before;
    session->looked_ahead += done;
    if (budget->kind == TP_BUDGET_R)
        tick->steps_left -= done * budget->c < tick->steps_left ? done * budget->c : tick->steps_left;
    return session->looked_ahead > 0 || search->found || search->exhausted;
}

/* Goes on with the learning; true when it is done. */
static bool learn(struct tp_tick *tick)
{
    switch (tick->session->params.algorithm->learning) {
    case TP_LEARNING_DIJKSTRA:
        return tp__learn_run(tick);
    case TP_LEARNING_MINI_MIN:
        return tp__lookahead_learn(tick);
    case TP_LEARNING_PRIORITIZED:
        return tp__prioritized_learn(tick);
    default:
        return true;
    }
}

/* Where to go; false when no state is open. */
static bool best_of(const struct tp_session *session, tp_state *best)
{
    if (!tp__looks_breadth_first(session))
        return tp_search_best(&session->search, best);
    *best = session->lookahead.best.state;
    return *best != TP_STATE_NONE;
}

/* Whether h has risen beyond what any way on this map can cost: then none is believed to be there. daRTAA* may otherwise
 * walk for ever among the states raised least, and never see what opened beside the others. */
static bool raised_beyond_any_way(struct tp_session *session, tp_state best)
{
    const struct tp_search *search = &session->search;
    return tp_search_g(search, best) + tp_search_h_now(search, best) > tp__session_dearest_way(session);
}

static void agent_centred_tick(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    const struct tp_search *search = &session->search;
    const struct tp_budget *budget = tick->budget;
    tick->steps_left = budget->kind == TP_BUDGET_R ? budget->expansions * budget->c : UINT64_MAX;
    bool asked = tp__react(tick);
    if ((asked || session->restart_wanted) && session->begun) {
        session->stats.restarts++;
        tick->reply->flags |= TP_FLAG_RESTARTED;
    }
    if (asked || tick->changed || session->restart_wanted || !search->active)
        session->cycle = TP_CYCLE_LOOK;
    if (tp__looks_breadth_first(session) && session->at != session->lookahead.root)
        session->cycle = TP_CYCLE_LOOK;
    if (session->cycle == TP_CYCLE_LOOK) {
        if (!begin(tick) || !look_ahead(tick))
            return;
        tp__learn_begin(session, session->looked_ahead);
        session->cycle = TP_CYCLE_LEARN;
    }
    if (session->cycle == TP_CYCLE_LEARN) {
        if (!learn(tick))
            return;
        tp_state best;
        bool open = best_of(session, &best);
        bool shut_in = !open || (!session->belief.full && raised_beyond_any_way(session, best)); /* as it believes */
        bool forgot = shut_in && tp__session_forget_sights(session);
        if (!open || forgot) {
            session->cycle = TP_CYCLE_LOOK;
            session->restart_wanted |= forgot;
            return;
        }
        if (!search->found && session->params.algorithm->capabilities & TP_CAN_AVOID_RAISED)
            best = least_raised(tick, best);
        tp__trace_begin(session, best);
        session->cycle = TP_CYCLE_TRACE;
    }
    if (!tp__trace_run(tick))
        return;
    session->path_complete = search->found && session->trace.fresh_end == session->goal;
    tp__trace_follow(session);
    session->cycle = TP_CYCLE_LOOK;
    uint8_t step = tp__trace_next(session);
    if (step == TP_MOVE_NONE)
        return;
    if (tp__session_move_legal(session, step)) {
        tp__session_move(tick, step, false);
        tp__react_after_move(tick);
    } else {
        tick->reply->status = TP_STATUS_BLOCKED;
    }
}

const struct tp_engine tp__engine_agent_centred = {.name = "agent-centred", .tick = agent_centred_tick};
