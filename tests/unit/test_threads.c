/* What threads spend, read of ourselves: found by name, the first always; CPU time that grows with work and waits for sleep; none left open. */
#include "client/cli/threads.h"
#include "tests/lib/harness.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_t workers[3];
static atomic_int works; /* the number of the worker that is to work; 0: none, all sleep */
static atomic_bool over;

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* Works 20 ms of CPU time when it is its turn. */
static void *worker(void *context)
{
    int self = *(int *)context;
    while (!atomic_load(&over)) {
        if (atomic_load(&works) == self) {
            uint64_t from = cpu_ns();
            while (cpu_ns() - from < 20000000)
                ;
            atomic_store(&works, 0);
        }
        nap();
    }
    return NULL;
}

static void begin(void)
{
    static int numbers[] = {1, 2, 3};
    static const char *const names[] = {"loop1", "loop2", "other"};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_create(&workers[i], NULL, worker, &numbers[i]), 0);
        ck_assert_int_eq(pthread_setname_np(workers[i], names[i]), 0);
    }
}

static void end(void)
{
    atomic_store(&over, true);
    for (int i = 0; i < 3; i++)
        pthread_join(workers[i], NULL);
}

static void let_work(int number)
{
    atomic_store(&works, number);
    while (atomic_load(&works) != 0)
        nap();
    for (int i = 0; i < 10; i++)
        nap(); /* until it sleeps */
}

static const struct tp_cli_thread *find(const struct tp_cli_threads *threads, const char *name)
{
    for (size_t i = 0; i < threads->count; i++)
        if (strcmp(threads->thread[i].name, name) == 0)
            return &threads->thread[i];
    return NULL;
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

START_TEST(found_by_name)
{
    struct tp_cli_threads threads;
    size_t before = open_files();
    ck_assert_int_eq(tp_cli_threads_open(&threads, (uint64_t)getpid(), "loop"), 0);
    ck_assert_uint_eq(threads.count, 3);
    ck_assert(find(&threads, "loop1") != NULL && find(&threads, "loop2") != NULL);
    ck_assert(find(&threads, "other") == NULL);
    tp_cli_threads_close(&threads);
    ck_assert_int_eq(tp_cli_threads_open(&threads, (uint64_t)getpid(), ""), 0);
    ck_assert(threads.count >= 4 &&
              find(&threads, "other") != NULL); /* a sanitizer may have one of its own */
    tp_cli_threads_close(&threads);
    ck_assert_uint_eq(open_files(), before);
}
END_TEST

START_TEST(who_works_spends)
{
    struct tp_cli_threads threads;
    ck_assert_int_eq(tp_cli_threads_open(&threads, (uint64_t)getpid(), "loop"), 0);
    const struct tp_cli_thread *one = find(&threads, "loop1"), *two = find(&threads, "loop2");
    uint64_t before[] = {tp_cli_thread_spent(one).cpu_ns, tp_cli_thread_spent(two).cpu_ns},
             all = tp_cli_threads_cpu_ns(&threads);
    let_work(1);
    ck_assert_uint_ge(tp_cli_thread_spent(one).cpu_ns - before[0], 20000000);
    ck_assert_uint_lt(tp_cli_thread_spent(two).cpu_ns - before[1], 10000000);
    let_work(3); /* not one of them */
    uint64_t both = tp_cli_threads_cpu_ns(&threads) - all;
    ck_assert(both >= 20000000 && both < 38000000);
    tp_cli_threads_close(&threads);
}
END_TEST

START_TEST(no_such_process)
{
    struct tp_cli_threads threads;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(tp_cli_threads_open(&threads, (uint64_t)pid, ""), ENOENT);
    ck_assert_uint_eq(threads.count, 0);
}
END_TEST

static Suite *threads_suite(void)
{
    Suite *suite = suite_create("threads");
    TCase *cases = tcase_create("spent");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, found_by_name);
    tcase_add_test(cases, who_works_spends);
    tcase_add_test(cases, no_such_process);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_threads", threads_suite);
}
