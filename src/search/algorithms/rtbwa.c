/* Repeated TB(WA*): Hernández, Asín, Baier, "Time-Bounded Best-First Search", SoCS 2014, Algorithm 2; the rule is lazy
 * (Algorithm 3) or, as an option, eager. The lines of the loop are mapped in ../time_bounded.c, those of Algorithm 3 in
 * ../react.c.
 *
 * Readings: before the goal is found, the rest of the path is its rest up to the best open state and h from there; and a search
 * is not given up again and again for what fell (../watch.c), since with a small k none would ever be finished.
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_rtbwa = {
    .name = "rtbwa",
    .title = "Repeated TB(WA*)",
    .citation = "Hernández, Asín, Baier 2014, Algorithms 2 and 3",
    .summary = "TB(WA*) that starts anew when the map changed: lazily, or at every change",
    .engine = &tp__engine_time_bounded,
    .priority = TP_PRIORITY_WASTAR,
    .restart = TP_RESTART_LAZY,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_TAKE_W | TP_CAN_BOUND_COST | TP_CAN_DETECT_UNREACHABLE | TP_CAN_DISCOVER | TP_CAN_RESTART_BY_RULE | TP_CAN_CHOOSE_GOAL | TP_CAN_PROVE_COST | TP_CAN_BUCKET,
};
