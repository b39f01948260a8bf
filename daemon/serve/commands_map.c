/* put_map, open_map, put_profile, change_costs, drop_map and subscribe (put_graph: commands_graph.c): checked here, done by
 * the world. */
#include "daemon/serve/commands.h"

#include "base/limits.h"
#include "daemon/serve/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tp__map_info(struct tp_world_map *of, const struct tp_map *map, Tickpath__MapInfo *out)
{
    int64_t sessions = atomic_load(&of->sessions);
    tickpath__map_info__init(out);
    out->map = of->name;
#define SET(field, value) (out->has_##field = 1, out->field = (value))
    SET(width, map->width);
    SET(height, map->height);
    SET(epoch, map->epoch);
    SET(version, map->version);
    SET(passable_cells, map->passable_cells);
    SET(sessions, sessions > 0 ? (uint32_t)sessions : 0);
    SET(kind, map->graph != NULL ? TICKPATH__MAP_KIND__GRAPH : TICKPATH__MAP_KIND__GRID);
    if (map->graph != NULL)
        SET(edges, map->graph->edges);
#undef SET
}

void tp_command_finish(struct tp_peer *peer, uint64_t id, const struct tp_world_request *granted)
{
    if (granted->op == TP_WORLD_CHANGE) {
        Tickpath__Changed changed = TICKPATH__CHANGED__INIT;
        changed.map = granted->map->name;
        changed.has_epoch = changed.has_version = 1;
        changed.epoch = granted->epoch;
        changed.version = granted->version;
        changed.has_applied_before = changed.applied_before = granted->applied_before;
        tp_peer_reply(peer, id, TICKPATH__REPLY__BODY_CHANGED, &changed);
    } else if (granted->op == TP_WORLD_DROP) {
        Tickpath__MapDropped dropped = TICKPATH__MAP_DROPPED__INIT;
        dropped.map = (char *)granted->name;
        tp_peer_reply(peer, id, TICKPATH__REPLY__BODY_MAP_DROPPED, &dropped);
    } else if (granted->op == TP_WORLD_PROFILE) {
        Tickpath__ProfilePut put = TICKPATH__PROFILE_PUT__INIT;
        put.map = granted->map->name;
        put.name = (char *)granted->profile_name;
        tp_peer_reply(peer, id, TICKPATH__REPLY__BODY_PROFILE_PUT, &put);
    } else {
        Tickpath__MapInfo info;
        tp__map_info(granted->map, tp_shard_map(peer->shard, granted->map), &info);
        tp_peer_reply(peer, id, TICKPATH__REPLY__BODY_MAP_INFO, &info);
    }
}

void tp__call_submit(const struct tp_call *call, struct tp_world_request *request, const char *name)
{
    if (request == NULL) {
        tp__call_refuse(call, TP_ERR_NO_MEMORY, NULL, NULL);
        return;
    }
    tp_world_name_copy(request->name, name);
    tp_peer_wait(call->peer, call->id, request, false);
}

/* ---- put_map ---- */

enum bad_row { ROWS_GOOD, BAD_TERRAIN, TERRAIN_TWICE, BAD_WEIGHT };

/* The profile of these rows; classes left out are impassable. Gives what is wrong. */
static enum bad_row read_rows(struct tp_profile *profile, Tickpath__ClassWeight *const *rows, size_t count)
{
    bool named[256] = {false};
    memset(profile, 0, sizeof *profile);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i]->has_terrain || rows[i]->terrain > 255)
            return BAD_TERRAIN;
        if (named[rows[i]->terrain])
            return TERRAIN_TWICE;
        named[rows[i]->terrain] = true;
        if (!rows[i]->has_weight || rows[i]->weight > TP_WEIGHT_MAX)
            return BAD_WEIGHT;
        profile->weight[rows[i]->terrain] = (uint16_t)rows[i]->weight;
    }
    return ROWS_GOOD;
}

static const char *const bad_row_words[] = {[BAD_TERRAIN] = "a terrain class is a number of 0..255",
                                            [TERRAIN_TWICE] = "a class is named twice",
                                            [BAD_WEIGHT] = "a weight is 0 (impassable) or 1..65535"};

static int read_profile(struct tp_profile *profile, const Tickpath__PutMap *put, struct tp_refusal *refusal)
{
    if (put->n_profile == 0) {
        tp_profile_init_movingai(profile);
        return 0;
    }
    enum bad_row bad = read_rows(profile, put->profile, put->n_profile);
    if (bad != ROWS_GOOD)
        return tp_refuse_value(refusal, bad == BAD_WEIGHT ? "profile.weight" : "profile.terrain",
                               bad_row_words[bad]);
    if (tp_profile_closes_all(profile))
        return tp_refuse_value(refusal, "profile", "must leave some class passable");
    return 0;
}

/* The first chunk of a map: opens the upload. False: an error was answered. */
static bool begin_upload(const struct tp_call *call, const Tickpath__PutMap *put)
{
    struct tp_upload *upload = &call->peer->upload;
    struct tp_refusal refusal = {0};
    struct tp_profile profile;
    if (!tp__call_name(call, put->map))
        return false;
    int error = read_profile(&profile, put, &refusal);
    if (error == 0)
        error = tp_upload_begin(upload, call->shard->upload_quota, put->map, put->has_width ? put->width : 0,
                                put->has_height ? put->height : 0, &refusal);
    if (error != 0) {
        tp_peer_reply_error(call->peer, call->id, error, refusal.field, refusal.reason,
                            error == TP_ERR_RESOURCE_EXHAUSTED ? 1000 : 0);
        return false;
    }
    upload->profile = profile;
    upload->replace = put->has_replace && put->replace;
    return true;
}

/* A later chunk must speak of the same map. False: an error was answered. */
static bool check_same_map(const struct tp_call *call, const Tickpath__PutMap *put)
{
    const struct tp_upload *upload = &call->peer->upload;
    const char *field = NULL;
    if (upload->is_graph || (put->map != NULL && strcmp(put->map, upload->name) != 0))
        field = "map";
    else if (put->has_width && put->width != upload->width)
        field = "width";
    else if (put->has_height && put->height != upload->height)
        field = "height";
    if (field == NULL)
        return true;
    tp__call_refuse(call, TP_ERR_FAILED_PRECONDITION, field,
                    "another map is being uploaded on this connection; the upload was given up");
    return false;
}

void tp__command_put_map(const struct tp_call *call)
{
    const Tickpath__PutMap *put = call->request->put_map;
    struct tp_upload *upload = &call->peer->upload;
    if (!upload->is_open) {
        if (put->has_offset && put->offset != 0) {
            tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "offset",
                            "no upload is under way: the first chunk is at 0");
            return;
        }
        if (!begin_upload(call, put))
            return;
    } else if (!check_same_map(call, put)) {
        tp_upload_drop(upload);
        return;
    }
    struct tp_refusal refusal = {0};
    int error = tp_upload_add(upload, put->has_offset ? put->offset : 0, put->cells.data,
                              put->has_cells ? put->cells.len : 0, &refusal);
    bool is_last = put->has_last && put->last;
    if (error == 0 && is_last)
        error = tp_upload_check_complete(upload, &refusal);
    if (error != 0) { /* what follows can't fit any more: begin anew */
        tp_upload_drop(upload);
        tp__call_refuse(call, error, refusal.field, refusal.reason);
        return;
    }
    if (!is_last) {
        Tickpath__MapChunk chunk = TICKPATH__MAP_CHUNK__INIT;
        chunk.has_cells_received = 1;
        chunk.cells_received = upload->received;
        tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_MAP_CHUNK, &chunk);
        return;
    }
    struct tp_world_request *request = tp_world_request_new(TP_WORLD_PUT);
    if (request == NULL) {
        tp_upload_drop(upload);
    } else {
        request->width = upload->width;
        request->height = upload->height;
        request->profile = upload->profile;
        request->replace = upload->replace;
        request->cells = tp_upload_take_cells(upload);
    }
    tp__call_submit(call, request, upload->name);
}

/* ---- open_map ---- */

void tp__command_open_map(const struct tp_call *call)
{
    const Tickpath__OpenMap *open = call->request->open_map;
    if (!tp__call_name(call, open->map))
        return;
    struct tp_world_request *request = tp_world_request_new(TP_WORLD_OPEN);
    if (request != NULL) {
        request->min_version = open->has_min_version ? open->min_version : 0;
        request->has_epoch = open->has_epoch;
        request->epoch = open->epoch;
    }
    tp__call_submit(call, request, open->map);
}

/* ---- put_profile ---- */

static int read_put_profile(struct tp_profile *profile, const Tickpath__PutProfile *put,
                            struct tp_refusal *refusal)
{
    if (put->name == NULL || !tp_world_name_allowed(put->name))
        return tp_refuse_value(refusal, "name", "must be given, and be as a map's name");
    enum bad_row bad = read_rows(profile, put->weights, put->n_weights);
    if (bad != ROWS_GOOD)
        return tp_refuse_value(refusal, bad == BAD_WEIGHT ? "weights.weight" : "weights.terrain",
                               bad_row_words[bad]);
    if (tp_profile_closes_all(profile))
        return tp_refuse_value(refusal, "weights", "must leave some class passable");
    return 0;
}

void tp__command_put_profile(const struct tp_call *call)
{
    const Tickpath__PutProfile *put = call->request->put_profile;
    struct tp_profile profile;
    struct tp_refusal refusal = {0};
    if (!tp__call_name(call, put->map))
        return;
    int error = read_put_profile(&profile, put, &refusal);
    if (error != 0) {
        tp__call_refuse(call, error, refusal.field, refusal.reason);
        return;
    }
    struct tp_world_request *request = tp_world_request_new(TP_WORLD_PROFILE);
    if (request != NULL) {
        request->profile = profile;
        tp_world_name_copy(request->profile_name, put->name);
    }
    tp__call_submit(call, request, put->map);
}

/* ---- drop_map ---- */

void tp__command_drop_map(const struct tp_call *call)
{
    const Tickpath__DropMap *drop = call->request->drop_map;
    if (!tp__call_name(call, drop->map))
        return;
    struct tp_world_request *request = tp_world_request_new(TP_WORLD_DROP);
    if (request != NULL) {
        request->has_epoch = drop->has_epoch;
        request->epoch = drop->epoch;
    }
    tp__call_submit(call, request, drop->map);
}

/* ---- change_costs ---- */

/* What is wrong with the change at `index` of its batch. */
static int refuse_change(struct tp_world_refusal *refusal, size_t index, const char *field, const char *words)
{
    *refusal = (struct tp_world_refusal){.error = TP_ERR_INVALID_ARGUMENT,
                                         .field = field,
                                         .has_bad_change = true,
                                         .change_index = (uint32_t)index};
    snprintf(refusal->words, sizeof refusal->words, "change %zu: %s", index, words);
    return TP_ERR_INVALID_ARGUMENT;
}

/* Numbers of things, and what each of them is set to: one value for each, or one for all. */
struct series {
    enum tp_change_kind kind;
    size_t count, values;
    const uint32_t *number, *value;
    const char *field, *lacks;    /* the values', and what is said where one is missing */
    uint32_t value_max;
    const char *exceeds;
    bool has_lengths; /* runs: of each besides how long it is */
    size_t lengths;
    const uint32_t *length;
};

/* `first`: the place of the first of them in the batch; likewise below. */
static int read_series(struct tp_change *out, size_t first, const struct series *series, struct tp_world_refusal *refusal)
{
    for (size_t i = 0; i < series->count; i++) {
        size_t at = series->values == 1 ? 0 : i;
        if (series->has_lengths && i >= series->lengths)
            return refuse_change(refusal, first + i, "run_length", "one for each run");
        if (series->has_lengths && series->length[i] == 0)
            return refuse_change(refusal, first + i, "run_length", "at least 1");
        if (at >= series->values)
            return refuse_change(refusal, first + i, series->field, series->lacks);
        if (series->value[at] > series->value_max)
            return refuse_change(refusal, first + i, series->field, series->exceeds);
        struct tp_change *change = &out[first + i];
        *change = (struct tp_change){.kind = series->kind, .x = series->number[i]};
        if (series->kind == TP_CHANGE_EDGE || series->kind == TP_CHANGE_NODE)
            change->y = series->value[at];
        else
            change->class_to = (uint8_t)series->value[at];
        if (series->has_lengths) { /* a rectangle one cell high; its cell becomes a place where the map's width is known */
            change->width = series->length[i];
            change->height = 1;
        }
    }
    return 0;
}

static int read_rectangles(struct tp_change *out, size_t first, const Tickpath__ChangeCosts *message,
                           struct tp_world_refusal *refusal)
{
    for (size_t i = 0; i < message->n_rectangle; i++) {
        const Tickpath__Rectangle *rectangle = message->rectangle[i];
        if (!rectangle->has_terrain || rectangle->terrain > 255)
            return refuse_change(refusal, first + i, "rectangle.terrain", "must be given; a terrain class is a number of 0..255");
        if (!rectangle->has_x || !rectangle->has_y || !rectangle->has_width || !rectangle->has_height)
            return refuse_change(refusal, first + i, "rectangle", "x, y, width and height must be given");
        out[first + i] = (struct tp_change){.kind = TP_CHANGE_RECT,
                                            .class_to = (uint8_t)rectangle->terrain,
                                            .x = rectangle->x,
                                            .y = rectangle->y,
                                            .width = rectangle->width,
                                            .height = rectangle->height};
    }
    return 0;
}

/* Copies the bits of all bitmaps, one after the other, into `bits`. */
static int read_bitmaps(struct tp_change *out, size_t first, uint8_t *bits,
                        const Tickpath__ChangeCosts *message, struct tp_world_refusal *refusal)
{
    for (size_t i = 0; i < message->n_bitmap; i++) {
        const Tickpath__Bitmap *bitmap = message->bitmap[i];
        if (!bitmap->has_terrain || bitmap->terrain > 255)
            return refuse_change(refusal, first + i, "bitmap.terrain", "must be given; a terrain class is a number of 0..255");
        if (!bitmap->has_x || !bitmap->has_y || !bitmap->has_width || !bitmap->has_height ||
            !bitmap->has_bits)
            return refuse_change(refusal, first + i, "bitmap", "x, y, width, height and bits must be given");
        uint64_t cells = (uint64_t)bitmap->width * bitmap->height;
        if (cells > 0 && bitmap->bits.len > (cells + 7) / 8) /* rows that are padded, most likely */
            return refuse_change(refusal, first + i, "bitmap",
                                 "more bytes of bits than width * height takes up");
        out[first + i] = (struct tp_change){.kind = TP_CHANGE_BITMAP,
                                            .class_to = (uint8_t)bitmap->terrain,
                                            .x = bitmap->x,
                                            .y = bitmap->y,
                                            .width = bitmap->width,
                                            .height = bitmap->height,
                                            .bits = bits,
                                            .bits_size = bitmap->bits.len};
        if (bitmap->bits.len > 0)
            memcpy(bits, bitmap->bits.data, bitmap->bits.len);
        bits += bitmap->bits.len;
    }
    return 0;
}

/* How many changes there are before the runs, which come last. */
static size_t changes_before_runs(const Tickpath__ChangeCosts *message)
{
    return message->n_cell + message->n_rectangle + message->n_bitmap + message->n_edge + message->n_node;
}

static int read_changes(struct tp_world_request *request, const Tickpath__ChangeCosts *message,
                        struct tp_world_refusal *refusal)
{
    size_t edge_first = message->n_cell + message->n_rectangle + message->n_bitmap;
    size_t run_first = changes_before_runs(message);
    size_t count = run_first + message->n_run_cell;
    request->batch.unplaced_count = message->n_run_cell;
    size_t bits_bytes = 0;
    for (size_t i = 0; i < message->n_bitmap; i++)
        bits_bytes += message->bitmap[i]->bits.len;
    request->batch.count = count;
    request->batch.changes = calloc(count + 1, sizeof request->batch.changes[0]);
    request->change_bits = malloc(bits_bytes + 1);
    if (request->batch.changes == NULL || request->change_bits == NULL) {
        refusal->error = TP_ERR_NO_MEMORY;
        snprintf(refusal->words, sizeof refusal->words, "out of memory");
        return TP_ERR_NO_MEMORY;
    }
    struct tp_change *out = request->batch.changes;
    const struct series cells = {.kind = TP_CHANGE_CELL,
                                 .count = message->n_cell,
                                 .number = message->cell,
                                 .values = message->n_cell_terrain,
                                 .value = message->cell_terrain,
                                 .field = "cell_terrain",
                                 .lacks = "one for each cell, or one for all",
                                 .value_max = UINT8_MAX,
                                 .exceeds = "a terrain class is a number of 0..255"};
    const struct series edges = {.kind = TP_CHANGE_EDGE,
                                 .count = message->n_edge,
                                 .number = message->edge,
                                 .values = message->n_edge_cost,
                                 .value = message->edge_cost,
                                 .field = "edge_cost",
                                 .lacks = "one for each edge, or one for all",
                                 .value_max = UINT32_MAX};
    const struct series nodes = {.kind = TP_CHANGE_NODE,
                                 .count = message->n_node,
                                 .number = message->node,
                                 .values = message->n_node_open,
                                 .value = message->node_open,
                                 .field = "node_open",
                                 .lacks = "one for each node, or one for all",
                                 .value_max = 1,
                                 .exceeds = "0 closes and 1 opens"};
    const struct series runs = {.kind = TP_CHANGE_RECT,
                                .count = message->n_run_cell,
                                .number = message->run_cell,
                                .values = message->n_run_terrain,
                                .value = message->run_terrain,
                                .field = "run_terrain",
                                .lacks = "one for each run, or one for all",
                                .value_max = UINT8_MAX,
                                .exceeds = "a terrain class is a number of 0..255",
                                .has_lengths = true,
                                .lengths = message->n_run_length,
                                .length = message->run_length};
    int error = read_series(out, 0, &cells, refusal);
    if (error == 0)
        error = read_rectangles(out, message->n_cell, message, refusal);
    if (error == 0)
        error =
            read_bitmaps(out, message->n_cell + message->n_rectangle, request->change_bits, message, refusal);
    if (error == 0)
        error = read_series(out, edge_first, &edges, refusal);
    if (error == 0)
        error = read_series(out, edge_first + message->n_edge, &nodes, refusal);
    if (error == 0)
        error = read_series(out, run_first, &runs, refusal);
    return error;
}

/* More classes or lengths than there are things to set: no change is at fault. NULL: all is well. */
static const char *field_in_excess(const Tickpath__ChangeCosts *message)
{
    if (message->n_cell_terrain > message->n_cell)
        return "cell_terrain";
    if (message->n_edge_cost > message->n_edge)
        return "edge_cost";
    if (message->n_node_open > message->n_node)
        return "node_open";
    if (message->n_run_length > message->n_run_cell)
        return "run_length";
    return message->n_run_terrain > message->n_run_cell ? "run_terrain" : NULL;
}

void tp__command_change_costs(const struct tp_call *call)
{
    const Tickpath__ChangeCosts *message = call->request->change_costs;
    if (!tp__call_name(call, message->map))
        return;
    const char *excess = field_in_excess(message); /* too few: the first cell, or run, without one is at fault */
    if (excess != NULL) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, excess, "more of them than there are things to set");
        return;
    }
    if (message->has_key && (message->key.len == 0 || message->key.len > TP_KEY_BYTES_MAX)) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "key", "1 to 64 bytes");
        return;
    }
    if (changes_before_runs(message) + message->n_run_cell > call->shard->config->batch_changes_max) {
        tp__call_refuse(call, TP_ERR_RESOURCE_EXHAUSTED,
                        message->n_edge > 0 ? "edge" : message->n_node > 0 ? "node" : "cell", "more changes than batch_changes_max");
        return;
    }
    struct tp_world_request *request = tp_world_request_new(TP_WORLD_CHANGE);
    if (request != NULL) {
        struct tp_world_refusal refusal = {0};
        if (read_changes(request, message, &refusal) != 0) {
            tp_world_request_free(request);
            tp_peer_reply_refusal(call->peer, call->id, &refusal);
            return;
        }
        if (message->has_key) {
            request->batch.key.size = (uint8_t)message->key.len;
            memcpy(request->batch.key.bytes, message->key.data, message->key.len);
        }
        request->batch.has_base_version = message->has_base_version;
        request->batch.base_version = message->base_version;
        request->has_epoch = message->has_epoch;
        request->epoch = message->epoch;
    }
    tp__call_submit(call, request, message->map);
}

/* ---- subscribe ---- */

void tp__command_subscribe(const struct tp_call *call)
{
    const Tickpath__Subscribe *subscribe = call->request->subscribe;
    struct tp_subscriptions *subscriptions = &call->peer->subscriptions;
    Tickpath__Subscribed subscribed = TICKPATH__SUBSCRIBED__INIT;
    if (subscribe->has_off && subscribe->off) {
        if (!tp__call_name(call, subscribe->map))
            return;
        tp_subscriptions_remove(subscriptions, subscribe->map);
        tp_peer_count_subscriptions(call->peer);
        subscribed.map = subscribe->map;
        tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_SUBSCRIBED, &subscribed);
        return;
    }
    struct tp_world_map *of = tp__call_map(call, subscribe->map);
    if (of == NULL)
        return;
    const struct tp_map *map = tp_shard_refresh(call->shard, of);
    if (map == NULL) { /* dropped just now */
        tp__call_refuse(call, TP_ERR_NOT_FOUND, "map", "there is no map of that name");
        return;
    }
    int error = tp_subscriptions_add(subscriptions, of, map, subscribe->has_want_cells && subscribe->want_cells);
    if (error != 0) {
        tp__call_refuse(call, error, error == TP_ERR_RESOURCE_EXHAUSTED ? "map" : NULL,
                        error == TP_ERR_RESOURCE_EXHAUSTED ? "a connection has at most 64 subscriptions" : NULL);
        return;
    }
    tp_peer_count_subscriptions(call->peer);
    subscribed.map = of->name;
    subscribed.has_epoch = subscribed.has_version = 1;
    subscribed.epoch = map->epoch;
    subscribed.version = map->version;
    tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_SUBSCRIBED, &subscribed);
}
