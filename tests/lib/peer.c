#include "tests/lib/peer.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int peer_listen(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 4), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void *peer_main(void *context)
{
    struct peer *peer = context;
    int fd = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) {
        int on = 1; /* else what was said last could still be held back when the script ends */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        peer->script(fd, peer->argument);
        close(fd);
    }
    return NULL;
}

void peer_start(struct peer *peer, peer_script script, uint64_t argument)
{
    *peer = (struct peer){.script = script, .argument = argument};
    peer->listener = peer_listen(&peer->port);
    ck_assert_int_eq(pthread_create(&peer->thread, NULL, peer_main, peer), 0);
}

void peer_join(struct peer *peer)
{
    pthread_join(peer->thread, NULL);
    close(peer->listener);
}

bool peer_send(int fd, const void *bytes, size_t size)
{
    for (const char *from = bytes; size > 0;) {
        ssize_t sent = send(fd, from, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        from += sent;
        size -= (size_t)sent;
    }
    return true;
}

Tickpath__Request *peer_request(int fd)
{
    size_t length = 0, got = 0;
    uint8_t byte = 0x80;
    for (int shift = 0; byte >= 0x80; shift += 7) {
        if (recv(fd, &byte, 1, 0) != 1)
            return NULL;
        length |= (size_t)(byte & 0x7f) << shift;
    }
    uint8_t *bytes = malloc(length + 1);
    while (got < length) {
        ssize_t n = recv(fd, bytes + got, length - got, 0);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    Tickpath__Request *request = got == length ? tickpath__request__unpack(NULL, length, bytes) : NULL;
    free(bytes);
    return request;
}

uint64_t peer_id(int fd)
{
    Tickpath__Request *request = peer_request(fd);
    if (request == NULL)
        return 0;
    uint64_t id = request->id;
    tickpath__request__free_unpacked(request, NULL);
    return id;
}

size_t peer_frame(const Tickpath__Reply *reply, uint8_t *frame)
{
    size_t size = tickpath__reply__get_packed_size(reply), at = 0, left = size;
    ck_assert_uint_le(size + 2, PEER_FRAME_MAX);
    for (; left > 0x7f; left >>= 7)
        frame[at++] = (uint8_t)(left | 0x80);
    frame[at++] = (uint8_t)left;
    return at + tickpath__reply__pack(reply, frame + at);
}

bool peer_reply(int fd, uint64_t id, Tickpath__Reply__BodyCase kind, void *message)
{
    uint8_t frame[PEER_FRAME_MAX];
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    reply.has_id = id != 0;
    reply.id = id;
    reply.body_case = kind;
    reply.error = message; /* the members of the union are pointers to messages, all alike */
    return peer_send(fd, frame, peer_frame(&reply, frame));
}

void peer_greet(int fd)
{
    Tickpath__Welcome welcome = TICKPATH__WELCOME__INIT;
    welcome.has_protocol = 1;
    welcome.protocol = 1;
    welcome.server_version = (char *)"scripted";
    peer_reply(fd, peer_id(fd), TICKPATH__REPLY__BODY_WELCOME, &welcome);
}

void peer_wait_for_end(int fd)
{
    char bytes[4096];
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
}
