/* Explicit directed graphs: a state is a node, a move the place of its edge among those out of the node. */
#include "domain/listed.h"

#include "map/graph.h"

static const struct tp_graph *graph_of(const struct tp_search *s)
{
    return s->nodes.belief->truth->graph;
}

static inline tp_cost graph_h(const struct tp_search *s, tp_state from, tp_state to)
{
    return s->heuristic == TP_HEURISTIC_ZERO ? 0 : tp_graph_h(graph_of(s), from, to);
}

static bool graph_has(const struct tp_map *map, enum tp_heuristic heuristic)
{
    return heuristic == TP_HEURISTIC_ZERO || (heuristic == TP_HEURISTIC_EUCLID && map->graph->x);
}

static inline uint32_t graph_successors(const struct tp_search *s, tp_state state, struct tp_successor *out)
{
    const struct tp_graph *graph = graph_of(s);
    const struct tp_graph_out *edge = tp_graph_out(graph, state);
    uint32_t count = graph->out_first[state + 1] - graph->out_first[state], moves = 0;
    for (uint32_t i = 0; i < count; i++) {
        out[moves] = (struct tp_successor){edge[i].to, (uint8_t)i, edge[i].cost};
        moves += edge[i].cost != 0;
    }
    return moves;
}

_Static_assert((int)TP_MOVES_MAX == (int)TP_GRAPH_DEGREE_MAX, "a node's edges are the moves out of it");

TP_LISTED_KERNEL(graph, TP_GRAPH_DEGREE_MAX, graph_successors, graph_h)
TP_LISTED_KERNEL_CHOOSING(graph, TP_GRAPH_DEGREE_MAX, graph_successors)

static void graph_predecessors(const struct tp_search *s, tp_state state, tp_predecessor_cb visit, void *context)
{
    const struct tp_graph *graph = graph_of(s);
    for (uint32_t i = graph->in_first[state]; i < graph->in_first[state + 1]; i++) {
        struct tp_graph_in in = graph->in[i];
        uint32_t cost = tp_graph_out(graph, in.from)[in.place].cost;
        if (cost && !visit(context, in.from, (uint8_t)in.place, cost))
            return;
    }
}

/* Edges from one node to the same other are one way there: whichever of them a search found, an agent takes the cheapest that is
 * open now. Cost: O(edges out of the node). */
static bool graph_step(const struct tp_search *s, const struct tp_map *map, tp_state state, uint8_t move,
                       struct tp_successor *out)
{
    (void)s;
    const struct tp_graph *graph = map->graph;
    uint32_t count = graph->out_first[state + 1] - graph->out_first[state];
    *out = (struct tp_successor){TP_STATE_NONE, move, 0};
    if (move >= count)
        return false;
    const struct tp_graph_out *edge = tp_graph_out(graph, state), *end = edge + count, *named = edge + move;
    uint32_t least = named->cost - 1; /* a closed edge, of cost 0, is dearer than any */
    for (; edge < end; edge++)
        if (edge->to == named->to && edge->cost - 1 < least)
            least = edge->cost - 1;
    *out = (struct tp_successor){named->to, move, least + 1};
    return out->cost != 0;
}

static uint8_t graph_move_between(const struct tp_search *s, tp_state from, tp_state to)
{
    return tp__listed_move_between(s, graph_successors, from, to);
}

/* A node's number is its state and its cell. */
static uint32_t graph_cell(const struct tp_search *s, tp_state state)
{
    (void)s;
    return state;
}

static uint64_t graph_states(const struct tp_map *map)
{
    return map->graph->nodes;
}

const struct tp_domain tp_domain_graph = {
    .name = "graph",
    .run = {TP_LISTED_RUNS(graph), TP_LISTED_RUNS_CHOOSING(graph)},
    .has = graph_has,
    .h = graph_h,
    .successors = graph_successors,
    .predecessors = graph_predecessors,
    .step = graph_step,
    .move_between = graph_move_between,
    .cell = graph_cell,
    .at_cell = graph_cell,
    .states = graph_states,
    .moves_max = TP_GRAPH_DEGREE_MAX,
    .listed = true,
};
