/* What a tick pays for what it does, and when it can pay no more: all that is bounded by its budget (budget.h) goes through here.
 *
 *                      K                      R                         DEADLINE
 *   an expansion       one of k               1                         asks the clock, every TP_DEADLINE_STRIDE
 *   an update of h     free                   1                         likewise
 *   a step             free                   1/c                       asks the clock, every TP_DEADLINE_STEPS
 *   a renewed entry    tp__beside_max a tick  1/c                       asks the clock, every TP_DEADLINE_STRIDE
 *   a look             watch.c, goals.c       a step                    watch.c, goals.c
 *
 * Under R all of it comes out of one purse of R c steps: tick->steps_left, or what an engine hands a run of its search as
 * expansions. Of the latter a run gives up one for each c entries of the open list that it renews after the goal moved
 * (domain/kernel.h), at most as many as half of N_T would pay. A budget's `expired` ends a tick early under K and R too.
 * Called by the engines and what they share. Nothing here fails but by paying no more.
 */
#include "search/internal.h"

static bool under_r(const struct tp_tick *tick)
{
    return tick->budget->kind == TP_BUDGET_R;
}

/* Whether the clock is asked now, `stride` of the same thing after it was last, and says that the time is over. */
static bool expired(const struct tp_tick *tick, uint64_t done, uint64_t stride)
{
    const struct tp_budget *budget = tick->budget;
    return budget->expired && done % stride == 0 && budget->expired(budget->context);
}

/* How many open entries a tick may renew after the goal moved: bounded like the work it stands beside, and under R at most half
 * of what tracing may spend, so that the agent is not starved of its path. */
static uint64_t rekeys_max(const struct tp_budget *budget)
{
    if (budget->kind == TP_BUDGET_DEADLINE)
        return UINT64_MAX;
    if (budget->kind == TP_BUDGET_K)
        return tp__beside_max(budget);
    uint64_t steps = tp__budget_share(budget).steps;
    return steps > 1 ? steps / 2 : 1;
}

void tp__pay_begin(struct tp_tick *tick)
{
    tick->steps_left = tp__purse_left(tick);
    tick->rekeys_left = rekeys_max(tick->budget);
    tick->rekeys_paid = under_r(tick) ? 0 : UINT64_MAX;
}

uint64_t tp__purse_left(const struct tp_tick *tick)
{
    const struct tp_budget *budget = tick->budget;
    const struct tp_tick_work *work = &tick->reply->work;
    if (!under_r(tick))
        return UINT64_MAX;
    uint64_t all = budget->expansions * budget->c,
             spent = (work->expansions + work->learned) * budget->c + work->traced;
    return spent < all ? all - spent : 0;
}

uint64_t tp__beside_max(const struct tp_budget *budget)
{
    enum { AN_EXPANSION = 8 };
    return AN_EXPANSION * (budget->kind == TP_BUDGET_K ? budget->expansions : TP_DEADLINE_STRIDE);
}

bool tp__tick_step(struct tp_tick *tick)
{
    struct tp_tick_work *work = &tick->reply->work;
    if (tick->steps_left == 0 || expired(tick, work->traced, TP_DEADLINE_STEPS))
        return false;
    tick->steps_left--;
    work->traced++;
    return true;
}

uint64_t tp__tick_steps_at_once(const struct tp_tick *tick, uint64_t max)
{
    uint64_t traced = tick->reply->work.traced, steps = tick->steps_left < max ? tick->steps_left : max;
    uint64_t unlooked = traced % TP_DEADLINE_STEPS ? TP_DEADLINE_STEPS - traced % TP_DEADLINE_STEPS : 0;
    return tick->budget->expired && unlooked < steps ? unlooked : steps;
}

void tp__tick_take_steps(struct tp_tick *tick, uint64_t steps)
{
    tick->steps_left -= steps;
    tick->reply->work.traced += steps;
}

bool tp__tick_update(struct tp_tick *tick)
{
    struct tp_tick_work *work = &tick->reply->work;
    uint64_t steps = under_r(tick) ? tick->budget->c : 0;
    if (tick->steps_left < steps || expired(tick, work->learned, TP_DEADLINE_STRIDE))
        return false;
    tick->steps_left -= steps;
    work->learned++;
    return true;
}

bool tp__tick_expand(struct tp_tick *tick)
{
    struct tp_tick_work *work = &tick->reply->work;
    const struct tp_budget *budget = tick->budget;
    uint64_t steps = under_r(tick) ? budget->c : 0;
    if (work->expansions >= budget->expansions_max || tick->steps_left < steps ||
        (budget->kind == TP_BUDGET_K && work->expansions >= budget->expansions) ||
        expired(tick, work->expansions, TP_DEADLINE_STRIDE))
        return false;
    tick->steps_left -= steps;
    work->expansions++;
    return true;
}

void tp__tick_expand_back(struct tp_tick *tick)
{
    tick->steps_left += under_r(tick) ? tick->budget->c : 0;
    tick->reply->work.expansions--;
}

bool tp__tick_rekey(struct tp_tick *tick)
{
    struct tp_tick_work *work = &tick->reply->work;
    uint64_t *left = under_r(tick) ? &tick->steps_left : &tick->rekeys_left;
    if (*left == 0 || expired(tick, work->rekeyed, TP_DEADLINE_STRIDE))
        return false;
    --*left;
    work->rekeyed++;
    work->traced++;
    return true;
}

/* Runs a search for at most `expansions`, or as many entries renewed as that pays for under R, within the tick's cap and deadline,
 * and books the work. *cost gets what it cost of R, in traceback steps. False when it wants for memory. */
static bool run_search(struct tp_tick *tick, struct tp_search *search, uint64_t expansions, uint64_t *cost)
{
    struct tp_tick_work *work = &tick->reply->work;
    const struct tp_budget *budget = tick->budget;
    uint64_t cap = budget->expansions_max > work->expansions ? budget->expansions_max - work->expansions : 0;
    *cost = 0;
    if (budget->expansions_max == 0)
        return true; /* a tick for a move alone does not even look at the open list */
    struct tp_run run = {
        .expansions_max = expansions < cap ? expansions : cap,
        .rekeyed_max = tick->rekeys_left,
        .rekeys_paid = tick->rekeys_paid,
        .rekeys_an_expansion = budget->c,
        .expired = budget->expired,
        .context = budget->context,
    };
    tp_search_run(search, &run);
    tick->rekeys_left -= run.rekeyed;
    tick->rekeys_paid = run.rekeys_paid;
    tick->given_up += run.given_up;
    work->expansions += run.expansions;
    work->generated += run.generated;
    work->rekeyed += run.rekeyed;
    work->traced += run.rekeyed;
    *cost = under_r(tick) ? run.expansions * budget->c + run.rekeyed : 0;
    return !run.capped;
}

uint64_t tp__tick_expansions_left(const struct tp_tick *tick)
{
    const struct tp_budget *budget = tick->budget;
    uint64_t made = tick->reply->work.expansions, left = UINT64_MAX;
    if (budget->kind != TP_BUDGET_DEADLINE)
        left = under_r(tick) ? tick->steps_left / budget->c : budget->expansions - made;
    uint64_t cap = budget->expansions_max > made ? budget->expansions_max - made : 0;
    return left < cap ? left : cap;
}

void tp__beside_init(struct tp_mind *session, struct tp_search *search)
{
    const struct tp_search *own = &session->search;
    tp_search_init(search, own->domain, &session->belief, NULL, session->params.heuristic, session->params.corners, 1, 1, false,
                   session->pool, UINT32_MAX, &session->bytes, own->nodes.tiles.bytes_max);
}

bool tp__beside_run(struct tp_tick *tick, struct tp_search *search, uint64_t most)
{
    uint64_t left = tp__tick_expansions_left(tick), cost;
    bool has_memory = run_search(tick, search, left < most ? left : most, &cost);
    tick->steps_left -= cost;
    return has_memory;
}

void tp__session_expand(struct tp_tick *tick, uint64_t expansions)
{
    uint64_t before = tick->reply->work.expansions, unused; /* the engine pays */
    tick->node_cap |= !run_search(tick, &tick->session->search, expansions, &unused);
    uint64_t made = tick->reply->work.expansions - before;
    if (tick->node_cap && tp__bound_yield(tick->session))
        tick->node_cap = !run_search(tick, &tick->session->search, expansions - made, &unused);
    tick->session->closed += tick->reply->work.expansions - before;
}
