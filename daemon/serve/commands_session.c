/* open_session, set_goal and close_session: done on the connection's own loop. Reading a budget is here too, for
 * commands_tick.c. */
#include "daemon/serve/commands.h"

#include "base/limits.h"
#include "daemon/stats/probes.h"
#include "daemon/serve/refusal.h"
#include "map/layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Turns a number of at most 3 decimals into thousandths. False: not finite, out of low..high, or more
 * decimals. */
static bool read_milli(double value, double low, double high, uint32_t *milli)
{
    if (!(value >= low && value <= high))
        return false;
    double nearest = round(value * 1000.0);
    if (fabs(value - nearest / 1000.0) > 1e-12 * fabs(value))
        return false;
    *milli = (uint32_t)nearest;
    return true;
}

int tp__budget_read(struct tp_agent_budget *out, const Tickpath__Budget *message, struct tp_refusal *refusal)
{
    *out = (struct tp_agent_budget){.r_milli = 900, .c = 10};
    if ((message->has_k != 0) + (message->has_resource_limit != 0) + (message->has_deadline_us != 0) != 1)
        return tp_refuse_value(refusal, "budget",
                               "exactly one of k, resource_limit and deadline_us must be given");
    if (!message->has_resource_limit && message->has_expansion_share)
        return tp_refuse_value(refusal, "expansion_share", "goes with resource_limit only");
    if (!message->has_resource_limit && message->has_trace_steps)
        return tp_refuse_value(refusal, "trace_steps", "goes with resource_limit only");
    if (message->has_k) {
        out->kind = TP_BUDGET_K;
        out->expansions = message->k;
        if (message->k < 1 || message->k > TP_BUDGET_MAX)
            return tp_refuse_value(refusal, "k", "must lie in 1..1000000000000");
    } else if (message->has_resource_limit) {
        out->kind = TP_BUDGET_R;
        out->expansions = message->resource_limit;
        if (message->resource_limit < 1 || message->resource_limit > TP_BUDGET_MAX)
            return tp_refuse_value(refusal, "resource_limit", "must lie in 1..1000000000000");
        if (message->has_expansion_share && !read_milli(message->expansion_share, 0, 1, &out->r_milli))
            return tp_refuse_value(refusal, "expansion_share",
                                   "must lie in 0..1 and have at most 3 decimals");
        if (message->has_trace_steps)
            out->c = message->trace_steps;
        if (out->c < 1 || out->c > TP_C_MAX)
            return tp_refuse_value(refusal, "trace_steps", "must lie in 1..1000000");
    } else {
        out->kind = TP_BUDGET_DEADLINE;
        out->deadline_us = message->deadline_us;
        if (message->deadline_us < 1 || message->deadline_us > TP_TICK_US_MAX)
            return tp_refuse_value(refusal, "deadline_us", "must lie in 1..10000000");
    }
    return 0;
}

/* ---- open_session ---- */

/* The protocol's enums, by number; 0 stands for a field left out. */
static const enum tp_corners corners_of[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE,
                                             TP_CORNERS_ALWAYS};
static const enum tp_goal_policy goal_policy_of[] = {TP_GOAL_EXACT, TP_GOAL_EXACT, TP_GOAL_WITHIN,
                                                     TP_GOAL_NEAREST};
static const enum tp_knowledge knowledge_of[] = {TP_KNOWLEDGE_FULL, TP_KNOWLEDGE_FULL, TP_KNOWLEDGE_FREESPACE,
                                                 TP_KNOWLEDGE_MAP};
static const enum tp_restart restart_of[] = {TP_RESTART_DEFAULT, TP_RESTART_NEVER, TP_RESTART_EAGER,
                                             TP_RESTART_LAZY, TP_RESTART_ON_RISE};
static const enum tp_open_list open_list_of[] = {TP_OPEN_LIST_DEFAULT, TP_OPEN_LIST_EXACT, TP_OPEN_LIST_BUCKET};
static const enum tp_motion motion_of[] = {TP_MOTION_STEPS, TP_MOTION_STEPS, TP_MOTION_INERTIA};
static const enum tp_heuristic heuristic_of[] = {TP_HEURISTIC_DEFAULT,   TP_HEURISTIC_OCTILE,
                                                 TP_HEURISTIC_MANHATTAN, TP_HEURISTIC_EUCLID,
                                                 TP_HEURISTIC_FREESPACE, TP_HEURISTIC_MAXIMUM,
                                                 TP_HEURISTIC_ZERO};

#define READ_ENUM(field)                                                                                     \
    do {                                                                                                     \
        if (open->has_##field) {                                                                             \
            if ((int)open->field < 1 || (size_t)open->field >= sizeof field##_of / sizeof field##_of[0])     \
                return tp_refuse_value(refusal, #field, "not a value of its enum");                          \
            params->field = field##_of[open->field];                                                         \
        }                                                                                                    \
    } while (0)

/* How the agent moves: by steps, or as a vehicle with a velocity. */
static int read_motion(struct tp_session_params *params, const Tickpath__OpenSession *open,
                       struct tp_refusal *refusal)
{
    READ_ENUM(motion);
    int32_t vx = open->has_start_vx ? open->start_vx : 0, vy = open->has_start_vy ? open->start_vy : 0;
    if (vx < -TP_VELOCITY_MAX || vx > TP_VELOCITY_MAX)
        return tp_refuse_value(refusal, "start_vx", "must lie in -3..3");
    if (vy < -TP_VELOCITY_MAX || vy > TP_VELOCITY_MAX)
        return tp_refuse_value(refusal, "start_vy", "must lie in -3..3");
    params->start_vx = (int8_t)vx;
    params->start_vy = (int8_t)vy;
    return 0;
}

/* The goals besides the first, and how near is near enough. */
static int read_goals(struct tp_session_params *params, const Tickpath__OpenSession *open, struct tp_refusal *refusal)
{
    params->more_goals = open->more_goals;
    params->more_goal_count = open->n_more_goals < TP_GOALS_MAX ? (uint32_t)open->n_more_goals : TP_GOALS_MAX;
    bool within = params->goal_policy == TP_GOAL_WITHIN;
    if (within != (open->has_goal_radius != 0))
        return tp_refuse_value(refusal, "goal_radius", within ? "must be given with the goal policy WITHIN"
                                                              : "goes with the goal policy WITHIN only");
    double radius = open->has_goal_radius ? open->goal_radius : 0, nearest = round(radius * 1000);
    if (!(radius >= 0 && radius <= 1e12) || fabs(radius - nearest / 1000) > 1e-12 * radius)
        return tp_refuse_value(refusal, "goal_radius", "must lie in 0..10^12 and have at most 3 decimals");
    return 0;
}

/* The radius in cost units: a graph has its own. */
static tp_cost goal_radius_of(const Tickpath__OpenSession *open, const struct tp_map *map)
{
    tp_cost milli = open->has_goal_radius ? (tp_cost)round(open->goal_radius * 1000) : 0;
    return milli * (map->graph != NULL ? 1 : TP_COST_UNIT) / 1000;
}

/* Whether the session asks for a layer of the map: agents of another kind. */
static bool is_of_another_kind(const Tickpath__OpenSession *open)
{
    return open->profile != NULL || (open->has_agent_size && open->agent_size != 1);
}

/* The session's own, which is checked and never used, for every tick is given its budget: without a clock, that the session may rest (search/rest.h). */
static struct tp_budget own_budget(const struct tp_agent_budget *budget)
{
    struct tp_budget own = tp_agent_budget_for_check(budget);
    own.expired = NULL;
    return own.kind == TP_BUDGET_DEADLINE ? tp_budget_k(1) : own;
}

static int read_params(struct tp_session_params *params, struct tp_agent_budget *budget,
                       const Tickpath__OpenSession *open, struct tp_refusal *refusal)
{
    tp_session_params_init(params);
    if (!open->has_start)
        return tp_refuse_value(refusal, "start", "must be given");
    if (!open->has_goal)
        return tp_refuse_value(refusal, "goal", "must be given");
    params->start = open->start;
    params->goal = open->goal;
    if (open->algorithm != NULL) {
        params->algorithm = tp_algorithm_find(open->algorithm);
        if (params->algorithm == NULL)
            return tp_refuse_value(refusal, "algorithm",
                                   "not one that this server has; a list request tells which it has");
    }
    if (open->has_w && !read_milli(open->w, 1, TP_W_MILLI_MAX / 1000.0, &params->w_milli))
        return tp_refuse_value(refusal, "w", "must lie in 1..1000000 and have at most 3 decimals");
    if (open->has_neighbours) {
        if (open->neighbours != 4 && open->neighbours != 8 && open->neighbours != 16)
            return tp_refuse_value(refusal, "neighbours", "must be 4, 8 or 16");
        params->neighbours = (enum tp_neighbours)open->neighbours;
    }
    READ_ENUM(corners);
    READ_ENUM(goal_policy);
    READ_ENUM(knowledge);
    READ_ENUM(restart);
    READ_ENUM(open_list);
    READ_ENUM(heuristic);
    int error = read_motion(params, open, refusal);
    if (error != 0)
        return error;
    error = read_goals(params, open, refusal);
    if (error != 0)
        return error;
    params->shortcut = open->has_shortcut && open->shortcut;
    params->path_switch = open->has_path_switch && open->path_switch;
    params->longest_path_rule = open->has_longest_path_rule && open->longest_path_rule;
    if (open->has_switch_margin &&
        !read_milli(open->switch_margin, 0, TP_SWITCH_MARGIN_MILLI_MAX / 1000.0, &params->switch_margin_milli))
        return tp_refuse_value(refusal, "switch_margin", "must lie in 0..10 and have at most 3 decimals");
    params->bounded = open->has_bounded && open->bounded;
    if (open->has_pause_on_backtrack)
        params->pause_on_backtrack = open->pause_on_backtrack ? TP_PAUSE_ON_BACKTRACK : TP_PAUSE_NEVER;
    if (open->has_node_bytes_max) {
        if (open->node_bytes_max == 0)
            return tp_refuse_value(refusal, "node_bytes_max", "must be at least 1");
        params->node_bytes_max = open->node_bytes_max;
    }
    if (open->profile != NULL && !tp_world_name_allowed(open->profile))
        return tp_refuse_value(refusal, "profile", "not the name of a profile");
    if (open->has_agent_size && (open->agent_size < 1 || open->agent_size > TP_AGENT_SIZE_MAX))
        return tp_refuse_value(refusal, "agent_size", "must lie in 1..8");
    if (open->has_guide_units) {
        if (open->guide_units > TP_GUIDE_UNITS_MAX)
            return tp_refuse_value(refusal, "guide_units", "must lie in 0..1000000");
        params->guide_units = open->guide_units;
    }
    if (is_of_another_kind(open) && params->knowledge == TP_KNOWLEDGE_MAP)
        return tp_refuse(refusal, TP_ERR_UNSUPPORTED, open->profile != NULL ? "profile" : "agent_size",
                         "does not go with the knowledge KNOWN_MAP: the map assumed has its own profile, and size 1");
    if (open->known_map != NULL && params->knowledge != TP_KNOWLEDGE_MAP)
        return tp_refuse_value(refusal, "known_map", "goes with the knowledge KNOWN_MAP only");
    if (open->has_sensor_radius) {
        if (open->sensor_radius == 0)
            return tp_refuse_value(refusal, "sensor_radius", "must lie in 1..8");
        params->sensor_radius = open->sensor_radius;
    }
    if (open->has_priority && (open->priority < 1 || open->priority > TP_PRIORITY_MAX))
        return tp_refuse_value(refusal, "priority", "must lie in 1..255");
    *budget = (struct tp_agent_budget){.kind = TP_BUDGET_R, .expansions = 100, .r_milli = 900, .c = 10};
    if (open->budget != NULL) {
        error = tp__budget_read(budget, open->budget, refusal);
        if (error != 0)
            return error;
    }
    params->budget = own_budget(budget);
    return 0;
}

/* The known map that the request names, its present version (or that of `told`, its layer, which was entered), as a reference of the
 * caller's; NULL where it names none. False: an error was answered. */
static bool take_known(const struct tp_call *call, const struct tp_session_params *params,
                       const struct tp_world_layer *told, const struct tp_map **known)
{
    const char *name = call->request->open_session->known_map;
    *known = NULL;
    if (told != NULL) {
        tp_shard_refresh(call->shard, told->of);
        *known = tp_map_ref(tp_shard_layer(call->shard, told));
        return true;
    }
    if (params->knowledge != TP_KNOWLEDGE_MAP || !(params->algorithm->capabilities & TP_CAN_DISCOVER))
        return true; /* the session refuses the knowledge of a row that can't have it */
    if (name == NULL) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "known_map", "must be given");
        return false;
    }
    struct tp_world_map *of = tp_world_find(call->shard->world, name);
    if (of == NULL) {
        tp__call_refuse(call, TP_ERR_NOT_FOUND, "known_map", "the server has no map of that name open");
        return false;
    }
    if (!tp_world_enter(of)) {
        tp_peer_reply_error(call->peer, call->id, TP_ERR_UNAVAILABLE, "known_map",
                            "the map is being replaced", 100);
        return false;
    }
    *known = tp_map_ref(tp_shard_refresh(call->shard, of));
    tp_world_leave(of);
    return true;
}

/* The name of the map whose layer with a block graph leads the session: its own, or the one it is told; NULL: it is not led. */
static const char *leading_map(const struct tp_call *call, const struct tp_session_params *params, const struct tp_map *map)
{
    const Tickpath__OpenSession *open = call->request->open_session;
    if (map == NULL || !tp_session_wants_blocks(params, map))
        return NULL;
    if (params->knowledge != TP_KNOWLEDGE_MAP)
        return open->map;
    struct tp_world_map *of = open->known_map != NULL ? tp_world_find(call->shard->world, open->known_map) : NULL;
    const struct tp_map *known = of != NULL ? tp_shard_refresh(call->shard, of) : NULL;
    bool fits = known != NULL && known->graph == NULL && known->width == map->width && known->height == map->height;
    return fits ? open->known_map : NULL; /* else it is refused, soon */
}

/* Asks the world for the layer that the session is on, or that leads it; the frame is handled again with it. */
static void ask_for_layer(const struct tp_call *call, const struct tp_session_params *params, const char *leading)
{
    const Tickpath__OpenSession *open = call->request->open_session;
    struct tp_world_request *request = tp_world_request_new(TP_WORLD_LAYER);
    if (request == NULL) {
        tp__call_refuse(call, TP_ERR_NO_MEMORY, NULL, NULL);
        return;
    }
    tp_world_name_copy(request->name, leading != NULL ? leading : open->map);
    if (open->profile != NULL)
        tp_world_name_copy(request->profile_name, open->profile);
    request->agent_size = open->has_agent_size ? open->agent_size : 1;
    request->has_blocks = leading != NULL;
    if (leading != NULL)
        request->links = tp_blocks_links_of(params->neighbours, params->corners);
    tp_peer_wait(call->peer, call->id, request, true);
}

/* Leaves what was entered for a session: a layer and its map, or the map alone. */
static void leave(struct tp_world_map *of, struct tp_world_layer *layer)
{
    if (layer != NULL)
        tp_world_layer_leave(layer);
    else
        tp_world_leave(of);
}

/* What sharing a total asks of a session. */
static void fill_share(struct tp_agent *agent, const Tickpath__OpenSession *open, const struct tp_session_params *params,
                       const struct tp_map *map)
{
    agent->is_unbounded = params->longest_path_rule;
    if (open->has_priority)
        agent->priority = (uint8_t)open->priority;
    if (tp_session_wants_blocks(params, map))
        agent->guide_units = params->guide_units != TP_GUIDE_UNITS_UNSET ? params->guide_units : TP_GUIDE_UNITS_DEFAULT;
    tp_agent_set_off(agent);
}

/* Opens a session on a map (of `layer`, or its own version) that was entered; leaves it again on error, but not `told`. */
static int open_entered(const struct tp_call *call, struct tp_world_map *of, struct tp_world_layer *layer,
                        struct tp_world_layer *told, const struct tp_map *map, const struct tp_session_params *params,
                        const struct tp_agent_budget *budget, uint32_t *slot, struct tp_refusal *refusal)
{
    struct tp_session *session = NULL;
    int error = tp_session_open(&session, params, map, &call->shard->pool, refusal);
    if (error == 0) {
        error = tp_sessions_add(&call->peer->sessions, session, of, budget, slot);
        if (error == 0) {
            struct tp_agent *agent = &call->peer->sessions.agents[*slot];
            agent->is_vehicle = params->motion == TP_MOTION_INERTIA;
            agent->is_bounded = params->bounded;
            agent->layer = layer;
            agent->told = told;
            fill_share(agent, call->request->open_session, params, map);
            return 0;
        }
        tp_session_close(session);
    }
    leave(of, layer);
    return error;
}

/* The request asks for another epoch than the map is in. */
static void refuse_epoch(const struct tp_call *call, const struct tp_map *map)
{
    struct tp_world_refusal refusal = {
        .error = TP_ERR_VERSION_MISMATCH, .field = "epoch", .words = "the map is in another epoch"};
    tp_world_refusal_place(&refusal, map);
    tp_peer_reply_refusal(call->peer, call->id, &refusal);
}

void tp__command_open_session(const struct tp_call *call)
{
    const Tickpath__OpenSession *open = call->request->open_session;
    struct tp_session_params params;
    struct tp_agent_budget budget;
    struct tp_refusal refusal = {0};
    if (!tp__call_name(call, open->map))
        return;
    int error = read_params(&params, &budget, open, &refusal);
    if (error != 0) {
        tp__call_refuse(call, error, refusal.field, refusal.reason);
        return;
    }
    if (tp_sessions_full(&call->peer->sessions)) {
        char words[64];
        snprintf(words, sizeof words, "sessions_max of this connection, %u, is reached", (unsigned)call->peer->sessions.count_max);
        tp__call_refuse(call, TP_ERR_RESOURCE_EXHAUSTED, NULL, words);
        return;
    }
    struct tp_world_map *of = tp__call_map(call, open->map);
    if (of == NULL)
        return;
    const struct tp_map *of_now = tp_shard_refresh(call->shard, of);
    const char *leading = leading_map(call, &params, of_now);
    if ((is_of_another_kind(open) || leading != NULL) && call->peer->layer == NULL) {
        ask_for_layer(call, &params, leading);
        return;
    }
    /* a layer was entered, and with it `of`, or the map told: the peer leaves that, if the session does not take it */
    bool is_told = params.knowledge == TP_KNOWLEDGE_MAP;
    struct tp_world_layer *layer = is_told ? NULL : call->peer->layer, *told = is_told ? call->peer->layer : NULL;
    if (!take_known(call, &params, told, &params.known))
        return;
    if (!is_told)
        call->peer->layer = NULL;
    if (layer == NULL && !tp_world_enter(of)) {
        tp_peer_reply_error(call->peer, call->id, TP_ERR_UNAVAILABLE, "map",
                            "the map is being replaced or dropped", 100);
        if (params.known != NULL)
            tp_map_unref(params.known);
        return;
    }
    const struct tp_map *map = tp_shard_refresh(call->shard, of);
    if (layer != NULL)
        map = tp_shard_layer(call->shard, layer);
    if (open->has_epoch && open->epoch != map->epoch) {
        refuse_epoch(call, map);
        if (params.known != NULL)
            tp_map_unref(params.known);
        leave(of, layer);
        return;
    }
    params.goal_radius = goal_radius_of(open, map);
    params.fields = call->shard->fields;
    uint32_t slot;
    bool fits = params.known == NULL || (params.known->width == map->width && params.known->height == map->height);
    if (!fits || (params.known != NULL && params.known->graph != NULL)) {
        error = tp_refuse_value(&refusal, "known_map", fits ? "must be a grid" : "must be of the map's size");
        leave(of, layer);
    } else {
        error = open_entered(call, of, layer, told, map, &params, &budget, &slot, &refusal);
    }
    if (error == 0 && is_told)
        call->peer->layer = NULL;
    if (params.known != NULL)
        tp_map_unref(params.known); /* the session has a reference of its own */
    if (error != 0) {
        tp__call_refuse(call, error, refusal.field, refusal.reason);
        return;
    }
    TP_PROBE4(session__opened, tp_sessions_id(&call->peer->sessions, slot),
              tp_session_algorithm(call->peer->sessions.agents[slot].session)->name, params.start, params.goal);
    tp_metric_add(&call->shard->metrics->sessions_opened, 1);
    tp_shard_count_memory(call->shard);
    Tickpath__SessionOpened opened = TICKPATH__SESSION_OPENED__INIT;
    opened.has_session = opened.has_epoch = opened.has_version = opened.has_width = opened.has_height = 1;
    opened.session = tp_sessions_id(&call->peer->sessions, slot);
    opened.epoch = map->epoch;
    opened.version = map->version;
    opened.width = map->width;
    opened.height = map->height;
    tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_SESSION_OPENED, &opened);
}

/* ---- set_goal, close_session ---- */

bool tp__call_session(const struct tp_call *call, bool has_session, uint64_t session, uint32_t *slot)
{
    const struct tp_sessions *sessions = &call->peer->sessions;
    *slot = has_session ? tp_sessions_find(sessions, session) : TP_AGENT_NONE;
    if (*slot != TP_AGENT_NONE)
        return true;
    int ended = has_session ? tp_sessions_ended(sessions, session) : 0;
    if (ended != 0)
        tp__call_refuse(call, ended, "session", "its map began anew, or was dropped: open it again");
    else
        tp__call_refuse(call, TP_ERR_NOT_FOUND, "session", "not a session of this connection");
    return false;
}

void tp__command_set_goal(const struct tp_call *call)
{
    const Tickpath__SetGoal *set = call->request->set_goal;
    struct tp_sessions *sessions = &call->peer->sessions;
    uint32_t slot;
    if (!tp__call_session(call, set->has_session, set->session, &slot))
        return;
    if (!set->has_goal) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "goal", "must be given");
        return;
    }
    if (set->n_more_goals >= TP_GOALS_MAX) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "more_goals", "there are at most 16 goals in all");
        return;
    }
    uint32_t goals[TP_GOALS_MAX] = {set->goal};
    for (size_t i = 0; i < set->n_more_goals; i++)
        goals[1 + i] = set->more_goals[i];
    struct tp_session *session = sessions->agents[slot].session;
    int error = tp_session_retarget_set(session, goals, 1 + (uint32_t)set->n_more_goals);
    if (error == TP_ERR_OUT_OF_RANGE) {
        bool one = set->n_more_goals == 0;
        tp__call_refuse(call, error, one ? "goal" : "more_goals", one ? "lies outside the map" : "a goal lies outside the map");
        return;
    }
    if (error == TP_ERR_NO_MEMORY) {
        tp__call_refuse(call, error, NULL, NULL);
        return;
    }
    if (error != 0) {
        tp__call_refuse(call, error, "more_goals", "this algorithm walks to one goal only");
        return;
    }
    tp_agent_set_off(&sessions->agents[slot]);
    Tickpath__GoalSet goal_set = TICKPATH__GOAL_SET__INIT;
    goal_set.has_session = 1;
    goal_set.session = set->session;
    tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_GOAL_SET, &goal_set);
}

void tp__command_close_session(const struct tp_call *call)
{
    const Tickpath__CloseSession *close = call->request->close_session;
    struct tp_sessions *sessions = &call->peer->sessions;
    bool all = close->has_all && close->all;
    if (all == (close->n_session > 0)) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "session", "give either sessions or all");
        return;
    }
    uint32_t before = sessions->count, ended_before = sessions->ended_count;
    if (all) {
        while (sessions->first != TP_AGENT_NONE)
            tp_sessions_close(sessions, sessions->first);
        while (sessions->ended_first != TP_AGENT_NONE)
            tp_sessions_forget(sessions, tp_sessions_id(sessions, sessions->ended_first));
    }
    for (size_t i = 0; i < close->n_session; i++) {
        uint32_t slot = tp_sessions_find(sessions, close->session[i]);
        if (slot != TP_AGENT_NONE)
            tp_sessions_close(sessions, slot);
        else
            tp_sessions_forget(sessions, close->session[i]);
    }
    uint32_t closed = before - sessions->count;
    tp_shard_count_closed(call->shard, closed - (ended_before - sessions->ended_count)); /* those were counted when they ended */
    Tickpath__SessionsClosed reply = TICKPATH__SESSIONS_CLOSED__INIT;
    reply.has_count = 1;
    reply.count = closed;
    tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_SESSIONS_CLOSED, &reply);
}
