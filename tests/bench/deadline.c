/* Batches with a total of time, measured: what the daemon's loop spends beyond it, and how long an agent goes without an expansion.
 *
 *     deadline PORT PID MAP.map ALGORITHM SESSIONS TOTAL_US BATCHES
 *
 * SESSIONS agents that search whenever they are not on a path to the end, far more than the time holds, on one connection to a
 * daemon with one loop; who arrived is given another goal before the next batch. A batch's time is the CPU time of the loop's thread,
 * from /proc/PID/task, read before the request and when the loop sleeps again: reading the request, serving, packing and
 * sending the answer are all in it. Prints one JSON object; bench.py judges. Exit code 2: it could not be run. */
#include "client/cli/threads.h"
#include "client/tickpath_client.h"
#include "map/walk.h"
#include "tests/bench/bench.h"
#include "tests/lib/rng.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 20000, WARM_BATCHES = 100, MOVES = 300, SETTLE_US = 300, K = 1000000 };

static struct tp_test_rng rng = {7};
static struct tp_client *client;
static struct tp_cli_threads loop;

static void ask(int error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "%s: %d: %s\n", what, error, tp_client_error(client)->message);
    exit(2);
}

/* CPU time of the loop, once it sleeps. */
static double loop_us(void)
{
    usleep(SETTLE_US);
    return (double)tp_cli_threads_cpu_ns(&loop) / 1e3;
}

/* ---- the agents ---- */

struct crowd {
    struct tp_map *map;
    uint64_t *ids;
    uint32_t *cells;
    size_t count, arrived, illegal, unanswered;
    uint32_t longest; /* ticks on end that one was starved in */
    double starved, expansions;
};

static uint32_t draw_free(const struct tp_map *map)
{
    for (;;) {
        uint32_t cell = tp_test_below(&rng, map->width * map->height);
        if (tp_map_passable(map, cell % map->width, cell / map->width))
            return cell;
    }
}

static void put_map(const struct tp_map *map)
{
    uint8_t *cells = take(map->width, map->height);
    for (uint32_t y = 0; y < map->height; y++)
        for (uint32_t x = 0; x < map->width; x++)
            cells[(size_t)y * map->width + x] = tp_map_class(map, x, y);
    ask(tp_client_put_map(client, "deadline", map->width, map->height, cells, NULL, 0, true, NULL,
                          TIMEOUT_MS),
        "put_map");
    free(cells);
}

static void open_all(struct crowd *crowd, const char *algorithm)
{
    crowd->ids = take(crowd->count, sizeof crowd->ids[0]);
    crowd->cells = take(crowd->count, sizeof crowd->cells[0]);
    for (size_t i = 0; i < crowd->count; i++) {
        struct tp_client_session session;
        struct tp_client_session_params params = {.map = "deadline",
                                                  .start = draw_free(crowd->map),
                                                  .goal = draw_free(crowd->map),
                                                  .algorithm = algorithm,
                                                  .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = K}};
        ask(tp_client_open_session(client, &params, &session, TIMEOUT_MS), "open_session");
        crowd->ids[i] = session.id;
        crowd->cells[i] = params.start;
    }
}

/* Looks at the answer: each session is in it, with a legal move. Who is at an end gets a new goal. */
static void take_answer(struct crowd *crowd, const struct tp_client_ticked *ticked)
{
    uint32_t width = crowd->map->width;
    crowd->unanswered += crowd->count - ticked->count;
    crowd->starved += ticked->starved;
    crowd->longest = ticked->starved_longest > crowd->longest ? ticked->starved_longest : crowd->longest;
    bool *is_over = take(crowd->count, sizeof is_over[0]);
    for (size_t i = 0; i < ticked->count; i++) {
        uint32_t from = crowd->cells[i], to = ticked->cells[i];
        crowd->illegal += ticked->sessions[i] != crowd->ids[i] ||
                          (from != to && !tp_walk_legal(crowd->map, from % width, from / width, to % width,
                                                        to / width, TP_NEIGHBOURS_8, TP_CORNERS_BOTH_FREE));
        crowd->cells[i] = to;
        crowd->expansions += (double)ticked->expansions[i];
        is_over[i] = ticked->statuses[i] == TP_CLIENT_ARRIVED || ticked->statuses[i] == TP_CLIENT_UNREACHABLE;
    }
    for (size_t i = 0; i < ticked->count; i++) /* the answer is gone with the next call */
        if (is_over[i]) {
            ask(tp_client_set_goal(client, crowd->ids[i], draw_free(crowd->map), TIMEOUT_MS), "set_goal");
            crowd->arrived++;
        }
    free(is_over);
}

static double batch(struct crowd *crowd, uint64_t total_us)
{
    struct tp_client_tick tick = {.all = true, .has_total_us = true, .total_us = total_us, .want_work = true};
    struct tp_client_ticked ticked;
    double before = loop_us();
    ask(tp_client_tick(client, &tick, &ticked, TIMEOUT_MS), "tick");
    double spent = loop_us() - before;
    take_answer(crowd, &ticked);
    return spent;
}

int main(int argc, char **argv)
{
    if (argc != 8)
        give_up("deadline PORT PID MAP.map ALGORITHM SESSIONS TOTAL_US BATCHES");
    struct crowd crowd = {.count = (size_t)atol(argv[5])};
    uint64_t total_us = (uint64_t)atol(argv[6]);
    size_t batches = (size_t)atol(argv[7]);
    if (crowd.count < 1 || total_us < 1 || batches < 1)
        give_up("SESSIONS, TOTAL_US and BATCHES are 1 at the least");
    struct tp_client_error error;
    if (tp_client_open(&client, "127.0.0.1", (uint16_t)atoi(argv[1]), "deadline", TIMEOUT_MS, &error))
        give_up(error.message);
    must(tp_cli_threads_open(&loop, strtoull(argv[2], NULL, 10), "loop"), "can't read the loop's CPU time");
    crowd.map = load("deadline", argv[3], 0);
    put_map(crowd.map);
    open_all(&crowd, argv[4]);
    double *spent = take(batches, sizeof spent[0]);
    for (size_t i = 0; i < WARM_BATCHES; i++)
        batch(&crowd, total_us);
    crowd.longest = 0;
    crowd.starved = crowd.expansions = 0;
    for (size_t i = 0; i < batches; i++)
        spent[i] = batch(&crowd, total_us);
    sort(spent, batches);
    uint32_t longest = crowd.longest;
    double starved = crowd.starved, expansions = crowd.expansions;
    double moves
        [MOVES]; /* the same agents with no time to search: what is left of the total without them is the search's */
    for (size_t i = 0; i < MOVES; i++)
        moves[i] = batch(&crowd, 1);
    sort(moves, MOVES);
    double limit = (double)total_us;
    printf("{\"sessions\": %zu, \"total_us\": %.0f, \"batches\": %zu, \"p50\": %.1f, \"p99\": %.1f, "
           "\"p999\": %.1f, \"max\": %.1f, "
           "\"longest\": %u, \"starved\": %.2f, \"expansions\": %.1f, \"arrived\": %zu, \"illegal\": %zu, "
           "\"unanswered\": %zu, "
           "\"moves_p50\": %.1f, \"moves_p99\": %.1f}\n",
           crowd.count, limit, batches, spent[batches / 2] - limit, spent[batches * 99 / 100] - limit,
           spent[batches * 999 / 1000] - limit, spent[batches - 1] - limit, longest,
           starved / (double)batches, expansions / (double)batches, crowd.arrived, crowd.illegal,
           crowd.unanswered, moves[MOVES / 2], moves[MOVES * 99 / 100]);
    tp_cli_threads_close(&loop);
    tp_client_close(client);
    tp_map_unref(crowd.map);
    return 0;
}
