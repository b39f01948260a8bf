/* Buffers between two uses: what a loop took for one reply, or for a frame that came in pieces, serves the next.
 *
 * What it is: a few free buffers, the smallest that will do given first, so that a loop that does the same all the time takes nothing
 * from the system. What is not used for a while goes back (tp_spares_trim). What it refuses: to keep many, or very large ones.
 * Who calls it: the codec's buffers (daemon/net/frame.h) and the connections of one loop, on its thread.
 */
#ifndef TP_DAEMON_SPARES_H
#define TP_DAEMON_SPARES_H

#include <stddef.h>
#include <stdint.h>

enum {
    TP_SPARES_MAX = 16,
    TP_SPARES_BYTES_MIN = 4096,        /* of a buffer */
    TP_SPARES_BYTES_MAX = 8 * 1024 * 1024, /* of all that are kept */
};

/* Zeroed is empty. */
struct tp_spares {
    struct {
        uint8_t *bytes;
        size_t capacity;
    } kept[TP_SPARES_MAX]; /* the one put back last at the end */
    unsigned count;
    unsigned idle; /* the first so many were not taken since the last trim */
    size_t bytes;  /* of all kept */
};

void tp_spares_fini(struct tp_spares *spares);

/* Gives a buffer of at least `bytes`, its size (a power of two, TP_SPARES_BYTES_MIN or more) in *capacity; NULL when out of memory.
 * `spares` NULL: a new one. Cost: O(TP_SPARES_MAX). */
uint8_t *tp_spares_take(struct tp_spares *spares, size_t bytes, size_t *capacity);

/* Takes a buffer back, keeps or frees it; NULL is none. `spares` NULL: frees it. */
void tp_spares_put(struct tp_spares *spares, void *bytes, size_t capacity);

/* Frees what was not taken since the last call. To be called now and then. */
void tp_spares_trim(struct tp_spares *spares);

#endif
