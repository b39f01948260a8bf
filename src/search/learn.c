/* The learning step of LSS-LRTA*: h of every expanded state becomes the least, over the open states t, of the cost to t
 * within the expanded states plus h(t) (2016, Equation 1; Koenig, Sun 2009).
 *
 * Dijkstra's algorithm from the open states inwards, along the moves that lead into each. Happy path: the open list's
 * entries are copied into a heap by h; the least state is taken, and each expanded predecessor whose h is not final gets
 * h(t) + c if that is less than what it has got so far. Both loops may stop after any element and go on in a later tick:
 * copying an entry costs a traceback step, a raised h one expansion.
 * Until it is done, h of a state not final may be too high: a step that is given up, or that had no memory for a state or an
 * increase, leaves nothing learned at all. One given up before the first h was raised leaves all as it was; and nothing more
 * is learned from a search once h was forgotten, for the heap holds h to another goal, or over other costs.
 */
#include "search/internal.h"

void tp__learn_begin(struct tp_mind *session, uint64_t expanded)
{
    struct tp_learn *learn = &session->learn;
    tp_open_clear(&learn->heap);
    learn->cursor = 0;
    learn->expanded_left = expanded;
    learn->running = true;
    learn->lost = false;
}

/* The tile and slot of a state the search met. */
static struct tp_node_tile *met(const struct tp_search *search, uint32_t x, uint32_t y, uint32_t *slot)
{
    *slot = tp_tile_slot(x, y);
    struct tp_node_tile *tile = tp_nodes_find(&search->nodes, x, y);
    return tile && tp_nodes_g(&search->nodes, tile, *slot) != TP_COST_INFINITE ? tile : NULL;
}

static bool enter(struct tp_learn *learn, tp_state state, tp_cost h)
{
    if (!tp_open_reserve(&learn->heap, 1))
        return false;
    tp_open_push_any(&learn->heap, (struct tp_open_entry){h, h, state});
    return true;
}

/* Copies the open states; false when the tick has no step left. */
static bool copy_open(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    struct tp_learn *learn = &session->learn;
    for (; learn->cursor < search->open.count; learn->cursor++) {
        if (!tp__tick_step(tick))
            return false;
        uint32_t slot;
        struct tp_open_entry entry = tp_open_at_any(&search->open, TP_OPEN_ROOT + learn->cursor);
        const struct tp_node_tile *tile =
            met(search, tp_state_x(search, entry.state), tp_state_y(search, entry.state), &slot);
        if (!tile || tile->meta[slot] & TP_NODE_CLOSED || tp_nodes_g(&search->nodes, tile, slot) != entry.g)
            continue; /* stale */
        if (!enter(learn, entry.state, tp_search_h_now(search, entry.state)))
            tick->node_cap = learn->lost = true;
    }
    return true;
}

/* A state whose h is final, and the tick that hands it on. */
struct relaxation {
    struct tp_tick *tick;
    tp_cost h;
    bool paid; /* false once the tick can pay no more */
};

/* Gives an expanded predecessor its h through that state. */
static bool relax_one(void *context, tp_state from, uint8_t move, tp_cost cost)
{
    (void)move;
    struct relaxation *relaxation = context;
    struct tp_tick *tick = relaxation->tick;
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    uint32_t x = tp_state_x(search, from), y = tp_state_y(search, from), slot;
    struct tp_node_tile *tile = met(search, x, y, &slot);
    if (!tile || !(tile->meta[slot] & TP_NODE_CLOSED) || tile->meta[slot] & TP_NODE_LEARNED)
        return true;
    tp_cost through = relaxation->h + cost;
    if (tile->meta[slot] & TP_NODE_REACHED && tp_search_h_now(search, from) <= through)
        return true;
    if (!tp__tick_update(tick)) {
        relaxation->paid = false;
        return false;
    }
    tile->meta[slot] |= TP_NODE_REACHED;
    if (!tp_learned_set(&session->learned, x, y, through - tp_search_h_goal(search, from)) ||
        !enter(&session->learn, from, through))
        tick->node_cap = session->learn.lost = true;
    return true;
}

/* Gives the expanded predecessors of a state whose h is final their h through it. False when the tick can't pay. */
static bool relax(struct tp_tick *tick, tp_state state, tp_cost h)
{
    const struct tp_search *search = &tick->session->search;
    struct relaxation relaxation = {tick, h, true};
    search->domain->predecessors(search, state, relax_one, &relaxation);
    return relaxation.paid;
}

bool tp__learn_run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    struct tp_learn *learn = &session->learn;
    if (session->unteachable)
        learn->running = false;
    if (!learn->running)
        return true;
    if (!copy_open(tick))
        return false;
    while (learn->expanded_left && learn->heap.count) {
        struct tp_open_entry least = tp_open_at_any(&learn->heap, TP_OPEN_ROOT);
        uint32_t slot;
        struct tp_node_tile *tile = met(search, tp_state_x(search, least.state), tp_state_y(search, least.state), &slot);
        bool expanded = tile->meta[slot] & TP_NODE_CLOSED;
        bool stale = expanded && (tile->meta[slot] & TP_NODE_LEARNED || tp_search_h_now(search, least.state) != least.f);
        if (!stale && !relax(tick, least.state, least.f))
            return false;
        if (!stale && expanded) {
            tile->meta[slot] |= TP_NODE_LEARNED;
            learn->expanded_left--;
        }
        tp_open_pop_any(&learn->heap);
    }
    if (learn->lost)
        tp__learn_abandon(session);
    learn->running = false;
    return true;
}

void tp__learn_abandon(struct tp_mind *session)
{
    const struct tp_learn *learn = &session->learn;
    bool copied = learn->cursor == session->search.open.count; /* before, no h is raised */
    if (learn->running && copied && session->params.algorithm->learning == TP_LEARNING_DIJKSTRA)
        tp__learning_forget(session);
    session->learn.running = false;
}
