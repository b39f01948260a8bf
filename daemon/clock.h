/* The daemon's clocks, as numbers. Machines that must run on virtual time (scheduler, world) take a function
 * instead; what gives them one, and the store's threads, read these. Any thread. */
#ifndef TP_DAEMON_CLOCK_H
#define TP_DAEMON_CLOCK_H

#include <stdint.h>

/* A clock handed in: monotonic, in microseconds. */
struct tp_clock {
    uint64_t (*now_us)(void *context);
    void *context;
};

/* Microseconds, and milliseconds, of a clock that only goes forward (CLOCK_MONOTONIC). */
uint64_t tp_clock_now_us(void);
uint64_t tp_clock_now_ms(void);

/* Microseconds since 1970; may be set back. */
uint64_t tp_clock_unix_us(void);

#endif
