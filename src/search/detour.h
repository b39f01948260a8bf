/* A detour of a guided agent round what closed on its path near ahead (detour.c says what it is).
 *
 * What it refuses: nothing. Who calls it: the session, the time-bounded engine, and what they ask of a path.
 */
#ifndef TP_SEARCH_DETOUR_H
#define TP_SEARCH_DETOUR_H

#include "search/search.h"

struct tp_mind;
struct tp_tick;

/* Something closed on the path near ahead, or (`is_stopped`) the agent's next step: whether a detour is under way, or begun now, so that no new search is
 * needed. Cost: some steps. */
bool tp__detour_mends(struct tp_tick *tick, bool is_stopped);

/* Goes on with it by what the tick has; false when it found none: a new search is to begin. */
bool tp__detour_run(struct tp_tick *tick);

/* Whether the agent stands where it begins, before it is found. */
bool tp__detour_waits(const struct tp_mind *session);

/* Whether the agent walks it, off the session's tree, and where it is back on the path then. */
bool tp__detour_is_walked(const struct tp_mind *session);
tp_state tp__detour_end(const struct tp_mind *session);

/* The next move along it; TP_MOVE_NONE when the agent is on none. */
uint8_t tp__detour_next(const struct tp_mind *session);

/* The agent made a move. */
void tp__detour_moved(struct tp_mind *session);

/* Cost: what its search took. */
void tp__detour_forget(struct tp_mind *session);

#endif
