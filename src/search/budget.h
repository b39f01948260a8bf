/* What one tick may spend. Plain data, handed in with each tick.
 *
 * K: at most k expansions; tracing and learning are free and counted (the papers' budget).
 * R: a purse of R expansions; a learning update costs 1, a trace step, a copied path cell, a look at what changed, or an
 *    entry of the open list renewed after the goal moved 1/c; r is the share of R for expansions (2009, section 3.3:
 *    N_E = floor(R r), N_T = (R - N_E) c).
 * DEADLINE: time alone counts (the game time model, 2012), for expansions and for tracing: `expired` is asked every
 * TP_DEADLINE_STRIDE expansions and TP_DEADLINE_STEPS traceback steps.
 */
#ifndef TP_SEARCH_BUDGET_H
#define TP_SEARCH_BUDGET_H

#include "base/limits.h"

#include <stdbool.h>
#include <stdint.h>

enum tp_budget_kind { TP_BUDGET_K, TP_BUDGET_R, TP_BUDGET_DEADLINE };

enum {
    TP_DEADLINE_STRIDE = 16,  /* expansions between two looks at the clock */
    TP_DEADLINE_STEPS = 256,  /* traceback steps between two looks */
};

#define TP_BUDGET_UNLIMITED TP_BUDGET_MAX

struct tp_budget {
    enum tp_budget_kind kind;
    uint64_t expansions; /* K: k; R: R; 1..TP_BUDGET_MAX */
    uint32_t r_milli;    /* R: r in thousandths, 0..1000 */
    uint32_t c;          /* R: traceback steps that cost one expansion, 1..TP_C_MAX */
    bool (*expired)(void *context); /* whether the time is over; the caller owns the clock. DEADLINE needs it; with
                                       K and R it stops a tick early; NULL for none */
    void *context;
    uint64_t expansions_max; /* a cap on expansions on top of any kind (a shared total's remainder);
                                0 means nothing may be expanded this tick */
    bool moves_only;         /* with expansions_max 0: nothing is traced, smoothed or looked for either. The agent takes the next step of
                              * its path, or moves back towards it, where it can: the cheapest tick there is */
    bool is_shared;          /* such ticks may follow: the session makes ready for them */
    bool caps_guide;         /* guided rows: a cap on guide units, on top of the session's own (likewise), in: */
    uint64_t guide_max;
};

static inline struct tp_budget tp_budget_k(uint64_t k)
{
    return (struct tp_budget){.kind = TP_BUDGET_K, .expansions = k, .c = 10, .expansions_max = UINT64_MAX};
}

static inline struct tp_budget tp_budget_r(uint64_t R, uint32_t r_milli, uint32_t c)
{
    return (struct tp_budget){
        .kind = TP_BUDGET_R, .expansions = R, .r_milli = r_milli, .c = c, .expansions_max = UINT64_MAX};
}

#endif
