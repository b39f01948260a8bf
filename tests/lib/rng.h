/* The tests' random numbers: splitmix64, the same on every machine. Not for anything but tests. */
#ifndef TP_TESTS_RNG_H
#define TP_TESTS_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct tp_test_rng {
    uint64_t state;
};

static inline uint64_t tp_test_next(struct tp_test_rng *rng)
{
    uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A number from 0 to bound - 1; bound >= 1. The bias is below 2^-32. */
static inline uint32_t tp_test_below(struct tp_test_rng *rng, uint32_t bound)
{
    return (uint32_t)((tp_test_next(rng) >> 32) * bound >> 32);
}

/* A number from low to high, both possible. */
static inline uint32_t tp_test_between(struct tp_test_rng *rng, uint32_t low, uint32_t high)
{
    return low + tp_test_below(rng, high - low + 1);
}

/* True `percent` times in a hundred. */
static inline bool tp_test_percent(struct tp_test_rng *rng, uint32_t percent)
{
    return tp_test_below(rng, 100) < percent;
}

#endif
