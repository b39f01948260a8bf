/* What the parts of `tickpath load` share: the options, the load, and what was measured.
 *
 * load.c makes the load and ends it; load_agents.c gives agents new goals and the map changes; load_frames.c sends frames at
 * their times (open loop); load_single.c ticks sessions one by one (closed loop); load_table.c prints.
 */
#ifndef TP_CLI_LOAD_INTERNAL_H
#define TP_CLI_LOAD_INTERNAL_H

#include "client/cli/fleet.h"
#include "client/cli/histogram.h"
#include "client/cli/random.h"
#include "client/cli/remote.h"
#include "client/cli/rows.h"
#include "client/cli/threads.h"

enum tp_cli_load_workload {
    TP_CLI_LOAD_SEARCHING, /* goals are renewed as soon as the path is complete */
    TP_CLI_LOAD_GUIDED,    /* goals are renewed on arrival */
    TP_CLI_LOAD_FINISHED,  /* paths are completed off the clock: what is measured walks on them */
    TP_CLI_LOAD_SINGLE,    /* likewise, one session a request, closed loop */
    TP_CLI_LOAD_WORKLOADS,
};
extern const char *const tp_cli__load_names[TP_CLI_LOAD_WORKLOADS];

struct tp_cli_load_options {
    struct tp_cli_host_port via;
    int workload; /* enum tp_cli_load_workload */
    const char *scen_path;
    int kind; /* of the map made where none is given: enum tp_generate_kind */
    uint32_t size[2];
    uint64_t first, stride;
    uint64_t agents, connections;
    double hz, seconds;
    uint64_t warm_frames, in_flight, changes;
    uint64_t goals;                                         /* places that goals are drawn from; 0: all */
    uint64_t total_expansions, total_us, total_guide_units; /* of a frame, all agents together; 0: none */
    uint64_t daemon_pid;                                    /* 0: not given */
    bool json;
};

enum tp_cli_load_end {
    TP_CLI_LOAD_IN_TIME,
    TP_CLI_LOAD_DAEMON_GONE,
    TP_CLI_LOAD_INTERRUPTED,
    TP_CLI_LOAD_FAILED
};

/* Times in ns. */
struct tp_cli_load_figures {
    uint64_t intended, sent, answered; /* frames; requests of `single` */
    uint64_t late;                     /* frames not sent in time, because too many were unanswered */
    struct tp_cli_histogram
        latency; /* from the intended time to the answer; what was never answered until the end */
    struct tp_cli_histogram delay; /* from the intended time to the sending */
    struct tp_cli_histogram loop;  /* CPU time of the daemon's loops, a frame */
    uint64_t loop_shared;          /* frames whose CPU time was read together, and shared alike */
    uint64_t loop_ns;              /* of `single`, in all */
    uint64_t measured_ns, off_clock_ns;
    uint64_t agent_ticks, complete, starved; /* agent ticks in all; with PATH_COMPLETE; past a total */
    uint64_t starved_longest; /* ticks on end that an agent was starved in, at the most */
    uint64_t statuses[TP_CLIENT_UNREACHABLE + 1];
    uint64_t goals, changed; /* given anew; cells */
    enum tp_cli_load_end end;
};

/* What the load knows of an agent besides its fleet's record. */
struct tp_cli_load_agent {
    uint64_t goal_frame; /* answers of frames before this one are of an older goal */
    bool waits;          /* for a new goal, or for its path to be completed */
    bool has_arrived;    /* (or cannot): wants another goal */
};

struct tp_cli_load {
    struct tp_cli_load_options options;
    struct tp_cli_search search;
    struct tp_cli_rows maps; /* which map; nothing else of it */
    struct tp_cli_space space;
    struct tp_track track;
    struct tp_cli_mirror mirror;
    struct tp_cli_remote_map remote;
    struct tp_client **clients; /* one; of `single` as many as --connections */
    size_t client_count;
    struct tp_cli_fleet fleet;        /* all agents */
    struct tp_cli_load_agent *agents; /* beside the fleet's */
    size_t *waiting, waiting_count;   /* agents that wait */
    uint32_t *ground, ground_count;   /* cells that hang together */
    uint32_t place_count;             /* of them the first: goals are drawn from these */
    uint32_t *closed;                 /* cells closed by changes, a ring of as many as the map has at most */
    size_t closed_first, closed_count, closed_room;
    uint32_t *change_cells, *change_terrains; /* of one frame */
    struct tp_cli_random random;
    struct tp_cli_threads loops; /* of the daemon; none: not looked at */
    struct tp_cli_load_figures figures;
};

extern const struct tp_cli_usage tp_cli__load_usage;

uint64_t tp_cli__load_now_ns(void);

/* Notes that a call of the client library failed, and says how: TP_CLI_FAILED. */
int tp_cli__load_broken(struct tp_cli_load *load, struct tp_client *client, const char *what);

/* ---- load_agents.c ---- */

/* Makes the agents and what goals are drawn from. TP_CLI_OK, or TP_CLI_FAILED after saying why. */
int tp_cli__load_agents(struct tp_cli_load *load);

/* The agent wants attention by its answer: a new goal, or its path completed. Puts it on the waiting list, once. */
void tp_cli__load_answer(struct tp_cli_load *load, uint64_t frame, size_t agent, uint32_t cell,
                         uint32_t status, uint32_t flags);

/* Another goal for an agent, written into the fleet. */
uint32_t tp_cli__load_goal(struct tp_cli_load *load, size_t agent);

/* Draws a frame's changed cells: closes free ones, and opens as many of those closed before once there are some frames' worth. */
struct tp_client_changes tp_cli__load_changes(struct tp_cli_load *load);

/* Off the clock: gives agents of the waiting list new goals and completes their paths, up to `agents_max` of them and `rounds_max` ticks;
 * those left stay on the list. TP_CLI_OK, or TP_CLI_FAILED after saying why. */
int tp_cli__load_complete(struct tp_cli_load *load, size_t agents_max, uint64_t rounds_max);

/* Completes all paths: those of agents that wait, or with `all` of all agents. */
int tp_cli__load_complete_all(struct tp_cli_load *load, bool all);

/* ---- load_frames.c, load_single.c ---- */

/* Runs the load and measures it. TP_CLI_OK, or TP_CLI_FAILED after saying why; figures.end says it too. */
int tp_cli__load_frames(struct tp_cli_load *load);
int tp_cli__load_single(struct tp_cli_load *load);

/* The connection an agent's session is of. */
size_t tp_cli__load_client_of(const struct tp_cli_load *load, size_t agent);

/* ---- load_table.c ---- */

void tp_cli__load_progress(const struct tp_cli_load *load, double seconds);
void tp_cli__load_table(const struct tp_cli_load *load);
void tp_cli__load_json(const struct tp_cli_load *load);

#endif
