/* Where many agents start and where they go: a scenario's rows, a track's start and finish cells, or drawn.
 *
 * Who calls it: `tickpath run` and `tickpath load`.
 */
#ifndef TP_CLI_AGENTS_H
#define TP_CLI_AGENTS_H

#include "client/cli/fleet.h"
#include "client/cli/rows.h"

struct tp_cli_agents {
    const struct tp_cli_usage *usage;
    const struct tp_cli_space *space;
    const struct tp_track *track; /* its starts and finishes; all 0 on other maps */
    struct tp_cli_mirror *mirror; /* of the space's map */
    const char *scen_path;        /* NULL: none */
    uint64_t first, stride;       /* rows of it */
    uint64_t count;
    uint64_t seed;
};

/* Makes the agents with their starts and goals: a scenario's rows, a track's start and finish cells, or drawn by the seed so that
 * a way leads from each start to its goal. A scenario may have fewer. TP_CLI_OK, or TP_CLI_FAILED after saying why. */
int tp_cli_agents_make(const struct tp_cli_agents *from, struct tp_cli_fleet *fleet);

/* The cells of the largest part of a grid where all can reach each other: `*count` of them, at least two, to be freed. TP_CLI_OK, or
 * TP_CLI_FAILED after saying why. */
int tp_cli_agents_ground(const struct tp_cli_agents *from, uint32_t **cells, uint32_t *count);

#endif
