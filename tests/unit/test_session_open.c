/* tp_session_open and tp_session_check_budget: what is refused, with the field and the reason, and that a
 * refusal leaves nothing behind. */
#include "base/limits.h"
#include "tests/lib/play.h"

#include <stdio.h>
#include <string.h>

static struct tp_map *map;
static struct tp_pool pool;
static struct tp_session_params params;

static void setup(void)
{
    map = tp_test_map_free(8, 6);
    tp_pool_init(&pool, NULL);
    tp_session_params_init(&params);
    params.start = 3;
    params.goal = 40;
}

static void teardown(void)
{
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    tp_map_unref(map);
}

static const struct tp_algorithm *row_named(const char *name)
{
    const struct tp_algorithm *row = tp_algorithm_find(name);
    ck_assert_msg(row, "no row %s", name);
    return row;
}

/* The params are refused with one of the codes (0: none more), naming the field, saying why. */
static void refused(int code, int or_code, const char *field)
{
    struct tp_session *session = (struct tp_session *)&pool;
    struct tp_refusal refusal = {NULL, NULL};
    int error = tp_session_open(&session, &params, map, &pool, &refusal);
    ck_assert_msg(error == code || (or_code && error == or_code), "%s: %s", field, tp_error_name(error));
    ck_assert_ptr_null(session);
    ck_assert_ptr_nonnull(refusal.field);
    ck_assert_str_eq(refusal.field, field);
    ck_assert_ptr_nonnull(refusal.reason);
    ck_assert_uint_gt(strlen(refusal.reason), 5);
}

static void accepted(void)
{
    struct tp_session *session;
    struct tp_refusal refusal = {NULL, NULL};
    int error = tp_session_open(&session, &params, map, &pool, &refusal);
    ck_assert_msg(error == 0, "%s: %s: %s", tp_error_name(error), refusal.field, refusal.reason);
    ck_assert_ptr_nonnull(session);
    tp_session_close(session);
}

START_TEST(defaults_are_as_documented)
{
    ck_assert_str_eq(params.algorithm->name, "guided");
    ck_assert_uint_eq(params.w_milli, TP_W_UNSET);
    ck_assert_int_eq(params.pause_on_backtrack, TP_PAUSE_DEFAULT);
    ck_assert_uint_eq(params.guide_units, TP_GUIDE_UNITS_UNSET);
    ck_assert_int_eq(params.budget.kind, TP_BUDGET_R);
    ck_assert_uint_eq(params.budget.expansions, 100);
    ck_assert_uint_eq(params.budget.r_milli, 900);
    ck_assert_uint_eq(params.budget.c, 10);
    ck_assert_int_eq(params.neighbours, TP_NEIGHBOURS_8);
    ck_assert_int_eq(params.corners, TP_CORNERS_BOTH_FREE);
    ck_assert_int_eq(params.goal_policy, TP_GOAL_EXACT);
    ck_assert_int_eq(params.knowledge, TP_KNOWLEDGE_FULL);
    ck_assert_int_eq(params.restart, TP_RESTART_DEFAULT);
    accepted();
}
END_TEST

START_TEST(cells_outside_are_refused)
{
    params.start = 8 * 6;
    refused(TP_ERR_OUT_OF_RANGE, 0, "start");
    params.start = UINT32_MAX;
    refused(TP_ERR_OUT_OF_RANGE, 0, "start");
    params.start = 8 * 6 - 1;
    params.goal = 8 * 6;
    refused(TP_ERR_OUT_OF_RANGE, 0, "goal");
    params.goal = UINT32_MAX;
    refused(TP_ERR_OUT_OF_RANGE, 0, "goal");
    params.goal = params.start;
    accepted();
}
END_TEST

START_TEST(w_has_bounds)
{
    params.algorithm = row_named("tbwa");
    static const uint32_t bad[] = {0, 1, 999, TP_W_MILLI_MAX + 1, UINT32_MAX - 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        params.w_milli = bad[i];
        refused(TP_ERR_INVALID_ARGUMENT, 0, "w");
    }
    params.w_milli = TP_W_MILLI_MAX;
    accepted();
    params.w_milli = 1000;
    accepted();
    ck_assert_uint_eq(row_named("tbwa")->w_milli, 0);
    ck_assert_uint_ge(row_named("guided")->w_milli, 1000);
    for (size_t i = 0; tp_algorithm_at(i); i++) { /* other rows have none */
        params.algorithm = tp_algorithm_at(i);
        params.w_milli = TP_W_UNSET; /* the row's own, or 1 */
        accepted();
        params.w_milli = 1400;
        if (params.algorithm->capabilities & TP_CAN_TAKE_W)
            accepted();
        else
            refused(TP_ERR_UNSUPPORTED, 0, "w");
        params.w_milli = 1000;
        accepted();
    }
}
END_TEST

START_TEST(enums_are_checked)
{
    params.neighbours = (enum tp_neighbours)5;
    refused(TP_ERR_INVALID_ARGUMENT, 0, "neighbours");
    params.neighbours = (enum tp_neighbours)0;
    refused(TP_ERR_INVALID_ARGUMENT, 0, "neighbours");
    params.neighbours = TP_NEIGHBOURS_16;
    params.corners = (enum tp_corners)3;
    refused(TP_ERR_INVALID_ARGUMENT, 0, "corners");
    params.corners = TP_CORNERS_ALWAYS;
    params.goal_policy = (enum tp_goal_policy)7;
    refused(TP_ERR_INVALID_ARGUMENT, TP_ERR_UNSUPPORTED, "goal_policy");
    params.goal_policy = TP_GOAL_EXACT;
    params.knowledge = (enum tp_knowledge)7;
    refused(TP_ERR_INVALID_ARGUMENT, TP_ERR_UNSUPPORTED, "knowledge");
    params.knowledge = TP_KNOWLEDGE_FULL;
    params.restart = (enum tp_restart)9;
    refused(TP_ERR_INVALID_ARGUMENT, TP_ERR_UNSUPPORTED, "restart");
    params.restart = TP_RESTART_DEFAULT;
    accepted();
}
END_TEST

/* What a refusal says: these rows can, and it names all that can. */
static void names_rows_that(enum tp_capability capability)
{
    struct tp_session *session;
    struct tp_refusal refusal = {NULL, NULL};
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), TP_ERR_UNSUPPORTED);
    const char *names = strrchr(refusal.reason, ':');
    ck_assert_msg(names != NULL, "%s", refusal.reason);
    char padded[256];
    snprintf(padded, sizeof padded, "%s ", names + 1);
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        char name[32];
        snprintf(name, sizeof name, " %s ", tp_algorithm_at(i)->name);
        bool can = tp_algorithm_at(i)->capabilities & capability;
        ck_assert_msg((strstr(padded, name) != NULL) == can, "%s:%s", refusal.field, padded);
    }
}

START_TEST(refusals_name_the_rows_that_can)
{
    const struct tp_session_params usual = params;
    params.algorithm = row_named("tbgbfs");
    params.w_milli = 2000;
    names_rows_that(TP_CAN_TAKE_W);
    params = usual;
    params.algorithm = row_named("tba");
    params.knowledge = TP_KNOWLEDGE_FREESPACE;
    names_rows_that(TP_CAN_DISCOVER);
    params.knowledge = TP_KNOWLEDGE_FULL;
    params.restart = TP_RESTART_LAZY;
    names_rows_that(TP_CAN_RESTART_BY_RULE);
    params = usual;
    params.algorithm = row_named("lss");
    params.goal_policy = TP_GOAL_NEAREST;
    names_rows_that(TP_CAN_CHOOSE_GOAL);
}
END_TEST

START_TEST(goals_are_for_rows_that_choose)
{
    static const uint32_t goals[TP_GOALS_MAX] = {1, 2, 3, 8 * 6};
    params.more_goals = goals;
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        params.algorithm = tp_algorithm_at(i);
        bool chooses = params.algorithm->capabilities & TP_CAN_CHOOSE_GOAL;
        for (int policy = TP_GOAL_WITHIN; policy <= TP_GOAL_NEAREST; policy++) {
            params.goal_policy = (enum tp_goal_policy)policy;
            chooses ? accepted() : refused(TP_ERR_UNSUPPORTED, 0, "goal_policy");
        }
        params.goal_policy = TP_GOAL_EXACT;
        accepted();
        params.more_goal_count = 3;
        chooses ? accepted() : refused(TP_ERR_UNSUPPORTED, 0, "more_goals");
        params.more_goal_count = 0;
    }
    params.algorithm = row_named("astar");
    params.more_goal_count = 4;
    refused(TP_ERR_OUT_OF_RANGE, 0, "more_goals");
    params.more_goal_count = TP_GOALS_MAX;
    refused(TP_ERR_INVALID_ARGUMENT, 0, "more_goals");
    params.more_goal_count = 0;
    params.goal_radius = 1;
    refused(TP_ERR_INVALID_ARGUMENT, 0, "goal_radius");
    params.goal_policy = TP_GOAL_WITHIN;
    accepted();
    params.heuristic = TP_HEURISTIC_ZERO; /* h would be 0 everywhere */
    refused(TP_ERR_UNSUPPORTED, 0, "goal_policy");
    params.goal_policy = TP_GOAL_NEAREST;
    params.goal_radius = 0;
    refused(TP_ERR_UNSUPPORTED, 0, "goal_policy");
}
END_TEST

START_TEST(knowledge_goes_with_rows_that_discover)
{
    struct tp_map *other = tp_test_map_free(6, 8);
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        params.algorithm = tp_algorithm_at(i);
        bool discovers = params.algorithm->capabilities & TP_CAN_DISCOVER;
        params.knowledge = TP_KNOWLEDGE_FREESPACE;
        if (discovers)
            accepted();
        else
            refused(TP_ERR_UNSUPPORTED, 0, "knowledge");
        params.knowledge = TP_KNOWLEDGE_MAP;
        params.known = map;
        if (discovers)
            accepted();
        else
            refused(TP_ERR_UNSUPPORTED, 0, "knowledge");
        params.known = NULL;
        refused(discovers ? TP_ERR_INVALID_ARGUMENT : TP_ERR_UNSUPPORTED, 0, "knowledge");
        params.known = other; /* of another size */
        refused(discovers ? TP_ERR_INVALID_ARGUMENT : TP_ERR_UNSUPPORTED, 0, "knowledge");
        params.known = NULL;
        params.knowledge = TP_KNOWLEDGE_FULL;
        params.sensor_radius = 8;
        accepted();
        params.sensor_radius = 9;
        refused(TP_ERR_INVALID_ARGUMENT, 0, "sensor_radius");
        params.sensor_radius = 1; /* does not see what a move of 16 neighbours needs free */
        params.neighbours = TP_NEIGHBOURS_16;
        refused(TP_ERR_INVALID_ARGUMENT, 0, "sensor_radius");
        params.sensor_radius = 2;
        accepted();
        params.sensor_radius = 0;
        accepted();
        params.neighbours = TP_NEIGHBOURS_8;
    }
    tp_map_unref(other);
}
END_TEST

START_TEST(restart_rules_go_with_their_rows)
{
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        params.algorithm = tp_algorithm_at(i);
        bool by_rule = params.algorithm->capabilities & TP_CAN_RESTART_BY_RULE;
        for (int rule = TP_RESTART_DEFAULT; rule <= TP_RESTART_ON_RISE; rule++) {
            params.restart = (enum tp_restart)rule;
            if (by_rule || rule <= TP_RESTART_EAGER)
                accepted();
            else
                refused(TP_ERR_UNSUPPORTED, 0, "restart");
        }
        params.restart = (enum tp_restart)(TP_RESTART_ON_RISE + 1);
        refused(TP_ERR_INVALID_ARGUMENT, TP_ERR_UNSUPPORTED, "restart");
        params.restart = TP_RESTART_DEFAULT;
    }
}
END_TEST

/* A row without the capability is told which rows have it, in the order of listings. */
static void refusal_lists(enum tp_capability capability, const char *field)
{
    struct tp_session *session;
    struct tp_refusal refusal = {NULL, NULL};
    char names[256] = "";
    params.algorithm = NULL;
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        const struct tp_algorithm *row = tp_algorithm_at(i);
        if (!(row->capabilities & capability))
            params.algorithm = row;
        else
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", names[0] ? " " : "", row->name);
    }
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), TP_ERR_UNSUPPORTED);
    ck_assert_str_eq(refusal.field, field);
    const char *list = strrchr(refusal.reason, ':');
    ck_assert_msg(list && strcmp(list + 2, names) == 0, "%s: \"%s\", but the rows are: %s", field, refusal.reason, names);
}

START_TEST(refusals_list_the_rows_that_can)
{
    params.w_milli = 2000;
    refusal_lists(TP_CAN_TAKE_W, "w");
    params.w_milli = TP_W_UNSET;
    params.goal_policy = TP_GOAL_NEAREST;
    refusal_lists(TP_CAN_CHOOSE_GOAL, "goal_policy");
    params.goal_policy = TP_GOAL_EXACT;
    params.knowledge = TP_KNOWLEDGE_FREESPACE;
    refusal_lists(TP_CAN_DISCOVER, "knowledge");
    params.knowledge = TP_KNOWLEDGE_FULL;
    params.restart = TP_RESTART_LAZY;
    refusal_lists(TP_CAN_RESTART_BY_RULE, "restart");
}
END_TEST

START_TEST(options_go_with_their_rows_alone)
{
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        params.algorithm = tp_algorithm_at(i);
        bool takes = params.algorithm->capabilities & TP_CAN_ENHANCE_2009;
        struct {
            bool *option;
            const char *field;
        } options[] = {{&params.shortcut, "shortcut"},
                       {&params.path_switch, "path_switch"},
                       {&params.longest_path_rule, "longest_path_rule"}};
        for (int option = 0; option < 3; option++) {
            *options[option].option = true;
            if (takes)
                accepted();
            else
                refused(TP_ERR_UNSUPPORTED, TP_ERR_INVALID_ARGUMENT, options[option].field);
            *options[option].option = false;
        }
    }
}
END_TEST

START_TEST(steadiness_goes_with_the_time_bounded_rows)
{
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        params.algorithm = tp_algorithm_at(i);
        bool takes = strcmp(tp_engine_name(params.algorithm->engine), "time-bounded") == 0;
        params.pause_on_backtrack = TP_PAUSE_ON_BACKTRACK;
        if (takes)
            accepted();
        else
            refused(TP_ERR_UNSUPPORTED, TP_ERR_INVALID_ARGUMENT, "pause_on_backtrack");
        params.pause_on_backtrack = (enum tp_pause)(TP_PAUSE_NEVER + 1);
        refused(TP_ERR_INVALID_ARGUMENT, TP_ERR_UNSUPPORTED, "pause_on_backtrack");
        params.pause_on_backtrack = i % 2 ? TP_PAUSE_NEVER : TP_PAUSE_DEFAULT;
        accepted();
        const uint32_t margins[] = {1, 100, 10000};
        for (int m = 0; m < 3; m++) {
            params.switch_margin_milli = margins[m];
            if (takes)
                accepted();
            else
                refused(TP_ERR_UNSUPPORTED, TP_ERR_INVALID_ARGUMENT, "switch_margin");
        }
        params.switch_margin_milli = 10001;
        refused(TP_ERR_INVALID_ARGUMENT, TP_ERR_UNSUPPORTED, "switch_margin");
        params.switch_margin_milli = 0;
    }
}
END_TEST

START_TEST(a_proof_goes_with_rows_and_goals_that_can)
{
    params.bounded = true;
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        params.algorithm = tp_algorithm_at(i);
        bool time_bounded = strcmp(tp_engine_name(params.algorithm->engine), "time-bounded") == 0;
        ck_assert(time_bounded == !!(params.algorithm->capabilities & TP_CAN_PROVE_COST));
        if (time_bounded)
            accepted();
        else
            refused(TP_ERR_UNSUPPORTED, 0, "bounded");
    }
    params.algorithm = row_named("rtbwa");
    params.goal_policy = TP_GOAL_NEAREST;
    accepted();
    params.goal_policy = TP_GOAL_WITHIN;
    refused(TP_ERR_UNSUPPORTED, 0, "bounded");
    params.goal_policy = TP_GOAL_EXACT;
    params.knowledge = TP_KNOWLEDGE_FREESPACE;
    refused(TP_ERR_UNSUPPORTED, 0, "bounded");
    params.knowledge = TP_KNOWLEDGE_FULL;
    params.motion = TP_MOTION_INERTIA;
    refused(TP_ERR_UNSUPPORTED, 0, "bounded");
}
END_TEST

START_TEST(budgets_have_bounds)
{
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        params.algorithm = tp_algorithm_at(i);
        params.budget = tp_budget_k(0);
        refused(TP_ERR_INVALID_ARGUMENT, 0, "k");
        params.budget = tp_budget_k(TP_BUDGET_MAX + 1);
        refused(TP_ERR_INVALID_ARGUMENT, 0, "k");
        params.budget = tp_budget_k(TP_BUDGET_MAX);
        accepted();
        params.budget = tp_budget_k(1);
        accepted();
        params.budget = tp_budget_r(0, 900, 10);
        refused(TP_ERR_INVALID_ARGUMENT, 0, "resource_limit");
        params.budget = tp_budget_r(TP_BUDGET_MAX + 1, 900, 10);
        refused(TP_ERR_INVALID_ARGUMENT, 0, "resource_limit");
        params.budget = tp_budget_r(100, 1001, 10);
        refused(TP_ERR_INVALID_ARGUMENT, 0, "expansion_share");
        params.budget = tp_budget_r(100, 900, 0);
        refused(TP_ERR_INVALID_ARGUMENT, 0, "trace_steps");
        params.budget = tp_budget_r(100, 900, TP_C_MAX + 1);
        refused(TP_ERR_INVALID_ARGUMENT, 0, "trace_steps");
        params.budget = tp_budget_r(TP_BUDGET_MAX, 900, TP_C_MAX);
        accepted();
        params.budget = (struct tp_budget){.kind = TP_BUDGET_DEADLINE, .c = 10, .expansions_max = UINT64_MAX};
        refused(TP_ERR_INVALID_ARGUMENT, 0, "deadline_us");
        struct play_clock clock = {3};
        params.budget = play_deadline(&clock);
        accepted();
        params.budget = tp_budget_k(5);
    }
}
END_TEST

/* tba divides R: N_E = floor(R r) and N_T = (R - N_E) c must both be at least 1. Other rows spend R as one
 * purse. */
START_TEST(the_two_shares_of_R_must_not_be_empty)
{
    static const struct {
        uint64_t R;
        uint32_t r_milli;
    } empty[] = {{1, 900}, {1, 500}, {1, 1000}, {100, 0}, {100, 1000}, {9, 100}, {999, 1}};
    static const struct {
        uint64_t R;
        uint32_t r_milli;
    } full[] = {{2, 500}, {10, 900}, {1000, 1}, {2, 999}, {3, 400}};
    for (size_t i = 0; tp_algorithm_at(i); i++) {
        params.algorithm = tp_algorithm_at(i);
        bool splits = params.algorithm->capabilities & TP_CAN_SPLIT_R;
        for (size_t j = 0; j < sizeof empty / sizeof *empty; j++) {
            params.budget = tp_budget_r(empty[j].R, empty[j].r_milli, 10);
            struct tp_session *session;
            struct tp_refusal refusal = {NULL, NULL};
            int error = tp_session_open(&session, &params, map, &pool, &refusal);
            if (!splits) {
                ck_assert_int_eq(error, 0);
                tp_session_close(session);
                continue;
            }
            ck_assert_int_eq(error, TP_ERR_INVALID_ARGUMENT);
            ck_assert_ptr_null(session);
            ck_assert_msg(
                !strcmp(refusal.field, "resource_limit") || !strcmp(refusal.field, "expansion_share"),
                "R %llu, r %u: field %s", (unsigned long long)empty[j].R, empty[j].r_milli, refusal.field);
        }
        for (size_t j = 0; j < sizeof full / sizeof *full; j++) {
            params.budget = tp_budget_r(full[j].R, full[j].r_milli, 1);
            accepted();
        }
    }
}
END_TEST

START_TEST(check_budget_agrees_with_open)
{
    params.algorithm = row_named("tba");
    struct tp_session *session;
    struct tp_refusal refusal = {NULL, NULL};
    ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
    struct tp_budget budget = tp_budget_k(0);
    ck_assert_int_eq(tp_session_check_budget(session, &budget, &refusal), TP_ERR_INVALID_ARGUMENT);
    ck_assert_str_eq(refusal.field, "k");
    budget = tp_budget_r(1, 900, 10);
    ck_assert_int_eq(tp_session_check_budget(session, &budget, &refusal), TP_ERR_INVALID_ARGUMENT);
    budget = tp_budget_r(10, 900, 10);
    ck_assert_int_eq(tp_session_check_budget(session, &budget, &refusal), 0);
    budget = tp_budget_k(7);
    budget.expansions_max = 0; /* a shared total is spent: allowed, nothing is expanded */
    ck_assert_int_eq(tp_session_check_budget(session, &budget, &refusal), 0);
    tp_session_close(session);
}
END_TEST

START_TEST(rows_are_complete_and_found_by_name)
{
    ck_assert_ptr_nonnull(tp_algorithm_at(0));
    size_t count = 0;
    for (; tp_algorithm_at(count); count++) {
        const struct tp_algorithm *row = tp_algorithm_at(count);
        ck_assert_ptr_eq(tp_algorithm_find(row->name), row);
        ck_assert(row->title && *row->title);
        ck_assert(row->citation && *row->citation);
        ck_assert(row->summary && *row->summary);
        ck_assert(row->engine && *tp_engine_name(row->engine));
        for (size_t i = 0; i < count; i++)
            ck_assert_str_ne(tp_algorithm_at(i)->name, row->name);
    }
    ck_assert_ptr_null(tp_algorithm_at(count + 1000));
    ck_assert_ptr_null(tp_algorithm_find(""));
    ck_assert_ptr_null(tp_algorithm_find("TBWA"));
    ck_assert_ptr_null(tp_algorithm_find("tbw"));
    ck_assert_ptr_null(tp_algorithm_find("tbwa "));
    ck_assert(row_named("tba")->capabilities & TP_CAN_SPLIT_R);
    ck_assert(row_named("tba")->capabilities & TP_CAN_ENHANCE_2009);
    ck_assert(row_named("tbwa")->capabilities & TP_CAN_TAKE_W);
    ck_assert(row_named("tbwa")->capabilities & TP_CAN_BOUND_COST);
    ck_assert(!(row_named("tbgbfs")->capabilities & TP_CAN_BOUND_COST));
    ck_assert(row_named("astar")->capabilities & TP_CAN_BE_OPTIMAL);
    static const char *const named[] = {"tba", "tbwa", "tbgbfs", "astar"};
    for (int i = 0; i < 4; i++)
        ck_assert(row_named(named[i])->capabilities & TP_CAN_DETECT_UNREACHABLE);
}
END_TEST

static Suite *open_suite(void)
{
    Suite *suite = suite_create("session open");
    TCase *tcase = tcase_create("refusals");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, defaults_are_as_documented);
    tcase_add_test(tcase, cells_outside_are_refused);
    tcase_add_test(tcase, w_has_bounds);
    tcase_add_test(tcase, enums_are_checked);
    tcase_add_test(tcase, refusals_name_the_rows_that_can);
    tcase_add_test(tcase, goals_are_for_rows_that_choose);
    tcase_add_test(tcase, knowledge_goes_with_rows_that_discover);
    tcase_add_test(tcase, restart_rules_go_with_their_rows);
    tcase_add_test(tcase, refusals_list_the_rows_that_can);
    tcase_add_test(tcase, options_go_with_their_rows_alone);
    tcase_add_test(tcase, steadiness_goes_with_the_time_bounded_rows);
    tcase_add_test(tcase, a_proof_goes_with_rows_and_goals_that_can);
    tcase_add_test(tcase, budgets_have_bounds);
    tcase_add_test(tcase, the_two_shares_of_R_must_not_be_empty);
    tcase_add_test(tcase, check_budget_agrees_with_open);
    tcase_add_test(tcase, rows_are_complete_and_found_by_name);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_session_open", open_suite);
}
