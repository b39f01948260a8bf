/* P-LRTA*: Rayner, Davison, Bulitko, Anderson, Lu, "Real-time heuristic search with a priority queue", IJCAI 2007; a baseline
 * of Björnsson, Bulitko, Sturtevant, IJCAI 2009, section 4.2: a lookahead of depth 1, and updates spread to the
 * neighbours of what was updated, the largest first.
 *
 *   update, queue   ../prioritized.c
 *   the action      ../agent_centred.c
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_plrta = {
    .name = "plrta",
    .title = "P-LRTA*",
    .citation =
        "Rayner, Davison, Bulitko, Anderson, Lu 2007; as measured in Björnsson, Bulitko, Sturtevant 2009",
    .summary = "depth 1, up to k updates of h in order of priority, one move",
    .engine = &tp__engine_agent_centred,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_PRIORITIZED,
    .capabilities = TP_CAN_DISCOVER,
};
