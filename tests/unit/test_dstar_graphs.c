/* D* Lite on graphs that change: what it plans after each batch of edges and nodes costs what a fresh search would find, with whole
 * budgets and small ones, goals that move and agents put elsewhere; and it is repaired, not begun anew. Every tick is watched
 * (tests/lib/play.h). Grids: test_dstar_lite.c. */
#include "tests/lib/play.h"
#include "tests/lib/random_spaces.h"

#include <stdio.h>

enum { PATH_MAX_NODES = 4096, BATCH_MAX = 12 };

static void random_batch(struct tp_test_rng *rng, struct play *play, struct plain_graph *plain,
                         uint32_t cost_max)
{
    struct tp_change changes[BATCH_MAX];
    uint32_t count = tp_test_between(rng, 1, BATCH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (plain->count == 0 || tp_test_percent(rng, 15)) {
            bool open = tp_test_percent(rng, 85);
            changes[i] =
                (struct tp_change){.kind = TP_CHANGE_NODE, .x = tp_test_below(rng, plain->nodes), .y = open};
            plain_graph_set_node(plain, changes[i].x, open);
            continue;
        }
        changes[i] =
            (struct tp_change){.kind = TP_CHANGE_EDGE, .x = tp_test_below(rng, (uint32_t)plain->count)};
        changes[i].y = tp_test_percent(rng, 12) ? 0 : tp_test_between(rng, 1, cost_max);
        plain_graph_set_edge(plain, changes[i].x, changes[i].y);
    }
    play_apply(play, changes, count);
}

/* Of the open edges between two nodes the cheapest; UINT64_MAX: none. */
static uint64_t edge_cost(const struct plain_graph *plain, uint32_t from, uint32_t to)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = plain->first[from]; i < plain->first[from + 1]; i++)
        if (plain->edges[i].to == to && plain->edges[i].cost && plain->edges[i].cost < least)
            least = plain->edges[i].cost;
    return least;
}

/* What one tick's reply tells of the plan: the move made, and the path from there on, cost what is least. Whether it told. */
static bool check_plan(const struct play *play, const struct plain_graph *plain,
                       const struct tp_tick_reply *reply)
{
    static uint32_t path[PATH_MAX_NODES];
    if (reply->status != TP_STATUS_MOVING && reply->status != TP_STATUS_ARRIVED &&
        reply->status != TP_STATUS_UNREACHABLE)
        return false;
    if (reply->to == reply->from && reply->status == TP_STATUS_ARRIVED)
        return true;
    uint64_t least = plain_graph_cost(plain, reply->from, play->goal);
    if (reply->status == TP_STATUS_UNREACHABLE) {
        PLAY_SAY(play, least == UINT64_MAX || plain->closed[play->goal], "UNREACHABLE, but a way costs %llu",
                 (unsigned long long)least);
        return true;
    }
    path[0] = reply->from;
    uint32_t count = 1 + tp_session_path(play->session, path + 1, PATH_MAX_NODES - 1);
    uint64_t cost = 0;
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint64_t step = edge_cost(plain, path[i], path[i + 1]);
        PLAY_SAY(play, step != UINT64_MAX, "no edge leads from %u to %u", path[i], path[i + 1]);
        cost += step;
    }
    PLAY_SAY(play, path[count - 1] == play->goal, "the path ends on %u", path[count - 1]);
    PLAY_SAY(play, cost == least, "the plan from %u costs %llu, the least is %llu", reply->from,
             (unsigned long long)cost, (unsigned long long)least);
    return true;
}

static struct tp_budget small_budget(struct tp_test_rng *rng)
{
    return tp_test_percent(rng, 50)
               ? tp_budget_k(tp_test_between(rng, 1, 20))
               : tp_budget_r(tp_test_between(rng, 1, 12), 500, tp_test_between(rng, 1, 3));
}

/* After each batch, and whatever else happened, the plan is as good as a fresh one. */
static void many_batches(const char *name, bool small_budgets)
{
    struct tp_test_rng rng = tp_test_rng(name);
    uint64_t batches = tp_test_steps(10000, 100000), repaired = 0, restarts = 0;
    for (uint64_t done = 0, number = 0; done < batches; number++) {
        struct space space;
        uint32_t cost_max = tp_test_percent(&rng, 20) ? UINT32_MAX : tp_test_percent(&rng, 50) ? 10 : 2000;
        uint32_t nodes_max = tp_test_percent(&rng, 20) ? 1500 : 60;
        space_random(&space, &rng, SPACE_GRAPH, (struct space_size){8, 8, nodes_max, cost_max});
        struct plain_graph *plain = &space.graph;
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("dstarlite");
        params.start = tp_test_below(&rng, plain->nodes);
        params.goal = tp_test_below(&rng, plain->nodes);
        params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
        struct play play;
        play_open_graph(&play, &params, space.map, plain, NULL);
        snprintf(play.label, sizeof play.label,
                 "%s, graph %llu of %u nodes, %zu edges%s (TICKPATH_SEED=%llu)", name,
                 (unsigned long long)number, plain->nodes, plain->count,
                 space.map->graph->x ? ", placed" : "", (unsigned long long)tp_test_seed());
        for (uint32_t i = tp_test_between(&rng, 10, 60); i > 0; i--, done++) {
            random_batch(&rng, &play, plain, cost_max);
            if (tp_test_percent(&rng, 10) || play.cell == play.goal)
                play_retarget(&play, tp_test_below(&rng, plain->nodes));
            if (tp_test_percent(&rng, 10))
                play_at(&play, tp_test_below(&rng, plain->nodes));
            uint32_t tries = 0, tries_max = small_budgets ? 20 * plain->nodes + 2000 : 1;
            bool told;
            do {
                struct tp_budget budget = small_budget(&rng);
                struct tp_tick_reply reply = play_tick(&play, small_budgets ? &budget : NULL);
                repaired += (reply.flags & TP_FLAG_REPAIRED) != 0;
                /* a plan of an older version is walked while the newer one is being taken up */
                bool older = small_budgets && reply.to != reply.from && !(reply.flags & TP_FLAG_PATH_COMPLETE);
                told = !older && check_plan(&play, plain, &reply);
            } while (!told && ++tries < tries_max);
            PLAY_SAY(&play, told, "no plan after %u ticks on %u", tries, play.cell);
        }
        restarts += play.stats.restarts;
        play_close(&play);
        space_fini(&space);
    }
    printf("%s: %llu batches, %llu ticks repaired, %llu restarts\n", name, (unsigned long long)batches,
           (unsigned long long)repaired, (unsigned long long)restarts);
    ck_assert_uint_gt(repaired, batches / 5);
    ck_assert_uint_lt(restarts,
                      batches /
                          10); /* epochs never change here: an edge that became too cheap for h, a far goal */
}

START_TEST(it_equals_a_fresh_search_after_every_batch)
{
    many_batches("batches", false);
}
END_TEST

START_TEST(it_equals_a_fresh_search_with_small_budgets)
{
    many_batches("batches under small budgets", true);
}
END_TEST

/* A road there and back: an edge ahead becomes dear and cheap again, a node closes and opens, and nothing begins anew. */
START_TEST(a_change_is_repaired)
{
    enum { NODES = 1000 };
    static struct tp_graph_edge edges[4 * NODES];
    size_t count = 0;
    for (uint32_t i = 0; i + 1 < NODES; i++) {
        edges[count++] = (struct tp_graph_edge){i, i + 1, 10};
        edges[count++] = (struct tp_graph_edge){i + 1, i, 10};
    }
    for (uint32_t i = 0; i + 10 < NODES; i += 10) { /* a way round each stretch of ten */
        edges[count++] = (struct tp_graph_edge){i, i + 10, 200};
        edges[count++] = (struct tp_graph_edge){i + 10, i, 200};
    }
    struct tp_map *map = tp_test_map_graph(NODES, edges, count, NULL, NULL);
    struct plain_graph plain;
    plain_graph_init(&plain, NODES, edges, count);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("dstarlite");
    params.goal = NODES - 1;
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    struct play play;
    play_open_graph(&play, &params, map, &plain, NULL);
    struct tp_tick_reply reply = play_tick(&play, NULL);
    uint64_t whole = reply.work.expansions;
    ck_assert_uint_ge(whole, NODES - 1);
    const struct tp_change changes[] = {{.kind = TP_CHANGE_EDGE, .x = 2 * 44, .y = 1000},
                                        {.kind = TP_CHANGE_EDGE, .x = 2 * 44, .y = 10},
                                        {.kind = TP_CHANGE_NODE, .x = 55, .y = 0},
                                        {.kind = TP_CHANGE_NODE, .x = 55, .y = 1}};
    for (size_t i = 0; i < 4; i++) {
        if (changes[i].kind == TP_CHANGE_EDGE)
            plain_graph_set_edge(&plain, changes[i].x, changes[i].y);
        else
            plain_graph_set_node(&plain, changes[i].x, changes[i].y == 1);
        play_apply(&play, &changes[i], 1);
        reply = play_tick(&play, NULL);
        ck_assert(check_plan(&play, &plain, &reply));
        ck_assert(reply.flags & TP_FLAG_REPAIRED && !(reply.flags & TP_FLAG_RESTARTED));
        ck_assert_uint_lt(reply.work.expansions, whole / 4);
    }
    ck_assert_int_eq(play_until_settled(&play, NULL, NODES).status, TP_STATUS_ARRIVED);
    ck_assert_uint_eq(play.cost, 10 * (NODES - 1));
    ck_assert_uint_eq(play.stats.restarts, 0);
    play_close(&play);
    tp_map_unref(map);
    plain_graph_fini(&plain);
}
END_TEST

static Suite *dstar_graphs_suite(void)
{
    Suite *suite = suite_create("D* Lite on graphs");
    TCase *tcase = tcase_create("D* Lite on graphs");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
    tcase_add_test(tcase, a_change_is_repaired);
    tcase_add_test(tcase, it_equals_a_fresh_search_after_every_batch);
    tcase_add_test(tcase, it_equals_a_fresh_search_with_small_budgets);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_dstar_graphs", dstar_graphs_suite);
}
