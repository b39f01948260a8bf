/* An agent that walks to and fro on a map of a daemon's, ticked without a pause by a thread of its own: whatever else happens, it must be
 * served.
 *
 * What it is: counts, and what went wrong first, in words. What it refuses: judging. Who calls it: tests.
 */
#ifndef TESTS_LIB_TICKER_H
#define TESTS_LIB_TICKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ticker {
    bool is_running;
    uint16_t port;
    char map[32];
    uint32_t from, to; /* cells */
    pthread_t thread;
    atomic_bool is_ending;

    atomic_uint_fast64_t ticks; /* answered with a move or a status */
    atomic_uint_fast64_t
        told; /* times the session was refused, since its map was in another epoch, and opened again */
    /* The rest is good after ticker_stop. */
    uint64_t longest_ms; /* the longest that one took */
    uint64_t epoch;      /* of the session */
    uint64_t version;    /* the latest that a tick named in it */
    char failure[160];   /* empty: none */
};

/* Opens a session from one cell to another on a connection of its own, and ticks. Returns after the first tick: what becomes of the map from
 * then on, the session is told. Fails the test where none is answered. */
void ticker_start(struct ticker *ticker, uint16_t port, const char *map, uint32_t from, uint32_t to);

/* Ends it; where it does not run, nothing. */
void ticker_stop(struct ticker *ticker);

#endif
