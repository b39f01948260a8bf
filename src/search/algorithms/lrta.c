/* LRTA*: Korf, "Real-time heuristic search", Artificial Intelligence 42(2-3), 1990; a baseline of Björnsson, Bulitko,
 * Sturtevant, IJCAI 2009, section 4.2: for each action a breadth-first search of depth d around the agent, h of its state
 * updated by the mini-min rule, the first action towards the best state of the frontier.
 *
 *   the search, its depth, the mini-min rule   ../lookahead.c
 *   the action                                 ../agent_centred.c: trace, and one step of the path
 *
 * Reading: d is not given but follows from k, as the deepest lookahead whose layers are whole within k expansions.
 * Deviation: what was learned at states inside the lookahead counts too; without that LRTA* with d >= 2 need not arrive
 * (../lookahead.c says why).
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_lrta = {
    .name = "lrta",
    .title = "LRTA*",
    .citation = "Korf 1990; as measured in Björnsson, Bulitko, Sturtevant 2009",
    .summary = "breadth-first lookahead, h of the agent's state learned, one move",
    .engine = &tp__engine_agent_centred,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_MINI_MIN,
    .capabilities = TP_CAN_DISCOVER,
};
