/* What the rows that look ahead anew for each move promise: they arrive, though nobody plans their whole way.
 *
 * The argument (Koenig, Sun 2009, for LSS-LRTA*; the same for RTAA*), step by step so that the lookahead may differ from
 * tick to tick: after learning in s, h(s) = c(s, s') + h(s') for the step s, s' that is taken, so the sum of h over all
 * states, less h where the agent stands, grows by the cost of each step and never falls. h stays below the true
 * distance h*, so all steps together cost at most
 *
 *      h0(start) + sum over all states of (h* - h0)
 *
 * daRTAA* (Hernández, Baier 2012) moves towards another state than RTAA*. The amount by which h was raised where it
 * stands does not grow in a step, and when it stays, h0 falls by the step: so no state is met twice without a raise of h
 * between, which is all that is promised. With 4 neighbours over equal weights a raise is two steps at least, and then
 * the sum above holds for it too.
 */
#include "map/graph.h"
#include "tests/lib/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool agent_centred(const struct tp_algorithm *row)
{
    return !strcmp(tp_engine_name(row->engine), "agent-centred");
}

static int row_count(void)
{
    int count = 0;
    while (tp_algorithm_at((size_t)count))
        count++;
    return count;
}

/* The true distance of every cell to the goal, UINT64_MAX where there is no way. */
static uint64_t *true_distances(const struct ref_problem *problem)
{
    int64_t width = problem->width, height = problem->height;
    uint64_t *distance = malloc((size_t)(width * height) * sizeof *distance);
    ck_assert_ptr_nonnull(distance);
    for (int64_t cell = 0; cell < width * height; cell++)
        distance[cell] = UINT64_MAX;
    distance[problem->goal] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t cell = 0; cell < width * height; cell++)
            for (int64_t step = 0; problem->weight[cell] && step < 25; step++) {
                int64_t x = cell % width + step % 5 - 2, y = cell / width + step / 5 - 2, to = y * width + x;
                uint64_t cost;
                if (x < 0 || y < 0 || x >= width || y >= height || distance[to] == UINT64_MAX ||
                    !ref_step(problem, (uint32_t)cell, (uint32_t)to, &cost) || distance[to] + cost >= distance[cell])
                    continue;
                distance[cell] = distance[to] + cost;
                changed = true;
            }
    }
    return distance;
}

static uint64_t h0(const struct ref_problem *problem, uint32_t cell)
{
    return ref_distance(problem, cell, problem->goal);
}

/* The sum of the argument above; 0 when the start has no way to the goal. */
static uint64_t cost_bound(const struct ref_problem *problem)
{
    uint64_t *distance = true_distances(problem);
    uint64_t bound = h0(problem, problem->start);
    bool joined = distance[problem->start] != UINT64_MAX;
    for (uint32_t cell = 0; cell < problem->width * problem->height; cell++)
        if (distance[cell] != UINT64_MAX)
            bound += distance[cell] - h0(problem, cell);
    free(distance);
    return joined ? bound : 0;
}

/* ---- on a map that stands still ---- */

static struct tp_map *random_map(struct tp_test_rng *rng)
{
    uint32_t width = tp_test_between(rng, 2, 14), height = tp_test_between(rng, 2, 14);
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    if (tp_test_percent(rng, 25))
        for (const char *class = ".GS"; *class; class ++)
            profile.weight[(int)*class] = (uint16_t)tp_test_between(rng, 1, 5);
    uint8_t cells[14 * 14];
    uint32_t percent = tp_test_between(rng, 10, 45);
    for (uint32_t i = 0; i < width * height; i++)
        cells[i] = tp_test_percent(rng, percent) ? '@' : (uint8_t) ".GS"[tp_test_below(rng, 3)];
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile, 1), 0);
    return map;
}

static struct tp_budget small_budget(struct tp_test_rng *rng)
{
    static const uint64_t lookaheads[] = {1, 1, 2, 3, 5, 9, 30};
    if (tp_test_percent(rng, 20))
        return tp_budget_r(tp_test_between(rng, 1, 12), tp_test_below(rng, 1001), tp_test_between(rng, 1, 10));
    return tp_budget_k(lookaheads[tp_test_below(rng, 7)]);
}

/* How often the sum may be walked. */
static uint64_t bound_factor(const struct tp_session_params *params, const struct tp_map *map)
{
    bool avoids = params->algorithm->capabilities & TP_CAN_AVOID_RAISED;
    bool plain = params->neighbours == TP_NEIGHBOURS_4 && !map->weighted;
    return (avoids && !plain) || params->w_milli > 1000 ? 20 : 1;
}

START_TEST(all_steps_together_cost_no_more_than_what_can_be_learned)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (!agent_centred(row))
        return;
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t cases = tp_test_steps(300, 5000), walked = 0;
    for (uint64_t i = 0; i < cases; i++) {
        static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
        static const uint32_t weights[] = {1000, 1000, 1500, 3000, 50000, 1000000000};
        struct tp_map *map = random_map(&rng);
        uint32_t cells = map->width * map->height;
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.start = tp_test_below(&rng, cells);
        params.goal = tp_test_below(&rng, cells);
        params.neighbours = neighbours[tp_test_below(&rng, 3)];
        params.corners = (enum tp_corners)tp_test_below(&rng, 3);
        params.w_milli = row->capabilities & TP_CAN_TAKE_W ? weights[tp_test_below(&rng, 6)] : 1000;
        params.budget = small_budget(&rng);
        bool varied = tp_test_percent(&rng, 40);
        struct ref_problem problem = play_problem(map, &params);
        uint64_t bound = problem.weight[params.start] && problem.weight[params.goal] ? cost_bound(&problem) : 0;
        if (bound) {
            struct play play;
            play_open(&play, &params, map);
            snprintf(play.label, sizeof play.label,
                     "case %llu of %s (%ux%u, n %d, w %u/1000, budget %s; TICKPATH_SEED=%llu)", (unsigned long long)i,
                     row->name, map->width, map->height, (int)params.neighbours, params.w_milli,
                     varied ? "varied" : "fixed", (unsigned long long)tp_test_seed());
            bound *= bound_factor(&params, map);
            uint64_t waited = 0;
            while (play.cell != play.goal && play.cost <= bound && waited < 400) {
                struct tp_budget budget = small_budget(&rng);
                struct tp_tick_reply reply = play_tick(&play, varied ? &budget : NULL);
                waited = reply.to == reply.from ? waited + 1 : 0;
            }
            if (play.cell != play.goal || play.cost > bound)
                ck_abort_msg("%s: from %u on %u after %llu moves of cost %llu, at most %llu; waits for %llu ticks",
                             play.label, params.start, play.cell, (unsigned long long)play.moves,
                             (unsigned long long)play.cost, (unsigned long long)bound, (unsigned long long)waited);
            walked++;
            play_close(&play);
        }
        free((void *)problem.weight);
        tp_map_unref(map);
    }
    ck_assert_uint_ge(walked, cases / 10);
}
END_TEST

/* ---- an agent that remembers what is so no longer ---- */

/* It saw the only way closed, was taken elsewhere, and does not see the way open again. */
START_TEST(a_way_that_opens_out_of_sight_is_found)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (!(row->capabilities & TP_CAN_DISCOVER))
        return;
    static const uint64_t lookaheads[] = {1, 3, 100, TP_BUDGET_UNLIMITED};
    for (size_t i = 0; i < sizeof lookaheads / sizeof lookaheads[0]; i++) {
        struct tp_map *map = tp_test_map(".....@......\n"
                                         ".....@......\n");
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.start = 3;
        params.goal = 23;
        params.knowledge = TP_KNOWLEDGE_FREESPACE;
        params.budget = tp_budget_k(lookaheads[i]);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "%s, lookahead %llu", row->name, (unsigned long long)lookaheads[i]);
        for (int tick = 0; tick < 60; tick++)
            play_tick(&play, NULL);
        play_at(&play, 0);
        play_set(&play, 5, 0, '.');
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 2000);
        ck_assert_msg(reply.status == TP_STATUS_ARRIVED, "%s: on %u, status %d", play.label, play.cell,
                      (int)reply.status);
        play_close(&play);
        tp_map_unref(map);
    }
}
END_TEST

/* ---- intervals of the game time model (2012, section 8) ---- */

enum { FIELD = 48, LOOKS = 30 }; /* an interval is 30 looks at the clock: at most 480 expansions */

static struct tp_map *field(struct tp_test_rng *rng)
{
    static uint8_t cells[FIELD * FIELD];
    for (uint32_t i = 0; i < FIELD * FIELD; i++) {
        uint32_t x = i % FIELD, y = i / FIELD;
        bool wall = (x == 16 && y > 3) || (x == 32 && y < FIELD - 4);
        cells[i] = wall || (x > 2 && tp_test_percent(rng, 15)) ? '@' : '.';
    }
    for (uint32_t y = 0; y < 3;
         y++) /* ways from the start around the walls, and a row that the tests open and close */
        memset(cells + y * FIELD, '.', 30);
    memset(cells + (FIELD - 2) * FIELD, '.', FIELD);
    for (uint32_t y = 0; y < FIELD; y++)
        cells[y * FIELD + 24] = cells[y * FIELD + FIELD - 4] = '.';
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, FIELD, FIELD, cells, &profile, 1), 0);
    return map;
}

/* What happens between two intervals. */
enum happening { NOTHING, DISCOVERY, A_CHANGE, A_MOVE_DENIED, A_GOAL_MOVED, HAPPENINGS };

/* Every interval brings a move, but for those in which the agent sees its way blocked, and the first, which
 * only looks ahead. LSS-LRTA* finds out how much it can learn from in one interval, and may be late while it does. */
START_TEST(a_move_in_every_interval)
{
    static const char *const words[] = {"nothing", "discovery", "a change", "a move denied", "a goal moved"};
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (!agent_centred(row))
        return;
    struct tp_test_rng rng = tp_test_rng(row->name);
    for (int happening = 0; happening < HAPPENINGS; happening++) {
        struct tp_map *map = field(&rng);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.start = (FIELD - 1) * FIELD;
        params.goal = 10 * FIELD + FIELD - 4;
        if (happening == DISCOVERY)
            params.knowledge = TP_KNOWLEDGE_FREESPACE;
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "%s, %s (TICKPATH_SEED=%llu)", row->name, words[happening],
                 (unsigned long long)tp_test_seed());
        uint64_t intervals = 1, waits = 0;
        struct tp_tick_reply reply;
        for (; play.cell != play.goal && intervals < 600; intervals++) {
            struct play_clock clock = {LOOKS};
            struct tp_budget budget = play_deadline(&clock);
            reply = play_tick(&play, &budget);
            bool moved = reply.to != reply.from;
            waits += intervals > 1 && !moved && reply.status != TP_STATUS_BLOCKED;
            if (happening == A_CHANGE)
                play_set(&play, 40, FIELD - 1, intervals % 2 ? '@' : '.');
            else if (happening == A_MOVE_DENIED && moved && intervals % 3 == 0 &&
                     reply.status != TP_STATUS_ARRIVED)
                play_at(&play, reply.from);
            else if (happening == A_GOAL_MOVED)
                play_retarget(&play, (10 + (uint32_t)intervals % 20) * FIELD + FIELD - 4);
        }
        uint64_t late = row->learning == TP_LEARNING_DIJKSTRA ? 2 + intervals / 20 : 0;
        PLAY_SAY(&play, waits <= late, "waited in %llu of %llu intervals", (unsigned long long)waits,
                 (unsigned long long)intervals);
        play_close(&play);
        tp_map_unref(map);
    }
}
END_TEST

/* ---- no way out ---- */

/* What the row says of an agent shut in; play_tick itself knows whether it could leave its state. */
static void expect_shut_in(struct play *play, bool dead_end)
{
    for (int tick = 0; tick < 5; tick++) {
        struct tp_tick_reply reply = play_tick(play, NULL);
        PLAY_SAY(play, reply.status == TP_STATUS_SEARCHING || reply.status == TP_STATUS_MOVING, "status %d",
                 (int)reply.status);
        PLAY_SAY(play, !(reply.flags & TP_FLAG_DEAD_END) == !dead_end, "flags %u", reply.flags);
    }
    play_close(play);
}

/* A row that can't prove that no way is there says at least that nothing leads out of the agent's own state. */
START_TEST(an_agent_shut_in_is_told)
{
    static const struct {
        const char *cells;
        uint32_t goal;
        bool dead_end;
    } grids[] = {{".@.\n@@.\n", 5, true}, {".@@\n@@.\n", 2, true}, {".@.\n.@.\n", 5, false}};
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (row->capabilities & TP_CAN_DETECT_UNREACHABLE)
        return;
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.budget = tp_budget_k(5);
    struct play play;
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        struct tp_map *map = tp_test_map(grids[i].cells);
        params.goal = grids[i].goal;
        play_open(&play, &params, map);
        expect_shut_in(&play, grids[i].dead_end);
        tp_map_unref(map);
    }
    /* 0 leads to 1, nothing leads on; the loop is no way out */
    static const struct tp_graph_edge edges[] = {{0, 1, 5}, {1, 1, 5}, {2, 0, 5}};
    struct plain_graph plain;
    plain_graph_init(&plain, 3, edges, 3);
    const struct tp_graph *graph;
    size_t bad;
    ck_assert_int_eq(tp_graph_build(&graph, 3, edges, 3, NULL, NULL, &bad), 0);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build_graph(&map, graph, 1, 1), 0);
    params.start = 1;
    params.goal = 2;
    play_open_graph(&play, &params, map, &plain, NULL);
    expect_shut_in(&play, true);
    tp_map_unref(map);
    tp_graph_unref(graph);
    plain_graph_fini(&plain);
}
END_TEST

static Suite *agent_centred_suite(void)
{
    Suite *suite = suite_create("agent-centred");
    TCase *tcase = tcase_create("every row");
    tcase_add_loop_test(tcase, all_steps_together_cost_no_more_than_what_can_be_learned, 0, row_count());
    tcase_add_loop_test(tcase, a_way_that_opens_out_of_sight_is_found, 0, row_count());
    tcase_add_loop_test(tcase, a_move_in_every_interval, 0, row_count());
    tcase_add_loop_test(tcase, an_agent_shut_in_is_told, 0, row_count());
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_agent_centred", agent_centred_suite);
}
