/* The kernel of listed spaces: one expansion through the space's own successors, inlined where it is instantiated.
 *
 *     TP_LISTED_KERNEL(graph, TP_MOVES_MAX, graph_successors, graph_h)
 *
 * gives the kernels that TP_LISTED_RUNS(graph) enters into the space's table. g has 64 bits; each node keeps its parent's number and
 * the move that led from there (struct tp_node_links).
 */
#ifndef TP_DOMAIN_LISTED_H
#define TP_DOMAIN_LISTED_H

#include "domain/kernel.h"

typedef uint32_t (*tp_listed_successors)(const struct tp_search *s, tp_state state, struct tp_successor *out);
typedef tp_cost (*tp_listed_h)(const struct tp_search *s, tp_state from, tp_state to);

TP_ALWAYS_INLINE uint64_t tp__listed_priority(const struct tp_search *s, struct tp_goal goal, uint32_t x, uint32_t y,
                                              uint64_t g, tp_listed_h h_of, unsigned how)
{
    uint64_t h = h_of(s, tp_state_at(s, x, y), goal.state);
    if (tp__how_learns(s, how))
        h += tp_learned_at(s->learned, x, y);
    return s->g_factor * g + s->h_factor * h;
}

/* 2014, Algorithm 1, lines 13 to 19. False when a successor's tile could not be had: the state stays open and nothing is lost. */
TP_ALWAYS_INLINE bool tp__listed_expand(struct tp_search *s, struct tp_run *run, struct tp_goal goal,
                                        const struct tp_best *best, struct tp_held *held, tp_listed_successors successors_of,
                                        tp_listed_h h_of, unsigned how)
{
    struct tp_successor successors[TP_MOVES_MAX];
    tp_state from = best->entry.state;
    uint32_t count = successors_of(s, from, successors);
    if (__builtin_expect(s->space != NULL, 0) && s->space->full)
        return false; /* not all of them could be numbered */
    best->tile->meta[best->slot] |= TP_NODE_CLOSED;
    tp__kernel_expand_begin(s, how);
    for (uint32_t i = 0; i < count; i++) {
        tp_state state = successors[i].state;
        uint32_t x = tp_state_x(s, state), y = tp_state_y(s, state), slot = tp_tile_slot(x, y);
        struct tp_node_tile *tile = tp_nodes_touch(&s->nodes, x, y);
        if (__builtin_expect(!tile, 0)) {
            tp__kernel_expand_undo(s, best, held, how);
            return false;
        }
        uint64_t g = best->entry.g + successors[i].cost, old_g = tile->g.wide[slot];
        bool stays_closed = tile->meta[slot] & TP_NODE_CLOSED && !(how & TP_HOW_BUCKETED && s->reopens);
        if (g >= old_g || stays_closed || (s->first_parent && old_g != UINT64_MAX))
            continue;
        uint64_t f = tp__listed_priority(s, goal, x, y, g, h_of, how);
        if (__builtin_expect(!tp__kernel_enter(s, f, g, tile, state, held, how), 0)) {
            tp__kernel_expand_undo(s, best, held, how);
            return false;
        }
        run->touched += old_g == UINT64_MAX;
        tile->g.wide[slot] = g;
        tile->meta[slot] = tp__kernel_moves(s, tile->meta[slot], g, how);
        struct tp_node_links *links = tp_node_links(tile);
        links->parent[slot] = from;
        links->move[slot] = successors[i].move;
        run->generated++;
    }
    tp__kernel_expand_end(s, held, how);
    return true;
}

#define TP__LISTED_FUNCTIONS(name, successors, h)                                                             \
    static inline uint64_t name##_priority(const struct tp_search *s, struct tp_goal goal, uint32_t x,        \
                                           uint32_t y, uint64_t g, unsigned how)                              \
    {                                                                                                         \
        return tp__listed_priority(s, goal, x, y, g, h, how);                                                 \
    }                                                                                                         \
    static inline bool name##_expand(struct tp_search *s, struct tp_run *run, struct tp_goal goal,            \
                                     const struct tp_best *best, struct tp_held *held, unsigned how)          \
    {                                                                                                         \
        return tp__listed_expand(s, run, goal, best, held, successors, h, how);                               \
    }
#define TP__LISTED_RUN(name, suffix, moves_max, how)                                                          \
    static void run_##name##_##suffix(struct tp_search *s, struct tp_run *run)                                \
    {                                                                                                         \
        tp__kernel_run(s, run, moves_max, name##_priority, name##_expand, TP_HOW_WIDE | (how));               \
    }
#define TP_LISTED_KERNEL(name, moves_max, successors, h)                                                      \
    TP__LISTED_FUNCTIONS(name, successors, h)                                                                 \
    TP__LISTED_RUN(name, plain, moves_max, TP_HOW_PLAIN)                                                      \
    TP__LISTED_RUN(name, bucketed, moves_max, TP_HOW_PLAIN | TP_HOW_BUCKETED)                                 \
    TP__LISTED_RUN(name, learned, moves_max, TP_HOW_LEARNED)

/* Their places in a space's table. */
#define TP_LISTED_RUNS(name)                                                                                  \
    [TP_HOW_WIDE] = run_##name##_plain, [TP_HOW_WIDE | TP_HOW_BUCKETED] = run_##name##_bucketed,              \
    [TP_HOW_WIDE | TP_HOW_LEARNED] = run_##name##_learned

/* h of searches with several goals or a radius, in the place of a space's own. */
static inline tp_cost tp__listed_h_choosing(const struct tp_search *s, tp_state from, tp_state to)
{
    (void)to;
    return tp__goals_h(s, from);
}

/* For spaces whose searches may have those. */
#define TP_LISTED_KERNEL_CHOOSING(name, moves_max, successors)                                                \
    TP__LISTED_FUNCTIONS(name##_choosing, successors, tp__listed_h_choosing)                                  \
    TP__LISTED_RUN(name##_choosing, plain, moves_max, TP_HOW_CHOOSING)                                        \
    TP__LISTED_RUN(name##_choosing, bucketed, moves_max, TP_HOW_CHOOSING | TP_HOW_BUCKETED)

#define TP_LISTED_RUNS_CHOOSING(name)                                                                         \
    [TP_HOW_WIDE | TP_HOW_CHOOSING] = run_##name##_choosing_plain,                                            \
    [TP_HOW_WIDE | TP_HOW_CHOOSING | TP_HOW_BUCKETED] = run_##name##_choosing_bucketed

/* The cheapest of a state's moves that lead straight to another state: for a space's move_between. */
static inline uint8_t tp__listed_move_between(const struct tp_search *s, tp_listed_successors successors_of, tp_state from,
                                              tp_state to)
{
    struct tp_successor successors[TP_MOVES_MAX];
    uint32_t count = successors_of(s, from, successors);
    const struct tp_successor *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (successors[i].state == to && (!best || successors[i].cost < best->cost))
            best = &successors[i];
    return best ? best->move : TP_MOVE_NONE;
}

#endif
