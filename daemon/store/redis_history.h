/* A map's history as one daemon has read it: the tip, the place in the log, the log's lineage, and the entries read last.
 *
 * What it is: one pure step an entry. The entries read last are kept as they were, so that they can be put back into a log that lost
 * them. What it refuses: to go on over a put of another epoch (whoever reads the log begins anew there). Who calls it: the Redis store's
 * thread.
 */
#ifndef TP_DAEMON_REDIS_HISTORY_H
#define TP_DAEMON_REDIS_HISTORY_H

#include "daemon/store/place.h"
#include "daemon/store/redis_entry.h"
#include "daemon/store/tip.h"

enum { TP_REDIS_KEPT_MAX = 65536, TP_REDIS_KEPT_BYTES_MAX = 16 << 20 };

/* Zeroed, with `last` set by tp__redis_history_init. */
struct tp_redis_history {
    struct tp_tip tip; /* tip.map NULL: nothing was read yet */
    struct tp_log_place place; /* of the last entry read */
    struct tp_lineage lineage;
    struct tp_redis_entry *first, **last; /* the entries read last, the oldest first; the last one is that at `place`, but before one is read */
    size_t kept_count, kept_bytes;
};

void tp__redis_history_init(struct tp_redis_history *history);

/* Leaves it initialised, and empty. */
void tp__redis_history_fini(struct tp_redis_history *history);

/* *to, which is finished first, takes all that *from has; *from is empty then. */
void tp__redis_history_move(struct tp_redis_history *to, struct tp_redis_history *from);

enum tp_redis_step {
    TP_REDIS_STEP_NOTHING,   /* the entry makes nothing: a mark, of unknown type, malformed; a put of the epoch the map is in */
    TP_REDIS_STEP_ELSEWHERE, /* a batch that was meant for another epoch: nothing */
    TP_REDIS_STEP_DECIDED,   /* a batch: *error, *repeated and *refused say how (tp_tip_apply) */
    TP_REDIS_STEP_PUT,       /* the map begins anew here, in another epoch: the history is as it was */
    TP_REDIS_STEP_DROP,      /* the map ends here: the history is as it was */
    TP_REDIS_STEP_NO_MEMORY, /* the history is as it was, and the entry can be read again */
};

struct tp_redis_decided {
    int error;
    uint64_t repeated;
    struct tp_tip_refused refused;
};

/* Reads an entry that stands behind `place`, and keeps it (takes it) unless it gives PUT, DROP or NO_MEMORY. `own`: the batch that this
 * entry asks for, where it came from here; else it is decoded. `name` is for the log. Cost: that of tp_tip_apply. */
enum tp_redis_step tp__redis_history_read(struct tp_redis_history *history, struct tp_redis_entry *entry, struct tp_batch *own,
                                          struct tp_redis_decided *decided, const char *name);

/* Begins with the map that a put entry brought, whose snapshot has this lineage (NULL: none) and these keys (NULL: none); takes the
 * entry. TP_ERR_NO_MEMORY: all is as it was. */
int tp__redis_history_begin(struct tp_redis_history *history, const struct tp_map *map, const struct tp_keys *keys,
                            const struct tp_lineage *lineage, struct tp_redis_entry *entry) TP_MUST_CHECK;

/* Its tip is the map just behind this entry, whose lineage it has: keeps the entry, takes it. */
void tp__redis_history_stand(struct tp_redis_history *history, struct tp_redis_entry *entry);

/* The entry kept at this place; NULL: it is not kept (any more). Cost: O(entries kept). */
const struct tp_redis_entry *tp__redis_history_kept(const struct tp_redis_history *history, struct tp_log_place place);

#endif
