/* The load of the bench of a shared log: batches of changes to one map, each under a key of its own, from many connections to one
 * daemon or several, and how long each took to be acknowledged.
 *
 *     log PORT[,PORT] CONNECTIONS SECONDS RATE
 *
 * RATE 0: each connection sends the next batch when it was answered, and the time counts from the sending (a closed loop: how many there are a
 * second). Else so many batches a second come due at even distances, are sent on the next connection that is free, and the time counts from when
 * they were due (an open loop). A daemon takes the changes of one connection one after the other, so that a connection has one on its way.
 *
 * Puts the map anew. Prints one JSON object; log.py judges. Exit code 2: it could not be run, a batch was refused, or a daemon's map is not
 * at the version that the batches make. */
#include "proto/tickpath.pb-c.h"
#include "tests/bench/bench.h"
#include "tests/lib/rng.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    SIDE = 256,
    CHANGES = 4,
    CONNECTIONS_MAX = 1000,
    FRAME_MAX = 1 << 17,
    DAEMONS_MAX = 8,
    ANSWER_MS = 20000
};

struct connection {
    int fd;
    bool is_busy;
    uint64_t due_us; /* of the batch on its way */
    uint8_t in[FRAME_MAX];
    size_t in_size;
};

static struct connection *connection[CONNECTIONS_MAX];
static int connections;
static struct tp_test_rng rng = {11};
static double *latency_us;
static size_t acknowledged, room;
static uint64_t keys;
static uint64_t key_base; /* another in each run, so that a map that was there before knows none of them */

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- Frames ---- */

static void send_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            give_up("the daemon ended the connection");
        bytes += sent;
        size -= (size_t)sent;
    }
}

static void send_request(struct connection *c, Tickpath__Request__BodyCase kind, void *message)
{
    uint8_t frame[FRAME_MAX];
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.body_case = kind;
    request.hello = message; /* the oneof is a union of pointers */
    size_t body = tickpath__request__get_packed_size(&request), head = 0;
    if (body + 10 > sizeof frame)
        give_up("too large a request");
    for (size_t rest = body;; rest >>= 7) {
        frame[head++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        if (rest <= 0x7f)
            break;
    }
    tickpath__request__pack(&request, frame + head);
    send_all(c->fd, frame, head + body);
}

/* Cuts a reply off what came; NULL: none is whole. */
static Tickpath__Reply *cut(struct connection *c)
{
    size_t body = 0, head = 0;
    for (int shift = 0;; shift += 7) {
        if (head == c->in_size)
            return NULL;
        body |= (size_t)(c->in[head] & 0x7f) << shift;
        if (!(c->in[head++] & 0x80))
            break;
        if (shift > 28)
            give_up("no frame");
    }
    if (head + body > sizeof c->in)
        give_up("too large a reply");
    if (c->in_size - head < body)
        return NULL;
    Tickpath__Reply *reply = tickpath__reply__unpack(NULL, body, c->in + head);
    if (!reply)
        give_up("a frame that is no reply");
    c->in_size -= head + body;
    memmove(c->in, c->in + head + body, c->in_size);
    return reply;
}

static void read_some(struct connection *c)
{
    ssize_t got = recv(c->fd, c->in + c->in_size, sizeof c->in - c->in_size, 0);
    if (got <= 0)
        give_up("the daemon ended the connection");
    c->in_size += (size_t)got;
}

static Tickpath__Reply *ask(struct connection *c, Tickpath__Request__BodyCase kind, void *message,
                            Tickpath__Reply__BodyCase want)
{
    send_request(c, kind, message);
    Tickpath__Reply *reply;
    while ((reply = cut(c)) == NULL)
        read_some(c);
    if (reply->body_case != want) {
        if (reply->body_case == TICKPATH__REPLY__BODY_ERROR && reply->error->message)
            fprintf(stderr, "%s\n", reply->error->message);
        give_up("another answer than was wanted");
    }
    return reply;
}

static void forget(Tickpath__Reply *reply)
{
    tickpath__reply__free_unpacked(reply, NULL);
}

static struct connection *connect_to(uint16_t port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct connection *c = take(1, sizeof *c);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
        give_up("can't connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = hello.protocol_max = 1;
    forget(ask(c, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__REPLY__BODY_WELCOME));
    return c;
}

/* ---- The map ---- */

static void put_map(void)
{
    static uint8_t cells[SIDE * SIDE];
    memset(cells, '.', sizeof cells);
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = "log";
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = put.replace =
        1;
    put.width = put.height = SIDE;
    put.cells = (ProtobufCBinaryData){.data = cells, .len = sizeof cells};
    forget(ask(connection[0], TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
}

/* The daemon may have to find its store first. */
static void wait_for_store(struct connection *c)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "log";
    for (uint64_t end = now_us() + ANSWER_MS * UINT64_C(1000); now_us() < end; usleep(10000)) {
        send_request(c, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
        Tickpath__Reply *reply;
        while ((reply = cut(c)) == NULL)
            read_some(c);
        bool is_asked = reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO ||
                        reply->error->code != TICKPATH__ERROR_CODE__UNAVAILABLE;
        forget(reply);
        if (is_asked)
            return;
    }
    give_up("the daemon does not reach its store");
}

static uint64_t version(struct connection *c)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "log";
    Tickpath__Reply *reply = ask(c, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    uint64_t at = reply->map_info->version;
    forget(reply);
    return at;
}

/* The log's newest version when no batch is on its way: that of the daemon that answered for the last one. The others may not
 * have read it back yet; they must, soon. */
static uint64_t newest_version(int daemons)
{
    uint64_t newest = 0;
    for (int i = 0; i < daemons; i++) {
        uint64_t at = version(connection[i]);
        newest = at > newest ? at : newest;
    }
    for (int i = 0; i < daemons; i++)
        for (uint64_t end = now_us() + ANSWER_MS * UINT64_C(1000); version(connection[i]) != newest;)
            if (now_us() > end)
                give_up("a daemon does not have what the others have");
    return newest;
}

/* ---- The load ---- */

static void send_batch(struct connection *c, uint64_t due_us)
{
    uint32_t cell[CHANGES], terrain[CHANGES];
    for (int i = 0; i < CHANGES; i++) {
        cell[i] = tp_test_below(&rng, SIDE * SIDE);
        terrain[i] = tp_test_percent(&rng, 30) ? '@' : '.';
    }
    uint64_t key[2] = {key_base, keys++};
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "log";
    change.n_cell = change.n_cell_terrain = CHANGES;
    change.cell = cell;
    change.cell_terrain = terrain;
    change.has_key = 1;
    change.key = (ProtobufCBinaryData){.data = (uint8_t *)key, .len = sizeof key};
    c->is_busy = true;
    c->due_us = due_us;
    send_request(c, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

static void take_answer(struct connection *c)
{
    Tickpath__Reply *reply = cut(c);
    if (!reply)
        return;
    if (reply->body_case != TICKPATH__REPLY__BODY_CHANGED) {
        if (reply->body_case == TICKPATH__REPLY__BODY_ERROR && reply->error->message)
            fprintf(stderr, "%s\n", reply->error->message);
        give_up("a batch was refused");
    }
    c->is_busy = false;
    if (acknowledged == room) {
        room = room ? 2 * room : 1 << 16;
        latency_us = realloc(latency_us, room * sizeof *latency_us);
        if (!latency_us)
            give_up("out of memory");
    }
    latency_us[acknowledged++] = (double)(now_us() - c->due_us);
    forget(reply);
}

/* Waits for answers, a moment; gives how many connections are busy. */
static int wait_for_answers(uint64_t timeout_us)
{
    static struct pollfd ready[CONNECTIONS_MAX];
    int busy = 0;
    for (int i = 0; i < connections; i++)
        ready[i] = (struct pollfd){.fd = connection[i]->is_busy ? connection[i]->fd : -1, .events = POLLIN};
    struct timespec timeout = {.tv_sec = (time_t)(timeout_us / 1000000),
                               .tv_nsec = (long)(timeout_us % 1000000 * 1000)};
    ppoll(ready, (nfds_t)connections, &timeout, NULL);
    for (int i = 0; i < connections; i++) {
        if (ready[i].fd >= 0 && ready[i].revents) {
            read_some(connection[i]);
            take_answer(connection[i]);
        }
        busy += connection[i]->is_busy;
    }
    return busy;
}

/* Gives the batches sent. */
static uint64_t load_for(double seconds, double rate)
{
    uint64_t began = now_us(), until = began + (uint64_t)(seconds * 1e6), sent = 0;
    int next = 0; /* connections take turns */
    while (now_us() < until) {
        uint64_t wait_us = ANSWER_MS * UINT64_C(1000);
        for (int looked = 0; looked < connections; looked++) {
            struct connection *c = connection[next];
            uint64_t now = now_us(), due_us = rate > 0 ? began + (uint64_t)((double)sent * 1e6 / rate) : now;
            if (due_us > now) {
                wait_us = due_us - now;
                break;
            }
            next = (next + 1) % connections;
            if (c->is_busy)
                continue;
            send_batch(c, due_us);
            sent++;
        }
        wait_for_answers(wait_us);
    }
    for (uint64_t end = now_us() + ANSWER_MS * UINT64_C(1000); wait_for_answers(100000) > 0;)
        if (now_us() > end)
            give_up("a batch was not answered");
    return sent;
}

static double at(double q)
{
    return latency_us[(size_t)(q * (double)(acknowledged - 1))];
}

int main(int argc, char **argv)
{
    if (argc != 5)
        give_up("usage: log PORT[,PORT] CONNECTIONS SECONDS RATE");
    uint16_t port[DAEMONS_MAX];
    int ports = 0;
    for (char *word; ports < DAEMONS_MAX && (word = strsep(&argv[1], ",")) != NULL;)
        port[ports++] = (uint16_t)atoi(word);
    connections = atoi(argv[2]);
    double seconds = atof(argv[3]), rate = atof(argv[4]);
    if (connections < ports || connections > CONNECTIONS_MAX || seconds <= 0 || rate < 0)
        give_up("connections, seconds or rate out of bounds");
    for (int i = 0; i < connections; i++)
        connection[i] = connect_to(port[i % ports]);
    for (int i = 0; i < ports; i++)
        wait_for_store(connection[i]);
    put_map();
    for (int i = 1; i < ports; i++)
        version(connection[i]); /* which loads it there */
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    key_base = (uint64_t)wall.tv_sec << 32 | (uint64_t)wall.tv_nsec;
    load_for(seconds / 5, rate); /* to be warm */
    uint64_t before = newest_version(ports);
    acknowledged = 0;
    uint64_t began = now_us();
    uint64_t sent = load_for(seconds, rate);
    double took = (double)(now_us() - began) / 1e6;
    if (newest_version(ports) - before != sent)
        give_up("the map's version does not count the batches");
    sort(latency_us, acknowledged);
    printf("{\"batches\": %zu, \"seconds\": %.3f, \"per_s\": %.1f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, "
           "\"p99_9_ms\": %.3f, \"max_ms\": %.3f}\n",
           acknowledged, took, (double)acknowledged / took, at(0.5) / 1e3, at(0.99) / 1e3, at(0.999) / 1e3,
           at(1) / 1e3);
    for (int i = 0; i < connections; i++) {
        close(connection[i]->fd);
        free(connection[i]);
    }
    free(latency_us);
    return 0;
}
