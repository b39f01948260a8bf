#include "daemon/clock.h"

#include <time.h>

static uint64_t read_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t tp_clock_now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

uint64_t tp_clock_now_ms(void)
{
    return tp_clock_now_us() / 1000;
}

uint64_t tp_clock_unix_us(void)
{
    return read_us(CLOCK_REALTIME);
}
