/* How a map version and a change batch look as bytes, for every store.
 *
 * What it is: two codecs. A snapshot: header with magic, layout number, sizes, epoch, version, profile, then
 * the cells (of a graph: edges and coordinates) compressed with zstd, then an XXH3 checksum of all before it. A batch: the changes as they were
 * asked for (classes, not weights), so that replaying one makes exactly the version it made the first time;
 * with the key that it came under. A snapshot has the keys of the batches applied last; and, where the log of changes is kept apart from
 * it, whose map it is, up to which entry of the log it goes, and that log's lineage.
 * What it refuses: bytes whose checksum, layout or sizes don't fit; sizes are checked before anything is
 * allocated. What a later program wrote is told apart from damage. Who calls it: stores, from their own threads; pure functions.
 *
 * All numbers are little-endian.
 */
#ifndef TP_DAEMON_SNAPSHOT_H
#define TP_DAEMON_SNAPSHOT_H

#include "base/error.h"
#include "daemon/store/keys.h"
#include "daemon/world/name.h"
#include "daemon/store/place.h"
#include "map/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a snapshot has beside the map; zeroed is nothing. All borrowed. */
struct tp_snapshot_extra {
    const char *name;                 /* of the map, allowed; NULL: not said */
    const struct tp_keys *keys;       /* of the batches applied last; NULL for none */
    struct tp_log_place place;        /* of the last entry of the log applied; 0-0: none of this epoch was */
    const struct tp_lineage *lineage; /* NULL for none */
};

/* Gives the snapshot of `map` (malloc'd, freed by the caller). TP_ERR_NO_MEMORY. Cost: O(cells). */
int tp_snapshot_encode_placed(const struct tp_map *map, const struct tp_snapshot_extra *extra, uint8_t **bytes,
                              size_t *size) TP_MUST_CHECK;

/* The same with keys alone, NULL for none: for a store that has its log's place elsewhere. */
int tp_snapshot_encode(const struct tp_map *map, const struct tp_keys *keys, uint8_t **bytes, size_t *size) TP_MUST_CHECK;

/* What a snapshot says of itself. */
struct tp_snapshot_info {
    uint8_t layout;
    bool is_newer; /* it is whole and has a layout that this program does not know: nothing below is set */
    bool is_graph;
    uint32_t width, height; /* of a graph: its nodes, and 1 */
    uint64_t epoch, version;
    char name[TP_WORLD_NAME_MAX + 1]; /* "": it does not say */
    struct tp_log_place place;
    struct tp_lineage lineage;
};

/* Reads that, and checks the checksum; the map itself is not looked at, so that decoding may still find it corrupt. TP_ERR_CORRUPT with
 * static words in *reason; *info is zeroed then. What a later program wrote gives 0 and is_newer. Allocates nothing. Cost: O(bytes), at the
 * speed of the checksum. */
int tp_snapshot_peek(struct tp_snapshot_info *info, const void *bytes, size_t size, const char **reason) TP_MUST_CHECK;

/* Gives one reference to the map that the bytes describe, with its epoch and version, and its keys (freed by the caller with
 * tp_keys_fini; NULL: not wanted). TP_ERR_CORRUPT with static words in *reason, also for what a later program wrote (tp_snapshot_peek
 * tells that apart); TP_ERR_NO_MEMORY. On error *out is NULL, and there are no keys. Cost: O(cells). */
int tp_snapshot_decode(struct tp_map **out, struct tp_keys *keys, const void *bytes, size_t size,
                       const char **reason) TP_MUST_CHECK;

/* Gives the bytes of a batch with its key, NULL or not set for none (malloc'd, freed by the caller). TP_ERR_NO_MEMORY. */
int tp_batch_encode(const struct tp_change *changes, size_t count, const struct tp_key *key, uint8_t **bytes,
                    size_t *size) TP_MUST_CHECK;

/* Reads the key of a batch's bytes; not set where there is none, or where it can't be read. Cost: O(1). */
void tp_batch_key(const void *bytes, size_t size, struct tp_key *key);

/* Gives the changes of a batch (one malloc'd block, freed by the caller); bitmaps borrow `bytes`.
 * TP_ERR_CORRUPT, TP_ERR_NO_MEMORY. */
int tp_batch_decode(const void *bytes, size_t size, struct tp_change **changes, size_t *count) TP_MUST_CHECK;

#endif
