/* splitmix64: the tool's random numbers, the same on every machine. */
#ifndef TP_CLI_RANDOM_H
#define TP_CLI_RANDOM_H

#include <stdint.h>

struct tp_cli_random {
    uint64_t state;
};

static inline uint64_t tp_cli_random_next(struct tp_cli_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 .. below - 1; below >= 1. The bias is under 2^-32. */
static inline uint32_t tp_cli_random_below(struct tp_cli_random *random, uint32_t below)
{
    return (uint32_t)((tp_cli_random_next(random) >> 32) * below >> 32);
}

#endif
