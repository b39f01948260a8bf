/* D* Lite: Koenig, Likhachev, AAAI 2002; a baseline of Hernández, Baier, Uras, Koenig, AAMAS 2012.
 *
 * A search from the goal back to the agent, repaired where costs changed; the agent waits while it is repaired, then steps along a
 * shortest path of what it knows. The engine and its deviations: ../dstar_lite.c. Rule `eager` begins anew at every change, as
 * for every row. */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_dstarlite = {
    .name = "dstarlite",
    .title = "D* Lite",
    .citation = "Koenig, Likhachev 2002; as measured in Hernández, Baier, Uras, Koenig 2012",
    .summary = "an optimal search from the goal, repaired where costs changed",
    .engine = &tp__engine_dstar_lite,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_DETECT_UNREACHABLE | TP_CAN_DISCOVER | TP_CAN_BE_OPTIMAL,
};
