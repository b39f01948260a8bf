/* Running the tool `tickpath`, or another program, from a test, and reading what it says.
 *
 * What it is: one run at a time, to its end; everything it wrote comes back as strings. What it refuses: a
 * program that does not end within a minute, or that dies of a signal: the running test fails with its words.
 */
#ifndef TESTS_LIB_TOOL_H
#define TESTS_LIB_TOOL_H

#include <stdbool.h>
#include <stddef.h>

struct tool_run {
    int exit_code;
    char *out, *err; /* what it wrote, with a 0 behind */
};

/* Runs the program at the path argv[0], with these arguments; NULL ends them. A daemon is run with wire_daemon_run. */
void tool_run_program(struct tool_run *run, char *const *argv);

/* Runs `tickpath` with a command line: words parted by single blanks, after printf. */
void tool_run(struct tool_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tool_run_fini(struct tool_run *run);

/* Runs and asserts the exit code; gives what was printed, to be freed. */
char *tool_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The number behind "key": in a JSON text; asserts that it is there. null is NaN. */
double tool_json_number(const char *json, const char *key);

/* The word in quotes behind "key":, in static memory. */
const char *tool_json_word(const char *json, const char *key);

/* Writes a text file in a folder; gives its path in memory to be freed. */
char *tool_write_file(const char *folder, const char *name, const char *text);

#endif
