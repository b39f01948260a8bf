/* What one event loop owns besides its sockets: the current version of each map, the search memory, the
 * numbers.
 *
 * What it is: the part of a loop that has no libuv in it, so that a simulation can be one. A shard's maps
 * change only when it takes a publication, never in the midst of a tick. Who calls it: its own thread.
 */
#ifndef TP_DAEMON_SHARD_H
#define TP_DAEMON_SHARD_H

#include "daemon/serve/arena.h"
#include "daemon/serve/closing.h"
#include "daemon/config.h"
#include "daemon/serve/scheduler.h"
#include "daemon/serve/slabs.h"
#include "daemon/serve/spares.h"
#include "daemon/serve/subscriptions.h"
#include "daemon/serve/upload.h"
#include "daemon/world/world.h"
#include "guide/field.h"

#include <stdatomic.h>

enum { TP_SHARD_FREE_US = 500 };

struct tp_peer;

struct tp_shard {
    unsigned index;
    const struct tp_config *config;                                  /* borrowed */
    struct tp_world *world;                                          /* borrowed */
    struct tp_store *store;                                          /* borrowed: for its status */
    struct tp_upload_quota *upload_quota;                            /* borrowed; of all shards */
    struct tp_metrics *metrics;                                      /* borrowed; this thread's */
    struct tp_clock clock;                                           /* monotonic */
    void *context;                                                   /* first parameter of submit */
    void (*submit)(void *context, struct tp_world_request *request); /* gives a request to the world */
    uint64_t seed;                                                   /* of session ids */
    bool is_draining;                                                /* new opens are refused */
    const atomic_bool *is_over; /* borrowed; set: ticks under way are given up; NULL: never */

    /* the shard's own, set by tp_shard_init */
    struct tp_slabs slabs; /* what the pool is made of */
    struct tp_pool pool;
    struct tp_field_cache *fields; /* of guided sessions; from the pool */
    struct tp_field_cache_stats fields_counted; /* as the metrics have them, */
    uint64_t used_counted;                      /* and of the pool the bytes in use */
    struct tp_closing closing;     /* closed sessions whose memory goes back in slices */
    struct tp_arena arena;         /* reset with every frame */
    struct tp_spares spares;       /* of frames that come in pieces, and of replies */
    struct tp_peer *subscribers;   /* those that want to be told of changes; linked by subscriber_next */
    struct tp_push_cells push_cells;
    const struct tp_map **current; /* by map slot; a reference each, NULL: not published */
    const struct tp_world_layers **layers; /* likewise: those of the current version */
    uint64_t *seq;                         /* likewise: of its publication */
    uint64_t versions;                     /* of maps, taken so far */
};

/* Sets up what the fields above don't give. TP_ERR_NO_MEMORY. */
int tp_shard_init(struct tp_shard *shard, struct tp_pool_cap *cap) TP_MUST_CHECK;

/* All sessions must be closed; those whose memory is still out are freed. */
void tp_shard_fini(struct tp_shard *shard);

/* Counts sessions that were closed just now. */
void tp_shard_count_closed(struct tp_shard *shard, uint32_t count);

/* Brings the metrics of search memory and goal fields up to date; to be called after ticks, and when sessions were opened or freed. */
void tp_shard_count_memory(struct tp_shard *shard);

/* Whether closed sessions wait for tp_shard_free_closed. */
bool tp_shard_has_closed(const struct tp_shard *shard);

/* Frees closed sessions for about TP_SHARD_FREE_US; to be called once a turn while there are some. */
void tp_shard_free_closed(struct tp_shard *shard);

/* Gives back what frames needed that come no more. To be called every second or so. */
void tp_shard_trim(struct tp_shard *shard);

/* Takes a publication: the shard's version of that map from now on, unless it has a newer one. One without a map: it
 * was dropped, `of` is not to be touched any more. */
void tp_shard_publish(struct tp_shard *shard, struct tp_world_publication *publication);

/* The shard's version of a map, borrowed until the next publication; NULL before the first. */
const struct tp_map *tp_shard_map(const struct tp_shard *shard, const struct tp_world_map *map);

/* The shard's version of a layer that a session is counted in on, borrowed likewise. */
const struct tp_map *tp_shard_layer(const struct tp_shard *shard, const struct tp_world_layer *layer);

/* Brings the shard's version up to what is published now (its publication may still be in the mailbox). Gives
 * it, borrowed as above. Cost: a short lock. */
const struct tp_map *tp_shard_refresh(struct tp_shard *shard, struct tp_world_map *map);

#endif
