/* P-LRTA*'s learning: updates of h in the order of how much they may matter (Rayner, Davison, Bulitko, Anderson, Lu 2007).
 *
 *   update(s): f = the least c(s, s') + h(s'); if f > h(s), h(s) := f, and every state with a move to s is offered to
 *              the queue with priority f - old h(s)
 *   a move:    update(the agent's state), then the queue's best, up to N - 1 of them; then a step to the least c + h
 *
 * The agent's own update is a lookahead of depth 1 (lookahead.c), whose frontier is weighed again once the queue's turn is
 * over. Each update is one expansion, N is k, and a raised h is counted as learned.
 * N is at most 64 times the number of states: where no way leads to the goal, updates only end when every h is beyond what
 * a way can cost.
 * Under DEADLINE the queue has its turn after the move, until the time is over (agent_centred.c). Under R, N is R's
 * share r. The agent does not wait for the queue: it ends where the purse cannot pay for one more update and the move;
 * the agent's own update and the move may take several ticks. Offering a state costs a step; offers that
 * would leave nothing for the move are dropped, as are those that a full queue has no place for.
 * A state with a move to itself is not offered by its own update, nor does that move count in f: no way to the goal stays
 * where it is, and h would creep up by the cost of that move alone. A cell believed blocked by now that is still in the
 * queue is taken from it, which is paid, and keeps its h. An f beyond what any way can cost is not learned (lookahead.c).
 * The goal is never offered: its h stays 0. h never overestimates and stays consistent: an update of a consistent h is one
 * step of value iteration.
 */
#include "search/internal.h"

#include <stdlib.h>
#include <string.h>

struct offer {
    tp_cost priority;
    tp_state state;
};

/* The states whose update may matter, the best last. */
struct tp_priorities {
    uint32_t count;
    struct offer offers[TP_PRIORITIES_MAX];
};

static void drop(struct tp_priorities *queue, uint32_t i)
{
    memmove(&queue->offers[i], &queue->offers[i + 1], (--queue->count - i) * sizeof queue->offers[0]);
}

static bool goes_before(const struct offer *a, const struct offer *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->state < b->state;
}

/* Offers a state; in the queue already, it keeps its larger priority. Cost: O(the queue). */
static void enter(struct tp_priorities *queue, struct offer offer)
{
    uint32_t i = 0;
    while (i < queue->count && queue->offers[i].state != offer.state)
        i++;
    if (i < queue->count) {
        if (queue->offers[i].priority >= offer.priority)
            return;
        drop(queue, i);
    }
    if (queue->count == TP_PRIORITIES_MAX) {
        if (!goes_before(&offer, &queue->offers[0]))
            return;
        drop(queue, 0);
    }
    for (i = queue->count; i > 0 && goes_before(&queue->offers[i - 1], &offer); i--)
        queue->offers[i] = queue->offers[i - 1];
    queue->offers[i] = offer;
    queue->count++;
}

bool tp__prioritized_open(struct tp_mind *session)
{
    session->priorities = calloc(1, sizeof *session->priorities);
    return session->priorities != NULL;
}

void tp__prioritized_forget(struct tp_mind *session)
{
    if (session->priorities)
        session->priorities->count = 0;
}

void tp__prioritized_close(struct tp_mind *session)
{
    free(session->priorities);
    session->priorities = NULL;
}

/* Steps that the move after the updates will ask for. */
static uint64_t reserve(const struct tp_mind *session)
{
    return (uint64_t)session->search.open.count + 1;
}

struct offering {
    struct tp_tick *tick;
    tp_cost priority;
    tp_state raised;
};

static bool offer_one(void *context, tp_state from, uint8_t move, tp_cost cost)
{
    (void)move;
    (void)cost;
    struct offering *offering = context;
    struct tp_mind *session = offering->tick->session;
    if (offering->tick->steps_left <= reserve(session) || !tp__tick_step(offering->tick))
        return false;
    if (from != session->search.goal && from != offering->raised)
        enter(session->priorities, (struct offer){offering->priority, from});
    return true;
}

/* The second half of update(s). False when the tick can't pay for it, and nothing is done. */
static bool raise(struct tp_tick *tick, tp_state state, tp_cost f)
{
    const struct tp_search *search = &tick->session->search;
    tp_cost before = tp_search_h_now(search, state);
    if (!tp__lookahead_raise(tick, state, f))
        return false;
    struct offering offering = {tick, tp_search_h_now(search, state) - before, state};
    if (offering.priority)
        search->domain->predecessors(search, state, offer_one, &offering);
    return true;
}

static tp_cost least_through(const struct tp_search *search, tp_state state)
{
    struct tp_successor out[TP_MOVES_MAX];
    uint32_t count = search->domain->successors(search, state, out);
    tp_cost least = TP_COST_INFINITE;
    if (tp__believed_blocked(search, state))
        return least;
    for (uint32_t i = 0; i < count; i++) {
        tp_cost f = out[i].cost + tp_search_h_now(search, out[i].state);
        if (out[i].state != state) /* no way to the goal stays where it is */
            least = f < least ? f : least;
    }
    return least;
}

static uint64_t states_of(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    return search->domain->listed ? search->domain->states(session->map)
                                  : (uint64_t)search->width * search->height;
}

/* Updates the queue's states, the best first. */
static void sweep(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_priorities *queue = session->priorities;
    const struct tp_budget *budget = tick->budget;
    if (budget->kind == TP_BUDGET_DEADLINE && tick->reply->status == TP_STATUS_SEARCHING)
        return; /* nothing would be left for the move */
    uint64_t most = tp__lookahead_max(budget),
             enough = 64 * states_of(session);
    most = most < enough ? most : enough;
    uint64_t update = budget->kind == TP_BUDGET_R ? 2ull * budget->c : 0;
    while (queue->count && session->looked_ahead < most) {
        if (tick->steps_left < update + reserve(session) || !tp__tick_expand(tick))
            return;
        session->looked_ahead++;
        tp_state state = queue->offers[queue->count - 1].state;
        struct offer best = queue->offers[--queue->count];
        if (!raise(tick, state, least_through(&session->search, state))) {
            enter(queue, best); /* the time is over */
            return;
        }
    }
}

bool tp__prioritized_learn(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_lookahead *lookahead = &session->lookahead;
    if (!tp__lookahead_weigh(tick))
        return false;
    if (lookahead->swept)
        return true;
    if (!raise(tick, lookahead->root, lookahead->best.f))
        return false;
    sweep(tick);
    lookahead->swept = true;
    tp__lookahead_weigh_anew(session);
    return tp__lookahead_weigh(tick);
}
