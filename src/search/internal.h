/* What the session's front and its engines share. Nobody outside src/search includes this.
 *
 *   registry.c      the rows, one for each named algorithm (algorithms/)
 *   params.c        checks parameters
 *   rest.c          the public functions: a session has a mind, or rests (rest.h)
 *   rest_tick.c     the ticks of one that rests
 *   session.c       a mind's life: frames a tick, keeps the measures, turns cells into states
 *   pay.c           what a tick pays for what it does
 *   search.c        the search itself: a tree, an open list, a run of expansions (search.h)
 *   time_bounded.c  the engine of the TB family: expand, trace, follow or back-move
 *   replan.c        the engine that searches to the end, then follows
 *   trace.c         tracing a path back over as many ticks as the budget asks (trace.h)
 *   agent_centred.c the engine that looks ahead, learns and moves
 *   learn.c         the learning step of LSS-LRTA*
 *   lookahead.c     the breadth-first lookahead of LRTA*, and its learning
 *   prioritized.c   the learning of P-LRTA*
 *   react.c         what a changed map or a new sight asks: restart rules, forgetting what was learned
 *   fetch.c         memory that the next tick reads is fetched ahead
 *   stroll.c        a tick for a move alone, of one that is still searching
 *   watch.c         what changed under the path followed, looked for over as many ticks as the budget asks
 *   goals.c         several goals, a radius, and the nearest state to goals that can't be reached
 *   guide.c         the h of guided rows: ways paid for, taken, replaced (guide.h)
 *   overlay.c       what leads an agent that does not know the map: what it was told, and saw
 *   ground.c        that h where terrain has weights: what the cells of a node weigh
 *   steady.c        switch margin, pauses instead of back-moves, flips, the loop detector
 *   smooth.c        shorter pieces for the path of a guided session, while the agent walks it
 *   bound.c         how many times the least cost the walk can come to, proved while the agent walks (bound.h)
 *   shortcut.c      TBA*'s search for a shortcut while the agent moves back
 *   detour.c        a way round what closed on the path of a guided session near ahead
 *   packed.c        what is left of a path that is whole, packed, and its search put back
 *   idle.c          a session that is not ticked lets go of its version
 *   inspect.c       a look into all that (inspect.h)
 *   dstar_lite.c    the engine of D* Lite, with a search of its own
 *   dstar_changes.c what changed of the map under it
 */
#ifndef TP_SEARCH_INTERNAL_H
#define TP_SEARCH_INTERNAL_H

#include "node/marks.h"
#include "node/steps.h"
#include "search/bound.h"
#include "search/detour.h"
#include "search/guide.h"
#include "search/search.h"
#include "search/session.h"
#include "search/trace.h"

/* What is still to be looked at of a map that changed under a path (watch.c). */
struct tp_watch {
    struct tp_steps_reader reader;   /* of a packed path: the next of its steps that is to be checked, `step` being where it leads out of */
    bool far;                        /* of a session that looks near ahead: it looks at all of the path once, `step` being the next, */
    bool rose_since;                 /* and something rose since it began to, perhaps where it had looked */
    bool walks;                      /* steps of the path followed are still to be checked against the present version */
    bool summed;                     /* all were, and `sum` is what they cost when the agent had moved for `walked` in all */
    tp_state step;                   /* the next of them; TP_STATE_NONE: the agent's own */
    tp_cost sum, walked;
    const struct tp_map *base, *aim; /* what fell between these versions is still to be looked at; referenced. No base: nothing; no
                                      * aim: it is not time yet */
    uint64_t tile;                   /* how far: the next tile, in it the next row and column */
    uint32_t row, column;
    bool paid;                       /* the look for that tile was paid */
    bool for_fall;                   /* the search is given up for a fall */
    tp_cost h_bar, left_bar;         /* of searches given up for a fall since anything rose: the agent's h when the last of those not
                                      * done was, and what was left when the last of the others was; TP_COST_INFINITE: none was */
    uint64_t begun;                  /* the tick that the search began in, */
    bool at_once;                    /* and whether it found its path in that tick */
};

/* A path that is whole, packed (packed.c). */
enum tp_packed_phase {
    TP_PACKED_NONE,
    TP_PACKED_COPIES,   /* moves are being copied; the path is still followed by its marks */
    TP_PACKED_FOLLOWED, /* there are no marks and no tree any more */
};

struct tp_packed {
    enum tp_packed_phase phase;
    tp_state front;        /* COPIES: where the next move to be copied leads out of */
    struct tp_steps steps; /* the first leads out of where the agent stands */
};

/* Tables of a search that is done, their blocks being put back. */
enum { TP_SWEEP_TABLES = 3 };

struct tp_sweep {
    uint32_t left; /* tables, the last first; 0: none */
    struct tp_tiles_sweep at;
    struct tp_tiles tables[TP_SWEEP_TABLES];
};

/* The loop detector (steady.c): how often the agent came back to one state since anything else happened. */
struct tp_steady {
    tp_state anchor;
    uint32_t visits;      /* of the anchor, the first included */
    uint64_t moves, stay; /* moves since the anchor was taken, and after how many another is */
    bool looping;
};

struct tp_shortcut;
struct tp_smooth;
struct tp_detour;
struct tp_dstar;

/* The learning step of LSS-LRTA* under way (learn.c). */
struct tp_learn {
    struct tp_open heap;    /* states by h, least first */
    uint32_t cursor;        /* entries of the search's open list copied so far */
    uint64_t expanded_left; /* expanded states whose h is not final */
    bool running;
    bool lost; /* an open state or an increase was lost for want of memory */
};

/* The breadth-first lookahead under way, and the weighing of its frontier (lookahead.c). */
struct tp_lookahead {
    tp_state root;
    uint64_t depth;                  /* of the layer being expanded */
    uint64_t layer_left, layer_next; /* states of it not expanded, and states met of the next */
    uint32_t cursor;                 /* entries of the search's open list weighed so far */
    struct tp_open_entry candidate;  /* the one being weighed: f as far as its way was looked at */
    tp_state walk;                   /* how far, TP_STATE_NONE: none is */
    struct tp_open_entry best;       /* of those weighed; state TP_STATE_NONE: none */
    bool swept;                      /* P-LRTA*: the queue had its turn */
};

struct tp_priorities;
enum { TP_PRIORITIES_MAX = 100 }; /* of P-LRTA*'s queue */

/* How far the expanded states of an exhausted search were looked through for the nearest to a goal, and the nearest of those
 * (goals.c). */
struct tp_nearest {
    uint32_t page, tile, slot; /* the next state, in the order of the store */
    bool paid;                 /* the look for that page was paid */
    bool done;                 /* all were looked at */
    tp_state best;             /* TP_STATE_NONE: none yet */
    tp_cost h, g;              /* its own, and its cell */
    uint32_t cell;
};

/* Where an agent-centred session stands in its cycle (agent_centred.c). */
enum tp_cycle { TP_CYCLE_LOOK, TP_CYCLE_LEARN, TP_CYCLE_TRACE };

/* What a tick for a move alone has only to do as long as the version stays (stroll.c). */
enum tp_strolls {
    TP_STROLLS_NOT,
    TP_STROLLS,       /* to walk on, or back */
    TP_STROLLS_WAITS, /* to wait */
    TP_STROLLS_STANDS, /* likewise: it has no search yet, and no way to begin one by */
};

/* All that a session holds while it has to do with a search: `session` in the functions that take one. */
struct tp_mind {
    struct tp_session_params params;
    const struct tp_map *map; /* the version of the last tick (or of open), referenced */
    struct tp_pool *pool;
    const struct tp_map *map_before; /* the version of the tick before, during a tick that brings another; else NULL */
    struct tp_belief belief;
    struct tp_tiles learned;         /* increases of h; used where the row learns */
    struct tp_nodes_adaptive adaptive;
    struct tp_learn learn;
    struct tp_lookahead lookahead;
    tp_cost dearest_way; /* no true cost to the goal is larger, on a map of this epoch; 0: not known yet */
    uint64_t dearest_way_epoch;
    struct tp_priorities *priorities; /* P-LRTA*'s queue; NULL for other rows */
    enum tp_cycle cycle;
    bool unteachable;       /* nothing is learned from the present search */
    bool displaced;         /* the agent or the goal was put elsewhere since the present search began */
    bool goal_moved;        /* and no back-move was made for it yet */
    uint32_t turns;         /* how often the present search's agent turned back for a goal that had moved */
    tp_cost turned_left;    /* h, and 1, where a search was last given up for that on the way to this goal; 0: nowhere */
    uint64_t looked_ahead; /* expansions of the present lookahead */
    bool waits_for_path;    /* it was stranded off a path to the goal, and has not moved since (time-bounded rows) */
    uint64_t strandings;   /* searches given up by tbrwa's rule on the way to this goal */
    uint64_t closed;       /* states the present search expanded (time-bounded rows) */
    uint64_t closed_traced; /* and when the last trace began */
    uint64_t learned_falls, learned_fell_version; /* the state of falls when learning last began */
    struct tp_search search;
    struct tp_trace trace;

    /* what an agent needs that only walks: near each other */
    struct tp_steady steady;
    tp_state at, at_before;     /* where the agent stands; where it stood before its last move (NONE: nowhere) */
    tp_state goal;              /* the first of the goals */
    enum tp_strolls strolls;    /* what a tick for a move alone, on the version of the last one, has to do, if that is known */
    tp_state closed_step;       /* if its last tick was BLOCKED, and not by a pause: where the step led that was not legal, if that is known */
    tp_state waits_on;          /* where it waits then, if its path does not lead on from there; */
    tp_state back_from;         /* and whence its last step back leads, by */
    uint8_t back_move;          /* this */
    bool path_fresh;            /* the path followed was traced since the agent's last move */
    bool path_complete;         /* the path followed reaches the goal (2009: solutionFoundAndTraced) */
    struct tp_shortcut *shortcut; /* NULL until first needed */
    struct tp_packed packed;
    struct tp_session_stats stats;

    struct tp_sweep sweep;
    uint32_t quiet;         /* ticks that nothing could make the path better, nor changed the map */
    bool may_pack;          /* tp__packed_may */
    bool packs;             /* it does so; tests compare with sessions that don't */
    bool branches;          /* tp__trace_branch is used; likewise */
    bool pooled;            /* its memory, and what it makes once in its life, are blocks of the pool */
    bool after_somebody;    /* its goal moved a little while it followed a packed path */
    struct tp_watch watch;
    struct tp_guide guide;      /* of rows that can be guided, on grids */
    struct tp_smooth *smooth;     /* NULL until first needed */
    struct tp_detour *detour;     /* NULL: none */
    struct tp_bound *bound;       /* NULL: not asked for */
    struct tp_dstar *dstar;       /* the search of dstar_lite.c; NULL until first needed */
    struct tp_goals goals;
    struct tp_nearest nearest;
    bool waits_for_nearer;      /* the agent waits until the search meets a state nearer to a goal than this: */
    tp_cost nearer_than;        /* an h */
    bool rushed;                /* the search's partial end was chosen though a cost had fallen: it is walked to first */
    bool restart_wanted;        /* begin a new search at the next tick */
    bool begun;                 /* some search has been begun in its life */
    bool first_tick;            /* of the present search */
    uint64_t bytes;             /* pool bytes held */
};

/* One tick under way: what may be spent, what was spent, what is decided. */
struct tp_tick {
    struct tp_mind *session;
    const struct tp_budget *budget;
    struct tp_tick_reply *reply;
    uint64_t steps_left;  /* traceback steps that may still be taken in this tick, or what is paid like them */
    uint64_t rekeys_left; /* open entries that may still be renewed */
    uint64_t rekeys_paid; /* how many of them for nothing: they were paid for with */
    uint64_t given_up;    /* so many expansions */
    bool began_anew;     /* a new search was begun after this tick's search phase */
    bool changed;        /* the map is another version than at the last tick */
    bool node_cap;
};

struct tp_engine {
    const char *name;
    void (*tick)(struct tp_tick *tick);
    /* engines that search without the session's own search and trace: */
    bool own_search; /* takes up by itself where the agent was put, and a goal that moved a little */
    uint8_t (*next)(const struct tp_mind *session, tp_state state); /* the plan's move out of a state, TP_MOVE_NONE: none */
    void (*close)(struct tp_mind *session);
};

extern const struct tp_engine tp__engine_time_bounded, tp__engine_replan, tp__engine_agent_centred, tp__engine_dstar_lite;

/* How a tick's budget is divided: at most `expansions` expansions and `steps` traceback steps: N_E and N_T (2009,
 * section 3.3). Under K and DEADLINE tracing is free: steps is UINT64_MAX. */
struct tp_share {
    uint64_t expansions;
    uint64_t steps;
};

struct tp_share tp__budget_share(const struct tp_budget *budget);

/* ---- params.c ---- */

/* Whether this row can run with these parameters on this map, and with this budget; an error with *refusal filled. */
int tp__session_check_params(const struct tp_session_params *params, const struct tp_map *map, struct tp_refusal *refusal);
int tp__session_check_budget(const struct tp_algorithm *algorithm, const struct tp_budget *budget,
                             struct tp_refusal *refusal);

/* Whether both are within TP_VELOCITY_MAX of 0. */
bool tp__velocity_allowed(int vx, int vy);

/* Whether this row may have several goals, or another policy than EXACT, on this map. */
bool tp__goals_allowed(const struct tp_session_params *params, const struct tp_map *map);

/* The state space that a session's parameters name on this map. */
const struct tp_domain *tp__session_domain(const struct tp_session_params *params, const struct tp_map *map);

/* Whether the session is led by a block graph: for its whole life (session.h, tp_session_wants_blocks). */
bool tp__session_led(const struct tp_session_params *params, const struct tp_map *map);

/* Fills in what the caller left open: w, pause, restart rule, guide units, sensor radius. The rest is as it was; the parameters need be
 * valid in their algorithm and motion alone. */
void tp__session_settle(struct tp_session_params *params, const struct tp_map *map);

/* What f multiplies g and h by: 1000 g + (1000 w) h in lowest terms. Of parameters that are settled. */
struct tp_factors {
    uint64_t g, h;
};
struct tp_factors tp__priority_factors(const struct tp_session_params *params);

/* ---- react.c ---- */

/* At the start of a tick: the agent looks around, or goes on watching what changed of the map. True when the session's
 * restart rule asks for a new search. Looking is paid under R from the steps that `tick` still has: along the path at most half of
 * them, for what fell at most half of the rest. It is bounded alike under other budgets (watch.c); what it is not enough for is
 * looked at in the ticks to come. */
bool tp__react(struct tp_tick *tick);

/* 2012, Algorithm 2, lines 29 and 30: the agent looks around after a move; true when what it saw asks for a new search. */
bool tp__react_after_move(struct tp_tick *tick);

/* Forgets what was learned when it no longer bounds the true costs: a cost fell, or the goal is another. */
void tp__learning_check(struct tp_mind *session);
/* Forgets it whatever happened; nothing is learned then. Cost: O(1). */
void tp__learning_forget(struct tp_mind *session);

/* 2012, Algorithm 3, line 13: before a new search, the old one's least f is remembered. */
void tp__learning_remember(struct tp_mind *session);

/* ---- watch.c ---- */

/* Whether only a wall makes a step of a path dearer. */
static inline bool tp__walls_alone(const struct tp_mind *session)
{
    return !session->search.weighted && !session->search.domain->listed;
}

/* A guided session looks near ahead: at so many steps of its path, every so many ticks. */
enum { TP_NEAR_STEPS = 32, TP_NEAR_TICKS = 8, TP_FAR_STEPS = 64 };

/* Whether the session does so: led, on a grid that it knows, where only walls make a step dearer, with nothing to be proved of its cost. */
bool tp__watch_is_near(const struct tp_mind *session);

/* Whether it is time for that. */
static inline bool tp__watch_looks_now(uint64_t ticks)
{
    return ticks % TP_NEAR_TICKS == 0;
}

/* Such a session is to look at all of its path once, TP_FAR_STEPS a tick: it may be shut far ahead. */
void tp__watch_far(struct tp_mind *session);

/* A new path is followed: only what changed while it was traced is still to be looked at. */
void tp__watch_path(struct tp_mind *session);

/* Looks no more at what changed: there is no path, or a new search knows. */
void tp__watch_forget(struct tp_mind *session);

/* A new search begins, for what the watch told or for something else. */
void tp__watch_begin(struct tp_mind *session);

/* Goes on looking at what changed under the path followed. True when it asks for a new search: a step rose, or (lazy) a
 * shorter way may have opened. */
bool tp__watch_run(struct tp_tick *tick);

/* ---- steady.c ---- */

/* Whether the fresh path may be taken for the one followed, by the switch margin. */
bool tp__steady_switches(const struct tp_mind *session, bool reaches_goal);

/* Whether the agent is to wait instead of moving back; the reply says so then. */
bool tp__steady_pauses(struct tp_tick *tick);

/* Whether a trace from the best state is to wait until a state is expanded, for it would find the path that the last one found: so
 * an agent that stays where it is does not spend all on tracing. */
bool tp__steady_rests(const struct tp_mind *session, tp_state best);

/* The fresh path becomes the one followed (tp__trace_follow); counts a flip. */
void tp__steady_follow(struct tp_tick *tick);

/* The loop detector: begins anew from where the agent stands; looks at a tick's end, the agent having stood on `before` at its
 * begin, its path having been complete already. Cost: O(1). */
void tp__steady_begin(struct tp_mind *session);
void tp__steady_watch(struct tp_tick *tick, tp_state before, bool was_complete);

/* Whether the agent, about to step back to a complete path, begins a new search from where it stands instead: its goal moves to
 * and fro between two branches of the tree. */
bool tp__steady_begins_anew(struct tp_mind *session);

/* ---- pay.c ---- */

/* Before a tick's first work. */
void tp__pay_begin(struct tp_tick *tick);

/* What is left of R, in traceback steps; UINT64_MAX under other budgets. */
uint64_t tp__purse_left(const struct tp_tick *tick);

/* How much a tick may do beside its expansions for nothing, under k (for each expansion allowed) and under a deadline (before
 * the clock is asked again): entries renewed, changes and expanded states looked at. Under R all of it is paid from the purse. */
uint64_t tp__beside_max(const struct tp_budget *budget);

/* Pays for one traceback step (or a path's state copied, or a look): false when the tick has none left, or its time is over. */
bool tp__tick_step(struct tp_tick *tick);

/* The same for many: how many of `max` may be taken before the clock is looked at again; and takes as many. */
uint64_t tp__tick_steps_at_once(const struct tp_tick *tick, uint64_t max);
void tp__tick_take_steps(struct tp_tick *tick, uint64_t steps);

/* Pays for one update of h, as much as an expansion: false when the tick can't. */
bool tp__tick_update(struct tp_tick *tick);

/* Pays for one expansion and counts it: false when the tick can't. Back: it could not be made. */
bool tp__tick_expand(struct tp_tick *tick);
void tp__tick_expand_back(struct tp_tick *tick);

/* Pays for one open entry renewed, and counts it: false when the tick can't. */
bool tp__tick_rekey(struct tp_tick *tick);

/* Expansions that the tick may still make; under a deadline the clock decides as well. */
uint64_t tp__tick_expansions_left(const struct tp_tick *tick);

/* Searches beside the session's own (shortcut.c, smooth.c, bound.c): A* by what the agent believes and the space's h, from its memory. One is run
 * with what the tick has left, for at most `most` expansions, booked, and taken from the purse; false when it wants for memory. */
void tp__beside_init(struct tp_mind *session, struct tp_search *search);
bool tp__beside_run(struct tp_tick *tick, struct tp_search *search, uint64_t most);

/* Runs the session's own. */
void tp__session_expand(struct tp_tick *tick, uint64_t expansions);

/* ---- session.c ---- */

/* A mind in memory that is all 0 but for `pooled`: with parameters that were checked. TP_ERR_NO_MEMORY: fini is to be called all the same. */
int tp__mind_init(struct tp_mind *session, const struct tp_session_params *params, const struct tp_map *map, struct tp_pool *pool);
void tp__mind_fini(struct tp_mind *session);

/* What a mind makes once in its life; NULL without memory. Put back by the same size. */
void *tp__mind_get(struct tp_mind *session, uint32_t bytes);
void tp__mind_put(struct tp_mind *session, void *memory, uint32_t bytes);

/* session.h's functions of these names, for one that has a mind. */
void tp__mind_tick(struct tp_mind *session, const struct tp_map *map, const struct tp_budget *budget, struct tp_tick_reply *reply);
int tp__mind_at_velocity(struct tp_mind *session, uint32_t cell, int vx, int vy) TP_MUST_CHECK;
int tp__mind_retarget(struct tp_mind *session, uint32_t goal) TP_MUST_CHECK;
int tp__mind_retarget_set(struct tp_mind *session, const uint32_t *goals, uint32_t count) TP_MUST_CHECK;
uint32_t tp__mind_path(const struct tp_mind *session, uint32_t *cells, uint32_t max);
void tp__mind_stats(const struct tp_mind *session, struct tp_session_stats *stats);
uint32_t tp__mind_cell(const struct tp_mind *session);
uint32_t tp__mind_goal(const struct tp_mind *session);
bool tp__mind_arrived(const struct tp_mind *session);

void tp__mind_let_go(struct tp_mind *session, const struct tp_map *map); /* idle.c */

/* Begins the first search or a new one from where the agent stands; marks the reply RESTARTED for a new one. */
void tp__session_begin_search(struct tp_tick *tick);

/* No way to the goal costs more than this on a map of this epoch: each state once, by the dearest move. An h beyond it says
 * that there is none. Cost: O(1), but O(classes) once an epoch. */
tp_cost tp__session_dearest_way(struct tp_mind *session);

/* Whether an earlier tick's exhausted search still proves the goal unreachable: no cost fell since it began, and
 * nobody moved the agent or the goal. */
bool tp__session_proved_unreachable(const struct tp_mind *session);

/* An agent that remembers what it saw, and finds no way by it, takes what may have fallen out of its sight for what it
 * assumed at first, and looks around. False when nothing fell since it last did: then no way is there as far as it can
 * know. */
bool tp__session_forget_sights(struct tp_mind *session);

/* 2014, line 21, after a search phase: true when the open list ran empty and that proves the goal unreachable (the
 * reply says so, or, under NEAREST, that the end is being looked for, or stood upon: the tick is over; once it is chosen the
 * search counts as found). When a cost fell since the search began it proves nothing: a new search begins and spends what is
 * left of `expansions`. */
bool tp__session_exhausted(struct tp_tick *tick, uint64_t expansions);

/* The move from the agent's state to its parent in the search tree; TP_MOVE_NONE at a root, where no move leads back, or
 * when the agent stands outside the tree. */
uint8_t tp__session_move_to_parent(const struct tp_mind *session);

/* Whether the cell under the agent was blocked after the search had met it: its expansion would lead nowhere, so the
 * search has to begin anew from here. */
bool tp__session_caught(const struct tp_mind *session);

/* Whether the agent believes that nobody can enter the cell of a grid's state: nothing leads through it. Of vehicles nobody
 * asks: one caught in a blocked cell may brake there before it leaves, and all those moves are among the predecessors. */
static inline bool tp__believed_blocked(const struct tp_search *search, tp_state state)
{
    return search->domain->cells_can_block && !search->domain->listed &&
           !tp_belief_passable(search->nodes.belief, tp_state_x(search, state), tp_state_y(search, state));
}

/* Whether a move out of the agent's state is legal in this tick's version. */
bool tp__session_move_legal(const struct tp_mind *session, uint8_t move);

/* The agent waits, BLOCKED by this move not being legal. */
void tp__session_block(struct tp_tick *tick, uint8_t move);

/* Takes the move: books it and sets status and flags. It must be legal. */
void tp__session_move(struct tp_tick *tick, uint8_t move, bool back);

/* FNV-1a, of a cell moved to. */
static inline uint64_t tp__session_hash(uint64_t move_hash, uint32_t cell)
{
    return (move_hash ^ cell) * 0x100000001b3u;
}

/* ---- goals.c ---- */

/* Sets the session's goals, at least one, and how its search tells them. */
void tp__goals_set(struct tp_mind *session, const tp_state *states, uint32_t count);

/* Whether an exhausted search's expanded states are still to be looked through: for the nearest to a goal, or for one near enough
 * to a goal that moved. */
bool tp__nearest_due(const struct tp_mind *session);

/* A new search begins: nothing was looked through. */
void tp__nearest_begin(struct tp_mind *session);

/* The goal or the agent is elsewhere: no end was chosen, and the agent waits no longer. */
void tp__nearest_drop(struct tp_mind *session);

/* The agent is to wait until the search meets a state nearer to a goal than the end that it leaves. Over: whether it waits for
 * none; ends the wait where the search has met one, or found a goal. */
void tp__nearest_wait_begin(struct tp_mind *session);
bool tp__nearest_wait_over(struct tp_mind *session);

/* Goes on looking through the expanded states, within what the tick has left. The search's end is
 * chosen when all were seen and one will do. Rushed: though a cost fell since the search began. */
enum tp_nearest_outcome { TP_NEAREST_LOOKING, TP_NEAREST_CHOSEN, TP_NEAREST_NONE };
enum tp_nearest_outcome tp__nearest_run(struct tp_tick *tick, bool rushed);

/* Whether the agent stands on the end chosen for goals that can't be reached. */
bool tp__nearest_at_end(const struct tp_mind *session);

/* ---- learn.c ---- */

/* Begins the learning step over the search's `expanded` states. */
void tp__learn_begin(struct tp_mind *session, uint64_t expanded);

/* Goes on with it; true when every expanded state has its h. */
bool tp__learn_run(struct tp_tick *tick);

/* Ends a learning step under way: the h it was still working on may be too high, so that all is forgotten. */
void tp__learn_abandon(struct tp_mind *session);

/* ---- agent_centred.c ---- */

/* Expansions that a lookahead may make under this budget. */
uint64_t tp__lookahead_max(const struct tp_budget *budget);

/* ---- lookahead.c ---- */

/* Whether the session's row has this kind of lookahead. */
static inline bool tp__looks_breadth_first(const struct tp_mind *session)
{
    enum tp_learning learning = session->params.algorithm->learning;
    return learning == TP_LEARNING_MINI_MIN || learning == TP_LEARNING_PRIORITIZED;
}

/* Begins a lookahead from the root that the search was begun with. */
void tp__lookahead_begin(struct tp_mind *session);

/* Expands layers that are whole within `wanted` expansions; returns how many were made. */
uint64_t tp__lookahead_run(struct tp_tick *tick, uint64_t wanted);

/* Weighs the frontier; true when all of it is: lookahead.best is its best state then. Anew: from its first entry on. */
bool tp__lookahead_weigh(struct tp_tick *tick);
void tp__lookahead_weigh_anew(struct tp_mind *session);

/* Raises h of a state; a h no larger than it has is free. False when the tick can't pay. */
bool tp__lookahead_raise(struct tp_tick *tick, tp_state state, tp_cost h);

/* LRTA*: weighs the frontier, then raises h of the root. True when done. */
bool tp__lookahead_learn(struct tp_tick *tick);

/* ---- prioritized.c ---- */

/* False when no memory could be had. */
bool tp__prioritized_open(struct tp_mind *session);
void tp__prioritized_forget(struct tp_mind *session);
void tp__prioritized_close(struct tp_mind *session);

/* P-LRTA*: updates the root, then what is in the queue, and weighs the frontier. True when done. */
bool tp__prioritized_learn(struct tp_tick *tick);

/* ---- fetch.c ---- */

/* Has the processor fetch what a tick reads first. */
void tp__mind_prefetch(const struct tp_mind *session);
void tp__mind_prefetch_search(const struct tp_mind *session, unsigned step); /* tp_session_prefetch's further steps */
void tp__mind_prefetch_walk(const struct tp_mind *session, unsigned step); /* tp_session_prefetch_walk's steps */

/* ---- stroll.c ---- */

/* At the end of a tick that the engine had: whether ticks for a move alone that come next need it. Cost: O(1). */
void tp__stroll_settle(const struct tp_tick *tick);

/* A whole tick for a move alone, of a session that strolls: false where the engine has to see to it, nothing being changed. Cost: O(1). */
bool tp__stroll(struct tp_mind *session, const struct tp_map *map, struct tp_tick_reply *reply);

/* ---- packed.c ---- */

/* Whether the paths of a session with these parameters, settled, may be packed. */
bool tp__packed_may(const struct tp_session_params *params, const struct tp_map *map);

/* Whether the agent follows a packed path: there are no marks and no tree. */
static inline bool tp__is_packed(const struct tp_mind *session)
{
    return session->packed.phase == TP_PACKED_FOLLOWED;
}

/* Forgets the moves. Cost: O(their pieces). */
void tp__packed_forget(struct tp_mind *session);
void tp__packed_unfinished(struct tp_mind *session); /* if it is not followed yet */

/* The agent made a move. Cost: O(1). */
void tp__packed_moved(struct tp_mind *session, uint8_t move);

/* An agent that stood on a packed path was put elsewhere: whether that is on the path not far ahead, from where it then leads on. Cost: O(1). */
bool tp__packed_put(struct tp_mind *session, tp_state from, tp_state to);

/* Whether nothing is held but the moves that are left, if any, or nothing was searched, of an agent that walks or has arrived, and
 * nothing was to be found out for some ticks. Smoothing is closed then. */
bool tp__packed_is_still(struct tp_mind *session);

/* tp_session_path of a packed path. */
uint32_t tp__packed_path(const struct tp_mind *session, uint32_t *cells, uint32_t max);

/* The agent, or its goal, is put elsewhere: of one that was quiet for so long that it may have come to rest it is begun to count anew. */
void tp__packed_stirred(struct tp_mind *session);

/* At a tick's end: goes on packing the path, and putting back what found it. */
void tp__packed_run(struct tp_tick *tick);
void tp__packed_close(struct tp_mind *session);

/* ---- shortcut.c ---- */

/* 2009, section 3.4, first enhancement. Spends what the tick has left. True when a shortcut was
 * found and is followed from here on. */
bool tp__shortcut_try(struct tp_tick *tick);

/* The next move along the shortcut followed; TP_MOVE_NONE when the agent is on none. */
uint8_t tp__shortcut_next(const struct tp_mind *session);

/* Forgets the shortcut search (the path it led to is no longer followed). Cost: O(1). */
void tp__shortcut_forget(struct tp_mind *session);
void tp__shortcut_close(struct tp_mind *session);

/* ---- smooth.c ---- */

/* Where the path followed is whole, and the row can be guided: spends what the tick has left on making the rest of it shorter. */
void tp__smooth_run(struct tp_tick *tick);

/* Whether nothing is left to be made shorter of the path followed. */
bool tp__smooth_is_done(const struct tp_mind *session);

/* One step of a piece that is to be part of the path: the tree is to lead through it, unless it knows a cheaper way there. Gives the
 * state that it leads to, TP_STATE_NONE where it does not; and whether the tree was changed. */
tp_state tp__smooth_link(struct tp_mind *session, tp_state from, uint8_t move, bool *changed);

/* Begins anew with whatever path is followed then. Cost: O(1). */
void tp__smooth_forget(struct tp_mind *session);
void tp__smooth_close(struct tp_mind *session);

#endif
