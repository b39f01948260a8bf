/* The loop of every kernel (2014, Algorithm 1; 2016, Algorithm 4: Bounded-Best-First-Search()), as inline functions that a
 * space completes with two of its own: the priority of a state, and the expansion of the best one.
 *
 *   line 11   tp__kernel_run's exits: an empty list, the goal best (line 23's goalFound), k expansions; a deadline,
 *             the want of memory, and a purse that updates of h have emptied (node/nodes.h) are more
 *   line 12   tp__kernel_find_best
 *   13 to 19  the space's `expand`: the state leaves the list when its first successor takes its place
 *
 * The functions handed in are constants where a kernel is instantiated, so that each becomes one loop without a call.
 */
#ifndef TP_DOMAIN_KERNEL_H
#define TP_DOMAIN_KERNEL_H

#include "search/budget.h"
#include "search/search.h"

/* An open state with its place in the store. */
struct tp_best {
    struct tp_open_entry entry;
    struct tp_node_tile *tile;
    uint32_t x, y, slot;
};

/* The goal, taken apart once a run. */
struct tp_goal {
    tp_state state;
    uint32_t x, y;
};

typedef uint64_t (*tp_kernel_priority)(const struct tp_search *s, struct tp_goal goal, uint32_t x, uint32_t y, uint64_t g,
                                       bool wide, bool learns);
typedef bool (*tp_kernel_expand)(struct tp_search *s, struct tp_run *run, struct tp_goal goal, const struct tp_best *best,
                                 bool wide, bool learns);

/* Pays for an entry to be renewed. False, and the run is over, when it can't. */
static inline bool tp__kernel_pay_rekey(struct tp_search *s, struct tp_run *run, bool learns)
{
    bool paid = run->rekeys_paid > 0;
    bool pays = paid || (run->expansions < run->expansions_max && !(learns && !tp_nodes_can_pay(&s->nodes)));
    if (!pays || (run->expired && run->rekeyed % TP_DEADLINE_STRIDE == 0 && run->expired(run->context))) {
        run->expansions_max = run->expansions;
        return false;
    }
    if (!paid) {
        run->expansions_max--;
        run->given_up++;
        run->rekeys_paid = run->rekeys_an_expansion;
        if (learns)
            tp_nodes_pay(&s->nodes);
    }
    run->rekeys_paid--;
    run->rekeyed++;
    return true;
}

/* 2014, Algorithm 1, lines 12 and 22: brings the best open state to the top, dropping stale entries and renewing the f of entries made
 * for an earlier goal. False when the list is empty. */
TP_ALWAYS_INLINE bool tp__kernel_find_best(struct tp_search *s, struct tp_run *run, struct tp_goal goal,
                                           struct tp_best *best, tp_kernel_priority priority, bool wide, bool learns)
{
    struct tp_open *open = &s->open;
    while (open->count) {
        best->entry = tp_open_least(open, wide);
        best->x = tp_state_x(s, best->entry.state);
        best->y = tp_state_y(s, best->entry.state);
        best->slot = tp_tile_slot(best->x, best->y);
        best->tile = tp_nodes_find(&s->nodes, best->x, best->y);
        uint64_t g = wide ? best->tile->g.wide[best->slot] : best->tile->g.narrow[best->slot];
        if (g != best->entry.g || best->tile->meta[best->slot] & TP_NODE_CLOSED) {
            tp_open_pop(open, wide);
            continue;
        }
        if (__builtin_expect(s->rekey, 0) && run->rekeyed < run->rekeyed_max) {
            uint64_t f = priority(s, goal, best->x, best->y, g, wide, learns);
            if (f > best->entry.f && tp__kernel_pay_rekey(s, run, learns)) {
                best->entry.f = f;
                tp_open_replace(open, best->entry, wide);
                continue;
            }
        }
        return true;
    }
    return false;
}

/* `choosing` is a constant too: whether the search may have several goals, or a radius. */
TP_ALWAYS_INLINE void tp__kernel_run_to(struct tp_search *s, struct tp_run *run, uint32_t moves_max,
                                        tp_kernel_priority priority, tp_kernel_expand expand, bool wide, bool learns,
                                        bool choosing)
{
    struct tp_goal goal = {s->goal, tp_state_x(s, s->goal), tp_state_y(s, s->goal)};
    for (;;) {
        struct tp_best best;
        if (!tp__kernel_find_best(s, run, goal, &best, priority, wide, learns)) {
            s->exhausted = true;
            return;
        }
        if (choosing ? tp__goals_hold(s, best.entry.state) : best.entry.state == s->goal) {
            if (choosing)
                s->end = best.entry.state;
            s->found = true;
            return;
        }
        if (run->expansions >= run->expansions_max || run->rekeyed >= run->rekeyed_max)
            return;
        if (run->expired && run->expansions % TP_DEADLINE_STRIDE == 0 && run->expired(run->context))
            return;
        if (!tp_open_reserve(&s->open, moves_max)) {
            run->capped = true;
            return;
        }
        if (learns && !tp_nodes_can_pay(&s->nodes))
            return;
        if (!expand(s, run, goal, &best, wide, learns)) {
            run->capped = !(learns && tp_nodes_unpaid(&s->nodes));
            return;
        }
        if (learns)
            tp_nodes_pay(&s->nodes);
        uint64_t mixed = (best.entry.state * 0x9e3779b97f4a7c15u + best.entry.g) * 0xbf58476d1ce4e5b9u;
        s->hash += mixed ^ mixed >> 29;
        run->expansions++;
    }
}

TP_ALWAYS_INLINE void tp__kernel_run(struct tp_search *s, struct tp_run *run, uint32_t moves_max,
                                     tp_kernel_priority priority, tp_kernel_expand expand, bool wide, bool learns)
{
    tp__kernel_run_to(s, run, moves_max, priority, expand, wide, learns, false);
}

#endif
