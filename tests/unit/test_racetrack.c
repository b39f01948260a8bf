/* Vehicles with inertia: the space's functions against a second one written from the words (tests/lib/drive.h). Sessions:
 * test_racetrack_sessions.c. */
#include "search/search.h"
#include "tests/lib/drive.h"
#include "tests/lib/maps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
            struct drive_place from = drive_place_of(space.map, state), to;
            struct tp_successor out[TP_MOVES_MAX], step;
            uint32_t count = tp_domain_racetrack.successors(&space.search, state, out), at = 0;
            for (int move = 0; move < 9; move++) {
                bool legal = drive_move(space.map, space.goal, from, move % 3 - 1, move / 3 - 1, &to);
                bool stepped =
                    tp_domain_racetrack.step(&space.search, space.map, state, (uint8_t)move, &step);
                if (legal != stepped || (legal && (step.state != drive_state(space.map, to) ||
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
            struct drive_place from = drive_place_of(space.map, state),
                         end = {from.x + from.vx, from.y + from.vy, from.vx, from.vy};
            struct tp_successor out;
            if (!tp_map_passable(space.map, from.x, from.y) || (!from.vx && !from.vy) || end.x < 0 ||
                end.y < 0 || end.x > 7 || end.y > 7 || (end.x == 7 && end.y == 7) ||
                !tp_map_passable(space.map, end.x, end.y))
                continue;
            bool there = tp_domain_racetrack.step(&space.search, space.map, state, 4, &out) &&
                         out.state == drive_state(space.map, end);
            struct drive_place turned = {end.x, end.y, -from.vx, -from.vy},
                         home = {from.x, from.y, -from.vx, -from.vy};
            bool back =
                tp_domain_racetrack.step(&space.search, space.map, drive_state(space.map, turned), 4, &out) &&
                out.state == drive_state(space.map, home);
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
    return suite;
}

int main(void)
{
    return tp_test_main("test_racetrack", racetrack_suite);
}
