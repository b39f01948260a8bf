/* The registry: one row per named algorithm.
 *
 * A row is plain data: name, citation, engine, priority, restart and learning rules, capability flags. The config,
 * the tool's listing, the docs and the contract tests read the rows. To add an algorithm: one file in
 * search/algorithms/ that defines its row, and one line in registry.c.
 */
#ifndef TP_SEARCH_ALGORITHM_H
#define TP_SEARCH_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tp_priority {
    TP_PRIORITY_ASTAR,  /* f = g + h */
    TP_PRIORITY_WASTAR, /* f = g + w h */
    TP_PRIORITY_GBFS,   /* f = h; the first parent is kept */
};

enum tp_learning {
    TP_LEARNING_NONE,
    TP_LEARNING_DIJKSTRA, /* least of cost + h over the open states (2016, Equation 1) */
    TP_LEARNING_ADAPTIVE, /* h := max(h, pathcost - g), on first touch (2012, Algorithm 3) */
    TP_LEARNING_MINI_MIN, /* h of the agent's state alone, from a breadth-first lookahead (LRTA*) */
    TP_LEARNING_PRIORITIZED, /* the same of depth 1, then other states by priority (P-LRTA*) */
};

/* What rows can do: name, bit, and the words of PROTOCOL.md (AlgorithmInfo, capabilities), which a test compares. In the order
 * of the bits; a number that was once given is never used for something else. */
#define TP_CAPABILITIES(X)                                                                                        \
    X(TP_CAN_TAKE_W, 0, "takes w")                                                                                \
    /* says UNREACHABLE only if it is so; and always, where moves can be taken back */                            \
    X(TP_CAN_DETECT_UNREACHABLE, 1, "detects unreachable goals")                                                  \
    /* longest_path_rule, shortcut and path_switch */                                                             \
    X(TP_CAN_ENHANCE_2009, 2, "takes the 2009 options")                                                           \
    /* Theorem 2 (2014): cost <= floor((N(w) - 1) / k) c+ + 2 w c* */                                             \
    X(TP_CAN_BOUND_COST, 3, "has a bound on the cost")                                                            \
    /* into N_E and N_T; both must be at least 1 */                                                               \
    X(TP_CAN_SPLIT_R, 4, "splits R")                                                                              \
    /* on a static map, to a goal that stays */                                                                   \
    X(TP_CAN_BE_OPTIMAL, 5, "walks an optimal way when its budget is unlimited")                                  \
    /* reacts to what the agent sees */                                                                           \
    X(TP_CAN_DISCOVER, 6, "takes knowledge other than FULL")                                                      \
    /* the others NEVER and EAGER alone */                                                                        \
    X(TP_CAN_RESTART_BY_RULE, 7, "takes every restart rule")                                                      \
    /* towards that open state (daRTAA*) */                                                                       \
    X(TP_CAN_AVOID_RAISED, 8, "goes where h was raised least")                                                    \
    /* and the goal policies WITHIN and NEAREST */                                                                \
    X(TP_CAN_CHOOSE_GOAL, 9, "takes goal sets and every goal policy")                                             \
    /* and so moves more than its path has moves */                                                               \
    X(TP_PACES, 10, "steps to and fro while it searches")                                                         \
    /* takes guide_units; else the space's h */                                                                   \
    X(TP_CAN_BE_GUIDED, 11, "is led by the block graph of a grid")                                                  \
    /* takes bounded: proves it of each walk while it goes on; TP_CAN_BOUND_COST is known before */                \
    X(TP_CAN_PROVE_COST, 12, "proves a bound on the cost of its walk")                                            \
    /* the others learn or repair by exact order; never on graphs, whose costs no width of buckets fits */         \
    X(TP_CAN_BUCKET, 13, "takes the open list in buckets")

enum tp_capability {
#define X(name, bit, words) name = 1 << (bit),
    TP_CAPABILITIES(X)
#undef X
};

struct tp_engine;

struct tp_algorithm {
    const char *name;     /* as the command line and the protocol spell it */
    const char *title;    /* as the papers write it */
    const char *citation; /* paper, algorithm */
    const char *summary;  /* one line for the listing */
    const struct tp_engine *engine;
    enum tp_priority priority;
    uint8_t restart; /* enum tp_restart: this row's own rule */
    enum tp_learning learning;
    uint32_t capabilities; /* enum tp_capability */
    /* What sessions have that don't say: w in thousandths (0: 1000), and whether they wait instead of moving back. */
    uint32_t w_milli;
    bool pause_on_backtrack;
    const struct tp_algorithm *unled; /* rows that can be guided: whose w, pause and (knowing the map) restart rule those have that are not */
};

/* The row of sessions that name none: of the library, the daemon and the tool. */
#define TP_ALGORITHM_DEFAULT "guided"

enum { TP_ALGORITHMS_MAX = 32 }; /* rows there may be: room for what is counted by algorithm */

/* The row of that name, NULL if none. */
const struct tp_algorithm *tp_algorithm_find(const char *name);

/* Row i, NULL past the last. */
const struct tp_algorithm *tp_algorithm_at(size_t i);

/* The i of tp_algorithm_at for one of its rows. Cost: O(rows). */
size_t tp_algorithm_index(const struct tp_algorithm *algorithm);

/* The engine's name, for listings. */
const char *tp_engine_name(const struct tp_engine *engine);

#endif
