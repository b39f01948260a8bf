/* A mind's life: begun and ended, a tick framed (version, arrival, blocked goal, flags, measures), the engine of the algorithm's row called for
 * what lies between. */
#include "search/session.h"

#include "base/check.h"
#include "search/internal.h"

#include <stdlib.h>
#include <string.h>

/* How far a goal may move and keep the search tree: this many straight steps, or half of the way that is left. */
enum { RETARGET_STEPS = 8 };

/* ---- Opening and closing ---- */

/* The domain's own h of a cell, for the adaptive rule. */
static uint64_t h_of_cell(const void *context, uint32_t x, uint32_t y)
{
    const struct tp_mind *session = context;
    return tp_search_h(&session->search, tp_state_at(&session->search, x, y), session->goal);
}

/* The state on a cell at a velocity, 0 but for vehicles. */
static tp_state state_at(const struct tp_mind *session, uint32_t cell, int vx, int vy)
{
    const struct tp_domain *domain = session->search.domain;
    return domain->at_velocity ? domain->at_velocity(cell, vx, vy) : domain->at_cell(&session->search, cell);
}

int tp__mind_init(struct tp_mind *session, const struct tp_session_params *params, const struct tp_map *map, struct tp_pool *pool)
{
    session->params = *params;
    tp__session_settle(&session->params, map);
    session->map = tp_map_ref(map);
    session->pool = pool;
    uint64_t bytes_max = params->node_bytes_max ? params->node_bytes_max : UINT64_MAX;
    struct tp_factors factors = tp__priority_factors(&session->params);
    bool learns = params->algorithm->learning != TP_LEARNING_NONE;
    if (params->knowledge == TP_KNOWLEDGE_MAP)
        tp_map_ref(params->known);
    tp_belief_init(&session->belief, map, params->knowledge == TP_KNOWLEDGE_FULL,
                   params->knowledge == TP_KNOWLEDGE_MAP ? params->known : NULL, pool, &session->bytes, bytes_max);
    const struct tp_search *search = &session->search;
    tp_search_init(&session->search, tp__session_domain(params, map), &session->belief,
                   learns ? &session->learned : NULL, params->heuristic, params->corners, factors.g, factors.h,
                   params->algorithm->priority == TP_PRIORITY_GBFS, pool,
                   params->stamp_max ? params->stamp_max : UINT32_MAX, &session->bytes, bytes_max);
    if (session->params.open_list == TP_OPEN_LIST_BUCKET)
        tp_search_use_buckets(&session->search);
    tp_learned_init(&session->learned, pool, search->width, search->height, &session->bytes, bytes_max);
    tp_open_init(&session->learn.heap, search->open.wide, pool, &session->bytes, bytes_max);
    if (params->algorithm->learning == TP_LEARNING_ADAPTIVE) {
        session->adaptive = (struct tp_nodes_adaptive){.learned = &session->learned, .h = h_of_cell, .context = session};
        tp_nodes_adapt(&session->search.nodes, &session->adaptive);
    }
    bool opened = tp_search_open_space(&session->search) && tp__guide_open(session) && tp__bound_open(session);
    if (!opened || (params->algorithm->learning == TP_LEARNING_PRIORITIZED && !tp__prioritized_open(session)))
        return TP_ERR_NO_MEMORY;
    tp_marks_init(&session->trace.follow, pool, search->width, search->height, search->domain->moves_max, &session->bytes, bytes_max);
    tp_marks_init(&session->trace.fresh, pool, search->width, search->height, search->domain->moves_max, &session->bytes, bytes_max);
    session->trace.follow_end = session->trace.fresh_end = session->trace.tree_end = TP_STATE_NONE;
    session->branches = true;
    session->at = state_at(session, params->start, params->start_vx, params->start_vy);
    tp_state goals[TP_GOALS_MAX] = {search->domain->at_cell(search, params->goal)};
    for (uint32_t i = 0; i < params->more_goal_count; i++)
        goals[1 + i] = search->domain->at_cell(search, params->more_goals[i]);
    session->params.more_goals = NULL; /* copied */
    tp__goals_set(session, goals, 1 + params->more_goal_count);
    session->search.goal = session->goal;
    tp__nearest_begin(session);
    session->at_before = TP_STATE_NONE;
    tp__steady_begin(session);
    session->stats.move_hash = 0xcbf29ce484222325u;
    session->may_pack = tp__packed_may(&session->params, map);
    session->packs = true;
    return TP_OK;
}

void tp__mind_fini(struct tp_mind *session)
{
    tp__shortcut_close(session);
    tp__detour_forget(session);
    tp__smooth_close(session);
    tp__bound_close(session);
    tp__guide_close(session);
    tp__watch_forget(session);
    tp__packed_close(session);
    if (session->params.algorithm->engine->close)
        session->params.algorithm->engine->close(session);
    tp_search_fini(&session->search);
    tp_tiles_empty(&session->trace.follow);
    tp_tiles_empty(&session->trace.fresh);
    tp_tiles_empty(&session->learned);
    tp_open_empty(&session->learn.heap);
    tp_belief_fini(&session->belief);
    tp__prioritized_close(session);
    if (session->params.knowledge == TP_KNOWLEDGE_MAP)
        tp_map_unref(session->params.known);
    TP_CHECK(session->bytes == 0);
    tp_map_unref(session->map);
}

void *tp__mind_get(struct tp_mind *session, uint32_t bytes)
{
    return session->pooled ? tp_pool_get(session->pool, bytes) : malloc(bytes);
}

void tp__mind_put(struct tp_mind *session, void *memory, uint32_t bytes)
{
    if (!session->pooled)
        free(memory);
    else if (memory)
        tp_pool_put(session->pool, memory, bytes);
}

/* ---- What the engines share ---- */

static uint32_t cell_of(const struct tp_mind *session, tp_state state)
{
    return session->search.domain->cell(&session->search, state);
}

void tp__session_begin_search(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    if (session->search.active && session->search.partial)
        tp__nearest_wait_begin(session);
    tp__nearest_begin(session);
    session->rushed = false;
    session->restart_wanted = false;
    session->guide.broken |= session->search.active;
    session->guide.other = false;
    session->path_complete = false;
    session->first_tick = true;
    session->closed = 0;
    session->at_before = TP_STATE_NONE;
    tp__trace_forget(session);
    tp__shortcut_forget(session);
    tp__learning_remember(session);
    tp__learning_check(session);
    session->unteachable = false;
    session->displaced = session->goal_moved = false;
    session->turns = 0;
    bool has_begun = tp_search_begin(&session->search, session->at, session->goal);
    if (!has_begun && tp__bound_yield(session))
        has_begun = tp_search_begin(&session->search, session->at, session->goal);
    if (!has_begun) {
        tick->node_cap = true;
        return;
    }
    tp__watch_begin(session);
    if (session->begun) {
        session->stats.restarts++;
        tick->reply->flags |= TP_FLAG_RESTARTED;
    }
    session->begun = true;
}

/* Whether something fell since the search began, so that its exhausted tree proves nothing: a cost of the map, or the
 * believed cost of a cell seen; for an agent that remembers, also a cost that may have fallen unseen. */
static bool proof_is_stale(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    if (search->domain->map_in_moves && session->map->rose_version > search->begun_version)
        return true; /* a new wall stops vehicles where they could not stop before */
    if (session->belief.full)
        return session->map->fell_version > search->begun_version;
    return session->belief.falls > search->begun_falls || session->map->fell_version > session->belief.since_version;
}

/* Whether the search ran empty, for a goal and an agent that are where it takes them to be. */
static bool ran_empty(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    return search->active && search->exhausted && !search->found && !session->restart_wanted;
}

bool tp__session_proved_unreachable(const struct tp_mind *session)
{
    return ran_empty(session) && !tp__nearest_due(session) && !proof_is_stale(session);
}

bool tp__session_forget_sights(struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    struct tp_belief *belief = &session->belief;
    struct tp_belief_change changes[TP_BELIEF_CHANGES_MAX];
    if (belief->full || session->map->fell_version <= belief->since_version)
        return false;
    tp_belief_forget(belief);
    tp_belief_observe(belief, tp_state_x(search, session->at), tp_state_y(search, session->at),
                      session->params.sensor_radius, changes);
    return true;
}

bool tp__session_exhausted(struct tp_tick *tick, uint64_t expansions)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    bool stale = search->exhausted && !search->found && proof_is_stale(session);
    bool rushed = stale && !session->restart_wanted && tp__nearest_due(session);
    if (stale && !rushed) {
        tp__session_forget_sights(session);
        tp__session_begin_search(tick);
        uint64_t spent = tick->reply->work.expansions + tick->given_up;
        if (search->active && spent < expansions)
            tp__session_expand(tick, expansions - spent);
    }
    if (!ran_empty(session) || (proof_is_stale(session) && !rushed))
        return false;
    if (tp__nearest_due(session)) {
        enum tp_nearest_outcome outcome = tp__nearest_run(tick, rushed);
        if (outcome == TP_NEAREST_CHOSEN) {
            if (tp__mind_arrived(session))
                tick->reply->status = TP_STATUS_ARRIVED;
            return tick->reply->status == TP_STATUS_ARRIVED;
        }
        if (outcome == TP_NEAREST_LOOKING || rushed)
            return true;
    }
    tick->reply->status = TP_STATUS_UNREACHABLE;
    return true;
}

tp_cost tp__session_dearest_way(struct tp_mind *session)
{
    const struct tp_map *map = session->map;
    const struct tp_domain *domain = session->search.domain;
    if (map->graph)
        return (tp_cost)map->graph->cost_max * map->graph->nodes; /* which may rise */
    if (!session->dearest_way || session->dearest_way_epoch != map->epoch) {
        tp_cost step = domain->step_max;
        uint64_t states = domain->listed ? domain->states(map) : (uint64_t)map->width * map->height;
        session->dearest_way = step * states * (domain->listed ? 1 : tp_profile_largest_weight(&map->profile));
        session->dearest_way_epoch = map->epoch;
    }
    return session->dearest_way;
}

uint8_t tp__session_move_to_parent(const struct tp_mind *session)
{
    return tp_search_knows(&session->search, session->at) ? tp_search_move_to_parent(&session->search, session->at)
                                                          : TP_MOVE_NONE;
}

/* Whether the cell that a state stands on is impassable in this tick's version. */
static bool impassable(const struct tp_mind *session, tp_state state)
{
    uint32_t cell = cell_of(session, state), width = session->map->width;
    if (session->map->graph)
        return tp_graph_closed(session->map->graph, state);
    return session->search.domain->cells_can_block && !tp_map_passable(session->map, cell % width, cell / width);
}

bool tp__session_caught(const struct tp_mind *session)
{
    bool on_whole_path = session->path_complete && tp__trace_next(session) != TP_MOVE_NONE;
    return !on_whole_path && impassable(session, session->at) && tp__session_move_to_parent(session) != TP_MOVE_NONE &&
           !tp_search_closed(&session->search, session->at);
}

/* On a map that changed since the search began, a move may lead elsewhere than the search found: whether it still leads
 * along a branch of its tree, or back where the agent came from. */
static bool leads_as_found(const struct tp_mind *session, tp_state to, uint8_t move)
{
    const struct tp_search *search = &session->search;
    uint8_t found_move = TP_MOVE_NONE;
    if (!search->domain->map_in_moves || !search->active || session->map->version == search->begun_version ||
        to == session->at_before)
        return true;
    if (tp_search_knows(search, to) && tp_search_parent(search, to, &found_move) == session->at && found_move == move)
        return true;
    return tp_search_knows(search, session->at) && tp_search_parent(search, session->at, &found_move) == to;
}

bool tp__session_move_legal(const struct tp_mind *session, uint8_t move)
{
    struct tp_successor successor;
    return session->search.domain->step(&session->search, session->map, session->at, move, &successor) &&
           leads_as_found(session, successor.state, move);
}

void tp__session_block(struct tp_tick *tick, uint8_t move)
{
    struct tp_mind *session = tick->session;
    tick->reply->status = TP_STATUS_BLOCKED;
    session->closed_step = move != TP_MOVE_NONE ? tp_search_move(&session->search, session->at, move) : TP_STATE_NONE;
}

void tp__session_move(struct tp_tick *tick, uint8_t move, bool back)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    struct tp_successor successor;
    bool legal = search->domain->step(search, session->map, session->at, move, &successor);
    TP_CHECK(legal);
    tp_state to = successor.state;
    session->stats.cost += successor.cost;
    session->stats.moves++;
    session->stats.back_moves += back;
    session->at_before = session->at;
    if (!tp__detour_is_walked(session)) {
        tp__trace_moved(session, move, successor.cost);
        tp__packed_moved(session, move);
    }
    session->at = to;
    tp__detour_moved(session);
    session->stats.move_hash = tp__session_hash(session->stats.move_hash, cell_of(session, to));
    tick->reply->status = tp__mind_arrived(session) ? TP_STATUS_ARRIVED : TP_STATUS_MOVING;
    if (back)
        tick->reply->flags |= TP_FLAG_BACK_MOVE;
}

/* ---- Ticks ---- */

/* Takes up this tick's version; true when it is another than the last. Every search reads it through the belief. */
static bool adopt_map(struct tp_mind *session, const struct tp_map *map)
{
    const struct tp_map *before = session->map;
    if (map == before)
        return false;
    TP_CHECK(map->width == before->width && map->height == before->height && !map->graph == !before->graph &&
             map->puzzle == before->puzzle);
    bool changed = map->version != before->version || map->epoch != before->epoch;
    if (map->epoch != before->epoch) {
        TP_CHECK(memcmp(&map->profile, &before->profile, sizeof map->profile) == 0);
        session->restart_wanted = true;
        tp__nearest_drop(session);
        if (session->search.learned)
            tp__learning_forget(session);
    }
    bool other_moves = map->graph && map->graph->shape != before->graph->shape; /* places among a node's edges, which may be others now */
    if (other_moves || (map->graph && map->graph->h_factor != before->graph->h_factor)) { /* or every f is another */
        session->restart_wanted = true;
        tp__nearest_drop(session);
    }
    session->map = tp_map_ref(map);
    session->map_before = before; /* its reference is dropped at the tick's end */
    tp_belief_set_truth(&session->belief, map);
    return changed;
}

/* Whether the agent takes its only goal for impassable, and may stand nowhere else. */
static bool goal_taken_for_blocked(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    if (search->goals || session->params.goal_policy != TP_GOAL_EXACT)
        return false; /* the search finds out */
    if (session->belief.full)
        return impassable(session, session->goal);
    return !tp_belief_passable(&session->belief, tp_state_x(search, session->goal), tp_state_y(search, session->goal));
}

/* Under NEAREST, when a cost fell since the search that chose its end began: a goal may be in reach. */
static void doubt_the_end(struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    if (!search->active || !search->partial || session->restart_wanted || !proof_is_stale(session))
        return;
    if (session->rushed && session->at != search->end)
        return;
    tp__session_forget_sights(session);
    session->restart_wanted = true;
}

/* Whether the only goal is taken for impassable (goal_taken_for_blocked) even after an agent that remembers looked again, and forgot
 * what may have become free out of its sight. */
static bool goal_is_blocked(struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    struct tp_belief *belief = &session->belief;
    if (belief->full || !goal_taken_for_blocked(session))
        return goal_taken_for_blocked(session);
    struct tp_belief_change changes[TP_BELIEF_CHANGES_MAX];
    if (tp__session_forget_sights(session))
        session->restart_wanted = true;
    if (tp_belief_observe(belief, tp_state_x(search, session->at), tp_state_y(search, session->at),
                          session->params.sensor_radius, changes))
        session->restart_wanted = true;
    return goal_taken_for_blocked(session);
}

/* Whether the agent stands on a goal, or near enough to one. */
static bool on_goal(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    if (search->goals)
        return tp__goals_met(search, search->domain->at_cell(search, cell_of(session, session->at)));
    if (search->domain->at_velocity) /* at whatever speed */
        return cell_of(session, session->at) == cell_of(session, session->goal);
    return session->at == session->goal;
}

/* Whether no move leads from where the agent stands to anywhere else, whatever it believes and whatever the status. A loop is no
 * way out. Cost: O(1), O(edges out of the node) on a graph. */
static bool in_dead_end(const struct tp_mind *session)
{
    const struct tp_domain *domain = session->search.domain;
    if (session->map->graph)
        return tp_graph_dead_end(session->map->graph, session->at);
    struct tp_successor out;
    for (uint32_t move = 0; move < domain->moves_max; move++)
        if (domain->step(&session->search, session->map, session->at, (uint8_t)move, &out) &&
            out.state != session->at)
            return false;
    return true;
}

/* Whether the map's block graph proves at once that no goal can be reached from where the agent stands. What was searched is then
 * given up: the map may be quite another when a way opens. */
static bool goals_are_apart(struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    const struct tp_blocks *blocks = session->map->blocks;
    if (!blocks || search->domain->listed || !session->belief.full || session->params.goal_policy != TP_GOAL_EXACT ||
        impassable(session, session->at))
        return false;
    for (uint32_t i = 0; i < session->goals.count; i++) {
        tp_state goal = session->goals.states[i];
        if (!impassable(session, goal) &&
            !tp_blocks_apart(blocks, tp_state_x(search, session->at), tp_state_y(search, session->at),
                             tp_state_x(search, goal), tp_state_y(search, goal)))
            return false;
    }
    session->restart_wanted = true;
    session->path_complete = false;
    return true;
}

static void book(struct tp_mind *session, const struct tp_tick_work *work)
{
    struct tp_session_stats *stats = &session->stats;
    stats->ticks++;
    stats->expansions += work->expansions;
    stats->generated += work->generated;
    stats->traced += work->traced;
    stats->learned += work->learned;
    stats->rekeyed += work->rekeyed;
    stats->guide += work->guide;
    if (work->expansions > stats->expansions_max)
        stats->expansions_max = work->expansions;
    if (session->bytes > stats->bytes_peak)
        stats->bytes_peak = session->bytes;
}

void tp__mind_tick(struct tp_mind *session, const struct tp_map *map, const struct tp_budget *budget,
                     struct tp_tick_reply *reply)
{
    struct tp_refusal refusal;
    if (!budget)
        budget = &session->params.budget;
    TP_CHECK(tp__session_check_budget(session->params.algorithm, budget, &refusal) == TP_OK);

    *reply = (struct tp_tick_reply){.status = TP_STATUS_SEARCHING};
    struct tp_tick tick = {.session = session, .budget = budget, .reply = reply};
    tp__pay_begin(&tick);
    tick.changed = adopt_map(session, map);
    doubt_the_end(session);
    tp__bound_begin(&tick);
    if (tp__mind_arrived(session)) /* vehicles: at whatever speed */
        session->at = session->search.domain->at_cell(&session->search, cell_of(session, session->at));
    reply->from = cell_of(session, session->at);
    if (impassable(session, session->at))
        reply->flags |= TP_FLAG_START_BLOCKED;

    tp_state before = session->at;
    bool searches = false, was_complete = session->path_complete;
    if (tp__mind_arrived(session)) {
        reply->status = TP_STATUS_ARRIVED;
    } else if (goal_is_blocked(session) || goals_are_apart(session)) {
        /* rows that can't prove it don't say it, and wait */
        if (session->params.algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE)
            reply->status = TP_STATUS_UNREACHABLE;
    } else {
        searches = session->begun;
        session->params.algorithm->engine->tick(&tick);
    }

    bool partial = session->search.active && session->search.partial && !session->restart_wanted;
    if (partial && !on_goal(session)) /* which may have opened on its way to the nearest state */
        reply->flags |= TP_FLAG_PARTIAL;
    if (in_dead_end(session))
        reply->flags |= TP_FLAG_DEAD_END;
    if (session->path_complete && !goal_taken_for_blocked(session))
        reply->flags |= TP_FLAG_PATH_COMPLETE;
    if (tick.node_cap)
        reply->flags |= TP_FLAG_NODE_CAP;
    if (tick.changed && searches && !(reply->flags & TP_FLAG_RESTARTED))
        reply->flags |= TP_FLAG_CONTINUED;
    tp__bound_run(&tick);
    tp__packed_run(&tick);
    tp__steady_watch(&tick, before, was_complete);
    tp_map_unref(session->map_before);
    session->map_before = NULL;
    book(session, &reply->work);
    if (session->search.domain->velocity)
        session->search.domain->velocity(session->at, &reply->vx, &reply->vy);
    reply->to = cell_of(session, session->at);
    reply->version = session->map->version;
    reply->epoch = session->map->epoch;
    reply->cost = session->stats.cost;
    tp__stroll_settle(&tick);
}

/* ---- Between ticks ---- */

/* Whether the search under way serves an agent that was put on this state: it knows the state, and for one that had arrived
 * it would begin there. A tree grown from elsewhere would take every later trip round by its root (2012, Algorithm 4). A
 * blocked cell was perhaps expanded without a move: what the tree says of it proves nothing. */
static bool search_serves(const struct tp_mind *session, tp_state state, bool had_arrived, bool goes_on)
{
    const struct tp_search *search = &session->search;
    uint8_t move;
    if (tp__is_packed(session))
        return goes_on && !impassable(session, state);
    if (!tp_search_knows(search, state))
        return false;
    if (tp_search_parent(search, state, &move) == TP_STATE_NONE)
        return true;
    return !had_arrived && !impassable(session, state);
}

int tp__mind_at_velocity(struct tp_mind *session, uint32_t cell, int vx, int vy)
{
    uint32_t width = session->map->width;
    if (cell >= (uint64_t)width * session->map->height)
        return TP_ERR_OUT_OF_RANGE;
    if (!tp__velocity_allowed(vx, vy) || ((vx || vy) && !session->search.domain->at_velocity))
        return TP_ERR_INVALID_ARGUMENT;
    tp_state state = state_at(session, cell, vx, vy);
    if (state == session->at)
        return TP_OK;
    bool had_arrived = tp__mind_arrived(session), was_aside = tp__detour_is_walked(session);
    tp__trace_put(session, state);
    bool goes_on = !was_aside && tp__packed_put(session, session->at, state);
    tp__detour_forget(session);
    session->at = state;
    session->at_before = TP_STATE_NONE;
    session->strolls = TP_STROLLS_NOT;
    session->displaced = true;
    tp__packed_stirred(session);
    session->waits_for_path = false;
    session->watch.summed = false;
    tp__steady_begin(session);
    tp__guide_trip(session);
    tp__bound_trip(session);
    if (was_aside || (!session->params.algorithm->engine->own_search && !search_serves(session, state, had_arrived, goes_on))) {
        session->restart_wanted = true;
        tp__nearest_drop(session);
    }
    if (!goes_on && tp__is_packed(session))
        tp__trace_forget(session);
    if (!goes_on)
        tp__packed_unfinished(session);
    if (tp__trace_next(session) == TP_MOVE_NONE)
        session->path_complete = false; /* it was traced to where the agent stood, which need not be an ancestor */
    return TP_OK;
}

/* The goals are others: what was on the way to the former ones is done with. */
static void take_goals(struct tp_mind *session, const tp_state *states, uint32_t count)
{
    tp__goals_set(session, states, count);
    tp__nearest_drop(session);
    tp__steady_begin(session);
    tp__guide_trip(session);
    tp__bound_trip(session);
    session->strandings = 0;
    tp__packed_stirred(session);
    session->waits_for_path = false;
    session->displaced = session->goal_moved = true;
    session->path_complete = false;
    session->strolls = TP_STROLLS_NOT;
    session->restart_wanted |= tp__is_packed(session); /* it has no tree to be turned */
    tp__packed_unfinished(session);
    tp__shortcut_forget(session);
    tp__detour_forget(session);
    if (session->search.learned)
        tp__learning_forget(session);
}

int tp__mind_retarget(struct tp_mind *session, uint32_t goal)
{
    uint32_t width = session->map->width;
    if (goal >= (uint64_t)width * session->map->height)
        return TP_ERR_OUT_OF_RANGE;
    struct tp_search *search = &session->search;
    tp_state state = search->domain->at_cell(search, goal);
    bool was_set = session->goals.count > 1;
    if (state == session->goal && !was_set)
        return TP_OK;
    tp_cost moved = tp_search_h(search, session->goal, state), left = tp_search_h(search, session->at, state);
    bool few_steps = !search->domain->listed && moved <= RETARGET_STEPS * TP_COST_UNIT * search->h_unit;
    bool little = !was_set && (few_steps || moved <= left / 2);
    session->after_somebody = little && (session->after_somebody || tp__is_packed(session));
    take_goals(session, &state, 1);
    bool kept = little && session->begun && !session->restart_wanted && !search->domain->goal_in_moves;
    if (session->params.algorithm->engine->own_search) {
        search->goal = state; /* the space's moves may ask for it */
        session->restart_wanted = !kept;
        return TP_OK;
    }
    bool lost = search->active && !tp_search_knows(search, session->at); /* it walked a shortcut, off the tree */
    if (search->active && !session->restart_wanted && little && !lost && !search->domain->goal_in_moves)
        tp_search_retarget(search, state);
    else
        session->restart_wanted = true;
    if (session->restart_wanted)
        session->turned_left = 0;
    return TP_OK;
}

int tp__mind_retarget_set(struct tp_mind *session, const uint32_t *goals, uint32_t count)
{
    const struct tp_search *search = &session->search;
    uint64_t cells = (uint64_t)session->map->width * session->map->height;
    if (count < 1 || count > TP_GOALS_MAX)
        return TP_ERR_INVALID_ARGUMENT;
    if (count > 1 && !tp__goals_allowed(&session->params, session->map))
        return TP_ERR_UNSUPPORTED;
    tp_state states[TP_GOALS_MAX];
    bool same = count == session->goals.count;
    for (uint32_t i = 0; i < count; i++) {
        if (goals[i] >= cells)
            return TP_ERR_OUT_OF_RANGE;
        states[i] = search->domain->at_cell(search, goals[i]);
        same = same && states[i] == session->goals.states[i];
    }
    if (same)
        return TP_OK;
    if (count == 1)
        return tp__mind_retarget(session, goals[0]);
    take_goals(session, states, count);
    session->restart_wanted = true;
    session->turned_left = 0;
    return TP_OK;
}

uint32_t tp__mind_path(const struct tp_mind *session, uint32_t *cells, uint32_t max)
{
    const struct tp_search *search = &session->search;
    struct tp_mind walker = *session; /* the look-ups below read the agent's state from a session */
    uint8_t (*next)(const struct tp_mind *, tp_state) = session->params.algorithm->engine->next;
    uint32_t count = 0;
    bool stays = session->restart_wanted || goal_taken_for_blocked(session);
    while (count < max) {
        if (tp__detour_is_walked(&walker) && walker.at == tp__detour_end(session))
            walker.detour = NULL; /* from there on along the path */
        if (tp__is_packed(session) && !stays && !tp__detour_is_walked(&walker))
            return count + tp__packed_path(&walker, cells + count, max - count);
        cells[count++] = cell_of(session, walker.at);
        uint8_t step = stays ? TP_MOVE_NONE : next ? next(session, walker.at) : tp__trace_next(&walker);
        if (step == TP_MOVE_NONE && !stays && walker.at != session->trace.follow_end &&
            session->trace.follow_end != TP_STATE_NONE)
            step = tp__session_move_to_parent(&walker);
        if (step == TP_MOVE_NONE)
            break;
        walker.at = tp_search_move(search, walker.at, step);
        if (walker.at == TP_STATE_NONE)
            break;
    }
    return count;
}

void tp__mind_stats(const struct tp_mind *session, struct tp_session_stats *stats)
{
    *stats = session->stats;
    stats->bytes = session->bytes;
    stats->touched = session->search.touched;
    stats->search_hash = session->search.hash;
}

uint32_t tp__mind_cell(const struct tp_mind *session)
{
    return cell_of(session, session->at);
}

uint32_t tp__mind_goal(const struct tp_mind *session)
{
    return cell_of(session, session->goal);
}

bool tp__mind_arrived(const struct tp_mind *session)
{
    return on_goal(session) || (tp__nearest_at_end(session) && !proof_is_stale(session));
}
