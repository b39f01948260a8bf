/* Adaptive A*: Koenig, Likhachev, "Adaptive A*", AAMAS 2005; the baseline of Hernández, Baier, Uras, Koenig, AAMAS 2012.
 * Repeated A* (rastar.c) whose h-values are raised, h := max(h, f(goal) - g), lazily on first touch (node/nodes.c). */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_aastar = {
    .name = "aastar",
    .title = "Adaptive A*",
    .citation = "Koenig, Likhachev 2005; Hernández, Baier, Uras, Koenig 2012",
    .summary = "Repeated A* that raises h from its former searches",
    .engine = &tp__engine_replan,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_ON_RISE,
    .learning = TP_LEARNING_ADAPTIVE,
    .capabilities = TP_CAN_DETECT_UNREACHABLE | TP_CAN_DISCOVER | TP_CAN_RESTART_BY_RULE | TP_CAN_BE_OPTIMAL,
};
