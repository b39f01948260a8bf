/* An independent, slow, plain implementation of the rows that discover, learn or restart, for tests to compare
 * the library with.
 *
 * What it is: one agent in a state space of n numbered states, ticked. Its arrays have a slot for every state and
 * are scanned from end to end; it shares no code with src/, and knows of the space only what three functions say:
 * grids with 4, 8 and 16 neighbours and directed graphs look alike to it. Costs may change between ticks: the
 * caller changes what `successors` says and calls ref_agent_see.
 * What it refuses: budgets other than k expansions a tick, a goal that moves, an agent that is carried elsewhere.
 * Who calls it: tests, from any thread.
 *
 * Order, where the papers leave it open: f, then the larger g, then the lower state.
 */
#ifndef TESTS_LIB_REFERENCE_LEARNING_H
#define TESTS_LIB_REFERENCE_LEARNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REF_ARCS_MAX = 256 }; /* out of one state, and into one */

struct ref_arc {
    uint32_t state; /* the other end */
    uint64_t cost;
};

struct ref_space {
    uint32_t n; /* states 0 .. n - 1 */
    void *context;
    /* The arcs out of a state, and into it, as the agent believes now, one a state; room for REF_ARCS_MAX. Gives their number. */
    uint32_t (*successors)(void *context, uint32_t state, struct ref_arc *out);
    /* The same, but parallel arcs one by one, in the order they were given: lrta alone. */
    uint32_t (*each_successor)(void *context, uint32_t state, struct ref_arc *out);
    uint32_t (*predecessors)(void *context, uint32_t state, struct ref_arc *out);
    /* the estimate h from one state to another, consistent */
    uint64_t (*distance)(void *context, uint32_t from, uint32_t to);
    uint64_t
        dearest_way; /* lrta, plrta: each state once, by the dearest move: an update beyond it is not made */
};

enum ref_rule {
    REF_LRTA,   /* breadth-first lookahead, mini-min */
    REF_PLRTA,  /* a prioritised queue of updates */
    REF_LSS,    /* LSS-LRTA*, with w LSS-LRTWA* (2016, Algorithm 3) */
    REF_RTAA,   /* h := f(best) - g */
    REF_DARTAA, /* the same, towards the state whose h was raised least */
    REF_RTBWA,  /* Repeated TB(WA*) (2014, Algorithm 2) */
    REF_TBRWA,  /* TBR(WA*) (2016, Algorithm 5) */
    REF_WASTAR, /* search to the end, then follow (2016, Algorithm 2) */
};

enum ref_restart_rule {
    REF_EAGER, /* rtbwa: at every change (2014, Algorithm 2) */
    REF_LAZY,  /* rtbwa: 2014, Algorithm 3; but a search is given up for what fell, after another was, only where the agent is
                * nearer to the goal than then: by h while the goal is not found, else by what is left of the path, unless the
                * goal was found in the tick that the search began in. What rises ends that */
};

enum ref_end {
    REF_GOES_ON,
    REF_AT_GOAL,
    REF_NO_WAY, /* the open list ran empty: proved */
};

struct ref_agent_tick {
    uint32_t to; /* where the agent stands after it */
    enum ref_end end;
    bool back;           /* the move goes to the parent in the search tree */
    bool restarted;      /* a search that lasts from tick to tick began anew */
    uint64_t expansions; /* in this tick */
};

/* All arcs as they were at some time. */
struct ref_arcs_then {
    struct ref_arc *arcs; /* REF_ARCS_MAX a state */
    uint32_t *count;
};

struct ref_agent {
    const struct ref_space *space;
    enum ref_rule rule;
    enum ref_restart_rule restart;
    uint32_t goal;
    uint64_t w_milli, k;
    uint32_t cell;
    uint64_t cost;     /* of the moves so far */
    uint64_t restarts; /* searches begun after the first, of rows that keep one from tick to tick */
    uint64_t *h;       /* of each state; learned values stay */

    /* the present search */
    uint64_t *g;
    uint32_t *parent;
    uint8_t *mark;  /* 0 not met, 1 open, 2 closed */
    uint32_t *path; /* from the root to the best open state */
    uint32_t path_count;
    bool goal_found;
    bool cost_fell; /* of some arc since the search began */

    uint64_t *priority;            /* plrta: of each state in the queue, 0 outside */
    uint32_t *depth;               /* lrta: moves to a state, */
    uint64_t *entered;             /* and the cost that it came into its layer with, or was reopened with */
    struct ref_arcs_then before;   /* rtbwa, wastar: the arcs as last seen, */
    struct ref_arcs_then at_begin; /* and when the search began */
    struct ref_arcs_then weighed;  /* lazy: as they were when it was last looked for what fell, or the search began */
    bool fell_since;               /* lazy: something fell since then */
    uint32_t given_up_at;          /* the cell where the way was last given up for being dearer than it was found; NONE since a move */
    bool for_fall;                 /* lazy: the search is given up for a fall */
    uint64_t h_bar, left_bar;      /* lazy: where the agent was when the last ones were; UINT64_MAX: none was */
    uint64_t ticks, begun;         /* ticks so far, and before the present search */
    bool at_once;                  /* the present search found the goal in the tick that it began in */
    bool due;                      /* the next tick begins with a new search */
};

/* Puts an agent on `start`; w in thousandths. The space is borrowed until ref_agent_close. Aborts without memory. */
void ref_agent_open(struct ref_agent *agent, const struct ref_space *space, enum ref_rule rule,
                    uint32_t start, uint32_t goal, uint64_t w_milli, uint64_t k,
                    enum ref_restart_rule restart);
void ref_agent_close(struct ref_agent *agent);

/* One tick: searches, then moves. */
struct ref_agent_tick ref_agent_tick(struct ref_agent *agent);

/* Between two ticks, whether something changed or not: whether some state's costs rose and some fell since the last time. Decides
 * whether the search begins anew: sets `due`. */
void ref_agent_see(struct ref_agent *agent, bool rose, bool fell);

/* What the next tick would be. Changes nothing. */
struct ref_agent_tick ref_agent_peek(const struct ref_agent *agent);

#endif
