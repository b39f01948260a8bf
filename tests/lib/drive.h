/* A second opinion on vehicles with inertia, written from the words at the top of domain/racetrack.c: a line's cells are found by
 * the times at which it enters them, distances by a plain search over the moves turned round.
 *
 * What it refuses: nothing; without memory the running test fails. Who calls it: tests of one thread. (tests/lib/plain_spaces.h has
 * another, that watches sessions; here every state has its number, as in the space.)
 */
#ifndef TESTS_LIB_DRIVE_H
#define TESTS_LIB_DRIVE_H

#include "domain/domain.h"
#include "map/map.h"

/* A vehicle's cell and velocity. */
struct drive_place {
    int x, y, vx, vy;
};
bool drive_same(struct drive_place a, struct drive_place b);

/* What acceleration (ax, ay) does; false beyond the greatest speed, or when nothing changes. */
bool drive_move(const struct tp_map *map, uint32_t goal, struct drive_place from, int ax, int ay,
                struct drive_place *to);

/* A place's state, and back. */
tp_state drive_state(const struct tp_map *map, struct drive_place place);
struct drive_place drive_place_of(const struct tp_map *map, tp_state state);

/* Moves to the goal from every state, by breadth-first search over the moves turned round: UINT32_MAX for none. Malloc'd. */
uint32_t *drive_moves_to_goal(const struct tp_map *map, uint32_t goal);

#endif
