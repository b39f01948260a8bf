/* Sessions that are closed and whose memory is not put back yet.
 *
 * What it is: a list. Closing a session takes O(1): its id is stale and its map left at once, the search goes here.
 * Putting back the tiles of a large search takes a fraction of a millisecond, those of a thousand searches as many
 * times that, while a loop serves nobody: it frees a few in each of its turns. Until then they count as search
 * memory in use. What it refuses: nothing; room for a session is made when it opens, so that closing cannot fail.
 * Who calls it: a shard and its sessions, on their own thread.
 */
#ifndef TP_DAEMON_CLOSING_H
#define TP_DAEMON_CLOSING_H

#include "base/error.h"
#include "daemon/clock.h"
#include "search/session.h"

#include <stddef.h>

struct tp_closing {
    struct tp_session **sessions; /* to be freed, newest last */
    size_t count, capacity;
    size_t expected; /* sessions open that will come here */
};

void tp_closing_init(struct tp_closing *closing);

/* Frees every session left. None may be open. */
void tp_closing_fini(struct tp_closing *closing);

/* A session opens: makes room for it. TP_ERR_NO_MEMORY. Cost: O(1) amortised. */
int tp_closing_expect(struct tp_closing *closing) TP_MUST_CHECK;

/* Takes a session that was expected. Cost: O(1). */
void tp_closing_put(struct tp_closing *closing, struct tp_session *session);

/* Frees sessions, one at the least, until none is left or `slice_us` have passed. Returns how many. */
size_t tp_closing_free(struct tp_closing *closing, const struct tp_clock *clock, uint64_t slice_us);

#endif
