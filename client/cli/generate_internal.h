/* What the generators share: a grid, random numbers, noise, and the joining of what is not connected. Only
 * for generate.c and generate_city.c. Integer arithmetic throughout: the same map on every machine. */
#ifndef TP_CLI_GENERATE_INTERNAL_H
#define TP_CLI_GENERATE_INTERNAL_H

#include "client/cli/generate.h"

#include <stdbool.h>

struct tp__grid {
    uint32_t width, height;
    uint8_t *cells;
};

/* splitmix64 */
struct tp__rng {
    uint64_t state;
};

uint64_t tp__mix(uint64_t value);

static inline uint64_t tp__rng_next(struct tp__rng *rng)
{
    return tp__mix(rng->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* 0 .. bound - 1; bound >= 1 */
static inline uint32_t tp__rng_below(struct tp__rng *rng, uint32_t bound)
{
    return (uint32_t)((tp__rng_next(rng) >> 32) * bound >> 32);
}

/* low .. high, both possible */
static inline uint32_t tp__rng_between(struct tp__rng *rng, uint32_t low, uint32_t high)
{
    return low + tp__rng_below(rng, high - low + 1);
}

static inline bool tp__rng_percent(struct tp__rng *rng, uint32_t percent)
{
    return tp__rng_below(rng, 100) < percent;
}

static inline bool tp__is_free(uint8_t cell)
{
    return cell == '.' || cell == 'G' || cell == 'S';
}

/* Smooth noise, 0..65535: random values on a lattice of `period` cells, blended between. Coordinates are >=
 * 0. */
uint32_t tp__noise(uint64_t seed, uint32_t x, uint32_t y, uint32_t period);

/* Three octaves of noise, 0..65535. */
uint32_t tp__noise_rough(uint64_t seed, uint32_t x, uint32_t y, uint32_t period);

/* Makes the free cells one area under 4 neighbours: areas of at least `kept_min` cells are joined to the
 * largest by winding tunnels of '.' that are `tunnel` cells wide, smaller ones are filled with what surrounds
 * them. A grid without a free cell gets one. TP_ERR_NO_MEMORY. Cost: O(cells). */
int tp__generate_join(const struct tp__grid *grid, uint64_t seed, uint32_t kept_min,
                      uint32_t tunnel) TP_MUST_CHECK;

/* generate_city.c */
int tp__generate_city(const struct tp__grid *grid, uint64_t seed, uint32_t block,
                      uint32_t street) TP_MUST_CHECK;

#endif
