/* The D* Lite engine: one backward search from the goal, repaired where the map changed, followed by its agent.
 *
 * Koenig and Likhachev, "D* Lite", AAAI 2002, the optimized version:
 *   CalculateKey             key_of
 *   UpdateVertex             requeue
 *   ComputeShortestPath      run (one expansion: expand; the test of its loop: settled)
 *   Main, changed edges      tp__dstar_take_up_changes (dstar_changes.c); km grows in tp__dstar_move_keys
 *   Main, the agent's move   follow: to the successor of least cost + g
 *
 * Happy path of a tick: take up what changed (the states around each changed cell, or the node that a changed edge leads out of,
 * get their rhs anew), expand until the agent's state is settled (a run), move. Each part stops where the budget ends and goes on in
 * the next tick: between two expansions every inconsistent state is queued and every key is a lower bound, which is all that the
 * algorithm asks.
 * While changes are being taken up no g is touched: the agent walks the plan that it has, each step checked in the tick's version. During
 * a run it waits. What changes meanwhile waits too, and where that happened the plan is walked for as long as the run took before the
 * next one begins (end_run): however fast changes come, the agent gets on.
 * A goal that moves a little is two changed states more: rhs of the new one is 0, rhs of the old one is looked up like any
 * other's. While such a repair would span ticks, the agent goes on along the plan that it has; it is repaired when what is
 * left of the way is less than twice the goal's shift. Where moves can't be taken back the agent waits for the repair.
 *
 * Deviations: a state caught in a blocked cell is a predecessor of those it may leave to only while the agent stands in it, and
 * the search then goes on a little further, since h is not consistent for such moves where the least weight is above 1
 * (excess_of_h). An h that is rounded down may miss the triangle inequality by one of its units (the least weight): km grows by that
 * much more for each shift of the agent, and the search of one who is caught goes on by that much further.
 * Failure modes: no memory (NODE_CAP: nothing is done by half, the same step is tried at the next tick); a change under
 * vehicles, an edge of a graph that got too cheap for its h, a far goal (all restart).
 */
#include "search/dstar_lite.h"

#include "base/check.h"
#include "open/keyed.h"

#include <stdlib.h>
#include <string.h>

enum {
    WALK_MAX = 16, /* moves along a plan that is not of the newest version, before the next run begins */
    ARRIVALS_KEPT = 256, /* predecessors remembered in one expansion; a node with more is asked twice */
};
#define KM_MAX (UINT64_MAX >> 2)

/* G and RHS of a slot; UINT32_MAX or UINT64_MAX: infinite. */
enum value { G, RHS };

struct dstar_tile {
    struct tp_tile tile;
    uint32_t place[TP_TILE_CELLS]; /* in the queue */
    union {
        uint32_t narrow[2][TP_TILE_CELLS];
        uint64_t wide[2][TP_TILE_CELLS];
    } value;
};

enum {
    TILE_NARROW_BYTES = offsetof(struct dstar_tile, value) + 2 * TP_TILE_CELLS * sizeof(uint32_t),
    TILE_WIDE_BYTES = sizeof(struct dstar_tile),
};

/* ---- States ---- */

struct node {
    struct dstar_tile *tile; /* NULL: never met, both values infinite */
    uint32_t slot;
};

static struct node find(const struct tp_mind *session, tp_state state)
{
    uint32_t x = tp_state_x(&session->search, state), y = tp_state_y(&session->search, state);
    return (struct node){(struct dstar_tile *)tp_tiles_find(&session->dstar->states, x, y),
                         tp_tile_slot(x, y)};
}

/* Like find, with a tile for it; NULL only at the cap. */
static struct node touch(struct tp_mind *session, tp_state state)
{
    struct tp_dstar *dstar = session->dstar;
    struct node node = find(session, state);
    if (node.tile)
        return node;
    bool fresh;
    uint32_t stamp;
    node.tile = (struct dstar_tile *)tp_tiles_touch(&dstar->states, tp_state_x(&session->search, state),
                                                    tp_state_y(&session->search, state), &fresh, &stamp);
    if (node.tile && fresh) {
        memset(node.tile->place, 0xff, sizeof node.tile->place);
        memset(&node.tile->value, 0xff,
               dstar->wide ? sizeof node.tile->value.wide : sizeof node.tile->value.narrow);
    }
    return node;
}

static uint64_t get(const struct tp_dstar *dstar, struct node node, enum value which)
{
    if (!node.tile)
        return TP_COST_INFINITE;
    if (dstar->wide)
        return node.tile->value.wide[which][node.slot];
    uint32_t value = node.tile->value.narrow[which][node.slot];
    return value == UINT32_MAX ? TP_COST_INFINITE : value;
}

static bool known(const struct tp_dstar *dstar, struct node node)
{
    return get(dstar, node, G) != TP_COST_INFINITE || get(dstar, node, RHS) != TP_COST_INFINITE;
}

bool tp__dstar_look(const struct tp_mind *session, tp_state state, bool *is_queued, tp_cost *g)
{
    const struct tp_dstar *dstar = session->dstar;
    struct node node = find(session, state);
    if (!known(dstar, node))
        return false;
    uint64_t rhs = get(dstar, node, RHS);
    *g = get(dstar, node, G);
    *is_queued = *g != rhs;
    *g = *g < rhs ? *g : rhs;
    return true;
}

tp_state tp__dstar_best(const struct tp_mind *session)
{
    struct tp_key unused;
    return session->dstar->queue.count ? tp_keyed_least(&session->dstar->queue, &unused) : TP_STATE_NONE;
}

static void set(struct tp_mind *session, struct node node, enum value which, uint64_t value)
{
    struct tp_dstar *dstar = session->dstar;
    session->search.touched -= known(dstar, node);
    if (dstar->wide)
        node.tile->value.wide[which][node.slot] = value;
    else
        node.tile->value.narrow[which][node.slot] = (uint32_t)value;
    session->search.touched += known(dstar, node);
}

/* The least cost + g over the successors, infinite if none leads on; *move leads there, of equals to the lower state. */
static uint64_t least_successor(const struct tp_mind *session, tp_state state, uint8_t *move)
{
    const struct tp_search *search = &session->search;
    struct tp_successor successors[TP_MOVES_MAX];
    uint64_t least = TP_COST_INFINITE;
    tp_state to = TP_STATE_NONE;
    *move = TP_MOVE_NONE;
    if (state != session->at && tp__believed_blocked(&session->search, state))
        return least;
    uint32_t count = search->domain->successors(search, state, successors);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t g = get(session->dstar, find(session, successors[i].state), G);
        if (g == TP_COST_INFINITE)
            continue;
        uint64_t through = g + successors[i].cost;
        if (through < least || (through == least && successors[i].state < to)) {
            least = through;
            to = successors[i].state;
            *move = successors[i].move;
        }
    }
    return least;
}

static uint64_t rhs_of(const struct tp_mind *session, tp_state state)
{
    uint8_t move;
    return state == session->dstar->goal ? 0 : least_successor(session, state, &move);
}

static struct tp_key key_of(const struct tp_mind *session, tp_state state, struct node node)
{
    const struct tp_dstar *dstar = session->dstar;
    uint64_t g = get(dstar, node, G), rhs = get(dstar, node, RHS), least = g < rhs ? g : rhs;
    if (least == TP_COST_INFINITE)
        return (struct tp_key){least, least};
    return (struct tp_key){least + tp_search_h(&session->search, dstar->last, state) + dstar->km, least};
}

static void moved(void *context, uint32_t state, uint32_t place)
{
    struct node node = find(context, state);
    node.tile->place[node.slot] = place;
}

/* UpdateVertex, without the new rhs: queues the state by its key if it is inconsistent, else takes it out. */
static void requeue(struct tp_mind *session, tp_state state, struct node node)
{
    struct tp_dstar *dstar = session->dstar;
    uint32_t place = node.tile->place[node.slot];
    if (get(dstar, node, G) != get(dstar, node, RHS))
        tp_keyed_set(&dstar->queue, place, state, key_of(session, state, node), moved, session);
    else if (place != TP_KEYED_NONE)
        tp_keyed_remove(&dstar->queue, place, moved, session);
}

/* ---- ComputeShortestPath ---- */

/* The states that lead to the one being expanded. */
struct arrivals {
    struct tp_tick *tick;
    uint64_t g; /* of the expanded state: the new one, or the one it had */
    uint64_t count;
    tp_state state[ARRIVALS_KEPT];
    uint64_t cost[ARRIVALS_KEPT];
    bool capped;
};

static bool meet(void *context, tp_state state, uint8_t move, tp_cost cost)
{
    (void)move;
    struct arrivals *arrivals = context;
    arrivals->capped = !touch(arrivals->tick->session, state).tile;
    if (arrivals->count < ARRIVALS_KEPT) {
        arrivals->state[arrivals->count] = state;
        arrivals->cost[arrivals->count] = cost;
    }
    arrivals->count++;
    return !arrivals->capped;
}

/* The expanded state got cheaper: so may those that lead to it. */
static bool lower(void *context, tp_state state, uint8_t move, tp_cost cost)
{
    (void)move;
    struct arrivals *arrivals = context;
    struct tp_mind *session = arrivals->tick->session;
    struct node node = find(session, state);
    if (arrivals->g + cost < get(session->dstar, node, RHS)) {
        set(session, node, RHS, arrivals->g + cost);
        requeue(session, state, node);
        arrivals->tick->reply->work.generated++;
    }
    return true;
}

/* The expanded state lost its g: those that relied on it look for another way. */
static bool raise(void *context, tp_state state, uint8_t move, tp_cost cost)
{
    (void)move;
    struct arrivals *arrivals = context;
    struct tp_mind *session = arrivals->tick->session;
    struct node node = find(session, state);
    if (state != session->dstar->goal && get(session->dstar, node, RHS) == arrivals->g + cost) {
        set(session, node, RHS, rhs_of(session, state));
        requeue(session, state, node);
        arrivals->tick->reply->work.generated++;
    }
    return true;
}

/* All that leads to a state, the agent caught in a blocked cell beside it included. */
static void each_arrival(struct tp_mind *session, tp_state state, tp_predecessor_cb visit, void *context)
{
    const struct tp_search *search = &session->search;
    if (tp__believed_blocked(&session->search, state))
        return;
    search->domain->predecessors(search, state, visit, context);
    if (state == session->at || !tp__believed_blocked(&session->search, session->at))
        return;
    struct tp_successor successors[TP_MOVES_MAX];
    uint32_t count = search->domain->successors(search, session->at, successors);
    for (uint32_t i = 0; i < count; i++)
        if (successors[i].state == state &&
            !visit(context, session->at, successors[i].move, successors[i].cost))
            return;
}

/* Expands the state on top of the queue. False, and nothing done, when no memory could be had. */
static bool expand(struct tp_tick *tick, tp_state state)
{
    struct tp_mind *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    struct arrivals arrivals;
    arrivals.tick = tick;
    arrivals.count = 0;
    arrivals.capped = false;
    each_arrival(session, state, meet, &arrivals);
    if (arrivals.capped || arrivals.count >= UINT32_MAX ||
        !tp_open_reserve(&dstar->queue, (uint32_t)arrivals.count + 1))
        return false;
    struct node node = find(session, state);
    uint64_t g = get(dstar, node, G), rhs = get(dstar, node, RHS);
    bool lowers = g > rhs;
    arrivals.g = lowers ? rhs : g;
    set(session, node, G, lowers ? rhs : TP_COST_INFINITE);
    requeue(session, state, node);
    tp_predecessor_cb visit = lowers ? lower : raise;
    if (arrivals.count > ARRIVALS_KEPT)
        each_arrival(session, state, visit, &arrivals);
    else
        for (uint64_t i = 0; i < arrivals.count; i++)
            visit(&arrivals, arrivals.state[i], TP_MOVE_NONE, arrivals.cost[i]);
    uint64_t mixed = (state * 0x9e3779b97f4a7c15u + arrivals.g) * 0xbf58476d1ce4e5b9u;
    session->search.hash += mixed ^ mixed >> 29;
    return true;
}

/* The moves out of a blocked cell may cost less than h says (the cell weighs 1, whatever the least weight is), and the way on from where
 * they lead than h says from here, by the rounding: by how much in all. */
static uint64_t excess_of_h(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    struct tp_successor successors[TP_MOVES_MAX];
    uint64_t most = 0;
    uint32_t count = tp__believed_blocked(&session->search, session->at)
                         ? search->domain->successors(search, session->at, successors)
                         : 0;
    for (uint32_t i = 0; i < count; i++) {
        tp_cost h = tp_search_h(search, session->at, successors[i].state) + search->h_unit;
        if (h > successors[i].cost && h - successors[i].cost > most)
            most = h - successors[i].cost;
    }
    return most;
}

/* The loop's test: whether the cost from the agent's state is final. */
static bool settled(const struct tp_mind *session)
{
    const struct tp_dstar *dstar = session->dstar;
    struct node node = find(session, session->at);
    if (!dstar->queue.count)
        return true;
    struct tp_key top, key = key_of(session, session->at, node);
    tp_keyed_least(&dstar->queue, &top);
    if (get(dstar, node, RHS) > get(dstar, node, G) || tp_key_less(top, key))
        return false;
    uint64_t excess = excess_of_h(session);
    return !excess || key.k1 == TP_COST_INFINITE || top.k1 > key.k1 + excess;
}

/* Expands until the agent's state is settled; false when the tick's means end before. */
static bool run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    while (!settled(session)) {
        struct tp_key key_old, key_new;
        tp_state state = tp_keyed_least(&dstar->queue, &key_old);
        struct node node = find(session, state);
        key_new = key_of(session, state, node);
        if (tp_key_less(key_old, key_new)) {
            if (!tp__tick_rekey(tick))
                return false;
            requeue(session, state, node);
            continue;
        }
        if (!tp__tick_expand(tick))
            return false;
        if (!expand(tick, state)) {
            tp__tick_expand_back(tick);
            tick->node_cap = true;
            return false;
        }
    }
    return true;
}

/* ---- Changes ---- */

void tp__dstar_move_keys(struct tp_mind *session)
{
    struct tp_dstar *dstar = session->dstar;
    if (dstar->last == session->at)
        return;
    dstar->km += tp_search_h(&session->search, dstar->last, session->at) + session->search.h_unit;
    dstar->last = session->at;
}

bool tp__dstar_refresh(struct tp_tick *tick, tp_state state)
{
    struct tp_mind *session = tick->session;
    uint64_t rhs = rhs_of(session, state);
    struct node node = find(session, state);
    if (rhs == get(session->dstar, node, RHS))
        return true;
    node = touch(session, state);
    if (!node.tile)
        return false;
    set(session, node, RHS, rhs);
    requeue(session, state, node);
    tick->reply->work.generated++;
    tick->reply->flags |= TP_FLAG_REPAIRED;
    return true;
}

/* Somebody put the agent elsewhere. False when it must be tried again. */
static bool take_up_place(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    if (dstar->stood == session->at)
        return true;
    dstar->complete = false;
    dstar->run_ticks = 0;
    tp__dstar_read_taken_up(session);
    tp__dstar_move_keys(session);
    if (tp__believed_blocked(&session->search, session->at) &&
        !(tp_open_reserve(&dstar->queue, 1) && tp__dstar_refresh(tick, session->at))) {
        tick->node_cap = true;
        return false;
    }
    dstar->stood = session->at;
    return true;
}

/* The search goes over to the session's goal. False when it must be tried again. */
static bool take_up_goal(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    tp_state before = dstar->goal;
    tp__dstar_read_taken_up(session);
    tp__dstar_move_keys(session);
    if (!tp_open_reserve(&dstar->queue, 2) || !touch(session, session->goal).tile) {
        tick->node_cap = true;
        return false;
    }
    dstar->goal = session->goal;
    dstar->complete = false;
    dstar->run_ticks = 0;
    uint32_t flags = tick->reply->flags; /* a goal that moves is no change of the map */
    bool done = tp__dstar_refresh(tick, session->goal) && tp__dstar_refresh(tick, before);
    TP_CHECK(done);
    tick->reply->flags = flags;
    return true;
}

/* ---- Ticks ---- */

static bool open_dstar(struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    struct tp_dstar *dstar = session->dstar = calloc(1, sizeof *dstar);
    if (!dstar)
        return false;
    uint64_t bytes_max = session->params.node_bytes_max ? session->params.node_bytes_max : UINT64_MAX;
    /* what is left of other versions of the map may add up to every cell once */
    dstar->wide = search->nodes.wide || (uint64_t)search->width * search->height * search->domain->step_max >= UINT32_MAX;
    tp_tiles_init(&dstar->states, session->pool, search->width, search->height,
                  dstar->wide ? TILE_WIDE_BYTES : TILE_NARROW_BYTES,
                  session->params.stamp_max ? session->params.stamp_max : UINT32_MAX, &session->bytes,
                  bytes_max);
    tp_open_init(&dstar->queue, true, session->pool, &session->bytes, bytes_max);
    return true;
}

static void close_dstar(struct tp_mind *session)
{
    struct tp_dstar *dstar = session->dstar;
    if (!dstar)
        return;
    tp_tiles_empty(&dstar->states);
    tp_open_empty(&dstar->queue);
    tp__dstar_forget_versions(dstar);
    free(dstar);
    session->dstar = NULL;
}

/* Initialize, from the session's goal. False when no memory could be had. */
static bool begin(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    session->restart_wanted = false;
    tp_tiles_begin(&dstar->states);
    tp_open_clear(&dstar->queue);
    session->search.touched = session->search.hash = 0;
    dstar->goal = session->goal;
    dstar->last = dstar->stood = session->at;
    dstar->km = 0;
    dstar->sights_count = dstar->sights_next = dstar->run_ticks = dstar->walk_left = 0;
    dstar->complete = dstar->running = false;
    dstar->begun_version = session->map->version;
    struct node node = touch(session, dstar->goal);
    dstar->active = node.tile && tp_open_reserve(&dstar->queue, 1);
    if (!dstar->active) {
        tick->node_cap = true;
        return false;
    }
    tp__dstar_adopt_version(session);
    set(session, node, RHS, 0);
    requeue(session, dstar->goal, node);
    if (session->begun) {
        session->stats.restarts++;
        tick->reply->flags = (tick->reply->flags & ~(uint32_t)TP_FLAG_REPAIRED) | TP_FLAG_RESTARTED;
    }
    session->begun = true;
    return true;
}

/* No way leads to the goal, as believed. An agent that remembers, and may have missed that a cost fell, forgets and looks again. */
static void no_way(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    if (!session->belief.full && session->map->fell_version > session->belief.since_version) {
        tp_belief_forget(&session->belief);
        session->dstar->sights_count = session->dstar->sights_next = 0;
        tp__dstar_look_around(session);
        begin(tick);
        return;
    }
    tick->reply->status = TP_STATUS_UNREACHABLE;
}

/* Whether the search should go over to where the goal is now. */
static bool goal_due(const struct tp_mind *session)
{
    const struct tp_dstar *dstar = session->dstar;
    if (dstar->goal == session->goal)
        return false;
    if (session->at == dstar->goal || !session->search.domain->reversible)
        return true; /* the plan is at its end, or what it leads to may not be left again */
    uint64_t left = get(dstar, find(session, session->at), RHS),
             moved = tp_search_h(&session->search, dstar->goal, session->goal);
    return dstar->quick || left == TP_COST_INFINITE || left / 2 < moved ||
           moved == 0; /* an h of 0 says nothing of how far */
}

static uint8_t next_move(const struct tp_mind *session, tp_state state)
{
    const struct tp_dstar *dstar = session->dstar;
    uint8_t move = TP_MOVE_NONE;
    bool read = dstar && (!session->belief.full || session->belief.truth == dstar->planned);
    if (read && dstar->complete && !session->restart_wanted && dstar->stood == session->at &&
        state != dstar->goal)
        least_successor(session, state, &move);
    return move;
}

/* The plan's move from where the agent stands; TP_MOVE_NONE when there is none, or when it is not legal in the tick's version. */
static uint8_t legal_move(struct tp_mind *session)
{
    tp__dstar_read_planned(session);
    uint8_t move = next_move(session, session->at);
    return move != TP_MOVE_NONE && tp__session_move_legal(session, move) ? move : TP_MOVE_NONE;
}

/* Whether the plan is to be walked before anything else begins. */
static bool walks_on(struct tp_mind *session)
{
    return session->dstar->walk_left && session->dstar->complete && legal_move(session) != TP_MOVE_NONE;
}

static bool restart_due(struct tp_mind *session)
{
    const struct tp_dstar *dstar = session->dstar;
    const struct tp_map *map = session->map;
    bool eager = session->params.restart == TP_RESTART_EAGER;
    bool seen = !session->belief.full && tp__dstar_look_around(session);
    if (!dstar->active || session->restart_wanted || dstar->km > KM_MAX || (eager && seen))
        return true;
    if (!session->belief.full)
        return false;
    return (eager && tp_map_changed_version(map) > dstar->begun_version) ||
           (!tp__dstar_compares(session) && map->version != dstar->synced->version && !dstar->running &&
            !walks_on(session));
}

static void begin_run(struct tp_mind *session)
{
    struct tp_dstar *dstar = session->dstar;
    dstar->complete = dstar->dirty = false;
    dstar->running = true;
    dstar->run_ticks = 0;
    tp__dstar_plan_version(dstar);
}

/* There is a plan. If the map changed while a run of several ticks made it, the next run would have the agent wait again: it walks
 * first, for as long as it waited. */
static void end_run(struct tp_mind *session)
{
    struct tp_dstar *dstar = session->dstar;
    dstar->complete = true;
    dstar->running = false;
    dstar->quick = dstar->run_ticks == 1;
    dstar->walk_left = 0;
    if (!dstar->quick && !tp__dstar_up_to_date(session))
        dstar->walk_left = dstar->run_ticks < WALK_MAX ? dstar->run_ticks : WALK_MAX;
}

/* Has a plan made, as new as the tick's means allow. False when the agent has to wait for it. */
static bool make_plan(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    for (;;) {
        if (!dstar->running) {
            if (!tp__dstar_take_up_changes(tick))
                return dstar->complete && session->belief.full && !goal_due(session);
            if (dstar->complete && goal_due(session) && !take_up_goal(tick))
                return false;
            if (dstar->complete && (!dstar->dirty || walks_on(session)))
                return true;
            begin_run(session);
        }
        tp__dstar_read_taken_up(session);
        tp__dstar_move_keys(session);
        dstar->run_ticks++;
        if (!run(tick))
            return false;
        end_run(session);
    }
}

static void follow(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    uint8_t move = legal_move(session);
    if (move != TP_MOVE_NONE) {
        tp__session_move(tick, move, false);
        dstar->stood = session->at;
        dstar->walk_left -= dstar->walk_left > 0;
    } else if (session->path_complete && next_move(session, session->at) != TP_MOVE_NONE) {
        tp__session_block(tick, next_move(session, session->at)); /* what it saw could not be remembered */
    }
}

static void plan_and_follow(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    session->path_complete = false;
    if (!session->dstar && !open_dstar(session)) {
        tick->node_cap = true;
        return;
    }
    struct tp_dstar *dstar = session->dstar;
    dstar->looks_left = tp__dstar_looks_max(tick);
    if (restart_due(session) && !begin(tick))
        return;
    if (!take_up_place(tick) || !make_plan(tick))
        return;
    bool newest = tp__dstar_up_to_date(session) && !dstar->dirty;
    if (newest && get(dstar, find(session, session->at), RHS) == TP_COST_INFINITE) {
        no_way(tick);
        return;
    }
    session->path_complete = newest && dstar->goal == session->goal;
    follow(tick);
}

/* Between ticks the version read is one that is held: the plan's, one being taken up, or else the tick's own. */
static void dstar_tick(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    plan_and_follow(tick);
    const struct tp_dstar *dstar = session->dstar;
    const struct tp_map *read = session->belief.truth;
    if (!dstar || (read != dstar->planned && read != dstar->synced && read != dstar->target))
        tp_belief_set_truth(&session->belief, session->map);
}

const struct tp_engine tp__engine_dstar_lite = {
    .name = "D* Lite", .tick = dstar_tick, .own_search = true, .next = next_move, .close = close_dstar};
