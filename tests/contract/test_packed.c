/* A session whose paths are packed says the same, move by move, as one that keeps its marks and its tree: on maps that change, under every restart rule,
 * wherever on its path it is put, sent on and on to goals that are far. Only steps differ that were paid for (work.traced), and whether a tick says that nothing was looked for in it, which is true where it does. And what either takes to be left
 * of a path that is whole is what its steps cost.
 *
 * TICKPATH_SEED repeats a run. */
#include "tests/lib/mind.h"
#include "tests/lib/random_sessions.h"

enum { TICKS = 400, FAR = 9, PATH_MAX_CELLS = 4096 };

struct life {
    struct tp_tick_reply replies[TICKS];
    uint32_t cells[TICKS][8]; /* the path's next */
    uint64_t packed, rested, arrived, changed; /* ticks packed, and of them without a mind; arrivals; versions that came while it was */
};

/* A goal too far from the present one for a tree to be turned to it, from where the agent stands. */
static uint32_t far_goal(struct tp_test_rng *rng, const struct play *play)
{
    for (int i = 0; i < 50; i++) {
        uint32_t cell = space_cell(rng, play->map, true);
        uint64_t moved = ref_distance(&play->plain, cell, play->goal), left = ref_distance(&play->plain, cell, play->cell);
        if (moved > FAR * TP_COST_UNIT && moved > left / 2)
            return cell;
    }
    return play->goal;
}

/* What a path costs that is given by its cells. */
static tp_cost cost_of(const struct tp_map *map, const uint32_t *cells, uint32_t count)
{
    static const tp_cost lengths[] = {0, TP_COST_UNIT, TP_COST_DIAGONAL, TP_COST_KNIGHT}; /* by columns and rows gone */
    tp_cost cost = 0;
    for (uint32_t i = 1; i < count; i++) {
        int columns = abs((int)(cells[i] % map->width) - (int)(cells[i - 1] % map->width));
        int rows = abs((int)(cells[i] / map->width) - (int)(cells[i - 1] / map->width));
        cost += lengths[columns + rows];
    }
    return cost;
}

/* Whether the agent is on a path that is whole, and what its session takes to be left of it. */
static bool says_what_is_left(const struct tp_session *session, tp_cost *left)
{
    const struct tp_mind *mind = session->mind;
    if (!mind) {
        *left = session->cost_there - session->stats.cost;
        return session->path_complete && session->steps.count;
    }
    if (!mind->may_pack || !mind->path_complete || mind->restart_wanted || tp__detour_is_walked(mind) || tp__trace_next(mind) == TP_MOVE_NONE)
        return false;
    *left = tp__trace_left(mind);
    return true;
}

static void check_what_is_left(const struct tp_session *session, const struct tp_map *map, const char *row)
{
    static uint32_t cells[PATH_MAX_CELLS];
    tp_cost left;
    if (!says_what_is_left(session, &left))
        return;
    uint32_t count = tp_session_path(session, cells, PATH_MAX_CELLS);
    tp_cost cost = cost_of(map, cells, count);
    if (count > 1 && count < PATH_MAX_CELLS && cost != left)
        ck_abort_msg("%s: %llu is left of a path of %u cells, that costs %llu (TICKPATH_SEED=%llu)", row, (unsigned long long)left, count,
                     (unsigned long long)cost, (unsigned long long)tp_test_seed());
}

static void check_idle(const struct tp_tick_reply *reply, const char *row)
{
    static const struct tp_tick_work none;
    if (reply->is_idle && (reply->flips || memcmp(&reply->work, &none, sizeof none) != 0))
        ck_abort_msg("%s: an idle tick has work (TICKPATH_SEED=%llu)", row, (unsigned long long)tp_test_seed());
}

static void live(struct life *life, struct tp_test_rng rng, const struct tp_algorithm *row, bool packs)
{
    static const struct space_size size = {150, 14, 60, 1000};
    struct space space;
    *life = (struct life){0};
    struct tp_session_params params = random_joined(&rng, row, &space, SPACE_GRID, size);
    params.knowledge = TP_KNOWLEDGE_FULL;
    params.budget = tp_test_percent(&rng, 50) ? tp_budget_k(tp_test_between(&rng, 2, 60)) : tp_budget_r(tp_test_between(&rng, 20, 200), 800, 10);
    params.heuristic = TP_HEURISTIC_DEFAULT; /* far is what the test takes for far */
    uint32_t changes = tp_test_below(&rng, 3) * 2;
    struct play play;
    space_open(&play, &params, &space, NULL);
    struct tp_session *session = play.session;
    if (!packs)
        mind_kept(session);
    for (int i = 0; i < TICKS; i++) {
        uint32_t cells[TP_PUT_AHEAD_MAX + 1] = {0};
        bool rests = !session->mind, is_packed = rests ? session->steps.count > 0 : tp__is_packed(session->mind);
        life->packed += is_packed;
        life->rested += rests && is_packed;
        if (tp_test_percent(&rng, changes)) {
            random_change(&rng, &play, &space);
            life->changed += is_packed;
        }
        struct tp_tick_reply reply = play_tick(&play, NULL);
        uint32_t count = tp_session_path(session, cells, TP_PUT_AHEAD_MAX + 1);
        check_what_is_left(session, space.map, row->name);
        check_idle(&reply, row->name);
        reply.is_idle = false;
        reply.work.traced = 0;
        life->replies[i] = reply;
        memcpy(life->cells[i], cells, sizeof life->cells[i]);
        life->arrived += reply.status == TP_STATUS_ARRIVED;
        if ((reply.status == TP_STATUS_ARRIVED && tp_test_percent(&rng, 30)) || tp_test_below(&rng, 200) == 0)
            play_retarget(&play, far_goal(&rng, &play));
        else if (reply.flags & TP_FLAG_PATH_COMPLETE && reply.status == TP_STATUS_MOVING && tp_test_percent(&rng, 3) && count > 1)
            play_at(&play, cells[tp_test_between(&rng, 1, count - 1)]);
    }
    play_close(&play);
    space_fini(&space);
}

static bool same(const struct life *a, const struct life *b, int i)
{
    return memcmp(&a->replies[i], &b->replies[i], sizeof a->replies[i]) == 0 && memcmp(a->cells[i], b->cells[i], sizeof a->cells[i]) == 0;
}

START_TEST(packed_or_not_it_says_the_same)
{
    static struct life packed, kept;
    const struct tp_algorithm *row = tp_algorithm_at((size_t)_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t cases = tp_test_steps(12, 600), ticks = 0, rested = 0, changed = 0, arrived = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_test_rng life_rng = rng;
        tp_test_next(&rng);
        live(&packed, life_rng, row, true);
        live(&kept, life_rng, row, false);
        for (int tick = 0; tick < TICKS; tick++)
            if (!same(&packed, &kept, tick))
                ck_abort_msg("%s, life %llu: apart at tick %d (TICKPATH_SEED=%llu)", row->name, (unsigned long long)i, tick,
                             (unsigned long long)tp_test_seed());
        ticks += packed.packed;
        rested += packed.rested;
        changed += packed.changed;
        arrived += packed.arrived;
        ck_assert_uint_eq(kept.packed, 0);
    }
    printf("%s: %llu of %llu ticks packed, %llu at rest, %llu arrived, %llu changes\n", row->name, (unsigned long long)ticks,
           (unsigned long long)cases * TICKS, (unsigned long long)rested, (unsigned long long)arrived, (unsigned long long)changed);
    bool packs = row->learning == TP_LEARNING_NONE && !row->engine->own_search && !row_can(row, TP_PACES) && !row_walks_to_learn(row);
    ck_assert_msg((ticks > 0) == packs && (rested > 0) == packs, "%s was packed for %llu ticks", row->name, (unsigned long long)ticks);
}
END_TEST

static Suite *packed_suite(void)
{
    Suite *suite = suite_create("packed");
    TCase *tcase = tcase_create("every row");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, packed_or_not_it_says_the_same, 0, row_count());
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_packed", packed_suite);
}
