/* LSS-LRTA*: Koenig, Sun, "Comparing real-time and incremental heuristic search for real-time situated agents", JAAMAS
 * 18(3), 2009 (Koenig's LRTA* of 2004, measured in the TBA* paper of 2009); Hernández, Baier, Asín, JAIR 2016,
 * Algorithm 3:
 *
 *   3       ../agent_centred.c: look_ahead
 *   4       the best open state (the text says closed: a slip)
 *   5, 6    ../learn.c
 *   7, 8    ../agent_centred.c: trace, and one step of the path; the next tick looks ahead anew
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_lss = {
    .name = "lss",
    .title = "LSS-LRTA*",
    .citation = "Koenig, Sun 2009; Hernández, Baier, Asín 2016, Algorithm 3",
    .summary = "A* lookahead, h of what was expanded learned by Dijkstra, one move",
    .engine = &tp__engine_agent_centred,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_DIJKSTRA,
    .capabilities = TP_CAN_DISCOVER,
};
