#include "map/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The graph's arrays stand in one block behind it. */
struct arrays {
    uint32_t *out_first, *in_first, *edge_at;
    struct tp_graph_out *out;
    struct tp_graph_in *in;
    double *x, *y;
};

static size_t whole_bytes(uint32_t nodes, size_t edges, bool placed)
{
    return sizeof(struct tp_graph) + (placed ? 2 * (size_t)nodes * sizeof(double) : 0) +
           2 * ((size_t)nodes + 1) * sizeof(uint32_t) +
           edges * (sizeof(struct tp_graph_out) + sizeof(struct tp_graph_in) + sizeof(uint32_t));
}

static struct arrays lay_out(struct tp_graph *graph, bool placed)
{
    struct arrays a = {0};
    char *at = (char *)(graph + 1);
    if (placed) {
        a.x = (double *)at;
        a.y = a.x + graph->nodes;
        at = (char *)(a.y + graph->nodes);
    }
    a.out = (struct tp_graph_out *)at;
    a.in = (struct tp_graph_in *)(a.out + graph->edges);
    a.out_first = (uint32_t *)(a.in + graph->edges);
    a.in_first = a.out_first + graph->nodes + 1;
    a.edge_at = a.in_first + graph->nodes + 1;
    graph->x = a.x;
    graph->y = a.y;
    graph->out = a.out;
    graph->in = a.in;
    graph->out_first = a.out_first;
    graph->in_first = a.in_first;
    graph->edge_at = a.edge_at;
    return a;
}

static double distance(const struct tp_graph *graph, uint32_t a, uint32_t b)
{
    double dx = graph->x[a] - graph->x[b], dy = graph->y[a] - graph->y[b];
    return sqrt(dx * dx + dy * dy);
}

/* The length of the diagonal of the rectangle that holds all nodes. */
static double extent(const struct tp_graph *graph)
{
    double x0 = graph->x[0], x1 = x0, y0 = graph->y[0], y1 = y0;
    for (uint32_t i = 1; i < graph->nodes; i++) {
        x0 = graph->x[i] < x0 ? graph->x[i] : x0;
        x1 = graph->x[i] > x1 ? graph->x[i] : x1;
        y0 = graph->y[i] < y0 ? graph->y[i] : y0;
        y1 = graph->y[i] > y1 ? graph->y[i] : y1;
    }
    return sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0));
}

/* The largest factor under which no edge is shorter than its ends' distance; less by a margin, so that rounding h, which may
 * be far larger than the edge, cannot outweigh the least cost. 0 where the margin would leave nothing. */
static double h_factor(const struct tp_graph *graph)
{
    double least = INFINITY;
    uint32_t cost_min = UINT32_MAX;
    for (uint32_t node = 0; node < graph->nodes; node++)
        for (uint32_t i = graph->out_first[node]; i < graph->out_first[node + 1]; i++) {
            double length = distance(graph, node, graph->out[i].to);
            if (length > 0 && graph->out[i].cost / length < least)
                least = graph->out[i].cost / length;
            if (graph->out[i].cost < cost_min)
                cost_min = graph->out[i].cost;
        }
    if (isinf(least))
        return 0;
    double margin = 4e-15 * least * extent(graph) / cost_min;
    margin = margin > 1e-6 ? margin : 1e-6;
    return margin < 1 ? least * (1 - margin) : 0;
}

static int check(uint32_t nodes, const struct tp_graph_edge *edges, size_t edge_count, const double *x,
                 const double *y, size_t *bad)
{
    *bad = 0;
    if (nodes == 0 || nodes > TP_GRAPH_NODES_MAX || edge_count > TP_GRAPH_EDGES_MAX)
        return TP_ERR_INVALID_ARGUMENT;
    for (*bad = 0; x && y && *bad < nodes; ++*bad)
        if (!(fabs(x[*bad]) <= TP_GRAPH_COORDINATE_MAX) || !(fabs(y[*bad]) <= TP_GRAPH_COORDINATE_MAX))
            return TP_ERR_INVALID_ARGUMENT;
    for (*bad = 0; *bad < edge_count; ++*bad) {
        if (edges[*bad].from >= nodes || edges[*bad].to >= nodes)
            return TP_ERR_OUT_OF_RANGE;
        if (edges[*bad].cost == 0)
            return TP_ERR_INVALID_ARGUMENT;
    }
    return TP_OK;
}

int tp_graph_build(const struct tp_graph **out, uint32_t nodes, const struct tp_graph_edge *edges,
                   size_t edge_count, const double *x, const double *y, size_t *bad)
{
    *out = NULL;
    int error = check(nodes, edges, edge_count, x, y, bad);
    if (error)
        return error;
    bool placed = x && y;
    struct tp_graph *graph = calloc(1, whole_bytes(nodes, edge_count, placed));
    if (!graph)
        return TP_ERR_NO_MEMORY;
    graph->refs = 1;
    graph->nodes = nodes;
    graph->edges = (uint32_t)edge_count;
    struct arrays a = lay_out(graph, placed);
    if (placed) {
        memcpy(a.x, x, nodes * sizeof *x);
        memcpy(a.y, y, nodes * sizeof *y);
    }
    /* counting sort by source; out_first[i + 1] runs from the start to the end of node i's edges as they are placed */
    for (size_t e = 0; e < edge_count; e++) {
        if (++a.out_first[edges[e].from + 1] > TP_GRAPH_DEGREE_MAX ||
            ++a.in_first[edges[e].to + 1] > TP_GRAPH_IN_DEGREE_MAX) {
            *bad = e;
            free(graph);
            return TP_ERR_RESOURCE_EXHAUSTED;
        }
        if (edges[e].cost > graph->cost_max)
            graph->cost_max = edges[e].cost;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        a.out_first[i + 1] += a.out_first[i];
        a.in_first[i + 1] += a.in_first[i];
    }
    for (size_t e = edge_count; e-- > 0;) {
        uint32_t at = --a.out_first[edges[e].from + 1];
        a.out[at] = (struct tp_graph_out){edges[e].to, edges[e].cost};
        a.edge_at[e] = at;
    }
    /* each first[i + 1] now stands at node i's first edge: one place too far to the right */
    memmove(a.out_first, a.out_first + 1, nodes * sizeof *a.out_first);
    a.out_first[nodes] = graph->edges;
    for (uint32_t node = nodes; node-- > 0;)
        for (uint32_t i = a.out_first[node + 1]; i-- > a.out_first[node];)
            a.in[--a.in_first[a.out[i].to + 1]] = (struct tp_graph_in){node, i - a.out_first[node]};
    memmove(a.in_first, a.in_first + 1, nodes * sizeof *a.in_first);
    a.in_first[nodes] = graph->edges;
    if (placed)
        graph->h_factor = h_factor(graph);
    *out = graph;
    return TP_OK;
}

const struct tp_graph *tp_graph_ref(const struct tp_graph *graph)
{
    atomic_fetch_add_explicit(&((struct tp_graph *)(uintptr_t)graph)->refs, 1, memory_order_relaxed);
    return graph;
}

void tp_graph_unref(const struct tp_graph *graph)
{
    struct tp_graph *held = (struct tp_graph *)(uintptr_t)graph;
    if (held && atomic_fetch_sub_explicit(&held->refs, 1, memory_order_acq_rel) == 1)
        free(held);
}

tp_cost tp_graph_h(const struct tp_graph *graph, uint32_t from, uint32_t to)
{
    if (graph->h_factor == 0)
        return 0;
    double h = graph->h_factor * distance(graph, from, to), most = (double)graph->cost_max * graph->nodes;
    return (tp_cost)(h < most ? h : most); /* no path costs more; a goal out of reach may lie farther */
}

size_t tp_graph_bytes(const struct tp_graph *graph)
{
    return whole_bytes(graph->nodes, graph->edges, graph->x != NULL);
}
