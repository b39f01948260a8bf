/* What is wrong with a move that a daemon answered: a second opinion, which uses none of the search's own code for vehicles.
 *
 * Who calls it: the fleet of `tickpath run`, for every answer.
 */
#ifndef TP_CLI_RUN_MOVES_H
#define TP_CLI_RUN_MOVES_H

#include "client/cli/mirror.h"

/* Where an agent stands; a vehicle's velocity, else 0. */
struct tp_cli_stand {
    uint32_t cell;
    int vx, vy;
};

/* Whether a move was made. A vehicle that brakes on its cell moves; at its goal it stands. */
bool tp_cli_stand_moved(struct tp_cli_stand from, struct tp_cli_stand to, uint32_t goal);

/* Why the agent can't get from one to the other in one move at that cost in a version of the map; NULL if it can. Static
 * memory. */
const char *tp_cli_wrong_move(const struct tp_cli_mirror *mirror, const struct tp_map *map,
                              struct tp_cli_stand from, struct tp_cli_stand to, uint32_t goal, uint64_t cost);

#endif
