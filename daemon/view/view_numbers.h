/* The numbers of the live view's charts: what the metrics counted since they were looked at last.
 *
 * What it is: a snapshot of a few metrics, and JSON of the difference to the one before. What it refuses: nothing. Who calls it:
 * the view's own thread, about once a second.
 */
#ifndef TP_DAEMON_VIEW_NUMBERS_H
#define TP_DAEMON_VIEW_NUMBERS_H

#include "daemon/stats/stats.h"
#include "daemon/view/view_wire.h"

struct tp_view_numbers {
    uint64_t at_ms; /* 0: nothing is known yet */
    struct tp_histogram_view tick_seconds;
    uint64_t ticks, agent_ticks, moves, expansions, guide_expansions, starved, back_moves, restarts;
};

/* Appends one JSON object about the time since *last, and puts what is counted by now there. */
void tp_view_numbers_put(struct tp_view_numbers *last, const struct tp_stats_source *source, uint64_t now_ms,
                         struct tp_text *out);

#endif
