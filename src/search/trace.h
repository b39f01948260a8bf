/* The path that a session follows, and the one being traced to take its place (trace.c says how).
 *
 * What it is: marks of two paths, and what is left of the one followed. What it refuses: nothing; without memory for marks the old path stays.
 * Who calls it: the session, its engines, and what they ask of a path. Where no cost is said it is O(1).
 */
#ifndef TP_SEARCH_TRACE_H
#define TP_SEARCH_TRACE_H

#include "search/search.h"

struct tp_mind;
struct tp_tick;

enum { TP_PUT_AHEAD_MAX = 48 }; /* an agent that is put so many steps ahead on its path at most, or led round as many, goes on by what it has */

/* A path being traced back from its end, and the path followed now. Each is a set of marks; when a trace is done
 * the two change places. */
struct tp_trace {
    struct tp_tiles follow; /* the path followed: marked from its end to where its tracing stopped */
    struct tp_tiles fresh;  /* the path being traced */
    tp_state follow_end;    /* its last state, TP_STATE_NONE for no path */
    tp_state fresh_end;
    tp_state front;         /* where the trace stands */
    tp_state tree_end;      /* the path marked in the tree's nodes leads from the root to here; TP_STATE_NONE: none is */
    bool follows_tree;      /* that is the one followed, and `follow` is not, */
    tp_state from;          /* but only from here on; valid if */
    tp_cost from_g;         /* this, its g then, is not 0, or it is from the root on */
    bool unmarked;          /* the fresh path is not marked yet (tp__trace_branch): */
    tp_state branch;        /* it leaves the one in the tree here, at the latest at the root */
    bool over_agent;        /* it leads over the agent's state */
    bool running;           /* a trace is under way (2009: not doneTrace) */
    bool capped;            /* no memory for marks */
    uint64_t version;       /* of the map, when the trace began */
    bool rose;              /* a step of the fresh path costs more, or is illegal, since the search began */
    tp_cost sum;            /* of a session that asks for a bound: what the fresh path costs so far; TP_COST_INFINITE: a step is illegal */
    bool is_counted;        /* what is left of the path followed from where the agent stands, on it, is counted, */
    tp_cost left;           /* and is this */
    tp_cost length;         /* on unweighted grids: what the fresh path costs so far */
    uint64_t given_up;      /* moves made when a path was last given up for that, and one more; 0: none was */
    tp_state last_end, last_at; /* where the last trace of this search began, the agent standing there after so many */
    uint64_t last_moves;        /* moves; TP_STATE_NONE: none did */
};

/* 2009, lines 10 to 12: takes up a new trace from `end`. */
void tp__trace_begin(struct tp_mind *session, tp_state end);

/* 2009, line 13: traces on, within tick->steps_left, until the agent's state or a root is met. True when done: the
 * fresh path is then whole. */
bool tp__trace_run(struct tp_tick *tick);

/* Under k, where tracing is free and every trace whole: the same in one, without a step over what the fresh path has of the last one. Branches:
 * whether it serves in this tick, for a trace that is not begun yet. False when the tick is ended early. */
bool tp__trace_branches(const struct tp_tick *tick);
bool tp__trace_branch(struct tp_tick *tick, tp_state end);

/* Whether the fresh path, being whole, leads over the agent's state. */
bool tp__trace_fresh_over_agent(const struct tp_mind *session);

/* Whether the fresh path, being whole, is to be given up for a step that rose since the search found it. At most once from where the
 * agent stands, or rises that come in every search might keep it there for ever: it goes on along the path then, which the watch
 * looks at anew. */
bool tp__trace_rose(struct tp_mind *session);

/* What a step cost when the search found it, whichever way it is walked; TP_COST_INFINITE for one that is not of the tree: the
 * last of a path whose end, still open, has got another parent. */
tp_cost tp__trace_step_cost(const struct tp_search *search, tp_state from, tp_state to, uint8_t move);

/* 2009, line 15: the fresh path becomes the one followed. */
void tp__trace_follow(struct tp_mind *session);

/* The same for a path that leads on from the agent as the old one did, but for a piece: what was being looked at along it is looked at from the
 * agent on; a look at all of it once goes on where it was, if that is on the path still. */
void tp__trace_follow_rest(struct tp_mind *session);

/* Forgets the path followed and the trace under way, and looks no more at what changed under them. Cost: O(1). */
void tp__trace_forget(struct tp_mind *session);

/* The mark of a state on the path followed; TP_MARK_NONE off it. */
uint8_t tp__trace_mark(const struct tp_mind *session, tp_state state);

/* The move of the path followed out of a state of it; TP_MOVE_NONE at its end, and off it. */
uint8_t tp__trace_move(const struct tp_mind *session, tp_state state);

/* The next move along the path followed, or along the shortcut to it; TP_MOVE_NONE when the agent is on neither, or at
 * the path's end. */
uint8_t tp__trace_next(const struct tp_mind *session);

/* ---- What is left ----
 *
 * From where the agent stands on the path followed to its end: counted while it is traced, and with each move. g tells it too, as long as the tree stays as it was
 * when the path was traced: pieces that are made shorter (smooth.c, bound.c) lower g behind them, also where the agent came by first and goes on
 * along the longer piece. So it is counted before the tree is changed at the latest.
 * An agent that is put farther ahead than TP_PUT_AHEAD_MAX is not followed there step by step: that is work between ticks, which nothing bounds but this. g is right
 * there too, but where pieces were made shorter and it goes by the longer ones still: then, until its next path, it is out by what those save. */

/* It is counted from here on, if the agent is on its path. */
void tp__trace_count(struct tp_mind *session);

/* The agent is about to make this move, which is not one of a detour, at this cost. */
void tp__trace_moved(struct tp_mind *session, uint8_t move, tp_cost cost);

/* The agent is about to be put on another state, or led round what lies between. Where its path does not lead there within TP_PUT_AHEAD_MAX steps, g tells
 * again what is left. Cost: those steps. */
void tp__trace_put(struct tp_mind *session, tp_state to);

/* What is left, of an agent on its path; on a detour, from where that ends. */
tp_cost tp__trace_left(const struct tp_mind *session);

#endif
