/* RTBA*: Hernández, Baier, Uras, Koenig, "Time-Bounded Adaptive A*", AAMAS 2012, Algorithm 2.
 *
 *   1-7     InitializeState: node/nodes.c, a tile's states at once
 *   8-12    StartNewSearch?: ../trace.c (checks_rise) after a search, ../react.c after a move
 *   16, 29  what the agent sees: ../react.c
 *   20-23   ../time_bounded.c: search, trace, and no move in a tick that began anew
 *   24-28   ../time_bounded.c: move_phase
 * Slip: line 7 stamps search(s) only in one case; it is stamped in every case here.
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_rtba = {
    .name = "rtba",
    .title = "RTBA*",
    .citation = "Hernández, Baier, Uras, Koenig 2012, Algorithm 2",
    .summary = "TBA* that starts anew when a cost on its path rose",
    .engine = &tp__engine_time_bounded,
    .priority = TP_PRIORITY_ASTAR,
    .restart = TP_RESTART_ON_RISE,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_DETECT_UNREACHABLE | TP_CAN_DISCOVER | TP_CAN_RESTART_BY_RULE | TP_CAN_CHOOSE_GOAL | TP_CAN_PROVE_COST | TP_CAN_BUCKET,
};
