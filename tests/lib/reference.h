/* An independent, slow, plain implementation of the search algorithms, for tests to compare the library with.
 *
 * What it is: dense arrays over the whole grid, a binary heap with stale entries, everything allocated per
 * run; it shares no code with src/. One call plays a whole run on a static grid and gives every cell the
 * agent stood on. What it refuses: maps that change, an agent that starts in a blocked cell, deadlines, R for
 * other rows than tba. Who calls it: tests, from any thread.
 */
#ifndef TESTS_LIB_REFERENCE_H
#define TESTS_LIB_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ref_algorithm { REF_ASTAR, REF_TBA, REF_TBWA, REF_TBGBFS };

enum ref_corners { REF_BOTH_FREE, REF_ONE_FREE, REF_ALWAYS };

struct ref_problem {
    uint32_t width, height; /* cells */
    const uint16_t *weight; /* of each cell, row-major; 0 is impassable; borrowed */
    uint16_t least_weight;  /* of the profile; scales h */
    int neighbours;         /* 4, 8 or 16 */
    enum ref_corners corners;
    uint32_t start, goal; /* cells; start must be passable */
    enum ref_algorithm algorithm;
    uint32_t w_milli; /* tbwa only */
    uint64_t k;       /* expansions a tick; 0: R counts instead (tba only) */
    uint64_t R;
    uint32_t r_milli, c;
    bool path_switch;       /* tba under R: a path to the goal, or one of at least the g followed, is taken */
    bool longest_path_rule; /* tba under R: the first tick ends when a path of N_T actions was generated */
    uint64_t ticks_max;     /* gives up then; 0 for none */
};

enum ref_outcome { REF_ARRIVED, REF_UNREACHABLE, REF_GAVE_UP };

/* One tick as the reference played it. */
struct ref_tick {
    uint32_t cell; /* where the agent stands after it */
    bool moved, back;
    uint64_t expansions; /* in this tick */
};

struct ref_run {
    enum ref_outcome outcome;
    struct ref_tick *ticks; /* freed by ref_run_fini */
    size_t tick_count;
    uint64_t moves, back_moves, cost, expansions, expansions_max;
    uint64_t goal_g; /* g of the goal when it was found, UINT64_MAX if it was not */
};

/* Plays the problem to its end. Aborts when memory runs out. Cost: as slow as it looks. */
void ref_run_play(struct ref_run *run, const struct ref_problem *problem);
void ref_run_fini(struct ref_run *run);

/* The distance h is made of, times least_weight. */
uint64_t ref_distance(const struct ref_problem *problem, uint32_t from, uint32_t to);

/* Whether one move leads from `from` to `to`, and what it costs. An impassable `from` may be left; an
 * impassable end weighs 1. */
bool ref_step(const struct ref_problem *problem, uint32_t from, uint32_t to, uint64_t *cost);

/* Marks in `reached` (width * height bytes) every cell the agent can get to from `from`, by flood fill. */
void ref_flood(const struct ref_problem *problem, uint32_t from, uint8_t *reached);

#endif
