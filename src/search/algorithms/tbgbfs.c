/* TB(GBFS): Hernández, Asín, Baier, "Time-Bounded Best-First Search", SoCS 2014, Algorithm 1 with f = h.
 *
 * The lines are mapped in ../time_bounded.c and ../../domain/kernel.h. Line 16 replaces a parent only when f falls; as
 * h does not depend on the path, a state keeps its first parent.
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_tbgbfs = {
    .name = "tbgbfs",
    .title = "TB(GBFS)",
    .citation = "Hernández, Asín, Baier 2014, Algorithm 1; Hernández, Baier, Asín 2016, Algorithm 4",
    .summary = "greedy best-first search in time slices",
    .engine = &tp__engine_time_bounded,
    .priority = TP_PRIORITY_GBFS,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_DETECT_UNREACHABLE | TP_CAN_CHOOSE_GOAL | TP_CAN_PROVE_COST | TP_CAN_BUCKET,
};
