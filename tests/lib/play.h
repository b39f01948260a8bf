/* One session under watch: every tick is checked against what the contract promises (search/session.h).
 *
 * What it is: a session, its pool and the map version in force, with a plain second opinion on every reply:
 * the move is legal (on grids by the library's rule and by the reference's own, on graphs by the list of edges, for
 * vehicles by the words of the dynamics), the cost adds up, the status fits the move, the work fits the budget,
 * LOOPING is true by a plain record of states, a wait instead of a back-move is asked for and allowed,
 * UNREACHABLE is true by a flood of the true map, DEAD_END too, PARTIAL ends nearest to a goal that can't be reached, a bound told
 * is true by plain Dijkstra (play_bound.c), and the measures agree with the replies.
 * With TICKPATH_TRACE=1 each tick prints a line. What it refuses: nothing; a broken promise fails the running
 * Check test with the label in its message. Who calls it: tests of one thread.
 */
#ifndef TESTS_LIB_PLAY_H
#define TESTS_LIB_PLAY_H

#include "guide/field.h"
#include "map/layer.h"
#include "search/session.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/plain_spaces.h"
#include "tests/lib/reference.h"

#include <stdio.h>

struct play {
    char label[320]; /* what a failure says first; the caller may write it */
    struct tp_session_params params;
    struct tp_pool own_pool;
    struct tp_pool *pool; /* own_pool, or a pool of the caller's */
    struct tp_session *session;
    struct tp_map *map;       /* the version in force; a reference of ours */
    const struct tp_map *served; /* what the session is handed: `map`, or for a guided row its layer with a block graph; likewise */
    struct tp_layer_kind kind;   /* of that layer */
    const struct tp_map *told; /* for guided rows that know another map: that, on a layer with a block graph */
    struct tp_field_cache *fields; /* for guided rows */
    struct ref_problem plain; /* the same, for the reference; its weights are ours */
    const struct plain_graph *graph; /* of a graph; the caller's */
    bool drives;                     /* it is a vehicle */
    uint32_t cell, goal;             /* where the agent stands and should go, first of the goals: */
    uint32_t goals[TP_GOALS_MAX], goal_count;
    uint8_t *ends; /* of each cell: whether the goal policy is met there; ours */
    bool at_partial; /* the last reply said ARRIVED with PARTIAL */
    int vx, vy;                      /* a vehicle's velocity */
    struct {
        uint64_t version;
        uint32_t cell, goal;
        int vx, vy;
        bool reachable;
    } asked; /* what play_reachable last found out; version 0: nothing */
    uint64_t cost, ticks, moves, back_moves, expansions, expansions_max;
    uint64_t flips;
    struct {
        uint64_t *states; /* where the agent stood since anything but moves happened; ours */
        size_t count, room;
        uint64_t epoch; /* of the last tick's map */
        bool told, was_complete; /* LOOPING, PATH_COMPLETE of the last reply */
    } record;
    struct {
        bool begun;
        uint32_t from; /* where it began */
        uint64_t cost; /* of the walk then */
        uint64_t epoch, version; /* seen last */
        uint32_t told; /* by the last reply, in thousandths; 0: nothing */
        uint64_t told_version;
        uint64_t least; /* the least cost of any way from there in a version, once found out */
        uint64_t least_version; /* that version; 0: not found out */
    } proof; /* of a bound on the walk's cost */
    uint64_t hash;                 /* over every reply's cell and status */
    uint64_t version_before;       /* of the last tick */
    uint64_t version_begun;        /* of the first tick, or the last that said RESTARTED */
    struct tp_session_stats stats; /* after the last tick */
};

/* Fails the running test with the play's label and tick unless a condition holds; words after printf. */
#define PLAY_SAY(play, condition, ...)                                                                        \
    do {                                                                                                      \
        if (!(condition)) {                                                                                   \
            char say_text[256];                                                                               \
            snprintf(say_text, sizeof say_text, __VA_ARGS__);                                                 \
            ck_abort_msg("%s\n  tick %llu: %s  [%s]", (play)->label, (unsigned long long)(play)->ticks,       \
                         say_text, #condition);                                                               \
        }                                                                                                     \
    } while (0)

/* A clock for deadline budgets: time is over when it was asked more than `looks` times. */
struct play_clock {
    uint32_t looks;
};
struct tp_budget play_deadline(struct play_clock *clock);

/* The problem of the reference for a session on this version: weights are allocated, freed by the caller. The
 * algorithm and the budget are left to the caller. */
struct ref_problem play_problem(const struct tp_map *map, const struct tp_session_params *params);

/* Opens a session, asserting that it can be; takes a reference of its own to the map. A guided row's cache of fields is its own, or the one that the
 * parameters have, which becomes its own. */
void play_open(struct play *play, const struct tp_session_params *params, const struct tp_map *map);

/* Likewise in a pool of the caller's, which is borrowed until play_close; on a graph, with its edges (borrowed too; else
 * NULL). */
void play_open_in(struct play *play, const struct tp_session_params *params, const struct tp_map *map,
                  struct tp_pool *pool);
void play_open_graph(struct play *play, const struct tp_session_params *params, const struct tp_map *map,
                     const struct plain_graph *graph, struct tp_pool *pool);

/* play_bound.c, called by play_tick: before a tick, its map being in force; and after it, the agent's place taken up. */
void play_bound_begin(struct play *play);
void play_bound_check(struct play *play, const struct tp_tick_reply *reply, const struct tp_budget *budget);

/* One checked tick; NULL for the session's own budget. */
struct tp_tick_reply play_tick(struct play *play, const struct tp_budget *budget);

/* Ticks until ARRIVED or UNREACHABLE, or `ticks_max` ticks are over; gives the last reply. */
struct tp_tick_reply play_until_settled(struct play *play, const struct tp_budget *budget,
                                        uint64_t ticks_max);

/* Applies a batch, sets one cell's class, hands in another version (taking a reference). */
void play_apply(struct play *play, const struct tp_change *changes, size_t count);
void play_set(struct play *play, uint32_t x, uint32_t y, char class_to);
void play_use_map(struct play *play, const struct tp_map *map);

void play_at(struct play *play, uint32_t cell);
void play_at_velocity(struct play *play, uint32_t cell, int vx, int vy);
void play_retarget(struct play *play, uint32_t goal);
void play_retarget_set(struct play *play, const uint32_t *goals, uint32_t count);

/* h of a cell to the nearest goal, the heuristic being the space's default. */
uint64_t play_h(const struct play *play, uint32_t cell);

/* A vehicle and its track as the second opinion takes them. */
struct plain_track play_track(const struct play *play);
struct plain_vehicle play_vehicle(const struct play *play);

/* Whether the goal policy can be met (NEAREST: a goal reached) from the agent's state in the version in force. */
bool play_reachable(struct play *play);

/* Whether what the agent can't prove isn't so: it takes for free at least what is free in the version in force. With a
 * known map that blocks such a cell, UNREACHABLE tells what the agent believes, and nothing of the truth. */
bool play_knows_enough(const struct play *play);

/* Closes the session; asserts that every block is back in the pool, if the pool is its own. */
void play_close(struct play *play);

#endif
