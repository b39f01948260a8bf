/* What the scheduler's two files share: scheduler.c (which sessions, and those without a shared total) and scheduler_shared.c
 * (those under one). Nobody else includes it. */
#ifndef TP_DAEMON_SCHEDULER_INTERNAL_H
#define TP_DAEMON_SCHEDULER_INTERNAL_H

#include "daemon/scheduler.h"

/* The version that a session is ticked on. */
const struct tp_map *tp__schedule_map(const struct tp_schedule *schedule, uint32_t slot);

/* The session's budget, or the request's. */
const struct tp_agent_budget *tp__schedule_budget(const struct tp_schedule *schedule,
                                                  const struct tp_agent *agent);

/* Whether the request's sessions were given up. */
bool tp__schedule_over(const struct tp_schedule *schedule);

/* Has the processor fetch what the turn of the session schedule->slots[index] reads first, to be called `ahead` turns before it, with each
 * of TP_TURN_AHEAD down to 1. `walks`: most likely without a search. */
enum { TP_TURN_AHEAD = TP_PREFETCH_AHEAD + 1 };
void tp__schedule_fetch(const struct tp_schedule *schedule, size_t index, unsigned ahead, bool walks);

/* Serves the selected sessions under the shared totals. */
void tp__schedule_serve_shared(struct tp_schedule *schedule);

#endif
