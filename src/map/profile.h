/* A profile maps each terrain class (one byte) to a weight: 0 is impassable, else a multiple of the base cost.
 * Plain data, copied by value; belongs to whoever holds it. */
#ifndef TP_MAP_PROFILE_H
#define TP_MAP_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct tp_profile {
    uint16_t weight[256]; /* by class; 0 (impassable) .. TP_WEIGHT_MAX */
};

/* The benchmark maps' profile: '.', 'G' and 'S' weigh 1, every other class is impassable. */
void tp_profile_init_movingai(struct tp_profile *profile);

/* The least weight of a passable class of the profile, whatever classes a map holds; 1 if none is passable. */
uint16_t tp_profile_least_weight(const struct tp_profile *profile);

/* The first class of that weight; 0 if none is passable. */
uint8_t tp_profile_least_class(const struct tp_profile *profile);

/* The largest weight of the profile; 1 if none is passable. */
uint16_t tp_profile_largest_weight(const struct tp_profile *profile);

/* Whether every class is impassable. */
bool tp_profile_closes_all(const struct tp_profile *profile);

#endif
