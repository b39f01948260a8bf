/* LRTA* and P-LRTA* (search/lookahead.c, search/prioritized.c): cases worked out by hand from the definitions, and what
 * holds at every tick: h never overestimates, stays consistent where that is promised, and the agent arrives within the
 * bound that learning gives. h is read from inside the session. That it never overestimates is asked of every agent-centred
 * row. */
#include "map/graph.h"
#include "tests/lib/mind.h"
#include "tests/lib/play.h"
#include "tests/lib/random_spaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"lrta", "plrta", "lss", "lsswa", "rtaa", "dartaa"};

static tp_cost h_of(const struct tp_mind *session, uint32_t cell)
{
    const struct tp_search *search = &session->search;
    tp_state state = search->domain->at_cell(search, cell);
    return tp_search_h(search, state, session->goal) +
           tp_learned_at(&session->learned, tp_state_x(search, state), tp_state_y(search, state));
}

/* ---- by hand ---- */

/* The agent starts in a dead end, two cells from the goal as the crow flies, ten as it walks. In steps, h is
 *
 *     2 of 3   4 3 2 @ G      the cells' numbers:  0  1  2  .  4
 *              5 @ @ @ 1                           5  .  .  .  9
 *              6 5 4 3 2                          10 11 12 13 14
 */
static const char *const dead_end = "...@.\n.@@@.\n.....";

struct expected {
    const char *algorithm;
    uint64_t k;
    const char *cells; /* moved to, one after the other */
    const char *work;  /* expansions of each tick; NULL: k each */
    uint64_t h[4];     /* of cells 2, 1, 0 and 5 at the end, in steps; of all others it is as it was */
};

static const struct expected by_hand[] = {
    /* Depth 1: 2 learns 4, 1 learns 5 and goes left as the tie's lower cell, 0 learns 6 and goes back, and so on until the
     * three and 5 are filled up to 8, 9, 8, 7. */
    {"lrta", 1, "1 0 1 2 1 0 5 0 1 2 1 0 5 10 11 12 13 14 9 4", NULL, {8, 9, 8, 7}},
    {"plrta", 1, "1 0 1 2 1 0 5 0 1 2 1 0 5 10 11 12 13 14 9 4", NULL, {8, 9, 8, 7}},
    /* Depth 2 in the corridor, 3 at its end: from 2 the frontier is 5, 3 + 5; from 1 it is 5, 2 + 5; from 0 it is 10, 2 + 6,
     * and 2, 2 + 8; from 5 it is 11, 2 + 5. Before the last move the goal is the next to be expanded. */
    {"lrta", 3, "1 0 5 10 11 12 13 14 9 4", "3 3 3 3 3 3 3 3 3 1", {8, 7, 8, 7}},
    /* On 2: updates 2 (4), 1 (5), 0 (6), each of priority 2. On 1: 1 and 1 stay, 2 (6). On 0: 0, 1 (7), 0 stays. On 5: 5 (7),
     * 0 (8), 1 stays. On 10: stays, 2 (8), 1 (9). On 11: stays, 0 stays, 2 (10). Then what is left stays: 1, 5; 10. */
    {"plrta", 3, "1 0 5 10 11 12 13 14 9 4", "3 3 3 3 3 3 3 2 1 1", {10, 9, 8, 7}},
};

START_TEST(as_worked_out_by_hand)
{
    const struct expected *expected = &by_hand[_i];
    static const uint32_t learning_cells[] = {2, 1, 0, 5};
    struct tp_map *map = tp_test_map(dead_end);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(expected->algorithm);
    params.neighbours = TP_NEIGHBOURS_4;
    params.start = 2;
    params.goal = 4;
    params.budget = tp_budget_k(expected->k);
    struct play play;
    play_open(&play, &params, map);
    uint64_t before[15];
    for (uint32_t cell = 0; cell < 15; cell++)
        before[cell] = h_of(mind_of(play.session), cell);
    char *cells = (char *)(uintptr_t)expected->cells, *work = (char *)(uintptr_t)expected->work;
    struct tp_tick_reply reply;
    do {
        reply = play_tick(&play, NULL);
        ck_assert_uint_eq(reply.to, strtoul(cells, &cells, 10));
        ck_assert_uint_eq(reply.work.expansions, work ? strtoul(work, &work, 10) : expected->k);
    } while (*cells);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(h_of(mind_of(play.session), learning_cells[i]), expected->h[i] * TP_COST_UNIT);
        before[learning_cells[i]] = expected->h[i] * TP_COST_UNIT;
    }
    for (uint32_t cell = 0; cell < 15; cell++)
        ck_assert_uint_eq(h_of(mind_of(play.session), cell), before[cell]);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* ---- at every tick ---- */

/* The true cost to the goal from every cell, UINT64_MAX where no way is: Bellman, Ford. */
static uint64_t *true_costs(const struct ref_problem *problem, uint32_t goal)
{
    int64_t width = problem->width, height = problem->height;
    uint64_t *cost = malloc((size_t)(width * height) * sizeof *cost);
    ck_assert_ptr_nonnull(cost);
    memset(cost, 0xff, (size_t)(width * height) * sizeof *cost);
    cost[goal] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t cell = 0; cell < width * height; cell++) {
            for (int64_t i = 0; i < 25; i++) {
                int64_t x = cell % width + i % 5 - 2, y = cell / width + i / 5 - 2;
                uint64_t step, to = (uint64_t)(y * width + x);
                if (x < 0 || y < 0 || x >= width || y >= height || cost[to] == UINT64_MAX ||
                    !ref_step(problem, (uint32_t)cell, (uint32_t)to, &step) || cost[to] + step >= cost[cell])
                    continue;
                cost[cell] = cost[to] + step;
                changed = true;
            }
        }
    }
    return cost;
}

/* Of passable cells: the library has no h of others to promise. */
static void check_admissible(const struct play *play, const uint64_t *cost)
{
    for (uint32_t cell = 0; cell < play->plain.width * play->plain.height; cell++) {
        if (play->plain.weight[cell] && h_of(mind_of(play->session), cell) > cost[cell])
            ck_abort_msg("%s: tick %llu: h of %u is %llu, the true cost %llu", play->label,
                         (unsigned long long)play->ticks, cell, (unsigned long long)h_of(mind_of(play->session), cell),
                         (unsigned long long)cost[cell]);
    }
}

static void check_consistent(const struct play *play)
{
    int64_t width = play->plain.width, height = play->plain.height;
    for (int64_t cell = 0; cell < width * height; cell++) {
        for (int64_t i = 0; i < 25; i++) {
            int64_t x = cell % width + i % 5 - 2, y = cell / width + i / 5 - 2;
            uint64_t step;
            uint32_t to = (uint32_t)(y * width + x);
            if (x >= 0 && y >= 0 && x < width && y < height && play->plain.weight[cell] &&
                ref_step(&play->plain, (uint32_t)cell, to, &step) &&
                h_of(mind_of(play->session), (uint32_t)cell) > step + h_of(mind_of(play->session), to))
                ck_abort_msg("%s: tick %llu: h of %u and %u are not consistent", play->label,
                             (unsigned long long)play->ticks, (uint32_t)cell, to);
        }
    }
}

static struct tp_map *random_map(struct tp_test_rng *rng)
{
    uint32_t width = tp_test_between(rng, 2, 9), height = tp_test_between(rng, 2, 9);
    uint8_t cells[81];
    uint32_t percent = tp_test_between(rng, 0, 45);
    for (uint32_t i = 0; i < width * height; i++)
        cells[i] = tp_test_percent(rng, percent) ? '@' : (uint8_t) ".GS"[tp_test_below(rng, 3)];
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    if (tp_test_percent(rng, 40))
        for (const char *class = ".GS"; *class; class ++)
            profile.weight[(int)*class] = (uint16_t)tp_test_between(rng, 1, 12);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile, 1), 0);
    return map;
}

static struct tp_session_params random_params(struct tp_test_rng *rng, const char *name,
                                              const struct tp_map *map)
{
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    static const enum tp_corners corners[] = {TP_CORNERS_BOTH_FREE, TP_CORNERS_ONE_FREE, TP_CORNERS_ALWAYS};
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(name);
    params.neighbours = neighbours[tp_test_below(rng, 3)];
    params.corners = corners[tp_test_below(rng, 3)];
    params.start = space_cell(rng, map, true);
    params.goal = space_cell(rng, map, true);
    params.budget =
        tp_test_percent(rng, 70)
            ? tp_budget_k(tp_test_percent(rng, 20) ? 1 : tp_test_between(rng, 1, 40))
            : tp_budget_r(tp_test_between(rng, 1, 60), tp_test_below(rng, 1001), tp_test_between(rng, 1, 20));
    return params;
}

static void label(struct play *play, uint64_t number)
{
    const struct tp_session_params *p = &play->params;
    snprintf(play->label, sizeof play->label,
             "case %llu of %s (%ux%u, n %d, corners %d, start %u, goal %u, %s %llu; TICKPATH_SEED=%llu)",
             (unsigned long long)number, p->algorithm->name, play->map->width, play->map->height,
             (int)p->neighbours, (int)p->corners, p->start, p->goal,
             p->budget.kind == TP_BUDGET_K ? "k" : "R", (unsigned long long)p->budget.expansions,
             (unsigned long long)tp_test_seed());
}

/* On a static map with a way there, which on grids leads back too: every move leaves the sum of h less h of the agent's cell
 * larger by what it cost. */
START_TEST(the_agent_arrives_within_the_bound)
{
    const char *name = names[_i];
    struct tp_test_rng rng = tp_test_rng(name);
    uint64_t cases = tp_test_steps(250, 5000);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_map *map = random_map(&rng);
        struct tp_session_params params = random_params(&rng, name, map);
        struct play play;
        play_open(&play, &params, map);
        label(&play, i);
        uint64_t *cost = true_costs(&play.plain, params.goal);
        bool consistent = strcmp(name, "plrta") == 0 ||
                          (params.budget.kind == TP_BUDGET_K && params.budget.expansions == 1);
        uint64_t bound = h_of(mind_of(play.session), params.start), h_start = bound;
        for (uint32_t cell = 0; cell < map->width * map->height; cell++)
            if (play.plain.weight[cell] && cost[cell] != UINT64_MAX)
                bound += cost[cell] - h_of(mind_of(play.session), cell);
        /* an agent under R may need some ticks for each move */
        uint64_t ticks_max = (bound / TP_COST_UNIT + 1) * (params.budget.kind == TP_BUDGET_K ? 1 : 40);
        struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
        if (cost[params.start] == UINT64_MAX || !play.plain.weight[params.start])
            ticks_max = 0;
        for (uint64_t tick = 0; tick < ticks_max && reply.status != TP_STATUS_ARRIVED; tick++) {
            reply = play_tick(&play, NULL);
            check_admissible(&play, cost);
            if (consistent)
                check_consistent(&play);
            ck_assert_msg(reply.status == TP_STATUS_MOVING || reply.status == TP_STATUS_ARRIVED ||
                              params.budget.kind != TP_BUDGET_K,
                          "%s: it stands", play.label);
        }
        if (ticks_max && (reply.status != TP_STATUS_ARRIVED || play.cost > bound))
            ck_abort_msg("%s: on %u after %llu ticks, cost %llu; the bound is %llu, h of the start %llu",
                         play.label, play.cell, (unsigned long long)play.ticks, (unsigned long long)play.cost,
                         (unsigned long long)bound, (unsigned long long)h_start);
        free(cost);
        play_close(&play);
        tp_map_unref(map);
    }
}
END_TEST

/* Cells change class between ticks, up and down; the goal moves now and then. */
START_TEST(h_never_overestimates_on_a_map_that_changes)
{
    const char *name = names[_i];
    struct tp_test_rng rng = tp_test_rng("changes");
    uint64_t cases = tp_test_steps(100, 2000);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_map *map = random_map(&rng);
        struct tp_session_params params = random_params(&rng, name, map);
        struct play play;
        play_open(&play, &params, map);
        label(&play, i);
        for (int tick = 0; tick < 40; tick++) {
            if (tp_test_percent(&rng, 25))
                play_set(&play, tp_test_below(&rng, map->width), tp_test_below(&rng, map->height),
                         "@.GS"[tp_test_below(&rng, 4)]);
            if (tp_test_percent(&rng, 30))
                play_retarget(&play, space_cell(&rng, play.map, true));
            struct tp_tick_reply reply = play_tick(&play, NULL);
            bool of_the_past = play.map->fell_version > mind_of(play.session)->learned_fell_version;
            if (reply.work.expansions == 0 || of_the_past || mind_of(play.session)->learn.running)
                continue; /* what it learned is forgotten when it looks ahead again; or it has not learned all */
            uint64_t *cost = true_costs(&play.plain, play.goal);
            check_admissible(&play, cost);
            free(cost);
        }
        play_close(&play);
        tp_map_unref(map);
    }
}
END_TEST

/* A plan that is lost half-way, since the agent was put back where it came from, costs nothing that was learned. */
START_TEST(what_was_learned_is_kept)
{
    const char *name = names[_i];
    struct tp_test_rng rng = tp_test_rng("kept");
    uint64_t cases = tp_test_steps(60, 1500);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_map *map = random_map(&rng);
        struct tp_session_params params = random_params(&rng, name, map);
        struct play play;
        play_open(&play, &params, map);
        label(&play, i);
        bool by_clock = tp_test_percent(&rng, 50);
        uint64_t before[81] = {0};
        for (int tick = 0; tick < 80; tick++) {
            struct play_clock clock = {tp_test_between(&rng, 1, 12)};
            struct tp_budget budget = play_deadline(&clock);
            struct tp_tick_reply reply = play_tick(&play, by_clock ? &budget : NULL);
            for (uint32_t cell = 0; cell < map->width * map->height && !mind_of(play.session)->learn.running; cell++) {
                uint64_t h = h_of(mind_of(play.session), cell);
                PLAY_SAY(&play, h >= before[cell], "h of %u fell to %llu", cell, (unsigned long long)h);
                before[cell] = h;
            }
            if (reply.status != TP_STATUS_ARRIVED && tp_test_percent(&rng, 40))
                play_at(&play, tp_test_percent(&rng, 50) ? reply.from : space_cell(&rng, map, true));
        }
        play_close(&play);
        tp_map_unref(map);
    }
}
END_TEST

/* The mouth of a dead end of every length, and every lookahead that sees it to the end from inside but not from outside. */
START_TEST(a_dead_end_seen_whole_is_left)
{
    enum { WIDTH = 20 };
    for (uint32_t length = 1; length < 12; length++) {
        uint8_t cells[3 * WIDTH];
        memset(cells, '.', sizeof cells);
        memset(cells + WIDTH + 1, '@', WIDTH - 2);
        cells[5 + length] = '@';
        struct tp_profile profile;
        tp_profile_init_movingai(&profile);
        struct tp_map *map;
        ck_assert_int_eq(tp_map_build(&map, WIDTH, 3, cells, &profile, 1), 0);
        for (uint64_t k = 1; k < 40; k++) {
            struct tp_session_params params;
            tp_session_params_init(&params);
            params.algorithm = tp_algorithm_find(names[_i]);
            params.neighbours = TP_NEIGHBOURS_4;
            params.start = 4;
            params.goal = WIDTH - 1;
            params.budget = tp_budget_k(k);
            struct play play;
            play_open(&play, &params, map);
            ck_assert_int_eq(play_until_settled(&play, NULL, 3 * WIDTH * 3 * WIDTH).status,
                             TP_STATUS_ARRIVED);
            play_close(&play);
        }
        tp_map_unref(map);
    }
}
END_TEST

/* ---- one-way edges ---- */

enum { NODES_MAX = 24, EDGES_MAX = 4 * NODES_MAX };

/* A ring of one-way edges, so that a way leads from every node to every other, and some more edges. */
static uint32_t random_graph(struct tp_test_rng *rng, uint32_t nodes, struct tp_graph_edge *edges)
{
    uint32_t count = 0, more = tp_test_below(rng, 3 * nodes);
    for (uint32_t i = 0; i < nodes; i++)
        edges[count++] = (struct tp_graph_edge){i, (i + 1) % nodes, tp_test_between(rng, 1, 50)};
    for (uint32_t i = 0; i < more; i++)
        edges[count++] = (struct tp_graph_edge){tp_test_below(rng, nodes), tp_test_below(rng, nodes),
                                                tp_test_between(rng, 1, 200)};
    return count;
}

static void graph_costs(const struct tp_graph_edge *edges, uint32_t count, uint32_t nodes, uint32_t goal,
                        uint64_t *cost)
{
    for (uint32_t i = 0; i < nodes; i++)
        cost[i] = i == goal ? 0 : UINT64_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t on = cost[edges[i].to];
            if (on != UINT64_MAX && on + edges[i].cost < cost[edges[i].from]) {
                cost[edges[i].from] = on + edges[i].cost;
                changed = true;
            }
        }
    }
}

START_TEST(one_way_edges)
{
    struct tp_test_rng rng = tp_test_rng("graphs");
    uint64_t cases = tp_test_steps(300, 5000);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_graph_edge edges[EDGES_MAX];
        uint32_t nodes = tp_test_between(&rng, 2, NODES_MAX), count = random_graph(&rng, nodes, edges);
        const struct tp_graph *graph;
        size_t bad;
        ck_assert_int_eq(tp_graph_build(&graph, nodes, edges, count, NULL, NULL, &bad), 0);
        struct tp_map *map;
        ck_assert_int_eq(tp_map_build_graph(&map, graph, 1, 1), 0);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find(names[_i]);
        params.start = tp_test_below(&rng, nodes);
        params.goal = tp_test_below(&rng, nodes);
        params.budget =
            tp_test_percent(&rng, 70) ? tp_budget_k(tp_test_between(&rng, 1, 12)) : tp_budget_r(10, 500, 4);
        uint64_t cost[NODES_MAX], bound = 0, spent = 0, ticks = 0;
        graph_costs(edges, count, nodes, params.goal, cost);
        for (uint32_t node = 0; node < nodes; node++)
            bound += cost[node];
        struct tp_pool pool;
        tp_pool_init(&pool, NULL);
        struct tp_session *session;
        struct tp_refusal refusal;
        ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
        struct tp_tick_reply reply;
        do {
            tp_session_tick(session, map, NULL, &reply);
            spent = reply.cost;
            for (uint32_t node = 0; node < nodes; node++)
                if (h_of(mind_of(session), node) > cost[node])
                    ck_abort_msg("case %llu of %s: h of node %u is %llu of %llu (TICKPATH_SEED=%llu)",
                                 (unsigned long long)i, names[_i], node,
                                 (unsigned long long)h_of(mind_of(session), node), (unsigned long long)cost[node],
                                 (unsigned long long)tp_test_seed());
        } while (reply.status != TP_STATUS_ARRIVED && ++ticks < 40 * bound + 40);
        ck_assert_msg(reply.status == TP_STATUS_ARRIVED && spent <= bound,
                      "case %llu of %s: status %d, cost %llu, the bound is %llu (TICKPATH_SEED=%llu)",
                      (unsigned long long)i, names[_i], (int)reply.status, (unsigned long long)spent,
                      (unsigned long long)bound, (unsigned long long)tp_test_seed());
        tp_session_close(session);
        tp_pool_fini(&pool);
        tp_map_unref(map);
        tp_graph_unref(graph);
    }
}
END_TEST

static Suite *lrta_suite(void)
{
    Suite *suite = suite_create("lrta");
    TCase *tcase = tcase_create("lrta");
    tcase_add_loop_test(tcase, as_worked_out_by_hand, 0, sizeof by_hand / sizeof *by_hand);
    tcase_add_loop_test(tcase, the_agent_arrives_within_the_bound, 0, 2);
    tcase_add_loop_test(tcase, h_never_overestimates_on_a_map_that_changes, 0, sizeof names / sizeof *names);
    tcase_add_loop_test(tcase, what_was_learned_is_kept, 0, sizeof names / sizeof *names);
    tcase_add_loop_test(tcase, a_dead_end_seen_whole_is_left, 0, 2);
    tcase_add_loop_test(tcase, one_way_edges, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_lrta", lrta_suite);
}
