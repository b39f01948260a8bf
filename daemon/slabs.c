#include "daemon/slabs.h"

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

/* Adds a region, all of whose slabs are free; false without memory. */
static bool add_region(struct tp_slabs *slabs)
{
    if (slabs->count == slabs->capacity) {
        size_t capacity = slabs->capacity ? 2 * slabs->capacity : 16;
        struct tp_slabs_region *regions = realloc(slabs->regions, capacity * sizeof regions[0]);
        if (regions == NULL)
            return false;
        slabs->regions = regions;
        slabs->capacity = capacity;
    }
    char *memory = map_region();
    if (memory == NULL)
        return false;
    if (slabs->count > 0)
        (void)madvise(memory, TP_SLABS_REGION_BYTES,
                      MADV_HUGEPAGE); /* where there are none it is as good as it gets */
    size_t at = place_of(slabs, memory);
    memmove(&slabs->regions[at + 1], &slabs->regions[at], (slabs->count - at) * sizeof slabs->regions[0]);
    slabs->regions[at] = (struct tp_slabs_region){.memory = memory, .free = ALL_FREE};
    slabs->count++;
    slabs->with_free = at; /* none else has a free slab */
    return true;
}

static void remove_region(struct tp_slabs *slabs, size_t at)
{
    struct tp_slabs_region *region = &slabs->regions[at];
    slabs->kept -= (uint32_t)__builtin_popcount(region->kept);
    munmap(region->memory, TP_SLABS_REGION_BYTES);
    slabs->count--;
    memmove(region, region + 1, (slabs->count - at) * sizeof *region);
}

static void *get(void *context)
{
    struct tp_slabs *slabs = context;
    while (slabs->with_free < slabs->count && slabs->regions[slabs->with_free].free == 0)
        slabs->with_free++;
    if (slabs->with_free == slabs->count && !add_region(slabs))
        return NULL;
    struct tp_slabs_region *region = &slabs->regions[slabs->with_free];
    int slab = __builtin_ctz(region->kept != 0 ? region->kept : region->free);
    slabs->kept -= region->kept >> slab & 1;
    region->free &= ~(UINT32_C(1) << slab);
    region->kept &= ~(UINT32_C(1) << slab);
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
    if (at < slabs->with_free)
        slabs->with_free = at;
    if (region->free == ALL_FREE) {
        remove_region(slabs, at);
    } else if (slabs->kept < TP_SLABS_KEPT_MAX) {
        region->kept |= bit;
        slabs->kept++;
    } else {
        (void)madvise(slab, TP_POOL_SLAB_BYTES, MADV_DONTNEED);
    }
}

void tp_slabs_init(struct tp_slabs *slabs)
{
    *slabs = (struct tp_slabs){.source = {.get = get, .put = put, .context = slabs}};
}

void tp_slabs_fini(struct tp_slabs *slabs)
{
    TP_CHECK(slabs->count == 0);
    free(slabs->regions);
    *slabs = (struct tp_slabs){0};
}
