/* What a changed map, or a new sight, asks of a session.
 *
 * Each tick the agent looks around (where it does not know the map), and a new version is compared with the one before:
 * versions share their unchanged tiles, so that a comparison costs a pointer a tile and a word a row of the changed
 * ones. For each changed cell the session's rule is asked:
 *   on rise (2012, Algorithm 2, lines 8 to 12)  a step still to be followed became dearer or illegal
 *   lazy (2014, Algorithm 3)                    the same, or a step that became cheaper may open a path w times shorter
 *   eager (2014, Algorithm 2)                   any change
 *   never                                       none of this (a blocked next step is found at the move)
 * Looking at a changed cell costs 1/c under R; a change that the purse can't pay for restarts at once, which is always
 * sound.
 */
#include "search/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- Learning ---- */

void tp__learning_forget(struct tp_session *session)
{
    struct tp_nodes_adaptive *adaptive = &session->adaptive;
    tp_tiles_begin(&session->learned);
    if (adaptive->pathcost)
        memset(adaptive->pathcost, 0, adaptive->room * sizeof adaptive->pathcost[0]);
    session->unteachable = true; /* the present search's f are of the old goal or the old costs */
    tp__prioritized_forget(session);
    if (session->cycle == TP_CYCLE_LEARN && tp__looks_breadth_first(session))
        session->cycle = TP_CYCLE_LOOK;
}

void tp__learning_check(struct tp_session *session)
{
    if (!session->search.learned)
        return;
    const struct tp_map *map = session->map;
    uint64_t fell = session->belief.full ? map->fell_version : 0;
    if (session->search.domain->map_in_moves && map->rose_version > fell)
        fell = map->rose_version; /* a new wall stops vehicles where they could not stop before */
    if (session->belief.falls > session->learned_falls || fell > session->learned_fell_version)
        tp__learning_forget(session);
    tp__learn_abandon(session);
    session->learned_falls = session->belief.falls;
    session->learned_fell_version = fell;
}

void tp__learning_remember(struct tp_session *session)
{
    struct tp_nodes_adaptive *adaptive = &session->adaptive;
    const struct tp_search *search = &session->search;
    if (!search->nodes.adaptive || !search->active || session->unteachable)
        return;
    uint32_t stamp = search->nodes.tiles.stamp;
    if (stamp >= adaptive->room) {
        uint32_t room = adaptive->room ? 2 * adaptive->room : 64;
        while (room <= stamp)
            room *= 2;
        uint64_t *pathcost = realloc(adaptive->pathcost, room * sizeof *pathcost);
        if (!pathcost)
            return; /* this search teaches nothing */
        memset(pathcost + adaptive->room, 0, (room - adaptive->room) * sizeof *pathcost);
        adaptive->pathcost = pathcost;
        adaptive->room = room;
    }
    tp_cost least = tp_search_least_f(search);
    adaptive->pathcost[stamp] = least == TP_COST_INFINITE ? 0 : least;
}

/* ---- Rules ---- */

static bool by_rule(const struct tp_session *session)
{
    return session->params.restart == TP_RESTART_LAZY || session->params.restart == TP_RESTART_ON_RISE;
}

static bool follows(const struct tp_session *session)
{
    return session->search.active && session->trace.follow_end != TP_STATE_NONE;
}

/* Whether the path's step out of a marked state is still to be followed: behind an agent on the path it is not. Off the
 * path, where the agent goes back to it, every step is. */
static bool to_be_followed(const struct tp_session *session, tp_state state)
{
    const struct tp_search *search = &session->search;
    return tp__trace_next(session) == TP_MOVE_NONE || !tp_search_knows(search, session->at) ||
           tp_search_g(search, state) >= tp_search_g(search, session->at);
}

/* Whether a step of the path still to be followed, near a cell that rose, is dearer or illegal now: the steps out of all
 * marked cells that the cell may stand beside, or out of the cell itself. */
static bool path_rose_near(const struct tp_session *session, uint32_t x, uint32_t y)
{
    const struct tp_search *search = &session->search;
    const struct tp_belief *belief = &session->belief;
    const struct tp_map *map = session->map;
    for (uint32_t cy = y > 2 ? y - 2 : 0; cy <= y + 2 && cy < map->height; cy++)
        for (uint32_t cx = x > 2 ? x - 2 : 0; cx <= x + 2 && cx < map->width; cx++) {
            uint8_t mark = tp_marks_at(&session->trace.follow, cx, cy);
            tp_state from = tp_state_at(search, cx, cy);
            if (mark < TP_MARK_NEXT || !to_be_followed(session, from))
                continue;
            uint8_t direction = mark - TP_MARK_NEXT;
            if (cx == x && cy == y && from != session->at && !tp_belief_passable(belief, x, y))
                return true;
            if (!tp_belief_legal(belief, cx, cy, direction, session->params.neighbours, session->params.corners))
                return true;
            bool at_end = (cx == x && cy == y) || (cx + (uint32_t)tp_direction_dx[direction] == x &&
                                                   cy + (uint32_t)tp_direction_dy[direction] == y);
            if (search->weighted && at_end)
                return true;
        }
    return false;
}

/* 2014, Algorithm 3, line 7: the cost of what is left of the path, as it was when the search grew it; before the goal is found, up to the best state and h
 * from there. Off the path the agent first has to go back. */
static tp_cost cost_left(const struct tp_session *session)
{
    const struct tp_search *search = &session->search;
    tp_state end = session->trace.follow_end;
    tp_cost to_end = tp_search_g(search, end), at = tp_search_knows(search, session->at) ? tp_search_g(search, session->at) : 0;
    bool on_path = session->at == end || tp__trace_next(session) != TP_MOVE_NONE;
    return (on_path ? to_end - at : to_end + at) + tp_search_h(search, end, session->goal);
}

/* 2014, Algorithm 3, lines 6 to 8, for the moves that a fallen cell made legal or cheaper: whether w times the least cost
 * through one of them is below what is left of the path. */
static bool shortcut_opened_near(const struct tp_session *session, uint32_t x, uint32_t y, tp_cost left)
{
    const struct tp_search *search = &session->search;
    const struct tp_map *map = session->map;
    uint32_t reach = session->params.neighbours == TP_NEIGHBOURS_16 ? 2 : 1;
    for (uint32_t cy = y > reach ? y - reach : 0; cy <= y + reach && cy < map->height; cy++)
        for (uint32_t cx = x > reach ? x - reach : 0; cx <= x + reach && cx < map->width; cx++) {
            struct tp_window now = tp_walk_window(map, cx, cy), before = tp_walk_window(session->map_before, cx, cy);
            uint32_t moves = tp_walk_moves(&now, session->params.neighbours, session->params.corners);
            if (!search->weighted)
                moves &= ~tp_walk_moves(&before, session->params.neighbours, session->params.corners);
            tp_state from = tp_state_at(search, cx, cy);
            for (; moves; moves &= moves - 1) {
                uint8_t direction = (uint8_t)__builtin_ctz(moves);
                tp_state to = tp_state_step(search, from, direction);
                tp_cost through = tp_search_h(search, session->at, from) +
                                  tp_walk_cost(map, cx, cy, tp_state_x(search, to), tp_state_y(search, to), direction) +
                                  tp_search_h(search, to, session->goal);
                if (through * session->params.w_milli < left * 1000)
                    return true;
            }
        }
    return false;
}

/* ---- A new version against the one before ---- */

struct comparison {
    struct tp_tick *tick;
    tp_cost left;    /* cost_left */
    bool lazy;
    bool restart;
};

/* Looks at one changed cell; false to stop. */
static bool look(void *context, uint32_t x, uint32_t y, uint16_t before, uint16_t after)
{
    struct comparison *comparison = context;
    struct tp_session *session = comparison->tick->session;
    if (!tp__tick_step(comparison->tick)) {
        comparison->restart = true; /* more changed than can be looked at */
        return false;
    }
    bool rose = !after || (before && after > before);
    comparison->restart =
        rose ? path_rose_near(session, x, y)
             : comparison->lazy && shortcut_opened_near(session, x, y, comparison->left);
    return !comparison->restart;
}

/* A cursor counts cells tile by tile, as if every tile were whole. */
enum { TILE_CELLS = TP_MAP_TILE * TP_MAP_TILE };

bool tp__versions_compare(const struct tp_map *before, const struct tp_map *now, uint64_t *cursor,
                          tp_cell_changed_cb changed, void *context)
{
    uint64_t tiles = (uint64_t)now->tiles_x * now->tiles_y;
    for (uint64_t tile = *cursor / TILE_CELLS; tile < tiles; tile++) {
        const struct tp_map_tile *old_tile = before->tiles[tile], *new_tile = now->tiles[tile];
        uint32_t x0 = (uint32_t)(tile % now->tiles_x) * TP_MAP_TILE, y0 = (uint32_t)(tile / now->tiles_x) * TP_MAP_TILE;
        for (uint32_t row = 0; new_tile != old_tile && row < new_tile->rows; row++) {
            const uint8_t *a = tp_map_tile_classes(old_tile) + (size_t)row * new_tile->columns;
            const uint8_t *b = tp_map_tile_classes(new_tile) + (size_t)row * new_tile->columns;
            if (memcmp(a, b, new_tile->columns) == 0)
                continue;
            for (uint32_t column = 0; column < new_tile->columns; column++) {
                uint64_t here = tile * TILE_CELLS + (uint64_t)row * TP_MAP_TILE + column;
                uint16_t was = now->profile.weight[a[column]], is = now->profile.weight[b[column]];
                if (was == is || here < *cursor)
                    continue;
                if (!changed(context, x0 + column, y0 + row, was, is)) {
                    *cursor = here;
                    return false;
                }
            }
        }
    }
    return true;
}

static bool compare_versions(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct comparison comparison = {.tick = tick, .lazy = session->params.restart == TP_RESTART_LAZY};
    comparison.left = cost_left(session);
    uint64_t cursor = 0;
    tp__versions_compare(session->map_before, session->map, &cursor, look, &comparison);
    return comparison.restart;
}

/* What the agent sees from where it stands, and whether the rule asks for a new search. */
static bool look_around(struct tp_session *session)
{
    const struct tp_search *search = &session->search;
    struct tp_belief_change changes[TP_BELIEF_CHANGES_MAX];
    uint32_t count = tp_belief_observe(&session->belief, tp_state_x(search, session->at), tp_state_y(search, session->at),
                                       session->params.sensor_radius, changes);
    bool restart = count && session->params.restart == TP_RESTART_EAGER;
    for (uint32_t i = 0; i < count && by_rule(session) && follows(session); i++)
        restart |= changes[i].rose && path_rose_near(session, changes[i].x, changes[i].y);
    return restart;
}

bool tp__react_after_move(struct tp_tick *tick)
{
    return !tick->session->belief.full && look_around(tick->session);
}

bool tp__react(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    const struct tp_search *search = &session->search;
    if (!session->belief.full)
        return look_around(session);
    if (session->params.restart == TP_RESTART_EAGER)
        return search->active && tp_map_changed_version(session->map) > search->begun_version;
    bool same = !session->map_before || session->map_before->version == session->map->version;
    if (same || !by_rule(session))
        return false;
    if (search->domain->listed)
        return search->active; /* which of its moves a change touches is not looked up */
    return follows(session) && compare_versions(tick);
}
