/* A* over the nodes of the block graph, a few at a time, led by a field over areas.
 *
 * Happy path: begin (the agent's node queued) -> run: expand until a goal node is the best (SEARCH) -> trace back by what g says (TRACE) ->
 * sort the way's nodes by number, to be found by (FOUND). Of each node met a page keeps g, and with CLOSED whether it was expanded.
 * Failure: without a page the scout is over; its owner ends it.
 */
#include "guide/scout.h"

#include "guide/field_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE_NODES = TP_QUEUE_PAGE_BYTES / 4,
    PAGE_STEPS = TP_QUEUE_PAGE_BYTES / 8,
    QUEUE_PAGES_A_NODE_PAGE = 8,
    WAY_PAGES_A_NODE_PAGE = 2,
};

#define CLOSED 0x80000000u
#define UNMET UINT32_MAX
#define G_MAX (CLOSED - 2)

/* A node of the way. */
struct step {
    uint32_t node;
    uint32_t left; /* points to the goal; while the way is traced, from the start */
};

struct tp_scout {
    struct tp_field_cache *cache; /* borrowed */
    struct tp_scout_order order;
    uint32_t goals[TP_GOALS_MAX];
    enum tp_scout_state state;
    struct tp_blocks_place goal_at[TP_GOALS_MAX];
    uint32_t pages;
    uint32_t **g; /* by node / PAGE_NODES */
    struct step **way;
    uint32_t steps;
    uint32_t traced; /* the node that the trace stands at, TP_BLOCKS_NONE: none is under way */
    uint32_t length;
    struct tp_queue queue; /* of (f, node) */
};

static uint64_t key_of(uint32_t f, uint32_t node)
{
    return (uint64_t)f << 32 | node;
}

/* ---- Memory ---- */

static void search_free(struct tp_scout *scout)
{
    for (uint32_t i = 0; i < scout->pages; i++) {
        tp__field_page_put(scout->cache, scout->g[i]);
        scout->g[i] = NULL;
    }
    tp__field_queue_free(scout->cache, &scout->queue);
}

void tp_scout_end(struct tp_scout *scout)
{
    if (!scout)
        return;
    search_free(scout);
    for (uint32_t i = 0; i * PAGE_STEPS < scout->steps; i++)
        tp__field_page_put(scout->cache, scout->way[i]);
    free(scout->g);
    free(scout);
}

/* Where a node's g lies; NULL without memory. */
static uint32_t *g_slot(struct tp_scout *scout, uint32_t node)
{
    uint32_t **page = &scout->g[node / PAGE_NODES];
    if (!*page) {
        if (!(*page = tp__field_page_get(scout->cache)))
            return NULL;
        memset(*page, 0xff, TP_QUEUE_PAGE_BYTES);
    }
    return &(*page)[node % PAGE_NODES];
}

static struct step *step_at(const struct tp_scout *scout, uint32_t i)
{
    return &scout->way[i / PAGE_STEPS][i % PAGE_STEPS];
}

/* Adds a node to the way; false without memory. */
static bool step_add(struct tp_scout *scout, uint32_t node, uint32_t from_start)
{
    struct step **page = &scout->way[scout->steps / PAGE_STEPS];
    if (scout->steps % PAGE_STEPS == 0 && !(*page = tp__field_page_get(scout->cache)))
        return false;
    (*page)[scout->steps++ % PAGE_STEPS] = (struct step){node, from_start};
    return true;
}

/* ---- The search ---- */

static bool is_goal(const struct tp_scout *scout, uint32_t node)
{
    for (uint32_t i = 0; i < scout->order.goal_count; i++)
        if (scout->goals[i] == node)
            return true;
    return false;
}

static uint32_t edge(const struct tp_scout *scout, const struct tp_blocks_node *a,
                     const struct tp_blocks_node *b)
{
    uint32_t points = tp_field_weigh(tp_field_distance(scout->order.metric, a->at, b->at), a->weight + b->weight);
    return points ? points : 1;
}

/* By way of the next area; in a goal's area, straight to the goal. Never less than the straight line to a goal. */
static uint32_t h_of(const struct tp_scout *scout, const struct tp_blocks_node *node)
{
    uint32_t straight = TP_FIELD_UNSEEN;
    for (uint32_t i = 0; i < scout->order.goal_count; i++) {
        uint32_t points = tp_field_distance(scout->order.metric, node->at, scout->goal_at[i]);
        straight = points < straight ? points : straight;
    }
    if (!scout->order.areas || tp_field_is_goal(scout->order.areas, node->area))
        return straight;
    uint32_t by_areas = tp_field_from(scout->order.areas, scout->order.view, node->area, node->weight, node->at);
    return by_areas != TP_FIELD_UNSEEN && by_areas > straight ? by_areas : straight;
}

static bool enter(struct tp_scout *scout, const struct tp_blocks_node *node, uint64_t g)
{
    uint32_t *slot = g_slot(scout, node->number);
    if (!slot)
        return false;
    if (g > G_MAX || (*slot != UNMET && (*slot & CLOSED || g >= *slot)))
        return true;
    uint64_t f = g + h_of(scout, node);
    if (f >= scout->order.below)
        return true;
    *slot = (uint32_t)g;
    tp_queue_push(&scout->queue, key_of(f < UINT32_MAX ? (uint32_t)f : UINT32_MAX, node->number));
    return true;
}

static bool expand(struct tp_scout *scout, uint32_t number)
{
    struct tp_blocks_node neighbours[TP_BLOCKS_NEIGHBOURS_MAX], node = tp_blocks_node(scout->order.blocks, number);
    uint32_t count = tp_blocks_neighbours(scout->order.blocks, number, neighbours);
    if (!tp__field_queue_reserve(scout->cache, &scout->queue, count))
        return false;
    uint32_t *slot = g_slot(scout, number), g = *slot;
    *slot = g | CLOSED;
    for (uint32_t i = 0; i < count; i++)
        if (!enter(scout, &neighbours[i], (uint64_t)g + edge(scout, &node, &neighbours[i])))
            return false;
    return true;
}

/* ---- The way ---- */

/* Sorted by node (Shell's sort: in place, across pages), with what is left from each. */
static void way_finish(struct tp_scout *scout)
{
    for (uint32_t i = 0; i < scout->steps; i++)
        step_at(scout, i)->left = scout->length - step_at(scout, i)->left;
    for (uint32_t gap = scout->steps / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < scout->steps; i++) {
            struct step step = *step_at(scout, i);
            uint32_t j = i;
            for (; j >= gap && step_at(scout, j - gap)->node > step.node; j -= gap)
                *step_at(scout, j) = *step_at(scout, j - gap);
            *step_at(scout, j) = step;
        }
}

/* One step back: to the neighbour expanded from which the node got its g, the first such. False without memory. */
static bool trace_back(struct tp_scout *scout)
{
    struct tp_blocks_node neighbours[TP_BLOCKS_NEIGHBOURS_MAX],
        node = tp_blocks_node(scout->order.blocks, scout->traced);
    uint32_t g = *g_slot(scout, scout->traced) & ~CLOSED;
    if (!step_add(scout, scout->traced, g))
        return false;
    uint32_t count = tp_blocks_neighbours(scout->order.blocks, scout->traced, neighbours);
    scout->traced = TP_BLOCKS_NONE;
    for (uint32_t i = 0; i < count && g; i++) {
        const uint32_t *page = scout->g[neighbours[i].number / PAGE_NODES];
        uint32_t of = page ? page[neighbours[i].number % PAGE_NODES] : UNMET;
        if (of != UNMET && of & CLOSED && (of & ~CLOSED) + edge(scout, &neighbours[i], &node) == g) {
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
        if (scout->traced != TP_BLOCKS_NONE) {
            room = trace_back(scout);
            if (room && scout->traced == TP_BLOCKS_NONE) {
                way_finish(scout);
                search_free(scout);
                /* neighbours beyond TP_BLOCKS_NEIGHBOURS_MAX may be missing in one direction */
                bool whole = tp_scout_at(scout, scout->order.from) == scout->length;
                scout->state = whole ? TP_SCOUT_FOUND : TP_SCOUT_NO_WAY;
            }
        } else if (scout->queue.count == 0) {
            search_free(scout);
            scout->state = TP_SCOUT_NO_WAY;
        } else {
            uint32_t node = (uint32_t)tp_queue_least(&scout->queue), g = *g_slot(scout, node);
            tp_queue_pop(&scout->queue);
            if (is_goal(scout, node)) {
                scout->traced = node;
                scout->length = g;
            } else if (!(g & CLOSED)) {
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

uint32_t tp_scout_at(const struct tp_scout *scout, uint32_t node)
{
    uint32_t low = 0, high = scout->steps;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (step_at(scout, middle)->node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < scout->steps && step_at(scout, low)->node == node ? step_at(scout, low)->left
                                                                   : TP_FIELD_UNSEEN;
}

uint32_t tp_scout_length(const struct tp_scout *scout)
{
    return scout->length;
}

struct tp_scout *tp_scout_begin(struct tp_field_cache *cache, const struct tp_scout_order *order)
{
    struct tp_scout *scout = malloc(sizeof *scout);
    uint32_t pages = order->blocks->nodes / PAGE_NODES + 1;
    void **index = calloc((size_t)pages * (1 + WAY_PAGES_A_NODE_PAGE + QUEUE_PAGES_A_NODE_PAGE) + 1, sizeof *index);
    if (!scout || !index) {
        free(scout);
        free(index);
        return NULL;
    }
    *scout = (struct tp_scout){
        .cache = cache,
        .order = *order,
        .pages = pages,
        .traced = TP_BLOCKS_NONE,
        .g = (uint32_t **)index,
        .way = (struct step **)index + pages,
        .queue = {.pages = (uint64_t **)index + pages * (size_t)(1 + WAY_PAGES_A_NODE_PAGE),
                  .pages_max = pages * QUEUE_PAGES_A_NODE_PAGE + 1},
    };
    memcpy(scout->goals, order->goals, order->goal_count * sizeof *order->goals);
    for (uint32_t i = 0; i < order->goal_count; i++)
        scout->goal_at[i] = tp_blocks_node(order->blocks, order->goals[i]).at;
    struct tp_blocks_node node = tp_blocks_node(order->blocks, order->from);
    if (!tp__field_queue_reserve(cache, &scout->queue, 1) || !enter(scout, &node, 0)) {
        tp_scout_end(scout);
        return NULL;
    }
    return scout;
}
