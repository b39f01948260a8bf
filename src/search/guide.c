/* A session's guide: a way paid for, taken, replaced (guide.h).
 *
 *     none -> coming: areas, then the scout -> ready -> taken
 *               ^                                         |
 *               +--- the map's blocks or the goal's node are others, or the agent left the way: another coming, beside it
 *
 * Taking a way begins a new search, unless the path followed is whole and about as short as the way promises. An agent without a way that is any good
 * waits for one, a bounded number of ticks; then it goes by the space's h.
 */
#include "search/guide.h"

#include "search/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MARGIN_POINTS = TP_MAP_TILE * TP_BLOCK_POINT, /* how far beyond the agent the field over areas is paid for */
    WAIT_TICKS = 64,                              /* how long an agent waits for a way */
    WORTH_MILLI = 1050,                           /* a path is left for one that is shorter by this */
    KNOWN_NODES = 8,
};

/* ---- Leads ---- */

static void lead_drop(struct tp_lead *lead)
{
    tp_scout_end(lead->scout);
    tp_field_leave(lead->areas);
    tp_blocks_unref(lead->blocks);
    *lead = (struct tp_lead){0};
}

static uint32_t node_of(const struct tp_session *session, const struct tp_blocks *blocks, tp_state state)
{
    return tp_blocks_node_at(blocks, tp_state_x(&session->search, state), tp_state_y(&session->search, state));
}

/* The nodes of the session's goals in a block graph; returns how many there are. */
static uint32_t goal_nodes(const struct tp_session *session, const struct tp_blocks *blocks, uint32_t *nodes)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->goals.count; i++) {
        uint32_t node = node_of(session, blocks, session->goals.states[i]);
        if (node != TP_BLOCKS_NONE)
            nodes[count++] = node;
    }
    return count;
}

/* Whether a lead is to the session's goals over these blocks. */
static bool is_of(const struct tp_session *session, const struct tp_lead *lead, const struct tp_blocks *blocks)
{
    uint32_t nodes[TP_GOALS_MAX];
    if (!lead->blocks || lead->blocks->epoch != blocks->epoch || lead->blocks->changed_version != blocks->changed_version)
        return false;
    uint32_t count = goal_nodes(session, lead->blocks, nodes);
    return count == lead->goal_count && memcmp(nodes, lead->goals, count * sizeof nodes[0]) == 0;
}

/* Begins to pay for a lead; without memory, or goals that can be stood upon, it is ready at once, without a way. */
static void lead_begin(const struct tp_session *session, struct tp_lead *lead, const struct tp_blocks *blocks)
{
    const struct tp_guide *guide = &session->guide;
    uint32_t areas[TP_GOALS_MAX];
    lead->blocks = tp_blocks_ref(blocks);
    lead->from = node_of(session, blocks, session->at);
    lead->goal_count = goal_nodes(session, blocks, lead->goals);
    lead->view.empty = true;
    for (uint32_t i = 0; i < lead->goal_count; i++)
        areas[i] = tp_blocks_node(blocks, lead->goals[i]).area;
    if (lead->goal_count && lead->from != TP_BLOCKS_NONE)
        lead->areas = tp_field_take(guide->cache, blocks, guide->metric, areas, lead->goal_count);
    lead->ready = !lead->areas;
}

/* Pays for the field over areas until it reaches beyond the agent, or is whole. True when it does. */
static bool pay_areas(struct tp_lead *lead, uint64_t *units)
{
    uint32_t area = tp_blocks_node(lead->blocks, lead->from).area;
    for (;;) {
        uint32_t at = tp_field_at(lead->areas, area, lead->view);
        if (lead->view.whole || (at != TP_FIELD_UNSEEN && tp_field_reach(lead->view) >= (uint64_t)at + MARGIN_POINTS))
            return true;
        if (*units < TP_FIELD_STEP)
            return false;
        uint64_t before = lead->view.areas;
        lead->paid += TP_FIELD_STEP;
        *units -= TP_FIELD_STEP;
        lead->view = tp_field_see(lead->areas, lead->paid);
        if (lead->view.areas == before && !lead->view.whole)
            return true; /* no memory: the scout goes by the straight line where it sees nothing */
    }
}

static void lead_pay(const struct tp_session *session, struct tp_lead *lead, uint64_t *units)
{
    const struct tp_guide *guide = &session->guide;
    if (!pay_areas(lead, units))
        return;
    if (!lead->scout)
        lead->scout = tp_scout_begin(guide->cache, lead->areas, lead->view, guide->metric, lead->from, lead->goals, lead->goal_count);
    enum tp_scout_state state = lead->scout ? tp_scout_run(lead->scout, units) : TP_SCOUT_NO_MEMORY;
    lead->ready = state != TP_SCOUT_SEARCHING;
    if (lead->ready && state != TP_SCOUT_FOUND) {
        tp_scout_end(lead->scout);
        lead->scout = NULL;
    }
}

/* ---- h ---- */

static tp_cost cost_of(uint64_t points)
{
    return points * TP_COST_UNIT / TP_BLOCK_POINT;
}

/* The neighbours of a node that the way leads through. */
static const struct tp_guide_known *know(const struct tp_guide *guide, uint32_t number)
{
    const struct tp_lead *lead = &guide->now;
    struct tp_guide_known *known = &guide->known[number % KNOWN_NODES];
    if (known->node == number)
        return known;
    struct tp_blocks_node neighbours[TP_BLOCKS_NEIGHBOURS_MAX], node = tp_blocks_node(lead->blocks, number);
    uint32_t count = tp_blocks_neighbours(lead->blocks, number, neighbours);
    known->node = number;
    known->count = 0;
    for (uint32_t i = 0; i < count && known->count < sizeof known->next / sizeof known->next[0]; i++) {
        uint32_t left = tp_scout_at(lead->scout, neighbours[i].number);
        if (left == TP_FIELD_UNSEEN)
            continue;
        known->next[known->count].at = neighbours[i].at;
        known->next[known->count].left = left;
        known->next[known->count++].weights = node.weight + neighbours[i].weight;
    }
    return known;
}

static bool is_goal(const struct tp_lead *lead, uint32_t node)
{
    for (uint32_t i = 0; i < lead->goal_count; i++)
        if (lead->goals[i] == node)
            return true;
    return false;
}

tp_cost tp__guide_h(const struct tp_search *search, tp_state state, tp_cost plain)
{
    const struct tp_guide *guide = search->guide;
    const struct tp_lead *lead = &guide->now;
    if (!lead->scout)
        return plain;
    uint32_t x = tp_state_x(search, state), y = tp_state_y(search, state), node = tp_blocks_node_at(lead->blocks, x, y);
    if (node == TP_BLOCKS_NONE || is_goal(lead, node))
        return plain;
    struct tp_blocks_place place = {x * TP_BLOCK_POINT + TP_BLOCK_POINT / 2, y * TP_BLOCK_POINT + TP_BLOCK_POINT / 2};
    const struct tp_guide_known *known = know(guide, node);
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < known->count; i++) {
        uint32_t to = tp_field_weigh(tp_field_distance(guide->metric, place, known->next[i].at), known->next[i].weights);
        uint64_t through = (uint64_t)to + known->next[i].left;
        least = through < least ? through : least;
    }
    tp_cost h = cost_of(known->count ? least : tp_scout_length(lead->scout));
    return h > plain ? h : plain;
}

/* ---- A tick ---- */

/* Whether the path followed is whole, and about as short as the way now taken. */
static bool path_serves(const struct tp_session *session)
{
    const struct tp_search *search = &session->search;
    if (!session->path_complete || !tp_search_knows(search, session->at) || session->restart_wanted)
        return false;
    tp_cost left = tp_search_g(search, session->trace.follow_end) - tp_search_g(search, session->at);
    tp_cost promised = tp__guide_h(search, session->at, tp_search_h_goal(search, session->at));
    return left * 1000 <= promised * WORTH_MILLI;
}

/* Whether the agent has left the way that it was led. */
static bool is_lost(const struct tp_session *session)
{
    const struct tp_guide *guide = &session->guide;
    if (!guide->now.scout)
        return false;
    uint32_t node = node_of(session, guide->now.blocks, session->at);
    return node != TP_BLOCKS_NONE && !is_goal(&guide->now, node) && know(guide, node)->count == 0;
}

static void take_coming(struct tp_guide *guide)
{
    lead_drop(&guide->now);
    guide->now = guide->coming;
    guide->coming = (struct tp_lead){0};
    guide->broken = false;
    guide->waited = 0;
    for (int i = 0; i < KNOWN_NODES; i++)
        guide->known[i].node = TP_BLOCKS_NONE;
}

enum tp_guide_outcome tp__guide_run(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct tp_guide *guide = &session->guide;
    const struct tp_blocks *blocks = session->map->blocks;
    uint64_t units = session->params.guide_units, left = units;
    if (!guide->cache || !blocks || !units)
        return TP_GUIDE_ON;
    bool lost = is_lost(session), current = is_of(session, &guide->now, blocks);
    if (!guide->coming.blocks && (lost || !current))
        lead_begin(session, &guide->coming, blocks);
    if (!guide->coming.blocks)
        return TP_GUIDE_ON;
    if (!guide->coming.ready)
        lead_pay(session, &guide->coming, &left);
    tick->reply->work.guide += units - left;
    if (!guide->coming.ready) {
        bool blind = !guide->now.blocks || lost || guide->broken;
        return blind && guide->waited++ < WAIT_TICKS ? TP_GUIDE_WAIT : TP_GUIDE_ON;
    }
    bool led = guide->coming.scout || guide->now.scout;
    take_coming(guide);
    return led && session->search.active && !path_serves(session) ? TP_GUIDE_ANEW : TP_GUIDE_ON;
}

bool tp__guide_open(struct tp_session *session)
{
    const struct tp_session_params *params = &session->params;
    struct tp_guide *guide = &session->guide;
    bool guided = params->algorithm->capabilities & TP_CAN_BE_GUIDED;
    if (!guided || session->search.domain->listed || !params->fields)
        return true;
    guide->known = malloc(KNOWN_NODES * sizeof *guide->known);
    if (!guide->known)
        return false;
    guide->cache = params->fields;
    guide->metric = params->neighbours == TP_NEIGHBOURS_4   ? TP_FIELD_MANHATTAN
                    : params->neighbours == TP_NEIGHBOURS_8 ? TP_FIELD_OCTILE
                                                            : TP_FIELD_EUCLID;
    session->search.guide = guide;
    return true;
}

void tp__guide_close(struct tp_session *session)
{
    lead_drop(&session->guide.now);
    lead_drop(&session->guide.coming);
    free(session->guide.known);
}
