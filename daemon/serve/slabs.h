/* Where a loop's search memory comes from: slabs cut from regions of 2 MiB, on huge pages where the system has them.
 *
 *     none -> free, with memory (kept) <-> handed out       kept -> none: let go of, when nobody ticks
 *
 * What it is: a source for a pool (base/pool.h). A thousand sessions touch hundreds of MiB in no order; on pages of 4 KiB each touch is a
 * miss of the page tables too. The first region stays on small pages, so that a loop with little to do takes little; any other takes
 * memory as a whole, where the cap has room for it, and else slab by slab.
 * The system hands out memory zeroed, 2 MiB at a time, in the tick that touches it. So a slab that is put back keeps its memory for the next search: as
 * much is kept as was in use at some time of the last seconds and is not now, and, while more and more is in use, one region that was touched
 * ahead, on another thread. What is kept for longer goes, little by little: an idle loop ends with none.
 * What is kept counts under the cap as what is in use does. Where another pool is refused memory at the cap, all that is kept is let go of.
 * Who calls it: one thread, through its pool, and between ticks; tp_slabs_touch another.
 */
#ifndef TP_DAEMON_SLABS_H
#define TP_DAEMON_SLABS_H

#include "base/pool.h"

enum {
    TP_SLABS_REGION_BYTES = 2 * 1024 * 1024,
    TP_SLABS_OF_REGION = TP_SLABS_REGION_BYTES / TP_POOL_SLAB_BYTES,
    TP_SLABS_SECONDS = 5,       /* the last of them, this one among them */
    TP_SLABS_SECOND_LOOKS = 50,
    TP_SLABS_LET_GO_OF = 256,   /* a look lets go of one region, and of one for each so many that should go */
};

struct tp_slabs_region;

struct tp_slabs {
    struct tp_pool_source source;
    struct tp_pool_cap *cap;         /* borrowed; NULL for none */
    struct tp_slabs_region *regions; /* by address */
    size_t count, capacity;
    size_t with_free, with_kept; /* no region before this one has a free slab, or a kept one */
    uint32_t used, kept;         /* slabs handed out; free slabs that keep their memory */
    uint32_t most[TP_SLABS_SECONDS]; /* the most handed out at a time, of each of the last seconds */
    uint32_t second, looks;          /* the present one's place among them; looks in it */
    uint32_t growing;                /* looks for which a region is to be kept besides */
    uint32_t quiet;                  /* looks since one was handed out */
    void *ahead;                 /* a region's memory that is being touched; NULL: none */
    uint32_t lately;             /* the most handed out in all of them, at the last look */
    bool grew;                   /* more was since */
    uint64_t refused;            /* of the cap, at the last look */
};

/* Makes a source of no regions. `slabs` must stay where it is. */
void tp_slabs_init(struct tp_slabs *slabs, struct tp_pool_cap *cap);

/* All slabs must be back, and what was to be touched. */
void tp_slabs_fini(struct tp_slabs *slabs);

/* Lets go of memory that is kept for longer than it is needed, or takes some that will be: gives what is to be touched then (tp_slabs_touch) and
 * handed to tp_slabs_touched, NULL for none. To be called between ticks, TP_SLABS_SECOND_LOOKS times a second. Cost: O(1) when there is nothing to
 * do; else O(regions), and what the system asks to take memory back. */
void *tp_slabs_look(struct tp_slabs *slabs);

/* Has the system find and clear the memory. Any thread, beside the owner. Cost: up to some milliseconds, which is why no loop does it. */
void tp_slabs_touch(void *memory);

/* The memory that tp_slabs_look gave, touched, is kept. Cost: O(regions). */
void tp_slabs_touched(struct tp_slabs *slabs, void *memory);

#endif
