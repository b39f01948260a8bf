#include "daemon/serve/slabs.h"

#include "base/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct tp_slabs_region {
    char *memory;  /* aligned to its own size */
    uint32_t free; /* slabs not handed out, a bit each */
    uint32_t kept; /* those of them that keep their memory */
};

#define ALL_FREE UINT32_MAX
_Static_assert(TP_SLABS_OF_REGION == 32, "a bit for each slab of a region");

enum { SHORT_REGIONS = 16 }; /* let go of in a look where others want for memory */

/* ---- Regions ---- */

/* Aligned memory of a region's size; NULL if there is none. */
static char *map_region(void)
{
    size_t size = TP_SLABS_REGION_BYTES;
    char *mapped = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)mapped & (size - 1);
    if (before != 0)
        munmap(mapped, before);
    munmap(mapped + before + size, size - before);
    return mapped + before;
}

/* The first region that lies not before `memory`. */
static size_t place_of(const struct tp_slabs *slabs, const char *memory)
{
    size_t low = 0, high = slabs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)slabs->regions[middle].memory < (uintptr_t)memory)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool reserve(struct tp_slabs *slabs)
{
    if (slabs->count < slabs->capacity)
        return true;
    size_t capacity = slabs->capacity ? 2 * slabs->capacity : 16;
    struct tp_slabs_region *regions = realloc(slabs->regions, capacity * sizeof regions[0]);
    if (regions == NULL)
        return false;
    slabs->regions = regions;
    slabs->capacity = capacity;
    return true;
}

/* Whether a region would fit under the cap. Nobody is refused anything where it would not: what others keep is theirs. */
static bool has_room(const struct tp_slabs *slabs)
{
    struct tp_pool_cap *cap = slabs->cap;
    return cap == NULL || atomic_load_explicit(&cap->bytes, memory_order_relaxed) + TP_SLABS_REGION_BYTES <=
                              atomic_load_explicit(&cap->bytes_max, memory_order_relaxed);
}

/* Asks for a huge page for a region, whose memory is all accounted for then; where there are none it is as good as it gets. False at the cap. */
static bool may_be_whole(struct tp_slabs *slabs, char *memory)
{
    if (!has_room(slabs) || !tp_pool_cap_take(slabs->cap, TP_SLABS_REGION_BYTES))
        return false;
    (void)madvise(memory, TP_SLABS_REGION_BYTES, MADV_HUGEPAGE);
    return true;
}

/* Adds a region, for which there is room, with all slabs free, and all kept or none. */
static struct tp_slabs_region *add_region(struct tp_slabs *slabs, char *memory, bool is_kept)
{
    size_t at = place_of(slabs, memory);
    struct tp_slabs_region *region = &slabs->regions[at];
    memmove(region + 1, region, (slabs->count - at) * sizeof *region);
    *region = (struct tp_slabs_region){.memory = memory, .free = ALL_FREE, .kept = is_kept ? ALL_FREE : 0};
    slabs->kept += is_kept ? TP_SLABS_OF_REGION : 0;
    slabs->count++;
    slabs->with_free = slabs->with_free < at ? slabs->with_free : at;
    slabs->with_kept = slabs->with_kept < at ? slabs->with_kept : at;
    return region;
}

/* Adds a region that is needed now; NULL without memory. */
static struct tp_slabs_region *new_region(struct tp_slabs *slabs)
{
    char *memory = reserve(slabs) ? map_region() : NULL;
    if (memory == NULL)
        return NULL;
    return add_region(slabs, memory, slabs->count > 0 && may_be_whole(slabs, memory));
}

static void remove_region(struct tp_slabs *slabs, size_t at)
{
    struct tp_slabs_region *region = &slabs->regions[at];
    uint32_t kept = (uint32_t)__builtin_popcount(region->kept);
    munmap(region->memory, TP_SLABS_REGION_BYTES);
    tp_pool_cap_give(slabs->cap, (uint64_t)kept * TP_POOL_SLAB_BYTES);
    slabs->kept -= kept;
    slabs->count--;
    slabs->with_kept -= slabs->with_kept > at;
    memmove(region, region + 1, (slabs->count - at) * sizeof *region);
}

/* ---- Slabs ---- */

/* A region with a slab that can be had without memory of the system, or with some; NULL at the cap or without memory. */
static struct tp_slabs_region *region_to_get_from(struct tp_slabs *slabs)
{
    while (slabs->with_kept < slabs->count && slabs->regions[slabs->with_kept].kept == 0)
        slabs->with_kept++;
    if (slabs->with_kept < slabs->count)
        return &slabs->regions[slabs->with_kept];
    while (slabs->with_free < slabs->count && slabs->regions[slabs->with_free].free == 0)
        slabs->with_free++;
    struct tp_slabs_region *region =
        slabs->with_free < slabs->count ? &slabs->regions[slabs->with_free] : new_region(slabs);
    if (region != NULL && region->kept == 0 && !tp_pool_cap_take(slabs->cap, TP_POOL_SLAB_BYTES))
        return NULL;
    return region;
}

static void *get(void *context)
{
    struct tp_slabs *slabs = context;
    struct tp_slabs_region *region = region_to_get_from(slabs);
    if (region == NULL)
        return NULL;
    int slab = __builtin_ctz(region->kept != 0 ? region->kept : region->free);
    slabs->kept -= region->kept >> slab & 1;
    region->free &= ~(UINT32_C(1) << slab);
    region->kept &= ~(UINT32_C(1) << slab);
    if (++slabs->used > slabs->most[slabs->second])
        slabs->most[slabs->second] = slabs->used;
    slabs->grew |= slabs->used > slabs->lately;
    slabs->quiet = 0;
    return region->memory + (size_t)slab * TP_POOL_SLAB_BYTES;
}

static void put(void *context, void *slab)
{
    struct tp_slabs *slabs = context;
    char *memory = (char *)slab - ((uintptr_t)slab & (TP_SLABS_REGION_BYTES - 1));
    size_t at = place_of(slabs, memory);
    struct tp_slabs_region *region = &slabs->regions[at];
    TP_CHECK(at < slabs->count && region->memory == memory);
    uint32_t bit = UINT32_C(1) << ((size_t)((char *)slab - memory) / TP_POOL_SLAB_BYTES);
    region->free |= bit;
    region->kept |= bit;
    slabs->kept++;
    slabs->used--;
    slabs->with_free = slabs->with_free < at ? slabs->with_free : at;
    slabs->with_kept = slabs->with_kept < at ? slabs->with_kept : at;
}

void tp_slabs_init(struct tp_slabs *slabs, struct tp_pool_cap *cap)
{
    *slabs = (struct tp_slabs){.source = {.get = get, .put = put, .context = slabs}, .cap = cap};
}

void tp_slabs_fini(struct tp_slabs *slabs)
{
    TP_CHECK(slabs->used == 0 && slabs->ahead == NULL);
    while (slabs->count > 0)
        remove_region(slabs, slabs->count - 1);
    free(slabs->regions);
    *slabs = (struct tp_slabs){0};
}

/* ---- Between ticks ---- */

/* Gives the memory of slabs [first, first + count) back under their addresses. */
static void drop(struct tp_slabs *slabs, struct tp_slabs_region *region, uint32_t first, uint32_t count)
{
    (void)madvise(region->memory + (size_t)first * TP_POOL_SLAB_BYTES, (size_t)count * TP_POOL_SLAB_BYTES,
                  MADV_DONTNEED);
    region->kept &= ~(uint32_t)(((UINT64_C(1) << count) - 1) << first);
    slabs->kept -= count;
    tp_pool_cap_give(slabs->cap, (uint64_t)count * TP_POOL_SLAB_BYTES);
}

/* Drops the last kept slabs of a region, at most `most`; returns how many. */
static uint32_t drop_some(struct tp_slabs *slabs, struct tp_slabs_region *region, uint32_t most)
{
    uint32_t dropped = 0;
    while (region->kept != 0 && dropped < most) {
        uint32_t end = 32 - (uint32_t)__builtin_clz(region->kept),
                 run = 1; /* what lies together goes together */
        while (run < end && run < most - dropped && region->kept >> (end - run - 1) & 1)
            run++;
        drop(slabs, region, end - run, run);
        dropped += run;
    }
    return dropped;
}

/* Lets go of so many kept slabs, or of what makes up so many regions: whole ones first, those that lie last before others. */
static void let_go(struct tp_slabs *slabs, uint32_t surplus, uint32_t regions)
{
    for (size_t at = slabs->count; at-- > 0 && regions > 0;) {
        uint32_t kept = (uint32_t)__builtin_popcount(slabs->regions[at].kept);
        if (slabs->regions[at].free != ALL_FREE || kept > surplus)
            continue;
        remove_region(slabs, at);
        surplus -= kept;
        regions--;
    }
    uint32_t most = regions * TP_SLABS_OF_REGION < surplus ? regions * TP_SLABS_OF_REGION : surplus;
    for (size_t at = slabs->count; at-- > 0 && most > 0;)
        most -= drop_some(slabs, &slabs->regions[at], most);
}

/* The most handed out in the last seconds. */
static uint32_t used_lately(struct tp_slabs *slabs)
{
    uint32_t lately = slabs->used;
    for (int i = 0; i < TP_SLABS_SECONDS; i++)
        lately = slabs->most[i] > lately ? slabs->most[i] : lately;
    if (++slabs->looks == TP_SLABS_SECOND_LOOKS) {
        slabs->looks = 0;
        slabs->second = (slabs->second + 1) % TP_SLABS_SECONDS;
        slabs->most[slabs->second] = slabs->used;
    }
    return lately;
}

/* How many slabs are to be kept. */
static uint32_t wanted(struct tp_slabs *slabs)
{
    slabs->growing = slabs->grew ? TP_SLABS_SECOND_LOOKS : slabs->growing - (slabs->growing > 0);
    slabs->grew = false;
    slabs->lately = used_lately(slabs);
    return slabs->lately - slabs->used +
           (slabs->growing > 0 && slabs->count > 1 ? TP_SLABS_OF_REGION : 0);
}

/* Whether anyone was refused memory at the cap since the last look. */
static bool is_short(struct tp_slabs *slabs)
{
    uint64_t before = slabs->refused;
    if (slabs->cap != NULL)
        slabs->refused = atomic_load_explicit(&slabs->cap->refused, memory_order_relaxed);
    return slabs->refused != before;
}

/* The memory of a region that will be needed soon; NULL at the cap or without memory. */
static void *take_ahead(struct tp_slabs *slabs)
{
    char *memory = map_region();
    if (memory == NULL)
        return NULL;
    if (may_be_whole(slabs, memory))
        return slabs->ahead = memory;
    munmap(memory, TP_SLABS_REGION_BYTES);
    return NULL;
}

void *tp_slabs_look(struct tp_slabs *slabs)
{
    if (slabs->count == 0)
        return NULL;
    uint32_t keep = wanted(slabs), surplus = slabs->kept > keep ? slabs->kept - keep : 0;
    bool is_quiet = slabs->quiet >= TP_SLABS_SECONDS * TP_SLABS_SECOND_LOOKS;
    slabs->quiet += !is_quiet;
    if (is_short(slabs))
        let_go(slabs, slabs->kept, SHORT_REGIONS);
    else if (surplus >= TP_SLABS_OF_REGION || (keep == 0 && is_quiet)) /* less than a region may be needed again at once */
        let_go(slabs, surplus, 1 + surplus / (TP_SLABS_OF_REGION * TP_SLABS_LET_GO_OF));
    else if (slabs->growing > 0 && slabs->count > 1 && slabs->kept < TP_SLABS_OF_REGION && slabs->ahead == NULL)
        return take_ahead(slabs);
    return NULL;
}

void tp_slabs_touch(void *memory)
{
#ifdef MADV_POPULATE_WRITE
    if (madvise(memory, TP_SLABS_REGION_BYTES, MADV_POPULATE_WRITE) == 0)
        return;
#endif
    enum { PAGE_BYTES = 4096 };
    for (size_t at = 0; at < TP_SLABS_REGION_BYTES; at += PAGE_BYTES)
        *(volatile char *)((char *)memory + at) = 0;
}

void tp_slabs_touched(struct tp_slabs *slabs, void *memory)
{
    TP_CHECK(memory == slabs->ahead);
    slabs->ahead = NULL;
    if (reserve(slabs)) {
        add_region(slabs, memory, true);
        return;
    }
    munmap(memory, TP_SLABS_REGION_BYTES);
    tp_pool_cap_give(slabs->cap, TP_SLABS_REGION_BYTES);
}
