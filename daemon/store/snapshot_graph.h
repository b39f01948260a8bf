/* The snapshot of a graph: the half of daemon/store/snapshot.h that is about them. Called by that module alone. */
#ifndef TP_DAEMON_SNAPSHOT_GRAPH_H
#define TP_DAEMON_SNAPSHOT_GRAPH_H

#include "base/error.h"
#include "map/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP__SNAPSHOT_GRAPH_BYTES = 48 }; /* of its header */

/* Whether `packed` bytes can be a zstd frame of `plain` bytes, as its header says: before anything is allocated for them. A block of a frame
 * takes 4 bytes or more and gives 128 KiB or less. */
bool tp__snapshot_can_unpack(const uint8_t *frame, size_t packed, size_t plain);

/* As tp_snapshot_encode without keys; `layout` is the number in the magic. Cost: O(nodes + edges). */
int tp__snapshot_encode_graph(const struct tp_map *map, uint8_t layout, uint8_t **bytes, size_t *size) TP_MUST_CHECK;

/* As tp_snapshot_decode without keys, whole: magic, checksum, and at least its header. */
int tp__snapshot_decode_graph(struct tp_map **out, const uint8_t *bytes, size_t size,
                              const char **reason) TP_MUST_CHECK;

#endif
