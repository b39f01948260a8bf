/* What changed under a path is looked for over many ticks when the purse is small: a rise far ahead is found before the agent
 * stands at it, a shortcut that opened is found too, what does not touch the path asks for nothing, and the versions
 * compared are let go. Every tick's work, looks included, stays within its budget (tests/lib/play.c). */
#include "tests/lib/play.h"

enum { WIDTH = 300, HEIGHT = 20, ROW = 10, R = 4 };

/* A free map, or one with a wall in column 150 but for its lowest cell. */
static struct tp_map *field(bool wall)
{
    struct tp_map *map = tp_test_map_free(WIDTH, HEIGHT);
    if (wall)
        tp_test_set_rect(&map, 150, 0, 1, HEIGHT - 1, '@');
    return map;
}

/* Opens a session from the left edge to the right one and ticks until its path is complete. */
static void walk(struct play *play, const char *label, enum tp_restart restart, struct tp_map *map)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("rtbwa");
    params.start = ROW * WIDTH;
    params.goal = ROW * WIDTH + WIDTH - 1;
    params.restart = restart;
    params.budget = tp_budget_r(R, 900, 10);
    *play = (struct play){.label = ""};
    snprintf(play->label, sizeof play->label, "%s", label);
    play_open(play, &params, map);
    tp_map_unref(map);
    struct tp_budget much = tp_budget_k(100000);
    struct tp_tick_reply reply = play_tick(play, &much);
    PLAY_SAY(play, reply.flags & TP_FLAG_PATH_COMPLETE, "no path at once");
}

/* Ticks until one says RESTARTED; false when the agent arrives without. */
static bool restarts(struct play *play)
{
    for (;;) {
        struct tp_tick_reply reply = play_tick(play, NULL);
        if (reply.flags & TP_FLAG_RESTARTED)
            return true;
        if (reply.status == TP_STATUS_ARRIVED)
            return false;
    }
}

START_TEST(test_far_rise)
{
    enum tp_restart rule = _i ? TP_RESTART_LAZY : TP_RESTART_ON_RISE;
    struct play play;
    walk(&play, "a wall rises far ahead", rule, field(false));
    const struct tp_change wall = {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 250, .y = 1, .width = 1, .height = HEIGHT - 1};
    play_apply(&play, &wall, 1);
    ck_assert(restarts(&play));
    PLAY_SAY(&play, play.cell % WIDTH < 150, "found only at %u", play.cell % WIDTH);
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 20000);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    ck_assert_uint_eq(play.stats.restarts, 1);
    play_close(&play);
}
END_TEST

START_TEST(test_changes_aside)
{
    enum tp_restart rule = _i ? TP_RESTART_LAZY : TP_RESTART_ON_RISE;
    struct play play;
    walk(&play, "a change a tick, none of them near the path", rule, field(false));
    for (uint32_t i = 0; play.cell != play.goal; i++) {
        ck_assert_uint_lt(i, 2 * WIDTH);
        play_set(&play, 20 + i / 2 % 250, 0, i % 2 ? '.' : '@');
        play_tick(&play, NULL);
    }
    ck_assert_uint_eq(play.stats.restarts, 0);
    ck_assert_uint_eq(play.stats.moves, WIDTH - 1);
    play_close(&play);
}
END_TEST

/* Rows with one purse pay for it from all of R, whatever r leaves to tracing. */
START_TEST(test_change_aside_with_r_1)
{
    struct play play;
    walk(&play, "one change aside, r = 1", TP_RESTART_ON_RISE, field(false));
    struct tp_budget all = tp_budget_r(100, 1000, 10);
    play_set(&play, 150, 0, '@');
    for (uint32_t i = 0; play.cell != play.goal; i++) {
        ck_assert_uint_lt(i, 2 * WIDTH);
        play_tick(&play, &all);
    }
    ck_assert_uint_eq(play.stats.restarts, 0);
    play_close(&play);
}
END_TEST

/* The same with a wall that rises in the course of it: near the agent a rise is found although each version begins the walk
 * along the path anew. */
START_TEST(test_rise_among_changes)
{
    struct play play;
    walk(&play, "a wall rises while the map changes at each tick", TP_RESTART_LAZY, field(false));
    const struct tp_change wall = {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 250, .y = 1, .width = 1, .height = HEIGHT - 1};
    play_apply(&play, &wall, 1);
    bool restarted = false;
    for (uint32_t i = 0; !restarted; i++) {
        ck_assert_uint_lt(i, WIDTH);
        play_set(&play, 20 + i / 2 % 200, 0, i % 2 ? '.' : '@');
        restarted = play_tick(&play, NULL).flags & TP_FLAG_RESTARTED;
    }
    PLAY_SAY(&play, play.cell % WIDTH <= 247, "found only at %u", play.cell % WIDTH);
    ck_assert_int_eq(play_until_settled(&play, NULL, 20000).status, TP_STATUS_ARRIVED);
    play_close(&play);
}
END_TEST

START_TEST(test_door_opens)
{
    bool lazy = _i;
    struct play play;
    walk(&play, "a door opens in the wall", lazy ? TP_RESTART_LAZY : TP_RESTART_ON_RISE, field(true));
    /* much else opens and closes far from any short way, before and after the door in the order of cells */
    const struct tp_change batch[] = {
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 0, .y = 0, .width = 100, .height = 2},
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 280, .y = 17, .width = 20, .height = 3},
        {.kind = TP_CHANGE_CELL, .class_to = '.', .x = 150, .y = ROW},
    };
    play_apply(&play, batch, 3);
    ck_assert(restarts(&play) == lazy);
    if (lazy)
        PLAY_SAY(&play, play.cell % WIDTH < 140, "found only at %u", play.cell % WIDTH);
    ck_assert_int_eq(play_until_settled(&play, NULL, 20000).status, TP_STATUS_ARRIVED);
    ck_assert_uint_eq(play.stats.restarts, lazy);
    play_close(&play);
}
END_TEST

/* The door opens while the version before is still compared: what fell meanwhile is looked for afterwards. The cells of the
 * top row are on no way shorter than the one round the wall. */
START_TEST(test_door_opens_meanwhile)
{
    struct play play;
    walk(&play, "a door opens while an older version is looked through", TP_RESTART_LAZY, field(true));
    const struct tp_change closed = {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 2, .y = 0, .width = 140, .height = 1};
    const struct tp_change opened = {.kind = TP_CHANGE_RECT, .class_to = '.', .x = 2, .y = 0, .width = 140, .height = 1};
    play_apply(&play, &closed, 1);
    play_tick(&play, NULL);
    play_apply(&play, &opened, 1);
    struct tp_tick_reply reply = play_tick(&play, NULL);
    ck_assert(!(reply.flags & TP_FLAG_RESTARTED));
    play_set(&play, 150, ROW, '.');
    ck_assert(restarts(&play));
    PLAY_SAY(&play, play.cell % WIDTH < 149, "found only at %u", play.cell % WIDTH);
    ck_assert_int_eq(play_until_settled(&play, NULL, 20000).status, TP_STATUS_ARRIVED);
    play_close(&play);
}
END_TEST

START_TEST(test_weights)
{
    struct tp_profile profile = {.weight = {['.'] = 4, [','] = 2, ['~'] = 9}};
    struct play play;
    static const struct {
        const char *label;
        char class_to;
        enum tp_restart rule;
        bool restarts;
    } cases[] = {
        {"a swamp ahead, on rise", '~', TP_RESTART_ON_RISE, true}, {"a swamp ahead, lazy", '~', TP_RESTART_LAZY, true},
        {"a road ahead, on rise", ',', TP_RESTART_ON_RISE, false}, {"a road ahead, lazy", ',', TP_RESTART_LAZY, true},
        {"a swamp ahead, never", '~', TP_RESTART_NEVER, false},
    };
    char art[(WIDTH + 1) * HEIGHT];
    for (size_t i = 0; i < sizeof art; i++)
        art[i] = (i + 1) % (WIDTH + 1) ? '.' : '\n';
    art[sizeof art - 1] = 0;
    art[0] = ','; /* some cell is cheaper, so that h leaves room for a shorter way */
    walk(&play, cases[_i].label, cases[_i].rule, tp_test_map_weighted(art, &profile));
    const struct tp_change strip = {
        .kind = TP_CHANGE_RECT, .class_to = (uint8_t)cases[_i].class_to, .x = 200, .y = 0, .width = 60, .height = HEIGHT};
    play_apply(&play, &strip, 1);
    ck_assert(restarts(&play) == cases[_i].restarts);
    if (cases[_i].restarts)
        PLAY_SAY(&play, play.cell % WIDTH < 150, "found only at %u", play.cell % WIDTH);
    play_close(&play);
}
END_TEST

/* The version that the session compares with is held as long as that takes, and no longer. */
START_TEST(test_versions_let_go)
{
    struct play play;
    walk(&play, "versions are let go", TP_RESTART_LAZY, field(true));
    const struct tp_change closed = {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 2, .y = 0, .width = 140, .height = 1};
    const struct tp_change opened = {.kind = TP_CHANGE_RECT, .class_to = '.', .x = 2, .y = 0, .width = 140, .height = 1};
    play_apply(&play, &closed, 1);
    play_tick(&play, NULL);
    play_apply(&play, &opened, 1);
    play_tick(&play, NULL);
    const struct tp_map *seen = tp_map_ref(play.map);
    play_set(&play, 299, 0, '@');
    play_set(&play, 299, 0, '.');
    play_tick(&play, NULL);
    ck_assert_uint_gt(atomic_load(&seen->refs), 1);
    for (uint32_t i = 0; i < 120; i++)
        play_tick(&play, NULL);
    ck_assert_uint_eq(atomic_load(&seen->refs), 1);
    tp_map_unref(seen);
    play_close(&play);
}
END_TEST

static Suite *watch_suite(void)
{
    Suite *suite = suite_create("watch");
    TCase *tcase = tcase_create("small purses");
    tcase_add_loop_test(tcase, test_far_rise, 0, 2);
    tcase_add_loop_test(tcase, test_changes_aside, 0, 2);
    tcase_add_test(tcase, test_change_aside_with_r_1);
    tcase_add_test(tcase, test_rise_among_changes);
    tcase_add_loop_test(tcase, test_door_opens, 0, 2);
    tcase_add_test(tcase, test_door_opens_meanwhile);
    tcase_add_loop_test(tcase, test_weights, 0, 5);
    tcase_add_test(tcase, test_versions_let_go);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_watch", watch_suite);
}
