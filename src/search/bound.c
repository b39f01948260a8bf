/* A session's proof of what its walk costs at most (bound.h).
 *
 *     NONE -> SEEDS -> SEARCHES -> OVER      any -> NONE: the proof does not hold any more
 *
 * Happy path: the goals are entered, the search runs for as many ticks as it needs, until the cell where the proof began is its best open state: the
 * lower bound is the least cost then. Meanwhile the agent walks: what it walked and what is left of its path stay the same together. Where they
 * meet, the search knows the cheapest way from there to a goal; if the path's own rest is dearer, that is taken over as smoothing takes over a
 * piece: linked into the session's tree, traced, followed.
 *
 *     NONE -> LINKS -> TRACES -> TAKEN       any -> NONE: another path, another version, or the agent walked by
 *               |         +----> FAILED
 *               +--------------> FAILED
 *
 * Failure: no memory for the search: OVER, with the lower bound so far; none for the session's: its rest stays as it is.
 */
#include "search/bound.h"

#include "search/internal.h"

#include <stdlib.h>

enum bound_phase {
    BOUND_NONE,     /* no proof: `least` says nothing */
    BOUND_SEEDS,    /* goals are being entered */
    BOUND_SEARCHES,
    BOUND_OVER,     /* nothing is left to prove, or to prove it with */
};

/* How a cheaper rest of the path is taken over from the search. */
enum bound_join {
    JOIN_NONE,
    JOIN_LINKS,  /* its states are entered into the session's tree */
    JOIN_TRACES, /* it is traced from its goal */
    JOIN_TAKEN,  /* what is left of the path is the cheapest there is */
    JOIN_FAILED, /* it can't be taken */
};

enum {
    JOIN_LEAD_MAX = 64, /* steps ahead of the agent, at most, from which it is taken */
};

struct tp_bound {
    enum bound_phase phase;
    bool holds;          /* `search` holds memory */
    tp_state from;       /* where the proof began */
    tp_cost cost;        /* of the agent's walk, then */
    tp_cost least;       /* no way from there to a goal costs less */
    uint64_t epoch, version; /* seen last: nothing fell up to here */
    uint32_t seeds;      /* goals entered */
    bool known, broken;  /* what is left of the path followed is; it has a step that is not legal */
    tp_state cursor;     /* of the walk along it; TP_STATE_NONE: it is to begin where the agent stands */
    tp_cost left, left_cost; /* what was left of it when the agent's walk had cost so much: up to the cursor, or in all */
    uint64_t left_version;
    enum bound_join join;
    uint32_t lead;       /* steps ahead of the agent that the rest is taken from, as the last try found too few */
    tp_state joint;      /* where the link stands; traced: where it ended */
    struct tp_search search;
};

/* ---- A proof's life ---- */

static void give_back(struct tp_bound *bound)
{
    if (bound->holds)
        tp_search_fini(&bound->search);
    bound->holds = false;
}

static void give_up(struct tp_bound *bound)
{
    give_back(bound);
    bound->phase = BOUND_OVER;
    if (bound->join == JOIN_LINKS)
        bound->join = JOIN_FAILED; /* what is traced is in the session's tree already */
}

/* Nothing is known of the path followed in the present version. */
static void forget_path(struct tp_mind *session, struct tp_bound *bound)
{
    if (bound->join == JOIN_TRACES)
        session->trace.running = false; /* the trace is ours */
    bound->join = JOIN_NONE;
    bound->known = bound->broken = false;
    bound->cursor = TP_STATE_NONE;
}

void tp__bound_forget(struct tp_mind *session)
{
    if (session->bound)
        forget_path(session, session->bound);
}

bool tp__bound_yield(struct tp_mind *session)
{
    struct tp_bound *bound = session->bound;
    bool holds = bound && bound->holds;
    if (holds)
        give_up(bound);
    return holds;
}

bool tp__bound_open(struct tp_mind *session)
{
    if (!session->params.bounded)
        return true;
    session->bound = malloc(sizeof *session->bound);
    if (!session->bound)
        return false;
    *session->bound = (struct tp_bound){.cursor = TP_STATE_NONE};
    return true;
}

void tp__bound_close(struct tp_mind *session)
{
    if (session->bound)
        give_back(session->bound);
    free(session->bound);
    session->bound = NULL;
}

void tp__bound_trip(struct tp_mind *session)
{
    struct tp_bound *bound = session->bound;
    if (!bound)
        return;
    give_back(bound);
    tp__bound_forget(session);
    bound->phase = BOUND_NONE;
}

static bool is_free(const struct tp_mind *session, tp_state state)
{
    return tp_map_passable(session->map, tp_state_x(&session->search, state), tp_state_y(&session->search, state));
}

/* Whether what was proved holds in this tick's version: nothing fell, and the way still begins on free ground (a move out of a blocked cell
 * may cost less than h says). */
static bool holds_now(const struct tp_mind *session, const struct tp_bound *bound)
{
    const struct tp_map *map = session->map;
    return map->epoch == bound->epoch && map->version >= bound->version && map->fell_version <= bound->version &&
           is_free(session, bound->from);
}

/* h from a state to the nearest goal. */
static tp_cost h_to_goals(const struct tp_mind *session, tp_state state)
{
    const struct tp_goals *goals = &session->goals;
    tp_cost least = TP_COST_INFINITE;
    for (uint32_t i = 0; i < goals->count; i++) {
        tp_cost h = tp_search_h(&session->search, state, goals->states[i]);
        least = h < least ? h : least;
    }
    return least;
}

void tp__bound_begin(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_bound *bound = session->bound;
    if (!bound)
        return;
    if (bound->phase != BOUND_NONE && !holds_now(session, bound))
        bound->phase = BOUND_NONE; /* the search keeps its memory for the next */
    if (bound->left_version != session->map->version || bound->epoch != session->map->epoch)
        forget_path(session, bound);
    bound->version = session->map->version;
    bound->epoch = session->map->epoch;
    if (bound->phase != BOUND_NONE || tp__mind_arrived(session) || !is_free(session, session->at))
        return;
    bound->phase = BOUND_SEEDS;
    bound->seeds = 0;
    bound->lead = 0;
    bound->from = session->at;
    bound->cost = session->stats.cost;
    bound->least = h_to_goals(session, session->at);
}

/* ---- What is left of the path ---- */

void tp__bound_follow(struct tp_mind *session)
{
    struct tp_bound *bound = session->bound;
    const struct tp_trace *trace = &session->trace;
    if (!bound)
        return;
    tp__bound_forget(session);
    bound->known = trace->sum != TP_COST_INFINITE && trace->version == session->map->version && trace->front == session->at;
    bound->left = trace->sum;
    bound->left_cost = session->stats.cost;
    bound->left_version = session->map->version;
}

/* Whether the agent is on a path that reaches a goal. */
static bool is_on_way(const struct tp_mind *session)
{
    return session->path_complete && !session->search.partial && !session->restart_wanted &&
           session->trace.follow_end != TP_STATE_NONE &&
           (session->at == session->trace.follow_end || tp__trace_move(session, session->at) != TP_MOVE_NONE);
}

void tp__bound_measure(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_bound *bound = session->bound;
    const struct tp_search *tree = &session->search;
    if (!bound || bound->phase == BOUND_NONE || !is_on_way(session))
        return;
    if (bound->known || bound->broken)
        return;
    if (bound->cursor == TP_STATE_NONE) {
        bound->cursor = session->at;
        bound->left = 0;
        bound->left_cost = session->stats.cost;
        bound->left_version = session->map->version;
    }
    while (bound->cursor != session->trace.follow_end) {
        struct tp_successor step;
        if (!tp__tick_step(tick))
            return;
        uint8_t move = tp__trace_move(session, bound->cursor);
        bound->broken = move == TP_MOVE_NONE || !tree->domain->step(tree, session->map, bound->cursor, move, &step);
        if (bound->broken)
            return;
        bound->left += step.cost;
        bound->cursor = step.state;
    }
    bound->known = true;
}

/* ---- The proof ---- */

/* Enters the goals. False when the tick can't pay, or there is no memory (the phase says which). */
static bool enter_goals(struct tp_tick *tick, struct tp_bound *bound)
{
    struct tp_mind *session = tick->session;
    const struct tp_goals *goals = &session->goals;
    if (!bound->holds)
        tp__beside_init(session, &bound->search);
    bound->holds = true;
    if (bound->seeds == 0)
        tp_search_begin_seeds(&bound->search, bound->from);
    for (; bound->seeds < goals->count; bound->seeds++) {
        tp_state goal = goals->states[bound->seeds];
        if (!tp__tick_step(tick))
            return false;
        if (!is_free(session, goal) || tp_search_knows(&bound->search, goal))
            continue; /* nobody gets there; or it was named before */
        if (!tp_search_add_seed(&bound->search, goal, 0)) {
            give_up(bound);
            return false;
        }
    }
    bound->phase = BOUND_SEARCHES;
    return true;
}

static void prove(struct tp_tick *tick, struct tp_bound *bound)
{
    struct tp_search *search = &bound->search;
    if (bound->phase == BOUND_SEEDS && !enter_goals(tick, bound))
        return;
    bool has_memory = tp__beside_run(tick, search, UINT64_MAX);
    tp_cost least = tp_search_least_f(search); /* TP_COST_INFINITE: there is no way from there any more */
    bound->least = least > bound->least ? least : bound->least;
    if (!has_memory)
        give_up(bound);
    else if (search->found || search->exhausted)
        bound->phase = BOUND_OVER;
}

/* ---- A cheaper rest of the path ---- */

bool tp__bound_shortens(const struct tp_mind *session)
{
    const struct tp_bound *bound = session->bound;
    return bound && (bound->join == JOIN_LINKS || bound->join == JOIN_TRACES || bound->join == JOIN_TAKEN);
}

/* What is left of the path from where the agent stands, once it is known. */
static tp_cost left_now(const struct tp_mind *session, const struct tp_bound *bound)
{
    return bound->left - (session->stats.cost - bound->left_cost);
}

/* How far ahead of the agent the rest is to be taken over, so that it does not walk by while that goes on. */
static uint32_t lead_of(const struct tp_tick *tick, const struct tp_bound *bound)
{
    const struct tp_mind *session = tick->session;
    const struct tp_budget *budget = tick->budget;
    if (budget->kind != TP_BUDGET_R)
        return bound->lead < JOIN_LEAD_MAX ? bound->lead : JOIN_LEAD_MAX;
    uint64_t steps = 2 * left_now(session, bound) / (TP_COST_UNIT * session->search.h_unit); /* linked and traced, about */
    uint64_t lead = bound->lead + steps / (budget->expansions * budget->c);
    return lead < JOIN_LEAD_MAX ? (uint32_t)lead : JOIN_LEAD_MAX;
}

/* Begins where the search knows a cheaper way to a goal from a state of the path than the path's own. */
static void join_begin(struct tp_tick *tick, struct tp_bound *bound)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *tree = &session->search;
    tp_state from = session->at;
    tp_cost left = left_now(session, bound);
    if (!bound->holds)
        return;
    for (uint32_t lead = lead_of(tick, bound); lead; lead--) {
        struct tp_successor step;
        uint8_t move = tp__trace_move(session, from);
        if (move == TP_MOVE_NONE || !tp__tick_step(tick) || !tree->domain->step(tree, session->map, from, move, &step))
            return;
        from = step.state;
        left -= step.cost;
    }
    if (!tp_search_closed(&bound->search, from) || tp_search_g(&bound->search, from) >= left)
        return;
    tp__smooth_forget(session);
    bound->joint = from;
    bound->join = JOIN_LINKS;
}

/* Enters the way found into the session's tree. */
static void join_link(struct tp_tick *tick, struct tp_bound *bound)
{
    for (;;) {
        bool changed;
        uint8_t move = tp_search_move_to_parent(&bound->search, bound->joint);
        if (move == TP_MOVE_NONE)
            break;
        if (!tp__tick_step(tick))
            return;
        bound->joint = tp__smooth_link(tick->session, bound->joint, move, &changed);
        if (bound->joint == TP_STATE_NONE) {
            bound->join = JOIN_FAILED;
            return;
        }
    }
    tp__trace_begin(tick->session, bound->joint);
    bound->join = JOIN_TRACES;
}

/* Traces the path by way of it; it is followed where it leads on from the agent and is cheaper. */
static void join_trace(struct tp_tick *tick, struct tp_bound *bound)
{
    struct tp_mind *session = tick->session;
    const struct tp_trace *trace = &session->trace;
    bool capped = tick->node_cap, whole = tp__trace_run(tick), leads_on = whole && trace->front == session->at;
    tick->node_cap = capped;
    if (!whole && trace->running)
        return;
    if (leads_on && !trace->rose && bound->known && trace->sum < left_now(session, bound)) {
        tp__trace_follow_rest(session);
        session->search.end = trace->follow_end;
        bound->join = JOIN_TAKEN;
    } else if (whole && !leads_on && bound->lead < JOIN_LEAD_MAX) { /* the agent has walked by */
        bound->lead = 2 * bound->lead + 1;
        bound->join = JOIN_NONE;
    } else {
        bound->join = JOIN_FAILED;
    }
}

static void join(struct tp_tick *tick, struct tp_bound *bound)
{
    if (bound->join == JOIN_NONE)
        join_begin(tick, bound);
    if (bound->join == JOIN_LINKS)
        join_link(tick, bound);
    if (bound->join == JOIN_TRACES)
        join_trace(tick, bound);
}

/* ---- The bound ---- */

/* a / b in thousandths, rounded up, 1000 at the least; UINT32_MAX where it is that or more. */
static uint32_t ratio_milli(tp_cost a, tp_cost b)
{
    if (a <= b)
        return 1000;
    while (a > UINT64_MAX / 1001) { /* rounded so that the ratio only grows */
        a = a / 2 + 1;
        b /= 2;
    }
    uint64_t milli = b ? (a * 1000 + b - 1) / b : UINT32_MAX;
    return milli < UINT32_MAX ? (uint32_t)milli : UINT32_MAX;
}

/* The walk's cost as the path now goes; false where it is not known. */
static bool walk_cost(const struct tp_mind *session, const struct tp_bound *bound, tp_cost *cost)
{
    *cost = session->stats.cost - bound->cost;
    if (tp__mind_arrived(session))
        return !session->search.partial;
    bool is_known = bound->known && is_on_way(session);
    *cost += is_known ? left_now(session, bound) : 0;
    return is_known;
}

/* Spends what the tick has left. */
static void spend(struct tp_tick *tick, struct tp_bound *bound)
{
    struct tp_mind *session = tick->session;
    tp_cost cost;
    tick->steps_left = tp__purse_left(tick);
    tp__bound_measure(tick);
    if (walk_cost(session, bound, &cost) && cost <= bound->least)
        bound->phase = BOUND_OVER;
    if (bound->phase != BOUND_OVER && tp__tick_expansions_left(tick))
        prove(tick, bound);
    bool is_known = walk_cost(session, bound, &cost), is_least = is_known && cost <= bound->least;
    if (is_known && !is_least && bound->phase != BOUND_SEEDS && !tp__mind_arrived(session))
        join(tick, bound);
    if (bound->phase == BOUND_OVER && (is_least || bound->join == JOIN_TAKEN))
        give_back(bound);
}

void tp__bound_run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_bound *bound = session->bound;
    tp_cost cost;
    if (!bound || bound->phase == BOUND_NONE || tick->reply->status == TP_STATUS_UNREACHABLE)
        return;
    if (!tick->node_cap)
        spend(tick, bound);
    if (tick->node_cap || tp__mind_arrived(session))
        give_up(bound); /* the session wants for memory; or all is told */
    if (walk_cost(session, bound, &cost) && bound->least > 0)
        tick->reply->bound_milli = ratio_milli(cost, bound->least);
}
