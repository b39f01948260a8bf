/* How long things take under a total of time, as the ticks before had it: what the scheduler plans a tick by.
 *
 * What it is: estimates, moved a little by each stretch of turns that was measured, on whatever clock; arithmetic, no clock of its own. A
 * move alone, taking up a search, an expansion and the answer are told apart, for they may differ a hundredfold, and by machine
 * and load. Who calls it: the scheduler's shared totals (daemon/serve/scheduler_shared.c), on the connection's loop.
 */
#ifndef TP_DAEMON_PACE_H
#define TP_DAEMON_PACE_H

#include <stddef.h>
#include <stdint.h>

struct tp_pace {
    double turn_ns;      /* a session's move, without an expansion */
    double search_ns;    /* more where it searches: fetching what that needs, and tracing */
    double expansion_ns; /* and for each expansion */
    double portion;      /* expansions that one gets at once where time is short, see tp_pace_learn_portion */
    double answer_ns;    /* from the last move on, for each session */
};

/* Before anything was measured. */
struct tp_pace tp_pace_begin(void);

/* How long so many turns take, `searches` of them with `expansions` together. */
double tp_pace_ns(const struct tp_pace *pace, uint64_t turns, uint64_t searches, uint64_t expansions);

/* Expansions that so much time holds, in at most so many searches of a portion at the least. */
uint64_t tp_pace_expansions(const struct tp_pace *pace, uint64_t left_ns, size_t searches, uint64_t portion);

/* Moves the estimates towards what a stretch of turns took, each by the square of its part in what was expected. Faster up than down where
 * there were searches, so that it errs to the safe side. */
void tp_pace_learn(struct tp_pace *pace, uint64_t turns, uint64_t searches, uint64_t expansions, uint64_t took_ns);

/* Where time is short for all who ask, an expansion each would go into taking up their searches. So fewer get more at once: as much as
 * lets so many of them have some in a tick that all do within TP_PACE_TICKS_APART, and no more than takes as long as what comes
 * before it. Where that is out of reach anyway, a few. To be called after a tick in which time was short: `searched` of `asks` had some. */
enum { TP_PACE_TICKS_APART = 6 };
void tp_pace_learn_portion(struct tp_pace *pace, size_t asks, size_t searched);

/* Notes how long an answer for so many sessions took; few tell too little. */
void tp_pace_learn_answer(struct tp_pace *pace, size_t sessions, uint64_t took_ns);

#endif
