/* The lazy rule where costs fall all the time, with so few expansions a tick that a search takes many ticks: each fall promises a
 * shorter way by h, and none is there. A search is finished all the same, and the agent gets where it wants to go. Every tick
 * is watched (tests/lib/play.h). */
#include "tests/lib/play.h"

#include <string.h>

/* Walls of three columns with a gap, at the bottom and at the top in turn: what opens inside of them leads nowhere. */
enum { WIDTH = 35, HEIGHT = 18, GAP = 2, WALLS = 3, BETWEEN = 9, FIRST = 6, INSIDE = HEIGHT - GAP - 2 };

static uint32_t middle_of(uint32_t wall)
{
    return FIRST + wall * BETWEEN + 1;
}

/* The top cell that a wall is closed at. */
static uint32_t top_of(uint32_t wall)
{
    return wall % 2 ? GAP : 0;
}

static struct tp_map *comb(void)
{
    struct tp_map *map = tp_test_map_free(WIDTH, HEIGHT);
    for (uint32_t wall = 0; wall < WALLS; wall++)
        tp_test_set_rect(&map, middle_of(wall) - 1, top_of(wall), 3, HEIGHT - GAP, '@');
    return map;
}

/* One cell inside of each wall opens, and the one that was open closes. */
static void stir(struct play *play, uint32_t turn)
{
    struct tp_change changes[2 * WALLS];
    for (uint32_t wall = 0; wall < WALLS; wall++) {
        struct tp_change change = {.kind = TP_CHANGE_CELL,
                                   .class_to = '@',
                                   .x = middle_of(wall),
                                   .y = top_of(wall) + 1 + turn % INSIDE};
        changes[2 * wall] = change;
        change.y = top_of(wall) + 1 + (turn + 1) % INSIDE;
        change.class_to = '.';
        changes[2 * wall + 1] = change;
    }
    play_apply(play, changes, 2 * WALLS);
}

static bool takes_rules(const struct tp_algorithm *row)
{
    return row->capabilities & TP_CAN_RESTART_BY_RULE;
}

static const struct tp_budget budgets[] = {
    {.kind = TP_BUDGET_K, .expansions = 1, .c = 10, .expansions_max = UINT64_MAX},
    {.kind = TP_BUDGET_K, .expansions = 2, .c = 10, .expansions_max = UINT64_MAX},
    {.kind = TP_BUDGET_K, .expansions = 3, .c = 10, .expansions_max = UINT64_MAX},
    {.kind = TP_BUDGET_K, .expansions = 4, .c = 10, .expansions_max = UINT64_MAX},
    {.kind = TP_BUDGET_K, .expansions = 40, .c = 10, .expansions_max = UINT64_MAX},
    {.kind = TP_BUDGET_K, .expansions = TP_BUDGET_UNLIMITED, .c = 10, .expansions_max = UINT64_MAX},
    {.kind = TP_BUDGET_R, .expansions = 4, .r_milli = 900, .c = 10, .expansions_max = UINT64_MAX},
};

/* Arrives within a bounded number of searches, each of which expands the map's cells at most once, and walks. */
static void opens_all_the_time(const struct tp_algorithm *row, const struct tp_budget *budget,
                               uint32_t w_milli, uint32_t every)
{
    struct tp_map *map = comb();
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.w_milli = row->capabilities & TP_CAN_TAKE_W ? w_milli : 1000;
    params.restart = TP_RESTART_LAZY;
    params.budget = *budget;
    params.start = 2 * WIDTH + 2;
    params.goal = 9 * WIDTH + WIDTH - 2;
    struct play play;
    play_open(&play, &params, map);
    snprintf(play.label, sizeof play.label, "%s, w %u, budget %d of %llu, a change every %u ticks", row->name,
             params.w_milli, (int)budget->kind, (unsigned long long)budget->expansions, every);
    struct tp_tick_reply reply = {0};
    for (uint32_t tick = 0; tick < 20000 && reply.status != TP_STATUS_ARRIVED; tick++) {
        reply = play_tick(&play, NULL);
        PLAY_SAY(&play, reply.status != TP_STATUS_UNREACHABLE, "there is a way");
        if (tick % every == 0)
            stir(&play, tick / every);
    }
    PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "it never arrives: %llu restarts",
             (unsigned long long)play.stats.restarts);
    play_close(&play);
    tp_map_unref(map);
}

START_TEST(agents_arrive_whatever_opens)
{
    static const uint32_t weights[] = {1000, 1800, 5000};
    for (size_t row = 0; tp_algorithm_at(row); row++)
        for (size_t w = 0; w < 3 && takes_rules(tp_algorithm_at(row)); w++)
            for (uint32_t every = 1; every <= 7; every += 3)
                opens_all_the_time(tp_algorithm_at(row), &budgets[_i], weights[w], every);
}
END_TEST

/* A road there and back, and an edge far off that gets cheaper and dearer: without coordinates h is 0, so that each fall seems
 * to shorten the way. */
static void edges_fall_all_the_time(const struct tp_algorithm *row, const struct tp_budget *budget)
{
    enum { NODES = 60, ROAD = 40 };
    struct tp_graph_edge edges[2 * NODES];
    size_t count = 0;
    for (uint32_t i = 0; i + 1 < NODES; i++) {
        edges[count++] = (struct tp_graph_edge){i, i + 1, 10};
        edges[count++] = (struct tp_graph_edge){i + 1, i, 10};
    }
    struct tp_map *map = tp_test_map_graph(NODES, edges, count, NULL, NULL);
    struct plain_graph plain;
    plain_graph_init(&plain, NODES, edges, count);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.restart = TP_RESTART_LAZY;
    params.budget = *budget;
    params.start = 0;
    params.goal = ROAD;
    struct play play;
    play_open_graph(&play, &params, map, &plain, NULL);
    snprintf(play.label, sizeof play.label, "%s, budget %d of %llu, an edge changes every tick", row->name,
             (int)budget->kind, (unsigned long long)budget->expansions);
    struct tp_tick_reply reply = {0};
    for (uint32_t tick = 0; tick < 4000 && reply.status != TP_STATUS_ARRIVED; tick++) {
        reply = play_tick(&play, NULL);
        struct tp_change change = {.kind = TP_CHANGE_EDGE, .x = (uint32_t)count - 1, .y = tick % 2 ? 1 : 9};
        plain_graph_set_edge(&plain, change.x, change.y);
        play_apply(&play, &change, 1);
    }
    PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "it never arrives: %llu restarts",
             (unsigned long long)play.stats.restarts);
    play_close(&play);
    tp_map_unref(map);
    plain_graph_fini(&plain);
}

START_TEST(agents_arrive_whatever_edges_fall)
{
    for (size_t row = 0; tp_algorithm_at(row); row++)
        if (takes_rules(tp_algorithm_at(row)))
            edges_fall_all_the_time(tp_algorithm_at(row), &budgets[_i]);
}
END_TEST

static Suite *lazy_suite(void)
{
    Suite *suite = suite_create("lazy_rule");
    TCase *tcase = tcase_create("falls all the time");
    int count = sizeof budgets / sizeof *budgets;
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, agents_arrive_whatever_opens, 0, count);
    tcase_add_loop_test(tcase, agents_arrive_whatever_edges_fall, 0, count);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_lazy_rule", lazy_suite);
}
