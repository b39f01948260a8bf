/* TB(WA*): Hernández, Asín, Baier, "Time-Bounded Best-First Search", SoCS 2014, Algorithm 1 with f = g + w h;
 * Hernández, Baier, Asín, JAIR 2016, Algorithm 4.
 *
 * The lines are mapped in ../time_bounded.c and ../../domain/kernel.h. A closed state is not opened again: Theorem 2's
 * bound (2014), floor((N(w) - 1) / k) c+ + 2 w c*, holds without it for a consistent h and the exact list.
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_tbwa = {
    .name = "tbwa",
    .title = "TB(WA*)",
    .citation = "Hernández, Asín, Baier 2014, Algorithm 1; Hernández, Baier, Asín 2016, Algorithm 4",
    .summary = "weighted A* in time slices",
    .engine = &tp__engine_time_bounded,
    .priority = TP_PRIORITY_WASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_TAKE_W | TP_CAN_DETECT_UNREACHABLE | TP_CAN_BOUND_COST | TP_CAN_CHOOSE_GOAL | TP_CAN_PROVE_COST | TP_CAN_BUCKET,
};
