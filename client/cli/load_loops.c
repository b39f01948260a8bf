/* What the daemon's event loops spend, from /proc/PID/task: its first thread, which is loop 0, and those
 * whose name begins with "loop". The kernel brings a thread's figure
 * up to date when it goes to sleep, so that readings between frames are exact. */
#include "client/cli/load_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The beginning of a task's file; false if it cannot be read. */
static bool read_beginning(uint64_t pid, const char *task, const char *file, char *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/%llu/task/%.20s/%s", (unsigned long long)pid, task, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

int tp_cli__loops_open(const struct tp_cli_usage *usage, uint64_t pid, struct tp_cli_loops *loops)
{
    char path[128], word[32];
    loops->count = 0;
    snprintf(path, sizeof path, "/proc/%llu/task", (unsigned long long)pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return tp_cli_fail(usage, "%s: %s", path, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && loops->count < TP_CLI_LOOPS_MAX;) {
        if (entry->d_name[0] == '.' || !read_beginning(pid, entry->d_name, "comm", word, sizeof word) ||
            (strncmp(word, "loop", 4) != 0 && strtoull(entry->d_name, NULL, 10) != pid))
            continue;
        snprintf(path, sizeof path, "/proc/%llu/task/%.20s/schedstat", (unsigned long long)pid,
                 entry->d_name);
        loops->fd[loops->count] = open(path, O_RDONLY | O_CLOEXEC);
        if (loops->fd[loops->count] < 0) {
            closedir(folder);
            return tp_cli_fail(usage, "%s: %s", path, strerror(errno));
        }
        loops->count++;
    }
    closedir(folder);
    return loops->count > 0
               ? TP_CLI_OK
               : tp_cli_fail(usage, "process %llu: its threads cannot be read", (unsigned long long)pid);
}

void tp_cli__loops_close(struct tp_cli_loops *loops)
{
    while (loops->count > 0)
        close(loops->fd[--loops->count]);
}

uint64_t tp_cli__loops_ns(const struct tp_cli_loops *loops)
{
    uint64_t all = 0;
    for (size_t i = 0; i < loops->count; i++) {
        char text[96];
        ssize_t got = pread(loops->fd[i], text, sizeof text - 1, 0);
        text[got > 0 ? got : 0] = '\0';
        all += strtoull(text, NULL, 10);
    }
    return all;
}
