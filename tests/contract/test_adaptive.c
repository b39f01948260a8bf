/* What the adaptive rule costs (node/nodes.h): every h it raises is in the reply of the tick that raised it, and under R is
 * paid from that tick's purse. h is read from inside the session. */
#include "tests/lib/mind.h"
#include "tests/lib/play.h"
#include "tests/lib/random_spaces.h"

#include <stdio.h>
#include <string.h>

enum { SIDE_MAX = 40 };

static const char *const names[] = {"aastar", "tbaa", "rtaa", "dartaa"};

static tp_cost learned_at(const struct tp_mind *session, uint32_t cell)
{
    const struct tp_search *search = &session->search;
    tp_state state = search->domain->at_cell(search, cell);
    return tp_learned_at(&session->learned, tp_state_x(search, state), tp_state_y(search, state));
}

/* ---- by hand ---- */

/* With a lookahead of one expansion RTAA* raises h of the state it leaves, like LRTA* (tests/unit/test_lrta.c has its h by
 * hand), but when its next search touches it: one tick later. */
START_TEST(each_raise_is_counted_once)
{
    struct tp_map *map = tp_test_map("...@.\n.@@@.\n.....");
    struct play plays[2];
    for (int i = 0; i < 2; i++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find(i ? "rtaa" : "lrta");
        params.neighbours = TP_NEIGHBOURS_4;
        params.start = 2;
        params.goal = 4;
        params.budget = tp_budget_k(1);
        play_open(&plays[i], &params, map);
    }
    uint64_t raised = 0, total = 0;
    struct tp_tick_reply at_once, lazily;
    do {
        at_once = play_tick(&plays[0], NULL);
        lazily = play_tick(&plays[1], NULL);
        ck_assert_uint_eq(lazily.to, at_once.to);
        ck_assert_uint_eq(lazily.work.learned, raised);
        raised = at_once.work.learned;
        total += raised;
    } while (at_once.status != TP_STATUS_ARRIVED);
    ck_assert_uint_gt(total, 8);
    play_close(&plays[0]);
    play_close(&plays[1]);
    tp_map_unref(map);
}
END_TEST

/* ---- lives of all kinds ---- */

static struct tp_map *random_map(struct tp_test_rng *rng)
{
    uint32_t width = tp_test_between(rng, 4, SIDE_MAX), height = tp_test_between(rng, 4, SIDE_MAX);
    static uint8_t cells[SIDE_MAX * SIDE_MAX];
    uint32_t percent = tp_test_between(rng, 10, 40);
    for (uint32_t i = 0; i < width * height; i++)
        cells[i] = tp_test_percent(rng, percent) ? '@' : '.';
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile, 1), 0);
    return map;
}

static struct tp_budget some_budget(struct tp_test_rng *rng)
{
    uint32_t most = tp_test_percent(rng, 30) ? 4 : 120;
    return tp_test_percent(rng, 20) ? tp_budget_k(tp_test_between(rng, 1, most))
                                    : tp_budget_r(tp_test_between(rng, 1, most), tp_test_below(rng, 1001),
                                                  tp_test_between(rng, 1, 12));
}

static struct tp_session_params some_params(struct tp_test_rng *rng, const char *name,
                                            const struct tp_map *map)
{
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(name);
    params.neighbours = neighbours[tp_test_below(rng, 3)];
    params.start = space_cell(rng, map, true);
    params.goal = space_cell(rng, map, true);
    params.knowledge = tp_test_percent(rng, 60) ? TP_KNOWLEDGE_FREESPACE : TP_KNOWLEDGE_FULL;
    params.stamp_max = tp_test_percent(rng, 25) ? tp_test_between(rng, 2, 5) : 0;
    params.budget = some_budget(rng);
    return params;
}

/* Ticks once; the h raised in that tick must be booked (more may be: some are forgotten in the same tick, or raised twice). */
static struct tp_tick_reply tick(struct play *play)
{
    static tp_cost before[SIDE_MAX * SIDE_MAX];
    uint32_t cells = play->map->width * play->map->height;
    for (uint32_t cell = 0; cell < cells; cell++)
        before[cell] = learned_at(mind_of(play->session), cell);
    struct tp_tick_reply reply = play_tick(play, NULL);
    uint64_t raised = 0;
    for (uint32_t cell = 0; cell < cells; cell++)
        raised += learned_at(mind_of(play->session), cell) > before[cell];
    PLAY_SAY(play, raised <= reply.work.learned, "%llu h were raised, %llu booked",
             (unsigned long long)raised, (unsigned long long)reply.work.learned);
    return reply;
}

/* play_tick itself holds expansions, updates and steps of a tick against R. */
START_TEST(updates_are_booked_and_paid)
{
    const char *name = names[_i];
    struct tp_test_rng rng = tp_test_rng(name);
    uint64_t cases = tp_test_steps(60, 1500), total = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_map *map = random_map(&rng);
        struct tp_session_params params = some_params(&rng, name, map);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label,
                 "case %llu of %s (%ux%u, %u to %u, n %d, %s %llu, c %u; TICKPATH_SEED=%llu)",
                 (unsigned long long)i, name, map->width, map->height, params.start, params.goal,
                 (int)params.neighbours, params.budget.kind == TP_BUDGET_K ? "k" : "R",
                 (unsigned long long)params.budget.expansions, params.budget.c,
                 (unsigned long long)tp_test_seed());
        bool changes = tp_test_percent(&rng, 30);
        for (int t = 0; t < 200; t++) {
            if (changes && tp_test_percent(&rng, 10))
                play_set(&play, tp_test_below(&rng, map->width), tp_test_below(&rng, map->height),
                         tp_test_percent(&rng, 80) ? '@' : '.');
            if (changes && tp_test_percent(&rng, 2))
                play_retarget(&play, space_cell(&rng, play.map, true));
            struct tp_tick_reply reply = tick(&play);
            PLAY_SAY(&play, !(reply.flags & TP_FLAG_NODE_CAP), "NODE_CAP, where only the purse was empty");
        }
        total += play.stats.learned;
        play_close(&play);
        tp_map_unref(map);
    }
    ck_assert_uint_ge(total, cases);
}
END_TEST

/* However small the purse: what has to be learned first is learned over some ticks, and the agent goes on. */
START_TEST(the_smallest_purse_is_enough)
{
    struct tp_map *map = tp_test_map("............\n"
                                     ".@@@@@@@@@@.\n"
                                     ".@........@.\n"
                                     ".@.@@@@@@@@.\n"
                                     ".@........@.\n"
                                     ".@@@@@@@@.@.\n"
                                     "............\n");
    for (uint32_t c = 1; c <= 100; c *= 10) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find(names[_i]);
        params.start = 2 * 12 + 9;
        params.goal = 0;
        params.knowledge = TP_KNOWLEDGE_FREESPACE;
        params.budget = tp_budget_r(1, 500, c);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "%s, R 1, c %u", names[_i], c);
        struct tp_tick_reply reply;
        uint64_t ticks = 0;
        do
            reply = tick(&play);
        while (reply.status != TP_STATUS_ARRIVED && ++ticks < 200000);
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "on %u", reply.to);
        PLAY_SAY(&play, play.stats.learned > 0, "nothing learned");
        play_close(&play);
    }
    tp_map_unref(map);
}
END_TEST

/* A stamp that wraps changes nothing, neither what is learned nor when. */
START_TEST(a_wrapped_stamp_changes_nothing)
{
    const char *name = names[_i];
    struct tp_test_rng rng = tp_test_rng("stamps");
    uint64_t cases = tp_test_steps(20, 500);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_map *map = random_map(&rng);
        struct tp_session_params params = some_params(&rng, name, map);
        struct play plays[2];
        for (int wraps = 0; wraps < 2; wraps++) {
            params.stamp_max = wraps ? tp_test_between(&rng, 2, 6) : 0;
            play_open(&plays[wraps], &params, map);
            snprintf(plays[wraps].label, sizeof plays[wraps].label, "case %llu of %s; TICKPATH_SEED=%llu",
                     (unsigned long long)i, name, (unsigned long long)tp_test_seed());
        }
        for (int t = 0; t < 150; t++) {
            struct tp_tick_reply reply = play_tick(&plays[0], NULL), wrapped = play_tick(&plays[1], NULL);
            PLAY_SAY(&plays[1], reply.to == wrapped.to && reply.work.learned == wrapped.work.learned,
                     "to %u of %u, %llu learned of %llu", wrapped.to, reply.to,
                     (unsigned long long)wrapped.work.learned, (unsigned long long)reply.work.learned);
        }
        play_close(&plays[0]);
        play_close(&plays[1]);
        tp_map_unref(map);
    }
}
END_TEST

/* An agent that goes to and fro for ever: what is remembered of former searches is bounded by what was searched, and counted. */
START_TEST(former_searches_take_bounded_memory)
{
    struct tp_map *map = tp_test_map_free(SIDE_MAX, SIDE_MAX);
    for (int shut = 0; shut < 2; shut++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find(names[_i]);
        params.restart = shut ? TP_RESTART_EAGER : TP_RESTART_DEFAULT;
        params.start = 0;
        params.goal = SIDE_MAX * SIDE_MAX - 1;
        params.budget = tp_budget_r(20, 900, 10);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label, "%s to and fro, %s", names[_i], shut ? "eager" : "a still map");
        const struct tp_nodes_adaptive *adaptive = &mind_of(play.session)->adaptive;
        uint64_t peak = 0, searches = 0;
        uint32_t before = 0;
        for (uint32_t tick = 0; tick < 6000; tick++) {
            if (shut)
                play_set(&play, SIDE_MAX - 1, 0, tick % 2 ? '@' : '.');
            if (play_tick(&play, NULL).status == TP_STATUS_ARRIVED)
                play_retarget(&play, play.cell ? 0 : params.goal);
            uint32_t stamp = mind_of(play.session)->search.nodes.tiles.stamp;
            searches += stamp != before;
            before = stamp;
            PLAY_SAY(&play, adaptive->stamps <= adaptive->tiles + 1 && adaptive->room < adaptive->tiles + 2 + TP_TILE_CELLS,
                     "%u stamps for %u tiles", adaptive->stamps, adaptive->tiles);
            if (tick == 3000)
                peak = play.stats.bytes;
        }
        PLAY_SAY(&play, searches > 100 || !shut, "%llu searches", (unsigned long long)searches);
        PLAY_SAY(&play, play.stats.bytes == peak, "%llu bytes, then %llu", (unsigned long long)peak,
                 (unsigned long long)play.stats.bytes);
        play_close(&play); /* all bytes counted were put back */
    }
    tp_map_unref(map);
}
END_TEST

static Suite *adaptive_suite(void)
{
    Suite *suite = suite_create("adaptive");
    TCase *tcase = tcase_create("every row");
    tcase_set_timeout(tcase, 120);
    int rows = (int)(sizeof names / sizeof *names);
    tcase_add_test(tcase, each_raise_is_counted_once);
    tcase_add_loop_test(tcase, updates_are_booked_and_paid, 0, rows);
    tcase_add_loop_test(tcase, the_smallest_purse_is_enough, 0, rows);
    tcase_add_loop_test(tcase, former_searches_take_bounded_memory, 0, rows);
    tcase_add_loop_test(tcase, a_wrapped_stamp_changes_nothing, 0, rows);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_adaptive", adaptive_suite);
}
