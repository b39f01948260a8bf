/* An explicit directed graph with a cost on each edge: waypoint networks, roads, ledges that can only be jumped down.
 *
 * What it is: an immutable, reference-counted value; nodes are numbered 0 .. nodes - 1, edges in the order they were given.
 * Its costs are in whatever unit the maker chose, and so are h, g and the cost of a walk. With coordinates, h is the
 * straight distance times the largest factor that no edge contradicts, so that it is consistent; without, h is 0.
 * What it refuses: an edge to a node that is not there, a cost of 0, more edges out of or into a node than one expansion may look at.
 */
#ifndef TP_MAP_GRAPH_H
#define TP_MAP_GRAPH_H

#include "base/error.h"
#include "map/cost.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TP_GRAPH_NODES_MAX = 1 << 26,
    TP_GRAPH_EDGES_MAX = 1 << 27,
    TP_GRAPH_DEGREE_MAX = 240, /* edges out of one node */
    TP_GRAPH_IN_DEGREE_MAX = 1024, /* edges into one: what learning and D* Lite look at in an expansion */
};
#define TP_GRAPH_COORDINATE_MAX 1e15 /* on both sides of 0 */

struct tp_graph_edge {
    uint32_t from, to;
    uint32_t cost; /* 1 .. 2^32 - 1 */
};

/* An edge out of a node, and an edge into one. */
struct tp_graph_out {
    uint32_t to, cost;
};
struct tp_graph_in {
    uint32_t from;
    uint32_t place; /* of the edge among those out of `from` */
};

struct tp_graph {
    _Atomic uint32_t refs;
    uint32_t nodes, edges;
    uint32_t cost_max;         /* of one edge; 0 without edges */
    double h_factor;           /* cost units a unit of distance; 0 without coordinates */
    const double *x, *y;       /* coordinates of each node; NULL without */
    const uint32_t *out_first; /* nodes + 1: the edges out of node i are out[out_first[i]] .. out[out_first[i + 1] - 1] */
    const struct tp_graph_out *out; /* in the order the edges were given */
    const uint32_t *in_first;  /* nodes + 1 */
    const struct tp_graph_in *in; /* by source, then by place */
    const uint32_t *edge_at;   /* by edge number: its index in `out` */
};

/* Makes a graph from `edge_count` edges and, unless x and y are NULL, the coordinates of all nodes; copies all. Gives a
 * reference in *out. TP_ERR_INVALID_ARGUMENT: no node, or too many nodes or edges, a cost of 0, a coordinate that is not
 * finite or beyond TP_GRAPH_COORDINATE_MAX; TP_ERR_OUT_OF_RANGE: an edge's end is no node; TP_ERR_RESOURCE_EXHAUSTED: too many
 * edges out of or into one
 * node; TP_ERR_NO_MEMORY. *bad is the edge (or node, for a coordinate) at fault. On error *out is NULL. Cost: O(nodes +
 * edges). */
int tp_graph_build(const struct tp_graph **out, uint32_t nodes, const struct tp_graph_edge *edges, size_t edge_count,
                   const double *x, const double *y, size_t *bad) TP_MUST_CHECK;

const struct tp_graph *tp_graph_ref(const struct tp_graph *graph);
void tp_graph_unref(const struct tp_graph *graph);

/* The heuristic: floor(h_factor * distance), at most the cost of a path over all nodes; consistent. */
tp_cost tp_graph_h(const struct tp_graph *graph, uint32_t from, uint32_t to);

size_t tp_graph_bytes(const struct tp_graph *graph);

#endif
