/* Goal fields: how far each area of the map (64x64 cells) is from a goal, over the block graph.
 *
 * What it is: a backward search (Dijkstra) from a goal's areas over one version of the block graph (map/blocks.h), gone on with as far as
 * somebody paid: a unit an area settled. Areas are settled by (distance, number). Sessions with the same goal areas, metric and blocks
 * share one field: whoever pays first does the work, but a session's *view* holds only as many areas as it has paid for itself (in steps
 * of TP_FIELD_STEP), so that sharing saves work and never changes what a session sees. Want of memory alone may: a view then ends early.
 * Distances are in *points*, sixteenths of a straight step over weight 1; what is farther than TP_FIELD_POINTS_MAX is never seen.
 *
 * A cache holds the fields of one thread under a cap on bytes: fields in use are referenced; those that are not are kept while there is
 * room, the longest unused given up first.
 * What it refuses: a field beyond the cap with all others in use (the session then goes without).
 * Who calls it: the sessions of one thread, through search/guide.c. Not thread-safe. Takes no clock. Memory comes from the pool handed in,
 * page by page as a field grows (guide/pages.h): nothing is allocated from the system but the cache itself.
 *
 * Memory: half a KiB, 4.3 bytes an area met, in pages of 2 KiB that hold 512 areas next to each other by number, and 8 an area of the frontier
 * while the search goes on. It follows what was settled, not the map: a map of 4096x4096 cells adds a page of pointers.
 */
#ifndef TP_GUIDE_FIELD_H
#define TP_GUIDE_FIELD_H

#include "base/limits.h"
#include "base/pool.h"
#include "map/blocks.h"

struct tp_field;
struct tp_field_cache;

#define TP_FIELD_POINTS_MAX (UINT32_MAX - 1)
#define TP_FIELD_UNSEEN UINT32_MAX
enum { TP_FIELD_STEP = 16 }; /* a view grows by so many areas at a time */

/* The distance between places: what the moves of a neighbourhood make of it over free ground. */
enum tp_field_metric { TP_FIELD_MANHATTAN, TP_FIELD_OCTILE, TP_FIELD_EUCLID };

/* The distance between two places over weight 1, in points, rounded down. Cost: O(1). */
uint32_t tp_field_distance(enum tp_field_metric metric, struct tp_blocks_place a, struct tp_blocks_place b);

/* The same over ground that weighs `weights` / 2 (the sum of both ends' weights), saturated. */
static inline uint32_t tp_field_weigh(uint32_t points, uint32_t weights)
{
    uint64_t weighed = (uint64_t)points * weights / 2;
    return weighed < TP_FIELD_POINTS_MAX ? (uint32_t)weighed : TP_FIELD_POINTS_MAX;
}

/* An empty cache that takes at most `bytes_max` from the pool (borrowed, must outlive it). NULL without memory. */
struct tp_field_cache *tp_field_cache_open(struct tp_pool *pool, uint64_t bytes_max);

/* Frees it and its fields, none of which may be referenced. NULL is allowed. */
void tp_field_cache_close(struct tp_field_cache *cache);

struct tp_field_cache_stats {
    uint64_t bytes;         /* pool bytes held now */
    uint64_t fields;        /* held now */
    uint64_t shared, made;  /* times that a field was found, and made */
    uint64_t refused;       /* times that a field, or a page of one, was refused for want of memory */
    uint64_t given_up;      /* fields dropped to make room */
    uint64_t settled;       /* areas settled by all fields: the work done */
};
void tp_field_cache_stats(const struct tp_field_cache *cache, struct tp_field_cache_stats *stats);

/* The field of a goal: found, or made, and referenced. `goals` are area numbers of `blocks`, 1..TP_GOALS_MAX; order and repetition do
 * not matter. It keeps a reference of its own to `blocks`. NULL without memory. Cost: O(goals). */
struct tp_field *tp_field_take(struct tp_field_cache *cache, const struct tp_blocks *blocks, enum tp_field_metric metric,
                               const uint32_t *goals, uint32_t count);
void tp_field_leave(struct tp_field *field); /* NULL is allowed */

/* The same of one that nobody will ask for again: it is kept no longer than others use it. Cost: O(1), but for its pages. */
void tp_field_leave_for_good(struct tp_field *field);

/* Says that no session will ask for a field of these blocks again: those that nobody uses are freed now, the others when they are left, so
 * that the blocks are not kept for nothing. Cost: O(fields). */
void tp_field_cache_retire(struct tp_field_cache *cache, const struct tp_blocks *blocks);

/* What a session sees of a field: all areas up to one, by (distance, number). */
struct tp_field_view {
    uint64_t last;  /* the distance and, below, the number of the last area seen */
    uint64_t areas; /* how many are seen */
    bool empty;     /* none is */
    bool whole;     /* every area from which the goal can be reached is seen */
};

/* The view of a session that paid `paid` units: settles what is not settled yet. Cost: a unit an area settled, at most `paid` less what
 * the session had paid before. */
struct tp_field_view tp_field_see(struct tp_field *field, uint64_t paid);

/* Points from an area's place to the nearest goal area's, 0 at those; TP_FIELD_UNSEEN where the view does not reach. Cost: O(1). */
uint32_t tp_field_at(const struct tp_field *field, uint32_t area, struct tp_field_view view);

/* Points from a place in an area, over ground of that weight, to the goal by way of the area's best neighbour; TP_FIELD_UNSEEN where the
 * view reaches none. Cost: O(neighbours), and tp_blocks_area_neighbours for an area not asked for lately. */
uint32_t tp_field_from(const struct tp_field *field, struct tp_field_view view, uint32_t area, uint32_t weight,
                       struct tp_blocks_place place);

/* The distance of the last area seen, 0 when none is: nothing unseen is nearer. */
static inline uint32_t tp_field_reach(struct tp_field_view view)
{
    return view.empty ? 0 : (uint32_t)(view.last >> 32);
}

const struct tp_blocks *tp_field_blocks(const struct tp_field *field); /* borrowed */

/* Whether an area is one of the goal's. Cost: O(goals). */
bool tp_field_is_goal(const struct tp_field *field, uint32_t area);

#endif
