/* A TCP connection: moves bytes between a socket and a peer.
 *
 * The happy path: read -> tp_peer_receive -> tp_peer_run -> one write of all its replies.
 *
 *     reading stops    while the peer waits for the world, while its output is above output_bytes_max, while it
 *                      has frames left for its next turn
 *     is dropped       on a socket error; when its output stays above the bound for slow_reader_ms
 *     is told, then    when no hello or nothing at all comes in time, when framing is lost, when the daemon drains and it
 *     closed           is quiet, or what it had sent by the last call is answered: an error frame, the write side shut, what still comes in discarded for a moment (a
 *                      close at once would make the kernel throw away the error frame with a reset)
 *
 * Sessions are closed the moment the connection is; the memory of their searches goes back in slices, turn by turn
 * of the loop.
 * Who calls it: its loop.
 */
#ifndef TP_DAEMON_CONNECTION_H
#define TP_DAEMON_CONNECTION_H

#include "daemon/net/loop.h"

/* Takes an accepted socket. `is_refused`: too many connections; it is told so and closed. */
void tp_connection_open(struct tp_loop *loop, int fd, bool is_refused);

/* Hands the world's answer to whoever waits for it. */
void tp_connection_answer(struct tp_world_request *request);

/* A publication is about to be taken: gives a turn to those that want to be told of it. */
void tp_connection_published(struct tp_loop *loop, const struct tp_world_publication *publication);

/* Ends the sessions on a map whose epoch is over. */
void tp_connection_end_sessions(struct tp_loop *loop, const struct tp_world_publication *publication);

/* Looks at every connection's timeouts. */
void tp_connection_look_all(struct tp_loop *loop);

/* Copies a slice of what loop->view asks for; whether that was the last. */
bool tp_connection_view(struct tp_loop *loop);

/* Gives one more turn to those that had frames left. */
void tp_connection_run_again(struct tp_loop *loop);

/* Closes all connections; has_dropped if one of them was not at its end already. */
void tp_connection_drop_all(struct tp_loop *loop, const char *reason);

#endif
