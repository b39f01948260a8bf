/* An explicit directed graph with a cost on each edge: waypoint networks, roads, ledges that can only be jumped down.
 *
 * What it is: an immutable, reference-counted value; nodes are numbered 0 .. nodes - 1, edges in the order they were given.
 * Its costs are in whatever unit the maker chose, and so are h, g and the cost of a walk. With coordinates, h is the
 * straight distance times the largest factor that no edge contradicts, so that it is consistent; without, h is 0.
 * A changed graph (tp__graph_apply) shares its shape, all but the costs, with the one before, and of the costs each page that
 * no change touches. An edge of cost 0 is closed: no move, as is any edge at a node that is closed.
 * What it refuses: an edge to a node that is not there, a cost of 0 at first, more edges out of or into a node than one expansion may look at.
 */
#ifndef TP_MAP_GRAPH_H
#define TP_MAP_GRAPH_H

#include "base/error.h"
#include "map/cost.h"
#include "map/held.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TP_GRAPH_NODES_MAX = 1 << 26,
    TP_GRAPH_EDGES_MAX = 1 << 27,
    TP_GRAPH_DEGREE_MAX = 240, /* edges out of one node */
    TP_GRAPH_IN_DEGREE_MAX = 1024, /* edges into one: what learning and D* Lite look at in an expansion */
    TP_GRAPH_PAGE = 128,       /* nodes whose edges make one page */
};
#define TP_GRAPH_COORDINATE_MAX 1e15 /* on both sides of 0 */

struct tp_graph_edge {
    uint32_t from, to;
    uint32_t cost; /* 1 .. 2^32 - 1; 0: closed */
};

/* An edge out of a node, and an edge into one. */
struct tp_graph_out {
    uint32_t to, cost; /* cost 0: no move, for the edge is closed or a node at its ends is */
};
struct tp_graph_in {
    uint32_t from;
    uint32_t place; /* of the edge among those out of `from` */
};

/* The edges out of TP_GRAPH_PAGE nodes, what is closed of those nodes, and behind the edges, where `hides`, the cost that each
 * has when the nodes at its ends are open. */
struct tp_graph_page {
    _Atomic uint32_t refs;
    uint32_t first, edges; /* its first edge's index in the order by source, and how many they are */
    bool hides;
    uint64_t closed[TP_GRAPH_PAGE / 64]; /* a bit a node */
    struct tp_graph_out out[];
};

/* What all versions of a graph have in common: the block that holds the arrays below. */
struct tp_graph_shape;

struct tp_graph {
    _Atomic uint32_t refs;
    uint32_t nodes, edges;
    uint32_t cost_max;         /* of one edge, in this version or any before; 0 without edges */
    uint32_t closed_nodes;     /* how many are closed */
    double h_factor;           /* cost units a unit of distance; 0 without coordinates. Falls from version to version, never rises */
    double h_max;              /* no h is more */
    double least, extent;      /* least cost of an edge a unit of distance, length of the nodes' diagonal: of these is h_factor made */
    uint32_t cost_min;         /* likewise the least cost of one edge */
    const double *x, *y;       /* coordinates of each node; NULL without */
    const uint32_t *out_first; /* nodes + 1: the edges out of node i are those from out_first[i] to out_first[i + 1] - 1, by source */
    const uint32_t *in_first;  /* nodes + 1 */
    const struct tp_graph_in *in; /* by source, then by place */
    const uint32_t *edge_at;   /* by edge number: its index in the order by source, and there in the order given */
    struct tp_graph_shape *shape; /* referenced */
    struct tp_map_held *held;     /* as the map's; NULL: nobody counts */
    struct tp_graph_page *pages[]; /* referenced */
};

static inline uint32_t tp_graph_pages(const struct tp_graph *graph)
{
    return (graph->nodes + TP_GRAPH_PAGE - 1) / TP_GRAPH_PAGE;
}

/* The edges out of a node: graph->out_first[node + 1] - graph->out_first[node] of them. */
static inline const struct tp_graph_out *tp_graph_out(const struct tp_graph *graph, uint32_t node)
{
    const struct tp_graph_page *page = graph->pages[node / TP_GRAPH_PAGE];
    return page->out + (graph->out_first[node] - page->first);
}

static inline bool tp_graph_closed(const struct tp_graph *graph, uint32_t node)
{
    return graph->pages[node / TP_GRAPH_PAGE]->closed[node % TP_GRAPH_PAGE / 64] >> (node % 64) & 1;
}

/* The node that the edge with this index, in the order by source, leads out of. Cost: O(log nodes). */
uint32_t tp_graph_source(const struct tp_graph *graph, uint32_t at);

/* Edge number `edge` with its own cost, 0 when it is closed itself, whatever is closed at its ends. Cost: O(log nodes). */
struct tp_graph_edge tp_graph_edge_set(const struct tp_graph *graph, uint32_t edge);

/* Makes a graph from `edge_count` edges and, unless x and y are NULL, the coordinates of all nodes; copies all. Gives a
 * reference in *out. TP_ERR_INVALID_ARGUMENT: no node, or too many nodes or edges, a cost of 0, a coordinate that is not
 * finite or beyond TP_GRAPH_COORDINATE_MAX; TP_ERR_OUT_OF_RANGE: an edge's end is no node; TP_ERR_RESOURCE_EXHAUSTED: too many
 * edges out of or into one
 * node; TP_ERR_NO_MEMORY. *bad is the edge (or node, for a coordinate) at fault. On error *out is NULL. Cost: O(nodes +
 * edges). */
int tp_graph_build(const struct tp_graph **out, uint32_t nodes, const struct tp_graph_edge *edges, size_t edge_count,
                   const double *x, const double *y, size_t *bad) TP_MUST_CHECK;

/* Likewise with edges that may be closed (cost 0), and with closed nodes: bit i of byte j for node 8 j + i; NULL for none. */
int tp_graph_restore(const struct tp_graph **out, uint32_t nodes, const struct tp_graph_edge *edges, size_t edge_count,
                     const double *x, const double *y, const uint8_t *closed, size_t *bad) TP_MUST_CHECK;

const struct tp_graph *tp_graph_ref(const struct tp_graph *graph);
void tp_graph_unref(const struct tp_graph *graph);

/* The heuristic: floor(h_factor * distance), at most the cost of a path over all nodes at first; consistent. */
tp_cost tp_graph_h(const struct tp_graph *graph, uint32_t from, uint32_t to);

/* Bytes of memory, a shared page's and the shared shape's divided by who share them. Cost: O(pages). */
size_t tp_graph_bytes(const struct tp_graph *graph);

#endif
