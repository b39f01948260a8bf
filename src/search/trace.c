/* Tracing a path back through the search tree, over as many ticks as the budget asks (2009, section 3.1).
 *
 * Happy path: begin at the best open state; run until the agent's state or the root is at the front; follow. While a
 * trace runs, the agent goes on along the path it follows. The check for the end comes before a step, so that a
 * trace whose front the agent has walked onto meanwhile is done at once. Marking the best state is free; each parent
 * costs one step.
 * Failure: no memory for marks stops the trace (`capped`); the old path stays.
 */
#include "search/internal.h"

_Static_assert((int)TP_MARK_NEXT + (int)TP_MOVES_MAX - 1 <= UINT8_MAX, "a mark holds any move");

/* Marks a state of the fresh path; false without memory. */
static bool mark(struct tp_mind *session, tp_state state, uint8_t mark)
{
    uint32_t x = tp_state_x(&session->search, state), y = tp_state_y(&session->search, state);
    struct tp_tiles *fresh = &session->trace.fresh;
    return tp_marks_set(fresh, x, y, mark) || (tp__bound_yield(session) && tp_marks_set(fresh, x, y, mark));
}

/* Of a trace that begins at `end`, all but its marks. */
static void begin(struct tp_mind *session, tp_state end, bool is_branch)
{
    struct tp_trace *trace = &session->trace;
    trace->fresh_end = trace->front = end;
    trace->running = !is_branch;
    trace->unmarked = is_branch;
    trace->version = session->map->version;
    trace->rose = trace->capped = false;
    trace->sum = trace->length = 0;
    trace->last_end = end;
    trace->last_at = session->at;
    trace->last_moves = session->stats.moves;
}

void tp__trace_begin(struct tp_mind *session, tp_state end)
{
    tp_tiles_begin(&session->trace.fresh);
    begin(session, end, false);
    session->trace.capped = !mark(session, end, TP_MARK_END);
}

/* 2012, Algorithm 2, line 9: whether the fresh path's steps are to be compared with what is believed now: a path may
 * lead through states that were expanded before a rise was seen. */
static bool checks_rise(const struct tp_mind *session)
{
    if (session->search.domain->listed && !session->map->graph)
        return false; /* any change of their map restarts (react.c) */
    if (tp__watch_is_near(session))
        return false; /* the watch looks at it as the agent comes near */
    bool by_rule = session->params.restart == TP_RESTART_LAZY || session->params.restart == TP_RESTART_ON_RISE;
    const struct tp_search *search = &session->search;
    bool rose = session->belief.full ? session->map->rose_version > search->begun_version
                                     : session->belief.stamp != search->begun_stamp;
    return by_rule && rose;
}

tp_cost tp__trace_step_cost(const struct tp_search *search, tp_state from, tp_state to, uint8_t move)
{
    uint8_t found;
    if (tp_search_parent(search, to, &found) == from && found == move)
        return tp_search_g(search, to) - tp_search_g(search, from);
    if (tp_search_parent(search, from, &found) == to)
        return tp_search_g(search, from) - tp_search_g(search, to);
    return TP_COST_INFINITE;
}

/* Whether the agent believes a step that the search found to be illegal or dearer now. */
static bool step_rose(const struct tp_mind *session, tp_state from, tp_state to, uint8_t move)
{
    const struct tp_search *search = &session->search;
    const struct tp_belief *belief = &session->belief;
    if (session->map->graph) {
        struct tp_successor now;
        return !search->domain->step(search, session->map, from, move, &now) ||
               now.cost > tp__trace_step_cost(search, from, to, move);
    }
    uint32_t x = tp_state_x(search, from), y = tp_state_y(search, from);
    if (!tp_belief_legal(belief, x, y, move, session->params.neighbours, session->params.corners))
        return true;
    return search->weighted && tp_belief_cost(belief, x, y, tp_state_x(search, to), tp_state_y(search, to), move) >
                                   tp__trace_step_cost(search, from, to, move);
}

/* Adds a step of the fresh path, at what it costs in the present version, to its sum. */
static void add_step(struct tp_mind *session, tp_state from, uint8_t move)
{
    const struct tp_search *search = &session->search;
    struct tp_trace *trace = &session->trace;
    struct tp_successor step;
    bool legal = search->domain->step(search, session->map, from, move, &step);
    trace->sum = legal && trace->sum != TP_COST_INFINITE ? trace->sum + step.cost : TP_COST_INFINITE;
}

bool tp__trace_run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_trace *trace = &session->trace;
    const struct tp_search *search = &session->search;
    while (!trace->capped) {
        uint8_t move;
        tp_state parent = trace->front == session->at ? TP_STATE_NONE : tp_search_parent(search, trace->front, &move);
        if (parent == TP_STATE_NONE) {
            trace->running = false;
            return true;
        }
        if (!tp__tick_step(tick))
            return false;
        if (search->reopens && tp_marks_at(&trace->fresh, tp_state_x(search, parent), tp_state_y(search, parent)) != TP_MARK_NONE) {
            trace->running = false; /* states got cheaper since it began, and what was marked lies before what is left: trace anew */
            return false;
        }
        if (checks_rise(session))
            trace->rose |= step_rose(session, parent, trace->front, move);
        if (session->bound)
            add_step(session, parent, move);
        if (tp__walls_alone(session))
            trace->length += tp_direction_length[move];
        trace->front = parent;
        trace->capped = !mark(session, parent, (uint8_t)(TP_MARK_NEXT + move));
    }
    /* what memory there is may be had again once the old path's marks are stale: try anew at the next tick */
    trace->running = false;
    tick->node_cap = true;
    return false;
}

bool tp__trace_fresh_over_agent(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    const struct tp_trace *trace = &session->trace;
    if (trace->unmarked)
        return trace->over_agent;
    return tp_marks_at(&trace->fresh, tp_state_x(search, session->at), tp_state_y(search, session->at)) != TP_MARK_NONE;
}

/* ---- Under k: only what is new ----
 *
 * Each tick's trace is whole then, and most of it is as it was in the tick before. The parent of a state that was expanded stays: so
 * where the fresh trace comes upon a state of the last path, the rest of it is that path up to there, back to the root. Such a trace, a
 * branch, ends there.
 *
 * Parents that do not stay: a path's last state was open when it was traced, and is passed over; where closed states are opened again, the
 * search tells the least g that any of them got since (tp__search_stays), and the branch is from a state with a lesser one.
 *
 * Where the path begins: traced step by step it begins where the agent stood, or at the root if the agent was off it. A branch's path is
 * marked from the root on in either case, so that the next may leave it behind the agent, and `from` tells where it begins. What lies before
 * is no part of it (tp__trace_mark): along a path g grows, and so g tells that.
 *
 * Its marks are in the tree's own nodes, which the trace reads in any case: there is room for them where g is narrow and moves are few. They
 * are set when the path is followed (tp__trace_follow), which is decided once it is known; what the old one has alone loses its own then:
 * each is set once and taken once. The path to a goal that was found is traced step by step, for all that comes after the search reads it in tiles of its own.
 */

/* A walk over states of the tree, the tile of the last one being at hand. Grids. */
struct walk {
    tp_state state, before; /* before: in that tile */
    struct tp_node_tile *tile;
};

static struct walk walk_from(tp_state state)
{
    return (struct walk){state, state, NULL};
}

/* The tile of the state, and its slot. All tiles of the tree are of this search: no stamp is looked at. */
static inline struct tp_node_tile *walk_node(const struct tp_search *search, struct walk *walk, uint32_t *slot)
{
    uint32_t x = tp_state_x(search, walk->state), y = tp_state_y(search, walk->state);
    uint32_t bx = tp_state_x(search, walk->before), by = tp_state_y(search, walk->before);
    if (!walk->tile || ((x ^ bx) | (y ^ by)) >= TP_TILE_SIDE)
        walk->tile = (struct tp_node_tile *)(uintptr_t)tp_tiles_peek(&search->nodes.tiles, x, y);
    walk->before = walk->state;
    *slot = tp_tile_slot(x, y);
    return walk->tile;
}

/* To the parent, giving the move that leads from there; false at a root. */
static bool walk_back(const struct tp_search *search, struct walk *walk, uint8_t *move)
{
    uint32_t slot;
    uint8_t meta = walk_node(search, walk, &slot)->meta[slot], direction = meta & TP_NODE_PARENT;
    if (meta & TP_NODE_ROOT)
        return false;
    *move = tp_direction_opposite[direction];
    walk->state = tp_state_step(search, walk->state, direction);
    return true;
}

/* The mark of the path in the tree. */
static uint8_t mark_of(const struct tp_mind *session, tp_state state)
{
    uint32_t x = tp_state_x(&session->search, state), y = tp_state_y(&session->search, state);
    const struct tp_node_tile *tile = tp_nodes_find(&session->search.nodes, x, y);
    return tile ? tp_marks_narrow(tile->g.marks, tp_tile_slot(x, y)) : TP_MARK_NONE;
}

bool tp__trace_branches(const struct tp_tick *tick)
{
    const struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    bool has_marks = !search->nodes.wide && tp_marks_are_narrow(search->domain->moves_max);
    return session->branches && tick->budget->kind == TP_BUDGET_K && has_marks && !search->found && !session->bound && !checks_rise(session);
}

/* Whether the way from the root to a state of the tree is that of the path in the tree. */
static bool may_branch_from(const struct tp_mind *session, struct walk *walk)
{
    const struct tp_search *search = &session->search;
    uint32_t slot;
    const struct tp_node_tile *tile = walk_node(search, walk, &slot);
    return tp_marks_narrow(tile->g.marks, slot) != TP_MARK_NONE && walk->state != session->trace.tree_end &&
           tp__search_stays(search, tp_nodes_g(&search->nodes, tile, slot));
}

bool tp__trace_branch(struct tp_tick *tick, tp_state end)
{
    struct tp_mind *session = tick->session;
    struct tp_trace *trace = &session->trace;
    const struct tp_search *search = &session->search;
    struct walk walk = walk_from(end);
    uint8_t move;
    begin(session, end, true);
    trace->over_agent = end == session->at;
    while (walk_back(search, &walk, &move)) {
        if (!tp__tick_step(tick)) {
            tp__trace_begin(session, end); /* as long as ticks are ended early, step by step */
            return false;
        }
        trace->over_agent |= walk.state == session->at;
        if (may_branch_from(session, &walk))
            break;
    }
    trace->branch = walk.state;
    if (session->at != trace->tree_end && mark_of(session, session->at) != TP_MARK_NONE)
        trace->over_agent |= tp_search_g(search, session->at) <= tp_search_g(search, trace->branch);
    return true;
}

/* The path in the tree ends at this state of it. */
static void cut(struct tp_mind *session, tp_state state)
{
    const struct tp_search *search = &session->search;
    struct walk walk = walk_from(state);
    uint8_t mark = mark_of(session, state);
    while (mark != TP_MARK_END) {
        uint32_t slot;
        walk.state = tp_state_step(search, walk.state, mark - TP_MARK_NEXT);
        struct tp_node_tile *tile = walk_node(search, &walk, &slot);
        mark = tp_marks_narrow(tile->g.marks, slot);
        tp_marks_set_narrow(tile->g.marks, slot, TP_MARK_NONE);
    }
}

/* The branch is marked, and what it leaves is not any more. */
static void take_branch(struct tp_mind *session)
{
    struct tp_search *search = &session->search;
    struct tp_trace *trace = &session->trace;
    if (trace->tree_end != TP_STATE_NONE)
        cut(session, trace->branch);
    struct walk walk = walk_from(trace->fresh_end);
    uint8_t mark = TP_MARK_END, move;
    uint32_t slot;
    for (;;) {
        struct tp_node_tile *tile = walk_node(search, &walk, &slot);
        tp_marks_set_narrow(tile->g.marks, slot, mark);
        if (walk.state == trace->branch || !walk_back(search, &walk, &move))
            break;
        mark = TP_MARK_NEXT + move;
    }
    trace->tree_end = trace->fresh_end;
    trace->from = session->at;
    trace->from_g = trace->over_agent ? tp_search_g(search, session->at) : 0;
    search->moved_g = TP_COST_INFINITE;
}

/* Whether a state marked in the tree lies before the path followed. Cost: O(1), but O(path) where states have changed their parents and no
 * path was taken since. */
static bool is_before(const struct tp_mind *session, tp_state state)
{
    const struct tp_search *search = &session->search;
    const struct tp_trace *trace = &session->trace;
    if (!trace->from_g || state == trace->from || state == trace->tree_end)
        return false;
    if (tp__search_stays(search, trace->from_g))
        return tp_search_g(search, state) < trace->from_g;
    for (uint8_t mark = mark_of(session, state); mark != TP_MARK_END && state != trace->from; mark = mark_of(session, state))
        state = tp_state_step(search, state, mark - TP_MARK_NEXT);
    return state == trace->from;
}

uint8_t tp__trace_mark(const struct tp_mind *session, tp_state state)
{
    if (!session->trace.follows_tree)
        return tp_marks_at(&session->trace.follow, tp_state_x(&session->search, state), tp_state_y(&session->search, state));
    uint8_t mark = mark_of(session, state);
    return mark != TP_MARK_NONE && is_before(session, state) ? TP_MARK_NONE : mark;
}

/* ---- The path followed ---- */

bool tp__trace_rose(struct tp_mind *session)
{
    struct tp_trace *trace = &session->trace;
    if (!trace->rose || trace->given_up == session->stats.moves + 1)
        return false;
    trace->given_up = session->stats.moves + 1;
    return true;
}

/* Whether what the fresh path, being whole, costs is what is left of it for the agent: it was traced from its end to where the agent stands. */
static bool is_fresh_counted(const struct tp_mind *session)
{
    const struct tp_trace *trace = &session->trace;
    const struct tp_search *search = &session->search;
    bool is_to_end = session->path_complete || (search->found && trace->fresh_end == search->end);
    return is_to_end && !trace->unmarked && trace->front == session->at && tp__walls_alone(session);
}

void tp__trace_follow(struct tp_mind *session)
{
    struct tp_trace *trace = &session->trace;
    if (trace->unmarked) {
        take_branch(session);
    } else {
        struct tp_tiles old = trace->follow;
        trace->follow = trace->fresh;
        trace->fresh = old;
    }
    trace->follows_tree = trace->unmarked;
    trace->is_counted = is_fresh_counted(session);
    trace->left = trace->length;
    trace->follow_end = trace->fresh_end;
    trace->fresh_end = TP_STATE_NONE;
    tp__packed_forget(session);
    tp__shortcut_forget(session);
    tp__detour_forget(session);
    tp__watch_path(session);
    tp__bound_follow(session);
}

void tp__trace_follow_rest(struct tp_mind *session)
{
    struct tp_watch *watch = &session->watch;
    bool walks = watch->walks, far = watch->far;
    tp_state step = watch->step;
    tp__trace_follow(session);
    watch->walks |= walks;
    watch->far = far;
    if (far && step != TP_STATE_NONE && tp__trace_mark(session, step) != TP_MARK_NONE)
        watch->step = step; /* else each piece made shorter would begin it anew */
}

void tp__trace_forget(struct tp_mind *session)
{
    struct tp_trace *trace = &session->trace;
    tp_tiles_begin(&trace->follow);
    trace->follow_end = trace->fresh_end = trace->last_end = TP_STATE_NONE;
    trace->tree_end = TP_STATE_NONE;
    trace->running = trace->follows_tree = trace->is_counted = false;
    tp__packed_forget(session);
    tp__detour_forget(session);
    tp__smooth_forget(session);
    tp__bound_forget(session);
    tp__watch_forget(session);
}

uint8_t tp__trace_move(const struct tp_mind *session, tp_state state)
{
    const struct tp_steps *steps = &session->packed.steps;
    if (tp__is_packed(session))
        return state == session->at && steps->count ? tp_steps_first(steps) : TP_MOVE_NONE;
    uint8_t mark = tp__trace_mark(session, state);
    return mark >= TP_MARK_NEXT ? mark - TP_MARK_NEXT : TP_MOVE_NONE;
}

uint8_t tp__trace_next(const struct tp_mind *session)
{
    if (session->trace.follow_end == TP_STATE_NONE)
        return TP_MOVE_NONE;
    uint8_t aside = tp__shortcut_next(session);
    if (aside == TP_MOVE_NONE)
        aside = tp__detour_next(session);
    if (aside != TP_MOVE_NONE)
        return aside;
    return tp__trace_move(session, session->at);
}

/* ---- What is left of it ---- */

tp_cost tp__trace_left(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    const struct tp_trace *trace = &session->trace;
    tp_state from = tp__detour_is_walked(session) ? tp__detour_end(session) : session->at;
    return trace->is_counted ? trace->left : tp_search_g(search, trace->follow_end) - tp_search_g(search, from);
}

void tp__trace_count(struct tp_mind *session)
{
    struct tp_trace *trace = &session->trace;
    bool is_on_path = session->at == trace->follow_end || tp__trace_move(session, session->at) != TP_MOVE_NONE;
    if (trace->is_counted || !is_on_path)
        return;
    trace->left = tp__trace_left(session);
    trace->is_counted = true;
}

static void take(struct tp_trace *trace, tp_cost cost)
{
    trace->left -= cost < trace->left ? cost : trace->left; /* the step may have grown dearer since it was counted */
}

void tp__trace_moved(struct tp_mind *session, uint8_t move, tp_cost cost)
{
    struct tp_trace *trace = &session->trace;
    if (!trace->is_counted)
        return;
    trace->is_counted = tp__trace_move(session, session->at) == move;
    take(trace, cost);
}

static uint8_t next_packed(struct tp_steps_reader *reader)
{
    if (!reader->left)
        return TP_MOVE_NONE;
    uint8_t move = tp_steps_peek(reader);
    tp_steps_next(reader);
    return move;
}

void tp__trace_put(struct tp_mind *session, tp_state to)
{
    struct tp_trace *trace = &session->trace;
    struct tp_steps_reader reader = tp_steps_read(&session->packed.steps);
    tp_state at = session->at;
    if (!trace->is_counted)
        return;
    for (uint32_t ahead = 0; at != to && ahead < TP_PUT_AHEAD_MAX && tp__walls_alone(session); ahead++) {
        uint8_t move = tp__is_packed(session) ? next_packed(&reader) : tp__trace_move(session, at);
        if (move == TP_MOVE_NONE)
            break;
        take(trace, tp_direction_length[move]);
        at = tp_state_step(&session->search, at, move);
    }
    trace->is_counted = at == to;
}
