/* What the engine of D* Lite (dstar_lite.c) and its look at what changed (dstar_changes.c) share. Nobody else includes this. */
#ifndef TP_SEARCH_DSTAR_LITE_H
#define TP_SEARCH_DSTAR_LITE_H

#include "search/internal.h"

struct tp_dstar {
    struct tp_tiles states;
    struct tp_open queue; /* the inconsistent states (open/keyed.h) */
    bool wide;            /* values have 64 bits */
    bool active;          /* begun */
    bool complete;        /* the agent's state is settled, and nothing that changed is left to be taken up */
    bool quick;           /* the last run ended in the tick in which it began */
    uint32_t run_ticks;   /* of the present run so far */
    tp_state goal;        /* what is searched from: the session's goal, or where it was */
    tp_state last;        /* where the agent stood when km last grew */
    tp_state stood;       /* where the agent stood at the end of the last tick */
    uint64_t km;
    uint64_t begun_version;
    const struct tp_map *synced; /* full knowledge: the version taken up; referenced */
    uint64_t cursor;             /* how far the next version is compared with it, see tp_map_compare */
    bool tile_paid;              /* the step for the tile, or part of a page, that the cursor is in */
    uint64_t compared_version;   /* which that is */
    uint32_t sights_count, sights_next;      /* cells seen to have changed, and those taken up */
    uint32_t sights[TP_BELIEF_CHANGES_MAX]; /* as y * width + x */
};

/* ---- dstar_lite.c ---- */

/* From now on keys are of where the agent stands; those queued stay lower bounds. */
void tp__dstar_move_keys(struct tp_session *session);

/* Looks at a state anew whose moves may have changed. Room for it in the queue must have been reserved. False when no memory
 * could be had. */
bool tp__dstar_refresh(struct tp_tick *tick, tp_state state);

/* ---- dstar_changes.c ---- */

/* The present version is the one taken up. */
void tp__dstar_adopt_version(struct tp_session *session);

/* Whether what changed of the map can be looked at state by state. */
bool tp__dstar_compares(const struct tp_session *session);

/* What the agent sees from where it stands joins the sights; true if anything is new. */
bool tp__dstar_look_around(struct tp_session *session);

/* Takes up all that changed since; false when the tick's means end before. */
bool tp__dstar_take_up_changes(struct tp_tick *tick);

#endif
