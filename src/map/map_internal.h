/* What the files that make map versions share: map.c, layer.c. */
#ifndef TP_MAP_MAP_INTERNAL_H
#define TP_MAP_MAP_INTERNAL_H

#include "map/map.h"

/* What is made and freed is counted in `held`, NULL for nobody's: a version's own, whose tiles these are. */

/* A map of that size without tiles, marks and profile; NULL when out of memory. */
struct tp_map *tp__map_new(struct tp_map_held *held, uint32_t width, uint32_t height);

/* Sets the profile, and whether it weighs. */
void tp__map_profile_set(struct tp_map *map, const struct tp_profile *profile);

/* A zeroed tile with one reference; NULL when out of memory. */
struct tp_map_tile *tp__map_tile_new(struct tp_map_held *held, uint32_t columns, uint32_t rows);

/* A tile with the same cells and one reference; NULL when out of memory. */
struct tp_map_tile *tp__map_tile_copy(struct tp_map_held *held, const struct tp_map_tile *tile);

/* Takes one more reference; returns `tile`. */
struct tp_map_tile *tp__map_tile_ref(struct tp_map_tile *tile);
void tp__map_tile_unref(struct tp_map_held *held, struct tp_map_tile *tile);

/* What a cell's weight means to who walks: of two cells the one with the larger value is heavier, impassable above all. */
static inline uint16_t tp__weight_rank(uint16_t weight)
{
    return (uint16_t)(weight - 1);
}

#endif
