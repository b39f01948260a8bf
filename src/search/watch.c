/* What changed of the map under a path that is followed, looked for over as many ticks as the budget asks.
 *
 * What rose is looked for along the path, from the agent on: each step is checked against the present version, whatever else
 * changed, and its cost compared with what it was when the search found it. What fell is looked for tile by tile between the version
 * last looked through and a newer one: equal tiles are shared, and those that no way short enough leads through are passed
 * by. A step of the path, a changed tile, a fallen cell and TILES_A_LOOK tiles are a look each, 1/c under R. Where the
 * purse is not enough the watch goes on in the next tick; the agent moves on meanwhile, since its next step is checked at
 * the move. A version that comes in between begins the walk along the path anew; what fell in it is looked for after what
 * fell before. The version compared with is held until then. On graphs pages of edges stand for tiles, and fallen edges for
 * cells; of a changed page EDGES_A_LOOK edges are a look.
 *
 * A session that its guide leads looks near ahead alone: every TP_NEAR_TICKS ticks at the next TP_NEAR_STEPS steps of its path, as long as any of those
 * left may have risen. What is farther may be open again when the agent comes there. Where a door closed on its only short way the blocks
 * know: a way that its guide found, much longer than what is left of a whole path, has it look at all of that (guide.c). So a tick's looks are bounded under every budget, whatever changes.
 *
 * A restart for what fell is refused where it would never end: of a search that is not done to an agent that is no nearer to the goal,
 * by h, than when the last one was begun for a fall; of one that took more than a tick, where no less of its path is left than then.
 * What falls meanwhile waits. So an agent with a small budget gets to its goal however often something falls: each such restart
 * finds it nearer than the one before. When something rose on its path, or it is on another trip, that begins anew.
 */
#include "search/internal.h"

enum { TILES_A_LOOK = 64, EDGES_A_LOOK = 256 };

bool tp__watch_is_near(const struct tp_mind *session)
{
    bool is_led = tp__guide_leads(session) && session->params.restart == TP_RESTART_ON_RISE;
    return is_led && session->belief.full && !session->bound && tp__walls_alone(session);
}

/* Whether a step of the path followed is illegal now, or dearer than when the search found it. What it costs now is added to the
 * watch's sum. */
static bool step_rose(struct tp_mind *session, tp_state from, tp_state to, uint8_t move)
{
    const struct tp_search *search = &session->search;
    struct tp_successor now;
    if (tp__walls_alone(session)) {
        session->watch.sum += tp_direction_length[move];
        return !tp_walk_open(session->map, tp_state_x(search, from), tp_state_y(search, from), move,
                             session->params.corners);
    }
    if (!search->domain->step(search, session->map, from, move, &now))
        return true;
    session->watch.sum += now.cost;
    return now.cost > tp__trace_step_cost(search, from, to, move);
}

void tp__watch_path(struct tp_mind *session)
{
    struct tp_watch *watch = &session->watch;
    uint64_t checked = tp__watch_is_near(session) ? session->search.begun_version : session->trace.version;
    watch->walks = session->trace.rose || session->map->rose_version > checked;
    watch->far = false;
    watch->summed = false;
    watch->step = TP_STATE_NONE;
}

static void forget_falls(struct tp_watch *watch)
{
    tp_map_unref(watch->base);
    tp_map_unref(watch->aim);
    watch->base = watch->aim = NULL;
}

void tp__watch_forget(struct tp_mind *session)
{
    forget_falls(&session->watch);
    session->watch.walks = session->watch.far = session->watch.summed = false;
}

void tp__watch_begin(struct tp_mind *session)
{
    struct tp_watch *watch = &session->watch;
    if (!watch->for_fall)
        watch->h_bar = watch->left_bar = TP_COST_INFINITE;
    watch->for_fall = watch->at_once = false;
    watch->begun = session->stats.ticks;
}

/* ---- Looks ---- */

/* How many a tick may take, bounded like the work they stand beside. Under k the steps along the path are free as those of
 * tracing are. */
static uint64_t looks_max(const struct tp_tick *tick, bool along_path)
{
    enum { AT_LEAST = 64 };
    const struct tp_budget *budget = tick->budget;
    if (budget->kind == TP_BUDGET_DEADLINE)
        return tp__beside_max(budget);
    if (budget->kind == TP_BUDGET_K)
        return along_path ? UINT64_MAX : AT_LEAST + tp__beside_max(budget);
    return (tick->steps_left + tick->session->stats.ticks % 2) / 2; /* half of a single step: every other tick */
}

static bool look(struct tp_tick *tick, uint64_t *looks)
{
    if (!*looks || !tp__tick_step(tick))
        return false;
    --*looks;
    return true;
}

/* ---- What rose ---- */

/* Where only walls are looked for: walks on along the path over the steps that are open, a look each, as far as can be paid
 * without a look at the clock. Most changes of a map leave most of a path as it was: this is what they cost. */
static void walk_open_steps(struct tp_tick *tick, uint64_t *looks)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    const struct tp_map *map = session->map;
    enum tp_corners corners = session->params.corners;
    struct tp_watch *watch = &session->watch;
    uint64_t taken = 0, max = tp__tick_steps_at_once(tick, *looks);
    uint32_t x = tp_state_x(search, watch->step), y = tp_state_y(search, watch->step);
    uint32_t tile_x = ~x, tile_y = ~y; /* a cell of the tile at hand */
    const struct tp_marks_tile *tile = NULL;
    tp_cost sum = 0;
    if (session->trace.follows_tree)
        return; /* its marks are elsewhere */
    for (; taken < max; taken++) {
        if (((x ^ tile_x) | (y ^ tile_y)) >= TP_TILE_SIDE) {
            tile = (const struct tp_marks_tile *)tp_tiles_find(&session->trace.follow, x, y);
            tile_x = x;
            tile_y = y;
            if (!tile)
                break;
        }
        uint8_t mark = tp_marks_in(&session->trace.follow, tile, tp_tile_slot(x, y)), move = (uint8_t)(mark - TP_MARK_NEXT);
        if (mark < TP_MARK_NEXT || !tp_walk_open(map, x, y, move, corners))
            break;
        x += (uint32_t)tp_direction_dx[move];
        y += (uint32_t)tp_direction_dy[move];
        sum += tp_direction_length[move];
    }
    watch->step = tp_state_at(search, x, y);
    watch->sum += sum;
    tp__tick_take_steps(tick, taken);
    *looks -= taken;
}

/* The same as below, along a packed path, which the agent is on. */
static bool packed_rose(struct tp_tick *tick, uint64_t *looks)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    struct tp_watch *watch = &session->watch;
    const struct tp_steps *steps = &session->packed.steps;
    struct tp_steps_reader *reader = &watch->reader;
    if (watch->step == TP_STATE_NONE || reader->left > steps->count) { /* it begins, or the agent overtook it */
        watch->step = session->at;
        watch->sum = 0;
        watch->walked = session->stats.cost;
        *reader = tp_steps_read(steps);
    }
    while (reader->left) {
        if (!look(tick, looks))
            return false;
        uint8_t move = tp_steps_peek(reader);
        if (!tp_walk_open(session->map, tp_state_x(search, watch->step), tp_state_y(search, watch->step), move, session->params.corners))
            return true;
        watch->sum += tp_direction_length[move];
        watch->step = tp_state_step(search, watch->step, move);
        tp_steps_next(reader);
    }
    watch->walks = false;
    watch->summed = true;
    return false;
}

/* Walks along the path from the agent on, or from where the walk was; true when one of its steps rose. From off the path it first
 * goes back by parents, as the agent will, and those steps are checked as well; for an agent on a shortcut, outside the tree,
 * it waits until it is back. */
static bool path_rose(struct tp_tick *tick, uint64_t *looks)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    struct tp_watch *watch = &session->watch;
    if (tp__is_packed(session))
        return packed_rose(tick, looks);
    if (watch->step == TP_STATE_NONE && tp_search_knows(search, session->at)) {
        watch->step = session->at;
        watch->sum = 0;
        watch->walked = session->stats.cost;
    }
    if (watch->step == TP_STATE_NONE)
        return false;
    while (watch->step != TP_STATE_NONE && watch->step != session->trace.follow_end) {
        if (tp__walls_alone(session))
            walk_open_steps(tick, looks);
        tp_state from = watch->step;
        if (from == session->trace.follow_end)
            break;
        if (!look(tick, looks))
            return false;
        uint8_t move = tp__trace_move(session, from);
        if (move == TP_MOVE_NONE) {
            watch->step = tp_search_parent(search, from, &move);
            uint8_t back = session->map->graph || watch->step == TP_STATE_NONE ? TP_MOVE_NONE : tp_search_move_to_parent(search, from);
            if (back != TP_MOVE_NONE && step_rose(session, from, watch->step, back))
                return true;
            continue;
        }
        watch->step = tp_search_move(search, from, move);
        if (watch->step == TP_STATE_NONE || step_rose(session, from, watch->step, move))
            return true;
    }
    watch->walks = false;
    watch->summed = watch->step == session->trace.follow_end;
    return false;
}

void tp__watch_far(struct tp_mind *session)
{
    struct tp_watch *watch = &session->watch;
    if (!tp__watch_is_near(session) || watch->far)
        return;
    watch->far = watch->walks = true;
    watch->rose_since = false;
    watch->step = TP_STATE_NONE;
}

/* Looks at the next steps of the path, now and then, or goes on looking at all of them; true when one of them rose. */
static bool near_rose(struct tp_tick *tick, bool has_news)
{
    struct tp_mind *session = tick->session;
    struct tp_watch *watch = &session->watch;
    watch->walks |= has_news;
    watch->rose_since |= has_news;
    if (!watch->walks || tp__detour_is_walked(session) || !(watch->far || tp__watch_looks_now(session->stats.ticks)))
        return false;
    uint64_t looks = looks_max(tick, true), most = watch->far ? TP_FAR_STEPS : TP_NEAR_STEPS;
    looks = looks < most ? looks : most;
    if (!watch->far)
        watch->step = TP_STATE_NONE; /* from where the agent stands */
    bool rose = path_rose(tick, &looks);
    bool is_over = rose || !watch->walks;
    if (watch->far && is_over)
        watch->walks = rose || watch->rose_since;
    watch->far &= !is_over;
    if (!watch->far)
        watch->step = TP_STATE_NONE; /* nor does it go on from here where it is led no more */
    return rose;
}

/* ---- What fell ---- */

/* 2014, Algorithm 3, line 7: the cost of what is left of the path; before the goal is found, up to the best state and h
 * from there. Off the path the agent first has to go back. Where costs may have changed since the search grew the path (the walk
 * summed them up) it is what they are now. */
static tp_cost cost_left(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    const struct tp_watch *watch = &session->watch;
    tp_state end = session->trace.follow_end;
    tp_cost moved = session->stats.cost - watch->walked;
    if (watch->summed && moved <= watch->sum)
        return watch->sum - moved + tp_search_h_goal(search, end);
    if (session->trace.is_counted)
        return session->trace.left + tp_search_h_goal(search, end);
    tp_cost to_end = tp_search_g(search, end), at = tp_search_knows(search, session->at) ? tp_search_g(search, session->at) : 0;
    bool on_path = session->at == end || tp__trace_next(session) != TP_MOVE_NONE;
    return (on_path ? to_end - at : to_end + at) + tp_search_h_goal(search, end);
}

/* h from a state to the nearest cell of a rectangle: on a grid the same in both directions. */
static tp_cost h_to_rectangle(const struct tp_search *search, tp_state from, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1)
{
    uint32_t x = tp_state_x(search, from), y = tp_state_y(search, from);
    return tp_search_h(search, tp_state_at(search, x < x0 ? x0 : x > x1 ? x1 : x, y < y0 ? y0 : y > y1 ? y1 : y), from);
}

/* Whether a way through a move beside some cell of a rectangle (first and last column and row) may be w times shorter than
 * what is left of the path. */
static bool may_shorten(const struct tp_mind *session, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1, tp_cost left)
{
    const struct tp_search *search = &session->search;
    const struct tp_goals *goals = &session->goals;
    tp_cost to_goal = TP_COST_INFINITE, beside = 4 * TP_COST_UNIT * (tp_cost)search->h_unit; /* from the cell to the ends of such a move */
    for (uint32_t i = 0; i < goals->count; i++) {
        tp_cost h = h_to_rectangle(search, goals->states[i], x0, y0, x1, y1);
        to_goal = h < to_goal ? h : to_goal;
    }
    tp_cost through = h_to_rectangle(search, session->at, x0, y0, x1, y1) + (to_goal > goals->radius ? to_goal - goals->radius : 0);
    return tp_product_less(through > beside ? through - beside : 0, session->params.w_milli, left, 1000);
}

/* 2014, Algorithm 3, lines 6 to 8, for the moves that a fallen cell made legal or cheaper: whether w times the least cost
 * through one of them is below what is left of the path. */
static bool shortens(const struct tp_mind *session, uint32_t x, uint32_t y, tp_cost left)
{
    const struct tp_search *search = &session->search;
    const struct tp_map *map = session->map, *base = session->watch.base;
    uint32_t reach = session->params.neighbours == TP_NEIGHBOURS_16 ? 2 : 1;
    for (uint32_t cy = y > reach ? y - reach : 0; cy <= y + reach && cy < map->height; cy++)
        for (uint32_t cx = x > reach ? x - reach : 0; cx <= x + reach && cx < map->width; cx++) {
            struct tp_window now = tp_walk_window(map, cx, cy), before = tp_walk_window(base, cx, cy);
            uint32_t moves = tp_walk_moves(&now, session->params.neighbours, session->params.corners);
            bool stood = tp_map_passable(base, cx, cy); /* nobody stood on a blocked cell, to leave it */
            uint32_t moves_before = stood ? tp_walk_moves(&before, session->params.neighbours, session->params.corners) : 0;
            tp_state from = tp_state_at(search, cx, cy);
            for (moves &= search->weighted ? moves : ~moves_before; moves; moves &= moves - 1) {
                uint8_t direction = (uint8_t)__builtin_ctz(moves);
                tp_state to = tp_state_step(search, from, direction);
                uint32_t to_x = tp_state_x(search, to), to_y = tp_state_y(search, to);
                tp_cost cost = tp_walk_cost(map, cx, cy, to_x, to_y, direction);
                if (moves_before >> direction & 1 && tp_walk_cost(base, cx, cy, to_x, to_y, direction) <= cost)
                    continue;
                tp_cost through = tp_search_h(search, session->at, from) + cost + tp_search_h_goal(search, to);
                if (tp_product_less(through, session->params.w_milli, left, 1000))
                    return true;
            }
        }
    return false;
}

/* Whether what is left of the path costs at most w times what any way can. */
static bool within_w(const struct tp_mind *session, tp_cost left)
{
    return !tp_product_less(tp_search_h_goal(&session->search, session->at), session->params.w_milli, left, 1000);
}

/* The columns of a tile's row, a bit each, in which the weight fell between two versions. */
static uint64_t fallen(const struct tp_map *base, const struct tp_map *aim, uint64_t tile, uint32_t row)
{
    const struct tp_map_tile *before = base->tiles[tile], *now = aim->tiles[tile];
    uint64_t fell = now->passable[row] & ~before->passable[row], both = now->passable[row] & before->passable[row];
    if (!aim->weighted)
        return fell;
    const uint8_t *was = tp_map_tile_classes(before) + (size_t)row * before->columns;
    const uint8_t *is = tp_map_tile_classes(now) + (size_t)row * now->columns;
    for (; both; both &= both - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(both);
        if (aim->profile.weight[is[column]] < base->profile.weight[was[column]])
            fell |= 1ull << column;
    }
    return fell;
}

/* Whether a tile differs, and is not out of the way. */
static bool concerns(const struct tp_mind *session, uint64_t tile, tp_cost left)
{
    const struct tp_watch *watch = &session->watch;
    uint32_t x = (uint32_t)(tile % watch->aim->tiles_x) * TP_MAP_TILE, y = (uint32_t)(tile / watch->aim->tiles_x) * TP_MAP_TILE;
    return watch->base->tiles[tile] != watch->aim->tiles[tile] &&
           may_shorten(session, x, y, x + TP_MAP_TILE - 1, y + TP_MAP_TILE - 1, left);
}

/* All was seen up to the version aimed at. */
static void falls_seen(struct tp_watch *watch)
{
    const struct tp_map *base = watch->base;
    watch->base = watch->aim;
    watch->aim = NULL;
    tp_map_unref(base);
}

/* 2014, Algorithm 3, lines 6 to 8, of a graph's edge. */
static bool edge_shortens(const struct tp_mind *session, uint32_t at, struct tp_graph_out edge, tp_cost left)
{
    const struct tp_search *search = &session->search;
    uint32_t from = tp_graph_source(session->map->graph, at);
    tp_cost through = tp_search_h(search, session->at, from) + edge.cost + tp_search_h_goal(search, edge.to);
    return tp_product_less(through, session->params.w_milli, left, 1000);
}

/* The same as below, on a graph. */
static bool shorter_edge_opened(struct tp_tick *tick, uint64_t *looks)
{
    const struct tp_mind *session = tick->session;
    struct tp_watch *watch = &tick->session->watch;
    const struct tp_graph *base = watch->base->graph, *aim = watch->aim->graph;
    uint64_t pages = tp_graph_pages(aim);
    tp_cost left = cost_left(session);
    if (within_w(session, left) || base->shape != aim->shape)
        watch->tile = pages; /* the path is within w of any way there can be; or the search is begun anew in any case */
    for (; watch->tile < pages; watch->tile++, watch->row = 0, watch->paid = false) {
        const struct tp_graph_page *before = base->pages[watch->tile], *now = aim->pages[watch->tile];
        uint32_t edges = before == now ? 0 : now->edges;
        if (!watch->paid && (edges || watch->tile % TILES_A_LOOK == 0) && !look(tick, looks))
            return false;
        for (watch->paid = true; watch->row < edges; watch->row++) {
            uint32_t was = before->out[watch->row].cost, is = now->out[watch->row].cost;
            bool fell = is - 1 < was - 1; /* 0, closed, is dearer than any */
            if (!fell && watch->row % EDGES_A_LOOK != EDGES_A_LOOK - 1)
                continue;
            if (!look(tick, looks))
                return false;
            if (fell && edge_shortens(session, now->first + watch->row, now->out[watch->row], left))
                return true;
        }
    }
    falls_seen(watch);
    return false;
}

/* Goes on looking for what fell, from the watch's cursor on. True when a shorter way may have opened; the watch has a base
 * as long as not all was seen. */
static bool shortcut_opened(struct tp_tick *tick, uint64_t *looks)
{
    const struct tp_mind *session = tick->session;
    struct tp_watch *watch = &tick->session->watch;
    uint64_t tiles = (uint64_t)watch->aim->tiles_x * watch->aim->tiles_y;
    tp_cost left = cost_left(session);
    if (within_w(session, left))
        watch->tile = tiles; /* the path is within w of any way there can be */
    for (; watch->tile < tiles; watch->tile++, watch->row = watch->column = 0, watch->paid = false) {
        bool looked = concerns(session, watch->tile, left);
        if (!watch->paid && (looked || watch->tile % TILES_A_LOOK == 0) && !look(tick, looks))
            return false;
        watch->paid = true;
        uint32_t x = (uint32_t)(watch->tile % watch->aim->tiles_x) * TP_MAP_TILE;
        uint32_t y = (uint32_t)(watch->tile / watch->aim->tiles_x) * TP_MAP_TILE;
        for (; looked && watch->row < watch->aim->tiles[watch->tile]->rows; watch->row++, watch->column = 0) {
            uint64_t cells = fallen(watch->base, watch->aim, watch->tile, watch->row) >> watch->column << watch->column;
            for (; cells; cells &= cells - 1) {
                watch->column = (uint32_t)__builtin_ctzll(cells);
                if (!look(tick, looks))
                    return false;
                uint32_t cx = x + watch->column, cy = y + watch->row;
                if (may_shorten(session, cx, cy, cx, cy, left) && shortens(session, cx, cy, left))
                    return true;
            }
        }
    }
    falls_seen(watch);
    return false;
}

/* Holds `base`, to compare it with the present version when it is time, if something fell since. */
static void hold_falls(struct tp_mind *session, const struct tp_map *base)
{
    if (session->map->fell_version > base->version)
        session->watch.base = tp_map_ref(base);
}

/* Begins to compare what is held with the present version; lets it go, and gives false, where nothing fell between them. */
static bool aim_falls(struct tp_mind *session)
{
    struct tp_watch *watch = &session->watch;
    if (session->map->fell_version <= watch->base->version) {
        forget_falls(watch);
        return false;
    }
    watch->aim = tp_map_ref(session->map);
    watch->tile = watch->row = watch->column = 0;
    watch->paid = false;
    return true;
}

/* Whether a new search may begin for what fell; one that was done in the tick that began it may be given up at any time. */
static bool may_begin_for_falls(const struct tp_mind *session)
{
    const struct tp_watch *watch = &session->watch;
    if (!session->path_complete)
        return tp_search_h_goal(&session->search, session->at) < watch->h_bar;
    return watch->at_once || cost_left(session) < watch->left_bar;
}

static void begin_for_fall(struct tp_mind *session)
{
    struct tp_watch *watch = &session->watch;
    if (session->path_complete)
        watch->left_bar = cost_left(session);
    else
        watch->h_bar = tp_search_h_goal(&session->search, session->at);
    watch->for_fall = true;
}

bool tp__watch_run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_watch *watch = &session->watch;
    const struct tp_map *before = session->map_before;
    bool follows = session->trace.follow_end != TP_STATE_NONE;
    bool lazy = session->params.restart == TP_RESTART_LAZY, costs_vary = session->search.weighted || session->map->graph;
    uint64_t news = before && follows ? before->version : UINT64_MAX;
    if (tp__watch_is_near(session))
        return follows && near_rose(tick, session->map->rose_version > news);
    bool was_far = watch->far;
    watch->far = false; /* all of the path is looked at, and what rose meanwhile was not looked for behind that */
    if (was_far || session->map->rose_version > news || (lazy && costs_vary && session->map->fell_version > news)) {
        watch->walks = true;
        watch->summed = false;
        watch->step = TP_STATE_NONE;
    }
    if (lazy && before && !watch->base)
        hold_falls(session, before);
    uint64_t looks = looks_max(tick, true);
    if (follows && watch->walks && path_rose(tick, &looks))
        return true;
    if (session->stats.ticks == watch->begun + 1)
        watch->at_once = session->path_complete;
    if (!watch->base || !follows || !may_begin_for_falls(session))
        return false;
    looks = looks_max(tick, false);
    while (watch->aim || aim_falls(session)) {
        if (session->map->graph ? shorter_edge_opened(tick, &looks) : shortcut_opened(tick, &looks)) {
            begin_for_fall(session);
            return true;
        }
        if (watch->aim)
            return false; /* not all was seen */
    }
    return false;
}
