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
    struct tp_open_entry entry; /* f: of the exact list */
    uint64_t bucket;            /* of the bucket list */
    struct tp_node_tile *tile;
    uint32_t x, y, slot;
    uint32_t tile_x, tile_y; /* a cell of the tile's */
};

/* The goal, taken apart once a run. */
struct tp_goal {
    tp_state state;
    uint32_t x, y;
};

/* `how` (TP_HOW_*) is a constant where these are inlined. */
typedef uint64_t (*tp_kernel_priority)(const struct tp_search *s, struct tp_goal goal, uint32_t x, uint32_t y, uint64_t g,
                                       unsigned how);
typedef bool (*tp_kernel_expand)(struct tp_search *s, struct tp_run *run, struct tp_goal goal, const struct tp_best *best,
                                 unsigned how);

TP_ALWAYS_INLINE bool tp__how_wide(unsigned how)
{
    return how & TP_HOW_WIDE;
}

/* Whether the h of a search may be learned: known, or to be asked of it. */
TP_ALWAYS_INLINE bool tp__how_learns(const struct tp_search *s, unsigned how)
{
    unsigned h = how & TP_HOW_H;
    return h == TP_HOW_LEARNED || (h != TP_HOW_PLAIN && s->learned);
}

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

/* The best entry of the list as it stands; false when there is none. */
TP_ALWAYS_INLINE bool tp__kernel_least(struct tp_search *s, struct tp_best *best, unsigned how)
{
    if (how & TP_HOW_BUCKETED) {
        if (!s->bucket.count)
            return false;
        best->bucket = tp_bucket_least(&s->bucket, &best->entry.g, &best->entry.state, tp__how_wide(how));
        return true;
    }
    if (!s->open.count)
        return false;
    best->entry = tp_open_least(&s->open, tp__how_wide(how));
    return true;
}

TP_ALWAYS_INLINE void tp__kernel_pop(struct tp_search *s, unsigned how)
{
    if (how & TP_HOW_BUCKETED)
        tp_bucket_pop(&s->bucket, tp__how_wide(how));
    else
        tp_open_pop(&s->open, tp__how_wide(how));
}

/* Gives the best entry, whose f rose, another place. False when there is no memory for it: it stays where it is. */
TP_ALWAYS_INLINE bool tp__kernel_renew(struct tp_search *s, const struct tp_best *best, uint64_t f, unsigned how)
{
    struct tp_open_entry entry = {f, best->entry.g, best->entry.state};
    if (how & TP_HOW_BUCKETED) {
        /* into a later bucket: the best stays the best of its own */
        if (!tp_bucket_reserve(&s->bucket, 1) ||
            !tp_bucket_push(&s->bucket, tp_bucket_number(&s->bucket, f), entry.g, entry.state, tp__how_wide(how)))
            return false;
        tp_bucket_pop(&s->bucket, tp__how_wide(how));
    } else {
        tp_open_replace(&s->open, entry, tp__how_wide(how));
    }
    return true;
}

/* 2014, Algorithm 1, lines 12 and 22: brings the best open state to the top, dropping stale entries and renewing the f of entries made
 * for an earlier goal. False when the list is empty. */
TP_ALWAYS_INLINE bool tp__kernel_find_best(struct tp_search *s, struct tp_run *run, struct tp_goal goal,
                                           struct tp_best *best, tp_kernel_priority priority, unsigned how)
{
    bool wide = tp__how_wide(how);
    while (tp__kernel_least(s, best, how)) {
        best->x = tp_state_x(s, best->entry.state);
        best->y = tp_state_y(s, best->entry.state);
        best->slot = tp_tile_slot(best->x, best->y);
        if (((best->x ^ best->tile_x) | (best->y ^ best->tile_y)) >= TP_TILE_SIDE) { /* often the tile of the last one serves */
            best->tile = tp_nodes_find(&s->nodes, best->x, best->y);
            best->tile_x = best->x;
            best->tile_y = best->y;
        }
        uint64_t g = wide ? best->tile->g.wide[best->slot] : best->tile->g.narrow[best->slot];
        if (g != best->entry.g || best->tile->meta[best->slot] & TP_NODE_CLOSED) {
            tp__kernel_pop(s, how);
            continue;
        }
        if (__builtin_expect(s->rekey, 0) && run->rekeyed < run->rekeyed_max) {
            uint64_t f = priority(s, goal, best->x, best->y, g, how);
            bool rose = how & TP_HOW_BUCKETED ? tp_bucket_number(&s->bucket, f) > best->bucket : f > best->entry.f;
            if (rose && tp__kernel_pay_rekey(s, run, tp__how_learns(s, how))) {
                if (tp__kernel_renew(s, best, f, how))
                    continue;
                run->capped = true;
            }
        }
        return true;
    }
    return false;
}

/* Whether the best open state ends the search: it is a goal, or nothing that is open can lead to a goal more cheaply than one that is closed. */
TP_ALWAYS_INLINE bool tp__kernel_ends(struct tp_search *s, const struct tp_best *best, unsigned how)
{
    bool choosing = (how & TP_HOW_H) == TP_HOW_CHOOSING, reopens = how & TP_HOW_BUCKETED && s->reopens;
    if (reopens && best->bucket > s->end_bucket) {
        s->found = true;
        return true;
    }
    if (choosing ? !tp__goals_met(s, best->entry.state) : best->entry.state != s->goal)
        return false;
    if (reopens && best->entry.g >= s->end_g)
        return false;
    if (choosing || reopens)
        s->end = best->entry.state;
    if (reopens) {
        s->end_bucket = best->bucket;
        s->end_g = best->entry.g;
    }
    s->found = !reopens;
    return s->found;
}

TP_ALWAYS_INLINE bool tp__kernel_reserve(struct tp_search *s, uint32_t moves_max, unsigned how)
{
    return how & TP_HOW_BUCKETED ? tp_bucket_reserve(&s->bucket, moves_max) : tp_open_reserve(&s->open, moves_max);
}

/* Has the processor fetch the node of the state that comes up after so many others, unless others are met first: a session that is ticked
 * among many finds little of its memory in the caches. After the first expansions of a run it does, and looking ahead is not worth its price. */
enum { TP_FETCH_AHEAD = 2, TP_FETCH_EXPANSIONS = 64 };

TP_ALWAYS_INLINE void tp__kernel_fetch_ahead(const struct tp_search *s, unsigned how)
{
    bool wide = tp__how_wide(how);
    tp_state state;
    if (!tp_bucket_peek(&s->bucket, TP_FETCH_AHEAD, &state, wide))
        return;
    uint32_t x = tp_state_x(s, state), y = tp_state_y(s, state);
    const struct tp_node_tile *tile = (const struct tp_node_tile *)tp_tiles_peek(&s->nodes.tiles, x, y);
    if (tile)
        tp_nodes_prefetch(tile, tp_tile_slot(x, y), wide);
}

TP_ALWAYS_INLINE void tp__kernel_run(struct tp_search *s, struct tp_run *run, uint32_t moves_max,
                                     tp_kernel_priority priority, tp_kernel_expand expand, unsigned how)
{
    struct tp_goal goal = {s->goal, tp_state_x(s, s->goal), tp_state_y(s, s->goal)};
    bool learns = (how & TP_HOW_H) != TP_HOW_PLAIN; /* or may */
    struct tp_best best = {.tile_x = UINT32_MAX, .tile_y = UINT32_MAX};
    for (;;) {
        if (!tp__kernel_find_best(s, run, goal, &best, priority, how)) {
            s->found = how & TP_HOW_BUCKETED && s->end_g != UINT64_MAX;
            s->exhausted = !s->found;
            return;
        }
        if (tp__kernel_ends(s, &best, how))
            return;
        if (run->expansions >= run->expansions_max || run->rekeyed >= run->rekeyed_max)
            return;
        if (run->expired && run->expansions % TP_DEADLINE_STRIDE == 0 && run->expired(run->context))
            return;
        if (!tp__kernel_reserve(s, moves_max, how)) {
            run->capped = true;
            return;
        }
        if (learns && !tp_nodes_can_pay(&s->nodes))
            return;
        if (how & TP_HOW_BUCKETED && run->expansions < TP_FETCH_EXPANSIONS)
            tp__kernel_fetch_ahead(s, how);
        if (!expand(s, run, goal, &best, how)) {
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

/* ---- An expansion's dealings with the list ----
 *
 * The exact list's best entry gives its place to the first successor; the bucket list's leaves first. */

/* The best state is taken from the list to be expanded. */
TP_ALWAYS_INLINE void tp__kernel_expand_begin(struct tp_search *s, unsigned how)
{
    if (how & TP_HOW_BUCKETED)
        tp_bucket_pop(&s->bucket, tp__how_wide(how));
}

/* A successor is entered; *on_top: the expanded state's entry has its place still. False without memory: nothing is done. */
TP_ALWAYS_INLINE bool tp__kernel_enter(struct tp_search *s, struct tp_open_entry entry, bool *on_top, unsigned how)
{
    bool wide = tp__how_wide(how);
    if (how & TP_HOW_BUCKETED)
        return tp_bucket_push(&s->bucket, tp_bucket_number(&s->bucket, entry.f), entry.g, entry.state, wide);
    if (*on_top)
        tp_open_replace(&s->open, entry, wide);
    else
        tp_open_push(&s->open, entry, wide);
    *on_top = false;
    return true;
}

/* All successors are entered. */
TP_ALWAYS_INLINE void tp__kernel_expand_end(struct tp_search *s, bool on_top, unsigned how)
{
    if (!(how & TP_HOW_BUCKETED) && on_top)
        tp_open_pop(&s->open, tp__how_wide(how));
}

/* Not all of them could be: the state is open again. */
TP_ALWAYS_INLINE void tp__kernel_expand_undo(struct tp_search *s, const struct tp_best *best, bool on_top, unsigned how)
{
    best->tile->meta[best->slot] &= (uint8_t)~TP_NODE_CLOSED;
    if (how & TP_HOW_BUCKETED) /* its page is still there, and a chunk was kept for it */
        tp_bucket_push(&s->bucket, best->bucket, best->entry.g, best->entry.state, tp__how_wide(how));
    else if (!on_top)
        tp_open_push(&s->open, best->entry, tp__how_wide(how));
}

#endif
