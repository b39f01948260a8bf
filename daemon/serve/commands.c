#include "daemon/serve/commands.h"

#include "base/limits.h"
#include "base/version.h"
#include "daemon/log.h"

#include <stdio.h>
#include <string.h>

static void command_hello(const struct tp_call *call);
static void command_ping(const struct tp_call *call);

enum {
    IS_HELLO = 1 << 0, /* comes first, and only first */
    IS_OPEN = 1 << 1,  /* refused while draining */
};

struct command {
    const char *name; /* of the message's field in Request */
    void (*handle)(const struct tp_call *call);
    unsigned flags;
};

static const struct command commands[] = {
    [TICKPATH__REQUEST__BODY_HELLO] = {"hello", command_hello, IS_HELLO},
    [TICKPATH__REQUEST__BODY_PING] = {"ping", command_ping, 0},
    [TICKPATH__REQUEST__BODY_PUT_MAP] = {"put_map", tp__command_put_map, IS_OPEN},
    [TICKPATH__REQUEST__BODY_OPEN_MAP] = {"open_map", tp__command_open_map, IS_OPEN},
    [TICKPATH__REQUEST__BODY_CHANGE_COSTS] = {"change_costs", tp__command_change_costs, 0},
    [TICKPATH__REQUEST__BODY_OPEN_SESSION] = {"open_session", tp__command_open_session, IS_OPEN},
    [TICKPATH__REQUEST__BODY_SET_GOAL] = {"set_goal", tp__command_set_goal, 0},
    [TICKPATH__REQUEST__BODY_TICK] = {"tick", tp__command_tick, 0},
    [TICKPATH__REQUEST__BODY_CLOSE_SESSION] = {"close_session", tp__command_close_session, 0},
    [TICKPATH__REQUEST__BODY_LIST] = {"list", tp__command_list, 0},
    [TICKPATH__REQUEST__BODY_DROP_MAP] = {"drop_map", tp__command_drop_map, 0},
    [TICKPATH__REQUEST__BODY_PUT_GRAPH] = {"put_graph", tp__command_put_graph, IS_OPEN},
    [TICKPATH__REQUEST__BODY_SUBSCRIBE] = {"subscribe", tp__command_subscribe, 0},
    [TICKPATH__REQUEST__BODY_PUT_PROFILE] = {"put_profile", tp__command_put_profile, IS_OPEN},
    [TICKPATH__REQUEST__BODY_DUMP_SESSION] = {"dump_session", tp__command_dump_session, 0},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

void tp_command_handle(struct tp_peer *peer, const Tickpath__Request *request, bool is_retry)
{
    struct tp_call call = {peer, peer->shard, request, request->has_id ? request->id : 0, is_retry};
    const struct command *command = NULL;
    if ((size_t)request->body_case < COMMANDS)
        command = &commands[request->body_case];
    bool is_greeting = peer->state == TP_PEER_GREETING;
    if (command == NULL || command->handle == NULL)
        tp__call_refuse(&call, TP_ERR_UNKNOWN_MESSAGE, NULL, NULL);
    else if (is_greeting != ((command->flags & IS_HELLO) != 0))
        tp__call_refuse(&call, TP_ERR_HELLO_REQUIRED, command->name,
                        is_greeting ? "the first message must be a hello"
                                    : "only the first message may be a hello");
    else if (peer->shard->is_draining && (command->flags & IS_OPEN) != 0)
        tp__call_refuse(&call, TP_ERR_SHUTTING_DOWN, NULL, NULL);
    else
        command->handle(&call);
}

void tp__call_refuse(const struct tp_call *call, int error, const char *field, const char *words)
{
    if (call->request->body_case == TICKPATH__REQUEST__BODY_TICK)
        tp_metric_add(&call->shard->metrics->requests, 1);
    tp_peer_reply_error(call->peer, call->id, error, field, words, 0);
}

bool tp__call_name(const struct tp_call *call, const char *name)
{
    if (name != NULL && tp_world_name_allowed(name))
        return true;
    tp__call_refuse(
        call, TP_ERR_INVALID_ARGUMENT, "map",
        "a map's name is 1 to 128 of A-Z a-z 0-9 . _ / -, not beginning with . or /, no part being ..");
    return false;
}

struct tp_world_map *tp__call_map(const struct tp_call *call, const char *name)
{
    if (!tp__call_name(call, name))
        return NULL;
    struct tp_world_map *map = tp_world_find(call->shard->world, name);
    if (map != NULL)
        return map;
    if (call->is_retry || call->shard->store->is_volatile) {
        tp__call_refuse(call, TP_ERR_NOT_FOUND, "map", "there is no map of that name");
        return NULL;
    }
    struct tp_world_request *lookup = tp_world_request_new(TP_WORLD_OPEN);
    if (lookup == NULL) {
        tp__call_refuse(call, TP_ERR_NO_MEMORY, NULL, NULL);
        return NULL;
    }
    tp_world_name_copy(lookup->name, name);
    tp_peer_wait(call->peer, call->id, lookup, true);
    return NULL;
}

/* ---- Connection ---- */

/* Chooses the protocol version. False: an error was answered. */
static bool choose_protocol(const struct tp_call *call, const Tickpath__Hello *hello, uint32_t *chosen)
{
    uint32_t low = hello->has_protocol_min ? hello->protocol_min : TP_PROTOCOL_MIN;
    uint32_t high = hello->has_protocol_max ? hello->protocol_max : low;
    if (low == 0 || low > high) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "protocol_min", "must lie in 1..protocol_max");
        return false;
    }
    if (low > TP_PROTOCOL_MAX || high < TP_PROTOCOL_MIN) {
        char words[100];
        snprintf(words, sizeof words, "this server speaks protocol versions %d to %d", TP_PROTOCOL_MIN,
                 TP_PROTOCOL_MAX);
        tp__call_refuse(call, TP_ERR_PROTOCOL_VERSION,
                        low > TP_PROTOCOL_MAX ? "protocol_min" : "protocol_max", words);
        return false;
    }
    *chosen = high < TP_PROTOCOL_MAX ? high : TP_PROTOCOL_MAX;
    return true;
}

static void reply_welcome(const struct tp_call *call, uint32_t protocol)
{
    const struct tp_config *config = call->shard->config;
    struct tp_store_status status;
    call->shard->store->ops->status(call->shard->store, &status);
    Tickpath__Welcome welcome = TICKPATH__WELCOME__INIT;
    welcome.server_version = TP_VERSION;
#define SET(field, value) (welcome.has_##field = 1, welcome.field = (value))
    SET(protocol, protocol);
    SET(frame_bytes_max, config->frame_bytes_max);
    SET(map_cells_max, (uint64_t)TP_MAP_CELLS_MAX);
    SET(sessions_max, call->peer->sessions.count_max);
    SET(batch_changes_max, (uint32_t)config->batch_changes_max);
    SET(path_cells_max, (uint32_t)config->path_cells_max);
    SET(volatile_store, call->shard->store->is_volatile);
    SET(graph_nodes_max, (uint32_t)TP_GRAPH_NODES_MAX);
    SET(graph_edges_max, (uint32_t)TP_GRAPH_EDGES_MAX);
#undef SET
    if (status.state != TP_STORE_OK)
        welcome.degraded = status.reason;
    tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_WELCOME, &welcome);
}

static void command_hello(const struct tp_call *call)
{
    const Tickpath__Hello *hello = call->request->hello;
    uint32_t protocol;
    if (hello->client != NULL && strlen(hello->client) > 128) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "client", "at most 128 bytes");
        return;
    }
    if (!choose_protocol(call, hello, &protocol))
        return;
    tp_log(TP_LOG_DEBUG, "hello", "client=\"%s\" protocol=%u", hello->client != NULL ? hello->client : "", protocol);
    tp_peer_greeted(call->peer);
    reply_welcome(call, protocol);
}

static void command_ping(const struct tp_call *call)
{
    const Tickpath__Ping *ping = call->request->ping;
    if (ping->has_payload && ping->payload.len > 1024) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "payload", "at most 1024 bytes");
        return;
    }
    Tickpath__Pong pong = TICKPATH__PONG__INIT;
    pong.has_payload = ping->has_payload;
    pong.payload = ping->payload;
    tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_PONG, &pong);
}

/* ---- Listing ---- */

/* Gathers messages into the arena; `is_short` once it had no room. */
struct gather {
    struct tp_shard *shard;
    Tickpath__MapInfo **maps;
    size_t count, capacity;
    bool is_short;
};

static void gather_map_cb(struct tp_world_map *of, const struct tp_map *map, void *context)
{
    struct gather *gather = context;
    if (gather->count == gather->capacity) {
        size_t capacity = gather->capacity == 0 ? 64 : gather->capacity * 2;
        Tickpath__MapInfo **larger =
            tp_arena_take(&gather->shard->arena, capacity * sizeof(Tickpath__MapInfo *));
        if (larger == NULL) {
            gather->is_short = true;
            return;
        }
        if (gather->count > 0)
            memcpy(larger, gather->maps, gather->count * sizeof(Tickpath__MapInfo *));
        gather->maps = larger;
        gather->capacity = capacity;
    }
    Tickpath__MapInfo *info = tp_arena_take(&gather->shard->arena, sizeof *info);
    if (info == NULL) {
        gather->is_short = true;
        return;
    }
    tp__map_info(of, map, info);
    gather->maps[gather->count++] = info;
}

static bool list_sessions(const struct tp_call *call, Tickpath__Listing *listing)
{
    struct tp_sessions *sessions = &call->peer->sessions;
    struct tp_arena *arena = &call->shard->arena;
    listing->session = tp_arena_take(arena, (sessions->count + 1) * sizeof(Tickpath__SessionInfo *));
    Tickpath__SessionInfo *infos = tp_arena_take(arena, (sessions->count + 1) * sizeof *infos);
    if (listing->session == NULL || infos == NULL)
        return false;
    for (uint32_t slot = sessions->first; slot != TP_AGENT_NONE; slot = sessions->agents[slot].next) {
        const struct tp_agent *agent = &sessions->agents[slot];
        struct tp_session_stats stats;
        tp_session_stats(agent->session, &stats);
        Tickpath__SessionInfo *info = &infos[listing->n_session];
        tickpath__session_info__init(info);
        info->map = agent->map->name;
        info->algorithm = (char *)tp_session_algorithm(agent->session)->name;
#define SET(field, value) (info->has_##field = 1, info->field = (value))
        SET(session, tp_sessions_id(sessions, slot));
        SET(cell, tp_session_cell(agent->session));
        SET(goal, tp_session_goal(agent->session));
        SET(ticks, stats.ticks);
        SET(moves, stats.moves);
        SET(back_moves, stats.back_moves);
        SET(cost, stats.cost);
        SET(expansions, stats.expansions);
        SET(generated, stats.generated);
        SET(traced, stats.traced);
        SET(restarts, stats.restarts);
        SET(expansions_max, stats.expansions_max);
        SET(bytes, stats.bytes);
        SET(bytes_peak, stats.bytes_peak);
        SET(move_hash, stats.move_hash);
        SET(flips, stats.flips);
        SET(guide_expansions, stats.guide);
#undef SET
        listing->session[listing->n_session++] = info;
    }
    return true;
}

static bool list_algorithms(const struct tp_call *call, Tickpath__Listing *listing)
{
    struct tp_arena *arena = &call->shard->arena;
    size_t count = 0;
    while (tp_algorithm_at(count) != NULL)
        count++;
    listing->algorithm = tp_arena_take(arena, (count + 1) * sizeof(Tickpath__AlgorithmInfo *));
    Tickpath__AlgorithmInfo *infos = tp_arena_take(arena, (count + 1) * sizeof *infos);
    if (listing->algorithm == NULL || infos == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct tp_algorithm *row = tp_algorithm_at(i);
        tickpath__algorithm_info__init(&infos[i]);
        infos[i].name = (char *)row->name;
        infos[i].title = (char *)row->title;
        infos[i].citation = (char *)row->citation;
        infos[i].engine = (char *)tp_engine_name(row->engine);
        infos[i].has_capabilities = 1;
        infos[i].capabilities = row->capabilities;
        listing->algorithm[listing->n_algorithm++] = &infos[i];
    }
    return true;
}

void tp__command_list(const struct tp_call *call)
{
    const Tickpath__List *list = call->request->list;
    Tickpath__Listing listing = TICKPATH__LISTING__INIT;
    bool fits = true;
    if (list->has_maps && list->maps) {
        struct gather gather = {.shard = call->shard};
        fits = tp_world_each(call->shard->world, gather_map_cb, &gather) == 0 && !gather.is_short;
        listing.map = gather.maps;
        listing.n_map = gather.count;
    }
    if (fits && list->has_sessions && list->sessions)
        fits = list_sessions(call, &listing);
    if (fits && list->has_algorithms && list->algorithms)
        fits = list_algorithms(call, &listing);
    tp_subscriptions_refresh(call->peer); /* the listing may name newer versions than this loop has */
    if (fits)
        tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_LISTING, &listing);
    else
        tp__call_refuse(call, TP_ERR_RESOURCE_EXHAUSTED, NULL, "the listing is too long");
}
