/* How a map version and a change batch look as bytes, for every store.
 *
 * What it is: two codecs. A snapshot: header with magic, layout number, sizes, epoch, version, profile, then
 * the cells (of a graph: edges and coordinates) compressed with zstd, then an XXH3 checksum of all before it. A batch: the changes as they were
 * asked for (classes, not weights), so that replaying one makes exactly the version it made the first time;
 * with the key that it came under. A snapshot has the keys of the batches applied last.
 * What it refuses: bytes whose checksum, layout or sizes don't fit; sizes are checked before anything is
 * allocated. Who calls it: stores, from their own threads; pure functions.
 *
 * All numbers are little-endian.
 */
#ifndef TP_DAEMON_SNAPSHOT_H
#define TP_DAEMON_SNAPSHOT_H

#include "base/error.h"
#include "daemon/keys.h"
#include "map/map.h"

/* Gives the snapshot of `map` with the keys of the batches applied last, NULL for none (malloc'd, freed by the caller).
 * TP_ERR_NO_MEMORY. Cost: O(cells). */
int tp_snapshot_encode(const struct tp_map *map, const struct tp_keys *keys, uint8_t **bytes, size_t *size) TP_MUST_CHECK;

/* Gives one reference to the map that the bytes describe, with its epoch and version, and its keys (freed by the caller with
 * tp_keys_fini; NULL: not wanted). TP_ERR_CORRUPT with static words in *reason; TP_ERR_NO_MEMORY. On error *out is NULL, and
 * there are no keys. */
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
