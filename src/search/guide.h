/* What guides a session's search: an h that knows the map's walls from afar, by the block graph (map/blocks.h).
 *
 * What it is: a session's own dealings with shared goal fields and a scout of its own. Each tick it pays some units: first for the goal's field over areas
 * (64x64 cells, guide/field.h) until that reaches the agent, then for a scout (guide/scout.h) that finds a way over nodes (8x8 cells), led by the field.
 * h of a cell beside the way is the least, over the neighbours of its node that the way leads through, of the distance to where the way
 * enters the neighbour and what is left of it from there; in the goal's own node it is the space's h; away from the way it is the whole way's length; and it is never below
 * the space's h. Where terrain has weights, a cell's way through its node is the cheapest by what the cells weigh (ground.h), but no more than
 * GROUND_MILLI of the straight line over the node's mean: where dear and cheap cells lie mixed, longer ways round are cheaper than those inside. Such an h is not admissible: what it promises is guidance.
 * With the units of later ticks a scout without a field looks for a shorter way.
 * A way is of one version of the map, one set of goals and one start. When the map's blocks or the goal's node are others, or the agent has
 * left its way, another is paid for beside, and taken when it is found. Legality and completeness never depend on either.
 * An agent that does not know the map is led by what it takes it for (overlay.c).
 * What it refuses: nothing; without a block graph, a cache or memory a session goes by the space's h.
 * Who calls it: the session and the time-bounded engine.
 */
#ifndef TP_SEARCH_GUIDE_H
#define TP_SEARCH_GUIDE_H

#include "guide/scout.h"
#include "node/belief.h"
#include "search/search.h"

/* A way to the goal, while it is paid for and when it is found. */
struct tp_lead {
    const struct tp_blocks *blocks; /* referenced; NULL: none */
    bool own;                       /* no other session is led by them */
    bool goes_straight;             /* most ground is taken for free: a scout that goes by the straight line finds a way soonest */
    struct tp_field *areas;
    uint64_t paid;
    struct tp_field_view view;
    struct tp_scout *scout;  /* NULL: not begun, or there is no way */
    bool ready;              /* the way is found, or none will be */
    bool no_way;             /* the blocks know of none, or of none from the closed cell where the agent stands */
    bool betters;            /* a shorter way is looked for than the one taken, over the same blocks */
    uint64_t spent;          /* units, by one that betters */
    uint32_t from;           /* the agent's node when it was begun, */
    struct tp_blocks_place at; /* and its place */
    uint32_t goals[TP_GOALS_MAX], goal_count; /* nodes */
    struct tp_blocks_place goals_at[TP_GOALS_MAX];
};

/* What an agent that does not know the map takes it for. */
struct tp_overlay {
    const struct tp_blocks *told; /* referenced; NULL: it knows the map, or is not led */
    const struct tp_blocks *now;  /* with what it saw laid over; likewise */
    struct tp_belief_news news;   /* what is not laid over yet */
    uint64_t paid;                /* units, for that */
    struct tp_map_held held;      /* what the session's own block graphs hold, */
    uint64_t counted;             /* and how much of that is in the session's bytes */
};

/* What a node's h is made of, kept for the next cells of it. */
struct tp_guide_known {
    uint32_t node, count;
    struct {
        struct tp_blocks_place at;
        uint32_t left, weights;
    } next[8];
    uint32_t *ground; /* weighted maps: of each cell of the node, points to the goal by what its ground weighs (ground.h); else NULL */
};

struct tp_guide {
    struct tp_field_cache *cache; /* borrowed; NULL: no guide */
    enum tp_field_metric metric;
    struct tp_lead now;    /* what h is made of */
    struct tp_lead coming; /* what is to take its place */
    uint32_t looked;       /* the tick in which another way was last begun to be looked for */
    uint8_t patience;      /* how often that brought nothing, PATIENCE_MAX at most */
    bool broken;           /* a search was begun anew since the present way was taken */
    bool settled;          /* no shorter way is looked for any more than the one taken */
    bool other;            /* another way was taken since the search under way began: its open states stand in the former's order */
    uint32_t stalls;       /* searches given up for that on this trip */
    tp_cost stalled_at;      /* h where the agent stood then, the least on this trip */
    tp_cost least_h;          /* how near to the goal the search under way has got, */
    uint64_t closed_at_least; /* and when */
    uint64_t left_bar;     /* points left when a search was last begun anew for another way; UINT64_MAX: none was on this trip */
    uint32_t waited;       /* ticks that the agent waited for the present `coming` */
    bool touched;          /* something was seen where the way leads, or that may be a shorter one, since it was taken */
    struct {
        bool is;               /* the way taken was let go of, for the agent follows a whole path and nothing changes: it was one */
        bool was_led;          /* tp__guide_leads then, */
        uint64_t epoch, version; /* over blocks of that epoch and that changed_version; */
        uint64_t points;       /* so long from where the agent stood; TP_FIELD_UNSEEN: its length tells nothing */
        tp_cost left;          /* when so much of the path was left */
    } rest;
    struct tp_overlay overlay;
    struct tp_guide_known *known; /* KNOWN_NODES of them; a cache that any look-up may fill */
    uint32_t *ground;             /* theirs; NULL where the map is not weighted */
};

struct tp_budget;
struct tp_mind;
struct tp_tick;

/* False without memory. */
bool tp__guide_open(struct tp_mind *session);
void tp__guide_close(struct tp_mind *session);

/* The agent is on another trip: its goal is another, or it was put elsewhere. Cost: O(1). */
void tp__guide_trip(struct tp_mind *session);

/* Lets go of every version that the guide holds: what was paid for is lost. */
void tp__guide_let_go(struct tp_mind *session);

/* The agent saw that cells are not what it believed. Cost: O(log of the way's nodes) each. */
void tp__guide_see(struct tp_mind *session, const struct tp_belief_change *changes, uint32_t count);

/* A tick's units are paid. TP_GUIDE_ANEW: another way was taken, by which a new search is to begin; TP_GUIDE_WAIT: the agent has no way that
 * is any good, and is to wait for one. Cost: at most the session's guide_units, a node of the block graph each. */
enum tp_guide_outcome { TP_GUIDE_ON, TP_GUIDE_ANEW, TP_GUIDE_WAIT };
enum tp_guide_outcome tp__guide_run(struct tp_tick *tick);

/* Whether nothing is paid for, nor would be at the next tick, of an agent that follows a whole path on a map that stays, or is not looked at. Cost: O(log of the way's
 * nodes). */
bool tp__guide_is_idle(const struct tp_tick *tick);

/* Whether an agent that gets along by what it has is to look for another way, with so many units in this tick, `own` of its own: not too soon
 * after it last did (0: never), less often where that brought nothing, and not where units are scarce, that others need who have no way. Cost: O(1). */
bool tp__guide_is_time(uint64_t units, uint64_t own, uint32_t looked, uint64_t ticks, uint8_t patience);

/* Whether the session has a way or was told that there is none, or follows a whole path that it had when it did. Cost: O(1). */
bool tp__guide_leads(const struct tp_mind *session);

/* Lets go of the way taken, of which the path that is followed has no more need; another is paid for when the blocks change. Only where the guide is
 * idle. Cost: what freeing it costs. */
void tp__guide_rest(struct tp_mind *session);

/* h by the way taken, `plain` (the space's h to the goals) at least. Grids only. Cost: O(neighbours of a node). */
tp_cost tp__guide_h(const struct tp_search *search, tp_state state, tp_cost plain);

/* ---- overlay.c ---- */

/* False without memory. */
bool tp__overlay_open(struct tp_mind *session);
void tp__overlay_close(struct tp_mind *session);

/* The block graph that the session is led by, borrowed; NULL: none. */
const struct tp_blocks *tp__overlay_blocks(const struct tp_mind *session);

/* Whether something that the agent saw is not laid over yet. */
bool tp__overlay_is_behind(const struct tp_mind *session);

/* Lays over what the agent saw, as far as the units last, which it takes, and the budget's time; true when all is. What was paid for a
 * part is kept. Cost: a unit is worth a table's 64 tiles copied, or some nodes made. */
bool tp__overlay_catch_up(struct tp_mind *session, const struct tp_budget *budget, uint64_t *units);

/* Brings the session's count of its bytes up to date, after block graphs of its own were let go of. */
void tp__overlay_count(struct tp_mind *session);

#endif
