/* Memory that was freed, given back to the system.
 *
 * What it is: the allocator keeps what is freed between blocks still in use, so that after a burst (thousands of sessions, old
 * versions of large maps) the process stays as large as it ever was. Every TP_TRIM_MS someone looks how much search memory and map
 * memory is in use; once it has fallen by TP_TRIM_BYTES below what it was since the last time, the allocator is asked to give back whole free pages.
 * What it refuses: to run on a loop's thread. Who calls it: the thread that watches for signals.
 */
#ifndef TP_DAEMON_TRIM_H
#define TP_DAEMON_TRIM_H

#include "base/pool.h"
#include "map/held.h"

enum { TP_TRIM_MS = 200, TP_TRIM_BYTES = 16 * 1024 * 1024 };

struct tp_trim {
    const struct tp_pool_cap *cap;  /* borrowed: the search memory */
    const struct tp_map_held *held; /* borrowed: the map memory */
    uint64_t bytes_most;            /* in use, since the last time */
};

/* Looks once, and gives back what there is. Cost: what the allocator's free pages cost, on no loop's thread; allocations of
 * other threads may wait for an arena meanwhile. */
void tp_trim_look(struct tp_trim *trim);

#endif
