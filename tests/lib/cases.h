/* The small cases that must come out right, each written once: played in process by tests/contract/test_cases.c and
 * tests/unit/test_goals.c, and through a daemon, in step with the library, by tests/integration/test_cases_wire.c.
 *
 * What it is: two lists of cases, and what plays one of them with every row of the registry under every budget of a list: k of 1,
 * 2, 5, 7, 64 and unlimited, and R of 3 and 100 (through the wire half of them, all in the longer form). Each is a thing that users
 * of comparable tools have stumbled over; the letters are theirs. x and y count from the top left; a cell is y * width + x. A program makes a test of each case:
 *
 *     #define TEST(name)                    \
 *         START_TEST(name)                  \
 *         {                                 \
 *             case_play_all(case_##name, NULL); \
 *         }                                 \
 *         END_TEST
 *     CASES(TEST)
 *
 * What it refuses: nothing; a case that comes out wrong fails the running Check test with its name, row, policy and budget.
 * Who calls it: tests of one thread.
 */
#ifndef TESTS_LIB_CASES_H
#define TESTS_LIB_CASES_H

#include "tests/lib/stage.h"

/* Every row, and every policy that the case names. */
#define CASES(X)                                                                                             \
    X(a_straight)                                                                                            \
    X(a_diagonal_and_back)                                                                                   \
    X(b_a_one_way_ledge)                                                                                     \
    X(c_the_goal_is_blocked)                                                                                 \
    X(d_a_ring_closes_and_opens)                                                                             \
    X(e_walled_in)                                                                                           \
    X(f_the_same_goal_again)                                                                                 \
    X(f_a_goal_that_wobbles)                                                                                 \
    X(g_the_way_round)                                                                                       \
    X(h_a_corner_cut_off)                                                                                    \
    X(i_corner_rules_by_event)

/* Goal sets and policies beyond the letters, for the rows that take them (TP_CAN_CHOOSE_GOAL). */
#define GOAL_CASES(X)                                                                                        \
    X(nearest_of_a_set)                                                                                      \
    X(set_again_in_mid_walk)                                                                                 \
    X(goal_of_a_set_is_blocked)                                                                              \
    X(within_a_radius)                                                                                       \
    X(partial_names_its_end)                                                                                 \
    X(ledges_and_ties)                                                                                       \
    X(set_on_a_graph)                                                                                        \
    X(way_to_the_nearest_changes)                                                                            \
    X(goal_moves_beside_what_was_closed)                                                                     \
    X(vehicles_choose_too)

/* Row, budget and R's share are set; the rest is the default. `wire`: where a daemon plays too, else NULL. */
typedef void case_fn(struct wire *wire, const struct tp_session_params *params);
#define DECLARE(name) case_fn case_##name;
CASES(DECLARE)
GOAL_CASES(DECLARE)
#undef DECLARE

/* Plays it with every row (of those that choose goals) and budget. */
void case_play_all(case_fn *play_case, struct wire *wire);
void case_play_choosing(case_fn *play_case, struct wire *wire);

/* What cases ask of a row. */
bool case_detects(const struct tp_session_params *params); /* proves UNREACHABLE */
bool case_chooses(const struct tp_session_params *params); /* takes goal sets and policies */
bool case_paces(const struct tp_session_params *params);   /* steps to and fro while it searches */
bool case_by_g(const struct tp_session_params *params);    /* sorts by g + h */
bool case_unlimited(const struct tp_session_params *params);

uint32_t case_at(const struct tp_map *map, uint32_t x, uint32_t y);

/* Says UNREACHABLE within so many ticks, and goes on saying it, standing still; a row that can't prove it does not say it. */
void case_expect_unreachable(struct stage *stage, uint64_t ticks_max);

/* Ends with this status on this cell (UINT32_MAX: any), and stays, doing nothing. */
void case_expect_end(struct stage *stage, enum tp_status status, bool partial, uint32_t cell);

#endif
