/* Vehicles with inertia on a grid (2016, section 4.3: the racetrack, deterministic, one start and one goal cell).
 *
 * A state is a cell and a velocity (vx, vy), each -3..3: cell * 49 + (vy + 3) * 7 + (vx + 3). A move is an acceleration,
 * each of ax, ay in {-1, 0, 1}: (ay + 1) * 3 + (ax + 1). The velocity changes first; then the vehicle goes along the
 * straight line from its cell's middle to the middle of the cell (vx, vy) away, through every cell whose inside the line
 * crosses, in that order (table `lines`; a corner that the line passes exactly belongs to no cell). So the cells are the same
 * whichever way the line is driven. Driving, it
 *   - meets a wall (an impassable cell, or the map's edge): it stays on the last free cell, at rest;
 *   - comes to the goal cell (one of them, or one near enough), at whatever speed: it has arrived; the state is the cell's, at
 *     rest.
 * Each move costs TP_COST_UNIT, whatever the terrain weighs. A move that changes nothing (at rest: no acceleration, or a
 * wall ahead) is none. The vehicle's own cell need not be passable: caught in a change, it may leave.
 *
 * h = max(|dx|, |dy|) / 3 moves, rounded down to a cost unit: a move brings no axis more than 3 cells nearer, so that it is
 * consistent. By option, the paper's Euclidean distance / 3, which is not: the velocity (3, 3) covers 4.24 cells in a move.
 */
#include "domain/listed.h"

enum {
    SPEED = TP_VELOCITY_MAX,
    SPEEDS = 2 * SPEED + 1, /* on one axis */
    VELOCITIES = SPEEDS * SPEEDS,
    AT_REST = VELOCITIES / 2, /* the velocity (0, 0) as numbered */
    ACCELERATIONS = 9,
    LINE_MAX = 5, /* cells of a line, its first one not counted */
};

/* By the larger and the smaller part of a velocity: the line's cells as (steps along the larger, the smaller) axis. */
struct line {
    uint8_t count;
    uint8_t cells[LINE_MAX][2];
};
_Static_assert(SPEED == 3, "the table holds the lines of velocities up to 3");
static const struct line lines[SPEED + 1][SPEED + 1] = {
    {{0, {{0, 0}}}},
    {{1, {{1, 0}}}, {1, {{1, 1}}}},
    {{2, {{1, 0}, {2, 0}}}, {3, {{1, 0}, {1, 1}, {2, 1}}}, {2, {{1, 1}, {2, 2}}}},
    {{3, {{1, 0}, {2, 0}, {3, 0}}},
     {3, {{1, 0}, {2, 1}, {3, 1}}},
     {5, {{1, 0}, {1, 1}, {2, 1}, {2, 2}, {3, 2}}},
     {3, {{1, 1}, {2, 2}, {3, 3}}}},
};

/* A line for one velocity. */
struct drive {
    const struct line *line;
    int sign_x, sign_y;
    bool steep; /* the larger part is vy */
};

static inline struct drive drive_of(int vx, int vy)
{
    uint32_t ax = (uint32_t)(vx < 0 ? -vx : vx), ay = (uint32_t)(vy < 0 ? -vy : vy);
    bool steep = ay > ax;
    return (struct drive){&lines[steep ? ay : ax][steep ? ax : ay], vx < 0 ? -1 : 1, vy < 0 ? -1 : 1, steep};
}

/* The i-th cell of the line, as an offset. */
static inline void drive_cell(const struct drive *drive, uint32_t i, int *dx, int *dy)
{
    const uint8_t *cell = drive->line->cells[i];
    *dx = drive->sign_x * cell[drive->steep];
    *dy = drive->sign_y * cell[!drive->steep];
}

/* What a vehicle can reach in one move: the cells within 3 of its own, and where the goal is from there. */
struct around {
    uint32_t rows[SPEEDS]; /* bit j of row i: cell (x - 3 + j, y - 3 + i) is passable */
    int64_t goal_dx, goal_dy;
    const struct tp_search *choosing; /* with several goals or a radius; else NULL */
    uint32_t cell, width;             /* its own cell */
};

/* `choosing` is a constant in the kernels. */
TP_ALWAYS_INLINE struct around around_cell_by(const struct tp_search *s, const struct tp_map *map, uint32_t cell, bool choosing)
{
    struct around around;
    int64_t x = cell % map->width, y = cell / map->width;
    uint32_t goal_cell = s->goal / VELOCITIES;
    tp_map_passable_block(map, x - SPEED, y - SPEED, SPEEDS, around.rows);
    around.goal_dx = (int64_t)(goal_cell % map->width) - x;
    around.goal_dy = (int64_t)(goal_cell / map->width) - y;
    around.choosing = choosing ? s : NULL;
    around.cell = cell;
    around.width = map->width;
    return around;
}

static inline struct around around_cell(const struct tp_search *s, const struct tp_map *map, uint32_t cell)
{
    return around_cell_by(s, map, cell, s->goals != NULL);
}

/* Whether a vehicle that comes to the cell (dx, dy) away has arrived. */
TP_ALWAYS_INLINE bool arrives(const struct around *around, int dx, int dy)
{
    if (__builtin_expect(around->choosing != NULL, 0)) {
        uint32_t cell = (uint32_t)((int64_t)around->cell + (int64_t)dy * around->width + dx);
        return tp__goals_met(around->choosing, cell * VELOCITIES + AT_REST);
    }
    return dx == around->goal_dx && dy == around->goal_dy;
}

/* Where driving with a velocity ends. */
struct ending {
    int dx, dy;
    bool rests; /* arrived at the goal, or stopped by a wall */
};

TP_ALWAYS_INLINE struct ending drive_from(const struct around *around, int vx, int vy)
{
    struct drive drive = drive_of(vx, vy);
    struct ending ending = {0, 0, false};
    for (uint32_t i = 0; i < drive.line->count; i++) {
        int dx, dy;
        drive_cell(&drive, i, &dx, &dy);
        if (!(around->rows[dy + SPEED] >> (dx + SPEED) & 1)) {
            ending.rests = true;
            return ending;
        }
        ending.dx = dx;
        ending.dy = dy;
        if (arrives(around, dx, dy)) {
            ending.rests = true;
            return ending;
        }
    }
    return ending;
}

static inline uint32_t cell_of(tp_state state)
{
    return state / VELOCITIES;
}

static inline int vx_of(tp_state state)
{
    return (int)(state % VELOCITIES % SPEEDS) - SPEED;
}

static inline int vy_of(tp_state state)
{
    return (int)(state % VELOCITIES / SPEEDS) - SPEED;
}

static inline tp_state state_of(uint32_t cell, int vx, int vy)
{
    return cell * VELOCITIES + (uint32_t)(vy + SPEED) * SPEEDS + (uint32_t)(vx + SPEED);
}

/* The state a velocity leads to from a cell. */
TP_ALWAYS_INLINE tp_state state_after(const struct around *around, const struct tp_map *map, uint32_t cell,
                                   int vx, int vy)
{
    struct ending ending = drive_from(around, vx, vy);
    uint32_t to = (uint32_t)((int64_t)cell + (int64_t)ending.dy * map->width + ending.dx);
    return state_of(to, ending.rests ? 0 : vx, ending.rests ? 0 : vy);
}

/* The velocity after a move; false beyond the greatest speed. */
static inline bool accelerate(tp_state state, uint32_t move, int *vx, int *vy)
{
    *vx = vx_of(state) + (int)(move % 3) - 1;
    *vy = vy_of(state) + (int)(move / 3) - 1;
    return *vx >= -SPEED && *vx <= SPEED && *vy >= -SPEED && *vy <= SPEED;
}

static inline const struct tp_map *map_of(const struct tp_search *s)
{
    return s->nodes.belief->truth;
}

static inline tp_cost racetrack_h(const struct tp_search *s, tp_state from, tp_state to)
{
    uint32_t width = map_of(s)->width, a = cell_of(from), b = cell_of(to);
    uint32_t ax = a % width, ay = a / width, bx = b % width, by = b / width;
    uint32_t dx = ax > bx ? ax - bx : bx - ax, dy = ay > by ? ay - by : by - ay;
    if (__builtin_expect(s->heuristic == TP_HEURISTIC_EUCLID, 0))
        return (tp_cost)(TP_COST_UNIT * __builtin_sqrt((double)dx * dx + (double)dy * dy) / SPEED);
    if (__builtin_expect(s->heuristic == TP_HEURISTIC_ZERO, 0))
        return 0;
    return (tp_cost)(dx > dy ? dx : dy) * TP_COST_UNIT / SPEED;
}

static bool racetrack_has(const struct tp_map *map, enum tp_heuristic heuristic)
{
    (void)map;
    return heuristic == TP_HEURISTIC_MAXIMUM || heuristic == TP_HEURISTIC_EUCLID ||
           heuristic == TP_HEURISTIC_ZERO;
}

TP_ALWAYS_INLINE uint32_t successors_by(const struct tp_search *s, tp_state state, struct tp_successor *out, bool choosing)
{
    const struct tp_map *map = map_of(s);
    uint32_t cell = cell_of(state), count = 0;
    struct around around = around_cell_by(s, map, cell, choosing);
    for (uint32_t move = 0; move < ACCELERATIONS; move++) {
        int vx, vy;
        if (!accelerate(state, move, &vx, &vy))
            continue;
        tp_state to = state_after(&around, map, cell, vx, vy);
        if (to != state)
            out[count++] = (struct tp_successor){to, (uint8_t)move, TP_COST_UNIT};
    }
    return count;
}

static inline uint32_t successors_plain(const struct tp_search *s, tp_state state, struct tp_successor *out)
{
    return successors_by(s, state, out, false);
}

static inline uint32_t successors_choosing(const struct tp_search *s, tp_state state, struct tp_successor *out)
{
    return successors_by(s, state, out, true);
}

TP_LISTED_KERNEL(racetrack, ACCELERATIONS, successors_plain, racetrack_h)
TP_LISTED_KERNEL_CHOOSING(racetrack, ACCELERATIONS, successors_choosing)

static uint32_t racetrack_successors(const struct tp_search *s, tp_state state, struct tp_successor *out)
{
    return s->goals ? successors_choosing(s, state, out) : successors_plain(s, state, out);
}

static bool racetrack_step(const struct tp_search *s, const struct tp_map *map, tp_state state, uint8_t move,
                           struct tp_successor *out)
{
    int vx, vy;
    if (move >= ACCELERATIONS || !accelerate(state, move, &vx, &vy))
        return false;
    struct around around = around_cell(s, map, cell_of(state));
    *out = (struct tp_successor){state_after(&around, map, cell_of(state), vx, vy), move, TP_COST_UNIT};
    return out->state != state;
}

/* Shows the moves that reach velocity (vx, vy) in the cell (dx, dy) before that of `state`, if driving on from there
 * leads to it. False to see no more. */
static bool visit_from(const struct tp_search *s, tp_state state, int dx, int dy, int vx, int vy,
                       tp_predecessor_cb visit, void *context)
{
    const struct tp_map *map = map_of(s);
    int64_t x = (int64_t)(cell_of(state) % map->width) - dx, y = (int64_t)(cell_of(state) / map->width) - dy;
    if (x < 0 || y < 0 || x >= map->width || y >= map->height)
        return true;
    uint32_t cell = (uint32_t)(y * map->width + x);
    struct around around = around_cell(s, map, cell);
    if (state_after(&around, map, cell, vx, vy) != state)
        return true;
    for (uint32_t move = 0; move < ACCELERATIONS; move++) {
        int before_x = vx - ((int)(move % 3) - 1), before_y = vy - ((int)(move / 3) - 1);
        if (before_x < -SPEED || before_x > SPEED || before_y < -SPEED || before_y > SPEED)
            continue;
        tp_state from = state_of(cell, before_x, before_y);
        if (from != state && !visit(context, from, (uint8_t)move, TP_COST_UNIT))
            return false;
    }
    return true;
}

/* Whether a vehicle may have come to rest on a cell otherwise than by braking there: beside a wall, or at the goal. */
static bool stops_vehicles(const struct tp_search *s, uint32_t cell)
{
    const struct tp_map *map = map_of(s);
    uint32_t rows[3];
    tp_map_passable_block(map, (int64_t)(cell % map->width) - 1, (int64_t)(cell / map->width) - 1, 3, rows);
    bool goal = s->goals ? tp__goals_met(s, state_of(cell, 0, 0)) : cell == cell_of(s->goal);
    return goal || (rows[0] & rows[2]) != 7 || (rows[1] & 5) != 5;
}

/* Candidates are the moves that end here and, for a state at rest, those that could be stopped here; each is driven. */
static void racetrack_predecessors(const struct tp_search *s, tp_state state, tp_predecessor_cb visit,
                                   void *context)
{
    int vx = vx_of(state), vy = vy_of(state);
    if (!visit_from(s, state, vx, vy, vx, vy, visit, context))
        return;
    if (vx || vy || !stops_vehicles(s, cell_of(state)))
        return;
    for (uint32_t velocity = 0; velocity < VELOCITIES; velocity++) {
        if (velocity == AT_REST)
            continue;
        vx = vx_of(velocity);
        vy = vy_of(velocity);
        struct drive drive = drive_of(vx, vy);
        for (uint32_t i = 0; i <= drive.line->count; i++) {
            int dx = 0, dy = 0;
            if (i)
                drive_cell(&drive, i - 1, &dx, &dy);
            if (!visit_from(s, state, dx, dy, vx, vy, visit, context))
                return;
        }
    }
}

static uint8_t racetrack_move_between(const struct tp_search *s, tp_state from, tp_state to)
{
    return tp__listed_move_between(s, racetrack_successors, from, to);
}

static uint32_t racetrack_cell(const struct tp_search *s, tp_state state)
{
    (void)s;
    return cell_of(state);
}

static tp_state racetrack_at_cell(const struct tp_search *s, uint32_t cell)
{
    (void)s;
    return state_of(cell, 0, 0);
}

static tp_state racetrack_at_velocity(uint32_t cell, int vx, int vy)
{
    return state_of(cell, vx, vy);
}

static void racetrack_velocity(tp_state state, int8_t *vx, int8_t *vy)
{
    *vx = (int8_t)vx_of(state);
    *vy = (int8_t)vy_of(state);
}

static uint64_t racetrack_states(const struct tp_map *map)
{
    return (uint64_t)map->width * map->height * VELOCITIES;
}

const struct tp_domain tp_domain_racetrack = {
    .name = "racetrack",
    .run = {TP_LISTED_RUNS(racetrack), TP_LISTED_RUNS_CHOOSING(racetrack)},
    .has = racetrack_has,
    .h = racetrack_h,
    .successors = racetrack_successors,
    .predecessors = racetrack_predecessors,
    .step = racetrack_step,
    .move_between = racetrack_move_between,
    .cell = racetrack_cell,
    .at_cell = racetrack_at_cell,
    .at_velocity = racetrack_at_velocity,
    .velocity = racetrack_velocity,
    .states = racetrack_states,
    .moves_max = ACCELERATIONS,
    .step_max = TP_COST_UNIT,
    .listed = true,
    .goal_in_moves = true,
    .map_in_moves = true,
    .cells_can_block = true,
};
