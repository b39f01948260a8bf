/* The happy path of a batch: tp_folder_append() puts its record behind the log's last and syncs. The failure
 * modes stand in folder.h.
 *
 * A snapshot never comes into sight without its log, so that a missing log is known for what it is: lost. The steps of
 * write_snapshot(), from snapshot S0 with log L0 to S1 with L1, and what a restart finds when the daemon was killed
 * behind each (in any order that a file system may give to what was not yet synced):
 *
 *     1 S1's draft written, synced           S0, L0; a draft, perhaps torn: nobody reads it, the next one overwrites it
 *     2 L1's draft written, synced           S0, L0; another draft
 *     3 L1's draft renamed, folder synced    S0, L0, L1: L1 names another snapshot and is removed
 *     4 S1's draft renamed                   S0, L0, L1, or S1, L0, L1: the log is chosen by the snapshot that is there
 *     5 folder synced                        S1, L0, L1: acknowledged from here on; L0 is removed
 *     6 L0 removed                           S1, L1
 *
 * L1 has L0's name when a broken map is written anew at the version of its snapshot. Nothing in that L0 was ever
 * acknowledged, and L1 takes its place whole, by the rename. A log is never made at another time; its header is whole
 * once it has its name. So a snapshot without a log, or whose log is no whole header, or does not reach the version at which
 * another log of its epoch begins, is a loss: lose_log() begins a new epoch, in a snapshot written as above: killed in its
 * midst, the next start finds the loss again. (A snapshot that mends a broken log may be taken for one as well, if the daemon
 * is killed between its steps 3 and 5: the new epoch costs its clients a read.)
 */
#include "daemon/folder.h"

#include "daemon/clock.h"
#include "daemon/folder_files.h"
#include "daemon/log.h"
#include "daemon/maplog.h"
#include "daemon/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FOLD_BYTES = 64 * 1024 * 1024, /* a log of so many bytes is folded, however few its batches */
};

/* What is on the disk of one map. */
struct kept {
    struct kept *next;
    char name[TP_WORLD_NAME_MAX + 1];
    struct tp_map *durable;          /* newest version acknowledged, or loaded */
    struct tp_keys keys;             /* of the batches applied to it last */
    uint64_t log_epoch, log_version; /* the snapshot the log belongs to */
    int log_fd;                      /* -1: broken, or nothing was ever kept */
    uint64_t log_bytes, fold_bytes;  /* written and synced; how many make the log long */
    uint64_t log_batches, fold_at;   /* likewise of batches */
    bool is_broken;
};

/* ---- Status ---- */

void tp_folder_status(struct tp_folder *folder, struct tp_store_status *out)
{
    pthread_mutex_lock(&folder->status_lock);
    *out = folder->status;
    pthread_mutex_unlock(&folder->status_lock);
}

/* Says what failed, with errno's words. Returns TP_ERR_UNAVAILABLE. */
static int fail(struct tp_folder *folder, const char *what, const char *name)
{
    const char *words = strerror(errno);
    char quoted[TP_WORLD_NAME_MAX + 8];
    tp_metric_add(&folder->metrics->store_errors, 1);
    tp_log(TP_LOG_ERROR, "the store failed", "what=\"%s\" map=%s error=\"%s\"", what,
           tp_log_quote(quoted, sizeof quoted, name), words);
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

/* Something worked: all is well again, unless another map is still broken. */
static void recover(struct tp_folder *folder)
{
    if (!tp_folder_is_degraded(folder))
        return;
    for (const struct kept *kept = folder->kept; kept != NULL; kept = kept->next)
        if (kept->is_broken)
            return;
    pthread_mutex_lock(&folder->status_lock);
    folder->status = (struct tp_store_status){.state = TP_STORE_OK};
    pthread_mutex_unlock(&folder->status_lock);
    tp_log_words(TP_LOG_INFO, "the store works again");
}

/* ---- Maps kept ---- */

static struct kept *find_kept(struct tp_folder *folder, const char *name)
{
    struct kept *kept = folder->kept;
    while (kept != NULL && strcmp(kept->name, name) != 0)
        kept = kept->next;
    return kept;
}

static struct kept *add_kept(struct tp_folder *folder, const char *name)
{
    struct kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return NULL;
    tp_world_name_copy(kept->name, name);
    kept->log_fd = -1;
    kept->next = folder->kept;
    folder->kept = kept;
    return kept;
}

static void free_kept(struct kept *kept)
{
    if (kept->log_fd >= 0)
        close(kept->log_fd);
    tp_map_unref(kept->durable);
    tp_keys_fini(&kept->keys);
    free(kept);
}

static void set_durable(struct kept *kept, const struct tp_map *map)
{
    tp_map_ref(map);
    tp_map_unref(kept->durable);
    kept->durable = (struct tp_map *)map;
}

static void break_kept(struct kept *kept)
{
    if (kept->log_fd >= 0)
        close(kept->log_fd);
    kept->log_fd = -1;
    kept->is_broken = true;
}

/* ---- Snapshots ---- */

/* Makes the empty log of the snapshot `map`, in place of whatever has its name, and syncs it and the folder. Gives it
 * open; -1 with errno. */
static int create_log(struct tp_folder *folder, const char *map_name, const struct tp_map *map)
{
    char draft[TP__FOLDER_NAME_BYTES], final[TP__FOLDER_NAME_BYTES];
    uint8_t header[TP_MAPLOG_HEADER_BYTES];
    tp__folder_file_name(draft, map_name, ".log~");
    tp__folder_log_name(final, map_name, map->epoch, map->version);
    tp_maplog_header(header, map->epoch, map->version);
    int fd = openat(folder->fd, draft, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    if (tp__folder_write_all(fd, header, sizeof header, 0) && tp__folder_sync(folder, fd) &&
        renameat(folder->fd, draft, folder->fd, final) == 0 && fsync(folder->fd) == 0)
        return fd;
    int saved = errno;
    close(fd);
    unlinkat(folder->fd, draft, 0);
    errno = saved;
    return -1;
}

/* Writes the drafts of a snapshot and the log that goes with it (steps 1 to 3 above). Gives the log open; -1 after
 * saying why. */
static int prepare_snapshot(struct tp_folder *folder, struct kept *kept, const struct tp_map *map,
                            const char *draft, const uint8_t *bytes, size_t size)
{
    if (!tp__folder_write_draft(folder, draft, bytes, size)) {
        (void)fail(folder, "cannot write a snapshot", kept->name);
        return -1;
    }
    int log_fd = create_log(folder, kept->name, map);
    if (log_fd < 0) {
        (void)fail(folder, "cannot make the log of a snapshot", kept->name);
        unlinkat(folder->fd, draft, 0);
    }
    return log_fd;
}

/* What is kept is `map` with an empty log from now on. */
static void begin_log(struct tp_folder *folder, struct kept *kept, const struct tp_map *map, int log_fd)
{
    if (kept->log_fd >= 0)
        close(kept->log_fd);
    kept->log_fd = log_fd;
    kept->log_bytes = TP_MAPLOG_HEADER_BYTES;
    kept->log_batches = 0;
    kept->fold_at = folder->fold_batches;
    kept->fold_bytes = FOLD_BYTES;
    kept->log_epoch = map->epoch;
    kept->log_version = map->version;
    kept->is_broken = false;
    set_durable(kept, map);
}

/* Makes `map` what is kept under kept->name, with these keys and an empty log. */
static int write_snapshot(struct tp_folder *folder, struct kept *kept, const struct tp_map *map,
                          const struct tp_keys *keys)
{
    char draft[TP__FOLDER_NAME_BYTES], final[TP__FOLDER_NAME_BYTES], old_log[TP__FOLDER_NAME_BYTES],
        new_log[TP__FOLDER_NAME_BYTES];
    tp__folder_file_name(draft, kept->name, ".snap~");
    tp__folder_file_name(final, kept->name, ".snap");
    tp__folder_log_name(old_log, kept->name, kept->log_epoch, kept->log_version);
    tp__folder_log_name(new_log, kept->name, map->epoch, map->version);
    uint8_t *bytes;
    size_t size;
    int error = tp_snapshot_encode_keyed(map, keys, &bytes, &size);
    if (error != 0)
        return error;
    int log_fd = prepare_snapshot(folder, kept, map, draft, bytes, size);
    free(bytes);
    if (log_fd < 0)
        return TP_ERR_UNAVAILABLE;
    if (renameat(folder->fd, draft, folder->fd, final) != 0 || fsync(folder->fd) != 0) {
        error = fail(folder, "cannot put a snapshot into place", kept->name);
        close(log_fd);
        break_kept(kept);
        return error;
    }
    if (kept->durable != NULL && strcmp(old_log, new_log) != 0) /* else there was no log of ours */
        unlinkat(folder->fd, old_log, 0);
    begin_log(folder, kept, map, log_fd);
    tp_metric_add(&folder->metrics->store_writes, 1);
    tp_metric_add(&folder->metrics->store_snapshots, 1);
    tp_metric_add(&folder->metrics->store_written_bytes, size);
    recover(folder);
    return 0;
}

/* ---- The log ---- */

/* Whether the log still has a name: what is written to a removed file is on disk and lost all the same. False with
 * errno. */
static bool has_name(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    errno = ENOENT;
    return status.st_nlink > 0;
}

/* Writes one record and syncs it; false with errno, the file cut back as far as that can be done. */
static bool write_record(struct tp_folder *folder, struct kept *kept, const uint8_t *record, size_t size)
{
    if (tp__folder_write_all(kept->log_fd, record, size, kept->log_bytes) &&
        tp__folder_sync(folder, kept->log_fd) && has_name(kept->log_fd)) {
        kept->log_bytes += size;
        return true;
    }
    int saved = errno;
    if (ftruncate(kept->log_fd, (off_t)kept->log_bytes) != 0 || fdatasync(kept->log_fd) != 0)
        tp_log(TP_LOG_ERROR, "a log could not be cut back", "error=\"%s\"", strerror(errno));
    errno = saved;
    return false;
}

/* Adds the keys of batches[0..count) to `keys`, which have room. */
static void add_keys(struct tp_keys *keys, struct tp_folder_batch **batches, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tp_key key;
        tp_batch_key(batches[i]->bytes, batches[i]->size, &key);
        tp_keys_add(keys, &key, batches[i]->after->version);
    }
}

/* Instead of the record a whole snapshot, which mends the map. */
static int append_snapshot(struct tp_folder *folder, struct kept *kept, struct tp_folder_batch **batches, uint32_t count)
{
    struct tp_keys keys; /* with those of the batches, which count only once the snapshot is there */
    if (tp_keys_copy(&keys, &kept->keys) != 0)
        return TP_ERR_NO_MEMORY;
    add_keys(&keys, batches, count);
    int error = write_snapshot(folder, kept, batches[count - 1]->after, &keys);
    if (error != 0) {
        tp_keys_fini(&keys);
        return error;
    }
    tp_keys_fini(&kept->keys);
    kept->keys = keys;
    return 0;
}

/* Makes sure that the keys of batches[0..count) find room. */
static int reserve_keys(struct tp_keys *keys, struct tp_folder_batch **batches, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tp_key key;
        tp_batch_key(batches[i]->bytes, batches[i]->size, &key);
        if (tp_key_is_set(&key))
            return tp_keys_reserve(keys);
    }
    return 0;
}

/* Writes the batches of batches[0..count), which all belong to `kept` and follow what it holds. */
static int append_record(struct tp_folder *folder, struct kept *kept, struct tp_folder_batch **batches,
                         uint32_t count)
{
    const struct tp_map *after = batches[count - 1]->after;
    int error = reserve_keys(&kept->keys, batches, count);
    if (error != 0)
        return error;
    if (kept->is_broken)
        return append_snapshot(folder, kept, batches, count);
    struct tp_maplog_batch *parts = malloc(count * sizeof *parts);
    if (parts == NULL)
        return TP_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (struct tp_maplog_batch){batches[i]->bytes, batches[i]->size};
    uint8_t *record = NULL;
    size_t size = 0;
    error = tp_maplog_record(&record, &size, parts, count, batches[0]->after->version);
    free(parts);
    if (error != 0)
        return error;
    bool is_written = write_record(folder, kept, record, size);
    free(record);
    if (!is_written) {
        error = fail(folder, "cannot write the log", kept->name);
        break_kept(kept);
        return error;
    }
    kept->log_batches += count;
    set_durable(kept, after);
    add_keys(&kept->keys, batches, count);
    tp_metric_add(&folder->metrics->store_writes, count);
    tp_metric_add(&folder->metrics->store_written_bytes, size);
    return 0;
}

void tp_folder_append(struct tp_folder *folder, struct tp_folder_batch **batches, uint32_t count)
{
    struct kept *kept = find_kept(folder, batches[0]->name);
    for (uint32_t i = 0; i < count; i++)
        batches[i]->error = TP_ERR_UNAVAILABLE;
    if (kept == NULL || kept->durable == NULL)
        return; /* its put failed */
    uint64_t epoch = kept->durable->epoch, version = kept->durable->version;
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct tp_folder_batch *batch = batches[i];
        if (batch->after->epoch == epoch && batch->after->version == version + fitting + 1)
            batches[fitting++] = batch; /* what it overwrites does not fit, and has failed already */
    }
    int error = fitting > 0 ? append_record(folder, kept, batches, fitting) : 0;
    for (uint32_t i = 0; i < fitting; i++)
        batches[i]->error = error;
}

int tp_folder_put(struct tp_folder *folder, const char *name, const struct tp_map *map)
{
    struct kept *kept = find_kept(folder, name);
    if (kept == NULL)
        kept = add_kept(folder, name);
    int error = kept == NULL ? TP_ERR_NO_MEMORY : write_snapshot(folder, kept, map, NULL);
    if (error == 0)
        tp_keys_fini(&kept->keys);
    return error;
}

/* Writes the log of every map that has grown long as a snapshot. */
void tp_folder_fold(struct tp_folder *folder)
{
    for (struct kept *kept = folder->kept; kept != NULL; kept = kept->next) {
        if (kept->is_broken || kept->durable == NULL ||
            (kept->log_batches < kept->fold_at && kept->log_bytes < kept->fold_bytes))
            continue;
        kept->fold_at = kept->log_batches + folder->fold_batches; /* not at every append, should it fail */
        kept->fold_bytes = kept->log_bytes + FOLD_BYTES;
        if (write_snapshot(folder, kept, kept->durable, &kept->keys) != 0)
            tp_log_words(TP_LOG_WARN, "a log could not be folded into a snapshot; it goes on growing");
    }
}

/* Makes the disk hold again what a broken map has: its last acknowledged version, or nothing. False: not yet.
 */
static bool mend(struct tp_folder *folder, struct kept *kept)
{
    if (kept->durable != NULL)
        return write_snapshot(folder, kept, kept->durable, &kept->keys) == 0;
    char final[TP__FOLDER_NAME_BYTES];
    tp__folder_file_name(final, kept->name, ".snap");
    if ((unlinkat(folder->fd, final, 0) != 0 && errno != ENOENT) || fsync(folder->fd) != 0)
        return false;
    kept->is_broken = false;
    return true;
}

void tp_folder_retry(struct tp_folder *folder)
{
    bool is_mended = true;
    for (struct kept *kept = folder->kept; kept != NULL; kept = kept->next)
        if (kept->is_broken && !mend(folder, kept))
            is_mended = false; /* which is no reason to leave the next one broken */
    if (!is_mended)
        return;
    static const uint8_t probe[4096];
    if (tp_folder_is_degraded(folder) && tp__folder_write_draft(folder, "probe~", probe, sizeof probe) &&
        unlinkat(folder->fd, "probe~", 0) == 0)
        recover(folder);
}

/* ---- Loading ---- */

/* Removes logs of other snapshots of this map: left behind when the daemon was killed between the two steps.
 */
static void remove_old_logs(struct tp_folder *folder, const struct kept *kept)
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
static bool has_gap(const struct tp_folder *folder, const struct kept *kept)
{
    char reached[TP__FOLDER_NAME_BYTES];
    tp__folder_log_name(reached, kept->name, kept->durable->epoch, kept->durable->version);
    size_t common = strlen(reached) - strlen("0123456789abcdef.log"); /* the version's digits are all that differs */
    for (size_t i = 0; i < folder->old_logs.count; i++) {
        const char *other = folder->old_logs.name[i];
        if (strlen(other) == strlen(reached) && strncmp(other, reached, common) == 0 && strcmp(other, reached) > 0)
            return true;
    }
    return false;
}

/* The snapshot just read has no log, or not all of it: what was acknowledged after it may be lost, so the map goes on from what
 * is there in a new epoch, which is on disk before anybody hears of it. */
static int lose_log(struct tp_folder *folder, struct kept *kept)
{
    struct tp_map *map = kept->durable; /* fresh from the disk and nobody else's yet */
    uint64_t now_us = tp_clock_unix_us();
    char quoted[TP_WORLD_NAME_MAX + 8];
    map->epoch = now_us > map->epoch ? now_us : map->epoch + 1;
    tp_log(TP_LOG_ERROR, "the log of a map is missing, or not all of it is there; the map begins a new epoch",
           "map=%s epoch=%" PRIu64 " version=%" PRIu64, tp_log_quote(quoted, sizeof quoted, kept->name),
           map->epoch, map->version);
    return write_snapshot(folder, kept, map, &kept->keys);
}

/* Applies the log to the snapshot just read; opens it for what comes. */
static int replay(struct tp_folder *folder, struct kept *kept, const char **reason)
{
    char name[TP__FOLDER_NAME_BYTES];
    tp__folder_log_name(name, kept->name, kept->log_epoch, kept->log_version);
    uint8_t *bytes;
    size_t size;
    int error = tp__folder_read(folder, name, &bytes, &size);
    if (error == TP_ERR_NOT_FOUND)
        return lose_log(folder, kept);
    if (error != 0)
        return error == TP_ERR_NO_MEMORY ? error : fail(folder, "cannot read a log", kept->name);
    struct tp_maplog_replay result;
    error = tp_maplog_apply(&kept->durable, &kept->keys, bytes, size, &result, reason);
    free(bytes);
    if (error != 0)
        return error;
    if (result.good_bytes == 0 || has_gap(folder, kept)) /* no whole header, and no record behind it; or no end */
        return lose_log(folder, kept);
    kept->log_fd = openat(folder->fd, name, O_RDWR | O_CLOEXEC);
    if (kept->log_fd < 0)
        return fail(folder, "cannot open a log", kept->name);
    if (result.good_bytes < size) {
        char quoted[TP_WORLD_NAME_MAX + 8];
        tp_log(TP_LOG_WARN, "the torn end of a log is dropped", "map=%s bytes=%zu version=%" PRIu64,
               tp_log_quote(quoted, sizeof quoted, kept->name), size - result.good_bytes,
               kept->durable->version);
        if (ftruncate(kept->log_fd, (off_t)result.good_bytes) != 0 || fdatasync(kept->log_fd) != 0)
            return fail(folder, "cannot cut a log", kept->name);
    }
    kept->log_bytes = result.good_bytes;
    kept->log_batches = result.batches;
    return 0;
}

static int load_new(struct tp_folder *folder, const char *name, struct kept **out, const char **reason)
{
    char file[TP__FOLDER_NAME_BYTES];
    tp__folder_file_name(file, name, ".snap");
    uint8_t *bytes;
    size_t size;
    int error = tp__folder_read(folder, file, &bytes, &size);
    if (error != 0)
        return error == TP_ERR_UNAVAILABLE ? fail(folder, "cannot read a snapshot", name) : error;
    struct tp_map *map;
    struct tp_keys keys;
    error = tp_snapshot_decode_keyed(&map, &keys, bytes, size, reason);
    free(bytes);
    if (error != 0)
        return error;
    struct kept *kept = add_kept(folder, name);
    if (kept == NULL) {
        tp_map_unref(map);
        tp_keys_fini(&keys);
        return TP_ERR_NO_MEMORY;
    }
    kept->durable = map;
    kept->keys = keys;
    kept->log_epoch = map->epoch;
    kept->log_version = map->version;
    kept->fold_at = folder->fold_batches;
    kept->fold_bytes = FOLD_BYTES;
    error = replay(folder, kept, reason);
    if (error != 0) {
        folder->kept = kept->next; /* it was added first */
        free_kept(kept);
        return error;
    }
    remove_old_logs(folder, kept);
    *out = kept;
    return 0;
}

int tp_folder_load(struct tp_folder *folder, const char *name, struct tp_map **map, struct tp_keys *keys,
                   const char **reason)
{
    struct kept *kept = find_kept(folder, name);
    *map = NULL;
    *keys = (struct tp_keys){0};
    *reason = NULL;
    if (kept == NULL) {
        int error = load_new(folder, name, &kept, reason);
        if (error != 0)
            return error;
    }
    if (kept->durable == NULL)
        return TP_ERR_NOT_FOUND;
    if (tp_keys_copy(keys, &kept->keys) != 0)
        return TP_ERR_NO_MEMORY;
    tp_map_ref(kept->durable);
    *map = kept->durable;
    return 0;
}

/* ---- Dropping ---- */

/* Removes every log and draft of a map that has no snapshot any more; what cannot be removed is told, harms nobody (a
 * log counts only with its snapshot) and goes when a map of that name is loaded again. */
static void remove_logs(struct tp_folder *folder, const char *name)
{
    char prefix[TP__FOLDER_NAME_BYTES], draft[TP__FOLDER_NAME_BYTES];
    struct tp_names logs = {0};
    tp__folder_file_name(prefix, name, "~");
    bool is_done = tp__folder_scan(folder, ".log", &logs) == 0;
    for (size_t i = 0; i < logs.count; i++)
        if (strncmp(logs.name[i], prefix, strlen(prefix)) == 0 && unlinkat(folder->fd, logs.name[i], 0) != 0)
            is_done = false;
    tp_names_fini(&logs);
    tp__folder_file_name(draft, name, ".snap~");
    unlinkat(folder->fd, draft, 0);
    tp__folder_file_name(draft, name, ".log~");
    unlinkat(folder->fd, draft, 0);
    if (!is_done || fsync(folder->fd) != 0)
        tp_log_words(TP_LOG_WARN, "the logs of a dropped map could not all be removed");
}

/* The snapshot goes first, and that is synced: killed before it, the map stands as it was; after it, there is no map,
 * and logs without one. */
int tp_folder_drop(struct tp_folder *folder, const char *name)
{
    char final[TP__FOLDER_NAME_BYTES];
    struct kept **link = &folder->kept;
    while (*link != NULL && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    struct kept *kept = *link;
    tp__folder_file_name(final, name, ".snap");
    if (unlinkat(folder->fd, final, 0) != 0 && errno != ENOENT)
        return fail(folder, "cannot remove a snapshot", name);
    if (fsync(folder->fd) != 0) { /* nobody knows whether it is gone */
        int error = fail(folder, "cannot sync the folder", name);
        if (kept != NULL)
            break_kept(kept);
        return error;
    }
    if (kept != NULL) {
        *link = kept->next;
        free_kept(kept);
    }
    remove_logs(folder, name);
    recover(folder);
    return 0;
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
    snprintf(reason, 256, "data folder %.100s: %s", path,
             errno == EWOULDBLOCK ? "another daemon uses it" : strerror(errno));
    return TP_ERR_IO;
}

void tp_folder_close(struct tp_folder *folder)
{
    while (folder->kept != NULL) {
        struct kept *kept = folder->kept;
        folder->kept = kept->next;
        free_kept(kept);
    }
    tp_names_fini(&folder->old_logs);
    if (folder->lock_fd >= 0)
        close(folder->lock_fd);
    if (folder->fd >= 0)
        close(folder->fd);
    pthread_mutex_destroy(&folder->status_lock);
}
