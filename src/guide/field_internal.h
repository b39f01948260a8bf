/* What the searches over the block graph share: the cache's pages. field.c, scout.c. */
#ifndef TP_GUIDE_FIELD_INTERNAL_H
#define TP_GUIDE_FIELD_INTERNAL_H

#include "guide/field.h"
#include "guide/queue.h"

/* A page of TP_QUEUE_PAGE_BYTES under the cache's cap, unused fields given up for it; NULL without memory. */
void *tp__field_page_get(struct tp_field_cache *cache);
void tp__field_page_put(struct tp_field_cache *cache, void *page); /* NULL is allowed */

/* A page of an index, got and filled with ones when it is first asked for; NULL without memory. */
void *tp__field_page_at(struct tp_field_cache *cache, void **index, uint32_t page);

/* Makes room for `more` keys in a queue; false without memory. Gives back a queue's pages. */
bool tp__field_queue_reserve(struct tp_field_cache *cache, struct tp_queue *queue, uint32_t more);
void tp__field_queue_free(struct tp_field_cache *cache, struct tp_queue *queue);

#endif
