/* The time-bounded engine: expand, trace, follow the path or move back along the tree.
 *
 * It carries TBA* (2009, Algorithm 1) and TB(BFS) (2014, Algorithm 1; 2016, Algorithm 4). Their lines:
 *
 *   2009            2014      here
 *   1-4             1-8       tp_search_begin: the agent's state is the root and the only open one
 *   6-8             30, 11-20 search_phase, unless the goal was found before: at most N_E (or k) expansions
 *   -               23        tp_search_run: found, when the goal is the best open state
 *   9-12            22, 24    trace_phase: a new trace begins at the best open state
 *   13              24        tp__trace_run: back to the agent's state or the root, N_T steps a tick
 *   14-19           -         trace_phase: a whole path is followed; reaching the goal is remembered
 *   22              33        move_phase, forward
 *   25              35        move_phase, back-move
 *   27              -         move_phase, at the root without a path: back where the agent came from (the text
 *                             wins over line 30: the place before the move is kept)
 *   -               21, 31    an empty open list: UNREACHABLE, unless a cost fell since the search began
 *
 * TBR(WA*) (2016, Algorithm 5) adds to it what a stranded agent does: algorithms/tbrwa.c. An agent of another row that no move
 * takes back to the path stays where it is, and keeps searching, until a path reaches the goal: that it can't follow, so it searches
 * anew from where it stands, and waits there for a path that it can (strand; the papers are silent). One that was put there, or
 * whose goal was, searches anew at once.
 *
 * Under k, tracing is free and each tick's trace is whole, so that the two papers' loops are one. What a tick's path has of the last
 * tick's is not traced again (tp__trace_branch).
 * A path followed keeps all its marks, the part walked included: an agent that waits at its end for a long trace
 * steps back and forth there instead of going home.
 *
 * On a map that changes, `eager` restarts at every change (2014, Algorithm 2: restart_due); by any rule a step that is
 * not legal in this tick's version starts the search anew from the agent; found out before the search phase it costs no
 * move. Failure modes: no node memory (NODE_CAP: the best move so far), a spent budget (the path followed, or SEARCHING).
 */
#include "search/adaptive.h"
#include "search/internal.h"

static bool step_open(const struct tp_mind *session)
{
    uint8_t step = tp__trace_next(session);
    if (step == TP_MOVE_NONE)
        step = tp__session_move_to_parent(session);
    return step == TP_MOVE_NONE || tp__session_move_legal(session, step);
}

/* Whether the present search has to be given up before this tick. */
static bool restart_due(struct tp_tick *tick)
{
    const struct tp_mind *session = tick->session;
    bool finds = tp__detour_run(tick), asked = tp__react(tick), is_stopped = !step_open(session);
    bool is_broken = !finds || ((asked || is_stopped) && !tp__detour_mends(tick, is_stopped));
    return is_broken || !session->search.active || session->restart_wanted || tp__session_caught(session);
}

/* 2009, section 3.3: the depth of the tree's path to `state`, at most `depth_max`. */
static uint64_t tree_depth(const struct tp_search *search, tp_state state, uint64_t depth_max)
{
    uint64_t depth = 0;
    uint8_t move;
    while (depth < depth_max && (state = tp_search_parent(search, state, &move)) != TP_STATE_NONE)
        depth++;
    return depth;
}

/* 2009, section 3.3, the finer rule for the first tick: expand until N_E, or until some state was given a g at the
 * end of a path of N_T moves. A depth is counted only where g leaves it in doubt; declared slack: at most N_T
 * uncounted steps for each such expansion of this one tick. */
static void expand_longest_path(struct tp_tick *tick, const struct tp_share *share)
{
    struct tp_search *search = &tick->session->search;
    for (uint64_t done = 0; done < share->expansions && !search->found && !search->exhausted; done++) {
        tp_state best;
        if (!tp_search_best(search, &best))
            return;
        uint64_t g = tp_search_g(search, best), before = tick->reply->work.generated;
        bool in_doubt = search->domain->listed || g / (TP_COST_UNIT * search->h_unit) + 1 >= share->steps;
        bool longest = in_doubt && tree_depth(search, best, share->steps) + 1 >= share->steps;
        uint64_t expansions = tick->reply->work.expansions;
        tp__session_expand(tick, 1);
        if (tick->reply->work.expansions == expansions)
            return; /* a cap, a deadline, no memory */
        if (longest && tick->reply->work.generated > before)
            return;
    }
}

static void search_phase(struct tp_tick *tick, const struct tp_share *share)
{
    struct tp_mind *session = tick->session;
    bool first = session->first_tick;
    session->first_tick = false;
    if (first && session->params.longest_path_rule && tick->budget->kind == TP_BUDGET_R)
        expand_longest_path(tick, share);
    else if (first && share->steps && share->steps < share->expansions)
        tp__session_expand(tick, share->steps);
    else
        tp__session_expand(tick, share->expansions);
}

/* Whether the path just traced is taken: 2009, section 3.4, second enhancement, and the switch margin. */
static bool switch_allowed(const struct tp_mind *session, bool reaches_goal)
{
    const struct tp_trace *trace = &session->trace;
    bool by_g = session->params.path_switch && !reaches_goal && trace->follow_end != TP_STATE_NONE;
    if (by_g && tp_search_g(&session->search, trace->fresh_end) < tp_search_g(&session->search, trace->follow_end))
        return false;
    return tp__steady_switches(session, reaches_goal);
}

/* 2009, lines 9 to 13: true when the path to what was the best open state is traced. */
static bool trace(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    tp_state best;
    if (!session->trace.running) {
        if (!tp_search_best(&session->search, &best) || tp__steady_rests(session, best))
            return false;
        session->closed_traced = session->closed;
        if (tp__trace_branches(tick))
            return tp__trace_branch(tick, best);
        tp__trace_begin(session, best);
    }
    return tp__trace_run(tick);
}

static void trace_phase(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    if (session->path_complete || session->detour || tick->budget->moves_only || !trace(tick))
        return;
    if (tp__trace_rose(session)) {
        tp__adaptive_begin_search(tick);
        tick->began_anew = true;
        return;
    }
    bool reaches_goal = session->search.found && session->trace.fresh_end == session->search.end;
    if (switch_allowed(session, reaches_goal))
        tp__steady_follow(tick);
    session->path_fresh = true;
    session->path_complete = reaches_goal;
    tp__smooth_forget(session);
}

/* 2009, line 27, for TBA* alone: at the root without a path the agent steps back where it came from. */
static uint8_t step_to_before(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    if (session->at_before == TP_STATE_NONE || !(session->params.algorithm->capabilities & TP_CAN_SPLIT_R))
        return TP_MOVE_NONE;
    uint8_t unused;
    if (!search->domain->reversible && tp_search_knows(search, session->at) &&
        tp_search_parent(search, session->at, &unused) != TP_STATE_NONE)
        return TP_MOVE_NONE; /* not at the root, but where no move leads to its parent: it waits */
    uint8_t step = search->domain->move_between(search, session->at, session->at_before);
    return step != TP_MOVE_NONE && tp__session_move_legal(session, step) ? step : TP_MOVE_NONE;
}

/* 2016, Algorithm 5, line 10, where no move leads to the agent's parent: it is off a path that was traced whole since it came
 * here. The next trace may be under way: with a small R there always is one, and nothing is left to expand a state. */
static bool stranded(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    uint8_t move;
    return (session->path_fresh || session->path_complete || session->trace.capped) &&
           tp_search_knows(search, session->at) && tp_search_parent(search, session->at, &move) != TP_STATE_NONE;
}

/* What a stranded agent of the other rows does. It waits from then on (waits_for_path), or else it might be stranded for ever. */
static void strand(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    if (session->displaced) { /* it did not wander here by itself */
        tp__adaptive_begin_search(tick);
    } else if (session->path_complete) {
        session->waits_for_path = true;
        tp__adaptive_begin_search(tick);
    }
}

/* 2016, Algorithm 5, lines 11 and 12, begun or gone on with: the agent waits. A map that changes meanwhile is taken up by the
 * new search: learning stays valid while costs rise, and is forgotten when one fell. A search whose goal moved teaches
 * nothing (learn.c); it is only begun anew. */
static void learn_and_restart(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    session->stats.learning_ticks++;
    if (!tp__learn_run(tick))
        return;
    session->strandings++;
    tp__session_begin_search(tick);
}

/* Where the goal is out of reach, an agent with a small k might be stranded again and again before any open list runs empty,
 * and never know. So after PATIENCE strandings it waits at a new root for some expansions, twice as many after each DOUBLING
 * more, until one search is exhausted. Theorem 3 holds for any number of expansions between moves. */
static bool waits_at_root(const struct tp_mind *session)
{
    enum { PATIENCE = 1000, DOUBLING = 64 };
    if (session->strandings < PATIENCE)
        return false;
    uint64_t doublings = (session->strandings - PATIENCE) / DOUBLING;
    return session->closed < 1ull << (doublings < 40 ? doublings : 40);
}

static void move_phase(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    tp_state best;
    bool back = false, retreats = false;
    if (tp__detour_waits(session)) {
        tp__session_block(tick, tp__trace_next(session));
        return;
    }
    uint8_t step = tp__trace_next(session);
    if (step == TP_MOVE_NONE && tp_search_best(&session->search, &best) && best == session->at)
        return; /* nothing beyond is known yet */
    if (step == TP_MOVE_NONE) {
        step = tp__session_move_to_parent(session);
        back = retreats = step != TP_MOVE_NONE;
        if (back && tp__steady_begins_anew(session)) {
            tp__adaptive_begin_search(tick);
            return;
        }
        if (back && session->params.shortcut && session->path_complete && tp__shortcut_try(tick)) {
            step = tp__trace_next(session);
            back = retreats = false;
        }
    }
    if (step == TP_MOVE_NONE && session->search.partial) {
        tp__session_begin_search(tick); /* no move leads back to the way to that end: there is another, nearest from here */
        return;
    }
    if (step == TP_MOVE_NONE) {
        step = step_to_before(session);
        retreats = step != TP_MOVE_NONE;
    }
    if (step == TP_MOVE_NONE && stranded(session)) {
        if (session->params.algorithm->learning == TP_LEARNING_DIJKSTRA) {
            tp__learn_begin(session, session->closed);
            learn_and_restart(tick);
        } else {
            strand(tick);
        }
    }
    if (step == TP_MOVE_NONE)
        return;
    bool legal = tp__session_move_legal(session, step);
    if (legal && retreats && tp__steady_pauses(tick))
        return;
    if (legal) {
        tp__session_move(tick, step, back);
        session->path_fresh = session->waits_for_path = false;
        if (tick->reply->status != TP_STATUS_ARRIVED && tp__react_after_move(tick))
            tp__adaptive_begin_search(tick);
    } else {
        /* the tree was grown in an older version; the agent waits this tick */
        tp__session_block(tick, step);
        tp__adaptive_begin_search(tick);
    }
}

/* Whether this tick spends R as one purse: every row but those that split it into N_E and N_T. */
static bool one_purse(const struct tp_tick *tick)
{
    return tick->budget->kind == TP_BUDGET_R &&
           !(tick->session->params.algorithm->capabilities & TP_CAN_SPLIT_R);
}

/* Before the search of a tick with one purse: a trace under way is paid first, and leaves room for at most the share r
 * of expansions, one at the least. */
static void open_purse(struct tp_tick *tick, struct tp_share *share)
{
    const struct tp_budget *budget = tick->budget;
    if (tick->session->trace.running)
        trace_phase(tick);
    if (share->expansions == 0)
        share->expansions = 1;
    if (share->expansions > tick->steps_left / budget->c)
        share->expansions = tick->steps_left / budget->c;
}

/* The traceback steps that the search phase has left to this tick: of N_T what was not looked at changes, all of R from the tick
 * after the goal was found, or the rest of the purse. */
static uint64_t steps_for_tracing(const struct tp_tick *tick, const struct tp_share *share, bool found_before)
{
    const struct tp_tick_work *work = &tick->reply->work;
    if (tick->budget->kind != TP_BUDGET_R || one_purse(tick) || found_before)
        return tp__purse_left(tick);
    uint64_t looked = work->traced - work->rekeyed; /* what was renewed is paid from N_E */
    return looked < share->steps ? share->steps - looked : 0;
}

static void time_bounded_tick(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_search *search = &session->search;
    if (session->learn.running) {
        learn_and_restart(tick);
        return;
    }
    if (tp__session_proved_unreachable(session)) {
        tick->reply->status = TP_STATUS_UNREACHABLE;
        return;
    }
    enum tp_guide_outcome guided = tp__guide_run(tick);
    if (guided == TP_GUIDE_WAIT)
        return;
    struct tp_share share = tp__budget_share(tick->budget);
    if (!one_purse(tick))
        tick->steps_left = share.steps;
    bool due = restart_due(tick);
    if (due || guided == TP_GUIDE_ANEW) {
        session->watch.for_fall |= !due; /* another way says nothing against waiting with the next fall */
        session->waits_for_path &= !tick->changed; /* where something changes all the time no path might ever be whole */
        tp__adaptive_begin_search(tick);
    }
    if (guided == TP_GUIDE_ANEW)
        session->guide.broken = false; /* it was left for a better way */
    if (!search->active)
        return;

    bool found_before = search->found;
    share.expansions -= share.expansions < tick->reply->work.expansions ? share.expansions : tick->reply->work.expansions; /* of a detour */
    if (one_purse(tick))
        open_purse(tick, &share);
    if (!search->active)
        return; /* the path traced rose, and the new search waits for a fuller purse */
    if (tick->budget->kind == TP_BUDGET_DEADLINE && session->trace.running)
        trace_phase(tick); /* 2012, section 8: an interval begins with the path; the search takes what time is left */
    tp__adaptive_allow(tick, share.expansions * tick->budget->c);
    if (!found_before && share.expansions)
        search_phase(tick, &share);
    bool unreachable = tp__adaptive_exhausted(tick, share.expansions);
    tp__adaptive_book(tick);
    if (unreachable)
        return;
    bool waits = !search->found && (session->waits_for_path || waits_at_root(session));
    if ((waits || !tp__nearest_wait_over(session)) && !tick->node_cap)
        return;
    tick->steps_left = steps_for_tracing(tick, &share, found_before);
    trace_phase(tick);
    if (search->partial && !session->path_complete)
        return; /* the way to the nearest state is traced whole before it is walked */
    if (!search->active || tick->began_anew)
        return; /* 2012, Algorithm 2, line 23: a restart after the search costs the move */
    tp__bound_measure(tick);
    tp__smooth_run(tick);
    move_phase(tick);
}

const struct tp_engine tp__engine_time_bounded = {.name = "time-bounded", .tick = time_bounded_tick};
