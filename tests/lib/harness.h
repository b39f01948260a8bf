/* What every test program shares: its main, its seed, and where it finds what the environment hands it.
 *
 *   int main(void)
 *   {
 *       return tp_test_main("test_map", map_suite);
 *   }
 *
 * A ck_assert costs microseconds even when it holds, since it reports its place to the parent process: inner
 * loops ask with `if` and fail with ck_abort_msg.
 *
 * Environment:
 *   TICKPATH_SEED      the seed of the randomised tests; without it a fresh one, printed with the command to repeat
 *   TICKPATH_LONG      1: the longer form of the tests
 *   TICKPATH_SHARE     1 to 100: the percent of the longer form's random cases that are run (100)
 *   TICKPATH_MAPS      the folder of benchmark maps, and
 *   TICKPATH_EXPECTED  the table of expected figures; tests that need one of them say that they skip when it is unset
 *   TICKPATH_BIN       the folder of the programs that a test starts; "build" when unset
 *   CK_RUN_CASE        (Check's own) runs one test case alone
 */
#ifndef TP_TESTS_HARNESS_H
#define TP_TESTS_HARNESS_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/rng.h"

/* Memory is not what it is without: the address sanitizer has an allocator of its own. */
#ifdef __SANITIZE_ADDRESS__
#define TP_TEST_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TP_TEST_SANITIZED
#endif
#endif

/* Makes the suite, runs it (each test in a process of its own, unless CK_FORK=no) and returns main's value. A
 * test may take 60 s (an hour with TICKPATH_LONG) unless its case says otherwise with tcase_set_timeout. */
int tp_test_main(const char *name, Suite *(*suite)(void));

/* The seed of this run. */
uint64_t tp_test_seed(void);

/* A generator for one test: the seed mixed with a label, so that no test's numbers depend on another's. */
struct tp_test_rng tp_test_rng(const char *label);

/* The same with another seed than the run's: to play what once failed again. */
struct tp_test_rng tp_test_rng_of(uint64_t of, const char *label);

/* Whether the longer form is asked for. */
bool tp_test_long(void);

/* How many random cases to run: TICKPATH_STEPS if set, else `bounded`, or with TICKPATH_LONG the share of `longer` that is asked for, and
 * never fewer than `bounded`. A case depends on the seed and its number alone: a share of them is the first ones. */
uint64_t tp_test_steps(uint64_t bounded, uint64_t longer);

/* The same where the longer form's count is something that is promised: it is run whole whatever share is asked for. */
uint64_t tp_test_promised(uint64_t bounded, uint64_t promised);

/* The value of TICKPATH_MAPS or TICKPATH_EXPECTED; NULL, after a printed line that says so, when it is unset:
 * the test then returns. Borrowed. */
const char *tp_test_maps_or_skip(void);
const char *tp_test_expected_or_skip(void);

/* The path of one of our programs, "tickpathd" or "tickpath". Static memory, one for all calls. */
const char *tp_test_program(const char *name);

/* Joins folder and name (and a suffix such as ".map") to a path in static memory, one for all calls. */
const char *tp_test_path(const char *folder, const char *name, const char *suffix);

/* Reads a whole file; fails the test if it can't. Gives malloc'd memory with a 0 after the `*size` bytes. */
char *tp_test_read_file(const char *path, size_t *size);

/* Makes a temporary folder for everything this program and its tests make, and names it in TMPDIR. It goes when
 * `end` is called, or when all processes that came of this one by fork are gone, whatever ended them: a process
 * of its own waits for that. Called by tp_test_main. */
struct tp_test_scratch {
    int fd;  /* open as long as one of us lives */
    int pid; /* of the process that removes the folder */
};
void tp_test_scratch_begin(struct tp_test_scratch *scratch);
void tp_test_scratch_end(struct tp_test_scratch *scratch);

/* Makes a fresh temporary folder, and removes a folder with all it holds. Gives the path in static memory,
 * one for all calls. */
const char *tp_test_folder_make(void);
void tp_test_folder_remove(const char *path);

#endif
