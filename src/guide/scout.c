/* A* over the nodes of the block graph, a few at a time, led by a field over areas.
 *
 * Happy path: begin (the agent's node queued) -> run: expand until a goal node is the best (SEARCH) -> trace back by what g says (TRACE) ->
 * sort the way's nodes by number, to be found by (FOUND). Of each node met a page keeps g, whether it was expanded, and by which cell it is entered.
 * Failure: without a page the scout is over; its owner ends it.
 */
#include "guide/scout.h"

#include "map/blocks_internal.h"
#include "guide/field_internal.h"

#include <string.h>

enum {
    PAGE_NODES = TP_PAGE_BYTES / 8,
    PAGE_STEPS = TP_PAGE_BYTES / 12,
    SORTED_A_UNIT = 8, /* nodes of a way put into the queue, or taken from it */
};

#define CLOSED 0x80000000u
#define UNMET UINT32_MAX
#define G_MAX (CLOSED - 2)

/* A node met: all ones, or */
struct met {
    uint32_t g;     /* and CLOSED */
    uint32_t entry; /* bit of the cell by which it is entered */
};

/* A node of the way. */
struct step {
    uint32_t node;
    uint32_t left; /* points to the goal; while the way is traced, from the start */
    uint32_t entry;
};
_Static_assert(sizeof(struct met) * PAGE_NODES <= TP_PAGE_BYTES && sizeof(struct step) * PAGE_STEPS <= TP_PAGE_BYTES,
               "pages hold what they are to hold");

struct tp_scout {
    struct tp_field_cache *cache; /* borrowed */
    struct tp_scout_order order;
    uint32_t goals[TP_GOALS_MAX];
    enum tp_scout_state state;
    struct tp_blocks_place goal_at[TP_GOALS_MAX];
    struct tp_pages met; /* by node / PAGE_NODES */
    struct tp_pages way;
    uint32_t steps;
    struct tp_pages sorted; /* the way by node, while it is sorted, */
    uint32_t queued, taken; /* so many of its nodes having been queued for that, and taken */
    bool sorts;
    uint32_t traced; /* the node that the trace stands at, TP_BLOCKS_NONE: none is under way */
    uint32_t length;
    struct tp_queue queue; /* of (f, node) */
};

/* ---- Memory ---- */

static void search_free(struct tp_scout *scout)
{
    tp__field_pages_free(scout->cache, &scout->met);
    tp__field_queue_free(scout->cache, &scout->queue);
}

void tp_scout_end(struct tp_scout *scout)
{
    if (!scout)
        return;
    search_free(scout);
    tp__field_pages_free(scout->cache, &scout->way);
    tp__field_pages_free(scout->cache, &scout->sorted);
    tp__field_block_put(scout->cache, scout, sizeof *scout);
}

/* What is kept of a node; NULL without memory. */
static struct met *met_slot(struct tp_scout *scout, uint32_t node)
{
    struct met *page = tp__field_page_at(scout->cache, &scout->met, node / PAGE_NODES);
    return page ? &page[node % PAGE_NODES] : NULL;
}

static struct step *step_at(const struct tp_scout *scout, uint32_t i)
{
    return (struct step *)tp_pages_find(&scout->way, i / PAGE_STEPS) + i % PAGE_STEPS;
}

/* Adds a node to the way; false without memory. */
static bool step_add(struct tp_scout *scout, uint32_t node, struct met met)
{
    struct step *page = tp__field_page_at(scout->cache, &scout->way, scout->steps / PAGE_STEPS);
    if (!page)
        return false;
    page[scout->steps++ % PAGE_STEPS] = (struct step){node, met.g & ~CLOSED, met.entry};
    return true;
}

/* ---- Places ---- */

struct tp_blocks_place tp_scout_place(const struct tp_blocks *blocks, const struct tp_blocks_node *node, uint32_t bit)
{
    uint32_t x = node->tile % blocks->tiles_x * TP_MAP_TILE + node->block % TP_BLOCKS_A_SIDE * TP_BLOCK_SIDE + bit % TP_BLOCK_SIDE;
    uint32_t y = node->tile / blocks->tiles_x * TP_MAP_TILE + node->block / TP_BLOCKS_A_SIDE * TP_BLOCK_SIDE + bit / TP_BLOCK_SIDE;
    return tp_blocks_cell_place(x, y);
}

static uint32_t bit_of(struct tp_blocks_place place)
{
    return place.y / TP_BLOCK_POINT % TP_BLOCK_SIDE * TP_BLOCK_SIDE + place.x / TP_BLOCK_POINT % TP_BLOCK_SIDE;
}

/* The direction from a node's block to that of a neighbour. */
static uint32_t direction_to(const struct tp_blocks *blocks, const struct tp_blocks_node *a, const struct tp_blocks_node *b)
{
    static const uint8_t directions[3][3] = {{6, 3, 7}, {2, 0, 0}, {5, 1, 4}}; /* by dy + 1, dx + 1 */
    uint32_t dx = b->tile % blocks->tiles_x * TP_BLOCKS_A_SIDE + b->block % TP_BLOCKS_A_SIDE + 1 -
                  (a->tile % blocks->tiles_x * TP_BLOCKS_A_SIDE + a->block % TP_BLOCKS_A_SIDE);
    uint32_t dy = b->tile / blocks->tiles_x * TP_BLOCKS_A_SIDE + b->block / TP_BLOCKS_A_SIDE + 1 -
                  (a->tile / blocks->tiles_x * TP_BLOCKS_A_SIDE + a->block / TP_BLOCKS_A_SIDE);
    return directions[dy][dx];
}

/* Points from a cell of a node into a neighbour, by the cell of it that lies best between there and the first goal. Cost: O(8). */
static uint32_t cross(const struct tp_scout *scout, const struct tp_blocks_node *a, uint32_t from, const struct tp_blocks_node *b,
                      uint32_t *entry)
{
    const struct tp_blocks *blocks = scout->order.blocks;
    struct tp_blocks_place here = tp_scout_place(blocks, a, from);
    uint64_t cells = b->cells & tp__block_across(a->cells, direction_to(blocks, a, b), blocks->links);
    uint32_t best = UINT32_MAX, points = 0;
    for (; cells; cells &= cells - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(cells);
        struct tp_blocks_place there = tp_scout_place(blocks, b, bit);
        uint32_t to = tp_field_distance(scout->order.metric, here, there);
        uint32_t through = to + tp_field_distance(scout->order.metric, there, scout->goal_at[0]);
        if (through < best) {
            best = through;
            points = to;
            *entry = bit;
        }
    }
    points = tp_field_weigh(points, a->weight + b->weight);
    return points ? points : 1;
}

/* ---- The search ---- */

static uint32_t straight(const struct tp_scout *scout, struct tp_blocks_place place)
{
    uint32_t least = TP_FIELD_UNSEEN;
    for (uint32_t i = 0; i < scout->order.goal_count; i++) {
        uint32_t points = tp_field_distance(scout->order.metric, place, scout->goal_at[i]);
        least = points < least ? points : least;
    }
    return least;
}

/* From a place in a node: by way of the next area; in a goal's area, straight to the goal. Never less than the straight line to a goal. */
static uint32_t h_of(const struct tp_scout *scout, const struct tp_blocks_node *node, struct tp_blocks_place place)
{
    uint32_t least = straight(scout, place);
    if (!scout->order.areas || tp_field_is_goal(scout->order.areas, node->area))
        return least;
    uint32_t by_areas = tp_field_from(scout->order.areas, scout->order.view, node->area, node->weight, place);
    return by_areas != TP_FIELD_UNSEEN && by_areas > least ? by_areas : least;
}

static bool enter(struct tp_scout *scout, const struct tp_blocks_node *node, uint32_t entry, uint64_t g)
{
    struct met *met = met_slot(scout, node->number);
    if (!met)
        return false;
    if (g > G_MAX || (met->g != UNMET && (met->g & CLOSED || g >= met->g)))
        return true;
    uint64_t h = h_of(scout, node, tp_scout_place(scout->order.blocks, node, entry));
    uint64_t f = g + h + h * scout->order.haste_milli / 1000;
    if (f >= scout->order.below)
        return true;
    *met = (struct met){(uint32_t)g, entry};
    tp_queue_push(&scout->queue, tp_queue_key(f < UINT32_MAX ? (uint32_t)f : UINT32_MAX, node->number));
    return true;
}

static bool expand(struct tp_scout *scout, uint32_t number)
{
    struct tp_blocks_node neighbours[TP_BLOCKS_NEIGHBOURS_MAX], node = tp_blocks_node(scout->order.blocks, number);
    uint32_t count = tp_blocks_neighbours(scout->order.blocks, number, neighbours);
    if (!tp__field_queue_reserve(scout->cache, &scout->queue, count))
        return false;
    struct met *met = met_slot(scout, number), at = *met;
    met->g |= CLOSED;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry = 0, points = cross(scout, &node, at.entry, &neighbours[i], &entry);
        if (!enter(scout, &neighbours[i], entry, (uint64_t)at.g + points))
            return false;
    }
    return true;
}

/* ---- The way ---- */

/* The way is traced: it is to be sorted by node, with what is left from each, through the queue. */
static void sort_begin(struct tp_scout *scout)
{
    search_free(scout);
    scout->sorts = true;
}

static void sort_end(struct tp_scout *scout)
{
    search_free(scout);
    tp__field_pages_free(scout->cache, &scout->way);
    scout->way = scout->sorted;
    scout->sorted = (struct tp_pages){0};
    scout->sorts = false;
    /* neighbours beyond TP_BLOCKS_NEIGHBOURS_MAX may be missing in one direction */
    bool whole = tp_scout_at(scout, scout->order.from, NULL) == scout->length;
    scout->state = whole ? TP_SCOUT_FOUND : TP_SCOUT_NO_WAY;
}

/* Takes the next node in order; false without memory. */
static bool take_sorted(struct tp_scout *scout)
{
    struct step *page = tp__field_page_at(scout->cache, &scout->sorted, scout->taken / PAGE_STEPS);
    if (!page)
        return false;
    struct step step = *step_at(scout, (uint32_t)tp_queue_least(&scout->queue));
    tp_queue_pop(&scout->queue);
    step.left = scout->length - step.left;
    page[scout->taken++ % PAGE_STEPS] = step;
    return true;
}

/* A unit's worth of sorting; false without memory. */
static bool sort_some(struct tp_scout *scout)
{
    for (uint32_t i = 0; i < SORTED_A_UNIT && scout->taken < scout->steps; i++) {
        if (scout->queued == scout->steps) {
            if (!take_sorted(scout))
                return false;
            continue;
        }
        if (!tp__field_queue_reserve(scout->cache, &scout->queue, 1))
            return false;
        tp_queue_push(&scout->queue, tp_queue_key(step_at(scout, scout->queued)->node, scout->queued));
        scout->queued++;
    }
    if (scout->taken == scout->steps)
        sort_end(scout);
    return true;
}

/* One step back: to the neighbour expanded from which the node got its g, the first such. False without memory. */
static bool trace_back(struct tp_scout *scout)
{
    struct tp_blocks_node neighbours[TP_BLOCKS_NEIGHBOURS_MAX],
        node = tp_blocks_node(scout->order.blocks, scout->traced);
    struct met met = *met_slot(scout, scout->traced);
    if (!step_add(scout, scout->traced, met))
        return false;
    uint32_t count = tp_blocks_neighbours(scout->order.blocks, scout->traced, neighbours), g = met.g & ~CLOSED;
    scout->traced = TP_BLOCKS_NONE;
    for (uint32_t i = 0; i < count && g; i++) {
        const struct met *page = tp_pages_find(&scout->met, neighbours[i].number / PAGE_NODES);
        struct met of = page ? page[neighbours[i].number % PAGE_NODES] : (struct met){UNMET, 0};
        if (of.g == UNMET || !(of.g & CLOSED) || (of.g & ~CLOSED) >= g)
            continue;
        uint32_t entry = 0, points = cross(scout, &neighbours[i], of.entry, &node, &entry);
        if ((of.g & ~CLOSED) + points == g && entry == met.entry) {
            scout->traced = neighbours[i].number;
            return true;
        }
    }
    return true;
}

enum tp_scout_state tp_scout_run(struct tp_scout *scout, uint64_t *units)
{
    for (; scout->state == TP_SCOUT_SEARCHING && *units; --*units) {
        bool room = true;
        if (scout->sorts) {
            room = sort_some(scout);
        } else if (scout->traced != TP_BLOCKS_NONE) {
            room = trace_back(scout);
            if (room && scout->traced == TP_BLOCKS_NONE)
                sort_begin(scout);
        } else if (scout->queue.count == 0) {
            search_free(scout);
            scout->state = TP_SCOUT_NO_WAY;
        } else {
            uint32_t node = (uint32_t)tp_queue_least(&scout->queue);
            struct met met = *met_slot(scout, node);
            tp_queue_pop(&scout->queue);
            if (tp_blocks_among(scout->goals, scout->order.goal_count, node)) {
                struct tp_blocks_node goal = tp_blocks_node(scout->order.blocks, node);
                scout->traced = node;
                scout->length = met.g + straight(scout, tp_scout_place(scout->order.blocks, &goal, met.entry));
            } else if (!(met.g & CLOSED)) {
                room = expand(scout, node);
            }
        }
        if (!room) {
            search_free(scout);
            scout->state = TP_SCOUT_NO_MEMORY;
        }
    }
    return scout->state;
}

uint32_t tp_scout_at(const struct tp_scout *scout, uint32_t node, uint32_t *entry)
{
    uint32_t low = 0, high = scout->steps;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (step_at(scout, middle)->node < node)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= scout->steps || step_at(scout, low)->node != node)
        return TP_FIELD_UNSEEN;
    if (entry)
        *entry = step_at(scout, low)->entry;
    return step_at(scout, low)->left;
}

uint32_t tp_scout_length(const struct tp_scout *scout)
{
    return scout->length;
}

struct tp_scout *tp_scout_begin(struct tp_field_cache *cache, const struct tp_scout_order *order)
{
    struct tp_scout *scout = tp__field_block_get(cache, sizeof *scout);
    if (!scout)
        return NULL;
    *scout = (struct tp_scout){.cache = cache, .order = *order, .traced = TP_BLOCKS_NONE};
    memcpy(scout->goals, order->goals, order->goal_count * sizeof *order->goals);
    memcpy(scout->goal_at, order->goals_at, order->goal_count * sizeof *order->goals_at);
    scout->order.goals = scout->goals;
    scout->order.goals_at = scout->goal_at;
    struct tp_blocks_node node = tp_blocks_node(order->blocks, order->from);
    if (!tp__field_queue_reserve(cache, &scout->queue, 1) || !enter(scout, &node, bit_of(order->at), 0)) {
        tp_scout_end(scout);
        return NULL;
    }
    return scout;
}
