/* The file of a map's change batches since a snapshot.
 *
 * What it is: a header that names the snapshot, then records; one record holds all batches that were written
 * and synced together, so that only the last record of a file can be torn. All numbers are little-endian:
 *
 *     header    8  magic "tplog\0\0\1"
 *               8  epoch
 *               8  version of the snapshot
 *               8  XXH3-64 of the 24 bytes before
 *     record    4  magic "tprc"
 *               4  batches
 *               8  version the first one made
 *               8  payload bytes
 *               8  XXH3-64 of the 24 bytes before
 *               n  payload: per batch 4 bytes of length, then the batch (tp_batch_encode)
 *               8  XXH3-64 of the payload
 *
 * What it refuses: to skip what it cannot read. A last record that is not whole is torn; anything else is
 * corrupt. Who calls it: the embedded store's thread.
 */
#ifndef TP_DAEMON_MAPLOG_H
#define TP_DAEMON_MAPLOG_H

#include "base/error.h"
#include "daemon/store/keys.h"
#include "map/map.h"

enum { TP_MAPLOG_HEADER_BYTES = 32, TP_MAPLOG_RECORD_BYTES = 32, TP_MAPLOG_CHECKSUM_BYTES = 8 };

/* Fills the header of a log that begins at this snapshot. */
void tp_maplog_header(uint8_t out[TP_MAPLOG_HEADER_BYTES], uint64_t epoch, uint64_t version);

struct tp_maplog_batch {
    const void *bytes;
    size_t size;
};

/* Gives one record of these batches (malloc'd, freed by the caller). TP_ERR_NO_MEMORY. */
int tp_maplog_record(uint8_t **record, size_t *size, const struct tp_maplog_batch *batches, uint32_t count,
                     uint64_t first_version) TP_MUST_CHECK;

struct tp_maplog_replay {
    size_t
        good_bytes; /* of the file, up to the end of the last whole record; 0: not even the header is whole */
    uint64_t batches;
};

/* Applies a log's batches to `*map` (a reference, exchanged for one to the newest version), and adds their keys to `keys`
 * (NULL: they are not wanted). A torn end is left out: good_bytes is then less than `size`. TP_ERR_CORRUPT with static words in *reason;
 * TP_ERR_NO_MEMORY; on error *map is still a reference to be dropped. */
int tp_maplog_apply(struct tp_map **map, struct tp_keys *keys, const uint8_t *bytes, size_t size,
                    struct tp_maplog_replay *replay, const char **reason) TP_MUST_CHECK;

#endif
