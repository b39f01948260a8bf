/* The store that keeps map snapshots in Redis (daemon/store.h says what a store is).
 *
 * What it is, for now: a map's snapshot as one value; `append` writes the version it made as a snapshot, the
 * newest of all that is queued for a map; no change log yet. It is not volatile, and it serves on degraded:
 * Redis may be away at start and later, it reconnects with growing pauses, and what was put meanwhile is
 * written once it is back (the newest version of each map). What it refuses: a URL it cannot read.
 */
#ifndef TP_DAEMON_STORE_REDIS_H
#define TP_DAEMON_STORE_REDIS_H

#include "daemon/metrics.h"
#include "daemon/store.h"

/* Opens a store on redis://[user[:password]@]HOST[:PORT][/DB][?prefix=P] (daemon/redis_url.h); starts its
 * thread and waits for at most 300 ms to know how Redis stands, so that a status asked for after it is no
 * guess. `metrics` is borrowed until close: the store's thread bumps the store_* numbers.
 * TP_ERR_INVALID_ARGUMENT with words in reason[]; TP_ERR_NO_MEMORY; TP_ERR_IO (no thread). Redis being away
 * is no error: the status says degraded. A put or append that cannot be written now completes with
 * TP_ERR_UNAVAILABLE, at once while Redis is known to be away, after about a second otherwise (and is still
 * written later); a load or a list then completes with TP_ERR_UNAVAILABLE too. */
int tp_store_redis_open(struct tp_store **out, const char *url, struct tp_metrics *metrics,
                        char reason[160]) TP_MUST_CHECK;

#endif
