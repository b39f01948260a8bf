/* Memory page by page: an array of pages of the cache, held sparsely by a tree of pages that deepens as it is used.
 *
 * The first TP_PAGES_DIRECT pages are pointed to from the struct; when a later one is asked for, a page of pointers is put between, and
 * another when that does not reach. So whatever the map's size nothing is allocated but pages, all of one size, and what is held follows
 * what is touched: above it a page of pointers for every TP_PAGES_FAN, and one more for each level.
 * What it refuses: nothing; a page's number is below TP_PAGES_MAX, far beyond what a map of the largest size asks for.
 * Used by the searches over the block graph (field.c, scout.c). Zeroed it is empty.
 */
#ifndef TP_GUIDE_PAGES_H
#define TP_GUIDE_PAGES_H

#include <stdint.h>

enum {
    TP_PAGE_BYTES = 2048,
    TP_PAGES_DIRECT = 8,
    TP_PAGES_FAN_BITS = 8,
    TP_PAGES_FAN = 1 << TP_PAGES_FAN_BITS, /* pointers in a page of them */
    TP_PAGES_MAX = TP_PAGES_DIRECT << 3 * TP_PAGES_FAN_BITS,
};
_Static_assert(TP_PAGES_FAN * sizeof(void *) <= TP_PAGE_BYTES, "a page is full of pointers");

struct tp_pages {
    uint32_t levels; /* pages of pointers on the way to a page */
    void *top[TP_PAGES_DIRECT];
};

/* A page, NULL where none was put. Cost: O(levels), of which there are 3 at most. */
static inline void *tp_pages_find(const struct tp_pages *pages, uint32_t page)
{
    uint32_t bits = pages->levels * TP_PAGES_FAN_BITS;
    if (page >> bits >= TP_PAGES_DIRECT)
        return 0;
    void *at = pages->top[page >> bits];
    while (at && bits) {
        bits -= TP_PAGES_FAN_BITS;
        at = ((void **)at)[page >> bits & (TP_PAGES_FAN - 1)];
    }
    return at;
}

#endif
