/* TB(WA*) led by the block graph: ours, not a paper's. The search is that of tbwa; its h is the guide's (../guide.h), which knows the map's
 * walls from afar. Once a path reaches the goal, what is left over of each tick makes the rest of it shorter (../smooth.c).
 * An agent that is led and knows the map waits where it would step back: its search soon knows better.
 *
 * What it promises: it is complete, as tbwa is. Its cost has no bound by w: the h is not admissible. A session that is not led (on
 * graphs, for vehicles, with 0 units a tick) is one of tbwa, move by move (../params.c, tp__session_settle). An agent that does not know the map is led by what it
 * was told of it and saw itself (../overlay.c).
 * How to turn a bound on: with the option `bounded` a second, admissible search verifies the walk with what is left over of each tick, and each
 * reply carries the bound proved so far (../bound.h).
 */
#include "search/internal.h"

extern const struct tp_algorithm tp__algorithm_tbwa;

const struct tp_algorithm tp__algorithm_guided = {
    .name = "guided",
    .title = "Guided TB(WA*)",
    .citation = "2014, Algorithm 1, with an h of our own: distances over blocks of 8x8 and 64x64 cells",
    .summary = "weighted A* in time slices, led by an abstraction of the map",
    .engine = &tp__engine_time_bounded,
    .priority = TP_PRIORITY_WASTAR,
    .restart = TP_RESTART_ON_RISE,
    .learning = TP_LEARNING_NONE,
    .capabilities = TP_CAN_TAKE_W | TP_CAN_DETECT_UNREACHABLE | TP_CAN_DISCOVER | TP_CAN_RESTART_BY_RULE | TP_CAN_CHOOSE_GOAL | TP_CAN_BE_GUIDED |
                    TP_CAN_PROVE_COST | TP_CAN_BUCKET,
    .w_milli = 2000,
    .pause_on_backtrack = true,
    .unled = &tp__algorithm_tbwa,
};
