/* The kernel of listed spaces: one expansion through the space's own successors, inlined where it is instantiated.
 *
 *     TP_LISTED_KERNEL(graph, TP_MOVES_MAX, graph_successors, graph_h)
 *
 * gives run_graph_plain and run_graph_learned for the space's table. g has 64 bits; each node keeps its parent's number and
 * the move that led from there (struct tp_node_links).
 */
#ifndef TP_DOMAIN_LISTED_H
#define TP_DOMAIN_LISTED_H

#include "domain/kernel.h"

typedef uint32_t (*tp_listed_successors)(const struct tp_search *s, tp_state state, struct tp_successor *out);
typedef tp_cost (*tp_listed_h)(const struct tp_search *s, tp_state from, tp_state to);

TP_ALWAYS_INLINE uint64_t tp__listed_priority(const struct tp_search *s, struct tp_goal goal, uint32_t x, uint32_t y,
                                              uint64_t g, tp_listed_h h_of, bool learns)
{
    uint64_t h = h_of(s, tp_state_at(s, x, y), goal.state);
    if (learns)
        h += tp_learned_at(s->learned, x, y);
    return s->g_factor * g + s->h_factor * h;
}

/* 2014, Algorithm 1, lines 13 to 19. False when a successor's tile could not be had: the state stays open and nothing is lost. */
TP_ALWAYS_INLINE bool tp__listed_expand(struct tp_search *s, struct tp_run *run, struct tp_goal goal,
                                        const struct tp_best *best, tp_listed_successors successors_of, tp_listed_h h_of,
                                        bool learns)
{
    struct tp_successor successors[TP_MOVES_MAX];
    tp_state from = best->entry.state;
    uint32_t count = successors_of(s, from, successors);
    if (__builtin_expect(s->space != NULL, 0) && s->space->full)
        return false; /* not all of them could be numbered */
    best->tile->meta[best->slot] |= TP_NODE_CLOSED;
    bool on_top = true;
    for (uint32_t i = 0; i < count; i++) {
        tp_state state = successors[i].state;
        uint32_t x = tp_state_x(s, state), y = tp_state_y(s, state), slot = tp_tile_slot(x, y);
        struct tp_node_tile *tile = tp_nodes_touch(&s->nodes, x, y);
        if (__builtin_expect(!tile, 0)) {
            best->tile->meta[best->slot] &= (uint8_t)~TP_NODE_CLOSED;
            if (!on_top)
                tp_open_push(&s->open, best->entry, true);
            return false;
        }
        uint64_t g = best->entry.g + successors[i].cost, old_g = tile->g.wide[slot];
        if (g >= old_g || tile->meta[slot] & TP_NODE_CLOSED || (s->first_parent && old_g != UINT64_MAX))
            continue;
        run->touched += old_g == UINT64_MAX;
        tile->g.wide[slot] = g;
        tile->meta[slot] = 0;
        struct tp_node_links *links = tp_node_links(tile);
        links->parent[slot] = from;
        links->move[slot] = successors[i].move;
        struct tp_open_entry entry = {tp__listed_priority(s, goal, x, y, g, h_of, learns), g, state};
        if (on_top)
            tp_open_replace(&s->open, entry, true);
        else
            tp_open_push(&s->open, entry, true);
        on_top = false;
        run->generated++;
    }
    if (on_top)
        tp_open_pop(&s->open, true);
    return true;
}

#define TP_LISTED_KERNEL(name, moves_max, successors, h)                                                             \
    static inline uint64_t name##_priority(const struct tp_search *s, struct tp_goal goal, uint32_t x,        \
                                           uint32_t y, uint64_t g, bool wide, bool learns)                    \
    {                                                                                                         \
        (void)wide;                                                                                           \
        return tp__listed_priority(s, goal, x, y, g, h, learns);                                              \
    }                                                                                                         \
    static inline bool name##_expand(struct tp_search *s, struct tp_run *run, struct tp_goal goal,            \
                                     const struct tp_best *best, bool wide, bool learns)                      \
    {                                                                                                         \
        (void)wide;                                                                                           \
        return tp__listed_expand(s, run, goal, best, successors, h, learns);                                  \
    }                                                                                                         \
    static void run_##name##_plain(struct tp_search *s, struct tp_run *run)                                   \
    {                                                                                                         \
        tp__kernel_run(s, run, moves_max, name##_priority, name##_expand, true, false);                    \
    }                                                                                                         \
    static void run_##name##_learned(struct tp_search *s, struct tp_run *run)                                 \
    {                                                                                                         \
        tp__kernel_run(s, run, moves_max, name##_priority, name##_expand, true, true);                     \
    }

/* h of searches with several goals or a radius, in the place of a space's own. */
static inline tp_cost tp__listed_h_choosing(const struct tp_search *s, tp_state from, tp_state to)
{
    (void)to;
    return tp__goals_h(s, from);
}

/* For spaces whose searches may have those: gives run_##name##_choosing. */
#define TP_LISTED_KERNEL_CHOOSING(name, moves_max, successors)                                                \
    static inline uint64_t name##_priority_choosing(const struct tp_search *s, struct tp_goal goal, uint32_t x, \
                                                    uint32_t y, uint64_t g, bool wide, bool learns)           \
    {                                                                                                         \
        (void)wide, (void)learns;                                                                             \
        return tp__listed_priority(s, goal, x, y, g, tp__listed_h_choosing, s->learned != NULL);              \
    }                                                                                                         \
    static inline bool name##_expand_choosing(struct tp_search *s, struct tp_run *run, struct tp_goal goal,   \
                                              const struct tp_best *best, bool wide, bool learns)             \
    {                                                                                                         \
        (void)wide, (void)learns;                                                                             \
        return tp__listed_expand(s, run, goal, best, successors, tp__listed_h_choosing, s->learned != NULL);  \
    }                                                                                                         \
    static void run_##name##_choosing(struct tp_search *s, struct tp_run *run)                                \
    {                                                                                                         \
        tp__kernel_run_to(s, run, moves_max, name##_priority_choosing, name##_expand_choosing, true, true, true); \
    }

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
