/* A look into a session's search: which states it holds, which path is followed, why the last tick did not move the agent.
 *
 * What it is: reading alone. A session that was looked into goes on as one that was not: the same moves and the same work
 * (tests/contract/test_inspect.c). A look is cut into calls that each do no more than the caller allows, so that it can go on between
 * ticks; each call reads the search as it is then.
 * What it refuses: nothing; of what a session does not hold (one that rests, one that never searched) it says that there is none.
 * Who calls it: whoever may tick the session, between ticks.
 */
#ifndef TP_SEARCH_INSPECT_H
#define TP_SEARCH_INSPECT_H

#include "search/session.h"

/* What held the agent back in its last tick: name, number on the wire and in JSON, the words for both, what it means. A test compares them with
 * PROTOCOL.md. */
#define TP_HOLDS(X)                                                                                                     \
    X(TP_HOLD_NONE, 0, "NOT_HELD", "it moved, or was never ticked")                                                     \
    X(TP_HOLD_ARRIVED, 1, "AT_GOAL", "it has arrived")                                                                  \
    X(TP_HOLD_BUDGET, 2, "BUDGET_SPENT", "the tick's budget ended before a next step was known")                        \
    X(TP_HOLD_GUIDE, 3, "WAITS_FOR_GUIDE", "it waits for the way that is to lead its search")                           \
    X(TP_HOLD_TRACE, 4, "TRACES_PATH", "a path is known and is still being traced")                                     \
    X(TP_HOLD_LEARNING, 5, "LEARNS", "a learning step is under way")                                                    \
    X(TP_HOLD_PATH, 6, "WAITS_FOR_PATH", "no move leads back to its path: it waits for a whole one")                    \
    X(TP_HOLD_NEAREST, 7, "SEEKS_NEAREST", "no goal can be reached: the nearest state to one is being looked for")      \
    X(TP_HOLD_PAUSE, 8, "PAUSED", "it would step back, and waits instead")                                              \
    X(TP_HOLD_STEP, 9, "STEP_CLOSED", "its next step is not legal in this version")                                     \
    X(TP_HOLD_NODE_CAP, 10, "OUT_OF_MEMORY", "there is no memory for more of a search")                                 \
    X(TP_HOLD_DEAD_END, 11, "SHUT_IN", "no move leads out of where it stands")                                          \
    X(TP_HOLD_NO_WAY, 12, "NO_WAY", "it is proved that no way leads to the goal")                                       \
    /* never by itself: of sessions that share a total, by who shares it out */                                         \
    X(TP_HOLD_STARVED, 13, "STARVED", "the total that it shares was spent before its turn")

enum tp_hold {
#define X(name, number, words, means) name = number,
    TP_HOLDS(X)
#undef X
};

#define TP_INSPECT_NO_CELL UINT32_MAX

/* A session as a whole. Cells are nodes on a graph. */
struct tp_inspection {
    uint64_t epoch, version;        /* of the map, as it saw it last */
    uint32_t width, height;         /* of the map; of a graph its nodes and 1 */
    bool is_graph, is_vehicle;
    uint32_t cell;                  /* where it stands, and where it is to go: */
    uint32_t goals[TP_GOALS_MAX], goal_count;
    int8_t vx, vy;                  /* of a vehicle, else 0 */
    uint32_t root, best;            /* where the present search began, and its best open state (the goal's cell, once found); no cell: there is none */
    enum tp_status status;          /* of its last tick; 0: there was none */
    uint32_t flags;
    enum tp_hold hold;
    uint32_t step_cell;             /* TP_HOLD_STEP: where that step would have led, if that is known; else no cell */
    bool searches;                  /* a search is held; it is */
    bool found, exhausted, partial; /* at the goal, out of open states, on its way to the nearest state to a goal */
    bool is_backward;               /* D* Lite: it grows from the goal, and g is what is left to that */
    bool path_complete;             /* the path followed reaches the goal */
    bool is_packed;                 /* of that path only the steps are held, and of the search that found it nothing */
    bool rests;                     /* and nothing else but those */
    bool is_led, learns;            /* by a block graph; it raises h */
    uint64_t queued;                /* entries of the open list, those included that later ones replaced (not so of D* Lite) */
    struct tp_session_stats stats;  /* touched: states in the tree, open and closed */
};

/* Cost: O(1). */
void tp_session_inspect(const struct tp_session *session, struct tp_inspection *inspection);

/* What a cell of an inspection is. Of a vehicle's cell: of any of its states. */
enum tp_inspect_what {
    TP_INSPECT_OPEN = 1,
    TP_INSPECT_CLOSED = 2, /* expanded; of D* Lite, met and not queued */
    TP_INSPECT_RAISED = 4, /* its h was raised by learning */
};

struct tp_inspect_state {
    uint32_t cell;
    uint32_t what;  /* enum tp_inspect_what, never 0 */
    tp_cost g;      /* the least of the cell's states; TP_COST_INFINITE: it has none */
    tp_cost raised; /* by how much h was raised, the most of the cell's states; 0: it was not */
};

/* A rectangle being gone through; of a graph, with y 0 and height 1, a range of nodes. What lies outside the map is cut off. */
struct tp_inspect_scan {
    uint32_t x, y, width, height;
    uint64_t cursor;   /* where to go on, 0 at first; of the same rectangle alone */
    uint64_t looks;    /* that may still be taken: a state of a part that holds some, or a part (of 64 states) that holds none; taken from */
    bool done;         /* all of it was gone through */
};

/* Writes what the search holds of the rectangle, from the cursor on, at most `max` cells, into `states`; gives how many. It stops where `max` or
 * scan->looks end; fewer than `max`, and none, may come though the scan is not done. The order is fixed by the rectangle and the map's size.
 * Cost: O(looks taken). */
uint32_t tp_session_inspect_states(const struct tp_session *session, struct tp_inspect_scan *scan, struct tp_inspect_state *states, uint32_t max);

/* A path being traced that is not followed yet: up to `max` of its cells, from where the trace stands on to its end; gives how many, 0: none is.
 * The path followed is tp_session_path's. Cost: O(result). */
uint32_t tp_session_inspect_fresh(const struct tp_session *session, uint32_t *cells, uint32_t max);

#endif
