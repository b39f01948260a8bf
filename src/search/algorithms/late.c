/* Late acting: the baseline of Björnsson, Bulitko, Sturtevant, IJCAI 2009, Table 1, row L. The agent steps to a neighbour and back
 * until A* is done, then follows its path (../replan.c: pace).
 *
 * Deviations: the paper's neighbour is a random one, ours the lowest state but the goal from which a move leads back; where there
 * is none, and in a tick that can search nothing, the agent stands. */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_late = {
    .name = "late",
    .title = "Late acting",
    .citation = "Björnsson, Bulitko, Sturtevant 2009, Table 1, row L",
    .summary = "step to and fro until A* is done, then follow the optimal path",
    .engine = &tp__engine_replan,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_DETECT_UNREACHABLE | TP_CAN_BE_OPTIMAL | TP_PACES | TP_CAN_CHOOSE_GOAL | TP_CAN_BUCKET,
};
