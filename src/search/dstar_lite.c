/* The D* Lite engine: one backward search from the goal, repaired where the map changed, followed by its agent.
 *
 * Koenig and Likhachev, "D* Lite", AAAI 2002, the optimized version:
 *   CalculateKey             key_of
 *   UpdateVertex             requeue
 *   ComputeShortestPath      run (one expansion: expand; the test of its loop: settled)
 *   Main, changed edges      take_up_changes; km grows in move_keys
 *   Main, the agent's move   follow: to the successor of least cost + g
 *
 * Happy path of a tick: take up what changed (the states around each changed cell, or the node that a changed edge leads out of,
 * get their rhs anew), expand until the agent's state is settled, move. Each part stops where the budget ends and goes on in the next tick, while the agent waits: between two
 * expansions every inconsistent state is queued and every key is a lower bound, which is all that the algorithm asks.
 * A goal that moves a little is two changed states more: rhs of the new one is 0, rhs of the old one is looked up like any
 * other's. While such a repair would span ticks, the agent goes on along the plan that it has; it is repaired when what is
 * left of the way is less than twice the goal's shift. Where moves can't be taken back the agent waits for the repair.
 *
 * Deviations: a state caught in a blocked cell is a predecessor of those it may leave to only while the agent stands in it, and
 * the search then goes on a little further, since h is not consistent for such moves where the least weight is above 1
 * (excess_of_h). km grows by h + 1 for each shift of the agent, since an h that is rounded down may miss the triangle
 * inequality by 1.
 * Failure modes: no memory (NODE_CAP: nothing is done by half, the same step is tried at the next tick); a change under
 * vehicles, an edge of a graph that got too cheap for its h, a far goal, a version that comes while the last one is still being
 * compared (all restart).
 */
#include "search/internal.h"

#include "base/check.h"
#include "open/keyed.h"

#include <stdlib.h>
#include <string.h>

enum {
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

struct tp_dstar {
    struct tp_tiles states;
    struct tp_open queue; /* the inconsistent states (open/keyed.h) */
    bool wide;            /* values have 64 bits */
    bool active;          /* begun */
    bool complete;        /* the agent's state is settled, and nothing that changed is left to be taken up */
    bool quick;           /* the last run ended in the tick in which it began */
    uint32_t run_ticks;   /* of the present run so far */
    tp_state goal;        /* what is searched from: the session's goal, or where it was */
    tp_state last;        /* where the agent stood when km last grew */
    tp_state stood;       /* where the agent stood at the end of the last tick */
    uint64_t km;
    uint64_t begun_version;
    const struct tp_map *synced; /* full knowledge: the version taken up; referenced */
    uint64_t cursor;             /* how far the next version is compared with it, see tp_map_compare */
    bool tile_paid;              /* the step for the tile, or part of a page, that the cursor is in */
    uint64_t compared_version;   /* which that is */
    uint32_t sights_count, sights_next;      /* cells seen to have changed, and those taken up */
    uint32_t sights[TP_BELIEF_CHANGES_MAX]; /* as y * width + x */
};

/* ---- States ---- */

struct node {
    struct dstar_tile *tile; /* NULL: never met, both values infinite */
    uint32_t slot;
};

static struct node find(const struct tp_session *session, tp_state state)
{
    uint32_t x = tp_state_x(&session->search, state), y = tp_state_y(&session->search, state);
    return (struct node){(struct dstar_tile *)tp_tiles_find(&session->dstar->states, x, y), tp_tile_slot(x, y)};
}

/* Like find, with a tile for it; NULL only at the cap. */
static struct node touch(struct tp_session *session, tp_state state)
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
        memset(&node.tile->value, 0xff, dstar->wide ? sizeof node.tile->value.wide : sizeof node.tile->value.narrow);
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

static void set(struct tp_session *session, struct node node, enum value which, uint64_t value)
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
static uint64_t least_successor(const struct tp_session *session, tp_state state, uint8_t *move)
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

static uint64_t rhs_of(const struct tp_session *session, tp_state state)
{
    uint8_t move;
    return state == session->dstar->goal ? 0 : least_successor(session, state, &move);
}

static struct tp_key key_of(const struct tp_session *session, tp_state state, struct node node)
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
static void requeue(struct tp_session *session, tp_state state, struct node node)
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
    struct tp_session *session = arrivals->tick->session;
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
    struct tp_session *session = arrivals->tick->session;
    struct node node = find(session, state);
    if (state != session->dstar->goal && get(session->dstar, node, RHS) == arrivals->g + cost) {
        set(session, node, RHS, rhs_of(session, state));
        requeue(session, state, node);
        arrivals->tick->reply->work.generated++;
    }
    return true;
}

/* All that leads to a state, the agent caught in a blocked cell beside it included. */
static void each_arrival(struct tp_session *session, tp_state state, tp_predecessor_cb visit, void *context)
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
        if (successors[i].state == state && !visit(context, session->at, successors[i].move, successors[i].cost))
            return;
}

/* Expands the state on top of the queue. False, and nothing done, when no memory could be had. */
static bool expand(struct tp_tick *tick, tp_state state)
{
    struct tp_session *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    struct arrivals arrivals;
    arrivals.tick = tick;
    arrivals.count = 0;
    arrivals.capped = false;
    each_arrival(session, state, meet, &arrivals);
    if (arrivals.capped || arrivals.count >= UINT32_MAX || !tp_open_reserve(&dstar->queue, (uint32_t)arrivals.count + 1))
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

/* The moves out of a blocked cell may cost less than h says (the cell weighs 1, whatever the least weight is): by how much. */
static uint64_t excess_of_h(const struct tp_session *session)
{
    const struct tp_search *search = &session->search;
    struct tp_successor successors[TP_MOVES_MAX];
    uint64_t most = 0;
    uint32_t count = tp__believed_blocked(&session->search, session->at) ? search->domain->successors(search, session->at, successors) : 0;
    for (uint32_t i = 0; i < count; i++) {
        tp_cost h = tp_search_h(search, session->at, successors[i].state);
        if (h > successors[i].cost && h - successors[i].cost > most)
            most = h - successors[i].cost;
    }
    return most;
}

/* The loop's test: whether the cost from the agent's state is final. */
static bool settled(const struct tp_session *session)
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

/* Pays for a renewed key like for a trace step; under k, so many of them go with each expansion allowed. */
static bool pay_rekey(struct tp_tick *tick)
{
    const struct tp_budget *budget = tick->budget;
    if (tick->steps_left == 0 ||
        (budget->kind == TP_BUDGET_K && tick->reply->work.rekeyed >= tp__beside_max(budget)))
        return false;
    tick->steps_left--;
    tick->reply->work.rekeyed++;
    return true;
}

static bool pay_expansion(struct tp_tick *tick)
{
    const struct tp_budget *budget = tick->budget;
    uint64_t steps = budget->kind == TP_BUDGET_R ? budget->c : 0, done = tick->reply->work.expansions;
    if (tick->steps_left < steps || done >= budget->expansions_max ||
        (budget->kind == TP_BUDGET_K && done >= budget->expansions))
        return false;
    tick->steps_left -= steps;
    return true;
}

/* Expands until the agent's state is settled; false when the tick's means end before. */
static bool run(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    const struct tp_budget *budget = tick->budget;
    for (uint64_t turn = 0; !settled(session); turn++) {
        if (budget->expired && turn % TP_DEADLINE_STRIDE == 0 && budget->expired(budget->context))
            return false;
        struct tp_key key_old, key_new;
        tp_state state = tp_keyed_least(&dstar->queue, &key_old);
        struct node node = find(session, state);
        key_new = key_of(session, state, node);
        if (tp_key_less(key_old, key_new)) {
            if (!pay_rekey(tick))
                return false;
            requeue(session, state, node);
            continue;
        }
        uint64_t steps = tick->steps_left;
        if (!pay_expansion(tick))
            return false;
        if (!expand(tick, state)) {
            tick->steps_left = steps;
            tick->node_cap = true;
            return false;
        }
        tick->reply->work.expansions++;
    }
    return true;
}

/* ---- Changes ---- */

/* From now on keys are of where the agent stands; those queued stay lower bounds. */
static void move_keys(struct tp_session *session)
{
    struct tp_dstar *dstar = session->dstar;
    if (dstar->last == session->at)
        return;
    dstar->km += tp_search_h(&session->search, dstar->last, session->at) + 1;
    dstar->last = session->at;
}

/* Looks at a state anew whose moves may have changed. Room for it in the queue must have been reserved. False when no memory
 * could be had. */
static bool refresh(struct tp_tick *tick, tp_state state)
{
    struct tp_session *session = tick->session;
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

/* Something is going to be looked at anew. */
static void reopen(struct tp_session *session)
{
    struct tp_dstar *dstar = session->dstar;
    if (dstar->complete) {
        dstar->complete = false;
        dstar->run_ticks = 0;
    }
    move_keys(session);
}

/* Takes up one changed cell: all states whose moves it may touch. False when it must be tried again. */
static bool look_at_cell(struct tp_tick *tick, uint32_t x, uint32_t y)
{
    struct tp_session *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    const struct tp_map *map = session->map;
    uint32_t reach = session->params.neighbours == TP_NEIGHBOURS_16 ? 2 : 1, side = 2 * reach + 1;
    reopen(session);
    bool room = tp_open_reserve(&dstar->queue, side * side);
    for (uint32_t cy = y > reach ? y - reach : 0; room && cy <= y + reach && cy < map->height; cy++)
        for (uint32_t cx = x > reach ? x - reach : 0; room && cx <= x + reach && cx < map->width; cx++)
            room = refresh(tick, tp_state_at(&session->search, cx, cy));
    tick->node_cap |= !room;
    return room;
}

static bool look_at_changed(void *context, uint32_t x, uint32_t y, uint16_t before, uint16_t after)
{
    (void)before, (void)after;
    struct tp_tick *tick = context;
    return tp__tick_step(tick) && look_at_cell(tick, x, y);
}

/* The same of a graph: some edge out of the node changed. */
static bool look_at_node(void *context, uint32_t node)
{
    struct tp_tick *tick = context;
    struct tp_session *session = tick->session;
    if (!tp__tick_step(tick))
        return false;
    reopen(session);
    bool room = tp_open_reserve(&session->dstar->queue, 1) && refresh(tick, node);
    tick->node_cap |= !room;
    return room;
}

/* Goes on comparing the version taken up with the present one: a tile of a grid, or a part of a graph's page. False when it must
 * be gone on with. */
static bool compare_on(struct tp_tick *tick)
{
    enum { PAGES_A_STEP = 64 };
    const struct tp_map *map = tick->session->map;
    struct tp_dstar *dstar = tick->session->dstar;
    if (map->graph)
        return tp_map_compare_nodes(dstar->synced, map, &dstar->cursor, PAGES_A_STEP, look_at_node, tick);
    return tp_map_compare(dstar->synced, map, &dstar->cursor, look_at_changed, tick);
}

static void adopt_version(struct tp_session *session)
{
    struct tp_dstar *dstar = session->dstar;
    if (dstar->synced != session->map) {
        tp_map_unref(dstar->synced);
        dstar->synced = tp_map_ref(session->map);
    }
    dstar->cursor = 0;
}

/* Whether what changed of the map can be looked at state by state. */
static bool compares(const struct tp_session *session)
{
    return !session->search.domain->listed || session->map->graph;
}

/* What the agent sees from where it stands joins the sights; true if anything is new. */
static bool look_around(struct tp_session *session)
{
    struct tp_dstar *dstar = session->dstar;
    const struct tp_search *search = &session->search;
    struct tp_belief_change changes[TP_BELIEF_CHANGES_MAX];
    if (dstar->sights_next < dstar->sights_count)
        return false;
    dstar->sights_next = 0;
    dstar->sights_count =
        tp_belief_observe(&session->belief, tp_state_x(search, session->at), tp_state_y(search, session->at),
                          session->params.sensor_radius, changes);
    for (uint32_t i = 0; i < dstar->sights_count; i++)
        dstar->sights[i] = changes[i].y * session->map->width + changes[i].x;
    return dstar->sights_count > 0;
}

/* Takes up all that changed since; false when the tick's means end before. */
static bool take_up_changes(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    uint32_t width = session->map->width;
    for (; dstar->sights_next < dstar->sights_count; dstar->sights_next++) {
        uint32_t cell = dstar->sights[dstar->sights_next];
        if (!tp__tick_step(tick) || !look_at_cell(tick, cell % width, cell / width))
            return false;
    }
    if (!session->belief.full)
        return true;
    dstar->compared_version = session->map->version;
    bool differs = dstar->synced != session->map && compares(session) &&
                   tp_map_changed_version(session->map) > dstar->synced->version;
    while (differs && dstar->cursor != TP_MAP_COMPARED) {
        if (!dstar->tile_paid && !tp__tick_step(tick)) /* whatever the tile's changes mean to this agent */
            return false;
        dstar->tile_paid = true;
        if (!compare_on(tick))
            return false;
        dstar->tile_paid = false;
    }
    adopt_version(session);
    return true;
}

/* Somebody put the agent elsewhere. False when it must be tried again. */
static bool take_up_place(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    if (dstar->stood == session->at)
        return true;
    dstar->complete = false;
    dstar->run_ticks = 0;
    move_keys(session);
    if (tp__believed_blocked(&session->search, session->at) &&
        !(tp_open_reserve(&dstar->queue, 1) && refresh(tick, session->at))) {
        tick->node_cap = true;
        return false;
    }
    dstar->stood = session->at;
    return true;
}

/* The search goes over to the session's goal. False when it must be tried again. */
static bool take_up_goal(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    tp_state before = dstar->goal;
    move_keys(session);
    if (!tp_open_reserve(&dstar->queue, 2) || !touch(session, session->goal).tile) {
        tick->node_cap = true;
        return false;
    }
    dstar->goal = session->goal;
    dstar->complete = false;
    dstar->run_ticks = 0;
    uint32_t flags = tick->reply->flags; /* a goal that moves is no change of the map */
    bool done = refresh(tick, session->goal) && refresh(tick, before);
    TP_CHECK(done);
    tick->reply->flags = flags;
    return true;
}

/* ---- Ticks ---- */

static bool open_dstar(struct tp_session *session)
{
    const struct tp_search *search = &session->search;
    struct tp_dstar *dstar = session->dstar = calloc(1, sizeof *dstar);
    if (!dstar)
        return false;
    uint64_t bytes_max = session->params.node_bytes_max ? session->params.node_bytes_max : UINT64_MAX;
    dstar->wide = search->nodes.wide;
    tp_tiles_init(&dstar->states, session->pool, search->width, search->height,
                  dstar->wide ? TILE_WIDE_BYTES : TILE_NARROW_BYTES,
                  session->params.stamp_max ? session->params.stamp_max : UINT32_MAX, &session->bytes, bytes_max);
    tp_open_init(&dstar->queue, true, session->pool, &session->bytes, bytes_max);
    return true;
}

static void close_dstar(struct tp_session *session)
{
    struct tp_dstar *dstar = session->dstar;
    if (!dstar)
        return;
    tp_tiles_fini(&dstar->states);
    tp_open_fini(&dstar->queue);
    tp_map_unref(dstar->synced);
    free(dstar);
    session->dstar = NULL;
}

/* Initialize, from the session's goal. False when no memory could be had. */
static bool begin(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    session->restart_wanted = false;
    tp_tiles_begin(&dstar->states);
    tp_open_clear(&dstar->queue);
    session->search.touched = session->search.hash = 0;
    dstar->goal = session->goal;
    dstar->last = dstar->stood = session->at;
    dstar->km = 0;
    dstar->sights_count = dstar->sights_next = dstar->run_ticks = 0;
    dstar->complete = false;
    dstar->begun_version = session->map->version;
    struct node node = touch(session, dstar->goal);
    dstar->active = node.tile && tp_open_reserve(&dstar->queue, 1);
    if (!dstar->active) {
        tick->node_cap = true;
        return false;
    }
    adopt_version(session);
    set(session, node, RHS, 0);
    requeue(session, dstar->goal, node);
    if (session->begun) {
        session->stats.restarts++;
        tick->reply->flags = (tick->reply->flags & ~(uint32_t)TP_FLAG_REPAIRED) | TP_FLAG_RESTARTED;
    }
    session->begun = true;
    return true;
}

static bool restart_due(struct tp_session *session)
{
    const struct tp_dstar *dstar = session->dstar;
    const struct tp_map *map = session->map;
    bool eager = session->params.restart == TP_RESTART_EAGER;
    bool seen = !session->belief.full && look_around(session);
    if (!dstar->active || session->restart_wanted || dstar->km > KM_MAX || (eager && seen))
        return true;
    if (!session->belief.full)
        return false;
    return (eager && tp_map_changed_version(map) > dstar->begun_version) ||
           (dstar->cursor && map->version != dstar->compared_version) ||
           (!compares(session) && map->version != dstar->synced->version);
}

/* No way leads to the goal, as believed. An agent that remembers, and may have missed that a cost fell, forgets and looks again. */
static void no_way(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    if (!session->belief.full && session->map->fell_version > session->belief.since_version) {
        tp_belief_forget(&session->belief);
        session->dstar->sights_count = session->dstar->sights_next = 0;
        look_around(session);
        begin(tick);
        return;
    }
    tick->reply->status = TP_STATUS_UNREACHABLE;
}

/* Whether the search should go over to where the goal is now. */
static bool goal_due(const struct tp_session *session)
{
    const struct tp_dstar *dstar = session->dstar;
    if (dstar->goal == session->goal)
        return false;
    if (session->at == dstar->goal || !session->search.domain->reversible)
        return true; /* the plan is at its end, or what it leads to may not be left again */
    uint64_t left = get(dstar, find(session, session->at), RHS), moved = tp_search_h(&session->search, dstar->goal, session->goal);
    return dstar->quick || left == TP_COST_INFINITE || left / 2 < moved || moved == 0; /* an h of 0 says nothing of how far */
}

static uint8_t next_move(const struct tp_session *session, tp_state state)
{
    const struct tp_dstar *dstar = session->dstar;
    uint8_t move = TP_MOVE_NONE;
    if (dstar && dstar->complete && !session->restart_wanted && dstar->stood == session->at && state != dstar->goal)
        least_successor(session, state, &move);
    return move;
}

static void follow(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    uint8_t move = next_move(session, session->at);
    if (move == TP_MOVE_NONE)
        return;
    if (!tp__session_move_legal(session, move)) {
        tick->reply->status = TP_STATUS_BLOCKED; /* what it saw could not be remembered */
        return;
    }
    tp__session_move(tick, move, false);
    session->dstar->stood = session->at;
}

static void dstar_tick(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    const struct tp_budget *budget = tick->budget;
    session->path_complete = false;
    if (!session->dstar && !open_dstar(session)) {
        tick->node_cap = true;
        return;
    }
    struct tp_dstar *dstar = session->dstar;
    tick->steps_left = budget->kind == TP_BUDGET_R ? budget->expansions * budget->c : UINT64_MAX;
    if (restart_due(session)) {
        if (!begin(tick))
            return;
    } else if (!take_up_changes(tick)) {
        return;
    }
    if (!take_up_place(tick))
        return;
    for (;;) {
        if (!dstar->complete) {
            move_keys(session);
            dstar->run_ticks++;
            if (!run(tick))
                return;
            dstar->complete = true;
            dstar->quick = dstar->run_ticks == 1;
        }
        if (!goal_due(session))
            break;
        if (!take_up_goal(tick))
            return;
    }
    if (get(dstar, find(session, session->at), RHS) == TP_COST_INFINITE) {
        no_way(tick);
        return;
    }
    session->path_complete = dstar->goal == session->goal;
    follow(tick);
}

const struct tp_engine tp__engine_dstar_lite = {
    .name = "D* Lite", .tick = dstar_tick, .own_search = true, .next = next_move, .close = close_dstar};
