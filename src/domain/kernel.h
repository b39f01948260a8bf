/* The loop of every kernel (2014, Algorithm 1; 2016, Algorithm 4: Bounded-Best-First-Search()), as inline functions that a
 * space completes with two of its own: the priority of a state, and the expansion of the best one.
 *
 *   line 11   tp__kernel_run's exits: an empty list, the goal best (line 23's goalFound), k expansions; a deadline,
 *             the want of memory, and a purse that updates of h have emptied (node/nodes.h) are more
 *   line 12   tp__kernel_find_best
 *   13 to 19  the space's `expand`: the state leaves the list as its successors enter it, the best of them last
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

/* A successor on its way into the list. */
struct tp_next {
    uint64_t rank; /* its f; in the bucket list, its bucket */
    uint64_t g;
    struct tp_node_tile *tile;
    tp_state state;
};

/* The best successor so far of the state being expanded, which is entered last, if at all: see tp__kernel_expand_end. */
struct tp_held {
    struct tp_next best;
    bool is;
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
                                 struct tp_held *held, unsigned how);

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
        s->end_f = s->g_factor * best->entry.g + s->h_factor * tp_search_h_now(s, best->entry.state);
    }
    s->found = !reopens || tp_bucket_all_later(&s->bucket, best->bucket);
    return s->found;
}

TP_ALWAYS_INLINE bool tp__kernel_reserve(struct tp_search *s, uint32_t moves_max, unsigned how)
{
    return how & TP_HOW_BUCKETED ? tp_bucket_reserve(&s->bucket, moves_max) : tp_open_reserve(&s->open, moves_max);
}

/* Has the processor fetch the node of the state that comes up after so many others, unless others are met first: a session that is ticked
 * among many finds little of its memory in the caches. After the first expansions of a run it does, and looking ahead is not worth its price. */
enum { TP_FETCH_AHEAD = 1, TP_FETCH_EXPANSIONS = 64 };

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

/* A goal was met, and the state that was taken can't lead to one more cheaply: it goes behind all that might, without being expanded, as if its
 * entry were renewed. Whether it did; the run is over where that can't be paid, or had. */
TP_ALWAYS_INLINE bool tp__kernel_sets_behind(struct tp_search *s, struct tp_run *run, struct tp_goal goal, const struct tp_best *best,
                                             tp_kernel_priority priority, unsigned how)
{
    if (!(how & TP_HOW_BUCKETED) || !s->reopens || __builtin_expect(s->end_g == UINT64_MAX, 1) ||
        priority(s, goal, best->x, best->y, best->entry.g, how) < s->end_f)
        return false;
    if (run->rekeyed >= run->rekeyed_max || !tp_bucket_prepare(&s->bucket, s->end_bucket + 1)) {
        run->expansions_max = run->expansions;
        return false;
    }
    return tp__kernel_pay_rekey(s, run, tp__how_learns(s, how)) &&
           tp_bucket_push(&s->bucket, s->end_bucket + 1, best->entry.g, best->entry.state, tp__how_wide(how));
}

/* The loop, until the run ends. False where it ends with the best state taken from the bucket list. */
TP_ALWAYS_INLINE bool tp__kernel_loop(struct tp_search *s, struct tp_run *run, uint32_t moves_max, struct tp_best *best,
                                      tp_kernel_priority priority, tp_kernel_expand expand, unsigned how)
{
    const struct tp_goal goal = {s->goal, tp_state_x(s, s->goal), tp_state_y(s, s->goal)};
    bool learns = (how & TP_HOW_H) != TP_HOW_PLAIN; /* or may */
    struct tp_held held = {.is = false};
    for (;;) {
        if (how & TP_HOW_BUCKETED && held.is) {
            best->bucket = held.best.rank;
            best->entry.g = held.best.g;
            best->entry.state = held.best.state;
            best->tile = held.best.tile;
            best->tile_x = best->x = tp_state_x(s, best->entry.state);
            best->tile_y = best->y = tp_state_y(s, best->entry.state);
            best->slot = tp_tile_slot(best->x, best->y);
            held.is = false;
        } else {
            if (!tp__kernel_find_best(s, run, goal, best, priority, how)) {
                s->found = how & TP_HOW_BUCKETED && s->end_g != UINT64_MAX;
                s->exhausted = !s->found;
                return true;
            }
            if (how & TP_HOW_BUCKETED)
                tp_bucket_pop(&s->bucket, tp__how_wide(how));
        }
        if (tp__kernel_ends(s, best, how))
            return false;
        if (tp__kernel_sets_behind(s, run, goal, best, priority, how))
            continue;
        if (run->expansions >= run->expansions_max || run->rekeyed >= run->rekeyed_max)
            return false;
        if (run->expired && run->expansions % TP_DEADLINE_STRIDE == 0 && run->expired(run->context))
            return false;
        if (!tp__kernel_reserve(s, moves_max, how)) {
            run->capped = true;
            return false;
        }
        if (learns && !tp_nodes_can_pay(&s->nodes))
            return false;
        if (how & TP_HOW_BUCKETED && run->expansions < TP_FETCH_EXPANSIONS)
            tp__kernel_fetch_ahead(s, how);
        if (!expand(s, run, goal, best, &held, how)) {
            run->capped = !(learns && tp_nodes_unpaid(&s->nodes));
            return false;
        }
        if (learns)
            tp_nodes_pay(&s->nodes);
        uint64_t mixed = (best->entry.state * 0x9e3779b97f4a7c15u + best->entry.g) * 0xbf58476d1ce4e5b9u;
        s->hash += mixed ^ mixed >> 29;
        run->expansions++;
    }
}

TP_ALWAYS_INLINE void tp__kernel_run(struct tp_search *s, struct tp_run *run, uint32_t moves_max,
                                     tp_kernel_priority priority, tp_kernel_expand expand, unsigned how)
{
    struct tp_best best = {.tile_x = UINT32_MAX, .tile_y = UINT32_MAX};
    if (!tp__kernel_loop(s, run, moves_max, &best, priority, expand, how) && how & TP_HOW_BUCKETED)
        tp_bucket_push(&s->bucket, best.bucket, best.entry.g, best.entry.state, tp__how_wide(how)); /* its page is still there, and a chunk was kept for it */
}

/* ---- An expansion's dealings with the list ----
 *
 * The best successor is kept aside (held) until all others are entered. Into the exact list it goes by taking the place of the expanded
 * state's entry, so that it seldom sinks far. From the bucket list the expanded state was taken already; the successor is
 * not entered at all where it would come out next, but expanded at once. Neither changes the order of states. */

/* The best state is to be expanded. */
TP_ALWAYS_INLINE void tp__kernel_expand_begin(struct tp_search *s, unsigned how)
{
    if (!(how & TP_HOW_BUCKETED)) /* its entry has its place still, and none may take it */
        tp_open_hold(&s->open, tp__how_wide(how));
}

/* Swaps them, or not, without a branch: which of two successors is better is anyone's guess. */
TP_ALWAYS_INLINE void tp__kernel_swap_if(bool is_wanted, struct tp_next *a, struct tp_next *b)
{
    uint64_t mask = 0 - (uint64_t)is_wanted;
    uint64_t rank = (a->rank ^ b->rank) & mask, g = (a->g ^ b->g) & mask;
    uintptr_t tile = ((uintptr_t)a->tile ^ (uintptr_t)b->tile) & (uintptr_t)mask;
    uint32_t state = (a->state ^ b->state) & (uint32_t)mask;
    *a = (struct tp_next){a->rank ^ rank, a->g ^ g, (struct tp_node_tile *)((uintptr_t)a->tile ^ tile), a->state ^ state};
    *b = (struct tp_next){b->rank ^ rank, b->g ^ g, (struct tp_node_tile *)((uintptr_t)b->tile ^ tile), b->state ^ state};
}

/* Enters a state; false without memory. */
TP_ALWAYS_INLINE bool tp__kernel_push(struct tp_search *s, const struct tp_next *next, unsigned how)
{
    if (how & TP_HOW_BUCKETED)
        return tp_bucket_push(&s->bucket, next->rank, next->g, next->state, tp__how_wide(how));
    tp_open_push(&s->open, (struct tp_open_entry){next->rank, next->g, next->state}, tp__how_wide(how));
    return true;
}

/* A successor with this f is entered, or held. False without memory: nothing is done. */
TP_ALWAYS_INLINE bool tp__kernel_enter(struct tp_search *s, uint64_t f, uint64_t g, struct tp_node_tile *tile, tp_state state,
                                       struct tp_held *held, unsigned how)
{
    bool bucketed = how & TP_HOW_BUCKETED;
    struct tp_next next = {bucketed ? tp_bucket_number(&s->bucket, f) : f, g, tile, state};
    if (bucketed && __builtin_expect(!tp_bucket_prepare(&s->bucket, next.rank), 0))
        return false;
    if (held->is) {
        if (bucketed) {
            tp__kernel_swap_if(next.rank <= held->best.rank, &next, &held->best);
        } else if (tp_open_before(next.rank, next.g, next.state, held->best.rank, held->best.g, held->best.state)) {
            struct tp_next better = next;
            next = held->best;
            held->best = better;
        }
        tp__kernel_push(s, &next, how); /* there is a page for either */
        return true;
    }
    held->best = next;
    held->is = true;
    return true;
}

/* All successors are entered but the one held. */
TP_ALWAYS_INLINE void tp__kernel_expand_end(struct tp_search *s, struct tp_held *held, unsigned how)
{
    if (how & TP_HOW_BUCKETED) {
        if (!held->is || tp_bucket_is_next(&s->bucket, held->best.rank))
            return;
        tp__kernel_push(s, &held->best, how);
    } else if (held->is) {
        tp_open_replace(&s->open, (struct tp_open_entry){held->best.rank, held->best.g, held->best.state}, tp__how_wide(how));
    } else {
        tp_open_pop(&s->open, tp__how_wide(how));
    }
    held->is = false;
}

/* A state gets a parent, the meta of it saying what it was: what it is then, besides. One that may be a parent itself tells that its way changed. */
TP_ALWAYS_INLINE uint8_t tp__kernel_moves(struct tp_search *s, uint8_t meta, uint64_t g, unsigned how)
{
    if (!(how & TP_HOW_BUCKETED) || __builtin_expect(!(meta & (TP_NODE_CLOSED | TP_NODE_AGAIN)), 1))
        return 0;
    s->moved_g = g < s->moved_g ? g : s->moved_g;
    return TP_NODE_AGAIN;
}

/* Not all of them could be: the state is open again, and so are those that were. */
TP_ALWAYS_INLINE void tp__kernel_expand_undo(struct tp_search *s, const struct tp_best *best, struct tp_held *held, unsigned how)
{
    best->tile->meta[best->slot] &= (uint8_t)~TP_NODE_CLOSED;
    s->undone = true;
    if (!(how & TP_HOW_BUCKETED)) /* of the bucket list the run's end does that */
        tp_open_replace(&s->open, best->entry, tp__how_wide(how));
    if (held->is)
        tp__kernel_push(s, &held->best, how);
    held->is = false;
}

#endif
