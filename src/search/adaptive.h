/* What the adaptive rule (node/nodes.h) costs a tick: the purse its updates are paid from, and the reply they are booked in.
 *
 * Under R an engine says before each search it begins or runs how much of the tick's purse that may cost, expansions and
 * updates together, and after it takes what the updates cost from what is left. Under K and DEADLINE updates are free and
 * counted: at most 64 for each tile that a search touches first.
 * A search that could not begin for want of purse is not active: the agent waits, and the engine begins it again in the next
 * tick, which goes on where this one stopped.
 * Called by the engines alone; for rows without the rule all of it does nothing.
 */
#ifndef TP_SEARCH_ADAPTIVE_H
#define TP_SEARCH_ADAPTIVE_H

#include "search/internal.h"

/* Lets the next searches of this tick cost `steps` traceback steps' worth of expansions and updates. */
static inline void tp__adaptive_allow(struct tp_tick *tick, uint64_t steps)
{
    struct tp_nodes_adaptive *adaptive = &tick->session->adaptive;
    adaptive->purse = tick->budget->kind == TP_BUDGET_R ? steps / tick->budget->c : UINT64_MAX;
    adaptive->unpaid = false;
}

/* Books the updates made since the last call; gives what they cost, in traceback steps. */
static inline uint64_t tp__adaptive_book(struct tp_tick *tick)
{
    struct tp_nodes_adaptive *adaptive = &tick->session->adaptive;
    uint64_t updates = adaptive->updates - adaptive->booked;
    adaptive->booked = adaptive->updates;
    tick->reply->work.learned += updates;
    return tick->budget->kind == TP_BUDGET_R ? updates * tick->budget->c : 0;
}

/* Whether a search that was not begun wanted for nothing but a fuller purse: then it is not memory that is spent. */
static inline bool tp__adaptive_waits(const struct tp_tick *tick)
{
    return tick->session->adaptive.unpaid && !tick->session->search.active;
}

/* Begins a search (tp__session_begin_search) that is paid from the steps that the tick has left. */
static inline void tp__adaptive_begin_search(struct tp_tick *tick)
{
    bool node_cap = tick->node_cap;
    tp__adaptive_allow(tick, tick->steps_left);
    tp__session_begin_search(tick);
    tick->steps_left -= tp__adaptive_book(tick);
    if (tp__adaptive_waits(tick))
        tick->node_cap = node_cap;
}

/* tp__session_exhausted, which may begin a search, paid from what was allowed. */
static inline bool tp__adaptive_exhausted(struct tp_tick *tick, uint64_t expansions)
{
    bool node_cap = tick->node_cap, exhausted = tp__session_exhausted(tick, expansions);
    if (tp__adaptive_waits(tick))
        tick->node_cap = node_cap;
    return exhausted;
}

#endif
