/* Where the watch of a guided session passes from one way of looking to another (search/watch.c): from near ahead to all of its path, when its
 * way is lost, and back, when it has one again; to all of it once, where it may be shut far ahead, while it is made shorter. What rose before, beside the place
 * where the last look ended, is found all the same: no agent walks up to a step that it could have known to be closed. */
#include "tests/lib/mind.h"
#include "tests/lib/play.h"

#include <string.h>

enum { LENGTH = 400, HEIGHT = 9, ROW = 4, AHEAD = 24, FIELDS_MAX = 256, ROOM_BYTES = 128 << 10 };

/* A guided agent in a hall, whose cache can be filled. */
struct hall {
    struct tp_pool pool;
    struct play play;
    struct tp_field *held[FIELDS_MAX];
    uint32_t held_count;
};

/* Leaves no room for another way, by fields that others hold. */
static void take_room(struct hall *hall)
{
    const struct tp_blocks *blocks = hall->play.served->blocks;
    for (uint32_t set = 1; set < 1u << blocks->areas; set++) {
        uint32_t goals[TP_GOALS_MAX], count = 0;
        for (uint32_t area = 0; area < blocks->areas; area++)
            if (set >> area & 1)
                goals[count++] = area;
        struct tp_field *field = tp_field_take(hall->play.fields, blocks, TP_FIELD_OCTILE, goals, count);
        if (!field)
            return;
        ck_assert_uint_lt(hall->held_count, FIELDS_MAX);
        hall->held[hall->held_count++] = field;
    }
    ck_abort_msg("there is still room");
}

static void give_room(struct hall *hall)
{
    while (hall->held_count)
        tp_field_leave_for_good(hall->held[--hall->held_count]);
}

/* With so many cells closed in a hundred, but for both ends; and so many expansions a tick. */
static void enter_cluttered(struct hall *hall, const char *label, uint32_t closed, uint64_t k)
{
    struct tp_test_rng rng = {7};
    struct tp_map *map = tp_test_map_free(LENGTH, HEIGHT);
    for (uint32_t cell = 0; cell < LENGTH * HEIGHT; cell++)
        if (cell % LENGTH > 2 && cell % LENGTH < LENGTH - 3 && tp_test_percent(&rng, closed))
            tp_test_set(&map, cell % LENGTH, cell / LENGTH, '@');
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("guided");
    params.w_milli = TP_W_UNSET;
    params.guide_units = TP_GUIDE_UNITS_MAX; /* a way is found in one tick */
    params.start = ROW * LENGTH + 1;
    params.goal = ROW * LENGTH + LENGTH - 2;
    params.budget = tp_budget_k(k);
    memset(hall, 0, sizeof *hall);
    tp_pool_init(&hall->pool, NULL);
    params.fields = tp_field_cache_open(&hall->pool, ROOM_BYTES);
    ck_assert_ptr_nonnull(params.fields);
    play_open_in(&hall->play, &params, map, &hall->pool);
    snprintf(hall->play.label, sizeof hall->play.label, "%s", label);
    mind_kept(hall->play.session);
    tp_map_unref(map);
}

static void enter(struct hall *hall, const char *label)
{
    enter_cluttered(hall, label, 0, 16);
}

static void leave(struct hall *hall)
{
    give_room(hall);
    play_close(&hall->play);
    ck_assert_uint_eq(hall->pool.used_bytes, 0);
    tp_pool_fini(&hall->pool);
}

static struct tp_mind *mind(const struct hall *hall)
{
    return hall->play.session->mind;
}

/* A tick that pays for no way. */
static struct tp_tick_reply tick_unled(struct hall *hall)
{
    struct tp_budget budget = hall->play.params.budget;
    budget.caps_guide = true;
    return play_tick(&hall->play, &budget);
}

static void until_whole(struct hall *hall)
{
    for (int i = 0; i < LENGTH && !mind(hall)->path_complete; i++)
        play_tick(&hall->play, NULL);
    ck_assert(mind(hall)->path_complete);
}

/* Ticks until the next is one of a look near ahead, and after it. */
static void until_look(struct hall *hall)
{
    do
        tick_unled(hall);
    while ((mind(hall)->stats.ticks - 1) % TP_NEAR_TICKS != 0);
}

/* Something closes that is on nobody's way. */
static void close_aside(struct hall *hall)
{
    play_set(&hall->play, mind(hall)->stats.ticks % 60, 0, '@');
}

static void close_ahead(struct hall *hall, uint32_t steps)
{
    static uint32_t cells[LENGTH];
    ck_assert_uint_gt(tp_session_path(hall->play.session, cells, LENGTH), steps);
    play_set(&hall->play, cells[steps] % LENGTH, cells[steps] / LENGTH, '@');
}

/* Whether it comes to the goal without ever standing before a closed step. */
static bool walks_unstopped(struct hall *hall)
{
    bool is_unstopped = true;
    struct tp_tick_reply reply;
    do {
        reply = play_tick(&hall->play, NULL);
        is_unstopped &= reply.status != TP_STATUS_BLOCKED;
    } while (reply.status != TP_STATUS_ARRIVED && hall->play.ticks < 10 * LENGTH);
    PLAY_SAY(&hall->play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
    return is_unstopped;
}

/* The way is lost just after a look near ahead, and after a step of what that saw closed: all of the path is looked at, that step too. */
START_TEST(looks_from_the_agent_on_when_its_way_is_lost)
{
    struct hall hall;
    enter(&hall, "a way is lost");
    until_whole(&hall);
    close_aside(&hall);
    until_look(&hall);
    close_ahead(&hall, AHEAD);
    tick_unled(&hall);
    ck_assert(tp__watch_is_near(mind(&hall)) && mind(&hall)->watch.walks);
    take_room(&hall);
    struct tp_tick_reply reply = play_tick(&hall.play, NULL);
    ck_assert(!tp__watch_is_near(mind(&hall)));
    PLAY_SAY(&hall.play, reply.flags & TP_FLAG_RESTARTED, "not found");
    leave(&hall);
}
END_TEST

/* Without a way it looked at all of its path. In the version in which it has one again, a step near ahead is closed. */
START_TEST(looks_from_the_agent_on_when_it_has_a_way_again)
{
    struct hall hall;
    enter(&hall, "a way is found");
    take_room(&hall);
    until_whole(&hall);
    close_aside(&hall);
    play_tick(&hall.play, NULL);
    ck_assert(!tp__watch_is_near(mind(&hall)) && !mind(&hall)->watch.walks);
    give_room(&hall);
    close_ahead(&hall, AHEAD);
    play_tick(&hall.play, NULL);
    ck_assert(tp__watch_is_near(mind(&hall)));
    PLAY_SAY(&hall.play, walks_unstopped(&hall), "not found");
    leave(&hall);
}
END_TEST

/* Looked at once, all of the path is looked at from the agent on, whatever was looked at before it had a way; as far as the first step that
 * rose. Another one behind it is found as the agent comes near. */
START_TEST(looks_at_all_of_it_from_the_agent_on)
{
    enum { FARTHER = AHEAD + 40 };
    struct hall hall;
    enter(&hall, "a way is found, and it may be shut far ahead");
    take_room(&hall);
    until_whole(&hall);
    while (mind(&hall)->stats.ticks % TP_NEAR_TICKS != 1)
        play_tick(&hall.play, NULL);
    close_aside(&hall);
    play_tick(&hall.play, NULL);
    give_room(&hall);
    close_ahead(&hall, FARTHER);
    close_ahead(&hall, AHEAD);
    play_tick(&hall.play, NULL);
    tp__watch_far(mind(&hall));
    ck_assert(mind(&hall)->watch.far && !mind(&hall)->detour);
    tick_unled(&hall);
    PLAY_SAY(&hall.play, mind(&hall)->detour, "not found");
    PLAY_SAY(&hall.play, !mind(&hall)->watch.far, "goes on although a step rose");
    ck_assert(walks_unstopped(&hall));
    ck_assert_uint_eq(hall.play.stats.restarts, 0);
    leave(&hall);
}
END_TEST

/* Where nothing of it rose, nothing is left to be looked at. */
START_TEST(a_look_at_all_of_it_ends)
{
    struct hall hall;
    enter(&hall, "nothing rose");
    until_whole(&hall);
    close_aside(&hall);
    tick_unled(&hall);
    ck_assert(mind(&hall)->watch.walks);
    tp__watch_far(mind(&hall));
    for (int i = 0; i < LENGTH / TP_FAR_STEPS + 1; i++)
        tick_unled(&hall);
    ck_assert(!mind(&hall)->watch.far && !mind(&hall)->watch.walks);
    leave(&hall);
}
END_TEST

/* While all of its path is looked at once, a step closes that was looked at already: it is found when the next steps are looked at. */
START_TEST(what_closes_behind_the_look_at_all_of_it_is_found)
{
    struct hall hall;
    enter(&hall, "a step closes behind the look");
    until_whole(&hall);
    tp__watch_far(mind(&hall));
    tick_unled(&hall);
    ck_assert(mind(&hall)->watch.far);
    close_ahead(&hall, AHEAD);
    for (int i = 0; i < LENGTH / TP_FAR_STEPS + 1; i++)
        tick_unled(&hall);
    ck_assert(!mind(&hall)->watch.far);
    PLAY_SAY(&hall.play, walks_unstopped(&hall), "not found");
    leave(&hall);
}
END_TEST

/* The way is lost meanwhile. */
START_TEST(what_closes_behind_that_look_is_found_without_a_way)
{
    struct hall hall;
    enter(&hall, "a step closes behind the look, then the way is lost");
    until_whole(&hall);
    tp__watch_far(mind(&hall));
    tick_unled(&hall);
    close_ahead(&hall, AHEAD);
    tick_unled(&hall);
    ck_assert(mind(&hall)->watch.far);
    take_room(&hall);
    struct tp_tick_reply reply = play_tick(&hall.play, NULL);
    ck_assert(!tp__watch_is_near(mind(&hall)));
    PLAY_SAY(&hall.play, reply.flags & TP_FLAG_RESTARTED, "not found");
    leave(&hall);
}
END_TEST

/* The path is made shorter while all of it is looked at once: what is closed far ahead is found all the same. */
START_TEST(a_path_made_shorter_is_still_looked_at)
{
    enum { FAR = 250, DELAYS = 40, TICKS_MAX = 12 };
    uint64_t shorter = 0;
    for (int delay = 0; delay < DELAYS; delay++) {
        struct hall hall;
        enter_cluttered(&hall, "a path made shorter", 10, 60);
        until_whole(&hall);
        for (int i = 0; i < delay; i++)
            tick_unled(&hall);
        static uint32_t cells[LENGTH];
        if (tp_session_path(hall.play.session, cells, LENGTH) > FAR) {
            close_ahead(&hall, FAR);
            tp__watch_far(mind(&hall));
            bool found = false;
            for (int i = 0; i < TICKS_MAX && !found; i++) {
                const void *path = mind(&hall)->trace.follow.top;
                found = tick_unled(&hall).flags & TP_FLAG_RESTARTED;
                shorter += !found && mind(&hall)->trace.follow.top != path;
            }
            PLAY_SAY(&hall.play, found, "not found, after %d ticks", delay);
        }
        leave(&hall);
    }
    ck_assert_uint_gt(shorter, 0);
}
END_TEST

static Suite *near_suite(void)
{
    Suite *suite = suite_create("near");
    TCase *tests = tcase_create("near");
    tcase_add_test(tests, looks_from_the_agent_on_when_its_way_is_lost);
    tcase_add_test(tests, looks_from_the_agent_on_when_it_has_a_way_again);
    tcase_add_test(tests, looks_at_all_of_it_from_the_agent_on);
    tcase_add_test(tests, a_look_at_all_of_it_ends);
    tcase_add_test(tests, what_closes_behind_the_look_at_all_of_it_is_found);
    tcase_add_test(tests, what_closes_behind_that_look_is_found_without_a_way);
    tcase_add_test(tests, a_path_made_shorter_is_still_looked_at);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_near", near_suite);
}
