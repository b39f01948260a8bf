/* The load of the benches of changing maps: sessions that tick, and a map that changes under them.
 *
 *     changes steady PORT STATS_PORT PID MAP.map SESSIONS FRAMES
 *     changes stream PORT STATS_PORT PID MAP.map SESSIONS SECONDS
 *
 * steady: a tick of all sessions each 50 ms, FRAMES frames on a map that stays and FRAMES with 100,000 scattered cells changed in one
 * batch each 20th; then the searches end. stream: batches of 1,000 single-cell changes, as fast as the daemon takes them, from one connection, while
 * another ticks its sessions each 50 ms. Prints one JSON object. Exit code 1: a session overspent its budget; 2: it could not be run.
 *
 * CPU time is that of the daemon's threads, from /proc/PID/task: the loop that serves the ticking connection is the one that
 * spends most of it while nothing changes. A frame's is read at its end, when the loop sleeps. */
#include "client/tickpath_client.h"
#include "tests/lib/rng.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 20000,
    FRAME_US = 50000,
    CHANGE_EVERY = 20, /* frames */
    SCATTERED = 100000,
    BATCH = 1000,
    WINDOW = 32, /* batches under way */
    R = 100,
    C = 10, /* trace steps for one */
    THREADS_MAX = 32,
};

static const char *pid;
static uint16_t port, stats_port;
static uint32_t width, height;
static uint8_t *cells;
static struct tp_test_rng rng = {7};

__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...)
{
    va_list words;
    va_start(words, format);
    vfprintf(stderr, format, words);
    va_end(words);
    fputc('\n', stderr);
    exit(2);
}

static void must(struct tp_client *client, int error, const char *what)
{
    if (error)
        give_up("%s: %d: %s", what, error, tp_client_error(client)->message);
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void sleep_until(uint64_t at_us)
{
    uint64_t now = now_us();
    if (now < at_us)
        usleep((useconds_t)(at_us - now));
}

/* ---- what the daemon spends ---- */

struct usage {
    size_t count;
    int task[THREADS_MAX];
    uint64_t cpu_ns[THREADS_MAX];
};

static uint64_t task_cpu_ns(int task)
{
    char path[64];
    unsigned long long ns = 0;
    snprintf(path, sizeof path, "/proc/%s/task/%d/schedstat", pid, task);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%llu", &ns) != 1)
        give_up("can't read %s", path);
    fclose(file);
    return ns;
}

static struct usage take_usage(void)
{
    struct usage usage = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *folder = opendir(path);
    if (!folder)
        give_up("can't read %s", path);
    for (struct dirent *entry; (entry = readdir(folder)) && usage.count < THREADS_MAX;)
        if (entry->d_name[0] != '.') {
            usage.task[usage.count] = atoi(entry->d_name);
            usage.cpu_ns[usage.count] = task_cpu_ns(usage.task[usage.count]);
            usage.count++;
        }
    closedir(folder);
    return usage;
}

/* The thread that spent most between two readings, `but` left out. */
static int busiest(const struct usage *from, const struct usage *to, int but)
{
    int task = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < from->count; i++)
        for (size_t j = 0; j < to->count; j++) {
            uint64_t spent = to->cpu_ns[j] - from->cpu_ns[i];
            if (from->task[i] == to->task[j] && to->task[j] != but && spent > most) {
                most = spent;
                task = to->task[j];
            }
        }
    return task;
}

static uint64_t resident_bytes(void)
{
    char path[64];
    unsigned long long pages = 0;
    snprintf(path, sizeof path, "/proc/%s/statm", pid);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%*u %llu", &pages) != 1)
        give_up("can't read %s", path);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A number of the stats endpoint. */
static double metric(const char *name)
{
    static char text[1 << 18];
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(stats_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    static const char ask[] = "GET /metrics HTTP/1.0\r\n\r\n";
    size_t size = 0;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) || write(fd, ask, sizeof ask - 1) < 0)
        give_up("no stats");
    for (ssize_t got; size < sizeof text - 1 && (got = read(fd, text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)got;
    close(fd);
    text[size] = 0;
    size_t length = strlen(name);
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ' ')
            return strtod(line + length, NULL);
    }
    give_up("no metric %s", name);
}

/* ---- the sessions ---- */

struct walkers {
    struct tp_client *client;
    uint64_t *id;
    size_t count;
    uint64_t over, moves, restarted, ticks, traced_over; /* sessions that spent more than their budget */
};

static struct tp_client *connect_now(void)
{
    struct tp_client *client = NULL;
    int error = tp_client_open(&client, "127.0.0.1", port, "bench", TIMEOUT_MS, NULL);
    if (error)
        give_up("can't connect: %d", error);
    return client;
}

static uint32_t draw_free(void)
{
    for (;;) {
        uint32_t cell = tp_test_below(&rng, width * height);
        if (cells[cell] == '.')
            return cell;
    }
}

static void walkers_open(struct walkers *w, size_t count)
{
    *w = (struct walkers){.client = connect_now(), .count = count, .id = calloc(count, sizeof w->id[0])};
    for (size_t i = 0; i < count; i++) {
        struct tp_client_session_params params = {.map = "bench",
                                                  .start = draw_free(),
                                                  .goal = draw_free(),
                                                  .budget = {TP_CLIENT_BUDGET_R, R, 900, C}};
        struct tp_client_session session;
        must(w->client, tp_client_open_session(w->client, &params, &session, TIMEOUT_MS), "open session");
        w->id[i] = session.id;
    }
}

/* One tick of all; those that came to an end get another goal, after the frame's time is read. */
static void walkers_tick(struct walkers *w, bool renew)
{
    struct tp_client_tick tick = {.all = true, .want_work = true};
    struct tp_client_ticked ticked;
    must(w->client, tp_client_tick(w->client, &tick, &ticked, TIMEOUT_MS), "tick");
    if (ticked.count != w->count)
        give_up("%zu sessions answered", ticked.count);
    static size_t ended[100000];
    size_t ends = 0;
    for (size_t i = 0; i < ticked.count; i++) {
        w->over += (ticked.expansions[i] + ticked.learned[i]) * C + ticked.traced[i] > R * C;
        w->moves += ticked.statuses[i] == TP_CLIENT_MOVING;
        w->restarted += (ticked.flags[i] & TP_CLIENT_RESTARTED) != 0;
        if (ticked.statuses[i] == TP_CLIENT_ARRIVED || ticked.statuses[i] == TP_CLIENT_UNREACHABLE)
            ended[ends++] = i;
    }
    w->ticks++;
    for (size_t i = 0; renew && i < ends; i++)
        must(w->client, tp_client_set_goal(w->client, w->id[ended[i]], draw_free(), TIMEOUT_MS), "set goal");
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_list(const char *name, double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    printf("\"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%.3f", i ? ", " : "", values[i]);
    printf("], ");
}

/* Closes free cells, as many as half of them, and opens those that this function closed before, the oldest first: each cell named is
 * another one, and changes. */
static void draw_changes(uint32_t *cell, uint32_t *terrain, size_t count)
{
    static uint8_t *closed;
    static uint32_t *queue;
    static size_t first, size;
    uint32_t all = width * height;
    if (!closed) {
        closed = calloc(all, 1);
        queue = calloc(all, sizeof *queue);
    }
    size_t opened = size >= count ? count / 2 : 0;
    for (size_t i = 0; i < count; i++) {
        if (i < opened) {
            cell[i] = queue[first++ % all];
            size--;
        } else {
            do
                cell[i] = draw_free();
            while (closed[cell[i]]);
            closed[cell[i]] = 1;
            queue[(first + size++) % all] = cell[i];
        }
        terrain[i] = i < opened ? '.' : '@';
    }
    for (size_t i = 0; i < opened; i++)
        closed[cell[i]] = 0;
}

static void close_sessions(struct walkers *w)
{
    must(w->client, tp_client_close_sessions(w->client, NULL, 0, NULL, TIMEOUT_MS), "close");
    for (int i = 0; i < 100 && metric("tickpath_sessions_closing") > 0; i++)
        usleep(50000);
    usleep(200000);
}

/* Everything once, so that what the daemon keeps for good is there before bytes are counted. */
static void warm_up(struct tp_client *changer, size_t sessions, uint32_t *cell, uint32_t *terrain)
{
    struct walkers walkers;
    walkers_open(&walkers, sessions);
    walkers_tick(&walkers, true);
    draw_changes(cell, terrain, SCATTERED);
    struct tp_client_changes batch = {.map = "bench",
                                      .cells = cell,
                                      .cell_terrains = terrain,
                                      .cell_count = SCATTERED,
                                      .cell_terrain_count = SCATTERED};
    must(changer, tp_client_change(changer, &batch, NULL, TIMEOUT_MS), "change");
    walkers_tick(&walkers, true);
    close_sessions(&walkers);
    tp_client_close(walkers.client);
    free(walkers.id);
}

static int steady(size_t sessions, size_t frames)
{
    struct walkers walkers;
    struct tp_client *changer = connect_now();
    uint32_t *cell = calloc(SCATTERED, sizeof *cell), *terrain = calloc(SCATTERED, sizeof *terrain);
    double *still = calloc(frames, sizeof *still), *changing = calloc(frames, sizeof *changing);
    double *applied = calloc(frames, sizeof *applied), *world_ms = calloc(frames, sizeof *world_ms);
    uint64_t wall_max_us = 0;
    size_t batches = 0;
    warm_up(changer, sessions, cell, terrain);
    double maps_before = (double)resident_bytes() - metric("tickpath_node_bytes");
    walkers_open(&walkers, sessions);
    struct usage before = take_usage();
    for (int i = 0; i < 5; i++)
        walkers_tick(&walkers, true);
    struct usage after = take_usage();
    int loop = busiest(&before, &after, 0), world = 0;
    uint64_t ticket = 0, next = now_us(), cpu = task_cpu_ns(loop);
    for (size_t frame = 0; frame < 2 * frames; frame++) {
        bool changes = frame >= frames && frame % CHANGE_EVERY == 0;
        uint64_t began = now_us();
        if (changes) { /* under the agents: on its way while they tick */
            draw_changes(cell, terrain, SCATTERED);
            before = take_usage();
            applied[batches] = metric("tickpath_change_us_sum");
            struct tp_client_changes batch = {.map = "bench",
                                              .cells = cell,
                                              .cell_terrains = terrain,
                                              .cell_count = SCATTERED,
                                              .cell_terrain_count = SCATTERED};
            must(changer, tp_client_send_change(changer, &batch, &ticket, TIMEOUT_MS), "change");
        }
        walkers_tick(&walkers, true);
        uint64_t wall = now_us() - began;
        wall_max_us = wall > wall_max_us ? wall : wall_max_us;
        if (changes) {
            struct tp_client_reply reply;
            must(changer, tp_client_collect(changer, ticket, &reply, TIMEOUT_MS), "changed");
        }
        sleep_until(next += FRAME_US);
        if (now_us() > next + FRAME_US)
            next = now_us(); /* the machine is too slow for frames that short: no catching up */
        uint64_t spent = task_cpu_ns(loop);
        (frame < frames ? still : changing)[frame % frames] = (double)(spent - cpu) / 1e6;
        if (changes) {
            applied[batches] = (metric("tickpath_change_us_sum") - applied[batches]) / 1e3;
            after = take_usage();
            if (!world)
                world = busiest(&before, &after, loop);
            for (size_t i = 0; i < after.count; i++)
                if (after.task[i] == world)
                    world_ms[batches] = (double)(after.cpu_ns[i] - before.cpu_ns[i]) / 1e6;
            batches++;
        }
        cpu = task_cpu_ns(loop);
    }
    double maps_under = (double)resident_bytes() - metric("tickpath_node_bytes");
    close_sessions(&walkers);
    double maps_after = (double)resident_bytes() - metric("tickpath_node_bytes");
    printf("{\"over_budget\": %llu, \"agent_ticks\": %llu, \"moves\": %llu, \"restarted\": %llu, "
           "\"wall_max_ms\": %.2f, ",
           (unsigned long long)walkers.over, (unsigned long long)walkers.ticks * sessions,
           (unsigned long long)walkers.moves, (unsigned long long)walkers.restarted,
           (double)wall_max_us / 1e3);
    printf("\"mib_before\": %.2f, \"mib_under\": %.2f, \"mib_after\": %.2f, ", maps_before / 1048576,
           maps_under / 1048576, maps_after / 1048576);
    print_list("applied_ms", applied, batches);
    print_list("world_cpu_ms", world_ms, batches);
    print_list("still_ms", still, frames);
    print_list("changing_ms", changing, frames);
    printf("\"sessions\": %zu}\n", sessions);
    tp_client_close(walkers.client);
    tp_client_close(changer);
    return walkers.over != 0;
}

static atomic_bool over;

static void *tick_on(void *context)
{
    struct walkers *walkers = context;
    for (uint64_t next = now_us(); !atomic_load(&over); sleep_until(next += FRAME_US))
        walkers_tick(walkers, true);
    return NULL;
}

static int stream(size_t sessions, uint64_t seconds)
{
    struct walkers walkers;
    walkers_open(&walkers, sessions);
    struct tp_client *changer = connect_now();
    enum {
        KINDS = 64
    }; /* batches that are drawn before: the first half closes cells, the other opens the same */
    static uint32_t cell[KINDS][BATCH], terrain[KINDS][BATCH];
    for (int i = 0; i < KINDS / 2; i++) {
        for (int j = 0; j < BATCH; j++) {
            cell[i + KINDS / 2][j] = cell[i][j] = draw_free();
            terrain[i][j] = '@';
            terrain[i + KINDS / 2][j] = '.';
        }
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, tick_on, &walkers))
        give_up("no thread");
    uint64_t tickets[WINDOW], sent = 0, taken = 0, began = now_us(), until = began + seconds * 1000000;
    struct usage before = take_usage();
    for (bool more = true; more || taken < sent;) {
        more = now_us() < until;
        if (more && sent - taken < WINDOW) {
            struct tp_client_changes batch = {.map = "bench",
                                              .cells = cell[sent % KINDS],
                                              .cell_terrains = terrain[sent % KINDS],
                                              .cell_count = BATCH,
                                              .cell_terrain_count = BATCH};
            must(changer, tp_client_send_change(changer, &batch, &tickets[sent % WINDOW], TIMEOUT_MS),
                 "change");
            sent++;
            continue;
        }
        struct tp_client_reply reply;
        if (taken < sent)
            must(changer, tp_client_collect(changer, tickets[taken++ % WINDOW], &reply, TIMEOUT_MS),
                 "changed");
    }
    double took = (double)(now_us() - began) / 1e6;
    struct usage after = take_usage();
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    double cpu = 0, most = 0;
    for (size_t i = 0; i < after.count && i < before.count; i++) {
        double spent = (double)(after.cpu_ns[i] - before.cpu_ns[i]) / 1e9;
        cpu += spent;
        most = spent > most ? spent : most;
    }
    printf("{\"over_budget\": %llu, \"changes_per_s\": %.0f, \"ticks\": %llu, \"seconds\": %.3f, "
           "\"daemon_cpu\": %.3f, \"busiest_cpu\": %.3f}\n",
           (unsigned long long)walkers.over, (double)sent * BATCH / took, (unsigned long long)walkers.ticks,
           took, cpu / took, most / took);
    tp_client_close(walkers.client);
    tp_client_close(changer);
    return walkers.over != 0;
}

/* The plainest reader of a MovingAI map. */
static void load(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "type octile height %u width %u map", &height, &width) != 2 || width == 0 ||
        height == 0 || width > 8192 || height > 8192)
        give_up("%s is no map", path);
    cells = calloc(width, height);
    for (uint32_t i = 0; i < width * height; i++)
        if (fscanf(file, " %c", (char *)&cells[i]) != 1)
            give_up("%s ends early", path);
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc != 8)
        give_up("usage: changes steady|stream PORT STATS_PORT PID MAP SESSIONS FRAMES|SECONDS");
    port = (uint16_t)atoi(argv[2]);
    stats_port = (uint16_t)atoi(argv[3]);
    pid = argv[4];
    load(argv[5]);
    struct tp_client *client = connect_now();
    must(client, tp_client_put_map(client, "bench", width, height, cells, NULL, 0, true, NULL, TIMEOUT_MS),
         "put map");
    tp_client_close(client);
    size_t sessions = (size_t)atol(argv[6]);
    if (sessions < 1 || sessions > 100000)
        give_up("sessions: 1 to 100000");
    return strcmp(argv[1], "stream") == 0 ? stream(sessions, (uint64_t)atol(argv[7]))
                                          : steady(sessions, (size_t)atol(argv[7]));
}
