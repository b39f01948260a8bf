/* Repeated A*: the baseline of Hernández, Baier, Uras, Koenig, AAMAS 2012. A* to the end (../replan.c), anew from where
 * the agent stands when a cost on the path to the goal rose (../react.c). */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_rastar = {
    .name = "rastar",
    .title = "Repeated A*",
    .citation = "Hernández, Baier, Uras, Koenig 2012",
    .summary = "A* anew when a cost on the path to the goal rose",
    .engine = &tp__engine_replan,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_ON_RISE,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_DETECT_UNREACHABLE | TP_CAN_DISCOVER | TP_CAN_RESTART_BY_RULE | TP_CAN_BE_OPTIMAL | TP_CAN_CHOOSE_GOAL | TP_CAN_BUCKET,
};
