#include "base/pool.h"

#include "base/check.h"

#include <stdlib.h>

/* Pieces of packed paths, which stay when the tiles go, and would hold their slabs; tiles of paths; tiles of paths with many moves, and of
 * what was seen; of narrow nodes; of those with marks; pages; of wide nodes, and of learned h; of wide nodes with links, and of D* Lite's
 * narrow ones; D* Lite's wide tiles, larger pages, chunks of open lists; minds. */
const uint32_t tp_pool_class_bytes[TP_POOL_CLASSES] = {36, 40, 128, 384, 448, 512, 640, 960, TP_POOL_BLOCK_MAX, TP_POOL_MIND_MAX};

enum { SLAB_HEADER = 128 }; /* two lines, which are fetched together, are of one block */

/* Aligned to its own size, so that a block's address tells its slab. */
struct tp_pool_slab {
    struct tp_pool_slab *next, *previous; /* among the partial ones of its class, or the spare ones */
    void *free;                           /* blocks put back, each holding the next one's address */
    uint32_t used;                        /* blocks out */
    uint32_t carved;                      /* blocks given out at least once; the rest lie beyond */
    int class;
};

static int class_for(uint32_t bytes)
{
    for (int i = 0; i < TP_POOL_CLASSES; i++)
        if (bytes <= tp_pool_class_bytes[i])
            return i;
    return -1;
}

/* From one block to the next. */
static uint32_t stride(int class)
{
    return (tp_pool_class_bytes[class] + 7) & ~7u;
}

static uint32_t slab_blocks(int class)
{
    return (TP_POOL_SLAB_BYTES - SLAB_HEADER) / stride(class);
}

static void link_slab(struct tp_pool_slab **list, struct tp_pool_slab *slab)
{
    slab->previous = NULL;
    slab->next = *list;
    if (*list)
        (*list)->previous = slab;
    *list = slab;
}

static void unlink_slab(struct tp_pool_slab **list, struct tp_pool_slab *slab)
{
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        *list = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
}

/* ---- Slabs and the system ---- */

bool tp_pool_cap_take(struct tp_pool_cap *cap, uint64_t bytes)
{
    if (!cap)
        return true;
    uint64_t before = atomic_fetch_add_explicit(&cap->bytes, bytes, memory_order_relaxed);
    if (before + bytes <= atomic_load_explicit(&cap->bytes_max, memory_order_relaxed))
        return true;
    atomic_fetch_sub_explicit(&cap->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&cap->refused, 1, memory_order_relaxed);
    return false;
}

void tp_pool_cap_give(struct tp_pool_cap *cap, uint64_t bytes)
{
    if (cap)
        atomic_fetch_sub_explicit(&cap->bytes, bytes, memory_order_relaxed);
}

static void *slab_new(const struct tp_pool *pool)
{
    if (pool->source)
        return pool->source->get(pool->source->context);
    if (!tp_pool_cap_take(pool->cap, TP_POOL_SLAB_BYTES))
        return NULL;
    void *slab = aligned_alloc(TP_POOL_SLAB_BYTES, TP_POOL_SLAB_BYTES);
    if (!slab)
        tp_pool_cap_give(pool->cap, TP_POOL_SLAB_BYTES);
    return slab;
}

static void slab_free(struct tp_pool *pool, struct tp_pool_slab *slab)
{
    pool->slab_bytes -= TP_POOL_SLAB_BYTES;
    if (pool->source) {
        pool->source->put(pool->source->context, slab);
        return;
    }
    free(slab);
    tp_pool_cap_give(pool->cap, TP_POOL_SLAB_BYTES);
}

/* A slab with no block out: a spare one, else a new one; NULL at the cap. */
static struct tp_pool_slab *slab_take(struct tp_pool *pool)
{
    struct tp_pool_slab *slab = pool->spare;
    if (slab) {
        unlink_slab(&pool->spare, slab);
        pool->spare_count--;
        return slab;
    }
    slab = slab_new(pool);
    pool->slab_bytes += slab ? TP_POOL_SLAB_BYTES : 0;
    return slab;
}

/* ---- Blocks ---- */

void tp_pool_init(struct tp_pool *pool, struct tp_pool_cap *cap)
{
    *pool = (struct tp_pool){.cap = cap};
}

void tp_pool_fini(struct tp_pool *pool)
{
    TP_CHECK(pool->used_bytes == 0);
    while (pool->spare) {
        struct tp_pool_slab *slab = pool->spare;
        unlink_slab(&pool->spare, slab);
        slab_free(pool, slab);
    }
    *pool = (struct tp_pool){0};
}

void *tp_pool_get(struct tp_pool *pool, uint32_t bytes)
{
    int class = class_for(bytes);
    TP_CHECK(class >= 0);
    struct tp_pool_slab *slab = pool->partial[class];
    if (!slab) {
        slab = slab_take(pool);
        if (!slab)
            return NULL;
        slab->free = NULL;
        slab->used = slab->carved = 0;
        slab->class = class;
        link_slab(&pool->partial[class], slab);
    }
    void *block = slab->free;
    if (block)
        slab->free = *(void **)block;
    else
        block = (char *)slab + SLAB_HEADER + (size_t)slab->carved++ * stride(class);
    if (++slab->used == slab_blocks(class))
        unlink_slab(&pool->partial[class], slab);
    pool->used_bytes += tp_pool_class_bytes[class];
    return block;
}

void tp_pool_put(struct tp_pool *pool, void *block, uint32_t bytes)
{
    int class = class_for(bytes);
    struct tp_pool_slab *slab =
        (struct tp_pool_slab *)((char *)block - ((uintptr_t)block & (TP_POOL_SLAB_BYTES - 1)));
    TP_CHECK(class >= 0 && slab->class == class && slab->used > 0);
    if (slab->used == slab_blocks(class))
        link_slab(&pool->partial[class], slab);
    *(void **)block = slab->free;
    slab->free = block;
    pool->used_bytes -= tp_pool_class_bytes[class];
    if (--slab->used)
        return;
    unlink_slab(&pool->partial[class], slab);
    if (pool->spare_count == TP_POOL_SPARE_MAX) {
        slab_free(pool, slab);
    } else {
        link_slab(&pool->spare, slab);
        pool->spare_count++;
    }
}
