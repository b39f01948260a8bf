/* What sessions that nobody ticks hold of a changing map is bounded, what agents that walk hold is little, and what closed sessions held goes back to the system. */
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SIDE = 512, MIB = 1 << 20 };

static struct wire_daemon daemon_;
static struct wire wire_;

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
}

/* Waits until a sample is at most that; gives it. */
static double await_at_most(const char *name, double most)
{
    uint64_t end_ms = wire_now_ms() + WIRE_TIMEOUT_MS;
    double value;
    while ((value = wire_sample(&daemon_, name)) > most && wire_now_ms() < end_ms)
        rest();
    return value;
}

static void begin(const char *versions_max)
{
    wire_daemon_lean();
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--stats", "127.0.0.1:0", "--threads", "1", "--map-versions-max",
                      versions_max, NULL);
    wire_open_greeted(&wire_, daemon_.port);
    wire_put_free_map(&wire_, "m", SIDE, SIDE);
}

static void end(void)
{
    wire_close(&wire_);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

/* A batch that leaves no tile of the version before. */
static void change_all(void)
{
    Tickpath__Rectangle rectangle = TICKPATH__RECTANGLE__INIT, *rows[] = {&rectangle};
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    static uint8_t terrain = 'G';
    terrain = terrain == 'G' ? '.' : 'G';
    change.map = (char *)"m";
    change.n_rectangle = 1;
    change.rectangle = rows;
    rectangle.has_x = rectangle.has_y = rectangle.has_width = rectangle.has_height = rectangle.has_terrain =
        1;
    rectangle.width = rectangle.height = SIDE;
    rectangle.terrain = terrain;
    wire_reply_free(
        wire_ask(&wire_, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED));
}

/* One is opened on each version. The first half is ticked once each. */
START_TEST(test_idle_sessions_let_go)
{
    enum { SESSIONS = 120, VERSIONS_MAX = 10 };
    begin("10");
    uint64_t session[SESSIONS];
    for (int i = 0; i < SESSIONS; i++) {
        session[i] = wire_open_session(&wire_, "m", 0, SIDE * SIDE - 1, i % 3 == 0 ? "dstarlite" : "tbwa", 200);
        if (i < SESSIONS / 2)
            wire_reply_free(wire_tick(&wire_, session[i]));
        change_all();
    }
    /* what is published, what sessions may hold, and what D* Lite and the looks at falls hold besides */
    ck_assert_msg(await_at_most("tickpath_map_versions", VERSIONS_MAX + 1) <= VERSIONS_MAX + 1,
                  "%g versions are held", wire_sample(&daemon_, "tickpath_map_versions"));
    ck_assert(wire_sample(&daemon_, "tickpath_versions_let_go_total") >= SESSIONS - VERSIONS_MAX - 1);
    for (int i = 0; i < SESSIONS; i++) { /* those that had begun begin anew, and all go on */
        Tickpath__Reply *reply = wire_tick(&wire_, session[i]);
        bool restarted = reply->ticked->flags[0] & TICKPATH__FLAG__RESTARTED;
        ck_assert_uint_eq(restarted, i < SESSIONS / 2);
        ck_assert_uint_eq(reply->ticked->version[0], SESSIONS + 1);
        wire_reply_free(reply);
    }
    end();
}
END_TEST

/* A session that is ticked keeps what it knows, however much changes meanwhile. */
START_TEST(test_who_is_ticked_keeps_its_search)
{
    begin("1");
    uint64_t session = wire_open_session(&wire_, "m", 0, SIDE * SIDE - 1, "tbwa", 5);
    uint64_t end_ms = wire_now_ms() + 2500;
    while (wire_now_ms() < end_ms) {
        Tickpath__Reply *reply = wire_tick(&wire_, session);
        ck_assert_uint_eq(reply->ticked->flags[0] & TICKPATH__FLAG__RESTARTED, 0);
        wire_reply_free(reply);
        for (uint32_t i = 0; i < 3; i++)
            wire_set_cell(&wire_, "m", (SIDE - 1) * SIDE + i, '@');
        rest();
    }
    ck_assert(wire_sample(&daemon_, "tickpath_versions_let_go_total") == 0);
    end();
}
END_TEST

/* Sessions that searched far, and held old versions, leave nothing when they are closed. */
START_TEST(test_closed_sessions_give_memory_back)
{
    enum { SESSIONS = 450, EXPANSIONS = 20000, KEPT_MAX = 4 * MIB };
    begin("1000");
    uint64_t base = wire_resident_bytes(daemon_.pid);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < SESSIONS; i++) {
            uint64_t session =
                wire_open_session(&wire_, "m", (uint32_t)i, SIDE * SIDE - 1, "astar", EXPANSIONS);
            wire_reply_free(wire_tick(&wire_, session));
            if (i % 3 == 0)
                change_all();
        }
        ck_assert_uint_gt(wire_resident_bytes(daemon_.pid), base + 64 * MIB);
        Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
        close.has_all = close.all = 1;
        wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                                 TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
        uint64_t end_ms = wire_now_ms() + WIRE_TIMEOUT_MS, left;
        while ((left = wire_resident_bytes(daemon_.pid)) > base + KEPT_MAX && wire_now_ms() < end_ms)
            rest();
        printf("base %llu KiB, left %llu KiB\n", (unsigned long long)(base >> 10),
               (unsigned long long)(left >> 10));
        ck_assert_uint_le(left, base + KEPT_MAX);
    }
    end();
}
END_TEST

static void open_budgeted(uint32_t start, uint32_t goal, Tickpath__Budget budget)
{
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = (char *)"m";
    open.has_start = open.has_goal = 1;
    open.start = start;
    open.goal = goal;
    open.algorithm = (char *)"tbwa";
    open.budget = &budget;
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
}

static void tick_all(void)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED));
}

/* Agents that walk a path which is whole hold that path and little else, whatever their budgets: their minds alone would be more than 3 KiB each. */
START_TEST(test_who_walks_holds_a_path)
{
    enum { WALKERS = 2500, PATH = 400, TICKS = 150, MOST = 3 * WALKERS * 2048 };
    Tickpath__Budget k = TICKPATH__BUDGET__INIT, r = TICKPATH__BUDGET__INIT, deadline = TICKPATH__BUDGET__INIT;
    k.has_k = r.has_resource_limit = deadline.has_deadline_us = 1;
    k.k = r.resource_limit = 1000;
    deadline.deadline_us = 1000000;
    const Tickpath__Budget budgets[] = {k, r, deadline};
    begin("10");
    uint64_t base = wire_resident_bytes(daemon_.pid), held;
    for (uint32_t i = 0; i < 3 * WALKERS; i++)
        open_budgeted(i % SIDE * SIDE, i % SIDE * SIDE + PATH, budgets[i / WALKERS]);
    for (int i = 0; i < TICKS; i++)
        tick_all();
    uint64_t end_ms = wire_now_ms() + WIRE_TIMEOUT_MS;
    while ((held = wire_resident_bytes(daemon_.pid) - base) > MOST && wire_now_ms() < end_ms)
        rest();
    printf("%llu bytes for each that walks\n", (unsigned long long)(held / (3 * WALKERS)));
    ck_assert_uint_le(held, MOST);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("memory back");
    TCase *tcase = tcase_create("memory back");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_idle_sessions_let_go);
    tcase_add_test(tcase, test_who_is_ticked_keeps_its_search);
#ifdef TP_TEST_SANITIZED
    printf("what goes back to the system is not looked at: the sanitizer has an allocator of its own\n");
    (void)test_closed_sessions_give_memory_back;
    (void)test_who_walks_holds_a_path;
#else
    tcase_add_test(tcase, test_who_walks_holds_a_path);
    tcase_add_test(tcase, test_closed_sessions_give_memory_back);
#endif
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_memory_back", suite);
}
