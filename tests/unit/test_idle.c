/* Sessions that nobody ticks let go of the version that they saw: what they do then is as good as if they began anew. */
#include "tests/lib/play.h"

#include <stdio.h>

static struct tp_test_rng rng_;

static void change(struct play *play, uint32_t batches)
{
    enum { CELLS = 20 };
    uint32_t width = play->map->width, height = play->map->height;
    while (batches-- > 0) {
        struct tp_change changes[CELLS];
        for (int i = 0; i < CELLS; i++)
            changes[i] = (struct tp_change){.kind = TP_CHANGE_CELL,
                                            .class_to = tp_test_percent(&rng_, 25) ? '@' : '.',
                                            .x = tp_test_below(&rng_, width),
                                            .y = tp_test_below(&rng_, height)};
        changes[CELLS - 1].x =
            width - 1; /* the goal stays free: a row that can't prove what is in vain waits there */
        changes[CELLS - 1].y = height - 1;
        changes[CELLS - 1].class_to = '.';
        play_apply(play, changes, CELLS);
    }
}

/* Whatever a row is at when it lets go: it restarts at the next tick, and gets to its goal or knows that it can't. */
START_TEST(it_begins_anew_and_gets_there)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    rng_ = tp_test_rng(row->name);
    for (uint64_t life = 0; life < tp_test_steps(6, 200); life++) {
        struct tp_map *map = tp_test_map_random(&rng_, 30, 30, 15);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = row;
        params.goal = 30 * 30 - 1;
        params.budget = tp_budget_k(tp_test_between(&rng_, 5, 60));
        if (row->capabilities & TP_CAN_RESTART_BY_RULE)
            params.restart = (enum tp_restart)(TP_RESTART_DEFAULT + life % (TP_RESTART_ON_RISE + 1));
        struct play play;
        play_open(&play, &params, map);
        tp_map_unref(map);
        snprintf(play.label, sizeof play.label, "life %llu of %s (TICKPATH_SEED=%llu)",
                 (unsigned long long)life, row->name, (unsigned long long)tp_test_seed());
        for (int turn = 0; turn < 8; turn++) {
            for (uint32_t i = tp_test_below(&rng_, 12); i > 0; i--) {
                if (tp_test_percent(&rng_, 30))
                    change(&play, 1);
                play_tick(&play, NULL);
            }
            uint64_t ticks = tp_session_ticks(play.session), restarts = play.stats.restarts;
            ck_assert_uint_eq(ticks, play.ticks);
            change(&play, 5);
            tp_session_let_go(play.session, play.served);
            ck_assert_ptr_eq(tp_session_map(play.session), play.served);
            struct tp_tick_reply reply;
            uint64_t tries = 0; /* a row that learns ends what it is at first, or waits for its purse */
            do
                reply = play_tick(&play, NULL);
            while (reply.status <= TP_STATUS_SEARCHING && play.stats.restarts == restarts && ticks &&
                   ++tries < 500);
            PLAY_SAY(&play, tries < 500 || !play_reachable(&play), "no restart, status %d",
                     (int)reply.status);
            PLAY_SAY(&play, ticks || !play.stats.restarts, "a restart of what had not begun");
        }
        struct tp_budget enough = tp_budget_k(2000);
        bool proves = row->capabilities & TP_CAN_DETECT_UNREACHABLE, ends = proves || play_reachable(&play);
        uint32_t status = play_until_settled(&play, &enough, ends ? 20000 : 100).status;
        PLAY_SAY(&play,
                 status == TP_STATUS_ARRIVED ||
                     (proves ? status == TP_STATUS_UNREACHABLE : !play_reachable(&play)),
                 "status %u", status);
        play_close(&play);
    }
}
END_TEST

/* The version is let go of: nobody else holding it, it is freed. */
START_TEST(the_old_version_is_freed)
{
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    rng_ = tp_test_rng(row->name);
    struct tp_map_held held = {0};
    struct tp_map *map = tp_test_map_free(40, 40);
    tp_map_count_in(map, &held);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.goal = 40 * 40 - 1;
    params.budget = tp_budget_r(20, 500, 4);
    struct play play;
    play_open(&play, &params, map);
    tp_map_unref(map);
    for (int turn = 0; turn < 10; turn++) {
        for (int i = 0; i < 3; i++) {
            play_tick(&play, NULL);
            change(&play, 3);
        }
        tp_session_let_go(play.session, play.served);
        /* the newest is left, and a guided row's layer of it */
        ck_assert_uint_eq(atomic_load(&held.versions), play.served == play.map ? 1 : 2);
    }
    play_close(&play);
    ck_assert_uint_eq(atomic_load(&held.versions), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("idle");
    TCase *tcase = tcase_create("idle");
    tcase_set_timeout(tcase, tp_test_long() ? 600 : 60);
    int rows = 0;
    while (tp_algorithm_at((size_t)rows))
        rows++;
    tcase_add_loop_test(tcase, it_begins_anew_and_gets_there, 0, rows);
    tcase_add_loop_test(tcase, the_old_version_is_freed, 0, rows);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_idle", suite);
}
