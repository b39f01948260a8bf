/* What was learned never overestimates, whoever moves the goal and whenever: after each tick that left no learning step under
 * way, h of every state, as learned, is at most the true cost to the present goal. For every row that learns, on grids and on
 * graphs, under small purses and small k, where a learning step takes many ticks and the goal moves in the course of it. */
#include "tests/lib/distances.h"
#include "tests/lib/mind.h"
#include "tests/lib/play.h"
#include "tests/lib/random_spaces.h"

#include <stdlib.h>

enum { STATES_MAX = 400, TICKS = 120 };

/* The true costs to a node: sweeps over the edges until nothing changes. */
static void graph_costs(const struct plain_graph *graph, uint32_t goal, uint64_t *costs)
{
    for (uint32_t i = 0; i < graph->nodes; i++)
        costs[i] = i == goal ? 0 : UINT64_MAX;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < graph->count; i++) {
            const struct tp_graph_edge *edge = &graph->edges[i];
            if (costs[edge->to] == UINT64_MAX || costs[edge->to] + edge->cost >= costs[edge->from])
                continue;
            costs[edge->from] = costs[edge->to] + edge->cost;
            more = true;
        }
    }
}

static void costs_to_goal(const struct space *space, const struct play *play, uint64_t *costs)
{
    if (space->kind == SPACE_GRAPH)
        graph_costs(&space->graph, play->goal, costs);
    else
        ref_costs_to(&play->plain, play->goal, costs);
}

static void check_h(struct play *play, const uint64_t *costs)
{
    const struct tp_search *search = &mind_of(play->session)->search;
    uint32_t states = play->map->width * play->map->height;
    for (uint32_t cell = 0; cell < states; cell++) {
        if (search->domain->cells_can_block && !tp_map_passable(play->map, cell % play->map->width, cell / play->map->width))
            continue; /* nobody gets there */
        tp_state state = search->domain->at_cell(search, cell);
        tp_cost h = tp_search_h(search, state, mind_of(play->session)->goal) +
                    tp_learned_at(&mind_of(play->session)->learned, tp_state_x(search, state), tp_state_y(search, state));
        if (costs[cell] != UINT64_MAX && h > costs[cell])
            PLAY_SAY(play, false, "h of %u is %llu, the cost to %u is %llu", cell, (unsigned long long)h, play->goal,
                     (unsigned long long)costs[cell]);
    }
}

static struct tp_budget small_budget(struct tp_test_rng *rng)
{
    if (tp_test_percent(rng, 30))
        return tp_budget_k(tp_test_between(rng, 1, 8));
    return tp_budget_r(tp_test_between(rng, 2, 12), tp_test_between(rng, 500, 900), tp_test_between(rng, 1, 10));
}

static void one_life(struct tp_test_rng *rng, const struct tp_algorithm *row, uint64_t life)
{
    struct space space;
    enum space_kind kind = tp_test_percent(rng, 50) ? SPACE_GRAPH : SPACE_GRID;
    space_random(&space, rng, kind, (struct space_size){.grid_side = 14, .track_side = 6, .nodes = 40, .cost_max = 30});
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.start = space_cell(rng, space.map, true);
    params.goal = space_cell(rng, space.map, true);
    params.budget = small_budget(rng);
    static uint64_t costs[STATES_MAX];
    ck_assert_uint_le((uint64_t)space.map->width * space.map->height, STATES_MAX);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_session *session;
    struct tp_refusal refusal;
    struct play play = {.label = ""};
    snprintf(play.label, sizeof play.label, "%s, life %llu on a %s: %u to %u, TICKPATH_SEED=%llu", row->name,
             (unsigned long long)life, space_names[kind], params.start, params.goal, (unsigned long long)tp_test_seed());
    if (tp_session_open(&session, &params, space.map, &pool, &refusal) == TP_OK) {
        tp_session_close(session);
        play_open_graph(&play, &params, space.map, kind == SPACE_GRAPH ? &space.graph : NULL, &pool);
        costs_to_goal(&space, &play, costs);
        for (uint32_t tick = 0; tick < TICKS; tick++) {
            struct tp_tick_reply reply = play_tick(&play, NULL);
            if (!mind_of(play.session)->learn.running)
                check_h(&play, costs);
            bool done = reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE;
            if (!done && !tp_test_percent(rng, mind_of(play.session)->learn.running ? 40 : 8))
                continue;
            uint32_t goal = tp_test_percent(rng, 70) ? space_cell_near(rng, space.map, play.goal)
                                                     : space_cell(rng, space.map, true);
            play_retarget(&play, goal);
            costs_to_goal(&space, &play, costs);
        }
        play_close(&play);
    }
    tp_pool_fini(&pool);
    space_fini(&space);
}

START_TEST(learned_h_never_overestimates)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (row->learning == TP_LEARNING_NONE)
        return;
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t lives = tp_test_steps(150, 5000);
    for (uint64_t life = 0; life < lives; life++)
        one_life(&rng, row, life);
}
END_TEST

static Suite *learned_h_suite(void)
{
    int rows = 0;
    while (tp_algorithm_at((size_t)rows))
        rows++;
    Suite *suite = suite_create("learned h");
    TCase *tcase = tcase_create("every row that learns");
    tcase_set_timeout(tcase, tp_test_long() ? 600 : 60);
    tcase_add_loop_test(tcase, learned_h_never_overestimates, 0, rows);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_learned_h", learned_h_suite);
}
