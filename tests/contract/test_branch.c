/* A session that traces under k only what its path has not in common with the last one (search/trace.c) says the same, to the last flag, as
 * one that traces every path whole: with both open lists, any w, on maps that change, with goals and agents that are put elsewhere, with paths that
 * are not taken, with budgets that are not always k. Only the steps of tracing differ, and what memory is held. Lives are of all rows, on
 * grids. TICKPATH_SEED repeats a run. */
#include "tests/lib/mind.h"
#include "tests/lib/random_sessions.h"

#include <string.h>

enum { TICKS = 200, AHEAD = 6 };

struct trail {
    struct tp_tick_reply replies[TICKS];
    uint32_t paths[TICKS][AHEAD]; /* the cells ahead */
    struct tp_session_stats stats;
    uint64_t branches, joined; /* paths traced so, and of them those that had something of the last */
    uint64_t before;           /* ticks after which a path began behind states that are marked */
    uint64_t moved;            /* ticks in which a state that was expanded got another parent */
};

/* Options under which there is something to trace for long: small slices of a search. */
static struct tp_session_params options(struct tp_test_rng *rng, const struct tp_algorithm *row, struct space *space)
{
    struct tp_session_params params = random_joined(rng, row, space, SPACE_GRID, (struct space_size){40, 30, 900, 300});
    if (tp_test_percent(rng, 30)) {
        space_fini(space);
        space_random(space, rng, SPACE_GRID, row_space_size(row));
        params = random_params(rng, row, space);
    }
    params.budget = tp_budget_k(tp_test_between(rng, 1, 12));
    params.bounded = false;
    if (row_can(row, TP_CAN_TAKE_W) && tp_test_percent(rng, 40))
        params.w_milli = 1000; /* where closed states are opened again */
    return params;
}

/* Something that comes between ticks, not often. */
static void meddle(struct tp_test_rng *rng, struct play *play, struct space *space, struct plain_vehicle before)
{
    switch (tp_test_below(rng, 80)) {
    case 0:
        random_change(rng, play, space);
        break;
    case 1:
    case 2:
        play_retarget(play, space_cell(rng, play->map, true));
        break;
    case 3:
        random_place(rng, play, before);
        break;
    default:
        break;
    }
}

static void look_into(const struct tp_mind *mind, struct trail *trail)
{
    const struct tp_trace *trace = &mind->trace;
    trail->branches += trace->unmarked;
    trail->joined += trace->unmarked && tp_search_knows(&mind->search, trace->branch) && tp_search_g(&mind->search, trace->branch) > 0;
    trail->before += trace->follows_tree && trace->from_g > 0;
    trail->moved += mind->search.moved_g != TP_COST_INFINITE;
}

static void live(uint64_t number, const struct tp_algorithm *row, bool branches, struct trail *trail)
{
    struct tp_test_rng rng = {number};
    struct space space;
    struct play play;
    struct tp_session_params params = options(&rng, row, &space);
    memset(trail, 0, sizeof *trail);
    space_open(&play, &params, &space, NULL);
    snprintf(play.label, sizeof play.label, "life %llu of %s%s (TICKPATH_SEED=%llu)", (unsigned long long)number, row->name,
             branches ? "" : ", traced whole", (unsigned long long)tp_test_seed());
    bool is_mixed = tp_test_percent(&rng, 30);
    struct plain_vehicle before = play_vehicle(&play);
    for (int i = 0; i < TICKS; i++) {
        struct play_clock clock;
        struct tp_budget budget = params.budget;
        if (is_mixed && tp_test_percent(&rng, 30))
            budget = random_budget(&rng, play.session, &clock, 1);
        meddle(&rng, &play, &space, before);
        before = play_vehicle(&play);
        struct tp_mind *mind = mind_kept(play.session); /* it may have rested since */
        mind->branches = branches;
        trail->replies[i] = play_tick(&play, &budget);
        trail->replies[i].work.traced = 0;
        tp_session_path(play.session, trail->paths[i], AHEAD);
        if (play.session->mind)
            look_into(play.session->mind, trail);
        if (trail->replies[i].status == TP_STATUS_ARRIVED && tp_test_percent(&rng, 50))
            play_retarget(&play, space_cell(&rng, play.map, true));
    }
    trail->stats = play.stats;
    trail->stats.traced = trail->stats.bytes = trail->stats.bytes_peak = 0;
    play_close(&play);
    space_fini(&space);
}

static void compare(uint64_t number, const struct tp_algorithm *row, const struct trail *a, const struct trail *b)
{
    for (int i = 0; i < TICKS; i++)
        if (memcmp(&a->replies[i], &b->replies[i], sizeof a->replies[i]) != 0 || memcmp(a->paths[i], b->paths[i], sizeof a->paths[i]) != 0)
            ck_abort_msg("life %llu of %s: tick %d is another, traced whole: to %u, status %d, flags %x; %u, %d, %x (TICKPATH_SEED=%llu)",
                         (unsigned long long)number, row->name, i, a->replies[i].to, (int)a->replies[i].status, a->replies[i].flags,
                         b->replies[i].to, (int)b->replies[i].status, b->replies[i].flags, (unsigned long long)tp_test_seed());
    if (memcmp(&a->stats, &b->stats, sizeof a->stats) != 0)
        ck_abort_msg("life %llu of %s: the measures differ", (unsigned long long)number, row->name);
}

START_TEST(branching_moves_as_whole_traces_do)
{
    static struct trail branched, whole;
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t lives = tp_test_steps(60, 1500), branches = 0, joined = 0, before = 0, moved = 0;
    for (uint64_t i = 0; i < lives; i++) {
        uint64_t number = tp_test_next(&rng);
        live(number, row, true, &branched);
        live(number, row, false, &whole);
        compare(number, row, &branched, &whole);
        ck_assert_uint_eq(whole.branches, 0);
        branches += branched.branches;
        joined += branched.joined;
        before += branched.before;
        moved += branched.moved;
    }
    printf("%s: in %llu lives %llu paths, %llu joined the last, %llu began ahead of their marks; %llu ticks moved states\n", row->name,
           (unsigned long long)lives, (unsigned long long)branches, (unsigned long long)joined, (unsigned long long)before,
           (unsigned long long)moved);
    bool can = row->engine == &tp__engine_time_bounded;
    ck_assert_msg(can ? joined > lives && before > lives : branches == 0, "%s: %llu paths joined the last", row->name,
                  (unsigned long long)joined);
}
END_TEST

static Suite *branch_suite(void)
{
    Suite *suite = suite_create("branch");
    TCase *tests = tcase_create("branch");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, branching_moves_as_whole_traces_do, 0, row_count());
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_branch", branch_suite);
}
