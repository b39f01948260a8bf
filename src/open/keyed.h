/* A heap of states by two-part keys, whose entries can be changed and removed: the priority queue U of D* Lite.
 *
 * Least k1 first, then least k2, then the lower state. It stands on the storage of the wide list (open/exact.h), whose words
 * it fills with k1, k2 and the state; `moved` tells the owner where each state stands now, so that an entry is found
 * again without a search and a state is entered once only: memory follows the states queued, however long the queue lives.
 * Not thread-safe; used by search/dstar_lite.c only.
 */
#ifndef TP_OPEN_KEYED_H
#define TP_OPEN_KEYED_H

#include "open/exact.h"

/* A place in the heap, TP_OPEN_ROOT .. TP_OPEN_ROOT + count - 1, or none. */
#define TP_KEYED_NONE UINT32_MAX

struct tp_key {
    uint64_t k1, k2;
};

static inline bool tp_key_less(struct tp_key a, struct tp_key b)
{
    return a.k1 != b.k1 ? a.k1 < b.k1 : a.k2 < b.k2;
}

/* The state stands at `place` now; a constant where these functions are inlined. */
typedef void (*tp_keyed_moved_cb)(void *context, uint32_t state, uint32_t place);

/* Lets an entry rise or sink from a free place to its own. Cost: O(log n). */
TP_ALWAYS_INLINE void tp__keyed_settle(struct tp_open *heap, struct tp_open_wide e, uint32_t i, tp_keyed_moved_cb moved,
                                       void *context)
{
    uint32_t end = TP_OPEN_ROOT + heap->count;
    while (i > TP_OPEN_ROOT) {
        uint32_t parent = (i >> 2) + 2;
        struct tp_open_wide p = *tp__open_wide(heap, parent);
        if (!tp__open_less_wide(&e, &p))
            break;
        *tp__open_wide(heap, i) = p;
        moved(context, (uint32_t)p.state, i);
        i = parent;
    }
    for (uint32_t first; (first = (i - 2) << 2) < end;) {
        uint32_t least = first;
        for (uint32_t child = first + 1; child < first + 4 && child < end; child++)
            if (tp__open_less_wide(tp__open_wide(heap, child), tp__open_wide(heap, least)))
                least = child;
        struct tp_open_wide l = *tp__open_wide(heap, least);
        if (!tp__open_less_wide(&l, &e))
            break;
        *tp__open_wide(heap, i) = l;
        moved(context, (uint32_t)l.state, i);
        i = least;
    }
    *tp__open_wide(heap, i) = e;
    moved(context, (uint32_t)e.state, i);
}

/* Enters a state that stands nowhere (TP_KEYED_NONE; room must have been reserved), or gives the one at `place` another key. */
TP_ALWAYS_INLINE void tp_keyed_set(struct tp_open *heap, uint32_t place, uint32_t state, struct tp_key key,
                                   tp_keyed_moved_cb moved, void *context)
{
    if (place == TP_KEYED_NONE)
        place = TP_OPEN_ROOT + heap->count++;
    tp__keyed_settle(heap, (struct tp_open_wide){key.k1, key.k2, state, 0}, place, moved, context);
}

/* Removes the entry at `place`, telling its state so. */
TP_ALWAYS_INLINE void tp_keyed_remove(struct tp_open *heap, uint32_t place, tp_keyed_moved_cb moved, void *context)
{
    uint32_t state = (uint32_t)tp__open_wide(heap, place)->state, last = TP_OPEN_ROOT + --heap->count;
    struct tp_open_wide e = *tp__open_wide(heap, last);
    if (place != last)
        tp__keyed_settle(heap, e, place, moved, context);
    moved(context, state, TP_KEYED_NONE);
}

/* The least entry; the heap must not be empty. */
static inline uint32_t tp_keyed_least(const struct tp_open *heap, struct tp_key *key)
{
    const struct tp_open_wide *e = tp__open_wide(heap, TP_OPEN_ROOT);
    *key = (struct tp_key){e->f, e->g_inverted};
    return (uint32_t)e->state;
}

#endif
