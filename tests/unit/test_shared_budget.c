/* Shared totals of a tick (daemon/serve/scheduler.h), on a clock of its own: fair by priority over any window, nobody starved for longer
 * than is promised, nothing left lying that somebody asks for, deadlines kept, and without a total everything as it was. */
#include "daemon/serve/scheduler.h"
#include "tests/lib/maps.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 300, AGENTS_MAX = 300, ENDLESS = 1000000 };

/* ---- The stage ---- */

static struct stage {
    struct tp_test_rng rng;
    struct tp_map *map;
    struct tp_world_map of;
    struct tp_pool pool;
    struct tp_closing closing;
    struct tp_sessions sessions;
    uint64_t ids[AGENTS_MAX]; /* in the order opened */
    size_t count;
    struct tp_histogram waits;
    /* a batch */
    const struct tp_map *current[1];
    uint32_t slots[AGENTS_MAX], order[2 * AGENTS_MAX];
    struct tp_tick_reply replies[AGENTS_MAX];
    struct tp_schedule_refused refused[3 * AGENTS_MAX];
    struct tp_claim claims[2 * AGENTS_MAX];
    uint64_t ticks;
    /* the clock: what turns and expansions cost, and what was spent before this batch */
    uint64_t turn_ns, search_ns, expansion_ns, stall_ns, before_ns, seen_ns, within_ns;
    uint64_t looks;
} stage;

static uint64_t batch_ns(void)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < AGENTS_MAX; i++) {
        uint64_t expansions = stage.replies[i].work.expansions;
        if (stage.replies[i].version > 0)
            ns += stage.turn_ns + (expansions > 0 ? stage.search_ns : 0) + expansions * stage.expansion_ns;
    }
    return ns;
}

/* Time goes by with the work done. Inside a session's turn its work is not told yet: each look there is one stride more. */
static uint64_t virtual_now(void *context)
{
    (void)context;
    uint64_t ns = batch_ns();
    stage.within_ns = ns == stage.seen_ns ? stage.within_ns + TP_DEADLINE_STRIDE * stage.expansion_ns : 0;
    stage.seen_ns = ns;
    stage.looks++;
    return (stage.before_ns + ns + stage.within_ns) / 1000;
}

/* Walls off the lower right corner, where the goals are: a search to the end sees all of the map first. */
static void stage_begin(const char *label)
{
    static struct tp_metrics counted;
    memset(&stage, 0, sizeof stage);
    stage.rng = tp_test_rng(label);
    stage.map = tp_test_map_free(SIDE, SIDE);
    tp_test_set_rect(&stage.map, SIDE - 4, SIDE - 4, 1, 4, '@');
    tp_test_set_rect(&stage.map, SIDE - 4, SIDE - 4, 4, 1, '@');
    stage.current[0] = stage.map;
    stage.of = (struct tp_world_map){.name = "m", .slot = 0};
    tp_pool_init(&stage.pool, NULL);
    tp_closing_init(&stage.closing);
    tp_sessions_init(&stage.sessions, &stage.closing, &counted, AGENTS_MAX, 42);
    stage.turn_ns = 200;
    stage.expansion_ns = 100;
}

static void stage_end(void)
{
    tp_sessions_fini(&stage.sessions);
    tp_closing_fini(&stage.closing);
    ck_assert_uint_eq(stage.pool.used_bytes, 0);
    tp_pool_fini(&stage.pool);
    tp_map_unref(stage.map);
}

static struct tp_agent *agent_of(uint64_t id)
{
    return &stage.sessions.agents[tp_sessions_find(&stage.sessions, id)];
}

/* Opens a session at a random place; returns its id. `goal`: its own cell, for one that has arrived. */
static uint64_t open_with(const char *algorithm, uint64_t k, uint32_t priority, bool is_there)
{
    struct tp_session_params params;
    struct tp_session *session;
    struct tp_refusal refusal;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(algorithm);
    params.budget = tp_budget_k(k);
    params.start = tp_test_free_cell(&stage.rng, stage.map) % (SIDE * (SIDE - 10));
    params.goal = is_there ? params.start : SIDE * SIDE - 1;
    ck_assert_int_eq(tp_session_open(&session, &params, stage.map, &stage.pool, &refusal), 0);
    ck_assert(tp_world_enter(&stage.of));
    struct tp_agent_budget budget = {.kind = TP_BUDGET_K, .expansions = k, .c = 10};
    uint32_t slot;
    ck_assert_int_eq(tp_sessions_add(&stage.sessions, session, &stage.of, &budget, &slot), 0);
    stage.sessions.agents[slot].priority = (uint8_t)priority;
    return stage.ids[stage.count++] = tp_sessions_id(&stage.sessions, slot);
}

static uint64_t open_one(uint64_t k, uint32_t priority)
{
    return open_with("astar", k, priority, false);
}

static void close_nth(size_t at)
{
    tp_sessions_close(&stage.sessions, tp_sessions_find(&stage.sessions, stage.ids[at]));
    memmove(&stage.ids[at], &stage.ids[at + 1], (--stage.count - at) * sizeof stage.ids[0]);
}

static struct tp_schedule batch_of(uint64_t total_expansions, uint64_t total_us)
{
    return (struct tp_schedule){.sessions = &stage.sessions,
                                .current = stage.current,
                                .all = true,
                                .total_expansions = total_expansions,
                                .total_us = total_us,
                                .tick = ++stage.ticks,
                                .clock = {virtual_now, NULL},
                                .waits = &stage.waits,
                                .capacity = AGENTS_MAX,
                                .slots = stage.slots,
                                .order = stage.order,
                                .claims = stage.claims,
                                .replies = stage.replies,
                                .refused = stage.refused};
}

static void serve(struct tp_schedule *batch)
{
    struct tp_refusal refusal = {0};
    stage.before_ns += batch_ns() + stage.stall_ns;
    memset(stage.replies, 0, sizeof stage.replies);
    ck_assert_int_eq(tp_schedule_serve(batch, &refusal), 0);
    tp_schedule_answered(batch, 0);
    uint64_t sum = 0;
    for (size_t i = 0; i < batch->served; i++)
        sum += stage.replies[i].work.expansions;
    ck_assert_uint_eq(batch->expansions, sum);
    ck_assert(batch->total_expansions == 0 || sum <= batch->total_expansions);
}

static uint64_t expansions_of(size_t at)
{
    return stage.replies[at].work.expansions;
}

static bool searches(size_t at)
{
    return stage.replies[at].status == TP_STATUS_SEARCHING;
}

/* ---- Totals of expansions ---- */

/* Each gets its part by its priority, from the start to any batch, but for 17/16 (1 + n p/P) expansions; the answers stand in order. */
START_TEST(test_by_priority)
{
    static const uint32_t priorities[] = {16, 32, 8, 255, 1, 16, 64, 100};
    enum { N = sizeof priorities / sizeof priorities[0], T = 37, BATCHES = 400 };
    stage_begin("priority");
    uint64_t all = 0, got[N] = {0};
    for (size_t i = 0; i < N; i++) {
        open_one(ENDLESS, priorities[i]);
        all += priorities[i];
    }
    for (uint64_t b = 1; b <= BATCHES; b++) {
        struct tp_schedule batch = batch_of(T, 0);
        serve(&batch);
        ck_assert_uint_eq(batch.served, N);
        ck_assert_uint_eq(batch.expansions, T);
        for (size_t i = 0; i < N; i++) {
            ck_assert_uint_eq(tp_sessions_id(&stage.sessions, stage.slots[i]), stage.ids[i]);
            got[i] += expansions_of(i);
            int64_t apart = (int64_t)(got[i] * all) - (int64_t)(b * T * priorities[i]);
            if (16 * llabs(apart) > 17 * (int64_t)(all + N * priorities[i]))
                ck_abort_msg("batch %llu: priority %u has %llu", (unsigned long long)b, priorities[i],
                             (unsigned long long)got[i]);
        }
    }
    stage_end();
}
END_TEST

/* With fewer expansions than sessions: everyone is served within 17/16 (P/p + n) / T batches, rounded up, and one; those that are
 * not are counted, with the longest wait. */
START_TEST(test_starvation_is_bounded)
{
    for (uint64_t run = 0, runs = tp_test_steps(6, 200); run < runs; run++) {
        stage_begin("starvation");
        stage.rng.state += run;
        uint32_t n = tp_test_between(&stage.rng, 2, 60), total = tp_test_between(&stage.rng, 1, n), all = 0;
        uint32_t top = tp_test_percent(&stage.rng, 50) ? 255 : 1, waited[60] = {0};
        uint64_t ended = 0, counted = 0;
        for (uint32_t i = 0; i < n; i++)
            all += agent_of(open_one(ENDLESS, tp_test_between(&stage.rng, 1, top)))->priority;
        for (int b = 0; b < 300; b++) {
            struct tp_schedule batch = batch_of(total, 0);
            serve(&batch);
            ck_assert_uint_eq(batch.expansions, total);
            uint32_t starved = 0, longest = 0;
            for (uint32_t i = 0; i < n; i++) {
                ended += waited[i] > 0 && expansions_of(i) > 0;
                waited[i] = expansions_of(i) > 0 ? 0 : waited[i] + 1;
                starved += waited[i] > 0;
                longest = waited[i] > longest ? waited[i] : longest;
                uint64_t p = agent_of(stage.ids[i])->priority;
                if (waited[i] > 17 * (all + n * p) / (16 * p * total) + 2)
                    ck_abort_msg("priority %u of %u, %u sessions, total %u: starved for %u", (unsigned)p, all,
                                 n, total, waited[i]);
                ck_assert_uint_eq(agent_of(stage.ids[i])->waited, waited[i]);
            }
            ck_assert_uint_eq(batch.starved, starved);
            ck_assert_uint_eq(batch.starved_longest, longest);
        }
        for (size_t i = 0; i < TP_HISTOGRAM_BUCKETS; i++)
            counted += atomic_load(&stage.waits.bucket[i]);
        ck_assert_uint_eq(counted, ended);
        stage_end();
    }
}
END_TEST

/* What arrived sessions and small budgets leave goes to the others in the same batch, too when nobody knew that they had
 * arrived; where there is enough each has its own. */
START_TEST(test_nothing_is_left_lying)
{
    enum { LARGE = 4, SMALL = 10, THERE = 40 };
    stage_begin("left");
    for (int i = 0; i < LARGE; i++)
        open_one(1000, 1);
    for (int i = 0; i < SMALL; i++)
        open_one(7, 255);
    for (int i = 0; i < THERE;
         i++) /* they are there already; they are served first, the one named first last */
        open_with("astar", ENDLESS, 255, true);
    struct tp_schedule batch;
    for (int b = 0; b < 5; b++) {
        batch = batch_of(1000, 0);
        batch.tick = stage.ticks = 54 * stage.ticks;
        serve(&batch);
        ck_assert_uint_eq(batch.expansions, 1000);
        ck_assert_uint_eq(batch.starved, 0);
        for (size_t i = LARGE; i < LARGE + SMALL; i++)
            ck_assert_uint_eq(expansions_of(i), 7);
        for (size_t i = 0; b > 0 && i < LARGE; i++)
            ck_assert(expansions_of(i) == 232 || expansions_of(i) == 233);
    }
    batch = batch_of(SMALL * 7 + LARGE * 1000, 0);
    serve(&batch);
    for (size_t i = 0; i < LARGE + SMALL; i++)
        ck_assert_uint_eq(expansions_of(i), i < LARGE ? 1000 : 7);
    stage_end();
}
END_TEST

/* One session asks and then needs nothing, each time: what it leaves comes to each of the others in turn. */
START_TEST(test_nobody_is_always_last)
{
    enum { N = 5, BATCHES = 60 };
    stage_begin("last");
    for (int i = 0; i < N; i++)
        open_one(ENDLESS, 16);
    open_with("astar", ENDLESS, 16, true);
    uint64_t got[N] = {0}, least = UINT64_MAX, most = 0;
    for (int b = 0; b < BATCHES; b++) {
        tp_agent_set_off(agent_of(stage.ids[N]));
        struct tp_schedule batch = batch_of(60, 0);
        serve(&batch);
        for (size_t i = 0; i < N; i++)
            got[i] += expansions_of(i);
    }
    for (size_t i = 0; i < N; i++) {
        least = got[i] < least ? got[i] : least;
        most = got[i] > most ? got[i] : most;
    }
    ck_assert_uint_gt(most, 10 * BATCHES + BATCHES / 2); /* there was something to have */
    ck_assert_uint_le(most - least, 20);
    stage_end();
}
END_TEST

/* A session that stood still and finds itself with a new goal is in its part at once: no tick is lost for not having been expected. */
START_TEST(test_set_off)
{
    stage_begin("set off");
    open_with("astar", ENDLESS, 16, true);
    for (int i = 0; i < 9; i++)
        open_one(ENDLESS, 16);
    for (int b = 0; b < 3; b++) {
        struct tp_schedule batch = batch_of(90, 0);
        serve(&batch);
    }
    ck_assert(!agent_of(stage.ids[0])->search.asks);
    uint32_t slot = tp_sessions_find(&stage.sessions, stage.ids[0]);
    ck_assert_int_eq(tp_session_retarget(stage.sessions.agents[slot].session, SIDE * SIDE - 1), 0);
    for (int b = 0; b < 2; b++) { /* unexpected, then expected */
        struct tp_schedule batch = batch_of(90, 0);
        serve(&batch);
        ck_assert(expansions_of(0) == 9 || (b == 1 && expansions_of(0) >= 8 && expansions_of(0) <= 10));
        ck_assert_uint_eq(batch.expansions, 90);
        ck_assert_uint_eq(batch.starved, 0);
    }
    stage_end();
}
END_TEST

/* Sessions opened and closed, named or not, put at places, refused: the total holds, is spent, and two that stay get the same for
 * each point of their priority. */
START_TEST(test_any_order_of_things)
{
    for (uint64_t run = 0, runs = tp_test_steps(4, 200); run < runs; run++) {
        stage_begin("any");
        stage.rng.state += run;
        uint64_t pair[2] = {open_one(ENDLESS, 5), open_one(ENDLESS, 50)}, got[2] = {0};
        uint32_t full = 0;
        for (int b = 0; b < 300; b++) {
            struct tp_test_rng *rng = &stage.rng;
            if (stage.count < 40 && tp_test_percent(rng, 20))
                open_with("astar", tp_test_between(rng, 1, 30), tp_test_between(rng, 1, 255),
                          tp_test_percent(rng, 20));
            if (stage.count > 2 && tp_test_percent(rng, 15))
                close_nth(2 + tp_test_below(rng, (uint32_t)stage.count - 2));
            uint32_t total = tp_test_between(rng, 1, tp_test_percent(rng, 50) ? 10 : 400);
            struct tp_schedule batch = batch_of(total, 0);
            uint64_t named[AGENTS_MAX + 2], at[2] = {0}, caps = 0;
            uint32_t cells[2] = {SIDE * SIDE, 5};
            batch.all = false;
            batch.ids = named;
            for (size_t i = 0; i < stage.count;
                 i++) /* from a random one on, some left out, one unknown, one twice */
                named[batch.id_count++] = stage.ids[i];
            for (size_t i = batch.id_count; i-- > 1;) {
                size_t other = tp_test_below(rng, (uint32_t)i + 1);
                uint64_t id = named[i];
                named[i] = named[other];
                named[other] = id;
            }
            size_t kept = 0;
            for (size_t i = 0; i < batch.id_count; i++)
                if (named[i] == pair[0] || named[i] == pair[1] || tp_test_percent(rng, 80))
                    named[kept++] = named[i];
            batch.id_count = kept;
            named[batch.id_count++] = 12345;
            named[batch.id_count++] = pair[0];
            batch.at_ids = at;
            batch.at_cells = cells;
            if (stage.count > 2 && tp_test_percent(rng, 20)) { /* out of this tick */
                at[0] = stage.ids[2];
                batch.at_count = 1;
            }
            bool asked[AGENTS_MAX], some_stopped = false;
            for (size_t i = 0; i < stage.sessions.capacity; i++)
                asked[i] = stage.sessions.agents[i].search.asks;
            serve(&batch);
            ck_assert_uint_eq(batch.refused_count, 2 + batch.at_count);
            for (size_t i = 0, next = 0; i < batch.served; i++) {
                uint64_t id = tp_sessions_id(&stage.sessions, stage.slots[i]);
                while (named[next] != id) /* in the order named */
                    ck_assert_uint_lt(next++, batch.id_count);
                got[0] += id == pair[0] ? expansions_of(i) : 0;
                got[1] += id == pair[1] ? expansions_of(i) : 0;
                uint64_t cap = agent_of(id)->budget.expansions;
                ck_assert_uint_le(expansions_of(i), cap);
                caps += searches(i) ? cap : 0;
                some_stopped |= asked[stage.slots[i]] && !searches(i);
            }
            if (!some_stopped) /* who is there without its being known may leave some to nobody */
                ck_assert_uint_eq(batch.expansions, caps < total ? caps : total);
            full += !some_stopped;
            if (some_stopped) /* what is left over goes to those behind: another window begins */
                got[0] = got[1] = 0;
            if (16 * llabs((int64_t)(got[0] * 50) - (int64_t)(got[1] * 5)) > 17 * (5 + 50))
                ck_abort_msg("batch %d: priorities 5 and 50 got %llu and %llu", b, (unsigned long long)got[0],
                             (unsigned long long)got[1]);
        }
        ck_assert_uint_gt(full, 100);
        stage_end();
    }
}
END_TEST

/* One is in the round for what guides it alone, and finds that it has to search: it spends of the total, which the front's slice does not add to. */
START_TEST(test_total_holds_where_one_asks_for_a_guide_alone)
{
    stage_begin("guide alone");
    open_with("astar", ENDLESS, 16, true);
    for (int i = 0; i < 3; i++)
        open_one(ENDLESS, 16);
    for (int b = 0; b < 3; b++) {
        struct tp_schedule batch = batch_of(40, 0);
        serve(&batch);
    }
    struct tp_agent *guided = agent_of(stage.ids[0]);
    ck_assert(!guided->search.asks);
    ck_assert_int_eq(tp_session_retarget(guided->session, SIDE * SIDE - 1), 0);
    for (int b = 0; b < 40; b++) {
        guided->guide_units = 5;
        guided->guide.asks = true;
        guided->search.asks = false;
        guided->waited = 0;
        struct tp_schedule batch = batch_of(40, _i ? 1000000 : 0);
        batch.total_guide_units = 1;
        serve(&batch); /* asserts that the total holds */
        ck_assert_uint_eq(batch.expansions, 40);
    }
    stage_end();
}
END_TEST

/* ---- Totals of time ---- */

static uint64_t overshoot_ns(uint64_t total_us)
{
    uint64_t ns = batch_ns();
    return ns > total_us * 1000 ? ns - total_us * 1000 : 0;
}

/* 300 agents, and the pace of the machine changes under them: the time is kept, used, and nobody waits long. */
START_TEST(test_deadline)
{
    enum { N = 300, BATCHES = 300, TOTAL_US = 300 };
    stage_begin("deadline");
    for (int i = 0; i < N; i++)
        open_with("astar", i % 3 ? ENDLESS : 16, 16, i % 10 == 0);
    uint64_t over = 0, used = 0;
    uint32_t longest = 0;
    for (int b = 0; b < BATCHES; b++) {
        if (b == 100)
            stage.expansion_ns = 250; /* slower, in one go */
        if (b == 200)
            stage.expansion_ns = 40;
        struct tp_schedule batch = batch_of(0, TOTAL_US);
        serve(&batch);
        ck_assert_uint_eq(batch.served, N);
        for (size_t i = 0; i < N; i++)
            ck_assert(stage.replies[i].version == 2 + 1);
        uint64_t past = overshoot_ns(TOTAL_US);
        over = past > over ? past : over;
        used += batch_ns();
        longest = batch.starved_longest > longest ? batch.starved_longest : longest;
        ck_assert_uint_le(stage.looks, 4 * TOTAL_US); /* not for every agent, and not for every expansion */
        stage.looks = 0;
    }
    ck_assert_uint_le(over, 20000);
    ck_assert_uint_ge(used, UINT64_C(1000) * BATCHES * TOTAL_US * 85 / 100);
    ck_assert_uint_le(longest, 3);
    stage_end();
}
END_TEST

/* Time for the moves of all, and for the expansions of one in fifteen, on a machine that is now faster and now slower: kept, and each
 * has its turn. */
START_TEST(test_deadline_just_enough)
{
    enum { N = 300, BATCHES = 600, TOTAL_US = 110, EACH = 15 };
    stage_begin("just enough");
    for (int i = 0; i < N; i++)
        open_with(i % 2 ? "astar" : "tbwa", ENDLESS, 16, false);
    stage.expansion_ns = 1000;
    uint64_t over = 0, got[N] = {0}, least = UINT64_MAX, most = 0, all = 0;
    uint32_t longest = 0;
    for (int b = 0; b < BATCHES; b++) {
        if (b % 50 == 0)
            stage.turn_ns = tp_test_between(&stage.rng, 180, 240);
        struct tp_schedule batch = batch_of(0, TOTAL_US);
        serve(&batch);
        uint64_t past = overshoot_ns(TOTAL_US);
        over = past > over && b >= 10 ? past : over; /* it begins with no idea of this machine */
        longest = batch.starved_longest > longest ? batch.starved_longest : longest;
        all += batch.expansions;
        for (size_t i = 0; i < N; i++) {
            got[i] += expansions_of(i);
            if (expansions_of(i) == 0) /* no time to search: it moves, and no more */
                ck_assert_uint_eq(stage.replies[i].work.traced, 0);
        }
    }
    for (size_t i = 0; i < N; i++) {
        least = got[i] < least ? got[i] : least;
        most = got[i] > most ? got[i] : most;
    }
    ck_assert_uint_le(over, 1500);
    ck_assert_uint_ge(all, BATCHES * N / EACH / 2);
    ck_assert_uint_le(longest, 2 * EACH);
    ck_assert_uint_le(most, least + least / 4 + 4);
    stage_end();
}
END_TEST

/* A search costs far more to take up than an expansion: there is time for the moves of all and for taking up one in seven, now and then for less.
 * Those who wait longest are taken up first, so that nobody waits for more than eight batches, and each time for more than one expansion. */
START_TEST(test_deadline_an_eighth)
{
    enum { N = 280, BATCHES = 400, SETTLED = 60, TOTAL_US = 310 };
    stage_begin("eighth");
    for (int i = 0; i < N; i++)
        open_with(i % 2 ? "astar" : "tbwa", ENDLESS, 16, false);
    stage.search_ns = 4000;
    uint64_t over = 0, all = 0, slices = 0;
    uint32_t longest = 0;
    for (int b = 0; b < BATCHES; b++) {
        stage.turn_ns = tp_test_between(&stage.rng, 180, 220);
        stage.stall_ns = b % 10 == 0 ? 3000000 : 0; /* between batches: nobody's time */
        struct tp_schedule batch = batch_of(0, TOTAL_US);
        serve(&batch);
        if (b < SETTLED)
            continue;
        uint64_t past = overshoot_ns(TOTAL_US);
        over = past > over ? past : over;
        longest = batch.starved_longest > longest ? batch.starved_longest : longest;
        all += batch.expansions;
        slices += N - batch.starved;
    }
    ck_assert_uint_le(over, 10000);
    ck_assert_uint_le(longest, 8);
    ck_assert_uint_ge(all, 3 * slices);
    stage_end();
}
END_TEST

/* A total too short for anything, and a machine that stalls: one expansion a batch at the least, to one after the other. */
START_TEST(test_deadline_too_short)
{
    enum { N = 150 };
    stage_begin("short");
    for (int i = 0; i < N; i++)
        open_with(i % 2 ? "astar" : "tbwa", ENDLESS, 16, false);
    uint32_t longest = 0;
    for (int b = 0; b < 1000; b++) {
        struct tp_schedule batch = batch_of(0, 1);
        stage.stall_ns = tp_test_percent(&stage.rng, 30) ? 5000000 : 0;
        serve(&batch);
        ck_assert_uint_ge(batch.expansions, 1);
        ck_assert_uint_le(batch.expansions, TP_DEADLINE_STRIDE);
        ck_assert_uint_ge(batch.starved, N - TP_DEADLINE_STRIDE);
        longest = batch.starved_longest > longest ? batch.starved_longest : longest;
    }
    ck_assert_uint_le(longest, 17 * (N + N) / 16 + 2);
    stage_end();
}
END_TEST

/* Both totals: whichever is spent first. A session's own deadline holds as well. */
START_TEST(test_deadline_and_expansions)
{
    stage_begin("both");
    for (int i = 0; i < 20; i++)
        open_one(ENDLESS, 16);
    struct tp_schedule batch = batch_of(100, 100000);
    serve(&batch);
    ck_assert_uint_eq(batch.expansions, 100);
    for (int b = 0; b < 20; b++) {
        batch = batch_of(100000, 100);
        serve(&batch);
    }
    ck_assert_uint_le(batch.expansions, 1000);
    ck_assert_uint_ge(batch.expansions, 700);
    struct tp_agent_budget soon = {.kind = TP_BUDGET_DEADLINE, .deadline_us = 3};
    batch = batch_of(0, 1000);
    batch.each = &soon;
    serve(&batch);
    for (size_t i = 0; i < 20; i++)
        ck_assert_uint_le(expansions_of(i), 48);
    stage_end();
}
END_TEST

/* ---- No total ---- */

/* Sessions with budgets of their own move as the library alone moves them, and before and after ticks that share. */
START_TEST(test_own_budgets)
{
    enum { N = 12 };
    stage_begin("own");
    struct tp_session *twin[N];
    for (uint32_t i = 0; i < N; i++) {
        open_with(i % 2 ? "tbwa" : "lss", 3 + i, 1 + i * 20, false);
        struct tp_agent *agent = agent_of(stage.ids[i]);
        struct tp_session_params params;
        struct tp_refusal refusal;
        tp_session_params_init(&params);
        params.algorithm = tp_session_algorithm(agent->session);
        params.budget = tp_budget_k(3 + i);
        params.start = tp_session_cell(agent->session);
        params.goal = SIDE * SIDE - 1;
        ck_assert_int_eq(tp_session_open(&twin[i], &params, stage.map, &stage.pool, &refusal), 0);
    }
    for (int b = 0; b < 200; b++) {
        struct tp_schedule batch = batch_of(b % 3 == 2 ? 40 : 0, 0);
        serve(&batch);
        for (size_t i = 0; i < N; i++) {
            struct tp_tick_reply want;
            struct tp_budget budget = tp_budget_k(3 + i);
            if (b % 3 ==
                2) /* the moves are those of what it was given; who needs nothing of it still has it */
                budget.expansions_max =
                    expansions_of(i) + (agent_of(stage.ids[i])->waited == 0 && expansions_of(i) == 0);
            tp_session_tick(twin[i], stage.map, &budget, &want);
            ck_assert(want.to == stage.replies[i].to && want.status == stage.replies[i].status &&
                      want.work.expansions == expansions_of(i));
        }
        ck_assert(b % 3 == 2 || batch.starved == 0);
    }
    for (size_t i = 0; i < N; i++)
        tp_session_close(twin[i]);
    stage_end();
}
END_TEST

static Suite *shared_budget_suite(void)
{
    Suite *suite = suite_create("shared_budget");
    TCase *cases = tcase_create("shared_budget");
    tcase_add_loop_test(cases, test_total_holds_where_one_asks_for_a_guide_alone, 0, 2);
    tcase_add_test(cases, test_by_priority);
    tcase_add_test(cases, test_starvation_is_bounded);
    tcase_add_test(cases, test_nothing_is_left_lying);
    tcase_add_test(cases, test_nobody_is_always_last);
    tcase_add_test(cases, test_set_off);
    tcase_add_test(cases, test_any_order_of_things);
    tcase_add_test(cases, test_deadline);
    tcase_add_test(cases, test_deadline_just_enough);
    tcase_add_test(cases, test_deadline_an_eighth);
    tcase_add_test(cases, test_deadline_too_short);
    tcase_add_test(cases, test_deadline_and_expansions);
    tcase_add_test(cases, test_own_budgets);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_shared_budget", shared_budget_suite);
}
