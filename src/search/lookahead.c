/* The lookahead of LRTA* (2009, section 4.2; Korf 1990): breadth-first around the agent, and the mini-min of its frontier.
 *
 * Depth: states are expanded layer by layer, by the least number of moves to them, within a layer by the cost they were
 * met with first (a cheaper way found while they wait does not move them) and then the lower state. The goal counts in
 * its layer. The lookahead is as deep as whole layers fit into its budget: the next layer is begun only if k expansions
 * reach to its end, but the agent's own state always is. It ends before, in the middle of a layer, when the goal is to
 * be expanded, or the tick's cap, its time or the memory is spent. (2009 gives the depth d; on free ground with 8
 * neighbours d = 16 is 31 x 31 = 961 expansions, the largest within the 1000 that paper allows.)
 *
 * Cost: g is the least within the states expanded. Fewest moves need not be cheapest, so an expanded state that gets
 * cheaper is expanded again, before all others (of several, by the cost it was found to be cheaper with, then the lower
 * state), which is paid like any expansion, if need be with what the layer under way was to have; of equally cheap ways
 * the first found stays. An expanded state that is cheaper by now and waits is of the frontier again. Then a state of
 * the frontier on an optimal path has its true g, whenever the lookahead ends.
 *
 * Mini-min: f(t) of a frontier state t is the largest g(p) + h(p) over the states p on the way to it in the tree, t included
 * and the agent's own state not; the least f, ties by larger g, then lower state, is the value of the agent's state, and
 * its t is walked to. With a consistent h this is g(t) + h(t). Once h was raised at some states alone it is not
 * consistent, and the plain g(t) + h(t) can walk to and fro for ever: with d >= 2, at the mouth of a dead end that the
 * lookahead sees to its end only from inside, the low h of its far end draws the agent in, and the raised h of the
 * mouth goes unread. With what was learned on the way counted, h(agent) >= cost + h(next) holds after every move, and so
 * Korf's proof: on a static map with a way to the goal from everywhere the agent arrives, at a cost of at most h(start) +
 * the sum over all states of (true cost to the goal - h). h never overestimates: some t on an optimal path has
 * its true g, and so have all on its way.
 *
 * A value beyond what any way can cost (each state once, by the dearest move) is not learned: there is no way then.
 *
 * Weighing a frontier state costs a step, and so does each state on its way looked at; it resumes over ticks.
 */
#include "search/internal.h"

enum {
    TP_NODE_REOPENED = TP_NODE_REACHED, /* expanded, and cheaper since */
    URGENT = 0, /* a reopened state's place before all layers; depth d has place d + 1 */
};

/* Entries are ordered by their place, then smaller g, then lower state. */
static void enter(struct tp_open *open, uint64_t place, tp_cost g, tp_state state)
{
    tp_open_push_any(open, (struct tp_open_entry){place, ~g, state});
}

/* The tile of a state met, and its slot there. */
static struct tp_node_tile *node_of(const struct tp_search *search, tp_state state, uint32_t *slot)
{
    uint32_t x = tp_state_x(search, state), y = tp_state_y(search, state);
    *slot = tp_tile_slot(x, y);
    return tp_nodes_find(&search->nodes, x, y);
}

static bool waits(const struct tp_node_tile *tile, uint32_t slot)
{
    return !(tile->meta[slot] & TP_NODE_CLOSED) || tile->meta[slot] & TP_NODE_REOPENED;
}

/* Gives a successor a better g through `from`. True when it was met for the first time. */
static bool relax(struct tp_tick *tick, tp_state from, tp_cost g, const struct tp_successor *successor,
                  uint64_t place)
{
    struct tp_search *search = &tick->session->search;
    uint32_t slot;
    struct tp_node_tile *tile = node_of(search, successor->state, &slot);
    tp_cost old_g = tp_nodes_g(&search->nodes, tile, slot), new_g = g + successor->cost;
    if (new_g >= old_g)
        return false;
    uint8_t flags = tile->meta[slot] & (TP_NODE_CLOSED | TP_NODE_REOPENED);
    tp_nodes_set_g(&search->nodes, tile, slot, new_g);
    tick->reply->work.generated++;
    if (old_g == TP_COST_INFINITE) {
        flags = 0;
        search->touched++;
        enter(&search->open, place, new_g, successor->state);
    } else if (flags == TP_NODE_CLOSED) {
        flags |= TP_NODE_REOPENED;
        enter(&search->open, URGENT, new_g, successor->state);
    }
    tile->meta[slot] = flags;
    if (search->nodes.listed) {
        tp_node_links(tile)->parent[slot] = from;
        tp_node_links(tile)->move[slot] = successor->move;
    } else {
        tile->meta[slot] |= tp_direction_opposite[successor->move];
    }
    return old_g == TP_COST_INFINITE;
}

/* Expands the state on top of the list. False, and nothing lost, when memory or budget are spent. */
static bool expand(struct tp_tick *tick, struct tp_open_entry top)
{
    struct tp_mind *session = tick->session;
    struct tp_search *search = &session->search;
    struct tp_lookahead *lookahead = &session->lookahead;
    struct tp_successor out[TP_MOVES_MAX];
    tp_state from = top.state;
    uint32_t slot, count = search->domain->successors(search, from, out);
    bool room = tp_open_reserve(&search->open, count);
    for (uint32_t i = 0; i < count && room; i++)
        room = tp_nodes_touch(&search->nodes, tp_state_x(search, out[i].state),
                              tp_state_y(search, out[i].state));
    if (!room) {
        tick->node_cap = true;
        return false;
    }
    if (!tp__tick_expand(tick))
        return false;
    struct tp_node_tile *tile = node_of(search, from, &slot);
    tp_cost g = tp_nodes_g(&search->nodes, tile, slot);
    if (!(tile->meta[slot] & TP_NODE_CLOSED))
        lookahead->layer_left--;
    tile->meta[slot] = (tile->meta[slot] | TP_NODE_CLOSED) & (uint8_t)~TP_NODE_REOPENED;
    tp_open_pop_any(&search->open);
    for (uint32_t i = 0; i < count; i++)
        lookahead->layer_next += relax(tick, from, g, &out[i], lookahead->depth + 2);
    uint64_t mixed = (from * 0x9e3779b97f4a7c15u + g) * 0xbf58476d1ce4e5b9u;
    search->hash += mixed ^ mixed >> 29;
    return true;
}

void tp__lookahead_begin(struct tp_mind *session)
{
    session->lookahead = (struct tp_lookahead){.root = session->at, .layer_left = 1};
    tp__lookahead_weigh_anew(session);
}

uint64_t tp__lookahead_run(struct tp_tick *tick, uint64_t wanted)
{
    struct tp_search *search = &tick->session->search;
    struct tp_lookahead *lookahead = &tick->session->lookahead;
    struct tp_open *open = &search->open;
    uint64_t done = 0;
    while (done < wanted && !search->found) {
        if (!open->count) {
            search->exhausted = true;
            break;
        }
        struct tp_open_entry top = tp_open_at_any(open, TP_OPEN_ROOT);
        uint32_t slot;
        const struct tp_node_tile *tile = node_of(search, top.state, &slot);
        if (!waits(tile, slot)) {
            tp_open_pop_any(open);
            continue;
        }
        if (lookahead->layer_left == 0 && top.f != URGENT) {
            if (lookahead->layer_next > wanted - done)
                break;
            lookahead->layer_left = lookahead->layer_next;
            lookahead->layer_next = 0;
            lookahead->depth++;
        }
        if (top.state == search->goal) {
            search->found = true;
            break;
        }
        if (!expand(tick, top))
            break;
        done++;
    }
    return done;
}

void tp__lookahead_weigh_anew(struct tp_mind *session)
{
    session->lookahead.cursor = 0;
    session->lookahead.walk = TP_STATE_NONE;
    session->lookahead.best = (struct tp_open_entry){TP_COST_INFINITE, 0, TP_STATE_NONE};
}

static bool better(const struct tp_open_entry *a, const struct tp_open_entry *b)
{
    return a->f != b->f ? a->f < b->f : a->g != b->g ? a->g > b->g : a->state < b->state;
}

bool tp__lookahead_weigh(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    struct tp_lookahead *lookahead = &session->lookahead;
    struct tp_open_entry *candidate = &lookahead->candidate;
    for (; lookahead->cursor < search->open.count; lookahead->cursor++) {
        if (lookahead->walk == TP_STATE_NONE) {
            if (!tp__tick_step(tick))
                return false;
            uint32_t slot;
            tp_state state = tp_open_at_any(&search->open, TP_OPEN_ROOT + lookahead->cursor).state;
            const struct tp_node_tile *tile = node_of(search, state, &slot);
            if (!waits(tile, slot))
                continue;
            tp_cost g = tp_nodes_g(&search->nodes, tile, slot);
            *candidate = (struct tp_open_entry){g + tp_search_h_now(search, state), g, state};
            lookahead->walk = state;
        }
        while (better(candidate, &lookahead->best)) {
            uint8_t move;
            tp_state parent = tp_search_parent(search, lookahead->walk, &move);
            if (parent == lookahead->root) {
                lookahead->best = *candidate;
                break;
            }
            if (!tp__tick_step(tick))
                return false;
            lookahead->walk = parent;
            tp_cost f = tp_search_g(search, parent) + tp_search_h_now(search, parent);
            candidate->f = f > candidate->f ? f : candidate->f;
        }
        lookahead->walk = TP_STATE_NONE;
    }
    return true;
}

bool tp__lookahead_raise(struct tp_tick *tick, tp_state state, tp_cost h)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    if (h <= tp_search_h_now(search, state) || h > tp__session_dearest_way(session))
        return true;
    if (!tp__tick_update(tick))
        return false;
    if (!tp_learned_set(&session->learned, tp_state_x(search, state), tp_state_y(search, state),
                        h - tp_search_h(search, state, search->goal)))
        tick->node_cap = true;
    return true;
}

bool tp__lookahead_learn(struct tp_tick *tick)
{
    const struct tp_lookahead *lookahead = &tick->session->lookahead;
    return tp__lookahead_weigh(tick) && tp__lookahead_raise(tick, lookahead->root, lookahead->best.f);
}
