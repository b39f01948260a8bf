/* Random sessions for tests: for each row of the registry on each kind of state space, the options it takes there, the budgets
 * it accepts, and what may happen to it between two ticks.
 *
 * A test that holds for every row on every kind loops from 0 to rows_times_kinds() and asks row_of and kind_of what its
 * number stands for. Every function fails the running test if it cannot do what it says. Who calls it: tests of one thread.
 */
#ifndef TESTS_LIB_RANDOM_SESSIONS_H
#define TESTS_LIB_RANDOM_SESSIONS_H

#include "tests/lib/play.h"
#include "tests/lib/random_spaces.h"

int row_count(void);
int rows_times_kinds(void);
const struct tp_algorithm *row_of(int i);
enum space_kind kind_of(int i);

bool row_can(const struct tp_algorithm *row, enum tp_capability capability);

/* Whether a row learns as it walks, looking ahead anew for each move: it needs as many moves as h is to be raised. */
bool row_walks_to_learn(const struct tp_algorithm *row);

/* Spaces on which a row settles in a number of ticks that a test can wait for. */
struct space_size row_space_size(const struct tp_algorithm *row);

/* Options that the row takes on the space, a start and a goal; on a full knowledge of it. */
struct tp_session_params random_params(struct tp_test_rng *rng, const struct tp_algorithm *row,
                                       const struct space *space);

/* Likewise, on a space of its own (space_fini), with a passable start and another goal that it can be reached from; none of
 * the options of 2009. */
struct tp_session_params random_joined(struct tp_test_rng *rng, const struct tp_algorithm *row,
                                       struct space *space, enum space_kind kind, struct space_size size);

/* Half of the lives of a row that discovers: the map is unknown, or another is taken for it. Gives a reference to the
 * known map, or NULL. */
struct tp_map *random_knowledge(struct tp_test_rng *rng, struct tp_session_params *params,
                                const struct space *space);

/* A budget the session takes; `clock` serves a deadline. `least` is the least work a tick must be able to do. */
struct tp_budget random_budget(struct tp_test_rng *rng, const struct tp_session *session,
                               struct play_clock *clock, uint32_t least);

/* A play of the session on the space; in a pool of the caller's, or NULL for its own. */
void space_open(struct play *play, const struct tp_session_params *params, const struct space *space,
                struct tp_pool *pool);

/* The map changes; a graph by a batch, or the same one, as it is or built again, is handed in as a new version. */
void random_change(struct tp_test_rng *rng, struct play *play, struct space *space);

/* The agent stands on a cell, a vehicle at some velocity as often as at rest. */
void random_stand(struct tp_test_rng *rng, struct play *play, uint32_t cell);

/* The reply came late, the agent was pushed, or it was put elsewhere. */
void random_place(struct tp_test_rng *rng, struct play *play, struct plain_vehicle before);

#endif
