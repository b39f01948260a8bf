/* put_graph: a graph on its way in, chunk by chunk; the world makes it when all of it is here. */
#include "daemon/serve/commands.h"

#include "daemon/serve/refusal.h"

#include <string.h>

/* The first chunk of a graph: opens the upload. False: an error was answered. */
static bool begin_upload(const struct tp_call *call, const Tickpath__PutGraph *put)
{
    struct tp_upload *upload = &call->peer->upload;
    struct tp_refusal refusal = {0};
    if (!tp__call_name(call, put->map))
        return false;
    int error = put->has_edges ? 0 : tp_refuse_value(&refusal, "edges", "the first chunk must say it");
    if (error == 0)
        error = tp_upload_begin_graph(upload, call->shard->upload_quota, put->map, put->has_nodes ? put->nodes : 0,
                                      put->edges, &refusal);
    if (error != 0) {
        tp_peer_reply_error(call->peer, call->id, error, refusal.field, refusal.reason,
                            error == TP_ERR_RESOURCE_EXHAUSTED ? 1000 : 0);
        return false;
    }
    upload->replace = put->has_replace && put->replace;
    return true;
}

/* A later chunk must speak of the same graph. False: an error was answered. */
static bool check_same_graph(const struct tp_call *call, const Tickpath__PutGraph *put)
{
    const struct tp_upload *upload = &call->peer->upload;
    const char *field = NULL;
    if (!upload->is_graph || (put->map != NULL && strcmp(put->map, upload->name) != 0))
        field = "map";
    else if (put->has_nodes && put->nodes != upload->graph.nodes)
        field = "nodes";
    else if (put->has_edges && put->edges != upload->graph.edge_count)
        field = "edges";
    if (field == NULL)
        return true;
    tp__call_refuse(call, TP_ERR_FAILED_PRECONDITION, field,
                    "another map is being uploaded on this connection; the upload was given up");
    return false;
}

/* Adds what a chunk brings. */
static int add_chunk(struct tp_upload *upload, const Tickpath__PutGraph *put, struct tp_refusal *refusal)
{
    if (put->n_edge_to != put->n_edge_from)
        return tp_refuse_value(refusal, "edge_to", "must be as many as edge_from");
    if (put->n_edge_cost != put->n_edge_from)
        return tp_refuse_value(refusal, "edge_cost", "must be as many as edge_from");
    if (put->n_node_y != put->n_node_x)
        return tp_refuse_value(refusal, "node_y", "must be as many as node_x");
    /* a chunk without edges, or without coordinates, need not say how many came before */
    uint32_t edge_offset = put->has_edge_offset ? put->edge_offset : 0;
    uint32_t node_offset = put->has_node_offset ? put->node_offset : 0;
    int error = 0;
    if (put->n_edge_from > 0 || put->has_edge_offset)
        error = tp_upload_add_edges(upload, edge_offset, put->edge_from, put->edge_to, put->edge_cost,
                                    put->n_edge_from, refusal);
    if (error == 0 && (put->n_node_x > 0 || put->has_node_offset))
        error = tp_upload_add_nodes(upload, node_offset, put->node_x, put->node_y, put->n_node_x, refusal);
    if (error == 0 && put->has_last && put->last)
        error = tp_upload_check_complete(upload, refusal);
    return error;
}

static void reply_chunk(const struct tp_call *call)
{
    const struct tp_upload *upload = &call->peer->upload;
    Tickpath__MapChunk chunk = TICKPATH__MAP_CHUNK__INIT;
    chunk.has_edges_received = chunk.has_nodes_received = 1;
    chunk.edges_received = upload->edges_received;
    chunk.nodes_received = upload->nodes_received;
    tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_MAP_CHUNK, &chunk);
}

void tp__command_put_graph(const struct tp_call *call)
{
    const Tickpath__PutGraph *put = call->request->put_graph;
    struct tp_upload *upload = &call->peer->upload;
    if (!upload->is_open) {
        if ((put->has_edge_offset && put->edge_offset != 0) || (put->has_node_offset && put->node_offset != 0)) {
            tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT,
                            put->has_edge_offset && put->edge_offset != 0 ? "edge_offset" : "node_offset",
                            "no upload is under way: the first chunk is at 0");
            return;
        }
        if (!begin_upload(call, put))
            return;
    } else if (!check_same_graph(call, put)) {
        tp_upload_drop(upload);
        return;
    }
    struct tp_refusal refusal = {0};
    int error = add_chunk(upload, put, &refusal);
    if (error != 0) { /* what follows can't fit any more: begin anew */
        tp_upload_drop(upload);
        tp_peer_reply_error(call->peer, call->id, error, refusal.field, refusal.reason,
                            error == TP_ERR_RESOURCE_EXHAUSTED ? 1000 : 0);
        return;
    }
    if (!put->has_last || !put->last) {
        reply_chunk(call);
        return;
    }
    struct tp_world_request *request = tp_world_request_new(TP_WORLD_PUT);
    if (request == NULL) {
        tp_upload_drop(upload);
    } else {
        request->replace = upload->replace;
        request->graph = tp_upload_take_graph(upload);
    }
    tp__call_submit(call, request, upload->name);
}
