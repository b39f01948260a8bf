/* A network that misbehaves: what stands between a daemon and its Redis when a test wants the way there to be slow, cut, or silent.
 *
 * What it is: one listening socket on loopback, one thread that carries the bytes of each connection to one port and back, and
 * does to them what it was told last. What it refuses: judging, and changing a byte: what arrives is the beginning of what was
 * sent, in order. Every function asserts what it needs of the system. Who calls it: tests; its functions may be called from any thread
 * between proxy_start and proxy_end.
 */
#ifndef TESTS_LIB_PROXY_H
#define TESTS_LIB_PROXY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum proxy_way {
    PROXY_THERE, /* from who connected to the port behind */
    PROXY_BACK,
};

enum { PROXY_PAIRS_MAX = 32 }; /* connections at a time; further ones are refused */

struct proxy_pair; /* a connection, and that made for it */

struct proxy {
    uint16_t port; /* where to connect; the same until the end */

    /* The rest is the proxy's own. */
    int listener, wake[2];
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    uint16_t to_port;
    unsigned delay_ms[2];
    bool is_held, is_refusing, is_ending;
    uint64_t taken;       /* connections, those refused left out */
    uint64_t bytes[2];    /* handed on */
    bool has_cut[2];      /* cut after so many bytes more */
    uint64_t cut_left[2]; /* of them */
    uint64_t cuts;        /* such cuts made */
    struct proxy_pair *pair[PROXY_PAIRS_MAX];
};

/* Listens on a port that the kernel chooses, and carries what comes to `to_port` of loopback. */
void proxy_start(struct proxy *proxy, uint16_t to_port);

/* Cuts everything, and ends the thread. */
void proxy_end(struct proxy *proxy);

/* Connections from now on are carried to another port; those there are stay. */
void proxy_turn(struct proxy *proxy, uint16_t to_port);

/* Bytes that come from now on are handed on so much later. 0: at once. */
void proxy_delay(struct proxy *proxy, enum proxy_way way, unsigned delay_ms);

/* Held: the connections stay, nothing is handed on in either way, new ones are taken and hear nothing. Let go: all that came
 * meanwhile is handed on. */
void proxy_hold(struct proxy *proxy, bool held);

/* Of one connection, 0 being the first of those that are there, what comes back is held, or let go, and all else handed on. */
void proxy_mute(struct proxy *proxy, size_t which, bool muted);

/* New connections are ended at once (reset). */
void proxy_refuse(struct proxy *proxy, bool refused);

/* Resets every connection there is; gives how many. What was on its way is lost. */
size_t proxy_cut(struct proxy *proxy);

/* Hands on so many bytes more in that way, whatever connection they belong to, then resets that connection: once. */
void proxy_cut_after(struct proxy *proxy, enum proxy_way way, uint64_t bytes);

struct proxy_counts {
    uint64_t taken;    /* connections since the start */
    size_t now;        /* there now */
    uint64_t bytes[2]; /* handed on, by way */
    uint64_t cuts;     /* made by proxy_cut_after */
};

struct proxy_counts proxy_count(struct proxy *proxy);

#endif
