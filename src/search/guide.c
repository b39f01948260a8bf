/* A session's guide: a way paid for, taken, replaced (guide.h).
 *
 *     none -> coming: areas, then the scout -> ready -> taken -> coming: a scout for a shorter way -> taken, or dropped
 *               ^                                         |
 *               +--- the map's blocks or the goal's node are others, or the agent left the way: another coming, beside it
 *
 * Taking a way begins a new search, unless the path followed is whole and about as short as the way promises. An agent without a way that is any good
 * waits for one, a bounded number of ticks; then it goes by the space's h.
 */
#include "search/guide.h"

#include "search/ground.h"
#include "search/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MARGIN_POINTS = TP_MAP_TILE * TP_BLOCK_POINT, /* how far beyond the agent the field over areas is paid for */
    WAIT_TICKS = 64,                              /* how long an agent waits for a way */
    WORTH_MILLI = 1005,                           /* a path, or a way, is left for one that is shorter by this */
    ALIKE_POINTS = 8 * TP_BLOCK_POINT,            /* two ways are about as long as each other: so many points, */
    ALIKE_SHARE = 16,                             /* and this share of one, apart */
    SHUT_SHARE = 16,                              /* a path is taken to be shut where the way is longer by this share, */
    SHUT_COST = 8 * TP_COST_UNIT,                 /* and this */
    UNITS_BETWEEN_LOOKS = 256,                    /* at the clock */
    STRAIGHT_MILLI = 500,                         /* haste of a scout over ground that is taken for free */
    BETTER_UNITS_MAX = 2000,                      /* what may be spent on looking for a shorter way */
    PATIENCE_MAX = 1,                             /* twice as many each time that it brought nothing, so often */
    LOOK_TICKS = 24,                              /* between looking for one way and for another, of an agent that gets along by what it has */
    SCARCE_SHARE = 8,                             /* units are scarce where a tick has less than this share of the session's own */
    STALL_EXPANSIONS = 128,                       /* a search of an older version that gets no nearer for so many is given up */
    KNOWN_NODES = 8,
    KNOWN_BYTES = KNOWN_NODES * sizeof(struct tp_guide_known),
    GROUND_BYTES = KNOWN_NODES * TP_BLOCK_CELLS * sizeof(uint32_t),
    GROUND_MILLI = 1500,                          /* h by a node's ground is no more than this of the straight line */
};

/* ---- Leads ---- */

static void lead_drop(struct tp_lead *lead)
{
    tp_scout_end(lead->scout);
    if (lead->own)
        tp_field_leave_for_good(lead->areas);
    else
        tp_field_leave(lead->areas);
    tp_blocks_unref(lead->blocks);
    *lead = (struct tp_lead){0};
}

static uint32_t node_of(const struct tp_mind *session, const struct tp_blocks *blocks, tp_state state)
{
    return tp_blocks_node_at(blocks, tp_state_x(&session->search, state), tp_state_y(&session->search, state));
}

static struct tp_blocks_place place_of(const struct tp_mind *session, tp_state state)
{
    return tp_blocks_cell_place(tp_state_x(&session->search, state), tp_state_y(&session->search, state));
}

/* The nodes of the session's goals in a lead's block graph, and the goals' places, but for goals that no way joins to where it begins, as far as
 * the labels know; returns how many there are. */
static uint32_t goal_nodes(const struct tp_mind *session, const struct tp_lead *lead, uint32_t *nodes, struct tp_blocks_place *places)
{
    uint32_t count = 0, from_x = lead->at.x / TP_BLOCK_POINT, from_y = lead->at.y / TP_BLOCK_POINT;
    for (uint32_t i = 0; i < session->goals.count; i++) {
        struct tp_blocks_place place = place_of(session, session->goals.states[i]);
        uint32_t x = place.x / TP_BLOCK_POINT, y = place.y / TP_BLOCK_POINT, node = tp_blocks_node_at(lead->blocks, x, y);
        if (node == TP_BLOCKS_NONE || tp_blocks_apart(lead->blocks, from_x, from_y, x, y))
            continue;
        places[count] = place;
        nodes[count++] = node;
    }
    return count;
}

/* Whether a lead is to the session's goals, by its own blocks. */
static bool is_to_goals(const struct tp_mind *session, const struct tp_lead *lead)
{
    uint32_t nodes[TP_GOALS_MAX], count;
    struct tp_blocks_place places[TP_GOALS_MAX];
    count = goal_nodes(session, lead, nodes, places);
    return count == lead->goal_count && memcmp(nodes, lead->goals, count * sizeof nodes[0]) == 0;
}

/* The same over these blocks. */
static bool is_of(const struct tp_mind *session, const struct tp_lead *lead, const struct tp_blocks *blocks)
{
    if (!lead->blocks)
        return false;
    bool alike = lead->blocks->epoch == blocks->epoch && lead->blocks->changed_version == blocks->changed_version;
    if (!session->belief.full)
        alike = lead->blocks == blocks; /* an agent's own begin to count anew when it forgets */
    return alike && is_to_goals(session, lead);
}

/* A lead over these blocks begins where the agent stands. */
static void lead_place(const struct tp_mind *session, struct tp_lead *lead, const struct tp_blocks *blocks)
{
    lead->blocks = tp_blocks_ref(blocks);
    lead->own = !session->belief.full;
    lead->goes_straight = !session->belief.full && !session->belief.assumed;
    lead->from = node_of(session, blocks, session->at);
    lead->at = place_of(session, session->at);
}

/* Begins to pay for a lead; without memory, or goals that can be stood upon, it is ready at once, without a way. */
static void lead_begin(const struct tp_mind *session, struct tp_lead *lead, const struct tp_blocks *blocks)
{
    const struct tp_guide *guide = &session->guide;
    uint32_t areas[TP_GOALS_MAX];
    lead_place(session, lead, blocks);
    lead->goal_count = goal_nodes(session, lead, lead->goals, lead->goals_at);
    lead->view.empty = true;
    if (!lead->goal_count || lead->from == TP_BLOCKS_NONE) {
        lead->ready = lead->no_way = true;
        return;
    }
    if (lead->goes_straight)
        return;
    for (uint32_t i = 0; i < lead->goal_count; i++)
        areas[i] = tp_blocks_node(blocks, lead->goals[i]).area;
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
        if (!*units)
            return false;
        uint64_t before = lead->view.areas, step = TP_FIELD_STEP - lead->paid % TP_FIELD_STEP;
        step = step < *units ? step : *units;
        lead->paid += step;
        *units -= step;
        lead->view = tp_field_see(lead->areas, lead->paid);
        if (lead->paid % TP_FIELD_STEP == 0 && lead->view.areas == before && !lead->view.whole)
            return true; /* no memory: the scout goes by the straight line where it sees nothing */
    }
}

static struct tp_scout *scout_begin(const struct tp_guide *guide, const struct tp_lead *lead, uint32_t below)
{
    const struct tp_scout_order order = {
        .blocks = lead->blocks,
        .metric = guide->metric,
        .from = lead->from,
        .at = lead->at,
        .goals = lead->goals,
        .goals_at = lead->goals_at,
        .goal_count = lead->goal_count,
        .areas = lead->areas,
        .view = lead->view,
        .below = below,
        .haste_milli = lead->goes_straight ? STRAIGHT_MILLI : 0,
    };
    return tp_scout_begin(guide->cache, &order);
}

/* Whether the field proves that no way leads from there to a goal, in its version. */
static bool is_apart(const struct tp_lead *lead)
{
    return lead->areas && lead->view.whole &&
           tp_field_at(lead->areas, tp_blocks_node(lead->blocks, lead->from).area, lead->view) == TP_FIELD_UNSEEN;
}

static void lead_pay(const struct tp_mind *session, struct tp_lead *lead, uint64_t *units)
{
    const struct tp_guide *guide = &session->guide;
    uint64_t before = *units;
    if (lead->areas && !pay_areas(lead, units))
        return;
    bool apart = is_apart(lead);
    if (!lead->scout && !lead->betters && !apart)
        lead->scout = scout_begin(guide, lead, TP_FIELD_UNSEEN);
    enum tp_scout_state state = lead->scout ? tp_scout_run(lead->scout, units) : TP_SCOUT_NO_MEMORY;
    lead->spent += before - *units;
    lead->ready = state != TP_SCOUT_SEARCHING || (lead->betters && lead->spent >= BETTER_UNITS_MAX);
    lead->no_way = apart || state == TP_SCOUT_NO_WAY;
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

/* The cell at the top left of a node's block. */
static void top_of(const struct tp_lead *lead, const struct tp_blocks_node *node, uint32_t *x, uint32_t *y)
{
    struct tp_blocks_place top = tp_scout_place(lead->blocks, node, 0);
    *x = top.x / TP_BLOCK_POINT;
    *y = top.y / TP_BLOCK_POINT;
}

/* Looks up the neighbours of a node that a lead's way goes through. */
static void look_up(const struct tp_search *search, const struct tp_lead *lead, uint32_t number, struct tp_guide_known *known)
{
    struct tp_blocks_node neighbours[TP_BLOCKS_NEIGHBOURS_MAX], node = tp_blocks_node(lead->blocks, number);
    uint32_t count = tp_blocks_neighbours(lead->blocks, number, neighbours), x, y;
    struct tp_ground ground;
    known->node = number;
    known->count = 0;
    top_of(lead, &node, &x, &y);
    if (known->ground)
        tp__ground_begin(&ground, search->nodes.belief, search->guide->metric, x, y, node.cells, known->ground);
    for (uint32_t i = 0; i < count && known->count < sizeof known->next / sizeof known->next[0]; i++) {
        uint32_t entry, left = tp_scout_at(lead->scout, neighbours[i].number, &entry);
        if (left == TP_FIELD_UNSEEN)
            continue;
        known->next[known->count].at = tp_scout_place(lead->blocks, &neighbours[i], entry);
        known->next[known->count].left = left;
        known->next[known->count].weights = node.weight + neighbours[i].weight;
        top_of(lead, &neighbours[i], &x, &y);
        if (known->ground)
            tp__ground_enter(&ground, &neighbours[i], x, y, known->next[known->count].at, left);
        known->count++;
    }
    if (known->ground)
        tp__ground_settle(&ground);
}

/* The same for the way taken, kept for the next cells of the node. */
static const struct tp_guide_known *know(const struct tp_search *search, uint32_t node)
{
    const struct tp_guide *guide = search->guide;
    struct tp_guide_known *known = &guide->known[node % KNOWN_NODES];
    if (known->node != node)
        look_up(search, &guide->now, node, known);
    return known;
}

static bool is_goal(const struct tp_lead *lead, uint32_t node)
{
    return tp_blocks_among(lead->goals, lead->goal_count, node);
}

/* Points from a cell to the goal by what is known of its node; TP_FIELD_UNSEEN away from the way. */
static uint64_t points_from(const struct tp_guide *guide, const struct tp_guide_known *known, uint32_t x, uint32_t y)
{
    struct tp_blocks_place place = tp_blocks_cell_place(x, y);
    uint64_t least = known->ground ? known->ground[y % TP_BLOCK_SIDE * TP_BLOCK_SIDE + x % TP_BLOCK_SIDE] : TP_FIELD_UNSEEN;
    for (uint32_t i = 0; i < known->count; i++) {
        uint64_t to = tp_field_weigh(tp_field_distance(guide->metric, place, known->next[i].at), known->next[i].weights);
        uint64_t through = (known->ground ? to * GROUND_MILLI / 1000 : to) + known->next[i].left;
        least = through < least ? through : least;
    }
    return least;
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
    uint64_t points = points_from(guide, know(search, node), x, y);
    tp_cost h = cost_of(points != TP_FIELD_UNSEEN ? points : tp_scout_length(lead->scout));
    return h > plain ? h : plain;
}

/* ---- A tick ---- */

/* Points from where the agent stands to its goal by a lead; TP_FIELD_UNSEEN away from its way and without one, 0 in the goal's node. */
static uint64_t points_left(const struct tp_mind *session, const struct tp_lead *lead)
{
    const struct tp_search *search = &session->search;
    const struct tp_guide *guide = &session->guide;
    uint32_t ground[TP_BLOCK_CELLS];
    struct tp_guide_known looked_up = {.ground = guide->ground ? ground : NULL};
    if (!lead->scout)
        return TP_FIELD_UNSEEN;
    uint32_t node = node_of(session, lead->blocks, session->at);
    if (node == TP_BLOCKS_NONE)
        return TP_FIELD_UNSEEN;
    if (is_goal(lead, node))
        return 0;
    const struct tp_guide_known *known = &looked_up;
    if (lead == &guide->now)
        known = know(search, node);
    else
        look_up(search, lead, node, &looked_up);
    return points_from(guide, known, tp_state_x(search, session->at), tp_state_y(search, session->at));
}

/* Whether the path followed is whole, and about as short as the way now taken. */
static bool path_serves(struct tp_mind *session)
{
    const struct tp_search *search = &session->search;
    bool is_on_it = tp__is_packed(session) || tp__detour_is_walked(session) || tp_search_knows(search, session->at);
    if (!session->path_complete || !is_on_it || session->restart_wanted)
        return false;
    tp_cost left = tp__trace_left(session);
    tp_cost promised = tp__guide_h(search, session->at, tp_search_h_goal(search, session->at));
    if (promised > left + left / SHUT_SHARE + SHUT_COST)
        tp__watch_far(session); /* it may be shut where nobody looks */
    return !tp_product_less(promised, WORTH_MILLI, left, 1000);
}

/* Whether the agent follows a path that is whole: it then needs no way, on which it may have been left behind for a shorter piece. */
static bool follows_whole(const struct tp_mind *session)
{
    return session->path_complete && !session->restart_wanted && tp__trace_next(session) != TP_MOVE_NONE;
}

/* Whether two distances are about the same, neither being unseen. */
static bool is_alike(uint64_t a, uint64_t b)
{
    uint64_t apart = a > b ? a - b : b - a;
    return a != TP_FIELD_UNSEEN && b != TP_FIELD_UNSEEN && apart <= ALIKE_POINTS + (a < b ? a : b) / ALIKE_SHARE;
}

/* Points of what would be left of the way that was let go of: it grew shorter as the path did. */
static uint64_t points_at_rest(const struct tp_mind *session)
{
    const struct tp_guide *guide = &session->guide;
    if (guide->rest.points == TP_FIELD_UNSEEN || !guide->rest.left)
        return guide->rest.points;
    return guide->rest.points * tp__trace_left(session) / guide->rest.left;
}

/* Whether the way that is coming is much as the one taken both to the agent and where the search under way has got to: it then serves as
 * well. Elsewhere its open states would stand in a wrong order for long. */
static bool serves_search(const struct tp_mind *session)
{
    const struct tp_guide *guide = &session->guide;
    return is_alike(guide->rest.is ? points_at_rest(session) : points_left(session, &guide->now), points_left(session, &guide->coming));
}

/* Whether the search under way gets no nearer to the goal any more, and the map, or what the agent takes it for, has changed since it began (a
 * state closed before a cell beside it opened leads nowhere), or the way has. It is given up later each time that the agent came no
 * nearer since: so one is finished. */
static bool is_stalled(struct tp_mind *session)
{
    struct tp_guide *guide = &session->guide;
    const struct tp_search *search = &session->search;
    tp_state best;
    if (!guide->now.scout || !search->active || search->found || !tp_search_best(search, &best))
        return false; /* by the space's h a search may have to go far round */
    tp_cost h = tp_search_h_now(search, best);
    if (session->closed < guide->closed_at_least || h < guide->least_h || !session->closed) { /* a new search, or it got nearer */
        guide->least_h = h;
        guide->closed_at_least = session->closed;
    }
    bool is_old = session->belief.full ? session->map->version != search->begun_version : session->belief.stamp != search->begun_stamp;
    uint32_t times = guide->stalls < 32 ? guide->stalls : 32;
    if (!(is_old || guide->other) || session->closed - guide->closed_at_least < (uint64_t)STALL_EXPANSIONS << times)
        return false;
    tp_cost at = tp_search_h_now(search, session->at);
    if (at < guide->stalled_at) { /* it came nearer since */
        guide->stalled_at = at;
        guide->stalls = 0;
    }
    guide->stalls++;
    return true;
}

static void take_coming(struct tp_guide *guide)
{
    lead_drop(&guide->now);
    guide->now = guide->coming;
    guide->coming = (struct tp_lead){0};
    guide->broken = guide->settled = guide->touched = guide->rest.is = false;
    guide->other = true;
    guide->waited = 0;
    guide->least_h = TP_COST_INFINITE;
    for (int i = 0; i < KNOWN_NODES; i++)
        guide->known[i].node = TP_BLOCKS_NONE;
}

/* Begins to look for a way from here that is shorter than what is left of the one taken. */
static void better_begin(const struct tp_mind *session, struct tp_guide *guide, uint64_t left)
{
    struct tp_lead *lead = &guide->coming;
    lead_place(session, lead, guide->now.blocks);
    lead->goal_count = guide->now.goal_count;
    memcpy(lead->goals, guide->now.goals, lead->goal_count * sizeof lead->goals[0]);
    memcpy(lead->goals_at, guide->now.goals_at, lead->goal_count * sizeof lead->goals_at[0]);
    lead->betters = true;
    lead->scout = scout_begin(guide, lead, (uint32_t)(left * 1000 / WORTH_MILLI));
    lead->ready = !lead->scout;
    guide->settled = true;
}

/* Drops a way that was looked for and is no better than the one taken. */
static bool drop_no_better(const struct tp_mind *session, struct tp_guide *guide)
{
    uint64_t left = points_left(session, &guide->now), by_coming = points_left(session, &guide->coming);
    if (by_coming != TP_FIELD_UNSEEN && by_coming * WORTH_MILLI <= left * 1000)
        return false;
    lead_drop(&guide->coming);
    return true;
}

/* What a tick may spend at most. */
static uint64_t units_of(const struct tp_tick *tick)
{
    uint64_t units = tick->session->params.guide_units;
    const struct tp_budget *budget = tick->budget;
    return budget->caps_guide && budget->guide_max < units ? budget->guide_max : units;
}

/* Pays for the lead that is coming, as long as the tick's time lasts. */
static void pay_coming(struct tp_tick *tick, uint64_t *units)
{
    struct tp_mind *session = tick->session;
    struct tp_lead *lead = &session->guide.coming;
    const struct tp_budget *budget = tick->budget;
    while (*units && !lead->ready && !(budget->expired && budget->expired(budget->context))) {
        uint64_t some = *units < UNITS_BETWEEN_LOOKS ? *units : UNITS_BETWEEN_LOOKS, unspent = some;
        lead_pay(session, lead, &unspent);
        *units -= some - unspent;
    }
}

/* Whether less is left by the way now taken than when the search was last begun anew for another: else, where the map changes all
 * the time, an agent with a small budget might begin anew for ever. Remembers what is left. */
static bool gets_nearer(const struct tp_mind *session, struct tp_guide *guide)
{
    uint64_t left = points_left(session, &guide->now);
    if (left >= guide->left_bar)
        return false;
    guide->left_bar = left;
    return true;
}

/* Whether another way is to be looked for by what the agent saw since: what is aside of the way taken, or of a path that is whole, can
 * wait. */
static bool is_outdated(const struct tp_mind *session)
{
    const struct tp_guide *guide = &session->guide;
    return tp__overlay_is_behind(session) && (guide->broken || guide->touched || !guide->now.scout);
}

void tp__guide_see(struct tp_mind *session, const struct tp_belief_change *changes, uint32_t count)
{
    struct tp_guide *guide = &session->guide;
    const struct tp_lead *lead = &guide->now;
    if (!guide->overlay.told || !lead->scout || session->path_complete)
        return;
    for (uint32_t i = 0; i < count && !guide->touched; i++) {
        uint32_t node = tp_blocks_node_at(lead->blocks, changes[i].x, changes[i].y);
        guide->touched = !changes[i].rose || (node != TP_BLOCKS_NONE && tp_scout_at(lead->scout, node, NULL) != TP_FIELD_UNSEEN);
    }
}

void tp__guide_trip(struct tp_mind *session)
{
    session->guide.left_bar = UINT64_MAX;
    session->guide.looked = session->guide.patience = 0;
    session->guide.stalled_at = TP_COST_INFINITE;
    session->guide.stalls = session->guide.waited = 0;
}

/* Whether the way taken, or let go of, is of the blocks and the goals that the session has now. */
static bool is_current(const struct tp_mind *session)
{
    const struct tp_guide *guide = &session->guide;
    const struct tp_blocks *blocks = tp__overlay_blocks(session);
    if (guide->rest.is)
        return guide->rest.epoch == blocks->epoch && guide->rest.version == blocks->changed_version;
    return is_of(session, &guide->now, blocks) && !is_outdated(session);
}

static bool is_scarce(uint64_t units, uint64_t own)
{
    return units < own / SCARCE_SHARE;
}

bool tp__guide_is_time(uint64_t units, uint64_t own, uint32_t looked, uint64_t ticks, uint8_t patience)
{
    return !is_scarce(units, own) && (!looked || (uint32_t)ticks - looked >= (uint32_t)LOOK_TICKS << patience);
}

/* Whether it is time to look for another way though the one there is serves: not at each version where one comes every tick, nor where units are
 * scarce and others have no way at all. */
static bool is_due(const struct tp_tick *tick)
{
    const struct tp_mind *session = tick->session;
    const struct tp_guide *guide = &session->guide;
    bool serves = session->belief.full && !guide->broken && (guide->now.scout || guide->rest.is);
    if (!serves)
        return true;
    return tp__guide_is_time(units_of(tick), session->params.guide_units, guide->looked, session->stats.ticks, guide->patience);
}

/* Lets go of leads that are no good any more, and begins the one that is wanted, when what the agent saw is laid over. Whether the agent is lost: it
 * has left its way, and follows no path that is whole. */
static bool choose(struct tp_tick *tick, uint64_t *units)
{
    struct tp_mind *session = tick->session;
    struct tp_guide *guide = &session->guide;
    struct tp_lead *now = &guide->now, *coming = &guide->coming;
    if (is_stalled(session))
        session->restart_wanted = true;
    if (session->restart_wanted && now->blocks && !is_to_goals(session, now))
        lead_drop(now); /* the goal is far from where it leads: worse than none */
    if (guide->rest.is && !follows_whole(session))
        guide->rest.is = false;
    uint64_t left = now->scout ? points_left(session, now) : 0;
    bool away = left == TP_FIELD_UNSEEN, lost = away && !follows_whole(session);
    bool current = is_current(session), wanted = lost || (!current && is_due(tick));
    bool elsewhere = coming->blocks && session->restart_wanted && !is_to_goals(session, coming); /* likewise */
    if (elsewhere || (coming->betters && (away || !current || guide->broken)))
        lead_drop(coming);
    if (!coming->blocks && wanted && tp__overlay_catch_up(session, tick->budget, units)) {
        lead_begin(session, coming, tp__overlay_blocks(session));
        guide->looked = (uint32_t)session->stats.ticks;
    } else if (!coming->blocks && current && !wanted && now->scout && !now->goes_straight && left && !away && !guide->settled &&
               !is_scarce(units_of(tick), session->params.guide_units)) {
        better_begin(session, guide, left);
    }
    return lost;
}

bool tp__guide_is_idle(const struct tp_tick *tick)
{
    const struct tp_mind *session = tick->session;
    const struct tp_guide *guide = &session->guide;
    if (!guide->cache || !tp__overlay_blocks(session))
        return true;
    if (guide->coming.blocks)
        return false;
    if (!is_current(session))
        return !is_due(tick);
    if (guide->rest.is || is_scarce(units_of(tick), session->params.guide_units))
        return true;
    uint64_t left = points_left(session, &guide->now);
    return guide->settled || !guide->now.scout || !left || left == TP_FIELD_UNSEEN;
}

bool tp__guide_leads(const struct tp_mind *session)
{
    const struct tp_guide *guide = &session->guide;
    return guide->now.scout || guide->now.no_way || (guide->rest.is && guide->rest.was_led);
}

void tp__guide_rest(struct tp_mind *session)
{
    struct tp_guide *guide = &session->guide;
    const struct tp_blocks *blocks = guide->cache ? tp__overlay_blocks(session) : NULL;
    if (!blocks || guide->rest.is)
        return;
    guide->rest.was_led = tp__guide_leads(session);
    guide->rest.is = true;
    const struct tp_blocks *of = guide->now.blocks ? guide->now.blocks : blocks;
    guide->rest.epoch = of->epoch;
    guide->rest.version = of->changed_version;
    guide->rest.points = guide->broken ? TP_FIELD_UNSEEN : points_left(session, &guide->now);
    guide->rest.left = tp__trace_left(session);
    lead_drop(&guide->now);
    guide->broken = guide->settled = guide->touched = false;
}

/* Takes the way that is ready, unless it was looked for and is no better. Whether a search is to begin anew by it. */
static bool take(struct tp_mind *session)
{
    struct tp_guide *guide = &session->guide;
    bool betters = guide->coming.betters;
    if (betters && drop_no_better(session, guide))
        return false;
    bool led = guide->coming.scout || guide->now.scout;
    bool goes_on = !betters && !guide->broken && serves_search(session);
    take_coming(guide);
    guide->settled = betters;
    bool wants = led && session->search.active && !goes_on && !path_serves(session);
    guide->patience = wants || !follows_whole(session) ? 0 : guide->patience < PATIENCE_MAX ? guide->patience + 1 : PATIENCE_MAX;
    return wants && gets_nearer(session, guide);
}

static enum tp_guide_outcome guide_run(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_guide *guide = &session->guide;
    uint64_t units = units_of(tick), unspent = units;
    if (!guide->cache || !tp__overlay_blocks(session))
        return TP_GUIDE_ON;
    if (tick->budget->moves_only)
        return session->search.active && !session->restart_wanted ? TP_GUIDE_ON : TP_GUIDE_WAIT;
    bool lost = choose(tick, &unspent);
    if (guide->coming.blocks)
        pay_coming(tick, &unspent);
    tick->reply->work.guide += units - unspent;
    if (guide->coming.ready)
        return take(session) ? TP_GUIDE_ANEW : TP_GUIDE_ON;
    bool blind = !guide->coming.betters && !follows_whole(session) && (!guide->now.blocks || lost);
    return blind && guide->waited++ < WAIT_TICKS ? TP_GUIDE_WAIT : TP_GUIDE_ON;
}

enum tp_guide_outcome tp__guide_run(struct tp_tick *tick)
{
    enum tp_guide_outcome outcome = guide_run(tick);
    tp__overlay_count(tick->session);
    return outcome;
}

bool tp__guide_open(struct tp_mind *session)
{
    const struct tp_session_params *params = &session->params;
    struct tp_guide *guide = &session->guide;
    if (!tp__session_led(params, session->map))
        return true;
    bool weighted = session->search.weighted;
    guide->known = tp__mind_get(session, KNOWN_BYTES);
    guide->ground = weighted ? tp__mind_get(session, GROUND_BYTES) : NULL;
    if (!guide->known || (weighted && !guide->ground) || !tp__overlay_open(session))
        return false;
    for (uint32_t i = 0; i < KNOWN_NODES; i++)
        guide->known[i].ground = weighted ? guide->ground + i * TP_BLOCK_CELLS : NULL;
    guide->cache = params->fields;
    guide->left_bar = UINT64_MAX;
    guide->stalled_at = TP_COST_INFINITE;
    guide->metric = params->neighbours == TP_NEIGHBOURS_4   ? TP_FIELD_MANHATTAN
                    : params->neighbours == TP_NEIGHBOURS_8 ? TP_FIELD_OCTILE
                                                            : TP_FIELD_EUCLID;
    session->search.guide = guide;
    session->search.reopens = false; /* such an h is not consistent: a state might get cheaper very often */
    return true;
}

void tp__guide_let_go(struct tp_mind *session)
{
    lead_drop(&session->guide.now);
    lead_drop(&session->guide.coming);
    session->guide.broken = session->guide.settled = session->guide.touched = session->guide.rest.is = false;
    session->guide.waited = 0;
    tp__overlay_count(session);
}

void tp__guide_close(struct tp_mind *session)
{
    tp__guide_let_go(session);
    tp__overlay_close(session);
    tp__mind_put(session, session->guide.known, KNOWN_BYTES);
    tp__mind_put(session, session->guide.ground, GROUND_BYTES);
}
