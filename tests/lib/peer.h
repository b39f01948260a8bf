/* Scripted peers: what a client connects to when a test wants it to meet something that no daemon does.
 *
 * What it is: one listening socket on loopback, one thread that takes one connection and plays a script on
 * it. What it refuses: judging; the test looks at what the client made of it. Who calls it: tests of the
 * client side.
 */
#ifndef TESTS_LIB_PEER_H
#define TESTS_LIB_PEER_H

#include "proto/tickpath.pb-c.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*peer_script)(int fd, uint64_t argument);

struct peer {
    int listener;
    uint16_t port;
    pthread_t thread;
    peer_script script;
    uint64_t argument;
};

/* Listens on a port that the kernel chooses, and plays the script on the first connection. */
void peer_start(struct peer *peer, peer_script script, uint64_t argument);

/* Waits for the script's end. */
void peer_join(struct peer *peer);

/* A listening socket on loopback; gives its port. */
int peer_listen(uint16_t *port);

/* ---- for scripts ---- */

/* Sends bytes; false when the other side is gone. */
bool peer_send(int fd, const void *bytes, size_t size);

/* Reads one request, to be freed; NULL at the connection's end. */
Tickpath__Request *peer_request(int fd);

/* Reads one request and gives its id; 0 at the end. */
uint64_t peer_id(int fd);

enum { PEER_FRAME_MAX = 4096 };

/* Packs the frame of a reply into PEER_FRAME_MAX bytes; gives its size. */
size_t peer_frame(const Tickpath__Reply *reply, uint8_t *frame);

/* Sends a reply whose body is the message of that kind; with id 0 it carries none. */
bool peer_reply(int fd, uint64_t id, Tickpath__Reply__BodyCase kind, void *message);

/* Reads the hello and says welcome, with nothing but a name. */
void peer_greet(int fd);

/* Waits until the other side is gone. */
void peer_wait_for_end(int fd);

#endif
