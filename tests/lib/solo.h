/* A peer without a socket, on a shard without a loop: the daemon's whole path from bytes received to bytes to send, on one
 * thread, for tests that count and benches that measure.
 *
 * What it is: a shard with one map in its first place, and a greeted peer, both real. Sessions are put into the peer's table
 * as the open command does; frames go in by solo_send. What it refuses: what needs the world (puts, changes, looking maps
 * up): there is none. A failure ends the process (TP_CHECK). Who calls it: one thread.
 */
#ifndef TESTS_LIB_SOLO_H
#define TESTS_LIB_SOLO_H

#include "daemon/serve/peer.h"

struct solo {
    struct tp_config config;
    struct tp_shard shard;
    struct tp_world_map of;
    struct tp_peer peer;
    struct tp_pool_cap cap;
};

/* `map` is borrowed until fini. */
void solo_init(struct solo *solo, const struct tp_map *map);
void solo_fini(struct solo *solo);

/* Opens a session with the shard's pool and fields; gives its id. */
uint64_t solo_open(struct solo *solo, const struct tp_session_params *params);

/* The same for any peer and its shard, whose map in its first place is `of`. */
uint64_t solo_open_of(struct tp_shard *shard, struct tp_peer *peer, struct tp_world_map *of, const struct tp_session_params *params);

struct tp_session *solo_session(struct solo *solo, uint64_t id);

/* Packs a request as a frame, prefix and all; malloc'd, its length in *size. */
uint8_t *solo_frame(Tickpath__Request__BodyCase body_case, void *body, uint64_t id, size_t *size);

/* Gives received bytes to the peer and runs it to the end. Its replies are in solo->peer.output. */
void solo_receive(struct solo *solo, const void *bytes, size_t size);

/* Unpacks the first reply there; to be freed. Empties the output. */
Tickpath__Reply *solo_reply(struct solo *solo);

#endif
