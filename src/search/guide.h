/* What guides a session's search: an h that knows the map's walls from afar, by the block graph (map/blocks.h).
 *
 * What it is: a session's own dealings with shared goal fields and a scout of its own. Each tick it pays some units: first for the goal's field over areas
 * (64x64 cells, guide/field.h) until that reaches the agent, then for a scout (guide/scout.h) that finds a way over nodes (8x8 cells), led by the field.
 * h of a cell beside the way is the least, over the neighbours of its node that the way leads through, of the distance to where the way
 * enters the neighbour and what is left of it from there; in the goal's own node it is the space's h; away from the way it is the whole way's length; and it is never below
 * the space's h. Such an h is not admissible: what it promises is guidance.
 * With the units of later ticks a scout without a field looks for a shorter way.
 * A way is of one version of the map, one set of goals and one start. When the map's blocks or the goal's node are others, or the agent has
 * left its way, another is paid for beside, and taken when it is found. Legality and completeness never depend on either.
 * What it refuses: nothing; without a block graph, a cache or memory a session goes by the space's h.
 * Who calls it: the session and the time-bounded engine.
 */
#ifndef TP_SEARCH_GUIDE_H
#define TP_SEARCH_GUIDE_H

#include "guide/scout.h"
#include "search/search.h"

/* A way to the goal, while it is paid for and when it is found. */
struct tp_lead {
    const struct tp_blocks *blocks; /* referenced; NULL: none */
    struct tp_field *areas;
    uint64_t paid;
    struct tp_field_view view;
    struct tp_scout *scout;  /* NULL: not begun, or there is no way */
    bool ready;              /* the way is found, or none will be */
    bool betters;            /* a shorter way is looked for than the one taken, over the same blocks */
    uint64_t spent;          /* units, by one that betters */
    uint32_t from;           /* the agent's node when it was begun, */
    struct tp_blocks_place at; /* and its place */
    uint32_t goals[TP_GOALS_MAX], goal_count; /* nodes */
    struct tp_blocks_place goals_at[TP_GOALS_MAX];
};

/* What a node's h is made of, kept for the next cells of it. */
struct tp_guide_known {
    uint32_t node, count;
    struct {
        struct tp_blocks_place at;
        uint32_t left, weights;
    } next[8];
};

struct tp_guide {
    struct tp_field_cache *cache; /* borrowed; NULL: no guide */
    enum tp_field_metric metric;
    struct tp_lead now;    /* what h is made of */
    struct tp_lead coming; /* what is to take its place */
    bool broken;           /* a search was begun anew since `coming` was begun: the way is no good */
    bool settled;          /* no shorter way is looked for any more than the one taken */
    tp_cost least_h;          /* how near to the goal the search under way has got, */
    uint64_t closed_at_least; /* and when */
    uint64_t left_bar;     /* points left when a search was last begun anew for another way; UINT64_MAX: none was on this trip */
    uint32_t waited;       /* ticks that the agent waited for the present `coming` */
    struct tp_guide_known *known; /* KNOWN_NODES of them; a cache that any look-up may fill */
};

struct tp_session;
struct tp_tick;

/* False without memory. */
bool tp__guide_open(struct tp_session *session);
void tp__guide_close(struct tp_session *session);

/* The agent is on another trip: its goal is another, or it was put elsewhere. Cost: O(1). */
void tp__guide_trip(struct tp_session *session);

/* Lets go of every version that the guide holds: what was paid for is lost. */
void tp__guide_let_go(struct tp_session *session);

/* A tick's units are paid. TP_GUIDE_ANEW: another way was taken, by which a new search is to begin; TP_GUIDE_WAIT: the agent has no way that
 * is any good, and is to wait for one. Cost: at most the session's guide_units, a node of the block graph each. */
enum tp_guide_outcome { TP_GUIDE_ON, TP_GUIDE_ANEW, TP_GUIDE_WAIT };
enum tp_guide_outcome tp__guide_run(struct tp_tick *tick);

/* h by the way taken, `plain` (the space's h to the goals) at least. Grids only. Cost: O(neighbours of a node). */
tp_cost tp__guide_h(const struct tp_search *search, tp_state state, tp_cost plain);

#endif
