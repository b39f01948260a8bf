/* A tick for a move alone of a session that strolls (search/stroll.c) is what the engine would do: each life is played twice from one number,
 * the second time with every tick sent through the engine, and all replies must be the same, to the last field. Lives are of all
 * rows, on grids, with small budgets and spells of ticks for moves alone. Besides, such a tick expands nothing, and its
 * move is legal. TICKPATH_SEED repeats a run. */
#include "tests/lib/mind.h"
#include "tests/lib/random_sessions.h"

#include <stdio.h>
#include <string.h>

enum { TICKS = 160 };

struct trail {
    struct tp_tick_reply replies[TICKS];
    struct tp_session_stats stats;
    uint32_t strolled; /* ticks for a move alone of sessions that stroll */
};

/* Something that comes between ticks, not often. */
static void meddle(struct tp_test_rng *rng, struct play *play, struct space *space, struct plain_vehicle before)
{
    switch (tp_test_below(rng, 60)) {
    case 0:
    case 1:
        random_change(rng, play, space);
        break;
    case 2:
        play_retarget(play, space_cell(rng, play->map, true));
        break;
    case 3:
        play_retarget(play, play->goal);
        break;
    case 4:
        random_place(rng, play, before);
        break;
    case 5:
        play_at(play, play->cell);
        break;
    default:
        break;
    }
}

static bool over(void *context)
{
    (void)context;
    return true;
}

static void live(uint64_t number, const struct tp_algorithm *row, bool by_engine, struct trail *trail)
{
    struct tp_test_rng rng = {number};
    struct space space;
    struct space_size size = row_space_size(row);
    struct tp_session_params params;
    memset(trail, 0, sizeof *trail);
    if (tp_test_percent(&rng, 50)) {
        params = random_joined(&rng, row, &space, SPACE_GRID, size);
    } else {
        space_random(&space, &rng, SPACE_GRID, size);
        params = random_params(&rng, row, &space);
    }
    struct play play;
    space_open(&play, &params, &space, NULL);
    snprintf(play.label, sizeof play.label, "life %llu of %s%s (TICKPATH_SEED=%llu)", (unsigned long long)number, row->name,
             by_engine ? ", by the engine" : "", (unsigned long long)tp_test_seed());
    struct tp_mind *mind = mind_kept(play.session); /* else the path is packed, and the session rests */
    bool is_rich = tp_test_percent(&rng, 30);
    uint32_t alone = 0; /* ticks for moves alone still to come */
    struct plain_vehicle before = play_vehicle(&play);
    for (int i = 0; i < TICKS; i++) {
        struct play_clock clock;
        struct tp_budget budget = random_budget(&rng, play.session, &clock, is_rich ? 1000 : 1);
        budget.is_shared = tp_test_percent(&rng, 90);
        if (alone == 0)
            alone = tp_test_percent(&rng, 30) ? tp_test_below(&rng, 20) : 0;
        else if (--alone > 0) {
            budget.moves_only = true;
            budget.expansions_max = 0;
            budget.expired = over;
        }
        meddle(&rng, &play, &space, before);
        before = play_vehicle(&play);
        if (by_engine)
            mind->strolls = TP_STROLLS_NOT;
        trail->strolled += budget.moves_only && mind->strolls != TP_STROLLS_NOT;
        trail->replies[i] = play_tick(&play, &budget);
        const struct tp_tick_work *work = &trail->replies[i].work;
        if (budget.moves_only && (work->expansions || work->guide))
            ck_abort_msg("life %llu of %s: a tick for a move alone searched", (unsigned long long)number, row->name);
        if (trail->replies[i].status == TP_STATUS_ARRIVED && tp_test_percent(&rng, 50))
            play_retarget(&play, space_cell(&rng, play.map, true));
    }
    trail->stats = play.stats;
    play_close(&play);
    space_fini(&space);
}

static bool are_same(const struct tp_tick_reply *a, const struct tp_tick_reply *b)
{
    return a->from == b->from && a->to == b->to && a->vx == b->vx && a->vy == b->vy && a->status == b->status &&
           a->flags == b->flags && a->version == b->version && a->epoch == b->epoch && a->cost == b->cost &&
           memcmp(&a->work, &b->work, sizeof a->work) == 0 && a->bound_milli == b->bound_milli && a->flips == b->flips;
}

static void compare(uint64_t number, const struct tp_algorithm *row, const struct trail *a, const struct trail *b)
{
    for (int i = 0; i < TICKS; i++)
        if (!are_same(&a->replies[i], &b->replies[i]))
            ck_abort_msg("life %llu of %s: tick %d is another by the engine: to %u, flags %x; %u, %x (TICKPATH_SEED=%llu)",
                         (unsigned long long)number, row->name, i, a->replies[i].to, a->replies[i].flags, b->replies[i].to,
                         b->replies[i].flags, (unsigned long long)tp_test_seed());
    if (memcmp(&a->stats, &b->stats, sizeof a->stats) != 0)
        ck_abort_msg("life %llu of %s: the measures differ", (unsigned long long)number, row->name);
}

START_TEST(strolling_is_what_the_engine_does)
{
    static struct trail walked, by_engine;
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t lives = tp_test_steps(40, 400), strolled = 0;
    for (uint64_t i = 0; i < lives; i++) {
        uint64_t number = tp_test_next(&rng);
        live(number, row, false, &walked);
        live(number, row, true, &by_engine);
        compare(number, row, &walked, &by_engine);
        strolled += walked.strolled;
    }
    bool can = row->engine == &tp__engine_time_bounded && row->learning == TP_LEARNING_NONE;
    ck_assert_msg(can ? strolled > lives : strolled == 0, "%s: %llu ticks strolled", row->name, (unsigned long long)strolled);
}
END_TEST

static Suite *stroll_suite(void)
{
    Suite *suite = suite_create("stroll");
    TCase *tests = tcase_create("stroll");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, strolling_is_what_the_engine_does, 0, row_count());
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_stroll", stroll_suite);
}
