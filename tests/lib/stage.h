/* One agent that is played in process, and, where a connection is at hand, by a daemon too, in step: a case that is written once
 * holds for the library and for the wire.
 *
 * What it is: a watched session (tests/lib/play.h) and its twin behind a connection. The twin is opened with the same
 * parameters on the same map, put anew for each stage; every goal, place and batch goes to both; and each tick's reply of the
 * daemon must be that of the library: cell, status, flags, version, cost, work, path, velocity, and at the end the measures.
 * What it refuses: deadlines (they don't repeat), a known map, changes of several kinds in one batch (the wire has an order of
 * its own for them). A difference fails the running Check test with the play's label. Who calls it: tests of one thread.
 */
#ifndef TESTS_LIB_STAGE_H
#define TESTS_LIB_STAGE_H

#include "tests/lib/play.h"
#include "tests/lib/wire.h"

struct stage {
    struct play play;
    struct wire *wire;        /* borrowed; NULL: in process alone */
    uint64_t session;         /* the twin */
    uint64_t ahead;           /* our versions less the daemon's */
    bool at_is_told;          /* the next tick carries the true place */
    struct plain_graph plain; /* on a graph; ours */
};

/* What the daemon's replies have said since the process began: bits 1 << status, and flags. */
struct stage_seen {
    uint32_t statuses, flags;
};
extern struct stage_seen stage_seen;

/* A daemon of one thread for the tests of a program, and a greeted connection to it: a checked fixture. */
extern struct wire stage_wire;
void stage_daemon_begin(void);
void stage_daemon_end(void);

/* Opens the agent on a map (which it puts on the wire as "stage", in place of the stage before). The label names the case,
 * the row, the policy and the budget. */
void stage_open(struct stage *stage, struct wire *wire, const struct tp_session_params *params,
                const struct tp_map *map, const char *name);

/* Likewise on a graph. */
struct stage_graph {
    uint32_t nodes;
    const struct tp_graph_edge *edges;
    size_t edge_count;
    const double *x, *y; /* NULL: without coordinates */
};
void stage_open_graph(struct stage *stage, struct wire *wire, const struct tp_session_params *params,
                      const struct stage_graph *graph, const char *name);

/* One tick of the session's own budget; ticks until ARRIVED or UNREACHABLE, or until so many are over. */
struct tp_tick_reply stage_tick(struct stage *stage);
struct tp_tick_reply stage_until_settled(struct stage *stage, uint64_t ticks_max);

/* A batch; a cell's class; a node closed or opened. */
void stage_apply(struct stage *stage, const struct tp_change *changes, size_t count);
void stage_set(struct stage *stage, uint32_t x, uint32_t y, char class_to);
void stage_set_node(struct stage *stage, uint32_t node, bool open);

void stage_retarget(struct stage *stage, uint32_t goal);
void stage_retarget_set(struct stage *stage, const uint32_t *goals, uint32_t count);
void stage_at(struct stage *stage, uint32_t cell);

/* Closes both, after a look at their measures. */
void stage_close(struct stage *stage);

/* Fills an OpenSession on the map "stage" for these parameters, but for the name of the map known. Borrows params->more_goals; `budget` is the message's. */
void stage_open_message(Tickpath__OpenSession *open, Tickpath__Budget *budget,
                        const struct tp_session_params *params, bool on_graph);

#define STAGE_SAY(stage, condition) PLAY_SAY(&(stage)->play, condition, "on cell %u", (stage)->play.cell)

#endif
