/* The true costs to a goal from everywhere, by Dijkstra's algorithm on a plain grid: what plans are compared with.
 *
 * Built on ref_step alone (reference.h): it shares no code with src/. Who calls it: tests, from any thread. */
#ifndef TESTS_LIB_DISTANCES_H
#define TESTS_LIB_DISTANCES_H

#include "tests/lib/reference.h"

/* Writes the least cost from each cell to `goal` into `costs` (width * height), UINT64_MAX where no way leads. From an impassable
 * cell it is the cost of leaving it and going on, though nobody gets there. */
void ref_costs_to(const struct ref_problem *problem, uint32_t goal, uint64_t *costs);

/* The cost of the walk over `count` cells in single moves; UINT64_MAX if one is not legal. */
uint64_t ref_walk_cost(const struct ref_problem *problem, const uint32_t *cells, uint32_t count);

#endif
