/* A loop of the daemon on this thread, with one connection over the loopback: all that a loop does for a request, the system's calls and
 * libuv among it, for benches.
 *
 * What it is: the loop and the connection are real; the world is not there, as with tests/lib/solo.h, whose way to open sessions it
 * takes. What it refuses: requests that need the world; but the first, by which the connection's peer is learned, and which is refused. A failure
 * ends the process. Who calls it: one thread.
 */
#ifndef TESTS_BENCH_LINKED_H
#define TESTS_BENCH_LINKED_H

#include "tests/lib/solo.h"

/* Sets up the loop with what `solo` has (borrowed until fini) and its map. */
void linked_init(struct solo *solo);
void linked_fini(void);

uint64_t linked_open(const struct tp_session_params *params);

/* Sends a request; linked_run then has the loop handle it, and linked_reply takes the reply, to be freed. */
void linked_send(const uint8_t *frame, size_t size);
void linked_run(void);
Tickpath__Reply *linked_reply(void);

#endif
