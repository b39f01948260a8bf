/* What a daemon says to a peer that opens sessions, sets goals or asks for ticks wrongly: the exact code and
 * field. */
#include "tests/lib/served.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sessions ---- */

static Tickpath__OpenSession open_;
static Tickpath__Budget budget;

/* A request to open that is right in every field, for one of them to be spoilt. */
static void open_init(void)
{
    tickpath__open_session__init(&open_);
    tickpath__budget__init(&budget);
    open_.map = "m";
    open_.has_start = open_.has_goal = 1;
    open_.start = 0;
    open_.goal = SERVED_CELLS - 1;
}

#define OPEN_REFUSED(CODE, FIELD, SPOIL)                                                                     \
    do {                                                                                                     \
        open_init();                                                                                         \
        SPOIL;                                                                                               \
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_,                           \
                       TICKPATH__ERROR_CODE__##CODE, FIELD);                                                 \
    } while (0)
#define SET(FIELD, VALUE) (open_.has_##FIELD = 1, open_.FIELD = (VALUE))
#define SET_BUDGET(FIELD, VALUE) (open_.budget = &budget, budget.has_##FIELD = 1, budget.FIELD = (VALUE))

static uint32_t session_count(void)
{
    Tickpath__List list = TICKPATH__LIST__INIT;
    list.has_sessions = list.sessions = 1;
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_LIST, &list, TICKPATH__REPLY__BODY_LISTING);
    uint32_t count = (uint32_t)reply->listing->n_session;
    wire_reply_free(reply);
    return count;
}

START_TEST(test_open_places)
{
    OPEN_REFUSED(INVALID_ARGUMENT, "map", open_.map = NULL);
    OPEN_REFUSED(NOT_FOUND, "map", open_.map = "nowhere");
    OPEN_REFUSED(INVALID_ARGUMENT, "start", open_.has_start = 0);
    OPEN_REFUSED(INVALID_ARGUMENT, "goal", open_.has_goal = 0);
    OPEN_REFUSED(OUT_OF_RANGE, "start", open_.start = SERVED_CELLS);
    OPEN_REFUSED(OUT_OF_RANGE, "start", open_.start = UINT32_MAX);
    OPEN_REFUSED(OUT_OF_RANGE, "goal", open_.goal = SERVED_CELLS);
    ck_assert_uint_eq(session_count(), 0);
}
END_TEST

START_TEST(test_open_weights)
{
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, NAN));
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, -NAN));
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, INFINITY));
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, -INFINITY));
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, 0.999));
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, 0));
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, -1));
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, 1.0005)); /* four decimals */
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, 2.71828));
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, 1000000.001));
    OPEN_REFUSED(INVALID_ARGUMENT, "w", SET(w, 1e300));
    const double good[] = {1, 1.001, 1.1, 2.6, 2.999, 1000000};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        open_init();
        SET(w, good[i]);
        wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_,
                                 TICKPATH__REPLY__BODY_SESSION_OPENED));
    }
    ck_assert_uint_eq(session_count(), sizeof good / sizeof good[0]);
}
END_TEST

START_TEST(test_open_budgets)
{
    OPEN_REFUSED(INVALID_ARGUMENT, "k", SET_BUDGET(k, 0));
    OPEN_REFUSED(INVALID_ARGUMENT, "k", SET_BUDGET(k, 1000000000001));
    OPEN_REFUSED(INVALID_ARGUMENT, "k", SET_BUDGET(k, UINT64_MAX));
    OPEN_REFUSED(INVALID_ARGUMENT, "resource_limit", SET_BUDGET(resource_limit, 0));
    OPEN_REFUSED(INVALID_ARGUMENT, "deadline_us", SET_BUDGET(deadline_us, 0));
    OPEN_REFUSED(INVALID_ARGUMENT, "budget", open_.budget = &budget); /* none of the three */
    OPEN_REFUSED(INVALID_ARGUMENT, "budget", (SET_BUDGET(k, 5), SET_BUDGET(resource_limit, 5)));
    OPEN_REFUSED(INVALID_ARGUMENT, "budget", (SET_BUDGET(k, 5), SET_BUDGET(deadline_us, 5)));
    OPEN_REFUSED(INVALID_ARGUMENT, "budget", (SET_BUDGET(resource_limit, 5), SET_BUDGET(deadline_us, 5)));
    const double shares[] = {NAN, INFINITY, -0.1, 1.001, 0.1234};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        OPEN_REFUSED(INVALID_ARGUMENT, "expansion_share",
                     (SET_BUDGET(resource_limit, 100), SET_BUDGET(expansion_share, shares[i])));
    OPEN_REFUSED(INVALID_ARGUMENT, "trace_steps",
                 (SET_BUDGET(resource_limit, 100), SET_BUDGET(trace_steps, 0)));
    OPEN_REFUSED(INVALID_ARGUMENT, "trace_steps",
                 (SET_BUDGET(resource_limit, 100), SET_BUDGET(trace_steps, 1000001)));
    ck_assert_uint_eq(session_count(), 0);
}
END_TEST

/* N_E = floor(R r), N_T = (R - N_E) c: neither may be 0 for tba; the others spend one purse. */
START_TEST(test_open_tba_split)
{
    const struct {
        uint64_t limit;
        double share;
        bool good;
    } cases[] = {{1, 0.9, false},     {100, 0, false}, {100, 1, false}, {1000, 0.001, true},
                 {999, 0.001, false}, {2, 0.5, true},  {1, 0.5, false}, {100, 0.9, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int other = 0; other < 3; other++) {
            static const char *const names[] = {"tba", "tbwa", "astar"};
            open_init();
            open_.algorithm = (char *)names[other];
            SET_BUDGET(resource_limit, cases[i].limit);
            SET_BUDGET(expansion_share, cases[i].share);
            if (other || cases[i].good)
                wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_,
                                         TICKPATH__REPLY__BODY_SESSION_OPENED));
            else
                wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_,
                               TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "expansion_share");
        }
}
END_TEST

START_TEST(test_open_options)
{
    OPEN_REFUSED(INVALID_ARGUMENT, "algorithm", open_.algorithm = "dijkstra");
    OPEN_REFUSED(INVALID_ARGUMENT, "algorithm", open_.algorithm = "");
    const uint32_t neighbours[] = {0, 5, 12, 17, UINT32_MAX};
    for (size_t i = 0; i < sizeof neighbours / sizeof neighbours[0]; i++)
        OPEN_REFUSED(INVALID_ARGUMENT, "neighbours", SET(neighbours, neighbours[i]));
    uint32_t cells[16] = {0, UINT32_MAX};
    /* protobuf-c hands unknown numbers of an enum through */
    OPEN_REFUSED(INVALID_ARGUMENT, "corners", SET(corners, (Tickpath__Corners)4));
    OPEN_REFUSED(INVALID_ARGUMENT, "goal_policy", SET(goal_policy, (Tickpath__GoalPolicy)0));
    OPEN_REFUSED(INVALID_ARGUMENT, "knowledge", SET(knowledge, (Tickpath__Knowledge)9));
    OPEN_REFUSED(INVALID_ARGUMENT, "restart", SET(restart, (Tickpath__Restart)5));
    OPEN_REFUSED(UNSUPPORTED, "goal_policy",
                 (open_.algorithm = "lrta", SET(goal_policy, TICKPATH__GOAL_POLICY__NEAREST)));
    OPEN_REFUSED(UNSUPPORTED, "more_goals",
                 (open_.algorithm = "lrta", open_.more_goals = cells, open_.n_more_goals = 1));
    OPEN_REFUSED(INVALID_ARGUMENT, "more_goals", (open_.more_goals = cells, open_.n_more_goals = 16));
    OPEN_REFUSED(OUT_OF_RANGE, "more_goals", (open_.more_goals = cells, open_.n_more_goals = 2));
    OPEN_REFUSED(INVALID_ARGUMENT, "goal_radius", SET(goal_policy, TICKPATH__GOAL_POLICY__WITHIN));
    OPEN_REFUSED(INVALID_ARGUMENT, "goal_radius", SET(goal_radius, 1));
    const double radii[] = {-1, 1e13, 0.0001, NAN, INFINITY};
    for (size_t i = 0; i < sizeof radii / sizeof radii[0]; i++)
        OPEN_REFUSED(INVALID_ARGUMENT, "goal_radius",
                     (SET(goal_policy, TICKPATH__GOAL_POLICY__WITHIN), SET(goal_radius, radii[i])));
    OPEN_REFUSED(UNSUPPORTED, "knowledge",
                 (open_.algorithm = "tbwa", SET(knowledge, TICKPATH__KNOWLEDGE__KNOWN_MAP)));
    OPEN_REFUSED(UNSUPPORTED, "knowledge",
                 (open_.algorithm = "tbwa", SET(knowledge, TICKPATH__KNOWLEDGE__FREESPACE)));
    OPEN_REFUSED(INVALID_ARGUMENT, "known_map", open_.known_map = "m");
    OPEN_REFUSED(INVALID_ARGUMENT, "known_map",
                 (open_.algorithm = "tbaa", SET(knowledge, TICKPATH__KNOWLEDGE__KNOWN_MAP)));
    OPEN_REFUSED(
        NOT_FOUND, "known_map",
        (open_.algorithm = "tbaa", open_.known_map = "none", SET(knowledge, TICKPATH__KNOWLEDGE__KNOWN_MAP)));
    wire_put_free_map(&served.wire, "narrow", 1, 1);
    OPEN_REFUSED(INVALID_ARGUMENT, "known_map",
                 (open_.algorithm = "tbaa", open_.known_map = "narrow",
                  SET(knowledge, TICKPATH__KNOWLEDGE__KNOWN_MAP)));
    OPEN_REFUSED(INVALID_ARGUMENT, "sensor_radius", SET(sensor_radius, 0));
    OPEN_REFUSED(INVALID_ARGUMENT, "sensor_radius", SET(sensor_radius, 9));
    OPEN_REFUSED(UNSUPPORTED, "restart",
                 (open_.algorithm = "tbwa", SET(restart, TICKPATH__RESTART__RESTART_LAZY)));
    OPEN_REFUSED(INVALID_ARGUMENT, "open_list", SET(open_list, 3));
    OPEN_REFUSED(UNSUPPORTED, "open_list", (open_.algorithm = "tbaa", SET(open_list, TICKPATH__OPEN_LIST__OPEN_LIST_BUCKET)));
    OPEN_REFUSED(UNSUPPORTED, "open_list", (open_.algorithm = "dstarlite", SET(open_list, TICKPATH__OPEN_LIST__OPEN_LIST_BUCKET)));
    OPEN_REFUSED(UNSUPPORTED, "w", (open_.algorithm = "tba", SET(w, 2)));
    OPEN_REFUSED(UNSUPPORTED, "shortcut", (open_.algorithm = "tbwa", SET(shortcut, 1)));
    OPEN_REFUSED(UNSUPPORTED, "path_switch", (open_.algorithm = "tbgbfs", SET(path_switch, 1)));
    OPEN_REFUSED(UNSUPPORTED, "longest_path_rule", (open_.algorithm = "astar", SET(longest_path_rule, 1)));
    OPEN_REFUSED(UNSUPPORTED, "switch_margin", (open_.algorithm = "dstarlite", SET(switch_margin, 0.1)));
    OPEN_REFUSED(UNSUPPORTED, "pause_on_backtrack", (open_.algorithm = "astar", SET(pause_on_backtrack, 1)));
    OPEN_REFUSED(INVALID_ARGUMENT, "guide_units", (open_.algorithm = "guided", SET(guide_units, 1000001)));
    OPEN_REFUSED(INVALID_ARGUMENT, "guide_units", SET(guide_units, UINT32_MAX));
    OPEN_REFUSED(INVALID_ARGUMENT, "priority", SET(priority, 0));
    OPEN_REFUSED(INVALID_ARGUMENT, "priority", SET(priority, 256));
    OPEN_REFUSED(UNSUPPORTED, "guide_units", (open_.algorithm = "tbwa", SET(guide_units, 100)));
    OPEN_REFUSED(INVALID_ARGUMENT, "known_map",
                 (open_.algorithm = "guided", SET(knowledge, TICKPATH__KNOWLEDGE__KNOWN_MAP)));
    OPEN_REFUSED(NOT_FOUND, "known_map",
                 (open_.algorithm = "guided", open_.known_map = "none", SET(knowledge, TICKPATH__KNOWLEDGE__KNOWN_MAP)));
    OPEN_REFUSED(INVALID_ARGUMENT, "known_map",
                 (open_.algorithm = "guided", open_.known_map = "narrow", SET(knowledge, TICKPATH__KNOWLEDGE__KNOWN_MAP)));
    OPEN_REFUSED(UNSUPPORTED, "bounded", (open_.algorithm = "astar", SET(bounded, 1)));
    OPEN_REFUSED(UNSUPPORTED, "bounded", (SET(goal_policy, TICKPATH__GOAL_POLICY__WITHIN), SET(goal_radius, 1), SET(bounded, 1)));
    OPEN_REFUSED(UNSUPPORTED, "bounded", (SET(motion, TICKPATH__MOTION__INERTIA), SET(bounded, 1)));
    OPEN_REFUSED(UNSUPPORTED, "bounded",
                 (open_.algorithm = "rtbwa", SET(knowledge, TICKPATH__KNOWLEDGE__FREESPACE), SET(bounded, 1)));
    const double margins[] = {-0.001, 10.001, 0.0001, NAN, INFINITY};
    for (size_t i = 0; i < sizeof margins / sizeof *margins; i++)
        OPEN_REFUSED(INVALID_ARGUMENT, "switch_margin", SET(switch_margin, margins[i]));
    ck_assert_uint_eq(session_count(), 0);
}
END_TEST

/* Vehicles and heuristics; what graphs refuse: test_graphs.c. */
START_TEST(test_open_motions)
{
    OPEN_REFUSED(INVALID_ARGUMENT, "motion", SET(motion, (Tickpath__Motion)0));
    OPEN_REFUSED(INVALID_ARGUMENT, "motion", SET(motion, (Tickpath__Motion)3));
    const int32_t speeds[] = {4, -4, 127, -128, 253, 256 + 1, INT32_MAX, INT32_MIN}; /* 257: 1 in 8 bits */
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        OPEN_REFUSED(INVALID_ARGUMENT, "start_vx", (SET(motion, TICKPATH__MOTION__INERTIA), SET(start_vx, speeds[i])));
        OPEN_REFUSED(INVALID_ARGUMENT, "start_vy", (SET(motion, TICKPATH__MOTION__INERTIA), SET(start_vy, speeds[i])));
    }
    OPEN_REFUSED(INVALID_ARGUMENT, "start_vx", SET(start_vx, 1)); /* no vehicle */
    OPEN_REFUSED(INVALID_ARGUMENT, "start_vy", (SET(motion, TICKPATH__MOTION__STEPS), SET(start_vy, -1)));
    OPEN_REFUSED(UNSUPPORTED, "knowledge",
                 (open_.algorithm = "rtbwa", SET(motion, TICKPATH__MOTION__INERTIA),
                  SET(knowledge, TICKPATH__KNOWLEDGE__FREESPACE)));
    OPEN_REFUSED(UNSUPPORTED, "shortcut",
                 (open_.algorithm = "tba", SET(motion, TICKPATH__MOTION__INERTIA), SET(shortcut, 1)));
    OPEN_REFUSED(INVALID_ARGUMENT, "heuristic", SET(heuristic, (Tickpath__Heuristic)0));
    OPEN_REFUSED(INVALID_ARGUMENT, "heuristic", SET(heuristic, (Tickpath__Heuristic)7));
    OPEN_REFUSED(INVALID_ARGUMENT, "heuristic", SET(heuristic, (Tickpath__Heuristic)-1));
    OPEN_REFUSED(UNSUPPORTED, "heuristic", SET(heuristic, TICKPATH__HEURISTIC__HEURISTIC_MAXIMUM));
    OPEN_REFUSED(UNSUPPORTED, "heuristic", SET(heuristic, TICKPATH__HEURISTIC__HEURISTIC_MANHATTAN));
    OPEN_REFUSED(UNSUPPORTED, "heuristic",
                 (SET(neighbours, 16), SET(heuristic, TICKPATH__HEURISTIC__HEURISTIC_OCTILE)));
    OPEN_REFUSED(UNSUPPORTED, "heuristic",
                 (SET(motion, TICKPATH__MOTION__INERTIA), SET(heuristic, TICKPATH__HEURISTIC__HEURISTIC_FREESPACE)));
    ck_assert_uint_eq(session_count(), 0);
}
END_TEST

START_TEST(test_goal_equals_start)
{
    uint64_t session = wire_open_session(&served.wire, "m", 7, 7, NULL, 1);
    for (int i = 0; i < 3; i++) {
        Tickpath__Reply *reply = wire_tick(&served.wire, session);
        ck_assert_uint_eq(reply->ticked->status[0], TICKPATH__STATUS__ARRIVED);
        ck_assert_uint_eq(reply->ticked->cell[0], 7);
        ck_assert_uint_eq(reply->ticked->cost[0], 0);
        wire_reply_free(reply);
    }
}
END_TEST

/* Each field of a look into a session that holds what it must not; and what one of the smallest limits brings, in pieces. */
START_TEST(test_dump_session)
{
    uint64_t session = wire_open_session(&served.wire, "m", 0, 5, "astar", 3);
    Tickpath__DumpSession dump = TICKPATH__DUMP_SESSION__INIT;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump, TICKPATH__ERROR_CODE__NOT_FOUND, "session");
    dump.has_session = 1;
    dump.session = session + 1;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump, TICKPATH__ERROR_CODE__NOT_FOUND, "session");
    dump.session = session;
    dump.has_limit = 1;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "limit");
    dump.limit = 4097;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "limit");
    dump.limit = 1;
    dump.has_x = 1;
    dump.x = SERVED_CELLS;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump, TICKPATH__ERROR_CODE__OUT_OF_RANGE, "x");
    dump.x = 0;
    dump.has_y = 1;
    dump.y = UINT32_MAX;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump, TICKPATH__ERROR_CODE__OUT_OF_RANGE, "y");
    dump.has_x = dump.has_y = 0;
    dump.has_width = dump.has_height = 1;
    dump.width = dump.height = UINT32_MAX;
    wire_reply_free(wire_tick(&served.wire, session));
    uint32_t cells = 0, pieces = 0;
    do {
        Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump, TICKPATH__REPLY__BODY_SESSION_DUMP);
        const Tickpath__SessionDump *piece = reply->session_dump;
        ck_assert_uint_eq(piece->session, session);
        ck_assert_uint_eq(piece->ticks, 1);
        ck_assert_uint_le(piece->n_state_cell, 1);
        ck_assert_uint_eq(piece->n_path > 0, pieces == 0);
        cells += (uint32_t)piece->n_state_cell;
        dump.has_cursor = piece->has_next_cursor;
        dump.cursor = piece->next_cursor;
        wire_reply_free(reply);
        ck_assert_uint_lt(++pieces, 1000);
    } while (dump.has_cursor);
    ck_assert_uint_gt(cells, 1);
    /* a cursor that no dump gave: the end, or somewhere; never an error */
    dump.has_cursor = 1;
    dump.cursor = UINT64_MAX;
    Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump, TICKPATH__REPLY__BODY_SESSION_DUMP);
    ck_assert_uint_eq(reply->session_dump->n_state_cell, 0);
    ck_assert(!reply->session_dump->has_next_cursor);
    wire_reply_free(reply);
}
END_TEST

START_TEST(test_set_goal)
{
    uint64_t session = wire_open_session(&served.wire, "m", 0, 5, NULL, 10);
    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__ERROR_CODE__NOT_FOUND,
                   "session");
    set.has_session = 1;
    set.session = session;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set,
                   TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "goal");
    set.has_goal = 1;
    set.goal = SERVED_CELLS;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__ERROR_CODE__OUT_OF_RANGE,
                   "goal");
    set.goal = 4;
    const uint64_t strange[] = {0, session + 1, session ^ 1ull << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        set.session = strange[i];
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__ERROR_CODE__NOT_FOUND,
                       "session");
    }
    /* the session goes where it went before */
    Tickpath__Reply *reply = wire_tick(&served.wire, session);
    ck_assert_uint_eq(reply->ticked->cell[0], 1);
    wire_reply_free(reply);
}
END_TEST

/* ---- Ticks ---- */

static uint64_t ticked_session;
static uint64_t at_session[2];
static uint32_t at_cell[2];
static int32_t at_vx[2], at_vy[2];
static Tickpath__Tick tick_;

static void tick_init(void)
{
    tickpath__tick__init(&tick_);
    tickpath__budget__init(&budget);
    tick_.n_session = 1;
    tick_.session = &ticked_session;
    tick_.at_session = at_session;
    tick_.at_cell = at_cell;
    at_session[0] = at_session[1] = ticked_session;
    at_cell[0] = at_cell[1] = 0;
    tick_.at_vx = at_vx;
    tick_.at_vy = at_vy;
    memset(at_vx, 0, sizeof at_vx);
    memset(at_vy, 0, sizeof at_vy);
}

#define TICK_REFUSED(CODE, FIELD, SPOIL)                                                                     \
    do {                                                                                                     \
        tick_init();                                                                                         \
        SPOIL;                                                                                               \
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_TICK, &tick_, TICKPATH__ERROR_CODE__##CODE,     \
                       FIELD);                                                                               \
    } while (0)
#define SET_EACH(FIELD, VALUE) (tick_.each = &budget, budget.has_##FIELD = 1, budget.FIELD = (VALUE))

START_TEST(test_tick_refused_whole)
{
    ticked_session = wire_open_session(&served.wire, "m", 0, 9, NULL, 10);
    TICK_REFUSED(INVALID_ARGUMENT, "session", tick_.n_session = 0);
    TICK_REFUSED(INVALID_ARGUMENT, "session", tick_.has_all = tick_.all = 1);
    TICK_REFUSED(INVALID_ARGUMENT, "k", SET_EACH(k, 0));
    TICK_REFUSED(INVALID_ARGUMENT, "budget", tick_.each = &budget);
    TICK_REFUSED(INVALID_ARGUMENT, "budget", (SET_EACH(k, 5), SET_EACH(resource_limit, 5)));
    TICK_REFUSED(INVALID_ARGUMENT, "budget", (SET_EACH(resource_limit, 5), SET_EACH(deadline_us, 5)));
    TICK_REFUSED(INVALID_ARGUMENT, "expansion_share",
                 (SET_EACH(resource_limit, 5), SET_EACH(expansion_share, NAN)));
    TICK_REFUSED(INVALID_ARGUMENT, "total_expansions", tick_.has_total_expansions = 1);
    TICK_REFUSED(INVALID_ARGUMENT, "total_guide_units", tick_.has_total_guide_units = 1);
    TICK_REFUSED(INVALID_ARGUMENT, "total_us", tick_.has_total_us = 1);
    TICK_REFUSED(INVALID_ARGUMENT, "total_us", (tick_.has_total_us = 1, tick_.total_us = 10000001));
    TICK_REFUSED(INVALID_ARGUMENT, "at_cell", tick_.n_at_session = 1);
    TICK_REFUSED(INVALID_ARGUMENT, "at_cell", (tick_.n_at_session = 1, tick_.n_at_cell = 2));
    TICK_REFUSED(INVALID_ARGUMENT, "at_cell", (tick_.n_at_session = 2, tick_.n_at_cell = 1));
    TICK_REFUSED(INVALID_ARGUMENT, "at_vx", tick_.n_at_vx = tick_.n_at_vy = 1);
    TICK_REFUSED(INVALID_ARGUMENT, "at_vx",
                 (tick_.n_at_session = tick_.n_at_cell = 2, tick_.n_at_vx = tick_.n_at_vy = 1));
    TICK_REFUSED(INVALID_ARGUMENT, "at_vy", (tick_.n_at_session = tick_.n_at_cell = 1, tick_.n_at_vx = 1));
    TICK_REFUSED(INVALID_ARGUMENT, "at_vy", (tick_.n_at_session = tick_.n_at_cell = 1, tick_.n_at_vy = 1));
    /* nothing of all this moved the agent */
    Tickpath__Reply *reply = wire_tick(&served.wire, ticked_session);
    ck_assert_uint_eq(reply->ticked->cell[0], 1);
    wire_reply_free(reply);
}
END_TEST

static Tickpath__Ticked *expect_ticked(Tickpath__Reply **reply)
{
    *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_TICK, &tick_, TICKPATH__REPLY__BODY_TICKED);
    return (*reply)->ticked;
}

/* A session that can't be ticked stands in `refused`; the others are served. */
START_TEST(test_tick_refused_in_part)
{
    ticked_session = wire_open_session(&served.wire, "m", 0, 9, NULL, 10);
    uint64_t far = wire_open_session(&served.wire, "m", 20, 29, NULL, 10);
    struct wire other;
    wire_open_greeted(&other, served.daemon.port);
    uint64_t theirs = wire_open_session(&other, "m", 0, 9, NULL, 10);
    uint64_t sessions[] = {12345, far, theirs, ticked_session, UINT64_MAX, 0, ticked_session};
    tick_init();
    tick_.session = sessions;
    tick_.n_session = sizeof sessions / sizeof sessions[0];
    tick_.n_at_session = tick_.n_at_cell = 1;
    at_session[0] = far;
    at_cell[0] = SERVED_CELLS;
    Tickpath__Reply *reply;
    Tickpath__Ticked *ticked = expect_ticked(&reply);
    ck_assert_uint_eq(ticked->n_session, 1);
    ck_assert_uint_eq(ticked->session[0], ticked_session);
    ck_assert_uint_eq(ticked->cell[0], 1);
    ck_assert_uint_eq(ticked->n_refused, 6);
    for (size_t i = 0; i < ticked->n_refused; i++) {
        uint64_t id = ticked->refused[i]->session;
        ck_assert_int_eq(ticked->refused[i]->code, id == far ? TICKPATH__ERROR_CODE__OUT_OF_RANGE
                                                   : id == ticked_session
                                                       ? TICKPATH__ERROR_CODE__INVALID_ARGUMENT
                                                       : TICKPATH__ERROR_CODE__NOT_FOUND);
    }
    wire_reply_free(reply);
    /* the one with the bad position neither moved nor was lost */
    reply = wire_tick(&served.wire, far);
    ck_assert_uint_eq(reply->ticked->cell[0], 21);
    wire_reply_free(reply);
    wire_expect_alive(&other);
    wire_close(&other);
}
END_TEST

/* A velocity that the agent can't have is a bad position. */
START_TEST(test_tick_refused_velocity)
{
    open_init();
    SET(motion, TICKPATH__MOTION__INERTIA);
    Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open_,
                                      TICKPATH__REPLY__BODY_SESSION_OPENED);
    uint64_t vehicle = reply->session_opened->session;
    wire_reply_free(reply);
    uint64_t walker = wire_open_session(&served.wire, "m", 0, 9, NULL, 10);
    const int32_t speeds[] = {0, 3, 4, -4, 257, INT32_MIN};
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
        for (int axis = 0; axis < 2; axis++)
            for (int is_vehicle = 0; is_vehicle < 2; is_vehicle++) {
                ticked_session = is_vehicle ? vehicle : walker;
                tick_init();
                tick_.n_at_session = tick_.n_at_cell = tick_.n_at_vx = tick_.n_at_vy = 1;
                (axis ? at_vy : at_vx)[0] = speeds[i];
                Tickpath__Ticked *ticked = expect_ticked(&reply);
                bool allowed = speeds[i] == 0 || (is_vehicle && speeds[i] == 3);
                ck_assert_uint_eq(ticked->n_session, allowed);
                ck_assert_uint_eq(ticked->n_vx, allowed && is_vehicle);
                ck_assert_uint_eq(ticked->n_vy, allowed && is_vehicle);
                ck_assert_uint_eq(ticked->n_refused, !allowed);
                if (!allowed)
                    ck_assert_int_eq(ticked->refused[0]->code, TICKPATH__ERROR_CODE__INVALID_ARGUMENT);
                wire_reply_free(reply);
            }
}
END_TEST

START_TEST(test_closed_session_is_gone)
{
    ticked_session = wire_open_session(&served.wire, "m", 0, 9, NULL, 10);
    Tickpath__CloseSession neither = TICKPATH__CLOSE_SESSION__INIT;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &neither,
                   TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "session");
    uint64_t twice[] = {ticked_session, ticked_session, 99};
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.n_session = 3;
    close.session = twice;
    Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                                      TICKPATH__REPLY__BODY_SESSIONS_CLOSED);
    ck_assert_uint_eq(reply->sessions_closed->count, 1);
    wire_reply_free(reply);
    /* a new session does not take the old one's id */
    uint64_t next = wire_open_session(&served.wire, "m", 0, 9, NULL, 10);
    ck_assert_uint_ne(next, ticked_session);
    tick_init();
    Tickpath__Ticked *ticked = expect_ticked(&reply);
    ck_assert_uint_eq(ticked->n_session, 0);
    ck_assert_uint_eq(ticked->n_refused, 1);
    ck_assert_int_eq(ticked->refused[0]->code, TICKPATH__ERROR_CODE__NOT_FOUND);
    wire_reply_free(reply);
}
END_TEST

static Suite *badinput_sessions_suite(void)
{
    Suite *suite = suite_create("badinput_sessions");
    TCase *cases = tcase_create("badinput_sessions");
    tcase_add_checked_fixture(cases, served_begin, served_end);
    tcase_add_test(cases, test_open_places);
    tcase_add_test(cases, test_open_weights);
    tcase_add_test(cases, test_open_budgets);
    tcase_add_test(cases, test_open_tba_split);
    tcase_add_test(cases, test_open_options);
    tcase_add_test(cases, test_open_motions);
    tcase_add_test(cases, test_goal_equals_start);
    tcase_add_test(cases, test_dump_session);
    tcase_add_test(cases, test_set_goal);
    tcase_add_test(cases, test_tick_refused_whole);
    tcase_add_test(cases, test_tick_refused_in_part);
    tcase_add_test(cases, test_tick_refused_velocity);
    tcase_add_test(cases, test_closed_session_is_gone);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_badinput_sessions", badinput_sessions_suite);
}
