#include "tests/lib/stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct wire_daemon stage_daemon;
struct wire stage_wire;

void stage_daemon_begin(void)
{
    wire_daemon_init(&stage_daemon);
    wire_daemon_start(&stage_daemon, "--threads", "1", NULL);
    wire_open_greeted(&stage_wire, stage_daemon.port);
}

void stage_daemon_end(void)
{
    wire_close(&stage_wire);
    wire_daemon_stop(&stage_daemon);
    wire_daemon_fini(&stage_daemon);
}

enum { PATH_MAX_CELLS = 4096 }; /* of the daemon's --path-cells-max */

struct stage_seen stage_seen;

#define SAY(...) PLAY_SAY(&stage->play, __VA_ARGS__)

static const char map_name[] = "stage";

/* ---- Opening ---- */

void stage_open_message(Tickpath__OpenSession *open, Tickpath__Budget *budget,
                        const struct tp_session_params *params, bool on_graph)
{
    tickpath__open_session__init(open);
    tickpath__budget__init(budget);
    ck_assert(params->budget.kind != TP_BUDGET_DEADLINE);
    open->map = (char *)map_name;
    open->has_start = open->has_goal = open->has_neighbours = open->has_corners = 1;
    open->has_w = params->w_milli != TP_W_UNSET;
    open->start = params->start;
    open->goal = params->goal;
    open->algorithm = (char *)params->algorithm->name;
    open->w = params->w_milli / 1000.0;
    open->neighbours = (uint32_t)params->neighbours;
    open->corners = (Tickpath__Corners)(params->corners + 1); /* the wire counts from 1 */
    open->has_goal_policy = open->has_knowledge = open->has_motion = 1;
    open->goal_policy = (Tickpath__GoalPolicy)(params->goal_policy + 1);
    open->knowledge = (Tickpath__Knowledge)(params->knowledge + 1);
    open->motion = (Tickpath__Motion)(params->motion + 1);
    open->has_restart = params->restart != TP_RESTART_DEFAULT;
    open->restart = (Tickpath__Restart)params->restart;
    open->has_heuristic = params->heuristic != TP_HEURISTIC_DEFAULT;
    open->heuristic = (Tickpath__Heuristic)params->heuristic;
    open->has_shortcut = open->has_path_switch = open->has_longest_path_rule = 1;
    open->shortcut = params->shortcut;
    open->path_switch = params->path_switch;
    open->longest_path_rule = params->longest_path_rule;
    open->has_pause_on_backtrack = params->pause_on_backtrack != TP_PAUSE_DEFAULT;
    open->pause_on_backtrack = params->pause_on_backtrack == TP_PAUSE_ON_BACKTRACK;
    open->has_switch_margin = 1;
    open->switch_margin = params->switch_margin_milli / 1000.0;
    open->has_node_bytes_max = params->node_bytes_max != 0;
    open->node_bytes_max = params->node_bytes_max;
    open->has_sensor_radius = params->sensor_radius != 0;
    open->sensor_radius = params->sensor_radius;
    open->has_start_vx = open->has_start_vy = params->motion == TP_MOTION_INERTIA;
    open->start_vx = params->start_vx;
    open->start_vy = params->start_vy;
    open->has_bounded = params->bounded;
    open->bounded = params->bounded;
    open->has_guide_units = params->guide_units != TP_GUIDE_UNITS_UNSET;
    open->guide_units = params->guide_units;
    open->n_more_goals = params->more_goal_count;
    open->more_goals = (uint32_t *)params->more_goals;
    if (params->goal_policy == TP_GOAL_WITHIN) {
        tp_cost unit = on_graph ? 1 : TP_COST_UNIT, milli = (params->goal_radius * 1000 + unit - 1) / unit;
        ck_assert_uint_eq(milli * unit / 1000, params->goal_radius); /* the wire has 3 decimals */
        open->has_goal_radius = 1;
        open->goal_radius = (double)milli / 1000.0;
    }
    open->budget = budget;
    if (params->budget.kind == TP_BUDGET_K) {
        budget->has_k = 1;
        budget->k = params->budget.expansions;
    } else {
        budget->has_resource_limit = budget->has_expansion_share = budget->has_trace_steps = 1;
        budget->resource_limit = params->budget.expansions;
        budget->expansion_share = params->budget.r_milli / 1000.0;
        budget->trace_steps = params->budget.c;
    }
}

static void put_grid(struct stage *stage)
{
    const struct tp_map *map = stage->play.map;
    Tickpath__ClassWeight weights[256], *rows[256];
    size_t count = 0;
    for (uint32_t i = 0; i < 256; i++) {
        if (!map->profile.weight[i])
            continue;
        tickpath__class_weight__init(&weights[count]);
        weights[count].has_terrain = weights[count].has_weight = 1;
        weights[count].terrain = i;
        weights[count].weight = map->profile.weight[i];
        rows[count] = &weights[count];
        count++;
    }
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = (char *)map_name;
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = put.replace =
        1;
    put.width = map->width;
    put.height = map->height;
    put.n_profile = count;
    put.profile = rows;
    put.cells.len = (size_t)map->width * map->height;
    put.cells.data = malloc(put.cells.len);
    ck_assert_ptr_nonnull(put.cells.data);
    for (uint32_t i = 0; i < put.cells.len; i++)
        put.cells.data[i] = tp_map_class(map, i % map->width, i / map->width);
    wire_reply_free(
        wire_ask(stage->wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    free(put.cells.data);
}

static void put_graph(struct stage *stage, const struct stage_graph *graph)
{
    uint32_t *numbers = malloc((3 * graph->edge_count + 1) * sizeof *numbers);
    ck_assert_ptr_nonnull(numbers);
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    put.map = (char *)map_name;
    put.has_nodes = put.has_edges = put.has_last = put.last = put.has_replace = put.replace = 1;
    put.nodes = graph->nodes;
    put.edges = (uint32_t)graph->edge_count;
    put.n_edge_from = put.n_edge_to = put.n_edge_cost = graph->edge_count;
    put.edge_from = numbers;
    put.edge_to = numbers + graph->edge_count;
    put.edge_cost = put.edge_to + graph->edge_count;
    for (size_t i = 0; i < graph->edge_count; i++) {
        put.edge_from[i] = graph->edges[i].from;
        put.edge_to[i] = graph->edges[i].to;
        put.edge_cost[i] = graph->edges[i].cost;
    }
    put.n_node_x = put.n_node_y = graph->x ? graph->nodes : 0;
    put.node_x = (double *)graph->x;
    put.node_y = (double *)graph->y;
    wire_reply_free(
        wire_ask(stage->wire, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    free(numbers);
}

static void name_it(struct stage *stage, const char *name)
{
    struct play *play = &stage->play;
    snprintf(play->label, sizeof play->label, "%s%s: %s, policy %d, %c %llu", stage->wire ? "wire, " : "",
             name, play->params.algorithm->name, (int)play->params.goal_policy,
             "kR"[play->params.budget.kind == TP_BUDGET_R],
             (unsigned long long)play -> params.budget.expansions);
}

static void open_twin(struct stage *stage)
{
    Tickpath__OpenSession open;
    Tickpath__Budget budget;
    ck_assert(stage->play.params.knowledge != TP_KNOWLEDGE_MAP);
    stage_open_message(&open, &budget, &stage->play.params, stage->play.graph != NULL);
    Tickpath__Reply *reply = wire_ask(stage->wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open,
                                      TICKPATH__REPLY__BODY_SESSION_OPENED);
    stage->session = reply->session_opened->session;
    SAY(reply->session_opened->version == 1, "opened at another version than that put");
    stage->ahead = stage->play.map->version - 1;
    wire_reply_free(reply);
}

void stage_open(struct stage *stage, struct wire *wire, const struct tp_session_params *params,
                const struct tp_map *map, const char *name)
{
    *stage = (struct stage){.wire = wire};
    play_open(&stage->play, params, map);
    name_it(stage, name);
    if (wire == NULL)
        return;
    put_grid(stage);
    open_twin(stage);
}

void stage_open_graph(struct stage *stage, struct wire *wire, const struct tp_session_params *params,
                      const struct stage_graph *graph, const char *name)
{
    *stage = (struct stage){.wire = wire};
    const struct tp_graph *built;
    struct tp_map *map = NULL;
    size_t bad;
    ck_assert_int_eq(
        tp_graph_build(&built, graph->nodes, graph->edges, graph->edge_count, graph->x, graph->y, &bad), 0);
    ck_assert_int_eq(tp_map_build_graph(&map, built, 1, 1), 0);
    plain_graph_init(&stage->plain, graph->nodes, graph->edges, graph->edge_count);
    play_open_graph(&stage->play, params, map, &stage->plain, NULL);
    name_it(stage, name);
    tp_map_unref(map);
    tp_graph_unref(built);
    if (wire == NULL)
        return;
    put_graph(stage, graph);
    open_twin(stage);
}

/* ---- Ticks ---- */

static void compare_path(struct stage *stage, const Tickpath__Path *path)
{
    uint32_t cells[PATH_MAX_CELLS], count = tp_session_path(stage->play.session, cells, PATH_MAX_CELLS);
    SAY(path->n_cell == count, "the daemon's path has %zu cells, the library's %u", path->n_cell, count);
    for (uint32_t i = 0; i < count; i++)
        SAY(path->cell[i] == cells[i], "cell %u of the path is %u, the library has %u", i, path->cell[i],
            cells[i]);
}

static void compare(struct stage *stage, const Tickpath__Ticked *got, const struct tp_tick_reply *r)
{
#define SAME(field, want)                                                                                    \
    SAY(got->n_##field == 1 && (uint64_t)got->field[0] == (uint64_t)(want),                                  \
        "the daemon says " #field " %lld, the library %lld", got->n_##field ? (long long)got->field[0] : -1, \
        (long long)(want))
    SAY(got->n_refused == 0, "the daemon does not tick it");
    SAME(session, stage->session);
    SAME(cell, r->to);
    SAME(status, r->status);
    SAME(flags, r->flags);
    SAME(version, r->version - stage->ahead);
    SAME(cost, r->cost);
    SAME(expansions, r->work.expansions);
    SAME(traced, r->work.traced);
    SAME(generated, r->work.generated);
    SAME(learned, r->work.learned);
    SAME(guide_expansions, r->work.guide);
#undef SAME
    if (stage->play.drives)
        SAY(got->n_vx == 1 && got->n_vy == 1 && got->vx[0] == r->vx && got->vy[0] == r->vy, "velocity");
    else
        SAY(got->n_vx == 0 && got->n_vy == 0, "a velocity");
    SAY(got->n_path == 1, "no path");
    compare_path(stage, got->path[0]);
    stage_seen.statuses |= 1u << got->status[0];
    stage_seen.flags |= got->flags[0];
}

struct tp_tick_reply stage_tick(struct stage *stage)
{
    struct tp_tick_reply reply = play_tick(&stage->play, NULL);
    if (stage->wire == NULL)
        return reply;
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    uint32_t from = reply.from;
    tick.n_session = 1;
    tick.session = &stage->session;
    tick.has_want_work = tick.want_work = tick.has_want_path = tick.want_path = 1;
    tick.n_at_session = tick.n_at_cell = stage->at_is_told;
    tick.at_session = &stage->session;
    tick.at_cell = &from;
    stage->at_is_told = false;
    Tickpath__Reply *got =
        wire_ask(stage->wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    compare(stage, got->ticked, &reply);
    wire_reply_free(got);
    return reply;
}

struct tp_tick_reply stage_until_settled(struct stage *stage, uint64_t ticks_max)
{
    struct tp_tick_reply reply;
    do
        reply = stage_tick(stage);
    while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE && --ticks_max > 0);
    return reply;
}

/* ---- What comes between ticks ---- */

static uint32_t change_cell(const struct stage *stage, const struct tp_change *change)
{
    return change->y * stage->play.map->width + change->x;
}

static void send_batch(struct stage *stage, const struct tp_change *changes, size_t count)
{
    enum { MOST = 64 };
    uint32_t places[MOST], to[MOST];
    Tickpath__Rectangle rectangles[MOST], *rows[MOST];
    ck_assert(count > 0 && count <= MOST);
    enum tp_change_kind kind = changes[0].kind;
    for (size_t i = 0; i < count; i++) {
        const struct tp_change *change = &changes[i];
        bool of_graph = kind == TP_CHANGE_EDGE || kind == TP_CHANGE_NODE;
        ck_assert(change->kind == kind && kind != TP_CHANGE_BITMAP);
        places[i] = of_graph ? change->x : change_cell(stage, change);
        to[i] = of_graph ? change->y : change->class_to;
        tickpath__rectangle__init(&rectangles[i]);
        rectangles[i].has_x = rectangles[i].has_y = rectangles[i].has_width = rectangles[i].has_height =
            rectangles[i].has_terrain = 1;
        rectangles[i].x = change->x;
        rectangles[i].y = change->y;
        rectangles[i].width = change->width;
        rectangles[i].height = change->height;
        rectangles[i].terrain = change->class_to;
        rows[i] = &rectangles[i];
    }
    Tickpath__ChangeCosts message = TICKPATH__CHANGE_COSTS__INIT;
    message.map = (char *)map_name;
    message.cell = message.edge = message.node = places;
    message.cell_terrain = message.edge_cost = message.node_open = to;
    message.rectangle = rows;
    switch (kind) {
    case TP_CHANGE_CELL:
        message.n_cell = message.n_cell_terrain = count;
        break;
    case TP_CHANGE_RECT:
        message.n_rectangle = count;
        break;
    case TP_CHANGE_EDGE:
        message.n_edge = message.n_edge_cost = count;
        break;
    default:
        message.n_node = message.n_node_open = count;
        break;
    }
    Tickpath__Reply *reply =
        wire_ask(stage->wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &message, TICKPATH__REPLY__BODY_CHANGED);
    SAY(reply->changed->version == stage->play.map->version - stage->ahead, "the batch made version %llu",
        (unsigned long long)reply->changed->version);
    wire_reply_free(reply);
}

void stage_apply(struct stage *stage, const struct tp_change *changes, size_t count)
{
    for (size_t i = 0; stage->play.graph && i < count; i++) {
        if (changes[i].kind == TP_CHANGE_NODE)
            plain_graph_set_node(&stage->plain, changes[i].x, changes[i].y);
        else
            plain_graph_set_edge(&stage->plain, changes[i].x, changes[i].y);
    }
    play_apply(&stage->play, changes, count);
    if (stage->wire != NULL)
        send_batch(stage, changes, count);
}

void stage_set(struct stage *stage, uint32_t x, uint32_t y, char class_to)
{
    struct tp_change change = {.kind = TP_CHANGE_CELL, .class_to = (uint8_t)class_to, .x = x, .y = y};
    stage_apply(stage, &change, 1);
}

void stage_set_node(struct stage *stage, uint32_t node, bool open)
{
    struct tp_change change = {.kind = TP_CHANGE_NODE, .x = node, .y = open};
    stage_apply(stage, &change, 1);
}

static void send_goals(struct stage *stage, const uint32_t *goals, uint32_t count)
{
    if (stage->wire == NULL)
        return;
    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    set.has_session = set.has_goal = 1;
    set.session = stage->session;
    set.goal = goals[0];
    set.n_more_goals = count - 1;
    set.more_goals = (uint32_t *)goals + 1;
    wire_reply_free(
        wire_ask(stage->wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__REPLY__BODY_GOAL_SET));
}

void stage_retarget(struct stage *stage, uint32_t goal)
{
    play_retarget(&stage->play, goal);
    send_goals(stage, &goal, 1);
}

void stage_retarget_set(struct stage *stage, const uint32_t *goals, uint32_t count)
{
    play_retarget_set(&stage->play, goals, count);
    send_goals(stage, goals, count);
}

void stage_at(struct stage *stage, uint32_t cell)
{
    play_at(&stage->play, cell);
    stage->at_is_told = true;
}

/* ---- Closing ---- */

static void compare_measures(struct stage *stage)
{
    Tickpath__List list = TICKPATH__LIST__INIT;
    list.has_sessions = list.sessions = 1;
    Tickpath__Reply *reply =
        wire_ask(stage->wire, TICKPATH__REQUEST__BODY_LIST, &list, TICKPATH__REPLY__BODY_LISTING);
    const struct tp_session_stats *stats = &stage->play.stats;
    SAY(reply->listing->n_session == 1, "%zu sessions", reply->listing->n_session);
    const Tickpath__SessionInfo *info = reply->listing->session[0];
#define SAME(field, want)                                                                                    \
    SAY(info->field == (want), "the daemon counts " #field " %llu, the library %llu",                        \
        (unsigned long long)info->field, (unsigned long long)(want))
    SAME(session, stage->session);
    SAME(cell, stage->play.cell);
    SAME(goal, stage->play.goal);
    SAME(ticks, stats->ticks);
    SAME(moves, stats->moves);
    SAME(back_moves, stats->back_moves);
    SAME(cost, stats->cost);
    SAME(expansions, stats->expansions);
    SAME(restarts, stats->restarts);
    SAME(expansions_max, stats->expansions_max);
    SAME(flips, stats->flips);
    SAME(guide_expansions, stats->guide);
    SAME(move_hash, stats->move_hash);
#undef SAME
    wire_reply_free(reply);
}

void stage_close(struct stage *stage)
{
    if (stage->wire != NULL) {
        compare_measures(stage);
        Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
        close.n_session = 1;
        close.session = &stage->session;
        wire_reply_free(wire_ask(stage->wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                                 TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    }
    play_close(&stage->play);
    if (stage->play.graph)
        plain_graph_fini(&stage->plain);
}
