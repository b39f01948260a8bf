/* Changed graphs. Happy path: a batch is checked whole; the new graph takes references to the shape and to all pages of the one
 * before; a page is copied when it is first written. An edge's own cost and what is closed at its ends make the cost that
 * searches see; the own cost is kept beside it only in pages with an edge at a closed node. h never rises: the factor falls when an
 * edge's own cost no longer allows it, whether the edge is hidden by a closed node or not.
 * Failure: running out of memory frees what was made. */
#include "base/limits.h"
#include "map/graph_internal.h"

#include <stdlib.h>
#include <string.h>

/* A page of `graph` that may be written, with room for hidden costs if asked; NULL when out of memory. */
static struct tp_graph_page *page_own(struct tp_graph *graph, const struct tp_graph *base, uint32_t node, bool hides)
{
    uint32_t i = node / TP_GRAPH_PAGE;
    struct tp_graph_page *page = graph->pages[i];
    if ((!base || page != base->pages[i]) && (page->hides || !hides))
        return page;
    struct tp_graph_page *copy = tp__graph_page_copy(graph->held, page, hides);
    if (!copy)
        return NULL;
    graph->pages[i] = copy;
    tp__graph_page_unref(graph->held, page);
    return copy;
}

static void note(struct tp_graph_effect *effect, uint32_t was, uint32_t is)
{
    if (!effect)
        return;
    effect->rose |= is - 1 > was - 1; /* 0, closed, is dearer than any */
    effect->fell |= is - 1 < was - 1;
}

/* Sets the cost that searches see of an edge, by what is closed at its ends. */
static bool edge_refresh(struct tp_graph *graph, const struct tp_graph *base, uint32_t from, uint32_t place,
                         struct tp_graph_effect *effect)
{
    const struct tp_graph_page *page = graph->pages[from / TP_GRAPH_PAGE];
    uint32_t i = graph->out_first[from] - page->first + place, was = page->out[i].cost;
    bool hidden = tp_graph_closed(graph, from) || tp_graph_closed(graph, page->out[i].to);
    uint32_t is = hidden ? 0 : tp__graph_page_cost(page, i);
    if (was == is)
        return true;
    struct tp_graph_page *own = page_own(graph, base, from, hidden);
    if (!own)
        return false;
    own->out[i].cost = is;
    note(effect, was, is);
    return true;
}

bool tp__graph_node_set(struct tp_graph *graph, const struct tp_graph *base, uint32_t node, bool open,
                        struct tp_graph_effect *effect)
{
    if (tp_graph_closed(graph, node) == !open)
        return true;
    struct tp_graph_page *page = page_own(graph, base, node, !open);
    if (!page)
        return false;
    page->closed[node % TP_GRAPH_PAGE / 64] ^= 1ull << (node % 64);
    graph->closed_nodes += open ? UINT32_MAX : 1;
    for (uint32_t i = 0; i < graph->out_first[node + 1] - graph->out_first[node]; i++)
        if (!edge_refresh(graph, base, node, i, effect))
            return false;
    for (uint32_t i = graph->in_first[node]; i < graph->in_first[node + 1]; i++)
        if (!edge_refresh(graph, base, graph->in[i].from, graph->in[i].place, effect))
            return false;
    return true;
}

static bool edge_set(struct tp_graph *graph, const struct tp_graph *base, uint32_t edge, uint32_t cost,
                     struct tp_graph_effect *effect)
{
    uint32_t at = graph->edge_at[edge], from = tp_graph_source(graph, at);
    struct tp_graph_page *page = page_own(graph, base, from, false);
    if (!page)
        return false;
    struct tp_graph_out *out = &page->out[at - page->first];
    bool hidden = tp_graph_closed(graph, from) || tp_graph_closed(graph, out->to);
    if (page->hides) /* as is every page with an edge at a closed node, once one of them had a cost to hide */
        tp__graph_page_set(page)[at - page->first] = cost;
    else if (hidden && cost) {
        page = page_own(graph, base, from, true);
        if (!page)
            return false;
        out = &page->out[at - page->first];
        tp__graph_page_set(page)[at - page->first] = cost;
    }
    if (!hidden) {
        note(effect, out->cost, cost);
        out->cost = cost;
    }
    if (cost)
        tp__graph_edge_cost(graph, from, out->to, cost);
    return true;
}

static int check(const struct tp_graph *graph, const struct tp_change *change, uint64_t *edges)
{
    if (change->kind == TP_CHANGE_EDGE) {
        *edges += 1;
        return change->x < graph->edges ? TP_OK : TP_ERR_OUT_OF_RANGE;
    }
    if (change->kind != TP_CHANGE_NODE)
        return TP_ERR_UNSUPPORTED;
    if (change->x >= graph->nodes)
        return TP_ERR_OUT_OF_RANGE;
    if (change->y > 1)
        return TP_ERR_INVALID_ARGUMENT;
    *edges += 1 + graph->out_first[change->x + 1] - graph->out_first[change->x] + graph->in_first[change->x + 1] -
              graph->in_first[change->x];
    return TP_OK;
}

/* A graph like `base`, with references of its own to all that it shares. */
static struct tp_graph *share(const struct tp_graph *base)
{
    size_t pages = tp_graph_pages(base), bytes = tp__graph_own_bytes(base);
    struct tp_graph *graph = malloc(bytes);
    if (!graph)
        return NULL;
    tp__held_add(base->held, bytes);
    memcpy((char *)graph + sizeof graph->refs, (const char *)base + sizeof base->refs, bytes - sizeof base->refs);
    atomic_init(&graph->refs, 1);
    atomic_fetch_add_explicit(&graph->shape->refs, 1, memory_order_relaxed);
    for (size_t i = 0; i < pages; i++)
        atomic_fetch_add_explicit(&graph->pages[i]->refs, 1, memory_order_relaxed);
    return graph;
}

int tp__graph_apply(const struct tp_graph **out, const struct tp_graph *base, const struct tp_change *changes, size_t count,
                    struct tp_graph_effect *effect, size_t *bad, uint32_t *bad_id)
{
    *out = NULL;
    uint64_t edges = 0;
    for (size_t i = 0; i < count; i++) {
        int error = check(base, &changes[i], &edges);
        if (!error && edges > TP_BATCH_CELLS_MAX)
            error = TP_ERR_RESOURCE_EXHAUSTED;
        if (error) {
            *bad = i;
            *bad_id = changes[i].x;
            return error;
        }
    }
    struct tp_graph *graph = share(base);
    if (!graph)
        return TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct tp_change *change = &changes[i];
        bool done = change->kind == TP_CHANGE_EDGE ? edge_set(graph, base, change->x, change->y, effect)
                                                   : tp__graph_node_set(graph, base, change->x, change->y == 1, effect);
        if (!done) {
            tp_graph_unref(graph);
            return TP_ERR_NO_MEMORY;
        }
    }
    double h_factor = tp__graph_h_factor(graph);
    if (h_factor < graph->h_factor) {
        graph->h_factor = h_factor;
        effect->fell = true;
    }
    *out = graph;
    return TP_OK;
}
