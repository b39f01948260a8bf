/* D* Lite: its queue, and that what it plans costs what a fresh search would find, whatever changed: random batches, whole and
 * small budgets, goals that move, agents put elsewhere, unknown maps, graphs, vehicles. The contract that it shares with every row:
 * tests/contract. */
#include "tests/lib/distances.h"
#include "tests/lib/play.h"

#include "open/keyed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_CELLS = 4096 };

/* ---- the queue ---- */

static void note_place(void *context, uint32_t state, uint32_t place)
{
    ((uint32_t *)context)[state] = place;
}

/* Against a plain array of keys. */
START_TEST(the_queue_gives_the_least_key)
{
    enum { STATES = 300 };
    struct tp_test_rng rng = tp_test_rng("queue");
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    uint64_t bytes = 0, steps = tp_test_steps(20000, 1000000);
    struct tp_open heap;
    tp_open_init(&heap, true, &pool, &bytes, UINT64_MAX);
    uint32_t place[STATES], queued = 0;
    struct tp_key key[STATES];
    memset(place, 0xff, sizeof place);
    for (uint64_t step = 0; step < steps; step++) {
        uint32_t state = tp_test_below(&rng, STATES);
        if (tp_test_percent(&rng, 60)) {
            key[state] = (struct tp_key){tp_test_below(&rng, 50), tp_test_below(&rng, 5)};
            if (tp_test_percent(&rng, 2))
                key[state].k1 = UINT64_MAX - tp_test_below(&rng, 2);
            queued += place[state] == TP_KEYED_NONE;
            ck_assert(tp_open_reserve(&heap, 1));
            tp_keyed_set(&heap, place[state], state, key[state], note_place, place);
        } else if (place[state] != TP_KEYED_NONE) {
            queued--;
            tp_keyed_remove(&heap, place[state], note_place, place);
        }
        if (heap.count != queued)
            ck_abort_msg("step %llu: %u entries, not %u (TICKPATH_SEED=%llu)", (unsigned long long)step,
                         heap.count, queued, (unsigned long long)tp_test_seed());
        if (!queued)
            continue;
        uint32_t least = STATES;
        for (uint32_t i = 0; i < STATES; i++)
            if (place[i] != TP_KEYED_NONE && (least == STATES || tp_key_less(key[i], key[least])))
                least = i; /* of equals the lower state */
        struct tp_key top;
        uint32_t got = tp_keyed_least(&heap, &top);
        if (got != least || top.k1 != key[least].k1 || top.k2 != key[least].k2)
            ck_abort_msg("step %llu: state %u on top, not %u (TICKPATH_SEED=%llu)", (unsigned long long)step,
                         got, least, (unsigned long long)tp_test_seed());
    }
    tp_open_empty(&heap);
    ck_assert_uint_eq(bytes, 0);
    tp_pool_fini(&pool);
}
END_TEST

/* ---- changing maps ---- */

static struct tp_map *random_map(struct tp_test_rng *rng)
{
    uint32_t width = tp_test_between(rng, 2, 40), height = tp_test_between(rng, 2, 40);
    if (tp_test_percent(rng, 10)) { /* several tiles of the map */
        width = tp_test_between(rng, 60, 140);
        height = tp_test_between(rng, 60, 100);
    }
    static const uint32_t percents[] = {0, 10, 20, 30, 40};
    uint32_t percent = percents[tp_test_below(rng, 5)];
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    if (tp_test_percent(rng, 40)) {
        static const uint32_t tops[] = {3, 100, 65535};
        uint32_t top = tops[tp_test_below(rng, 3)];
        for (const char *class = ".GS"; *class; class ++)
            profile.weight[(int)*class] = (uint16_t)tp_test_between(rng, 1, top);
    }
    uint8_t *cells = malloc((size_t)width * height);
    ck_assert_ptr_nonnull(cells);
    for (uint32_t i = 0; i < width * height; i++)
        cells[i] = tp_test_percent(rng, percent) ? '@' : (uint8_t) ".GS"[tp_test_below(rng, 3)];
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile, 1), 0);
    free(cells);
    return map;
}

static uint32_t random_cell(struct tp_test_rng *rng, const struct tp_map *map)
{
    return tp_test_below(rng, map->width * map->height);
}

static void random_batch(struct tp_test_rng *rng, struct play *play)
{
    struct tp_change changes[8];
    uint32_t count = tp_test_between(rng, 1, 8);
    const struct tp_map *map = play->map;
    for (uint32_t i = 0; i < count; i++) {
        struct tp_change *change = &changes[i];
        uint32_t cell = random_cell(rng, map);
        *change = (struct tp_change){
            .kind = tp_test_percent(rng, 30) ? TP_CHANGE_RECT : TP_CHANGE_CELL,
            .class_to = tp_test_percent(rng, 45) ? '@' : (uint8_t) ".GS"[tp_test_below(rng, 3)],
            .x = cell % map->width,
            .y = cell / map->width};
        change->width = tp_test_between(rng, 1, map->width - change->x < 4 ? map->width - change->x : 4);
        change->height = tp_test_between(rng, 1, map->height - change->y < 4 ? map->height - change->y : 4);
    }
    play_apply(play, changes, count);
}

static struct tp_session_params random_params(struct tp_test_rng *rng, const struct tp_map *map)
{
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("dstarlite");
    params.neighbours = neighbours[tp_test_below(rng, 3)];
    params.corners = (enum tp_corners)tp_test_below(rng, 3);
    params.start = random_cell(rng, map);
    params.goal = random_cell(rng, map);
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    return params;
}

/* What one tick's reply tells of the plan: the move made, and the path from there on, cost what is least. Whether it told. */
static bool check_plan(struct play *play, const struct tp_tick_reply *reply, uint64_t *costs)
{
    static uint32_t path[PATH_MAX_CELLS];
    if (reply->to == reply->from && reply->status != TP_STATUS_UNREACHABLE)
        return reply->status == TP_STATUS_ARRIVED;
    ref_costs_to(&play->plain, play->goal, costs);
    uint64_t least = costs[reply->from];
    if (reply->status == TP_STATUS_UNREACHABLE) {
        PLAY_SAY(play, least == UINT64_MAX || !play->plain.weight[play->goal],
                 "UNREACHABLE, but a way costs %llu", (unsigned long long)least);
        return true;
    }
    path[0] = reply->from;
    uint32_t count = 1 + tp_session_path(play->session, path + 1, PATH_MAX_CELLS - 1);
    PLAY_SAY(play, reply->flags & TP_FLAG_PATH_COMPLETE, "flags %x", reply->flags);
    PLAY_SAY(play, path[count - 1] == play->goal, "the path ends on %u", path[count - 1]);
    uint64_t cost = ref_walk_cost(&play->plain, path, count);
    PLAY_SAY(play, cost == least, "the plan from %u costs %llu, the least is %llu", reply->from,
             (unsigned long long)cost, (unsigned long long)least);
    return true;
}

/* Walks on while the map stands still: the walk costs what was least from where it began. */
static void check_walk(struct play *play, uint64_t *costs)
{
    ref_costs_to(&play->plain, play->goal, costs);
    uint32_t from = play->cell;
    uint64_t before = play->cost;
    struct tp_tick_reply reply =
        play_until_settled(play, NULL, 4ull * play->map->width * play->map->height + 10);
    if (reply.status == TP_STATUS_ARRIVED)
        PLAY_SAY(play, from == play->goal || play->cost - before == costs[from],
                 "the walk from %u cost %llu, the least is %llu", from,
                 (unsigned long long)(play->cost - before), (unsigned long long)costs[from]);
    else
        PLAY_SAY(play,
                 reply.status == TP_STATUS_UNREACHABLE &&
                     (costs[from] == UINT64_MAX || !play->plain.weight[play->goal]),
                 "status %d on %u", (int)reply.status, play->cell);
}

static void block(struct play *play, uint32_t cell)
{
    struct tp_change change = {.kind = TP_CHANGE_CELL, .class_to = '@', .x = cell % play->map->width, .y = cell / play->map->width};
    play_apply(play, &change, 1);
}

/* After each batch, and whatever else happened, the plan is as good as a fresh one. The agent is caught in a blocked cell in so many
 * percent of the batches. */
static void many_batches(const char *name, bool small_budgets, uint32_t caught, uint64_t batches)
{
    struct tp_test_rng rng = tp_test_rng(name);
    uint64_t compared = 0, repaired = 0, restarts = 0;
    for (uint64_t done = 0, map_number = 0; done < batches; map_number++) {
        struct tp_map *map = random_map(&rng);
        struct tp_session_params params = random_params(&rng, map);
        uint64_t *costs = malloc((size_t)map->width * map->height * sizeof *costs);
        ck_assert_ptr_nonnull(costs);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label,
                 "%s, map %llu (%ux%u, n %d, corners %d, start %u, goal %u; TICKPATH_SEED=%llu)", name,
                 (unsigned long long)map_number, map->width, map->height, (int)params.neighbours,
                 (int)params.corners, params.start, params.goal, (unsigned long long)tp_test_seed());
        for (uint32_t i = tp_test_between(&rng, 10, 40); i > 0; i--, done++) {
            random_batch(&rng, &play);
            if (tp_test_percent(&rng, 10) || play.cell == play.goal)
                play_retarget(&play, random_cell(&rng, map));
            if (tp_test_percent(&rng, 10) && play.goal + 1 < map->width * map->height)
                play_retarget(&play, play.goal + 1);
            if (tp_test_percent(&rng, 10))
                play_at(&play, random_cell(&rng, map));
            if (caught && play.cell != play.goal && tp_test_percent(&rng, caught))
                block(&play, play.cell);
            struct tp_tick_reply reply;
            uint64_t tries = 0, tries_max = 1;
            bool told;
            do {
                struct tp_budget budget =
                    tp_test_percent(&rng, 50)
                        ? tp_budget_k(tp_test_between(&rng, 1, 40))
                        : tp_budget_r(tp_test_between(&rng, 1, 20), 500, tp_test_between(&rng, 1, 3));
                reply = play_tick(&play, small_budgets ? &budget : NULL);
                repaired += (reply.flags & TP_FLAG_REPAIRED) != 0;
                /* a plan to where the goal was is followed while it is far from where it is, and one of an older version while
                 * the newer one is being taken up */
                bool elsewhere =
                    small_budgets && reply.to != reply.from && !(reply.flags & TP_FLAG_PATH_COMPLETE);
                told = !elsewhere && check_plan(&play, &reply, costs);
                if (small_budgets)
                    tries_max = 20ull * map->width * map->height + 100;
            } while (!told && ++tries < tries_max);
            PLAY_SAY(&play, told, "status %d on %u after %llu ticks", (int)reply.status, reply.to,
                     (unsigned long long)tries);
            compared++;
        }
        check_walk(&play, costs);
        restarts += play.stats.restarts;
        play_close(&play);
        free(costs);
        tp_map_unref(map);
    }
    printf("%s: %llu plans compared, %llu ticks repaired, %llu restarts\n", name,
           (unsigned long long)compared, (unsigned long long)repaired, (unsigned long long)restarts);
    ck_assert_uint_gt(repaired, batches / 10);
}

START_TEST(it_equals_a_fresh_search_after_every_batch)
{
    many_batches("batches", false, 0, tp_test_promised(300, 10000));
}
END_TEST

START_TEST(it_equals_a_fresh_search_with_small_budgets)
{
    many_batches("batches under small budgets", true, 0, tp_test_promised(300, 10000));
}
END_TEST

/* Moves out of a blocked cell cost less than h says: the search has to go on further for them. */
START_TEST(it_equals_a_fresh_search_where_the_agent_is_caught)
{
    many_batches("caught", _i, 80, tp_test_steps(2000, 60000));
}
END_TEST

/* Batches far larger than the purse: they are taken up over many ticks, in which the agent walks on, and nothing begins anew. */
START_TEST(a_large_batch_is_taken_up_over_many_ticks)
{
    struct tp_map *map = tp_test_map_free(150, 90);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("dstarlite");
    params.goal = 150 * 90 - 1;
    struct play play;
    play_open(&play, &params, map);
    play_tick(&play, NULL);
    struct tp_budget all = tp_budget_k(TP_BUDGET_UNLIMITED);
    play_tick(&play, &all);
    struct tp_change changes[] = {
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 20, .y = 1, .width = 100, .height = 3},
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 60, .y = 10, .width = 10, .height = 80}};
    play_apply(&play, changes, 2);
    struct tp_budget small = tp_budget_r(5, 500, 4);
    uint64_t looked = 0;
    struct tp_tick_reply reply;
    do {
        reply = play_tick(&play, &small);
        looked += reply.work.traced - reply.work.rekeyed;
        ck_assert(reply.status == TP_STATUS_MOVING || looked >= 300 + 800); /* then it waits for the repair */
    } while (!(reply.flags & TP_FLAG_PATH_COMPLETE) && play.ticks < 20000);
    ck_assert_uint_ge(looked, 300 + 800);
    ck_assert_uint_le(looked, 300 + 800 + 6); /* and a step for each tile */
    ck_assert_uint_eq(play.stats.restarts, 0);
    uint64_t *costs = malloc(150 * 90 * sizeof *costs);
    ck_assert_ptr_nonnull(costs);
    ck_assert(check_plan(&play, &reply, costs));
    check_walk(&play, costs);
    /* the next batch comes while the last one is being looked at: both are taken up, one after the other */
    play_at(&play, 0);
    play_tick(&play, &all);
    for (int i = 0; i < 2; i++) {
        changes[0].class_to = i ? '.' : '@';
        changes[0].y = 5;
        play_apply(&play, changes, 1);
        ck_assert(!(play_tick(&play, &small).flags & TP_FLAG_PATH_COMPLETE));
    }
    ck_assert(play_tick(&play, &all).flags & TP_FLAG_PATH_COMPLETE);
    ck_assert_uint_eq(play.stats.restarts, 0);
    check_walk(&play, costs);
    free(costs);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* Each tick brings more changes than its purse can take up, far from the agent's way: they don't delay it by a tick. */
START_TEST(a_flood_elsewhere_delays_nobody)
{
    enum { SIDE = 96, WALL = 20, CHANGES_MAX = 4000 };
    static const uint32_t floods[] = {0, 100, CHANGES_MAX};
    static struct tp_change changes[CHANGES_MAX];
    struct tp_test_rng rng = tp_test_rng("flood");
    uint64_t undisturbed = 0;
    for (size_t i = 0; i < 3; i++) {
        struct tp_map *map = tp_test_map_free(SIDE, SIDE);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("dstarlite");
        params.goal = SIDE - 1;
        params.budget = tp_budget_r(60, 500, 10);
        struct play play;
        play_open(&play, &params, map);
        tp_map_unref(map);
        struct tp_change wall = {
            .kind = TP_CHANGE_RECT, .class_to = '@', .y = WALL, .width = SIDE, .height = 1};
        play_apply(&play, &wall, 1);
        struct tp_tick_reply reply;
        do {
            for (uint32_t c = 0; c < floods[i]; c++)
                changes[c] = (struct tp_change){.kind = TP_CHANGE_CELL,
                                                .class_to = tp_test_percent(&rng, 50) ? '@' : '.',
                                                .x = tp_test_below(&rng, SIDE),
                                                .y = tp_test_between(&rng, WALL + 1, SIDE - 1)};
            if (floods[i])
                play_apply(&play, changes, floods[i]);
            reply = play_tick(&play, NULL);
        } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 1000);
        if (i == 0)
            undisturbed = play.ticks;
        ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
        ck_assert_uint_eq(play.ticks, undisturbed);
        ck_assert_uint_eq(play.stats.restarts, 0);
        play_close(&play);
    }
}
END_TEST

/* Vehicles begin anew for every change, but not before a plan is made and walked for a while. */
START_TEST(a_flood_stops_no_vehicle)
{
    enum { WIDTH = 110, HEIGHT = 16, WALL = 6 };
    uint64_t undisturbed = 0;
    for (int flood = 0; flood < 2; flood++) {
        struct tp_map *map = tp_test_map_free(WIDTH, HEIGHT);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("dstarlite");
        params.motion = TP_MOTION_INERTIA;
        params.goal = WIDTH - 1;
        params.budget = tp_budget_k(300);
        struct play play;
        play_open(&play, &params, map);
        tp_map_unref(map);
        struct tp_change wall = {.kind = TP_CHANGE_RECT, .class_to = '@', .y = WALL, .width = WIDTH, .height = 1};
        play_apply(&play, &wall, 1);
        struct tp_tick_reply reply;
        do {
            if (flood)
                play_set(&play, 5, HEIGHT - 1, play.ticks % 2 ? '@' : '.');
            reply = play_tick(&play, NULL);
        } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 5000);
        ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
        if (flood)
            ck_assert_uint_le(play.ticks, 4 * undisturbed);
        undisturbed = play.ticks;
        printf("a vehicle: %llu ticks, %llu restarts\n", (unsigned long long)play.ticks,
               (unsigned long long)play.stats.restarts);
        play_close(&play);
    }
}
END_TEST

/* The same all over the map, on the agent's way as well, under budgets of every size: runs take many ticks, each of which changes
 * the map again. The agent gets on, and says UNREACHABLE only where it is so (the play checks it). */
START_TEST(a_flood_everywhere_stops_nobody)
{
    enum { SIDE = 64, CHANGES_MAX = 1200 };
    static struct tp_change changes[CHANGES_MAX];
    struct tp_test_rng rng = tp_test_rng("flood everywhere");
    uint64_t lives = tp_test_steps(12, 200), ticks = 0;
    for (uint64_t life = 0; life < lives; life++) {
        struct tp_map *map = tp_test_map_free(SIDE, SIDE);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("dstarlite");
        params.goal = SIDE * SIDE - 1;
        uint32_t size = tp_test_between(&rng, 2, 100), count = tp_test_between(&rng, 1, CHANGES_MAX);
        params.budget = life % 2 ? tp_budget_r(size, 500, 10) : tp_budget_k(size);
        struct play play;
        play_open(&play, &params, map);
        tp_map_unref(map);
        snprintf(play.label, sizeof play.label, "life %llu, %s %u, %u changes a tick (TICKPATH_SEED=%llu)",
                 (unsigned long long)life, life % 2 ? "R" : "k", size, count,
                 (unsigned long long)tp_test_seed());
        struct tp_tick_reply reply;
        do {
            for (uint32_t c = 0; c < count; c++)
                changes[c] = (struct tp_change){.kind = TP_CHANGE_CELL,
                                                .class_to = tp_test_percent(&rng, 10) ? '@' : '.',
                                                .x = tp_test_below(&rng, SIDE),
                                                .y = tp_test_below(&rng, SIDE)};
            changes[count - 1].x = changes[count - 1].y = SIDE - 1; /* the goal stays free */
            changes[count - 1].class_to = '.';
            play_apply(&play, changes, count);
            reply = play_tick(&play, NULL);
        } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 40000);
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d on %u after %llu moves",
                 (int)reply.status, reply.to, (unsigned long long)play.moves);
        ticks += play.ticks;
        play_close(&play);
    }
    printf("floods: %llu lives, %llu ticks\n", (unsigned long long)lives, (unsigned long long)ticks);
}
END_TEST

/* A door that opens and closes for ever: memory stays where it was, for the queue holds a state once. */
START_TEST(a_door_that_never_rests_takes_no_memory)
{
    struct tp_map *map = tp_test_map_random(&(struct tp_test_rng){7}, 60, 60, 10);
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("dstarlite");
    params.goal = 60 * 60 - 1;
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    struct play play;
    play_open(&play, &params, map);
    uint64_t bytes = 0, rounds = tp_test_steps(400, 10000);
    for (uint64_t i = 0; i < rounds; i++) {
        play_set(&play, 30 + i % 3, 30, i % 2 ? '@' : '.');
        play_set(&play, 1, 1 + i % 2, '.');
        play_tick(&play, NULL);
        play_at(&play, i % 5);
        if (i == rounds / 2)
            bytes = play.stats.bytes;
    }
    ck_assert_uint_le(play.stats.bytes, bytes + bytes / 4);
    ck_assert_uint_eq(play.stats.restarts, 0);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* ---- unknown maps ---- */

/* What an agent has seen of a map, by the test's own account. */
static void see(struct ref_problem *believed, const struct ref_problem *truth, uint32_t cell, uint32_t radius)
{
    int64_t x = cell % truth->width, y = cell / truth->width, r = radius;
    uint16_t *weight = (uint16_t *)believed->weight;
    for (int64_t cy = y - r; cy <= y + r; cy++)
        for (int64_t cx = x - r; cx <= x + r; cx++)
            if (cx >= 0 && cy >= 0 && cx < (int64_t)truth->width && cy < (int64_t)truth->height)
                weight[cy * truth->width + cx] = truth->weight[cy * truth->width + cx];
}

/* Each move is the first of a shortest path over what is believed. */
START_TEST(each_move_over_an_unknown_map_is_the_best_believed)
{
    struct tp_test_rng rng = tp_test_rng("unknown");
    uint64_t cases = tp_test_steps(60, 1500), moves = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_map *map = random_map(&rng), *known = NULL;
        struct tp_session_params params = random_params(&rng, map);
        params.knowledge = tp_test_percent(&rng, 50) ? TP_KNOWLEDGE_FREESPACE : TP_KNOWLEDGE_MAP;
        if (params.knowledge == TP_KNOWLEDGE_MAP)
            params.known = known = tp_test_map_random(&rng, map->width, map->height, 15);
        uint32_t least = params.neighbours == TP_NEIGHBOURS_16 ? 2 : 1;
        params.sensor_radius = tp_test_between(&rng, least, 4);
        struct play play;
        play_open(&play, &params, map);
        snprintf(play.label, sizeof play.label,
                 "case %llu (%ux%u, n %d, corners %d, knowledge %d, sight %u; TICKPATH_SEED=%llu)",
                 (unsigned long long)i, map->width, map->height, (int)params.neighbours, (int)params.corners,
                 (int)params.knowledge, params.sensor_radius, (unsigned long long)tp_test_seed());
        uint32_t cells = map->width * map->height;
        uint64_t *costs = malloc(cells * sizeof *costs);
        uint16_t *weight = malloc(cells * sizeof *weight);
        ck_assert(costs && weight);
        for (uint32_t cell = 0; cell < cells; cell++)
            weight[cell] =
                known ? map->profile.weight[tp_map_class(known, cell % map->width, cell / map->width)]
                      : play.plain.least_weight;
        struct ref_problem believed = play.plain;
        believed.weight = weight;
        struct tp_tick_reply reply;
        do {
            see(&believed, &play.plain, play.cell, params.sensor_radius);
            struct tp_budget budget = tp_budget_k(tp_test_between(&rng, 1, 300));
            reply = play_tick(&play, i % 2 ? NULL : &budget);
            if (reply.to == reply.from && reply.status != TP_STATUS_UNREACHABLE)
                continue;
            ref_costs_to(&believed, play.goal, costs);
            uint64_t cost = 0;
            if (reply.status == TP_STATUS_UNREACHABLE)
                PLAY_SAY(&play, costs[reply.from] == UINT64_MAX || !weight[play.goal],
                         "UNREACHABLE, but %llu is believed", (unsigned long long)costs[reply.from]);
            else
                PLAY_SAY(&play,
                         ref_step(&believed, reply.from, reply.to, &cost) &&
                             cost + costs[reply.to] == costs[reply.from],
                         "%u to %u: %llu + %llu, the least is %llu", reply.from, reply.to,
                         (unsigned long long)cost, (unsigned long long)costs[reply.to],
                         (unsigned long long)costs[reply.from]);
            moves++;
        } while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE &&
                 play.ticks < 200000);
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE,
                 "status %d", (int)reply.status);
        play_close(&play);
        free(costs);
        free(weight);
        if (known)
            tp_map_unref(known);
        tp_map_unref(map);
    }
    printf("unknown maps: %llu moves compared\n", (unsigned long long)moves);
}
END_TEST

/* ---- other spaces ---- */

static uint64_t walk(const char *name, const struct tp_session_params *given, const struct tp_map *map,
                     uint64_t k, bool *arrived)
{
    struct tp_session_params params = *given;
    params.algorithm = tp_algorithm_find(name);
    params.budget = tp_budget_k(k);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_session *session;
    struct tp_refusal refusal;
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
    struct tp_tick_reply reply;
    uint64_t ticks = 0;
    do
        tp_session_tick(session, map, NULL, &reply);
    while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE && ++ticks < 1000000);
    *arrived = reply.status == TP_STATUS_ARRIVED;
    ck_assert_msg(*arrived || reply.status == TP_STATUS_UNREACHABLE, "%s: status %d", name,
                  (int)reply.status);
    ck_assert_uint_eq(reply.flags & (TP_FLAG_RESTARTED | TP_FLAG_NODE_CAP), 0);
    tp_session_close(session);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    return reply.cost;
}

static void compare_with_astar(struct tp_test_rng *rng, const struct tp_session_params *params,
                               const struct tp_map *map, const char *label)
{
    bool arrived, arrives;
    uint64_t least = walk("astar", params, map, TP_BUDGET_UNLIMITED, &arrives);
    for (int i = 0; i < 2; i++) {
        uint64_t k = i ? tp_test_between(rng, 1, 20) : TP_BUDGET_UNLIMITED;
        uint64_t cost = walk("dstarlite", params, map, k, &arrived);
        ck_assert_msg(arrived == arrives && cost == least,
                      "%s: %llu, arrived %d; A*: %llu, %d (TICKPATH_SEED=%llu)", label,
                      (unsigned long long)cost, arrived, (unsigned long long)least, arrives,
                      (unsigned long long)tp_test_seed());
    }
}

/* One-way edges, parallel ones, loops; a hub that more edges lead to than an expansion remembers. */
START_TEST(it_is_optimal_on_directed_graphs)
{
    struct tp_test_rng rng = tp_test_rng("graphs");
    uint64_t cases = tp_test_steps(80, 3000);
    for (uint64_t i = 0; i < cases; i++) {
        uint32_t nodes = tp_test_percent(&rng, 10) ? 700 : tp_test_between(&rng, 2, 60);
        uint32_t edge_count = tp_test_between(&rng, 1, 5 * nodes), filled = 0;
        struct tp_graph_edge *edges = malloc((edge_count + nodes) * sizeof *edges);
        double *x = malloc(nodes * sizeof *x), *y = malloc(nodes * sizeof *y);
        ck_assert(edges && x && y);
        for (uint32_t node = 0; node < nodes; node++) {
            x[node] = tp_test_below(&rng, 100);
            y[node] = tp_test_below(&rng, 100);
            if (nodes == 700) /* the hub */
                edges[filled++] = (struct tp_graph_edge){node, 5, tp_test_between(&rng, 1, 1000)};
        }
        for (uint32_t edge = 0; edge < edge_count; edge++) {
            uint32_t from = tp_test_below(&rng, nodes);
            edges[filled++] =
                (struct tp_graph_edge){from, tp_test_below(&rng, nodes), tp_test_between(&rng, 1, 1000)};
        }
        bool placed = tp_test_percent(&rng, 50);
        struct tp_map *map = tp_test_map_graph(nodes, edges, filled, placed ? x : NULL, placed ? y : NULL);
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.start = tp_test_below(&rng, nodes);
        params.goal = tp_test_below(&rng, nodes);
        char label[96];
        snprintf(label, sizeof label, "graph %llu: %u nodes, %u edges", (unsigned long long)i, nodes, filled);
        compare_with_astar(&rng, &params, map, label);
        tp_map_unref(map);
        free(edges);
        free(x);
        free(y);
    }
}
END_TEST

START_TEST(it_is_optimal_for_vehicles)
{
    struct tp_test_rng rng = tp_test_rng("vehicles");
    uint64_t cases = tp_test_steps(20, 300);
    for (uint64_t i = 0; i < cases; i++) {
        struct tp_map *map = tp_test_map_random(&rng, tp_test_between(&rng, 5, 25),
                                                tp_test_between(&rng, 5, 25), tp_test_between(&rng, 0, 25));
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.motion = TP_MOTION_INERTIA;
        params.start = random_cell(&rng, map);
        params.goal = random_cell(&rng, map);
        char label[64];
        snprintf(label, sizeof label, "track %llu", (unsigned long long)i);
        if (tp_map_passable(map, params.start % map->width, params.start / map->width))
            compare_with_astar(&rng, &params, map, label);
        tp_map_unref(map);
    }
}
END_TEST

static Suite *dstar_suite(void)
{
    Suite *suite = suite_create("D* Lite");
    TCase *tcase = tcase_create("D* Lite");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 60);
    tcase_add_test(tcase, the_queue_gives_the_least_key);
    tcase_add_test(tcase, it_equals_a_fresh_search_after_every_batch);
    tcase_add_test(tcase, it_equals_a_fresh_search_with_small_budgets);
    tcase_add_loop_test(tcase, it_equals_a_fresh_search_where_the_agent_is_caught, 0, 2);
    tcase_add_test(tcase, a_large_batch_is_taken_up_over_many_ticks);
    tcase_add_test(tcase, a_flood_elsewhere_delays_nobody);
    tcase_add_test(tcase, a_flood_stops_no_vehicle);
    tcase_add_test(tcase, a_flood_everywhere_stops_nobody);
    tcase_add_test(tcase, a_door_that_never_rests_takes_no_memory);
    tcase_add_test(tcase, each_move_over_an_unknown_map_is_the_best_believed);
    tcase_add_test(tcase, it_is_optimal_on_directed_graphs);
    tcase_add_test(tcase, it_is_optimal_for_vehicles);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_dstar_lite", dstar_suite);
}
