/* The agent-centred engine: look ahead from where the agent stands, learn, move one step; then all anew.
 *
 * It carries LSS-LRTA* and its weighted form (2016, Algorithm 3; learning: learn.c), RTAA* and daRTAA* (2012; learning:
 * h := max(h, f(best) - g), done on first touch by node/nodes.c as for the adaptive rows), LRTA* and P-LRTA* (2009, section
 * 4.2; lookahead and learning: lookahead.c, prioritized.c).
 *
 *      LOOK ---- k expansions ----> LEARN ---- h final ----> TRACE ---- path whole ----> move, LOOK
 *
 * Under k a tick goes round once. Under R one purse pays for all of it, in as many ticks as that takes, and
 * the agent waits meanwhile. A search is never continued from move to move, and its restarts are not counted as such.
 * These algorithms cannot prove that a goal is out of reach: an agent shut in stays SEARCHING, with
 * DEAD_END where no move leads out of its own state.
 *
 * A plan that spans ticks is kept on a map that changes meanwhile, or else an agent would stand still where every tick brings a
 * change: its move is checked against the new version, what is learned stays valid while costs rise, and is forgotten before
 * the next lookahead when one fell. It is lost when the agent was put elsewhere, its goal moved far, or a graph's edges
 * changed; even then the learning step of LSS-LRTA* is finished if it has raised any h, for half done it would be worse than
 * nothing (learn.c).
 *
 * Under DEADLINE a tick is an interval of the game time model (2012, section 8): it begins with the path that the interval
 * before made ready and the move along it, and looks ahead anew from there until its time is over; the first one only
 * looks ahead. So the lookahead takes all the time that learning and the move leave, and the agent moves in every interval in
 * which they fit. Two things could keep it from that:
 *   - learning that takes longer than an interval. A lookahead that was not learned from and followed in one interval
 *     halves the next one. Where learning takes as long as expanding (LSS-LRTA*) one that was lets the next be larger by
 *     an eighth (by as much again where it ended at the goal); what time is left after it goes to learning. The others'
 *     takes next to none: RTAA* and daRTAA* learn as they look ahead, LRTA* raises one h, and P-LRTA* makes its updates
 *     after the move, as others expand.
 *   - a plan lost in every interval. Then the tick's first lookahead is half as large as the last one, and the other half of
 *     the time is for the move.
 */
#include "search/adaptive.h"
#include "search/internal.h"

/* daRTAA*: the open state whose h was raised least, ties by f, then in the list's order. One step for each entry. */
static tp_state least_raised(struct tp_tick *tick, tp_state best)
{
    struct tp_mind *session = tick->session;
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
    struct tp_mind *session = tick->session;
    bool moved = tick->reply->status == TP_STATUS_MOVING;
    if (!moved) { /* else the path followed is shown until the next one is ready */
        tp__trace_forget(session);
        session->path_complete = false;
    }
    session->restart_wanted = false;
    tp__learning_remember(session);
    tp__learning_check(session);
    session->unteachable = false;
    session->looked_ahead = 0;
    tp__lookahead_begin(session);
    tp__adaptive_allow(tick, tick->steps_left);
    bool begun = tp_search_begin(&session->search, session->at, session->goal);
    tick->steps_left -= tp__adaptive_book(tick);
    tick->node_cap |= !begun && !tp__adaptive_waits(tick);
    session->begun |= begun;
    return begun;
}

uint64_t tp__lookahead_max(const struct tp_budget *budget)
{
    uint64_t share = tp__budget_share(budget).expansions;
    return share ? share : 1;
}

/* Looks ahead anew from where the agent stands, by at most `wanted` expansions; true when some lookahead was made. */
static bool look_ahead(struct tp_tick *tick, uint64_t wanted)
{
    struct tp_mind *session = tick->session;
    const struct tp_budget *budget = tick->budget;
    struct tp_search *search = &session->search;
    session->cycle = TP_CYCLE_LOOK;
    if (!begin(tick))
        return false;
    if (tp__looks_breadth_first(session)) {
        bool one = session->params.algorithm->learning == TP_LEARNING_PRIORITIZED;
        session->looked_ahead = tp__lookahead_run(tick, one ? 1 : wanted);
    } else {
        uint64_t before = tick->reply->work.expansions;
        uint64_t most = budget->kind == TP_BUDGET_R ? tick->steps_left / budget->c : UINT64_MAX;
        tp__adaptive_allow(tick, tick->steps_left);
        tp__session_expand(tick, wanted < most ? wanted : most);
        session->looked_ahead = tick->reply->work.expansions - before;
        tp__adaptive_book(tick);
        tick->steps_left = tp__purse_left(tick);
    }
    if (!session->looked_ahead && !search->found && !search->exhausted)
        return false;
    tp__learn_begin(session, session->looked_ahead);
    session->cycle = TP_CYCLE_LEARN;
    session->first_tick = true;
    return true;
}

/* Expansions of the lookahead that follows a move under DEADLINE; the one moved by was late, or not. */
static uint64_t wanted_under_deadline(const struct tp_mind *session, bool late)
{
    uint64_t before = session->looked_ahead;
    if (late)
        return before / 2 ? before / 2 : 1;
    if (session->params.algorithm->learning != TP_LEARNING_DIJKSTRA)
        return UINT64_MAX;
    return before + (session->search.found ? before : before / 8) + TP_DEADLINE_STRIDE;
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
static bool best_of(const struct tp_mind *session, tp_state *best)
{
    if (!tp__looks_breadth_first(session))
        return tp_search_best(&session->search, best);
    *best = session->lookahead.best.state;
    return *best != TP_STATE_NONE;
}

/* Whether h has risen beyond what any way on this map can cost: then none is believed to be there. daRTAA* may otherwise
 * walk for ever among the states raised least, and never see what opened beside the others. */
static bool raised_beyond_any_way(struct tp_mind *session, tp_state best)
{
    const struct tp_search *search = &session->search;
    return tp_search_g(search, best) + tp_search_h_now(search, best) > tp__session_dearest_way(session);
}

/* Makes the plan ready and takes its step; the cycle begins anew when it was taken, or none can be. */
static void follow_plan(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
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
    if (!tp__trace_run(tick)) {
        if (session->trace.capped)
            session->cycle = TP_CYCLE_LOOK; /* anew, without the old path's marks */
        return;
    }
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
        tp__session_block(tick, step);
    }
}

/* Whether a learning step under way has raised some h, and not all. */
static bool half_learned(const struct tp_mind *session)
{
    const struct tp_learn *learn = &session->learn;
    return session->params.algorithm->learning == TP_LEARNING_DIJKSTRA && session->cycle == TP_CYCLE_LEARN &&
           learn->running && learn->cursor == session->search.open.count;
}

/* Drops a plan that is of no use any more. False when what it has begun to learn has to be gone on with first. */
static bool drop_lost_plan(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    bool asked = tp__react(tick), wanted = asked || session->restart_wanted;
    if (!wanted && session->search.active && session->at == session->lookahead.root)
        return true;
    if (half_learned(session) && !learn(tick))
        return false;
    if (wanted && session->begun) {
        session->stats.restarts++;
        tick->reply->flags |= TP_FLAG_RESTARTED;
    }
    session->cycle = TP_CYCLE_LOOK;
    return true;
}

static void agent_centred_tick(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    const struct tp_budget *budget = tick->budget;
    bool deadline = budget->kind == TP_BUDGET_DEADLINE;
    if (!drop_lost_plan(tick))
        return;
    bool late = false;
    if (session->cycle == TP_CYCLE_LOOK) {
        uint64_t half = session->looked_ahead / 2;
        if (!look_ahead(tick, deadline && half ? half : tp__lookahead_max(budget)))
            return;
    } else {
        late = !session->first_tick; /* a former tick could not follow the plan */
        session->first_tick = false;
    }
    follow_plan(tick);
    if (!deadline || session->cycle != TP_CYCLE_LOOK || tick->reply->status == TP_STATUS_ARRIVED)
        return;
    if (look_ahead(tick, wanted_under_deadline(session, late)))
        learn(tick);
}

const struct tp_engine tp__engine_agent_centred = {.name = "agent-centred", .tick = agent_centred_tick};
