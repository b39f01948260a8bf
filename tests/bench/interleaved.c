/* Many sessions interleaved, measured: k expansions of one, k of the next, and round again.
 *
 *     interleaved library MAP.map FILE.scen SESSIONS K ROUNDS
 *     interleaved daemon MAP.map FILE.scen SESSIONS K ROUNDS PORT PID CONNECTIONS
 *
 * Every session runs A* with w = 1 on the bucket list from one problem of the scenario to the next, each its own row; once its path is found it
 * is put to the next problem's start. library: rounds of one session alone, of one session alone that searches to the end in
 * one tick, and of all SESSIONS in turn, one after the other in the same process; the thread's CPU time. daemon: the same sessions on each of CONNECTIONS
 * connections, a tick of all of them in one request; the daemon's CPU time and wall time. Prints one JSON object, the expansions a second of
 * each round in it; bench.py judges. Exit code 2: it could not be run. */
#include "client/tickpath_client.h"
#include "daemon/slabs.h"
#include "search/session.h"
#include "tests/bench/bench.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
    ROUND_EXPANSIONS = 4000000,
    WARM_ROUNDS = 4, /* of all sessions, before anything is measured */
    STRIDE = 619, /* of a session's rows: a prime, so that they are spread over all lengths */
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

/* The n-th problem of a session. */
static struct problem problem_of(size_t session, size_t n)
{
    const struct tp_movingai_row *row = &scene.scen.rows[(session * STRIDE + n * (STRIDE + 18)) % scene.scen.count];
    return (struct problem){row->start_y * scene.map->width + row->start_x, row->goal_y * scene.map->width + row->goal_x};
}

/* ---- In the library ---- */

struct agent {
    struct tp_session *session;
    size_t index, problems;
};

static void open_agent(struct agent *agent, size_t index, struct tp_pool *pool)
{
    struct tp_session_params params;
    struct tp_refusal refusal;
    struct problem problem = problem_of(index, 0);
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("astar");
    params.w_milli = 1000;
    params.open_list = TP_OPEN_LIST_BUCKET;
    params.start = problem.start;
    params.goal = problem.goal;
    *agent = (struct agent){.index = index, .problems = 1};
    must(tp_session_open(&agent->session, &params, scene.map, pool, &refusal), "can't open a session");
}

/* One tick; an agent that has its path goes on to the next problem. Gives the expansions made. */
static uint64_t tick(struct agent *agent, const struct tp_budget *budget)
{
    struct tp_tick_reply reply;
    tp_session_tick(agent->session, scene.map, budget, &reply);
    if (reply.flags & TP_FLAG_PATH_COMPLETE || reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE) {
        struct problem problem = problem_of(agent->index, agent->problems++);
        must(tp_session_retarget(agent->session, problem.goal), "can't set a goal");
        must(tp_session_at(agent->session, problem.start), "can't put an agent");
    }
    return reply.work.expansions;
}

/* Ticks the agents in turn for at least so many expansions, as the daemon does for a batch, or without looking ahead. Gives the expansions a
 * second. */
static double round_of(struct agent *agents, size_t count, uint64_t k, bool looks_ahead)
{
    struct tp_budget budget = tp_budget_k(k);
    uint64_t done = 0;
    double from = now_s(CLOCK_THREAD_CPUTIME_ID);
    while (done < ROUND_EXPANSIONS)
        for (size_t i = 0; i < count; i++) {
            for (unsigned ahead = 1; looks_ahead && ahead <= TP_PREFETCH_AHEAD && i + ahead < count; ahead++)
                tp_session_prefetch(agents[i + ahead].session, ahead);
            done += tick(&agents[i], &budget);
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

static void run_library(size_t sessions, size_t rounds)
{
    static const char *const names[] = {"single", "interleaved", "unfetched", "whole"};
    struct tp_pool pool;
    struct tp_slabs slabs;
    tp_slabs_init(&slabs);
    tp_pool_init(&pool, NULL);
    pool.source = &slabs.source;
    struct agent *agents = take(sessions, sizeof agents[0]), single, whole;
    double *rates[4];
    for (int i = 0; i < 4; i++)
        rates[i] = take(rounds, sizeof rates[i][0]);
    for (size_t i = 0; i < sessions; i++)
        open_agent(&agents[i], i, &pool);
    open_agent(&single, 0, &pool);
    open_agent(&whole, 0, &pool);
    for (int i = 0; i < WARM_ROUNDS; i++)
        round_of(agents, sessions, scene.k, true);
    round_of(&single, 1, scene.k, false);
    round_of(&whole, 1, TP_BUDGET_UNLIMITED, false);
    for (size_t i = 0; i < rounds; i++) {
        rates[0][i] = round_of(&single, 1, scene.k, false);
        rates[1][i] = round_of(agents, sessions, scene.k, true);
        rates[2][i] = round_of(agents, sessions, scene.k, false);
        rates[3][i] = round_of(&whole, 1, TP_BUDGET_UNLIMITED, false);
    }
    printf("{");
    for (int i = 0; i < 4; i++)
        print(names[i], rates[i], rounds);
    printf("\"pool_mib\": %.1f, \"sessions\": %zu, \"k\": %u}\n", (double)pool.slab_bytes / 1048576, sessions, scene.k);
    for (size_t i = 0; i < sessions; i++)
        tp_session_close(agents[i].session);
    tp_session_close(single.session);
    tp_session_close(whole.session);
    tp_pool_fini(&pool);
    tp_slabs_fini(&slabs);
}

int main(int argc, char **argv)
{
    const struct tp_cli_usage usage = {.command = "interleaved"};
    if (argc < 7 || strcmp(argv[1], "library"))
        give_up("interleaved library MAP.map FILE.scen SESSIONS K ROUNDS");
    scene.map = load("interleaved", argv[2], 0);
    if (tp_cli_scen_load(&usage, argv[3], &scene.scen))
        return 2;
    scene.k = (uint32_t)strtoul(argv[5], NULL, 10);
    run_library(strtoul(argv[4], NULL, 10), strtoul(argv[6], NULL, 10));
    tp_cli_scen_fini(&scene.scen);
    tp_map_unref(scene.map);
    return 0;
}
