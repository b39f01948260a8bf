/* What threads of another process on this machine spend.
 *
 * What it is: the threads that a process has when it is asked, each with its schedstat of /proc/PID/task held open, so that a reading is
 * one call to the system. The kernel brings a thread's figures up to date when it goes to sleep: of one that sleeps they are
 * exact. What it refuses: threads that begin later are not found; of those that ended it reads 0. Who calls it: `tickpath load`,
 * for the daemon's event loops, which are its first thread and those named "loop...", and the benches.
 */
#ifndef TP_CLI_THREADS_H
#define TP_CLI_THREADS_H

#include <stddef.h>
#include <stdint.h>

enum { TP_CLI_THREADS_MAX = 64 };

struct tp_cli_thread {
    char name[16];
    int fd; /* its schedstat */
};

/* All 0: none. */
struct tp_cli_threads {
    size_t count;
    struct tp_cli_thread thread[TP_CLI_THREADS_MAX];
};

/* Since the thread began. */
struct tp_cli_spent {
    uint64_t cpu_ns;
    uint64_t wait_ns; /* ready to run, and another thread was on the processor */
};

/* Finds the process's first thread, and those whose names begin so ("": all), TP_CLI_THREADS_MAX at most. 0, or errno's value, and
 * none is held. */
int tp_cli_threads_open(struct tp_cli_threads *threads, uint64_t pid, const char *name_begins);
void tp_cli_threads_close(struct tp_cli_threads *threads);

struct tp_cli_spent tp_cli_thread_spent(const struct tp_cli_thread *thread);

/* CPU time of all together, ns. */
uint64_t tp_cli_threads_cpu_ns(const struct tp_cli_threads *threads);

#endif
