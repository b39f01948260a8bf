/* The bound on a walk's cost (search/bound.h): never wrong, whatever happens to the map, the goals and the agent (each one told is compared with
 * a plain Dijkstra by tests/lib/play_bound.c); as good as can be where much is left over; work that ends, memory that is given back; never a
 * dearer walk for it. */
#include "tests/lib/distances.h"
#include "tests/lib/random_sessions.h"

#include <stdio.h>
#include <stdlib.h>

static const struct tp_algorithm *row;

static int prover_count(void)
{
    int count = 0;
    for (int i = 0; i < row_count(); i++)
        count += row_can(tp_algorithm_at((size_t)i), TP_CAN_PROVE_COST);
    return count;
}

/* The i-th of the rows that prove. */
static void take_row(int i)
{
    size_t at = 0;
    for (; !row_can(tp_algorithm_at(at), TP_CAN_PROVE_COST) || i-- > 0; at++)
        ;
    row = tp_algorithm_at(at);
}

/* A bounded session on a random map; a start and a goal are joined. */
static struct tp_map *open_random(struct play *play, struct tp_test_rng *rng, uint32_t side, struct tp_budget budget, uint64_t number)
{
    static const uint32_t weights[] = {TP_W_UNSET, 1000, 1300, 2000, 10000};
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.bounded = true;
    params.budget = budget;
    params.w_milli = row_can(row, TP_CAN_TAKE_W) ? weights[tp_test_below(rng, 5)] : TP_W_UNSET;
    params.neighbours = neighbours[tp_test_below(rng, 4)];
    params.corners = (enum tp_corners)tp_test_below(rng, 3);
    params.pause_on_backtrack = (enum tp_pause)tp_test_between(rng, TP_PAUSE_DEFAULT, TP_PAUSE_NEVER);
    if (row_can(row, TP_CAN_RESTART_BY_RULE) && tp_test_percent(rng, 40))
        params.restart = (enum tp_restart)tp_test_between(rng, TP_RESTART_NEVER, TP_RESTART_ON_RISE);
    for (;;) {
        uint32_t percent = tp_test_below(rng, 40);
        struct tp_map *map = tp_test_percent(rng, 40) ? tp_test_map_random_weighted(rng, side, side, percent, 9)
                                                      : tp_test_map_random(rng, side, side, percent);
        params.start = tp_test_free_cell(rng, map);
        params.goal = tp_test_free_cell(rng, map);
        play_open(play, &params, map);
        snprintf(play->label, sizeof play->label, "case %llu of %s, w %u, n %d, corners %d, restart %d, budget %d of %llu (TICKPATH_SEED=%llu)",
                 (unsigned long long)number, row->name, params.w_milli, (int)params.neighbours, (int)params.corners, (int)params.restart,
                 (int)budget.kind, (unsigned long long)budget.expansions, (unsigned long long)tp_test_seed());
        if (params.start != params.goal && play_reachable(play))
            return map;
        play_close(play);
        tp_map_unref(map);
    }
}

static void close_all(struct play *play, struct tp_map *map)
{
    play_close(play);
    tp_map_unref(map);
}

/* ---- Never wrong ---- */

/* Gives a cell another class; only one that weighs more where nothing may fall. */
static void change(struct play *play, struct tp_test_rng *rng, bool may_fall)
{
    const struct tp_map *map = play->map;
    uint32_t cell = tp_test_below(rng, map->width * map->height), other = tp_test_below(rng, map->width * map->height);
    uint8_t is = tp_map_class(map, cell % map->width, cell / map->width);
    uint8_t class_to = tp_test_percent(rng, 40) ? '@' : tp_map_class(map, other % map->width, other / map->width);
    uint16_t was = map->profile.weight[is], becomes = map->profile.weight[class_to];
    bool falls = becomes && (!was || becomes < was);
    if (falls <= may_fall && cell != play->goal)
        play_set(play, cell % map->width, cell / map->width, (char)class_to);
}

enum happens { NOTHING, RISES, ANYTHING };

/* One walk, or several where goals move. Returns how many bounds were told. */
static uint64_t live(struct tp_test_rng *rng, enum happens happens, uint64_t number)
{
    enum { TICKS_MAX = 400 };
    struct play play;
    struct play_clock clock;
    uint64_t told = 0;
    struct tp_map *map = open_random(&play, rng, tp_test_between(rng, 8, 60), tp_budget_k(16), number);
    uint32_t percent = tp_test_between(rng, 1, 40);
    bool same_budget = tp_test_percent(rng, 40);
    for (uint32_t tick = 0; tick < TICKS_MAX; tick++) {
        if (happens != NOTHING && tp_test_percent(rng, percent))
            for (uint32_t i = tp_test_between(rng, 1, 3); i; i--)
                change(&play, rng, happens == ANYTHING);
        bool moves = happens == ANYTHING;
        if (moves && tp_test_percent(rng, 2))
            play_retarget(&play, tp_test_free_cell(rng, play.map));
        if (moves && row_can(row, TP_CAN_CHOOSE_GOAL) && tp_test_percent(rng, 2)) {
            uint32_t goals[] = {tp_test_free_cell(rng, play.map), tp_test_below(rng, map->width * map->height), tp_test_free_cell(rng, play.map)};
            play_retarget_set(&play, goals, tp_test_between(rng, 1, 3));
        }
        if (moves && tp_test_percent(rng, 3))
            play_at(&play, space_cell_near(rng, play.map, play.cell));
        struct tp_budget budget = random_budget(rng, play.session, &clock, 0);
        struct tp_tick_reply reply = play_tick(&play, same_budget ? NULL : &budget);
        told += reply.bound_milli > 0;
        if (reply.status == TP_STATUS_ARRIVED && happens != ANYTHING)
            break;
    }
    close_all(&play, map);
    return told;
}

START_TEST(a_bound_is_never_wrong)
{
    take_row(_i / 3);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t told = 0, lives = tp_test_steps(20, 150);
    for (uint64_t i = 0; i < lives; i++)
        told += live(&rng, (enum happens)(_i % 3), i);
    ck_assert_uint_gt(told, lives);
}
END_TEST

/* A cell beside the way gets dearer: the bound stands, or is better. */
START_TEST(what_rises_elsewhere_leaves_it)
{
    take_row(_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t compared = 0, cases = tp_test_steps(20, 100);
    for (uint64_t i = 0; i < cases; i++) {
        struct play play;
        uint32_t cells[40 * 40], told = 0;
        struct tp_map *map = open_random(&play, &rng, 40, tp_budget_k(64), i);
        struct tp_tick_reply reply;
        do {
            uint64_t version = play.map->version;
            uint32_t from = play.proof.from; /* another where that cell was blocked */
            change(&play, &rng, false);
            reply = play_tick(&play, NULL);
            uint32_t count = tp_session_path(play.session, cells, 40 * 40);
            bool walks_on = reply.status == TP_STATUS_MOVING && !(reply.flags & (TP_FLAG_RESTARTED | TP_FLAG_BACK_MOVE)) &&
                            (count < 2 || ref_walk_cost(&play.plain, cells, count) != UINT64_MAX);
            bool dearer = play.map->weighted || version == play.map->version;
            if (told && walks_on && !dearer && play.proof.from == from) {
                PLAY_SAY(&play, reply.bound_milli && reply.bound_milli <= told, "a bound of %u after one of %u", reply.bound_milli, told);
                compared++;
            }
            told = reply.bound_milli;
        } while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE && play.ticks < 300);
        close_all(&play, map);
    }
    ck_assert_uint_gt(compared, 0);
}
END_TEST

/* ---- As good as can be ---- */

/* Where all can be proved in the first tick, the bound on arrival is what the walk cost by what it could have, to a thousandth. */
START_TEST(with_all_left_over_it_is_exact)
{
    take_row(_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t cases = tp_test_steps(30, 150), ones = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct play play;
        struct tp_map *map = open_random(&play, &rng, 50, tp_budget_k(TP_BUDGET_UNLIMITED), i);
        uint64_t *costs = malloc((size_t)50 * 50 * sizeof *costs);
        ck_assert_ptr_nonnull(costs);
        ref_costs_to(&play.plain, play.goal, costs);
        uint64_t least = costs[play.cell];
        free(costs);
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 20000);
        uint64_t exact = (reply.cost * 1000 + least - 1) / least;
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED && reply.bound_milli == exact, "status %d, bound %u, not %llu", (int)reply.status,
                 reply.bound_milli, (unsigned long long)exact);
        ones += exact == 1000;
        PLAY_SAY(&play, play_tick(&play, NULL).bound_milli == exact, "no bound after arrival");
        close_all(&play, map);
    }
    ck_assert_uint_gt(ones, cases / 4);
}
END_TEST

/* Open ground: h is the cost, and the first tick with a path says so. */
START_TEST(on_open_ground_it_is_one_at_once)
{
    take_row(_i);
    struct tp_map *map = tp_test_map_free(60, 40);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = row;
    params.bounded = true;
    params.w_milli = TP_W_UNSET;
    params.open_list = TP_OPEN_LIST_EXACT; /* it goes straight there; by the other, states as good as those of the way are expanded, too */
    params.start = 20 * 60 + 3;
    params.goal = 31 * 60 + 55;
    params.budget = tp_budget_k(200);
    struct play play;
    play_open(&play, &params, map);
    struct tp_tick_reply reply;
    do {
        reply = play_tick(&play, NULL);
        PLAY_SAY(&play, reply.bound_milli == (reply.flags & TP_FLAG_PATH_COMPLETE ? 1000 : 0), "bound %u", reply.bound_milli);
        PLAY_SAY(&play, play.ticks < 3 || !reply.work.expansions, "%llu expansions", (unsigned long long)reply.work.expansions);
    } while (reply.status != TP_STATUS_ARRIVED);
    close_all(&play, map);
}
END_TEST

/* ---- What it takes ---- */

/* Once all is proved nothing is expanded any more, and the memory of it is given back. Smoothing ends as well. */
START_TEST(work_ends_and_memory_is_given_back)
{
    take_row(_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    uint64_t cases = tp_test_steps(10, 50), given_back = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct play play;
        struct tp_map *map = open_random(&play, &rng, 60, tp_budget_k(60), i);
        struct tp_tick_reply reply;
        uint64_t peak = 0;
        do {
            reply = play_tick(&play, NULL);
            peak = play.stats.bytes > peak ? play.stats.bytes : peak;
            if (reply.bound_milli == 1000 && row != tp_algorithm_find("guided"))
                PLAY_SAY(&play, play_tick(&play, NULL).work.expansions == 0, "it goes on at 1.000");
        } while (reply.status != TP_STATUS_ARRIVED && play.stats.moves < 2000);
        PLAY_SAY(&play, play_tick(&play, NULL).work.expansions == 0, "it goes on after arrival");
        given_back += play.stats.bytes < peak;
        close_all(&play, map);
    }
    ck_assert_uint_gt(given_back, 0);
}
END_TEST

/* The same walk with and without: never dearer for it. (A guided agent's way is another after its path was replaced.) Under a cap that holds little
 * more than the session's own search it arrives as well; where that had to ask for memory twice, states come in another order. */
START_TEST(nobody_walks_more_for_it)
{
    take_row(_i);
    struct tp_test_rng rng = tp_test_rng(row->name);
    static const uint64_t amounts[] = {3, 10, 60, 400};
    uint64_t cases = tp_test_steps(30, 150), shorter = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct play play, plain;
        uint64_t amount = amounts[i % 4];
        struct tp_budget budget = i % 3 ? tp_budget_k(amount) : tp_budget_r(amount < 10 ? 10 : amount, 600, 10);
        struct tp_map *map = open_random(&plain, &rng, 50, budget, i);
        struct tp_session_params params = plain.params;
        play_close(&plain);
        params.bounded = false;
        play_open(&plain, &params, map);
        struct tp_tick_reply without = play_until_settled(&plain, NULL, 100000);
        params.bounded = true;
        for (int capped = 0; capped < 2; capped++) {
            params.node_bytes_max = capped ? plain.stats.bytes_peak * 5 / 4 : 0;
            play_open(&play, &params, map);
            snprintf(play.label, sizeof play.label, "%.280s, cap %llu", plain.label, (unsigned long long)params.node_bytes_max);
            struct tp_tick_reply reply = play_until_settled(&play, NULL, 100000);
            PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED && reply.bound_milli, "status %d, bound %u", (int)reply.status, reply.bound_milli);
            if (row != tp_algorithm_find("guided") && !capped)
                PLAY_SAY(&play, reply.cost <= without.cost, "%llu walked, %llu without", (unsigned long long)reply.cost,
                         (unsigned long long)without.cost);
            shorter += reply.cost < without.cost;
            play_close(&play);
        }
        close_all(&plain, map);
    }
    if (row == tp_algorithm_find("tbgbfs")) /* the others' ways are short enough */
        ck_assert_uint_gt(shorter, 0);
}
END_TEST

static Suite *bound_suite(void)
{
    Suite *suite = suite_create("bound");
    TCase *tests = tcase_create("bound");
    int rows = prover_count();
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, a_bound_is_never_wrong, 0, 3 * rows);
    tcase_add_loop_test(tests, what_rises_elsewhere_leaves_it, 0, rows);
    tcase_add_loop_test(tests, with_all_left_over_it_is_exact, 0, rows);
    tcase_add_loop_test(tests, on_open_ground_it_is_one_at_once, 0, rows);
    tcase_add_loop_test(tests, work_ends_and_memory_is_given_back, 0, rows);
    suite_add_tcase(suite, tests);
    TCase *twins = tcase_create("twins");
    tcase_set_timeout(twins, 300);
    tcase_add_loop_test(twins, nobody_walks_more_for_it, 0, rows);
    suite_add_tcase(suite, twins);
    return suite;
}

int main(void)
{
    return tp_test_main("test_bound", bound_suite);
}
