/* Exchanging one block's nodes in a tile's part, and what that makes of the tile's areas.
 *
 * Happy path: the nodes that are the same before and after stay as they are; the others are taken out of their areas' sums, and the new ones
 * put in their place. Around the block lies its *ring*: the nodes of the blocks next to it, of which each node of the block touches some.
 * What one node touched before hangs together still if one new node touches all of it. Where none does, the area is searched from all its
 * ring nodes at once, node by node in turn, until the searches meet or all but one have come to an end: those that came to one have found a
 * part of the area that is cut off, which becomes an area of its own. Then each new node joins the areas that it touches.
 */
#include "map/blocks_scratch.h"

#include <string.h>

struct ring {
    uint32_t count;
    uint32_t first[TP__BLOCK_DIRECTIONS + 1]; /* by direction of the block that they are in */
    uint16_t node[TP__RING_MAX];
};

/* Nodes that a block had and has not, or has and had not. */
struct others {
    uint32_t count;
    uint64_t cells[TP__BLOCK_NODES_MAX];
    uint16_t area[TP__BLOCK_NODES_MAX]; /* of those it had */
    uint16_t node[TP__BLOCK_NODES_MAX]; /* of those it has */
    uint64_t touches[TP__BLOCK_NODES_MAX]; /* which of the ring */
};

static inline uint32_t directions_of(enum tp_blocks_links links)
{
    return links == TP_BLOCKS_DIAGONAL ? TP__BLOCK_DIRECTIONS : TP__BLOCK_STRAIGHT;
}

/* The block of the tile next to one; TP_BLOCKS_NONE outside. */
static inline uint32_t step_inside(uint32_t block, uint32_t direction)
{
    uint32_t x = block % TP_BLOCKS_A_SIDE + (uint32_t)tp_direction_dx[direction];
    uint32_t y = block / TP_BLOCKS_A_SIDE + (uint32_t)tp_direction_dy[direction];
    return x < TP_BLOCKS_A_SIDE && y < TP_BLOCKS_A_SIDE ? y * TP_BLOCKS_A_SIDE + x : TP_BLOCKS_NONE;
}

/* ---- The nodes ---- */

/* Puts the nodes that were appended behind the others in the place of a block's. */
static void nodes_place(struct tp__scratch *scratch, uint32_t block, uint32_t appended)
{
    uint64_t cells[TP__BLOCK_NODES_MAX];
    uint16_t weight[TP__BLOCK_NODES_MAX];
    uint8_t place[TP__BLOCK_NODES_MAX][2];
    uint32_t is = scratch->nodes - appended, at = scratch->first[block], rest = scratch->first[block + 1];
    uint32_t was = rest - at, moved = appended - rest;
    memcpy(cells, scratch->cells + appended, is * sizeof cells[0]);
    memcpy(place, scratch->place + appended, is * sizeof place[0]);
    memcpy(weight, scratch->weight + appended, is * sizeof weight[0]);
    if (is != was) {
        memmove(scratch->cells + at + is, scratch->cells + rest, moved * sizeof cells[0]);
        memmove(scratch->place + at + is, scratch->place + rest, moved * sizeof place[0]);
        memmove(scratch->area + at + is, scratch->area + rest, moved * sizeof scratch->area[0]);
        if (scratch->map->weighted)
            memmove(scratch->weight + at + is, scratch->weight + rest, moved * sizeof weight[0]);
        for (uint32_t i = block + 1; i <= TP_BLOCKS_A_TILE; i++)
            scratch->first[i] = (uint16_t)(scratch->first[i] + is - was);
        for (uint32_t side = 0; side < TP__BLOCK_STRAIGHT; side++)
            for (uint32_t i = 0; i < scratch->run_count[side]; i++)
                scratch->runs[side][i] = (uint16_t)(scratch->runs[side][i] + (scratch->runs[side][i] >= rest ? is - was : 0));
    }
    memcpy(scratch->cells + at, cells, is * sizeof cells[0]);
    memcpy(scratch->place + at, place, is * sizeof place[0]);
    memcpy(scratch->weight + at, weight, is * sizeof weight[0]);
    scratch->nodes = at + is + moved;
}

/* Tells the nodes appended from those that the block has: `were` gets what it has and will not have, `area` the area of each of those to come,
 * TP__NO_AREA for new ones. The sums lose what goes. Returns whether any differs, be it by its weight. */
static bool nodes_compare(struct tp__scratch *scratch, uint32_t block, uint32_t appended, struct others *were, uint16_t *area)
{
    uint32_t is = scratch->nodes - appended;
    bool differs = false;
    were->count = 0;
    for (uint32_t j = 0; j < is; j++)
        area[j] = TP__NO_AREA;
    for (uint32_t i = scratch->first[block]; i < scratch->first[block + 1]; i++) {
        struct tp__sum *sum = &scratch->sums[scratch->area[i]];
        uint32_t j = 0;
        while (j < is && scratch->cells[appended + j] != scratch->cells[i])
            j++;
        if (j == is) {
            tp__sum_take(sum, tp__node_sum(scratch, block, i));
            were->area[were->count] = scratch->area[i];
            were->cells[were->count++] = scratch->cells[i];
            continue;
        }
        area[j] = scratch->area[i];
        if (scratch->map->weighted && scratch->weight[appended + j] != scratch->weight[i]) {
            tp__sum_take(sum, tp__node_sum(scratch, block, i));
            tp__sum_add(sum, tp__node_sum(scratch, block, appended + j));
            differs = true;
        }
    }
    return differs || were->count || is != (uint32_t)(scratch->first[block + 1] - scratch->first[block]);
}

/* ---- The ring ---- */

/* False when it has too many nodes. */
static bool ring_gather(const struct tp__scratch *scratch, uint32_t block, struct ring *ring)
{
    uint32_t directions = directions_of(scratch->links);
    ring->count = 0;
    for (uint32_t direction = 0; direction < directions; direction++) {
        uint32_t there = step_inside(block, direction);
        ring->first[direction] = ring->count;
        if (there == TP_BLOCKS_NONE)
            continue;
        uint32_t from = scratch->first[there], end = scratch->first[there + 1];
        if (ring->count + end - from > TP__RING_MAX)
            return false;
        for (; from < end; from++)
            ring->node[ring->count++] = (uint16_t)from;
    }
    ring->first[directions] = ring->count;
    return true;
}

/* Which nodes of the ring each of some nodes touches. */
TP_ALWAYS_INLINE void touch_by(const struct tp__scratch *scratch, const struct ring *ring, struct others *others, enum tp_blocks_links links)
{
    for (uint32_t i = 0; i < others->count; i++) {
        uint64_t touches = 0;
        for (uint32_t direction = 0; direction < directions_of(links); direction++) {
            uint64_t reach = tp__block_across(others->cells[i], direction, links);
            for (uint32_t r = ring->first[direction]; reach && r < ring->first[direction + 1]; r++)
                touches |= (uint64_t)((scratch->cells[ring->node[r]] & reach) != 0) << r;
        }
        others->touches[i] = touches;
    }
}

static void touch(const struct tp__scratch *scratch, const struct ring *ring, struct others *others)
{
    if (scratch->links == TP_BLOCKS_DIAGONAL)
        touch_by(scratch, ring, others, TP_BLOCKS_DIAGONAL);
    else
        touch_by(scratch, ring, others, TP_BLOCKS_STRAIGHT);
}

/* ---- What is left of an area ---- */

/* Searches from the nodes of the ring, each with the nodes that it came to on a stack; those that met are of one set. */
struct searches {
    uint64_t seeds;              /* nodes of the ring */
    uint8_t parent[TP__RING_MAX];
    uint16_t top[TP__RING_MAX]; /* TP__NO_AREA: the search came to an end */
};

static uint32_t set_of(struct searches *searches, uint32_t search)
{
    while (searches->parent[search] != search)
        search = searches->parent[search] = searches->parent[searches->parent[search]];
    return search;
}

static void meet(struct searches *searches, uint32_t one, uint32_t other)
{
    one = set_of(searches, one);
    other = set_of(searches, other);
    searches->parent[one > other ? one : other] = (uint8_t)(one < other ? one : other);
}

static void search_push(struct tp__scratch *scratch, struct searches *searches, uint32_t search, uint32_t node, uint32_t block)
{
    scratch->found[node] = (uint8_t)(search + 1);
    scratch->block[node] = (uint8_t)block;
    scratch->below[node] = searches->top[search];
    searches->top[search] = (uint16_t)node;
}

/* Goes on with a search by one node. */
TP_ALWAYS_INLINE void search_step(struct tp__scratch *scratch, struct searches *searches, uint32_t search, enum tp_blocks_links links)
{
    uint32_t node = searches->top[search];
    uint64_t cells = scratch->cells[node];
    uint16_t area = scratch->area[node];
    searches->top[search] = scratch->below[node];
    for (uint32_t direction = 0; direction < directions_of(links); direction++) {
        uint64_t reach = tp__block_across(cells, direction, links);
        uint32_t there = reach ? step_inside(scratch->block[node], direction) : TP_BLOCKS_NONE;
        if (there == TP_BLOCKS_NONE)
            continue;
        for (uint32_t i = scratch->first[there]; i < scratch->first[there + 1]; i++) {
            if (!(scratch->cells[i] & reach) || scratch->area[i] != area)
                continue;
            if (!scratch->found[i])
                search_push(scratch, searches, search, i, there);
            else
                meet(searches, search, scratch->found[i] - 1u);
        }
    }
}

/* Begins from the nodes of the ring that a set names; what one new node touches has met. */
static void searches_begin(struct tp__scratch *scratch, struct searches *searches, const struct ring *ring, uint32_t block, uint64_t seeds,
                           const struct others *are)
{
    searches->seeds = seeds;
    memset(scratch->found, 0, scratch->nodes);
    for (uint32_t direction = 0; direction < directions_of(scratch->links); direction++)
        for (uint32_t i = ring->first[direction]; i < ring->first[direction + 1]; i++) {
            searches->parent[i] = (uint8_t)i;
            searches->top[i] = TP__NO_AREA;
            if (seeds >> i & 1)
                search_push(scratch, searches, i, ring->node[i], step_inside(block, direction));
        }
    for (uint32_t i = 0; i < are->count; i++) {
        uint64_t met = are->touches[i] & seeds;
        for (uint64_t left = met; left; left &= left - 1)
            meet(searches, (uint32_t)__builtin_ctzll(met), (uint32_t)__builtin_ctzll(left));
    }
}

/* Goes on until no more than one set has anything to search. Returns the set that has the rest of the area: that one, or any. */
TP_ALWAYS_INLINE uint32_t searches_run(struct tp__scratch *scratch, struct searches *searches, enum tp_blocks_links links)
{
    for (;;) {
        uint64_t open = 0, all = 0;
        for (uint64_t left = searches->seeds; left; left &= left - 1) {
            uint32_t search = (uint32_t)__builtin_ctzll(left);
            uint64_t set = UINT64_C(1) << set_of(searches, search);
            all |= set;
            open |= searches->top[search] != TP__NO_AREA ? set : 0;
        }
        if (!(all & (all - 1)) || !(open & (open - 1)))
            return (uint32_t)__builtin_ctzll(open ? open : all);
        for (uint64_t left = searches->seeds; left; left &= left - 1) {
            uint32_t search = (uint32_t)__builtin_ctzll(left);
            if (searches->top[search] != TP__NO_AREA)
                search_step(scratch, searches, search, links);
        }
    }
}

static uint16_t area_new(struct tp__scratch *scratch, uint16_t origin)
{
    uint16_t area = (uint16_t)scratch->areas++;
    scratch->sums[area] = (struct tp__sum){0};
    scratch->origin[area] = origin;
    scratch->is_regrouped = true;
    return area;
}

/* Makes areas of the parts that an area fell into, found from the nodes of the ring that a set names. */
static void area_split(struct tp__scratch *scratch, const struct ring *ring, uint32_t block, uint64_t seeds, const struct others *are,
                       uint16_t area)
{
    struct searches searches;
    uint16_t of_set[TP__RING_MAX];
    searches_begin(scratch, &searches, ring, block, seeds, are);
    uint32_t rest = scratch->links == TP_BLOCKS_DIAGONAL ? searches_run(scratch, &searches, TP_BLOCKS_DIAGONAL)
                                                          : searches_run(scratch, &searches, TP_BLOCKS_STRAIGHT);
    bool is_cut = false;
    for (uint64_t left = seeds; left; left &= left - 1) {
        uint32_t search = (uint32_t)__builtin_ctzll(left), set = set_of(&searches, search);
        if (search == set)
            of_set[set] = set == rest ? area : area_new(scratch, scratch->origin[area]);
        is_cut = is_cut || set != rest;
    }
    if (!is_cut)
        return;
    for (uint32_t i = 0; i < scratch->nodes; i++) {
        if (!scratch->found[i])
            continue;
        uint16_t now = of_set[set_of(&searches, scratch->found[i] - 1u)];
        if (now == area)
            continue;
        struct tp__sum sum = tp__node_sum(scratch, scratch->block[i], i);
        tp__sum_take(&scratch->sums[area], sum);
        tp__sum_add(&scratch->sums[now], sum);
        scratch->area[i] = now;
        scratch->regrouped_from = i < scratch->regrouped_from ? i : scratch->regrouped_from;
    }
}

/* Whether some new node touches all of a set of the ring. */
static bool is_held(const struct others *are, uint64_t touches)
{
    for (uint32_t i = 0; i < are->count; i++)
        if (!(touches & ~are->touches[i]))
            return true;
    return !(touches & (touches - 1));
}

/* Splits the areas of nodes that went, where they held together what no new node does. */
static void areas_split(struct tp__scratch *scratch, const struct ring *ring, uint32_t block, const struct others *were,
                        const struct others *are)
{
    for (uint32_t i = 0; i < were->count; i++) {
        uint64_t seeds = 0;
        bool is_first = true, is_lost = false;
        for (uint32_t j = 0; j < were->count; j++) {
            if (were->area[j] != were->area[i])
                continue;
            is_first = is_first && j >= i;
            seeds |= were->touches[j];
            is_lost = is_lost || !is_held(are, were->touches[j]);
        }
        if (is_first && is_lost)
            area_split(scratch, ring, block, seeds, are, were->area[i]);
    }
}

/* ---- What new nodes join ---- */

static void areas_join(struct tp__scratch *scratch, uint16_t area, uint16_t other)
{
    uint16_t *origin = &scratch->origin[area], origin_other = scratch->origin[other];
    uint32_t first = 0;
    while (scratch->area[first] != other)
        first++;
    scratch->regrouped_from = first < scratch->regrouped_from ? first : scratch->regrouped_from;
    for (uint32_t i = first; i < scratch->nodes; i++)
        scratch->area[i] = scratch->area[i] == other ? area : scratch->area[i];
    tp__sum_add(&scratch->sums[area], scratch->sums[other]);
    scratch->sums[other] = (struct tp__sum){0};
    if (*origin == TP__NO_AREA)
        *origin = origin_other;
    else if (origin_other != TP__NO_AREA && origin_other != *origin)
        scratch->joined[scratch->joined_count++] = (struct tp__pair){*origin, origin_other};
    scratch->is_regrouped = true;
}

/* Gives each new node its area: those that it touches, joined, or one of its own. */
static void nodes_join(struct tp__scratch *scratch, const struct ring *ring, uint32_t block, const struct others *are)
{
    for (uint32_t i = 0; i < are->count; i++) {
        uint16_t area = TP__NO_AREA;
        for (uint64_t left = are->touches[i]; left; left &= left - 1) {
            uint16_t other = scratch->area[ring->node[__builtin_ctzll(left)]];
            if (area == TP__NO_AREA)
                area = other;
            else if (other != area)
                areas_join(scratch, area, other);
        }
        if (area == TP__NO_AREA)
            area = area_new(scratch, TP__NO_AREA);
        scratch->area[are->node[i]] = area;
        tp__sum_add(&scratch->sums[area], tp__node_sum(scratch, block, are->node[i]));
    }
}

/* ---- The whole of it ---- */

enum tp__exchange tp__block_exchange(struct tp__scratch *scratch, const struct tp_map_tile *tile, uint32_t block, uint64_t cells)
{
    struct others were, are = {.count = 0};
    struct ring ring;
    uint16_t area[TP__BLOCK_NODES_MAX], area_was[TP__BLOCK_NODES_MAX];
    uint32_t appended = scratch->nodes, at = scratch->first[block], was = scratch->first[block + 1] - at;
    tp__block_split(scratch, tile, block, cells);
    uint32_t is = scratch->nodes - appended;
    if (!nodes_compare(scratch, block, appended, &were, area)) {
        scratch->nodes = appended;
        return TP__SAME;
    }
    memcpy(area_was, scratch->area + at, was * sizeof area_was[0]);
    nodes_place(scratch, block, appended);
    memcpy(scratch->area + at, area, is * sizeof area[0]);
    scratch->regrouped_from = at < scratch->regrouped_from ? at : scratch->regrouped_from;
    for (uint32_t i = at; i < at + is; i++)
        if (scratch->area[i] == TP__NO_AREA) {
            are.node[are.count] = (uint16_t)i;
            are.cells[are.count++] = scratch->cells[i];
        }
    if (!ring_gather(scratch, block, &ring))
        return TP__TOO_WIDE;
    touch(scratch, &ring, &were);
    touch(scratch, &ring, &are);
    areas_split(scratch, &ring, block, &were, &are);
    nodes_join(scratch, &ring, block, &are);
    scratch->is_regrouped =
        scratch->is_regrouped || is != was || memcmp(area_was, scratch->area + at, is * sizeof area_was[0]) != 0;
    return TP__EXCHANGED;
}

void tp__areas_number(struct tp__scratch *scratch)
{
    uint16_t *restrict number = scratch->parent; /* of each area; the table is free */
    uint16_t *restrict area = scratch->area;
    uint32_t nodes = scratch->nodes, from = scratch->regrouped_from < nodes ? scratch->regrouped_from : nodes, count = 0;
    memset(number, 255, scratch->areas * sizeof number[0]); /* TP__NO_AREA */
    for (uint32_t i = 0; i < from; i++) /* numbered as they are: up to the last of them, each comes first somewhere here */
        count = area[i] >= count ? area[i] + 1u : count;
    for (uint32_t i = 0; i < count; i++)
        number[i] = (uint16_t)i; /* and so they stand in the order */
    for (uint32_t i = from; i < nodes; i++) {
        uint32_t was = area[i];
        if (__builtin_expect(number[was] == TP__NO_AREA, false)) {
            number[was] = (uint16_t)count;
            scratch->order[count++] = (uint16_t)was;
        }
        area[i] = number[was];
    }
    scratch->areas = count;
}
