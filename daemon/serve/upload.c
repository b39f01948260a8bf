#include "daemon/serve/upload.h"

#include "base/limits.h"
#include "daemon/serve/refusal.h"

#include <stdlib.h>
#include <string.h>

/* Takes bytes of the quota; false when it has no room for them. */
static bool take_quota(struct tp_upload *upload, uint64_t bytes)
{
    struct tp_upload_quota *quota = upload->quota;
    if (atomic_fetch_add(&quota->bytes, bytes) + bytes > quota->bytes_max) {
        atomic_fetch_sub(&quota->bytes, bytes);
        return false;
    }
    upload->quota_bytes += bytes;
    return true;
}

/* Closes the upload; what it holds is nobody's any more. */
static void close_upload(struct tp_upload *upload)
{
    atomic_fetch_sub(&upload->quota->bytes, upload->quota_bytes);
    upload->quota_bytes = 0;
    upload->cells = NULL;
    upload->graph = (struct tp_upload_graph){0};
    upload->is_open = false;
}

static void open_upload(struct tp_upload *upload, struct tp_upload_quota *quota, const char *name, bool is_graph)
{
    upload->quota = quota;
    upload->quota_bytes = 0;
    upload->is_open = true;
    upload->is_graph = is_graph;
    upload->replace = false;
    upload->received = upload->edges_received = upload->nodes_received = 0;
    tp_world_name_copy(upload->name, name);
}

static int refuse_quota(struct tp_refusal *refusal, const char *field)
{
    return tp_refuse(refusal, TP_ERR_RESOURCE_EXHAUSTED, field, "too many map bytes are being uploaded at a time");
}

/* ---- Grids ---- */

int tp_upload_begin(struct tp_upload *upload, struct tp_upload_quota *quota, const char *name, uint32_t width,
                    uint32_t height, struct tp_refusal *refusal)
{
    if (width == 0)
        return tp_refuse_value(refusal, "width", "the first chunk must say it, and not 0");
    if (height == 0)
        return tp_refuse_value(refusal, "height", "the first chunk must say it, and not 0");
    uint64_t cells = (uint64_t)width * height;
    if (cells > (uint64_t)TP_MAP_CELLS_MAX)
        return tp_refuse_value(refusal, "width", "more cells than map_cells_max");
    open_upload(upload, quota, name, false);
    if (!take_quota(upload, cells)) {
        close_upload(upload);
        return refuse_quota(refusal, "width");
    }
    upload->cells = malloc(cells);
    if (upload->cells == NULL) {
        close_upload(upload);
        return tp_refuse(refusal, TP_ERR_NO_MEMORY, "width", "out of memory");
    }
    upload->width = width;
    upload->height = height;
    return 0;
}

int tp_upload_add(struct tp_upload *upload, uint64_t offset, const void *cells, size_t count,
                  struct tp_refusal *refusal)
{
    if (offset != upload->received)
        return tp_refuse_value(refusal, "offset", "must be the number of cells received so far");
    if (count > (uint64_t)upload->width * upload->height - upload->received)
        return tp_refuse(refusal, TP_ERR_OUT_OF_RANGE, "cells", "more cells than width * height");
    if (count > 0)
        memcpy(upload->cells + upload->received, cells, count);
    upload->received += count;
    return 0;
}

uint8_t *tp_upload_take_cells(struct tp_upload *upload)
{
    uint8_t *cells = upload->cells;
    close_upload(upload);
    return cells;
}

/* ---- Graphs ---- */

int tp_upload_begin_graph(struct tp_upload *upload, struct tp_upload_quota *quota, const char *name, uint32_t nodes,
                          uint32_t edges, struct tp_refusal *refusal)
{
    if (nodes == 0)
        return tp_refuse_value(refusal, "nodes", "the first chunk must say it, and not 0");
    if (nodes > TP_GRAPH_NODES_MAX)
        return tp_refuse_value(refusal, "nodes", "more than graph_nodes_max");
    if (edges > TP_GRAPH_EDGES_MAX)
        return tp_refuse_value(refusal, "edges", "more than graph_edges_max");
    if (nodes > 2 * (uint64_t)edges + TP_UPLOAD_LONE_NODES_MAX)
        return tp_refuse_value(refusal, "nodes", "many more than these edges can join");
    open_upload(upload, quota, name, true);
    /* the nodes count as well: the graph that is made of this has an entry for each of them */
    if (!take_quota(upload, (uint64_t)edges * sizeof(struct tp_graph_edge) + (uint64_t)nodes * sizeof(uint32_t))) {
        close_upload(upload);
        return refuse_quota(refusal, "edges");
    }
    upload->graph.edges = malloc(((size_t)edges + 1) * sizeof(struct tp_graph_edge));
    if (upload->graph.edges == NULL) {
        close_upload(upload);
        return tp_refuse(refusal, TP_ERR_NO_MEMORY, "edges", "out of memory");
    }
    upload->graph.nodes = nodes;
    upload->graph.edge_count = edges;
    return 0;
}

int tp_upload_add_edges(struct tp_upload *upload, uint32_t offset, const uint32_t *from, const uint32_t *to,
                        const uint32_t *cost, size_t count, struct tp_refusal *refusal)
{
    if (offset != upload->edges_received)
        return tp_refuse_value(refusal, "edge_offset", "must be the number of edges received so far");
    if (count > upload->graph.edge_count - upload->edges_received)
        return tp_refuse(refusal, TP_ERR_OUT_OF_RANGE, "edge_from", "more edges than the first chunk said");
    for (size_t i = 0; i < count; i++)
        upload->graph.edges[upload->edges_received++] = (struct tp_graph_edge){from[i], to[i], cost[i]};
    return 0;
}

/* Room for all coordinates, when the first of them come. */
static int take_coordinates(struct tp_upload *upload, struct tp_refusal *refusal)
{
    size_t nodes = upload->graph.nodes;
    if (!take_quota(upload, 2 * nodes * sizeof(double)))
        return refuse_quota(refusal, "node_x");
    upload->graph.x = malloc(nodes * sizeof(double));
    upload->graph.y = malloc(nodes * sizeof(double));
    if (upload->graph.x == NULL || upload->graph.y == NULL)
        return tp_refuse(refusal, TP_ERR_NO_MEMORY, "node_x", "out of memory");
    return 0;
}

int tp_upload_add_nodes(struct tp_upload *upload, uint32_t offset, const double *x, const double *y, size_t count,
                        struct tp_refusal *refusal)
{
    if (offset != upload->nodes_received)
        return tp_refuse_value(refusal, "node_offset", "must be the number of nodes whose coordinates were received");
    if (count > upload->graph.nodes - upload->nodes_received)
        return tp_refuse(refusal, TP_ERR_OUT_OF_RANGE, "node_x", "more coordinates than nodes");
    if (count == 0)
        return 0;
    int error = upload->graph.x == NULL ? take_coordinates(upload, refusal) : 0;
    if (error != 0)
        return error;
    memcpy(upload->graph.x + offset, x, count * sizeof *x);
    memcpy(upload->graph.y + offset, y, count * sizeof *y);
    upload->nodes_received += (uint32_t)count;
    return 0;
}

struct tp_upload_graph tp_upload_take_graph(struct tp_upload *upload)
{
    struct tp_upload_graph graph = upload->graph;
    close_upload(upload);
    return graph;
}

void tp_upload_graph_fini(struct tp_upload_graph *graph)
{
    free(graph->edges);
    free(graph->x);
    free(graph->y);
    *graph = (struct tp_upload_graph){0};
}

/* ---- Either ---- */

int tp_upload_check_complete(const struct tp_upload *upload, struct tp_refusal *refusal)
{
    if (!upload->is_graph && upload->received != (uint64_t)upload->width * upload->height)
        return tp_refuse_value(refusal, "last", "cells are missing");
    if (upload->is_graph && upload->edges_received != upload->graph.edge_count)
        return tp_refuse_value(refusal, "last", "edges are missing");
    if (upload->is_graph && upload->nodes_received != 0 && upload->nodes_received != upload->graph.nodes)
        return tp_refuse_value(refusal, "last", "coordinates are missing: they come for all nodes or for none");
    return 0;
}

void tp_upload_drop(struct tp_upload *upload)
{
    if (!upload->is_open)
        return;
    free(upload->cells);
    tp_upload_graph_fini(&upload->graph);
    close_upload(upload);
}
