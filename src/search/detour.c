/* Detours: how a guided agent gets round what closed on its path near ahead, while it walks on.
 *
 * What it is: A* by the space's own h, from a state of the path beyond the closed step back to one before it, with expansions of the ticks to come.
 * The agent walks on meanwhile; where the detour begins it waits for it, and walks down its tree, off the session's own, until it is back
 * on the path. So a path that is broken in one place, whole or not, costs what a way round that place costs, and neither search nor guide begins anew.
 *
 *     NONE -> SEARCH -> READY -> WALK -> NONE          any -> NONE: another path, the agent or the goal elsewhere
 *                found    at `from`  at `to`
 *
 * A path that is packed is cut off up to where the detour ends, when it is walked. As long as there is a detour no path is traced.
 * Failure: where EXPANSIONS_MAX find no way, without memory, or where a step of the detour closes too, a new search begins.
 * Who calls it: the time-bounded engine, for sessions that look near ahead (watch.c).
 */
#include "search/internal.h"

enum {
    BEFORE = 4,           /* steps before the closed one that the detour leads round, */
    BEYOND = 6,           /* and open steps behind it */
    SPAN_MAX = TP_PUT_AHEAD_MAX, /* steps of the path that are looked at for that */
    EXPANSIONS_MAX = 512,
};

enum detour_phase { DETOUR_SEARCH, DETOUR_READY, DETOUR_WALK };

struct tp_detour {
    enum detour_phase phase;
    tp_state from, to; /* states of the path */
    uint64_t spent;    /* expansions */
    struct tp_search search; /* rooted at `to` */
};

/* ---- The path ahead ---- */

/* A walk along the path followed. */
struct walk {
    const struct tp_mind *session;
    tp_state at;
    struct tp_steps_reader reader; /* of a packed path */
};

static uint8_t walk_move(const struct walk *walk)
{
    if (!tp__is_packed(walk->session))
        return tp__trace_move(walk->session, walk->at);
    return walk->reader.left ? tp_steps_peek(&walk->reader) : TP_MOVE_NONE;
}

static void walk_on(struct walk *walk, uint8_t move)
{
    walk->at = tp_state_step(&walk->session->search, walk->at, move);
    if (tp__is_packed(walk->session))
        tp_steps_next(&walk->reader);
}

static bool is_open(const struct tp_mind *session, tp_state from, uint8_t move)
{
    const struct tp_search *search = &session->search;
    return tp_walk_open(session->map, tp_state_x(search, from), tp_state_y(search, from), move, session->params.corners);
}

/* Where a detour is to lead from and to; false where no step near ahead is closed, or the path ends too soon behind it. A step is a look. */
static bool lay_out(struct tp_tick *tick, struct tp_detour *detour)
{
    const struct tp_mind *session = tick->session;
    struct walk walk = {.session = session, .at = session->at, .reader = tp_steps_read(&session->packed.steps)};
    tp_state before[BEFORE];
    uint32_t steps = 0, closed_at = 0, open = 0;
    bool is_closed = false;
    uint8_t move;
    for (; steps < SPAN_MAX && open < BEYOND && (move = walk_move(&walk)) != TP_MOVE_NONE; steps++) {
        if (!tp__tick_step(tick))
            return false;
        bool opens = is_open(session, walk.at, move);
        if (!opens || !is_closed) {
            closed_at = steps;
            open = 0;
        } else {
            open++;
        }
        before[steps % BEFORE] = walk.at;
        if (!opens && !is_closed)
            detour->from = before[(steps + 1 > BEFORE ? steps + 1 : 0) % BEFORE];
        is_closed |= !opens;
        walk_on(&walk, move);
    }
    detour->to = walk.at;
    uint32_t x = tp_state_x(&session->search, walk.at), y = tp_state_y(&session->search, walk.at);
    bool ends_open = open >= BEYOND || (walk_move(&walk) == TP_MOVE_NONE && steps > closed_at);
    return is_closed && ends_open && tp_map_passable(session->map, x, y);
}

/* ---- Its life ---- */

bool tp__detour_is_walked(const struct tp_mind *session)
{
    return session->detour && session->detour->phase == DETOUR_WALK;
}

tp_state tp__detour_end(const struct tp_mind *session)
{
    return session->detour->to;
}

void tp__detour_forget(struct tp_mind *session)
{
    struct tp_detour *detour = session->detour;
    if (!detour)
        return;
    tp_search_fini(&detour->search);
    session->detour = NULL;
    session->bytes -= sizeof *detour;
    tp_pool_put(session->pool, detour, sizeof *detour);
}

static bool begin(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_detour laid = {.phase = DETOUR_SEARCH}, *detour = NULL;
    bool fits = session->bytes + sizeof *detour <= session->search.nodes.tiles.bytes_max;
    if (!fits || !lay_out(tick, &laid) || !(detour = tp_pool_get(session->pool, sizeof *detour)))
        return false;
    *detour = laid;
    session->detour = detour;
    session->bytes += sizeof *detour;
    tp__beside_init(session, &detour->search);
    if (tp_search_begin(&detour->search, detour->to, detour->from))
        return true;
    tp__detour_forget(session);
    return false;
}

bool tp__detour_mends(struct tp_tick *tick, bool is_stopped)
{
    struct tp_mind *session = tick->session;
    const struct tp_detour *detour = session->detour;
    if (!tp__watch_is_near(session) || !session->search.active || session->restart_wanted)
        return false;
    if (detour && !is_stopped)
        return detour->phase != DETOUR_WALK; /* it is what closed before */
    if (detour && detour->phase == DETOUR_SEARCH && detour->from == session->at)
        return true;
    bool is_lost = tp__detour_is_walked(session);
    tp__detour_forget(session);
    return !is_lost && begin(tick);
}

/* The agent enters the detour: what it leads round is no part of the path any more. False where the path leads elsewhere. */
static bool enter(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_detour *detour = session->detour;
    tp__trace_put(session, detour->to);
    if (tp__is_packed(session) && !tp__packed_put(session, session->at, detour->to)) {
        tp__detour_forget(session);
        return false;
    }
    tp__packed_unfinished(session);
    detour->phase = DETOUR_WALK;
    tick->reply->flags |= TP_FLAG_REPAIRED;
    return true;
}

bool tp__detour_run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_detour *detour = session->detour;
    if (!detour)
        return true;
    if (detour->phase == DETOUR_SEARCH) {
        uint64_t before = tick->reply->work.expansions;
        bool has_memory = tp__beside_run(tick, &detour->search, EXPANSIONS_MAX - detour->spent);
        detour->spent += tick->reply->work.expansions - before;
        if (detour->search.found) {
            detour->phase = DETOUR_READY;
        } else if (!has_memory || detour->search.exhausted || detour->spent >= EXPANSIONS_MAX) {
            tp__detour_forget(session);
            return false;
        }
    }
    return detour->phase != DETOUR_READY || session->at != detour->from || enter(tick);
}

void tp__detour_moved(struct tp_mind *session)
{
    if (tp__detour_is_walked(session) && session->at == session->detour->to)
        tp__detour_forget(session);
}

bool tp__detour_waits(const struct tp_mind *session)
{
    const struct tp_detour *detour = session->detour;
    return detour && detour->phase == DETOUR_SEARCH && session->at == detour->from;
}

uint8_t tp__detour_next(const struct tp_mind *session)
{
    const struct tp_detour *detour = session->detour;
    if (!tp__detour_is_walked(session) || !tp_search_knows(&detour->search, session->at))
        return TP_MOVE_NONE;
    return tp_search_move_to_parent(&detour->search, session->at);
}
