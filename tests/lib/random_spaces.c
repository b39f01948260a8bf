#include "tests/lib/random_spaces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const space_names[SPACE_KINDS] = {"grid", "graph", "vehicle"};

/* ---- Grids ---- */

static struct tp_map *random_grid(struct tp_test_rng *rng, uint32_t side_max)
{
    uint32_t width = tp_test_between(rng, 2, side_max), height = tp_test_between(rng, 2, side_max);
    if (tp_test_percent(rng, 10))
        width = 1;
    if (tp_test_percent(rng, 10))
        height = 1;
    static const uint32_t percents[] = {0, 5, 15, 25, 40, 60, 90};
    uint32_t percent = percents[tp_test_below(rng, 7)];
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    bool weighted = tp_test_percent(rng, 25);
    if (weighted) {
        static const uint32_t tops[] = {3, 100, 65535};
        uint32_t top = tops[tp_test_below(rng, 3)];
        for (const char *class = ".GS"; *class; class ++)
            profile.weight[(int)*class] = (uint16_t)tp_test_between(rng, 1, top);
    }
    uint8_t *cells = malloc((size_t)width * height);
    ck_assert_ptr_nonnull(cells);
    for (uint32_t i = 0; i < width * height; i++)
        cells[i] = tp_test_percent(rng, percent) ? '@' : (uint8_t) ".GS"[tp_test_below(rng, 3)];
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile, 1), 0);
    free(cells);
    return map;
}

/* ---- Graphs ---- */

/* Edges as they are made. */
struct maker {
    struct tp_test_rng *rng;
    const double *x, *y;
    uint32_t nodes, cost_top;
    bool by_distance; /* costs follow the coordinates */
    struct tp_graph_edge *edges;
    uint32_t *degree;
    size_t count, room;
};

static void add(struct maker *maker, uint32_t from, uint32_t to)
{
    if (maker->degree[from] == TP_GRAPH_DEGREE_MAX)
        return;
    if (maker->count == maker->room) {
        maker->room = 2 * maker->room + 64;
        maker->edges = realloc(maker->edges, maker->room * sizeof *maker->edges);
        ck_assert_ptr_nonnull(maker->edges);
    }
    uint32_t cost = tp_test_between(maker->rng, 1, maker->cost_top);
    if (maker->by_distance)
        cost = 1 + (uint32_t)ceil(hypot(maker->x[from] - maker->x[to], maker->y[from] - maker->y[to])) +
               tp_test_below(maker->rng, 3);
    maker->degree[from]++;
    maker->edges[maker->count++] = (struct tp_graph_edge){from, to, cost};
}

static uint32_t any(struct maker *maker)
{
    return tp_test_below(maker->rng, maker->nodes);
}

static void add_any(struct maker *maker, uint32_t count)
{
    while (count-- > 0) {
        uint32_t from = any(maker);
        add(maker, from, any(maker));
    }
}

static void add_ring(struct maker *maker)
{
    uint32_t *order = malloc(maker->nodes * sizeof *order);
    ck_assert_ptr_nonnull(order);
    for (uint32_t i = 0; i < maker->nodes; i++) {
        uint32_t j = tp_test_below(maker->rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (uint32_t i = 0; i < maker->nodes; i++)
        add(maker, order[i], order[(i + 1) % maker->nodes]);
    free(order);
    add_any(maker, tp_test_below(maker->rng, 2 * maker->nodes + 1));
}

static void add_both_ways(struct maker *maker)
{
    for (uint32_t left = tp_test_below(maker->rng, 3 * maker->nodes + 1); left > 0; left--) {
        uint32_t from = any(maker), to = any(maker);
        add(maker, from, to);
        if (from != to)
            add(maker, to, from);
    }
}

/* Rows of `side` nodes; some moves lead one way alone. */
static void add_lattice(struct maker *maker, uint32_t side)
{
    uint32_t ledges = tp_test_below(maker->rng, 60);
    for (uint32_t node = 0; node < maker->nodes; node++) {
        uint32_t others[2] = {node + 1, node + side};
        for (int i = 0; i < 2; i++) {
            if (others[i] >= maker->nodes || (i == 0 && others[i] % side == 0))
                continue;
            if (!tp_test_percent(maker->rng, ledges))
                add(maker, node, others[i]);
            if (!tp_test_percent(maker->rng, ledges))
                add(maker, others[i], node);
        }
    }
}

/* Every edge leads to a node of a larger number, but for a few. */
static void add_river(struct maker *maker)
{
    for (uint32_t left = tp_test_below(maker->rng, 4 * maker->nodes + 1); left > 0; left--) {
        uint32_t a = any(maker), b = any(maker);
        bool down = !tp_test_percent(maker->rng, 5);
        if (a != b)
            add(maker, (a < b) == down ? a : b, (a < b) == down ? b : a);
    }
}

static void random_graph(struct space *space, struct tp_test_rng *rng, struct space_size size)
{
    uint32_t nodes = tp_test_percent(rng, 10) ? tp_test_between(rng, 1, 4) : tp_test_between(rng, 2, size.nodes);
    uint32_t side = tp_test_between(rng, 1, 1 + (uint32_t)sqrt(nodes)), kind = tp_test_below(rng, 5);
    if (kind == 3 || tp_test_percent(rng, 50)) {
        space->x = malloc(nodes * sizeof(double));
        space->y = malloc(nodes * sizeof(double));
        ck_assert(space->x && space->y);
        for (uint32_t i = 0; i < nodes; i++) {
            space->x[i] = kind == 3 ? 4 * (i % side) : tp_test_below(rng, 1001) / 100.0 - 5;
            space->y[i] = kind == 3 ? 4 * (i / side) : tp_test_below(rng, 1001) / 100.0 - 5;
        }
    }
    static const uint32_t tops[] = {1, 10, 1000, UINT32_MAX};
    uint32_t top = tops[tp_test_below(rng, 4)];
    struct maker maker = {.rng = rng,
                          .x = space->x,
                          .y = space->y,
                          .nodes = nodes,
                          .cost_top = top < size.cost_max ? top : size.cost_max,
                          .by_distance = space->x && tp_test_percent(rng, 60),
                          .degree = calloc(nodes, sizeof *maker.degree)};
    ck_assert_ptr_nonnull(maker.degree);
    switch (kind) {
    case 0:
        add_ring(&maker);
        break;
    case 1:
        add_any(&maker, tp_test_below(rng, 4 * nodes + 1));
        break;
    case 2:
        add_both_ways(&maker);
        break;
    case 3:
        add_lattice(&maker, side);
        break;
    default:
        add_river(&maker);
    }
    if (tp_test_percent(rng, 50)) /* loops, and edges that stand there already */
        for (uint32_t left = tp_test_below(rng, 4 + nodes); left > 0; left--) {
            uint32_t node = any(&maker);
            add(&maker, node, node);
            if (maker.count > 1) {
                struct tp_graph_edge edge = maker.edges[tp_test_below(rng, (uint32_t)maker.count)];
                add(&maker, edge.from, edge.to);
            }
        }
    plain_graph_init(&space->graph, nodes, maker.edges, maker.count);
    space->map = tp_test_map_graph(nodes, maker.edges, maker.count, space->x, space->y);
    free(maker.edges);
    free(maker.degree);
}

/* The plain graph's edges in the order they were given; then what is closed is closed. */
static struct tp_map *build_again(const struct space *space, const struct tp_map *map)
{
    const struct plain_graph *plain = &space->graph;
    struct tp_graph_edge *edges = malloc((plain->count + 1) * sizeof *edges);
    struct tp_change *closings = malloc((plain->count + plain->nodes + 1) * sizeof *closings);
    size_t count = 0, bad;
    ck_assert(edges && closings);
    for (size_t e = 0; e < plain->count; e++) {
        edges[e] = plain->edges[plain->place[e]];
        edges[e].cost = plain->own[plain->place[e]];
        if (edges[e].cost)
            continue;
        edges[e].cost = 1;
        closings[count++] = (struct tp_change){.kind = TP_CHANGE_EDGE, .x = (uint32_t)e, .y = 0};
    }
    for (uint32_t node = 0; node < plain->nodes; node++)
        if (plain->closed[node])
            closings[count++] = (struct tp_change){.kind = TP_CHANGE_NODE, .x = node, .y = 0};
    const struct tp_graph *graph;
    struct tp_map *open, *closed;
    uint32_t x, y;
    ck_assert_int_eq(tp_graph_build(&graph, plain->nodes, edges, plain->count, space->x, space->y, &bad), 0);
    ck_assert_int_eq(tp_map_build_graph(&open, graph, map->epoch, map->version), 0);
    ck_assert_int_eq(tp_map_apply(&closed, open, closings, count, &bad, &x, &y), 0);
    tp_map_unref(open);
    tp_graph_unref(graph);
    free(edges);
    free(closings);
    return closed;
}

struct tp_map *space_graph_version(const struct space *space, const struct tp_map *map, bool built_again)
{
    if (built_again)
        return build_again(space, map);
    struct tp_map *next;
    size_t bad;
    uint32_t x, y;
    ck_assert_int_eq(tp_map_apply(&next, map, NULL, 0, &bad, &x, &y), 0);
    return next;
}

size_t space_graph_batch(struct tp_test_rng *rng, struct plain_graph *plain, uint32_t cost_max, struct tp_change *changes)
{
    size_t count = tp_test_below(rng, SPACE_BATCH_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        if (plain->count && !tp_test_percent(rng, 20)) {
            uint32_t cost = tp_test_percent(rng, 30) ? 0 : tp_test_between(rng, 1, cost_max);
            changes[i] = (struct tp_change){.kind = TP_CHANGE_EDGE, .x = tp_test_below(rng, (uint32_t)plain->count), .y = cost};
            plain_graph_set_edge(plain, changes[i].x, cost);
        } else {
            changes[i] = (struct tp_change){.kind = TP_CHANGE_NODE, .x = tp_test_below(rng, plain->nodes)};
            changes[i].y = tp_test_percent(rng, 60);
            plain_graph_set_node(plain, changes[i].x, changes[i].y);
        }
    }
    return count;
}

/* ---- Any ---- */

void space_random(struct space *space, struct tp_test_rng *rng, enum space_kind kind, struct space_size size)
{
    *space = (struct space){.kind = kind};
    if (kind == SPACE_GRAPH)
        random_graph(space, rng, size);
    else
        space->map = random_grid(rng, kind == SPACE_GRID ? size.grid_side : size.track_side);
}

void space_fini(struct space *space)
{
    tp_map_unref(space->map);
    if (space->kind == SPACE_GRAPH)
        plain_graph_fini(&space->graph);
    free(space->x);
    free(space->y);
}

uint32_t space_cell(struct tp_test_rng *rng, const struct tp_map *map, bool passable)
{
    uint32_t cells = map->width * map->height, cell = tp_test_below(rng, cells);
    for (uint32_t i = 0; !map->graph && passable && i < cells; i++) {
        if (tp_map_passable(map, cell % map->width, cell / map->width))
            break;
        cell = (cell + 1) % cells;
    }
    return cell;
}

uint32_t space_cell_near(struct tp_test_rng *rng, const struct tp_map *map, uint32_t cell)
{
    int64_t x = cell % map->width + (int64_t)tp_test_below(rng, 5) - 2;
    int64_t y = cell / map->width + (int64_t)tp_test_below(rng, 5) - 2;
    x = x < 0 ? 0 : x >= map->width ? map->width - 1 : x;
    y = y < 0 ? 0 : y >= map->height ? map->height - 1 : y;
    return (uint32_t)(y * map->width + x);
}
