/* The files of the embedded store: snapshots and logs of maps in a folder (daemon/store/store_embedded.h says
 * which).
 *
 * What it is: the part of that store that works on the disk, one call after the other. It holds the tip of each map that was put or
 * loaded: what was acknowledged, never more. A call fills in the event that answers it (its name and context are given), but for
 * telling it: the map in it is a reference given to whoever tells.
 * What it refuses: a folder that another daemon uses.
 * Who calls it: the embedded store's thread; tp_folder_status any thread.
 *
 * Failure modes:
 *     write or sync of a log fails     nothing of the record counts: the file is cut back, the map is `broken`. Where even that
 *                                      fails, a restart may find the record: its batches are in doubt (is_unknown)
 *     a snapshot fails before rename   the old snapshot and log stand as they were; the new log is removed
 *     ... at the rename or after       nobody knows which one a restart would find: the map is `broken`, what the snapshot would
 *                                      have acknowledged is in doubt
 *     a snapshot without its log       batches may be lost: a load begins a new epoch, on disk before it returns
 *     a drop fails before the unlink   the map stands as it was
 *     ... at the sync after it         nobody knows whether it is gone: the map is `broken`, the drop in doubt. One that is held is
 *                                      written anew; of one that is not, tp_folder_retry tells when it is gone for good
 *     a map is broken                  the next batches, or tp_folder_retry, write a whole snapshot anew; until
 *                                      that succeeds nothing is acknowledged
 */
#ifndef TP_DAEMON_FOLDER_H
#define TP_DAEMON_FOLDER_H

#include "daemon/stats/metrics.h"
#include "daemon/store/store.h"

#include <pthread.h>

struct tp_names {
    char **name;
    size_t count, capacity;
};
void tp_names_fini(struct tp_names *names);

struct tp_folder {
    struct tp_metrics *metrics; /* borrowed */
    struct tp_map_held *held;   /* counts the versions of maps loaded; borrowed, NULL for none; set before the first load */
    uint64_t fold_batches;      /* batches of a log before it is folded into a snapshot */
    int fd, lock_fd;
    struct tp__kept *kept;    /* maps put or loaded */
    struct tp_names old_logs; /* the log files found at open */
    pthread_mutex_t status_lock;
    struct tp_store_status status;
};

/* Opens a folder, making it if need be, and takes its lock. TP_ERR_FAILED_PRECONDITION (another daemon has the
 * lock), TP_ERR_IO, with words in reason[]. `folder` must be closed in any case. */
int tp_folder_open(struct tp_folder *folder, const char *path, uint64_t fold_batches,
                   struct tp_metrics *metrics, char reason[256]) TP_MUST_CHECK;
void tp_folder_close(struct tp_folder *folder);

/* Makes `map` the whole of what is kept under event->name, without keys; synced when it is BEGUN. REFUSED:
 * TP_ERR_ALREADY_EXISTS (a map of that name is kept, readable or not, and this is not to replace it); TP_ERR_UNAVAILABLE (said in
 * the log and the status), TP_ERR_NO_MEMORY. */
void tp_folder_put(struct tp_folder *folder, const struct tp_map *map, bool replace, struct tp_store_event *event);

/* Forgets what is kept under event->name and removes its files; synced when it is DROPPED, also when there was nothing. REFUSED:
 * TP_ERR_FAILED_PRECONDITION (has_epoch, and the map is in another, or cannot be read); TP_ERR_UNAVAILABLE: it is kept as it
 * was, or broken; TP_ERR_NO_MEMORY. */
void tp_folder_drop(struct tp_folder *folder, bool has_epoch, uint64_t epoch, struct tp_store_event *event);

/* A batch, and what came of it. */
struct tp_folder_batch {
    struct tp_batch *batch;
    struct tp_store_event event;
};

/* Decides about the batches of one map, in their order, writes those that are accepted as one record, and syncs it once. When that
 * fails the map stands where it did: what was accepted is REFUSED (TP_ERR_UNAVAILABLE, TP_ERR_NO_MEMORY), as is what was decided
 * only because of it. TP_ERR_NOT_FOUND: no such map is held. Cost: that of tp_tip_apply each, one write; where a batch has a key a
 * copy of the map's keys. */
void tp_folder_submit(struct tp_folder *folder, struct tp_folder_batch **batches, uint32_t count);

/* Gives the newest version kept: LOADED; from memory where it is held. REFUSED: TP_ERR_NOT_FOUND, TP_ERR_CORRUPT with a reason,
 * TP_ERR_UNAVAILABLE, TP_ERR_NO_MEMORY. A torn end of the log is cut off; a map whose log is missing begins a new epoch. */
void tp_folder_load(struct tp_folder *folder, struct tp_store_event *event);

/* Gives the names of the maps kept. TP_ERR_UNAVAILABLE, TP_ERR_NO_MEMORY. */
int tp_folder_list(struct tp_folder *folder, struct tp_names *names) TP_MUST_CHECK;

/* Writes the log of every map that has grown long as a snapshot. */
void tp_folder_fold(struct tp_folder *folder);

/* A drop that was in doubt is done. False: it was not taken, and is told again at the next retry. */
typedef bool (*tp_folder_gone_cb)(void *context, const char *name);

/* When degraded: tries whether it works again. */
void tp_folder_retry(struct tp_folder *folder, tp_folder_gone_cb gone, void *context);

bool tp_folder_is_degraded(struct tp_folder *folder);
void tp_folder_status(struct tp_folder *folder, struct tp_store_status *out);

#endif
