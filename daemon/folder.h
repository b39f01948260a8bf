/* The files of the embedded store: snapshots and logs of maps in a folder (daemon/store_embedded.h says
 * which).
 *
 * What it is: the part of that store that works on the disk, one call after the other.
 * What it refuses: batches that do not follow what it holds; a folder that another daemon uses.
 * Who calls it: the embedded store's thread; tp_folder_status any thread.
 *
 * Failure modes:
 *     write or sync of a log fails     nothing of the record counts: the file is cut back, the map is `broken`
 *     a snapshot fails before rename   the old snapshot and log stand as they were (with an empty log of the new)
 *     ... at the rename or after       nobody knows which one a restart would find: the map is `broken`
 *     a snapshot without its log       batches may be lost: a load begins a new epoch, on disk before it returns
 *     a drop fails before the unlink   the map stands as it was
 *     ... at the sync after it         nobody knows whether it is gone: the map is `broken`
 *     a map is broken                  the next append, or tp_folder_retry, writes a whole snapshot anew; until
 *                                      that succeeds nothing is acknowledged
 */
#ifndef TP_DAEMON_FOLDER_H
#define TP_DAEMON_FOLDER_H

#include "daemon/metrics.h"
#include "daemon/store.h"

#include <pthread.h>

struct tp_names {
    char **name;
    size_t count, capacity;
};
void tp_names_fini(struct tp_names *names);

struct tp_folder {
    struct tp_metrics *metrics; /* borrowed */
    uint64_t fold_batches;      /* batches of a log before it is folded into a snapshot */
    int fd, lock_fd;
    struct kept *kept;        /* maps put or loaded */
    struct tp_names old_logs; /* the log files found at open */
    pthread_mutex_t status_lock;
    struct tp_store_status status;
};

/* Opens a folder, making it if need be, and takes its lock. TP_ERR_IO with words in reason[]. `folder` must
 * be closed in either case. */
int tp_folder_open(struct tp_folder *folder, const char *path, uint64_t fold_batches,
                   struct tp_metrics *metrics, char reason[256]) TP_MUST_CHECK;
void tp_folder_close(struct tp_folder *folder);

/* Makes `map` the whole of what is kept under `name`, without keys; synced when it returns 0. TP_ERR_UNAVAILABLE (said in
 * the log and the status), TP_ERR_NO_MEMORY. */
int tp_folder_put(struct tp_folder *folder, const char *name, const struct tp_map *map) TP_MUST_CHECK;

/* Forgets what is kept under `name` and removes its files; synced when it returns 0, also when there was nothing.
 * TP_ERR_UNAVAILABLE: it is kept as it was, or broken. */
int tp_folder_drop(struct tp_folder *folder, const char *name) TP_MUST_CHECK;

struct tp_folder_batch {
    const char *name;
    const struct tp_map *after; /* the version the batch made */
    const void *bytes;          /* tp_batch_encode's */
    size_t size;
    int error; /* the result */
};

/* Writes the batches of one map, in their order, as one record, and syncs it once; those that do not follow
 * what is kept fail. The array is reordered. */
void tp_folder_append(struct tp_folder *folder, struct tp_folder_batch **batches, uint32_t count);

/* Gives a reference to the newest version kept, and a copy of the keys of the batches applied to it last (freed by the caller
 * with tp_keys_fini, none on error). TP_ERR_NOT_FOUND, TP_ERR_CORRUPT with static words in
 * *reason, TP_ERR_UNAVAILABLE, TP_ERR_NO_MEMORY. A torn end of the log is cut off; a map whose log is missing begins a
 * new epoch. */
int tp_folder_load(struct tp_folder *folder, const char *name, struct tp_map **map, struct tp_keys *keys,
                   const char **reason) TP_MUST_CHECK;

/* Gives the names of the maps kept. TP_ERR_UNAVAILABLE, TP_ERR_NO_MEMORY. */
int tp_folder_list(struct tp_folder *folder, struct tp_names *names) TP_MUST_CHECK;

/* Writes the log of every map that has grown long as a snapshot. */
void tp_folder_fold(struct tp_folder *folder);

/* When degraded: tries whether it works again. */
void tp_folder_retry(struct tp_folder *folder);

bool tp_folder_is_degraded(struct tp_folder *folder);
void tp_folder_status(struct tp_folder *folder, struct tp_store_status *out);

#endif
