/* The contract of a search session: one agent on one map, ticked with a bounded amount of search.
 *
 *     open -> tick -> tick -> ... -> close
 *              |  at, retarget between ticks; path, stats at any time
 *
 * What it is: the front of every algorithm; the registry row in the parameters says which one runs. A session holds
 * no clock, does no I/O and takes its memory from the pool handed in.
 * What it refuses: parameters that don't go together (with the field and the reason), a cell outside the map.
 * Who calls it: one thread at a time per session and pool. Map versions are borrowed during a call and kept
 * (referenced) by the session between calls where it needs them.
 *
 * Promises: the move of a tick is legal in the version handed to that tick; the work of a tick is bounded by its
 * budget, with one exception (TBA*'s longest-path rule, time_bounded.c: expand_longest_path); the same inputs give the
 * same moves on every machine; UNREACHABLE is never said because a budget ended.
 */
#ifndef TP_SEARCH_SESSION_H
#define TP_SEARCH_SESSION_H

#include "base/error.h"
#include "base/limits.h"
#include "base/pool.h"
#include "domain/domain.h"
#include "map/map.h"
#include "map/walk.h"
#include "search/algorithm.h"
#include "search/budget.h"

/* One answer to a tick. Wire numbers: PROTOCOL.md's table is checked against this enum. */
enum tp_status {
    TP_STATUS_MOVING = 1,      /* the agent takes the move of this reply */
    TP_STATUS_SEARCHING = 2,   /* stays; more search may help */
    TP_STATUS_BLOCKED = 3,     /* stays; a plan exists, its next step is blocked or paused */
    TP_STATUS_ARRIVED = 4,     /* the goal policy is met (the arriving move says so already) */
    TP_STATUS_UNREACHABLE = 5, /* proved in the version named */
};

/* Its name as the protocol spells it: static; "NONE" for 0, that of a session before its first tick, and "UNKNOWN" for a number that is no status. Any
 * thread. Cost: O(1). */
const char *tp_status_name(uint32_t status);

enum tp_flag {
    TP_FLAG_BACK_MOVE = 1 << 0,     /* the move is a physical backtrack along the search tree */
    TP_FLAG_PATH_COMPLETE = 1 << 1, /* the path followed reaches the goal */
    TP_FLAG_CONTINUED = 1 << 2,     /* the map changed since the last tick and the search went on */
    TP_FLAG_REPAIRED = 1 << 3,      /* the map changed and the search, or (guided) the path, was repaired */
    TP_FLAG_RESTARTED = 1 << 4,     /* the search began anew from the agent */
    TP_FLAG_PARTIAL = 1 << 5,       /* arrived at, or going to, the nearest end state of an unreachable goal */
    TP_FLAG_LOOPING = 1 << 6,       /* the same state and goal again and again without progress */
    TP_FLAG_NODE_CAP = 1 << 7,      /* out of node memory: the best move so far, the search can't grow */
    TP_FLAG_START_BLOCKED = 1 << 8, /* the agent stands in an impassable cell */
    TP_FLAG_DEAD_END = 1 << 9,      /* no move leads out of where the agent stands now, whatever the status */
};

/* When the agent has arrived. With several goals the nearest counts. */
enum tp_goal_policy {
    TP_GOAL_EXACT,   /* on a goal */
    TP_GOAL_WITHIN,  /* on a state whose h to a goal is at most goal_radius */
    TP_GOAL_NEAREST, /* on a goal; where none can be reached, on the reachable state that is nearest to one: the least by
                      * (h, g, cell) of all that the exhausted search expanded (flag PARTIAL) */
};

enum tp_knowledge {
    TP_KNOWLEDGE_FULL,      /* the agent knows the map's version */
    TP_KNOWLEDGE_FREESPACE, /* unseen cells are assumed free */
    TP_KNOWLEDGE_MAP,       /* another map is assumed until seen otherwise */
};

/* How an agent moves over a grid; on graphs there is but one way, and this is ignored. */
enum tp_motion {
    TP_MOTION_STEPS,   /* from cell to cell, by `neighbours` and `corners` */
    TP_MOTION_INERTIA, /* a vehicle: each tick its velocity changes by at most 1 on each axis (domain/racetrack.c) */
};

/* When a search under way is given up after the map changed. */
enum tp_restart {
    TP_RESTART_DEFAULT, /* the algorithm's row decides */
    TP_RESTART_NEVER,   /* only when the next step is blocked, or the open list ran empty and a cost fell */
    TP_RESTART_EAGER,   /* at every change (2014, Algorithm 2) */
    TP_RESTART_LAZY,    /* when the path is touched or a shorter one may have opened (2014, Algorithm 3) */
    TP_RESTART_ON_RISE, /* when a cost on the path rose (2012, Algorithm 2) */
};

/* Time-bounded rows: what an agent does that would step back before its path is complete. */
enum tp_pause {
    TP_PAUSE_DEFAULT,      /* the algorithm's row decides; never where the map is not known */
    TP_PAUSE_ON_BACKTRACK, /* it waits: BLOCKED with BACK_MOVE */
    TP_PAUSE_NEVER,        /* it steps back */
};

/* How the open list is ordered. */
enum tp_open_list {
    TP_OPEN_LIST_DEFAULT, /* BUCKET where the row and the map take it (TP_CAN_BUCKET, no graph) and the search is not led, else EXACT */
    TP_OPEN_LIST_EXACT,   /* by f, then larger g, then lower state (open/exact.h) */
    TP_OPEN_LIST_BUCKET,  /* by f in steps, the newest first (open/bucket.h): three times as fast. With w = 1 as cheap in
                            * the end; with more a cost may be above w times the least, for no state is searched twice */
};

struct tp_field_cache;

#define TP_GUIDE_UNITS_UNSET UINT32_MAX
#define TP_W_UNSET UINT32_MAX

struct tp_session_params {
    const struct tp_algorithm *algorithm;
    uint32_t start, goal;          /* cells, y * width + x */
    uint32_t w_milli;              /* w in thousandths, 1000..TP_W_MILLI_MAX; 1000 for rows without TP_CAN_TAKE_W; TP_W_UNSET, the default: the row's */
    enum tp_neighbours neighbours; /* default 8 */
    enum tp_corners corners;       /* default both free */
    enum tp_motion motion;         /* default steps */
    int8_t start_vx, start_vy;     /* vehicles: the velocity at the start, -3..3; default at rest */
    enum tp_heuristic heuristic;
    const uint32_t *more_goals;    /* besides `goal`, copied; the set has at most TP_GOALS_MAX */
    uint32_t more_goal_count;
    enum tp_goal_policy goal_policy;
    tp_cost goal_radius;           /* WITHIN: cost units; 0 for other policies */
    enum tp_knowledge knowledge;
    const struct tp_map *known;    /* TP_KNOWLEDGE_MAP: the map told, of the same size; referenced by the session */
    uint32_t sensor_radius;        /* cells seen around the agent, 1..8, at least 2 with 16 neighbours; 0: the least */
    enum tp_restart restart;
    enum tp_open_list open_list;
    struct tp_budget budget; /* the session's own, used when a tick brings none; checked at open */
    bool longest_path_rule;  /* tba: first tick expands until the longest path has N_T actions (2009, 3.3) */
    bool shortcut;           /* tba: look for a shortcut while moving back to a path that reaches the goal (2009, 3.4, first enhancement) */
    bool path_switch;        /* tba: switch only to a path of at least the g followed (2009, 3.4, second) */
    uint32_t switch_margin_milli; /* time-bounded rows: a path that reaches the goal is always taken; another only if its g + h is
                              * below that of the path followed by this share, in thousandths; 0: always */
    enum tp_pause pause_on_backtrack; /* time-bounded rows; others refuse ON_BACKTRACK */
    bool bounded;            /* rows with TP_CAN_PROVE_COST, on grids walked by steps whose map is known, goals met exactly: leftover budget proves how much the
                              * walk costs at most (bound.h; reply.bound_milli). Refused (UNSUPPORTED) elsewhere */
    uint64_t node_bytes_max; /* cap on this session's pool bytes; 0 for none */
    struct tp_field_cache *fields; /* guided rows: where goal fields come from, borrowed until close; NULL: no guide */
    uint32_t guide_units;    /* guided rows: units a tick for what guides the search, beside the budget, 0..TP_GUIDE_UNITS_MAX; 0: no
                              * guide; TP_GUIDE_UNITS_UNSET, the default: TP_GUIDE_UNITS_DEFAULT. Refused (UNSUPPORTED) by other rows */
    uint32_t stamp_max;      /* largest search stamp before wrapping, 0 for the default; tests set it small */
};

/* Algorithm guided (TP_ALGORITHM_DEFAULT) with its own w and pause, R = 100, r = 0.9, c = 10, 8 neighbours, both free, EXACT, full
 * knowledge. */
void tp_session_params_init(struct tp_session_params *params);

/* Whether a session with these parameters is led by a block graph (map/blocks.h), and so is to be opened on a layer that has one, with
 * `fields`; with the knowledge KNOWN_MAP it is the map told that should be on one, of the map's profile. Cost: O(1).
 *
 * These two alone say whether a session is led, for its whole life. One that is not, for want of `fields` too, is a session of the row's
 * `unled` in all but the name: the same moves and the same work. One that is, on versions without a block graph, goes by the
 * space's h at the w and the pause of its own row: it arrives, but such an agent is better opened with guide_units 0. */
bool tp_session_wants_blocks(const struct tp_session_params *params, const struct tp_map *map);

struct tp_session;

/* Opens a session at params->start on this version; gives it in *out. Allocates no search memory yet (rest.h).
 * TP_ERR_INVALID_ARGUMENT, TP_ERR_OUT_OF_RANGE, TP_ERR_UNSUPPORTED (all with *refusal filled), TP_ERR_NO_MEMORY.
 * On error *out is NULL. The pool is kept (borrowed) until close. Cost: O(1). */
int tp_session_open(struct tp_session **out, const struct tp_session_params *params, const struct tp_map *map,
                    struct tp_pool *pool, struct tp_refusal *refusal) TP_MUST_CHECK;

void tp_session_close(struct tp_session *session);

/* Whether a budget is one the session's algorithm can run with (N_E, N_T >= 1 for tba, and the limits).
 * TP_ERR_INVALID_ARGUMENT with *refusal filled. */
int tp_session_check_budget(const struct tp_session *session, const struct tp_budget *budget,
                            struct tp_refusal *refusal) TP_MUST_CHECK;

/* What one tick did. `traced` counts every step that is paid at 1/c under R: beside those named at it, open states weighed, or
 * taken up by a learning step, and states offered to P-LRTA*'s queue. */
struct tp_tick_work {
    uint64_t expansions; /* states expanded */
    uint64_t generated;  /* states given a (better) g */
    uint64_t traced;     /* traceback steps (under k, on grids, of what is not in common with the last path), path cells copied, looks at what changed (watch.c), entries renewed */
    uint64_t learned;    /* heuristic updates */
    uint64_t rekeyed;    /* of those: open entries whose f was renewed, after the goal moved or (D* Lite) the agent */
    uint64_t guide;      /* units paid for what guides the search (guide.h) */
};

struct tp_tick_reply {
    uint32_t from, to; /* cells; equal when the agent stays */
    int8_t vx, vy;     /* vehicles: the velocity after this tick, cells a tick; else 0 */
    bool is_idle;      /* nothing was looked for: `work` and `flips` are 0, and no flag tells of more than where it stands. Not said of all such ticks */
    enum tp_status status;
    uint32_t flags;   /* enum tp_flag */
    uint64_t version; /* the map version the move was checked against */
    uint64_t epoch;
    tp_cost cost; /* solution cost so far, moves of this reply included */
    struct tp_tick_work work;
    uint32_t bound_milli; /* of `bounded` sessions: the agent's walk since the proof began (bound.h), and its path to the goal, cost at most so
                           * many thousandths of any way's cost in this version; 1000: it is a cheapest way; 0: nothing is proved */
    uint32_t flips; /* times in this tick that the path followed was left for one that does not go on from it */
};

/* One tick: searches within the budget (NULL: the session's own), then moves. `map` is this tick's version, of the
 * same size and profile as at open. The agent is taken to have moved to reply->to unless `tp_session_at` says otherwise before
 * the next tick. Cannot fail; a budget that tp_session_check_budget refuses is a caller's bug and asserts. */
void tp_session_tick(struct tp_session *session, const struct tp_map *map, const struct tp_budget *budget,
                     struct tp_tick_reply *reply);

/* Has the processor fetch what the session's next tick will read first, while other sessions are ticked, so that many sessions whose memory
 * the caches can't hold are ticked faster in turn. In steps, each of which needs what the one before fetched: TP_PREFETCH_STEPS down to 1, each to be
 * called tp_prefetch_ahead[step - 1] sessions before its turn: the first ones the farthest, for who rests is ticked in less time than memory
 * takes to answer. A hint: nothing is changed, and steps may be left out. Cost: O(1). */
enum { TP_PREFETCH_STEPS = 6 };
extern const uint8_t tp_prefetch_ahead[TP_PREFETCH_STEPS];
void tp_session_prefetch(const struct tp_session *session, unsigned step);

/* The same for a tick in which it will most likely but walk: for a move alone, or along a path that is whole. Its steps are apart by less work. */
extern const uint8_t tp_prefetch_walk_ahead[TP_PREFETCH_STEPS];
void tp_session_prefetch_walk(const struct tp_session *session, unsigned step);

/* Says where the agent truly stands. The search is kept when it knows the cell, else begun anew from there; what was seen and
 * learned is kept in any case. Of a path whose search was put back (packed.c) only the next steps are known: put elsewhere, it is begun anew. An agent that had arrived is on a new trip: its search is kept only if it began at the cell.
 * TP_ERR_OUT_OF_RANGE. Cost: O(1). */
int tp_session_at(struct tp_session *session, uint32_t cell) TP_MUST_CHECK;

/* The same for a vehicle that moves at a velocity; TP_ERR_INVALID_ARGUMENT where it is beyond TP_VELOCITY_MAX, or not 0 and
 * the session is no vehicle's. tp_session_at means at rest. */
int tp_session_at_velocity(struct tp_session *session, uint32_t cell, int vx, int vy) TP_MUST_CHECK;

/* Sets the goal. The same goal is free; a goal that moves a little keeps the search tree (f is re-keyed lazily) where there still is one (packed.c);
 * else the next tick begins a new search from the agent. So does an agent that turned back for it time and again (steady.c).
 * TP_ERR_OUT_OF_RANGE. Cost: O(1). */
int tp_session_retarget(struct tp_session *session, uint32_t goal) TP_MUST_CHECK;

/* Sets a goal set, 1..TP_GOALS_MAX cells. The same set in the same order is free; of one goal, as above; else the next tick
 * begins a new search. TP_ERR_OUT_OF_RANGE; TP_ERR_INVALID_ARGUMENT: none or too many; TP_ERR_UNSUPPORTED: more than one, and
 * the row takes one goal only; TP_ERR_NO_MEMORY: none for a session that rests, which keeps its goals. */
int tp_session_retarget_set(struct tp_session *session, const uint32_t *goals, uint32_t count) TP_MUST_CHECK;

/* Copies up to `max` cells of the path the agent is going to follow, the agent's own cell first, into `cells`;
 * returns how many. Cost: O(result). */
uint32_t tp_session_path(const struct tp_session *session, uint32_t *cells, uint32_t max);

/* Measures of the session's life; each counts from its opening. */
struct tp_session_stats {
    uint64_t ticks, moves;
    tp_cost cost;
    uint64_t move_hash; /* FNV-1a over the cells moved to: same inputs, same hash */
    uint64_t back_moves, expansions, generated, traced, learned, rekeyed, guide;
    uint64_t restarts;       /* searches begun after the first */
    uint64_t flips;          /* times the path followed was left for one that does not go on from it (time-bounded rows) */
    uint64_t learning_ticks; /* ticks that learned instead of moving: tbrwa's actions are its moves and these */
    uint64_t expansions_max; /* the largest in one tick */
    uint64_t touched;        /* states in the present search's tree, open or closed */
    uint64_t bytes;          /* pool bytes held now, besides the session's own struct and mind (rest.h), which no cap of its own counts */
    uint64_t bytes_peak;
    uint64_t search_hash; /* order-independent hash of the states expanded in the present search and their g */
};
void tp_session_stats(const struct tp_session *session, struct tp_session_stats *stats);

/* How often the session was ticked, and the version that it saw last, borrowed. */
uint64_t tp_session_ticks(const struct tp_session *session);
const struct tp_map *tp_session_map(const struct tp_session *session);

/* Has a session that is not ticked hold `map`, a later version of its map, in place of the one it saw last: what it knows is
 * forgotten, its next tick begins anew (RESTARTED), unless it was never ticked. Between ticks. */
void tp_session_let_go(struct tp_session *session, const struct tp_map *map);

uint32_t tp_session_cell(const struct tp_session *session); /* where the agent stands */
uint32_t tp_session_goal(const struct tp_session *session);
const struct tp_algorithm *tp_session_algorithm(const struct tp_session *session);
/* Whether the agent stands where its goal policy is met. */
bool tp_session_arrived(const struct tp_session *session);

#endif
