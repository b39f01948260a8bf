/* The 15-puzzle (2016, section 4.4), for measuring: a state is an arrangement of the tiles, a move a step of the blank: 0 up,
 * 1 down, 2 left, 3 right; each costs TP_COST_UNIT. h is the tiles' Manhattan distance.
 *
 * There are 10^13 states, so they are numbered as they are met, in a table of the session's own (struct store): 0 is the start,
 * 1 the goal. An arrangement is packed in 64 bits, four for each place, place 0 lowest. The table only grows; it ends at
 * STATES_MAX, at the session's cap of bytes, or where memory does: the search is then capped (space.full).
 *
 * Known deviations. The last tie, by the lower packed state, is by the lower number here: the one met first. The table takes its memory
 * from the system and doubles its index at once, so that a tick may last longer; it is not for the daemon.
 */
#include "domain/listed.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOVES = 4,
    SIDE = 4,
    PLACES = SIDE * SIDE,
    CHUNK_BITS = 15,
    CHUNK = 1 << CHUNK_BITS, /* states of one chunk */
    STATES_MAX = 1 << 27,
    CHUNKS_MAX = STATES_MAX >> CHUNK_BITS,
    SLOTS_AT_FIRST = 1 << 10,
    START = 0,
    GOAL = 1,
};
#define GOAL_PACKED UINT64_C(0xfedcba9876543210)

struct chunk {
    uint64_t packed[CHUNK];
    uint8_t h[CHUNK];     /* steps to the goal, by Manhattan */
    uint8_t blank[CHUNK]; /* where the blank is */
};

struct store {
    struct tp_space space;
    uint64_t *bytes; /* the session's count, and its cap */
    uint64_t bytes_max;
    uint32_t count;
    uint32_t slot_mask; /* of the index: its size less 1, a power of 2 */
    tp_state *slots;    /* by hash of the packed state, then the next free one; TP_STATE_NONE: empty */
    struct chunk *chunks[CHUNKS_MAX];
};

/* ---- Arrangements ---- */

static inline uint32_t tile_at(uint64_t packed, uint32_t place)
{
    return (uint32_t)(packed >> (4 * place)) & 15;
}

static inline uint32_t steps_between(uint32_t a, uint32_t b)
{
    int dx = (int)(a % SIDE) - (int)(b % SIDE), dy = (int)(a / SIDE) - (int)(b / SIDE);
    return (uint32_t)((dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy));
}

static uint32_t manhattan(uint64_t from, uint64_t to)
{
    uint8_t place_in_to[PLACES];
    uint32_t steps = 0;
    for (uint32_t place = 0; place < PLACES; place++)
        place_in_to[tile_at(to, place)] = (uint8_t)place;
    for (uint32_t place = 0; place < PLACES; place++)
        if (tile_at(from, place))
            steps += steps_between(place, place_in_to[tile_at(from, place)]);
    return steps;
}

/* Where the blank goes from a place; false over the edge. */
static inline bool blank_after(uint32_t blank, uint32_t move, uint32_t *to)
{
    uint32_t x = blank % SIDE, y = blank / SIDE;
    switch (move) {
    case 0:
        *to = blank - SIDE;
        return y > 0;
    case 1:
        *to = blank + SIDE;
        return y < SIDE - 1;
    case 2:
        *to = blank - 1;
        return x > 0;
    default:
        *to = blank + 1;
        return x < SIDE - 1;
    }
}

/* ---- The table ---- */

static void *take(struct store *store, size_t bytes)
{
    if (*store->bytes + bytes > store->bytes_max)
        return NULL;
    void *memory = malloc(bytes);
    if (memory)
        *store->bytes += bytes;
    return memory;
}

static void put(struct store *store, void *memory, size_t bytes)
{
    if (memory)
        *store->bytes -= bytes;
    free(memory);
}

static inline struct chunk *chunk_of(const struct store *store, tp_state state)
{
    return store->chunks[state >> CHUNK_BITS];
}

static inline uint64_t packed_of(const struct store *store, tp_state state)
{
    return chunk_of(store, state)->packed[state & (CHUNK - 1)];
}

static inline uint32_t slot_of(uint64_t packed, uint32_t slot_mask)
{
    uint64_t mixed = packed * 0x9e3779b97f4a7c15u;
    return (uint32_t)(mixed >> 32 ^ mixed >> 47) & slot_mask;
}

/* Doubles the index (or makes the first); false without memory. */
static bool grow(struct store *store)
{
    size_t count = store->slots ? 2 * ((size_t)store->slot_mask + 1) : SLOTS_AT_FIRST;
    tp_state *slots = take(store, count * sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0xff, count * sizeof *slots);
    uint32_t mask = (uint32_t)(count - 1);
    for (tp_state state = 0; state < store->count; state++) {
        uint32_t slot = slot_of(packed_of(store, state), mask);
        while (slots[slot] != TP_STATE_NONE)
            slot = (slot + 1) & mask;
        slots[slot] = state;
    }
    put(store, store->slots, ((size_t)store->slot_mask + 1) * sizeof *slots);
    store->slots = slots;
    store->slot_mask = mask;
    return true;
}

/* Whether one more state can be taken up, after making room for it. */
static bool make_room(struct store *store)
{
    if (store->count == STATES_MAX)
        return false;
    struct chunk **chunk = &store->chunks[store->count >> CHUNK_BITS];
    if (!*chunk)
        *chunk = take(store, sizeof **chunk);
    /* two thirds at most are used; a fuller index does too while there is no memory for another */
    bool crowded = !store->slots || 3 * (uint64_t)store->count >= 2 * ((uint64_t)store->slot_mask + 1);
    return *chunk && (!crowded || grow(store) || (store->slots && store->count < store->slot_mask));
}

/* The number of an arrangement, given one if it is new; TP_STATE_NONE, and the space is full, where it can't be. */
static tp_state number_of(struct store *store, uint64_t packed, uint32_t blank, uint32_t h)
{
    uint32_t slot = 0;
    for (int again = 0; again < 2; again++) {
        for (slot = slot_of(packed, store->slot_mask); store->slots && store->slots[slot] != TP_STATE_NONE;
             slot = (slot + 1) & store->slot_mask)
            if (packed_of(store, store->slots[slot]) == packed)
                return store->slots[slot];
        const tp_state *slots = store->slots;
        if (!make_room(store)) {
            store->space.full = true;
            return TP_STATE_NONE;
        }
        if (slots == store->slots)
            break; /* else the index is another: the slot is looked up anew */
    }
    tp_state state = store->count++;
    struct chunk *chunk = chunk_of(store, state);
    chunk->packed[state & (CHUNK - 1)] = packed;
    chunk->blank[state & (CHUNK - 1)] = (uint8_t)blank;
    chunk->h[state & (CHUNK - 1)] = (uint8_t)h;
    store->slots[slot] = state;
    return state;
}

static void puzzle_close(struct tp_space *space)
{
    struct store *store = (struct store *)space;
    for (uint32_t i = 0; i < CHUNKS_MAX; i++)
        put(store, store->chunks[i], sizeof *store->chunks[i]);
    put(store, store->slots, ((size_t)store->slot_mask + 1) * sizeof *store->slots);
    *store->bytes -= sizeof *store;
    free(store);
}

static struct tp_space *puzzle_open(const struct tp_map *map, uint64_t *bytes, uint64_t bytes_max)
{
    struct store *store = *bytes + sizeof *store <= bytes_max ? calloc(1, sizeof *store) : NULL;
    if (!store)
        return NULL;
    store->bytes = bytes;
    store->bytes_max = bytes_max;
    *bytes += sizeof *store;
    uint32_t blank = 0;
    while (tile_at(map->puzzle, blank))
        blank++;
    if (number_of(store, map->puzzle, blank, manhattan(map->puzzle, GOAL_PACKED)) == START &&
        number_of(store, GOAL_PACKED, 0, 0) == GOAL)
        return &store->space;
    puzzle_close(&store->space);
    return NULL;
}

/* ---- The space ---- */

static struct store *store_of(const struct tp_search *s)
{
    return (struct store *)s->space;
}

static inline tp_cost puzzle_h(const struct tp_search *s, tp_state from, tp_state to)
{
    const struct store *store = store_of(s);
    if (s->heuristic == TP_HEURISTIC_ZERO)
        return 0;
    uint32_t steps = to == GOAL ? chunk_of(store, from)->h[from & (CHUNK - 1)]
                                : manhattan(packed_of(store, from), packed_of(store, to));
    return (tp_cost)steps * TP_COST_UNIT;
}

static bool puzzle_has(const struct tp_map *map, enum tp_heuristic heuristic)
{
    (void)map;
    return heuristic == TP_HEURISTIC_MANHATTAN || heuristic == TP_HEURISTIC_ZERO;
}

/* The state one move away: TP_STATE_NONE over the edge, or where it can't be numbered. */
static tp_state state_after(struct store *store, tp_state state, uint32_t move)
{
    const struct chunk *chunk = chunk_of(store, state);
    uint32_t blank = chunk->blank[state & (CHUNK - 1)], to;
    if (!blank_after(blank, move, &to))
        return TP_STATE_NONE;
    uint64_t packed = chunk->packed[state & (CHUNK - 1)], tile = tile_at(packed, to);
    uint32_t h = chunk->h[state & (CHUNK - 1)] + steps_between(blank, (uint32_t)tile) -
                 steps_between(to, (uint32_t)tile);
    packed = (packed & ~(UINT64_C(15) << (4 * to))) | tile << (4 * blank); /* the blank's four bits are 0 */
    return number_of(store, packed, to, h);
}

static inline uint32_t puzzle_successors(const struct tp_search *s, tp_state state, struct tp_successor *out)
{
    uint32_t count = 0;
    for (uint32_t move = 0; move < MOVES; move++) {
        tp_state to = state_after(store_of(s), state, move);
        if (to != TP_STATE_NONE)
            out[count++] = (struct tp_successor){to, (uint8_t)move, TP_COST_UNIT};
    }
    return count;
}

TP_LISTED_KERNEL(puzzle, MOVES, puzzle_successors, puzzle_h)

static void puzzle_predecessors(const struct tp_search *s, tp_state state, tp_predecessor_cb visit,
                                void *context)
{
    for (uint32_t move = 0; move < MOVES; move++) {
        tp_state from = state_after(store_of(s), state, move);
        if (from != TP_STATE_NONE && !visit(context, from, (uint8_t)(move ^ 1), TP_COST_UNIT))
            return;
    }
}

static bool puzzle_step(const struct tp_search *s, const struct tp_map *map, tp_state state, uint8_t move,
                        struct tp_successor *out)
{
    (void)map;
    tp_state to = move < MOVES ? state_after(store_of(s), state, move) : TP_STATE_NONE;
    *out = (struct tp_successor){to, move, TP_COST_UNIT};
    return to != TP_STATE_NONE;
}

static uint8_t puzzle_move_between(const struct tp_search *s, tp_state from, tp_state to)
{
    return tp__listed_move_between(s, puzzle_successors, from, to);
}

/* A state's number is its cell. */
static uint32_t puzzle_cell(const struct tp_search *s, tp_state state)
{
    (void)s;
    return state;
}

static uint64_t puzzle_states(const struct tp_map *map)
{
    (void)map;
    return STATES_MAX;
}

const struct tp_domain tp_domain_puzzle = {
    .name = "puzzle",
    .run = {TP_LISTED_RUNS(puzzle)},
    .has = puzzle_has,
    .h = puzzle_h,
    .successors = puzzle_successors,
    .predecessors = puzzle_predecessors,
    .step = puzzle_step,
    .move_between = puzzle_move_between,
    .cell = puzzle_cell,
    .at_cell = puzzle_cell,
    .states = puzzle_states,
    .open = puzzle_open,
    .close = puzzle_close,
    .moves_max = MOVES,
    .step_max = TP_COST_UNIT,
    .listed = true,
    .reversible = true,
};
