/* A bounded, seeded fuzzer of the daemon over the wire: valid sequences of frames, mutated in their bytes and
 * in their fields, thrown at a real daemon in pieces of any size. The daemon must live and serve, every byte
 * that comes back must be a frame, and at the end it must go without a leak.
 *
 * Iteration i of a seed is the same whatever came before: its generator starts from (seed, i).
 * TICKPATH_FUZZ_FIRST=i begins there. */
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SEQUENCE_ROOM = 1 << 18,
    FRAMES_MAX = 40,
    WIDTH = 12,
    HEIGHT = 9,
    CELLS = WIDTH * HEIGHT,
    HEALTH_EVERY = 50,
};

struct sequence {
    uint8_t *bytes;
    size_t size;
    size_t begins[FRAMES_MAX + 1]; /* where each frame begins */
    size_t count;
};

static struct wire_daemon daemon_;

/* ---- Valid requests with some fields drawn ---- */

static uint64_t odd_number(struct tp_test_rng *rng)
{
    static const uint64_t odd[] = {
        0,     1,         2,          CELLS - 1,  CELLS,         255,       256,       65535,
        65536, INT32_MAX, UINT32_MAX, 1ull << 32, 1000000000001, INT64_MAX, UINT64_MAX};
    return tp_test_percent(rng, 60) ? tp_test_below(rng, CELLS)
                                    : odd[tp_test_below(rng, sizeof odd / sizeof odd[0])];
}

static double odd_double(struct tp_test_rng *rng)
{
    static const double odd[] = {1, 1.5, 0.9, 0, -1, 1e6, 1e300, 1.0001, NAN, INFINITY};
    return odd[tp_test_below(rng, sizeof odd / sizeof odd[0])];
}

/* An id of the sessions that this connection may have: unknown to us, as replies are not waited for; mostly
 * wrong. */
static uint64_t odd_session(struct tp_test_rng *rng, const uint64_t *known, size_t count)
{
    return count && tp_test_percent(rng, 80) ? known[tp_test_below(rng, (uint32_t)count)] : odd_number(rng);
}

static int32_t odd_speed(struct tp_test_rng *rng)
{
    return tp_test_percent(rng, 90) ? (int32_t)tp_test_below(rng, 7) - 3 : (int32_t)odd_number(rng);
}

static const char *odd_name(struct tp_test_rng *rng)
{
    static const char *const names[] = {"m", "m", "m", "m", "n", "n/o", "", "..", "/", "nowhere", "\xff\xfe"};
    return names[tp_test_below(rng, sizeof names / sizeof names[0])];
}

static void draw_budget(struct tp_test_rng *rng, Tickpath__Budget *budget)
{
    tickpath__budget__init(budget);
    budget->has_k = tp_test_percent(rng, 60);
    budget->k = odd_number(rng);
    budget->has_resource_limit = tp_test_percent(rng, 30);
    budget->resource_limit = odd_number(rng);
    budget->has_expansion_share = tp_test_percent(rng, 20);
    budget->expansion_share = odd_double(rng);
    budget->has_trace_steps = tp_test_percent(rng, 20);
    budget->trace_steps = (uint32_t)odd_number(rng);
    budget->has_deadline_us = tp_test_percent(rng, 20);
    budget->deadline_us = tp_test_percent(rng, 90) ? tp_test_below(rng, 500) : odd_number(rng);
}

static void add_frame(struct sequence *sequence, Tickpath__Request__BodyCase kind, void *message)
{
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.id = sequence->count + 1;
    request.body_case = kind;
    request.hello = message;
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    if (sequence->count < FRAMES_MAX && sequence->size + size <= SEQUENCE_ROOM) {
        memcpy(sequence->bytes + sequence->size, frame, size);
        sequence->size += size;
        sequence->begins[++sequence->count] = sequence->size;
    }
    free(frame);
}

static void add_hello(struct sequence *sequence)
{
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = hello.protocol_max = 1;
    hello.client = "fuzz";
    add_frame(sequence, TICKPATH__REQUEST__BODY_HELLO, &hello);
}

static void add_put(struct tp_test_rng *rng, struct sequence *sequence)
{
    uint8_t cells[CELLS];
    for (size_t i = 0; i < CELLS; i++)
        cells[i] = tp_test_percent(rng, 80) ? '.' : (uint8_t)tp_test_below(rng, 256);
    Tickpath__ClassWeight weight = TICKPATH__CLASS_WEIGHT__INIT, *profile[] = {&weight};
    weight.has_terrain = weight.has_weight = 1;
    weight.terrain = (uint32_t)odd_number(rng);
    weight.weight = (uint32_t)odd_number(rng);
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = (char *)odd_name(rng);
    put.has_width = put.has_height = tp_test_percent(rng, 80);
    put.width = tp_test_percent(rng, 90) ? WIDTH : (uint32_t)odd_number(rng);
    put.height = tp_test_percent(rng, 90) ? HEIGHT : (uint32_t)odd_number(rng);
    put.has_offset = tp_test_percent(rng, 30);
    put.offset = odd_number(rng);
    put.has_cells = 1;
    put.cells = (ProtobufCBinaryData){.len = tp_test_percent(rng, 70) ? CELLS : tp_test_below(rng, CELLS),
                                      .data = cells};
    put.has_last = put.last = tp_test_percent(rng, 80);
    put.has_replace = put.replace = tp_test_percent(rng, 50);
    put.n_profile = tp_test_percent(rng, 20);
    put.profile = profile;
    add_frame(sequence, TICKPATH__REQUEST__BODY_PUT_MAP, &put);
}

static void add_put_graph(struct tp_test_rng *rng, struct sequence *sequence)
{
    enum { EDGES = 150 };
    uint32_t from[EDGES], to[EDGES], cost[EDGES], edges = tp_test_below(rng, EDGES + 1);
    double x[CELLS], y[CELLS];
    for (uint32_t i = 0; i < edges; i++) {
        from[i] = tp_test_percent(rng, 99) ? tp_test_below(rng, CELLS) : (uint32_t)odd_number(rng);
        to[i] = tp_test_percent(rng, 99) ? tp_test_below(rng, CELLS) : (uint32_t)odd_number(rng);
        cost[i] = tp_test_percent(rng, 99) ? tp_test_between(rng, 1, 9) : (uint32_t)odd_number(rng);
    }
    for (uint32_t i = 0; i < CELLS; i++) {
        x[i] = tp_test_percent(rng, 99) ? i % WIDTH : odd_double(rng);
        y[i] = tp_test_percent(rng, 99) ? i / WIDTH : odd_double(rng);
    }
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    put.map = (char *)odd_name(rng);
    put.has_nodes = put.has_edges = tp_test_percent(rng, 90);
    put.nodes = tp_test_percent(rng, 90) ? CELLS : (uint32_t)odd_number(rng);
    put.edges = tp_test_percent(rng, 90) ? edges : (uint32_t)odd_number(rng);
    put.has_edge_offset = tp_test_percent(rng, 20);
    put.edge_offset = tp_test_percent(rng, 70) ? 0 : (uint32_t)odd_number(rng);
    put.has_node_offset = tp_test_percent(rng, 20);
    put.node_offset = tp_test_percent(rng, 70) ? 0 : (uint32_t)odd_number(rng);
    put.edge_from = from;
    put.edge_to = to;
    put.edge_cost = cost;
    put.n_edge_from = edges;
    put.n_edge_to = tp_test_percent(rng, 95) ? edges : tp_test_below(rng, edges + 1);
    put.n_edge_cost = tp_test_percent(rng, 95) ? edges : tp_test_below(rng, edges + 1);
    put.node_x = x;
    put.node_y = y;
    put.n_node_x = tp_test_percent(rng, 50) ? 0 : tp_test_percent(rng, 80) ? CELLS : tp_test_below(rng, CELLS);
    put.n_node_y = tp_test_percent(rng, 95) ? put.n_node_x : tp_test_below(rng, CELLS);
    put.has_last = put.last = tp_test_percent(rng, 80);
    put.has_replace = put.replace = tp_test_percent(rng, 70);
    add_frame(sequence, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put);
}

static void add_open(struct tp_test_rng *rng, struct sequence *sequence)
{
    static const char *const algorithms[] = {"tba",   "tbwa", "tbgbfs", "astar",       "tbrwa",
                                             "rtbwa", "lss",  "lrta",   "dstarlite", "guided", "nonsense"};
    Tickpath__Budget budget;
    draw_budget(rng, &budget);
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = (char *)odd_name(rng);
    open.has_start = open.has_goal = 1;
    open.start = (uint32_t)odd_number(rng);
    open.goal = (uint32_t)odd_number(rng);
    if (tp_test_percent(rng, 60))
        open.algorithm = (char *)algorithms[tp_test_below(rng, sizeof algorithms / sizeof algorithms[0])];
    open.has_w = tp_test_percent(rng, 30);
    open.w = odd_double(rng);
    if (tp_test_percent(rng, 50))
        open.budget = &budget;
    open.has_neighbours = tp_test_percent(rng, 50);
    open.neighbours = tp_test_percent(rng, 80) ? 4u << tp_test_below(rng, 3) : (uint32_t)odd_number(rng);
    open.has_corners = tp_test_percent(rng, 30);
    open.corners = (Tickpath__Corners)tp_test_below(rng, 5);
    open.has_goal_policy = tp_test_percent(rng, 10);
    open.goal_policy = (Tickpath__GoalPolicy)tp_test_below(rng, 5);
    open.has_knowledge = tp_test_percent(rng, 20);
    open.knowledge = (Tickpath__Knowledge)tp_test_below(rng, 5);
    open.has_restart = tp_test_percent(rng, 20);
    open.restart = (Tickpath__Restart)tp_test_below(rng, 6);
    open.has_open_list = tp_test_percent(rng, 30);
    open.open_list = (Tickpath__OpenList)tp_test_below(rng, 4);
    open.has_shortcut = open.shortcut = tp_test_percent(rng, 10);
    open.has_path_switch = open.path_switch = tp_test_percent(rng, 10);
    open.has_longest_path_rule = open.longest_path_rule = tp_test_percent(rng, 10);
    open.has_priority = tp_test_percent(rng, 20);
    open.priority = tp_test_percent(rng, 80) ? tp_test_between(rng, 1, 255) : (uint32_t)odd_number(rng);
    open.has_guide_units = tp_test_percent(rng, 10);
    open.guide_units = tp_test_percent(rng, 80) ? tp_test_below(rng, 1000) : (uint32_t)odd_number(rng);
    open.has_bounded = open.bounded = tp_test_percent(rng, 20);
    open.has_switch_margin = tp_test_percent(rng, 10);
    open.switch_margin = tp_test_percent(rng, 80) ? tp_test_below(rng, 10001) / 1000.0 : (double)odd_number(rng);
    open.has_pause_on_backtrack = open.pause_on_backtrack = tp_test_percent(rng, 10);
    open.has_node_bytes_max = tp_test_percent(rng, 10);
    open.node_bytes_max = odd_number(rng);
    open.known_map = tp_test_percent(rng, 15) ? open.map : NULL;
    open.has_sensor_radius = tp_test_percent(rng, 10);
    open.sensor_radius = tp_test_below(rng, 11);
    open.has_motion = tp_test_percent(rng, 40);
    open.motion = (Tickpath__Motion)(tp_test_percent(rng, 90) ? TICKPATH__MOTION__INERTIA : (int)tp_test_below(rng, 4));
    open.has_start_vx = open.has_start_vy = tp_test_percent(rng, 15);
    open.start_vx = odd_speed(rng);
    open.start_vy = odd_speed(rng);
    open.has_heuristic = tp_test_percent(rng, 20);
    open.heuristic = (Tickpath__Heuristic)tp_test_below(rng, 8);
    add_frame(sequence, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open);
}

static void add_change(struct tp_test_rng *rng, struct sequence *sequence)
{
    uint32_t cells[8], terrains[8];
    uint8_t bits[32];
    for (int i = 0; i < 8; i++) {
        cells[i] = tp_test_percent(rng, 95) ? tp_test_below(rng, CELLS) : (uint32_t)odd_number(rng);
        terrains[i] = tp_test_percent(rng, 50) ? '@' : '.';
    }
    for (int i = 0; i < 32; i++)
        bits[i] = (uint8_t)tp_test_next(rng);
    Tickpath__Rectangle rectangle = TICKPATH__RECTANGLE__INIT, *rectangles[] = {&rectangle};
    rectangle.has_x = rectangle.has_y = rectangle.has_width = rectangle.has_height = rectangle.has_terrain =
        1;
    rectangle.x = tp_test_below(rng, WIDTH);
    rectangle.y = tp_test_below(rng, HEIGHT);
    rectangle.width = tp_test_percent(rng, 80) ? 1 : (uint32_t)odd_number(rng);
    rectangle.height = tp_test_percent(rng, 80) ? 1 : (uint32_t)odd_number(rng);
    rectangle.terrain = tp_test_percent(rng, 90) ? '.' : (uint32_t)odd_number(rng);
    Tickpath__Bitmap bitmap = TICKPATH__BITMAP__INIT, *bitmaps[] = {&bitmap};
    bitmap.has_width = bitmap.has_height = bitmap.has_bits = bitmap.has_terrain = 1;
    bitmap.width = tp_test_percent(rng, 80) ? WIDTH : (uint32_t)odd_number(rng);
    bitmap.height = tp_test_percent(rng, 80) ? HEIGHT : (uint32_t)odd_number(rng);
    bitmap.bits = (ProtobufCBinaryData){.len = tp_test_below(rng, 33), .data = bits};
    bitmap.terrain = tp_test_percent(rng, 50) ? '@' : '.';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)odd_name(rng);
    change.has_base_version = tp_test_percent(rng, 10);
    change.base_version = odd_number(rng);
    change.has_epoch = tp_test_percent(rng, 5);
    change.epoch = odd_number(rng);
    change.n_cell = tp_test_below(rng, 9);
    change.cell = cells;
    change.n_cell_terrain = tp_test_percent(rng, 90) ? change.n_cell : tp_test_below(rng, 9);
    change.cell_terrain = terrains;
    change.n_rectangle = tp_test_percent(rng, 40);
    change.rectangle = rectangles;
    change.n_bitmap = tp_test_percent(rng, 20);
    change.bitmap = bitmaps;
    add_frame(sequence, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

static void add_tick(struct tp_test_rng *rng, struct sequence *sequence, const uint64_t *known,
                     size_t known_count)
{
    uint64_t sessions[4], at_sessions[4];
    uint32_t at_cells[4];
    int32_t at_vx[4], at_vy[4];
    for (int i = 0; i < 4; i++) {
        sessions[i] = odd_session(rng, known, known_count);
        at_sessions[i] = odd_session(rng, known, known_count);
        at_cells[i] = (uint32_t)odd_number(rng);
        at_vx[i] = tp_test_percent(rng, 50) ? 0 : odd_speed(rng);
        at_vy[i] = tp_test_percent(rng, 50) ? 0 : odd_speed(rng);
    }
    Tickpath__Budget each;
    draw_budget(rng, &each);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = tp_test_percent(rng, 60);
    tick.n_session = tick.all ? 0 : tp_test_below(rng, 5);
    tick.session = sessions;
    if (tp_test_percent(rng, 30))
        tick.each = &each;
    tick.has_total_expansions = tp_test_percent(rng, 20);
    tick.total_expansions = odd_number(rng);
    tick.has_total_guide_units = tp_test_percent(rng, 20);
    tick.total_guide_units = odd_number(rng);
    tick.has_total_us = tp_test_percent(rng, 10);
    tick.total_us = tp_test_below(rng, 1000);
    tick.n_at_session = tp_test_percent(rng, 30) ? tp_test_below(rng, 5) : 0;
    tick.n_at_cell = tp_test_percent(rng, 90) ? tick.n_at_session : tp_test_below(rng, 5);
    tick.at_session = at_sessions;
    tick.at_cell = at_cells;
    tick.n_at_vx = tp_test_percent(rng, 40) ? tick.n_at_session : tp_test_percent(rng, 90) ? 0 : tp_test_below(rng, 5);
    tick.n_at_vy = tp_test_percent(rng, 95) ? tick.n_at_vx : tp_test_below(rng, 5);
    tick.at_vx = at_vx;
    tick.at_vy = at_vy;
    tick.has_min_version = tp_test_percent(rng, 5);
    tick.min_version = odd_number(rng);
    tick.has_epoch = tp_test_percent(rng, 5);
    tick.epoch = odd_number(rng);
    tick.has_want_work = tick.want_work = tp_test_percent(rng, 50);
    tick.has_want_path = tick.want_path = tp_test_percent(rng, 50);
    add_frame(sequence, TICKPATH__REQUEST__BODY_TICK, &tick);
}

static void add_other(struct tp_test_rng *rng, struct sequence *sequence, const uint64_t *known,
                      size_t known_count)
{
    switch (tp_test_below(rng, 7)) {
    case 0: {
        Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
        set.has_session = set.has_goal = 1;
        set.session = odd_session(rng, known, known_count);
        set.goal = (uint32_t)odd_number(rng);
        add_frame(sequence, TICKPATH__REQUEST__BODY_SET_GOAL, &set);
        break;
    }
    case 1: {
        uint64_t sessions[] = {odd_session(rng, known, known_count), odd_session(rng, known, known_count)};
        Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
        close.n_session = tp_test_below(rng, 3);
        close.session = sessions;
        close.has_all = close.all = tp_test_percent(rng, 20);
        add_frame(sequence, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close);
        break;
    }
    case 2: {
        Tickpath__List list = TICKPATH__LIST__INIT;
        list.has_maps = list.has_sessions = list.has_algorithms = 1;
        list.maps = list.sessions = list.algorithms = 1;
        add_frame(sequence, TICKPATH__REQUEST__BODY_LIST, &list);
        break;
    }
    case 3: {
        Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
        open.map = (char *)odd_name(rng);
        open.has_min_version = tp_test_percent(rng, 20);
        open.min_version = odd_number(rng);
        add_frame(sequence, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
        break;
    }
    case 4: {
        Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
        drop.map = (char *)odd_name(rng);
        drop.has_epoch = tp_test_percent(rng, 20);
        drop.epoch = odd_number(rng);
        add_frame(sequence, TICKPATH__REQUEST__BODY_DROP_MAP, &drop);
        break;
    }
    case 5: {
        Tickpath__DumpSession dump = TICKPATH__DUMP_SESSION__INIT;
        dump.has_session = 1;
        dump.session = odd_session(rng, known, known_count);
        dump.has_x = dump.has_y = dump.has_width = dump.has_height = tp_test_percent(rng, 50);
        dump.x = (uint32_t)odd_number(rng);
        dump.y = (uint32_t)odd_number(rng);
        dump.width = (uint32_t)odd_number(rng);
        dump.height = (uint32_t)odd_number(rng);
        dump.has_cursor = tp_test_percent(rng, 30);
        dump.cursor = odd_number(rng);
        dump.has_limit = tp_test_percent(rng, 30);
        dump.limit = (uint32_t)odd_number(rng);
        add_frame(sequence, TICKPATH__REQUEST__BODY_DUMP_SESSION, &dump);
        break;
    }
    default:
        if (tp_test_percent(rng, 20))
            add_hello(sequence); /* a second one */
        else
            add_frame(sequence, TICKPATH__REQUEST__BODY__NOT_SET, NULL);
    }
}

static void draw_sequence(struct tp_test_rng *rng, struct sequence *sequence, const uint64_t *known,
                          size_t known_count)
{
    sequence->size = sequence->count = 0;
    uint32_t frames = tp_test_between(rng, 1, FRAMES_MAX - 2);
    for (uint32_t i = 0; i < frames; i++) {
        uint32_t kind = tp_test_below(rng, 100);
        if (kind < 6)
            add_put(rng, sequence);
        else if (kind < 10)
            add_put_graph(rng, sequence);
        else if (kind < 30)
            add_open(rng, sequence);
        else if (kind < 50)
            add_change(rng, sequence);
        else if (kind < 85)
            add_tick(rng, sequence, known, known_count);
        else
            add_other(rng, sequence, known, known_count);
    }
}

/* ---- Mutations of the bytes ---- */

static void mutate(struct tp_test_rng *rng, struct sequence *sequence)
{
    uint32_t times = 1 + tp_test_below(rng, 4);
    for (uint32_t i = 0; i < times && sequence->size > 8; i++) {
        uint8_t *bytes = sequence->bytes;
        size_t at = tp_test_below(rng, (uint32_t)sequence->size);
        size_t length = 1 + tp_test_below(rng, 8);
        if (length > sequence->size - at)
            length = sequence->size - at;
        size_t frame = tp_test_below(rng, (uint32_t)sequence->count);
        switch (tp_test_below(rng, 7)) {
        case 0: /* a bit */
            bytes[at] ^= (uint8_t)(1u << tp_test_below(rng, 8));
            break;
        case 1: /* random bytes over what stands */
            for (size_t b = 0; b < length; b++)
                bytes[at + b] = (uint8_t)tp_test_next(rng);
            break;
        case 2: /* bytes out */
            memmove(bytes + at, bytes + at + length, sequence->size - at - length);
            sequence->size -= length;
            break;
        case 3: /* bytes in */
            if (sequence->size + length > SEQUENCE_ROOM)
                break;
            memmove(bytes + at + length, bytes + at, sequence->size - at);
            for (size_t b = 0; b < length; b++)
                bytes[at + b] = (uint8_t)tp_test_next(rng);
            sequence->size += length;
            break;
        case 4: /* the length of a frame */
            if (sequence->begins[frame] < sequence->size)
                bytes[sequence->begins[frame]] = (uint8_t)tp_test_next(rng);
            break;
        case 5: /* cut off */
            sequence->size = at;
            break;
        default: /* one stretch over another */
            memmove(bytes + tp_test_below(rng, (uint32_t)(sequence->size - length + 1)), bytes + at, length);
        }
    }
}

/* ---- Throwing it ---- */

struct tally {
    uint64_t frames, errors, closed_by_daemon;
};

/* Notes the ids of sessions that were opened, for the connection's next sequence. */
static void note(const Tickpath__Reply *reply, struct tally *tally, uint64_t known[64], size_t *known_count)
{
    tally->frames++;
    tally->errors += reply->body_case == TICKPATH__REPLY__BODY_ERROR;
    if (reply->body_case == TICKPATH__REPLY__BODY_SESSION_OPENED && *known_count < 64)
        known[(*known_count)++] = reply->session_opened->session;
    if (reply->body_case == TICKPATH__REPLY__BODY_TICKED) {
        const Tickpath__Ticked *ticked = reply->ticked;
        ck_assert_uint_eq(ticked->n_cell, ticked->n_session);
        ck_assert_uint_eq(ticked->n_status, ticked->n_session);
        ck_assert_uint_eq(ticked->n_flags, ticked->n_session);
        for (size_t i = 0; i < ticked->n_status; i++)
            ck_assert(ticked->status[i] >= TICKPATH__STATUS__MOVING &&
                      ticked->status[i] <= TICKPATH__STATUS__UNREACHABLE);
    }
}

/* Sends in pieces while reading what comes; false once the daemon has closed. */
static bool throw_at(struct tp_test_rng *rng, struct wire *wire, const struct sequence *sequence,
                     struct tally *tally, uint64_t known[64], size_t *known_count)
{
    for (size_t sent = 0; sent < sequence->size;) {
        size_t piece = tp_test_percent(rng, 50) ? sequence->size - sent : 1 + tp_test_below(rng, 64);
        if (piece > sequence->size - sent)
            piece = sequence->size - sent;
        ssize_t now = send(wire->fd, sequence->bytes + sent, piece, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (now > 0)
            sent += (size_t)now;
        else if (errno != EAGAIN)
            return false;
        Tickpath__Reply *reply;
        enum wire_got got;
        while ((got = wire_poll(wire, &reply, now > 0 ? 0 : 1)) == WIRE_GOT_FRAME) {
            note(reply, tally, known, known_count);
            wire_reply_free(reply);
        }
        if (got == WIRE_GOT_CLOSE)
            return false;
    }
    return true;
}

/* Reads to the end of the connection; the sending side is shut first, so the end comes. */
static void drain(struct wire *wire, struct tally *tally)
{
    uint64_t known[64];
    size_t known_count = 0;
    shutdown(wire->fd, SHUT_WR);
    Tickpath__Reply *reply;
    enum wire_got got;
    while ((got = wire_poll(wire, &reply, WIRE_TIMEOUT_MS)) == WIRE_GOT_FRAME) {
        note(reply, tally, known, &known_count);
        wire_reply_free(reply);
    }
    ck_assert_msg(got == WIRE_GOT_CLOSE, "the daemon did not end a connection that the client had ended");
}

static void iterate(uint64_t i, struct sequence *sequence, struct tally *tally)
{
    struct tp_test_rng rng = {tp_test_seed() ^ (i + 1) * 0x9e3779b97f4a7c15u};
    uint64_t known[64];
    size_t known_count = 0;
    struct wire wire;
    wire_open(&wire, daemon_.port);
    bool is_open = true;
    if (tp_test_percent(&rng, 97)) {
        sequence->size = sequence->count = 0;
        add_hello(sequence);
        is_open = throw_at(&rng, &wire, sequence, tally, known, &known_count);
    }
    /* first as it is, so that there are maps and sessions to be confused about; then mutated */
    draw_sequence(&rng, sequence, known, known_count);
    is_open = is_open && throw_at(&rng, &wire, sequence, tally, known, &known_count);
    uint32_t more = tp_test_below(&rng, 3);
    for (uint32_t m = 0; m < more && is_open; m++) {
        draw_sequence(&rng, sequence, known, known_count);
        mutate(&rng, sequence);
        is_open = throw_at(&rng, &wire, sequence, tally, known, &known_count);
    }
    tally->closed_by_daemon += !is_open;
    if (is_open && tp_test_percent(&rng, 80))
        drain(&wire, tally);
    else if (tp_test_percent(&rng, 50)) /* a reset */
        setsockopt(wire.fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    wire_close(&wire);
}

static void expect_healthy(uint64_t i)
{
    if (!wire_daemon_alive(&daemon_))
        ck_abort_msg("the daemon died at or before iteration %llu; TICKPATH_FUZZ_FIRST=%llu begins near it",
                     (unsigned long long)i, (unsigned long long)(i > HEALTH_EVERY ? i - HEALTH_EVERY : 0));
    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    if (i == 0)
        wire_put_free_map(&wire, "healthy", 4, 1);
    uint64_t session = wire_open_session(&wire, "healthy", 0, 3, NULL, 10);
    Tickpath__Reply *reply = wire_tick(&wire, session);
    ck_assert_uint_eq(reply->ticked->cell[0], 1);
    wire_reply_free(reply);
    wire_close(&wire);
}

START_TEST(test_fuzz_frames)
{
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", "--log-level", "error", NULL);
    struct sequence sequence = {.bytes = malloc(SEQUENCE_ROOM)};
    struct tally tally = {0};
    const char *first_text = getenv("TICKPATH_FUZZ_FIRST");
    uint64_t first = first_text ? strtoull(first_text, NULL, 10) : 0;
    uint64_t steps = tp_test_steps(1500, 60000);
    expect_healthy(0);
    for (uint64_t i = first; i < first + steps; i++) {
        iterate(i, &sequence, &tally);
        if (i % HEALTH_EVERY == 0 && i > 0)
            expect_healthy(i);
    }
    expect_healthy(first + steps);
    printf("%llu iterations: %llu replies, %llu of them errors; %llu connections closed by the daemon\n",
           (unsigned long long)steps, (unsigned long long)tally.frames, (unsigned long long)tally.errors,
           (unsigned long long)tally.closed_by_daemon);
    /* the fuzzer reaches what it is meant to reach: neither all refused nor nothing */
    ck_assert_uint_gt(tally.frames, steps);
    ck_assert_uint_gt(tally.errors, steps / 2);
    ck_assert_uint_lt(tally.errors, tally.frames);
    ck_assert_uint_gt(tally.closed_by_daemon, 0);
    free(sequence.bytes);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}
END_TEST

static Suite *fuzz_frames_suite(void)
{
    Suite *suite = suite_create("fuzz_frames");
    TCase *cases = tcase_create("fuzz_frames");
    tcase_add_test(cases, test_fuzz_frames);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_fuzz_frames", fuzz_frames_suite);
}
