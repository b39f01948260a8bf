/* A tick request, read straight from the frame's bytes into the arena: the one message that comes for every frame.
 *
 * What it is: what protobuf-c makes of such bytes (tests/unit/test_tick_read.c holds one against the other), for requests as clients
 * write them: an id, then a tick of fields that come once each. What it refuses: all else, other messages and bytes that are no message
 * among it; protobuf-c reads those. Who calls it: the peer.
 */
#ifndef TP_DAEMON_TICK_READ_H
#define TP_DAEMON_TICK_READ_H

#include "daemon/serve/arena.h"

#include "proto/tickpath.pb-c.h"

#include <stdint.h>

/* Gives the request, in the arena with all it holds; NULL: protobuf-c is to read it, or the arena is exhausted. Cost: O(size). */
Tickpath__Request *tp_tick_read(struct tp_arena *arena, const uint8_t *payload, size_t size);

#endif
