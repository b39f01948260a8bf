/* Playing problems to their end: in-process (play_local.c) or through a daemon (play_remote.c), with the same
 * results but for the times.
 *
 * What it is: a list of problems on one static map goes in; each comes back with its outcome and measures. A
 * player may watch every tick. Who calls it: bench, trace and inspect.
 */
#ifndef TP_CLI_PLAY_H
#define TP_CLI_PLAY_H

#include "client/cli/clock.h"
#include "client/cli/files.h"
#include "client/cli/search_options.h"

/* Ticks after which a problem is given up unless the caller says less, so that every run ends. */
#define TP_CLI_TICKS_MAX 100000000ull

enum tp_cli_outcome {
    TP_CLI_NOT_PLAYED,
    TP_CLI_ARRIVED,
    TP_CLI_UNREACHABLE,
    TP_CLI_GAVE_UP, /* ticks_max reached */
};

struct tp_cli_problem {
    uint32_t start, goal; /* cells; to be set by the caller */
    enum tp_cli_outcome outcome;
    uint64_t ticks, moves, back_moves, restarts, flips;
    uint64_t expansions, expansions_max; /* in all, the largest in one tick */
    uint64_t guide; /* units paid for what guides the search */
    uint32_t bound_milli; /* on the walk's cost, as the last tick told it; 0: nothing is proved */
    tp_cost cost;
    uint64_t bytes_peak; /* of search memory */
    uint64_t touched;    /* states in the last search's tree; 0 where a daemon played */
    uint64_t move_hash;
};

/* One tick of a watched problem. */
struct tp_cli_step {
    uint64_t tick; /* from 1; 0 is the start, before any tick */
    uint32_t cell; /* where the agent stands after it */
    bool moved;
    int vx, vy; /* of a vehicle; else 0 */
    uint32_t status, flags;
    uint64_t expansions, traced, guide;
    uint32_t bound_milli;
    uint64_t version;
};

struct tp_cli_play {
    const struct tp_cli_usage *usage;
    const struct tp_cli_search *search;
    const struct tp_cli_map *map;
    const struct tp_cli_map *known;     /* with --known: the map the agent knows, else NULL */
    const char *map_path;               /* the map's name on a daemon is made of it */
    const struct tp_cli_host_port *via; /* daemon; host empty: in-process */
    uint64_t ticks_max;                 /* of each problem; 0: TP_CLI_TICKS_MAX */
    /* Sees every tick, NULL for none; problems are then played one after the other. */
    void (*step_cb)(const struct tp_cli_step *step, void *context);
    /* In-process alone: sees each session when its problem is over, before it is closed; NULL for none. */
    void (*over_cb)(const struct tp_session *session, void *context);
    void *context;
    double seconds; /* out: time spent in ticks (with a daemon: until their answers came) */
};

/* Plays all problems. TP_CLI_OK, or TP_CLI_FAILED or TP_CLI_USAGE after saying why. */
int tp_cli_play(struct tp_cli_play *play, struct tp_cli_problem *problems, size_t count);

int tp_cli__play_local(struct tp_cli_play *play, struct tp_cli_problem *problems, size_t count);
int tp_cli__play_remote(struct tp_cli_play *play, struct tp_cli_problem *problems, size_t count);

#endif
