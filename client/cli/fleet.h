/* Many agents, each a session of a daemon, walked tick by tick; every answer is checked.
 *
 * What it is: opens a session per agent, ticks them all in one request, and holds the daemon to its word: a
 * move must be one (a step, an edge, a tick of a vehicle), legal in the version named and cost what it says; ARRIVED must be at the goal;
 * UNREACHABLE must be true in the mirror's newest version. What it refuses: the first false answer ends the
 * run with words. Who calls it: `tickpath run`.
 */
#ifndef TP_CLI_FLEET_H
#define TP_CLI_FLEET_H

#include "client/cli/mirror.h"
#include "client/cli/run_moves.h"
#include "client/cli/search_options.h"

struct tp_cli_agent {
    uint32_t start, goal;
    struct tp_cli_stand at; /* where it stands */
    uint64_t session;
    uint32_t status; /* enum tp_status of the last answer; 0 before the first */
    uint64_t cost, moves, back_moves;
    uint64_t unreachable_version; /* the newest version its UNREACHABLE was checked in */
    uint32_t *trail;              /* where it stood, from its start on; each move appends */
    size_t trail_count, trail_room;
};

struct tp_cli_fleet {
    const struct tp_cli_usage *usage;
    struct tp_client *client;     /* borrowed */
    struct tp_cli_mirror *mirror; /* borrowed */
    bool keep_trails, exact; /* exact: the goal policy is EXACT, so that arriving means the goal itself */
    struct tp_cli_agent *agents;
    uint32_t *cells; /* where each agent stands, for the door schedule */
    size_t count;
    size_t arrived, unreachable;         /* by the last answers */
    uint64_t expansions, expansions_max; /* in all; the most in one tick of all agents */
    uint64_t guide, guide_max;           /* units paid for what guides, likewise */
    uint64_t ticks;                      /* requests, each of all agents */
    uint64_t ticks_under_way;            /* agent ticks of agents that had not arrived before */
    float *round_trip_us;                /* of each tick: from its sending to its answer, as seen here */
    size_t round_trip_room;
    /* What the answers had said when the sessions were opened again on another daemon, whose own counts begin there. */
    struct tp_cli_fleet_sums {
        uint64_t moves, back_moves, cost, expansions, guide;
    } before;
};

/* Makes room for `count` agents, whose starts and goals the caller then sets. TP_ERR_NO_MEMORY. */
int tp_cli_fleet_init(struct tp_cli_fleet *fleet, size_t count) TP_MUST_CHECK;
void tp_cli_fleet_fini(struct tp_cli_fleet *fleet);

/* Opens all sessions. TP_CLI_OK, or an exit code after saying why. */
int tp_cli_fleet_open(struct tp_cli_fleet *fleet, const struct tp_cli_search *search, const char *map);

/* Sends a tick of all agents, in two halves so that a change can go ahead of it. */
int tp_cli_fleet_send(struct tp_cli_fleet *fleet, uint64_t *ticket);
int tp_cli_fleet_collect(struct tp_cli_fleet *fleet, uint64_t ticket, double sent_at);

/* The sessions were opened again on another daemon. */
void tp_cli_fleet_moved(struct tp_cli_fleet *fleet);

/* Compares the daemon's own counts of moves with those seen here, since the sessions were opened there. */
int tp_cli_fleet_compare(struct tp_cli_fleet *fleet, uint64_t *restarts);

#endif
