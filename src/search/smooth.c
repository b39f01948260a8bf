/* Smoothing: what a guided session does with the expansions that are left over once its path reaches the goal, while the agent walks.
 *
 * What it is: windows over the path ahead of the agent. In each A* by the space's own h looks for the cheapest way between the
 * window's two ends, from the far one back to the near one; where that is cheaper than the path's own piece, it is linked into
 * the session's tree, the g of what follows are lowered, and the path is traced anew. Windows begin a few steps ahead of the
 * agent, overlap by half, and go on to the goal; then wider ones follow, up to SPAN_MAX steps. A piece as short as h
 * says is passed by without a search.
 *
 *     SKIP -> MEASURE -> SEARCH -> LINK -> LOWER -> TRACE      any but DONE -> SKIP: the agent has walked into the window
 *      ^        |          |                         |        any -> SKIP, from the narrowest on: another path, another version
 *      +--------+----------+-------------------------+        SKIP, MEASURE -> DONE: no wider window is left
 *
 * g along a tree's paths only ever falls here, and rises from parent to child as before: so that no cycle can come about, and
 * every other part of the engine finds a tree as it knows it. An agent that walked into a window meanwhile goes on along the longer piece, and g behind it
 * tells too little: so what is left of its path is counted (trace.h). A state new to the tree is put in its open list. Every expansion
 * is one of the tick's; a step walked, linked, lowered or traced is a traceback step. One path is taken a tick at most.
 * Failure: without memory, or where the path has a step that is not legal any more, the path stays as it is.
 * Who calls it: the time-bounded engine.
 */
#include "search/internal.h"

enum {
    SPAN_MIN = 16,       /* steps of the narrowest window */
    SPAN_MAX = 64,       /* and of the widest; wider ones find next to nothing more */
    SPAN_LEAST_MAX = 32, /* but with few expansions a tick those that are searched in SPAN_TICKS at the best, of so many steps at the least: */
    SPAN_TICKS = 8,      /* an agent whose path is smooth rests */
    SEARCH_SPANS = 16,   /* a search is given up after so many expansions for each step of its window */
    LEAD_SPANS = 3,      /* how many it is taken to need, to begin a window so far ahead of the agent; twice as many, up to
                          * SEARCH_SPANS, each time that the agent was there before */
    DEADLINE_TICK = 64,  /* and how many a tick has whose time alone is bounded */
};

enum smooth_phase { SMOOTH_SKIP, SMOOTH_MEASURE, SMOOTH_SEARCH, SMOOTH_LINK, SMOOTH_LOWER, SMOOTH_TRACE, SMOOTH_DONE };

struct tp_smooth {
    enum smooth_phase phase;
    uint32_t span;     /* 0: begin with the narrowest, ahead of the agent */
    uint32_t lead;     /* spans */
    tp_state from, to; /* the window's ends */
    tp_state cursor;   /* where the phase's walk stands */
    uint32_t steps;    /* SKIP: to go; MEASURE: gone */
    bool opens;        /* the window is the first ahead of the agent */
    tp_cost sum;       /* of the path's piece, so far */
    uint64_t spent;    /* expansions, in the window */
    struct tp_search search; /* holds blocks while there are windows to search */
};

static struct tp_smooth *smooth_open(struct tp_mind *session)
{
    struct tp_smooth *smooth = NULL;
    if (session->bytes + sizeof *smooth > session->search.nodes.tiles.bytes_max || !(smooth = tp_pool_get(session->pool, sizeof *smooth)))
        return NULL;
    session->bytes += sizeof *smooth;
    *smooth = (struct tp_smooth){.phase = SMOOTH_SKIP};
    tp__beside_init(session, &smooth->search);
    return smooth;
}

static void end(struct tp_smooth *smooth)
{
    tp_search_empty(&smooth->search);
    smooth->phase = SMOOTH_DONE;
}

static uint64_t expansions_a_tick(const struct tp_tick *tick)
{
    const struct tp_budget *budget = tick->budget;
    return budget->kind == TP_BUDGET_DEADLINE ? DEADLINE_TICK : budget->expansions;
}

/* Steps of the widest window. */
static uint32_t span_max(const struct tp_tick *tick)
{
    uint64_t most = expansions_a_tick(tick) < SPAN_MAX ? SPAN_TICKS * expansions_a_tick(tick) : SPAN_MAX;
    return most < SPAN_LEAST_MAX ? SPAN_LEAST_MAX : most < SPAN_MAX ? (uint32_t)most : SPAN_MAX;
}

/* Windows of a span begin: far enough ahead of the agent to be searched before it comes there. */
static void begin_ahead(const struct tp_tick *tick, struct tp_smooth *smooth, uint32_t span, uint32_t lead)
{
    uint64_t a_tick = expansions_a_tick(tick);
    smooth->span = span;
    smooth->lead = lead < SEARCH_SPANS ? lead : SEARCH_SPANS;
    smooth->from = smooth->cursor = tick->session->at;
    smooth->steps = 1 + (uint32_t)(((uint64_t)smooth->lead * span + a_tick - 1) / a_tick);
    smooth->opens = true;
    smooth->phase = SMOOTH_SKIP;
}

/* The next window begins half a span on; behind the last, wider ones ahead of the agent. */
static void slide(const struct tp_tick *tick, struct tp_smooth *smooth)
{
    bool at_end = smooth->to == tick->session->trace.follow_end;
    smooth->phase = SMOOTH_SKIP;
    smooth->cursor = smooth->from;
    smooth->steps = smooth->span / 2;
    if (!at_end)
        return;
    if (smooth->opens || smooth->span >= span_max(tick)) /* all of it is in this window; or it was the widest */
        end(smooth);
    else
        begin_ahead(tick, smooth, 2 * smooth->span, LEAD_SPANS);
}

/* Goes on to where the window begins. False when it can't be paid. */
static bool skip(struct tp_tick *tick, struct tp_smooth *smooth)
{
    const struct tp_mind *session = tick->session;
    for (; smooth->steps; smooth->steps--) {
        uint8_t move = tp__trace_move(session, smooth->cursor);
        if (move == TP_MOVE_NONE) {
            end(smooth); /* the agent is about there */
            return true;
        }
        if (!tp__tick_step(tick))
            return false;
        smooth->cursor = tp_search_move(&session->search, smooth->cursor, move);
    }
    smooth->opens = smooth->opens && smooth->from == session->at;
    smooth->from = smooth->cursor;
    smooth->sum = 0;
    smooth->phase = SMOOTH_MEASURE;
    return true;
}

static void search_begin(struct tp_smooth *smooth)
{
    smooth->spent = 0;
    smooth->phase = SMOOTH_SEARCH;
    if (!tp_search_begin(&smooth->search, smooth->to, smooth->from))
        end(smooth);
}

/* A step out of a state as the agent believes it; false where it is not legal. */
static bool believed_step(const struct tp_mind *session, tp_state from, uint8_t move, struct tp_successor *step)
{
    const struct tp_search *tree = &session->search;
    const struct tp_belief *belief = &session->belief;
    if (belief->full)
        return tree->domain->step(tree, session->map, from, move, step);
    uint32_t x = tp_state_x(tree, from), y = tp_state_y(tree, from);
    if (!tp_belief_legal(belief, x, y, move, session->params.neighbours, session->params.corners))
        return false;
    step->state = tp_search_move(tree, from, move);
    step->cost = tp_belief_cost(belief, x, y, tp_state_x(tree, step->state), tp_state_y(tree, step->state), move);
    return true;
}

/* Walks along the path's piece, and sums up what it costs now. False when it can't be paid. */
static bool measure(struct tp_tick *tick, struct tp_smooth *smooth)
{
    const struct tp_mind *session = tick->session;
    for (; smooth->steps < smooth->span; smooth->steps++) {
        struct tp_successor step;
        uint8_t move = tp__trace_move(session, smooth->cursor);
        if (move == TP_MOVE_NONE)
            break;
        if (!tp__tick_step(tick))
            return false;
        if (!believed_step(session, smooth->cursor, move, &step)) { /* it closed */
            smooth->to = smooth->cursor;
            if (tp__watch_is_near(session))
                slide(tick, smooth);
            else
                end(smooth);
            return true;
        }
        smooth->sum += step.cost;
        smooth->cursor = step.state;
    }
    smooth->to = smooth->cursor;
    if (smooth->sum <= tp_search_h(&session->search, smooth->from, smooth->to))
        slide(tick, smooth);
    else
        search_begin(smooth);
    return true;
}

/* Searches the window. False when the tick has nothing left for it. */
static bool search(struct tp_tick *tick, struct tp_smooth *smooth)
{
    uint64_t before = tick->reply->work.expansions, in_window = (uint64_t)SEARCH_SPANS * smooth->span;
    bool has_memory = tp__beside_run(tick, &smooth->search, in_window - smooth->spent);
    smooth->spent += tick->reply->work.expansions - before;
    if (!has_memory) { /* the agent has its path */
        end(smooth);
    } else if (smooth->search.found) {
        bool is_cheaper = tp_search_g(&smooth->search, smooth->from) < smooth->sum;
        smooth->cursor = smooth->from;
        smooth->phase = SMOOTH_LINK;
        if (!is_cheaper)
            slide(tick, smooth);
    } else if (smooth->search.exhausted || smooth->spent >= in_window) {
        slide(tick, smooth);
    } else {
        return false;
    }
    return true;
}

tp_state tp__smooth_link(struct tp_mind *session, tp_state from, uint8_t move, bool *changed)
{
    struct tp_search *tree = &session->search;
    struct tp_successor step;
    *changed = false;
    if (move == TP_MOVE_NONE || !believed_step(session, from, move, &step))
        return TP_STATE_NONE;
    tp_cost g = tp_search_g(tree, from) + step.cost;
    if (tp_search_knows(tree, step.state) && tp_search_g(tree, step.state) <= g)
        return step.state;
    *changed = true;
    tp__trace_count(session);
    return tp_search_link(tree, step.state, move, g) ? step.state : TP_STATE_NONE;
}

/* Links the piece found into the session's tree. False when it can't be paid. */
static bool link_piece(struct tp_tick *tick, struct tp_smooth *smooth)
{
    while (smooth->cursor != smooth->to) {
        if (!tp__tick_step(tick))
            return false;
        bool changed;
        uint8_t move = tp_search_move_to_parent(&smooth->search, smooth->cursor);
        smooth->cursor = tp__smooth_link(tick->session, smooth->cursor, move, &changed);
        if (smooth->cursor == TP_STATE_NONE) {
            end(smooth);
            return true;
        }
    }
    smooth->phase = SMOOTH_LOWER;
    return true;
}

/* Lowers g along the path behind the window, up to its end. False when it can't be paid. */
static bool lower(struct tp_tick *tick, struct tp_smooth *smooth)
{
    struct tp_mind *session = tick->session;
    bool changed = true;
    while (changed && smooth->cursor != session->trace.follow_end) {
        if (!tp__tick_step(tick))
            return false;
        smooth->cursor = tp__smooth_link(session, smooth->cursor, tp__trace_move(session, smooth->cursor), &changed);
        if (smooth->cursor == TP_STATE_NONE) {
            end(smooth);
            return true;
        }
    }
    tp__trace_begin(session, session->trace.follow_end);
    smooth->phase = SMOOTH_TRACE;
    return true;
}

/* Traces the path anew; it is taken where it leads on from the agent. False when it can't be paid, or the tick took one. */
static bool trace(struct tp_tick *tick, struct tp_smooth *smooth)
{
    struct tp_mind *session = tick->session;
    struct tp_trace *trace = &session->trace;
    bool capped = tick->node_cap;
    bool whole = tp__trace_run(tick);
    tick->node_cap = capped;
    if (!whole && trace->running)
        return false;
    if (whole && trace->front == session->at && !trace->rose)
        tp__trace_follow_rest(session);
    if (tp__trace_move(session, smooth->from) == TP_MOVE_NONE || tp_search_g(&session->search, smooth->from) < tp_search_g(&session->search, session->at))
        begin_ahead(tick, smooth, smooth->span, smooth->lead);
    else
        slide(tick, smooth);
    return false;
}

static bool go_on(struct tp_tick *tick, struct tp_smooth *smooth)
{
    switch (smooth->phase) {
    case SMOOTH_SKIP:
        return skip(tick, smooth);
    case SMOOTH_MEASURE:
        return measure(tick, smooth);
    case SMOOTH_SEARCH:
        return search(tick, smooth);
    case SMOOTH_LINK:
        return link_piece(tick, smooth);
    case SMOOTH_LOWER:
        return lower(tick, smooth);
    case SMOOTH_TRACE:
        return trace(tick, smooth);
    case SMOOTH_DONE:
        break;
    }
    return false;
}

/* Whether the agent walked beyond the window's beginning before anything was linked. */
static bool is_overtaken(const struct tp_mind *session, const struct tp_smooth *smooth)
{
    const struct tp_search *tree = &session->search;
    tp_state from = smooth->phase == SMOOTH_SKIP ? smooth->cursor : smooth->from;
    return smooth->phase <= SMOOTH_SEARCH && (!tp_search_knows(tree, from) || tp_search_g(tree, from) < tp_search_g(tree, session->at));
}

/* Whether the session smooths its paths: over ground that nobody saw it is work for nothing. */
static bool smooths(const struct tp_mind *session)
{
    return session->search.guide && (session->belief.full || session->belief.assumed);
}

bool tp__smooth_is_done(const struct tp_mind *session)
{
    return !smooths(session) || tp__is_packed(session) || (session->smooth && session->smooth->phase == SMOOTH_DONE);
}

void tp__smooth_run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    if (!smooths(session) || !session->path_complete || session->detour || tp__is_packed(session) || !tp_search_knows(&session->search, session->at) ||
        tp__trace_next(session) == TP_MOVE_NONE || tp__bound_shortens(session))
        return;
    if (!session->smooth && !(session->smooth = smooth_open(session)))
        return;
    struct tp_smooth *smooth = session->smooth;
    if (smooth->phase == SMOOTH_DONE)
        return;
    if (tick->changed && session->belief.full && !tp__watch_is_near(session)) /* what an agent sees that does not know the map is aside of its path, or it searches anew */
        tp__smooth_forget(session);
    if (!smooth->span)
        begin_ahead(tick, smooth, SPAN_MIN, LEAD_SPANS);
    else if (is_overtaken(session, smooth))
        begin_ahead(tick, smooth, smooth->span, 2 * smooth->lead);
    while (go_on(tick, smooth))
        ;
}

void tp__smooth_forget(struct tp_mind *session)
{
    struct tp_smooth *smooth = session->smooth;
    if (!smooth)
        return;
    if (smooth->phase == SMOOTH_TRACE)
        session->trace.running = false;
    smooth->phase = SMOOTH_SKIP;
    smooth->span = 0;
}

void tp__smooth_close(struct tp_mind *session)
{
    if (!session->smooth)
        return;
    tp_search_fini(&session->smooth->search);
    tp_pool_put(session->pool, session->smooth, sizeof *session->smooth);
    session->bytes -= sizeof *session->smooth;
    session->smooth = NULL;
}
