/* A session's guide: fields paid for, taken, replaced (guide.h).
 *
 *     none -> coming (areas, then nodes) -> taken: h knows the areas -> h knows the nodes
 *                      ^                                                      |
 *                      +---------- the map's blocks, or the goal's node, are others: another coming, beside the old
 *
 * The first fields are taken as soon as there is something to see; later ones when they reach the agent over nodes, or already over areas
 * if the path followed broke meanwhile. Taking them begins a new search, unless the path followed is complete and as short as they promise.
 */
#include "search/guide.h"

#include "search/internal.h"

#include <string.h>

enum {
    MARGIN_POINTS = 24 * TP_BLOCK_POINT,                /* how far beyond the agent a field over nodes is paid for */
    MARGIN_AREA_POINTS = TP_MAP_TILE * TP_BLOCK_POINT,  /* and one over areas */
    WAIT_TICKS = 64,                                    /* how long an agent waits for its first field */
    WORTH_MILLI = 1050,                                 /* a path is left for one that is shorter by this */
};

/* ---- Fields ---- */

static void fields_drop(struct tp_guide_fields *fields)
{
    for (int i = 0; i < TP_GUIDE_LEVELS; i++)
        tp_field_leave(fields->field[i]);
    tp_blocks_unref(fields->blocks);
    *fields = (struct tp_guide_fields){0};
}

/* The nodes of the session's goals in a block graph; returns how many there are. */
static uint32_t goal_nodes(const struct tp_session *session, const struct tp_blocks *blocks, uint32_t *nodes)
{
    const struct tp_search *search = &session->search;
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->goals.count; i++) {
        tp_state goal = session->goals.states[i];
        uint32_t node = tp_blocks_node_at(blocks, tp_state_x(search, goal), tp_state_y(search, goal));
        if (node != TP_BLOCKS_NONE)
            nodes[count++] = node;
    }
    return count;
}

static bool is_of(const struct tp_session *session, const struct tp_guide_fields *fields, const struct tp_blocks *blocks)
{
    uint32_t nodes[TP_GOALS_MAX];
    if (!fields->blocks || fields->blocks->epoch != blocks->epoch ||
        fields->blocks->changed_version != blocks->changed_version)
        return false;
    uint32_t count = goal_nodes(session, fields->blocks, nodes);
    return count == fields->goal_count && memcmp(nodes, fields->goals, count * sizeof nodes[0]) == 0;
}

/* False where no goal can be stood upon, or without memory. */
static bool fields_begin(const struct tp_session *session, struct tp_guide_fields *fields, const struct tp_blocks *blocks)
{
    const struct tp_guide *guide = &session->guide;
    fields->goal_count = goal_nodes(session, blocks, fields->goals);
    if (!fields->goal_count)
        return false;
    uint32_t areas[TP_GOALS_MAX];
    for (uint32_t i = 0; i < fields->goal_count; i++)
        areas[i] = tp_blocks_node(blocks, fields->goals[i]).area;
    fields->blocks = tp_blocks_ref(blocks);
    fields->field[TP_GUIDE_AREAS] = tp_field_take(guide->cache, blocks, 2, guide->metric, areas, fields->goal_count);
    fields->field[TP_GUIDE_NODES] = tp_field_take(guide->cache, blocks, 1, guide->metric, fields->goals, fields->goal_count);
    for (int i = 0; i < TP_GUIDE_LEVELS; i++)
        fields->view[i].empty = true;
    if (fields->field[TP_GUIDE_AREAS] && fields->field[TP_GUIDE_NODES])
        return true;
    fields_drop(fields);
    return false;
}

/* Pays for one level until it reaches well beyond the agent, or is whole, or the units are spent. */
static void pay(struct tp_guide_fields *fields, enum tp_guide_level level, uint32_t agent, uint64_t *units)
{
    struct tp_field *field = fields->field[level];
    struct tp_field_view *view = &fields->view[level];
    uint32_t margin = level == TP_GUIDE_AREAS ? MARGIN_AREA_POINTS : MARGIN_POINTS;
    for (;;) {
        uint32_t at = tp_field_at(field, agent, *view);
        fields->reaches[level] |= at != TP_FIELD_UNSEEN;
        if (view->whole || (at != TP_FIELD_UNSEEN && tp_field_reach(*view) >= (uint64_t)at + margin) || *units < TP_FIELD_STEP)
            return;
        uint64_t before = view->nodes;
        *view = tp_field_see(field, fields->paid[level] + TP_FIELD_STEP);
        if (view->nodes == before && !view->whole)
            return; /* no memory */
        fields->paid[level] += TP_FIELD_STEP;
        *units -= TP_FIELD_STEP;
    }
}

/* Pays a tick's units; returns how many. */
static uint64_t fields_pay(const struct tp_session *session, struct tp_guide_fields *fields, uint64_t units)
{
    const struct tp_search *search = &session->search;
    uint64_t left = units;
    uint32_t agent = tp_blocks_node_at(fields->blocks, tp_state_x(search, session->at), tp_state_y(search, session->at));
    if (agent == TP_BLOCKS_NONE)
        return 0; /* it stands in a wall */
    pay(fields, TP_GUIDE_AREAS, tp_blocks_node(fields->blocks, agent).area, &left);
    if (fields->reaches[TP_GUIDE_AREAS])
        pay(fields, TP_GUIDE_NODES, agent, &left);
    return units - left;
}

/* ---- h ---- */

static tp_cost cost_of(uint64_t points)
{
    return points * TP_COST_UNIT / TP_BLOCK_POINT;
}

/* The least over neighbours of the way to each and on from there; TP_FIELD_UNSEEN where none is seen. */
static uint64_t least_through(const struct tp_guide *guide, enum tp_guide_level level, const struct tp_blocks_node *from,
                              const struct tp_blocks_node *neighbours, uint32_t count, struct tp_blocks_place place)
{
    const struct tp_guide_fields *fields = &guide->now;
    uint64_t least = TP_FIELD_UNSEEN;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = tp_field_at(fields->field[level], neighbours[i].number, fields->view[level]);
        if (at == TP_FIELD_UNSEEN)
            continue;
        uint32_t to = tp_field_weigh(tp_field_distance(guide->metric, place, neighbours[i].at), from->weight + neighbours[i].weight);
        if ((uint64_t)at + to < least)
            least = (uint64_t)at + to;
    }
    return least;
}

static tp_cost at_least(tp_cost plain, tp_cost h)
{
    return h > plain ? h : plain;
}

tp_cost tp__guide_h(const struct tp_search *search, tp_state state, tp_cost plain)
{
    const struct tp_guide *guide = search->guide;
    const struct tp_guide_fields *fields = &guide->now;
    if (!fields->blocks)
        return plain;
    uint32_t x = tp_state_x(search, state), y = tp_state_y(search, state);
    uint32_t number = tp_blocks_node_at(fields->blocks, x, y);
    if (number == TP_BLOCKS_NONE)
        return plain;
    struct tp_blocks_place place = {x * TP_BLOCK_POINT + TP_BLOCK_POINT / 2, y * TP_BLOCK_POINT + TP_BLOCK_POINT / 2};
    struct tp_blocks_node neighbours[TP_BLOCKS_NEIGHBOURS_MAX], node = tp_blocks_node(fields->blocks, number);
    uint64_t beyond = tp_field_reach(fields->view[TP_GUIDE_NODES]);
    if (tp_field_is_goal(fields->field[TP_GUIDE_NODES], number))
        return plain;
    if (!fields->view[TP_GUIDE_NODES].empty) {
        uint32_t count = tp_blocks_neighbours(fields->blocks, number, neighbours);
        uint64_t least = least_through(guide, TP_GUIDE_NODES, &node, neighbours, count, place);
        if (least != TP_FIELD_UNSEEN)
            return at_least(plain, cost_of(least));
    }
    if (tp_field_is_goal(fields->field[TP_GUIDE_AREAS], node.area))
        return at_least(plain, cost_of(beyond));
    uint32_t count = tp_blocks_area_neighbours(fields->blocks, node.area, neighbours);
    uint64_t least = least_through(guide, TP_GUIDE_AREAS, &node, neighbours, count, place);
    if (least == TP_FIELD_UNSEEN)
        least = tp_field_reach(fields->view[TP_GUIDE_AREAS]);
    return at_least(plain, cost_of(least > beyond ? least : beyond));
}

/* ---- A tick ---- */

/* Whether the path followed is whole, and no longer than the fields now taken say that a way must be. */
static bool path_serves(const struct tp_session *session)
{
    const struct tp_search *search = &session->search;
    if (!session->path_complete || !tp_search_knows(search, session->at) || session->restart_wanted)
        return false;
    tp_cost left = tp_search_g(search, session->trace.follow_end) - tp_search_g(search, session->at);
    tp_cost promised = tp__guide_h(search, session->at, tp_search_h_goal(search, session->at));
    return left * 1000 <= promised * WORTH_MILLI;
}

static void take_coming(struct tp_guide *guide)
{
    fields_drop(&guide->now);
    guide->now = guide->coming;
    guide->coming = (struct tp_guide_fields){0};
    guide->broken = false;
}

enum tp_guide_outcome tp__guide_run(struct tp_tick *tick)
{
    struct tp_session *session = tick->session;
    struct tp_guide *guide = &session->guide;
    const struct tp_blocks *blocks = session->map->blocks;
    uint64_t units = session->params.guide_units;
    if (!guide->cache || !blocks || !units)
        return TP_GUIDE_ON;
    if (!guide->coming.blocks && !is_of(session, &guide->now, blocks)) {
        guide->broken = false;
        fields_begin(session, &guide->coming, blocks);
    }
    bool coming = guide->coming.blocks != NULL, knew_nodes = guide->now.reaches[TP_GUIDE_NODES], knew_areas = guide->now.reaches[TP_GUIDE_AREAS];
    if (coming && !guide->now.blocks) {
        take_coming(guide);
        coming = false;
    }
    struct tp_guide_fields *paid = coming ? &guide->coming : &guide->now;
    if (paid->blocks)
        tick->reply->work.guide += fields_pay(session, paid, units);
    bool anew = (guide->now.reaches[TP_GUIDE_NODES] && !knew_nodes) || (guide->now.reaches[TP_GUIDE_AREAS] && !knew_areas);
    if (coming && (guide->coming.reaches[TP_GUIDE_NODES] || (guide->broken && guide->coming.reaches[TP_GUIDE_AREAS]))) {
        take_coming(guide);
        anew = true;
    }
    bool blind = guide->now.blocks && !guide->now.reaches[TP_GUIDE_AREAS] && !guide->now.view[TP_GUIDE_AREAS].whole;
    if (blind && !session->search.active && guide->waited++ < WAIT_TICKS)
        return TP_GUIDE_WAIT;
    return anew && session->search.active && !path_serves(session) ? TP_GUIDE_ANEW : TP_GUIDE_ON;
}

void tp__guide_open(struct tp_session *session)
{
    const struct tp_session_params *params = &session->params;
    struct tp_guide *guide = &session->guide;
    bool guided = params->algorithm->capabilities & TP_CAN_BE_GUIDED;
    if (!guided || session->search.domain->listed)
        return;
    guide->cache = params->fields;
    guide->metric = params->neighbours == TP_NEIGHBOURS_4   ? TP_FIELD_MANHATTAN
                    : params->neighbours == TP_NEIGHBOURS_8 ? TP_FIELD_OCTILE
                                                            : TP_FIELD_EUCLID;
    session->search.guide = guide;
}

void tp__guide_forget(struct tp_session *session)
{
    fields_drop(&session->guide.now);
    fields_drop(&session->guide.coming);
    session->guide.waited = 0;
}

void tp__guide_close(struct tp_session *session)
{
    tp__guide_forget(session);
}
