/* The load of the benches of changing maps: sessions that tick, and a map that changes under them.
 *
 *     changes steady PORT STATS_PORT PID MAP.map SESSIONS STILL CHANGING
 *     changes stream PORT STATS_PORT PID MAP.map SESSIONS SECONDS
 *
 * steady: a tick of all sessions each 50 ms, STILL frames on a map that stays and CHANGING with 100,000 scattered cells changed in one
 * batch each 20th, while a few sessions that don't tick hold the versions they were opened on; then all are closed. stream: batches of
 * 1,000 single-cell changes, as fast as the daemon takes them, from one connection, while another ticks its sessions each 50 ms.
 * Prints one JSON object of what was seen; bench.py judges. Exit code 2: it could not be run.
 *
 * CPU time is that of the daemon's threads, from /proc/PID/task: the loop that serves the ticking connection is the one that
 * spends most of it while nothing changes (it reads and decodes the batches too), the world thread has its name. A frame's is read at
 * its end, when the loop sleeps. Bytes of maps are those that the daemon counts, and they are awaited: what is published is
 * left by the last loop a moment after the reply. */
#include "client/cli/threads.h"
#include "client/tickpath_client.h"
#include "tests/lib/rng.h"

#include <arpa/inet.h>
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
    WARM_TICKS = 40,
    HOLDERS = 3, /* sessions that don't tick, each on a version of its own */
};

static const char *pid;
static struct tp_cli_threads threads; /* the daemon's */
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

/* The thread of that name. */
static const struct tp_cli_thread *thread_of(const char *name)
{
    for (size_t i = 0; i < threads.count; i++)
        if (strcmp(threads.thread[i].name, name) == 0)
            return &threads.thread[i];
    give_up("the daemon has no thread %s", name);
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

/* Numbers of the stats endpoint, by name, read at one time. */
static void metrics(size_t count, const char *const *name, double *value)
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
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(name[i]);
        char *line = text;
        while (line && !(strncmp(line, name[i], length) == 0 && line[length] == ' ')) {
            line = strchr(line, '\n');
            line += line != NULL;
        }
        if (!line)
            give_up("no metric %s", name[i]);
        value[i] = strtod(line + length, NULL);
    }
}

static double metric(const char *name)
{
    double value;
    metrics(1, &name, &value);
    return value;
}

/* What the versions of maps hold. */
struct held {
    double bytes, versions;
};

static struct held held_now(void)
{
    static const char *const name[] = {"tickpath_pool_bytes{pool=\"maps\"}", "tickpath_map_versions"};
    double value[2];
    metrics(2, name, value);
    return (struct held){value[0], value[1]};
}

/* Waits, a second at most, until only so many versions are held. */
static struct held held_at(double versions)
{
    struct held held = held_now();
    for (int i = 0; i < 200 && held.versions != versions; i++) {
        usleep(5000);
        held = held_now();
    }
    return held;
}

static void print_held(const char *name, struct held held)
{
    printf("\"held_%s\": %.0f, \"versions_%s\": %.0f, ", name, held.bytes, name, held.versions);
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
                                                  .algorithm = "tbwa",
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

/* The loop that serves them: the thread that spends most while they tick and nothing changes. */
static const struct tp_cli_thread *loop_of(struct walkers *w)
{
    uint64_t before[TP_CLI_THREADS_MAX], most = 0;
    size_t busiest = 0;
    for (size_t i = 0; i < threads.count; i++)
        before[i] = tp_cli_thread_spent(&threads.thread[i]).cpu_ns;
    for (int i = 0; i < 5; i++)
        walkers_tick(w, true);
    for (size_t i = 0; i < threads.count; i++) {
        uint64_t spent_ns = tp_cli_thread_spent(&threads.thread[i]).cpu_ns - before[i];
        if (spent_ns > most) {
            busiest = i;
            most = spent_ns;
        }
    }
    return &threads.thread[busiest];
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

/* Closes all of the connection, and waits until their memory is put back. */
static void close_sessions(struct tp_client *client)
{
    must(client, tp_client_close_all_sessions(client, NULL, TIMEOUT_MS), "close");
    for (int i = 0; i < 200 && metric("tickpath_sessions_closing") > 0; i++)
        usleep(50000);
}

/* 100,000 cells of the map, scattered. */
static struct tp_client_changes scattered_batch(void)
{
    static uint32_t cell[SCATTERED], terrain[SCATTERED];
    draw_changes(cell, terrain, SCATTERED);
    return (struct tp_client_changes){.map = "bench",
                                      .cells = cell,
                                      .cell_terrains = terrain,
                                      .cell_count = SCATTERED,
                                      .cell_terrain_count = SCATTERED};
}

/* Everything for a while, so that what the daemon keeps for good is there before bytes are counted. */
static void warm_up(struct tp_client *changer, size_t sessions)
{
    struct walkers walkers;
    walkers_open(&walkers, sessions);
    for (int i = 0; i < WARM_TICKS; i++) {
        if (i % (WARM_TICKS / 2) == 1) {
            struct tp_client_changes batch = scattered_batch();
            must(changer, tp_client_change(changer, &batch, NULL, TIMEOUT_MS), "change");
        }
        walkers_tick(&walkers, true);
    }
    close_sessions(walkers.client);
    tp_client_close(walkers.client);
    free(walkers.id);
}

/* What one of the steady run's frames, or batches, took, in ms. */
struct series {
    double *ms;
    size_t count;
};

static void note(struct series *series, double ms)
{
    series->ms[series->count++] = ms;
}

struct steady {
    size_t still, changing;                       /* frames */
    struct series cpu[2], wall[2];                /* of a frame on the unchanged and on the changing map */
    struct series applied, world_cpu, world_wait; /* of a batch */
    struct held base, most, after;
};

/* The batch, sent while the agents tick; then what it took is taken from the numbers before and after. */
struct change {
    uint64_t ticket;
    double change_us;
    struct tp_cli_spent world;
};

static void change_send(struct change *change, struct tp_client *changer, const struct tp_cli_thread *world)
{
    struct tp_client_changes batch = scattered_batch();
    change->change_us = metric("tickpath_change_seconds_sum");
    change->world = tp_cli_thread_spent(world);
    must(changer, tp_client_send_change(changer, &batch, &change->ticket, TIMEOUT_MS), "change");
}

static void change_note(const struct change *change, struct steady *run, const struct tp_cli_thread *world)
{
    struct tp_cli_spent spent = tp_cli_thread_spent(world);
    note(&run->applied, (metric("tickpath_change_seconds_sum") - change->change_us) * 1e3);
    note(&run->world_cpu, (double)(spent.cpu_ns - change->world.cpu_ns) / 1e6);
    note(&run->world_wait, (double)(spent.wait_ns - change->world.wait_ns) / 1e6);
    struct held held = held_now();
    run->most = held.bytes > run->most.bytes ? held : run->most;
}

/* A session that will not tick holds the version of now. */
static void hold_version(struct tp_client *client)
{
    struct tp_client_session_params params = {.map = "bench",
                                              .start = draw_free(),
                                              .goal = draw_free(),
                                              .algorithm = "tbwa",
                                              .budget = {TP_CLIENT_BUDGET_R, R, 900, C}};
    struct tp_client_session session;
    must(client, tp_client_open_session(client, &params, &session, TIMEOUT_MS), "open session");
}

static void run_frames(struct steady *run, struct walkers *walkers, struct tp_client *changer,
                       const struct tp_cli_thread *loop, const struct tp_cli_thread *world)
{
    uint64_t next = now_us(), cpu_ns = tp_cli_thread_spent(loop).cpu_ns;
    for (size_t frame = 0; frame < run->still + run->changing; frame++) {
        bool is_changing = frame >= run->still;
        size_t after = frame - run->still;
        bool changes = is_changing && after % CHANGE_EVERY == 0;
        struct change change;
        uint64_t began = now_us();
        if (changes && after / CHANGE_EVERY < HOLDERS)
            hold_version(changer);
        if (changes) /* under the agents: on its way while they tick */
            change_send(&change, changer, world);
        uint64_t asked = now_us();
        walkers_tick(walkers, true);
        note(&run->wall[is_changing], (double)(now_us() - asked) / 1e3);
        if (changes) {
            struct tp_client_reply reply;
            must(changer, tp_client_collect(changer, change.ticket, &reply, TIMEOUT_MS), "changed");
        }
        next =
            next > began ? next : began; /* the machine is too slow for frames that short: no catching up */
        sleep_until(next += FRAME_US);
        uint64_t spent_ns = tp_cli_thread_spent(loop).cpu_ns;
        note(&run->cpu[is_changing], (double)(spent_ns - cpu_ns) / 1e6);
        if (changes)
            change_note(&change, run, world);
        cpu_ns = tp_cli_thread_spent(loop).cpu_ns;
    }
}

static void print_list(const char *name, struct series series)
{
    printf("\"%s\": [", name);
    for (size_t i = 0; i < series.count; i++)
        printf("%s%.3f", i ? ", " : "", series.ms[i]);
    printf("], ");
}

static void print_steady(struct steady *run)
{
    print_held("base", run->base);
    print_held("most", run->most);
    print_held("after", run->after);
    print_list("applied_ms", run->applied);
    print_list("world_cpu_ms", run->world_cpu);
    print_list("world_wait_ms", run->world_wait);
    print_list("still_ms", run->cpu[0]);
    print_list("changing_ms", run->cpu[1]);
    print_list("still_wall_ms", run->wall[0]);
    print_list("changing_wall_ms", run->wall[1]);
}

static struct series series_of(size_t count)
{
    return (struct series){calloc(count + 1, sizeof(double)), 0};
}

static void steady(size_t sessions, size_t still, size_t changing)
{
    struct walkers walkers;
    struct tp_client *changer = connect_now();
    struct steady run = {.still = still, .changing = changing};
    for (int i = 0; i < 2; i++) {
        run.cpu[i] = series_of(i ? changing : still);
        run.wall[i] = series_of(i ? changing : still);
    }
    run.applied = series_of(changing);
    run.world_cpu = series_of(changing);
    run.world_wait = series_of(changing);
    warm_up(changer, sessions);
    run.base = held_at(1);
    double resident_before = (double)resident_bytes() - metric("tickpath_node_bytes");
    walkers_open(&walkers, sessions);
    run_frames(&run, &walkers, changer, loop_of(&walkers), thread_of("world"));
    double resident_under = (double)resident_bytes() - metric("tickpath_node_bytes");
    close_sessions(walkers.client);
    close_sessions(changer);
    run.after = held_at(run.base.versions);
    usleep(200000);
    double resident_after = (double)resident_bytes() - metric("tickpath_node_bytes");
    printf("{\"sessions\": %zu, \"over_budget\": %llu, \"agent_ticks\": %llu, \"moves\": %llu, "
           "\"restarted\": %llu, ",
           sessions, (unsigned long long)walkers.over, (unsigned long long)walkers.ticks * sessions,
           (unsigned long long)walkers.moves, (unsigned long long)walkers.restarted);
    print_steady(&run);
    printf("\"mib_before\": %.2f, \"mib_under\": %.2f, \"mib_after\": %.2f}\n", resident_before / 1048576,
           resident_under / 1048576, resident_after / 1048576);
    tp_client_close(walkers.client);
    tp_client_close(changer);
}

static atomic_bool over;

static void *tick_on(void *context)
{
    struct walkers *walkers = context;
    for (uint64_t next = now_us(); !atomic_load(&over); sleep_until(next += FRAME_US))
        walkers_tick(walkers, true);
    return NULL;
}

static void stream(size_t sessions, uint64_t seconds)
{
    struct walkers walkers;
    struct held base = held_at(1);
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
    double batches = metric("tickpath_batches_applied_total");
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
    batches = metric("tickpath_batches_applied_total") - batches;
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    close_sessions(walkers.client);
    struct held left = held_at(base.versions);
    printf("{\"sessions\": %zu, \"over_budget\": %llu, \"agent_ticks\": %llu, \"changes_per_s\": %.0f, "
           "\"batches_sent\": %llu, "
           "\"batches_applied\": %.0f, ",
           sessions, (unsigned long long)walkers.over, (unsigned long long)walkers.ticks * sessions,
           (double)sent * BATCH / took, (unsigned long long)sent, batches);
    print_held("base", base);
    print_held("after", left);
    printf("\"ticks\": %llu, \"seconds\": %.3f}\n", (unsigned long long)walkers.ticks, took);
    tp_client_close(walkers.client);
    tp_client_close(changer);
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
    bool is_steady = argc == 9 && strcmp(argv[1], "steady") == 0;
    if (!is_steady && (argc != 8 || strcmp(argv[1], "stream") != 0))
        give_up("usage: changes steady PORT STATS_PORT PID MAP SESSIONS STILL CHANGING, or stream ... "
                "SESSIONS SECONDS");
    port = (uint16_t)atoi(argv[2]);
    stats_port = (uint16_t)atoi(argv[3]);
    pid = argv[4];
    load(argv[5]);
    struct tp_client *client = connect_now();
    must(client, tp_client_put_map(client, "bench", width, height, cells, NULL, 0, true, NULL, TIMEOUT_MS),
         "put map");
    tp_client_close(client);
    if (tp_cli_threads_open(&threads, strtoull(pid, NULL, 10), ""))
        give_up("can't read the daemon's threads");
    size_t sessions = (size_t)atol(argv[6]);
    if (sessions < 1 || sessions > 100000)
        give_up("sessions: 1 to 100000");
    if (is_steady)
        steady(sessions, (size_t)atol(argv[7]), (size_t)atol(argv[8]));
    else
        stream(sessions, (uint64_t)atol(argv[7]));
    tp_cli_threads_close(&threads);
    return 0;
}
