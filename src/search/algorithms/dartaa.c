/* daRTAA*: Hernández, Baier, "Avoiding and escaping depressions in real-time heuristic search", JAIR 43, 2012. RTAA* (rtaa.c)
 * that moves towards the open state whose h was raised least, ties by f (../agent_centred.c, least_raised); learning
 * uses the least f of the open list.
 * Promised where a way is believed to be there: it arrives (Hernández, Baier 2012); its moves are not bounded by the sum
 * that bounds RTAA*'s. Where none is, it need not visit every state (../agent_centred.c, raised_beyond_any_way). */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_dartaa = {
    .name = "dartaa",
    .title = "daRTAA*",
    .citation = "Hernández, Baier 2012",
    .summary = "RTAA* towards the open state whose h was raised least",
    .engine = &tp__engine_agent_centred,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_ADAPTIVE,
    .capabilities = TP_CAN_AVOID_RAISED | TP_CAN_DISCOVER,
};
