/* Snapshots, measured: written, read, and weighed.
 *
 *     snapshot MAP.map [SIDE]
 *
 * With SIDE the map is repeated side by side up to SIDE x SIDE cells. Prints one JSON object: the wall times, in milliseconds, of RUNS times that the
 * map was encoded (as a store does in the background, with all keys and a full lineage) and decoded again into a map, the first
 * being those of a process that did nothing of the kind before; the bytes of the snapshot, with all that and with the map alone, and those
 * of the plain cells compressed with zstd at level 3. Exit code 2: it could not be run, or the map did not come back. */
#include "daemon/store/snapshot.h"
#include "tests/bench/bench.h"

#include <string.h>
#include <time.h>
#include <zstd.h>

enum { RUNS = 5, ZSTD_LEVEL = 3 };

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void fill(struct tp_keys *keys, struct tp_lineage *lineage)
{
    must(tp_keys_reserve(keys), "out of memory");
    for (uint32_t i = 0; i < TP_KEYS_MAX; i++) {
        struct tp_key key = {.size = TP_KEY_BYTES_MAX};
        memcpy(key.bytes, &i, sizeof i);
        tp_keys_add(keys, &key, i + 2);
    }
    for (uint8_t i = 0; i < TP_LINEAGE_MAX; i++)
        tp_lineage_note(lineage, (uint8_t[TP_LOG_TAG_BYTES]){i}, (struct tp_log_place){1000u * i + 1, 0});
}

static void print_list(const char *name, const double values[RUNS])
{
    printf("\"%s\": [", name);
    for (int i = 0; i < RUNS; i++)
        printf("%s%.3f", i == 0 ? "" : ", ", values[i]);
    printf("], ");
}

/* Ends the program if the maps differ. */
static void compare(const struct tp_map *map, const struct tp_map *back, uint8_t *cells, uint8_t *cells_back)
{
    tp_map_copy_cells(map, cells);
    tp_map_copy_cells(back, cells_back);
    if (back->width != map->width || back->height != map->height || back->passable_cells != map->passable_cells ||
        memcmp(cells, cells_back, (size_t)map->width * map->height) != 0)
        give_up("the map did not come back from its snapshot");
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3)
        give_up("usage: snapshot MAP.map [SIDE]");
    struct tp_map *map = load("snapshot", argv[1], argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0);
    size_t count = (size_t)map->width * map->height, size = 0, bound = ZSTD_compressBound(count);
    struct tp_keys keys = {0};
    struct tp_lineage lineage = {0};
    fill(&keys, &lineage);
    const struct tp_snapshot_extra extra = {.name = "map", .keys = &keys, .place = {1700000000000, 1}, .lineage = &lineage};
    double encode_ms[RUNS], decode_ms[RUNS];
    for (int i = 0; i < RUNS; i++) {
        uint8_t *bytes;
        struct tp_map *back;
        struct tp_keys keys_back;
        const char *reason;
        double begun = now_ms();
        must(tp_snapshot_encode_placed(map, &extra, &bytes, &size), "can't encode the map");
        double encoded = now_ms();
        must(tp_snapshot_decode(&back, &keys_back, bytes, size, &reason), "can't decode the map");
        decode_ms[i] = now_ms() - encoded;
        encode_ms[i] = encoded - begun;
        if (i == RUNS - 1) {
            uint8_t *cells = take(count, 1), *cells_back = take(count, 1);
            compare(map, back, cells, cells_back);
            free(cells);
            free(cells_back);
        }
        free(bytes);
        tp_keys_fini(&keys_back);
        tp_map_unref(back);
    }
    uint8_t *bare;
    size_t bare_size;
    must(tp_snapshot_encode(map, NULL, &bare, &bare_size), "can't encode the map");
    free(bare);
    uint8_t *cells = take(count, 1), *packed = take(bound, 1);
    tp_map_copy_cells(map, cells);
    size_t zstd_bytes = ZSTD_compress(packed, bound, cells, count, ZSTD_LEVEL);
    if (ZSTD_isError(zstd_bytes))
        give_up("zstd can't compress the cells");
    printf("{\"width\": %u, \"height\": %u, ", map->width, map->height);
    print_list("encode_ms", encode_ms);
    print_list("decode_ms", decode_ms);
    printf("\"bytes\": %zu, \"map_bytes\": %zu, \"zstd_bytes\": %zu}\n", size, bare_size, zstd_bytes);
    free(cells);
    free(packed);
    tp_keys_fini(&keys);
    tp_map_unref(map);
    return 0;
}
