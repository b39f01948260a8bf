/* TBR(WA*) where moves cannot be taken back: one-way edges, vehicles with inertia. It arrives wherever the goal can still be
 * reached from the agent's state, says UNREACHABLE where it can't, and moves as TB(WA*) does where every move can be taken
 * back. Truth is told by a plain flood over the edges. */
#include "tests/lib/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 60, EDGES_MAX = NODES_MAX * 8 };

/* A graph as the test made it, and the map over it. */
struct net {
    uint32_t nodes;
    size_t edge_count;
    struct tp_graph_edge edges[EDGES_MAX];
    double x[NODES_MAX], y[NODES_MAX];
    struct tp_map *map;
};

static void net_edge(struct net *net, uint32_t from, uint32_t to, uint32_t cost)
{
    ck_assert_uint_lt(net->edge_count, EDGES_MAX);
    net->edges[net->edge_count++] = (struct tp_graph_edge){from, to, cost};
}

static void net_build(struct net *net, bool coordinates)
{
    net->map = tp_test_map_graph(net->nodes, net->edges, net->edge_count, coordinates ? net->x : NULL,
                                 coordinates ? net->y : NULL);
}

/* Random edges; with `ring`, also one cycle through all nodes in random order, so that every node reaches every other. */
static void net_random(struct net *net, struct tp_test_rng *rng, bool ring, bool coordinates)
{
    *net = (struct net){.nodes = tp_test_between(rng, 2, NODES_MAX)};
    uint32_t order[NODES_MAX];
    for (uint32_t i = 0; i < net->nodes; i++) {
        net->x[i] = tp_test_below(rng, 1000);
        net->y[i] = tp_test_below(rng, 1000);
        uint32_t j = tp_test_below(rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    uint32_t extra = tp_test_below(rng, 3 * net->nodes), cost_max = tp_test_percent(rng, 50) ? 3 : 2000;
    for (uint32_t i = 0; ring && i < net->nodes; i++)
        net_edge(net, order[i], order[(i + 1) % net->nodes], tp_test_between(rng, 1, cost_max));
    for (uint32_t i = 0; i < extra; i++) {
        uint32_t from = tp_test_below(rng, net->nodes), to = tp_test_below(rng, net->nodes);
        if (from != to)
            net_edge(net, from, to, tp_test_between(rng, 1, cost_max));
    }
    net_build(net, coordinates);
}

static bool net_reaches(const struct net *net, uint32_t from, uint32_t to)
{
    bool reached[NODES_MAX] = {false};
    reached[from] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < net->edge_count; i++)
            if (reached[net->edges[i].from] && !reached[net->edges[i].to])
                more = reached[net->edges[i].to] = true;
    }
    return reached[to];
}

static bool net_leaves(const struct net *net, uint32_t node)
{
    for (size_t i = 0; i < net->edge_count; i++)
        if (net->edges[i].from == node)
            return true;
    return false;
}

/* Whether an edge leads there, the cheapest at that cost. */
static bool net_has(const struct net *net, uint32_t from, uint32_t to, uint64_t cost)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < net->edge_count; i++)
        if (net->edges[i].from == from && net->edges[i].to == to && net->edges[i].cost < least)
            least = net->edges[i].cost;
    return least == cost;
}

/* One session on a net, each tick checked. */
struct run {
    const struct net *net;
    struct tp_session *session;
    struct tp_pool pool;
    uint32_t at, goal;
    uint64_t cost, ticks, stood_learning;
    struct tp_session_stats stats;
    char label[200];
};

static void run_open(struct run *run, const struct net *net, const char *algorithm, uint32_t w_milli,
                     struct tp_budget budget, uint32_t start, uint32_t goal)
{
    *run = (struct run){.net = net, .at = start, .goal = goal};
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(algorithm);
    params.w_milli = w_milli;
    params.budget = budget;
    params.start = start;
    params.goal = goal;
    tp_pool_init(&run->pool, NULL);
    struct tp_refusal refusal = {0};
    int error = tp_session_open(&run->session, &params, net->map, &run->pool, &refusal);
    ck_assert_msg(error == 0, "%s: %s %s", algorithm, refusal.field, refusal.reason);
    snprintf(
        run->label, sizeof run->label,
        "%s, w %u/1000, budget %d of %llu (r %u, c %u), %u nodes, %zu edges, %u to %u, TICKPATH_SEED=%llu",
        algorithm, w_milli, (int)budget.kind, (unsigned long long)budget.expansions, budget.r_milli, budget.c,
        net->nodes, net->edge_count, start, goal, (unsigned long long)tp_test_seed());
}

static struct tp_tick_reply run_tick(struct run *run)
{
    struct tp_tick_reply reply;
    const struct net *net = run->net;
    tp_session_tick(run->session, net->map, NULL, &reply);
    run->ticks++;
    bool moved = reply.to != reply.from;
    if (reply.from != run->at || (moved && !net_has(net, reply.from, reply.to, reply.cost - run->cost)) ||
        (!moved && reply.cost != run->cost))
        ck_abort_msg("%s: tick %llu: %u to %u is no edge", run->label, (unsigned long long)run->ticks,
                     reply.from, reply.to);
    run->at = reply.to;
    run->cost = reply.cost;
    if (reply.status == TP_STATUS_UNREACHABLE && net_reaches(net, run->at, run->goal))
        ck_abort_msg("%s: a way leads from %u", run->label, run->at);
    bool dead_end = !net_leaves(net, run->at);
    if (dead_end != !!(reply.flags & TP_FLAG_DEAD_END))
        ck_abort_msg("%s: DEAD_END on %u", run->label, run->at);
    uint64_t learning = run->stats.learning_ticks;
    tp_session_stats(run->session, &run->stats);
    if (run->stats.learning_ticks != learning && (moved || reply.status != TP_STATUS_SEARCHING))
        ck_abort_msg("%s: it learned and moved", run->label);
    if (run->stats.moves + run->stats.learning_ticks > run->stats.ticks)
        ck_abort_msg("%s: more actions than ticks", run->label);
    return reply;
}

static struct tp_tick_reply run_until(struct run *run, uint64_t ticks_max)
{
    struct tp_tick_reply reply;
    do
        reply = run_tick(run);
    while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE && --ticks_max);
    return reply;
}

static void run_close(struct run *run)
{
    tp_session_close(run->session);
    ck_assert_uint_eq(run->pool.used_bytes, 0);
    tp_pool_fini(&run->pool);
}

static const uint32_t weights[] = {1000, 1500, 3000, 10000};
static const uint64_t lookaheads[] = {1, 2, 7, 64};
enum { WEIGHTS = 4, LOOKAHEADS = 4, TICKS_MAX = 100000 };

static struct tp_budget some_budget(struct tp_test_rng *rng)
{
    if (tp_test_percent(rng, 60))
        return tp_budget_k(lookaheads[tp_test_below(rng, LOOKAHEADS)]);
    return tp_budget_r(tp_test_between(rng, 2, 40), tp_test_below(rng, 1001), tp_test_between(rng, 1, 12));
}

/* ---- Theorem 3 ---- */

START_TEST(arrives_on_strongly_connected_graphs)
{
    struct tp_test_rng rng = tp_test_rng("strong");
    uint64_t rounds = tp_test_steps(60, 2000), stranded = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        struct net net;
        net_random(&net, &rng, true, i % 2);
        uint32_t start = tp_test_below(&rng, net.nodes), goal = tp_test_below(&rng, net.nodes);
        for (int w = 0; w < WEIGHTS; w++)
            for (int k = 0; k <= LOOKAHEADS; k++) {
                struct run run;
                struct tp_budget budget = k < LOOKAHEADS ? tp_budget_k(lookaheads[k]) : some_budget(&rng);
                run_open(&run, &net, "tbrwa", weights[w], budget, start, goal);
                struct tp_tick_reply reply = run_until(&run, TICKS_MAX);
                if (reply.status != TP_STATUS_ARRIVED)
                    ck_abort_msg("%s: on %u with status %d", run.label, run.at, (int)reply.status);
                if (budget.kind == TP_BUDGET_K && run.stats.learning_ticks != run.stats.restarts)
                    ck_abort_msg("%s: %llu ticks of learning, %llu restarts", run.label,
                                 (unsigned long long)run.stats.learning_ticks,
                                 (unsigned long long)run.stats.restarts);
                stranded += run.stats.learning_ticks > 0;
                run_close(&run);
            }
        tp_map_unref(net.map);
    }
    ck_assert_uint_gt(stranded, rounds / 2);
}
END_TEST

/* ---- Where TB(WA*) fails ---- */

/* A one-way lane of cheap edges that leads round to the start again, and two dear edges to the goal: nodes 0 to lane - 1, the
 * middle of the dear way, the goal. Every node reaches every other. */
static void net_lane(struct net *net, uint32_t lane, uint32_t dear)
{
    *net = (struct net){.nodes = lane + 2};
    for (uint32_t i = 0; i < lane; i++)
        net_edge(net, i, (i + 1) % lane, 1);
    net_edge(net, 0, lane, dear);
    net_edge(net, lane, lane + 1, dear);
    net_edge(net, lane + 1, 0, 1);
    net_build(net, false);
}

/* TB(WA*) must wait for a whole path once it was stranded, TBR(WA*) goes on. */
START_TEST(arrives_where_tbwa_is_stranded)
{
    struct net net;
    net_lane(&net, 20, 5);
    for (int w = 0; w < WEIGHTS; w++) {
        struct run run;
        run_open(&run, &net, "tbwa", weights[w], tp_budget_k(1), 0, 21);
        struct tp_tick_reply reply;
        do
            reply = run_tick(&run);
        while (!(reply.flags & TP_FLAG_RESTARTED) && run.ticks < 1000);
        ck_assert_uint_lt(run.stats.moves, 20); /* off the path found, where no move leads back */
        ck_assert_int_eq(reply.status, TP_STATUS_SEARCHING);
        for (uint32_t stood = run.at; run_tick(&run).status == TP_STATUS_SEARCHING && run.ticks < 1000;)
            ck_assert_uint_eq(run.at, stood); /* the papers are silent: it waits for a path from there */
        ck_assert_int_eq(run_until(&run, 1000).status, TP_STATUS_ARRIVED);
        ck_assert_uint_eq(run.stats.restarts, 1);
        run_close(&run);
        run_open(&run, &net, "tbrwa", weights[w], tp_budget_k(1), 0, 21);
        ck_assert_int_eq(run_until(&run, 1000).status, TP_STATUS_ARRIVED);
        ck_assert_uint_ge(run.stats.learning_ticks, 1);
        ck_assert_uint_ge(run.stats.learned, 1);
        ck_assert_uint_eq(run.stats.back_moves, 0);
        run_close(&run);
    }
    tp_map_unref(net.map);
}
END_TEST

/* ---- UNREACHABLE ---- */

START_TEST(a_dead_end_is_told)
{
    struct net net = {.nodes = 4};
    net_edge(&net, 0, 1, 1); /* the dead end */
    net_edge(&net, 0, 2, 5);
    net_edge(&net, 2, 3, 5);
    net_build(&net, false);
    struct run run;
    run_open(&run, &net, "tbrwa", 1000, tp_budget_k(1), 0, 3);
    struct tp_tick_reply reply = run_until(&run, 20);
    ck_assert_int_eq(reply.status, TP_STATUS_UNREACHABLE);
    ck_assert(reply.flags & TP_FLAG_DEAD_END);
    ck_assert_uint_eq(reply.to, 1);
    ck_assert_int_eq(run_tick(&run).status, TP_STATUS_UNREACHABLE);
    /* put back, it goes the other way: what it learned keeps it out of the dead end, or the search does */
    ck_assert_int_eq(tp_session_at(run.session, 2), 0);
    run.at = 2;
    ck_assert_int_eq(run_until(&run, 20).status, TP_STATUS_ARRIVED);
    run_close(&run);
    tp_map_unref(net.map);
}
END_TEST

/* Any graph: the end is ARRIVED, or a true UNREACHABLE. */
START_TEST(ends_truly_on_any_graph)
{
    struct tp_test_rng rng = tp_test_rng("any");
    uint64_t rounds = tp_test_steps(1500, 40000), arrived = 0, cut_off = 0, dead_ends = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        struct net net;
        net_random(&net, &rng, false, i % 2);
        struct run run;
        uint32_t start = tp_test_below(&rng, net.nodes), goal = tp_test_below(&rng, net.nodes);
        run_open(&run, &net, "tbrwa", weights[tp_test_below(&rng, WEIGHTS)], some_budget(&rng), start, goal);
        struct tp_tick_reply reply = run_until(&run, TICKS_MAX);
        if (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE)
            ck_abort_msg("%s: on %u with status %d", run.label, run.at, (int)reply.status);
        arrived += reply.status == TP_STATUS_ARRIVED && start != goal;
        cut_off += reply.status == TP_STATUS_UNREACHABLE;
        dead_ends += (reply.flags & TP_FLAG_DEAD_END) != 0;
        run_close(&run);
        tp_map_unref(net.map);
    }
    ck_assert_uint_gt(arrived, rounds / 20);
    ck_assert_uint_gt(cut_off, rounds / 20);
    ck_assert_uint_gt(dead_ends, 0);
}
END_TEST

/* Every row that takes graphs, its goal and agent moved about: what it says is true (run_tick looks). */
START_TEST(no_row_says_a_false_unreachable)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t rounds = tp_test_steps(100, 4000);
    for (uint64_t i = 0; i < rounds; i++) {
        struct net net;
        net_random(&net, &rng, tp_test_percent(&rng, 30), i % 2);
        struct run run;
        uint32_t w = row->capabilities & TP_CAN_TAKE_W ? weights[tp_test_below(&rng, WEIGHTS)] : 1000;
        struct tp_budget budget =
            row->capabilities & TP_CAN_SPLIT_R ? tp_budget_k(tp_test_between(&rng, 1, 9)) : some_budget(&rng);
        run_open(&run, &net, row->name, w, budget, tp_test_below(&rng, net.nodes),
                 tp_test_below(&rng, net.nodes));
        for (int tick = 0; tick < 60; tick++) {
            run_tick(&run);
            if (tp_test_percent(&rng, 8)) {
                run.goal = tp_test_below(&rng, net.nodes);
                ck_assert_int_eq(tp_session_retarget(run.session, run.goal), 0);
            }
            if (tp_test_percent(&rng, 8)) {
                run.at = tp_test_below(&rng, net.nodes);
                ck_assert_int_eq(tp_session_at(run.session, run.at), 0);
            }
        }
        struct tp_tick_reply reply = run_until(&run, strcmp(row->name, "tbrwa") == 0 ? TICKS_MAX : 200);
        if (strcmp(row->name, "tbrwa") == 0 && reply.status != TP_STATUS_ARRIVED &&
            reply.status != TP_STATUS_UNREACHABLE)
            ck_abort_msg("%s: on %u with status %d", run.label, run.at, (int)reply.status);
        run_close(&run);
        tp_map_unref(net.map);
    }
}
END_TEST

/* ---- Learning over several ticks ---- */

START_TEST(learning_goes_on_from_tick_to_tick)
{
    struct net net;
    net_lane(&net, 50, 30);
    struct run run;
    run_open(&run, &net, "tbrwa", 1000, tp_budget_r(4, 500, 2), 0, 51);
    uint64_t longest = 0, in_a_row = 0, learning = 0;
    struct tp_tick_reply reply;
    do {
        reply = run_tick(&run);
        ck_assert_uint_le((reply.work.expansions + reply.work.learned) * 2 + reply.work.traced, 8);
        in_a_row = run.stats.learning_ticks > learning ? in_a_row + 1 : 0;
        learning = run.stats.learning_ticks;
        longest = in_a_row > longest ? in_a_row : longest;
    } while (reply.status != TP_STATUS_ARRIVED && run.ticks < 5000);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    ck_assert_uint_gt(longest, 2);
    run_close(&run);

    /* interrupted: another goal, and the agent elsewhere */
    for (int what = 0; what < 2; what++) {
        run_open(&run, &net, "tbrwa", 1000, tp_budget_r(4, 500, 2), 0, 51);
        while (run.stats.learning_ticks < 2)
            run_tick(&run);
        ck_assert_uint_eq(run.stats.restarts, 0);
        run.goal = what == 0 ? 50 : 51;
        run.at = what == 1 ? 40 : run.at;
        ck_assert_int_eq(tp_session_retarget(run.session, run.goal), 0);
        ck_assert_int_eq(tp_session_at(run.session, run.at), 0);
        ck_assert_int_eq(run_until(&run, 5000).status, TP_STATUS_ARRIVED);
        run_close(&run);
    }
    tp_map_unref(net.map);
}
END_TEST

/* ---- Where every move can be taken back ---- */

START_TEST(moves_as_tbwa_on_grids)
{
    struct tp_test_rng rng = tp_test_rng("grids");
    uint64_t rounds = tp_test_steps(120, 4000);
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    for (uint64_t i = 0; i < rounds; i++) {
        struct tp_map *map = tp_test_map_random(&rng, tp_test_between(&rng, 2, 40),
                                                tp_test_between(&rng, 2, 40), tp_test_below(&rng, 45));
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.open_list = TP_OPEN_LIST_EXACT; /* the one that both take */
        params.neighbours = neighbours[i % 3];
        params.w_milli = weights[tp_test_below(&rng, WEIGHTS)];
        params.start = tp_test_below(&rng, map->width * map->height);
        params.goal = tp_test_below(&rng, map->width * map->height);
        params.budget = some_budget(&rng);
        struct play tbwa, tbrwa;
        params.algorithm = tp_algorithm_find("tbwa");
        play_open(&tbwa, &params, map);
        params.algorithm = tp_algorithm_find("tbrwa");
        play_open(&tbrwa, &params, map);
        struct tp_tick_reply a = play_until_settled(&tbwa, NULL, 20000),
                             b = play_until_settled(&tbrwa, NULL, 20000);
        if (a.status != b.status || tbwa.hash != tbrwa.hash ||
            tbwa.stats.move_hash != tbrwa.stats.move_hash ||
            tbwa.stats.search_hash != tbrwa.stats.search_hash || tbwa.ticks != tbrwa.ticks)
            ck_abort_msg("round %llu: tbwa and tbrwa differ, TICKPATH_SEED=%llu", (unsigned long long)i,
                         (unsigned long long)tp_test_seed());
        ck_assert_uint_eq(tbrwa.stats.learning_ticks + tbrwa.stats.learned, 0);
        play_close(&tbwa);
        play_close(&tbrwa);
        tp_map_unref(map);
    }
}
END_TEST

/* ---- Vehicles ---- */

/* Whether A* finds a way for a vehicle that stands so. */
static bool vehicle_reaches(const struct tp_session_params *given, const struct tp_map *map, uint32_t cell,
                            int8_t vx, int8_t vy)
{
    struct tp_session_params params = *given;
    params.algorithm = tp_algorithm_find("astar");
    params.w_milli = 1000;
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    params.start = cell;
    params.start_vx = vx;
    params.start_vy = vy;
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_session *session;
    struct tp_refusal refusal;
    struct tp_tick_reply reply;
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
    tp_session_tick(session, map, NULL, &reply);
    tp_session_close(session);
    tp_pool_fini(&pool);
    return reply.status != TP_STATUS_UNREACHABLE;
}

START_TEST(vehicles_arrive)
{
    struct tp_test_rng rng = tp_test_rng("vehicles");
    uint64_t rounds = tp_test_steps(40, 1500), stranded = 0, arrived = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        struct tp_map *map = tp_test_map_random(&rng, tp_test_between(&rng, 4, 24),
                                                tp_test_between(&rng, 4, 24), tp_test_below(&rng, 30));
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("tbrwa");
        params.motion = TP_MOTION_INERTIA;
        params.w_milli = weights[tp_test_below(&rng, WEIGHTS)];
        params.start = tp_test_below(&rng, map->width * map->height);
        params.goal = tp_test_below(&rng, map->width * map->height);
        params.budget = some_budget(&rng);
        struct tp_pool pool;
        tp_pool_init(&pool, NULL);
        struct tp_session *session;
        struct tp_refusal refusal;
        struct tp_tick_reply reply;
        ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
        uint64_t ticks = 0;
        do
            tp_session_tick(session, map, NULL, &reply);
        while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE &&
               ++ticks < 3 * TICKS_MAX);
        bool told = reply.status == TP_STATUS_UNREACHABLE;
        if ((!told && reply.status != TP_STATUS_ARRIVED) ||
            (told && tp_map_passable(map, params.goal % map->width, params.goal / map->width) &&
             vehicle_reaches(&params, map, reply.to, reply.vx, reply.vy)))
            ck_abort_msg("round %llu: status %d after %llu ticks on %u, TICKPATH_SEED=%llu",
                         (unsigned long long)i, (int)reply.status, (unsigned long long)ticks, reply.to,
                         (unsigned long long)tp_test_seed());
        struct tp_session_stats stats;
        tp_session_stats(session, &stats);
        stranded += stats.learning_ticks > 0;
        arrived += !told;
        tp_session_close(session);
        ck_assert_uint_eq(pool.used_bytes, 0);
        tp_pool_fini(&pool);
        tp_map_unref(map);
    }
    ck_assert_uint_gt(arrived, 0);
    ck_assert_uint_gt(stranded, 0);
}
END_TEST

/* An agent that was put off its path, or whose goal was, onto a state that no move takes back from: whatever the row, it goes
 * on from there. */
START_TEST(what_was_put_elsewhere_goes_on)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i / 4);
    bool moves_goal = _i % 2, by_k = _i / 2 % 2;
    if (moves_goal && row->learning == TP_LEARNING_PRIORITIZED)
        return; /* it looks one move ahead, and walks into the dead end by itself */
    struct net net = {.nodes = 7};
    static const uint32_t edges[][3] = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1},  {0, 4, 1},
                                        {4, 5, 1}, {1, 6, 10}, {6, 5, 10}, {5, 3, 10}};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        net_edge(&net, edges[i][0], edges[i][1], edges[i][2]);
    net_build(&net, false);
    struct run run;
    run_open(&run, &net, row->name, 1000, by_k ? tp_budget_k(100) : tp_budget_r(100, 900, 10), 0, 3);
    for (int i = 0; i < 20 && run.at != 1; i++)
        run_tick(&run);
    ck_assert_uint_eq(run.at, 1);
    if (moves_goal) {
        ck_assert_int_eq(tp_session_retarget(run.session, 5), 0);
        run.goal = 5;
    } else {
        ck_assert_int_eq(tp_session_at(run.session, 4), 0);
        run.at = 4;
    }
    struct tp_tick_reply reply = run_until(&run, 200);
    ck_assert_msg(reply.status == TP_STATUS_ARRIVED, "%s: on %u, status %d, flags %x", run.label, run.at, (int)reply.status,
                  reply.flags);
    run_close(&run);
    tp_map_unref(net.map);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("tbr");
    TCase *tcase = tcase_create("tbr");
    int rows = 0;
    while (tp_algorithm_at((size_t)rows))
        rows++;
    tcase_add_test(tcase, arrives_on_strongly_connected_graphs);
    tcase_add_test(tcase, arrives_where_tbwa_is_stranded);
    tcase_add_test(tcase, a_dead_end_is_told);
    tcase_add_test(tcase, ends_truly_on_any_graph);
    tcase_add_loop_test(tcase, no_row_says_a_false_unreachable, 0, rows);
    tcase_add_test(tcase, learning_goes_on_from_tick_to_tick);
    tcase_add_test(tcase, moves_as_tbwa_on_grids);
    tcase_add_loop_test(tcase, what_was_put_elsewhere_goes_on, 0, 4 * rows);
    tcase_add_test(tcase, vehicles_arrive);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tbr", suite);
}
