#include "daemon/stats/http_peers.h"

#include <stdlib.h>
#include <sys/socket.h>

struct tp_http_peer {
    struct tp_http_peer *before, *after;
    int fd;
    bool is_stream, is_shut;
};

static bool is_waiting(const struct tp_http_peer *peer)
{
    return !peer->is_stream && !peer->is_shut;
}

static void link_last(struct tp_http_peers *peers, struct tp_http_peer *peer)
{
    peer->before = peers->last;
    peer->after = NULL;
    *(peers->last != NULL ? &peers->last->after : &peers->first) = peer;
    peers->last = peer;
}

static void unlink_peer(struct tp_http_peers *peers, struct tp_http_peer *peer)
{
    *(peer->before != NULL ? &peer->before->after : &peers->first) = peer->after;
    *(peer->after != NULL ? &peer->after->before : &peers->last) = peer->before;
}

/* Shuts the one that has waited longest; libmicrohttpd finds that, and closes it. */
static void make_room(struct tp_http_peers *peers)
{
    struct tp_http_peer *peer = peers->first;
    while (peer != NULL && !is_waiting(peer))
        peer = peer->after;
    if (peer == NULL)
        return;
    shutdown(peer->fd, SHUT_RDWR);
    peer->is_shut = true;
    peers->waiting--;
}

struct tp_http_peer *tp_http_peer_came(struct tp_http_peers *peers, int fd)
{
    struct tp_http_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        shutdown(fd, SHUT_RDWR);
        return NULL;
    }
    peer->fd = fd;
    link_last(peers, peer);
    if (++peers->waiting > TP_HTTP_WAITING_MAX)
        make_room(peers);
    return peer;
}

void tp_http_peer_streams(struct tp_http_peers *peers, struct tp_http_peer *peer)
{
    if (peer == NULL || peer->is_stream)
        return;
    peers->waiting -= is_waiting(peer);
    peer->is_stream = true;
}

void tp_http_peer_answered(struct tp_http_peers *peers, struct tp_http_peer *peer)
{
    if (peer == NULL)
        return;
    peers->waiting -= is_waiting(peer);
    peer->is_stream = false;
    peers->waiting += is_waiting(peer);
    unlink_peer(peers, peer);
    link_last(peers, peer);
}

void tp_http_peer_went(struct tp_http_peers *peers, struct tp_http_peer *peer)
{
    if (peer == NULL)
        return;
    peers->waiting -= is_waiting(peer);
    unlink_peer(peers, peer);
    free(peer);
}
