/* Steadiness (search/steady.c): the switch margin by plain sums, waits instead of back-moves, flips by
 * what the agent did, and the loop detector on made walks and where agents come to walk in circles by themselves. Every tick
 * is watched (tests/lib/play.h), LOOPING among it. */
#include "tests/lib/mind.h"
#include "tests/lib/play.h"

#include <stdio.h>
#include <string.h>

enum { SOME = 30 }; /* fewer may be chance */

static bool takes_options(const struct tp_algorithm *row)
{
    return row->engine == &tp__engine_time_bounded;
}

/* A map with a free start and goal that are joined. */
static struct tp_map *joined_map(struct tp_test_rng *rng, uint32_t side, uint32_t percent, struct tp_session_params *params)
{
    for (;;) {
        struct tp_map *map = tp_test_map_random(rng, side, side, percent);
        params->start = tp_test_below(rng, side * side);
        params->goal = tp_test_below(rng, side * side);
        struct play play;
        play_open(&play, params, map);
        bool good = play.plain.weight[params->start] && play.plain.weight[params->goal] && play_reachable(&play);
        play_close(&play);
        if (good && params->start != params->goal)
            return map;
        tp_map_unref(map);
    }
}

static void name_play(struct play *play, const char *test, uint64_t number)
{
    snprintf(play->label, sizeof play->label, "%s, case %llu of %s, budget %d of %llu, margin %u, pause %d (TICKPATH_SEED=%llu)",
             test, (unsigned long long)number, play->params.algorithm->name, (int)play->params.budget.kind,
             (unsigned long long)play->params.budget.expansions, play->params.switch_margin_milli,
             play->params.pause_on_backtrack, (unsigned long long)tp_test_seed());
}

static uint64_t promised(const struct tp_mind *session, tp_state end)
{
    return tp_search_g(&session->search, end) + tp_search_h_goal(&session->search, end);
}

static bool on(const struct tp_mind *session, const struct tp_tiles *path, tp_state state)
{
    return tp_marks_at(path, tp_state_x(&session->search, state), tp_state_y(&session->search, state)) != TP_MARK_NONE;
}

/* ---- the switch margin and flips, under k, where each tick traces one path whole ---- */

START_TEST(a_path_is_left_by_the_margin_alone)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (!takes_options(row))
        return;
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t taken = 0, kept = 0, flips[2] = {0}, cases = tp_test_steps(24, 400);
    for (uint64_t i = 0; i < cases; i++) {
        static const uint32_t margins[] = {1, 50, 500, 10000};
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.budget = tp_budget_k(tp_test_between(&rng, 1, 8));
        if (row->capabilities & TP_CAN_BE_GUIDED)
            params.guide_units = 0; /* what a path promises may change with the guide */
        struct tp_map *map = joined_map(&rng, 40, 25, &params);
        for (int with = 0; with < 2; with++) {
            params.switch_margin_milli = with ? margins[i % 4] : 0;
            struct play play;
            play_open(&play, &params, map);
            name_play(&play, "margin", i);
            mind_kept(play.session)->branches = false; /* else a path's marks stay where they are */
            const struct tp_mind *session = play.session->mind;
            struct tp_tick_reply reply;
            do {
                struct tp_trace old = session->trace;
                tp_state at = session->at, before = session->at_before;
                uint8_t next = tp__trace_next(session);
                tp_state on_from = next == TP_MOVE_NONE ? TP_STATE_NONE : tp_search_move(&session->search, at, next);
                bool had_path = session->search.active && old.follow_end != TP_STATE_NONE && !session->path_complete;
                reply = play_tick(&play, NULL);
                const struct tp_trace *trace = &session->trace;
                bool follows_another = trace->follow.top != old.follow.top;
                if (!had_path || reply.flags & TP_FLAG_RESTARTED)
                    continue;
                PLAY_SAY(&play, reply.flips == (follows_another && on_from != TP_STATE_NONE && session->at != on_from),
                         "%u flips", reply.flips);
                if (!with)
                    continue;
                /* the old path's marks and the fresh one's have changed places where it was taken */
                tp_state end = follows_another ? trace->follow_end : trace->fresh_end;
                if (end == TP_STATE_NONE)
                    continue;
                const struct tp_tiles *fresh = follows_another ? &trace->follow : &trace->fresh;
                const struct tp_tiles *followed = follows_another ? &trace->fresh : &trace->follow;
                bool wanted = session->path_complete || at == old.follow_end || before == old.follow_end ||
                              (!on(session, followed, at) && on(session, fresh, at)) ||
                              promised(session, end) * (1000 + params.switch_margin_milli) <
                                  promised(session, old.follow_end) * 1000;
                PLAY_SAY(&play, wanted == follows_another, "a path of %llu for one of %llu %s",
                         (unsigned long long)promised(session, old.follow_end), (unsigned long long)promised(session, end),
                         wanted ? "is not taken" : "is taken");
                taken += wanted && !session->path_complete;
                kept += !wanted;
            } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 20000);
            PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "never arrived");
            flips[with] += play.stats.flips;
            play_close(&play);
        }
        tp_map_unref(map);
    }
    printf("%s: %llu paths taken, %llu kept; %llu flips, %llu with a margin\n", row->name, (unsigned long long)taken,
           (unsigned long long)kept, (unsigned long long)flips[0], (unsigned long long)flips[1]);
    ck_assert(taken > 0 && kept > 0);
    if (flips[0] > SOME)
        ck_assert_uint_lt(flips[1], flips[0]);
}
END_TEST

/* ---- waits instead of back-moves ---- */

START_TEST(an_agent_that_pauses_moves_back_on_a_complete_path_alone)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (!takes_options(row))
        return;
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t back[2] = {0}, paused[2] = {0}, cases = tp_test_steps(20, 300);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.budget = i % 2 ? tp_budget_k(tp_test_between(&rng, 1, 8)) : tp_budget_r(tp_test_between(&rng, 2, 6), 500, 3);
        struct tp_map *map = joined_map(&rng, 40, 25, &params);
        for (int with = 0; with < 2; with++) {
            params.pause_on_backtrack = with ? TP_PAUSE_ON_BACKTRACK : TP_PAUSE_NEVER;
            struct play play;
            play_open(&play, &params, map);
            name_play(&play, "pause", i);
            struct tp_tick_reply reply;
            do {
                reply = play_tick(&play, NULL);
                paused[with] += reply.status == TP_STATUS_BLOCKED && reply.flags & TP_FLAG_BACK_MOVE;
            } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 20000);
            PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "never arrived");
            back[with] += play.back_moves;
            play_close(&play);
        }
        tp_map_unref(map);
    }
    printf("%s: %llu back-moves; with pauses %llu, and %llu waits\n", row->name, (unsigned long long)back[0],
           (unsigned long long)back[1], (unsigned long long)paused[1]);
    ck_assert(paused[0] == 0 && paused[1] > 0);
    if (back[0] > SOME)
        ck_assert_uint_lt(back[1], back[0]);
}
END_TEST

START_TEST(an_agent_that_pauses_still_learns_that_no_way_is_there)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    if (!takes_options(row))
        return;
    struct tp_map *map = tp_test_map_free(30, 30);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.pause_on_backtrack = TP_PAUSE_ON_BACKTRACK;
    params.switch_margin_milli = 200;
    params.start = 31;
    params.goal = 29 * 30 + 29;
    for (int k = 1; k <= 16; k *= 4) {
        struct play play;
        params.budget = tp_budget_k((uint64_t)k);
        play_open(&play, &params, map);
        name_play(&play, "no way", (uint64_t)k);
        for (uint32_t y = 27; y < 30; y++)
            for (uint32_t x = 27; x < 30; x++)
                if (x == 27 || y == 27)
                    play_set(&play, x, y, '@');
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 20000);
        PLAY_SAY(&play, reply.status == TP_STATUS_UNREACHABLE, "status %d", (int)reply.status);
        play_set(&play, 27, 28, '.');
        reply = play_until_settled(&play, NULL, 20000);
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
        play_close(&play);
    }
    tp_map_unref(map);
}
END_TEST

/* Node 1 lures by its coordinates, and its way back closes behind the agent; the goal is behind a long way round. A purse smaller
 * than the path to node 1 is not spent on tracing that path again and again. */
START_TEST(an_agent_off_its_path_searches_on_with_any_purse)
{
    enum { WAY = 12, NODES = WAY + 5, BACK = WAY + 4 };
    struct tp_graph_edge edges[2 * (NODES + 1)];
    double x[NODES] = {0, 8, 0, 10}, y[NODES] = {0, 0, 1, 0};
    uint32_t ends[NODES + 1][3] = {{0, 1, 8}, {0, 2, 1}};
    size_t pairs = 2;
    for (uint32_t i = 0; i < WAY; i++, pairs++) {
        y[4 + i] = 2 + i;
        memcpy(ends[pairs], (uint32_t[]){i ? 3 + i : 2, 4 + i, 2}, sizeof ends[pairs]);
    }
    x[BACK] = y[BACK] = 4;
    memcpy(ends[pairs++], (uint32_t[]){3 + WAY, 3, 20}, sizeof ends[0]);
    memcpy(ends[pairs++], (uint32_t[]){1, BACK, 6}, sizeof ends[0]);
    memcpy(ends[pairs++], (uint32_t[]){BACK, 0, 6}, sizeof ends[0]);
    for (size_t i = 0; i < pairs; i++) {
        edges[2 * i] = (struct tp_graph_edge){ends[i][0], ends[i][1], ends[i][2]};
        edges[2 * i + 1] = (struct tp_graph_edge){ends[i][1], ends[i][0], ends[i][2]};
    }
    struct tp_map *map = tp_test_map_graph(NODES, edges, 2 * pairs, x, y);
    for (uint64_t R = 1; R <= 6; R++) {
        struct plain_graph plain;
        plain_graph_init(&plain, NODES, edges, 2 * pairs);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("tbwa");
        params.goal = 3;
        params.budget = tp_budget_r(R, 900, 1);
        struct play play;
        play_open_graph(&play, &params, map, &plain, NULL);
        snprintf(play.label, sizeof play.label, "off its path, R %llu", (unsigned long long)R);
        bool closed = false;
        for (uint32_t tick = 0; tick < 1500 && play.cell != play.goal; tick++) {
            play_tick(&play, NULL);
            if (play.cell == 1 && !closed) {
                struct tp_change change = {.kind = TP_CHANGE_EDGE, .x = 1, .y = 0};
                plain_graph_set_edge(&plain, 1, 0);
                play_apply(&play, &change, 1);
                closed = true;
            }
        }
        PLAY_SAY(&play, play.cell == play.goal, "on %u", play.cell);
        play_close(&play);
        plain_graph_fini(&plain);
    }
    tp_map_unref(map);
}
END_TEST

/* Its search can't grow, so that waiting is of no use: the best move so far, which leads to and fro. That is a loop. */
START_TEST(out_of_memory_an_agent_moves_back_and_says_that_it_loops)
{
    struct tp_test_rng rng = tp_test_rng("memory");
    uint64_t back = 0, looping = 0;
    for (uint64_t i = 0; i < 8; i++) {
        struct tp_map *map = tp_test_map_random(&rng, 300, 300, 25);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find(i % 2 ? "tbwa" : "tba");
        params.pause_on_backtrack = TP_PAUSE_ON_BACKTRACK;
        params.start = 150 * 300 + 150;
        params.goal = 300 * 300 - 1;
        params.budget = tp_budget_r(400, 500, 10); /* step by step, a path's marks want for memory too */
        params.node_bytes_max = 30000;
        struct play play;
        play_open(&play, &params, map);
        name_play(&play, "memory", i);
        for (int tick = 0; tick < 300; tick++)
            looping += (play_tick(&play, NULL).flags & TP_FLAG_LOOPING) != 0;
        back += play.back_moves;
        play_close(&play);
        tp_map_unref(map);
    }
    printf("out of memory: %llu back-moves, %llu ticks LOOPING\n", (unsigned long long)back, (unsigned long long)looping);
    ck_assert(back > 0 && looping > 0);
}
END_TEST

/* ---- the loop detector ---- */

/* One tick of a made walk to a state; whether LOOPING was said. */
static bool step_to(struct tp_mind *session, tp_state state)
{
    struct tp_tick_reply reply = {.status = TP_STATUS_MOVING};
    struct tp_tick tick = {.session = session, .reply = &reply};
    tp_state before = session->at;
    session->at = state;
    tp__steady_watch(&tick, before, session->path_complete);
    return reply.flags & TP_FLAG_LOOPING;
}

START_TEST(any_period_is_found_and_none_is_made_up)
{
    static struct tp_mind session;
    for (uint64_t tail = 0; tail < 60; tail += 1 + tail / 8)
        for (uint64_t period = 2; period < 150; period += 1 + period / 16) {
            session.at = 0;
            tp__steady_begin(&session);
            uint64_t said = 0, by = 4 * (tail > 2 * period ? tail : 2 * period) + 2 * period;
            for (uint64_t move = 1; move <= by && !said; move++)
                if (step_to(&session, (tp_state)(move < tail ? move : tail + (move - tail) % period)))
                    said = move;
            ck_assert_msg(said, "period %u behind %u is not found in %u moves", (unsigned)period, (unsigned)tail,
                          (unsigned)by);
            ck_assert_msg(said >= tail + 2 * period, "period %u behind %u is told by move %u", (unsigned)period,
                          (unsigned)tail, (unsigned)said);
        }
    session.at = 0;
    tp__steady_begin(&session);
    for (tp_state state = 1; state < 100000; state++)
        ck_assert(!step_to(&session, state));
    for (int wait = 0; wait < 1000; wait++)
        ck_assert(!step_to(&session, session.at));
}
END_TEST

/* Walks to and fro until it is told. */
static void pace(struct tp_mind *session)
{
    int moves = 0;
    while (!step_to(session, session->at ^ 1))
        ck_assert_int_lt(++moves, 20);
    ck_assert(step_to(session, session->at)); /* it goes on being said while the agent waits, */
    ck_assert(step_to(session, session->at + 2)); /* and where it walks on */
}

START_TEST(a_loop_is_over_when_anything_else_happens)
{
    static struct tp_mind session;
    tp__steady_begin(&session);
    for (int event = 0; event < 6; event++) {
        struct tp_tick_reply reply = {.status = TP_STATUS_MOVING};
        struct tp_tick tick = {.session = &session, .reply = &reply};
        pace(&session);
        switch (event) {
        case 0:
            reply.work.expansions = 1;
            break;
        case 1:
            reply.work.learned = 1;
            break;
        case 2:
            tick.changed = true;
            break;
        case 3:
            reply.status = TP_STATUS_ARRIVED;
            break;
        case 4:
            reply.status = TP_STATUS_UNREACHABLE;
            break;
        default:
            session.path_complete = true;
        }
        tp__steady_watch(&tick, session.at, false);
        ck_assert_msg(!(reply.flags & TP_FLAG_LOOPING), "event %d", event);
        session.path_complete = false;
        ck_assert_msg(!step_to(&session, session.at ^ 1), "event %d", event);
    }
}
END_TEST

/* TBA* with little to trace by: the goal is found, so that nothing is expanded any more, and while its long path is traced the agent
 * paces at the end of the one it has. */
START_TEST(an_agent_that_paces_at_its_path_s_end_says_so)
{
    struct tp_test_rng rng = tp_test_rng("paces");
    uint64_t looping = 0, ended = 0, cases = tp_test_steps(90, 600);
    for (uint64_t i = 0; i < cases || (!looping && i < 20 * cases); i++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("tba");
        params.budget = tp_budget_r(tp_test_between(&rng, 2, 4), 800, 1);
        if (params.budget.expansions < 4)
            params.budget.r_milli = 500;
        struct tp_map *map = joined_map(&rng, 48, 35, &params);
        struct play play;
        play_open(&play, &params, map);
        name_play(&play, "paces", i);
        struct tp_tick_reply reply;
        do {
            reply = play_tick(&play, NULL);
            if (!(reply.flags & TP_FLAG_LOOPING))
                continue;
            PLAY_SAY(&play, !(reply.flags & TP_FLAG_PATH_COMPLETE), "LOOPING on a complete path");
            looping++;
            if (++ended > 12 || !tp_test_percent(&rng, 20))
                continue;
            uint32_t other = play.goal == 0 ? 1 : play.goal - 1;
            switch (ended % 4) {
            case 0:
                play_retarget(&play, other);
                break;
            case 1:
                play_at(&play, params.start);
                break;
            case 2: /* the same again is nothing */
                play_retarget(&play, play.goal);
                play_at(&play, play.cell);
                reply = play_tick(&play, NULL);
                PLAY_SAY(&play, reply.flags & (TP_FLAG_LOOPING | TP_FLAG_PATH_COMPLETE), "the same goal ends a loop");
                continue;
            default:
                play_set(&play, play.cell % 48, play.cell / 48, '.');
                if (play.map->version == reply.version)
                    continue;
            }
            reply = play_tick(&play, NULL);
            PLAY_SAY(&play, !(reply.flags & TP_FLAG_LOOPING), "LOOPING in the next tick");
        } while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE && play.ticks < 40000);
        play_close(&play);
        tp_map_unref(map);
    }
    printf("pacing: %llu ticks LOOPING\n", (unsigned long long)looping);
    ck_assert_uint_gt(looping, 0);
}
END_TEST

START_TEST(a_long_walk_and_a_long_wait_are_no_loop)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    struct tp_map *map = tp_test_map_free(120, 3);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.start = 120;
    params.goal = 120 + 119;
    for (int by_k = 0; by_k < 2; by_k++) {
        params.budget = by_k ? tp_budget_k(TP_BUDGET_UNLIMITED) : tp_budget_r(40, 900, 10);
        struct play play;
        play_open(&play, &params, map);
        name_play(&play, "walk", (uint64_t)by_k);
        for (int tick = 0; tick < 1500; tick++) {
            if (tick == 700) { /* the way is shut, or the goal is */
                play_set(&play, 50, 1, '@');
                play_retarget(&play, 120);
            }
            if (tick == 1000) {
                for (uint32_t y = 0; y < 3; y++)
                    play_set(&play, 60, y, '@');
                play_retarget(&play, 239);
            }
            struct tp_tick_reply reply = play_tick(&play, NULL);
            bool stays = reply.status != TP_STATUS_MOVING, complete = reply.flags & TP_FLAG_PATH_COMPLETE;
            PLAY_SAY(&play, !(reply.flags & TP_FLAG_LOOPING) || (!stays && !complete), "LOOPING, status %d", (int)reply.status);
        }
        play_close(&play);
    }
    tp_map_unref(map);
}
END_TEST

static Suite *steady_suite(void)
{
    int rows = 0;
    while (tp_algorithm_at((size_t)rows))
        rows++;
    Suite *suite = suite_create("steady");
    TCase *tcase = tcase_create("options and loops");
    tcase_set_timeout(tcase, tp_test_long() ? 1800 : 60);
    tcase_add_loop_test(tcase, a_path_is_left_by_the_margin_alone, 0, rows);
    tcase_add_loop_test(tcase, an_agent_that_pauses_moves_back_on_a_complete_path_alone, 0, rows);
    tcase_add_loop_test(tcase, an_agent_that_pauses_still_learns_that_no_way_is_there, 0, rows);
    tcase_add_test(tcase, an_agent_off_its_path_searches_on_with_any_purse);
    tcase_add_test(tcase, out_of_memory_an_agent_moves_back_and_says_that_it_loops);
    tcase_add_test(tcase, any_period_is_found_and_none_is_made_up);
    tcase_add_test(tcase, a_loop_is_over_when_anything_else_happens);
    tcase_add_test(tcase, an_agent_that_paces_at_its_path_s_end_says_so);
    tcase_add_loop_test(tcase, a_long_walk_and_a_long_wait_are_no_loop, 0, rows);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_steady", steady_suite);
}
