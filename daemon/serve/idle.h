/* Sessions that nobody ticks, and the old versions of maps that they hold.
 *
 * What it is: a look over the sessions of a connection, some at a time. One that has not been ticked for TP_IDLE_MS and lags more
 * than map-versions-max versions behind lets go of its version (tp_session_let_go); one that was never ticked at once. So what idle
 * sessions hold is bounded by that many versions of each map, whatever their number. What it refuses: to touch a session that is
 * ticked as often as that. Who calls it: a loop, every TP_LOOP_LOOK_MS, never in a tick.
 */
#ifndef TP_DAEMON_IDLE_H
#define TP_DAEMON_IDLE_H

#include "daemon/serve/sessions.h"
#include "daemon/serve/shard.h"

enum { TP_IDLE_MS = 1000, TP_IDLE_LOOKS = 256 };

/* Looks at the next TP_IDLE_LOOKS sessions, until `end_us` on the shard's clock. */
void tp_idle_look(struct tp_shard *shard, struct tp_sessions *sessions, uint64_t now_ms, uint64_t end_us);

#endif
