/* What the bucket list does rarely: growing, and its tree of pages. */
#include "open/bucket.h"

enum { PAGE_SLOTS = 1 << TP_BUCKET_BITS, BLOCK_BYTES = 2048 };

static struct tp_bucket_store store_of(uint32_t piece_bytes)
{
    return (struct tp_bucket_store){.piece_bytes = piece_bytes,
                                    .block_pieces = (BLOCK_BYTES - TP_BUCKET_CHUNK_BYTES) / piece_bytes};
}

void tp_bucket_init(struct tp_bucket *list, uint64_t h_factor, bool wide, struct tp_pool *pool, uint64_t *bytes, uint64_t bytes_max)
{
    *list = (struct tp_bucket){.pool = pool, .bytes = bytes, .bytes_max = bytes_max, .wide = wide};
    list->per_f = UINT64_MAX / (TP_BUCKET_COST * h_factor) + 1;
    list->chunks = store_of(TP_BUCKET_CHUNK_BYTES);
    list->pages = store_of(sizeof(struct tp_bucket_page));
}

/* ---- Pieces ---- */

/* A new block goes behind the one that is cut from. */
bool tp__bucket_grow(struct tp_bucket *list, struct tp_bucket_store *store)
{
    if (*list->bytes + BLOCK_BYTES > list->bytes_max)
        return false;
    char *block = tp_pool_get(list->pool, BLOCK_BYTES);
    if (!block)
        return false;
    *list->bytes += BLOCK_BYTES;
    void **before = store->block ? (void **)store->block : &store->first;
    *(void **)block = *before;
    *before = block;
    if (!store->block) {
        store->block = block;
        store->cut = 0;
    }
    store->left += store->block_pieces;
    store->pieces += store->block_pieces;
    return true;
}

static void store_clear(struct tp_bucket_store *store)
{
    store->free = NULL;
    store->block = store->first;
    store->cut = 0;
    store->left = store->pieces;
}

/* Of a store that was cleared. */
static void store_put_some(struct tp_bucket *list, struct tp_bucket_store *store, uint32_t *blocks)
{
    for (; store->first && *blocks; --*blocks) {
        void *block = store->first;
        store->first = *(void **)block;
        store->pieces -= store->block_pieces;
        tp_pool_put(list->pool, block, BLOCK_BYTES);
        *list->bytes -= BLOCK_BYTES;
    }
    store_clear(store);
}

/* ---- Pages ---- */

/* One must be left. */
static struct tp_bucket_page *page_new(struct tp_bucket *list)
{
    struct tp_bucket_page *page = tp__bucket_take(&list->pages);
    *page = (struct tp_bucket_page){0};
    return page;
}

/* A page's place in the page above it, `level` levels above the bottom. */
static uint32_t slot_at(uint64_t number, uint32_t level)
{
    return number >> (level - 1) * TP_BUCKET_BITS & (PAGE_SLOTS - 1);
}

/* How many levels above the bottom a tree with that page has at least. */
static uint32_t levels_for(uint64_t number)
{
    uint32_t levels = 0;
    while (levels * TP_BUCKET_BITS < 64 && number >> levels * TP_BUCKET_BITS)
        levels++;
    return levels;
}

/* How many pages have to be made for that page to be there. */
static uint32_t pages_missing(const struct tp_bucket *list, uint64_t number)
{
    uint32_t levels = levels_for(number);
    if (!list->root)
        return levels + 1;
    if (levels > list->levels) /* roots above, and the whole way down from the last of them */
        return levels - list->levels + levels;
    const struct tp_bucket_page *page = list->root;
    for (levels = list->levels; levels; levels--)
        if (!(page = page->slot[slot_at(number, levels)]))
            break;
    return levels;
}

/* Makes the tree deep enough for a page. */
static void deepen(struct tp_bucket *list, uint64_t number)
{
    uint32_t levels = levels_for(number);
    if (!list->root) {
        list->root = page_new(list);
        list->levels = levels;
    }
    for (; list->levels < levels; list->levels++) {
        struct tp_bucket_page *above = page_new(list);
        above->slot[0] = list->root;
        above->set = 1;
        list->root = above;
    }
}

struct tp_bucket_page *tp__bucket_page_slow(struct tp_bucket *list, uint64_t number)
{
    uint32_t missing = pages_missing(list, number);
    while (list->pages.left < missing)
        if (!tp__bucket_grow(list, &list->pages))
            return NULL;
    deepen(list, number);
    struct tp_bucket_page *page = list->root;
    for (uint32_t level = list->levels; level; level--) {
        uint32_t at = slot_at(number, level);
        if (!page->slot[at])
            page->slot[at] = page_new(list);
        page->set |= UINT64_C(1) << at;
        page = page->slot[at];
    }
    list->at_hand[number % TP_BUCKET_PAGES_AT_HAND].page = page;
    list->at_hand[number % TP_BUCKET_PAGES_AT_HAND].number = number;
    if (!list->least || number < list->least_number) {
        list->least = page;
        list->least_number = number;
    }
    return page;
}

/* Takes an empty page out of the tree, and those above that become empty; the root stays. */
static void page_remove(struct tp_bucket *list, uint64_t number)
{
    struct tp_bucket_page *path[64 / TP_BUCKET_BITS + 1];
    path[list->levels] = list->root;
    for (uint32_t level = list->levels; level; level--)
        path[level - 1] = path[level]->slot[slot_at(number, level)];
    for (uint32_t level = 0; level < list->levels && !path[level]->set; level++) {
        uint32_t at = slot_at(number, level + 1);
        tp__bucket_give(&list->pages, path[level]);
        path[level + 1]->slot[at] = NULL;
        path[level + 1]->set &= ~(UINT64_C(1) << at);
    }
}

void tp__bucket_least_slow(struct tp_bucket *list)
{
    while (!list->least->set && list->levels) {
        uint32_t hand = list->least_number % TP_BUCKET_PAGES_AT_HAND;
        if (list->at_hand[hand].page == list->least)
            list->at_hand[hand].page = NULL;
        page_remove(list, list->least_number);
        struct tp_bucket_page *page = list->root;
        uint64_t number = 0;
        for (uint32_t level = list->levels; level; level--) {
            uint32_t at = (uint32_t)__builtin_ctzll(page->set);
            number = number << TP_BUCKET_BITS | at;
            page = page->slot[at];
        }
        list->least = page;
        list->least_number = number;
    }
}

/* ---- Fetching ahead ---- */

/* The page behind that of the least bucket, if it is at hand. */
static const struct tp_bucket_page *next_page(const struct tp_bucket *list)
{
    uint64_t number = list->least_number + 1;
    uint32_t hand = number % TP_BUCKET_PAGES_AT_HAND;
    return list->at_hand[hand].number == number ? list->at_hand[hand].page : NULL;
}

void tp_bucket_prefetch_pages(const struct tp_bucket *list)
{
    if (list->least)
        tp_prefetch_bytes(list->least, sizeof *list->least);
    const struct tp_bucket_page *next = next_page(list);
    if (next)
        tp_prefetch_bytes(next, sizeof *next);
}

void tp_bucket_prefetch_chunks(const struct tp_bucket *list)
{
    enum { NEAR = 18 }; /* a diagonal step straight away from the goal: 2 * 4517 cost units */
    if (!list->least || !list->least->set)
        return;
    const struct tp_bucket_page *next = next_page(list);
    uint32_t first = (uint32_t)__builtin_ctzll(list->least->set);
    for (uint32_t i = first; i < first + NEAR; i++) {
        const struct tp_bucket_page *page = i < PAGE_SLOTS ? list->least : next;
        if (page && page->slot[i % PAGE_SLOTS])
            tp_prefetch(page->slot[i % PAGE_SLOTS]);
    }
    if (list->chunks.free)
        tp_prefetch(list->chunks.free);
}

uint32_t tp_bucket_best(const struct tp_bucket *list, uint32_t *states, uint32_t max)
{
    uint32_t count = 0;
    if (!list->least)
        return 0;
    for (uint64_t set = list->least->set; set && count < max; set &= set - 1) {
        const char *top = list->least->slot[__builtin_ctzll(set)];
        while (top && count < max) {
            states[count++] = (uint32_t)(list->wide ? ((const uint64_t *)top)[1] : *(const uint64_t *)top);
            top -= tp__bucket_entry_bytes(list->wide);
            if (((uintptr_t)top & (TP_BUCKET_CHUNK_BYTES - 1)) == 0)
                top = *(const char *const *)top;
        }
    }
    return count;
}

void tp_bucket_clear(struct tp_bucket *list)
{
    store_clear(&list->chunks);
    store_clear(&list->pages);
    list->root = list->least = NULL;
    list->levels = 0;
    list->count = 0;
    for (int i = 0; i < TP_BUCKET_PAGES_AT_HAND; i++)
        list->at_hand[i].page = NULL;
}

bool tp_bucket_put_some(struct tp_bucket *list, uint32_t *blocks)
{
    tp_bucket_clear(list);
    store_put_some(list, &list->chunks, blocks);
    store_put_some(list, &list->pages, blocks);
    return !list->chunks.first && !list->pages.first;
}

void tp_bucket_empty(struct tp_bucket *list)
{
    uint32_t all = UINT32_MAX;
    tp_bucket_put_some(list, &all);
}
