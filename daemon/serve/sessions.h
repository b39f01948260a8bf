/* The sessions of one connection: salted ids, opening order.
 *
 * What it is: a table of slots. An id is the slot and a salt drawn anew for every session that takes the
 * slot, so that an id outlives its session as an answer (not found), never as another's session. Slots are
 * also linked in the order their sessions were opened. A session that ended by itself (its map began anew under it) keeps its
 * slot, so that its id is refused for that reason until the client closes it. What it refuses: more than sessions_max. Who calls it:
 * the connection's own loop.
 */
#ifndef TP_DAEMON_SESSIONS_H
#define TP_DAEMON_SESSIONS_H

#include "daemon/serve/closing.h"
#include "daemon/stats/metrics.h"
#include "daemon/serve/pace.h"
#include "daemon/serve/share.h"
#include "daemon/world/world.h"
#include "search/session.h"

#include <stdint.h>

/* What one tick of a session may spend, as the client gave it. */
struct tp_agent_budget {
    enum tp_budget_kind kind;
    uint64_t expansions;  /* K: k; R: R */
    uint32_t r_milli, c;  /* R */
    uint64_t deadline_us; /* DEADLINE: from the session's turn on */
};

struct tp_agent {
    struct tp_session *session; /* owned until it closes; NULL: the slot is free */
    struct tp_world_map *map;   /* entered (tp_world_enter) */
    struct tp_world_layer *layer; /* entered, and the map with it; NULL: the session is on the map itself */
    struct tp_world_layer *told; /* of the map told, entered likewise, where that leads the session; else NULL */
    struct tp_agent_budget budget;
    bool is_vehicle;         /* its replies have a velocity */
    bool is_bounded;         /* its replies have a bound on its walk's cost */
    uint8_t algorithm, state; /* where it is counted: sessions_open and session_states of daemon/stats/metrics.h */
    uint32_t salt;           /* of the session, or of the last one that had the slot */
    uint32_t previous, next; /* in opening order, or among the ended; free slots use `next` */
    uint64_t ticks_looked, looked_ms; /* its ticks when they were last found to have grown, and when (daemon/serve/idle.h) */
    uint8_t priority;        /* of its share of a total, 1..TP_PRIORITY_MAX */
    bool is_unbounded;       /* its tick may make more expansions than its budget has (tba's longest-path rule) */
    uint16_t flags;          /* of its last tick, enum tp_flag: for who looks on (daemon/view/view_copy.h) */
    bool is_fresh;           /* it set off since its last tick: that it asks is not known, but to be expected */
    uint32_t guide_units;    /* it may spend in a tick; 0: nothing guides it */
    uint32_t waited;         /* ticks on end that it was starved in */
    int ended_error; /* the slot's session has ended by itself: what it is refused with, until it is closed; 0: it has not */
    struct tp_share search, guide; /* what it is owed of shared totals: expansions, guide units */
    uint64_t tick_seen;      /* the tick request that named it last: finds one named twice */
};

#define TP_AGENT_NONE UINT32_MAX

struct tp_sessions {
    struct tp_closing *closing; /* borrowed: where searches go that are closed */
    struct tp_metrics *metrics; /* borrowed: where they are counted */
    struct tp_agent *agents;
    uint32_t capacity, count, count_max; /* ended ones count, until they are closed */
    uint32_t first, last;                /* in opening order */
    uint32_t ended_first, ended_count;   /* those that ended by themselves; linked as those in use are */
    uint32_t free_first;
    uint32_t idle_next; /* the slot that daemon/serve/idle.h looks at next */
    uint64_t salt_state; /* of the generator of salts */
    struct tp_pace pace;
};

/* `seed` should be unforeseeable where clients must not guess each other's ids. `closing` and `metrics` are borrowed. */
void tp_sessions_init(struct tp_sessions *sessions, struct tp_closing *closing, struct tp_metrics *metrics, uint32_t count_max,
                      uint64_t seed);

/* Closes every session and frees the table. Returns how many were open and had not ended. Cost: O(sessions), not their searches. */
uint32_t tp_sessions_fini(struct tp_sessions *sessions);

/* Takes a slot for `session` (owned from then on) on `map` (entered; left at close). Gives the slot in *slot.
 * TP_ERR_RESOURCE_EXHAUSTED, TP_ERR_NO_MEMORY: nothing is taken. Cost: O(1) amortised. */
int tp_sessions_add(struct tp_sessions *sessions, struct tp_session *session, struct tp_world_map *map,
                    const struct tp_agent_budget *budget, uint32_t *slot) TP_MUST_CHECK;

/* Notes that a session has something new to look for: a goal, or a place. Cost: O(1). */
void tp_agent_set_off(struct tp_agent *agent);

/* Its tick ended in another status than that before: counts it there. Cost: O(1). */
void tp_agent_state(const struct tp_sessions *sessions, struct tp_agent *agent, enum tp_status status);

/* Whether one more would be refused. */
bool tp_sessions_full(const struct tp_sessions *sessions);

/* The slot of that id, TP_AGENT_NONE if it is not, or no longer, one of this connection. Cost: O(1). */
uint32_t tp_sessions_find(const struct tp_sessions *sessions, uint64_t id);

uint64_t tp_sessions_id(const struct tp_sessions *sessions, uint32_t slot);

/* Ends every session on `map` (or led by a layer of it): as if closed, but that its id is refused with `error` from then on. Returns how
 * many. Cost: O(sessions), not their searches. */
uint32_t tp_sessions_end(struct tp_sessions *sessions, const struct tp_world_map *map, int error);

/* What a session that ended by itself is refused with; 0: the id is none of one. Cost: O(1). */
int tp_sessions_ended(const struct tp_sessions *sessions, uint64_t id);

/* Frees the slot of a session that ended by itself; false: the id is none of one. Cost: O(1). */
bool tp_sessions_forget(struct tp_sessions *sessions, uint64_t id);

/* Closes the session of a slot in use and leaves its map; its memory goes back later (daemon/serve/closing.h). Cost:
 * O(1). */
void tp_sessions_close(struct tp_sessions *sessions, uint32_t slot);

#endif
