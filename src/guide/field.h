/* Goal fields: how far each part of the map is from a goal, over the block graph.
 *
 * What it is: a backward search (Dijkstra) from a goal's nodes over one level of one version of the block graph (guide/blocks.h), gone on with as
 * far as somebody paid. It settles nodes in a fixed order, and a node's *rank* is how many were settled before it. Sessions with the same
 * goal nodes, links, metric and version share one field: whoever pays first does the work, but a session sees only the nodes whose rank is
 * below what it has paid itself, so that sharing saves work and never changes what a session sees.
 *
 * A cache holds the fields of one thread under a cap on bytes: fields in use are referenced; those that are not are kept while there is
 * room, the longest unused given up first. What it refuses: a field beyond the cap, with all others in use (the session then
 * goes without).
 * Who calls it: the sessions of one thread, through search/guide.c. Not thread-safe. Takes no clock; allocates fields in steps of
 * pages as the search grows, from the pool handed in.
 */
#ifndef TP_GUIDE_FIELD_H
#define TP_GUIDE_FIELD_H

#include "base/limits.h"
#include "base/pool.h"
#include "guide/blocks.h"
#include "map/cost.h"

struct tp_field;
struct tp_field_cache;

/* The distance between places: what the moves of a neighbourhood make of it. */
enum tp_field_metric { TP_FIELD_MANHATTAN, TP_FIELD_OCTILE, TP_FIELD_EUCLID };

/* The distance between two places, over weight 1. Cost: O(1). */
tp_cost tp_field_distance(enum tp_field_metric metric, struct tp_blocks_place a, struct tp_blocks_place b);

/* An empty cache that takes at most `bytes_max` from the pool (borrowed, must outlive it). NULL without memory. */
struct tp_field_cache *tp_field_cache_open(struct tp_pool *pool, uint64_t bytes_max);

/* Frees it and its fields, none of which may be referenced. NULL is allowed. */
void tp_field_cache_close(struct tp_field_cache *cache);

struct tp_field_cache_stats {
    uint64_t bytes;             /* held now */
    uint64_t fields;            /* held now */
    uint64_t shared, made;      /* how often a field was found, and made */
    uint64_t refused, given_up; /* for want of memory; and dropped to make room */
    uint64_t settled;           /* nodes settled by all fields: the work done */
};
void tp_field_cache_stats(const struct tp_field_cache *cache, struct tp_field_cache_stats *stats);

/* The field of a goal over level 1 (nodes) or 2 (areas): found, or made, and referenced. `goals` are node (area) numbers in `blocks`, 1..TP_GOALS_MAX, none
 * of them TP_BLOCKS_NONE; order and repetition do not matter. It keeps a reference of its own to `blocks`. NULL at the cap. */
struct tp_field *tp_field_take(struct tp_field_cache *cache, const struct tp_blocks *blocks, unsigned level,
                               enum tp_field_metric metric, const uint32_t *goals, uint32_t count);
void tp_field_leave(struct tp_field *field); /* NULL is allowed */

/* Makes sure that nodes up to rank `paid` - 1 are settled. Returns how many are settled now that such a session may see: `paid`, or fewer where
 * the field is exhausted (every node that can reach the goal is settled) or no memory could be had. Cost: a unit a node settled. */
uint64_t tp_field_run(struct tp_field *field, uint64_t paid);

/* Whether every node that can reach the goal is settled. */
bool tp_field_exhausted(const struct tp_field *field);

/* Distance of a node to the nearest goal node, place to place, as far as a session that paid `paid` may see; TP_COST_INFINITE where it may
 * not. 0 at the goal's nodes. Cost: O(1). */
tp_cost tp_field_at(const struct tp_field *field, uint32_t node, uint64_t paid);

/* The distance of the node with rank min(paid, settled) - 1: nothing that is not seen is nearer. 0 when nothing is. Cost: O(1) amortised. */
tp_cost tp_field_reach(const struct tp_field *field, uint64_t paid);

const struct tp_blocks *tp_field_blocks(const struct tp_field *field); /* borrowed */

#endif
