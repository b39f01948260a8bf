/* Grids with 4, 8 and 16 neighbours: distances, the expansion of the kernel, and the moves for all else of the search.
 *
 * The expansion is written once, with the neighbourhood and the node width as constants where it is inlined, so that
 * each instance below is a loop of its own without a test of either. One call runs many expansions;
 * there is no call through a pointer per successor. The loop around it: kernel.h.
 */
#include "domain/kernel.h"

/* ---- Heuristics: the distance from (dx, dy) away, over weight 1 ---- */

static inline tp_cost manhattan(uint32_t dx, uint32_t dy)
{
    return ((tp_cost)dx + dy) * TP_COST_UNIT;
}

static inline tp_cost octile(uint32_t dx, uint32_t dy)
{
    uint32_t longer = dx > dy ? dx : dy, shorter = dx > dy ? dy : dx;
    return (tp_cost)longer * TP_COST_UNIT + (tp_cost)shorter * (TP_COST_DIAGONAL - TP_COST_UNIT);
}

/* One part in a million short, so that it stays consistent with the integer costs. */
static inline tp_cost euclid(uint32_t dx, uint32_t dy)
{
    double square = (double)dx * dx + (double)dy * dy;
    return (tp_cost)(TP_COST_UNIT * (1 - 1e-6) * __builtin_sqrt(square));
}

/* Exact with 16 neighbours over a map without obstacles: knight's moves, and the straight or the diagonal steps that are
 * left, whichever the slope lies beside (the three moves' cones hold every cell, whole numbers of times). */
static inline tp_cost knight(uint32_t dx, uint32_t dy)
{
    uint32_t longer = dx > dy ? dx : dy, shorter = dx > dy ? dy : dx;
    if (2 * (uint64_t)shorter <= longer)
        return (tp_cost)shorter * TP_COST_KNIGHT + ((tp_cost)longer - 2 * (tp_cost)shorter) * TP_COST_UNIT;
    return ((tp_cost)longer - shorter) * TP_COST_KNIGHT + (2 * (tp_cost)shorter - longer) * TP_COST_DIAGONAL;
}

/* Coordinates are far below 2^31. */
static inline uint32_t apart(uint32_t a, uint32_t b)
{
    int32_t d = (int32_t)(a - b);
    return (uint32_t)(d < 0 ? -d : d);
}

/* The default of each neighbourhood. */
TP_ALWAYS_INLINE tp_cost distance(uint32_t dx, uint32_t dy, enum tp_neighbours neighbours)
{
    return neighbours == TP_NEIGHBOURS_4   ? manhattan(dx, dy)
           : neighbours == TP_NEIGHBOURS_8 ? octile(dx, dy)
                                           : euclid(dx, dy);
}

static bool has(enum tp_heuristic heuristic, enum tp_neighbours neighbours)
{
    switch (heuristic) {
    case TP_HEURISTIC_MANHATTAN:
        return neighbours == TP_NEIGHBOURS_4;
    case TP_HEURISTIC_OCTILE:
        return neighbours != TP_NEIGHBOURS_16;
    case TP_HEURISTIC_MAXIMUM:
        return false;
    default:
        return true;
    }
}

static tp_cost distance_by(enum tp_heuristic heuristic, uint32_t dx, uint32_t dy, enum tp_neighbours neighbours)
{
    switch (heuristic) {
    case TP_HEURISTIC_ZERO:
        return 0;
    case TP_HEURISTIC_EUCLID:
        return euclid(dx, dy);
    case TP_HEURISTIC_OCTILE:
        return octile(dx, dy);
    case TP_HEURISTIC_FREESPACE:
        return neighbours == TP_NEIGHBOURS_16 ? knight(dx, dy) : distance(dx, dy, neighbours);
    default:
        return distance(dx, dy, neighbours);
    }
}

/* ---- The kernel ---- */

TP_ALWAYS_INLINE uint64_t priority(const struct tp_search *s, struct tp_goal goal, uint32_t x, uint32_t y, uint64_t g,
                                   enum tp_neighbours neighbours, unsigned how)
{
    uint32_t dx = apart(x, goal.x), dy = apart(y, goal.y);
    uint64_t h;
    switch (how & TP_HOW_H) {
    case TP_HOW_CHOOSING:
        return s->g_factor * g + s->h_factor * tp_search_h_now(s, tp_state_at(s, x, y));
    case TP_HOW_OTHER:
        h = distance_by(s->heuristic, dx, dy, neighbours) * s->h_unit;
        break;
    default:
        h = distance(dx, dy, neighbours);
        if (tp__how_wide(how))
            h *= s->h_unit;
    }
    if (tp__how_learns(s, how))
        h += tp_learned_at(s->learned, x, y);
    return s->g_factor * g + s->h_factor * h;
}

/* Where a state's neighbours lie: in its own tile, and along the border in the one aside, the one above or below, and in a corner the
 * one across; `tp_node_untouched` where no search has been, or where that is not known. */
struct around {
    struct tp_node_tile *tile[4]; /* bit 0: aside, bit 1: above or below */
};

/* A comparison each and no branch, where the loop over successors would mispredict; the first is bit 0. */
TP_ALWAYS_INLINE uint32_t improving(uint32_t g, enum tp_neighbours neighbours, uint32_t e, uint32_t s, uint32_t w, uint32_t n,
                                    uint32_t se, uint32_t sw, uint32_t nw, uint32_t ne)
{
    uint32_t straight = g + TP_COST_UNIT, diagonal = g + TP_COST_DIAGONAL, better = 0;
    if (neighbours == TP_NEIGHBOURS_8) {
        better = diagonal < ne;
        better = 2 * better + (diagonal < nw);
        better = 2 * better + (diagonal < sw);
        better = 2 * better + (diagonal < se);
    }
    better = 2 * better + (straight < n);
    better = 2 * better + (straight < w);
    better = 2 * better + (straight < s);
    return 2 * better + (straight < e);
}

/* The directions whose successor gets a lower g from a state with all its neighbours in its own tile. */
TP_ALWAYS_INLINE uint32_t improving_within(const struct tp_node_tile *tile, uint32_t slot, uint32_t g, enum tp_neighbours neighbours)
{
    enum { SIDE = TP_TILE_SIDE };
    const uint32_t *at = &tile->g.narrow[slot];
    return improving(g, neighbours, at[1], at[SIDE], at[-1], at[-SIDE], at[SIDE + 1], at[SIDE - 1], at[-SIDE - 1], at[1 - SIDE]);
}

/* The same of a state on its tile's border. */
TP_ALWAYS_INLINE uint32_t improving_across(const struct around *around, uint32_t x, uint32_t y, uint32_t g,
                                           enum tp_neighbours neighbours)
{
    const struct tp_node_tile *own = around->tile[0], *aside = around->tile[1], *upright = around->tile[2], *across = around->tile[3];
    uint32_t column = x & (TP_TILE_SIDE - 1), row = y & (TP_TILE_SIDE - 1);
    bool first_column = column == 0, last_column = column == TP_TILE_SIDE - 1, first_row = row == 0, last_row = row == TP_TILE_SIDE - 1;
    const struct tp_node_tile *w = first_column ? aside : own, *e = last_column ? aside : own;
    const struct tp_node_tile *n = first_row ? upright : own, *s = last_row ? upright : own;
    const struct tp_node_tile *n_aside = first_row ? across : aside, *s_aside = last_row ? across : aside;
    const struct tp_node_tile *nw = first_column ? n_aside : n, *ne = last_column ? n_aside : n;
    const struct tp_node_tile *sw = first_column ? s_aside : s, *se = last_column ? s_aside : s;
    return improving(g, neighbours, e->g.narrow[tp_tile_slot(x + 1, y)], s->g.narrow[tp_tile_slot(x, y + 1)],
                     w->g.narrow[tp_tile_slot(x - 1, y)], n->g.narrow[tp_tile_slot(x, y - 1)],
                     se->g.narrow[tp_tile_slot(x + 1, y + 1)], sw->g.narrow[tp_tile_slot(x - 1, y + 1)],
                     nw->g.narrow[tp_tile_slot(x - 1, y - 1)], ne->g.narrow[tp_tile_slot(x + 1, y - 1)]);
}

/* Whether all neighbours one step away lie in the cell's own tile. */
static inline bool within_tile(uint32_t x, uint32_t y)
{
    uint32_t column = x & (TP_TILE_SIDE - 1), row = y & (TP_TILE_SIDE - 1);
    return column - 1 < TP_TILE_SIDE - 2 && row - 1 < TP_TILE_SIDE - 2;
}

/* The tiles around a state on its tile's border, as far as its tile knows them. */
TP_ALWAYS_INLINE void look_around(const struct tp_search *s, struct tp_node_tile *tile, uint32_t x, uint32_t y, struct around *around)
{
    uint32_t column = x & (TP_TILE_SIDE - 1), row = y & (TP_TILE_SIDE - 1);
    bool is_aside = column - 1 >= TP_TILE_SIDE - 2, is_upright = row - 1 >= TP_TILE_SIDE - 2;
    around->tile[1] = is_aside ? tp_nodes_beside(&s->nodes, tile, column ? TP_BESIDE_E : TP_BESIDE_W) : tile;
    around->tile[2] = is_upright ? tp_nodes_beside(&s->nodes, tile, row ? TP_BESIDE_S : TP_BESIDE_N) : tile;
    around->tile[3] = tp_node_untouched();
}

/* The tile of a successor that is not in the state's own; NULL without memory. */
static struct tp_node_tile *touch_across(struct tp_search *s, struct tp_node_tile *tile, uint32_t x, uint32_t y, uint32_t nx, uint32_t ny)
{
    bool aside = (nx ^ x) >= TP_TILE_SIDE, upright = (ny ^ y) >= TP_TILE_SIDE;
    if (aside && upright)
        return tp_nodes_touch(&s->nodes, nx, ny);
    uint32_t direction = aside ? (nx > x ? TP_BESIDE_E : TP_BESIDE_W) : (ny > y ? TP_BESIDE_S : TP_BESIDE_N);
    return tp_nodes_touch_beside(&s->nodes, tile, direction, nx, ny);
}

/* 2014, Algorithm 1, lines 13 to 19, for the state on top of the list. False when a successor's tile could not be had: the state
 * stays open and nothing is lost. */
TP_ALWAYS_INLINE bool expand(struct tp_search *s, struct tp_run *run, struct tp_goal goal, const struct tp_best *best,
                             struct tp_held *held, enum tp_neighbours neighbours, unsigned how)
{
    bool wide = tp__how_wide(how), reopens = how & TP_HOW_BUCKETED && s->reopens;
    struct tp_node_tile *tile = best->tile;
    uint32_t x = best->x, y = best->y, slot = best->slot;
    uint64_t g = best->entry.g;
    if (!wide && __builtin_expect(g >= UINT32_MAX - TP_COST_KNIGHT, 0)) /* search.c: longest_path */
        return false;
    tp_nodes_refresh(&s->nodes, tile, x, y);
    tile->meta[slot] |= TP_NODE_CLOSED;
    tp__kernel_expand_begin(s, how);
    const uint16_t *rows = tile->passable + (y & (TP_TILE_SIDE - 1));
    uint32_t shift = x & (TP_TILE_SIDE - 1), moves;
    bool is_open;
    if (neighbours == TP_NEIGHBOURS_16) {
        struct tp_window window;
        for (int i = 0; i < 5; i++)
            window.row[i] = rows[i] >> shift;
        moves = tp_walk_moves(&window, neighbours, s->corners);
        is_open = window.row[2] >> TP_NODE_MARGIN & 1;
    } else {
        uint32_t nine = tp_walk_nine(rows[1] >> (shift + 1), rows[2] >> (shift + 1), rows[3] >> (shift + 1));
        moves = tp_walk_moves_of[neighbours == TP_NEIGHBOURS_8][s->corners][nine];
        is_open = nine >> 4 & 1;
    }
    /* a cell that was blocked after it was generated leads nowhere; a root is left all the same */
    if (__builtin_expect(!is_open, 0) && !(tile->meta[slot] & TP_NODE_ROOT))
        moves = 0;
    bool compared = !wide && neighbours != TP_NEIGHBOURS_16, inside = compared && within_tile(x, y);
    struct around around = {.tile = {tile}};
    if (inside) {
        moves &= improving_within(tile, slot, (uint32_t)g, neighbours);
    } else if (compared) {
        look_around(s, tile, x, y, &around);
        moves &= improving_across(&around, x, y, (uint32_t)g, neighbours);
    }
    for (; moves; moves &= moves - 1) {
        uint8_t direction = (uint8_t)__builtin_ctz(moves);
        uint32_t nx = x + (uint32_t)tp_direction_dx[direction], ny = y + (uint32_t)tp_direction_dy[direction];
        struct tp_node_tile *next = tile;
        bool is_known;
        if (compared) {
            next = around.tile[((nx ^ x) >> TP_TILE_BITS & 1) | ((ny ^ y) >> TP_TILE_BITS & 1) << 1];
            is_known = next != tp_node_untouched();
        } else {
            is_known = ((nx ^ x) | (ny ^ y)) < TP_TILE_SIDE;
        }
        if (__builtin_expect(!is_known, 0)) {
            next = touch_across(s, tile, x, y, nx, ny);
            if (__builtin_expect(!next, 0)) {
                tp__kernel_expand_undo(s, best, held, how);
                return false;
            }
        }
        uint32_t next_slot = tp_tile_slot(nx, ny);
        uint64_t next_g = g + (wide && s->weighted ? tp_belief_cost(s->nodes.belief, x, y, nx, ny, direction)
                                                : tp_direction_length[direction]);
        uint64_t old_g = wide ? next->g.wide[next_slot] : next->g.narrow[next_slot];
        if (!(compared && is_known) && next_g >= old_g)
            continue;
        if (!reopens && next->meta[next_slot] & TP_NODE_CLOSED)
            continue;
        if (!reopens && s->first_parent && old_g != (wide ? UINT64_MAX : UINT32_MAX))
            continue;
        uint64_t f = priority(s, goal, nx, ny, next_g, neighbours, how);
        if (__builtin_expect(!tp__kernel_enter(s, f, next_g, next, tp_state_at(s, nx, ny), held, how), 0)) {
            tp__kernel_expand_undo(s, best, held, how);
            return false;
        }
        run->touched += old_g == (wide ? UINT64_MAX : UINT32_MAX);
        if (wide)
            next->g.wide[next_slot] = next_g;
        else
            next->g.narrow[next_slot] = (uint32_t)next_g;
        next->meta[next_slot] = tp_direction_opposite[direction] | tp__kernel_moves(s, next->meta[next_slot], next_g, how);
        run->generated++;
    }
    tp__kernel_expand_end(s, held, how);
    return true;
}

/* ---- Moves, for all else of the search ---- */

static struct tp_window believed_window(const struct tp_search *s, uint32_t x, uint32_t y)
{
    struct tp_window window;
    tp_belief_passable_block(s->nodes.belief, (int64_t)x - 2, (int64_t)y - 2, 5, window.row);
    return window;
}

static tp_cost believed_cost(const struct tp_search *s, tp_state from, tp_state to, uint8_t direction)
{
    if (!s->weighted)
        return tp_direction_length[direction];
    return tp_belief_cost(s->nodes.belief, tp_state_x(s, from), tp_state_y(s, from), tp_state_x(s, to), tp_state_y(s, to),
                          direction);
}

TP_ALWAYS_INLINE uint32_t successors(const struct tp_search *s, tp_state state, struct tp_successor *out,
                                     enum tp_neighbours neighbours)
{
    struct tp_window window = believed_window(s, tp_state_x(s, state), tp_state_y(s, state));
    uint32_t count = 0;
    for (uint32_t moves = tp_walk_moves(&window, neighbours, s->corners); moves; moves &= moves - 1) {
        uint8_t direction = (uint8_t)__builtin_ctz(moves);
        tp_state to = tp_state_step(s, state, direction);
        out[count++] = (struct tp_successor){to, direction, believed_cost(s, state, to, direction)};
    }
    return count;
}

/* A grid's moves go both ways, at the same cost. */
TP_ALWAYS_INLINE void predecessors(const struct tp_search *s, tp_state state, tp_predecessor_cb visit, void *context,
                                   enum tp_neighbours neighbours)
{
    struct tp_successor out[TP_DIRECTIONS];
    uint32_t count = successors(s, state, out, neighbours);
    for (uint32_t i = 0; i < count; i++)
        if (!visit(context, out[i].state, tp_direction_opposite[out[i].move], out[i].cost))
            return;
}

TP_ALWAYS_INLINE bool step(const struct tp_search *s, const struct tp_map *map, tp_state state, uint8_t move,
                           struct tp_successor *out, enum tp_neighbours neighbours)
{
    uint32_t x = tp_state_x(s, state), y = tp_state_y(s, state);
    if (move >= neighbours || !tp_walk_open(map, x, y, move, s->corners))
        return false;
    tp_state to = tp_state_step(s, state, move);
    tp_cost cost = tp_direction_length[move];
    if (map->weighted)
        cost = tp_walk_cost(map, x, y, tp_state_x(s, to), tp_state_y(s, to), move);
    *out = (struct tp_successor){to, move, cost};
    return true;
}

TP_ALWAYS_INLINE uint8_t move_between(const struct tp_search *s, tp_state from, tp_state to, enum tp_neighbours neighbours)
{
    return tp_walk_direction((int64_t)tp_state_x(s, to) - tp_state_x(s, from),
                             (int64_t)tp_state_y(s, to) - tp_state_y(s, from), neighbours);
}

TP_ALWAYS_INLINE tp_cost h_between(const struct tp_search *s, tp_state a, tp_state b, enum tp_neighbours neighbours)
{
    uint32_t ax = tp_state_x(s, a), ay = tp_state_y(s, a), bx = tp_state_x(s, b), by = tp_state_y(s, b);
    return distance_by(s->heuristic, ax > bx ? ax - bx : bx - ax, ay > by ? ay - by : by - ay, neighbours) * s->h_unit;
}

static uint32_t grid_cell(const struct tp_search *s, tp_state state)
{
    return tp_state_y(s, state) * s->nodes.belief->truth->width + tp_state_x(s, state);
}

static tp_state grid_at_cell(const struct tp_search *s, uint32_t cell)
{
    uint32_t width = s->nodes.belief->truth->width;
    return tp_state_at(s, cell % width, cell / width);
}

/* ---- Instances ---- */

/* The kernels of one neighbourhood. */
#define TP_GRID_KERNEL(n, name, how)                                                                          \
    static void run_##n##_##name(struct tp_search *search, struct tp_run *run)                                \
    {                                                                                                         \
        tp__kernel_run(search, run, TP_NEIGHBOURS_##n, priority_##n, expand_##n, how);                        \
    }
#define TP_GRID(n, longest)                                                                                   \
    TP_ALWAYS_INLINE uint64_t priority_##n(const struct tp_search *s, struct tp_goal goal, uint32_t x,        \
                                           uint32_t y, uint64_t g, unsigned how)                              \
    {                                                                                                         \
        return priority(s, goal, x, y, g, TP_NEIGHBOURS_##n, how);                                            \
    }                                                                                                         \
    TP_ALWAYS_INLINE bool expand_##n(struct tp_search *s, struct tp_run *run, struct tp_goal goal,            \
                                     const struct tp_best *best, struct tp_held *held, unsigned how)          \
    {                                                                                                         \
        return expand(s, run, goal, best, held, TP_NEIGHBOURS_##n, how);                                      \
    }                                                                                                         \
    TP_GRID_KERNEL(n, narrow, TP_HOW_PLAIN)                                                                   \
    TP_GRID_KERNEL(n, wide, TP_HOW_WIDE)                                                                      \
    TP_GRID_KERNEL(n, bucketed, TP_HOW_BUCKETED)                                                              \
    TP_GRID_KERNEL(n, wide_bucketed, TP_HOW_WIDE | TP_HOW_BUCKETED)                                           \
    TP_GRID_KERNEL(n, learned, TP_HOW_LEARNED)                                                                \
    TP_GRID_KERNEL(n, wide_learned, TP_HOW_WIDE | TP_HOW_LEARNED)                                             \
    TP_GRID_KERNEL(n, other, TP_HOW_WIDE | TP_HOW_OTHER)                                                      \
    TP_GRID_KERNEL(n, other_bucketed, TP_HOW_WIDE | TP_HOW_OTHER | TP_HOW_BUCKETED)                           \
    TP_GRID_KERNEL(n, choosing, TP_HOW_CHOOSING)                                                              \
    TP_GRID_KERNEL(n, wide_choosing, TP_HOW_WIDE | TP_HOW_CHOOSING)                                           \
    TP_GRID_KERNEL(n, choosing_bucketed, TP_HOW_CHOOSING | TP_HOW_BUCKETED)                                   \
    TP_GRID_KERNEL(n, wide_choosing_bucketed, TP_HOW_WIDE | TP_HOW_CHOOSING | TP_HOW_BUCKETED)                \
    static bool has_##n(const struct tp_map *map, enum tp_heuristic heuristic)                                \
    {                                                                                                         \
        (void)map;                                                                                            \
        return has(heuristic, TP_NEIGHBOURS_##n);                                                             \
    }                                                                                                         \
    static tp_cost h_##n(const struct tp_search *s, tp_state from, tp_state to)                               \
    {                                                                                                         \
        return h_between(s, from, to, TP_NEIGHBOURS_##n);                                                     \
    }                                                                                                         \
    static uint32_t successors_##n(const struct tp_search *s, tp_state state, struct tp_successor *out)       \
    {                                                                                                         \
        return successors(s, state, out, TP_NEIGHBOURS_##n);                                                  \
    }                                                                                                         \
    static void predecessors_##n(const struct tp_search *s, tp_state state, tp_predecessor_cb visit,          \
                                 void *context)                                                               \
    {                                                                                                         \
        predecessors(s, state, visit, context, TP_NEIGHBOURS_##n);                                            \
    }                                                                                                         \
    static bool step_##n(const struct tp_search *s, const struct tp_map *map, tp_state state, uint8_t move,   \
                         struct tp_successor *out)                                                            \
    {                                                                                                         \
        return step(s, map, state, move, out, TP_NEIGHBOURS_##n);                                             \
    }                                                                                                         \
    static uint8_t move_between_##n(const struct tp_search *s, tp_state from, tp_state to)                    \
    {                                                                                                         \
        return move_between(s, from, to, TP_NEIGHBOURS_##n);                                                  \
    }                                                                                                         \
    static const struct tp_domain grid_##n = {                                                                \
        .name = "grid" #n,                                                                                    \
        .run = {run_##n##_narrow, run_##n##_wide, run_##n##_bucketed, run_##n##_wide_bucketed, /* PLAIN */    \
                run_##n##_learned, run_##n##_wide_learned, NULL, NULL,                         /* LEARNED */  \
                NULL, run_##n##_other, NULL, run_##n##_other_bucketed,                         /* OTHER */    \
                run_##n##_choosing, run_##n##_wide_choosing, run_##n##_choosing_bucketed,      /* CHOOSING */ \
                run_##n##_wide_choosing_bucketed},                                                            \
        .has = has_##n,                                                                                       \
        .h = h_##n,                                                                                           \
        .successors = successors_##n,                                                                         \
        .predecessors = predecessors_##n,                                                                     \
        .step = step_##n,                                                                                     \
        .move_between = move_between_##n,                                                                     \
        .cell = grid_cell,                                                                                    \
        .at_cell = grid_at_cell,                                                                              \
        .moves_max = TP_NEIGHBOURS_##n,                                                                       \
        .step_max = longest,                                                                                  \
        .reversible = true,                                                                                   \
        .cells_can_block = true,                                                                              \
    };
TP_GRID(4, TP_COST_UNIT)
TP_GRID(8, TP_COST_DIAGONAL)
TP_GRID(16, TP_COST_KNIGHT)
#undef TP_GRID
#undef TP_GRID_KERNEL

const struct tp_domain *tp_domain_grid(enum tp_neighbours neighbours)
{
    return neighbours == TP_NEIGHBOURS_4 ? &grid_4 : neighbours == TP_NEIGHBOURS_8 ? &grid_8 : &grid_16;
}
