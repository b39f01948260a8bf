/* The store that a fleet of daemons shares, in Redis (daemon/store/store.h says what a store is).
 *
 * What it is: each map's changes as a Stream, its log; a batch is appended and applied only when it is read back, in the log's order, by
 * every daemon that follows the map. Snapshots, written in the background, are what a map is loaded from, and what the log is trimmed to.
 * Redis may be away at start and later: then changes are refused with TP_ERR_UNAVAILABLE and the status says degraded; once it is back, the
 * store looks whether the log still has what was read from it, puts back what it lost, or begins a new epoch where another daemon's
 * changes took its place. What it refuses: a URL it cannot read; to write over what it cannot read.
 *
 * In Redis, P being the URL's prefix; all keys of one map fall into one slot of a cluster:
 *
 *     P{NAME}:log    a Stream: entries as daemon/store/redis_entry.h says
 *     P{NAME}:snaps  a hash: the two newest snapshots (tp_snapshot_encode_placed), by "EPOCH-VERSION-PLACE"; `epoch`; `put`: the place of
 *                    the put; `run`: of the server's process, when the log was marked last
 *     P{NAME}:lease  the daemon that writes a snapshot now
 *     P{NAME}:ended  for a day after a drop: the map's epoch
 *     Pmaps          a set: all NAMEs
 */
#ifndef TP_DAEMON_STORE_REDIS_H
#define TP_DAEMON_STORE_REDIS_H

#include "daemon/stats/metrics.h"
#include "daemon/store/store.h"

struct tp_store_redis_options {
    uint32_t snapshot_batches; /* a snapshot is written after so many; 0: 4096 */
    uint32_t snapshot_seconds; /* and so long after the first change that is in none; 0: 60 */
};

/* Opens a store on redis://[user[:password]@]HOST[:PORT][/DB][?prefix=P] (daemon/store/redis_url.h); starts its thread and waits for at most 300 ms to
 * know how Redis stands, so that a status asked for after it is no guess. `options` NULL: all as if 0. `metrics` is borrowed until close: the
 * store's thread bumps the store_* numbers. TP_ERR_INVALID_ARGUMENT with words in reason[]; TP_ERR_NO_MEMORY; TP_ERR_IO (no thread). Redis
 * being away is no error: the status says degraded. */
int tp_store_redis_open(struct tp_store **out, const char *url, const struct tp_store_redis_options *options, struct tp_metrics *metrics,
                        char reason[160]) TP_MUST_CHECK;

#endif
