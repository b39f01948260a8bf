/* TBA*: Björnsson, Bulitko, Sturtevant, "TBA*: Time-Bounded A*", IJCAI 2009, Algorithm 1.
 *
 * A* from the start towards the goal, N_E expansions a tick; a path to the best open state traced back N_T steps a
 * tick; the agent follows its path, or moves back along the tree until it meets the new one. The lines are mapped in
 * ../time_bounded.c; this row splits R into N_E = floor(R r) and N_T = (R - N_E) c (section 3.3), the first tick
 * expanding min(N_E, N_T) or by the longest-path rule.
 *
 * Readings of the text, each checked against independent figures:
 * - a tick in which the goal is found still traces N_T steps; from the next one on all of R goes to tracing, R c;
 * - a trace under way when the goal is found is finished first; at most one trace is completed a tick.
 * Deviations:
 * - line 22 pops the cells walked off the path, so that an agent at its end backtracks to the start; here the path
 *   keeps them and the agent steps back and forth at the end until the new path is whole, as the independent figures
 *   ask;
 * - the shortcut search (section 3.4) goes on from one back-move to the next; see ../shortcut.c.
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_tba = {
    .name = "tba",
    .title = "TBA*",
    .citation = "Björnsson, Bulitko, Sturtevant 2009, Algorithm 1",
    .summary = "A* in time slices, R split between expanding and tracing",
    .engine = &tp__engine_time_bounded,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_DETECT_UNREACHABLE | TP_CAN_ENHANCE_2009 | TP_CAN_SPLIT_R | TP_CAN_BE_OPTIMAL | TP_CAN_CHOOSE_GOAL | TP_CAN_PROVE_COST | TP_CAN_BUCKET,
};
