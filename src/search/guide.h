/* What guides a session's search: an h from goal fields over the block graph (guide/field.h), that knows the map's walls.
 *
 * What it is: a session's own dealings with shared fields. Each tick it pays some units, first for the field over areas (64x64 cells) until that
 * reaches the agent, then for the one over nodes (8x8) until that does. h of a cell is the least, over the neighbours of its node, of
 * the distance to the neighbour's place and the neighbour's distance in the field; in the goal's own node, and wherever no field is
 * seen, it is the space's h; and it is never below that. Such an h is not admissible: what it promises is guidance.
 * Fields are of one version of the map and one set of goals. After a change the session goes on with those it has, pays for newer
 * ones beside, and takes them once they reach the agent. Legality and completeness never depend on either.
 * What it refuses: nothing; without a block graph, a cache or memory a session goes by the space's h.
 * Who calls it: the session and the time-bounded engine.
 */
#ifndef TP_SEARCH_GUIDE_H
#define TP_SEARCH_GUIDE_H

#include "guide/field.h"
#include "search/search.h"

enum tp_guide_level { TP_GUIDE_AREAS, TP_GUIDE_NODES, TP_GUIDE_LEVELS };

/* The fields of one version and one set of goals. */
struct tp_guide_fields {
    const struct tp_blocks *blocks; /* referenced; NULL: none */
    struct tp_field *field[TP_GUIDE_LEVELS];
    uint64_t paid[TP_GUIDE_LEVELS];
    struct tp_field_view view[TP_GUIDE_LEVELS];
    bool reaches[TP_GUIDE_LEVELS]; /* the agent's node (area) is seen, or was */
    uint32_t goals[TP_GOALS_MAX], goal_count; /* their nodes */
};

struct tp_guide {
    struct tp_field_cache *cache; /* borrowed; NULL: no guide */
    enum tp_field_metric metric;
    struct tp_guide_fields now;    /* what h is made of */
    struct tp_guide_fields coming; /* of a newer version, or other goals, still paid for */
    bool broken;                   /* a search was begun anew since `coming` was begun */
    uint32_t waited;               /* ticks that the agent waited for its first field */
};

struct tp_session;
struct tp_tick;

void tp__guide_open(struct tp_session *session);
void tp__guide_close(struct tp_session *session);

/* Forgets all fields: the goal is quite another. Cost: O(1). */
void tp__guide_forget(struct tp_session *session);

/* A tick's units are paid. TP_GUIDE_ANEW: other fields were taken, by which a new search is to begin; TP_GUIDE_WAIT: the first field has not come
 * to the agent yet, which is to wait for it. Cost: at most the session's guide_units, each a node settled. */
enum tp_guide_outcome { TP_GUIDE_ON, TP_GUIDE_ANEW, TP_GUIDE_WAIT };
enum tp_guide_outcome tp__guide_run(struct tp_tick *tick);

/* h by the fields taken, `plain` (the space's h to the goals) at least. Grids only. Cost: O(neighbours of a node). */
tp_cost tp__guide_h(const struct tp_search *search, tp_state state, tp_cost plain);

#endif
