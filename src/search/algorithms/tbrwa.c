/* TBR(WA*): Hernández, Baier, Asín, "Time-Bounded Best-First Search for Reversible and Non-reversible Search Graphs", JAIR
 * 2016, Algorithm 5. TB(WA*) (tbwa.c) that gives up its tree where it cannot walk back in it.
 *
 *   2, 3    ../session.c: tp__session_begin_search
 *   4 to 6  as TB(WA*): ../time_bounded.c
 *   7 to 9  ../time_bounded.c: move_phase, forward
 *   10      ../time_bounded.c: stranded: off the path, and no move leads from the agent's state to its parent
 *   11      ../learn.c, over as many ticks as the budget asks
 *   12      ../time_bounded.c: learn_and_restart; the tick costs the move
 *   14, 15  ../time_bounded.c: move_phase, back-move
 *
 * Where every move can be taken back the rule never holds, and the agent moves as TB(WA*) does. Everywhere else it arrives
 * if the goal can be reached from wherever it gets to (Theorem 3: on strongly connected graphs always). Where it can't, the
 * open list of some search runs empty, which proves it. The paper does not promise that: with a small k an agent may be
 * stranded over and over before; so after a thousand times it begins to wait for larger searches (waits_at_root).
 * Choices: while a trace is under way the agent follows the old path and moves back as TB(WA*) does, and is found stranded
 * once a fresh path is whole; a search whose goal was moved teaches nothing, for its closed list is another goal's.
 */
#include "search/internal.h"

const struct tp_algorithm tp__algorithm_tbrwa = {
    .name = "tbrwa",
    .title = "TBR(WA*)",
    .citation = "Hernández, Baier, Asín 2016, Algorithm 5",
    .summary = "TB(WA*) that learns and restarts where no move leads back",
    .engine = &tp__engine_time_bounded,
    .priority = TP_PRIORITY_WASTAR,
    .restart = TP_RESTART_NEVER,
    .learning = TP_LEARNING_DIJKSTRA,
    .capabilities = TP_CAN_TAKE_W | TP_CAN_DETECT_UNREACHABLE | TP_CAN_BOUND_COST | TP_CAN_CHOOSE_GOAL | TP_CAN_PROVE_COST,
};
