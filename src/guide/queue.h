/* A queue of keys, least first: a 4-ary heap of 64-bit words in pages of the cache's memory.
 *
 * Used by the searches over the block graph (field.c, scout.c), whose keys have a distance above and a number below. */
#ifndef TP_GUIDE_QUEUE_H
#define TP_GUIDE_QUEUE_H

#include "guide/pages.h"

#include <stdbool.h>

enum { TP_QUEUE_PAGE_KEYS = TP_PAGE_BYTES / 8 };

struct tp_queue {
    struct tp_pages pages;
    uint32_t room, count; /* pages held, keys queued */
};

static inline uint64_t tp_queue_key(uint32_t distance, uint32_t number)
{
    return (uint64_t)distance << 32 | number;
}

static inline uint64_t *tp__queue_at(const struct tp_queue *queue, uint32_t i)
{
    return (uint64_t *)tp_pages_find(&queue->pages, i / TP_QUEUE_PAGE_KEYS) + i % TP_QUEUE_PAGE_KEYS;
}

/* Whether `more` keys fit the pages held. */
static inline bool tp_queue_fits(const struct tp_queue *queue, uint32_t more)
{
    return (uint64_t)queue->count + more <= (uint64_t)queue->room * TP_QUEUE_PAGE_KEYS;
}

/* The least; the queue must not be empty. */
static inline uint64_t tp_queue_least(const struct tp_queue *queue)
{
    return *tp__queue_at(queue, 0);
}

/* Enters a key; it must fit. Cost: O(log n). */
static inline void tp_queue_push(struct tp_queue *queue, uint64_t key)
{
    uint32_t i = queue->count++;
    while (i > 0) {
        uint32_t parent = (i - 1) / 4;
        uint64_t above = *tp__queue_at(queue, parent);
        if (above <= key)
            break;
        *tp__queue_at(queue, i) = above;
        i = parent;
    }
    *tp__queue_at(queue, i) = key;
}

/* Removes the least; the queue must not be empty. Cost: O(log n). */
static inline void tp_queue_pop(struct tp_queue *queue)
{
    uint64_t key = *tp__queue_at(queue, --queue->count);
    uint32_t i = 0, count = queue->count;
    for (uint32_t first; (first = 4 * i + 1) < count;) {
        uint32_t least = first;
        for (uint32_t child = first + 1; child < first + 4 && child < count; child++)
            if (*tp__queue_at(queue, child) < *tp__queue_at(queue, least))
                least = child;
        if (*tp__queue_at(queue, least) >= key)
            break;
        *tp__queue_at(queue, i) = *tp__queue_at(queue, least);
        i = least;
    }
    if (count)
        *tp__queue_at(queue, i) = key;
}

#endif
