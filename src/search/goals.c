/* Searches with several goals or a radius, and the nearest state to goals that can't be reached.
 *
 * Several goals, or a radius: h is the least h to a goal less the radius, and the search ends on the first state that is
 * one of them or near enough; the spaces' kernels for it (run_choosing) ask here.
 *
 * The nearest state (policy NEAREST). Happy path: the open list runs empty, which proves that no goal can be reached. The
 * tree then holds every state that can be; its expanded states are looked through, over as many ticks as the budget asks,
 * for the least (h, g, cell). It becomes the search's end (`partial`), is traced and walked to like a goal, and the agent
 * stays there.
 * When a cost falls, the proof is gone and a new search begins (session.c). So that nobody walks to and fro between an end
 * and a hope, the agent then waits (`waits_for_nearer`) until the search finds a goal, meets an open state nearer to one than
 * that end, or runs empty again. If a cost fell before the search ran empty, its end is walked to all the same (`rushed`) before
 * the next begins: where costs fall all the time, the agent stands there while it searches.
 * Failure: a state whose cell was blocked since is passed over; a way to the end that is blocked begins a new search, where
 * the agent waits alike.
 */
#include "search/internal.h"

/* ---- Several goals, or a radius ---- */

static tp_cost least_h(const struct tp_search *search, tp_state state)
{
    const struct tp_goals *goals = search->goals;
    tp_cost least = TP_COST_INFINITE;
    for (uint32_t i = 0; i < goals->count; i++) {
        tp_cost h = tp_search_h(search, state, goals->states[i]);
        if (h < least)
            least = h;
    }
    return least;
}

tp_cost tp__goals_h(const struct tp_search *search, tp_state state)
{
    tp_cost least = least_h(search, state);
    return least > search->goals->radius ? least - search->goals->radius : 0;
}

bool tp__goals_met(const struct tp_search *search, tp_state state)
{
    const struct tp_goals *goals = search->goals;
    if (!goals)
        return state == search->goal;
    if (goals->within)
        return least_h(search, state) <= goals->radius;
    bool met = false;
    for (uint32_t i = 0; i < goals->count; i++)
        met |= state == goals->states[i];
    return met;
}

void tp__goals_set(struct tp_mind *session, const tp_state *states, uint32_t count)
{
    struct tp_goals *goals = &session->goals;
    for (uint32_t i = 0; i < count; i++)
        goals->states[i] = states[i];
    goals->count = count;
    goals->within = session->params.goal_policy == TP_GOAL_WITHIN;
    goals->radius = goals->within ? session->params.goal_radius : 0;
    session->goal = states[0];
    session->search.goals = count > 1 || goals->within ? goals : NULL;
}

/* ---- The nearest state ---- */

static bool seeks_nearest(const struct tp_mind *session)
{
    return session->params.goal_policy == TP_GOAL_NEAREST;
}

bool tp__nearest_due(const struct tp_mind *session)
{
    /* where a goal with a radius moved, states near enough to it may be closed already */
    bool may_have_passed = session->search.goals && session->search.rekey;
    return (seeks_nearest(session) || may_have_passed) && !session->nearest.done;
}

void tp__nearest_begin(struct tp_mind *session)
{
    session->nearest = (struct tp_nearest){.best = TP_STATE_NONE};
}

void tp__nearest_drop(struct tp_mind *session)
{
    tp__nearest_begin(session);
    session->search.partial = session->rushed = session->waits_for_nearer = false;
}

void tp__nearest_wait_begin(struct tp_mind *session)
{
    session->waits_for_nearer = true;
    session->nearer_than = session->nearest.h;
}

bool tp__nearest_wait_over(struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    tp_state best;
    if (search->found || (tp_search_best(search, &best) && tp_search_h_goal(search, best) < session->nearer_than))
        session->waits_for_nearer = false;
    return !session->waits_for_nearer;
}

/* Whether the agent could stay on a state: at rest, and nothing has come upon its cell since the search met it. */
static bool can_stay(const struct tp_mind *session, tp_state state)
{
    const struct tp_search *search = &session->search;
    const struct tp_domain *domain = search->domain;
    uint32_t cell = domain->cell(search, state), width = session->map->width;
    if (domain->at_velocity && state != domain->at_cell(search, cell))
        return false;
    return !domain->cells_can_block || cell == domain->cell(search, session->at) || tp_belief_passable(&session->belief, cell % width, cell / width);
}

static void weigh(struct tp_mind *session, tp_state state, tp_cost g)
{
    const struct tp_search *search = &session->search;
    struct tp_nearest *nearest = &session->nearest;
    if (!can_stay(session, state))
        return;
    tp_cost h = tp_search_h_goal(search, state);
    uint32_t cell = search->domain->cell(search, state);
    if (nearest->best != TP_STATE_NONE &&
        (h != nearest->h ? h > nearest->h : g != nearest->g ? g > nearest->g : cell >= nearest->cell))
        return;
    nearest->best = state;
    nearest->h = h;
    nearest->g = g;
    nearest->cell = cell;
}

/* Looks through the expanded states from the cursor on, page by page; true when all were. A look each, and one a page. */
static bool scan(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *search = &session->search;
    const struct tp_tiles *tiles = &search->nodes.tiles;
    struct tp_nearest *nearest = &session->nearest;
    uint32_t pages = tiles->top ? tiles->pages_x * tiles->pages_y : 0;
    for (; nearest->page < pages; nearest->page++, nearest->tile = 0, nearest->paid = false) {
        if (!nearest->paid && !tp__tick_step(tick))
            return false;
        nearest->paid = true;
        struct tp_tile **page = tiles->top[nearest->page];
        uint32_t page_x = nearest->page % tiles->pages_x << tiles->page_bits_x;
        uint32_t page_y = nearest->page / tiles->pages_x << tiles->page_bits_y;
        for (; page && nearest->tile < tp_tiles_page_tiles(tiles); nearest->tile++, nearest->slot = 0) {
            const struct tp_node_tile *tile = (const struct tp_node_tile *)page[nearest->tile];
            if (!tile || tile->tile.stamp != tiles->stamp)
                continue;
            uint32_t x = (page_x + (nearest->tile & ((1u << tiles->page_bits_x) - 1))) << TP_TILE_BITS;
            uint32_t y = (page_y + (nearest->tile >> tiles->page_bits_x)) << TP_TILE_BITS;
            for (; nearest->slot < TP_TILE_CELLS; nearest->slot++) {
                if (!(tile->meta[nearest->slot] & TP_NODE_CLOSED) ||
                    tp_nodes_g(&search->nodes, tile, nearest->slot) == TP_COST_INFINITE)
                    continue;
                if (!tp__tick_step(tick))
                    return false;
                weigh(session,
                      tp_state_at(search, x + (nearest->slot & (TP_TILE_SIDE - 1)), y + (nearest->slot >> TP_TILE_BITS)),
                      tp_nodes_g(&search->nodes, tile, nearest->slot));
            }
        }
    }
    return true;
}

enum tp_nearest_outcome tp__nearest_run(struct tp_tick *tick, bool rushed)
{
    struct tp_mind *session = tick->session;
    struct tp_search *search = &session->search;
    struct tp_nearest *nearest = &session->nearest;
    tick->steps_left = tick->budget->kind == TP_BUDGET_R ? tp__purse_left(tick) : tp__beside_max(tick->budget);
    if (!scan(tick))
        return TP_NEAREST_LOOKING;
    nearest->done = true;
    bool goal = nearest->best != TP_STATE_NONE && search->goals && tp__goals_met(search, nearest->best);
    if (nearest->best == TP_STATE_NONE || (!goal && !seeks_nearest(session)))
        return TP_NEAREST_NONE;
    search->found = true;
    search->end = nearest->best;
    search->partial = !goal;
    session->rushed = rushed;
    tp__detour_forget(session); /* as long as there is one no path is traced, and nothing else is walked to that end */
    session->waits_for_nearer = session->path_complete = session->trace.running = false;
    return TP_NEAREST_CHOSEN;
}

bool tp__nearest_at_end(const struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    return search->active && search->partial && !session->restart_wanted && session->at == search->end;
}
