/* One best-first search: a tree of states grown from a root towards a goal by priority, a few expansions at a time.
 *
 * What it is: the kernel that every engine shares. It owns the nodes and the open list; it knows nothing of agents,
 * moves or ticks. The kernels (the loop in domain/kernel.h, completed by each space of domain/) are compiled once per space
 * and node width and are reached through one call per run of expansions, never one per successor.
 * Priority: f = g_factor * g + h_factor * h in 64 bits: 1000 g + 1000 w h with both factors divided by their common
 * divisor; GBFS: 0 and 1, the first parent kept. A closed state is never re-opened by the exact list: with w = 1 and a
 * consistent h it never gets cheaper, with w > 1 the bound does not need it. By the list in buckets it is, with w = 1.
 * What it refuses: to grow without memory or past its byte cap; a run then says `capped`, and the tree is as it was.
 * Who calls it: the engines, through the session that owns it; the domain's kernels use its store and list.
 */
#ifndef TP_SEARCH_SEARCH_H
#define TP_SEARCH_SEARCH_H

#include "base/limits.h"
#include "domain/domain.h"
#include "map/walk.h"
#include "node/nodes.h"
#include "open/bucket.h"

/* Where a search may end, if not on one goal alone: on one of several, or near enough to one. */
struct tp_goals {
    tp_state states[TP_GOALS_MAX];
    uint32_t count;
    bool within;    /* near enough: h to one of them is at most */
    tp_cost radius; /* this; 0 if not within */
};

struct tp_guide;

struct tp_search {
    const struct tp_domain *domain;
    struct tp_nodes nodes;
    bool bucketed;           /* which of the two lists is in use */
    bool reopens;            /* the bucket list with w = 1: a closed state that gets cheaper is open again */
    struct tp_open open;
    struct tp_bucket bucket;
    struct tp_space *space; /* owned; NULL where the space keeps nothing (tp_search_open_space) */
    uint32_t shift; /* bits of x in a state, 0..26; in listed spaces 3: a tile holds 64 states in a row */
    uint32_t width, height; /* of the store */
    tp_state goal; /* the first, where there are several */
    const struct tp_goals *goals; /* borrowed; NULL: `goal` alone */
    const struct tp_guide *guide; /* borrowed; NULL: the space's h alone (guide.h) */
    uint64_t g_factor, h_factor;
    uint64_t h_unit;    /* the profile's least weight: h counts in it */
    enum tp_corners corners;
    enum tp_heuristic heuristic;
    bool first_parent;  /* GBFS: a state's parent is never replaced */
    bool weighted;      /* steps cost by the weights of their cells */
    tp_state root;      /* where it began; TP_STATE_NONE: from several states, or not at all */
    struct tp_tiles *learned; /* the learned h (node/learned.h), borrowed from the session; NULL for none */
    bool rekey;         /* the goal moved since the search began: f of entries is renewed as they come up */
    bool active;        /* begun and not forgotten */
    bool exhausted;     /* the open list ran empty: every state reachable from the root is closed */
    bool found;         /* a goal is the best open state, or closed: its path is final */
    tp_state end;       /* once found: that goal, or the state taken for it */
    uint64_t end_bucket, end_g, end_f; /* where closed states are opened again: of the cheapest goal met, the greatest numbers if none */
    bool partial;       /* the end is the nearest state to goals that can't be reached (goals.c) */
    uint64_t begun_version;  /* the map's version and the belief's stamp when the search began */
    uint32_t begun_stamp;
    uint64_t begun_falls;    /* the belief's falls then */
    uint64_t touched; /* states in the tree, open or closed */
    uint64_t hash;    /* see session.h: search_hash */
    uint64_t moved_g; /* the least g that a state which may be a parent got by another parent, since its user last forgot it here */
    bool undone;      /* an expansion was undone for want of memory: an open state may be a parent, and not be told from others */
};

/* How far one run may go, and how far it went. */
struct tp_run {
    uint64_t expansions_max;
    uint64_t rekeyed_max;
    uint64_t rekeys_paid;         /* entries that are renewed for nothing */
    uint64_t rekeys_an_expansion; /* then for one expansion fewer so many */
    bool (*expired)(void *context); /* NULL for none */
    void *context;
    uint64_t expansions, generated, rekeyed; /* done in this run */
    uint64_t given_up;                       /* expansions, for entries renewed */
    uint64_t touched;                        /* states given their first g in this run */
    bool capped;                             /* stopped because no memory could be had */
};

/* Prepares a search over what is believed, with the learned h (NULL for none); allocates nothing. `bytes` counts pool
 * bytes held. */
void tp_search_init(struct tp_search *search, const struct tp_domain *domain, const struct tp_belief *belief,
                    struct tp_tiles *learned, enum tp_heuristic heuristic, enum tp_corners corners,
                    uint64_t g_factor, uint64_t h_factor, bool first_parent, struct tp_pool *pool,
                    uint32_t stamp_max, uint64_t *bytes, uint64_t bytes_max);
void tp_search_fini(struct tp_search *search);

/* Puts back what the search holds: another may be begun. Grids only. */
void tp_search_empty(struct tp_search *search);

/* After init, before the first use: the open list is to be that in buckets (open/bucket.h). Not for searches that learn. */
void tp_search_use_buckets(struct tp_search *search);

/* Before the first use of a search's space: what the space keeps, if anything. False without memory. */
bool tp_search_open_space(struct tp_search *search);

/* Begins anew from `root` towards `goal`; the former search is forgotten. False when no memory could
 * be had for the root, or what former searches teach of its surroundings could not be paid (tp_nodes_unpaid). Cost: O(1). */
bool tp_search_begin(struct tp_search *search, tp_state root, tp_state goal);

/* Begins a search that grows from several roots: forget the former search, then add each root with its g. */
void tp_search_begin_seeds(struct tp_search *search, tp_state goal);
bool tp_search_add_seed(struct tp_search *search, tp_state state, tp_cost g);

/* Expands best states until a limit of the run, an empty list (`exhausted`), or the goal is best (`found`). */
void tp_search_run(struct tp_search *search, struct tp_run *run);

/* Has the processor fetch what the next run will read first, in steps: tp_session_prefetch's. Only where the list is in buckets. Cost: O(1). */
void tp__search_prefetch(const struct tp_search *search, unsigned step);

/* Whether the state was expanded by the present search. */
bool tp_search_closed(const struct tp_search *search, tp_state state);

/* The least g + h over the open list (unweighted, h as learned); TP_COST_INFINITE when none is open. Only for f = g + h.
 * Valid after a run. */
tp_cost tp_search_least_f(const struct tp_search *search);

/* The best open state: the end once found. False when none is open. */
bool tp_search_best(const struct tp_search *search, tp_state *best);

/* Turns the search to another goal, keeping g and the tree; `found` is set anew (closed states near enough to it are not looked
 * for). Cost: O(log n). */
void tp_search_retarget(struct tp_search *search, tp_state goal);

/* Gives a state a (lesser) g, by a move from the state it is to have for its parent; a state that is not closed is entered into the open
 * list. Grids only. False without memory. Cost: O(log n). */
bool tp_search_link(struct tp_search *search, tp_state state, uint8_t move, tp_cost g);

/* Whether the way to a state with this g is the one that led there when `moved_g` was last forgotten (set to TP_COST_INFINITE), of a state
 * that had been expanded by then. Where the state, or one on that way, has got another parent since, that one's g is moved_g or more, and those
 * of all that were reached through it are larger. Cost: O(1). */
static inline bool tp__search_stays(const struct tp_search *search, tp_cost g)
{
    return g < search->moved_g && !search->undone;
}

/* Whether the state has a place in the present tree (open or closed). */
bool tp_search_knows(const struct tp_search *search, tp_state state);

/* The parent of a state of the tree, and the move that leads from there; TP_STATE_NONE for a root. */
tp_state tp_search_parent(const struct tp_search *search, tp_state state, uint8_t *move);

/* The move that leads from a state of the tree to its parent; TP_MOVE_NONE for a root, or where none leads back. */
uint8_t tp_search_move_to_parent(const struct tp_search *search, tp_state state);

/* g of a state of the tree. */
tp_cost tp_search_g(const struct tp_search *search, tp_state state);

static inline uint32_t tp_state_x(const struct tp_search *search, tp_state state)
{
    return state & ((1u << search->shift) - 1);
}

static inline uint32_t tp_state_y(const struct tp_search *search, tp_state state)
{
    return state >> search->shift;
}

static inline tp_state tp_state_at(const struct tp_search *search, uint32_t x, uint32_t y)
{
    return y << search->shift | x;
}

/* Grids only: the state one move away. */
static inline tp_state tp_state_step(const struct tp_search *search, tp_state state, uint8_t direction)
{
    return tp_state_at(search, tp_state_x(search, state) + (uint32_t)tp_direction_dx[direction],
                       tp_state_y(search, state) + (uint32_t)tp_direction_dy[direction]);
}

/* Where a move once found leads, be it legal still or not; TP_STATE_NONE where a listed space no longer has it. */
tp_state tp_search_move(const struct tp_search *search, tp_state state, uint8_t move);

/* ---- goals.c: searches with `goals` ---- */

/* The least h to a goal, less the radius: consistent where the space's h is. Cost: O(goals). */
tp_cost tp__goals_h(const struct tp_search *search, tp_state state);

/* Whether the state is a goal, or near enough to one: also of a search with one goal. Cost: O(goals). */
bool tp__goals_met(const struct tp_search *search, tp_state state);

/* h of a state to the present goal, as learned. */
tp_cost tp_search_h_now(const struct tp_search *search, tp_state state);

/* The space's own h from one state to another. */
static inline tp_cost tp_search_h(const struct tp_search *search, tp_state from, tp_state to)
{
    return search->domain->h(search, from, to);
}

/* The same to the present goal, or goals. */
static inline tp_cost tp_search_h_goal(const struct tp_search *search, tp_state state)
{
    return search->goals ? tp__goals_h(search, state) : tp_search_h(search, state, search->goal);
}

#endif
