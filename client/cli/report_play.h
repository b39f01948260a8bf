/* What the two halves of a cell's play share: report_problems.c loads and chooses, report_play.c plays. */
#ifndef TP_CLI_REPORT_PLAY_H
#define TP_CLI_REPORT_PLAY_H

#include "client/cli/files.h"
#include "client/cli/report.h"
#include "client/cli/search_options.h"

struct tp_report_options {
    bool partial;         /* the agent knows the map that this one was made from */
    bool vehicle;         /* moves with inertia */
    uint32_t change_rate; /* in thousandths of a percent */
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

#endif
