/* The moves of a fixed run do not depend on how it is carried: in the library, or by a real daemon with one loop and two, in requests of one
 * session, of seven and of all, with another connection busy at the same time.
 *
 * The run: sessions of many rows, with k or R each, on one map; tick by tick all are served in order, who arrived gets another goal, and
 * every few ticks a batch of cells changes, sent on the connection that ticks and not waited for. Every answer of every session is compared
 * with the library's, which ticks the sessions one by one and fetches nothing ahead. Shared budgets and deadlines share by what
 * is left, and are no part of it. */
#include "guide/field.h"
#include "map/layer.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/stage.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 96, SESSIONS = 40, TICKS = 160, CHANGE_EVERY = 5, CHANGED = 12, CELLS = SIDE * SIDE };

/* ---- The run ---- */

static const struct {
    const char *algorithm;
    enum tp_budget_kind kind;
    uint32_t amount;
} rows[] = {{"guided", TP_BUDGET_K, 4}, {"astar", TP_BUDGET_K, 64},      {"tbwa", TP_BUDGET_K, 16},
            {"tba", TP_BUDGET_R, 50},   {"guided", TP_BUDGET_R, 20},     {"rastar", TP_BUDGET_K, 32},
            {"lss", TP_BUDGET_K, 16},   {"dstarlite", TP_BUDGET_R, 300}, {"tbaa", TP_BUDGET_K, 24},
            {"rtaa", TP_BUDGET_K, 8},   {"wastar", TP_BUDGET_R, 80},     {"lrta", TP_BUDGET_K, 4}};
enum { ROWS = sizeof rows / sizeof rows[0] };

static uint8_t cells[CELLS];
static uint32_t starts[SESSIONS], goals[SESSIONS][TICKS + 1]; /* the goal of each trip */
static uint32_t changed[TICKS / CHANGE_EVERY][CHANGED];
static uint32_t classes[TICKS / CHANGE_EVERY][CHANGED];

static uint32_t free_cell(struct tp_test_rng *rng)
{
    uint32_t cell;
    do
        cell = tp_test_below(rng, CELLS);
    while (cells[cell] != '.');
    return cell;
}

static void draw_run(void)
{
    struct tp_test_rng rng = tp_test_rng("run");
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = tp_test_percent(&rng, 22) ? '@' : '.';
    for (int i = 0; i < SESSIONS; i++) {
        starts[i] = free_cell(&rng);
        for (int trip = 0; trip <= TICKS; trip++)
            goals[i][trip] = free_cell(&rng);
    }
    for (int batch = 0; batch < TICKS / CHANGE_EVERY; batch++)
        for (int i = 0; i < CHANGED; i++) {
            changed[batch][i] = tp_test_below(&rng, CELLS);
            classes[batch][i] = tp_test_percent(&rng, 50) ? '@' : '.';
        }
}

static struct tp_session_params params_of(int session)
{
    struct tp_session_params params;
    int row = session % ROWS;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(rows[row].algorithm);
    params.start = starts[session];
    params.goal = goals[session][0];
    params.budget = rows[row].kind == TP_BUDGET_K ? tp_budget_k(rows[row].amount)
                                                  : tp_budget_r(rows[row].amount, 900, 10);
    return params;
}

/* What is known of an answer: where the run differs is told by it. */
struct answer {
    uint64_t cell, status, flags, version, cost, expansions, generated, traced, learned,
        guide; /* no padding: compared as bytes */
};

static struct answer answers[TICKS][SESSIONS]; /* the library's */

static uint64_t hash_of(const struct answer *answer, uint64_t hash)
{
    const uint64_t words[] = {answer->cell, answer->status, answer->flags, answer->version, answer->cost};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool is_over(const struct answer *answer)
{
    return answer->status == TP_STATUS_ARRIVED || answer->status == TP_STATUS_UNREACHABLE;
}

/* ---- In the library ---- */

static void change_library(struct tp_map **map, struct tp_map **layer, const struct tp_layer_kind *kind,
                           struct tp_field_cache *cache, int batch)
{
    struct tp_change changes[CHANGED];
    struct tp_map *next, *next_layer;
    size_t bad;
    uint32_t x, y;
    for (int i = 0; i < CHANGED; i++)
        changes[i] = (struct tp_change){.kind = TP_CHANGE_CELL,
                                        .class_to = (uint8_t)classes[batch][i],
                                        .x = changed[batch][i] % SIDE,
                                        .y = changed[batch][i] / SIDE};
    ck_assert_int_eq(tp_map_apply(&next, *map, changes, CHANGED, &bad, &x, &y), 0);
    ck_assert_int_eq(tp_layer_follow(&next_layer, *layer, *map, next, kind), 0);
    tp_field_cache_retire(cache, (*layer)->blocks);
    tp_map_unref(*map);
    tp_map_unref(*layer);
    *map = next;
    *layer = next_layer;
}

static void play_library(void)
{
    struct tp_map *map, *layer;
    struct tp_pool pool;
    struct tp_session *sessions[SESSIONS];
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    bool led[SESSIONS];
    int trips[SESSIONS] = {0};
    ck_assert_int_eq(tp_map_build(&map, SIDE, SIDE, cells, &profile, 1), 0);
    struct tp_layer_kind kind = {map->profile, 1, true,
                                 tp_blocks_links_of(TP_NEIGHBOURS_8, TP_CORNERS_BOTH_FREE)};
    ck_assert_int_eq(tp_layer_build(&layer, map, &kind), 0);
    tp_pool_init(&pool, NULL);
    struct tp_field_cache *cache = tp_field_cache_open(&pool, 64 << 20);
    for (int i = 0; i < SESSIONS; i++) {
        struct tp_session_params params = params_of(i);
        struct tp_refusal refusal;
        params.fields = cache;
        led[i] = tp_session_wants_blocks(&params, map);
        ck_assert_int_eq(tp_session_open(&sessions[i], &params, led[i] ? layer : map, &pool, &refusal), 0);
    }
    for (int tick = 0; tick < TICKS; tick++) {
        if (tick % CHANGE_EVERY == CHANGE_EVERY - 1)
            change_library(&map, &layer, &kind, cache, tick / CHANGE_EVERY);
        for (int i = 0; i < SESSIONS; i++) {
            struct tp_tick_reply r;
            tp_session_tick(sessions[i], led[i] ? layer : map, NULL, &r);
            answers[tick][i] =
                (struct answer){r.to,           r.status,          r.flags,          r.version,
                                r.cost,         r.work.expansions, r.work.generated, r.work.traced,
                                r.work.learned, r.work.guide};
        }
        for (int i = 0; i < SESSIONS; i++)
            if (is_over(&answers[tick][i]))
                ck_assert_int_eq(tp_session_retarget(sessions[i], goals[i][++trips[i]]), 0);
    }
    for (int i = 0; i < SESSIONS; i++)
        tp_session_close(sessions[i]);
    tp_field_cache_close(cache);
    tp_pool_fini(&pool);
    tp_map_unref(layer);
    tp_map_unref(map);
}

/* ---- Through a daemon ---- */

/* One connection that carries the run, on a map of its own. */
struct carrier {
    struct wire wire;
    char map[16];
    uint64_t sessions[SESSIONS];
    int trips[SESSIONS];
    int batch;   /* sessions a request */
    int changes; /* replies to come, before those of the tick */
    uint64_t hash;
};

static void carrier_open(struct carrier *carrier, uint16_t port, const char *map, int batch)
{
    *carrier = (struct carrier){.batch = batch, .hash = UINT64_C(0xcbf29ce484222325)};
    snprintf(carrier->map, sizeof carrier->map, "%s", map);
    wire_open_greeted(&carrier->wire, port);
    wire_put_map(&carrier->wire, map, SIDE, SIDE, cells);
    for (int i = 0; i < SESSIONS; i++) {
        struct tp_session_params params = params_of(i);
        Tickpath__OpenSession open;
        Tickpath__Budget budget;
        stage_open_message(&open, &budget, &params, false);
        open.map = carrier->map;
        Tickpath__Reply *reply = wire_ask(&carrier->wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open,
                                          TICKPATH__REPLY__BODY_SESSION_OPENED);
        carrier->sessions[i] = reply->session_opened->session;
        wire_reply_free(reply);
    }
}

/* Sends a tick of all sessions, after a batch of changes if it is time for one; waits for nothing. */
static void carrier_send(struct carrier *carrier, int tick)
{
    carrier->changes = tick % CHANGE_EVERY == CHANGE_EVERY - 1;
    if (carrier->changes) {
        Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
        change.map = carrier->map;
        change.n_cell = change.n_cell_terrain = CHANGED;
        change.cell = changed[tick / CHANGE_EVERY];
        change.cell_terrain = classes[tick / CHANGE_EVERY];
        wire_send(&carrier->wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
    }
    for (int first = 0; first < SESSIONS; first += carrier->batch) {
        Tickpath__Tick message = TICKPATH__TICK__INIT;
        message.has_want_work = message.want_work = 1;
        message.has_all = message.all = carrier->batch >= SESSIONS;
        if (!message.all) {
            message.session = carrier->sessions + first;
            message.n_session =
                (size_t)(first + carrier->batch < SESSIONS ? carrier->batch : SESSIONS - first);
        }
        wire_send(&carrier->wire, TICKPATH__REQUEST__BODY_TICK, &message);
    }
}

static void take_answer(struct carrier *carrier, int tick, int i, const struct answer *got)
{
    const struct answer *want = &answers[tick][i];
    if (memcmp(got, want, sizeof *got) != 0)
        ck_abort_msg("seed %llu, batches of %d, tick %d, session %d (%s): on cell %llu after %llu expansions "
                     "at cost %llu, in the library on cell %llu "
                     "after %llu at cost %llu",
                     (unsigned long long)tp_test_seed(), carrier->batch, tick, i, rows[i % ROWS].algorithm,
                     (unsigned long long)got->cell, (unsigned long long)got->expansions,
                     (unsigned long long)got->cost, (unsigned long long)want->cell,
                     (unsigned long long)want->expansions, (unsigned long long)want->cost);
    carrier->hash = hash_of(got, carrier->hash);
}

/* Takes the replies of the tick; who arrived gets another goal. */
static void carrier_recv(struct carrier *carrier, int tick)
{
    bool over[SESSIONS];
    for (int done = -carrier->changes; done < SESSIONS;) {
        Tickpath__Reply *reply = wire_recv(&carrier->wire);
        if (done < 0) {
            ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_CHANGED);
            done = 0;
            wire_reply_free(reply);
            continue;
        }
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_TICKED);
        const Tickpath__Ticked *t = reply->ticked;
        ck_assert_uint_eq(t->n_refused, 0);
        ck_assert_uint_ge(t->n_session, 1);
        for (size_t j = 0; j < t->n_session; j++, done++) {
            struct answer got = {t->cell[j],    t->status[j],          t->flags[j],     t->version[j],
                                 t->cost[j],    t->expansions[j],      t->generated[j], t->traced[j],
                                 t->learned[j], t->guide_expansions[j]};
            ck_assert_uint_eq(t->session[j], carrier->sessions[done]);
            take_answer(carrier, tick, done, &got);
            over[done] = is_over(&got);
        }
        wire_reply_free(reply);
    }
    for (int i = 0; i < SESSIONS; i++) {
        if (!over[i])
            continue;
        Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
        set.has_session = set.has_goal = 1;
        set.session = carrier->sessions[i];
        set.goal = goals[i][++carrier->trips[i]];
        wire_reply_free(
            wire_ask(&carrier->wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__REPLY__BODY_GOAL_SET));
    }
}

/* Two connections carry the run at the same time. Gives the hash of one. */
static uint64_t play_daemon(struct wire_daemon *daemon, int batch, int other_batch)
{
    struct carrier one, other;
    carrier_open(&one, daemon->port, "one", batch);
    carrier_open(&other, daemon->port, "other", other_batch);
    for (int tick = 0; tick < TICKS; tick++) {
        carrier_send(&one, tick);
        carrier_send(&other, tick);
        carrier_recv(&one, tick);
        carrier_recv(&other, tick);
    }
    ck_assert_uint_eq(one.hash, other.hash);
    wire_close(&one.wire);
    wire_close(&other.wire);
    return one.hash;
}

/* ---- The test ---- */

START_TEST(test_same_moves_however_carried)
{
    static const char *const threads[] = {"1", "2"};
    draw_run();
    play_library();
    uint64_t hash = UINT64_C(0xcbf29ce484222325), moves = 0, trips = 0;
    for (int tick = 0; tick < TICKS; tick++)
        for (int i = 0; i < SESSIONS; i++) {
            hash = hash_of(&answers[tick][i], hash);
            moves += answers[tick][i].status == TP_STATUS_MOVING;
            trips += answers[tick][i].status == TP_STATUS_ARRIVED;
        }
    ck_assert_uint_gt(moves, TICKS * SESSIONS / 4); /* something happens */
    ck_assert_uint_gt(trips, SESSIONS / 4);
    for (int i = 0; i < 2; i++) {
        struct wire_daemon daemon;
        wire_daemon_init(&daemon);
        wire_daemon_start(&daemon, "--threads", threads[i], NULL);
        ck_assert_uint_eq(play_daemon(&daemon, 1, 512), hash);
        wire_daemon_stop(&daemon);
        wire_daemon_start(&daemon, "--threads", threads[i], NULL);
        ck_assert_uint_eq(play_daemon(&daemon, 7, 1), hash);
        wire_daemon_stop(&daemon);
        wire_daemon_fini(&daemon);
    }
    printf("%llu moves, %llu trips, hash %016llx\n", (unsigned long long)moves, (unsigned long long)trips,
           (unsigned long long)hash);
}
END_TEST

static Suite *same_moves_suite(void)
{
    Suite *suite = suite_create("same_moves");
    TCase *cases = tcase_create("same moves");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, test_same_moves_however_carried);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_same_moves", same_moves_suite);
}
