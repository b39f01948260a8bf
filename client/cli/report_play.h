/* What the parts of a cell's play share: report_problems.c loads and chooses, report_play.c plays, report_world.c changes the map meanwhile. */
#ifndef TP_CLI_REPORT_PLAY_H
#define TP_CLI_REPORT_PLAY_H

#include "client/cli/doors.h"
#include "client/cli/files.h"
#include "client/cli/report.h"
#include "client/cli/search_options.h"

struct tp_report_options {
    bool partial;         /* the agent knows the map that this one was made from */
    bool vehicle;         /* moves with inertia */
    uint32_t change_rate; /* in thousandths of a percent */
    uint64_t doors, door_ticks, door_rounds;
    uint64_t ticks_max;
};

struct tp_report_problem {
    uint32_t start, goal;
    double optimal; /* unit steps */
    uint64_t optimal_moves;
    const struct tp_map *map; /* of its own, referenced; NULL: the player's */
};

struct tp_report_player {
    const struct tp_cli_usage *usage;
    struct tp_cli_search search;
    struct tp_report_options options;
    struct tp_cli_map map, known; /* known.map NULL: not needed */
    const struct tp_map *told;    /* the known map as agents are told it, a reference; NULL likewise */
    const struct tp_map *met; /* the map as agents meet it, a reference: a layer of it, or itself */
    bool has_layer;
    struct tp_layer_kind kind;
    struct tp_session_params params;
    struct tp_pool pool;
    struct tp_report_problem *problems;
    size_t count;
};

/* Loads the cell's map and chooses its problems, which tp_report_problems_free frees. TP_CLI_FAILED after saying why. */
int tp_report_problems_load(struct tp_report_player *player, const struct tp_report *report,
                            const struct tp_report_cell *cell);

void tp_report_problems_free(struct tp_report_player *player);

/* A* to its end over the true map: sets the problem's optimal cost and moves; false if the goal is out of reach. */
bool tp_report_solve(struct tp_report_player *player, struct tp_report_problem *problem);

/* The map of one problem while its agent walks. */
struct tp_report_world {
    const struct tp_report_player *player; /* borrowed */
    const struct tp_map *original; /* borrowed: as it was at the start */
    const struct tp_map *base, *met; /* references: the version now, and as the agent meets it */
    const struct tp_map *former; /* a reference: what the agent met before, which its session may hold still; NULL: none */
    uint64_t seed, changes, moves; /* changes so far, and the agent's moves at the last one */
    uint32_t goal;
    struct tp_cli_doors doors;
};

/* At the problem's start; doors are put on the best way. An error of the library. */
int tp_report_world_open(struct tp_report_world *world, struct tp_report_player *player,
                         const struct tp_report_problem *problem, size_t number) TP_MUST_CHECK;
void tp_report_world_close(struct tp_report_world *world);

/* Whether it changes at all; and whether it does after that many ticks and moves, the goal being out of reach or not. */
bool tp_report_world_changes(const struct tp_report_world *world);
bool tp_report_world_is_due(const struct tp_report_world *world, uint64_t ticks, uint64_t moves, bool unreachable);

/* Changes it, with the agent at a cell. An error of the library: it is as it was. */
int tp_report_world_change(struct tp_report_world *world, uint32_t agent, uint64_t moves) TP_MUST_CHECK;

#endif
