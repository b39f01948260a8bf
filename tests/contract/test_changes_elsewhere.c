/* What does not concern an agent keeps it from nothing: on a graph whose edges far from its ways are set in every tick, to what they
 * cost already or to something else, each row gets to its goal, by every rule that promises it, in not many more ticks than where
 * all stands still. Every tick is watched (tests/lib/play.h).
 *
 * A road with by-ways that end, and an island that no way leads to. TICKPATH_SEED repeats a run. */
#include "tests/lib/random_sessions.h"

#include <string.h>

enum { ROAD_MAX = 60, BYWAYS_MAX = 40, NODES_MAX = ROAD_MAX + BYWAYS_MAX + 2 };

enum stir { STIR_NOTHING, STIR_SAME, STIR_DEARER, STIR_NODE, STIRS };
static const char *const stir_names[STIRS] = {"nothing changes", "an edge is set to what it costs",
                                              "an edge gets dearer and cheaper", "a node closes and opens"};

struct country {
    struct tp_graph_edge edges[2 * NODES_MAX];
    double x[NODES_MAX], y[NODES_MAX];
    uint32_t nodes, goal, island; /* the edge on the island */
    size_t count;
    struct tp_map *map;
};

static void both_ways(struct country *country, uint32_t a, uint32_t b, uint32_t cost)
{
    country->edges[country->count++] = (struct tp_graph_edge){a, b, cost};
    country->edges[country->count++] = (struct tp_graph_edge){b, a, cost};
}

static void country_init(struct country *country, struct tp_test_rng *rng, bool flat)
{
    *country = (struct country){0};
    uint32_t road = tp_test_between(rng, 10, ROAD_MAX), byways = tp_test_below(rng, BYWAYS_MAX);
    for (uint32_t i = 0; i < road; i++) {
        country->x[i] = i;
        if (i)
            both_ways(country, i - 1, i, tp_test_between(rng, 10, 20));
    }
    country->goal = road - 1;
    country->nodes = road;
    for (uint32_t i = 0; i < byways; i++) {
        uint32_t from = tp_test_below(rng, country->nodes), node = country->nodes++;
        country->x[node] = country->x[from];
        country->y[node] = country->y[from] + 1;
        both_ways(country, from, node, tp_test_between(rng, 10, 20));
    }
    country->island = (uint32_t)country->count;
    country->x[country->nodes] = country->x[country->nodes + 1] = road / 2;
    both_ways(country, country->nodes, country->nodes + 1, 5);
    country->nodes += 2;
    country->map = tp_test_map_graph(country->nodes, country->edges, country->count, flat ? country->x : NULL,
                                     flat ? country->y : NULL);
}

static void stir_up(struct play *play, struct plain_graph *plain, const struct country *country,
                    enum stir stir)
{
    uint32_t island = country->island, last = country->nodes - 1, odd = play->ticks % 2;
    struct tp_change change = {.kind = TP_CHANGE_EDGE, .x = island, .y = stir == STIR_DEARER ? 5 + odd : 5};
    if (stir == STIR_NODE)
        change = (struct tp_change){.kind = TP_CHANGE_NODE, .x = last, .y = odd};
    if (stir == STIR_NODE)
        plain_graph_set_node(plain, last, odd);
    else
        plain_graph_set_edge(plain, island, change.y);
    play_apply(play, &change, 1);
}

/* Ticks to the goal. */
static uint64_t ticks_to_goal(const struct country *country, const struct tp_session_params *params,
                              enum stir stir, uint64_t most)
{
    struct plain_graph plain;
    plain_graph_init(&plain, country->nodes, country->edges, country->count);
    struct play play;
    play_open_graph(&play, params, country->map, &plain, NULL);
    snprintf(play.label, sizeof play.label,
             "%s, restart %d, budget %d of %llu, road of %u, %u nodes, %s (TICKPATH_SEED=%llu)",
             params->algorithm->name, (int)params->restart, (int)params->budget.kind,
             (unsigned long long)params->budget.expansions, country->goal + 1, country->nodes,
             stir_names[stir], (unsigned long long)tp_test_seed());
    struct tp_tick_reply reply;
    do {
        if (stir != STIR_NOTHING)
            stir_up(&play, &plain, country, stir);
        reply = play_tick(&play, NULL);
    } while (reply.status != TP_STATUS_ARRIVED && play.ticks < most);
    PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "on %u of %u, status %d, more than %llu ticks",
             play.cell, play.goal, (int)reply.status, (unsigned long long)most);
    uint64_t ticks = play.ticks;
    play_close(&play);
    plain_graph_fini(&plain);
    return ticks;
}

/* Eager promises nothing where all changes all the time; nor can an agent that learns keep what it learned when a cost fell. */
static bool promises(const struct tp_algorithm *row, enum tp_restart rule, enum stir stir)
{
    if (rule >= TP_RESTART_LAZY)
        return row_can(row, TP_CAN_RESTART_BY_RULE);
    return stir <= STIR_SAME || (rule != TP_RESTART_EAGER && !row_walks_to_learn(row));
}

/* By the lazy rule what falls may promise a shorter way, and does so at each step: never without the agent being nearer. */
static uint64_t ticks_allowed(enum tp_restart rule, enum stir stir, uint64_t quiet, uint32_t steps)
{
    return rule == TP_RESTART_LAZY && stir > STIR_SAME ? 4 * quiet * steps : 4 * quiet + 100;
}

START_TEST(what_does_not_concern_an_agent_keeps_it_from_nothing)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t cases = tp_test_steps(4, 200);
    for (uint64_t i = 0; i < cases; i++) {
        struct country country;
        country_init(&country, &rng, row_walks_to_learn(row) || i % 2);
        const struct tp_budget budgets[] = {
            tp_budget_k(tp_test_between(&rng, 1, 5)), tp_budget_r(100, 900, 10),
            tp_budget_r(tp_test_between(&rng, 2, 6), 500, tp_test_between(&rng, 2, 10))};
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.goal = country.goal;
        for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++)
            for (int rule = TP_RESTART_DEFAULT; rule <= TP_RESTART_ON_RISE; rule++) {
                if (!promises(row, (enum tp_restart)rule, STIR_NOTHING))
                    continue;
                params.restart = (enum tp_restart)rule;
                params.budget = budgets[b];
                uint64_t quiet = ticks_to_goal(&country, &params, STIR_NOTHING, 100000);
                enum tp_restart by = rule ? (enum tp_restart)rule : (enum tp_restart)row->restart;
                for (enum stir stir = STIR_SAME; stir < STIRS; stir++)
                    if (promises(row, by, stir))
                        ticks_to_goal(&country, &params, stir, ticks_allowed(by, stir, quiet, country.goal));
            }
        tp_map_unref(country.map);
    }
}
END_TEST

static Suite *elsewhere_suite(void)
{
    Suite *suite = suite_create("changes_elsewhere");
    TCase *tcase = tcase_create("every row");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
    tcase_add_loop_test(tcase, what_does_not_concern_an_agent_keeps_it_from_nothing, 0, row_count());
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_changes_elsewhere", elsewhere_suite);
}
