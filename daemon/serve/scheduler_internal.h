/* What the scheduler's two files share: scheduler.c (which sessions, and those without a shared total) and scheduler_shared.c
 * (those under one). Nobody else includes it. */
#ifndef TP_DAEMON_SCHEDULER_INTERNAL_H
#define TP_DAEMON_SCHEDULER_INTERNAL_H

#include "daemon/serve/scheduler.h"

/* The version that a session is ticked on. */
const struct tp_map *tp__schedule_map(const struct tp_schedule *schedule, uint32_t slot);

/* The session's budget, or the request's. */
const struct tp_agent_budget *tp__schedule_budget(const struct tp_schedule *schedule,
                                                  const struct tp_agent *agent);

/* Counts the part of an answer that most have not: work, restarts, back-moves and the like. */
void tp__schedule_count_more(struct tp_schedule *schedule, const struct tp_tick_reply *reply);

/* Notes how a session's tick ended, for who looks on, and counts it. Here, where both are at hand: of those that rest it is a few instructions. */
static inline void tp__schedule_note(struct tp_schedule *schedule, struct tp_agent *agent, const struct tp_tick_reply *reply)
{
    struct tp_metrics *metrics = schedule->sessions->metrics;
    enum tp_status status = reply->status;
    if (agent->state != status)
        tp_agent_state(schedule->sessions, agent, status);
    agent->flags = (uint16_t)reply->flags;
    if (!TP_METRICS)
        return;
    tp_metric_add(&metrics->statuses[(size_t)status - 1], 1);
    if (reply->from != reply->to) {
        tp_metric_add(&metrics->moves, 1);
        if (status == TP_STATUS_ARRIVED)
            tp_metric_add(&metrics->arrivals, 1);
    }
    if (!reply->is_idle)
        tp__schedule_count_more(schedule, reply);
}

/* Whether the request's sessions were given up. */
bool tp__schedule_over(const struct tp_schedule *schedule);

/* Sessions in a line, by their indices in schedule->slots. */
struct tp_line {
    const uint32_t *order; /* NULL: as the slots are */
    const uint32_t *place; /* in `order`, or NULL: as that is */
    size_t count;
    size_t walking; /* of the first so many it is expected that they only walk */
};

static inline size_t tp__line_index(const struct tp_line *line, size_t i)
{
    size_t place = line->place != NULL ? line->place[i] : i;
    return line->order != NULL ? line->order[place] : place;
}

/* What those behind the i-th will read in their turns is fetched while it has its own. Cost: O(1). */
void tp__line_fetch(const struct tp_schedule *schedule, const struct tp_line *line, size_t i);

/* Serves the selected sessions under the shared totals. */
void tp__schedule_serve_shared(struct tp_schedule *schedule);

#endif
