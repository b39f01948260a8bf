/* The `bucket` open list: states by f in steps of BUCKET_COST cost units times w, the newest first inside a step.
 *
 * Its order is a bucket's width short of exact: that is its price. Its worth: entering a state and taking the best one cost the
 * same however many are open. A bucket is a stack of entries in chunks of one cache line; buckets stand by number in pages of 64 under
 * a tree of such pages as deep as the largest number asks (a radix tree), so that memory follows the open states and not the range of f. The
 * page of the least bucket is at hand, and so are the pages last entered.
 * A state whose g improves is entered again; its older entries are recognised as stale when they come up, as those of `exact` are.
 *
 * Narrow entries hold g in 32 bits, wide ones in 64. `wide` is a constant where these functions are inlined.
 * What it refuses: to grow past the byte cap of its owner. Not thread-safe. Who calls it: the searches and their kernels.
 */
#ifndef TP_OPEN_BUCKET_H
#define TP_OPEN_BUCKET_H

#include "base/inline.h"
#include "base/pool.h"
#include "base/prefetch.h"
#include "open/exact.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TP_BUCKET_COST = 512, /* cost units, a sixth of a straight step: a bucket's width with w = 1 */
    TP_BUCKET_CHUNK_BYTES = 64,
    TP_BUCKET_BITS = 6, /* buckets, or pages below, of a page: 64 */
    TP_BUCKET_PAGES_AT_HAND = 4,
};

/* A page of the tree. At the bottom a slot points to the newest entry of a bucket, above to a page; NULL: empty. */
struct tp_bucket_page {
    uint64_t set; /* the slots that are not empty; at the bottom those that may not be */
    void *slot[1 << TP_BUCKET_BITS];
};

/* Where pieces of one size come from: pool blocks, linked by their first word, which are kept until the end. */
struct tp_bucket_store {
    void *free;        /* pieces given back, linked by their first word */
    char *block;       /* where the next is cut from */
    uint32_t cut;      /* pieces cut from it */
    uint32_t left;     /* pieces that can be taken from the blocks held */
    uint32_t pieces;   /* all that the blocks held have */
    void *first;
    uint32_t piece_bytes, block_pieces;
};

struct tp_bucket {
    struct tp_pool *pool; /* borrowed */
    uint64_t *bytes;      /* the owner's count of pool bytes held */
    uint64_t bytes_max;
    uint64_t per_f;       /* the number of f's bucket is f * per_f / 2^64 */
    bool wide;
    uint64_t count;       /* entries, stale ones included */
    struct tp_bucket_page *least; /* no entry stands in a page before; NULL: no page */
    uint64_t least_number;        /* bucket numbers above it, without their last bits */
    struct {
        struct tp_bucket_page *page;
        uint64_t number;
    } at_hand[TP_BUCKET_PAGES_AT_HAND]; /* by number modulo */
    struct tp_bucket_page *root;
    uint32_t levels; /* above the bottom */
    struct tp_bucket_store chunks, pages;
};

/* Prepares an empty list for f = ... h_factor * h; allocates nothing. */
void tp_bucket_init(struct tp_bucket *list, uint64_t h_factor, bool wide, struct tp_pool *pool, uint64_t *bytes, uint64_t bytes_max);

/* Empties the list and puts every block back; it may be used again, or not. Cost: O(blocks). */
void tp_bucket_empty(struct tp_bucket *list);

/* Empties the list and puts back as many blocks as *blocks says, which it takes from; true when all are. */
bool tp_bucket_put_some(struct tp_bucket *list, uint32_t *blocks);

/* Empties the list, keeping its memory. Cost: O(1). */
void tp_bucket_clear(struct tp_bucket *list);

/* Makes room for chunks; false at the cap. */
bool tp__bucket_grow(struct tp_bucket *list, struct tp_bucket_store *store);

/* The page at the bottom for a bucket, made if need be; NULL at the cap. Cost: O(levels). */
struct tp_bucket_page *tp__bucket_page_slow(struct tp_bucket *list, uint64_t number);

/* Lets go of pages that have become empty until `least` has an entry. Only for a list with entries. Cost: O(levels) a page. */
void tp__bucket_least_slow(struct tp_bucket *list);

/* Makes sure that `more` entries can be pushed as far as chunks go, and that the best one can be put back after it was popped; false at the cap. */
static inline bool tp_bucket_reserve(struct tp_bucket *list, uint32_t more)
{
    while (list->chunks.left <= more)
        if (!tp__bucket_grow(list, &list->chunks))
            return false;
    return true;
}

/* A piece; there must be one left. Cost: O(1). */
static inline void *tp__bucket_take(struct tp_bucket_store *store)
{
    char *piece = store->free;
    store->left--;
    if (piece) {
        store->free = *(void **)piece;
        tp_prefetch(store->free);
        return piece;
    }
    if (store->cut == store->block_pieces) {
        store->block = *(void **)store->block;
        store->cut = 0;
    }
    return store->block + TP_BUCKET_CHUNK_BYTES + store->cut++ * store->piece_bytes;
}

static inline void tp__bucket_give(struct tp_bucket_store *store, void *piece)
{
    *(void **)piece = store->free;
    store->free = piece;
    store->left++;
}

/* The bucket that an f falls into. */
static inline uint64_t tp_bucket_number(const struct tp_bucket *list, uint64_t f)
{
    return (uint64_t)(((tp__u128)f * list->per_f) >> 64);
}

TP_ALWAYS_INLINE uint32_t tp__bucket_entry_bytes(bool wide)
{
    return wide ? 16 : 8;
}

/* The page at the bottom for a bucket; NULL when none can be had. */
static inline struct tp_bucket_page *tp__bucket_page(struct tp_bucket *list, uint64_t bucket)
{
    uint64_t number = bucket >> TP_BUCKET_BITS;
    uint32_t hand = number % TP_BUCKET_PAGES_AT_HAND;
    struct tp_bucket_page *page = list->at_hand[hand].page;
    return __builtin_expect(page && list->at_hand[hand].number == number, 1) ? page : tp__bucket_page_slow(list, number);
}

/* Makes sure that there is a page for a bucket, until the least entry is asked for; false when none can be had. Cost: as tp_bucket_push. */
static inline bool tp_bucket_prepare(struct tp_bucket *list, uint64_t bucket)
{
    return tp__bucket_page(list, bucket) != NULL;
}

/* Enters a state; room must have been reserved. False when no page can be had for its bucket: nothing is done then. */
TP_ALWAYS_INLINE bool tp_bucket_push(struct tp_bucket *list, uint64_t bucket, uint64_t g, uint32_t state, bool wide)
{
    uint32_t at = bucket & ((1 << TP_BUCKET_BITS) - 1);
    struct tp_bucket_page *page = tp__bucket_page(list, bucket);
    if (__builtin_expect(!page, 0))
        return false;
    char *top = page->slot[at];
    char *place = top + tp__bucket_entry_bytes(wide);
    if (!top || ((uintptr_t)place & (TP_BUCKET_CHUNK_BYTES - 1)) == 0) {
        char *chunk = tp__bucket_take(&list->chunks);
        *(void **)chunk = top;
        place = chunk + tp__bucket_entry_bytes(wide);
    }
    page->slot[at] = place;
    page->set |= UINT64_C(1) << at;
    if (wide) {
        ((uint64_t *)place)[0] = g;
        ((uint64_t *)place)[1] = state;
    } else {
        *(uint64_t *)place = g << 32 | state;
    }
    list->count++;
    return true;
}

/* Whether an entry of a bucket that was prepared would come out next if it were entered now; false also where that is not known. Cost: O(1). */
static inline bool tp_bucket_is_next(const struct tp_bucket *list, uint64_t bucket)
{
    uint64_t before = (UINT64_C(1) << (bucket & ((1 << TP_BUCKET_BITS) - 1))) - 1;
    return bucket >> TP_BUCKET_BITS == list->least_number && !(list->least->set & before);
}

/* Whether all entries are in later buckets than that of the entry that was taken last; false also where that is not known. Cost: O(1). */
static inline bool tp_bucket_all_later(const struct tp_bucket *list, uint64_t bucket)
{
    uint64_t upto = (UINT64_C(2) << (bucket & ((1 << TP_BUCKET_BITS) - 1))) - 1;
    return bucket >> TP_BUCKET_BITS == list->least_number && !(list->least->set & upto);
}

/* The best entry and its bucket; the list must not be empty. Cost: O(1), but where a page has become empty. */
TP_ALWAYS_INLINE uint64_t tp_bucket_least(struct tp_bucket *list, uint64_t *g, uint32_t *state, bool wide)
{
    if (__builtin_expect(!list->least->set, 0))
        tp__bucket_least_slow(list);
    uint32_t at = (uint32_t)__builtin_ctzll(list->least->set);
    const uint64_t *top = list->least->slot[at];
    *g = wide ? top[0] : *top >> 32;
    *state = (uint32_t)(wide ? top[1] : *top);
    return list->least_number << TP_BUCKET_BITS | at;
}

/* The best entry after tp_bucket_least has found it and nothing was popped since. False when there is none. Cost: O(1). */
TP_ALWAYS_INLINE bool tp_bucket_top(const struct tp_bucket *list, uint64_t *g, uint32_t *state, bool wide)
{
    if (!list->least || !list->least->set)
        return false;
    const uint64_t *top = list->least->slot[__builtin_ctzll(list->least->set)];
    *g = wide ? top[0] : *top >> 32;
    *state = (uint32_t)(wide ? top[1] : *top);
    return true;
}

/* The state that comes `below` entries after the best one if none is entered before it, or the first of the next bucket; at most as
 * many as a chunk holds; false when there is none at hand. After tp_bucket_least, or tp_bucket_pop. Cost: O(1). */
TP_ALWAYS_INLINE bool tp_bucket_peek(const struct tp_bucket *list, uint32_t below, uint32_t *state, bool wide)
{
    uint64_t set = list->least->set;
    if (!set)
        return false;
    const char *top = list->least->slot[__builtin_ctzll(set)];
    uint32_t in_chunk = (uintptr_t)top & (TP_BUCKET_CHUNK_BYTES - 1), bytes = below * tp__bucket_entry_bytes(wide);
    const char *before = *(const char *const *)(top - in_chunk);
    tp_prefetch(before);
    if (bytes >= in_chunk) { /* chunks before the newest are full */
        top = before;
        bytes -= in_chunk;
        if (!top) {
            set &= set - 1;
            top = set ? list->least->slot[__builtin_ctzll(set)] : NULL;
            bytes = 0;
        }
        if (!top)
            return false;
    }
    const uint64_t *entry = (const uint64_t *)(top - bytes);
    *state = (uint32_t)(wide ? entry[1] : *entry);
    return true;
}

/* Has the processor fetch what the next run reads first of the list: the page of the least buckets, and the one behind it; or, when those are
 * there, the newest chunk of each bucket near the least, and the next free one. Cost: O(1). */
void tp_bucket_prefetch_pages(const struct tp_bucket *list);
void tp_bucket_prefetch_chunks(const struct tp_bucket *list);

/* Up to `max` of the best states, as far as they are in the page of the least bucket, in the list's order, stale ones included; returns how
 * many. Cost: O(max). */
uint32_t tp_bucket_best(const struct tp_bucket *list, uint32_t *states, uint32_t max);

/* Removes the best entry, which tp_bucket_least has just given. Its page stays. */
TP_ALWAYS_INLINE void tp_bucket_pop(struct tp_bucket *list, bool wide)
{
    uint32_t at = (uint32_t)__builtin_ctzll(list->least->set);
    char *top = (char *)list->least->slot[at] - tp__bucket_entry_bytes(wide);
    if (((uintptr_t)top & (TP_BUCKET_CHUNK_BYTES - 1)) == 0) {
        char *chunk = top;
        top = *(void **)chunk;
        tp__bucket_give(&list->chunks, chunk);
        list->least->set &= ~((uint64_t)!top << at);
        if (top) /* in a long list the chunks of a bucket lie anywhere: that before the next is wanted soon */
            tp_prefetch(*(void **)((uintptr_t)top & ~(uintptr_t)(TP_BUCKET_CHUNK_BYTES - 1)));
    }
    list->least->slot[at] = top;
    list->count--;
}

#endif
