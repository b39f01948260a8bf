#include "tests/lib/wire.h"

#include "tests/lib/exposition.h"
#include "tests/lib/harness.h"
#include "tests/lib/tool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_BYTES_MAX = 4 << 20, CHUNK_BYTES = 1 << 20, LOG_TAIL_BYTES = 4000, OPTIONS_MAX = 48 };

void wire_sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

uint64_t wire_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- A daemon of our own ---- */

void wire_daemon_init(struct wire_daemon *daemon)
{
    *daemon = (struct wire_daemon){0};
    const char *folder = tp_test_folder_make();
    ck_assert_msg(strlen(folder) < sizeof daemon->folder, "too long a path of temporary folders: %s", folder);
    strcpy(daemon->folder, folder);
}

static void in_folder(const struct wire_daemon *daemon, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", daemon->folder, name);
}

static void print_log_tail(const struct wire_daemon *daemon)
{
    char path[128], tail[LOG_TAIL_BYTES + 1];
    in_folder(daemon, "log", path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fseek(file, size > LOG_TAIL_BYTES ? size - LOG_TAIL_BYTES : 0, SEEK_SET);
    tail[fread(tail, 1, LOG_TAIL_BYTES, file)] = 0;
    fclose(file);
    fprintf(stderr, "---- end of the daemon's log ----\n%s\n----\n", tail);
}

/* What each of its threads does: its name, its state, and where in the kernel it waits. */
static void print_threads(pid_t pid)
{
    char command[160];
    snprintf(command, sizeof command, "ps -L -o tid,stat,pcpu,wchan:32,comm -p %d >&2", (int)pid);
    if (system(command) != 0)
        fprintf(stderr, "ps tells nothing of %d\n", (int)pid);
}

/* The port file holds the protocol's port, and on a second line that of --stats when there is one. It appears
 * whole. */
static bool read_port_file(struct wire_daemon *daemon, const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    unsigned ports[2] = {0, 0};
    if (fscanf(file, "%5u\n%5u", &ports[0], &ports[1]) < 1)
        ports[0] = 0;
    fclose(file);
    daemon->port = (uint16_t)ports[0];
    daemon->stats_port = (uint16_t)ports[1];
    return daemon->port != 0;
}

void wire_daemon_lean(void)
{
    const char *options = getenv("ASAN_OPTIONS");
    char lean[512];
    snprintf(lean, sizeof lean, "%s%squarantine_size_mb=%d", options ? options : "",
             options && *options ? ":" : "", WIRE_QUARANTINE_BYTES >> 20);
    setenv("ASAN_OPTIONS", lean, 1);
}

/* Puts the options behind those that are there; NULL ends both lists. */
static void add_options(char *argv[OPTIONS_MAX + 8], int argc, va_list options)
{
    for (char *option; (option = va_arg(options, char *)) != NULL; argv[argc++] = option)
        ck_assert_int_lt(argc, OPTIONS_MAX);
    argv[argc] = NULL;
}

int wire_daemon_run(char *said, size_t said_bytes, ...)
{
    char *argv[OPTIONS_MAX + 8] = {(char *)tp_test_program("tickpathd")};
    va_list options;
    va_start(options, said_bytes);
    add_options(argv, 1, options);
    va_end(options);
    struct tool_run run;
    tool_run_program(&run, argv);
    int size = snprintf(said, said_bytes, "%s%s", run.out, run.err);
    ck_assert_msg(size >= 0 && (size_t)size < said_bytes, "tickpathd said %d bytes", size);
    tool_run_fini(&run);
    return run.exit_code;
}

void wire_daemon_start(struct wire_daemon *daemon, ...)
{
    ck_assert_int_eq(daemon->pid, 0);
    char port_path[128], log_path[128], program[512];
    in_folder(daemon, "port", port_path, sizeof port_path);
    in_folder(daemon, "log", log_path, sizeof log_path);
    snprintf(program, sizeof program, "%s", tp_test_program("tickpathd"));
    unlink(port_path);

    char *argv[OPTIONS_MAX + 8] = {program, "--listen", "127.0.0.1:0", "--port-file", port_path};
    va_list options;
    va_start(options, daemon);
    add_options(argv, 5, options);
    va_end(options);

    pid_t pid = tp_test_fork();
    if (pid == 0) {
        int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
        int nothing = open("/dev/null", O_RDONLY);
        if (log < 0 || nothing < 0)
            _exit(126);
        dup2(nothing, 0);
        dup2(log, 1);
        dup2(log, 2);
        execv(program, argv);
        dprintf(2, "cannot run %s: %s\n", program, strerror(errno));
        _exit(127);
    }
    daemon->pid = pid;
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    while (!read_port_file(daemon, port_path)) {
        ck_assert_msg(wire_daemon_alive(daemon), "%s did not start", program);
        if (wire_now_ms() >= until) {
            print_log_tail(daemon);
            print_threads(daemon->pid);
            ck_abort_msg("%s wrote no port file in time", program);
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static bool wait_end(struct wire_daemon *daemon, uint64_t timeout_ms)
{
    uint64_t until = wire_now_ms() + timeout_ms;
    for (;;) {
        pid_t got = waitpid(daemon->pid, &daemon->exit_status, timeout_ms ? WNOHANG : 0);
        if (got == daemon->pid) {
            daemon->pid = 0;
            return true;
        }
        if (wire_now_ms() >= until)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

bool wire_daemon_alive(struct wire_daemon *daemon)
{
    if (daemon->pid == 0)
        return false;
    if (waitpid(daemon->pid, &daemon->exit_status, WNOHANG) == 0)
        return true;
    daemon->pid = 0;
    if (WIFSIGNALED(daemon->exit_status))
        fprintf(stderr, "the daemon ended by signal %d\n", WTERMSIG(daemon->exit_status));
    else
        fprintf(stderr, "the daemon ended with code %d\n", WEXITSTATUS(daemon->exit_status));
    print_log_tail(daemon);
    return false;
}

void wire_daemon_expect_exit(struct wire_daemon *daemon, int code)
{
    if (!wait_end(daemon, WIRE_TIMEOUT_MS)) {
        print_log_tail(daemon);
        ck_abort_msg("the daemon did not end %d ms after it was told to", WIRE_TIMEOUT_MS);
    }
    if (!WIFEXITED(daemon->exit_status) || WEXITSTATUS(daemon->exit_status) != code) {
        print_log_tail(daemon);
        ck_abort_msg("the daemon ended with status 0x%x, not with code %d", (unsigned)daemon->exit_status, code);
    }
}

void wire_daemon_stop(struct wire_daemon *daemon)
{
    ck_assert_msg(wire_daemon_alive(daemon), "the daemon was gone before it was stopped");
    kill(daemon->pid, SIGTERM);
    wire_daemon_expect_exit(daemon, 0);
}

void wire_daemon_kill(struct wire_daemon *daemon)
{
    if (daemon->pid == 0)
        return;
    kill(daemon->pid, SIGKILL);
    waitpid(daemon->pid, &daemon->exit_status, 0);
    daemon->pid = 0;
}

void wire_daemon_fini(struct wire_daemon *daemon)
{
    wire_daemon_kill(daemon);
    if (daemon->folder[0])
        tp_test_folder_remove(daemon->folder);
    daemon->folder[0] = 0;
}

uint64_t wire_resident_bytes(pid_t pid)
{
    char path[64];
    unsigned long long size = 0, resident = 0, shared = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%llu %llu %llu", &size, &resident, &shared) != 3)
        resident = shared = 0;
    fclose(file);
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int connect_to(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

char *wire_http_get(const struct wire_daemon *daemon, const char *path, int *status)
{
    int fd = daemon->stats_port ? connect_to(daemon->stats_port) : -1;
    if (fd < 0)
        return NULL;
    dprintf(fd, "GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", path);
    size_t size = 0, room = 4096;
    char *text = malloc(room + 1);
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, WIRE_TIMEOUT_MS) <= 0)
            break;
        ssize_t got = read(fd, text + size, room - size);
        if (got <= 0)
            break;
        size += (size_t)got;
        if (size == room)
            text = realloc(text, (room *= 2) + 1);
    }
    close(fd);
    text[size] = 0;
    char *body = strstr(text, "\r\n\r\n");
    int code = 0;
    if (!body || sscanf(text, "HTTP/%*s %d", &code) != 1) {
        free(text);
        return NULL;
    }
    if (status)
        *status = code;
    memmove(text, body + 4, strlen(body + 4) + 1);
    return text;
}

static char *metrics_of(const struct wire_daemon *daemon)
{
    int status;
    char *text = wire_http_get(daemon, "/metrics", &status);
    ck_assert_ptr_nonnull(text);
    return text;
}

double wire_sample(const struct wire_daemon *daemon, const char *name)
{
    char *text = metrics_of(daemon);
    double value = tp_test_sample(text, name);
    free(text);
    return value;
}

uint64_t wire_metric(const struct wire_daemon *daemon, const char *field)
{
    char *text = metrics_of(daemon);
    uint64_t value = tp_test_metric(text, field);
    free(text);
    return value;
}

/* ---- A connection ---- */

void wire_open(struct wire *wire, uint16_t port)
{
    *wire = (struct wire){.fd = connect_to(port), .next_id = 1};
    ck_assert_msg(wire->fd >= 0, "cannot connect to 127.0.0.1:%u: %s", port, strerror(errno));
}

void wire_close(struct wire *wire)
{
    if (wire->fd >= 0)
        close(wire->fd);
    free(wire->in);
    *wire = (struct wire){.fd = -1};
}

bool wire_send_bytes(struct wire *wire, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        ssize_t sent = send(wire->fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

uint8_t *wire_frame(const Tickpath__Request *request, size_t *size)
{
    size_t body = tickpath__request__get_packed_size(request), head = 0;
    uint8_t *frame = malloc(body + 10);
    for (size_t rest = body;; rest >>= 7) {
        frame[head++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        if (rest <= 0x7f)
            break;
    }
    tickpath__request__pack(request, frame + head);
    *size = head + body;
    return frame;
}

void wire_send(struct wire *wire, Tickpath__Request__BodyCase kind, void *message)
{
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.id = wire->sent_id = wire->next_id++;
    request.body_case = kind;
    request.hello = message; /* the oneof is a union of pointers */
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    bool sent = wire_send_bytes(wire, frame, size);
    free(frame);
    ck_assert_msg(sent, "the peer closed while request %d was sent", (int)kind);
}

/* Cuts one frame off the bytes read; false if none is whole yet. */
static bool cut_frame(struct wire *wire, Tickpath__Reply **reply)
{
    if (wire->in_start == wire->in_end)
        return false;
    const uint8_t *at = wire->in + wire->in_start;
    size_t size = wire->in_end - wire->in_start, head = 0;
    uint64_t body = 0;
    for (;; head++) {
        if (head == size)
            return false;
        ck_assert_msg(head < 10, "a reply's length prefix is longer than 10 bytes");
        body |= (uint64_t)(at[head] & 0x7f) << (7 * head);
        if (!(at[head] & 0x80))
            break;
    }
    head++;
    ck_assert_msg(body <= FRAME_BYTES_MAX, "a reply of %" PRIu64 " bytes", body);
    if (size - head < body)
        return false;
    *reply = tickpath__reply__unpack(NULL, (size_t)body, at + head);
    ck_assert_msg(*reply != NULL, "a frame of %" PRIu64 " bytes is no Reply", body);
    wire->in_start += head + (size_t)body;
    return true;
}

/* Makes room for more bytes behind those that are not cut yet. */
static void make_room(struct wire *wire)
{
    size_t size = wire->in_end - wire->in_start;
    if (wire->in_start > 0)
        memmove(wire->in, wire->in + wire->in_start, size);
    wire->in_start = 0;
    wire->in_end = size;
    if (wire->in_room - size < 65536) {
        wire->in_room = size * 2 + 65536;
        wire->in = realloc(wire->in, wire->in_room);
        ck_assert_ptr_nonnull(wire->in);
    }
}

enum wire_got wire_poll(struct wire *wire, Tickpath__Reply **reply, int timeout_ms)
{
    uint64_t until = wire_now_ms() + (uint64_t)timeout_ms;
    while (!cut_frame(wire, reply)) {
        uint64_t now = wire_now_ms();
        struct pollfd ready = {.fd = wire->fd, .events = POLLIN};
        int some = poll(&ready, 1, now < until ? (int)(until - now) : 0);
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return WIRE_GOT_NOTHING;
        make_room(wire);
        ssize_t got = recv(wire->fd, wire->in + wire->in_end, wire->in_room - wire->in_end, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return WIRE_GOT_CLOSE;
        wire->in_end += (size_t)got;
    }
    return WIRE_GOT_FRAME;
}

Tickpath__Reply *wire_recv(struct wire *wire)
{
    Tickpath__Reply *reply = NULL;
    enum wire_got got = wire_poll(wire, &reply, WIRE_TIMEOUT_MS);
    ck_assert_msg(got != WIRE_GOT_CLOSE, "the daemon closed the connection where a reply was due");
    ck_assert_msg(got == WIRE_GOT_FRAME, "no reply in %d ms", WIRE_TIMEOUT_MS);
    return reply;
}

void wire_reply_free(Tickpath__Reply *reply)
{
    if (reply)
        tickpath__reply__free_unpacked(reply, NULL);
}

Tickpath__Reply *wire_ask(struct wire *wire, Tickpath__Request__BodyCase kind, void *message,
                          Tickpath__Reply__BodyCase want)
{
    wire_send(wire, kind, message);
    Tickpath__Reply *reply = wire_recv(wire);
    if (reply->body_case != want && reply->body_case == TICKPATH__REPLY__BODY_ERROR)
        ck_abort_msg("request %d: error %d, field %s: %s", (int)kind, (int)reply->error->code,
                     reply->error->field ? reply->error->field : "-",
                     reply->error->message ? reply->error->message : "-");
    ck_assert_int_eq(reply->body_case, want);
    ck_assert(reply->has_id);
    ck_assert_uint_eq(reply->id, wire->sent_id);
    return reply;
}

void wire_ask_error(struct wire *wire, Tickpath__Request__BodyCase kind, void *message,
                    Tickpath__ErrorCode code, const char *field)
{
    Tickpath__Reply *reply = wire_ask(wire, kind, message, TICKPATH__REPLY__BODY_ERROR);
    const char *got = reply->error->field ? reply->error->field : "-";
    ck_assert_msg(reply->error->has_code && reply->error->code == code, "error %d, field %s: %s; expected %d",
                  (int)reply->error->code, got, reply->error->message ? reply->error->message : "-",
                  (int)code);
    if (field)
        ck_assert_msg(strcmp(got, field) == 0, "field %s (%s); expected %s", got,
                      reply->error->message ? reply->error->message : "-", field);
    ck_assert_msg(reply->error->message && reply->error->message[0], "an error without words");
    wire_reply_free(reply);
}

void wire_expect_last_error(struct wire *wire, Tickpath__ErrorCode code)
{
    Tickpath__Reply *reply = wire_recv(wire);
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(reply->error->code, code);
    ck_assert_msg(reply->error->message && reply->error->message[0], "an error without words");
    wire_reply_free(reply);
    enum wire_got got = wire_poll(wire, &reply, WIRE_TIMEOUT_MS);
    ck_assert_msg(got == WIRE_GOT_CLOSE, "the connection did not end after its last error");
}

void wire_expect_alive(struct wire *wire)
{
    uint8_t bytes[8];
    memcpy(bytes, &wire->next_id, sizeof bytes);
    Tickpath__Ping ping = TICKPATH__PING__INIT;
    ping.has_payload = 1;
    ping.payload = (ProtobufCBinaryData){.data = bytes, .len = sizeof bytes};
    Tickpath__Reply *reply = wire_ask(wire, TICKPATH__REQUEST__BODY_PING, &ping, TICKPATH__REPLY__BODY_PONG);
    ck_assert_uint_eq(reply->pong->payload.len, sizeof bytes);
    ck_assert_mem_eq(reply->pong->payload.data, bytes, sizeof bytes);
    wire_reply_free(reply);
}

/* ---- Everyday requests ---- */

void wire_open_greeted(struct wire *wire, uint16_t port)
{
    wire_open(wire, port);
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = hello.protocol_max = 1;
    hello.client = "tests/lib/wire";
    wire_reply_free(wire_ask(wire, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__REPLY__BODY_WELCOME));
}

void wire_put_map(struct wire *wire, const char *name, uint32_t width, uint32_t height, const uint8_t *cells)
{
    uint64_t total = (uint64_t)width * height;
    for (uint64_t offset = 0; offset < total;) {
        uint64_t size = total - offset < CHUNK_BYTES ? total - offset : CHUNK_BYTES;
        Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
        put.map = (char *)name;
        if (offset == 0) {
            put.has_width = put.has_height = 1;
            put.width = width;
            put.height = height;
        }
        put.has_offset = put.has_cells = put.has_last = 1;
        put.offset = offset;
        put.cells = (ProtobufCBinaryData){.data = (uint8_t *)cells + offset, .len = size};
        offset += size;
        put.last = offset == total;
        wire_reply_free(
            wire_ask(wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put,
                     put.last ? TICKPATH__REPLY__BODY_MAP_INFO : TICKPATH__REPLY__BODY_MAP_CHUNK));
    }
}

void wire_put_free_map(struct wire *wire, const char *name, uint32_t width, uint32_t height)
{
    size_t size = (size_t)width * height;
    uint8_t *cells = malloc(size);
    memset(cells, '.', size);
    wire_put_map(wire, name, width, height, cells);
    free(cells);
}

uint64_t wire_open_session(struct wire *wire, const char *map, uint32_t start, uint32_t goal,
                           const char *algorithm, uint64_t k)
{
    Tickpath__Budget budget = TICKPATH__BUDGET__INIT;
    budget.has_k = 1;
    budget.k = k;
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = (char *)map;
    open.has_start = open.has_goal = 1;
    open.start = start;
    open.goal = goal;
    open.algorithm = (char *)algorithm;
    open.budget = &budget;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED);
    uint64_t session = reply->session_opened->session;
    wire_reply_free(reply);
    return session;
}

Tickpath__Reply *wire_tick(struct wire *wire, uint64_t session)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 1;
    tick.session = &session;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_eq(reply->ticked->n_session, 1);
    ck_assert_uint_eq(reply->ticked->session[0], session);
    ck_assert_uint_eq(reply->ticked->n_cell, 1);
    ck_assert_uint_eq(reply->ticked->n_status, 1);
    ck_assert_uint_eq(reply->ticked->n_flags, 1);
    return reply;
}

void wire_wall_off(struct wire *wire, const char *map, uint32_t side)
{
    Tickpath__Rectangle wall = TICKPATH__RECTANGLE__INIT, *walls[] = {&wall};
    wall.has_x = wall.has_y = wall.has_width = wall.has_height = wall.has_terrain = 1;
    wall.x = side - 2;
    wall.width = 1;
    wall.height = side;
    wall.terrain = '@';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)(uintptr_t)map;
    change.rectangle = walls;
    change.n_rectangle = 1;
    wire_reply_free(wire_ask(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED));
}

uint64_t wire_set_cell(struct wire *wire, const char *map, uint32_t cell, uint8_t terrain)
{
    uint32_t to = terrain;
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)map;
    change.n_cell = change.n_cell_terrain = 1;
    change.cell = &cell;
    change.cell_terrain = &to;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED);
    uint64_t version = reply->changed->version;
    wire_reply_free(reply);
    return version;
}
