/* What guides a session (search/guide.c): how long an agent waits for its way, what it does when it is moved elsewhere, when a door
 * ahead of it closes, when its goal moves or can't be reached; what a tick pays; that sharing changes nothing, and want of memory
 * only how well it is led: without a way it watches all of its path. */
#include "base/limits.h"
#include "guide/field.h"
#include "map/layer.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/mind.h"
#include "tests/lib/play.h"

#include <stdlib.h>
#include <string.h>

enum { WAIT_TICKS = 64 };

static struct tp_session_params guided(const struct tp_map *map, uint32_t x, uint32_t y, uint32_t goal_x, uint32_t goal_y)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("guided");
    params.start = y * map->width + x;
    params.goal = goal_y * map->width + goal_x;
    params.w_milli = 1500;
    params.budget = tp_budget_k(16);
    return params;
}

static void begin(struct play *play, const struct tp_session_params *params, const struct tp_map *map, const char *name)
{
    play_open(play, params, map);
    snprintf(play->label, sizeof play->label, "%s", name);
}

/* Walls from above and from below in turn, `gap` cells apart: the way is several times the distance. */
static struct tp_map *winding(uint32_t width, uint32_t height, uint32_t gap)
{
    struct tp_map *map = tp_test_map_free(width, height);
    for (uint32_t x = gap, up = 0; x + gap < width; x += gap, up = !up)
        tp_test_set_rect(&map, x, up ? 4 : 0, 1, height - 4, '@');
    return map;
}

/* ---- Waiting ---- */

/* Ticks until the first move. */
static uint64_t ticks_to_first_move(struct play *play, uint64_t units)
{
    struct tp_tick_reply reply;
    do {
        reply = play_tick(play, NULL);
        if (reply.status == TP_STATUS_SEARCHING)
            PLAY_SAY(play, reply.work.guide == units || reply.work.expansions, "waits and pays %llu",
                     (unsigned long long)reply.work.guide);
    } while (reply.status == TP_STATUS_SEARCHING);
    PLAY_SAY(play, reply.status == TP_STATUS_MOVING, "status %d", (int)reply.status);
    return play->ticks;
}

START_TEST(waits_for_a_way_but_not_for_ever)
{
    struct tp_map *map = winding(400, 300, 20);
    static const struct {
        uint32_t units;
        uint64_t least, most; /* ticks until it moves */
    } cases[] = {{1, WAIT_TICKS, WAIT_TICKS + 2}, {10, 3, WAIT_TICKS + 2}, {100, 3, WAIT_TICKS}, {100000, 1, 2}, {0, 1, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tp_session_params params = guided(map, 2, 2, 397, 297);
        struct play play;
        params.guide_units = cases[i].units;
        begin(&play, &params, map, "waiting");
        uint64_t ticks = ticks_to_first_move(&play, cases[i].units);
        PLAY_SAY(&play, ticks >= cases[i].least && ticks <= cases[i].most, "%u units a tick: first move in tick %llu",
                 cases[i].units, (unsigned long long)ticks);
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 200000);
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
        play_close(&play);
    }
    tp_map_unref(map);
}
END_TEST

/* Put down elsewhere again and again, off its way: it waits for another no longer than at the start, and comes to its goal. */
START_TEST(an_agent_that_is_lost_finds_another_way)
{
    struct tp_test_rng rng = tp_test_rng("lost");
    struct tp_map *map = winding(300, 200, 25);
    for (int n = 0; n < 4; n++) {
        struct tp_session_params params = guided(map, 2, 2, 297, 197);
        struct play play;
        params.guide_units = n % 2 ? 100 : 3;
        begin(&play, &params, map, "lost");
        for (int i = 0; i < 12; i++) {
            uint32_t still = 0, longest = 0;
            play_at(&play, tp_test_free_cell(&rng, map));
            for (int tick = 0; tick < 100; tick++) {
                struct tp_tick_reply reply = play_tick(&play, NULL);
                still = reply.from == reply.to && reply.status == TP_STATUS_SEARCHING ? still + 1 : 0;
                longest = still > longest ? still : longest;
            }
            PLAY_SAY(&play, longest <= WAIT_TICKS + 2, "stood still for %u ticks", longest);
        }
        PLAY_SAY(&play, play.stats.guide > 12 * 3 * 20, "paid but %llu units", (unsigned long long)play.stats.guide);
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 100000);
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
        play_close(&play);
    }
    tp_map_unref(map);
}
END_TEST

/* ---- Maps that change ---- */

/* The nearer of two doors closes while the agent is on its way there: it turns long before it could see that, and goes by the other;
 * when the near one opens again while it is still near, it turns back. */
START_TEST(turns_before_a_door_that_closed_ahead)
{
    enum { SIDE = 200, WALL = 120, NEAR = 100, FAR = 10, FREE = 20 };
    for (int reopens = 0; reopens < 2; reopens++) {
        struct tp_map *map = tp_test_map_free(SIDE, SIDE);
        tp_test_set_rect(&map, WALL, 0, 1, SIDE, '@');
        tp_test_set_rect(&map, WALL, NEAR, 1, 2, '.');
        tp_test_set_rect(&map, WALL, FAR, 1, 2, '.');
        struct tp_session_params params = guided(map, 20, NEAR, 180, NEAR);
        struct play play;
        begin(&play, &params, map, "door");
        while (play.cell % SIDE < 60) {
            struct tp_tick_reply reply = play_tick(&play, NULL);
            PLAY_SAY(&play, play.ticks < 200 && reply.status != TP_STATUS_UNREACHABLE, "at cell %u", play.cell);
        }
        uint64_t closed_at = play.ticks, least = SIDE;
        play_set(&play, WALL, NEAR, '@');
        play_set(&play, WALL, NEAR + 1, '@');
        struct tp_tick_reply reply;
        bool by_far = false;
        do {
            reply = play_tick(&play, NULL);
            uint32_t x = play.cell % SIDE, y = play.cell / SIDE;
            uint64_t dx = x < WALL ? WALL - x : x - WALL, dy = y < NEAR ? NEAR - y : y - NEAR;
            if (!by_far && (dx > dy ? dx : dy) < least)
                least = dx > dy ? dx : dy;
            by_far |= x == WALL && y <= FAR + 1;
            if (reopens && play.ticks == closed_at + 20) {
                play_set(&play, WALL, NEAR, '.');
                play_set(&play, WALL, NEAR + 1, '.');
            }
        } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 2000);
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
        PLAY_SAY(&play, by_far == !reopens, "which door it took");
        PLAY_SAY(&play, reopens || least >= FREE, "came as near as %llu to the door that had closed", (unsigned long long)least);
        /* not much longer than the way would have been for one who knew */
        uint64_t known = reopens ? 160 + 60 : 40 + 2 * 110 + 20;
        PLAY_SAY(&play, play.stats.moves <= known + known / 4, "%llu moves", (unsigned long long)play.stats.moves);
        play_close(&play);
        tp_map_unref(map);
    }
}
END_TEST

/* A goal that moves a cell every third tick is caught, and the way is not paid for anew at each of its steps. */
START_TEST(a_goal_that_moves_is_caught)
{
    struct tp_map *map = winding(300, 120, 50);
    struct tp_session_params params = guided(map, 2, 2, 180, 60);
    struct play play;
    begin(&play, &params, map, "chase");
    uint32_t x = 180;
    struct tp_tick_reply reply;
    do {
        if (play.ticks % 3 == 2 && x < 196)
            play_retarget(&play, 60 * 300 + ++x);
        reply = play_tick(&play, NULL);
    } while (reply.status != TP_STATUS_ARRIVED && play.ticks < 3000);
    PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
    PLAY_SAY(&play, play.stats.guide <= 8000, "%llu units", (unsigned long long)play.stats.guide);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* A goal that is put behind the agent, far away: the way to where it was leads no more, however long another takes to be found. */
START_TEST(turns_for_a_goal_put_behind)
{
    enum { WIDTH = 1200, HEIGHT = 120, Y = 60 };
    struct tp_map *map = tp_test_map_free(WIDTH, HEIGHT);
    struct tp_session_params params = guided(map, 500, Y, WIDTH - 10, Y);
    struct play play;
    params.guide_units = 5;
    begin(&play, &params, map, "behind");
    while (play.cell % WIDTH < 560)
        play_tick(&play, NULL);
    PLAY_SAY(&play, play.stats.guide > 100, "has no way yet");
    play_retarget(&play, Y * WIDTH + 10);
    uint32_t wrong = 0, at;
    do {
        at = play.cell % WIDTH;
        play_tick(&play, NULL);
        wrong += play.cell % WIDTH > at;
    } while (play.cell % WIDTH >= at && play.ticks < 2000);
    PLAY_SAY(&play, wrong <= 1, "%u steps to where the goal was", wrong);
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 100000);
    PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

START_TEST(unreachable_is_known_at_once)
{
    enum { SIDE = 150 };
    struct tp_map *map = tp_test_map_free(SIDE, SIDE);
    tp_test_set_rect(&map, 70, 0, 2, SIDE, '@');
    struct tp_session_params params = guided(map, 5, 5, 140, 140);
    struct play play;
    begin(&play, &params, map, "unreachable");
    for (int i = 0; i < 3; i++) {
        struct tp_tick_reply reply = play_tick(&play, NULL);
        PLAY_SAY(&play, reply.status == TP_STATUS_UNREACHABLE && !reply.work.expansions && !reply.work.guide, "status %d",
                 (int)reply.status);
    }
    play_set(&play, 70, 90, '.');
    play_set(&play, 71, 90, '.');
    for (int i = 0; i < 30; i++)
        PLAY_SAY(&play, play_tick(&play, NULL).status != TP_STATUS_UNREACHABLE, "there is a way");
    play_set(&play, 71, 90, '@'); /* what closed leaves the labels: the search finds out, in its time */
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 5000);
    PLAY_SAY(&play, reply.status == TP_STATUS_UNREACHABLE, "status %d", (int)reply.status);
    play_set(&play, 71, 20, '.');
    play_set(&play, 70, 20, '.');
    reply = play_until_settled(&play, NULL, 5000);
    PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* Where a door closed behind the labels' back, the field tells that there is no way, and none is looked for over nodes. */
START_TEST(what_leads_nowhere_is_not_paid_for)
{
    enum { WIDTH = 500, HEIGHT = 400 };
    struct tp_map *map = tp_test_map_free(WIDTH, HEIGHT);
    tp_test_set_rect(&map, 400, 0, 1, HEIGHT, '@');
    tp_test_set_rect(&map, 400, 200, 1, 1, '.');
    struct tp_session_params params = guided(map, 5, 5, 490, 390);
    struct play play;
    params.guide_units = 100;
    begin(&play, &params, map, "nowhere");
    for (int i = 0; i < 80; i++)
        play_tick(&play, NULL);
    play_set(&play, 400, 200, '@');
    uint64_t before = play.stats.guide;
    for (int i = 0; i < 300; i++)
        play_tick(&play, NULL);
    uint64_t paid = play.stats.guide - before;
    PLAY_SAY(&play, paid <= 2 * 8 * 7, "%llu units", (unsigned long long)paid);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

/* Of several goals those that no way joins to the agent are left out: it is led as if they were none. */
START_TEST(goals_out_of_reach_do_not_lead)
{
    enum { WIDTH = 300, HEIGHT = 200 };
    struct tp_map *map = winding(WIDTH, HEIGHT, 25);
    tp_test_set_rect(&map, 200, 2, 9, 9, '@');
    tp_test_set_rect(&map, 203, 4, 3, 3, '.');
    const uint32_t shut = 5 * WIDTH + 204;
    uint64_t units[2], moves[2];
    for (int among = 0; among < 2; among++) {
        struct tp_session_params params = guided(map, 140, 190, 40, 20);
        uint32_t open = params.goal;
        struct play play;
        params.goal_policy = TP_GOAL_NEAREST;
        if (among) {
            params.goal = shut;
            params.more_goals = &open;
            params.more_goal_count = 1;
        }
        begin(&play, &params, map, "out of reach");
        struct tp_tick_reply reply = play_until_settled(&play, NULL, 5000);
        PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED && reply.to == open, "status %d at %u", (int)reply.status, reply.to);
        units[among] = play.stats.guide;
        moves[among] = play.stats.moves;
        play_close(&play);
    }
    if (units[1] != units[0] || moves[1] > moves[0] + moves[0] / 10)
        ck_abort_msg("%llu units and %llu moves, with a goal out of reach %llu and %llu", (unsigned long long)units[0],
                     (unsigned long long)moves[0], (unsigned long long)units[1], (unsigned long long)moves[1]);
    tp_map_unref(map);
}
END_TEST

/* ---- What a tick pays ---- */

/* A tick pays no more than its cap, nothing when its time is over at the start, and what it did not pay it pays later. */
START_TEST(units_are_capped)
{
    struct tp_map *map = winding(400, 300, 20);
    struct tp_session_params params = guided(map, 2, 2, 397, 297);
    struct play play;
    params.guide_units = 40;
    begin(&play, &params, map, "caps");
    struct tp_budget budget = params.budget;
    budget.caps_guide = true;
    for (uint64_t max = 0; max < 60; max += 7) {
        budget.guide_max = max;
        struct tp_tick_reply reply = play_tick(&play, &budget);
        uint64_t want = max < 40 ? max : 40;
        PLAY_SAY(&play, reply.work.guide == want, "%llu units of %llu", (unsigned long long)reply.work.guide,
                 (unsigned long long)want);
    }
    struct play_clock clock = {.looks = 0};
    struct tp_budget over = play_deadline(&clock);
    PLAY_SAY(&play, play_tick(&play, &over).work.guide == 0, "paid when the time was over");
    clock.looks = 1000;
    PLAY_SAY(&play, play_tick(&play, &over).work.guide == 40, "paid less than it had time for");
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 200000);
    PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
    play_close(&play);
    tp_map_unref(map);
}
END_TEST

START_TEST(units_that_are_refused)
{
    struct tp_map *map = tp_test_map_free(10, 10);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_session_params params = guided(map, 0, 0, 9, 9);
    struct tp_session *session;
    struct tp_refusal refusal = {0};
    params.guide_units = TP_GUIDE_UNITS_MAX;
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
    tp_session_close(session);
    params.guide_units = TP_GUIDE_UNITS_MAX + 1;
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), TP_ERR_INVALID_ARGUMENT);
    ck_assert_str_eq(refusal.field, "guide_units");
    params.algorithm = tp_algorithm_find("tbwa");
    params.guide_units = 1;
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), TP_ERR_UNSUPPORTED);
    ck_assert_str_eq(refusal.field, "guide_units");
    params.guide_units = 0;
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
    tp_session_close(session);
    tp_pool_fini(&pool);
    tp_map_unref(map);
}
END_TEST

/* ---- Sharing, and memory ---- */

enum { CROWD = 8, TICKS = 400 };

/* What a session did in a tick. */
struct did {
    uint32_t to;
    enum tp_status status;
    bool whole; /* the path followed reaches the goal */
    uint64_t expansions, guide;
};

/* A map, its versions' layers, and the goals and units of a crowd. */
struct scene {
    const struct tp_map *versions[TICKS]; /* of each tick; several are the same */
    struct tp_session_params params[CROWD];
};

static void scene_init(struct scene *scene, struct tp_test_rng *rng)
{
    struct tp_map *map = winding(260, 200, 26), *layer;
    struct tp_layer_kind kind = {map->profile, 1, true, TP_BLOCKS_STRAIGHT};
    static const uint32_t units[] = {1, 17, 100, 1000};
    for (int i = 0; i < CROWD; i++) {
        scene->params[i] = guided(map, 2 + (uint32_t)i * 2, 2, 250, i % 2 ? 190u : 5u);
        scene->params[i].guide_units = units[tp_test_below(rng, 4)];
    }
    ck_assert_int_eq(tp_layer_build(&layer, map, &kind), 0);
    for (int tick = 0; tick < TICKS; tick++) {
        if (tick % 10 == 9) {
            struct tp_map *before = (struct tp_map *)tp_map_ref(map), *next;
            tp_test_set_rect(&map, 26 * tp_test_between(rng, 1, 8), tp_test_below(rng, 190), 1, 4,
                             tp_test_percent(rng, 50) ? '.' : '@');
            ck_assert_int_eq(tp_layer_follow(&next, layer, before, map, &kind), 0);
            tp_map_unref(before);
            tp_map_unref(layer);
            layer = next;
        }
        scene->versions[tick] = tp_map_ref(layer);
    }
    tp_map_unref(layer);
    tp_map_unref(map);
}

static void scene_fini(struct scene *scene)
{
    for (int i = 0; i < TICKS; i++)
        tp_map_unref(scene->versions[i]);
}

/* Plays sessions `first` to `end` together, over one cache. */
static void scene_play(const struct scene *scene, int first, int end, uint64_t bytes_max, struct did did[][TICKS],
                       struct tp_field_cache_stats *stats)
{
    struct tp_pool pool;
    struct tp_session *sessions[CROWD];
    struct tp_refusal refusal;
    tp_pool_init(&pool, NULL);
    struct tp_field_cache *cache = tp_field_cache_open(&pool, bytes_max);
    for (int i = first; i < end; i++) {
        struct tp_session_params params = scene->params[i];
        params.fields = cache;
        ck_assert_int_eq(tp_session_open(&sessions[i], &params, scene->versions[0], &pool, &refusal), 0);
    }
    for (int tick = 0; tick < TICKS; tick++)
        for (int i = first; i < end; i++) {
            struct tp_tick_reply reply;
            tp_session_tick(sessions[i], scene->versions[tick], NULL, &reply);
            did[i][tick] = (struct did){reply.to, reply.status, reply.flags & TP_FLAG_PATH_COMPLETE, reply.work.expansions,
                                         reply.work.guide};
            if (reply.work.guide > scene->params[i].guide_units)
                ck_abort_msg("session %d paid %llu units", i, (unsigned long long)reply.work.guide);
            tp_field_cache_stats(cache, stats);
            if (stats->bytes > bytes_max)
                ck_abort_msg("%llu bytes of %llu", (unsigned long long)stats->bytes, (unsigned long long)bytes_max);
        }
    for (int i = first; i < end; i++)
        tp_session_close(sessions[i]);
    tp_field_cache_close(cache);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
}

/* A session in a crowd over one cache does in each tick what it does alone. */
START_TEST(sharing_changes_nothing)
{
    static struct did together[CROWD][TICKS], alone[CROWD][TICKS];
    struct tp_test_rng rng = tp_test_rng("sharing");
    uint64_t rounds = tp_test_steps(2, 40);
    for (uint64_t round = 0; round < rounds; round++) {
        struct scene scene;
        struct tp_field_cache_stats shared, own;
        scene_init(&scene, &rng);
        scene_play(&scene, 0, CROWD, 64 << 20, together, &shared);
        uint64_t settled = 0;
        for (int i = 0; i < CROWD; i++) {
            scene_play(&scene, i, i + 1, 64 << 20, alone, &own);
            settled += own.settled;
            for (int tick = 0; tick < TICKS; tick++) {
                const struct did *a = &together[i][tick], *b = &alone[i][tick];
                if (a->to != b->to || a->status != b->status || a->expansions != b->expansions || a->guide != b->guide)
                    ck_abort_msg("session %d, tick %d: cell %u, %llu units in the crowd, %u, %llu alone", i, tick, a->to,
                                 (unsigned long long)a->guide, b->to, (unsigned long long)b->guide);
            }
        }
        ck_assert_uint_gt(shared.shared, 0);
        ck_assert_uint_lt(shared.settled, settled); /* work was spared */
        scene_fini(&scene);
    }
}
END_TEST

/* Without any room a session does what one without guide units does that waits, begins anew and orders its open states as it does, until it has a path to make
 * shorter; with little it is led now and then, and goes on all the same. */
START_TEST(no_room_is_no_harm)
{
    static struct did plain[CROWD][TICKS], poor[CROWD][TICKS];
    struct tp_test_rng rng = tp_test_rng("no room");
    struct scene scene;
    struct tp_field_cache_stats stats;
    scene_init(&scene, &rng);
    scene_play(&scene, 0, CROWD, 0, poor, &stats);
    ck_assert_uint_gt(stats.refused, 0);
    struct scene unguided = scene;
    for (int i = 0; i < CROWD; i++) {
        unguided.params[i].guide_units = 0;
        unguided.params[i].open_list = TP_OPEN_LIST_EXACT;
        unguided.params[i].pause_on_backtrack = TP_PAUSE_ON_BACKTRACK;
        unguided.params[i].restart = TP_RESTART_ON_RISE;
    }
    scene_play(&unguided, 0, CROWD, 0, plain, &stats);
    for (int i = 0; i < CROWD; i++)
        for (int tick = 0; tick < TICKS && !poor[i][tick].whole; tick++)
            if (plain[i][tick].to != poor[i][tick].to || poor[i][tick].guide || plain[i][tick].guide)
                ck_abort_msg("session %d, tick %d: cell %u without units, %u without room", i, tick, plain[i][tick].to,
                             poor[i][tick].to);
    for (uint64_t pages = 1; pages <= 64; pages *= 2)
        scene_play(&scene, 0, CROWD, pages * 2048, poor, &stats);
    scene_fini(&scene);
}
END_TEST

/* Near ahead alone looks who has a way, and so learns from the guide what closes far off. Who has none looks at all of its path, with a mind and at rest. */
START_TEST(without_a_way_it_watches_all_of_its_path)
{
    enum { LENGTH = 400, FAR_STEPS = 120 };
    bool has_room = _i % 2, rests = _i / 2;
    struct tp_map *map = tp_test_map_free(LENGTH, 9), *open, *closed, *before;
    struct tp_layer_kind kind = {map->profile, 1, true, TP_BLOCKS_STRAIGHT};
    ck_assert_int_eq(tp_layer_build(&open, map, &kind), 0);
    before = (struct tp_map *)tp_map_ref(map);
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_session_params params = guided(map, 1, 4, LENGTH - 2, 4);
    params.fields = tp_field_cache_open(&pool, has_room ? 64 << 20 : 0);
    struct tp_session *session;
    struct tp_refusal refusal;
    ck_assert_int_eq(tp_session_open(&session, &params, open, &pool, &refusal), 0);
    if (!rests)
        mind_kept(session);
    struct tp_tick_reply reply;
    uint32_t cells[LENGTH] = {0}, count = 0;
    for (int tick = 0; tick < LENGTH / 2 && (rests ? session->mind != NULL || count == 0 : count == 0); tick++) {
        tp_session_tick(session, open, NULL, &reply);
        count = reply.flags & TP_FLAG_PATH_COMPLETE ? tp_session_path(session, cells, LENGTH) : 0;
    }
    ck_assert_uint_gt(count, FAR_STEPS);
    ck_assert_int_eq(session->mind == NULL, rests);
    tp_test_set_rect(&map, cells[FAR_STEPS] % LENGTH, cells[FAR_STEPS] / LENGTH, 1, 1, '@');
    ck_assert_int_eq(tp_layer_follow(&closed, open, before, map, &kind), 0);
    tp_session_tick(session, closed, NULL, &reply);
    bool restarted = reply.flags & TP_FLAG_RESTARTED;
    for (int tick = 0; tick < FAR_STEPS / 3 && has_room; tick++) {
        tp_session_tick(session, closed, NULL, &reply);
        restarted |= (reply.flags & TP_FLAG_RESTARTED) != 0;
    }
    ck_assert_int_eq(restarted, !has_room);
    tp_session_close(session);
    tp_field_cache_close(params.fields);
    tp_map_unref(open);
    tp_map_unref(closed);
    tp_map_unref(before);
    tp_map_unref(map);
    tp_pool_fini(&pool);
}
END_TEST

static Suite *guide_suite(void)
{
    Suite *suite = suite_create("guide");
    TCase *tests = tcase_create("guide");
    tcase_set_timeout(tests, tp_test_long() ? 3600 : 120);
    tcase_add_test(tests, waits_for_a_way_but_not_for_ever);
    tcase_add_test(tests, an_agent_that_is_lost_finds_another_way);
    tcase_add_test(tests, turns_before_a_door_that_closed_ahead);
    tcase_add_test(tests, a_goal_that_moves_is_caught);
    tcase_add_test(tests, turns_for_a_goal_put_behind);
    tcase_add_test(tests, unreachable_is_known_at_once);
    tcase_add_test(tests, what_leads_nowhere_is_not_paid_for);
    tcase_add_test(tests, goals_out_of_reach_do_not_lead);
    tcase_add_test(tests, units_are_capped);
    tcase_add_test(tests, units_that_are_refused);
    tcase_add_test(tests, sharing_changes_nothing);
    tcase_add_test(tests, no_room_is_no_harm);
    tcase_add_loop_test(tests, without_a_way_it_watches_all_of_its_path, 0, 4);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_guide", guide_suite);
}
