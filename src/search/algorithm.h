/* The registry: one row per named algorithm.
 *
 * A row is plain data: name, citation, engine, priority, restart and learning rules, capability flags. The config,
 * the tool's listing, the docs and the contract tests read the rows. To add an algorithm: one file in
 * search/algorithms/ that defines its row, and one line in registry.c.
 */
#ifndef TP_SEARCH_ALGORITHM_H
#define TP_SEARCH_ALGORITHM_H

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

enum tp_capability {
    TP_CAN_TAKE_W = 1 << 0,             /* uses the parameter w */
    TP_CAN_DETECT_UNREACHABLE = 1 << 1, /* says UNREACHABLE only if it is so; and always, where moves can be taken back */
    TP_CAN_ENHANCE_2009 = 1 << 2,       /* takes longest_path_rule, shortcut and path_switch */
    TP_CAN_BOUND_COST = 1 << 3,         /* Theorem 2 (2014): cost <= floor((N(w) - 1) / k) c+ + 2 w c* */
    TP_CAN_AVOID_RAISED = 1 << 8,       /* goes towards the open state whose h was raised least (daRTAA*) */
    TP_CAN_DISCOVER = 1 << 6,           /* takes knowledge other than FULL: reacts to what the agent sees */
    TP_CAN_RESTART_BY_RULE = 1 << 7,    /* takes every restart rule, not only NEVER and EAGER */
    TP_CAN_SPLIT_R = 1 << 4,            /* divides R into N_E and N_T; both must be at least 1 */
    TP_CAN_CHOOSE_GOAL = 1 << 9,        /* takes goal sets, and the goal policies WITHIN and NEAREST */
    TP_PACES = 1 << 10,                 /* steps to and fro while it searches, and so moves more than its path has moves */
    TP_CAN_BE_OPTIMAL = 1 << 5,         /* optimal on a static map, for a goal that stays, with an unlimited budget */
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
};

/* The row of that name, NULL if none. */
const struct tp_algorithm *tp_algorithm_find(const char *name);

/* Row i, NULL past the last. */
const struct tp_algorithm *tp_algorithm_at(size_t i);

/* The engine's name, for listings. */
const char *tp_engine_name(const struct tp_engine *engine);

#endif
