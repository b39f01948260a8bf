/* What changed of the map under a search of D* Lite, taken up over as many ticks as the budget asks.
 *
 * Happy path: the version taken up last is compared with the present one, tile by tile on a grid, page by page on a graph, or what
 * the agent saw is gone through; the states around each changed cell, or the node that a changed edge leads out of, are looked at
 * anew. A tile, PAGES_A_STEP pages that are alike, a part of one that is not, a changed cell or node are a look each. Nothing is
 * expanded before all is taken up.
 *
 * One version at a time: what comes while a version is being taken up, or while a run goes on, waits for its end, so that changes
 * that come faster than they can be taken up delay the search and never stop it. For that the search does not read the session's
 * version but the one it is at: its rhs are of `synced` (tile by tile of `target`), its g of `planned`.
 *
 * A look costs a step under R. Under k a tick takes at most tp__beside_max, but for what the agent saw, which its sensor bounds.
 * Under a deadline the clock is asked every TP_DEADLINE_STRIDE looks.
 * Failure modes: the means of a tick end, or there is no memory (the same look is tried at the next tick). Called by dstar_lite.c.
 */
#include "search/dstar_lite.h"

uint64_t tp__dstar_looks_max(const struct tp_tick *tick)
{
    return tick->budget->kind == TP_BUDGET_K ? tp__beside_max(tick->budget) : UINT64_MAX;
}

/* Pays for a look; false when the tick's means are at their end. */
static bool look(struct tp_tick *tick)
{
    const struct tp_budget *budget = tick->budget;
    struct tp_dstar *dstar = tick->session->dstar;
    uint64_t done = tick->reply->work.traced;
    bool asks = budget->expired && done % TP_DEADLINE_STRIDE == 0 &&
                done % TP_DEADLINE_STEPS != 0; /* then a step does */
    if (dstar->looks_left == 0 || (asks && budget->expired(budget->context)) || !tp__tick_step(tick))
        return false;
    dstar->looks_left--;
    return true;
}

/* Something is going to be looked at anew. */
static void reopen(struct tp_mind *session)
{
    struct tp_dstar *dstar = session->dstar;
    dstar->dirty = true;
    tp__dstar_move_keys(session);
}

/* Takes up one changed cell: all states whose moves it may touch. False when it must be tried again. */
static bool look_at_cell(struct tp_tick *tick, uint32_t x, uint32_t y)
{
    struct tp_mind *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    const struct tp_map *map = session->map; /* for its size */
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
    return look(tick) && look_at_cell(tick, x, y);
}

/* The same of a graph: some edge out of the node changed. */
static bool look_at_node(void *context, uint32_t node)
{
    struct tp_tick *tick = context;
    struct tp_mind *session = tick->session;
    if (!look(tick))
        return false;
    reopen(session);
    bool room = tp_open_reserve(&session->dstar->queue, 1) && tp__dstar_refresh(tick, node);
    tick->node_cap |= !room;
    return room;
}

/* Goes on comparing the version taken up with the next: a tile of a grid, or a part of a graph's page. False when it must
 * be gone on with. */
static bool compare_on(struct tp_tick *tick)
{
    enum { PAGES_A_STEP = 64 };
    struct tp_dstar *dstar = tick->session->dstar;
    const struct tp_map *map = dstar->target;
    if (map->graph)
        return tp_map_compare_nodes(dstar->synced, map, &dstar->cursor, PAGES_A_STEP, look_at_node, tick);
    return tp_map_compare(dstar->synced, map, &dstar->cursor, look_at_changed, tick);
}

/* ---- Versions ---- */

/* Has `*held` hold another version, or none. */
static void hold(const struct tp_map **held, const struct tp_map *map)
{
    const struct tp_map *before = *held;
    *held = map ? tp_map_ref(map) : NULL;
    tp_map_unref(before);
}

void tp__dstar_forget_versions(struct tp_dstar *dstar)
{
    hold(&dstar->planned, NULL);
    hold(&dstar->synced, NULL);
    hold(&dstar->target, NULL);
}

void tp__dstar_plan_version(struct tp_dstar *dstar)
{
    hold(&dstar->planned, dstar->synced);
}

/* What was compared, or needs no comparing, is taken up. */
static void take_up(struct tp_mind *session, const struct tp_map *map)
{
    struct tp_dstar *dstar = session->dstar;
    hold(&dstar->synced, map);
    hold(&dstar->target, NULL);
    dstar->cursor = 0;
    dstar->tile_paid = false;
    if (!dstar->dirty)
        tp__dstar_plan_version(dstar);
    tp__dstar_read_taken_up(session); /* what was read may be gone */
}

void tp__dstar_adopt_version(struct tp_mind *session)
{
    struct tp_dstar *dstar = session->dstar;
    dstar->dirty = false;
    take_up(session, session->map);
}

void tp__dstar_read_taken_up(struct tp_mind *session)
{
    const struct tp_dstar *dstar = session->dstar;
    if (session->belief.full)
        tp_belief_set_truth(&session->belief, dstar->target ? dstar->target : dstar->synced);
}

void tp__dstar_read_planned(struct tp_mind *session)
{
    if (session->belief.full)
        tp_belief_set_truth(&session->belief, session->dstar->planned);
}

bool tp__dstar_up_to_date(const struct tp_mind *session)
{
    const struct tp_dstar *dstar = session->dstar;
    return !session->belief.full || (!dstar->target && dstar->synced->version == session->map->version);
}

bool tp__dstar_compares(const struct tp_mind *session)
{
    return !session->search.domain->listed || session->map->graph;
}

bool tp__dstar_look_around(struct tp_mind *session)
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

/* Compares the next version to its end. False when the tick's means end before. */
static bool compare(struct tp_tick *tick)
{
    struct tp_dstar *dstar = tick->session->dstar;
    tp__dstar_read_taken_up(tick->session);
    while (dstar->cursor != TP_MAP_COMPARED) {
        if (!dstar->tile_paid && !look(tick)) /* whatever the tile's changes mean to this agent */
            return false;
        dstar->tile_paid = true;
        if (!compare_on(tick))
            return false;
        dstar->tile_paid = false;
    }
    take_up(tick->session, dstar->target);
    return true;
}

bool tp__dstar_take_up_changes(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_dstar *dstar = session->dstar;
    uint32_t width = session->map->width;
    for (; dstar->sights_next < dstar->sights_count; dstar->sights_next++) {
        uint32_t cell = dstar->sights[dstar->sights_next];
        if (!tp__tick_step(tick) || !look_at_cell(tick, cell % width, cell / width))
            return false;
    }
    if (!session->belief.full || !tp__dstar_compares(session))
        return true;
    if (dstar->target && !compare(tick))
        return false;
    if (dstar->dirty || dstar->synced == session->map)
        return true;
    if (tp_map_changed_version(session->map) <= dstar->synced->version) {
        take_up(session, session->map);
        return true;
    }
    hold(&dstar->target, session->map);
    return compare(tick);
}
