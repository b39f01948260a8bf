/* Graphs. Happy path: build lays out the shape (coordinates, edges by source and by target) in one block, then the costs in
 * pages; a changed graph (graph_change.c) shares the first and most of the others. */
#include "map/graph.h"

#include "base/check.h"
#include "map/graph_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The shape's arrays stand in one block behind it. */
struct arrays {
    uint32_t *out_first, *in_first, *edge_at;
    struct tp_graph_in *in;
    double *x, *y;
};

static size_t shape_bytes(uint32_t nodes, size_t edges, bool placed)
{
    return sizeof(struct tp_graph_shape) + (placed ? 2 * (size_t)nodes * sizeof(double) : 0) +
           2 * ((size_t)nodes + 1) * sizeof(uint32_t) + edges * (sizeof(struct tp_graph_in) + sizeof(uint32_t));
}

static struct arrays lay_out(struct tp_graph *graph, bool placed)
{
    struct arrays a = {0};
    char *at = (char *)(graph->shape + 1);
    if (placed) {
        a.x = (double *)at;
        a.y = a.x + graph->nodes;
        at = (char *)(a.y + graph->nodes);
    }
    a.in = (struct tp_graph_in *)at;
    a.out_first = (uint32_t *)(a.in + graph->edges);
    a.in_first = a.out_first + graph->nodes + 1;
    a.edge_at = a.in_first + graph->nodes + 1;
    graph->x = a.x;
    graph->y = a.y;
    graph->in = a.in;
    graph->out_first = a.out_first;
    graph->in_first = a.in_first;
    graph->edge_at = a.edge_at;
    return a;
}

double tp__graph_distance(const struct tp_graph *graph, uint32_t a, uint32_t b)
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

void tp__graph_edge_cost(struct tp_graph *graph, uint32_t from, uint32_t to, uint32_t cost)
{
    graph->cost_max = cost > graph->cost_max ? cost : graph->cost_max;
    graph->cost_min = cost < graph->cost_min ? cost : graph->cost_min;
    double length = graph->x ? tp__graph_distance(graph, from, to) : 0;
    if (length > 0 && cost / length < graph->least)
        graph->least = cost / length;
}

/* The largest factor under which no edge is shorter than its ends' distance; less by a margin, so that rounding h, which may
 * be far larger than the edge, cannot outweigh the least cost. 0 where the margin would leave nothing. */
double tp__graph_h_factor(const struct tp_graph *graph)
{
    if (!graph->x || isinf(graph->least))
        return 0;
    double margin = 4e-15 * graph->least * graph->extent / graph->cost_min;
    margin = margin > 1e-6 ? margin : 1e-6;
    return margin < 1 ? graph->least * (1 - margin) : 0;
}

/* ---- Pages ---- */

static size_t page_bytes(uint32_t edges, bool hides)
{
    return sizeof(struct tp_graph_page) + edges * (sizeof(struct tp_graph_out) + (hides ? sizeof(uint32_t) : 0));
}

struct tp_graph_page *tp__graph_page_copy(struct tp_map_held *held, const struct tp_graph_page *page, bool hides)
{
    struct tp_graph_page *copy = malloc(page_bytes(page->edges, hides || page->hides));
    if (!copy)
        return NULL;
    tp__held_add(held, page_bytes(page->edges, hides || page->hides));
    atomic_init(&copy->refs, 1);
    copy->first = page->first;
    copy->edges = page->edges;
    copy->hides = hides || page->hides;
    memcpy(copy->closed, page->closed, sizeof copy->closed);
    memcpy(copy->out, page->out, page->edges * sizeof page->out[0]);
    if (page->hides)
        memcpy(tp__graph_page_set(copy), page->out + page->edges, page->edges * sizeof(uint32_t));
    else
        for (uint32_t i = 0; copy->hides && i < copy->edges; i++)
            tp__graph_page_set(copy)[i] = copy->out[i].cost;
    return copy;
}

void tp__graph_page_unref(struct tp_map_held *held, struct tp_graph_page *page)
{
    if (!page || atomic_fetch_sub_explicit(&page->refs, 1, memory_order_acq_rel) != 1)
        return;
    tp__held_take(held, page_bytes(page->edges, page->hides));
    free(page);
}

size_t tp__graph_own_bytes(const struct tp_graph *graph)
{
    return sizeof *graph + tp_graph_pages(graph) * sizeof graph->pages[0];
}

/* ---- Making ---- */

static int check(uint32_t nodes, const struct tp_graph_edge *edges, size_t edge_count, const double *x,
                 const double *y, bool may_be_closed, size_t *bad)
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
        if (edges[*bad].cost == 0 && !may_be_closed)
            return TP_ERR_INVALID_ARGUMENT;
    }
    return TP_OK;
}

/* A graph with its shape, arrays zeroed, and no pages; NULL when out of memory. */
static struct tp_graph *graph_new(uint32_t nodes, size_t edges, bool placed)
{
    size_t pages = ((size_t)nodes + TP_GRAPH_PAGE - 1) / TP_GRAPH_PAGE;
    struct tp_graph *graph = calloc(1, sizeof *graph + pages * sizeof graph->pages[0]);
    struct tp_graph_shape *shape = calloc(1, shape_bytes(nodes, edges, placed));
    if (!graph || !shape) {
        free(graph);
        free(shape);
        return NULL;
    }
    atomic_init(&graph->refs, 1);
    atomic_init(&shape->refs, 1);
    graph->shape = shape;
    graph->nodes = nodes;
    graph->edges = (uint32_t)edges;
    graph->cost_min = UINT32_MAX;
    graph->least = INFINITY;
    return graph;
}

/* Makes the pages, without their edges, once out_first stands. */
static bool pages_new(struct tp_graph *graph)
{
    for (uint32_t i = 0; i < tp_graph_pages(graph); i++) {
        uint32_t end = (i + 1) * TP_GRAPH_PAGE < graph->nodes ? (i + 1) * TP_GRAPH_PAGE : graph->nodes;
        uint32_t first = graph->out_first[i * TP_GRAPH_PAGE], edges = graph->out_first[end] - first;
        struct tp_graph_page *page = graph->pages[i] = calloc(1, page_bytes(edges, false));
        if (!page)
            return false;
        atomic_init(&page->refs, 1);
        page->first = first;
        page->edges = edges;
    }
    return true;
}

int tp_graph_build(const struct tp_graph **out, uint32_t nodes, const struct tp_graph_edge *edges,
                   size_t edge_count, const double *x, const double *y, size_t *bad)
{
    *out = NULL;
    int error = check(nodes, edges, edge_count, x, y, false, bad);
    return error ? error : tp_graph_restore(out, nodes, edges, edge_count, x, y, NULL, bad);
}

int tp_graph_restore(const struct tp_graph **out, uint32_t nodes, const struct tp_graph_edge *edges, size_t edge_count,
                     const double *x, const double *y, const uint8_t *closed, size_t *bad)
{
    *out = NULL;
    int error = check(nodes, edges, edge_count, x, y, true, bad);
    if (error)
        return error;
    bool placed = x && y;
    struct tp_graph *graph = graph_new(nodes, edge_count, placed);
    if (!graph)
        return TP_ERR_NO_MEMORY;
    struct arrays a = lay_out(graph, placed);
    if (placed) {
        memcpy(a.x, x, nodes * sizeof *x);
        memcpy(a.y, y, nodes * sizeof *y);
        graph->extent = extent(graph);
    }
    /* counting sort by source; out_first[i + 1] runs from the start to the end of node i's edges as they are placed */
    for (size_t e = 0; e < edge_count; e++) {
        if (++a.out_first[edges[e].from + 1] > TP_GRAPH_DEGREE_MAX ||
            ++a.in_first[edges[e].to + 1] > TP_GRAPH_IN_DEGREE_MAX) {
            *bad = e;
            tp_graph_unref(graph);
            return TP_ERR_RESOURCE_EXHAUSTED;
        }
        if (edges[e].cost)
            tp__graph_edge_cost(graph, edges[e].from, edges[e].to, edges[e].cost);
    }
    for (uint32_t i = 0; i < nodes; i++) {
        a.out_first[i + 1] += a.out_first[i];
        a.in_first[i + 1] += a.in_first[i];
    }
    if (!pages_new(graph)) {
        tp_graph_unref(graph);
        return TP_ERR_NO_MEMORY;
    }
    for (size_t e = edge_count; e-- > 0;) {
        uint32_t at = --a.out_first[edges[e].from + 1];
        struct tp_graph_page *page = graph->pages[edges[e].from / TP_GRAPH_PAGE];
        page->out[at - page->first] = (struct tp_graph_out){edges[e].to, edges[e].cost};
        a.edge_at[e] = at;
    }
    /* each first[i + 1] now stands at node i's first edge: one place too far to the right */
    memmove(a.out_first, a.out_first + 1, nodes * sizeof *a.out_first);
    a.out_first[nodes] = graph->edges;
    for (uint32_t node = nodes; node-- > 0;) {
        const struct tp_graph_out *edge = tp_graph_out(graph, node);
        for (uint32_t i = a.out_first[node + 1] - a.out_first[node]; i-- > 0;)
            a.in[--a.in_first[edge[i].to + 1]] = (struct tp_graph_in){node, i};
    }
    memmove(a.in_first, a.in_first + 1, nodes * sizeof *a.in_first);
    a.in_first[nodes] = graph->edges;
    graph->h_factor = tp__graph_h_factor(graph);
    graph->h_max = (double)graph->cost_max * nodes;
    for (uint32_t node = 0; closed && node < nodes; node++)
        if (closed[node / 8] >> (node % 8) & 1 && !tp__graph_node_set(graph, NULL, node, false, NULL)) {
            tp_graph_unref(graph);
            return TP_ERR_NO_MEMORY;
        }
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
    struct tp_graph *own = (struct tp_graph *)(uintptr_t)graph;
    if (!own || atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < tp_graph_pages(own); i++)
        tp__graph_page_unref(own->held, own->pages[i]);
    if (atomic_fetch_sub_explicit(&own->shape->refs, 1, memory_order_acq_rel) == 1) {
        tp__held_take(own->held, shape_bytes(own->nodes, own->edges, own->x != NULL));
        free(own->shape);
    }
    tp__held_take(own->held, tp__graph_own_bytes(own));
    free(own);
}

void tp__graph_count_in(struct tp_graph *graph, struct tp_map_held *held)
{
    TP_CHECK(!graph->held && atomic_load_explicit(&graph->shape->refs, memory_order_relaxed) == 1);
    graph->held = held;
    tp__held_add(held, tp__graph_own_bytes(graph) + shape_bytes(graph->nodes, graph->edges, graph->x != NULL));
    for (uint32_t i = 0; i < tp_graph_pages(graph); i++)
        tp__held_add(held, page_bytes(graph->pages[i]->edges, graph->pages[i]->hides));
}

/* ---- Looking ---- */

tp_cost tp_graph_h(const struct tp_graph *graph, uint32_t from, uint32_t to)
{
    if (graph->h_factor == 0)
        return 0;
    double h = graph->h_factor * tp__graph_distance(graph, from, to);
    return (tp_cost)(h < graph->h_max ? h : graph->h_max); /* no path costs more; a goal out of reach may lie farther */
}

uint32_t tp_graph_source(const struct tp_graph *graph, uint32_t at)
{
    uint32_t low = 0, high = graph->nodes; /* out_first[low] <= at < out_first[high] */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (graph->out_first[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct tp_graph_edge tp_graph_edge_set(const struct tp_graph *graph, uint32_t edge)
{
    uint32_t at = graph->edge_at[edge], from = tp_graph_source(graph, at);
    const struct tp_graph_page *page = graph->pages[from / TP_GRAPH_PAGE];
    return (struct tp_graph_edge){from, page->out[at - page->first].to, tp__graph_page_cost(page, at - page->first)};
}

size_t tp_graph_bytes(const struct tp_graph *graph)
{
    size_t bytes = tp__graph_own_bytes(graph);
    bytes += shape_bytes(graph->nodes, graph->edges, graph->x != NULL) /
             atomic_load_explicit(&graph->shape->refs, memory_order_relaxed);
    for (uint32_t i = 0; i < tp_graph_pages(graph); i++)
        bytes += page_bytes(graph->pages[i]->edges, graph->pages[i]->hides) /
                 atomic_load_explicit(&graph->pages[i]->refs, memory_order_relaxed);
    return bytes;
}
