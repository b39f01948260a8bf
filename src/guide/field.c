/* Dijkstra over the block graph's areas, a few at a time.
 *
 * Happy path: take (found by key, or made with the goal's areas queued at 0) -> see, again and again, which settles areas until
 * the view is long enough -> leave. The distance of each area met lies in pages of the pool; the queue is a heap of
 * (distance, area) in one word; every TP_FIELD_STEP-th area settled is written down, so that a view of any length is found again.
 * An area's entries in the queue but the last are stale: their distance is no longer the area's. One not settled can't be taken
 * for one that is: its distance, final or not, comes after that of the last area settled.
 * Failure: without a page the search stands still where it is until one can be had; views end there.
 */
#include "guide/field.h"

#include "base/check.h"
#include "base/line.h"
#include "guide/field_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE_AREAS = TP_PAGE_BYTES / 4, /* distances in a page; also written-down areas */
    BUCKETS = 512,
    KNOWN_AREAS = 64, /* areas whose neighbours are kept */
    KNOWN_MAX = TP_PAGE_BYTES / 16,
};

struct tp_field {
    struct tp_field_cache *cache;
    struct tp_field *next_in_bucket;
    struct tp_field *older, *newer; /* among those that nobody uses */
    const struct tp_blocks *blocks; /* referenced */
    enum tp_field_metric metric;
    uint32_t goals[TP_GOALS_MAX], goal_count; /* sorted, each once */
    uint32_t hash;
    uint32_t refs;
    bool retired; /* nobody will ask for it again */
    struct tp_pages distances; /* by area / PAGE_AREAS; none: none of its areas was met */
    struct tp_pages log;       /* every TP_FIELD_STEP-th area settled */
    struct tp_queue queue;
    uint64_t settled;
    uint64_t last; /* the key of the last area settled */
};

/* The neighbours of an area, kept for those who ask again. */
struct known_area {
    const struct tp_blocks *blocks; /* of a field that lives; NULL: none */
    uint32_t area, count;
    struct neighbour {
        uint32_t number, weight;
        struct tp_blocks_place at;
    } * neighbours; /* a page, KNOWN_MAX at most */
};

struct tp_field_cache {
    struct tp_pool *pool;
    uint64_t bytes_max;
    struct tp_field *buckets[BUCKETS];
    struct tp_field *oldest, *newest; /* fields that nobody uses */
    struct known_area known[KNOWN_AREAS];
    struct tp_field_cache_stats stats;
};

/* ---- Distances between places ---- */

uint32_t tp_field_distance(enum tp_field_metric metric, struct tp_blocks_place a, struct tp_blocks_place b)
{
    uint64_t dx = a.x > b.x ? a.x - b.x : b.x - a.x, dy = a.y > b.y ? a.y - b.y : b.y - a.y;
    uint64_t longer = dx > dy ? dx : dy, shorter = dx > dy ? dy : dx;
    if (metric == TP_FIELD_MANHATTAN)
        return (uint32_t)(dx + dy);
    if (metric == TP_FIELD_OCTILE)
        return (uint32_t)(longer + shorter * (TP_COST_DIAGONAL - TP_COST_UNIT) / TP_COST_UNIT);
    return (uint32_t)__builtin_sqrt((double)(dx * dx + dy * dy));
}

/* ---- Memory ---- */

static void list_remove(struct tp_field *field)
{
    struct tp_field_cache *cache = field->cache;
    *(field->older ? &field->older->newer : &cache->oldest) = field->newer;
    *(field->newer ? &field->newer->older : &cache->newest) = field->older;
    field->older = field->newer = NULL;
}

static void list_append(struct tp_field *field)
{
    struct tp_field_cache *cache = field->cache;
    field->older = cache->newest;
    field->newer = NULL;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = field;
    cache->newest = field;
}

void tp__field_block_put(struct tp_field_cache *cache, void *block, uint32_t bytes)
{
    if (!block)
        return;
    tp_pool_put(cache->pool, block, bytes);
    cache->stats.bytes -= bytes;
}

/* Puts back a page with the pages that it points to, on so many levels. */
static void page_put(struct tp_field_cache *cache, void *page, uint32_t levels)
{
    for (uint32_t i = 0; page && levels && i < TP_PAGES_FAN; i++)
        page_put(cache, ((void **)page)[i], levels - 1);
    tp__field_block_put(cache, page, TP_PAGE_BYTES);
}

void tp__field_pages_free(struct tp_field_cache *cache, struct tp_pages *pages)
{
    for (uint32_t i = 0; i < TP_PAGES_DIRECT; i++)
        page_put(cache, pages->top[i], pages->levels);
    *pages = (struct tp_pages){0};
}

static void known_forget(struct tp_field_cache *cache, const struct tp_blocks *blocks)
{
    for (int i = 0; i < KNOWN_AREAS; i++)
        if (cache->known[i].blocks == blocks) {
            tp__field_block_put(cache, cache->known[i].neighbours, TP_PAGE_BYTES);
            cache->known[i] = (struct known_area){0};
        }
}

/* Frees a field that nobody uses, and that stands in no list. */
static void field_free(struct tp_field *field)
{
    struct tp_field_cache *cache = field->cache;
    tp__field_pages_free(cache, &field->distances);
    tp__field_pages_free(cache, &field->log);
    tp__field_queue_free(cache, &field->queue);
    known_forget(cache, field->blocks);
    tp_blocks_unref(field->blocks);
    cache->stats.fields--;
    tp__field_block_put(cache, field, sizeof *field);
}

static void bucket_remove(struct tp_field *field)
{
    struct tp_field **link = &field->cache->buckets[field->hash % BUCKETS];
    while (*link != field)
        link = &(*link)->next_in_bucket;
    *link = field->next_in_bucket;
}

static bool give_up_oldest(struct tp_field_cache *cache)
{
    struct tp_field *oldest = cache->oldest;
    if (!oldest)
        return false;
    list_remove(oldest);
    bucket_remove(oldest);
    field_free(oldest);
    cache->stats.given_up++;
    return true;
}

/* With what it takes of giving up unused fields; NULL when there is no room. */
void *tp__field_block_get(struct tp_field_cache *cache, uint32_t bytes)
{
    while (cache->stats.bytes + bytes > cache->bytes_max)
        if (!give_up_oldest(cache))
            break;
    void *block = cache->stats.bytes + bytes > cache->bytes_max ? NULL : tp_pool_get(cache->pool, bytes);
    if (!block) {
        cache->stats.refused++;
        return NULL;
    }
    cache->stats.bytes += bytes;
    return block;
}

static void *page_get(struct tp_field_cache *cache, int fill)
{
    void *page = tp__field_block_get(cache, TP_PAGE_BYTES);
    return page ? memset(page, fill, TP_PAGE_BYTES) : NULL;
}

void *tp__field_page_at(struct tp_field_cache *cache, struct tp_pages *pages, uint32_t page)
{
    TP_CHECK(page < TP_PAGES_MAX);
    while (page >> pages->levels * TP_PAGES_FAN_BITS >= TP_PAGES_DIRECT) { /* a level more */
        void **above = page_get(cache, 0);
        if (!above)
            return NULL;
        memcpy(above, pages->top, sizeof pages->top);
        *pages = (struct tp_pages){.levels = pages->levels + 1, .top = {above}};
    }
    uint32_t bits = pages->levels * TP_PAGES_FAN_BITS;
    void **slot = &pages->top[page >> bits];
    for (; bits; bits -= TP_PAGES_FAN_BITS) {
        if (!*slot && !(*slot = page_get(cache, 0)))
            return NULL;
        slot = &((void **)*slot)[page >> (bits - TP_PAGES_FAN_BITS) & (TP_PAGES_FAN - 1)];
    }
    return *slot ? *slot : (*slot = page_get(cache, 0xff));
}

/* Room for `more` keys in a queue; false without memory. */
bool tp__field_queue_reserve(struct tp_field_cache *cache, struct tp_queue *queue, uint32_t more)
{
    for (; !tp_queue_fits(queue, more); queue->room++)
        if (!tp__field_page_at(cache, &queue->pages, queue->room))
            return false;
    return true;
}

void tp__field_queue_free(struct tp_field_cache *cache, struct tp_queue *queue)
{
    tp__field_pages_free(cache, &queue->pages);
    queue->room = queue->count = 0;
}

/* ---- The search ---- */

/* Where an area's distance lies; NULL without memory. */
static uint32_t *distance_slot(struct tp_field *field, uint32_t area)
{
    uint32_t *page = tp__field_page_at(field->cache, &field->distances, area / PAGE_AREAS);
    return page ? &page[area % PAGE_AREAS] : NULL;
}

/* The distance of an area that was met. */
static uint32_t distance_of(const struct tp_field *field, uint32_t area)
{
    return ((const uint32_t *)tp_pages_find(&field->distances, area / PAGE_AREAS))[area % PAGE_AREAS];
}

/* Lowers a neighbour's distance and queues it; false without memory. Each step costs a point at least, so that keys settled only
 * grow; what is farther than TP_FIELD_POINTS_MAX is left out. */
static bool relax(struct tp_field *field, const struct tp_blocks_node *from, uint32_t distance,
                  const struct tp_blocks_node *to)
{
    uint32_t points =
        tp_field_weigh(tp_field_distance(field->metric, from->at, to->at), from->weight + to->weight);
    uint64_t sum = (uint64_t)distance + (points ? points : 1);
    uint32_t *slot = distance_slot(field, to->number);
    if (!slot)
        return false;
    if (sum <= TP_FIELD_POINTS_MAX && sum < *slot) {
        *slot = (uint32_t)sum;
        tp_queue_push(&field->queue, tp_queue_key(*slot, to->number));
    }
    return true;
}

/* Settles the best area of the queue, which must not be stale. False without memory: it is queued again then, and what was
 * lowered stays so. */
static bool settle(struct tp_field *field, uint64_t key)
{
    const struct tp_blocks *blocks = field->blocks;
    struct tp_blocks_node neighbours[TP_BLOCKS_NEIGHBOURS_MAX];
    uint32_t number = (uint32_t)key, distance = (uint32_t)(key >> 32);
    struct tp_blocks_node area = tp_blocks_area(blocks, number);
    uint32_t count = tp_blocks_area_neighbours(blocks, number, neighbours);
    uint32_t steps = (uint32_t)(field->settled / TP_FIELD_STEP), *log = NULL;
    bool logged = field->settled % TP_FIELD_STEP == TP_FIELD_STEP - 1;
    if (logged && !(log = tp__field_page_at(field->cache, &field->log, steps / PAGE_AREAS)))
        return false;
    if (!tp__field_queue_reserve(field->cache, &field->queue, count))
        return false;
    tp_queue_pop(&field->queue);
    for (uint32_t i = 0; i < count; i++)
        if (!relax(field, &area, distance, &neighbours[i])) {
            tp_queue_push(&field->queue, key);
            return false;
        }
    if (logged)
        log[steps % PAGE_AREAS] = number;
    field->settled++;
    field->last = key;
    field->cache->stats.settled++;
    return true;
}

/* Drops stale entries; false when the queue is empty. */
static bool find_best(struct tp_field *field, uint64_t *key)
{
    while (field->queue.count) {
        *key = tp_queue_least(&field->queue);
        if (distance_of(field, (uint32_t)*key) == (uint32_t)(*key >> 32))
            return true;
        tp_queue_pop(&field->queue);
    }
    return false;
}

struct tp_field_view tp_field_see(struct tp_field *field, uint64_t paid)
{
    uint64_t key;
    bool more;
    while ((more = find_best(field, &key)) && field->settled < paid)
        if (!settle(field, key))
            break;
    if (!more)
        tp__field_queue_free(field->cache, &field->queue);
    if (!more && paid >= field->settled)
        return (struct tp_field_view){field->last, field->settled, field->settled == 0, true};
    uint64_t areas = (paid < field->settled ? paid : field->settled) / TP_FIELD_STEP;
    if (!areas)
        return (struct tp_field_view){.empty = true};
    const uint32_t *log = tp_pages_find(&field->log, (uint32_t)((areas - 1) / PAGE_AREAS));
    uint32_t last = log[(areas - 1) % PAGE_AREAS];
    return (struct tp_field_view){.last = tp_queue_key(distance_of(field, last), last), .areas = areas * TP_FIELD_STEP};
}

uint32_t tp_field_at(const struct tp_field *field, uint32_t area, struct tp_field_view view)
{
    const uint32_t *page = tp_pages_find(&field->distances, area / PAGE_AREAS);
    if (!page || view.empty)
        return TP_FIELD_UNSEEN;
    uint32_t distance = page[area % PAGE_AREAS];
    return tp_queue_key(distance, area) <= view.last ? distance : TP_FIELD_UNSEEN;
}

/* ---- From a place in an area ---- */

/* The neighbours of an area; NULL without memory. */
static const struct known_area *area_neighbours(const struct tp_field *field, uint32_t area)
{
    struct tp_field_cache *cache = field->cache;
    struct known_area *known = &cache->known[area % KNOWN_AREAS];
    if (known->blocks == field->blocks && known->area == area)
        return known;
    if (!known->neighbours && !(known->neighbours = tp__field_block_get(cache, TP_PAGE_BYTES)))
        return NULL;
    struct tp_blocks_node out[TP_BLOCKS_NEIGHBOURS_MAX];
    uint32_t count = tp_blocks_area_neighbours(field->blocks, area, out);
    known->blocks = field->blocks;
    known->area = area;
    known->count = count < KNOWN_MAX ? count : KNOWN_MAX;
    for (uint32_t i = 0; i < known->count; i++)
        known->neighbours[i] = (struct neighbour){out[i].number, out[i].weight, out[i].at};
    return known;
}

uint32_t tp_field_from(const struct tp_field *field, struct tp_field_view view, uint32_t area,
                       uint32_t weight, struct tp_blocks_place place)
{
    const struct known_area *known = area_neighbours(field, area);
    uint64_t least = TP_FIELD_UNSEEN;
    for (uint32_t i = 0; known && i < known->count; i++) {
        const struct neighbour *to = &known->neighbours[i];
        uint32_t beyond = tp_field_at(field, to->number, view);
        if (beyond == TP_FIELD_UNSEEN)
            continue;
        uint64_t through = (uint64_t)beyond + tp_field_weigh(tp_field_distance(field->metric, place, to->at),
                                                             weight + to->weight);
        least = through < least ? through : least;
    }
    return (uint32_t)least;
}

/* ---- The cache ---- */

/* Sorted, each once; returns how many. */
static uint32_t goals_sort(uint32_t *sorted, const uint32_t *goals, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < kept && sorted[at] < goals[i])
            at++;
        if (at < kept && sorted[at] == goals[i])
            continue;
        memmove(sorted + at + 1, sorted + at, (kept - at) * sizeof *sorted);
        sorted[at] = goals[i];
        kept++;
    }
    return kept;
}

static uint32_t hash_of(const struct tp_field *like)
{
    uint64_t hash = (like->blocks->version * 31 + like->blocks->epoch) * 31 + (uint64_t)like->metric;
    for (uint32_t i = 0; i < like->goal_count; i++)
        hash = (hash ^ like->goals[i]) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash ^ hash >> 32);
}

static bool is_like(const struct tp_field *field, const struct tp_field *like)
{
    return field->blocks == like->blocks && field->metric == like->metric &&
           field->goal_count == like->goal_count &&
           memcmp(field->goals, like->goals, like->goal_count * sizeof like->goals[0]) == 0;
}

struct tp_field *tp_field_take(struct tp_field_cache *cache, const struct tp_blocks *blocks,
                               enum tp_field_metric metric, const uint32_t *goals, uint32_t count)
{
    struct tp_field like = {.cache = cache, .blocks = blocks, .metric = metric, .refs = 1};
    like.goal_count = goals_sort(like.goals, goals, count);
    like.hash = hash_of(&like);
    struct tp_field **bucket = &cache->buckets[like.hash % BUCKETS];
    for (struct tp_field *field = *bucket; field; field = field->next_in_bucket)
        if (is_like(field, &like)) {
            if (field->refs++ == 0)
                list_remove(field);
            cache->stats.shared++;
            return field;
        }
    struct tp_field *field = tp__field_block_get(cache, sizeof *field);
    if (!field)
        return NULL;
    *field = like;
    tp_blocks_ref(blocks);
    cache->stats.fields++;
    bool queued = tp__field_queue_reserve(field->cache, &field->queue, like.goal_count);
    for (uint32_t i = 0; i < like.goal_count && queued; i++) {
        uint32_t *slot = distance_slot(field, like.goals[i]);
        queued = slot != NULL;
        if (slot) {
            *slot = 0;
            tp_queue_push(&field->queue, tp_queue_key(0, like.goals[i]));
        }
    }
    if (!queued) {
        field_free(field);
        return NULL;
    }
    field->next_in_bucket = *bucket;
    *bucket = field;
    cache->stats.made++;
    return field;
}

void tp_field_leave(struct tp_field *field)
{
    if (!field || --field->refs > 0)
        return;
    if (field->retired) {
        bucket_remove(field);
        field_free(field);
    } else {
        list_append(field);
    }
}

void tp_field_leave_for_good(struct tp_field *field)
{
    if (field)
        field->retired = true;
    tp_field_leave(field);
}

void tp_field_cache_retire(struct tp_field_cache *cache, const struct tp_blocks *blocks)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct tp_field *field = cache->buckets[i], *next; field; field = next) {
            next = field->next_in_bucket;
            if (field->blocks != blocks)
                continue;
            field->retired = true;
            if (field->refs == 0) {
                list_remove(field);
                bucket_remove(field);
                field_free(field);
            }
        }
}

const struct tp_blocks *tp_field_blocks(const struct tp_field *field)
{
    return field->blocks;
}

bool tp_field_is_goal(const struct tp_field *field, uint32_t area)
{
    return tp_blocks_among(field->goals, field->goal_count, area);
}

struct tp_field_cache *tp_field_cache_open(struct tp_pool *pool, uint64_t bytes_max)
{
    struct tp_field_cache *cache = tp_lines_alloc(sizeof *cache); /* its thread counts in it all the time */
    if (!cache)
        return NULL;
    cache->pool = pool;
    cache->bytes_max = bytes_max;
    return cache;
}

void tp_field_cache_close(struct tp_field_cache *cache)
{
    if (!cache)
        return;
    while (give_up_oldest(cache))
        continue;
    TP_CHECK(cache->stats.fields == 0 && cache->stats.bytes == 0);
    free(cache);
}

void tp_field_cache_stats(const struct tp_field_cache *cache, struct tp_field_cache_stats *stats)
{
    *stats = cache->stats;
}
