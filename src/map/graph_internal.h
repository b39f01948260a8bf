/* What graph.c and graph_change.c share, and what map.c asks of the latter. Nobody outside src/map includes this. */
#ifndef TP_MAP_GRAPH_INTERNAL_H
#define TP_MAP_GRAPH_INTERNAL_H

#include "map/graph.h"
#include "map/map.h"

struct tp_graph_shape {
    _Atomic uint32_t refs;
    uint32_t unused; /* what follows holds doubles */
};

/* What a batch did. */
struct tp_graph_effect {
    bool rose, fell; /* some edge became dearer or closed; cheaper or open, or h fell */
};

double tp__graph_distance(const struct tp_graph *graph, uint32_t a, uint32_t b);

/* Takes an edge's cost, at least 1, into account for cost_max, cost_min and `least`. */
void tp__graph_edge_cost(struct tp_graph *graph, uint32_t from, uint32_t to, uint32_t cost);

/* The factor that these, and `extent`, allow. */
double tp__graph_h_factor(const struct tp_graph *graph);

/* The costs that a page which hides has behind its edges. */
static inline uint32_t *tp__graph_page_set(struct tp_graph_page *page)
{
    return (uint32_t *)(page->out + page->edges);
}

/* An edge's own cost, by its place in the page. */
static inline uint32_t tp__graph_page_cost(const struct tp_graph_page *page, uint32_t i)
{
    return page->hides ? ((const uint32_t *)(page->out + page->edges))[i] : page->out[i].cost;
}

/* A page with the same edges, one reference, and room for hidden costs if asked; NULL when out of memory. Counted in `held`. */
struct tp_graph_page *tp__graph_page_copy(struct tp_map_held *held, const struct tp_graph_page *page, bool hides);
void tp__graph_page_unref(struct tp_map_held *held, struct tp_graph_page *page);

/* Bytes of the graph itself with its table of pages. */
size_t tp__graph_own_bytes(const struct tp_graph *graph);

/* Counts a graph that shares nothing yet in `held`, as tp_map_count_in. */
void tp__graph_count_in(struct tp_graph *graph, struct tp_map_held *held);

/* Opens or closes a node of a graph that nobody reads yet; pages it has in common with `base` (NULL: none) are copied first.
 * False when out of memory. Cost: O(edges at the node + pages they stand in). */
bool tp__graph_node_set(struct tp_graph *graph, const struct tp_graph *base, uint32_t node, bool open,
                        struct tp_graph_effect *effect);

/* Applies the edges and nodes of a batch whole: gives a new graph in *out, or changes nothing. Errors as tp_map_apply's; *bad_id is
 * the edge or node that is none. Cost: O(edges named, and at nodes named, + pages of the graph). */
int tp__graph_apply(const struct tp_graph **out, const struct tp_graph *base, const struct tp_change *changes, size_t count,
                    struct tp_graph_effect *effect, size_t *bad, uint32_t *bad_id) TP_MUST_CHECK;

#endif
