#include "search/inspect.h"

#include "search/dstar_lite.h"
#include "search/rest.h"

enum { PART_STATES = 64 }; /* of a store's tile */

/* ---- As a whole ---- */

static uint32_t cell_of(const struct tp_mind *mind, tp_state state)
{
    return state == TP_STATE_NONE ? TP_INSPECT_NO_CELL : mind->search.domain->cell(&mind->search, state);
}

static bool is_backward(const struct tp_mind *mind)
{
    return mind->params.algorithm->engine == &tp__engine_dstar_lite;
}

/* Why an agent that is SEARCHING did not move. */
static enum tp_hold hold_of_search(const struct tp_mind *mind, uint32_t flags)
{
    const struct tp_search *search = &mind->search;
    if (flags & TP_FLAG_NODE_CAP)
        return TP_HOLD_NODE_CAP;
    if (flags & TP_FLAG_DEAD_END)
        return TP_HOLD_DEAD_END;
    if (is_backward(mind))
        return TP_HOLD_BUDGET;
    if (mind->learn.running)
        return TP_HOLD_LEARNING;
    bool was_looked_for = search->active && search->exhausted && !search->found && tp__nearest_due(mind);
    if (mind->waits_for_nearer || was_looked_for)
        return TP_HOLD_NEAREST;
    if (mind->guide.cache && mind->guide.coming.blocks && !search->active)
        return TP_HOLD_GUIDE;
    if (mind->trace.running)
        return TP_HOLD_TRACE;
    return mind->waits_for_path ? TP_HOLD_PATH : TP_HOLD_BUDGET;
}

static enum tp_hold hold_of(const struct tp_session *session)
{
    switch ((enum tp_status)session->told_status) {
    case TP_STATUS_MOVING:
        break;
    case TP_STATUS_SEARCHING:
        if (session->mind)
            return hold_of_search(session->mind, session->told_flags);
        return session->told_flags & TP_FLAG_NODE_CAP ? TP_HOLD_NODE_CAP : TP_HOLD_BUDGET;
    case TP_STATUS_BLOCKED:
        return session->told_flags & TP_FLAG_BACK_MOVE ? TP_HOLD_PAUSE : TP_HOLD_STEP;
    case TP_STATUS_ARRIVED:
        return TP_HOLD_ARRIVED;
    case TP_STATUS_UNREACHABLE:
        return TP_HOLD_NO_WAY;
    }
    return TP_HOLD_NONE;
}

static void inspect_dstar(const struct tp_mind *mind, struct tp_inspection *out)
{
    const struct tp_dstar *dstar = mind->dstar;
    out->is_backward = true;
    out->searches = dstar && dstar->active;
    if (!out->searches)
        return;
    out->root = cell_of(mind, dstar->goal);
    out->best = cell_of(mind, tp__dstar_best(mind));
    out->found = dstar->complete;
    out->exhausted = dstar->queue.count == 0;
    out->queued = dstar->queue.count;
}

static void inspect_search(const struct tp_mind *mind, struct tp_inspection *out)
{
    const struct tp_search *search = &mind->search;
    tp_state best;
    out->searches = search->active && !tp__is_packed(mind);
    out->is_packed = tp__is_packed(mind);
    if (!out->searches)
        return;
    out->root = cell_of(mind, search->root);
    if (tp__looks_breadth_first(mind))
        out->best = cell_of(mind, mind->lookahead.best.state); /* once its frontier is weighed */
    else if (tp_search_best(search, &best))
        out->best = cell_of(mind, best);
    out->found = search->found;
    out->exhausted = search->exhausted;
    out->partial = search->partial;
    out->queued = search->bucketed ? search->bucket.count : search->open.count;
}

static void inspect_mind(const struct tp_mind *mind, struct tp_inspection *out)
{
    const struct tp_search *search = &mind->search;
    if (is_backward(mind))
        inspect_dstar(mind, out);
    else
        inspect_search(mind, out);
    out->goal_count = mind->goals.count;
    for (uint32_t i = 0; i < mind->goals.count; i++)
        out->goals[i] = cell_of(mind, mind->goals.states[i]);
    out->path_complete = mind->path_complete;
    out->is_vehicle = search->domain->velocity != NULL;
    if (out->is_vehicle)
        search->domain->velocity(mind->at, &out->vx, &out->vy);
    out->learns = search->learned != NULL;
    out->is_led = mind->guide.cache != NULL && tp__overlay_blocks(mind) != NULL;
    if (out->hold == TP_HOLD_STEP)
        out->step_cell = cell_of(mind, mind->closed_step);
}

void tp_session_inspect(const struct tp_session *session, struct tp_inspection *inspection)
{
    const struct tp_map *map = tp_session_map(session);
    *inspection = (struct tp_inspection){
        .epoch = map->epoch,
        .version = map->version,
        .width = map->width,
        .height = map->height,
        .is_graph = map->graph != NULL,
        .cell = tp_session_cell(session),
        .root = TP_INSPECT_NO_CELL,
        .best = TP_INSPECT_NO_CELL,
        .status = (enum tp_status)session->told_status,
        .flags = session->told_flags,
        .hold = hold_of(session),
        .step_cell = TP_INSPECT_NO_CELL,
    };
    tp_session_stats(session, &inspection->stats);
    if (session->mind) {
        inspect_mind(session->mind, inspection);
        return;
    }
    inspection->goals[0] = tp_session_goal(session);
    inspection->goal_count = 1 + session->more_goal_count;
    for (uint32_t i = 0; i < session->more_goal_count; i++)
        inspection->goals[1 + i] = tp__rest_cell(session, session->more_goals[i]);
    inspection->rests = true;
    inspection->is_packed = session->rest.active;
    inspection->path_complete = session->path_complete;
    inspection->is_led = session->params.fields != NULL && map->blocks != NULL;
}

/* ---- States ---- */

/* What the tree has of a state: false if nothing. A breadth-first lookahead opens closed states again, and marks them so. */
static bool look_in_tree(const struct tp_mind *mind, uint32_t x, uint32_t y, bool *is_open, tp_cost *g)
{
    const struct tp_search *search = &mind->search;
    const struct tp_node_tile *tile = search->active ? tp_nodes_find(&search->nodes, x, y) : NULL;
    uint32_t slot = tp_tile_slot(x, y);
    *g = tile ? tp_nodes_g(&search->nodes, tile, slot) : TP_COST_INFINITE;
    if (*g == TP_COST_INFINITE)
        return false;
    uint8_t flags = tile->meta[slot];
    *is_open = !(flags & TP_NODE_CLOSED) || (tp__looks_breadth_first(mind) && flags & TP_NODE_REACHED);
    return true;
}

/* Adds what is known of a state to what its cell is. */
static void add_state(const struct tp_mind *mind, tp_state state, struct tp_inspect_state *out)
{
    const struct tp_search *search = &mind->search;
    uint32_t x = tp_state_x(search, state), y = tp_state_y(search, state);
    tp_cost g = TP_COST_INFINITE;
    bool is_open = false, is_known = false;
    if (is_backward(mind))
        is_known = mind->dstar && mind->dstar->active && tp__dstar_look(mind, state, &is_open, &g);
    else
        is_known = look_in_tree(mind, x, y, &is_open, &g);
    if (is_known)
        out->what |= is_open ? TP_INSPECT_OPEN : TP_INSPECT_CLOSED;
    if (g < out->g)
        out->g = g;
    tp_cost raised = search->learned ? tp_learned_at(search->learned, x, y) : 0;
    if (raised)
        out->what |= TP_INSPECT_RAISED;
    if (raised > out->raised)
        out->raised = raised;
}

/* Whether a part of the store that the state lies in holds anything. */
static bool holds(const struct tp_mind *mind, tp_state state)
{
    const struct tp_search *search = &mind->search;
    uint32_t x = tp_state_x(search, state), y = tp_state_y(search, state);
    if (search->active && tp_nodes_find(&search->nodes, x, y))
        return true;
    if (mind->dstar && mind->dstar->active && tp_tiles_find(&mind->dstar->states, x, y))
        return true;
    return search->learned && tp_tiles_find(search->learned, x, y);
}

/* How many states a cell has: one for each velocity. */
static uint32_t states_of_cell(const struct tp_mind *mind)
{
    enum { SPEEDS = 2 * TP_VELOCITY_MAX + 1 };
    return mind->search.domain->at_velocity ? SPEEDS * SPEEDS : 1;
}

/* The cell at `i` of the order in which a scan goes: on grids in squares of the store's tiles, else row by row. False: it lies outside. */
struct order {
    bool by_tiles;
    uint32_t x, y, end_x, end_y;             /* the rectangle, cut off at the map's edges */
    uint32_t tile_x, tile_y, tiles_x;        /* its tiles */
    uint64_t count;
};

static struct order order_of(const struct tp_mind *mind, const struct tp_inspect_scan *scan)
{
    const struct tp_map *map = mind->map;
    struct order order = {.by_tiles = !mind->search.domain->listed, .x = scan->x, .y = scan->y};
    if (scan->x >= map->width || scan->y >= map->height || !scan->width || !scan->height)
        return order;
    order.end_x = scan->width < map->width - scan->x ? scan->x + scan->width : map->width;
    order.end_y = scan->height < map->height - scan->y ? scan->y + scan->height : map->height;
    order.count = (uint64_t)(order.end_x - order.x) * (order.end_y - order.y);
    if (order.by_tiles) {
        order.tile_x = order.x / TP_TILE_SIDE;
        order.tile_y = order.y / TP_TILE_SIDE;
        order.tiles_x = (order.end_x - 1) / TP_TILE_SIDE - order.tile_x + 1;
        order.count = (uint64_t)order.tiles_x * ((order.end_y - 1) / TP_TILE_SIDE - order.tile_y + 1) * TP_TILE_CELLS;
    }
    return order;
}

static bool cell_at(const struct order *order, uint64_t i, uint32_t *x, uint32_t *y)
{
    if (!order->by_tiles) {
        uint32_t width = order->end_x - order->x;
        *x = order->x + (uint32_t)(i % width);
        *y = order->y + (uint32_t)(i / width);
        return true;
    }
    uint32_t tile = (uint32_t)(i / TP_TILE_CELLS), slot = i % TP_TILE_CELLS;
    *x = (order->tile_x + tile % order->tiles_x) * TP_TILE_SIDE + slot % TP_TILE_SIDE;
    *y = (order->tile_y + tile / order->tiles_x) * TP_TILE_SIDE + slot / TP_TILE_SIDE;
    return *x >= order->x && *x < order->end_x && *y >= order->y && *y < order->end_y;
}

/* The first state of a cell; a vehicle's others follow. */
static tp_state first_state(const struct tp_mind *mind, uint32_t x, uint32_t y)
{
    const struct tp_search *search = &mind->search;
    uint32_t cell = y * mind->map->width + x;
    if (search->domain->at_velocity)
        return search->domain->at_velocity(cell, -TP_VELOCITY_MAX, -TP_VELOCITY_MAX);
    return search->domain->listed ? search->domain->at_cell(search, cell) : tp_state_at(search, x, y);
}

/* How far the order leads, from `i` on, through cells whose states' parts hold nothing; at least 1. 0: some may be held here. */
static uint64_t empty_from(const struct tp_mind *mind, const struct order *order, uint64_t i, tp_state first)
{
    uint32_t each = states_of_cell(mind);
    if (holds(mind, first) || (each > 1 && holds(mind, first + each - 1)))
        return 0;
    if (order->by_tiles)
        return TP_TILE_CELLS - i % TP_TILE_CELLS;
    uint64_t to_row_end = order->end_x - order->x - i % (order->end_x - order->x), to_part_end = PART_STATES - first % PART_STATES;
    if (each > 1)
        return 1;
    return to_part_end < to_row_end ? to_part_end : to_row_end;
}

static struct tp_inspect_state look(const struct tp_mind *mind, uint32_t cell, tp_state first)
{
    struct tp_inspect_state out = {.cell = cell, .g = TP_COST_INFINITE};
    for (uint32_t i = 0; i < states_of_cell(mind); i++)
        add_state(mind, first + i, &out);
    return out;
}

static bool take_looks(struct tp_inspect_scan *scan, uint64_t looks)
{
    if (!scan->looks)
        return false;
    scan->looks -= looks < scan->looks ? looks : scan->looks; /* the last look may be at all of a vehicle's cell */
    return true;
}

uint32_t tp_session_inspect_states(const struct tp_session *session, struct tp_inspect_scan *scan, struct tp_inspect_state *states, uint32_t max)
{
    const struct tp_mind *mind = session->mind;
    uint32_t count = 0, x, y;
    if (!mind || mind->map->puzzle) {
        scan->done = true;
        return 0;
    }
    struct order order = order_of(mind, scan);
    while (scan->cursor < order.count && count < max) {
        bool is_inside = cell_at(&order, scan->cursor, &x, &y);
        if (!is_inside && scan->cursor % TP_TILE_CELLS != 0) { /* at a tile's begin all of it may be skipped */
            scan->cursor++;
            continue;
        }
        tp_state first = first_state(mind, x, y);
        uint64_t empty = empty_from(mind, &order, scan->cursor, first);
        if (!take_looks(scan, empty ? 1 : states_of_cell(mind)))
            break;
        if (!empty && is_inside) {
            states[count] = look(mind, y * mind->map->width + x, first);
            count += states[count].what != 0;
        }
        scan->cursor += empty ? empty : 1;
    }
    scan->done = scan->cursor >= order.count;
    return count;
}

uint32_t tp_session_inspect_fresh(const struct tp_session *session, uint32_t *cells, uint32_t max)
{
    const struct tp_mind *mind = session->mind;
    uint32_t count = 0;
    if (!mind || !mind->trace.running || mind->params.algorithm->engine->own_search)
        return 0;
    const struct tp_search *search = &mind->search;
    for (tp_state state = mind->trace.front; state != TP_STATE_NONE && count < max;) {
        cells[count++] = cell_of(mind, state);
        uint8_t mark = tp_marks_at(&mind->trace.fresh, tp_state_x(search, state), tp_state_y(search, state));
        if (mark < TP_MARK_NEXT)
            break;
        state = tp_search_move(search, state, mark - TP_MARK_NEXT);
    }
    return count;
}
