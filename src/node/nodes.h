/* The node store of one search: g, parent and flags of every state met, in tiles of 8x8 cells.
 *
 * A tile carries the believed passability of its own cells and two around them, read when the search first touches
 * it and again when the beliefs have changed, so that an expansion reads the map only once a tile.
 * g is 32 bits where no path of the map can exceed them (narrow), else 64 (wide): the store is told which.
 * No pointers in nodes: on grids the parent is a direction, in listed spaces its number (struct tp_node_links).
 * What it refuses: a tile past its byte cap, and under the adaptive rule a touch that its purse cannot pay. Who calls it: the
 * search and its kernels; learn.c and lookahead.c for the flags of their own.
 */
#ifndef TP_NODE_NODES_H
#define TP_NODE_NODES_H

#include "base/prefetch.h"
#include "node/belief.h"
#include "node/learned.h"
#include "node/tiles.h"

enum {
    TP_NODE_PARENT = 15,    /* direction to the parent; meaningless in the root */
    TP_NODE_ROOT = 1 << 4,  /* has no parent */
    TP_NODE_CLOSED = 1 << 5,/* expanded */
    TP_NODE_AGAIN = 1 << 6, /* of searches that open closed states again: it was expanded once, and may be a parent, though it be open */
    TP_NODE_REACHED = 1 << 6, /* of searches that learn: the learning step has given it some h; a breadth-first lookahead: see lookahead.c */
    TP_NODE_LEARNED = 1 << 7, /* the learning step has given it its final h */
    TP_NODE_MARGIN = 2,     /* cells of surroundings a tile knows */
    TP_NODE_ROWS = TP_TILE_SIDE + 2 * TP_NODE_MARGIN,
};

struct tp_node_tile {
    struct tp_tile tile;
    uint32_t seen;                  /* the belief's stamp when the rows were read */
    uint16_t passable[TP_NODE_ROWS]; /* bit j of row i: cell (x0 - 2 + j, y0 - 2 + i) */
    struct tp_node_tile *beside[4]; /* grids: the tiles E, S, W, N as far as a search has gone from here, else tp_node_untouched */
    uint8_t meta[TP_TILE_CELLS];    /* TP_NODE_* */
    union {
        struct {
            uint32_t narrow[TP_TILE_CELLS];   /* UINT32_MAX: not generated */
            uint8_t marks[TP_TILE_CELLS / 2]; /* of a path through the tree (node/marks.h, narrow): its owner's; none in a new search */
        };
        uint64_t wide[TP_TILE_CELLS]; /* UINT64_MAX: not generated */
    } g;
};

/* Listed spaces: behind a wide tile, where each node was generated from. */
struct tp_node_links {
    uint32_t parent[TP_TILE_CELLS];
    uint8_t move[TP_TILE_CELLS]; /* out of the parent */
};

enum {
    TP_NODE_TILE_NARROW_BYTES = offsetof(struct tp_node_tile, g.marks) + TP_TILE_CELLS / 2,
    TP_NODE_TILE_WIDE_BYTES = sizeof(struct tp_node_tile),
    TP_NODE_TILE_LISTED_BYTES = TP_NODE_TILE_WIDE_BYTES + sizeof(struct tp_node_links),
};

struct tp_nodes {
    struct tp_tiles tiles;
    const struct tp_belief *belief; /* what is searched; borrowed from the session */
    bool wide;
    bool listed; /* nodes have links, and no passability around them */
    struct tp_nodes_adaptive *adaptive; /* NULL for none; see below */
};

/* The h-values that Adaptive A* takes from former searches (2012, Algorithm 3): when a search first touches a tile, each
 * state that an earlier search gave a g gets h = max(h, pathcost of that search - g). The paper does so state by state
 * on first touch; a tile's states are done together, to the same values.
 *
 * Each h raised is one update, the states of a tile that this search will never touch included, and is paid from the purse
 * that the search's expansions are paid from. A purse may run dry in the middle of a tile: then the tile keeps its old
 * stamp and g, the touch is refused, and the next one goes on where this one stopped, for a state raised already is
 * not raised again. What is paid here in all is no more than one update for each expansion of a former search.
 *
 * A search is remembered as long as a tile bears its stamp. Stamps no tile bears are given to searches again, so that there
 * are at most as many as tiles, and none ever wraps. The table grows before a tile gets a stamp, or the touch is refused. */
struct tp_nodes_adaptive {
    struct tp_tiles *learned;
    struct tp_tiles former; /* what is known of each search, by stamp (struct tp_nodes_former): 64 to a tile */
    uint32_t room;          /* stamps that `former` holds; 0 is none */
    uint32_t stamps;        /* of them given to a search so far */
    uint32_t unborne;       /* the first that may be given again; 0: none may */
    uint32_t tiles;         /* of the store, that bear a stamp */
    uint64_t era;           /* what searches of earlier ones teach is forgotten */
    uint64_t updates;   /* h-values raised, in all */
    uint64_t booked;    /* of these, told to a tick's reply */
    uint64_t purse;     /* expansions and updates that may still be made; the search's user fills it */
    bool unpaid;        /* the touch last refused was refused for want of purse, not of memory */
    uint64_t (*h)(const void *context, uint32_t x, uint32_t y); /* the domain's own h */
    const void *context;
};

/* A search that some tile was last touched by. */
struct tp_nodes_former {
    uint64_t pathcost; /* what it teaches */
    uint64_t era;      /* if this is the present one */
    uint32_t tiles;    /* that bear its stamp */
    uint32_t next;     /* of the stamps that no tile bears */
};

struct tp_nodes_former_tile {
    struct tp_tile tile;
    struct tp_nodes_former former[TP_TILE_CELLS];
};

/* Gives a store the adaptive rule, before its first use; `adaptive` is borrowed, and has its learned h, h and context. */
void tp_nodes_adapt(struct tp_nodes *nodes, struct tp_nodes_adaptive *adaptive);

/* What the search of that stamp teaches; 0: nothing. Cost: O(1). */
uint64_t tp_nodes_taught(const struct tp_nodes *nodes, uint32_t stamp);

/* The present search teaches this from now on; 0: nothing. Nothing is taught by any search so far. Cost: O(1). */
void tp_nodes_teach(struct tp_nodes *nodes, uint64_t pathcost);
void tp_nodes_unteach(struct tp_nodes_adaptive *adaptive);

/* Prepares an empty store over width x height slots; allocates nothing. A listed store is wide. */
void tp_nodes_init(struct tp_nodes *nodes, const struct tp_belief *belief, uint32_t width, uint32_t height, bool wide,
                   bool listed, struct tp_pool *pool, uint32_t stamp_max, uint64_t *bytes, uint64_t bytes_max);

/* Begins a new search: all nodes are forgotten, but for what the adaptive rule would still take from them. False when there is no
 * memory to tell its nodes by. Cost: O(1), but O(tiles held) when the stamp wraps, without the rule. */
bool tp_nodes_begin(struct tp_nodes *nodes);

/* Puts every block back. */
void tp_nodes_fini(struct tp_nodes *nodes);

/* Whether the purse of a store with the adaptive rule is good for an expansion; pays for one made. */
static inline bool tp_nodes_can_pay(const struct tp_nodes *nodes)
{
    return !nodes->adaptive || nodes->adaptive->purse > 0;
}

static inline void tp_nodes_pay(struct tp_nodes *nodes)
{
    if (nodes->adaptive)
        nodes->adaptive->purse--;
}

/* Whether the touch last refused would have been granted with a fuller purse. */
static inline bool tp_nodes_unpaid(const struct tp_nodes *nodes)
{
    return nodes->adaptive && nodes->adaptive->unpaid;
}

/* The tile over a cell, set up for this search; NULL at the cap, or when what it teaches can't be paid and leave one
 * unit of the purse for the expansion that wants it (tp_nodes_unpaid). */
struct tp_node_tile *tp_nodes_touch_slow(struct tp_nodes *nodes, uint32_t x, uint32_t y);

static inline struct tp_node_tile *tp_nodes_find(const struct tp_nodes *nodes, uint32_t x, uint32_t y)
{
    return (struct tp_node_tile *)tp_tiles_find(&nodes->tiles, x, y);
}

static inline struct tp_node_tile *tp_nodes_touch(struct tp_nodes *nodes, uint32_t x, uint32_t y)
{
    struct tp_node_tile *tile = tp_nodes_find(nodes, x, y);
    return __builtin_expect(tile != NULL, 1) ? tile : tp_nodes_touch_slow(nodes, x, y);
}

/* Has the processor fetch what an expansion of a state in this slot reads of its tile. Cost: O(1). */
static inline void tp_nodes_prefetch(const struct tp_node_tile *tile, uint32_t slot, bool wide)
{
    uint32_t above = (slot - TP_TILE_SIDE) % TP_TILE_CELLS, below = (slot + TP_TILE_SIDE) % TP_TILE_CELLS;
    tp_prefetch(tile);
    tp_prefetch(tile->meta);
    tp_prefetch(wide ? (const void *)&tile->g.wide[slot] : &tile->g.narrow[slot]);
    tp_prefetch(wide ? (const void *)&tile->g.wide[above] : &tile->g.narrow[above]);
    tp_prefetch(wide ? (const void *)&tile->g.wide[below] : &tile->g.narrow[below]);
}

/* A tile that no search has touched: every g is that of a state not generated. Not to be written. */
extern const struct tp_node_tile tp__node_untouched;

static inline struct tp_node_tile *tp_node_untouched(void)
{
    return (struct tp_node_tile *)(uintptr_t)&tp__node_untouched;
}

enum { TP_BESIDE_E, TP_BESIDE_S, TP_BESIDE_W, TP_BESIDE_N };

/* The tile beside another as far as that one knows it, else tp_node_untouched. Grids. */
static inline struct tp_node_tile *tp_nodes_beside(const struct tp_nodes *nodes, const struct tp_node_tile *tile, uint32_t direction)
{
    struct tp_node_tile *beside = tile->beside[direction];
    return beside->tile.stamp == nodes->tiles.stamp ? beside : tp_node_untouched();
}

/* The tile over a cell of the tile beside another, E, S, W or N of it: as tp_nodes_touch, mostly without a look-up. */
static inline struct tp_node_tile *tp_nodes_touch_beside(struct tp_nodes *nodes, struct tp_node_tile *tile, uint32_t direction,
                                                         uint32_t x, uint32_t y)
{
    struct tp_node_tile *beside = tile->beside[direction];
    if (__builtin_expect(beside->tile.stamp == nodes->tiles.stamp, 1))
        return beside;
    beside = tp_nodes_touch(nodes, x, y);
    if (beside)
        tile->beside[direction] = beside; /* tiles stay where they are until the store's end */
    return beside;
}

/* Reads the believed passability of the tile over (x, y). */
void tp__nodes_read_belief(const struct tp_nodes *nodes, struct tp_node_tile *tile, uint32_t x, uint32_t y);

/* Reads the tile's passability anew if beliefs have changed since. Cost: O(1). */
static inline void tp_nodes_refresh(const struct tp_nodes *nodes, struct tp_node_tile *tile, uint32_t x, uint32_t y)
{
    if (__builtin_expect(tile->seen != nodes->belief->stamp, 0))
        tp__nodes_read_belief(nodes, tile, x, y);
}

static inline struct tp_node_links *tp_node_links(const struct tp_node_tile *tile)
{
    return (struct tp_node_links *)(uintptr_t)(tile + 1);
}

/* g of a slot as 64 bits, TP_COST_INFINITE where not generated. */
static inline uint64_t tp_nodes_g(const struct tp_nodes *nodes, const struct tp_node_tile *tile, uint32_t slot)
{
    if (nodes->wide)
        return tile->g.wide[slot];
    return tile->g.narrow[slot] == UINT32_MAX ? TP_COST_INFINITE : tile->g.narrow[slot];
}

static inline void tp_nodes_set_g(const struct tp_nodes *nodes, struct tp_node_tile *tile, uint32_t slot, uint64_t g)
{
    if (nodes->wide)
        tile->g.wide[slot] = g;
    else
        tile->g.narrow[slot] = (uint32_t)g;
}

#endif
