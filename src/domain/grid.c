/* Grids with 4, 8 and 16 neighbours: distances, and the kernel that expands states.
 *
 * The kernel is written once, with the neighbourhood and the node width as constants where it is inlined, so that
 * each instance below is a loop of its own without a test of either. One call runs many expansions;
 * there is no call through a pointer per successor.
 *
 * Paper lines (2014, Algorithm 1; 2016, Algorithm 4): the loop of Best-First-Search() is run_grid. Line 11's
 * conditions are its first three exits: an empty list, the goal best (line 23's goalFound), k expansions; a deadline
 * and the want of memory are two more. Line 12 is find_best; lines 14 to 19 are expand, which also does line 13: the
 * state leaves the list when its first successor takes its place.
 */
#include "search/search.h"

#include "search/budget.h"

static inline tp_cost distance_4(uint32_t dx, uint32_t dy)
{
    return ((tp_cost)dx + dy) * TP_COST_UNIT;
}

/* Octile distance. */
static inline tp_cost distance_8(uint32_t dx, uint32_t dy)
{
    uint32_t longer = dx > dy ? dx : dy, shorter = dx > dy ? dy : dx;
    return (tp_cost)longer * TP_COST_UNIT + (tp_cost)shorter * (TP_COST_DIAGONAL - TP_COST_UNIT);
}

/* Euclid, one part in a million short, so that it stays consistent with the integer costs. */
static inline tp_cost distance_16(uint32_t dx, uint32_t dy)
{
    double square = (double)dx * dx + (double)dy * dy;
    return (tp_cost)(TP_COST_UNIT * (1 - 1e-6) * __builtin_sqrt(square));
}

TP_ALWAYS_INLINE tp_cost distance(uint32_t dx, uint32_t dy, enum tp_neighbours neighbours)
{
    return neighbours == TP_NEIGHBOURS_4   ? distance_4(dx, dy)
           : neighbours == TP_NEIGHBOURS_8 ? distance_8(dx, dy)
                                           : distance_16(dx, dy);
}

/* An open state with its place in the store. */
struct best {
    struct tp_open_entry entry;
    struct tp_node_tile *tile;
    uint32_t x, y, slot;
};

struct goal {
    uint32_t x, y;
};

TP_ALWAYS_INLINE uint64_t priority(const struct tp_search *s, struct goal goal, uint32_t x, uint32_t y, uint64_t g,
                                   enum tp_neighbours neighbours, bool wide, bool learns)
{
    uint32_t dx = x > goal.x ? x - goal.x : goal.x - x, dy = y > goal.y ? y - goal.y : goal.y - y;
    uint64_t h = distance(dx, dy, neighbours);
    if (wide)
        h *= s->h_unit;
    if (learns)
        h += tp_learned_at(s->learned, x, y);
    return s->g_factor * g + s->h_factor * h;
}

/* Lines 12 and 22: brings the best open state to the top, dropping stale entries and renewing the f of entries made
 * for an earlier goal. False when the list is empty. */
TP_ALWAYS_INLINE bool find_best(struct tp_search *s, struct tp_run *run, struct goal goal, struct best *best,
                                enum tp_neighbours neighbours, bool wide, bool learns)
{
    struct tp_open *open = &s->open;
    while (open->count) {
        best->entry = tp_open_least(open, wide);
        best->x = tp_state_x(s, best->entry.state);
        best->y = tp_state_y(s, best->entry.state);
        best->slot = tp_tile_slot(best->x, best->y);
        best->tile = tp_nodes_find(&s->nodes, best->x, best->y);
        uint64_t g = wide ? best->tile->g.wide[best->slot] : best->tile->g.narrow[best->slot];
        if (g != best->entry.g || best->tile->meta[best->slot] & TP_NODE_CLOSED) {
            tp_open_pop(open, wide);
            continue;
        }
        if (__builtin_expect(s->rekey, 0) && run->rekeyed < run->rekeyed_max) {
            uint64_t f = priority(s, goal, best->x, best->y, g, neighbours, wide, learns);
            if (f > best->entry.f) {
                best->entry.f = f;
                tp_open_replace(open, best->entry, wide);
                run->rekeyed++;
                continue;
            }
        }
        return true;
    }
    return false;
}

/* The directions whose successor gets a lower g from a state with all its neighbours in its own tile: a comparison
 * each and no branch, where the loop over successors would mispredict. */
TP_ALWAYS_INLINE uint32_t improving_within_tile(const struct tp_node_tile *tile, uint32_t slot, uint32_t g,
                                                enum tp_neighbours neighbours)
{
    const uint32_t *here = &tile->g.narrow[slot];
    uint32_t straight = g + TP_COST_UNIT, diagonal = g + TP_COST_DIAGONAL;
    uint32_t better = (uint32_t)(straight < here[1]) | (uint32_t)(straight < here[TP_TILE_SIDE]) << 1 |
                      (uint32_t)(straight < here[-1]) << 2 | (uint32_t)(straight < here[-TP_TILE_SIDE]) << 3;
    if (neighbours == TP_NEIGHBOURS_8)
        better |= (uint32_t)(diagonal < here[TP_TILE_SIDE + 1]) << 4 |
                  (uint32_t)(diagonal < here[TP_TILE_SIDE - 1]) << 5 |
                  (uint32_t)(diagonal < here[-TP_TILE_SIDE - 1]) << 6 |
                  (uint32_t)(diagonal < here[-TP_TILE_SIDE + 1]) << 7;
    return better;
}

/* Whether all neighbours one step away lie in the cell's own tile. */
static inline bool within_tile(uint32_t x, uint32_t y)
{
    uint32_t column = x & (TP_TILE_SIDE - 1), row = y & (TP_TILE_SIDE - 1);
    return column - 1 < TP_TILE_SIDE - 2 && row - 1 < TP_TILE_SIDE - 2;
}

/* Lines 13 to 19 for the state on top of the list, whose place its first new successor takes. False when a
 * successor's tile could not be had: the state stays open and nothing is lost. */
TP_ALWAYS_INLINE bool expand(struct tp_search *s, struct tp_run *run, struct goal goal, const struct best *best,
                             enum tp_neighbours neighbours, bool wide, bool learns)
{
    struct tp_node_tile *tile = best->tile;
    uint32_t x = best->x, y = best->y, slot = best->slot;
    uint64_t g = best->entry.g;
    tp_nodes_refresh(&s->nodes, tile, x, y);
    tile->meta[slot] |= TP_NODE_CLOSED;
    const uint16_t *rows = tile->passable + (y & (TP_TILE_SIDE - 1));
    uint32_t shift = x & (TP_TILE_SIDE - 1);
    struct tp_window window;
    for (int i = neighbours == TP_NEIGHBOURS_16 ? 0 : 1; i < (neighbours == TP_NEIGHBOURS_16 ? 5 : 4); i++)
        window.row[i] = rows[i] >> shift;
    uint32_t moves = tp_walk_moves(&window, neighbours, s->corners);
    /* a cell that was blocked after it was generated leads nowhere; a root is left all the same */
    if (!(window.row[2] >> TP_NODE_MARGIN & 1) && !(tile->meta[slot] & TP_NODE_ROOT))
        moves = 0;
    if (!wide && neighbours != TP_NEIGHBOURS_16 && within_tile(x, y))
        moves &= improving_within_tile(tile, slot, (uint32_t)g, neighbours);
    bool on_top = true;
    for (; moves; moves &= moves - 1) {
        uint8_t direction = (uint8_t)__builtin_ctz(moves);
        uint32_t nx = x + (uint32_t)tp_direction_dx[direction], ny = y + (uint32_t)tp_direction_dy[direction];
        struct tp_node_tile *next = tile;
        if (((nx ^ x) | (ny ^ y)) >= TP_TILE_SIDE) {
            next = tp_nodes_touch(&s->nodes, nx, ny);
            if (__builtin_expect(!next, 0)) {
                tile->meta[slot] &= (uint8_t)~TP_NODE_CLOSED;
                if (!on_top)
                    tp_open_push(&s->open, best->entry, wide);
                return false;
            }
        }
        uint32_t next_slot = tp_tile_slot(nx, ny);
        uint64_t next_g = g + (wide && s->weighted ? tp_belief_cost(s->nodes.belief, x, y, nx, ny, direction)
                                                : tp_direction_length[direction]);
        uint64_t old_g = wide ? next->g.wide[next_slot] : next->g.narrow[next_slot];
        if (next_g >= old_g)
            continue;
        if (next->meta[next_slot] & TP_NODE_CLOSED)
            continue;
        if (s->first_parent && old_g != (wide ? UINT64_MAX : UINT32_MAX))
            continue;
        run->touched += old_g == (wide ? UINT64_MAX : UINT32_MAX);
        if (wide)
            next->g.wide[next_slot] = next_g;
        else
            next->g.narrow[next_slot] = (uint32_t)next_g;
        next->meta[next_slot] = tp_direction_opposite[direction];
        struct tp_open_entry entry = {priority(s, goal, nx, ny, next_g, neighbours, wide, learns), next_g,
                                      tp_state_at(s, nx, ny)};
        if (on_top)
            tp_open_replace(&s->open, entry, wide);
        else
            tp_open_push(&s->open, entry, wide);
        on_top = false;
        run->generated++;
    }
    if (on_top)
        tp_open_pop(&s->open, wide);
    return true;
}

TP_ALWAYS_INLINE void run_grid(struct tp_search *s, struct tp_run *run, enum tp_neighbours neighbours, bool wide, bool learns)
{
    struct goal goal = {tp_state_x(s, s->goal), tp_state_y(s, s->goal)};
    for (;;) {
        struct best best;
        if (!find_best(s, run, goal, &best, neighbours, wide, learns)) {
            s->exhausted = true;
            return;
        }
        if (best.entry.state == s->goal) {
            s->found = true;
            return;
        }
        if (run->expansions >= run->expansions_max || run->rekeyed >= run->rekeyed_max)
            return;
        if (run->expired && run->expansions % TP_DEADLINE_STRIDE == 0 && run->expired(run->context))
            return;
        if (!tp_open_reserve(&s->open, neighbours)) {
            run->capped = true;
            return;
        }
        if (!expand(s, run, goal, &best, neighbours, wide, learns)) {
            run->capped = true;
            return;
        }
        uint64_t mixed = (best.entry.state * 0x9e3779b97f4a7c15u + best.entry.g) * 0xbf58476d1ce4e5b9u;
        s->hash += mixed ^ mixed >> 29;
        run->expansions++;
    }
}

/* The instances of one neighbourhood: by node width and by whether h is learned. */
#define TP_GRID_KERNEL(n, name, wide, learns)                                                                 \
    static void run_##n##_##name(struct tp_search *search, struct tp_run *run)                                \
    {                                                                                                         \
        run_grid(search, run, TP_NEIGHBOURS_##n, wide, learns);                                               \
    }
#define TP_GRID(n, step)                                                                                      \
    TP_GRID_KERNEL(n, narrow, false, false)                                                                   \
    TP_GRID_KERNEL(n, narrow_learned, false, true)                                                            \
    TP_GRID_KERNEL(n, wide, true, false)                                                                      \
    TP_GRID_KERNEL(n, wide_learned, true, true)                                                               \
    static tp_cost grid_distance_##n(uint32_t dx, uint32_t dy)                                                \
    {                                                                                                         \
        return distance_##n(dx, dy);                                                                          \
    }                                                                                                         \
    static const struct tp_domain grid_##n = {                                                                \
        {{run_##n##_narrow, run_##n##_narrow_learned}, {run_##n##_wide, run_##n##_wide_learned}},             \
        grid_distance_##n,                                                                                    \
        step,                                                                                                 \
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
