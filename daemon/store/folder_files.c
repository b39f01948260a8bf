#include "daemon/store/folder_files.h"

#include "daemon/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void tp__folder_file_name(char out[TP__FOLDER_NAME_BYTES], const char *name, const char *suffix)
{
    size_t n = 0;
    for (; name[n] != '\0'; n++)
        out[n] = name[n] == '/' ? '+' : name[n];
    snprintf(out + n, TP__FOLDER_NAME_BYTES - n, "%s", suffix);
}

void tp__folder_log_name(char out[TP__FOLDER_NAME_BYTES], const char *name, uint64_t epoch, uint64_t version)
{
    char suffix[64];
    snprintf(suffix, sizeof suffix, "~%016" PRIx64 "-%016" PRIx64 ".log", epoch, version);
    tp__folder_file_name(out, name, suffix);
}

bool tp__folder_write_all(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
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

bool tp__folder_sync(struct tp_folder *folder, int fd)
{
    uint64_t began_us = tp_clock_now_us();
    bool is_synced = fdatasync(fd) == 0;
    tp_metric_add(&folder->metrics->store_syncs, 1);
    tp_metric_observe(&folder->metrics->store_sync_seconds, tp_clock_now_us() - began_us);
    return is_synced;
}

int tp__folder_read(struct tp_folder *folder, const char *name, uint8_t **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC);
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

bool tp__folder_write_draft(struct tp_folder *folder, const char *draft, const uint8_t *bytes, size_t size)
{
    int fd = openat(folder->fd, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool is_done = tp__folder_write_all(fd, bytes, size, 0) && tp__folder_sync(folder, fd);
    int saved = errno;
    if (close(fd) != 0 && is_done) {
        saved = errno;
        is_done = false;
    }
    if (!is_done)
        unlinkat(folder->fd, draft, 0);
    errno = saved;
    return is_done;
}

static bool add_name(struct tp_names *names, const char *name)
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

void tp_names_fini(struct tp_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->name[i]);
    free(names->name);
    *names = (struct tp_names){0};
}

int tp__folder_scan(struct tp_folder *folder, const char *suffix, struct tp_names *names)
{
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return TP_ERR_UNAVAILABLE;
    }
    int error = 0;
    for (struct dirent *file = readdir(dir); file != NULL && error == 0; file = readdir(dir)) {
        size_t length = strlen(file->d_name), end = strlen(suffix);
        if (length > end && strcmp(file->d_name + length - end, suffix) == 0 &&
            !add_name(names, file->d_name))
            error = TP_ERR_NO_MEMORY;
    }
    closedir(dir);
    return error;
}

bool tp__folder_remove_logs(struct tp_folder *folder, const char *map_name, const char *but)
{
    char prefix[TP__FOLDER_NAME_BYTES];
    struct tp_names logs = {0};
    tp__folder_file_name(prefix, map_name, "~");
    bool is_done = tp__folder_scan(folder, ".log", &logs) == 0;
    for (size_t i = 0; i < logs.count; i++)
        if (strncmp(logs.name[i], prefix, strlen(prefix)) == 0 && (but == NULL || strcmp(logs.name[i], but) != 0) &&
            unlinkat(folder->fd, logs.name[i], 0) != 0)
            is_done = false;
    tp_names_fini(&logs);
    return is_done;
}
