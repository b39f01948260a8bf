#include "search/search.h"

#include "base/check.h"
#include "search/guide.h"

/* The paths of a search's tree touch themselves nowhere: a state beside one expanded earlier has a g of at most that one's and the step. Of
 * the four cells of a square such a path takes three at most (two, where all are free and it may go across). Where the map changes under
 * a search a path may become longer than that; the kernels then stop short of 32 bits, as for want of memory. */
static uint64_t longest_path(const struct tp_domain *domain, const struct tp_map *map)
{
    uint64_t squares = ((uint64_t)map->width + 1) / 2 * (((uint64_t)map->height + 1) / 2);
    return 3 * squares * domain->step_max;
}

/* Whether g needs 64 bits: in listed spaces and over weights always, with knight's moves (which pass cells by) where every cell once by the
 * longest step does not fit 32. */
static bool needs_wide(const struct tp_domain *domain, const struct tp_map *map)
{
    if (domain->listed || map->weighted)
        return true;
    if (domain->moves_max == TP_NEIGHBOURS_16)
        return (uint64_t)map->width * map->height * domain->step_max >= UINT32_MAX;
    return longest_path(domain, map) >= UINT32_MAX;
}

void tp_search_init(struct tp_search *search, const struct tp_domain *domain, const struct tp_belief *belief,
                    struct tp_tiles *learned, enum tp_heuristic heuristic, enum tp_corners corners,
                    uint64_t g_factor, uint64_t h_factor, bool first_parent, struct tp_pool *pool,
                    uint32_t stamp_max, uint64_t *bytes, uint64_t bytes_max)
{
    const struct tp_map *map = belief->truth;
    bool wide = heuristic != TP_HEURISTIC_DEFAULT || needs_wide(domain, map);
    uint32_t shift = 0, width = map->width, height = map->height;
    if (domain->listed) {
        width = TP_TILE_SIDE;
        height = (uint32_t)((domain->states(map) + TP_TILE_SIDE - 1) / TP_TILE_SIDE);
    }
    while ((1ull << shift) < width)
        shift++;
    *search = (struct tp_search){
        .domain = domain,
        .shift = shift,
        .width = width,
        .height = height,
        .g_factor = g_factor,
        .h_factor = h_factor,
        .h_unit = tp_profile_least_weight(&map->profile),
        .corners = corners,
        .heuristic = heuristic,
        .first_parent = first_parent,
        .weighted = map->weighted,
        .root = TP_STATE_NONE,
        .learned = learned,
    };
    tp_nodes_init(&search->nodes, belief, width, height, wide, domain->listed, pool, stamp_max, bytes, bytes_max);
    tp_open_init(&search->open, wide, pool, bytes, bytes_max);
    tp_bucket_init(&search->bucket, h_factor, wide, pool, bytes, bytes_max);
}

void tp_search_use_buckets(struct tp_search *search)
{
    search->bucketed = true;
    search->reopens = search->g_factor == search->h_factor && !search->first_parent;
}

bool tp_search_open_space(struct tp_search *search)
{
    const struct tp_tiles *tiles = &search->nodes.tiles;
    if (search->domain->open)
        search->space = search->domain->open(search->nodes.belief->truth, tiles->bytes, tiles->bytes_max);
    return search->space || !search->domain->open;
}

void tp_search_fini(struct tp_search *search)
{
    if (search->space)
        search->domain->close(search->space);
    search->space = NULL;
    tp_nodes_fini(&search->nodes);
    tp_open_empty(&search->open);
    tp_bucket_empty(&search->bucket);
    search->active = false;
}

void tp_search_empty(struct tp_search *search)
{
    tp_tiles_empty(&search->nodes.tiles);
    tp_open_empty(&search->open);
    tp_bucket_empty(&search->bucket);
    search->active = false;
}

/* Enters a state into the open list with the priority its g and the present goal give. False without memory. */
static bool enter(struct tp_search *search, tp_state state, uint64_t g)
{
    uint64_t f = search->g_factor * g + search->h_factor * tp_search_h_now(search, state);
    struct tp_bucket *bucket = &search->bucket;
    if (search->bucketed)
        return tp_bucket_reserve(bucket, 1) && (bucket->wide ? tp_bucket_push(bucket, tp_bucket_number(bucket, f), g, state, true)
                                                             : tp_bucket_push(bucket, tp_bucket_number(bucket, f), g, state, false));
    if (!tp_open_reserve(&search->open, 1))
        return false;
    tp_open_push_any(&search->open, (struct tp_open_entry){f, g, state});
    return true;
}

void tp_search_begin_seeds(struct tp_search *search, tp_state goal)
{
    search->active = tp_nodes_begin(&search->nodes);
    tp_open_clear(&search->open);
    tp_bucket_clear(&search->bucket);
    search->end_bucket = search->end_g = search->end_f = UINT64_MAX;
    search->goal = search->end = goal;
    search->rekey = search->exhausted = search->found = search->partial = false;
    search->begun_version = search->nodes.belief->truth->version;
    search->begun_stamp = search->nodes.belief->stamp;
    search->begun_falls = search->nodes.belief->falls;
    search->touched = search->hash = 0;
    search->moved_g = TP_COST_INFINITE;
    search->undone = false;
    search->root = TP_STATE_NONE;
}

bool tp_search_add_seed(struct tp_search *search, tp_state state, tp_cost g)
{
    uint32_t x = tp_state_x(search, state), y = tp_state_y(search, state), slot = tp_tile_slot(x, y);
    struct tp_node_tile *tile = search->active ? tp_nodes_touch(&search->nodes, x, y) : NULL;
    if (!tile || !enter(search, state, g))
        return false;
    tp_nodes_set_g(&search->nodes, tile, slot, g);
    tile->meta[slot] = TP_NODE_ROOT;
    search->touched++;
    return true;
}

bool tp_search_begin(struct tp_search *search, tp_state root, tp_state goal)
{
    tp_search_begin_seeds(search, goal);
    search->active = tp_search_add_seed(search, root, 0);
    search->root = root;
    return search->active;
}

void tp_search_run(struct tp_search *search, struct tp_run *run)
{
    TP_CHECK(search->active);
    if (search->found || search->exhausted)
        return;
    unsigned h = search->goals || search->guide                                                       ? TP_HOW_CHOOSING
                 : search->heuristic != TP_HEURISTIC_DEFAULT && !search->domain->listed ? TP_HOW_OTHER
                 : search->learned                                                                    ? TP_HOW_LEARNED
                                                                                                      : TP_HOW_PLAIN;
    search->domain->run[h | (search->nodes.wide ? TP_HOW_WIDE : 0) | (search->bucketed ? TP_HOW_BUCKETED : 0)](search, run);
    search->touched += run->touched;
}

bool tp_search_best(const struct tp_search *search, tp_state *best)
{
    if (search->found) {
        *best = search->end;
        return true;
    }
    /* a run leaves the best open state on top of the list, free of stale entries */
    if (search->bucketed) {
        const struct tp_bucket *bucket = &search->bucket;
        uint64_t g;
        return bucket->count && (bucket->wide ? tp_bucket_top(bucket, &g, best, true) : tp_bucket_top(bucket, &g, best, false));
    }
    if (!search->open.count)
        return false;
    *best = tp_open_at_any(&search->open, TP_OPEN_ROOT).state;
    return true;
}

/* The index over the tiles of the states that are expanded next; or, when that is there, the tiles. */
static void prefetch_best(const struct tp_search *search, bool index)
{
    enum { BEST = 8 };
    const struct tp_nodes *nodes = &search->nodes;
    tp_state states[BEST];
    uint32_t count = tp_bucket_best(&search->bucket, states, BEST);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t x = tp_state_x(search, states[i]), y = tp_state_y(search, states[i]);
        if (index) {
            tp_prefetch(tp_tiles_peek_at(&nodes->tiles, x, y));
            continue;
        }
        const struct tp_node_tile *tile = (const struct tp_node_tile *)tp_tiles_peek(&nodes->tiles, x, y);
        if (tile)
            tp_nodes_prefetch(tile, tp_tile_slot(x, y), nodes->wide);
    }
}

void tp__search_prefetch(const struct tp_search *search, unsigned step)
{
    if (!search->bucketed || !search->active || !search->nodes.tiles.top)
        return;
    switch (step) {
    case 4:
        tp_prefetch_bytes(search->nodes.tiles.top, 2 * TP_LINE_BYTES);
        tp_bucket_prefetch_pages(&search->bucket);
        break;
    case 3:
        tp_bucket_prefetch_chunks(&search->bucket);
        break;
    case 2:
    case 1:
        prefetch_best(search, step == 2);
    }
}

/* The tile and slot of a state of the tree, NULL if it is not in it. */
static struct tp_node_tile *node_of(const struct tp_search *search, tp_state state, uint32_t *slot)
{
    if (!search->active)
        return NULL;
    uint32_t x = tp_state_x(search, state), y = tp_state_y(search, state);
    struct tp_node_tile *tile = tp_nodes_find(&search->nodes, x, y);
    *slot = tp_tile_slot(x, y);
    return tile && tp_nodes_g(&search->nodes, tile, *slot) != TP_COST_INFINITE ? tile : NULL;
}

bool tp_search_closed(const struct tp_search *search, tp_state state)
{
    uint32_t slot;
    const struct tp_node_tile *tile = node_of(search, state, &slot);
    return tile && tile->meta[slot] & TP_NODE_CLOSED;
}

tp_cost tp_search_h_now(const struct tp_search *search, tp_state state)
{
    tp_cost h = tp_search_h_goal(search, state);
    if (search->guide)
        h = tp__guide_h(search, state, h);
    return search->learned ? h + tp_learned_at(search->learned, tp_state_x(search, state), tp_state_y(search, state)) : h;
}

tp_cost tp_search_least_f(const struct tp_search *search)
{
    tp_state best;
    if (!tp_search_best(search, &best))
        return TP_COST_INFINITE;
    return tp_search_g(search, best) + tp_search_h_now(search, best);
}

bool tp_search_knows(const struct tp_search *search, tp_state state)
{
    uint32_t slot;
    return node_of(search, state, &slot) != NULL;
}

tp_state tp_search_parent(const struct tp_search *search, tp_state state, uint8_t *move)
{
    uint32_t slot;
    const struct tp_node_tile *tile = node_of(search, state, &slot);
    TP_CHECK(tile);
    if (tile->meta[slot] & TP_NODE_ROOT)
        return TP_STATE_NONE;
    if (search->nodes.listed) {
        *move = tp_node_links(tile)->move[slot];
        return tp_node_links(tile)->parent[slot];
    }
    uint8_t direction = tile->meta[slot] & TP_NODE_PARENT;
    *move = tp_direction_opposite[direction];
    return tp_state_step(search, state, direction);
}

uint8_t tp_search_move_to_parent(const struct tp_search *search, tp_state state)
{
    uint8_t from_parent;
    tp_state parent = tp_search_parent(search, state, &from_parent);
    return parent == TP_STATE_NONE ? TP_MOVE_NONE : search->domain->move_between(search, state, parent);
}

tp_state tp_search_move(const struct tp_search *search, tp_state state, uint8_t move)
{
    if (!search->domain->listed)
        return tp_state_step(search, state, move);
    struct tp_successor successor;
    bool there = search->domain->step(search, search->nodes.belief->truth, state, move, &successor);
    return there || search->nodes.belief->truth->graph ? successor.state : TP_STATE_NONE;
}

bool tp_search_link(struct tp_search *search, tp_state state, uint8_t move, tp_cost g)
{
    uint32_t x = tp_state_x(search, state), y = tp_state_y(search, state), slot = tp_tile_slot(x, y);
    struct tp_node_tile *tile = tp_nodes_touch(&search->nodes, x, y);
    if (!tile)
        return false;
    bool is_new = tp_nodes_g(&search->nodes, tile, slot) == TP_COST_INFINITE;
    uint8_t was = is_new ? 0 : tile->meta[slot] & (TP_NODE_CLOSED | TP_NODE_AGAIN);
    if (!(was & TP_NODE_CLOSED) && !enter(search, state, g))
        return false;
    search->touched += is_new;
    tp_nodes_set_g(&search->nodes, tile, slot, g);
    tile->meta[slot] = tp_direction_opposite[move] | was;
    search->moved_g = g < search->moved_g ? g : search->moved_g;
    return true;
}

tp_cost tp_search_g(const struct tp_search *search, tp_state state)
{
    uint32_t slot;
    const struct tp_node_tile *tile = node_of(search, state, &slot);
    TP_CHECK(tile);
    return tp_nodes_g(&search->nodes, tile, slot);
}

void tp_search_retarget(struct tp_search *search, tp_state goal)
{
    search->goal = search->end = goal;
    search->rekey = true;
    search->found = search->partial = false;
    search->end_bucket = search->end_g = search->end_f = UINT64_MAX;
    uint32_t slot;
    const struct tp_node_tile *tile = node_of(search, goal, &slot);
    if (!tile)
        return;
    uint64_t g = tp_nodes_g(&search->nodes, tile, slot);
    if (!(tile->meta[slot] & TP_NODE_CLOSED)) {
        enter(search, goal, g); /* its old entry may lie deep in the list with the f of the former goal; without memory that serves */
    } else if (search->reopens) {
        search->exhausted = false;
        search->end_g = g;
        search->end_f = search->g_factor * g + search->h_factor * tp_search_h_now(search, goal);
        search->end_bucket = tp_bucket_number(&search->bucket, search->end_f);
    } else {
        search->found = true;
    }
}
