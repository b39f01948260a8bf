/* The fixture of tests of one daemon: one of its own for each test, with a connection. The plain pair does that alone; the other is for tests
 * that ill-treat it: there is a map too, and at the test's end all of it must be in good health.
 *
 *     tcase_add_checked_fixture(cases, served_begin, served_end);
 *
 * A test that needs more begins with the plain pair and goes on; one whose daemon has other options has a fixture of its own.
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

/* Starts a daemon with two threads and a stats port, greets. */
void served_begin_plain(void);

/* Closes the connection; the daemon ends with 0 on SIGTERM, under ASan without a leak. */
void served_end_plain(void);

/* Likewise, and puts the free map "m". */
void served_begin(void);

/* The connection still serves (unless wire_ended), a second one walks an agent over a map of its own; then as the plain one. */
void served_end(void);

#endif
