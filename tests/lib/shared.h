/* Two daemons that share one map through a Redis, each with a way there of its own that can misbehave, and what their clients were
 * told: what the fault tests of a fleet begin and end with.
 *
 * What it is: a fixture, and a plain model. Each change sets one cell that no other change sets, under a key of its own, so that a
 * change lost, or applied though it was refused, shows in the cells, and one applied twice in the version. What it refuses: a fault of
 * its own making: it gives what is refused with UNAVAILABLE as a result, and fails on any other surprise. Who calls it:
 * tests of one thread (the tickers have threads of their own).
 */
#ifndef TESTS_LIB_SHARED_H
#define TESTS_LIB_SHARED_H

#include "tests/lib/proxy.h"
#include "tests/lib/redis.h"
#include "tests/lib/ticker.h"
#include "tests/lib/wire.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SHARED_DAEMONS = 2,
    SHARED_WIDTH = 40,
    SHARED_HEIGHT = 30,
    SHARED_CELLS = SHARED_WIDTH * SHARED_HEIGHT,
    SHARED_FIRST_CELL = 2 * SHARED_WIDTH, /* above it nothing changes: there the tickers' agents walk */
    SHARED_WAIT_MS = 20000,               /* longest wait for anything */
};

enum shared_fate {
    SHARED_FREE, /* no change of it was sent */
    SHARED_REFUSED, /* its change was refused, and the words were that nothing was applied: it must not be there */
    SHARED_UNKNOWN, /* its answer was lost, or said that it is not known: it may be there */
    SHARED_ACKED,   /* its change was acknowledged: it must be there */
};

struct shared {
    struct test_redis redis; /* started by shared_begin */
    struct proxy proxy[SHARED_DAEMONS];
    struct wire_daemon daemon[SHARED_DAEMONS];
    struct wire wire[SHARED_DAEMONS]; /* greeted while the daemon runs */
    struct ticker ticker[SHARED_DAEMONS];
    char url[160];        /* of both daemons, instead of each one's way to the Redis; set before a start */
    char url_options[64]; /* behind the URL, "?wait=1"; likewise */
    char fold_batches[8]; /* of the daemons: changes to a snapshot; set before a start */

    uint8_t fate[SHARED_CELLS];
    uint32_t next_cell;
    uint64_t epoch;        /* as put, or as it was found to be after that */
    bool is_anew;          /* the latter: then versions do not count the changes */
    uint64_t version_most; /* the latest acknowledged in it */
};

extern struct shared shared;

/* The fixture around a test: a Redis and two ways to it, no daemon yet; and everything ended. */
void shared_begin(void);
void shared_end(void);

/* Starts a daemon and greets it; SIGTERM; SIGKILL. A ticker must be stopped before. */
void shared_start(int i);
void shared_stop(int i);
void shared_kill(int i);

/* SIGSTOP and SIGCONT. */
void shared_freeze(int i);
void shared_thaw(int i);

/* Starts both daemons, puts the free map "m" through the first, waits until the second has it, and lets an agent tick on each. */
void shared_start_all(void);

/* Stops both tickers and asserts that they were served throughout, by so many ticks at least each. */
void shared_expect_ticks(uint64_t least);

/* Waits until a ticker's session was told that its epoch is over. */
void shared_wait_told(int i);

/* Sends the change of the next cell and takes its answer: 0, or TICKPATH__ERROR_CODE__UNAVAILABLE. */
int shared_change(int i);

/* Sends the change of the next cell; whatever answer comes is not waited for (nor may another be asked for on that connection). */
void shared_send(int i);

/* So many, each acknowledged. */
void shared_change_well(int i, uint32_t count);

/* One that is refused. */
void shared_change_refused(int i);

/* Tries a change until one is acknowledged. */
void shared_change_until_well(int i);

/* Sends every change that was refused, or is of unknown fate, again under its key, until each is acknowledged. */
void shared_resend(int i);

/* Waits until a daemon's stats, and what it greets with, say that it is degraded for a reason with one of these words (parted by '|'); or
 * that it is well. */
void shared_wait_degraded(int i, const char *words);
void shared_wait_well(int i);

/* Where a daemon's map stands. Asserts that it has it. */
void shared_place(int i, uint64_t *epoch, uint64_t *version);

/* Waits until both daemons are well and stand at the same place, then asserts that every cell is as the model has it, on both; gives the
 * version. Without changes of unknown fate in the epoch in which the map was put it is one more than those acknowledged. */
uint64_t shared_expect_equal(void);

/* The same of one daemon. */
uint64_t shared_expect_model(int i);

/* The same once the map is in another epoch on both, which is that of the model from then on. */
uint64_t shared_expect_equal_anew(void);

/* Puts the free map anew through a daemon: another epoch, without the changes so far. */
void shared_put_anew(int i);

/* Waits until the map's log in Redis has at most so many entries. */
void shared_wait_trimmed(unsigned entries_most);

/* Takes all that a Redis that does not run has kept. */
void shared_empty(struct test_redis *redis);

/* Fails unless these words stand in what a daemon logged. */
void shared_expect_in_log(int i, const char *words);

/* Lets time pass. */
void shared_pause_ms(unsigned ms);

#endif
