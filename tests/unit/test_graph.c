/* Explicit directed graphs: the value against a plain list of edges, the space's functions, sessions. Their texts:
 * test_graph_text.c; their changes: test_graph_changes.c. */
#include "map/dimacs.h"
#include "search/search.h"
#include "search/session.h"
#include "tests/lib/maps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Graphs at random, with parallel edges, loops, isolated nodes ---- */

struct plain {
    uint32_t nodes;
    size_t count;
    struct tp_graph_edge *edges;
    double *x, *y; /* NULL without */
};

/* Costs that a distance bounds: at least `factor` times the length. */
static uint32_t cost_between(struct tp_test_rng *rng, const struct plain *plain, uint32_t a, uint32_t b)
{
    double length = plain->x ? hypot(plain->x[a] - plain->x[b], plain->y[a] - plain->y[b]) : 0;
    return 1 + tp_test_below(rng, 50) + (uint32_t)(length * 1.5);
}

static struct plain plain_random(struct tp_test_rng *rng, uint32_t nodes_max, bool placed)
{
    struct plain plain = {.nodes = tp_test_between(rng, 1, nodes_max)};
    plain.count = tp_test_below(rng, 4 * plain.nodes + 1);
    plain.edges = malloc((plain.count + 1) * sizeof *plain.edges);
    if (placed) {
        plain.x = malloc(plain.nodes * sizeof *plain.x);
        plain.y = malloc(plain.nodes * sizeof *plain.y);
        ck_assert(plain.x && plain.y);
        for (uint32_t i = 0; i < plain.nodes; i++) {
            plain.x[i] = (double)tp_test_below(rng, 2000) / 8 - 100;
            plain.y[i] = tp_test_percent(rng, 10) ? 0 : (double)tp_test_below(rng, 2000) - 1000;
        }
    }
    ck_assert_ptr_nonnull(plain.edges);
    uint32_t used = tp_test_between(rng, 1, plain.nodes); /* the nodes behind it stay isolated */
    for (size_t e = 0; e < plain.count; e++) {
        uint32_t a = tp_test_below(rng, used), b = tp_test_percent(rng, 10) ? a : tp_test_below(rng, used);
        plain.edges[e] = (struct tp_graph_edge){a, b, cost_between(rng, &plain, a, b)};
        if (e && tp_test_percent(rng, 10)) /* a parallel one */
            plain.edges[e] = (struct tp_graph_edge){plain.edges[e - 1].from, plain.edges[e - 1].to,
                                                    plain.edges[e - 1].cost + tp_test_below(rng, 3)};
    }
    return plain;
}

static void plain_fini(struct plain *plain)
{
    free(plain->edges);
    free(plain->x);
    free(plain->y);
}

static const struct tp_graph *build(const struct plain *plain)
{
    const struct tp_graph *graph;
    size_t bad;
    int rc = tp_graph_build(&graph, plain->nodes, plain->edges, plain->count, plain->x, plain->y, &bad);
    ck_assert_msg(rc == 0, "%s at %zu", tp_error_name(rc), bad);
    return graph;
}

START_TEST(test_build)
{
    struct tp_test_rng rng = tp_test_rng("build");
    uint64_t graphs = tp_test_steps(300, 20000);
    for (uint64_t i = 0; i < graphs; i++) {
        struct plain plain = plain_random(&rng, 40, i % 2);
        const struct tp_graph *graph = build(&plain);
        ck_assert_uint_eq(graph->nodes, plain.nodes);
        ck_assert_uint_eq(graph->edges, plain.count);
        ck_assert(!graph->x == !plain.x && !graph->y == !plain.y);
        uint32_t cost_max = 0, out_before = 0, in_before = 0;
        for (uint32_t node = 0; node < plain.nodes; node++) {
            if (graph->x && (graph->x[node] != plain.x[node] || graph->y[node] != plain.y[node]))
                ck_abort_msg("node %u stands elsewhere", node);
            uint32_t place = 0;
            for (size_t e = 0; e < plain.count; e++) {
                struct tp_graph_edge edge = plain.edges[e];
                if (edge.from != node)
                    continue;
                uint32_t at = graph->out_first[node] + place++;
                const struct tp_graph_out *out = tp_graph_out(graph, node) + place - 1;
                if (at >= graph->out_first[node + 1] || out->to != edge.to || out->cost != edge.cost ||
                    graph->edge_at[e] != at)
                    ck_abort_msg("edge %zu is not at place %u of node %u", e, place - 1, node);
                if (edge.cost > cost_max)
                    cost_max = edge.cost;
            }
            if (graph->out_first[node] != out_before || graph->out_first[node + 1] != out_before + place)
                ck_abort_msg("node %u has not %u edges", node, place);
            out_before += place;
            /* the edges into it, by source, then place */
            uint32_t in = graph->in_first[node];
            if (in != in_before)
                ck_abort_msg("the edges into %u begin at %u", node, in);
            for (uint32_t from = 0; from < plain.nodes; from++) {
                uint32_t from_place = 0;
                for (size_t e = 0; e < plain.count; e++) {
                    if (plain.edges[e].from != from)
                        continue;
                    if (plain.edges[e].to == node) {
                        if (in >= graph->in_first[node + 1] || graph->in[in].from != from ||
                            graph->in[in].place != from_place)
                            ck_abort_msg("edge %zu is not among those into %u", e, node);
                        in++;
                    }
                    from_place++;
                }
            }
            if (in != graph->in_first[node + 1])
                ck_abort_msg("more edges lead into %u than were given", node);
            in_before = in;
        }
        ck_assert_uint_eq(graph->cost_max, cost_max);
        ck_assert_uint_eq(graph->out_first[plain.nodes], plain.count);
        ck_assert_uint_eq(graph->in_first[plain.nodes], plain.count);
        ck_assert_uint_ge(tp_graph_bytes(graph), sizeof *graph + plain.count * 20);
        tp_graph_unref(graph);
        plain_fini(&plain);
    }
}
END_TEST

/* The heuristic: within every edge's cost, to every goal; as large as that allows; 0 without coordinates. */
START_TEST(test_h)
{
    struct tp_test_rng rng = tp_test_rng("h");
    uint64_t graphs = tp_test_steps(300, 20000);
    for (uint64_t i = 0; i < graphs; i++) {
        struct plain plain = plain_random(&rng, 30, i % 8);
        if (plain.x && i % 3 == 0)
            for (uint32_t node = 0; node < plain.nodes; node++) { /* as in micro-degrees */
                plain.x[node] *= 1e6;
                plain.y[node] *= 1e6;
            }
        const struct tp_graph *graph = build(&plain);
        for (uint32_t goal = 0; goal < plain.nodes; goal++) {
            if (tp_graph_h(graph, goal, goal) != 0)
                ck_abort_msg("h of the goal is not 0");
            for (size_t e = 0; e < plain.count; e++)
                if (tp_graph_h(graph, plain.edges[e].from, goal) >
                    plain.edges[e].cost + tp_graph_h(graph, plain.edges[e].to, goal))
                    ck_abort_msg("h falls by more than the cost of edge %zu", e);
        }
        if (!plain.x)
            ck_assert(graph->h_factor == 0 && !graph->x);
        double least = INFINITY;
        for (size_t e = 0; plain.x && e < plain.count; e++) {
            double length = hypot(plain.x[plain.edges[e].from] - plain.x[plain.edges[e].to],
                                  plain.y[plain.edges[e].from] - plain.y[plain.edges[e].to]);
            if (length > 0)
                least = fmin(least, plain.edges[e].cost / length);
        }
        if (least < INFINITY)
            ck_assert_msg(graph->h_factor <= least && graph->h_factor > least * 0.99999, "factor %g of %g",
                          graph->h_factor, least);
        else
            ck_assert(graph->h_factor == 0); /* no edge says how far a cost goes */
        tp_graph_unref(graph);
        plain_fini(&plain);
    }
}
END_TEST

/* Places so far apart that an edge's cost is lost in the rounding of h, and no cost at all can reach them. */
START_TEST(test_h_extremes)
{
    struct tp_test_rng rng = tp_test_rng("extremes");
    static const double scales[] = {1e-150, 1e-12, 1, 1e6, 1e12};
    for (int i = 0; i < 200; i++) {
        double x[6], y[6];
        struct tp_graph_edge edges[8];
        for (int n = 0; n < 6; n++) {
            x[n] = (tp_test_below(&rng, 2000) - 1000.0) * scales[tp_test_below(&rng, 5)] / 1000;
            y[n] = (tp_test_below(&rng, 2000) - 1000.0) * scales[tp_test_below(&rng, 5)];
        }
        for (int e = 0; e < 8; e++)
            edges[e] =
                (struct tp_graph_edge){tp_test_below(&rng, 6), tp_test_below(&rng, 6),
                                       1 + tp_test_below(&rng, tp_test_percent(&rng, 50) ? 3 : UINT32_MAX)};
        struct plain plain = {.nodes = 6, .count = 8, .edges = edges, .x = x, .y = y};
        const struct tp_graph *graph = build(&plain);
        for (uint32_t goal = 0; goal < 6; goal++)
            for (int e = 0; e < 8; e++)
                if (tp_graph_h(graph, edges[e].from, goal) >
                    edges[e].cost + tp_graph_h(graph, edges[e].to, goal))
                    ck_abort_msg("h falls by more than the cost of edge %d in graph %d", e, i);
        tp_graph_unref(graph);
    }
}
END_TEST

static void refused(uint32_t nodes, const struct tp_graph_edge *edges, size_t count, const double *x,
                    const double *y, int error, size_t bad_wanted)
{
    const struct tp_graph *graph = (const struct tp_graph *)1;
    size_t bad = 77;
    ck_assert_int_eq(tp_graph_build(&graph, nodes, edges, count, x, y, &bad), error);
    ck_assert_ptr_null(graph);
    ck_assert_uint_eq(bad, bad_wanted);
}

START_TEST(test_refusals)
{
    struct tp_graph_edge edges[3] = {{0, 1, 5}, {1, 2, 1}, {2, 0, 7}};
    double x[3] = {0, 1, 2}, y[3] = {3, 4, 5};
    refused(0, edges, 0, NULL, NULL, TP_ERR_INVALID_ARGUMENT, 0);
    refused(TP_GRAPH_NODES_MAX + 1u, edges, 3, NULL, NULL, TP_ERR_INVALID_ARGUMENT, 0);
    refused(3, edges, (size_t)TP_GRAPH_EDGES_MAX + 1, NULL, NULL, TP_ERR_INVALID_ARGUMENT, 0);
    refused(2, edges, 3, NULL, NULL, TP_ERR_OUT_OF_RANGE, 1);
    edges[2].from = 3;
    refused(3, edges, 3, x, y, TP_ERR_OUT_OF_RANGE, 2);
    edges[2].from = UINT32_MAX;
    refused(3, edges, 3, x, y, TP_ERR_OUT_OF_RANGE, 2);
    edges[2] = (struct tp_graph_edge){2, 0, 0};
    refused(3, edges, 3, x, y, TP_ERR_INVALID_ARGUMENT, 2);
    edges[2].cost = 1;
    static const double wrong[] = {NAN, INFINITY, -INFINITY, 1.1e15, -1.1e15};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        x[i % 3] = wrong[i];
        refused(3, edges, 3, x, y, TP_ERR_INVALID_ARGUMENT, i % 3);
        x[i % 3] = 0;
        y[i % 3] = wrong[i];
        refused(3, edges, 3, x, y, TP_ERR_INVALID_ARGUMENT, i % 3);
        y[i % 3] = 0;
    }
    tp_graph_unref(NULL);
}
END_TEST

/* 240 edges out of a node are taken, and 1024 into one; the next is named. */
START_TEST(test_degree)
{
    enum { COUNT = 3 * TP_GRAPH_DEGREE_MAX + 1 };
    struct tp_graph_edge edges[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        edges[i] = (struct tp_graph_edge){i % 3, 3, i + 1};
    struct plain plain = {.nodes = 4, .count = COUNT - 1, .edges = edges};
    const struct tp_graph *graph = build(&plain);
    for (uint32_t node = 0; node < 3; node++)
        ck_assert_uint_eq(graph->out_first[node + 1] - graph->out_first[node], TP_GRAPH_DEGREE_MAX);
    ck_assert_uint_eq(graph->in_first[4] - graph->in_first[3], COUNT - 1);
    tp_graph_unref(graph);
    refused(4, edges, COUNT, NULL, NULL, TP_ERR_RESOURCE_EXHAUSTED, COUNT - 1);
    for (uint32_t i = 0; i < COUNT; i++)
        edges[i].from = 3;
    refused(4, edges, COUNT, NULL, NULL, TP_ERR_RESOURCE_EXHAUSTED, TP_GRAPH_DEGREE_MAX);
    struct tp_graph_edge into[TP_GRAPH_IN_DEGREE_MAX + 1];
    for (uint32_t i = 0; i <= TP_GRAPH_IN_DEGREE_MAX; i++)
        into[i] = (struct tp_graph_edge){1 + i / TP_GRAPH_DEGREE_MAX, 0, 1};
    struct plain hub = {.nodes = 6, .count = TP_GRAPH_IN_DEGREE_MAX, .edges = into};
    tp_graph_unref(build(&hub));
    refused(6, into, TP_GRAPH_IN_DEGREE_MAX + 1, NULL, NULL, TP_ERR_RESOURCE_EXHAUSTED, TP_GRAPH_IN_DEGREE_MAX);
}
END_TEST

START_TEST(test_references)
{
    struct tp_graph_edge edge = {0, 1, 1};
    struct plain plain = {.nodes = 2, .count = 1, .edges = &edge};
    const struct tp_graph *graph = build(&plain);
    struct tp_map *map, *second;
    ck_assert_uint_eq(graph->refs, 1);
    ck_assert_int_eq(tp_map_build_graph(&map, graph, 3, 9), 0);
    ck_assert_uint_eq(graph->refs, 2);
    ck_assert_int_eq(tp_map_build_graph(&second, graph, 3, 10), 0);
    ck_assert_ptr_eq(tp_graph_ref(graph), graph);
    ck_assert_uint_eq(graph->refs, 4);
    ck_assert(map->width == 2 && map->height == 1 && map->epoch == 3 && map->version == 9 &&
              map->graph == graph);
    tp_graph_unref(graph);
    tp_graph_unref(graph);
    tp_map_unref(map);
    ck_assert_uint_eq(second->graph->refs, 1);
    struct tp_map *next;
    size_t bad;
    uint32_t bad_x, bad_y;
    struct tp_change change = {TP_CHANGE_CELL, '@', 0, 0, 1, 1, NULL, 0};
    ck_assert_int_eq(tp_map_apply(&next, second, &change, 1, &bad, &bad_x, &bad_y), TP_ERR_UNSUPPORTED);
    ck_assert_ptr_null(next);
    tp_map_unref(second);
}
END_TEST

/* ---- The space, and sessions ---- */

struct shown {
    const struct tp_graph *graph;
    uint32_t into, count, stop_after;
};

static bool visit(void *context, tp_state state, uint8_t move, tp_cost cost)
{
    struct shown *shown = context;
    const struct tp_graph *graph = shown->graph;
    uint32_t at = graph->out_first[state] + move;
    const struct tp_graph_out *out = tp_graph_out(graph, state) + move;
    if (at >= graph->out_first[state + 1] || out->to != shown->into || out->cost != cost)
        ck_abort_msg("move %u of %u does not lead to %u", move, state, shown->into);
    return ++shown->count != shown->stop_after;
}

START_TEST(test_space)
{
    struct tp_test_rng rng = tp_test_rng("space");
    uint64_t graphs = tp_test_steps(150, 10000);
    for (uint64_t i = 0; i < graphs; i++) {
        struct plain plain = plain_random(&rng, 30, i % 2);
        const struct tp_graph *graph = build(&plain);
        struct tp_map *map;
        ck_assert_int_eq(tp_map_build_graph(&map, graph, 1, 1), 0);
        tp_graph_unref(graph);
        struct tp_pool pool;
        struct tp_belief belief;
        struct tp_search search;
        uint64_t bytes = 0;
        tp_pool_init(&pool, NULL);
        tp_belief_init(&belief, map, true, NULL, &pool, &bytes, UINT64_MAX);
        tp_search_init(&search, &tp_domain_graph, &belief, NULL, TP_HEURISTIC_DEFAULT, TP_CORNERS_BOTH_FREE,
                       1, 1, false, &pool, UINT32_MAX, &bytes, UINT64_MAX);
        ck_assert_uint_eq(tp_domain_graph.states(map), plain.nodes);
        for (uint32_t node = 0; node < plain.nodes; node++) {
            struct tp_successor out[TP_MOVES_MAX], step;
            uint32_t count = tp_domain_graph.successors(&search, node, out), in = 0;
            ck_assert(tp_domain_graph.cell(&search, node) == node &&
                      tp_domain_graph.at_cell(&search, node) == node);
            for (uint32_t move = 0; move < TP_MOVES_MAX; move++) {
                bool legal = tp_domain_graph.step(&search, map, node, (uint8_t)move, &step);
                if (legal != (move < count) ||
                    (legal && (step.state != out[move].state || step.cost != out[move].cost ||
                               step.move != move || out[move].move != move)))
                    ck_abort_msg("move %u of node %u", move, node);
            }
            for (uint32_t to = 0; to < plain.nodes; to++) {
                uint8_t between = tp_domain_graph.move_between(&search, node, to);
                uint64_t least = UINT64_MAX;
                for (uint32_t n = 0; n < count; n++)
                    if (out[n].state == to && out[n].cost < least)
                        least = out[n].cost;
                if ((between == TP_MOVE_NONE) != (least == UINT64_MAX) ||
                    (between != TP_MOVE_NONE && (out[between].state != to || out[between].cost != least)))
                    ck_abort_msg("the move from %u to %u is not the cheapest", node, to);
            }
            for (size_t e = 0; e < plain.count; e++)
                in += plain.edges[e].to == node;
            struct shown shown = {map->graph, node, 0, UINT32_MAX};
            tp_domain_graph.predecessors(&search, node, visit, &shown);
            ck_assert_uint_eq(shown.count, in);
            shown = (struct shown){map->graph, node, 0, 1};
            tp_domain_graph.predecessors(&search, node, visit, &shown);
            ck_assert_uint_eq(shown.count, in ? 1 : 0);
        }
        tp_search_fini(&search);
        tp_belief_fini(&belief);
        tp_pool_fini(&pool);
        tp_map_unref(map);
        plain_fini(&plain);
    }
}
END_TEST

/* Least costs to a node over a plain list of edges (Bellman and Ford). */
static uint64_t *costs_to(const struct plain *plain, uint32_t goal)
{
    uint64_t *cost = malloc(plain->nodes * sizeof *cost);
    ck_assert_ptr_nonnull(cost);
    for (uint32_t i = 0; i < plain->nodes; i++)
        cost[i] = i == goal ? 0 : UINT64_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t e = 0; e < plain->count; e++) {
            struct tp_graph_edge edge = plain->edges[e];
            if (cost[edge.to] != UINT64_MAX && cost[edge.to] + edge.cost < cost[edge.from]) {
                cost[edge.from] = cost[edge.to] + edge.cost;
                changed = true;
            }
        }
    }
    return cost;
}

/* Walks a session until it has arrived, says UNREACHABLE, or has had its ticks; checks every move. */
static enum tp_status walk(struct tp_session *session, const struct tp_map *map, uint32_t goal, int ticks,
                           const uint64_t *cost_to, uint64_t *cost)
{
    struct tp_tick_reply reply;
    for (int tick = 0; tick < ticks; tick++) {
        uint64_t before = *cost;
        tp_session_tick(session, map, NULL, &reply);
        *cost = reply.cost;
        bool edge = false;
        const struct tp_graph_out *out = tp_graph_out(map->graph, reply.from);
        for (uint32_t i = map->graph->out_first[reply.from]; i < map->graph->out_first[reply.from + 1]; i++, out++)
            edge |= out->to == reply.to && out->cost == *cost - before;
        if (*cost != before && !edge)
            ck_abort_msg("no edge from %u to %u costs %llu", reply.from, reply.to,
                         (unsigned long long)(*cost - before));
        if (*cost == before && reply.from != reply.to)
            ck_abort_msg("a move for nothing");
        if (reply.status == TP_STATUS_UNREACHABLE && cost_to[reply.to] != UINT64_MAX)
            ck_abort_msg("UNREACHABLE is not true");
        if (reply.status == TP_STATUS_ARRIVED && reply.to != goal)
            ck_abort_msg("arrived at %u, not %u", reply.to, goal);
        if (reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE)
            return reply.status;
    }
    return reply.status;
}

START_TEST(test_sessions)
{
    struct tp_test_rng rng = tp_test_rng("sessions");
    uint64_t rounds = tp_test_steps(40, 2000);
    size_t taken = 0;
    for (size_t row = 0; tp_algorithm_at(row); row++) {
        const struct tp_algorithm *algorithm = tp_algorithm_at(row);
        for (uint64_t i = 0; i < rounds; i++) {
            struct plain plain = plain_random(&rng, 40, i % 2);
            const struct tp_graph *graph = build(&plain);
            struct tp_map *map;
            ck_assert_int_eq(tp_map_build_graph(&map, graph, 1, 1), 0);
            tp_graph_unref(graph);
            struct tp_session_params params;
            tp_session_params_init(&params);
            params.algorithm = algorithm;
            params.start = tp_test_below(&rng, plain.nodes);
            params.goal = tp_test_below(&rng, plain.nodes);
            bool whole = i % 3 == 0 && algorithm->capabilities & TP_CAN_BE_OPTIMAL;
            params.budget = tp_budget_k(whole ? 1000000 : tp_test_between(&rng, 1, 20));
            struct tp_pool pool;
            struct tp_session *session;
            struct tp_refusal refusal;
            tp_pool_init(&pool, NULL);
            int rc = tp_session_open(&session, &params, map, &pool, &refusal);
            ck_assert_msg(rc == 0 || rc == TP_ERR_UNSUPPORTED, "%s: %s %s", algorithm->name, refusal.field,
                          refusal.reason);
            if (rc == 0) {
                uint64_t *cost_to = costs_to(&plain, params.goal), cost = 0, least = cost_to[params.start];
                enum tp_status status = walk(session, map, params.goal, 400, cost_to, &cost);
                if (whole) {
                    ck_assert_int_eq(status, least == UINT64_MAX ? TP_STATUS_UNREACHABLE : TP_STATUS_ARRIVED);
                    if (least != UINT64_MAX)
                        ck_assert_msg(cost == least, "%s: %llu, not %llu", algorithm->name,
                                      (unsigned long long)cost, (unsigned long long)least);
                }
                taken++;
                free(cost_to);
                tp_session_close(session);
            }
            ck_assert_uint_eq(pool.used_bytes, 0);
            tp_pool_fini(&pool);
            tp_map_unref(map);
            plain_fini(&plain);
        }
    }
    ck_assert_uint_gt(taken, 0);
}
END_TEST

/* The streets of Rome: sizes as printed in the file, and A* against a plain search from some places to others. */
START_TEST(test_rome)
{
    const char *maps = tp_test_maps_or_skip();
    if (!maps)
        return;
    size_t size;
    char *text = tp_test_read_file(tp_test_path(maps, "graph/rome99", ".gr"), &size);
    const struct tp_graph *graph;
    struct tp_graph_refusal refusal;
    int rc = tp_dimacs_parse(&graph, text, size, NULL, 0, &refusal);
    ck_assert_msg(rc == 0, "%u:%u: %s", refusal.place.line, refusal.place.column, refusal.reason);
    free(text);
    ck_assert_uint_eq(graph->nodes, 3353);
    ck_assert_uint_eq(graph->edges, 8870);
    struct plain plain = {.nodes = graph->nodes, .count = graph->edges};
    plain.edges = malloc(plain.count * sizeof *plain.edges);
    ck_assert_ptr_nonnull(plain.edges);
    for (uint32_t node = 0, e = 0; node < graph->nodes; node++)
        for (uint32_t i = graph->out_first[node]; i < graph->out_first[node + 1]; i++)
            plain.edges[e++] = (struct tp_graph_edge){node, tp_graph_out(graph, node)[i - graph->out_first[node]].to,
                                                      tp_graph_out(graph, node)[i - graph->out_first[node]].cost};
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build_graph(&map, graph, 1, 1), 0);
    tp_graph_unref(graph);
    struct tp_test_rng rng = tp_test_rng("rome");
    for (int i = 0; i < 5; i++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find(i % 2 ? "tbwa" : "astar");
        params.start = tp_test_below(&rng, plain.nodes);
        params.goal = tp_test_below(&rng, plain.nodes);
        params.budget = tp_budget_k(1000000);
        uint64_t *cost_to = costs_to(&plain, params.goal), cost = 0, least = cost_to[params.start];
        struct tp_pool pool;
        struct tp_session *session;
        struct tp_refusal refused_for;
        tp_pool_init(&pool, NULL);
        ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refused_for), 0);
        enum tp_status status = walk(session, map, params.goal, 5000, cost_to, &cost);
        ck_assert_int_eq(status, least == UINT64_MAX ? TP_STATUS_UNREACHABLE : TP_STATUS_ARRIVED);
        if (least != UINT64_MAX)
            ck_assert_uint_eq(cost, least);
        tp_session_close(session);
        tp_pool_fini(&pool);
        free(cost_to);
    }
    tp_map_unref(map);
    plain_fini(&plain);
}
END_TEST

static Suite *graph_suite(void)
{
    Suite *suite = suite_create("graph");
    TCase *value = tcase_create("value");
    tcase_add_test(value, test_build);
    tcase_add_test(value, test_h);
    tcase_add_test(value, test_h_extremes);
    tcase_add_test(value, test_refusals);
    tcase_add_test(value, test_degree);
    tcase_add_test(value, test_references);
    suite_add_tcase(suite, value);
    TCase *space = tcase_create("space");
    tcase_add_test(space, test_space);
    tcase_add_test(space, test_sessions);
    tcase_add_test(space, test_rome);
    suite_add_tcase(suite, space);
    return suite;
}

int main(void)
{
    return tp_test_main("test_graph", graph_suite);
}
