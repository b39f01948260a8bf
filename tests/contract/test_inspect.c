/* A look into a session (search/inspect.h) changes nothing, and tells the truth. Each life is played twice from one number, the second time with looks of
 * random rectangles, in random slices, between all ticks: the replies and the measures must be the same. What a look says is held against
 * the session's own counts, and the same rectangle gone through in slices against one look. Lives are of all rows on all kinds of spaces, of minds
 * and of sessions that rest. TICKPATH_SEED repeats a run. */
#include "search/inspect.h"
#include "tests/lib/mind.h"
#include "tests/lib/random_sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICKS = 80, CELLS_MAX = 1 << 14 };

struct trail {
    struct tp_tick_reply replies[TICKS];
    struct tp_session_stats stats;
    uint32_t open, closed, raised; /* looks that saw some */
};

static struct tp_inspect_state whole[CELLS_MAX], slice[CELLS_MAX];

/* All of the rectangle, by looks of at most `max` cells and `looks` looks each. */
static uint32_t scan_all(const struct play *play, struct tp_inspect_scan scan, struct tp_inspect_state *states, uint32_t max, uint64_t looks)
{
    uint32_t count = 0, calls = 0;
    while (!scan.done) {
        scan.looks = looks;
        PLAY_SAY(play, count + max <= CELLS_MAX || max == CELLS_MAX, "more cells than the map has");
        uint32_t more = tp_session_inspect_states(play->session, &scan, states + count, max == CELLS_MAX ? CELLS_MAX - count : max);
        PLAY_SAY(play, more <= max && calls++ < 100 * CELLS_MAX, "a slice of %u cells, of %u", more, max);
        count += more;
    }
    return count;
}

static struct tp_inspect_scan whole_map(const struct play *play)
{
    return (struct tp_inspect_scan){.width = play->map->width, .height = play->map->height};
}

/* The cells of a look at all of the map that lie in a rectangle are those of a look at that. */
static void check_slices(struct tp_test_rng *rng, const struct play *play, uint32_t count)
{
    uint32_t width = play->map->width, inside = 0;
    struct tp_inspect_scan scan = {.x = tp_test_below(rng, width), .y = tp_test_below(rng, play->map->height)};
    scan.width = tp_test_below(rng, width + 4);
    scan.height = tp_test_below(rng, play->map->height + 4);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t x = whole[i].cell % width, y = whole[i].cell / width;
        inside += x >= scan.x && x - scan.x < scan.width && y >= scan.y && y - scan.y < scan.height;
    }
    uint32_t max = 1 + tp_test_below(rng, 40), looks = 1 + tp_test_below(rng, 200), found = scan_all(play, scan, slice, max, looks);
    PLAY_SAY(play, found == inside, "%u cells of the rectangle by slices of %u cells and %u looks, of %u", found, max, looks, inside);
    for (uint32_t i = 0; i < found; i++) {
        uint32_t k = 0;
        while (k < count && whole[k].cell != slice[i].cell)
            k++;
        PLAY_SAY(play, k < count && memcmp(&whole[k], &slice[i], sizeof slice[i]) == 0, "cell %u is another in a slice", slice[i].cell);
    }
}

/* Why it did not move, by its last reply. */
static void check_hold(const struct play *play, const struct tp_inspection *out, const struct tp_tick_reply *reply)
{
    bool is_paused = reply->status == TP_STATUS_BLOCKED && reply->flags & TP_FLAG_BACK_MOVE;
    PLAY_SAY(play, out->status == reply->status && out->flags == reply->flags, "the last reply is told as another");
    PLAY_SAY(play, (out->hold == TP_HOLD_NONE) == (reply->status == TP_STATUS_MOVING), "hold %d of a status %d", out->hold, reply->status);
    PLAY_SAY(play, (out->hold == TP_HOLD_NO_WAY) == (reply->status == TP_STATUS_UNREACHABLE), "hold %d", out->hold);
    PLAY_SAY(play, (out->hold == TP_HOLD_PAUSE) == is_paused, "hold %d", out->hold);
    PLAY_SAY(play, (out->hold == TP_HOLD_STEP) == (reply->status == TP_STATUS_BLOCKED && !is_paused), "hold %d", out->hold);
    PLAY_SAY(play, out->hold != TP_HOLD_STEP || out->step_cell != out->cell || out->is_vehicle, "held by a step to its own cell");
}

static void check_states(const struct play *play, const struct tp_inspection *out, uint32_t count, struct trail *trail)
{
    uint64_t open = 0, closed = 0, raised = 0;
    bool has_root = false, has_best = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct tp_inspect_state *state = &whole[i];
        bool in_tree = state->what & (TP_INSPECT_OPEN | TP_INSPECT_CLOSED);
        PLAY_SAY(play, in_tree == (state->g != TP_COST_INFINITE) && state->what, "cell %u: what %x", state->cell, state->what);
        PLAY_SAY(play, ((state->what & TP_INSPECT_RAISED) != 0) == (state->raised != 0) && (!state->raised || out->learns), "cell %u is raised by %llu", state->cell, (unsigned long long)state->raised);
        has_root |= state->cell == out->root && state->g == 0;
        has_best |= state->cell == out->best && in_tree && (out->found || state->what & TP_INSPECT_OPEN);
        open += (state->what & TP_INSPECT_OPEN) != 0;
        closed += (state->what & TP_INSPECT_CLOSED) != 0;
        raised += (state->what & TP_INSPECT_RAISED) != 0;
    }
    PLAY_SAY(play, out->searches || open + closed == 0, "states of no search");
    if (!out->is_vehicle && out->searches)
        PLAY_SAY(play, open + closed == out->stats.touched, "%llu open and %llu closed, of %llu touched", (unsigned long long)open,
                 (unsigned long long)closed, (unsigned long long)out->stats.touched);
    PLAY_SAY(play, open <= out->queued || out->is_vehicle || !out->searches, "%llu open, %llu queued", (unsigned long long)open, (unsigned long long)out->queued);
    PLAY_SAY(play, !out->searches || has_root, "the root is not in the tree");
    PLAY_SAY(play, !out->searches || out->best == TP_INSPECT_NO_CELL || has_best, "the best state, %u, is not open", out->best);
    trail->open += open > 0;
    trail->closed += closed > 0;
    trail->raised += raised > 0;
}

static void look(struct tp_test_rng *rng, struct play *play, const struct tp_tick_reply *reply, struct trail *trail)
{
    static uint32_t fresh[CELLS_MAX];
    struct tp_inspection out;
    tp_session_inspect(play->session, &out);
    PLAY_SAY(play, out.cell == play->cell && out.goals[0] == play->goal && out.goal_count == play->goal_count, "it stands on %u", out.cell);
    PLAY_SAY(play, out.version == play->served->version && out.width == play->map->width && out.height == play->map->height, "version %llu", (unsigned long long)out.version);
    check_hold(play, &out, reply);
    uint32_t count = scan_all(play, whole_map(play), whole, CELLS_MAX, UINT64_MAX);
    check_states(play, &out, count, trail);
    check_slices(rng, play, count);
    uint32_t steps = tp_session_inspect_fresh(play->session, fresh, CELLS_MAX);
    PLAY_SAY(play, steps < CELLS_MAX, "a path being traced that goes round");
    PLAY_SAY(play, !steps || out.searches, "a path is traced of no search");
}

static void live(uint64_t number, int i, bool looks, struct trail *trail)
{
    struct tp_test_rng rng = {number}, looker = {number + 1};
    struct space space;
    const struct tp_algorithm *row = row_of(i);
    memset(trail, 0, sizeof *trail);
    struct tp_session_params params = random_joined(&rng, row, &space, kind_of(i), row_space_size(row));
    struct play play;
    space_open(&play, &params, &space, NULL);
    snprintf(play.label, sizeof play.label, "life %llu of %s%s (TICKPATH_SEED=%llu)", (unsigned long long)number, row->name, looks ? ", looked into" : "",
             (unsigned long long)tp_test_seed());
    bool is_rich = tp_test_percent(&rng, 50);
    for (int tick = 0; tick < TICKS; tick++) {
        struct play_clock clock;
        struct tp_budget budget = random_budget(&rng, play.session, &clock, is_rich ? 300 : 1);
        if (tp_test_below(&rng, 20) == 0)
            random_change(&rng, &play, &space);
        if (tp_test_below(&rng, 40) == 0)
            play_retarget(&play, space_cell(&rng, play.map, true));
        trail->replies[tick] = play_tick(&play, &budget);
        if (looks)
            look(&looker, &play, &trail->replies[tick], trail);
    }
    trail->stats = play.stats;
    play_close(&play);
    space_fini(&space);
}

static bool are_same(const struct tp_tick_reply *a, const struct tp_tick_reply *b)
{
    return a->from == b->from && a->to == b->to && a->vx == b->vx && a->vy == b->vy && a->status == b->status && a->flags == b->flags &&
           a->version == b->version && a->cost == b->cost && memcmp(&a->work, &b->work, sizeof a->work) == 0 && a->bound_milli == b->bound_milli &&
           a->flips == b->flips;
}

START_TEST(a_look_changes_nothing)
{
    static struct trail plain, looked;
    const struct tp_algorithm *row = row_of(_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t lives = tp_test_steps(6, 60), open = 0, closed = 0, raised = 0;
    for (uint64_t i = 0; i < lives; i++) {
        uint64_t number = tp_test_next(&rng);
        live(number, _i, false, &plain);
        live(number, _i, true, &looked);
        for (int tick = 0; tick < TICKS; tick++)
            if (!are_same(&plain.replies[tick], &looked.replies[tick]))
                ck_abort_msg("life %llu of %s: tick %d is another after a look (TICKPATH_SEED=%llu)", (unsigned long long)number, row->name, tick,
                             (unsigned long long)tp_test_seed());
        if (memcmp(&plain.stats, &looked.stats, sizeof plain.stats) != 0)
            ck_abort_msg("life %llu of %s: the measures differ (TICKPATH_SEED=%llu)", (unsigned long long)number, row->name, (unsigned long long)tp_test_seed());
        open += looked.open;
        closed += looked.closed;
        raised += looked.raised;
    }
    ck_assert_msg(open > 0 && closed > 0, "no look at a search");
    if (row->engine == &tp__engine_agent_centred)
        ck_assert_msg(raised > 0, "%s: no raised h was seen", row->name);
}
END_TEST

static struct tp_inspection inspect(const struct play *play)
{
    struct tp_inspection out;
    tp_session_inspect(play->session, &out);
    return out;
}

static struct tp_session_params params_of(const char *algorithm, const struct tp_map *map, uint64_t k)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(algorithm);
    params.start = 0;
    params.goal = map->width * map->height - 1;
    params.budget = tp_budget_k(k);
    return params;
}

/* What holds an agent back, told after a tick. */
START_TEST(it_tells_what_holds_the_agent)
{
    struct play play;
    struct tp_map *map = tp_test_map_free(40, 40);
    struct tp_session_params params = params_of("astar", map, 3);
    play_open(&play, &params, map);
    ck_assert_int_eq(inspect(&play).hold, TP_HOLD_NONE);
    ck_assert_int_eq(inspect(&play).status, 0);
    play_tick(&play, NULL);
    struct tp_inspection out = inspect(&play);
    ck_assert_int_eq(out.hold, TP_HOLD_BUDGET);
    ck_assert(out.searches && !out.found && !out.rests);
    ck_assert_uint_eq(out.root, 0);
    const struct tp_budget rich = tp_budget_k(100000);
    play_tick(&play, &rich);
    ck_assert_int_eq(inspect(&play).hold, TP_HOLD_NONE);
    uint32_t cells[3];
    ck_assert_uint_eq(tp_session_path(play.session, cells, 3), 3);
    play_set(&play, cells[1] % 40, cells[1] / 40, '@');
    struct tp_budget none = tp_budget_k(1);
    struct tp_tick_reply reply = play_tick(&play, &none);
    ck_assert_int_eq(inspect(&play).hold, reply.status == TP_STATUS_BLOCKED ? TP_HOLD_STEP : TP_HOLD_BUDGET);
    tp_map_unref(map);
    play_close(&play);

    map = tp_test_map_free(40, 40);
    tp_test_set_rect(&map, 20, 0, 1, 40, '@');
    params = params_of("tbwa", map, 100000);
    play_open(&play, &params, map);
    play_tick(&play, NULL);
    ck_assert_int_eq(inspect(&play).hold, TP_HOLD_NO_WAY);
    ck_assert(inspect(&play).exhausted);
    tp_map_unref(map);
    play_close(&play);
}
END_TEST

/* An agent whose next step closed under R, where the search has no means to begin anew at once: the step is named. */
START_TEST(it_names_the_step_that_closed)
{
    struct play play;
    struct tp_map *map = tp_test_map_free(30, 3);
    tp_test_set_rect(&map, 0, 0, 30, 1, '@');
    tp_test_set_rect(&map, 0, 2, 30, 1, '@');
    struct tp_session_params params = params_of("lss", map, 4);
    params.start = 30;
    params.goal = 59;
    params.budget = tp_budget_r(4, 900, 10);
    play_open(&play, &params, map);
    bool was_named = false;
    for (int i = 0; i < 200 && !was_named; i++) {
        struct tp_tick_reply reply = play_tick(&play, NULL);
        struct tp_inspection out = inspect(&play);
        if (i == 20)
            play_set(&play, play.cell % 30 + 1, 1, '@');
        was_named = out.hold == TP_HOLD_STEP;
        ck_assert(!was_named || (reply.status == TP_STATUS_BLOCKED && out.step_cell == out.cell + 1));
    }
    ck_assert(was_named);
    tp_map_unref(map);
    play_close(&play);
}
END_TEST

/* A whole path that is walked is packed, and then the session rests: there is a path, and no search. */
START_TEST(at_rest_there_is_a_path_and_no_search)
{
    struct play play;
    struct tp_map *map = tp_test_map_free(200, 200);
    struct tp_session_params params = params_of("tbwa", map, 100000);
    play_open(&play, &params, map);
    struct tp_inspection out = inspect(&play);
    ck_assert(out.rests && !out.searches && !out.is_packed);
    play_tick(&play, NULL);
    ck_assert(inspect(&play).searches);
    ck_assert_uint_gt(scan_all(&play, whole_map(&play), whole, CELLS_MAX, UINT64_MAX), 150);
    for (int i = 0; i < 100 && !inspect(&play).rests; i++)
        play_tick(&play, NULL);
    out = inspect(&play);
    ck_assert(out.rests && out.is_packed && !out.searches && out.path_complete);
    ck_assert_int_eq(out.hold, TP_HOLD_NONE);
    ck_assert_uint_eq(scan_all(&play, whole_map(&play), whole, CELLS_MAX, UINT64_MAX), 0);
    tp_map_unref(map);
    play_close(&play);
}
END_TEST

static Suite *inspect_suite(void)
{
    Suite *suite = suite_create("inspect");
    TCase *tests = tcase_create("inspect");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, a_look_changes_nothing, 0, rows_times_kinds());
    tcase_add_test(tests, it_tells_what_holds_the_agent);
    tcase_add_test(tests, it_names_the_step_that_closed);
    tcase_add_test(tests, at_rest_there_is_a_path_and_no_search);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_inspect", inspect_suite);
}
