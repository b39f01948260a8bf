/* A session, as the public functions know it: a mind (internal.h), or what is kept of one while there is nothing to find out.
 *
 *     rests, without a path -> mind -> rests, with what is left of its path, or arrived -> mind -> ...
 *         opened        a tick    some quiet ticks                 versions, another goal or place
 *
 * What it is: a mind holds all that a search and its guide ask for, some KiB. A session has one from its first tick until its path is packed, its
 * search put back and nothing changed for some ticks (packed.c); then it rests. What it keeps fits 512 bytes with what the
 * system and the pool round up, and five eighths of a byte a step of its path. It walks on by itself as long as the map stays, and one that looks near ahead (watch.c) over versions that leave those steps
 * alone, at rest and with a mind alike. Anything else gives it a mind
 * again, that knows what the former did. Moves, statuses and costs are the same with and without: a test compares them.
 * What it refuses: to rest where packed.c does not pack, and with goals that are met within a radius, or budgets of its own that ask a clock. Such a
 * session has a mind for life, allocated when it opens; those of the others are blocks of the pool.
 * Failure: without memory for a mind it says NODE_CAP; it walks on where the map allows its next step, and begins anew later where that map was
 * another; put elsewhere, or sent to
 * another goal, it forgets its path.
 * Who calls it: session.h's own functions, all defined in rest.c; tests look into it.
 */
#ifndef TP_SEARCH_REST_H
#define TP_SEARCH_REST_H

#include "search/internal.h"

/* What parameters say that are settled, of a session that may rest. */
struct tp_rest_params {
    const struct tp_algorithm *algorithm;
    struct tp_field_cache *fields;
    uint64_t node_bytes_max;
    uint64_t budget_expansions;
    uint32_t budget_r_milli, budget_c;
    uint32_t w_milli, guide_units, switch_margin_milli, stamp_max;
    uint8_t budget_kind, heuristic, goal_policy, restart, open_list, pause_on_backtrack;
    bool longest_path_rule, path_switch;
};

/* Of the mind's members of these names, those that outlive it. */
struct tp_rest {
    uint64_t begun_version; /* of its search */
    tp_cost h_bar, left_bar; /* tp_watch */
    uint64_t watch_begun;
    tp_cost turned_left;
    uint64_t guide_left_bar, stalled_at;
    uint64_t rest_epoch, rest_version, rest_points; /* tp_guide's rest */
    tp_cost rest_left;
    tp_state end;
    uint32_t stalls, waited, looked;
    bool at_once : 1, begun : 1, active : 1, after_somebody : 1, guide_rests : 1, guide_was_led : 1, other : 1, goal_moved : 1, displaced : 1;
    bool waits_for_path : 1, packs : 1, restart_wanted : 1;
    uint8_t patience : 2; /* tp_guide's */
    bool looks_near : 1, watch_walks : 1; /* tp__watch_is_near, and tp_watch's */
};

/* What a tick of one that walks on reads and writes comes first, down to the stats' first: a line of memory and a half. */
struct tp_session {
    struct tp_mind *mind;     /* NULL: it rests; all below is of one that does, but for what it is opened with */
    const struct tp_map *map; /* the version of the last tick, or of open; referenced */
    bool may_rest;
    bool blind; /* versions came that nobody could look at: with the next mind it begins anew */
    bool path_complete, goal_closed; /* the mind's; and whether it takes its only goal for impassable in this version */
    uint8_t shift, more_goal_count, neighbours, corners;
    tp_state at, at_before, goal;
    uint16_t told_flags; /* the last tick's, and */
    uint8_t told_status; /* its status; 0: there was none. Of one with a mind too */
    struct tp_steps steps;    /* the first leads out of where the agent stands, in this version; none where a search is to begin anew */
    struct tp_session_stats stats;
    tp_cost cost_there;       /* stats.cost at the path's end */
    struct tp_pool *pool;     /* borrowed */
    tp_state *more_goals;     /* a block of the pool; NULL: none */
    struct tp_rest_params params;
    struct tp_rest rest;
};

/* ---- Of one that rests ---- */

static inline uint32_t tp__rest_x(const struct tp_session *session, tp_state state)
{
    return state & ((1u << session->shift) - 1);
}

static inline uint32_t tp__rest_y(const struct tp_session *session, tp_state state)
{
    return state >> session->shift;
}

static inline uint32_t tp__rest_cell(const struct tp_session *session, tp_state state)
{
    return tp__rest_y(session, state) * session->map->width + tp__rest_x(session, state);
}

static inline tp_state tp__rest_state(const struct tp_session *session, uint32_t cell)
{
    return cell / session->map->width << session->shift | cell % session->map->width;
}

static inline bool tp__rest_passable(const struct tp_session *session, const struct tp_map *map, tp_state state)
{
    return tp_map_passable(map, tp__rest_x(session, state), tp__rest_y(session, state));
}

static inline bool tp__rest_at_goal(const struct tp_session *session)
{
    bool is = session->at == session->goal;
    for (uint32_t i = 0; i < session->more_goal_count; i++)
        is |= session->at == session->more_goals[i];
    return is;
}

/* Whether it takes its only goal for impassable in its version. */
static inline bool tp__rest_goal_closed(const struct tp_session *session)
{
    return session->params.goal_policy == TP_GOAL_EXACT && !session->more_goal_count && !tp__rest_passable(session, session->map, session->goal);
}

/* ---- From one to the other ---- */

/* Lets go of a mind that has nothing to do; it stays where there is no memory for the goals. */
void tp__session_rest(struct tp_session *session);

/* The session's mind, given to it if it rests; NULL without memory. */
struct tp_mind *tp__session_wake(struct tp_session *session);

#endif
