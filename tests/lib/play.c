#include "tests/lib/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_LOOK = 400 }; /* cells of the path looked at after each tick */

static bool clock_expired(void *context)
{
    struct play_clock *clock = context;
    if (clock->looks == 0)
        return true;
    clock->looks--;
    return false;
}

struct tp_budget play_deadline(struct play_clock *clock)
{
    return (struct tp_budget){.kind = TP_BUDGET_DEADLINE,
                              .c = 10,
                              .expired = clock_expired,
                              .context = clock,
                              .expansions_max = UINT64_MAX};
}

static enum ref_corners corners_of(enum tp_corners corners)
{
    switch (corners) {
    case TP_CORNERS_ONE_FREE:
        return REF_ONE_FREE;
    case TP_CORNERS_ALWAYS:
        return REF_ALWAYS;
    default:
        return REF_BOTH_FREE;
    }
}

struct ref_problem play_problem(const struct tp_map *map, const struct tp_session_params *params)
{
    if (map->graph)
        return (struct ref_problem){.start = params->start, .goal = params->goal};
    uint16_t *weight = calloc((size_t)map->width * map->height, sizeof *weight);
    ck_assert_ptr_nonnull(weight);
    for (uint32_t y = 0; y < map->height; y++) {
        for (uint32_t x = 0; x < map->width; x++)
            weight[y * map->width + x] = map->profile.weight[tp_map_class(map, x, y)];
    }
    uint16_t least = 0;
    for (int i = 0; i < 256; i++) {
        uint16_t w = map->profile.weight[i];
        if (w && (!least || w < least))
            least = w;
    }
    return (struct ref_problem){.width = map->width,
                                .height = map->height,
                                .weight = weight,
                                .least_weight = least ? least : 1,
                                .neighbours = (int)params->neighbours,
                                .corners = corners_of(params->corners),
                                .start = params->start,
                                .goal = params->goal,
                                .w_milli = params->w_milli != TP_W_UNSET ? params->w_milli : 1000};
}

uint64_t play_h(const struct play *play, uint32_t cell)
{
    uint64_t least = UINT64_MAX;
    uint32_t width = play->map->width;
    for (uint32_t i = 0; i < play->goal_count; i++) {
        uint32_t goal = play->goals[i];
        uint64_t dx = (uint64_t)llabs((int64_t)(cell % width) - goal % width);
        uint64_t dy = (uint64_t)llabs((int64_t)(cell / width) - goal / width);
        uint64_t h = play->map->graph ? tp_graph_h(play->map->graph, cell, goal)
                     : play->drives   ? (dx > dy ? dx : dy) * TP_COST_UNIT / 3
                                      : ref_distance(&play->plain, cell, goal);
        least = h < least ? h : least;
    }
    return least;
}

/* Finds the cells where the goal policy is met. */
static void find_ends(struct play *play)
{
    uint32_t cells = play->map->width * play->map->height;
    free(play->ends);
    play->ends = calloc(cells, 1);
    ck_assert_ptr_nonnull(play->ends);
    for (uint32_t cell = 0; play->params.goal_policy == TP_GOAL_WITHIN && cell < cells; cell++)
        play->ends[cell] = play_h(play, cell) <= play->params.goal_radius;
    for (uint32_t i = 0; i < play->goal_count; i++)
        play->ends[play->goals[i]] = 1;
    play->asked.version = 0;
}

/* What the session is handed of a version: a guided row on a grid, its layer with a block graph, made from the one before. */
static void serve_map(struct play *play, const struct tp_map *map)
{
    const struct tp_session_params *params = &play->params;
    bool guided = tp_session_wants_blocks(params, map);
    const struct tp_map *before = play->served;
    struct tp_map *layer;
    if (!guided) {
        play->served = tp_map_ref(map);
    } else {
        play->kind = (struct tp_layer_kind){map->profile, 1, true, tp_blocks_links_of(params->neighbours, params->corners)};
        bool follows = before && before->epoch == map->epoch && before->version <= map->version;
        ck_assert_int_eq(follows ? tp_layer_follow(&layer, before, play->map, map, &play->kind)
                                 : tp_layer_build(&layer, map, &play->kind), 0);
        play->served = layer;
    }
    tp_map_unref(before);
}

static void take_map(struct play *play, struct tp_map *map)
{
    serve_map(play, map);
    free((void *)play->plain.weight);
    tp_map_unref(play->map);
    play->map = map;
    play->asked.version = 0;
    play->plain = play_problem(map, &play->params);
    if (play->goal_count)
        find_ends(play);
}

static uint64_t state_of(const struct play *play)
{
    return (uint64_t)(play->vx + 3) << 40 | (uint64_t)(play->vy + 3) << 36 | play->cell;
}

static void record_state(struct play *play)
{
    if (play->record.count == play->record.room) {
        play->record.room = play->record.room ? 2 * play->record.room : 64;
        play->record.states = realloc(play->record.states, play->record.room * sizeof *play->record.states);
        ck_assert_ptr_nonnull(play->record.states);
    }
    play->record.states[play->record.count++] = state_of(play);
}

/* Something but a move happened: the record begins anew where the agent stands. */
static void record_anew(struct play *play)
{
    play->record.count = 0;
    play->record.told = false;
    record_state(play);
}

/* The agent or its goal was put elsewhere. */
static void begin_trip(struct play *play)
{
    record_anew(play);
    play->proof.begun = false;
}

void play_open_graph(struct play *play, const struct tp_session_params *params, const struct tp_map *map,
                     const struct plain_graph *graph, struct tp_pool *pool)
{
    memset(play, 0, sizeof *play);
    snprintf(play->label, sizeof play->label, "%s", params->algorithm->name);
    play->params = *params;
    tp_map_ref(map);
    take_map(play, (struct tp_map *)map);
    play->cell = params->start;
    play->goal = params->goal;
    ck_assert(!map->graph == !graph);
    play->graph = graph;
    play->drives = params->motion == TP_MOTION_INERTIA;
    play->vx = params->start_vx;
    play->vy = params->start_vy;
    play->goals[0] = params->goal;
    play->goal_count = 1 + params->more_goal_count;
    for (uint32_t i = 0; i < params->more_goal_count; i++)
        play->goals[1 + i] = params->more_goals[i];
    find_ends(play);
    play->hash = UINT64_C(0xcbf29ce484222325);
    if (!pool)
        tp_pool_init(&play->own_pool, NULL);
    play->pool = pool ? pool : &play->own_pool;
    struct tp_refusal refusal = {NULL, NULL};
    struct tp_session_params given = *params;
    if (play->served != play->map && params->knowledge == TP_KNOWLEDGE_MAP) {
        struct tp_layer_kind kind = play->kind;
        struct tp_map *told;
        kind.profile = params->known->profile;
        ck_assert_int_eq(tp_layer_build(&told, params->known, &kind), 0);
        given.known = play->told = told;
    }
    if (play->served != play->map) {
        play->fields = params->fields ? params->fields : tp_field_cache_open(play->pool, 64 << 20);
        ck_assert_ptr_nonnull(play->fields);
        given.fields = play->fields;
    }
    int error = tp_session_open(&play->session, &given, play->served, play->pool, &refusal);
    ck_assert_msg(error == 0, "%s: %s: %s: %s", play->label, tp_error_name(error),
                  refusal.field ? refusal.field : "-", refusal.reason ? refusal.reason : "-");
    ck_assert_uint_eq(tp_session_cell(play->session), params->start);
    ck_assert_uint_eq(tp_session_goal(play->session), params->goal);
    ck_assert_ptr_eq(tp_session_algorithm(play->session), params->algorithm);
    tp_session_stats(play->session, &play->stats);
    play->version_before = map->version;
    play->record.epoch = map->epoch;
    record_anew(play);
}

void play_open_in(struct play *play, const struct tp_session_params *params, const struct tp_map *map,
                  struct tp_pool *pool)
{
    play_open_graph(play, params, map, NULL, pool);
}

void play_open(struct play *play, const struct tp_session_params *params, const struct tp_map *map)
{
    play_open_in(play, params, map, NULL);
}

#define SAY(...) PLAY_SAY(play, __VA_ARGS__)

struct plain_track play_track(const struct play *play)
{
    return (struct plain_track){play->map->width, play->map->height, play->plain.weight, play->goal, play->ends};
}

struct plain_vehicle play_vehicle(const struct play *play)
{
    return (struct plain_vehicle){play->cell, play->vx, play->vy};
}

/* Whether the agent changed its state: a vehicle may brake where it stands. */
static bool moved(const struct play *play, const struct tp_tick_reply *r)
{
    if (play->drives && play->ends[play->cell])
        return false; /* it stands where it had arrived */
    return r->to != r->from || r->vx != play->vx || r->vy != play->vy;
}

static uint64_t grid_move(struct play *play, const struct tp_tick_reply *r)
{
    uint32_t width = play->map->width;
    uint64_t cost = 0;
    SAY(ref_step(&play->plain, r->from, r->to, &cost), "the move %u to %u is not legal", r->from, r->to);
    SAY(tp_walk_legal(play->map, r->from % width, r->from / width, r->to % width, r->to / width,
                      play->params.neighbours, play->params.corners),
        "tp_walk_legal refuses %u to %u", r->from, r->to);
    return cost;
}

/* Of parallel edges the cheapest open one is taken. */
static uint64_t graph_move(struct play *play, const struct tp_tick_reply *r)
{
    uint64_t cost = plain_graph_step_cost(play->graph, r->from, r->to);
    SAY(plain_graph_joins(play->graph, r->from, r->to), "no edge leads from %u to %u", r->from, r->to);
    SAY(cost != UINT64_MAX, "no edge from %u to %u is open", r->from, r->to);
    return cost;
}

static uint64_t vehicle_move(struct play *play, const struct tp_tick_reply *r)
{
    struct plain_track track = play_track(play);
    struct plain_vehicle out[9];
    int count = plain_vehicle_moves(&track, play_vehicle(play), out);
    bool legal = false;
    for (int i = 0; i < count; i++)
        legal |= out[i].cell == r->to && out[i].vx == r->vx && out[i].vy == r->vy;
    SAY(legal, "%u at (%d, %d) can't come to %u at (%d, %d)", r->from, play->vx, play->vy, r->to, r->vx, r->vy);
    return TP_COST_UNIT;
}

static void check_move(struct play *play, const struct tp_tick_reply *r)
{
    SAY(r->from == play->cell, "from %u, but the agent stood on %u", r->from, play->cell);
    SAY(r->version == play->map->version, "version %llu, handed in %llu", (unsigned long long)r->version,
        (unsigned long long)play->map->version);
    SAY(r->epoch == play->map->epoch, "epoch");
    SAY(r->to < play->map->width * play->map->height, "to %u lies outside", r->to);
    if (!play->drives || play->ends[r->to])
        SAY(r->vx == 0 && r->vy == 0, "the velocity (%d, %d)", r->vx, r->vy);
    if (moved(play, r)) {
        play->cost += play->graph    ? graph_move(play, r)
                      : play->drives ? vehicle_move(play, r)
                                     : grid_move(play, r);
        play->moves++;
        play->back_moves += (r->flags & TP_FLAG_BACK_MOVE) != 0;
    } else {
        SAY(r->to == r->from, "it stays, but moves to %u", r->to);
    }
    SAY(r->cost == play->cost, "cost %llu, moves add up to %llu", (unsigned long long)r->cost,
        (unsigned long long)play->cost);
}

/* Whether the agent could leave where it stands. */
static bool can_leave(struct play *play)
{
    if (play->graph)
        return plain_graph_leaves(play->graph, play->cell);
    if (play->drives) {
        struct plain_track track = play_track(play);
        struct plain_vehicle out[9];
        return plain_vehicle_moves(&track, play_vehicle(play), out) > 0;
    }
    int64_t width = play->map->width, height = play->map->height;
    int64_t x = play->cell % width, y = play->cell / width;
    for (int64_t to_y = y - 2; to_y <= y + 2; to_y++)
        for (int64_t to_x = x - 2; to_x <= x + 2; to_x++) {
            uint64_t cost;
            bool inside = to_x >= 0 && to_y >= 0 && to_x < width && to_y < height;
            if (inside && ref_step(&play->plain, play->cell, (uint32_t)(to_y * width + to_x), &cost))
                return true;
        }
    return false;
}

/* The agent stands as near to a goal as it can get, and none can be reached. */
static void check_partial(struct play *play, const struct tp_tick_reply *r)
{
    SAY(play->params.goal_policy == TP_GOAL_NEAREST && !play->ends[r->to], "PARTIAL on %u", r->to);
    if (!play_knows_enough(play))
        return;
    SAY(!play_reachable(play), "PARTIAL on %u, but a way leads to a goal", r->to);
    if (play->graph || play->drives || play->params.knowledge != TP_KNOWLEDGE_FULL || play->params.heuristic != TP_HEURISTIC_DEFAULT)
        return;
    uint32_t cells = play->map->width * play->map->height;
    uint8_t *reached = malloc(cells);
    ck_assert_ptr_nonnull(reached);
    ref_flood(&play->plain, r->to, reached);
    for (uint32_t cell = 0; cell < cells; cell++)
        SAY(!reached[cell] || play_h(play, cell) >= play_h(play, r->to), "PARTIAL on %u, but %u can be reached and is nearer",
            r->to, cell);
    free(reached);
}

static void check_status(struct play *play, const struct tp_tick_reply *r)
{
    bool blocked_here = play->graph ? play->graph->closed[r->from] : play->plain.weight && play->plain.weight[r->from] == 0;
    bool moves = moved(play, r);
    switch (r->status) {
    case TP_STATUS_MOVING:
        SAY(moves, "MOVING, but it stays on %u", r->to);
        break;
    case TP_STATUS_SEARCHING:
    case TP_STATUS_BLOCKED:
        SAY(!moves, "status %d, but it moves to %u", (int)r->status, r->to);
        break;
    case TP_STATUS_UNREACHABLE:
        SAY(!moves, "UNREACHABLE, but it moves to %u", r->to);
        SAY(play->params.algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE,
            "this row can't prove UNREACHABLE");
        if (play_knows_enough(play))
            SAY(!play_reachable(play), "UNREACHABLE, but a way leads from %u to %u", r->to, play->goal);
        break;
    case TP_STATUS_ARRIVED:
        if (r->flags & TP_FLAG_PARTIAL)
            check_partial(play, r);
        else
            SAY(play->ends[r->to], "ARRIVED on %u, the goal is %u", r->to, play->goal);
        break;
    default:
        SAY(false, "status %d", (int)r->status);
    }
    bool partial = r->flags & TP_FLAG_PARTIAL;
    SAY(!partial || play->params.goal_policy == TP_GOAL_NEAREST, "PARTIAL");
    if (play->params.goal_policy == TP_GOAL_NEAREST)
        SAY(r->status != TP_STATUS_UNREACHABLE, "UNREACHABLE under NEAREST");
    SAY(!play->ends[r->to] || r->status == TP_STATUS_ARRIVED, "on the goal with status %d", (int)r->status);
    SAY(!(r->flags & TP_FLAG_CONTINUED) || !(r->flags & TP_FLAG_RESTARTED), "CONTINUED and RESTARTED");
    SAY(!(r->flags & TP_FLAG_CONTINUED) || r->version != play->version_before,
        "CONTINUED on the same version");
    if (!blocked_here)
        SAY(!(r->flags & TP_FLAG_START_BLOCKED), "START_BLOCKED on a passable cell");
    else if (!moves)
        SAY(r->flags & TP_FLAG_START_BLOCKED, "no START_BLOCKED on an impassable cell");
}

/* Whether the agent is one that waits instead of moving back: it was told to, or is led, knows the map and was not told. */
static bool pauses(const struct play *play)
{
    enum tp_pause told = play->params.pause_on_backtrack;
    bool by_default = play->fields && play->params.knowledge == TP_KNOWLEDGE_FULL;
    return told == TP_PAUSE_ON_BACKTRACK || (told == TP_PAUSE_DEFAULT && by_default);
}

/* With the option, no back-move as long as the search may still find the way: the agent waits and says why. */
static void check_pause(struct play *play, const struct tp_tick_reply *r)
{
    bool back = r->flags & TP_FLAG_BACK_MOVE, may = r->flags & (TP_FLAG_PATH_COMPLETE | TP_FLAG_NODE_CAP);
    /* after the move, so that the path is gone, or it saw then that the goal is blocked; a purse too small for the adaptive rule begins the
     * new search in a later tick, which says so */
    bool unpaid = play->params.algorithm->learning == TP_LEARNING_ADAPTIVE && !r->work.expansions;
    bool again = r->flags & TP_FLAG_RESTARTED || unpaid ||
                 (play->params.knowledge != TP_KNOWLEDGE_FULL && !play->plain.weight[play->goal]);
    if (!pauses(play)) {
        SAY(!back || moved(play, r), "BACK_MOVE without a move");
        return;
    }
    if (back && moved(play, r))
        SAY(may || again, "a back-move to %u", r->to);
    else if (back)
        SAY(r->status == TP_STATUS_BLOCKED && !may, "BACK_MOVE without a move, status %d", (int)r->status);
}

/* ---- LOOPING ---- */

/* Whether some state was come to 3 times. */
static bool comes_back(const struct play *play)
{
    for (size_t i = 0; i < play->record.count; i++) {
        int visits = 0;
        for (size_t j = i; j < play->record.count; j++)
            visits += play->record.states[j] == play->record.states[i];
        if (visits >= 3)
            return true;
    }
    return false;
}

/* Whether the last three quarters go round in a circle, at least six times: a detector that looks for any period has
 * found it by then. */
static bool goes_round(const struct play *play)
{
    size_t count = play->record.count, from = count / 4;
    for (size_t period = 1; 8 * period < count; period++) {
        size_t i = from + period;
        while (i < count && play->record.states[i] == play->record.states[i - period])
            i++;
        if (i == count)
            return true;
    }
    return false;
}

/* After the agent's place was taken up. `moves`: it came to it in this tick. */
static void check_looping(struct play *play, const struct tp_tick_reply *r, bool moves, bool changed)
{
    bool looping = r->flags & TP_FLAG_LOOPING, complete = r->flags & TP_FLAG_PATH_COMPLETE;
    bool settled = r->status == TP_STATUS_ARRIVED || r->status == TP_STATUS_UNREACHABLE;
    bool completed = complete && !play->record.was_complete;
    play->record.was_complete = complete;
    if (settled || completed || changed || r->work.expansions || r->work.learned)
        record_anew(play);
    else if (moves)
        record_state(play);
    if (looping && !play->record.told)
        SAY(comes_back(play), "LOOPING on %u, but no state was come to 3 times in %zu moves", r->to, play->record.count - 1);
    else if (play->record.told)
        SAY(looping, "LOOPING is not said any more");
    else if (moves)
        SAY(looping || !goes_round(play), "no LOOPING in %zu moves", play->record.count - 1);
    play->record.told = looping;
}

static void check_work(struct play *play, const struct tp_tick_reply *r, const struct tp_budget *budget,
                       uint32_t looks)
{
    const struct tp_tick_work *work = &r->work;
    uint64_t limit = budget->expansions_max;
    switch (budget->kind) {
    case TP_BUDGET_K:
        limit = budget->expansions < limit ? budget->expansions : limit;
        break;
    case TP_BUDGET_R:
        SAY(work->rekeyed <= work->traced && work->traced <= budget->expansions * budget->c &&
                (work->expansions + work->learned) * budget->c + work->traced <= budget->expansions * budget->c,
            "R %llu, c %u spent by %llu expansions, %llu learned, %llu traced, %llu of those rekeyed",
            (unsigned long long)budget->expansions, budget->c, (unsigned long long)work->expansions,
            (unsigned long long)work->learned, (unsigned long long)work->traced, (unsigned long long)work->rekeyed);
        limit = budget->expansions < limit ? budget->expansions : limit;
        break;
    case TP_BUDGET_DEADLINE:
        if (limit > ((uint64_t)looks + 1) * TP_DEADLINE_STRIDE)
            limit = ((uint64_t)looks + 1) * TP_DEADLINE_STRIDE;
        break;
    }
    SAY(work->expansions <= limit, "%llu expansions, at most %llu are allowed",
        (unsigned long long)work->expansions, (unsigned long long)limit);
    uint64_t units = play->params.guide_units;
    if (!(play->params.algorithm->capabilities & TP_CAN_BE_GUIDED))
        units = 0;
    else if (units == TP_GUIDE_UNITS_UNSET)
        units = TP_GUIDE_UNITS_DEFAULT;
    units = budget->caps_guide && budget->guide_max < units ? budget->guide_max : units;
    SAY(work->guide <= units, "%llu guide units, at most %llu are allowed", (unsigned long long)work->guide,
        (unsigned long long)units);
    play->expansions += work->expansions;
    if (work->expansions > play->expansions_max)
        play->expansions_max = work->expansions;
}

static void check_stats(struct play *play, const struct tp_tick_reply *r, bool moves)
{
    struct tp_session_stats *s = &play->stats, before = *s;
    tp_session_stats(play->session, s);
    SAY(s->ticks == play->ticks, "stats: %llu ticks", (unsigned long long)s->ticks);
    SAY(s->moves == play->moves, "stats: %llu moves of %llu", (unsigned long long)s->moves,
        (unsigned long long)play->moves);
    SAY(s->back_moves == play->back_moves, "stats: %llu back-moves of %llu",
        (unsigned long long)s->back_moves, (unsigned long long)play->back_moves);
    play->flips += r->flips;
    SAY(s->flips == play->flips, "stats: flips");
    SAY(s->cost == play->cost, "stats: cost");
    SAY(s->expansions == play->expansions, "stats: %llu expansions of %llu",
        (unsigned long long)s->expansions, (unsigned long long)play->expansions);
    SAY(s->expansions_max == play->expansions_max, "stats: expansions_max %llu, seen %llu",
        (unsigned long long)s->expansions_max, (unsigned long long)play->expansions_max);
    const struct tp_tick_work *w = &r->work;
    SAY(s->generated == before.generated + w->generated && s->traced == before.traced + w->traced &&
            s->learned == before.learned + w->learned && s->rekeyed == before.rekeyed + w->rekeyed && s->guide == before.guide + w->guide,
        "stats: the work does not add up");
    SAY((s->restarts > before.restarts) == ((r->flags & TP_FLAG_RESTARTED) != 0),
        "RESTARTED, but %llu restarts", (unsigned long long)s->restarts);
    SAY((s->move_hash != before.move_hash) == moves, "stats: move_hash");
    SAY(s->bytes <= s->bytes_peak, "stats: more bytes than the peak");
    if (play->params.node_bytes_max)
        SAY(s->bytes_peak <= play->params.node_bytes_max, "%llu bytes at the peak, the cap is %llu",
            (unsigned long long)s->bytes_peak, (unsigned long long)play->params.node_bytes_max);
    SAY(tp_session_cell(play->session) == play->cell, "tp_session_cell");
    SAY(tp_session_goal(play->session) == play->goal, "tp_session_goal");
    play->at_partial = r->status == TP_STATUS_ARRIVED && r->flags & TP_FLAG_PARTIAL;
    SAY(tp_session_arrived(play->session) == (play->ends[play->cell] || play->at_partial), "tp_session_arrived");
}

/* The path begins on the agent's cell and goes on in single moves; whether they are free still is another
 * matter. A vehicle's moves lead elsewhere on a changed map, and so may its path. */
static void check_path(struct play *play, const struct tp_tick_reply *r)
{
    uint32_t cells[PATH_LOOK];
    uint32_t count = tp_session_path(play->session, cells, PATH_LOOK);
    SAY(count <= PATH_LOOK, "a path of %u cells in room for %d", count, PATH_LOOK);
    if (count)
        SAY(cells[0] == play->cell, "the path begins on %u, the agent stands on %u", cells[0], play->cell);
    if (play->ticks == 1 || r->flags & TP_FLAG_RESTARTED)
        play->version_begun = r->version;
    bool on_it = r->status == TP_STATUS_MOVING && !(r->flags & TP_FLAG_BACK_MOVE) &&
                 (!play->drives || r->version == play->version_begun);
    if (on_it && (r->flags & TP_FLAG_PATH_COMPLETE) && count < PATH_LOOK)
        SAY(r->flags & TP_FLAG_PARTIAL ? count > 0 : count > 1 && play->ends[cells[count - 1]], "PATH_COMPLETE, but the path of %u cells ends on %u",
            count, count ? cells[count - 1] : 0);
    uint32_t width = play->map->width;
    for (uint32_t i = 1; i < count; i++) {
        if (play->graph) {
            SAY(plain_graph_joins(play->graph, cells[i - 1], cells[i]), "the path leaps from %u to %u",
                cells[i - 1], cells[i]);
            continue;
        }
        int64_t dx = (int64_t)(cells[i] % width) - cells[i - 1] % width;
        int64_t dy = (int64_t)(cells[i] / width) - cells[i - 1] / width;
        bool near = play->drives ? llabs(dx) <= 3 && llabs(dy) <= 3
                                 : tp_walk_direction(dx, dy, play->params.neighbours) != TP_DIRECTION_NONE;
        SAY(near, "the path leaps from %u to %u", cells[i - 1], cells[i]);
    }
}

/* TICKPATH_TRACE=1: a line for each tick. */
static void trace(const struct play *play, const struct tp_budget *budget, const struct tp_tick_reply *r)
{
    static const char kinds[] = "KRD";
    static int wanted = -1;
    if (wanted < 0)
        wanted = getenv("TICKPATH_TRACE") != NULL;
    if (!wanted)
        return;
    if (play->ticks == 1)
        printf("%s\n", play->label);
    printf("tick %llu v%llu %c%lld r %u c %u max %lld: %u -> %u goal %u status %d flags %x work "
           "%llu/%llu/%llu/%llu "
           "(%d, %d) restarts %llu\n",
           (unsigned long long)play->ticks, (unsigned long long)r->version, kinds[budget->kind],
           (long long)budget->expansions, budget->r_milli, budget->c, (long long)budget->expansions_max,
           r->from, r->to, play->goal, (int)r->status, r->flags, (unsigned long long)r->work.expansions,
           (unsigned long long)r->work.generated, (unsigned long long)r->work.traced,
           (unsigned long long)r->work.rekeyed, r->vx, r->vy, (unsigned long long)play->stats.restarts);
}

struct tp_tick_reply play_tick(struct play *play, const struct tp_budget *budget)
{
    const struct tp_budget *in_force = budget ? budget : &play->params.budget;
    uint32_t looks =
        in_force->kind == TP_BUDGET_DEADLINE ? ((struct play_clock *)in_force->context)->looks : 0;
    struct tp_tick_reply reply;
    memset(&reply, 0xa5, sizeof reply); /* every field must be written */
    play->ticks++;
    play_bound_begin(play);
    tp_session_tick(play->session, play->served, budget, &reply);
    trace(play, in_force, &reply);
    bool moves = moved(play, &reply);
    bool changed = reply.version != play->version_before || reply.epoch != play->record.epoch;
    check_move(play, &reply);
    check_status(play, &reply);
    check_pause(play, &reply);
    check_work(play, &reply, in_force, looks);
    play->cell = reply.to;
    play->vx = reply.vx;
    play->vy = reply.vy;
    bool dead_end = reply.flags & TP_FLAG_DEAD_END;
    SAY(dead_end == !can_leave(play), "%s DEAD_END on %u", dead_end ? "a false" : "no", reply.to);
    check_stats(play, &reply, moves);
    check_path(play, &reply);
    play_bound_check(play, &reply, in_force);
    check_looping(play, &reply, moves, changed);
    play->version_before = reply.version;
    play->record.epoch = reply.epoch;
    uint64_t velocity = (uint64_t)(reply.vy + 3) * 7 + (uint64_t)(reply.vx + 3);
    play->hash = (play->hash ^ (velocity << 40 | (uint64_t)reply.to << 3 | reply.status)) * UINT64_C(0x100000001b3);
    return reply;
}

struct tp_tick_reply play_until_settled(struct play *play, const struct tp_budget *budget, uint64_t ticks_max)
{
    struct tp_tick_reply reply;
    do
        reply = play_tick(play, budget);
    while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE && --ticks_max > 0);
    return reply;
}

void play_apply(struct play *play, const struct tp_change *changes, size_t count)
{
    struct tp_map *next;
    size_t bad;
    uint32_t bad_x, bad_y;
    int error = tp_map_apply(&next, play->map, changes, count, &bad, &bad_x, &bad_y);
    SAY(error == 0, "tp_map_apply: %s", tp_error_name(error));
    take_map(play, next);
}

void play_set(struct play *play, uint32_t x, uint32_t y, char class_to)
{
    struct tp_change change = {.kind = TP_CHANGE_CELL, .class_to = (uint8_t)class_to, .x = x, .y = y};
    play_apply(play, &change, 1);
}

void play_use_map(struct play *play, const struct tp_map *map)
{
    tp_map_ref(map);
    take_map(play, (struct tp_map *)map);
}

void play_at(struct play *play, uint32_t cell)
{
    int error = tp_session_at(play->session, cell);
    SAY(error == 0, "tp_session_at: %s", tp_error_name(error));
    SAY(tp_session_cell(play->session) == cell, "tp_session_cell after at");
    bool same = cell == play->cell && !play->vx && !play->vy;
    play->cell = cell;
    play->vx = play->vy = 0;
    if (!same)
        begin_trip(play);
}

void play_at_velocity(struct play *play, uint32_t cell, int vx, int vy)
{
    int error = tp_session_at_velocity(play->session, cell, vx, vy);
    SAY(error == 0, "tp_session_at_velocity: %s", tp_error_name(error));
    bool same = cell == play->cell && vx == play->vx && vy == play->vy;
    play->cell = cell;
    play->vx = vx;
    play->vy = vy;
    if (!same)
        begin_trip(play);
}

void play_retarget(struct play *play, uint32_t goal)
{
    int error = tp_session_retarget(play->session, goal);
    SAY(error == 0, "tp_session_retarget: %s", tp_error_name(error));
    SAY(tp_session_goal(play->session) == goal, "tp_session_goal after retarget");
    if (goal != play->goal || play->goal_count > 1)
        begin_trip(play);
    play->goal = play->goals[0] = goal;
    play->goal_count = 1;
    find_ends(play);
}

void play_retarget_set(struct play *play, const uint32_t *goals, uint32_t count)
{
    int error = tp_session_retarget_set(play->session, goals, count);
    SAY(error == 0, "tp_session_retarget_set: %s", tp_error_name(error));
    SAY(tp_session_goal(play->session) == goals[0], "tp_session_goal after retarget_set");
    if (count != play->goal_count || memcmp(play->goals, goals, count * sizeof *goals) != 0)
        begin_trip(play);
    memcpy(play->goals, goals, count * sizeof *goals);
    play->goal = goals[0];
    play->goal_count = count;
    find_ends(play);
}

static bool find_out_reachable(const struct play *play)
{
    if (play->graph) {
        for (uint32_t node = 0; node < play->map->width * play->map->height; node++)
            if (play->ends[node] && plain_graph_cost(play->graph, play->cell, node) != UINT64_MAX)
                return true;
        return false;
    }
    if (play->drives) {
        struct plain_track track = play_track(play);
        return plain_vehicle_distance(&track, play_vehicle(play)) != UINT64_MAX;
    }
    uint8_t *reached = malloc((size_t)play->map->width * play->map->height);
    ck_assert_ptr_nonnull(reached);
    ref_flood(&play->plain, play->cell, reached);
    bool reachable = false;
    for (uint32_t cell = 0; cell < play->map->width * play->map->height; cell++)
        reachable |= reached[cell] && play->ends[cell];
    free(reached);
    return reachable;
}

bool play_reachable(struct play *play)
{
    if (play->asked.version != play->map->version || play->asked.cell != play->cell ||
        play->asked.goal != play->goal || play->asked.vx != play->vx || play->asked.vy != play->vy) {
        play->asked.version = play->map->version;
        play->asked.cell = play->cell;
        play->asked.goal = play->goal;
        play->asked.vx = play->vx;
        play->asked.vy = play->vy;
        play->asked.reachable = find_out_reachable(play);
    }
    return play->asked.reachable;
}

bool play_knows_enough(const struct play *play)
{
    const struct tp_map *known = play->params.known;
    if (play->params.knowledge != TP_KNOWLEDGE_MAP)
        return true;
    for (uint32_t y = 0; y < play->map->height; y++)
        for (uint32_t x = 0; x < play->map->width; x++) {
            if (tp_map_passable(play->map, x, y) && !play->map->profile.weight[tp_map_class(known, x, y)])
                return false;
        }
    return true;
}

void play_close(struct play *play)
{
    tp_session_close(play->session);
    tp_field_cache_close(play->fields);
    if (play->pool == &play->own_pool) {
        SAY(play->own_pool.used_bytes == 0, "%llu bytes of the pool are out after close",
            (unsigned long long)play->own_pool.used_bytes);
        tp_pool_fini(&play->own_pool);
    }
    free((void *)play->plain.weight);
    free(play->ends);
    free(play->record.states);
    tp_map_unref(play->served);
    tp_map_unref(play->told);
    tp_map_unref(play->map);
}
