/* The codecs of the daemon's stores: snapshots and the log of changes, whole and damaged. */
#include "daemon/bytes.h"
#include "daemon/store/maplog.h"
#include "daemon/store/snapshot.h"
#include "tests/lib/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static struct tp_map *free_map(uint32_t width, uint32_t height, uint64_t epoch)
{
    uint8_t *cells = malloc((size_t)width * height);
    memset(cells, '.', (size_t)width * height);
    struct tp_map *map;
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile, epoch), 0);
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
                                              tp_test_percent(&rng, 90) ? tp_test_between(&rng, 1, 1000)
                                                                        : UINT32_MAX};
        for (uint32_t i = 0; i < nodes; i++) {
            x[i] = (double)tp_test_below(&rng, 1000) / 7 - 50;
            y[i] = tp_test_percent(&rng, 10) ? -1e15 : (double)tp_test_below(&rng, 1000) / 3;
        }
        const struct tp_graph *graph;
        size_t bad;
        ck_assert_int_eq(
            tp_graph_build(&graph, nodes, edges, count, placed ? x : NULL, placed ? y : NULL, &bad), 0);
        struct tp_map *map, *got;
        ck_assert_int_eq(tp_map_build_graph(&map, graph, 77 + round, 5), 0);
        uint8_t *snapshot;
        size_t size;
        const char *reason;
        ck_assert_int_eq(tp_snapshot_encode(map, NULL, &snapshot, &size), 0);
        ck_assert_int_eq(tp_snapshot_decode(&got, NULL, snapshot, size, &reason), 0);
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
            ck_assert_int_eq(tp_snapshot_decode(&got, NULL, bytes, cut, &reason), TP_ERR_CORRUPT);
            ck_assert_ptr_nonnull(reason);
            ck_assert_ptr_null(got);
            free(bytes);
        }
        /* well written, and not for this version: byte, value, words */
        const struct {
            size_t at;
            uint8_t value;
            const char *words;
        } others[] = {{7, 9, "newer tickpath"},
                      {7, 0, "no map"},
                      {8, 1, "kind"},
                      {8, 3, "kind"},
                      {9, 4, "kind"},
                      {9, !placed, "size"},
                      {15, 0xff, "size"},
                      {35, 0xff, "size"},
                      {40, 0xff, "length"}};
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            uint8_t *bytes = malloc(size);
            memcpy(bytes, snapshot, size);
            if (bytes[others[i].at] != others[i].value) {
                bytes[others[i].at] = others[i].value;
                tp_put_u64(bytes + size - 8, XXH3_64bits(bytes, size - 8));
                reason = "";
                ck_assert_int_eq(tp_snapshot_decode(&got, NULL, bytes, size, &reason), TP_ERR_CORRUPT);
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
                struct tp_change changes[TP_TEST_BATCH_MAX];
                uint8_t bits[TP_TEST_BATCH_MAX * TP_TEST_BITS_MAX];
                size_t count = tp_test_random_batch(&rng, changes, bits, width, height, false), bad;
                uint32_t x, y;
                ck_assert_int_eq(
                    tp_map_apply(&versions[made], versions[made - 1], changes, count, &bad, &x, &y), 0);
                made++;
                uint8_t *bytes;
                ck_assert_int_eq(tp_batch_encode(changes, count, NULL, &bytes, &parts[b].size), 0);
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
        ck_assert_int_eq(tp_snapshot_encode(first, NULL, &snapshot, &snapshot_size), 0);

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
            ck_assert_int_eq(tp_snapshot_decode(&map, NULL, snapshot, snapshot_size, &reason), 0);
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
            ck_assert_int_eq(tp_snapshot_decode(&map, NULL, bytes, size, &reason), TP_ERR_CORRUPT);
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
static Suite *codecs_suite(void)
{
    Suite *suite = suite_create("daemon_codecs");
    TCase *cases = tcase_create("codecs");
    tcase_add_test(cases, test_codecs);
    tcase_add_test(cases, test_graph_snapshots);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_codecs", codecs_suite);
}
