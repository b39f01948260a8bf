/* The daemon's parts that have no socket in them, driven directly: frames, codecs of the store, the scheduler
 * on a virtual clock, and the world with a store that answers late and fails at will. */
#include "daemon/bytes.h"
#include "daemon/frame.h"
#include "daemon/log.h"
#include "daemon/maplog.h"
#include "daemon/scheduler.h"
#include "daemon/snapshot.h"
#include "daemon/world.h"
#include "tests/lib/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static struct tp_profile profile_;

static struct tp_map *free_map(uint32_t width, uint32_t height, uint64_t epoch)
{
    uint8_t *cells = malloc((size_t)width * height);
    memset(cells, '.', (size_t)width * height);
    struct tp_map *map;
    tp_profile_init_movingai(&profile_);
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile_, epoch), 0);
    free(cells);
    return map;
}

static bool same_cells(const struct tp_map *a, const struct tp_map *b)
{
    for (uint32_t y = 0; y < a->height; y++)
        for (uint32_t x = 0; x < a->width; x++)
            if (tp_map_class(a, x, y) != tp_map_class(b, x, y))
                return false;
    return a->width == b->width && a->height == b->height;
}

/* ---- Frames ---- */

/* What the buffer writes the decoder reads, cut in any way, with and without keeping. */
START_TEST(test_frames_round_trip)
{
    struct tp_test_rng rng = tp_test_rng("frames");
    for (uint64_t round = 0; round < tp_test_steps(300, 20000); round++) {
        struct tp_frame_buffer out = {0};
        uint32_t count = tp_test_below(&rng, 20);
        uint32_t sizes[20];
        for (uint32_t i = 0; i < count; i++) {
            sizes[i] = tp_test_percent(&rng, 70) ? tp_test_below(&rng, 200) : tp_test_below(&rng, 40000);
            uint8_t *payload = tp_frame_buffer_add(&out, sizes[i]);
            ck_assert_ptr_nonnull(payload);
            memset(payload, (int)i, sizes[i]);
        }
        struct tp_frame_decoder in;
        tp_frame_decoder_init(&in, 40000);
        uint32_t got = 0;
        for (size_t at = 0; at < out.size;) {
            size_t piece = 1 + tp_test_below(&rng, tp_test_percent(&rng, 50) ? 10 : 30000);
            piece = piece < out.size - at ? piece : out.size - at;
            uint8_t *lent = malloc(piece); /* exactly as long as the piece: a read beyond it is seen */
            memcpy(lent, out.bytes + at, piece);
            ck_assert_int_eq(tp_frame_decoder_push(&in, lent, piece), 0);
            at += piece;
            const uint8_t *payload;
            size_t size;
            while (tp_frame_decoder_next(&in, &payload, &size) == 1) {
                if (size != sizes[got] || (size > 0 && (payload[0] != got || payload[size - 1] != got)))
                    ck_abort_msg("frame %u of %u came out wrong", got, count);
                got++;
                tp_frame_decoder_skip(&in);
                if (tp_test_percent(&rng, 10))
                    break; /* the rest waits for the next round */
            }
            ck_assert_int_eq(tp_frame_decoder_keep(&in), 0);
            free(lent);
        }
        const uint8_t *payload;
        size_t size;
        while (tp_frame_decoder_next(&in, &payload, &size) == 1) {
            ck_assert_uint_eq(size, sizes[got]);
            got++;
            tp_frame_decoder_skip(&in);
        }
        ck_assert_uint_eq(got, count);
        ck_assert_uint_eq(tp_frame_decoder_held(&in), 0);
        tp_frame_decoder_fini(&in);
        tp_frame_buffer_fini(&out);
    }
}
END_TEST

START_TEST(test_frame_limits)
{
    const struct {
        const char *bytes;
        size_t size;
        int result;
    } cases[] = {
        {"\xe7\x07", 2, 0},                      /* 999: allowed, more is needed */
        {"\xe9\x07", 2, TP_ERR_FRAME_TOO_LARGE}, /* 1001 */
        {"\xff\xff\xff\xff\x0f", 5, TP_ERR_FRAME_TOO_LARGE},
        {"\xff\xff\xff\xff\xff", 5, TP_ERR_MALFORMED_FRAME},
        {"\xff\xff\xff\xff", 4, 0},
        {"\x80\x80\x80\x80\x00", 5, 1}, /* 0, said at length */
        {"\x00", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tp_frame_decoder in;
        tp_frame_decoder_init(&in, 1000);
        ck_assert_int_eq(tp_frame_decoder_push(&in, cases[i].bytes, cases[i].size), 0);
        const uint8_t *payload;
        size_t size;
        ck_assert_int_eq(tp_frame_decoder_next(&in, &payload, &size), cases[i].result);
        ck_assert_int_eq(tp_frame_decoder_next(&in, &payload, &size), cases[i].result);
        ck_assert_int_eq(tp_frame_decoder_keep(&in), 0);
        ck_assert_uint_le(in.capacity, 4096); /* nothing was allocated for what was only claimed */
        tp_frame_decoder_fini(&in);
    }
}
END_TEST

/* ---- Snapshots and logs ---- */

enum { CHANGES_MAX = 12, BITS_MAX = 64 };

/* A random batch for a map of this size; some changes lie outside when `bad`. */
static size_t random_batch(struct tp_test_rng *rng, struct tp_change *changes, uint8_t *bits, uint32_t width,
                           uint32_t height, bool bad)
{
    size_t count = tp_test_below(rng, CHANGES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct tp_change *change = &changes[i];
        uint32_t x = tp_test_below(rng, width), y = tp_test_below(rng, height);
        *change =
            (struct tp_change){.kind = (enum tp_change_kind)tp_test_below(rng, 3),
                               .class_to = tp_test_percent(rng, 50) ? '.' : (uint8_t)tp_test_below(rng, 256),
                               .x = x,
                               .y = y};
        if (change->kind != TP_CHANGE_CELL) {
            change->width = 1 + tp_test_below(rng, width - x < 8 ? width - x : 8);
            change->height = 1 + tp_test_below(rng, height - y < 8 ? height - y : 8);
        }
        if (change->kind == TP_CHANGE_BITMAP) {
            change->bits_size = (change->width * change->height + 7) / 8;
            change->bits = bits + i * BITS_MAX;
            for (size_t b = 0; b < change->bits_size; b++)
                bits[i * BITS_MAX + b] = (uint8_t)tp_test_next(rng);
        }
        if (bad && tp_test_percent(rng, 20))
            change->x += width;
    }
    return count;
}

/* A snapshot of a graph gives back the same graph, edge by edge; damaged, of another kind or of a layout to come, it is
 * refused. */
START_TEST(test_graph_snapshots)
{
    struct tp_test_rng rng = tp_test_rng("graph snapshots");
    uint64_t rounds = tp_test_steps(60, 3000);
    for (uint64_t round = 0; round < rounds; round++) {
        enum { NODES_MAX = 40, EDGES_MAX = 200 };
        struct tp_graph_edge edges[EDGES_MAX];
        double x[NODES_MAX], y[NODES_MAX];
        uint32_t nodes = tp_test_between(&rng, 1, NODES_MAX), count = tp_test_below(&rng, EDGES_MAX + 1);
        bool placed = tp_test_percent(&rng, 50);
        for (uint32_t e = 0; e < count; e++)
            edges[e] = (struct tp_graph_edge){tp_test_below(&rng, nodes), tp_test_below(&rng, nodes),
                                              tp_test_percent(&rng, 90) ? tp_test_between(&rng, 1, 1000) : UINT32_MAX};
        for (uint32_t i = 0; i < nodes; i++) {
            x[i] = (double)tp_test_below(&rng, 1000) / 7 - 50;
            y[i] = tp_test_percent(&rng, 10) ? -1e15 : (double)tp_test_below(&rng, 1000) / 3;
        }
        const struct tp_graph *graph;
        size_t bad;
        ck_assert_int_eq(tp_graph_build(&graph, nodes, edges, count, placed ? x : NULL, placed ? y : NULL, &bad), 0);
        struct tp_map *map, *got;
        ck_assert_int_eq(tp_map_build_graph(&map, graph, 77 + round, 5), 0);
        uint8_t *snapshot;
        size_t size;
        const char *reason;
        ck_assert_int_eq(tp_snapshot_encode(map, &snapshot, &size), 0);
        ck_assert_int_eq(tp_snapshot_decode(&got, snapshot, size, &reason), 0);
        ck_assert_uint_eq(got->epoch, 77 + round);
        ck_assert_uint_eq(got->version, 5);
        const struct tp_graph *back = got->graph;
        ck_assert_ptr_nonnull(back);
        ck_assert_uint_eq(back->nodes, nodes);
        ck_assert_uint_eq(back->edges, count);
        ck_assert_int_eq(back->x != NULL, placed);
        ck_assert_mem_eq(back->out_first, graph->out_first, (nodes + 1) * sizeof *back->out_first);
        for (uint32_t node = 0; node < nodes; node++)
            ck_assert_mem_eq(tp_graph_out(back, node), tp_graph_out(graph, node),
                             (graph->out_first[node + 1] - graph->out_first[node]) * sizeof(struct tp_graph_out));
        ck_assert_mem_eq(back->edge_at, graph->edge_at, count * sizeof *back->edge_at);
        if (placed) {
            ck_assert_mem_eq(back->x, x, nodes * sizeof *x);
            ck_assert_mem_eq(back->y, y, nodes * sizeof *y);
        }
        tp_map_unref(got);
        for (int i = 0; i < 40; i++) {
            uint8_t *bytes = malloc(size);
            size_t cut = tp_test_percent(&rng, 30) ? tp_test_below(&rng, (uint32_t)size) : size;
            memcpy(bytes, snapshot, size);
            if (cut == size)
                bytes[tp_test_below(&rng, (uint32_t)size)] ^= (uint8_t)(1u << tp_test_below(&rng, 8));
            reason = NULL;
            ck_assert_int_eq(tp_snapshot_decode(&got, bytes, cut, &reason), TP_ERR_CORRUPT);
            ck_assert_ptr_nonnull(reason);
            ck_assert_ptr_null(got);
            free(bytes);
        }
        /* well written, and not for this version: byte, value, words */
        const struct {
            size_t at;
            uint8_t value;
            const char *words;
        } others[] = {{7, 9, "layout of another version"}, {7, 0, "layout of another version"},
                      {8, 1, "kind"},                      {8, 3, "kind"},
                      {9, 4, "kind"},                      {9, !placed, "size"},
                      {15, 0xff, "size"},                  {35, 0xff, "size"},
                      {40, 0xff, "length"}};
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            uint8_t *bytes = malloc(size);
            memcpy(bytes, snapshot, size);
            if (bytes[others[i].at] != others[i].value) {
                bytes[others[i].at] = others[i].value;
                tp_put_u64(bytes + size - 8, XXH3_64bits(bytes, size - 8));
                reason = "";
                ck_assert_int_eq(tp_snapshot_decode(&got, bytes, size, &reason), TP_ERR_CORRUPT);
                ck_assert_msg(strstr(reason, others[i].words) != NULL, "byte %zu: %s", others[i].at, reason);
            }
            free(bytes);
        }
        free(snapshot);
        tp_map_unref(map);
        tp_graph_unref(graph);
    }
}
END_TEST

/* A snapshot and a log of random batches give back the very same version; damaged, they give an error or an
 * older version that was one, never another map. */
START_TEST(test_codecs)
{
    struct tp_test_rng rng = tp_test_rng("codecs");
    for (uint64_t round = 0; round < tp_test_steps(60, 3000); round++) {
        uint32_t width = 1 + tp_test_below(&rng, 150), height = 1 + tp_test_below(&rng, 150);
        struct tp_map *first = free_map(width, height, 77 + round);
        enum { RECORDS = 6 };
        struct tp_map *versions[1 + 3 * RECORDS] = {first};
        size_t made = 1, log_size = TP_MAPLOG_HEADER_BYTES, ends[RECORDS + 1] = {TP_MAPLOG_HEADER_BYTES};
        size_t versions_at[RECORDS + 1] = {1};
        uint8_t *log = malloc(1 << 20);
        tp_maplog_header(log, first->epoch, first->version);
        for (int r = 0; r < RECORDS; r++) {
            uint32_t batches = 1 + tp_test_below(&rng, 3);
            struct tp_maplog_batch parts[3];
            for (uint32_t b = 0; b < batches; b++) {
                struct tp_change changes[CHANGES_MAX];
                uint8_t bits[CHANGES_MAX * BITS_MAX];
                size_t count = random_batch(&rng, changes, bits, width, height, false), bad;
                uint32_t x, y;
                ck_assert_int_eq(
                    tp_map_apply(&versions[made], versions[made - 1], changes, count, &bad, &x, &y), 0);
                made++;
                uint8_t *bytes;
                ck_assert_int_eq(tp_batch_encode(changes, count, &bytes, &parts[b].size), 0);
                parts[b].bytes = bytes;
            }
            uint8_t *record;
            size_t size;
            ck_assert_int_eq(
                tp_maplog_record(&record, &size, parts, batches, versions[made - batches]->version), 0);
            memcpy(log + log_size, record, size);
            log_size += size;
            free(record);
            for (uint32_t b = 0; b < batches; b++)
                free((void *)parts[b].bytes);
            ends[r + 1] = log_size;
            versions_at[r + 1] = made;
        }
        uint8_t *snapshot;
        size_t snapshot_size;
        ck_assert_int_eq(tp_snapshot_encode(first, &snapshot, &snapshot_size), 0);

        for (int damage = 0; damage < 12; damage++) {
            uint8_t *bytes = malloc(log_size + 64);
            size_t size = log_size;
            memcpy(bytes, log, log_size);
            uint32_t kind = damage == 0 ? 0 : 1 + tp_test_below(&rng, 3);
            if (kind == 1) /* cut anywhere */
                size = tp_test_below(&rng, (uint32_t)log_size);
            if (kind == 2) /* a bit flipped anywhere */
                bytes[tp_test_below(&rng, (uint32_t)log_size)] ^= (uint8_t)(1u << tp_test_below(&rng, 8));
            if (kind == 3) { /* cut, and grown with nothing */
                size_t cut = tp_test_below(&rng, (uint32_t)log_size);
                memset(bytes + cut, 0, log_size + 64 - cut);
                size = cut + tp_test_below(&rng, 64);
            }
            struct tp_map *map;
            const char *reason;
            ck_assert_int_eq(tp_snapshot_decode(&map, snapshot, snapshot_size, &reason), 0);
            ck_assert_uint_eq(map->epoch, first->epoch);
            struct tp_maplog_replay replay;
            int error = tp_maplog_apply(&map, NULL, bytes, size, &replay, &reason);
            ck_assert(error == 0 || error == TP_ERR_CORRUPT);
            if (error == 0) {
                if (map->version > made || !same_cells(map, versions[map->version - 1]))
                    ck_abort_msg("version %llu came out wrong", (unsigned long long)map->version);
                ck_assert_uint_eq(replay.batches, map->version - 1);
            }
            if (kind == 0) {
                ck_assert_int_eq(error, 0);
                ck_assert_uint_eq(map->version, made);
                ck_assert_uint_eq(replay.good_bytes, log_size);
            }
            if (kind == 1 || kind == 3) { /* every record that is whole is there */
                ck_assert_int_eq(error, 0);
                size_t whole = 0;
                while (whole < RECORDS && ends[whole + 1] <= size && memcmp(bytes, log, ends[whole + 1]) == 0)
                    whole++;
                ck_assert_uint_eq(map->version, versions_at[whole]);
            }
            tp_map_unref(map);
            free(bytes);
        }
        for (int damage = 0; damage < 6; damage++) {
            uint8_t *bytes = malloc(snapshot_size);
            memcpy(bytes, snapshot, snapshot_size);
            size_t size = snapshot_size;
            if (damage % 2)
                size = tp_test_below(&rng, (uint32_t)snapshot_size);
            else
                bytes[tp_test_below(&rng, (uint32_t)snapshot_size)] ^=
                    (uint8_t)(1u << tp_test_below(&rng, 8));
            struct tp_map *map;
            const char *reason;
            ck_assert_int_eq(tp_snapshot_decode(&map, bytes, size, &reason), TP_ERR_CORRUPT);
            ck_assert_ptr_null(map);
            ck_assert_ptr_nonnull(reason);
            free(bytes);
        }
        free(snapshot);
        free(log);
        for (size_t i = 0; i < made; i++)
            tp_map_unref(versions[i]);
    }
}
END_TEST

/* ---- Scheduler ---- */

static uint64_t virtual_us_, tick_us_;

/* Every look at the clock costs a little. */
static uint64_t virtual_now(void *context)
{
    (void)context;
    return virtual_us_ += tick_us_;
}

/* On a clock of our own the shared time ends where it must: the first sessions get it, the rest is starved.
 */
START_TEST(test_scheduler_time)
{
    enum { SIDE = 100, AGENTS = 10 };
    struct tp_map *map = free_map(SIDE, SIDE, 1);
    const struct tp_map *current[1] = {map};
    struct tp_world_map of = {.name = "m", .slot = 0};
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    struct tp_closing closing;
    struct tp_sessions sessions;
    tp_closing_init(&closing);
    tp_sessions_init(&sessions, &closing, AGENTS, 42);
    uint64_t ids[AGENTS];
    for (uint32_t i = 0; i < AGENTS; i++) {
        struct tp_session_params params;
        struct tp_session *session;
        struct tp_refusal refusal;
        tp_session_params_init(&params);
        params.start = i;
        params.goal = SIDE * SIDE - 1;
        ck_assert_int_eq(tp_session_open(&session, &params, map, &pool, &refusal), 0);
        ck_assert(tp_world_enter(&of));
        uint32_t slot;
        struct tp_agent_budget budget = {.kind = TP_BUDGET_K, .expansions = 64, .c = 10};
        ck_assert_int_eq(tp_sessions_add(&sessions, session, &of, &budget, &slot), 0);
        ids[i] = tp_sessions_id(&sessions, slot);
    }
    ck_assert_int_eq(atomic_load(&of.sessions), AGENTS);
    uint32_t slots[AGENTS];
    struct tp_tick_reply replies[AGENTS];
    struct tp_schedule_refused refused[AGENTS];
    struct tp_schedule schedule = {.sessions = &sessions,
                                   .current = current,
                                   .ids = ids,
                                   .id_count = AGENTS,
                                   .total_us = 30,
                                   .tick = 1,
                                   .clock = {virtual_now, NULL},
                                   .capacity = AGENTS,
                                   .slots = slots,
                                   .replies = replies,
                                   .refused = refused};
    struct tp_refusal refusal = {0};
    tick_us_ = 1; /* a look every TP_DEADLINE_STRIDE expansions: 160 of them take some 10 us */
    ck_assert_int_eq(tp_schedule_serve(&schedule, &refusal), 0);
    ck_assert_uint_eq(schedule.served, AGENTS);
    ck_assert_uint_eq(replies[0].work.expansions, 64); /* its own k caps it before the time does */
    uint64_t sum = 0;
    for (size_t i = 0; i < AGENTS; i++) {
        ck_assert_uint_le(replies[i].work.expansions, 64);
        sum += replies[i].work.expansions;
    }
    ck_assert_uint_le(sum, 31 * TP_DEADLINE_STRIDE);
    ck_assert_uint_eq(replies[AGENTS - 1].work.expansions, 0);
    uint32_t without = 0;
    for (size_t i = 0; i < AGENTS; i++)
        without += replies[i].work.expansions == 0;
    ck_assert_uint_ge(schedule.starved, 3);
    ck_assert_uint_le(schedule.starved, without);
    ck_assert_uint_eq(schedule.expansions, sum);

    schedule.min_version = 2; /* refused: nothing moves */
    schedule.tick = 2;
    uint32_t before[AGENTS];
    for (size_t i = 0; i < AGENTS; i++)
        before[i] = tp_session_cell(sessions.agents[slots[i]].session);
    ck_assert_int_eq(tp_schedule_serve(&schedule, &refusal), TP_ERR_MAP_NOT_READY);
    ck_assert_str_eq(refusal.field, "min_version");
    for (size_t i = 0; i < AGENTS; i++)
        ck_assert_uint_eq(before[i], tp_session_cell(sessions.agents[slots[i]].session));
    tp_sessions_close(&sessions, tp_sessions_find(&sessions, ids[3])); /* gone at once; its memory later */
    ck_assert_uint_eq(tp_sessions_find(&sessions, ids[3]), TP_AGENT_NONE);
    ck_assert_uint_eq(tp_sessions_fini(&sessions), AGENTS - 1);
    ck_assert_int_eq(atomic_load(&of.sessions), 0);
    ck_assert_uint_eq(closing.count, AGENTS);
    ck_assert_uint_gt(pool.used_bytes, 0);
    struct tp_clock clock = {virtual_now, NULL};
    ck_assert_uint_eq(tp_closing_free(&closing, &clock, 0), 1); /* one at the least */
    ck_assert_uint_eq(tp_closing_free(&closing, &clock, 3 * tick_us_), 3);
    tp_closing_fini(&closing);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    tp_map_unref(map);
}
END_TEST

/* ---- The world ---- */

enum { SHARDS = 3, MAPS = 4, SIDE = 12 };

/* A store that keeps what it is given for later, then says yes or no, as stores do: in order, and without
 * gaps. */
struct late_store {
    struct tp_store store;
    struct late_call {
        bool is_put;
        char name[TP_WORLD_NAME_MAX + 1];
        const struct tp_map *map;
        tp_store_done_cb done;
        void *context;
    } calls[64];
    size_t count;
    int takes;      /* what put and append give: 0, or TP_ERR_NO_MEMORY and nothing is taken */
    int load_error; /* what loads complete with; 0: what is kept */
    struct {
        char name[TP_WORLD_NAME_MAX + 1];
        const struct tp_map *map;
    } kept[MAPS];
};

static struct late_store store_;
static struct tp_world *world_;
static struct tp_mailbox world_box_, shard_box_[SHARDS];
static struct tp_metrics *metrics_;
static uint64_t epoch_us_;

static int late_put(struct tp_store *store, const char *name, const struct tp_map *map, tp_store_done_cb done,
                    void *context)
{
    (void)store;
    if (store_.takes != 0)
        return store_.takes;
    struct late_call *call = &store_.calls[store_.count++];
    *call = (struct late_call){.is_put = true, .map = tp_map_ref(map), .done = done, .context = context};
    strcpy(call->name, name);
    return 0;
}

static int late_append(struct tp_store *store, const char *name, const struct tp_map *after,
                       const void *batch, size_t batch_bytes, tp_store_done_cb done, void *context)
{
    struct tp_change *changes;
    size_t count;
    ck_assert_int_eq(tp_batch_decode(batch, batch_bytes, &changes, &count), 0);
    free(changes);
    int error = late_put(store, name, after, done, context);
    if (error == 0)
        store_.calls[store_.count - 1].is_put = false;
    return error;
}

static size_t kept_at(const char *name)
{
    size_t i = 0;
    while (store_.kept[i].name[0] != '\0' && strcmp(store_.kept[i].name, name) != 0)
        i++;
    return i;
}

static void late_load(struct tp_store *store, const char *name, tp_store_loaded_cb loaded, void *context)
{
    (void)store;
    const struct tp_map *map = store_.kept[kept_at(name)].map;
    if (store_.load_error != 0)
        loaded(store_.load_error, NULL, NULL, NULL, context);
    else if (map == NULL)
        loaded(TP_ERR_NOT_FOUND, NULL, NULL, NULL, context);
    else
        loaded(0, (struct tp_map *)tp_map_ref(map), NULL, NULL, context);
}

static void late_list(struct tp_store *store, tp_store_listed_cb listed, void *context)
{
    (void)store;
    listed(0, NULL, 0, context);
}

static const struct tp_store_ops late_ops = {
    .name = "late", .put = late_put, .append = late_append, .load = late_load, .list = late_list};

/* Completes the oldest call. */
static void late_answer(bool succeeds)
{
    struct late_call call = store_.calls[0];
    memmove(store_.calls, store_.calls + 1, --store_.count * sizeof call);
    size_t at = kept_at(call.name);
    const struct tp_map *held = store_.kept[at].map;
    if (!call.is_put)
        succeeds = succeeds && held != NULL && held->epoch == call.map->epoch &&
                   held->version + 1 == call.map->version;
    if (succeeds) {
        strcpy(store_.kept[at].name, call.name);
        store_.kept[at].map = call.map;
        tp_map_unref(held);
    } else {
        tp_map_unref(call.map);
    }
    call.done(succeeds ? 0 : TP_ERR_UNAVAILABLE, call.context);
}

static void post_self(void *context, struct tp_mail *mail)
{
    (void)context;
    tp_mailbox_push(&world_box_, mail);
}

static void post_shard(void *context, unsigned shard, struct tp_mail *mail)
{
    (void)context;
    tp_mailbox_push(&shard_box_[shard], mail);
}

static uint64_t epoch_now(void *context)
{
    (void)context;
    return ++epoch_us_;
}

static void run_world(void)
{
    for (struct tp_mail *mail; (mail = tp_mailbox_take(&world_box_)) != NULL;)
        while (mail != NULL) {
            struct tp_mail *next = mail->next;
            tp_world_handle(world_, mail);
            mail = next;
        }
}

/* What each shard has, and what an outsider knows from answers alone. */
static const struct tp_map *shard_map_[SHARDS][MAPS];
static struct {
    uint64_t epoch, version; /* newest that was acknowledged */
    struct {
        uint64_t epoch, version;
    } all[1000]; /* every version that was acknowledged, in no order: shards are looked at in no order */
    size_t count;
} acknowledged_[MAPS];
static uint64_t asked_, granted_, refused_;

/* What the answers to batches with keys said: every batch of a key is one version, and one of them made it. */
enum { KEYS = 12 };
static struct {
    uint64_t epoch, version;
    uint32_t made; /* answers that said to have made it */
} keyed_[MAPS][KEYS];
static uint64_t repeated_;

static void take_keyed(const struct tp_world_request *request, int m)
{
    if (request->op != TP_WORLD_CHANGE || !tp_key_is_set(&request->key)) {
        ck_assert(!request->applied_before);
        return;
    }
    uint8_t k = request->key.bytes[0];
    if (request->epoch < keyed_[m][k].epoch)
        return; /* of a life before the one that was heard of */
    if (request->epoch > keyed_[m][k].epoch) {
        keyed_[m][k].epoch = request->epoch;
        keyed_[m][k].version = request->version;
        keyed_[m][k].made = 0;
    }
    ck_assert_uint_eq(request->version, keyed_[m][k].version);
    keyed_[m][k].made += !request->applied_before;
    ck_assert_uint_le(keyed_[m][k].made, 1);
    repeated_ += request->applied_before;
}

static int map_index(const char *name)
{
    return name[1] - '0';
}

static void take_answer(unsigned shard, struct tp_world_request *request)
{
    int m = map_index(request->name);
    if (request->refusal.error != 0) {
        refused_++;
        ck_assert(request->refusal.words[0] != '\0');
    } else {
        granted_++;
        take_keyed(request, m);
        const struct tp_map *here = shard_map_[shard][m];
        ck_assert_ptr_nonnull(here); /* its own shard has the version, or a newer one, before the answer */
        ck_assert(here->epoch > request->epoch ||
                  (here->epoch == request->epoch && here->version >= request->version));
        if (request->op != TP_WORLD_OPEN && !request->applied_before) {
            size_t n = acknowledged_[m].count++;
            acknowledged_[m].all[n].epoch = request->epoch;
            acknowledged_[m].all[n].version = request->version;
            bool is_newest =
                request->epoch > acknowledged_[m].epoch ||
                (request->epoch == acknowledged_[m].epoch && request->version > acknowledged_[m].version);
            if (is_newest) {
                acknowledged_[m].epoch = request->epoch;
                acknowledged_[m].version = request->version;
            }
        }
    }
    tp_world_request_free(request);
}

static void run_shard(unsigned shard)
{
    struct tp_mail *mail = tp_mailbox_take(&shard_box_[shard]);
    while (mail != NULL) {
        struct tp_mail *next = mail->next;
        if (mail->kind == TP_SHARD_MAIL_MAP) {
            struct tp_world_publication *publication = (struct tp_world_publication *)mail;
            int m = map_index(publication->of->name);
            const struct tp_map *before = shard_map_[shard][m];
            if (before != NULL) /* one after the other, nothing left out */
                ck_assert(publication->map->epoch > before->epoch ||
                          (publication->map->epoch == before->epoch &&
                           publication->map->version == before->version + 1));
            tp_map_unref(before);
            shard_map_[shard][m] = publication->map;
            tp_world_layers_unref(publication->layers);
            free(publication);
        } else {
            take_answer(shard, (struct tp_world_request *)mail);
        }
        mail = next;
    }
}

static void ask_world(struct tp_test_rng *rng)
{
    enum tp_world_op op = tp_test_percent(rng, 10)   ? TP_WORLD_PUT
                          : tp_test_percent(rng, 10) ? TP_WORLD_OPEN
                                                     : TP_WORLD_CHANGE;
    struct tp_world_request *request = tp_world_request_new(op);
    int m = (int)tp_test_below(rng, MAPS);
    snprintf(request->name, sizeof request->name, "m%d", m);
    request->shard = tp_test_below(rng, SHARDS);
    if (op == TP_WORLD_PUT) {
        request->width = request->height = SIDE;
        request->cells = malloc(SIDE * SIDE);
        memset(request->cells, '.', SIDE * SIDE);
        request->profile = profile_;
        request->replace = tp_test_percent(rng, 60);
    }
    if (op == TP_WORLD_CHANGE) {
        request->changes = calloc(CHANGES_MAX, sizeof(struct tp_change));
        request->change_bits = malloc(CHANGES_MAX * BITS_MAX);
        request->change_count =
            random_batch(rng, request->changes, request->change_bits, SIDE, SIDE, tp_test_percent(rng, 10));
        for (size_t i = 0; i < request->change_count; i++)
            if (request->changes[i].kind == TP_CHANGE_CELL) { /* as the protocol numbers it */
                request->changes[i].x += request->changes[i].y * SIDE;
                request->changes[i].y = 0;
            }
        request->has_base_version = tp_test_percent(rng, 20);
        request->base_version = acknowledged_[m].version;
        if (tp_test_percent(rng, 30)) {
            request->key.size = 1;
            request->key.bytes[0] = (uint8_t)tp_test_below(rng, KEYS);
        }
    }
    asked_++;
    tp_mailbox_push(&world_box_, &request->mail);
}

static void begin_world(bool serves_degraded)
{
    store_.store = (struct tp_store){.ops = &late_ops, .serves_degraded = serves_degraded};
    store_.takes = store_.load_error = 0;
    metrics_ = tp_metrics_new("world");
    tp_mailbox_init(&world_box_);
    for (int s = 0; s < SHARDS; s++)
        tp_mailbox_init(&shard_box_[s]);
    struct tp_world_config config = {.store = &store_.store,
                                     .metrics = metrics_,
                                     .maps_max = MAPS,
                                     .shards = SHARDS,
                                     .post_self = post_self,
                                     .post_shard = post_shard,
                                     .now_us = epoch_now,
                                     .unix_now_us = epoch_now};
    ck_assert_int_eq(tp_world_open(&world_, &config), 0);
    tp_world_load_all(world_);
    memset(acknowledged_, 0, sizeof acknowledged_);
    memset(keyed_, 0, sizeof keyed_);
    asked_ = granted_ = refused_ = 0;
    tp_profile_init_movingai(&profile_);
    tp_log_level_max = TP_LOG_ERROR; /* every refusal would be told */
}

static void end_world(void)
{
    for (int m = 0; m < MAPS; m++) {
        for (unsigned s = 0; s < SHARDS; s++) {
            tp_map_unref(shard_map_[s][m]);
            shard_map_[s][m] = NULL;
        }
        tp_map_unref(store_.kept[m].map);
        store_.kept[m].map = NULL;
        store_.kept[m].name[0] = '\0';
    }
    tp_world_close(world_);
    free(metrics_);
    tp_mailbox_fini(&world_box_);
    for (int s = 0; s < SHARDS; s++)
        tp_mailbox_fini(&shard_box_[s]);
}

/* Whatever the store does, every request is answered once, acknowledged versions are those that the store
 * keeps, and every shard ends with them. */
START_TEST(test_world_and_a_failing_store)
{
    struct tp_test_rng rng = tp_test_rng("world");
    tp_profile_init_movingai(&profile_);
    tp_log_level_max = TP_LOG_ERROR; /* every refusal would be told */
    for (uint64_t round = 0; round < tp_test_steps(40, 2000); round++) {
        begin_world(false);
        uint32_t failing = tp_test_below(&rng, 60);
        for (int step = 0; step < 600; step++) {
            uint32_t what = tp_test_below(&rng, 100);
            if (what < 40 && store_.count < 40)
                ask_world(&rng);
            else if (what < 60)
                run_world();
            else if (what < 85 && store_.count > 0)
                late_answer(!tp_test_percent(&rng, failing));
            else
                run_shard(tp_test_below(&rng, SHARDS));
        }
        for (run_world(); store_.count > 0; run_world())
            late_answer(true);
        for (unsigned s = 0; s < SHARDS; s++)
            run_shard(s);
        ck_assert_uint_eq(tp_world_busy(world_), 0);
        ck_assert_uint_eq(asked_, granted_ + refused_);
        ck_assert_uint_gt(granted_, 0);
        for (int m = 0; m < MAPS; m++) {
            char name[16];
            snprintf(name, sizeof name, "m%d", m);
            const struct tp_map *kept = store_.kept[kept_at(name)].map;
            struct tp_world_map *of = tp_world_find(world_, name);
            if (kept == NULL) {
                ck_assert_ptr_null(of);
                ck_assert_uint_eq(acknowledged_[m].version, 0);
                continue;
            }
            const struct tp_map *published = tp_world_current(world_, of);
            ck_assert_int_eq(atomic_load(&of->sessions), 0);
            ck_assert_uint_eq(kept->epoch, acknowledged_[m].epoch);
            ck_assert_uint_eq(kept->version, acknowledged_[m].version);
            for (uint64_t version = 1; version <= kept->version;
                 version++) { /* each to one request, none left out */
                size_t times = 0;
                for (size_t i = 0; i < acknowledged_[m].count; i++)
                    times += acknowledged_[m].all[i].epoch == kept->epoch &&
                             acknowledged_[m].all[i].version == version;
                ck_assert_uint_eq(times, 1);
            }
            ck_assert(kept == published);
            for (unsigned s = 0; s < SHARDS; s++)
                ck_assert(shard_map_[s][m] == kept);
            tp_map_unref(published);
        }
        end_world();
    }
    ck_assert_uint_gt(repeated_, 0);
}
END_TEST

/* Asks for one thing on map m0, lets the store complete what it took, and gives the answer's error. */
static int ask_for(enum tp_world_op op, bool replace, int completion)
{
    struct tp_world_request *request = tp_world_request_new(op);
    strcpy(request->name, "m0");
    if (op == TP_WORLD_PUT) {
        request->width = request->height = SIDE;
        request->cells = malloc(SIDE * SIDE);
        memset(request->cells, '.', SIDE * SIDE);
        request->profile = profile_;
        request->replace = replace;
    } else if (op == TP_WORLD_CHANGE) {
        request->changes = calloc(1, sizeof(struct tp_change));
        request->changes[0] = (struct tp_change){.kind = TP_CHANGE_CELL, .class_to = '@', .x = 1};
        request->change_count = 1;
    }
    tp_mailbox_push(&world_box_, &request->mail);
    for (run_world(); store_.count > 0; run_world()) {
        struct late_call call = store_.calls[0];
        ck_assert_uint_eq(--store_.count, 0);
        if (completion == 0)
            strcpy(store_.kept[0].name, call.name);
        call.done(completion, call.context);
        tp_map_unref(call.map);
    }
    int error = 1;
    for (struct tp_mail *mail = tp_mailbox_take(&shard_box_[0]), *next; mail != NULL; mail = next) {
        next = mail->next;
        if (mail->kind == TP_SHARD_MAIL_MAP) {
            tp_map_unref(((struct tp_world_publication *)mail)->map);
            tp_world_layers_unref(((struct tp_world_publication *)mail)->layers);
            free(mail);
        } else {
            error = request->refusal.error;
            ck_assert_int_eq(error != 0, request->refusal.words[0] != '\0');
            if (error == TP_ERR_UNAVAILABLE)
                ck_assert_uint_gt(request->refusal.retry_after_ms, 0);
            tp_world_request_free(request);
        }
    }
    for (unsigned s = 1; s < SHARDS; s++)
        for (struct tp_mail *mail = tp_mailbox_take(&shard_box_[s]), *next; mail != NULL; mail = next) {
            next = mail->next;
            tp_map_unref(((struct tp_world_publication *)mail)->map);
            tp_world_layers_unref(((struct tp_world_publication *)mail)->layers);
            free(mail);
        }
    ck_assert_uint_eq(tp_world_busy(world_), 0);
    return error;
}

static uint64_t version_of_m0(void)
{
    struct tp_world_map *of = tp_world_find(world_, "m0");
    if (of == NULL)
        return 0;
    const struct tp_map *map = tp_world_current(world_, of);
    uint64_t version = map->version;
    tp_map_unref(map);
    return version;
}

/* A store that may be away while the daemon serves on: what it has only put off counts, what it could not even
 * take is refused and leaves no trace. */
START_TEST(test_world_and_a_degraded_store)
{
    begin_world(true);
    run_world();
    store_.takes = TP_ERR_NO_MEMORY;
    ck_assert_int_eq(ask_for(TP_WORLD_PUT, false, 0), TP_ERR_NO_MEMORY);
    ck_assert_ptr_null(tp_world_find(world_, "m0"));
    store_.takes = 0;
    ck_assert_int_eq(ask_for(TP_WORLD_PUT, false, TP_ERR_UNAVAILABLE), 0);
    ck_assert_uint_eq(version_of_m0(), 1);
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, TP_ERR_UNAVAILABLE), 0);
    ck_assert_uint_eq(version_of_m0(), 2);
    store_.takes = TP_ERR_NO_MEMORY;
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, 0), TP_ERR_NO_MEMORY);
    ck_assert_int_eq(ask_for(TP_WORLD_PUT, true, 0), TP_ERR_NO_MEMORY);
    ck_assert_uint_eq(version_of_m0(), 2);
    store_.takes = 0;
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, TP_ERR_NO_MEMORY),
                     TP_ERR_NO_MEMORY); /* taken, then lost */
    ck_assert_uint_eq(version_of_m0(), 2);
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, 0), 0);
    ck_assert_uint_eq(version_of_m0(), 3);
    ck_assert(tp_world_enter(tp_world_find(world_, "m0"))); /* no put is taken to be under way */
    end_world();
}
END_TEST

/* A store that cannot be asked whether it holds the map: nothing may take that name. */
START_TEST(test_world_and_a_store_that_cannot_be_asked)
{
    for (int degraded = 0; degraded < 2; degraded++) {
        begin_world(degraded);
        run_world();
        store_.load_error = TP_ERR_UNAVAILABLE;
        for (int replace = 0; replace < 2; replace++)
            ck_assert_int_eq(ask_for(TP_WORLD_PUT, replace, 0), TP_ERR_UNAVAILABLE);
        ck_assert_int_eq(ask_for(TP_WORLD_OPEN, false, 0), TP_ERR_UNAVAILABLE);
        ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, 0), TP_ERR_UNAVAILABLE);
        store_.load_error = TP_ERR_NO_MEMORY;
        ck_assert_int_eq(ask_for(TP_WORLD_PUT, false, 0), TP_ERR_NO_MEMORY);
        store_.load_error = 0;
        ck_assert_int_eq(ask_for(TP_WORLD_OPEN, false, 0), TP_ERR_NOT_FOUND);
        ck_assert_int_eq(ask_for(TP_WORLD_PUT, false, 0), 0);
        ck_assert_uint_eq(version_of_m0(), 1);
        end_world();
    }
}
END_TEST

START_TEST(test_map_names)
{
    const char *good[] = {"a", "A.b_c-9", "town/north", "a..b", "a/...", "x/.hidden"};
    const char *bad[] = {"",       ".",    ".a",  "/a",        "..",  "a/..",
                         "a/../b", "../a", "a b", "a\xc3\xa4", "a+b", "a~"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(tp_world_name_allowed(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!tp_world_name_allowed(bad[i]), "%s", bad[i]);
    char name[131];
    memset(name, 'x', sizeof name);
    name[129] = '\0';
    ck_assert(!tp_world_name_allowed(name));
    name[128] = '\0';
    ck_assert(tp_world_name_allowed(name));
}
END_TEST

static Suite *parts_suite(void)
{
    Suite *suite = suite_create("daemon_parts");
    TCase *cases = tcase_create("parts");
    tcase_add_test(cases, test_frames_round_trip);
    tcase_add_test(cases, test_frame_limits);
    tcase_add_test(cases, test_codecs);
    tcase_add_test(cases, test_graph_snapshots);
    tcase_add_test(cases, test_scheduler_time);
    tcase_add_test(cases, test_world_and_a_failing_store);
    tcase_add_test(cases, test_world_and_a_degraded_store);
    tcase_add_test(cases, test_world_and_a_store_that_cannot_be_asked);
    tcase_add_test(cases, test_map_names);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_parts", parts_suite);
}
