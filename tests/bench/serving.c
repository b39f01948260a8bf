/* The daemon's loop: what a frame costs from the bytes received to the bytes to send; or, with `linked` before what follows, all that a loop
 * does for it, from one wait for its sockets to the next.
 *
 *     serving batch AGENTS FRAMES [ROW]    one request ticks all agents, which walk on finished paths
 *     serving named AGENTS FRAMES [ROW]    the same, the request naming them all
 *     serving search AGENTS FRAMES [ROW]   the same as batch, but the agents search from the start, four expansions a tick
 *     serving rest AGENTS FRAMES [ROW]     the same as batch, but the agents stand on their goals
 *     serving single REQUESTS [ROW]        one request ticks one of a thousand agents on finished paths
 *
 * Prints nanoseconds an agent. To count instructions instead: valgrind --tool=callgrind --toggle-collect=measured.
 */
#include "client/cli/generate.h"
#include "map/layer.h"
#include "tests/bench/bench.h"
#include "tests/bench/linked.h"
#include "tests/lib/rng.h"
#include "tests/lib/solo.h"

#include <string.h>
#include <time.h>

/* Of this thread: what others take of the processor is left out. */
static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

enum { SIDE = 512, FAR = 250, K = 4, K_FIRST = 20000, TICKS_FIRST = 60, GUIDE_UNITS = 2000 };

/* What the loop takes for its clock: every look at it finds a moment gone, so that runs do the same work on any machine. */
static uint64_t moments_us(void *context)
{
    static uint64_t us;
    (void)context;
    return us += 3;
}

static struct tp_map *town(struct tp_layer_kind *kind)
{
    uint8_t *cells = take(SIDE, SIDE);
    struct tp_map *map, *layer;
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    must(tp_generate_map(TP_GENERATE_CITY, SIDE, SIDE, 7, NULL, cells), "no map");
    must(tp_map_build(&map, SIDE, SIDE, cells, &profile, 1), "no map");
    *kind = (struct tp_layer_kind){profile, 1, true, TP_BLOCKS_STRAIGHT};
    must(tp_layer_build(&layer, map, kind), "no layer");
    free(cells);
    tp_map_unref(map);
    return layer;
}

static uint32_t apart(uint32_t a, uint32_t b)
{
    int dx = abs((int)(a % SIDE) - (int)(b % SIDE)), dy = abs((int)(a / SIDE) - (int)(b / SIDE));
    return (uint32_t)(dx > dy ? dx : dy);
}

static uint32_t free_cell(struct tp_test_rng *rng, const struct tp_map *map)
{
    for (;;) {
        uint32_t cell = tp_test_below(rng, SIDE * SIDE);
        if (tp_map_passable(map, cell % SIDE, cell / SIDE))
            return cell;
    }
}

static bool is_linked;

static uint64_t *open_all(struct solo *solo, const struct tp_map *map, uint32_t agents, const char *row, bool rests)
{
    struct tp_test_rng rng = {1};
    uint64_t *ids = take(agents, sizeof ids[0]);
    for (uint32_t i = 0; i < agents; i++) {
        struct tp_session_params params;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find(row);
        params.w_milli = TP_W_UNSET;
        params.budget = tp_budget_k(K);
        if (params.algorithm->capabilities & TP_CAN_BE_GUIDED)
            params.guide_units = GUIDE_UNITS;
        do {
            params.start = free_cell(&rng, map);
            params.goal = free_cell(&rng, map);
        } while (apart(params.start, params.goal) < FAR || tp_blocks_apart(map->blocks, params.start % SIDE, params.start / SIDE, params.goal % SIDE, params.goal / SIDE));
        if (rests)
            params.goal = params.start;
        ids[i] = is_linked ? linked_open(&params) : solo_open(solo, &params);
    }
    return ids;
}

/* Ticks all a few times, with so many expansions each (0: its own); gives how many paths are whole then, and have been made shorter. */
static uint32_t tick_first(struct solo *solo, uint32_t agents, uint64_t k)
{
    uint32_t whole = 0;
    Tickpath__Budget each = TICKPATH__BUDGET__INIT;
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    each.has_k = tick.has_all = tick.all = 1;
    each.k = k;
    tick.each = k > 0 ? &each : NULL;
    size_t size;
    uint8_t *frame = solo_frame(TICKPATH__REQUEST__BODY_TICK, &tick, 0, &size);
    for (int i = 0; i < TICKS_FIRST; i++) {
        if (is_linked)
            linked_send(frame, size), linked_run();
        else
            solo_receive(solo, frame, size);
        Tickpath__Reply *reply = is_linked ? linked_reply() : solo_reply(solo);
        if (reply->ticked == NULL || reply->ticked->n_flags != agents)
            give_up("the first ticks failed");
        whole = 0;
        for (uint32_t a = 0; a < agents; a++)
            whole += (reply->ticked->flags[a] & TP_FLAG_PATH_COMPLETE) != 0;
        tickpath__reply__free_unpacked(reply, NULL);
    }
    free(frame);
    return whole;
}

__attribute__((noinline)) static void measured(struct solo *solo, const uint8_t *frame, size_t size)
{
    if (is_linked)
        linked_run();
    else
        solo_receive(solo, frame, size);
}

int main(int argc, char **argv)
{
    is_linked = argc > 1 && strcmp(argv[1], "linked") == 0;
    argc -= is_linked;
    argv += is_linked;
    if (argc < 3)
        give_up("usage: serving [linked] batch|named|search|rest AGENTS FRAMES [ROW] | serving single REQUESTS [ROW]");
    bool is_named = strcmp(argv[1], "named") == 0, searches = strcmp(argv[1], "search") == 0, rests = strcmp(argv[1], "rest") == 0;
    bool is_batch = is_named || searches || rests || strcmp(argv[1], "batch") == 0;
    bool is_walking = !searches && !rests;
    uint32_t agents = is_batch ? (uint32_t)atoi(argv[2]) : 1000;
    uint32_t frames = (uint32_t)atoi(argv[is_batch ? 3 : 2]);
    const char *row = argc > 3 + is_batch ? argv[3 + is_batch] : "guided";
    static struct solo solo;
    struct tp_layer_kind kind;
    struct tp_map *map = town(&kind);
    solo_init(&solo, map);
    solo.shard.clock.now_us = moments_us;
    if (is_linked)
        linked_init(&solo);
    uint64_t *ids = open_all(&solo, map, agents, row, rests);
    uint32_t whole = tick_first(&solo, agents, is_walking ? K_FIRST : 0);
    if (is_walking)
        fprintf(stderr, "%u of %u paths are whole\n", whole, agents);
    double *times = take(frames, sizeof times[0]);
    for (uint32_t i = 0; i < frames; i++) {
        Tickpath__Tick tick = TICKPATH__TICK__INIT;
        tick.has_all = tick.all = is_batch && !is_named;
        tick.n_session = is_named ? agents : !is_batch;
        tick.session = is_named ? ids : &ids[i % agents];
        size_t size;
        uint8_t *frame = solo_frame(TICKPATH__REQUEST__BODY_TICK, &tick, i + 1, &size);
        if (is_linked)
            linked_send(frame, size);
        uint64_t began = now_ns();
        measured(&solo, frame, size);
        times[i] = (double)(now_ns() - began);
        if (is_linked)
            tickpath__reply__free_unpacked(linked_reply(), NULL);
        solo.peer.output.size = 0;
        free(frame);
    }
    sort(times, frames);
    uint32_t share = is_batch ? agents : 1;
    printf("%s %s, %u agents: least %.1f ns an agent, median %.1f, p99 %.1f; moves %llu of %llu\n", row, argv[1], agents,
           times[0] / share, times[frames / 2] / share, times[(size_t)frames * 99 / 100] / share,
           (unsigned long long)solo.shard.metrics->moves, (unsigned long long)share * frames);
    free(times);
    free(ids);
    if (is_linked)
        linked_fini();
    solo_fini(&solo);
    tp_map_unref(map);
    return 0;
}
