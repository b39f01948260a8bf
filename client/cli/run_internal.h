/* What the parts of `tickpath run` share: the options, the run and its end (run_table.c). */
#ifndef TP_CLI_RUN_INTERNAL_H
#define TP_CLI_RUN_INTERNAL_H

#include "client/cli/doors.h"
#include "client/cli/fleet.h"
#include "client/cli/remote.h"
#include "client/cli/rows.h"

struct tp_cli_run_options {
    const char *scen_path, *png_path;
    struct tp_cli_addresses via;
    uint64_t agents, first, stride;
    uint64_t doors; /* UINT64_MAX: not given */
    uint64_t door_ticks, door_rounds;
    uint64_t ticks_max;
};

struct tp_cli_run {
    struct tp_cli_run_options options;
    struct tp_cli_search search;
    struct tp_cli_rows maps; /* which map; nothing else of it */
    struct tp_cli_space space;
    struct tp_track track; /* its starts and finishes; all 0 on other maps */
    struct tp_client *client;
    struct tp_cli_remote_map remote; /* the map on the daemon */
    struct tp_cli_mirror mirror;
    struct tp_cli_doors doors;
    struct tp_cli_fleet fleet;
    struct tp_cli_failovers failovers;
    double pause; /* the longest round trip of a tick that a failover fell into, in seconds; 0: none */
    uint64_t rounds; /* of the doors, done */
    double seconds;
    uint64_t restarts;
    bool gave_up;
};

extern const struct tp_cli_usage tp_cli__run_usage;

/* Prints the closing table; draws the map with the ways walked. TP_CLI_OK, or an exit code after saying why. */
int tp_cli__run_table(struct tp_cli_run *run);
int tp_cli__run_draw(const struct tp_cli_run *run);

#endif
