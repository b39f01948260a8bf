#include "tests/lib/plain_spaces.h"

#include "tests/lib/harness.h"

#include <stdlib.h>
#include <string.h>

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* ---- Graphs ---- */

void plain_graph_init(struct plain_graph *graph, uint32_t nodes, const struct tp_graph_edge *edges, size_t count)
{
    *graph = (struct plain_graph){.nodes = nodes,
                                  .count = count,
                                  .edges = allocate(count, sizeof *graph->edges),
                                  .first = allocate((size_t)nodes + 1, sizeof *graph->first),
                                  .place = allocate(count, sizeof *graph->place),
                                  .own = allocate(count, sizeof *graph->own),
                                  .closed = allocate(nodes, 1)};
    for (size_t i = 0; i < count; i++)
        graph->first[edges[i].from + 1]++;
    for (uint32_t node = 0; node < nodes; node++)
        graph->first[node + 1] += graph->first[node];
    uint32_t *next = allocate(nodes, sizeof *next);
    memcpy(next, graph->first, nodes * sizeof *next);
    for (size_t i = 0; i < count; i++) {
        graph->place[i] = next[edges[i].from]++;
        graph->edges[graph->place[i]] = edges[i];
        graph->own[graph->place[i]] = edges[i].cost;
    }
    free(next);
}

void plain_graph_fini(struct plain_graph *graph)
{
    free(graph->edges);
    free(graph->first);
    free(graph->place);
    free(graph->own);
    free(graph->closed);
}

static void refresh(struct plain_graph *graph, size_t i)
{
    struct tp_graph_edge *edge = &graph->edges[i];
    edge->cost = graph->closed[edge->from] || graph->closed[edge->to] ? 0 : graph->own[i];
}

void plain_graph_set_edge(struct plain_graph *graph, uint32_t edge, uint32_t cost)
{
    graph->own[graph->place[edge]] = cost;
    refresh(graph, graph->place[edge]);
}

void plain_graph_set_node(struct plain_graph *graph, uint32_t node, bool open)
{
    graph->closed[node] = !open;
    for (size_t i = 0; i < graph->count; i++)
        refresh(graph, i);
}

bool plain_graph_joins(const struct plain_graph *graph, uint32_t from, uint32_t to)
{
    for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++)
        if (graph->edges[i].to == to)
            return true;
    return false;
}

uint64_t plain_graph_step_cost(const struct plain_graph *graph, uint32_t from, uint32_t to)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++)
        if (graph->edges[i].to == to && graph->edges[i].cost && graph->edges[i].cost < least)
            least = graph->edges[i].cost;
    return least;
}

/* Whether an open edge leads there. */
static bool leads(const struct plain_graph *graph, uint32_t from, uint32_t to)
{
    for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++)
        if (graph->edges[i].to == to && graph->edges[i].cost)
            return true;
    return false;
}

bool plain_graph_leaves(const struct plain_graph *graph, uint32_t from)
{
    for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++)
        if (graph->edges[i].to != from && graph->edges[i].cost)
            return true;
    return false;
}

bool plain_graph_reversible(const struct plain_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        if (graph->edges[i].cost && !leads(graph, graph->edges[i].to, graph->edges[i].from))
            return false;
    return true;
}

/* The least costs from one node to all. A node waits in the queue once at most. */
static uint64_t *costs_from(const struct plain_graph *graph, uint32_t from)
{
    uint64_t *cost = allocate(graph->nodes, sizeof *cost);
    uint32_t *queue = allocate(graph->nodes, sizeof *queue), head = 0, waiting = 1;
    bool *waits = allocate(graph->nodes, sizeof *waits);
    memset(cost, 0xff, graph->nodes * sizeof *cost);
    cost[from] = 0;
    for (queue[0] = from; waiting > 0; waiting--) {
        uint32_t node = queue[head];
        head = (head + 1) % graph->nodes;
        waits[node] = false;
        for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
            struct tp_graph_edge edge = graph->edges[i];
            if (!edge.cost || cost[node] + edge.cost >= cost[edge.to])
                continue;
            cost[edge.to] = cost[node] + edge.cost;
            if (waits[edge.to])
                continue;
            waits[edge.to] = true;
            queue[(head + waiting - 1) % graph->nodes] = edge.to;
            waiting++;
        }
    }
    free(waits);
    free(queue);
    return cost;
}

uint64_t plain_graph_cost(const struct plain_graph *graph, uint32_t from, uint32_t to)
{
    uint64_t *cost = costs_from(graph, from), found = cost[to];
    free(cost);
    return found;
}

bool plain_graph_safe(const struct plain_graph *graph, uint32_t from, uint32_t goal)
{
    struct tp_graph_edge *turned = allocate(graph->count, sizeof *turned);
    for (size_t i = 0; i < graph->count; i++)
        turned[i] = (struct tp_graph_edge){graph->edges[i].to, graph->edges[i].from, graph->edges[i].cost};
    struct plain_graph back;
    plain_graph_init(&back, graph->nodes, turned, graph->count);
    free(turned);
    uint64_t *there = costs_from(graph, from), *home = costs_from(&back, goal);
    bool safe = true;
    for (uint32_t node = 0; node < graph->nodes; node++)
        safe &= there[node] == UINT64_MAX || home[node] != UINT64_MAX;
    free(there);
    free(home);
    plain_graph_fini(&back);
    return safe;
}

/* ---- Vehicles ---- */

static bool ends(const struct plain_track *track, uint32_t cell)
{
    return track->ends ? track->ends[cell] != 0 : cell == track->goal;
}

/* Where a vehicle comes that drives with a velocity. The straight line to the cell's middle that is (vx, vy) away leaves a
 * column at the times (2a + 1) / (2 |vx|), a row at (2b + 1) / (2 |vy|): the earlier is crossed first, and both at once in a
 * corner. */
static struct plain_vehicle drive(const struct plain_track *track, uint32_t cell, int vx, int vy)
{
    int64_t x = cell % track->width, y = cell / track->width;
    int left_x = abs(vx), left_y = abs(vy), a = 0, b = 0;
    while (a < left_x || b < left_y) {
        int time_x = a < left_x ? (2 * a + 1) * (left_y ? left_y : 1) : 1000;
        int time_y = b < left_y ? (2 * b + 1) * (left_x ? left_x : 1) : 1000;
        int64_t next_x = x, next_y = y;
        if (time_x <= time_y) {
            next_x += vx > 0 ? 1 : -1;
            a++;
        }
        if (time_y <= time_x) {
            next_y += vy > 0 ? 1 : -1;
            b++;
        }
        bool outside = next_x < 0 || next_y < 0 || next_x >= track->width || next_y >= track->height;
        if (outside || !track->weight[next_y * track->width + next_x])
            return (struct plain_vehicle){(uint32_t)(y * track->width + x), 0, 0};
        x = next_x;
        y = next_y;
        if (ends(track, (uint32_t)(y * track->width + x)))
            return (struct plain_vehicle){(uint32_t)(y * track->width + x), 0, 0};
    }
    return (struct plain_vehicle){(uint32_t)(y * track->width + x), vx, vy};
}

int plain_vehicle_moves(const struct plain_track *track, struct plain_vehicle from, struct plain_vehicle out[9])
{
    int count = 0;
    for (int vy = from.vy - 1; vy <= from.vy + 1; vy++)
        for (int vx = from.vx - 1; vx <= from.vx + 1; vx++) {
            if (abs(vx) > 3 || abs(vy) > 3)
                continue;
            struct plain_vehicle to = drive(track, from.cell, vx, vy);
            if (to.cell != from.cell || to.vx != from.vx || to.vy != from.vy)
                out[count++] = to;
        }
    return count;
}

static size_t number_of(struct plain_vehicle vehicle)
{
    return ((size_t)vehicle.cell * 7 + (size_t)(vehicle.vy + 3)) * 7 + (size_t)(vehicle.vx + 3);
}

uint64_t plain_vehicle_distance(const struct plain_track *track, struct plain_vehicle from)
{
    if (ends(track, from.cell))
        return 0;
    size_t states = (size_t)track->width * track->height * 49, head = 0, tail = 1;
    struct plain_vehicle *queue = allocate(states, sizeof *queue);
    uint32_t *depth = allocate(states, sizeof *depth); /* from 1 */
    uint64_t found = UINT64_MAX;
    queue[0] = from;
    depth[number_of(from)] = 1;
    while (head < tail && found == UINT64_MAX) {
        struct plain_vehicle at = queue[head++], out[9];
        int count = plain_vehicle_moves(track, at, out);
        for (int i = 0; i < count; i++) {
            uint32_t *reached = &depth[number_of(out[i])];
            if (*reached)
                continue;
            *reached = depth[number_of(at)] + 1;
            queue[tail++] = out[i];
            if (ends(track, out[i].cell))
                found = *reached - 1;
        }
    }
    free(depth);
    free(queue);
    return found;
}
