/* The store in a folder: one snapshot file and one log of change batches per map.
 *
 *     <map>.snap                      the snapshot ('/' in a name becomes '+', which no name has)
 *     <map>~<epoch>-<version>.log     the batches since the snapshot of that epoch and version; made with it
 *     <map>.snap~, <map>.log~         a snapshot or a log being written
 *     lock~                           held while a daemon uses the folder
 *
 * What it promises: a put or batch that was told as BEGUN or VERSION is on the disk (written, synced; a new snapshot
 * renamed into place and the folder synced). All batches queued at a time are written together and synced
 * once per map; only those that were accepted are in the log. After fold_batches the log is folded into a new snapshot. A torn end of a
 * log (the daemon was killed while writing: nothing of it was acknowledged) is cut off with a log line; a checksum that fails
 * anywhere else is TP_ERR_CORRUPT. A snapshot whose log was taken away goes on in a new epoch, with a log line. On
 * an I/O error the call is refused with TP_ERR_UNAVAILABLE, the log is cut back to what was synced, the status says
 * degraded, and the store tries by itself to write the last acknowledged version anew until that succeeds.
 */
#ifndef TP_DAEMON_STORE_EMBEDDED_H
#define TP_DAEMON_STORE_EMBEDDED_H

#include "daemon/stats/metrics.h"
#include "daemon/store/store.h"

/* Opens the folder, making it if need be; starts the store's thread. `metrics` is borrowed until close.
 * TP_ERR_IO (not a folder, no permission), TP_ERR_FAILED_PRECONDITION (another daemon uses it), with words in reason[];
 * TP_ERR_NO_MEMORY. */
int tp_store_embedded_open(struct tp_store **out, const char *path, uint64_t fold_batches,
                           struct tp_metrics *metrics, char reason[256]) TP_MUST_CHECK;

#endif
