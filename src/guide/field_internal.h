/* What the searches over the block graph share: the cache's pages. field.c, scout.c. */
#ifndef TP_GUIDE_FIELD_INTERNAL_H
#define TP_GUIDE_FIELD_INTERNAL_H

#include "guide/field.h"
#include "guide/queue.h"

/* A block of at most TP_PAGE_BYTES under the cache's cap, unused fields given up for it; NULL without memory. */
void *tp__field_block_get(struct tp_field_cache *cache, uint32_t bytes);
void tp__field_block_put(struct tp_field_cache *cache, void *block, uint32_t bytes); /* NULL is allowed */

/* A page of many, got and filled with ones when it is first asked for; NULL without memory. Gives all of them back. */
void *tp__field_page_at(struct tp_field_cache *cache, struct tp_pages *pages, uint32_t page);
void tp__field_pages_free(struct tp_field_cache *cache, struct tp_pages *pages);

/* Makes room for `more` keys in a queue; false without memory. Gives back a queue's pages. */
bool tp__field_queue_reserve(struct tp_field_cache *cache, struct tp_queue *queue, uint32_t more);
void tp__field_queue_free(struct tp_field_cache *cache, struct tp_queue *queue);

#endif
