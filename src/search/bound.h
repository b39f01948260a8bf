/* The proven bound: how many times the least cost of any way the agent's walk can come to, of a session that asked for it (`bounded`).
 *
 * What it is: a second search beside the session's own, paid with the expansions that a tick's budget leaves over. It is A* by the space's own h,
 * which is admissible and consistent, from the goals back to where the present *proof* began: where the agent stood when its goal was
 * set, or at the first tick since which no cost fell. Its least f is a lower bound on the cost of any way from there to a goal, from the first
 * (h) to the last (the cost of the cheapest way). The reply carries
 *
 *     bound = (what the agent walked since the proof began + what is left of the path it follows) / that lower bound
 *
 * in thousandths, rounded up, as long as the path followed reaches a goal and the agent is on it: in the version that the reply names no way
 * costs less than the numerator / bound. While the agent follows that path on a map that stays, the bound only falls, and holds for the whole walk; a
 * cheaper rest that the search finds is taken over. (A guided agent may be turned to a shorter way that its guide still finds, RESTARTED: the bound
 * ends with the path, and comes again with the next.)
 * A cost that rises leaves the lower bound what it is: each step of the search was no dearer when it was taken than it is now. What is left of the path
 * is summed up anew. When any cost falls, the proof begins anew from where the agent stands then; so it does when the agent or its
 * goal is put elsewhere, another epoch begins, or the proof's first cell is blocked.
 * What it refuses: all but grids walked by steps with the whole map known and goals that are met exactly (params.c): there a way leads back
 * as it leads forth, at the same cost.
 * Failure: without memory the search ends, and the lower bound stays what it is. Memory is that of the session, under its cap; it is given back when
 * nothing is left to prove, or the session's own search wants for it.
 * Who calls it: the session; trace.c, for what a path costs.
 */
#ifndef TP_SEARCH_BOUND_H
#define TP_SEARCH_BOUND_H

#include "search/search.h"

struct tp_mind;
struct tp_tick;
struct tp_bound;

/* If the session asked for it; false without memory. */
bool tp__bound_open(struct tp_mind *session);
void tp__bound_close(struct tp_mind *session);

/* The agent is on another trip: its goal is another, or it was put elsewhere. Cost: what freeing the search costs. */
void tp__bound_trip(struct tp_mind *session);

/* Before a tick's first work, its version being known: a proof that does not hold any more ends, another begins. Cost: O(goals). */
void tp__bound_begin(struct tp_tick *tick);

/* A path was traced and is followed now; no path is any more. Cost: O(1). */
void tp__bound_follow(struct tp_mind *session);
void tp__bound_forget(struct tp_mind *session);

/* The session's own search wants for memory: gives back what the second holds, which ends. False when it holds none. */
bool tp__bound_yield(struct tp_mind *session);

/* Sums up what is left of a path that reaches the goal, where it is not known: a traceback step each. */
void tp__bound_measure(struct tp_tick *tick);

/* At a tick's end: spends what it has left, takes over a cheaper rest of the path that it found, and tells the reply the bound. */
void tp__bound_run(struct tp_tick *tick);

/* Whether the rest of the path is being replaced by the cheapest, or was, so that nothing else can make it shorter. */
bool tp__bound_shortens(const struct tp_mind *session);

#endif
