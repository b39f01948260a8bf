/* State spaces: what a space gives to the search, one table each.
 *
 * Two kinds. *Grids* number a state by its cell and keep its parent as a direction. *Listed* spaces (explicit graphs,
 * vehicles with inertia, puzzles) number their states 0, 1, 2, ... and keep the parent's number and move beside each
 * node. The kernels (run) are compiled for their space, with its moves inlined; all else of the search goes through
 * the functions below and is the same for every space.
 *
 * A move is known by a small number: on grids its direction, on graphs its place among the edges out of the node, for
 * vehicles its acceleration. It leads from one state to one other.
 *
 * What a space refuses: a heuristic that is not its own (has), a move that is not legal (step). Who calls it: the session, once,
 * to choose the table; the search and the engines through it.
 */
#ifndef TP_DOMAIN_DOMAIN_H
#define TP_DOMAIN_DOMAIN_H

#include "map/cost.h"
#include "map/walk.h"

struct tp_search;
struct tp_run;

/* A state as the search numbers it. Grids: y above, x below, `shift` bits apart, so that it orders like y * width + x. */
typedef uint32_t tp_state;
#define TP_STATE_NONE UINT32_MAX

enum {
    TP_MOVE_NONE = TP_DIRECTION_NONE,
    TP_MOVES_MAX = 240, /* out of one state */
    TP_VELOCITY_MAX = 3, /* vehicles: cells a tick, on each axis */
};

/* What h is. Each is consistent for the moves it is allowed with, but for EUCLID of vehicles (2016, section 4.3). */
enum tp_heuristic {
    TP_HEURISTIC_DEFAULT,   /* 4: MANHATTAN, 8: OCTILE, 16: EUCLID, graph: EUCLID with coordinates, else ZERO, vehicles: MAXIMUM */
    TP_HEURISTIC_OCTILE,    /* 8 and 4 neighbours: steps and diagonals of the larger and smaller of |dx|, |dy| */
    TP_HEURISTIC_MANHATTAN, /* 4 neighbours */
    TP_HEURISTIC_EUCLID,    /* grids and graphs: the straight line; vehicles: its length / 3 */
    TP_HEURISTIC_FREESPACE, /* grids: the exact distance over a map without obstacles */
    TP_HEURISTIC_MAXIMUM,   /* vehicles: max(|dx|, |dy|) / 3 */
    TP_HEURISTIC_ZERO,      /* any */
};

/* What a space keeps for one search, where it numbers its states as it meets them. */
struct tp_space {
    bool full; /* some state could not be numbered: no memory, or too many */
};

/* A move out of a state: where it leads and what it costs. */
struct tp_successor {
    tp_state state;
    uint8_t move;
    tp_cost cost;
};

/* A state from which `move` leads, at `cost`, to the one asked about; false to see no more. */
typedef bool (*tp_predecessor_cb)(void *context, tp_state state, uint8_t move, tp_cost cost);

/* What a kernel is compiled for, as a number: whether g has 64 bits (always, in listed spaces), whether the open list is in buckets, and where
 * h comes from. */
enum {
    TP_HOW_WIDE = 1,
    TP_HOW_BUCKETED = 2,
    TP_HOW_H = 3 << 2,
    TP_HOW_PLAIN = 0 << 2,    /* the space's default */
    TP_HOW_LEARNED = 1 << 2,  /* likewise, and raised by learning */
    TP_HOW_OTHER = 2 << 2,    /* another heuristic, learned or not; g of 64 bits */
    TP_HOW_CHOOSING = 3 << 2, /* any, learned or not, to several goals, or within a radius, or guided */
    TP_HOWS = 16,
};

struct tp_domain {
    const char *name;
    /* the kernels, by TP_HOW_*; NULL where there is none */
    void (*run[TP_HOWS])(struct tp_search *search, struct tp_run *run);
    /* whether the space has this heuristic */
    bool (*has)(const struct tp_map *map, enum tp_heuristic heuristic);
    /* h by the search's heuristic from one state to another, not learned; 0 at the goal */
    tp_cost (*h)(const struct tp_search *search, tp_state from, tp_state to);
    /* the moves out of a state as believed, room for moves_max. Returns how many. */
    uint32_t (*successors)(const struct tp_search *search, tp_state state, struct tp_successor *out);
    /* the moves into a state as believed, in a fixed order */
    void (*predecessors)(const struct tp_search *search, tp_state state, tp_predecessor_cb visit, void *context);
    /* where a move leads and what it costs in a version of the map; false where it is not legal. On graphs it is the cheapest open edge
     * to the node that the edge named leads to; where none is open *out says which node that is (TP_STATE_NONE for no edge) */
    bool (*step)(const struct tp_search *search, const struct tp_map *map, tp_state state, uint8_t move,
                 struct tp_successor *out);
    /* the cheapest move from one state straight to another as believed, TP_MOVE_NONE if there is none */
    uint8_t (*move_between)(const struct tp_search *search, tp_state from, tp_state to);
    /* the cell or node a state stands on, and the state at rest there */
    uint32_t (*cell)(const struct tp_search *search, tp_state state);
    tp_state (*at_cell)(const struct tp_search *search, uint32_t cell);
    /* vehicles: the state on a cell at a velocity, and a state's velocity; NULL in other spaces */
    tp_state (*at_velocity)(uint32_t cell, int vx, int vy);
    void (*velocity)(tp_state state, int8_t *vx, int8_t *vy);
    /* listed spaces: how many states a map has (at most 2^32 - 1) */
    uint64_t (*states)(const struct tp_map *map);
    /* spaces that number their states as they are met: what they keep, and its end; NULL in others. `bytes` counts what it holds,
     * up to bytes_max; NULL without memory. */
    struct tp_space *(*open)(const struct tp_map *map, uint64_t *bytes, uint64_t bytes_max);
    void (*close)(struct tp_space *space);
    uint32_t moves_max; /* out of one state, at most */
    uint32_t step_max;  /* the costliest move, in cost units, over weight 1; 0: the map says */
    bool listed;
    bool reversible;      /* where a move leads, one leads back */
    bool goal_in_moves;   /* what a move does depends on the goal: a search keeps nothing when the goal moves */
    bool map_in_moves;    /* where a move leads depends on the map: a change may turn a legal move elsewhere */
    bool cells_can_block; /* a state stands on a cell of the map that may be impassable */
};

/* The grid with this neighbourhood. */
const struct tp_domain *tp_domain_grid(enum tp_neighbours neighbours);

/* Explicit directed graphs (map/graph.h). A state is a node, a move the edge's place among those out of it. */
extern const struct tp_domain tp_domain_graph;

/* Vehicles with inertia on a grid: a state is a cell and a velocity, a move an acceleration. */
extern const struct tp_domain tp_domain_racetrack;

/* The 15-puzzle: a state is an arrangement, numbered as it is met. For measuring. */
extern const struct tp_domain tp_domain_puzzle;

#endif
