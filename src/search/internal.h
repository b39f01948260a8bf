/* What the session's front and its engines share. Nobody outside src/search includes this.
 *
 *   session.c       checks parameters, keeps the measures, turns cells into states
 *   time_bounded.c  the engine of the TB family: expand, trace, follow or back-move
 *   replan.c        the engine that searches to the end, then follows
 *   trace.c         tracing a path back over as many ticks as the budget asks
 *   shortcut.c      TBA*'s search for a shortcut while the agent moves back
 */
#ifndef TP_SEARCH_INTERNAL_H
#define TP_SEARCH_INTERNAL_H

#include "node/marks.h"
#include "search/search.h"
#include "search/session.h"

#define TP_STATE_NONE UINT32_MAX

/* A path being traced back from its end, and the path followed now. Each is a set of marks; when a trace is done
 * the two change places. */
struct tp_trace {
    struct tp_tiles follow; /* the path followed: marked from its end to where its tracing stopped */
    struct tp_tiles fresh;  /* the path being traced */
    tp_state follow_end;    /* its last state, TP_STATE_NONE for no path */
    tp_state fresh_end;
    tp_state front;         /* where the trace stands */
    bool running;           /* a trace is under way (2009: not doneTrace) */
    bool capped;            /* no memory for marks */
};

struct tp_shortcut;

struct tp_session {
    struct tp_session_params params;
    const struct tp_map *map; /* the version of the last tick (or of open), referenced */
    struct tp_pool *pool;
    struct tp_search search;
    struct tp_trace trace;
    struct tp_shortcut *shortcut; /* NULL until first needed */
    tp_state at, at_before;     /* where the agent stands; where it stood before its last move (NONE: nowhere) */
    tp_state goal;
    bool restart_wanted;        /* begin a new search at the next tick */
    bool path_complete;         /* the path followed reaches the goal (2009: solutionFoundAndTraced) */
    bool begun;                 /* some search has been begun in its life */
    bool first_tick;            /* of the present search */
    uint64_t bytes;             /* pool bytes held */
    struct tp_session_stats stats;
};

/* One tick under way: what may be spent, what was spent, what is decided. */
struct tp_tick {
    struct tp_session *session;
    const struct tp_budget *budget;
    struct tp_tick_reply *reply;
    uint64_t steps_left; /* traceback steps that may still be taken in this tick */
    bool changed;        /* the map is another version than at the last tick */
    bool node_cap;
};

struct tp_engine {
    const char *name;
    void (*tick)(struct tp_tick *tick);
};

extern const struct tp_engine tp__engine_time_bounded, tp__engine_replan;

/* How a tick's budget is divided: at most `expansions` expansions and `steps` traceback steps: N_E and N_T (2009,
 * section 3.3). Under K and DEADLINE tracing is free: steps is UINT64_MAX. */
struct tp_share {
    uint64_t expansions;
    uint64_t steps;
};

struct tp_share tp__budget_share(const struct tp_budget *budget);

/* Begins the first search or a new one from where the agent stands; marks the reply RESTARTED for a new one. */
void tp__session_begin_search(struct tp_tick *tick);

/* Runs a search (the session's own, or its shortcut's) for at most `expansions`, within the tick's cap and deadline,
 * and books the work. */
void tp__tick_run(struct tp_tick *tick, struct tp_search *search, uint64_t expansions);

static inline void tp__session_expand(struct tp_tick *tick, uint64_t expansions)
{
    tp__tick_run(tick, &tick->session->search, expansions);
}

/* Whether an earlier tick's exhausted search still proves the goal unreachable: no cost fell since it began, and
 * nobody moved the agent or the goal. */
bool tp__session_proved_unreachable(const struct tp_session *session);

/* 2014, line 21, after a search phase: true when the open list ran empty and that proves the goal unreachable (the
 * reply says so). When a cost fell since the search began it proves nothing: a new search begins and spends what is
 * left of `expansions`. */
bool tp__session_exhausted(struct tp_tick *tick, uint64_t expansions);

/* Pays for one traceback step (or a path's state copied): false when the tick has none left, or its time is over. */
bool tp__tick_step(struct tp_tick *tick);

/* 2009, lines 10 to 12: takes up a new trace from `end`. */
void tp__trace_begin(struct tp_session *session, tp_state end);

/* 2009, line 13: traces on, within tick->steps_left, until the agent's state or a root is met. True when done: the
 * fresh path is then whole. */
bool tp__trace_run(struct tp_tick *tick);

/* 2009, line 15: the fresh path becomes the one followed. */
void tp__trace_follow(struct tp_session *session);

void tp__trace_forget(struct tp_session *session);

/* The direction of the next step along the path followed, or along the shortcut to it; TP_DIRECTION_NONE when the
 * agent is on neither, or at the path's end. */
uint8_t tp__trace_next(const struct tp_session *session);

/* The direction from the agent's state to its parent in the search tree; TP_DIRECTION_NONE at a root, or when the
 * agent stands outside the tree. */
uint8_t tp__session_parent(const struct tp_session *session);

/* Whether the step is legal in this tick's version. */
bool tp__session_step_legal(const struct tp_session *session, uint8_t direction);

/* Takes the step: books the move and sets status and flags. The step must be legal. */
void tp__session_move(struct tp_tick *tick, uint8_t direction, bool back);

/* 2009, section 3.4, first enhancement; see shortcut.c. Spends what the tick has left. True when a shortcut was
 * found and is followed from here on. */
bool tp__shortcut_try(struct tp_tick *tick);

/* The direction of the next step along the shortcut followed; TP_DIRECTION_NONE when the agent is on none. */
uint8_t tp__shortcut_next(const struct tp_session *session);

/* Gives the shortcut search the session's map version, before the last one is let go. Cost: O(1). */
void tp__shortcut_adopt_map(struct tp_session *session);

/* Forgets the shortcut search (the path it led to is no longer followed). Cost: O(1). */
void tp__shortcut_forget(struct tp_session *session);
void tp__shortcut_close(struct tp_session *session);

#endif
