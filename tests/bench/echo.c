/* A bare libuv echo of 64-byte messages, and its load: what a request costs that asks for nothing.
 *
 *     echo serve PORT_FILE                 until SIGTERM
 *     echo load PORT CONNECTIONS SECONDS   each connection sends a message, waits for it to come back, sends the next
 *
 * The load waits for its connections as `tickpath load --workload single` does, in one poll of all. Prints one JSON object. Exit code
 * 2: it could not be run. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum { MESSAGE = 64, CONNECTIONS_MAX = 1024, BACKLOG = 1024, WAIT_MS = 5000 };

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "echo: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- The server ---- */

static char in[1 << 16]; /* one thread, and what is read is written before the next is read */

static void alloc_cb(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    (void)handle;
    (void)wanted;
    *buffer = uv_buf_init(in, sizeof in);
}

static void close_cb(uv_handle_t *handle)
{
    free(handle);
}

static void read_cb(uv_stream_t *peer, ssize_t got, const uv_buf_t *buffer)
{
    uv_buf_t out = uv_buf_init(buffer->base, (unsigned)(got > 0 ? got : 0));
    if (got < 0)
        uv_close((uv_handle_t *)peer, close_cb);
    else if (got > 0 && uv_try_write(peer, &out, 1) != got) /* a message of 64 bytes has room */
        give_up("short write");
}

static void connection_cb(uv_stream_t *listener, int status)
{
    uv_tcp_t *peer = calloc(1, sizeof *peer);
    if (status != 0 || !peer || uv_tcp_init(listener->loop, peer) != 0 ||
        uv_accept(listener, (uv_stream_t *)peer) != 0)
        give_up("accept");
    uv_tcp_nodelay(peer, 1);
    uv_read_start((uv_stream_t *)peer, alloc_cb, read_cb);
}

static void signal_cb(uv_signal_t *signal, int number)
{
    (void)number;
    uv_stop(signal->loop);
}

static int serve(const char *port_file)
{
    uv_tcp_t listener;
    uv_signal_t signal;
    struct sockaddr_in address;
    int size = sizeof address;
    uv_loop_t *loop = uv_default_loop();
    uv_ip4_addr("127.0.0.1", 0, &address);
    if (uv_tcp_init(loop, &listener) != 0 || uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, BACKLOG, connection_cb) != 0 ||
        uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &size) != 0)
        give_up("listen");
    FILE *file = fopen(port_file, "w");
    if (!file || fprintf(file, "%u\n", ntohs(address.sin_port)) < 0 || fclose(file) != 0)
        give_up(port_file);
    uv_signal_init(loop, &signal);
    uv_signal_start(&signal, signal_cb, SIGTERM);
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}

/* ---- The load ---- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        give_up("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void send_message(int fd)
{
    static const char message[MESSAGE] = "echo";
    if (send(fd, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE)
        give_up("send");
}

static int load(uint16_t port, size_t connections, double seconds)
{
    static struct pollfd fds[CONNECTIONS_MAX];
    static size_t got[CONNECTIONS_MAX];
    unsigned long long answers = 0;
    for (size_t i = 0; i < connections; i++)
        fds[i] = (struct pollfd){.fd = connect_to(port), .events = POLLIN};
    double began = now_s(), now = began;
    for (size_t i = 0; i < connections; i++)
        send_message(fds[i].fd);
    for (; now - began < seconds; now = now_s()) {
        if (poll(fds, connections, WAIT_MS) <= 0)
            give_up("no answer");
        for (size_t i = 0; i < connections; i++) {
            char back[MESSAGE];
            ssize_t part = fds[i].revents ? recv(fds[i].fd, back, MESSAGE - got[i], MSG_DONTWAIT) : 0;
            if (!fds[i].revents)
                continue;
            if (part <= 0)
                give_up("recv");
            if ((got[i] += (size_t)part) < MESSAGE)
                continue;
            got[i] = 0;
            answers++;
            send_message(fds[i].fd);
        }
    }
    printf("{\"connections\": %zu, \"seconds\": %.6f, \"answered\": %llu, \"answered_per_s\": %.3f}\n",
           connections, now - began, answers, (double)answers / (now - began));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2]);
    if (argc != 5 || strcmp(argv[1], "load") != 0) {
        fprintf(stderr, "usage: echo serve PORT_FILE, or echo load PORT CONNECTIONS SECONDS\n");
        return 2;
    }
    size_t connections = strtoul(argv[3], NULL, 10);
    if (connections < 1 || connections > CONNECTIONS_MAX) {
        fprintf(stderr, "echo: connections: 1 to %d\n", CONNECTIONS_MAX);
        return 2;
    }
    return load((uint16_t)atoi(argv[2]), connections, atof(argv[4]));
}
