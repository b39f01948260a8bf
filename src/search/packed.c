/* What is left of a path that is whole, packed, and the search that found it put back.
 *
 *     NONE -> COPIES -> FOLLOWED        any -> NONE: another path, the agent or the goal elsewhere
 *
 * Once nothing is left that could make the path better (the search is done, the path smoothed, no other way under way), a tick copies some of its moves
 * (node/steps.h). When all are copied the agent follows them: the marks and the tree are not asked any more, and their blocks go back to the pool, some
 * a tick: a new search that begins meanwhile does so with tables of its own. So an agent that walks, or has arrived, holds less than a byte a step.
 * Each move copied or block put back is a traceback step; a tick takes COPIES_A_TICK and BLOCKS_A_TICK of them at most.
 * What a path without a tree can't do: take back an agent that was put beside it, or be turned to another goal. A new search begins then. An agent
 * whose goal moved a little while it followed such a path is taken to be after somebody: it keeps its trees from then on, until it arrives or its goal is
 * another.
 * What it refuses: spaces other than grids walked by steps and maps with weights, agents that do not know the map, rows that learn, a bound that is
 * to be proved, ways to the nearest state to goals that can't be reached: there the tree stays.
 * Failure: without memory the tree stays too. Who calls it: the session, the engines through what they ask of a path.
 */
#include "search/internal.h"

enum { COPIES_A_TICK = 128, BLOCKS_A_TICK = 32, QUIET_TICKS = 32, QUIET_FASTER = 4 };

bool tp__packed_may(const struct tp_session_params *params, const struct tp_map *map)
{
    const struct tp_engine *engine = params->algorithm->engine;
    bool row = !engine->own_search && engine != &tp__engine_agent_centred && params->algorithm->learning == TP_LEARNING_NONE &&
               !(params->algorithm->capabilities & TP_PACES);
    return row && params->knowledge == TP_KNOWLEDGE_FULL && !tp__session_domain(params, map)->listed && !map->weighted && !params->bounded &&
           !params->shortcut;
}

/* ---- The moves ---- */

void tp__packed_forget(struct tp_mind *session)
{
    struct tp_packed *packed = &session->packed;
    tp_steps_empty(&packed->steps, session->pool, &session->bytes);
    packed->phase = TP_PACKED_NONE;
}

void tp__packed_unfinished(struct tp_mind *session)
{
    if (session->packed.phase == TP_PACKED_COPIES)
        tp__packed_forget(session);
}

void tp__packed_moved(struct tp_mind *session, uint8_t move)
{
    struct tp_packed *packed = &session->packed;
    if (packed->phase == TP_PACKED_NONE)
        return;
    if (!packed->steps.count || tp_steps_first(&packed->steps) != move) {
        tp__packed_unfinished(session);
        return;
    }
    tp_steps_pop(&packed->steps, session->pool, &session->bytes);
}

bool tp__packed_put(struct tp_mind *session, tp_state from, tp_state to)
{
    const struct tp_search *search = &session->search;
    struct tp_packed *packed = &session->packed;
    struct tp_steps_reader reader = tp_steps_read(&packed->steps);
    uint32_t ahead = 0;
    while (from != to && reader.left && ahead < TP_PUT_AHEAD_MAX) {
        from = tp_state_step(search, from, tp_steps_peek(&reader));
        tp_steps_next(&reader);
        ahead++;
    }
    if (from != to)
        return false;
    while (ahead--)
        tp__packed_moved(session, tp_steps_first(&packed->steps));
    return true;
}

uint32_t tp__packed_path(const struct tp_mind *session, uint32_t *cells, uint32_t max)
{
    struct tp_steps_reader reader = tp_steps_read(&session->packed.steps);
    tp_state state = session->at;
    uint32_t count = 0;
    for (; count < max; count++) {
        cells[count] = session->search.domain->cell(&session->search, state);
        if (!reader.left)
            return count + 1;
        state = tp_state_step(&session->search, state, tp_steps_peek(&reader));
        tp_steps_next(&reader);
    }
    return count;
}

/* ---- The search's blocks ---- */

static void sweep_begin(struct tp_mind *session)
{
    struct tp_tiles *tables[TP_SWEEP_TABLES] = {&session->search.nodes.tiles, &session->trace.follow, &session->trace.fresh};
    struct tp_sweep *sweep = &session->sweep;
    for (int i = 0; i < TP_SWEEP_TABLES; i++) {
        sweep->tables[i] = *tables[i];
        tables[i]->top = NULL;
    }
    sweep->left = TP_SWEEP_TABLES;
}

/* Puts back some blocks. True when nothing is left. */
static bool sweep_run(struct tp_mind *session, uint32_t *blocks)
{
    struct tp_sweep *sweep = &session->sweep;
    struct tp_search *search = &session->search;
    for (; sweep->left; sweep->left--)
        if (!tp_tiles_put_some(&sweep->tables[sweep->left - 1], &sweep->at, blocks))
            return false;
    return session->packed.phase != TP_PACKED_FOLLOWED ||
           (tp_open_put_some(&search->open, blocks) && tp_bucket_put_some(&search->bucket, blocks));
}

void tp__packed_close(struct tp_mind *session)
{
    uint32_t all = UINT32_MAX;
    tp__packed_forget(session);
    sweep_run(session, &all);
}

/* ---- A tick ---- */

/* Whether the watch has to look at more than the next steps, which it does of a packed path as well. */
static bool watch_is_busy(const struct tp_mind *session)
{
    const struct tp_watch *watch = &session->watch;
    return watch->far || (watch->walks && !tp__watch_is_near(session));
}

/* Whether the agent walks a path that nothing under way can make better, or stands on its goal. */
static bool is_settled(const struct tp_tick *tick)
{
    const struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    if (!search->active || !search->found || search->partial || session->restart_wanted || tick->node_cap || !session->path_complete ||
        session->detour)
        return false;
    if (session->at != session->trace.follow_end && tp__trace_next(session) == TP_MOVE_NONE)
        return false; /* it is on its way back to the path */
    if (tick->reply->status == TP_STATUS_ARRIVED)
        return true;
    return tick->reply->status == TP_STATUS_MOVING && !session->after_somebody && !search->rekey && !session->trace.running &&
           !watch_is_busy(session) && tp__smooth_is_done(session) && tp__guide_is_idle(tick);
}

static void begin(struct tp_mind *session)
{
    session->packed.phase = TP_PACKED_COPIES;
    session->packed.front = session->at;
}

/* Copies some moves; true when all are. Without memory, or where the path does not lead on, what was copied is given up. */
static bool copy(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_packed *packed = &session->packed;
    const struct tp_tiles *nodes = &session->search.nodes.tiles;
    for (int copies = 0; packed->front != session->trace.follow_end; copies++) {
        if (copies == COPIES_A_TICK || !tp__tick_step(tick))
            return false;
        uint8_t move = tp__trace_move(session, packed->front);
        if (move == TP_MOVE_NONE || !tp_steps_push(&packed->steps, move, session->pool, &session->bytes, nodes->bytes_max)) {
            tp__packed_forget(session);
            return false;
        }
        packed->front = tp_state_step(&session->search, packed->front, move);
    }
    return true;
}

static bool is_swept(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    bool lists = search->open.chunks_room || search->bucket.chunks.first || search->bucket.pages.first;
    return !session->sweep.left && !(tp__is_packed(session) && lists);
}

/* Puts back as many blocks as the tick can pay. */
static void put_back(struct tp_tick *tick)
{
    for (int blocks = 0; blocks < BLOCKS_A_TICK && !is_swept(tick->session) && tp__tick_step(tick); blocks++)
        sweep_run(tick->session, &(uint32_t){1});
}

/* A path that nothing makes better, on a map that stays, needs no guide any more after some ticks; sooner where the
 * map changes all the time: it is woken again and again. */
static void keep_quiet(struct tp_mind *session, bool is_quiet, bool changed)
{
    uint32_t before = session->quiet;
    session->quiet = !is_quiet ? 0 : before + (changed ? QUIET_FASTER : 1);
    if (before < QUIET_TICKS && session->quiet >= QUIET_TICKS && session->search.active)
        tp__guide_rest(session);
}

void tp__packed_stirred(struct tp_mind *session)
{
    if (session->quiet >= QUIET_TICKS)
        session->quiet = 0;
}

bool tp__packed_is_still(struct tp_mind *session)
{
    const struct tp_guide *guide = &session->guide;
    bool searched = session->search.active;
    if (session->quiet < QUIET_TICKS || session->sweep.left || (searched && !tp__is_packed(session)) || guide->now.blocks || guide->coming.blocks)
        return false;
    if (tp__mind_arrived(session))
        tp__watch_forget(session);
    if (watch_is_busy(session) || session->watch.base || session->detour)
        return false;
    tp__smooth_close(session);
    return session->bytes == tp_steps_bytes(&session->packed.steps);
}

void tp__packed_run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_packed *packed = &session->packed;
    if (!session->may_pack)
        return;
    session->after_somebody &= tick->reply->status != TP_STATUS_ARRIVED;
    bool settled = is_settled(tick);
    bool never_searched = !session->search.active && tick->reply->status == TP_STATUS_ARRIVED;
    bool stays = !tick->changed || tp__watch_is_near(session) || tp__mind_arrived(session);
    keep_quiet(session, (settled || never_searched) && stays, tick->changed);
    if (settled)
        tp__trace_count(session);
    if (!session->packs)
        return;
    tick->steps_left = tp__purse_left(tick);
    if (session->sweep.left || packed->phase == TP_PACKED_FOLLOWED) {
        put_back(tick);
        return;
    }
    if (!settled)
        return;
    if (packed->phase == TP_PACKED_NONE)
        begin(session);
    if (!copy(tick))
        return;
    packed->phase = TP_PACKED_FOLLOWED;
    session->watch.step = TP_STATE_NONE;
    sweep_begin(session);
}
