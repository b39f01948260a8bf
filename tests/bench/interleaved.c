/* Many sessions interleaved, measured: k expansions of one, k of the next, and round again.
 *
 *     interleaved library MAP.map FILE.scen SESSIONS K ROUNDS
 *     interleaved threads MAP.map FILE.scen SESSIONS K ROUNDS THREADS
 *     interleaved daemon MAP.map FILE.scen SESSIONS K ROUNDS PORT PID CONNECTIONS
 *
 * Every session runs A* with w = 1 on the bucket list from one problem of the scenario to the next, each its own row; once its path is found it
 * is closed, and another opened for the next problem. library: rounds of one session alone, of one session alone that searches to the end in
 * one tick, and of all SESSIONS in turn, one after the other in the same process; the thread's CPU time. threads: SESSIONS on each of THREADS
 * threads, with a pool each, over one map: rounds of one thread alone, and of all at once; each thread's CPU time, and wall time. daemon: the same
 * sessions on each of CONNECTIONS connections, a tick of all of them in one request; the daemon's CPU time and wall time. Prints one JSON object, the expansions a second of
 * each round in it; bench.py judges. Exit code 2: it could not be run. */
#include "base/line.h"
#include "client/tickpath_client.h"
#include "daemon/serve/slabs.h"
#include "search/session.h"
#include "tests/bench/bench.h"

#include <pthread.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

enum {
    ROUND_EXPANSIONS = 4000000,
    WARM_ROUNDS = 4, /* of all sessions, before anything is measured */
    STRIDE = 619,    /* of a session's rows: a prime, so that they are spread over all lengths */
};

static double now_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- The problems ---- */

struct scene {
    struct tp_map *map;
    struct tp_cli_scen scen;
    uint32_t k;
};

static struct scene scene;

struct problem {
    uint32_t start, goal;
};

/* The n-th problem. */
static struct problem problem_of(size_t n)
{
    const struct tp_movingai_row *row = &scene.scen.rows[n * STRIDE % scene.scen.count];
    return (struct problem){row->start_y * scene.map->width + row->start_x,
                            row->goal_y * scene.map->width + row->goal_x};
}

/* ---- In the library ---- */

/* Sessions that are ticked in turn, each on a problem of its own. */
struct crowd {
    struct tp_session **sessions;
    size_t count, problems; /* problems begun */
    struct tp_pool *pool;
};

static void open_next(struct crowd *crowd, size_t i)
{
    struct tp_session_params params;
    struct tp_refusal refusal;
    struct problem problem = problem_of(crowd->problems++);
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("astar");
    params.w_milli = 1000;
    params.open_list = TP_OPEN_LIST_BUCKET;
    params.start = problem.start;
    params.goal = problem.goal;
    must(tp_session_open(&crowd->sessions[i], &params, scene.map, crowd->pool, &refusal),
         "can't open a session");
}

/* Sessions of the problems from the first-th on. */
static struct crowd crowd_of(size_t count, size_t first, struct tp_pool *pool)
{
    struct crowd crowd = {
        .sessions = take(count, sizeof crowd.sessions[0]), .count = count, .problems = first, .pool = pool};
    for (size_t i = 0; i < count; i++)
        open_next(&crowd, i);
    return crowd;
}

static void close_crowd(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++)
        tp_session_close(crowd->sessions[i]);
    free(crowd->sessions);
}

/* One tick; a session that has its path makes room for the next problem's. Gives the expansions made. */
static uint64_t tick(struct crowd *crowd, size_t i, const struct tp_budget *budget)
{
    struct tp_tick_reply reply;
    tp_session_tick(crowd->sessions[i], scene.map, budget, &reply);
    if (reply.flags & TP_FLAG_PATH_COMPLETE || reply.status == TP_STATUS_ARRIVED ||
        reply.status == TP_STATUS_UNREACHABLE) {
        tp_session_close(crowd->sessions[i]);
        open_next(crowd, i);
    }
    return reply.work.expansions;
}

/* Ticks the sessions in turn for at least so many expansions, as the daemon does for a batch, or without looking ahead. Gives the
 * expansions a second. */
static double round_of(struct crowd *crowd, uint64_t k, bool looks_ahead)
{
    struct tp_budget budget = tp_budget_k(k);
    uint64_t done = 0;
    double from = now_s(CLOCK_THREAD_CPUTIME_ID);
    while (done < ROUND_EXPANSIONS)
        for (size_t i = 0; i < crowd->count; i++) {
            for (unsigned step = 1; looks_ahead && step <= TP_PREFETCH_STEPS && i + tp_prefetch_ahead[step - 1] < crowd->count; step++)
                tp_session_prefetch(crowd->sessions[i + tp_prefetch_ahead[step - 1]], step);
            done += tick(crowd, i, &budget);
        }
    return (double)done / (now_s(CLOCK_THREAD_CPUTIME_ID) - from);
}

static void print(const char *name, const double *values, size_t count)
{
    printf("\"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%.0f", i ? ", " : "", values[i]);
    printf("], ");
}

/* Memory as a loop of the daemon's has it. */
static void memory_init(struct tp_pool *pool, struct tp_slabs *slabs)
{
    tp_slabs_init(slabs, NULL);
    tp_pool_init(pool, NULL);
    pool->source = &slabs->source;
}

static void run_library(size_t sessions, size_t rounds)
{
    static const char *const names[] = {"single", "interleaved", "unfetched", "whole"};
    struct tp_pool pool;
    struct tp_slabs slabs;
    memory_init(&pool, &slabs);
    struct crowd all = crowd_of(sessions, 0, &pool), single = crowd_of(1, 0, &pool),
                 whole = crowd_of(1, 0, &pool);
    double *rates[4];
    for (int i = 0; i < 4; i++)
        rates[i] = take(rounds, sizeof rates[i][0]);
    for (int i = 0; i < WARM_ROUNDS; i++)
        round_of(&all, scene.k, true);
    round_of(&single, scene.k, false);
    round_of(&whole, TP_BUDGET_UNLIMITED, false);
    for (size_t i = 0; i < rounds; i++) {
        rates[0][i] = round_of(&single, scene.k, false);
        rates[1][i] = round_of(&all, scene.k, true);
        rates[2][i] = round_of(&all, scene.k, false);
        rates[3][i] = round_of(&whole, TP_BUDGET_UNLIMITED, false);
    }
    printf("{");
    for (int i = 0; i < 4; i++)
        print(names[i], rates[i], rounds);
    printf("\"pool_mib\": %.1f, \"sessions\": %zu, \"k\": %u}\n", (double)pool.slab_bytes / 1048576, sessions,
           scene.k);
    close_crowd(&all);
    close_crowd(&single);
    close_crowd(&whole);
    tp_pool_fini(&pool);
    tp_slabs_fini(&slabs);
}

/* ---- On several threads ---- */

enum { THREADS_MAX = 8 };

/* What a thread has to itself, on cache lines of its own. */
struct worker {
    _Alignas(TP_LINE_BYTES) struct tp_slabs slabs;
    struct tp_pool pool;
    struct crowd crowd;
    pthread_t thread;
    double rate; /* of its last round, by its CPU time */
};

static void *run_round(void *context)
{
    struct worker *worker = context;
    worker->rate = round_of(&worker->crowd, scene.k, true);
    return NULL;
}

/* A round of the first `count`, each on a thread of its own. Gives the expansions a second: by CPU time, the sum of theirs; and by wall time. */
static void threads_round(struct worker *workers, size_t count, double *by_cpu, double *by_wall)
{
    double wall_from = now_s(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count; i++)
        must(pthread_create(&workers[i].thread, NULL, run_round, &workers[i]), "no thread");
    *by_cpu = 0;
    for (size_t i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        *by_cpu += workers[i].rate;
    }
    *by_wall = (double)count * ROUND_EXPANSIONS / (now_s(CLOCK_MONOTONIC) - wall_from);
}

static void run_threads(size_t sessions, size_t rounds, size_t count)
{
    static struct worker workers[THREADS_MAX];
    static const char *const names[] = {"one_cpu", "one_wall", "all_cpu", "all_wall"};
    double *rates[4], unused;
    if (count < 1 || count > THREADS_MAX)
        give_up("too many threads");
    for (int i = 0; i < 4; i++)
        rates[i] = take(rounds, sizeof rates[i][0]);
    for (size_t i = 0; i < count; i++) {
        memory_init(&workers[i].pool, &workers[i].slabs);
        workers[i].crowd = crowd_of(sessions, i * sessions, &workers[i].pool);
    }
    for (int i = 0; i < WARM_ROUNDS; i++)
        threads_round(workers, count, &unused, &unused);
    for (size_t i = 0; i < rounds; i++) {
        threads_round(workers, 1, &rates[0][i], &rates[1][i]);
        threads_round(workers, count, &rates[2][i], &rates[3][i]);
    }
    printf("{");
    for (int i = 0; i < 4; i++)
        print(names[i], rates[i], rounds);
    printf("\"threads\": %zu, \"sessions\": %zu, \"k\": %u}\n", count, sessions, scene.k);
    for (size_t i = 0; i < count; i++) {
        close_crowd(&workers[i].crowd);
        tp_pool_fini(&workers[i].pool);
        tp_slabs_fini(&workers[i].slabs);
    }
}

/* ---- Through a daemon ---- */

enum { TIMEOUT_MS = 20000, CONNECTIONS_MAX = 8 };

struct connection {
    struct tp_client *client;
    size_t sessions, problems; /* problems begun */
    uint64_t *closed;          /* by the last reply: the tick under way has them still */
    size_t closed_count;
    uint64_t ticks;      /* of a round */
    uint64_t expansions; /* in it: those of the ticks that ended no search, k each */
};

static void ask(const struct connection *connection, int error, const char *what)
{
    if (error) {
        fprintf(stderr, "%s: %s\n", what, tp_client_error(connection->client)->message);
        exit(2);
    }
}

/* Sends an open for the next problem; its reply is not waited for. */
static void open_on(struct connection *connection)
{
    struct problem problem = problem_of(connection->problems++);
    struct tp_client_session_params params = {.map = "interleaved",
                                              .algorithm = "astar",
                                              .start = problem.start,
                                              .goal = problem.goal,
                                              .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = scene.k}};
    uint64_t ticket;
    ask(connection, tp_client_send_open_session(connection->client, &params, &ticket, TIMEOUT_MS),
        "can't open a session");
    tp_client_drop(connection->client, ticket);
}

static void connection_open(struct connection *connection, uint16_t port, size_t sessions)
{
    *connection =
        (struct connection){.sessions = sessions, .closed = take(sessions, sizeof connection->closed[0])};
    must(tp_client_open(&connection->client, "127.0.0.1", port, "interleaved", TIMEOUT_MS, NULL),
         "no daemon");
    for (size_t i = 0; i < sessions; i++)
        open_on(connection);
}

static bool is_closed(const struct connection *connection, uint64_t id)
{
    for (size_t i = 0; i < connection->closed_count; i++)
        if (connection->closed[i] == id)
            return true;
    return false;
}

/* Takes a tick's reply. Who has its path is closed, and another opened for the next problem. */
static void collect(struct connection *connection, uint64_t ticket)
{
    struct tp_client_reply reply;
    size_t done = 0;
    ask(connection, tp_client_collect(connection->client, ticket, &reply, TIMEOUT_MS), "no tick");
    const struct tp_client_ticked *t = &reply.ticked;
    uint64_t *ids = take(connection->sessions, sizeof ids[0]), unused;
    for (size_t i = 0; i < t->count; i++) {
        bool is_done = t->flags[i] & TP_CLIENT_PATH_COMPLETE || t->statuses[i] >= TP_CLIENT_ARRIVED;
        if (!is_done)
            connection->expansions += scene.k;
        else if (!is_closed(connection, t->sessions[i]))
            ids[done++] = t->sessions[i];
    }
    if (done > 0) {
        ask(connection, tp_client_send_close_sessions(connection->client, ids, done, &unused, TIMEOUT_MS),
            "can't close");
        tp_client_drop(connection->client, unused);
    }
    for (size_t i = 0; i < done; i++)
        open_on(connection);
    free(connection->closed);
    connection->closed = ids;
    connection->closed_count = done;
}

/* Ticks all sessions, the next request being sent before the last one's reply is taken. */
static void *run_ticks(void *context)
{
    struct connection *connection = context;
    const struct tp_client_tick all = {.all = true};
    uint64_t tickets[2];
    for (uint64_t tick = 0; tick <= connection->ticks; tick++) {
        if (tick < connection->ticks)
            ask(connection, tp_client_send_tick(connection->client, &all, &tickets[tick % 2], TIMEOUT_MS),
                "can't tick");
        if (tick > 0)
            collect(connection, tickets[(tick - 1) % 2]);
    }
    connection->closed_count = 0;
    return NULL;
}

/* One round of all connections, each on a thread of its own. Gives the expansions a second of CPU time and of wall time. */
static void daemon_round(struct connection *connections, size_t count, clockid_t cpu, double *by_cpu,
                         double *by_wall)
{
    pthread_t threads[CONNECTIONS_MAX];
    uint64_t expansions = 0;
    double cpu_from = now_s(cpu), wall_from = now_s(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count; i++) {
        connections[i].ticks = ROUND_EXPANSIONS / (connections[i].sessions * scene.k);
        connections[i].expansions = 0;
        must(pthread_create(&threads[i], NULL, run_ticks, &connections[i]), "no thread");
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        expansions += connections[i].expansions;
    }
    *by_cpu = (double)expansions / (now_s(cpu) - cpu_from);
    *by_wall = (double)expansions / (now_s(CLOCK_MONOTONIC) - wall_from);
}

static void run_daemon(size_t sessions, size_t rounds, uint16_t port, pid_t pid, size_t count)
{
    struct connection connections[CONNECTIONS_MAX];
    clockid_t cpu;
    if (count > CONNECTIONS_MAX)
        give_up("too many connections");
    double *rates[2] = {take(rounds, sizeof(double)), take(rounds, sizeof(double))}, unused;
    size_t cells = (size_t)scene.map->width * scene.map->height;
    uint8_t *classes = take(cells, 1);
    for (size_t i = 0; i < cells; i++)
        classes[i] =
            tp_map_class(scene.map, (uint32_t)(i % scene.map->width), (uint32_t)(i / scene.map->width));
    must(clock_getcpuclockid(pid, &cpu), "no such daemon");
    struct tp_client *client;
    must(tp_client_open(&client, "127.0.0.1", port, "interleaved", TIMEOUT_MS, NULL), "no daemon");
    must(tp_client_put_map(client, "interleaved", scene.map->width, scene.map->height, classes, NULL, 0,
                           false, NULL, TIMEOUT_MS),
         "can't put the map");
    tp_client_close(client);
    for (size_t i = 0; i < count; i++)
        connection_open(&connections[i], port, sessions);
    for (int i = 0; i < WARM_ROUNDS; i++)
        daemon_round(connections, count, cpu, &unused, &unused);
    for (size_t i = 0; i < rounds; i++)
        daemon_round(connections, count, cpu, &rates[0][i], &rates[1][i]);
    printf("{");
    print("cpu", rates[0], rounds);
    print("wall", rates[1], rounds);
    printf("\"connections\": %zu, \"sessions\": %zu, \"k\": %u}\n", count, sessions, scene.k);
    for (size_t i = 0; i < count; i++) {
        tp_client_close(connections[i].client);
        free(connections[i].closed);
    }
    free(classes);
}

int main(int argc, char **argv)
{
    const struct tp_cli_usage usage = {.command = "interleaved"};
    bool is_library = argc == 7 && strcmp(argv[1], "library") == 0,
         is_threads = argc == 8 && strcmp(argv[1], "threads") == 0,
         is_daemon = argc == 10 && strcmp(argv[1], "daemon") == 0;
    if (!is_library && !is_threads && !is_daemon)
        give_up("interleaved library|threads|daemon MAP.map FILE.scen SESSIONS K ROUNDS [THREADS | PORT PID "
                "CONNECTIONS]");
    scene.map = load("interleaved", argv[2], 0);
    if (tp_cli_scen_load(&usage, argv[3], &scene.scen))
        return 2;
    size_t sessions = strtoul(argv[4], NULL, 10), rounds = strtoul(argv[6], NULL, 10);
    scene.k = (uint32_t)strtoul(argv[5], NULL, 10);
    if (is_library)
        run_library(sessions, rounds);
    else if (is_threads)
        run_threads(sessions, rounds, strtoul(argv[7], NULL, 10));
    else
        run_daemon(sessions, rounds, (uint16_t)strtoul(argv[7], NULL, 10), (pid_t)strtol(argv[8], NULL, 10),
                   strtoul(argv[9], NULL, 10));
    tp_cli_scen_fini(&scene.scen);
    tp_map_unref(scene.map);
    return 0;
}
