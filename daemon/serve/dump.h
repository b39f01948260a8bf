/* A dump (search/dump.h) of a session that a connection has: with its id, its map's name, and whether it starves.
 *
 * Who calls it: commands and the stats endpoint's live view, on the session's own loop, between frames.
 */
#ifndef TP_DAEMON_DUMP_H
#define TP_DAEMON_DUMP_H

#include "daemon/serve/sessions.h"
#include "search/dump.h"

/* Copies what the session of an agent holds of a rectangle, from a cursor on, at most `states_max` cells of it. Cost: bounded, some 0.2 ms. */
void tp_dump_take(struct tp_dump *dump, const struct tp_agent *agent, uint64_t id, const struct tp_inspect_scan *rectangle, uint32_t states_max);

#endif
