/* Vehicles with inertia: the space's functions against a second one written from the words (a line's cells found by
 * geometry, predecessors by trying every state), and sessions of every algorithm against that. */
#include "base/limits.h"
#include "map/track.h"
#include "search/search.h"
#include "search/session.h"
#include "tests/lib/maps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The second opinion ---- */

struct place {
    int x, y, vx, vy;
};

static bool same(struct place a, struct place b)
{
    return a.x == b.x && a.y == b.y && a.vx == b.vx && a.vy == b.vy;
}

/* When a point that goes from 0 by `d` in the time 1 is within half a cell of `i`. */
static void when_within(int i, int d, double *from, double *to)
{
    if (d == 0) {
        *from = i == 0 ? -INFINITY : INFINITY;
        *to = i == 0 ? INFINITY : -INFINITY;
        return;
    }
    double a = (i - 0.5) / d, b = (i + 0.5) / d;
    *from = a < b ? a : b;
    *to = a < b ? b : a;
}

/* The cells whose inside the line to (dx, dy) crosses, by the time it enters them, its first one left out. */
static int line_cells(int dx, int dy, int cells[16][2])
{
    double entered[16];
    int count = 0;
    for (int y = -3; y <= 3; y++)
        for (int x = -3; x <= 3; x++) {
            double x_from, x_to, y_from, y_to;
            when_within(x, dx, &x_from, &x_to);
            when_within(y, dy, &y_from, &y_to);
            double from = fmax(fmax(x_from, y_from), 0), to = fmin(fmin(x_to, y_to), 1);
            if (to - from < 1e-9 || (x == 0 && y == 0))
                continue;
            int at = count++;
            for (; at > 0 && entered[at - 1] > from; at--) {
                entered[at] = entered[at - 1];
                memcpy(cells[at], cells[at - 1], sizeof cells[at]);
            }
            entered[at] = from;
            cells[at][0] = x;
            cells[at][1] = y;
        }
    return count;
}

/* The same, worked out once for each velocity. */
struct cells {
    int count, cells[16][2];
};
static const struct cells *line_of(int vx, int vy)
{
    static struct cells lines[7][7];
    struct cells *line = &lines[vy + 3][vx + 3];
    if (!line->count && (vx || vy))
        line->count = line_cells(vx, vy, line->cells);
    return line;
}

/* What acceleration (ax, ay) does; false beyond the greatest speed, or when nothing changes. */
static bool drive(const struct tp_map *map, uint32_t goal, struct place from, int ax, int ay,
                  struct place *to)
{
    int vx = from.vx + ax, vy = from.vy + ay;
    if (abs(vx) > 3 || abs(vy) > 3)
        return false;
    *to = (struct place){from.x, from.y, vx, vy};
    const struct cells *line = line_of(vx, vy);
    for (int i = 0; i < line->count; i++) {
        int x = from.x + line->cells[i][0], y = from.y + line->cells[i][1];
        bool wall = !tp_map_passable(map, x, y);
        if (!wall) {
            to->x = x;
            to->y = y;
        }
        if (wall || (uint32_t)y * map->width + (uint32_t)x == goal) {
            to->vx = to->vy = 0;
            break;
        }
    }
    return !same(*to, from);
}

static tp_state number_of(const struct tp_map *map, struct place place)
{
    return ((uint32_t)place.y * map->width + (uint32_t)place.x) * 49 + (uint32_t)(place.vy + 3) * 7 +
           (uint32_t)(place.vx + 3);
}

static struct place place_of(const struct tp_map *map, tp_state state)
{
    uint32_t cell = state / 49, velocity = state % 49;
    return (struct place){(int)(cell % map->width), (int)(cell / map->width), (int)(velocity % 7) - 3,
                          (int)(velocity / 7) - 3};
}

/* Moves to the goal from every state, by breadth-first search over the moves turned round: UINT32_MAX for none. */
static uint32_t *moves_to_goal(const struct tp_map *map, uint32_t goal)
{
    uint32_t states = map->width * map->height * 49, head = 0, tail = 0;
    uint32_t *left = malloc(states * sizeof *left), *queue = malloc(states * sizeof *queue),
             (*next)[9] = malloc(states * sizeof *next), *first = calloc(states + 2, sizeof *first),
             *from = malloc(states * 9 * sizeof *from);
    ck_assert(left && queue && next && first && from);
    for (tp_state state = 0; state < states; state++) {
        left[state] = UINT32_MAX;
        for (int move = 0; move < 9; move++) {
            struct place to;
            bool legal = drive(map, goal, place_of(map, state), move % 3 - 1, move / 3 - 1, &to);
            next[state][move] = legal ? number_of(map, to) : state;
            first[next[state][move] + 2]++;
        }
    }
    for (tp_state state = 0; state < states; state++)
        first[state + 2] += first[state + 1];
    for (tp_state state = 0; state < states; state++)
        for (int move = 0; move < 9; move++)
            from[first[next[state][move] + 1]++] = state;
    for (tp_state state = goal * 49; state < goal * 49 + 49; state++) {
        left[state] = 0;
        queue[tail++] = state;
    }
    while (head < tail) {
        tp_state state = queue[head++];
        for (uint32_t i = first[state]; i < first[state + 1]; i++)
            if (left[from[i]] == UINT32_MAX) {
                left[from[i]] = left[state] + 1;
                queue[tail++] = from[i];
            }
    }
    free(queue);
    free(next);
    free(first);
    free(from);
    return left;
}

/* ---- The space alone ---- */

/* A search that is never begun: it only tells the space's functions which map and goal are meant. */
struct space {
    struct tp_map *map;
    struct tp_belief belief;
    struct tp_search search;
    struct tp_pool pool;
    uint64_t bytes;
    uint32_t goal;
};

static void space_open(struct space *space, struct tp_map *map, uint32_t goal)
{
    *space = (struct space){.map = map, .goal = goal};
    tp_pool_init(&space->pool, NULL);
    tp_belief_init(&space->belief, map, true, NULL, &space->pool, &space->bytes, UINT64_MAX);
    tp_search_init(&space->search, &tp_domain_racetrack, &space->belief, NULL, TP_HEURISTIC_DEFAULT,
                   TP_CORNERS_BOTH_FREE, 1, 1, false, &space->pool, UINT32_MAX, &space->bytes, UINT64_MAX);
    space->search.goal = tp_domain_racetrack.at_cell(&space->search, goal);
}

static void space_close(struct space *space)
{
    tp_search_fini(&space->search);
    tp_belief_fini(&space->belief);
    ck_assert_uint_eq(space->bytes, 0);
    tp_pool_fini(&space->pool);
    tp_map_unref(space->map);
}

static void space_random(struct space *space, struct tp_test_rng *rng, uint32_t side_max)
{
    uint32_t width = tp_test_between(rng, 1, side_max), height = tp_test_between(rng, 1, side_max);
    struct tp_map *map = tp_test_map_random(rng, width, height, tp_test_below(rng, 60));
    space_open(space, map, tp_test_below(rng, width * height));
}

START_TEST(test_step)
{
    struct tp_test_rng rng = tp_test_rng("step");
    uint64_t maps = tp_test_steps(40, 2000);
    for (uint64_t i = 0; i < maps; i++) {
        struct space space;
        space_random(&space, &rng, 9);
        tp_state states = space.map->width * space.map->height * 49;
        ck_assert_uint_eq(tp_domain_racetrack.states(space.map), states);
        for (tp_state state = 0; state < states; state++) {
            struct place from = place_of(space.map, state), to;
            struct tp_successor out[TP_MOVES_MAX], step;
            uint32_t count = tp_domain_racetrack.successors(&space.search, state, out), at = 0;
            for (int move = 0; move < 9; move++) {
                bool legal = drive(space.map, space.goal, from, move % 3 - 1, move / 3 - 1, &to);
                bool stepped =
                    tp_domain_racetrack.step(&space.search, space.map, state, (uint8_t)move, &step);
                if (legal != stepped || (legal && (step.state != number_of(space.map, to) ||
                                                   step.move != move || step.cost != TP_COST_UNIT)))
                    ck_abort_msg("step of (%d, %d) at (%d, %d), move %d", from.x, from.y, from.vx, from.vy,
                                 move);
                if (!legal)
                    continue;
                if (at >= count || out[at].state != step.state || out[at].move != move ||
                    out[at].cost != TP_COST_UNIT)
                    ck_abort_msg("successor %u of (%d, %d) at (%d, %d)", at, from.x, from.y, from.vx,
                                 from.vy);
                at++;
            }
            if (at != count)
                ck_abort_msg("%u successors, not %u", count, at);
            if (tp_domain_racetrack.step(&space.search, space.map, state, 9, &step))
                ck_abort_msg("there is no move 9");
        }
        space_close(&space);
    }
}
END_TEST

struct found {
    const struct tp_search *search;
    tp_state of;
    uint8_t *seen; /* by state * 9 + move: shown before */
    uint32_t count, stop_after;
};

static bool visit(void *context, tp_state state, uint8_t move, tp_cost cost)
{
    struct found *found = context;
    struct tp_successor out;
    bool stepped =
        tp_domain_racetrack.step(found->search, found->search->nodes.belief->truth, state, move, &out);
    if (!stepped || out.state != found->of || cost != out.cost)
        ck_abort_msg("move %u of state %u does not lead to %u", move, state, found->of);
    if (found->seen && found->seen[state * 9 + move]++)
        ck_abort_msg("move %u of state %u is shown twice", move, state);
    return ++found->count != found->stop_after;
}

START_TEST(test_predecessors)
{
    struct tp_test_rng rng = tp_test_rng("predecessors");
    uint64_t maps = tp_test_steps(25, 1000);
    for (uint64_t i = 0; i < maps; i++) {
        struct space space;
        space_random(&space, &rng, 8);
        tp_state states = space.map->width * space.map->height * 49;
        uint32_t *into = calloc(states, sizeof *into);
        uint8_t *seen = calloc(states, 9);
        ck_assert(into && seen);
        for (tp_state state = 0; state < states; state++) {
            struct tp_successor out[TP_MOVES_MAX];
            uint32_t count = tp_domain_racetrack.successors(&space.search, state, out);
            for (uint32_t n = 0; n < count; n++)
                into[out[n].state]++;
        }
        for (tp_state state = 0; state < states; state++) {
            struct found found = {&space.search, state, seen, 0, UINT32_MAX};
            tp_domain_racetrack.predecessors(&space.search, state, visit, &found);
            if (found.count != into[state])
                ck_abort_msg("%u moves are shown into state %u, not %u", found.count, state, into[state]);
            uint32_t few = tp_test_between(&rng, 1, 12);
            found = (struct found){&space.search, state, NULL, 0, few};
            tp_domain_racetrack.predecessors(&space.search, state, visit, &found);
            if (found.count != (into[state] < few ? into[state] : few))
                ck_abort_msg("told to stop after %u of %u, it showed %u", few, into[state], found.count);
        }
        free(into);
        free(seen);
        space_close(&space);
    }
}
END_TEST

START_TEST(test_move_between)
{
    struct tp_test_rng rng = tp_test_rng("move_between");
    uint64_t maps = tp_test_steps(20, 1000);
    for (uint64_t i = 0; i < maps; i++) {
        struct space space;
        space_random(&space, &rng, 6);
        tp_state states = space.map->width * space.map->height * 49;
        for (tp_state state = 0; state < states; state++) {
            struct tp_successor out[TP_MOVES_MAX];
            uint32_t count = tp_domain_racetrack.successors(&space.search, state, out);
            for (uint32_t n = 0; n < count; n++) {
                uint32_t first = 0;
                while (out[first].state != out[n].state)
                    first++;
                if (tp_domain_racetrack.move_between(&space.search, state, out[n].state) != out[first].move)
                    ck_abort_msg("the move from %u to %u is not the lowest", state, out[n].state);
            }
            tp_state other = tp_test_below(&rng, states);
            bool there = false;
            for (uint32_t n = 0; n < count; n++)
                there |= out[n].state == other;
            if (!there && tp_domain_racetrack.move_between(&space.search, state, other) != TP_MOVE_NONE)
                ck_abort_msg("a move from %u to %u", state, other);
        }
        space_close(&space);
    }
}
END_TEST

/* h never falls by more than a move costs; it is 0 at the goal, and 1065 (3194 / 3) a cell elsewhere. */
START_TEST(test_h)
{
    struct tp_test_rng rng = tp_test_rng("h");
    uint64_t maps = tp_test_steps(40, 2000);
    for (uint64_t i = 0; i < maps; i++) {
        struct space space;
        space_random(&space, &rng, 16);
        tp_state states = space.map->width * space.map->height * 49;
        ck_assert_uint_eq(tp_search_h(&space.search, space.search.goal, space.search.goal), 0);
        for (tp_state state = 0; state < states; state++) {
            struct tp_successor out[TP_MOVES_MAX];
            uint32_t count = tp_domain_racetrack.successors(&space.search, state, out);
            tp_cost h = tp_search_h(&space.search, state, space.search.goal);
            for (uint32_t n = 0; n < count; n++)
                if (h > out[n].cost + tp_search_h(&space.search, out[n].state, space.search.goal))
                    ck_abort_msg("h falls by more than the cost from %u to %u", state, out[n].state);
        }
        space_close(&space);
    }
    struct space space;
    space_open(&space, tp_test_map_free(30, 20), 0);
    static const uint32_t wanted[][3] = {
        {1, 0, 1064}, {2, 1, 2129}, {3, 3, 3194}, {4, 19, 20228}, {29, 5, 30875}};
    for (size_t n = 0; n < sizeof wanted / sizeof *wanted; n++) {
        tp_state state = tp_domain_racetrack.at_velocity(wanted[n][1] * 30 + wanted[n][0], 3, -2);
        ck_assert_uint_eq(tp_search_h(&space.search, state, space.search.goal), wanted[n][2]);
    }
    space_close(&space);
}
END_TEST

/* Driving there and back crosses the same cells: what is free one way is free the other. */
START_TEST(test_lines_reverse)
{
    struct tp_test_rng rng = tp_test_rng("lines");
    uint64_t maps = tp_test_steps(200, 20000);
    for (uint64_t i = 0; i < maps; i++) {
        struct space space;
        space_open(&space, tp_test_map_random(&rng, 8, 8, 25), 63);
        for (tp_state state = 0; state < 63 * 49; state++) {
            struct place from = place_of(space.map, state),
                         end = {from.x + from.vx, from.y + from.vy, from.vx, from.vy};
            struct tp_successor out;
            if (!tp_map_passable(space.map, from.x, from.y) || (!from.vx && !from.vy) || end.x < 0 ||
                end.y < 0 || end.x > 7 || end.y > 7 || (end.x == 7 && end.y == 7) ||
                !tp_map_passable(space.map, end.x, end.y))
                continue;
            bool there = tp_domain_racetrack.step(&space.search, space.map, state, 4, &out) &&
                         out.state == number_of(space.map, end);
            struct place turned = {end.x, end.y, -from.vx, -from.vy},
                         home = {from.x, from.y, -from.vx, -from.vy};
            bool back =
                tp_domain_racetrack.step(&space.search, space.map, number_of(space.map, turned), 4, &out) &&
                out.state == number_of(space.map, home);
            if (there != back)
                ck_abort_msg("(%d, %d) at (%d, %d): one way only", from.x, from.y, from.vx, from.vy);
        }
        space_close(&space);
    }
}
END_TEST

/* Every state's number, cell, velocity and rest belong together. */
START_TEST(test_numbers)
{
    struct space space;
    space_open(&space, tp_test_map_free(5, 4), 7);
    for (uint32_t cell = 0; cell < 20; cell++) {
        ck_assert_uint_eq(tp_domain_racetrack.at_cell(&space.search, cell), cell * 49 + 24);
        for (int vy = -3; vy <= 3; vy++)
            for (int vx = -3; vx <= 3; vx++) {
                int8_t was_vx, was_vy;
                tp_state state = tp_domain_racetrack.at_velocity(cell, vx, vy);
                ck_assert_uint_eq(state, cell * 49 + (uint32_t)(vy + 3) * 7 + (uint32_t)(vx + 3));
                ck_assert_uint_eq(tp_domain_racetrack.cell(&space.search, state), cell);
                tp_domain_racetrack.velocity(state, &was_vx, &was_vy);
                ck_assert(was_vx == vx && was_vy == vy);
            }
    }
    space_close(&space);
}
END_TEST

/* ---- Sessions ---- */

/* A vehicle under watch: where it is by our own account of its moves. */
struct ride {
    struct tp_session *session;
    struct tp_session_params params;
    struct tp_pool pool;
    struct tp_map *map;
    struct place at;
    uint32_t goal;
    uint64_t moves;
};

static void ride_open(struct ride *ride, struct tp_map *map, const struct tp_session_params *params)
{
    struct tp_refusal refusal;
    *ride = (struct ride){.params = *params, .map = map, .goal = params->goal};
    tp_pool_init(&ride->pool, NULL);
    int rc = tp_session_open(&ride->session, params, map, &ride->pool, &refusal);
    ck_assert_msg(rc == 0, "%s: %s %s", tp_error_name(rc), refusal.field, refusal.reason);
    ride->at = (struct place){(int)(params->start % map->width), (int)(params->start / map->width),
                              params->start_vx, params->start_vy};
}

static void ride_close(struct ride *ride)
{
    tp_session_close(ride->session);
    ck_assert_uint_eq(ride->pool.used_bytes, 0);
    tp_pool_fini(&ride->pool);
    tp_map_unref(ride->map);
}

static bool at_goal(const struct ride *ride)
{
    return (uint32_t)ride->at.y * ride->map->width + (uint32_t)ride->at.x == ride->goal;
}

/* One tick: a vehicle that moves does what one of the accelerations does; one that does not, keeps cell and velocity. */
static struct tp_tick_reply ride_tick(struct ride *ride)
{
    struct tp_tick_reply reply;
    uint32_t cell = (uint32_t)ride->at.y * ride->map->width + (uint32_t)ride->at.x;
    bool was_there = at_goal(ride);
    tp_session_tick(ride->session, ride->map, NULL, &reply);
    struct place to = {(int)(reply.to % ride->map->width), (int)(reply.to / ride->map->width), reply.vx,
                       reply.vy};
    const char *name = ride->params.algorithm->name;
    if (reply.from != cell)
        ck_abort_msg("%s: from %u, not %u", name, reply.from, cell);
    if (was_there) {
        if (reply.status != TP_STATUS_ARRIVED || reply.to != cell || reply.vx || reply.vy)
            ck_abort_msg("%s: not arrived", name);
        ride->at = to;
        return reply;
    }
    struct tp_session_stats stats;
    tp_session_stats(ride->session, &stats);
    if (stats.moves > ride->moves) {
        bool legal = false;
        for (int move = 0; move < 9 && !legal; move++) {
            struct place end;
            legal = drive(ride->map, ride->goal, ride->at, move % 3 - 1, move / 3 - 1, &end) && same(end, to);
        }
        if (!legal)
            ck_abort_msg("%s: no move leads from (%d, %d) at (%d, %d) to (%d, %d) at (%d, %d)", name,
                         ride->at.x, ride->at.y, ride->at.vx, ride->at.vy, to.x, to.y, to.vx, to.vy);
        if (reply.status != (reply.to == ride->goal ? TP_STATUS_ARRIVED : TP_STATUS_MOVING))
            ck_abort_msg("%s: status %d on %u", name, (int)reply.status, reply.to);
    } else if (!same(to, ride->at)) {
        ck_abort_msg("%s: it moved and says it did not", name);
    }
    ride->moves = stats.moves;
    if (stats.cost != stats.moves * TP_COST_UNIT)
        ck_abort_msg("%s: cost %llu of %llu moves", name, (unsigned long long)stats.cost,
                     (unsigned long long)stats.moves);
    ride->at = to;
    return reply;
}

static struct tp_session_params vehicle(const char *algorithm, uint32_t start, uint32_t goal, uint64_t k)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(algorithm);
    params.motion = TP_MOTION_INERTIA;
    params.start = start;
    params.goal = goal;
    params.budget = tp_budget_k(k);
    return params;
}

/* A* drives as few moves as any driver can, and says so exactly where no driver can. */
START_TEST(test_astar_optimal)
{
    struct tp_test_rng rng = tp_test_rng("optimal");
    uint64_t maps = tp_test_steps(60, 3000);
    for (uint64_t i = 0; i < maps; i++) {
        uint32_t width = tp_test_between(&rng, 1, 10), height = tp_test_between(&rng, 1, 10);
        struct tp_map *map = tp_test_map_random(&rng, width, height, tp_test_below(&rng, 50));
        struct tp_session_params params = vehicle("astar", tp_test_below(&rng, width * height),
                                                  tp_test_below(&rng, width * height), TP_BUDGET_MAX);
        params.start_vx = (int8_t)((int)tp_test_below(&rng, 7) - 3);
        params.start_vy = (int8_t)((int)tp_test_below(&rng, 7) - 3);
        uint32_t *left = moves_to_goal(map, params.goal);
        struct ride ride;
        ride_open(&ride, map, &params);
        uint32_t wanted = left[number_of(map, ride.at)], moves = 0;
        if (!tp_map_passable(map, params.goal % width, params.goal / width) && params.start != params.goal)
            wanted = UINT32_MAX;
        struct tp_tick_reply reply = ride_tick(&ride);
        if (wanted == UINT32_MAX) {
            ck_assert_int_eq(reply.status, TP_STATUS_UNREACHABLE);
        } else {
            while (reply.status == TP_STATUS_MOVING && moves <= wanted) {
                moves++;
                reply = ride_tick(&ride);
            }
            ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
            ck_assert_uint_eq(ride.moves, wanted);
        }
        free(left);
        ride_close(&ride);
    }
}
END_TEST

/* Every algorithm that takes vehicles, on maps that change under it: every move is one, UNREACHABLE is true. */
START_TEST(test_every_algorithm)
{
    struct tp_test_rng rng = tp_test_rng("every");
    uint64_t rounds = tp_test_steps(12, 400);
    size_t taken = 0;
    for (size_t row = 0; tp_algorithm_at(row); row++) {
        const struct tp_algorithm *algorithm = tp_algorithm_at(row);
        uint64_t arrived = 0;
        for (uint64_t i = 0; i < rounds; i++) {
            uint32_t width = tp_test_between(&rng, 4, 12), height = tp_test_between(&rng, 4, 12),
                     cells = width * height;
            struct tp_map *map = tp_test_map_random(&rng, width, height, tp_test_below(&rng, 30));
            struct tp_session_params params =
                vehicle(algorithm->name, tp_test_below(&rng, cells), tp_test_below(&rng, cells),
                        tp_test_between(&rng, 1, 200));
            if (algorithm->capabilities & TP_CAN_TAKE_W)
                params.w_milli = 1000 + 500 * tp_test_below(&rng, 9);
            struct tp_session *session;
            struct tp_refusal refusal;
            struct tp_pool pool;
            tp_pool_init(&pool, NULL);
            int rc = tp_session_open(&session, &params, map, &pool, &refusal);
            if (rc == TP_ERR_UNSUPPORTED) { /* a row for grids alone */
                ck_assert_ptr_nonnull(refusal.field);
                tp_map_unref(map);
                tp_pool_fini(&pool);
                continue;
            }
            tp_session_close(session);
            tp_pool_fini(&pool);
            struct ride ride;
            ride_open(&ride, map, &params);
            taken++;
            bool changes = i % 2;
            uint32_t *left = NULL, left_goal = 0; /* of the version and goal it was worked out for */
            uint64_t left_version = 0;
            for (int tick = 0; tick < 150; tick++) {
                struct tp_tick_reply reply = ride_tick(&ride);
                if (reply.status == TP_STATUS_UNREACHABLE) {
                    if (!left || left_version != ride.map->version || left_goal != ride.goal) {
                        free(left);
                        left = moves_to_goal(ride.map, left_goal = ride.goal);
                        left_version = ride.map->version;
                    }
                    bool goal_free = tp_map_passable(ride.map, ride.goal % width, ride.goal / width);
                    if (goal_free && left[number_of(ride.map, ride.at)] != UINT32_MAX)
                        ck_abort_msg("%s: UNREACHABLE is not true", algorithm->name);
                }
                arrived += reply.status == TP_STATUS_ARRIVED;
                if (changes && tp_test_percent(&rng, 30)) {
                    uint32_t cell = tp_test_below(&rng, cells);
                    tp_test_set(&ride.map, cell % width, cell / width, tp_test_percent(&rng, 50) ? '@' : '.');
                }
                if (changes && tp_test_percent(&rng, 3)) {
                    ride.goal = tp_test_below(&rng, cells);
                    ck_assert_int_eq(tp_session_retarget(ride.session, ride.goal), 0);
                }
                if (changes && tp_test_percent(&rng, 3)) {
                    uint32_t cell = tp_test_below(&rng, cells);
                    int vx = (int)tp_test_below(&rng, 7) - 3, vy = (int)tp_test_below(&rng, 7) - 3;
                    ck_assert_int_eq(tp_session_at_velocity(ride.session, cell, vx, vy), 0);
                    ride.at = (struct place){(int)(cell % width), (int)(cell / width), vx, vy};
                }
                if (!changes && (reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE))
                    break;
            }
            free(left);
            ride_close(&ride);
        }
        if (taken && rounds >= 12 && algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE)
            ck_assert_msg(arrived > 0, "%s never arrived", algorithm->name);
    }
    ck_assert_uint_gt(taken, 0);
}
END_TEST

/* A vehicle at speed, a wall put in front of it: it stops beside the wall, takes this for what happened, and drives on. */
START_TEST(test_wall_in_front)
{
    struct tp_map *map = tp_test_map_free(40, 5);
    struct tp_session_params params = vehicle("astar", 2 * 40 + 1, 2 * 40 + 38, TP_BUDGET_MAX);
    struct ride ride;
    ride_open(&ride, map, &params);
    while (ride.at.vx < 3)
        ride_tick(&ride);
    int x = ride.at.x;
    tp_test_set_rect(&ride.map, (uint32_t)x + 2, 0, 1, 4, '@');
    uint64_t moves = ride.moves;
    struct tp_tick_reply reply;
    do
        reply = ride_tick(&ride);
    while (reply.status != TP_STATUS_ARRIVED && ride.moves < moves + 40);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    ride_close(&ride);
}
END_TEST

/* The goal is met at any speed, also where the vehicle is put there, and where the goal comes to it. */
START_TEST(test_arrival)
{
    struct tp_session_params params = vehicle("tbwa", 3, 3, 10);
    params.start_vx = 3;
    struct ride ride;
    ride_open(&ride, tp_test_map_free(20, 1), &params);
    ck_assert(tp_session_arrived(ride.session));
    ck_assert_int_eq(ride_tick(&ride).status, TP_STATUS_ARRIVED);
    ride.goal = 19;
    ck_assert_int_eq(tp_session_retarget(ride.session, 19), 0);
    ck_assert(!tp_session_arrived(ride.session));
    while (ride.at.vx < 2)
        ck_assert_int_eq(ride_tick(&ride).status, TP_STATUS_MOVING);
    ride.goal = (uint32_t)ride.at.x;
    ck_assert_int_eq(tp_session_retarget(ride.session, ride.goal), 0);
    ck_assert_int_eq(ride_tick(&ride).status, TP_STATUS_ARRIVED);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, ride.goal, -3, 0), 0);
    ck_assert(tp_session_arrived(ride.session));
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 0, 1, 0), 0);
    ck_assert(!tp_session_arrived(ride.session));
    ride.at = (struct place){0, 0, 1, 0};
    while (ride_tick(&ride).status == TP_STATUS_MOVING)
        continue;
    ck_assert(at_goal(&ride));
    ck_assert_uint_eq(tp_session_cell(ride.session), ride.goal);
    ride_close(&ride);
}
END_TEST

/* The path asked for is the one then driven. */
START_TEST(test_path)
{
    struct tp_session_params params = vehicle("astar", 0, 11 * 12 + 11, TP_BUDGET_MAX);
    struct ride ride;
    ride_open(&ride, tp_test_map_free(12, 12), &params);
    ride_tick(&ride);
    uint32_t cells[40], count = tp_session_path(ride.session, cells, 40);
    ck_assert_uint_ge(count, 3);
    ck_assert_uint_eq(cells[0], (uint32_t)ride.at.y * 12 + (uint32_t)ride.at.x);
    ck_assert_uint_eq(cells[count - 1], ride.goal);
    for (uint32_t i = 1; i < count; i++)
        ck_assert_uint_eq(ride_tick(&ride).to, cells[i]);
    ck_assert(at_goal(&ride));
    ride_close(&ride);
}
END_TEST

static void refused(const struct tp_session_params *params, const struct tp_map *map, int error,
                    const char *field)
{
    struct tp_session *session;
    struct tp_refusal refusal;
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    ck_assert_int_eq(tp_session_open(&session, params, map, &pool, &refusal), error);
    ck_assert_ptr_null(session);
    ck_assert_str_eq(refusal.field, field);
    ck_assert_ptr_nonnull(refusal.reason);
    tp_pool_fini(&pool);
}

START_TEST(test_refusals)
{
    struct tp_map *map = tp_test_map_free(8, 8);
    struct tp_session_params params = vehicle("tbwa", 0, 63, 10), good = params;
    params.start_vx = 4;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "start_vx");
    params.start_vx = -3;
    params.start_vy = -4;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "start_vy");
    params = good;
    params.motion = TP_MOTION_STEPS;
    params.start_vx = 1;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "start_vx");
    params.start_vx = 0;
    params.start_vy = -1;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "start_vy");
    params = good;
    params.motion = (enum tp_motion)7;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "motion");
    params = good;
    params.algorithm = tp_algorithm_find("rtbwa");
    params.knowledge = TP_KNOWLEDGE_FREESPACE;
    refused(&params, map, TP_ERR_UNSUPPORTED, "knowledge");
    params = good;
    params.algorithm = tp_algorithm_find("tba");
    params.budget = tp_budget_r(100, 900, 10);
    params.shortcut = true;
    refused(&params, map, TP_ERR_UNSUPPORTED, "shortcut");

    struct ride ride;
    ride_open(&ride, map, &good);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 64, 0, 0), TP_ERR_OUT_OF_RANGE);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, 4, 0), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, 0, -4), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, INT32_MIN, INT32_MAX), TP_ERR_INVALID_ARGUMENT);
    ck_assert_uint_eq(tp_session_cell(ride.session), 0);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, -3, 3), 0);
    ck_assert_uint_eq(tp_session_cell(ride.session), 1);
    ride_close(&ride);

    map = tp_test_map_free(8, 8);
    good.motion = TP_MOTION_STEPS;
    ride_open(&ride, map, &good);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, 1, 0), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, 0, 0), 0);
    ride_close(&ride);
}
END_TEST

/* ---- The tracks of the papers ---- */

/* A* from every start to every finish drives as few moves as anyone can. */
static const struct track_file {
    const char *name;
    uint32_t width, height, starts, finishes;
} track_files[] = {
    {"racetrack/barto-small", 35, 12, 1, 3},
    {"racetrack/barto-big", 30, 33, 1, 7},
    {"racetrack/hansen-bigger", 69, 33, 1, 10},
    {"racetrack/derived-hansen-33x207", 207, 33, 1, 10},
};

START_TEST(test_track_files)
{
    const char *maps = tp_test_maps_or_skip();
    if (!maps)
        return;
    const struct track_file *file = &track_files[_i];
    size_t size;
    char *text = tp_test_read_file(tp_test_path(maps, file->name, ".track"), &size);
    struct tp_track track;
    struct tp_place place;
    const char *reason;
    int rc = tp_track_parse(&track, text, size, &place, &reason);
    ck_assert_msg(rc == 0, "%s:%u:%u: %s", file->name, place.line, place.column, reason);
    free(text);
    ck_assert(track.width == file->width && track.height == file->height);
    ck_assert(track.start_count == file->starts && track.finish_count == file->finishes);
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, track.width, track.height, track.cells, &profile, 1), 0);
    for (size_t i = 0; i < track.finish_count; i += 9) {
        uint32_t *left = moves_to_goal(map, track.finishes[i]);
        struct tp_session_params params = vehicle("astar", track.starts[0], track.finishes[i], TP_BUDGET_MAX);
        struct ride ride;
        ride_open(&ride, (struct tp_map *)(uintptr_t)tp_map_ref(map), &params);
        uint32_t wanted = left[number_of(map, ride.at)], moves = 0;
        ck_assert_uint_ne(wanted, UINT32_MAX);
        struct tp_tick_reply reply;
        do
            reply = ride_tick(&ride);
        while (reply.status == TP_STATUS_MOVING && moves++ < wanted);
        ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
        ck_assert_uint_eq(ride.moves, wanted);
        ride_close(&ride);
        free(left);
    }
    tp_map_unref(map);
    tp_track_fini(&track);
}
END_TEST

static Suite *racetrack_suite(void)
{
    Suite *suite = suite_create("racetrack");
    TCase *space = tcase_create("space");
    tcase_add_test(space, test_numbers);
    tcase_add_test(space, test_step);
    tcase_add_test(space, test_predecessors);
    tcase_add_test(space, test_move_between);
    tcase_add_test(space, test_h);
    tcase_add_test(space, test_lines_reverse);
    suite_add_tcase(suite, space);
    TCase *sessions = tcase_create("sessions");
    tcase_add_test(sessions, test_astar_optimal);
    tcase_add_test(sessions, test_every_algorithm);
    tcase_add_test(sessions, test_wall_in_front);
    tcase_add_test(sessions, test_arrival);
    tcase_add_test(sessions, test_path);
    tcase_add_test(sessions, test_refusals);
    suite_add_tcase(suite, sessions);
    TCase *tracks = tcase_create("tracks");
    tcase_add_loop_test(tracks, test_track_files, 0, sizeof track_files / sizeof *track_files);
    suite_add_tcase(suite, tracks);
    return suite;
}

int main(void)
{
    return tp_test_main("test_racetrack", racetrack_suite);
}
