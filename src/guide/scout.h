/* Scouts: a way over the block graph's nodes (8x8 cells) from where an agent stands to its goal, led by a goal field over areas.
 *
 * What it is: a best-first search (A* with an h that is not admissible) from the agent's node towards the nearest goal node, h being the field's
 * (guide/field.h) distance by way of the next area; a closed node is not opened again. It is gone on with as far as somebody pays, a unit a node expanded, and
 * another a node of the way when that is traced. Found, it keeps the way alone: each of its nodes with its distance to the goal. Every step
 * of the way crosses by a legal move of that version, between cells that hang together: it can be walked.
 * A scout is one session's own: what it finds depends on its start, goals, version and the view it was given.
 * What it refuses: to go on without memory (the session then goes without).
 * Who calls it: search/guide.c. Not thread-safe. Memory comes from the cache of the thread's fields, under its cap: 4 bytes for each node of the
 * pages touched while it searches (512 nodes a page), 8 a node of the way afterwards.
 */
#ifndef TP_GUIDE_SCOUT_H
#define TP_GUIDE_SCOUT_H

#include "guide/field.h"

struct tp_scout;

/* Begins from a node (not TP_BLOCKS_NONE) to the nearest of goal nodes, 1..TP_GOALS_MAX. `areas` is a field of the same version and goals, `view` what
 * is seen of it; borrowed until the way is found. NULL without memory. Cost: O(nodes / 512). */
struct tp_scout *tp_scout_begin(struct tp_field_cache *cache, const struct tp_field *areas, struct tp_field_view view,
                                enum tp_field_metric metric, uint32_t from, const uint32_t *goals, uint32_t count);
void tp_scout_end(struct tp_scout *scout); /* NULL is allowed */

/* Goes on; `units` is what it may spend, less what it spent. NO_WAY: no goal node can be reached from there. */
enum tp_scout_state { TP_SCOUT_SEARCHING, TP_SCOUT_FOUND, TP_SCOUT_NO_WAY, TP_SCOUT_NO_MEMORY };
enum tp_scout_state tp_scout_run(struct tp_scout *scout, uint64_t *units);

/* Once found: points from a node of the way to the goal along it; TP_FIELD_UNSEEN off the way. Cost: O(log of its nodes). */
uint32_t tp_scout_at(const struct tp_scout *scout, uint32_t node);

/* Once found: points of the whole way, its first node's. */
uint32_t tp_scout_length(const struct tp_scout *scout);

#endif
