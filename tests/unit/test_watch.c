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

/* A weighted strip of road: its middle row is the agent's, the row behind the wall nobody can get to. */
enum { ROAD = 60 };
static struct tp_map *road(void)
{
    struct tp_profile profile = {.weight = {['.'] = 1, ['n'] = 2, ['o'] = 3, ['M'] = 1000}};
    char art[(ROAD + 1) * 5];
    for (size_t i = 0; i < sizeof art; i++)
        art[i] = (i + 1) % (ROAD + 1) == 0 ? '\n' : i / (ROAD + 1) == 3 ? '@' : '.';
    art[sizeof art - 1] = 0;
    return tp_test_map_weighted(art, &profile);
}

static const char *const by_rule[] = {"rastar", "aastar", "wastar", "rtba", "rtbwa", "tbaa"};
enum { BY_RULE = sizeof by_rule / sizeof *by_rule };

static void open_road(struct play *play, const char *label, const char *name, enum tp_restart rule, struct tp_budget budget)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(name);
    params.neighbours = TP_NEIGHBOURS_4;
    params.start = ROAD;
    params.goal = ROAD + ROAD - 1;
    params.restart = rule;
    params.budget = budget;
    *play = (struct play){.label = ""};
    struct tp_map *map = road();
    play_open(play, &params, map);
    tp_map_unref(map);
    snprintf(play->label, sizeof play->label, "%s, %s, %s", label, name, rule == TP_RESTART_LAZY ? "lazy" : "on rise");
}

/* Ticks to the goal; the cell is never walked over. */
static void arrive_round(struct play *play, uint32_t cell, void (*stir)(struct play *play))
{
    struct tp_tick_reply reply = {0};
    for (uint32_t i = 0; i < 600 && reply.status != TP_STATUS_ARRIVED; i++) {
        if (stir)
            stir(play);
        reply = play_tick(play, NULL);
        PLAY_SAY(play, play->cell != cell, "it walks over what rose");
    }
    PLAY_SAY(play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
}

/* Behind the wall a cell gets dearer and another cheaper. */
static void stir_aside(struct play *play)
{
    static const char classes[] = ".no";
    const struct tp_change changes[] = {
        {.kind = TP_CHANGE_CELL, .class_to = (uint8_t)classes[play->ticks % 3], .x = 5, .y = 4},
        {.kind = TP_CHANGE_CELL, .class_to = (uint8_t)classes[(play->ticks + 1) % 3], .x = 8, .y = 4},
    };
    play_apply(play, changes, 2);
}

/* A cell on the path rises, once, and others in every tick: each begins the walk along the path anew, and what it is compared with
 * must be older than that. */
START_TEST(test_rise_among_other_rises)
{
    struct play play;
    open_road(&play, "a cell of the path rises among others", by_rule[_i / 2], _i % 2 ? TP_RESTART_LAZY : TP_RESTART_ON_RISE,
              tp_budget_r(6, 900, 1));
    struct tp_budget much = tp_budget_k(100000);
    PLAY_SAY(&play, play_tick(&play, &much).flags & TP_FLAG_PATH_COMPLETE, "no path at once");
    for (int i = 0; i < 3; i++) {
        stir_aside(&play);
        play_tick(&play, NULL);
    }
    play_set(&play, 30, 1, 'M');
    arrive_round(&play, ROAD + 30, stir_aside);
    play_close(&play);
}
END_TEST

/* A cell rises that was expanded already, before a path is traced over it. */
START_TEST(test_rise_before_the_trace)
{
    for (uint64_t k = 1; k <= 4; k++) {
        struct play play;
        open_road(&play, "a cell that was expanded rises", by_rule[_i / 2], _i % 2 ? TP_RESTART_LAZY : TP_RESTART_ON_RISE,
                  tp_budget_k(k));
        for (int i = 0; i < 8; i++)
            play_tick(&play, NULL);
        uint32_t ahead = play.cell + 4;
        play_set(&play, ahead % ROAD, ahead / ROAD, 'M');
        arrive_round(&play, ahead, NULL);
        play_close(&play);
    }
}
END_TEST

/* What the whole map costs goes up and down: an agent whose every trace finds a rise still moves. (Where to is another thing: by these
 * rules each search is young.) */
static void stir_all(struct play *play)
{
    const struct tp_change all = {.kind = TP_CHANGE_RECT, .class_to = play->ticks % 2 ? '.' : 'n', .x = 0, .y = 0, .width = ROAD, .height = 3};
    play_apply(play, &all, 1);
}

START_TEST(test_rises_everywhere)
{
    static const struct tp_budget budgets[] = {
        {.kind = TP_BUDGET_R, .expansions = 1, .r_milli = 900, .c = 1, .expansions_max = UINT64_MAX},
        {.kind = TP_BUDGET_R, .expansions = 2, .r_milli = 500, .c = 3, .expansions_max = UINT64_MAX},
        {.kind = TP_BUDGET_R, .expansions = 50, .r_milli = 900, .c = 10, .expansions_max = UINT64_MAX},
        {.kind = TP_BUDGET_K, .expansions = 1, .c = 10, .expansions_max = UINT64_MAX},
        {.kind = TP_BUDGET_K, .expansions = 30, .c = 10, .expansions_max = UINT64_MAX},
    };
    for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) {
        struct play play;
        open_road(&play, "all rises and falls", by_rule[_i / 2], _i % 2 ? TP_RESTART_LAZY : TP_RESTART_ON_RISE, budgets[b]);
        uint32_t ticks = 3000;
        for (uint32_t i = 0; i < ticks && play.cell != play.goal; i++) {
            stir_all(&play);
            play_tick(&play, NULL);
        }
        PLAY_SAY(&play, play.cell == play.goal || play.moves >= ticks / 300, "budget %d of %llu: on %u, %llu moves", (int)budgets[b].kind,
                 (unsigned long long)budgets[b].expansions, play.cell, (unsigned long long)play.moves);
        play_close(&play);
    }
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
    tcase_add_loop_test(tcase, test_rise_among_other_rises, 0, 2 * BY_RULE);
    tcase_add_loop_test(tcase, test_rise_before_the_trace, 0, 2 * BY_RULE);
    tcase_add_loop_test(tcase, test_rises_everywhere, 0, 2 * BY_RULE);
    tcase_add_test(tcase, test_versions_let_go);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_watch", watch_suite);
}
