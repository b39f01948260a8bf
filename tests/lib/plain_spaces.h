/* A plain second opinion on the spaces that are no grids of steps: what a graph's edges and a vehicle's drive allow.
 *
 * What it is: lists of edges as a test made them, and vehicles driven by the words at the top of domain/racetrack.c, with
 * breadth-first searches over both; nothing of src/domain is used. What it refuses: nothing; without memory the running
 * test fails. Who calls it: tests of one thread.
 */
#ifndef TESTS_LIB_PLAIN_SPACES_H
#define TESTS_LIB_PLAIN_SPACES_H

#include "map/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A directed graph, its edges by source. An edge of cost 0 is closed: no way leads along it. */
struct plain_graph {
    uint32_t nodes;
    size_t count;
    struct tp_graph_edge *edges;
    uint32_t *first;  /* nodes + 1 */
    uint32_t *place;  /* by edge number, in the order they were given: where it stands in `edges` */
    uint32_t *own;    /* by place: its cost were all nodes open */
    uint8_t *closed;  /* by node */
};

/* Copies the edges. */
void plain_graph_init(struct plain_graph *graph, uint32_t nodes, const struct tp_graph_edge *edges, size_t count);
void plain_graph_fini(struct plain_graph *graph);

/* Sets an edge's cost (0 closes), by its number; closes or opens a node. */
void plain_graph_set_edge(struct plain_graph *graph, uint32_t edge, uint32_t cost);
void plain_graph_set_node(struct plain_graph *graph, uint32_t node, bool open);

/* Whether an edge leads there, be it closed or not; and what the cheapest that is open costs, UINT64_MAX where none is. */
bool plain_graph_joins(const struct plain_graph *graph, uint32_t from, uint32_t to);
uint64_t plain_graph_step_cost(const struct plain_graph *graph, uint32_t from, uint32_t to);

/* Whether some edge leads away from a node. */
bool plain_graph_leaves(const struct plain_graph *graph, uint32_t from);

/* Whether for every edge one leads back. */
bool plain_graph_reversible(const struct plain_graph *graph);

/* The least cost of a way from one node to another; UINT64_MAX where there is none. Cost: O(nodes * edges) at worst. */
uint64_t plain_graph_cost(const struct plain_graph *graph, uint32_t from, uint32_t to);

/* Whether the goal can be reached from every node that can be reached from `from`. */
bool plain_graph_safe(const struct plain_graph *graph, uint32_t from, uint32_t goal);

/* A vehicle on a grid. */
struct plain_vehicle {
    uint32_t cell;
    int vx, vy;
};
struct plain_track {
    uint32_t width, height;
    const uint16_t *weight; /* of each cell; 0 is a wall; borrowed */
    uint32_t goal;
    const uint8_t *ends; /* of each cell: whether a vehicle that comes there has arrived; NULL: the goal alone. Borrowed */
};

/* What the accelerations lead to, moves that change nothing left out. Returns how many, at most 9. */
int plain_vehicle_moves(const struct plain_track *track, struct plain_vehicle from, struct plain_vehicle out[9]);

/* How many moves it takes to the goal; UINT64_MAX where there is no way. */
uint64_t plain_vehicle_distance(const struct plain_track *track, struct plain_vehicle from);

#endif
