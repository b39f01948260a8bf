#include "base/pool.h"

#include "base/check.h"

#include <stdlib.h>

/* Node tiles, their index pages, open-list chunks and path tiles each fit one of these closely. */
const uint32_t tp_pool_class_bytes[TP_POOL_CLASSES] = {128, 384, 640, 2048, 32768};

enum { SLAB_BYTES = 64 * 1024, SLAB_HEADER = 64 };

struct slab {
    struct slab *next;
};

static int class_for(uint32_t bytes)
{
    for (int i = 0; i < TP_POOL_CLASSES; i++)
        if (bytes <= tp_pool_class_bytes[i])
            return i;
    return -1;
}

void tp_pool_init(struct tp_pool *pool, struct tp_pool_cap *cap)
{
    *pool = (struct tp_pool){.cap = cap};
}

void tp_pool_fini(struct tp_pool *pool)
{
    TP_CHECK(pool->used_bytes == 0);
    struct slab *slab = pool->slabs;
    while (slab) {
        struct slab *next = slab->next;
        free(slab);
        slab = next;
    }
    if (pool->cap)
        atomic_fetch_sub_explicit(&pool->cap->bytes, pool->slab_bytes, memory_order_relaxed);
    *pool = (struct tp_pool){0};
}

/* Takes one slab's bytes from the cap; false when that would pass it. */
static int cap_take(struct tp_pool_cap *cap)
{
    if (!cap)
        return 1;
    uint64_t before = atomic_fetch_add_explicit(&cap->bytes, SLAB_BYTES, memory_order_relaxed);
    if (before + SLAB_BYTES <= atomic_load_explicit(&cap->bytes_max, memory_order_relaxed))
        return 1;
    atomic_fetch_sub_explicit(&cap->bytes, SLAB_BYTES, memory_order_relaxed);
    return 0;
}

/* Cuts a new slab into blocks of one class and chains them to its free list. */
static int slab_add(struct tp_pool *pool, int class)
{
    if (!cap_take(pool->cap))
        return 0;
    struct slab *slab = aligned_alloc(64, SLAB_BYTES);
    if (!slab) {
        if (pool->cap)
            atomic_fetch_sub_explicit(&pool->cap->bytes, SLAB_BYTES, memory_order_relaxed);
        return 0;
    }
    slab->next = pool->slabs;
    pool->slabs = slab;
    pool->slab_bytes += SLAB_BYTES;
    uint32_t bytes = tp_pool_class_bytes[class];
    uint32_t count = (SLAB_BYTES - SLAB_HEADER) / bytes;
    for (uint32_t i = count; i-- > 0;) {
        void **block = (void **)((char *)slab + SLAB_HEADER + (size_t)i * bytes);
        *block = pool->free[class];
        pool->free[class] = block;
    }
    return 1;
}

void *tp_pool_get(struct tp_pool *pool, uint32_t bytes)
{
    int class = class_for(bytes);
    TP_CHECK(class >= 0);
    if (!pool->free[class] && !slab_add(pool, class))
        return NULL;
    void **block = pool->free[class];
    pool->free[class] = *block;
    pool->used_bytes += tp_pool_class_bytes[class];
    return block;
}

void tp_pool_put(struct tp_pool *pool, void *block, uint32_t bytes)
{
    int class = class_for(bytes);
    TP_CHECK(class >= 0 && pool->used_bytes >= tp_pool_class_bytes[class]);
    *(void **)block = pool->free[class];
    pool->free[class] = block;
    pool->used_bytes -= tp_pool_class_bytes[class];
}
