/* RTAA*: Koenig, Likhachev, "Real-time adaptive A*", AAMAS 2006; measured in Hernández, Baier, Uras, Koenig, AAMAS 2012.
 * The learning is lazy, on first touch (node/nodes.c): a state generated but not expanded keeps its h, for there
 * f(best) - g is no larger. */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_rtaa = {
    .name = "rtaa",
    .title = "RTAA*",
    .citation = "Koenig, Likhachev 2006; Hernández, Baier, Uras, Koenig 2012",
    .summary = "A* lookahead, h := f(best) - g of what was expanded, one move",
    .engine = &tp__engine_agent_centred,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_ADAPTIVE,
    .capabilities = TP_CAN_DISCOVER,
};
