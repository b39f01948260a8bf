/* The happy path of a batch: embedded_append() queues it; the thread takes all that is queued, sorts it by
 * map, commit() writes one record per map and syncs it, then every completion is called. After that, fold()
 * where a log has grown long.
 *
 * Failure modes:
 *     write or sync of a log fails     nothing of the record counts: the file is cut back, the map is
 * `broken` a snapshot fails before rename   the old snapshot and log stand as they were
 *     ... at the rename or after       nobody knows which one a restart would find: the map is `broken`
 *     a map is broken                  the next append, or retry() every second, writes a whole snapshot
 * anew; until that succeeds nothing is acknowledged
 */
#include "daemon/store_embedded.h"

#include "base/check.h"
#include "daemon/log.h"
#include "daemon/mailbox.h"
#include "daemon/maplog.h"
#include "daemon/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FILE_NAME_BYTES = 256,
    RETRY_MS = 1000,
    FOLD_BYTES = 64 * 1024 * 1024, /* a log of so many bytes is folded, however few its batches */
};

/* What is on the disk of one map. */
struct kept {
    struct kept *next;
    char name[TP_MAP_NAME_MAX + 1];
    struct tp_map *durable;          /* newest version acknowledged, or loaded */
    uint64_t log_epoch, log_version; /* the snapshot the log belongs to */
    int log_fd;                      /* -1: the log has no file yet */
    uint64_t log_bytes;              /* written and synced */
    uint64_t log_batches, fold_at;   /* batches in the log; how many make it long */
    bool is_broken;
};

enum call_kind { CALL_PUT, CALL_APPEND, CALL_LOAD, CALL_LIST, CALL_STOP };

struct call {
    struct tp_mail mail; /* kind: enum call_kind */
    char name[TP_MAP_NAME_MAX + 1];
    struct tp_map *map; /* a reference */
    uint8_t *batch;
    size_t batch_bytes;
    tp_store_done_cb done;
    tp_store_loaded_cb loaded;
    tp_store_listed_cb listed;
    void *context;
    int error;
};

struct embedded {
    struct tp_store store; /* first */
    struct tp_mailbox box;
    pthread_t thread;
    struct call stop;
    struct tp_metrics *metrics;
    uint64_t fold_batches;
    int folder_fd, lock_fd;
    struct kept *kept;
    char **old_logs; /* names of the log files found at open */
    size_t old_log_count;
    pthread_mutex_t status_lock;
    struct tp_store_status status;
};

/* ---- Status ---- */

static void embedded_status(struct tp_store *store, struct tp_store_status *out)
{
    struct embedded *embedded = (struct embedded *)store;
    pthread_mutex_lock(&embedded->status_lock);
    *out = embedded->status;
    pthread_mutex_unlock(&embedded->status_lock);
}

/* Says what failed, with errno's words. Returns TP_ERR_UNAVAILABLE. */
static int fail(struct embedded *embedded, const char *what, const char *name)
{
    const char *words = strerror(errno);
    char quoted[TP_MAP_NAME_MAX + 8];
    tp_metric_add(&embedded->metrics->store_errors, 1);
    tp_log(TP_LOG_ERROR, "the store failed", "what=\"%s\" map=%s error=\"%s\"", what,
           tp_log_quote(quoted, sizeof quoted, name), words);
    pthread_mutex_lock(&embedded->status_lock);
    embedded->status.state = TP_STORE_DEGRADED;
    snprintf(embedded->status.reason, sizeof embedded->status.reason, "data folder: %s: %s", what, words);
    pthread_mutex_unlock(&embedded->status_lock);
    return TP_ERR_UNAVAILABLE;
}

static bool is_degraded(struct embedded *embedded)
{
    struct tp_store_status status;
    embedded_status(&embedded->store, &status);
    return status.state != TP_STORE_OK;
}

static void recover(struct embedded *embedded)
{
    if (!is_degraded(embedded))
        return;
    pthread_mutex_lock(&embedded->status_lock);
    embedded->status = (struct tp_store_status){.state = TP_STORE_OK};
    pthread_mutex_unlock(&embedded->status_lock);
    tp_log_words(TP_LOG_INFO, "the store works again");
}

/* ---- Files ---- */

static void file_name(char out[FILE_NAME_BYTES], const char *name, const char *suffix)
{
    size_t n = 0;
    for (; name[n] != '\0'; n++)
        out[n] = name[n] == '/' ? '+' : name[n];
    snprintf(out + n, FILE_NAME_BYTES - n, "%s", suffix);
}

static void log_file_name(char out[FILE_NAME_BYTES], const char *name, uint64_t epoch, uint64_t version)
{
    char suffix[64];
    snprintf(suffix, sizeof suffix, "~%016" PRIx64 "-%016" PRIx64 ".log", epoch, version);
    file_name(out, name, suffix);
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Writes all of it at `offset`; false with errno. */
static bool write_all(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
{
    while (size > 0) {
        ssize_t n = pwrite(fd, bytes, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

static bool sync_file(struct embedded *embedded, int fd)
{
    uint64_t began_us = now_us();
    bool is_synced = fdatasync(fd) == 0;
    tp_metric_add(&embedded->metrics->store_syncs, 1);
    tp_metric_observe(&embedded->metrics->store_sync_us, now_us() - began_us);
    return is_synced;
}

/* Reads a whole file of the folder (malloc'd). TP_ERR_NOT_FOUND, TP_ERR_UNAVAILABLE with errno,
 * TP_ERR_NO_MEMORY. */
static int read_file(struct embedded *embedded, const char *name, uint8_t **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    int fd = openat(embedded->folder_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? TP_ERR_NOT_FOUND : TP_ERR_UNAVAILABLE;
    struct stat facts;
    int error = fstat(fd, &facts) == 0 ? 0 : TP_ERR_UNAVAILABLE;
    uint8_t *out = error == 0 ? malloc((size_t)facts.st_size + 1) : NULL;
    if (error == 0 && out == NULL)
        error = TP_ERR_NO_MEMORY;
    size_t have = 0;
    while (error == 0 && have < (size_t)facts.st_size) {
        ssize_t n = pread(fd, out + have, (size_t)facts.st_size - have, (off_t)have);
        if (n == 0)
            break;
        if (n > 0)
            have += (size_t)n;
        else if (errno != EINTR)
            error = TP_ERR_UNAVAILABLE;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    if (error != 0) {
        free(out);
        return error;
    }
    *bytes = out;
    *size = have;
    return 0;
}

/* ---- Maps kept ---- */

static struct kept *find_kept(struct embedded *embedded, const char *name)
{
    struct kept *kept = embedded->kept;
    while (kept != NULL && strcmp(kept->name, name) != 0)
        kept = kept->next;
    return kept;
}

static struct kept *add_kept(struct embedded *embedded, const char *name)
{
    struct kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return NULL;
    strcpy(kept->name, name);
    kept->log_fd = -1;
    kept->next = embedded->kept;
    embedded->kept = kept;
    return kept;
}

static void set_durable(struct kept *kept, struct tp_map *map)
{
    tp_map_ref(map);
    tp_map_unref(kept->durable);
    kept->durable = map;
}

static void break_kept(struct kept *kept)
{
    if (kept->log_fd >= 0)
        close(kept->log_fd);
    kept->log_fd = -1;
    kept->is_broken = true;
}

/* ---- Snapshots ---- */

/* Writes the draft of a snapshot and syncs it; false with errno. */
static bool write_draft(struct embedded *embedded, const char *draft, const uint8_t *bytes, size_t size)
{
    int fd = openat(embedded->folder_fd, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool is_done = write_all(fd, bytes, size, 0) && sync_file(embedded, fd);
    int saved = errno;
    if (close(fd) != 0 && is_done) {
        saved = errno;
        is_done = false;
    }
    if (!is_done)
        unlinkat(embedded->folder_fd, draft, 0);
    errno = saved;
    return is_done;
}

/* Makes `map` what is kept under kept->name, with an empty log. */
static int write_snapshot(struct embedded *embedded, struct kept *kept, struct tp_map *map)
{
    char draft[FILE_NAME_BYTES], final[FILE_NAME_BYTES], old_log[FILE_NAME_BYTES];
    file_name(draft, kept->name, ".snap~");
    file_name(final, kept->name, ".snap");
    log_file_name(old_log, kept->name, kept->log_epoch, kept->log_version);
    uint8_t *bytes;
    size_t size;
    int error = tp_snapshot_encode(map, &bytes, &size);
    if (error != 0)
        return error;
    bool is_written = write_draft(embedded, draft, bytes, size);
    free(bytes);
    if (!is_written)
        return fail(embedded, "cannot write a snapshot", kept->name);
    if (renameat(embedded->folder_fd, draft, embedded->folder_fd, final) != 0 ||
        fsync(embedded->folder_fd) != 0) {
        error = fail(embedded, "cannot put a snapshot into place", kept->name);
        break_kept(kept);
        return error;
    }
    if (kept->log_fd >= 0)
        close(kept->log_fd);
    if (kept->durable != NULL) /* else there was no log of ours */
        unlinkat(embedded->folder_fd, old_log, 0);
    kept->log_fd = -1;
    kept->log_bytes = kept->log_batches = 0;
    kept->fold_at = embedded->fold_batches;
    kept->log_epoch = map->epoch;
    kept->log_version = map->version;
    kept->is_broken = false;
    set_durable(kept, map);
    tp_metric_add(&embedded->metrics->store_writes, 1);
    tp_metric_add(&embedded->metrics->store_snapshots, 1);
    tp_metric_add(&embedded->metrics->store_written_bytes, size);
    recover(embedded);
    return 0;
}

/* ---- The log ---- */

/* Makes the log's file; false with errno. */
static bool create_log(struct embedded *embedded, struct kept *kept)
{
    char name[FILE_NAME_BYTES];
    uint8_t header[TP_MAPLOG_HEADER_BYTES];
    log_file_name(name, kept->name, kept->log_epoch, kept->log_version);
    tp_maplog_header(header, kept->log_epoch, kept->log_version);
    kept->log_fd = openat(embedded->folder_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (kept->log_fd < 0)
        return false;
    if (!write_all(kept->log_fd, header, sizeof header, 0) || fsync(embedded->folder_fd) != 0)
        return false;
    kept->log_bytes = sizeof header;
    return true;
}

/* Writes one record and syncs it; false with errno, the file cut back as far as that can be done. */
static bool write_record(struct embedded *embedded, struct kept *kept, const uint8_t *record, size_t size)
{
    if (kept->log_fd < 0 && !create_log(embedded, kept))
        return false;
    if (write_all(kept->log_fd, record, size, kept->log_bytes) && sync_file(embedded, kept->log_fd)) {
        kept->log_bytes += size;
        return true;
    }
    int saved = errno;
    if (ftruncate(kept->log_fd, (off_t)kept->log_bytes) != 0 || fdatasync(kept->log_fd) != 0)
        tp_log(TP_LOG_ERROR, "a log could not be cut back", "error=\"%s\"", strerror(errno));
    errno = saved;
    return false;
}

/* Writes the batches of calls[0..count), which all belong to `kept` and follow what it holds. */
static int append_record(struct embedded *embedded, struct kept *kept, struct call **calls, uint32_t count)
{
    struct tp_map *after = calls[count - 1]->map;
    if (kept->is_broken)
        return write_snapshot(embedded, kept, after);
    struct tp_maplog_batch *batches = malloc(count * sizeof *batches);
    if (batches == NULL)
        return TP_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        batches[i] = (struct tp_maplog_batch){calls[i]->batch, calls[i]->batch_bytes};
    uint8_t *record = NULL;
    size_t size = 0;
    int error = tp_maplog_record(&record, &size, batches, count, calls[0]->map->version);
    free(batches);
    if (error != 0)
        return error;
    bool is_written = write_record(embedded, kept, record, size);
    free(record);
    if (!is_written) {
        error = fail(embedded, "cannot write the log", kept->name);
        break_kept(kept);
        return error;
    }
    kept->log_batches += count;
    set_durable(kept, after);
    tp_metric_add(&embedded->metrics->store_writes, count);
    tp_metric_add(&embedded->metrics->store_written_bytes, size);
    return 0;
}

/* Commits the appends of one map among calls[0..count): those that follow what is kept are written, the rest
 * fails. */
static void commit_map(struct embedded *embedded, struct kept *kept, struct call **calls, uint32_t count)
{
    uint64_t epoch = kept->durable->epoch, version = kept->durable->version;
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool fits = calls[i]->map->epoch == epoch && calls[i]->map->version == version + fitting + 1;
        calls[i]->error = fits ? 0 : TP_ERR_UNAVAILABLE;
        if (fits) { /* keeps the order, fitting ones first */
            struct call *call = calls[i];
            memmove(calls + fitting + 1, calls + fitting, (i - fitting) * sizeof(struct call *));
            calls[fitting++] = call;
        }
    }
    if (fitting == 0)
        return;
    int error = append_record(embedded, kept, calls, fitting);
    for (uint32_t i = 0; i < fitting; i++)
        calls[i]->error = error;
}

static void free_call(struct call *call)
{
    tp_map_unref(call->map);
    free(call->batch);
    free(call);
}

/* Writes the log of every map that has grown long as a snapshot. */
static void fold(struct embedded *embedded)
{
    for (struct kept *kept = embedded->kept; kept != NULL; kept = kept->next) {
        if (kept->is_broken || (kept->log_batches < kept->fold_at && kept->log_bytes < FOLD_BYTES))
            continue;
        kept->fold_at = kept->log_batches + embedded->fold_batches; /* not at every append, should it fail */
        if (write_snapshot(embedded, kept, kept->durable) != 0)
            tp_log_words(TP_LOG_WARN, "a log could not be folded into a snapshot; it goes on growing");
    }
}

/* Commits all appends of a chain (count calls, linked by mail.next), calls the completions in their order,
 * folds. */
static void commit(struct embedded *embedded, struct call *first, size_t count)
{
    struct call **of_map = malloc(count * sizeof(struct call *));
    struct call **all = malloc(count * sizeof(struct call *));
    size_t n = 0;
    for (struct call *call = first; n < count; call = (struct call *)call->mail.next) {
        call->error = of_map == NULL || all == NULL ? TP_ERR_NO_MEMORY : 1; /* 1: not yet looked at */
        n++;
        if (all != NULL)
            all[n - 1] = call;
    }
    for (size_t i = 0; of_map != NULL && all != NULL && i < count; i++) {
        if (all[i]->error <= 0)
            continue;
        uint32_t same = 0;
        for (size_t j = i; j < count; j++)
            if (strcmp(all[j]->name, all[i]->name) == 0)
                of_map[same++] = all[j];
        struct kept *kept = find_kept(embedded, all[i]->name);
        if (kept != NULL && kept->durable != NULL)
            commit_map(embedded, kept, of_map, same);
        else
            for (uint32_t j = 0; j < same; j++)
                of_map[j]->error = TP_ERR_UNAVAILABLE; /* its put failed */
    }
    struct call *call = first;
    for (size_t i = 0; i < count; i++) {
        struct call *next = (struct call *)call->mail.next;
        call->done(call->error, call->context);
        free_call(call);
        call = next;
    }
    free(of_map);
    free(all);
    fold(embedded);
}

/* ---- Put, load, list ---- */

static void put(struct embedded *embedded, struct call *call)
{
    struct kept *kept = find_kept(embedded, call->name);
    if (kept == NULL)
        kept = add_kept(embedded, call->name);
    int error = kept == NULL ? TP_ERR_NO_MEMORY : write_snapshot(embedded, kept, call->map);
    call->done(error, call->context);
    free_call(call);
}

/* Removes logs of other snapshots of this map: left behind when the daemon was killed between the two steps.
 */
static void remove_old_logs(struct embedded *embedded, const struct kept *kept)
{
    char valid[FILE_NAME_BYTES], prefix[FILE_NAME_BYTES];
    log_file_name(valid, kept->name, kept->log_epoch, kept->log_version);
    file_name(prefix, kept->name, "~");
    for (size_t i = 0; i < embedded->old_log_count; i++)
        if (strncmp(embedded->old_logs[i], prefix, strlen(prefix)) == 0 &&
            strcmp(embedded->old_logs[i], valid) != 0)
            unlinkat(embedded->folder_fd, embedded->old_logs[i], 0);
}

/* Applies the log to the snapshot just read; opens it for what comes. */
static int replay(struct embedded *embedded, struct kept *kept, const char **reason)
{
    char name[FILE_NAME_BYTES];
    log_file_name(name, kept->name, kept->log_epoch, kept->log_version);
    uint8_t *bytes;
    size_t size;
    int error = read_file(embedded, name, &bytes, &size);
    if (error == TP_ERR_NOT_FOUND)
        return 0; /* no batch since the snapshot */
    if (error != 0)
        return error == TP_ERR_NO_MEMORY ? error : fail(embedded, "cannot read a log", kept->name);
    struct tp_maplog_replay result;
    error = tp_maplog_apply(&kept->durable, bytes, size, &result, reason);
    free(bytes);
    if (error != 0 || result.good_bytes == 0)
        return error; /* a header that is not whole: create_log makes it anew */
    kept->log_fd = openat(embedded->folder_fd, name, O_RDWR | O_CLOEXEC);
    if (kept->log_fd < 0)
        return fail(embedded, "cannot open a log", kept->name);
    if (result.good_bytes < size) {
        char quoted[TP_MAP_NAME_MAX + 8];
        tp_log(TP_LOG_WARN, "the torn end of a log is dropped", "map=%s bytes=%zu version=%" PRIu64,
               tp_log_quote(quoted, sizeof quoted, kept->name), size - result.good_bytes,
               kept->durable->version);
        if (ftruncate(kept->log_fd, (off_t)result.good_bytes) != 0 || fdatasync(kept->log_fd) != 0)
            return fail(embedded, "cannot cut a log", kept->name);
    }
    kept->log_bytes = result.good_bytes;
    kept->log_batches = result.batches;
    return 0;
}

static int load_new(struct embedded *embedded, const char *name, struct kept **out, const char **reason)
{
    char file[FILE_NAME_BYTES];
    file_name(file, name, ".snap");
    uint8_t *bytes;
    size_t size;
    int error = read_file(embedded, file, &bytes, &size);
    if (error != 0)
        return error == TP_ERR_UNAVAILABLE ? fail(embedded, "cannot read a snapshot", name) : error;
    struct tp_map *map;
    error = tp_snapshot_decode(&map, bytes, size, reason);
    free(bytes);
    if (error != 0)
        return error;
    struct kept *kept = add_kept(embedded, name);
    if (kept == NULL) {
        tp_map_unref(map);
        return TP_ERR_NO_MEMORY;
    }
    kept->durable = map;
    kept->log_epoch = map->epoch;
    kept->log_version = map->version;
    kept->fold_at = embedded->fold_batches;
    error = replay(embedded, kept, reason);
    if (error != 0) {
        embedded->kept = kept->next; /* it was added first */
        if (kept->log_fd >= 0)
            close(kept->log_fd);
        tp_map_unref(kept->durable);
        free(kept);
        return error;
    }
    remove_old_logs(embedded, kept);
    *out = kept;
    return 0;
}

static void load(struct embedded *embedded, struct call *call)
{
    struct kept *kept = find_kept(embedded, call->name);
    const char *reason = NULL;
    int error = 0;
    if (kept == NULL)
        error = load_new(embedded, call->name, &kept, &reason);
    else if (kept->durable == NULL)
        error = TP_ERR_NOT_FOUND;
    if (error == 0)
        tp_map_ref(kept->durable);
    call->loaded(error, error == 0 ? kept->durable : NULL, reason, call->context);
    free_call(call);
}

struct names {
    char **name;
    size_t count, capacity;
};

static bool add_name(struct names *names, const char *name)
{
    if (names->count == names->capacity) {
        size_t capacity = names->capacity == 0 ? 16 : names->capacity * 2;
        char **larger = realloc(names->name, capacity * sizeof *larger);
        if (larger == NULL)
            return false;
        names->name = larger;
        names->capacity = capacity;
    }
    names->name[names->count] = strdup(name);
    return names->name[names->count] != NULL && ++names->count > 0;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->name[i]);
    free(names->name);
}

/* Gathers the folder's files that end with `suffix`. */
static int scan(struct embedded *embedded, const char *suffix, struct names *names)
{
    int fd = openat(embedded->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        if (fd >= 0)
            close(fd);
        return TP_ERR_UNAVAILABLE;
    }
    int error = 0;
    for (struct dirent *file = readdir(folder); file != NULL && error == 0; file = readdir(folder)) {
        size_t length = strlen(file->d_name), end = strlen(suffix);
        if (length > end && strcmp(file->d_name + length - end, suffix) == 0 &&
            !add_name(names, file->d_name))
            error = TP_ERR_NO_MEMORY;
    }
    closedir(folder);
    return error;
}

static void list(struct embedded *embedded, struct call *call)
{
    struct names names = {0};
    int error = scan(embedded, ".snap", &names);
    for (size_t i = 0; i < names.count; i++) {
        names.name[i][strlen(names.name[i]) - strlen(".snap")] = '\0';
        for (char *c = names.name[i]; *c != '\0'; c++)
            if (*c == '+')
                *c = '/';
    }
    call->listed(error, (const char *const *)names.name, error == 0 ? names.count : 0, call->context);
    free_names(&names);
    free_call(call);
}

/* ---- The thread ---- */

/* Degraded: tries whether it works again. */
static void retry(struct embedded *embedded)
{
    for (struct kept *kept = embedded->kept; kept != NULL; kept = kept->next)
        if (kept->is_broken && kept->durable != NULL && write_snapshot(embedded, kept, kept->durable) != 0)
            return;
    static const uint8_t probe[4096];
    if (!is_degraded(embedded))
        return;
    if (write_draft(embedded, "probe~", probe, sizeof probe) &&
        unlinkat(embedded->folder_fd, "probe~", 0) == 0)
        recover(embedded);
}

static void *run(void *argument)
{
    struct embedded *embedded = argument;
    bool is_stopping = false;
    tp_log_thread_name("store");
    while (!is_stopping) {
        struct tp_mail *mail = tp_mailbox_wait(&embedded->box, is_degraded(embedded) ? RETRY_MS : -1);
        if (mail == NULL)
            retry(embedded);
        while (mail != NULL) {
            size_t appends = 0;
            struct tp_mail *next = mail;
            while (next != NULL && next->kind == CALL_APPEND) {
                next = next->next;
                appends++;
            }
            if (appends > 0) {
                commit(embedded, (struct call *)mail, appends);
            } else {
                next = mail->next;
                switch (mail->kind) {
                case CALL_PUT:
                    put(embedded, (struct call *)mail);
                    break;
                case CALL_LOAD:
                    load(embedded, (struct call *)mail);
                    break;
                case CALL_LIST:
                    list(embedded, (struct call *)mail);
                    break;
                default:
                    is_stopping = true;
                }
            }
            mail = next;
        }
    }
    return NULL;
}

/* ---- The interface ---- */

static struct call *call_new(enum call_kind kind, const char *name, const struct tp_map *map, void *context)
{
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->mail.kind = kind;
    snprintf(call->name, sizeof call->name, "%s", name);
    call->map = map == NULL ? NULL : (struct tp_map *)tp_map_ref(map);
    call->context = context;
    return call;
}

static void queue(struct tp_store *store, struct call *call)
{
    tp_mailbox_push(&((struct embedded *)store)->box, &call->mail);
}

static void embedded_put(struct tp_store *store, const char *name, const struct tp_map *map,
                         tp_store_done_cb done, void *context)
{
    struct call *call = call_new(CALL_PUT, name, map, context);
    if (call == NULL) {
        done(TP_ERR_NO_MEMORY, context);
        return;
    }
    call->done = done;
    queue(store, call);
}

static void embedded_append(struct tp_store *store, const char *name, const struct tp_map *after,
                            const void *batch, size_t batch_bytes, tp_store_done_cb done, void *context)
{
    struct call *call = call_new(CALL_APPEND, name, after, context);
    if (call != NULL && (call->batch = malloc(batch_bytes + 1)) == NULL) {
        free_call(call);
        call = NULL;
    }
    if (call == NULL) {
        done(TP_ERR_NO_MEMORY, context);
        return;
    }
    memcpy(call->batch, batch, batch_bytes);
    call->batch_bytes = batch_bytes;
    call->done = done;
    queue(store, call);
}

static void embedded_load(struct tp_store *store, const char *name, tp_store_loaded_cb loaded, void *context)
{
    struct call *call = call_new(CALL_LOAD, name, NULL, context);
    if (call == NULL) {
        loaded(TP_ERR_NO_MEMORY, NULL, NULL, context);
        return;
    }
    call->loaded = loaded;
    queue(store, call);
}

static void embedded_list(struct tp_store *store, tp_store_listed_cb listed, void *context)
{
    struct call *call = call_new(CALL_LIST, "", NULL, context);
    if (call == NULL) {
        listed(TP_ERR_NO_MEMORY, NULL, 0, context);
        return;
    }
    call->listed = listed;
    queue(store, call);
}

static void free_embedded(struct embedded *embedded)
{
    while (embedded->kept != NULL) {
        struct kept *kept = embedded->kept;
        embedded->kept = kept->next;
        if (kept->log_fd >= 0)
            close(kept->log_fd);
        tp_map_unref(kept->durable);
        free(kept);
    }
    free_names(&(struct names){embedded->old_logs, embedded->old_log_count, 0});
    if (embedded->lock_fd >= 0)
        close(embedded->lock_fd);
    if (embedded->folder_fd >= 0)
        close(embedded->folder_fd);
    tp_mailbox_fini(&embedded->box);
    pthread_mutex_destroy(&embedded->status_lock);
    free(embedded);
}

static void embedded_close(struct tp_store *store)
{
    struct embedded *embedded = (struct embedded *)store;
    tp_mailbox_push(&embedded->box, &embedded->stop.mail);
    pthread_join(embedded->thread, NULL);
    free_embedded(embedded);
}

static const struct tp_store_ops embedded_ops = {
    .name = "embedded",
    .put = embedded_put,
    .append = embedded_append,
    .load = embedded_load,
    .list = embedded_list,
    .status = embedded_status,
    .close = embedded_close,
};

/* Opens the folder and takes its lock. */
static int open_folder(struct embedded *embedded, const char *folder, char reason[256])
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        snprintf(reason, 256, "data folder %.100s: %s", folder, strerror(errno));
        return TP_ERR_IO;
    }
    embedded->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (embedded->folder_fd >= 0)
        embedded->lock_fd = openat(embedded->folder_fd, "lock~", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (embedded->folder_fd < 0 || embedded->lock_fd < 0) {
        snprintf(reason, 256, "data folder %.100s: %s", folder, strerror(errno));
        return TP_ERR_IO;
    }
    if (flock(embedded->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        snprintf(reason, 256, "data folder %.100s: %s", folder,
                 errno == EWOULDBLOCK ? "another daemon uses it" : strerror(errno));
        return TP_ERR_IO;
    }
    struct names logs = {0};
    if (scan(embedded, ".log", &logs) != 0) {
        free_names(&logs);
        snprintf(reason, 256, "data folder %.100s: cannot be read", folder);
        return TP_ERR_IO;
    }
    embedded->old_logs = logs.name;
    embedded->old_log_count = logs.count;
    return 0;
}

int tp_store_embedded_open(struct tp_store **out, const char *folder, uint64_t fold_batches,
                           struct tp_metrics *metrics, char reason[256])
{
    *out = NULL;
    struct embedded *embedded = calloc(1, sizeof *embedded);
    if (embedded == NULL)
        return TP_ERR_NO_MEMORY;
    embedded->store.ops = &embedded_ops;
    embedded->metrics = metrics;
    embedded->fold_batches = fold_batches;
    embedded->folder_fd = embedded->lock_fd = -1;
    embedded->stop.mail.kind = CALL_STOP;
    tp_mailbox_init(&embedded->box);
    pthread_mutex_init(&embedded->status_lock, NULL);
    int error = open_folder(embedded, folder, reason);
    if (error == 0 && pthread_create(&embedded->thread, NULL, run, embedded) != 0) {
        snprintf(reason, 256, "cannot start a thread");
        error = TP_ERR_IO;
    }
    if (error != 0) {
        free_embedded(embedded);
        return error;
    }
    *out = &embedded->store;
    return 0;
}
