/* Scouts: a way over the block graph's nodes (8x8 cells) from where an agent stands to its goal.
 *
 * What it is: a best-first search from the agent's node towards the nearest goal node. Led by a field over areas (guide/field.h), h is the distance by way of
 * the next area: not admissible, but it knows the walls, and finds a way soon. Without a field h is the straight line, and A* finds the shortest. A closed node is not opened again. It is gone on with as far as somebody pays, a unit a node expanded, and
 * another a node of the way when that is traced, and one for every four when they are sorted to be found by. Found, it keeps the way alone: each of its nodes with its distance to the goal. Every step
 * of the way crosses by a legal move of that version, between cells that hang together: it can be walked.
 * A way is measured from place to place: it enters a node by a cell, the one that lies best between where it entered the node before and
 * the first goal, and what it costs is the straight line between the two cells, over the mean ground of both nodes.
 * A scout is one session's own: what it finds depends on its start, goals, version and the view it was given.
 * What it refuses: to go on without memory (the session then goes without).
 * Who calls it: search/guide.c. Not thread-safe. Memory comes from the cache of the thread's fields, under its cap: 8 bytes for each node of the
 * pages touched while it searches (256 nodes a page), while the way is sorted 32 a node of it, afterwards half a KiB and 12 a node of the way, in pages
 * of 2 KiB. A way of more than 2^31 points (weights near 65535 over 2,000 cells) is not found. It follows
 * what was searched, not the map.
 */
#ifndef TP_GUIDE_SCOUT_H
#define TP_GUIDE_SCOUT_H

#include "guide/field.h"

struct tp_scout;

/* Where a scout goes, and what leads it. */
struct tp_scout_order {
    const struct tp_blocks *blocks; /* borrowed until the way is found */
    enum tp_field_metric metric;
    uint32_t from;              /* node */
    struct tp_blocks_place at;  /* in it, the middle of a cell */
    const uint32_t *goals;      /* nodes, copied: 1..TP_GOALS_MAX, the nearest counts */
    const struct tp_blocks_place *goals_at; /* likewise, in them */
    uint32_t goal_count;
    const struct tp_field *areas; /* the field of the goals' areas over the same blocks, and what is seen of it; borrowed likewise. NULL: the */
    struct tp_field_view view;    /* straight line alone leads, and the way found is the shortest there is over nodes */
    uint32_t haste_milli; /* h counts for so much more than it is, in thousandths: a way is found sooner, and is longer */
    uint32_t below; /* only a way shorter than so many points is looked for; TP_FIELD_UNSEEN: any */
};

/* Begins. NULL without memory. Cost: O(goals). */
struct tp_scout *tp_scout_begin(struct tp_field_cache *cache, const struct tp_scout_order *order);
void tp_scout_end(struct tp_scout *scout); /* NULL is allowed */

/* Goes on; `units` is what it may spend, less what it spent. NO_WAY: no goal node can be reached from there, or none by a way so short. */
enum tp_scout_state { TP_SCOUT_SEARCHING, TP_SCOUT_FOUND, TP_SCOUT_NO_WAY, TP_SCOUT_NO_MEMORY };
enum tp_scout_state tp_scout_run(struct tp_scout *scout, uint64_t *units);

/* Once found: points to the goal along the way from where it enters a node; TP_FIELD_UNSEEN off the way. `entry`: where that is, as a bit
 * of the node's cells; NULL is allowed. Cost: O(log of its nodes). */
uint32_t tp_scout_at(const struct tp_scout *scout, uint32_t node, uint32_t *entry);

/* The middle of a cell of a node, by its bit. Cost: O(1). */
struct tp_blocks_place tp_scout_place(const struct tp_blocks *blocks, const struct tp_blocks_node *node, uint32_t bit);

/* Once found: points of the whole way. */
uint32_t tp_scout_length(const struct tp_scout *scout);

#endif
