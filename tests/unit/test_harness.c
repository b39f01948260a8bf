/* The tests' own ground: the temporary folder of a program goes with it, however it ends. */
#include "tests/lib/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char parent[256];

static void parent_begin(void)
{
    strcpy(parent, tp_test_folder_make());
    setenv("TMPDIR", parent, 1);
}

static void parent_end(void)
{
    tp_test_folder_remove(parent);
}

/* An empty folder can be removed, and only that one. */
static bool is_empty(const char *path)
{
    return rmdir(path) == 0;
}

/* What a program does with its folder, then how it ends. */
static void litter(int ending)
{
    struct tp_test_scratch scratch;
    signal(SIGTERM, SIG_DFL); /* Check has handlers, which we got with the fork */
    tp_test_scratch_begin(&scratch);
    const char *inner = tp_test_folder_make();
    FILE *file = fopen(tp_test_path(inner, "left", ".log"), "w");
    if (!file || fclose(file) != 0 || strncmp(inner, parent, strlen(parent)) != 0)
        _exit(9);
    if (ending == 0)
        tp_test_scratch_end(&scratch);
    else if (ending > 1)
        raise(ending);
    _exit(0);
}

static const int endings[] = {0, 1, SIGKILL, SIGTERM, SIGABRT}; /* 0: as it should; 1: by _exit */

START_TEST(folder_goes_with_its_program)
{
    int ending = endings[_i], status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        litter(ending);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (ending > 1)
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == ending);
    else
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    bool gone = is_empty(parent);
    for (int tries = 0; ending != 0 && !gone && tries < 500; tries++) {
        usleep(10000);
        gone = is_empty(parent);
    }
    ck_assert_msg(gone, "ending %d left files", ending);
}
END_TEST

/* Who is forked holds the end of a pipe, and sleeps: it closes when that one is gone, after its parent. */
START_TEST(forked_goes_with_its_parent)
{
    int ends[2], ending = endings[_i];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        signal(SIGTERM, SIG_DFL);
        if (tp_test_fork() == 0)
            for (;;)
                pause();
        if (ending > 1)
            raise(ending);
        _exit(0);
    }
    close(ends[1]);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    char byte;
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}
END_TEST

static Suite *harness_suite(void)
{
    Suite *suite = suite_create("harness");
    TCase *cases = tcase_create("temporary folders");
    tcase_add_checked_fixture(cases, parent_begin, parent_end);
    tcase_add_loop_test(cases, folder_goes_with_its_program, 0, (int)(sizeof endings / sizeof endings[0]));
    suite_add_tcase(suite, cases);
    cases = tcase_create("processes");
    tcase_add_loop_test(cases, forked_goes_with_its_parent, 0, (int)(sizeof endings / sizeof endings[0]));
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_harness", harness_suite);
}
