#include "tests/bench/linked.h"

#include "base/check.h"
#include "daemon/net/connection.h"
#include "daemon/net/loop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPLY_BYTES_MAX = 4 << 20 };

static struct tp_loop loop;
static struct solo *solo;
static struct tp_peer *peer; /* of the connection */
static _Atomic int64_t connections = 1;
static int fd = -1;
static uint8_t *received;
static size_t received_bytes;

/* The world's part: it refuses the drop of a map. */
static void submit(void *context, struct tp_world_request *request)
{
    (void)context;
    peer = request->owner;
    request->refusal.error = TP_ERR_NOT_FOUND;
    request->mail.kind = TP_SHARD_MAIL_ANSWER;
    tp_loop_post(&loop, &request->mail);
}

/* Both ends of a connection over the loopback; gives the daemon's. */
static int connect_ends(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    TP_CHECK(listener >= 0 && fd >= 0);
    TP_CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
    TP_CHECK(getsockname(listener, (struct sockaddr *)&at, &size) == 0);
    TP_CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    int end = accept(listener, NULL, NULL);
    TP_CHECK(end >= 0);
    close(listener);
    return end;
}

/* Sends a request and takes the kind of its reply. */
static Tickpath__Reply__BodyCase ask(Tickpath__Request__BodyCase body_case, void *body)
{
    size_t size;
    uint8_t *frame = solo_frame(body_case, body, 0, &size);
    linked_send(frame, size);
    free(frame);
    linked_run();
    Tickpath__Reply *reply = linked_reply();
    Tickpath__Reply__BodyCase kind = reply->body_case;
    tickpath__reply__free_unpacked(reply, NULL);
    return kind;
}

void linked_init(struct solo *with)
{
    solo = with;
    received = malloc(REPLY_BYTES_MAX);
    TP_CHECK(received != NULL);
    struct tp_shard *shard = &loop.shard;
    shard->config = &solo->config;
    shard->metrics = solo->shard.metrics;
    shard->store = solo->shard.store;
    shard->clock = solo->shard.clock;
    shard->submit = submit;
    TP_CHECK(tp_loop_init(&loop, &solo->cap, &connections) == 0);
    shard->current[0] = tp_map_ref(solo->shard.current[0]);
    tp_connection_open(&loop, connect_ends(), false);
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    TP_CHECK(ask(TICKPATH__REQUEST__BODY_HELLO, &hello) == TICKPATH__REPLY__BODY_WELCOME);
    Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
    drop.map = solo->of.name;
    TP_CHECK(ask(TICKPATH__REQUEST__BODY_DROP_MAP, &drop) == TICKPATH__REPLY__BODY_ERROR && peer != NULL);
}

void linked_fini(void)
{
    close(fd);
    while (atomic_load(&connections) > 0)
        uv_run(&loop.uv, UV_RUN_ONCE);
    loop.stop.kind = TP_LOOP_MAIL_STOP;
    tp_loop_post(&loop, &loop.stop);
    tp_loop_run(&loop);
    tp_loop_fini(&loop);
    free(received);
}

uint64_t linked_open(const struct tp_session_params *params)
{
    return solo_open_of(&loop.shard, peer, &solo->of, params);
}

void linked_send(const uint8_t *frame, size_t size)
{
    TP_CHECK(send(fd, frame, size, 0) == (ssize_t)size);
}

void linked_run(void)
{
    uv_run(&loop.uv, UV_RUN_ONCE);
}

Tickpath__Reply *linked_reply(void)
{
    struct tp_frame_decoder decoder;
    const uint8_t *payload;
    size_t size;
    for (received_bytes = 0;;) {
        ssize_t got = recv(fd, received + received_bytes, REPLY_BYTES_MAX - received_bytes, MSG_DONTWAIT);
        TP_CHECK(got > 0 || (got < 0 && errno == EAGAIN));
        received_bytes += got > 0 ? (size_t)got : 0;
        tp_frame_decoder_init(&decoder, REPLY_BYTES_MAX, NULL);
        TP_CHECK(tp_frame_decoder_push(&decoder, received, received_bytes) == 0);
        if (tp_frame_decoder_next(&decoder, &payload, &size) == 1)
            break;
        linked_run(); /* a timer came first, or the socket took a part */
    }
    Tickpath__Reply *reply = tickpath__reply__unpack(NULL, size, payload);
    TP_CHECK(reply != NULL);
    return reply;
}
