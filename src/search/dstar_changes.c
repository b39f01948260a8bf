/* What changed of the map under a search of D* Lite, taken up over as many ticks as the budget asks.
 *
 * Happy path: the version taken up last is compared with the present one, tile by tile on a grid, page by page on a graph, or what
 * the agent saw is gone through; the states around each changed cell, or the node that a changed edge leads out of, are looked at
 * anew. A tile, PAGES_A_STEP pages that are alike, a part of one that is not, a changed cell or node are a step each. Nothing is
 * expanded before all is taken up.
 * Failure modes: the means of a tick end, or there is no memory (the same step is tried at the next tick). Called by dstar_lite.c.
 */
#include "search/dstar_lite.h"

/* Something is going to be looked at anew. */
static void reopen(struct tp_session *session)
{
    struct tp_dstar *dstar = session->dstar;
    if (dstar->complete) {
        dstar->complete = false;
        dstar->run_ticks = 0;
    }
    tp__dstar_move_keys(session);
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
            room = tp__dstar_refresh(tick, tp_state_at(&session->search, cx, cy));
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
    bool room = tp_open_reserve(&session->dstar->queue, 1) && tp__dstar_refresh(tick, node);
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

void tp__dstar_adopt_version(struct tp_session *session)
{
    struct tp_dstar *dstar = session->dstar;
    if (dstar->synced != session->map) {
        tp_map_unref(dstar->synced);
        dstar->synced = tp_map_ref(session->map);
    }
    dstar->cursor = 0;
}

bool tp__dstar_compares(const struct tp_session *session)
{
    return !session->search.domain->listed || session->map->graph;
}

bool tp__dstar_look_around(struct tp_session *session)
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

bool tp__dstar_take_up_changes(struct tp_tick *tick)
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
    bool differs = dstar->synced != session->map && tp__dstar_compares(session) &&
                   tp_map_changed_version(session->map) > dstar->synced->version;
    while (differs && dstar->cursor != TP_MAP_COMPARED) {
        if (!dstar->tile_paid && !tp__tick_step(tick)) /* whatever the tile's changes mean to this agent */
            return false;
        dstar->tile_paid = true;
        if (!compare_on(tick))
            return false;
        dstar->tile_paid = false;
    }
    tp__dstar_adopt_version(session);
    return true;
}
