/* How much memory the versions of maps hold together, counted where it is taken and given back: what several versions
 * share counts once, and what an old version alone holds until its last reader leaves counts until then.
 *
 * What it is: two numbers that the caller owns and tp_map_count_in hands to a map; every version made from it adds to
 * them. Bytes are those asked of the system: versions, tables, tiles, graphs, their shapes and pages. What it refuses:
 * to be the program's one count (each world has its own). Who calls it: src/map changes it, on whichever thread makes or
 * frees a version, never on a tick that does neither; any thread reads it.
 */
#ifndef TP_MAP_HELD_H
#define TP_MAP_HELD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A version, or its block graph, that nobody holds any more. */
struct tp_gone {
    struct tp_gone *next;
    void (*end)(struct tp_gone *gone);
};

struct tp_map_held {
    _Atomic uint64_t bytes;
    _Atomic uint64_t versions; /* layers' included */
    bool keeps_gone;               /* set before the first map: what nobody holds any more is put aside, in O(1), for tp_map_held_end_gone: freeing */
    _Atomic(struct tp_gone *) gone; /* it takes as long as it is large, which is no tick's business */
};

/* Frees what was put aside. Any thread that has the time. */
static inline void tp_map_held_end_gone(struct tp_map_held *held)
{
    struct tp_gone *list;
    while ((list = atomic_exchange_explicit(&held->gone, NULL, memory_order_acquire)) != NULL)
        while (list != NULL) {
            struct tp_gone *next = list->next;
            list->end(list);
            list = next;
        }
}

/* The last reference is gone: frees it, or puts it aside. */
static inline void tp__held_end(struct tp_map_held *held, struct tp_gone *gone, void (*end)(struct tp_gone *gone))
{
    if (!held || !held->keeps_gone) {
        end(gone);
        return;
    }
    gone->end = end;
    gone->next = atomic_load_explicit(&held->gone, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&held->gone, &gone->next, gone, memory_order_release, memory_order_relaxed))
        ;
}

/* NULL: nobody counts. */
static inline void tp__held_add(struct tp_map_held *held, size_t bytes)
{
    if (held)
        atomic_fetch_add_explicit(&held->bytes, bytes, memory_order_relaxed);
}

static inline void tp__held_take(struct tp_map_held *held, size_t bytes)
{
    if (held)
        atomic_fetch_sub_explicit(&held->bytes, bytes, memory_order_relaxed);
}

#endif
