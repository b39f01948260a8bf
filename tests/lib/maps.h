/* Maps for tests: from a drawing, at random, or from the benchmark folder. Every function fails the running
 * test if it cannot do what it says. */
#ifndef TP_TESTS_MAPS_H
#define TP_TESTS_MAPS_H

#include "map/map.h"
#include "map/movingai.h"
#include "tests/lib/harness.h"

/* Makes version 1 of a map from a drawing: rows of equal length with '\n' between them, benchmark classes
 * ('.' free, '@' blocked, and so on) under the benchmark profile. Gives a reference. */
struct tp_map *tp_test_map(const char *art);

/* Like tp_test_map, with a profile of the caller's. */
struct tp_map *tp_test_map_weighted(const char *art, const struct tp_profile *profile);

/* A width x height map of '.' cells. Gives a reference. */
struct tp_map *tp_test_map_free(uint32_t width, uint32_t height);

/* A map whose cells are blocked `percent` times in a hundred. Gives a reference. */
struct tp_map *tp_test_map_random(struct tp_test_rng *rng, uint32_t width, uint32_t height, uint32_t percent);

/* Likewise with four classes that weigh 1 to `top` each, drawn first. */
struct tp_map *tp_test_map_random_weighted(struct tp_test_rng *rng, uint32_t width, uint32_t height,
                                           uint32_t percent, uint32_t top);

/* Version 1 of a graph map; x and y NULL: without coordinates. Gives a reference. */
struct tp_map *tp_test_map_graph(uint32_t nodes, const struct tp_graph_edge *edges, size_t count, const double *x,
                                 const double *y);

/* The cell `symbol` of a drawing as a cell id (y * width + x); UINT32_MAX if it does not stand there. */
uint32_t tp_test_find(const char *art, char symbol);

/* A passable cell at random (y * width + x), of a map that has one. */
uint32_t tp_test_free_cell(struct tp_test_rng *rng, const struct tp_map *map);

/* Sets the class of one cell, or of a rectangle: replaces *map by its next version. */
void tp_test_set(struct tp_map **map, uint32_t x, uint32_t y, char class_to);
void tp_test_set_rect(struct tp_map **map, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                      char class_to);

/* A random batch of at most TP_TEST_BATCH_MAX changes for a map of this size, with TP_TEST_BITS_MAX bytes of bits for each; some
 * of them lie outside when `bad`. Returns how many. */
enum { TP_TEST_BATCH_MAX = 12, TP_TEST_BITS_MAX = 64 };
size_t tp_test_random_batch(struct tp_test_rng *rng, struct tp_change *changes, uint8_t *bits, uint32_t width,
                            uint32_t height, bool bad);

/* Loads `<folder>/<name>.map` (name such as "bg512/AR0011SR") under the benchmark profile. Gives a reference.
 */
struct tp_map *tp_test_map_load(const char *folder, const char *name);

/* Loads `<folder>/<name>.scen`; the caller calls tp_movingai_scen_fini. */
struct tp_movingai_scen tp_test_scen_load(const char *folder, const char *name);

#endif
