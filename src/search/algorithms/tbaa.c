/* TBAA*: Hernández, Baier, Uras, Koenig, "Time-Bounded Adaptive A*", AAMAS 2012, Algorithm 3. RTBA* (rtba.c) whose
 * h-values are raised from the searches given up.
 *
 *   5-7     h := max(h, pathcost(search(s)) - g(s)) on first touch: node/nodes.c, adapt
 *   13      pathcost(searchnumber) := least f over OPEN: ../react.c, tp__learning_remember
 * Costs that fall, and another goal, drop what was learned.
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_tbaa = {
    .name = "tbaa",
    .title = "TBAA*",
    .citation = "Hernández, Baier, Uras, Koenig 2012, Algorithm 3",
    .summary = "RTBA* that raises h from its former searches",
    .engine = &tp__engine_time_bounded,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_ON_RISE,
    .learning = TP_LEARNING_ADAPTIVE,
    .capabilities = TP_CAN_DETECT_UNREACHABLE | TP_CAN_DISCOVER | TP_CAN_RESTART_BY_RULE | TP_CAN_PROVE_COST,
};
