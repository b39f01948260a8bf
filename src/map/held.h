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
#include <stddef.h>
#include <stdint.h>

struct tp_map_held {
    _Atomic uint64_t bytes;
    _Atomic uint64_t versions; /* layers' included */
};

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
