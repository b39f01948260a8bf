/* The blocking calls: each sends like its pipelined twin and collects at once, under one deadline. A ticket
 * whose reply does not come in time is dropped. */
#include "client/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAP_CHUNK_BYTES = 1024 * 1024,
    MAP_CHUNKS_AHEAD = 4,
    EDGE_BYTES_MAX = 15, /* three numbers of 32 bits */
    UPLOAD_CUTS_MAX = 8, /* an upload that so many daemons did not live through may be what ends them */
};

/* A call under way. */
struct call {
    int timeout_ms;
    int64_t deadline_ms;
    int64_t recovered_ms; /* the connection's when the call began */
    uint64_t ticket;
    struct tp_client_reply reply;
};

static struct call begin(const struct tp_client *client, int timeout_ms)
{
    return (struct call){
        .timeout_ms = timeout_ms, .deadline_ms = tp__deadline(timeout_ms), .recovered_ms = client->recovered_ms};
}

/* The milliseconds of the call's time that are left; the timeout itself when it is endless. */
static int left_of(int timeout_ms, int64_t deadline_ms)
{
    if (timeout_ms < 0)
        return timeout_ms;
    int64_t left = deadline_ms - tp__deadline(0);
    return left > 0 ? (int)left : 0;
}

/* The second half of a call; `sent` is what the first half, sending under call->ticket, gave. */
static int finish(struct tp_client *client, struct call *call, int sent)
{
    if (sent != 0)
        return sent;
    int64_t deadline_ms = call->deadline_ms;
    if (call->timeout_ms >= 0)
        deadline_ms += client->recovered_ms - call->recovered_ms;
    int result = tp_client_collect(client, call->ticket, &call->reply, left_of(call->timeout_ms, deadline_ms));
    if (result == TP_CLIENT_TIMEOUT && !client->error.from_server)
        tp_client_drop(client, call->ticket);
    return result;
}

int tp_client_ping(struct tp_client *client, const void *payload, size_t size, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int result = finish(client, &call, tp_client_send_ping(client, payload, size, &call.ticket, timeout_ms));
    if (result != 0)
        return result;
    const ProtobufCBinaryData *back = &client->held->pong->payload;
    if (back->len != size || (size > 0 && memcmp(back->data, payload, size) != 0))
        return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME,
                              "the server answered a ping with other bytes");
    return 0;
}

int tp_client_open_map(struct tp_client *client, const char *name, uint64_t min_version,
                       struct tp_client_map *out, int timeout_ms)
{
    return tp_client_open_map_of(client, name, 0, min_version, out, timeout_ms);
}

int tp_client_open_map_of(struct tp_client *client, const char *name, uint64_t epoch, uint64_t min_version,
                          struct tp_client_map *out, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int sent = tp_client_send_open_map_of(client, name, epoch, min_version, &call.ticket, timeout_ms);
    int result = finish(client, &call, sent);
    if (result == 0 && out != NULL)
        *out = call.reply.map;
    return result;
}

int tp_client_drop_map(struct tp_client *client, const char *name, uint64_t epoch, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    return finish(client, &call, tp_client_send_drop_map(client, name, epoch, &call.ticket, timeout_ms));
}

int tp_client_put_profile(struct tp_client *client, const char *map, const char *name,
                          const struct tp_client_weight *weights, size_t weight_count, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int sent = tp_client_send_put_profile(client, map, name, weights, weight_count, &call.ticket, timeout_ms);
    return finish(client, &call, sent);
}

int tp_client_change(struct tp_client *client, const struct tp_client_changes *changes,
                     struct tp_client_changed *out, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int result = finish(client, &call, tp_client_send_change(client, changes, &call.ticket, timeout_ms));
    if (result == 0 && out != NULL)
        *out = call.reply.changed;
    return result;
}

int tp_client_subscribe(struct tp_client *client, const char *map, bool want_cells, struct tp_client_subscribed *out,
                        int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int sent = tp_client_send_subscribe(client, map, want_cells, &call.ticket, timeout_ms);
    int result = finish(client, &call, sent);
    if (result == 0 && out != NULL)
        *out = call.reply.subscribed;
    return result;
}

int tp_client_unsubscribe(struct tp_client *client, const char *map, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    return finish(client, &call, tp_client_send_unsubscribe(client, map, &call.ticket, timeout_ms));
}

int tp_client_open_session(struct tp_client *client, const struct tp_client_session_params *params,
                           struct tp_client_session *out, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int result = finish(client, &call, tp_client_send_open_session(client, params, &call.ticket, timeout_ms));
    if (result == 0 && out != NULL)
        *out = call.reply.session;
    return result;
}

int tp_client_set_goals(struct tp_client *client, uint64_t session, const uint32_t *goals, size_t count,
                        int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    return finish(client, &call, tp_client_send_set_goals(client, session, goals, count, &call.ticket, timeout_ms));
}

int tp_client_set_goal(struct tp_client *client, uint64_t session, uint32_t goal, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    return finish(client, &call, tp_client_send_set_goal(client, session, goal, &call.ticket, timeout_ms));
}

int tp_client_tick(struct tp_client *client, const struct tp_client_tick *tick, struct tp_client_ticked *out,
                   int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int result = finish(client, &call, tp_client_send_tick(client, tick, &call.ticket, timeout_ms));
    if (result == 0 && out != NULL)
        *out = call.reply.ticked;
    return result;
}

int tp_client_close_sessions(struct tp_client *client, const uint64_t *sessions, size_t count,
                             uint32_t *closed, int timeout_ms)
{
    if (count == 0) { /* an empty set closes nothing */
        if (closed != NULL)
            *closed = 0;
        return 0;
    }
    struct call call = begin(client, timeout_ms);
    int sent = tp_client_send_close_sessions(client, sessions, count, &call.ticket, timeout_ms);
    int result = finish(client, &call, sent);
    if (result == 0 && closed != NULL)
        *closed = call.reply.closed;
    return result;
}

int tp_client_close_all_sessions(struct tp_client *client, uint32_t *closed, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int result = finish(client, &call, tp_client_send_close_all_sessions(client, &call.ticket, timeout_ms));
    if (result == 0 && closed != NULL)
        *closed = call.reply.closed;
    return result;
}

int tp_client_dump_session(struct tp_client *client, uint64_t session, const struct tp_client_dump_rectangle *rectangle,
                           struct tp_client_dump *out, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int result = finish(client, &call, tp_client_send_dump_session(client, session, rectangle, &call.ticket, timeout_ms));
    if (result == 0 && out != NULL)
        *out = call.reply.dump;
    return result;
}

int tp_client_list(struct tp_client *client, uint32_t what, struct tp_client_listing *out, int timeout_ms)
{
    struct call call = begin(client, timeout_ms);
    int result = finish(client, &call, tp_client_send_list(client, what, &call.ticket, timeout_ms));
    if (result == 0 && out != NULL)
        *out = call.reply.listing;
    return result;
}

/* ---- uploading a map: several requests, a few of them ahead of their replies ---- */

struct upload {
    const char *name;
    bool replace, all_sent;
    /* a grid */
    uint32_t width, height;
    const uint8_t *cells;
    Tickpath__ClassWeight **profile;
    size_t profile_count;
    uint64_t cell_count, sent; /* cells */
    /* a graph */
    const struct tp_client_graph *graph;
    uint32_t edges_sent, nodes_sent;  /* nodes whose coordinates were sent */
    uint32_t *edge_from;               /* room for the three numbers of each edge of a chunk */
    uint64_t ticket[MAP_CHUNKS_AHEAD]; /* of the chunks ahead, a ring */
    size_t first, ahead;
};

/* Bytes of a chunk's contents: the frame's cap but for room for the name and the profile. */
static size_t chunk_bytes(const struct tp_client *client)
{
    size_t most = client->frame_out_max - FRAME_BYTES_BESIDE;
    return most < MAP_CHUNK_BYTES ? most : MAP_CHUNK_BYTES;
}

static int send_part(struct tp_client *client, struct upload *upload, Tickpath__Request__BodyCase kind, void *message,
                     int64_t deadline_ms)
{
    uint64_t *ticket = &upload->ticket[(upload->first + upload->ahead) % MAP_CHUNKS_AHEAD];
    tp__begin(client);
    int result = tp__tickets_send(client, kind, message, ticket, deadline_ms);
    upload->ahead += result == 0;
    return result;
}

static int send_cells(struct tp_client *client, struct upload *upload, int64_t deadline_ms)
{
    size_t chunk_max = chunk_bytes(client);
    uint64_t left = upload->cell_count - upload->sent;
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = (char *)upload->name;
    if (upload->sent == 0) {
        put.has_width = put.has_height = put.has_replace = 1;
        put.width = upload->width;
        put.height = upload->height;
        put.profile = upload->profile;
        put.n_profile = upload->profile_count;
        put.replace = upload->replace;
    }
    put.has_offset = put.has_cells = put.has_last = 1;
    put.offset = upload->sent;
    put.cells.data = upload->cells != NULL ? (uint8_t *)upload->cells + upload->sent : NULL;
    put.cells.len = left < chunk_max ? (size_t)left : chunk_max;
    put.last = put.cells.len == left;
    int result = send_part(client, upload, TICKPATH__REQUEST__BODY_PUT_MAP, &put, deadline_ms);
    if (result != 0)
        return result;
    upload->sent += put.cells.len;
    upload->all_sent = put.last;
    return 0;
}

/* The next edges; once they are all sent, the next coordinates. */
static int send_graph(struct tp_client *client, struct upload *upload, int64_t deadline_ms)
{
    const struct tp_client_graph *graph = upload->graph;
    uint32_t edges_max = (uint32_t)(chunk_bytes(client) / EDGE_BYTES_MAX);
    uint32_t nodes_max = (uint32_t)(chunk_bytes(client) / (2 * sizeof(double)));
    uint32_t edges = graph->edge_count - upload->edges_sent;
    uint32_t nodes = graph->x != NULL ? graph->nodes - upload->nodes_sent : 0;
    if (edges > edges_max)
        edges = edges_max;
    if (edges > 0)
        nodes_max = 0;
    if (nodes > nodes_max)
        nodes = nodes_max;
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    put.map = (char *)upload->name;
    if (upload->edges_sent == 0 && upload->nodes_sent == 0) {
        put.has_nodes = put.has_edges = put.has_replace = 1;
        put.nodes = graph->nodes;
        put.edges = graph->edge_count;
        put.replace = upload->replace;
    }
    put.has_edge_offset = put.has_node_offset = put.has_last = 1;
    put.edge_offset = upload->edges_sent;
    put.node_offset = upload->nodes_sent;
    put.n_edge_from = put.n_edge_to = put.n_edge_cost = edges;
    put.edge_from = upload->edge_from;
    put.edge_to = upload->edge_from + edges;
    put.edge_cost = upload->edge_from + 2 * (size_t)edges;
    for (uint32_t i = 0; i < edges; i++) {
        const struct tp_client_edge *edge = &graph->edges[upload->edges_sent + i];
        put.edge_from[i] = edge->from;
        put.edge_to[i] = edge->to;
        put.edge_cost[i] = edge->cost;
    }
    put.n_node_x = put.n_node_y = nodes;
    if (nodes > 0) {
        put.node_x = (double *)graph->x + upload->nodes_sent;
        put.node_y = (double *)graph->y + upload->nodes_sent;
    }
    put.last = upload->edges_sent + edges == graph->edge_count &&
               (graph->x == NULL || upload->nodes_sent + nodes == graph->nodes);
    int result = send_part(client, upload, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put, deadline_ms);
    if (result != 0)
        return result;
    upload->edges_sent += edges;
    upload->nodes_sent += nodes;
    upload->all_sent = put.last;
    return 0;
}

/* Sends all parts and waits for their answers. */
static int send_parts(struct tp_client *client, struct upload *upload, struct tp_client_map *out, int timeout_ms,
                      int64_t deadline_ms)
{
    struct tp_client_reply reply = {.kind = TP_CLIENT_REPLY_NONE};
    int result = 0;
    while (result == 0 && (!upload->all_sent || upload->ahead > 0)) {
        if (!upload->all_sent && upload->ahead < MAP_CHUNKS_AHEAD) {
            result = upload->graph != NULL ? send_graph(client, upload, deadline_ms)
                                           : send_cells(client, upload, deadline_ms);
            continue;
        }
        result = tp_client_collect(client, upload->ticket[upload->first], &reply,
                                   left_of(timeout_ms, deadline_ms));
        if (result != TP_CLIENT_TIMEOUT || client->error.from_server) {
            upload->first = (upload->first + 1) % MAP_CHUNKS_AHEAD;
            upload->ahead--;
        }
    }
    /* After a refusal the chunks that were ahead are refused too; nobody needs to hear that. */
    for (; upload->ahead > 0; upload->ahead--, upload->first = (upload->first + 1) % MAP_CHUNKS_AHEAD)
        tp_client_drop(client, upload->ticket[upload->first]);
    if (result != 0)
        return result;
    if (reply.kind != TP_CLIENT_REPLY_MAP)
        return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME,
                              "the server did not say that the map is complete");
    if (out != NULL)
        *out = reply.map;
    return 0;
}

/* Whether the map there may be the one that is put: of its kind and size, and never changed. */
static bool is_the_one(const struct upload *upload, const struct tp_client_map *map)
{
    if (map->version != 1)
        return false;
    if (upload->graph != NULL)
        return map->kind == TP_CLIENT_GRAPH && map->width == upload->graph->nodes && map->edges == upload->graph->edge_count;
    return map->kind == TP_CLIENT_GRID && map->width == upload->width && map->height == upload->height;
}

/* An upload that loses its connection begins anew on the next one, UPLOAD_CUTS_MAX times at most; the time that finding it takes is not the
 * call's. */
static int run_upload(struct tp_client *client, const struct upload *whole, struct tp_client_map *out, int timeout_ms)
{
    int64_t deadline_ms = tp__deadline(timeout_ms);
    bool was_sent = false; /* whole, once: it may have been put though its answer was lost */
    for (int cuts = 0; cuts < UPLOAD_CUTS_MAX; cuts++) {
        int stands = client->broken.code != 0 ? tp__recover(client, &deadline_ms) : 0;
        if (stands != 0)
            return stands;
        struct upload upload = *whole;
        uint64_t connections = client->connections;
        int64_t began_ms = tp__deadline(0);
        int result = send_parts(client, &upload, out, timeout_ms, deadline_ms);
        if (client->connections == connections || result == 0) {
            struct tp_client_map there;
            if (result != TP_CLIENT_ALREADY_EXISTS || !was_sent)
                return result;
            const struct tp_client_error refusal = client->error;
            if (tp_client_open_map(client, whole->name, 0, &there, left_of(timeout_ms, deadline_ms)) == 0 &&
                is_the_one(whole, &there)) {
                if (out != NULL)
                    *out = there;
                return 0;
            }
            client->error = refusal;
            return result;
        }
        was_sent = was_sent || upload.all_sent;
        if (timeout_ms >= 0)
            deadline_ms += tp__deadline(0) - began_ms; /* all of it anew */
    }
    return tp__fail(client, TP_CLIENT_UNAVAILABLE, "the upload of %.80s was cut %d times, on a connection of its own each", whole->name,
                    UPLOAD_CUTS_MAX);
}

int tp_client_put_map(struct tp_client *client, const char *name, uint32_t width, uint32_t height,
                      const uint8_t *cells, const struct tp_client_weight *weights, size_t weight_count,
                      bool replace, struct tp_client_map *out, int timeout_ms)
{
    tp__begin(client);
    if (name == NULL)
        return tp__refuse(client, "map", "no name for the map");
    if (cells == NULL && width > 0 && height > 0)
        return tp__refuse(client, "cells", "no cells, though the size says so");
    if (weights == NULL && weight_count > 0)
        return tp__refuse(client, "profile", "no weights, though their count says so");
    if (weight_count > 256)
        return tp__refuse(client, "profile", "more weights than the 256 classes");
    Tickpath__ClassWeight weight[256], *profile[256];
    for (size_t i = 0; i < weight_count; i++) {
        tickpath__class_weight__init(&weight[i]);
        weight[i].has_terrain = weight[i].has_weight = 1;
        weight[i].terrain = weights[i].terrain;
        weight[i].weight = weights[i].weight;
        profile[i] = &weight[i];
    }
    struct upload upload = {
        .name = name,
        .width = width,
        .height = height,
        .cells = cells,
        .profile = profile,
        .profile_count = weight_count,
        .replace = replace,
        .cell_count = (uint64_t)width * height,
    };
    return run_upload(client, &upload, out, timeout_ms);
}

int tp_client_put_graph(struct tp_client *client, const char *name, const struct tp_client_graph *graph, bool replace,
                        struct tp_client_map *out, int timeout_ms)
{
    tp__begin(client);
    if (name == NULL)
        return tp__refuse(client, "map", "no name for the map");
    if (graph == NULL)
        return tp__refuse(client, "nodes", "no graph");
    if (graph->edges == NULL && graph->edge_count > 0)
        return tp__refuse(client, "edges", "no edges, though their count says so");
    if ((graph->x == NULL) != (graph->y == NULL))
        return tp__refuse(client, graph->x == NULL ? "node_x" : "node_y", "NULL, though the other axis is not");
    struct upload upload = {.name = name, .graph = graph, .replace = replace};
    upload.edge_from = malloc(chunk_bytes(client) / EDGE_BYTES_MAX * 3 * sizeof *upload.edge_from);
    if (upload.edge_from == NULL)
        return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a graph");
    int result = run_upload(client, &upload, out, timeout_ms);
    free(upload.edge_from);
    return result;
}
