/* What the ground of one node weighs, cell by cell: how far each of its cells is from the goal where terrain has weights.
 *
 * What it is: the cheapest ways inside a node of the block graph (8x8 cells) to its neighbours on the way to the goal. A neighbour is entered
 * by any cell beside the node, from which the rest is straight to where the way enters it, over its mean ground. Weights are those that the
 * agent believes now, whatever version the node is of: it is guidance. In points (guide/field.h).
 * What it refuses: nothing. Who calls it: guide.c, once for each node whose h it looks up anew.
 */
#ifndef TP_SEARCH_GROUND_H
#define TP_SEARCH_GROUND_H

#include "guide/field.h"
#include "node/belief.h"

struct tp_ground {
    const struct tp_belief *belief;
    enum tp_field_metric metric;
    uint32_t x, y;                     /* the block's top left cell */
    uint32_t weight[TP_BLOCK_CELLS];   /* 0: not of the node, or closed since */
    uint32_t *left;                    /* points to the goal, TP_FIELD_UNSEEN: no way is known */
};

/* Begins with the cells of a node that has its top left cell at (x, y); `left` holds TP_BLOCK_CELLS of them. */
void tp__ground_begin(struct tp_ground *ground, const struct tp_belief *belief, enum tp_field_metric metric, uint32_t x, uint32_t y,
                      uint64_t cells, uint32_t *left);

/* A neighbour on the way, its block's top left cell at (x, y), which the way enters at `entry`, so many points from the goal. */
void tp__ground_enter(struct tp_ground *ground, const struct tp_blocks_node *neighbour, uint32_t x, uint32_t y, struct tp_blocks_place entry,
                      uint32_t left);

/* When all neighbours were entered: every cell's distance. Cost: O(cells), a few times over, ROUNDS_MAX at most. */
void tp__ground_settle(struct tp_ground *ground);

#endif
