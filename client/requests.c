/* Public structs to wire messages: the pipelined calls. Each refuses what it can't read (a pointer that is NULL
 * though something should be there), fills a message that borrows the caller's memory, and sends it under a
 * ticket. What it can read is the server's to judge. */
#include "client/internal.h"

#include <stdlib.h>
#include <string.h>

static int send_request(struct tp_client *client, Tickpath__Request__BodyCase kind, void *message,
                        uint64_t *ticket, int timeout_ms)
{
    tp__begin(client);
    if (ticket == NULL)
        return tp__refuse(client, "", "no room for the ticket");
    return tp__tickets_send(client, kind, message, ticket, tp__deadline(timeout_ms));
}

/* Refuses an argument, as a call of its own. */
static int refuse(struct tp_client *client, const char *field, const char *words)
{
    tp__begin(client);
    return tp__refuse(client, field, words);
}

int tp_client_send_ping(struct tp_client *client, const void *payload, size_t size, uint64_t *ticket,
                        int timeout_ms)
{
    Tickpath__Ping ping = TICKPATH__PING__INIT;
    if (payload == NULL && size > 0)
        return refuse(client, "payload", "no payload, though its size says so");
    ping.has_payload = size > 0;
    ping.payload.data = (uint8_t *)payload;
    ping.payload.len = size;
    return send_request(client, TICKPATH__REQUEST__BODY_PING, &ping, ticket, timeout_ms);
}

int tp_client_send_open_map(struct tp_client *client, const char *name, uint64_t min_version,
                            uint64_t *ticket, int timeout_ms)
{
    return tp_client_send_open_map_of(client, name, 0, min_version, ticket, timeout_ms);
}

int tp_client_send_open_map_of(struct tp_client *client, const char *name, uint64_t epoch, uint64_t min_version,
                               uint64_t *ticket, int timeout_ms)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    if (name == NULL)
        return refuse(client, "map", "no name of a map");
    open.map = (char *)name;
    open.has_min_version = min_version > 0;
    open.min_version = min_version;
    open.has_epoch = epoch > 0;
    open.epoch = epoch;
    return send_request(client, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, ticket, timeout_ms);
}

int tp_client_send_drop_map(struct tp_client *client, const char *name, uint64_t epoch, uint64_t *ticket,
                            int timeout_ms)
{
    Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
    if (name == NULL)
        return refuse(client, "map", "no name of a map");
    drop.map = (char *)name;
    drop.has_epoch = epoch > 0;
    drop.epoch = epoch;
    return send_request(client, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, ticket, timeout_ms);
}

int tp_client_send_put_profile(struct tp_client *client, const char *map, const char *name,
                               const struct tp_client_weight *weights, size_t weight_count, uint64_t *ticket,
                               int timeout_ms)
{
    Tickpath__PutProfile put = TICKPATH__PUT_PROFILE__INIT;
    if (map == NULL)
        return refuse(client, "map", "no name of a map");
    if (weights == NULL && weight_count > 0)
        return refuse(client, "weights", "NULL, though the profile should have some");
    if (weight_count > 256)
        return refuse(client, "weights", "more than there are classes");
    Tickpath__ClassWeight row[256], *rows[256];
    for (size_t i = 0; i < weight_count; i++) {
        tickpath__class_weight__init(&row[i]);
        row[i].has_terrain = row[i].has_weight = 1;
        row[i].terrain = weights[i].terrain;
        row[i].weight = weights[i].weight;
        rows[i] = &row[i];
    }
    put.map = (char *)map;
    put.name = (char *)name;
    put.weights = rows;
    put.n_weights = weight_count;
    return send_request(client, TICKPATH__REQUEST__BODY_PUT_PROFILE, &put, ticket, timeout_ms);
}

/* The rectangles, bitmaps and runs of a batch as the message has them. */
struct areas {
    Tickpath__Rectangle *rectangle;
    Tickpath__Rectangle **rectangles;
    Tickpath__Bitmap *bitmap;
    Tickpath__Bitmap **bitmaps;
    uint32_t *runs; /* the cells, then the lengths, then the classes */
};

static bool areas_init(struct areas *areas, const struct tp_client_changes *changes)
{
    size_t r = changes->rectangle_count, b = changes->bitmap_count;
    memset(areas, 0, sizeof *areas);
    areas->rectangle = calloc(r + 1, sizeof *areas->rectangle);
    areas->rectangles = calloc(r + 1, sizeof(void *));
    areas->bitmap = calloc(b + 1, sizeof *areas->bitmap);
    areas->bitmaps = calloc(b + 1, sizeof(void *));
    areas->runs = calloc(3 * changes->run_count + 1, sizeof *areas->runs);
    if (areas->rectangle == NULL || areas->rectangles == NULL || areas->bitmap == NULL ||
        areas->bitmaps == NULL || areas->runs == NULL)
        return false;
    for (size_t i = 0; i < changes->run_count; i++) {
        areas->runs[i] = changes->runs[i].cell;
        areas->runs[changes->run_count + i] = changes->runs[i].length;
        areas->runs[2 * changes->run_count + i] = changes->runs[i].terrain;
    }
    for (size_t i = 0; i < r; i++) {
        const struct tp_client_rectangle *from = &changes->rectangles[i];
        Tickpath__Rectangle *to = areas->rectangles[i] = &areas->rectangle[i];
        tickpath__rectangle__init(to);
        to->has_x = to->has_y = to->has_width = to->has_height = to->has_terrain = 1;
        to->x = from->x;
        to->y = from->y;
        to->width = from->width;
        to->height = from->height;
        to->terrain = from->terrain;
    }
    for (size_t i = 0; i < b; i++) {
        const struct tp_client_bitmap *from = &changes->bitmaps[i];
        Tickpath__Bitmap *to = areas->bitmaps[i] = &areas->bitmap[i];
        tickpath__bitmap__init(to);
        to->has_x = to->has_y = to->has_width = to->has_height = to->has_terrain = to->has_bits = 1;
        to->x = from->x;
        to->y = from->y;
        to->width = from->width;
        to->height = from->height;
        to->terrain = from->terrain;
        to->bits.data = (uint8_t *)from->bits;
        to->bits.len = ((size_t)from->width * from->height + 7) / 8;
    }
    return true;
}

static void areas_fini(struct areas *areas)
{
    free(areas->rectangle);
    free(areas->rectangles);
    free(areas->bitmap);
    free(areas->bitmaps);
    free(areas->runs);
}

/* The field of a batch that is not there though it should be; NULL if all is. */
static const char *missing_part(const struct tp_client_changes *changes)
{
    if (changes == NULL || changes->map == NULL)
        return "map";
    if (changes->cells == NULL && changes->cell_count > 0)
        return "cell";
    if (changes->cell_terrains == NULL && changes->cell_terrain_count > 0)
        return "cell_terrain";
    if (changes->rectangles == NULL && changes->rectangle_count > 0)
        return "rectangle";
    if (changes->bitmaps == NULL && changes->bitmap_count > 0)
        return "bitmap";
    if (changes->runs == NULL && changes->run_count > 0)
        return "run_cell";
    if (changes->edges == NULL && changes->edge_count > 0)
        return "edge";
    if (changes->edge_costs == NULL && changes->edge_cost_count > 0)
        return "edge_cost";
    if (changes->nodes == NULL && changes->node_count > 0)
        return "node";
    if (changes->node_opens == NULL && changes->node_open_count > 0)
        return "node_open";
    if (changes->key == NULL && changes->key_size > 0)
        return "key";
    for (size_t i = 0; i < changes->bitmap_count; i++) {
        const struct tp_client_bitmap *bitmap = &changes->bitmaps[i];
        if (bitmap->bits == NULL && bitmap->width > 0 && bitmap->height > 0)
            return "bits";
    }
    return NULL;
}

int tp_client_send_change(struct tp_client *client, const struct tp_client_changes *changes, uint64_t *ticket,
                          int timeout_ms)
{
    struct areas areas;
    int result;
    const char *missing = missing_part(changes);
    if (missing != NULL)
        return refuse(client, missing, "NULL, though the batch should have it");
    if (ticket == NULL)
        return refuse(client, "", "no room for the ticket");
    tp__begin(client);
    if (areas_init(&areas, changes)) {
        Tickpath__ChangeCosts message = TICKPATH__CHANGE_COSTS__INIT;
        message.map = (char *)changes->map;
        message.has_base_version = changes->has_base_version;
        message.base_version = changes->base_version;
        message.has_epoch = changes->epoch > 0;
        message.epoch = changes->epoch;
        message.cell = (uint32_t *)changes->cells;
        message.n_cell = changes->cell_count;
        message.cell_terrain = (uint32_t *)changes->cell_terrains;
        message.n_cell_terrain = changes->cell_terrain_count;
        message.rectangle = areas.rectangles;
        message.n_rectangle = changes->rectangle_count;
        message.bitmap = areas.bitmaps;
        message.n_bitmap = changes->bitmap_count;
        message.run_cell = areas.runs;
        message.run_length = areas.runs + changes->run_count;
        message.run_terrain = areas.runs + 2 * changes->run_count;
        message.n_run_cell = message.n_run_length = message.n_run_terrain = changes->run_count;
        message.edge = (uint32_t *)changes->edges;
        message.n_edge = changes->edge_count;
        message.edge_cost = (uint32_t *)changes->edge_costs;
        message.n_edge_cost = changes->edge_cost_count;
        message.node = (uint32_t *)changes->nodes;
        message.n_node = changes->node_count;
        message.node_open = (uint32_t *)changes->node_opens;
        message.n_node_open = changes->node_open_count;
        message.has_key = changes->key != NULL;
        message.key.data = (uint8_t *)changes->key;
        message.key.len = changes->key_size;
        uint8_t key[16];
        if (client->failover != NULL && changes->key == NULL) { /* so that it may be sent twice */
            tp__random_bytes(key, sizeof key);
            message.has_key = 1;
            message.key.data = key;
            message.key.len = sizeof key;
        }
        result = tp__tickets_send(client, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &message, ticket,
                                  tp__deadline(timeout_ms));
    } else {
        result = tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a batch");
    }
    areas_fini(&areas);
    return result;
}

static int send_subscribe(struct tp_client *client, const char *map, bool off, bool want_cells, uint64_t *ticket,
                          int timeout_ms)
{
    Tickpath__Subscribe message = TICKPATH__SUBSCRIBE__INIT;
    if (map == NULL)
        return refuse(client, "map", "no name of a map");
    message.map = (char *)map;
    message.has_off = message.off = off;
    message.has_want_cells = message.want_cells = want_cells;
    return send_request(client, TICKPATH__REQUEST__BODY_SUBSCRIBE, &message, ticket, timeout_ms);
}

int tp_client_send_subscribe(struct tp_client *client, const char *map, bool want_cells, uint64_t *ticket,
                             int timeout_ms)
{
    return send_subscribe(client, map, false, want_cells, ticket, timeout_ms);
}

int tp_client_send_unsubscribe(struct tp_client *client, const char *map, uint64_t *ticket, int timeout_ms)
{
    return send_subscribe(client, map, true, false, ticket, timeout_ms);
}

/* NULL for the default budget. */
static Tickpath__Budget *fill_budget(Tickpath__Budget *message, const struct tp_client_budget *budget)
{
    tickpath__budget__init(message);
    switch (budget->kind) {
    case TP_CLIENT_BUDGET_K:
        message->has_k = 1;
        message->k = budget->amount;
        return message;
    case TP_CLIENT_BUDGET_R:
        message->has_resource_limit = 1;
        message->resource_limit = budget->amount;
        message->has_expansion_share = budget->r_milli != 0;
        message->expansion_share = budget->r_milli / 1000.0;
        message->has_trace_steps = budget->c != 0;
        message->trace_steps = budget->c;
        return message;
    case TP_CLIENT_BUDGET_DEADLINE:
        message->has_deadline_us = 1;
        message->deadline_us = budget->amount;
        return message;
    case TP_CLIENT_BUDGET_DEFAULT:
        break;
    }
    return NULL;
}

int tp_client_send_open_session(struct tp_client *client, const struct tp_client_session_params *params,
                                uint64_t *ticket, int timeout_ms)
{
    Tickpath__OpenSession message = TICKPATH__OPEN_SESSION__INIT;
    Tickpath__Budget budget;
    if (params == NULL || params->map == NULL)
        return refuse(client, "map", "a session needs the name of a map");
    message.map = (char *)params->map;
    message.has_start = message.has_goal = 1;
    message.start = params->start;
    message.goal = params->goal;
    message.algorithm = (char *)params->algorithm;
    message.has_w = params->w_milli != 0;
    message.w = params->w_milli / 1000.0;
    message.budget = fill_budget(&budget, &params->budget);
    message.has_neighbours = params->neighbours != 0;
    message.neighbours = params->neighbours;
    message.has_corners = params->corners != 0;
    message.corners = (Tickpath__Corners)params->corners;
    message.has_goal_policy = params->goal_policy != 0;
    message.goal_policy = (Tickpath__GoalPolicy)params->goal_policy;
    message.has_knowledge = params->knowledge != 0;
    message.knowledge = (Tickpath__Knowledge)params->knowledge;
    message.has_restart = params->restart != 0;
    message.restart = (Tickpath__Restart)params->restart;
    message.has_open_list = params->open_list != 0;
    message.open_list = (Tickpath__OpenList)params->open_list;
    message.has_shortcut = message.shortcut = params->shortcut;
    message.has_path_switch = message.path_switch = params->path_switch;
    message.has_longest_path_rule = message.longest_path_rule = params->longest_path_rule;
    message.has_switch_margin = params->switch_margin_milli != 0;
    message.switch_margin = params->switch_margin_milli / 1000.0;
    message.has_pause_on_backtrack = params->pause_on_backtrack != 0;
    message.pause_on_backtrack = params->pause_on_backtrack == TP_CLIENT_PAUSE_ON_BACKTRACK;
    message.has_node_bytes_max = params->node_bytes_max != 0;
    message.node_bytes_max = params->node_bytes_max;
    message.known_map = (char *)params->known_map;
    message.has_sensor_radius = params->sensor_radius != 0;
    message.sensor_radius = params->sensor_radius;
    message.has_motion = params->motion != 0;
    message.motion = (Tickpath__Motion)params->motion;
    message.has_start_vx = params->start_vx != 0;
    message.start_vx = params->start_vx;
    message.has_start_vy = params->start_vy != 0;
    message.start_vy = params->start_vy;
    message.has_heuristic = params->heuristic != 0;
    message.heuristic = (Tickpath__Heuristic)params->heuristic;
    message.has_epoch = params->epoch > 0;
    message.epoch = params->epoch;
    message.has_priority = params->priority != 0;
    message.priority = params->priority;
    message.has_guide_units = params->guide_units != 0 || params->unguided;
    message.guide_units = params->unguided ? 0 : params->guide_units;
    message.has_bounded = message.bounded = params->bounded;
    message.profile = (char *)params->profile;
    message.has_agent_size = params->agent_size != 0;
    message.agent_size = params->agent_size;
    if (params->more_goal_count > 0 && params->more_goals == NULL)
        return refuse(client, "more_goals", "NULL, though the session should have some");
    message.more_goals = (uint32_t *)params->more_goals;
    message.n_more_goals = params->more_goal_count;
    message.has_goal_radius = params->goal_policy == TP_CLIENT_WITHIN || params->goal_radius != 0;
    message.goal_radius = params->goal_radius;
    return send_request(client, TICKPATH__REQUEST__BODY_OPEN_SESSION, &message, ticket, timeout_ms);
}

int tp_client_send_set_goal(struct tp_client *client, uint64_t session, uint32_t goal, uint64_t *ticket,
                            int timeout_ms)
{
    return tp_client_send_set_goals(client, session, &goal, 1, ticket, timeout_ms);
}

int tp_client_send_set_goals(struct tp_client *client, uint64_t session, const uint32_t *goals, size_t count,
                             uint64_t *ticket, int timeout_ms)
{
    Tickpath__SetGoal message = TICKPATH__SET_GOAL__INIT;
    if (goals == NULL || count == 0)
        return refuse(client, "goal", "no goal, though there should be one");
    message.has_session = message.has_goal = 1;
    message.session = session;
    message.goal = goals[0];
    message.more_goals = (uint32_t *)goals + 1;
    message.n_more_goals = count - 1;
    return send_request(client, TICKPATH__REQUEST__BODY_SET_GOAL, &message, ticket, timeout_ms);
}

int tp_client_send_tick(struct tp_client *client, const struct tp_client_tick *tick, uint64_t *ticket,
                        int timeout_ms)
{
    Tickpath__Tick message = TICKPATH__TICK__INIT;
    Tickpath__Budget each;
    if (tick == NULL || (tick->sessions == NULL && tick->session_count > 0))
        return refuse(client, "session", "no sessions, though the tick should have some");
    if (tick->at_count > 0 && (tick->at_sessions == NULL || tick->at_cells == NULL))
        return refuse(client, tick->at_sessions == NULL ? "at_session" : "at_cell",
                      "NULL, though the tick should have positions");
    if (tick->at_count > 0 && (tick->at_vx == NULL) != (tick->at_vy == NULL))
        return refuse(client, tick->at_vx == NULL ? "at_vx" : "at_vy", "NULL, though the other axis is not");
    message.session = (uint64_t *)tick->sessions;
    message.n_session = tick->session_count;
    message.has_all = message.all = tick->all;
    message.each = fill_budget(&each, &tick->each);
    message.has_total_expansions = tick->has_total_expansions;
    message.total_expansions = tick->total_expansions;
    message.has_total_us = tick->has_total_us;
    message.total_us = tick->total_us;
    message.has_total_guide_units = tick->total_guide_units != 0;
    message.total_guide_units = tick->total_guide_units;
    message.at_session = (uint64_t *)tick->at_sessions;
    message.at_cell = (uint32_t *)tick->at_cells;
    message.n_at_session = message.n_at_cell = tick->at_count;
    message.at_vx = (int32_t *)tick->at_vx;
    message.at_vy = (int32_t *)tick->at_vy;
    message.n_at_vx = message.n_at_vy = tick->at_vx != NULL ? tick->at_count : 0;
    message.has_min_version = tick->min_version != 0;
    message.min_version = tick->min_version;
    message.has_epoch = tick->epoch > 0;
    message.epoch = tick->epoch;
    message.has_want_work = message.want_work = tick->want_work;
    message.has_want_path = message.want_path = tick->want_path;
    return send_request(client, TICKPATH__REQUEST__BODY_TICK, &message, ticket, timeout_ms);
}

int tp_client_send_dump_session(struct tp_client *client, uint64_t session, const struct tp_client_dump_rectangle *rectangle,
                                uint64_t *ticket, int timeout_ms)
{
    Tickpath__DumpSession message = TICKPATH__DUMP_SESSION__INIT;
    message.has_session = 1;
    message.session = session;
    if (rectangle != NULL) {
        message.has_x = message.has_y = message.has_width = message.has_height = rectangle->width != 0;
        message.x = rectangle->x;
        message.y = rectangle->y;
        message.width = rectangle->width;
        message.height = rectangle->height;
        message.has_cursor = rectangle->cursor != 0;
        message.cursor = rectangle->cursor;
        message.has_limit = rectangle->limit != 0;
        message.limit = rectangle->limit;
    }
    return send_request(client, TICKPATH__REQUEST__BODY_DUMP_SESSION, &message, ticket, timeout_ms);
}

int tp_client_send_close_sessions(struct tp_client *client, const uint64_t *sessions, size_t count,
                                  uint64_t *ticket, int timeout_ms)
{
    Tickpath__CloseSession message = TICKPATH__CLOSE_SESSION__INIT;
    if (sessions == NULL || count == 0)
        return refuse(client, "session", "no sessions");
    message.session = (uint64_t *)sessions;
    message.n_session = count;
    return send_request(client, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &message, ticket, timeout_ms);
}

int tp_client_send_close_all_sessions(struct tp_client *client, uint64_t *ticket, int timeout_ms)
{
    Tickpath__CloseSession message = TICKPATH__CLOSE_SESSION__INIT;
    message.has_all = message.all = 1;
    return send_request(client, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &message, ticket, timeout_ms);
}

int tp_client_send_list(struct tp_client *client, uint32_t what, uint64_t *ticket, int timeout_ms)
{
    Tickpath__List message = TICKPATH__LIST__INIT;
    message.has_maps = message.maps = (what & TP_CLIENT_LIST_MAPS) != 0;
    message.has_sessions = message.sessions = (what & TP_CLIENT_LIST_SESSIONS) != 0;
    message.has_algorithms = message.algorithms = (what & TP_CLIENT_LIST_ALGORITHMS) != 0;
    return send_request(client, TICKPATH__REQUEST__BODY_LIST, &message, ticket, timeout_ms);
}
