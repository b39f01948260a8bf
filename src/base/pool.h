/* Block pool: where a search's memory comes from, so that steady ticks never call malloc.
 *
 * What it is: fixed-size blocks in a few classes, carved from slabs of 64 KiB. A slab whose blocks are all back is
 * spare: it serves any class, and beyond a few spare ones goes back to where it came from. A pool belongs to
 * one thread; several pools may share one cap on their bytes.
 * What it refuses: a slab beyond the cap (the search then goes on with what it has and says so).
 */
#ifndef TP_BASE_POOL_H
#define TP_BASE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A cap on bytes shared by pools of several threads. */
struct tp_pool_cap {
    _Atomic uint64_t bytes;     /* taken from the system by all pools under this cap, and their sources */
    _Atomic uint64_t bytes_max; /* UINT64_MAX for none; may be changed at any time */
    _Atomic uint64_t refused;   /* how often something was, for want of room: who holds memory to spare lets go of it */
};

/* Whether there is room for so many more bytes, which are taken then; and gives some back. No cap: NULL. Any thread. */
bool tp_pool_cap_take(struct tp_pool_cap *cap, uint64_t bytes);
void tp_pool_cap_give(struct tp_pool_cap *cap, uint64_t bytes);

enum {
    TP_POOL_CLASSES = 10,
    TP_POOL_BLOCK_MAX = 2048, /* bytes of the largest block but a mind's, */
    TP_POOL_MIND_MAX = 3264,  /* and of that */
    TP_POOL_SLAB_BYTES = 64 * 1024,
    TP_POOL_SPARE_MAX = 16, /* spare slabs a pool keeps: 1 MiB */
};
extern const uint32_t tp_pool_class_bytes[TP_POOL_CLASSES];

struct tp_pool_slab;

/* Where slabs come from: TP_POOL_SLAB_BYTES each, aligned to as much; get gives NULL when there is no more. It counts what it takes from the system
 * under the cap by itself, for it may hold more than what it handed out. */
struct tp_pool_source {
    void *(*get)(void *context);
    void (*put)(void *context, void *slab);
    void *context;
};

struct tp_pool {
    struct tp_pool_cap *cap;                      /* borrowed; NULL for no cap. Of slabs from the libc */
    const struct tp_pool_source *source;          /* borrowed; may be set before the first block is got. NULL: the libc */
    struct tp_pool_slab *partial[TP_POOL_CLASSES]; /* slabs of a class with a block to give */
    struct tp_pool_slab *spare;                   /* slabs with no block out */
    uint32_t spare_count;
    uint64_t slab_bytes; /* of all its slabs, spare ones included */
    uint64_t used_bytes; /* in blocks handed out */
};

void tp_pool_init(struct tp_pool *pool, struct tp_pool_cap *cap);

/* Gives the spare slabs back to the system. All blocks must have been put back. */
void tp_pool_fini(struct tp_pool *pool);

/* Gives a block of the smallest class that holds `bytes` (aligned to 64 bytes but for the two smallest classes, to 8; contents undefined), NULL at the cap or out
 * of memory. Cost: O(1); a system allocation only when no spare slab is left. */
void *tp_pool_get(struct tp_pool *pool, uint32_t bytes);

/* Takes back a block that was got with the same `bytes`. Cost: O(1). */
void tp_pool_put(struct tp_pool *pool, void *block, uint32_t bytes);

#endif
