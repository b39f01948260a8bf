/* LSS-LRTWA*: Hernández, Baier, Asín, JAIR 2016, Algorithm 3 with WA* for the lookahead; what is learned stays
 * unweighted (Equation 1). Lines as in lss.c. */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_lsswa = {
    .name = "lsswa",
    .title = "LSS-LRTWA*",
    .citation = "Hernández, Baier, Asín 2016, Algorithm 3",
    .summary = "LSS-LRTA* with a weighted A* lookahead",
    .engine = &tp__engine_agent_centred,
    .priority = TP_PRIORITY_WASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_DIJKSTRA,
    .capabilities = TP_CAN_TAKE_W | TP_CAN_DISCOVER,
};
