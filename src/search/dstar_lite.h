/* What the engine of D* Lite (dstar_lite.c) and its look at what changed (dstar_changes.c) share. Nobody else includes this. */
#ifndef TP_SEARCH_DSTAR_LITE_H
#define TP_SEARCH_DSTAR_LITE_H

#include "search/internal.h"

struct tp_dstar {
    struct tp_tiles states;
    struct tp_open queue; /* the inconsistent states (open/keyed.h) */
    bool wide;            /* values have 64 bits */
    bool active;          /* begun */
    bool complete;        /* there is a plan: the agent's state was settled when the last run ended */
    bool running;         /* a run is under way: nothing more is taken up before it ends */
    bool dirty;           /* some state was looked at anew since the last run */
    bool quick;           /* the last run ended in the tick in which it began */
    uint32_t run_ticks;   /* of the present run so far */
    uint32_t walk_left;   /* moves along the plan before the next run begins, see end_run */
    tp_state goal;        /* what is searched from: the session's goal, or where it was */
    tp_state last;        /* where the agent stood when km last grew */
    tp_state stood;       /* where the agent stood at the end of the last tick */
    uint64_t km;
    uint64_t begun_version;
    /* full knowledge; referenced: */
    const struct tp_map *planned; /* the version that every g, and so the plan, is of */
    const struct tp_map *synced;  /* the version taken up last, which every rhs is of */
    const struct tp_map
        *target;     /* the version being compared with it, taken up to its end whatever comes; NULL: none */
    uint64_t cursor; /* how far, see tp_map_compare */
    bool tile_paid;  /* the step for the tile, or part of a page, that the cursor is in */
    uint64_t looks_left;                    /* in this tick */
    uint32_t sights_count, sights_next;     /* cells seen to have changed, and those taken up */
    uint32_t sights[TP_BELIEF_CHANGES_MAX]; /* as y * width + x */
};

/* ---- dstar_lite.c ---- */

/* What is known of a state (inspect.h): false if it was never met, or both values are infinite again. */
bool tp__dstar_look(const struct tp_mind *session, tp_state state, bool *is_queued, tp_cost *g);

/* The first in the queue; TP_STATE_NONE: it is empty. */
tp_state tp__dstar_best(const struct tp_mind *session);

/* From now on keys are of where the agent stands; those queued stay lower bounds. */
void tp__dstar_move_keys(struct tp_mind *session);

/* Looks at a state anew whose moves may have changed. Room for it in the queue must have been reserved. False when no memory
 * could be had. */
bool tp__dstar_refresh(struct tp_tick *tick, tp_state state);

/* ---- dstar_changes.c ---- */

/* Lets go of all versions. */
void tp__dstar_forget_versions(struct tp_dstar *dstar);

/* The present version is the one taken up, and planned over. */
void tp__dstar_adopt_version(struct tp_mind *session);

/* The plan is from now on of what was taken up. */
void tp__dstar_plan_version(struct tp_dstar *dstar);

/* Moves, costs and blocked cells are read from the version that is being taken up, or was last; from the plan's. */
void tp__dstar_read_taken_up(struct tp_mind *session);
void tp__dstar_read_planned(struct tp_mind *session);

/* Whether nothing that changed is left to be taken up. */
bool tp__dstar_up_to_date(const struct tp_mind *session);

/* Whether what changed of the map can be looked at state by state. */
bool tp__dstar_compares(const struct tp_mind *session);

/* What the agent sees from where it stands joins the sights; true if anything is new. */
bool tp__dstar_look_around(struct tp_mind *session);

/* How many looks at what changed a tick may take. */
uint64_t tp__dstar_looks_max(const struct tp_tick *tick);

/* Takes up all that changed since, on a known map up to a version that makes a run due (`dirty`); false when the tick's means end
 * in its midst. */
bool tp__dstar_take_up_changes(struct tp_tick *tick);

#endif
