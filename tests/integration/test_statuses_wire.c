/* Every status and flag of the .proto, each reached by a test of its own through a real daemon, with what it promises. The table
 * below names them all: one that the .proto gets and the table does not fails the first test. */
#include "tests/lib/cases.h"

#include <string.h>

static struct tp_session_params params_of(const char *algorithm, struct tp_budget budget, uint32_t start,
                                          uint32_t goal)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(algorithm);
    params.budget = budget;
    params.start = start;
    params.goal = goal;
    return params;
}

static const char corridors[] = "..........\n"
                                ".@@@@@@@@.\n"
                                "..........\n";

/* ---- What each promises ---- */

static void walks(void)
{
    struct tp_map *map = tp_test_map_free(8, 1);
    struct tp_session_params params = params_of("tbwa", tp_budget_k(100), 0, 7);
    struct stage stage;
    stage_open(&stage, &stage_wire, &params, map, "walks");
    for (uint32_t cell = 1; cell < 7; cell++) {
        struct tp_tick_reply reply = stage_tick(&stage);
        STAGE_SAY(&stage, reply.status == TP_STATUS_MOVING && reply.to == cell &&
                              reply.flags == TP_FLAG_PATH_COMPLETE);
    }
    for (int i = 0; i < 3; i++) { /* the arriving step says so already; then it waits */
        struct tp_tick_reply reply = stage_tick(&stage);
        STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED && reply.to == 7);
    }
    stage_close(&stage);
    tp_map_unref(map);
}

static void searches(void)
{
    struct tp_map *map = tp_test_map_free(20, 20);
    struct tp_session_params params = params_of("astar", tp_budget_k(2), 0, 399);
    struct stage stage;
    stage_open(&stage, &stage_wire, &params, map, "searches");
    for (int i = 0; i < 5; i++) {
        struct tp_tick_reply reply = stage_tick(&stage);
        STAGE_SAY(&stage, reply.status == TP_STATUS_SEARCHING && reply.to == 0 && reply.work.expansions == 2);
    }
    stage_close(&stage);
    tp_map_unref(map);
}

/* The path that it finds was grown over a cell that was closed meanwhile, and begins there: not taken, and a new search begins. */
static void is_blocked(void)
{
    struct tp_map *map = tp_test_map(corridors);
    struct tp_session_params params = params_of("astar", tp_budget_k(4), 0, 9);
    struct stage stage;
    stage_open(&stage, &stage_wire, &params, map, "is blocked");
    struct tp_tick_reply reply = stage_tick(&stage);
    STAGE_SAY(&stage, reply.status == TP_STATUS_SEARCHING);
    stage_set(&stage, 1, 0, '@');
    while (reply.status == TP_STATUS_SEARCHING && stage.play.ticks < 20)
        reply = stage_tick(&stage);
    STAGE_SAY(&stage,
              reply.status == TP_STATUS_BLOCKED && reply.to == 0 && !(reply.flags & TP_FLAG_BACK_MOVE));
    STAGE_SAY(&stage, reply.flags & TP_FLAG_RESTARTED);
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, 9);
    stage_close(&stage);
    tp_map_unref(map);
}

/* Shut in: no way, and not even a step. */
static void is_shut_in(void)
{
    struct tp_map *map = tp_test_map_free(5, 5);
    struct tp_session_params params = params_of("tbwa", tp_budget_k(1), 12, 24);
    struct stage stage;
    stage_open(&stage, &stage_wire, &params, map, "is shut in");
    static const struct tp_change ring[] = {
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 1, .width = 3, .height = 1},
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 3, .width = 3, .height = 1},
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 1, .y = 2, .width = 1, .height = 1},
        {.kind = TP_CHANGE_RECT, .class_to = '@', .x = 3, .y = 2, .width = 1, .height = 1},
    };
    stage_apply(&stage, ring, 4);
    case_expect_unreachable(&stage, 2);
    struct tp_tick_reply reply = stage_tick(&stage);
    STAGE_SAY(&stage, reply.flags & TP_FLAG_DEAD_END);
    stage_set(&stage, 3, 2, '.');
    reply = stage_until_settled(&stage, 100);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED && !(reply.flags & TP_FLAG_DEAD_END));
    stage_close(&stage);
    tp_map_unref(map);
}

/* A hollow before the goal: it steps back out of it; with pause_on_backtrack it waits as long as it searches. */
static void steps_back(void)
{
    struct tp_map *map = tp_test_map("....................\n"
                                     "...........@@@@@....\n"
                                     "...............@....\n"
                                     "...............@....\n"
                                     "...............@....\n"
                                     "...........@@@@@....\n"
                                     "....................\n");
    for (int pauses = 0; pauses < 2; pauses++) {
        struct tp_session_params params =
            params_of("tbwa", tp_budget_k(2), case_at(map, 2, 3), case_at(map, 18, 3));
        params.pause_on_backtrack = pauses ? TP_PAUSE_ON_BACKTRACK : TP_PAUSE_NEVER;
        struct stage stage;
        stage_open(&stage, &stage_wire, &params, map, pauses ? "waits" : "steps back");
        uint64_t waited = 0;
        struct tp_tick_reply reply;
        do {
            reply = stage_tick(&stage);
            bool back = reply.flags & TP_FLAG_BACK_MOVE;
            STAGE_SAY(&stage, !back || reply.status ==
                                           (reply.to == reply.from ? TP_STATUS_BLOCKED : TP_STATUS_MOVING));
            waited += back && reply.to == reply.from;
        } while (reply.status != TP_STATUS_ARRIVED && stage.play.ticks < 1000);
        STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED);
        STAGE_SAY(&stage, pauses ? waited > 0 : stage.play.back_moves > 0 && waited == 0);
        stage_close(&stage);
    }
    tp_map_unref(map);
}

/* A change that is nothing to the path: the search goes on, and says so once. */
static void goes_on(void)
{
    struct tp_map *map = tp_test_map(corridors);
    struct tp_session_params params = params_of("tbwa", tp_budget_k(3), 0, 9);
    struct stage stage;
    stage_open(&stage, &stage_wire, &params, map, "goes on");
    stage_tick(&stage);
    stage_set(&stage, 5, 1, '.');
    struct tp_tick_reply reply = stage_tick(&stage);
    STAGE_SAY(&stage, reply.flags & TP_FLAG_CONTINUED && reply.status == TP_STATUS_MOVING);
    reply = stage_tick(&stage);
    STAGE_SAY(&stage, !(reply.flags & TP_FLAG_CONTINUED));
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, 9);
    STAGE_SAY(&stage, stage.play.stats.restarts == 0);
    stage_close(&stage);
    tp_map_unref(map);
}

static void repairs(void)
{
    struct tp_map *map = tp_test_map(corridors);
    struct tp_session_params params = params_of("dstarlite", tp_budget_k(1000), 0, 9);
    struct stage stage;
    stage_open(&stage, &stage_wire, &params, map, "repairs");
    stage_tick(&stage);
    stage_set(&stage, 6, 0, '@');
    struct tp_tick_reply reply = stage_tick(&stage);
    STAGE_SAY(&stage, reply.flags & TP_FLAG_REPAIRED && !(reply.flags & TP_FLAG_RESTARTED) && reply.to != 2);
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, 9);
    stage_close(&stage);
    tp_map_unref(map);
}

/* The row begins anew when a cost on its path rises, before it comes there. */
static void begins_anew(void)
{
    struct tp_map *map = tp_test_map(corridors);
    struct tp_session_params params = params_of("rtbwa", tp_budget_k(1000), 0, 9);
    params.restart = TP_RESTART_ON_RISE;
    struct stage stage;
    stage_open(&stage, &stage_wire, &params, map, "begins anew");
    stage_tick(&stage);
    stage_set(&stage, 6, 0, '@');
    struct tp_tick_reply reply = stage_tick(&stage);
    STAGE_SAY(&stage, reply.flags & TP_FLAG_RESTARTED && !(reply.flags & TP_FLAG_CONTINUED) && reply.to != 2);
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, 9);
    STAGE_SAY(&stage, stage.play.stats.restarts == 1);
    stage_close(&stage);
    tp_map_unref(map);
}

static void comes_near(void)
{
    struct tp_map *map = tp_test_map_free(10, 1);
    struct tp_session_params params = params_of("tbwa", tp_budget_k(100), 0, 9);
    params.goal_policy = TP_GOAL_NEAREST;
    struct stage stage;
    stage_open(&stage, &stage_wire, &params, map, "comes near");
    stage_set(&stage, 6, 0, '@');
    struct tp_tick_reply reply = stage_tick(&stage);
    while (!(reply.flags & TP_FLAG_PARTIAL) && stage.play.ticks < 20)
        reply = stage_tick(&stage);
    STAGE_SAY(&stage,
              reply.flags & TP_FLAG_PARTIAL && reply.status == TP_STATUS_MOVING); /* on its way there too */
    case_expect_end(&stage, TP_STATUS_ARRIVED, true, 5);
    stage_close(&stage);
    tp_map_unref(map);
}

/* Its search can't grow: the best move so far, which leads to and fro where a path's marks want for memory too, and no lie about the goal. A loop. */
static void runs_out_of_memory(void)
{
    struct tp_test_rng rng = tp_test_rng_of(1, "memory");
    uint64_t looping = 0, capped = 0;
    for (int i = 0; i < 6 && (!looping || !capped); i++) {
        struct tp_map *map = tp_test_map_random(&rng, 300, 300, 25);
        struct tp_session_params params = params_of("tbwa", tp_budget_r(400, 500, 10), 150 * 300 + 150, 300 * 300 - 1);
        params.node_bytes_max = 30000;
        struct stage stage;
        stage_open(&stage, &stage_wire, &params, map, "runs out of memory");
        for (int tick = 0; tick < 300; tick++) {
            struct tp_tick_reply reply = stage_tick(&stage);
            bool cap = reply.flags & TP_FLAG_NODE_CAP;
            STAGE_SAY(&stage,
                      !cap || reply.status == TP_STATUS_MOVING || reply.status == TP_STATUS_SEARCHING);
            capped += cap;
            looping += (reply.flags & TP_FLAG_LOOPING) != 0;
        }
        if (looping) { /* another goal ends it */
            stage_retarget(&stage, stage.play.cell);
            struct tp_tick_reply reply = stage_tick(&stage);
            STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED && !(reply.flags & TP_FLAG_LOOPING));
        }
        stage_close(&stage);
        tp_map_unref(map);
    }
    ck_assert(looping > 0 && capped > 0);
}

/* A block comes down on the agent: it may leave. So it may where it began in one. */
static void stands_in_a_block(void)
{
    struct tp_map *map = tp_test_map_free(5, 5);
    struct tp_session_params params = params_of("astar", tp_budget_k(2), 0, 24);
    struct stage stage;
    stage_open(&stage, &stage_wire, &params, map, "stands in a block");
    stage_set(&stage, 0, 0, '@');
    struct tp_tick_reply reply = stage_tick(&stage);
    STAGE_SAY(&stage, reply.flags & TP_FLAG_START_BLOCKED && reply.status == TP_STATUS_SEARCHING);
    reply = stage_until_settled(&stage, 100);
    STAGE_SAY(&stage, reply.status == TP_STATUS_ARRIVED && !(reply.flags & TP_FLAG_START_BLOCKED));
    stage_close(&stage);
    tp_test_set(&map, 2, 2, '@');
    params.start = 12;
    stage_open(&stage, &stage_wire, &params, map, "begins in a block");
    reply = stage_tick(&stage);
    STAGE_SAY(&stage, reply.flags & TP_FLAG_START_BLOCKED);
    case_expect_end(&stage, TP_STATUS_ARRIVED, false, 24);
    stage_close(&stage);
    tp_map_unref(map);
}

/* ---- All of them ---- */

#define STATUS(name) (1u << TICKPATH__STATUS__##name)
#define FLAG(name) ((uint32_t)TICKPATH__FLAG__##name)

/* What each scenario has to bring the daemon to say. */
static const struct {
    void (*play)(void);
    uint32_t statuses, flags;
} scenarios[] = {
    {walks, STATUS(MOVING) | STATUS(ARRIVED), FLAG(PATH_COMPLETE)},
    {searches, STATUS(SEARCHING), 0},
    {is_blocked, STATUS(BLOCKED), FLAG(RESTARTED)},
    {is_shut_in, STATUS(UNREACHABLE), FLAG(DEAD_END)},
    {steps_back, STATUS(BLOCKED), FLAG(BACK_MOVE)},
    {goes_on, STATUS(MOVING), FLAG(CONTINUED)},
    {repairs, STATUS(MOVING), FLAG(REPAIRED)},
    {begins_anew, STATUS(MOVING), FLAG(RESTARTED)},
    {comes_near, STATUS(ARRIVED), FLAG(PARTIAL)},
    {runs_out_of_memory, STATUS(MOVING), FLAG(NODE_CAP) | FLAG(LOOPING)},
    {stands_in_a_block, STATUS(SEARCHING), FLAG(START_BLOCKED)},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

START_TEST(test_none_is_left_out)
{
    uint32_t statuses = 0, flags = 0;
    for (int i = 0; i < SCENARIOS; i++) {
        statuses |= scenarios[i].statuses;
        flags |= scenarios[i].flags;
    }
    for (unsigned i = 0; i < tickpath__status__descriptor.n_values; i++) {
        const ProtobufCEnumValue *value = &tickpath__status__descriptor.values[i];
        ck_assert_msg(statuses & 1u << value->value, "no scenario reaches the status %s", value->name);
    }
    for (unsigned i = 0; i < tickpath__flag__descriptor.n_values; i++) {
        const ProtobufCEnumValue *value = &tickpath__flag__descriptor.values[i];
        ck_assert_msg(value->value == 0 || flags & (uint32_t)value->value, "no scenario reaches the flag %s",
                      value->name);
    }
}
END_TEST

START_TEST(test_scenario)
{
    scenarios[_i].play();
    ck_assert_msg((stage_seen.statuses & scenarios[_i].statuses) == scenarios[_i].statuses, "statuses %x",
                  stage_seen.statuses);
    ck_assert_msg((stage_seen.flags & scenarios[_i].flags) == scenarios[_i].flags, "flags %x",
                  stage_seen.flags);
}
END_TEST

/* ---- Rows that can't choose a goal say so, and those that can take it ---- */

static void expect_choice(const struct tp_algorithm *row, struct tp_session_params *params, const char *field)
{
    Tickpath__OpenSession open;
    Tickpath__Budget budget;
    stage_open_message(&open, &budget, params, false);
    if (!(row->capabilities & TP_CAN_CHOOSE_GOAL)) {
        wire_ask_error(&stage_wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__ERROR_CODE__UNSUPPORTED,
                       field);
        return;
    }
    wire_reply_free(
        wire_ask(&stage_wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
}

START_TEST(test_rows_that_take_one_goal)
{
    static const uint32_t cells[] = {5, 6};
    wire_put_free_map(&stage_wire, "stage", 10, 10);
    int choose = 0, refuse = 0;
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        const struct tp_algorithm *row = tp_algorithm_at(i);
        struct tp_session_params params = params_of(row->name, tp_budget_k(10), 0, 9), one = params;
        params.goal_policy = TP_GOAL_NEAREST;
        expect_choice(row, &params, "goal_policy");
        params.goal_policy = TP_GOAL_WITHIN;
        params.goal_radius = TP_COST_UNIT;
        expect_choice(row, &params, "goal_policy");
        params = one;
        params.more_goals = cells;
        params.more_goal_count = 2;
        expect_choice(row, &params, "more_goals");
        bool chooses = row->capabilities & TP_CAN_CHOOSE_GOAL;
        choose += chooses;
        refuse += !chooses;
        /* and so it is in mid-walk; what was refused left the goal as it was */
        uint64_t session = wire_open_session(&stage_wire, "stage", 0, 9, row->name, 50);
        wire_reply_free(wire_tick(&stage_wire, session));
        Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
        set.has_session = set.has_goal = 1;
        set.session = session;
        set.goal = 20;
        set.more_goals = (uint32_t *)cells;
        set.n_more_goals = 2;
        if (chooses)
            wire_reply_free(
                wire_ask(&stage_wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__REPLY__BODY_GOAL_SET));
        else
            wire_ask_error(&stage_wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__ERROR_CODE__UNSUPPORTED,
                           "more_goals");
        uint32_t status = 0, cell = 0;
        for (int tick = 0; tick < 400 && status != TICKPATH__STATUS__ARRIVED; tick++) {
            Tickpath__Reply *reply = wire_tick(&stage_wire, session);
            status = reply->ticked->status[0];
            cell = reply->ticked->cell[0];
            wire_reply_free(reply);
        }
        ck_assert_uint_eq(status, TICKPATH__STATUS__ARRIVED);
        ck_assert_msg(chooses ? cell == 20 || cell == 5 || cell == 6 : cell == 9, "%s arrived on %u",
                      row->name, cell);
    }
    ck_assert(choose > 0 && refuse > 0);
}
END_TEST

/* Goals that are none, in a set: the request is refused whole, and the goals stay. */
START_TEST(test_sets_refused_in_mid_walk)
{
    uint32_t many[17] = {0}, outside[] = {1, 100};
    wire_put_free_map(&stage_wire, "stage", 10, 10);
    uint64_t session = wire_open_session(&stage_wire, "stage", 0, 9, NULL, 100);
    wire_reply_free(wire_tick(&stage_wire, session));
    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    set.has_session = set.has_goal = 1;
    set.session = session;
    set.goal = 90;
    set.more_goals = outside;
    set.n_more_goals = 2;
    wire_ask_error(&stage_wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__ERROR_CODE__OUT_OF_RANGE,
                   "more_goals");
    set.more_goals = many;
    for (size_t count = 16; count <= 17; count++) { /* with `goal` one and two too many */
        set.n_more_goals = count;
        wire_ask_error(&stage_wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__ERROR_CODE__INVALID_ARGUMENT,
                       "more_goals");
    }
    for (uint32_t cell = 2; cell <= 9; cell++) {
        Tickpath__Reply *reply = wire_tick(&stage_wire, session);
        ck_assert_uint_eq(reply->ticked->cell[0], cell);
        wire_reply_free(reply);
    }
}
END_TEST

static Suite *statuses_suite(void)
{
    Suite *suite = suite_create("statuses_wire");
    TCase *tcase = tcase_create("served");
    tcase_add_checked_fixture(tcase, stage_daemon_begin, stage_daemon_end);
    tcase_add_test(tcase, test_none_is_left_out);
    tcase_add_loop_test(tcase, test_scenario, 0, SCENARIOS);
    tcase_add_test(tcase, test_rows_that_take_one_goal);
    tcase_add_test(tcase, test_sets_refused_in_mid_walk);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_statuses_wire", statuses_suite);
}
