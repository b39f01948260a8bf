/* The tip of a map's history, and what a batch does to it.
 *
 * What it is: the rule by which a map's log is read, one pure step an entry, alike in every store and every daemon: the newest
 * version with the keys of the batches applied last, and a function that decides about the next batch. The same entries in the
 * same order make the same versions, refusals and keys everywhere. What it refuses: half a batch. Who calls it: the stores,
 * from their own threads; tests.
 */
#ifndef TP_DAEMON_TIP_H
#define TP_DAEMON_TIP_H

#include "base/error.h"
#include "daemon/store/keys.h"
#include "map/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A batch that asks to become a map's next version. */
struct tp_batch {
    struct tp_change *changes;
    size_t count;
    size_t unplaced_count; /* so many of the last are runs: rectangles of height 1, whose x is a cell's number ... */
    bool is_placed;        /* ... as is that of each single cell, until the map's width has turned them into places */
    bool has_base_version, has_epoch;
    uint64_t base_version, epoch; /* the batch is refused unless the map stands there, or is in that epoch */
    struct tp_key key;            /* not set: it has none */
};

/* Turns cells and the beginnings of runs, which come as numbers, into places on a map of this width; once. */
void tp_batch_place(struct tp_batch *batch, uint32_t width);

/* Zeroed is empty. */
struct tp_tip {
    const struct tp_map *map; /* a reference, owned; NULL: nothing is kept */
    struct tp_keys keys;      /* of the batches applied to it last */
};

void tp_tip_fini(struct tp_tip *tip);

/* Makes `map` the tip (takes a reference of its own), without keys. */
void tp_tip_begin(struct tp_tip *tip, const struct tp_map *map);

enum tp_tip_why {
    TP_TIP_EPOCH = 1, /* TP_ERR_VERSION_MISMATCH: the map is in another epoch */
    TP_TIP_BASE,      /* TP_ERR_VERSION_MISMATCH: the map does not stand at base_version */
    TP_TIP_CHANGE,    /* one of the changes: what tp_map_apply gives */
};

struct tp_tip_refused {
    enum tp_tip_why why;
    size_t bad; /* TP_TIP_CHANGE: which change, and where (tp_map_apply) */
    uint32_t bad_x, bad_y;
};

/* Decides about a batch, in this order: the epoch; the key, which if known gives the version that the batch made which had it
 * first in *repeated (else that is 0), and nothing is applied; base_version; the changes. Applied, the tip is the next version and knows the
 * key. Refused, the tip is as it was and *refused says why. TP_ERR_VERSION_MISMATCH; what tp_map_apply gives;
 * TP_ERR_NO_MEMORY (which is no decision: the tip is as it was and the same batch can be given again). Cost: that of
 * tp_map_apply. */
int tp_tip_apply(struct tp_tip *tip, struct tp_batch *batch, uint64_t *repeated,
                 struct tp_tip_refused *refused) TP_MUST_CHECK;

#endif
