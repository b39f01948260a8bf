/* The maps whose changes a connection asked to be told of.
 *
 * What it is: per map the version told last, and pushes (MapChanged) that lead from there to the loop's present version.
 *
 * What is promised: before a reply names a version of a subscribed map, the client was told of that version or of a later one.
 * So a push never comes behind a reply that names a later version. That is why tp_peer_reply tells first, whatever the output
 * holds; at other times nothing is told while the output is full: what comes meanwhile is told in one push.
 * What it refuses: more than TP_SUBSCRIPTIONS_MAX maps; to list more than TP_PUSH_CELLS_MAX cells, or cells while the output is
 * full (the push then says resync). Who calls it: the peer and its loop.
 *
 * A subscription with cells holds a reference to the version told last: the memory of what changed since stays until the client
 * was told, or is dropped as a slow reader.
 */
#ifndef TP_DAEMON_SUBSCRIPTIONS_H
#define TP_DAEMON_SUBSCRIPTIONS_H

#include "base/error.h"
#include "daemon/world/name.h"
#include "map/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_peer;
struct tp_world_map;

enum { TP_SUBSCRIPTIONS_MAX = 64, TP_PUSH_CELLS_MAX = 65536 };

struct tp_subscription {
    char name[TP_WORLD_NAME_MAX + 1];
    struct tp_world_map *of;   /* NULL: dropped, and the client not told yet */
    uint64_t epoch, version;   /* told last */
    const struct tp_map *told; /* with want_cells, on a grid: that version, a reference; else NULL */
    bool want_cells;
};

/* What differs between two versions of a map, as the last push with cells of a loop had it: its subscribers are told of the same
 * versions one after the other, and that is compared once. Zeroed is empty. A loop's own; up to 8 bytes for each of
 * TP_PUSH_CELLS_MAX cells. */
struct tp_push_cells {
    char name[TP_WORLD_NAME_MAX + 1]; /* of the map; "": nothing is held */
    uint64_t epoch, from_version, version;
    uint32_t *cell, *terrain; /* as the message has them */
    size_t count, capacity;
    bool is_cut; /* too many, or no memory for them */
};
void tp_push_cells_fini(struct tp_push_cells *cells);

/* Zeroed is empty. */
struct tp_subscriptions {
    struct tp_subscription *list;
    uint32_t count, capacity;
};

void tp_subscriptions_fini(struct tp_subscriptions *subscriptions);

/* Subscribes to `of`, whose version `map` the client is told now; again: that counts from now on.
 * TP_ERR_RESOURCE_EXHAUSTED, TP_ERR_NO_MEMORY. */
int tp_subscriptions_add(struct tp_subscriptions *subscriptions, struct tp_world_map *of,
                         const struct tp_map *map, bool want_cells) TP_MUST_CHECK;

/* Ends a subscription, if there is one of that name. */
void tp_subscriptions_remove(struct tp_subscriptions *subscriptions, const char *name);

/* A publication of `of` comes to the shard. Gives whether the client is to be told. `is_dropped`: `of` is not touched any more. */
bool tp_subscriptions_published(struct tp_subscriptions *subscriptions, const struct tp_world_map *of,
                                bool is_dropped);

/* Brings the shard up to the versions published now: before a reply that names what the world has. */
void tp_subscriptions_refresh(struct tp_peer *peer);

/* Appends the pushes that are due. False: some are left, because the output is full, or for want of memory. `must`: a reply comes
 * next, full or not. Cost: O(subscriptions), and for a push with cells O(tiles of the map + cells of tiles that differ), once for
 * all subscribers of a loop that are told of the same versions one after the other. */
bool tp_subscriptions_tell(struct tp_peer *peer, bool must);

#endif
