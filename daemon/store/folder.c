/* Which maps the folder keeps: the status, loading, dropping, listing. What is written of a map stands in folder_write.c, the failure
 * modes in folder.h. */
#include "daemon/store/folder.h"

#include "daemon/clock.h"
#include "daemon/store/folder_files.h"
#include "daemon/store/folder_internal.h"
#include "daemon/log.h"
#include "daemon/store/maplog.h"
#include "daemon/store/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Status ---- */

void tp_folder_status(struct tp_folder *folder, struct tp_store_status *out)
{
    pthread_mutex_lock(&folder->status_lock);
    *out = folder->status;
    pthread_mutex_unlock(&folder->status_lock);
}

int tp__folder_fail(struct tp_folder *folder, const char *what, const char *name)
{
    const char *words = strerror(errno);
    tp_metric_add(&folder->metrics->store_errors, 1);
    tp_log(TP_LOG_ERROR, "the store failed", "what=\"%s\" map=\"%s\" error=\"%s\"", what,
           name, words);
    pthread_mutex_lock(&folder->status_lock);
    folder->status.state = TP_STORE_DEGRADED;
    snprintf(folder->status.reason, sizeof folder->status.reason, "data folder: %s: %s", what, words);
    pthread_mutex_unlock(&folder->status_lock);
    return TP_ERR_UNAVAILABLE;
}

bool tp_folder_is_degraded(struct tp_folder *folder)
{
    struct tp_store_status status;
    tp_folder_status(folder, &status);
    return status.state != TP_STORE_OK;
}

void tp__folder_recover(struct tp_folder *folder)
{
    if (!tp_folder_is_degraded(folder))
        return;
    for (const struct tp__kept *kept = folder->kept; kept != NULL; kept = kept->next)
        if (kept->is_broken)
            return;
    pthread_mutex_lock(&folder->status_lock);
    folder->status = (struct tp_store_status){.state = TP_STORE_OK};
    pthread_mutex_unlock(&folder->status_lock);
    tp_log_words(TP_LOG_INFO, "the store works again");
}

/* ---- Maps kept ---- */

struct tp__kept *tp__folder_find(struct tp_folder *folder, const char *name)
{
    struct tp__kept *kept = folder->kept;
    while (kept != NULL && strcmp(kept->name, name) != 0)
        kept = kept->next;
    return kept;
}

struct tp__kept *tp__folder_add(struct tp_folder *folder, const char *name)
{
    struct tp__kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return NULL;
    tp_world_name_copy(kept->name, name);
    kept->log_fd = -1;
    kept->next = folder->kept;
    folder->kept = kept;
    return kept;
}

static void free_kept(struct tp__kept *kept)
{
    if (kept->log_fd >= 0)
        close(kept->log_fd);
    tp_tip_fini(&kept->tip);
    free(kept);
}

void tp__folder_remove(struct tp_folder *folder, struct tp__kept *kept)
{
    struct tp__kept **link = &folder->kept;
    while (*link != kept)
        link = &(*link)->next;
    *link = kept->next;
    free_kept(kept);
}

void tp__folder_break(struct tp__kept *kept)
{
    if (kept->log_fd >= 0)
        close(kept->log_fd);
    kept->log_fd = -1;
    kept->is_broken = true;
}

/* ---- Loading ---- */

/* Removes logs of other snapshots of this map: left behind when the daemon was killed between the two steps.
 */
static void remove_old_logs(struct tp_folder *folder, const struct tp__kept *kept)
{
    char valid[TP__FOLDER_NAME_BYTES], prefix[TP__FOLDER_NAME_BYTES];
    tp__folder_log_name(valid, kept->name, kept->log_epoch, kept->log_version);
    tp__folder_file_name(prefix, kept->name, "~");
    for (size_t i = 0; i < folder->old_logs.count; i++)
        if (strncmp(folder->old_logs.name[i], prefix, strlen(prefix)) == 0 &&
            strcmp(folder->old_logs.name[i], valid) != 0)
            unlinkat(folder->fd, folder->old_logs.name[i], 0);
}

/* Whether there is a log of this map, in this epoch, that begins at a version which it has not reached: it was made once all that
 * led there was on disk, and is so no more. (In an earlier life the daemon may have died between a snapshot's log and the snapshot
 * itself; that log begins where the one before ends.) */
static bool has_gap(const struct tp_folder *folder, const struct tp__kept *kept)
{
    char reached[TP__FOLDER_NAME_BYTES];
    tp__folder_log_name(reached, kept->name, kept->tip.map->epoch, kept->tip.map->version);
    size_t common = strlen(reached) - strlen("0123456789abcdef.log"); /* the version's digits are all that differs */
    for (size_t i = 0; i < folder->old_logs.count; i++) {
        const char *other = folder->old_logs.name[i];
        if (strlen(other) == strlen(reached) && strncmp(other, reached, common) == 0 && strcmp(other, reached) > 0)
            return true;
    }
    return false;
}

/* The snapshot just read has no log, or not all of it: what was acknowledged after it may be lost, so the map (nobody else's
 * yet) goes on from what is there in a new epoch, which is on disk before anybody hears of it. */
static int lose_log(struct tp_folder *folder, struct tp__kept *kept, struct tp_map *map)
{
    uint64_t now_us = tp_clock_unix_us();
    map->epoch = now_us > map->epoch ? now_us : map->epoch + 1;
    tp_log(TP_LOG_ERROR, "the log of a map is missing, or not all of it is there; the map begins a new epoch",
           "map=\"%s\" epoch=%" PRIu64 " version=%" PRIu64, kept->name,
           map->epoch, map->version);
    return tp__folder_write_snapshot(folder, kept, map, &kept->tip.keys);
}

/* Applies the log to the snapshot just read; opens it for what comes. */
static int replay(struct tp_folder *folder, struct tp__kept *kept, struct tp_map *map, const char **reason)
{
    char name[TP__FOLDER_NAME_BYTES];
    tp__folder_log_name(name, kept->name, kept->log_epoch, kept->log_version);
    uint8_t *bytes;
    size_t size;
    int error = tp__folder_read(folder, name, &bytes, &size);
    if (error == TP_ERR_NOT_FOUND)
        return lose_log(folder, kept, map);
    if (error != 0)
        return error == TP_ERR_NO_MEMORY ? error : tp__folder_fail(folder, "cannot read a log", kept->name);
    struct tp_maplog_replay result;
    error = tp_maplog_apply(&map, &kept->tip.keys, bytes, size, &result, reason);
    kept->tip.map = map;
    free(bytes);
    if (error != 0)
        return error;
    if (result.good_bytes == 0 || has_gap(folder, kept)) /* no whole header, and no record behind it; or no end */
        return lose_log(folder, kept, map);
    kept->log_fd = openat(folder->fd, name, O_RDWR | O_CLOEXEC);
    if (kept->log_fd < 0)
        return tp__folder_fail(folder, "cannot open a log", kept->name);
    if (result.good_bytes < size) {
        tp_log(TP_LOG_WARN, "the torn end of a log is dropped", "map=\"%s\" bytes=%zu version=%" PRIu64,
               kept->name, size - result.good_bytes,
               kept->tip.map->version);
        if (ftruncate(kept->log_fd, (off_t)result.good_bytes) != 0 || fdatasync(kept->log_fd) != 0)
            return tp__folder_fail(folder, "cannot cut a log", kept->name);
    }
    kept->log_bytes = result.good_bytes;
    kept->log_batches = result.batches;
    return 0;
}

int tp__folder_load_new(struct tp_folder *folder, const char *name, struct tp__kept **out, const char **reason)
{
    *out = NULL;
    *reason = NULL;
    char file[TP__FOLDER_NAME_BYTES];
    tp__folder_file_name(file, name, ".snap");
    uint8_t *bytes;
    size_t size;
    int error = tp__folder_read(folder, file, &bytes, &size);
    if (error != 0)
        return error == TP_ERR_UNAVAILABLE ? tp__folder_fail(folder, "cannot read a snapshot", name) : error;
    struct tp_map *map;
    struct tp_keys keys;
    error = tp_snapshot_decode(&map, &keys, bytes, size, reason);
    free(bytes);
    if (error != 0)
        return error;
    struct tp__kept *kept = tp__folder_add(folder, name);
    if (kept == NULL) {
        tp_map_unref(map);
        tp_keys_fini(&keys);
        return TP_ERR_NO_MEMORY;
    }
    if (folder->held != NULL)
        tp_map_count_in(map, folder->held);
    kept->tip = (struct tp_tip){.map = map, .keys = keys};
    kept->log_epoch = map->epoch;
    kept->log_version = map->version;
    kept->fold_at = folder->fold_batches;
    kept->fold_bytes = TP__FOLDER_FOLD_BYTES;
    error = replay(folder, kept, map, reason);
    if (error != 0) {
        tp__folder_remove(folder, kept);
        return error;
    }
    remove_old_logs(folder, kept);
    *out = kept;
    return 0;
}

void tp_folder_load(struct tp_folder *folder, struct tp_store_event *event)
{
    struct tp__kept *kept = tp__folder_find(folder, event->name);
    event->kind = TP_STORE_REFUSED;
    event->error = kept == NULL ? tp__folder_load_new(folder, event->name, &kept, &event->reason) : 0;
    if (event->error == 0 && kept->tip.map == NULL)
        event->error = TP_ERR_NOT_FOUND;
    if (event->error != 0)
        return;
    event->kind = TP_STORE_LOADED;
    event->map = tp_map_ref(kept->tip.map);
}

/* ---- Dropping ---- */

/* Removes every log and draft of a map that has no snapshot any more; what cannot be removed is told, harms nobody (a
 * log counts only with its snapshot) and goes when a map of that name is loaded again. */
static void remove_logs(struct tp_folder *folder, const char *name)
{
    char draft[TP__FOLDER_NAME_BYTES];
    bool is_done = tp__folder_remove_logs(folder, name, NULL);
    tp__folder_file_name(draft, name, ".snap~");
    unlinkat(folder->fd, draft, 0);
    tp__folder_file_name(draft, name, ".log~");
    unlinkat(folder->fd, draft, 0);
    if (!is_done || fsync(folder->fd) != 0)
        tp_log_words(TP_LOG_WARN, "the logs of a dropped map could not all be removed");
}

/* Whether the map is in that epoch, or nothing is there to be in another: 0. */
static int check_epoch(struct tp_folder *folder, uint64_t epoch, struct tp_store_event *event)
{
    struct tp__kept *kept = tp__folder_find(folder, event->name);
    int error = kept == NULL ? tp__folder_load_new(folder, event->name, &kept, &event->reason) : 0;
    if (error == TP_ERR_NOT_FOUND)
        return 0;
    if (error != 0)
        return error == TP_ERR_CORRUPT ? TP_ERR_FAILED_PRECONDITION : error;
    const struct tp_map *map = kept->tip.map;
    if (map == NULL || map->epoch == epoch)
        return 0;
    event->map = tp_map_ref(map);
    return TP_ERR_FAILED_PRECONDITION;
}

/* The sync behind the unlink failed. A map that is held is written anew; of another nothing is left to do that with, so that what
 * remains is to make sure that it is gone. */
static void doubt_drop(struct tp_folder *folder, struct tp__kept *kept, const char *name)
{
    if (kept == NULL)
        kept = tp__folder_add(folder, name);
    if (kept == NULL)
        return; /* out of memory: a restart will know */
    tp__folder_break(kept);
    kept->owes_gone = kept->tip.map == NULL;
}

/* The snapshot goes first, and that is synced: killed before it, the map stands as it was; after it, there is no map,
 * and logs without one. */
void tp_folder_drop(struct tp_folder *folder, bool has_epoch, uint64_t epoch, struct tp_store_event *event)
{
    char final[TP__FOLDER_NAME_BYTES];
    event->kind = TP_STORE_REFUSED;
    event->error = has_epoch ? check_epoch(folder, epoch, event) : 0;
    if (event->error != 0)
        return;
    struct tp__kept *kept = tp__folder_find(folder, event->name);
    tp__folder_file_name(final, event->name, ".snap");
    if (unlinkat(folder->fd, final, 0) != 0 && errno != ENOENT) {
        event->error = tp__folder_fail(folder, "cannot remove a snapshot", event->name);
    } else if (fsync(folder->fd) != 0) {
        event->error = tp__folder_fail(folder, "cannot sync the folder", event->name);
        event->is_unknown = true;
        doubt_drop(folder, kept, event->name);
    }
    if (event->error != 0) {
        event->map = kept != NULL && kept->tip.map != NULL ? tp_map_ref(kept->tip.map) : NULL;
        return;
    }
    event->kind = TP_STORE_DROPPED;
    if (kept != NULL)
        tp__folder_remove(folder, kept);
    remove_logs(folder, event->name);
    tp__folder_recover(folder);
}

/* ---- The folder ---- */

int tp_folder_list(struct tp_folder *folder, struct tp_names *names)
{
    *names = (struct tp_names){0};
    int error = tp__folder_scan(folder, ".snap", names);
    for (size_t i = 0; i < names->count; i++) {
        names->name[i][strlen(names->name[i]) - strlen(".snap")] = '\0';
        for (char *c = names->name[i]; *c != '\0'; c++)
            if (*c == '+')
                *c = '/';
    }
    if (error != 0)
        tp_names_fini(names);
    return error;
}

static int open_files(struct tp_folder *folder, const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return TP_ERR_IO;
    folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0)
        return TP_ERR_IO;
    folder->lock_fd = openat(folder->fd, "lock~", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    return folder->lock_fd < 0 || flock(folder->lock_fd, LOCK_EX | LOCK_NB) != 0 ? TP_ERR_IO : 0;
}

int tp_folder_open(struct tp_folder *folder, const char *path, uint64_t fold_batches,
                   struct tp_metrics *metrics, char reason[256])
{
    *folder = (struct tp_folder){.metrics = metrics, .fold_batches = fold_batches, .fd = -1, .lock_fd = -1};
    pthread_mutex_init(&folder->status_lock, NULL);
    if (open_files(folder, path) == 0 && tp__folder_scan(folder, ".log", &folder->old_logs) == 0)
        return 0;
    bool is_locked = errno == EWOULDBLOCK;
    snprintf(reason, 256, "data folder %.100s: %s", path, is_locked ? "another daemon uses it" : strerror(errno));
    return is_locked ? TP_ERR_FAILED_PRECONDITION : TP_ERR_IO;
}

void tp_folder_close(struct tp_folder *folder)
{
    while (folder->kept != NULL)
        tp__folder_remove(folder, folder->kept);
    tp_names_fini(&folder->old_logs);
    if (folder->lock_fd >= 0)
        close(folder->lock_fd);
    if (folder->fd >= 0)
        close(folder->fd);
    pthread_mutex_destroy(&folder->status_lock);
}
