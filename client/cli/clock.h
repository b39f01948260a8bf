/* The monotonic clock, for the tool's pauses, progress and time-outs. Who calls it: the tool. */
#ifndef TP_CLI_CLOCK_H
#define TP_CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Seconds. */
static inline double tp_cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Milliseconds, rounded down. */
static inline int64_t tp_cli_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
