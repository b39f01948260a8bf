/* What the next tick of a session reads is fetched ahead (session.h, tp_session_prefetch): of one that will search, its mind, its open list and the
 * nodes of the states that come next; of one that will most likely only walk, the few lines that this takes. Nothing is changed, nothing fails.
 */
#include "base/prefetch.h"
#include "search/internal.h"

void tp__mind_prefetch(const struct tp_mind *session)
{
    enum { LEARNING = offsetof(struct tp_mind, learned), SEARCH = offsetof(struct tp_mind, search) };
    tp_prefetch_bytes(session, LEARNING);
    tp_prefetch_bytes((const char *)session + SEARCH, sizeof *session - SEARCH);
}

/* One step of three on the way to a cell's tile. */
static void prefetch_tile(const struct tp_tiles *tiles, uint32_t x, uint32_t y, unsigned step)
{
    if (step == 4)
        tp_prefetch_to_read(tp_tiles_peek_top(tiles, x, y));
    else if (step == 3)
        tp_prefetch_to_read(tp_tiles_peek_at(tiles, x, y));
    else if (step == 2)
        tp_prefetch_to_read(tp_tiles_peek(tiles, x, y));
}

/* The path's mark and the node of the state that the agent stands on. */
static void prefetch_place(const struct tp_mind *session, unsigned step)
{
    const struct tp_tiles *path = &session->trace.follow;
    const struct tp_nodes *nodes = &session->search.nodes;
    uint32_t x = tp_state_x(&session->search, session->at), y = tp_state_y(&session->search, session->at), slot = tp_tile_slot(x, y);
    if (path->top && !session->trace.follows_tree)
        prefetch_tile(path, x, y, step);
    if (!nodes->tiles.top)
        return;
    prefetch_tile(&nodes->tiles, x, y, step);
    const struct tp_node_tile *tile = step == 2 ? (const struct tp_node_tile *)tp_tiles_peek(&nodes->tiles, x, y) : NULL;
    if (!tile)
        return;
    tp_nodes_prefetch(tile, slot, nodes->wide);
    if (session->trace.follows_tree)
        tp_prefetch(&tile->g.marks[slot / 2]);
}

void tp__mind_prefetch_search(const struct tp_mind *session, unsigned step)
{
    tp__search_prefetch(&session->search, step);
    prefetch_place(session, step);
}

void tp__mind_prefetch_walk(const struct tp_mind *session, unsigned step)
{
    enum { WALK = offsetof(struct tp_mind, trace), WALK_END = offsetof(struct tp_mind, stats.expansions) };
    if (step == TP_PREFETCH_STEPS - 1) {
        tp_prefetch_to_read(&session->params.corners);
        tp_prefetch_to_read(&session->map);
        tp_prefetch_to_read(&session->search.shift);
        tp_prefetch_bytes((const char *)session + WALK, WALK_END - WALK);
    } else if (session->strolls == TP_STROLLS) {
        uint32_t x = tp_state_x(&session->search, session->at), y = tp_state_y(&session->search, session->at);
        prefetch_place(session, step);
        if (step == 4)
            tp_prefetch_to_read(&tp_map_tile_at(session->map, x, y)->passable[y % TP_MAP_TILE]);
    }
}
