/* Serves one tick request: which sessions, in which order, with which share of the budget.
 *
 * What it is: a function from a tick request to parallel arrays of answers. The clock is a function handed
 * in, so a simulation can drive it on virtual time; no libuv, no protobuf.
 *
 * Order of effects: the request is checked whole (a refusal leaves every session as it was); true positions
 * are applied; sessions are served, each with the request's own budget if it brings one, else the session's. Answers
 * stand in the order named (`all`: the order they were opened), and without a shared total that is the order of serving, too.
 * Under shared totals each session has its share of them besides (share.h; scheduler_shared.c says who goes when). A
 * session that gets nothing of it still answers (and walks on along the path it has): it is counted as starved if it wanted
 * to search. Who calls it: the tick command, on the connection's loop.
 */
#ifndef TP_DAEMON_SCHEDULER_H
#define TP_DAEMON_SCHEDULER_H

#include "daemon/stats/metrics.h"
#include "daemon/serve/sessions.h"

#include <stdatomic.h>

enum { TP_TOTAL_NONE = 0 };

struct tp_schedule {
    /* the request; all borrowed */
    struct tp_sessions *sessions;
    const struct tp_map *const *current; /* the versions of this tick, by map slot */
    const struct tp_world_layers *const *layers; /* their layers, likewise; NULL: no session is on a layer */
    const uint64_t *ids;                 /* sessions to tick, in this order; not with `all` */
    size_t id_count;
    bool all;
    const struct tp_agent_budget *each; /* NULL: each session's own budget */
    uint64_t total_expansions;          /* TP_TOTAL_NONE: no shared total */
    uint64_t total_us;                  /* likewise; covers what serving and answering takes, by the pace of the ticks before */
    uint64_t total_guide_units;         /* likewise, beside them: of what guides the searches */
    const uint64_t *at_ids;             /* true positions: at_ids[i] stands on at_cells[i] */
    const uint32_t *at_cells;
    const int32_t *at_vx, *at_vy; /* the velocity there; NULL: at rest */
    size_t at_count;
    uint64_t min_version; /* sessions whose map is behind it are refused, */
    bool has_epoch;       /* and those whose map is in another epoch */
    uint64_t epoch;
    uint64_t tick; /* number of this tick, never the same twice for a connection */
    struct tp_clock clock;
    bool has_begun; /* total_us counts from began_us on, not from when serving begins */
    uint64_t began_us;
    struct tp_histogram *waits; /* gets how long sessions were starved, when they are no more; NULL: none */
    const atomic_bool
        *is_over; /* set by another thread: searches end early, whatever their budget; NULL: never */

    /* room for the answers, the caller's: `capacity` elements each, at least tp_schedule_most() */
    size_t capacity;
    uint32_t *slots; /* served, in order */
    uint32_t *order; /* with a shared total, room for its own use, two for each, */
    struct tp_claim *claims; /* and here: */
    struct tp_tick_reply *replies;
    struct tp_schedule_refused {
        uint64_t id;
        int error; /* NOT_FOUND: not a session of this connection; OUT_OF_RANGE: a position outside its map;
                      INVALID_ARGUMENT: named twice, or a velocity that it can't have; MAP_NOT_READY, VERSION_MISMATCH:
                      its map is behind, or in another epoch */
        const struct tp_map *map; /* with the last two: the map; borrowed from `current` or `layers` */
    } * refused;                  /* at least tp_schedule_most_refused() elements */

    /* the answer */
    size_t served, refused_count;
    uint32_t starved;         /* sessions that got no expansion because a total was spent, and would have used one */
    uint32_t starved_longest; /* for how many ticks on end by now, the one of them that is so longest; 0: none */
    uint64_t expansions; /* of all together */
    uint64_t traced, guide_units, restarts; /* likewise; 0 where nobody counts (daemon/stats/metrics.h) */
    bool is_usual; /* nobody was refused, there was no total, and of the line above guide_units and restarts are 0 */
};

/* How many sessions the request can serve at most. */
size_t tp_schedule_most(const struct tp_schedule *schedule);

/* How many it can refuse at most. */
size_t tp_schedule_most_refused(const struct tp_schedule *schedule);

/* Whether it has a shared total. */
bool tp_schedule_is_shared(const struct tp_schedule *schedule);

/* Serves the request. TP_ERR_INVALID_ARGUMENT: a session's algorithm cannot run with `each`, *refusal being filled and
 * nothing changed. A session that is refused for its map's version is not put where its true position says. Cost: the sum
 * of the budgets. */
int tp_schedule_serve(struct tp_schedule *schedule, struct tp_refusal *refusal) TP_MUST_CHECK;

/* Notes how long the answer took, from the end of tp_schedule_serve on: of the next total of time so much is kept for it. */
void tp_schedule_answered(struct tp_schedule *schedule, uint64_t took_us);

/* A budget as the search takes it, for checks; a deadline counts as over. */
struct tp_budget tp_agent_budget_for_check(const struct tp_agent_budget *budget);

#endif
