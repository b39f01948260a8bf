/* The happy path of batches: tp_folder_submit() decides about them ahead of what is kept, puts the record of those that are
 * accepted behind the log's last, syncs, and then what is kept goes there too. The failure modes stand in folder.h.
 *
 * A snapshot never comes into sight without its log, so that a missing log is known for what it is: lost. The steps of
 * tp__folder_write_snapshot(), from snapshot S0 with log L0 to S1 with L1, and what a restart finds when the daemon was killed
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
 * is killed between its steps 3 and 5: the new epoch costs its clients a read.) A step that fails while the daemon lives on must
 * not look like that to the next start: forget_log() and set_in_sight() remove the log that would, and a broken map loses all but its
 * own once it is mended.
 */
#include "daemon/store/folder.h"

#include "daemon/store/folder_files.h"
#include "daemon/store/folder_internal.h"
#include "daemon/log.h"
#include "daemon/store/maplog.h"
#include "daemon/store/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The snapshot of which this is the log did not come into sight: nor must the log stay there, which a load would take for what led to
 * it. One that took the place of the log before, under its name, is empty as that was, but for what nobody was told. */
static void forget_log(struct tp_folder *folder, const struct tp__kept *kept, const struct tp_map *map)
{
    char log[TP__FOLDER_NAME_BYTES];
    tp__folder_log_name(log, kept->name, map->epoch, map->version);
    if (map->epoch != kept->log_epoch || map->version != kept->log_version)
        unlinkat(folder->fd, log, 0);
}

/* The snapshot of `map` has its name, though nobody knows whether a restart would find it: nor must there be the log of one that had it
 * before, was further on, and was in doubt as well. */
static void set_in_sight(struct tp_folder *folder, struct tp__kept *kept, const struct tp_map *map)
{
    char log[TP__FOLDER_NAME_BYTES];
    tp__folder_log_name(log, kept->name, kept->log_epoch, kept->log_version);
    if (kept->log_epoch == map->epoch && kept->log_version > map->version)
        unlinkat(folder->fd, log, 0);
    kept->log_epoch = map->epoch;
    kept->log_version = map->version;
}

/* Writes the drafts of a snapshot and the log that goes with it (steps 1 to 3 above). Gives the log open; -1 after
 * saying why. */
static int prepare_snapshot(struct tp_folder *folder, struct tp__kept *kept, const struct tp_map *map,
                            const char *draft, const uint8_t *bytes, size_t size)
{
    if (!tp__folder_write_draft(folder, draft, bytes, size)) {
        (void)tp__folder_fail(folder, "cannot write a snapshot", kept->name);
        return -1;
    }
    int log_fd = create_log(folder, kept->name, map);
    if (log_fd < 0) {
        (void)tp__folder_fail(folder, "cannot make the log of a snapshot", kept->name);
        unlinkat(folder->fd, draft, 0);
        forget_log(folder, kept, map);
    }
    return log_fd;
}

/* What the disk holds is `map` with an empty log from now on. */
static void begin_log(struct tp_folder *folder, struct tp__kept *kept, const struct tp_map *map, int log_fd)
{
    if (kept->log_fd >= 0)
        close(kept->log_fd);
    kept->log_fd = log_fd;
    kept->log_bytes = TP_MAPLOG_HEADER_BYTES;
    kept->log_batches = 0;
    kept->fold_at = folder->fold_batches;
    kept->fold_bytes = TP__FOLDER_FOLD_BYTES;
    kept->log_epoch = map->epoch;
    kept->log_version = map->version;
    kept->is_broken = false;
}

int tp__folder_write_snapshot(struct tp_folder *folder, struct tp__kept *kept, const struct tp_map *map,
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
    kept->is_in_doubt = false;
    int error = tp_snapshot_encode(map, keys, &bytes, &size);
    if (error != 0)
        return error;
    int log_fd = prepare_snapshot(folder, kept, map, draft, bytes, size);
    free(bytes);
    if (log_fd < 0)
        return TP_ERR_UNAVAILABLE;
    bool is_renamed = renameat(folder->fd, draft, folder->fd, final) == 0;
    if (!is_renamed || fsync(folder->fd) != 0) {
        error = tp__folder_fail(folder, "cannot put a snapshot into place", kept->name);
        close(log_fd);
        if (!is_renamed)
            forget_log(folder, kept, map);
        else
            set_in_sight(folder, kept, map);
        tp__folder_break(kept);
        kept->is_in_doubt = true;
        return error;
    }
    if (kept->is_broken) /* perhaps it has more than one */
        (void)tp__folder_remove_logs(folder, kept->name, new_log);
    else if (kept->tip.map != NULL && strcmp(old_log, new_log) != 0) /* else there was no log of ours */
        unlinkat(folder->fd, old_log, 0);
    begin_log(folder, kept, map, log_fd);
    tp_metric_add(&folder->metrics->store_snapshots, 1);
    tp_metric_add(&folder->metrics->store_written_bytes, size);
    tp__folder_recover(folder);
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
static bool write_record(struct tp_folder *folder, struct tp__kept *kept, const uint8_t *record, size_t size)
{
    if (tp__folder_write_all(kept->log_fd, record, size, kept->log_bytes) &&
        tp__folder_sync(folder, kept->log_fd) && has_name(kept->log_fd)) {
        kept->log_bytes += size;
        return true;
    }
    int saved = errno;
    kept->is_in_doubt = ftruncate(kept->log_fd, (off_t)kept->log_bytes) != 0 || fdatasync(kept->log_fd) != 0;
    if (kept->is_in_doubt)
        tp_log(TP_LOG_ERROR, "a log could not be cut back", "error=\"%s\"", strerror(errno));
    errno = saved;
    return false;
}

/* Gives the record of the batches that were accepted. */
static int encode_record(struct tp_folder_batch **batches, uint32_t count, uint32_t accepted, uint64_t first_version,
                         uint8_t **record, size_t *size)
{
    struct tp_maplog_batch *parts = malloc(accepted * sizeof *parts);
    uint32_t encoded = 0;
    int error = parts == NULL ? TP_ERR_NO_MEMORY : 0;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        const struct tp_batch *batch = batches[i]->batch;
        uint8_t *bytes;
        if (batches[i]->event.kind != TP_STORE_VERSION)
            continue;
        error = tp_batch_encode(batch->changes, batch->count, &batch->key, &bytes, &parts[encoded].size);
        if (error == 0)
            parts[encoded++].bytes = bytes;
    }
    if (error == 0)
        error = tp_maplog_record(record, size, parts, encoded, first_version);
    while (encoded > 0)
        free((void *)parts[--encoded].bytes);
    free(parts);
    return error;
}

/* Writes the batches that were accepted, which lead from what is kept to `ahead`: as a record, or where the map is broken as a whole
 * snapshot, which mends it. */
static int write_batches(struct tp_folder *folder, struct tp__kept *kept, const struct tp_tip *ahead,
                         struct tp_folder_batch **batches, uint32_t count, uint32_t accepted)
{
    if (kept->is_broken)
        return tp__folder_write_snapshot(folder, kept, ahead->map, &ahead->keys);
    uint8_t *record;
    size_t size;
    int error = encode_record(batches, count, accepted, kept->tip.map->version + 1, &record, &size);
    if (error != 0)
        return error;
    bool is_written = write_record(folder, kept, record, size);
    free(record);
    if (!is_written) {
        error = tp__folder_fail(folder, "cannot write the log", kept->name);
        tp__folder_break(kept);
        return error;
    }
    kept->log_batches += accepted;
    tp_metric_add(&folder->metrics->store_batches, accepted);
    tp_metric_add(&folder->metrics->store_written_bytes, size);
    return 0;
}

/* Decides about each batch at `ahead`, which goes with those that are accepted. Gives how many are. */
static uint32_t decide(struct tp_tip *ahead, struct tp_folder_batch **batches, uint32_t count)
{
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct tp_store_event *event = &batches[i]->event;
        event->error = tp_tip_apply(ahead, batches[i]->batch, &event->version, &event->refused);
        event->kind = event->error != 0 ? TP_STORE_REFUSED : event->version != 0 ? TP_STORE_REPEATED : TP_STORE_VERSION;
        event->map = tp_map_ref(ahead->map);
        accepted += event->kind == TP_STORE_VERSION;
    }
    return accepted;
}

/* The accepted batches could not be written: what was decided ahead of `map`, and would not be decided so there, is refused. */
static void take_back(const struct tp_map *map, struct tp_folder_batch **batches, uint32_t count, int error, bool is_in_doubt)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tp_store_event *event = &batches[i]->event;
        bool was_ahead = event->map->version > map->version;
        bool is_of_one = event->kind == TP_STORE_VERSION || (event->kind == TP_STORE_REPEATED && event->version > map->version);
        tp_map_unref(event->map);
        event->map = tp_map_ref(map);
        if (!is_of_one && !(was_ahead && event->error == TP_ERR_VERSION_MISMATCH && event->refused.why == TP_TIP_BASE))
            continue;
        event->kind = TP_STORE_REFUSED;
        event->error = error;
        event->version = 0;
        event->refused = (struct tp_tip_refused){0};
        event->is_unknown = is_of_one && error == TP_ERR_UNAVAILABLE && is_in_doubt;
    }
}

static void refuse_all(struct tp_folder_batch **batches, uint32_t count, int error, const struct tp_map *map)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tp_store_event *event = &batches[i]->event;
        event->kind = TP_STORE_REFUSED;
        event->error = error;
        event->map = map == NULL ? NULL : tp_map_ref(map);
    }
}

void tp_folder_submit(struct tp_folder *folder, struct tp_folder_batch **batches, uint32_t count)
{
    struct tp__kept *kept = tp__folder_find(folder, batches[0]->event.name);
    if (kept == NULL || kept->tip.map == NULL) {
        refuse_all(batches, count, TP_ERR_NOT_FOUND, NULL);
        return;
    }
    bool has_key = false;
    for (uint32_t i = 0; i < count; i++)
        has_key = has_key || tp_key_is_set(&batches[i]->batch->key);
    struct tp_tip ahead = {.keys = kept->tip.keys}; /* to be looked at; where a batch may add its own, a copy */
    if (has_key && tp_keys_copy(&ahead.keys, &kept->tip.keys) != 0) {
        refuse_all(batches, count, TP_ERR_NO_MEMORY, kept->tip.map);
        return;
    }
    ahead.map = tp_map_ref(kept->tip.map);
    uint32_t accepted = decide(&ahead, batches, count);
    int error = accepted == 0 ? 0 : write_batches(folder, kept, &ahead, batches, count, accepted);
    if (error != 0)
        take_back(kept->tip.map, batches, count, error, kept->is_in_doubt);
    struct tp_tip gone = error != 0 ? ahead : kept->tip;
    kept->tip = error != 0 ? kept->tip : ahead;
    tp_map_unref(gone.map);
    if (has_key)
        tp_keys_fini(&gone.keys);
}

/* Whether a map may be put: TP_ERR_ALREADY_EXISTS where one is kept, readable or not. */
static int check_absent(struct tp_folder *folder, const struct tp__kept *kept, const char *name)
{
    if (kept != NULL)
        return kept->tip.map != NULL ? TP_ERR_ALREADY_EXISTS : 0;
    char file[TP__FOLDER_NAME_BYTES];
    struct stat status;
    tp__folder_file_name(file, name, ".snap");
    if (fstatat(folder->fd, file, &status, 0) == 0)
        return TP_ERR_ALREADY_EXISTS;
    return errno == ENOENT ? 0 : tp__folder_fail(folder, "cannot look for a snapshot", name);
}

/* A map that is kept but not held is read before it is replaced: should its place be left in doubt, it can be written anew. */
void tp_folder_put(struct tp_folder *folder, const struct tp_map *map, bool replace, struct tp_store_event *event)
{
    const char *name = event->name, *reason;
    struct tp__kept *kept = tp__folder_find(folder, name);
    int error = replace ? 0 : check_absent(folder, kept, name);
    bool is_corrupt = false;
    if (replace && kept == NULL) {
        error = tp__folder_load_new(folder, name, &kept, &reason);
        is_corrupt = error == TP_ERR_CORRUPT;
        if (is_corrupt || error == TP_ERR_NOT_FOUND)
            error = 0;
    }
    if (error == 0 && kept == NULL && (kept = tp__folder_add(folder, name)) == NULL)
        error = TP_ERR_NO_MEMORY;
    if (error == 0) {
        error = tp__folder_write_snapshot(folder, kept, map, NULL);
        event->is_unknown = error == TP_ERR_UNAVAILABLE && kept->is_in_doubt;
        if (error != 0 && kept->tip.map == NULL && (is_corrupt || !kept->is_broken)) {
            tp__folder_remove(folder, kept); /* what the disk has is as it was, or whoever repairs it looks there */
            kept = NULL;
        }
    }
    event->kind = error == 0 ? TP_STORE_BEGUN : TP_STORE_REFUSED;
    event->error = error;
    if (error == 0) {
        tp_tip_begin(&kept->tip, map);
        kept->owes_gone = false;
    }
    if (kept != NULL && kept->tip.map != NULL)
        event->map = tp_map_ref(kept->tip.map);
}

/* Writes the log of every map that has grown long as a snapshot. */
void tp_folder_fold(struct tp_folder *folder)
{
    for (struct tp__kept *kept = folder->kept; kept != NULL; kept = kept->next) {
        if (kept->is_broken || kept->tip.map == NULL ||
            (kept->log_batches < kept->fold_at && kept->log_bytes < kept->fold_bytes))
            continue;
        kept->fold_at = kept->log_batches + folder->fold_batches; /* not at every append, should it fail */
        kept->fold_bytes = kept->log_bytes + TP__FOLDER_FOLD_BYTES;
        if (tp__folder_write_snapshot(folder, kept, kept->tip.map, &kept->tip.keys) != 0)
            tp_log_words(TP_LOG_WARN, "a log could not be folded into a snapshot; it goes on growing");
    }
}

/* Makes the disk hold again what a broken map has: its last acknowledged version, or nothing. False: not yet.
 */
static bool mend(struct tp_folder *folder, struct tp__kept *kept, tp_folder_gone_cb gone, void *context)
{
    if (kept->tip.map != NULL)
        return tp__folder_write_snapshot(folder, kept, kept->tip.map, &kept->tip.keys) == 0;
    char final[TP__FOLDER_NAME_BYTES];
    tp__folder_file_name(final, kept->name, ".snap");
    if ((unlinkat(folder->fd, final, 0) != 0 && errno != ENOENT) || fsync(folder->fd) != 0)
        return false;
    if (kept->owes_gone && !gone(context, kept->name))
        return false;
    tp__folder_remove(folder, kept);
    return true;
}

void tp_folder_retry(struct tp_folder *folder, tp_folder_gone_cb gone, void *context)
{
    bool is_mended = true;
    for (struct tp__kept *kept = folder->kept, *next; kept != NULL; kept = next) {
        next = kept->next;
        if (kept->is_broken && !mend(folder, kept, gone, context))
            is_mended = false; /* which is no reason to leave the next one broken */
    }
    if (!is_mended)
        return;
    static const uint8_t probe[4096];
    if (tp_folder_is_degraded(folder) && tp__folder_write_draft(folder, "probe~", probe, sizeof probe) &&
        unlinkat(folder->fd, "probe~", 0) == 0)
        tp__folder_recover(folder);
}
