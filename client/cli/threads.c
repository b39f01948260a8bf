#include "client/cli/threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens a file of a task: a descriptor, or -1. */
static int open_of(uint64_t pid, const char *task, const char *file)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/%llu/task/%.20s/%s", (unsigned long long)pid, task, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The beginning of a file, a line at most; "" if it cannot be read. */
static void read_line(int fd, char *text, size_t size)
{
    ssize_t got = pread(fd, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

/* Adds the task if it is one of those asked for; false if it cannot be read. */
static bool add(struct tp_cli_threads *threads, uint64_t pid, const char *task, const char *name_begins)
{
    struct tp_cli_thread *thread = &threads->thread[threads->count];
    int fd = open_of(pid, task, "comm");
    if (fd < 0)
        return false;
    read_line(fd, thread->name, sizeof thread->name);
    close(fd);
    if (strncmp(thread->name, name_begins, strlen(name_begins)) != 0 && strtoull(task, NULL, 10) != pid)
        return true;
    thread->fd = open_of(pid, task, "schedstat");
    threads->count += thread->fd >= 0;
    return thread->fd >= 0;
}

int tp_cli_threads_open(struct tp_cli_threads *threads, uint64_t pid, const char *name_begins)
{
    char path[64];
    threads->count = 0;
    snprintf(path, sizeof path, "/proc/%llu/task", (unsigned long long)pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return errno;
    int error = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && threads->count < TP_CLI_THREADS_MAX;)
        if (entry->d_name[0] != '.' && !add(threads, pid, entry->d_name, name_begins) && errno != ENOENT) {
            error = errno; /* not one that ended meanwhile */
            break;
        }
    closedir(folder);
    if (error == 0 && threads->count == 0)
        error = ESRCH;
    if (error != 0)
        tp_cli_threads_close(threads);
    return error;
}

void tp_cli_threads_close(struct tp_cli_threads *threads)
{
    while (threads->count > 0)
        close(threads->thread[--threads->count].fd);
}

struct tp_cli_spent tp_cli_thread_spent(const struct tp_cli_thread *thread)
{
    char text[96], *end;
    read_line(thread->fd, text, sizeof text);
    uint64_t cpu_ns = strtoull(text, &end, 10);
    return (struct tp_cli_spent){cpu_ns, strtoull(end, NULL, 10)};
}

uint64_t tp_cli_threads_cpu_ns(const struct tp_cli_threads *threads)
{
    uint64_t all = 0;
    for (size_t i = 0; i < threads->count; i++)
        all += tp_cli_thread_spent(&threads->thread[i]).cpu_ns;
    return all;
}
