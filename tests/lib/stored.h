/* A daemon that keeps its maps in a folder, and one connection to it: what the tests of that store begin with.
 *
 * Every function fails the running test if it cannot do what it says. One daemon a program; tests of one thread. stored_begin and
 * stored_end are the fixture around a test, which starts and stops the daemon as often as it likes.
 */
#ifndef TESTS_LIB_STORED_H
#define TESTS_LIB_STORED_H

#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <sys/types.h>

enum { STORED_WIDTH = 40, STORED_HEIGHT = 30, STORED_CELLS = STORED_WIDTH * STORED_HEIGHT };

extern struct wire_daemon stored_daemon;
extern struct wire stored_wire; /* open and greeted while the daemon is started */
extern char stored_folder[128]; /* the daemon's --data */

void stored_begin(void);
void stored_end(void);

void stored_start(void);
void stored_stop(void);
void stored_die(void); /* kill -9 */

/* The reply to OpenMap: the caller's. */
Tickpath__Reply *stored_open_map(const char *name);
void stored_expect_map(const char *name, uint64_t epoch, uint64_t version, uint64_t passable);
uint64_t stored_epoch_of(const char *name);

/* The one file of the folder that ends so, in static memory. */
const char *stored_only_file(const char *end);
off_t stored_size_of(const char *path);

/* Flips one bit of a file; a place below 0 counts from its end. */
void stored_damage(const char *path, off_t at);

/* Blocks cells first..last, one batch each. */
void stored_block(const char *map, uint32_t first, uint32_t last);

/* Fails unless these words stand in what the daemon logged. */
void stored_expect_in_log(const char *words);

#endif
