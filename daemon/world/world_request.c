/* put, open, change and drop: what can be refused before the store is asked, and the words for what the store refuses. */
#include "base/limits.h"
#include "daemon/world/world_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Makes the map that a put asks for; *bad is the edge (or node) at fault of a graph. */
static int build(struct tp_map **out, const struct tp_world_request *request, uint64_t epoch, size_t *bad)
{
    if (request->graph.nodes == 0)
        return tp_map_build(out, request->width, request->height, request->cells, &request->profile, epoch);
    const struct tp_graph *graph;
    int error = tp_graph_build(&graph, request->graph.nodes, request->graph.edges, request->graph.edge_count,
                               request->graph.x, request->graph.y, bad);
    if (error != 0)
        return error;
    error = tp_map_build_graph(out, graph, epoch, 1);
    tp_graph_unref(graph);
    return error;
}

/* tp_graph_build looks at the coordinates before the edges: where one is wrong, it is the one. */
static bool coordinate_allowed(double value)
{
    return fabs(value) <= 1e15;
}

/* Says which edge or which node's coordinate is no part of a graph, and why. */
static void refuse_graph(struct tp_world *world, struct tp_world_request *request, int error, size_t bad)
{
    const struct tp_upload_graph *graph = &request->graph;
    if (graph->x != NULL && bad < graph->nodes &&
        (!coordinate_allowed(graph->x[bad]) || !coordinate_allowed(graph->y[bad]))) {
        request->refusal.has_bad_node = true;
        request->refusal.node_index = (uint32_t)bad;
        tp__world_refuse(world, request, error, coordinate_allowed(graph->x[bad]) ? "node_y" : "node_x",
                         "node %zu: the coordinate is no number, or beyond 1e15", bad);
        return;
    }
    const struct tp_graph_edge *edge = &graph->edges[bad];
    bool is_from = edge->from >= graph->nodes;
    request->refusal.has_bad_edge = true;
    request->refusal.edge_index = (uint32_t)bad;
    if (error == TP_ERR_OUT_OF_RANGE)
        tp__world_refuse(world, request, error, is_from ? "edge_from" : "edge_to",
                         "edge %zu: node %u is none of the %u nodes", bad, is_from ? edge->from : edge->to,
                         graph->nodes);
    else if (error == TP_ERR_RESOURCE_EXHAUSTED)
        tp__world_refuse(world, request, error, "edge_from",
                         "edge %zu: more than %d edges out of node %u, or more than %d into node %u", bad,
                         TP_GRAPH_DEGREE_MAX, edge->from, TP_GRAPH_IN_DEGREE_MAX, edge->to);
    else
        tp__world_refuse(world, request, error, "edge_cost", "edge %zu: a cost is at least 1", bad);
}

static void put(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry)
{
    if (entry != NULL && !request->replace) {
        tp__world_refuse(world, request, TP_ERR_ALREADY_EXISTS, "map",
                         "a map of that name exists; replace makes it anew");
        return;
    }
    bool is_new = entry == NULL;
    int error = 0;
    if (is_new) {
        entry = tp__world_add(world, request->name, &error);
        if (entry == NULL) {
            tp__world_refuse(world, request, error, "map", "%s",
                             error == TP_ERR_NO_MEMORY ? "out of memory"
                                                       : "as many maps are in memory as maps-max allows");
            return;
        }
    }
    int64_t sessions = 0;
    if (!atomic_compare_exchange_strong(&entry->shared.sessions, &sessions, TP_WORLD_MAP_REPLACING)) {
        if (sessions < 0) {
            request->refusal.retry_after_ms = 100;
            tp__world_refuse(world, request, TP_ERR_UNAVAILABLE, "map",
                             "another put of this map is under way");
        } else {
            tp__world_refuse(world, request, TP_ERR_FAILED_PRECONDITION, "replace",
                             "the map has sessions: %" PRId64, sessions);
        }
        return;
    }
    uint64_t epoch = world->config.unix_now_us(world->config.context);
    uint64_t last = entry->epoch_last > world->epoch_dropped ? entry->epoch_last : world->epoch_dropped;
    if (epoch <= last) /* a clock that was set back */
        epoch = last + 1;
    entry->epoch_last = epoch;
    struct tp_map *map = NULL;
    size_t bad = 0;
    error = build(&map, request, epoch, &bad);
    struct tp__world_op *op = error == 0 ? tp__world_op_new(world, entry, request) : NULL;
    if (op == NULL) {
        tp_map_unref(map);
        atomic_store(&entry->shared.sessions, 0);
        tp__world_drop_unseen(world, entry);
        if (error != 0 && error != TP_ERR_NO_MEMORY && request->graph.nodes != 0)
            refuse_graph(world, request, error, bad);
        else if (error == TP_ERR_INVALID_ARGUMENT)
            tp__world_refuse(world, request, error, "width", "a side is 0 or the map has more than %u cells",
                             TP_MAP_CELLS_MAX);
        else
            tp__world_refuse(world, request, TP_ERR_NO_MEMORY, NULL, "out of memory");
        return;
    }
    free(request->cells);
    request->cells = NULL;
    tp_upload_graph_fini(&request->graph);
    if (world->config.held != NULL)
        tp_map_count_in(map, world->config.held);
    tp__world_put(op, map);
    tp_map_unref(map);
}

/* Refuses what asks for another epoch than the map is in; false: it may go on. */
static bool refuse_epoch(struct tp_world *world, struct tp_world_request *request, const struct tp_map *map, int error)
{
    if (!request->has_epoch || request->epoch == map->epoch)
        return false;
    tp_world_refusal_place(&request->refusal, map);
    tp__world_refuse(world, request, error, "epoch", "the map is in epoch %" PRIu64 ", at version %" PRIu64,
                     map->epoch, map->version);
    return true;
}

static void open_map(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry)
{
    if (entry->published == NULL) {
        request->refusal.retry_after_ms = 10;
        tp__world_refuse(world, request, TP_ERR_MAP_NOT_READY, "map",
                         "the map was uploaded, and is on its way to the store");
        return;
    }
    if (refuse_epoch(world, request, entry->published, TP_ERR_VERSION_MISMATCH))
        return;
    if (entry->published->version < request->min_version) {
        request->refusal.retry_after_ms = 10;
        tp_world_refusal_place(&request->refusal, entry->published);
        tp__world_refuse(world, request, TP_ERR_MAP_NOT_READY, "min_version",
                         "the map is at version %" PRIu64 " of epoch %" PRIu64, entry->published->version,
                         entry->published->epoch);
        return;
    }
    tp__world_grant(world, request, entry, entry->published);
}

/* The field that a change at fault came in. */
static const char *field_of(const struct tp_world_request *request, size_t bad, int error)
{
    static const char *const fields[] = {"cell", "rectangle", "bitmap", "edge", "node"};
    if (bad < request->batch.count - request->batch.unplaced_count)
        return fields[request->batch.changes[bad].kind];
    return error == TP_ERR_RESOURCE_EXHAUSTED ? "run_cell" : "run_length";
}

/* Likewise of a change of an edge or a node. */
static void refuse_graph_change(struct tp_world *world, struct tp_world_request *request, int error, size_t bad,
                                const char *field, const struct tp_graph *graph)
{
    const struct tp_change *change = &request->batch.changes[bad];
    if (error == TP_ERR_OUT_OF_RANGE)
        tp__world_refuse(world, request, error, field, "change %zu: there is no %s %u of %u; nothing was applied", bad, field,
                         change->x, change->kind == TP_CHANGE_EDGE ? graph->edges : graph->nodes);
    else if (error == TP_ERR_RESOURCE_EXHAUSTED)
        tp__world_refuse(world, request, error, field,
                         "change %zu: the changes up to this one touch more than %u edges; nothing was applied", bad,
                         TP_BATCH_CELLS_MAX);
    else
        tp__world_refuse(world, request, error, "node_open", "change %zu: 0 closes and 1 opens; nothing was applied", bad);
}

/* Says which change was refused and why. */
static void refuse_batch(struct tp_world *world, struct tp_world_request *request, int error, size_t bad,
                         uint32_t x, uint32_t y, const struct tp_map *base)
{
    if (error == TP_ERR_NO_MEMORY) {
        tp__world_refuse(world, request, error, NULL, "out of memory");
        return;
    }
    if (request->batch.count > TP_BATCH_CHANGES_MAX) {
        tp__world_refuse(world, request, error, "cell", "more changes than batch_changes_max");
        return;
    }
    const struct tp_change *change = &request->batch.changes[bad];
    const char *field = field_of(request, bad, error);
    request->refusal.has_bad_change = true;
    request->refusal.change_index = (uint32_t)bad;
    bool of_graph = change->kind == TP_CHANGE_EDGE || change->kind == TP_CHANGE_NODE;
    request->refusal.of_graph = of_graph;
    if (error == TP_ERR_UNSUPPORTED) {
        tp__world_refuse(world, request, error, field, "change %zu: the map is a %s; nothing was applied", bad,
                         base->graph != NULL ? "graph, and has edges and nodes only"
                                             : "grid, and has no edges and no nodes");
        return;
    }
    if (of_graph) {
        refuse_graph_change(world, request, error, bad, field, base->graph);
        return;
    }
    request->refusal.bad_x = x;
    request->refusal.bad_y = y;
    if (error == TP_ERR_OUT_OF_RANGE)
        tp__world_refuse(world, request, error, field,
                         "change %zu: cell (%u, %u) lies outside the map of %u x %u; nothing was applied",
                         bad, x, y, base->width, base->height);
    else if (error == TP_ERR_RESOURCE_EXHAUSTED)
        tp__world_refuse(
            world, request, error, field,
            "change %zu: the changes up to this one name more than %u cells; nothing was applied", bad,
            TP_BATCH_CELLS_MAX);
    else
        tp__world_refuse(
            world, request, error, field, "change %zu: %s; nothing was applied", bad,
            change->width == 0 || change->height == 0 ? "a side is 0" : "the bits are too few for its size");
}

void tp__world_refuse_event(struct tp_world *world, struct tp_world_request *request, const struct tp_store_event *event,
                            const struct tp_map *at)
{
    const struct tp_tip_refused *refused = &event->refused;
    if (at != NULL && refused->why != TP_TIP_CHANGE)
        tp_world_refusal_place(&request->refusal, at);
    switch (event->error) {
    case TP_ERR_UNAVAILABLE:
        request->refusal.retry_after_ms = 1000;
        if (event->is_unknown)
            tp__world_refuse(world, request, event->error, NULL, "%s; whether it was done, or will be, is not known",
                             event->reason != NULL ? event->reason : "the store was lost on the way");
        else
            tp__world_refuse(world, request, event->error, NULL, "the store cannot take it now; nothing was %s",
                             request->op == TP_WORLD_DROP ? "dropped" : "applied");
        return;
    case TP_ERR_NO_MEMORY:
        request->refusal.retry_after_ms = 1000;
        tp__world_refuse(world, request, event->error, NULL, "out of memory");
        return;
    case TP_ERR_NOT_FOUND:
        tp__world_refuse(world, request, event->error, "map", "there is no map of that name");
        return;
    case TP_ERR_ALREADY_EXISTS:
        tp__world_refuse(world, request, event->error, "map", "a map of that name exists; replace makes it anew");
        return;
    case TP_ERR_FAILED_PRECONDITION:
        tp__world_refuse(world, request, event->error, "epoch", "the map is in another epoch");
        return;
    default:
        break;
    }
    if (refused->why == TP_TIP_CHANGE && at != NULL)
        refuse_batch(world, request, event->error, refused->bad, refused->bad_x, refused->bad_y, at);
    else if (at != NULL)
        tp__world_refuse(world, request, event->error, refused->why == TP_TIP_BASE ? "base_version" : "epoch",
                         "the map is at version %" PRIu64 " of epoch %" PRIu64, at->version, at->epoch);
    else
        tp__world_refuse(world, request, event->error, NULL, "%s", event->reason != NULL ? event->reason : "refused");
}

static void change(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry)
{
    if (entry->published == NULL && entry->puts == 0) {
        tp__world_refuse(world, request, TP_ERR_MAP_NOT_READY, "map", "the map is not ready");
        return;
    }
    struct tp__world_op *op = tp__world_op_new(world, entry, request);
    if (op == NULL) {
        tp__world_refuse(world, request, TP_ERR_NO_MEMORY, NULL, "out of memory");
        return;
    }
    request->batch.has_epoch = request->has_epoch;
    request->batch.epoch = request->epoch;
    tp__world_submit(op);
}

static void drop(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry)
{
    if (entry->published != NULL && refuse_epoch(world, request, entry->published, TP_ERR_FAILED_PRECONDITION))
        return;
    if (request->has_epoch && entry->published == NULL) {
        tp__world_refuse(world, request, TP_ERR_FAILED_PRECONDITION, "epoch", "the map is in another epoch");
        return;
    }
    int64_t sessions = 0;
    if (!atomic_compare_exchange_strong(&entry->shared.sessions, &sessions, TP_WORLD_MAP_REPLACING)) {
        if (sessions < 0) {
            request->refusal.retry_after_ms = 100;
            tp__world_refuse(world, request, TP_ERR_UNAVAILABLE, "map", "a put of this map is under way");
        } else {
            tp__world_refuse(world, request, TP_ERR_FAILED_PRECONDITION, "map",
                             "the map has sessions: %" PRId64, sessions);
        }
        return;
    }
    struct tp__world_op *op = tp__world_op_new(world, entry, request);
    if (op == NULL) {
        atomic_store(&entry->shared.sessions, 0);
        tp__world_refuse(world, request, TP_ERR_NO_MEMORY, NULL, "out of memory");
        return;
    }
    tp__world_drop(op);
}

void tp__world_handle_request(struct tp_world *world, struct tp_world_request *request)
{
    struct tp__world_entry *entry = tp__world_find(world, request->name);
    if (entry != NULL && tp__world_is_closed(entry)) {
        tp__world_park(entry, request);
        return;
    }
    if (entry == NULL && tp__world_look_up(world, request))
        return;
    if (request->op == TP_WORLD_PUT) {
        put(world, request, entry);
    } else if (entry == NULL) {
        tp__world_refuse(world, request, TP_ERR_NOT_FOUND, "map", "there is no map of that name");
    } else if (request->op == TP_WORLD_DROP) {
        drop(world, request, entry);
    } else if (entry->load_error != 0 && entry->published == NULL && entry->puts == 0) {
        tp__world_refuse(world, request, entry->load_error, "map", "%s", entry->load_reason);
    } else if (request->op == TP_WORLD_OPEN) {
        open_map(world, request, entry);
    } else if (request->op == TP_WORLD_PROFILE) {
        tp__world_put_profile(world, request, entry);
    } else if (request->op == TP_WORLD_LAYER) {
        tp__world_take_layer(world, request, entry);
    } else {
        change(world, request, entry);
    }
}
