/* A*: Hart, Nilsson, Raphael, IEEE Trans. SSC 4(2), 1968; the complete search that the real-time algorithms are
 * measured against (2009, 2012).
 *
 * Searches until the goal is the best open state, over as many ticks as that takes, then follows the path; the
 * engine is ../replan.c. In the tick in which the path is traced the first step is taken.
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_astar = {
    .name = "astar",
    .title = "A*",
    .citation = "Hart, Nilsson, Raphael 1968; as measured in Hernández, Baier, Uras, Koenig 2012",
    .summary = "search to the end, then follow the optimal path",
    .engine = &tp__engine_replan,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_DETECT_UNREACHABLE | TP_CAN_BE_OPTIMAL | TP_CAN_CHOOSE_GOAL | TP_CAN_BUCKET,
};
