/* Where a loop's search memory comes from: slabs cut from regions of 2 MiB, on huge pages where the system has them.
 *
 * What it is: a source for a pool (base/pool.h). A thousand sessions touch hundreds of MiB in no order; on pages of 4 KiB each touch is a
 * miss of the page tables too. The first region stays on small pages, so that a loop with little to do takes little. A region whose slabs
 * are all back goes back to the system; of the rest a few free slabs are kept, the others' memory goes back under their addresses.
 * What it refuses: nothing; the cap is the pool's. Who calls it: one thread, through its pool.
 */
#ifndef TP_DAEMON_SLABS_H
#define TP_DAEMON_SLABS_H

#include "base/pool.h"

enum {
    TP_SLABS_REGION_BYTES = 2 * 1024 * 1024,
    TP_SLABS_OF_REGION = TP_SLABS_REGION_BYTES / TP_POOL_SLAB_BYTES,
    TP_SLABS_KEPT_MAX = TP_SLABS_OF_REGION, /* free slabs, of regions in use, that keep their memory */
};

struct tp_slabs_region;

struct tp_slabs {
    struct tp_pool_source source;
    struct tp_slabs_region *regions; /* by address */
    size_t count, capacity;
    size_t with_free; /* no region before this one has a free slab */
    uint32_t kept;    /* free slabs that keep their memory */
};

/* Makes a source of no regions. `slabs` must stay where it is. */
void tp_slabs_init(struct tp_slabs *slabs);

/* All slabs must be back. */
void tp_slabs_fini(struct tp_slabs *slabs);

#endif
