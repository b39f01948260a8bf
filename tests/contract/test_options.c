/* What the options of a session promise beyond legality: a shortcut never costs more, an eager restart
 * forgets at every change, a goal that moves a little keeps the search, an agent where it is thought to be
 * changes nothing. */
#include "tests/lib/random_sessions.h"

#include <stdio.h>
#include <string.h>

static const struct tp_algorithm *row;

static bool can(enum tp_capability capability)
{
    return row->capabilities & capability;
}

/* A random map and a start and a goal joined on it. */
static struct tp_map *joined_map(struct tp_test_rng *rng, struct tp_session_params *params)
{
    for (;;) {
        struct tp_map *map = tp_test_map_random(rng, tp_test_between(rng, 8, 90), tp_test_between(rng, 8, 90),
                                                tp_test_between(rng, 0, 35));
        if (map->passable_cells) {
            params->start = tp_test_free_cell(rng, map);
            params->goal = tp_test_free_cell(rng, map);
            struct play play;
            play_open(&play, params, map);
            bool joined = play_reachable(&play);
            play_close(&play);
            if (joined && params->start != params->goal)
                return map;
        }
        tp_map_unref(map);
    }
}

static uint64_t cost_of(const struct tp_session_params *params, const struct tp_map *map, const char *label)
{
    struct play play;
    play_open(&play, params, map);
    snprintf(play.label, sizeof play.label, "%s", label);
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 100000);
    ck_assert_msg(reply.status == TP_STATUS_ARRIVED, "%s: status %d", label, (int)reply.status);
    play_close(&play);
    return reply.cost;
}

/* ---- shortcut (2009, section 3.4) ---- */

static void carve(struct tp_map **map, uint32_t x, uint32_t y, uint32_t width, uint32_t height)
{
    tp_test_set_rect(map, x, y, width, height, '.');
}

/* Two corridors down to the goal, joined at their tops, where the way is slanted, and by a passage half-way.
 * The left one leads straight at the goal and ends in a room beside it; while the room is searched the agent
 * walks down. The path found is the right one, from the top: back all the way, or back to the passage and
 * across. */
static struct tp_map *corridors(struct tp_session_params *params, uint32_t passage)
{
    enum { WIDTH = 36, HEIGHT = 60, LEFT = 20, SLANT = 14 };
    struct tp_map *map = tp_test_map_free(WIDTH, HEIGHT);
    tp_test_set_rect(&map, 0, 0, WIDTH, HEIGHT, '@');
    carve(&map, LEFT, 0, 1, 53);                             /* left corridor */
    carve(&map, 0, 34, LEFT + 1, 19);                        /* room */
    carve(&map, LEFT, passage, SLANT, 1);                    /* passage */
    carve(&map, LEFT + SLANT, SLANT, 1, HEIGHT - 2 * SLANT); /* right corridor */
    for (uint32_t i = 0; i < SLANT; i++) {
        carve(&map, LEFT + i, i, 2, 2);
        carve(&map, LEFT + i, HEIGHT - 2 - i, 2, 2);
    }
    tp_session_params_init(params);
    params->algorithm = tp_algorithm_find("tba");
    params->start = LEFT;
    params->goal = (HEIGHT - 1) * WIDTH + LEFT;
    return map;
}

START_TEST(a_shortcut_is_found_through_a_passage)
{
    struct tp_session_params params;
    struct tp_map *map = corridors(&params, 20);
    bool better = false;
    for (uint64_t R = 4; R <= 60; R += 2) {
        params.budget = tp_budget_r(R, 500, 10);
        params.shortcut = false;
        uint64_t without = cost_of(&params, map, "two corridors");
        params.shortcut = true;
        uint64_t with = cost_of(&params, map, "two corridors with shortcut");
        ck_assert_msg(with <= without, "R %llu: %llu with the shortcut, %llu without", (unsigned long long)R,
                      (unsigned long long)with, (unsigned long long)without);
        better |= with + 20 * TP_COST_UNIT < without;
    }
    ck_assert_msg(better, "no R made use of the shortcut");
    tp_map_unref(map);
}
END_TEST

/* A version a tick, each ended as soon as the next is there, none of them of any concern to the agent: the same walk
 * as on the map that stays. */
START_TEST(a_shortcut_goes_on_in_the_next_version)
{
    struct tp_session_params params;
    struct tp_map *map = corridors(&params, 20);
    params.shortcut = true;
    for (uint64_t R = 2; R <= 60; R++) {
        params.budget = tp_budget_r(R, 500, 10);
        uint64_t staying = cost_of(&params, map, "two corridors that stay");
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "R %llu, a version a tick", (unsigned long long)R);
        struct tp_tick_reply reply;
        do {
            play_set(&play, 0, 0, play.ticks % 2 ? '@' : 'O');
            reply = play_tick(&play, NULL);
        } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 100000);
        ck_assert_msg(reply.status == TP_STATUS_ARRIVED && reply.cost == staying, "%s: cost %llu, not %llu",
                      play.label, (unsigned long long)reply.cost, (unsigned long long)staying);
        play_close(&play);
    }
    tp_map_unref(map);
}
END_TEST

/* The goal moves to the cell beside it, at each moment of the walk once: an agent that walks a shortcut stands outside
 * the tree then, and still arrives. */
START_TEST(a_goal_may_move_while_a_shortcut_is_walked)
{
    struct tp_session_params params;
    struct tp_map *map = corridors(&params, 20);
    params.shortcut = true;
    for (uint64_t R = 4; R <= 60; R += 4) {
        params.budget = tp_budget_r(R, 500, 10);
        bool arrived = false;
        for (uint64_t moment = 1; !arrived; moment++) {
            struct play play;
            play_open(&play, &params, map);
            snprintf(play.label, sizeof play.label, "R %llu, the goal moves after tick %llu", (unsigned long long)R,
                     (unsigned long long)moment);
            arrived = play_until_settled(&play, NULL, moment).status == TP_STATUS_ARRIVED;
            play_retarget(&play, params.goal + 1);
            struct tp_tick_reply reply = play_until_settled(&play, NULL, 5000);
            ck_assert_msg(reply.status == TP_STATUS_ARRIVED, "%s: status %d", play.label, (int)reply.status);
            play_close(&play);
        }
    }
    tp_map_unref(map);
}
END_TEST

/* On random maps the agent hardly ever is off the path once that reaches the goal, and on most of those walks back there is
 * nothing to be gained (2009, section 4.3: off it in 5 % of the cases). A third of the cases are corridors, with the passage anywhere
 * down to the room, where there is. */
START_TEST(a_shortcut_never_costs_more)
{
    row = tp_algorithm_at((size_t)_i);
    if (!can(TP_CAN_ENHANCE_2009))
        return;
    struct tp_test_rng rng = tp_test_rng("shortcut");
    uint64_t cases = tp_test_steps(60, 1000), better[2] = {0};
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.neighbours = tp_test_percent(&rng, 60) ? TP_NEIGHBOURS_8 : TP_NEIGHBOURS_4;
        bool corridor = i % 3 == 2;
        struct tp_map *map = corridor ? corridors(&params, tp_test_between(&rng, 15, 33)) : joined_map(&rng, &params);
        params.budget = tp_test_percent(&rng, 70) ? tp_budget_r(tp_test_between(&rng, 2, 60), 500, 10)
                                                  : tp_budget_k(tp_test_between(&rng, 1, 60));
        char label[160];
        snprintf(label, sizeof label, "case %llu, n %d, %c %llu (TICKPATH_SEED=%llu)", (unsigned long long)i,
                 (int)params.neighbours, params.budget.kind == TP_BUDGET_K ? 'k' : 'R',
                 (unsigned long long)params.budget.expansions, (unsigned long long)tp_test_seed());
        uint64_t without = cost_of(&params, map, label);
        params.shortcut = true;
        uint64_t with = cost_of(&params, map, label);
        ck_assert_msg(with <= without, "%s: %llu with the shortcut, %llu without", label,
                      (unsigned long long)with, (unsigned long long)without);
        better[corridor] += with < without;
        tp_map_unref(map);
    }
    printf("the shortcut paid on %llu random maps and in %llu corridors of %llu cases\n", (unsigned long long)better[0],
           (unsigned long long)better[1], (unsigned long long)cases);
    ck_assert_msg(better[1], "no corridor made use of a shortcut (TICKPATH_SEED=%llu)", (unsigned long long)tp_test_seed());
}
END_TEST

/* ---- restart rules ---- */

/* Far away cells change: eager begins anew each time, never does not. */
START_TEST(an_eager_restart_forgets_at_every_change)
{
    row = tp_algorithm_at((size_t)_i);
    for (int eager = 0; eager < 2; eager++) {
        struct tp_map *map = tp_test_map_free(40, 40);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.start = 0;
        params.goal = 39;
        params.restart = eager ? TP_RESTART_EAGER : TP_RESTART_NEVER;
        params.budget = tp_budget_k(30);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "%s %s", row->name, eager ? "eager" : "never");
        play_tick(&play, NULL);
        for (int i = 0; i < 6; i++) {
            play_set(&play, 30, 35, i % 2 ? '.' : '@');
            struct tp_tick_reply reply = play_tick(&play, NULL);
            ck_assert_msg(!(reply.flags & TP_FLAG_RESTARTED) == !eager, "%s: flags %x", play.label,
                          reply.flags);
            ck_assert_msg(!(reply.flags & TP_FLAG_CONTINUED) == !!eager, "%s: flags %x", play.label,
                          reply.flags);
            reply = play_tick(&play, NULL);
            ck_assert_msg(!(reply.flags & (TP_FLAG_RESTARTED | TP_FLAG_CONTINUED)), "%s: flags %x, no change",
                          play.label, reply.flags);
        }
        ck_assert_uint_eq(play.stats.restarts, eager ? 6 : 0);
        ck_assert_int_eq(play_until_settled(&play, NULL, 400).status, TP_STATUS_ARRIVED);
        play_close(&play);
        tp_map_unref(map);
    }
}
END_TEST

/* ---- goals that move, agents that stand where they are thought to ---- */

/* A goal that moves one cell at a time keeps the search; once it stands still the agent gets there. One that is led may find a better
 * way meanwhile. */
START_TEST(a_goal_that_moves_a_little_keeps_the_search)
{
    row = tp_algorithm_at((size_t)_i);
    bool is_led = row->capabilities & TP_CAN_BE_GUIDED;
    struct tp_test_rng rng = tp_test_rng("little moves");
    uint64_t cases = tp_test_steps(60, 1000);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.budget = tp_budget_k(tp_test_between(&rng, 1, 25));
        struct tp_map *map = joined_map(&rng, &params);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "case %llu of %s (TICKPATH_SEED=%llu)", (unsigned long long)i,
                 row->name, (unsigned long long)tp_test_seed());
        play_tick(&play, NULL);
        for (int step = 0; step < 8 && play.cell == params.start; step++) {
            uint32_t width = map->width, x = play.goal % width, y = play.goal / width;
            x = tp_test_percent(&rng, 50) && x + 1 < width ? x + 1 : x > 0 ? x - 1 : x;
            if (tp_map_passable(map, x, y) && y * width + x != play.cell)
                play_retarget(&play, y * width + x);
            struct tp_tick_reply reply = play_tick(&play, NULL);
            ck_assert_msg(is_led || !(reply.flags & TP_FLAG_RESTARTED), "%s: restarted", play.label);
        }
        bool joined = play_reachable(&play);
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 100000);
        ck_assert_msg(!joined || reply.status == TP_STATUS_ARRIVED, "%s: status %d", play.label,
                      (int)reply.status);
        ck_assert_msg(is_led || play.stats.restarts == 0, "%s: %llu restarts", play.label,
                      (unsigned long long)play.stats.restarts);
        play_close(&play);
        tp_map_unref(map);
    }
}
END_TEST

START_TEST(an_agent_where_it_is_thought_to_be_changes_nothing)
{
    row = tp_algorithm_at((size_t)_i);
    struct tp_test_rng rng = tp_test_rng("where it is");
    uint64_t cases = tp_test_steps(30, 600);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        struct tp_map *map = joined_map(&rng, &params);
        params.budget = tp_test_percent(&rng, 50) ? tp_budget_r(tp_test_between(&rng, 2, 40), 500, 5)
                                                  : tp_budget_k(tp_test_between(&rng, 1, 40));
        uint64_t hash[2];
        for (int told = 0; told < 2; told++) {
            struct play play;
            play_open(&play, &params, map);
            struct tp_tick_reply reply;
            do {
                if (told)
                    play_at(&play, play.cell);
                reply = play_tick(&play, NULL);
            } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 20000);
            if (!(row->capabilities & TP_CAN_BE_GUIDED)) /* those begin anew by a better way */
                ck_assert_uint_eq(play.stats.restarts, 0);
            hash[told] = play.hash;
            play_close(&play);
        }
        ck_assert_msg(hash[0] == hash[1], "case %llu of %s (TICKPATH_SEED=%llu)", (unsigned long long)i,
                      row->name, (unsigned long long)tp_test_seed());
        tp_map_unref(map);
    }
}
END_TEST

static Suite *options_suite(void)
{
    Suite *suite = suite_create("options");
    TCase *tcase = tcase_create("options");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 120);
    int rows = row_count();
    tcase_add_test(tcase, a_shortcut_is_found_through_a_passage);
    tcase_add_test(tcase, a_shortcut_goes_on_in_the_next_version);
    tcase_add_test(tcase, a_goal_may_move_while_a_shortcut_is_walked);
    tcase_add_loop_test(tcase, a_shortcut_never_costs_more, 0, rows);
    tcase_add_loop_test(tcase, an_eager_restart_forgets_at_every_change, 0, rows);
    tcase_add_loop_test(tcase, a_goal_that_moves_a_little_keeps_the_search, 0, rows);
    tcase_add_loop_test(tcase, an_agent_where_it_is_thought_to_be_changes_nothing, 0, rows);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_options", options_suite);
}
