/* The fixture of tests that ill-treat a daemon: one of its own for each test, a map, a connection; at the
 * test's end all of it must be in good health.
 *
 *     tcase_add_checked_fixture(cases, served_begin, served_end);
 */
#ifndef TESTS_LIB_SERVED_H
#define TESTS_LIB_SERVED_H

#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

enum { SERVED_WIDTH = 10, SERVED_HEIGHT = 6, SERVED_CELLS = SERVED_WIDTH * SERVED_HEIGHT };

struct served {
    struct wire_daemon daemon;
    struct wire wire; /* greeted */
    bool wire_ended;  /* set by a test whose connection the daemon ended, as it should */
};
extern struct served served;

/* Starts a daemon with two threads, puts the free map "m", greets. */
void served_begin(void);

/* The connection still serves (unless wire_ended), a second one walks an agent over a map of its own, and the
 * daemon ends with 0 on SIGTERM: alive, and under ASan without a leak. */
void served_end(void);

#endif
