/* WA*: Pohl, "Heuristic search viewed as path finding in a graph", Artificial Intelligence 1(3), 1970; Hernández, Baier,
 * Asín, JAIR 2016, Algorithm 2. The kernel is ../../domain/kernel.h, the engine ../replan.c. */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_wastar = {
    .name = "wastar",
    .title = "WA*",
    .citation = "Pohl 1970; Hernández, Baier, Asín 2016, Algorithm 2",
    .summary = "weighted A* to the end, then follow",
    .engine = &tp__engine_replan,
    .priority = TP_PRIORITY_WASTAR,
    .restart = TP_RESTART_ON_RISE,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_TAKE_W | TP_CAN_DETECT_UNREACHABLE | TP_CAN_DISCOVER | TP_CAN_RESTART_BY_RULE | TP_CAN_CHOOSE_GOAL | TP_CAN_BUCKET,
};
